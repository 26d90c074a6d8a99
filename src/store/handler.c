/*-------------------------------------------------------------------------
 *
 * handler.c
 *		The index access method cscan_columns, as PostgreSQL calls it.
 *
 * The planner never chooses such an index for an index scan: it can neither
 * fetch a tuple nor make a bitmap.  It gets no parallel vacuum, since VACUUM's
 * leader builds groups.
 *
 * From PostgreSQL 16 on the method is a summarizing one.  So updates of its
 * columns may stay heap-only, and still call aminsert.
 *
 *-------------------------------------------------------------------------
 */
#include "store.h"

#include "access/amapi.h"
#include "access/reloptions.h"
#include "access/xact.h"
#include "catalog/catalog.h"
#include "catalog/index.h"
#include "catalog/pg_am.h"
#include "commands/progress.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "nodes/execnodes.h"
#include "nodes/pathnodes.h"
#include "optimizer/cost.h"
#include "pgstat.h"
#include "utils/rel.h"

#include "columns/codec.h"
#include "cscan.h"
#include "shared/shared.h"

PG_FUNCTION_INFO_V1(cscan_columns_handler);

static relopt_kind store_options;

/* This transaction has made an index: the launcher of workers is told at its end. */
static bool built_in_transaction;

static void
tell_of_build(XactEvent event, void *arg)
{
	(void) arg;
	if (event == XACT_EVENT_COMMIT && built_in_transaction && cscan_preloaded)
	{
		uint64		n = pg_atomic_fetch_add_u64(&cscan_shared->built.n, 1);

		pg_atomic_write_u32(&cscan_shared->built.dbid[n % CSCAN_MAX_BUILT], MyDatabaseId);
	}
	if (event == XACT_EVENT_COMMIT || event == XACT_EVENT_ABORT || event == XACT_EVENT_PREPARE)
		built_in_transaction = false;
}

static IndexBuildResult *store_build(Relation heap, Relation index, IndexInfo *info);

static relopt_enum_elt_def codecs[] = {
	{"none", CSCAN_ENCODING_NONE},
	{"lz4", CSCAN_ENCODING_LZ4},
	{"zstd", CSCAN_ENCODING_ZSTD},
	{NULL, 0}
};

void
cscan_store_init(void)
{
	RegisterXactCallback(tell_of_build, NULL);
	store_options = add_reloption_kind();
	add_int_reloption(store_options, "row_group_blocks",
					  "Number of the table's blocks in a row group",
					  CSCAN_STORE_DEFAULT_GROUP, CSCAN_STORE_MIN_GROUP, CSCAN_STORE_MAX_GROUP,
					  AccessExclusiveLock);
	add_enum_reloption(store_options, "compression",
					   "Compression of values that have no shorter encoding",
					   codecs, cscan_values_default_codec(),
					   "Valid values are \"none\", \"lz4\" and \"zstd\".",
					   ShareUpdateExclusiveLock);
}

bool
cscan_store_is_index(Relation index)
{
	return index->rd_rel->relkind == RELKIND_INDEX && index->rd_indam->ambuild == store_build;
}

static bytea *
store_reloptions(Datum reloptions, bool validate)
{
	static const relopt_parse_elt table[] = {
		{.optname = "row_group_blocks",.opttype = RELOPT_TYPE_INT,.offset = offsetof(CScanStoreOptions, row_group_blocks)},
		{.optname = "compression",.opttype = RELOPT_TYPE_ENUM,.offset = offsetof(CScanStoreOptions, compression)}
	};
	CScanStoreOptions *options = build_reloptions(reloptions, validate, store_options,
												  sizeof(CScanStoreOptions), table, lengthof(table));

	if (validate && options != NULL)
	{
		if (options->row_group_blocks % 8 != 0)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("\"row_group_blocks\" must be a multiple of 8"),
					 errhint("Choose %d or %d.", options->row_group_blocks / 8 * 8, options->row_group_blocks / 8 * 8 + 8)));
		if (options->compression != CSCAN_ENCODING_NONE && !cscan_codec_known(options->compression))
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("compression method \"%s\" is not supported", options->compression == CSCAN_ENCODING_LZ4 ? "lz4" : "zstd"),
					 errdetail("This build of cscan, or of the server, lacks the library."),
					 errhint("Choose another value for \"compression\".")));
	}
	return (bytea *) options;
}

/* Refuse what cannot have such an index. */
static void
check_relation(Relation heap, Relation index, IndexInfo *info)
{
	const char *name = RelationGetRelationName(heap);

	if (info->ii_Predicate != NIL)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("access method \"cscan_columns\" does not support partial indexes"),
				 errhint("Leave out the WHERE clause.")));
	for (int i = 0; i < info->ii_NumIndexAttrs; i++)
	{
		if (info->ii_IndexAttrNumbers[i] <= 0)
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("access method \"cscan_columns\" does not support expressions"),
					 errhint("Name columns of the table.")));
		for (int j = 0; j < i; j++)
		{
			if (info->ii_IndexAttrNumbers[j] == info->ii_IndexAttrNumbers[i])
				ereport(ERROR,
						(errcode(ERRCODE_DUPLICATE_COLUMN),
						 errmsg("column \"%s\" appears twice in index \"%s\"",
								NameStr(TupleDescAttr(RelationGetDescr(heap), info->ii_IndexAttrNumbers[i] - 1)->attname),
								RelationGetRelationName(index))));
		}
	}
	if (IsCatalogRelation(heap) || IsToastRelation(heap))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("access method \"cscan_columns\" does not support system catalogs"),
				 errdetail("Table \"%s\" is a system catalog.", name)));
	if (heap->rd_rel->relam != HEAP_TABLE_AM_OID)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("access method \"cscan_columns\" supports heap tables only"),
				 errdetail("Table \"%s\" has another access method.", name)));
}

static IndexBuildResult *
store_build(Relation heap, Relation index, IndexInfo *info)
{
	IndexBuildResult *result = palloc0(sizeof(IndexBuildResult));
	const CScanStoreOptions *options = (const CScanStoreOptions *) index->rd_options;
	CScanFill	fill = {0};

	check_relation(heap, index, info);
	cscan_store_init_fork(index, MAIN_FORKNUM, options ? options->row_group_blocks : CSCAN_STORE_DEFAULT_GROUP);

	/*
	 * CREATE TEMP TABLE ... (LIKE ... INCLUDING INDEXES) must go on, but nobody
	 * could share what is stored of a temporary table.
	 */
	if (RelationUsesLocalBuffers(heap) && index->rd_createSubid != InvalidSubTransactionId)
		ereport(NOTICE,
				(errmsg("index \"%s\" stays empty", RelationGetRelationName(index)),
				 errdetail("Table \"%s\" is temporary.", RelationGetRelationName(heap))));

	/*
	 * CREATE INDEX CONCURRENTLY lets writers go on that do not know of the
	 * index.  It is filled once it is valid.
	 */
	if (!info->ii_Concurrent && !RelationUsesLocalBuffers(heap))
		cscan_fill_index(heap, index, &fill);

	built_in_transaction |= !RelationUsesLocalBuffers(heap);

	/* The heap's rows have not been counted. */
	result->heap_tuples = -1;
	result->index_tuples = fill.rows;
	return result;
}

static void
store_buildempty(Relation index)
{
	const CScanStoreOptions *options = (const CScanStoreOptions *) index->rd_options;

	cscan_store_init_fork(index, INIT_FORKNUM, options ? options->row_group_blocks : CSCAN_STORE_DEFAULT_GROUP);
}

/* What a statement has marked stale last. */
typedef struct CScanMarked
{
	BlockNumber block;
	uint64		builds;			/* cscan_shared->builds, before that */
} CScanMarked;

/*
 * Mark the row's block stale.  Most rows of a statement come into the block of
 * the one before.  Its mark stays unless a group is built, and who begins to
 * build says so first, and looks at the heap then.  So if nobody has begun since,
 * whoever does so after this look will see that the block is not all-visible.
 */
static bool
store_insert(Relation index, Datum *values, bool *isnull, ItemPointer tid, Relation heap,
			 IndexUniqueCheck unique, bool unchanged, IndexInfo *info)
{
	CScanMarked *last = info->ii_AmCache;
	BlockNumber block = ItemPointerGetBlockNumber(tid);
	uint64		builds;

	(void) values;
	(void) isnull;
	(void) heap;
	(void) unique;
	(void) unchanged;
	if (!cscan_preloaded)
	{
		cscan_store_mark_stale(index, block);
		return false;
	}
	pg_memory_barrier();
	builds = pg_atomic_read_u64(&cscan_shared->builds);
	if (last != NULL && last->block == block && last->builds == builds)
		return false;
	cscan_store_mark_stale(index, block);
	if (last == NULL)
		last = info->ii_AmCache = MemoryContextAlloc(info->ii_Context, sizeof(CScanMarked));
	last->block = block;
	last->builds = builds;
	return false;
}

static IndexBulkDeleteResult *
store_bulkdelete(IndexVacuumInfo *info, IndexBulkDeleteResult *stats, IndexBulkDeleteCallback callback, void *state)
{
	Relation	heap = table_open(IndexGetRelation(RelationGetRelid(info->index), false), NoLock);

	stats = cscan_store_bulkdelete(info, heap, stats, callback, state);
	table_close(heap, NoLock);
	return stats;
}

static IndexBulkDeleteResult *
store_vacuumcleanup(IndexVacuumInfo *info, IndexBulkDeleteResult *stats)
{
	Relation	heap = table_open(IndexGetRelation(RelationGetRelid(info->index), false), NoLock);

	stats = cscan_store_vacuumcleanup(info, heap, stats);
	table_close(heap, NoLock);
	return stats;
}

static void
store_costestimate(PlannerInfo *root, IndexPath *path, double loop_count, Cost *startup, Cost *total,
				   Selectivity *selectivity, double *correlation, double *pages)
{
	(void) root;
	(void) path;
	(void) loop_count;
	*startup = *total = 1e10;
	*selectivity = 1;
	*correlation = 0;
	*pages = 0;
}

bool
cscan_store_is_planned(const IndexOptInfo *info)
{
	return (void *) info->amcostestimate == (void *) store_costestimate;
}

static char *
store_phase_name(int64 phase)
{
	switch (phase)
	{
		case PROGRESS_CREATEIDX_SUBPHASE_INITIALIZE:
			return "initializing";
		case CSCAN_PHASE_FILLING:
			return "filling row groups";
		default:
			return NULL;
	}
}

static bool
store_validate(Oid opclass)
{
	(void) opclass;
	return true;
}

static void
refuse_scan(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("access method \"cscan_columns\" does not support index scans")));
}

static IndexScanDesc
store_beginscan(Relation index, int nkeys, int norderbys)
{
	(void) index;
	(void) nkeys;
	(void) norderbys;
	refuse_scan();
	return NULL;
}

static void
store_rescan(IndexScanDesc scan, ScanKey keys, int nkeys, ScanKey orderbys, int norderbys)
{
	(void) scan;
	(void) keys;
	(void) nkeys;
	(void) orderbys;
	(void) norderbys;
	refuse_scan();
}

static void
store_endscan(IndexScanDesc scan)
{
	(void) scan;
}

Datum
cscan_columns_handler(PG_FUNCTION_ARGS)
{
	static const IndexAmRoutine routine = {
		.type = T_IndexAmRoutine,
		.amcanmulticol = true,
		CSCAN_AM_SUMMARIZING
		.amparallelvacuumoptions = VACUUM_OPTION_NO_PARALLEL,
		.ambuild = store_build,
		.ambuildempty = store_buildempty,
		.aminsert = store_insert,
		.ambulkdelete = store_bulkdelete,
		.amvacuumcleanup = store_vacuumcleanup,
		.amcostestimate = store_costestimate,
		.amoptions = store_reloptions,
		.ambuildphasename = store_phase_name,
		.amvalidate = store_validate,
		.ambeginscan = store_beginscan,
		.amrescan = store_rescan,
		.amendscan = store_endscan
	};

	PG_RETURN_POINTER(cscan_am_routine(&routine));
}
