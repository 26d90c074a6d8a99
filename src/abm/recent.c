/*-------------------------------------------------------------------------
 *
 * recent.c
 *		What is likely to be in memory of the tables that are scanned.
 *
 *		remember	the loads of a table have ended for a while
 *		recall		they begin again: with what is left?
 *		look		while scans go on: what have others brought there?
 *
 * The blocks read last are likely to be left, in frames that nobody has taken
 * yet or in the page cache.  A scan that begins elsewhere makes them go: each
 * block that it reads takes the place of one that it would have found.  So the
 * ABM remembers, in its own memory, where the loads of a table ended.
 *
 * If a table has few chunks the ABM looks for each of them.  So a query over
 * many partitions begins with what is left of the last one.  The loads of a
 * larger table begin with the first of the last chunks that are left.  Frames
 * and page cache drop roughly what they were given first, so a few questions
 * are enough.  The ABM asks for chunks from the last one back, at distances
 * that double, until one is gone.  Then it searches for the border between the
 * last two.
 *
 * While scans go on, others bring pages into shared buffers: index scans,
 * writers, VACUUM.  And chunks that had to go are there in part until their
 * frames are taken.  So in each round the ABM looks for a few blocks of some
 * chunks.  Of chunks that are equally relevant, those of which most is there
 * already are loaded first (Section 7.1).  While a scan is alone nobody looks, and it
 * goes on in order, but for what was seen before.  So the copy that CREATE TABLE AS
 * makes of a table with more than a few chunks keeps the order, but for where it
 * begins.
 *
 * Of a row group of an index of columns, the largest column that a scan wants
 * shows whether it is there.  A group is small, and few lookups come by it: it may be
 * in the page cache alone.  So the kernel is asked of each one.
 *
 * All of this is a guess.  A wrong one costs nothing but time.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "utils/hsearch.h"
#include "utils/memutils.h"

#include "abm/abm.h"
#include "store/store.h"

/* Tables that are remembered; if there are more, all are forgotten. */
#define MAX_RECENT		16384

/* Up to so many chunks of a table, each is looked for. */
#define FEW_CHUNKS		16

/* A round looks at so many chunks, and for so many blocks of each. */
#define LOOK_CHUNKS		32
#define LOOK_BLOCKS		8

/* It asks so often for the page cache: for chunks of tables, and for row groups. */
#define LOOK_QUESTIONS	2
#define LOOK_GROUPS		8

typedef struct CScanRecent
{
	RelFileLocator locator;
	BlockNumber end;			/* block behind the last one loaded */
} CScanRecent;

static HTAB *recent;

static void
make_recent(void)
{
	HASHCTL		info = {.keysize = sizeof(RelFileLocator),.entrysize = sizeof(CScanRecent),
	.hcxt = TopMemoryContext};

	recent = hash_create("cscan recent tables", 256, &info, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
}

/* The loads of a table have ended before this block (1 or more). */
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
	uint32		there = 0;		/* chunks that are known to be there */
	uint32		gone = nchunks; /* upper limit of these */

	while (there < gone)
	{
		/* The next chunk to ask for, counted back from the last one. */
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
 * The ABM begins to load from a table, whose space is given as a copy.  Tell
 * the pool what is likely to be in memory.
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

/* Are most of a chunk's blocks in shared buffers, as far as a few show? */
static bool
most_is_there(RelFileLocator locator, CScanPlace place)
{
	uint32		nblocks = place.end - place.first;
	uint32		n = Min(nblocks, LOOK_BLOCKS);
	uint32		there = 0;

	for (uint32 i = 0; i < n; i++)
		there += cscan_in_buffers(locator, place.first + (BlockNumber) ((uint64) nblocks * i / n));
	return 2 * there > n;
}

/*
 * The block in the middle of the largest of these columns of a row group;
 * InvalidBlockNumber if nothing is stored, or the directory's pages are not in shared
 * buffers.
 */
static BlockNumber
find_middle(RelFileLocator locator, const CScanSpace *space, uint32 chunk, uint64 columns)
{
	CScanPageSource source = {.locator = locator,.in_memory = true};
	CScanRun	runs[CSCAN_LAYOUT_COLUMNS];
	uint64		generation;
	uint32		nruns = cscan_store_find_runs(&source, chunk - space->first_chunk, &space->columns, columns, runs, &generation);
	uint32		largest = 0;

	for (uint32 i = 1; i < nruns; i++)
	{
		if (runs[i].end - runs[i].first > runs[largest].end - runs[largest].first)
			largest = i;
	}
	return nruns > 0 ? runs[largest].first + (runs[largest].end - runs[largest].first) / 2 : InvalidBlockNumber;
}

/*
 * Look at some of the chunks that are to be loaded, and tell the pool which are
 * mostly in memory.  Such a chunk's table is LOCKED, and only the ABM leaves that
 * state: so its space stays in between.
 *
 * What is not in shared buffers is looked for in the page cache: a few of the chunks
 * of tables that were in memory, while the others keep their marks, and a few row
 * groups.
 */
void
cscan_recent_look(void)
{
	static uint32 next = 0;
	uint32		chunks[LOOK_CHUNKS];
	uint64		columns[LOOK_CHUNKS];
	CScanSpace	spaces[LOOK_CHUNKS];
	bool		cached[LOOK_CHUNKS];
	uint32		nchunks;
	int			questions = LOOK_QUESTIONS;
	int			groups = LOOK_GROUPS;

	if (cscan_pool.state->nactive < 2)
		return;

	cscan_lock();
	nchunks = cscan_pool_shared_absent(&cscan_pool, &next, chunks, LOOK_CHUNKS);
	for (uint32 i = 0; i < nchunks; i++)
	{
		spaces[i] = *cscan_pool_space_of(&cscan_pool, chunks[i]);
		cached[i] = cscan_set_has(cscan_pool.cached, chunks[i]);
		columns[i] = 0;

		/* What is wanted of one group stands for all: there may be many scans. */
		if (i > 0 && cscan_pool.space_of[chunks[i]] == cscan_pool.space_of[chunks[i - 1]])
			columns[i] = columns[i - 1];
		else if (cscan_space_is_columnar(&spaces[i]))
			columns[i] = cscan_pool_pieces_wanted(&cscan_pool, chunks[i]).word[0];
	}
	cscan_unlock();

	for (uint32 i = 0; i < nchunks; i++)
	{
		RelFileLocator locator = cscan_tables[cscan_pool.space_of[chunks[i]]].locator;
		bool		there;

		if (cscan_space_is_columnar(&spaces[i]))
		{
			BlockNumber block = find_middle(locator, &spaces[i], chunks[i], columns[i]);

			if (!BlockNumberIsValid(block))
				continue;
			if (cscan_in_buffers(locator, block))
				there = true;
			else if (groups-- > 0)
				there = cscan_page_cache_has(locator, block);
			else
			{
				/* The next round begins here, so that each one has its turn. */
				next = chunks[i];
				break;
			}
		}
		else
		{
			there = most_is_there(locator, cscan_space_place(&spaces[i], chunks[i]));
			if (cached[i] && !there)
				there = questions-- <= 0 || is_there(locator, &spaces[i], chunks[i]);
		}
		if (there == cached[i])
			continue;
		cscan_lock();
		cscan_pool_set_cached(&cscan_pool, chunks[i], there);
		cscan_unlock();
	}
}
