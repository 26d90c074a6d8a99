/*-------------------------------------------------------------------------
 *
 * pages.h
 *		The pages that a bitmap-driven scan visits, and what it reads of each.
 *
 * A bitmap can only be walked from its beginning to its end, but chunks come
 * in any order.  So its pages are copied into arrays in which a binary search
 * finds any block.  Each page with a list of tuples has an entry, and so has
 * each run of pages that are read as a whole.
 *
 * The contents do not depend on their address: the processes of a parallel
 * scan share one copy.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CSCAN_PAGES_H
#define CSCAN_PAGES_H

#include "compat.h"

#include "nodes/tidbitmap.h"

#include "policy/pool.h"

/*
 * Gaps of up to so many blocks (128 kB) are read through.  That takes less
 * time than a separate request for what follows.
 */
#define CSCAN_GAP_TO_READ	(128 * 1024 / BLCKSZ)

/*
 * A family does not announce a table of at most so many blocks.  Its scan reads
 * it itself, in one or two requests, when the family has no chunk left.
 */
#define CSCAN_SMALL_MEMBER	CSCAN_GAP_TO_READ

typedef struct CScanPage
{
	BlockNumber block;
	BlockNumber nblocks;		/* more than 1 only without a list of tuples */
	uint32		bits;			/* offset of its tuples in the bytes */
	uint16		nbytes;			/* a bit for each line pointer; 0: all tuples */
	bool		recheck;		/* the index condition must be checked again */
} CScanPage;

typedef struct CScanPages
{
	Size		size;			/* of all of it (bytes) */
	uint32		nentries;
	uint32		nexact;			/* pages whose tuples are known */
	uint64		nlossy;			/* other pages */
	CScanPage	entries[FLEXIBLE_ARRAY_MEMBER];
	/* The bytes follow. */
} CScanPages;

/*
 * Copy a bitmap's pages below nblocks into the current memory context.  Beyond
 * "room" bytes pages become runs that are read as a whole, with short gaps
 * included.  Each run still takes 16 bytes: at most a byte per block of the
 * table.
 */
extern CScanPages *cscan_pages_copy(TIDBitmap *bitmap, BlockNumber nblocks, Size room);

/*
 * Returns the ranges of blocks that hold the pages, in the current memory
 * context.  A gap between pages is part of a range if it is short, or if there
 * would be too many ranges.
 */
extern CScanRange *cscan_pages_ranges(const CScanPages *pages, uint32 *nranges);

/* Returns the first entry that does not end before a block, or nentries. */
extern uint32 cscan_pages_find(const CScanPages *pages, BlockNumber block);

/*
 * Returns the first block of the pages from "next" on and before "end", or
 * InvalidBlockNumber.  *entry, which must not be behind that block's entry,
 * becomes it.
 */
extern BlockNumber cscan_pages_next(const CScanPages *pages, uint32 *entry, BlockNumber next,
									BlockNumber end);

/* Get the numbers of an entry's line pointers, in order.  Returns how many. */
extern int	cscan_pages_offsets(const CScanPages *pages, const CScanPage *page,
								OffsetNumber *offsets);

#endif							/* CSCAN_PAGES_H */
