/*-------------------------------------------------------------------------
 *
 * tid_range.c
 *		The range of blocks that conditions on ctid leave, computed as in
 *		PostgreSQL's TID range scan.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "access/sysattr.h"
#include "catalog/pg_operator_d.h"
#include "nodes/nodeFuncs.h"
#include "storage/itemptr.h"

#include "exec/exec.h"

/* A condition on ctid, once compiled */
typedef struct CScanTidBound
{
	ExprState  *expr;
	bool		lower;			/* ctid is above it; else below it */
	bool		inclusive;
} CScanTidBound;

static bool
is_ctid(const Node *node)
{
	return node && IsA(node, Var) &&
		((const Var *) node)->varattno == SelfItemPointerAttributeNumber;
}

/* Compile the conditions, which compare ctid with an expression. */
List *
cscan_tid_range_compile(List *quals, PlanState *ps)
{
	List	   *bounds = NIL;
	ListCell   *lc;

	foreach(lc, quals)
	{
		OpExpr	   *op = lfirst_node(OpExpr, lc);
		Node	   *left = get_leftop((Expr *) op);
		Node	   *right = get_rightop((Expr *) op);
		bool		swapped = !is_ctid(left);
		CScanTidBound *bound = palloc(sizeof(CScanTidBound));

		if (swapped && !is_ctid(right))
			elog(ERROR, "could not identify CTID variable");
		bound->expr = ExecInitExpr((Expr *) (swapped ? left : right), ps);
		switch (op->opno)
		{
			case TIDLessOperator:
			case TIDLessEqOperator:
				bound->lower = swapped;
				break;
			case TIDGreaterOperator:
			case TIDGreaterEqOperator:
				bound->lower = !swapped;
				break;
			default:
				elog(ERROR, "could not identify CTID operator");
		}
		bound->inclusive = op->opno == TIDLessEqOperator || op->opno == TIDGreaterEqOperator;
		bounds = lappend(bounds, bound);
	}
	return bounds;
}

/* Set min_tid and max_tid, both inclusive.  False if the range is empty. */
bool
cscan_tid_range_evaluate(CScanState *node)
{
	ListCell   *lc;

	ItemPointerSet(&node->min_tid, 0, 0);
	ItemPointerSet(&node->max_tid, InvalidBlockNumber, PG_UINT16_MAX);
	foreach(lc, node->tid_bounds)
	{
		CScanTidBound *bound = lfirst(lc);
		ItemPointerData tid;
		bool		isnull;
		Datum		value = ExecEvalExprSwitchContext(bound->expr, node->css.ss.ps.ps_ExprContext,
													  &isnull);

		if (isnull)
			return false;
		ItemPointerCopy((ItemPointer) DatumGetPointer(value), &tid);
		if (bound->lower)
		{
			if (!bound->inclusive)
				ItemPointerInc(&tid);
			if (ItemPointerCompare(&tid, &node->min_tid) > 0)
				node->min_tid = tid;
		}
		else
		{
			if (!bound->inclusive)
				ItemPointerDec(&tid);
			if (ItemPointerCompare(&tid, &node->max_tid) < 0)
				node->max_tid = tid;
		}
	}
	return ItemPointerCompare(&node->min_tid, &node->max_tid) <= 0;
}

/* Drop tuples of the current page that are outside the range. */
void
cscan_tid_range_trim(CScanState *node)
{
	HeapScanDesc heap = (HeapScanDesc) node->scan;
	int			n = 0;

	if (heap->rs_cblock != ItemPointerGetBlockNumberNoCheck(&node->min_tid) &&
		heap->rs_cblock != ItemPointerGetBlockNumberNoCheck(&node->max_tid))
		return;
	for (int i = 0; i < (int) heap->rs_ntuples; i++)
	{
		ItemPointerData tid;

		ItemPointerSet(&tid, heap->rs_cblock, heap->rs_vistuples[i]);
		if (ItemPointerCompare(&tid, &node->min_tid) >= 0 &&
			ItemPointerCompare(&tid, &node->max_tid) <= 0)
			heap->rs_vistuples[n++] = heap->rs_vistuples[i];
	}
	heap->rs_ntuples = n;
}

/* Is a tuple's TID in the range? */
bool
cscan_tid_range_recheck(CScanState *node, TupleTableSlot *slot)
{
	return cscan_tid_range_evaluate(node) &&
		ItemPointerCompare(&slot->tts_tid, &node->min_tid) >= 0 &&
		ItemPointerCompare(&slot->tts_tid, &node->max_tid) <= 0;
}
