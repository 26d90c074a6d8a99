/*-------------------------------------------------------------------------
 *
 * pool.c
 *		Tables, scans and slots, and the questions that policies ask of them.
 *
 * Everything is written plainly: counts are made anew for each decision, by
 * walking the scans and the slots.  See pool.h for the invariants; schedule.c
 * puts the policies together.
 *
 *-------------------------------------------------------------------------
 */
#include <stddef.h>
#include <string.h>

#include "policy.h"

#define RANGES(pool, scan)		((pool)->ranges + (size_t) (scan) * CSCAN_MAX_RANGES)
#define WANTED(pool, scan)		((pool)->wanted + (size_t) (scan) * CSCAN_MAP_WORDS)
#define RESIDENT(pool, table)	((pool)->resident + (size_t) (table) * CSCAN_MAP_WORDS)

static inline bool
map_test(const uint64_t *map, uint32_t n)
{
	return (map[n / 64] >> (n % 64)) & 1;
}

static inline void
map_set(uint64_t *map, uint32_t n)
{
	map[n / 64] |= UINT64_C(1) << (n % 64);
}

static inline void
map_clear(uint64_t *map, uint32_t n)
{
	map[n / 64] &= ~(UINT64_C(1) << (n % 64));
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

/* Walk over the parts; with memory = NULL only add up their sizes. */
static size_t
lay_out(CScanPool *pool, char *memory, int max_scans, int max_slots, int max_helpers)
{
	size_t		size = 0;
	size_t		scans = max_scans;

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
}

/* The load time counts when it has moved by an eighth. */
static void
note_load_time(CScanPool *pool, double load_time)
{
	double		pace = (double) pool->state->pace;

	pool->state->load_time = load_time;
	if (load_time < 1)
		load_time = 1;
	if (load_time > pace * 1.125 || load_time < pace * 0.875)
		pool->state->pace = (uint64_t) load_time;
}

void
cscan_pool_set_load_time(CScanPool *pool, double load_time)
{
	pool->state->pace = 0;
	note_load_time(pool, load_time);
}

void
cscan_pool_set_limits(CScanPool *pool, uint32_t budget, uint32_t room)
{
	pool->state->budget = budget;
	pool->state->room = room;
}

void
cscan_pool_set_loadable(CScanPool *pool, int table, bool loadable)
{
	pool->tables[table].loadable = loadable;
}

void
cscan_pool_set_cursor(CScanPool *pool, int table, uint32_t chunk)
{
	pool->tables[table].cursor = pool->tables[table].elevator = chunk;
}

void
cscan_pool_set_stalled(CScanPool *pool, int scan, bool stalled)
{
	pool->scans[scan].stalled = stalled;
}

void
cscan_pool_set_warm(CScanPool *pool, int scan, bool warm)
{
	pool->scans[scan].warm = warm;
}

void
cscan_pool_init(CScanPool *pool, int max_scans, int max_slots, int max_helpers)
{
	memset(pool->state, 0, sizeof(*pool->state));
	pool->state->max_scans = max_scans;
	pool->state->max_slots = max_slots;
	pool->state->max_helpers = max_helpers;
	pool->state->room_for = CSCAN_NONE;
	cscan_pool_set_load_time(pool, 10000.0);

	memset(pool->scans, 0, sizeof(CScanInterest) * max_scans);
	memset(pool->tables, 0, sizeof(CScanTable) * max_scans);
	memset(pool->slots, 0, sizeof(CScanSlot) * max_slots);
	if (max_helpers > 0)
		memset(pool->helpers, 0, sizeof(CScanHelper) * max_helpers);
	memset(pool->wanted, 0, sizeof(uint64_t) * CSCAN_MAP_WORDS * max_scans);
	memset(pool->resident, 0, sizeof(uint64_t) * CSCAN_MAP_WORDS * max_scans);

	for (int i = 0; i < max_scans; i++)
		pool->scans[i].table = CSCAN_NONE;
	for (int i = 0; i < max_slots; i++)
		pool->slots[i].table = CSCAN_NONE;
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
		return i;
	}
	return CSCAN_NONE;
}

void
cscan_pool_remove_table(CScanPool *pool, int table)
{
	for (int i = 0; i < pool->state->max_slots; i++)
	{
		if (pool->slots[i].table == table)
			cscan_pool_drop(pool, i);
	}
	pool->tables[table].used = false;
}

/* What it is to read counts among what the last scans of its table asked for. */
static void
note_asked(CScanPool *pool, int scan)
{
	const CScanInterest *s = &pool->scans[scan];
	CScanTable *t = &pool->tables[s->table];
	bool	   *asked;

	if (s->needed == 0)
		return;
	if (t->part_chunks == 0 || s->nchunks > t->part_chunks * CSCAN_PARTS)
	{
		memset(t->asked, 0, sizeof(t->asked));
		t->part_chunks = 1;
		while (s->nchunks > t->part_chunks * CSCAN_PARTS)
			t->part_chunks++;
	}
	asked = t->asked[t->nasked++ % CSCAN_LAST_SCANS];
	memset(asked, 0, sizeof(t->asked[0]));
	for (uint32_t c = 0; c < s->nchunks; c++)
	{
		if (cscan_pool_wants(pool, scan, c))
			asked[c / t->part_chunks] = true;
	}
}

/* What a scan is to read, as it sees the table. */
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
	s->needed = 0;
	if (nranges > 0)
		memcpy(RANGES(pool, scan), ranges, sizeof(CScanRange) * nranges);
	memset(wanted, 0, sizeof(uint64_t) * CSCAN_MAP_WORDS);
	for (uint32_t r = 0; r < nranges; r++)
	{
		uint32_t	last = (ranges[r].end - 1) / t->chunk_blocks;

		for (uint32_t c = ranges[r].first / t->chunk_blocks; c <= last; c++)
		{
			s->needed += !map_test(wanted, c);
			map_set(wanted, c);
		}
	}
	if (t->nblocks < nblocks)
		t->nblocks = nblocks;
	note_asked(pool, scan);
}

int
cscan_pool_register(CScanPool *pool, int table, CScanPolicyId policy,
					uint32_t nblocks, const CScanRange *ranges, uint32_t nranges,
					uint64_t now)
{
	for (int i = 0; i < pool->state->max_scans; i++)
	{
		CScanInterest *scan = &pool->scans[i];

		if (scan->table != CSCAN_NONE)
			continue;

		memset(scan, 0, sizeof(*scan));
		scan->table = table;
		scan->policy = policy;
		scan->in_use = CSCAN_NONE;
		scan->since = now;
		set_interest(pool, i, nblocks, ranges, nranges);
		pool->tables[table].nscans++;
		return i;
	}
	return CSCAN_NONE;
}

/* The scan's set of chunks is complete: let its policy say where to begin. */
void
cscan_pool_start(CScanPool *pool, int scan)
{
	cscan_pool_count(pool);
	pool->scans[scan].position =
		cscan_policies[pool->scans[scan].policy]->start(pool, scan);
}

void
cscan_pool_unwant(CScanPool *pool, int scan, uint32_t chunk)
{
	if (cscan_pool_wants(pool, scan, chunk))
	{
		map_clear(WANTED(pool, scan), chunk);
		if (--pool->scans[scan].needed == 0)
			pool->scans[scan].blocked = false;	/* whoever waits, waits in
												 * vain */
	}
}

void
cscan_pool_unregister(CScanPool *pool, int scan)
{
	CScanTable *t = &pool->tables[pool->scans[scan].table];
	int			table = pool->scans[scan].table;

	pool->scans[scan].table = CSCAN_NONE;
	pool->state->unpinned = false;
	t->nscans--;
	for (int i = 0; i < pool->state->max_helpers && pool->scans[scan].nhelpers > 0; i++)
	{
		if (pool->helpers[i].used && pool->helpers[i].scan == scan)
		{
			pool->helpers[i].scan = pool->helpers[i].in_use = CSCAN_NONE;
			pool->scans[scan].nhelpers--;
		}
	}

	t->nblocks = 0;
	for (int i = 0; i < pool->state->max_scans; i++)
	{
		if (pool->scans[i].table == table && t->nblocks < pool->scans[i].nblocks)
			t->nblocks = pool->scans[i].nblocks;
	}
	for (int i = 0; i < pool->state->max_slots; i++)
	{
		if (pool->slots[i].trigger == scan)
			pool->slots[i].trigger = CSCAN_NONE;
	}
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
		return i;
	}
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
		s->in_use = in_use;
		s->waiting = waiting;
	}
	else
	{
		pool->helpers[helper].in_use = in_use;
		pool->helpers[helper].waiting = waiting;
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
	set_interest(pool, scan, nblocks, ranges, nranges);
	set_reader(pool, scan, CSCAN_NONE, CSCAN_NONE, false, now);
}

void
cscan_pool_part(CScanPool *pool, int helper)
{
	int			scan = pool->helpers[helper].scan;

	if (scan != CSCAN_NONE)
	{
		set_reader(pool, scan, helper, CSCAN_NONE, false, pool->scans[scan].since);
		pool->scans[scan].nhelpers--;
	}
	pool->helpers[helper].used = false;
	pool->state->nhelpers--;
}

int
cscan_pool_choose(CScanPool *pool, int scan, int helper, uint64_t now)
{
	CScanInterest *s = &pool->scans[scan];
	int			slot;

	s->stalled = false;
	slot = s->needed == 0 ? CSCAN_NONE :
		cscan_policies[s->policy]->choose_available(pool, scan);
	set_reader(pool, scan, helper, slot, slot == CSCAN_NONE && s->needed > 0, now);
	if (slot == CSCAN_NONE)
		return CSCAN_NONE;

	/*
	 * Others that still wait have been served with it: their turn begins
	 * anew.
	 */
	if (s->blocked)
		s->since = now;
	cscan_pool_unwant(pool, scan, pool->slots[slot].chunk);
	s->position = pool->slots[slot].chunk;
	if (pool->slots[slot].trigger == scan)
		pool->slots[slot].trigger = CSCAN_NONE;
	pool->slots[slot].stamp = now;
	return slot;
}

bool
cscan_pool_peek(const CScanPool *pool, int scan, uint32_t *chunk)
{
	uint32_t	first = cscan_pool_next_wanted(pool, scan, pool->scans[scan].position);
	uint32_t	c = first;

	if (first == CSCAN_NO_CHUNK)
		return false;
	while (!cscan_pool_absent_for(pool, scan, c))
	{
		c = cscan_pool_next_wanted(pool, scan, c + 1);
		if (c == first)
			break;
	}
	*chunk = c;
	return true;
}

bool
cscan_pool_take(CScanPool *pool, int scan, int helper, uint64_t now, uint32_t *chunk)
{
	if (!cscan_pool_peek(pool, scan, chunk))
		return false;
	cscan_pool_unwant(pool, scan, *chunk);
	set_reader(pool, scan, helper, CSCAN_NONE, false, now);
	pool->scans[scan].since = now;
	pool->scans[scan].stalled = false;
	pool->scans[scan].position = *chunk;
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
	s->stamp = now;
	if (duration > 0)
		note_load_time(pool, pool->state->load_time +
					   ((double) duration - pool->state->load_time) / 8.0);
}

void
cscan_pool_drop(CScanPool *pool, int slot)
{
	CScanSlot  *s = &pool->slots[slot];

	if (s->table == CSCAN_NONE)
		return;
	map_clear(RESIDENT(pool, s->table), s->chunk);
	pool->state->unpinned = false;
	pool->state->total -= s->nblocks;
	if (s->held)
		pool->state->used -= s->nblocks;
	for (int i = 0; i < pool->state->max_scans; i++)
	{
		if (pool->scans[i].table != CSCAN_NONE && pool->scans[i].in_use == slot)
			pool->scans[i].in_use = CSCAN_NONE;
	}
	for (int i = 0; i < pool->state->max_helpers && pool->state->nhelpers > 0; i++)
	{
		if (pool->helpers[i].used && pool->helpers[i].in_use == slot)
			pool->helpers[i].in_use = CSCAN_NONE;
	}
	memset(s, 0, sizeof(*s));
	s->table = CSCAN_NONE;
	s->trigger = CSCAN_NONE;
}

int
cscan_pool_useless(CScanPool *pool)
{
	for (int i = 0; i < pool->state->max_slots; i++)
	{
		CScanSlot  *s = &pool->slots[i];

		if (s->table != CSCAN_NONE && (s->cheap || s->failed) &&
			!cscan_pool_in_flight(pool, i) && !cscan_pool_in_use(pool, i) &&
			cscan_pool_interested(pool, s->table, s->chunk) == 0)
			return i;
	}
	return CSCAN_NONE;
}

static bool
wanted_or_in_use(const CScanPool *pool, int slot)
{
	return cscan_pool_in_flight(pool, slot) || cscan_pool_in_use(pool, slot) ||
		cscan_pool_interested(pool, pool->slots[slot].table, pool->slots[slot].chunk) > 0;
}

int
cscan_pool_release(CScanPool *pool)
{
	for (int i = 0; i < pool->state->max_slots; i++)
	{
		CScanSlot  *s = &pool->slots[i];

		if (s->table != CSCAN_NONE && s->held && !wanted_or_in_use(pool, i))
		{
			s->held = false;
			pool->state->used -= s->nblocks;
			return i;
		}
	}
	return CSCAN_NONE;
}

int
cscan_pool_hold(CScanPool *pool)
{
	if (pool->state->unpinned)
		return CSCAN_NONE;
	for (int i = 0; i < pool->state->max_slots; i++)
	{
		CScanSlot  *s = &pool->slots[i];

		/* The next loads need some of the budget, too. */
		if (s->table != CSCAN_NONE && !s->held &&
			pool->state->used + 4 * s->nblocks <= pool->state->budget &&
			wanted_or_in_use(pool, i))
		{
			s->held = true;
			pool->state->used += s->nblocks;
			return i;
		}
	}
	return CSCAN_NONE;
}

/*
 * Count, for each active scan, the chunks that it need not wait for: those in
 * use, those ready and those in flight.
 */
void
cscan_pool_count(CScanPool *pool)
{
	for (int i = 0; i < pool->state->max_scans; i++)
	{
		CScanInterest *scan = &pool->scans[i];

		if (scan->table == CSCAN_NONE)
			continue;
		scan->using = (scan->in_use != CSCAN_NONE);
		scan->ready = 0;
	}
	for (int i = 0; i < pool->state->max_helpers && pool->state->nhelpers > 0; i++)
	{
		const CScanHelper *helper = &pool->helpers[i];

		if (helper->used && helper->in_use != CSCAN_NONE)
			pool->scans[helper->scan].using++;
	}
	for (int i = 0; i < pool->state->max_scans; i++)
		pool->scans[i].available = pool->scans[i].using;
	for (int i = 0; i < pool->state->max_slots; i++)
	{
		CScanSlot  *s = &pool->slots[i];

		if (s->table == CSCAN_NONE)
			continue;
		for (int j = 0; j < pool->state->max_scans; j++)
		{
			CScanInterest *scan = &pool->scans[j];

			if (scan->table != s->table || !cscan_pool_wants(pool, j, s->chunk))
				continue;
			if (cscan_pool_ready_for(pool, i, j))
			{
				scan->available++;
				scan->ready++;
			}
			else if (!cscan_pool_absent_for(pool, j, s->chunk))
				scan->available++;
		}
	}
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
	int			n = 0;

	for (int i = 0; i < pool->state->max_scans; i++)
		n += cscan_pool_active(pool, i);
	return n;
}

bool
cscan_pool_wants(const CScanPool *pool, int scan, uint32_t chunk)
{
	return chunk < pool->scans[scan].nchunks && map_test(WANTED(pool, scan), chunk);
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

int
cscan_pool_find(const CScanPool *pool, int table, uint32_t chunk)
{
	if (!map_test(RESIDENT(pool, table), chunk))
		return CSCAN_NONE;
	for (int i = 0; i < pool->state->max_slots; i++)
	{
		if (pool->slots[i].table == table && pool->slots[i].chunk == chunk)
			return i;
	}
	return CSCAN_NONE;
}

/* The blocks of a chunk, as far as the table goes. */
CScanRange
cscan_pool_blocks_of(const CScanPool *pool, int table, uint32_t chunk)
{
	const CScanTable *t = &pool->tables[table];
	CScanRange	blocks = {chunk * t->chunk_blocks, t->nblocks};

	if (blocks.end < blocks.first)
		blocks.end = blocks.first;
	if (blocks.end - blocks.first > t->chunk_blocks)
		blocks.end = blocks.first + t->chunk_blocks;
	return blocks;
}

bool
cscan_pool_has_piece(const CScanPieces *pieces, uint32_t p)
{
	return (pieces->word[p / 64] >> (p % 64)) & 1;
}

/* The part of one of a scan's ranges that lies in a chunk; false if none does. */
static bool
part_in_chunk(const CScanPool *pool, int scan, uint32_t range, uint32_t chunk, CScanRange *part)
{
	uint64_t	chunk_blocks = pool->tables[pool->scans[scan].table].chunk_blocks;

	*part = RANGES(pool, scan)[range];
	if (part->first < chunk * chunk_blocks)
		part->first = (uint32_t) (chunk * chunk_blocks);
	if (part->end > (chunk + 1) * chunk_blocks)
		part->end = (uint32_t) ((chunk + 1) * chunk_blocks);
	return part->first < part->end;
}

/* The piece of its chunk that a block is in. */
static uint32_t
piece_of(const CScanTable *t, uint32_t block)
{
	return block % t->chunk_blocks / t->piece_blocks;
}

/* Are all the blocks there that a scan wants of a slot's chunk? */
static bool
covers(const CScanPool *pool, int scan, const CScanSlot *slot)
{
	const CScanTable *t = &pool->tables[slot->table];
	CScanRange	part;

	for (uint32_t i = 0; i < pool->scans[scan].nranges; i++)
	{
		if (!part_in_chunk(pool, scan, i, slot->chunk, &part))
			continue;
		if (part.end > slot->end)
			return false;
		for (uint32_t p = piece_of(t, part.first); p <= piece_of(t, part.end - 1); p++)
		{
			if (!cscan_pool_has_piece(&slot->loaded, p))
				return false;
		}
	}
	return true;
}

/* What of a chunk any active scan wants. */
CScanPieces
cscan_pool_pieces_wanted(const CScanPool *pool, int table, uint32_t chunk)
{
	const CScanTable *t = &pool->tables[table];
	CScanPieces pieces = {{0}};
	CScanRange	part;

	for (int i = 0; i < pool->state->max_scans; i++)
	{
		if (pool->scans[i].table != table || pool->scans[i].stalled ||
			!cscan_pool_wants(pool, i, chunk))
			continue;
		for (uint32_t r = 0; r < pool->scans[i].nranges; r++)
		{
			if (!part_in_chunk(pool, i, r, chunk, &part))
				continue;
			for (uint32_t p = piece_of(t, part.first); p <= piece_of(t, part.end - 1); p++)
				pieces.word[p / 64] |= UINT64_C(1) << (p % 64);
		}
	}
	return pieces;
}

bool
cscan_pool_in_flight(const CScanPool *pool, int slot)
{
	return pool->slots[slot].in_flight;
}

/* chunkReady() for a scan that wants it: are all the blocks it wants there? */
bool
cscan_pool_ready_for(const CScanPool *pool, int slot, int scan)
{
	const CScanSlot *s = &pool->slots[slot];

	return s->failed || covers(pool, scan, s);
}

/*
 * Neither ready nor in flight.  What is in flight may turn out not to be all
 * that the scan wants; then it is absent when it has arrived.
 */
bool
cscan_pool_absent_for(const CScanPool *pool, int scan, uint32_t chunk)
{
	const CScanInterest *q = &pool->scans[scan];
	int			slot;

	if (!map_test(RESIDENT(pool, q->table), chunk))
		return true;
	slot = cscan_pool_find(pool, q->table, chunk);
	return !pool->slots[slot].in_flight && !cscan_pool_ready_for(pool, slot, scan);
}

/* Processes that read it for scans that are not stalled. */
uint32_t
cscan_pool_users(const CScanPool *pool, int slot)
{
	uint32_t	n = 0;

	for (int i = 0; i < pool->state->max_scans; i++)
		n += cscan_pool_active(pool, i) && pool->scans[i].in_use == slot;
	for (int i = 0; i < pool->state->max_helpers && pool->state->nhelpers > 0; i++)
	{
		const CScanHelper *helper = &pool->helpers[i];

		n += helper->used && helper->in_use == slot && cscan_pool_active(pool, helper->scan);
	}
	return n;
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

	for (int i = 0; i < pool->state->max_scans; i++)
	{
		if (pool->scans[i].table == table && !pool->scans[i].stalled &&
			cscan_pool_wants(pool, i, chunk))
			n++;
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
