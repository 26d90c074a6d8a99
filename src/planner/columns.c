/*-------------------------------------------------------------------------
 *
 * columns.c
 *		Makes scans over row groups compete with all others, by cost.
 *
 * A table may have indexes of columns.  One that has all columns that a query
 * needs of the table gives a path of its own, and each such path has its price.
 * Unlike other CScans it is a custom path, since PostgreSQL would have a
 * sequential scan return all columns of the table where that saves a
 * projection.
 *
 * The price depends on how much of the table the index covers, on the pages of
 * the needed columns, on the row groups that the conditions exclude, and on the
 * strings that have to be decompressed.  All of these are estimated from a sample
 * of the groups.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include <math.h>

#include "access/genam.h"
#include "access/table.h"
#include "access/visibilitymap.h"
#include "nodes/extensible.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/prep.h"
#include "optimizer/restrictinfo.h"
#include "utils/lsyscache.h"
#include "utils/selfuncs.h"
#include "utils/spccache.h"

#include "cscan.h"
#include "exec/exec.h"
#include "input/input.h"
#include "planner/planner.h"

/* Groups that are looked at, and blocks of each whose visibility is */
#define SAMPLED_GROUPS	32
#define SAMPLED_BLOCKS	32

/* Smaller tables are not worth a look. */
#define LEAST_PAGES		CSCAN_STORE_MIN_GROUP

/* A string that a group has so often on the average is in a dictionary. */
#define DICTIONARY_REPEATS	16

/* Runs of strings that take more than so much of their bytes are not compressed. */
#define COMPRESSED_SHARE	0.8

/* A column that is needed */
typedef struct CScanNeededColumn
{
	int			number;			/* in the index, from 0 */
	AttrNumber	attribute;		/* of the table */
	bool		is_compared;	/* by a condition */
	double		width;			/* bytes, on the average; 0: it has no strings */
	double		ndistinct;
} CScanNeededColumn;

/* What a scan of the whole table would read, as estimated */
typedef struct CScanColumnExtent
{
	double		all_groups;		/* of the table */
	double		groups;			/* of these, whose runs are read */
	double		run_pages;
	double		run_blocks;		/* of the heap, whose rows are in them */
	double		heap_blocks;	/* that are not in runs */
	double		compared_bytes; /* of strings to decompress, for conditions */
	double		other_bytes;	/* likewise, of other columns */
	bool		parallel;		/* workers may read runs */
} CScanColumnExtent;

static Plan *plan_columns(PlannerInfo *root, RelOptInfo *rel, CustomPath *path, List *tlist,
						  List *clauses, List *custom_plans);

static const CustomPathMethods column_path_methods = {
	.CustomName = "CScan",
	.PlanCustomPath = plan_columns
};

/*
 * The clauses by which row groups may be skipped.  Minima and maxima are those
 * of all rows.  A user who may not see some must not learn of these from a
 * plan's costs or counts: his own conditions come behind those of row security
 * and barriers.
 */
static List *
skipping_clauses(RelOptInfo *rel, List *clauses)
{
	List	   *skipping = NIL;
	ListCell   *lc;

	foreach(lc, clauses)
	{
		RestrictInfo *rinfo = lfirst_node(RestrictInfo, lc);

		if (!rinfo->pseudoconstant && rinfo->security_level <= rel->baserestrict_min_security &&
			!contain_subplans((Node *) rinfo->clause))
			skipping = lappend(skipping, rinfo->clause);
	}
	return skipping;
}

/* The attributes that a query needs of a table, as pull_varattnos() has them. */
static Bitmapset *
needed_attributes(RelOptInfo *rel)
{
	Bitmapset  *needed = NULL;
	ListCell   *lc;

	pull_varattnos((Node *) rel->reltarget->exprs, rel->relid, &needed);
	foreach(lc, rel->baserestrictinfo)
		pull_varattnos((Node *) lfirst_node(RestrictInfo, lc)->clause, rel->relid, &needed);
	return needed;
}

/*
 * Find the needed attributes among an index's columns.
 * False if one is missing, or is a system column or the whole row.
 */
static bool
find_columns(const IndexOptInfo *info, Bitmapset *needed, CScanNeededColumn *columns, int *ncolumns)
{
	int			member = -1;

	*ncolumns = 0;
	while ((member = bms_next_member(needed, member)) >= 0)
	{
		AttrNumber	attribute = member + FirstLowInvalidHeapAttributeNumber;
		int			column = 0;

		if (attribute <= 0)
			return false;
		while (column < info->nkeycolumns && info->indexkeys[column] != attribute)
			column++;
		if (column == info->nkeycolumns)
			return false;
		columns[*ncolumns].attribute = attribute;
		columns[(*ncolumns)++].number = column;
	}
	return true;
}

/* Find out what strings the columns have. */
static void
measure_columns(PlannerInfo *root, RelOptInfo *rel, Relation heap, CScanNeededColumn *columns, int ncolumns)
{
	Bitmapset  *compared = NULL;
	ListCell   *lc;

	foreach(lc, rel->baserestrictinfo)
		pull_varattnos((Node *) lfirst_node(RestrictInfo, lc)->clause, rel->relid, &compared);
	for (int i = 0; i < ncolumns; i++)
	{
		CScanNeededColumn *column = &columns[i];
		Form_pg_attribute attribute = TupleDescAttr(RelationGetDescr(heap), column->attribute - 1);
		Var		   *var = makeVar(rel->relid, column->attribute, attribute->atttypid, attribute->atttypmod,
								  attribute->attcollation, 0);
		VariableStatData data;
		bool		is_default;

		column->is_compared = bms_is_member(column->attribute - FirstLowInvalidHeapAttributeNumber, compared);
		column->width = 0;
		if (attribute->attlen != -1)
			continue;
		examine_variable(root, (Node *) var, 0, &data);
		column->ndistinct = get_variable_numdistinct(&data, &is_default);
		ReleaseVariableStats(data);
		column->width = get_attavgwidth(RelationGetRelid(heap), column->attribute);
		if (column->width <= 0)
			column->width = get_typavgwidth(var->vartype, var->vartypmod);
	}
}

/* The bytes of a column's strings that have to be decompressed to read a group's run. */
static double
compressed_bytes(const CScanNeededColumn *column, const CScanGroup *group)
{
	const CScanStoredRun *run = &group->runs[column->number];
	double		nrows = group->serving.nrows;

	if (column->width == 0 || run->storage != CSCAN_STORAGE_VARLENA ||
		column->ndistinct * DICTIONARY_REPEATS <= nrows || run->size > COMPRESSED_SHARE * nrows * column->width)
		return 0;
	return nrows * column->width;
}

/* Share of a group's blocks, of those that are not stale, that are all-visible now. */
static double
visible_share(Relation heap, const CScanGroup *group, BlockNumber first, uint32 covered, Buffer *vm_buffer)
{
	uint32		step = (covered - 1) / SAMPLED_BLOCKS + 1;
	uint32		looked = 0;
	uint32		visible = 0;

	for (uint32 i = 0; i < covered; i += step)
	{
		if (cscan_has_bit(group->stale, i))
			continue;
		looked++;
		visible += (visibilitymap_get_status(heap, first + i, vm_buffer) & VISIBILITYMAP_ALL_VISIBLE) != 0;
	}
	return looked > 0 ? (double) visible / looked : 0;
}

/* Set the zones' values that are known now. */
static void
set_zone_values(PlannerInfo *root, List *zones)
{
	ListCell   *lc;

	foreach(lc, zones)
	{
		CScanZone  *zone = lfirst(lc);
		Node	   *value;

		if (zone->expr == NULL)
			continue;
		value = estimate_expression_value(root, (Node *) zone->expr);
		if (IsA(value, Const))
		{
			zone->known = true;
			zone->value = ((Const *) value)->constvalue;
			zone->isnull = ((Const *) value)->constisnull;
		}
	}
}

/* Add what a scan would read of a group of "nblocks" blocks. */
static void
add_group(CScanColumnExtent *extent, Relation heap, Relation index, uint32 number, BlockNumber first, uint32 nblocks,
		  List *zones, const CScanNeededColumn *columns, int ncolumns, Buffer *vm_buffer)
{
	CScanGroup	group;
	uint32		covered;
	uint32		stale = 0;
	double		fresh;

	if (!cscan_store_read_group(index, number, &group))
	{
		extent->heap_blocks += nblocks;
		return;
	}
	covered = Min(group.serving.covered, nblocks);
	for (uint32 i = 0; i < covered; i++)
		stale += cscan_has_bit(group.stale, i);
	fresh = covered == 0 ? 0 : (covered - stale) * visible_share(heap, &group, first, covered, vm_buffer);
	extent->heap_blocks += nblocks - fresh;
	if (fresh > 0 && cscan_zones_may_match(zones, heap, index, &group))
	{
		/* The runs of the wanted columns, and that of the rows of blocks */
		for (int i = 0; i <= ncolumns; i++)
			extent->run_pages += ceil((double) group.runs[i < ncolumns ? columns[i].number : index->rd_att->natts].size /
									  CSCAN_STORE_PAGE_BYTES);
		for (int i = 0; i < ncolumns; i++)
			*(columns[i].is_compared ? &extent->compared_bytes : &extent->other_bytes) +=
				compressed_bytes(&columns[i], &group);
		extent->run_blocks += fresh;
		extent->groups++;
	}
	cscan_store_free_group(&group);
}

/*
 * What it costs to look at all row groups: at a directory page, and at the bits
 * of each block in the visibility map.
 */
static Cost
cost_of_looking(RelOptInfo *rel, double groups, Cost page_cost)
{
	return groups * page_cost + rel->pages * cpu_operator_cost;
}

/* What the cheapest path costs that there is so far. */
static Cost
cheapest_so_far(RelOptInfo *rel)
{
	Cost		cheapest = -1;
	ListCell   *lc;

	foreach(lc, rel->pathlist)
	{
		const Path *path = lfirst(lc);

		if (path->param_info == NULL && (cheapest < 0 || path->total_cost < cheapest))
			cheapest = path->total_cost;
	}
	return cheapest;
}

/*
 * Estimate what a scan would read.  False if the index has nothing, or if to
 * look at all of its groups would cost as much as the cheapest path.
 */
static bool
find_extent(PlannerInfo *root, RelOptInfo *rel, Relation heap, Relation index, CScanNeededColumn *columns, int ncolumns,
			CScanColumnExtent *extent)
{
	uint32		group_blocks = cscan_store_group_blocks(index);
	CScanStoreMeta *meta;
	Buffer		vm_buffer = InvalidBuffer;
	List	   *zones;
	uint32		ngroups;
	uint32		nsampled;
	double		sampled_blocks = 0;
	bool		any;

	memset(extent, 0, sizeof(CScanColumnExtent));
	ngroups = (rel->pages - 1) / group_blocks + 1;
	extent->all_groups = ngroups;
	if (cost_of_looking(rel, ngroups, seq_page_cost) >= cheapest_so_far(rel))
		return false;
	meta = palloc(sizeof(CScanStoreMeta));
	zones = cscan_zones_find(skipping_clauses(rel, rel->baserestrictinfo), rel->relid, heap, index);
	set_zone_values(root, zones);
	measure_columns(root, rel, heap, columns, ncolumns);
	cscan_store_read_meta(index, meta);
	nsampled = Min(ngroups, SAMPLED_GROUPS);
	for (uint32 i = 0; i < nsampled && meta->ngroups > 0; i++)
	{
		uint32		number = (uint32) (((uint64) i * ngroups + ngroups / 2) / nsampled);
		BlockNumber first = number * group_blocks;
		uint32		nblocks = Min(rel->pages - first, group_blocks);

		add_group(extent, heap, index, number, first, nblocks, zones, columns, ncolumns, &vm_buffer);
		sampled_blocks += nblocks;
	}
	if (BufferIsValid(vm_buffer))
		ReleaseBuffer(vm_buffer);
	any = sampled_blocks > extent->heap_blocks;
	if (any)
	{
		double		factor = rel->pages / sampled_blocks;

		extent->groups *= factor;
		extent->run_pages *= factor;
		extent->run_blocks *= factor;
		extent->heap_blocks *= factor;
		extent->compared_bytes *= factor;
		extent->other_bytes *= factor;
	}

	/* A worker does not know that a file is new in this transaction. */
	extent->parallel = rel->consider_parallel && !cscan_is_new_in_transaction(heap);
	pfree(meta);
	return any;
}

/*
 * Is a condition likely to have vectors?  That is known only when the scan begins.
 * Mostly it compares a column with a value by an operator that raises no error, or
 * asks whether it is null.
 */
static bool
has_vectors(Node *clause)
{
	List	   *args = list_make1(clause);
	Oid			function = InvalidOid;
	int			ncolumns = 0;
	ListCell   *lc;

	if (IsA(clause, BoolExpr))
	{
		foreach(lc, ((BoolExpr *) clause)->args)
		{
			if (!has_vectors(lfirst(lc)))
				return false;
		}
		return true;
	}
	if (IsA(clause, OpExpr))
	{
		args = ((OpExpr *) clause)->args;
		function = ((OpExpr *) clause)->opfuncid;
	}
	else if (IsA(clause, ScalarArrayOpExpr))
	{
		args = ((ScalarArrayOpExpr *) clause)->args;
		function = ((ScalarArrayOpExpr *) clause)->opfuncid;
	}
	else if (IsA(clause, NullTest))
		args = list_make1(((NullTest *) clause)->arg);
	if (OidIsValid(function) && !get_func_leakproof(function) &&
		!(IsA(clause, OpExpr) && cscan_condition_is_harmless((OpExpr *) clause)))
		return false;
	foreach(lc, args)
	{
		Node	   *node = strip_implicit_coercions(lfirst(lc));

		if (IsA(node, Var))
			ncolumns++;
		else if (contain_var_clause(node) || contain_subplans(node) || contain_volatile_functions(node))
			return false;
	}
	return ncolumns == 1;
}

/* Does a filter on vectors find the rows?  Rows that nobody asks have none. */
static bool
is_filtered(const RelOptInfo *rel)
{
	bool		any = false;
	ListCell   *lc;

	foreach(lc, rel->baserestrictinfo)
	{
		RestrictInfo *rinfo = lfirst_node(RestrictInfo, lc);

		if (!rinfo->pseudoconstant && !has_vectors((Node *) rinfo->clause))
			return false;
		any |= !rinfo->pseudoconstant;
	}
	return any && cscan_vectors_enabled;
}

bool
cscan_is_column_path(const Path *path)
{
	return IsA(path, CustomPath) && ((const CustomPath *) path)->methods == &column_path_methods;
}

Oid
cscan_column_path_index(const Path *path)
{
	return (Oid) linitial_int(((const CustomPath *) path)->custom_private);
}

bool
cscan_column_path_has_vectors(const Path *path)
{
	return (bool) lsecond_int(((const CustomPath *) path)->custom_private);
}

/* Set a path's costs; doc/cost.md explains them. */
static void
set_costs(PlannerInfo *root, RelOptInfo *rel, const IndexOptInfo *info, const CScanColumnExtent *extent, Path *path)
{
	double		per_block = rel->tuples / Max(rel->pages, 1);
	double		run_rows = per_block * extent->run_blocks;
	double		heap_rows = per_block * extent->heap_blocks;
	Cost		per_row = cpu_tuple_cost + rel->baserestrictcost.per_tuple;
	double		divisor = 1.0;
	Cost		random_cost;
	Cost		seq_cost;
	Cost		looking;
	Cost		first;
	Cost		io;
	Cost		cpu;
	double		decoded = 1.0;

	get_tablespace_page_costs(info->reltablespace, &random_cost, &seq_cost);
	io = extent->run_pages * seq_cost * cscan_cost_page(root, rel, info->indexoid) +
		extent->groups * random_cost;
	first = io / Max(extent->groups, 1);
	looking = cost_of_looking(rel, extent->all_groups, seq_cost);

	/* The heap's blocks are strewn over the table, as for a bitmap heap scan. */
	get_tablespace_page_costs(rel->reltablespace, &random_cost, &seq_cost);
	io += extent->heap_blocks *
		(random_cost - (random_cost - seq_cost) * sqrt(Min(1.0, extent->heap_blocks / Max(rel->pages, 1))));

	cpu = (run_rows + heap_rows) * per_row;
	if (cscan_column_path_has_vectors(path))
	{
		cpu = (heap_rows + CSCAN_RUNS_DROP_SHARE * run_rows +
			   (CSCAN_RUNS_ROW_SHARE - CSCAN_RUNS_DROP_SHARE) * Min(run_rows, path->rows)) * per_row;

		/* Of vectors without any such row only the conditions' columns are decoded. */
		decoded -= pow(1.0 - Min(1.0, path->rows / Max(run_rows + heap_rows, 1)), CSCAN_VECTOR);
	}
	cpu += (extent->compared_bytes + decoded * extent->other_bytes) * CSCAN_RUNS_BYTE_SHARE * cpu_operator_cost;
	if (path->parallel_workers > 0)
	{
		divisor = path->parallel_workers;
		if (parallel_leader_participation)
			divisor += Max(0.0, 1.0 - 0.3 * path->parallel_workers);
		path->rows = clamp_row_est(path->rows / divisor);
	}

	/* Before the first row all row groups are looked at, and one's runs are read. */
	path->startup_cost = rel->baserestrictcost.startup + path->pathtarget->cost.startup + looking + first;
	path->total_cost = path->startup_cost + io - first + cpu / divisor + path->pathtarget->cost.per_tuple * path->rows;
}

static Path *
make_path(PlannerInfo *root, RelOptInfo *rel, const IndexOptInfo *info, const CScanColumnExtent *extent, int workers)
{
	CustomPath *path = makeNode(CustomPath);

	path->path.pathtype = T_CustomScan;
	path->path.parent = rel;
	path->path.pathtarget = rel->reltarget;
	path->path.parallel_aware = workers > 0;
	path->path.parallel_safe = extent->parallel;
	path->path.parallel_workers = workers;
	path->path.rows = rel->rows;
	path->flags = CUSTOMPATH_SUPPORT_PROJECTION;
	path->custom_private = list_make2_int((int) info->indexoid, is_filtered(rel));
	path->methods = &column_path_methods;
	set_costs(root, rel, info, extent, &path->path);
	return &path->path;
}

static Plan *
plan_columns(PlannerInfo *root, RelOptInfo *rel, CustomPath *path, List *tlist, List *clauses, List *custom_plans)
{
	CustomScan *cscan = makeNode(CustomScan);

	(void) root;
	(void) custom_plans;
	cscan->scan.plan.targetlist = tlist;
	cscan->scan.plan.qual = extract_actual_clauses(clauses, false);
	cscan->scan.scanrelid = rel->relid;
	cscan->custom_exprs = copyObject(skipping_clauses(rel, clauses));
	cscan->flags = path->flags;
	cscan->custom_private = list_make5_int(CSCAN_COLUMNS, false, (int) InvalidOid,
										   linitial_int(path->custom_private), (int) InvalidOid);
	cscan->methods = &cscan_scan_methods;
	return &cscan->scan.plan;
}

/* Are the table's rows changed or locked, so that it matters where they are? */
static bool
needs_places(PlannerInfo *root, RelOptInfo *rel)
{
	return bms_is_member(rel->relid, root->all_result_relids) ||
		root->parse->resultRelation == (int) rel->relid ||
		get_plan_rowmark(root->rowMarks, rel->relid) != NULL;
}

/* Is it a UNION ALL throughout? */
static bool
is_union_all(Node *node)
{
	SetOperationStmt *op = (SetOperationStmt *) node;

	if (!IsA(node, SetOperationStmt))
		return true;
	return op->op == SETOP_UNION && op->all && is_union_all(op->larg) && is_union_all(op->rarg);
}

/*
 * Are the scan's rows the rows of a cursor?  These have places, and come again
 * when it goes backward.  What joins, sorts or aggregates makes rows of its own.
 * So do subqueries that are planned before the query's tables are known: those
 * of expressions and WITH.
 */
static bool
are_cursors_rows(const PlannerInfo *root)
{
	if (!cscan_planning.cursor)
		return false;
	for (; root != NULL; root = root->parent_root)
	{
		const Query *parse = root->parse;

		if (parse->hasAggs || parse->groupClause != NIL || parse->distinctClause != NIL || parse->hasWindowFuncs ||
			parse->sortClause != NIL)
			return false;
		if (parse->setOperations ? !is_union_all(parse->setOperations) : bms_membership(root->all_baserels) != BMS_SINGLETON)
			return false;
	}
	return true;
}

void
cscan_column_paths_add(PlannerInfo *root, RelOptInfo *rel, Oid relid)
{
	Bitmapset  *needed = NULL;
	ListCell   *lc;

	if (!cscan_columns_enabled || rel->indexlist == NIL || rel->pages < LEAST_PAGES ||
		rel->lateral_relids != NULL || needs_places(root, rel) || are_cursors_rows(root) ||
		cscan_planner_switched_off())
		return;
	foreach(lc, rel->indexlist)
	{
		const IndexOptInfo *info = lfirst_node(IndexOptInfo, lc);
		CScanNeededColumn columns[INDEX_MAX_KEYS];
		int			ncolumns;
		CScanColumnExtent extent;
		Relation	heap;
		Relation	index;
		bool		any;
		int			workers;

		if (!cscan_store_is_planned(info) || info->hypothetical)
			continue;
		if (needed == NULL)
			needed = needed_attributes(rel);
		if (!find_columns(info, needed, columns, &ncolumns))
			continue;
		heap = table_open(relid, NoLock);
		index = index_open(info->indexoid, NoLock);
		any = !RelationUsesLocalBuffers(heap) && find_extent(root, rel, heap, index, columns, ncolumns, &extent);
		index_close(index, NoLock);
		table_close(heap, NoLock);
		if (!any)
			continue;
		add_path(rel, make_path(root, rel, info, &extent, 0));
		workers = compute_parallel_worker(rel, rel->pages, -1, max_parallel_workers_per_gather);
		if (extent.parallel && workers > 0)
			add_partial_path(rel, make_path(root, rel, info, &extent, workers));
	}
}
