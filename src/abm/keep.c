/*-------------------------------------------------------------------------
 *
 * keep.c
 *		Which chunks the page cache is to keep, with cscan.drop_behind = auto.
 *
 *		cscan_keep()			this one, which is about to be loaded?
 *		cscan_keep_remember()	it has come there
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
 * Only what was seen there can be seen to have gone.  Some file systems (ZFS)
 * have a cache of their own, of which the kernel does not tell; there all is let
 * in.
 *
 * All this is the ABM's own, and nothing but a guess: a new ABM begins anew.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "common/hashfn.h"

#include "abm/abm.h"

/*
 * So many chunks are remembered, each in the place that its name gives it.  Of
 * those that find their place taken one in so many takes it: in the end those go
 * that are never loaded again.
 */
#define MAX_LET_IN		1024
#define REPLACE_EVERY	16

#define SHARE_GROWS_BY	1.25
#define SHARE_FALLS_BY	4.0
#define LEAST_SHARE		(1.0 / 64)

typedef struct CScanLetIn
{
	RelFileLocator locator;
	BlockNumber first;			/* the chunk's first block */
	uint32		nblocks;		/* blocks that were loaded; 0: the place is free */
} CScanLetIn;

static CScanLetIn let_in[MAX_LET_IN];
static uint32 ncollisions;
static double share = 1.0;

/* The shares of the chunks that were not let in, added up: at 1 one is. */
static double due;

static CScanLetIn *
place_of(RelFileLocator locator, BlockNumber first)
{
	uint32		hash = hash_bytes((const unsigned char *) &locator, sizeof(locator));

	return &let_in[hash_combine(hash, hash_bytes_uint32(first)) % MAX_LET_IN];
}

/*
 * So many blocks of a chunk of the table, which begins with block first, are
 * about to be loaded; are most of them in the page cache?  Returns whether they
 * are to stay, or to come, there.
 */
bool
cscan_keep(RelFileLocator locator, BlockNumber first, uint32 nblocks, bool there)
{
	CScanLetIn *place = place_of(locator, first);

	if (place->nblocks != 0 && place->first == first && RelFileLocatorEquals(place->locator, locator))
	{
		/* Of another part of the chunk it tells nothing. */
		if (place->nblocks == nblocks)
			share = there ? Min(share * SHARE_GROWS_BY, 1.0) : Max(share / SHARE_FALLS_BY, LEAST_SHARE);
		place->nblocks = 0;
	}
	if (there)
		return true;
	due += share;
	if (due < 1.0)
		return false;
	due -= 1.0;
	return true;
}

/* They were not there before, have been loaded, and are there now. */
void
cscan_keep_remember(RelFileLocator locator, BlockNumber first, uint32 nblocks)
{
	CScanLetIn *place = place_of(locator, first);

	if (place->nblocks != 0 && ++ncollisions % REPLACE_EVERY != 0)
		return;
	place->locator = locator;
	place->first = first;
	place->nblocks = nblocks;
}
