/*-------------------------------------------------------------------------
 *
 * keep.h
 *		Which chunks a cache below the pool is to keep, which drops first what
 *		was used first: the page cache, with cscan.drop_behind = auto.
 *
 *		cscan_keep_begin()		nothing is known
 *		cscan_keep()			this one, which is about to be loaded?
 *		cscan_keep_remember()	it has come there
 *
 * Where that cache can hold a table it is a second, larger pool.  Where it
 * cannot, it is of no use as it is: a chunk has gone by the time that it is
 * loaded again.  But if only so many chunks come into it as it has room for,
 * those stay, and are found each time.
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
 *-------------------------------------------------------------------------
 */
#ifndef CSCAN_KEEP_H
#define CSCAN_KEEP_H

#include <stdbool.h>
#include <stdint.h>

/* So many chunks are remembered, each in the place that its name gives it. */
#define CSCAN_KEEP_PLACES	1024

typedef struct CScanLetIn
{
	uint64_t	name;			/* the chunk's; evenly spread */
	uint32_t	nblocks;		/* blocks that were loaded; 0: the place is free */
} CScanLetIn;

typedef struct CScanKeep
{
	CScanLetIn	let_in[CSCAN_KEEP_PLACES];
	uint32_t	ncollisions;
	double		share;
	double		due;			/* the shares of the chunks that were not let in,
								 * added up: at 1 one is */
} CScanKeep;

extern void cscan_keep_begin(CScanKeep *keep);

/*
 * So many blocks (1 or more) of a chunk are about to be loaded; are most of them
 * there?  Returns whether they are to stay, or to come, there.
 */
extern bool cscan_keep(CScanKeep *keep, uint64_t name, uint32_t nblocks, bool there);

/* They were not there before, have been loaded, and are there now. */
extern void cscan_keep_remember(CScanKeep *keep, uint64_t name, uint32_t nblocks);

#endif							/* CSCAN_KEEP_H */
