/*-------------------------------------------------------------------------
 *
 * zones.c
 *		Which row groups a scan need not read: its conditions against a
 *		group's minima, maxima and numbers of nulls.
 *
 * A condition counts if it compares a column with a value that does not change
 * within a pass, by an operator of the order in which the column's integers
 * are, or tests it for null.  All conditions of a scan must be met, so one that
 * cannot be is enough to skip a group's runs.
 *
 * Invariant: minima, maxima and nulls are those of all rows in the runs.  Some
 * of these may not count any more.  So a group may be read in vain, but never
 * be skipped in error.  They say nothing of blocks that are not in the runs.
 *
 *-------------------------------------------------------------------------
 */
#include "store.h"

#include "access/nbtree.h"
#include "catalog/pg_am_d.h"
#include "catalog/pg_type_d.h"
#include "commands/defrem.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "utils/lsyscache.h"

/* The number of the index's column that an expression is, or -1. */
static int
find_column(Node *node, Index varno, Relation index)
{
	Var		   *var;

	while (node && IsA(node, RelabelType))
		node = (Node *) ((RelabelType *) node)->arg;
	if (node == NULL || !IsA(node, Var))
		return -1;
	var = (Var *) node;
	if (var->varno != (int) varno || var->varlevelsup != 0)
		return -1;
	for (int column = 0; column < RelationGetNumberOfAttributes(index); column++)
	{
		if (index->rd_index->indkey.values[column] == var->varattno)
			return column;
	}
	return -1;
}

/* Does an expression have one value throughout a pass? */
static bool
is_fixed(Node *node)
{
	return !contain_var_clause(node) && !contain_volatile_functions(node) && !contain_subplans(node);
}

static CScanZone *
find_comparison(OpExpr *clause, Index varno, Relation heap, Relation index)
{
	CScanZone  *zone;
	Node	   *other;
	Oid			opno = clause->opno;
	Oid			opclass;
	Oid			family;
	Oid			left;
	Oid			right;
	Oid			compare;
	int			strategy;
	int			column;

	if (list_length(clause->args) != 2)
		return NULL;
	column = find_column(linitial(clause->args), varno, index);
	other = lsecond(clause->args);
	if (column < 0)
	{
		column = find_column(other, varno, index);
		other = linitial(clause->args);
		opno = get_commutator(opno);
	}
	if (column < 0 || !OidIsValid(opno) || !is_fixed(other) || !op_strict(opno))
		return NULL;

	opclass = GetDefaultOpClass(getBaseType(TupleDescAttr(RelationGetDescr(heap),
														  index->rd_index->indkey.values[column] - 1)->atttypid),
								BTREE_AM_OID);
	if (!OidIsValid(opclass))
		return NULL;
	family = get_opclass_family(opclass);
	strategy = get_op_opfamily_strategy(opno, family);
	op_input_types(opno, &left, &right);
	compare = get_opfamily_proc(family, left, right, BTORDER_PROC);
	if (strategy == InvalidStrategy || left != get_opclass_input_type(opclass) || !OidIsValid(compare))
		return NULL;

	/*
	 * Local times that a change to daylight saving time leaves out are later
	 * than some that come after them, so a timestamp's integers are in another
	 * order.
	 */
	if (left == TIMESTAMPOID && right == TIMESTAMPTZOID)
		return NULL;

	zone = palloc0(sizeof(CScanZone));
	zone->column = column;
	zone->strategy = strategy;
	zone->expr = (Expr *) other;
	zone->collation = clause->inputcollid;
	fmgr_info(compare, &zone->compare);
	return zone;
}

List *
cscan_zones_find(List *clauses, Index varno, Relation heap, Relation index)
{
	List	   *zones = NIL;
	ListCell   *lc;

	foreach(lc, clauses)
	{
		Node	   *clause = lfirst(lc);
		CScanZone  *zone = NULL;

		if (IsA(clause, OpExpr))
			zone = find_comparison((OpExpr *) clause, varno, heap, index);
		else if (IsA(clause, NullTest) && !((NullTest *) clause)->argisrow)
		{
			int			column = find_column((Node *) ((NullTest *) clause)->arg, varno, index);

			if (column >= 0)
			{
				zone = palloc0(sizeof(CScanZone));
				zone->column = column;
				zone->is_null = ((NullTest *) clause)->nulltesttype == IS_NULL;
			}
		}
		if (zone)
			zones = lappend(zones, zone);
	}
	return zones;
}

/* Compare the column's integer with the value that is known. */
static int
compare(CScanZone *zone, int16 typlen, const CScanStoredRun *run, int64 integer)
{
	pg_attribute_aligned(MAXIMUM_ALIGNOF) char room[64];
	Datum		value;

	Assert(cscan_values_integers_room(run->storage, 1) <= sizeof(room));
	cscan_values_from_integers(typlen, run->storage, run->scale, &integer, 1, room, &value);
	return DatumGetInt32(FunctionCall2Coll(&zone->compare, zone->collation, value, zone->value));
}

static bool
may_match(CScanZone *zone, int16 typlen, const CScanStoredRun *run, uint32 nrows)
{
	if (zone->strategy == 0)
		return zone->is_null ? run->nnulls > 0 : run->nnulls < nrows;
	if (!zone->known)
		return true;
	if (zone->isnull || run->nnulls == nrows)
		return false;
	if (!run->ordered)
		return true;
	switch (zone->strategy)
	{
		case BTLessStrategyNumber:
			return compare(zone, typlen, run, run->minimum) < 0;
		case BTLessEqualStrategyNumber:
			return compare(zone, typlen, run, run->minimum) <= 0;
		case BTEqualStrategyNumber:
			return compare(zone, typlen, run, run->minimum) <= 0 && compare(zone, typlen, run, run->maximum) >= 0;
		case BTGreaterEqualStrategyNumber:
			return compare(zone, typlen, run, run->maximum) >= 0;
		case BTGreaterStrategyNumber:
			return compare(zone, typlen, run, run->maximum) > 0;
		default:
			return true;
	}
}

bool
cscan_zones_may_match(List *zones, Relation heap, Relation index, const CScanGroup *group)
{
	ListCell   *lc;

	if (group->serving.nrows == 0)
		return false;
	foreach(lc, zones)
	{
		CScanZone  *zone = lfirst(lc);
		AttrNumber	attribute = index->rd_index->indkey.values[zone->column];

		if (!may_match(zone, TupleDescAttr(RelationGetDescr(heap), attribute - 1)->attlen,
					   &group->runs[zone->column], group->serving.nrows))
			return false;
	}
	return true;
}
