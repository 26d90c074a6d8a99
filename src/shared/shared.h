/*-------------------------------------------------------------------------
 *
 * shared.h
 *		The state that scans and the ABM share, and its one lock.
 *
 * One fixed piece of shared memory, sized at server start for cscan.max_scans
 * scans and for the largest cscan.buffer_share:
 *
 *		CScanShared				the ABM's life signs
 *		CScanSharedScan[]		a scan: whose it is, how it is woken
 *		CScanSharedTable[]		a table, or an index of columns: what it is, how
 *								far its lock is; its number is that of its space
 *								in the pool
 *		a hash table			from a table to that number (tables.c)
 *		CScanTraceRing			records on their way into a trace
 *		CScanSharing[]			what the scans of a table share (sharing.c)
 *		and the pool			(policy/pool.h)
 *
 * The scheduler's lock (an LWLock) protects everything but the fields that say
 * otherwise.  It is held for one decision at a time, never across I/O, waits
 * or errors, and no other lock is taken while it is held.
 *
 * A table's life, as the ABM sees it:
 *
 *		WANTED ---> LOCKING ---> LOCKED ---> RELEASING ---> (gone)
 *		   ^        |  ^  |         |            ^
 *		   |        |  |  v         |            |
 *		   +--------+  REFUSED <----+		no scan is left
 *		all scans		the heavyweight lock is not to be
 *		are stalled		had, or another process waits for it
 *
 * Only the ABM moves a table from one state to the next.  The last scan to
 * leave removes an entry that is WANTED: the ABM holds nothing of it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CSCAN_SHARED_H
#define CSCAN_SHARED_H

#include "compat.h"

#include <time.h>

#include "port/atomics.h"
#include "postmaster/bgworker.h"
#include "storage/condition_variable.h"
#include "storage/latch.h"
#include "storage/lwlock.h"
#include "utils/timestamp.h"

#include "cscan.h"
#include "policy/balance.h"
#include "shared/trace_ring.h"

/*
 * The ABM is taken for stuck after so long (us) without a sign of life, or
 * without progress of a load where one is wanted.  On slow storage it is the
 * time of so many steps of a load.
 */
#define CSCAN_ABM_STUCK_AFTER		1000000
#define CSCAN_ABM_STUCK_STEPS		8

/* Blocks of a load's step: 128 kB, between which the ABM looks for other work. */
#define CSCAN_STEP_BLOCKS			(128 * 1024 / BLCKSZ)

/* A scan that takes no page for so long is stalled (us). */
#define CSCAN_STALLED_AFTER			250000

/*
 * An ABM that has gone is expected back for so long (us), if it has served as
 * long.  The postmaster starts another one after a second.
 */
#define CSCAN_ABM_RETURNS			5000000

/* A table's last scan waits at most so long (us) for the ABM to let go. */
#define CSCAN_RELEASE_WAIT			500000

typedef enum CScanLockState
{
	CSCAN_TABLE_WANTED,			/* the ABM has not looked at it yet */
	CSCAN_TABLE_LOCKING,		/* the ABM is taking its lock, or suspending
								 * it */
	CSCAN_TABLE_LOCKED,			/* the ABM holds its lock */
	CSCAN_TABLE_REFUSED,		/* the lock was refused: scans read for
								 * themselves */
	CSCAN_TABLE_RELEASING		/* the ABM is letting go */
} CScanLockState;

typedef struct CScanSharedScan
{
	/* Set at registration, under the lock. */
	int			pid;
	int			proc;			/* its process's place in the process array */
	Oid			roleid;
	Oid			dbid;
	Oid			relid;			/* the table that the query names; of
								 * partitions, the parent */
	uint64		serial;			/* tells one use of this entry from the next */
	uint32		chunks_total;	/* wanted at first */
	uint32		chunk_cost;		/* blocks in the largest of its chunks */
	uint32		tables;			/* number that it reads */
	bool		columns;		/* it reads those of indexes, not tables */
	bool		joinable;		/* other processes may read for it */
	bool		announcing;		/* has not told yet all that it wants, but
								 * keeps its place; under the lock */

	/* Changed under the lock. */
	uint32		chunks_done;	/* handed out or taken */
	uint32		chunks_got;		/* of these, those not found in memory */
	uint32		chunks_read;	/* of these, those that were read for it */
	uint32		last_progress;	/* "progress" when the ABM last saw it change */
	uint64		last_change;	/* when that was (us) */
	uint64		loads;			/* loads that ended in its tables */
	uint32		copies;			/* chunks that its processes may copy
								 * themselves, since the ABM's last load for
								 * it was from the page cache */
	uint32		copied_loads;	/* loads for it in a row that were */

	/*
	 * Written only by the scan's processes, without a lock: pages taken so
	 * far, more or less.
	 */
	pg_atomic_uint32 progress;

	ConditionVariable cv;		/* signalled when a chunk is there for it */
} CScanSharedScan;

/* Chunks that a scan's processes may copy after such a load. */
#define CSCAN_COPIES	32

/*
 * Such loads in a row after which a scan without helpers may copy.  Of a table that
 * is partly in the page cache it would read the rest for itself, and share nothing.
 */
#define CSCAN_COPIED_LOADS	3

typedef struct CScanSharedTable
{
	/* Set when the entry is taken, under the lock. */
	Oid			dbid;
	Oid			relid;
	RelFileLocator locator;
	bool		permanent;

	/* Changed under the lock. */
	CScanLockState lock_state;
	uint64		refused_at;		/* us */
	uint64		chunks_delivered;
	uint64		chunks_loaded;
	uint64		blocks_read;
} CScanSharedTable;

/* Counters of one policy since the last reset. */
typedef struct CScanStats
{
	uint64		scans;
	uint64		chunks_delivered;
	uint64		chunks_loaded;
	uint64		blocks_read;
	uint64		evictions;
	uint64		self_reads;
	uint64		waits;
	uint64		wait_time;		/* us */
	uint64		wakeups;
} CScanStats;

/* The scheduler's lock since the last reset. */
typedef struct CScanLockStats
{
	uint64		locks;			/* times that it was taken */
	uint64		lock_waits;		/* of these, times that it was not free */
	double		lock_time;		/* time that it was held, in all (ms) */
	double		max_lock_time;	/* the longest time (ms) */
} CScanLockStats;

/*
 * The largest free extents of an index as somebody has let go of its table's
 * lock, and what tells whether they are still free; see store/extents.c.
 */
#define CSCAN_MAX_SPARES	4

typedef struct CScanSpares
{
	Oid			file;			/* the index's relfilenode; InvalidOid: nothing
								 * is known */
	uint32		n;
	uint64		generation;		/* the one that the next group gets */
	BlockNumber first[CSCAN_MAX_SPARES];
	BlockNumber end[CSCAN_MAX_SPARES];
} CScanSpares;

/*
 * What is known of an index of columns from the last visits of its database;
 * see upkeep/upkeep.h.
 */
typedef struct CScanUpkept
{
	Oid			dbid;			/* InvalidOid: the entry is free */
	Oid			indexid;
	bool		done;			/* the last pass has come to the last group */
	bool		failed;			/* with an error in this pass */
	uint32		group;			/* if not done: the group to go on with */
	uint32		failures;		/* passes with errors, one after the other */
	uint64		state;			/* of the table as the pass began */
	uint64		began;			/* when that was (us) */
	uint64		not_before;		/* no pass before (us) */
	CScanSpares spares;
} CScanUpkept;

#define CSCAN_MAX_UPKEPT	2048

/*
 * A table with an index of columns that needed VACUUM: what is known of the last
 * one, and of the last look; see upkeep/vacuuming.c.  Of the worker "cscan
 * columns".
 */
typedef struct CScanVacuumed
{
	Oid			dbid;			/* InvalidOid: the entry is free */
	Oid			relid;
	uint64		looked;			/* when it was last thought about (us) */
	uint64		written;		/* rows that had been written then */
	uint64		not_before;		/* no VACUUM before (us) */
	uint64		pause;			/* behind the last one (us) */

	/* As the last one began */
	uint64		written_before;
	BlockNumber missing;		/* blocks that were not all-visible */
	TransactionId horizon;
	bool		calm;			/* few rows were being written */
} CScanVacuumed;

#define CSCAN_MAX_VACUUMED	256

/* What came of a VACUUM. */
typedef enum CScanVacuumResult
{
	CSCAN_VACUUM_AWAY,			/* not done: not started, canceled, or the
								 * table was locked */
	CSCAN_VACUUM_FAILED,
	CSCAN_VACUUM_DONE
} CScanVacuumResult;

/*
 * The last VACUUM.  Written by the worker "cscan columns" while none is under
 * way, and by the worker that vacuums, which has its number in "pid".
 */
typedef struct CScanVacuuming
{
	int			pid;			/* 0: it has not begun, or is over */
	int			table;			/* CScanVacuumed, whose result is still to be
								 * noted; -1: none */
	uint64		started;		/* us */
	uint64		ended;			/* us; 0: not yet, or it was killed */
	CScanVacuumResult result;
	BlockNumber left;			/* if done: blocks that are still not
								 * all-visible; 0: too few to matter */
} CScanVacuuming;

/*
 * Written by the worker "cscan columns", read by its launcher when it has ended.
 * "last" and "unfinished" are the launcher's before it begins.
 */
typedef struct CScanUpkeep
{
	Oid			dbid;			/* InvalidOid: it has not begun */
	bool		has_indexes;	/* of columns */
	bool		unfinished;		/* an index of this round has groups left to
								 * look at */
	bool		ended;			/* as it should: not by an error */
	Oid			last;			/* the round goes on behind this index;
								 * InvalidOid: none is under way */
	uint64		worked;			/* since the last whole rest (us) */
	uint64		rest_began;		/* when it last stopped (us): no other worker
								 * before the end of the rest for that */
	bool		vacuum_complained;	/* the log says that no process is free for
									 * VACUUM */
	CScanVacuuming vacuuming;
	CScanVacuumed vacuumed[CSCAN_MAX_VACUUMED];
	CScanUpkept upkept[CSCAN_MAX_UPKEPT];
} CScanUpkeep;

/* Databases in which indexes of columns were made; by the transaction's end, without a lock. */
#define CSCAN_MAX_BUILT		16

typedef struct CScanBuilt
{
	pg_atomic_uint64 n;			/* so far */
	pg_atomic_uint32 dbid[CSCAN_MAX_BUILT]; /* the last of them; number k is
											 * at k % CSCAN_MAX_BUILT */
} CScanBuilt;

typedef struct CScanShared
{
	LWLock	   *lock;			/* the scheduler's lock */
	pg_atomic_uint32 lock_queue;	/* queue length; changed without it */
	uint32		preferred_chunk_blocks; /* cscan.chunk_size; never changes */

	/* Written by the ABM under the lock. */
	Latch	   *abm_latch;		/* NULL while it is down */
	uint64		abm_expected;	/* while it is down: until when it is expected
								 * back (us); 0: nobody has asked; also set by
								 * scans, without the lock */
	int			abm_pid;
	bool		abm_idle;		/* the ABM wants to be told of changes; also
								 * read without the lock; the process that
								 * tells it clears this */
	uint64		abm_stuck;		/* abm_alive when a scan waited in vain; set
								 * by scans */
	uint64		release_missed; /* abm_alive when a process waited in vain for
								 * it to let go; set by scans */

	/* Written by the ABM without the lock. */
	pg_atomic_uint64 abm_alive; /* when it last went round, or a load went on
								 * (us) */
	pg_atomic_uint64 abm_progress;	/* when a load last went on (us) */

	/* Frames that scans have taken, without a ring or for one; no lock. */
	pg_atomic_uint64 scans_took;

	uint64		self_read;		/* when a scan last read for itself after a
								 * while without loads (us) */
	uint64		next_serial;

	/* Tablespaces of scanned tables: the pool's devices; under the lock. */
	Oid			devices[CSCAN_MAX_DEVICES];
	uint32		ndevices;

	/*
	 * The ABM should look after its tables: one has come, has lost its last
	 * scan, or a scan of it goes on.  Written by all, under the lock.
	 */
	bool		tables_changed;

	/*
	 * A process that waits until the ABM has let go asks for a release with
	 * the next number.  The ABM grants releases up to a number.
	 */
	uint64		releases_wanted;
	uint64		releases_done;
	ConditionVariable released; /* signalled when releases_done has changed */

	/*
	 * The share of shared buffers in force, and what the ABM saw last, per
	 * second: frames that others took, and blocks that a larger share would
	 * have kept for scans.  Written by the ABM under the lock.
	 */
	double		share;
	bool		share_is_auto;
	CScanBalance balance;		/* if so */
	double		others_taken;
	double		scans_lost;

	CScanUpkeep upkeep;
	CScanBuilt	built;

	/* Row groups that somebody has begun to build, of all indexes; see store/handler.c */
	pg_atomic_uint64 builds;

	CScanStats	stats[CSCAN_NPOLICIES];
	CScanLockStats lock_stats;
	TimestampTz stats_reset;
} CScanShared;

/* This process's view; NULL pointers unless preloaded. */
extern CScanShared *cscan_shared;

/* Describe a background worker of cscan's with access to databases. */
extern void cscan_shared_describe_worker(BackgroundWorker *worker, const char *name, const char *function,
										 BgWorkerStartTime start, int restart);

extern CScanSharedScan *cscan_scans;
extern CScanSharedTable *cscan_tables;
extern CScanPool cscan_pool;

/*
 * Monotonic time in microseconds, the same in all processes.  An instr_time
 * may not be: from 19 on each session chooses its clock (timing_clock_source).
 */
static inline uint64
cscan_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64) t.tv_sec * 1000000 + (uint64) t.tv_nsec / 1000;
}

/* The ABM shows that it is alive, or that a load has gone on by a step. */
static inline void
cscan_shared_abm_lives(uint64 now)
{
	pg_atomic_write_u64(&cscan_shared->abm_alive, now);
}

static inline void
cscan_shared_abm_reads(uint64 now)
{
	pg_atomic_write_u64(&cscan_shared->abm_progress, now);
	pg_atomic_write_u64(&cscan_shared->abm_alive, now);
}

/*
 * Is there an ABM, or is one expected?  An unlocked look: it may go at any time.
 * The first one has so long from when a scan first asks, or from when it came if
 * that was before, since the server may have had to recover.
 */
static inline bool
cscan_shared_abm_expected(void)
{
	uint64		now;

	if (cscan_shared->abm_latch != NULL)
		return true;
	now = cscan_now();
	if (cscan_shared->abm_expected == 0)
		cscan_shared->abm_expected = now + CSCAN_ABM_RETURNS;
	return now < cscan_shared->abm_expected;
}

/* The scheduler's lock, see lock.c. */
extern void cscan_lock(void);
extern void cscan_unlock(void);

/* Set in the ABM, which never lets others go first. */
extern bool cscan_lock_at_once;

/*
 * The tables that are scanned (tables.c); call all of them with the lock held.
 * "Have" returns the table's entry, found or new, with room for so many
 * blocks, or CSCAN_NONE if that is not possible.  "Have groups" is the same for
 * an index of columns; a new entry gets a copy of the layout.  "Drop" forgets
 * an entry that nothing is held of and no scan reads.  "Hide" makes an entry
 * impossible to find.  "Chunk blocks" says what a chunk of a new table would
 * have.  "Blocks of all" are those of all tables that the query reads with it.
 */
extern int	cscan_tables_have(Relation rel, BlockNumber nblocks, uint64 blocks_of_all);
extern int	cscan_tables_have_groups(Relation index, uint32 ngroups, const CScanLayout *layout);
extern uint32 cscan_tables_chunk_blocks(BlockNumber nblocks, uint64 blocks_of_all);
extern void cscan_tables_hide(int table);
extern void cscan_tables_drop(int table);

/* Get the buffer that a block is in just now, or InvalidBuffer.  This pins nothing. */
extern Buffer cscan_find_buffer(RelFileLocator locator, BlockNumber block);

static inline bool
cscan_in_buffers(RelFileLocator locator, BlockNumber block)
{
	return BufferIsValid(cscan_find_buffer(locator, block));
}

/*
 * Set the pool's budget and room, for cscan.buffer_share as it is now, or for
 * the balance's share if that is auto; call with the lock held.
 */
extern void cscan_shared_set_budget(void);

/* The room (blocks) that the pool has with the largest share. */
extern uint32 cscan_shared_most_room(void);

/*
 * May a process of this scan copy the scan's next chunk from the page cache?
 * Sets *chunk to it.  Call with the lock held.  "soon": once those in flight have come.
 */
extern bool cscan_shared_may_copy_soon(int scan, uint32 *chunk);
extern bool cscan_shared_may_copy(int scan, uint32 *chunk);

/*
 * May a scan take this absent chunk, if it is at "position", a chunk?  Call with the
 * lock held.
 */
extern bool cscan_shared_may_come(int scan, uint32 chunk, uint32 position);

#endif							/* CSCAN_SHARED_H */
