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
#include "pool_internal.h"

/* The chunk to be loaded next for an in-order scan: its next one, if absent. */
static uint32_t
next_absent(const CScanPool *pool, int scan)
{
	uint32_t	chunk = cscan_pool_next_wanted(pool, scan, pool->scans[scan].position);

	if (chunk == CSCAN_NO_CHUNK || cscan_pool_absent_for(pool, scan, chunk))
		return chunk;
	return CSCAN_NO_CHUNK;
}

/* Take out of a set of slots those with the next two chunks that it will take. */
static void
keep_next_two(const CScanPool *pool, int scan, uint64_t *slots)
{
	uint32_t	chunk = cscan_pool_next_wanted(pool, scan, pool->scans[scan].position);

	for (int n = 0; n < 2 && chunk != CSCAN_NO_CHUNK; n++)
	{
		int			slot = cscan_pool_find(pool, pool->scans[scan].table, chunk);

		if (slot != CSCAN_NONE)
			cscan_set_remove(slots, (uint32_t) slot);
		chunk = cscan_pool_next_wanted(pool, scan, chunk + 1);
	}
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

	CSCAN_SET_EACH(i, cscan_table_scans(pool, s->table), cscan_scan_words(pool))
	{
		const CScanInterest *other = &pool->scans[i];
		uint32_t	overlap = 0;

		if (i == scan || other->stalled ||
			(other->policy != CSCAN_POLICY_NORMAL &&
			 other->policy != CSCAN_POLICY_ATTACH))
			continue;
		for (uint32_t w = s->first_word; w < s->end_word && w < other->end_word; w++)
		{
			if (w >= other->first_word)
				overlap += (uint32_t) __builtin_popcountll(WANTED(pool, i)[w] & WANTED(pool, scan)[w]);
		}
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

	CSCAN_SET_EACH(i, cscan_scan_set(pool, CSCAN_SCANS_OF_POLICY + (int) policy),
				   cscan_scan_words(pool))
	{
		const CScanInterest *s = &pool->scans[i];
		bool		tight;

		if (!cscan_pool_active(pool, i) || s->warm ||
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
normal_choose_query(CScanPool *pool, uint64_t now)
{
	(void) now;
	return oldest_waiter(pool, CSCAN_POLICY_NORMAL);
}

static int
attach_choose_query(CScanPool *pool, uint64_t now)
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
static void
spare(CScanPool *pool, int scan, uint64_t *slots)
{
	uint32_t	next = cscan_pool_next_wanted(pool, scan, pool->scans[scan].position);

	if (!cscan_pool_absent_for(pool, scan, next))
		keep_next_two(pool, scan, slots);
}

/* Least recently handed out. */
static void
least_valued(CScanPool *pool, uint64_t *slots)
{
	(void) pool;
	(void) slots;
}

/* Against other policies: the next chunks of its scans. */
static void
protect(const CScanPool *pool, CScanPolicyId policy, uint64_t *slots)
{
	CSCAN_SET_EACH(i, cscan_scan_set(pool, CSCAN_SCANS_OF_POLICY + (int) policy),
				   cscan_scan_words(pool))
	{
		if (cscan_pool_active(pool, i))
			keep_next_two(pool, i, slots);
	}
}

static void
normal_protect(CScanPool *pool, uint64_t *slots)
{
	protect(pool, CSCAN_POLICY_NORMAL, slots);
}

static void
attach_protect(CScanPool *pool, uint64_t *slots)
{
	protect(pool, CSCAN_POLICY_ATTACH, slots);
}

const CScanPolicy cscan_policy_normal = {
	.name = "normal",
	.start = normal_start,
	.choose_available = choose_available,
	.choose_query = normal_choose_query,
	.choose_load = choose_load,
	.spare = spare,
	.least_valued = least_valued,
	.protect = normal_protect,
	.overrides = true,
	.in_order = true,
};

const CScanPolicy cscan_policy_attach = {
	.name = "attach",
	.start = attach_start,
	.choose_available = choose_available,
	.choose_query = attach_choose_query,
	.choose_load = choose_load,
	.spare = spare,
	.least_valued = least_valued,
	.protect = attach_protect,
	.overrides = true,
	.in_order = true,
};
