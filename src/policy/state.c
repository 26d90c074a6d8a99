/*-------------------------------------------------------------------------
 *
 * state.c
 *		Questions to a pool's state: they look and change nothing.
 *
 * A scan's sets of chunks are read only in its words from first_word to
 * end_word.  So numbers that it does not want cost it nothing.
 *
 *-------------------------------------------------------------------------
 */
#include "state.h"

bool
cscan_pool_active(const CScanPool *pool, int scan)
{
	return pool->scans[scan].started && !pool->scans[scan].stalled;
}

/* runningQueries() */
int
cscan_pool_running(const CScanPool *pool)
{
	return pool->state->nactive;
}

bool
cscan_pool_wants(const CScanPool *pool, int scan, uint32_t chunk)
{
	uint32_t	word = chunk / 64;

	return word >= pool->scans[scan].first_word && word < pool->scans[scan].end_word &&
		cscan_set_has(cscan_wanted(pool, scan), chunk);
}

bool
cscan_pool_interested_in(const CScanPool *pool, int scan, int space)
{
	return cscan_set_has(cscan_scan_spaces(pool, scan), (uint32_t) space);
}

bool
cscan_pool_columns_fit(const CScanPool *pool, int scan)
{
	bool		tables = false;
	bool		columnar = false;

	CSCAN_SET_EACH(i, cscan_scan_spaces(pool, scan), cscan_space_words(pool))
	{
		const CScanSpace *p = &pool->spaces[i];

		if (!cscan_space_is_columnar(p))
			tables = true;
		else if (cscan_columns(pool, scan, p) == 0)
			return false;
		else
			columnar = true;
	}
	return !tables || !columnar;
}

uint32_t
cscan_pool_count_wanted(const CScanPool *pool, int scan, int space)
{
	const CScanSpace *p = &pool->spaces[space];

	return cscan_set_count_range(cscan_wanted(pool, scan), p->first_chunk,
								 p->first_chunk + p->nchunks - 1);
}

int
cscan_pool_scan_of(const CScanPool *pool, int space, int from)
{
	return cscan_set_next(cscan_space_scans(pool, space), cscan_scan_words(pool), (uint32_t) from);
}

int
cscan_pool_space_of_scan(const CScanPool *pool, int scan, int from)
{
	uint32_t	first = pool->scans[scan].first_space;

	return cscan_set_next(cscan_scan_spaces(pool, scan), cscan_space_words(pool),
						  (uint32_t) from > first ? (uint32_t) from : first);
}

bool
cscan_state_any_of(const CScanPool *pool, int policy)
{
	return cscan_set_next(cscan_scan_set(pool, CSCAN_SCANS_OF_POLICY + policy),
						  cscan_scan_words(pool), 0) >= 0;
}

const CScanSpace *
cscan_pool_space_of(const CScanPool *pool, uint32_t chunk)
{
	return &pool->spaces[pool->space_of[chunk]];
}

int
cscan_pool_find(const CScanPool *pool, uint32_t chunk)
{
	return pool->slot_of[chunk];
}

/*
 * Has it fewer chunks available than limit, plus one for each helper?  A chunk of
 * which a load brings only what others want is not, though it cannot be loaded
 * just now.
 */
bool
cscan_pool_below(const CScanPool *pool, int scan, uint32_t limit)
{
	const CScanScan *s = &pool->scans[scan];

	return s->available - s->passing < limit + s->nhelpers;
}

bool
cscan_pool_has_nothing(const CScanPool *pool, int scan)
{
	return pool->scans[scan].available == pool->scans[scan].passing;
}

/* queryStarved() */
bool
cscan_pool_starved(const CScanPool *pool, int scan)
{
	return cscan_pool_active(pool, scan) && pool->scans[scan].nwanted > 0 &&
		!pool->scans[scan].warm && cscan_pool_below(pool, scan, 2);
}

/* Is there a wanted chunk that may be loaded and is not there or in flight? */
bool
cscan_pool_has_absent(const CScanPool *pool, int scan)
{
	const CScanScan *s = &pool->scans[scan];

	return s->nloadable > s->available - s->using;
}

/* The first number in both sets at or after "from", going round in these words. */
static uint32_t
first_in_both(const uint64_t *a, const uint64_t *b, uint32_t first_word, uint32_t end_word,
			  uint32_t from)
{
	uint64_t	word;

	if (from / 64 < first_word || from / 64 >= end_word)
		from = first_word * 64;
	for (uint32_t w = from / 64; w < end_word; w++)
	{
		word = a[w] & b[w];
		if (w == from / 64)
			word &= UINT64_MAX << (from % 64);
		if (word != 0)
			return w * 64 + (uint32_t) __builtin_ctzll(word);
	}
	for (uint32_t w = first_word; w <= from / 64 && w < end_word; w++)
	{
		word = a[w] & b[w];
		if (word != 0)
			return w * 64 + (uint32_t) __builtin_ctzll(word);
	}
	return CSCAN_NO_CHUNK;
}

uint32_t
cscan_state_first_refused(const CScanPool *pool, int scan, uint32_t from)
{
	const CScanScan *s = &pool->scans[scan];

	if (pool->state->nrefused == 0 || s->nwanted == s->nloadable)
		return CSCAN_NO_CHUNK;
	return first_in_both(cscan_wanted(pool, scan), pool->refused, s->first_word, s->end_word, from);
}

bool
cscan_pool_has_refused(const CScanPool *pool, int scan)
{
	return cscan_state_first_refused(pool, scan, 0) != CSCAN_NO_CHUNK;
}

uint32_t
cscan_pool_next_wanted(const CScanPool *pool, int scan, uint32_t from)
{
	const CScanScan *s = &pool->scans[scan];
	const uint64_t *wanted = cscan_wanted(pool, scan);

	if (s->nwanted == 0)
		return CSCAN_NO_CHUNK;
	return first_in_both(wanted, wanted, s->first_word, s->end_word, from);
}

/*
 * The first chunk with a number >= from that may be loaded for some active
 * scan and is in no slot; or CSCAN_NO_CHUNK.
 */
static uint32_t
next_absent(const CScanPool *pool, uint32_t from)
{
	uint32_t	best = CSCAN_NO_CHUNK;

	for (int p = 0; p < CSCAN_NPOLICIES; p++)
	{
		CSCAN_SET_EACH(i, cscan_scan_set(pool, CSCAN_SCANS_OF_POLICY + p), cscan_scan_words(pool))
		{
			const CScanScan *s = &pool->scans[i];
			uint32_t	w = from / 64 > s->first_word ? from / 64 : s->first_word;

			if (!cscan_pool_active(pool, i) || s->warm)
				continue;
			for (; w < s->end_word && w <= best / 64; w++)
			{
				uint64_t	absent = cscan_absent_word(pool, cscan_wanted(pool, i), w);
				uint32_t	chunk;

				if (w == from / 64)
					absent &= UINT64_MAX << (from % 64);
				if (absent == 0)
					continue;
				chunk = w * 64 + (uint32_t) __builtin_ctzll(absent);
				if (chunk < best)
					best = chunk;
				break;
			}
		}
	}
	return best;
}

uint32_t
cscan_pool_shared_absent(const CScanPool *pool, uint32_t *next, uint32_t *chunks, uint32_t max)
{
	uint32_t	n = 0;

	for (uint32_t looks = 0; looks < max; looks++)
	{
		uint32_t	chunk = next_absent(pool, *next);
		const CScanSpace *space;

		if (chunk == CSCAN_NO_CHUNK)
		{
			*next = 0;
			break;
		}
		space = cscan_pool_space_of(pool, chunk);
		if (space->nscans >= 2)
			chunks[n++] = chunk;
		*next = space->nscans >= 2 ? chunk + 1 : space->first_chunk + space->nchunks;
	}
	return n;
}

bool
cscan_pool_in_flight(const CScanPool *pool, int slot)
{
	return pool->slots[slot].in_flight;
}

/* Processes that read it for active scans. */
uint32_t
cscan_pool_users(const CScanPool *pool, int slot)
{
	return pool->slots[slot].users;
}

/* currentlyUsed() */
bool
cscan_pool_in_use(const CScanPool *pool, int slot)
{
	return cscan_pool_users(pool, slot) > 0;
}

/* numberInterestedQueries() */
int
cscan_pool_interested(const CScanPool *pool, uint32_t chunk)
{
	int			n = 0;

	CSCAN_SET_EACH(i, cscan_space_scans(pool, pool->space_of[chunk]), cscan_scan_words(pool))
	{
		n += cscan_pool_active(pool, i) && cscan_pool_wants(pool, i, chunk);
	}
	return n;
}

double
cscan_pool_load_time(const CScanPool *pool, int space, uint32_t nblocks)
{
	double		block_time = pool->state->devices[pool->spaces[space].device].block_time;

	return nblocks * (block_time > 0 ? block_time : pool->state->block_time);
}

/* A chunk's place in the order from "from" on, going round. */
static uint32_t
distance(const CScanPool *pool, uint32_t from, uint32_t chunk)
{
	return chunk >= from ? chunk - from : chunk + pool->state->limits.max_chunks;
}

uint32_t
cscan_state_first_absent(const CScanPool *pool, int scan, uint32_t from, bool loadable)
{
	const CScanScan *s = &pool->scans[scan];
	const uint64_t *wanted = cscan_wanted(pool, scan);
	const uint64_t *has_wanted = cscan_scan_slots(pool, scan, CSCAN_HAS_WANTED);
	const uint64_t *has_available = cscan_scan_slots(pool, scan, CSCAN_HAS_AVAILABLE);
	uint32_t	best = CSCAN_NO_CHUNK;
	uint32_t	here;

	if (loadable ? !cscan_pool_has_absent(pool, scan) : s->nwanted <= s->available - s->using)
		return CSCAN_NO_CHUNK;
	if (from / 64 < s->first_word || from / 64 >= s->end_word)
		from = s->first_word * 64;
	here = from / 64;

	/* The first that is in no slot, from there on or else of all. */
	for (uint32_t w = here; w < s->end_word && best == CSCAN_NO_CHUNK; w++)
	{
		uint64_t	chunks = loadable ? cscan_absent_word(pool, wanted, w) :
			wanted[w] & ~pool->resident[w];

		if (w == here)
			chunks &= UINT64_MAX << (from % 64);
		if (chunks != 0)
			best = w * 64 + (uint32_t) __builtin_ctzll(chunks);
	}
	for (uint32_t w = s->first_word; w <= here && w < s->end_word && best == CSCAN_NO_CHUNK; w++)
	{
		uint64_t	chunks = loadable ? cscan_absent_word(pool, wanted, w) :
			wanted[w] & ~pool->resident[w];

		if (chunks != 0)
			best = w * 64 + (uint32_t) __builtin_ctzll(chunks);
	}

	/* Then those in slots that lack what it wants of them; there are few. */
	for (uint32_t w = 0; w < cscan_slot_words(pool); w++)
	{
		for (uint64_t slots = has_wanted[w] & ~has_available[w]; slots != 0; slots &= slots - 1)
		{
			uint32_t	chunk = pool->slots[w * 64 + (uint32_t) __builtin_ctzll(slots)].chunk;

			if (loadable && !cscan_set_has(pool->loadable, chunk))
				continue;
			if (best == CSCAN_NO_CHUNK || distance(pool, from, chunk) < distance(pool, from, best))
				best = chunk;
		}
	}
	return best;
}
