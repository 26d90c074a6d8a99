/*-------------------------------------------------------------------------
 *
 * popular.c
 *		Policy popular, the worked example of doc/policies.md.
 *
 * Whoever waits longest is served, with the chunk that most scans want; a scan
 * uses first what was loaded first, and what fewest scans want goes.  It shares
 * much and is fair in turns, but it lets short scans wait, and nothing keeps the
 * last chunks that a scan needs from being the least popular ones.
 *
 *-------------------------------------------------------------------------
 */
#include "pool_internal.h"

/* Its scans may begin anywhere: the order is that of the loads. */
static uint32_t
start(const CScanPool *pool, int scan)
{
	(void) pool;
	(void) scan;
	return 0;
}

static int
choose_available(const CScanPool *pool, int scan)
{
	if (pool->scans[scan].ready == 0)
		return CSCAN_NONE;
	return cscan_slots_first(pool, cscan_scan_slots(pool, scan, CSCAN_HAS_READY));
}

/*
 * Those that wait go before those that still read: a reader may be the one for
 * whom no room can be made, and the disk would stand still for it.
 */
static int
choose_query(CScanPool *pool, uint64_t now)
{
	int			best = CSCAN_NONE;

	(void) now;
	CSCAN_SET_EACH(i, cscan_scan_set(pool, CSCAN_SCANS_OF_POLICY + CSCAN_POLICY_POPULAR),
				   cscan_scan_words(pool))
	{
		const CScanInterest *s = &pool->scans[i];

		if (pool->tables[s->table].loadable && cscan_pool_starved(pool, i) &&
			cscan_pool_has_absent(pool, i) &&
			(best == CSCAN_NONE ||
			 (s->blocked && !pool->scans[best].blocked) ||
			 (s->blocked == pool->scans[best].blocked && s->since < pool->scans[best].since)))
			best = i;
	}
	return best;
}

static uint32_t
choose_load(CScanPool *pool, int scan)
{
	int			table = pool->scans[scan].table;
	uint32_t	first = cscan_status_first_absent(pool, scan, pool->tables[table].cursor);
	uint32_t	best = first;
	uint32_t	chunk = first;
	int			most = -1;

	/* In the order from the last load on, so that the first of equals wins. */
	while (chunk != CSCAN_NO_CHUNK)
	{
		int			interested = cscan_pool_interested(pool, table, chunk);

		if (interested > most)
		{
			best = chunk;
			most = interested;
		}
		chunk = cscan_status_first_absent(pool, scan, chunk + 1);
		if (chunk == first)
			break;
	}
	return best;
}

/* Nothing that the scan itself can use goes to make room for it. */
static void
spare(CScanPool *pool, int scan, uint64_t *slots)
{
	const uint64_t *ready = cscan_scan_slots(pool, scan, CSCAN_HAS_READY);

	for (uint32_t w = 0; w < cscan_slot_words(pool); w++)
		slots[w] &= ~ready[w];
}

static void
least_valued(CScanPool *pool, uint64_t *slots)
{
	CScanTally	interested = cscan_status_slots(pool, CSCAN_TALLY_INTERESTED);

	cscan_tally_lowest(&interested, slots, cscan_slot_words(pool));
}

/* It claims nothing against other policies. */
static void
protect(CScanPool *pool, uint64_t *slots)
{
	(void) pool;
	(void) slots;
}

const CScanPolicy cscan_policy_popular = {
	.name = "popular",
	.start = start,
	.choose_available = choose_available,
	.choose_query = choose_query,
	.choose_load = choose_load,
	.spare = spare,
	.least_valued = least_valued,
	.protect = protect,
	.overrides = true,
};
