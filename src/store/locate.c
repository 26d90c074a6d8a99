/*-------------------------------------------------------------------------
 *
 * locate.c
 *		Where a row group is stored, for those who plan its loads.
 *
 *		layout			the places that an index's columns have in a chunk
 *		find_runs		the blocks that a load of some columns reads
 *
 * The ABM finds runs without a relation, by the name of the index's file.  Whatever
 * it finds, scans read each page by themselves and check its generation.  So a page
 * that is no directory page by now is no error here: there is nothing to load then.
 *
 *-------------------------------------------------------------------------
 */
#include "store.h"

StaticAssertDecl(CSCAN_LAYOUT_COLUMNS == INDEX_MAX_KEYS + 1, "a layout has a column too few");

/* So many row groups show what all are like. */
#define SAMPLE		32

static int
compare_sizes(const void *a, const void *b)
{
	uint32		x = *(const uint32 *) a;
	uint32		y = *(const uint32 *) b;

	return x < y ? -1 : x > y;
}

void
cscan_store_layout(Relation index, const CScanRange *ranges, uint32 nranges, CScanLayout *layout)
{
	/* And the run that has the numbers of rows of each block. */
	uint32		ncolumns = RelationGetNumberOfAttributes(index) + 1;
	uint32		sizes[CSCAN_LAYOUT_COLUMNS][SAMPLE];
	uint32		nblocks[CSCAN_LAYOUT_COLUMNS] = {0};
	uint32		ngroups = 0;
	uint32		n = 0;
	uint32		next = 0;		/* the group that is sampled next, among those
								 * of the ranges */
	uint32		before = 0;

	for (uint32 r = 0; r < nranges; r++)
		ngroups += ranges[r].end - ranges[r].first;
	for (uint32 r = 0; r < nranges; r++)
	{
		uint32		length = ranges[r].end - ranges[r].first;

		while (next < before + length && n < SAMPLE)
		{
			CScanGroup	group;

			if (cscan_store_read_group(index, ranges[r].first + next - before, &group))
			{
				for (uint32 c = 0; c < ncolumns; c++)
					sizes[c][n] = cscan_stored_run_pages(&group.runs[c]);
				n++;
			}
			cscan_store_free_group(&group);
			next += ngroups / SAMPLE + 1;
		}
		before += length;
	}

	/* A few groups that are larger than all others shall not set the size. */
	for (uint32 c = 0; c < ncolumns && n > 0; c++)
	{
		qsort(sizes[c], n, sizeof(uint32), compare_sizes);
		nblocks[c] = sizes[c][n - 1 - n / 16];
	}
	cscan_layout_make(layout, nblocks, ncolumns);
}

/* Get a page, share-locked; InvalidBuffer if it is not of this kind, or not found. */
static Buffer
get_page(const CScanPageSource *source, BlockNumber block, CScanPageKind kind)
{
	Buffer		buffer;
	Page		page;

	if (source->in_memory)
	{
		buffer = cscan_find_buffer(source->locator, block);
		if (!BufferIsValid(buffer) || !ReadRecentBuffer(source->locator, MAIN_FORKNUM, block, buffer))
			return InvalidBuffer;
	}
	else
		buffer = ReadBufferWithoutRelcache(source->locator, MAIN_FORKNUM, block, RBM_NORMAL, NULL, source->permanent);
	page = BufferGetPage(buffer);
	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	if (!PageIsNew(page) && PageGetSpecialSize(page) == MAXALIGN(sizeof(CScanPageOpaque)) &&
		cscan_page_opaque(page)->kind == kind)
		return buffer;
	UnlockReleaseBuffer(buffer);
	return InvalidBuffer;
}

/* Copy so many bytes of a page from offset "from" of its content on; false as with get_page(). */
static bool
copy_from_page(const CScanPageSource *source, BlockNumber block, CScanPageKind kind, Size from, void *to, Size size)
{
	Buffer		buffer = get_page(source, block, kind);

	if (!BufferIsValid(buffer))
		return false;
	memcpy(to, PageGetContents(BufferGetPage(buffer)) + from, size);
	UnlockReleaseBuffer(buffer);
	return true;
}

/* Get a group's entry and its runs; false if there is none. */
static bool
read_entry(const CScanPageSource *source, uint32 group, uint32 ncolumns, CScanEntry *entry, CScanStoredRun *runs)
{
	pg_attribute_aligned(MAXIMUM_ALIGNOF) char bytes[offsetof(CScanDirectory, runs) +
													 CSCAN_LAYOUT_COLUMNS * sizeof(CScanStoredRun)];
	const CScanDirectory *directory = (const CScanDirectory *) bytes;
	BlockNumber block;
	uint32		map = group / CSCAN_STORE_MAP_ENTRIES;

	if (map >= CSCAN_STORE_MAPS ||
		!copy_from_page(source, CSCAN_STORE_METAPAGE, CSCAN_PAGE_META,
						offsetof(CScanStoreMeta, maps) + map * sizeof(BlockNumber), &block, sizeof(block)) ||
		block == 0 ||
		!copy_from_page(source, block, CSCAN_PAGE_MAP,
						group % CSCAN_STORE_MAP_ENTRIES * sizeof(BlockNumber), &block, sizeof(block)) ||
		block == 0 ||
		!copy_from_page(source, block, CSCAN_PAGE_DIRECTORY,
						0, bytes, offsetof(CScanDirectory, runs) + ncolumns * sizeof(CScanStoredRun)) ||
		directory->ncolumns + 1 != ncolumns || directory->serving.nrows == 0)
		return false;
	*entry = directory->serving;
	memcpy(runs, directory->runs, ncolumns * sizeof(CScanStoredRun));
	return true;
}

uint32
cscan_store_find_runs(const CScanPageSource *source, uint32 group, const CScanLayout *layout,
					  uint64 columns, CScanRun *runs, uint64 *generation)
{
	CScanEntry	entry;
	CScanStoredRun stored[CSCAN_LAYOUT_COLUMNS];
	uint32		n = 0;

	*generation = 0;
	if (!read_entry(source, group, layout->ncolumns, &entry, stored))
		return 0;
	*generation = entry.generation;
	for (uint32 c = 0; c < layout->ncolumns; c++)
	{
		uint32		npages = cscan_stored_run_pages(&stored[c]);

		if ((columns >> c & 1) == 0 || npages == 0 || (uint64) stored[c].page + npages > entry.npages)
			continue;
		runs[n].first = entry.first + stored[c].page;
		runs[n].end = runs[n].first + Min(npages, cscan_layout_size(layout, c));
		runs[n++].place = layout->begin[c];
	}
	return n;
}
