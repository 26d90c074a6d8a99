/*-------------------------------------------------------------------------
 *
 * convert.c
 *		A scan's plan node as a CScan's.
 *
 * The CScan has the same target list, qual, costs and place in the plan.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "nodes/extensible.h"
#include "nodes/makefuncs.h"

#include "exec/exec.h"
#include "planner/planner.h"

/* Make a CScan with the target list, qual and costs of a scan. */
static CustomScan *
make_cscan(const Scan *scan, CScanKind kind, bool first_rows)
{
	CustomScan *cscan = makeNode(CustomScan);

	cscan->scan = *scan;
	cscan->scan.plan.type = T_CustomScan;
	cscan->flags = kind == CSCAN_BITMAP ? 0 : CUSTOMPATH_SUPPORT_BACKWARD_SCAN;
	cscan->custom_relids = bms_make_singleton((int) scan->scanrelid);
	cscan->custom_private = list_make5_int(kind, first_rows, (int) InvalidOid, (int) InvalidOid, (int) InvalidOid);
	cscan->methods = &cscan_scan_methods;
	return cscan;
}

/* One process makes a CScan's bitmap, in its own memory. */
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

Plan *
cscan_convert_scan(Plan *plan, bool first_rows)
{
	CustomScan *cscan;

	switch (nodeTag(plan))
	{
		case T_SeqScan:
			return &make_cscan((Scan *) plan, CSCAN_WHOLE, first_rows)->scan.plan;
		case T_TidRangeScan:
			cscan = make_cscan((Scan *) plan, CSCAN_TID_RANGE, first_rows);
			cscan->custom_exprs = ((TidRangeScan *) plan)->tidrangequals;
			return &cscan->scan.plan;
		default:
			if (plan->parallel_aware && cscan_planner_bitmap_must_wait(plan->lefttree))
			{
				/*
				 * paths.c makes no such path.  If there were one, it would
				 * stay PostgreSQL's own, without the mark.
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
