/*-------------------------------------------------------------------------
 *
 * eligible.c
 *		Which tables are scanned cooperatively.
 *
 *		decide			while a statement is being planned
 *		in				in a finished statement
 *		why_not			the reason if a table is not
 *		switched_off	the reason if no table is
 *
 * The reasons are in the order in which a user would want to hear them: what
 * is switched off, what can never be, what is only too small.
 *
 * A family is a partitioned table, or one with inheritance children.  It
 * counts as one table against cscan.min_table_size.  A member whose rows the
 * statement changes or locks counts for itself: if it is small, PostgreSQL's own
 * scan locks its rows in their order, and so do all sessions.
 *
 * The planner has asked for the size of each table.  Asking once more opens
 * all of their files again, which for 1,500 partitions takes as long as the
 * rest of planning.  So the decision on a member holds for the finished plan,
 * too.  It is made anew only if a statement reads the table as a part of two
 * families and the decisions differ.
 *
 * Invariant: a family's size counts what is known before execution.
 * Partitions that the planner has pruned do not count; those that the executor
 * will prune do.
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
#include "common/hashfn.h"
#include "optimizer/prep.h"
#include "parser/parsetree.h"
#include "utils/builtins.h"

#include "cscan.h"
#include "planner/planner.h"

/* What core takes for the size of a small table that was never vacuumed */
#define ASSUMED_PAGES	10

/* What keeps a table from being scanned cooperatively. */
typedef enum CScanObstacle
{
	CSCAN_NO_OBSTACLE,
	CSCAN_SWITCHED_OFF,			/* no table is; see switched_off() */
	CSCAN_NO_TABLE,
	CSCAN_TEMPORARY,
	CSCAN_SYSTEM_CATALOG,
	CSCAN_NOT_HEAP,
	CSCAN_TOO_SMALL
} CScanObstacle;

const char *
cscan_planner_switched_off(void)
{
	if (!cscan_preloaded)
		return "cscan is not loaded by shared_preload_libraries";
	if (!cscan_enabled)
		return "cscan.enabled is off";
	if (cscan_buffer_share == 0)
		return "cscan.buffer_share is 0";
	if (!synchronize_seqscans)
		return "synchronize_seqscans is off: rows are wanted in physical order";
	return NULL;
}

/* A table must have more blocks than this. */
static double
min_table_blocks(void)
{
	return cscan_min_table_size < 0 ? NBuffers / 4 : cscan_min_table_size / (BLCKSZ / 1024.0);
}

static bool
large_enough(Relation rel, double family)
{
	/* Asking for the sizes of a thousand partitions takes long. */
	return cscan_min_table_size == 0 || family > min_table_blocks() ||
		RelationGetNumberOfBlocks(rel) > min_table_blocks();
}

/* Call with the table locked; its family has so many blocks. */
static CScanObstacle
obstacle_of(Relation rel, double family)
{
	if (rel->rd_rel->relkind != RELKIND_RELATION && rel->rd_rel->relkind != RELKIND_MATVIEW)
		return CSCAN_NO_TABLE;
	if (rel->rd_rel->relpersistence == RELPERSISTENCE_TEMP)
		return CSCAN_TEMPORARY;
	if (IsCatalogRelation(rel) || RelationGetRelid(rel) < FirstNormalObjectId)
		return CSCAN_SYSTEM_CATALOG;
	if (rel->rd_rel->relam != HEAP_TABLE_AM_OID)
		return CSCAN_NOT_HEAP;
	return large_enough(rel, family) ? CSCAN_NO_OBSTACLE : CSCAN_TOO_SMALL;
}

static CScanObstacle
obstacle(Oid relid, double family)
{
	CScanObstacle result;
	Relation	rel;

	if (cscan_planner_switched_off())
		return CSCAN_SWITCHED_OFF;
	rel = table_open(relid, NoLock);
	result = obstacle_of(rel, family);
	table_close(rel, NoLock);
	return result;
}

static char *
pretty_size(double blocks)
{
	return TextDatumGetCString(DirectFunctionCall1(pg_size_pretty, Int64GetDatum((int64) (blocks * BLCKSZ))));
}

static const char *
too_small(Oid relid, double family)
{
	Relation	rel = table_open(relid, NoLock);
	char	   *size = pretty_size(RelationGetNumberOfBlocks(rel));
	const char *least = pretty_size(min_table_blocks());
	const char *origin = cscan_min_table_size < 0 ? ", a quarter of shared_buffers" : "";

	table_close(rel, NoLock);
	if (family > 0)
		return psprintf("it has %s and its family %s, not more than cscan.min_table_size (%s%s)",
						size, pretty_size(family), least, origin);
	return psprintf("it has %s, not more than cscan.min_table_size (%s%s)", size, least, origin);
}

/* ------------------------------------------------------------------
 * While a statement is being planned
 * ------------------------------------------------------------------ */

CScanPlanning cscan_planning;

/* The decision on a member of a family. */
typedef struct CScanDecision
{
	Oid			relid;
	char		status;			/* simplehash's */
	bool		eligible;
	bool		otherwise;		/* families of the statement differ on it */
} CScanDecision;

#define SH_PREFIX		decisions
#define SH_ELEMENT_TYPE	CScanDecision
#define SH_KEY_TYPE		Oid
#define SH_KEY			relid
#define SH_HASH_KEY(tb, key)	murmurhash32(key)
#define SH_EQUAL(tb, a, b)		((a) == (b))
#define SH_SCOPE		static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

Index
cscan_eligible_top_parent(PlannerInfo *root, Index rti)
{
	while (root->append_rel_array && root->append_rel_array[rti] &&
		   OidIsValid(root->append_rel_array[rti]->parent_reloid))
		rti = root->append_rel_array[rti]->parent_relid;
	return rti;
}

Index
cscan_eligible_append(PlannerInfo *root, Index rti)
{
	while (root->append_rel_array && root->append_rel_array[rti])
		rti = root->append_rel_array[rti]->parent_relid;
	return rti;
}

/*
 * Blocks of a member, as the planner has found them.  Core takes a small table
 * that was never vacuumed for one of 10 pages (estimate_rel_size()).  Only a table
 * of just that size is asked again.
 */
static double
member_pages(const RelOptInfo *rel, const RangeTblEntry *rte)
{
	Relation	member;
	BlockNumber blocks;

	if (!RELKIND_HAS_STORAGE(rte->relkind))
		return 0;
	if (rel->pages != ASSUMED_PAGES)
		return rel->pages;
	member = table_open(rte->relid, NoLock);
	blocks = RelationGetNumberOfBlocks(member);
	table_close(member, NoLock);
	return blocks;
}

static bool
is_locked_mark(const PlanRowMark *mark)
{
	return mark != NULL && RowMarkRequiresRowShareLock(mark->markType);
}

/* Pages of the table's family that the statement reads; 0: it counts for itself. */
static double
family_pages(PlannerInfo *root, Index rti)
{
	Index		top = cscan_eligible_top_parent(root, rti);

	if (top == rti || bms_is_member(rti, root->all_result_relids) || is_locked_mark(get_plan_rowmark(root->rowMarks, rti)))
		return 0;
	if (cscan_planning.root != root || cscan_planning.top != top)
	{
		double		pages = 0;

		for (int i = 1; i < root->simple_rel_array_size; i++)
		{
			if (root->simple_rel_array[i] && !root->simple_rte_array[i]->inh &&
				cscan_eligible_top_parent(root, i) == top)
				pages += member_pages(root->simple_rel_array[i], root->simple_rte_array[i]);
		}
		cscan_planning.root = root;
		cscan_planning.top = top;
		cscan_planning.pages = pages;
	}
	return cscan_planning.pages;
}

bool
cscan_eligible_decide(PlannerInfo *root, RelOptInfo *rel, Oid relid)
{
	double		pages = family_pages(root, rel->relid);
	bool		eligible = obstacle(relid, pages) == CSCAN_NO_OBSTACLE;
	CScanDecision *decision;
	bool		found;

	if (pages == 0)
		return eligible;
	if (cscan_planning.decisions == NULL)
		cscan_planning.decisions = decisions_create(cscan_planning.context, 64, NULL);
	decision = decisions_insert(cscan_planning.decisions, relid, &found);
	if (!found)
	{
		decision->eligible = eligible;
		decision->otherwise = false;
	}
	decision->otherwise |= (decision->eligible != eligible);
	return eligible;
}

/* ------------------------------------------------------------------
 * In a finished statement
 * ------------------------------------------------------------------ */

/* Size of a partitioned table, or of one with inheritance children */
typedef struct CScanFamilySize
{
	Index		top;
	double		blocks;
} CScanFamilySize;

/* The topmost parent of a partition or another inheritance child. */
static Index
top_parent(CScanFamilies *families, Index rti)
{
	if (families->parents == NULL)
	{
		ListCell   *lc;

		families->parents = palloc0(sizeof(Index) * (list_length(families->stmt->rtable) + 1));
		foreach(lc, families->stmt->appendRelations)
		{
			AppendRelInfo *info = lfirst_node(AppendRelInfo, lc);

			if (OidIsValid(info->parent_reloid))
				families->parents[info->child_relid] = info->parent_relid;
		}
	}
	while (families->parents[rti] != 0)
		rti = families->parents[rti];
	return rti;
}

/* Does the statement change or lock the table's rows? */
static bool
locks_rows_of(const PlannedStmt *stmt, Index rti)
{
	return cscan_is_result_relation(stmt, rti) || is_locked_mark(get_plan_rowmark(stmt->rowMarks, rti));
}

/* Blocks of the table's family that the statement reads; 0: it counts for itself. */
static double
family_blocks(CScanFamilies *families, Index rti)
{
	Index		top = top_parent(families, rti);
	CScanFamilySize *family;
	ListCell   *lc;

	if (top == rti || locks_rows_of(families->stmt, rti))
		return 0;
	foreach(lc, families->known)
	{
		family = lfirst(lc);
		if (family->top == top)
			return family->blocks;
	}
	family = palloc0(sizeof(CScanFamilySize));
	family->top = top;
	foreach(lc, families->stmt->appendRelations)
	{
		AppendRelInfo *info = lfirst_node(AppendRelInfo, lc);
		RangeTblEntry *rte = rt_fetch(info->child_relid, families->stmt->rtable);

		if (rte->rtekind == RTE_RELATION && !rte->inh && RELKIND_HAS_STORAGE(rte->relkind) &&
			top_parent(families, info->child_relid) == top)
		{
			Relation	rel = table_open(rte->relid, NoLock);

			family->blocks += RelationGetNumberOfBlocks(rel);
			table_close(rel, NoLock);
		}
	}
	families->known = lappend(families->known, family);
	return family->blocks;
}

static CScanObstacle
obstacle_in(CScanFamilies *families, Index rti)
{
	return obstacle(rt_fetch(rti, families->stmt->rtable)->relid, family_blocks(families, rti));
}

const char *
cscan_planner_why_not(CScanFamilies *families, Index rti)
{
	switch (obstacle_in(families, rti))
	{
		case CSCAN_NO_OBSTACLE:
			return NULL;
		case CSCAN_SWITCHED_OFF:
			return cscan_planner_switched_off();
		case CSCAN_NO_TABLE:
			return "it is neither a table nor a materialized view";
		case CSCAN_TEMPORARY:
			return "it is a temporary table";
		case CSCAN_SYSTEM_CATALOG:
			return "it is a system catalog";
		case CSCAN_NOT_HEAP:
			return "its access method is not heap";
		case CSCAN_TOO_SMALL:
			return too_small(rt_fetch(rti, families->stmt->rtable)->relid, family_blocks(families, rti));
	}
	return NULL;
}

bool
cscan_eligible_in(CScanFamilies *families, Index rti)
{
	Oid			relid = rt_fetch(rti, families->stmt->rtable)->relid;

	if (families->decisions && top_parent(families, rti) != rti && !locks_rows_of(families->stmt, rti))
	{
		const CScanDecision *decision = decisions_lookup(families->decisions, relid);

		if (decision && !decision->otherwise)
			return decision->eligible;
	}
	return obstacle_in(families, rti) == CSCAN_NO_OBSTACLE;
}
