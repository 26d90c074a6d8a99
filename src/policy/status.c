/*-------------------------------------------------------------------------
 *
 * status.c
 *		See status.h.
 *
 * A scan that becomes starved, or ceases to be, changes the counts of all
 * chunks that it wants.  That happens about twice for each chunk that it
 * takes, but only a load or an eviction looks at these counts.  So the scan is
 * only noted (MOVED), and counted anew when a decision looks.  Changes to and
 * fro in between cost nothing.  A scan's field "counted" says which tallies
 * count it at present.  These have its wants as they are now: a single chunk
 * or slot that comes or goes is counted at once.
 *
 * The words of a set bound all costs.  A scan that changes costs O(words
 * between its first and its last chunk), a chunk handed out O(log scans), a
 * load O(scans of the space).
 *
 *-------------------------------------------------------------------------
 */
#include <string.h>

#include "interest.h"
#include "slots.h"
#include "status.h"

/* Bits of "counted": the tallies that count a scan, and that it is active. */
#define SLOTS_INTERESTED	(1 << CSCAN_TALLY_INTERESTED)
#define SLOTS_KEEPERS		(1 << CSCAN_TALLY_KEEPERS)
#define SLOTS_ALMOST		(1 << CSCAN_TALLY_ALMOST_STARVED)
#define SLOTS_STARVED		(1 << CSCAN_TALLY_STARVED)
#define CHUNKS_INTERESTED	(1 << CSCAN_NSLOT_TALLIES)
#define CHUNKS_STARVED		(2 << CSCAN_NSLOT_TALLIES)
#define ACTIVE				(4 << CSCAN_NSLOT_TALLIES)

#define SLOTS_AT_ONCE		(SLOTS_INTERESTED | SLOTS_KEEPERS)
#define SLOTS_LATER			(SLOTS_ALMOST | SLOTS_STARVED)
#define CHUNKS				(CHUNKS_INTERESTED | CHUNKS_STARVED)

_Static_assert(ACTIVE <= UINT16_MAX, "CScanScan.counted is too small");

void
cscan_status_init(CScanPool *pool)
{
	CScanPoolState *state = pool->state;
	size_t		scans = (size_t) state->limits.max_scans;
	size_t		slot_words = cscan_slot_words(pool);
	size_t		scan_words = cscan_scan_words(pool);

	state->nscans = state->nactive = 0;
	state->nplanes = cscan_tally_planes((uint32_t) state->limits.max_scans);
	memset(pool->slot_tallies, 0, sizeof(uint64_t) * CSCAN_NSLOT_TALLIES * state->nplanes * slot_words);
	memset(pool->chunk_tallies, 0,
		   sizeof(uint64_t) * CSCAN_NCHUNK_TALLIES * state->nplanes * cscan_chunk_words(pool));
	memset(pool->scan_slots, 0, sizeof(uint64_t) * CSCAN_NHAS * scans * slot_words);
	memset(pool->scan_sets, 0, sizeof(uint64_t) * CSCAN_NSCAN_SETS * scan_words);
	for (size_t i = 0; i < scans; i++)
	{
		pool->scans[i].counted = 0;
		pool->scans[i].available = pool->scans[i].ready = 0;
		pool->scans[i].passing = pool->scans[i].using = 0;
	}
}

/* ------------------------------------------------------------------
 * Tallies
 * ------------------------------------------------------------------ */

/* Only the planes that nscans scans can fill: the others are empty. */
static CScanTally
make_tally(const CScanPool *pool, uint64_t *planes, uint32_t words)
{
	CScanTally	tally;

	tally.nplanes = cscan_tally_planes((uint32_t) pool->state->nscans);
	for (int k = 0; k < tally.nplanes; k++, planes += words)
		tally.plane[k] = planes;
	return tally;
}

CScanTally
cscan_status_slots_now(const CScanPool *pool, CScanSlotTally which)
{
	uint32_t	words = cscan_slot_words(pool);

	return make_tally(pool, pool->slot_tallies + (size_t) which * pool->state->nplanes * words, words);
}

static CScanTally
chunk_tally(const CScanPool *pool, CScanChunkTally which)
{
	uint32_t	words = cscan_chunk_words(pool);

	return make_tally(pool, pool->chunk_tallies + (size_t) which * pool->state->nplanes * words, words);
}

/* Add a number to a tally, or subtract it.  The planes follow one another. */
static void
count_one(uint64_t *planes, int nplanes, uint32_t words, uint32_t n, bool in)
{
	uint64_t	bit = UINT64_C(1) << (n % 64);
	uint64_t   *word = planes + n / 64;

	for (int k = 0; k < nplanes; k++, word += words)
	{
		bool		was = (*word & bit) != 0;

		*word ^= bit;
		if (was != in)
			break;
	}
}

static void
count_slot(CScanPool *pool, CScanSlotTally which, int slot, bool in)
{
	uint32_t	words = cscan_slot_words(pool);
	int			nplanes = pool->state->nplanes;

	count_one(pool->slot_tallies + (size_t) which * nplanes * words, nplanes, words, (uint32_t) slot, in);
}

static void
count_chunk(CScanPool *pool, CScanChunkTally which, uint32_t chunk, bool in)
{
	uint32_t	words = cscan_chunk_words(pool);
	int			nplanes = pool->state->nplanes;

	count_one(pool->chunk_tallies + (size_t) which * nplanes * words, nplanes, words, chunk, in);
}

/* Add all that a scan has to a tally, or subtract it. */
static void
count_scan(CScanPool *pool, int scan, int tally_bit, bool in)
{
	CScanScan  *s = &pool->scans[scan];
	const uint64_t *set;
	CScanTally	tally;
	uint32_t	first = 0;
	uint32_t	end = cscan_slot_words(pool);

	s->counted ^= (uint16_t) tally_bit;
	if (tally_bit & CHUNKS)
	{
		set = cscan_wanted(pool, scan);
		first = s->first_word;
		end = s->end_word;
		tally = chunk_tally(pool, tally_bit == CHUNKS_STARVED ?
							CSCAN_CHUNKS_STARVED : CSCAN_CHUNKS_INTERESTED);
	}
	else
	{
		set = cscan_scan_slots(pool, scan, tally_bit == SLOTS_KEEPERS ?
							   CSCAN_HAS_READY : CSCAN_HAS_WANTED);
		tally = cscan_status_slots_now(pool, (CScanSlotTally) __builtin_ctz((unsigned) tally_bit));
	}
	if (in)
		cscan_tally_add(&tally, set, first, end);
	else
		cscan_tally_subtract(&tally, set, first, end);
}

/* Which tallies should count the scan? */
static int
should_be_counted(const CScanPool *pool, int scan)
{
	const CScanTraits *traits = cscan_traits(pool, scan);
	int			counted;

	if (!cscan_pool_active(pool, scan))
		return 0;
	counted = ACTIVE | SLOTS_INTERESTED | CHUNKS_INTERESTED;
	if (traits->keeps_ready)
		counted |= SLOTS_KEEPERS;
	if (cscan_pool_below(pool, scan, 3))
		counted |= SLOTS_ALMOST;
	if (cscan_pool_below(pool, scan, 2))
		counted |= CHUNKS_STARVED;
	if (traits->queue == CSCAN_QUEUE_RELEVANCE && cscan_pool_starved(pool, scan))
		counted |= SLOTS_STARVED;
	return counted;
}

/* Correct which of these tallies count the scan. */
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

/* Do so for all scans of a set, and empty the set. */
static void
count_moved(CScanPool *pool, CScanScanSet set, int tallies)
{
	uint64_t   *moved = cscan_scan_set(pool, set);

	for (uint32_t w = 0; w < cscan_scan_words(pool); w++)
	{
		for (; moved[w] != 0; moved[w] &= moved[w] - 1)
			count_anew(pool, (int) (w * 64) + __builtin_ctzll(moved[w]), tallies);
	}
}

CScanTally
cscan_status_slots(CScanPool *pool, CScanSlotTally which)
{
	if ((1 << which) & SLOTS_LATER)
		count_moved(pool, CSCAN_SCANS_MOVED_SLOTS, SLOTS_LATER);
	return cscan_status_slots_now(pool, which);
}

void
cscan_status_chunks(CScanPool *pool, CScanTally *interested, CScanTally *starved)
{
	count_moved(pool, CSCAN_SCANS_MOVED_CHUNKS, CHUNKS);
	*interested = chunk_tally(pool, CSCAN_CHUNKS_INTERESTED);
	*starved = chunk_tally(pool, CSCAN_CHUNKS_STARVED);
}

/* ------------------------------------------------------------------
 * Events
 * ------------------------------------------------------------------ */

/* Add to a slot's users: processes of active scans that read it. */
static void
count_users(CScanPool *pool, int slot, int number)
{
	if (slot != CSCAN_NONE)
		cscan_slots_add_users(pool, slot, number);
}

/* It wants none of its slots' columns any more, as far as others are concerned. */
static void
pass_slots(CScanPool *pool, int scan)
{
	const uint64_t *columnar = cscan_slot_set(pool, CSCAN_SLOTS_COLUMNAR);
	const uint64_t *wanted = cscan_scan_slots(pool, scan, CSCAN_HAS_WANTED);

	for (uint32_t w = 0; w < cscan_slot_words(pool); w++)
		cscan_slot_set(pool, CSCAN_SLOTS_PASSED)[w] |= wanted[w] & columnar[w];
}

static void
set_active(CScanPool *pool, int scan, bool active)
{
	CScanScan  *s = &pool->scans[scan];
	int			number = active ? 1 : -1;

	s->counted ^= ACTIVE;
	if (!active)
		pass_slots(pool, scan);
	pool->state->nactive += number;
	pool->state->queues_stale = true;
	count_users(pool, s->in_use, number);
	for (int i = 0; i < pool->state->limits.max_helpers && s->nhelpers > 0; i++)
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
	CScanScan  *s = &pool->scans[scan];
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

/* Set which of a scan's sets (CScanHas) have a slot, and count it. */
static void
set_has(CScanPool *pool, int scan, int slot, bool wanted, bool ready, bool available, bool passing)
{
	CScanScan  *s = &pool->scans[scan];
	uint64_t   *has_wanted = cscan_scan_slots(pool, scan, CSCAN_HAS_WANTED);
	uint64_t   *has_ready = cscan_scan_slots(pool, scan, CSCAN_HAS_READY);
	uint64_t   *has_available = cscan_scan_slots(pool, scan, CSCAN_HAS_AVAILABLE);
	uint64_t   *has_passing = cscan_scan_slots(pool, scan, CSCAN_HAS_PASSING);
	bool		changed = false;

	if (cscan_set_has(has_wanted, (uint32_t) slot) != wanted)
	{
		cscan_set_put(has_wanted, (uint32_t) slot, wanted);
		if (!wanted)
			cscan_slots_pass(pool, slot);
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
		if (s->counted & SLOTS_KEEPERS)
			count_slot(pool, CSCAN_TALLY_KEEPERS, slot, ready);
	}
	if (cscan_set_has(has_available, (uint32_t) slot) != available)
	{
		cscan_set_put(has_available, (uint32_t) slot, available);
		s->available += available ? 1 : UINT32_MAX;
		changed = true;
	}
	if (cscan_set_has(has_passing, (uint32_t) slot) != passing)
	{
		cscan_set_put(has_passing, (uint32_t) slot, passing);
		s->passing += passing ? 1 : UINT32_MAX;
		changed = true;
	}
	if (changed)
		cscan_status_changed(pool, scan);
}

static void
look_at(CScanPool *pool, int scan, int slot)
{
	const CScanSlot *s = &pool->slots[slot];
	uint32_t	word = s->chunk / 64;
	bool		wanted;
	bool		ready;

	/* Most of many scans want chunks elsewhere: no need to read their sets. */
	if (word < pool->scans[scan].first_word || word >= pool->scans[scan].end_word)
		return;
	wanted = cscan_pool_wants(pool, scan, s->chunk) &&
		cscan_set_has(cscan_slot_set(pool, CSCAN_SLOTS_TAKEN), (uint32_t) slot);

	if (!wanted && !cscan_set_has(cscan_scan_slots(pool, scan, CSCAN_HAS_WANTED), (uint32_t) slot))
		return;
	ready = wanted && cscan_pool_ready_for(pool, slot, scan);
	set_has(pool, scan, slot, wanted, ready, ready || (wanted && s->in_flight),
			wanted && !ready && s->in_flight && !cscan_pool_comes_for(pool, slot, scan));
}

void
cscan_status_slot_changed(CScanPool *pool, int slot)
{
	CSCAN_SET_EACH(i, cscan_space_scans(pool, pool->slots[slot].space), cscan_scan_words(pool))
	{
		if (pool->scans[i].started)
			look_at(pool, i, slot);
	}
}

void
cscan_status_unwanted(CScanPool *pool, int scan, uint32_t chunk)
{
	CScanScan  *s = &pool->scans[scan];
	int			slot = cscan_pool_find(pool, chunk);

	if (s->counted & CHUNKS_INTERESTED)
		count_chunk(pool, CSCAN_CHUNKS_INTERESTED, chunk, false);
	if (s->counted & CHUNKS_STARVED)
		count_chunk(pool, CSCAN_CHUNKS_STARVED, chunk, false);
	if (slot != CSCAN_NONE)
		set_has(pool, scan, slot, false, false, false, false);
	cscan_status_changed(pool, scan);
}

void
cscan_status_enter(CScanPool *pool, int scan)
{
	CScanScan  *s = &pool->scans[scan];
	const uint64_t *wanted = cscan_wanted(pool, scan);

	pool->state->nscans++;
	cscan_set_add(cscan_scan_set(pool, CSCAN_SCANS_OF_POLICY + s->policy), (uint32_t) scan);
	for (uint32_t w = s->first_word; w < s->end_word; w++)
	{
		for (uint64_t chunks = wanted[w] & pool->resident[w]; chunks != 0; chunks &= chunks - 1)
			look_at(pool, scan, cscan_pool_find(pool, w * 64 + (uint32_t) __builtin_ctzll(chunks)));
	}
	cscan_status_changed(pool, scan);
}

void
cscan_status_leave(CScanPool *pool, int scan)
{
	CScanScan  *s = &pool->scans[scan];

	for (int wrong = s->counted & ~ACTIVE; wrong != 0; wrong &= wrong - 1)
		count_scan(pool, scan, wrong & -wrong, false);
	if (s->counted & ACTIVE)
		set_active(pool, scan, false);
	s->available -= cscan_set_count(cscan_scan_slots(pool, scan, CSCAN_HAS_AVAILABLE),
									cscan_slot_words(pool));
	s->ready = s->passing = 0;
	memset(cscan_scan_slots(pool, scan, CSCAN_HAS_WANTED), 0,
		   sizeof(uint64_t) * CSCAN_NHAS * cscan_slot_words(pool));
	cscan_set_remove(cscan_scan_set(pool, CSCAN_SCANS_OF_POLICY + s->policy), (uint32_t) scan);
	cscan_set_add(cscan_scan_set(pool, CSCAN_SCANS_MOVED_QUEUE), (uint32_t) scan);
	pool->state->nscans--;
}
