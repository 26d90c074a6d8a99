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

#include "nodes/extensible.h"

#include "shared/registry.h"

/* What custom_private holds: integers, in this order. */
typedef enum CScanPrivate
{
	CSCAN_PRIVATE_FIRST_ROWS,	/* do not wait for a chunk before the first row */
	CSCAN_PRIVATE_NFIELDS
} CScanPrivate;

extern const CustomScanMethods cscan_scan_methods;

typedef struct CScanState
{
	CustomScanState css;
	bool		first_rows;
	CScanPolicyId policy;

	/* From the first fetch on */
	TableScanDesc scan;			/* NULL: not begun */
	bool		plain;			/* it is a scan of PostgreSQL's own */
	BlockNumber nblocks;		/* blocks to read; fixed at the first fetch */
	BlockNumber head;			/* blocks read for the first rows, if they were */
	bool		begun;			/* the rest has been divided into chunks */
	bool		finished;
	CScanRegistration *reg;		/* NULL: this scan reads for itself, or is done */
	uint32		chunk_blocks;
	uint32		nchunks;
	Bitmapset  *done;			/* chunks that have been taken */

	/* The chunk being read */
	BlockNumber next_block;
	BlockNumber end_block;

	/* For EXPLAIN ANALYZE, over all rescans */
	uint64		chunks_total;
	uint64		chunks_resident;
	uint64		chunks_loaded;
	uint64		chunks_self;
	uint64		waited;			/* us */
} CScanState;

/* explain.c */
extern void cscan_explain(CustomScanState *node, List *ancestors, ExplainState *es);

#endif							/* CSCAN_EXEC_H */
