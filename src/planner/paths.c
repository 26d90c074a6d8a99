/*-------------------------------------------------------------------------
 *
 * paths.c
 *		Makes CScans compete with PostgreSQL's own scans, by cost.
 *
 * A CScan is not a path of its own, unless it reads row groups (columns.c).  It
 * is a path of PostgreSQL's with another price, and rewrite.c rewrites the
 * finished plan:
 *
 *		a scan of the whole table	a SeqScan path; every SeqScan of an eligible
 *									table becomes a CScan
 *		a range of TIDs				a TidRangeScan path, likewise
 *		a bitmap-driven scan		a BitmapHeapScan path over a BitmapAnd of one
 *									input, which PostgreSQL itself never makes.
 *									This is the mark; others stay as they are
 *
 * So all that PostgreSQL knows about these paths holds for CScans: target
 * lists, parallel plans, row security, partitions.
 *
 * PostgreSQL also makes the bitmaps.  Those that it has dropped, because
 * something else was better by its own prices, are made once more.
 *
 * Another extension may have taken paths away, or made them anew under settings
 * of its own (pg_hint_plan).  Then only paths that it has left are priced again.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "access/sysattr.h"
#include "nodes/makefuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/restrictinfo.h"

#include "cscan.h"
#include "planner/planner.h"

static set_rel_pathlist_hook_type prev_set_rel_pathlist_hook;

static void
add_whole(PlannerInfo *root, RelOptInfo *rel)
{
	Cost		discount = cscan_cost_whole_discount(root, rel);
	Path	   *path;

	/* PostgreSQL has made the same paths, if they cost no less. */
	if (discount <= 0)
		return;
	path = create_seqscan_path(root, rel, rel->lateral_relids, 0);
	path->total_cost -= discount;
	add_path(rel, path);
	if (rel->consider_parallel && rel->lateral_relids == NULL)
	{
		int			workers = compute_parallel_worker(rel, rel->pages, -1,
													  max_parallel_workers_per_gather);

		if (workers > 0)
		{
			path = create_seqscan_path(root, rel, NULL, workers);
			path->total_cost -= discount;
			add_partial_path(rel, path);
		}
	}
}

/* The same for sequential scans that another extension has left. */
static void
add_whole_again(PlannerInfo *root, RelOptInfo *rel)
{
	List	   *again = NIL;
	ListCell   *lc;

	foreach(lc, rel->pathlist)
	{
		Path	   *left = lfirst(lc);

		if (left->pathtype == T_SeqScan && left->param_info == NULL)
		{
			Path	   *path = makeNode(Path);

			*path = *left;
			path->total_cost -= cscan_cost_whole_discount(root, rel);
			again = lappend(again, path);
		}
	}
	foreach(lc, again)
		add_path(rel, lfirst(lc));
}

/*
 * Add TID range paths at a CScan's price.  Paths that PostgreSQL has dropped
 * for cheaper ones do not come back.
 */
static void
add_tid_ranges(PlannerInfo *root, RelOptInfo *rel)
{
	List	   *ranges = NIL;
	ListCell   *lc;

	foreach(lc, rel->pathlist)
	{
		if (IsA(lfirst(lc), TidRangePath))
		{
			TidRangePath *path = makeNode(TidRangePath);

			*path = *lfirst_node(TidRangePath, lc);
			path->path.total_cost -= cscan_cost_tid_range_discount(root, rel, path);
			ranges = lappend(ranges, path);
		}
	}
	foreach(lc, ranges)
		add_path(rel, lfirst(lc));
}

/* Can a bitmap be made of this path's index alone? */
static bool
can_be_bitmap(const Path *path)
{
	const IndexPath *index;

	if (!IsA(path, IndexPath) || path->param_info != NULL)
		return false;
	index = (const IndexPath *) path;
	return index->indexclauses != NIL && index->indexorderbys == NIL &&
		index->indexinfo->amhasgetbitmap;
}

static List *
add_bitmap_source(List *sources, Path *path)
{
	if (IsA(path, BitmapHeapPath) && path->param_info == NULL)
		return lappend(sources, ((BitmapHeapPath *) path)->bitmapqual);
	if (can_be_bitmap(path))
		return lappend(sources, path);
	return sources;
}

/* The bitmaps that another extension has left: a list of paths. */
static List *
find_bitmaps_left(RelOptInfo *rel)
{
	List	   *sources = NIL;
	ListCell   *lc;

	foreach(lc, rel->pathlist)
	{
		Path	   *path = lfirst(lc);

		if (IsA(path, BitmapHeapPath) && path->param_info == NULL && !cscan_path_is_disabled(path))
			sources = lappend(sources, ((BitmapHeapPath *) path)->bitmapqual);
	}
	return sources;
}

/*
 * Is there an OR among a table's conditions, or an array (IN)?  An index scan may
 * leave out what its bitmap scan has.
 */
static bool
has_alternatives(const RelOptInfo *rel)
{
	ListCell   *lc;

	foreach(lc, rel->baserestrictinfo)
	{
		const RestrictInfo *rinfo = lfirst_node(RestrictInfo, lc);

		if (restriction_is_or_clause((RestrictInfo *) rinfo) || IsA(rinfo->clause, ScalarArrayOpExpr))
			return true;
	}
	return false;
}

/* May a bitmap for conditions on these columns use an index? */
static bool
may_match(const IndexOptInfo *index, const Bitmapset *columns, bool alternatives)
{
	if (!index->amhasgetbitmap)
		return false;

	/* An arm of an OR may imply a predicate that the conditions do not. */
	if (index->indpred != NIL)
		return index->predOK || alternatives;
	if (index->indexprs != NIL)
		return true;
	for (int i = 0; i < index->nkeycolumns; i++)
	{
		if (bms_is_member(index->indexkeys[i] - FirstLowInvalidHeapAttributeNumber, columns))
			return true;
	}
	return false;
}

/* The indexes that bitmaps for a table's conditions may use. */
static List *
find_indexes(const RelOptInfo *rel, bool alternatives)
{
	Bitmapset  *columns = NULL;
	List	   *indexes = NIL;
	ListCell   *lc;

	foreach(lc, rel->baserestrictinfo)
		pull_varattnos((Node *) lfirst_node(RestrictInfo, lc)->clause, rel->relid, &columns);
	foreach(lc, rel->indexlist)
	{
		if (may_match(lfirst_node(IndexOptInfo, lc), columns, alternatives))
			indexes = lappend(indexes, lfirst(lc));
	}
	bms_free(columns);
	return indexes;
}

/*
 * Has PostgreSQL left its best bitmap?  It makes one bitmap heap path without
 * parameters, for the best bitmap of all.  If one index is all that there is,
 * its index scan has the same conditions, unless some have alternatives.
 */
static bool
has_best_bitmap(const RelOptInfo *rel, List *indexes, bool alternatives)
{
	ListCell   *lc;

	foreach(lc, rel->pathlist)
	{
		const Path *path = lfirst(lc);

		if (IsA(path, BitmapHeapPath) && path->param_info == NULL)
			return true;
		if (!alternatives && list_length(indexes) == 1 && can_be_bitmap(path) &&
			((const IndexPath *) path)->indexinfo == linitial(indexes))
			return true;
	}
	return false;
}

/*
 * Index scans may have beaten some of the bitmaps, so this time they are
 * disabled.  (Functions that estimate a condition would do without them, too,
 * if they plan queries of their own.)
 *
 * Sanitizers make the compiler take variables for clobbered, that of PG_FINALLY
 * included.  So this is a function of its own, and has PG_CATCH.
 */
static pg_noinline void
make_index_paths(PlannerInfo *root, RelOptInfo *rel)
{
	CScanIndexScans index_scans = cscan_disable_index_scans(rel);

	PG_TRY();
	{
		create_index_paths(root, rel);
	}
	PG_CATCH();
	{
		cscan_restore_index_scans(rel, index_scans);
		PG_RE_THROW();
	}
	PG_END_TRY();
	cscan_restore_index_scans(rel, index_scans);
}

/*
 * Make the paths of these indexes once more, for the sake of their bitmaps.
 * All that has nothing to do with bitmaps for the table's own conditions is
 * left out: other indexes, join clauses, sort orders and parallel index scans.
 * It takes most of the time, which counts with a thousand partitions.
 */
static List *
make_again(PlannerInfo *root, RelOptInfo *rel, List *indexes)
{
	RelOptInfo	rel_was = *rel;
	List	   *query_pathkeys = root->query_pathkeys;
	List	   *group_pathkeys = root->group_pathkeys;
	List	   *made;

	rel->pathlist = rel->partial_pathlist = NIL;
	rel->indexlist = indexes;
	rel->joininfo = NIL;
	rel->has_eclass_joins = false;
	rel->consider_parallel = false;
	root->query_pathkeys = root->group_pathkeys = NIL;

	make_index_paths(root, rel);
	made = rel->pathlist;

	rel->pathlist = rel_was.pathlist;
	rel->partial_pathlist = rel_was.partial_pathlist;
	rel->indexlist = rel_was.indexlist;
	rel->joininfo = rel_was.joininfo;
	rel->has_eclass_joins = rel_was.has_eclass_joins;
	rel->consider_parallel = rel_was.consider_parallel;
	root->query_pathkeys = query_pathkeys;
	root->group_pathkeys = group_pathkeys;
	return made;
}

/* Find the bitmaps for a table's conditions: a list of paths. */
static List *
find_bitmaps(PlannerInfo *root, RelOptInfo *rel)
{
	bool		alternatives = has_alternatives(rel);
	List	   *indexes = find_indexes(rel, alternatives);
	List	   *sources = NIL;
	ListCell   *lc;

	foreach(lc, rel->pathlist)
		sources = add_bitmap_source(sources, lfirst(lc));
	if (indexes != NIL && !has_best_bitmap(rel, indexes, alternatives))
	{
		foreach(lc, make_again(root, rel, indexes))
			sources = add_bitmap_source(sources, lfirst(lc));
	}
	return sources;
}

static BitmapHeapPath *
make_bitmap_path(PlannerInfo *root, RelOptInfo *rel, Path *bitmap, int workers)
{
	Path	   *marked = (Path *) create_bitmap_and_path(root, rel, list_make1(bitmap));
	BitmapHeapPath *path = create_bitmap_heap_path(root, rel, marked, NULL, 1.0, workers);

	cscan_cost_bitmap(root, rel, path);
	return path;
}

/* Like cscan_planner_bitmap_must_wait() (planner.h), for a path. */
static bool
bitmap_must_wait(Path *bitmap)
{
	List	   *inputs;
	ListCell   *lc;

	if (IsA(bitmap, IndexPath))
	{
		foreach(lc, ((IndexPath *) bitmap)->indexclauses)
		{
			ListCell   *qual;

			foreach(qual, lfirst_node(IndexClause, lc)->indexquals)
			{
				if (cscan_planner_must_wait((Node *) lfirst_node(RestrictInfo, qual)->clause))
					return true;
			}
		}
		return false;
	}
	inputs = IsA(bitmap, BitmapAndPath) ? ((BitmapAndPath *) bitmap)->bitmapquals :
		((BitmapOrPath *) bitmap)->bitmapquals;
	foreach(lc, inputs)
	{
		if (bitmap_must_wait(lfirst(lc)))
			return true;
	}
	return false;
}

/* Is there a path that costs no more than this, from its beginning on? */
static bool
is_beaten(List *paths, Cost startup, Cost total)
{
	ListCell   *lc;

	foreach(lc, paths)
	{
		const Path *path = lfirst(lc);

		if (path->param_info == NULL && path->startup_cost <= startup &&
			path->total_cost <= total && !cscan_path_is_disabled(path) &&
			(path->parallel_safe || !path->parent->consider_parallel))
			return true;
	}
	return false;
}

/*
 * Add CScans for the bitmaps.  To price one takes as long as to make an index
 * path, so it is not done where even a bound below the price is too much.
 */
static void
add_bitmaps(PlannerInfo *root, RelOptInfo *rel, bool anew)
{
	ListCell   *lc;

	foreach(lc, anew ? find_bitmaps(root, rel) : find_bitmaps_left(rel))
	{
		Path	   *bitmap = lfirst(lc);
		Cost		startup;
		Cost		least = cscan_cost_bitmap_least(root, rel, bitmap, &startup);

		if (!is_beaten(rel->pathlist, startup, least))
			add_path(rel, (Path *) make_bitmap_path(root, rel, bitmap, 0));
		if (anew && rel->consider_parallel && !is_beaten(rel->partial_pathlist, startup, least) &&
			!bitmap_must_wait(bitmap))
		{
			/* Core's number of workers for the pages of this bitmap. */
			double		pages = compute_bitmap_pages(root, rel, bitmap, 1, NULL, NULL);
			int			workers = compute_parallel_worker(rel, pages, -1,
														  max_parallel_workers_per_gather);

			if (workers > 0)
				add_partial_path(rel, (Path *) make_bitmap_path(root, rel, bitmap, workers));
		}
	}
}

/*
 * Does a condition ask for a cursor's current row?  Only a TID scan can find
 * it, and from 18 on PostgreSQL makes no other path.
 */
static bool
wants_current_of(const RelOptInfo *rel)
{
	ListCell   *lc;

	foreach(lc, rel->baserestrictinfo)
	{
		if (IsA(lfirst_node(RestrictInfo, lc)->clause, CurrentOfExpr))
			return true;
	}
	return false;
}

/*
 * Let extensions that were loaded before have their turn.  Returns whether they
 * have taken a path away.  What they make has a memory context of its own, so
 * no new path has the address of an old one.
 *
 * A path that add_path() has dropped for a cheaper one of theirs counts as
 * taken, too.  Then a CScan that is cheaper still is not priced.  An extension
 * that follows a hint may leave the same list, so nothing tells the two apart.
 */
static bool
others_take_paths(PlannerInfo *root, RelOptInfo *rel, Index rti, RangeTblEntry *rte)
{
	List	   *before;
	List	   *gone;
	MemoryContext theirs;
	MemoryContext old;

	if (prev_set_rel_pathlist_hook == NULL)
		return false;
	before = list_copy(rel->pathlist);
	theirs = AllocSetContextCreate(CurrentMemoryContext, "paths of other extensions",
								   ALLOCSET_SMALL_SIZES);
	old = MemoryContextSwitchTo(theirs);
	prev_set_rel_pathlist_hook(root, rel, rti, rte);
	MemoryContextSwitchTo(old);
	if (MemoryContextIsEmpty(theirs))
		MemoryContextDelete(theirs);
	gone = list_difference_ptr(before, rel->pathlist);
	list_free(before);
	return gone != NIL;
}

static void
set_rel_pathlist(PlannerInfo *root, RelOptInfo *rel, Index rti, RangeTblEntry *rte)
{
	bool		anew = !others_take_paths(root, rel, rti, rte);

	/* A hint may turn it off during planning only. */
	if (!cscan_enabled)
		cscan_planning.active = false;

	if (!cscan_planning.active || rte->rtekind != RTE_RELATION || rte->inh ||
		rte->tablesample != NULL || IS_DUMMY_REL(rel) || wants_current_of(rel))
		return;

	if (anew)
		cscan_column_paths_add(root, rel, rte->relid);
	if (!cscan_eligible_decide(root, rel, rte->relid))
		return;

	add_tid_ranges(root, rel);
	if (anew)
		add_whole(root, rel);
	else
		add_whole_again(root, rel);
	if (rel->indexlist != NIL && rel->baserestrictinfo != NIL && rel->lateral_relids == NULL)
		add_bitmaps(root, rel, anew);
}

void
cscan_paths_init(void)
{
	prev_set_rel_pathlist_hook = set_rel_pathlist_hook;
	set_rel_pathlist_hook = set_rel_pathlist;
}
