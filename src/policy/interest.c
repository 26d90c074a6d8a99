/*-------------------------------------------------------------------------
 *
 * interest.c
 *		See interest.h.
 *
 *-------------------------------------------------------------------------
 */
#include <stdlib.h>
#include <string.h>

#include "interest.h"

void
cscan_interest_clear(CScanPool *pool, int scan)
{
	CScanScan  *s = &pool->scans[scan];

	if (s->end_word > s->first_word)
		memset(cscan_wanted(pool, scan) + s->first_word, 0,
			   sizeof(uint64_t) * (s->end_word - s->first_word));
	s->nranges = s->nwanted = s->nloadable = 0;
	s->needed = 0;
	s->first_word = s->end_word = 0;
}

static void
want(CScanPool *pool, int scan, uint32_t first, uint32_t last)
{
	CScanScan  *s = &pool->scans[scan];

	cscan_set_add_range(cscan_wanted(pool, scan), first, last);
	if (s->end_word == 0 || first / 64 < s->first_word)
		s->first_word = first / 64;
	if (last / 64 >= s->end_word)
		s->end_word = last / 64 + 1;
}

void
cscan_interest_add(CScanPool *pool, int scan, int space, uint32_t nblocks,
				   const CScanRange *ranges, uint32_t nranges)
{
	CScanScan  *s = &pool->scans[scan];
	const CScanSpace *p = &pool->spaces[space];
	bool		whole = nranges == 1 && ranges[0].first == 0 && ranges[0].end == nblocks;
	bool		keep = !whole && !cscan_space_is_columnar(p) && s->nranges + nranges <= CSCAN_MAX_RANGES;

	for (uint32_t r = 0; r < nranges; r++)
	{
		want(pool, scan, cscan_space_chunk_of(p, ranges[r].first),
			 cscan_space_chunk_of(p, ranges[r].end - 1));
		if (keep)
			cscan_ranges(pool, scan)[s->nranges++] = (CScanSpaceRange) {space, ranges[r]};
	}
}

/* Sort ranges by space: insertion will do, as spaces are few or in order. */
static void
sort_ranges(CScanPool *pool, int scan)
{
	CScanSpaceRange *ranges = cscan_ranges(pool, scan);
	uint32_t	n = pool->scans[scan].nranges;

	for (uint32_t i = 1; i < n; i++)
	{
		CScanSpaceRange range = ranges[i];
		uint32_t	base = pool->spaces[range.space].first_chunk;
		uint32_t	low = 0;
		uint32_t	high = i;

		if (pool->spaces[ranges[i - 1].space].first_chunk <= base)
			continue;
		while (low < high)
		{
			uint32_t	middle = (low + high) / 2;

			if (pool->spaces[ranges[middle].space].first_chunk <= base)
				low = middle + 1;
			else
				high = middle;
		}
		memmove(ranges + low + 1, ranges + low, sizeof(CScanSpaceRange) * (i - low));
		ranges[low] = range;
	}
}

void
cscan_interest_count_loadable(CScanPool *pool, int scan)
{
	CScanScan  *s = &pool->scans[scan];
	const uint64_t *wanted = cscan_wanted(pool, scan);

	s->nloadable = 0;
	for (uint32_t w = s->first_word; w < s->end_word; w++)
		s->nloadable += (uint32_t) __builtin_popcountll(wanted[w] & pool->loadable[w]);
}

void
cscan_interest_complete(CScanPool *pool, int scan)
{
	CScanScan  *s = &pool->scans[scan];
	const uint64_t *wanted = cscan_wanted(pool, scan);
	uint32_t	rest = 0;

	sort_ranges(pool, scan);
	s->nwanted = 0;
	s->needed = 0;
	for (uint32_t w = s->first_word; w < s->end_word; w++)
		s->nwanted += (uint32_t) __builtin_popcountll(wanted[w]);

	/*
	 * Count whole chunks space by space: those of a space have one size,
	 * except the chunk in which its extent ends.
	 */
	CSCAN_SET_EACH(i, cscan_scan_spaces(pool, scan), cscan_space_words(pool))
	{
		const CScanSpace *p = &pool->spaces[i];
		uint32_t	n;

		if (p->extent == 0 || cscan_interest_has_ranges(pool, scan, i))
			continue;
		n = cscan_set_count_range(wanted, p->first_chunk, p->first_chunk + p->nchunks - 1);
		if (n == 0)
			continue;
		if (cscan_space_is_columnar(p))
		{
			s->needed += (uint64_t) n * cscan_layout_cost(&p->columns, cscan_columns(pool, scan, p));
			continue;
		}
		rest = cscan_space_chunk_of(p, p->extent - 1);
		s->needed += cscan_space_whole_cost(p, n);
		if (cscan_set_has(wanted, rest))
			s->needed -= cscan_space_whole_cost(p, 1) - cscan_space_cost(p, rest);
	}
	for (uint32_t r = 0; r < s->nranges; r++)
	{
		const CScanSpaceRange *range = &cscan_ranges(pool, scan)[r];

		s->needed += range->blocks.end - range->blocks.first;
	}
	cscan_interest_count_loadable(pool, scan);
}

uint32_t
cscan_interest_load(const CScanPool *pool, int scan)
{
	const CScanSpace *p = &pool->spaces[pool->scans[scan].first_space];

	if (cscan_space_is_columnar(p))
		return cscan_layout_cost(&p->columns, cscan_columns(pool, scan, p));
	return p->chunk_blocks;
}

/*
 * A scan's first range, in chunk order, that ends behind a block of a space;
 * or nranges.
 */
static uint32_t
first_range(const CScanPool *pool, int scan, int space, uint32_t block)
{
	const CScanSpaceRange *ranges = cscan_ranges(pool, scan);
	uint32_t	base = pool->spaces[space].first_chunk;
	uint32_t	low = 0;
	uint32_t	high = pool->scans[scan].nranges;

	while (low < high)
	{
		uint32_t	middle = (low + high) / 2;
		const CScanSpaceRange *r = &ranges[middle];
		bool		before = r->space == space ? r->blocks.end <= block :
			pool->spaces[r->space].first_chunk < base;

		if (before)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

bool
cscan_interest_has_ranges(const CScanPool *pool, int scan, int space)
{
	uint32_t	r;

	if (pool->scans[scan].nranges == 0)
		return false;
	r = first_range(pool, scan, space, 0);
	return r < pool->scans[scan].nranges && cscan_ranges(pool, scan)[r].space == space;
}

/*
 * Get the next range that a scan wants of a table's chunk, as its blocks.
 * *next is 0 at first.  False if none is left.
 */
static bool
next_within(const CScanPool *pool, int scan, uint32_t chunk, uint32_t *next, CScanRange *within)
{
	int			space = pool->space_of[chunk];
	const CScanSpace *p = &pool->spaces[space];
	const CScanSpaceRange *ranges = cscan_ranges(pool, scan);
	uint32_t	nranges = pool->scans[scan].nranges;
	uint32_t	r = *next > 0 ? *next - 1 : first_range(pool, scan, space, cscan_space_first_block(p, chunk));

	if (r < nranges && ranges[r].space == space)
	{
		*next = r + 2;
		return cscan_space_within(p, chunk, ranges[r].blocks, within);
	}
	if (*next > 0 || cscan_interest_has_ranges(pool, scan, space))
		return false;

	/* No range in this space: the scan wants the whole chunk. */
	*next = nranges + 1;
	within->first = 0;
	within->end = cscan_space_cost(p, chunk);
	return within->end > 0;
}

uint32_t
cscan_pool_cost_for(const CScanPool *pool, int scan, uint32_t chunk)
{
	const CScanSpace *p = cscan_pool_space_of(pool, chunk);
	uint32_t	next = 0;
	uint32_t	cost = 0;
	CScanRange	within;

	if (cscan_space_is_columnar(p))
		return cscan_layout_cost(&p->columns, cscan_columns(pool, scan, p));
	while (next_within(pool, scan, chunk, &next, &within))
		cost += within.end - within.first;
	return cost;
}

/* Have these pieces of the slot all blocks that the scan wants of its chunk? */
static bool
covers(const CScanPool *pool, int scan, const CScanSlot *slot, const CScanPieces *pieces)
{
	const CScanSpace *p = &pool->spaces[slot->space];
	uint32_t	base = cscan_space_first_block(p, slot->chunk);
	uint32_t	next = 0;
	CScanRange	within;

	if (cscan_space_is_columnar(p))
		return (cscan_columns(pool, scan, p) & ~pieces->word[0]) == 0;
	while (next_within(pool, scan, slot->chunk, &next, &within))
	{
		if (base + within.end > slot->extent ||
			!cscan_space_has_pieces(p, within, pieces))
			return false;
	}
	return true;
}

/* chunkReady(): is all there that the scan wants, or has the load failed? */
bool
cscan_pool_ready_for(const CScanPool *pool, int slot, int scan)
{
	const CScanSlot *s = &pool->slots[slot];

	return s->failed || covers(pool, scan, s, &s->loaded);
}

bool
cscan_pool_comes_for(const CScanPool *pool, int slot, int scan)
{
	const CScanSlot *s = &pool->slots[slot];

	return covers(pool, scan, s, &s->coming);
}

/*
 * Is the chunk neither ready nor in flight?  The load in flight may bring less
 * than the scan wants; then the chunk is absent when the load has ended.
 */
bool
cscan_pool_absent_for(const CScanPool *pool, int scan, uint32_t chunk)
{
	int			slot = cscan_pool_find(pool, chunk);

	return slot == CSCAN_NONE ||
		(!pool->slots[slot].in_flight && !cscan_pool_ready_for(pool, slot, scan));
}

CScanPieces
cscan_pool_pieces_wanted(const CScanPool *pool, uint32_t chunk)
{
	const CScanSpace *p = cscan_pool_space_of(pool, chunk);
	CScanRange	whole = {0, cscan_space_cost(p, chunk)};
	CScanPieces pieces = {{0}};

	CSCAN_SET_EACH(i, cscan_space_scans(pool, pool->space_of[chunk]), cscan_scan_words(pool))
	{
		uint32_t	next = 0;
		CScanRange	within;

		if (!cscan_pool_active(pool, i) || !cscan_pool_wants(pool, i, chunk))
			continue;
		if (cscan_space_is_columnar(p))
		{
			pieces.word[0] |= cscan_columns(pool, i, p);
			continue;
		}
		while (next_within(pool, i, chunk, &next, &within))
			cscan_space_add_pieces(p, within, &pieces);

		/* Mostly the first scan wants the whole chunk. */
		if (whole.end > 0 && cscan_space_has_pieces(p, whole, &pieces))
			break;
	}
	return pieces;
}

uint32_t
cscan_pool_sample(const CScanPool *pool, int scan, uint32_t chunk, uint32_t *blocks, uint32_t max)
{
	uint32_t	base = cscan_space_first_block(cscan_pool_space_of(pool, chunk), chunk);
	uint32_t	total = cscan_pool_cost_for(pool, scan, chunk);
	uint32_t	next = 0;
	uint32_t	before = 0;
	uint32_t	n = 0;
	CScanRange	within;

	if (max > total)
		max = total;
	while (n < max && next_within(pool, scan, chunk, &next, &within))
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
