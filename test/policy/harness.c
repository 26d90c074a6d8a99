/*-------------------------------------------------------------------------
 *
 * harness.c
 *		See harness.h.
 *
 *-------------------------------------------------------------------------
 */
#include "harness.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *
policy_label(int policy)
{
	return policy == CSCAN_NPOLICIES ? "mixed" : cscan_policies[policy]->name;
}

CScanPool *
pool_create_limited(const CScanLimits *limits, uint32_t budget)
{
	CScanPool  *pool = zeroed(1, sizeof(*pool));

	cscan_pool_attach(pool, zeroed(1, cscan_pool_size(limits)), limits);
	cscan_pool_init(pool, limits);
	cscan_pool_set_limits(pool, budget, budget);
	return pool;
}

CScanPool *
pool_create(int max_scans, int max_slots, uint32_t budget)
{
	CScanLimits limits = {max_scans, POOL_SPACES, max_slots, MAX_HELPERS, POOL_CHUNKS};

	return pool_create_limited(&limits, budget);
}

void
pool_free(CScanPool *pool)
{
	free(pool->state);			/* the first part of its memory */
	free(pool);
}

int
table_add_sized(CScanPool *pool, uint32_t chunk_blocks, uint32_t nchunks)
{
	int			table = cscan_pool_add_space(pool, chunk_blocks, nchunks, 0);

	cscan_pool_set_access(pool, table, CSCAN_ACCESS_GRANTED);
	return table;
}

int
table_add(CScanPool *pool, uint32_t chunk_blocks)
{
	return table_add_sized(pool, chunk_blocks, TABLE_CHUNKS);
}

uint32_t
chunk_of(const CScanPool *pool, int table, uint32_t n)
{
	return pool->spaces[table].first_chunk + n;
}

int
scan_ranges(CScanPool *pool, int table, CScanPolicyId policy, uint32_t nblocks,
			const CScanRange *ranges, uint32_t nranges, uint64_t now)
{
	int			scan = cscan_pool_register(pool, policy, now);

	if (scan == CSCAN_NONE)
		return CSCAN_NONE;
	cscan_pool_announce(pool, scan, table, nblocks, ranges, nranges);
	cscan_pool_start(pool, scan, now);
	return scan;
}

int
scan_all(CScanPool *pool, int table, CScanPolicyId policy, uint32_t nblocks, uint64_t now)
{
	CScanRange	all = {0, nblocks};

	return scan_ranges(pool, table, policy, nblocks, &all, nblocks > 0, now);
}

int
scan_add(CScanPool *pool, int table, CScanPolicyId policy, uint32_t nblocks,
		 uint32_t first, uint32_t last, uint64_t now)
{
	uint32_t	size = pool->spaces[table].chunk_blocks;
	CScanRange	range = {first * size, (last + 1) * size};

	if (range.end > nblocks)
		range.end = nblocks;
	return scan_ranges(pool, table, policy, nblocks, &range, range.first < range.end, now);
}

CScanLayout
random_layout(Random *random, uint32_t chunk_blocks, uint32_t max_columns)
{
	uint32_t	most = chunk_blocks < max_columns ? chunk_blocks : max_columns;
	CScanLayout layout = {.ncolumns = 1 + random_below(random, most)};

	for (uint32_t c = 0; c < layout.ncolumns; c++)
	{
		uint32_t	left = chunk_blocks - layout.begin[c] - (layout.ncolumns - c);

		layout.begin[c + 1] = layout.begin[c] + 1 +
			(c + 1 == layout.ncolumns ? left : random_below(random, left / (layout.ncolumns - c) * 2 + 1) % (left + 1));
	}
	return layout;
}

void
announce_all(CScanPool *pool, int scan, int table, uint32_t nblocks)
{
	CScanRange	all = {0, nblocks};

	cscan_pool_announce(pool, scan, table, nblocks, &all, nblocks > 0);
}

int
scan_family(CScanPool *pool, const int *tables, int ntables, CScanPolicyId policy,
			uint32_t nblocks, uint64_t now)
{
	int			scan = cscan_pool_register(pool, policy, now);

	for (int i = 0; i < ntables; i++)
		announce_all(pool, scan, tables[i], nblocks);
	cscan_pool_start(pool, scan, now);
	return scan;
}

/* What decide does for a load, for a chunk of the test's choice. */
int
chunk_begin(CScanPool *pool, uint32_t chunk, uint64_t now)
{
	CScanPieces have = {{0}};
	CScanPieces all;
	int			slot = cscan_slots_free(pool);

	if (slot == CSCAN_NONE)
		abort();
	memset(&all, 0xff, sizeof(all));
	cscan_slots_take(pool, slot, chunk, now);
	pool->slots[slot].extent = UINT32_MAX;
	cscan_slots_begin_load(pool, slot, &have, &all, cscan_pool_space_of(pool, chunk)->chunk_blocks, 0, now);
	pool->state->unpinned = false;
	cscan_status_slot_changed(pool, slot);
	return slot;
}

int
chunk_put(CScanPool *pool, uint32_t chunk, uint64_t now)
{
	int			slot = chunk_begin(pool, chunk, now);

	cscan_pool_loaded(pool, slot, now, 0, false, false);
	return slot;
}

CScanAction
decide(CScanPool *pool, uint64_t now)
{
	CScanAction act;

	do
		cscan_pool_decide(pool, now, &act);
	while (act.kind == CSCAN_ACT_EVICT || act.kind == CSCAN_ACT_UNPIN || act.kind == CSCAN_ACT_TRIM);
	return act;
}

CScanRun
first_run(const CScanAction *act)
{
	CScanRun	run = {0, 0, 0};

	if (act->kind != CSCAN_ACT_LOAD || !cscan_action_next_run(act, &run))
		run.first = run.end = CSCAN_NO_CHUNK;
	return run;
}

uint32_t
load_one(CScanPool *pool, uint64_t now)
{
	CScanAction act = decide(pool, now);

	if (act.kind != CSCAN_ACT_LOAD)
		return CSCAN_NO_CHUNK;
	cscan_pool_loaded(pool, act.slot, now, 0, false, false);
	return act.chunk;
}

uint32_t
use_next(CScanPool *pool, int scan, uint64_t now)
{
	int			slot = cscan_pool_choose(pool, scan, CSCAN_NONE, now);

	return slot == CSCAN_NONE ? CSCAN_NO_CHUNK : pool->slots[slot].chunk;
}

/* ------------------------------------------------------------------
 * Invariants
 * ------------------------------------------------------------------ */

/* Words of the maps of chunks up to the last number that a space has. */
static uint32_t
words_in_use(const CScanPool *pool)
{
	uint32_t	end = 0;

	for (int i = 0; i < pool->state->limits.max_spaces; i++)
	{
		const CScanSpace *space = &pool->spaces[i];

		if (space->used && end < space->first_chunk + space->nchunks)
			end = space->first_chunk + space->nchunks;
	}
	return cscan_set_words(end);
}

static uint32_t
count_bits(const uint64_t *set, uint32_t words)
{
	uint32_t	n = 0;

	for (uint32_t w = 0; w < words; w++)
		n += (uint32_t) __builtin_popcountll(set[w]);
	return n;
}

static const char *
check_slot(const CScanPool *pool, int i)
{
	const CScanSlot *slot = &pool->slots[i];
	const CScanSpace *space = &pool->spaces[slot->space];

	if (!space->used)
		return "a slot holds a chunk of a space that is gone";
	if (slot->chunk < space->first_chunk || slot->chunk - space->first_chunk >= space->nchunks)
		return "a slot's chunk is not one of its space";
	if (!slot->held && slot->in_flight)
		return "a slot in flight is not held";
	if (slot->nblocks == 0 || slot->nblocks > space->chunk_blocks)
		return "a slot's blocks are out of bounds";
	if (slot->in_flight && (slot->loading == 0 || slot->loading > slot->nblocks))
		return "a load's blocks are out of bounds";
	for (int w = 0; w < CSCAN_PIECE_WORDS; w++)
	{
		if (slot->loaded.word[w] & ~slot->coming.word[w])
			return "a slot has lost pieces";
		if (!slot->in_flight && slot->loaded.word[w] != slot->coming.word[w])
			return "a slot that is not in flight lacks pieces";
	}
	if (!cscan_set_has(pool->resident, slot->chunk))
		return "a chunk is in a slot but not in the map";
	if (pool->slot_of[slot->chunk] != i)
		return "a chunk's slot is another one than it is in";
	return NULL;
}

static const char *
check_slots(const CScanPool *pool)
{
	uint32_t	used = 0;
	uint32_t	total = 0;
	uint32_t	slots = 0;
	const char *broken = NULL;

	for (int i = 0; i < pool->state->limits.max_slots && broken == NULL; i++)
	{
		if (pool->slots[i].space == CSCAN_NONE)
			continue;
		slots++;
		total += pool->slots[i].nblocks;
		if (pool->slots[i].held)
			used += pool->slots[i].nblocks;
		broken = check_slot(pool, i);
	}
	if (broken != NULL)
		return broken;
	if (count_bits(pool->resident, words_in_use(pool)) != slots)
		return "the map holds chunks that are in no slot";
	if (used != pool->state->used || total != pool->state->total)
		return "the blocks of the slots do not add up";
	if (used > pool->state->budget)
		return "the budget is exceeded";
	if (total > pool->state->room && total > pool->state->budget)
		return "the room is exceeded";
	return NULL;
}

/* Scans of a space, as their sets of spaces say and as the space's set does. */
static const char *
check_scans_of(const CScanPool *pool, int space)
{
	int			nscans = 0;

	for (int i = 0; i < pool->state->limits.max_scans; i++)
	{
		bool		mine = cscan_set_has(cscan_scan_spaces(pool, i), (uint32_t) space);

		if (mine && !pool->scans[i].used)
			return "an entry without a scan is one of a space's";
		if (mine != cscan_set_has(cscan_space_scans(pool, space), (uint32_t) i))
			return "a scan's spaces and a space's scans differ";
		nscans += mine;
	}
	if (nscans != pool->spaces[space].nscans)
		return "a space's scans do not add up";
	return NULL;
}

static const char *
check_spaces(const CScanPool *pool)
{
	uint32_t	words = words_in_use(pool);
	uint32_t	numbers = 0;
	uint32_t	may_be_loaded = 0;
	uint32_t	may_not = 0;
	int			refused = 0;
	int			spaces = 0;
	int			end = 0;

	for (int i = 0; i < pool->state->limits.max_spaces; i++)
	{
		const CScanSpace *space = &pool->spaces[i];
		bool		granted = space->used && space->access == CSCAN_ACCESS_GRANTED;
		bool		denied = space->used && space->access == CSCAN_ACCESS_REFUSED;
		const char *broken = check_scans_of(pool, i);
		uint32_t	last;

		if (broken != NULL)
			return broken;
		if (!space->used)
			continue;
		spaces++;
		end = i + 1;
		refused += denied;
		numbers += space->nchunks;
		if (space->nchunks == 0 || space->first_chunk + space->nchunks > pool->state->limits.max_chunks)
			return "a space has numbers that are none";
		if (space->extent > cscan_space_capacity(space))
			return "a space has more blocks than its chunks";
		last = space->first_chunk + space->nchunks - 1;
		for (uint32_t c = space->first_chunk; c <= last; c++)
		{
			if (pool->space_of[c] != i)
				return "a chunk is of another space, too";
			if (pool->slot_of[c] != CSCAN_NONE && !cscan_set_has(pool->resident, c))
				return "a chunk that is in no slot has one";
		}
		if (cscan_set_count_range(pool->numbered, space->first_chunk, last) != space->nchunks)
			return "a space's chunk is not numbered";
		if (cscan_set_count_range(pool->loadable, space->first_chunk, last) != (granted ? space->nchunks : 0))
			return "a chunk may be loaded, or not, unlike its space";
		if (cscan_set_count_range(pool->refused, space->first_chunk, last) != (denied ? space->nchunks : 0))
			return "a chunk is refused, or not, unlike its space";
		may_be_loaded += granted ? space->nchunks : 0;
		may_not += denied ? space->nchunks : 0;
	}
	if (spaces != pool->state->nspaces || end != pool->state->spaces_end || refused != pool->state->nrefused)
		return "the spaces do not add up";
	if (count_bits(pool->numbered, words) != numbers)
		return "a number is taken by no space";
	if (count_bits(pool->loadable, words) != may_be_loaded || count_bits(pool->refused, words) != may_not)
		return "numbers that no space has may be loaded, or not";
	return NULL;
}

/* Blocks that a scan wants, one chunk after the other. */
static uint64_t
count_needed(const CScanPool *pool, int scan)
{
	uint64_t	needed = 0;
	const CScanSpaceRange *ranges = cscan_ranges(pool, scan);
	bool		has_ranges[POOL_SPACES] = {false};

	for (uint32_t r = 0; r < pool->scans[scan].nranges; r++)
	{
		const CScanSpace *space = &pool->spaces[ranges[r].space];
		CScanRange	blocks = ranges[r].blocks;

		has_ranges[ranges[r].space] = true;
		for (uint32_t b = blocks.first; b < blocks.end;)
		{
			uint32_t	chunk = b / space->chunk_blocks;
			uint32_t	end = (chunk + 1) * space->chunk_blocks;

			if (end > blocks.end)
				end = blocks.end;
			if (cscan_set_has(cscan_wanted(pool, scan), space->first_chunk + chunk))
				needed += end - b;
			b = end;
		}
	}
	CSCAN_SET_EACH(c, cscan_wanted(pool, scan), words_in_use(pool))
	{
		const CScanSpace *space = &pool->spaces[pool->space_of[c]];
		uint32_t	first = ((uint32_t) c - space->first_chunk) * space->chunk_blocks;

		if (has_ranges[pool->space_of[c]])
			continue;
		if (first >= space->extent)
			return UINT64_MAX;
		if (cscan_space_is_columnar(space))
		{
			for (uint32_t k = 0; k < space->columns.ncolumns; k++)
				needed += (pool->scans[scan].columns >> k & 1) * cscan_layout_size(&space->columns, k);
			continue;
		}
		needed += space->extent - first < space->chunk_blocks ? space->extent - first : space->chunk_blocks;
	}
	return needed;
}

/* What a scan has, counted from the slots. */
static const char *
check_available(const CScanPool *pool, int scan)
{
	const CScanScan *s = &pool->scans[scan];
	uint32_t	available = 0;
	uint32_t	ready = 0;
	uint32_t	passing = 0;
	uint32_t	using = s->in_use != CSCAN_NONE;

	for (int i = 0; i < pool->state->limits.max_helpers; i++)
		using += pool->helpers[i].used && pool->helpers[i].scan == scan &&
			pool->helpers[i].in_use != CSCAN_NONE;
	for (int i = 0; i < pool->state->limits.max_slots && s->started; i++)
	{
		const CScanSlot *slot = &pool->slots[i];
		bool		is_ready;

		if (slot->space == CSCAN_NONE || !cscan_set_has(cscan_wanted(pool, scan), slot->chunk))
			continue;
		is_ready = cscan_pool_ready_for(pool, i, scan);
		ready += is_ready;
		available += is_ready || slot->in_flight;
		passing += !is_ready && slot->in_flight && !cscan_pool_comes_for(pool, i, scan);
	}
	if (using != s->using || ready != s->ready || passing != s->passing || available + using != s->available)
		return "what is there for a scan does not add up";
	return NULL;
}

/* Does it want a chunk of a space that it has not announced? */
static bool
wants_of_others(const CScanPool *pool, int scan)
{
	for (int i = 0; i < pool->state->limits.max_spaces; i++)
	{
		const CScanSpace *space = &pool->spaces[i];

		if (space->used && !cscan_set_has(cscan_scan_spaces(pool, scan), (uint32_t) i) &&
			cscan_set_count_range(cscan_wanted(pool, scan), space->first_chunk,
								  space->first_chunk + space->nchunks - 1) > 0)
			return true;
	}
	return false;
}

static const char *
check_scan(const CScanPool *pool, int i)
{
	const CScanScan *scan = &pool->scans[i];
	const uint64_t *wanted = cscan_wanted(pool, i);
	uint32_t	words = words_in_use(pool);
	uint32_t	nloadable = 0;

	if (count_bits(cscan_scan_spaces(pool, i), cscan_space_words(pool)) != scan->nspaces)
		return "a scan's spaces do not add up";
	if (scan->in_use != CSCAN_NONE &&
		!cscan_pool_interested_in(pool, i, pool->slots[scan->in_use].space))
		return "a scan uses a slot of another's space";
	if (scan->waiting && scan->in_use != CSCAN_NONE)
		return "a scan is blocked and uses a chunk";
	for (uint32_t w = 0; w < words; w++)
	{
		if (wanted[w] != 0 && (w < scan->first_word || w >= scan->end_word))
			return "a scan's wanted chunks are beyond its words";
		if (wanted[w] & ~pool->numbered[w])
			return "a scan wants a chunk of no space";
		nloadable += (uint32_t) __builtin_popcountll(wanted[w] & pool->loadable[w]);
	}
	if (!scan->started)
		return scan->blocked ? "a scan is blocked that is not started" : check_available(pool, i);
	if (wants_of_others(pool, i))
		return "a scan wants a chunk of another's space";
	if (count_bits(wanted, words) != scan->nwanted)
		return "a scan's wanted chunks do not add up";
	if (nloadable != scan->nloadable)
		return "a scan's chunks that may be loaded do not add up";
	if (count_needed(pool, i) != scan->needed)
		return "a scan's wanted blocks do not add up";
	if (scan->blocked && scan->nwanted == 0)
		return "a scan is blocked that wants nothing";
	return check_available(pool, i);
}

const char *
pool_check(const CScanPool *pool)
{
	const char *broken = check_slots(pool);
	int			started = 0;
	int			active = 0;

	if (broken == NULL)
		broken = check_spaces(pool);
	for (int i = 0; i < pool->state->limits.max_scans && broken == NULL; i++)
	{
		const CScanScan *scan = &pool->scans[i];

		if (!scan->used)
			continue;
		started += scan->started;
		active += scan->started && !scan->stalled;
		broken = check_scan(pool, i);
	}
	if (broken == NULL && (started != pool->state->nscans || active != pool->state->nactive))
		broken = "the scans do not add up";
	return broken;
}
