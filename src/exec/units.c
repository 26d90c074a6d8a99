/*-------------------------------------------------------------------------
 *
 * units.c
 *		Which values an index says that parts of a table have (units.h).
 *
 * An index says what rows a block has had, but not always all that the query's
 * snapshot still sees: a summary leaves out rows that an update has replaced on their
 * page, say.  So it counts only for blocks that are all-visible after it was read.
 * Such a block has no other rows than those that all see, this snapshot too, and for
 * this snapshot it keeps them until the query ends.
 *
 * All other blocks are read once more than needed, if they are few: at the end of a
 * table that grows there nearly always are some.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "access/brin.h"
#include "access/brin_internal.h"
#include "access/brin_revmap.h"
#include "access/brin_tuple.h"
#include "access/genam.h"
#include "access/heapam.h"
#include "access/tableam.h"
#include "access/visibilitymap.h"
#include "catalog/pg_type_d.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "exec/columns.h"
#include "exec/units.h"

/* To look at more of them would take too long. */
#define MAX_RANGES		(1024 * 1024)

static void
add_values(CScanUnits *units, uint32 unit, int64 minimum, int64 maximum)
{
	units->minima[unit] = Min(units->minima[unit], minimum);
	units->maxima[unit] = Max(units->maxima[unit], maximum);
}

/* Of a bitmap-driven scan only the bitmap's pages are left. */
static void
leave_pages(CScanUnits *units)
{
	const CScanPages *pages = units->scan->pages;
	uint32		entry = 0;
	BlockNumber block = 0;

	memset(units->left, 0, units->nunits * sizeof(uint32));
	while ((block = cscan_pages_next(pages, &entry, block, units->nblocks)) != InvalidBlockNumber)
		units->left[block++ / units->unit_blocks]++;
}

/* Divide the table's blocks into units, of which nothing is known yet. */
static void
divide(CScanUnits *units, uint32 unit_blocks)
{
	units->unit_blocks = unit_blocks;
	units->nunits = (units->nblocks - 1) / unit_blocks + 1;
	units->left = MemoryContextAllocHuge(CurrentMemoryContext, units->nunits * sizeof(uint32));
	units->known = MemoryContextAllocHuge(CurrentMemoryContext, units->nunits * sizeof(bool));
	units->minima = MemoryContextAllocHuge(CurrentMemoryContext, units->nunits * sizeof(int64));
	units->maxima = MemoryContextAllocHuge(CurrentMemoryContext, units->nunits * sizeof(int64));
	for (uint32 u = 0; u < units->nunits; u++)
	{
		units->left[u] = cscan_units_end(units, u) - u * unit_blocks;
		units->known[u] = false;
		units->minima[u] = PG_INT64_MAX;
		units->maxima[u] = PG_INT64_MIN;
	}
	if (units->scan->kind == CSCAN_BITMAP)
		leave_pages(units);
}

/* Blocks that no index knows may be read, as far as they are few. */
static bool
may_look(CScanUnits *units, BlockNumber nblocks)
{
	if (nblocks > *units->may_look)
		return false;
	*units->may_look -= nblocks;
	return true;
}

/* Find the bounds of blocks in their rows. */
static void
look_at(CScanUnits *units, uint32 unit, BlockNumber first, BlockNumber end)
{
	Relation	rel = units->scan->css.ss.ss_currentRelation;
	TableScanDesc scan;
	TupleTableSlot *slot;

	if (first >= end)
		return;
	scan = table_beginscan_strat(rel, units->scan->css.ss.ps.state->es_snapshot, 0, NULL, true, false);
	slot = table_slot_create(rel, NULL);
	heap_setscanlimits(scan, first, end - first);
	while (table_scan_getnextslot(scan, ForwardScanDirection, slot))
	{
		bool		isnull;
		Datum		value = slot_getattr(slot, units->attribute + 1, &isnull);
		int64		integer;

		CHECK_FOR_INTERRUPTS();
		if (isnull)
			continue;
		integer = cscan_values_integer_of_datum(value, units->typlen);
		add_values(units, unit, integer, integer);
	}
	ExecDropSingleTupleTableSlot(slot);
	table_endscan(scan);
}

/* ------------------------------------------------------------------
 * Row groups
 * ------------------------------------------------------------------ */

/* The groups that the scan skips are not left. */
static void
leave_out_skipped(CScanUnits *units)
{
	const CScanState *scan = units->scan;
	const CScanColumns *c = scan->columns;
	bool	   *wanted;

	/* It may not have found them yet. */
	if (c->own == NULL)
		return;
	wanted = palloc_extended(units->nunits, MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	for (uint32 i = 0; i < c->nown; i++)
		wanted[c->own[i]] = true;
	for (uint32 r = 0; r < scan->nranges; r++)
	{
		for (uint32 u = scan->ranges[r].first / units->unit_blocks;
			 u < units->nunits && u * units->unit_blocks < scan->ranges[r].end; u++)
			wanted[u] = true;
	}
	for (uint32 i = 0; i < scan->ntaken; i++)
		wanted[scan->taken[i].first / units->unit_blocks] = true;
	for (uint32 u = 0; u < units->nunits; u++)
	{
		if (!wanted[u])
			units->left[u] = 0;
	}
	pfree(wanted);
}

/* Set a group's bounds: those of its runs, and of the blocks that are not in them. */
static void
set_group(CScanUnits *units, uint32 unit, const CScanReader *r, int column)
{
	BlockNumber first = unit * units->unit_blocks;
	BlockNumber end = cscan_units_end(units, unit);
	const CScanStoredRun *run = &r->group.runs[column];
	BlockNumber in_runs = 0;

	for (BlockNumber block = first; block < end; block++)
		in_runs += r->sources[block - first] == CSCAN_FROM_RUNS;
	if (!may_look(units, end - first - in_runs))
		return;
	if (in_runs > 0 && run->nnulls < r->group.serving.nrows)
	{
		if (!run->ordered || run->storage != CSCAN_STORAGE_BYVAL)
			return;
		add_values(units, unit, run->minimum, run->maximum);
	}
	for (BlockNumber block = first; block < end;)
	{
		BlockNumber begin = block;

		while (block < end && r->sources[block - first] != CSCAN_FROM_RUNS)
			block++;
		look_at(units, unit, begin, block);
		while (block < end && r->sources[block - first] == CSCAN_FROM_RUNS)
			block++;
	}
	units->known[unit] = true;
}

static void
find_in_groups(CScanUnits *units)
{
	const CScanState *scan = units->scan;
	const CScanColumns *c = scan->columns;
	CScanReader *r = cscan_reader_begin(scan->css.ss.ss_currentRelation, c->index, NULL, 0);
	int			column = 0;

	while (column < RelationGetNumberOfAttributes(c->index) &&
		   c->index->rd_index->indkey.values[column] != units->attribute + 1)
		column++;
	if (column == RelationGetNumberOfAttributes(c->index))
		elog(ERROR, "index \"%s\" has no column for attribute %d", RelationGetRelationName(c->index), units->attribute + 1);
	r->from_heap = cscan_groups_must_read_heap(scan);
	divide(units, scan->group_blocks);
	leave_out_skipped(units);
	for (uint32 u = 0; u < units->nunits; u++)
	{
		CHECK_FOR_INTERRUPTS();
		if (units->left[u] == 0)
			continue;
		cscan_reader_look(r, u * units->unit_blocks, cscan_units_end(units, u));
		set_group(units, u, r, column);
	}
	cscan_reader_end(r);
}

/* ------------------------------------------------------------------
 * BRIN
 * ------------------------------------------------------------------ */

uint32
cscan_units_blocks(Oid index, bool brin)
{
	Relation	rel = index_open(index, AccessShareLock);
	BrinStatsData stats;
	uint32		blocks;

	if (brin)
	{
		brinGetStats(rel, &stats);
		blocks = stats.pagesPerRange;
	}
	else
		blocks = cscan_store_group_blocks(rel);
	index_close(rel, AccessShareLock);
	return blocks;
}

bool
cscan_units_are_possible(Oid type)
{
	static const Oid types[] = {INT2OID, INT4OID, INT8OID, DATEOID, TIMESTAMPOID, TIMESTAMPTZOID};

	for (int i = 0; i < (int) lengthof(types); i++)
	{
		if (type == types[i])
			return true;
	}
	return false;
}

/* An operator class of somebody's own may have another order. */
bool
cscan_units_in_brin(Oid opfamily, Oid type)
{
	return opfamily < FirstUnpinnedObjectId &&
		get_opfamily_proc(opfamily, type, type, BRIN_PROCNUM_OPCINFO) == F_BRIN_MINMAX_OPCINFO;
}

/* Get a range's summary: whether there is one, of all rows. */
static BrinMemTuple *
get_range(BrinRevmap *revmap, BrinDesc *desc, BlockNumber block, Buffer *buffer, BrinMemTuple *room)
{
	OffsetNumber offset;
	Size		size;
	BrinTuple  *tuple = cscan_brin_get(revmap, block, buffer, &offset, &size);
	BrinTuple  *copy;
	BrinMemTuple *range;

	if (tuple == NULL)
		return NULL;
	copy = brin_copy_tuple(tuple, size, NULL, NULL);
	LockBuffer(*buffer, BUFFER_LOCK_UNLOCK);
	range = brin_deform_tuple(desc, copy, room);
	pfree(copy);
	return range->bt_placeholder ? NULL : range;
}

/* May a block that is to be read have rows that the summary, if there is one, does not know? */
static bool
must_look(const CScanUnits *units, const BrinValues *values, BlockNumber block, Buffer *vm_buffer)
{
	const CScanState *scan = units->scan;

	if (scan->kind == CSCAN_BITMAP)
	{
		uint32		entry = cscan_pages_find(scan->pages, block);

		if (cscan_pages_next(scan->pages, &entry, block, block + 1) == InvalidBlockNumber)
			return false;
	}
	return values == NULL ||
		!(visibilitymap_get_status(scan->css.ss.ss_currentRelation, block, vm_buffer) & VISIBILITYMAP_ALL_VISIBLE);
}

/*
 * Set the bounds of a range's blocks: its summary's, and those of the blocks that the
 * summary may not know.  False if these are too many.
 */
static bool
set_range(CScanUnits *units, uint32 unit, const BrinValues *values, CScanRange blocks, Buffer *vm_buffer)
{
	BlockNumber end = blocks.first;

	while (end < blocks.end)
	{
		BlockNumber begin = end;

		while (begin < blocks.end && !must_look(units, values, begin, vm_buffer))
			begin++;
		end = begin;
		while (end < blocks.end && must_look(units, values, end, vm_buffer))
			end++;
		if (!may_look(units, end - begin))
			return false;
		look_at(units, unit, begin, end);
	}
	if (values != NULL && !values->bv_allnulls)
		add_values(units, unit, cscan_values_integer_of_datum(values->bv_values[0], units->typlen),
				   cscan_values_integer_of_datum(values->bv_values[1], units->typlen));
	return true;
}

/* The column of a BRIN index that has the bounds, or -1. */
static int
find_column(Relation index, int attribute)
{
	for (int c = 0; c < RelationGetNumberOfAttributes(index); c++)
	{
		if (index->rd_index->indkey.values[c] == attribute + 1 &&
			cscan_units_in_brin(index->rd_opfamily[c], index->rd_opcintype[c]))
			return c;
	}
	return -1;
}

static void
find_in_ranges(CScanUnits *units, Relation index, int column, uint32 most)
{
	BlockNumber range_blocks;
	BrinRevmap *revmap = cscan_brin_begin(index, &range_blocks);
	BrinDesc   *desc = brin_build_desc(index);
	BrinMemTuple *room = brin_new_memtuple(desc);
	Buffer		buffer = InvalidBuffer;
	Buffer		vm_buffer = InvalidBuffer;
	uint32		nranges = (units->nblocks - 1) / range_blocks + 1;
	uint32		together = (nranges - 1) / most + 1;

	if (nranges <= MAX_RANGES)
		divide(units, range_blocks * together);
	for (uint32 u = 0; u < units->nunits; u++)
	{
		CScanRange	blocks = {u * units->unit_blocks, 0};

		if (units->left[u] == 0)
			continue;
		units->known[u] = true;
		for (uint32 i = 0; units->known[u] && i < together && blocks.first < cscan_units_end(units, u); i++)
		{
			const BrinMemTuple *range = get_range(revmap, desc, blocks.first, &buffer, room);

			CHECK_FOR_INTERRUPTS();
			blocks.end = Min((uint64) blocks.first + range_blocks, units->nblocks);
			units->known[u] = set_range(units, u, range ? &range->bt_columns[column] : NULL, blocks, &vm_buffer);
			blocks.first = blocks.end;
		}
	}
	if (BufferIsValid(buffer))
		ReleaseBuffer(buffer);
	if (BufferIsValid(vm_buffer))
		ReleaseBuffer(vm_buffer);
	brin_free_desc(desc);
	brinRevmapTerminate(revmap);
}

/* Nobody waits for an index that is being rebuilt: a chunk is in use. */
static void
find_in_brin(CScanUnits *units, Oid brin, uint32 most)
{
	Relation	index;
	int			column;

	if (!ConditionalLockRelationOid(brin, AccessShareLock))
		return;
	index = index_open(brin, NoLock);
	column = find_column(index, units->attribute);
	if (column >= 0)
		find_in_ranges(units, index, column, most);
	index_close(index, AccessShareLock);
}

/* ------------------------------------------------------------------
 * Finding
 * ------------------------------------------------------------------ */

/* What is all-visible is visible to an MVCC snapshot only, see groups.c. */
static bool
brin_counts(const CScanState *scan)
{
	return IsMVCCSnapshot(scan->css.ss.ps.state->es_snapshot) &&
		!cscan_is_new_in_transaction(scan->css.ss.ss_currentRelation) && !cscan_snapshots_may_be_too_old();
}

uint32
cscan_units_find(CScanUnits *units, CScanState *scan, int attribute, Oid brin, uint32 most, BlockNumber *may_look)
{
	uint32		nknown = 0;

	MemSet(units, 0, sizeof(CScanUnits));
	units->scan = scan;
	units->attribute = attribute;
	units->typlen = TupleDescAttr(RelationGetDescr(scan->css.ss.ss_currentRelation), attribute)->attlen;
	units->nblocks = scan->nblocks;
	units->may_look = may_look;
	if (units->nblocks == 0)
		return 0;
	if (!OidIsValid(brin))
		find_in_groups(units);
	else if (brin_counts(scan))
		find_in_brin(units, brin, most);
	if (units->nunits == 0)
		divide(units, units->nblocks);
	for (uint32 u = 0; u < units->nunits; u++)
	{
		nknown += units->known[u];
		if (!units->known[u])
		{
			units->minima[u] = PG_INT64_MIN;
			units->maxima[u] = PG_INT64_MAX;
		}
		else if (units->minima[u] > units->maxima[u])
			units->left[u] = 0;
	}
	return nknown;
}
