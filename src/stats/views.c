/*-------------------------------------------------------------------------
 *
 * views.c
 *		The functions behind the views.
 *
 * A scan is shown to its own user, to members of that role and to members of
 * pg_read_all_stats.  Tables and chunks show only what follows from the scans
 * that the caller may see.  So a user who scans a table learns nothing of
 * other scans of it.
 *
 * Rows are copied under the scheduler's lock and formed after it has been
 * released: forming them may fail, and so may the lookup of what the caller
 * may see.  The lock is held for a few entries at a time, so that a user who
 * looks again and again does not hold up the scheduler.  So each row is of one
 * moment, but the rows of a view may be of different ones.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "catalog/pg_authid.h"
#include "catalog/pg_type_d.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/tuplestore.h"
#include "utils/timestamp.h"

#include "shared/shared.h"

PG_FUNCTION_INFO_V1(cscan_scans_srf);
PG_FUNCTION_INFO_V1(cscan_chunks_srf);
PG_FUNCTION_INFO_V1(cscan_relations_srf);
PG_FUNCTION_INFO_V1(cscan_stat_srf);
PG_FUNCTION_INFO_V1(cscan_stat_scheduler_srf);
PG_FUNCTION_INFO_V1(cscan_stat_reset);

#define MAX_COLUMNS		11

/* Before the lock is released: entries that are looked at, and rows. */
#define MAX_LOOKS		4096
#define MAX_ROWS		256

typedef struct CScanRow
{
	Datum		values[MAX_COLUMNS];
	bool		nulls[MAX_COLUMNS];
} CScanRow;

static void
put_rows(FunctionCallInfo fcinfo, CScanRow *rows, int nrows)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;

	for (int i = 0; i < nrows; i++)
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc,
							 rows[i].values, rows[i].nulls);
}

/* May the caller see what belongs to that role? */
static bool
may_see(Oid roleid)
{
	return has_privs_of_role(GetUserId(), ROLE_PG_READ_ALL_STATS) ||
		has_privs_of_role(GetUserId(), roleid);
}

/* The scans that the caller may see, found before the lock is taken. */
typedef struct CScanView
{
	bool		all;
	Oid		   *roles;			/* else, by scan: its role if visible, or
								 * invalid */
} CScanView;

static void
find_visible(CScanView *view)
{
	view->all = may_see(ROLE_PG_READ_ALL_STATS);
	if (view->all)
		return;

	view->roles = palloc0(sizeof(Oid) * cscan_max_scans);
	for (int first = 0; first < cscan_max_scans; first += MAX_LOOKS)
	{
		cscan_lock();
		for (int i = first; i < Min(first + MAX_LOOKS, cscan_max_scans); i++)
		{
			if (cscan_pool.scans[i].used)
				view->roles[i] = cscan_scans[i].roleid;
		}
		cscan_unlock();
	}

	for (int i = 0; i < cscan_max_scans; i++)
	{
		if (OidIsValid(view->roles[i]) && !may_see(view->roles[i]))
			view->roles[i] = InvalidOid;
	}
}

/* Is a scan visible?  Call with the lock held.  A newer scan is not. */
static bool
in_view(const CScanView *view, int scan)
{
	return cscan_pool.scans[scan].used &&
		(view->all ||
		 (OidIsValid(view->roles[scan]) &&
		  view->roles[scan] == cscan_scans[scan].roleid));
}

/* A scan's ranges of blocks, as a multirange. */
static Datum
multirange_of(const CScanRange *ranges, uint32 nranges)
{
	StringInfoData text;
	Oid			input;
	Oid			ioparam;

	initStringInfo(&text);
	appendStringInfoChar(&text, '{');
	for (uint32 i = 0; i < nranges; i++)
		appendStringInfo(&text, "%s[%u,%u)", i > 0 ? "," : "", ranges[i].first, ranges[i].end);
	appendStringInfoChar(&text, '}');
	getTypeInputInfo(INT8MULTIRANGEOID, &input, &ioparam);
	return OidInputFunctionCall(input, text.data, ioparam, -1);
}

typedef struct CScanCopy
{
	CScanScan	scan;
	CScanSharedScan shared;
	bool		has_ranges;		/* it is a scan of one table, not of an index */
	CScanRange	ranges[CSCAN_MAX_RANGES];
	uint32		nranges;
} CScanCopy;

/*
 * Get what a scan of one table reads of it; call with the lock held.  A scan
 * without ranges reads the whole table.
 */
static void
copy_ranges(int scan, CScanCopy *copy)
{
	const CScanScan *s = &cscan_pool.scans[scan];
	int			table = cscan_pool_space_of_scan(&cscan_pool, scan, 0);

	copy->nranges = 0;
	copy->has_ranges = cscan_scans[scan].tables == 1 &&
		(table == CSCAN_NONE || !cscan_space_is_columnar(&cscan_pool.spaces[table]));
	if (!copy->has_ranges || s->nspaces != 1 || !s->started)
		return;
	if (s->nranges == 0)
	{
		copy->ranges[0].first = 0;
		copy->ranges[0].end = cscan_pool.spaces[table].extent;
		copy->nranges = copy->ranges[0].end > 0 && s->end_word > 0 ? 1 : 0;
		return;
	}
	for (uint32 i = 0; i < s->nranges; i++)
		copy->ranges[i] = cscan_pool.ranges[(Size) scan * CSCAN_MAX_RANGES + i].blocks;
	copy->nranges = s->nranges;
}

/*
 * Copy the next visible scan from "from" on.  Returns its number, or
 * CSCAN_NONE if there is none.  The lock is released after a copy.
 */
static int
copy_next(const CScanView *view, int from, CScanCopy *copy)
{
	for (int first = from; first < cscan_max_scans; first += MAX_LOOKS)
	{
		int			end = Min(first + MAX_LOOKS, cscan_max_scans);
		int			i = first;

		CHECK_FOR_INTERRUPTS();
		cscan_lock();
		while (i < end && !in_view(view, i))
			i++;
		if (i < end)
		{
			copy->scan = cscan_pool.scans[i];
			copy->shared = cscan_scans[i];
			copy_ranges(i, copy);
		}
		cscan_unlock();
		if (i < end)
			return i;
	}
	return CSCAN_NONE;
}

/* cscan_scans: pid, datid, relid, policy, tables, chunks_*, blocked_since, idle, ranges */
Datum
cscan_scans_srf(PG_FUNCTION_ARGS)
{
	CScanCopy  *copy;
	CScanView	view;

	cscan_require_preload();
	InitMaterializedSRF(fcinfo, 0);
	copy = palloc(sizeof(CScanCopy));
	find_visible(&view);

	for (int i = copy_next(&view, 0, copy); i != CSCAN_NONE; i = copy_next(&view, i + 1, copy))
	{
		const CScanScan *s = &copy->scan;
		const CScanSharedScan *shared = &copy->shared;
		CScanRow	row = {0};

		row.values[0] = Int32GetDatum(shared->pid);
		row.values[1] = ObjectIdGetDatum(shared->dbid);
		row.values[2] = ObjectIdGetDatum(shared->relid);
		row.values[3] = CStringGetTextDatum(cscan_policies[s->policy]->name);
		row.values[4] = Int32GetDatum((int32) shared->tables);
		row.values[5] = Int32GetDatum((int32) shared->chunks_total);
		row.values[6] = Int32GetDatum((int32) shared->chunks_done);
		row.values[7] = Int32GetDatum((int32) s->available);
		if (s->blocked)
			row.values[8] = TimestampTzGetDatum(GetCurrentTimestamp() -
												(int64) (cscan_now() - s->since));
		else
			row.nulls[8] = true;
		row.values[9] = BoolGetDatum(!s->started || s->stalled);
		if (copy->has_ranges)
			row.values[10] = multirange_of(copy->ranges, copy->nranges);
		else
			row.nulls[10] = true;
		put_rows(fcinfo, &row, 1);
	}
	return (Datum) 0;
}

/*
 * Count what the visible scans have to do with a slot; false if nothing.  A
 * caller who may see all scans also sees chunks that no scan wants.  Call with
 * the lock held.
 */
static bool
slot_in_view(const CScanView *view, int i, int *interested, int *starved, int *users, int *looks)
{
	const CScanSlot *slot = &cscan_pool.slots[i];
	bool		found = view->all;

	*interested = *starved = *users = 0;
	for (int j = cscan_pool_scan_of(&cscan_pool, slot->space, 0); j != CSCAN_NONE;
		 j = cscan_pool_scan_of(&cscan_pool, slot->space, j + 1))
	{
		(*looks)++;
		if (!in_view(view, j))
			continue;
		if (cscan_pool.scans[j].in_use == i)
		{
			found = true;
			*users += cscan_pool_active(&cscan_pool, j);
		}
		if (cscan_pool_wants(&cscan_pool, j, slot->chunk))
		{
			found = true;
			*interested += cscan_pool_active(&cscan_pool, j);
			*starved += cscan_pool_starved(&cscan_pool, j);
		}
	}
	for (int j = 0; j < cscan_pool.state->limits.max_helpers; j++)
	{
		const CScanHelper *helper = &cscan_pool.helpers[j];

		if (helper->used && helper->in_use == i && helper->scan != CSCAN_NONE &&
			in_view(view, helper->scan))
		{
			found = true;
			*users += cscan_pool_active(&cscan_pool, helper->scan);
		}
	}
	*looks += cscan_pool.state->limits.max_helpers;
	return found;
}

/* cscan_chunks: datid, relid, chunk, state, interested, starved, users */
Datum
cscan_chunks_srf(PG_FUNCTION_ARGS)
{
	int			nslots;
	CScanRow   *rows;
	const char *states[MAX_ROWS];
	CScanView	view;

	cscan_require_preload();
	InitMaterializedSRF(fcinfo, 0);
	nslots = cscan_pool.state->limits.max_slots;
	rows = palloc0(sizeof(CScanRow) * MAX_ROWS);
	find_visible(&view);

	for (int i = 0; i < nslots;)
	{
		int			n = 0;

		CHECK_FOR_INTERRUPTS();
		cscan_lock();
		for (int looks = 0; i < nslots && n < MAX_ROWS && looks < MAX_LOOKS; i++, looks++)
		{
			const CScanSlot *slot = &cscan_pool.slots[i];
			int			interested;
			int			starved;
			int			users;

			if (slot->space == CSCAN_NONE ||
				!slot_in_view(&view, i, &interested, &starved, &users, &looks))
				continue;
			if (cscan_pool_in_flight(&cscan_pool, i))
				states[n] = "loading";
			else
				states[n] = slot->failed ? "failed" : "ready";
			rows[n].values[0] = ObjectIdGetDatum(cscan_tables[slot->space].dbid);
			rows[n].values[1] = ObjectIdGetDatum(cscan_tables[slot->space].relid);
			rows[n].values[2] = Int32GetDatum((int32) (slot->chunk - cscan_pool.spaces[slot->space].first_chunk));
			rows[n].values[4] = Int32GetDatum(interested);
			rows[n].values[5] = Int32GetDatum(starved);
			rows[n].values[6] = Int32GetDatum(users);
			n++;
		}
		cscan_unlock();

		for (int row = 0; row < n; row++)
			rows[row].values[3] = CStringGetTextDatum(states[row]);
		put_rows(fcinfo, rows, n);
	}
	return (Datum) 0;
}

/* Visible scans of a table; call with the lock held. */
static int
scans_in_view(const CScanView *view, int table, int *looks)
{
	int			n = 0;

	for (int i = cscan_pool_scan_of(&cscan_pool, table, 0); i != CSCAN_NONE;
		 i = cscan_pool_scan_of(&cscan_pool, table, i + 1))
	{
		n += in_view(view, i);
		(*looks)++;
	}
	return n;
}

/* cscan_relations: datid, relid, scans, chunks_*, blocks_read */
Datum
cscan_relations_srf(PG_FUNCTION_ARGS)
{
	CScanRow   *rows;
	CScanView	view;

	cscan_require_preload();
	InitMaterializedSRF(fcinfo, 0);
	rows = palloc0(sizeof(CScanRow) * MAX_ROWS);
	find_visible(&view);

	for (int i = 0; i < cscan_max_tables;)
	{
		int			n = 0;

		CHECK_FOR_INTERRUPTS();
		cscan_lock();
		for (int looks = 0; i < cscan_max_tables && n < MAX_ROWS && looks < MAX_LOOKS; i++, looks++)
		{
			int			nscans;

			if (!cscan_pool.spaces[i].used)
				continue;
			nscans = scans_in_view(&view, i, &looks);
			if (nscans == 0 && !view.all)
				continue;
			rows[n].values[0] = ObjectIdGetDatum(cscan_tables[i].dbid);
			rows[n].values[1] = ObjectIdGetDatum(cscan_tables[i].relid);
			rows[n].values[2] = Int32GetDatum(nscans);
			rows[n].values[3] = Int64GetDatum((int64) cscan_tables[i].chunks_delivered);
			rows[n].values[4] = Int64GetDatum((int64) cscan_tables[i].chunks_loaded);
			rows[n].values[5] = Int64GetDatum((int64) cscan_tables[i].blocks_read);
			n++;
		}
		cscan_unlock();
		put_rows(fcinfo, rows, n);
	}
	return (Datum) 0;
}

/* cscan_stat: one row a policy */
Datum
cscan_stat_srf(PG_FUNCTION_ARGS)
{
	CScanRow	rows[CSCAN_NPOLICIES];
	CScanStats	stats[CSCAN_NPOLICIES];
	TimestampTz reset;

	cscan_require_preload();
	InitMaterializedSRF(fcinfo, 0);

	cscan_lock();
	memcpy(stats, cscan_shared->stats, sizeof(stats));
	reset = cscan_shared->stats_reset;
	cscan_unlock();

	memset(rows, 0, sizeof(rows));
	for (int i = 0; i < CSCAN_NPOLICIES; i++)
	{
		rows[i].values[0] = CStringGetTextDatum(cscan_policies[i]->name);
		rows[i].values[1] = Int64GetDatum((int64) stats[i].scans);
		rows[i].values[2] = Int64GetDatum((int64) stats[i].chunks_delivered);
		rows[i].values[3] = Int64GetDatum((int64) stats[i].chunks_loaded);
		rows[i].values[4] = Int64GetDatum((int64) stats[i].blocks_read);
		rows[i].values[5] = Int64GetDatum((int64) stats[i].evictions);
		rows[i].values[6] = Int64GetDatum((int64) stats[i].self_reads);
		rows[i].values[7] = Int64GetDatum((int64) stats[i].waits);
		rows[i].values[8] = Float8GetDatum((double) stats[i].wait_time / 1000.0);
		rows[i].values[9] = Int64GetDatum((int64) stats[i].wakeups);
		rows[i].values[10] = TimestampTzGetDatum(reset);
	}
	put_rows(fcinfo, rows, CSCAN_NPOLICIES);
	return (Datum) 0;
}

/* cscan_stat_scheduler: one row */
Datum
cscan_stat_scheduler_srf(PG_FUNCTION_ARGS)
{
	CScanRow	row = {0};
	CScanLockStats stats;
	TimestampTz reset;
	double		share;
	double		others_taken;
	double		scans_lost;

	cscan_require_preload();
	InitMaterializedSRF(fcinfo, 0);

	cscan_lock();
	stats = cscan_shared->lock_stats;
	reset = cscan_shared->stats_reset;
	share = cscan_shared->share;
	others_taken = cscan_shared->others_taken;
	scans_lost = cscan_shared->scans_lost;
	cscan_unlock();

	row.values[0] = Int64GetDatum((int64) stats.locks);
	row.values[1] = Int64GetDatum((int64) stats.lock_waits);
	row.values[2] = Float8GetDatum(stats.lock_time);
	row.values[3] = Float8GetDatum(stats.max_lock_time);
	row.values[4] = TimestampTzGetDatum(reset);
	row.values[5] = Float8GetDatum(share);
	row.values[6] = Int64GetDatum((int64) others_taken);
	row.values[7] = Int64GetDatum((int64) scans_lost);
	put_rows(fcinfo, &row, 1);
	return (Datum) 0;
}

Datum
cscan_stat_reset(PG_FUNCTION_ARGS)
{
	TimestampTz now = GetCurrentTimestamp();

	cscan_require_preload();
	cscan_lock();
	memset(cscan_shared->stats, 0, sizeof(cscan_shared->stats));
	memset(&cscan_shared->lock_stats, 0, sizeof(cscan_shared->lock_stats));
	cscan_shared->stats_reset = now;
	cscan_unlock();
	PG_RETURN_VOID();
}
