/*-------------------------------------------------------------------------
 *
 * interest.h
 *		What a scan wants of a space, and of a chunk, block by block.
 *
 * A scan wants all of a space, or it has ranges there.  Its ranges in all
 * spaces are one list in the order of chunks, so bisection finds those that
 * touch a chunk.  A scan without a range in a space wants each chunk of its
 * wanted set whole, up to the space's extent.  In a columnar space it has no
 * ranges, and wants its columns of each chunk of its wanted set.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CSCAN_INTEREST_H
#define CSCAN_INTEREST_H

#include "state.h"

extern void cscan_interest_clear(CScanPool *pool, int scan);

/* Add ranges of a space to its interest; see cscan_pool_announce(). */
extern void cscan_interest_add(CScanPool *pool, int scan, int space, uint32_t nblocks,
							   const CScanRange *ranges, uint32_t nranges);

/* Its interest is complete: sort its ranges and count what it wants. */
extern void cscan_interest_complete(CScanPool *pool, int scan);

/*
 * Blocks (1 or more) of a whole chunk of a scan's first space, of a columnar one
 * as many as it wants.
 */
extern uint32_t cscan_interest_load(const CScanPool *pool, int scan);

extern bool cscan_interest_has_ranges(const CScanPool *pool, int scan, int space);

/* Count anew the chunks that may be loaded: a space's access has changed. */
extern void cscan_interest_count_loadable(CScanPool *pool, int scan);

#endif							/* CSCAN_INTEREST_H */
