/*-------------------------------------------------------------------------
 *
 * launcher.c
 *		Which database the worker "cscan columns" visits next.
 *
 * The launcher is connected to no database, so it sees shared catalogs only.
 * It keeps all databases that can be connected to, and of each when it was
 * visited last.  It is visited again
 *
 *		at once					if something was left to do
 *		after a nap				if it had indexes of columns
 *		after an hour			if it had none; but at once if one has been made
 *								there since
 *		later and later			if the visit ended in an error
 *
 * The databases that are due are visited in turn.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/pg_database.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "postmaster/bgworker.h"
#include "postmaster/interrupt.h"
#include "storage/ipc.h"
#include "storage/proc.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "cscan.h"
#include "upkeep/upkeep.h"

/* A database without an index of columns is left alone for so long (us). */
#define NOTHING_THERE	UINT64CONST(3600000000)

/* Two visits are so far apart (us). */
#define LEAST_SLEEP		100000

/* So long (us) a worker may take to get into its database, which others may have locked. */
#define ENTER_TIME		10000000

typedef struct CScanVisited
{
	Oid			dbid;			/* the key */
	bool		exists;
	bool		visited;
	bool		has_indexes;
	bool		unfinished;		/* see CScanUpkeep */
	Oid			last;			/* likewise */
	uint32		failures;		/* visits, one after the other */
	uint64		at;				/* when the last one ended (us) */
} CScanVisited;

static uint32 wait_nap;
static uint64 built_seen;		/* cscan_shared->built.n */
static HTAB *databases;
static bool has_complained;

/* Bring the list of databases up to date. */
static void
list_databases(void)
{
	HASH_SEQ_STATUS status;
	CScanVisited *database;
	Relation	rel;
	TableScanDesc scan;
	HeapTuple	tuple;

	hash_seq_init(&status, databases);
	while ((database = hash_seq_search(&status)) != NULL)
		database->exists = false;

	SetCurrentStatementStartTimestamp();
	StartTransactionCommand();
	(void) GetTransactionSnapshot();
	rel = table_open(DatabaseRelationId, AccessShareLock);
	scan = table_beginscan_catalog(rel, 0, NULL);
	while ((tuple = heap_getnext(scan, ForwardScanDirection)) != NULL)
	{
		Form_pg_database form = (Form_pg_database) GETSTRUCT(tuple);
		bool		found;

		/* A limit of -2 is that of a database whose DROP has failed. */
		if (!form->datallowconn || form->datconnlimit < -1)
			continue;
		database = hash_search(databases, &form->oid, HASH_ENTER, &found);
		if (!found)
			memset((char *) database + sizeof(Oid), 0, sizeof(CScanVisited) - sizeof(Oid));
		database->exists = true;
	}
	table_endscan(scan);
	table_close(rel, AccessShareLock);
	CommitTransactionCommand();

	hash_seq_init(&status, databases);
	while ((database = hash_seq_search(&status)) != NULL)
	{
		if (!database->exists)
			(void) hash_search(databases, &database->dbid, HASH_REMOVE, NULL);
	}
}

/* Note the databases in which indexes were made since the last look. */
static void
look_what_was_built(void)
{
	uint64		n = pg_atomic_read_u64(&cscan_shared->built.n);
	HASH_SEQ_STATUS status;
	CScanVisited *database;

	if (n - built_seen > CSCAN_MAX_BUILT)
	{
		hash_seq_init(&status, databases);
		while ((database = hash_seq_search(&status)) != NULL)
			database->has_indexes = true;
		built_seen = n;
	}
	for (; built_seen < n; built_seen++)
	{
		Oid			dbid = pg_atomic_read_u32(&cscan_shared->built.dbid[built_seen % CSCAN_MAX_BUILT]);

		database = hash_search(databases, &dbid, HASH_FIND, NULL);
		if (database != NULL)
			database->has_indexes = true;
	}
}

/* When a database is to be visited (us). */
static uint64
due(const CScanVisited *database)
{
	uint64		nap = (uint64) cscan_columns_naptime * 1000000;

	if (!database->visited)
		return 0;
	if (database->failures > 0)
		return database->at + Min(nap << Min(database->failures, 12), NOTHING_THERE);
	if (database->unfinished || OidIsValid(database->last))
		return database->at;
	return database->at + (database->has_indexes ? nap : NOTHING_THERE);
}

static void
sleep_until(uint64 until)
{
	cscan_upkeep_sleep(until, wait_nap);
}

/* Wait until a worker has ended.  If it does not get into its database, end it. */
static void
wait_for_worker(BackgroundWorkerHandle *handle)
{
	uint64		until = cscan_now() + ENTER_TIME;
	pid_t		pid;

	for (;;)
	{
		BgwHandleStatus status = GetBackgroundWorkerPid(handle, &pid);

		if (status == BGWH_STOPPED)
			return;
		if (status == BGWH_POSTMASTER_DIED)
			proc_exit(1);
		if (!OidIsValid(cscan_shared->upkeep.dbid) && cscan_now() >= until)
		{
			TerminateBackgroundWorker(handle);
			until += ENTER_TIME;
		}
		sleep_until(cscan_now() + ENTER_TIME / 10);
	}
}

/* Start a worker, and wait until it has ended. */
static void
visit(CScanVisited *database)
{
	CScanUpkeep *visit = &cscan_shared->upkeep;
	BackgroundWorker worker;
	BackgroundWorkerHandle *handle;

	visit->dbid = InvalidOid;
	visit->ended = false;
	visit->worked = visit->rest_began = 0;
	visit->unfinished = database->unfinished;
	visit->last = database->last;
	cscan_shared_describe_worker(&worker, "cscan columns", "cscan_upkeep_worker_main",
								 BgWorkerStart_RecoveryFinished, BGW_NEVER_RESTART);
	worker.bgw_flags |= BGWORKER_INTERRUPTIBLE;
	worker.bgw_main_arg = ObjectIdGetDatum(database->dbid);
	worker.bgw_notify_pid = MyProcPid;

	if (RegisterDynamicBackgroundWorker(&worker, &handle))
	{
		has_complained = false;
		wait_for_worker(handle);
		pfree(handle);
	}
	else if (!has_complained)
	{
		ereport(LOG,
				(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
				 errmsg("no background worker is free to keep row groups up to date"),
				 errhint("Increase \"max_worker_processes\".")));
		has_complained = true;
	}

	database->visited = true;
	database->at = cscan_now();
	database->failures = visit->ended ? 0 : database->failures + 1;
	if (visit->dbid == database->dbid)
	{
		database->has_indexes = visit->has_indexes;
		database->unfinished = visit->unfinished;
		database->last = visit->last;
	}

	/* A new configuration may change the share. */
	for (;;)
	{
		uint64		until = Max(visit->rest_began + cscan_upkeep_rest(visit->worked),
								database->at + LEAST_SLEEP);

		if (cscan_now() >= until)
			break;
		sleep_until(until);
	}
}

/*
 * Visit the databases that are due, each once.  Returns when the next one is
 * due (us).  What is visited changes no keys, so the search may go on.
 */
static uint64
go_round(void)
{
	uint64		next = cscan_now() + NOTHING_THERE;
	HASH_SEQ_STATUS status;
	CScanVisited *database;

	hash_seq_init(&status, databases);
	while ((database = hash_seq_search(&status)) != NULL)
	{
		if (cscan_columns_naptime > 0 && due(database) <= cscan_now())
			visit(database);
		next = Min(next, due(database));
	}
	return next;
}

void
cscan_upkeep_launcher_main(Datum arg)
{
	HASHCTL		info = {.keysize = sizeof(Oid),.entrysize = sizeof(CScanVisited)};

	(void) arg;
	pqsignal(SIGHUP, SignalHandlerForConfigReload);
	pqsignal(SIGTERM, die);

	/* A reload since the fork has been missed. */
	ConfigReloadPending = true;
	BackgroundWorkerUnblockSignals();
	cscan_upkeep_override_settings();
	BackgroundWorkerInitializeConnection(NULL, NULL, 0);

	info.hcxt = AllocSetContextCreate(TopMemoryContext, "cscan columns", ALLOCSET_DEFAULT_SIZES);
	databases = hash_create("cscan databases", 64, &info, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	MemoryContextSwitchTo(info.hcxt);
	wait_nap = cscan_wait_event("CScanColumnsMain");
	sleep_until(0);
	for (;;)
	{
		uint64		next = cscan_now() + NOTHING_THERE;

		if (cscan_columns_naptime > 0)
		{
			list_databases();
			look_what_was_built();
			next = Min(go_round(), cscan_now() + (uint64) cscan_columns_naptime * 1000000);
		}
		sleep_until(next);
	}
}

void
cscan_upkeep_init(void)
{
	BackgroundWorker worker;

	cscan_shared_describe_worker(&worker, "cscan columns launcher", "cscan_upkeep_launcher_main",
								 BgWorkerStart_RecoveryFinished, 5);
	RegisterBackgroundWorker(&worker);
}
