/*-------------------------------------------------------------------------
 *
 * exec.c
 *		The CScan node: a sequential scan whose chunks come in any order.
 *
 * The page loop is a heap scan's own, page at a time; what differs is which
 * page comes next.  The node reads every page itself, through the buffer
 * manager, so that the ABM's pins only decide whether that is a hit.
 *
 *		first fetch		begin a heap scan, fix the number of blocks, register
 *		next chunk		ask the registry, which may wait; or, without one, go on
 *						in block order
 *		end, rescan		leave
 *
 * Invariant: every chunk is taken exactly once.  The node keeps its own list
 * of the chunks that it has taken and holds whatever the registry says
 * against it.  What several processes do together is in parallel.c.
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
	node->first_rows = list_nth_int(cscan->custom_private, CSCAN_PRIVATE_FIRST_ROWS);
	return (Node *) node;
}

/* ------------------------------------------------------------------
 * Chunks
 * ------------------------------------------------------------------ */

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
	node->next_block = Max(chunk * node->chunk_blocks, node->head);
	node->end_block = Min(node->nblocks - chunk * node->chunk_blocks, node->chunk_blocks) +
		chunk * node->chunk_blocks;
	return true;
}

/*
 * The first rows are wanted soon, or perhaps only they: read a chunk's worth
 * of blocks before anything is registered.
 */
static bool
read_head(CScanState *node)
{
	if (!node->first_rows || node->head > 0 || node->nblocks == 0)
		return false;
	node->head = Min(node->nblocks, cscan_shared->preferred_chunk_blocks);
	node->next_block = 0;
	node->end_block = node->head;
	node->counts.chunks++;
	node->counts.self++;
	return true;
}

/* Register, if possible, the blocks from "head" on, of "nblocks". */
void
cscan_exec_register(CScanState *node, bool later)
{
	/* The plan may be older than the wish for physical order. */
	if (synchronize_seqscans)
		node->reg = cscan_registry_register(node->css.ss.ss_currentRelation,
											node->nblocks, node->head, node->policy,
											later);
	node->chunk_blocks = node->reg ? cscan_registry_chunk_blocks(node->reg) :
		Max(node->nblocks, 1);
	node->nchunks = (node->nblocks + node->chunk_blocks - 1) / node->chunk_blocks;
}

/*
 * Register what is left of the table and divide it into chunks.  Where that
 * is no more than one chunk there is nothing to share; then, and where no
 * registration is to be had, it is read as a single one.
 */
static bool
begin_chunks(CScanState *node)
{
	node->begun = true;
	if (node->nblocks <= node->head)
		return false;
	cscan_exec_register(node, false);
	node->counts.chunks += node->nchunks - node->head / node->chunk_blocks;
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
		node->next_block = 0;
		node->end_block = node->head;
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
		return node->parallel && cscan_parallel_take(node, &chunk) &&
			set_chunk(node, chunk);

	how = cscan_registry_next(node->reg, &chunk, &node->counts.waited);
	switch (how)
	{
		case CSCAN_FINISHED:
			/* The owner's helpers may still be reading. */
			if (!node->leader)
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
	}
	if (node->parallel)
		cscan_parallel_count(node);
	return set_chunk(node, chunk);
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
	ScanState  *ss = &node->css.ss;

	if (node->parallel)
	{
		node->scan = cscan_parallel_begin(node);
		return;
	}

	/* What is written behind these blocks must meet the predicate lock. */
	PredicateLockRelation(ss->ss_currentRelation, ss->ps.state->es_snapshot);
	node->nblocks = RelationGetNumberOfBlocks(ss->ss_currentRelation);
	if (!node->first_rows)
	{
		(void) begin_chunks(node);
		node->plain = (node->reg == NULL);
	}

	/* This counts the scan and takes the predicate lock. */
	node->scan = table_beginscan_strat(ss->ss_currentRelation,
									   ss->ps.state->es_snapshot,
									   0, NULL, true, node->plain);
	if (node->plain)
	{
		node->counts.chunks = node->counts.self = 1;
		node->nblocks = ((HeapScanDesc) node->scan)->rs_nblocks;
	}
	else
		((HeapScanDesc) node->scan)->rs_cindex = ((HeapScanDesc) node->scan)->rs_ntuples = 0;
}

/* Get the next page with visible tuples; false at the end. */
static bool
next_page(CScanState *node)
{
	HeapScanDesc heap = (HeapScanDesc) node->scan;

	for (;;)
	{
		if (node->next_block >= node->end_block)
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
		}
		cscan_heap_get_page(heap, node->next_block++);
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
	if (node->plain)
	{
		if (table_scan_getnextslot(node->scan, ForwardScanDirection, slot))
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
	pgstat_count_heap_getnext(ss->ss_currentRelation);
	return ExecStoreBufferHeapTuple(tuple, slot, heap->rs_cbuf);
}

/* There are no conditions that only the access method knows of. */
static bool
recheck(ScanState *ss, TupleTableSlot *slot)
{
	(void) ss;
	(void) slot;
	return true;
}

static TupleTableSlot *
exec_scan(CustomScanState *node)
{
	return ExecScan(&node->ss, next_tuple, recheck);
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
	return ExecScan((ScanState *) ps, next_tuple, recheck);
}

/* Called for each tuple: pick the shortest way, past core's own wrapper. */
static void
choose_exec(CScanState *node)
{
	PlanState  *ps = &node->css.ss.ps;

	ps->ExecProcNode = exec_general;
#if CSCAN_HAVE_SCAN_EXTENDED
	if (ps->state->es_epq_active != NULL)
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
#endif
	(void) estate;
	(void) eflags;

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
leave(CScanState *node)
{
	if (!node->leader)
		cscan_exec_leave(node);
	bms_free(node->done);
	node->done = NULL;
	node->begun = false;
	node->finished = false;
	if (!node->parallel)
		node->head = 0;
	node->next_block = node->end_block = 0;
}

static void
rescan(CustomScanState *css)
{
	CScanState *node = (CScanState *) css;

	leave(node);
	if (node->scan)
	{
		/*
		 * Tuples that came after the first pass are not visible to its
		 * snapshot: nblocks stays as it was.
		 */
		table_rescan(node->scan, NULL);
		if (node->plain)
			node->counts.chunks = ++node->counts.self;
		else
			((HeapScanDesc) node->scan)->rs_ntuples = 0;
	}
	ExecScanReScan(&css->ss);
}

static void
end_scan(CustomScanState *css)
{
	CScanState *node = (CScanState *) css;

	cscan_parallel_shutdown(css);
	leave(node);
	if (node->scan)
	{
		table_endscan(node->scan);
		node->scan = NULL;
	}
}

void
cscan_exec_init(void)
{
	RegisterCustomScanMethods(&cscan_scan_methods);
}
