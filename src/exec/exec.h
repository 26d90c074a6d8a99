/*-------------------------------------------------------------------------
 *
 * exec.h
 *		The CScan node, as the planner makes it and the executor runs it.
 *
 *		node.c			the node's life: what the executor calls
 *		explain.c		what EXPLAIN says
 *		gather.c		a CScan or a family below a Gather
 *		bounds.h		which values of a column may still come
 *		units.h			which values an index says that parts of a table have
 *		batch.h			rows, many at a time, for who filters or aggregates them
 *		tuples.c		heap scan, page loop and tuples
 *		scroll.c		tuples of a scan that may go backward
 *		columns.c		rows from column runs and the rest of the heap
 *		family.c		the CScans of an Append, as one scan
 *		chunks.c		which chunk is next
 *		parallel.c		what the processes of a parallel scan share
 *		blocks.c		which blocks are to be read, and the registration for them
 *		groups.c		which row groups are announced, and which are not
 *		read_ahead.c	the coming pages of a chunk that the scan reads itself
 *		bitmap.c		the pages and tuples of a bitmap
 *		tid_range.c		ranges of TIDs
 *		pages.c			a bitmap's pages, in arrays
 *
 * Calls go downwards only.  node.c names the methods that the executor calls.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CSCAN_EXEC_H
#define CSCAN_EXEC_H

#include "compat.h"

#include "access/parallel.h"
#include "miscadmin.h"
#include "nodes/extensible.h"
#include "utils/dsa.h"

#include "exec/pages.h"
#include "shared/registry.h"
#include "store/store.h"

/* What a CScan reads of its table. */
typedef enum CScanKind
{
	CSCAN_WHOLE,				/* all of it */
	CSCAN_BITMAP,				/* the pages of a bitmap from its child */
	CSCAN_TID_RANGE,			/* a range of TIDs */
	CSCAN_COLUMNS				/* all of it, by an index of columns */
} CScanKind;

/* What custom_private holds: integers, in this order. */
typedef enum CScanPrivate
{
	CSCAN_PRIVATE_KIND,			/* a CScanKind */
	CSCAN_PRIVATE_FIRST_ROWS,	/* do not wait for a chunk before the first
								 * row */
	CSCAN_PRIVATE_FAMILY,		/* Oid of the table that the query names, if
								 * this is a child of an Append whose order
								 * nobody needs; else 0 */
	CSCAN_PRIVATE_INDEX,		/* Oid of the index of columns, or 0 */
	CSCAN_PRIVATE_BOUNDS,		/* Oid of the BRIN index that has the bounds of
								 * the key of the CScan Aggregate above that has
								 * borders; 0: if there is one, the index of columns
								 * has them */
	CSCAN_PRIVATE_NFIELDS
} CScanPrivate;

/*
 * custom_exprs holds the index conditions that a bitmap-driven scan checks
 * again, a TID range scan's conditions on ctid, or the conditions by which a
 * scan over row groups may skip some.
 */

/* What the processes of a parallel scan share, see parallel.c. */
typedef struct CScanParallel CScanParallel;

/* What a scan over row groups has, see columns.h. */
typedef struct CScanColumns CScanColumns;

/* The chunks that a scan may go back to, see scroll.c. */
typedef struct CScanScroll CScanScroll;

/* Conditions that are asked of many rows at once, see input/filter.c. */
typedef struct CScanFilter CScanFilter;

/* The CScans of an Append that share a registration, see family.c. */
typedef struct CScanFamily CScanFamily;

/* Counted for EXPLAIN ANALYZE, over all rescans */
typedef struct CScanCounts
{
	uint64		pages;			/* wanted */
	uint64		lossy;			/* of these, without a list of tuples */
	uint64		chunks;			/* wanted; each comes in one of three ways: */
	uint64		resident;
	uint64		loaded;
	uint64		self;
	uint64		waited;			/* us */
	uint64		groups;			/* row groups */
	uint64		skipped;		/* of these, those whose runs cannot have a
								 * row */
	uint64		blocks[CSCAN_NSOURCES]; /* by where their rows come from */
} CScanCounts;

#define CSCAN_NCOUNTS	((int) (sizeof(CScanCounts) / sizeof(uint64)))

#define CSCAN_CACHE_LINE	64		/* bytes that come into the CPU's cache together */

/* How far a chunk has been read ahead, see read_ahead.c. */
typedef struct CScanAhead
{
	bool		begun;
	bool		forward;
	CScanRange	rest;			/* blocks of the chunk that are left */
	uint32		entry;			/* entry in pages, for rest.first or before */
	ReadStream *stream;			/* from 17 on; NULL: not begun */
	int			advised;		/* up to 16: pages that have had advice and
								 * have not been read yet */
} CScanAhead;

/* Who may do what, see miscinit.c. */
typedef struct CScanUser
{
	Oid			id;
	int			context;
} CScanUser;

/*
 * PostgreSQL checks who may call a function when a node begins.  Whoever makes an
 * expression later becomes the user of then meanwhile.  Returns who it was before.
 */
static inline CScanUser
cscan_become_user(const CScanUser *user)
{
	CScanUser	before;

	GetUserIdAndSecContext(&before.id, &before.context);
	SetUserIdAndSecContext(user->id, user->context);
	return before;
}

typedef struct CScanState
{
	CustomScanState css;
	CScanUser	user;			/* with whose rights the node has begun */
	CScanKind	kind;
	bool		first_rows;
	bool		enabled;		/* cscan.enabled when the query began */
	CScanPolicyId policy;
	ExprState  *recheck_qual;	/* of a bitmap-driven scan */
	List	   *tid_bounds;		/* of a TID range */

	/* What is to be read, from the first fetch on */
	MemoryContext context;		/* of pages and ranges */
	TableScanDesc scan;			/* NULL: not begun */
	bool		plain;			/* PostgreSQL's own scan reads the table */
	bool		better_alone;	/* plain would be slower in this first pass */
	BlockNumber nblocks;		/* the table's blocks */
	CScanRange *ranges;			/* to be read; without the head once that has
								 * been read */
	uint32		nranges;
	CScanRange	span;			/* from the first to the last of them */
	CScanPages *pages;			/* of a bitmap-driven scan */
	Size		pages_room;		/* limit for pages, in bytes; runs of whole
								 * pages may exceed it */
	ItemPointerData min_tid;	/* of a TID range; inclusive */
	ItemPointerData max_tid;
	BlockNumber head;			/* blocks below have been read for the first
								 * rows; 0: there is no head */

	/* How far it is */
	bool		found;			/* what is to be read in this pass is known */
	bool		begun;			/* the rest is in chunks; a worker has joined */
	bool		finished;
	bool		rescanned;		/* this is not the first pass */
	CScanRegistration *reg;		/* NULL: the scan reads for itself, or is done */
	uint32		chunk_blocks;	/* blocks in each of its chunks; 0: no chunk
								 * yet */
	Bitmapset  *done;			/* chunks that have been taken */
	bool		alone;			/* takes the rest of "ranges" chunk by chunk,
								 * without a registration */

	/* The chunk being read */
	BlockNumber next_block;
	BlockNumber end_block;
	uint32		entry;			/* entry in pages, for next_block or before */
	bool		self_read;		/* the chunk is not known to be in memory */
	CScanAhead	ahead;
	bool		records;		/* note which chunks are taken, for bounds.c */
	CScanRange *taken;			/* their blocks, in order, until bounds.c takes
								 * them over */
	uint32		ntaken;
	uint32		taken_room;
	int			ring_used;		/* frames taken for the ring of "scan" */
	bool		recheck_page;	/* check the index condition of its tuples */
	bool		looks_at_rows;	/* of pages; else they are only counted */

	CScanFilter *filter;		/* NULL: every condition is asked row by row */
	bool		batched;		/* the node above takes batches, not rows */
	CScanScroll *scroll;		/* of a scan that may go backward; else NULL */
	CScanColumns *columns;		/* of a scan over row groups, once it may run */
	uint32		group_blocks;	/* its index's */

	Oid			family_relid;	/* the table that the query names, if the
								 * planner allows a family; else invalid */
	CScanFamily *family;		/* NULL: not in a family */
	int			child;			/* number among the Append's children */
	struct CScanState *host;	/* the first member, if the family is parallel */
	bool		by_family;		/* "reg" is the family's registration, which
								 * hands out the chunks in this pass */

	CScanParallel *parallel;	/* NULL: this process is alone */
	bool		leader;			/* of the parallel scan */
	bool		helping;		/* no chunk is left but those of the others */

	CScanCounts counts;			/* of this process */
	CScanCounts *workers;		/* of each parallel worker, in passes that
								 * ended */
	int			nworkers;
} CScanState;

/* What the directory above, which knows vectors, does for a CScan's conditions. */
typedef struct CScanFilterMethods
{
	/* Begin; it may put its own function in the place of the node's. */
	void		(*begin) (CScanState *node);

	/* The scan begins anew; it has a filter. */
	void		(*rescan) (CScanState *node);
	void		(*explain) (CScanState *node, List *ancestors, ExplainState *es);
} CScanFilterMethods;

/* node.c; cscan.h declares its functions that begin with cscan_exec_init */
extern const CustomScanMethods cscan_scan_methods;
extern const CustomExecMethods cscan_exec_methods;
extern const CScanFilterMethods *cscan_filter_methods;

/* gather.c */
extern Size cscan_gather_estimate(CustomScanState *css, ParallelContext *pcxt);
extern void cscan_gather_initialize(CustomScanState *css, ParallelContext *pcxt,
									void *coordinate);
extern void cscan_gather_reinitialize(CustomScanState *css, ParallelContext *pcxt,
									  void *coordinate);
extern void cscan_gather_attach(CustomScanState *css, shm_toc *toc, void *coordinate);
extern void cscan_gather_shutdown(CustomScanState *css);

/* tuples.c; next_rows is for batch.c */
extern TupleTableSlot *cscan_tuples_exec(CustomScanState *css);
extern bool cscan_tuples_next_rows(CScanState *node, uint32 *first, uint32 *end);
extern void cscan_tuples_choose_exec(CScanState *node);

/* scroll.c */
extern CScanScroll *cscan_scroll_begin(void);
extern TupleTableSlot *cscan_scroll_next(CScanState *node, ScanDirection direction);
extern void cscan_scroll_rewind(CScanState *node);
extern void cscan_scroll_forget(CScanScroll *scroll);

/* columns.c */
extern Oid	cscan_columns_index(const CustomScan *plan);
extern Bitmapset *cscan_columns_needed(const CustomScan *plan);
extern void cscan_columns_begin(CScanState *node, EState *estate);
extern void cscan_columns_reset(CScanState *node);
extern void cscan_columns_begin_pass(CScanState *node);
extern TupleTableSlot *cscan_columns_next_row(CScanState *node);
extern TupleTableSlot *cscan_columns_store_row(CScanState *node, uint32 row);
extern TupleTableSlot *cscan_columns_store_tuple(CScanState *node);
extern bool cscan_columns_next_rows(CScanState *node);
extern void cscan_columns_end(CScanState *node);

/* groups.c */
extern void cscan_groups_init(CScanState *node);
extern void cscan_groups_prepare(CScanState *node);
extern void cscan_groups_forget(CScanState *node);
extern bool cscan_groups_find(CScanState *node, CScanTarget *target);
extern void cscan_groups_settle(CScanState *node, const CScanTarget *target);
extern void cscan_groups_target(CScanState *node, CScanTarget *target);
extern bool cscan_groups_locked_index(const CScanState *node);
extern void cscan_groups_locate(const CScanState *node, CScanPortion *portion);
extern bool cscan_groups_take_own(CScanState *node, CScanPortion *portion);
extern bool cscan_groups_coming(const CScanState *node, BlockNumber *block);
extern const CScanGroupTarget *cscan_groups_wanted(const CScanState *node);
extern bool cscan_groups_must_read_heap(const CScanState *node);
extern bool cscan_groups_in_memory(const CScanState *node, uint32 group);
extern void cscan_groups_answer(CScanState *node, bool (*in_memory) (void *arg, Oid relid, uint32 group), void *arg);
extern Oid	cscan_groups_index(const CScanState *node);
extern int	cscan_groups_find_all(CScanState **members, int n, CScanTarget *targets);
extern dsa_pointer cscan_groups_share(CScanState *node, dsa_area *area, uint32 *nown, pg_atomic_uint32 *next);
extern void cscan_groups_learn(CScanState *node, uint32 *own, uint32 nown, pg_atomic_uint32 *next);

/* family.c */
extern void cscan_family_init(const CustomExecMethods *methods);
extern const CScanRegistration *cscan_family_begin_leader(CScanFamily *family);
extern void cscan_family_take_choice(CScanFamily *family);
extern void cscan_family_rest(CScanFamily *family);
extern void cscan_family_leave(CScanFamily *family);
extern bool cscan_family_next(CScanState *node);
extern bool cscan_family_has_pruned(const CScanState *node);
extern struct CScanRooms *cscan_family_rooms(CScanFamily *family);

/* Is this a CScan? */
extern bool cscan_is_scan_state(const PlanState *ps);

/* chunks.c */
extern void cscan_chunks_reset(CScanState *node);
extern void cscan_chunks_record(CScanState *node);
extern void cscan_chunks_begin(CScanState *node);
extern bool cscan_chunks_next(CScanState *node);
extern void cscan_chunks_set(CScanState *node, const CScanPortion *portion, CScanDelivery how);

/* parallel.c */
extern Size cscan_parallel_size(CScanState *node, int nworkers);
extern void cscan_parallel_begin_leader(CScanState *node, CScanParallel *p, int nworkers);
extern void cscan_parallel_begin_again(CScanState *node);
extern void cscan_parallel_publish(CScanState *node, const CScanRegistration *family);
extern bool cscan_parallel_learn(CScanState *node);
extern const CScanTicket *cscan_parallel_family_ticket(const CScanState *host);
extern TableScanDesc cscan_parallel_begin(CScanState *node);
extern bool cscan_parallel_take_head(CScanState *node);
extern bool cscan_parallel_claim(CScanState *node, const CScanPortion *portion);
extern bool cscan_parallel_take(CScanState *node, CScanPortion *portion);
extern void cscan_parallel_open(CScanState *node);
extern bool cscan_parallel_go_on(CScanState *node);
extern bool cscan_parallel_help(CScanState *node);
extern void cscan_parallel_close(CScanState *node);
extern void cscan_parallel_count(CScanState *node);
extern void cscan_parallel_collect(CScanState *node);

/* blocks.c */
extern void cscan_blocks_find(CScanState *node);
extern bool cscan_blocks_may_register(const CScanState *node);
extern BlockNumber cscan_blocks_head(const CScanState *node);
extern bool cscan_blocks_lockable(const CScanState *node);
extern void cscan_blocks_leave(CScanState *node);
extern CScanTarget cscan_blocks_target(CScanState *node);
extern void cscan_blocks_register(CScanState *node, bool joinable);
extern void cscan_blocks_keep_rest(CScanState *node);
extern bool cscan_blocks_same_chunks(const CScanState *node, const CScanTarget *target);
extern void cscan_blocks_register_rest(CScanState *node);

/*
 * read_ahead.c
 *
 * The scan is about to pin a page, and then goes on through the rest of a
 * chunk.  That page is the first of the rest or, backward, the last.  Returns
 * the stream that has it next, or NULL if it is to be read without a stream.
 */
extern ReadStream *cscan_read_ahead(CScanState *node, CScanRange rest, bool forward);
extern void cscan_read_ahead_end(CScanState *node);

/* bitmap.c */
extern void cscan_bitmap_resolve(CScanState *node);
extern void cscan_bitmap_get_page(CScanState *node, BlockNumber block, ReadStream *stream);
extern bool cscan_bitmap_recheck(CScanState *node, TupleTableSlot *slot);

/* tid_range.c */
extern List *cscan_tid_range_compile(List *quals, PlanState *ps);
extern bool cscan_tid_range_evaluate(CScanState *node);
extern void cscan_tid_range_trim(CScanState *node);
extern bool cscan_tid_range_recheck(CScanState *node, TupleTableSlot *slot);

/* explain.c */
extern void cscan_explain(CustomScanState *node, List *ancestors, ExplainState *es);

#endif							/* CSCAN_EXEC_H */
