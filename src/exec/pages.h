/*-------------------------------------------------------------------------
 *
 * pages.h
 *		The pages that a bitmap-driven scan visits, and what of each.
 *
 * A bitmap can only be walked from its beginning to its end, but chunks come
 * in any order.  So its pages are copied into arrays in which any block is
 * found by a binary search: an entry for each page whose tuples are known, and
 * one for each run of pages that are to be read as a whole.
 *
 * What is in it does not depend on where it is in memory: the processes of a
 * parallel scan share one.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CSCAN_PAGES_H
#define CSCAN_PAGES_H

#include "compat.h"

#include "nodes/tidbitmap.h"

#include "policy/pool.h"

/*
 * To read through so many blocks that nobody asked for takes less time than
 * a request of its own for what follows: 128 kB.
 */
#define CSCAN_GAP_TO_READ	(128 * 1024 / BLCKSZ)

typedef struct CScanPage
{
	BlockNumber block;
	BlockNumber nblocks;		/* more than 1 only without a list of tuples */
	uint32		bits;			/* where its tuples are in the bytes */
	uint16		nbytes;			/* a bit for each line pointer; 0: all tuples */
	bool		recheck;		/* the index condition must be checked again */
} CScanPage;

typedef struct CScanPages
{
	Size		size;			/* of all of it, in bytes */
	uint32		nentries;
	uint32		nexact;			/* pages whose tuples are known */
	uint64		nlossy;			/* others */
	CScanPage	entries[FLEXIBLE_ARRAY_MEMBER];
	/* the bytes follow */
} CScanPages;

/*
 * Copy a bitmap's pages below nblocks, into the current memory context.  What does not
 * fit into so many bytes is read as a whole: runs of pages, short gaps included.  Each
 * run has 16 bytes all the same: a byte for each block of the table, at most.
 */
extern CScanPages *cscan_pages_copy(TIDBitmap *bitmap, BlockNumber nblocks, Size room);

/*
 * The ranges of blocks that they are in.  What lies between two pages is part of
 * a range if it is short, or if there would be too many of them.  The result
 * is in the current memory context.
 */
extern CScanRange *cscan_pages_ranges(const CScanPages *pages, uint32 *nranges);

/* The first entry that does not end before a block, or nentries. */
extern uint32 cscan_pages_find(const CScanPages *pages, BlockNumber block);

/* The numbers of an entry's line pointers, in order; returns how many. */
extern int	cscan_pages_offsets(const CScanPages *pages, const CScanPage *page,
								OffsetNumber *offsets);

#endif							/* CSCAN_PAGES_H */
