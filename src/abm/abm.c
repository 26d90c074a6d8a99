/*-------------------------------------------------------------------------
 *
 * abm.c
 *		The Active Buffer Manager: one background worker for the cluster.
 *
 * Its loop, after Figure 3's main():
 *
 *		take and give back the locks of tables that came or went
 *		look after neighbours who wait for what we hold, and for stalled scans
 *		as long as there is room in flight: decide, then evict or start a load
 *		finish the oldest load and wake the scans that wait for it
 *		nothing to do: sleep until a scan sets the latch
 *
 * Invariant: no pin and no I/O in flight without the table's lock, and no lock
 * without a registration that was seen live after the lock was taken.  Letting
 * go happens in the order: wait for I/O, unpin, unlock.
 *
 * The worker is connected, to no database, so that it takes part in procsignal
 * barriers and invalidation, but it never runs a transaction: an abort would
 * release its locks.  It exits with code 1 to be started again.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "pgstat.h"
#include "postmaster/bgworker.h"
#include "postmaster/interrupt.h"
#include "storage/ipc.h"
#include "storage/lock.h"
#include "storage/pmsignal.h"
#include "storage/procsignal.h"
#include "utils/guc.h"
#include "utils/inval.h"
#include "utils/memutils.h"
#include "utils/resowner.h"

#include "abm/abm.h"
#include "abm/trace.h"
#include "fault.h"

/* Loads in flight: the one being waited for, and what the disk does next. */
#define LOADS_IN_FLIGHT		2

/*
 * From storage that takes less than this for a block (us) a chunk is had again
 * for little more than it costs to keep it: new frames, that are in no CPU's
 * cache, for what comes next.
 */
#define FAST_BLOCK_TIME		20

/* How often neighbours are looked after (us). */
#define ROUND_TIME			10000

/*
 * How often pins are, while nobody tells of a change, and stalled scans: that
 * takes the scheduler's lock, which is dear where hundreds of scans compete for
 * the CPUs (us).
 */
#define LOOK_TIME			50000

/* A table whose lock was refused is tried again after so long (us). */
#define RETRY_LOCK_AFTER	100000

/* Statistics are reported once in so long (us). */
#define REPORT_STATS_AFTER	1000000

/* Files are closed after so many loads. */
#define TIDY_AFTER_LOADS	1024

typedef struct CScanLoadInFlight
{
	int			slot;
	int			scan;			/* whom it is for, and */
	int			policy;			/* under which policy */
	uint64		started;		/* us */
} CScanLoadInFlight;

static CScanLoadInFlight in_flight[LOADS_IN_FLIGHT];
static int	nin_flight;			/* the oldest is the first */
static uint64 last_finish;
static double block_time;		/* see note_storage(); 0: not known yet */
static int *read_under;			/* for each slot: the policy under which its
								 * chunk was read, or CSCAN_NONE */
static int *to_wake;			/* scans; see find_scans_to_wake() */
static uint32 wait_idle;
static int	loads_since_tidy;

/* ------------------------------------------------------------------
 * Loads
 * ------------------------------------------------------------------ */

/*
 * Find the blocked scans that can use what is in this slot; call with the lock
 * held.  They are woken after it has been released: a process that is woken may
 * take the CPU at once, and would take it from the one who has the lock.
 */
static int
find_scans_to_wake(int slot)
{
	const CScanSlot *s = &cscan_pool.slots[slot];
	int			n = 0;

	for (int i = cscan_pool_scan_of(&cscan_pool, s->table, 0); i != CSCAN_NONE;
		 i = cscan_pool_scan_of(&cscan_pool, s->table, i + 1))
	{
		if (cscan_pool.scans[i].blocked && cscan_pool_can_use(&cscan_pool, slot, i))
		{
			cscan_shared->stats[cscan_pool.scans[i].policy].wakeups++;
			to_wake[n++] = i;
		}
	}
	return n;
}

static void
wake_scans(int n)
{
	for (int i = 0; i < n; i++)
		ConditionVariableSignal(&cscan_scans[to_wake[i]].cv);
}

static void
wake_table(int table)
{
	for (int i = cscan_pool_scan_of(&cscan_pool, table, 0); i != CSCAN_NONE;
		 i = cscan_pool_scan_of(&cscan_pool, table, i + 1))
		ConditionVariableBroadcast(&cscan_scans[i].cv);
}

static void
start_load(const CScanAction *act, uint64 now)
{
	CScanLoadInFlight *load = &in_flight[nin_flight++];

	CSCAN_FAULT(CSCAN_FAULT_ABM_START_LOAD);
	load->slot = act->slot;
	load->scan = act->scan;
	load->policy = cscan_pool.scans[act->scan].policy;
	load->started = now;
	cscan_loader_start(act, &cscan_tables[act->table]);
}

/*
 * A load for which a scan had to wait took so long for each block (us).  Others
 * tell nothing of the storage: while nobody waited, the kernel may have read
 * ahead.
 */
static void
note_storage(double time)
{
	if (block_time == 0)
		block_time = time;
	else
		block_time += (time - block_time) / 8.0;
}

static bool
storage_is_fast(void)
{
	return block_time > 0 && block_time < FAST_BLOCK_TIME;
}

/*
 * Finish the load at that place of in_flight[].  Returns whether something else
 * may be to be done now.
 */
static bool
finish_load(int n)
{
	CScanLoadInFlight load = in_flight[n];
	uint32		blocks_read;
	bool		ok;
	bool		more;
	uint64		now;
	uint64		duration = 0;
	int			nwake;
	CScanStats *stats = &cscan_shared->stats[load.policy];
	CScanSharedTable *table;

	ok = cscan_loader_finish(load.slot, &blocks_read);
	CSCAN_FAULT(CSCAN_FAULT_ABM_LOADED);

	nin_flight--;
	memmove(&in_flight[n], &in_flight[n + 1], sizeof(CScanLoadInFlight) * (nin_flight - n));

	cscan_lock();
	now = cscan_now();
	cscan_shared->abm_loaded = now;
	table = &cscan_tables[cscan_pool.slots[load.slot].table];

	if (blocks_read > 0)
		duration = now - Max(load.started, last_finish);
	cscan_pool_loaded(&cscan_pool, load.slot, now, duration, !ok,
					  ok && (blocks_read == 0 || storage_is_fast()));
	stats->chunks_loaded++;
	stats->blocks_read += blocks_read;
	if (!ok)
		read_under[load.slot] = CSCAN_NONE;
	else if (blocks_read > 0)
		read_under[load.slot] = load.policy;
	table->chunks_loaded++;
	table->blocks_read += blocks_read;
	nwake = find_scans_to_wake(load.slot);
	more = !cscan_shared->abm_idle || cscan_pool_wants_load(&cscan_pool, now);
	cscan_unlock();
	wake_scans(nwake);
	if (nwake > 0 && blocks_read > 0)
		note_storage((double) duration / blocks_read);
	last_finish = now;
	loads_since_tidy++;
	return more;
}

/* Wait for whatever is in flight of that slot (CSCAN_NONE: of all). */
static void
finish_loads_of(int slot)
{
	for (int i = nin_flight; i-- > 0;)
	{
		if (slot == CSCAN_NONE || in_flight[i].slot == slot)
			(void) finish_load(i);
	}
}

/* The slot has been forgotten. */
static void
let_frames_go(int slot)
{
	CSCAN_FAULT(CSCAN_FAULT_ABM_DROP);
	cscan_loader_release(slot);
	read_under[slot] = CSCAN_NONE;
}

/* Forget a slot and let go of its frames. */
static void
drop_slot(int slot)
{
	finish_loads_of(slot);
	cscan_lock();
	cscan_pool_drop(&cscan_pool, slot);
	cscan_shared->abm_idle = false;
	cscan_unlock();
	let_frames_go(slot);
}

/*
 * Do what the scheduler says, until enough is in flight or nothing is to be
 * done.
 */
static void
run_scheduler(void)
{
	bool		idle = false;

	while (nin_flight < LOADS_IN_FLIGHT && !idle)
	{
		CScanAction act;
		uint64		now;

		CHECK_FOR_INTERRUPTS();
		cscan_lock();
		now = cscan_now();
		cscan_pool_decide(&cscan_pool, now, &act);
		if (act.kind == CSCAN_ACT_EVICT)
			cscan_shared->stats[cscan_pool.scans[act.scan].policy].evictions++;
		cscan_shared->abm_alive = now;

		/*
		 * Mostly one load is all that is to be done.  From then on a scan
		 * that changes something must set the latch.
		 */
		idle = act.kind == CSCAN_ACT_NOTHING ||
			(act.kind == CSCAN_ACT_LOAD && !cscan_pool_wants_load(&cscan_pool, now));
		cscan_shared->abm_idle = idle;
		cscan_unlock();

		if (act.kind == CSCAN_ACT_EVICT)
			let_frames_go(act.slot);
		else if (act.kind == CSCAN_ACT_UNPIN)
			cscan_loader_unpin(act.slot, true);
		else if (act.kind == CSCAN_ACT_LOAD)
			start_load(&act, now);
	}
}

/* ------------------------------------------------------------------
 * Tables
 * ------------------------------------------------------------------ */

static void
set_lock_state(int table, CScanLockState state)
{
	cscan_tables[table].lock_state = state;
	cscan_tables[table].refused_at = cscan_now();
	cscan_pool_set_loadable(&cscan_pool, table, state == CSCAN_TABLE_LOCKED);
}

/*
 * Is there a scan of it that is not stalled, or that has gone on a short while
 * ago?  Call with the lock held to be sure.
 */
static bool
has_active_scan(int table)
{
	uint64		now = cscan_now();

	for (int i = cscan_pool_scan_of(&cscan_pool, table, 0); i != CSCAN_NONE;
		 i = cscan_pool_scan_of(&cscan_pool, table, i + 1))
	{
		if (!cscan_pool.scans[i].stalled ||
			now < cscan_scans[i].last_change + CSCAN_STALLED_AFTER)
			return true;
	}
	return false;
}

/* Nothing is held of it, and nobody scans it. */
static void
remove_table(int table)
{
	cscan_lock();
	cscan_pool_remove_table(&cscan_pool, table);
	cscan_unlock();
	ConditionVariableBroadcast(&cscan_shared->released);
}

/* Let go of all chunks of a table, then of its lock. */
static void
let_go(int table)
{
	const CScanTable *t = &cscan_pool.tables[table];

	if (cscan_tables[table].chunks_loaded > 0)
		cscan_recent_remember(cscan_tables[table].locator,
							  Min((uint64) t->cursor * t->chunk_blocks, MaxBlockNumber));
	for (int i = 0; i < cscan_pool.state->max_slots; i++)
	{
		if (cscan_pool.slots[i].table == table)
			drop_slot(i);
	}
	cscan_page_cache_forget();
	CSCAN_FAULT(CSCAN_FAULT_ABM_UNLOCK);
	cscan_tables_unlock(table);
}

static void
acquire_table(int table)
{
	const CScanTable *t = &cscan_pool.tables[table];
	Oid			dbid;
	Oid			relid;
	uint32		chunk_blocks;
	BlockNumber nblocks;
	uint32		begin = 0;
	bool		untouched;		/* nothing has been loaded yet */
	bool		locked;
	bool		wanted;

	cscan_lock();
	wanted = cscan_pool.tables[table].used && has_active_scan(table) &&
		(cscan_tables[table].lock_state == CSCAN_TABLE_WANTED ||
		 cscan_tables[table].lock_state == CSCAN_TABLE_REFUSED);
	if (wanted)
		set_lock_state(table, CSCAN_TABLE_LOCKING);
	dbid = cscan_tables[table].dbid;
	relid = cscan_tables[table].relid;
	chunk_blocks = t->chunk_blocks;
	nblocks = t->nblocks;
	untouched = t->cursor == 0;
	cscan_unlock();
	if (!wanted)
		return;

	/* From here on only we change the entry. */
	locked = cscan_tables_lock(table, dbid, relid);
	CSCAN_FAULT(CSCAN_FAULT_ABM_LOCKED);
	if (locked && untouched && nblocks > 0)
		begin = cscan_recent_begin(cscan_tables[table].locator, chunk_blocks, nblocks);

	/* Only now look whether the registration is still live. */
	cscan_lock();
	wanted = t->nscans > 0;
	if (wanted)
	{
		if (begin > 0)
			cscan_pool_set_cursor(&cscan_pool, table, begin);
		set_lock_state(table, locked ? CSCAN_TABLE_LOCKED : CSCAN_TABLE_REFUSED);
		if (!locked)
			wake_table(table);
	}
	else
		set_lock_state(table, CSCAN_TABLE_RELEASING);
	cscan_unlock();
	if (wanted)
		return;

	if (locked)
		cscan_tables_unlock(table);
	remove_table(table);
}

/*
 * All scans of a table are stalled, perhaps idle cursors of a session that now
 * wants to change the table: hold nothing until one of them goes on.
 */
static void
suspend_table(int table)
{
	bool		gone;

	let_go(table);
	cscan_lock();
	gone = cscan_pool.tables[table].nscans == 0;
	set_lock_state(table, gone ? CSCAN_TABLE_RELEASING : CSCAN_TABLE_WANTED);
	cscan_unlock();
	if (gone)
		remove_table(table);
}

/* Somebody waits for our lock: scans of this table read for themselves. */
static void
yield_table(int table)
{
	cscan_lock();
	set_lock_state(table, CSCAN_TABLE_REFUSED);
	wake_table(table);
	cscan_unlock();
	let_go(table);
}

/*
 * May there be something to do for it?  An unlocked look, since hardly ever is
 * there anything: what is missed now is seen next time.
 */
static bool
needs_care(int table, uint64 now)
{
	if (!cscan_pool.tables[table].used)
		return false;
	switch (cscan_tables[table].lock_state)
	{
		case CSCAN_TABLE_WANTED:
			return has_active_scan(table);
		case CSCAN_TABLE_LOCKED:
			return !has_active_scan(table);
		case CSCAN_TABLE_REFUSED:
			return cscan_pool.tables[table].nscans == 0 ||
				now > cscan_tables[table].refused_at + RETRY_LOCK_AFTER;
		default:
			return true;
	}
}

/*
 * Take the locks of new tables, let go of those that nobody scans.  Returns
 * whether there were any.
 */
static bool
look_after_tables(void)
{
	uint64		now = cscan_now();
	bool		found = false;

	for (int i = 0; i < cscan_max_scans; i++)
	{
		CScanLockState state;
		bool		wanted;
		bool		active;

		if (!needs_care(i, now))
			continue;
		found = true;

		cscan_lock();
		if (!cscan_pool.tables[i].used)
		{
			cscan_unlock();
			continue;
		}
		state = cscan_tables[i].lock_state;
		wanted = cscan_pool.tables[i].nscans > 0;
		active = has_active_scan(i);
		if (!wanted && (state == CSCAN_TABLE_LOCKED || state == CSCAN_TABLE_REFUSED))
			set_lock_state(i, CSCAN_TABLE_RELEASING);
		else if (!active && state == CSCAN_TABLE_LOCKED)
			set_lock_state(i, CSCAN_TABLE_LOCKING);
		cscan_unlock();

		switch (state)
		{
			case CSCAN_TABLE_LOCKED:
				if (wanted && !active)
					suspend_table(i);
				else if (!wanted)
				{
					let_go(i);
					remove_table(i);
				}
				break;
			case CSCAN_TABLE_REFUSED:
				if (!wanted)
					remove_table(i);
				else if (now > cscan_tables[i].refused_at + RETRY_LOCK_AFTER)
					acquire_table(i);
				break;
			case CSCAN_TABLE_WANTED:
				acquire_table(i);
				break;
			default:
				break;
		}
	}
	return found;
}

/* ------------------------------------------------------------------
 * Rounds
 * ------------------------------------------------------------------ */

static void
look_after_neighbours(void)
{
	int			replay = cscan_neighbours_replay_buffer();
	bool		pin_waiter = cscan_neighbours_pin_waiter();

	for (int i = 0; i < cscan_max_scans; i++)
	{
		if (cscan_pool.tables[i].used &&
			cscan_tables[i].lock_state == CSCAN_TABLE_LOCKED &&
			cscan_tables_waited_for(i))
			yield_table(i);
	}
	if (!pin_waiter && replay == InvalidBuffer)
		return;
	for (int i = 0; i < cscan_pool.state->max_slots; i++)
	{
		if (cscan_pool.slots[i].table != CSCAN_NONE &&
			((pin_waiter && cscan_loader_waited_for(i)) ||
			 (replay != InvalidBuffer && cscan_loader_holds(i, replay))))
			drop_slot(i);
	}
}

/* The pool has become too large for the budget, after a reload. */
static void
shrink_pool(void)
{
	cscan_lock();
	cscan_shared_set_budget(cscan_buffer_share);
	cscan_unlock();

	for (int i = 0; i < cscan_pool.state->max_slots &&
		 (cscan_pool.state->used > cscan_pool.state->budget ||
		  cscan_pool.state->total > cscan_pool.state->room); i++)
	{
		if (cscan_pool.slots[i].table != CSCAN_NONE)
			drop_slot(i);
	}
	for (int i = 0; i < cscan_max_scans; i++)
	{
		if (cscan_pool.tables[i].used)
			wake_table(i);
	}
}

/*
 * Drop what goes as soon as nobody wants it, unpin what else nobody wants any
 * more, pin what is wanted again.
 */
static void
let_slots_follow_wants(void)
{
	for (;;)
	{
		int			useless;
		int			unwanted = CSCAN_NONE;
		int			wanted = CSCAN_NONE;

		cscan_lock();
		useless = cscan_pool_useless(&cscan_pool);
		if (useless == CSCAN_NONE)
			unwanted = cscan_pool_release(&cscan_pool);
		else
		{
			/* Those that were read have been evicted like others. */
			if (read_under[useless] != CSCAN_NONE)
				cscan_shared->stats[read_under[useless]].evictions++;
			cscan_pool_drop(&cscan_pool, useless);
		}
		if (useless == CSCAN_NONE && unwanted == CSCAN_NONE)
			wanted = cscan_pool_hold(&cscan_pool);
		cscan_unlock();

		if (useless != CSCAN_NONE)
			let_frames_go(useless);
		else if (unwanted != CSCAN_NONE)
			cscan_loader_unpin(unwanted, false);
		else if (wanted == CSCAN_NONE)
			break;
		else if (!cscan_loader_repin(wanted))
			drop_slot(wanted);
	}
}

/* Chunks that are not pinned may have lost their frames to others. */
static void
look_for_hollow(void)
{
	for (int i = 0; i < cscan_pool.state->max_slots; i++)
	{
		if (cscan_pool.slots[i].table != CSCAN_NONE && !cscan_pool.slots[i].held &&
			!cscan_loader_intact(i))
			drop_slot(i);
	}
}

static bool
anything_held(void)
{
	for (int i = 0; i < cscan_max_scans; i++)
	{
		if (cscan_pool.tables[i].used)
			return true;
	}
	return false;
}

/* ------------------------------------------------------------------
 * Life cycle
 * ------------------------------------------------------------------ */

/*
 * Nothing is held by anybody: so it is after an ABM has ended, and so a new one
 * begins.  Scans that are registered stay so, and are served again.
 */
static void
reset_shared(void)
{
	for (int i = 0; i < cscan_pool.state->max_slots; i++)
		cscan_pool_drop(&cscan_pool, i);
	for (int i = 0; i < cscan_max_scans; i++)
	{
		if (!cscan_pool.tables[i].used)
			continue;
		set_lock_state(i, CSCAN_TABLE_WANTED);
		if (cscan_pool.tables[i].nscans == 0)
			cscan_pool_remove_table(&cscan_pool, i);
		else
			wake_table(i);
	}
}

/*
 * The end, whatever its reason, in two steps, so that the second is done even
 * if the first fails: an error while exiting ends a callback.  First the pins
 * go; nothing is read any more.
 */
static void
abandon_loads(int code, Datum arg)
{
	(void) code;
	(void) arg;
	LWLockReleaseAll();

	/* It may be that of the load in which we were interrupted. */
	CurrentResourceOwner = AuxProcessResourceOwner;
	nin_flight = 0;
	for (int i = 0; i < cscan_pool.state->max_slots; i++)
		cscan_loader_abandon(i);
}

/* Then the locks, and what the others see of us. */
static void
say_goodbye(int code, Datum arg)
{
	(void) code;
	(void) arg;
	LWLockReleaseAll();
	LockReleaseAll(DEFAULT_LOCKMETHOD, true);
	cscan_trace_end();

	cscan_lock();
	cscan_shared->abm_latch = NULL;
	cscan_shared->abm_pid = 0;
	cscan_shared->abm_idle = false;
	reset_shared();
	cscan_unlock();
	ConditionVariableBroadcast(&cscan_shared->released);
}

static void
say_hello(void)
{
	cscan_lock();
	cscan_shared_set_budget(cscan_buffer_share);
	cscan_shared->abm_latch = MyLatch;
	cscan_shared->abm_pid = MyProcPid;
	cscan_shared->abm_alive = cscan_now();
	cscan_shared->abm_idle = false;
	reset_shared();
	cscan_unlock();
}

/*
 * Anything that went wrong outside of a load: end, with empty hands.  The
 * postmaster starts another one.
 */
static void
recover(void)
{
	HOLD_INTERRUPTS();
	EmitErrorReport();
	cscan_loader_clean_up_error();
	FlushErrorState();
	proc_exit(1);
}

static void
main_loop(void)
{
	uint64		last_round = 0;
	uint64		last_look = 0;
	uint64		last_stalled = 0;
	uint64		last_report = 0;
	bool		told = true;

	for (;;)
	{
		uint64		now;

		ResetLatch(MyLatch);

		/* Somebody may have set it since the end of the wait. */
		told = told || !cscan_shared->abm_idle;
		CHECK_FOR_INTERRUPTS();
		if (ConfigReloadPending)
		{
			ConfigReloadPending = false;
			ProcessConfigFile(PGC_SIGHUP);
			cscan_trace_begin_or_end();
			shrink_pool();
			told = true;
		}

		cscan_trace_write(false);
		now = cscan_now();
		told |= look_after_tables();
		if (told || now >= last_look + LOOK_TIME)
		{
			let_slots_follow_wants();
			last_look = now;
			told = true;
		}
		if (now >= last_round + ROUND_TIME)
		{
			AcceptInvalidationMessages();
			if (now >= last_stalled + LOOK_TIME)
			{
				cscan_neighbours_find_stalled(now);
				last_stalled = now;
			}
			look_for_hollow();
			look_after_neighbours();
			if (now >= last_report + REPORT_STATS_AFTER)
			{
				/* pg_stat_io, where the version has it */
				pgstat_report_stat(true);
				last_report = now;
			}
			last_round = now;
		}

		/* What the ABM itself has changed it need not be told. */
		if (told || !cscan_shared->abm_idle)
			run_scheduler();
		if (nin_flight > 0)
		{
			/* Somebody may need the next one before this one is complete. */
			told = false;
			while (cscan_loader_step(in_flight[0].slot))
			{
				if (!cscan_shared->abm_idle)
				{
					run_scheduler();
					told = true;
				}
			}
			told |= finish_load(0);
			continue;
		}

		if (loads_since_tidy > TIDY_AFTER_LOADS || !anything_held())
		{
			cscan_loader_tidy();
			loads_since_tidy = 0;
		}
		cscan_trace_write(true);
		if (!anything_held())
		{
			/* It may be long until the next round. */
			pgstat_report_stat(true);
			last_report = cscan_now();
		}
		told = (WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
						  anything_held() ? ROUND_TIME / 1000 : 10000, wait_idle) & WL_LATCH_SET) != 0;
	}
}

void
cscan_abm_main(Datum arg)
{
	sigjmp_buf	local_sigjmp_buf;

	(void) arg;
	cscan_lock_at_once = true;
	pqsignal(SIGHUP, SignalHandlerForConfigReload);
	pqsignal(SIGTERM, die);
	pqsignal(SIGINT, CSCAN_SIG_IGN);

	/*
	 * Until here SIGHUP was ignored, so a reload since this process was
	 * forked has not been heard of: whatever the files say, it is read again.
	 */
	ConfigReloadPending = true;
	BackgroundWorkerUnblockSignals();
	BackgroundWorkerInitializeConnection(NULL, NULL, 0);

	CreateAuxProcessResourceOwner();
	CurrentResourceOwner = AuxProcessResourceOwner;
	to_wake = MemoryContextAlloc(TopMemoryContext, sizeof(int) * cscan_max_scans);
	read_under = MemoryContextAlloc(TopMemoryContext, sizeof(int) * cscan_pool.state->max_slots);
	for (int i = 0; i < cscan_pool.state->max_slots; i++)
		read_under[i] = CSCAN_NONE;
	cscan_loader_init();
	cscan_tables_init();
	before_shmem_exit(say_goodbye, (Datum) 0);
	before_shmem_exit(abandon_loads, (Datum) 0);

	if (sigsetjmp(local_sigjmp_buf, 1) != 0)
	{
		error_context_stack = NULL;
		recover();
	}
	PG_exception_stack = &local_sigjmp_buf;

	say_hello();
	cscan_trace_begin_or_end();
	CSCAN_FAULT(CSCAN_FAULT_ABM_START);
	main_loop();
}

static shmem_startup_hook_type prev_shmem_startup_hook;

static void
abm_startup(void)
{
	if (prev_shmem_startup_hook)
		prev_shmem_startup_hook();
	wait_idle = cscan_wait_event("CScanAbmMain");
}

void
cscan_abm_init(void)
{
	BackgroundWorker worker = {0};

	prev_shmem_startup_hook = shmem_startup_hook;
	shmem_startup_hook = abm_startup;

	worker.bgw_flags = BGWORKER_SHMEM_ACCESS | BGWORKER_BACKEND_DATABASE_CONNECTION;
	worker.bgw_start_time = BgWorkerStart_ConsistentState;
	worker.bgw_restart_time = 1;
	strlcpy(worker.bgw_library_name, "cscan", sizeof(worker.bgw_library_name));
	strlcpy(worker.bgw_function_name, "cscan_abm_main", sizeof(worker.bgw_function_name));
	strlcpy(worker.bgw_name, "cscan abm", BGW_MAXLEN);
	strlcpy(worker.bgw_type, "cscan abm", BGW_MAXLEN);
	RegisterBackgroundWorker(&worker);
}
