/*-------------------------------------------------------------------------
 *
 * bound.h
 *		The least number of loads that any schedule could have done.
 *
 * From a run's log we know of each scan and each chunk that it wanted an
 * interval: from the scan's registration until it got the chunk.  Ask of
 * every other schedule only that each scan gets each chunk within that
 * interval.  How many loads must it do?
 *
 * 1. One chunk, nothing kept.  A load serves the scans in whose intervals it
 *    falls, so the loads must pierce all intervals.  Take the interval that
 *    ends first, then the first to end of those that begin after that end, and
 *    so on: these are disjoint, and as many as any piercing needs.
 *
 * 2. Kept chunks.  A schedule may load a chunk once for two of these disjoint
 *    intervals, but then the chunk is in the pool for all of the gap between
 *    them.  Touching k disjoint intervals with l stays in the pool keeps it
 *    over at least k - l of the gaps.
 *
 * 3. All chunks.  At any time at most C chunks are in the pool.  So the gaps
 *    over which chunks are kept overlap at most C-fold, and if M is the
 *    largest number of gaps that overlap so, then
 *
 *		loads >= (sum of all k) - M
 *
 *    The largest such set of gaps is found by going through them in the order
 *    of their beginnings: where more than C overlap, the one that ends last is
 *    left out.  (It is the rule that evicts what is needed last.)
 *
 * This is a bound for every schedule, one that knows the future among them,
 * and for every order of deliveries.  What it leaves out makes it smaller,
 * never larger: the disk's bandwidth, the room that a load itself needs while
 * C others are kept, and intervals that the choice in step 1 has passed over,
 * whose gaps might have been harder to bridge.
 *
 * A scan that wants only a part of a chunk may be given that part by a load
 * into less than a slot.  Such intervals ("light") count only where nobody has
 * wanted all of the chunk; then for one load, and for no gap.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SIM_BOUND_H
#define SIM_BOUND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct BoundInterval
{
	uint64_t	chunk;			/* any number that tells chunks apart */
	uint64_t	begin;
	uint64_t	end;			/* >= begin; both belong to it */
	bool		light;			/* of a part of the chunk */
} BoundInterval;

/*
 * The bound for a pool of so many chunks.  The intervals are brought into
 * another order.
 */
extern uint64_t bound_loads(BoundInterval *intervals, size_t n, uint32_t capacity);

#endif							/* SIM_BOUND_H */
