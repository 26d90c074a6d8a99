/*-------------------------------------------------------------------------
 *
 * locks.c
 *		The ABM's locks: AccessShareLock on each table whose chunks it holds,
 *		and on that table's database, since DROP DATABASE takes no table locks.
 *
 * Locks are session locks, taken outside of any transaction.  They are always
 * taken conditionally: the deadlock detector cannot see that a scan waits for
 * the ABM.  They are not released by themselves when the ABM ends; abm.c does
 * that.
 *
 * The lock table of the server is for all sessions.  So the ABM has at most half
 * as many locks as it is made for (max_locks_per_transaction for each process).
 * What is beyond that scans read for themselves.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "access/twophase.h"
#include "catalog/pg_database.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "storage/lock.h"
#include "utils/memutils.h"

#include "abm/abm.h"

typedef struct CScanTableLocks
{
	bool		held;
	LOCKTAG		relation;
	LOCKTAG		database;
} CScanTableLocks;

/* The ABM's locks for each table of the pool, in its own memory. */
static CScanTableLocks *locks;

/* Tables that are locked, and how many may be. */
static int	nlocked;
static int	max_locked;

void
cscan_locks_init(void)
{
	double		of_server = (double) max_locks_per_xact * (MaxBackends + max_prepared_xacts);

	locks = MemoryContextAllocZero(TopMemoryContext, sizeof(CScanTableLocks) * cscan_max_tables);
	max_locked = (int) Min(of_server / 2, cscan_max_tables);
}

/* Has the ABM all the locks that it may have? */
bool
cscan_locks_are_all_taken(void)
{
	return nlocked >= max_locked;
}

/*
 * Take both locks.  False, with neither, if one cannot be had at once, the lock
 * table is full, or the ABM has its share of it.  A process that has a lock gets
 * it again although others wait for it.  Tables of a database that is waited for
 * would come back as fast as they go.
 */
bool
cscan_locks_take(int table, Oid dbid, Oid relid)
{
	CScanTableLocks *l = &locks[table];

	Assert(!l->held);
	if (cscan_locks_are_all_taken())
		return false;
	SET_LOCKTAG_OBJECT(l->database, InvalidOid, DatabaseRelationId, dbid, 0);
	SET_LOCKTAG_RELATION(l->relation, dbid, relid);

	if (!cscan_try_session_lock(&l->database, AccessShareLock))
		return false;
	if (LockHasWaiters(&l->database, AccessShareLock, true) ||
		!cscan_try_session_lock(&l->relation, AccessShareLock))
	{
		LockRelease(&l->database, AccessShareLock, true);
		return false;
	}
	l->held = true;
	nlocked++;
	return true;
}

void
cscan_locks_release(int table)
{
	CScanTableLocks *l = &locks[table];

	if (!l->held)
		return;
	l->held = false;
	nlocked--;
	LockRelease(&l->relation, AccessShareLock, true);
	LockRelease(&l->database, AccessShareLock, true);
}

/* Does any process wait for the table's lock, or for its database's? */
bool
cscan_locks_relation_waited_for(int table)
{
	CScanTableLocks *l = &locks[table];

	return l->held && LockHasWaiters(&l->relation, AccessShareLock, true);
}

/* Has any process the table locked as VACUUM does, or more strongly? */
bool
cscan_locks_relation_vacuumed(int table)
{
	CScanTableLocks *l = &locks[table];
	VirtualTransactionId *holders;
	int			n;

	if (!l->held || RecoveryInProgress())
		return false;
	holders = GetLockConflicts(&l->relation, ShareUpdateExclusiveLock, &n);
	pfree(holders);
	return n > 0;
}

bool
cscan_locks_database_waited_for(int table)
{
	CScanTableLocks *l = &locks[table];

	return l->held && LockHasWaiters(&l->database, AccessShareLock, true);
}
