/*-------------------------------------------------------------------------
 *
 * eligible.c
 *		Which tables are scanned cooperatively.
 *
 * The reasons are in the order in which a user would want to hear them: what
 * is switched off, what can never be, what is only too small.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "access/heapam.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/transam.h"
#include "catalog/catalog.h"
#include "catalog/pg_am.h"

#include "cscan.h"
#include "planner/planner.h"

static bool
large_enough(Relation rel, double family)
{
	double		least;

	if (cscan_min_table_size == 0)
		return true;
	least = cscan_min_table_size < 0 ? NBuffers / 4 : cscan_min_table_size / (BLCKSZ / 1024.0);

	/* To ask for the size of each of a thousand partitions takes long. */
	return family > least || RelationGetNumberOfBlocks(rel) > least;
}

const char *
cscan_planner_why_not(Oid relid, double family)
{
	const char *reason = NULL;
	Relation	rel;

	if (!cscan_preloaded)
		return "cscan is not loaded by shared_preload_libraries";
	if (!cscan_enabled)
		return "cscan.enabled is off";
	if (cscan_buffer_share <= 0)
		return "cscan.buffer_share is 0";
	if (!synchronize_seqscans)
		return "synchronize_seqscans is off: rows are wanted in physical order";

	rel = table_open(relid, NoLock);
	if (rel->rd_rel->relkind != RELKIND_RELATION && rel->rd_rel->relkind != RELKIND_MATVIEW)
		reason = "it is neither a table nor a materialized view";
	else if (rel->rd_rel->relpersistence == RELPERSISTENCE_TEMP)
		reason = "it is a temporary table";
	else if (IsCatalogRelation(rel) || relid < FirstNormalObjectId)
		reason = "it is a system catalog";
	else if (rel->rd_rel->relam != HEAP_TABLE_AM_OID)
		reason = "its access method is not heap";
	else if (!large_enough(rel, family))
		reason = family > 0 ? "it and the rest of its family are not larger than cscan.min_table_size" :
			"it is not larger than cscan.min_table_size";
	table_close(rel, NoLock);
	return reason;
}
