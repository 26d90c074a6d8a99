/*-------------------------------------------------------------------------
 *
 * chunks.c
 *		What a CScan reads next: its head, then one chunk after another.
 *
 *		begin			the first fetch of a process alone
 *		next			go on to the next chunk
 *
 * The next chunk comes from the registry, which may wait for it.  A scan
 * without a registration goes on in block order.  parallel.c settles which
 * process of a parallel scan takes what.  family.c hands out the chunks of a
 * family's scans.
 *
 * Invariant: every chunk is taken exactly once.  The node keeps its own list
 * of the chunks that it has taken, and checks each chunk from the registry
 * against it.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "access/tableam.h"
#include "nodes/bitmapset.h"
#include "utils/memutils.h"

#include "exec/exec.h"

/* Blocks that are sampled to tell whether a small table is in memory. */
#define SMALL_SAMPLE	16

/* Read the wanted ones of these blocks next. */
static void
read_blocks(CScanState *node, BlockNumber first, BlockNumber end, bool self_read)
{
	cscan_read_ahead_end(node);
	node->next_block = first;
	node->end_block = Min(end, node->span.end);
	node->self_read = self_read;
	if (node->pages)
		node->entry = cscan_pages_find(node->pages, first);
	if (!node->records || first >= node->end_block)
		return;
	if (node->ntaken == node->taken_room)
	{
		node->taken_room *= 2;
		node->taken = repalloc(node->taken, node->taken_room * sizeof(CScanRange));
	}
	node->taken[node->ntaken++] = (CScanRange) {first, node->end_block};
}

/* From now on note which blocks are taken, chunk by chunk. */
void
cscan_chunks_record(CScanState *node)
{
	node->records = true;
	node->taken_room = 16;
	node->taken = MemoryContextAlloc(node->css.ss.ps.state->es_query_cxt, node->taken_room * sizeof(CScanRange));
}

/* The same of the first blocks of a scan that may stop early. */
static void
read_head(CScanState *node)
{
	read_blocks(node, node->span.first, node->head, true);
	node->counts.chunks++;
	node->counts.self++;
}

/* Note that a chunk is taken.  False if it was taken before. */
static bool
take(CScanState *node, const CScanPortion *portion)
{
	MemoryContext old;

	if (node->parallel)
		return cscan_parallel_claim(node, portion);
	if (bms_is_member((int) portion->chunk, node->done))
		return false;
	old = MemoryContextSwitchTo(node->css.ss.ps.state->es_query_cxt);
	node->done = bms_add_member(node->done, (int) portion->chunk);
	MemoryContextSwitchTo(old);
	return true;
}

/* Read the chunk that has been handed out. */
void
cscan_chunks_set(CScanState *node, const CScanPortion *portion, CScanDelivery how)
{
	if (portion->blocks.first >= node->nblocks)
		ereport(ERROR,
				(errcode(ERRCODE_INTERNAL_ERROR),
				 errmsg_internal("chunk %u of table \"%s\" lies beyond its %u blocks", portion->chunk,
								 RelationGetRelationName(node->css.ss.ss_currentRelation), node->nblocks)));
	if (!take(node, portion))
		ereport(ERROR,
				(errcode(ERRCODE_INTERNAL_ERROR),
				 errmsg_internal("chunk %u of table \"%s\" was handed out twice", portion->chunk,
								 RelationGetRelationName(node->css.ss.ss_currentRelation))));
	node->chunk_blocks = node->kind == CSCAN_COLUMNS ? node->group_blocks :
		portion->blocks.end - portion->blocks.first;

	/* The head has been read already. */
	read_blocks(node, Max(portion->blocks.first, Max(node->head, node->span.first)),
				portion->blocks.end, how == CSCAN_SELF_READ);
	if (node->parallel && how != CSCAN_SELF_READ)
		cscan_parallel_open(node);
	node->counts.resident += (how == CSCAN_RESIDENT);
	node->counts.loaded += (how == CSCAN_LOADED);
	node->counts.self += (how == CSCAN_SELF_READ || how == CSCAN_COPIED);
}

/* Set all that is to be read as one chunk. */
static void
set_all(CScanState *node)
{
	CScanPortion all = {InvalidOid, 0, 0, {0, Max(node->nblocks, 1)}};

	cscan_chunks_set(node, &all, CSCAN_SELF_READ);
}

/* Drop what this process has left of the last pass. */
void
cscan_chunks_reset(CScanState *node)
{
	cscan_read_ahead_end(node);
	if (node->scan)
	{
		ExecClearTuple(node->css.ss.ss_ScanTupleSlot);
		table_endscan(node->scan);
		node->scan = NULL;
	}
	node->plain = node->found = node->begun = node->finished = node->helping = false;
	node->next_block = node->end_block = 0;
	node->ntaken = 0;

	/* What is to be read must be found anew, too. */
	MemoryContextReset(node->context);
	node->pages = NULL;
	node->nranges = 0;
	node->span.first = node->span.end = 0;
}

/*
 * The first rows are wanted soon, or only they are.  Read a chunk's worth of
 * blocks before anything is registered.
 */
static bool
begin_head(CScanState *node)
{
	if (!node->first_rows || node->head > 0 || node->nranges == 0)
		return false;
	node->head = cscan_blocks_head(node);
	read_head(node);
	return true;
}

/*
 * Register what is left to be read and divide it into chunks.  A single chunk
 * is not registered, since there is nothing to share.  Without a registration
 * the rest is read as one chunk.
 */
static bool
begin_chunks(CScanState *node)
{
	node->begun = true;
	if (node->span.end <= node->head)
		return false;
	cscan_blocks_register(node, false);
	if (node->reg == NULL && node->kind != CSCAN_COLUMNS)
		node->counts.chunks++;
	return true;
}

/*
 * Does tuples.c read this table faster than PostgreSQL's heap scan?  It does
 * if the table has at most one chunk and is in memory, as far as a few blocks
 * show.  Up to 16 PostgreSQL does not read ahead, so tuples.c is not slower
 * from storage either.  PostgreSQL begins a further pass faster.
 */
static bool
reads_better_alone(const CScanState *node)
{
	if (node->kind != CSCAN_WHOLE || node->rescanned ||
		node->nblocks > cscan_shared->preferred_chunk_blocks)
		return false;
#if CSCAN_HAVE_VECTORED_IO
	{
		uint32		n = Min(node->nblocks, SMALL_SAMPLE);

		for (uint32 i = 0; i < n; i++)
		{
			BlockNumber block = (BlockNumber) ((uint64) node->nblocks * i / n);

			if (!cscan_in_buffers(cscan_relation_locator(node->css.ss.ss_currentRelation), block))
				return false;
		}
	}
#endif
	return true;
}

/*
 * Find out what is to be read.  Register at once, unless only the first rows
 * may be wanted.  Without a registration PostgreSQL's own scan reads the
 * table, unless reads_better_alone().
 */
void
cscan_chunks_begin(CScanState *node)
{
	if (!node->found)
		cscan_blocks_find(node);
	if (!node->first_rows)
	{
		bool		any = begin_chunks(node);

		/* PostgreSQL's own bitmap scan would make the bitmap once more. */
		node->better_alone = (node->reg == NULL && reads_better_alone(node));
		node->plain = (node->reg == NULL && node->kind != CSCAN_BITMAP && node->kind != CSCAN_COLUMNS &&
					   !node->better_alone);
		if (any && node->reg == NULL && !node->plain && node->kind != CSCAN_COLUMNS)
		{
			set_all(node);

			/* What reads better alone is in memory, or has no stream. */
			node->self_read = !node->better_alone;
		}
	}
}

/*
 * Take the next chunk of what is left, without the ABM.  Chunks are as large
 * as before.  False if none is left.
 */
static bool
take_alone(CScanState *node, CScanPortion *portion)
{
	CScanSpace	chunks;

	if (!node->alone || node->nranges == 0)
		return false;
	cscan_space_begin(&chunks, node->chunk_blocks > 0 ? node->chunk_blocks :
					  node->kind == CSCAN_COLUMNS ? node->group_blocks :
					  cscan_shared->preferred_chunk_blocks);
	portion->chunk = cscan_space_chunk_of(&chunks, node->ranges->first);
	portion->blocks = cscan_space_blocks(&chunks, portion->chunk);
	while (node->nranges > 0 && node->ranges->end <= portion->blocks.end)
	{
		node->ranges++;
		node->nranges--;
	}
	if (node->nranges > 0 && node->ranges->first < portion->blocks.end)
		node->ranges->first = portion->blocks.end;
	return true;
}

/* Take the next chunk without a registration. */
static bool
next_own(CScanState *node)
{
	CScanPortion portion;

	if (!(node->parallel ? cscan_parallel_take(node, &portion) : take_alone(node, &portion)) &&
		!(node->kind == CSCAN_COLUMNS && cscan_groups_take_own(node, &portion)))
		return node->parallel && cscan_parallel_help(node);
	cscan_chunks_set(node, &portion, CSCAN_SELF_READ);
	if (node->parallel)
		cscan_parallel_count(node);
	return true;
}

/* Go on to the next chunk; false if there is none left. */
bool
cscan_chunks_next(CScanState *node)
{
	CScanDelivery how;
	CScanPortion portion;

	if (node->parallel && cscan_parallel_go_on(node))
		return true;
	if (node->helping && cscan_parallel_help(node))
		return true;
	if (node->parallel && cscan_parallel_take_head(node))
	{
		read_head(node);
		return true;
	}
	if (!node->begun)
	{
		if (begin_head(node))
			return true;
		if (!begin_chunks(node))
			return false;
		if (node->reg == NULL)
		{
			set_all(node);
			return true;
		}
	}
	if (node->reg == NULL)
		return next_own(node);

	how = cscan_registry_next(node->reg, &portion, &node->counts.waited);
	if (how == CSCAN_LOST)
	{
		cscan_blocks_register_rest(node);
		return cscan_chunks_next(node);
	}
	if (how == CSCAN_FINISHED && node->kind == CSCAN_COLUMNS)
	{
		/* What is announced has been handed out; its own groups follow. */
		node->nranges = 0;
		if (!node->leader && !node->rescanned)
			cscan_blocks_leave(node);
		return next_own(node);
	}
	if (how == CSCAN_FINISHED)
	{
		node->helping = node->parallel && cscan_parallel_help(node);
		if (node->helping)
			return true;

		/*
		 * The leader's helpers may still be reading.  A scan that was
		 * rescanned before is likely to be rescanned again.
		 */
		if (!node->leader && !node->rescanned)
			cscan_blocks_leave(node);
		return false;
	}
	if (node->kind == CSCAN_COLUMNS)
		cscan_groups_locate(node, &portion);
	cscan_chunks_set(node, &portion, how);
	if (node->parallel)
		cscan_parallel_count(node);
	return true;
}
