/*-------------------------------------------------------------------------
 *
 * pages.c
 *		The pages that a bitmap-driven scan visits; see pages.h.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "utils/memutils.h"

#include "exec/pages.h"

/* While the arrays grow */
typedef struct CScanPagesBuilder
{
	CScanPages *pages;
	uint32		room;			/* entries */
	uint8	   *bytes;
	Size		nbytes;
	Size		bytes_room;
} CScanPagesBuilder;

static Size
size_for(uint32 nentries)
{
	return offsetof(CScanPages, entries) + (Size) nentries * sizeof(CScanPage);
}

static CScanPage *
add_entry(CScanPagesBuilder *b)
{
	if (b->pages->nentries == b->room)
	{
		b->room *= 2;
		b->pages = repalloc_huge(b->pages, size_for(b->room));
	}
	return &b->pages->entries[b->pages->nentries++];
}

static void
add_exact(CScanPagesBuilder *b, const CScanBitmapPage *found)
{
	CScanPage  *page = add_entry(b);
	uint8	   *bits;

	page->block = found->block;
	page->nblocks = 1;
	page->recheck = found->recheck;
	page->bits = (uint32) b->nbytes;
	page->nbytes = found->offsets[found->ntuples - 1] / 8 + 1;
	if (b->nbytes + page->nbytes > b->bytes_room)
	{
		b->bytes_room *= 2;
		b->bytes = repalloc_huge(b->bytes, b->bytes_room);
	}
	bits = b->bytes + b->nbytes;
	memset(bits, 0, page->nbytes);
	for (int i = 0; i < found->ntuples; i++)
		bits[found->offsets[i] / 8] |= 1 << (found->offsets[i] % 8);
	b->nbytes += page->nbytes;
	b->pages->nexact++;
}

/*
 * Add a page without its tuples.  A gap of at most so many blocks behind the
 * last such page is included.
 */
static void
add_lossy(CScanPagesBuilder *b, BlockNumber block, BlockNumber gap)
{
	CScanPage  *last = b->pages->nentries == 0 ? NULL :
		&b->pages->entries[b->pages->nentries - 1];

	if (last && last->nbytes == 0 && block - (last->block + last->nblocks) <= gap)
	{
		b->pages->nlossy += block + 1 - (last->block + last->nblocks);
		last->nblocks = block + 1 - last->block;
		return;
	}
	b->pages->nlossy++;
	last = add_entry(b);
	last->block = block;
	last->nblocks = 1;
	last->bits = 0;
	last->nbytes = 0;
	last->recheck = true;
}

CScanPages *
cscan_pages_copy(TIDBitmap *bitmap, BlockNumber nblocks, Size room)
{
	CScanPagesBuilder b = {.room = 64,.bytes_room = 4096};
	CScanBitmapIterator *iterator = cscan_bitmap_begin(bitmap);
	CScanBitmapPage found;

	b.pages = palloc0(size_for(b.room));
	b.bytes = palloc(b.bytes_room);
	while (cscan_bitmap_next(iterator, &found))
	{
		CHECK_FOR_INTERRUPTS();

		/*
		 * A BRIN index does not know the table's end.  Places in bytes have
		 * 32 bits; beyond them pages are read as a whole.
		 */
		if (found.block >= nblocks)
			continue;
		if (found.ntuples == 0)
			continue;
		if (size_for(b.pages->nentries) + b.nbytes >= room)
			add_lossy(&b, found.block, CSCAN_GAP_TO_READ);
		else if (found.ntuples > 0 && b.nbytes < PG_UINT32_MAX - MaxHeapTuplesPerPage)
			add_exact(&b, &found);
		else
			add_lossy(&b, found.block, 0);
	}
	cscan_bitmap_end(iterator);

	b.pages->size = size_for(b.pages->nentries) + b.nbytes;
	b.pages = repalloc_huge(b.pages, b.pages->size);
	memcpy((char *) b.pages + size_for(b.pages->nentries), b.bytes, b.nbytes);
	pfree(b.bytes);
	return b.pages;
}

uint32
cscan_pages_find(const CScanPages *pages, BlockNumber block)
{
	uint32		low = 0;
	uint32		high = pages->nentries;

	while (low < high)
	{
		uint32		middle = low + (high - low) / 2;

		if (pages->entries[middle].block + pages->entries[middle].nblocks <= block)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

BlockNumber
cscan_pages_next(const CScanPages *pages, uint32 *entry, BlockNumber next, BlockNumber end)
{
	for (; *entry < pages->nentries; (*entry)++)
	{
		const CScanPage *page = &pages->entries[*entry];
		BlockNumber block = Max(next, page->block);

		if (block >= end)
			break;
		if (block < page->block + page->nblocks)
			return block;
	}
	return InvalidBlockNumber;
}

int
cscan_pages_offsets(const CScanPages *pages, const CScanPage *page, OffsetNumber *offsets)
{
	const uint8 *bits = (const uint8 *) pages + size_for(pages->nentries) + page->bits;
	int			n = 0;

	for (int i = 0; i < page->nbytes; i++)
	{
		for (uint8 rest = bits[i]; rest != 0; rest &= rest - 1)
			offsets[n++] = (OffsetNumber) (i * 8 + __builtin_ctz(rest));
	}
	return n;
}

/* ------------------------------------------------------------------
 * Ranges
 * ------------------------------------------------------------------ */

static int
compare_descending(const void *a, const void *b, void *arg)
{
	BlockNumber x = *(const BlockNumber *) a;
	BlockNumber y = *(const BlockNumber *) b;

	(void) arg;
	return x < y ? 1 : x > y ? -1 : 0;
}

static BlockNumber
gap_before(const CScanPages *pages, uint32 entry)
{
	const CScanPage *before = &pages->entries[entry - 1];

	return pages->entries[entry].block - before->block - before->nblocks;
}

/*
 * Returns the smallest gap that separates two ranges.  At most
 * CSCAN_MAX_RANGES - 1 gaps do; *nsuch limits how many of just that size.
 */
static BlockNumber
gap_to_keep(const CScanPages *pages, uint32 *nsuch)
{
	BlockNumber smallest = CSCAN_GAP_TO_READ + 1;
	BlockNumber *gaps;
	uint32		n = 0;

	for (uint32 i = 1; i < pages->nentries; i++)
		n += gap_before(pages, i) >= smallest;
	*nsuch = n;
	if (n < CSCAN_MAX_RANGES)
		return smallest;

	gaps = MemoryContextAllocHuge(CurrentMemoryContext, sizeof(BlockNumber) * n);
	n = 0;
	for (uint32 i = 1; i < pages->nentries; i++)
	{
		if (i % 1024 == 0)
			CHECK_FOR_INTERRUPTS();
		if (gap_before(pages, i) >= smallest)
			gaps[n++] = gap_before(pages, i);
	}
	qsort_interruptible(gaps, n, sizeof(BlockNumber), compare_descending, NULL);

	smallest = gaps[CSCAN_MAX_RANGES - 2];
	*nsuch = 1;
	while (*nsuch < CSCAN_MAX_RANGES - 1 && gaps[CSCAN_MAX_RANGES - 2 - *nsuch] == smallest)
		(*nsuch)++;
	pfree(gaps);
	return smallest;
}

CScanRange *
cscan_pages_ranges(const CScanPages *pages, uint32 *nranges)
{
	CScanRange *ranges = palloc(sizeof(CScanRange) * Max(1, Min(pages->nentries, CSCAN_MAX_RANGES)));
	uint32		nsuch;
	BlockNumber keep = gap_to_keep(pages, &nsuch);

	*nranges = 0;
	for (uint32 i = 0; i < pages->nentries; i++)
	{
		const CScanPage *page = &pages->entries[i];
		BlockNumber gap = i == 0 ? 0 : gap_before(pages, i);

		if (i % 1024 == 0)
			CHECK_FOR_INTERRUPTS();
		if (i == 0 || gap > keep || (gap == keep && nsuch > 0))
		{
			nsuch -= i > 0 && gap == keep;
			ranges[(*nranges)++].first = page->block;
		}
		ranges[*nranges - 1].end = page->block + page->nblocks;
	}
	return ranges;
}
