/*-------------------------------------------------------------------------
 *
 * compat.h
 *		The differences between PostgreSQL 15 and 19, in one place.
 *
 * The rest of the code is written against the newest signatures, or against
 * the CSCAN_HAVE_* words below; nothing else looks at PG_VERSION_NUM.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CSCAN_COMPAT_H
#define CSCAN_COMPAT_H

#include "postgres.h"

#include "access/amapi.h"
#include "access/brin_revmap.h"
#include "access/heapam.h"
#include "access/relscan.h"
#include "access/tableam.h"
#include "catalog/pg_class.h"
#include "catalog/pg_proc.h"
#include "commands/explain.h"
#include "commands/vacuum.h"
#include "common/relpath.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/tidbitmap.h"
#include "nodes/pathnodes.h"
#include "optimizer/cost.h"
#include "optimizer/planner.h"
#include "parser/scansup.h"
#include "pgtime.h"
#include "storage/buf_internals.h"
#include "storage/bufmgr.h"
#include "storage/fd.h"
#include "storage/lock.h"
#include "storage/proc.h"
#include "storage/shmem.h"
#include "storage/smgr.h"
#include "tcop/tcopprot.h"
#include "utils/acl.h"
#include "utils/datetime.h"
#include "utils/guc.h"
#include "utils/hsearch.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/wait_event.h"

#if PG_VERSION_NUM < 150000
#error "cscan needs PostgreSQL 15 or later"
#endif

#if PG_VERSION_NUM >= 160000
#include "parser/parse_relation.h"
#include "storage/relfilelocator.h"
#else
#include "storage/relfilenode.h"
#endif
#if PG_VERSION_NUM >= 170000
#include "storage/read_stream.h"
#endif
#if PG_VERSION_NUM >= 180000
#include "commands/explain_format.h"
#include "commands/explain_state.h"
#include "executor/execScan.h"
#include "storage/aio.h"
#include "storage/aio_subsys.h"
#endif

/* 16: a count got another name; pgstat.h declares it */
#if PG_VERSION_NUM < 160000
#define cscan_autovacuum_count(stats)	((stats)->autovac_vacuum_count)
#else
#define cscan_autovacuum_count(stats)	((stats)->autovacuum_count)
#endif

/* 19: a worker that gives way to DROP DATABASE */
#ifndef BGWORKER_INTERRUPTIBLE
#define BGWORKER_INTERRUPTIBLE	0
#endif

/*
 * 17: several blocks in one read, and streams of such reads; 18: the reads are
 * asynchronous, and may be submitted in batches
 */
#define CSCAN_HAVE_VECTORED_IO		(PG_VERSION_NUM >= 170000)
#define CSCAN_HAVE_AIO				(PG_VERSION_NUM >= 180000)
#if !CSCAN_HAVE_VECTORED_IO
typedef struct ReadStream ReadStream;
#elif !CSCAN_HAVE_AIO
#define READ_STREAM_USE_BATCHING	0
#endif

/* 16: RelFileNode became RelFileLocator, its fields lost the "Node" */
#if PG_VERSION_NUM < 160000
#define RelFileLocator RelFileNode
#define RelFileLocatorEquals(a, b) RelFileNodeEquals(a, b)
#define cscan_relation_locator(rel) ((rel)->rd_node)
#define cscan_locator_tablespace(locator) ((locator).spcNode)
#else
#define cscan_relation_locator(rel) ((rel)->rd_locator)
#define cscan_locator_tablespace(locator) ((locator).spcOid)
#endif

/* 18: it also says which relations these are */
#if PG_VERSION_NUM < 180000
#define cscan_find_matching_subplans(state) ExecFindMatchingSubPlans(state, false)
#else
#define cscan_find_matching_subplans(state) ExecFindMatchingSubPlans(state, false, NULL)
#endif

/* 17: backend ids became process numbers */
static inline SMgrRelation
cscan_smgropen(RelFileLocator locator)
{
#if PG_VERSION_NUM < 170000
	return smgropen(locator, InvalidBackendId);
#else
	return smgropen(locator, INVALID_PROC_NUMBER);
#endif
}

/*
 * After an error outside of a transaction: give up I/O that was begun.  In 16
 * and 17 the resource owner does that.
 */
static inline void
cscan_abort_io(void)
{
#if PG_VERSION_NUM < 160000
	AbortBufferIO();
#elif PG_VERSION_NUM >= 180000
	pgaio_error_cleanup();
#endif
}

/* Close all storage manager objects; no I/O may be in flight. */
static inline void
cscan_smgr_forget_all(void)
{
#if PG_VERSION_NUM < 170000
	smgrcloseall();
#else
	smgrdestroyall();
#endif
}

/* The file name of a table's main fork; 18 returns it in a struct. */
static inline char *
cscan_relation_path(RelFileLocator locator)
{
#if PG_VERSION_NUM >= 180000
	return pstrdup(relpathperm(locator, MAIN_FORKNUM).str);
#else
	return relpathperm(locator, MAIN_FORKNUM);
#endif
}

/* 16: the number of frames in a strategy's ring is told */
static inline int
cscan_ring_size(BufferAccessStrategy strategy)
{
#if PG_VERSION_NUM >= 160000
	return GetAccessStrategyBufferCount(strategy);
#else
	(void) strategy;
	return Min(256 * 1024 / BLCKSZ, NBuffers / 8);
#endif
}

/* 16: there may be no page cache between the server and its files */
static inline bool
cscan_io_is_direct(void)
{
#if PG_VERSION_NUM >= 160000
	return (io_direct_flags & IO_DIRECT_DATA) != 0;
#else
	return false;
#endif
}

/*
 * 16: errors in a time zone's abbreviation are told.  Find what a name stands for: a zone,
 * or, if that is NULL, an offset in seconds to the east.  False for an abbreviation whose
 * offset changes, and for what is no name.
 */
static inline bool
cscan_decode_zone(const char *name, pg_tz **zone, int *east)
{
	char	   *lower = downcase_truncate_identifier(name, strlen(name), false);
	int			type;
#if PG_VERSION_NUM >= 160000
	DateTimeErrorExtra extra;

	if (DecodeTimezoneAbbrev(0, lower, &type, east, zone, &extra) != 0)
		type = RESERV;
#else
	type = DecodeTimezoneAbbrev(0, lower, east, zone);
#endif
	pfree(lower);
	switch (type)
	{
		case TZ:
		case DTZ:
			*zone = NULL;
			return true;
		case UNKNOWN_FIELD:
			*zone = strlen(name) > TZ_STRLEN_MAX ? NULL : pg_tzset(name);
			return *zone != NULL;
		default:
			return false;
	}
}

/* 18: with asynchronous I/O, reads give the kernel no advice before, whatever flags they have */
static inline bool
cscan_io_omits_advice(void)
{
#if PG_VERSION_NUM >= 180000
	return io_method != IOMETHOD_SYNC;
#else
	return false;
#endif
}

/* 18: do other processes make the reads that a process asks for? */
static inline bool
cscan_io_has_workers(void)
{
#if PG_VERSION_NUM >= 180000
	return io_method == IOMETHOD_WORKER;
#else
	return false;
#endif
}

/* 16: what a check hook hands on is in a memory context; NULL: out of memory */
static inline void *
cscan_guc_malloc(size_t size)
{
#if PG_VERSION_NUM >= 160000
	return guc_malloc(LOG, size);
#else
	return malloc(size);
#endif
}

/* 16: a custom scan says itself what kind of slot it fills */
#define CSCAN_HAVE_SLOT_OPS			(PG_VERSION_NUM >= 160000)

/* 18: ExecScan can be inlined for a node's own mix of qual and projection */
#define CSCAN_HAVE_SCAN_EXTENDED	(PG_VERSION_NUM >= 180000)

/*
 * Pin a page in the place of the last one.  If there is a stream, that must be
 * its next page.
 */
static inline void
cscan_heap_pin_page(HeapScanDesc scan, BlockNumber block, ReadStream *stream)
{
	if (BufferIsValid(scan->rs_cbuf))
		ReleaseBuffer(scan->rs_cbuf);
	scan->rs_cbuf = InvalidBuffer;
	CHECK_FOR_INTERRUPTS();
	scan->rs_cblock = block;
#if PG_VERSION_NUM >= 170000
	if (stream)
	{
		scan->rs_cbuf = read_stream_next_buffer(stream, NULL);
		if (!BufferIsValid(scan->rs_cbuf) || BufferGetBlockNumber(scan->rs_cbuf) != block)
			elog(ERROR, "block %u of table \"%s\" is not the next one of its read stream", block,
				 RelationGetRelationName(scan->rs_base.rs_rd));
		return;
	}
#else
	(void) stream;
#endif
	scan->rs_cbuf = ReadBufferExtended(scan->rs_base.rs_rd, MAIN_FORKNUM, block,
									   RBM_NORMAL, scan->rs_strategy);
}

/*
 * Bring the visible tuples of a page into the scan descriptor, as a heap
 * scan does in page-at-a-time mode.
 */
static inline void
cscan_heap_get_page(HeapScanDesc scan, BlockNumber block, ReadStream *stream)
{
#if PG_VERSION_NUM < 170000
	(void) stream;
	heapgetpage(&scan->rs_base, block);
#else
	cscan_heap_pin_page(scan, block, stream);
	heap_prepare_pagescan(&scan->rs_base);
#endif
}

/* 17: a bitmap scan says whether it needs the tuples; 19: flags */
static inline TableScanDesc
cscan_beginscan_bitmap(Relation rel, Snapshot snapshot)
{
#if PG_VERSION_NUM >= 190000
	return table_beginscan_bm(rel, snapshot, 0, NULL, 0);
#elif PG_VERSION_NUM >= 170000 && PG_VERSION_NUM < 180000
	return table_beginscan_bm(rel, snapshot, 0, NULL, true);
#else
	return table_beginscan_bm(rel, snapshot, 0, NULL);
#endif
}

/* 19: flags */
static inline TableScanDesc
cscan_beginscan_tid_range(Relation rel, Snapshot snapshot, ItemPointer min, ItemPointer max)
{
#if PG_VERSION_NUM >= 190000
	return table_beginscan_tidrange(rel, snapshot, min, max, 0);
#else
	return table_beginscan_tidrange(rel, snapshot, min, max);
#endif
}

/* 19: pruning may set bits of the visibility map */
static inline void
cscan_prune(HeapScanDesc scan, Buffer buffer)
{
#if PG_VERSION_NUM >= 190000
	heap_page_prune_opt(scan->rs_base.rs_rd, buffer, &scan->rs_vmbuffer, false);
#else
	heap_page_prune_opt(scan->rs_base.rs_rd, buffer);
#endif
}

/* 18: a bitmap's iterator gives a page's tuples in a separate call */
typedef struct CScanBitmapPage
{
	BlockNumber block;
	bool		recheck;
	int			ntuples;		/* -1: all of the page's */
	OffsetNumber offsets[MaxHeapTuplesPerPage];
} CScanBitmapPage;

#if PG_VERSION_NUM >= 180000

typedef TBMPrivateIterator CScanBitmapIterator;

static inline CScanBitmapIterator *
cscan_bitmap_begin(TIDBitmap *bitmap)
{
	return tbm_begin_private_iterate(bitmap);
}

static inline bool
cscan_bitmap_next(CScanBitmapIterator *iterator, CScanBitmapPage *page)
{
	TBMIterateResult result;

	if (!tbm_private_iterate(iterator, &result))
		return false;
	page->block = result.blockno;
	page->recheck = result.recheck;
	page->ntuples = result.lossy ? -1 :
		tbm_extract_page_tuple(&result, page->offsets, MaxHeapTuplesPerPage);
	return true;
}

static inline void
cscan_bitmap_end(CScanBitmapIterator *iterator)
{
	tbm_end_private_iterate(iterator);
}

#else

typedef TBMIterator CScanBitmapIterator;

static inline CScanBitmapIterator *
cscan_bitmap_begin(TIDBitmap *bitmap)
{
	return tbm_begin_iterate(bitmap);
}

static inline bool
cscan_bitmap_next(CScanBitmapIterator *iterator, CScanBitmapPage *page)
{
	TBMIterateResult *result = tbm_iterate(iterator);

	if (result == NULL)
		return false;
	page->block = result->blockno;
	page->recheck = result->recheck;
	page->ntuples = result->ntuples;
	if (result->ntuples > 0)
		memcpy(page->offsets, result->offsets, sizeof(OffsetNumber) * result->ntuples);
	return true;
}

static inline void
cscan_bitmap_end(CScanBitmapIterator *iterator)
{
	tbm_end_iterate(iterator);
}

#endif

/* 17: custom wait events */
static inline uint32
cscan_wait_event(const char *name)
{
#if PG_VERSION_NUM < 170000
	(void) name;
	return PG_WAIT_EXTENSION;
#else
	return WaitEventExtensionNew(name);
#endif
}

/* 19: signal handlers have a type of PostgreSQL's own */
#if PG_VERSION_NUM >= 190000
#define CSCAN_SIG_IGN	PG_SIG_IGN
#else
#define CSCAN_SIG_IGN	SIG_IGN
#endif

/* 19: the class of the buffer pin waits was renamed */
#define CSCAN_WAIT_CLASS_BUFFER		0x04000000U

/* 19: the buffer header's state grew to 64 bits, and there is no free list */
#if PG_VERSION_NUM >= 190000
typedef uint64 CScanBufferState;
#else
typedef uint32 CScanBufferState;
#endif

static inline CScanBufferState
cscan_buffer_state(BufferDesc *desc)
{
#if PG_VERSION_NUM >= 190000
	return pg_atomic_read_u64(&desc->state);
#else
	return pg_atomic_read_u32(&desc->state);
#endif
}

/* 16: buffer tags are made from a locator in another way */
static inline void
cscan_init_buffer_tag(BufferTag *tag, RelFileLocator locator, BlockNumber block)
{
#if PG_VERSION_NUM < 160000
	INIT_BUFFERTAG(*tag, locator, MAIN_FORKNUM, block);
#else
	InitBufferTag(tag, &locator, MAIN_FORKNUM, block);
#endif
}

/* Does a buffer hold that block?  Without a pin that may change at once. */
static inline bool
cscan_buffer_has(Buffer buffer, RelFileLocator locator, BlockNumber block)
{
	BufferTag	tag;

	cscan_init_buffer_tag(&tag, locator, block);
	return memcmp(&GetBufferDescriptor(buffer - 1)->tag, &tag, sizeof(BufferTag)) == 0;
}

/*
 * Unpin a buffer so that its frame is taken first, unless another process uses
 * it or has used it: a scan gives a page one use, whatever it does.
 */
static inline void
cscan_release_unwanted(Buffer buffer)
{
	BufferDesc *desc = GetBufferDescriptor(buffer - 1);
	CScanBufferState state = LockBufHdr(desc);
	bool		ours = BUF_STATE_GET_REFCOUNT(state) == 1 &&
		BUF_STATE_GET_USAGECOUNT(state) <= 1;

#if PG_VERSION_NUM >= 190000
	UnlockBufHdrExt(desc, state, 0, ours ? BUF_USAGECOUNT_MASK : 0, 0);
#else
	if (ours)
		state &= ~BUF_USAGECOUNT_MASK;
	UnlockBufHdr(desc, state);
#endif
	ReleaseBuffer(buffer);
}

/*
 * Make an unpinned buffer the very next to be reused, if it is clean and
 * unused since.  Best effort, and safe: the free list checks pins and usage
 * again.  19 has no free list; there the clock sweep finds it.
 */
static inline void
cscan_buffer_is_next(Buffer buffer, RelFileLocator locator, BlockNumber block)
{
#if PG_VERSION_NUM < 190000
	BufferDesc *desc = GetBufferDescriptor(buffer - 1);
	CScanBufferState state = LockBufHdr(desc);
	bool		ours = cscan_buffer_has(buffer, locator, block) &&
		BUF_STATE_GET_REFCOUNT(state) == 0 &&
		BUF_STATE_GET_USAGECOUNT(state) <= 1 && !(state & BM_DIRTY);

	/* One use is a scan's; more show a process that wants the page itself. */
	if (ours)
		state &= ~BUF_USAGECOUNT_MASK;
	UnlockBufHdr(desc, state);
	if (ours)
		StrategyFreeBuffer(desc);
#else
	(void) buffer;
	(void) locator;
	(void) block;
#endif
}

/* 19: a parallel scan has flags */
static inline TableScanDesc
cscan_beginscan_parallel(Relation rel, ParallelTableScanDesc pscan)
{
#if PG_VERSION_NUM >= 190000
	return table_beginscan_parallel(rel, pscan, 0);
#else
	return table_beginscan_parallel(rel, pscan);
#endif
}

/* 16: permissions moved from the range table to lists of their own */
static inline void
cscan_check_permissions(PlannedStmt *stmt)
{
#if PG_VERSION_NUM < 160000
	ExecCheckRTPerms(stmt->rtable, true);
#else
	ExecCheckPermissions(stmt->rtable, stmt->permInfos, true);
#endif
}

/* 18: a lock that cannot be had may be logged */
static inline bool
cscan_try_session_lock(const LOCKTAG *tag, LOCKMODE mode)
{
#if PG_VERSION_NUM >= 180000
	return LockAcquireExtended(tag, mode, true, true, false, NULL, false) != LOCKACQUIRE_NOT_AVAIL;
#else
	return LockAcquireExtended(tag, mode, true, true, false, NULL) != LOCKACQUIRE_NOT_AVAIL;
#endif
}

/* 18: what is disabled is counted; before, it costs a lot */
static inline Cost
cscan_disabled_cost(bool enabled)
{
#if PG_VERSION_NUM < 180000
	return enabled ? 0 : disable_cost;
#else
	(void) enabled;
	return 0;
#endif
}

static inline bool
cscan_path_is_disabled(const Path *path)
{
#if PG_VERSION_NUM < 180000
	return path->startup_cost >= disable_cost;
#else
	return path->disabled_nodes > 0;
#endif
}

/* 19: what is disabled is fixed for each table when its planning begins */
#if PG_VERSION_NUM >= 190000

typedef uint64 CScanIndexScans;

static inline CScanIndexScans
cscan_disable_index_scans(RelOptInfo *rel)
{
	CScanIndexScans saved = rel->pgs_mask;

	rel->pgs_mask &= ~(PGS_INDEXSCAN | PGS_INDEXONLYSCAN);
	return saved;
}

static inline void
cscan_restore_index_scans(RelOptInfo *rel, CScanIndexScans saved)
{
	rel->pgs_mask = saved;
}

#else

typedef struct CScanIndexScans
{
	bool		indexscan;
	bool		indexonlyscan;
} CScanIndexScans;

static inline CScanIndexScans
cscan_disable_index_scans(RelOptInfo *rel)
{
	CScanIndexScans saved = {enable_indexscan, enable_indexonlyscan};

	(void) rel;
	enable_indexscan = enable_indexonlyscan = false;
	return saved;
}

static inline void
cscan_restore_index_scans(RelOptInfo *rel, CScanIndexScans saved)
{
	(void) rel;
	enable_indexscan = saved.indexscan;
	enable_indexonlyscan = saved.indexonlyscan;
}

#endif

/* 19: the planner is told about EXPLAIN */
#if PG_VERSION_NUM >= 190000
#define CSCAN_PLANNER_PARAMS	Query *parse, const char *query_string, \
	int cursorOptions, ParamListInfo boundParams, ExplainState *es
#define CSCAN_PLANNER_ARGS		parse, query_string, cursorOptions, boundParams, es
#else
#define CSCAN_PLANNER_PARAMS	Query *parse, const char *query_string, \
	int cursorOptions, ParamListInfo boundParams
#define CSCAN_PLANNER_ARGS		parse, query_string, cursorOptions, boundParams
#endif

static inline PlannedStmt *
cscan_plan_query(Query *query, const char *string)
{
#if PG_VERSION_NUM >= 190000
	return pg_plan_query(query, string, CURSOR_OPT_PARALLEL_OK, NULL, NULL);
#else
	return pg_plan_query(query, string, CURSOR_OPT_PARALLEL_OK, NULL);
#endif
}

/* 19: one size */
static inline HTAB *
cscan_shmem_hash(const char *name, int size, HASHCTL *info)
{
#if PG_VERSION_NUM >= 190000
	return ShmemInitHash(name, size, info, HASH_ELEM | HASH_BLOBS);
#else
	return ShmemInitHash(name, size, size, info, HASH_ELEM | HASH_BLOBS | HASH_FIXED_SIZE);
#endif
}

/* 18: the word goes before the declaration */
#if PG_VERSION_NUM < 180000
#define pg_noreturn _Noreturn
#endif

/* 16: indexes that know blocks only leave updates heap-only */
#if PG_VERSION_NUM >= 160000
#define CSCAN_AM_SUMMARIZING	.amsummarizing = true,
#else
#define CSCAN_AM_SUMMARIZING
#endif

/* 19: an access method's functions are in a struct that is never freed */
static inline const void *
cscan_am_routine(const IndexAmRoutine *routine)
{
#if PG_VERSION_NUM < 190000
	IndexAmRoutine *copy = makeNode(IndexAmRoutine);

	*copy = *routine;
	return copy;
#else
	return routine;
#endif
}

/* 18: a query with a GROUP BY has a range table entry more */
static inline bool
cscan_explain_prefixes(const ExplainState *es)
{
#if PG_VERSION_NUM < 180000
	return list_length(es->rtable) > 1 || es->verbose;
#else
	return es->rtable_size > 1 || es->verbose;
#endif
}

/* 16: redundant keys are left out of the list by which PostgreSQL groups */
static inline List *
cscan_group_clause(PlannerInfo *root)
{
#if PG_VERSION_NUM < 160000
	return root->parse->groupClause;
#else
	return root->processed_groupClause;
#endif
}

/* 18: what is disabled is counted */
static inline void
cscan_copy_disabled(Path *path, const Path *child)
{
#if PG_VERSION_NUM < 180000
	(void) path;
	(void) child;
#else
	path->disabled_nodes = child->disabled_nodes;
#endif
}

/* 19: a tuple descriptor is finished before it is used */
static inline void
cscan_finish_tuple_desc(TupleDesc desc)
{
#if PG_VERSION_NUM >= 190000
	TupleDescFinalize(desc);
#else
	(void) desc;
#endif
}

/* 19: the states of sums of bigints are sent in another form */
#define CSCAN_SENDS_BIGINT_SUMS		(PG_VERSION_NUM < 190000)

/* 16: one function for the privileges on all kinds of objects */
static inline AclResult
cscan_function_aclcheck(Oid function, Oid user)
{
#if PG_VERSION_NUM < 160000
	return pg_proc_aclcheck(function, user, ACL_EXECUTE);
#else
	return object_aclcheck(ProcedureRelationId, function, user, ACL_EXECUTE);
#endif
}

/* 17: there is a privilege to maintain tables */
static inline bool
cscan_may_maintain(Oid relid)
{
#if PG_VERSION_NUM < 160000
	return pg_class_ownercheck(relid, GetUserId());
#elif PG_VERSION_NUM < 170000
	return object_ownercheck(RelationRelationId, relid, GetUserId());
#else
	return pg_class_aclcheck(relid, GetUserId(), ACL_MAINTAIN) == ACLCHECK_OK;
#endif
}

/* 18: it asks whether this is an ANALYZE */
static inline void
cscan_vacuum_delay_point(void)
{
#if PG_VERSION_NUM < 180000
	vacuum_delay_point();
#else
	vacuum_delay_point(false);
#endif
}

/* 16: another name of the subtransaction that gave a table a new file */
static inline bool
cscan_is_new_in_transaction(Relation rel)
{
#if PG_VERSION_NUM < 160000
	SubTransactionId newest = rel->rd_newRelfilenodeSubid | rel->rd_firstRelfilenodeSubid;
#else
	SubTransactionId newest = rel->rd_newRelfilelocatorSubid | rel->rd_firstRelfilelocatorSubid;
#endif

	return (rel->rd_createSubid | newest) != InvalidSubTransactionId;
}

/* 17: what a snapshot sees is never removed before it */
static inline bool
cscan_snapshots_may_be_too_old(void)
{
#if PG_VERSION_NUM < 170000
	return old_snapshot_threshold >= 0;
#else
	return false;
#endif
}

/* 19: a set, not a list */
static inline bool
cscan_is_result_relation(const PlannedStmt *stmt, Index rti)
{
#if PG_VERSION_NUM < 190000
	return list_member_int(stmt->resultRelations, (int) rti);
#else
	return bms_is_member((int) rti, stmt->resultRelationRelids);
#endif
}

/* 17: without a snapshot, which served old_snapshot_threshold */
static inline BrinRevmap *
cscan_brin_begin(Relation index, BlockNumber *range_blocks)
{
#if PG_VERSION_NUM < 170000
	return brinRevmapInitialize(index, range_blocks, NULL);
#else
	return brinRevmapInitialize(index, range_blocks);
#endif
}

static inline BrinTuple *
cscan_brin_get(BrinRevmap *revmap, BlockNumber block, Buffer *buffer, OffsetNumber *offset, Size *size)
{
#if PG_VERSION_NUM < 170000
	return brinGetTupleForHeapBlock(revmap, block, buffer, offset, size, BUFFER_LOCK_SHARE, NULL);
#else
	return brinGetTupleForHeapBlock(revmap, block, buffer, offset, size, BUFFER_LOCK_SHARE);
#endif
}

#endif							/* CSCAN_COMPAT_H */
