/*-------------------------------------------------------------------------
 *
 * demand.c
 *		Policy demand: relevance with two changes, and the history for them.
 *
 *		queryRelevance	waiting counts eight times, so that a scan that has
 *						waited long is served before one that needs little
 *		keepRelevance	among equals the chunk goes that the fewest of the last
 *						scans wanted when they began: the next scan is likely
 *						to want what these did
 *
 * All else is as in relevance (relevance.c).  In the simulator the worst wait
 * gets shorter, and the average latency no longer (doc/policies.md).
 *
 * The history is what the last scans, of any policy, wanted when they started:
 *
 *		word 0			starts so far
 *		sets of chunks	one for each of the last LAST_SCANS starts, and
 *		planes			a tally of these sets
 *		windows			for each set, the words that have its chunks: the
 *						first, and the one behind the last
 *
 * When a table's last scan has gone, its chunk numbers go, and the history of
 * these with them.
 *
 *-------------------------------------------------------------------------
 */
#include <string.h>

#include "columnar.h"
#include "relevance.h"
#include "slots.h"

#define LAST_SCANS	32
#define PLANES		6
#define IMPATIENCE	8

_Static_assert(LAST_SCANS < 1 << PLANES, "too few planes");

static size_t
history_words(const CScanLimits *limits)
{
	return 1 + (size_t) (LAST_SCANS + PLANES) * (limits->max_chunks / 64) + 2 * LAST_SCANS;
}

/* The chunks that one of the last scans wanted. */
static uint64_t *
set_of(const CScanPool *pool, uint64_t *history, uint32_t n)
{
	return history + 1 + (size_t) n * cscan_chunk_words(pool);
}

/* A tally of these sets: how many scans wanted each chunk. */
static CScanTally
tally_of(const CScanPool *pool, uint64_t *history)
{
	CScanTally	tally = {.nplanes = PLANES};

	for (int k = 0; k < PLANES; k++)
		tally.plane[k] = set_of(pool, history, LAST_SCANS + (uint32_t) k);
	return tally;
}

static void
on_space_gone(CScanPool *pool, uint64_t *history, int space)
{
	const CScanSpace *p = &pool->spaces[space];

	for (uint32_t n = 0; n < LAST_SCANS + PLANES; n++)
		cscan_set_remove_range(set_of(pool, history, n), p->first_chunk,
							   p->first_chunk + p->nchunks - 1);
}

static void
on_start(CScanPool *pool, uint64_t *history, int scan)
{
	const CScanScan *s = &pool->scans[scan];
	CScanTally	tally = tally_of(pool, history);
	uint32_t	oldest = (uint32_t) (history[0] % LAST_SCANS);
	uint64_t   *set = set_of(pool, history, oldest);
	uint64_t   *window = set_of(pool, history, LAST_SCANS + PLANES) + 2 * (size_t) oldest;

	if (s->nwanted == 0)
		return;

	/* A history from a damaged trace may hold anything. */
	if (window[0] < window[1] && window[1] <= cscan_chunk_words(pool))
	{
		cscan_tally_subtract(&tally, set, (uint32_t) window[0], (uint32_t) window[1]);
		memset(set + window[0], 0, sizeof(uint64_t) * (window[1] - window[0]));
	}
	window[0] = s->first_word;
	window[1] = s->end_word;
	memcpy(set + s->first_word, cscan_wanted(pool, scan) + s->first_word,
		   sizeof(uint64_t) * (s->end_word - s->first_word));
	cscan_tally_add(&tally, set, s->first_word, s->end_word);
	history[0]++;
}

/* keepRelevance; among equals the chunks that the fewest scans asked for. */
static void
least_valued(CScanPool *pool, uint64_t *slots)
{
	CScanTally	tally = tally_of(pool, pool->history[CSCAN_POLICY_DEMAND]);
	uint32_t	least = UINT32_MAX;

	cscan_relevance_least_valued(pool, slots);
	CSCAN_SET_EACH(i, slots, cscan_slot_words(pool))
	{
		uint32_t	demand = cscan_tally_count(&tally, pool->slots[i].chunk);

		if (demand < least)
			least = demand;
	}
	CSCAN_SET_EACH(i, slots, cscan_slot_words(pool))
	{
		if (cscan_tally_count(&tally, pool->slots[i].chunk) > least)
			cscan_set_remove(slots, (uint32_t) i);
	}
}

const CScanPolicy cscan_policy_demand = {
	.name = "demand",
	.traits = {.queue = CSCAN_QUEUE_RELEVANCE,.impatience = IMPATIENCE,.overrides = true},
	.start = cscan_relevance_start,
	.choose_available = cscan_relevance_choose_available,
	.choose_query = cscan_relevance_choose_query,
	.choose_empty = cscan_relevance_choose_empty,
	.choose_load = cscan_relevance_choose_load,
	.choose_columns = cscan_columnar_columns,
	.exclude = cscan_relevance_exclude,
	.least_valued = least_valued,
	.protect = cscan_relevance_protect,
	.history_words = history_words,
	.on_space_gone = on_space_gone,
	.on_start = on_start,
};
