/*-------------------------------------------------------------------------
 *
 * why_not.c
 *		cscan_why_not(query) plans a query without executing it.  For each
 *		scanned table it tells whether a CScan reads it, why not, and in which
 *		family; of a CScan, why its rows are not aggregated on vectors.  Without
 *		a query it tells whether there can be CScans at all.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "fmgr.h"
#include "funcapi.h"
#include "nodes/plannodes.h"
#include "parser/parsetree.h"
#include "utils/builtins.h"
#include "utils/tuplestore.h"
#include "utils/snapmgr.h"

#include "cscan.h"
#include "planner/planner.h"
#include "shared/shared.h"

PG_FUNCTION_INFO_V1(cscan_why_not);
PG_FUNCTION_INFO_V1(cscan_why_not_at_all);

typedef struct CScanVisit
{
	CScanFamilies families;
	List	   *unsupported;	/* CScanUnsupported, of all tables */
	List	   *aggregated;		/* scans below a CScan Aggregate, and Appends of them */
	ReturnSetInfo *rsinfo;
} CScanVisit;

static const char *
reason_for(CScanFamilies *families, const Plan *plan)
{
	const char *reason = cscan_planner_why_not(families, ((const Scan *) plan)->scanrelid);

	switch (nodeTag(plan))
	{
		case T_SampleScan:
			return "TABLESAMPLE reads a sample of the table";
		case T_TidScan:
			return "single rows are looked up by their ctid";
		case T_CustomScan:
			return "another extension scans it";
		case T_SeqScan:
			return reason ? reason : "the scan needs a cursor's current row";
		case T_TidRangeScan:
			return reason ? reason : "parallel TID range scans stay PostgreSQL's own";
		case T_IndexScan:
		case T_IndexOnlyScan:
			if (reason)
				return reason;
			return "an index scan is estimated to cost less: it reads few pages, or its order is of use";
		case T_BitmapHeapScan:
			if (reason)
				return reason;
			if (plan->parallel_aware && cscan_planner_bitmap_must_wait(plan->lefttree))
				return "a parallel bitmap heap scan is estimated to cost less; no CScan is parallel whose index conditions have subqueries, parameters of an outer plan, or values to be computed";
			return "a bitmap heap scan is estimated to cost less: its pages are too few or too scattered, or come from a join";
		default:
			return NULL;
	}
}

/* A CScan's rows could be aggregated on vectors. */
static const char *
reason_for_rows(const CScanVisit *v, Oid relid, Oid family)
{
	ListCell   *lc;

	foreach(lc, v->unsupported)
	{
		const CScanUnsupported *unsupported = lfirst(lc);

		if (unsupported->relid == relid || unsupported->relid == family)
			return psprintf("it is a CScan, but its rows are aggregated one by one: %s", unsupported->why);
	}
	return NULL;
}

/* A table may be there twice, in different subqueries: what keeps one's rows from it is not said of the other. */
static void
note_aggregated(CScanVisit *v, const Plan *plan)
{
	if (cscan_planner_is_aggregate(plan))
		v->aggregated = lappend(v->aggregated, outerPlan(plan));
	else if (IsA(plan, Append) && list_member_ptr(v->aggregated, plan))
		v->aggregated = list_concat(v->aggregated, ((const Append *) plan)->appendplans);
}

/* Plan a query; gets what keeps rows from being aggregated on vectors, too. */
static PlannedStmt *
plan_query(Query *query, const char *string, List **unsupported)
{
	PlannedStmt *volatile stmt = NULL;

	*unsupported = NIL;
	cscan_unsupported = unsupported;
	PG_TRY();
	{
		stmt = cscan_plan_query(query, string);
	}
	PG_FINALLY();
	{
		cscan_unsupported = NULL;
	}
	PG_END_TRY();
	return stmt;
}

static void
visit(Plan *plan, void *arg)
{
	CScanVisit *v = arg;
	RangeTblEntry *rte;
	Datum		values[4];
	bool		nulls[4] = {false, false, false, false};
	bool		is_cscan = cscan_planner_is_cscan(plan);
	const char *reason = NULL;
	Index		scanrelid;

	note_aggregated(v, plan);
	switch (nodeTag(plan))
	{
		case T_SeqScan:
		case T_SampleScan:
		case T_IndexScan:
		case T_IndexOnlyScan:
		case T_BitmapHeapScan:
		case T_TidScan:
		case T_TidRangeScan:
		case T_CustomScan:
			break;
		default:
			return;
	}
	scanrelid = ((Scan *) plan)->scanrelid;
	if (scanrelid == 0)
		return;
	rte = rt_fetch(scanrelid, v->families.stmt->rtable);
	if (rte->rtekind != RTE_RELATION)
		return;
	if (is_cscan && !list_member_ptr(v->aggregated, plan))
		reason = reason_for_rows(v, rte->relid, cscan_planner_family(plan));
	else if (!is_cscan)
		reason = reason_for(&v->families, plan);

	values[0] = ObjectIdGetDatum(rte->relid);
	values[1] = BoolGetDatum(is_cscan);
	if (reason)
		values[2] = CStringGetTextDatum(reason);
	else
		nulls[2] = true;
	values[3] = ObjectIdGetDatum(cscan_planner_family(plan));
	nulls[3] = !OidIsValid(cscan_planner_family(plan));
	tuplestore_putvalues(v->rsinfo->setResult, v->rsinfo->setDesc, values, nulls);
}

/* One row, about no table. */
Datum
cscan_why_not_at_all(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	const char *reason = cscan_planner_switched_off();
	Datum		values[4] = {0};
	bool		nulls[4] = {true, false, true, true};

	InitMaterializedSRF(fcinfo, 0);

	/* An unlocked look: either may change at any time. */
	if (!reason && cscan_shared->abm_latch == NULL)
		reason = "the Active Buffer Manager is not running: scans read for themselves";
	else if (!reason && cscan_pool.state->budget == 0)
		reason = "cscan.buffer_share leaves no room for a page";
	values[1] = BoolGetDatum(reason == NULL);
	if (reason)
	{
		values[2] = CStringGetTextDatum(reason);
		nulls[2] = false;
	}
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	return (Datum) 0;
}

Datum
cscan_why_not(PG_FUNCTION_ARGS)
{
	char	   *string = text_to_cstring(PG_GETARG_TEXT_PP(0));
	List	   *raw;
	ListCell   *lc;
	CScanVisit	v;

	cscan_require_preload();
	InitMaterializedSRF(fcinfo, 0);
	v.rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	v.aggregated = NIL;

	raw = pg_parse_query(string);
	if (list_length(raw) != 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("cscan_why_not takes one statement"),
				 errdetail("The string holds %d statements.", list_length(raw)),
				 raw == NIL ? 0 : errhint("Call it once for each statement.")));

	foreach(lc, pg_analyze_and_rewrite_fixedparams(linitial(raw), string, NULL, 0, NULL))
	{
		Query	   *query = lfirst_node(Query, lc);

		if (query->commandType == CMD_UTILITY)
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("cscan_why_not cannot plan a utility statement"),
					 errhint("Pass the SELECT, INSERT, UPDATE, DELETE or MERGE itself, without EXPLAIN, CREATE or DECLARE.")));
		v.families = (CScanFamilies) {.stmt = plan_query(query, string, &v.unsupported)};
		cscan_check_permissions(v.families.stmt);
		cscan_planner_visit(v.families.stmt, visit, &v);
	}
	return (Datum) 0;
}
