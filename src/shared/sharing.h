/*-------------------------------------------------------------------------
 *
 * sharing.h
 *		What the scans of a table share, as far as the planner wants to know.
 *
 *		begin, end		a scan comes or goes; call with the scheduler's lock held
 *		page_cost		what a page of the next scan may be expected to cost, as a
 *						share of what it would cost the scan alone
 *
 *-------------------------------------------------------------------------
 */
#ifndef CSCAN_SHARING_H
#define CSCAN_SHARING_H

#include "shared/shared.h"

/* A page never counts for less. */
#define CSCAN_LEAST_PAGE_COST	0.5

/*
 * The table is what the query names: of partitions, the parent.  Scans of
 * columns have a name of their own, the index or, of partitions, the parent
 * again with "columns" set.  A scan that goes tells how many chunks it has got in all, those in memory not counted,
 * and how many of these were read for it alone.
 */
extern void cscan_sharing_begin(Oid dbid, Oid relid, bool columns);
extern void cscan_sharing_end(Oid dbid, Oid relid, bool columns, uint32 chunks, uint32 read);

/*
 * From CSCAN_LEAST_PAGE_COST to 1, the less of what it is by the relation's own
 * name and by that of its topmost parent, if it has one: queries name one of the
 * two.  Of columns the relation is the index.  Takes no lock.
 */
extern double cscan_sharing_page_cost(Oid relid, Oid parent, bool columns);

extern Size cscan_sharing_size(void);
extern void cscan_sharing_attach(void *memory);
extern void cscan_sharing_init(void);

#endif							/* CSCAN_SHARING_H */
