/*-------------------------------------------------------------------------
 *
 * popular.c
 *		Policy popular, the worked example of doc/policies.md.
 *
 * Whoever waits longest is served, with the chunk that most scans have asked for.
 * A scan uses first what was loaded first.  What no scan wants goes before what
 * some scan does, and of these the chunk that the fewest have asked for.
 *
 * Its history is one word for each chunk: how many scans have asked for it when
 * they started, since its space came.  Each load of a chunk forgets half of that,
 * so that what was popular long ago is not so for ever.
 *
 * It shares much and is fair in turns, but it lets short scans wait, and nothing
 * keeps the last chunks that a scan needs from being the least popular ones.
 *
 *-------------------------------------------------------------------------
 */
#include <string.h>

#include "policy.h"
#include "slots.h"
#include "status.h"

/* ------------------------------------------------------------------
 * History
 * ------------------------------------------------------------------ */

static size_t
history_words(const CScanLimits *limits)
{
	return limits->max_chunks;
}

static uint64_t
popularity(const CScanPool *pool, uint32_t chunk)
{
	return pool->history[CSCAN_POLICY_POPULAR][chunk];
}

/* Its numbers may be another space's next. */
static void
on_space_gone(CScanPool *pool, uint64_t *history, int space)
{
	const CScanSpace *p = &pool->spaces[space];

	memset(history + p->first_chunk, 0, sizeof(uint64_t) * p->nchunks);
}

static void
on_start(CScanPool *pool, uint64_t *history, int scan)
{
	CSCAN_SET_EACH(c, cscan_wanted(pool, scan), pool->scans[scan].end_word)
	{
		history[c]++;
	}
}

static void
on_load(CScanPool *pool, uint64_t *history, int scan, uint32_t chunk)
{
	(void) pool;
	(void) scan;
	history[chunk] -= history[chunk] / 2;
}

/* ------------------------------------------------------------------
 * Decisions
 * ------------------------------------------------------------------ */

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
choose_query(CScanPool *pool, CScanPolicyId self, uint64_t now)
{
	int			best = CSCAN_NONE;

	(void) now;
	CSCAN_SET_EACH(i, cscan_scan_set(pool, CSCAN_SCANS_OF_POLICY + (int) self), cscan_scan_words(pool))
	{
		const CScanScan *s = &pool->scans[i];

		if (cscan_pool_starved(pool, i) && cscan_pool_has_absent(pool, i) &&
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
	uint32_t	first = cscan_state_first_absent(pool, scan, pool->scans[scan].cursor, true);
	uint32_t	best = first;
	uint32_t	chunk = first;

	/* In the order from the last load on, so that the first of equals wins. */
	while (chunk != CSCAN_NO_CHUNK)
	{
		if (popularity(pool, chunk) > popularity(pool, best))
			best = chunk;
		chunk = cscan_state_first_absent(pool, scan, chunk + 1, true);
		if (chunk == first)
			break;
	}
	return best;
}

/* Nothing that the scan itself can use goes to make room for it. */
static void
exclude(CScanPool *pool, int scan, uint64_t *slots)
{
	const uint64_t *ready = cscan_scan_slots(pool, scan, CSCAN_HAS_READY);

	for (uint32_t w = 0; w < cscan_slot_words(pool); w++)
		slots[w] &= ~ready[w];
}

static void
least_valued(CScanPool *pool, uint64_t *slots)
{
	CScanTally	interested = cscan_status_slots(pool, CSCAN_TALLY_INTERESTED);
	uint64_t	least = UINT64_MAX;

	cscan_tally_lowest(&interested, slots, cscan_slot_words(pool));
	CSCAN_SET_EACH(i, slots, cscan_slot_words(pool))
	{
		if (popularity(pool, pool->slots[i].chunk) < least)
			least = popularity(pool, pool->slots[i].chunk);
	}
	CSCAN_SET_EACH(i, slots, cscan_slot_words(pool))
	{
		if (popularity(pool, pool->slots[i].chunk) > least)
			cscan_set_remove(slots, (uint32_t) i);
	}
}

/* It claims nothing against other policies. */
static void
protect(CScanPool *pool, CScanPolicyId self, uint64_t *slots)
{
	(void) pool;
	(void) self;
	(void) slots;
}

const CScanPolicy cscan_policy_popular = {
	.name = "popular",
	.traits = {.overrides = true},
	.start = start,
	.choose_available = choose_available,
	.choose_query = choose_query,
	.choose_load = choose_load,
	.exclude = exclude,
	.least_valued = least_valued,
	.protect = protect,
	.history_words = history_words,
	.on_space_gone = on_space_gone,
	.on_start = on_start,
	.on_load = on_load,
};
