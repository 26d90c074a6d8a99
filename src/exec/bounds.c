/*-------------------------------------------------------------------------
 *
 * bounds.c
 *		Which values of a column may still come from CScans (bounds.h).
 *
 * Each scan's table has units.  A unit counts until all of its blocks have been read.
 * A scan notes which chunks it takes (chunks.c).  When another scan is read, the scan
 * has read all of those.  If PostgreSQL's own scan reads the table, there are no
 * chunks, and its units count to its end.
 *
 * A scan that has not begun may not know its blocks.  Then they are found here, as the
 * scan would have done.
 *
 * Invariant: a row that is still to come is within the bounds of what is left.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "access/heapam.h"
#include "utils/memutils.h"

#include "exec/bounds.h"
#include "exec/columns.h"
#include "exec/units.h"

/* Ranges of a BRIN index are put together so that there are no more units. */
#define MAX_UNITS		65536

/* So many blocks, or the n-th part of all, may be read to find bounds. */
#define LOOK_LEAST		128
#define LOOK_SHARE		32

/* What is known of a scan. */
typedef struct CScanBoundsPart
{
	CScanUnits	units;
	CScanRange	portion;		/* of the chunk that is being read, what counts */
	bool		ended;			/* nothing is left */
} CScanBoundsPart;

/* A unit's values; they count while *left is not 0. */
typedef struct CScanInterval
{
	int64		minimum;
	int64		maximum;
	const uint32 *left;
} CScanInterval;

struct CScanBounds
{
	CScanBoundsPart *parts;
	int			nparts;
	CScanBoundsPart *current;	/* of the scan that was being read last */

	CScanInterval *units;		/* of all parts, by their minima, ascending */
	uint32		nunits;

	/* Intervals of the values that could come at the last look; disjoint, ascending */
	int64	   *begins;
	int64	   *ends;			/* inclusive */
	uint32		nintervals;
};

/* ------------------------------------------------------------------
 * Finding
 * ------------------------------------------------------------------ */

static int
compare_minima(const void *a, const void *b)
{
	int64		x = ((const CScanInterval *) a)->minimum;
	int64		y = ((const CScanInterval *) b)->minimum;

	return (x > y) - (x < y);
}

/*
 * Find what scans are to read that have not begun.  Returns how many blocks all of
 * them have.  All bitmaps together get the memory of one hash table, as in a family.
 */
static uint64
find_blocks(const CScanBoundsSource *sources, int n)
{
	Size		room = get_hash_memory_limit();
	uint64		nblocks = 0;

	for (int i = 0; i < n; i++)
	{
		CScanState *scan = sources[i].scan;

		CHECK_FOR_INTERRUPTS();
		Assert(scan->kind != CSCAN_TID_RANGE);
		Assert(scan->records && scan->parallel == NULL);

		/* PostgreSQL would rescan it when it is asked for a row. */
		if (scan->css.ss.ps.chgParam != NULL)
			ExecReScan(&scan->css.ss.ps);
		if (!scan->found && !scan->plain)
		{
			scan->pages_room = room;
			cscan_blocks_find(scan);
		}
		if (scan->pages)
			room -= Min(room, scan->pages->size);
		nblocks += scan->pages ? scan->pages->nexact + scan->pages->nlossy : scan->nblocks;
	}
	return nblocks;
}

/* Put the units of all parts into the order of their minima. */
static void
sort_units(CScanBounds *b)
{
	uint32		n = 0;

	b->units = MemoryContextAllocHuge(CurrentMemoryContext, b->nunits * sizeof(CScanInterval));
	b->begins = MemoryContextAllocHuge(CurrentMemoryContext, b->nunits * sizeof(int64));
	b->ends = MemoryContextAllocHuge(CurrentMemoryContext, b->nunits * sizeof(int64));
	for (int i = 0; i < b->nparts; i++)
	{
		const CScanUnits *units = &b->parts[i].units;

		for (uint32 u = 0; u < units->nunits; u++)
			b->units[n++] = (CScanInterval) {units->minima[u], units->maxima[u], &units->left[u]};
	}
	qsort(b->units, n, sizeof(CScanInterval), compare_minima);
}

/* Find the bounds; what the scans are to read is known. */
static CScanBounds *
find_bounds(const CScanBoundsSource *sources, int n, uint64 nblocks)
{
	CScanBounds *b = palloc0(sizeof(CScanBounds));
	BlockNumber may_look = Max((BlockNumber) Min(nblocks / LOOK_SHARE, MaxBlockNumber), LOOK_LEAST);
	uint32		nknown = 0;

	b->nparts = n;
	b->parts = palloc0(Max(n, 1) * sizeof(CScanBoundsPart));
	for (int i = 0; i < n; i++)
	{
		CScanUnits *units = &b->parts[i].units;

		nknown += cscan_units_find(units, sources[i].scan, sources[i].attribute, sources[i].brin,
								   Max(MAX_UNITS / n, 1), &may_look);
		b->nunits += units->nunits;
	}
	if (nknown == 0)
		return NULL;
	sort_units(b);
	return b;
}

CScanBounds *
cscan_bounds_find(const CScanBoundsSource *sources, int n, MemoryContext context)
{
	uint64		nblocks;
	MemoryContext caller;
	CScanBounds *b;

	/* Without chunks nobody knows where the scan is. */
	if (n == 1 && sources->scan->plain)
		return NULL;

	/* Other nodes keep what they make now for the whole query. */
	nblocks = find_blocks(sources, n);
	caller = MemoryContextSwitchTo(context);
	b = find_bounds(sources, n, nblocks);
	MemoryContextSwitchTo(caller);
	return b;
}

/* ------------------------------------------------------------------
 * What is left
 * ------------------------------------------------------------------ */

/* The bitmap's pages among these blocks have been read.  Returns whether a unit has ended. */
static bool
remove_pages(CScanUnits *units, CScanRange blocks)
{
	const CScanPages *pages = units->scan->pages;
	uint32		entry = cscan_pages_find(pages, blocks.first);
	BlockNumber block = blocks.first;
	bool		ended = false;

	while ((block = cscan_pages_next(pages, &entry, block, blocks.end)) != InvalidBlockNumber)
	{
		uint32	   *left = &units->left[block++ / units->unit_blocks];

		ended |= *left == 1;
		*left -= *left > 0;
	}
	return ended;
}

/* The same of all that the scan reads of these blocks. */
static bool
remove_blocks(CScanUnits *units, CScanRange blocks)
{
	bool		ended = false;
	BlockNumber first = blocks.first;
	BlockNumber end = Min(blocks.end, units->nblocks);

	if (units->scan->kind == CSCAN_BITMAP)
		return remove_pages(units, blocks);
	while (first < end)
	{
		uint32		unit = first / units->unit_blocks;
		BlockNumber stop = Min(end, cscan_units_end(units, unit));

		if (units->left[unit] > 0)
		{
			units->left[unit] -= Min(units->left[unit], stop - first);
			ended |= units->left[unit] == 0;
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

/* The same of one scan. */
static bool
advance(CScanBoundsPart *part, bool current)
{
	CScanState *scan = part->units.scan;
	bool		ended = false;

	if (part->ended)
		return false;
	for (uint32 i = 0; i < scan->ntaken; i++)
	{
		ended |= remove_blocks(&part->units, part->portion);
		part->portion = scan->taken[i];
	}
	scan->ntaken = 0;
	if (!current)
	{
		/* Its turn is over. */
		ended |= remove_blocks(&part->units, part->portion);
		part->portion = (CScanRange) {0, 0};
	}
	else if (part->portion.end > 0)
	{
		BlockNumber now = position(scan);

		if (now > part->portion.first && now < part->portion.end)
		{
			ended |= remove_blocks(&part->units, (CScanRange) {part->portion.first, now});
			part->portion.first = now;
		}
	}
	if (scan->finished)
	{
		for (uint32 u = 0; u < part->units.nunits; u++)
		{
			ended |= part->units.left[u] > 0;
			part->units.left[u] = 0;
		}
		part->ended = true;
	}
	return ended;
}

bool
cscan_bounds_advance(CScanBounds *b, const CScanState *current)
{
	bool		ended = false;

	/* Most often it is in the same chunk as before. */
	if (b->current && b->current->units.scan == current && current->ntaken == 0)
		return advance(b->current, true);
	for (int i = 0; i < b->nparts; i++)
	{
		CScanBoundsPart *part = &b->parts[i];
		bool		is_current = part->units.scan == current;

		ended |= advance(part, is_current);
		if (is_current)
			b->current = part;
	}
	return ended;
}

void
cscan_bounds_look(CScanBounds *b)
{
	b->nintervals = 0;
	for (uint32 i = 0; i < b->nunits; i++)
	{
		const CScanInterval *unit = &b->units[i];

		if (*unit->left == 0)
			continue;
		if (b->nintervals > 0 && unit->minimum <= b->ends[b->nintervals - 1])
		{
			b->ends[b->nintervals - 1] = Max(b->ends[b->nintervals - 1], unit->maximum);
			continue;
		}
		b->begins[b->nintervals] = unit->minimum;
		b->ends[b->nintervals++] = unit->maximum;
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
