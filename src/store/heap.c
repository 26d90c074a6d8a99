/*-------------------------------------------------------------------------
 *
 * heap.c
 *		The rows of a heap page, as the columns of an index.
 *
 * Line pointers are looked at under the page's lock.  What they point to may
 * be read under a pin alone: nothing moves the tuples of a pinned page, and
 * what comes later has other line pointers.
 *
 *-------------------------------------------------------------------------
 */
#include "store.h"

void
cscan_heap_begin(CScanHeap *h, Relation heap, Relation index)
{
	h->heap = heap;
	h->index = index;
	h->ncolumns = RelationGetNumberOfAttributes(index);
	h->slot = MakeSingleTupleTableSlot(RelationGetDescr(heap), &TTSOpsBufferHeapTuple);
	h->last_attribute = 0;
	for (int column = 0; column < h->ncolumns; column++)
		h->last_attribute = Max(h->last_attribute, index->rd_index->indkey.values[column]);
}

void
cscan_heap_end(CScanHeap *h)
{
	ExecDropSingleTupleTableSlot(h->slot);
}

Form_pg_attribute
cscan_heap_attribute(const CScanHeap *h, int column)
{
	return TupleDescAttr(RelationGetDescr(h->heap), h->index->rd_index->indkey.values[column] - 1);
}

int
cscan_heap_offsets(Page page, OffsetNumber *offsets, bool *has_dead)
{
	int			n = 0;

	*has_dead = false;
	for (OffsetNumber offset = FirstOffsetNumber; offset <= PageGetMaxOffsetNumber(page); offset++)
	{
		ItemId		lp = PageGetItemId(page, offset);

		*has_dead |= ItemIdIsDead(lp);
		if (ItemIdIsNormal(lp))
			offsets[n++] = offset;
	}
	return n;
}

void
cscan_heap_row(CScanHeap *h, Buffer buffer, OffsetNumber offset, Datum *values, bool *isnull)
{
	Page		page = BufferGetPage(buffer);
	ItemId		lp = PageGetItemId(page, offset);
	HeapTupleData tuple;

	tuple.t_tableOid = RelationGetRelid(h->heap);
	tuple.t_data = (HeapTupleHeader) PageGetItem(page, lp);
	tuple.t_len = ItemIdGetLength(lp);
	ItemPointerSet(&tuple.t_self, BufferGetBlockNumber(buffer), offset);
	ExecStoreBufferHeapTuple(&tuple, h->slot, buffer);
	slot_getsomeattrs(h->slot, h->last_attribute);
	for (int column = 0; column < h->ncolumns; column++)
	{
		int			attribute = h->index->rd_index->indkey.values[column] - 1;

		values[column] = h->slot->tts_values[attribute];
		isnull[column] = h->slot->tts_isnull[attribute];
	}
}

void
cscan_heap_release(CScanHeap *h, Buffer buffer)
{
	ExecClearTuple(h->slot);
	ReleaseBuffer(buffer);
}
