/*-------------------------------------------------------------------------
 *
 * explain.c
 *		What EXPLAIN ANALYZE says of a CScan.  All keys begin with "CScan".
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "exec/exec.h"

void
cscan_explain(CustomScanState *css, List *ancestors, ExplainState *es)
{
	CScanState *node = (CScanState *) css;

	(void) ancestors;
	if (!es->analyze)
		return;
	ExplainPropertyText("CScan Policy", cscan_policies[node->policy]->name, es);
	ExplainPropertyUInteger("CScan Chunks", NULL, node->counts.chunks + node->others.chunks, es);
	ExplainPropertyUInteger("CScan Chunks Resident", NULL,
							node->counts.resident + node->others.resident, es);
	ExplainPropertyUInteger("CScan Chunks Loaded", NULL,
							node->counts.loaded + node->others.loaded, es);
	ExplainPropertyUInteger("CScan Chunks Self-Read", NULL,
							node->counts.self + node->others.self, es);
	if (es->timing)
		ExplainPropertyFloat("CScan Wait Time", "ms",
							 (node->counts.waited + node->others.waited) / 1000.0, 3, es);
}
