/*-------------------------------------------------------------------------
 *
 * recent.c
 *		What of a table is likely to be in memory still, when it is scanned again
 *		after nobody has scanned it for a while.
 *
 * What was read last is likely to be there, in frames that nobody has taken yet or
 * in the page cache.  A scan that begins somewhere else makes them drop it: each
 * block that it reads takes the place of one that it would have found.  So the ABM
 * remembers, in its own memory, where the loads of a table ended.
 *
 * Of a table of few chunks each is looked for, so that a query over many partitions
 * begins with what is left of the last one.  The loads of a larger table begin
 * as far behind the last one as what was read last is still there.  Frames and page
 * cache drop first what they were given first, or nearly so.  Therefore a few
 * questions will do: the chunks are asked for, from the last one back, at
 * distances that double until one is not there, and then the border is searched
 * for between the two last ones.
 *
 * All of this is a guess, which costs nothing but time if it is wrong.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "utils/hsearch.h"
#include "utils/memutils.h"

#include "abm/abm.h"

/* So many tables are remembered; when there are more, all of them are forgotten. */
#define MAX_RECENT		16384

/* Of tables of so many chunks each chunk is looked for. */
#define FEW_CHUNKS		16

typedef struct CScanRecent
{
	RelFileLocator locator;
	BlockNumber end;			/* the one behind the last that was loaded */
} CScanRecent;

static HTAB *recent;

static void
make_recent(void)
{
	HASHCTL		info = {.keysize = sizeof(RelFileLocator),.entrysize = sizeof(CScanRecent),
	.hcxt = TopMemoryContext};

	recent = hash_create("cscan recent tables", 256, &info, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
}

/* The loads of a table have ended, before that block (1 or more). */
void
cscan_recent_remember(RelFileLocator locator, BlockNumber end)
{
	CScanRecent *entry;

	if (recent != NULL && hash_get_num_entries(recent) >= MAX_RECENT)
	{
		hash_destroy(recent);
		recent = NULL;
	}
	if (recent == NULL)
		make_recent();
	entry = hash_search(recent, &locator, HASH_ENTER, NULL);
	entry->end = end;
}

/* Are the ends of a chunk in memory? */
static bool
is_there(RelFileLocator locator, const CScanSpace *space, uint32 chunk)
{
	CScanPlace	place = cscan_space_place(space, chunk);
	BlockNumber ends[2] = {place.first, place.end - 1};

	for (int i = 0; i < 2; i++)
	{
		if (!cscan_in_buffers(locator, ends[i]) && !cscan_page_cache_has(locator, ends[i]))
			return false;
	}
	return true;
}

static void
recall_each(RelFileLocator locator, const CScanSpace *space, uint32 nchunks)
{
	for (uint32 c = space->first_chunk; c < space->first_chunk + nchunks; c++)
	{
		if (!is_there(locator, space, c))
			continue;
		cscan_lock();
		cscan_pool_set_cached(&cscan_pool, c, true);
		cscan_unlock();
	}
}

static void
recall_begin(RelFileLocator locator, int table, const CScanSpace *space, uint32 nchunks,
			 BlockNumber end)
{
	uint32		last = cscan_space_chunk_of(space, Min(end, space->extent) - 1) - space->first_chunk;
	uint32		there = 0;		/* at least so many are */
	uint32		gone = nchunks; /* and at most */

	while (there < gone)
	{
		/* The next one to be asked for, counted from the last one back. */
		uint32		n = gone < nchunks ? there + (gone - there) / 2 : Min(2 * there, nchunks - 1);

		if (is_there(locator, space, space->first_chunk + (last + nchunks - n) % nchunks))
			there = n + 1;
		else
			gone = n;
	}
	if (there == 0)
		return;
	cscan_lock();
	cscan_pool_set_cursor(&cscan_pool, table,
						  space->first_chunk + (last + 1 + nchunks - there) % nchunks);
	cscan_unlock();
}

/*
 * The ABM begins to load of a table, whose space this is a copy of: tell the pool
 * what is likely to be in memory.
 */
void
cscan_recent_recall(RelFileLocator locator, int table, const CScanSpace *space)
{
	CScanRecent *entry = recent ? hash_search(recent, &locator, HASH_FIND, NULL) : NULL;
	uint32		nchunks = cscan_space_chunks_for(space->chunk_blocks, space->extent);

	if (entry == NULL)
		return;
	if (nchunks <= FEW_CHUNKS)
		recall_each(locator, space, nchunks);
	else
		recall_begin(locator, table, space, nchunks, entry->end);
}
