/*-------------------------------------------------------------------------
 *
 * chunks.c
 *		What a CScan reads next: its head, then one chunk after another.
 *
 *		begin			the first fetch of a process alone
 *		next			go on to the next chunk
 *
 * The next chunk comes from the registry, which may wait for it.  A scan without
 * a registration goes on in block order.  What the processes of a parallel scan
 * settle among themselves is in parallel.c.
 *
 * The chunks of a scan that is in a family are handed out by family.c.
 *
 * Invariant: every chunk is taken exactly once.  The node keeps its own list of
 * the chunks that it has taken and holds whatever the registry says against it.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "access/tableam.h"
#include "nodes/bitmapset.h"
#include "utils/memutils.h"

#include "exec/exec.h"

/* Whether a small table is in memory so many of its blocks are to show. */
#define SMALL_SAMPLE	16

/* These blocks are next, those of them that are wanted. */
static void
read_blocks(CScanState *node, BlockNumber first, BlockNumber end)
{
	node->next_block = first;
	node->end_block = Min(end, node->span.end);
	node->self_read = (node->reg == NULL);
	if (node->pages)
		node->entry = node->prefetched = cscan_pages_find(node->pages, first);
}

/* Note that a chunk is taken; false if it was before. */
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

/* A chunk has been handed out: read it next. */
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
	node->chunk_blocks = portion->blocks.end - portion->blocks.first;

	/* What the first rows came from has been read already. */
	read_blocks(node, Max(portion->blocks.first, Max(node->head, node->span.first)),
				portion->blocks.end);
	node->self_read = (how == CSCAN_SELF_READ);
	node->counts.resident += (how == CSCAN_RESIDENT);
	node->counts.loaded += (how == CSCAN_LOADED);
	node->counts.self += (how == CSCAN_SELF_READ);
}

/* All that is to be read, as one chunk. */
static void
set_all(CScanState *node)
{
	CScanPortion all = {InvalidOid, 0, 0, {0, Max(node->nblocks, 1)}};

	cscan_chunks_set(node, &all, CSCAN_SELF_READ);
}

/* What this process has of the last pass, it will not go on with. */
void
cscan_chunks_reset(CScanState *node)
{
	if (node->scan)
	{
		ExecClearTuple(node->css.ss.ss_ScanTupleSlot);
		table_endscan(node->scan);
		node->scan = NULL;
	}
	node->plain = node->found = node->begun = node->finished = false;
	node->next_block = node->end_block = 0;

	/* Nor is it known any more what is to be read. */
	MemoryContextReset(node->context);
	node->pages = NULL;
	node->nranges = 0;
	node->span.first = node->span.end = 0;
}

/*
 * The first rows are wanted soon, or perhaps only they: read a chunk's worth
 * of blocks before anything is registered.
 */
static bool
read_head(CScanState *node)
{
	if (!node->first_rows || node->head > 0 || node->nranges == 0)
		return false;
	node->head = cscan_blocks_head(node);
	read_blocks(node, node->span.first, node->head);
	node->self_read = true;
	node->counts.chunks++;
	node->counts.self++;
	return true;
}

/*
 * Register what is left to be read and divide it into chunks.  Where that is no
 * more than one chunk there is nothing to share; then, and where no
 * registration is to be had, it is read as a single one.
 */
static bool
begin_chunks(CScanState *node)
{
	node->begun = true;
	if (node->span.end <= node->head)
		return false;
	cscan_blocks_register(node, false);
	if (node->reg == NULL)
		node->counts.chunks++;
	return true;
}

/*
 * Is it a small table that this room's page loop reads faster than PostgreSQL's heap
 * scan?  It does so in memory, as far as a few blocks show.  Where PostgreSQL does not
 * read ahead (up to 16) it is no slower elsewhere.  But PostgreSQL's begins a further
 * pass with less ado.
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
 * Find out what is to be read, and register at once unless only the first rows
 * may be wanted.  A scan without a registration is left to PostgreSQL, unless it is of
 * a small table that is read better here.
 */
void
cscan_chunks_begin(CScanState *node)
{
	if (!node->found)
		cscan_blocks_find(node);
	if (!node->first_rows)
	{
		bool		any = begin_chunks(node);

		/* PostgreSQL's own bitmap scan would make its bitmap once more. */
		node->better_alone = (node->reg == NULL && reads_better_alone(node));
		node->plain = (node->reg == NULL && node->kind != CSCAN_BITMAP && !node->better_alone);
		if (any && node->reg == NULL && !node->plain)
			set_all(node);
	}
}

/*
 * The next chunk of what is left, of chunks as large as those before, for this
 * process to read; false if there is none.
 */
static bool
take_alone(CScanState *node, CScanPortion *portion)
{
	CScanSpace	chunks;

	if (!node->alone || node->nranges == 0)
		return false;
	cscan_space_begin(&chunks, node->chunk_blocks > 0 ? node->chunk_blocks :
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

/* Without a registration: the next chunk is this process's own to take. */
static bool
next_own(CScanState *node)
{
	CScanPortion portion;

	if (!(node->parallel ? cscan_parallel_take(node, &portion) : take_alone(node, &portion)))
		return false;
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

	if (node->parallel && cscan_parallel_take_head(node))
	{
		read_blocks(node, node->span.first, node->head);
		node->self_read = true;
		node->counts.chunks++;
		node->counts.self++;
		return true;
	}
	if (!node->begun)
	{
		if (read_head(node))
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
	if (how == CSCAN_FINISHED)
	{
		/*
		 * The owner's helpers may still be reading.  What has been begun
		 * again before is likely to be so once more.
		 */
		if (!node->leader && !node->rescanned)
			cscan_blocks_leave(node);
		return false;
	}
	cscan_chunks_set(node, &portion, how);
	if (node->parallel)
		cscan_parallel_count(node);
	return true;
}
