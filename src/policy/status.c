/*-------------------------------------------------------------------------
 *
 * status.c
 *		What each scan has, and how many want what: counts kept by events.
 *
 * Of each scan (pool_internal.h, CScanHas) it is kept which slots hold a chunk
 * that it wants, which of these it can use, and which it need not wait for.
 * From that follow the numbers that decide whether it is starved.
 *
 * Tallies (sets.h) say how many active scans want what is in each slot: all of
 * them, the starved, the almost starved, and elevator's; and, for each table,
 * how many want each chunk, all of them and the starved.
 *
 * A scan that becomes starved, or ceases to be, changes the counts of all chunks
 * that it wants.  That happens about twice for each chunk that it takes, while
 * only a load or an eviction looks at these counts.  So the scan is only noted
 * (MOVED), and counted anew when somebody looks; what has changed to and fro
 * meanwhile costs nothing.  In which tallies a scan is counted at present,
 * its field "counted" tells; in those it has its wants as they are now: a single
 * chunk or slot that comes or goes is counted at once.
 *
 * The tallies of a table's chunks need as many planes as its number of scans has
 * bits, which are not more than it has scans: so the planes for all tables come
 * out of a stock of two for each scan.
 *
 * Everything is bounded by the words of a set: a scan that changes costs
 * O(chunks / 64), a chunk that is handed out O(log scans), a load O(scans of the
 * table).
 *
 *-------------------------------------------------------------------------
 */
#include <string.h>

#include "pool_internal.h"

/* In which tallies a scan is counted, and that it is active. */
#define SLOTS_INTERESTED	(1 << CSCAN_TALLY_INTERESTED)
#define SLOTS_ELEVATOR		(1 << CSCAN_TALLY_ELEVATOR)
#define SLOTS_ALMOST		(1 << CSCAN_TALLY_ALMOST_STARVED)
#define SLOTS_STARVED		(1 << CSCAN_TALLY_STARVED)
#define CHUNKS_INTERESTED	(1 << CSCAN_NTALLIES)
#define CHUNKS_STARVED		(2 << CSCAN_NTALLIES)
#define ACTIVE				(4 << CSCAN_NTALLIES)

#define SLOTS_AT_ONCE		(SLOTS_INTERESTED | SLOTS_ELEVATOR)
#define SLOTS_LATER			(SLOTS_ALMOST | SLOTS_STARVED)
#define CHUNKS				(CHUNKS_INTERESTED | CHUNKS_STARVED)

static uint64_t *
plane(const CScanPool *pool, int number)
{
	return pool->planes + (size_t) number * CSCAN_MAP_WORDS;
}

void
cscan_status_init(CScanPool *pool)
{
	CScanPoolState *state = pool->state;
	size_t		slot_words = cscan_slot_words(pool);
	size_t		scan_words = cscan_scan_words(pool);

	state->nscans = state->nactive = 0;
	state->nplanes = cscan_tally_planes((uint32_t) state->max_scans);
	memset(pool->slot_tallies, 0, sizeof(uint64_t) * CSCAN_NTALLIES * state->nplanes * slot_words);
	memset(pool->scan_slots, 0, sizeof(uint64_t) * CSCAN_NHAS * state->max_scans * slot_words);
	memset(pool->scan_sets, 0, sizeof(uint64_t) * CSCAN_NSCAN_SETS * scan_words);
	memset(pool->table_scans, 0, sizeof(uint64_t) * state->max_scans * scan_words);
	state->nfree_planes = 2 * state->max_scans;
	for (int i = 0; i < state->nfree_planes; i++)
		pool->free_planes[i] = i;
	for (int i = 0; i < state->max_scans; i++)
	{
		pool->tables[i].nplanes = 0;
		pool->scans[i].counted = 0;
		pool->scans[i].available = pool->scans[i].ready = pool->scans[i].using = 0;
	}
}

/* ------------------------------------------------------------------
 * Tallies
 * ------------------------------------------------------------------ */

CScanTally
cscan_status_slots_now(const CScanPool *pool, CScanSlotTally which)
{
	uint32_t	words = cscan_slot_words(pool);
	uint64_t   *next = pool->slot_tallies + (size_t) which * pool->state->nplanes * words;
	CScanTally	tally;

	/* As there are no more scans to be counted, the further planes are empty. */
	tally.nplanes = cscan_tally_planes((uint32_t) pool->state->nscans);
	for (int k = 0; k < tally.nplanes; k++, next += words)
		tally.plane[k] = next;
	return tally;
}

static CScanTally
chunk_tally(const CScanPool *pool, const CScanTable *t, const int32_t *numbers)
{
	CScanTally	tally;

	tally.nplanes = t->nplanes;
	for (int k = 0; k < tally.nplanes; k++)
		tally.plane[k] = plane(pool, numbers[k]);
	return tally;
}

/* A chunk comes to one of its table's tallies, or goes. */
static void
count_chunk(CScanPool *pool, const int32_t *numbers, int nplanes, uint32_t chunk, bool in)
{
	uint64_t	bit = UINT64_C(1) << (chunk % 64);

	for (int k = 0; k < nplanes; k++)
	{
		uint64_t   *word = plane(pool, numbers[k]) + chunk / 64;
		bool		was = (*word & bit) != 0;

		*word ^= bit;
		if (was != in)
			break;
	}
}

/* A slot comes to a tally, or goes. */
static void
count_slot(CScanPool *pool, CScanSlotTally which, int slot, bool in)
{
	uint64_t	bit = UINT64_C(1) << (slot % 64);
	uint32_t	words = cscan_slot_words(pool);
	uint64_t   *word = pool->slot_tallies +
		(size_t) which * pool->state->nplanes * words + slot / 64;

	for (int k = 0; k < pool->state->nplanes; k++, word += words)
	{
		bool		was = (*word & bit) != 0;

		*word ^= bit;
		if (was != in)
			break;
	}
}

/* All that a scan has comes to a tally, or goes. */
static void
count_scan(CScanPool *pool, int scan, int tally_bit, bool in)
{
	CScanInterest *s = &pool->scans[scan];
	const CScanTable *t = &pool->tables[s->table];
	const uint64_t *set;
	CScanTally	tally;
	uint32_t	first = 0;
	uint32_t	end = cscan_slot_words(pool);

	s->counted ^= tally_bit;
	if (tally_bit & CHUNKS)
	{
		set = WANTED(pool, scan);
		first = s->first_word;
		end = s->end_word;
		tally = chunk_tally(pool, t, tally_bit == CHUNKS_STARVED ? t->starved : t->interested);
	}
	else
	{
		set = cscan_scan_slots(pool, scan, tally_bit == SLOTS_ELEVATOR ?
							   CSCAN_HAS_READY : CSCAN_HAS_WANTED);
		tally = cscan_status_slots_now(pool, (CScanSlotTally) __builtin_ctz((unsigned) tally_bit));
	}
	if (in)
		cscan_tally_add(&tally, set, first, end);
	else
		cscan_tally_subtract(&tally, set, first, end);
}

/* In which tallies should it be counted? */
static int
should_be_counted(const CScanPool *pool, int scan)
{
	const CScanInterest *s = &pool->scans[scan];
	int			counted;

	if (!cscan_pool_active(pool, scan))
		return 0;
	counted = ACTIVE | SLOTS_INTERESTED | CHUNKS_INTERESTED;
	if (s->policy == CSCAN_POLICY_ELEVATOR)
		counted |= SLOTS_ELEVATOR;
	if (cscan_pool_below(pool, scan, 3))
		counted |= SLOTS_ALMOST;
	if (cscan_pool_below(pool, scan, 2))
		counted |= CHUNKS_STARVED;
	if (cscan_policies[s->policy]->impatience > 0 && cscan_pool_starved(pool, scan))
		counted |= SLOTS_STARVED;
	return counted;
}

/* Have it counted as it should be, in some of the tallies. */
static void
count_anew(CScanPool *pool, int scan, int tallies)
{
	int			should = should_be_counted(pool, scan);
	int			wrong = (should ^ pool->scans[scan].counted) & tallies;

	for (; wrong != 0; wrong &= wrong - 1)
	{
		int			bit = wrong & -wrong;

		count_scan(pool, scan, bit, (should & bit) != 0);
	}
}

CScanTally
cscan_status_slots(CScanPool *pool, CScanSlotTally which)
{
	uint64_t   *moved = cscan_scan_set(pool, CSCAN_SCANS_MOVED_SLOTS);

	for (uint32_t w = 0; ((1 << which) & SLOTS_LATER) && w < cscan_scan_words(pool); w++)
	{
		for (; moved[w] != 0; moved[w] &= moved[w] - 1)
			count_anew(pool, (int) (w * 64) + __builtin_ctzll(moved[w]), SLOTS_LATER);
	}
	return cscan_status_slots_now(pool, which);
}

/* As many planes as its scans need, empty. */
static void
add_planes(CScanPool *pool, CScanTable *t)
{
	int32_t    *nfree = &pool->state->nfree_planes;

	for (; t->nplanes < cscan_tally_planes((uint32_t) t->nscans); t->nplanes++)
	{
		int			k = t->nplanes;

		t->interested[k] = pool->free_planes[--*nfree];
		t->starved[k] = pool->free_planes[--*nfree];
		memset(plane(pool, t->interested[k]), 0, sizeof(uint64_t) * CSCAN_MAP_WORDS);
		memset(plane(pool, t->starved[k]), 0, sizeof(uint64_t) * CSCAN_MAP_WORDS);
	}
}

/* Planes that it needs no more are empty by now. */
void
cscan_status_shrink(CScanPool *pool, int table)
{
	CScanTable *t = &pool->tables[table];
	int32_t    *nfree = &pool->state->nfree_planes;

	while (t->nplanes > cscan_tally_planes((uint32_t) t->nscans))
	{
		t->nplanes--;
		pool->free_planes[(*nfree)++] = t->interested[t->nplanes];
		pool->free_planes[(*nfree)++] = t->starved[t->nplanes];
	}
}

void
cscan_status_chunks(CScanPool *pool, int table, CScanTally *interested, CScanTally *starved)
{
	CScanTable *t = &pool->tables[table];
	uint64_t   *moved = cscan_scan_set(pool, CSCAN_SCANS_MOVED_CHUNKS);

	add_planes(pool, t);
	for (uint32_t w = 0; w < cscan_scan_words(pool); w++)
	{
		uint64_t	scans = moved[w] & cscan_table_scans(pool, table)[w];

		moved[w] &= ~scans;
		for (; scans != 0; scans &= scans - 1)
			count_anew(pool, (int) (w * 64) + __builtin_ctzll(scans), CHUNKS);
	}
	*interested = chunk_tally(pool, t, t->interested);
	*starved = chunk_tally(pool, t, t->starved);
}

/* ------------------------------------------------------------------
 * Events
 * ------------------------------------------------------------------ */

/* Processes of a scan read slots; they count as users while it is active. */
static void
count_users(CScanPool *pool, int slot, int number)
{
	CScanSlot  *s;

	if (slot == CSCAN_NONE)
		return;
	s = &pool->slots[slot];
	s->users += (uint32_t) number;
	cscan_set_put(cscan_slot_set(pool, CSCAN_SLOTS_IN_USE), (uint32_t) slot, s->users > 0);
}

static void
set_active(CScanPool *pool, int scan, bool active)
{
	CScanInterest *s = &pool->scans[scan];
	int			number = active ? 1 : -1;

	s->counted ^= ACTIVE;
	pool->state->nactive += number;
	pool->state->queues_stale = true;
	count_users(pool, s->in_use, number);
	for (int i = 0; i < pool->state->max_helpers && s->nhelpers > 0; i++)
	{
		if (pool->helpers[i].used && pool->helpers[i].scan == scan)
			count_users(pool, pool->helpers[i].in_use, number);
	}
}

void
cscan_status_changed(CScanPool *pool, int scan)
{
	int			should = should_be_counted(pool, scan);
	int			wrong = should ^ pool->scans[scan].counted;

	if (wrong & ACTIVE)
		set_active(pool, scan, (should & ACTIVE) != 0);
	if (wrong & SLOTS_AT_ONCE)
		count_anew(pool, scan, SLOTS_AT_ONCE);
	if (wrong & SLOTS_LATER)
		cscan_set_add(cscan_scan_set(pool, CSCAN_SCANS_MOVED_SLOTS), (uint32_t) scan);
	if (wrong & CHUNKS)
		cscan_set_add(cscan_scan_set(pool, CSCAN_SCANS_MOVED_CHUNKS), (uint32_t) scan);
	cscan_set_add(cscan_scan_set(pool, CSCAN_SCANS_MOVED_QUEUE), (uint32_t) scan);
}

void
cscan_status_reads(CScanPool *pool, int scan, int32_t *in_use, int slot)
{
	CScanInterest *s = &pool->scans[scan];
	bool		active = (s->counted & ACTIVE) != 0;

	if (*in_use != CSCAN_NONE)
	{
		pool->slots[*in_use].readers--;
		if (active)
			count_users(pool, *in_use, -1);
		s->using--;
		s->available--;
	}
	*in_use = slot;
	if (slot != CSCAN_NONE)
	{
		pool->slots[slot].readers++;
		if (active)
			count_users(pool, slot, 1);
		s->using++;
		s->available++;
	}
	cscan_status_changed(pool, scan);
}

/* What a scan has of a slot's chunk, from now on. */
static void
set_has(CScanPool *pool, int scan, int slot, bool wanted, bool ready, bool available)
{
	CScanInterest *s = &pool->scans[scan];
	uint64_t   *has_wanted = cscan_scan_slots(pool, scan, CSCAN_HAS_WANTED);
	uint64_t   *has_ready = cscan_scan_slots(pool, scan, CSCAN_HAS_READY);
	uint64_t   *has_available = cscan_scan_slots(pool, scan, CSCAN_HAS_AVAILABLE);

	if (cscan_set_has(has_wanted, (uint32_t) slot) != wanted)
	{
		cscan_set_put(has_wanted, (uint32_t) slot, wanted);
		if (s->counted & SLOTS_INTERESTED)
			count_slot(pool, CSCAN_TALLY_INTERESTED, slot, wanted);
		if (s->counted & SLOTS_ALMOST)
			count_slot(pool, CSCAN_TALLY_ALMOST_STARVED, slot, wanted);
		if (s->counted & SLOTS_STARVED)
			count_slot(pool, CSCAN_TALLY_STARVED, slot, wanted);
	}
	if (cscan_set_has(has_ready, (uint32_t) slot) != ready)
	{
		cscan_set_put(has_ready, (uint32_t) slot, ready);
		s->ready += ready ? 1 : UINT32_MAX;
		if (s->counted & SLOTS_ELEVATOR)
			count_slot(pool, CSCAN_TALLY_ELEVATOR, slot, ready);
	}
	if (cscan_set_has(has_available, (uint32_t) slot) != available)
	{
		cscan_set_put(has_available, (uint32_t) slot, available);
		s->available += available ? 1 : UINT32_MAX;
		cscan_status_changed(pool, scan);
	}
}

static void
look_at(CScanPool *pool, int scan, int slot)
{
	const CScanSlot *s = &pool->slots[slot];
	bool		wanted = cscan_pool_wants(pool, scan, s->chunk) &&
		cscan_set_has(cscan_slot_set(pool, CSCAN_SLOTS_TAKEN), (uint32_t) slot);
	bool		ready;

	if (!wanted && !cscan_set_has(cscan_scan_slots(pool, scan, CSCAN_HAS_WANTED), (uint32_t) slot))
		return;
	ready = wanted && cscan_pool_ready_for(pool, slot, scan);
	set_has(pool, scan, slot, wanted, ready, ready || (wanted && s->in_flight));
}

void
cscan_status_slot_changed(CScanPool *pool, int slot)
{
	CSCAN_SET_EACH(i, cscan_table_scans(pool, pool->slots[slot].table), cscan_scan_words(pool))
	{
		look_at(pool, i, slot);
	}
}

void
cscan_status_unwanted(CScanPool *pool, int scan, uint32_t chunk)
{
	CScanInterest *s = &pool->scans[scan];
	CScanTable *t = &pool->tables[s->table];
	int			slot = cscan_pool_find(pool, s->table, chunk);

	if (s->counted & CHUNKS_INTERESTED)
		count_chunk(pool, t->interested, t->nplanes, chunk, false);
	if (s->counted & CHUNKS_STARVED)
		count_chunk(pool, t->starved, t->nplanes, chunk, false);
	if (slot != CSCAN_NONE)
		set_has(pool, scan, slot, false, false, false);
	cscan_status_changed(pool, scan);
}

void
cscan_status_enter(CScanPool *pool, int scan)
{
	CScanInterest *s = &pool->scans[scan];
	const uint64_t *wanted = WANTED(pool, scan);
	const uint64_t *resident = RESIDENT(pool, s->table);

	pool->state->nscans++;
	cscan_set_add(cscan_table_scans(pool, s->table), (uint32_t) scan);
	cscan_set_add(cscan_scan_set(pool, CSCAN_SCANS_OF_POLICY + s->policy), (uint32_t) scan);
	for (uint32_t w = s->first_word; w < s->end_word; w++)
	{
		for (uint64_t chunks = wanted[w] & resident[w]; chunks != 0; chunks &= chunks - 1)
			look_at(pool, scan, cscan_pool_find(pool, s->table,
												w * 64 + (uint32_t) __builtin_ctzll(chunks)));
	}
	cscan_status_changed(pool, scan);
}

void
cscan_status_leave(CScanPool *pool, int scan)
{
	CScanInterest *s = &pool->scans[scan];

	for (int wrong = s->counted & ~ACTIVE; wrong != 0; wrong &= wrong - 1)
		count_scan(pool, scan, wrong & -wrong, false);
	s->available -= cscan_set_count(cscan_scan_slots(pool, scan, CSCAN_HAS_AVAILABLE),
									cscan_slot_words(pool));
	s->ready = 0;
	memset(WANTED(pool, scan) + s->first_word, 0,
		   sizeof(uint64_t) * (s->end_word > s->first_word ? s->end_word - s->first_word : 0));
	memset(cscan_scan_slots(pool, scan, CSCAN_HAS_WANTED), 0,
		   sizeof(uint64_t) * CSCAN_NHAS * cscan_slot_words(pool));
	cscan_set_remove(cscan_table_scans(pool, s->table), (uint32_t) scan);
	cscan_set_remove(cscan_scan_set(pool, CSCAN_SCANS_OF_POLICY + s->policy), (uint32_t) scan);
	pool->state->nscans--;
}

/* ------------------------------------------------------------------
 * Questions
 * ------------------------------------------------------------------ */

/* From "from" on, or 0 if it is less than that. */
static uint32_t
distance(const CScanInterest *s, uint32_t from, uint32_t chunk)
{
	return chunk >= from ? chunk - from : chunk + s->nchunks;
}

uint32_t
cscan_status_first_absent(const CScanPool *pool, int scan, uint32_t from)
{
	const CScanInterest *s = &pool->scans[scan];
	const uint64_t *wanted = WANTED(pool, scan);
	const uint64_t *resident = RESIDENT(pool, s->table);
	const uint64_t *has_wanted = cscan_scan_slots(pool, scan, CSCAN_HAS_WANTED);
	const uint64_t *has_available = cscan_scan_slots(pool, scan, CSCAN_HAS_AVAILABLE);
	uint32_t	best = CSCAN_NO_CHUNK;

	if (!cscan_pool_has_absent(pool, scan))
		return CSCAN_NO_CHUNK;
	if (from >= s->nchunks)
		from = 0;

	/* Of those that are in no slot the first, from there on or else of all. */
	for (uint32_t w = from / 64; w < s->end_word && best == CSCAN_NO_CHUNK; w++)
	{
		uint64_t	chunks = wanted[w] & ~resident[w];

		if (w == from / 64)
			chunks &= UINT64_MAX << (from % 64);
		if (chunks != 0)
			best = w * 64 + (uint32_t) __builtin_ctzll(chunks);
	}
	for (uint32_t w = s->first_word; w <= from / 64 && w < s->end_word && best == CSCAN_NO_CHUNK; w++)
	{
		uint64_t	chunks = wanted[w] & ~resident[w];

		if (chunks != 0)
			best = w * 64 + (uint32_t) __builtin_ctzll(chunks);
	}

	/* Few are in slots that lack what it wants of them. */
	for (uint32_t w = 0; w < cscan_slot_words(pool); w++)
	{
		for (uint64_t slots = has_wanted[w] & ~has_available[w]; slots != 0; slots &= slots - 1)
		{
			uint32_t	chunk = pool->slots[w * 64 + (uint32_t) __builtin_ctzll(slots)].chunk;

			if (best == CSCAN_NO_CHUNK || distance(s, from, chunk) < distance(s, from, best))
				best = chunk;
		}
	}
	return best;
}
