/*-------------------------------------------------------------------------
 *
 * fill.c
 *		Build row groups: a group's values, from the heap into column runs.
 *
 * A heap block is stored only if, under one lock of its page, the page says
 * that all of it is visible to all, the visibility map says so, too, and no
 * line pointer is dead.  Then its tuples are what everybody sees who reads it
 * now, and whoever changes it later marks it.  All others are stale from the
 * beginning.
 *
 * How many blocks a group has is found out after it has been published as
 * being built.  A row that comes to a block behind these is none of the
 * entry's business.
 *
 * The caller holds the heap's ShareUpdateExclusiveLock, or is the one that
 * creates the index.  Outside of VACUUM he has a registered snapshot, so that
 * values may be fetched from the TOAST table.
 *
 *-------------------------------------------------------------------------
 */
#include "store.h"

#include "access/visibilitymap.h"
#include "commands/progress.h"
#include "pgstat.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "cscan.h"
#include "fault.h"
#include "shared/shared.h"

/* To be built again, a group must gain this share of its blocks. */
#define GAIN_DIVISOR	16

/* After so many blocks give_up() is asked. */
#define GIVE_UP_BLOCKS	64

/* After so long (s) the least gain is enough, but not in VACUUM. */
#define GAIN_PATIENCE	3600

typedef struct CScanFilling
{
	Relation	heap;
	Relation	index;
	CScanFill  *fill;
	uint32		group_blocks;
	int			ncolumns;
	CScanEncoding codec;
	BufferAccessStrategy strategy;
	Buffer		vm_buffer;
	CScanHeap	rows;
	CScanValues *columns;
	CScanValues block_rows;		/* rows of each covered block */
	uint8	   *stale;
	size_t		nbytes;			/* of strings, in all columns */
	bool		detoasted;		/* a value came from the TOAST table */
	MemoryContext group_context;	/* for one group */
	MemoryContext block_context;	/* for one block */
	CScanExtents *extents;
} CScanFilling;

/* What came of a block */
typedef enum CScanBlockFate
{
	BLOCK_STORED,
	BLOCK_STALE,
	BLOCK_REFUSED,				/* a value is too large, or out of reach, or
								 * the group has no room for the block */
} CScanBlockFate;

static bool
is_all_visible(CScanFilling *f, BlockNumber block)
{
	return visibilitymap_get_status(f->heap, block, &f->vm_buffer) & VISIBILITYMAP_ALL_VISIBLE;
}

/*
 * Count the blocks that could be stored, and those that are.  Looks at the
 * visibility map only.
 */
static void
count_blocks(CScanFilling *f, uint32 group, BlockNumber nblocks, const CScanGroup *old, uint32 *could, uint32 *are)
{
	BlockNumber first = group * f->group_blocks;

	*could = *are = 0;
	for (uint32 i = 0; i < f->group_blocks && first + i < nblocks; i++)
	{
		if (is_all_visible(f, first + i))
			*could += 1;
		if (i < old->serving.covered && !cscan_has_bit(old->stale, i))
			*are += 1;
	}
}

/* Add rows of a page to the columns; false if not all can be stored. */
static bool
add_rows(CScanFilling *f, Buffer buffer, const OffsetNumber *offsets, int n)
{
	Datum		row[INDEX_MAX_KEYS];
	bool		isnull[INDEX_MAX_KEYS];

	for (int i = 0; i < n; i++)
	{
		cscan_heap_row(&f->rows, buffer, offsets[i], row, isnull);
		for (int column = 0; column < f->ncolumns; column++)
		{
			CScanValues *values = &f->columns[column];
			bool		external = !isnull[column] && cscan_values_is_external(values, row[column]);
			size_t		before = values->nbytes;

			if ((external && f->fill->in_vacuum) ||
				(!isnull[column] && cscan_values_too_large(values, row[column])))
				return false;
			f->detoasted |= external;
			cscan_values_add(values, row[column], isnull[column]);
			f->nbytes += values->nbytes - before;
			if (f->nbytes > CSCAN_STORE_MAX_STRINGS)
				return false;
		}
	}
	return true;
}

/* Store a block's rows, or none of them. */
static CScanBlockFate
add_block(CScanFilling *f, BlockNumber block, uint32 *max_offset)
{
	uint32		before = f->columns[0].n;
	OffsetNumber offsets[MaxHeapTuplesPerPage];
	OffsetNumber last;
	int			n;
	bool		has_dead;
	Buffer		buffer;
	Page		page;
	CScanBlockFate fate;
	MemoryContext caller;

	if (!is_all_visible(f, block))
		return BLOCK_STALE;
	buffer = ReadBufferExtended(f->heap, MAIN_FORKNUM, block, RBM_NORMAL, f->strategy);
	visibilitymap_pin(f->heap, block, &f->vm_buffer);
	CSCAN_FAULT(CSCAN_FAULT_STORE_BLOCK);
	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	page = BufferGetPage(buffer);
	last = PageGetMaxOffsetNumber(page);
	n = cscan_heap_offsets(page, offsets, &has_dead);
	fate = PageIsAllVisible(page) && is_all_visible(f, block) && !has_dead ? BLOCK_STORED : BLOCK_STALE;
	LockBuffer(buffer, BUFFER_LOCK_UNLOCK);

	if (fate == BLOCK_STORED)
	{
		caller = MemoryContextSwitchTo(f->block_context);
		if (before + n > CSCAN_COLUMN_MAX_VALUES || !add_rows(f, buffer, offsets, n))
			fate = BLOCK_REFUSED;
		MemoryContextSwitchTo(caller);
		MemoryContextReset(f->block_context);
	}
	cscan_heap_release(&f->rows, buffer);

	if (fate == BLOCK_STORED)
		*max_offset = Max(*max_offset, last);
	else if (fate == BLOCK_REFUSED)
	{
		/* Numerics may have become strings meanwhile. */
		f->nbytes = 0;
		for (int column = 0; column < f->ncolumns; column++)
		{
			cscan_values_truncate(&f->columns[column], before);
			f->nbytes += f->columns[column].nbytes;
		}
	}
	return fate;
}

/* Encode a run; returns its bytes. */
static char *
encode_run(CScanFilling *f, CScanValues *values, CScanStoredRun *run)
{
	CScanColumnInput input;
	CScanColumnPlan plan;
	char	   *memory;
	char	   *bytes;

	cscan_values_input(values, f->codec, &input);
	memory = palloc_extended(Max(cscan_column_memory(&input), 8), MCXT_ALLOC_HUGE);
	cscan_column_plan(&plan, &input, memory);
	bytes = palloc_extended(plan.size, MCXT_ALLOC_HUGE);
	cscan_column_write(&plan, bytes);

	memset(run, 0, sizeof(CScanStoredRun));
	run->size = plan.size;
	run->nnulls = values->nnulls;
	run->storage = values->storage;
	run->scale = values->scale;
	run->ordered = values->ordered && input.kind == CSCAN_COLUMN_INTEGERS;
	run->minimum = plan.header.minimum;
	run->maximum = plan.header.maximum;
	pfree(memory);
	return bytes;
}

/* Read the group's blocks.  False if give_up() said so. */
static bool
collect_rows(CScanFilling *f, BlockNumber first, BlockNumber nblocks, CScanEntry *entry)
{
	uint32		covered;

	f->detoasted = false;
	f->nbytes = 0;
	for (int column = 0; column < f->ncolumns; column++)
		cscan_values_reset(&f->columns[column]);
	cscan_values_reset(&f->block_rows);
	memset(f->stale, 0, CSCAN_STORE_BITMAP_BYTES(f->group_blocks));
	for (covered = 0; covered < f->group_blocks && first + covered < nblocks; covered++)
	{
		uint32		before = f->columns[0].n;
		CScanBlockFate fate;

		if (f->fill->in_vacuum)
			cscan_vacuum_delay_point();
		else
			CHECK_FOR_INTERRUPTS();
		if (f->fill->give_up != NULL && covered % GIVE_UP_BLOCKS == GIVE_UP_BLOCKS - 1 &&
			f->fill->give_up(f->fill))
			return false;
		fate = add_block(f, first + covered, &entry->max_offset);
		if (fate != BLOCK_STORED)
			cscan_set_bit(f->stale, covered);
		if (fate == BLOCK_REFUSED)
			entry->refused++;
		cscan_values_add(&f->block_rows, Int32GetDatum((int32) (f->columns[0].n - before)), false);
	}
	entry->covered = covered;
	entry->nrows = f->columns[0].n;
	return true;
}

/*
 * Build a group.  False if it was given up: it is still published as being
 * built, which ends when somebody begins to build it again.
 */
static bool
build_group(CScanFilling *f, uint32 group, const CScanGroup *old)
{
	BlockNumber first = group * f->group_blocks;
	int			nruns = f->ncolumns + 1;
	CScanStoredRun *runs;
	CScanEntry	entry = {0};
	BlockNumber free_pages[2];
	BlockNumber directory;
	char	  **bytes;
	MemoryContext caller;

	if (f->extents == NULL)
		f->extents = f->fill->spares ? cscan_extents_find_quickly(f->index, f->fill->spares) : cscan_extents_find(f->index);
	for (int i = cscan_store_lacks_pages(f->index, group) - 1; i >= 0; i--)
		free_pages[i] = cscan_extents_allocate(f->extents, 1);
	if (cscan_preloaded)
		pg_atomic_fetch_add_u64(&cscan_shared->builds, 1);
	entry.generation = cscan_store_begin_group(f->index, group, free_pages, &directory);
	CSCAN_FAULT(CSCAN_FAULT_STORE_BEGUN);
	if (!collect_rows(f, first, RelationGetNumberOfBlocks(f->heap), &entry))
		return false;
	entry.in_vacuum = f->fill->in_vacuum;
	entry.detoasted = f->detoasted;

	caller = MemoryContextSwitchTo(f->group_context);
	runs = palloc(nruns * sizeof(CScanStoredRun));
	bytes = palloc(nruns * sizeof(char *));
	memset(runs, 0, nruns * sizeof(CScanStoredRun));
	/* If nothing was stored, the entry says so, and that is all. */
	for (int i = 0; i < nruns && entry.nrows > 0; i++)
	{
		CHECK_FOR_INTERRUPTS();
		bytes[i] = encode_run(f, i < f->ncolumns ? &f->columns[i] : &f->block_rows, &runs[i]);
		runs[i].page = entry.npages;
		entry.npages += (runs[i].size + CSCAN_STORE_PAGE_BYTES - 1) / CSCAN_STORE_PAGE_BYTES;
	}
	MemoryContextSwitchTo(caller);

	if (entry.npages > 0)
		entry.first = cscan_extents_allocate(f->extents, entry.npages);
	for (int i = 0; i < nruns && entry.npages > 0; i++)
		cscan_store_write_pages(f->index, entry.generation, entry.first, runs[i].page, bytes[i], runs[i].size);
	CSCAN_FAULT(CSCAN_FAULT_STORE_WRITTEN);
	entry.built = GetCurrentTimestamp();
	cscan_store_publish_group(f->index, directory, &entry, runs, f->stale);
	CSCAN_FAULT(CSCAN_FAULT_STORE_PUBLISHED);
	if (old->serving.generation != 0)
		cscan_extents_free(f->extents, old->serving.first, old->serving.npages);
	f->fill->groups++;
	f->fill->rows += entry.nrows;
	MemoryContextReset(f->group_context);
	return true;
}

static void
begin_filling(CScanFilling *f, Relation heap, Relation index, CScanFill *fill)
{
	CScanStoreMeta *meta = palloc(sizeof(CScanStoreMeta));
	const CScanStoreOptions *options = (const CScanStoreOptions *) index->rd_options;

	cscan_store_read_meta(index, meta);
	memset(f, 0, sizeof(CScanFilling));
	f->heap = heap;
	f->index = index;
	f->fill = fill;
	f->group_blocks = meta->group_blocks;
	f->ncolumns = RelationGetNumberOfAttributes(index);
	f->codec = options ? (CScanEncoding) options->compression : cscan_values_default_codec();
	f->strategy = GetAccessStrategy(BAS_BULKREAD);
	f->vm_buffer = InvalidBuffer;
	cscan_heap_begin(&f->rows, heap, index);
	f->columns = palloc(f->ncolumns * sizeof(CScanValues));
	for (int column = 0; column < f->ncolumns; column++)
		cscan_values_init(&f->columns[column], cscan_heap_attribute(&f->rows, column), CurrentMemoryContext);
	cscan_values_init(&f->block_rows, NULL, CurrentMemoryContext);
	f->stale = palloc(CSCAN_STORE_BITMAP_BYTES(f->group_blocks));
	f->group_context = AllocSetContextCreate(CurrentMemoryContext, "cscan row group", ALLOCSET_DEFAULT_SIZES);
	f->block_context = AllocSetContextCreate(CurrentMemoryContext, "cscan block", ALLOCSET_DEFAULT_SIZES);
	pfree(meta);
}

static void
end_filling(CScanFilling *f)
{
	if (f->extents != NULL && f->fill->spares != NULL)
		cscan_extents_note(f->extents, f->index, f->fill->spares);
	cscan_heap_end(&f->rows);
	if (BufferIsValid(f->vm_buffer))
		ReleaseBuffer(f->vm_buffer);
	FreeAccessStrategy(f->strategy);
}

/*
 * Must a group wait that has so many blocks, "could" of which could be stored,
 * and "are"?  The last one grows until VACUUM comes again, unless all of it is
 * all-visible.
 */
static bool
must_wait(const CScanFilling *f, const CScanGroup *old, uint32 blocks, uint32 could, uint32 are)
{
	uint32		least = 1;

	if (f->fill->sparing && blocks < f->group_blocks && could < blocks)
		return true;
	if ((f->fill->in_vacuum || f->fill->sparing) && old->serving.generation != 0)
		least = Max(blocks / GAIN_DIVISOR, 1);
	if (f->fill->sparing &&
		TimestampDifferenceExceeds(old->serving.built, GetCurrentTimestamp(), GAIN_PATIENCE * 1000))
		least = 1;
	return could < are + least;
}

/* The groups that are looked at. */
static uint32
count_groups(const CScanFilling *f, BlockNumber nblocks)
{
	uint32		ngroups = nblocks / f->group_blocks;

	if (!f->fill->whole_groups && nblocks % f->group_blocks != 0)
		ngroups++;
	return Min(ngroups, cscan_store_max_groups());
}

/* Is it worth while to build this group?  Gets what it has now. */
static bool
must_build(CScanFilling *f, uint32 group, BlockNumber nblocks, CScanGroup *old)
{
	uint32		could;
	uint32		are;

	cscan_store_read_group(f->index, group, old);
	count_blocks(f, group, nblocks, old, &could, &are);
	if (!old->serving.in_vacuum || f->fill->in_vacuum)
		are += old->serving.refused;

	/* VACUUM would lose the values that it cannot read. */
	return !must_wait(f, old, Min(f->group_blocks, nblocks - group * f->group_blocks), could, are) &&
		!(f->fill->in_vacuum && old->serving.detoasted);
}

/*
 * Look at the groups from "from" on.  Build those for which that is worth
 * while, or if it only looks, stop at the first.  Returns whether it found one.
 */
static bool
go_through(Relation heap, Relation index, CScanFill *fill, bool only_look)
{
	CScanFilling f;
	BlockNumber nblocks = RelationGetNumberOfBlocks(heap);
	uint32		ngroups;
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "cscan column store", ALLOCSET_DEFAULT_SIZES);
	MemoryContext caller = MemoryContextSwitchTo(context);
	bool		progress = !only_look && !fill->in_vacuum;
	bool		found = false;

	fill->next = CSCAN_FILL_ENDED;
	begin_filling(&f, heap, index, fill);
	ngroups = count_groups(&f, nblocks);
	/* The parameters are those of CREATE INDEX; VACUUM has others. */
	if (progress)
	{
		pgstat_progress_update_param(PROGRESS_CREATEIDX_SUBPHASE, CSCAN_PHASE_FILLING);
		pgstat_progress_update_param(PROGRESS_SCAN_BLOCKS_TOTAL, nblocks);
	}
	for (uint32 group = fill->from; group < ngroups; group++)
	{
		CScanGroup	old;
		bool		wanted;

		CHECK_FOR_INTERRUPTS();
		if (group > fill->from && fill->stop != NULL && fill->stop(fill))
		{
			fill->next = group;
			break;
		}

		/* After an error, the caller may go on behind this group. */
		fill->next = group + 1 < ngroups ? group + 1 : CSCAN_FILL_ENDED;
		wanted = must_build(&f, group, nblocks, &old);
		found |= wanted;
		if (wanted && (only_look || !build_group(&f, group, &old)))
		{
			fill->next = group;
			break;
		}
		fill->next = CSCAN_FILL_ENDED;
		cscan_store_free_group(&old);
		if (progress)
			pgstat_progress_update_param(PROGRESS_SCAN_BLOCKS_DONE,
										 Min(nblocks, (BlockNumber) (group + 1) * f.group_blocks));
	}
	end_filling(&f);
	MemoryContextSwitchTo(caller);
	MemoryContextDelete(context);
	return found;
}

bool
cscan_fill_look(Relation heap, Relation index, CScanFill *fill)
{
	return go_through(heap, index, fill, true);
}

void
cscan_fill_index(Relation heap, Relation index, CScanFill *fill)
{
	(void) go_through(heap, index, fill, false);
}
