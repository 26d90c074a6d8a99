/*-------------------------------------------------------------------------
 *
 * exec.h
 *		The CScan node, as the planner makes it and the executor runs it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CSCAN_EXEC_H
#define CSCAN_EXEC_H

#include "compat.h"

#include "access/parallel.h"
#include "nodes/extensible.h"

#include "shared/registry.h"

/* What custom_private holds: integers, in this order. */
typedef enum CScanPrivate
{
	CSCAN_PRIVATE_FIRST_ROWS,	/* do not wait for a chunk before the first
								 * row */
	CSCAN_PRIVATE_NFIELDS
} CScanPrivate;

extern const CustomScanMethods cscan_scan_methods;

/* What the processes of a parallel scan share, see parallel.c. */
typedef struct CScanParallel CScanParallel;

/* Counted for EXPLAIN ANALYZE, over all rescans */
typedef struct CScanCounts
{
	uint64		chunks;
	uint64		resident;
	uint64		loaded;
	uint64		self;
	uint64		waited;			/* us */
} CScanCounts;

typedef struct CScanState
{
	CustomScanState css;
	bool		first_rows;
	CScanPolicyId policy;

	/* From the first fetch on */
	TableScanDesc scan;			/* NULL: not begun */
	bool		plain;			/* it is a scan of PostgreSQL's own */
	BlockNumber nblocks;		/* blocks to read; fixed at the first fetch */
	BlockNumber head;			/* blocks read for the first rows, if they
								 * were */
	bool		begun;			/* the rest has been divided into chunks */
	bool		finished;
	CScanRegistration *reg;		/* NULL: this scan reads for itself, or is
								 * done */
	uint32		chunk_blocks;
	uint32		nchunks;
	Bitmapset  *done;			/* chunks that have been taken */

	/* The chunk being read */
	BlockNumber next_block;
	BlockNumber end_block;

	CScanParallel *parallel;	/* NULL: this process is alone */
	bool		leader;			/* of the parallel scan */

	CScanCounts counts;			/* of this process */
	CScanCounts others;			/* of others, as far as they are known */
} CScanState;

/* exec.c */
extern void cscan_exec_register(CScanState *node, bool later);
extern void cscan_exec_leave(CScanState *node);

/* parallel.c */
extern Size cscan_parallel_estimate(CustomScanState *css, ParallelContext *pcxt);
extern void cscan_parallel_initialize(CustomScanState *css, ParallelContext *pcxt,
									  void *coordinate);
extern void cscan_parallel_reinitialize(CustomScanState *css, ParallelContext *pcxt,
										void *coordinate);
extern void cscan_parallel_attach(CustomScanState *css, shm_toc *toc, void *coordinate);
extern void cscan_parallel_shutdown(CustomScanState *css);
extern TableScanDesc cscan_parallel_begin(CScanState *node);
extern bool cscan_parallel_take_head(CScanState *node);
extern bool cscan_parallel_claim(CScanState *node, uint32 chunk);
extern bool cscan_parallel_take(CScanState *node, uint32 *chunk);
extern void cscan_parallel_count(CScanState *node);

/* explain.c */
extern void cscan_explain(CustomScanState *node, List *ancestors, ExplainState *es);

#endif							/* CSCAN_EXEC_H */
