/*-------------------------------------------------------------------------
 *
 * tuples.c
 *		The tuples of a CScan: its heap scan, its page loop, its ExecScan.
 *
 *		exec			the next tuple that meets the node's conditions
 *		next_rows		the next tuples, whatever they meet (batch.c)
 *		choose_exec		let the executor take the shortest way to it
 *
 * The page loop is a heap scan's own, page at a time.  Only the order of the
 * pages differs, and that comes from chunks.c.  The node reads every page
 * itself through the buffer manager, so the ABM's pins only decide whether
 * that is a hit.  If the ABM has not loaded the chunk, read_ahead.c sees to it
 * that the pages come as quickly as in PostgreSQL's own scan.  bitmap.c and
 * tid_range.c have what is particular to scans that read only a part of the
 * table, and columns.c has the rows of scans over row groups.
 *
 * Invariant: the node has nothing pinned while it waits for a chunk.  Else it
 * has one page pinned and, in a chunk that it reads itself, those pages that it
 * has read ahead.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "access/tableam.h"
#include "pgstat.h"

#include "exec/columns.h"
#include "exec/heap_page.h"
#include "fault.h"

/*
 * Make the scan descriptor that PostgreSQL's own scan would have, so that
 * statistics and predicate locks are the same.
 */
static TableScanDesc
make_descriptor(CScanState *node)
{
	ScanState  *ss = &node->css.ss;
	Relation	rel = ss->ss_currentRelation;
	Snapshot	snapshot = ss->ps.state->es_snapshot;
	HeapScanDesc heap;

	switch (node->kind)
	{
		case CSCAN_WHOLE:
		case CSCAN_COLUMNS:
			heap = (HeapScanDesc) table_beginscan_strat(rel, snapshot, 0, NULL, true, node->plain);
			break;
		case CSCAN_BITMAP:
			heap = (HeapScanDesc) cscan_beginscan_bitmap(rel, snapshot);
			break;
		default:
			heap = (HeapScanDesc) cscan_beginscan_tid_range(rel, snapshot, &node->min_tid,
															&node->max_tid);
			break;
	}
	node->ring_used = 0;
	if (!node->plain)
	{
		heap->rs_cindex = heap->rs_ntuples = 0;

		/*
		 * With a ring, pages that others have in memory keep their usage
		 * counts.
		 */
		if (heap->rs_strategy == NULL && (node->reg || node->parallel))
			heap->rs_strategy = GetAccessStrategy(BAS_BULKREAD);
	}
	return &heap->rs_base;
}

/*
 * Begin at the first fetch: fix the number of blocks and register.  That is
 * early enough, since the snapshot is older.  PostgreSQL's own scan reads what
 * cannot be registered or is too small to gain by it.
 */
static void
begin_heap_scan(CScanState *node)
{
	CSCAN_FAULT(CSCAN_FAULT_BEGIN);
	if (node->parallel)
	{
		node->scan = cscan_parallel_begin(node);
		if (node->scan == NULL)
			node->scan = make_descriptor(node);
	}
	else
	{
		if (!node->by_family && !node->alone)
			cscan_chunks_begin(node);
		node->scan = make_descriptor(node);
	}
	if (node->kind == CSCAN_COLUMNS)
		cscan_columns_begin_pass(node);
	if (node->plain && !node->parallel)
	{
		node->counts.self += node->nranges > 0;
		node->finished = (node->nranges == 0);
	}
}

/* Get the next block of the current chunk.  False if none is left. */
static inline bool
next_block(CScanState *node, BlockNumber *block)
{
	*block = node->next_block;
	if (node->kind == CSCAN_BITMAP)
		*block = cscan_pages_next(node->pages, &node->entry, node->next_block, node->end_block);
	if (*block >= node->end_block)
		return false;
	node->next_block = *block + 1;
	return true;
}

/* Get the next page with visible tuples.  False at the end. */
static bool
next_page(CScanState *node)
{
	HeapScanDesc heap = (HeapScanDesc) node->scan;
	BlockNumber block;

	for (;;)
	{
		ReadStream *stream = NULL;

		if (!next_block(node, &block))
		{
			/* Nothing stays pinned while waiting. */
			ExecClearTuple(node->css.ss.ss_ScanTupleSlot);
			cscan_heap_page_release(node);
			if (!(node->by_family ? cscan_family_next(node) : cscan_chunks_next(node)))
				return false;
			continue;
		}
		if (node->self_read)
			stream = cscan_read_ahead(node, (CScanRange) {block, node->end_block}, true);
		if (node->kind == CSCAN_BITMAP)
		{
			cscan_bitmap_get_page(node, block, stream);
			cscan_heap_page_taken(node);
		}
		else
			cscan_heap_page_get(node, block, stream);
		heap->rs_cindex = 0;
		if (heap->rs_ntuples > 0)
			return true;
	}
}

static TupleTableSlot *
next_tuple(ScanState *ss)
{
	CScanState *node = (CScanState *) ss;
	TupleTableSlot *slot = ss->ss_ScanTupleSlot;
	HeapScanDesc heap;

	if (node->scan == NULL)
		begin_heap_scan(node);
	if (node->plain && !node->finished)
	{
		ScanDirection direction = ss->ps.state->es_direction;

		if (node->kind == CSCAN_TID_RANGE ?
			table_scan_getnextslot_tidrange(node->scan, direction, slot) :
			table_scan_getnextslot(node->scan, direction, slot))
			return slot;
		return ExecClearTuple(slot);
	}
	heap = (HeapScanDesc) node->scan;

	if (node->finished ||
		((int) heap->rs_cindex >= (int) heap->rs_ntuples && !next_page(node)))
	{
		/* A member of a family may have another turn. */
		node->finished = !node->by_family;
		return ExecClearTuple(slot);
	}

	if (node->kind == CSCAN_BITMAP)
		pgstat_count_heap_fetch(ss->ss_currentRelation);
	else
		pgstat_count_heap_getnext(ss->ss_currentRelation);
	return cscan_heap_page_next(heap, slot);
}

/*
 * Find the next rows of a page: its visible tuples [*first, *end), in place of
 * one row after the other.  The page stays pinned until the next call.  False at
 * the end.  A scan over row groups has rows of a vector as well; then *end is 0.
 * The statistics do not count them yet, except the first one of a plain scan.
 */
bool
cscan_tuples_next_rows(CScanState *node, uint32 *first, uint32 *end)
{
	HeapScanDesc heap;

	if (node->scan == NULL)
		begin_heap_scan(node);
	heap = (HeapScanDesc) node->scan;
	*first = *end = 0;
	if (node->kind == CSCAN_COLUMNS)
	{
		if (!cscan_columns_next_rows(node))
			return false;
		if (node->columns->row < node->columns->end_row)
			return true;
	}
	else if (node->plain && !node->finished)
	{
		TupleTableSlot *slot = next_tuple(&node->css.ss);

		/* The first of them counts as taken, and so do all before it. */
		if (TupIsNull(slot))
		{
			node->finished = true;
			return false;
		}
		*first = heap->rs_cindex;
		*end = *first + 1;

		/* Rows of a range are looked at one by one. */
		if (node->kind != CSCAN_TID_RANGE && (heap->rs_base.rs_flags & SO_ALLOW_PAGEMODE))
			*end = heap->rs_ntuples;
		heap->rs_cindex = *end - 1;
		return true;
	}
	else if (node->finished || !next_page(node))
	{
		node->finished = !node->by_family;
		return false;
	}
	*first = heap->rs_cindex;
	*end = heap->rs_ntuples;
	heap->rs_cindex = heap->rs_ntuples;
	return true;
}

/* The same of a scan over row groups. */
static TupleTableSlot *
next_column_row(ScanState *ss)
{
	CScanState *node = (CScanState *) ss;

	if (node->scan == NULL)
		begin_heap_scan(node);
	return cscan_columns_next_row(node);
}

/* The same of a scan that may go backward. */
static TupleTableSlot *
next_scrolled_tuple(ScanState *ss)
{
	CScanState *node = (CScanState *) ss;

	if (node->scan == NULL)
		begin_heap_scan(node);
	if (node->plain)
		return next_tuple(ss);
	return cscan_scroll_next(node, ss->ps.state->es_direction);
}

/* Get the next tuple that meets the index conditions. */
static TupleTableSlot *
next_rechecked_tuple(ScanState *ss)
{
	CScanState *node = (CScanState *) ss;

	for (;;)
	{
		TupleTableSlot *slot = next_tuple(ss);

		if (TupIsNull(slot) || !node->recheck_page || cscan_bitmap_recheck(node, slot))
			return slot;
		InstrCountFiltered2(node, 1);
	}
}

/* EvalPlanQual: does another version of a row meet the scan's conditions? */
static bool
recheck(ScanState *ss, TupleTableSlot *slot)
{
	CScanState *node = (CScanState *) ss;

	switch (node->kind)
	{
		case CSCAN_BITMAP:
			return cscan_bitmap_recheck(node, slot);
		case CSCAN_TID_RANGE:
			return cscan_tid_range_recheck(node, slot);
		default:
			return true;
	}
}

static TupleTableSlot *
exec_scan(CustomScanState *node)
{
	if (((CScanState *) node)->scroll)
		return ExecScan(&node->ss, next_scrolled_tuple, recheck);
	switch (((CScanState *) node)->kind)
	{
		case CSCAN_BITMAP:
			return ExecScan(&node->ss, next_rechecked_tuple, recheck);
		case CSCAN_COLUMNS:
			return ExecScan(&node->ss, next_column_row, recheck);
		default:
			return ExecScan(&node->ss, next_tuple, recheck);
	}
}

TupleTableSlot *
cscan_tuples_exec(CustomScanState *css)
{
	return exec_scan(css);
}

/* ------------------------------------------------------------------
 * The same without what a given scan does not need, as in 18's SeqScan
 * ------------------------------------------------------------------ */

#if CSCAN_HAVE_SCAN_EXTENDED

static TupleTableSlot *
exec_plain(PlanState *ps)
{
	ScanState  *ss = (ScanState *) ps;

	return ExecScanExtended(ss, next_tuple, recheck, NULL, NULL, NULL);
}

static TupleTableSlot *
exec_with_qual(PlanState *ps)
{
	ScanState  *ss = (ScanState *) ps;

	return ExecScanExtended(ss, next_tuple, recheck, NULL, ps->qual, NULL);
}

static TupleTableSlot *
exec_with_project(PlanState *ps)
{
	ScanState  *ss = (ScanState *) ps;

	return ExecScanExtended(ss, next_tuple, recheck, NULL, NULL, ps->ps_ProjInfo);
}

static TupleTableSlot *
exec_with_qual_project(PlanState *ps)
{
	ScanState  *ss = (ScanState *) ps;

	return ExecScanExtended(ss, next_tuple, recheck, NULL, ps->qual, ps->ps_ProjInfo);
}

#endif

static TupleTableSlot *
exec_general(PlanState *ps)
{
	return exec_scan((CustomScanState *) ps);
}

/* Choose the shortest function to get a tuple, without core's own wrapper. */
void
cscan_tuples_choose_exec(CScanState *node)
{
	PlanState  *ps = &node->css.ss.ps;

	ps->ExecProcNode = exec_general;
#if CSCAN_HAVE_SCAN_EXTENDED
	if (ps->state->es_epq_active != NULL || node->scroll || node->kind == CSCAN_BITMAP ||
		node->kind == CSCAN_COLUMNS)
		return;
	if (ps->qual == NULL)
		ps->ExecProcNode = ps->ps_ProjInfo ? exec_with_project : exec_plain;
	else
		ps->ExecProcNode = ps->ps_ProjInfo ? exec_with_qual_project : exec_with_qual;
#endif
}
