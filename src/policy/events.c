/*-------------------------------------------------------------------------
 *
 * events.c
 *		What happens to a pool: spaces, scans and helpers come and go, ask for
 *		chunks, and loads end.
 *
 * Each call changes the fields, the counts (slots.c, status.c) and the
 * policies' histories.  See pool.h for the invariants.
 *
 *-------------------------------------------------------------------------
 */
#include <string.h>

#include "interest.h"
#include "policy.h"
#include "queue.h"
#include "record.h"
#include "schedule.h"
#include "slots.h"
#include "status.h"

/* Tell the policies that note this event. */
#define NOTE(pool, event, ...) \
	do { \
		for (int p_ = 0; p_ < CSCAN_NPOLICIES; p_++) \
		{ \
			if (cscan_policies[p_]->event) \
				cscan_policies[p_]->event((pool), (pool)->history[p_], __VA_ARGS__); \
		} \
	} while (0)

void
cscan_pool_set_limits(CScanPool *pool, uint32_t budget, uint32_t room)
{
	pool->state->budget = budget;
	pool->state->room = room;
	CSCAN_RECORD(pool,.kind = CSCAN_TRACE_LIMITS,.chunk = budget,.blocks = room);
}

void
cscan_pool_set_block_time(CScanPool *pool, double block_time)
{
	pool->state->pace = 0;
	cscan_queue_set_block_time(pool, block_time);
	for (int d = 0; d < CSCAN_MAX_DEVICES; d++)
		pool->state->devices[d].block_time = 0;
	CSCAN_RECORD(pool,.kind = CSCAN_TRACE_BLOCK_TIME,.time = cscan_record_number(block_time));
}

/* ------------------------------------------------------------------
 * Spaces
 * ------------------------------------------------------------------ */

/*
 * A pool should hold at least 8 chunks, and a space has at most
 * CSCAN_MAX_CHUNKS of them.
 */
uint32_t
cscan_pool_chunk_blocks(const CScanPool *pool, uint32_t preferred, uint32_t nblocks)
{
	uint32_t	blocks = preferred;

	if (blocks > pool->state->budget / 8)
		blocks = pool->state->budget / 8;
	if (blocks < 1)
		blocks = 1;
	return cscan_space_chunk_blocks_for(blocks, nblocks);
}

/* The first of n consecutive free numbers >= from, or CSCAN_NO_CHUNK. */
static uint32_t
find_numbers(const CScanPool *pool, uint32_t from, uint32_t n)
{
	uint32_t	words = cscan_chunk_words(pool);
	uint32_t	max = pool->state->limits.max_chunks;

	while (from < max && max - from >= n)
	{
		uint32_t	first = (uint32_t) cscan_set_next_gap(pool->numbered, words, from);
		int			taken;

		if (first >= max || max - first < n)
			break;
		taken = cscan_set_next(pool->numbered, words, first);
		if (taken < 0 || (uint32_t) taken - first >= n)
			return first;
		from = (uint32_t) taken;
	}
	return CSCAN_NO_CHUNK;
}

static void
give_numbers(CScanPool *pool, int space, uint32_t first, uint32_t n)
{
	cscan_set_add_range(pool->numbered, first, first + n - 1);
	for (uint32_t c = first; c < first + n; c++)
		pool->space_of[c] = space;
}

static int
add_space(CScanPool *pool, uint32_t chunk_blocks, uint32_t nchunks, uint32_t device)
{
	CScanPoolState *state = pool->state;
	uint32_t	first = find_numbers(pool, state->next_chunk, nchunks);
	CScanSpace *space;
	int			i = state->first_free_space;

	if (first == CSCAN_NO_CHUNK)
		first = find_numbers(pool, 0, nchunks);
	while (i < state->limits.max_spaces && pool->spaces[i].used)
		i++;
	if (first == CSCAN_NO_CHUNK || i == state->limits.max_spaces)
		return CSCAN_NONE;

	space = &pool->spaces[i];
	cscan_space_begin(space, chunk_blocks);
	space->first_chunk = space->cursor = first;
	space->nchunks = nchunks;
	space->device = device;
	give_numbers(pool, i, first, nchunks);
	cscan_set_remove_range(pool->cached, first, first + nchunks - 1);
	state->next_chunk = first + nchunks;
	state->first_free_space = i + 1;
	state->nspaces++;
	if (i >= state->spaces_end)
		state->spaces_end = i + 1;
	NOTE(pool, on_space, i);
	return i;
}

int
cscan_pool_add_space(CScanPool *pool, uint32_t chunk_blocks, uint32_t nchunks, uint32_t device)
{
	int			space = add_space(pool, chunk_blocks, nchunks, device);

	CSCAN_RECORD(pool,.kind = CSCAN_TRACE_ADD_SPACE,.other = space,.blocks = chunk_blocks,
				 .chunk = nchunks,.slot = (int32_t) device);
	return space;
}

bool
cscan_pool_extend_space(CScanPool *pool, int space, uint32_t nchunks)
{
	CScanSpace *p = &pool->spaces[space];
	uint32_t	end = p->first_chunk + p->nchunks;
	bool		extended = nchunks <= p->nchunks;

	if (!extended && find_numbers(pool, end, nchunks - p->nchunks) == end)
	{
		give_numbers(pool, space, end, nchunks - p->nchunks);
		cscan_set_remove_range(pool->cached, end, p->first_chunk + nchunks - 1);
		if (p->access == CSCAN_ACCESS_GRANTED)
			cscan_set_add_range(pool->loadable, end, p->first_chunk + nchunks - 1);
		else if (p->access == CSCAN_ACCESS_REFUSED)
			cscan_set_add_range(pool->refused, end, p->first_chunk + nchunks - 1);
		p->nchunks = nchunks;
		extended = true;
	}
	CSCAN_RECORD(pool,.kind = CSCAN_TRACE_EXTEND_SPACE,.other = space,.chunk = nchunks,
				 .flag = extended);
	return extended;
}

/* Leave a record, and ranges that it has. */
static void
record_ranges(CScanPool *pool, const CScanTraceRecord *r, const CScanRange *ranges, uint32_t nranges)
{
	if (!pool->state->traced)
		return;
	pool->record(pool, r);
	for (uint32_t n = 0; n < nranges; n += CSCAN_RANGES_IN_RECORD)
	{
		CScanTraceRecord some = cscan_record_of_ranges(ranges + n, nranges - n);

		pool->record(pool, &some);
	}
}

void
cscan_pool_set_columnar(CScanPool *pool, int space, const CScanLayout *layout)
{
	CScanTraceRecord r = {.kind = CSCAN_TRACE_COLUMNAR,.other = space,.count = (uint16_t) layout->ncolumns};
	CScanRange	places[CSCAN_LAYOUT_COLUMNS];

	pool->spaces[space].columns = *layout;
	cscan_record_layout(layout, places);
	record_ranges(pool, &r, places, layout->ncolumns);
}

static void
set_access(CScanPool *pool, int space, CScanAccess access)
{
	CScanSpace *p = &pool->spaces[space];
	uint32_t	last = p->first_chunk + p->nchunks - 1;

	if (p->access == access)
		return;
	pool->state->nrefused += (access == CSCAN_ACCESS_REFUSED) - (p->access == CSCAN_ACCESS_REFUSED);
	cscan_set_remove_range(pool->loadable, p->first_chunk, last);
	cscan_set_remove_range(pool->refused, p->first_chunk, last);
	if (access == CSCAN_ACCESS_GRANTED)
		cscan_set_add_range(pool->loadable, p->first_chunk, last);
	else if (access == CSCAN_ACCESS_REFUSED)
		cscan_set_add_range(pool->refused, p->first_chunk, last);
	p->access = (uint8_t) access;
	CSCAN_SET_EACH(i, cscan_space_scans(pool, space), cscan_scan_words(pool))
	{
		if (!pool->scans[i].started)
			continue;
		cscan_interest_count_loadable(pool, i);
		cscan_status_changed(pool, i);
	}
}

void
cscan_pool_set_access(CScanPool *pool, int space, CScanAccess access)
{
	set_access(pool, space, access);
	CSCAN_RECORD(pool,.kind = CSCAN_TRACE_ACCESS,.other = space,.flag = (uint8_t) access);
}

void
cscan_pool_remove_space(CScanPool *pool, int space)
{
	CScanSpace *p = &pool->spaces[space];

	for (uint32_t c = p->first_chunk; c < p->first_chunk + p->nchunks; c++)
	{
		if (pool->slot_of[c] != CSCAN_NONE)
			cscan_schedule_drop(pool, pool->slot_of[c]);
	}
	set_access(pool, space, CSCAN_ACCESS_UNKNOWN);
	NOTE(pool, on_space_gone, space);
	cscan_set_remove_range(pool->numbered, p->first_chunk, p->first_chunk + p->nchunks - 1);
	for (uint32_t c = p->first_chunk; c < p->first_chunk + p->nchunks; c++)
		pool->space_of[c] = CSCAN_NONE;
	p->used = false;
	if (space < pool->state->first_free_space)
		pool->state->first_free_space = space;
	while (pool->state->spaces_end > 0 && !pool->spaces[pool->state->spaces_end - 1].used)
		pool->state->spaces_end--;
	if (--pool->state->nspaces == 0)
		pool->state->next_chunk = 0;
	CSCAN_RECORD(pool,.kind = CSCAN_TRACE_REMOVE_SPACE,.other = space);
}

void
cscan_pool_set_cursor(CScanPool *pool, int space, uint32_t chunk)
{
	pool->spaces[space].cursor = chunk;
	CSCAN_SET_EACH(i, cscan_space_scans(pool, space), cscan_scan_words(pool))
	{
		if (pool->scans[i].started)
			pool->scans[i].cursor = chunk;
	}
	NOTE(pool, on_cursor, space);
	CSCAN_RECORD(pool,.kind = CSCAN_TRACE_CURSOR,.other = space,.chunk = chunk);
}

void
cscan_pool_set_cached(CScanPool *pool, uint32_t chunk, bool cached)
{
	cscan_set_put(pool->cached, chunk, cached);
	CSCAN_RECORD(pool,.kind = CSCAN_TRACE_CACHED,.chunk = chunk,.flag = cached);
}

/*
 * A space has grown: scans that want all of the chunk in which it ended before
 * want more of it now.
 */
static void
grow(CScanPool *pool, int space, uint32_t extent)
{
	CScanSpace *p = &pool->spaces[space];
	uint32_t	before = p->extent;
	uint32_t	chunk;
	uint32_t	cost;

	if (extent <= before)
		return;
	if (before == 0)
	{
		p->extent = extent;
		return;
	}
	chunk = cscan_space_chunk_of(p, before - 1);
	cost = cscan_space_cost(p, chunk);
	p->extent = extent;
	cost = cscan_space_cost(p, chunk) - cost;
	if (cost == 0)
		return;
	CSCAN_SET_EACH(i, cscan_space_scans(pool, space), cscan_scan_words(pool))
	{
		CScanScan  *s = &pool->scans[i];

		if (!s->started || !cscan_pool_wants(pool, i, chunk) ||
			cscan_interest_has_ranges(pool, i, space))
			continue;
		s->needed += cost;
		cscan_status_changed(pool, i);
	}
	if (pool->slot_of[chunk] != CSCAN_NONE)
		cscan_status_slot_changed(pool, pool->slot_of[chunk]);
}

/* ------------------------------------------------------------------
 * Scans
 * ------------------------------------------------------------------ */

static int
register_scan(CScanPool *pool, CScanPolicyId policy, uint64_t now)
{
	for (int i = 0; i < pool->state->limits.max_scans; i++)
	{
		CScanScan  *s = &pool->scans[i];
		CScanScan	before = *s;

		if (s->used)
			continue;

		/* The entry may still be in queues, from its last use. */
		memset(s, 0, sizeof(*s));
		s->queue = before.queue;
		s->in_empty = before.in_empty;
		s->queued_policy = before.queued_policy;
		memcpy(s->places, before.places, sizeof(s->places));
		s->used = true;
		s->policy = (uint8_t) policy;
		s->in_use = CSCAN_NONE;
		s->columns = s->overlap = UINT64_MAX;
		s->since = now;
		return i;
	}
	return CSCAN_NONE;
}

int
cscan_pool_register(CScanPool *pool, CScanPolicyId policy, uint64_t now)
{
	int			scan = register_scan(pool, policy, now);

	CSCAN_RECORD(pool,.kind = CSCAN_TRACE_REGISTER,.scan = scan,.flag = (uint8_t) policy,.time = now);
	return scan;
}

void
cscan_pool_announce(CScanPool *pool, int scan, int space, uint32_t nblocks,
					const CScanRange *ranges, uint32_t nranges)
{
	CScanTraceRecord r = {.kind = CSCAN_TRACE_ANNOUNCE,.scan = scan,.other = space,.blocks = nblocks,
	.count = (uint16_t) nranges};
	CScanSpace *p = &pool->spaces[space];

	if (p->nscans == 0)
		p->extent = nblocks;
	else
		grow(pool, space, nblocks);
	if (!cscan_pool_interested_in(pool, scan, space))
	{
		cscan_set_add(cscan_scan_spaces(pool, scan), (uint32_t) space);
		cscan_set_add(cscan_space_scans(pool, space), (uint32_t) scan);
		if (pool->scans[scan].nspaces++ == 0 || (uint32_t) space < pool->scans[scan].first_space)
			pool->scans[scan].first_space = (uint32_t) space;
		p->nscans++;
	}
	cscan_interest_add(pool, scan, space, nblocks, ranges, nranges);
	record_ranges(pool, &r, ranges, nranges);
}

void
cscan_pool_set_columns(CScanPool *pool, int scan, uint64_t columns, uint64_t common)
{
	CScanScan  *s = &pool->scans[scan];

	s->columns = columns;
	s->overlap = (columns & ~common) != 0 ? columns & ~common : columns;
	CSCAN_RECORD(pool,.kind = CSCAN_TRACE_COLUMNS,.scan = scan,.time = columns,
				 .chunk = (uint32_t) s->overlap,.blocks = (uint32_t) (s->overlap >> 32));
}

/* A scan's loads go on where the last load in its spaces ended. */
static uint32_t
first_cursor(const CScanPool *pool, int scan)
{
	const CScanSpace *latest = NULL;

	CSCAN_SET_EACH(i, cscan_scan_spaces(pool, scan), cscan_space_words(pool))
	{
		if (latest == NULL || pool->spaces[i].last_load > latest->last_load)
			latest = &pool->spaces[i];
	}
	return latest ? latest->cursor : 0;
}

void
cscan_pool_start(CScanPool *pool, int scan, uint64_t now)
{
	CScanScan  *s = &pool->scans[scan];

	cscan_interest_complete(pool, scan);
	s->since = now;
	s->cursor = first_cursor(pool, scan);
	s->started = true;
	NOTE(pool, on_start, scan);
	cscan_status_enter(pool, scan);
	s->position = cscan_policies[s->policy]->start(pool, scan);
	CSCAN_RECORD(pool,.kind = CSCAN_TRACE_START,.scan = scan,.time = now,.chunk = s->position);
}

static void
unwant(CScanPool *pool, int scan, uint32_t chunk)
{
	CScanScan  *s = &pool->scans[scan];

	if (!cscan_pool_wants(pool, scan, chunk))
		return;
	s->needed -= cscan_pool_cost_for(pool, scan, chunk);
	s->nloadable -= cscan_set_has(pool->loadable, chunk);
	cscan_set_remove(cscan_wanted(pool, scan), chunk);
	if (--s->nwanted == 0)
		s->blocked = false;		/* nothing is left to wait for */
	cscan_status_unwanted(pool, scan, chunk);
}

void
cscan_pool_unwant(CScanPool *pool, int scan, uint32_t chunk)
{
	unwant(pool, scan, chunk);
	CSCAN_RECORD(pool,.kind = CSCAN_TRACE_UNWANT,.scan = scan,.chunk = chunk);
}

void
cscan_pool_unwant_space(CScanPool *pool, int scan, int space)
{
	const CScanSpace *p = &pool->spaces[space];

	for (uint32_t c = p->first_chunk; c < p->first_chunk + p->nchunks; c++)
		unwant(pool, scan, c);
	CSCAN_RECORD(pool,.kind = CSCAN_TRACE_UNWANT_SPACE,.scan = scan,.other = space);
}

/*
 * Set which slot a process of a scan reads, and whether it waits.  The scan is
 * blocked while any of its processes waits and it still wants a chunk.
 */
static void
set_reader(CScanPool *pool, int scan, int helper, int in_use, bool waiting, uint64_t now)
{
	CScanScan  *s = &pool->scans[scan];

	if (!s->blocked)
		s->since = now;
	pool->state->unpinned = false;
	if (helper == CSCAN_NONE)
	{
		s->waiting = waiting;
		cscan_status_reads(pool, scan, &s->in_use, in_use);
	}
	else
	{
		pool->helpers[helper].waiting = waiting;
		cscan_status_reads(pool, scan, &pool->helpers[helper].in_use, in_use);
	}

	s->blocked = s->waiting;
	for (int i = 0; i < pool->state->limits.max_helpers && s->nhelpers > 0 && !s->blocked; i++)
		s->blocked = pool->helpers[i].used && pool->helpers[i].scan == scan &&
			pool->helpers[i].waiting;
	s->blocked &= (s->nwanted > 0);
}

/* Stop counting a scan, if it has started.  It wants nothing from now on. */
static void
stop(CScanPool *pool, int scan)
{
	CScanScan  *s = &pool->scans[scan];

	if (s->started)
		cscan_status_leave(pool, scan);
	s->started = false;
	cscan_interest_clear(pool, scan);
	pool->state->unpinned = false;
}

void
cscan_pool_rest(CScanPool *pool, int scan, uint64_t now)
{
	CScanScan  *s = &pool->scans[scan];

	set_reader(pool, scan, CSCAN_NONE, CSCAN_NONE, false, now);
	stop(pool, scan);
	s->blocked = s->waiting = false;
	s->since = now;
	CSCAN_RECORD(pool,.kind = CSCAN_TRACE_REST,.scan = scan,.time = now);
}

static void
leave_space(CScanPool *pool, int scan, int space)
{
	cscan_set_remove(cscan_scan_spaces(pool, scan), (uint32_t) space);
	cscan_set_remove(cscan_space_scans(pool, space), (uint32_t) scan);
	pool->spaces[space].nscans--;
	if (--pool->scans[scan].nspaces > 0 && (uint32_t) space == pool->scans[scan].first_space)
		pool->scans[scan].first_space = (uint32_t) cscan_pool_space_of_scan(pool, scan, space);
}

void
cscan_pool_leave_space(CScanPool *pool, int scan, int space)
{
	leave_space(pool, scan, space);
	CSCAN_RECORD(pool,.kind = CSCAN_TRACE_LEAVE_SPACE,.scan = scan,.other = space);
}

void
cscan_pool_unregister(CScanPool *pool, int scan)
{
	CScanScan  *s = &pool->scans[scan];

	cscan_status_reads(pool, scan, &s->in_use, CSCAN_NONE);
	for (int i = 0; i < pool->state->limits.max_helpers && s->nhelpers > 0; i++)
	{
		CScanHelper *helper = &pool->helpers[i];

		if (helper->used && helper->scan == scan)
		{
			cscan_status_reads(pool, scan, &helper->in_use, CSCAN_NONE);
			helper->scan = CSCAN_NONE;
			s->nhelpers--;
		}
	}
	stop(pool, scan);
	CSCAN_SET_EACH(i, cscan_scan_spaces(pool, scan), cscan_space_words(pool))
	{
		leave_space(pool, scan, i);
	}
	s->used = false;
	/* Hardly any scan leaves before it has taken what was loaded for it. */
	CSCAN_SET_EACH(i, cscan_slot_set(pool, CSCAN_SLOTS_TAKEN), s->promised > 0 ? cscan_slot_words(pool) : 0)
	{
		if (pool->slots[i].loaded_for == scan)
			cscan_slots_promise(pool, i, CSCAN_NONE);
		if (s->promised == 0)
			break;
	}
	CSCAN_RECORD(pool,.kind = CSCAN_TRACE_UNREGISTER,.scan = scan);
}

static void
set_stalled(CScanPool *pool, int scan, bool stalled)
{
	pool->scans[scan].stalled = stalled;
	cscan_status_changed(pool, scan);
}

void
cscan_pool_set_stalled(CScanPool *pool, int scan, bool stalled)
{
	set_stalled(pool, scan, stalled);
	CSCAN_RECORD(pool,.kind = CSCAN_TRACE_STALLED,.scan = scan,.flag = stalled);
}

void
cscan_pool_set_warm(CScanPool *pool, int scan, bool warm)
{
	pool->scans[scan].warm = warm;
	cscan_status_changed(pool, scan);
	CSCAN_RECORD(pool,.kind = CSCAN_TRACE_WARM,.scan = scan,.flag = warm);
}

void
cscan_pool_set_position(CScanPool *pool, int scan, uint32_t chunk)
{
	pool->scans[scan].position = chunk;
	CSCAN_RECORD(pool,.kind = CSCAN_TRACE_POSITION,.scan = scan,.chunk = chunk);
}

/* ------------------------------------------------------------------
 * Helpers
 * ------------------------------------------------------------------ */

int
cscan_pool_join(CScanPool *pool, int scan)
{
	for (int i = 0; i < pool->state->limits.max_helpers; i++)
	{
		CScanHelper *helper = &pool->helpers[i];

		if (helper->used)
			continue;
		helper->used = true;
		helper->waiting = false;
		helper->scan = scan;
		helper->in_use = CSCAN_NONE;
		pool->scans[scan].nhelpers++;
		pool->state->nhelpers++;
		cscan_status_changed(pool, scan);
		CSCAN_RECORD(pool,.kind = CSCAN_TRACE_JOIN,.scan = scan,.other = i);
		return i;
	}
	CSCAN_RECORD(pool,.kind = CSCAN_TRACE_JOIN,.scan = scan,.other = CSCAN_NONE);
	return CSCAN_NONE;
}

void
cscan_pool_quit(CScanPool *pool, int helper)
{
	int			scan = pool->helpers[helper].scan;

	if (scan != CSCAN_NONE)
	{
		set_reader(pool, scan, helper, CSCAN_NONE, false, pool->scans[scan].since);
		pool->scans[scan].nhelpers--;
		cscan_status_changed(pool, scan);
	}
	pool->helpers[helper].used = false;
	pool->state->nhelpers--;
	CSCAN_RECORD(pool,.kind = CSCAN_TRACE_QUIT,.other = helper);
}

/* ------------------------------------------------------------------
 * Chunks
 * ------------------------------------------------------------------ */

static int
choose(CScanPool *pool, int scan, int helper, uint64_t now)
{
	CScanScan  *s = &pool->scans[scan];
	int			slot;

	if (s->stalled)
		set_stalled(pool, scan, false);
	slot = s->nwanted == 0 ? CSCAN_NONE :
		cscan_policies[s->policy]->choose_available(pool, scan);
	set_reader(pool, scan, helper, slot, slot == CSCAN_NONE && s->nwanted > 0, now);
	if (slot == CSCAN_NONE)
		return CSCAN_NONE;

	/*
	 * This serves the scan's processes that still wait, too: their turn begins
	 * anew.
	 */
	if (s->blocked)
		s->since = now;
	unwant(pool, scan, pool->slots[slot].chunk);
	s->position = pool->slots[slot].chunk;
	s->loaded_for = (pool->slots[slot].loaded_for == scan);
	if (s->loaded_for)
		cscan_slots_promise(pool, slot, CSCAN_NONE);
	cscan_slots_touch(pool, slot, now);
	return slot;
}

int
cscan_pool_choose(CScanPool *pool, int scan, int helper, uint64_t now)
{
	int			slot = choose(pool, scan, helper, now);

	CSCAN_RECORD(pool,.kind = CSCAN_TRACE_CHOOSE,.scan = scan,.other = helper,.time = now,
				 .slot = slot,.chunk = slot == CSCAN_NONE ? 0 : pool->slots[slot].chunk);
	return slot;
}

bool
cscan_pool_peek(const CScanPool *pool, int scan, uint32_t *chunk)
{
	uint32_t	position = pool->scans[scan].position;

	*chunk = cscan_state_first_refused(pool, scan, position);
	if (*chunk == CSCAN_NO_CHUNK)
		*chunk = cscan_state_first_absent(pool, scan, position, false);
	if (*chunk == CSCAN_NO_CHUNK)
		*chunk = cscan_pool_next_wanted(pool, scan, position);
	return *chunk != CSCAN_NO_CHUNK;
}

bool
cscan_pool_take(CScanPool *pool, int scan, int helper, uint64_t now, uint32_t *chunk)
{
	bool		found = cscan_pool_peek(pool, scan, chunk);

	if (found)
	{
		unwant(pool, scan, *chunk);
		set_reader(pool, scan, helper, CSCAN_NONE, false, now);
		pool->scans[scan].since = now;
		pool->scans[scan].position = *chunk;
		set_stalled(pool, scan, false);
	}
	CSCAN_RECORD(pool,.kind = CSCAN_TRACE_TAKE,.scan = scan,.other = helper,.time = now,
				 .flag = found,.chunk = found ? *chunk : 0);
	return found;
}

/* ------------------------------------------------------------------
 * Slots
 * ------------------------------------------------------------------ */

/*
 * Note that a load took duration us.  A device's average is per block loaded.
 * The pool's, which says what a scan's need is worth in waiting time, is per
 * block of the whole chunk, of columns that are there: many small loads must
 * not make scans that need much wait longer.
 */
static void
note_duration(CScanPool *pool, const CScanSlot *slot, uint64_t duration)
{
	const CScanSpace *space = &pool->spaces[slot->space];
	CScanDevice *device = &pool->state->devices[space->device];
	uint32_t	cost = cscan_space_is_columnar(space) ? slot->nblocks : cscan_space_cost(space, slot->chunk);
	double		sample = (double) duration / slot->loading;
	double		before = pool->state->block_time;

	device->block_time = device->block_time == 0 ? sample :
		device->block_time + (sample - device->block_time) / 8.0;
	sample = (double) duration / (cost > slot->loading ? cost : slot->loading);
	cscan_queue_set_block_time(pool, before + (sample - before) / 8.0);
}

void
cscan_pool_arrived(CScanPool *pool, int slot, const CScanPieces *pieces)
{
	cscan_slots_arrived(pool, slot, pieces);
	cscan_status_slot_changed(pool, slot);
	CSCAN_RECORD(pool,.kind = CSCAN_TRACE_ARRIVED,.slot = slot,.time = pieces->word[0]);
}

void
cscan_pool_loaded(CScanPool *pool, int slot, uint64_t now, uint64_t duration, bool failed, bool cheap)
{
	const CScanSlot *s = &pool->slots[slot];

	cscan_slots_end_load(pool, slot, now, failed, cheap);
	pool->state->unpinned = false;
	cscan_status_slot_changed(pool, slot);
	if (duration > 0 && s->loading > 0)
		note_duration(pool, s, duration);
	CSCAN_RECORD(pool,.kind = CSCAN_TRACE_LOADED,.slot = slot,.time = now,
				 .chunk = (uint32_t) duration,.blocks = (uint32_t) (duration >> 32),
				 .flag = (failed ? CSCAN_TRACE_LOADED_FAILED : 0) | (cheap ? CSCAN_TRACE_LOADED_CHEAP : 0));
}

void
cscan_pool_drop(CScanPool *pool, int slot)
{
	cscan_schedule_drop(pool, slot);
	CSCAN_RECORD(pool,.kind = CSCAN_TRACE_DROP,.slot = slot);
}

/* The slots of word w that are in flight, in use, or wanted. */
static uint64_t
must_stay(const CScanPool *pool, const CScanTally *interested, uint32_t w)
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

/* The first slot of a set that no scan needs, or CSCAN_NONE. */
static int
first_not_needed(CScanPool *pool, const uint64_t *set)
{
	CScanTally	interested = cscan_status_slots(pool, CSCAN_TALLY_INTERESTED);

	for (uint32_t w = 0; w < cscan_slot_words(pool); w++)
	{
		uint64_t	slots = set[w];

		if (slots != 0)
			slots &= ~must_stay(pool, &interested, w);
		if (slots != 0)
			return nth(w, slots);
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
			slots &= must_stay(pool, &interested, w);
		for (; slots != 0; slots &= slots - 1)
		{
			int			slot = nth(w, slots);

			/* Leave some of the budget to the next loads. */
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
	int			slot = first_not_needed(pool, cscan_slot_set(pool, CSCAN_SLOTS_DISPENSABLE));

	CSCAN_RECORD(pool,.kind = CSCAN_TRACE_USELESS,.slot = slot);
	return slot;
}

int
cscan_pool_release(CScanPool *pool)
{
	int			slot = first_not_needed(pool, cscan_slot_set(pool, CSCAN_SLOTS_HELD));

	if (slot != CSCAN_NONE)
		cscan_slots_set_held(pool, slot, false);
	CSCAN_RECORD(pool,.kind = CSCAN_TRACE_RELEASE,.slot = slot);
	return slot;
}

int
cscan_pool_hold(CScanPool *pool)
{
	int			slot = hold(pool);

	CSCAN_RECORD(pool,.kind = CSCAN_TRACE_HOLD,.slot = slot);
	return slot;
}
