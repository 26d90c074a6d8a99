/*-------------------------------------------------------------------------
 *
 * upkeep.h
 *		Row groups are kept up to date: the worker "cscan columns".
 *
 *		launcher.c		which database is visited next
 *		worker.c		one visit: which row groups of a database are built
 *		vacuuming.c		a VACUUM, where few blocks can be stored without it
 *
 * The launcher belongs to no database.  It starts one worker at a time, which
 * visits a database for at most CSCAN_VISIT_TIME.
 *
 * A worker goes through the indexes of columns of its database, those first
 * that have been scanned most.  For the others it goes on where the visit before
 * it has ended, until all have had their turn.  It makes a *pass* over the row
 * groups of each: it looks at one group after the other, and builds those that
 * gain enough.  It sleeps in between, as long as its share of the time asks for.
 * An index gets half of what is left of the visit.  If its pass does not come to the
 * last group then, the next visit goes on with it.  Another pass follows when
 * the table has changed, or after an hour.
 *
 * It looks under locks that only a table's own DDL minds, and takes VACUUM's
 * lock to build.  It waits for neither.  Whoever waits for VACUUM's lock makes
 * it give up the group that it is building.  For other processes it is one of
 * autovacuum's: who waits for another lock of it cancels it, after
 * deadlock_timeout, and who drops the database ends it.
 *
 * A group whose building fails is left out; another pass tries again, later
 * and later.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CSCAN_UPKEEP_H
#define CSCAN_UPKEEP_H

#include "compat.h"

#include "cscan.h"
#include "shared/shared.h"

/* The longest visit (us), but for a group that is being built */
#define CSCAN_VISIT_TIME	3000000

/* The longest time that locks are held (us), but for the same */
#define CSCAN_VISIT_LOCKED	500000

/* A pass of an index that has not changed, and any after errors, comes after so long at the latest (us). */
#define CSCAN_PASS_AGAIN	UINT64CONST(3600000000)

/* The worker's argument is the database's OID. */
extern PGDLLEXPORT void cscan_upkeep_launcher_main(Datum arg);
extern PGDLLEXPORT void cscan_upkeep_worker_main(Datum arg);

/* Its argument is the table's OID. */
extern PGDLLEXPORT void cscan_upkeep_vacuum_main(Datum arg);

/*
 * Have the table of an index vacuumed, if it needs that and it is time.  Call
 * in a transaction, with a lock on the table.  Returns whether that is under
 * way: it waits for nobody's lock, so leave the table alone.
 */
extern bool cscan_vacuuming_consider(Relation heap);

/* Others treat this process as one of autovacuum's from now on: who waits for its locks cancels it. */
extern void cscan_vacuuming_become_autovacuum(void);

/* After the longest work, of which most may have been a standstill, others wait no longer (us). */
#define CSCAN_LONGEST_REST	UINT64CONST(3600000000)

/* How long to rest after work, so that this has taken cscan.columns_share of the time (us). */
static inline uint64
cscan_upkeep_rest(uint64 worked)
{
	return (uint64) Min(worked * (1 / cscan_columns_share - 1), CSCAN_LONGEST_REST);
}

/*
 * Sleep until then (us), or until there is something to look at.  Reads the
 * configuration again if it has changed.
 */
extern void cscan_upkeep_sleep(uint64 until, uint32 wait_event);

/* As in autovacuum.c: what may be set for users must not hinder either of them. */
extern void cscan_upkeep_override_settings(void);

#endif							/* CSCAN_UPKEEP_H */
