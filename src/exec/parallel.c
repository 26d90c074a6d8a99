/*-------------------------------------------------------------------------
 *
 * parallel.c
 *		A CScan that the processes of a parallel query carry out together.
 *
 * The leader registers the scan when it sets up the shared memory, before
 * there are workers, and keeps the registration until the scan ends; workers
 * join it at their first fetch.  All of them ask for chunks of the one
 * registration, which counts as one scan for the policies.
 *
 * Where nothing could be registered they share PostgreSQL's own parallel scan,
 * or, if a bitmap drives the scan, divide the table among themselves.  The
 * leader alone makes the bitmap.
 *
 * Invariant: every chunk, and the head of a scan that may stop early, is taken
 * by exactly one process.  Each claims it in a map that all can see, and raises
 * an error if somebody was there before.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "access/tableam.h"
#include "port/atomics.h"
#include "storage/predicate.h"

#include "exec/exec.h"

#define MAP_WORDS	(CSCAN_MAX_CHUNKS / 32)

struct CScanParallel
{
	/* Set by the leader, before there are workers. */
	bool		registered;
	CScanTicket ticket;			/* if so */
	BlockNumber nblocks;
	BlockNumber head;			/* 0: none */
	CScanRange	span;
	uint32		chunk_blocks;
	dsa_pointer pages;			/* of a bitmap-driven scan: a CScanPages */
	int			nworkers;

	/* Changed by all, without a lock. */
	pg_atomic_uint32 head_taken;
	pg_atomic_uint32 next_chunk;	/* if it is not registered, but divided */
	pg_atomic_uint32 taken[MAP_WORDS];

	/* By each worker for itself; read when they have ended. */
	CScanCounts counts[FLEXIBLE_ARRAY_MEMBER];
};

static Size
own_size(int nworkers)
{
	return MAXALIGN(offsetof(CScanParallel, counts) + sizeof(CScanCounts) * nworkers);
}

/* PostgreSQL's own part follows ours; only a scan of a whole table has it. */
static ParallelTableScanDesc
core_part(CScanParallel *p)
{
	return (ParallelTableScanDesc) ((char *) p + own_size(p->nworkers));
}

Size
cscan_parallel_estimate(CustomScanState *css, ParallelContext *pcxt)
{
	Size		size = own_size(pcxt->nworkers);

	if (((CScanState *) css)->kind == CSCAN_WHOLE)
		size = add_size(size, table_parallelscan_estimate(css->ss.ss_currentRelation,
														  css->ss.ps.state->es_snapshot));
	return size;
}

/* Let the workers see what the leader's bitmap holds; without DSM there are none. */
static void
share_pages(CScanState *node, CScanParallel *p)
{
	dsa_area   *area = node->css.ss.ps.state->es_query_dsa;

	if (area == NULL)
		return;
	if (DsaPointerIsValid(p->pages))
		dsa_free(area, p->pages);
	p->pages = InvalidDsaPointer;
	if (node->pages)
	{
		p->pages = dsa_allocate_extended(area, node->pages->size, DSA_ALLOC_HUGE);
		memcpy(dsa_get_address(area, p->pages), node->pages, node->pages->size);
	}
}

/*
 * Find out what is to be read, register, and let the others know; nobody else
 * looks as yet.
 */
static void
begin(CScanState *node, CScanParallel *p)
{
	/* What the leader has of the last pass, it will not go on with. */
	if (node->scan)
	{
		ExecClearTuple(node->css.ss.ss_ScanTupleSlot);
		table_endscan(node->scan);
		node->scan = NULL;
	}
	node->plain = node->begun = node->finished = false;
	node->next_block = node->end_block = 0;

	cscan_exec_find_interest(node);
	share_pages(node, p);
	node->head = 0;
	if (node->first_rows && node->nranges > 0)
		node->head = cscan_exec_head(node);
	cscan_exec_register(node, true);

	p->registered = (node->reg != NULL);
	if (p->registered)
		p->ticket = cscan_registry_ticket(node->reg);
	else
	{
		node->chunk_blocks = cscan_shared->preferred_chunk_blocks;
		while (node->nblocks / node->chunk_blocks >= CSCAN_MAX_CHUNKS)
			node->chunk_blocks *= 2;
		node->nchunks = node->nblocks / node->chunk_blocks + 1;
	}
	p->nblocks = node->nblocks;
	p->head = node->head;
	p->span = node->span;
	p->chunk_blocks = node->chunk_blocks;
	pg_atomic_write_u32(&p->head_taken, p->head == 0);
	pg_atomic_write_u32(&p->next_chunk, Max(p->head, p->span.first) / p->chunk_blocks);
	for (int i = 0; i < MAP_WORDS; i++)
		pg_atomic_write_u32(&p->taken[i], 0);
	node->parallel = p;
	node->leader = true;
}

void
cscan_parallel_initialize(CustomScanState *css, ParallelContext *pcxt, void *coordinate)
{
	CScanState *node = (CScanState *) css;
	CScanParallel *p = coordinate;

	Assert(node->reg == NULL);
	memset(p, 0, own_size(pcxt->nworkers));
	p->nworkers = pcxt->nworkers;
	pg_atomic_init_u32(&p->head_taken, 0);
	pg_atomic_init_u32(&p->next_chunk, 0);
	for (int i = 0; i < MAP_WORDS; i++)
		pg_atomic_init_u32(&p->taken[i], 0);
	begin(node, p);
	if (node->kind == CSCAN_WHOLE)
		table_parallelscan_initialize(css->ss.ss_currentRelation, core_part(p),
									  css->ss.ps.state->es_snapshot);
}

/* Keep what the workers of a pass have counted. */
static void
collect_counts(CScanState *node)
{
	CScanParallel *p = node->parallel;

	if (node->nworkers < p->nworkers)
	{
		node->workers = MemoryContextAllocZero(node->css.ss.ps.state->es_query_cxt,
											   sizeof(CScanCounts) * p->nworkers);
		node->nworkers = p->nworkers;
	}
	for (int i = 0; i < p->nworkers; i++)
	{
		uint64	   *sum = (uint64 *) &node->workers[i];
		uint64	   *counted = (uint64 *) &p->counts[i];

		for (int k = 0; k < CSCAN_NCOUNTS; k++)
		{
			sum[k] += counted[k];
			counted[k] = 0;
		}
	}
}

/* The workers of the last pass have ended. */
void
cscan_parallel_reinitialize(CustomScanState *css, ParallelContext *pcxt, void *coordinate)
{
	CScanState *node = (CScanState *) css;
	CScanParallel *p = coordinate;

	(void) pcxt;
	collect_counts(node);
	if (node->reg)
		cscan_registry_rest(node->reg);
	if (node->kind == CSCAN_WHOLE)
		table_parallelscan_reinitialize(css->ss.ss_currentRelation, core_part(p));

	/*
	 * This comes before the node itself is told of a rescan.  What its
	 * conditions compare with stays the same (rewrite.c sees to that).
	 */
	if (outerPlanState(css))
		ExecReScan(outerPlanState(css));
	begin(node, p);
}

void
cscan_parallel_attach(CustomScanState *css, shm_toc *toc, void *coordinate)
{
	CScanState *node = (CScanState *) css;

	(void) toc;
	node->parallel = coordinate;
}

/* The first fetch of a process. */
TableScanDesc
cscan_parallel_begin(CScanState *node)
{
	CScanParallel *p = node->parallel;

	if (!p->registered && node->kind == CSCAN_WHOLE)
	{
		node->plain = true;
		node->counts.chunks += node->leader;
		node->counts.self += node->leader;
		return cscan_beginscan_parallel(node->css.ss.ss_currentRelation, core_part(p));
	}

	if (!node->leader)
	{
		node->nblocks = p->nblocks;
		node->head = p->head;
		node->span = p->span;
		node->chunk_blocks = p->chunk_blocks;
		node->nchunks = node->nblocks / node->chunk_blocks + 1;
		if (DsaPointerIsValid(p->pages))
			node->pages = dsa_get_address(node->css.ss.ps.state->es_query_dsa, p->pages);
	}
	return cscan_exec_beginscan(node);
}

/* Is it this process that reads the head of the scan? */
bool
cscan_parallel_take_head(CScanState *node)
{
	CScanParallel *p = node->parallel;

	/* A worker joins when it asks for something for the first time. */
	if (!node->begun)
	{
		node->begun = true;
		if (!node->leader && p->registered)
			node->reg = cscan_registry_join(&p->ticket);
	}
	return pg_atomic_read_u32(&p->head_taken) == 0 &&
		pg_atomic_exchange_u32(&p->head_taken, 1) == 0;
}

/*
 * Take a chunk without the ABM, to be read by this process: where nothing was
 * registered, and for a worker for which there was no room.
 */
bool
cscan_parallel_take(CScanState *node, uint32 *chunk)
{
	CScanParallel *p = node->parallel;

	if (!p->registered)
	{
		*chunk = pg_atomic_fetch_add_u32(&p->next_chunk, 1);
		if (*chunk * (uint64) p->chunk_blocks >= p->span.end || p->span.end <= p->head)
			return false;
		node->counts.chunks++;
	}
	else if (node->leader || !cscan_registry_take(&p->ticket, chunk))
		return false;
	node->counts.self++;
	cscan_parallel_count(node);
	return true;
}

/* False if somebody has taken that chunk before. */
bool
cscan_parallel_claim(CScanState *node, uint32 chunk)
{
	uint32		bit = UINT32_C(1) << (chunk % 32);

	return chunk < CSCAN_MAX_CHUNKS &&
		(pg_atomic_fetch_or_u32(&node->parallel->taken[chunk / 32], bit) & bit) == 0;
}

/*
 * Show the leader what this worker has counted so far.  It may be ended in the
 * middle, so it does that again and again.
 */
void
cscan_parallel_count(CScanState *node)
{
	if (!node->leader && ParallelWorkerNumber >= 0 && ParallelWorkerNumber < node->parallel->nworkers)
		node->parallel->counts[ParallelWorkerNumber] = node->counts;
}

/* The shared memory is about to go. */
void
cscan_parallel_shutdown(CustomScanState *css)
{
	CScanState *node = (CScanState *) css;

	if (node->parallel == NULL)
		return;
	if (node->leader)
		collect_counts(node);
	else
		cscan_parallel_count(node);
	cscan_exec_leave(node);
	node->parallel = NULL;
	node->leader = false;
	node->finished = true;
}
