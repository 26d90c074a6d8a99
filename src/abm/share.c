/*-------------------------------------------------------------------------
 *
 * share.c
 *		The share of shared buffers that the pool may pin, as it follows the load.
 *
 *		look			find out what others and scans miss; if cscan.buffer_share
 *						is auto, move the share; let go of what exceeds it
 *
 * policy/balance.c has the rule.  This file finds out what the rule asks for.
 *
 * What others take is what PostgreSQL says that all processes have taken, less
 * what the ABM and cooperative scans have.  PostgreSQL counts the frames that
 * came from the clock sweep or the free list (StrategyGetBuffer).  It does not
 * count those that a bulk read, VACUUM or COPY takes again from its own ring.  The
 * ABM keeps what it reads pinned, so none of its frames comes from a ring, and
 * all are counted.  A scan that reads for itself counts until its ring is full.
 * From 18 on that is 300 frames and more, so scans count theirs (scans_took).
 *
 * The background writer reports that count each bgwriter_delay (200 ms).  So it is
 * looked at in each round, and what the ABM and scans have taken is noted in the
 * round that finds it changed.  Differences are taken between two such moments.
 * pg_stat_io would say whose misses these are, from 16 on.  But a backend reports
 * these counts only when its transaction ends.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "executor/instrument.h"
#include "pgstat.h"
#include "utils/guc.h"

#include "abm/abm.h"

/* What was taken so far, at one moment. */
typedef struct CScanTaken
{
	uint64		at;				/* us */
	uint64		all;			/* frames taken by all processes */
	uint64		scans;			/* of these, frames that scans took */
	uint64		loaded;			/* of these, blocks that the ABM has read */
} CScanTaken;

static bool has_looked;
static CScanTaken last_look;
static CScanTaken last_report;	/* when the background writer last reported */
static uint64 last_lost;

void
cscan_share_init(void)
{
	/* As in autovacuum.c: only fresh counts are of use. */
	SetConfigOption("stats_fetch_consistency", "none", PGC_SUSET, PGC_S_OVERRIDE);
}

static void
begin(const CScanTaken *taken)
{
	last_look = last_report = *taken;
	last_lost = cscan_loads_lost();
	has_looked = true;
}

/* Note what was seen, and move the share if it moves by itself. */
static void
act_on(const CScanBalanceSeen *seen)
{
	double		seconds = (double) seen->elapsed / 1e6;

	cscan_lock();
	cscan_shared->others_taken = (double) seen->others / seconds;
	cscan_shared->scans_lost = (double) seen->lost / seconds;
	if (cscan_shared->share_is_auto && cscan_balance_look(&cscan_shared->balance, seen))
	{
		cscan_shared_set_budget();

		/* There may be room for a load now. */
		cscan_shared->abm_idle = false;
	}
	cscan_unlock();
}

/* An unlocked look: only the ABM changes these. */
bool
cscan_share_is_exceeded(void)
{
	const CScanPoolState *state = cscan_pool.state;

	return state->used > state->budget || state->total > Max(state->room, state->budget);
}

void
cscan_share_look(uint64 now)
{
	CScanTaken	taken;
	CScanBalanceSeen seen;

	taken.at = now;
	taken.all = (uint64) pgstat_fetch_stat_bgwriter()->buf_alloc;
	taken.scans = pg_atomic_read_u64(&cscan_shared->scans_took);
	taken.loaded = (uint64) pgBufferUsage.shared_blks_read;

	/* The counts may have been reset. */
	if (!has_looked || taken.all < last_report.all)
		begin(&taken);

	/* If nobody has taken anything, there is nothing to report. */
	if (taken.all != last_report.all ||
		(taken.scans == last_report.scans && taken.loaded == last_report.loaded))
		last_report = taken;
	if (last_report.at >= last_look.at + CSCAN_BALANCE_EVERY)
	{
		uint64		all = last_report.all - last_look.all;
		uint64		own = last_report.scans - last_look.scans;

		seen.now = now;
		seen.elapsed = last_report.at - last_look.at;
		seen.loaded = last_report.loaded - last_look.loaded;
		own += seen.loaded;
		seen.others = all > own ? all - own : 0;
		seen.lost = cscan_loads_lost() - last_lost;
		seen.buffers = (uint64) NBuffers;
		begin(&last_report);
		act_on(&seen);
	}
	if (cscan_share_is_exceeded())
		(void) cscan_loads_shrink();
}
