/*-------------------------------------------------------------------------
 *
 * relevance.c
 *		Policy relevance: Figure 3 of the paper.
 *
 *		queryRelevance	which scan to serve: the starved one that needs least;
 *						waiting time raises it
 *		loadRelevance	what to load for it: the chunk most starved scans want
 *		useRelevance	what a scan uses next: the chunk fewest others want
 *		keepRelevance	what stays: the chunks most almost starved scans want
 *
 * A scan's need is counted in blocks, over all of its spaces.
 *
 * Ties: a load takes a chunk that is likely to be in memory already, then the
 * chunk that follows the last load, so that loads stay sequential.  A scan
 * uses the chunk loaded first.  The victim is the chunk handed out longest
 * ago.
 *
 * The functions at the top are the paper's.  The decisions below find their
 * extremes in the counts that are kept (status.c, queue.c).  Policy demand
 * (demand.c) shares them.  Over columns the functions are those of Figure 11
 * (columnar.c).
 *
 *-------------------------------------------------------------------------
 */
#include <math.h>
#include <string.h>

#include "columnar.h"
#include "interest.h"
#include "queue.h"
#include "relevance.h"
#include "slots.h"
#include "status.h"

/*
 * A scan with nothing available has a turn after three loads for each two
 * active scans.  Nothing comes between the loads of a scan of few chunks, so many
 * at most: the turn is after these.
 */
#define TURN_LOADS(scans)	((scans) + (scans) / 2)
#define FEW_LOADS			16

/* The number of interested scans with fewer than "limit" chunks available. */
static int
interested_below(const CScanPool *pool, uint32_t chunk, uint32_t limit)
{
	int			n = 0;

	CSCAN_SET_EACH(i, cscan_space_scans(pool, pool->space_of[chunk]), cscan_scan_words(pool))
	{
		n += cscan_pool_active(pool, i) && cscan_pool_below(pool, i, limit) &&
			cscan_pool_wants(pool, i, chunk);
	}
	return n;
}

/* Qmax: more than the number of scans can be. */
static double
qmax(const CScanPool *pool)
{
	return pool->state->limits.max_scans + 1;
}

double
cscan_relevance_query(const CScanPool *pool, int scan, uint64_t now)
{
	const CScanScan *s = &pool->scans[scan];
	double		waiting = 0;

	if (!cscan_pool_starved(pool, scan))
		return -INFINITY;
	if (s->blocked)
		waiting = (double) now - (double) s->since;
	return -(double) s->needed + waiting * 1000 / (double) cscan_queue_rate(pool, s->policy);
}

double
cscan_relevance_use(const CScanPool *pool, uint32_t chunk)
{
	return qmax(pool) - cscan_pool_interested(pool, chunk);
}

double
cscan_relevance_load(const CScanPool *pool, uint32_t chunk)
{
	return interested_below(pool, chunk, 2) * qmax(pool) + cscan_pool_interested(pool, chunk);
}

double
cscan_relevance_keep(const CScanPool *pool, uint32_t chunk)
{
	return interested_below(pool, chunk, 3) * qmax(pool) + cscan_pool_interested(pool, chunk);
}

uint32_t
cscan_relevance_start(const CScanPool *pool, int scan)
{
	(void) pool;
	(void) scan;
	return 0;
}

/* chooseAvailableChunk: the least interest is the highest useRelevance. */
int
cscan_relevance_choose_available(const CScanPool *pool, int scan)
{
	CScanTally	interested = cscan_status_slots_now(pool, CSCAN_TALLY_INTERESTED);
	uint64_t   *slots = cscan_slot_set(pool, CSCAN_SLOTS_LOWEST);

	if (pool->scans[scan].ready == 0)
		return CSCAN_NONE;
	if (cscan_columnar_scan(pool, scan))
		return cscan_columnar_choose_available(pool, scan);
	memcpy(slots, cscan_scan_slots(pool, scan, CSCAN_HAS_READY),
		   sizeof(uint64_t) * cscan_slot_words(pool));
	cscan_tally_lowest(&interested, slots, cscan_slot_words(pool));
	return cscan_slots_first(pool, slots);
}

/*
 * The scan that waits longest with nothing available, and for which something
 * can be loaded.
 */
int
cscan_relevance_choose_empty(CScanPool *pool, CScanPolicyId self)
{
	uint64_t	since;

	return cscan_queue_first(pool, self, CSCAN_QUEUE_EMPTY, &since);
}

/* Has the scan waited for its turn?  "first" would be served before it. */
static bool
is_overdue(const CScanPool *pool, int scan, int first, uint64_t now)
{
	uint64_t	load = pool->state->pace * cscan_interest_load(pool, scan) / 1000;
	uint64_t	loads = TURN_LOADS((uint64_t) pool->state->nactive);

	if (loads < FEW_LOADS && pool->scans[first].needed <= FEW_LOADS * cscan_interest_load(pool, first))
		loads = FEW_LOADS;
	return now > pool->scans[scan].since + loads * load;
}

/*
 * Has the pool less room than two chunks for each active scan?  Then what is
 * loaded ahead for a scan that reads is gone before it is used.
 */
static bool
is_tight(const CScanPool *pool, int scan)
{
	return pool->state->room / cscan_interest_load(pool, scan) < 2 * (uint32_t) pool->state->nactive;
}

/*
 * The highest queryRelevance.  Multiplied by the rate, that is - needed * rate for
 * a scan that still has a chunk to read.  For a waiting scan it is higher by now -
 * since.  The queues have the highest of each.  In a tight pool scans that read
 * come last as long as one has nothing: its last resort would undo what is loaded
 * for them, again and again.
 */
static int
choose_most_relevant(CScanPool *pool, CScanPolicyId self, int empty, uint64_t now)
{
	uint64_t	waiting_key = 0;
	uint64_t	needed = 0;
	int			waiting = cscan_queue_first(pool, self, CSCAN_QUEUE_BLOCKED, &waiting_key);
	int			reading = cscan_queue_first(pool, self, CSCAN_QUEUE_READING, &needed);
	int64_t		ahead;			/* lead of the waiting scan (us) */

	if (waiting == CSCAN_NONE)
		return reading;
	if (reading == CSCAN_NONE || (empty != CSCAN_NONE && is_tight(pool, empty)))
		return waiting;
	ahead = (int64_t) (now + cscan_queue_worth(pool, self, needed)) - (int64_t) waiting_key;
	if (ahead == 0)
		return waiting < reading ? waiting : reading;
	return ahead > 0 ? waiting : reading;
}

/*
 * chooseQueryToProcess.  A scan that needs much would wait for ever behind an
 * endless series of others that need less.  So one that has nothing available
 * is overdue after TURN_LOADS, or, behind a scan that ends soon, after FEW_LOADS.
 * Scans that are overdue go first, the longest waiting before the others.  So the
 * wait ends at the latest after five loads for each two active scans, or FEW_LOADS
 * and one for each.
 */
int
cscan_relevance_choose_query(CScanPool *pool, CScanPolicyId self, uint64_t now)
{
	int			empty = cscan_relevance_choose_empty(pool, self);
	int			first = choose_most_relevant(pool, self, empty, now);

	return empty != CSCAN_NONE && empty != first && is_overdue(pool, empty, first, now) ? empty : first;
}

/*
 * chooseChunkToLoad.  Chunks are offered in order, from the last load on, so
 * that the first of equals wins.
 */
uint32_t
cscan_relevance_choose_load(CScanPool *pool, int scan)
{
	const CScanScan *s = &pool->scans[scan];
	const uint64_t *wanted = cscan_wanted(pool, scan);
	const uint64_t *has_wanted = cscan_scan_slots(pool, scan, CSCAN_HAS_WANTED);
	const uint64_t *has_available = cscan_scan_slots(pool, scan, CSCAN_HAS_AVAILABLE);
	uint32_t	from = s->cursor;
	uint32_t	here;			/* the word of "from" */
	uint64_t	behind;			/* chunks of that word, from there on */
	CScanTally	interested;
	CScanTally	starved;
	CScanTally	cached = {1, {pool->cached}};
	CScanHighest search;

	if (!cscan_pool_has_absent(pool, scan))
		return CSCAN_NO_CHUNK;
	if (cscan_columnar_scan(pool, scan))
		return cscan_columnar_choose_load(pool, scan);
	if (from / 64 < s->first_word || from / 64 >= s->end_word)
		from = s->first_word * 64;
	here = from / 64;
	behind = UINT64_MAX << (from % 64);
	cscan_status_chunks(pool, &interested, &starved);
	cscan_highest_begin(&search);
	cscan_highest_add(&search, &starved);
	cscan_highest_add(&search, &interested);
	cscan_highest_add(&search, &cached);

	/* Chunks in no slot. */
	cscan_highest_try(&search, here, cscan_absent_word(pool, wanted, here) & behind);
	for (uint32_t w = here + 1; w < s->end_word; w++)
		cscan_highest_try(&search, w, cscan_absent_word(pool, wanted, w));
	for (uint32_t w = s->first_word; w < here; w++)
		cscan_highest_try(&search, w, cscan_absent_word(pool, wanted, w));
	cscan_highest_try(&search, here, cscan_absent_word(pool, wanted, here) & ~behind);

	/* Chunks that are there in part; there are few of these. */
	for (uint32_t w = 0; w < cscan_slot_words(pool); w++)
	{
		for (uint64_t slots = has_wanted[w] & ~has_available[w]; slots != 0; slots &= slots - 1)
		{
			uint32_t	chunk = pool->slots[w * 64 + (uint32_t) __builtin_ctzll(slots)].chunk;

			if (cscan_set_has(pool->loadable, chunk))
				cscan_highest_tie(&search, chunk, from);
		}
	}
	return search.found ? search.number : CSCAN_NO_CHUNK;
}

/* findFreeSlot: not usefulForStarvedQuery(c) */
static void
keep_for_starved(CScanPool *pool, uint64_t *slots)
{
	CScanTally	starved = cscan_status_slots(pool, CSCAN_TALLY_STARVED);

	cscan_tally_remove_counted(&starved, slots, cscan_slot_words(pool));
}

void
cscan_relevance_protect(CScanPool *pool, CScanPolicyId self, uint64_t *slots)
{
	(void) self;
	keep_for_starved(pool, slots);
}

/* ... and not interesting(c, q) */
void
cscan_relevance_exclude(CScanPool *pool, int scan, uint64_t *slots)
{
	const uint64_t *wanted = cscan_scan_slots(pool, scan, CSCAN_HAS_WANTED);

	for (uint32_t w = 0; w < cscan_slot_words(pool); w++)
		slots[w] &= ~wanted[w];
	keep_for_starved(pool, slots);
}

/* keepRelevance */
void
cscan_relevance_least_valued(CScanPool *pool, uint64_t *slots)
{
	CScanTally	almost = cscan_status_slots(pool, CSCAN_TALLY_ALMOST_STARVED);
	CScanTally	interested = cscan_status_slots(pool, CSCAN_TALLY_INTERESTED);
	const uint64_t *columnar = cscan_slot_set(pool, CSCAN_SLOTS_COLUMNAR);
	uint64_t	any = 0;

	for (uint32_t w = 0; w < cscan_slot_words(pool); w++)
		any |= slots[w] & columnar[w];
	if (any != 0)
		cscan_columnar_least_valued(pool, slots);
	else
		cscan_tally_lowest(&almost, slots, cscan_slot_words(pool));
	cscan_tally_lowest(&interested, slots, cscan_slot_words(pool));
}

const CScanPolicy cscan_policy_relevance = {
	.name = "relevance",
	.traits = {.queue = CSCAN_QUEUE_RELEVANCE,.impatience = 1,.overrides = true},
	.start = cscan_relevance_start,
	.choose_available = cscan_relevance_choose_available,
	.choose_query = cscan_relevance_choose_query,
	.choose_empty = cscan_relevance_choose_empty,
	.choose_load = cscan_relevance_choose_load,
	.choose_columns = cscan_columnar_columns,
	.exclude = cscan_relevance_exclude,
	.least_valued = cscan_relevance_least_valued,
	.protect = cscan_relevance_protect,
};
