/*-------------------------------------------------------------------------
 *
 * inputs.c
 *		The scans that a CScan Aggregate reads.
 *
 * That is one, or the children of an Append.  The node asks the Append for the
 * next child, as the Append itself does, and reads the child's batches.  So what
 * has been pruned is not read, and a family's members take turns (exec/family.c).
 *
 * Each child has columns of its own.  So each has an input, with the node's
 * expressions in the child's columns.
 *
 * Invariant: at most one input is in use.  Only that one's values are in the blocks
 * that all share.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "executor/instrument.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"

#include "aggregate/aggregate.h"
#include "utils/memutils.h"

typedef struct CScanTranslation
{
	List	   *targets;		/* what the Append returns */
	List	   *of_child;		/* the child's target list */
} CScanTranslation;

static AppendState *
append_of(const CScanAggregateState *node)
{
	PlanState  *outer = outerPlanState(&node->css);

	return IsA(outer, AppendState) ? (AppendState *) outer : NULL;
}

/* A mutator: put what a child returns in the place of what the Append does. */
static Node *
translate(Node *expr, void *context)
{
	const CScanTranslation *translation = context;
	ListCell   *lc;
	ListCell   *lcc;

	if (expr == NULL)
		return NULL;
	if (!IsA(expr, List))
	{
		forboth(lc, translation->targets, lcc, translation->of_child)
		{
			if (equal(lfirst(lc), expr))
				return copyObject((Node *) lfirst_node(TargetEntry, lcc)->expr);
		}
	}
	if (IsA(expr, Var))
		elog(ERROR, "a column of a CScan Aggregate is not in its input");
	return expression_tree_mutator(expr, translate, context);
}

static List *
translate_list(const CScanAggregateState *node, const PlanState *child, List *exprs)
{
	CScanTranslation translation = {node->targets, child->plan->targetlist};

	return node->targets == NIL ? exprs : (List *) translate((Node *) exprs, &translation);
}

CScanState *
cscan_inputs_scan(const CScanAggregateState *node, int number)
{
	AppendState *append = append_of(node);
	PlanState  *child = append ? append->appendplans[number] : outerPlanState(&node->css);

	if (!cscan_is_scan_state(child))
		elog(ERROR, "a CScan Aggregate has a child that is no CScan");
	return (CScanState *) child;
}

Expr *
cscan_inputs_key(const CScanAggregateState *node, int number, int n)
{
	return linitial(translate_list(node, &cscan_inputs_scan(node, number)->css.ss.ps, list_make1(list_nth(node->keys, n))));
}

bool
cscan_inputs_reads(const CScanAggregateState *node, int number)
{
	const AppendState *append = append_of(node);

	return append == NULL || bms_is_member(number, append->as_valid_subplans);
}

static CScanInput *
create(CScanAggregateState *node, int number)
{
	CScanState *scan = cscan_inputs_scan(node, number);
	PlanState  *child = &scan->css.ss.ps;
	MemoryContext old = MemoryContextSwitchTo(node->css.ss.ps.state->es_query_cxt);
	CScanInputExprs exprs;
	CScanInput *input;

	exprs.keys = translate_list(node, child, node->keys);
	exprs.distinct = translate_list(node, child, node->distinct);
	exprs.arguments = translate_list(node, child, node->arguments);
	exprs.filters = translate_list(node, child, node->filters);
	exprs.filtered_distinct = node->filtered_distinct;
	exprs.filtered_arguments = node->filtered_arguments;
	input = cscan_input_create(scan, &node->common, &exprs);
	MemoryContextSwitchTo(old);
	return input;
}

void
cscan_inputs_enter(CScanAggregateState *node, int number)
{
	if (node->input != NULL && node->current == number)
		return;
	if (node->inputs[number] == NULL)
		node->inputs[number] = create(node, number);
	else
		cscan_input_enter(node->inputs[number]);
	node->input = node->inputs[number];
	node->current = number;
}

void
cscan_inputs_init(CScanAggregateState *node)
{
	EState	   *estate = node->css.ss.ps.state;
	AppendState *append = append_of(node);
	ListCell   *lc;
	int			k = 0;

	node->common.rooms = cscan_rooms_create(estate->es_query_cxt);
	node->common.batch_context = AllocSetContextCreate(estate->es_query_cxt, "CScan batch", ALLOCSET_DEFAULT_SIZES);
	node->common.key_context = AllocSetContextCreate(estate->es_query_cxt, "CScan key", ALLOCSET_DEFAULT_SIZES);
	node->common.key_kinds = palloc((node->nkeys + list_length(node->distinct) + 1) * sizeof(CScanKeyKind));
	foreach(lc, list_concat_copy(node->keys, node->distinct))
	{
		if (!cscan_key_kind(lfirst(lc), &node->common.key_kinds[k]))
			elog(ERROR, "a key of type %u is not supported", exprType(lfirst(lc)));
		node->shows |= k < node->nkeys && cscan_equal_may_differ(node->common.key_kinds[k]);
		k++;
	}
	node->ninputs = append ? append->as_nplans : 1;
	for (int i = 0; i < node->ninputs; i++)
		cscan_inputs_scan(node, i)->batched = true;
	node->inputs = palloc0((node->ninputs + 1) * sizeof(CScanInput *));
	if (node->ninputs > 0)
		cscan_inputs_enter(node, 0);
}

void
cscan_inputs_begin(CScanAggregateState *node)
{
	for (int i = 0; i < node->ninputs; i++)
	{
		if (node->inputs[i])
			cscan_input_begin(node->inputs[i]);
	}
}

void
cscan_inputs_forget_strings(CScanAggregateState *node)
{
	for (int i = 0; i < node->ninputs; i++)
	{
		if (node->inputs[i])
			cscan_input_forget_strings(node->inputs[i]);
	}
}

/* The Append's next batch; see ExecAppend(). */
static bool
next_of_append(CScanAggregateState *node, AppendState *append)
{
	if (!append->as_begun)
	{
		if (append->as_nplans == 0 || !append->choose_next_subplan(append))
			return false;
		append->as_begun = true;
	}
	for (;;)
	{
		CHECK_FOR_INTERRUPTS();
		cscan_inputs_enter(node, append->as_whichplan);
		if (cscan_input_next(node->input))
			return true;
		if (!append->choose_next_subplan(append))
			return false;
	}
}

bool
cscan_inputs_next(CScanAggregateState *node)
{
	AppendState *append = append_of(node);
	bool		any;

	if (append == NULL)
		return cscan_input_next(node->input);
	if (append->ps.chgParam != NULL)
		ExecReScan(&append->ps);
	if (append->ps.instrument)
		InstrStartNode(append->ps.instrument);
	any = next_of_append(node, append);
	if (append->ps.instrument)
		InstrStopNode(append->ps.instrument, any ? node->input->selection.n : 0);
	return any;
}
