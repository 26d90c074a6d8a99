/*-------------------------------------------------------------------------
 *
 * columnar.c
 *		See columnar.h.
 *
 * A decision goes through the words of the sets of chunks.  For each word it
 * adds up, bit by bit as in a tally (sets.h), how many scans want each chunk.
 * Scans that want the same columns form a *class*: which classes want a chunk
 * says what is to be loaded of it.  Mostly a word's chunks are wanted by the
 * same classes, and are weighed together.
 *
 *-------------------------------------------------------------------------
 */
#include <math.h>
#include <string.h>

#include "columnar.h"
#include "interest.h"
#include "slots.h"
#include "status.h"

/* A value over a cost, both counts; the cost is at least 1. */
typedef struct Ratio
{
	uint64_t	value;
	uint64_t	cost;
} Ratio;

static int
compare(Ratio a, Ratio b)
{
	uint64_t	x = a.value * b.cost;
	uint64_t	y = b.value * a.cost;

	return (x > y) - (x < y);
}

static bool
is_starved(const CScanPool *pool, int scan)
{
	return cscan_pool_active(pool, scan) && cscan_pool_below(pool, scan, 2);
}

/* Does loadRelevance count that scan in a load for "scan"? */
static bool
counts(const CScanPool *pool, int scan, int other)
{
	return other == scan || (is_starved(pool, other) && cscan_columnar_overlap(pool, scan, other));
}

/* The columns of a slot that a load leaves as they are. */
static uint64_t
kept_columns(const CScanPool *pool, int slot)
{
	return slot != CSCAN_NONE && pool->slots[slot].held ? pool->slots[slot].loaded.word[0] : 0;
}

uint64_t
cscan_columnar_columns(const CScanPool *pool, int scan, uint32_t chunk)
{
	const CScanSpace *space = cscan_pool_space_of(pool, chunk);
	uint64_t	columns = 0;

	CSCAN_SET_EACH(i, cscan_space_scans(pool, pool->space_of[chunk]), cscan_scan_words(pool))
	{
		if (cscan_pool_wants(pool, i, chunk) && counts(pool, scan, i))
			columns |= cscan_columns(pool, i, space);
	}
	return columns;
}

double
cscan_columnar_use(const CScanPool *pool, int scan, uint32_t chunk)
{
	double		blocks = cscan_pool_cost_for(pool, scan, chunk);
	int			n = 0;

	CSCAN_SET_EACH(i, cscan_space_scans(pool, pool->space_of[chunk]), cscan_scan_words(pool))
	{
		n += cscan_pool_active(pool, i) && cscan_pool_wants(pool, i, chunk) && cscan_columnar_overlap(pool, scan, i);
	}
	return blocks / n;
}

double
cscan_columnar_load(const CScanPool *pool, int scan, uint32_t chunk)
{
	const CScanSpace *space = cscan_pool_space_of(pool, chunk);
	uint64_t	columns = cscan_columnar_columns(pool, scan, chunk) & ~kept_columns(pool, pool->slot_of[chunk]);
	int			n = 0;

	CSCAN_SET_EACH(i, cscan_space_scans(pool, pool->space_of[chunk]), cscan_scan_words(pool))
	{
		n += cscan_pool_wants(pool, i, chunk) && counts(pool, scan, i);
	}
	return (double) n / cscan_layout_cost(&space->columns, columns);
}

/* Almost starved scans that want a slot's chunk, over the blocks that are there for them. */
static Ratio
keep_relevance(const CScanPool *pool, int slot)
{
	const CScanSlot *s = &pool->slots[slot];
	const CScanSpace *space = &pool->spaces[s->space];
	uint64_t	columns = 0;
	Ratio		keep = {0, s->nblocks};

	CSCAN_SET_EACH(i, cscan_space_scans(pool, s->space), cscan_scan_words(pool))
	{
		if (!cscan_pool_active(pool, i) || !cscan_pool_below(pool, i, 3) || !cscan_pool_wants(pool, i, s->chunk))
			continue;
		keep.value++;
		columns |= cscan_columns(pool, i, space);
	}
	if (cscan_space_is_columnar(space) && (columns & s->loaded.word[0]) != 0)
		keep.cost = cscan_layout_cost(&space->columns, columns & s->loaded.word[0]);
	return keep;
}

double
cscan_columnar_keep(const CScanPool *pool, uint32_t chunk)
{
	Ratio		keep = keep_relevance(pool, pool->slot_of[chunk]);

	return (double) keep.value / (double) keep.cost;
}

/* ------------------------------------------------------------------
 * Counts of the chunks, or slots, of one word: a tally (sets.h) by value, as a
 * decision adds to it for each scan and each word
 * ------------------------------------------------------------------ */

typedef struct WordTally
{
	int			nplanes;
	uint64_t	plane[CSCAN_MAX_PLANES];
} WordTally;

static void
tally_add(WordTally *tally, uint64_t numbers)
{
	for (int k = 0; numbers != 0 && k < tally->nplanes; k++)
	{
		uint64_t	both = tally->plane[k] & numbers;

		tally->plane[k] ^= numbers;
		numbers = both;
	}
}

static uint64_t
tally_count(const WordTally *tally, int bit)
{
	uint64_t	count = 0;

	for (int k = 0; k < tally->nplanes; k++)
		count |= (tally->plane[k] >> bit & 1) << k;
	return count;
}

/* The highest count of these numbers; leaves those that have it. */
static uint64_t
tally_highest(const WordTally *tally, uint64_t *numbers)
{
	uint64_t	count = 0;

	for (int k = tally->nplanes; k-- > 0;)
	{
		uint64_t	those = *numbers & tally->plane[k];

		if (those == 0)
			continue;
		*numbers = those;
		count |= UINT64_C(1) << k;
	}
	return count;
}

/* ------------------------------------------------------------------
 * chooseAvailableChunk
 * ------------------------------------------------------------------ */

/* The highest useRelevance; of equals the chunk loaded first. */
int
cscan_columnar_choose_available(const CScanPool *pool, int scan)
{
	const uint64_t *has_ready = cscan_scan_slots(pool, scan, CSCAN_HAS_READY);
	uint64_t   *sharers = cscan_scan_set(pool, CSCAN_SCANS_COUNTED);
	Ratio		best = {0, 1};
	int			slot = CSCAN_NONE;

	if (pool->scans[scan].ready == 0)
		return CSCAN_NONE;
	memset(sharers, 0, sizeof(uint64_t) * cscan_scan_words(pool));
	for (int p = 0; p < CSCAN_NPOLICIES; p++)
	{
		CSCAN_SET_EACH(i, cscan_scan_set(pool, CSCAN_SCANS_OF_POLICY + p), cscan_scan_words(pool))
		{
			if (cscan_pool_active(pool, i) && cscan_columnar_overlap(pool, scan, i))
				cscan_set_add(sharers, (uint32_t) i);
		}
	}
	for (uint32_t w = 0; w < cscan_slot_words(pool); w++)
	{
		WordTally	interested = {.nplanes = cscan_tally_planes((uint32_t) pool->state->nscans)};

		if (has_ready[w] == 0)
			continue;
		CSCAN_SET_EACH(i, sharers, cscan_scan_words(pool))
		{
			tally_add(&interested, cscan_scan_slots(pool, i, CSCAN_HAS_WANTED)[w] & has_ready[w]);
		}
		for (uint64_t slots = has_ready[w]; slots != 0; slots &= slots - 1)
		{
			int			bit = __builtin_ctzll(slots);
			const CScanSlot *s = &pool->slots[w * 64 + (uint32_t) bit];
			const CScanSpace *space = &pool->spaces[s->space];
			Ratio		use = {cscan_layout_cost(&space->columns, cscan_columns(pool, scan, space)),
			tally_count(&interested, bit)};
			int			order = slot == CSCAN_NONE ? 1 : compare(use, best);

			if (order > 0 || (order == 0 && s->order < pool->slots[slot].order))
			{
				best = use;
				slot = (int) (w * 64) + bit;
			}
		}
	}
	return slot;
}

/* ------------------------------------------------------------------
 * chooseChunkToLoad
 * ------------------------------------------------------------------ */

typedef struct Search
{
	CScanPool  *pool;
	int			scan;
	uint32_t	from;			/* of equals the first from there on wins */
	uint32_t	chunk;			/* the best so far */
	Ratio		best;			/* its loadRelevance */
	bool		cached;			/* it is likely to be in memory */
} Search;

static uint32_t
distance(const Search *search, uint32_t chunk)
{
	return chunk >= search->from ? chunk - search->from : chunk + search->pool->state->limits.max_chunks;
}

static void
offer(Search *search, uint32_t chunk, Ratio load)
{
	bool		cached = cscan_set_has(search->pool->cached, chunk);
	int			order = search->chunk == CSCAN_NO_CHUNK ? 1 : compare(load, search->best);

	if (order == 0)
		order = cached - search->cached;
	if (order < 0 || (order == 0 && distance(search, chunk) > distance(search, search->chunk)))
		return;
	search->chunk = chunk;
	search->best = load;
	search->cached = cached;
}

/* Can a chunk that so many scans want, at this cost at least, still win? */
static bool
may_win(const Search *search, uint64_t nscans, uint64_t cost)
{
	return search->chunk == CSCAN_NO_CHUNK || compare((Ratio) {nscans, cost}, search->best) >= 0;
}

/* Form the classes of the scans that count; returns how many there are. */
static uint32_t
form_classes(CScanPool *pool, int scan)
{
	uint64_t   *counted = cscan_scan_set(pool, CSCAN_SCANS_COUNTED);
	uint32_t	n = 0;

	memset(counted, 0, sizeof(uint64_t) * cscan_scan_words(pool));
	for (int p = 0; p < CSCAN_NPOLICIES; p++)
	{
		CSCAN_SET_EACH(i, cscan_scan_set(pool, CSCAN_SCANS_OF_POLICY + p), cscan_scan_words(pool))
		{
			uint32_t	c = 0;

			if (!counts(pool, scan, i))
				continue;
			cscan_set_add(counted, (uint32_t) i);
			while (c < n && pool->classes[c].columns != pool->scans[i].columns)
				c++;
			if (c == n)
				pool->classes[n++].columns = pool->scans[i].columns;
			pool->scans[i].alike = c;
		}
	}
	return n;
}

/* The classes that want a chunk of the word: their columns, and the other chunks that the same ones want. */
static uint64_t
columns_of(const CScanPool *pool, uint32_t nclasses, int bit, uint64_t *same)
{
	uint64_t	columns = 0;

	for (uint32_t c = 0; c < nclasses; c++)
	{
		uint64_t	wanted = pool->classes[c].wanted;

		if (wanted >> bit & 1)
		{
			columns |= pool->classes[c].columns;
			*same &= wanted;
		}
		else
			*same &= ~wanted;
	}
	return columns;
}

/* Offer these chunks of a word. */
static void
offer_word(Search *search, uint32_t nclasses, uint32_t w, uint64_t chunks)
{
	CScanPool  *pool = search->pool;
	WordTally	starved = {.nplanes = cscan_tally_planes((uint32_t) pool->state->nscans)};
	uint64_t	absent = chunks & ~pool->resident[w];
	const CScanSpace *space = NULL;

	for (uint32_t c = 0; c < nclasses; c++)
		pool->classes[c].wanted = 0;
	CSCAN_SET_EACH(i, cscan_scan_set(pool, CSCAN_SCANS_COUNTED), cscan_scan_words(pool))
	{
		const CScanScan *s = &pool->scans[i];
		uint64_t	wanted;

		if (w < s->first_word || w >= s->end_word)
			continue;
		wanted = cscan_wanted(pool, i)[w] & chunks;
		pool->classes[s->alike].wanted |= wanted;
		tally_add(&starved, wanted);
	}

	/* Chunks in no slot. */
	while (absent != 0)
	{
		int			bit = __builtin_ctzll(absent);
		uint64_t	same = absent;
		uint64_t	best;
		uint64_t	columns = columns_of(pool, nclasses, bit, &same);
		Ratio		load;

		space = cscan_pool_space_of(pool, w * 64 + (uint32_t) bit);
		if (space->first_chunk + space->nchunks < w * 64 + 64)
			same &= ~(UINT64_MAX << ((space->first_chunk + space->nchunks) % 64));
		absent &= ~same;
		best = same;
		load.value = tally_highest(&starved, &best);
		load.cost = cscan_layout_cost(&space->columns, columns & cscan_layout_all(&space->columns));
		if (best & pool->cached[w])
			best &= pool->cached[w];
		offer(search, w * 64 + (uint32_t) __builtin_ctzll(best), load);
	}

	/* Chunks that are there in part. */
	for (uint64_t there = chunks & pool->resident[w]; there != 0; there &= there - 1)
	{
		int			bit = __builtin_ctzll(there);
		uint32_t	chunk = w * 64 + (uint32_t) bit;
		int			slot = pool->slot_of[chunk];
		uint64_t	kept = kept_columns(pool, slot);
		uint64_t	nscans = tally_count(&starved, bit);
		uint64_t	same = 0;

		if (pool->slots[slot].in_flight ||
			cscan_set_has(cscan_scan_slots(pool, search->scan, CSCAN_HAS_AVAILABLE), (uint32_t) slot))
			continue;
		space = &pool->spaces[pool->slots[slot].space];
		if (!may_win(search, nscans,
					 cscan_layout_cost(&space->columns, cscan_columns(pool, search->scan, space) & ~kept)))
			continue;
		offer(search, chunk, (Ratio) {nscans,
				cscan_layout_cost(&space->columns, columns_of(pool, nclasses, bit, &same) &
								  cscan_layout_all(&space->columns) & ~kept)});
	}
}

/* The highest loadRelevance; of equals one that is likely to be in memory, then the next in order. */
uint32_t
cscan_columnar_choose_load(CScanPool *pool, int scan)
{
	const CScanScan *s = &pool->scans[scan];
	const uint64_t *wanted = cscan_wanted(pool, scan);
	Search		search = {pool, scan, s->cursor, CSCAN_NO_CHUNK, {0, 1}, false};
	uint32_t	nclasses;
	uint32_t	here;
	uint64_t	behind;

	if (!cscan_pool_has_absent(pool, scan))
		return CSCAN_NO_CHUNK;
	if (search.from / 64 < s->first_word || search.from / 64 >= s->end_word)
		search.from = s->first_word * 64;
	here = search.from / 64;
	behind = UINT64_MAX << (search.from % 64);
	nclasses = form_classes(pool, scan);
	for (uint32_t n = 0; n <= s->end_word - s->first_word; n++)
	{
		uint32_t	w = here + n < s->end_word ? here + n : here + n - s->end_word + s->first_word;
		uint64_t	chunks = wanted[w] & pool->loadable[w];

		if (w == here)
			chunks &= n == 0 ? behind : ~behind;
		if (chunks != 0)
			offer_word(&search, nclasses, w, chunks);
	}
	return search.chunk;
}

/* ------------------------------------------------------------------
 * findFreeSlot
 * ------------------------------------------------------------------ */

void
cscan_columnar_least_valued(CScanPool *pool, uint64_t *slots)
{
	CScanTally	almost = cscan_status_slots(pool, CSCAN_TALLY_ALMOST_STARVED);
	uint32_t	words = cscan_slot_words(pool);
	Ratio		lowest = {0, 1};
	bool		any = false;

	/* A slot that no almost starved scan wants is worth nothing. */
	for (uint32_t w = 0; w < words && !any; w++)
		any = (slots[w] & ~cscan_tally_counted(&almost, w)) != 0;
	if (any)
	{
		cscan_tally_remove_counted(&almost, slots, words);
		return;
	}
	CSCAN_SET_EACH(i, slots, words)
	{
		Ratio		bound = {cscan_tally_count(&almost, (uint32_t) i), pool->slots[i].nblocks};
		Ratio		keep;
		int			order;

		/* It is not lower than over all that is there. */
		if (any && compare(bound, lowest) > 0)
		{
			cscan_set_remove(slots, (uint32_t) i);
			continue;
		}
		keep = keep_relevance(pool, i);
		order = any ? compare(keep, lowest) : -1;
		if (order > 0)
		{
			cscan_set_remove(slots, (uint32_t) i);
			continue;
		}
		if (order == 0)
			continue;

		/* Those before it are worth more. */
		for (uint32_t w = 0; w < (uint32_t) i / 64; w++)
			slots[w] = 0;
		slots[i / 64] &= UINT64_MAX << (i % 64);
		lowest = keep;
		any = true;
	}
}

/* The columns of a slot that may go. */
static uint64_t
unwanted_columns(const CScanPool *pool, int slot)
{
	const CScanSlot *s = &pool->slots[slot];
	uint64_t	wanted = 0;
	uint64_t	overlap = 0;

	CSCAN_SET_EACH(i, cscan_space_scans(pool, s->space), cscan_scan_words(pool))
	{
		if (!cscan_pool_active(pool, i) || !cscan_pool_wants(pool, i, s->chunk))
			continue;
		wanted |= pool->scans[i].columns;
		overlap |= pool->scans[i].overlap;
	}
	return s->loaded.word[0] & (s->loaded.word[0] & overlap ? ~wanted : UINT64_MAX);
}

int
cscan_columnar_unwanted(CScanPool *pool, bool held, uint64_t *columns)
{
	CScanTally	interested = cscan_status_slots(pool, CSCAN_TALLY_INTERESTED);
	uint64_t   *passed = cscan_slot_set(pool, CSCAN_SLOTS_PASSED);
	uint64_t   *candidates = cscan_slot_set(pool, CSCAN_SLOTS_CANDIDATES);
	int			slot;

	/* Of chunks that no scan wants the least recently used slot goes, as any. */
	for (uint32_t w = 0; w < cscan_slot_words(pool); w++)
		candidates[w] = passed[w] & ~cscan_slot_set(pool, CSCAN_SLOTS_IN_FLIGHT)[w] &
			~cscan_slot_set(pool, CSCAN_SLOTS_IN_USE)[w] & cscan_tally_counted(&interested, w) &
			(held ? cscan_slot_set(pool, CSCAN_SLOTS_HELD)[w] : UINT64_MAX);
	while ((slot = cscan_slots_oldest(pool, candidates)) != CSCAN_NONE)
	{
		*columns = unwanted_columns(pool, slot);
		if (*columns != 0)
			return slot;
		cscan_set_remove(passed, (uint32_t) slot);
		cscan_set_remove(candidates, (uint32_t) slot);
	}
	return CSCAN_NONE;
}
