/*-------------------------------------------------------------------------
 *
 * policy.h
 *		What a policy is: the questions that it answers.
 *
 * A policy is one file with one table of functions.  The pool (pool.h) asks;
 * the policy looks and answers; it changes nothing.  Sets of slots are bitmaps
 * of cscan_slot_words() words.  doc/policies.md shows how to write one.
 *
 * With several policies in one system each proposes a scan to serve.  The
 * longest blocked of these wins, and its policy picks the chunk and the
 * victim; what other policies protect goes last (see cscan_pool_decide).
 *
 *-------------------------------------------------------------------------
 */
#ifndef CSCAN_POLICY_H
#define CSCAN_POLICY_H

#include "pool.h"

/* No chunk. */
#define CSCAN_NO_CHUNK	UINT32_MAX

typedef struct CScanPolicy
{
	const char *name;

	/* A scan has registered: where should it begin? */
	uint32_t	(*start) (const CScanPool *pool, int scan);

	/* Which ready chunk should the scan use next?  A slot, or none. */
	int			(*choose_available) (const CScanPool *pool, int scan);

	/* Which of this policy's scans should be served?  A scan, or none. */
	int			(*choose_query) (CScanPool *pool, uint64_t now);

	/* Which absent chunk should be loaded for it? */
	uint32_t	(*choose_load) (CScanPool *pool, int scan);

	/* Of these slots take out those that may not go for that scan's chunk. */
	void		(*spare) (CScanPool *pool, int scan, uint64_t *slots);

	/* Leave those of the lowest value: of these the least recently used goes. */
	void		(*least_valued) (CScanPool *pool, uint64_t *slots);

	/* Take out those that this policy's scans need. */
	void		(*protect) (CScanPool *pool, uint64_t *slots);

	/* May the last resort of a small pool be used for its scans? */
	bool		overrides;

	/* Is only its next chunk of use to a scan? */
	bool		in_order;

	/*
	 * What waiting is worth in queryRelevance; 0: its scans are not served by
	 * it, nor counted as starved in the tallies of slots.
	 */
	uint32_t	impatience;
} CScanPolicy;

#define CSCAN_POLICY_DECLARATION(id, name) extern const CScanPolicy cscan_policy_##name;
CSCAN_POLICIES(CSCAN_POLICY_DECLARATION)
#undef CSCAN_POLICY_DECLARATION

extern const CScanPolicy *const cscan_policies[CSCAN_NPOLICIES];

/* Relevance's functions, for its tests (Figure 3). */
extern double cscan_relevance_query(const CScanPool *pool, int scan, uint64_t now);
extern double cscan_relevance_use(const CScanPool *pool, int table, uint32_t chunk);
extern double cscan_relevance_load(const CScanPool *pool, int table, uint32_t chunk);
extern double cscan_relevance_keep(const CScanPool *pool, int table, uint32_t chunk);

#endif							/* CSCAN_POLICY_H */
