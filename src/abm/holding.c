/*-------------------------------------------------------------------------
 *
 * holding.c
 *		The tables that the ABM holds: their locks, and with them their chunks.
 *
 *		look_after		take the locks of new tables, let go of those that no
 *						scan reads
 *		yield			let go of tables whose lock, or whose database's lock,
 *						another process waits for
 *		wake_all		let all scans look again
 *		anything		is there a table at all?
 *		reset			nothing is held: the ABM begins or ends
 *
 * shared.h draws the states of a table.  locks.c has the locks themselves.
 *
 * Invariant: no lock without a registration that was seen live after the lock
 * was taken, and no chunk of a table without its lock.  Letting go happens in
 * the order: wait for I/O, unpin, unlock.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "abm/abm.h"
#include "fault.h"

/* A refused lock is tried again after so long (us). */
#define RETRY_LOCK_AFTER	100000

static void
set_lock_state(int table, CScanLockState state)
{
	CScanAccess access = CSCAN_ACCESS_UNKNOWN;

	if (state == CSCAN_TABLE_LOCKED)
		access = CSCAN_ACCESS_GRANTED;
	else if (state == CSCAN_TABLE_REFUSED)
		access = CSCAN_ACCESS_REFUSED;
	cscan_tables[table].lock_state = state;
	cscan_tables[table].refused_at = cscan_now();
	cscan_pool_set_access(&cscan_pool, table, access);
}

/* Let all scans of a table look again. */
static void
wake_scans(int table)
{
	for (int i = cscan_pool_scan_of(&cscan_pool, table, 0); i != CSCAN_NONE;
		 i = cscan_pool_scan_of(&cscan_pool, table, i + 1))
		ConditionVariableBroadcast(&cscan_scans[i].cv);
}

void
cscan_holding_wake_all(void)
{
	for (int i = 0; i < cscan_max_scans; i++)
	{
		if (cscan_pool.scans[i].used)
			ConditionVariableBroadcast(&cscan_scans[i].cv);
	}
}

/*
 * Does the table have a scan that is not stalled, or went on a short while
 * ago?  A warm scan finds all that it needs in memory: it keeps what is held,
 * but asks for nothing.  "warm" says whether it counts.  Call with the lock
 * held to be sure.
 */
static bool
has_active_scan(int table, bool warm, uint64 now)
{
	for (int i = cscan_pool_scan_of(&cscan_pool, table, 0); i != CSCAN_NONE;
		 i = cscan_pool_scan_of(&cscan_pool, table, i + 1))
	{
		const CScanScan *s = &cscan_pool.scans[i];

		if ((warm || !s->warm) &&
			(!s->stalled || now < cscan_scans[i].last_change + CSCAN_STALLED_AFTER))
			return true;
	}
	return false;
}

bool
cscan_holding_anything(void)
{
	return cscan_pool.state->nspaces > 0;
}

/* Nothing is held of the table, and no scan reads it. */
static void
remove_table(int table)
{
	cscan_lock();
	cscan_tables_drop(table);
	cscan_unlock();
}

/*
 * Let go of all chunks of a table, then of its lock.  Nothing is loaded of it
 * meanwhile, but loads of other tables go on.  "wanted": scans may come back to
 * these chunks.
 */
static void
let_go(int table, bool wanted)
{
	const CScanSpace *space = &cscan_pool.spaces[table];
	uint64		until = cscan_now() + CSCAN_PART_TIME;

	if (cscan_tables[table].chunks_loaded > 0 && !cscan_space_is_columnar(space))
		cscan_recent_remember(cscan_tables[table].locator,
							  cscan_space_blocks(space, space->cursor - 1).end);
	for (uint32 c = space->first_chunk; c < space->first_chunk + space->nchunks; c++)
	{
		if (cscan_pool.slot_of[c] == CSCAN_NONE)
			continue;
		if (wanted)
			cscan_loads_leave_slot(cscan_pool.slot_of[c]);
		else
			cscan_loads_drop_slot(cscan_pool.slot_of[c]);
		CHECK_FOR_INTERRUPTS();
		if (cscan_now() < until)
			continue;
		cscan_loads_go_on();
		until = cscan_now() + CSCAN_PART_TIME;
	}
	cscan_page_cache_forget();
	CSCAN_FAULT(CSCAN_FAULT_ABM_UNLOCK);
	cscan_locks_release(table);
}

static void
acquire_table(int table)
{
	CScanSpace	space;
	bool		locked;
	bool		wanted;

	cscan_lock();
	wanted = cscan_pool.spaces[table].used && has_active_scan(table, false, cscan_now()) &&
		(cscan_tables[table].lock_state == CSCAN_TABLE_WANTED ||
		 cscan_tables[table].lock_state == CSCAN_TABLE_REFUSED);
	if (wanted)
		set_lock_state(table, CSCAN_TABLE_LOCKING);
	space = cscan_pool.spaces[table];
	cscan_unlock();
	if (!wanted)
		return;

	/* From here on only the ABM changes the entry. */
	locked = cscan_locks_take(table, cscan_tables[table].dbid, cscan_tables[table].relid);
	CSCAN_FAULT(CSCAN_FAULT_ABM_LOCKED);

	/* Look only now whether a registration is still live. */
	cscan_lock();
	wanted = cscan_pool.spaces[table].nscans > 0;
	if (wanted)
	{
		set_lock_state(table, locked ? CSCAN_TABLE_LOCKED : CSCAN_TABLE_REFUSED);
		if (!locked)
			wake_scans(table);
	}
	else
	{
		set_lock_state(table, CSCAN_TABLE_RELEASING);
		cscan_tables_hide(table);
	}
	cscan_unlock();
	if (wanted)
	{
		cscan_rest_begin(table, cscan_now());
		if (locked && space.last_load == 0 && space.extent > 0 && !cscan_space_is_columnar(&space))
			cscan_recent_recall(cscan_tables[table].locator, table, &space);
		return;
	}

	if (locked)
		cscan_locks_release(table);
	remove_table(table);
}

/*
 * All scans of a table are stalled.  They may be idle cursors of a session
 * that now wants to change the table.  Hold nothing until one of them goes on.
 */
static void
suspend_table(int table)
{
	bool		gone;

	let_go(table, true);
	cscan_lock();
	gone = cscan_pool.spaces[table].nscans == 0;
	set_lock_state(table, gone ? CSCAN_TABLE_RELEASING : CSCAN_TABLE_WANTED);
	if (gone)
		cscan_tables_hide(table);
	cscan_unlock();
	if (gone)
		remove_table(table);
}

/* Another process waits for the lock: scans read this table themselves. */
static void
yield_table(int table)
{
	cscan_lock();
	set_lock_state(table, CSCAN_TABLE_REFUSED);
	wake_scans(table);
	cscan_unlock();
	let_go(table, true);
}

/*
 * A process that waits for the lock of a table with active scans waits for
 * these, too: without the ABM it would only wait longer.  When none is left,
 * the table is let go of in any case.  A scan of the waiting process itself,
 * an open cursor, counts as active until it is seen to be stalled.  One round
 * asks for some of the tables only.
 */
void
cscan_holding_yield_relations(void)
{
	static int	next = 0;
	uint64		now = cscan_now();
	uint64		until = now + CSCAN_PART_TIME / 8;
	int			left = cscan_pool.state->nspaces;

	for (int i = 0; i < cscan_max_tables && left > 0; i++)
	{
		int			table = next;

		next = (next + 1) % cscan_max_tables;
		if (!cscan_pool.spaces[table].used)
			continue;
		if (cscan_tables[table].lock_state == CSCAN_TABLE_LOCKED &&
			cscan_locks_relation_waited_for(table) && !has_active_scan(table, true, now))
			yield_table(table);
		if (cscan_now() >= until)
			break;
		left--;
	}
}

/*
 * A process that waits for a database waits for the ABM alone, until it has
 * the lock and looks for sessions.  It gets it when the last table is let go
 * of.  Tables of one database mostly come together, so it is asked for only
 * where it changes.
 */
void
cscan_holding_yield_databases(void)
{
	Oid			dbid = InvalidOid;
	bool		waited_for = false;

	for (int i = 0; i < cscan_max_tables; i++)
	{
		if (!cscan_pool.spaces[i].used || cscan_tables[i].lock_state != CSCAN_TABLE_LOCKED)
			continue;
		if (cscan_tables[i].dbid != dbid)
		{
			dbid = cscan_tables[i].dbid;
			waited_for = cscan_locks_database_waited_for(i);
		}
		if (waited_for)
			yield_table(i);
	}
}

/*
 * May the table need care?  It hardly ever does, so this is an unlocked look.
 * What is missed now is seen next time.
 */
static bool
needs_care(int table, uint64 now)
{
	switch (cscan_tables[table].lock_state)
	{
		case CSCAN_TABLE_WANTED:
			return has_active_scan(table, false, now);
		case CSCAN_TABLE_LOCKED:
			return !has_active_scan(table, true, now);
		case CSCAN_TABLE_REFUSED:
			return cscan_pool.spaces[table].nscans == 0 ||
				(now > cscan_tables[table].refused_at + RETRY_LOCK_AFTER && !cscan_locks_are_all_taken());
		default:
			return true;
	}
}

/* Do what a table needs. */
static void
look_after_table(int table, uint64 now)
{
	CScanLockState state;
	bool		wanted;
	bool		active;

	cscan_lock();
	if (!cscan_pool.spaces[table].used)
	{
		cscan_unlock();
		return;
	}
	state = cscan_tables[table].lock_state;
	wanted = cscan_pool.spaces[table].nscans > 0;
	active = has_active_scan(table, true, now);
	if (!wanted && (state == CSCAN_TABLE_LOCKED || state == CSCAN_TABLE_REFUSED))
	{
		set_lock_state(table, CSCAN_TABLE_RELEASING);
		cscan_tables_hide(table);
	}
	else if (!active && state == CSCAN_TABLE_LOCKED)
		set_lock_state(table, CSCAN_TABLE_LOCKING);
	cscan_unlock();

	switch (state)
	{
		case CSCAN_TABLE_LOCKED:
			if (wanted && !active)
				suspend_table(table);
			else if (!wanted)
			{
				let_go(table, false);
				remove_table(table);
			}
			break;
		case CSCAN_TABLE_REFUSED:
			if (!wanted)
				remove_table(table);
			else if (now > cscan_tables[table].refused_at + RETRY_LOCK_AFTER)
				acquire_table(table);
			break;
		case CSCAN_TABLE_WANTED:
			acquire_table(table);
			break;
		default:
			break;
	}
}

/*
 * Take the locks of new tables, and let go of tables that no scan reads.
 * Returns whether any table needed care.  All tables that are there at the
 * beginning are looked at, whatever comes and goes meanwhile: a process that
 * waits for a release may have asked for any of them.
 */
bool
cscan_holding_look_after(void)
{
	uint64		now = cscan_now();
	uint64		releases;
	int			end;
	bool		found = false;

	cscan_lock();
	releases = cscan_shared->releases_wanted;
	cscan_shared->tables_changed = false;
	end = cscan_pool.state->spaces_end;
	cscan_unlock();

	for (int i = 0; i < end; i++)
	{
		if (!cscan_pool.spaces[i].used || !needs_care(i, now))
			continue;
		found = true;
		look_after_table(i, now);
		CHECK_FOR_INTERRUPTS();
	}
	if (found)
		cscan_page_cache_forget();

	if (cscan_shared->releases_done != releases)
	{
		cscan_lock();
		cscan_shared->releases_done = releases;
		cscan_unlock();
		ConditionVariableBroadcast(&cscan_shared->released);
	}
	return found;
}

/*
 * Note that nothing is held, as the ABM begins or ends.  Registered scans stay
 * registered and are served again.  Call with the lock held.
 */
void
cscan_holding_reset(void)
{
	for (int i = 0; i < cscan_pool.state->limits.max_slots; i++)
		cscan_pool_drop(&cscan_pool, i);
	for (int i = 0; i < cscan_max_tables; i++)
	{
		if (!cscan_pool.spaces[i].used)
			continue;
		set_lock_state(i, CSCAN_TABLE_WANTED);
		if (cscan_pool.spaces[i].nscans == 0)
			cscan_tables_drop(i);
	}
	cscan_holding_wake_all();
	cscan_shared->releases_done = cscan_shared->releases_wanted;
	cscan_shared->tables_changed = true;
}
