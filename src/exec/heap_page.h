/*-------------------------------------------------------------------------
 *
 * heap_page.h
 *		The page that a heap scan has pinned, and its visible tuples.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CSCAN_HEAP_PAGE_H
#define CSCAN_HEAP_PAGE_H

#include "compat.h"

#include "executor/instrument.h"
#include "executor/tuptable.h"
#include "storage/bufpage.h"

#include "exec/exec.h"
#include "fault.h"

/* The scan has taken another page. */
static inline void
cscan_heap_page_taken(CScanState *node)
{
	CSCAN_FAULT(CSCAN_FAULT_PAGE);
	if (node->reg)
		cscan_registry_progress(node->reg);
}

/*
 * Count the frames that the scan has taken by reading pages itself, since this
 * process had read so many blocks.  With a ring these are at most as many as the
 * ring has: then it takes its own again.  What is left of a chunk that was in
 * memory and has gone is read ahead.
 */
static inline void
cscan_heap_page_count(CScanState *node, int64 before)
{
	BufferAccessStrategy ring = ((HeapScanDesc) node->scan)->rs_strategy;
	int64		n = pgBufferUsage.shared_blks_read - before;

	if (likely(n == 0))
		return;
	node->self_read = true;
	if (ring != NULL)
		n = Min(n, cscan_ring_size(ring) - node->ring_used);
	if (n <= 0)
		return;
	node->ring_used += ring != NULL ? (int) n : 0;
	cscan_registry_took_frames((uint64) n);
}

/*
 * Another process has brought the chunk to memory, so it is in no cache of this CPU.
 * While it works on one page let it get the next one.  Only the buffer's memory is
 * touched, whatever page it has by then.
 */
static inline void
cscan_heap_page_fetch(CScanState *node, BlockNumber block)
{
	Buffer		buffer;
	const char *page;

	if (node->self_read || !node->looks_at_rows || block >= node->end_block)
		return;
	buffer = cscan_find_buffer(cscan_relation_locator(node->css.ss.ss_currentRelation), block);
	if (!BufferIsValid(buffer))
		return;
	page = (const char *) BufferGetPage(buffer);
	for (int i = 0; i < BLCKSZ; i += CSCAN_CACHE_LINE)
		__builtin_prefetch(page + i);
}

/*
 * Bring the visible tuples of a page into the scan descriptor, in the place of
 * those of the last one.
 */
static inline void
cscan_heap_page_get(CScanState *node, BlockNumber block, ReadStream *stream)
{
	int64		before = pgBufferUsage.shared_blks_read;

	cscan_heap_get_page((HeapScanDesc) node->scan, block, stream);
	cscan_heap_page_count(node, before);
	cscan_heap_page_fetch(node, block + 1);
	if (node->kind == CSCAN_TID_RANGE)
		cscan_tid_range_trim(node);
	cscan_heap_page_taken(node);
}

/* Store the page's next visible tuple, of which there must be one. */
static inline TupleTableSlot *
cscan_heap_page_next(HeapScanDesc heap, TupleTableSlot *slot)
{
	HeapTuple	tuple = &heap->rs_ctup;
	Page		page = BufferGetPage(heap->rs_cbuf);
	OffsetNumber offset = heap->rs_vistuples[heap->rs_cindex++];
	ItemId		lp = PageGetItemId(page, offset);

	tuple->t_data = (HeapTupleHeader) PageGetItem(page, lp);
	tuple->t_len = ItemIdGetLength(lp);
	ItemPointerSet(&tuple->t_self, heap->rs_cblock, offset);
	return ExecStoreBufferHeapTuple(tuple, slot, heap->rs_cbuf);
}

/* Give back the page, if there is one, and those that were read ahead. */
static inline void
cscan_heap_page_release(CScanState *node)
{
	HeapScanDesc heap = (HeapScanDesc) node->scan;

	cscan_read_ahead_end(node);
	if (BufferIsValid(heap->rs_cbuf))
	{
		ReleaseBuffer(heap->rs_cbuf);
		heap->rs_cbuf = InvalidBuffer;
	}
}

#endif							/* CSCAN_HEAP_PAGE_H */
