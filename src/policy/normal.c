/*-------------------------------------------------------------------------
 *
 * normal.c
 *		Policies normal and attach: each scan in block order, least recently
 *		used chunk out (Section 3 of the paper).
 *
 * A scan takes its chunks in order, beginning at its starting position and
 * going round; normal starts at its first chunk, attach where the running
 * scan with the largest remaining overlap is.  Only the next chunk in that
 * order is of use to it, and it is starved while the chunk in use and the
 * next one are not both there.
 *
 *-------------------------------------------------------------------------
 */
#include <stddef.h>

#include "policy.h"

/* The chunk to be loaded next for an in-order scan: its next one, if absent. */
static uint32_t
next_absent(const CScanPool *pool, int scan)
{
	uint32_t	chunk = cscan_pool_next_wanted(pool, scan, pool->scans[scan].position);

	if (chunk == CSCAN_NO_CHUNK || cscan_pool_absent_for(pool, scan, chunk))
		return chunk;
	return CSCAN_NO_CHUNK;
}

/* Is this one of the next two chunks that the scan will take? */
static bool
about_to_take(const CScanPool *pool, int scan, uint32_t chunk)
{
	uint32_t	next = cscan_pool_next_wanted(pool, scan, pool->scans[scan].position);

	if (next == CSCAN_NO_CHUNK)
		return false;
	return chunk == next || chunk == cscan_pool_next_wanted(pool, scan, next + 1);
}

static uint32_t
normal_start(const CScanPool *pool, int scan)
{
	(void) pool;
	(void) scan;
	return 0;
}

static uint32_t
attach_start(const CScanPool *pool, int scan)
{
	const CScanInterest *s = &pool->scans[scan];
	uint32_t	most = 0;
	uint32_t	start = 0;

	for (int i = 0; i < pool->state->max_scans; i++)
	{
		const CScanInterest *other = &pool->scans[i];
		uint32_t	overlap = 0;

		if (i == scan || other->table != s->table || other->stalled ||
			(other->policy != CSCAN_POLICY_NORMAL &&
			 other->policy != CSCAN_POLICY_ATTACH))
			continue;
		for (int w = 0; w < CSCAN_MAP_WORDS; w++)
			overlap += (uint32_t) __builtin_popcountll(pool->wanted[(size_t) i * CSCAN_MAP_WORDS + w] &
													   pool->wanted[(size_t) scan * CSCAN_MAP_WORDS + w]);
		if (overlap > most)
		{
			most = overlap;
			start = cscan_pool_next_wanted(pool, scan, other->position);
		}
	}
	return start;
}

static int
choose_available(const CScanPool *pool, int scan)
{
	const CScanInterest *s = &pool->scans[scan];
	uint32_t	chunk = cscan_pool_next_wanted(pool, scan, s->position);
	int			slot = cscan_pool_find(pool, s->table, chunk);

	if (slot != CSCAN_NONE && cscan_pool_ready_for(pool, slot, scan))
		return slot;
	return CSCAN_NONE;
}

/*
 * The oldest waiter first: who asked for a chunk longest ago, whether it has
 * got that one meanwhile or not.  But where the pool has not even a chunk for
 * each scan, what is loaded ahead is gone before it is used: there, scans that
 * are reading come last.
 */
static int
oldest_waiter(const CScanPool *pool, CScanPolicyId policy)
{
	uint32_t	running = (uint32_t) cscan_pool_running(pool);
	int			best = CSCAN_NONE;

	for (int i = 0; i < pool->state->max_scans; i++)
	{
		const CScanInterest *s = &pool->scans[i];
		bool		tight;

		if (!cscan_pool_active(pool, i) || s->warm || s->policy != policy ||
			!pool->tables[s->table].loadable ||
			next_absent(pool, i) == CSCAN_NO_CHUNK)
			continue;
		tight = pool->state->budget / pool->tables[s->table].chunk_blocks <= running;
		if (best == CSCAN_NONE ||
			(tight && s->blocked && !pool->scans[best].blocked) ||
			((!tight || s->blocked == pool->scans[best].blocked) &&
			 s->since < pool->scans[best].since))
			best = i;
	}
	return best;
}

static int
normal_choose_query(const CScanPool *pool, uint64_t now)
{
	(void) now;
	return oldest_waiter(pool, CSCAN_POLICY_NORMAL);
}

static int
attach_choose_query(const CScanPool *pool, uint64_t now)
{
	(void) now;
	return oldest_waiter(pool, CSCAN_POLICY_ATTACH);
}

static uint32_t
choose_load(CScanPool *pool, int scan)
{
	return next_absent(pool, scan);
}

/*
 * Anything but what the scan itself is about to take.  While its next chunk is
 * missing, the one after that may go: there may be no other room.
 */
static bool
may_evict(const CScanPool *pool, int slot, int scan)
{
	uint32_t	next = cscan_pool_next_wanted(pool, scan, pool->scans[scan].position);

	return pool->slots[slot].table != pool->scans[scan].table ||
		cscan_pool_absent_for(pool, scan, next) ||
		!about_to_take(pool, scan, pool->slots[slot].chunk);
}

/* Least recently handed out. */
static double
keep(const CScanPool *pool, int slot)
{
	return (double) pool->slots[slot].stamp;
}

/* Against other policies: the next chunk of a starved scan. */
static bool
protects(const CScanPool *pool, int slot, CScanPolicyId policy)
{
	const CScanSlot *s = &pool->slots[slot];

	for (int i = 0; i < pool->state->max_scans; i++)
	{
		if (pool->scans[i].table == s->table && pool->scans[i].policy == policy &&
			cscan_pool_active(pool, i) && about_to_take(pool, i, s->chunk))
			return true;
	}
	return false;
}

static bool
normal_protects(const CScanPool *pool, int slot)
{
	return protects(pool, slot, CSCAN_POLICY_NORMAL);
}

static bool
attach_protects(const CScanPool *pool, int slot)
{
	return protects(pool, slot, CSCAN_POLICY_ATTACH);
}

const CScanPolicy cscan_policy_normal = {
	.name = "normal",
	.start = normal_start,
	.choose_available = choose_available,
	.choose_query = normal_choose_query,
	.choose_load = choose_load,
	.may_evict = may_evict,
	.keep = keep,
	.protects = normal_protects,
	.overrides = true,
	.in_order = true,
};

const CScanPolicy cscan_policy_attach = {
	.name = "attach",
	.start = attach_start,
	.choose_available = choose_available,
	.choose_query = attach_choose_query,
	.choose_load = choose_load,
	.may_evict = may_evict,
	.keep = keep,
	.protects = attach_protects,
	.overrides = true,
	.in_order = true,
};
