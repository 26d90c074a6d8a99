/*-------------------------------------------------------------------------
 *
 * pool.c
 *		Tables, scans and slots, and the questions that policies ask of them.
 *
 * See pool.h for the invariants.  What changes is passed on to slots.c, which
 * keeps the slots in order, and to status.c, which keeps what each scan has and
 * how many want what; schedule.c puts the policies together.
 *
 *-------------------------------------------------------------------------
 */
#include <string.h>

#include "pool_internal.h"

/* Walk over the parts; with memory = NULL only add up their sizes. */
static size_t
lay_out(CScanPool *pool, char *memory, int max_scans, int max_slots, int max_helpers)
{
	size_t		size = 0;
	size_t		scans = max_scans;
	size_t		scan_words = cscan_set_words((uint32_t) max_scans);
	size_t		slot_words = cscan_set_words((uint32_t) max_slots);

#define PART(part, type, count) \
	do { \
		if (memory != NULL) \
			pool->part = (type *) (memory + size); \
		size += (sizeof(type) * (count) + 7) / 8 * 8; \
	} while (0)

	PART(state, CScanPoolState, 1);
	PART(scans, CScanInterest, scans);
	PART(tables, CScanTable, scans);
	PART(slots, CScanSlot, max_slots);
	PART(helpers, CScanHelper, max_helpers);
	PART(ranges, CScanRange, scans * CSCAN_MAX_RANGES);
	PART(wanted, uint64_t, scans * CSCAN_MAP_WORDS);
	PART(resident, uint64_t, scans * CSCAN_MAP_WORDS);
	PART(slot_sets, uint64_t, CSCAN_NSLOT_SETS * slot_words);
	PART(slot_tallies, uint64_t,
		 CSCAN_NTALLIES * (size_t) cscan_tally_planes((uint32_t) max_scans) * slot_words);
	PART(scan_slots, uint64_t, scans * CSCAN_NHAS * slot_words);
	PART(scan_sets, uint64_t, CSCAN_NSCAN_SETS * scan_words);
	PART(table_scans, uint64_t, scans * scan_words);
	PART(planes, uint64_t, 2 * scans * CSCAN_MAP_WORDS);
	PART(free_planes, int32_t, 2 * scans);
	PART(index, int32_t, cscan_slots_index_size(max_slots));
	PART(slot_places, CScanSlotPlace, CSCAN_NSLOT_LISTS * (size_t) max_slots);
	PART(queues, CScanQueued, CSCAN_NQUEUES * scans);
#undef PART

	return size;
}

size_t
cscan_pool_size(int max_scans, int max_slots, int max_helpers)
{
	return lay_out(NULL, NULL, max_scans, max_slots, max_helpers);
}

void
cscan_pool_attach(CScanPool *pool, void *memory, int max_scans, int max_slots,
				  int max_helpers)
{
	lay_out(pool, memory, max_scans, max_slots, max_helpers);
	pool->record = NULL;
}

void
cscan_pool_set_limits(CScanPool *pool, uint32_t budget, uint32_t room)
{
	pool->state->budget = budget;
	pool->state->room = room;
	CSCAN_TRACE(pool,.kind = CSCAN_TRACE_LIMITS,.chunk = budget,.blocks = room);
}

void
cscan_pool_set_load_time(CScanPool *pool, double load_time)
{
	pool->state->pace = 0;
	cscan_queue_note_load(pool, load_time);
	CSCAN_TRACE(pool,.kind = CSCAN_TRACE_LOAD_TIME,.time = (uint64_t) load_time);
}

void
cscan_pool_set_loadable(CScanPool *pool, int table, bool loadable)
{
	pool->tables[table].loadable = loadable;
	CSCAN_SET_EACH(i, cscan_table_scans(pool, table), cscan_scan_words(pool))
	{
		cscan_status_changed(pool, i);
	}
	CSCAN_TRACE(pool,.kind = CSCAN_TRACE_LOADABLE,.other = table,.flag = loadable);
}

void
cscan_pool_set_cursor(CScanPool *pool, int table, uint32_t chunk)
{
	pool->tables[table].cursor = pool->tables[table].elevator = chunk;
	CSCAN_TRACE(pool,.kind = CSCAN_TRACE_CURSOR,.other = table,.chunk = chunk);
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
	CSCAN_TRACE(pool,.kind = CSCAN_TRACE_STALLED,.scan = scan,.flag = stalled);
}

void
cscan_pool_set_warm(CScanPool *pool, int scan, bool warm)
{
	pool->scans[scan].warm = warm;
	cscan_status_changed(pool, scan);
	CSCAN_TRACE(pool,.kind = CSCAN_TRACE_WARM,.scan = scan,.flag = warm);
}

void
cscan_pool_set_position(CScanPool *pool, int scan, uint32_t chunk)
{
	pool->scans[scan].position = chunk;
	CSCAN_TRACE(pool,.kind = CSCAN_TRACE_POSITION,.scan = scan,.chunk = chunk);
}

void
cscan_pool_init(CScanPool *pool, int max_scans, int max_slots, int max_helpers)
{
	memset(pool->state, 0, sizeof(*pool->state));
	pool->state->max_scans = max_scans;
	pool->state->max_slots = max_slots;
	pool->state->max_helpers = max_helpers;
	pool->state->room_for = CSCAN_NONE;

	memset(pool->scans, 0, sizeof(CScanInterest) * max_scans);
	memset(pool->tables, 0, sizeof(CScanTable) * max_scans);
	if (max_helpers > 0)
		memset(pool->helpers, 0, sizeof(CScanHelper) * max_helpers);
	memset(pool->wanted, 0, sizeof(uint64_t) * CSCAN_MAP_WORDS * max_scans);
	memset(pool->resident, 0, sizeof(uint64_t) * CSCAN_MAP_WORDS * max_scans);

	for (int i = 0; i < max_scans; i++)
		pool->scans[i].table = CSCAN_NONE;
	cscan_slots_init(pool);
	cscan_status_init(pool);
	cscan_queue_init(pool);
	cscan_pool_set_load_time(pool, 10000.0);
}

/*
 * A pool should hold at least 8 chunks, and a table has at most
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
	while ((nblocks - (nblocks > 0)) / blocks >= CSCAN_MAX_CHUNKS)
		blocks *= 2;
	return blocks;
}

int
cscan_pool_add_table(CScanPool *pool, uint32_t chunk_blocks)
{
	for (int i = 0; i < pool->state->max_scans; i++)
	{
		CScanTable *table = &pool->tables[i];

		if (table->used)
			continue;
		memset(table, 0, sizeof(*table));
		table->used = true;
		table->chunk_blocks = chunk_blocks;
		table->piece_blocks = (chunk_blocks - 1) / CSCAN_MAX_PIECES + 1;
		memset(RESIDENT(pool, i), 0, sizeof(uint64_t) * CSCAN_MAP_WORDS);
		CSCAN_TRACE(pool,.kind = CSCAN_TRACE_ADD_TABLE,.other = i,.blocks = chunk_blocks);
		return i;
	}
	CSCAN_TRACE(pool,.kind = CSCAN_TRACE_ADD_TABLE,.other = CSCAN_NONE,.blocks = chunk_blocks);
	return CSCAN_NONE;
}

void
cscan_pool_remove_table(CScanPool *pool, int table)
{
	for (int i = 0; i < pool->state->max_slots; i++)
	{
		if (pool->slots[i].table == table)
			cscan_slots_drop(pool, i);
	}
	pool->tables[table].used = false;
	CSCAN_TRACE(pool,.kind = CSCAN_TRACE_REMOVE_TABLE,.other = table);
}

/* What a scan is to read, as it sees the table; its wanted set is empty yet. */
static void
set_interest(CScanPool *pool, int scan, uint32_t nblocks, const CScanRange *ranges,
			 uint32_t nranges)
{
	CScanInterest *s = &pool->scans[scan];
	CScanTable *t = &pool->tables[s->table];
	uint64_t   *wanted = WANTED(pool, scan);

	s->nblocks = nblocks;
	s->nchunks = nblocks / t->chunk_blocks + (nblocks % t->chunk_blocks != 0);
	s->nranges = nranges;
	s->needed = s->end_word = 0;
	if (nranges > 0)
		memcpy(RANGES(pool, scan), ranges, sizeof(CScanRange) * nranges);
	for (uint32_t r = 0; r < nranges; r++)
	{
		uint32_t	first = ranges[r].first / t->chunk_blocks;
		uint32_t	last = (ranges[r].end - 1) / t->chunk_blocks;

		/* The range before may have ended in the same chunk. */
		if (r > 0 && first == (ranges[r - 1].end - 1) / t->chunk_blocks)
			first++;
		if (first > last)
			continue;
		cscan_set_add_range(wanted, first, last);
		s->needed += last + 1 - first;
		s->end_word = last / 64 + 1;
	}
	s->first_word = nranges > 0 ? ranges[0].first / t->chunk_blocks / 64 : 0;
	if (t->nblocks < nblocks)
		t->nblocks = nblocks;
	if (nranges > 0)
		cscan_demand_note(pool, scan);
}

static int
add_scan(CScanPool *pool, int table, CScanPolicyId policy, uint32_t nblocks,
		 const CScanRange *ranges, uint32_t nranges, uint64_t now)
{
	for (int i = 0; i < pool->state->max_scans; i++)
	{
		CScanInterest *scan = &pool->scans[i];
		uint8_t		queue;
		int32_t		place;

		if (scan->table != CSCAN_NONE)
			continue;

		/* It may still be in a queue, from its last use. */
		queue = scan->queue;
		place = scan->place;
		memset(scan, 0, sizeof(*scan));
		scan->queue = queue;
		scan->place = place;
		scan->table = table;
		scan->policy = (uint8_t) policy;
		scan->in_use = CSCAN_NONE;
		scan->since = now;
		pool->tables[table].nscans++;
		set_interest(pool, i, nblocks, ranges, nranges);
		cscan_status_enter(pool, i);
		return i;
	}
	return CSCAN_NONE;
}

int
cscan_pool_register(CScanPool *pool, int table, CScanPolicyId policy,
					uint32_t nblocks, const CScanRange *ranges, uint32_t nranges,
					uint64_t now)
{
	int			scan = add_scan(pool, table, policy, nblocks, ranges, nranges, now);

	CSCAN_TRACE_WITH_RANGES(pool, ranges, nranges,.kind = CSCAN_TRACE_REGISTER,.scan = scan,
							.other = table,.flag = (uint8_t) policy,.blocks = nblocks,.time = now);
	return scan;
}

/* The scan's set of chunks is complete: let its policy say where to begin. */
void
cscan_pool_start(CScanPool *pool, int scan)
{
	pool->scans[scan].position =
		cscan_policies[pool->scans[scan].policy]->start(pool, scan);
	CSCAN_TRACE(pool,.kind = CSCAN_TRACE_START,.scan = scan,.chunk = pool->scans[scan].position);
}

static void
unwant(CScanPool *pool, int scan, uint32_t chunk)
{
	if (cscan_pool_wants(pool, scan, chunk))
	{
		cscan_set_remove(WANTED(pool, scan), chunk);
		if (--pool->scans[scan].needed == 0)
			pool->scans[scan].blocked = false;	/* whoever waits, waits in
												 * vain */
		cscan_status_unwanted(pool, scan, chunk);
	}
}

void
cscan_pool_unwant(CScanPool *pool, int scan, uint32_t chunk)
{
	unwant(pool, scan, chunk);
	CSCAN_TRACE(pool,.kind = CSCAN_TRACE_UNWANT,.scan = scan,.chunk = chunk);
}

void
cscan_pool_unregister(CScanPool *pool, int scan)
{
	CScanInterest *s = &pool->scans[scan];
	CScanTable *t = &pool->tables[s->table];
	int			table = s->table;

	cscan_status_reads(pool, scan, &s->in_use, CSCAN_NONE);
	for (int i = 0; i < pool->state->max_helpers && s->nhelpers > 0; i++)
	{
		CScanHelper *helper = &pool->helpers[i];

		if (helper->used && helper->scan == scan)
		{
			cscan_status_reads(pool, scan, &helper->in_use, CSCAN_NONE);
			helper->scan = CSCAN_NONE;
			s->nhelpers--;
		}
	}
	cscan_status_leave(pool, scan);
	pool->state->unpinned = false;
	s->table = CSCAN_NONE;
	t->nscans--;
	cscan_status_changed(pool, scan);
	cscan_status_shrink(pool, table);

	t->nblocks = 0;
	CSCAN_SET_EACH(i, cscan_table_scans(pool, table), cscan_scan_words(pool))
	{
		if (t->nblocks < pool->scans[i].nblocks)
			t->nblocks = pool->scans[i].nblocks;
	}
	CSCAN_SET_EACH(i, cscan_slot_set(pool, CSCAN_SLOTS_TAKEN), cscan_slot_words(pool))
	{
		if (pool->slots[i].trigger == scan)
			pool->slots[i].trigger = CSCAN_NONE;
	}
	CSCAN_TRACE(pool,.kind = CSCAN_TRACE_UNREGISTER,.scan = scan);
}

int
cscan_pool_join(CScanPool *pool, int scan)
{
	for (int i = 0; i < pool->state->max_helpers; i++)
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
		CSCAN_TRACE(pool,.kind = CSCAN_TRACE_JOIN,.scan = scan,.other = i);
		return i;
	}
	CSCAN_TRACE(pool,.kind = CSCAN_TRACE_JOIN,.scan = scan,.other = CSCAN_NONE);
	return CSCAN_NONE;
}

/*
 * What a process of a scan has and waits for, from now on.  The scan is blocked
 * while any of them waits for something that can come.
 */
static void
set_reader(CScanPool *pool, int scan, int helper, int in_use, bool waiting, uint64_t now)
{
	CScanInterest *s = &pool->scans[scan];

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
	for (int i = 0; i < pool->state->max_helpers && s->nhelpers > 0 && !s->blocked; i++)
		s->blocked = pool->helpers[i].used && pool->helpers[i].scan == scan &&
			pool->helpers[i].waiting;
	s->blocked &= (s->needed > 0);
}

void
cscan_pool_again(CScanPool *pool, int scan, uint32_t nblocks, const CScanRange *ranges,
				 uint32_t nranges, uint64_t now)
{
	cscan_status_leave(pool, scan);
	set_interest(pool, scan, nblocks, ranges, nranges);
	cscan_status_enter(pool, scan);
	set_reader(pool, scan, CSCAN_NONE, CSCAN_NONE, false, now);
	CSCAN_TRACE_WITH_RANGES(pool, ranges, nranges,.kind = CSCAN_TRACE_AGAIN,.scan = scan,
							.blocks = nblocks,.time = now);
}

void
cscan_pool_part(CScanPool *pool, int helper)
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
	CSCAN_TRACE(pool,.kind = CSCAN_TRACE_PART,.other = helper);
}

int
cscan_pool_choose(CScanPool *pool, int scan, int helper, uint64_t now)
{
	CScanInterest *s = &pool->scans[scan];
	int			slot;

	if (s->stalled)
		set_stalled(pool, scan, false);
	slot = s->needed == 0 ? CSCAN_NONE :
		cscan_policies[s->policy]->choose_available(pool, scan);
	set_reader(pool, scan, helper, slot, slot == CSCAN_NONE && s->needed > 0, now);
	if (slot == CSCAN_NONE)
	{
		CSCAN_TRACE(pool,.kind = CSCAN_TRACE_CHOOSE,.scan = scan,.other = helper,.time = now,
					.slot = CSCAN_NONE);
		return CSCAN_NONE;
	}

	/*
	 * Others that still wait have been served with it: their turn begins
	 * anew.
	 */
	if (s->blocked)
		s->since = now;
	unwant(pool, scan, pool->slots[slot].chunk);
	s->position = pool->slots[slot].chunk;
	s->loaded_for = (pool->slots[slot].trigger == scan);
	if (s->loaded_for)
		pool->slots[slot].trigger = CSCAN_NONE;
	cscan_slots_touch(pool, slot, now);
	CSCAN_TRACE(pool,.kind = CSCAN_TRACE_CHOOSE,.scan = scan,.other = helper,.time = now,
				.slot = slot,.chunk = s->position);
	return slot;
}

bool
cscan_pool_peek(const CScanPool *pool, int scan, uint32_t *chunk)
{
	uint32_t	position = pool->scans[scan].position;

	*chunk = cscan_status_first_absent(pool, scan, position);
	if (*chunk == CSCAN_NO_CHUNK)
		*chunk = cscan_pool_next_wanted(pool, scan, position);
	return *chunk != CSCAN_NO_CHUNK;
}

bool
cscan_pool_take(CScanPool *pool, int scan, int helper, uint64_t now, uint32_t *chunk)
{
	if (!cscan_pool_peek(pool, scan, chunk))
	{
		CSCAN_TRACE(pool,.kind = CSCAN_TRACE_TAKE,.scan = scan,.other = helper,.time = now);
		return false;
	}
	unwant(pool, scan, *chunk);
	set_reader(pool, scan, helper, CSCAN_NONE, false, now);
	pool->scans[scan].since = now;
	pool->scans[scan].position = *chunk;
	set_stalled(pool, scan, false);
	CSCAN_TRACE(pool,.kind = CSCAN_TRACE_TAKE,.scan = scan,.other = helper,.time = now,
				.flag = true,.chunk = *chunk);
	return true;
}

bool
cscan_pool_active(const CScanPool *pool, int scan)
{
	return pool->scans[scan].table != CSCAN_NONE && !pool->scans[scan].stalled;
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
	return chunk < pool->scans[scan].nchunks && cscan_set_has(WANTED(pool, scan), chunk);
}

int
cscan_pool_scan_of(const CScanPool *pool, int table, int from)
{
	return cscan_set_next(cscan_table_scans(pool, table), cscan_scan_words(pool), (uint32_t) from);
}

/* Has it fewer chunks available than a limit, which is meant for one process? */
bool
cscan_pool_below(const CScanPool *pool, int scan, uint32_t limit)
{
	return pool->scans[scan].available < limit + pool->scans[scan].nhelpers;
}

/* queryStarved() */
bool
cscan_pool_starved(const CScanPool *pool, int scan)
{
	return cscan_pool_active(pool, scan) && pool->scans[scan].needed > 0 &&
		!pool->scans[scan].warm && cscan_pool_below(pool, scan, 2);
}

/* Is anything left to load for it? */
bool
cscan_pool_has_absent(const CScanPool *pool, int scan)
{
	const CScanInterest *s = &pool->scans[scan];

	return s->needed > s->available - s->using;
}

bool
cscan_pool_in_flight(const CScanPool *pool, int slot)
{
	return pool->slots[slot].in_flight;
}

/*
 * Would the scan find something to use if it were woken because this slot is
 * ready?  Where others of its chunks are of use as well, one of them is.
 */
bool
cscan_pool_can_use(const CScanPool *pool, int slot, int scan)
{
	const CScanPolicy *policy = cscan_policies[pool->scans[scan].policy];

	return pool->scans[scan].table == pool->slots[slot].table &&
		cscan_pool_wants(pool, scan, pool->slots[slot].chunk) &&
		cscan_pool_ready_for(pool, slot, scan) &&
		(!policy->in_order || policy->choose_available(pool, scan) != CSCAN_NONE);
}

/*
 * Neither ready nor in flight.  What is in flight may turn out not to be all
 * that the scan wants; then it is absent when it has arrived.
 */
bool
cscan_pool_absent_for(const CScanPool *pool, int scan, uint32_t chunk)
{
	int			slot = cscan_pool_find(pool, pool->scans[scan].table, chunk);

	return slot == CSCAN_NONE ||
		(!pool->slots[slot].in_flight && !cscan_pool_ready_for(pool, slot, scan));
}

/* Processes that read it for scans that are not stalled. */
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
cscan_pool_interested(const CScanPool *pool, int table, uint32_t chunk)
{
	int			n = 0;

	CSCAN_SET_EACH(i, cscan_table_scans(pool, table), cscan_scan_words(pool))
	{
		n += !pool->scans[i].stalled && cscan_pool_wants(pool, i, chunk);
	}
	return n;
}

/* The first wanted chunk at or after "from", going round once. */
uint32_t
cscan_pool_next_wanted(const CScanPool *pool, int scan, uint32_t from)
{
	const CScanInterest *s = &pool->scans[scan];
	const uint64_t *wanted = WANTED(pool, scan);
	uint32_t	c = from < s->nchunks ? from : 0;

	if (s->needed == 0)
		return CSCAN_NO_CHUNK;
	for (;;)
	{
		uint64_t	word = wanted[c / 64] >> (c % 64);

		if (word != 0)
			return c + (uint32_t) __builtin_ctzll(word);
		c = (c / 64 + 1) * 64;
		if (c >= s->nchunks)
			c = 0;
	}
}

/* What the pool knows of its tables, scans, helpers and slots as a whole. */
static void
count_all(CScanPool *pool)
{
	CScanPoolState *state = pool->state;

	state->used = state->total = 0;
	state->nhelpers = 0;
	for (int i = 0; i < state->max_scans; i++)
	{
		CScanTable *t = &pool->tables[i];

		t->nscans = 0;
		t->piece_blocks = t->used ? (t->chunk_blocks - 1) / CSCAN_MAX_PIECES + 1 : 0;
		cscan_demand_rebuild(pool, i);
	}
	for (int i = 0; i < state->max_scans; i++)
	{
		CScanInterest *s = &pool->scans[i];

		s->nhelpers = 0;
		if (s->table == CSCAN_NONE)
			continue;
		pool->tables[s->table].nscans++;
		s->first_word = 0;
		s->end_word = cscan_set_words(s->nchunks);
		s->needed = cscan_set_count(WANTED(pool, i), s->end_word);
	}
	for (int i = 0; i < state->max_helpers; i++)
	{
		if (!pool->helpers[i].used)
			continue;
		state->nhelpers++;
		if (pool->helpers[i].scan != CSCAN_NONE)
			pool->scans[pool->helpers[i].scan].nhelpers++;
	}
	for (int i = 0; i < state->max_slots; i++)
	{
		const CScanSlot *s = &pool->slots[i];

		if (s->table == CSCAN_NONE)
			continue;
		state->total += s->nblocks;
		if (s->held)
			state->used += s->nblocks;
	}
}

static void
count_reader(CScanPool *pool, int scan, int slot)
{
	if (slot == CSCAN_NONE)
		return;
	pool->slots[slot].readers++;
	pool->scans[scan].using++;
	pool->scans[scan].available++;
}

void
cscan_pool_rebuild(CScanPool *pool)
{
	count_all(pool);
	cscan_slots_rebuild(pool);
	cscan_status_init(pool);
	cscan_queue_init(pool);

	/* First who reads what: when a scan enters, its readers count as users. */
	for (int i = 0; i < pool->state->max_helpers; i++)
	{
		if (pool->helpers[i].used)
			count_reader(pool, pool->helpers[i].scan, pool->helpers[i].in_use);
	}
	for (int i = 0; i < pool->state->max_scans; i++)
	{
		if (pool->scans[i].table == CSCAN_NONE)
			continue;
		count_reader(pool, i, pool->scans[i].in_use);
		cscan_status_enter(pool, i);
	}
}
