/*-------------------------------------------------------------------------
 *
 * ranges.c
 *		What a scan wants of a chunk, block by block, and what is there of it.
 *
 * A scan's interest is a list of ranges of blocks, in order; those that touch a
 * chunk are found by bisection.  What is there of a chunk is kept in pieces.
 *
 *-------------------------------------------------------------------------
 */
#include "pool_internal.h"

/* Are pieces first..last all in the set? */
static bool
pieces_test(const CScanPieces *pieces, uint32_t first, uint32_t last)
{
	for (uint32_t p = first; p <= last; p = (p / 64 + 1) * 64)
	{
		if (~pieces->word[p / 64] & cscan_word_bits(p, last))
			return false;
	}
	return true;
}

/* The blocks of a chunk, as far as the table goes. */
CScanRange
cscan_pool_blocks_of(const CScanPool *pool, int table, uint32_t chunk)
{
	const CScanTable *t = &pool->tables[table];
	CScanRange	blocks = {chunk * t->chunk_blocks, t->nblocks};

	if (blocks.end < blocks.first)
		blocks.end = blocks.first;
	if (blocks.end - blocks.first > t->chunk_blocks)
		blocks.end = blocks.first + t->chunk_blocks;
	return blocks;
}

/* The first range of a scan that does not end before a block, or nranges. */
static uint32_t
first_range(const CScanPool *pool, int scan, uint32_t block)
{
	const CScanRange *ranges = RANGES(pool, scan);
	uint32_t	low = 0;
	uint32_t	high = pool->scans[scan].nranges;

	while (low < high)
	{
		uint32_t	middle = (low + high) / 2;

		if (ranges[middle].end <= block)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/*
 * A scan's ranges in a chunk, one at a time, as blocks of the chunk.  *next is
 * first_range() of the chunk's first block at first.
 */
static bool
range_within(const CScanPool *pool, int scan, uint32_t chunk, uint32_t *next, CScanRange *within)
{
	uint32_t	chunk_blocks = pool->tables[pool->scans[scan].table].chunk_blocks;
	uint32_t	base = chunk * chunk_blocks;
	CScanRange	range;

	if (*next >= pool->scans[scan].nranges)
		return false;
	range = RANGES(pool, scan)[(*next)++];
	if (range.first >= base && range.first - base >= chunk_blocks)
		return false;
	within->first = range.first > base ? range.first - base : 0;
	within->end = range.end - base < chunk_blocks ? range.end - base : chunk_blocks;
	return true;
}

/* Are all the blocks there that a scan wants of a slot's chunk? */
static bool
covers(const CScanPool *pool, int scan, const CScanSlot *slot)
{
	const CScanTable *t = &pool->tables[slot->table];
	uint32_t	base = slot->chunk * t->chunk_blocks;
	uint32_t	next = first_range(pool, scan, base);
	CScanRange	within;

	while (range_within(pool, scan, slot->chunk, &next, &within))
	{
		if (base + within.end > slot->end ||
			!pieces_test(&slot->loaded, within.first / t->piece_blocks,
						 (within.end - 1) / t->piece_blocks))
			return false;
	}
	return true;
}

/* What of a chunk any active scan wants. */
CScanPieces
cscan_pool_pieces_wanted(const CScanPool *pool, int table, uint32_t chunk)
{
	const CScanTable *t = &pool->tables[table];
	CScanPieces pieces = {{0}};

	CSCAN_SET_EACH(i, cscan_table_scans(pool, table), cscan_scan_words(pool))
	{
		uint32_t	next;
		CScanRange	within;

		if (pool->scans[i].stalled || !cscan_pool_wants(pool, i, chunk))
			continue;
		next = first_range(pool, i, chunk * t->chunk_blocks);
		while (range_within(pool, i, chunk, &next, &within))
			cscan_set_add_range(pieces.word, within.first / t->piece_blocks,
								(within.end - 1) / t->piece_blocks);
	}
	return pieces;
}

/*
 * Some of the blocks that a scan wants of a chunk, evenly spread and at most
 * max; returns how many.
 */
uint32_t
cscan_pool_sample(const CScanPool *pool, int scan, uint32_t chunk,
				  uint32_t *blocks, uint32_t max)
{
	uint32_t	base = chunk * pool->tables[pool->scans[scan].table].chunk_blocks;
	uint32_t	start = first_range(pool, scan, base);
	uint32_t	next = start;
	uint32_t	total = 0;
	uint32_t	before = 0;
	uint32_t	n = 0;
	CScanRange	within;

	while (range_within(pool, scan, chunk, &next, &within))
		total += within.end - within.first;
	if (max > total)
		max = total;
	next = start;
	while (n < max && range_within(pool, scan, chunk, &next, &within))
	{
		uint32_t	length = within.end - within.first;

		for (; n < max; n++)
		{
			uint64_t	place = max == 1 ? 0 : (uint64_t) n * (total - 1) / (max - 1);

			if (place - before >= length)
				break;
			blocks[n] = base + within.first + (uint32_t) place - before;
		}
		before += length;
	}
	return n;
}

/* chunkReady() for a scan that wants it: are all the blocks it wants there? */
bool
cscan_pool_ready_for(const CScanPool *pool, int slot, int scan)
{
	const CScanSlot *s = &pool->slots[slot];

	return s->failed || covers(pool, scan, s);
}
