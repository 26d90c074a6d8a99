/*-------------------------------------------------------------------------
 *
 * extents.c
 *		Which pages of an index are free.
 *
 * Nothing on disk lists the free pages.  Whoever is about to build finds out
 * which pages are in use, and keeps the free *extents*, runs of consecutive
 * pages, in memory.  So no page is lost in a crash.  He reads the directory
 * anyhow, to find the groups that need to be built.
 *
 * An allocation takes the smallest extent that is large enough, at its begin.
 *
 * In an index of very many groups that takes long: by default, of more than can
 * be read in a tenth of a second (cscan_debug_few_groups).  So who builds a few
 * of them, again and again, leaves himself his largest free extents, the
 * *spares*.  They hold as long as nobody else has begun to build.
 *
 *-------------------------------------------------------------------------
 */
#include "store.h"

#include "cscan.h"

typedef struct CScanExtent
{
	BlockNumber first;
	BlockNumber end;
} CScanExtent;

struct CScanExtents
{
	CScanExtent *free;			/* by place; no two adjoin */
	uint32		n;
	uint32		room;
	BlockNumber end;			/* pages from here on are free, too */
};

static CScanExtent
make_extent(BlockNumber first, BlockNumber end)
{
	CScanExtent extent = {first, end};

	return extent;
}

static int
by_place(const void *a, const void *b)
{
	BlockNumber first_a = ((const CScanExtent *) a)->first;
	BlockNumber first_b = ((const CScanExtent *) b)->first;

	return (first_a > first_b) - (first_a < first_b);
}

static CScanExtent *
add_room(CScanExtent *extents, uint32 n, uint32 *room)
{
	if (n < *room)
		return extents;
	*room *= 2;
	return repalloc_huge(extents, *room * sizeof(CScanExtent));
}

CScanExtents *
cscan_extents_find_quickly(Relation index, const CScanSpares *spares)
{
	CScanExtents *extents;
	CScanStoreMeta *meta = palloc(sizeof(CScanStoreMeta));
	bool		use;

	cscan_store_read_meta(index, meta);
	use = meta->ngroups > (uint32) cscan_debug_few_groups &&
		spares->file == index->rd_rel->relfilenode && spares->generation == meta->generation;
	pfree(meta);
	if (!use)
		return cscan_extents_find(index);
	extents = palloc0(sizeof(CScanExtents));
	extents->room = CSCAN_MAX_SPARES;
	extents->free = palloc(CSCAN_MAX_SPARES * sizeof(CScanExtent));
	extents->end = RelationGetNumberOfBlocks(index);
	for (uint32 i = 0; i < spares->n; i++)
		cscan_extents_free(extents, spares->first[i], spares->end[i] - spares->first[i]);
	return extents;
}

/* Keep an extent if it is larger than one that is kept. */
static void
keep_spare(CScanSpares *spares, BlockNumber first, BlockNumber end)
{
	uint32		i = spares->n;

	while (i > 0 && spares->end[i - 1] - spares->first[i - 1] < end - first)
		i--;
	if (i == CSCAN_MAX_SPARES)
		return;
	if (spares->n < CSCAN_MAX_SPARES)
		spares->n++;
	for (uint32 j = spares->n - 1; j > i; j--)
	{
		spares->first[j] = spares->first[j - 1];
		spares->end[j] = spares->end[j - 1];
	}
	spares->first[i] = first;
	spares->end[i] = end;
}

void
cscan_extents_note(const CScanExtents *extents, Relation index, CScanSpares *spares)
{
	CScanStoreMeta *meta = palloc(sizeof(CScanStoreMeta));
	BlockNumber nblocks = RelationGetNumberOfBlocks(index);

	memset(spares, 0, sizeof(CScanSpares));
	cscan_store_read_meta(index, meta);
	for (uint32 i = 0; i < extents->n; i++)
		keep_spare(spares, extents->free[i].first, extents->free[i].end);
	if (extents->end < nblocks)
		keep_spare(spares, extents->end, nblocks);
	spares->generation = meta->generation;
	spares->file = index->rd_rel->relfilenode;
	pfree(meta);
}

CScanExtents *
cscan_extents_find(Relation index)
{
	CScanExtents *extents = palloc0(sizeof(CScanExtents));
	CScanStoreMeta *meta = palloc(sizeof(CScanStoreMeta));
	uint32		n = 0;
	uint32		room = 64;
	CScanExtent *used = palloc(room * sizeof(CScanExtent));
	BlockNumber map = 0;

	cscan_store_read_meta(index, meta);
	used[n++] = make_extent(CSCAN_STORE_METAPAGE, CSCAN_STORE_METAPAGE + 1);
	for (size_t i = 0; i < CSCAN_STORE_MAPS; i++)
	{
		map = meta->maps[i];
		if (map == 0)
			continue;
		used = add_room(used, n, &room);
		used[n++] = make_extent(map, map + 1);
	}
	for (uint32 group = 0; group < meta->ngroups; group++)
	{
		CScanGroup	copy;

		CHECK_FOR_INTERRUPTS();
		if (!cscan_store_read_group(index, group, &copy))
			continue;
		used = add_room(used, n + 1, &room);
		used[n++] = make_extent(copy.block, copy.block + 1);
		if (copy.serving.generation != 0 && copy.serving.npages > 0)
			used[n++] = make_extent(copy.serving.first, copy.serving.first + copy.serving.npages);
		cscan_store_free_group(&copy);
	}
	qsort(used, n, sizeof(CScanExtent), by_place);

	extents->room = n + 1;
	extents->free = palloc_extended(extents->room * sizeof(CScanExtent), MCXT_ALLOC_HUGE);
	for (uint32 i = 0; i < n; i++)
	{
		if (used[i].first < extents->end)
			ereport(ERROR,
					(errcode(ERRCODE_INDEX_CORRUPTED),
					 errmsg("index \"%s\" is damaged", RelationGetRelationName(index)),
					 errdetail("Block %u is in use twice.", used[i].first),
					 cscan_store_hint_rebuild()));
		if (used[i].first > extents->end)
			extents->free[extents->n++] = make_extent(extents->end, used[i].first);
		extents->end = used[i].end;
	}
	pfree(used);
	pfree(meta);
	return extents;
}

BlockNumber
cscan_extents_allocate(CScanExtents *extents, uint32 npages)
{
	uint32		best = extents->n;
	BlockNumber first;

	for (uint32 i = 0; i < extents->n; i++)
	{
		BlockNumber size = extents->free[i].end - extents->free[i].first;

		if (size >= npages &&
			(best == extents->n || size < extents->free[best].end - extents->free[best].first))
			best = i;
	}
	if (best == extents->n)
	{
		first = extents->end;
		if (npages > MaxBlockNumber - first)
			ereport(ERROR,
					(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
					 errmsg("an index of columns cannot have more than %u blocks", MaxBlockNumber),
					 errhint("Partition the table, or give the index fewer columns.")));
		extents->end += npages;
		return first;
	}
	first = extents->free[best].first;
	extents->free[best].first += npages;
	if (extents->free[best].first == extents->free[best].end)
	{
		extents->n--;
		memmove(&extents->free[best], &extents->free[best + 1], (extents->n - best) * sizeof(CScanExtent));
	}
	return first;
}

void
cscan_extents_free(CScanExtents *extents, BlockNumber first, uint32 npages)
{
	BlockNumber end = first + npages;
	uint32		i = 0;

	if (npages == 0)
		return;
	while (i < extents->n && extents->free[i].first < first)
		i++;
	if (i > 0 && extents->free[i - 1].end == first)
	{
		i--;
		extents->free[i].end = end;
	}
	else
	{
		extents->free = add_room(extents->free, extents->n, &extents->room);
		memmove(&extents->free[i + 1], &extents->free[i], (extents->n - i) * sizeof(CScanExtent));
		extents->free[i] = make_extent(first, end);
		extents->n++;
	}
	if (i + 1 < extents->n && extents->free[i].end == extents->free[i + 1].first)
	{
		extents->free[i].end = extents->free[i + 1].end;
		extents->n--;
		memmove(&extents->free[i + 1], &extents->free[i + 2], (extents->n - i - 1) * sizeof(CScanExtent));
	}
	if (extents->free[extents->n - 1].end == extents->end)
		extents->end = extents->free[--extents->n].first;
}
