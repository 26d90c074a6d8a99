/*-------------------------------------------------------------------------
 *
 * bitmap.c
 *		The bitmap-driven CScan.  Its child resolves index conditions to a
 *		bitmap of pages, and only these pages are read, in any order.
 *
 * The index has done its part before the first page of the table is read (the
 * resolve step of Section 3.3 of "Reordering Query Execution in Tertiary
 * Memory Databases").  As in PostgreSQL's bitmap heap scan, a tuple listed in
 * the bitmap is found through its HOT chain.  If the bitmap knows only the
 * page, the index condition is checked again.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "access/htup_details.h"
#include "storage/bufpage.h"
#include "storage/predicate.h"
#include "utils/memutils.h"

#include "exec/exec.h"
#include "exec/heap_page.h"
#include "fault.h"

/* Run the child and copy its bitmap, without pages beyond the table's end. */
void
cscan_bitmap_resolve(CScanState *node)
{
	TIDBitmap  *bitmap = (TIDBitmap *) MultiExecProcNode(outerPlanState(node));
	MemoryContext old;

	if (bitmap == NULL || !IsA(bitmap, TIDBitmap))
		elog(ERROR, "unrecognized result from subplan");
	CSCAN_FAULT(CSCAN_FAULT_BITMAP);

	/* Count blocks only now, so that they include all that the index lists. */
	node->nblocks = RelationGetNumberOfBlocks(node->css.ss.ss_currentRelation);
	old = MemoryContextSwitchTo(node->context);
	node->pages = cscan_pages_copy(bitmap, node->nblocks, node->pages_room);
	MemoryContextSwitchTo(old);
	tbm_free(bitmap);
}

/* Find the listed tuples that are visible, each through its HOT chain. */
static int
find_listed(HeapScanDesc heap, const CScanPages *pages, const CScanPage *page)
{
	OffsetNumber offsets[MaxHeapTuplesPerPage + 8];
	int			noffsets = cscan_pages_offsets(pages, page, offsets);
	int			n = 0;

	for (int i = 0; i < noffsets; i++)
	{
		ItemPointerData tid;
		HeapTupleData tuple;

		ItemPointerSet(&tid, heap->rs_cblock, offsets[i]);
		if (heap_hot_search_buffer(&tid, heap->rs_base.rs_rd, heap->rs_cbuf,
								   heap->rs_base.rs_snapshot, &tuple, NULL, true))
			heap->rs_vistuples[n++] = ItemPointerGetOffsetNumber(&tid);
	}
	return n;
}

/*
 * Find all visible tuples of a page.  On one that is all-visible these are all, as for
 * a sequential scan (heapgetpage, from 17 on heap_prepare_pagescan, in heapam.c; it
 * says why a standby's snapshot looks all the same).  Then nobody but a serializable
 * transaction touches them here: their memory comes to this CPU when a row is worked
 * on.
 */
static int
find_all(HeapScanDesc heap)
{
	Relation	rel = heap->rs_base.rs_rd;
	Snapshot	snapshot = heap->rs_base.rs_snapshot;
	Page		page = BufferGetPage(heap->rs_cbuf);
	OffsetNumber last = PageGetMaxOffsetNumber(page);
	bool		all_visible = PageIsAllVisible(page) && !snapshot->takenDuringRecovery;
	bool		conflicts = CheckForSerializableConflictOutNeeded(rel, snapshot);
	int			n = 0;

	for (OffsetNumber offset = FirstOffsetNumber; offset <= last; offset++)
	{
		ItemId		lp = PageGetItemId(page, offset);
		HeapTupleData tuple;
		bool		visible;

		if (!ItemIdIsNormal(lp))
			continue;
		if (all_visible && !conflicts)
		{
			heap->rs_vistuples[n++] = offset;
			continue;
		}
		tuple.t_data = (HeapTupleHeader) PageGetItem(page, lp);
		tuple.t_len = ItemIdGetLength(lp);
		tuple.t_tableOid = RelationGetRelid(rel);
		ItemPointerSet(&tuple.t_self, heap->rs_cblock, offset);
		visible = all_visible || HeapTupleSatisfiesVisibility(&tuple, snapshot, heap->rs_cbuf);
		if (visible)
		{
			heap->rs_vistuples[n++] = offset;
			PredicateLockTID(rel, &tuple.t_self, snapshot,
							 HeapTupleHeaderGetXmin(tuple.t_data));
		}
		HeapCheckForSerializableConflictOut(visible, rel, &tuple, heap->rs_cbuf, snapshot);
	}
	return n;
}

/*
 * Bring the visible tuples of a page that the bitmap asks for into the scan
 * descriptor.
 */
void
cscan_bitmap_get_page(CScanState *node, BlockNumber block, ReadStream *stream)
{
	HeapScanDesc heap = (HeapScanDesc) node->scan;
	const CScanPage *page = &node->pages->entries[node->entry];
	int64		before = pgBufferUsage.shared_blks_read;

	cscan_heap_pin_page(heap, block, stream);
	cscan_heap_page_count(node, before);
	cscan_prune(heap, heap->rs_cbuf);

	LockBuffer(heap->rs_cbuf, BUFFER_LOCK_SHARE);
	heap->rs_ntuples = page->nbytes > 0 ? find_listed(heap, node->pages, page) : find_all(heap);
	LockBuffer(heap->rs_cbuf, BUFFER_LOCK_UNLOCK);
	node->recheck_page = page->recheck;

	/* Of a page with a list only some rows are worked on. */
	if (page->nbytes == 0 && block + 1 < page->block + page->nblocks)
		cscan_heap_page_fetch(node, block + 1);
}

/* Does the tuple meet the index conditions? */
bool
cscan_bitmap_recheck(CScanState *node, TupleTableSlot *slot)
{
	ExprContext *econtext = node->css.ss.ps.ps_ExprContext;

	econtext->ecxt_scantuple = slot;
	return ExecQualAndReset(node->recheck_qual, econtext);
}
