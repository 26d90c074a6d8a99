/*-------------------------------------------------------------------------
 *
 * rounds.c
 *		The ABM's main loop.
 *
 * After Figure 3's main():
 *
 *		take and give back the locks of tables that came or went
 *		look after processes that wait for what the ABM holds, and stalled scans
 *		as long as there is room in flight: decide, then evict or start a load
 *		read the oldest load, with a look at all of this after each step, and
 *		wake the scans that wait for it
 *		nothing to do: sleep until a scan sets the latch
 *
 * What takes long is done in parts, so that nothing waits for it: a load step
 * by step, everything else for some milliseconds.  What depends on the number
 * of slots or of pins looks at some of them in each round.
 *
 * Invariant: the ABM acts on a change that a scan has told of before it
 * sleeps.  Scans tell by clearing abm_idle and, if it was set, by setting the
 * latch.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "pgstat.h"
#include "postmaster/interrupt.h"
#include "utils/guc.h"
#include "utils/inval.h"

#include "abm/abm.h"
#include "abm/trace_file.h"

/* How often the ABM looks after its neighbours (us). */
#define ROUND_TIME			10000

/*
 * How often the ABM looks after stalled scans and, if no change is told of,
 * tables and pins (us).  This takes the scheduler's lock, which is dear where
 * hundreds of scans compete for the CPUs.
 */
#define LOOK_TIME			50000

/* Time of a round for looking at pins that somebody may wait for (us). */
#define PIN_LOOK_TIME		300

/* Slots that are looked at in a round: do they still have their frames? */
#define HOLLOW_SLOTS		128

/* How often statistics are reported (us). */
#define REPORT_STATS_AFTER	1000000

/*
 * Let go of pins that another process waits for.  That says only the header of
 * each buffer.  So some of the slots are looked at in each round, as many as
 * take little time.
 */
static void
let_go_of_waited_for(void)
{
	static int	next = 0;
	uint64		until = cscan_now() + PIN_LOOK_TIME;

	for (int i = 0; i < cscan_pool.state->limits.max_slots; i++)
	{
		int			slot = next;

		next = (next + 1) % cscan_pool.state->limits.max_slots;
		if (cscan_pool.slots[slot].space == CSCAN_NONE)
			continue;
		if (cscan_frames_waited_for(slot))
			cscan_loads_drop_slot(slot);
		if (cscan_now() >= until)
			break;
	}
}

/* Let go of the buffer that replay waits for. */
static void
let_go_of(Buffer buffer)
{
	for (int i = 0; i < cscan_pool.state->limits.max_slots; i++)
	{
		if (cscan_pool.slots[i].space != CSCAN_NONE && cscan_frames_holds(i, buffer))
			cscan_loads_drop_slot(i);
	}
}

/* Let go of what another process waits for: locks and pins. */
static void
look_after_neighbours(void)
{
	CScanWaiters waiters = cscan_neighbours_waiters();
	Buffer		replay = cscan_neighbours_replay_buffer();

	if (waiters.relation)
		cscan_holding_yield_relations();
	if (waiters.object)
		cscan_holding_yield_databases();
	if (replay != InvalidBuffer)
		let_go_of(replay);
	if (waiters.pin)
		let_go_of_waited_for();
}

/*
 * After a reload the pool may exceed the budget.  If what is neither in flight
 * nor in use is not enough, the rest goes, too.
 */
static void
shrink_pool(void)
{
	cscan_lock();
	cscan_shared_set_budget();
	cscan_unlock();

	while (!cscan_loads_shrink())
		;
	for (int i = 0; i < cscan_pool.state->limits.max_slots && cscan_share_is_exceeded(); i++)
	{
		if (cscan_pool.slots[i].space != CSCAN_NONE)
			cscan_loads_drop_slot(i);
	}
	cscan_holding_wake_all();
}

/*
 * Chunks that are not pinned may have lost their frames to others.  Before one
 * is used again, all of it is looked at.
 */
static void
look_for_hollow(void)
{
	static int	next = 0;
	int			nslots = Min(HOLLOW_SLOTS, cscan_pool.state->limits.max_slots);

	for (int i = 0; i < nslots; i++)
	{
		next = (next + 1) % cscan_pool.state->limits.max_slots;
		if (cscan_pool.slots[next].space == CSCAN_NONE ||
			(cscan_pool.slots[next].held && !cscan_frames_rest(next)) || cscan_frames_intact(next))
			continue;
		if (cscan_pool.slots[next].held)
			cscan_loads_leave_slot(next);
		else
			cscan_loads_drop_slot(next);
	}
}

/* When the ABM last did its periodic work (us). */
typedef struct CScanRounds
{
	uint64		care;			/* looked after tables */
	uint64		wants;			/* followed the scans' wants */
	uint64		round;			/* went round, which includes: */
	uint64		stalled;
	uint64		report;
} CScanRounds;

/* Do what needs no hurry. */
static void
go_round(CScanRounds *last, uint64 now)
{
	AcceptInvalidationMessages();
	if (now >= last->stalled + LOOK_TIME)
	{
		cscan_neighbours_find_stalled(now);
		last->stalled = now;
	}
	look_for_hollow();
	cscan_recent_look();
	cscan_rest_look(now);
	cscan_share_look(now);
	look_after_neighbours();
	if (now >= last->report + REPORT_STATS_AFTER)
	{
		/* For pg_stat_io, if the version has it. */
		pgstat_report_stat(true);
		last->report = now;
	}
	last->round = now;
}

/*
 * Do what is due.  "told" says whether there has been a change.  Returns
 * whether there is one to act on.
 */
static bool
do_what_is_due(CScanRounds *last, bool told)
{
	uint64		now;

	if (ConfigReloadPending)
	{
		ConfigReloadPending = false;
		ProcessConfigFile(PGC_SIGHUP);
		cscan_trace_file_begin_or_end();
		shrink_pool();
		told = true;
	}

	cscan_trace_file_write(false);
	now = cscan_now();
	if (cscan_shared->tables_changed || now >= last->care + LOOK_TIME)
	{
		told |= cscan_holding_look_after();
		last->care = now;
	}
	if (told || now >= last->wants + LOOK_TIME)
	{
		last->wants = cscan_loads_follow_wants() ? now : 0;
		told = true;
	}
	if (now >= last->round + ROUND_TIME)
		go_round(last, now);
	return told;
}

/*
 * Read the oldest load to its end, with a look at everything else after each
 * step.  Returns whether there may be something else to do now.
 */
static bool
read_load(CScanRounds *last)
{
	bool		told = false;

	while (cscan_loads_in_flight())
	{
		uint64		now;

		if (!cscan_loads_step())
			return cscan_loads_finish() || told;

		/* A scan may need the next load before this one is complete. */
		if (!cscan_shared->abm_idle)
		{
			cscan_loads_run_scheduler();
			told = true;
		}
		if (cscan_shared->tables_changed)
			told |= cscan_holding_look_after();
		now = cscan_now();
		if (now >= last->round + ROUND_TIME)
			go_round(last, now);
	}
	return told;
}

void
cscan_rounds_run(uint32 wait_event)
{
	CScanRounds last = {0};
	bool		told = true;

	for (;;)
	{
		bool		holding;

		ResetLatch(MyLatch);

		/* A scan may have told of a change since the wait ended. */
		told = told || !cscan_shared->abm_idle;
		CHECK_FOR_INTERRUPTS();
		told = do_what_is_due(&last, told);

		/* The ABM's own changes clear abm_idle, too. */
		if (told || !cscan_shared->abm_idle)
			cscan_loads_run_scheduler();
		if (cscan_loads_in_flight())
		{
			told = read_load(&last);
			continue;
		}
		if (last.wants == 0)
		{
			told = true;
			continue;
		}

		holding = cscan_holding_anything();
		cscan_loads_tidy(!holding);
		cscan_trace_file_write(true);
		if (!holding)
		{
			/* It may be long until the next round. */
			pgstat_report_stat(true);
			last.report = cscan_now();
		}
		told = (WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
						  holding ? ROUND_TIME / 1000 : 10000,
						  wait_event) & WL_LATCH_SET) != 0;
	}
}
