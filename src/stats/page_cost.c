/*-------------------------------------------------------------------------
 *
 * page_cost.c
 *		cscan_page_cost(relation) tells what a page of a scan of a table, or of
 *		an index of columns, would be estimated to cost now.
 *
 * It is the number that planner/cost.c begins with, in units of seq_page_cost.
 * It tells whether others scan the relation.  So only those may ask to whom
 * EXPLAIN would show it, or all statistics.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "access/relation.h"
#include "catalog/objectaddress.h"
#include "catalog/partition.h"
#include "catalog/pg_authid.h"
#include "commands/defrem.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "cscan.h"
#include "shared/sharing.h"

PG_FUNCTION_INFO_V1(cscan_page_cost_of);

/* The topmost table of which it is a partition, if it is one */
static Oid
top_of(Oid table)
{
	return get_rel_relispartition(table) ? llast_oid(get_partition_ancestors(table)) : InvalidOid;
}

static double
cost_of_relation(Relation rel)
{
	Oid			relid = RelationGetRelid(rel);

	switch (rel->rd_rel->relkind)
	{
		case RELKIND_RELATION:
		case RELKIND_MATVIEW:
		case RELKIND_PARTITIONED_TABLE:
			return cscan_sharing_page_cost(relid, top_of(relid), false);
		case RELKIND_INDEX:
			if (rel->rd_rel->relam == get_index_am_oid("cscan_columns", true))
				return cscan_sharing_page_cost(relid, top_of(rel->rd_index->indrelid), true);
			break;
		case RELKIND_PARTITIONED_INDEX:
			if (rel->rd_rel->relam == get_index_am_oid("cscan_columns", true))
				return cscan_sharing_page_cost(rel->rd_index->indrelid, top_of(rel->rd_index->indrelid), true);
			break;
	}
	ereport(ERROR,
			(errcode(ERRCODE_WRONG_OBJECT_TYPE),
			 errmsg("\"%s\" is neither a table nor an index of columns", RelationGetRelationName(rel))));
}

static void
check_privilege(Relation rel)
{
	Oid			table = rel->rd_index ? rel->rd_index->indrelid : RelationGetRelid(rel);
	AclResult	result = pg_class_aclcheck(table, GetUserId(), ACL_SELECT);

	if (result != ACLCHECK_OK)
		result = pg_attribute_aclcheck_all(table, GetUserId(), ACL_SELECT, ACLMASK_ANY);
	if (result != ACLCHECK_OK && !has_privs_of_role(GetUserId(), ROLE_PG_READ_ALL_STATS))
		aclcheck_error(result, get_relkind_objtype(get_rel_relkind(table)), get_rel_name(table));
}

Datum
cscan_page_cost_of(PG_FUNCTION_ARGS)
{
	Relation	rel;
	double		cost;

	cscan_require_preload();
	rel = relation_open(PG_GETARG_OID(0), AccessShareLock);
	check_privilege(rel);
	cost = cscan_page_cost == CSCAN_AUTO ? cost_of_relation(rel) : cscan_page_cost;
	relation_close(rel, AccessShareLock);
	PG_RETURN_FLOAT8(cost);
}
