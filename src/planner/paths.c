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

#include "nodes/makefuncs.h"
#include "optimizer/cost.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"

#include "cscan.h"
#include "planner/planner.h"

static set_rel_pathlist_hook_type prev_set_rel_pathlist_hook;

static void
add_whole(PlannerInfo *root, RelOptInfo *rel)
{
	Path	   *path = create_seqscan_path(root, rel, rel->lateral_relids, 0);

	path->total_cost -= cscan_cost_whole_discount(root, rel);
	add_path(rel, path);
	if (rel->consider_parallel && rel->lateral_relids == NULL)
	{
		int			workers = compute_parallel_worker(rel, rel->pages, -1,
													  max_parallel_workers_per_gather);

		if (workers > 0)
		{
			path = create_seqscan_path(root, rel, NULL, workers);
			path->total_cost -= cscan_cost_whole_discount(root, rel);
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

/* Find the bitmaps for a table's conditions: a list of paths. */
static List *
find_bitmaps(PlannerInfo *root, RelOptInfo *rel)
{
	List	   *paths = rel->pathlist;
	List	   *partial_paths = rel->partial_pathlist;
	List	   *sources = NIL;
	CScanIndexScans saved;
	ListCell   *lc;

	foreach(lc, paths)
		sources = add_bitmap_source(sources, lfirst(lc));

	/*
	 * Index scans may have beaten some of them, so this time they are
	 * disabled.  (Functions that estimate a condition would do without them,
	 * too, if they plan queries of their own.)
	 */
	rel->pathlist = rel->partial_pathlist = NIL;
	saved = cscan_disable_index_scans(rel);
	PG_TRY();
	{
		create_index_paths(root, rel);
	}
	PG_FINALLY();
	{
		cscan_restore_index_scans(rel, saved);
	}
	PG_END_TRY();
	foreach(lc, rel->pathlist)
		sources = add_bitmap_source(sources, lfirst(lc));
	rel->pathlist = paths;
	rel->partial_pathlist = partial_paths;
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

/* Like cscan_planner_bitmap_may_change() (planner.h), for a path. */
static bool
bitmap_may_change(Path *bitmap)
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
				if (cscan_planner_may_change((Node *) lfirst_node(RestrictInfo, qual)->clause))
					return true;
			}
		}
		return false;
	}
	inputs = IsA(bitmap, BitmapAndPath) ? ((BitmapAndPath *) bitmap)->bitmapquals :
		((BitmapOrPath *) bitmap)->bitmapquals;
	foreach(lc, inputs)
	{
		if (bitmap_may_change(lfirst(lc)))
			return true;
	}
	return false;
}

static void
add_bitmaps(PlannerInfo *root, RelOptInfo *rel, bool anew)
{
	ListCell   *lc;

	foreach(lc, anew ? find_bitmaps(root, rel) : find_bitmaps_left(rel))
	{
		Path	   *bitmap = lfirst(lc);

		add_path(rel, (Path *) make_bitmap_path(root, rel, bitmap, 0));
		if (anew && rel->consider_parallel && !bitmap_may_change(bitmap))
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
