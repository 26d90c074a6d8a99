/*-------------------------------------------------------------------------
 *
 * interest.h
 *		What a scan wants of a space, and of a chunk, block by block.
 *
 * A scan wants a space wholly, or it has ranges there.  Its ranges of all spaces
 * are one list in the order of chunks, so those that touch a chunk are found by
 * bisection.  A scan without a range in a space wants each chunk of its wanted set
 * whole, up to the space's extent.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CSCAN_INTEREST_H
#define CSCAN_INTEREST_H

#include "state.h"

/* A scan wants nothing yet. */
extern void cscan_interest_clear(CScanPool *pool, int scan);

/* It wants these ranges of a space, too; see cscan_pool_announce(). */
extern void cscan_interest_add(CScanPool *pool, int scan, int space, uint32_t nblocks,
							   const CScanRange *ranges, uint32_t nranges);

/* It has told all: put its ranges in order and count what it wants. */
extern void cscan_interest_complete(CScanPool *pool, int scan);

/* Does it have ranges in that space? */
extern bool cscan_interest_has_ranges(const CScanPool *pool, int scan, int space);

/* A space's access has changed: count what may be loaded for the scan. */
extern void cscan_interest_count_loadable(CScanPool *pool, int scan);

#endif							/* CSCAN_INTEREST_H */
