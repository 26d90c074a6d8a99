/*-------------------------------------------------------------------------
 *
 * keep.c
 *		Which chunks the page cache is to keep, with cscan.drop_behind = auto.
 *
 *		cscan_keep()			this chunk, which is about to be loaded?
 *		cscan_keep_unseen()		it was, and is not there even now
 *
 * Where the page cache can hold a table it is a second, larger pool.  Where it
 * cannot, it is of no use as it is: it drops first what was read first, so a
 * chunk has gone by the time that it is loaded again.  But if only so many
 * chunks come into it as it has room for, those stay, and are found each time.
 *
 * So a chunk that is there when it is loaded stays there.  Of the others a
 * share is let in; at first all are.  What becomes of those tells whether there
 * is room: the share grows a little with each that is there when it is loaded
 * again, and falls to a fourth with each that has gone.  It never becomes zero,
 * so as to see when there is room again.
 *
 * Some file systems (ZFS) have a cache of their own, which the kernel does not
 * ask when it is asked.  They are known by this, that what has just been read is
 * not there.  It does not count as gone later, so all is let in.
 *
 * All this is the ABM's own, and nothing but a guess: a new ABM begins anew.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "common/hashfn.h"

#include "abm/abm.h"

/* The chunks that are remembered, each in the place that its name gives it. */
#define MAX_LET_IN		1024

/* One gives way to another when so many chunks have been let in after it. */
#define OLD_AFTER		(64 * MAX_LET_IN)

#define SHARE_GROWS_BY	1.25
#define SHARE_FALLS_BY	4.0
#define LEAST_SHARE		(1.0 / 64)

typedef struct CScanLetIn
{
	RelFileLocator locator;
	BlockNumber first;			/* the chunk's first block */
	uint64		when;			/* let in as the when-th; 0: the place is free */
} CScanLetIn;

static CScanLetIn let_in[MAX_LET_IN];
static uint64 nlet_in;
static double share = 1.0;

/* The shares of the chunks that were not let in, added up: at 1 one is. */
static double due;

static CScanLetIn *
place_of(RelFileLocator locator, BlockNumber first)
{
	uint32		hash = hash_bytes((const unsigned char *) &locator, sizeof(locator));

	return &let_in[hash_combine(hash, hash_bytes_uint32(first)) % MAX_LET_IN];
}

static bool
is_in(const CScanLetIn *place, RelFileLocator locator, BlockNumber first)
{
	return place->when != 0 && place->first == first && RelFileLocatorEquals(place->locator, locator);
}

/*
 * A chunk of the table that begins with that block is about to be loaded; is it
 * in the page cache?  Returns whether it is to stay, or to come, there.
 */
bool
cscan_keep(RelFileLocator locator, BlockNumber first, bool there)
{
	CScanLetIn *place = place_of(locator, first);

	if (is_in(place, locator, first))
	{
		place->when = 0;
		if (there)
			share = Min(share * SHARE_GROWS_BY, 1.0);
		else
			share = Max(share / SHARE_FALLS_BY, LEAST_SHARE);
	}
	if (there)
		return true;
	due += share;
	if (due < 1.0)
		return false;
	due -= 1.0;
	nlet_in++;
	if (place->when == 0 || place->when + OLD_AFTER < nlet_in)
	{
		place->locator = locator;
		place->first = first;
		place->when = nlet_in;
	}
	return true;
}

/* That chunk was loaded and let in, but right after that it is not there: forget it. */
void
cscan_keep_unseen(RelFileLocator locator, BlockNumber first)
{
	CScanLetIn *place = place_of(locator, first);

	if (is_in(place, locator, first))
		place->when = 0;
}
