/*-------------------------------------------------------------------------
 *
 * reader.c
 *		Row groups, as a scan reads them.
 *
 *		look			which blocks have their rows in the runs
 *		read			read the runs, all of them before the first row leaves
 *		next			the next rows that count
 *		reset			forget the group, in mid-reading or at the end
 *
 * The scan's snapshot is older than the first look.  A look reads the
 * visibility map first, and then the entry with its bits, under one lock.  A
 * change that the snapshot does not see came before one of the two, or after
 * both.  If after both, the rows in the runs are still what it sees.  If before,
 * the bit of the map is cleared, or the entry's bit is set.
 *
 * Invariant: a row comes from the runs or from the heap, never from both.
 * Which of them is settled by the look.
 *
 *-------------------------------------------------------------------------
 */
#include "store.h"

#include "access/visibilitymap.h"
#include "utils/memutils.h"

#include "fault.h"

CScanReader *
cscan_reader_begin(Relation heap, Relation index, const int *columns, int ncolumns)
{
	CScanReader *r = palloc0(sizeof(CScanReader));
	CScanStoreMeta *meta = palloc(sizeof(CScanStoreMeta));

	cscan_store_read_meta(index, meta);
	r->heap = heap;
	r->index = index;
	r->group_blocks = meta->group_blocks;
	r->ncolumns = ncolumns;
	r->columns = palloc((ncolumns + 1) * sizeof(int));
	for (int i = 0; i < ncolumns; i++)
		r->columns[i] = columns[i];
	r->columns[ncolumns] = RelationGetNumberOfAttributes(index);
	if (RelationGetNumberOfBlocks(index) > (BlockNumber) NBuffers / 4)
		r->strategy = GetAccessStrategy(BAS_BULKREAD);
	r->vm_buffer = InvalidBuffer;
	r->context = AllocSetContextCreate(CurrentMemoryContext, "cscan row group", ALLOCSET_DEFAULT_SIZES);
	r->sources = palloc(r->group_blocks);
	r->all_visible = palloc(CSCAN_STORE_BITMAP_BYTES(r->group_blocks));
	r->group.block = InvalidBlockNumber;
	pfree(meta);
	return r;
}

void
cscan_reader_reset(CScanReader *r)
{
	r->nsegments = r->segment = 0;
	r->group.block = InvalidBlockNumber;
	if (r->decoders != NULL)
	{
		for (int i = 0; i <= r->ncolumns; i++)
			cscan_decoder_reset(&r->decoders[i]);
		pfree(r->decoders);
		r->decoders = NULL;
	}
	if (BufferIsValid(r->vm_buffer))
		ReleaseBuffer(r->vm_buffer);
	r->vm_buffer = InvalidBuffer;
	MemoryContextReset(r->context);
}

void
cscan_reader_end(CScanReader *r)
{
	cscan_reader_reset(r);
	if (r->strategy)
		FreeAccessStrategy(r->strategy);
	MemoryContextDelete(r->context);
}

static CScanBlockSource
source_of(const CScanReader *r, uint32 i, bool all_visible)
{
	if (i >= r->group.serving.covered)
		return CSCAN_FROM_HEAP_BEYOND;
	if (!all_visible)
		return CSCAN_FROM_HEAP_HIDDEN;
	if (cscan_has_bit(r->group.stale, i))
		return CSCAN_FROM_HEAP_STALE;
	return CSCAN_FROM_RUNS;
}

/* Note in the group's bitmap which of its blocks are all-visible. */
static void
look_at_map(CScanReader *r, BlockNumber first, BlockNumber end)
{
	memset(r->all_visible, 0, CSCAN_STORE_BITMAP_BYTES(r->group_blocks));
	for (BlockNumber block = first; block < end; block++)
	{
		if (visibilitymap_get_status(r->heap, block, &r->vm_buffer) & VISIBILITYMAP_ALL_VISIBLE)
			cscan_set_bit(r->all_visible, block - r->first);
	}
	if (BufferIsValid(r->vm_buffer))
		ReleaseBuffer(r->vm_buffer);
	r->vm_buffer = InvalidBuffer;
}

bool
cscan_reader_look(CScanReader *r, BlockNumber first, BlockNumber end)
{
	uint32		number = first / r->group_blocks;
	MemoryContext caller = MemoryContextSwitchTo(r->context);
	bool		any = false;

	MemoryContextReset(r->context);
	r->first = number * r->group_blocks;
	r->nsegments = r->segment = 0;
	Assert(end > first && end - r->first <= r->group_blocks);
	memset(r->sources, CSCAN_FROM_HEAP_ALWAYS, r->group_blocks);
	if (r->from_heap)
		r->counts[CSCAN_FROM_HEAP_ALWAYS] += end - first;
	else
	{
		look_at_map(r, first, end);
		CSCAN_FAULT(CSCAN_FAULT_STORE_LOOK);
		if (!cscan_store_read_group(r->index, number, &r->group))
			r->group.serving.covered = 0;
	}
	for (uint32 i = first - r->first; i < end - r->first && !r->from_heap; i++)
	{
		r->sources[i] = source_of(r, i, cscan_has_bit(r->all_visible, i));
		r->counts[r->sources[i]]++;
		any |= r->sources[i] == CSCAN_FROM_RUNS;
	}
	MemoryContextSwitchTo(caller);
	return any;
}

/* Find the rows of the blocks whose rows are in the runs. */
static void
find_segments(CScanReader *r)
{
	CScanDecoder *block_rows = &r->decoders[r->ncolumns];
	uint32		nrows = r->group.serving.nrows;
	uint32		row = 0;

	r->segments = palloc((r->group.serving.covered / 2 + 1) * sizeof(CScanRange));
	for (uint32 i = 0; i < r->group.serving.covered; i++)
	{
		uint32		n;

		cscan_decoder_decode(block_rows, i / CSCAN_VECTOR);
		n = (uint32) DatumGetInt32(block_rows->values[i % CSCAN_VECTOR]);
		if (n > nrows - row)
			break;
		if (n > 0 && r->sources[i] == CSCAN_FROM_RUNS)
		{
			if (r->nsegments > 0 && r->segments[r->nsegments - 1].end == row)
				r->segments[r->nsegments - 1].end += n;
			else
			{
				r->segments[r->nsegments].first = row;
				r->segments[r->nsegments++].end = row + n;
			}
		}
		row += n;
		if (i + 1 == r->group.serving.covered && row == nrows)
			return;
	}
	ereport(ERROR,
			(errcode(ERRCODE_INDEX_CORRUPTED),
			 errmsg("index \"%s\" is damaged in block %u", RelationGetRelationName(r->index), r->group.block),
			 errdetail("The rows of the blocks of a row group are not as many as those of the group."),
			 cscan_store_hint_rebuild()));
}

static void
advise(CScanReader *r, const CScanGroup *group, const CScanStoredRun *run)
{
	BlockNumber first = group->serving.first + run->page;
	uint32		n = cscan_stored_run_pages(run);

	for (uint32 i = 0; i < n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		PrefetchBuffer(r->index, MAIN_FORKNUM, first + i);
	}
}

static void
advise_all(CScanReader *r, const CScanGroup *group)
{
	if (group->serving.nrows == 0 || r->advised == group->serving.generation)
		return;
	r->advised = group->serving.generation;
	for (int i = 0; i <= r->ncolumns; i++)
		advise(r, group, &group->runs[r->columns[i]]);
}

void
cscan_reader_prefetch(CScanReader *r, BlockNumber block)
{
	CScanGroup	group;

	if (cscan_store_read_group(r->index, block / r->group_blocks, &group))
		advise_all(r, &group);
	cscan_store_free_group(&group);
}

/* They are large, and of many partitions few are read at one time. */
static void
make_decoders(CScanReader *r)
{
	MemoryContext caller = MemoryContextSwitchTo(GetMemoryChunkContext(r));

	r->decoders = palloc((r->ncolumns + 1) * sizeof(CScanDecoder));
	for (int i = 0; i <= r->ncolumns; i++)
		cscan_decoder_init(&r->decoders[i], r->heap, r->index, r->columns[i]);
	MemoryContextSwitchTo(caller);
}

void
cscan_reader_read(CScanReader *r)
{
	MemoryContext caller = MemoryContextSwitchTo(r->context);
	bool		ok = true;

	CSCAN_FAULT(CSCAN_FAULT_STORE_ENTRY);
	if (r->decoders == NULL)
		make_decoders(r);

	/* Blocks may be covered that have no rows at all. */
	if (r->group.serving.nrows > 0)
	{
		advise_all(r, &r->group);
		for (int i = 0; i <= r->ncolumns && ok; i++)
			ok = cscan_decoder_read(&r->decoders[i], &r->group, r->strategy);
		CSCAN_FAULT(CSCAN_FAULT_STORE_READ);
		if (ok)
			find_segments(r);
	}
	for (uint32 i = 0; i < r->group_blocks && !ok; i++)
	{
		if (r->sources[i] != CSCAN_FROM_RUNS)
			continue;
		r->sources[i] = CSCAN_FROM_HEAP_STALE;
		r->counts[CSCAN_FROM_RUNS]--;
		r->counts[CSCAN_FROM_HEAP_STALE]++;
	}
	MemoryContextSwitchTo(caller);
}

bool
cscan_reader_next(CScanReader *r, uint32 *vector, uint32 *from, uint32 *to)
{
	CScanRange *segment;
	uint32		end;

	while (r->segment < r->nsegments && r->segments[r->segment].first >= r->segments[r->segment].end)
		r->segment++;
	if (r->segment >= r->nsegments)
		return false;
	segment = &r->segments[r->segment];
	*vector = segment->first / CSCAN_VECTOR;
	end = Min(segment->end, (*vector + 1) * CSCAN_VECTOR);
	*from = segment->first % CSCAN_VECTOR;
	*to = *from + (end - segment->first);
	segment->first = end;
	return true;
}
