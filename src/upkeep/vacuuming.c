/*-------------------------------------------------------------------------
 *
 * vacuuming.c
 *		Tables whose blocks cannot be stored, since VACUUM has not come: the
 *		worker "cscan columns vacuum".
 *
 * Autovacuum comes to a table when a fifth of its rows are dead or new.  One
 * changed row in each block is much less, and nothing of the table can be
 * stored.  So what counts here is the share of blocks that are not all-visible
 * (cscan.columns_vacuum).
 *
 *		consider	start a worker, if the table needs it, and it is time
 *		main		the worker
 *
 * There is one such worker at a time, in all databases.  It vacuums one table,
 * at the pace of autovacuum's cost settings, and then all rest, like the worker
 * that builds row groups.  A table that one VACUUM has not helped much waits
 * longer each time, up to an hour.  If it was being written meanwhile, that
 * pause ends when the writers do.
 *
 * For other processes the worker is one of autovacuum's: who waits for the
 * table's lock cancels it, and who drops the database ends it.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "access/relation.h"
#include "access/visibilitymap.h"
#include "access/xact.h"
#include "commands/vacuum.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "parser/parse_node.h"
#include "pgstat.h"
#include "postmaster/autovacuum.h"
#include "postmaster/bgworker.h"
#include "postmaster/interrupt.h"
#include "storage/ipc.h"
#include "storage/lwlock.h"
#include "storage/proc.h"
#include "storage/procarray.h"
#include "tcop/tcopprot.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/portal.h"
#include "utils/rel.h"

#include "cscan.h"
#include "upkeep/upkeep.h"

/* A table is vacuumed for at least so many blocks. */
#define LEAST_BLOCKS	64

/* Its gain has to outlast so many naps, at the pace of the last one's writers, or it has to pause. */
#define CALM_NAPS		16

/* A worker that has not begun after so long will not (us). */
#define START_TIME		10000000

/* What the worker is told beside the table: autovacuum's settings of the table, -1 where it has none. */
typedef struct CScanVacuumTask
{
	Oid			dbid;
	int			cost_limit;
	double		cost_delay;		/* ms */
} CScanVacuumTask;

StaticAssertDecl(sizeof(CScanVacuumTask) <= BGW_EXTRALEN, "the task fits");

/* How many of the table's blocks should be made all-visible; 0: too few. */
static BlockNumber
missing_blocks(Relation heap)
{
	const StdRdOptions *options = (const StdRdOptions *) heap->rd_options;
	BlockNumber nblocks = RelationGetNumberOfBlocks(heap);
	BlockNumber all_visible;

	if (!AutoVacuumingActive() || (options && !options->autovacuum.enabled))
		return 0;
	visibilitymap_count(heap, &all_visible, NULL);
	if (nblocks < all_visible + LEAST_BLOCKS || nblocks - all_visible <= cscan_columns_vacuum * nblocks)
		return 0;
	return nblocks - all_visible;
}

/* Rows that were written since the table's counts began. */
static uint64
rows_written(Relation heap)
{
	PgStat_StatTabEntry *stats = pgstat_fetch_stat_tabentry(RelationGetRelid(heap));

	return stats ? stats->tuples_inserted + stats->tuples_updated + stats->tuples_deleted : 0;
}

/* Is one under way, as far as can be told? */
static bool
is_under_way(const CScanVacuuming *last, uint64 now)
{
	if (last->started == 0 || last->ended != 0)
		return false;
	return last->pid != 0 ? BackendPidGetProc(last->pid) != NULL : now < last->started + START_TIME;
}

/* The rest behind the last one (us). */
static uint64
rests_until(const CScanVacuuming *last)
{
	if (last->ended <= last->started)
		return 0;
	return last->ended + cscan_upkeep_rest(last->ended - last->started);
}

static int
number_of(const CScanVacuumed *v)
{
	return (int) (v - cscan_shared->upkeep.vacuumed);
}

static CScanVacuumed *
find_vacuumed(Oid relid)
{
	CScanVacuumed *vacuumed = cscan_shared->upkeep.vacuumed;

	for (int i = 0; i < CSCAN_MAX_VACUUMED; i++)
	{
		if (vacuumed[i].relid == relid && vacuumed[i].dbid == MyDatabaseId)
			return &vacuumed[i];
	}
	return NULL;
}

/* Take an entry whose pause is over, the one looked at longest ago.  NULL if there is none: what must be kept is kept. */
static CScanVacuumed *
add_vacuumed(Oid relid, uint64 now)
{
	CScanVacuumed *vacuumed = cscan_shared->upkeep.vacuumed;
	CScanVacuumed *oldest = NULL;

	for (int i = 0; i < CSCAN_MAX_VACUUMED; i++)
	{
		if (vacuumed[i].not_before <= now && (oldest == NULL || vacuumed[i].looked < oldest->looked))
			oldest = &vacuumed[i];
	}
	if (oldest == NULL)
		return NULL;
	if (cscan_shared->upkeep.vacuuming.table == number_of(oldest))
		cscan_shared->upkeep.vacuuming.table = -1;
	memset(oldest, 0, sizeof(CScanVacuumed));
	oldest->dbid = MyDatabaseId;
	oldest->relid = relid;
	return oldest;
}

/*
 * The last one has ended: how long does its table have to wait?  If it has
 * failed, or not even half of the blocks have become all-visible, twice as long
 * as before.
 */
static void
note_result(CScanVacuumed *v, uint64 now)
{
	CScanVacuuming *last = &cscan_shared->upkeep.vacuuming;
	uint64		nap = (uint64) cscan_columns_naptime * 1000000;

	if (last->started == 0 || last->table != number_of(v))
		return;
	last->table = -1;
	if (last->result == CSCAN_VACUUM_AWAY)
	{
		v->not_before = now + nap;
		v->horizon = InvalidTransactionId;
		return;
	}
	if (last->result == CSCAN_VACUUM_DONE && last->left <= v->missing / 2)
		v->pause = nap;
	else
		v->pause = Min(Max(2 * v->pause, nap), CSCAN_PASS_AGAIN);
	v->not_before = last->ended + v->pause;
}

/*
 * Is it time?  The pause ends when writers have come to rest who had not as the
 * last one began.  And nothing but other snapshots or other rows let another
 * one find what the last one has not.
 */
static bool
is_time(const CScanVacuumed *v, uint64 written, bool calm, TransactionId horizon, uint64 now)
{
	if (now < v->not_before && !(calm && !v->calm))
		return false;
	return horizon != v->horizon || written != v->written_before;
}

static bool
start_worker(Relation heap)
{
	const StdRdOptions *options = (const StdRdOptions *) heap->rd_options;
	CScanVacuumTask task = {MyDatabaseId, -1, -1};
	BackgroundWorker worker;

	if (options)
	{
		task.cost_limit = options->autovacuum.vacuum_cost_limit;
		task.cost_delay = options->autovacuum.vacuum_cost_delay;
	}
	cscan_shared_describe_worker(&worker, "cscan columns vacuum", "cscan_upkeep_vacuum_main",
								 BgWorkerStart_RecoveryFinished, BGW_NEVER_RESTART);
	worker.bgw_flags |= BGWORKER_INTERRUPTIBLE;
	worker.bgw_main_arg = ObjectIdGetDatum(RelationGetRelid(heap));
	memcpy(worker.bgw_extra, &task, sizeof(task));
	if (RegisterDynamicBackgroundWorker(&worker, NULL))
	{
		cscan_shared->upkeep.vacuum_complained = false;
		return true;
	}
	if (!cscan_shared->upkeep.vacuum_complained)
		ereport(LOG,
				(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
				 errmsg("no background worker is free to vacuum table \"%s\" for its index of columns",
						RelationGetRelationName(heap)),
				 errhint("Increase \"max_worker_processes\".")));
	cscan_shared->upkeep.vacuum_complained = true;
	return false;
}

bool
cscan_vacuuming_consider(Relation heap)
{
	CScanVacuuming *last = &cscan_shared->upkeep.vacuuming;
	CScanVacuumed *v = find_vacuumed(RelationGetRelid(heap));
	uint64		now = cscan_now();
	TransactionId horizon;
	BlockNumber missing;
	uint64		written;
	bool		calm;

	if (is_under_way(last, now))
		return v != NULL && last->table == number_of(v);
	if (v != NULL && now < v->looked + (uint64) cscan_columns_naptime * 1000000)
		return false;
	missing = missing_blocks(heap);
	if (v == NULL && missing > 0)
		v = add_vacuumed(RelationGetRelid(heap), now);
	if (v == NULL)
		return false;
	note_result(v, now);
	written = rows_written(heap);
	calm = v->looked != 0 && (written - v->written) * CALM_NAPS <= missing;
	v->looked = now;
	v->written = written;

	if (missing == 0 || now < rests_until(last))
		return false;
	horizon = GetOldestNonRemovableTransactionId(heap);
	if (!is_time(v, written, calm, horizon, now))
		return false;

	*last = (CScanVacuuming) {.table = number_of(v),.started = now,.result = CSCAN_VACUUM_AWAY};
	if (!start_worker(heap))
	{
		last->started = 0;
		return false;
	}
	v->written_before = written;
	v->missing = missing;
	v->horizon = horizon;
	v->calm = calm;
	return true;
}

void
cscan_vacuuming_become_autovacuum(void)
{
	LWLockAcquire(ProcArrayLock, LW_EXCLUSIVE);
	MyProc->statusFlags |= PROC_IS_AUTOVACUUM;
	ProcGlobal->statusFlags[MyProc->pgxactoff] = MyProc->statusFlags;
	LWLockRelease(ProcArrayLock);
}

static void
set(const char *name, const char *value)
{
	SetConfigOption(name, value, PGC_SUSET, PGC_S_OVERRIDE);
}

/* Take over one of autovacuum's settings, unless that says to take the server's. */
static void
take_setting(const char *autovacuum_name, const char *name)
{
	const char *value = GetConfigOption(autovacuum_name, false, false);

	if (strcmp(value, "-1") != 0)
		set(name, value);
}

static void
vacuum_table(Oid heapid)
{
	VacuumStmt *stmt = makeNode(VacuumStmt);
	MemoryContext context = CurrentMemoryContext;

	/* As autovacuum does: it waits for nobody, and works by itself.  TOAST tables have no part in what can be stored. */
	stmt->is_vacuumcmd = true;
	stmt->options = list_make3(makeDefElem("skip_locked", NULL, -1),
							   makeDefElem("parallel", (Node *) makeInteger(0), -1),
							   makeDefElem("process_toast", (Node *) makeString("off"), -1));
	stmt->rels = list_make1(makeVacuumRelation(NULL, heapid, NIL));

	/* It commits, and goes on.  What it needs meanwhile it has below this. */
	PortalContext = context;
	SetCurrentStatementStartTimestamp();
	StartTransactionCommand();
	MemoryContextSwitchTo(context);
	ExecVacuum(make_parsestate(NULL), stmt, true);
	CommitTransactionCommand();
	MemoryContextSwitchTo(context);
}

/* How often has the table been vacuumed? */
static uint64
count_vacuums(Oid heapid)
{
	PgStat_StatTabEntry *stats = pgstat_fetch_stat_tabentry(heapid);

	return stats ? (uint64) stats->vacuum_count : 0;
}

static BlockNumber
count_left(Oid heapid)
{
	Relation	heap = try_relation_open(heapid, AccessShareLock);
	BlockNumber left = 0;

	if (heap != NULL)
	{
		left = missing_blocks(heap);
		relation_close(heap, AccessShareLock);
	}
	return left;
}

/* What it finds locked VACUUM leaves alone, and says nothing. */
static CScanVacuumResult
vacuum_safely(Oid heapid)
{
	volatile CScanVacuumResult result = CSCAN_VACUUM_AWAY;
	uint64		before;

	PG_TRY();
	{
		StartTransactionCommand();
		before = count_vacuums(heapid);
		CommitTransactionCommand();
		MemoryContextSwitchTo(TopMemoryContext);
		vacuum_table(heapid);
		StartTransactionCommand();
		if (count_vacuums(heapid) != before)
		{
			cscan_shared->upkeep.vacuuming.left = count_left(heapid);
			result = CSCAN_VACUUM_DONE;
		}
		CommitTransactionCommand();
	}
	PG_CATCH();
	{
		/* Who needs the table's lock has canceled it: that is as it should be. */
		HOLD_INTERRUPTS();
		if (geterrcode() != ERRCODE_QUERY_CANCELED)
		{
			EmitErrorReport();
			result = CSCAN_VACUUM_FAILED;
		}
		AbortOutOfAnyTransaction();
		FlushErrorState();
		RESUME_INTERRUPTS();
	}
	PG_END_TRY();
	return result;
}

/* At this process's end, however that comes. */
static void
leave(int code, Datum arg)
{
	(void) code;
	(void) arg;
	if (cscan_shared->upkeep.vacuuming.pid == MyProcPid)
		cscan_shared->upkeep.vacuuming.ended = cscan_now();
}

void
cscan_upkeep_vacuum_main(Datum arg)
{
	CScanVacuuming *vacuuming = &cscan_shared->upkeep.vacuuming;
	Oid			heapid = DatumGetObjectId(arg);
	CScanVacuumTask task;

	memcpy(&task, MyBgworkerEntry->bgw_extra, sizeof(task));
	pqsignal(SIGHUP, SignalHandlerForConfigReload);
	pqsignal(SIGTERM, die);
	vacuuming->pid = MyProcPid;
	before_shmem_exit(leave, 0);
	BackgroundWorkerUnblockSignals();
	cscan_upkeep_override_settings();
	BackgroundWorkerInitializeConnectionByOid(task.dbid, InvalidOid, 0);
	cscan_vacuuming_become_autovacuum();
	take_setting("autovacuum_vacuum_cost_delay", "vacuum_cost_delay");
	take_setting("autovacuum_vacuum_cost_limit", "vacuum_cost_limit");
	take_setting("autovacuum_work_mem", "maintenance_work_mem");
	if (task.cost_delay >= 0)
		set("vacuum_cost_delay", psprintf("%g", task.cost_delay));
	if (task.cost_limit > 0)
		set("vacuum_cost_limit", psprintf("%d", task.cost_limit));

	pgstat_report_activity(STATE_RUNNING, psprintf("VACUUM of table %u, for its index of columns", heapid));
	vacuuming->result = vacuum_safely(heapid);
	pgstat_report_stat(true);
}
