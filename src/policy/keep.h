/*-------------------------------------------------------------------------
 *
 * keep.h
 *		Which chunks should a cache below the pool keep, if it drops first what
 *		was used first?  That is the page cache, with cscan.drop_behind = auto.
 *
 *		cscan_keep_begin()		nothing is known
 *		cscan_keep()			keep this chunk, which is about to be loaded?
 *		cscan_keep_remember()	the chunk is in the cache now
 *
 * A cache that can hold the table is a second, larger pool.  A smaller one is
 * useless as it is: a chunk has gone by the time that it is loaded again.  But
 * if only as many chunks are let in as it has room for, these stay, and are
 * found each time.
 *
 * So a chunk that is there when it is loaded stays there.  A share of the
 * others is let in, at first all.  What becomes of those tells whether there
 * is room.  The share grows a little with each that is there when it is loaded
 * again, and falls to a fourth with each that has gone.  It never becomes
 * zero, so that new room is noticed.
 *
 * Only a chunk that was seen in the cache can be seen to have gone.  Some file
 * systems (ZFS) have a cache of their own, which the kernel does not report;
 * there all chunks are let in.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CSCAN_KEEP_H
#define CSCAN_KEEP_H

#include <stdbool.h>
#include <stdint.h>

/* This many chunks are remembered, each in the place given by its name. */
#define CSCAN_KEEP_PLACES	1024

typedef struct CScanLetIn
{
	uint64_t	name;			/* name of the chunk; evenly spread */
	uint32_t	nblocks;		/* blocks that were loaded; 0: the place is free */
} CScanLetIn;

typedef struct CScanKeep
{
	CScanLetIn	let_in[CSCAN_KEEP_PLACES];
	uint32_t	ncollisions;
	double		share;
	double		due;			/* shares of the chunks so far, added up: at 1
								 * a chunk is let in, and 1 taken off */
} CScanKeep;

extern void cscan_keep_begin(CScanKeep *keep);

/*
 * nblocks (1 or more) of a chunk are about to be loaded; "there": most of them
 * are in the cache.  Returns whether the cache should keep them.
 */
extern bool cscan_keep(CScanKeep *keep, uint64_t name, uint32_t nblocks, bool there);

/* The blocks were not in the cache before the load, and are there now. */
extern void cscan_keep_remember(CScanKeep *keep, uint64_t name, uint32_t nblocks);

#endif							/* CSCAN_KEEP_H */
