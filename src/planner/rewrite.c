/*-------------------------------------------------------------------------
 *
 * rewrite.c
 *		Turns scans of a finished plan into CScans.
 *
 * PostgreSQL's planner decides, with the prices of paths.c.  Then a CustomScan
 * with the same target list, qual and costs replaces each SeqScan and
 * TidRangeScan of an eligible table, and each BitmapHeapScan with the mark of
 * paths.c.  So a plan has a CScan where it would have had a Seq Scan, and
 * enable_seqscan, enable_bitmapscan and enable_tidscan govern both.
 *
 * Scans with a CURRENT OF stay as they are.
 *
 * The planner has decided whether a SCROLL cursor's plan can go backward.  So
 * what replaces a SeqScan or a TidRangeScan can, too, unless it is in a family.
 * Below a SCROLL cursor there are none.
 *
 * The way down notes whether only the first rows may be wanted.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "nodes/extensible.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "nodes/parsenodes.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"

#include "exec/exec.h"
#include "planner/planner.h"

typedef struct CScanRewrite
{
	Bitmapset  *first_rows_subplans;	/* plan ids (from 1) */
	Bitmapset  *row_subplans;	/* likewise: hand on rows as they come */
	bool		locks_rows;		/* a node locks rows as they come */
	CScanFamilies families;
	int			in_order;		/* nodes above that lock rows as they come */
} CScanRewrite;

/* What the children of a plan node need to know. */
typedef struct CScanAbove
{
	CScanRewrite *ctx;
	Plan	   *plan;			/* the plan node */
	bool		first_rows;		/* only the first rows may be wanted */
	bool		inner_first_rows;	/* likewise on a join's inner side */
} CScanAbove;

static planner_hook_type prev_planner_hook;

static Plan *rewrite_plan(Plan *plan, bool first_rows, CScanRewrite *ctx);

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

/*
 * Note the subplans that run only until their first row.  Also note those of
 * WITH and ARRAY(), whose reader gets the rows as they come.
 */
static bool
look_at_subplans(Node *node, void *context)
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
		else if (subplan->subLinkType == CTE_SUBLINK || subplan->subLinkType == ARRAY_SUBLINK)
			ctx->row_subplans = bms_add_member(ctx->row_subplans, subplan->plan_id);
	}
	return expression_tree_walker(node, look_at_subplans, context);
}

static bool
is_eligible(const Scan *scan, CScanRewrite *ctx)
{
	RangeTblEntry *rte = rt_fetch(scan->scanrelid, ctx->families.stmt->rtable);

	return rte->rtekind == RTE_RELATION &&
		!has_current_of((Node *) scan->plan.qual, NULL) &&
		cscan_eligible_in(&ctx->families, scan->scanrelid);
}

static Plan *
rewrite_scan(Plan *plan, bool first_rows, CScanRewrite *ctx)
{
	if (cscan_planner_is_marked(plan))
		return cscan_convert_scan(plan, first_rows);
	if ((IsA(plan, TidRangeScan) && plan->parallel_aware) || !is_eligible((Scan *) plan, ctx))
		return plan;
	return cscan_convert_scan(plan, first_rows);
}

/* Does this node read all of its input before it hands on a row? */
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

/* Rewrite a child of a plan node. */
static void
rewrite_child(Plan **child, void *arg)
{
	CScanAbove *above = arg;

	*child = rewrite_plan(*child, child == &above->plan->righttree ?
						  above->inner_first_rows : above->first_rows, above->ctx);
}

/*
 * Does this node lock existing rows or keys in the order in which they come?
 * Two such nodes with different orders might wait for each other.
 */
static bool
locks_rows(const Plan *plan)
{
	if (IsA(plan, ModifyTable))
	{
		const ModifyTable *modify = (const ModifyTable *) plan;

		return modify->operation != CMD_INSERT || modify->onConflictAction != ONCONFLICT_NONE;
	}
	return IsA(plan, LockRows);
}

/*
 * Can all processes of a parallel query read for this scan?  In a Parallel
 * Append, PostgreSQL has one process read each child that it takes for small.
 * In a family all processes read what is there.
 */
static bool
can_be_parallel(const CustomScan *cscan)
{
	switch ((CScanKind) list_nth_int(cscan->custom_private, CSCAN_PRIVATE_KIND))
	{
		case CSCAN_WHOLE:
			return true;
		case CSCAN_BITMAP:
			return !cscan_planner_bitmap_must_wait(cscan->scan.plan.lefttree);
		default:
			return false;
	}
}

/*
 * Mark the CScans below an Append as a possible family (exec/family.c).  If
 * the order of its children counts, none of them is a CScan.  Partitions that
 * come in order, one behind the other, are each sorted.  In INTERSECT and
 * EXCEPT, which up to 17 read one side before the other, each side is a
 * SubqueryScan.
 *
 * Those that read columns are no family with those that read tables: the ones
 * that cost more in all are.  A parallel scan of columns is in none.
 */
static void
mark_family(Append *append, const CScanRewrite *ctx)
{
	List	   *rtable = ctx->families.stmt->rtable;
	List	   *of_tables = NIL;
	List	   *of_columns = NIL;
	List	   *members;
	Cost		cost = 0;
	ListCell   *lc;
	Oid			relid;

	foreach(lc, append->appendplans)
	{
		CustomScan *child = lfirst(lc);

		if (!cscan_planner_is_cscan(&child->scan.plan) ||
			(append->plan.parallel_aware && !can_be_parallel(child)))
			continue;
		if (list_nth_int(child->custom_private, CSCAN_PRIVATE_KIND) != CSCAN_COLUMNS)
		{
			of_tables = lappend(of_tables, child);
			cost -= child->scan.plan.total_cost;
		}
		else if (!child->scan.plan.parallel_aware)
		{
			of_columns = lappend(of_columns, child);
			cost += child->scan.plan.total_cost;
		}
	}
	members = cost > 0 ? of_columns : of_tables;
	foreach(lc, of_tables)
		((Plan *) lfirst(lc))->parallel_aware |= append->plan.parallel_aware;
	if (list_length(members) < 2)
		return;

	/* What the query names: the parent, or the first table of UNION ALL. */
	relid = rt_fetch(((CustomScan *) linitial(members))->scan.scanrelid, rtable)->relid;
	if (!bms_is_empty(append->apprelids))
	{
		const RangeTblEntry *rte = rt_fetch(bms_next_member(append->apprelids, -1), rtable);

		if (rte->rtekind == RTE_RELATION)
			relid = rte->relid;
	}
	foreach(lc, members)
	{
		CustomScan *child = lfirst(lc);

		lfirst_int(list_nth_cell(child->custom_private, CSCAN_PRIVATE_FAMILY)) = (int) relid;
		child->flags = 0;
	}
}

static Plan *
rewrite_plan(Plan *plan, bool first_rows, CScanRewrite *ctx)
{
	CScanAbove	above;

	if (plan == NULL)
		return NULL;
	if (IsA(plan, SeqScan) || IsA(plan, TidRangeScan) || cscan_planner_is_marked(plan))
		return rewrite_scan(plan, first_rows, ctx);

	if (IsA(plan, Limit))
		first_rows = true;
	else if (reads_all_input(plan) || cscan_planner_is_aggregate(plan))
		first_rows = false;

	above.ctx = ctx;
	above.plan = plan;
	above.first_rows = above.inner_first_rows = first_rows;
	if (IsA(plan, NestLoop) &&
		(((Join *) plan)->inner_unique ||
		 ((Join *) plan)->jointype == JOIN_SEMI ||
		 ((Join *) plan)->jointype == JOIN_ANTI))
		above.inner_first_rows = true;
	ctx->in_order += locks_rows(plan);
	cscan_visit_children(plan, rewrite_child, &above);
	ctx->in_order -= locks_rows(plan);
	if (IsA(plan, Append) && !first_rows && ctx->in_order == 0)
		mark_family((Append *) plan, ctx);
	return plan;
}

/* A visitor: note what a node tells about the statement and its subplans. */
static void
look_at_node(Plan *plan, void *arg)
{
	((CScanRewrite *) arg)->locks_rows |= locks_rows(plan);
	(void) look_at_subplans((Node *) plan->targetlist, arg);
	(void) look_at_subplans((Node *) plan->qual, arg);
	(void) look_at_subplans((Node *) plan->initPlan, arg);
	if (IsA(plan, NestLoop) || IsA(plan, MergeJoin) || IsA(plan, HashJoin))
		(void) look_at_subplans((Node *) ((Join *) plan)->joinqual, arg);
	else if (IsA(plan, Result))
		(void) look_at_subplans(((Result *) plan)->resconstantqual, arg);
}

static void
rewrite_statement(PlannedStmt *stmt, bool first_rows, CScanRewrite *ctx)
{
	ListCell   *lc;
	int			plan_id = 1;

	stmt->planTree = rewrite_plan(stmt->planTree, first_rows, ctx);
	foreach(lc, stmt->subplans)
	{
		bool		in_order = ctx->locks_rows && bms_is_member(plan_id, ctx->row_subplans);

		ctx->in_order += in_order;
		lfirst(lc) = rewrite_plan(lfirst(lc),
								  bms_is_member(plan_id, ctx->first_rows_subplans), ctx);
		ctx->in_order -= in_order;
		plan_id++;
	}
}

static PlannedStmt *
cscan_planner(CSCAN_PLANNER_PARAMS)
{
	CScanPlanning around = cscan_planning;
	volatile bool active = false;
	struct decisions_hash *volatile decisions = NULL;
	PlannedStmt *volatile stmt;

	memset(&cscan_planning, 0, sizeof(cscan_planning));
	cscan_planning.active = cscan_enabled;
	cscan_planning.cursor = (cursorOptions & (CURSOR_OPT_FAST_PLAN | CURSOR_OPT_SCROLL)) != 0;
	cscan_planning.context = CurrentMemoryContext;
	PG_TRY();
	{
		if (prev_planner_hook)
			stmt = prev_planner_hook(CSCAN_PLANNER_ARGS);
		else
			stmt = standard_planner(CSCAN_PLANNER_ARGS);
		active = cscan_planning.active;
		decisions = cscan_planning.decisions;
	}
	PG_FINALLY();
	{
		cscan_planning = around;
	}
	PG_END_TRY();

	if (active)
	{
		CScanRewrite ctx = {0};

		/* Subplans may come before the plans that use them. */
		cscan_planner_visit(stmt, look_at_node, &ctx);
		ctx.families.stmt = stmt;
		ctx.families.decisions = decisions;
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
	cscan_aggregate_paths_init();
}
