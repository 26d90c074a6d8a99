/*-------------------------------------------------------------------------
 *
 * functions.c
 *		The functions that users call for an index of columns.
 *
 *		cscan_columns_fill(index)		build what can be built now
 *		cscan_columns_verify(index)		compare it with its table
 *		cscan_columns_state(index)		a row of the view cscan_columns_status
 *
 *-------------------------------------------------------------------------
 */
#include "store.h"

#include "access/genam.h"
#include "access/visibilitymap.h"
#include "access/xlog.h"
#include "catalog/index.h"
#include "common/hashfn.h"
#include "fmgr.h"
#include "funcapi.h"
#include "storage/lmgr.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"
#include "utils/tuplestore.h"

PG_FUNCTION_INFO_V1(cscan_columns_fill);
PG_FUNCTION_INFO_V1(cscan_columns_verify);
PG_FUNCTION_INFO_V1(cscan_columns_state);

#define STATE_COLUMNS	10

/* Open an index of columns and its table, the table first as everybody does. */
static Relation
open_index(Oid indexid, LOCKMODE heap_lock, LOCKMODE index_lock, bool maintain, Relation *heap)
{
	Oid			heapid = IndexGetRelation(indexid, true);
	Relation	index;

	/* Look at privileges before anything is locked. */
	if (!OidIsValid(heapid) && get_rel_name(indexid) != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not an index of access method \"cscan_columns\"", get_rel_name(indexid))));
	if (!OidIsValid(heapid))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("index with OID %u does not exist", indexid)));
	if (maintain && !cscan_may_maintain(heapid))
		aclcheck_error(ACLCHECK_NOT_OWNER, OBJECT_TABLE, get_rel_name(heapid));
	*heap = try_relation_open(heapid, heap_lock);
	index = try_relation_open(indexid, index_lock);
	if (index == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("index with OID %u does not exist", indexid)));
	if (!cscan_store_is_index(index))
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not an index of access method \"cscan_columns\"", RelationGetRelationName(index)),
				 index->rd_rel->relkind == RELKIND_PARTITIONED_INDEX ?
				 errhint("Name the index of a partition: pg_partition_tree() lists them.") : 0));
	if (*heap == NULL || index->rd_index->indrelid != heapid)
		elog(ERROR, "index \"%s\" has no table", RelationGetRelationName(index));
	return index;
}

/* Open what may have gone, or be locked, without an error or a wait. */
static Relation
open_if_free(Oid relid)
{
	Relation	rel;

	if (!OidIsValid(relid) || !ConditionalLockRelationOid(relid, AccessShareLock))
		return NULL;
	rel = try_relation_open(relid, NoLock);
	if (rel == NULL)
		UnlockRelationOid(relid, AccessShareLock);
	return rel;
}

/*
 * Whether an index has content: it has none while CREATE INDEX CONCURRENTLY
 * begins, nor if it is unlogged on a standby, or temporary.
 */
static bool
has_content(Relation index)
{
	return !RelationUsesLocalBuffers(index) && (RelationIsPermanent(index) || !RecoveryInProgress()) &&
		RelationGetNumberOfBlocks(index) > 0;
}

static void
require_valid(Relation index)
{
	if (RelationUsesLocalBuffers(index))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("index \"%s\" is that of a temporary table", RelationGetRelationName(index)),
				 errdetail("Such an index stays empty.")));
	if (!index->rd_index->indisvalid || !has_content(index))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("index \"%s\" is not valid", RelationGetRelationName(index)),
				 errdetail("It is being built, a build of it has failed, or it is unlogged on a standby."),
				 errhint("If no build is under way, REINDEX it on the primary server.")));
}

Datum
cscan_columns_fill(PG_FUNCTION_ARGS)
{
	Oid			indexid = PG_GETARG_OID(0);
	Relation	heap;
	Relation	index;
	CScanFill	fill = {0};

	if (RecoveryInProgress())
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("recovery is in progress"),
				 errhint("Row groups are built on the primary server.")));
	index = open_index(indexid, ShareUpdateExclusiveLock, ShareUpdateExclusiveLock, true, &heap);
	require_valid(index);
	cscan_fill_index(heap, index, &fill);
	index_close(index, ShareUpdateExclusiveLock);
	table_close(heap, ShareUpdateExclusiveLock);
	PG_RETURN_INT64(fill.groups);
}

typedef struct CScanVerifying
{
	Relation	heap;
	Relation	index;
	CScanGroup	group;
	uint32		number;			/* of the group */
	CScanDecoder *columns;		/* the last one has the rows of each block */
	CScanHeap	rows;
	ReturnSetInfo *result;
	Buffer		vm_buffer;
} CScanVerifying;

/* A row's value of a column, decoded. */
static Datum
decoded_value(CScanVerifying *v, int column, uint32 row, bool *isnull)
{
	CScanDecoder *d = &v->columns[column];

	cscan_decoder_decode(d, row / CSCAN_VECTOR);
	*isnull = d->isnull[row % CSCAN_VECTOR];
	return d->values[row % CSCAN_VECTOR];
}

static void
report_problem(CScanVerifying *v, BlockNumber block, const char *problem)
{
	Datum		values[2];
	bool		nulls[2] = {false, false};

	values[0] = Int64GetDatum(block);
	values[1] = CStringGetTextDatum(problem);
	tuplestore_putvalues(v->result->setResult, v->result->setDesc, values, nulls);
}

/* Whether the bit of a block has been set since the group was read. */
static bool
is_stale_now(CScanVerifying *v, uint32 i)
{
	CScanGroup	now;
	bool		stale = true;

	if (cscan_store_read_group(v->index, v->number, &now))
		stale = now.serving.generation != v->group.serving.generation || cscan_has_bit(now.stale, i);
	cscan_store_free_group(&now);
	return stale;
}

static int
by_number(const void *a, const void *b)
{
	uint64		number_a = *(const uint64 *) a;
	uint64		number_b = *(const uint64 *) b;

	return (number_a > number_b) - (number_a < number_b);
}

/* A hash of a row's columns, to compare rows in any order. */
static uint64
hash_row(CScanVerifying *v, uint64 hash, int column, Datum value, bool isnull)
{
	Form_pg_attribute attribute = cscan_heap_attribute(&v->rows, column);

	return hash_combine64(hash, isnull ? 0 :
						  1 + (uint64) datum_image_hash(value, attribute->attbyval, attribute->attlen));
}

/*
 * Compare a page that is all-visible with its rows in the runs.  Heap-only
 * updates of other columns move rows, so they are compared in any order.
 */
static const char *
compare_page(CScanVerifying *v, BlockNumber block, uint32 row, uint32 nrows)
{
	int			ncolumns = RelationGetNumberOfAttributes(v->index);
	Buffer		buffer = ReadBufferExtended(v->heap, MAIN_FORKNUM, block, RBM_NORMAL, NULL);
	Page		page = BufferGetPage(buffer);
	uint64	   *stored = palloc0(nrows * sizeof(uint64) + 1);
	uint64	   *seen = palloc0(MaxHeapTuplesPerPage * sizeof(uint64));
	OffsetNumber offsets[MaxHeapTuplesPerPage];
	Datum		values[INDEX_MAX_KEYS];
	bool		nulls[INDEX_MAX_KEYS];
	bool		has_dead;
	uint32		n;

	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	if (!PageIsAllVisible(page))
	{
		UnlockReleaseBuffer(buffer);
		return NULL;
	}
	n = cscan_heap_offsets(page, offsets, &has_dead);
	LockBuffer(buffer, BUFFER_LOCK_UNLOCK);
	for (uint32 i = 0; i < n; i++)
	{
		cscan_heap_row(&v->rows, buffer, offsets[i], values, nulls);
		for (int column = 0; column < ncolumns; column++)
			seen[i] = hash_row(v, seen[i], column, values[column], nulls[column]);
	}
	cscan_heap_release(&v->rows, buffer);
	if (n != nrows)
		return psprintf("the table has %u rows, and %u are stored", n, nrows);

	for (uint32 i = 0; i < nrows; i++)
	{
		for (int column = 0; column < ncolumns; column++)
		{
			bool		isnull;
			Datum		value = decoded_value(v, column, row + i, &isnull);

			stored[i] = hash_row(v, stored[i], column, value, isnull);
		}
	}
	qsort(stored, nrows, sizeof(uint64), by_number);
	qsort(seen, nrows, sizeof(uint64), by_number);
	for (uint32 i = 0; i < nrows; i++)
	{
		if (stored[i] != seen[i])
			return "rows of the table have other values than those that are stored";
	}
	return NULL;
}

/* Read all runs of the group; false if it has been built again meanwhile. */
static bool
read_runs(CScanVerifying *v)
{
	int			nruns = RelationGetNumberOfAttributes(v->index) + 1;

	for (int i = 0; i < nruns; i++)
	{
		if (!cscan_decoder_read(&v->columns[i], &v->group, NULL))
			return false;
	}
	return true;
}

/*
 * A reader reads the visibility map first, and then the entry.  We do that,
 * too: what changes in between is marked.
 */
static void
verify_group(CScanVerifying *v, uint32 group_blocks)
{
	BlockNumber first = v->number * group_blocks;
	BlockNumber nblocks = RelationGetNumberOfBlocks(v->heap);
	int			block_rows = RelationGetNumberOfAttributes(v->index);
	uint8	   *visible = palloc0(CSCAN_STORE_BITMAP_BYTES(group_blocks));
	uint32		row = 0;

	for (uint32 i = 0; i < group_blocks && first + i < nblocks; i++)
	{
		if (visibilitymap_get_status(v->heap, first + i, &v->vm_buffer) & VISIBILITYMAP_ALL_VISIBLE)
			cscan_set_bit(visible, i);
	}
	if (!cscan_store_read_group(v->index, v->number, &v->group))
		return;
	if (v->group.serving.nrows > 0 && !read_runs(v))
	{
		/* Nobody builds it meanwhile but the primary of a standby. */
		if (!RecoveryInProgress())
			report_problem(v, first, "column pages of its row group are lost");
		return;
	}
	for (uint32 i = 0; i < v->group.serving.covered; i++)
	{
		uint32		nrows;
		bool		isnull;
		const char *problem = NULL;

		CHECK_FOR_INTERRUPTS();
		nrows = 0;
		if (v->group.serving.nrows > 0)
			nrows = (uint32) DatumGetInt32(decoded_value(v, block_rows, i, &isnull));
		if (nrows > v->group.serving.nrows - row)
			problem = "the rows of its blocks are more than those of the group";
		else if (!cscan_has_bit(v->group.stale, i) && cscan_has_bit(visible, i))
			problem = compare_page(v, first + i, row, nrows);
		if (problem != NULL && !is_stale_now(v, i))
			report_problem(v, first + i, problem);
		if (nrows > v->group.serving.nrows - row)
			return;
		row += nrows;
	}
	if (row != v->group.serving.nrows)
		report_problem(v, first, "the rows of its blocks are fewer than those of the group");
}

Datum
cscan_columns_verify(PG_FUNCTION_ARGS)
{
	CScanVerifying v = {0};
	CScanStoreMeta *meta = palloc(sizeof(CScanStoreMeta));
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "cscan verify", ALLOCSET_DEFAULT_SIZES);
	LOCKMODE	lock = RecoveryInProgress() ? AccessShareLock : ShareUpdateExclusiveLock;

	InitMaterializedSRF(fcinfo, 0);
	v.result = (ReturnSetInfo *) fcinfo->resultinfo;
	/* VACUUM must not set a block's bit of the map again in mid-comparison. */
	v.index = open_index(PG_GETARG_OID(0), lock, AccessShareLock, true, &v.heap);
	require_valid(v.index);
	cscan_heap_begin(&v.rows, v.heap, v.index);
	v.vm_buffer = InvalidBuffer;
	v.columns = palloc((RelationGetNumberOfAttributes(v.index) + 1) * sizeof(CScanDecoder));
	for (int i = 0; i <= RelationGetNumberOfAttributes(v.index); i++)
		cscan_decoder_init(&v.columns[i], v.heap, v.index, i);
	cscan_store_read_meta(v.index, meta);
	for (v.number = 0; v.number < meta->ngroups; v.number++)
	{
		MemoryContext caller = MemoryContextSwitchTo(context);

		CHECK_FOR_INTERRUPTS();
		verify_group(&v, meta->group_blocks);
		MemoryContextSwitchTo(caller);
		MemoryContextReset(context);
	}
	if (BufferIsValid(v.vm_buffer))
		ReleaseBuffer(v.vm_buffer);
	cscan_heap_end(&v.rows);
	index_close(v.index, AccessShareLock);
	table_close(v.heap, lock);
	return (Datum) 0;
}

/* Blocks that the index could cover, those that it does cover, and the like. */
typedef struct CScanStoreState
{
	int64		blocks;			/* of the table */
	int64		all_visible;
	int64		covered;		/* not stale; a scan can have them from column
								 * runs */
	int64		stale;
	int64		groups;
	int64		refused;
	int64		rows;
	int64		pages;			/* of the index */
	int64		used;			/* of these, referred to */
	TimestampTz built;			/* latest, 0: never */
} CScanStoreState;

static void
get_state(Relation heap, Relation index, CScanStoreState *state)
{
	CScanStoreMeta *meta = palloc(sizeof(CScanStoreMeta));
	Buffer		vm_buffer = InvalidBuffer;
	BlockNumber all_visible;

	memset(state, 0, sizeof(CScanStoreState));
	if (!index->rd_index->indisvalid || !has_content(index))
		return;
	cscan_store_read_meta(index, meta);
	state->blocks = RelationGetNumberOfBlocks(heap);
	visibilitymap_count(heap, &all_visible, NULL);
	state->all_visible = all_visible;
	state->pages = RelationGetNumberOfBlocks(index);
	state->used = 1;
	for (size_t i = 0; i < CSCAN_STORE_MAPS; i++)
		state->used += meta->maps[i] != 0;
	for (uint32 number = 0; number < meta->ngroups; number++)
	{
		CScanGroup	group;

		CHECK_FOR_INTERRUPTS();
		if (!cscan_store_read_group(index, number, &group))
			continue;
		state->used += 1 + group.serving.npages;
		state->groups += group.serving.nrows > 0;
		state->refused += group.serving.refused;
		state->built = Max(state->built, group.serving.built);
		state->rows += group.serving.nrows;
		for (uint32 i = 0; i < group.serving.covered; i++)
		{
			if (cscan_has_bit(group.stale, i))
				state->stale++;
			else if (visibilitymap_get_status(heap, number * meta->group_blocks + i, &vm_buffer) & VISIBILITYMAP_ALL_VISIBLE)
				state->covered++;
		}
		cscan_store_free_group(&group);
	}
	if (BufferIsValid(vm_buffer))
		ReleaseBuffer(vm_buffer);
	pfree(meta);
}

/* Why no more blocks are covered, or NULL. */
static const char *
why_not_more(Relation index, const CScanStoreState *state)
{
	if (!index->rd_index->indisvalid)
		return "the index is being built, or a build of it has failed: REINDEX it";
	if (RelationUsesLocalBuffers(index))
		return "an index of a temporary table stays empty";
	if (!has_content(index))
		return "an unlogged index is empty on a standby";
	if (state->blocks == 0)
		return "the table is empty";
	if (state->all_visible == 0)
		return "no block of the table is all-visible: VACUUM it";
	if (state->covered >= state->all_visible)
		return state->all_visible == state->blocks ? NULL :
			"the other blocks are not all-visible: VACUUM the table";
	if (state->covered + state->refused >= state->all_visible)
		return "the other blocks have values that are too long, or that VACUUM could not read, or their row groups hold no more";
	if (RecoveryInProgress())
		return "blocks have become all-visible since: the primary stores them in time";
	if (!cscan_preloaded || cscan_columns_naptime == 0)
		return "blocks have become all-visible since: VACUUM stores them, or cscan_columns_fill()";
	return "blocks have become all-visible since: a background worker stores them in time, cscan_columns_fill() at once";
}

static void
put_state(ReturnSetInfo *rsinfo, const CScanStoreState *state, const char *reason)
{
	Datum		values[STATE_COLUMNS] = {0};
	bool		nulls[STATE_COLUMNS] = {0};

	memset(nulls, state == NULL, sizeof(nulls));
	if (state != NULL)
	{
		values[0] = Int64GetDatum(state->blocks);
		values[1] = Int64GetDatum(state->all_visible);
		values[2] = Int64GetDatum(state->covered);
		values[3] = Int64GetDatum(state->stale);
		values[4] = Int64GetDatum(state->groups);
		values[5] = Int64GetDatum(state->rows);
		values[6] = Int64GetDatum(state->pages);
		values[7] = Int64GetDatum(state->pages - Min(state->used, state->pages));
		values[8] = TimestampTzGetDatum(state->built);
		nulls[8] = state->built == 0;
	}
	nulls[9] = reason == NULL;
	if (reason)
		values[9] = CStringGetTextDatum(reason);
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
}

/*
 * Nothing is said of what is no index of columns: a view may ask before its
 * joins have found out what it is.
 */
Datum
cscan_columns_state(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	Oid			indexid = PG_GETARG_OID(0);
	Relation	heap;
	Relation	index = NULL;
	CScanStoreState state;

	InitMaterializedSRF(fcinfo, 0);
	heap = open_if_free(IndexGetRelation(indexid, true));
	if (heap != NULL)
		index = open_if_free(indexid);
	if (index != NULL && cscan_store_is_index(index))
	{
		get_state(heap, index, &state);
		put_state(rsinfo, &state, why_not_more(index, &state));
	}
	else if (index == NULL && SearchSysCacheExists1(INDEXRELID, ObjectIdGetDatum(indexid)))
		put_state(rsinfo, NULL, "another session has locked the table or the index");
	if (index != NULL)
		relation_close(index, AccessShareLock);
	if (heap != NULL)
		relation_close(heap, AccessShareLock);
	return (Datum) 0;
}
