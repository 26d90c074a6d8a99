/*-------------------------------------------------------------------------
 *
 * relevance.c
 *		Policy relevance: Figure 3 of the paper, written plainly; and demand,
 *		which is the same but for two things.
 *
 *		queryRelevance	whom to serve: the starved scan that needs least,
 *						raised by the time it has been waiting
 *		loadRelevance	what to load for it: what most starved scans want
 *		useRelevance	what a scan uses next: what fewest others want
 *		keepRelevance	what stays: what most almost starved scans want
 *
 * Ties: loads go to the chunk that follows the last one loaded, so that they
 * stay sequential; uses to the chunk loaded first; victims to the chunk that
 * was handed out longest ago.
 *
 * Under demand waiting counts eight times; and of victims of the same value the
 * one goes whose part of the table the fewest of its last scans asked for.
 *
 *-------------------------------------------------------------------------
 */
#include <stddef.h>

#include "policy.h"

/* Interested scans that have fewer than "limit" chunks available. */
static int
interested_below(const CScanPool *pool, int table, uint32_t chunk, uint32_t limit)
{
	int			n = 0;

	for (int i = 0; i < pool->state->max_scans; i++)
	{
		if (pool->scans[i].table == table && !pool->scans[i].stalled &&
			cscan_pool_below(pool, i, limit) && cscan_pool_wants(pool, i, chunk))
			n++;
	}
	return n;
}

/* Qmax: more than the scans that there can be. */
static double
qmax(const CScanPool *pool)
{
	return pool->state->max_scans + 1;
}

/*
 * queryRelevance, - needed + waiting / (load time * running), times what it is
 * divided by: in microseconds.
 */
static int64_t
query_relevance(const CScanPool *pool, int scan, uint64_t now)
{
	const CScanInterest *s = &pool->scans[scan];
	int64_t		chunk = (int64_t) pool->state->pace * cscan_pool_running(pool);

	if (s->policy == CSCAN_POLICY_DEMAND)
		chunk /= 8;
	if (chunk == 0)
		chunk = 1;
	return (s->blocked ? (int64_t) now - (int64_t) s->since : 0) - s->needed * chunk;
}

double
cscan_relevance_use(const CScanPool *pool, int table, uint32_t chunk)
{
	return qmax(pool) - cscan_pool_interested(pool, table, chunk);
}

double
cscan_relevance_load(const CScanPool *pool, int table, uint32_t chunk)
{
	return interested_below(pool, table, chunk, 2) * qmax(pool) +
		cscan_pool_interested(pool, table, chunk);
}

double
cscan_relevance_keep(const CScanPool *pool, int table, uint32_t chunk)
{
	return interested_below(pool, table, chunk, 3) * qmax(pool) +
		cscan_pool_interested(pool, table, chunk);
}

static uint32_t
start(const CScanPool *pool, int scan)
{
	(void) pool;
	(void) scan;
	return 0;
}

/* chooseAvailableChunk */
static int
choose_available(const CScanPool *pool, int scan)
{
	int			best = CSCAN_NONE;
	double		most = 0;

	for (int i = 0; i < pool->state->max_slots; i++)
	{
		const CScanSlot *s = &pool->slots[i];
		double		use;

		if (s->table != pool->scans[scan].table ||
			!cscan_pool_wants(pool, scan, s->chunk) ||
			!cscan_pool_ready_for(pool, i, scan))
			continue;
		use = cscan_relevance_use(pool, s->table, s->chunk);
		if (best == CSCAN_NONE || use > most ||
			(use == most && s->order < pool->slots[best].order))
		{
			best = i;
			most = use;
		}
	}
	return best;
}

/* chooseQueryToProcess */
static int
choose_query_of(const CScanPool *pool, uint64_t now, CScanPolicyId policy)
{
	int			best = CSCAN_NONE;
	int64_t		most = 0;

	for (int i = 0; i < pool->state->max_scans; i++)
	{
		const CScanInterest *s = &pool->scans[i];
		int64_t		relevance;

		if (s->table == CSCAN_NONE || s->policy != policy ||
			!pool->tables[s->table].loadable ||
			!cscan_pool_starved(pool, i) || !cscan_pool_has_absent(pool, i))
			continue;
		relevance = query_relevance(pool, i, now);
		if (best == CSCAN_NONE || relevance > most)
		{
			best = i;
			most = relevance;
		}
	}
	return best;
}

static int
choose_query(const CScanPool *pool, uint64_t now)
{
	return choose_query_of(pool, now, CSCAN_POLICY_RELEVANCE);
}

static int
demand_choose_query(const CScanPool *pool, uint64_t now)
{
	return choose_query_of(pool, now, CSCAN_POLICY_DEMAND);
}

/* chooseChunkToLoad */
static uint32_t
choose_load(CScanPool *pool, int scan)
{
	const CScanInterest *s = &pool->scans[scan];
	uint32_t	from = pool->tables[s->table].cursor;
	uint32_t	first = cscan_pool_next_wanted(pool, scan, from);
	uint32_t	best = CSCAN_NO_CHUNK;
	uint32_t	c = first;
	double		most = 0;

	/* In the order from the last load on, so that the first of equals wins. */
	if (first == CSCAN_NO_CHUNK)
		return CSCAN_NO_CHUNK;
	do
	{
		if (cscan_pool_absent_for(pool, scan, c))
		{
			double		load = cscan_relevance_load(pool, s->table, c);

			if (best == CSCAN_NO_CHUNK || load > most)
			{
				best = c;
				most = load;
			}
		}
		c = cscan_pool_next_wanted(pool, scan, c + 1);
	} while (c != first);
	return best;
}

/* usefulForStarvedQuery */
static bool
protects(const CScanPool *pool, int slot)
{
	const CScanSlot *s = &pool->slots[slot];

	for (int i = 0; i < pool->state->max_scans; i++)
	{
		if (pool->scans[i].table == s->table &&
			(pool->scans[i].policy == CSCAN_POLICY_RELEVANCE ||
			 pool->scans[i].policy == CSCAN_POLICY_DEMAND) &&
			cscan_pool_starved(pool, i) && cscan_pool_wants(pool, i, s->chunk))
			return true;
	}
	return false;
}

/* findFreeSlot: not interesting(c, q) and not usefulForStarvedQuery(c) */
static bool
may_evict(const CScanPool *pool, int slot, int scan)
{
	const CScanSlot *s = &pool->slots[slot];

	if (s->table == pool->scans[scan].table && cscan_pool_wants(pool, scan, s->chunk))
		return false;
	return !protects(pool, slot);
}

static double
keep(const CScanPool *pool, int slot)
{
	return cscan_relevance_keep(pool, pool->slots[slot].table, pool->slots[slot].chunk);
}

const CScanPolicy cscan_policy_relevance = {
	.name = "relevance",
	.start = start,
	.choose_available = choose_available,
	.choose_query = choose_query,
	.choose_load = choose_load,
	.may_evict = may_evict,
	.keep = keep,
	.protects = protects,
	.overrides = true,
};

/* Of the table's last scans those that asked for the part with this chunk. */
static int
demand(const CScanTable *t, uint32_t chunk)
{
	int			n = 0;

	if (t->part_chunks == 0 || chunk / t->part_chunks >= CSCAN_PARTS)
		return 0;
	for (int i = 0; i < CSCAN_LAST_SCANS; i++)
		n += t->asked[i][chunk / t->part_chunks];
	return n;
}

/* It decides among equals only: they differ by 1 where they differ. */
static double
demand_keep(const CScanPool *pool, int slot)
{
	const CScanSlot *s = &pool->slots[slot];

	return keep(pool, slot) + demand(&pool->tables[s->table], s->chunk) / (CSCAN_LAST_SCANS + 1.0);
}

const CScanPolicy cscan_policy_demand = {
	.name = "demand",
	.start = start,
	.choose_available = choose_available,
	.choose_query = demand_choose_query,
	.choose_load = choose_load,
	.may_evict = may_evict,
	.keep = demand_keep,
	.protects = protects,
	.overrides = true,
};
