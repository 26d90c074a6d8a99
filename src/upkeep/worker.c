/*-------------------------------------------------------------------------
 *
 * worker.c
 *		One visit of the worker "cscan columns" to a database: which of its row
 *		groups are built.
 *
 * Each step is a transaction.  It looks for a row group that should be built,
 * builds this one and what follows, and lets go after half a second.  An error
 * ends the step and is written to the server log.  The next step goes on
 * behind the group that has failed.
 *
 * Half of a visit is for the indexes that are scanned most.  The other half is
 * for a *round* through all others, by their OIDs.  If the visit is too short
 * for that, the next one goes on with it.  So one that is seldom scanned gets
 * its turn, too.
 *
 * What is known of an index outlives the visit, in cscan_shared->upkeep.upkept.
 * If there are more indexes than entries, their passes begin anew each time.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/visibilitymap.h"
#include "access/xact.h"
#include "catalog/index.h"
#include "catalog/pg_class.h"
#include "commands/defrem.h"
#include "common/hashfn.h"
#include "miscadmin.h"
#include "nodes/pg_list.h"
#include "pgstat.h"
#include "postmaster/bgworker.h"
#include "postmaster/interrupt.h"
#include "storage/latch.h"
#include "storage/lmgr.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "cscan.h"
#include "store/store.h"
#include "upkeep/upkeep.h"

/* An index of columns, and how often it was scanned. */
typedef struct CScanFoundIndex
{
	Oid			indexid;
	uint64		scans;
	bool		visited;		/* in this visit, since it is scanned much */
} CScanFoundIndex;

/* What came of a step. */
typedef enum CScanStepResult
{
	CSCAN_STEP_OK,				/* go on with step.fill.next, if there is one */
	CSCAN_STEP_FAILED,			/* likewise */
	CSCAN_STEP_UNCHANGED,		/* there was no need to look */
	CSCAN_STEP_LOCKED			/* somebody else has it locked */
} CScanStepResult;

/* The step that is under way; an error leaves it as it was. */
typedef struct CScanStep
{
	CScanFill	fill;
	Relation	heap;
	Relation	index;
	uint64		until;			/* when it has to let go of its locks (us) */
	bool		only_if_changed;	/* go on only if the table's state is not */
	uint64		known;			/* this one */
	uint64		state;			/* of the table */
} CScanStep;

static CScanStep step;

/* Rest at least so long behind a step that may have built (us): others may want the lock without waiting for it. */
#define LEAST_REST		10000

/* Of a visit's time an index gets at least so much (us). */
#define LEAST_SLICE		200000

static uint32 wait_share;
static uint64 visit_ends;		/* us */

static int
by_oid(const ListCell *a, const ListCell *b)
{
	const CScanFoundIndex *x = lfirst(a);
	const CScanFoundIndex *y = lfirst(b);

	return x->indexid < y->indexid ? -1 : x->indexid > y->indexid;
}

static int
by_scans(const ListCell *a, const ListCell *b)
{
	const CScanFoundIndex *x = lfirst(a);
	const CScanFoundIndex *y = lfirst(b);

	if (x->scans != y->scans)
		return x->scans < y->scans ? 1 : -1;
	return by_oid(a, b);
}

/* Find the database's indexes of columns. */
static List *
find_indexes(void)
{
	MemoryContext context = CurrentMemoryContext;
	List	   *indexes = NIL;
	Oid			am;
	Relation	rel;
	TableScanDesc scan;
	HeapTuple	tuple;

	SetCurrentStatementStartTimestamp();
	StartTransactionCommand();
	(void) GetTransactionSnapshot();
	am = get_index_am_oid("cscan_columns", true);
	rel = table_open(RelationRelationId, AccessShareLock);
	scan = table_beginscan_catalog(rel, 0, NULL);
	while (OidIsValid(am) && (tuple = heap_getnext(scan, ForwardScanDirection)) != NULL)
	{
		Form_pg_class form = (Form_pg_class) GETSTRUCT(tuple);
		PgStat_StatTabEntry *stats;
		CScanFoundIndex *index;
		MemoryContext old;

		if (form->relam != am || form->relkind != RELKIND_INDEX || form->relpersistence == RELPERSISTENCE_TEMP)
			continue;
		stats = pgstat_fetch_stat_tabentry(form->oid);
		old = MemoryContextSwitchTo(context);
		index = palloc0(sizeof(CScanFoundIndex));
		index->indexid = form->oid;
		index->scans = stats ? (uint64) stats->numscans : 0;
		indexes = lappend(indexes, index);
		MemoryContextSwitchTo(old);
	}
	table_endscan(scan);
	table_close(rel, AccessShareLock);
	CommitTransactionCommand();
	MemoryContextSwitchTo(context);
	return indexes;
}

/* After a group: is it enough for this step? */
static bool
is_enough(const CScanFill *fill)
{
	(void) fill;
	return cscan_now() >= step.until;
}

/* In a group that is being built: does somebody wait for the lock? */
static bool
is_waited_for(const CScanFill *fill)
{
	(void) fill;
	return LockHasWaitersRelation(step.heap, ShareUpdateExclusiveLock);
}

/* Open an index and its table if nobody has locked them; false if that is not possible. */
static bool
open_both(Oid indexid)
{
	Oid			heapid = IndexGetRelation(indexid, true);

	step.heap = step.index = NULL;
	if (!OidIsValid(heapid) || !ConditionalLockRelationOid(heapid, AccessShareLock))
		return false;
	step.heap = try_relation_open(heapid, NoLock);
	if (step.heap == NULL || !ConditionalLockRelationOid(indexid, RowExclusiveLock))
		return false;
	step.index = try_relation_open(indexid, NoLock);
	return step.index != NULL && cscan_store_is_index(step.index) && step.index->rd_index->indisvalid &&
		step.index->rd_index->indrelid == heapid;
}

/*
 * What changes when rows of the table can be stored that could not before:
 * VACUUM has come, or writers have.  Without these counts there is no
 * autovacuum either.
 */
static uint64
table_state(void)
{
	PgStat_StatTabEntry *stats = pgstat_fetch_stat_tabentry(RelationGetRelid(step.heap));
	BlockNumber all_visible;
	uint64		state = RelationGetNumberOfBlocks(step.heap);

	visibilitymap_count(step.heap, &all_visible, NULL);
	state = hash_combine64(state, all_visible);
	state = hash_combine64(state, step.heap->rd_rel->relfilenode);
	if (stats == NULL)
		return state;
	state = hash_combine64(state, stats->vacuum_count + cscan_autovacuum_count(stats));
	return hash_combine64(state, stats->tuples_inserted + stats->tuples_updated + stats->tuples_deleted);
}

static void
name_index(void *arg)
{
	errcontext("while building row groups of index \"%s\"", (const char *) arg);
}

/* Look for a group from step.fill.from on, and build. */
static CScanStepResult
build_some(void)
{
	CScanFill  *fill = &step.fill;
	uint32		first;

	if (!cscan_fill_look(step.heap, step.index, fill))
		return CSCAN_STEP_OK;
	first = fill->next;
	if (!ConditionalLockRelationOid(RelationGetRelid(step.heap), ShareUpdateExclusiveLock))
		return CSCAN_STEP_LOCKED;
	fill->from = first;
	fill->give_up = is_waited_for;
	pgstat_report_activity(STATE_RUNNING, psprintf("row groups of index %s", RelationGetRelationName(step.index)));
	cscan_fill_index(step.heap, step.index, fill);
	return CSCAN_STEP_OK;
}

/* One step: all that was opened and locked ends with the transaction. */
static CScanStepResult
take_step(Oid indexid)
{
	CScanStepResult result = CSCAN_STEP_LOCKED;

	SetCurrentStatementStartTimestamp();
	StartTransactionCommand();
	PushActiveSnapshot(GetTransactionSnapshot());
	if (open_both(indexid))
	{
		ErrorContextCallback callback = {error_context_stack, name_index, RelationGetRelationName(step.index)};

		error_context_stack = &callback;
		step.state = table_state();
		result = CSCAN_STEP_UNCHANGED;
		if (cscan_vacuuming_consider(step.heap))
			result = CSCAN_STEP_LOCKED;
		else if (!step.only_if_changed || step.state != step.known)
			result = build_some();
		error_context_stack = callback.previous;
	}
	if (step.index != NULL)
		relation_close(step.index, NoLock);
	if (step.heap != NULL)
		relation_close(step.heap, NoLock);
	PopActiveSnapshot();
	CommitTransactionCommand();
	pgstat_report_stat(true);
	pgstat_report_activity(STATE_IDLE, NULL);
	return result;
}

/* The same; an error is reported, and ends the step. */
static CScanStepResult
take_step_safely(Oid indexid)
{
	MemoryContext context = CurrentMemoryContext;
	volatile CScanStepResult result = CSCAN_STEP_FAILED;

	PG_TRY();
	{
		result = take_step(indexid);
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(context);
		HOLD_INTERRUPTS();

		/* Who waits for a lock has canceled it: that is as it should be. */
		if (geterrcode() == ERRCODE_QUERY_CANCELED)
			result = CSCAN_STEP_LOCKED;
		else
			EmitErrorReport();
		AbortCurrentTransaction();
		FlushErrorState();
		RESUME_INTERRUPTS();
		pgstat_report_activity(STATE_IDLE, NULL);
	}
	PG_END_TRY();
	MemoryContextSwitchTo(context);
	return result;
}

void
cscan_upkeep_sleep(uint64 until, uint32 wait_event)
{
	uint64		now = cscan_now();

	if (until > now)
		(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
						 (long) ((until - now) / 1000 + 1), wait_event);
	ResetLatch(MyLatch);

	/* Nothing is under way that could be canceled. */
	QueryCancelPending = false;
	CHECK_FOR_INTERRUPTS();
	if (ConfigReloadPending)
	{
		ConfigReloadPending = false;
		ProcessConfigFile(PGC_SIGHUP);
	}
}

/*
 * Sleep, so that the time spent at work is cscan.columns_share of all.  Of many
 * indexes most have not changed, and a look at one takes no time to speak of:
 * these have one rest together.  What the visit's end cuts short is the
 * launcher's.
 */
static void
rest(uint64 step_took, bool may_have_built)
{
	CScanUpkeep *visit = &cscan_shared->upkeep;
	uint64		least = may_have_built ? LEAST_REST : 0;

	visit->worked += step_took;
	visit->rest_began = cscan_now();
	if (Max(cscan_upkeep_rest(visit->worked), least) < LEAST_REST)
		return;

	/* A new configuration may change the share. */
	for (;;)
	{
		uint64		until = visit->rest_began + Max(cscan_upkeep_rest(visit->worked), least);
		uint64		now = cscan_now();

		if (now >= until)
		{
			visit->worked = 0;
			return;
		}
		if (now >= visit_ends)
			return;
		cscan_upkeep_sleep(Min(until, visit_ends), wait_share);
	}
}

/* Find what is known of an index; a new entry takes a free place, or that of the oldest pass. */
static CScanUpkept *
find_upkept(Oid indexid)
{
	CScanUpkept *upkept = cscan_shared->upkeep.upkept;
	CScanUpkept *oldest = &upkept[0];

	for (int i = 0; i < CSCAN_MAX_UPKEPT; i++)
	{
		if (upkept[i].dbid == MyDatabaseId && upkept[i].indexid == indexid)
			return &upkept[i];
		if (OidIsValid(oldest->dbid) &&
			(!OidIsValid(upkept[i].dbid) || upkept[i].began < oldest->began))
			oldest = &upkept[i];
	}
	memset(oldest, 0, sizeof(CScanUpkept));
	oldest->dbid = MyDatabaseId;
	oldest->indexid = indexid;
	return oldest;
}

/* A pass has come to the last group.  After errors the next one comes later and later. */
static void
end_pass(CScanUpkept *u)
{
	u->done = true;
	u->failures = u->failed ? Min(u->failures + 1, 12) : 0;
	u->not_before = 0;
	if (u->failed)
		u->not_before = cscan_now() + Min((uint64) cscan_columns_naptime * 1000000 << u->failures, CSCAN_PASS_AGAIN);
}

/*
 * Take a step of an index's pass, or the first one of another pass.  Returns
 * whether the pass goes on, and whether the step may have built.
 */
static bool
go_on(CScanUpkept *u, bool *may_have_built)
{
	uint64		now = cscan_now();
	bool		begins = u->done || u->group == 0;
	CScanStepResult result;

	memset(&step, 0, sizeof(step));
	step.fill.sparing = true;
	step.fill.spares = &u->spares;
	step.fill.from = begins ? 0 : u->group;
	step.fill.next = CSCAN_FILL_ENDED;
	step.fill.stop = is_enough;
	step.until = now + CSCAN_VISIT_LOCKED;
	step.only_if_changed = u->done && !u->failed && now < u->began + CSCAN_PASS_AGAIN;
	step.known = u->state;
	result = take_step_safely(u->indexid);
	*may_have_built = result != CSCAN_STEP_UNCHANGED;
	if (result == CSCAN_STEP_LOCKED || result == CSCAN_STEP_UNCHANGED)
		return false;

	if (begins)
	{
		u->done = u->failed = false;
		u->state = step.state;
		u->began = now;
	}
	u->failed |= result == CSCAN_STEP_FAILED;
	if (step.fill.next == CSCAN_FILL_ENDED)
		end_pass(u);
	else
		u->group = step.fill.next;
	return !u->done;
}

/* Keep an index up to date, as far as its part of the visit allows. */
static void
keep_up(Oid indexid)
{
	CScanUpkept *u = find_upkept(indexid);
	uint64		now = cscan_now();
	uint64		until = Min(visit_ends, now + Max((visit_ends - now) / 2, LEAST_SLICE));
	bool		goes_on = now >= u->not_before;
	bool		may_have_built;

	while (goes_on)
	{
		if (cscan_now() >= until)
		{
			cscan_shared->upkeep.unfinished = true;
			return;
		}
		now = cscan_now();
		goes_on = go_on(u, &may_have_built);
		rest(cscan_now() - now, may_have_built);
	}
}

/*
 * Look after the indexes that are scanned most, and go on with the round, or
 * begin one.  An index of the round is noted before it is looked after: if that
 * ends the worker, the next one goes on behind it.
 */
static void
go_round(List *indexes)
{
	CScanUpkeep *visit = &cscan_shared->upkeep;
	uint64		half = visit_ends - CSCAN_VISIT_TIME / 2;
	ListCell   *lc;

	if (!OidIsValid(visit->last))
		visit->unfinished = false;
	list_sort(indexes, by_scans);
	foreach(lc, indexes)
	{
		CScanFoundIndex *index = lfirst(lc);

		if (cscan_now() >= half)
			break;
		index->visited = true;
		keep_up(index->indexid);
	}

	/* However long that has taken, the round goes on by one. */
	visit_ends = Max(visit_ends, cscan_now() + LEAST_SLICE);
	list_sort(indexes, by_oid);
	foreach(lc, indexes)
	{
		CScanFoundIndex *index = lfirst(lc);

		if (index->visited || index->indexid <= visit->last)
			continue;
		if (cscan_now() >= visit_ends)
			return;
		visit->last = index->indexid;
		keep_up(index->indexid);
	}
	visit->last = InvalidOid;
}

void
cscan_upkeep_override_settings(void)
{
	static const char *const settings[][2] = {
		{"zero_damaged_pages", "false"},
		{"statement_timeout", "0"},
		{"lock_timeout", "0"},
		{"transaction_timeout", "0"},
		{"idle_in_transaction_session_timeout", "0"},
		{"default_transaction_isolation", "read committed"},
		{"search_path", "pg_catalog, pg_temp"},

		/* Only fresh counts are of use. */
		{"stats_fetch_consistency", "none"},

		/* Nobody waits for its commits. */
		{"synchronous_commit", "off"},
	};

	/* Not every version has all of them. */
	for (size_t i = 0; i < lengthof(settings); i++)
	{
		if (GetConfigOption(settings[i][0], true, false) != NULL)
			SetConfigOption(settings[i][0], settings[i][1], PGC_SUSET, PGC_S_OVERRIDE);
	}
}

void
cscan_upkeep_worker_main(Datum arg)
{
	CScanUpkeep *visit = &cscan_shared->upkeep;
	List	   *indexes;

	pqsignal(SIGHUP, SignalHandlerForConfigReload);
	pqsignal(SIGTERM, die);
	BackgroundWorkerUnblockSignals();
	cscan_upkeep_override_settings();
	BackgroundWorkerInitializeConnectionByOid(DatumGetObjectId(arg), InvalidOid, 0);
	cscan_vacuuming_become_autovacuum();
	wait_share = cscan_wait_event("CScanColumnsShare");

	indexes = find_indexes();
	visit->has_indexes = indexes != NIL;
	visit->dbid = MyDatabaseId;
	visit_ends = cscan_now() + CSCAN_VISIT_TIME;
	go_round(indexes);
	visit->ended = true;
}
