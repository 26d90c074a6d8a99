/*-------------------------------------------------------------------------
 *
 * family.c
 *		The size of a table's family: of a partitioned table, or of one with
 *		inheritance children, all that a query reads of it.
 *
 *		decide			whether a table is eligible, while a statement is being planned
 *		may_be_cscan	the same of a finished statement
 *		why_not_in		and if not, why
 *
 * A family counts as one table against cscan.min_table_size.
 *
 * The planner has asked for the size of each table.  To ask once more opens all of
 * their files again, which for 1,500 partitions takes as long as the rest of
 * planning.  So what was decided of a member then holds for the finished plan.  Only
 * where a statement reads it as a part of two families, and they differ, it is asked
 * again.
 *
 * Invariant: both sizes count what is known before execution.  Partitions that the
 * planner has pruned are left out, those that the executor will prune are not.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "access/table.h"
#include "common/hashfn.h"
#include "parser/parsetree.h"

#include "planner/planner.h"

/* ------------------------------------------------------------------
 * While a statement is being planned
 * ------------------------------------------------------------------ */

CScanPlanning cscan_planning;

/* Of a table that is a member of a family */
typedef struct CScanDecision
{
	Oid			relid;
	char		status;			/* simplehash's */
	bool		eligible;
	bool		otherwise;		/* in another family of the statement it is not so */
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

/* The table that a partition or another inheritance child belongs to in the end. */
static Index
top_parent_planned(PlannerInfo *root, Index rti)
{
	while (root->append_rel_array && root->append_rel_array[rti] &&
		   OidIsValid(root->append_rel_array[rti]->parent_reloid))
		rti = root->append_rel_array[rti]->parent_relid;
	return rti;
}

/* Pages of all tables of this one's family that the statement reads; 0: it has none. */
static double
family_pages(PlannerInfo *root, Index rti)
{
	Index		top = top_parent_planned(root, rti);

	if (top == rti)
		return 0;
	if (cscan_planning.root != root || cscan_planning.top != top)
	{
		double		pages = 0;

		for (int i = 1; i < root->simple_rel_array_size; i++)
		{
			if (root->simple_rel_array[i] && !root->simple_rte_array[i]->inh &&
				top_parent_planned(root, i) == top)
				pages += root->simple_rel_array[i]->pages;
		}
		cscan_planning.root = root;
		cscan_planning.top = top;
		cscan_planning.pages = pages;
	}
	return cscan_planning.pages;
}

bool
cscan_family_decide(PlannerInfo *root, RelOptInfo *rel, Oid relid)
{
	double		pages = family_pages(root, rel->relid);
	bool		eligible = cscan_planner_why_not(relid, pages) == NULL;
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
 * Of a finished statement
 * ------------------------------------------------------------------ */

/* Size of a partitioned table, or of one with inheritance children */
typedef struct CScanFamilySize
{
	Index		top;
	double		blocks;
} CScanFamilySize;

/* The table that a partition or another inheritance child belongs to in the end. */
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

/* Blocks of all tables of a table's family that the statement reads; 0: it has none. */
static double
family_blocks(CScanFamilies *families, Index rti)
{
	Index		top = top_parent(families, rti);
	CScanFamilySize *family;
	ListCell   *lc;

	if (top == rti)
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

const char *
cscan_planner_why_not_in(CScanFamilies *families, Index rti)
{
	return cscan_planner_why_not(rt_fetch(rti, families->stmt->rtable)->relid,
								 family_blocks(families, rti));
}

bool
cscan_family_may_be_cscan(CScanFamilies *families, Index rti)
{
	Oid			relid = rt_fetch(rti, families->stmt->rtable)->relid;

	if (families->decisions && top_parent(families, rti) != rti)
	{
		const CScanDecision *decision = decisions_lookup(families->decisions, relid);

		if (decision && !decision->otherwise)
			return decision->eligible;
	}
	return cscan_planner_why_not_in(families, rti) == NULL;
}
