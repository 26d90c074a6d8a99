/*-------------------------------------------------------------------------
 *
 * scroll.c
 *		A CScan that may go backward, below a cursor.
 *
 *		next			the next tuple, in either direction
 *		rewind			go before the first tuple
 *		forget			begin anew, with other chunks
 *
 * Such a scan notes the blocks of each chunk that it takes.  It goes backward
 * over these in their order, and forward again.  Only behind the last of them
 * does it ask for another chunk.  So a row keeps its place for as long as the
 * cursor is open, as in PostgreSQL's scans.  Blocks that come again are read by
 * the scan itself, in either direction: they were handed out before.
 *
 * Invariant: the scan is before all entries, within one, or behind all.  Within
 * one it is on a page, at one of its tuples or beside them.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "access/tableam.h"
#include "pgstat.h"

#include "exec/exec.h"
#include "exec/heap_page.h"

struct CScanScroll
{
	CScanRange *entries;		/* blocks of the chunks taken, in their order */
	int			nentries;
	int			room;

	int			entry;			/* -1: before all; nentries: behind all */
	bool		on_page;		/* within the entry, and "block" is its page */
	BlockNumber block;
	int			line;			/* tuple of the page; -1: before all;
								 * rs_ntuples: behind all */
};

CScanScroll *
cscan_scroll_begin(void)
{
	CScanScroll *scroll = palloc0(sizeof(CScanScroll));

	scroll->entry = -1;
	return scroll;
}

/* Note the blocks that the node is to read next. */
static void
add_entry(CScanState *node)
{
	CScanScroll *scroll = node->scroll;

	if (scroll->nentries == scroll->room)
	{
		MemoryContext old = MemoryContextSwitchTo(node->css.ss.ps.state->es_query_cxt);

		scroll->room = Max(64, scroll->room * 2);
		scroll->entries = scroll->entries ?
			repalloc_huge(scroll->entries, sizeof(CScanRange) * scroll->room) :
			palloc(sizeof(CScanRange) * scroll->room);
		MemoryContextSwitchTo(old);
	}
	scroll->entries[scroll->nentries].first = node->next_block;
	scroll->entries[scroll->nentries++].end = node->end_block;
	node->next_block = node->end_block;
}

/* Take a chunk that is new to the scan.  False if none is left. */
static bool
take_chunk(CScanState *node)
{
	/* The scan of a small table has all blocks from the beginning. */
	if (node->next_block >= node->end_block)
	{
		if (node->finished)
			return false;

		/* Nothing stays pinned while waiting. */
		ExecClearTuple(node->css.ss.ss_ScanTupleSlot);
		cscan_heap_page_release(node);
		if (!cscan_chunks_next(node))
		{
			node->finished = true;
			return false;
		}
	}
	add_entry(node);
	return true;
}

/* Get the page at scroll->block, one of the entry's blocks. */
static void
get_page(CScanState *node, CScanRange entry, bool forward)
{
	CScanScroll *scroll = node->scroll;
	ReadStream *stream = NULL;

	/* What comes now was handed out before, and may be gone from memory. */
	if (!forward)
		node->self_read = true;
	if (forward)
		entry.first = scroll->block;
	else
		entry.end = scroll->block + 1;
	if (node->self_read)
		stream = cscan_read_ahead(node, entry, forward);
	cscan_heap_page_get(node, scroll->block, stream);
	scroll->on_page = true;
}

/* Go on to the next page.  False at the end, or at the beginning. */
static bool
next_page(CScanState *node, bool forward)
{
	CScanScroll *scroll = node->scroll;

	for (;;)
	{
		if (scroll->entry >= 0 && scroll->entry < scroll->nentries)
		{
			CScanRange	range = scroll->entries[scroll->entry];
			bool		more;

			if (scroll->on_page)
				more = forward ? ++scroll->block < range.end : scroll->block-- > range.first;
			else
			{
				more = range.first < range.end;
				scroll->block = forward ? range.first : range.end - 1;
			}
			if (more)
			{
				get_page(node, range, forward);
				return true;
			}
		}
		scroll->on_page = false;
		cscan_read_ahead_end(node);
		if (forward)
		{
			if (scroll->entry < scroll->nentries)
				scroll->entry++;
			if (scroll->entry == scroll->nentries && !take_chunk(node))
				return false;
		}
		else
		{
			if (scroll->entry >= 0)
				scroll->entry--;
			if (scroll->entry < 0)
				return false;
		}
	}
}

TupleTableSlot *
cscan_scroll_next(CScanState *node, ScanDirection direction)
{
	CScanScroll *scroll = node->scroll;
	TupleTableSlot *slot = node->css.ss.ss_ScanTupleSlot;
	HeapScanDesc heap = (HeapScanDesc) node->scan;
	bool		forward = !ScanDirectionIsBackward(direction);

	for (;;)
	{
		if (scroll->on_page)
		{
			scroll->line += forward ? 1 : -1;
			if (scroll->line >= 0 && scroll->line < (int) heap->rs_ntuples)
			{
				heap->rs_cindex = scroll->line;
				pgstat_count_heap_getnext(node->css.ss.ss_currentRelation);
				return cscan_heap_page_next(heap, slot);
			}
		}
		if (!next_page(node, forward))
		{
			ExecClearTuple(slot);
			cscan_heap_page_release(node);
			return slot;
		}
		scroll->line = forward ? -1 : (int) heap->rs_ntuples;
	}
}

/* Go before the first tuple.  The scan has begun. */
void
cscan_scroll_rewind(CScanState *node)
{
	ExecClearTuple(node->css.ss.ss_ScanTupleSlot);
	if (node->plain && node->kind == CSCAN_TID_RANGE)
		table_rescan_tidrange(node->scan, &node->min_tid, &node->max_tid);
	else if (node->plain)
		table_rescan(node->scan, NULL);
	else
		cscan_heap_page_release(node);

	/* The chunks that come again may be gone from memory. */
	node->self_read = true;
	node->scroll->entry = -1;
	node->scroll->on_page = false;
}

/* Another pass may read other blocks. */
void
cscan_scroll_forget(CScanScroll *scroll)
{
	scroll->nentries = 0;
	scroll->entry = -1;
	scroll->on_page = false;
}
