/*-------------------------------------------------------------------------
 *
 * queue.h
 *		Which starved scan is next?  Heaps of scans, by urgency.
 *
 * A queue holds starved scans of one policy for which there is something to
 * load.  Each policy has one for the scans that wait (blocked), and one for
 * those that still have a chunk to read.  The policy's traits give the order:
 *
 *		SINCE		the longest waiting first: the lowest since
 *		RELEVANCE	the highest queryRelevance (Figure 3) first: - needed +
 *					impatience * waiting / (block time * scans).  All that wait
 *					age alike, so their order stays as time goes by: it is that
 *					of needed * rate + since, where the rate is what a block is
 *					worth in waiting time, block time * scans / impatience
 *
 * In the order of relevance a scan that needs much may wait for very long.  So
 * there is a third queue, of those that wait and have nothing available, by
 * since (see cscan_relevance_choose_query).
 *
 *-------------------------------------------------------------------------
 */
#ifndef CSCAN_QUEUE_H
#define CSCAN_QUEUE_H

#include "state.h"

extern void cscan_queue_init(CScanPool *pool);

/*
 * Return the first scan of a queue: a starved one for which something can be
 * loaded.  CSCAN_NONE if there is none; otherwise *key is its key.
 */
extern int	cscan_queue_first(CScanPool *pool, CScanPolicyId policy, CScanQueueKind kind,
							  uint64_t *key);

/*
 * The waiting time that "needed" blocks are worth to a policy with impatience
 * (us).  The rate is that of one block (ns).
 */
extern uint64_t cscan_queue_worth(const CScanPool *pool, CScanPolicyId policy, uint64_t needed);
extern uint64_t cscan_queue_rate(const CScanPool *pool, CScanPolicyId policy);

/* Set the load time of a block (us), measured or assumed. */
extern void cscan_queue_set_block_time(CScanPool *pool, double block_time);

#endif							/* CSCAN_QUEUE_H */
