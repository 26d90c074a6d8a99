/*-------------------------------------------------------------------------
 *
 * parallel.c
 *		What the processes of a parallel CScan share, and which of them reads
 *		what.
 *
 *		publish, learn	the leader tells workers what is to be read
 *		claim			note that this process reads a chunk
 *		take, take_head	take a chunk, or the head, without the ABM
 *		open, go_on		read a chunk bit by bit, so that others can help
 *		help, close		read bits of another process's chunk; nobody may any more
 *		count, collect	the workers' counts
 *
 * The leader registers the scan before there are workers, and keeps the
 * registration until the scan ends.  Workers join it at their first fetch.
 * All of them ask for chunks of this registration, which counts as one scan
 * for the policies.  The same holds for a family.  Its first member, the host,
 * has what concerns all members.
 *
 * If nothing could be registered, the processes share PostgreSQL's own
 * parallel scan or, if a bitmap drives the scan, divide the table among
 * themselves.
 *
 * A process reads a chunk from the ABM bit by bit, a few blocks at a time.  If
 * no chunk is left, it helps the others with theirs.  Else one of them might
 * have all the rows that a condition leaves, and the work that follows.
 *
 * Invariant: exactly one process takes each chunk, and the head of a scan that
 * may stop early.  Each process claims it in a shared map, and raises an error
 * if it was claimed before.  Each bit goes to exactly one process, since taking
 * it is one atomic step.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "access/tableam.h"
#include "port/atomics.h"

#include "exec/exec.h"

/*
 * A table has about so many bits, as in PostgreSQL's own scans, but a bit has
 * no more than so many blocks.
 */
#define BITS_OF_TABLE	2048
#define MOST_BIT_BLOCKS	16

struct CScanParallel
{
	/* Set by the leader before there are workers. */
	bool		registered;
	CScanTicket ticket;			/* if registered */
	bool		by_family;		/* the family hands out its chunks */
	bool		family_registered;	/* in the host: the family is registered */
	CScanTicket family_ticket;	/* if the family is registered */
	BlockNumber nblocks;
	BlockNumber head;			/* 0: none */
	CScanRange	span;
	CScanSpace	chunks;			/* if it is divided, not registered */
	dsa_pointer pages;			/* the CScanPages of a bitmap-driven scan */
	dsa_pointer own;			/* row groups that are not announced */
	uint32		nown;
	int			nworkers;
	uint32		nchunks;		/* size of the map of claims */
	uint32		bit_blocks;		/* blocks of a bit */

	/*
	 * Changed by all, without a lock.  The map of claims follows the counts,
	 * and the open chunks that map.
	 */
	pg_atomic_uint32 head_taken;
	pg_atomic_uint32 next_chunk;	/* if it is divided, not registered */
	pg_atomic_uint32 next_own;	/* the first of "own" that is not taken */

	/* Written by each worker for itself; read when the workers have ended. */
	CScanCounts counts[FLEXIBLE_ARRAY_MEMBER];
};

/* Size of the map of claims; a family's host has those of all members. */
static uint32
chunks_to_claim(const CScanState *node)
{
	if (node->host == NULL)
		return CSCAN_MAX_CHUNKS;
	return node->host == node ? cscan_pool.state->limits.max_chunks : 0;
}

static Size
counts_size(int nworkers)
{
	return MAXALIGN(offsetof(CScanParallel, counts) + sizeof(CScanCounts) * nworkers);
}

static pg_atomic_uint32 *
claims(CScanParallel *p)
{
	return (pg_atomic_uint32 *) ((char *) p + counts_size(p->nworkers));
}

static Size
claims_size(uint32 nchunks)
{
	return MAXALIGN(sizeof(pg_atomic_uint32) * (nchunks / 32));
}

/*
 * What is left of the chunk that each process has open, its leader's behind
 * those of the workers: the next block in the lower half, the end in the upper.
 */
static pg_atomic_uint64 *
open_chunks(CScanParallel *p)
{
	return (pg_atomic_uint64 *) ((char *) p + counts_size(p->nworkers) + claims_size(p->nchunks));
}

static Size
own_size(int nworkers, uint32 nchunks)
{
	return counts_size(nworkers) + claims_size(nchunks) +
		MAXALIGN(sizeof(pg_atomic_uint64) * (nworkers + 1));
}

/* PostgreSQL's part follows ours.  Only a scan of a whole table has it. */
static ParallelTableScanDesc
core_part(CScanParallel *p)
{
	return (ParallelTableScanDesc) ((char *) p + own_size(p->nworkers, p->nchunks));
}

Size
cscan_parallel_size(CScanState *node, int nworkers)
{
	Size		size = own_size(nworkers, chunks_to_claim(node));

	if (node->kind == CSCAN_WHOLE)
		size = add_size(size, table_parallelscan_estimate(node->css.ss.ss_currentRelation,
														  node->css.ss.ps.state->es_snapshot));
	return size;
}

/* Set up the memory in the leader. */
void
cscan_parallel_begin_leader(CScanState *node, CScanParallel *p, int nworkers)
{
	memset(p, 0, counts_size(nworkers));
	p->nworkers = nworkers;
	p->nchunks = chunks_to_claim(node);
	pg_atomic_init_u32(&p->head_taken, 0);
	pg_atomic_init_u32(&p->next_chunk, 0);
	pg_atomic_init_u32(&p->next_own, 0);
	for (uint32 i = 0; i < p->nchunks / 32; i++)
		pg_atomic_init_u32(&claims(p)[i], 0);
	for (int i = 0; i <= nworkers; i++)
		pg_atomic_init_u64(&open_chunks(p)[i], 0);
	if (node->kind == CSCAN_WHOLE)
		table_parallelscan_initialize(node->css.ss.ss_currentRelation, core_part(p),
									  node->css.ss.ps.state->es_snapshot);
	node->parallel = p;
	node->leader = true;
}

/* Begin another pass.  The workers of the last one have ended. */
void
cscan_parallel_begin_again(CScanState *node)
{
	CScanParallel *p = node->parallel;

	if (node->kind == CSCAN_WHOLE)
		table_parallelscan_reinitialize(node->css.ss.ss_currentRelation, core_part(p));
	for (uint32 i = 0; i < p->nchunks / 32; i++)
		pg_atomic_write_u32(&claims(p)[i], 0);
	for (int i = 0; i <= p->nworkers; i++)
		pg_atomic_write_u64(&open_chunks(p)[i], 0);
}

/*
 * Copy the leader's pages, or row groups, to where workers see them.  Without
 * DSM there are no workers.
 */
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
	if (DsaPointerIsValid(p->own))
		dsa_free(area, p->own);
	p->own = node->columns ? cscan_groups_share(node, area, &p->nown, &p->next_own) : InvalidDsaPointer;
}

/*
 * Tell the workers what is to be read, and what is registered.  No worker is
 * looking yet.  The host publishes its family's registration even if it is not
 * announced itself.
 */
void
cscan_parallel_publish(CScanState *node, const CScanRegistration *family)
{
	CScanParallel *p = node->parallel;

	share_pages(node, p);
	p->by_family = node->by_family;
	p->registered = node->reg != NULL && !node->by_family;
	if (p->registered)
		p->ticket = cscan_registry_ticket(node->reg);
	p->family_registered = family != NULL;
	if (family)
		p->family_ticket = cscan_registry_ticket(family);
	p->nblocks = node->nblocks;
	p->head = node->head;
	p->span = node->span;
	p->bit_blocks = Min(MOST_BIT_BLOCKS, node->nblocks / BITS_OF_TABLE + 1);

	/* If it is not registered it is divided into chunks. */
	cscan_space_begin(&p->chunks,
					  cscan_space_chunk_blocks_for(cscan_shared->preferred_chunk_blocks, node->nblocks));
	pg_atomic_write_u32(&p->next_own, 0);
	pg_atomic_write_u32(&p->head_taken, p->head == 0);
	pg_atomic_write_u32(&p->next_chunk, cscan_space_chunk_of(&p->chunks, Max(p->head, p->span.first)));
}

/*
 * Take over, in a worker, what the leader has published.  Returns whether the
 * family hands out this scan's chunks.
 */
bool
cscan_parallel_learn(CScanState *node)
{
	CScanParallel *p = node->parallel;

	node->nblocks = p->nblocks;
	node->head = p->head;
	node->span = p->span;
	if (DsaPointerIsValid(p->pages))
		node->pages = dsa_get_address(node->css.ss.ps.state->es_query_dsa, p->pages);
	if (node->columns)
		cscan_groups_learn(node, !DsaPointerIsValid(p->own) ? NULL :
						   dsa_get_address(node->css.ss.ps.state->es_query_dsa, p->own), p->nown, &p->next_own);
	return p->by_family;
}

/*
 * Returns the family's ticket, by which workers join; NULL if the family is
 * not registered.
 */
const CScanTicket *
cscan_parallel_family_ticket(const CScanState *host)
{
	return host->parallel->family_registered ? &host->parallel->family_ticket : NULL;
}

/*
 * Begin a process's part of the scan.  Returns its part of PostgreSQL's own
 * parallel scan, or NULL if the caller must make a descriptor.
 */
TableScanDesc
cscan_parallel_begin(CScanState *node)
{
	CScanParallel *p = node->parallel;

	if (!p->registered && !node->by_family && node->kind == CSCAN_WHOLE)
	{
		node->plain = true;
		node->counts.chunks += node->leader;
		node->counts.self += node->leader;
		return cscan_beginscan_parallel(node->css.ss.ss_currentRelation, core_part(p));
	}
	if (!node->leader)
		(void) cscan_parallel_learn(node);
	if (node->kind == CSCAN_BITMAP && node->pages == NULL)
		elog(ERROR, "partition \"%s\" was pruned before the workers began, but not by them",
			 RelationGetRelationName(node->css.ss.ss_currentRelation));
	return NULL;
}

/* Take the head.  False if there is none or another process has it. */
bool
cscan_parallel_take_head(CScanState *node)
{
	CScanParallel *p = node->parallel;

	/* A worker joins at its first request. */
	if (!node->begun)
	{
		node->begun = true;
		if (!node->leader && p->registered)
			node->reg = cscan_registry_join(&p->ticket, node->columns ? cscan_groups_wanted(node) : NULL);
	}
	return pg_atomic_read_u32(&p->head_taken) == 0 &&
		pg_atomic_exchange_u32(&p->head_taken, 1) == 0;
}

/*
 * Take a chunk for this process to read without the ABM, if nothing is
 * registered or this worker found no room to join.
 */
bool
cscan_parallel_take(CScanState *node, CScanPortion *portion)
{
	CScanParallel *p = node->parallel;

	if (p->registered)
	{
		if (node->leader || !cscan_registry_take(&p->ticket, portion))
			return false;
		if (node->kind == CSCAN_COLUMNS)
			cscan_groups_locate(node, portion);
		return true;
	}
	if (node->kind == CSCAN_COLUMNS)
		return false;
	portion->chunk = pg_atomic_fetch_add_u32(&p->next_chunk, 1);
	if (p->span.end <= p->head ||
		portion->chunk >= cscan_space_chunks_for(p->chunks.chunk_blocks, p->span.end))
		return false;
	portion->blocks = cscan_space_blocks(&p->chunks, portion->chunk);
	node->counts.chunks++;
	return true;
}

/*
 * Claim a chunk.  False if it was taken before.  A scan that is divided, not
 * registered, needs no claims.
 */
bool
cscan_parallel_claim(CScanState *node, const CScanPortion *portion)
{
	CScanParallel *p = node->by_family ? node->host->parallel : node->parallel;
	uint32		chunk = node->by_family ? portion->number : portion->chunk;
	uint32		bit = UINT32_C(1) << (chunk % 32);

	if (!node->by_family && !p->registered)
		return true;
	return chunk < p->nchunks &&
		(pg_atomic_fetch_or_u32(&claims(p)[chunk / 32], bit) & bit) == 0;
}

/* This process's open chunk; NULL if there is no place for one. */
static pg_atomic_uint64 *
own_open_chunk(const CScanState *node)
{
	CScanParallel *p = node->parallel;

	if (node->leader)
		return &open_chunks(p)[p->nworkers];
	if (ParallelWorkerNumber < 0 || ParallelWorkerNumber >= p->nworkers)
		return NULL;
	return &open_chunks(p)[ParallelWorkerNumber];
}

/* Take at most so many blocks of an open chunk, to be read next. */
static bool
take_bit(CScanState *node, pg_atomic_uint64 *open, uint32 nblocks)
{
	uint64		left = pg_atomic_read_u64(open);
	BlockNumber first;
	BlockNumber end;
	BlockNumber last;			/* of the chunk */

	do
	{
		first = (BlockNumber) left;
		last = (BlockNumber) (left >> 32);
		if (first >= last)
			return false;
		end = last - first > nblocks ? first + nblocks : last;
	} while (!pg_atomic_compare_exchange_u64(open, &left, (uint64) last << 32 | end));
	node->next_block = first;
	node->end_block = end;
	return true;
}

/*
 * The blocks from next_block to end_block are a chunk in memory, which this
 * process has just been given.  Open it, and keep its first bit.  Row groups
 * are not divided.
 */
void
cscan_parallel_open(CScanState *node)
{
	pg_atomic_uint64 *open = own_open_chunk(node);

	if (open == NULL || node->kind == CSCAN_COLUMNS || node->next_block >= node->end_block)
		return;
	pg_atomic_write_u64(open, (uint64) node->end_block << 32 | node->next_block);

	/* Others may have taken all of it already. */
	if (!take_bit(node, open, node->parallel->bit_blocks))
		node->next_block = node->end_block;
}

/*
 * Go on with the next bit of this process's open chunk.  False if none is
 * left.  Bits stay small if pages have gone from memory: who reads them has much
 * to do with each row.
 */
bool
cscan_parallel_go_on(CScanState *node)
{
	pg_atomic_uint64 *open = own_open_chunk(node);

	return open != NULL && take_bit(node, open, node->parallel->bit_blocks);
}

/* Take a bit of another process's open chunk.  False if none has one. */
bool
cscan_parallel_help(CScanState *node)
{
	CScanParallel *p = node->parallel;

	for (int i = 0; i <= p->nworkers; i++)
	{
		if (!take_bit(node, &open_chunks(p)[i], p->bit_blocks))
			continue;
		node->self_read = false;
		if (node->pages)
			node->entry = cscan_pages_find(node->pages, node->next_block);
		return true;
	}
	return false;
}

/*
 * The query needs no more rows.  Workers that are still at it must not go on
 * with what others have left.
 */
void
cscan_parallel_close(CScanState *node)
{
	for (int i = 0; i <= node->parallel->nworkers; i++)
		pg_atomic_write_u64(&open_chunks(node->parallel)[i], 0);
}

/*
 * Show the leader this worker's counts so far.  It does so again and again,
 * since the worker may be ended at any time.
 */
void
cscan_parallel_count(CScanState *node)
{
	if (!node->leader && ParallelWorkerNumber >= 0 && ParallelWorkerNumber < node->parallel->nworkers)
		node->parallel->counts[ParallelWorkerNumber] = node->counts;
}

/* Add up the counts of a pass's workers. */
void
cscan_parallel_collect(CScanState *node)
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
