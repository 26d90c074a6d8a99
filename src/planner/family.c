/*-------------------------------------------------------------------------
 *
 * family.c
 *		The size of a table's family: of a partitioned table, or of one with
 *		inheritance children, all that a query reads of it.
 *
 *		pages			of a family, while a statement is being planned
 *		forget			another statement is planned
 *		blocks			of a family, of a finished statement
 *		why_not_in		why a table of a finished statement is not eligible
 *
 * A family counts as one table against cscan.min_table_size.
 *
 * Invariant: both sizes count what is known before execution.  Partitions that the
 * planner has pruned are left out, those that the executor will prune are not.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "access/table.h"
#include "parser/parsetree.h"

#include "planner/planner.h"

/* ------------------------------------------------------------------
 * While a statement is being planned
 * ------------------------------------------------------------------ */

/* The family that was asked for last: a query may have thousands of partitions. */
static struct
{
	PlannerInfo *root;
	Index		top;
	double		pages;
}			last_family;

/* The table that a partition or another inheritance child belongs to in the end. */
static Index
top_parent_planned(PlannerInfo *root, Index rti)
{
	while (root->append_rel_array && root->append_rel_array[rti] &&
		   OidIsValid(root->append_rel_array[rti]->parent_reloid))
		rti = root->append_rel_array[rti]->parent_relid;
	return rti;
}

/* Another statement is planned, or the one around it again. */
void
cscan_family_forget(void)
{
	last_family.root = NULL;
}

double
cscan_family_pages(PlannerInfo *root, RelOptInfo *rel)
{
	Index		top = top_parent_planned(root, rel->relid);

	if (top == rel->relid)
		return 0;
	if (last_family.root != root || last_family.top != top)
	{
		last_family.root = root;
		last_family.top = top;
		last_family.pages = 0;
		for (int i = 1; i < root->simple_rel_array_size; i++)
		{
			if (root->simple_rel_array[i] && !root->simple_rte_array[i]->inh &&
				top_parent_planned(root, i) == top)
				last_family.pages += root->simple_rel_array[i]->pages;
		}
	}
	return last_family.pages;
}

/* ------------------------------------------------------------------
 * Of a finished statement
 * ------------------------------------------------------------------ */

/* Size of a partitioned table, or of one with inheritance children */
typedef struct CScanFamily
{
	Index		top;
	double		blocks;
} CScanFamily;

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

double
cscan_family_blocks(CScanFamilies *families, Index rti)
{
	Index		top = top_parent(families, rti);
	CScanFamily *family;
	ListCell   *lc;

	if (top == rti)
		return 0;
	foreach(lc, families->known)
	{
		family = lfirst(lc);
		if (family->top == top)
			return family->blocks;
	}
	family = palloc0(sizeof(CScanFamily));
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
cscan_planner_why_not_in(PlannedStmt *stmt, Index rti)
{
	CScanFamilies families = {0};

	families.stmt = stmt;
	return cscan_planner_why_not(rt_fetch(rti, stmt->rtable)->relid,
								 cscan_family_blocks(&families, rti));
}
