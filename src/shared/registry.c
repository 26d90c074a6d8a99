/*-------------------------------------------------------------------------
 *
 * registry.c
 *		A backend's side of a registered scan: it comes, begins again, leaves.
 *
 * A registration belongs to the resource owner that was current when it was
 * made.  It ends when the scan does or, after an error, when that owner
 * releases its resources.  That is before its locks go: the relation's lock
 * vouches for the registration, and the registration for what the ABM holds.
 *
 * A stalled scan may lose its place to one that has none.  So whatever its
 * owner does begins with a check whether the scan still has its place.
 *
 * A process that has joined a scan holds only its place as a helper.  That
 * place outlives the scan, and the process gives it back by itself.
 *
 * next_chunk.c tells how a scan comes by its chunks.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "access/xact.h"
#include "storage/ipc.h"
#include "utils/memutils.h"
#include "utils/resowner.h"

#include "fault.h"
#include "shared/registry_internal.h"
#include "shared/sharing.h"

static uint32 wait_for_release;

/* Tables that are announced before the lock is released for a moment. */
#define TABLES_AT_ONCE	64

/* The blocks of all tables */
static uint64
blocks_of(const CScanTarget *targets, int ntargets)
{
	uint64		nblocks = 0;

	for (int i = 0; i < ntargets; i++)
		nblocks += targets[i].groups ? 0 : targets[i].nblocks;
	return nblocks;
}

/* Is there more than one chunk to read?  One is nothing to share. */
static bool
worth_sharing(const CScanTarget *targets, int ntargets)
{
	uint64		wanted = 0;
	uint64		nblocks = blocks_of(targets, ntargets);
	uint32		chunk_blocks = cscan_debug_small_scans ? 0 : cscan_shared->preferred_chunk_blocks;

	for (int i = 0; i < ntargets; i++)
	{
		for (uint32 r = 0; r < targets[i].nranges; r++)
			wanted += targets[i].ranges[r].end - targets[i].ranges[r].first;
		chunk_blocks = Min(chunk_blocks,
						   targets[i].groups ? 1 : cscan_tables_chunk_blocks(targets[i].nblocks, nblocks));
	}
	return wanted > chunk_blocks;
}

/* Is a block, or what is wanted of a row group? */
static bool
is_in_memory(const CScanTarget *target, uint32 number)
{
	if (target->groups)
		return target->groups->in_memory(target->groups->arg, RelationGetRelid(target->rel), number);
	return cscan_in_buffers(cscan_relation_locator(target->rel), number);
}

/*
 * Does all of it seem to be in memory?  The ends of the first and of the last
 * table give a first guess; the first chunk will show.
 */
static bool
seems_warm(const CScanTarget *targets, int ntargets)
{
	const CScanTarget *last = &targets[ntargets - 1];

	return is_in_memory(&targets[0], targets[0].ranges[0].first) &&
		is_in_memory(last, last->ranges[last->nranges - 1].end - 1);
}

/*
 * Remove a scan from the shared state; call with the lock held.  Returns
 * whether it was the last scan of a table that the ABM has still to let go of.
 */
static bool
remove_scan(int scan)
{
	bool		release = false;
	int			next;

	cscan_sharing_end(cscan_scans[scan].dbid, cscan_scans[scan].relid, cscan_scans[scan].columns,
					  cscan_scans[scan].chunks_got, cscan_scans[scan].chunks_read);
	cscan_scans[scan].pid = 0;
	cscan_scans[scan].serial = cscan_shared->next_serial++;
	if (cscan_pool.scans[scan].nhelpers > 0)
		ConditionVariableBroadcast(&cscan_scans[scan].cv);
	for (int table = cscan_pool_space_of_scan(&cscan_pool, scan, 0); table != CSCAN_NONE; table = next)
	{
		next = cscan_pool_space_of_scan(&cscan_pool, scan, table + 1);
		if (cscan_pool.spaces[table].nscans > 1)
			continue;

		/* The ABM holds nothing of it: not yet, or no longer. */
		if (cscan_tables[table].lock_state == CSCAN_TABLE_WANTED)
		{
			if (cscan_pool.scans[scan].started)
				cscan_pool_rest(&cscan_pool, scan, cscan_pool.scans[scan].since);
			cscan_pool_leave_space(&cscan_pool, scan, table);
			cscan_tables_drop(table);
		}
		else
			release = true;
	}
	cscan_pool_unregister(&cscan_pool, scan);
	return release;
}

/*
 * Make room for another scan: if there is none, the scan that has been stalled
 * longest goes.  Call with the lock held.
 */
static void
make_place(void)
{
	int			victim = CSCAN_NONE;

	for (int i = 0; i < cscan_max_scans; i++)
	{
		const CScanScan *s = &cscan_pool.scans[i];

		if (!s->used)
			return;
		if (s->stalled && !s->blocked && !cscan_scans[i].joinable && !cscan_scans[i].announcing &&
			(victim == CSCAN_NONE ||
			 cscan_scans[i].last_change < cscan_scans[victim].last_change))
			victim = i;
	}
	if (victim != CSCAN_NONE && remove_scan(victim))
		cscan_shared->tables_changed = true;
}

/*
 * May this process have a place that is not given up to others?  All processes
 * of a parallel query may be waiting for its client, and nobody can tell what
 * they have still to read.  So one process has few such places, and some of all
 * places are not for such scans.  Call with the lock held.
 */
static bool
may_be_joinable(void)
{
	int			few = Max(4, cscan_max_scans / 8);
	int			left = cscan_max_scans - cscan_max_scans / 8;
	dlist_iter	iter;

	dlist_foreach(iter, &cscan_registrations)
		few -= dlist_container(CScanRegistration, node, iter.cur)->joinable;
	for (int i = 0; i < cscan_max_scans; i++)
		left -= cscan_pool.scans[i].used && cscan_scans[i].joinable;
	return few > 0 && left > 0;
}

/* The fewest blocks that the pool may come to pin; call with the lock held. */
static uint32
least_budget(void)
{
	uint32		floor = (uint32) (NBuffers * CSCAN_BALANCE_FLOOR);

	return cscan_buffer_share == CSCAN_AUTO ? Min(floor, cscan_pool.state->budget) : cscan_pool.state->budget;
}

/*
 * Announce what a scan wants of an index of columns, by the layout that the
 * index has.  Call with the lock held, which is released in between.
 */
static void
announce_groups(int scan, int table, const CScanTarget *target)
{
	uint32		chunk_blocks = cscan_pool.spaces[table].chunk_blocks;

	for (uint32 r = 0; r < target->nranges; r++)
	{
		target->room[r].first = target->ranges[r].first * chunk_blocks;
		target->room[r].end = target->ranges[r].end * chunk_blocks;
	}
	for (uint32 r = 0; r < target->nranges; r += CSCAN_MAX_RANGES)
	{
		if (r > 0)
		{
			cscan_unlock();
			cscan_lock();
		}
		cscan_pool_announce(&cscan_pool, scan, table, target->nblocks * chunk_blocks, target->room + r,
							Min(target->nranges - r, CSCAN_MAX_RANGES));
	}
	cscan_pool_set_columns(&cscan_pool, scan, target->groups->columns, target->groups->common);
}

/*
 * Announce these tables.  False if one finds no room, or if the budget has none
 * for what is wanted of a chunk.  Call with the lock held, which may be released
 * in between.
 */
static bool
announce(int scan, CScanTarget *targets, int ntargets)
{
	uint32	   *chunk_cost = &cscan_scans[scan].chunk_cost;
	uint64		nblocks = blocks_of(targets, ntargets);

	*chunk_cost = 0;
	for (int i = 0; i < ntargets; i++)
	{
		int			table;

		if (i % TABLES_AT_ONCE == TABLES_AT_ONCE - 1)
		{
			cscan_unlock();
			cscan_lock();
		}
		if (targets[i].groups)
			table = cscan_tables_have_groups(targets[i].rel, targets[i].nblocks, &targets[i].groups->layout);
		else
			table = cscan_tables_have(targets[i].rel, targets[i].nblocks, nblocks);
		if (table == CSCAN_NONE)
			return false;
		if (targets[i].groups)
			announce_groups(scan, table, &targets[i]);
		else
			cscan_pool_announce(&cscan_pool, scan, table, targets[i].nblocks,
								targets[i].ranges, targets[i].nranges);
		targets[i].nchunks = cscan_pool_count_wanted(&cscan_pool, scan, table);
		targets[i].chunk_blocks = targets[i].groups ?
			cscan_layout_cost(&cscan_pool.spaces[table].columns, targets[i].groups->columns) :
			cscan_pool.spaces[table].chunk_blocks;
		*chunk_cost = Max(*chunk_cost, targets[i].chunk_blocks);
		if (targets[i].chunk_blocks > least_budget())
			return false;
	}
	return true;
}

/*
 * Start a scan that has told all that it wants; call with the lock held.  Only
 * the views show how many chunks have been read before.
 */
static void
begin_scan(int scan, const CScanTarget *targets, int ntargets, uint64 now)
{
	CScanScan  *s = &cscan_pool.scans[scan];
	uint64		read_before = 0;

	for (int i = 0; i < ntargets; i++)
		read_before += targets[i].read_before;
	cscan_pool_start(&cscan_pool, scan, now);
	cscan_scans[scan].announcing = false;
	cscan_scans[scan].tables = ntargets;
	cscan_scans[scan].chunks_done = 0;
	cscan_scans[scan].chunks_total = s->nwanted + (uint32) (read_before / cscan_scans[scan].chunk_cost);
	cscan_scans[scan].last_change = now;
	cscan_shared->stats[s->policy].scans++;
	cscan_shared->tables_changed = true;
}

/* Fill in whose scan it is. */
static void
introduce(int scan, Oid relid, bool columns, bool joinable)
{
	CScanSharedScan *s = &cscan_scans[scan];

	s->pid = MyProcPid;
	s->proc = (int) (MyProc - ProcGlobal->allProcs);
	s->roleid = GetUserId();
	s->dbid = MyDatabaseId;
	s->relid = relid;
	s->columns = columns;
	s->serial = cscan_shared->next_serial++;
	s->joinable = joinable;
	s->announcing = true;
	s->last_change = cscan_now();
	s->tables = 0;
	s->chunks_done = s->chunks_total = 0;
	s->chunks_got = s->chunks_read = 0;
	s->last_progress = 0;
	s->loads = 0;
	s->copies = 0;
	s->copied_loads = 0;
	pg_atomic_write_u32(&s->progress, 0);
	cscan_sharing_begin(s->dbid, s->relid, s->columns);
}

CScanRegistration *
cscan_registry_register(Oid relid, CScanTarget *targets, int ntargets,
						CScanPolicyId policy, bool joinable)
{
	CScanRegistration *reg;
	Latch	   *latch;
	int			scan;
	bool		warm;

	if (!cscan_preloaded || cscan_pool.state->budget == 0 || !cscan_shared_abm_expected() ||
		ntargets == 0 || !worth_sharing(targets, ntargets))
		return NULL;

	/* Everything that can fail comes before the shared state is touched. */
	CSCAN_FAULT(CSCAN_FAULT_REGISTER);
	warm = seems_warm(targets, ntargets);
	reg = MemoryContextAllocZero(TopMemoryContext, sizeof(CScanRegistration));

	cscan_lock();
	scan = CSCAN_NONE;
	if (!joinable || may_be_joinable())
	{
		make_place();
		scan = cscan_pool_register(&cscan_pool, policy, cscan_now());
	}
	if (scan != CSCAN_NONE)
	{
		introduce(scan, relid, targets[0].groups != NULL, joinable);
		if (!announce(scan, targets, ntargets))
		{
			cscan_shared->tables_changed |= remove_scan(scan);
			scan = CSCAN_NONE;
		}
	}
	if (scan == CSCAN_NONE)
	{
		/*
		 * The ABM finds out who is stalled.  It may be asleep, since it is
		 * not told of warm scans.
		 */
		latch = cscan_registration_abm_to_wake();
		cscan_unlock();
		pfree(reg);
		cscan_registration_wake(latch);
		return NULL;
	}
	begin_scan(scan, targets, ntargets, cscan_now());
	cscan_pool_set_stalled(&cscan_pool, scan, joinable);
	cscan_pool_set_warm(&cscan_pool, scan, warm);

	reg->owner = CurrentResourceOwner;
	reg->helper = CSCAN_NONE;
	reg->joinable = joinable;
	reg->groups = targets[0].groups;
	reg->ticket.scan = scan;
	reg->ticket.scan_serial = cscan_scans[scan].serial;
	dlist_push_head(&cscan_registrations, &reg->node);

	/*
	 * The ABM looks for new tables before it decides whether to sleep.  It
	 * has nothing to do for a warm scan.
	 */
	latch = NULL;
	if (!warm)
	{
		latch = cscan_shared->abm_latch;
		cscan_shared->abm_idle = false;
	}
	cscan_unlock();

	cscan_registration_wake(latch);
	cscan_time_slice_lengthen();
	CSCAN_FAULT(CSCAN_FAULT_REGISTERED);
	return reg;
}

void
cscan_registry_rest(CScanRegistration *reg)
{
	Latch	   *latch = NULL;

	reg->nahead = reg->next_ahead = 0;
	cscan_lock();
	if (!cscan_registration_is_over(reg))
	{
		cscan_pool_rest(&cscan_pool, reg->ticket.scan, cscan_now());
		latch = cscan_registration_abm_to_wake();
	}
	cscan_unlock();
	cscan_registration_wake(latch);
}

bool
cscan_registry_again(CScanRegistration *reg, CScanTarget *targets, int ntargets)
{
	Latch	   *latch;
	int			scan = reg->ticket.scan;
	bool		again;

	if (ntargets == 0 || !worth_sharing(targets, ntargets))
		return false;

	reg->nahead = reg->next_ahead = 0;
	cscan_lock();
	again = !cscan_registration_is_over(reg);

	/* A scan stays one of its former spaces, which may not have these columns. */
	if (again && targets[0].groups && cscan_pool.scans[scan].columns != targets[0].groups->columns)
	{
		cscan_unlock();
		return false;
	}
	if (again)
	{
		if (cscan_pool.scans[scan].started)
			cscan_pool_rest(&cscan_pool, scan, cscan_now());
		cscan_scans[scan].announcing = true;
		cscan_pool_set_stalled(&cscan_pool, scan, false);
		cscan_scans[scan].last_change = cscan_now();
		again = announce(scan, targets, ntargets);
	}
	if (!again)
	{
		if (!cscan_registration_is_over(reg))
			cscan_scans[scan].announcing = false;
		cscan_unlock();
		return false;
	}
	reg->groups = targets[0].groups;
	begin_scan(scan, targets, ntargets, cscan_now());
	if (cscan_scans[scan].joinable)
		cscan_pool_set_stalled(&cscan_pool, scan, true);
	latch = cscan_registration_abm_to_wake();
	cscan_unlock();
	cscan_registration_wake(latch);
	return true;
}

void
cscan_registry_take_back(CScanRegistration *reg, Oid relid)
{
	int			scan = reg->ticket.scan;

	cscan_lock();
	if (!cscan_registration_is_over(reg))
	{
		for (int table = cscan_pool_space_of_scan(&cscan_pool, scan, 0); table != CSCAN_NONE;
			 table = cscan_pool_space_of_scan(&cscan_pool, scan, table + 1))
		{
			if (cscan_tables[table].relid == relid)
				cscan_pool_unwant_space(&cscan_pool, scan, table);
		}
		if (cscan_pool.scans[scan].nwanted == 0)
			ConditionVariableBroadcast(&cscan_scans[scan].cv);
	}
	cscan_unlock();
}

CScanTicket
cscan_registry_ticket(const CScanRegistration *reg)
{
	return reg->ticket;
}

CScanRegistration *
cscan_registry_join(const CScanTicket *ticket, const CScanGroupTarget *groups)
{
	CScanRegistration *reg;
	Latch	   *latch;

	CSCAN_FAULT(CSCAN_FAULT_JOIN);
	reg = MemoryContextAllocZero(TopMemoryContext, sizeof(CScanRegistration));
	reg->ticket = *ticket;
	reg->owner = CurrentResourceOwner;
	reg->helper = CSCAN_NONE;
	reg->groups = groups;

	cscan_lock();
	if (cscan_scans[ticket->scan].serial == ticket->scan_serial)
		reg->helper = cscan_pool_join(&cscan_pool, ticket->scan);
	if (reg->helper != CSCAN_NONE)
		dlist_push_head(&cscan_registrations, &reg->node);
	latch = cscan_registration_abm_to_wake();
	cscan_unlock();

	cscan_registration_wake(latch);
	if (reg->helper == CSCAN_NONE)
	{
		pfree(reg);
		return NULL;
	}
	cscan_time_slice_lengthen();
	return reg;
}

bool
cscan_registry_take(const CScanTicket *ticket, CScanPortion *portion)
{
	CScanSharedScan *scan = &cscan_scans[ticket->scan];
	uint32		chunk;
	bool		found;

	cscan_lock();
	found = scan->serial == ticket->scan_serial &&
		cscan_pool_peek(&cscan_pool, ticket->scan, &chunk);
	if (found)
	{
		*portion = cscan_registration_portion(chunk);
		cscan_pool_unwant(&cscan_pool, ticket->scan, chunk);
		cscan_pool_set_position(&cscan_pool, ticket->scan, chunk);
		if (cscan_pool.scans[ticket->scan].stalled)
			cscan_shared->tables_changed = true;
		cscan_pool_set_stalled(&cscan_pool, ticket->scan, false);
		scan->last_change = cscan_now();
		cscan_registration_count(ticket, chunk, CSCAN_SELF_READ);
	}
	cscan_unlock();
	return found;
}

void
cscan_registry_progress(CScanRegistration *reg)
{
	pg_atomic_uint32 *progress = &cscan_scans[reg->ticket.scan].progress;

	/* This checks the owner without the lock: it hardly matters. */
	if (cscan_scans[reg->ticket.scan].serial == reg->ticket.scan_serial)
		pg_atomic_write_u32(progress, pg_atomic_read_u32(progress) + 1);
}

void
cscan_registry_took_frames(uint64 n)
{
	if (cscan_preloaded)
		pg_atomic_fetch_add_u64(&cscan_shared->scans_took, (int64) n);
}

/*
 * Wait, for a bounded time, until the ABM has let go of all that no scan reads
 * any more.  DROP and LOCK NOWAIT must work right after a query.  If the ABM
 * stands still all that time, nobody else waits until it moves.
 */
static void
wait_until_released(uint64 number)
{
	uint64		alive = pg_atomic_read_u64(&cscan_shared->abm_alive);
	uint64		until = cscan_now() + CSCAN_RELEASE_WAIT;

	/* A resource owner may be releasing its resources, which must go on. */
	HOLD_INTERRUPTS();
	ConditionVariablePrepareToSleep(&cscan_shared->released);
	for (;;)
	{
		bool		over = cscan_now() >= until;
		uint64		now_alive = pg_atomic_read_u64(&cscan_shared->abm_alive);
		bool		held;

		cscan_lock();
		held = cscan_shared->releases_done < number && cscan_shared->abm_latch != NULL &&
			cscan_shared->release_missed != now_alive;
		if (held && over && now_alive == alive)
			cscan_shared->release_missed = alive;
		cscan_unlock();
		if (!held || over)
			break;
		ConditionVariableTimedSleep(&cscan_shared->released, 10, wait_for_release);
	}
	ConditionVariableCancelSleep();
	RESUME_INTERRUPTS();
}

void
cscan_registry_leave(CScanRegistration *reg)
{
	uint64		number = 0;
	bool		last;
	Latch	   *latch;

	CSCAN_FAULT(CSCAN_FAULT_LEAVE);
	dlist_delete(&reg->node);
	if (dlist_is_empty(&cscan_registrations))
		cscan_time_slice_reset();

	cscan_lock();
	if (reg->helper != CSCAN_NONE)
	{
		cscan_pool_quit(&cscan_pool, reg->helper);
		latch = cscan_registration_abm_to_wake();
		cscan_unlock();
		pfree(reg);
		cscan_registration_wake(latch);
		return;
	}
	last = !cscan_registration_is_over(reg) && remove_scan(reg->ticket.scan);
	latch = last ? cscan_shared->abm_latch : cscan_registration_abm_to_wake();
	if (last)
	{
		cscan_shared->abm_idle = false;
		cscan_shared->tables_changed = true;
		number = ++cscan_shared->releases_wanted;
	}
	cscan_unlock();

	pfree(reg);
	cscan_registration_wake(latch);
	CSCAN_FAULT(CSCAN_FAULT_LEFT);
	if (last && latch != NULL)
		wait_until_released(number);
}

/* After an error: leave before the locks go. */
static void
release_callback(ResourceReleasePhase phase, bool isCommit, bool isTopLevel, void *arg)
{
	dlist_mutable_iter iter;

	(void) isCommit;
	(void) isTopLevel;
	(void) arg;
	if (phase != RESOURCE_RELEASE_BEFORE_LOCKS)
		return;
	dlist_foreach_modify(iter, &cscan_registrations)
	{
		CScanRegistration *reg = dlist_container(CScanRegistration, node, iter.cur);

		if (reg->owner == CurrentResourceOwner)
			cscan_registry_leave(reg);
	}
}

static void
shmem_startup_events(void)
{
	cscan_wait_for_chunk = cscan_wait_event("CScanChunk");
	wait_for_release = cscan_wait_event("CScanRelease");
}

static shmem_startup_hook_type prev_shmem_startup_hook;

static void
registry_startup(void)
{
	if (prev_shmem_startup_hook)
		prev_shmem_startup_hook();
	shmem_startup_events();
}

void
cscan_registry_init(void)
{
	prev_shmem_startup_hook = shmem_startup_hook;
	shmem_startup_hook = registry_startup;
	RegisterResourceReleaseCallback(release_callback, NULL);
}
