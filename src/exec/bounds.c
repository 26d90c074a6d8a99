/*-------------------------------------------------------------------------
 *
 * bounds.c
 *		Which values of a column may still come from a CScan (bounds.h).
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
 * Invariant: a row that is still to come is within the bounds of what is left.
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

#include "exec/bounds.h"
#include "exec/columns.h"

/* Ranges of a BRIN index are put together so that there are no more units. */
#define MAX_UNITS		65536

/* To look at more of them would take too long. */
#define MAX_RANGES		(1024 * 1024)

/* So many blocks, or a table's n-th part, may be read to find bounds. */
#define LOOK_LEAST		128
#define LOOK_SHARE		32

struct CScanBounds
{
	CScanState *scan;
	int			attribute;
	int16		typlen;
	BlockNumber nblocks;
	uint32		unit_blocks;
	uint32		nunits;
	uint32	   *left;			/* blocks of each unit that are still to be read;
								 * none, if no value is in it */
	BlockNumber may_look;		/* blocks that may still be read to find bounds */
	bool	   *known;			/* until the bounds have been sorted */
	int64	   *minima;
	int64	   *maxima;

	uint32	   *by_minimum;		/* units, ascending */

	/* Intervals of the values that could come at the last look; disjoint, ascending */
	int64	   *begins;
	int64	   *ends;			/* inclusive */
	uint32		nintervals;

	CScanRange	portion;		/* of the chunk that is being read, what counts */
};

static BlockNumber
end_of(const CScanBounds *b, uint32 unit)
{
	uint64		end = ((uint64) unit + 1) * b->unit_blocks;

	return end < b->nblocks ? (BlockNumber) end : b->nblocks;
}

static void
add_values(CScanBounds *b, uint32 unit, int64 minimum, int64 maximum)
{
	b->minima[unit] = Min(b->minima[unit], minimum);
	b->maxima[unit] = Max(b->maxima[unit], maximum);
}

static CScanBounds *
create(CScanState *scan, int attribute, uint32 unit_blocks)
{
	CScanBounds *b = palloc0(sizeof(CScanBounds));

	b->scan = scan;
	b->attribute = attribute;
	b->typlen = TupleDescAttr(RelationGetDescr(scan->css.ss.ss_currentRelation), attribute)->attlen;
	b->nblocks = scan->nblocks;
	b->unit_blocks = unit_blocks;
	b->nunits = (b->nblocks - 1) / unit_blocks + 1;
	b->may_look = Max(b->nblocks / LOOK_SHARE, LOOK_LEAST);
	b->left = MemoryContextAllocHuge(CurrentMemoryContext, b->nunits * sizeof(uint32));
	b->known = MemoryContextAllocHuge(CurrentMemoryContext, b->nunits * sizeof(bool));
	b->minima = MemoryContextAllocHuge(CurrentMemoryContext, b->nunits * sizeof(int64));
	b->maxima = MemoryContextAllocHuge(CurrentMemoryContext, b->nunits * sizeof(int64));
	for (uint32 u = 0; u < b->nunits; u++)
	{
		b->left[u] = end_of(b, u) - u * unit_blocks;
		b->known[u] = false;
		b->minima[u] = PG_INT64_MAX;
		b->maxima[u] = PG_INT64_MIN;
	}
	return b;
}

/* Blocks that no index knows may be read, as far as they are few. */
static bool
may_look(CScanBounds *b, BlockNumber nblocks)
{
	if (nblocks > b->may_look)
		return false;
	b->may_look -= nblocks;
	return true;
}

/* Find the bounds of blocks in their rows. */
static void
look_at(CScanBounds *b, uint32 unit, BlockNumber first, BlockNumber end)
{
	Relation	rel = b->scan->css.ss.ss_currentRelation;
	TableScanDesc scan;
	TupleTableSlot *slot;

	if (first >= end)
		return;
	scan = table_beginscan_strat(rel, b->scan->css.ss.ps.state->es_snapshot, 0, NULL, true, false);
	slot = table_slot_create(rel, NULL);
	heap_setscanlimits(scan, first, end - first);
	while (table_scan_getnextslot(scan, ForwardScanDirection, slot))
	{
		bool		isnull;
		Datum		value = slot_getattr(slot, b->attribute + 1, &isnull);
		int64		integer;

		CHECK_FOR_INTERRUPTS();
		if (isnull)
			continue;
		integer = cscan_values_integer_of_datum(value, b->typlen);
		add_values(b, unit, integer, integer);
	}
	ExecDropSingleTupleTableSlot(slot);
	table_endscan(scan);
}

/* ------------------------------------------------------------------
 * Row groups
 * ------------------------------------------------------------------ */

/* The groups that the scan skips are not left. */
static void
leave_out_skipped(CScanBounds *b)
{
	const CScanState *scan = b->scan;
	const CScanColumns *c = scan->columns;
	bool	   *wanted = palloc_extended(b->nunits, MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);

	for (uint32 i = 0; i < c->nown; i++)
		wanted[c->own[i]] = true;
	for (uint32 r = 0; r < scan->nranges; r++)
	{
		for (uint32 u = scan->ranges[r].first / b->unit_blocks; u < b->nunits && u * b->unit_blocks < scan->ranges[r].end; u++)
			wanted[u] = true;
	}
	for (uint32 i = 0; i < scan->ntaken; i++)
		wanted[scan->taken[i].first / b->unit_blocks] = true;
	for (uint32 u = 0; u < b->nunits; u++)
	{
		if (!wanted[u])
			b->left[u] = 0;
	}
	pfree(wanted);
}

/* Set a group's bounds: those of its runs, and of the blocks that are not in them. */
static void
set_group(CScanBounds *b, uint32 unit, const CScanReader *r, int column)
{
	BlockNumber first = unit * b->unit_blocks;
	BlockNumber end = end_of(b, unit);
	const CScanStoredRun *run = &r->group.runs[column];
	BlockNumber in_runs = 0;

	for (BlockNumber block = first; block < end; block++)
		in_runs += r->sources[block - first] == CSCAN_FROM_RUNS;
	if (!may_look(b, end - first - in_runs))
		return;
	if (in_runs > 0 && run->nnulls < r->group.serving.nrows)
	{
		if (!run->ordered || run->storage != CSCAN_STORAGE_BYVAL)
			return;
		add_values(b, unit, run->minimum, run->maximum);
	}
	for (BlockNumber block = first; block < end;)
	{
		BlockNumber begin = block;

		while (block < end && r->sources[block - first] != CSCAN_FROM_RUNS)
			block++;
		look_at(b, unit, begin, block);
		while (block < end && r->sources[block - first] == CSCAN_FROM_RUNS)
			block++;
	}
	b->known[unit] = true;
}

static CScanBounds *
find_in_groups(CScanState *scan, int attribute)
{
	const CScanColumns *c = scan->columns;
	CScanBounds *b = create(scan, attribute, scan->group_blocks);
	CScanReader *r = cscan_reader_begin(scan->css.ss.ss_currentRelation, c->index, NULL, 0);
	int			column = 0;

	while (column < RelationGetNumberOfAttributes(c->index) &&
		   c->index->rd_index->indkey.values[column] != attribute + 1)
		column++;
	if (column == RelationGetNumberOfAttributes(c->index))
		elog(ERROR, "index \"%s\" has no column for attribute %d", RelationGetRelationName(c->index), attribute + 1);
	r->from_heap = c->reader->from_heap;
	leave_out_skipped(b);
	for (uint32 u = 0; u < b->nunits; u++)
	{
		CHECK_FOR_INTERRUPTS();
		if (b->left[u] == 0)
			continue;
		cscan_reader_look(r, u * b->unit_blocks, end_of(b, u));
		set_group(b, u, r, column);
	}
	cscan_reader_end(r);
	return b;
}

/* ------------------------------------------------------------------
 * BRIN
 * ------------------------------------------------------------------ */

uint32
cscan_bounds_unit(Oid index, bool brin)
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
cscan_bounds_are_possible(Oid type)
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
cscan_bounds_in_brin(Oid opfamily, Oid type)
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

/*
 * Set the bounds of a range's blocks: its summary's, and those of the blocks that the
 * summary may not know.  False if these are too many.
 */
static bool
set_range(CScanBounds *b, uint32 unit, const BrinValues *values, CScanRange blocks, Buffer *vm_buffer)
{
	Relation	rel = b->scan->css.ss.ss_currentRelation;
	BlockNumber end = blocks.first;

	while (end < blocks.end)
	{
		BlockNumber begin = end;

		while (begin < blocks.end && values != NULL &&
			   (visibilitymap_get_status(rel, begin, vm_buffer) & VISIBILITYMAP_ALL_VISIBLE))
			begin++;
		end = begin;
		while (end < blocks.end && (values == NULL ||
									!(visibilitymap_get_status(rel, end, vm_buffer) & VISIBILITYMAP_ALL_VISIBLE)))
			end++;
		if (!may_look(b, end - begin))
			return false;
		look_at(b, unit, begin, end);
	}
	if (values != NULL && !values->bv_allnulls)
		add_values(b, unit, cscan_values_integer_of_datum(values->bv_values[0], b->typlen),
				   cscan_values_integer_of_datum(values->bv_values[1], b->typlen));
	return true;
}

/* The column of a BRIN index that has the bounds, or -1. */
static int
find_column(Relation index, int attribute)
{
	for (int c = 0; c < RelationGetNumberOfAttributes(index); c++)
	{
		if (index->rd_index->indkey.values[c] == attribute + 1 &&
			cscan_bounds_in_brin(index->rd_opfamily[c], index->rd_opcintype[c]))
			return c;
	}
	return -1;
}

static CScanBounds *
find_in_ranges(CScanState *scan, int attribute, Relation index, int column)
{
	BlockNumber range_blocks;
	BrinRevmap *revmap = cscan_brin_begin(index, &range_blocks);
	BrinDesc   *desc = brin_build_desc(index);
	BrinMemTuple *room = brin_new_memtuple(desc);
	Buffer		buffer = InvalidBuffer;
	Buffer		vm_buffer = InvalidBuffer;
	uint32		nranges = (scan->nblocks - 1) / range_blocks + 1;
	uint32		together = (nranges - 1) / MAX_UNITS + 1;
	CScanBounds *b = NULL;

	if (nranges <= MAX_RANGES)
		b = create(scan, attribute, range_blocks * together);
	for (uint32 u = 0; b && u < b->nunits; u++)
	{
		CScanRange	blocks = {u * b->unit_blocks, 0};

		b->known[u] = true;
		for (uint32 i = 0; b->known[u] && i < together && blocks.first < end_of(b, u); i++)
		{
			const BrinMemTuple *range = get_range(revmap, desc, blocks.first, &buffer, room);

			CHECK_FOR_INTERRUPTS();
			blocks.end = Min((uint64) blocks.first + range_blocks, b->nblocks);
			b->known[u] = set_range(b, u, range ? &range->bt_columns[column] : NULL, blocks, &vm_buffer);
			blocks.first = blocks.end;
		}
	}
	if (BufferIsValid(buffer))
		ReleaseBuffer(buffer);
	if (BufferIsValid(vm_buffer))
		ReleaseBuffer(vm_buffer);
	brin_free_desc(desc);
	brinRevmapTerminate(revmap);
	return b;
}

/* Nobody waits for an index that is being rebuilt: a chunk is in use. */
static CScanBounds *
find_in_brin(CScanState *scan, int attribute, Oid brin)
{
	CScanBounds *b = NULL;
	Relation	index;
	int			column;

	if (!ConditionalLockRelationOid(brin, AccessShareLock))
		return NULL;
	index = index_open(brin, NoLock);
	column = find_column(index, attribute);
	if (column >= 0)
		b = find_in_ranges(scan, attribute, index, column);
	index_close(index, AccessShareLock);
	return b;
}

/* ------------------------------------------------------------------
 * Finding
 * ------------------------------------------------------------------ */

static int
compare_minima(const void *a, const void *b, void *arg)
{
	const int64 *minima = arg;
	int64		x = minima[*(const uint32 *) a];
	int64		y = minima[*(const uint32 *) b];

	return (x > y) - (x < y);
}

CScanBounds *
cscan_bounds_find(CScanState *scan, int attribute, Oid brin)
{
	CScanBounds *b;
	uint32		nknown = 0;

	/* Without chunks nobody knows where the scan is. */
	if (scan->nblocks == 0 || scan->ntaken == 0)
		return NULL;
	/* What is all-visible is visible to an MVCC snapshot only, see groups.c. */
	if (OidIsValid(brin) && (!IsMVCCSnapshot(scan->css.ss.ps.state->es_snapshot) ||
							 cscan_is_new_in_transaction(scan->css.ss.ss_currentRelation) || cscan_snapshots_may_be_too_old()))
		return NULL;
	b = OidIsValid(brin) ? find_in_brin(scan, attribute, brin) : find_in_groups(scan, attribute);
	if (b == NULL)
		return NULL;
	for (uint32 u = 0; u < b->nunits; u++)
		nknown += b->known[u];
	if (nknown == 0)
		return NULL;
	for (uint32 u = 0; u < b->nunits; u++)
	{
		if (!b->known[u])
		{
			b->minima[u] = PG_INT64_MIN;
			b->maxima[u] = PG_INT64_MAX;
		}
		else if (b->minima[u] > b->maxima[u])
			b->left[u] = 0;
	}
	b->by_minimum = MemoryContextAllocHuge(CurrentMemoryContext, b->nunits * sizeof(uint32));
	b->begins = MemoryContextAllocHuge(CurrentMemoryContext, b->nunits * sizeof(int64));
	b->ends = MemoryContextAllocHuge(CurrentMemoryContext, b->nunits * sizeof(int64));
	for (uint32 u = 0; u < b->nunits; u++)
		b->by_minimum[u] = u;
	qsort_arg(b->by_minimum, b->nunits, sizeof(uint32), compare_minima, b->minima);
	return b;
}

/* ------------------------------------------------------------------
 * What is left
 * ------------------------------------------------------------------ */

/* These blocks have been read.  Returns whether a unit has ended. */
static bool
remove_blocks(CScanBounds *b, BlockNumber first, BlockNumber end)
{
	bool		ended = false;

	end = Min(end, b->nblocks);
	while (first < end)
	{
		uint32		unit = first / b->unit_blocks;
		BlockNumber stop = Min(end, end_of(b, unit));

		if (b->left[unit] > 0)
		{
			b->left[unit] -= Min(b->left[unit], stop - first);
			ended |= b->left[unit] == 0;
		}
		first = stop;
	}
	return ended;
}

/* The block, or the first one of the row group, that is being read. */
static BlockNumber
position(const CScanState *scan)
{
	return scan->kind == CSCAN_COLUMNS ? scan->columns->first : ((HeapScanDesc) scan->scan)->rs_cblock;
}

bool
cscan_bounds_advance(CScanBounds *b)
{
	CScanState *scan = b->scan;
	BlockNumber now = position(scan);
	bool		ended = false;

	if (scan->ntaken == 0)
		return false;
	for (uint32 i = 0; i < scan->ntaken; i++)
	{
		if (i > 0 || b->portion.end == 0)
		{
			ended |= remove_blocks(b, b->portion.first, b->portion.end);
			b->portion = scan->taken[i];
		}
	}
	scan->taken[0] = scan->taken[scan->ntaken - 1];
	scan->ntaken = 1;
	if (now > b->portion.first && now < b->portion.end)
	{
		ended |= remove_blocks(b, b->portion.first, now);
		b->portion.first = now;
	}
	return ended;
}

void
cscan_bounds_look(CScanBounds *b)
{
	b->nintervals = 0;
	for (uint32 i = 0; i < b->nunits; i++)
	{
		uint32		unit = b->by_minimum[i];

		if (b->left[unit] == 0)
			continue;
		if (b->nintervals > 0 && b->minima[unit] <= b->ends[b->nintervals - 1])
		{
			b->ends[b->nintervals - 1] = Max(b->ends[b->nintervals - 1], b->maxima[unit]);
			continue;
		}
		b->begins[b->nintervals] = b->minima[unit];
		b->ends[b->nintervals++] = b->maxima[unit];
	}
}

bool
cscan_bounds_may_come(const CScanBounds *b, int64 value)
{
	uint32		low = 0;
	uint32		n = b->nintervals;

	/* The first interval that does not end before the value */
	while (n > 0)
	{
		uint32		half = n / 2;

		if (b->ends[low + half] < value)
		{
			low += half + 1;
			n -= half + 1;
		}
		else
			n = half;
	}
	return low < b->nintervals && b->begins[low] <= value;
}
