/*-------------------------------------------------------------------------
 *
 * pass_through.c
 *		An extension for tests: a CustomScan above each scan of a table.
 *
 * Its node hands on the rows of the scan below it, one by one, and does
 * nothing else.  The scan is in custom_plans, where extensions keep children
 * that PostgreSQL does not know.
 *
 * Invariant: a path has the costs of the path that it wraps, and a node has
 * the target list of its child.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "commands/explain.h"
#include "executor/executor.h"
#include "fmgr.h"
#include "nodes/extensible.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "utils/guc.h"

PG_MODULE_MAGIC;

void		_PG_init(void);

static bool enabled = true;
static set_rel_pathlist_hook_type prev_set_rel_pathlist_hook;

static void
begin(CustomScanState *node, EState *estate, int eflags)
{
	CustomScan *plan = (CustomScan *) node->ss.ps.plan;

	node->custom_ps = list_make1(ExecInitNode(linitial(plan->custom_plans), estate, eflags));
}

static TupleTableSlot *
exec(CustomScanState *node)
{
	TupleTableSlot *result = node->ss.ps.ps_ResultTupleSlot;
	TupleTableSlot *slot = ExecProcNode(linitial(node->custom_ps));

	/* The nodes above have been told what kind of slot they get. */
	return TupIsNull(slot) ? ExecClearTuple(result) : ExecCopySlot(result, slot);
}

static void
end(CustomScanState *node)
{
	ExecEndNode(linitial(node->custom_ps));
}

static void
rescan(CustomScanState *node)
{
	PlanState  *child = linitial(node->custom_ps);

	if (node->ss.ps.chgParam)
		UpdateChangedParamSet(child, node->ss.ps.chgParam);
	if (child->chgParam == NULL)
		ExecReScan(child);
}

static const CustomExecMethods exec_methods = {
	.CustomName = "PassThrough",
	.BeginCustomScan = begin,
	.ExecCustomScan = exec,
	.EndCustomScan = end,
	.ReScanCustomScan = rescan
};

static Node *
create_state(CustomScan *plan)
{
	CustomScanState *node = makeNode(CustomScanState);

	(void) plan;
	node->methods = &exec_methods;
	return (Node *) node;
}

static const CustomScanMethods scan_methods = {
	.CustomName = "PassThrough",
	.CreateCustomScanState = create_state
};

/* The child checks all conditions. */
static Plan *
plan_path(PlannerInfo *root, RelOptInfo *rel, CustomPath *path, List *tlist, List *clauses, List *custom_plans)
{
	CustomScan *plan = makeNode(CustomScan);

	(void) root;
	(void) rel;
	(void) clauses;
	plan->flags = path->flags;
	plan->scan.plan.targetlist = tlist;
	plan->custom_scan_tlist = copyObject(tlist);
	plan->custom_plans = custom_plans;
	plan->methods = &scan_methods;
	return &plan->scan.plan;
}

static const CustomPathMethods path_methods = {
	.CustomName = "PassThrough",
	.PlanCustomPath = plan_path
};

static void
wrap_paths(List *paths)
{
	ListCell   *lc;

	foreach(lc, paths)
	{
		Path	   *child = lfirst(lc);
		CustomPath *path = makeNode(CustomPath);

		if (child->param_info != NULL)
			continue;
		path->path = *child;
		path->path.type = T_CustomPath;
		path->path.pathtype = T_CustomScan;
		path->path.parallel_aware = false;
		path->custom_paths = list_make1(child);
		path->methods = &path_methods;
		lfirst(lc) = path;
	}
}

static void
set_rel_pathlist(PlannerInfo *root, RelOptInfo *rel, Index rti, RangeTblEntry *rte)
{
	if (prev_set_rel_pathlist_hook)
		prev_set_rel_pathlist_hook(root, rel, rti, rte);
	if (!enabled || rte->rtekind != RTE_RELATION || rte->inh)
		return;
	wrap_paths(rel->pathlist);
	wrap_paths(rel->partial_pathlist);
}

void
_PG_init(void)
{
	DefineCustomBoolVariable("pass_through.enabled", "Puts a node above each scan of a table.",
							 NULL, &enabled, true, PGC_USERSET, 0, NULL, NULL, NULL);
	RegisterCustomScanMethods(&scan_methods);
	prev_set_rel_pathlist_hook = set_rel_pathlist_hook;
	set_rel_pathlist_hook = set_rel_pathlist;
}
