/*-------------------------------------------------------------------------
 *
 * aggregate.c
 *		Makes CScan Aggregates compete with other aggregation, by cost.
 *
 * Wherever PostgreSQL considers to aggregate a table's rows, there is one more
 * path for each of the table's paths that is to become a CScan, or an Append of
 * nothing but CScans: a CScan Aggregate above it or, below a Gather, its first half.
 * SELECT DISTINCT is a GROUP BY of all that it selects, below a Gather a whole one in
 * each process.
 * Nothing else is added: the table's paths are those that hints and other extensions
 * have left.
 *
 * A CScan Aggregate with keys hashes.  So it is no path where hashing is not possible
 * or switched off.  Where there is none, cscan_why_not() hears the reason.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include <math.h>

#include "access/nbtree.h"
#include "catalog/pg_am_d.h"
#include "catalog/pg_statistic.h"
#include "commands/defrem.h"
#include "executor/nodeAgg.h"
#include "nodes/extensible.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/planner.h"
#include "optimizer/prep.h"
#include "optimizer/tlist.h"
#include "rewrite/rewriteManip.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/ruleutils.h"
#include "utils/selfuncs.h"

#include "aggregate/aggregate.h"
#include "cscan.h"
#include "exec/exec.h"
#include "exec/units.h"
#include "planner/planner.h"

/*
 * What is left of the CPU's part in the cost of a scan of pages and of an aggregate;
 * doc/benchmarks.md (Vectors) has what was measured.
 */
#define PAGES_SHARE		0.5
#define VECTORS_SHARE	0.1

/* Groups all over the table are better off without borders. */
#define BORDER_CORRELATION	0.5

static create_upper_paths_hook_type prev_create_upper_paths_hook;

List	  **cscan_unsupported;

static Plan *plan_aggregate(PlannerInfo *root, RelOptInfo *rel, CustomPath *path, List *tlist,
							List *clauses, List *custom_plans);

static const CustomPathMethods aggregate_path_methods = {
	.CustomName = "CScan Aggregate",
	.PlanCustomPath = plan_aggregate
};

/* ------------------------------------------------------------------
 * What is supported
 * ------------------------------------------------------------------ */

/* What a query groups by and aggregates.  SELECT DISTINCT groups by what it selects. */
typedef struct CScanGrouping
{
	Index		relid;			/* of the table */
	List	   *clauses;		/* SortGroupClauses of a target list */
	List	   *targets;		/* that list */
	List	   *pathkeys;		/* of the clauses; NIL: there is one group at most */
	List	   *keys;			/* expressions; no constants */
	List	   *aggrefs;		/* each one once */
	Node	   *unsupported;	/* the first expression that is; or NULL */
	const char *why;			/* another reason why not */
} CScanGrouping;

/* Does an expression need more of a row than its columns? */
static bool
needs_row(Node *node, Index relid)
{
	Bitmapset  *needed = NULL;
	int			first;

	pull_varattnos(node, relid, &needed);
	first = bms_next_member(needed, -1);
	return first >= 0 && first + FirstLowInvalidHeapAttributeNumber <= 0;
}

static bool
is_supported_argument(Node *node, Index relid)
{
	return !contain_subplans(node) && !needs_row(node, relid);
}

/* A key is compared as its integers, or its bytes, are. */
static bool
is_supported_key(const SortGroupClause *clause, Node *key, Index relid)
{
	CScanKeyKind kind;
	Oid			opclass = GetDefaultOpClass(getBaseType(exprType(key)), BTREE_AM_OID);

	return OidIsValid(opclass) && cscan_key_kind(key, &kind) && clause->hashable &&
		get_op_opfamily_strategy(clause->eqop, get_opclass_family(opclass)) == BTEqualStrategyNumber &&
		!contain_volatile_functions(key) && !expression_returns_set(key) && is_supported_argument(key, relid);
}

/* Of aggregates with DISTINCT only count() is. */
static bool
is_supported_distinct(const Aggref *aggref, Index relid)
{
	return aggref->aggfnoid == F_COUNT_ANY && aggref->aggorder == NIL &&
		is_supported_key(linitial_node(SortGroupClause, aggref->aggdistinct),
						 (Node *) linitial_node(TargetEntry, aggref->args)->expr, relid);
}

static bool
is_supported_aggregate(const Aggref *aggref, Index relid)
{
	/* Volatile functions are called for one row after the other. */
	return aggref->agglevelsup == 0 &&
		(aggref->aggdistinct != NIL ? is_supported_distinct(aggref, relid) : cscan_transition_supported(aggref)) &&
		!contain_volatile_functions((Node *) aggref->args) && !contain_volatile_functions((Node *) aggref->aggfilter) &&
		is_supported_argument((Node *) aggref->args, relid) &&
		is_supported_argument((Node *) aggref->aggfilter, relid);
}

/* A walker: find aggregates, and columns that are not in a key. */
static bool
look_at(Node *node, void *context)
{
	CScanGrouping *grouping = context;

	if (node == NULL)
		return false;
	if (list_member(grouping->keys, node))
		return false;
	if (IsA(node, Aggref))
	{
		if (!is_supported_aggregate((Aggref *) node, grouping->relid))
			grouping->unsupported = node;
		else
			grouping->aggrefs = list_append_unique(grouping->aggrefs, node);
		return grouping->unsupported != NULL;
	}
	/* An Agg alone computes GROUPING(). */
	if (IsA(node, Var) || IsA(node, PlaceHolderVar) || IsA(node, GroupingFunc))
	{
		grouping->unsupported = node;
		return true;
	}
	return expression_tree_walker(node, look_at, context);
}

/*
 * Find the keys, and what is aggregated, of the clauses; false if some of it is not supported,
 * or PostgreSQL needs but one row.
 */
static bool
find_grouping(const RelOptInfo *input_rel, const PathTarget *target, List *having, CScanGrouping *grouping)
{
	ListCell   *lc;

	grouping->relid = input_rel->relid;
	grouping->keys = NIL;
	grouping->aggrefs = NIL;
	grouping->unsupported = NULL;
	grouping->why = NULL;
	foreach(lc, grouping->clauses)
	{
		SortGroupClause *clause = lfirst_node(SortGroupClause, lc);
		Node	   *key = get_sortgroupclause_expr(clause, grouping->targets);

		if (IsA(key, Const))
			continue;
		if (!is_supported_key(clause, key, grouping->relid))
		{
			grouping->unsupported = key;
			return false;
		}
		grouping->keys = list_append_unique(grouping->keys, key);
	}
	if (list_length(grouping->keys) > CSCAN_MAX_KEYS)
		grouping->why = psprintf("grouping by more than %d keys does not run on vectors", CSCAN_MAX_KEYS);
	else if (look_at((Node *) target->exprs, grouping) || look_at((Node *) having, grouping))
		return false;
	else if (grouping->clauses != NIL && grouping->pathkeys == NIL && grouping->aggrefs == NIL)
		grouping->why = "one group without aggregates does not run on vectors";
	return grouping->why == NULL;
}

/*
 * Placeholders cannot be written as text, and executor parameters only together with the
 * plan that sets them.
 */
static Node *
as_writable(Node *node, void *context)
{
	if (node == NULL)
		return NULL;
	if (IsA(node, PlaceHolderVar))
		return as_writable((Node *) ((PlaceHolderVar *) node)->phexpr, context);
	if (IsA(node, Param) && ((Param *) node)->paramkind == PARAM_EXEC)
	{
		Param	   *param = copyObject((Param *) node);

		param->paramkind = PARAM_EXTERN;
		return (Node *) param;
	}
	return expression_tree_mutator(node, as_writable, context);
}

static const char *
as_text(const RelOptInfo *rel, Oid relid, Node *node)
{
	node = as_writable(node, NULL);
	ChangeVarNodes(node, rel->relid, 1, 0);
	return deparse_expression(node, deparse_context_for(get_rel_name(relid), relid), false, false);
}

/*
 * Say what keeps a table's rows from being aggregated on vectors, where somebody wants to
 * know: an expression, or another reason.
 */
static void
note_unsupported(PlannerInfo *root, RelOptInfo *rel, Node *expr, const char *why)
{
	RangeTblEntry *rte = root->simple_rte_array[rel->relid];
	CScanUnsupported *unsupported;

	if (cscan_unsupported == NULL || rte->rtekind != RTE_RELATION)
		return;
	unsupported = palloc(sizeof(CScanUnsupported));
	unsupported->relid = rte->relid;
	unsupported->why = expr ? psprintf("%s does not run on vectors", as_text(rel, rte->relid, expr)) : why;
	*cscan_unsupported = lappend(*cscan_unsupported, unsupported);
}

/* ------------------------------------------------------------------
 * Paths
 * ------------------------------------------------------------------ */

/* The key by which groups are complete early. */
typedef struct CScanBorder
{
	int			key;			/* its number; -1: none */
	List	   *brins;			/* Oids of the indexes that have its bounds, one for
								 * each scan; InvalidOid: the scan's own */
	double		correlation;	/* of the key with places in the table; 0: none */
	double		pages;			/* of what is scanned */
	double		unit_blocks;	/* blocks that have bounds of their own */
} CScanBorder;

/* What projects nothing but what the scan can. */
static Path *
scan_of(Path *path)
{
	return IsA(path, ProjectionPath) ? ((ProjectionPath *) path)->subpath : path;
}

/* Is there a condition that is checked once, in a Result node above the scan? */
static bool
has_gate(const RelOptInfo *rel)
{
	ListCell   *lc;

	foreach(lc, rel->baserestrictinfo)
	{
		if (lfirst_node(RestrictInfo, lc)->pseudoconstant)
			return true;
	}
	return false;
}

/* Will the path be a CScan? */
static bool
becomes_cscan(PlannerInfo *root, Path *path)
{
	const RangeTblEntry *rte;

	path = scan_of(path);
	if (!IS_SIMPLE_REL(path->parent) || path->param_info != NULL || has_gate(path->parent))
		return false;
	rte = root->simple_rte_array[path->parent->relid];
	if (rte->rtekind != RTE_RELATION || rte->inh || rte->tablesample != NULL)
		return false;
	if (cscan_is_column_path(path))
		return true;
	if (path->pathtype != T_SeqScan &&
		!(IsA(path, BitmapHeapPath) && IsA(((BitmapHeapPath *) path)->bitmapqual, BitmapAndPath) &&
		  list_length(((BitmapAndPath *) ((BitmapHeapPath *) path)->bitmapqual)->bitmapquals) == 1))
		return false;
	return cscan_eligible_decide(root, path->parent, rte->relid);
}

/*
 * Is it an Append of nothing but CScans?  Its children's targets take the place of
 * the parent's columns, wherever these are needed.
 */
static bool
becomes_append(PlannerInfo *root, Path *path)
{
	ListCell   *lc;

	path = scan_of(path);
	if (!IsA(path, AppendPath) || path->param_info != NULL || ((AppendPath *) path)->subpaths == NIL)
		return false;
	foreach(lc, ((AppendPath *) path)->subpaths)
	{
		Path	   *child = lfirst(lc);
		Node	   *target = (Node *) child->pathtarget->exprs;

		if (!becomes_cscan(root, child) || !is_supported_argument(target, child->parent->relid) ||
			contain_volatile_functions(target) || expression_returns_set(target))
			return false;
	}
	return true;
}

/* What is aggregated, if it can be: a scan, which projects, or an Append; else NULL. */
static Path *
find_child(PlannerInfo *root, Path *path)
{
	if (becomes_append(root, path))
		return scan_of(path);
	return becomes_cscan(root, path) ? path : NULL;
}

/* Rows of the table that a path looks at. */
static double
rows_looked_at(Path *path)
{
	RelOptInfo *rel = path->parent;
	double		rows = rel->tuples;

	if (IsA(path, BitmapHeapPath))
		rows = Min(rows, path->rows);
	if (path->parallel_workers > 0)
		rows /= path->parallel_workers + (parallel_leader_participation ? Max(0.0, 1.0 - 0.3 * path->parallel_workers) : 0);
	return rows;
}

/* What PostgreSQL would write and read if the groups do not fit into memory; "entry": bytes of a group of its own. */
static Cost
cost_of_spilling(double rows, double ngroups, int width, Size entry)
{
	double		limit = (double) get_hash_memory_limit();
	double		share = 1.0 - limit / (ngroups * entry);
	double		pages;

	if (share <= 0)
		return 0;
	pages = share * rows * (MAXALIGN(width) + MAXALIGN(SizeofMinimalTupleHeader)) / BLCKSZ;
	return 2 * pages * (seq_page_cost + random_page_cost) + share * rows * 2 * cpu_tuple_cost;
}

/* What a scan, or an Append's scans, cost less. */
static Cost
saved(Path *path)
{
	Cost		cost = 0;
	Cost		per_row;
	Cost		run_cost;
	double		share;
	ListCell   *lc;

	path = scan_of(path);
	if (IsA(path, AppendPath))
	{
		int			first_partial = path->parallel_aware ? ((AppendPath *) path)->first_partial_path : 0;

		/* Of a Parallel Append's children that are not parallel each process has some. */
		foreach(lc, ((AppendPath *) path)->subpaths)
			cost += saved(lfirst(lc)) / (foreach_current_index(lc) < first_partial ? Max(path->parallel_workers, 1) : 1);
		return cost;
	}
	per_row = cpu_tuple_cost + path->parent->baserestrictcost.per_tuple;
	run_cost = path->total_cost - path->startup_cost;
	share = cscan_is_column_path(path) ? CSCAN_RUNS_SHARE : PAGES_SHARE;
	cost = rows_looked_at(path) * per_row;

	/* The scan's rows are found on vectors, too, and then handed out. */
	if (cscan_is_column_path(path) && cscan_column_path_has_vectors(path))
		return Min((1.0 - share / CSCAN_RUNS_ROW_SHARE) * run_cost,
				   (CSCAN_RUNS_ROW_SHARE - CSCAN_RUNS_DROP_SHARE) * path->rows * per_row +
				   (CSCAN_RUNS_DROP_SHARE - share) * Min(cost, run_cost / CSCAN_RUNS_DROP_SHARE));
	return (1.0 - share) * Min(cost, run_cost);
}

/* The correlation of a column's values with their places, from 0 to 1; 0 if it is not known. */
static double
correlation_of(PlannerInfo *root, Var *var)
{
	VariableStatData data;
	AttStatsSlot slot;
	double		correlation = 0;

	examine_variable(root, (Node *) var, 0, &data);
	if (HeapTupleIsValid(data.statsTuple) &&
		get_attstatsslot(&slot, data.statsTuple, STATISTIC_KIND_CORRELATION, InvalidOid, ATTSTATSSLOT_NUMBERS))
	{
		if (slot.nnumbers == 1)
			correlation = fabs(slot.numbers[0]);
		free_attstatsslot(&slot);
	}
	ReleaseVariableStats(data);
	return correlation;
}

/* The BRIN index that has the bounds of a column, or InvalidOid. */
static Oid
find_brin(const RelOptInfo *rel, const Var *column)
{
	ListCell   *lc;

	foreach(lc, rel->indexlist)
	{
		const IndexOptInfo *index = lfirst_node(IndexOptInfo, lc);

		if (index->relam != BRIN_AM_OID || index->indpred != NIL || index->hypothetical)
			continue;
		for (int c = 0; c < index->nkeycolumns; c++)
		{
			if (index->indexkeys[c] == column->varattno && index->opcintype[c] == column->vartype &&
				cscan_units_in_brin(index->opfamily[c], column->vartype))
				return index->indexoid;
		}
	}
	return InvalidOid;
}

/* What a child of an Append has in a column's place. */
static Expr *
of_child(const Path *append, const Path *child, const Var *column)
{
	ListCell   *lc;
	ListCell   *lcc;

	forboth(lc, append->pathtarget->exprs, lcc, child->pathtarget->exprs)
	{
		if (equal(lfirst(lc), column))
			return lfirst(lcc);
	}
	return NULL;
}

/* The largest of the scans that have bounds */
typedef struct CScanLargest
{
	Oid			index;			/* that has them */
	bool		brin;
	double		pages;
} CScanLargest;

/* Find what has the bounds of a column that a scan reads.  False if nothing has. */
static bool
add_bounds(CScanBorder *border, Path *path, Expr *column, CScanLargest *largest)
{
	Oid			brin = InvalidOid;

	path = scan_of(path);
	if (column == NULL || !IsA(column, Var) || !cscan_units_are_possible(((Var *) column)->vartype))
		return false;
	if (!cscan_is_column_path(path))
	{
		if (path->pathtype == T_SeqScan || IsA(path, BitmapHeapPath))
			brin = find_brin(path->parent, (Var *) column);
		if (!OidIsValid(brin))
			return false;
	}
	border->brins = lappend_oid(border->brins, brin);
	border->pages += path->parent->pages * (IsA(path, BitmapHeapPath) ? path->rows / Max(path->parent->tuples, 1) : 1);
	if (path->parent->pages >= largest->pages)
		*largest = (CScanLargest) {OidIsValid(brin) ? brin : cscan_column_path_index(path), OidIsValid(brin), path->parent->pages};
	return true;
}

/* The same of a scan, or of all scans of an Append.  The largest one's units count. */
static bool
find_bounds(CScanBorder *border, Path *path, Var *column)
{
	CScanLargest largest = {InvalidOid, false, 0};
	ListCell   *lc;

	path = scan_of(path);
	if (!IsA(path, AppendPath) && !add_bounds(border, path, (Expr *) column, &largest))
		return false;
	foreach(lc, IsA(path, AppendPath) ? ((AppendPath *) path)->subpaths : NIL)
	{
		if (!add_bounds(border, lfirst(lc), of_child(path, lfirst(lc), column), &largest))
			return false;
	}
	border->unit_blocks = cscan_units_blocks(largest.index, largest.brin);
	return true;
}

/*
 * Which key, if any, has borders (aggregate/borders.c): the column that follows the
 * order of the table best.  Only where one process reads all rows are there any.
 */
static CScanBorder
find_border(PlannerInfo *root, Path *path, const CScanGrouping *grouping, double ngroups)
{
	CScanBorder best = {.key = -1};
	ListCell   *lc;

	foreach(lc, grouping->aggrefs)
	{
		/* Groups are known by their numbers (aggregate/pairs.c). */
		if (lfirst_node(Aggref, lc)->aggdistinct != NIL || !cscan_aggregate_frees_state(lfirst_node(Aggref, lc)))
			return best;
	}
	if (ngroups < CSCAN_FEW_GROUPS || path->parallel_workers > 0)
		return best;
	foreach(lc, grouping->keys)
	{
		Var		   *key = lfirst(lc);
		CScanBorder border = {.key = foreach_current_index(lc)};

		if (!IsA(key, Var) || !cscan_units_are_possible(key->vartype))
			continue;
		border.correlation = correlation_of(root, key);
		if (border.correlation >= BORDER_CORRELATION && border.correlation > best.correlation &&
			find_bounds(&border, path, key))
			best = border;
	}
	return best;
}

/*
 * Which part of a scan comes before its first complete groups: a chunk, until there
 * are enough groups, and groups that have rows all over the table.
 */
static double
share_before_first(const CScanBorder *border, double ngroups)
{
	double		share;

	if (border->key < 0)
		return 1.0;
	share = Max((double) cscan_shared->preferred_chunk_blocks, border->unit_blocks) / Max(border->pages, 1) +
		CSCAN_FEW_GROUPS / ngroups;
	return Min(Max(share, 1.0 - border->correlation), 1.0);
}

/*
 * What the values of count(DISTINCT ...) cost: a look at each.  What does not fit goes to
 * disk, as it does from PostgreSQL's sort, whose price PostgreSQL leaves out before 16.
 */
static Cost
cost_of_distinct(double rows, const CScanGrouping *grouping)
{
	Cost		cost = 0;
	ListCell   *lc;

	foreach(lc, grouping->aggrefs)
		cost += lfirst_node(Aggref, lc)->aggdistinct != NIL ? VECTORS_SHARE * rows * 2 * cpu_operator_cost : 0;
	return cost;
}

static void
set_costs(PlannerInfo *root, Path *child, const CScanGrouping *grouping, const CScanBorder *border, AggSplit split,
		  double ngroups, Path *path)
{
	AggClauseCosts costs;
	Cost		transitions;
	double		open = 1.0 - border->correlation;	/* groups that are open at a time */

	MemSet(&costs, 0, sizeof(costs));
	if (grouping->aggrefs != NIL)
		get_agg_clause_costs(root, split, &costs);
	transitions = child->rows * (costs.transCost.per_tuple + list_length(grouping->keys) * cpu_operator_cost);
	path->startup_cost = child->total_cost - Min(saved(child), child->total_cost - child->startup_cost) +
		VECTORS_SHARE * transitions + costs.transCost.startup + costs.finalCost.startup +
		cost_of_spilling(child->rows, ngroups * open, child->pathtarget->width,
						 hash_agg_entry_size(list_length(grouping->aggrefs), child->pathtarget->width, costs.transitionSpace)) +
		cost_of_distinct(child->rows, grouping);
	path->total_cost = path->startup_cost + ngroups * (cpu_tuple_cost + costs.finalCost.per_tuple);
	path->startup_cost = child->startup_cost +
		(path->startup_cost - child->startup_cost) * share_before_first(border, ngroups);
	path->rows = ngroups;
	cscan_copy_disabled(path, child);
}

static double
number_of_groups(PlannerInfo *root, const CScanGrouping *grouping, double rows)
{
	if (grouping->clauses == NIL)
		return 1;
	return estimate_num_groups(root, get_sortgrouplist_exprs(grouping->clauses, grouping->targets), rows, NULL, NULL);
}

static Path *
make_path(PlannerInfo *root, RelOptInfo *rel, PathTarget *target, Path *child, const CScanGrouping *grouping,
		  List *having, AggSplit split)
{
	CustomPath *path = makeNode(CustomPath);
	double		ngroups = number_of_groups(root, grouping, child->rows);
	CScanBorder border = find_border(root, child, grouping, ngroups);

	path->path.pathtype = T_CustomScan;
	path->path.parent = rel;
	path->path.pathtarget = target;
	path->path.parallel_safe = rel->consider_parallel && child->parallel_safe;
	path->path.parallel_workers = child->parallel_workers;
	path->flags = CUSTOMPATH_SUPPORT_PROJECTION;
	path->custom_paths = list_make1(child);
	path->custom_private = list_make5(grouping->keys, grouping->aggrefs, having,
									  list_make2_int(grouping->clauses != NIL, border.key), border.brins);
	path->methods = &aggregate_path_methods;
	set_costs(root, child, grouping, &border, split, ngroups, &path->path);
	if (having != NIL)
	{
		QualCost	cost;

		cost_qual_eval(&cost, having, root);
		path->path.startup_cost += cost.startup;
		path->path.total_cost += cost.startup + ngroups * cost.per_tuple;
		path->path.rows = clamp_row_est(ngroups * clauselist_selectivity(root, having, 0, JOIN_INNER, NULL));
	}
	path->path.startup_cost += target->cost.startup;
	path->path.total_cost += target->cost.startup + path->path.rows * target->cost.per_tuple;
	return &path->path;
}

static Plan *
convert(Plan *plan)
{
	if (!cscan_planner_is_cscan(plan))
		plan = cscan_convert_scan(plan, false);
	if (!cscan_planner_is_cscan(plan))
		elog(ERROR, "a CScan Aggregate has a child that is no CScan");
	return plan;
}

/* Tell a scan which index has the bounds of the key that has borders. */
static void
set_bounds(Plan *scan, Oid brin)
{
	lfirst_int(list_nth_cell(((CustomScan *) scan)->custom_private, CSCAN_PRIVATE_BOUNDS)) = (int) brin;
}

static void
add_targets(CustomScan *plan, List *exprs)
{
	ListCell   *lc;

	foreach(lc, exprs)
		plan->custom_scan_tlist = lappend(plan->custom_scan_tlist,
										  makeTargetEntry(copyObject(lfirst(lc)),
														  list_length(plan->custom_scan_tlist) + 1, NULL, false));
}

static Plan *
plan_aggregate(PlannerInfo *root, RelOptInfo *rel, CustomPath *path, List *tlist, List *clauses, List *custom_plans)
{
	CustomScan *plan = makeNode(CustomScan);
	List	   *keys = linitial(path->custom_private);
	List	   *aggrefs = lsecond(path->custom_private);
	List	   *brins = (List *) list_nth(path->custom_private, 4);
	List	   *targets = NIL;
	Plan	   *child = linitial(custom_plans);
	ListCell   *lc;
	ListCell   *lcb;

	(void) root;
	(void) rel;
	(void) clauses;
	plan->scan.plan.targetlist = tlist;
	plan->scan.plan.qual = copyObject((List *) lthird(path->custom_private));
	add_targets(plan, keys);
	add_targets(plan, aggrefs);
	if (IsA(child, Append))
	{
		foreach(lc, child->targetlist)
			targets = lappend(targets, lfirst_node(TargetEntry, lc)->expr);
		add_targets(plan, targets);
		foreach(lc, ((Append *) child)->appendplans)
			lfirst(lc) = convert(lfirst(lc));
		forboth(lc, ((Append *) child)->appendplans, lcb, brins)
			set_bounds(lfirst(lc), lfirst_oid(lcb));
	}
	else
	{
		child = convert(child);
		if (brins != NIL)
			set_bounds(child, linitial_oid(brins));
	}
	plan->scan.plan.lefttree = child;
	plan->flags = path->flags;
	plan->custom_private = list_concat(list_make2_int(list_length(keys), list_length(aggrefs)),
									   lfourth(path->custom_private));
	plan->methods = &cscan_aggregate_methods;
	return &plan->scan.plan;
}

/*
 * Add paths that aggregate all of a path's rows.  "target": what they return; NULL: what
 * their children do.
 */
static void
add_whole(PlannerInfo *root, RelOptInfo *input_rel, RelOptInfo *output_rel, PathTarget *target, List *having,
		  CScanGrouping *grouping)
{
	ListCell   *lc;

	if (!find_grouping(input_rel, target ? target : input_rel->cheapest_total_path->pathtarget, having, grouping))
	{
		note_unsupported(root, input_rel, grouping->unsupported, grouping->why);
		return;
	}
	foreach(lc, input_rel->pathlist)
	{
		Path	   *child = find_child(root, lfirst(lc));

		if (child)
			add_path(output_rel, make_path(root, output_rel, target ? target : ((Path *) lfirst(lc))->pathtarget, child,
										   grouping, having, AGGSPLIT_SIMPLE));
	}
}

/* Add paths in which the processes of a parallel query aggregate what they read. */
static void
add_partial(PlannerInfo *root, RelOptInfo *input_rel, RelOptInfo *grouped_rel, GroupPathExtraData *extra,
			CScanGrouping *grouping)
{
	RelOptInfo *partial_rel;
	ListCell   *lc;

	if (!(extra->flags & GROUPING_CAN_PARTIAL_AGG) || !grouped_rel->consider_parallel ||
		input_rel->partial_pathlist == NIL)
		return;
	partial_rel = fetch_upper_rel(root, UPPERREL_PARTIAL_GROUP_AGG, grouped_rel->relids);
	if (partial_rel->reltarget->exprs == NIL ||
		!find_grouping(input_rel, partial_rel->reltarget, NIL, grouping))
		return;
	foreach(lc, input_rel->partial_pathlist)
	{
		Path	   *child = find_child(root, lfirst(lc));
		Path	   *path;
		double		rows;

		if (child == NULL)
			continue;
		path = make_path(root, partial_rel, partial_rel->reltarget, child, grouping, NIL, AGGSPLIT_INITIAL_SERIAL);
		rows = path->rows * path->parallel_workers;
		path = (Path *) create_gather_path(root, partial_rel, path, partial_rel->reltarget, NULL, &rows);
		add_path(grouped_rel, (Path *)
				 create_agg_path(root, grouped_rel, path, grouped_rel->reltarget,
								 grouping->clauses ? AGG_HASHED : AGG_PLAIN, AGGSPLIT_FINAL_DESERIAL,
								 cscan_group_clause(root), (List *) extra->havingQual, &extra->agg_final_costs,
								 number_of_groups(root, grouping, input_rel->rows)));
	}
}

/* Likewise for SELECT DISTINCT: PostgreSQL puts together what they have. */
static void
add_partial_distinct(PlannerInfo *root, RelOptInfo *input_rel, RelOptInfo *partial_rel, CScanGrouping *grouping)
{
	ListCell   *lc;

	if (!find_grouping(input_rel, partial_rel->reltarget, NIL, grouping))
		return;
	foreach(lc, input_rel->partial_pathlist)
	{
		Path	   *child = find_child(root, lfirst(lc));

		if (child)
			add_partial_path(partial_rel, make_path(root, partial_rel, ((Path *) lfirst(lc))->pathtarget, child, grouping,
													NIL, AGGSPLIT_SIMPLE));
	}
}

/* What keeps all paths of a query from being added, or NULL. */
static const char *
why_none(const PlannerInfo *root, bool is_distinct, const List *clauses)
{
	if (!cscan_vectors_enabled)
		return "cscan.vectors is off";
	if (is_distinct && root->parse->hasDistinctOn)
		return "SELECT DISTINCT ON does not run on vectors";
	if (!is_distinct && root->parse->groupingSets != NIL)
		return "GROUP BY with grouping sets does not run on vectors";
	if (clauses != NIL && !enable_hashagg)
		return "enable_hashagg is off";
	return NULL;
}

static void
create_upper_paths(PlannerInfo *root, UpperRelationKind stage, RelOptInfo *input_rel, RelOptInfo *output_rel, void *extra)
{
	bool		is_distinct = stage == UPPERREL_DISTINCT || stage == UPPERREL_PARTIAL_DISTINCT;
	CScanGrouping grouping;
	const char *why;

	if (prev_create_upper_paths_hook)
		prev_create_upper_paths_hook(root, stage, input_rel, output_rel, extra);
	/* Set operations have no input. */
	if ((stage != UPPERREL_GROUP_AGG && !is_distinct) || !cscan_planning.active ||
		!IS_SIMPLE_REL(input_rel) || IS_DUMMY_REL(input_rel))
		return;
	grouping.clauses = is_distinct ? root->parse->distinctClause : root->parse->groupClause;
	grouping.targets = is_distinct ? root->parse->targetList : ((GroupPathExtraData *) extra)->targetList;
	grouping.pathkeys = is_distinct ? root->distinct_pathkeys : root->group_pathkeys;
	why = why_none(root, is_distinct, grouping.clauses);
	if (why)
	{
		if (stage != UPPERREL_PARTIAL_DISTINCT)
			note_unsupported(root, input_rel, NULL, why);
		return;
	}
	if (stage == UPPERREL_PARTIAL_DISTINCT)
		add_partial_distinct(root, input_rel, output_rel, &grouping);
	else if (stage == UPPERREL_DISTINCT)
		add_whole(root, input_rel, output_rel, NULL, NIL, &grouping);
	else
	{
		add_whole(root, input_rel, output_rel, output_rel->reltarget, (List *) ((GroupPathExtraData *) extra)->havingQual,
				  &grouping);
		add_partial(root, input_rel, output_rel, extra, &grouping);
	}
}

void
cscan_aggregate_paths_init(void)
{
	prev_create_upper_paths_hook = create_upper_paths_hook;
	create_upper_paths_hook = create_upper_paths;
}
