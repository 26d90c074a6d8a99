/*-------------------------------------------------------------------------
 *
 * rows.c
 *		What PostgreSQL computes row by row.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"

#include "aggregate/input.h"

void
cscan_row_expr_init(CScanRowExpr *row, CScanInput *input, Expr *expr)
{
	CustomScan *plan = (CustomScan *) input->ps->plan;
	Bitmapset  *needed = NULL;
	int			member = -1;

	row->state = expr ? ExecInitExpr(expr, input->ps) : input->ps->qual;
	if (expr == NULL)
		expr = make_ands_explicit(plan->scan.plan.qual);
	row->expr = expr;
	get_typlenbyval(exprType((Node *) expr), &row->typlen, &row->typbyval);
	pull_varattnos((Node *) expr, plan->scan.scanrelid, &needed);
	row->columns = palloc((bms_num_members(needed) + 1) * sizeof(int));
	row->ncolumns = 0;
	while ((member = bms_next_member(needed, member)) >= 0)
	{
		AttrNumber	attribute = member + FirstLowInvalidHeapAttributeNumber;

		/* What is in no column is in the tuple that a row is. */
		if (attribute > 0)
			row->columns[row->ncolumns++] = cscan_batch_column(input->batch, attribute - 1);
	}
}

void
cscan_row_expr_compute(CScanRowExpr *row, CScanInput *input, const CScanSelection *selection)
{
	ExprContext *econtext = input->econtext;

	if (row->values == NULL)
	{
		row->values = cscan_room_take(&input->room, CSCAN_BATCH * sizeof(Datum));
		row->isnull = cscan_room_take(&input->room, CSCAN_BATCH * sizeof(bool));
	}
	for (uint32 i = 0; i < selection->n; i++)
	{
		uint16		number = selection->rows[i];

		econtext->ecxt_scantuple = cscan_batch_row(input->batch, number, row->columns, row->ncolumns);
		row->values[number] = ExecEvalExprSwitchContext(row->state, econtext, &row->isnull[number]);
		if (!row->typbyval && !row->isnull[number])
		{
			MemoryContext old = MemoryContextSwitchTo(input->common->batch_context);

			row->values[number] = datumCopy(row->values[number], false, row->typlen);
			MemoryContextSwitchTo(old);
		}
		ResetExprContext(econtext);
	}
}

void
cscan_row_expr_select(CScanRowExpr *row, CScanInput *input, bool wanted, const CScanSelection *from, CScanSelection *to)
{
	ExprContext *econtext = input->econtext;
	uint32		n = from->n;
	uint32		k = 0;

	for (uint32 i = 0; i < n; i++)
	{
		uint16		number = from->rows[i];
		Datum		value;
		bool		isnull;

		econtext->ecxt_scantuple = cscan_batch_row(input->batch, number, row->columns, row->ncolumns);
		value = ExecEvalExprSwitchContext(row->state, econtext, &isnull);
		if (!isnull && DatumGetBool(value) == wanted)
			to->rows[k++] = number;
		ResetExprContext(econtext);
	}
	to->n = k;
}

bool
cscan_expr_is_fixed(Node *node)
{
	return !contain_var_clause(node) && !contain_volatile_functions(node) && !contain_subplans(node);
}
