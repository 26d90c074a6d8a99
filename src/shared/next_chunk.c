/*-------------------------------------------------------------------------
 *
 * next_chunk.c
 *		How a scan comes by its next chunk: the chunk is there, or the scan
 *		waits for it, or reads it itself.
 *
 * The scan trusts the shared state for speed only.  It takes its next chunk
 * out of the wanted set and reads it itself if the ABM is down, stuck or
 * without its lock, or has done nothing for the scan for too long.
 *
 * A scan takes what it finds in memory without the ABM.  While many wait for
 * the scheduler's lock it takes several such chunks at once.
 *
 * The processes of a parallel query, and scans beside others, copy from the page
 * cache what no other scan wants.  The ABM would do it one chunk after the other.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "access/xact.h"

#include "cscan.h"
#include "fault.h"
#include "shared/registry_internal.h"

/* How often a waiting scan looks whether the ABM is alive (ms). */
#define WAIT_ROUND		100

/*
 * Helpers that take no page for so long (us), although they do not wait for a
 * chunk, wait for their leader to take their rows.
 */
#define HELPERS_STUCK_AFTER	10000

/*
 * A scan waits for a chunk at most so long (us), however busy the ABM is, or
 * for so many loads of each active scan.  Then it reads the chunk itself.
 */
#define PATIENCE		30000000
#define PATIENCE_LOADS	16

/* Blocks of a chunk that are looked up to tell whether it is in memory. */
#define RESIDENT_SAMPLE	16

/*
 * A scan takes more than one chunk in memory at once only if more than one in
 * so many found the scheduler's lock taken.  CSCAN_MAX_AHEAD is the limit.
 */
#define MUCH_WAITING	64

/*
 * With so few copies left the ABM loads again for the scan, to see whether the
 * page cache still has its chunks.
 */
#define FEW_COPIES		8

/* Chunks that this process takes at once next time, for any scan. */
static uint32 reach = 1;

/* The lock's counts when "reach" was set. */
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
 * Find the chunks that cscan_pool_take() would take one after another, as many
 * as are to be taken at once.  Returns their number.  Processes that share a
 * scan's chunks take them one by one.  Call with the lock held.
 */
static uint32
look_ahead(const CScanRegistration *reg, uint32 *chunks)
{
	int			scan = reg->ticket.scan;
	uint32		most = cscan_scans[scan].joinable ? 1 : Max(reach, (uint32) cscan_debug_take_ahead);
	uint32		n = 0;

	if (!cscan_pool_peek(&cscan_pool, scan, &chunks[n++]) ||
		!cscan_shared_may_come(scan, chunks[0], cscan_pool.scans[scan].position))
		return 0;
	while (n < most)
	{
		uint32		chunk = chunks[n - 1];

		do
			chunk = cscan_pool_next_wanted(&cscan_pool, scan, chunk + 1);
		while (chunk != chunks[0] && !cscan_pool_absent_for(&cscan_pool, scan, chunk));
		if (chunk == chunks[0] || !cscan_shared_may_come(scan, chunk, chunks[n - 1] + 1))
			break;
		chunks[n++] = chunk;
	}
	return n;
}

/*
 * Double or halve the number of chunks to take at once next time.  Call with
 * the lock held.
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

/* Where a few of a chunk's blocks are, to be looked up without the lock. */
typedef struct CScanSample
{
	RelFileLocator locator;
	Oid			relid;
	uint32		group;			/* of an index of columns; all else is for
								 * tables */
	uint32		nblocks;
	uint32		blocks[RESIDENT_SAMPLE];
} CScanSample;

static bool
is_in_memory(const CScanRegistration *reg, const CScanSample *sample)
{
	if (reg->groups)
		return reg->groups->in_memory(reg->groups->arg, sample->relid, sample->group);
	for (uint32 i = 0; i < sample->nblocks; i++)
	{
		if (!cscan_in_buffers(sample->locator, sample->blocks[i]))
			return false;
	}
	return true;
}

/*
 * A scan that would have to wait looks whether its next chunk is in memory, as
 * far as a few of its blocks show.  Then there is nothing to load, and a pin
 * by the ABM would only cost time.  Call with the lock held; it is released in
 * between, so *now becomes later.
 *
 * While many have to wait for the lock, the scan takes more and more chunks at
 * once and comes for it less often.  Chunks taken ahead are handed out
 * unchecked.  If one is no longer in memory then, the scan reads it itself, as
 * it reads every page.
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
		samples[i].relid = cscan_tables[cscan_pool.space_of[candidates[i]]].relid;
		samples[i].group = candidates[i] - cscan_pool_space_of(&cscan_pool, candidates[i])->first_chunk;
		samples[i].nblocks = reg->groups ? 0 :
			cscan_pool_sample(&cscan_pool, scan, candidates[i], samples[i].blocks, RESIDENT_SAMPLE);
	}
	cscan_unlock();
	while (nwarm < n && is_in_memory(reg, &samples[nwarm]))
		nwarm++;
	cscan_lock();
	*now = cscan_now();

	/* A load may have begun, or a helper may have taken the chunk. */
	if (cscan_registration_is_over(reg))
		return false;
	while (taken < nwarm && cscan_pool_peek(&cscan_pool, scan, &next) &&
		   next == candidates[taken] && cscan_pool_absent_for(&cscan_pool, scan, next) &&
		   cscan_pool_take(&cscan_pool, scan, reg->helper, *now, &next))
	{
		reg->ahead[taken++] = cscan_registration_portion(next);

		/* The caller hands out, and counts, the first. */
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
 * This process is about to wait for a chunk.  Its other scans cannot go on
 * then, so no scan should wait for them, least of all this one.  They are
 * stalled until they ask again.  Call with the lock held.
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

/* What a scan that waits may expect of the ABM (us). */
typedef struct CScanExpected
{
	double		load;			/* time to load its next chunk */
	uint64		sign_of_life;	/* longest time without one */
	uint64		wait;			/* longest wait for a chunk */
} CScanExpected;

/* Call with the lock held. */
static CScanExpected
expect(const CScanRegistration *reg)
{
	CScanExpected e = {0, CSCAN_ABM_STUCK_AFTER, PATIENCE};
	double		step;
	double		turns;
	uint32		chunk;
	int			space;
	const CScanSpace *p;

	if (!cscan_pool_peek(&cscan_pool, reg->ticket.scan, &chunk))
		return e;
	space = cscan_pool.space_of[chunk];
	p = &cscan_pool.spaces[space];
	e.load = cscan_pool_load_time(&cscan_pool, space, cscan_space_is_columnar(p) ?
								  cscan_pool_cost_for(&cscan_pool, reg->ticket.scan, chunk) : cscan_space_cost(p, chunk));
	step = cscan_pool_load_time(&cscan_pool, space, CSCAN_STEP_BLOCKS);
	turns = e.load * PATIENCE_LOADS * Max(cscan_pool_running(&cscan_pool), 1);
	e.sign_of_life = Max(e.sign_of_life, (uint64) (CSCAN_ABM_STUCK_STEPS * step));
	e.wait = Max(e.wait, (uint64) turns);
	return e;
}

/*
 * Should this process, which has waited since "since" (us), read its next
 * chunk itself?  Call with the lock held.
 *
 * A wait that is not too long is no reason.  But a scan that waits wants a
 * load.  If no load at all goes on for a while, something is wrong, or many
 * processes that share few CPUs are reading all that the ABM has.  Then scans
 * read for themselves, but no more of them than the ABM would have served: one
 * in the time of a load.
 *
 * Under a policy without a last resort (elevator) the cursor may be waiting
 * for the slowest scan, and the other scans have to wait with it.  A scan
 * whose patience has ended waits no more until one of its tables has had a
 * load.
 *
 * Neither delay applies to a process of a parallel query.  It may be waiting
 * for a scan of the same query, which in turn waits for this process to take
 * its rows.
 */
static bool
must_read_itself(CScanRegistration *reg, uint64 now, uint64 since)
{
	const CScanSharedScan *scan = &cscan_scans[reg->ticket.scan];
	uint64		alive = pg_atomic_read_u64(&cscan_shared->abm_alive);
	uint64		progress = pg_atomic_read_u64(&cscan_shared->abm_progress);
	CScanExpected expected = expect(reg);
	bool		no_load = now > Max(progress, since) + expected.sign_of_life;
	bool		too_long = now > since + expected.wait;

	/* Tell the others that it is stuck: they do not wait until it moves. */
	if (now > Max(alive, since) + expected.sign_of_life)
		cscan_shared->abm_stuck = alive;

	if (cscan_shared->abm_latch == NULL ||
		cscan_pool.state->budget < scan->chunk_cost ||
		cscan_pool_has_refused(&cscan_pool, reg->ticket.scan) ||
		cscan_shared->abm_stuck == alive)
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
	if (!no_load || now < cscan_shared->self_read + (uint64) expected.load)
		return false;
	cscan_shared->self_read = now;
	return true;
}

/*
 * Do this scan's helpers wait for this process, which waits for a chunk that
 * may have no room because of theirs?  Call with the lock held, repeatedly;
 * *seen and *seen_at are 0 at first and kept from call to call.
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

/* A stalled scan goes on with chunks taken ahead: make it count again. */
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
	uint64		began;			/* 0: it does not wait yet */
	uint32		seen;			/* see helpers_wait() */
	uint64		seen_at;
	bool		unchanged;		/* nothing has changed for the ABM */
	bool		warm;			/* the chunk was in memory anyway */
} CScanWait;

/* Are all scans that run this process's own?  Then the ABM reads for it alone.  Call with the lock held. */
static bool
is_alone(void)
{
	int			others = cscan_pool_running(&cscan_pool);
	dlist_iter	iter;

	dlist_foreach(iter, &cscan_registrations)
	{
		const CScanRegistration *reg = dlist_container(CScanRegistration, node, iter.cur);

		others -= reg->helper == CSCAN_NONE && !cscan_registration_is_over(reg) &&
			cscan_pool_active(&cscan_pool, reg->ticket.scan);
	}
	return others <= 0;
}

/*
 * The scan would have to wait.  If its next chunk is in the page cache, as far as
 * the last load for this scan shows, and the ABM is not the one to copy it, this
 * process takes the chunk and copies it itself.  Meanwhile nothing is loaded for
 * the scan.  Call with the lock held.
 */
static bool
take_copy(CScanRegistration *reg, CScanWait *wait, uint32 *chunk)
{
	int			scan = reg->ticket.scan;

	if (!cscan_debug_copies || !cscan_shared_may_copy(scan, chunk) ||
		(cscan_pool.scans[scan].nhelpers == 0 && is_alone()) ||
		!cscan_pool_take(&cscan_pool, scan, reg->helper, wait->now, chunk))
		return false;
	cscan_scans[scan].copies--;
	wait->unchanged = cscan_scans[scan].copies >= FEW_COPIES && !others_wait(reg);
	cscan_pool_set_warm(&cscan_pool, scan, wait->unchanged);
	return true;
}

/*
 * Find a chunk for the scan, or that none is left.  False if it has to wait.
 * Call with the lock held, which may be released in between.
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
		/* Nothing of the ABM's own has changed: do not tell it. */
		wait->unchanged = (had == CSCAN_NONE);
		wait->warm = true;
		*how = CSCAN_RESIDENT;
		return true;
	}
	/* The lock was released: the others may have taken what was left. */
	if (cscan_registration_is_over(reg))
		return false;
	if (s->nwanted == 0)
	{
		*how = CSCAN_FINISHED;
		return true;
	}
	*how = CSCAN_COPIED;
	if (take_copy(reg, wait, chunk))
	{
		wait->unchanged &= (had == CSCAN_NONE);
		return true;
	}
	*how = CSCAN_SELF_READ;
	return (must_read_itself(reg, wait->now, wait->began ? wait->began : wait->now) ||
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
		if (!wait->warm)
		{
			cscan_scans[reg->ticket.scan].chunks_got++;
			cscan_scans[reg->ticket.scan].chunks_read += (how != CSCAN_RESIDENT);
		}
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

		/* Not earlier: waiting for the lock may have taken long. */
		wait.now = cscan_now();
		wait.unchanged = false;
		done = find_chunk(reg, &wait, &chunk, &how);
		if (done)
			end_wait(reg, &wait, chunk, how, portion, waited);
		else if (wait.began == 0 && !cscan_registration_is_over(reg))
			begin_wait(reg, &wait);

		/*
		 * Nor is the ABM told if there is nothing to load for any scan.  It
		 * finds a useless pin by itself.  But a scan that waits has to see
		 * that it is alive.
		 */
		if (done && !wait.unchanged && cscan_shared->abm_idle)
			wait.unchanged = !cscan_pool_wants_load(&cscan_pool, wait.now);
		latch = wait.unchanged ? NULL : cscan_registration_abm_to_wake();
		cscan_unlock();

		cscan_registration_wake(latch);
		if (done)
			break;

		CSCAN_FAULT(CSCAN_FAULT_ASLEEP);

		/* The first call only prepares; the next round sees what changed. */
		ConditionVariableTimedSleep(&cscan_scans[reg->ticket.scan].cv,
									wait.seen_at != 0 ? HELPERS_STUCK_AFTER / 1000 : WAIT_ROUND,
									cscan_wait_for_chunk);
	}
	ConditionVariableCancelSleep();
	CSCAN_FAULT(CSCAN_FAULT_CHUNK);
	return how;
}
