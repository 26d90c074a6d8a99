/*-------------------------------------------------------------------------
 *
 * policy.h
 *		What a policy is: the questions that it answers.
 *
 * A policy is one file with one table of functions, and one line in
 * policies.h.  The pool (pool.h) asks, the policy answers.  It changes nothing
 * but its own history.  Sets of slots are bitmaps of cscan_slot_words() words.
 * doc/policies.md shows how to write one.
 *
 * If scans of several policies run, each policy proposes one of its scans.
 * The scan blocked longest wins, and its policy picks the chunk and the
 * victim.  Slots that other policies protect go last (see cscan_pool_decide).
 *
 * A history is an array of words in the pool, at first all 0.  It belongs to
 * one policy, which is told what happens to the scans of all policies.  A
 * trace saves it as it is, so it holds no pointers and no clock.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CSCAN_POLICY_H
#define CSCAN_POLICY_H

#include "pool.h"

typedef struct CScanPolicy
{
	const char *name;
	CScanTraits traits;

	/* A scan of this policy starts: at which chunk? */
	uint32_t	(*start) (const CScanPool *pool, int scan);

	/* Which ready chunk should the scan use next?  A slot, or none. */
	int			(*choose_available) (const CScanPool *pool, int scan);

	/* Which of this policy's scans should be served?  A scan, or none. */
	int			(*choose_query) (CScanPool *pool, CScanPolicyId self, uint64_t now);

	/*
	 * Which of its scans that wait, if that one cannot be served; and if this
	 * one cannot, which of those that have nothing available?  NULL if none may
	 * go before it.
	 */
	int			(*choose_waiting) (CScanPool *pool, CScanPolicyId self);
	int			(*choose_empty) (CScanPool *pool, CScanPolicyId self);

	/* Which absent chunk should be loaded for it? */
	uint32_t	(*choose_load) (CScanPool *pool, int scan);

	/*
	 * Which columns of it, in a columnar space?  NULL: those that active scans
	 * want.
	 */
	uint64_t	(*choose_columns) (const CScanPool *pool, int scan, uint32_t chunk);

	/* Take out of the set the slots that may not go for that scan's chunk. */
	void		(*exclude) (CScanPool *pool, int scan, uint64_t *slots);

	/* Leave only slots of the lowest value; the least recently used goes. */
	void		(*least_valued) (CScanPool *pool, uint64_t *slots);

	/* Take out of the set the slots that this policy's scans need. */
	void		(*protect) (CScanPool *pool, CScanPolicyId self, uint64_t *slots);

	/* Words of its history; NULL if it has none. */
	size_t		(*history_words) (const CScanLimits *limits);

	/* Events to note in the history; each may be NULL. */
	void		(*on_space) (CScanPool *pool, uint64_t *history, int space);	/* space added */
	void		(*on_space_gone) (CScanPool *pool, uint64_t *history, int space);	/* space removed */
	void		(*on_cursor) (CScanPool *pool, uint64_t *history, int space);	/* cursor set */
	void		(*on_start) (CScanPool *pool, uint64_t *history, int scan);	/* a scan of any policy starts */
	void		(*on_load) (CScanPool *pool, uint64_t *history, int scan, uint32_t chunk);	/* a load for it begins */
} CScanPolicy;

#define CSCAN_POLICY_DECLARATION(id, name) extern const CScanPolicy cscan_policy_##name;
CSCAN_POLICIES(CSCAN_POLICY_DECLARATION)
#undef CSCAN_POLICY_DECLARATION

extern const CScanPolicy *const cscan_policies[CSCAN_NPOLICIES];

#endif							/* CSCAN_POLICY_H */
