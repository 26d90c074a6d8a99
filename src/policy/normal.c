/*-------------------------------------------------------------------------
 *
 * normal.c
 *		Policies normal and attach: each scan in block order, least recently
 *		used chunk out (Section 3 of the paper).
 *
 * A scan takes its chunks in order, from its starting position on and going
 * round.  Normal starts at the scan's first chunk.  Attach starts where the
 * running scan with the largest remaining overlap is.  A scan can use only its
 * next chunk in that order, and is to be served while that one is absent.
 *
 *-------------------------------------------------------------------------
 */
#include "interest.h"
#include "policy.h"

/* A scan's next chunk, if it is absent and may be loaded. */
static uint32_t
next_absent(const CScanPool *pool, int scan)
{
	uint32_t	chunk = cscan_pool_next_wanted(pool, scan, pool->scans[scan].position);

	if (chunk != CSCAN_NO_CHUNK && cscan_set_has(pool->loadable, chunk) &&
		cscan_pool_absent_for(pool, scan, chunk))
		return chunk;
	return CSCAN_NO_CHUNK;
}

/*
 * Has the pool room for no more chunks than there are running scans, if they are
 * all like this one of the scan?  Of columns, for what these scans want of one
 * each, and this one?
 */
static bool
is_tight(const CScanPool *pool, int scan, uint32_t chunk)
{
	const CScanSpace *space = cscan_pool_space_of(pool, chunk);
	uint64_t	blocks = cscan_pool_cost_for(pool, scan, chunk);

	if (!cscan_space_is_columnar(space))
		return pool->state->budget / space->chunk_blocks <= (uint32_t) cscan_pool_running(pool);
	for (int p = 0; p < CSCAN_NPOLICIES; p++)
	{
		CSCAN_SET_EACH(i, cscan_scan_set(pool, CSCAN_SCANS_OF_POLICY + p), cscan_scan_words(pool))
		{
			if (cscan_pool_active(pool, i) && pool->scans[i].nspaces > 0)
				blocks += cscan_interest_load(pool, i);
		}
	}
	return pool->state->budget < blocks;
}

/* Take out of a set the slots of the next two chunks that a scan will take. */
static void
keep_next_two(const CScanPool *pool, int scan, uint64_t *slots)
{
	uint32_t	chunk = cscan_pool_next_wanted(pool, scan, pool->scans[scan].position);

	for (int n = 0; n < 2 && chunk != CSCAN_NO_CHUNK; n++)
	{
		int			slot = cscan_pool_find(pool, chunk);

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

/*
 * Blocks of the chunks that two scans both want; of columns, those that both
 * want.
 */
static uint64_t
overlap(const CScanPool *pool, int a, int b)
{
	const CScanScan *x = &pool->scans[a];
	const CScanScan *y = &pool->scans[b];
	uint32_t	first = x->first_word > y->first_word ? x->first_word : y->first_word;
	uint32_t	end = x->end_word < y->end_word ? x->end_word : y->end_word;
	uint64_t	blocks = 0;

	for (uint32_t w = first; w < end; w++)
	{
		uint64_t	both = cscan_wanted(pool, a)[w] & cscan_wanted(pool, b)[w];

		/* A space's numbers are consecutive: mostly a word has one space. */
		while (both != 0)
		{
			uint32_t	chunk = w * 64 + (uint32_t) __builtin_ctzll(both);
			uint32_t	last = w * 64 + 63 - (uint32_t) __builtin_clzll(both);
			const CScanSpace *space = cscan_pool_space_of(pool, chunk);
			uint64_t	together = pool->space_of[last] == pool->space_of[chunk] ? both : both & -both;
			uint64_t	columns = x->overlap & y->overlap & cscan_layout_all(&space->columns);
			uint32_t	cost = cscan_space_is_columnar(space) ?
				cscan_layout_cost(&space->columns, columns) : space->chunk_blocks;

			blocks += (uint64_t) __builtin_popcountll(together) * cost;
			both &= ~together;
		}
	}
	return blocks;
}

static uint32_t
attach_start(const CScanPool *pool, int scan)
{
	uint64_t	most = 0;
	uint32_t	start = 0;

	for (int i = 0; i < pool->state->limits.max_scans; i++)
	{
		const CScanScan *other = &pool->scans[i];
		uint64_t	blocks;

		if (i == scan || !cscan_pool_active(pool, i) ||
			(other->policy != CSCAN_POLICY_NORMAL && other->policy != CSCAN_POLICY_ATTACH))
			continue;
		blocks = overlap(pool, scan, i);
		if (blocks > most)
		{
			most = blocks;
			start = cscan_pool_next_wanted(pool, scan, other->position);
		}
	}
	return start;
}

static int
choose_available(const CScanPool *pool, int scan)
{
	uint32_t	chunk = cscan_pool_next_wanted(pool, scan, pool->scans[scan].position);
	int			slot = cscan_pool_find(pool, chunk);

	if (slot != CSCAN_NONE && cscan_pool_ready_for(pool, slot, scan))
		return slot;
	return CSCAN_NONE;
}

/*
 * The oldest waiter goes first: the scan that asked for a chunk longest ago,
 * whether it has got that one or not.  If the pool has no more chunks than
 * running scans, a chunk loaded ahead is gone before it is used; then scans
 * that are reading come last.
 */
static int
choose_query(CScanPool *pool, CScanPolicyId self, uint64_t now)
{
	int			best = CSCAN_NONE;

	(void) now;
	CSCAN_SET_EACH(i, cscan_scan_set(pool, CSCAN_SCANS_OF_POLICY + (int) self),
				   cscan_scan_words(pool))
	{
		const CScanScan *s = &pool->scans[i];
		uint32_t	chunk;
		bool		tight;

		if (!cscan_pool_active(pool, i) || s->warm)
			continue;
		chunk = next_absent(pool, i);
		if (chunk == CSCAN_NO_CHUNK)
			continue;
		tight = is_tight(pool, i, chunk);
		if (best == CSCAN_NONE ||
			(tight && s->blocked && !pool->scans[best].blocked) ||
			((!tight || s->blocked == pool->scans[best].blocked) &&
			 s->since < pool->scans[best].since))
			best = i;
	}
	return best;
}

/* The scan that waits longest for a chunk that is absent; with "empty" of those that have nothing. */
static int
choose_blocked(CScanPool *pool, CScanPolicyId self, bool empty)
{
	int			best = CSCAN_NONE;

	CSCAN_SET_EACH(i, cscan_scan_set(pool, CSCAN_SCANS_OF_POLICY + (int) self),
				   cscan_scan_words(pool))
	{
		const CScanScan *s = &pool->scans[i];

		if (s->blocked && (!empty || cscan_pool_has_nothing(pool, i)) && cscan_pool_active(pool, i) && !s->warm &&
			next_absent(pool, i) != CSCAN_NO_CHUNK &&
			(best == CSCAN_NONE || s->since < pool->scans[best].since))
			best = i;
	}
	return best;
}

static int
choose_waiting(CScanPool *pool, CScanPolicyId self)
{
	return choose_blocked(pool, self, false);
}

static int
choose_empty(CScanPool *pool, CScanPolicyId self)
{
	return choose_blocked(pool, self, true);
}

static uint32_t
choose_load(CScanPool *pool, int scan)
{
	return next_absent(pool, scan);
}

/* The order of loads is the scan's, and so are their columns. */
static uint64_t
choose_columns(const CScanPool *pool, int scan, uint32_t chunk)
{
	return cscan_columns(pool, scan, cscan_pool_space_of(pool, chunk));
}

/*
 * Take out what the scan itself is about to take.  While its next chunk is
 * absent, the one after that may go: there may be no other room.
 */
static void
exclude(CScanPool *pool, int scan, uint64_t *slots)
{
	uint32_t	next = cscan_pool_next_wanted(pool, scan, pool->scans[scan].position);

	if (!cscan_pool_absent_for(pool, scan, next))
		keep_next_two(pool, scan, slots);
}

/* All are worth the same: the least recently handed out goes. */
static void
least_valued(CScanPool *pool, uint64_t *slots)
{
	(void) pool;
	(void) slots;
}

/* Take out the slots of the next two chunks of each active scan. */
static void
protect(CScanPool *pool, CScanPolicyId self, uint64_t *slots)
{
	CSCAN_SET_EACH(i, cscan_scan_set(pool, CSCAN_SCANS_OF_POLICY + (int) self),
				   cscan_scan_words(pool))
	{
		if (cscan_pool_active(pool, i))
			keep_next_two(pool, i, slots);
	}
}

const CScanPolicy cscan_policy_normal = {
	.name = "normal",
	.traits = {.in_order = true,.overrides = true},
	.start = normal_start,
	.choose_available = choose_available,
	.choose_query = choose_query,
	.choose_waiting = choose_waiting,
	.choose_empty = choose_empty,
	.choose_load = choose_load,
	.choose_columns = choose_columns,
	.exclude = exclude,
	.least_valued = least_valued,
	.protect = protect,
};

const CScanPolicy cscan_policy_attach = {
	.name = "attach",
	.traits = {.in_order = true,.overrides = true},
	.start = attach_start,
	.choose_available = choose_available,
	.choose_query = choose_query,
	.choose_waiting = choose_waiting,
	.choose_empty = choose_empty,
	.choose_load = choose_load,
	.choose_columns = choose_columns,
	.exclude = exclude,
	.least_valued = least_valued,
	.protect = protect,
};
