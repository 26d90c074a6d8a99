/*-------------------------------------------------------------------------
 *
 * visit.c
 *		Looks at the nodes of a plan.
 *
 *		children		call a function for the place of each child of a node
 *		visit			call a function for each node of a statement
 *		is_cscan, is_marked, must_wait, bitmap_must_wait
 *						what a node, or its conditions, tell
 *
 * Only "children" knows where a plan node keeps its children.  It passes the
 * place to its function, so that the rewriter can put another node there.
 *
 * Invariant: nothing here changes a plan, unless that function does.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "nodes/extensible.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"

#include "aggregate/aggregate.h"
#include "exec/exec.h"
#include "planner/planner.h"

typedef struct CScanVisitor
{
	CScanPlanVisitor visit;
	void	   *arg;
} CScanVisitor;

bool
cscan_planner_is_cscan(const Plan *plan)
{
	return IsA(plan, CustomScan) &&
		((const CustomScan *) plan)->methods == &cscan_scan_methods;
}

bool
cscan_planner_is_aggregate(const Plan *plan)
{
	return IsA(plan, CustomScan) &&
		((const CustomScan *) plan)->methods == &cscan_aggregate_methods;
}

Oid
cscan_planner_family(const Plan *plan)
{
	if (!cscan_planner_is_cscan(plan))
		return InvalidOid;
	return (Oid) list_nth_int(((const CustomScan *) plan)->custom_private, CSCAN_PRIVATE_FAMILY);
}

bool
cscan_planner_is_marked(const Plan *plan)
{
	return IsA(plan, BitmapHeapScan) && IsA(plan->lefttree, BitmapAnd) &&
		list_length(((BitmapAnd *) plan->lefttree)->bitmapplans) == 1;
}

/* Does an expression use values from elsewhere in the plan? */
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

/* Is this a value that is there, which no function has to make? */
static bool
is_value(Node *node)
{
	List	   *parts = NIL;
	ListCell   *lc;

	if (IsA(node, Const) || IsA(node, Param))
		return true;
	if (IsA(node, RelabelType))
		return is_value((Node *) ((RelabelType *) node)->arg);
	if (IsA(node, ArrayExpr))
		parts = ((ArrayExpr *) node)->elements;
	else if (IsA(node, List))
		parts = (List *) node;
	else
		return false;
	foreach(lc, parts)
	{
		if (!is_value(lfirst(lc)))
			return false;
	}
	return true;
}

/* A walker: is something computed before there is a row? */
static bool
computes(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (!contain_var_clause(node))
		return !is_value(node);
	return expression_tree_walker(node, computes, context);
}

bool
cscan_planner_must_wait(Node *quals)
{
	return has_params(quals, NULL) || contain_mutable_functions(quals) || computes(quals, NULL);
}

bool
cscan_planner_bitmap_must_wait(Plan *plan)
{
	List	   *inputs = NIL;
	ListCell   *lc;

	if (IsA(plan, BitmapIndexScan))
		return cscan_planner_must_wait((Node *) ((BitmapIndexScan *) plan)->indexqual);
	if (IsA(plan, BitmapAnd))
		inputs = ((BitmapAnd *) plan)->bitmapplans;
	else if (IsA(plan, BitmapOr))
		inputs = ((BitmapOr *) plan)->bitmapplans;
	foreach(lc, inputs)
	{
		if (cscan_planner_bitmap_must_wait(lfirst(lc)))
			return true;
	}
	return false;
}

static void
children_of_list(List *plans, CScanChildVisitor visitor, void *arg)
{
	ListCell   *lc;

	foreach(lc, plans)
	{
		Plan	   *child = lfirst(lc);

		visitor(&child, arg);
		lfirst(lc) = child;
	}
}

void
cscan_visit_children(Plan *plan, CScanChildVisitor visitor, void *arg)
{
	switch (nodeTag(plan))
	{
		case T_Append:
			children_of_list(((Append *) plan)->appendplans, visitor, arg);
			break;
		case T_MergeAppend:
			children_of_list(((MergeAppend *) plan)->mergeplans, visitor, arg);
			break;
		case T_SubqueryScan:
			visitor(&((SubqueryScan *) plan)->subplan, arg);
			break;
		case T_CustomScan:
			children_of_list(((CustomScan *) plan)->custom_plans, visitor, arg);
			break;
		default:
			break;
	}
	if (plan->lefttree)
		visitor(&plan->lefttree, arg);
	if (plan->righttree)
		visitor(&plan->righttree, arg);
}

static void
visit_plan(Plan **plan, void *arg)
{
	CScanVisitor *visitor = arg;

	if (*plan == NULL)
		return;
	visitor->visit(*plan, visitor->arg);
	cscan_visit_children(*plan, visit_plan, visitor);
}

void
cscan_planner_visit(PlannedStmt *stmt, CScanPlanVisitor visit, void *arg)
{
	CScanVisitor visitor = {visit, arg};
	ListCell   *lc;

	visit_plan(&stmt->planTree, &visitor);
	foreach(lc, stmt->subplans)
	{
		Plan	   *plan = lfirst(lc);

		visit_plan(&plan, &visitor);
	}
}
