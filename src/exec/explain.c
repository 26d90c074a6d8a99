/*-------------------------------------------------------------------------
 *
 * explain.c
 *		What EXPLAIN says of a CScan.
 *
 * Conditions have the same names as in PostgreSQL's own scans.  Keys that only
 * a CScan has begin with "CScan".
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "nodes/makefuncs.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/ruleutils.h"

#include "exec/exec.h"

static void
show_condition(CustomScanState *css, const char *label, List *ancestors, ExplainState *es)
{
	CustomScan *plan = (CustomScan *) css->ss.ps.plan;
	List	   *context = set_deparse_context_plan(es->deparse_cxt, &plan->scan.plan, ancestors);

	if (plan->custom_exprs != NIL)
		ExplainPropertyText(label,
							deparse_expression((Node *) make_ands_explicit(plan->custom_exprs),
											   context, es->verbose, false), es);
}

static void
show_counts(const CScanCounts *counts, ExplainState *es)
{
	ExplainPropertyUInteger("CScan Chunks Resident", NULL, counts->resident, es);
	ExplainPropertyUInteger("CScan Chunks Loaded", NULL, counts->loaded, es);
	ExplainPropertyUInteger("CScan Chunks Self-Read", NULL, counts->self, es);
	if (es->timing)
		ExplainPropertyFloat("CScan Wait Time", "ms", counts->waited / 1000.0, 3, es);
}

/* Show the counts of each worker; the text format has one line for each. */
static void
show_workers(const CScanState *node, ExplainState *es)
{
	ExplainOpenGroup("CScan Workers", "CScan Workers", false, es);
	for (int i = 0; i < node->nworkers; i++)
	{
		const CScanCounts *c = &node->workers[i];

		if (es->format == EXPLAIN_FORMAT_TEXT)
		{
			ExplainPropertyText(psprintf("CScan Worker %d", i),
								psprintf("resident=" UINT64_FORMAT " loaded=" UINT64_FORMAT
										 " self-read=" UINT64_FORMAT,
										 c->resident, c->loaded, c->self), es);
			continue;
		}
		ExplainOpenGroup("CScan Worker", NULL, true, es);
		ExplainPropertyInteger("CScan Worker Number", NULL, i, es);
		show_counts(c, es);
		ExplainCloseGroup("CScan Worker", NULL, true, es);
	}
	ExplainCloseGroup("CScan Workers", "CScan Workers", false, es);
}

/*
 * Show the table that the query names, if this scan reads a part of it within
 * a family.  ANALYZE shows it only if the Append has a family: pruning may
 * have left only one of the CScans that the planner marked.
 */
static void
show_family(const CScanState *node, ExplainState *es)
{
	char	   *name;

	if (!OidIsValid(node->family_relid) || (es->analyze && node->family == NULL))
		return;
	name = get_rel_name(node->family_relid);
	if (name)
		ExplainPropertyText("CScan Family", es->format == EXPLAIN_FORMAT_TEXT ?
							quote_identifier(name) : name, es);
}

void
cscan_explain(CustomScanState *css, List *ancestors, ExplainState *es)
{
	CScanState *node = (CScanState *) css;
	CScanCounts all = node->counts;

	if (node->kind == CSCAN_BITMAP)
	{
		show_condition(css, "Recheck Cond", ancestors, es);
		if (es->analyze && css->ss.ps.instrument &&
			(css->ss.ps.instrument->nfiltered2 > 0 || es->format != EXPLAIN_FORMAT_TEXT))
			ExplainPropertyFloat("Rows Removed by Index Recheck", NULL,
								 css->ss.ps.instrument->nloops > 0 ?
								 css->ss.ps.instrument->nfiltered2 / css->ss.ps.instrument->nloops : 0,
								 0, es);
	}
	else if (node->kind == CSCAN_TID_RANGE)
		show_condition(css, "TID Cond", ancestors, es);
	show_family(node, es);
	if (!es->analyze)
		return;

	for (int i = 0; i < node->nworkers; i++)
	{
		const uint64 *counted = (const uint64 *) &node->workers[i];

		for (int k = 0; k < CSCAN_NCOUNTS; k++)
			((uint64 *) &all)[k] += counted[k];
	}
	ExplainPropertyText("CScan Policy", cscan_policies[node->policy]->name, es);
	if (node->kind != CSCAN_WHOLE)
		ExplainPropertyUInteger("CScan Pages", NULL, all.pages, es);
	if (node->kind == CSCAN_BITMAP)
		ExplainPropertyUInteger("CScan Pages Lossy", NULL, all.lossy, es);
	ExplainPropertyUInteger("CScan Chunks", NULL, all.chunks, es);
	show_counts(&all, es);
	if (es->verbose && node->nworkers > 0)
		show_workers(node, es);
}
