/*-------------------------------------------------------------------------
 *
 * slots.c
 *		Slots: which chunk is where, what state they are in, and their order.
 *
 * Kept as things change, and following from the slots alone:
 *
 *		sets		slots that are taken, in flight, held, in use, dispensable
 *		the index	from a table and a chunk to its slot: open addressing, in
 *					an array at least twice as large as there are slots
 *		by stamp	a list of the taken slots, the least recently used one first
 *		by order	another one, in the order of their loads
 *
 * Who is interested in what is in them is status.c's.
 *
 *-------------------------------------------------------------------------
 */
#include <string.h>

#include "pool_internal.h"

/*
 * Of a set that is so small the oldest is found by looking at all of them, which
 * is quick, as no look depends on the one before; of a larger one by walking the
 * list, where it cannot be far.
 */
#define FEW_SLOTS	256

/* ------------------------------------------------------------------
 * The index
 * ------------------------------------------------------------------ */

uint32_t
cscan_slots_index_size(int max_slots)
{
	uint32_t	size = 16;

	while (size < 2 * (uint32_t) max_slots)
		size *= 2;
	return size;
}

static uint32_t
home(const CScanPool *pool, int table, uint32_t chunk)
{
	uint64_t	hash = ((uint64_t) table << 32 | chunk) * UINT64_C(0x9e3779b97f4a7c15);

	return (uint32_t) (hash >> 32) & pool->state->index_mask;
}

static void
index_insert(CScanPool *pool, int slot)
{
	uint32_t	i = home(pool, pool->slots[slot].table, pool->slots[slot].chunk);

	while (pool->index[i] != CSCAN_NONE)
		i = (i + 1) & pool->state->index_mask;
	pool->index[i] = slot;
}

static void
index_remove(CScanPool *pool, int slot)
{
	uint32_t	mask = pool->state->index_mask;
	uint32_t	hole = home(pool, pool->slots[slot].table, pool->slots[slot].chunk);

	while (pool->index[hole] != slot)
		hole = (hole + 1) & mask;

	/* Whoever comes after it and could be in its place moves up. */
	for (uint32_t i = (hole + 1) & mask; pool->index[i] != CSCAN_NONE; i = (i + 1) & mask)
	{
		const CScanSlot *other = &pool->slots[pool->index[i]];

		if (((i - home(pool, other->table, other->chunk)) & mask) >= ((i - hole) & mask))
		{
			pool->index[hole] = pool->index[i];
			hole = i;
		}
	}
	pool->index[hole] = CSCAN_NONE;
}

int
cscan_pool_find(const CScanPool *pool, int table, uint32_t chunk)
{
	uint32_t	i;

	if (!cscan_set_has(RESIDENT(pool, table), chunk))
		return CSCAN_NONE;
	i = home(pool, table, chunk);
	while (pool->slots[pool->index[i]].table != table ||
		   pool->slots[pool->index[i]].chunk != chunk)
		i = (i + 1) & pool->state->index_mask;
	return pool->index[i];
}

/* ------------------------------------------------------------------
 * The lists
 * ------------------------------------------------------------------ */

static CScanSlotPlace *
places(const CScanPool *pool, CScanSlotList list)
{
	return pool->slot_places + (size_t) list * pool->state->max_slots;
}

static void
unlink_slot(CScanPool *pool, CScanSlotList list, int slot)
{
	CScanSlotPlace *place = places(pool, list);
	CScanSlotPlace s = place[slot];

	if (s.before != CSCAN_NONE)
		place[s.before].after = s.after;
	else
		pool->state->first[list] = s.after;
	if (s.after != CSCAN_NONE)
		place[s.after].before = s.before;
	else
		pool->state->last[list] = s.before;
}

/* Clocks of different processes may be a little apart: from the end on. */
static void
link_slot(CScanPool *pool, CScanSlotList list, int slot)
{
	uint64_t	key = list == CSCAN_SLOTS_BY_STAMP ? pool->slots[slot].stamp : pool->slots[slot].order;
	CScanSlotPlace *place = places(pool, list);
	CScanSlotPlace s = {key, pool->state->last[list], CSCAN_NONE};

	while (s.before != CSCAN_NONE && place[s.before].key > key)
	{
		s.after = s.before;
		s.before = place[s.before].before;
	}
	if (s.before != CSCAN_NONE)
		place[s.before].after = slot;
	else
		pool->state->first[list] = slot;
	if (s.after != CSCAN_NONE)
		place[s.after].before = slot;
	else
		pool->state->last[list] = slot;
	place[slot] = s;
}

static bool
has_few(const CScanPool *pool, const uint64_t *slots)
{
	uint32_t	n = 0;

	for (uint32_t w = 0; w < cscan_slot_words(pool) && n <= FEW_SLOTS; w++)
		n += (uint32_t) __builtin_popcountll(slots[w]);
	return n <= FEW_SLOTS;
}

/* Of a set of slots the first in a list; of equals the one with the lowest number. */
static int
first_of(const CScanPool *pool, CScanSlotList list, const uint64_t *slots)
{
	const CScanSlotPlace *place = places(pool, list);
	int			best = CSCAN_NONE;

	if (has_few(pool, slots))
	{
		CSCAN_SET_EACH(i, slots, cscan_slot_words(pool))
		{
			if (best == CSCAN_NONE || place[i].key < place[best].key)
				best = i;
		}
		return best;
	}
	for (int i = pool->state->first[list];
		 i != CSCAN_NONE && (best == CSCAN_NONE || place[i].key == place[best].key);
		 i = place[i].after)
	{
		if (cscan_set_has(slots, (uint32_t) i) && (best == CSCAN_NONE || i < best))
			best = i;
	}
	return best;
}

int
cscan_slots_oldest(const CScanPool *pool, const uint64_t *slots)
{
	return first_of(pool, CSCAN_SLOTS_BY_STAMP, slots);
}

int
cscan_slots_first(const CScanPool *pool, const uint64_t *slots)
{
	return first_of(pool, CSCAN_SLOTS_BY_ORDER, slots);
}

/* ------------------------------------------------------------------
 * The life of a slot
 * ------------------------------------------------------------------ */

static void
put_in_set(CScanPool *pool, CScanSlotSet set, int slot, bool in)
{
	cscan_set_put(cscan_slot_set(pool, set), (uint32_t) slot, in);
}

static void
clear(CScanSlot *s)
{
	memset(s, 0, sizeof(*s));
	s->table = CSCAN_NONE;
	s->trigger = CSCAN_NONE;
}

static void
forget_all(CScanPool *pool)
{
	CScanPoolState *state = pool->state;

	for (int list = 0; list < CSCAN_NSLOT_LISTS; list++)
		state->first[list] = state->last[list] = CSCAN_NONE;
	state->index_mask = cscan_slots_index_size(state->max_slots) - 1;
	for (uint32_t i = 0; i <= state->index_mask; i++)
		pool->index[i] = CSCAN_NONE;
	memset(pool->slot_sets, 0, sizeof(uint64_t) * CSCAN_NSLOT_SETS * cscan_slot_words(pool));
}

void
cscan_slots_init(CScanPool *pool)
{
	forget_all(pool);
	for (int i = 0; i < pool->state->max_slots; i++)
		clear(&pool->slots[i]);
}

void
cscan_slots_rebuild(CScanPool *pool)
{
	forget_all(pool);
	memset(pool->resident, 0, sizeof(uint64_t) * CSCAN_MAP_WORDS * pool->state->max_scans);
	for (int i = 0; i < pool->state->max_slots; i++)
	{
		CScanSlot  *s = &pool->slots[i];

		s->users = s->readers = 0;
		if (s->table == CSCAN_NONE)
			continue;
		put_in_set(pool, CSCAN_SLOTS_TAKEN, i, true);
		put_in_set(pool, CSCAN_SLOTS_IN_FLIGHT, i, s->in_flight);
		put_in_set(pool, CSCAN_SLOTS_HELD, i, s->held);
		put_in_set(pool, CSCAN_SLOTS_DISPENSABLE, i, s->cheap || s->failed);
		cscan_set_add(RESIDENT(pool, s->table), s->chunk);
		index_insert(pool, i);
		link_slot(pool, CSCAN_SLOTS_BY_STAMP, i);
		link_slot(pool, CSCAN_SLOTS_BY_ORDER, i);
	}
}

int
cscan_slots_free(const CScanPool *pool)
{
	const uint64_t *taken = cscan_slot_set(pool, CSCAN_SLOTS_TAKEN);

	for (uint32_t w = 0; w < cscan_slot_words(pool); w++)
	{
		if (~taken[w] != 0)
		{
			int			slot = (int) (w * 64) + __builtin_ctzll(~taken[w]);

			return slot < pool->state->max_slots ? slot : CSCAN_NONE;
		}
	}
	return CSCAN_NONE;
}

void
cscan_slots_take(CScanPool *pool, int slot, int table, uint32_t chunk, uint64_t now)
{
	CScanSlot  *s = &pool->slots[slot];

	clear(s);
	s->table = table;
	s->chunk = chunk;
	s->stamp = now;
	s->order = pool->state->nloads + 1;
	put_in_set(pool, CSCAN_SLOTS_TAKEN, slot, true);
	cscan_set_add(RESIDENT(pool, table), chunk);
	index_insert(pool, slot);
	link_slot(pool, CSCAN_SLOTS_BY_STAMP, slot);
	link_slot(pool, CSCAN_SLOTS_BY_ORDER, slot);
}

void
cscan_slots_set_held(CScanPool *pool, int slot, bool held)
{
	CScanSlot  *s = &pool->slots[slot];

	if (s->held == held)
		return;
	s->held = held;
	put_in_set(pool, CSCAN_SLOTS_HELD, slot, held);
	if (held)
		pool->state->used += s->nblocks;
	else
		pool->state->used -= s->nblocks;
}

void
cscan_slots_touch(CScanPool *pool, int slot, uint64_t now)
{
	unlink_slot(pool, CSCAN_SLOTS_BY_STAMP, slot);
	pool->slots[slot].stamp = now;
	link_slot(pool, CSCAN_SLOTS_BY_STAMP, slot);
}

void
cscan_slots_begin_load(CScanPool *pool, int slot, const CScanPieces *have,
					   const CScanPieces *coming, uint32_t nblocks, uint32_t again,
					   uint64_t now)
{
	CScanPoolState *state = pool->state;
	CScanSlot  *s = &pool->slots[slot];

	s->loaded = *have;
	for (int w = 0; w < CSCAN_PIECE_WORDS; w++)
		s->coming.word[w] = have->word[w] | coming->word[w];
	state->used += s->held ? nblocks - again : s->nblocks + nblocks - again;
	state->total += nblocks - again;
	s->nblocks += nblocks - again;
	s->held = s->in_flight = true;
	state->unpinned = false;
	s->failed = false;
	put_in_set(pool, CSCAN_SLOTS_HELD, slot, true);
	put_in_set(pool, CSCAN_SLOTS_IN_FLIGHT, slot, true);
	put_in_set(pool, CSCAN_SLOTS_DISPENSABLE, slot, s->cheap);

	unlink_slot(pool, CSCAN_SLOTS_BY_ORDER, slot);
	s->order = ++state->nloads;
	link_slot(pool, CSCAN_SLOTS_BY_ORDER, slot);
	cscan_slots_touch(pool, slot, now);
	cscan_status_slot_changed(pool, slot);
}

static bool
pieces_empty(const CScanPieces *pieces)
{
	for (int w = 0; w < CSCAN_PIECE_WORDS; w++)
	{
		if (pieces->word[w] != 0)
			return false;
	}
	return true;
}

void
cscan_pool_loaded(CScanPool *pool, int slot, uint64_t now, uint64_t duration,
				  bool failed, bool cheap)
{
	CScanSlot  *s = &pool->slots[slot];

	/* A top-up does not make the whole chunk cheap. */
	s->cheap = cheap && (s->cheap || pieces_empty(&s->loaded));
	s->failed = failed;
	s->loaded = s->coming;
	s->in_flight = false;
	pool->state->unpinned = false;
	put_in_set(pool, CSCAN_SLOTS_IN_FLIGHT, slot, false);
	put_in_set(pool, CSCAN_SLOTS_DISPENSABLE, slot, s->cheap || s->failed);
	cscan_slots_touch(pool, slot, now);
	cscan_status_slot_changed(pool, slot);
	if (duration > 0)
		cscan_queue_note_load(pool, pool->state->load_time +
							  ((double) duration - pool->state->load_time) / 8.0);
	CSCAN_TRACE(pool,.kind = CSCAN_TRACE_LOADED,.slot = slot,.time = now,
				.chunk = (uint32_t) duration,.blocks = (uint32_t) (duration >> 32),
				.flag = (failed ? CSCAN_TRACE_LOADED_FAILED : 0) | (cheap ? CSCAN_TRACE_LOADED_CHEAP : 0));
}

/* Whoever reads it goes on without. */
static void
send_readers_away(CScanPool *pool, int slot)
{
	CScanSlot  *s = &pool->slots[slot];

	if (s->readers == 0)
		return;
	CSCAN_SET_EACH(i, cscan_table_scans(pool, s->table), cscan_scan_words(pool))
	{
		if (pool->scans[i].in_use == slot)
			cscan_status_reads(pool, i, &pool->scans[i].in_use, CSCAN_NONE);
	}
	for (int i = 0; i < pool->state->max_helpers && s->readers > 0; i++)
	{
		CScanHelper *helper = &pool->helpers[i];

		if (helper->used && helper->in_use == slot)
			cscan_status_reads(pool, helper->scan, &helper->in_use, CSCAN_NONE);
	}
}

void
cscan_slots_drop(CScanPool *pool, int slot)
{
	CScanSlot  *s = &pool->slots[slot];

	if (s->table == CSCAN_NONE)
		return;
	send_readers_away(pool, slot);
	pool->state->unpinned = false;
	cscan_slots_set_held(pool, slot, false);
	pool->state->total -= s->nblocks;
	cscan_set_remove(RESIDENT(pool, s->table), s->chunk);
	put_in_set(pool, CSCAN_SLOTS_TAKEN, slot, false);
	put_in_set(pool, CSCAN_SLOTS_IN_FLIGHT, slot, false);
	put_in_set(pool, CSCAN_SLOTS_DISPENSABLE, slot, false);
	cscan_status_slot_changed(pool, slot);
	index_remove(pool, slot);
	unlink_slot(pool, CSCAN_SLOTS_BY_STAMP, slot);
	unlink_slot(pool, CSCAN_SLOTS_BY_ORDER, slot);
	clear(s);
}

void
cscan_pool_drop(CScanPool *pool, int slot)
{
	cscan_slots_drop(pool, slot);
	CSCAN_TRACE(pool,.kind = CSCAN_TRACE_DROP,.slot = slot);
}

/* ------------------------------------------------------------------
 * What nobody wants, and what somebody wants again
 * ------------------------------------------------------------------ */

/* Of a word's slots, those that are in flight, in use, or wanted. */
static uint64_t
needed(const CScanPool *pool, const CScanTally *interested, uint32_t w)
{
	return cscan_slot_set(pool, CSCAN_SLOTS_IN_FLIGHT)[w] |
		cscan_slot_set(pool, CSCAN_SLOTS_IN_USE)[w] |
		cscan_tally_counted(interested, w);
}

static int
nth(uint32_t word, uint64_t slots)
{
	return (int) (word * 64) + __builtin_ctzll(slots);
}

static int
useless(CScanPool *pool)
{
	CScanTally	interested = cscan_status_slots(pool, CSCAN_TALLY_INTERESTED);
	const uint64_t *dispensable = cscan_slot_set(pool, CSCAN_SLOTS_DISPENSABLE);

	for (uint32_t w = 0; w < cscan_slot_words(pool); w++)
	{
		uint64_t	slots = dispensable[w];

		if (slots != 0)
			slots &= ~needed(pool, &interested, w);
		if (slots != 0)
			return nth(w, slots);
	}
	return CSCAN_NONE;
}

static int
release(CScanPool *pool)
{
	CScanTally	interested = cscan_status_slots(pool, CSCAN_TALLY_INTERESTED);
	const uint64_t *held = cscan_slot_set(pool, CSCAN_SLOTS_HELD);

	for (uint32_t w = 0; w < cscan_slot_words(pool); w++)
	{
		uint64_t	slots = held[w];

		if (slots != 0)
			slots &= ~needed(pool, &interested, w);
		if (slots != 0)
		{
			cscan_slots_set_held(pool, nth(w, slots), false);
			return nth(w, slots);
		}
	}
	return CSCAN_NONE;
}

static int
hold(CScanPool *pool)
{
	CScanTally	interested = cscan_status_slots(pool, CSCAN_TALLY_INTERESTED);
	const uint64_t *taken = cscan_slot_set(pool, CSCAN_SLOTS_TAKEN);
	const uint64_t *held = cscan_slot_set(pool, CSCAN_SLOTS_HELD);

	if (pool->state->unpinned)
		return CSCAN_NONE;
	for (uint32_t w = 0; w < cscan_slot_words(pool); w++)
	{
		uint64_t	slots = taken[w] & ~held[w];

		if (slots != 0)
			slots &= needed(pool, &interested, w);
		for (; slots != 0; slots &= slots - 1)
		{
			int			slot = nth(w, slots);

			/* The next loads need some of the budget, too. */
			if (pool->state->used + 4 * pool->slots[slot].nblocks > pool->state->budget)
				continue;
			cscan_slots_set_held(pool, slot, true);
			return slot;
		}
	}
	return CSCAN_NONE;
}

int
cscan_pool_useless(CScanPool *pool)
{
	int			slot = useless(pool);

	CSCAN_TRACE(pool,.kind = CSCAN_TRACE_USELESS,.slot = slot);
	return slot;
}

int
cscan_pool_release(CScanPool *pool)
{
	int			slot = release(pool);

	CSCAN_TRACE(pool,.kind = CSCAN_TRACE_RELEASE,.slot = slot);
	return slot;
}

int
cscan_pool_hold(CScanPool *pool)
{
	int			slot = hold(pool);

	CSCAN_TRACE(pool,.kind = CSCAN_TRACE_HOLD,.slot = slot);
	return slot;
}
