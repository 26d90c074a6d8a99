/*-------------------------------------------------------------------------
 *
 * planner.h
 *		Which scans become CScans, and why the others do not.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CSCAN_PLANNER_H
#define CSCAN_PLANNER_H

#include "compat.h"

#include "nodes/plannodes.h"

/*
 * Why a sequential scan of this relation would not be a CScan, as a phrase for
 * people; NULL if it would be one.
 */
extern const char *cscan_planner_why_not(Oid relid);

/* Is this plan node a CScan? */
extern bool cscan_planner_is_cscan(const Plan *plan);

/* Call a function for each plan node of a statement, subplans included. */
typedef void (*CScanPlanVisitor) (Plan *plan, void *arg);
extern void cscan_planner_visit(PlannedStmt *stmt, CScanPlanVisitor visitor, void *arg);

#endif							/* CSCAN_PLANNER_H */
