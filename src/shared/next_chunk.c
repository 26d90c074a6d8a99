/*-------------------------------------------------------------------------
 *
 * next_chunk.c
 *		How a scan comes by its next chunk: it is there, or is waited for, or
 *		the scan reads it itself.
 *
 * The scan trusts the shared state for speed only.  If the ABM is down, stuck
 * or without its lock, or has done nothing for the scan for too long, the scan
 * takes its next chunk out of the wanted set and reads it itself.
 *
 * What a scan finds in memory anyway it takes without the ABM, and several
 * chunks of it at once while many wait for the scheduler's lock.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "access/xact.h"

#include "fault.h"
#include "shared/registry_internal.h"

/* How often a waiting scan looks whether the ABM is alive (ms). */
#define WAIT_ROUND		100

/*
 * Helpers that take no page for so long, although they do not wait for a chunk,
 * wait for their leader to take their rows (us).
 */
#define HELPERS_STUCK_AFTER	10000

/*
 * Nobody waits for one chunk for longer than this before it reads it itself, be
 * the ABM as busy as it may (us).
 */
#define PATIENCE		30000000

/* So many of a chunk's blocks are looked up to tell whether it is in memory. */
#define RESIDENT_SAMPLE	16

/*
 * A scan that finds its chunks in memory takes more than one at once, and at most
 * CSCAN_MAX_AHEAD, only where more than one in so many found the scheduler's lock
 * taken.
 */
#define MUCH_WAITING	64

/* So many chunks to take at once next time, whatever scan it is for, and */
static uint32 reach = 1;

/* the lock's counts when that was fixed */
static uint64 locks_then;
static uint64 waits_then;

/* Does another process of the same scan wait?  Call with the lock held. */
static bool
others_wait(const CScanRegistration *reg)
{
	const CScanScan *s = &cscan_pool.scans[reg->ticket.scan];

	if (reg->helper != CSCAN_NONE && s->waiting)
		return true;
	for (int i = 0; i < cscan_pool.state->limits.max_helpers && s->nhelpers > 0; i++)
	{
		const CScanHelper *helper = &cscan_pool.helpers[i];

		if (i != reg->helper && helper->used && helper->scan == reg->ticket.scan &&
			helper->waiting)
			return true;
	}
	return false;
}

/*
 * The chunks that cscan_pool_take() would take one after another, as many as are
 * to be taken at once; call with the lock held.  Chunks that several processes
 * share out they take one by one.
 */
static uint32
look_ahead(const CScanRegistration *reg, uint32 *chunks)
{
	int			scan = reg->ticket.scan;
	uint32		most = cscan_scans[scan].joinable ? 1 : Max(reach, (uint32) cscan_debug_take_ahead);
	uint32		n = 0;

	if (!cscan_pool_peek(&cscan_pool, scan, &chunks[n++]))
		return 0;
	while (n < most)
	{
		uint32		chunk = chunks[n - 1];

		do
			chunk = cscan_pool_next_wanted(&cscan_pool, scan, chunk + 1);
		while (chunk != chunks[0] && !cscan_pool_absent_for(&cscan_pool, scan, chunk));
		if (chunk == chunks[0])
			break;
		chunks[n++] = chunk;
	}
	return n;
}

/*
 * How many chunks to take at once next time: twice as many, or half as many.
 * Call with the lock held.
 */
static void
change_reach(void)
{
	const CScanLockStats *stats = &cscan_shared->lock_stats;

	if ((stats->lock_waits - waits_then) * MUCH_WAITING > stats->locks - locks_then)
		reach = Min(reach * 2, CSCAN_MAX_AHEAD);
	else
		reach = Max(reach / 2, 1);
	locks_then = stats->locks;
	waits_then = stats->lock_waits;
}

/* Where a few of a chunk's blocks are, to be looked for without the lock. */
typedef struct CScanSample
{
	RelFileLocator locator;
	uint32		nblocks;
	uint32		blocks[RESIDENT_SAMPLE];
} CScanSample;

static bool
is_in_memory(const CScanSample *sample)
{
	for (uint32 i = 0; i < sample->nblocks; i++)
	{
		if (!cscan_in_buffers(sample->locator, sample->blocks[i]))
			return false;
	}
	return true;
}

/*
 * A scan that would have to wait looks whether its next chunk is in memory
 * anyway, as far as a few of its blocks show.  Then there is nothing to load,
 * and to have it pinned by another process would only cost time.  Called with
 * the lock held, which is released in between, so that *now becomes later.
 *
 * While many have to wait for the lock, the scan takes more and more chunks at
 * once, and has to come for it less often.  Those taken ahead are handed out
 * without a look at anything.  What is no longer in memory then the scan reads
 * itself, as it reads every page.
 */
static bool
take_resident(CScanRegistration *reg, uint64 *now, uint32 *chunk)
{
	int			scan = reg->ticket.scan;
	uint32		candidates[CSCAN_MAX_AHEAD];
	CScanSample samples[CSCAN_MAX_AHEAD];
	uint32		n = look_ahead(reg, candidates);
	uint32		nwarm = 0;
	uint32		taken = 0;
	uint32		next;

	if (n == 0)
		return false;
	for (uint32 i = 0; i < n; i++)
	{
		samples[i].locator = cscan_tables[cscan_pool.space_of[candidates[i]]].locator;
		samples[i].nblocks = cscan_pool_sample(&cscan_pool, scan, candidates[i], samples[i].blocks,
											   RESIDENT_SAMPLE);
	}
	cscan_unlock();
	while (nwarm < n && is_in_memory(&samples[nwarm]))
		nwarm++;
	cscan_lock();
	*now = cscan_now();

	/* Meanwhile a load may have begun, or a helper may have taken it. */
	if (cscan_registration_is_over(reg))
		return false;
	while (taken < nwarm && cscan_pool_peek(&cscan_pool, scan, &next) &&
		   next == candidates[taken] && cscan_pool_absent_for(&cscan_pool, scan, next) &&
		   cscan_pool_take(&cscan_pool, scan, reg->helper, *now, &next))
	{
		reg->ahead[taken++] = cscan_registration_portion(next);

		/* The first is handed out, and counted, by the caller. */
		if (taken == 1)
			*chunk = next;
		else
			cscan_registration_count(&reg->ticket, next, CSCAN_RESIDENT);
	}
	cscan_pool_set_warm(&cscan_pool, scan, taken > 0 && !others_wait(reg));
	change_reach();
	reg->nahead = taken;
	reg->next_ahead = taken > 0;
	return taken > 0;
}

/*
 * This process is about to wait for a chunk.  Meanwhile its other scans cannot go
 * on, so nobody should wait for them, this one least of all: they are stalled
 * until they ask again.  Call with the lock held.
 */
static void
stall_others(const CScanRegistration *reg)
{
	dlist_iter	iter;

	dlist_foreach(iter, &cscan_registrations)
	{
		const CScanRegistration *other = dlist_container(CScanRegistration, node, iter.cur);

		/* Helpers, here or elsewhere, may go on. */
		if (other->helper == CSCAN_NONE && !cscan_registration_is_over(other) && other->ticket.scan != reg->ticket.scan &&
			cscan_pool.scans[other->ticket.scan].nhelpers == 0)
			cscan_pool_set_stalled(&cscan_pool, other->ticket.scan, true);
	}
}

/* How long the load of a scan's next chunk takes (us); call with the lock held. */
static double
next_load_time(const CScanRegistration *reg)
{
	uint32		chunk;

	if (!cscan_pool_peek(&cscan_pool, reg->ticket.scan, &chunk))
		return 0;
	return cscan_pool_load_time(&cscan_pool, cscan_pool.space_of[chunk],
								cscan_space_cost(cscan_pool_space_of(&cscan_pool, chunk), chunk));
}

/*
 * Should this process, which waits since then, read its next chunk itself?  Call
 * with the lock held.
 *
 * A long wait alone is no reason.  But a scan that waits wants a load.  If for a
 * while none at all is completed, something is wrong, or all that the ABM has is
 * being read by many processes that share few CPUs.  Then scans read for themselves,
 * but no more of them than the ABM would have served: one in the time of a load.
 *
 * Under a policy without a last resort (elevator) the cursor may be waiting for the
 * slowest scan, and the others have to wait with it.  A scan whose patience has
 * ended waits no more until one of its tables has had a load.
 *
 * Neither delay is for a process of a parallel query: it may be waiting for a scan of
 * the same query, which in turn waits for this process to take its rows.
 */
static bool
must_read_itself(CScanRegistration *reg, uint64 now, uint64 since)
{
	const CScanSharedScan *scan = &cscan_scans[reg->ticket.scan];
	bool		no_load = now > Max(cscan_shared->abm_loaded, since) + CSCAN_ABM_STUCK_AFTER;
	bool		too_long = now > since + PATIENCE;

	/* Who finds it stuck tells the others: until it moves nobody waits again. */
	if (now > Max(cscan_shared->abm_alive, since) + CSCAN_ABM_STUCK_AFTER)
		cscan_shared->abm_stuck = cscan_shared->abm_alive;

	if (cscan_shared->abm_latch == NULL ||
		cscan_pool.state->budget < scan->chunk_cost ||
		cscan_pool_has_refused(&cscan_pool, reg->ticket.scan) ||
		cscan_shared->abm_stuck == cscan_shared->abm_alive)
		return true;
	if (IsInParallelMode())
		return no_load || too_long;
	if (!cscan_pool.state->traits[cscan_pool.scans[reg->ticket.scan].policy].overrides)
	{
		if (too_long)
			reg->patience_ended = scan->loads + 1;
		return reg->patience_ended == scan->loads + 1;
	}
	if (too_long)
		return true;
	if (!no_load || now < cscan_shared->self_read + (uint64) next_load_time(reg))
		return false;
	cscan_shared->self_read = now;
	return true;
}

/*
 * Do this scan's helpers wait for this process, which waits for a chunk that
 * may have no room because of theirs?  Call with the lock held, again and
 * again; *seen and *seen_at, at first 0, are kept from call to call.
 */
static bool
helpers_wait(const CScanRegistration *reg, uint64 now, uint32 *seen, uint64 *seen_at)
{
	uint32		progress = pg_atomic_read_u32(&cscan_scans[reg->ticket.scan].progress);

	if (reg->helper != CSCAN_NONE || cscan_pool.scans[reg->ticket.scan].nhelpers == 0)
		return false;
	if (*seen_at == 0 || progress != *seen)
	{
		*seen = progress;
		*seen_at = now;
	}
	if (now < *seen_at + HELPERS_STUCK_AFTER)
		return false;
	for (int i = 0; i < cscan_pool.state->limits.max_helpers; i++)
	{
		const CScanHelper *helper = &cscan_pool.helpers[i];

		if (helper->used && helper->scan == reg->ticket.scan && !helper->waiting)
			return true;
	}
	return false;
}

/* A scan that was stalled takes up what it has taken ahead: it counts again. */
static void
go_on(const CScanRegistration *reg)
{
	cscan_lock();
	if (!cscan_registration_is_over(reg))
	{
		cscan_pool_set_stalled(&cscan_pool, reg->ticket.scan, false);
		cscan_scans[reg->ticket.scan].last_change = cscan_now();
		cscan_shared->tables_changed = true;
	}
	cscan_unlock();
}

/* What a process that asks for a chunk keeps while it waits. */
typedef struct CScanWait
{
	uint64		now;
	uint64		began;			/* 0: it does not wait as yet */
	uint32		seen;			/* see helpers_wait() */
	uint64		seen_at;
	bool		unchanged;		/* nothing has changed for the ABM */
} CScanWait;

/*
 * Is there a chunk for the scan, or none left?  Call with the lock held, which may
 * be released in between.  False: it has to wait.
 */
static bool
find_chunk(CScanRegistration *reg, CScanWait *wait, uint32 *chunk, CScanDelivery *how)
{
	int			scan = reg->ticket.scan;
	CScanScan  *s = &cscan_pool.scans[scan];
	int			had = reg->helper == CSCAN_NONE ? s->in_use : cscan_pool.helpers[reg->helper].in_use;
	int			slot;

	if (s->stalled)
		cscan_shared->tables_changed = true;
	slot = cscan_pool_choose(&cscan_pool, scan, reg->helper, wait->now);
	if (slot != CSCAN_NONE)
	{
		*chunk = cscan_pool.slots[slot].chunk;
		if (cscan_pool.slots[slot].failed)
			*how = CSCAN_SELF_READ;
		else
			*how = s->loaded_for ? CSCAN_LOADED : CSCAN_RESIDENT;
		return true;
	}
	if (s->nwanted == 0)
	{
		*how = CSCAN_FINISHED;
		return true;
	}

	/* Nothing is loaded for a warm scan: it has to look again. */
	if ((wait->began == 0 || s->warm) && take_resident(reg, &wait->now, chunk))
	{
		/* Of that the ABM need not be told, nothing of its own has changed. */
		wait->unchanged = (had == CSCAN_NONE);
		*how = CSCAN_RESIDENT;
		return true;
	}
	*how = CSCAN_SELF_READ;
	return !cscan_registration_is_over(reg) &&
		(must_read_itself(reg, wait->now, wait->began ? wait->began : wait->now) ||
		 helpers_wait(reg, wait->now, &wait->seen, &wait->seen_at)) &&
		cscan_pool_take(&cscan_pool, scan, reg->helper, wait->now, chunk);
}

/* A chunk, or the end, has been found; call with the lock held. */
static void
end_wait(CScanRegistration *reg, const CScanWait *wait, uint32 chunk, CScanDelivery how,
		 CScanPortion *portion, uint64 *waited)
{
	CScanStats *stats = &cscan_shared->stats[cscan_pool.scans[reg->ticket.scan].policy];

	cscan_scans[reg->ticket.scan].last_change = wait->now;
	if (wait->began != 0)
	{
		*waited += wait->now - wait->began;
		stats->wait_time += wait->now - wait->began;
	}
	if (how != CSCAN_FINISHED)
	{
		*portion = cscan_registration_portion(chunk);
		cscan_registration_count(&reg->ticket, chunk, how);
	}
}

/* The scan begins to wait; call with the lock held. */
static void
begin_wait(CScanRegistration *reg, CScanWait *wait)
{
	const CScanScan *s = &cscan_pool.scans[reg->ticket.scan];

	wait->began = wait->now;
	cscan_shared->stats[s->policy].waits++;
	stall_others(reg);
	if (s->nloadable < s->nwanted)
		cscan_shared->tables_changed = true;
}

CScanDelivery
cscan_registry_next(CScanRegistration *reg, CScanPortion *portion, uint64 *waited)
{
	CScanDelivery how;
	CScanWait	wait = {0};

	if (reg->next_ahead < reg->nahead)
	{
		/* An unlocked look: what is missed now is seen next time. */
		if (cscan_pool.scans[reg->ticket.scan].stalled)
			go_on(reg);
		*portion = reg->ahead[reg->next_ahead++];
		CSCAN_FAULT(CSCAN_FAULT_CHUNK);
		return CSCAN_RESIDENT;
	}

	for (;;)
	{
		Latch	   *latch;
		uint32		chunk = CSCAN_NO_CHUNK;
		bool		done;

		cscan_lock();
		if (cscan_registration_is_over(reg))
		{
			cscan_unlock();
			ConditionVariableCancelSleep();
			return reg->helper == CSCAN_NONE ? CSCAN_LOST : CSCAN_FINISHED;
		}

		/* Not before: to wait for the lock may have taken long. */
		wait.now = cscan_now();
		wait.unchanged = false;
		done = find_chunk(reg, &wait, &chunk, &how);
		if (done)
			end_wait(reg, &wait, chunk, how, portion, waited);
		else if (wait.began == 0)
			begin_wait(reg, &wait);

		/*
		 * The ABM need not be told either if there is nothing to load for
		 * anybody.  A pin that has become useless it finds by itself; but who
		 * waits has to see that it is alive.
		 */
		if (done && !wait.unchanged && cscan_shared->abm_idle)
			wait.unchanged = !cscan_pool_wants_load(&cscan_pool, wait.now);
		latch = wait.unchanged ? NULL : cscan_registration_abm_to_wake();
		cscan_unlock();

		cscan_registration_wake(latch);
		if (done)
			break;

		CSCAN_FAULT(CSCAN_FAULT_ASLEEP);

		/* The first round only prepares; what came before it is seen then. */
		ConditionVariableTimedSleep(&cscan_scans[reg->ticket.scan].cv,
									wait.seen_at != 0 ? HELPERS_STUCK_AFTER / 1000 : WAIT_ROUND,
									cscan_wait_for_chunk);
	}
	ConditionVariableCancelSleep();
	CSCAN_FAULT(CSCAN_FAULT_CHUNK);
	return how;
}
