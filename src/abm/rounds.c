/*-------------------------------------------------------------------------
 *
 * rounds.c
 *		The ABM's main loop.
 *
 * After Figure 3's main():
 *
 *		take and give back the locks of tables that came or went
 *		look after neighbours who wait for what we hold, and for stalled scans
 *		as long as there is room in flight: decide, then evict or start a load
 *		finish the oldest load and wake the scans that wait for it
 *		nothing to do: sleep until a scan sets the latch
 *
 * Invariant: a change that a scan has told of is acted on before the ABM sleeps.
 * Scans tell by clearing abm_idle and, where it was set, by setting the latch.
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

/* How often neighbours are looked after (us). */
#define ROUND_TIME			10000

/*
 * How often pins are, while nobody tells of a change, and stalled scans: that
 * takes the scheduler's lock, which is dear where hundreds of scans compete for
 * the CPUs (us).
 */
#define LOOK_TIME			50000

/* Statistics are reported once in so long (us). */
#define REPORT_STATS_AFTER	1000000

/* Is somebody waiting for a lock that the ABM holds, or for one of its pins? */
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

/* The pool has become too large for the budget, after a reload. */
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

/* When the ABM last did what it does now and then (us) */
typedef struct CScanRounds
{
	uint64		care;			/* for tables */
	uint64		wants;			/* that slots follow */
	uint64		round;			/* and what comes with each: */
	uint64		stalled;
	uint64		report;
} CScanRounds;

/* What needs no hurry */
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
		/* pg_stat_io, where the version has it */
		pgstat_report_stat(true);
		last->report = now;
	}
	last->round = now;
}

/*
 * What is due.  "told" says whether there has been a change; returns whether there is
 * one to be acted on.
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

		/* Somebody may have set it since the end of the wait. */
		told = told || !cscan_shared->abm_idle;
		CHECK_FOR_INTERRUPTS();
		told = do_what_is_due(&last, told);

		/* What the ABM itself has changed it need not be told. */
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
