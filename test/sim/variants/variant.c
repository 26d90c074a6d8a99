/*-------------------------------------------------------------------------
 *
 * variant.c
 *		Relevance with one thing changed, for the simulator only: what compare.py
 *		measures against relevance as it is (doc/policies.md has the results).
 *
 * It is built in place of relevance.c, under that name.  VARIANT says which:
 *
 *		FAIR			the next scan by deficit counters: each scan that might be
 *						served earns an equal share of each load, and pays for
 *						those that are made for it; who waits goes first
 *		BATCHES			who is served is served four chunks in a row, if they
 *						follow one another
 *		ARRIVAL_LOADS	of equally relevant chunks the one is loaded that most
 *						of the last scans wanted when they began
 *		ARRIVAL_KEEPS	of equally relevant chunks the one goes that the fewest of
 *						them wanted
 *		IMPATIENT		waiting time counts eight times in queryRelevance
 *
 * The last two together are policy demand (src/policy/demand.c).
 *
 * What the last scans wanted demand.c knows.  Plain rather than quick: all the rest
 * is looked at for each decision.
 *
 *-------------------------------------------------------------------------
 */
#define cscan_policy_relevance cscan_policy_paper
#include "../../../src/policy/relevance.c"
#undef cscan_policy_relevance

#define cscan_policy_demand cscan_policy_paper_demand
#include "../../../src/policy/demand.c"
#undef cscan_policy_demand

#include "state.h"

#define FAIR			1
#define BATCHES			2
#define ARRIVAL_LOADS	3
#define ARRIVAL_KEEPS	4
#define IMPATIENT		5

#define MAX_SCANS		1024
#define BATCH			4
#define WAITING_COUNTS	(VARIANT == IMPATIENT ? 8 : 1)

/* Of one pool at a time; a pool that has loaded less than was seen is another one. */
static struct
{
	uint64_t	nloads;
	double		credit[MAX_SCANS];
	int			served;			/* scan, for which loads are made now */
	uint32_t	last_chunk;		/* loaded, and so many in a row */
	int			in_a_row;
} seen;

static void
look_at_pool(const CScanPool *pool)
{
	if (pool->state->nloads < seen.nloads)
		memset(&seen, 0, sizeof(seen));
}

static bool
can_be_served(CScanPool *pool, int scan)
{
	return cscan_pool_starved(pool, scan) && cscan_pool_has_absent(pool, scan);
}

/* Shares of the loads since the last time. */
static void
share_loads(CScanPool *pool)
{
	double		nloads = (double) (pool->state->nloads - seen.nloads);
	int			n = 0;

	seen.nloads = pool->state->nloads;
	CSCAN_SET_EACH(i, cscan_scan_set(pool, CSCAN_SCANS_OF_POLICY + CSCAN_POLICY_RELEVANCE), cscan_scan_words(pool))
	{
		n += can_be_served(pool, i);
	}
	CSCAN_SET_EACH(i, cscan_scan_set(pool, CSCAN_SCANS_OF_POLICY + CSCAN_POLICY_RELEVANCE), cscan_scan_words(pool))
	{
		if (can_be_served(pool, i))
			seen.credit[i] += nloads / n;
	}
	seen.credit[seen.served] -= nloads;
}

static double
value_of(const CScanPool *pool, int scan, uint64_t now)
{
	const CScanScan *s = &pool->scans[scan];
	double		waiting = s->blocked ? (double) now - (double) s->since : 0;

	if (VARIANT == FAIR)
		return seen.credit[scan] + (s->blocked ? 1e9 : 0);
	if (VARIANT == BATCHES && scan == seen.served && seen.in_a_row > 0 && seen.in_a_row < BATCH)
		return 1e9;
	return -(double) s->needed +
		WAITING_COUNTS * waiting * 1000 / (double) cscan_queue_rate(pool, CSCAN_POLICY_RELEVANCE);
}

static uint32_t
start_variant(const CScanPool *pool, int scan)
{
	look_at_pool(pool);
	seen.credit[scan] = 0;
	return cscan_relevance_start(pool, scan);
}

static int
choose_query_variant(CScanPool *pool, CScanPolicyId self, uint64_t now)
{
	int			best = CSCAN_NONE;
	double		most = 0;

	if (VARIANT == ARRIVAL_LOADS || VARIANT == ARRIVAL_KEEPS)
		return cscan_relevance_choose_query(pool, self, now);
	look_at_pool(pool);
	share_loads(pool);
	CSCAN_SET_EACH(i, cscan_scan_set(pool, CSCAN_SCANS_OF_POLICY + CSCAN_POLICY_RELEVANCE), cscan_scan_words(pool))
	{
		double		value;

		if (!can_be_served(pool, i))
			continue;
		value = value_of(pool, i, now);
		if (best == CSCAN_NONE || value > most)
		{
			best = i;
			most = value;
		}
	}
	if (best != CSCAN_NONE && best != seen.served)
	{
		seen.served = best;
		seen.in_a_row = 0;
	}
	return best;
}

static uint32_t
choose_load_variant(CScanPool *pool, int scan)
{
	uint32_t	first = cscan_state_first_absent(pool, scan, pool->scans[scan].cursor, true);
	uint32_t	best = CSCAN_NO_CHUNK;
	uint32_t	c = first;
	double		most = -1;
	CScanTally	tally = tally_of(pool, pool->history[CSCAN_POLICY_DEMAND]);

	if (VARIANT != BATCHES && VARIANT != ARRIVAL_LOADS)
		return cscan_relevance_choose_load(pool, scan);
	/* In the order from the last load on, so that the first of equals wins. */
	while (c != CSCAN_NO_CHUNK)
	{
		double		value = cscan_pool_find(pool, c) == CSCAN_NONE ? cscan_relevance_load(pool, c) : -1;

		if (value >= 0 && VARIANT == ARRIVAL_LOADS)
			value += (double) cscan_tally_count(&tally, c) / (LAST_SCANS + 1);
		else if (value >= 0 && c == seen.last_chunk + 1 && seen.in_a_row > 0 && seen.in_a_row < BATCH)
			value = 1e9;
		if (value > most)
		{
			best = c;
			most = value;
		}
		c = cscan_state_first_absent(pool, scan, c + 1, true);
		if (c == first)
			break;
	}
	if (best == CSCAN_NO_CHUNK)
		return cscan_relevance_choose_load(pool, scan);

	/* It may be asked for the same once more: once to make room, once to load. */
	if (best != seen.last_chunk)
		seen.in_a_row = best == seen.last_chunk + 1 && seen.in_a_row < BATCH ? seen.in_a_row + 1 : 1;
	seen.last_chunk = best;
	return best;
}

const CScanPolicy cscan_policy_relevance = {
	.name = "relevance",
	.traits = {.queue = CSCAN_QUEUE_RELEVANCE,.impatience = 1,.overrides = true},
	.start = start_variant,
	.choose_available = cscan_relevance_choose_available,
	.choose_query = choose_query_variant,
	.choose_load = choose_load_variant,
	.exclude = cscan_relevance_exclude,
	.least_valued = VARIANT == ARRIVAL_KEEPS ? least_valued : cscan_relevance_least_valued,
	.protect = cscan_relevance_protect,
};
