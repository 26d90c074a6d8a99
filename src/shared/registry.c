/*-------------------------------------------------------------------------
 *
 * registry.c
 *		A backend's side of a registered scan.
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
 * The scan trusts the shared state for speed only.  If the ABM is down, stuck
 * or without its lock, the scan takes its next chunk out of the wanted set and
 * reads it itself.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "access/xact.h"
#include "lib/ilist.h"
#include "storage/ipc.h"
#include "utils/memutils.h"
#include "utils/resowner.h"

#include "fault.h"
#include "shared/registry.h"

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

struct CScanRegistration
{
	dlist_node	node;
	ResourceOwner owner;
	int			helper;			/* index in the pool, or CSCAN_NONE: it owns
								 * the scan */
	uint32		nchunks;		/* chunks that the scan wanted at first */
	CScanTicket ticket;

	/* Chunks that have been taken ahead, see take_resident() */
	uint32		ahead[CSCAN_MAX_AHEAD];
	uint32		nahead;
	uint32		next_ahead;		/* of these, the first not handed out */

	/* Loads of its table when its patience had an end, and 1; 0: it has not */
	uint64		gave_up;
};

static dlist_head registrations = DLIST_STATIC_INIT(registrations);

/* So many chunks to take at once next time, whatever scan it is for, and */
static uint32 reach = 1;

/* the lock's counts when that was fixed */
static uint64 locks_then;
static uint64 waits_then;

static uint32 wait_for_chunk;
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

/* Wake the ABM, if it sleeps; the caller has released the scheduler's lock. */
static void
wake_abm(Latch *latch)
{
	if (latch != NULL)
		SetLatch(latch);
}

/*
 * The latch to set after the lock has been released; call with it held.  One
 * who tells is enough.
 */
static Latch *
abm_to_wake(void)
{
	Latch	   *latch = cscan_shared->abm_idle ? cscan_shared->abm_latch : NULL;

	cscan_shared->abm_idle = false;
	return latch;
}

/* One chunk is nothing to share. */
static bool
worth_sharing(const CScanRange *ranges, uint32 nranges, uint32 chunk_blocks)
{
	uint32		wanted = 0;

	for (uint32 i = 0; i < nranges; i++)
		wanted += ranges[i].end - ranges[i].first;
	return wanted > chunk_blocks;
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
 * Has the scan of an owner lost its place, or that of a helper gone?  Call with
 * the lock held.
 */
static bool
is_over(const CScanRegistration *reg)
{
	if (reg->helper == CSCAN_NONE)
		return cscan_scans[reg->ticket.scan].serial != reg->ticket.scan_serial;
	return cscan_pool.helpers[reg->helper].scan == CSCAN_NONE;
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
	dlist_push_head(&registrations, &reg->node);

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

	wake_abm(latch);
	CSCAN_FAULT(CSCAN_FAULT_REGISTERED);
	return reg;
}

void
cscan_registry_rest(CScanRegistration *reg)
{
	Latch	   *latch = NULL;

	reg->nahead = reg->next_ahead = 0;
	cscan_lock();
	if (!is_over(reg))
	{
		cscan_pool_again(&cscan_pool, reg->ticket.scan,
						 cscan_pool.scans[reg->ticket.scan].nblocks, NULL, 0, cscan_now());
		latch = abm_to_wake();
	}
	cscan_unlock();
	wake_abm(latch);
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
	if (is_over(reg))
	{
		cscan_unlock();
		return false;
	}
	now = cscan_now();
	cscan_pool_again(&cscan_pool, reg->ticket.scan, nblocks, ranges, nranges, now);
	reg->nchunks = cscan_pool.scans[reg->ticket.scan].needed;
	begin_scan(reg->ticket.scan, read_before, now);
	latch = abm_to_wake();
	cscan_unlock();
	wake_abm(latch);
	return true;
}

/*
 * A chunk has been handed out, or taken ahead; call with the lock held.  So what
 * the views tell may be ahead of the scan, and for one that ends early it
 * includes chunks that were not read.
 */
static void
count_delivery(const CScanTicket *ticket, CScanDelivery how)
{
	CScanInterest *interest = &cscan_pool.scans[ticket->scan];
	CScanStats *stats = &cscan_shared->stats[interest->policy];

	cscan_scans[ticket->scan].chunks_done++;
	cscan_tables[ticket->table].chunks_delivered++;
	stats->chunks_delivered++;
	stats->self_reads += (how == CSCAN_SELF_READ);

	/* It may have been the last one, and others may be waiting. */
	if (interest->needed == 0)
		ConditionVariableBroadcast(&cscan_scans[ticket->scan].cv);
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
		dlist_push_head(&registrations, &reg->node);
	latch = abm_to_wake();
	cscan_unlock();

	wake_abm(latch);
	if (reg->helper == CSCAN_NONE)
	{
		pfree(reg);
		return NULL;
	}
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
		count_delivery(ticket, CSCAN_SELF_READ);
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

/* Does another process of the same scan wait?  Call with the lock held. */
static bool
others_wait(const CScanRegistration *reg)
{
	const CScanInterest *interest = &cscan_pool.scans[reg->ticket.scan];

	if (reg->helper != CSCAN_NONE && interest->waiting)
		return true;
	for (int i = 0; i < cscan_pool.state->max_helpers && interest->nhelpers > 0; i++)
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
	uint32		blocks[CSCAN_MAX_AHEAD][RESIDENT_SAMPLE];
	uint32		nblocks[CSCAN_MAX_AHEAD];
	uint32		n = look_ahead(reg, candidates);
	uint32		nwarm = 0;
	uint32		taken = 0;
	uint32		next;

	if (n == 0)
		return false;
	for (uint32 i = 0; i < n; i++)
		nblocks[i] = cscan_pool_sample(&cscan_pool, scan, candidates[i], blocks[i], RESIDENT_SAMPLE);
	cscan_unlock();
	for (bool warm = true; warm && nwarm < n; nwarm += warm)
	{
		for (uint32 i = 0; i < nblocks[nwarm] && warm; i++)
			warm = cscan_in_buffers(reg->ticket.locator, blocks[nwarm][i]);
	}
	cscan_lock();
	*now = cscan_now();

	/* Meanwhile a load may have begun, or a helper may have taken it. */
	if (is_over(reg))
		return false;
	while (taken < nwarm && cscan_pool_peek(&cscan_pool, scan, &next) &&
		   next == candidates[taken] && cscan_pool_absent_for(&cscan_pool, scan, next) &&
		   cscan_pool_take(&cscan_pool, scan, reg->helper, *now, &next))
		reg->ahead[taken++] = next;
	cscan_pool_set_warm(&cscan_pool, scan, taken > 0 && !others_wait(reg));
	change_reach();
	if (taken == 0)
		return false;

	/* The first is handed out, and counted, by the caller. */
	*chunk = reg->ahead[0];
	reg->nahead = taken;
	reg->next_ahead = 1;
	for (uint32 i = 1; i < taken; i++)
		count_delivery(&reg->ticket, CSCAN_RESIDENT);
	return true;
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

	dlist_foreach(iter, &registrations)
	{
		const CScanRegistration *other = dlist_container(CScanRegistration, node, iter.cur);

		/* Helpers, here or elsewhere, may go on. */
		if (other->helper == CSCAN_NONE && !is_over(other) && other->ticket.scan != reg->ticket.scan &&
			cscan_pool.scans[other->ticket.scan].nhelpers == 0)
			cscan_pool_set_stalled(&cscan_pool, other->ticket.scan, true);
	}
}

/*
 * Is there no use in waiting, for a process that does since then?  Call with the
 * lock held.
 *
 * A long wait alone is no reason.  But who waits wants a load, and if for a
 * while none at all is completed then something is wrong, or all that the ABM
 * has is being read, by many who share few CPUs.  So scans read for themselves
 * then, but no more of them than the ABM would have served: one for each time
 * that a load takes.
 *
 * Under a policy without a last resort (elevator) the cursor may be waiting for
 * the slowest scan, and others have to wait with it.  When its patience has an
 * end a scan has none left until its table's cursor has moved.
 *
 * Neither delay is for a parallel query's process: whom it waits for may be a scan of
 * the same query, which waits for this process to take its rows.
 */
static bool
must_read_itself(CScanRegistration *reg, uint64 now, uint64 since)
{
	const CScanInterest *interest = &cscan_pool.scans[reg->ticket.scan];
	const CScanSharedTable *table = &cscan_tables[reg->ticket.table];
	bool		no_load = now > Max(cscan_shared->abm_loaded, since) + CSCAN_ABM_STUCK_AFTER;
	bool		too_long = now > since + PATIENCE;

	/* Who finds it stuck tells the others: until it moves nobody waits again. */
	if (now > Max(cscan_shared->abm_alive, since) + CSCAN_ABM_STUCK_AFTER)
		cscan_shared->abm_stuck = cscan_shared->abm_alive;

	if (cscan_shared->abm_latch == NULL ||
		cscan_pool.state->budget < reg->ticket.chunk_blocks ||
		table->lock_state == CSCAN_TABLE_REFUSED ||
		cscan_shared->abm_stuck == cscan_shared->abm_alive)
		return true;
	if (IsInParallelMode())
		return no_load || too_long;
	if (!cscan_policies[interest->policy]->overrides)
	{
		if (too_long)
			reg->gave_up = table->chunks_loaded + 1;
		return reg->gave_up == table->chunks_loaded + 1;
	}
	if (too_long)
		return true;
	if (!no_load || now < cscan_shared->self_read + (uint64) cscan_pool.state->load_time)
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
	for (int i = 0; i < cscan_pool.state->max_helpers; i++)
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
	if (!is_over(reg))
	{
		cscan_pool_set_stalled(&cscan_pool, reg->ticket.scan, false);
		cscan_scans[reg->ticket.scan].last_change = cscan_now();
	}
	cscan_unlock();
}

CScanDelivery
cscan_registry_next(CScanRegistration *reg, uint32 *chunk, uint64 *waited)
{
	CScanSharedScan *scan = &cscan_scans[reg->ticket.scan];
	CScanInterest *interest = &cscan_pool.scans[reg->ticket.scan];
	CScanStats *stats = &cscan_shared->stats[interest->policy];
	CScanDelivery result;
	uint64		began = 0;
	uint32		seen = 0;
	uint64		seen_at = 0;
	long		round = WAIT_ROUND;

	if (reg->next_ahead < reg->nahead)
	{
		/* An unlocked look: what is missed now is seen next time. */
		if (interest->stalled)
			go_on(reg);
		*chunk = reg->ahead[reg->next_ahead++];
		CSCAN_FAULT(CSCAN_FAULT_CHUNK);
		return CSCAN_RESIDENT;
	}

	for (;;)
	{
		uint64		now;
		Latch	   *latch;
		bool		done;
		bool		apart = false;
		int			had;
		int			slot;

		cscan_lock();
		if (is_over(reg))
		{
			cscan_unlock();
			ConditionVariableCancelSleep();
			return reg->helper == CSCAN_NONE ? CSCAN_LOST : CSCAN_FINISHED;
		}

		/* Not before: to wait for the lock may have taken long. */
		now = cscan_now();
		had = reg->helper == CSCAN_NONE ? interest->in_use : cscan_pool.helpers[reg->helper].in_use;
		slot = cscan_pool_choose(&cscan_pool, reg->ticket.scan, reg->helper, now);
		if (slot != CSCAN_NONE)
		{
			CScanSlot  *s = &cscan_pool.slots[slot];

			*chunk = s->chunk;
			if (s->failed)
				result = CSCAN_SELF_READ;
			else if (interest->loaded_for)
				result = CSCAN_LOADED;
			else
				result = CSCAN_RESIDENT;
			done = true;
		}
		else if (interest->needed == 0)
		{
			result = CSCAN_FINISHED;
			done = true;
		}
		else
		{
			/* Nothing is loaded for a warm scan: it has to look again. */
			result = CSCAN_RESIDENT;
			done = (began == 0 || interest->warm) && take_resident(reg, &now, chunk);

			/*
			 * Of that the ABM need not be told, nothing of its own has
			 * changed.
			 */
			apart = done && had == CSCAN_NONE;
			if (!done)
			{
				result = CSCAN_SELF_READ;
				done = !is_over(reg) &&
					(must_read_itself(reg, now, began ? began : now) ||
					 helpers_wait(reg, now, &seen, &seen_at)) &&
					cscan_pool_take(&cscan_pool, reg->ticket.scan, reg->helper, now, chunk);
			}
		}

		if (done)
		{
			scan->last_change = now;
			if (began != 0)
			{
				*waited += now - began;
				stats->wait_time += now - began;
			}
			if (result != CSCAN_FINISHED)
				count_delivery(&reg->ticket, result);
		}
		else if (began == 0)
		{
			began = now;
			stats->waits++;
			stall_others(reg);
		}
		if (seen_at != 0)
			round = HELPERS_STUCK_AFTER / 1000;
		latch = apart ? NULL : abm_to_wake();
		cscan_unlock();

		wake_abm(latch);
		if (done)
			break;

		CSCAN_FAULT(CSCAN_FAULT_ASLEEP);

		/* The first round only prepares; what came before it is seen then. */
		ConditionVariableTimedSleep(&scan->cv, round, wait_for_chunk);
	}
	ConditionVariableCancelSleep();
	CSCAN_FAULT(CSCAN_FAULT_CHUNK);
	return result;
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

	cscan_lock();
	if (reg->helper != CSCAN_NONE)
	{
		cscan_pool_part(&cscan_pool, reg->helper);
		latch = abm_to_wake();
		cscan_unlock();
		pfree(reg);
		wake_abm(latch);
		return;
	}
	last = !is_over(reg) && remove_scan(reg->ticket.scan);
	latch = last ? cscan_shared->abm_latch : abm_to_wake();
	if (last)
		cscan_shared->abm_idle = false;
	cscan_unlock();

	pfree(reg);
	wake_abm(latch);
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
	dlist_foreach_modify(iter, &registrations)
	{
		CScanRegistration *reg = dlist_container(CScanRegistration, node, iter.cur);

		if (reg->owner == CurrentResourceOwner)
			cscan_registry_leave(reg);
	}
}

static void
shmem_startup_events(void)
{
	wait_for_chunk = cscan_wait_event("CScanChunk");
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
