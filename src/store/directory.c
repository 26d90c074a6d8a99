/*-------------------------------------------------------------------------
 *
 * directory.c
 *		Metapage, map and directory pages of a column store.
 *
 * A change of these is one record of the generic write-ahead log: it holds or
 * not, as a whole.  The record has at most the metapage, a map page and a
 * directory page.  They are locked in this order.
 *
 * A group's directory page and a map page never move.  So where they are may
 * be cached.  That there is none must be looked up each time, and so must the
 * bits.
 *
 *-------------------------------------------------------------------------
 */
#include "store.h"

#include "access/generic_xlog.h"
#include "access/xlog.h"

/* What a backend knows of an index, in rd_amcache */
typedef struct CScanStoreCache
{
	uint32		group_blocks;
	uint32		ncolumns;
	uint32		map;			/* number of the map page that "map_block" is */
	BlockNumber map_block;		/* 0: unknown */
	uint32		group;			/* the group whose directory page is
								 * "directory" */
	BlockNumber directory;		/* 0: unknown */
} CScanStoreCache;

int
cscan_store_hint_rebuild(void)
{
	if (RecoveryInProgress())
		return errhint("REINDEX it on the primary server.  Until then, \"SET cscan.columns = off\" lets queries read the table.");
	return errhint("REINDEX it.  Until then, \"SET cscan.columns = off\" lets queries read the table.");
}

static void
report_damage(Relation index, BlockNumber block, const char *what)
{
	ereport(ERROR,
			(errcode(ERRCODE_INDEX_CORRUPTED),
			 errmsg("index \"%s\" is damaged in block %u", RelationGetRelationName(index), block),
			 errdetail("The page is no %s.", what),
			 cscan_store_hint_rebuild()));
}

/* Read a page that must be of this kind, and lock it. */
static Buffer
read_page(Relation index, BlockNumber block, CScanPageKind kind, int lock)
{
	static const char *const names[] = {
		[CSCAN_PAGE_META] = "metapage of an index of columns",
		[CSCAN_PAGE_MAP] = "map page",
		[CSCAN_PAGE_DIRECTORY] = "directory page",
	};
	Buffer		buffer = ReadBuffer(index, block);
	Page		page = BufferGetPage(buffer);

	LockBuffer(buffer, lock);
	if (PageIsNew(page) || PageGetSpecialSize(page) != MAXALIGN(sizeof(CScanPageOpaque)) ||
		cscan_page_opaque(page)->kind != kind)
		report_damage(index, block, names[kind]);
	return buffer;
}

static CScanStoreMeta *
meta_of(Page page)
{
	return (CScanStoreMeta *) PageGetContents(page);
}

static BlockNumber *
map_of(Page page)
{
	return (BlockNumber *) PageGetContents(page);
}

static CScanDirectory *
directory_of(Page page)
{
	return (CScanDirectory *) PageGetContents(page);
}

static uint8 *
serving_bitmap(CScanDirectory *directory)
{
	return (uint8 *) &directory->runs[directory->ncolumns + 1];
}

static uint8 *
building_bitmap(CScanDirectory *directory)
{
	return serving_bitmap(directory) + CSCAN_STORE_BITMAP_BYTES(directory->group_blocks);
}

uint32
cscan_store_max_groups(void)
{
	return CSCAN_STORE_MAPS * CSCAN_STORE_MAP_ENTRIES;
}

/*
 * Make the metapage of a new index.  It must reach the init fork of an
 * unlogged one, too, so it is logged whatever the index is.
 */
void
cscan_store_init_fork(Relation index, ForkNumber fork, uint32 group_blocks)
{
	Buffer		buffer;
	Page		page;
	CScanStoreMeta *meta;

	buffer = ReadBufferExtended(index, fork, P_NEW, RBM_ZERO_AND_LOCK, NULL);
	if (BufferGetBlockNumber(buffer) != CSCAN_STORE_METAPAGE)
		elog(ERROR, "index \"%s\" is not empty", RelationGetRelationName(index));
	page = BufferGetPage(buffer);

	START_CRIT_SECTION();
	cscan_store_init_page(page, CSCAN_PAGE_META, 0, 0);
	meta = meta_of(page);
	memset(meta, 0, sizeof(CScanStoreMeta));
	meta->magic = CSCAN_STORE_MAGIC;
	meta->version = CSCAN_STORE_VERSION;
	meta->group_blocks = group_blocks;
	meta->ncolumns = RelationGetNumberOfAttributes(index);
	meta->generation = 1;
	((PageHeader) page)->pd_lower = (char *) (meta + 1) - (char *) page;
	MarkBufferDirty(buffer);
	if (RelationNeedsWAL(index) || fork == INIT_FORKNUM)
		log_newpage_buffer(buffer, true);
	END_CRIT_SECTION();
	UnlockReleaseBuffer(buffer);
}

static void
check_meta(Relation index, const CScanStoreMeta *meta)
{
	if (meta->magic != CSCAN_STORE_MAGIC)
		report_damage(index, CSCAN_STORE_METAPAGE, "metapage of an index of columns");
	if (meta->version != CSCAN_STORE_VERSION)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("index \"%s\" has version %u of the format of indexes of columns", RelationGetRelationName(index), meta->version),
				 errdetail("This build of cscan knows version %d.", CSCAN_STORE_VERSION),
				 cscan_store_hint_rebuild()));
	if (meta->ncolumns != (uint32) RelationGetNumberOfAttributes(index) ||
		meta->group_blocks < CSCAN_STORE_MIN_GROUP || meta->group_blocks > CSCAN_STORE_MAX_GROUP ||
		meta->group_blocks % 8 != 0)
		report_damage(index, CSCAN_STORE_METAPAGE, "metapage of this index");
}

void
cscan_store_read_meta(Relation index, CScanStoreMeta *meta)
{
	Buffer		buffer = read_page(index, CSCAN_STORE_METAPAGE, CSCAN_PAGE_META, BUFFER_LOCK_SHARE);

	memcpy(meta, meta_of(BufferGetPage(buffer)), sizeof(CScanStoreMeta));
	UnlockReleaseBuffer(buffer);
	check_meta(index, meta);
}

static CScanStoreCache *
get_cache(Relation index)
{
	CScanStoreCache *cache = index->rd_amcache;

	if (cache == NULL)
	{
		Buffer		buffer = read_page(index, CSCAN_STORE_METAPAGE, CSCAN_PAGE_META, BUFFER_LOCK_SHARE);
		CScanStoreMeta *meta = meta_of(BufferGetPage(buffer));

		check_meta(index, meta);
		cache = MemoryContextAllocZero(index->rd_indexcxt, sizeof(CScanStoreCache));
		cache->group_blocks = meta->group_blocks;
		cache->ncolumns = meta->ncolumns;
		UnlockReleaseBuffer(buffer);
		index->rd_amcache = cache;
	}
	return cache;
}

uint32
cscan_store_group_blocks(Relation index)
{
	return get_cache(index)->group_blocks;
}

/* Get the number of a group's directory page, 0 if it has none now. */
static BlockNumber
find_directory(Relation index, uint32 group)
{
	CScanStoreCache *cache = get_cache(index);
	uint32		map = group / CSCAN_STORE_MAP_ENTRIES;
	BlockNumber directory;
	Buffer		buffer;

	if (cache->directory != 0 && cache->group == group)
		return cache->directory;
	if (cache->map_block == 0 || cache->map != map)
	{
		CScanStoreMeta *meta;
		BlockNumber block = 0;

		buffer = read_page(index, CSCAN_STORE_METAPAGE, CSCAN_PAGE_META, BUFFER_LOCK_SHARE);
		meta = meta_of(BufferGetPage(buffer));
		/* Most rows come at the heap's end, where no group has been built. */
		if (group < meta->ngroups && map < CSCAN_STORE_MAPS)
			block = meta->maps[map];
		UnlockReleaseBuffer(buffer);
		if (block == 0)
			return 0;
		cache->map = map;
		cache->map_block = block;
	}
	buffer = read_page(index, cache->map_block, CSCAN_PAGE_MAP, BUFFER_LOCK_SHARE);
	directory = map_of(BufferGetPage(buffer))[group % CSCAN_STORE_MAP_ENTRIES];
	UnlockReleaseBuffer(buffer);
	if (directory != 0)
	{
		cache->group = group;
		cache->directory = directory;
	}
	return directory;
}

/* Read a directory page, and check what does not depend on its entries. */
static Buffer
read_directory(Relation index, BlockNumber block, int lock)
{
	CScanStoreCache *cache = get_cache(index);
	Buffer		buffer = read_page(index, block, CSCAN_PAGE_DIRECTORY, lock);
	CScanDirectory *directory = directory_of(BufferGetPage(buffer));

	if (directory->ncolumns != cache->ncolumns || directory->group_blocks != cache->group_blocks ||
		directory->serving.covered > directory->group_blocks)
		report_damage(index, block, "directory page of this index");
	return buffer;
}

bool
cscan_store_read_group(Relation index, uint32 group, CScanGroup *copy)
{
	BlockNumber block = find_directory(index, group);
	Buffer		buffer;
	CScanDirectory *directory;
	size_t		runs_size;
	size_t		bitmap_size;

	memset(copy, 0, sizeof(CScanGroup));
	copy->block = InvalidBlockNumber;
	if (block == 0)
		return false;
	buffer = read_directory(index, block, BUFFER_LOCK_SHARE);
	directory = directory_of(BufferGetPage(buffer));
	runs_size = (directory->ncolumns + 1) * sizeof(CScanStoredRun);
	bitmap_size = CSCAN_STORE_BITMAP_BYTES(directory->group_blocks);
	copy->block = block;
	copy->building = directory->building;
	copy->serving = directory->serving;
	copy->runs = palloc(runs_size);
	copy->stale = palloc(bitmap_size);
	memcpy(copy->runs, directory->runs, runs_size);
	memcpy(copy->stale, serving_bitmap(directory), bitmap_size);
	UnlockReleaseBuffer(buffer);
	return true;
}

void
cscan_store_prefetch_group(Relation index, uint32 group)
{
	BlockNumber block = find_directory(index, group);

	if (block != 0)
		PrefetchBuffer(index, MAIN_FORKNUM, block);
}

void
cscan_store_free_group(CScanGroup *copy)
{
	if (copy->block == InvalidBlockNumber)
		return;
	pfree(copy->runs);
	pfree(copy->stale);
}

/* Set the bits of serving and building bitmap; true if that changes one. */
static bool
add_bits(CScanDirectory *directory, const uint8 *bits, uint32 begin, uint32 end)
{
	bool		changed = false;

	for (int which = 0; which < 2; which++)
	{
		uint8	   *bitmap = which == 0 ? serving_bitmap(directory) : building_bitmap(directory);

		if ((which == 0 ? directory->serving.generation : directory->building) == 0)
			continue;
		for (uint32 i = begin; i < end; i++)
		{
			changed |= (bits[i - begin] & ~bitmap[i]) != 0;
			bitmap[i] |= bits[i - begin];
		}
	}
	return changed;
}

/* Whether add_bits() would change a bit. */
static bool
lacks_bits(CScanDirectory *directory, const uint8 *bits, uint32 begin, uint32 end)
{
	for (uint32 i = begin; i < end; i++)
	{
		if (directory->serving.generation != 0 && (bits[i - begin] & ~serving_bitmap(directory)[i]) != 0)
			return true;
		if (directory->building != 0 && (bits[i - begin] & ~building_bitmap(directory)[i]) != 0)
			return true;
	}
	return false;
}

/*
 * Set bits in the bytes [begin, end) of a directory page's bitmaps.  Almost
 * always they are set already, so the first look is under a share lock.
 */
static void
mark_stale(Relation index, BlockNumber block, const uint8 *bits, uint32 begin, uint32 end)
{
	Buffer		buffer = read_directory(index, block, BUFFER_LOCK_SHARE);
	GenericXLogState *state;
	Page		page;

	if (!lacks_bits(directory_of(BufferGetPage(buffer)), bits, begin, end))
	{
		UnlockReleaseBuffer(buffer);
		return;
	}
	LockBuffer(buffer, BUFFER_LOCK_UNLOCK);
	LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	state = GenericXLogStart(index);
	page = GenericXLogRegisterBuffer(state, buffer, 0);
	if (add_bits(directory_of(page), bits, begin, end))
		GenericXLogFinish(state);
	else
		GenericXLogAbort(state);
	UnlockReleaseBuffer(buffer);
}

void
cscan_store_mark_stale(Relation index, BlockNumber block)
{
	uint32		group_blocks = get_cache(index)->group_blocks;
	BlockNumber directory = find_directory(index, block / group_blocks);
	uint32		i = block % group_blocks;
	uint8		bit = 1 << (i % 8);

	if (directory != 0)
		mark_stale(index, directory, &bit, i / 8, i / 8 + 1);
}

void
cscan_store_mark_all_stale(Relation index, BlockNumber directory, const uint8 *stale)
{
	mark_stale(index, directory, stale, 0, CSCAN_STORE_BITMAP_BYTES(get_cache(index)->group_blocks));
}

static void
init_directory(Page page, const CScanStoreMeta *meta, uint32 group)
{
	CScanDirectory *directory = directory_of(page);
	size_t		size = CSCAN_DIRECTORY_SIZE(meta->ncolumns, meta->group_blocks);

	cscan_store_init_page(page, CSCAN_PAGE_DIRECTORY, 0, 0);
	memset(directory, 0, size);
	directory->group = group;
	directory->ncolumns = meta->ncolumns;
	directory->group_blocks = meta->group_blocks;
	((PageHeader) page)->pd_lower = (char *) directory + size - (char *) page;
}

static void
init_map(Page page)
{
	cscan_store_init_page(page, CSCAN_PAGE_MAP, 0, 0);
	memset(map_of(page), 0, CSCAN_STORE_MAP_ENTRIES * sizeof(BlockNumber));
	((PageHeader) page)->pd_lower = (char *) (map_of(page) + CSCAN_STORE_MAP_ENTRIES) - (char *) page;
}

static BlockNumber
find_map(Relation index, uint32 group)
{
	Buffer		buffer = read_page(index, CSCAN_STORE_METAPAGE, CSCAN_PAGE_META, BUFFER_LOCK_SHARE);
	BlockNumber map = meta_of(BufferGetPage(buffer))->maps[group / CSCAN_STORE_MAP_ENTRIES];

	UnlockReleaseBuffer(buffer);
	return map;
}

int
cscan_store_lacks_pages(Relation index, uint32 group)
{
	if (find_directory(index, group) != 0)
		return 0;
	return find_map(index, group) != 0 ? 1 : 2;
}

uint64
cscan_store_begin_group(Relation index, uint32 group, const BlockNumber *free_pages, BlockNumber *directory)
{
	uint64		generation;
	BlockNumber block = find_directory(index, group);
	Buffer		meta_buffer;
	Buffer		map_buffer = InvalidBuffer;
	Buffer		buffer;
	GenericXLogState *state;
	CScanStoreMeta *meta;
	Page		page;

	if (block == 0)
	{
		BlockNumber map = find_map(index, group);
		bool		new_map = map == 0;

		/*
		 * The file is extended before anything is locked: what is not referred
		 * to is free.
		 */
		block = free_pages[0];
		UnlockReleaseBuffer(cscan_store_new_page(index, block));
		if (new_map)
		{
			map = free_pages[1];
			UnlockReleaseBuffer(cscan_store_new_page(index, map));
		}

		meta_buffer = read_page(index, CSCAN_STORE_METAPAGE, CSCAN_PAGE_META, BUFFER_LOCK_EXCLUSIVE);
		state = GenericXLogStart(index);
		meta = meta_of(GenericXLogRegisterBuffer(state, meta_buffer, 0));
		meta->maps[group / CSCAN_STORE_MAP_ENTRIES] = map;
		meta->ngroups = Max(meta->ngroups, group + 1);

		map_buffer = ReadBufferExtended(index, MAIN_FORKNUM, map, new_map ? RBM_ZERO_AND_LOCK : RBM_NORMAL, NULL);
		if (!new_map)
			LockBuffer(map_buffer, BUFFER_LOCK_EXCLUSIVE);
		page = GenericXLogRegisterBuffer(state, map_buffer, new_map ? GENERIC_XLOG_FULL_IMAGE : 0);
		if (new_map)
			init_map(page);
		map_of(page)[group % CSCAN_STORE_MAP_ENTRIES] = block;

		buffer = ReadBufferExtended(index, MAIN_FORKNUM, block, RBM_ZERO_AND_LOCK, NULL);
		page = GenericXLogRegisterBuffer(state, buffer, GENERIC_XLOG_FULL_IMAGE);
		init_directory(page, meta, group);
	}
	else
	{
		(void) get_cache(index);	/* reads the metapage, which is locked below */
		meta_buffer = read_page(index, CSCAN_STORE_METAPAGE, CSCAN_PAGE_META, BUFFER_LOCK_EXCLUSIVE);
		state = GenericXLogStart(index);
		meta = meta_of(GenericXLogRegisterBuffer(state, meta_buffer, 0));
		buffer = read_directory(index, block, BUFFER_LOCK_EXCLUSIVE);
		page = GenericXLogRegisterBuffer(state, buffer, 0);
	}

	generation = meta->generation++;
	directory_of(page)->building = generation;
	memset(building_bitmap(directory_of(page)), 0, CSCAN_STORE_BITMAP_BYTES(meta->group_blocks));
	GenericXLogFinish(state);

	UnlockReleaseBuffer(buffer);
	if (BufferIsValid(map_buffer))
		UnlockReleaseBuffer(map_buffer);
	UnlockReleaseBuffer(meta_buffer);
	*directory = block;
	return generation;
}

void
cscan_store_publish_group(Relation index, BlockNumber block, const CScanEntry *entry,
						  const CScanStoredRun *runs, const uint8 *stale)
{
	Buffer		buffer = read_directory(index, block, BUFFER_LOCK_EXCLUSIVE);
	GenericXLogState *state = GenericXLogStart(index);
	CScanDirectory *directory = directory_of(GenericXLogRegisterBuffer(state, buffer, 0));

	if (directory->building != entry->generation)
		elog(ERROR, "index \"%s\" is being built by another process", RelationGetRelationName(index));
	directory->serving = *entry;
	directory->building = 0;
	memcpy(directory->runs, runs, (directory->ncolumns + 1) * sizeof(CScanStoredRun));
	for (uint32 i = 0; i < CSCAN_STORE_BITMAP_BYTES(directory->group_blocks); i++)
		serving_bitmap(directory)[i] = stale[i] | building_bitmap(directory)[i];
	GenericXLogFinish(state);
	UnlockReleaseBuffer(buffer);
}
