/*-------------------------------------------------------------------------
 *
 * rewrite.c
 *		Turns the sequential scans of a finished plan into CScans.
 *
 * PostgreSQL's planner decides as it always does; then each SeqScan of an
 * eligible table is replaced by a CustomScan with the same target list, qual
 * and costs.  So a plan has a CScan where it would have had a Seq Scan, and
 * enable_seqscan governs both.
 *
 * Left alone: whatever a SCROLL cursor reads (the planner has decided already
 * that the plan can go backward), and scans with a CURRENT OF.
 *
 * On the way down it is noted whether only the first rows may be wanted.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "nodes/extensible.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "nodes/parsenodes.h"
#include "parser/parsetree.h"

#include "exec/exec.h"
#include "planner/planner.h"

typedef struct CScanRewrite
{
	PlannedStmt *stmt;
	Bitmapset  *first_rows_subplans;	/* plan ids (from 1) */
	CScanPlanVisitor visitor;	/* only look, change nothing */
	void	   *arg;
} CScanRewrite;

static planner_hook_type prev_planner_hook;

static Plan *rewrite_plan(Plan *plan, bool first_rows, CScanRewrite *ctx);

bool
cscan_planner_is_cscan(const Plan *plan)
{
	return IsA(plan, CustomScan) &&
		((const CustomScan *) plan)->methods == &cscan_scan_methods;
}

/* Does the expression hold a CURRENT OF? */
static bool
has_current_of(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, CurrentOfExpr))
		return true;
	return expression_tree_walker(node, has_current_of, context);
}

/* Note the subplans that are run only until their first row. */
static bool
find_first_rows_subplans(Node *node, void *context)
{
	CScanRewrite *ctx = context;

	if (node == NULL)
		return false;
	if (IsA(node, SubPlan))
	{
		SubPlan    *subplan = (SubPlan *) node;

		if (subplan->subLinkType == EXISTS_SUBLINK ||
			(subplan->subLinkType == ANY_SUBLINK && !subplan->useHashTable))
			ctx->first_rows_subplans = bms_add_member(ctx->first_rows_subplans,
													  subplan->plan_id);
	}
	return expression_tree_walker(node, find_first_rows_subplans, context);
}

static Plan *
rewrite_seqscan(Plan *plan, bool first_rows, CScanRewrite *ctx)
{
	Scan	   *scan = (Scan *) plan;
	RangeTblEntry *rte = rt_fetch(scan->scanrelid, ctx->stmt->rtable);
	CustomScan *cscan;

	if (rte->rtekind != RTE_RELATION ||
		has_current_of((Node *) plan->qual, NULL) ||
		cscan_planner_why_not(rte->relid) != NULL)
		return plan;

	cscan = makeNode(CustomScan);
	cscan->scan.plan = *plan;
	cscan->scan.plan.type = T_CustomScan;
	cscan->scan.scanrelid = scan->scanrelid;
	cscan->flags = 0;
	cscan->custom_relids = bms_make_singleton((int) scan->scanrelid);
	cscan->custom_private = list_make1_int(first_rows);
	cscan->methods = &cscan_scan_methods;
	return &cscan->scan.plan;
}

static void
rewrite_list(List *plans, bool first_rows, CScanRewrite *ctx)
{
	ListCell   *lc;

	foreach(lc, plans)
		lfirst(lc) = rewrite_plan(lfirst(lc), first_rows, ctx);
}

/* Does this node hand on rows only after it has read all of its input? */
static bool
reads_all_input(const Plan *plan)
{
	switch (nodeTag(plan))
	{
		case T_Sort:
		case T_Hash:
		case T_ModifyTable:
			return true;
		case T_Agg:
			return ((const Agg *) plan)->aggstrategy != AGG_SORTED;
		default:
			return false;
	}
}

static Plan *
rewrite_plan(Plan *plan, bool first_rows, CScanRewrite *ctx)
{
	bool		inner_first_rows;

	if (plan == NULL)
		return NULL;

	if (ctx->visitor)
		ctx->visitor(plan, ctx->arg);
	else if (IsA(plan, SeqScan))
		return rewrite_seqscan(plan, first_rows, ctx);

	if (IsA(plan, Limit))
		first_rows = true;
	else if (reads_all_input(plan))
		first_rows = false;
	inner_first_rows = first_rows;

	switch (nodeTag(plan))
	{
		case T_Append:
			rewrite_list(((Append *) plan)->appendplans, first_rows, ctx);
			break;
		case T_MergeAppend:
			rewrite_list(((MergeAppend *) plan)->mergeplans, first_rows, ctx);
			break;
		case T_SubqueryScan:
			((SubqueryScan *) plan)->subplan =
				rewrite_plan(((SubqueryScan *) plan)->subplan, first_rows, ctx);
			break;
		case T_NestLoop:
			if (((Join *) plan)->inner_unique ||
				((Join *) plan)->jointype == JOIN_SEMI ||
				((Join *) plan)->jointype == JOIN_ANTI)
				inner_first_rows = true;
			break;
		default:
			break;
	}
	plan->lefttree = rewrite_plan(plan->lefttree, first_rows, ctx);
	plan->righttree = rewrite_plan(plan->righttree, inner_first_rows, ctx);
	return plan;
}

/* As a visitor: what a node's expressions tell about subplans. */
static void
look_into_expressions(Plan *plan, void *arg)
{
	(void) find_first_rows_subplans((Node *) plan->targetlist, arg);
	(void) find_first_rows_subplans((Node *) plan->qual, arg);
	(void) find_first_rows_subplans((Node *) plan->initPlan, arg);
	if (IsA(plan, NestLoop) || IsA(plan, MergeJoin) || IsA(plan, HashJoin))
		(void) find_first_rows_subplans((Node *) ((Join *) plan)->joinqual, arg);
	else if (IsA(plan, Result))
		(void) find_first_rows_subplans(((Result *) plan)->resconstantqual, arg);
}

static void
rewrite_statement(PlannedStmt *stmt, bool first_rows, CScanRewrite *ctx)
{
	ListCell   *lc;
	int			plan_id = 1;

	ctx->stmt = stmt;
	stmt->planTree = rewrite_plan(stmt->planTree, first_rows, ctx);
	foreach(lc, stmt->subplans)
	{
		lfirst(lc) = rewrite_plan(lfirst(lc),
								  bms_is_member(plan_id, ctx->first_rows_subplans), ctx);
		plan_id++;
	}
}

void
cscan_planner_visit(PlannedStmt *stmt, CScanPlanVisitor visitor, void *arg)
{
	CScanRewrite ctx = {0};

	ctx.visitor = visitor;
	ctx.arg = arg;
	rewrite_statement(stmt, false, &ctx);
}

static PlannedStmt *
cscan_planner(CSCAN_PLANNER_PARAMS)
{
	PlannedStmt *stmt;

	if (prev_planner_hook)
		stmt = prev_planner_hook(CSCAN_PLANNER_ARGS);
	else
		stmt = standard_planner(CSCAN_PLANNER_ARGS);

	if (cscan_enabled && !(cursorOptions & CURSOR_OPT_SCROLL))
	{
		CScanRewrite ctx = {0};

		/* Subplans may stand before the plans that use them. */
		cscan_planner_visit(stmt, look_into_expressions, &ctx);
		rewrite_statement(stmt, (cursorOptions & CURSOR_OPT_FAST_PLAN) != 0, &ctx);
	}
	return stmt;
}

void
cscan_planner_init(void)
{
	prev_planner_hook = planner_hook;
	planner_hook = cscan_planner;
}
