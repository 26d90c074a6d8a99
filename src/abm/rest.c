/*-------------------------------------------------------------------------
 *
 * rest.c
 *		Chunks that rest: loaded and remembered, but not pinned.
 *
 * A pin keeps a block in memory, and it keeps VACUUM and the pruning of updates
 * from the page.  A table that fits into the pool, and is scanned all the time,
 * would be pinned for ever, and grow.  So a table's chunks rest while
 *
 *		nothing had to be loaded of it for a while: then nobody takes its frames
 *		another process has it locked as VACUUM does
 *
 * The pool knows nothing of that: for it these chunks are held, and count against
 * the budget.  If a resting chunk has lost a frame, it is forgotten (rounds.c), and
 * loaded again if a scan wants it.  Then the table's chunks rest no more for a while.
 *
 * Indexes of columns are left out: nobody prunes their pages.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "abm/abm.h"
#include "cscan.h"

/* Tables and slots that are looked at in a round. */
#define TABLES_AT_ONCE	8
#define SLOTS_AT_ONCE	128

typedef struct CScanRest
{
	uint64		loaded;			/* when something was loaded of the table (us) */
	bool		vacuumed;		/* it was locked when it was looked at; never of
								 * an index of columns */
} CScanRest;

static CScanRest *rest;			/* by table */

void
cscan_rest_init(void)
{
	rest = MemoryContextAllocZero(TopMemoryContext, sizeof(CScanRest) * cscan_max_tables);
}

/* A table's number may have been another one's. */
void
cscan_rest_begin(int table, uint64 now)
{
	rest[table] = (CScanRest) {.loaded = now};
}

/* Something has been loaded of a table. */
void
cscan_rest_note_load(int table, uint64 now)
{
	rest[table].loaded = now;
}

static void
look_at_tables(void)
{
	static int	next = 0;
	int			left = Min(TABLES_AT_ONCE, cscan_pool.state->nspaces);

	for (int i = 0; i < cscan_max_tables && left > 0; i++)
	{
		next = (next + 1) % cscan_max_tables;
		if (!cscan_pool.spaces[next].used)
			continue;
		rest[next].vacuumed = !cscan_space_is_columnar(&cscan_pool.spaces[next]) &&
			cscan_locks_relation_vacuumed(next);
		left--;
	}
}

/* Should what is loaded of a table rest at once? */
bool
cscan_rest_has_vacuum(int table)
{
	return rest[table].vacuumed;
}

static bool
may_rest(int table, uint64 now)
{
	return rest[table].vacuumed ||
		(!cscan_space_is_columnar(&cscan_pool.spaces[table]) &&
		 now > rest[table].loaded + 1000 * (uint64) cscan_debug_rest_after);
}

/* Let some of the chunks rest, or pin them again. */
void
cscan_rest_look(uint64 now)
{
	static int	next = 0;
	int			nslots = Min(SLOTS_AT_ONCE, cscan_pool.state->limits.max_slots);
	uint64		until = now + CSCAN_PART_TIME / 8;

	look_at_tables();
	for (int i = 0; i < nslots && cscan_now() < until; i++)
	{
		int			space;

		next = (next + 1) % cscan_pool.state->limits.max_slots;
		space = cscan_pool.slots[next].space;
		if (space == CSCAN_NONE || !cscan_pool.slots[next].held)
			continue;
		if (may_rest(space, now))
			cscan_frames_let_rest(next);
		else if (cscan_frames_rest(next) && !cscan_frames_repin(next))
			cscan_loads_leave_slot(next);
	}
}
