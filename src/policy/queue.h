/*-------------------------------------------------------------------------
 *
 * queue.h
 *		Which starved scan is the next?  Heaps of scans, by urgency.
 *
 * In a queue are the scans of one policy that are starved and for which there
 * is something to load; those that wait (blocked) in one, the others, which
 * still have a chunk to read, in another.  The policy's traits say the order:
 *
 *		SINCE		the longest waiting first: since
 *		RELEVANCE	the highest queryRelevance (Figure 3) first: - needed +
 *					impatience * waiting / (block time * scans).  All that wait
 *					age alike, so whoever is first stays first as time goes by:
 *					the order is that of needed * rate + since, where the rate
 *					is what a block is worth in waiting time, block time * scans
 *					/ impatience
 *
 *-------------------------------------------------------------------------
 */
#ifndef CSCAN_QUEUE_H
#define CSCAN_QUEUE_H

#include "state.h"

extern void cscan_queue_init(CScanPool *pool);

/*
 * Who is first of the scans of a policy that are starved and for which something
 * can be loaded: those that wait, and those that still have a chunk to read.
 * CSCAN_NONE if there is none; else *key is what it is ordered by.
 */
extern int	cscan_queue_first(CScanPool *pool, CScanPolicyId policy, bool blocked,
							  uint64_t *key);

/*
 * What so many blocks needed are worth in waiting time (us), to a policy with
 * impatience; and one block (ns).
 */
extern uint64_t cscan_queue_worth(const CScanPool *pool, CScanPolicyId policy, uint64_t needed);
extern uint64_t cscan_queue_rate(const CScanPool *pool, CScanPolicyId policy);

/* A block's load takes so long (us); or so we are told. */
extern void cscan_queue_set_block_time(CScanPool *pool, double block_time);

#endif							/* CSCAN_QUEUE_H */
