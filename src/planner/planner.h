/*-------------------------------------------------------------------------
 *
 * planner.h
 *		Which scans become CScans, and why the others do not.
 *
 *		rewrite.c		the planner hook; turns a plan's scans into CScans
 *		aggregate.c		makes CScan Aggregates compete with other aggregation
 *		paths.c			makes CScans compete with other scans, by cost
 *		columns.c		the same for scans over row groups
 *		convert.c		a scan's plan node as a CScan's
 *		cost.c			what a CScan is estimated to cost
 *		visit.c			looks at the nodes of a plan
 *		eligible.c		which tables are scanned cooperatively
 *
 * Calls go downwards only.  The functions for other directories are named
 * cscan_planner_*.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CSCAN_PLANNER_H
#define CSCAN_PLANNER_H

#include "compat.h"

#include "nodes/pathnodes.h"
#include "nodes/plannodes.h"

/*
 * The statement that is being planned.  Planning another one meanwhile puts it
 * aside.
 */
typedef struct CScanPlanning
{
	bool		active;			/* its scans may become CScans */
	bool		cursor;			/* it is a cursor's: its rows may be fetched
								 * backward, or changed by WHERE CURRENT OF */
	MemoryContext context;		/* lives until the plan is finished */

	/* eligible.c: decisions on members of families; NULL: none yet */
	struct decisions_hash *decisions;

	/* eligible.c: the last family asked for; NULL: none */
	PlannerInfo *root;
	Index		top;
	double		pages;
} CScanPlanning;

extern CScanPlanning cscan_planning;

/* aggregate.c */
extern void cscan_aggregate_paths_init(void);

/*
 * What keeps the rows of a table from being aggregated on vectors: an expression,
 * or a part of the query.  While cscan_unsupported is set, planning adds to that
 * list.  A table whose scan is a part of a join has none.
 */
typedef struct CScanUnsupported
{
	Oid			relid;
	const char *why;
} CScanUnsupported;

extern List **cscan_unsupported;

/* paths.c */
extern void cscan_paths_init(void);

/* columns.c */
extern void cscan_column_paths_add(PlannerInfo *root, RelOptInfo *rel, Oid relid);
extern bool cscan_is_column_path(const Path *path);

/* The index of such a path. */
extern Oid	cscan_column_path_index(const Path *path);

/* Are its rows priced as found on vectors? */
extern bool cscan_column_path_has_vectors(const Path *path);

/*
 * What is left of a row's CPU cost on vectors of column runs: of a row that is
 * aggregated, that is dropped by a scan, and that is handed out.  And what a byte
 * of a string costs that has to be decompressed, of cpu_operator_cost.  doc/cost.md
 * has what was measured.
 */
#define CSCAN_RUNS_SHARE		0.1
#define CSCAN_RUNS_DROP_SHARE	0.12
#define CSCAN_RUNS_ROW_SHARE	0.6
#define CSCAN_RUNS_BYTE_SHARE	0.08

/*
 * convert.c: a CScan in the place of a SeqScan, a TidRangeScan, or a marked
 * BitmapHeapScan.
 */
extern Plan *cscan_convert_scan(Plan *plan, bool first_rows);

/* cost.c */
extern double cscan_cost_page(PlannerInfo *root, RelOptInfo *rel, Oid index);
extern Cost cscan_cost_whole_discount(PlannerInfo *root, RelOptInfo *rel);
extern Cost cscan_cost_tid_range_discount(PlannerInfo *root, RelOptInfo *rel,
										  TidRangePath *path);
extern Cost cscan_cost_bitmap_least(PlannerInfo *root, RelOptInfo *rel, Path *bitmap, Cost *startup);
extern void cscan_cost_bitmap(PlannerInfo *root, RelOptInfo *rel, BitmapHeapPath *path);

/* visit.c: call a function for each plan node, subplans included. */
typedef void (*CScanPlanVisitor) (Plan *plan, void *arg);
extern void cscan_planner_visit(PlannedStmt *stmt, CScanPlanVisitor visitor, void *arg);

/*
 * Call a function for each child of a plan node.  The function may put another
 * node in the child's place.
 */
typedef void (*CScanChildVisitor) (Plan **child, void *arg);
extern void cscan_visit_children(Plan *plan, CScanChildVisitor visitor, void *arg);

/* Is this plan node a CScan? */
extern bool cscan_planner_is_cscan(const Plan *plan);

/*
 * The table by whose name the query reads the CScan's family.  InvalidOid if
 * it has no family or is no CScan.
 */
extern Oid	cscan_planner_family(const Plan *plan);

/* Is it a CScan Aggregate? */
extern bool cscan_planner_is_aggregate(const Plan *plan);

/* Is it a bitmap heap scan at a CScan's price? */
extern bool cscan_planner_is_marked(const Plan *plan);

/*
 * Must index conditions, or those of a bitmap's indexes, wait until a pass of
 * the scan is asked for a row?  They must if they may differ from one pass to
 * the next, or raise an error.  The leader makes a parallel CScan's bitmap when
 * the Gather above it begins a pass.  The scan has not been told of new
 * parameters then, and may never be asked for a row.  Nothing may depend on
 * that moment, so such a parallel scan stays PostgreSQL's own.
 */
extern bool cscan_planner_must_wait(Node *quals);
extern bool cscan_planner_bitmap_must_wait(Plan *plan);

/* eligible.c: why there are no CScans at all, as a phrase; or NULL. */
extern const char *cscan_planner_switched_off(void);

/*
 * The topmost parent of a partition or another inheritance child.  May scans of
 * this table become CScans in the statement being planned?  The size of a
 * member's family counts.  The decision on a member is kept.
 */
extern Index cscan_eligible_top_parent(PlannerInfo *root, Index rti);
extern bool cscan_eligible_decide(PlannerInfo *root, RelOptInfo *rel, Oid relid);

/* The topmost parent if the arms of a UNION ALL count as children, too. */
extern Index cscan_eligible_append(PlannerInfo *root, Index rti);

/* Families of a finished statement.  Begin with all but the first two zero. */
typedef struct CScanFamilies
{
	PlannedStmt *stmt;
	struct decisions_hash *decisions;	/* of its planning, if known */
	Index	   *parents;		/* by range table entry; 0: none */
	List	   *known;			/* CScanFamilySize of those asked for before */
} CScanFamilies;

/* The same for a table of a finished statement. */
extern bool cscan_eligible_in(CScanFamilies *families, Index rti);

/*
 * Why scans of this table would not be CScans, as a phrase for people; NULL if
 * they would be.  For partitions and other inheritance children the size of
 * all those that the query reads counts.
 */
extern const char *cscan_planner_why_not(CScanFamilies *families, Index rti);

#endif							/* CSCAN_PLANNER_H */
