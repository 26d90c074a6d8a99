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
 *		finish the oldest load and wake the scans that wait for it
 *		nothing to do: sleep until a scan sets the latch
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

/* How often statistics are reported (us). */
#define REPORT_STATS_AFTER	1000000

/* Let go of what another process waits for: locks and pins. */
static void
look_after_neighbours(void)
{
	int			replay = cscan_neighbours_replay_buffer();
	bool		pin_waiter = cscan_neighbours_pin_waiter();

	if (cscan_neighbours_lock_waiter())
		cscan_holding_yield_waited_for();
	if (!pin_waiter && replay == InvalidBuffer)
		return;
	for (int i = 0; i < cscan_pool.state->limits.max_slots; i++)
	{
		if (cscan_pool.slots[i].space != CSCAN_NONE &&
			((pin_waiter && cscan_loader_waited_for(i)) ||
			 (replay != InvalidBuffer && cscan_loader_holds(i, replay))))
			cscan_loads_drop_slot(i);
	}
}

/* After a reload the pool may exceed the budget. */
static void
shrink_pool(void)
{
	cscan_lock();
	cscan_shared_set_budget(cscan_buffer_share);
	cscan_unlock();

	for (int i = 0; i < cscan_pool.state->limits.max_slots &&
		 (cscan_pool.state->used > cscan_pool.state->budget ||
		  cscan_pool.state->total > cscan_pool.state->room); i++)
	{
		if (cscan_pool.slots[i].space != CSCAN_NONE)
			cscan_loads_drop_slot(i);
	}
	cscan_holding_wake_all();
}

/* Chunks that are not pinned may have lost their frames to others. */
static void
look_for_hollow(void)
{
	for (int i = 0; i < cscan_pool.state->limits.max_slots; i++)
	{
		if (cscan_pool.slots[i].space != CSCAN_NONE && !cscan_pool.slots[i].held &&
			!cscan_loader_intact(i))
			cscan_loads_drop_slot(i);
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
		cscan_loads_follow_wants();
		last->wants = now;
		told = true;
	}
	if (now >= last->round + ROUND_TIME)
		go_round(last, now);
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
			told = cscan_loads_finish();
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
