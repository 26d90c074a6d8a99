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

static int	passed_count;
static int	failed_count;

static void
report(bool passed, const char *fmt, va_list args, const char *directive)
{
	if (passed || *directive != '\0')
		passed_count++;
	else
		failed_count++;
	printf("%s %d - ", passed ? "ok" : "not ok", passed_count + failed_count);
	vprintf(fmt, args);
	printf("%s\n", directive);
	fflush(stdout);
}

bool
ok(bool passed, const char *fmt,...)
{
	va_list		args;

	va_start(args, fmt);
	report(passed, fmt, args, "");
	va_end(args);
	return passed;
}

bool
is_int(int64_t got, int64_t expected, const char *fmt,...)
{
	va_list		args;

	va_start(args, fmt);
	report(got == expected, fmt, args, "");
	va_end(args);
	if (got != expected)
		note("got %lld, expected %lld", (long long) got, (long long) expected);
	return got == expected;
}

bool
is_double(double got, double expected, const char *fmt,...)
{
	bool		same = got == expected || fabs(got - expected) < 1e-9;
	va_list		args;

	va_start(args, fmt);
	report(same, fmt, args, "");
	va_end(args);
	if (!same)
		note("got %g, expected %g", got, expected);
	return same;
}

void
note(const char *fmt,...)
{
	va_list		args;

	printf("# ");
	va_start(args, fmt);
	vprintf(fmt, args);
	va_end(args);
	putchar('\n');
	fflush(stdout);
}

const char *
policy_label(int policy)
{
	return policy == CSCAN_NPOLICIES ? "mixed" : cscan_policies[policy]->name;
}

int
tests_finish(void)
{
	printf("%d passed, %d failed\n", passed_count, failed_count);
	return failed_count == 0 ? 0 : 1;
}

static void *
zeroed(size_t number, size_t size)
{
	void	   *memory = calloc(number, size);

	if (memory == NULL)
		abort();
	return memory;
}

CScanPool *
pool_create(int max_scans, int max_slots, uint32_t budget)
{
	CScanPool  *pool = zeroed(1, sizeof(*pool));

	cscan_pool_attach(pool, zeroed(1, cscan_pool_size(max_scans, max_slots, MAX_HELPERS)),
					  max_scans, max_slots, MAX_HELPERS);
	cscan_pool_init(pool, max_scans, max_slots, MAX_HELPERS);
	cscan_pool_set_limits(pool, budget, budget);
	return pool;
}

void
pool_free(CScanPool *pool)
{
	free(pool->state);			/* the first part of its memory */
	free(pool);
}

int
table_add(CScanPool *pool, uint32_t chunk_blocks)
{
	int			table = cscan_pool_add_table(pool, chunk_blocks);

	cscan_pool_set_loadable(pool, table, true);
	return table;
}

int
scan_all(CScanPool *pool, int table, CScanPolicyId policy, uint32_t nblocks, uint64_t now)
{
	CScanRange	all = {0, nblocks};

	return cscan_pool_register(pool, table, policy, nblocks, &all, nblocks > 0, now);
}

int
scan_add(CScanPool *pool, int table, CScanPolicyId policy, uint32_t nblocks,
		 uint32_t first, uint32_t last, uint64_t now)
{
	int			scan = scan_all(pool, table, policy, nblocks, now);

	for (uint32_t c = 0; c < pool->scans[scan].nchunks; c++)
	{
		if (c < first || c > last)
			cscan_pool_unwant(pool, scan, c);
	}
	cscan_pool_start(pool, scan);
	return scan;
}

/* What decide does for a load, for a chunk of the test's choice. */
int
chunk_begin(CScanPool *pool, int table, uint32_t chunk, uint64_t now)
{
	CScanPieces have = {{0}};
	CScanPieces all;
	int			slot = cscan_slots_free(pool);

	if (slot == CSCAN_NONE)
		abort();
	memset(&all, 0xff, sizeof(all));
	cscan_slots_take(pool, slot, table, chunk, now);
	pool->slots[slot].end = UINT32_MAX;
	cscan_slots_begin_load(pool, slot, &have, &all, pool->tables[table].chunk_blocks, 0, now);
	return slot;
}

int
chunk_put(CScanPool *pool, int table, uint32_t chunk, uint64_t now)
{
	int			slot = chunk_begin(pool, table, chunk, now);

	cscan_pool_loaded(pool, slot, now, 0, false, false);
	return slot;
}

CScanAction
decide(CScanPool *pool, uint64_t now)
{
	CScanAction act;

	do
		cscan_pool_decide(pool, now, &act);
	while (act.kind == CSCAN_ACT_EVICT || act.kind == CSCAN_ACT_UNPIN);
	return act;
}

CScanRange
first_run(const CScanAction *act)
{
	CScanRange	run = {0, 0};

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

/* One bit of the pool's maps, without asking the pool. */
static bool
is_resident(const CScanPool *pool, int table, uint32_t chunk)
{
	return (pool->resident[(size_t) table * CSCAN_MAP_WORDS + chunk / 64] >>
			(chunk % 64)) & 1;
}

const char *
pool_check(const CScanPool *pool)
{
	uint32_t	used = 0;
	uint32_t	total = 0;
	int			slots = 0;
	int			bits = 0;

	for (int i = 0; i < pool->state->max_slots; i++)
	{
		const CScanSlot *slot = &pool->slots[i];

		if (slot->table == CSCAN_NONE)
			continue;
		slots++;
		total += slot->nblocks;
		if (slot->held)
			used += slot->nblocks;
		if (!pool->tables[slot->table].used)
			return "a slot holds a chunk of a table that is gone";
		if (!slot->held && cscan_pool_in_flight(pool, i))
			return "a slot in flight is not held";
		if (slot->nblocks == 0 || slot->nblocks > pool->tables[slot->table].chunk_blocks)
			return "a slot's blocks are out of bounds";
		for (int w = 0; w < CSCAN_PIECE_WORDS; w++)
		{
			if (slot->loaded.word[w] & ~slot->coming.word[w])
				return "a slot has lost pieces";
			if (!slot->in_flight && slot->loaded.word[w] != slot->coming.word[w])
				return "a slot that is not in flight lacks pieces";
		}
		if (!is_resident(pool, slot->table, slot->chunk))
			return "a chunk is in a slot but not in the map";
		for (int j = 0; j < i; j++)
		{
			if (pool->slots[j].table == slot->table &&
				pool->slots[j].chunk == slot->chunk)
				return "a chunk is in two slots";
		}
	}
	if (used != pool->state->used || total != pool->state->total)
		return "the blocks of the slots do not add up";
	if (used > pool->state->budget)
		return "the budget is exceeded";
	if (total > pool->state->room && total > pool->state->budget)
		return "the room is exceeded";

	for (int i = 0; i < pool->state->max_scans; i++)
	{
		const CScanInterest *scan = &pool->scans[i];
		uint32_t	needed = 0;

		if (pool->tables[i].used)
		{
			int			nscans = 0;

			for (int w = 0; w < CHECKED_WORDS; w++)
				bits += __builtin_popcountll(pool->resident[(size_t) i * CSCAN_MAP_WORDS + w]);
			for (int j = 0; j < pool->state->max_scans; j++)
				nscans += pool->scans[j].table == i;
			if (nscans != pool->tables[i].nscans)
				return "a table's scans do not add up";
		}
		if (scan->table == CSCAN_NONE)
			continue;
		for (int w = 0; w < CHECKED_WORDS; w++)
			needed += __builtin_popcountll(pool->wanted[(size_t) i * CSCAN_MAP_WORDS + w]);
		if (needed != scan->needed)
			return "a scan's wanted chunks do not add up";
		if (scan->in_use != CSCAN_NONE &&
			pool->slots[scan->in_use].table != scan->table)
			return "a scan uses a slot of another table";
		if (scan->waiting && scan->in_use != CSCAN_NONE)
			return "a scan is blocked and uses a chunk";
	}
	if (bits != slots)
		return "the map holds chunks that are in no slot";
	return NULL;
}

uint64_t
random_next(Random *random)
{
	uint64_t	z = (random->state += UINT64_C(0x9e3779b97f4a7c15));

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

uint32_t
random_below(Random *random, uint32_t bound)
{
	return (uint32_t) (random_next(random) % bound);
}

bool
random_chance(Random *random, uint32_t percent)
{
	return random_below(random, 100) < percent;
}
