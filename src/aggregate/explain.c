/*-------------------------------------------------------------------------
 *
 * explain.c
 *		What EXPLAIN says of a CScan Aggregate.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "utils/builtins.h"
#include "utils/ruleutils.h"

#include "aggregate/aggregate.h"

/* Add an expression that PostgreSQL computes row by row, whatever the values are. */
static List *
add(List *texts, const Expr *expr, List *context, const ExplainState *es)
{
	char	   *text = deparse_expression((Node *) expr, context, cscan_explain_prefixes(es), false);
	ListCell   *lc;

	foreach(lc, texts)
	{
		if (strcmp(lfirst(lc), text) == 0)
			return texts;
	}
	return lappend(texts, text);
}

/* The same of a condition, or of those parts of it that have no vectors. */
static List *
add_condition(List *texts, const CScanClause *clause, List *context, const ExplainState *es)
{
	ListCell   *lc;

	if (!clause->vectorized)
		return add(texts, clause->row.expr, context, es);
	foreach(lc, clause->questions)
	{
		const CScanQuestion *question = lfirst(lc);

		if (question->is_by_row)
			texts = add(texts, question->row.expr, context, es);
	}
	return texts;
}

static List *
find_row_by_row(const CScanAggregateState *node, List *context, const ExplainState *es)
{
	const CScanInput *input = node->inputs[0];	/* others are like it */
	List	   *texts = NIL;

	if (input == NULL)
		return NIL;
	for (int i = 0; i < input->nclauses; i++)
		texts = add_condition(texts, input->clauses[i], context, es);
	for (int k = 0; k < input->nkeys; k++)
	{
		if (!input->keys[k].vectorized && input->keys[k].column < 0)
			texts = add(texts, input->keys[k].row.expr, context, es);
	}
	for (int i = 0; i < node->naggregates; i++)
	{
		const CScanAggregate *aggregate = &node->aggregates[i];

		if (aggregate->kind == CSCAN_AGGREGATE_DISTINCT)
		{
			const CScanKeyInput *key = &input->keys[input->nkeys + aggregate->distinct_key];

			if (!key->vectorized && key->column < 0)
				texts = add(texts, key->row.expr, context, es);
		}
		/* Of an aggregate that has vectors the argument may have none. */
		else if (aggregate->kind == CSCAN_AGGREGATE_TRANSITION)
			texts = add(texts, (const Expr *) aggregate->aggref, context, es);
		else if (aggregate->argument >= 0 && !input->arguments[aggregate->argument].vectorized &&
				 !(aggregate->kind == CSCAN_AGGREGATE_COUNT && input->arguments[aggregate->argument].column >= 0))
			texts = add(texts, input->arguments[aggregate->argument].row.expr, context, es);
		if (aggregate->filter >= 0)
			texts = add_condition(texts, input->filters[aggregate->filter], context, es);
	}
	return texts;
}

void
cscan_aggregate_explain(CustomScanState *css, List *ancestors, ExplainState *es)
{
	CScanAggregateState *node = (CScanAggregateState *) css;
	List	   *context = set_deparse_context_plan(es->deparse_cxt, css->ss.ps.plan, ancestors);
	List	   *keys = NIL;
	List	   *row_by_row;
	ListCell   *lc;
	int			k = 0;

	foreach(lc, node->keys)
	{
		/* An Append with one child is not in the plan, and its parent has no name. */
		Node	   *key = IsA(outerPlanState(css), AppendState) ? lfirst(lc) : (Node *) node->inputs[0]->keys[k].row.expr;

		keys = lappend(keys, deparse_expression(key, context, cscan_explain_prefixes(es), true));
		k++;
	}
	if (keys != NIL)
		ExplainPropertyList("Group Key", keys, es);
	if (node->naggregates > 0 && node->aggregates[0].partial)
		ExplainPropertyText("CScan Partial Mode", "Partial", es);
	if (node->borders)
		ExplainPropertyText("CScan Border Key", list_nth(keys, cscan_borders_key(node)), es);
	row_by_row = find_row_by_row(node, context, es);
	if (row_by_row != NIL)
		ExplainPropertyList("CScan Row by Row", row_by_row, es);
	if (!es->analyze)
		return;
	ExplainPropertyUInteger("CScan Batches", NULL, node->batches, es);
	if (node->by_row > 0 || es->format != EXPLAIN_FORMAT_TEXT)
		ExplainPropertyUInteger("CScan Batches by Row", NULL, node->by_row, es);
	if (node->borders)
		ExplainPropertyUInteger("CScan Groups Closed Early", NULL, node->early, es);
	if (node->nkeys > 0 || node->distinct != NIL)
		ExplainPropertyUInteger("CScan Memory", "kB", (node->peak + 1023) / 1024, es);
	if (node->spilled > 0 || es->format != EXPLAIN_FORMAT_TEXT)
		ExplainPropertyUInteger("CScan Rows Spilled", NULL, node->spilled, es);
	if (node->flushed > 0 || es->format != EXPLAIN_FORMAT_TEXT)
		ExplainPropertyUInteger("CScan Groups Spilled", NULL, node->flushed, es);
	if (node->partitions > 0 || es->format != EXPLAIN_FORMAT_TEXT)
		ExplainPropertyUInteger("CScan Spill Partitions", NULL, node->partitions, es);
}
