/*-------------------------------------------------------------------------
 *
 * policy.h
 *		What a policy is: the questions that it answers.
 *
 * A policy is one file with one table of functions, and one line in policies.h.
 * The pool (pool.h) asks; the policy looks and answers; it changes nothing but
 * its own history.  Sets of slots are bitmaps of cscan_slot_words() words.
 * doc/policies.md shows how to write one.
 *
 * With several policies in one system each proposes a scan to serve.  The
 * longest blocked of these wins, and its policy picks the chunk and the
 * victim; what other policies protect goes last (see cscan_pool_decide).
 *
 * A history is an array of words in the pool, at first all 0.  It belongs to one
 * policy, which hears of what happens to the scans of all of them.  A trace saves
 * it as it is, so it holds no pointers and no clock.
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

	/* A scan of this policy starts: where should it begin? */
	uint32_t	(*start) (const CScanPool *pool, int scan);

	/* Which ready chunk should the scan use next?  A slot, or none. */
	int			(*choose_available) (const CScanPool *pool, int scan);

	/* Which of this policy's scans should be served?  A scan, or none. */
	int			(*choose_query) (CScanPool *pool, CScanPolicyId self, uint64_t now);

	/* Which absent chunk should be loaded for it? */
	uint32_t	(*choose_load) (CScanPool *pool, int scan);

	/* Exclude slots that may not go for that scan's chunk from the set. */
	void		(*exclude) (CScanPool *pool, int scan, uint64_t *slots);

	/* Keep only those of the lowest value; the least recently used of them goes. */
	void		(*least_valued) (CScanPool *pool, uint64_t *slots);

	/* Take out those that this policy's scans need. */
	void		(*protect) (CScanPool *pool, CScanPolicyId self, uint64_t *slots);

	/* Words of its history; NULL: it has none, and hears of nothing. */
	size_t		(*history_words) (const CScanLimits *limits);

	/* What it may note there; each may be NULL. */
	void		(*on_space) (CScanPool *pool, uint64_t *history, int space);	/* one is added */
	void		(*on_space_gone) (CScanPool *pool, uint64_t *history, int space);	/* its numbers go */
	void		(*on_cursor) (CScanPool *pool, uint64_t *history, int space);	/* its cursor is set */
	void		(*on_start) (CScanPool *pool, uint64_t *history, int scan);	/* any scan starts */
	void		(*on_load) (CScanPool *pool, uint64_t *history, int scan, uint32_t chunk);	/* decided for it */
} CScanPolicy;

#define CSCAN_POLICY_DECLARATION(id, name) extern const CScanPolicy cscan_policy_##name;
CSCAN_POLICIES(CSCAN_POLICY_DECLARATION)
#undef CSCAN_POLICY_DECLARATION

extern const CScanPolicy *const cscan_policies[CSCAN_NPOLICIES];

#endif							/* CSCAN_POLICY_H */
