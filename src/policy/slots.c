/*-------------------------------------------------------------------------
 *
 * slots.c
 *		See slots.h.
 *
 *-------------------------------------------------------------------------
 */
#include <string.h>

#include "slots.h"

/*
 * In a set of at most this many slots the oldest is found by looking at all.
 * That is quick, as no look depends on the one before.  In a larger set it is
 * found by walking the list, where it cannot be far.
 */
#define FEW_SLOTS	256

/* ------------------------------------------------------------------
 * The lists
 * ------------------------------------------------------------------ */

static CScanSlotPlace *
places(const CScanPool *pool, CScanSlotList list)
{
	return pool->slot_places + (size_t) list * pool->state->limits.max_slots;
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

/* Search from the end: clocks of different processes may be a little apart. */
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

/* A set's first slot in a list; among equals the lowest number. */
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
	s->space = CSCAN_NONE;
	s->loaded_for = CSCAN_NONE;
}

static void
forget_all(CScanPool *pool)
{
	CScanPoolState *state = pool->state;

	for (int list = 0; list < CSCAN_NSLOT_LISTS; list++)
		state->first[list] = state->last[list] = CSCAN_NONE;
	for (uint32_t c = 0; c < state->limits.max_chunks; c++)
		pool->slot_of[c] = CSCAN_NONE;
	memset(pool->resident, 0, sizeof(uint64_t) * cscan_chunk_words(pool));
	memset(pool->slot_sets, 0, sizeof(uint64_t) * CSCAN_NSLOT_SETS * cscan_slot_words(pool));
	state->used = state->total = 0;
}

void
cscan_slots_init(CScanPool *pool)
{
	forget_all(pool);
	for (int i = 0; i < pool->state->limits.max_slots; i++)
		clear(&pool->slots[i]);
}

/* Enter a slot that has a chunk into the index and the lists. */
static void
enter(CScanPool *pool, int slot)
{
	CScanSlot  *s = &pool->slots[slot];

	put_in_set(pool, CSCAN_SLOTS_TAKEN, slot, true);
	put_in_set(pool, CSCAN_SLOTS_COLUMNAR, slot, cscan_space_is_columnar(&pool->spaces[s->space]));
	cscan_slots_pass(pool, slot);
	cscan_set_add(pool->resident, s->chunk);
	pool->slot_of[s->chunk] = slot;
	link_slot(pool, CSCAN_SLOTS_BY_STAMP, slot);
	link_slot(pool, CSCAN_SLOTS_BY_ORDER, slot);
}

void
cscan_slots_rebuild(CScanPool *pool)
{
	forget_all(pool);
	for (int i = 0; i < pool->state->limits.max_slots; i++)
	{
		CScanSlot  *s = &pool->slots[i];

		s->users = s->readers = 0;
		if (s->space == CSCAN_NONE)
			continue;
		enter(pool, i);
		put_in_set(pool, CSCAN_SLOTS_IN_FLIGHT, i, s->in_flight);
		put_in_set(pool, CSCAN_SLOTS_HELD, i, s->held);
		put_in_set(pool, CSCAN_SLOTS_DISPENSABLE, i, s->cheap || s->failed);
		pool->state->total += s->nblocks;
		if (s->held)
			pool->state->used += s->nblocks;
	}
}

int
cscan_slots_free(const CScanPool *pool)
{
	int			slot = cscan_set_next_gap(cscan_slot_set(pool, CSCAN_SLOTS_TAKEN),
										  cscan_slot_words(pool), 0);

	return slot < pool->state->limits.max_slots ? slot : CSCAN_NONE;
}

void
cscan_slots_take(CScanPool *pool, int slot, uint32_t chunk, uint64_t now)
{
	CScanSlot  *s = &pool->slots[slot];

	clear(s);
	s->space = pool->space_of[chunk];
	s->chunk = chunk;
	s->stamp = now;
	s->order = pool->state->nloads + 1;
	enter(pool, slot);
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
cscan_slots_add_users(CScanPool *pool, int slot, int number)
{
	CScanSlot  *s = &pool->slots[slot];

	s->users += (uint32_t) number;
	put_in_set(pool, CSCAN_SLOTS_IN_USE, slot, s->users > 0);
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
	s->loading = nblocks;
	s->held = s->in_flight = true;
	s->failed = false;
	put_in_set(pool, CSCAN_SLOTS_HELD, slot, true);
	put_in_set(pool, CSCAN_SLOTS_IN_FLIGHT, slot, true);
	put_in_set(pool, CSCAN_SLOTS_DISPENSABLE, slot, s->cheap);

	unlink_slot(pool, CSCAN_SLOTS_BY_ORDER, slot);
	s->order = ++state->nloads;
	link_slot(pool, CSCAN_SLOTS_BY_ORDER, slot);
	cscan_slots_touch(pool, slot, now);
}

void
cscan_slots_end_load(CScanPool *pool, int slot, uint64_t now, bool failed, bool cheap)
{
	CScanSlot  *s = &pool->slots[slot];

	/* A top-up does not make the whole chunk cheap. */
	s->cheap = cheap && (s->cheap || s->loading == s->nblocks);
	s->failed = failed;
	s->loaded = s->coming;
	s->in_flight = false;
	put_in_set(pool, CSCAN_SLOTS_IN_FLIGHT, slot, false);
	put_in_set(pool, CSCAN_SLOTS_DISPENSABLE, slot, s->cheap || s->failed);
	cscan_slots_touch(pool, slot, now);
}

void
cscan_slots_arrived(CScanPool *pool, int slot, const CScanPieces *pieces)
{
	CScanSlot  *s = &pool->slots[slot];

	for (int w = 0; w < CSCAN_PIECE_WORDS; w++)
		s->loaded.word[w] |= pieces->word[w] & s->coming.word[w];
}

void
cscan_slots_trim(CScanPool *pool, int slot, uint64_t columns)
{
	CScanSlot  *s = &pool->slots[slot];
	uint32_t	nblocks = cscan_layout_cost(&pool->spaces[s->space].columns, columns);

	s->loaded.word[0] &= ~columns;
	s->coming = s->loaded;
	s->nblocks -= nblocks;
	pool->state->total -= nblocks;
	if (s->held)
		pool->state->used -= nblocks;
}

void
cscan_slots_pass(CScanPool *pool, int slot)
{
	if (cscan_set_has(cscan_slot_set(pool, CSCAN_SLOTS_COLUMNAR), (uint32_t) slot))
		put_in_set(pool, CSCAN_SLOTS_PASSED, slot, true);
}

void
cscan_slots_forget(CScanPool *pool, int slot)
{
	CScanSlot  *s = &pool->slots[slot];

	cscan_slots_set_held(pool, slot, false);
	pool->state->total -= s->nblocks;
	put_in_set(pool, CSCAN_SLOTS_TAKEN, slot, false);
	put_in_set(pool, CSCAN_SLOTS_COLUMNAR, slot, false);
	put_in_set(pool, CSCAN_SLOTS_PASSED, slot, false);
	put_in_set(pool, CSCAN_SLOTS_IN_FLIGHT, slot, false);
	put_in_set(pool, CSCAN_SLOTS_DISPENSABLE, slot, false);
	cscan_set_remove(pool->resident, s->chunk);
	pool->slot_of[s->chunk] = CSCAN_NONE;
}

void
cscan_slots_promise(CScanPool *pool, int slot, int scan)
{
	CScanSlot  *s = &pool->slots[slot];

	if (s->loaded_for != CSCAN_NONE)
		pool->scans[s->loaded_for].promised--;
	if (scan != CSCAN_NONE)
		pool->scans[scan].promised++;
	s->loaded_for = scan;
}

void
cscan_slots_clear(CScanPool *pool, int slot)
{
	cscan_slots_promise(pool, slot, CSCAN_NONE);
	unlink_slot(pool, CSCAN_SLOTS_BY_STAMP, slot);
	unlink_slot(pool, CSCAN_SLOTS_BY_ORDER, slot);
	clear(&pool->slots[slot]);
}
