/*-------------------------------------------------------------------------
 *
 * node.c
 *		The CScan node's life: what the executor calls, and when what is held
 *		goes.
 *
 *		create, begin	nothing is read or held yet
 *		first fetch		tuples.c begins a heap scan, chunks.c registers
 *		rescan			the registration rests, or ends (gather.c begins anew); a
 *						cursor that is rewound goes over the same chunks again
 *		end				all that is held goes
 *
 * Invariant: a rescan forgets how far the scan was.  It keeps the counts, a
 * resting registration, and the heap scan of a whole table.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "access/tableam.h"
#include "nodes/bitmapset.h"
#include "utils/memutils.h"

#include "exec/exec.h"
#include "fault.h"

static Node *create_state(CustomScan *cscan);
static void begin_scan(CustomScanState *node, EState *estate, int eflags);
static void end_scan(CustomScanState *node);
static void rescan(CustomScanState *node);

const CScanFilterMethods *cscan_filter_methods;

const CustomScanMethods cscan_scan_methods = {
	.CustomName = "CScan",
	.CreateCustomScanState = create_state,
};

const CustomExecMethods cscan_exec_methods = {
	.CustomName = "CScan",
	.BeginCustomScan = begin_scan,
	.ExecCustomScan = cscan_tuples_exec,
	.EndCustomScan = end_scan,
	.ReScanCustomScan = rescan,
	.EstimateDSMCustomScan = cscan_gather_estimate,
	.InitializeDSMCustomScan = cscan_gather_initialize,
	.ReInitializeDSMCustomScan = cscan_gather_reinitialize,
	.InitializeWorkerCustomScan = cscan_gather_attach,
	.ShutdownCustomScan = cscan_gather_shutdown,
	.ExplainCustomScan = cscan_explain,
};

static Node *
create_state(CustomScan *cscan)
{
	CScanState *node = palloc0(sizeof(CScanState));

	NodeSetTag(node, T_CustomScanState);
	node->css.methods = &cscan_exec_methods;
	node->kind = (CScanKind) list_nth_int(cscan->custom_private, CSCAN_PRIVATE_KIND);
#if CSCAN_HAVE_SLOT_OPS
	node->css.slotOps = node->kind == CSCAN_COLUMNS ? &TTSOpsVirtual : &TTSOpsBufferHeapTuple;
#endif
	node->looks_at_rows = true;
	node->first_rows = list_nth_int(cscan->custom_private, CSCAN_PRIVATE_FIRST_ROWS) &&
		!cscan_debug_small_scans;
	node->family_relid = (Oid) list_nth_int(cscan->custom_private, CSCAN_PRIVATE_FAMILY);
	return (Node *) node;
}

static void
begin_scan(CustomScanState *css, EState *estate, int eflags)
{
	CScanState *node = (CScanState *) css;

#if !CSCAN_HAVE_SLOT_OPS
	ScanState  *ss = &css->ss;
	CustomScan *plan = (CustomScan *) ss->ps.plan;

	/*
	 * The slot was made for virtual tuples.  Projection and qual were
	 * compiled against it and take its columns as deformed.  Make all three
	 * anew, and with them their SubPlans.
	 */
	if (node->kind != CSCAN_COLUMNS)
	{
		ss->ps.subPlan = NIL;
		ExecInitScanTupleSlot(estate, ss, RelationGetDescr(ss->ss_currentRelation),
							  table_slot_callbacks(ss->ss_currentRelation));
		ExecAssignScanProjectionInfoWithVarno(ss, (int) plan->scan.scanrelid);
		ss->ps.qual = ExecInitQual(plan->scan.plan.qual, (PlanState *) ss);
	}
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
	else if (node->kind == CSCAN_COLUMNS && !(eflags & EXEC_FLAG_EXPLAIN_ONLY))
		cscan_columns_begin(node, estate);

	/* A cursor may go backward; what cannot do so has a Material above it. */
	if ((eflags & EXEC_FLAG_BACKWARD) && (node->kind == CSCAN_WHOLE || node->kind == CSCAN_TID_RANGE))
		node->scroll = cscan_scroll_begin();
	node->context = AllocSetContextCreate(estate->es_query_cxt, "CScan", ALLOCSET_SMALL_SIZES);
	node->policy = cscan_policy;
	node->enabled = cscan_enabled;
	node->pages_room = MaxAllocHugeSize;
	GetUserIdAndSecContext(&node->user.id, &node->user.context);
	cscan_tuples_choose_exec(node);
	cscan_filter_methods->begin(node);
}

/*
 * Give back all that a scan holds, except its counts.  gather.c begins, and
 * begins anew, the registration of a parallel scan.
 */
static void
leave(CScanState *node, bool for_good)
{
	if (node->family)
	{
		if (for_good)
			cscan_family_leave(node->family);
		else if (node->by_family)
			cscan_family_rest(node->family);
	}
	if (node->reg && !node->leader)
	{
		if (for_good || node->parallel)
			cscan_blocks_leave(node);
		else
			cscan_registry_rest(node->reg);
	}
	cscan_read_ahead_end(node);
	if (node->scroll)
		cscan_scroll_forget(node->scroll);
	if (node->columns)
		cscan_columns_reset(node);
	bms_free(node->done);
	node->done = NULL;
	node->chunk_blocks = 0;
	node->pages_room = MaxAllocHugeSize;
	node->found = false;
	node->begun = false;
	node->alone = false;
	node->finished = false;
	node->helping = false;
	node->recheck_page = false;
	if (!node->parallel)
		node->head = 0;
	node->next_block = node->end_block = 0;
	node->ntaken = 0;
}

static void
rescan(CustomScanState *css)
{
	CScanState *node = (CScanState *) css;

	CSCAN_FAULT(CSCAN_FAULT_RESCAN);
	if (node->scroll && node->scan && css->ss.ps.chgParam == NULL)
	{
		cscan_scroll_rewind(node);
		ExecScanReScan(&css->ss);
		return;
	}
	leave(node, false);
	node->rescanned = true;
	if (node->filter)
		cscan_filter_methods->rescan(node);
	if (node->scan && (node->kind != CSCAN_WHOLE || node->better_alone))
	{
		/* The next pass may read other blocks, or in another way. */
		node->better_alone = false;
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
			 * The snapshot does not see tuples that were added after the
			 * first pass.
			 */
			((HeapScanDesc) node->scan)->rs_ntuples = 0;
			cscan_blocks_find(node);
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

	cscan_gather_shutdown(css);
	leave(node, true);
	if (node->scan)
	{
		table_endscan(node->scan);
		node->scan = NULL;
	}
	if (node->columns)
		cscan_columns_end(node);
	if (outerPlanState(css))
		ExecEndNode(outerPlanState(css));
}

void
cscan_exec_init(void)
{
	RegisterCustomScanMethods(&cscan_scan_methods);
}

/* Without shared memory there are no registrations and no families. */
void
cscan_exec_init_families(void)
{
	cscan_family_init(&cscan_exec_methods);
}
