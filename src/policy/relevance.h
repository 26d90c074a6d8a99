/*-------------------------------------------------------------------------
 *
 * relevance.h
 *		What other policies may share with policy relevance.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CSCAN_RELEVANCE_H
#define CSCAN_RELEVANCE_H

#include "policy.h"

/* The paper's four functions (Figure 3), for tests; decisions call none. */
extern double cscan_relevance_query(const CScanPool *pool, int scan, uint64_t now);
extern double cscan_relevance_use(const CScanPool *pool, uint32_t chunk);
extern double cscan_relevance_load(const CScanPool *pool, uint32_t chunk);
extern double cscan_relevance_keep(const CScanPool *pool, uint32_t chunk);

/* The decisions: see policy.h. */
extern uint32_t cscan_relevance_start(const CScanPool *pool, int scan);
extern int	cscan_relevance_choose_available(const CScanPool *pool, int scan);
extern int	cscan_relevance_choose_empty(CScanPool *pool, CScanPolicyId self);
extern int	cscan_relevance_choose_query(CScanPool *pool, CScanPolicyId self, uint64_t now);
extern uint32_t cscan_relevance_choose_load(CScanPool *pool, int scan);
extern void cscan_relevance_exclude(CScanPool *pool, int scan, uint64_t *slots);
extern void cscan_relevance_least_valued(CScanPool *pool, uint64_t *slots);
extern void cscan_relevance_protect(CScanPool *pool, CScanPolicyId self, uint64_t *slots);

#endif							/* CSCAN_RELEVANCE_H */
