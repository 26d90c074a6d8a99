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

#include "input/input.h"

void
cscan_row_expr_init(CScanRowExpr *row, CScanInput *input, Expr *expr)
{
	CustomScan *plan = (CustomScan *) input->ps->plan;
	Bitmapset  *needed = NULL;
	int			member = -1;

	/* With JIT, making one costs milliseconds.  Most are never asked for. */
	row->state = expr ? NULL : input->ps->qual;
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

ExprState *
cscan_expr_state(Expr *expr, CScanInput *input)
{
	MemoryContext old = MemoryContextSwitchTo(input->ps->state->es_query_cxt);
	CScanUser	user = cscan_become_user(&input->scan->user);
	ExprState  *state = ExecInitExpr(expr, input->ps);

	(void) cscan_become_user(&user);
	MemoryContextSwitchTo(old);
	return state;
}

ExprState *
cscan_row_expr_state(CScanRowExpr *row, CScanInput *input)
{
	if (row->state == NULL)
		row->state = cscan_expr_state(row->expr, input);
	return row->state;
}

Datum
cscan_row_expr_value(CScanRowExpr *row, CScanInput *input, uint16 number, bool *isnull)
{
	input->econtext->ecxt_scantuple = cscan_batch_row(input->batch, number, row->columns, row->ncolumns);
	return ExecEvalExprSwitchContext(cscan_row_expr_state(row, input), input->econtext, isnull);
}

void
cscan_row_expr_compute(CScanRowExpr *row, CScanInput *input, const CScanSelection *selection)
{
	if (row->values == NULL)
	{
		row->values = cscan_room_take(&input->room, CSCAN_BATCH * sizeof(Datum));
		row->isnull = cscan_room_take(&input->room, CSCAN_BATCH * sizeof(bool));
	}
	for (uint32 i = 0; i < selection->n; i++)
	{
		uint16		number = selection->rows[i];

		CHECK_FOR_INTERRUPTS();
		row->values[number] = cscan_row_expr_value(row, input, number, &row->isnull[number]);
		if (!row->typbyval && !row->isnull[number])
		{
			MemoryContext old = MemoryContextSwitchTo(input->common->batch_context);

			row->values[number] = datumCopy(row->values[number], false, row->typlen);
			MemoryContextSwitchTo(old);
		}
		ResetExprContext(input->econtext);
	}
}

void
cscan_row_expr_split(CScanRowExpr *row, CScanInput *input, const CScanSelection *from, CScanSelection *yes, CScanSelection *no)
{
	uint32		n = from->n;
	uint32		nyes = 0;
	uint32		nno = 0;

	for (uint32 i = 0; i < n; i++)
	{
		uint16		number = from->rows[i];
		bool		isnull;
		bool		is_true;

		CHECK_FOR_INTERRUPTS();
		is_true = DatumGetBool(cscan_row_expr_value(row, input, number, &isnull));
		if (!isnull && is_true && yes)
			yes->rows[nyes++] = number;
		if (!isnull && !is_true && no)
			no->rows[nno++] = number;
		ResetExprContext(input->econtext);
	}
	if (yes)
		yes->n = nyes;
	if (no)
		no->n = nno;
}

bool
cscan_expr_is_fixed(Node *node)
{
	return !contain_var_clause(node) && !contain_volatile_functions(node) && !contain_subplans(node);
}
