/*-------------------------------------------------------------------------
 *
 * registry.c
 *		A backend's side of a registered scan: it comes, begins again, leaves.
 *
 * A registration belongs to the resource owner that was current when it was
 * made.  It ends when the scan does, or, after an error, when that owner lets
 * go of its resources, which is before its locks go: the relation's lock
 * vouches for the registration, and the registration for what the ABM holds.
 *
 * A scan that is stalled may lose its place to one that has none, so whatever
 * its owner does begins with a look whether it still has it.
 *
 * A process that has joined a scan holds only its place as a helper.  That place
 * outlives the scan: who joined gives it back by itself.
 *
 * How a scan comes by its chunks is in next_chunk.c.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "access/xact.h"
#include "storage/ipc.h"
#include "utils/memutils.h"
#include "utils/resowner.h"

#include "fault.h"
#include "shared/registration.h"

dlist_head	cscan_registrations = DLIST_STATIC_INIT(cscan_registrations);
uint32		cscan_wait_for_chunk;

static uint32 wait_for_release;

static int
find_table(Relation rel)
{
	for (int i = 0; i < cscan_max_scans; i++)
	{
		if (cscan_pool.tables[i].used &&
			cscan_tables[i].lock_state != CSCAN_TABLE_RELEASING &&
			cscan_tables[i].relid == RelationGetRelid(rel) &&
			RelFileLocatorEquals(cscan_tables[i].locator, cscan_relation_locator(rel)))
			return i;
	}
	return CSCAN_NONE;
}

static int
add_table(Relation rel, BlockNumber nblocks)
{
	uint32		chunk_blocks = cscan_pool_chunk_blocks(&cscan_pool,
													   cscan_shared->preferred_chunk_blocks,
													   nblocks);
	int			table = cscan_pool_add_table(&cscan_pool, chunk_blocks);

	if (table != CSCAN_NONE)
	{
		CScanSharedTable *t = &cscan_tables[table];

		memset(t, 0, sizeof(*t));
		t->dbid = MyDatabaseId;
		t->relid = RelationGetRelid(rel);
		t->locator = cscan_relation_locator(rel);
		t->permanent = rel->rd_rel->relpersistence == RELPERSISTENCE_PERMANENT;
		t->serial = cscan_shared->next_serial++;
		t->lock_state = CSCAN_TABLE_WANTED;
	}
	return table;
}

/* One chunk is nothing to share. */
static bool
worth_sharing(const CScanRange *ranges, uint32 nranges, uint32 chunk_blocks)
{
	uint32		wanted = 0;

	for (uint32 i = 0; i < nranges; i++)
		wanted += ranges[i].end - ranges[i].first;
	return wanted > (cscan_debug_small_scans ? 0 : chunk_blocks);
}

/*
 * A scan of a table has got its interest; call with the lock held.  How many
 * chunks of it have been read before only the views tell.
 */
static void
begin_scan(int scan, uint32 read_before, uint64 now)
{
	CScanInterest *interest = &cscan_pool.scans[scan];

	cscan_pool_start(&cscan_pool, scan);
	cscan_scans[scan].chunks_done = 0;
	cscan_scans[scan].chunks_total = interest->needed +
		read_before / cscan_pool.tables[interest->table].chunk_blocks;
	cscan_scans[scan].last_change = now;
	cscan_shared->stats[interest->policy].scans++;
}

/*
 * Take a scan out of the shared state; call with the lock held.  Returns whether
 * the ABM has still to let go of its table, of which it was the last scan.
 */
static bool
remove_scan(int scan)
{
	int			table = cscan_pool.scans[scan].table;

	cscan_scans[scan].pid = 0;
	cscan_scans[scan].serial = cscan_shared->next_serial++;
	if (cscan_pool.scans[scan].nhelpers > 0)
		ConditionVariableBroadcast(&cscan_scans[scan].cv);
	cscan_pool_unregister(&cscan_pool, scan);
	if (cscan_pool.tables[table].nscans > 0)
		return false;
	if (cscan_tables[table].lock_state != CSCAN_TABLE_WANTED)
		return true;

	/* The ABM has never held anything of it, or has let go of it. */
	cscan_pool_remove_table(&cscan_pool, table);
	return false;
}

/*
 * Have room for another scan: if there is none, the scan that has been stalled
 * for longest goes.  Call with the lock held.
 */
static void
make_place(void)
{
	int			victim = CSCAN_NONE;

	for (int i = 0; i < cscan_max_scans; i++)
	{
		const CScanInterest *interest = &cscan_pool.scans[i];

		if (interest->table == CSCAN_NONE)
			return;
		if (interest->stalled && !interest->blocked && !cscan_scans[i].joinable &&
			(victim == CSCAN_NONE ||
			 cscan_scans[i].last_change < cscan_scans[victim].last_change))
			victim = i;
	}
	if (victim != CSCAN_NONE)
		(void) remove_scan(victim);
}

CScanRegistration *
cscan_registry_register(Relation rel, BlockNumber nblocks,
						const CScanRange *ranges, uint32 nranges,
						uint32 read_before, CScanPolicyId policy, bool later)
{
	CScanRegistration *reg;
	uint64		now;
	Latch	   *latch;
	int			table;
	int			scan = CSCAN_NONE;
	bool		warm;

	if (!cscan_preloaded || cscan_pool.state->budget == 0 || nblocks == 0 ||
		!worth_sharing(ranges, nranges,
					   cscan_pool_chunk_blocks(&cscan_pool, cscan_shared->preferred_chunk_blocks,
											   nblocks)))
		return NULL;

	/* Everything that can fail comes before the shared state is touched. */
	CSCAN_FAULT(CSCAN_FAULT_REGISTER);
	reg = MemoryContextAllocZero(TopMemoryContext, sizeof(CScanRegistration));
	warm = cscan_in_buffers(cscan_relation_locator(rel), ranges[0].first) &&
		cscan_in_buffers(cscan_relation_locator(rel), ranges[nranges - 1].end - 1);

	cscan_lock();
	now = cscan_now();
	make_place();
	table = find_table(rel);
	if (table == CSCAN_NONE)
		table = add_table(rel, nblocks);

	/* The table may have grown far beyond what its chunks can cover. */
	if (table != CSCAN_NONE &&
		cscan_pool.tables[table].chunk_blocks <= cscan_pool.state->budget &&
		(nblocks - 1) / cscan_pool.tables[table].chunk_blocks < CSCAN_MAX_CHUNKS)
		scan = cscan_pool_register(&cscan_pool, table, policy, nblocks, ranges, nranges, now);
	if (scan == CSCAN_NONE)
	{
		if (table != CSCAN_NONE && cscan_pool.tables[table].nscans == 0 &&
			cscan_tables[table].lock_state == CSCAN_TABLE_WANTED)
			cscan_pool_remove_table(&cscan_pool, table);
		cscan_unlock();
		pfree(reg);
		return NULL;
	}
	begin_scan(scan, read_before, now);
	cscan_pool_set_stalled(&cscan_pool, scan, later);

	/* A first guess; the first chunk will show. */
	cscan_pool_set_warm(&cscan_pool, scan, warm);

	cscan_scans[scan].pid = MyProcPid;
	cscan_scans[scan].proc = (int) (MyProc - ProcGlobal->allProcs);
	cscan_scans[scan].roleid = GetUserId();
	cscan_scans[scan].serial = cscan_shared->next_serial++;
	cscan_scans[scan].joinable = later;
	cscan_scans[scan].last_progress = 0;
	pg_atomic_write_u32(&cscan_scans[scan].progress, 0);

	reg->owner = CurrentResourceOwner;
	reg->helper = CSCAN_NONE;
	reg->nchunks = cscan_pool.scans[scan].needed;
	reg->ticket.scan = scan;
	reg->ticket.scan_serial = cscan_scans[scan].serial;
	reg->ticket.table = table;
	reg->ticket.table_serial = cscan_tables[table].serial;
	reg->ticket.locator = cscan_tables[table].locator;
	reg->ticket.chunk_blocks = cscan_pool.tables[table].chunk_blocks;
	dlist_push_head(&cscan_registrations, &reg->node);

	/*
	 * The ABM looks for new tables before it decides whether to sleep.  It
	 * has nothing to do for a scan that finds what it needs.
	 */
	latch = NULL;
	if (!warm || cscan_tables[table].lock_state != CSCAN_TABLE_LOCKED)
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
		cscan_pool_again(&cscan_pool, reg->ticket.scan,
						 cscan_pool.scans[reg->ticket.scan].nblocks, NULL, 0, cscan_now());
		latch = cscan_registration_abm_to_wake();
	}
	cscan_unlock();
	cscan_registration_wake(latch);
}

bool
cscan_registry_again(CScanRegistration *reg, BlockNumber nblocks,
					 const CScanRange *ranges, uint32 nranges, uint32 read_before)
{
	uint64		now;
	Latch	   *latch;

	if (nblocks == 0 || !worth_sharing(ranges, nranges, reg->ticket.chunk_blocks) ||
		(nblocks - 1) / reg->ticket.chunk_blocks >= CSCAN_MAX_CHUNKS)
		return false;

	reg->nahead = reg->next_ahead = 0;
	cscan_lock();
	if (cscan_registration_is_over(reg))
	{
		cscan_unlock();
		return false;
	}
	now = cscan_now();
	cscan_pool_again(&cscan_pool, reg->ticket.scan, nblocks, ranges, nranges, now);
	reg->nchunks = cscan_pool.scans[reg->ticket.scan].needed;
	begin_scan(reg->ticket.scan, read_before, now);
	if (cscan_scans[reg->ticket.scan].joinable)
		cscan_pool_set_stalled(&cscan_pool, reg->ticket.scan, true);
	latch = cscan_registration_abm_to_wake();
	cscan_unlock();
	cscan_registration_wake(latch);
	return true;
}

CScanTicket
cscan_registry_ticket(const CScanRegistration *reg)
{
	return reg->ticket;
}

CScanRegistration *
cscan_registry_join(const CScanTicket *ticket)
{
	CScanRegistration *reg;
	Latch	   *latch;

	CSCAN_FAULT(CSCAN_FAULT_JOIN);
	reg = MemoryContextAllocZero(TopMemoryContext, sizeof(CScanRegistration));
	reg->ticket = *ticket;
	reg->owner = CurrentResourceOwner;
	reg->helper = CSCAN_NONE;

	cscan_lock();
	if (cscan_pool.scans[ticket->scan].table == ticket->table &&
		cscan_scans[ticket->scan].serial == ticket->scan_serial)
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
cscan_registry_take(const CScanTicket *ticket, uint32 *chunk)
{
	CScanInterest *interest = &cscan_pool.scans[ticket->scan];
	CScanSharedScan *scan = &cscan_scans[ticket->scan];
	bool		found;

	cscan_lock();
	found = interest->table == ticket->table && scan->serial == ticket->scan_serial &&
		cscan_pool_peek(&cscan_pool, ticket->scan, chunk);
	if (found)
	{
		cscan_pool_unwant(&cscan_pool, ticket->scan, *chunk);
		cscan_pool_set_position(&cscan_pool, ticket->scan, *chunk);
		cscan_pool_set_stalled(&cscan_pool, ticket->scan, false);
		scan->last_change = cscan_now();
		cscan_registration_count(ticket, CSCAN_SELF_READ);
	}
	cscan_unlock();
	return found;
}

uint32
cscan_registry_chunk_blocks(const CScanRegistration *reg)
{
	return reg->ticket.chunk_blocks;
}

uint32
cscan_registry_chunks(const CScanRegistration *reg)
{
	return reg->nchunks;
}

void
cscan_registry_progress(CScanRegistration *reg)
{
	pg_atomic_uint32 *progress = &cscan_scans[reg->ticket.scan].progress;

	/* Whose place it is now is looked at without the lock: it hardly matters. */
	if (cscan_scans[reg->ticket.scan].serial == reg->ticket.scan_serial)
		pg_atomic_write_u32(progress, pg_atomic_read_u32(progress) + 1);
}

/*
 * Wait, for a bounded time, until the ABM has let go of the table: DROP and
 * LOCK NOWAIT must work right after a query.
 */
static void
wait_until_released(int table, uint64 serial)
{
	uint64		until = cscan_now() + CSCAN_RELEASE_WAIT;

	/* This may run while an owner is being released, which must go on. */
	HOLD_INTERRUPTS();
	ConditionVariablePrepareToSleep(&cscan_shared->released);
	for (;;)
	{
		bool		held;

		cscan_lock();
		held = cscan_pool.tables[table].used &&
			cscan_tables[table].serial == serial &&
			cscan_pool.tables[table].nscans == 0 &&
			cscan_shared->abm_latch != NULL;
		cscan_unlock();
		if (!held || cscan_now() >= until)
			break;
		ConditionVariableTimedSleep(&cscan_shared->released, 10, wait_for_release);
	}
	ConditionVariableCancelSleep();
	RESUME_INTERRUPTS();
}

void
cscan_registry_leave(CScanRegistration *reg)
{
	int			table = reg->ticket.table;
	uint64		serial = reg->ticket.table_serial;
	bool		last;
	Latch	   *latch;

	CSCAN_FAULT(CSCAN_FAULT_LEAVE);
	dlist_delete(&reg->node);
	if (dlist_is_empty(&cscan_registrations))
		cscan_time_slice_reset();

	cscan_lock();
	if (reg->helper != CSCAN_NONE)
	{
		cscan_pool_part(&cscan_pool, reg->helper);
		latch = cscan_registration_abm_to_wake();
		cscan_unlock();
		pfree(reg);
		cscan_registration_wake(latch);
		return;
	}
	last = !cscan_registration_is_over(reg) && remove_scan(reg->ticket.scan);
	latch = last ? cscan_shared->abm_latch : cscan_registration_abm_to_wake();
	if (last)
		cscan_shared->abm_idle = false;
	cscan_unlock();

	pfree(reg);
	cscan_registration_wake(latch);
	CSCAN_FAULT(CSCAN_FAULT_LEFT);
	if (last && latch != NULL)
		wait_until_released(table, serial);
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
