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

/* Show the index of columns, and those of its columns that the scan reads. */
static void
show_columns(CustomScanState *css, ExplainState *es)
{
	const CustomScan *plan = (const CustomScan *) css->ss.ps.plan;
	Bitmapset  *needed = cscan_columns_needed(plan);
	char	   *name = get_rel_name(cscan_columns_index(plan));
	List	   *columns = NIL;
	int			member = -1;

	if (name)
		ExplainPropertyText("CScan Index", es->format == EXPLAIN_FORMAT_TEXT ? quote_identifier(name) : name, es);
	while ((member = bms_next_member(needed, member)) >= 0)
		columns = lappend(columns, get_attname(RelationGetRelid(css->ss.ss_currentRelation),
											   member + FirstLowInvalidHeapAttributeNumber, true));
	ExplainPropertyList("CScan Columns", columns, es);
}

/* Show a number of blocks; text format leaves out none. */
static void
show_blocks(const char *key, uint64 blocks, ExplainState *es)
{
	if (blocks > 0 || es->format != EXPLAIN_FORMAT_TEXT)
		ExplainPropertyUInteger(key, NULL, blocks, es);
}

/* Show what was read of row groups, and of the heap and why. */
static void
show_groups(const CScanCounts *counts, ExplainState *es)
{
	ExplainPropertyUInteger("CScan Row Groups", NULL, counts->groups, es);
	ExplainPropertyUInteger("CScan Row Groups Skipped", NULL, counts->skipped, es);
	ExplainPropertyUInteger("CScan Blocks Columnar", NULL, counts->blocks[CSCAN_FROM_RUNS], es);
	show_blocks("CScan Heap Blocks Not Stored", counts->blocks[CSCAN_FROM_HEAP_BEYOND], es);
	show_blocks("CScan Heap Blocks Not All-Visible", counts->blocks[CSCAN_FROM_HEAP_HIDDEN], es);
	show_blocks("CScan Heap Blocks Stale", counts->blocks[CSCAN_FROM_HEAP_STALE], es);
	show_blocks("CScan Heap Blocks by Isolation", counts->blocks[CSCAN_FROM_HEAP_ALWAYS], es);
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
	else if (node->kind == CSCAN_COLUMNS)
		show_columns(css, es);
	show_family(node, es);
	cscan_filter_methods->explain(node, ancestors, es);
	if (!es->analyze)
		return;

	for (int i = 0; i < node->nworkers; i++)
	{
		const uint64 *counted = (const uint64 *) &node->workers[i];

		for (int k = 0; k < CSCAN_NCOUNTS; k++)
			((uint64 *) &all)[k] += counted[k];
	}
	if (node->kind == CSCAN_COLUMNS)
		show_groups(&all, es);
	ExplainPropertyText("CScan Policy", cscan_policies[node->policy]->name, es);
	if (node->kind == CSCAN_BITMAP || node->kind == CSCAN_TID_RANGE)
		ExplainPropertyUInteger("CScan Pages", NULL, all.pages, es);
	if (node->kind == CSCAN_BITMAP)
		ExplainPropertyUInteger("CScan Pages Lossy", NULL, all.lossy, es);
	ExplainPropertyUInteger("CScan Chunks", NULL, all.chunks, es);
	show_counts(&all, es);
	if (es->verbose && node->nworkers > 0)
		show_workers(node, es);
}
