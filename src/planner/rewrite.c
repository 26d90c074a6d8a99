/*-------------------------------------------------------------------------
 *
 * rewrite.c
 *		Turns scans of a finished plan into CScans.
 *
 * PostgreSQL's planner decides, with the prices of paths.c; then each SeqScan
 * and TidRangeScan of an eligible table, and each BitmapHeapScan with paths.c's
 * mark, is replaced by a CustomScan with the same target list, qual and costs.
 * So a plan has a CScan where it would have had a Seq Scan, and enable_seqscan,
 * enable_bitmapscan and enable_tidscan govern both.
 *
 * Left alone: whatever a SCROLL cursor reads (the planner has decided already
 * that the plan can go backward), and scans with a CURRENT OF.
 *
 * On the way down it is noted whether only the first rows may be wanted.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "access/table.h"
#include "nodes/extensible.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "nodes/parsenodes.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"

#include "exec/exec.h"
#include "planner/planner.h"

/* Size of a partitioned table, or of one with inheritance children */
typedef struct CScanFamily
{
	Index		top;
	double		blocks;
} CScanFamily;

typedef struct CScanRewrite
{
	PlannedStmt *stmt;
	Bitmapset  *first_rows_subplans;	/* plan ids (from 1) */
	Index	   *parents;		/* of each range table entry, or 0 */
	List	   *families;		/* of CScanFamily */
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

/* The table that a partition or another inheritance child belongs to in the end. */
static Index
top_parent(CScanRewrite *ctx, Index rti)
{
	if (ctx->parents == NULL)
	{
		ListCell   *lc;

		ctx->parents = palloc0(sizeof(Index) * (list_length(ctx->stmt->rtable) + 1));
		foreach(lc, ctx->stmt->appendRelations)
		{
			AppendRelInfo *info = lfirst_node(AppendRelInfo, lc);

			if (OidIsValid(info->parent_reloid))
				ctx->parents[info->child_relid] = info->parent_relid;
		}
	}
	while (ctx->parents[rti] != 0)
		rti = ctx->parents[rti];
	return rti;
}

/*
 * Blocks of all tables of a table's family that the statement reads, as far as
 * is known before it is executed; 0 if it has none.
 */
static double
family_blocks(CScanRewrite *ctx, Index rti)
{
	Index		top = top_parent(ctx, rti);
	CScanFamily *family;
	ListCell   *lc;

	if (top == rti)
		return 0;
	foreach(lc, ctx->families)
	{
		family = lfirst(lc);
		if (family->top == top)
			return family->blocks;
	}
	family = palloc0(sizeof(CScanFamily));
	family->top = top;
	foreach(lc, ctx->stmt->appendRelations)
	{
		AppendRelInfo *info = lfirst_node(AppendRelInfo, lc);
		RangeTblEntry *rte = rt_fetch(info->child_relid, ctx->stmt->rtable);

		if (rte->rtekind == RTE_RELATION && !rte->inh && RELKIND_HAS_STORAGE(rte->relkind) &&
			top_parent(ctx, info->child_relid) == top)
		{
			Relation	rel = table_open(rte->relid, NoLock);

			family->blocks += RelationGetNumberOfBlocks(rel);
			table_close(rel, NoLock);
		}
	}
	ctx->families = lappend(ctx->families, family);
	return family->blocks;
}

const char *
cscan_planner_why_not_in(PlannedStmt *stmt, Index rti)
{
	CScanRewrite ctx = {0};

	ctx.stmt = stmt;
	return cscan_planner_why_not(rt_fetch(rti, stmt->rtable)->relid, family_blocks(&ctx, rti));
}

/* A CScan with the target list, qual and costs of that scan. */
static CustomScan *
make_cscan(const Scan *scan, CScanKind kind, bool first_rows)
{
	CustomScan *cscan = makeNode(CustomScan);

	cscan->scan = *scan;
	cscan->scan.plan.type = T_CustomScan;
	cscan->flags = 0;
	cscan->custom_relids = bms_make_singleton((int) scan->scanrelid);
	cscan->custom_private = list_make2_int(kind, first_rows);
	cscan->methods = &cscan_scan_methods;
	return cscan;
}

static bool
is_eligible(const Scan *scan, CScanRewrite *ctx)
{
	RangeTblEntry *rte = rt_fetch(scan->scanrelid, ctx->stmt->rtable);

	return rte->rtekind == RTE_RELATION &&
		!has_current_of((Node *) scan->plan.qual, NULL) &&
		cscan_planner_why_not(rte->relid, family_blocks(ctx, scan->scanrelid)) == NULL;
}

/* A CScan's bitmap is made by one process, in its own memory. */
static void
unshare_bitmap(Plan *plan)
{
	List	   *inputs = NIL;
	ListCell   *lc;

	if (IsA(plan, BitmapIndexScan))
		((BitmapIndexScan *) plan)->isshared = false;
	else if (IsA(plan, BitmapAnd))
		inputs = ((BitmapAnd *) plan)->bitmapplans;
	else if (IsA(plan, BitmapOr))
	{
		((BitmapOr *) plan)->isshared = false;
		inputs = ((BitmapOr *) plan)->bitmapplans;
	}
	foreach(lc, inputs)
		unshare_bitmap(lfirst(lc));
}

/* Does an expression hold what comes from elsewhere in the plan? */
static bool
has_params(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Param))
		return ((Param *) node)->paramkind == PARAM_EXEC;
	if (IsA(node, SubPlan))
		return true;
	return expression_tree_walker(node, has_params, context);
}

bool
cscan_planner_may_change(Node *quals)
{
	return has_params(quals, NULL) || contain_mutable_functions(quals);
}

bool
cscan_planner_bitmap_may_change(Plan *plan)
{
	List	   *inputs = NIL;
	ListCell   *lc;

	if (IsA(plan, BitmapIndexScan))
		return cscan_planner_may_change((Node *) ((BitmapIndexScan *) plan)->indexqual);
	if (IsA(plan, BitmapAnd))
		inputs = ((BitmapAnd *) plan)->bitmapplans;
	else if (IsA(plan, BitmapOr))
		inputs = ((BitmapOr *) plan)->bitmapplans;
	foreach(lc, inputs)
	{
		if (cscan_planner_bitmap_may_change(lfirst(lc)))
			return true;
	}
	return false;
}

bool
cscan_planner_is_marked(const Plan *plan)
{
	return IsA(plan, BitmapHeapScan) && IsA(plan->lefttree, BitmapAnd) &&
		list_length(((BitmapAnd *) plan->lefttree)->bitmapplans) == 1;
}

static Plan *
rewrite_scan(Plan *plan, bool first_rows, CScanRewrite *ctx)
{
	CustomScan *cscan;

	switch (nodeTag(plan))
	{
		case T_SeqScan:
			if (!is_eligible((Scan *) plan, ctx))
				return plan;
			return &make_cscan((Scan *) plan, CSCAN_WHOLE, first_rows)->scan.plan;
		case T_TidRangeScan:
			if (plan->parallel_aware || !is_eligible((Scan *) plan, ctx))
				return plan;
			cscan = make_cscan((Scan *) plan, CSCAN_TID_RANGE, first_rows);
			cscan->custom_exprs = ((TidRangeScan *) plan)->tidrangequals;
			return &cscan->scan.plan;
		default:
			if (plan->parallel_aware && cscan_planner_bitmap_may_change(plan->lefttree))
			{
				/*
				 * There is no such path (paths.c).  If there were one all the
				 * same, it would stay PostgreSQL's own, without the mark.
				 */
				plan->lefttree = linitial(((BitmapAnd *) plan->lefttree)->bitmapplans);
				return plan;
			}
			cscan = make_cscan((Scan *) plan, CSCAN_BITMAP, first_rows);
			cscan->custom_exprs = ((BitmapHeapScan *) plan)->bitmapqualorig;
			outerPlan(cscan) = linitial(((BitmapAnd *) plan->lefttree)->bitmapplans);
			unshare_bitmap(outerPlan(cscan));
			return &cscan->scan.plan;
	}
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
	else if (IsA(plan, SeqScan) || IsA(plan, TidRangeScan) || cscan_planner_is_marked(plan))
		return rewrite_scan(plan, first_rows, ctx);

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
	bool		was_active = cscan_planner_active;
	volatile bool active = false;
	PlannedStmt *volatile stmt;

	cscan_paths_begin(cscan_enabled && !(cursorOptions & CURSOR_OPT_SCROLL));
	PG_TRY();
	{
		if (prev_planner_hook)
			stmt = prev_planner_hook(CSCAN_PLANNER_ARGS);
		else
			stmt = standard_planner(CSCAN_PLANNER_ARGS);
		active = cscan_planner_active;
	}
	PG_FINALLY();
	{
		cscan_paths_begin(was_active);
	}
	PG_END_TRY();

	if (active)
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
	cscan_paths_init();
}
