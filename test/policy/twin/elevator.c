/*-------------------------------------------------------------------------
 *
 * elevator.c
 *		Policy elevator: one cursor for each table sweeps what its scans want
 *		(Section 3 of the paper).
 *
 * Chunks are loaded strictly in the order of the sweep, and a chunk stays
 * until every elevator scan that wants it has used it; a full pool of wanted
 * chunks makes the cursor wait for the slowest scan.
 *
 *-------------------------------------------------------------------------
 */
#include <stddef.h>

#include "policy.h"

/* Will an elevator scan use it, as it is? */
static bool
wanted_by_elevator(const CScanPool *pool, int slot)
{
	const CScanSlot *s = &pool->slots[slot];

	for (int i = 0; i < pool->state->max_scans; i++)
	{
		if (pool->scans[i].table == s->table &&
			pool->scans[i].policy == CSCAN_POLICY_ELEVATOR &&
			cscan_pool_active(pool, i) && cscan_pool_wants(pool, i, s->chunk) &&
			cscan_pool_ready_for(pool, slot, i))
			return true;
	}
	return false;
}

static uint32_t
start(const CScanPool *pool, int scan)
{
	(void) pool;
	(void) scan;
	return 0;
}

/* In the order of the sweep, which is the order of the loads. */
static int
choose_available(const CScanPool *pool, int scan)
{
	int			best = CSCAN_NONE;

	for (int i = 0; i < pool->state->max_slots; i++)
	{
		const CScanSlot *s = &pool->slots[i];

		if (s->table == pool->scans[scan].table &&
			cscan_pool_wants(pool, scan, s->chunk) &&
			cscan_pool_ready_for(pool, i, scan) &&
			(best == CSCAN_NONE || s->order < pool->slots[best].order))
			best = i;
	}
	return best;
}

/* Any starved scan moves its table's cursor; the longest waiting first. */
static int
choose_query(const CScanPool *pool, uint64_t now)
{
	int			best = CSCAN_NONE;

	(void) now;
	for (int i = 0; i < pool->state->max_scans; i++)
	{
		const CScanInterest *s = &pool->scans[i];

		if (s->table == CSCAN_NONE || s->policy != CSCAN_POLICY_ELEVATOR ||
			!pool->tables[s->table].loadable ||
			!cscan_pool_starved(pool, i) || !cscan_pool_has_absent(pool, i))
			continue;
		if (best == CSCAN_NONE ||
			(s->blocked && !pool->scans[best].blocked) ||
			(s->blocked == pool->scans[best].blocked && s->since < pool->scans[best].since))
			best = i;
	}
	return best;
}

static uint32_t
choose_load(CScanPool *pool, int scan)
{
	int			table = pool->scans[scan].table;
	uint32_t	cursor = pool->tables[table].elevator;
	uint32_t	best = CSCAN_NO_CHUNK;
	uint32_t	nearest = 0;

	/* The next chunk of the sweep that some elevator scan finds absent. */
	for (int i = 0; i < pool->state->max_scans; i++)
	{
		const CScanInterest *s = &pool->scans[i];
		uint32_t	first;
		uint32_t	chunk;

		if (s->table != table || s->policy != CSCAN_POLICY_ELEVATOR ||
			!cscan_pool_active(pool, i))
			continue;
		first = chunk = cscan_pool_next_wanted(pool, i, cursor);
		if (chunk == CSCAN_NO_CHUNK)
			continue;
		while (!cscan_pool_absent_for(pool, i, chunk))
		{
			chunk = cscan_pool_next_wanted(pool, i, chunk + 1);
			if (chunk == first)
			{
				chunk = CSCAN_NO_CHUNK;
				break;
			}
		}
		if (chunk != CSCAN_NO_CHUNK)
		{
			uint32_t	distance = chunk >= cursor ? chunk - cursor : chunk + CSCAN_MAX_CHUNKS;

			if (best == CSCAN_NO_CHUNK || distance < nearest)
			{
				best = chunk;
				nearest = distance;
			}
		}
	}
	return best;
}

static bool
may_evict(const CScanPool *pool, int slot, int scan)
{
	(void) scan;
	return !wanted_by_elevator(pool, slot);
}

/* What the fewest scans of other policies want, then the oldest. */
static double
keep(const CScanPool *pool, int slot)
{
	return cscan_pool_interested(pool, pool->slots[slot].table, pool->slots[slot].chunk);
}

static bool
protects(const CScanPool *pool, int slot)
{
	return wanted_by_elevator(pool, slot);
}

const CScanPolicy cscan_policy_elevator = {
	.name = "elevator",
	.start = start,
	.choose_available = choose_available,
	.choose_query = choose_query,
	.choose_load = choose_load,
	.may_evict = may_evict,
	.keep = keep,
	.protects = protects,
	.overrides = false,
};
