/*-------------------------------------------------------------------------
 *
 * columnar.h
 *		What policy relevance decides over columns: Figure 11 of the paper.
 *
 * In a columnar space (space.h) two scans that want the same chunk may have no
 * column in common.  They *overlap* if they have; columns that every scan wants do
 * not count (cscan_pool_set_columns).  Chunks also differ in what
 * a load costs, since some of a chunk's columns may be there.  So the functions
 * weigh scans that overlap against blocks.
 *
 *		useRelevance	blocks of a scan's columns, over the overlapping scans
 *						that want the chunk
 *		loadRelevance	starved scans that want the chunk and overlap with the
 *						one served, over the blocks to be loaded for them
 *		keepRelevance	almost starved scans that want the chunk, over the
 *						blocks that are there of their columns, or of all if
 *						none of these is
 *
 * All spaces of a scan are columnar, or none is.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CSCAN_COLUMNAR_H
#define CSCAN_COLUMNAR_H

#include "state.h"

/* Are the spaces of a scan columnar? */
static inline bool
cscan_columnar_scan(const CScanPool *pool, int scan)
{
	const CScanScan *s = &pool->scans[scan];

	return s->nspaces > 0 && cscan_space_is_columnar(&pool->spaces[s->first_space]);
}

static inline bool
cscan_columnar_overlap(const CScanPool *pool, int a, int b)
{
	return (pool->scans[a].overlap & pool->scans[b].overlap) != 0;
}

/*
 * The columns that a load of a chunk for that scan brings: its own, and those of
 * the starved scans that want the chunk and overlap with it.
 */
extern uint64_t cscan_columnar_columns(const CScanPool *pool, int scan, uint32_t chunk);

/* The functions as the paper has them, for tests; decisions call none. */
extern double cscan_columnar_use(const CScanPool *pool, int scan, uint32_t chunk);
extern double cscan_columnar_load(const CScanPool *pool, int scan, uint32_t chunk);
extern double cscan_columnar_keep(const CScanPool *pool, uint32_t chunk);

/* Decisions for a scan of columnar spaces; see policy.h. */
extern int	cscan_columnar_choose_available(const CScanPool *pool, int scan);
extern uint32_t cscan_columnar_choose_load(CScanPool *pool, int scan);

/*
 * Leave in a set only the slots of the lowest keepRelevance.  A table's chunk
 * counts as one column.
 */
extern void cscan_columnar_least_valued(CScanPool *pool, uint64_t *slots);

/*
 * Find the slot of which columns go that nobody wants, before any slot does.
 * With "held" only a held one.  Gets the columns: all that are there if nobody
 * wants any of them but those that every scan wants.  CSCAN_NONE if there is no
 * such slot.
 */
extern int	cscan_columnar_unwanted(CScanPool *pool, bool held, uint64_t *columns);

#endif							/* CSCAN_COLUMNAR_H */
