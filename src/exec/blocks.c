/*-------------------------------------------------------------------------
 *
 * blocks.c
 *		Which blocks a CScan is to read, and its registration for them.
 *
 *		find			the ranges of blocks: the whole table, the pages of a bitmap,
 *						or a range of TIDs
 *		head			where the head of a scan that may stop early ends
 *		lockable		can the ABM lock the table?
 *		register		announce the ranges behind the head
 *		register_rest	announce what is left of them anew
 *		leave			give the registration back
 *
 * chunks.c, parallel.c and family.c build on this: a single process and the
 * leader of a parallel scan begin in the same way.
 *
 * Invariant: no block is announced that the scan has read before in the same
 * pass.  The ranges begin behind the head.  After a lost place they leave out
 * the chunks that have been taken.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "access/tableam.h"
#include "nodes/bitmapset.h"
#include "storage/lmgr.h"
#include "storage/predicate.h"
#include "utils/memutils.h"

#include "exec/exec.h"

/* Find the ranges of blocks to be read, in the node's own context. */
void
cscan_blocks_find(CScanState *node)
{
	ScanState  *ss = &node->css.ss;

	MemoryContextReset(node->context);
	node->pages = NULL;
	node->nranges = 0;
	if (node->columns)
		cscan_groups_forget(node);
	if (node->kind == CSCAN_BITMAP)
	{
		MemoryContext old;

		cscan_bitmap_resolve(node);
		old = MemoryContextSwitchTo(node->context);
		node->ranges = cscan_pages_ranges(node->pages, &node->nranges);
		MemoryContextSwitchTo(old);
		node->counts.pages += node->pages->nexact + node->pages->nlossy;
		node->counts.lossy += node->pages->nlossy;
	}
	else
	{
		CScanRange	range = {0, 0};

		/* Rows added behind these blocks must meet the predicate lock. */
		PredicateLockRelation(ss->ss_currentRelation, ss->ps.state->es_snapshot);
		node->nblocks = RelationGetNumberOfBlocks(ss->ss_currentRelation);
		range.end = node->nblocks;
		if (node->kind == CSCAN_TID_RANGE)
		{
			if (!cscan_tid_range_evaluate(node))
				range.end = 0;
			else
			{
				range.first = ItemPointerGetBlockNumberNoCheck(&node->min_tid);
				if (ItemPointerGetBlockNumberNoCheck(&node->max_tid) < node->nblocks)
					range.end = ItemPointerGetBlockNumberNoCheck(&node->max_tid) + 1;
			}
		}
		if (range.first < range.end)
		{
			node->ranges = MemoryContextAlloc(node->context, sizeof(CScanRange));
			node->ranges[node->nranges++] = range;
			node->counts.pages += range.end - range.first;
		}
	}
	node->span.first = node->nranges > 0 ? node->ranges[0].first : 0;
	node->span.end = node->nranges > 0 ? node->ranges[node->nranges - 1].end : 0;
	node->found = true;
}

/*
 * Returns the block at which the head ends.  The head has one chunk's worth of
 * blocks.
 */
BlockNumber
cscan_blocks_head(const CScanState *node)
{
	uint32		left = cscan_shared->preferred_chunk_blocks;

	for (uint32 i = 0; i < node->nranges; i++)
	{
		if (node->ranges[i].end - node->ranges[i].first >= left)
			return node->ranges[i].first + left;
		left -= node->ranges[i].end - node->ranges[i].first;
	}
	return node->span.end;
}

void
cscan_blocks_leave(CScanState *node)
{
	if (node->reg)
		cscan_registry_leave(node->reg);
	node->reg = NULL;
}

/*
 * Returns the ranges behind the head as the registry takes them.  Of row groups
 * these have been announced before.
 */
CScanTarget
cscan_blocks_target(CScanState *node)
{
	CScanTarget target = {.rel = node->css.ss.ss_currentRelation,.nblocks = node->nblocks};

	if (node->kind == CSCAN_COLUMNS)
	{
		cscan_groups_target(node, &target);
		return target;
	}
	while (node->nranges > 0 && node->ranges[0].end <= node->head)
	{
		target.read_before += node->ranges[0].end - node->ranges[0].first;
		node->ranges++;
		node->nranges--;
	}
	if (node->nranges > 0 && node->ranges[0].first < node->head)
	{
		target.read_before += node->head - node->ranges[0].first;
		node->ranges[0].first = node->head;
	}
	target.ranges = node->ranges;
	target.nranges = node->nranges;
	return target;
}

/*
 * May the scan be registered?  A setting may have been turned off since
 * planning.
 */
bool
cscan_blocks_may_register(const CScanState *node)
{
	return node->enabled && synchronize_seqscans;
}

/*
 * The ABM gets no lock on a table that this transaction has locked for itself,
 * as one that it has made or truncated.  Nor does another scan: there is nobody
 * to share with.
 */
bool
cscan_blocks_lockable(const CScanState *node)
{
	return !CheckRelationLockedByMe(node->css.ss.ss_currentRelation, AccessExclusiveLock, false) &&
		!(node->columns && cscan_groups_locked_index(node));
}

/* Register the ranges, if possible. */
void
cscan_blocks_register(CScanState *node, bool joinable)
{
	CScanTarget target;
	bool		any = node->nranges > 0;

	if (node->kind == CSCAN_COLUMNS)
		any = cscan_groups_find(node, &target);
	else
		target = cscan_blocks_target(node);

	/* The scan may have been registered since the last pass. */
	if (node->reg && (!any || !cscan_registry_again(node->reg, &target, 1)))
		cscan_blocks_leave(node);
	if (node->reg == NULL && cscan_blocks_may_register(node) && cscan_blocks_lockable(node) && any)
		node->reg = cscan_registry_register(RelationGetRelid(target.rel), &target, 1,
											node->policy, joinable);
	if (node->reg)
		node->counts.chunks += target.nchunks;
	if (node->kind == CSCAN_COLUMNS)
		cscan_groups_settle(node, &target);
}

/* Reduce the ranges to what the scan has not taken yet. */
void
cscan_blocks_keep_rest(CScanState *node)
{
	uint32		ndone = bms_num_members(node->done);
	CScanRange *left = MemoryContextAlloc(node->context, sizeof(CScanRange) * (node->nranges + ndone + 1));
	uint32		nleft = 0;
	CScanSpace	chunks;

	if (ndone == 0)
		return;
	cscan_space_begin(&chunks, node->chunk_blocks);
	for (uint32 i = 0; i < node->nranges; i++)
	{
		BlockNumber end;

		for (BlockNumber block = node->ranges[i].first; block < node->ranges[i].end; block = end)
		{
			uint32		chunk = cscan_space_chunk_of(&chunks, block);

			end = Min(node->ranges[i].end, cscan_space_blocks(&chunks, chunk).end);
			if (bms_is_member((int) chunk, node->done))
				continue;
			if (nleft > 0 && left[nleft - 1].end == block)
				left[nleft - 1].end = end;
			else
			{
				left[nleft].first = block;
				left[nleft++].end = end;
			}
		}
	}
	node->ranges = left;
	node->nranges = nleft;

	/* Another registration may have other chunks. */
	bms_free(node->done);
	node->done = NULL;
}

/*
 * Are the target's chunks as large as before?  Blocks of larger or shifted
 * chunks may have been read already.  Row groups stay as they are.
 */
bool
cscan_blocks_same_chunks(const CScanState *node, const CScanTarget *target)
{
	return node->chunk_blocks == 0 || node->kind == CSCAN_COLUMNS || node->chunk_blocks == target->chunk_blocks;
}

/*
 * The scan lost its place to another one while it was stalled.  Register what
 * is left.  If that is not possible, this process reads it in block order.
 */
void
cscan_blocks_register_rest(CScanState *node)
{
	CScanTarget target;

	cscan_blocks_leave(node);
	cscan_blocks_keep_rest(node);
	target = cscan_blocks_target(node);
	if (cscan_blocks_may_register(node) && node->nranges > 0 &&
		(node->nranges <= CSCAN_MAX_RANGES || node->kind == CSCAN_COLUMNS))
		node->reg = cscan_registry_register(RelationGetRelid(target.rel), &target, 1,
											node->policy, false);
	if (node->reg && !cscan_blocks_same_chunks(node, &target))
		cscan_blocks_leave(node);
	node->alone = (node->reg == NULL);
}
