/*-------------------------------------------------------------------------
 *
 * policy.h
 *		What a policy is: five questions.
 *
 * A policy is one file with one table of functions.  The pool (pool.h) asks;
 * the policy looks and answers; it changes nothing but its own cursors.  The
 * counts of cscan_pool_count() are fresh whenever a question is asked.
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
	int			(*choose_query) (const CScanPool *pool, uint64_t now);

	/* Which absent chunk should be loaded for it? */
	uint32_t	(*choose_load) (CScanPool *pool, int scan);

	/* May this slot go, to make room for that scan's chunk? */
	bool		(*may_evict) (const CScanPool *pool, int slot, int scan);

	/* Of the slots that may go, the one with the lowest value goes. */
	double		(*keep) (const CScanPool *pool, int slot);

	/* Do this policy's scans need that this slot stays? */
	bool		(*protects) (const CScanPool *pool, int slot);

	/* May the last resort of a small pool be used for its scans? */
	bool		overrides;
} CScanPolicy;

extern const CScanPolicy cscan_policy_normal;
extern const CScanPolicy cscan_policy_attach;
extern const CScanPolicy cscan_policy_elevator;
extern const CScanPolicy cscan_policy_relevance;
extern const CScanPolicy cscan_policy_demand;

extern const CScanPolicy *const cscan_policies[CSCAN_NPOLICIES];

/* Relevance's functions, for its tests (Figure 3). */
extern double cscan_relevance_use(const CScanPool *pool, int table, uint32_t chunk);
extern double cscan_relevance_load(const CScanPool *pool, int table, uint32_t chunk);
extern double cscan_relevance_keep(const CScanPool *pool, int table, uint32_t chunk);

#endif							/* CSCAN_POLICY_H */
