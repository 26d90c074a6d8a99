/*-------------------------------------------------------------------------
 *
 * runs.c
 *		Column runs in pages.
 *
 * A run begins on a page of its own and goes on in those that follow.  Pages
 * are written to the write-ahead log as a whole, by records that every server
 * can replay.  Nothing refers to them until their entry is published.
 *
 *-------------------------------------------------------------------------
 */
#include "store.h"

#include "access/xloginsert.h"
#include "storage/lmgr.h"

static const char *
describe_damage(CScanDamageKind kind)
{
	switch (kind)
	{
		case CSCAN_DAMAGE_NONE:
			break;
		case CSCAN_DAMAGE_CUT:
			return "bytes are missing at its end";
		case CSCAN_DAMAGE_SIZE:
			return "its size is another than it says";
		case CSCAN_DAMAGE_VERSION:
			return "it has another version";
		case CSCAN_DAMAGE_HEADER:
			return "its header is impossible";
		case CSCAN_DAMAGE_NULLS:
			return "its nulls are another number than it says";
		case CSCAN_DAMAGE_SERIES:
			return "the head of a series is impossible";
		case CSCAN_DAMAGE_WIDTH:
			return "the width of its numbers is impossible";
		case CSCAN_DAMAGE_PLACE:
			return "a part is not where it must be";
		case CSCAN_DAMAGE_RUNS:
			return "lengths of equal values do not sum up";
		case CSCAN_DAMAGE_ENTRIES:
			return "its dictionary's size is impossible";
		case CSCAN_DAMAGE_CODE:
			return "a code is not in its dictionary";
		case CSCAN_DAMAGE_LENGTHS:
			return "lengths of strings do not sum up";
		case CSCAN_DAMAGE_FRAME:
			return "it cannot be decompressed";
		case CSCAN_DAMAGE_NO_CODEC:
		case CSCAN_DAMAGE_NO_MEMORY:
			break;
	}
	return "unknown damage";
}

/* The column behind the index's own has the rows of each block. */
static const char *
name_column(Relation index, int column)
{
	return column < RelationGetNumberOfAttributes(index) ? psprintf("column %d", column + 1) : "rows of each block";
}

void
cscan_store_report_damage(Relation index, const CScanEntry *entry, const CScanStoredRun *run,
						  int column, const CScanDamage *damage)
{
	BlockNumber block = entry->first + run->page + damage->offset / CSCAN_STORE_PAGE_BYTES;

	if (damage->kind == CSCAN_DAMAGE_NO_CODEC)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("index \"%s\" has values that this build of cscan cannot decompress", RelationGetRelationName(index)),
				 errhint("Install a build that has lz4 and zstd, or REINDEX it.  Until then, \"SET cscan.columns = off\" lets queries read the table.")));
	if (damage->kind == CSCAN_DAMAGE_NO_MEMORY)
		ereport(ERROR,
				(errcode(ERRCODE_OUT_OF_MEMORY),
				 errmsg("out of memory"),
				 errdetail("Failed while decompressing values of index \"%s\".", RelationGetRelationName(index))));
	ereport(ERROR,
			(errcode(ERRCODE_INDEX_CORRUPTED),
			 errmsg("index \"%s\" is damaged in block %u", RelationGetRelationName(index), block),
			 errdetail("Column run of %s, byte %zu: %s.", name_column(index, column), damage->offset, describe_damage(damage->kind)),
			 cscan_store_hint_rebuild()));
}

/*
 * Only one process extends an index, but others may look at its size: the
 * extension lock is for them.
 */
Buffer
cscan_store_new_page(Relation index, BlockNumber block)
{
	Buffer		buffer;

	while (RelationGetNumberOfBlocks(index) <= block)
	{
		BlockNumber new;

		LockRelationForExtension(index, ExclusiveLock);
		buffer = ReadBufferExtended(index, MAIN_FORKNUM, P_NEW, RBM_ZERO_AND_LOCK, NULL);
		UnlockRelationForExtension(index, ExclusiveLock);
		new = BufferGetBlockNumber(buffer);
		if (new == block)
			return buffer;
		UnlockReleaseBuffer(buffer);
	}
	return ReadBufferExtended(index, MAIN_FORKNUM, block, RBM_ZERO_AND_LOCK, NULL);
}

void
cscan_store_init_page(Page page, CScanPageKind kind, uint64 generation, uint32 number)
{
	CScanPageOpaque *opaque;

	PageInit(page, BLCKSZ, sizeof(CScanPageOpaque));
	opaque = cscan_page_opaque(page);
	opaque->generation = generation;
	opaque->number = number;
	opaque->kind = kind;
	opaque->id = CSCAN_STORE_PAGE_ID;
}

void
cscan_store_write_pages(Relation index, uint64 generation, BlockNumber first, uint32 number,
						const char *bytes, size_t size)
{
	while (size > 0)
	{
		size_t		n = Min(size, CSCAN_STORE_PAGE_BYTES);
		Buffer		buffer = cscan_store_new_page(index, first + number);
		Page		page = BufferGetPage(buffer);

		START_CRIT_SECTION();
		cscan_store_init_page(page, CSCAN_PAGE_COLUMN, generation, number);
		memcpy(PageGetContents(page), bytes, n);
		((PageHeader) page)->pd_lower = PageGetContents(page) + n - (char *) page;
		MarkBufferDirty(buffer);
		if (RelationNeedsWAL(index))
			log_newpage_buffer(buffer, true);
		END_CRIT_SECTION();
		UnlockReleaseBuffer(buffer);

		number++;
		bytes += n;
		size -= n;
		CHECK_FOR_INTERRUPTS();
	}
}

bool
cscan_store_read_run(Relation index, const CScanEntry *entry, const CScanStoredRun *run,
					 BufferAccessStrategy strategy, char *bytes)
{
	uint32		number = run->page;
	size_t		left = run->size;

	while (left > 0)
	{
		size_t		n = Min(left, CSCAN_STORE_PAGE_BYTES);
		Buffer		buffer;
		Page		page;
		const CScanPageOpaque *opaque;
		bool		ours = false;

		CHECK_FOR_INTERRUPTS();
		buffer = ReadBufferExtended(index, MAIN_FORKNUM, entry->first + number, RBM_NORMAL, strategy);
		page = BufferGetPage(buffer);
		LockBuffer(buffer, BUFFER_LOCK_SHARE);
		/* After a crash of its next owner a page may be new. */
		if (!PageIsNew(page) && PageGetSpecialSize(page) == MAXALIGN(sizeof(CScanPageOpaque)))
		{
			opaque = cscan_page_opaque(page);
			ours = opaque->kind == CSCAN_PAGE_COLUMN && opaque->generation == entry->generation &&
				opaque->number == number;
		}
		if (ours && ((PageHeader) page)->pd_lower == PageGetContents(page) + n - (char *) page)
			memcpy(bytes, PageGetContents(page), n);
		else if (ours)
			ereport(ERROR,
					(errcode(ERRCODE_INDEX_CORRUPTED),
					 errmsg("index \"%s\" is damaged in block %u", RelationGetRelationName(index), entry->first + number),
					 errdetail("The page has another number of bytes than its column run."),
					 cscan_store_hint_rebuild()));
		UnlockReleaseBuffer(buffer);
		if (!ours)
			return false;

		number++;
		bytes += n;
		left -= n;
	}
	return true;
}

/* Does what the directory says of a run fit to what is in it? */
static bool
is_possible(const CScanStoredRun *run, const CScanColumnRun *opened)
{
	switch (run->storage)
	{
		case CSCAN_STORAGE_BYVAL:
			return opened->header.kind == CSCAN_COLUMN_INTEGERS;
		case CSCAN_STORAGE_NUMERIC:
			return opened->header.kind == CSCAN_COLUMN_INTEGERS &&
				(run->nnulls == opened->header.nvalues || cscan_values_is_scale(run->scale));
		default:
			return opened->header.kind == CSCAN_COLUMN_STRINGS && run->storage <= CSCAN_STORAGE_CSTRING;
	}
}

void
cscan_store_open_run(Relation index, const CScanEntry *entry, const CScanStoredRun *run, int column,
					 char *bytes, CScanColumnRun *opened)
{
	CScanDamage damage;

	if (!cscan_column_open(opened, bytes, run->size, &damage))
		cscan_store_report_damage(index, entry, run, column, &damage);
	if (opened->header.nvalues != (column < RelationGetNumberOfAttributes(index) ? entry->nrows : entry->covered))
		ereport(ERROR,
				(errcode(ERRCODE_INDEX_CORRUPTED),
				 errmsg("index \"%s\" is damaged in block %u", RelationGetRelationName(index), entry->first + run->page),
				 errdetail("Column run of %s has %u values, not %u.", name_column(index, column), opened->header.nvalues,
						   column < RelationGetNumberOfAttributes(index) ? entry->nrows : entry->covered),
				 cscan_store_hint_rebuild()));
	if (!is_possible(run, opened))
		ereport(ERROR,
				(errcode(ERRCODE_INDEX_CORRUPTED),
				 errmsg("index \"%s\" is damaged in block %u", RelationGetRelationName(index), entry->first + run->page),
				 errdetail("Column run of %s has values of another kind than its row group says.", name_column(index, column)),
				 cscan_store_hint_rebuild()));
	if (opened->scratch_size > 0)
		cscan_column_use_scratch(opened, palloc_extended(opened->scratch_size, MCXT_ALLOC_HUGE));
}
