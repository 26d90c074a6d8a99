/*-------------------------------------------------------------------------
 *
 * tables.c
 *		The ABM's locks: AccessShareLock on each table whose chunks it holds,
 *		and on that table's database, since DROP DATABASE takes no table locks.
 *
 * Locks are session locks, taken outside of any transaction, and always
 * conditionally: the deadlock detector cannot see that a scan waits for the
 * ABM.  They are not released by themselves when the process ends; abm.c does
 * that.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "catalog/pg_database.h"
#include "storage/lmgr.h"
#include "storage/lock.h"

#include "abm/abm.h"

static void
table_tag(int table, LOCKTAG *tag)
{
	SET_LOCKTAG_RELATION(*tag, cscan_tables[table].dbid, cscan_tables[table].relid);
}

static void
database_tag(int table, LOCKTAG *tag)
{
	SET_LOCKTAG_OBJECT(*tag, InvalidOid, DatabaseRelationId, cscan_tables[table].dbid, 0);
}

/* Take the locks, or none of them if one cannot be had at once. */
bool
cscan_tables_lock(int table)
{
	LOCKTAG		tag;

	database_tag(table, &tag);
	if (LockAcquire(&tag, AccessShareLock, true, true) == LOCKACQUIRE_NOT_AVAIL)
		return false;
	table_tag(table, &tag);
	if (LockAcquire(&tag, AccessShareLock, true, true) == LOCKACQUIRE_NOT_AVAIL)
	{
		database_tag(table, &tag);
		LockRelease(&tag, AccessShareLock, true);
		return false;
	}
	return true;
}

void
cscan_tables_unlock(int table)
{
	LOCKTAG		tag;

	table_tag(table, &tag);
	LockRelease(&tag, AccessShareLock, true);
	database_tag(table, &tag);
	LockRelease(&tag, AccessShareLock, true);
}

/* Does anybody wait for one of these locks? */
bool
cscan_tables_waited_for(int table)
{
	LOCKTAG		tag;

	table_tag(table, &tag);
	if (LockHasWaiters(&tag, AccessShareLock, true))
		return true;
	database_tag(table, &tag);
	return LockHasWaiters(&tag, AccessShareLock, true);
}
