/*-------------------------------------------------------------------------
 *
 * loads.c
 *		The loads in flight, and what follows from them for slots and scans.
 *
 *		run_scheduler	as long as there is room in flight: decide, then evict,
 *						unpin or start a load
 *		step, finish	read a step of the oldest load; in the end, wake the scans
 *						that wait for it
 *		go_on			a step, and whatever can be started after it
 *		follow_wants	drop, unpin and pin again as the scans' wants change
 *		shrink			let go of what exceeds the pool's limits
 *		lost			what a larger share would have kept for scans
 *		drop_slot		forget a slot, giving up its load, and let its frames go
 *		tidy			close files now and then
 *		abandon			the ABM ends
 *
 * The pool decides (policy/), loader.c handles the frames.  This file carries
 * decisions from the pool to the loader.
 *
 * Invariant: the pool calls a chunk loaded only once its frames are there, and
 * has forgotten it before they are let go.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "utils/memutils.h"

#include "abm/abm.h"
#include "fault.h"

/* Loads in flight: the one being waited for, and what the disk does next. */
#define LOADS_IN_FLIGHT		2

/*
 * Storage that takes less than this for a block (us) is fast.  Loading a chunk
 * again costs little more than keeping it, since the next chunk would then
 * need new frames that are in no CPU's cache.
 */
#define FAST_BLOCK_TIME		20

/*
 * Steps of a load that are handed to the kernel ahead: as many as it does in
 * that time (us), within these limits.
 */
#define AHEAD_TIME			100000
#define MIN_STEPS_AHEAD		4
#define MAX_STEPS_AHEAD		32

/* Files are closed after so many loads. */
#define TIDY_AFTER_LOADS	1024

typedef struct CScanLoadInFlight
{
	int			slot;
	int			scan;			/* the scan that it is for */
	int			policy;			/* that scan's policy */
	uint64		started;		/* us */
	uint64		arrived;		/* columns that the pool knows to be there */
	bool		waited;			/* a scan has waited for one of these */
} CScanLoadInFlight;

static CScanLoadInFlight in_flight[LOADS_IN_FLIGHT];
static int	nin_flight;			/* the oldest is the first */
static uint64 last_finish;
static double block_time;		/* see note_storage(); 0: not known yet */
static int *read_under;			/* by slot: policy that its chunk was read
								 * under, or CSCAN_NONE */
static int *to_wake;			/* scans; see find_scans_to_wake() */
static int	loads_since_tidy;
static uint64 blocks_lost;		/* see note_lost() */
static uint64 blocks_loaded;	/* by all loads so far */
static uint64 *evicted_at;		/* by chunk: blocks_loaded when it was
								 * evicted, and no scan wanted it; 0: it was
								 * not */

void
cscan_loads_init(void)
{
	to_wake = MemoryContextAlloc(TopMemoryContext, sizeof(int) * cscan_max_scans);
	read_under = MemoryContextAlloc(TopMemoryContext, sizeof(int) * cscan_pool.state->limits.max_slots);
	evicted_at = MemoryContextAllocExtended(TopMemoryContext,
											sizeof(uint64) * cscan_pool.state->limits.max_chunks,
											MCXT_ALLOC_ZERO | MCXT_ALLOC_HUGE);
	for (int i = 0; i < cscan_pool.state->limits.max_slots; i++)
		read_under[i] = CSCAN_NONE;
	blocks_loaded = 1;
}

/*
 * Note what a larger share would have saved, if this action is an instance of
 * it; "used" is what was pinned before.  Call with the lock held.
 *
 *	- To make room, a chunk is unpinned that scans want.  It may have to be loaded
 *	  again for them.
 *	- A chunk is loaded that was evicted while no scan wanted it, and no more was
 *	  loaded since than the largest share has more room for.
 *
 * A chunk's number may have come to another table meanwhile.  That is rare.
 */
static void
note_lost(const CScanAction *act, uint32 used)
{
	bool		evict = act->kind == CSCAN_ACT_EVICT;

	if (evict || act->kind == CSCAN_ACT_UNPIN)
	{
		if (cscan_pool_interested(&cscan_pool, act->chunk) > 0)
			blocks_lost += used - cscan_pool.state->used;
		else if (evict)
			evicted_at[act->chunk] = blocks_loaded;
	}
	else if (act->kind == CSCAN_ACT_LOAD)
	{
		if (evicted_at[act->chunk] != 0 &&
			blocks_loaded + cscan_pool.state->room - evicted_at[act->chunk] < cscan_shared_most_room())
			blocks_lost += act->nblocks;
		evicted_at[act->chunk] = 0;
		blocks_loaded += act->nblocks;
	}
}

/*
 * A load of this slot has ended, or brought these columns.  Find the blocked
 * scans that can use it, and return how many there are.  Call with the lock
 * held.  The caller wakes them after it has released the lock: a woken process
 * may take the CPU at once, and must not take it from the process that holds
 * the lock.
 */
static int
find_scans_to_wake(int slot, bool ended, uint64 columns)
{
	const CScanSlot *s = &cscan_pool.slots[slot];
	int			n = 0;

	for (int i = cscan_pool_scan_of(&cscan_pool, s->space, 0); i != CSCAN_NONE;
		 i = cscan_pool_scan_of(&cscan_pool, s->space, i + 1))
	{
		const CScanScan *scan = &cscan_pool.scans[i];

		cscan_scans[i].loads += ended;
		if (scan->blocked && (scan->columns & columns) != 0 && cscan_pool_can_use(&cscan_pool, slot, i))
		{
			cscan_shared->stats[scan->policy].wakeups++;
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

/* This reads the device's pace without the lock: any value will do. */
static int
steps_ahead(const CScanAction *act)
{
	const CScanSpace *space = &cscan_pool.spaces[act->space];
	double		time = cscan_pool.state->devices[space->device].block_time * CSCAN_STEP_BLOCKS;

	if (time * MAX_STEPS_AHEAD <= AHEAD_TIME)
		return MAX_STEPS_AHEAD;
	return Max(MIN_STEPS_AHEAD, (int) (AHEAD_TIME / time));
}

/* Likewise; what is loaded from the page cache counts, too. */
static bool
device_is_fast(const CScanAction *act)
{
	double		time = cscan_pool.state->devices[cscan_pool.spaces[act->space].device].block_time;

	return time > 0 && time < FAST_BLOCK_TIME;
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
	load->arrived = 0;
	load->waited = false;
	cscan_loader_start(act, &cscan_tables[act->space], steps_ahead(act), device_is_fast(act));
}

/*
 * Note the time per block (us) of a load that a scan had to wait for.  Other
 * loads tell nothing of the storage, since the kernel may have read ahead.
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
 * Finish the load at place n of in_flight[].  Returns whether there may be
 * something else to do now.
 */
static bool
finish_load(int n)
{
	CScanLoadInFlight load = in_flight[n];
	CScanLoaded loaded;
	uint32		loading;
	bool		ok;
	bool		more;
	uint64		now;
	uint64		duration = 0;
	int			nwake;
	int			space;
	bool		copies;
	uint32		next;
	CScanStats *stats = &cscan_shared->stats[load.policy];
	CScanSharedTable *table;

	ok = cscan_loader_finish(load.slot, &loaded);
	CSCAN_FAULT(CSCAN_FAULT_ABM_LOADED);

	nin_flight--;
	memmove(&in_flight[n], &in_flight[n + 1], sizeof(CScanLoadInFlight) * (nin_flight - n));

	cscan_lock();
	now = cscan_now();
	cscan_shared_abm_reads(now);
	space = cscan_pool.slots[load.slot].space;
	table = &cscan_tables[space];

	/* A row group may have fewer blocks than places. */
	loading = cscan_pool.slots[load.slot].loading;
	if (loaded.blocks_read > 0)
		duration = (now - Max(load.started, last_finish)) * loading / loaded.nblocks;
	cscan_pool_loaded(&cscan_pool, load.slot, now, duration, !ok,
					  ok && (loaded.blocks_read == 0 || storage_is_fast()));
	stats->chunks_loaded++;
	stats->blocks_read += loaded.blocks_read;
	if (!ok)
		read_under[load.slot] = CSCAN_NONE;
	else if (loaded.blocks_read > 0)
		read_under[load.slot] = load.policy;
	table->chunks_loaded++;
	table->blocks_read += loaded.blocks_read;
	cscan_rest_note_load(space, now);
	if (loaded.blocks_read > 0 && cscan_pool_interested_in(&cscan_pool, load.scan, space))
	{
		cscan_scans[load.scan].copies = loaded.copied ? CSCAN_COPIES : 0;
		cscan_scans[load.scan].copied_loads = loaded.copied ? cscan_scans[load.scan].copied_loads + 1 : 0;
	}
	nwake = find_scans_to_wake(load.slot, true, PG_UINT64_MAX);
	copies = cscan_shared_may_copy(load.scan, &next);

	/* In order the scan takes this chunk first, and then copies, unless the next is loaded, too. */
	if (!copies && cscan_shared_may_copy_soon(load.scan, &next))
	{
		cscan_pool_set_warm(&cscan_pool, load.scan, true);
		copies = true;
	}
	more = !cscan_shared->abm_idle || cscan_pool_wants_load(&cscan_pool, now);
	cscan_unlock();
	wake_scans(nwake);

	/* All of its processes may go on. */
	if (copies)
		ConditionVariableBroadcast(&cscan_scans[load.scan].cv);
	if ((nwake > 0 || load.waited) && loaded.blocks_read > 0)
		note_storage((double) duration * loaded.nblocks / loading / loaded.blocks_read);
	last_finish = now;
	loads_since_tidy++;
	if (loaded.lost)
		cscan_loads_leave_slot(load.slot);
	else if (cscan_rest_has_vacuum(space))
		cscan_frames_let_rest(load.slot);
	return more;
}

/* Give up the slot's load, if it is in flight. */
static void
give_up_load_of(int slot)
{
	for (int i = 0; i < nin_flight; i++)
	{
		if (in_flight[i].slot != slot)
			continue;
		nin_flight--;
		memmove(&in_flight[i], &in_flight[i + 1], sizeof(CScanLoadInFlight) * (nin_flight - i));
		cscan_loader_give_up(slot);
		last_finish = cscan_now();
		return;
	}
}

/*
 * Let go of the frames of a slot that the pool has forgotten.  "for_room": they
 * are the first to go when anybody needs one.
 */
static void
let_frames_go(int slot, bool for_room)
{
	CSCAN_FAULT(CSCAN_FAULT_ABM_DROP);
	cscan_loader_release(slot, for_room);
	read_under[slot] = CSCAN_NONE;
}

static void
drop_slot(int slot)
{
	cscan_lock();
	cscan_pool_drop(&cscan_pool, slot);
	cscan_shared->abm_idle = false;
	cscan_unlock();
	give_up_load_of(slot);
}

/* Forget a slot and let go of its frames. */
void
cscan_loads_drop_slot(int slot)
{
	drop_slot(slot);
	let_frames_go(slot, true);
}

/* Likewise, but a scan may come back to these blocks: they stay as they are. */
void
cscan_loads_leave_slot(int slot)
{
	drop_slot(slot);
	cscan_frames_unpin(slot, true);
	let_frames_go(slot, false);
}

/* Do what the pool decides until enough is in flight or nothing is left. */
void
cscan_loads_run_scheduler(void)
{
	bool		idle = false;

	while (nin_flight < LOADS_IN_FLIGHT && !idle)
	{
		CScanAction act;
		uint64		now;
		uint32		used;
		bool		for_room = true;

		CHECK_FOR_INTERRUPTS();
		cscan_lock();
		now = cscan_now();
		used = cscan_pool.state->used;
		cscan_pool_decide(&cscan_pool, now, &act);
		if (act.kind == CSCAN_ACT_EVICT)
		{
			cscan_shared->stats[cscan_pool.scans[act.scan].policy].evictions++;

			/* Of narrow columns a slot is scarcer than room. */
			for_room = 2 * (uint64) cscan_pool.state->total > cscan_pool.state->room;
		}
		note_lost(&act, used);
		cscan_shared_abm_lives(now);

		/*
		 * Usually one load is all that is to be done.  From then on a scan
		 * that changes something must set the latch.
		 */
		idle = act.kind == CSCAN_ACT_NOTHING ||
			(act.kind == CSCAN_ACT_LOAD && !cscan_pool_wants_load(&cscan_pool, now));
		cscan_shared->abm_idle = idle;
		cscan_unlock();

		if (act.kind == CSCAN_ACT_EVICT)
			let_frames_go(act.slot, for_room);
		else if (act.kind == CSCAN_ACT_UNPIN)
			cscan_frames_unpin(act.slot, true);
		else if (act.kind == CSCAN_ACT_TRIM)
			cscan_frames_trim(&act);
		else if (act.kind == CSCAN_ACT_LOAD)
			start_load(&act, now);
	}
}

bool
cscan_loads_in_flight(void)
{
	return nin_flight > 0;
}

/* If some of a load's columns are there, scans that wait for no others go on. */
static void
note_arrived(CScanLoadInFlight *load)
{
	CScanPieces columns = {{cscan_loader_arrived(load->slot)}};
	uint64		new_columns = columns.word[0] & ~load->arrived;
	int			nwake;

	if (new_columns == 0)
		return;
	load->arrived = columns.word[0];
	cscan_lock();
	cscan_pool_arrived(&cscan_pool, load->slot, &columns);
	nwake = find_scans_to_wake(load->slot, false, new_columns);
	cscan_unlock();
	wake_scans(nwake);
	load->waited |= nwake > 0;
}

/* Read a step of the oldest load.  Returns false if nothing is left to be read. */
bool
cscan_loads_step(void)
{
	if (!cscan_loader_step(in_flight[0].slot))
		return false;
	note_arrived(&in_flight[0]);
	cscan_shared_abm_reads(cscan_now());
	return true;
}

/*
 * Finish the oldest load, which has been read.  Returns whether there may be
 * something else to do now.
 */
bool
cscan_loads_finish(void)
{
	return finish_load(0);
}

/* Something else takes long: keep the loads going meanwhile. */
void
cscan_loads_go_on(void)
{
	if (nin_flight > 0 && !cscan_loads_step())
		(void) finish_load(0);
	cscan_loads_run_scheduler();
}

/*
 * Drop slots that go as soon as no scan wants them.  Unpin others that no scan
 * wants, and pin those that are wanted again.  Returns false if there are more,
 * after a while.
 */
bool
cscan_loads_follow_wants(void)
{
	uint64		until = cscan_now() + CSCAN_PART_TIME;

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
			/* A chunk that was read counts as evicted. */
			if (read_under[useless] != CSCAN_NONE)
				cscan_shared->stats[read_under[useless]].evictions++;
			cscan_pool_drop(&cscan_pool, useless);
		}
		if (useless == CSCAN_NONE && unwanted == CSCAN_NONE)
			wanted = cscan_pool_hold(&cscan_pool);
		cscan_unlock();

		if (useless != CSCAN_NONE)
			let_frames_go(useless, true);
		else if (unwanted != CSCAN_NONE)
			cscan_frames_unpin(unwanted, false);
		else if (wanted == CSCAN_NONE)
			return true;
		else if (!cscan_frames_repin(wanted))
			cscan_loads_drop_slot(wanted);
		if (cscan_now() >= until)
			return false;
	}
}

/*
 * The pool's limits may have fallen.  Unpin, then drop, what exceeds them.  What
 * other processes miss now may be in these frames soon.  Returns false if there
 * is more, after a while.
 */
bool
cscan_loads_shrink(void)
{
	uint64		until = cscan_now() + CSCAN_PART_TIME;

	for (;;)
	{
		CScanAction act;
		bool		wanted;

		CHECK_FOR_INTERRUPTS();
		cscan_lock();
		cscan_pool_shrink(&cscan_pool, &act);

		/* Who reads it wants the rest of it. */
		wanted = act.kind == CSCAN_ACT_UNPIN &&
			(cscan_pool_interested(&cscan_pool, act.chunk) > 0 || cscan_pool.slots[act.slot].readers > 0);
		if (act.kind != CSCAN_ACT_NOTHING)
			cscan_shared->abm_idle = false;
		if (act.kind == CSCAN_ACT_EVICT && read_under[act.slot] != CSCAN_NONE)
			cscan_shared->stats[read_under[act.slot]].evictions++;
		cscan_unlock();

		if (act.kind == CSCAN_ACT_NOTHING)
			return true;
		if (act.kind == CSCAN_ACT_EVICT)
			let_frames_go(act.slot, true);
		else
			cscan_frames_unpin(act.slot, wanted);
		if (cscan_now() >= until)
			return false;
	}
}

/* Blocks so far that a larger share would have kept. */
uint64
cscan_loads_lost(void)
{
	return blocks_lost;
}

/* Close files if it is time, or at once if "now". */
void
cscan_loads_tidy(bool now)
{
	if (loads_since_tidy > TIDY_AFTER_LOADS || now)
	{
		cscan_loader_tidy();
		loads_since_tidy = 0;
	}
}

/* Drop all pins as the ABM ends, perhaps in the middle of a load. */
void
cscan_loads_abandon(void)
{
	nin_flight = 0;
	for (int i = 0; i < cscan_pool.state->limits.max_slots; i++)
		cscan_loader_abandon(i);
}
