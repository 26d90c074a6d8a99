/*-------------------------------------------------------------------------
 *
 * recent.c
 *		Where the loads of a table begin again, after nobody has scanned it for
 *		a while.
 *
 * What was read last is likely to be in memory still, in frames that nobody
 * has taken yet or in the page cache.  A scan that begins somewhere else makes
 * them drop it: each block that it reads takes the place of one that it would
 * have found.  So the ABM remembers, in its own memory, where the loads of a
 * table ended, and begins as far behind that as what was read last is still
 * there.
 *
 * Both drop first what they were given first, or nearly so.  Therefore a few
 * questions will do: the chunks are asked for, from the last one back, at
 * distances that double until one is not there, and then the border is searched
 * for between the two last ones.
 *
 * All of this is a guess, which costs nothing but time if it is wrong.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "abm/abm.h"

/* So many tables are remembered, those that were scanned last. */
#define MAX_RECENT		64

typedef struct CScanRecent
{
	RelFileLocator locator;
	BlockNumber end;			/* the one behind the last that was loaded */
} CScanRecent;

static CScanRecent recent[MAX_RECENT];
static int	nrecent;			/* the last one is the first */

static int
find(RelFileLocator locator)
{
	int			i = 0;

	while (i < nrecent && !RelFileLocatorEquals(recent[i].locator, locator))
		i++;
	return i;
}

/* The loads of a table have ended, before that block (1 or more). */
void
cscan_recent_remember(RelFileLocator locator, BlockNumber end)
{
	int			i = find(locator);

	if (i == nrecent)
		nrecent = Min(nrecent + 1, MAX_RECENT);
	i = Min(i, nrecent - 1);
	memmove(&recent[1], &recent[0], sizeof(CScanRecent) * i);
	recent[0].locator = locator;
	recent[0].end = end;
}

/* Are the ends of a chunk in memory? */
static bool
is_there(RelFileLocator locator, uint32 chunk, uint32 chunk_blocks, BlockNumber nblocks)
{
	BlockNumber ends[2] = {chunk * chunk_blocks, Min((uint64) (chunk + 1) * chunk_blocks, nblocks) - 1};

	for (int i = 0; i < 2; i++)
	{
		if (!cscan_in_buffers(locator, ends[i]) && !cscan_page_cache_has(locator, ends[i]))
			return false;
	}
	return true;
}

/* The chunk that the loads of a table of 1 block or more should begin with. */
uint32
cscan_recent_begin(RelFileLocator locator, uint32 chunk_blocks, BlockNumber nblocks)
{
	uint32		nchunks = (nblocks - 1) / chunk_blocks + 1;
	int			i = find(locator);
	uint32		last;
	uint32		there = 0;		/* at least so many are */
	uint32		gone = nchunks; /* and at most */

	if (i == nrecent)
		return 0;
	last = (Min(recent[i].end, nblocks) - 1) / chunk_blocks;
	while (there < gone)
	{
		/* The next one to be asked for, counted from the last one back. */
		uint32		n = gone < nchunks ? there + (gone - there) / 2 : Min(2 * there, nchunks - 1);

		if (is_there(locator, (last + nchunks - n) % nchunks, chunk_blocks, nblocks))
			there = n + 1;
		else
			gone = n;
	}
	cscan_page_cache_forget();
	return there == 0 ? 0 : (last + 1 + nchunks - there) % nchunks;
}
