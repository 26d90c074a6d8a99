/*-------------------------------------------------------------------------
 *
 * cost.c
 *		What a CScan is estimated to cost; doc/cost.md explains the model.
 *
 * A page within a long run costs cscan.page_cost times seq_page_cost.  Alone a
 * scan pays what PostgreSQL's pays, and less if other scans are likely to read
 * the same (shared/sharing.c).  The beginning of each run costs a seek,
 * random_page_cost.  Each chunk costs a hand-over between the ABM and the scan.
 * So pages that are strewn over the table cost more than in PostgreSQL's own
 * scans, which keep them.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include <math.h>

#include "access/amapi.h"
#include "catalog/pg_am_d.h"
#include "nodes/tidbitmap.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"
#include "utils/spccache.h"

#include "cscan.h"
#include "exec/pages.h"
#include "planner/planner.h"
#include "shared/sharing.h"

/* A chunk's hand-over, in units of cpu_tuple_cost. */
#define HAND_OVER		200

/* What a bitmap asks for, as estimated. */
typedef struct CScanExtent
{
	double		tuples;			/* that the bitmap lists */
	double		pages;			/* that hold them */
	double		read;			/* pages that are read for these, with gaps */
	double		runs;			/* of pages that follow one another */
	Cost		recheck;		/* of the index conditions, per tuple */
	bool		lossy;			/* the bitmap lists only pages */
} CScanExtent;

/*
 * Pages that hold so many tuples placed at random (Mackert and Lohman's
 * formula, as for bitmap heap scans).
 */
static double
random_pages(double tuples, double table_pages)
{
	return Min(table_pages,
			   ceil(2.0 * table_pages * tuples / (2.0 * table_pages + tuples)));
}

static void
extent_of_index(PlannerInfo *root, RelOptInfo *rel, IndexPath *path, CScanExtent *extent)
{
	double		table_pages = Max(rel->pages, 1);
	double		least = Max(1.0, ceil(path->indexselectivity * table_pages));
	Cost		ignored_startup;
	Cost		ignored_total;
	Selectivity ignored_selectivity;
	double		ignored_pages;
	double		correlation;
	double		most;
	double		ordered;
	double		long_gaps;
	List	   *quals = NIL;
	QualCost	qual_cost;
	ListCell   *lc;

	foreach(lc, path->indexclauses)
		quals = lappend(quals, lfirst_node(IndexClause, lc)->rinfo);
	cost_qual_eval(&qual_cost, quals, root);
	extent->recheck = qual_cost.per_tuple;
	extent->tuples = Max(1.0, path->indexselectivity * rel->tuples);

	/* A BRIN index knows ranges of pages; its selectivity is their share. */
	extent->lossy = (path->indexinfo->relam == BRIN_AM_OID);
	if (extent->lossy)
	{
		extent->pages = extent->read = least;
		extent->runs = 1;
		return;
	}

	path->indexinfo->amcostestimate(root, path, 1.0, &ignored_startup, &ignored_total,
									&ignored_selectivity, &correlation, &ignored_pages);
	ordered = correlation * correlation;
	most = Max(least, random_pages(extent->tuples, table_pages));

	/* The share of random gaps that are too long to be read through */
	long_gaps = pow(1.0 - Min(1.0, most / table_pages), CSCAN_GAP_TO_READ);
	extent->pages = ordered * least + (1.0 - ordered) * most;
	extent->read = ordered * least + (1.0 - ordered) * (long_gaps * most + (1.0 - long_gaps) * table_pages);
	extent->runs = ordered + (1.0 - ordered) * Max(1.0, long_gaps * most);
}

static void
find_extent(PlannerInfo *root, RelOptInfo *rel, Path *path, CScanExtent *extent)
{
	bool		is_and = IsA(path, BitmapAndPath);
	List	   *inputs;
	ListCell   *lc;

	if (IsA(path, IndexPath))
	{
		extent_of_index(root, rel, (IndexPath *) path, extent);
		return;
	}

	inputs = is_and ? ((BitmapAndPath *) path)->bitmapquals : ((BitmapOrPath *) path)->bitmapquals;
	memset(extent, 0, sizeof(*extent));
	foreach(lc, inputs)
	{
		CScanExtent input;

		find_extent(root, rel, lfirst(lc), &input);
		extent->recheck += input.recheck;
		extent->lossy |= input.lossy;
		if (!is_and)
		{
			extent->pages += input.pages;
			extent->read += input.read;
			extent->runs += input.runs;
		}
		else if (extent->read == 0 || input.read < extent->read)
		{
			/* At most the most selective input. */
			extent->pages = input.pages;
			extent->read = input.read;
			extent->runs = input.runs;
		}
	}
	extent->tuples = Max(1.0, rel->tuples *
						 (is_and ? ((BitmapAndPath *) path)->bitmapselectivity :
						  ((BitmapOrPath *) path)->bitmapselectivity));
	extent->pages = Min(extent->pages, rel->pages);
	extent->read = Min(extent->read, rel->pages);
}

/*
 * A scan has at most CSCAN_MAX_RANGES ranges.  Of more runs, the smallest gaps
 * between them are read through, here a share q of them.  If gap lengths are
 * exponentially distributed, these have a share q + (1 - q) ln (1 - q) of the
 * blocks of all gaps.
 */
static void
join_runs(RelOptInfo *rel, CScanExtent *extent)
{
	double		q;

	if (extent->runs <= CSCAN_MAX_RANGES)
		return;
	q = 1.0 - CSCAN_MAX_RANGES / extent->runs;
	extent->read += Max(0.0, rel->pages - extent->read) * (q + (1.0 - q) * log(1.0 - q));
	extent->runs = CSCAN_MAX_RANGES;
}

static double
chunk_blocks(void)
{
	return Max(1.0, cscan_chunk_size / (BLCKSZ / 1024.0));
}

/*
 * What a page in a long run costs a CScan, as a share of seq_page_cost.  Scans
 * go by the name of the table, or of the index whose columns they read, if that
 * is valid; those of partitions by their own or, as a family, by their parent's.
 */
double
cscan_cost_page(PlannerInfo *root, RelOptInfo *rel, Oid index)
{
	Index		top = cscan_eligible_top_parent(root, rel->relid);
	bool		columns = OidIsValid(index);

	if (cscan_page_cost != CSCAN_AUTO)
		return cscan_page_cost;
	return cscan_sharing_page_cost(columns ? index : planner_rt_fetch(rel->relid, root)->relid,
								   top != rel->relid ? planner_rt_fetch(top, root)->relid : InvalidOid, columns);
}

/* Do nodes above lock rows in the order in which they come (rewrite.c)? */
static bool
locks_rows(const PlannerInfo *root)
{
	for (; root != NULL; root = root->parent_root)
	{
		const Query *parse = root->parse;

		if (parse->rowMarks != NIL || parse->onConflict != NULL ||
			(parse->commandType != CMD_SELECT && parse->commandType != CMD_INSERT))
			return true;
	}
	return false;
}

/*
 * May only the first rows be wanted?  What sorts or aggregates all the same
 * reads all of its input.
 */
static bool
wants_first_rows(const PlannerInfo *root)
{
	const Query *parse = root->parse;

	return root->tuple_fraction > 0 && parse->sortClause == NIL && parse->groupClause == NIL &&
		parse->distinctClause == NIL && !parse->hasAggs;
}

/* Does a table's parent have another child that the statement reads? */
static bool
has_sibling(PlannerInfo *root, Index rti)
{
	Index		top = cscan_eligible_append(root, rti);
	Index		n = root->simple_rel_array_size;

	if (top == rti)
		return false;

	/* Siblings are neighbours, mostly. */
	for (Index i = rti + 1 < n ? rti + 1 : 1; i != rti; i = i + 1 < n ? i + 1 : 1)
	{
		if (root->simple_rel_array[i] && root->simple_rte_array[i]->rtekind == RTE_RELATION &&
			!root->simple_rte_array[i]->inh && !IS_DUMMY_REL(root->simple_rel_array[i]) &&
			cscan_eligible_append(root, i) == top)
			return true;
	}
	return false;
}

/*
 * Will a scan of the whole table announce itself?  It does if it has more than
 * a chunk, or if it is a member of a family that is not too small for it.  Of
 * that the planner knows what the query says, not which paths will win.  Where
 * these might put something between the Append and its children, it is taken
 * for alone.
 */
static bool
will_announce(PlannerInfo *root, RelOptInfo *rel)
{
	if (rel->pages > chunk_blocks())
		return true;
	if (rel->pages <= CSCAN_SMALL_MEMBER || locks_rows(root) || wants_first_rows(root))
		return false;
	if (rel->consider_partitionwise_join && bms_membership(root->all_baserels) == BMS_MULTIPLE)
		return false;
	if (enable_partitionwise_aggregate && (root->parse->hasAggs || root->parse->groupClause != NIL))
		return false;
	return has_sibling(root, rel->relid);
}

/*
 * How much less a scan of the whole table costs than in core's estimate, which
 * takes seq_page_cost for each page.  It has no discount if it reads for itself
 * alone.
 */
Cost
cscan_cost_whole_discount(PlannerInfo *root, RelOptInfo *rel)
{
	double		seq_cost;

	if (!will_announce(root, rel))
		return 0;
	get_tablespace_page_costs(rel->reltablespace, NULL, &seq_cost);
	return rel->pages * seq_cost * (1.0 - cscan_cost_page(root, rel, InvalidOid));
}

/*
 * The same for a range of TIDs, without its first page.  A range of at most
 * one chunk has no discount: the scan reads it itself.
 */
Cost
cscan_cost_tid_range_discount(PlannerInfo *root, RelOptInfo *rel, TidRangePath *path)
{
	Selectivity selectivity = clauselist_selectivity(root, path->tidrangequals, rel->relid,
													 JOIN_INNER, NULL);
	double		pages = ceil(selectivity * rel->pages);
	double		seq_cost;

	if (pages <= chunk_blocks())
		return 0;
	get_tablespace_page_costs(rel->reltablespace, NULL, &seq_cost);
	return (pages - 1) * seq_cost * (1.0 - cscan_cost_page(root, rel, InvalidOid));
}

/*
 * A bound below the costs of a bitmap-driven CScan, without a look at where the
 * pages are.  It holds for each number of workers.
 */
Cost
cscan_cost_bitmap_least(PlannerInfo *root, RelOptInfo *rel, Path *bitmap, Cost *startup)
{
	Selectivity selectivity;
	double		random_cost;
	double		seq_cost;
	double		page_cost;

	cost_bitmap_tree_node(bitmap, startup, &selectivity);
	get_tablespace_page_costs(rel->reltablespace, &random_cost, &seq_cost);
	page_cost = seq_cost * Min(1.0, cscan_cost_page(root, rel, InvalidOid));
	return *startup + Max(1.0, selectivity * rel->pages) * page_cost +
		Max(0.0, random_cost - page_cost) + HAND_OVER * cpu_tuple_cost;
}

/*
 * Set the costs of a bitmap-driven CScan.  Core has made its path with the
 * right rows, number of workers and disabled state.
 */
void
cscan_cost_bitmap(PlannerInfo *root, RelOptInfo *rel, BitmapHeapPath *path)
{
	CScanExtent extent;
	Cost		index_cost;
	Selectivity ignored;
	Cost		io;
	Cost		cpu;
	double		random_cost;
	double		seq_cost;
	double		page_cost;
	double		per_page = rel->tuples / Max(rel->pages, 1);
	double		exact;
	double		visited;
	double		divisor = 1.0;

	find_extent(root, rel, path->bitmapqual, &extent);
	join_runs(rel, &extent);
	cost_bitmap_tree_node(path->bitmapqual, &index_cost, &ignored);

	get_tablespace_page_costs(rel->reltablespace, &random_cost, &seq_cost);
	page_cost = seq_cost;

	/* At most one chunk: the scan reads it itself, block by block. */
	if (extent.read > chunk_blocks())
		page_cost *= cscan_cost_page(root, rel, InvalidOid);
	io = extent.read * page_cost + extent.runs * Max(0.0, random_cost - page_cost) +
		Min(extent.read, ceil(extent.read / chunk_blocks()) + extent.runs) *
		HAND_OVER * cpu_tuple_cost;

	/* Pages beyond what work_mem has room for are read as a whole. */
	exact = 1.0;
	if (extent.lossy)
		exact = 0.0;
	else if (extent.pages > tbm_calculate_entries(work_mem * (Size) 1024))
		exact = Min(1.0, tbm_calculate_entries(work_mem * (Size) 1024) / 2.0 / extent.pages);
	visited = exact * extent.tuples + (1.0 - exact) * extent.pages * per_page;
	visited = Max(1.0, Min(visited, rel->tuples));

	/* The index conditions of listed tuples are not checked again. */
	cpu = visited * (cpu_tuple_cost + rel->baserestrictcost.per_tuple);
	cpu -= Min(visited, exact * extent.tuples) *
		Min(extent.recheck, rel->baserestrictcost.per_tuple);
	if (path->path.parallel_workers > 0)
	{
		divisor = path->path.parallel_workers;
		if (parallel_leader_participation)
			divisor += Max(0.0, 1.0 - 0.3 * path->path.parallel_workers);
	}

	path->path.startup_cost = index_cost + rel->baserestrictcost.startup +
		path->path.pathtarget->cost.startup + cscan_disabled_cost(enable_bitmapscan);
	path->path.total_cost = path->path.startup_cost + io + cpu / divisor +
		path->path.pathtarget->cost.per_tuple * path->path.rows;
}
