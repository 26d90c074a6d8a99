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
 *
 * There is one such worker at a time, in all databases.  It vacuums one table,
 * at the pace of autovacuum's cost settings, and then rests like the worker
 * that builds row groups.  A table that is being written, so that it needs it
 * again soon, has to wait longer each time.  Where an old snapshot sees dead
 * rows, nothing is done until that has gone.
 *
 * For other processes the worker is one of autovacuum's: who waits for the
 * table's lock cancels it, and who drops the database ends it.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

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

/* What the worker is told beside the table. */
typedef struct CScanVacuumTask
{
	Oid			dbid;
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

/* Is another one at work, or has the last one to be followed by a rest? */
static bool
has_to_wait(const CScanVacuuming *last, uint64 now)
{
	uint64		took = last->ended > last->began ? last->ended - last->began : 0;

	return (last->pid != 0 && BackendPidGetProc(last->pid) != NULL) ||
		now < last->ended + (uint64) (took * (1 / cscan_columns_share - 1));
}

bool
cscan_vacuuming_consider(Relation heap, CScanUpkept *u)
{
	CScanVacuuming *last = &cscan_shared->upkeep.vacuuming;
	CScanVacuumTask task = {MyDatabaseId};
	BackgroundWorker worker;
	BackgroundWorkerHandle *handle;
	TransactionId horizon;
	BlockNumber missing;
	uint64		now = cscan_now();
	uint64		nap = (uint64) cscan_columns_naptime * 1000000;
	uint64		written;
	bool		calm;
	pid_t		pid;

	if (now < u->vacuum_looked + nap)
		return false;
	missing = missing_blocks(heap);
	written = rows_written(heap);
	calm = u->vacuum_looked != 0 && (written - u->vacuum_written) * CALM_NAPS <= missing;
	u->vacuum_looked = now;
	u->vacuum_written = written;
	if (missing == 0 || has_to_wait(last, now) || (now < u->vacuum_not_before && !calm))
		return false;

	/* It would find nothing that the last one has not found. */
	horizon = GetOldestNonRemovableTransactionId(heap);
	if (last->dbid == MyDatabaseId && last->relid == RelationGetRelid(heap) && !last->completed)
		u->vacuum_horizon = InvalidTransactionId;
	if (horizon == u->vacuum_horizon)
		return false;
	u->vacuum_horizon = horizon;

	/* While rows are written, the pause doubles until it is long enough. */
	if (u->vacuum_pause == 0 || now >= u->vacuum_not_before + 4 * u->vacuum_pause)
		u->vacuum_pause = nap;
	else
		u->vacuum_pause = Min(2 * u->vacuum_pause, CSCAN_PASS_AGAIN);
	u->vacuum_not_before = now + u->vacuum_pause;

	cscan_shared_describe_worker(&worker, "cscan columns vacuum", "cscan_upkeep_vacuum_main",
								 BgWorkerStart_RecoveryFinished, BGW_NEVER_RESTART);
	worker.bgw_flags |= BGWORKER_INTERRUPTIBLE;
	worker.bgw_main_arg = ObjectIdGetDatum(RelationGetRelid(heap));
	worker.bgw_notify_pid = MyProcPid;
	memcpy(worker.bgw_extra, &task, sizeof(task));
	last->dbid = MyDatabaseId;
	last->relid = RelationGetRelid(heap);
	last->began = now;
	last->ended = 0;
	last->completed = false;
	if (!RegisterDynamicBackgroundWorker(&worker, &handle) ||
		WaitForBackgroundWorkerStartup(handle, &pid) != BGWH_STARTED)
		return false;
	last->pid = pid;
	return true;
}

/* Others treat this process as one of autovacuum's. */
static void
become_autovacuum(void)
{
	LWLockAcquire(ProcArrayLock, LW_EXCLUSIVE);
	MyProc->statusFlags |= PROC_IS_AUTOVACUUM;
	ProcGlobal->statusFlags[MyProc->pgxactoff] = MyProc->statusFlags;
	LWLockRelease(ProcArrayLock);
}

/* Take over one of autovacuum's cost settings, unless that says to take the server's. */
static void
take_cost_setting(const char *autovacuum_name, const char *name)
{
	const char *value = GetConfigOption(autovacuum_name, false, false);

	if (strcmp(value, "-1") != 0)
		SetConfigOption(name, value, PGC_SUSET, PGC_S_OVERRIDE);
}

static void
vacuum_table(Oid heapid)
{
	VacuumStmt *stmt = makeNode(VacuumStmt);
	MemoryContext context = CurrentMemoryContext;

	stmt->is_vacuumcmd = true;
	stmt->options = list_make1(makeDefElem("skip_locked", NULL, -1));
	stmt->rels = list_make1(makeVacuumRelation(NULL, heapid, NIL));

	/* It commits, and goes on.  What it needs meanwhile it has below this. */
	PortalContext = context;
	SetCurrentStatementStartTimestamp();
	StartTransactionCommand();
	MemoryContextSwitchTo(context);
	ExecVacuum(make_parsestate(NULL), stmt, true);
	CommitTransactionCommand();
}

void
cscan_upkeep_vacuum_main(Datum arg)
{
	CScanVacuumTask task;

	memcpy(&task, MyBgworkerEntry->bgw_extra, sizeof(task));
	pqsignal(SIGHUP, SignalHandlerForConfigReload);
	pqsignal(SIGTERM, die);
	BackgroundWorkerUnblockSignals();
	cscan_upkeep_override_settings();
	BackgroundWorkerInitializeConnectionByOid(task.dbid, InvalidOid, 0);
	become_autovacuum();
	take_cost_setting("autovacuum_vacuum_cost_delay", "vacuum_cost_delay");
	take_cost_setting("autovacuum_vacuum_cost_limit", "vacuum_cost_limit");

	pgstat_report_activity(STATE_RUNNING, psprintf("VACUUM of table %u, for its index of columns", DatumGetObjectId(arg)));
	PG_TRY();
	{
		vacuum_table(DatumGetObjectId(arg));
		cscan_shared->upkeep.vacuuming.completed = true;
	}
	PG_CATCH();
	{
		/* Who needs the table's lock has canceled it: that is as it should be. */
		HOLD_INTERRUPTS();
		if (geterrcode() != ERRCODE_QUERY_CANCELED)
			EmitErrorReport();
		AbortCurrentTransaction();
		FlushErrorState();
		RESUME_INTERRUPTS();
	}
	PG_END_TRY();
	cscan_shared->upkeep.vacuuming.ended = cscan_now();
	pgstat_report_stat(true);
}
