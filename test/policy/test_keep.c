/*-------------------------------------------------------------------------
 *
 * test_keep.c
 *		What a cache below the pool is to keep: a model of one that drops what was
 *		used least recently, under scans that go round and round.
 *
 *-------------------------------------------------------------------------
 */
#include "harness.h"

#include <string.h>

#include "keep.h"

#define MOST_CHUNKS	4000

/* A cache of so many chunks, each with the time of its last use; 0: not there. */
typedef struct Cache
{
	CScanKeep	keep;
	uint32_t	limit;
	uint32_t	held;
	uint64_t	clock;
	uint64_t	used[MOST_CHUNKS];
} Cache;

static Cache cache;

static uint64_t
name_of(uint32_t chunk)
{
	uint64_t	x = (chunk + 1) * UINT64_C(0x9E3779B97F4A7C15);

	return x ^ (x >> 29);
}

static void
begin(uint32_t limit)
{
	memset(&cache, 0, sizeof(cache));
	cscan_keep_begin(&cache.keep);
	cache.limit = limit;
}

static void
shrink_to(uint32_t limit)
{
	cache.limit = limit;
	while (cache.held > limit)
	{
		uint32_t	oldest = MOST_CHUNKS;

		for (uint32_t i = 0; i < MOST_CHUNKS; i++)
		{
			if (cache.used[i] != 0 && (oldest == MOST_CHUNKS || cache.used[i] < cache.used[oldest]))
				oldest = i;
		}
		cache.used[oldest] = 0;
		cache.held--;
	}
}

/* A scan of the chunks from first to end; returns how many were there. */
static uint32_t
scan(uint32_t first, uint32_t end)
{
	uint32_t	found = 0;

	for (uint32_t i = first; i < end; i++)
	{
		bool		there = cache.used[i] != 0;

		found += there;
		if (!cscan_keep(&cache.keep, name_of(i), 8, there))
			continue;
		cache.held += !there;
		cache.used[i] = ++cache.clock;
		shrink_to(cache.limit);
		if (!there)
			cscan_keep_remember(&cache.keep, name_of(i), 8);
	}
	return found;
}

static void
test_room(void)
{
	begin(1000);
	scan(0, 1000);
	is_int(scan(0, 1000), 1000, "keep: what there is room for stays");

	/* All by itself such a cache would have none of them. */
	begin(250);
	for (int i = 0; i < 3; i++)
		scan(0, 1000);
	ok(scan(0, 1000) > 200, "keep: of what there is no room for a part stays");

	begin(990);
	for (int i = 0; i < 3; i++)
		scan(0, 1000);
	ok(scan(0, 1000) > 800, "keep: where there is not quite room nearly all stays");

	begin(1000);
	scan(0, 1000);
	shrink_to(100);
	for (int i = 0; i < 3; i++)
		scan(0, 1000);
	ok(scan(0, 1000) > 80, "keep: less room, and a smaller part stays");
	cache.limit = 1000;
	for (int i = 0; i < 20; i++)
		scan(0, 1000);
	is_int(scan(0, 1000), 1000, "keep: there is room again, and all stays again");
}

static void
test_evidence(void)
{
	uint32_t	n = 0;

	/* What is never seen there, as on a file system with a cache of its own. */
	begin(0);
	for (uint32_t i = 0; i < 10000; i++)
		n += cscan_keep(&cache.keep, name_of(i % 100), 8, false);
	is_int(n, 10000, "keep: what is not seen there is not missed");

	begin(10);
	cscan_keep_remember(&cache.keep, name_of(1), 8);
	ok(cscan_keep(&cache.keep, name_of(1), 4, false) && cscan_keep(&cache.keep, name_of(1), 8, false),
	   "keep: another part of a chunk tells nothing, and then nothing is remembered");

	/* A chunk that has gone: the next is not let in. */
	cscan_keep_remember(&cache.keep, name_of(1), 8);
	ok(!cscan_keep(&cache.keep, name_of(1), 8, false), "keep: one that has gone tells that there is no room");
	ok(!cscan_keep(&cache.keep, name_of(2), 8, false) && !cscan_keep(&cache.keep, name_of(3), 8, false) &&
	   cscan_keep(&cache.keep, name_of(4), 8, false), "keep: only each fourth one comes then");
	ok(cscan_keep(&cache.keep, name_of(5), 8, true), "keep: but what is there stays");
}

/* The places are full of chunks that never come again. */
static void
test_old_ones(void)
{
	begin(MOST_CHUNKS);
	for (uint32_t i = 0; i < 100000; i++)
		cscan_keep_remember(&cache.keep, name_of(MOST_CHUNKS + i), 8);
	cache.limit = 100;
	for (int i = 0; i < 20; i++)
		scan(0, 400);
	ok(scan(0, 400) > 60, "keep: in the end old ones do not stand in the way");
}

void
test_keep(void)
{
	test_room();
	test_evidence();
	test_old_ones();
}
