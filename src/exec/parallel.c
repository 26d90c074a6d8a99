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
 * Where nothing could be registered they share PostgreSQL's own parallel scan.
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

	/* Changed by all, without a lock. */
	pg_atomic_uint32 head_taken;
	pg_atomic_uint64 counts[5]; /* what workers have counted: a CScanCounts */
	pg_atomic_uint32 taken[MAP_WORDS];
};

/* PostgreSQL's own part follows ours. */
static ParallelTableScanDesc
core_part(CScanParallel *p)
{
	return (ParallelTableScanDesc) ((char *) p + MAXALIGN(sizeof(CScanParallel)));
}

Size
cscan_parallel_estimate(CustomScanState *css, ParallelContext *pcxt)
{
	(void) pcxt;
	return add_size(MAXALIGN(sizeof(CScanParallel)),
					table_parallelscan_estimate(css->ss.ss_currentRelation,
												css->ss.ps.state->es_snapshot));
}

/* Register, and let the others know; nobody else looks as yet. */
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

	/* It may be long until anybody reads; the lock comes before the end is fixed. */
	PredicateLockRelation(node->css.ss.ss_currentRelation, node->css.ss.ps.state->es_snapshot);
	node->nblocks = RelationGetNumberOfBlocks(node->css.ss.ss_currentRelation);
	node->head = 0;
	if (node->first_rows)
		node->head = Min(node->nblocks, cscan_shared->preferred_chunk_blocks);
	node->reg = NULL;
	cscan_exec_register(node, true);

	p->registered = (node->reg != NULL);
	if (p->registered)
	{
		p->ticket = cscan_registry_ticket(node->reg);
		node->counts.chunks += node->nchunks - node->head / node->chunk_blocks;
	}
	p->nblocks = node->nblocks;
	p->head = node->head;
	pg_atomic_write_u32(&p->head_taken, p->head == 0);
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

	(void) pcxt;
	pg_atomic_init_u32(&p->head_taken, 0);
	for (int i = 0; i < (int) lengthof(p->counts); i++)
		pg_atomic_init_u64(&p->counts[i], 0);
	for (int i = 0; i < MAP_WORDS; i++)
		pg_atomic_init_u32(&p->taken[i], 0);
	begin(node, p);
	table_parallelscan_initialize(css->ss.ss_currentRelation, core_part(p),
								  css->ss.ps.state->es_snapshot);
}

/* The workers of the last pass have ended. */
void
cscan_parallel_reinitialize(CustomScanState *css, ParallelContext *pcxt, void *coordinate)
{
	CScanState *node = (CScanState *) css;
	CScanParallel *p = coordinate;

	(void) pcxt;
	cscan_exec_leave(node);
	table_parallelscan_reinitialize(css->ss.ss_currentRelation, core_part(p));
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
	Relation	rel = node->css.ss.ss_currentRelation;
	TableScanDesc scan;

	if (!p->registered)
	{
		node->plain = true;
		node->counts.chunks += node->leader;
		node->counts.self += node->leader;
		return cscan_beginscan_parallel(rel, core_part(p));
	}

	if (!node->leader)
	{
		node->nblocks = p->nblocks;
		node->head = p->head;
		node->chunk_blocks = p->ticket.chunk_blocks;
		node->nchunks = (node->nblocks - 1) / node->chunk_blocks + 1;
	}
	scan = table_beginscan_strat(rel, node->css.ss.ps.state->es_snapshot,
								 0, NULL, true, false);
	((HeapScanDesc) scan)->rs_cindex = ((HeapScanDesc) scan)->rs_ntuples = 0;
	return scan;
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
		if (!node->leader)
			node->reg = cscan_registry_join(&p->ticket);
	}
	return pg_atomic_read_u32(&p->head_taken) == 0 &&
		pg_atomic_exchange_u32(&p->head_taken, 1) == 0;
}

/* A worker for which there was no room takes a chunk, to read it itself. */
bool
cscan_parallel_take(CScanState *node, uint32 *chunk)
{
	if (node->leader || !cscan_registry_take(&node->parallel->ticket, chunk))
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

/* Tell the leader what this worker has counted since it told it last. */
void
cscan_parallel_count(CScanState *node)
{
	uint64	   *counts = (uint64 *) &node->counts;

	if (node->leader)
		return;
	for (int i = 0; i < (int) lengthof(node->parallel->counts); i++)
	{
		pg_atomic_fetch_add_u64(&node->parallel->counts[i], (int64) counts[i]);
		counts[i] = 0;
	}
}

/* The shared memory is about to go. */
void
cscan_parallel_shutdown(CustomScanState *css)
{
	CScanState *node = (CScanState *) css;
	uint64	   *others = (uint64 *) &node->others;

	if (node->parallel == NULL)
		return;
	if (node->leader)
	{
		for (int i = 0; i < (int) lengthof(node->parallel->counts); i++)
			others[i] += pg_atomic_read_u64(&node->parallel->counts[i]);
	}
	else
		cscan_parallel_count(node);
	cscan_exec_leave(node);
	node->parallel = NULL;
	node->leader = false;
	node->finished = true;
}
