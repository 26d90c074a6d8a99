/*-------------------------------------------------------------------------
 *
 * vacuum.c
 *		What VACUUM does to a column store.
 *
 * VACUUM asks which of the index's tuples go.  The TIDs of stored rows cannot
 * tell: pruning may have moved a row's root elsewhere.  But VACUUM knows each
 * root that dies, its offset is at most the largest one that was ever in the
 * entry, and its block is not all-visible.  So for each such block that is
 * not stale yet all these offsets are asked for.  A block of which one goes
 * becomes stale; more than necessary do no harm.
 *
 * Afterwards blocks have become all-visible.  So groups that are whole and
 * gain enough are built.  VACUUM must come to its end whatever comes of that:
 * an error there rolls a subtransaction back, and is a warning.  A parallel
 * VACUUM has none: its leader must not take its workers' errors for its own.
 *
 *-------------------------------------------------------------------------
 */
#include "store.h"

#include "access/visibilitymap.h"
#include "access/xact.h"
#include "utils/memutils.h"
#include "utils/resowner.h"

static bool
any_goes(BlockNumber block, uint32 max_offset, IndexBulkDeleteCallback callback, void *state)
{
	for (uint32 offset = FirstOffsetNumber; offset <= max_offset; offset++)
	{
		ItemPointerData tid;

		ItemPointerSet(&tid, block, offset);
		if (callback(&tid, state))
			return true;
	}
	return false;
}

IndexBulkDeleteResult *
cscan_store_bulkdelete(IndexVacuumInfo *info, Relation heap, IndexBulkDeleteResult *stats,
					   IndexBulkDeleteCallback callback, void *state)
{
	CScanStoreMeta *meta = palloc(sizeof(CScanStoreMeta));
	Buffer		vm_buffer = InvalidBuffer;
	uint8	   *gone;

	if (stats == NULL)
		stats = palloc0(sizeof(IndexBulkDeleteResult));
	cscan_store_read_meta(info->index, meta);
	gone = palloc(CSCAN_STORE_BITMAP_BYTES(meta->group_blocks));
	for (uint32 group = 0; group < meta->ngroups; group++)
	{
		BlockNumber first = group * meta->group_blocks;
		CScanGroup	copy;
		bool		any = false;

		cscan_vacuum_delay_point();
		if (!cscan_store_read_group(info->index, group, &copy))
			continue;
		memset(gone, 0, CSCAN_STORE_BITMAP_BYTES(meta->group_blocks));
		for (uint32 i = 0; i < copy.serving.covered; i++)
		{
			if (cscan_has_bit(copy.stale, i) ||
				(visibilitymap_get_status(heap, first + i, &vm_buffer) & VISIBILITYMAP_ALL_VISIBLE))
				continue;
			if (any_goes(first + i, copy.serving.max_offset, callback, state))
			{
				cscan_set_bit(gone, i);
				any = true;
			}
		}
		if (any)
			cscan_store_mark_all_stale(info->index, copy.block, gone);
		cscan_store_free_group(&copy);
	}
	if (BufferIsValid(vm_buffer))
		ReleaseBuffer(vm_buffer);
	pfree(gone);
	pfree(meta);
	return stats;
}

/* The numbers that VACUUM reports and pg_class gets. */
static void
count_rows(Relation index, IndexBulkDeleteResult *stats)
{
	CScanStoreMeta *meta = palloc(sizeof(CScanStoreMeta));

	cscan_store_read_meta(index, meta);
	stats->num_pages = RelationGetNumberOfBlocks(index);
	stats->num_index_tuples = 0;
	stats->estimated_count = true;
	for (uint32 group = 0; group < meta->ngroups; group++)
	{
		CScanGroup	copy;

		if (cscan_store_read_group(index, group, &copy))
			stats->num_index_tuples += copy.serving.nrows;
		cscan_store_free_group(&copy);
	}
	pfree(meta);
}

static void
fill_and_count(IndexVacuumInfo *info, Relation heap, IndexBulkDeleteResult *stats)
{
	CScanFill	fill = {.in_vacuum = true,.whole_groups = true};

	if (info->index->rd_index->indisvalid && !RelationUsesLocalBuffers(heap))
		cscan_fill_index(heap, info->index, &fill);
	count_rows(info->index, stats);
}

/* The same.  Only what ends VACUUM ends this with an error. */
static void
fill_safely(IndexVacuumInfo *info, Relation heap, IndexBulkDeleteResult *stats)
{
	MemoryContext caller = CurrentMemoryContext;
	MemoryContext context = AllocSetContextCreate(caller, "cscan vacuum", ALLOCSET_DEFAULT_SIZES);
	ResourceOwner owner = CurrentResourceOwner;
	ErrorData  *error = NULL;

	BeginInternalSubTransaction(NULL);
	MemoryContextSwitchTo(context);
	PG_TRY();
	{
		fill_and_count(info, heap, stats);
		ReleaseCurrentSubTransaction();
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(caller);
		error = CopyErrorData();
		FlushErrorState();
		RollbackAndReleaseCurrentSubTransaction();
	}
	PG_END_TRY();
	MemoryContextSwitchTo(caller);
	CurrentResourceOwner = owner;
	MemoryContextDelete(context);
	if (error == NULL)
		return;
	if (error->sqlerrcode == ERRCODE_QUERY_CANCELED)
		ReThrowError(error);
	ereport(WARNING,
			(errcode(error->sqlerrcode),
			 errmsg("could not build row groups of index \"%s\": %s", RelationGetRelationName(info->index), error->message),
			 error->detail ? errdetail_internal("%s", error->detail) : 0,
			 error->hint ? errhint("%s", error->hint) : 0));
	FreeErrorData(error);
}

IndexBulkDeleteResult *
cscan_store_vacuumcleanup(IndexVacuumInfo *info, Relation heap, IndexBulkDeleteResult *stats)
{
	if (info->analyze_only)
		return stats;
	if (stats == NULL)
		stats = palloc0(sizeof(IndexBulkDeleteResult));
	if (IsInParallelMode())
		fill_and_count(info, heap, stats);
	else
		fill_safely(info, heap, stats);
	return stats;
}
