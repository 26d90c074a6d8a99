/*-------------------------------------------------------------------------
 *
 * shared.h
 *		The state that scans and the ABM share, and its one lock.
 *
 * One fixed piece of shared memory, sized at server start for cscan.max_scans
 * scans and for the largest cscan.buffer_share:
 *
 *		CScanShared				the ABM's life signs
 *		CScanSharedScan[]		a scan: who it is, how it is woken
 *		CScanSharedTable[]		a table: what it is, how far its lock is; its
 *								number is that of its space in the pool
 *		a hash table			from a table to that number (tables.c)
 *		CScanTraceRing			records on their way into a trace
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
 *		are stalled		had, or somebody waits for it
 *
 * Only the ABM moves a table from one state to the next.  The last scan to
 * leave removes an entry that is WANTED: of that one nothing is held.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CSCAN_SHARED_H
#define CSCAN_SHARED_H

#include "compat.h"

#include "port/atomics.h"
#include "storage/condition_variable.h"
#include "storage/latch.h"
#include "storage/lwlock.h"
#include "utils/timestamp.h"

#include "cscan.h"
#include "shared/trace_ring.h"

/*
 * After so long without a sign of life, or without a load where one is wanted,
 * the ABM is taken for stuck (us).
 */
#define CSCAN_ABM_STUCK_AFTER		1000000

/* A scan that takes no page for so long is stalled (us). */
#define CSCAN_STALLED_AFTER			250000

/* The last scan of a table waits at most so long for the ABM to let go (us). */
#define CSCAN_RELEASE_WAIT			500000

typedef enum CScanLockState
{
	CSCAN_TABLE_WANTED,			/* the ABM has still to look at it */
	CSCAN_TABLE_LOCKING,		/* it is taking its lock, or suspending it */
	CSCAN_TABLE_LOCKED,			/* it holds its lock */
	CSCAN_TABLE_REFUSED,		/* it does not: scans read for themselves */
	CSCAN_TABLE_RELEASING		/* it is letting go */
} CScanLockState;

typedef struct CScanSharedScan
{
	/* Set at registration, under the lock. */
	int			pid;
	int			proc;			/* place of its process in the process array */
	Oid			roleid;
	Oid			dbid;
	Oid			relid;			/* what the query calls it: of partitions, the
								 * parent */
	uint64		serial;			/* tells one use of this entry from the next */
	uint32		chunks_total;	/* wanted at first */
	uint32		chunk_cost;		/* blocks in the largest of its chunks */
	uint32		tables;			/* that it reads of, in all */
	bool		joinable;		/* other processes may read for it */
	bool		announcing;		/* it has not told yet all that it wants, and keeps
								 * its place meanwhile; under the lock */

	/* Changed under the lock. */
	uint32		chunks_done;	/* handed out or taken */
	uint32		last_progress;	/* progress when the ABM last saw it change */
	uint64		last_change;	/* and when that was (us) */
	uint64		loads;			/* that ended in its tables */

	/*
	 * Written by the scan's processes alone, without a lock: pages taken so
	 * far, more or less.
	 */
	pg_atomic_uint32 progress;

	ConditionVariable cv;		/* signalled when a chunk is there for it */
} CScanSharedScan;

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
	uint64		locks;			/* times that it was taken; of these */
	uint64		lock_waits;		/* it was not free */
	double		lock_time;		/* held, in all (ms) */
	double		max_lock_time;	/* and for the longest */
} CScanLockStats;

typedef struct CScanShared
{
	LWLock	   *lock;			/* the scheduler's lock, and */
	pg_atomic_uint32 lock_queue;	/* those who queue for it; without it */
	uint32		preferred_chunk_blocks; /* cscan.chunk_size; never changes */

	/* The ABM's; written by it under the lock. */
	Latch	   *abm_latch;		/* NULL while it is down */
	int			abm_pid;
	bool		abm_idle;		/* it wants to be told of changes; read
								 * without the lock, too; who tells it makes
								 * this false */
	uint64		abm_alive;		/* when it last went round (us) */
	uint64		abm_loaded;		/* when it last completed a load (us) */
	uint64		abm_stuck;		/* abm_alive when a scan waited in vain; by
								 * scans */

	uint64		self_read;		/* when a scan last read for itself because
								 * for long there had been no load (us) */
	uint64		next_serial;

	/* Tablespaces that tables were scanned in: the devices of the pool; under the lock. */
	Oid			devices[CSCAN_MAX_DEVICES];
	uint32		ndevices;

	/*
	 * Tables that the ABM should look after: one has come, has lost its last
	 * scan, or a scan of it goes on.  Written by all, under the lock.
	 */
	bool		tables_changed;

	/*
	 * Whoever waits until the ABM has let go asks for a release: it has the
	 * next number.  The ABM says up to which it has granted them.
	 */
	uint64		releases_wanted;
	uint64		releases_done;
	ConditionVariable released; /* signalled when that has changed */

	CScanStats	stats[CSCAN_NPOLICIES];
	CScanLockStats lock_stats;
	TimestampTz stats_reset;
} CScanShared;

/* This process's view; NULL pointers unless preloaded. */
extern CScanShared *cscan_shared;
extern CScanSharedScan *cscan_scans;
extern CScanSharedTable *cscan_tables;
extern CScanPool cscan_pool;

/* Monotonic time in microseconds. */
static inline uint64
cscan_now(void)
{
	instr_time	t;

	INSTR_TIME_SET_CURRENT(t);
	return INSTR_TIME_GET_MICROSEC(t);
}

/* The scheduler's lock, see lock.c. */
extern void cscan_lock(void);
extern void cscan_unlock(void);

/* This process, the ABM, never lets others go first. */
extern bool cscan_lock_at_once;

/*
 * The tables that are scanned (tables.c); call all of them with the lock held.
 * Have finds the table's entry that has room for so many blocks, or makes one;
 * CSCAN_NONE where that cannot be.  Drop forgets an entry of which nothing is held
 * and which nobody scans; hide sees to it that nobody finds it any more.
 */
extern int	cscan_tables_have(Relation rel, BlockNumber nblocks);
extern void cscan_tables_hide(int table);
extern void cscan_tables_drop(int table);

/* Is a block in shared buffers just now?  Nothing is pinned. */
extern bool cscan_in_buffers(RelFileLocator locator, BlockNumber block);

/*
 * Set the pool's budget and room for a cscan.buffer_share; call with the lock
 * held.
 */
extern void cscan_shared_set_budget(double share);

#endif							/* CSCAN_SHARED_H */
