/*-------------------------------------------------------------------------
 *
 * elevator.c
 *		Policy elevator: one cursor sweeps what the scans of a table want
 *		(Section 3 of the paper).
 *
 * Chunks are loaded strictly in the order of the sweep.  A chunk stays until
 * every elevator scan that wants it has used it.  If the pool is full of
 * wanted chunks, the cursor waits for the slowest scan.
 *
 * Scans that have a space in common share a sweep, and so do scans that are
 * linked by other scans.  If each scan had a cursor of its own, a scan between
 * two others would wait while theirs take turns.  The history has for each
 * space
 *
 *		its sweep: a number, not that of a particular space,
 *
 * and for each sweep, under that number,
 *
 *		the chunk that follows its last load, the number of that load, and how
 *		many spaces are in it.
 *
 * When a scan starts, the sweeps of its spaces become one.  They stay one as
 * long as these spaces exist.
 *
 *-------------------------------------------------------------------------
 */
#include "policy.h"
#include "queue.h"
#include "slots.h"
#include "status.h"

#define WORDS	4

static size_t
history_words(const CScanLimits *limits)
{
	return WORDS * (size_t) limits->max_spaces;
}

/* A space's sweep.  A history from a damaged trace may hold any number. */
static uint64_t
sweep_of(const CScanPool *pool, const uint64_t *history, int space)
{
	uint64_t	sweep = history[WORDS * (size_t) space];

	return sweep < (uint64_t) pool->state->limits.max_spaces ? sweep : (uint64_t) space;
}

static void
set_sweep(uint64_t *history, int space, uint64_t sweep)
{
	history[WORDS * (size_t) space] = sweep;
}

static uint64_t *
cursor_of(uint64_t *history, uint64_t sweep)
{
	return &history[WORDS * sweep + 1];
}

static uint64_t *
last_load_of(uint64_t *history, uint64_t sweep)
{
	return &history[WORDS * sweep + 2];
}

static uint64_t *
size_of(uint64_t *history, uint64_t sweep)
{
	return &history[WORDS * sweep + 3];
}

/* A scan's sweep: all of its spaces have that of the first. */
static uint64_t
scan_sweep(const CScanPool *pool, int scan)
{
	int			space = cscan_pool_space_of_scan(pool, scan, 0);

	return space == CSCAN_NONE ? UINT64_MAX :
		sweep_of(pool, pool->history[CSCAN_POLICY_ELEVATOR], space);
}

static void
on_space(CScanPool *pool, uint64_t *history, int space)
{
	uint64_t	sweep = (uint64_t) space;

	/*
	 * There are no more sweeps than spaces, so one of these numbers is free.  In
	 * a history from a damaged trace none may be.
	 */
	for (int i = 0; i < pool->state->limits.max_spaces && *size_of(history, sweep) > 0; i++)
		sweep = (sweep + 1) % (uint64_t) pool->state->limits.max_spaces;
	set_sweep(history, space, sweep);
	*cursor_of(history, sweep) = pool->spaces[space].first_chunk;
	*last_load_of(history, sweep) = 0;
	*size_of(history, sweep) = 1;
}

/* Move all spaces of a sweep to another one. */
static void
rename_sweep(CScanPool *pool, uint64_t *history, uint64_t from, uint64_t to)
{
	for (int i = 0; i < pool->state->limits.max_spaces && *size_of(history, from) > 0; i++)
	{
		if (!pool->spaces[i].used || sweep_of(pool, history, i) != from)
			continue;
		set_sweep(history, i, to);
		(*size_of(history, from))--;
		(*size_of(history, to))++;
	}
}

/* When a space goes, its sweep keeps its number as long as it has others. */
static void
on_space_gone(CScanPool *pool, uint64_t *history, int space)
{
	(*size_of(history, sweep_of(pool, history, space)))--;
}

static void
on_cursor(CScanPool *pool, uint64_t *history, int space)
{
	*cursor_of(history, sweep_of(pool, history, space)) = pool->spaces[space].cursor;
}

/* Merge the sweeps of the scan's spaces into the one that loaded last. */
static void
on_start(CScanPool *pool, uint64_t *history, int scan)
{
	uint64_t	latest = UINT64_MAX;

	if (pool->scans[scan].policy != CSCAN_POLICY_ELEVATOR)
		return;
	CSCAN_SET_EACH(i, cscan_scan_spaces(pool, scan), cscan_space_words(pool))
	{
		uint64_t	sweep = sweep_of(pool, history, i);

		if (latest == UINT64_MAX || *last_load_of(history, sweep) > *last_load_of(history, latest))
			latest = sweep;
	}
	CSCAN_SET_EACH(i, cscan_scan_spaces(pool, scan), cscan_space_words(pool))
	{
		uint64_t	sweep = sweep_of(pool, history, i);

		if (sweep == latest)
			continue;
		if (*size_of(history, sweep) > 1)
		{
			rename_sweep(pool, history, sweep, latest);
			continue;
		}
		set_sweep(history, i, latest);
		*size_of(history, sweep) = 0;
		(*size_of(history, latest))++;
	}
}

static void
on_load(CScanPool *pool, uint64_t *history, int scan, uint32_t chunk)
{
	uint64_t	sweep = sweep_of(pool, history, pool->space_of[chunk]);

	if (pool->scans[scan].policy != CSCAN_POLICY_ELEVATOR)
		return;
	*cursor_of(history, sweep) = chunk + 1;
	*last_load_of(history, sweep) = pool->state->nloads;
}

static uint32_t
start(const CScanPool *pool, int scan)
{
	(void) pool;
	(void) scan;
	return 0;
}

/* Scans use chunks in the order of the sweep, which is that of the loads. */
static int
choose_available(const CScanPool *pool, int scan)
{
	if (pool->scans[scan].ready == 0)
		return CSCAN_NONE;
	return cscan_slots_first(pool, cscan_scan_slots(pool, scan, CSCAN_HAS_READY));
}

/* Any starved scan moves its sweep's cursor, the longest waiting one first. */
static int
choose_query(CScanPool *pool, CScanPolicyId self, uint64_t now)
{
	uint64_t	since;
	int			scan = cscan_queue_first(pool, self, CSCAN_QUEUE_BLOCKED, &since);

	(void) now;
	if (scan == CSCAN_NONE)
		scan = cscan_queue_first(pool, self, CSCAN_QUEUE_READING, &since);
	return scan;
}

/* The sweep's next chunk that one of its scans finds absent. */
static uint32_t
choose_load(CScanPool *pool, int scan)
{
	uint64_t	sweep = scan_sweep(pool, scan);
	uint32_t	cursor = (uint32_t) *cursor_of(pool->history[CSCAN_POLICY_ELEVATOR], sweep);
	uint32_t	best = CSCAN_NO_CHUNK;
	uint32_t	nearest = 0;

	CSCAN_SET_EACH(i, cscan_scan_set(pool, CSCAN_SCANS_OF_POLICY + CSCAN_POLICY_ELEVATOR),
				   cscan_scan_words(pool))
	{
		uint32_t	chunk;
		uint32_t	distance;

		if (!cscan_pool_active(pool, i) || scan_sweep(pool, i) != sweep)
			continue;
		chunk = cscan_state_first_absent(pool, i, cursor, true);
		if (chunk == CSCAN_NO_CHUNK)
			continue;
		distance = chunk >= cursor ? chunk - cursor : chunk + pool->state->limits.max_chunks;
		if (best == CSCAN_NO_CHUNK || distance < nearest)
		{
			best = chunk;
			nearest = distance;
		}
		if (nearest == 0)
			break;
	}
	return best;
}

/* Take out the slots that elevator scans can use: these stay until used. */
static void
keep_usable(CScanPool *pool, uint64_t *slots)
{
	CScanTally	usable = cscan_status_slots(pool, CSCAN_TALLY_KEEPERS);

	cscan_tally_remove_counted(&usable, slots, cscan_slot_words(pool));
}

static void
protect(CScanPool *pool, CScanPolicyId self, uint64_t *slots)
{
	(void) self;
	keep_usable(pool, slots);
}

static void
exclude(CScanPool *pool, int scan, uint64_t *slots)
{
	(void) scan;
	keep_usable(pool, slots);
}

/* The slots that the fewest scans want; the oldest of these goes. */
static void
least_valued(CScanPool *pool, uint64_t *slots)
{
	CScanTally	interested = cscan_status_slots(pool, CSCAN_TALLY_INTERESTED);

	cscan_tally_lowest(&interested, slots, cscan_slot_words(pool));
}

const CScanPolicy cscan_policy_elevator = {
	.name = "elevator",
	.traits = {.queue = CSCAN_QUEUE_SINCE,.keeps_ready = true},
	.start = start,
	.choose_available = choose_available,
	.choose_query = choose_query,
	.choose_load = choose_load,
	.exclude = exclude,
	.least_valued = least_valued,
	.protect = protect,
	.history_words = history_words,
	.on_space = on_space,
	.on_space_gone = on_space_gone,
	.on_cursor = on_cursor,
	.on_start = on_start,
	.on_load = on_load,
};
