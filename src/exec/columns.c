/*-------------------------------------------------------------------------
 *
 * columns.c
 *		The rows of a CScan over row groups: from column runs, and from the
 *		heap where these do not count.
 *
 *		begin			open the index
 *		begin_pass		the first row of a pass is wanted
 *		next_row		the next row, in the node's slot
 *		next_rows		the next rows, of a vector or of a page, for a batch
 *		reset			give back what is left of a pass: a page, a group's runs
 *		end				close the index
 *
 * The chunks come from chunks.c, as ranges of the heap's blocks; groups.c says
 * which of them are announced.  A row group in such a range is read in two
 * steps: rows from its column runs (store/reader.c), then the blocks that are
 * left, by the heap's page loop.  The slot has the heap's columns, of which
 * only those are set that the plan needs.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "access/genam.h"
#include "access/tableam.h"
#include "optimizer/optimizer.h"
#include "pgstat.h"

#include "exec/columns.h"
#include "exec/heap_page.h"
#include "fault.h"

/* Blocks ahead of which the system is told */
#define ADVISE_AHEAD	128

Oid
cscan_columns_index(const CustomScan *plan)
{
	return (Oid) list_nth_int(plan->custom_private, CSCAN_PRIVATE_INDEX);
}

Bitmapset *
cscan_columns_needed(const CustomScan *plan)
{
	Bitmapset  *needed = NULL;

	pull_varattnos((Node *) plan->scan.plan.targetlist, plan->scan.scanrelid, &needed);
	pull_varattnos((Node *) plan->scan.plan.qual, plan->scan.scanrelid, &needed);
	return needed;
}

/* Find the plan's columns in the index. */
static void
find_columns(CScanColumns *c, const CustomScan *plan)
{
	Bitmapset  *needed = cscan_columns_needed(plan);
	int			max = bms_num_members(needed);
	int			member = -1;

	c->columns = palloc((max + 1) * sizeof(int));
	c->attributes = palloc((max + 1) * sizeof(int));
	while ((member = bms_next_member(needed, member)) >= 0)
	{
		AttrNumber	attribute = member + FirstLowInvalidHeapAttributeNumber;
		int			column = 0;

		while (column < RelationGetNumberOfAttributes(c->index) &&
			   c->index->rd_index->indkey.values[column] != attribute)
			column++;
		if (attribute <= 0 || column == RelationGetNumberOfAttributes(c->index))
			elog(ERROR, "index \"%s\" has no column for attribute %d", RelationGetRelationName(c->index), attribute);
		c->columns[c->ncolumns] = column;
		c->attributes[c->ncolumns++] = attribute - 1;
		c->last_attribute = Max(c->last_attribute, attribute);
	}
}

void
cscan_columns_begin(CScanState *node, EState *estate)
{
	CustomScan *plan = (CustomScan *) node->css.ss.ps.plan;
	Relation	heap = node->css.ss.ss_currentRelation;
	LOCKMODE	lock = exec_rt_fetch(plan->scan.scanrelid, estate)->rellockmode;
	CScanColumns *c = palloc0(sizeof(CScanColumns));
	TupleTableSlot *slot = node->css.ss.ss_ScanTupleSlot;
	ListCell   *lc;

	c->index = index_open(cscan_columns_index(plan), lock);
	if (!cscan_store_is_index(c->index))
		elog(ERROR, "\"%s\" is no index of columns", RelationGetRelationName(c->index));
	find_columns(c, plan);
	c->reader = cscan_reader_begin(heap, c->index, c->columns, c->ncolumns);
	c->heap_slot = ExecInitExtraTupleSlot(estate, RelationGetDescr(heap), &TTSOpsBufferHeapTuple);
	c->zones = cscan_zones_find(plan->custom_exprs, plan->scan.scanrelid, heap, c->index);
	foreach(lc, c->zones)
		c->zone_exprs = lappend(c->zone_exprs, ExecInitExpr(((CScanZone *) lfirst(lc))->expr, (PlanState *) node));

	/* What the plan does not need is null. */
	memset(slot->tts_isnull, true, slot->tts_tupleDescriptor->natts);
	memset(slot->tts_values, 0, slot->tts_tupleDescriptor->natts * sizeof(Datum));
	node->columns = c;
	node->group_blocks = c->reader->group_blocks;
	cscan_groups_init(node);
}

void
cscan_columns_end(CScanState *node)
{
	cscan_reader_end(node->columns->reader);
	index_close(node->columns->index, NoLock);
}

void
cscan_columns_reset(CScanState *node)
{
	CScanColumns *c = node->columns;

	c->row = c->end_row = 0;
	c->block = c->end_block = 0;
	ExecClearTuple(node->css.ss.ss_ScanTupleSlot);
	ExecClearTuple(c->heap_slot);
	cscan_reader_reset(c->reader);
}

void
cscan_columns_begin_pass(CScanState *node)
{
	cscan_columns_reset(node);
	if (!node->columns->prepared)
		cscan_groups_prepare(node);
	node->columns->prepared = false;
	pgstat_count_index_scan(node->columns->index);
}

/* Hand out a row of a vector. */
TupleTableSlot *
cscan_columns_store_row(CScanState *node, uint32 row)
{
	CScanColumns *c = node->columns;
	TupleTableSlot *slot = node->css.ss.ss_ScanTupleSlot;

	ExecClearTuple(slot);
	for (int i = 0; i < c->ncolumns; i++)
	{
		slot->tts_values[c->attributes[i]] = c->reader->decoders[i].values[row];
		slot->tts_isnull[c->attributes[i]] = c->reader->decoders[i].isnull[row];
	}
	return ExecStoreVirtualTuple(slot);
}

/* Hand out the next tuple of the heap's page.  Its values stay in the page, which is pinned. */
TupleTableSlot *
cscan_columns_store_tuple(CScanState *node)
{
	CScanColumns *c = node->columns;
	TupleTableSlot *slot = node->css.ss.ss_ScanTupleSlot;

	ExecClearTuple(slot);
	cscan_heap_page_next((HeapScanDesc) node->scan, c->heap_slot);
	slot_getsomeattrs(c->heap_slot, c->last_attribute);
	for (int i = 0; i < c->ncolumns; i++)
	{
		slot->tts_values[c->attributes[i]] = c->heap_slot->tts_values[c->attributes[i]];
		slot->tts_isnull[c->attributes[i]] = c->heap_slot->tts_isnull[c->attributes[i]];
	}
	return ExecStoreVirtualTuple(slot);
}

/* Begin with the blocks of the chunk that are in one row group. */
static void
begin_group(CScanState *node)
{
	CScanColumns *c = node->columns;
	CScanReader *r = c->reader;
	BlockNumber first = node->next_block;
	BlockNumber end = (first / r->group_blocks + 1) * r->group_blocks;

	if (end > node->end_block || end < first)
		end = node->end_block;
	node->next_block = end;
	c->first = c->block = c->advised = first;
	c->end_block = end;
	node->counts.groups++;
	if (cscan_reader_look(r, first, end))
	{
		if (!cscan_zones_may_match(c->zones, r->heap, r->index, &r->group))
			node->counts.skipped++;
		else
		{
			cscan_reader_read(r);
			if (node->reg)
				cscan_registry_progress(node->reg);
			if (!r->from_heap && (end < node->end_block || cscan_groups_coming(node, &end)))
				cscan_reader_prefetch(r, end);
		}
	}
	memcpy(node->counts.blocks, r->counts, sizeof(r->counts));
}

static bool
is_in_runs(const CScanColumns *c, BlockNumber block)
{
	return c->reader->sources[block - c->reader->first] == CSCAN_FROM_RUNS;
}

/*
 * Advise the system of blocks that will be read from the heap soon.  Only the
 * first of several that follow one another needs advice.
 */
static void
advise(CScanColumns *c)
{
	for (; c->advised < c->end_block && c->advised < c->block + ADVISE_AHEAD; c->advised++)
	{
		if (!is_in_runs(c, c->advised) && c->advised > c->first && is_in_runs(c, c->advised - 1))
			PrefetchBuffer(c->reader->heap, MAIN_FORKNUM, c->advised);
	}
}

/* Get the group's next block that is read from the heap. */
static bool
next_heap_block(CScanColumns *c, BlockNumber *block)
{
	while (c->block < c->end_block)
	{
		*block = c->block++;
		if (is_in_runs(c, *block))
			continue;
		advise(c);
		return true;
	}
	return false;
}

/*
 * Find the next rows: of a vector, which is not decoded yet, or of a page.  False
 * at the end.
 */
static bool
next_rows(CScanState *node)
{
	CScanColumns *c = node->columns;
	HeapScanDesc heap = (HeapScanDesc) node->scan;
	BlockNumber block;

	for (;;)
	{
		CHECK_FOR_INTERRUPTS();
		if (cscan_reader_next(c->reader, &c->vector, &c->row, &c->end_row))
		{
			pgstat_count_index_tuples(c->index, c->end_row - c->row);
			if (node->reg)
				cscan_registry_progress(node->reg);
			return true;
		}
		if (next_heap_block(c, &block))
		{
			int64		before = pgBufferUsage.shared_blks_read;

			cscan_heap_get_page(heap, block, NULL);
			cscan_heap_page_count(node, before);
			cscan_heap_page_taken(node);
			heap->rs_cindex = 0;
			if (heap->rs_ntuples > 0)
				return true;
			continue;
		}
		/* Nothing stays pinned while waiting. */
		ExecClearTuple(node->css.ss.ss_ScanTupleSlot);
		ExecClearTuple(c->heap_slot);
		cscan_heap_page_release(node);
		if (node->next_block < node->end_block)
			begin_group(node);
		else if (!(node->by_family ? cscan_family_next(node) : cscan_chunks_next(node)))
		{
			/* Many such scans may follow each other in a query. */
			cscan_columns_reset(node);
			return false;
		}
	}
}

bool
cscan_columns_next_rows(CScanState *node)
{
	/* Those of before have been taken. */
	node->columns->row = node->columns->end_row = 0;
	((HeapScanDesc) node->scan)->rs_cindex = ((HeapScanDesc) node->scan)->rs_ntuples;
	if (!node->finished && next_rows(node))
		return true;

	/* A member of a family may have another turn. */
	node->finished = !node->by_family;
	ExecClearTuple(node->css.ss.ss_ScanTupleSlot);
	return false;
}

TupleTableSlot *
cscan_columns_next_row(CScanState *node)
{
	CScanColumns *c = node->columns;
	HeapScanDesc heap = (HeapScanDesc) node->scan;

	for (;;)
	{
		if (c->row < c->end_row)
			return cscan_columns_store_row(node, c->row++);
		if ((int) heap->rs_cindex < (int) heap->rs_ntuples)
		{
			pgstat_count_heap_getnext(node->css.ss.ss_currentRelation);
			return cscan_columns_store_tuple(node);
		}
		if (!cscan_columns_next_rows(node))
			return node->css.ss.ss_ScanTupleSlot;
		for (int i = 0; i < c->ncolumns && c->row < c->end_row; i++)
			cscan_decoder_decode(&c->reader->decoders[i], c->vector);
	}
}
