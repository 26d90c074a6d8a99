/*-------------------------------------------------------------------------
 *
 * shared.c
 *		Lays out the shared memory; see shared.h for what is in it.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "storage/ipc.h"
#include "storage/shmem.h"

#include "shared/sharing.h"

#define CSCAN_TRANCHE	"cscan"

CScanShared *cscan_shared;
CScanSharedScan *cscan_scans;
CScanSharedTable *cscan_tables;
CScanPool	cscan_pool;

static shmem_request_hook_type prev_shmem_request_hook;
static shmem_startup_hook_type prev_shmem_startup_hook;

/*
 * The share bounds what is pinned.  Blocks that no scan wants are not pinned,
 * and their frames go to any process that needs one.  With these the pool may
 * have three quarters more, but never touches an eighth of all buffers.
 */
#define CSCAN_ROOM_FACTOR	1.75
#define CSCAN_MAX_ROOM		0.875

void
cscan_shared_set_budget(void)
{
	bool		is_auto = cscan_buffer_share == CSCAN_AUTO;
	double		share = cscan_buffer_share;

	/* From a number on, auto begins with that number. */
	if (is_auto && !cscan_shared->share_is_auto)
		cscan_balance_begin(&cscan_shared->balance, cscan_shared->share);
	if (is_auto)
		share = cscan_shared->balance.share;
	cscan_shared->share_is_auto = is_auto;
	cscan_shared->share = share;
	cscan_pool_set_limits(&cscan_pool, (uint32_t) (NBuffers * share),
						  (uint32_t) (NBuffers * Min(share * CSCAN_ROOM_FACTOR, CSCAN_MAX_ROOM)));
}

uint32
cscan_shared_most_room(void)
{
	return (uint32) (NBuffers * CSCAN_MAX_ROOM);
}

/*
 * Several processes copy faster than the ABM, but only for their own scan.  So no
 * other scan may want the chunk.  They may be those of a parallel scan, unless I/O
 * workers copy for the ABM, or of different scans.
 */
bool
cscan_shared_may_copy_soon(int scan, uint32 *chunk)
{
	const CScanScan *s = &cscan_pool.scans[scan];

	return cscan_scans[scan].copies > 0 && s->used &&
		(s->nhelpers > 0 ? !cscan_io_has_workers() :
		 cscan_pool_running(&cscan_pool) > 1 && cscan_scans[scan].copied_loads >= CSCAN_COPIED_LOADS) &&
		!cscan_pool_has_refused(&cscan_pool, scan) &&
		cscan_pool_peek(&cscan_pool, scan, chunk) &&
		cscan_pool_absent_for(&cscan_pool, scan, *chunk) &&
		cscan_pool_interested(&cscan_pool, *chunk) <= 1 &&
		!cscan_space_is_columnar(cscan_pool_space_of(&cscan_pool, *chunk));
}

/* Where chunks come in order, none may be passed over that is being loaded. */
bool
cscan_shared_may_come(int scan, uint32 chunk, uint32 position)
{
	return !cscan_pool.state->traits[cscan_pool.scans[scan].policy].in_order ||
		chunk == cscan_pool_next_wanted(&cscan_pool, scan, position);
}

bool
cscan_shared_may_copy(int scan, uint32 *chunk)
{
	return cscan_shared_may_copy_soon(scan, chunk) &&
		cscan_shared_may_come(scan, *chunk, cscan_pool.scans[scan].position);
}

static uint32
preferred_chunk_blocks(void)
{
	return Max(1, (uint32) cscan_chunk_size / (BLCKSZ / 1024));
}

/*
 * Slots for the largest share.  A small pool may have smaller chunks than
 * preferred, but then it holds 8 of them.  Partitions may be many and small,
 * so there are slots for tables of 1 MB.
 */
#define SMALL_TABLE_BLOCKS	(1024 * 1024 / BLCKSZ)

static int
max_slots(void)
{
	return 16 + (int) (NBuffers * CSCAN_MAX_ROOM / Min(preferred_chunk_blocks(), SMALL_TABLE_BLOCKS));
}

/* A parallel worker may be in the middle of several scans of a plan. */
static int
max_helpers(void)
{
	return 4 * max_worker_processes;
}

/*
 * Chunk numbers: for all chunks of four of the largest tables, and for 16
 * chunks per table on average.
 */
static CScanLimits
limits(void)
{
	CScanLimits limits;

	limits.max_scans = cscan_max_scans;
	limits.max_spaces = cscan_max_tables;
	limits.max_slots = max_slots();
	limits.max_helpers = max_helpers();
	limits.max_chunks = Max(4 * CSCAN_MAX_CHUNKS, (uint32) cscan_max_tables * 16 / 64 * 64);
	return limits;
}

Buffer
cscan_find_buffer(RelFileLocator locator, BlockNumber block)
{
	BufferTag	tag;
	uint32		hash;
	LWLock	   *lock;
	int			found;

	cscan_init_buffer_tag(&tag, locator, block);
	hash = BufTableHashCode(&tag);
	lock = BufMappingPartitionLock(hash);
	LWLockAcquire(lock, LW_SHARED);
	found = BufTableLookup(&tag, hash);
	LWLockRelease(lock);
	return found >= 0 ? found + 1 : InvalidBuffer;
}

/* Lay out the parts.  If base is NULL, only add up their sizes. */
static Size
lay_out(char *base, CScanPool *pool)
{
	Size		size = 0;
	Size		scans = cscan_max_scans;

#define PART(pointer, type, count) \
	do { \
		(pointer) = (type *) (base + size); \
		size = add_size(size, MAXALIGN(mul_size(sizeof(type), (count)))); \
	} while (0)

	CScanShared *shared;
	CScanSharedScan *shared_scans;
	CScanSharedTable *shared_tables;
	CScanTraceRing *trace_ring;
	char	   *sharing;
	char	   *policy;
	CScanLimits pool_limits = limits();

	PART(shared, CScanShared, 1);
	PART(shared_scans, CScanSharedScan, scans);
	PART(shared_tables, CScanSharedTable, cscan_max_tables);
	PART(trace_ring, CScanTraceRing, 1);
	PART(sharing, char, cscan_sharing_size());
	PART(policy, char, cscan_pool_size(&pool_limits));
#undef PART

	if (base != NULL)
	{
		cscan_shared = shared;
		cscan_scans = shared_scans;
		cscan_tables = shared_tables;
		cscan_trace_ring = trace_ring;
		cscan_sharing_attach(sharing);
		cscan_pool_attach(pool, policy, &pool_limits);
		pool->record = cscan_trace_ring_record;
	}
	return size;
}

void
cscan_shared_describe_worker(BackgroundWorker *worker, const char *name, const char *function,
							 BgWorkerStartTime start, int restart)
{
	memset(worker, 0, sizeof(*worker));
	worker->bgw_flags = BGWORKER_SHMEM_ACCESS | BGWORKER_BACKEND_DATABASE_CONNECTION;
	worker->bgw_start_time = start;
	worker->bgw_restart_time = restart;
	strlcpy(worker->bgw_library_name, "cscan", sizeof(worker->bgw_library_name));
	strlcpy(worker->bgw_function_name, function, sizeof(worker->bgw_function_name));
	strlcpy(worker->bgw_name, name, BGW_MAXLEN);
	strlcpy(worker->bgw_type, name, BGW_MAXLEN);
}

static void
shmem_request(void)
{
	CScanPool	ignored;

	if (prev_shmem_request_hook)
		prev_shmem_request_hook();
	RequestAddinShmemSpace(lay_out(NULL, &ignored));
	RequestNamedLWLockTranche(CSCAN_TRANCHE, 1);
}

static void
shmem_startup(void)
{
	CScanPool	ignored;
	CScanLimits pool_limits = limits();
	bool		found;
	char	   *base;

	if (prev_shmem_startup_hook)
		prev_shmem_startup_hook();

	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	base = ShmemInitStruct("cscan", lay_out(NULL, &ignored), &found);
	lay_out(base, &cscan_pool);
	if (!found)
	{
		memset(cscan_shared, 0, sizeof(CScanShared));
		cscan_shared->lock = &(GetNamedLWLockTranche(CSCAN_TRANCHE))->lock;
		cscan_shared->preferred_chunk_blocks = preferred_chunk_blocks();
		pg_atomic_init_u32(&cscan_shared->lock_queue, 0);
		pg_atomic_init_u64(&cscan_shared->scans_took, 0);
		pg_atomic_init_u64(&cscan_shared->built.n, 0);
		pg_atomic_init_u64(&cscan_shared->builds, 0);
		for (int i = 0; i < CSCAN_MAX_BUILT; i++)
			pg_atomic_init_u32(&cscan_shared->built.dbid[i], InvalidOid);
		cscan_shared->next_serial = 1;
		cscan_shared->stats_reset = GetCurrentTimestamp();
		ConditionVariableInit(&cscan_shared->released);

		cscan_trace_ring->reader = NULL;
		cscan_sharing_init();
		memset(cscan_scans, 0, sizeof(CScanSharedScan) * cscan_max_scans);
		memset(cscan_tables, 0, sizeof(CScanSharedTable) * cscan_max_tables);
		for (int i = 0; i < cscan_max_scans; i++)
		{
			ConditionVariableInit(&cscan_scans[i].cv);
			pg_atomic_init_u32(&cscan_scans[i].progress, 0);
		}

		cscan_pool_init(&cscan_pool, &pool_limits);
		cscan_shared->share = CSCAN_BALANCE_START;
		cscan_shared_set_budget();
	}
	LWLockRelease(AddinShmemInitLock);
}

void
cscan_shared_init(void)
{
	prev_shmem_request_hook = shmem_request_hook;
	shmem_request_hook = shmem_request;
	prev_shmem_startup_hook = shmem_startup_hook;
	shmem_startup_hook = shmem_startup;
}
