/*-------------------------------------------------------------------------
 *
 * exec.c
 *		The CScan node: a scan whose chunks come in any order.
 *
 * The page loop is a heap scan's own, page at a time; what differs is which
 * page comes next.  The node reads every page itself, through the buffer
 * manager, so that the ABM's pins only decide whether that is a hit.
 *
 *		first fetch		begin a heap scan, find out what is to be read, register
 *		next chunk		ask the registry, which may wait; or, without one, go on
 *						in block order
 *		end, rescan		leave
 *
 * Invariant: every chunk is taken exactly once.  The node keeps its own list
 * of the chunks that it has taken and holds whatever the registry says
 * against it.  What several processes do together is in parallel.c; what is
 * particular to scans that read only a part of the table is in bitmap.c and
 * tid_range.c.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "access/tableam.h"
#include "nodes/bitmapset.h"
#include "pgstat.h"
#include "storage/bufpage.h"
#include "storage/predicate.h"
#include "utils/memutils.h"

#include "exec/exec.h"
#include "fault.h"

static Node *create_state(CustomScan *cscan);
static void begin_scan(CustomScanState *node, EState *estate, int eflags);
static TupleTableSlot *exec_scan(CustomScanState *node);
static void end_scan(CustomScanState *node);
static void rescan(CustomScanState *node);

const CustomScanMethods cscan_scan_methods = {
	.CustomName = "CScan",
	.CreateCustomScanState = create_state,
};

static const CustomExecMethods exec_methods = {
	.CustomName = "CScan",
	.BeginCustomScan = begin_scan,
	.ExecCustomScan = exec_scan,
	.EndCustomScan = end_scan,
	.ReScanCustomScan = rescan,
	.EstimateDSMCustomScan = cscan_parallel_estimate,
	.InitializeDSMCustomScan = cscan_parallel_initialize,
	.ReInitializeDSMCustomScan = cscan_parallel_reinitialize,
	.InitializeWorkerCustomScan = cscan_parallel_attach,
	.ShutdownCustomScan = cscan_parallel_shutdown,
	.ExplainCustomScan = cscan_explain,
};

static Node *
create_state(CustomScan *cscan)
{
	CScanState *node = palloc0(sizeof(CScanState));

	NodeSetTag(node, T_CustomScanState);
	node->css.methods = &exec_methods;
#if CSCAN_HAVE_SLOT_OPS
	node->css.slotOps = &TTSOpsBufferHeapTuple;
#endif
	node->kind = (CScanKind) list_nth_int(cscan->custom_private, CSCAN_PRIVATE_KIND);
	node->first_rows = list_nth_int(cscan->custom_private, CSCAN_PRIVATE_FIRST_ROWS) &&
		!cscan_debug_small_scans;
	return (Node *) node;
}

/* ------------------------------------------------------------------
 * Chunks
 * ------------------------------------------------------------------ */

/* These blocks are next, those of them that are wanted. */
static void
read_blocks(CScanState *node, BlockNumber first, BlockNumber end)
{
	node->next_block = first;
	node->end_block = Min(end, node->span.end);
	node->self_read = (node->reg == NULL);
	if (node->pages)
		node->entry = node->prefetched = cscan_pages_find(node->pages, first);
}

static bool
set_chunk(CScanState *node, uint32 chunk)
{
	bool		again;

	if (node->parallel)
		again = !cscan_parallel_claim(node, chunk);
	else
	{
		MemoryContext old = MemoryContextSwitchTo(node->css.ss.ps.state->es_query_cxt);

		again = bms_is_member((int) chunk, node->done);
		node->done = bms_add_member(node->done, (int) chunk);
		MemoryContextSwitchTo(old);
	}
	if (chunk >= node->nchunks || again)
		elog(ERROR, "chunk %u of %u was handed out twice", chunk, node->nchunks);

	/* What the first rows came from has been read already. */
	read_blocks(node, Max(chunk * node->chunk_blocks, Max(node->head, node->span.first)),
				Min(node->nblocks - chunk * node->chunk_blocks, node->chunk_blocks) +
				chunk * node->chunk_blocks);
	return true;
}

/* Find out what of the table is to be read, in the node's own context. */
void
cscan_exec_find_interest(CScanState *node)
{
	ScanState  *ss = &node->css.ss;

	MemoryContextReset(node->context);
	node->pages = NULL;
	node->nranges = 0;
	if (node->kind == CSCAN_BITMAP)
	{
		MemoryContext old;

		cscan_bitmap_resolve(node);
		old = MemoryContextSwitchTo(node->context);
		node->ranges = cscan_pages_ranges(node->pages, &node->nranges);
		MemoryContextSwitchTo(old);
		node->counts.pages += node->pages->nexact + node->pages->nlossy;
		node->counts.lossy += node->pages->nlossy;
	}
	else
	{
		CScanRange	range = {0, 0};

		/* What is written behind these blocks must meet the predicate lock. */
		PredicateLockRelation(ss->ss_currentRelation, ss->ps.state->es_snapshot);
		node->nblocks = RelationGetNumberOfBlocks(ss->ss_currentRelation);
		range.end = node->nblocks;
		if (node->kind == CSCAN_TID_RANGE)
		{
			if (!cscan_tid_range_evaluate(node))
				range.end = 0;
			else
			{
				range.first = ItemPointerGetBlockNumberNoCheck(&node->min_tid);
				if (ItemPointerGetBlockNumberNoCheck(&node->max_tid) < node->nblocks)
					range.end = ItemPointerGetBlockNumberNoCheck(&node->max_tid) + 1;
			}
		}
		if (range.first < range.end)
		{
			node->ranges = MemoryContextAlloc(node->context, sizeof(CScanRange));
			node->ranges[node->nranges++] = range;
			node->counts.pages += range.end - range.first;
		}
	}
	node->span.first = node->nranges > 0 ? node->ranges[0].first : 0;
	node->span.end = node->nranges > 0 ? node->ranges[node->nranges - 1].end : 0;
}

/* Where the head ends: it has a chunk's worth of blocks. */
BlockNumber
cscan_exec_head(const CScanState *node)
{
	uint32		left = cscan_shared->preferred_chunk_blocks;

	for (uint32 i = 0; i < node->nranges; i++)
	{
		if (node->ranges[i].end - node->ranges[i].first >= left)
			return node->ranges[i].first + left;
		left -= node->ranges[i].end - node->ranges[i].first;
	}
	return node->span.end;
}

/*
 * The first rows are wanted soon, or perhaps only they: read a chunk's worth
 * of blocks before anything is registered.
 */
static bool
read_head(CScanState *node)
{
	if (!node->first_rows || node->head > 0 || node->nranges == 0)
		return false;
	node->head = cscan_exec_head(node);
	read_blocks(node, node->span.first, node->head);
	node->self_read = true;
	node->counts.chunks++;
	node->counts.self++;
	return true;
}

/* Register, if possible, the ranges from "head" on. */
void
cscan_exec_register(CScanState *node, bool later)
{
	uint32		read_before = 0;

	while (node->nranges > 0 && node->ranges[0].end <= node->head)
	{
		read_before += node->ranges[0].end - node->ranges[0].first;
		node->ranges++;
		node->nranges--;
	}
	if (node->nranges > 0 && node->ranges[0].first < node->head)
	{
		read_before += node->head - node->ranges[0].first;
		node->ranges[0].first = node->head;
	}

	/* It may have been registered since the last pass. */
	if (node->reg && !cscan_registry_again(node->reg, node->nblocks, node->ranges,
										   node->nranges, read_before))
		cscan_exec_leave(node);

	/* The plan may be older than the wish for physical order. */
	if (node->reg == NULL && synchronize_seqscans && node->nranges > 0)
		node->reg = cscan_registry_register(node->css.ss.ss_currentRelation, node->nblocks,
											node->ranges, node->nranges, read_before,
											node->policy, later);
	node->chunk_blocks = node->reg ? cscan_registry_chunk_blocks(node->reg) :
		Max(node->nblocks, 1);
	node->nchunks = (node->nblocks + node->chunk_blocks - 1) / node->chunk_blocks;
	if (node->reg)
		node->counts.chunks += cscan_registry_chunks(node->reg);
}

/*
 * Register what is left to be read and divide it into chunks.  Where that is no
 * more than one chunk there is nothing to share; then, and where no
 * registration is to be had, it is read as a single one.
 */
static bool
begin_chunks(CScanState *node)
{
	node->begun = true;
	if (node->span.end <= node->head)
		return false;
	cscan_exec_register(node, false);
	if (node->reg == NULL)
		node->counts.chunks++;
	return true;
}

/*
 * While it was stalled the scan has lost its place to another one.  Register
 * anew what is left; where that cannot be, this process reads it in order.
 */
static void
register_rest(CScanState *node)
{
	uint32		ndone = bms_num_members(node->done);
	CScanRange *left = MemoryContextAlloc(node->context, sizeof(CScanRange) * (node->nranges + ndone));
	uint32		nleft = 0;

	for (uint32 i = 0; i < node->nranges; i++)
	{
		BlockNumber end;

		for (BlockNumber block = node->ranges[i].first; block < node->ranges[i].end; block = end)
		{
			uint32		chunk = block / node->chunk_blocks;

			end = Min(node->ranges[i].end - chunk * node->chunk_blocks, node->chunk_blocks) +
				chunk * node->chunk_blocks;
			if (bms_is_member((int) chunk, node->done))
				continue;
			if (nleft > 0 && left[nleft - 1].end == block)
				left[nleft - 1].end = end;
			else
			{
				left[nleft].first = block;
				left[nleft++].end = end;
			}
		}
	}
	node->ranges = left;
	node->nranges = nleft;

	cscan_exec_leave(node);
	if (synchronize_seqscans && nleft > 0 && nleft <= CSCAN_MAX_RANGES)
		node->reg = cscan_registry_register(node->css.ss.ss_currentRelation, node->nblocks,
											left, nleft, ndone * node->chunk_blocks,
											node->policy, false);
	if (node->reg && cscan_registry_chunk_blocks(node->reg) != node->chunk_blocks)
		cscan_exec_leave(node);
	node->alone = (node->reg == NULL);
}

/* The next chunk of what is left, for this process to read; false if there is none. */
static bool
take_alone(CScanState *node, uint32 *chunk)
{
	uint64		end;

	if (!node->alone || node->nranges == 0)
		return false;
	*chunk = node->ranges->first / node->chunk_blocks;
	end = ((uint64) *chunk + 1) * node->chunk_blocks;
	while (node->nranges > 0 && node->ranges->end <= end)
	{
		node->ranges++;
		node->nranges--;
	}
	if (node->nranges > 0 && node->ranges->first < end)
		node->ranges->first = (BlockNumber) end;
	node->counts.self++;
	return true;
}

/* Go on to the next chunk; false if there is none left. */
static bool
next_chunk(CScanState *node)
{
	CScanDelivery how;
	uint32		chunk;

	if (node->parallel && cscan_parallel_take_head(node))
	{
		read_blocks(node, node->span.first, node->head);
		node->self_read = true;
		node->counts.chunks++;
		node->counts.self++;
		return true;
	}
	if (!node->begun)
	{
		if (read_head(node))
			return true;
		if (!begin_chunks(node))
			return false;
		if (node->reg == NULL)
		{
			node->counts.self++;
			return set_chunk(node, 0);
		}
	}
	if (node->reg == NULL)
		return (node->parallel ? cscan_parallel_take(node, &chunk) : take_alone(node, &chunk)) &&
			set_chunk(node, chunk);

	how = cscan_registry_next(node->reg, &chunk, &node->counts.waited);
	switch (how)
	{
		case CSCAN_FINISHED:

			/*
			 * The owner's helpers may still be reading.  What has been begun
			 * again before is likely to be so once more.
			 */
			if (!node->leader && !node->rescanned)
				cscan_exec_leave(node);
			return false;
		case CSCAN_RESIDENT:
			node->counts.resident++;
			break;
		case CSCAN_LOADED:
			node->counts.loaded++;
			break;
		case CSCAN_SELF_READ:
			node->counts.self++;
			break;
		case CSCAN_LOST:
			register_rest(node);
			return next_chunk(node);
	}
	if (node->parallel)
		cscan_parallel_count(node);
	(void) set_chunk(node, chunk);
	node->self_read = (how == CSCAN_SELF_READ);
	return true;
}

/* ------------------------------------------------------------------
 * Pages and tuples
 * ------------------------------------------------------------------ */

/*
 * The first fetch: fix the number of blocks, which is late enough, since the
 * snapshot has been taken before, and register.  What cannot be registered, or
 * is too small to gain by it, is scanned as PostgreSQL would scan it.
 */
static void
begin_heap_scan(CScanState *node)
{
	CSCAN_FAULT(CSCAN_FAULT_BEGIN);
	if (node->parallel)
	{
		node->scan = cscan_parallel_begin(node);
		return;
	}

	cscan_exec_find_interest(node);
	if (!node->first_rows)
	{
		bool		any = begin_chunks(node);

		/* PostgreSQL's own bitmap scan would make its bitmap once more. */
		node->plain = (node->reg == NULL && node->kind != CSCAN_BITMAP);
		if (any && node->reg == NULL && !node->plain)
		{
			node->counts.self++;
			(void) set_chunk(node, 0);
		}
	}
	node->scan = cscan_exec_beginscan(node);
	if (node->plain)
	{
		node->counts.self += node->nranges > 0;
		node->finished = (node->nranges == 0);
	}
}

/*
 * A scan descriptor of the kind that PostgreSQL's own scan would have, so that
 * statistics and predicate locks are the same.
 */
TableScanDesc
cscan_exec_beginscan(CScanState *node)
{
	ScanState  *ss = &node->css.ss;
	Relation	rel = ss->ss_currentRelation;
	Snapshot	snapshot = ss->ps.state->es_snapshot;
	HeapScanDesc heap;

	switch (node->kind)
	{
		case CSCAN_WHOLE:
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
	if (!node->plain)
	{
		heap->rs_cindex = heap->rs_ntuples = 0;

		/*
		 * What others have in memory keeps its place there, or its lack of
		 * one.
		 */
		if (heap->rs_strategy == NULL && (node->reg || node->parallel))
			heap->rs_strategy = GetAccessStrategy(BAS_BULKREAD);
	}
	return &heap->rs_base;
}

/* The next block of the chunk being read; false if there is none left. */
static inline bool
next_block(CScanState *node, BlockNumber *block)
{
	if (node->kind == CSCAN_BITMAP)
		return cscan_bitmap_next_block(node, block);
	if (node->next_block >= node->end_block)
		return false;
	*block = node->next_block++;
	return true;
}

/* Get the next page with visible tuples; false at the end. */
static bool
next_page(CScanState *node)
{
	HeapScanDesc heap = (HeapScanDesc) node->scan;
	BlockNumber block;

	for (;;)
	{
		if (!next_block(node, &block))
		{
			/* Nothing stays pinned while waiting. */
			ExecClearTuple(node->css.ss.ss_ScanTupleSlot);
			if (BufferIsValid(heap->rs_cbuf))
			{
				ReleaseBuffer(heap->rs_cbuf);
				heap->rs_cbuf = InvalidBuffer;
			}
			if (!next_chunk(node))
				return false;
			continue;
		}
		if (node->kind == CSCAN_BITMAP)
		{
			if (node->self_read)
				cscan_bitmap_prefetch(node);
			cscan_bitmap_get_page(node, block);
		}
		else
		{
			cscan_heap_get_page(heap, block);
			if (node->kind == CSCAN_TID_RANGE)
				cscan_tid_range_trim(node);
		}
		CSCAN_FAULT(CSCAN_FAULT_PAGE);
		if (node->reg)
			cscan_registry_progress(node->reg);
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
	HeapTuple	tuple;
	OffsetNumber offset;
	ItemId		lp;
	Page		page;

	if (node->scan == NULL)
		begin_heap_scan(node);
	if (node->plain && !node->finished)
	{
		if (node->kind == CSCAN_TID_RANGE ?
			table_scan_getnextslot_tidrange(node->scan, ForwardScanDirection, slot) :
			table_scan_getnextslot(node->scan, ForwardScanDirection, slot))
			return slot;
		return ExecClearTuple(slot);
	}
	heap = (HeapScanDesc) node->scan;

	if (node->finished ||
		((int) heap->rs_cindex >= (int) heap->rs_ntuples && !next_page(node)))
	{
		node->finished = true;
		return ExecClearTuple(slot);
	}

	tuple = &heap->rs_ctup;
	page = BufferGetPage(heap->rs_cbuf);
	offset = heap->rs_vistuples[heap->rs_cindex++];
	lp = PageGetItemId(page, offset);
	tuple->t_data = (HeapTupleHeader) PageGetItem(page, lp);
	tuple->t_len = ItemIdGetLength(lp);
	ItemPointerSet(&tuple->t_self, heap->rs_cblock, offset);
	if (node->kind == CSCAN_BITMAP)
		pgstat_count_heap_fetch(ss->ss_currentRelation);
	else
		pgstat_count_heap_getnext(ss->ss_currentRelation);
	return ExecStoreBufferHeapTuple(tuple, slot, heap->rs_cbuf);
}

/* The next tuple that meets the index conditions. */
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

/* EvalPlanQual has another version of a row: does it meet what the scan knows? */
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
	return ExecScan(&node->ss, ((CScanState *) node)->kind == CSCAN_BITMAP ?
					next_rechecked_tuple : next_tuple, recheck);
}

/* ------------------------------------------------------------------
 * The same without what a given scan does not need, as SeqScan has it in 18
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

/* Called for each tuple: pick the shortest way, past core's own wrapper. */
static void
choose_exec(CScanState *node)
{
	PlanState  *ps = &node->css.ss.ps;

	ps->ExecProcNode = exec_general;
#if CSCAN_HAVE_SCAN_EXTENDED
	if (ps->state->es_epq_active != NULL || node->kind == CSCAN_BITMAP)
		return;
	if (ps->qual == NULL)
		ps->ExecProcNode = ps->ps_ProjInfo ? exec_with_project : exec_plain;
	else
		ps->ExecProcNode = ps->ps_ProjInfo ? exec_with_qual_project : exec_with_qual;
#endif
}

/* ------------------------------------------------------------------
 * Life cycle
 * ------------------------------------------------------------------ */

static void
begin_scan(CustomScanState *css, EState *estate, int eflags)
{
	CScanState *node = (CScanState *) css;

#if !CSCAN_HAVE_SLOT_OPS
	ScanState  *ss = &css->ss;
	CustomScan *plan = (CustomScan *) ss->ps.plan;

	/*
	 * The slot was made for virtual tuples, and what was compiled against it
	 * takes the columns as there already.  Make all three anew.
	 */
	ExecInitScanTupleSlot(estate, ss, RelationGetDescr(ss->ss_currentRelation),
						  table_slot_callbacks(ss->ss_currentRelation));
	ExecAssignScanProjectionInfoWithVarno(ss, (int) plan->scan.scanrelid);
	ss->ps.qual = ExecInitQual(plan->scan.plan.qual, (PlanState *) ss);
#else
	CustomScan *plan = (CustomScan *) css->ss.ps.plan;
#endif

	if (node->kind == CSCAN_BITMAP)
	{
		outerPlanState(css) = ExecInitNode(outerPlan(plan), estate, eflags);
		node->recheck_qual = ExecInitQual(plan->custom_exprs, (PlanState *) css);
	}
	else if (node->kind == CSCAN_TID_RANGE)
		node->tid_bounds = cscan_tid_range_compile(plan->custom_exprs, (PlanState *) css);
	node->context = AllocSetContextCreate(estate->es_query_cxt, "CScan", ALLOCSET_SMALL_SIZES);
	node->policy = cscan_policy;
	choose_exec(node);
}

void
cscan_exec_leave(CScanState *node)
{
	if (node->reg)
		cscan_registry_leave(node->reg);
	node->reg = NULL;
}

/*
 * Give back all that a scan holds; what it counted stays.  The registration of
 * a parallel scan is begun, and begun anew, by parallel.c.
 */
static void
leave(CScanState *node, bool for_good)
{
	if (node->reg && !node->leader)
	{
		if (for_good || node->parallel)
			cscan_exec_leave(node);
		else
			cscan_registry_rest(node->reg);
	}
	bms_free(node->done);
	node->done = NULL;
	node->begun = false;
	node->alone = false;
	node->finished = false;
	node->recheck_page = false;
	if (!node->parallel)
		node->head = 0;
	node->next_block = node->end_block = 0;
}

static void
rescan(CustomScanState *css)
{
	CScanState *node = (CScanState *) css;

	CSCAN_FAULT(CSCAN_FAULT_RESCAN);
	leave(node, false);
	node->rescanned = true;
	if (node->scan && node->kind != CSCAN_WHOLE)
	{
		/* What is to be read may be another part of the table. */
		ExecClearTuple(css->ss.ss_ScanTupleSlot);
		table_endscan(node->scan);
		node->scan = NULL;
	}
	else if (node->scan)
	{
		table_rescan(node->scan, NULL);
		if (node->plain)
			node->counts.chunks = ++node->counts.self;
		else
		{
			/*
			 * Tuples that came after the first pass its snapshot does not
			 * see.
			 */
			((HeapScanDesc) node->scan)->rs_ntuples = 0;
			cscan_exec_find_interest(node);
		}
	}
	if (outerPlanState(css) && outerPlanState(css)->chgParam == NULL)
		ExecReScan(outerPlanState(css));
	ExecScanReScan(&css->ss);
}

static void
end_scan(CustomScanState *css)
{
	CScanState *node = (CScanState *) css;

	cscan_parallel_shutdown(css);
	leave(node, true);
	if (node->scan)
	{
		table_endscan(node->scan);
		node->scan = NULL;
	}
	if (outerPlanState(css))
		ExecEndNode(outerPlanState(css));
}

void
cscan_exec_init(void)
{
	RegisterCustomScanMethods(&cscan_scan_methods);
}
