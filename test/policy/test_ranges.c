/*-------------------------------------------------------------------------
 *
 * test_ranges.c
 *		Scans of sets of ranges: which chunks and pieces they want, what loads
 *		bring of these, and when a chunk is ready for whom.
 *
 * The last part compares all of it with a plain array of blocks, for random
 * ranges from one seed.
 *
 *-------------------------------------------------------------------------
 */
#include "harness.h"

#include <stdlib.h>
#include <string.h>

#define N	CSCAN_POLICY_NORMAL
#define R	CSCAN_POLICY_RELEVANCE

#define COUNT(array)	((uint32_t) (sizeof(array) / sizeof((array)[0])))

/* A scan of one range. */
static int
scan_range(CScanPool *pool, int table, uint32_t nblocks, uint32_t first, uint32_t end)
{
	CScanRange	range = {first, end};

	return scan_ranges(pool, table, R, nblocks, &range, 1, 0);
}

static bool
has_piece(const CScanPieces *pieces, uint32_t p)
{
	return (pieces->word[p / 64] >> (p % 64)) & 1;
}

static int
count_pieces(const CScanPieces *pieces)
{
	int			n = 0;

	for (int w = 0; w < CSCAN_PIECE_WORDS; w++)
		n += __builtin_popcountll(pieces->word[w]);
	return n;
}

/* The runs of a load are these, and as many blocks as it says; one test. */
static void
runs_are(const CScanAction *act, const CScanRange *expected, uint32_t n, const char *what)
{
	CScanRun	run = {0, 0, 0};
	uint32_t	i = 0;
	uint32_t	sum = 0;
	bool		same = act->kind == CSCAN_ACT_LOAD;

	while (same && cscan_action_next_run(act, &run))
	{
		same &= i < n && run.first == expected[i].first && run.end == expected[i].end;
		if (!same)
			note("run %u is %u..%u", i, run.first, run.end);
		sum += run.end - run.first;
		i++;
	}
	if (!ok(same && i == n && sum == act->nblocks, "%s: what is loaded", what))
		note("%u runs of %u, %u blocks of %u", i, n, sum, act->nblocks);
}

#define RUNS_ARE(act, what, ...) \
	runs_are(act, (const CScanRange[]) {__VA_ARGS__}, COUNT(((const CScanRange[]) {__VA_ARGS__})), what)

static void
finish(CScanPool *pool, const CScanAction *act, uint64_t now)
{
	if (act->kind == CSCAN_ACT_LOAD)
		cscan_pool_loaded(pool, act->slot, now, 0, false, false);
}

/* ------------------------------------------------------------------
 * Which chunks and which pieces
 * ------------------------------------------------------------------ */

static void
wants_chunks(const CScanPool *pool, int scan, uint32_t nblocks, const CScanRange *ranges, uint32_t nranges,
			 const char *expected, const char *what)
{
	bool		same = cscan_space_chunks_for(8, nblocks) == strlen(expected);
	uint32_t	n = 0;
	uint32_t	blocks = 0;

	for (uint32_t c = 0; expected[c] != '\0' && same; c++)
	{
		same &= cscan_pool_wants(pool, scan, c) == (expected[c] == '1');
		n += expected[c] == '1';
	}
	same &= !cscan_pool_wants(pool, scan, (uint32_t) strlen(expected));
	for (uint32_t r = 0; r < nranges; r++)
		blocks += ranges[r].end - ranges[r].first;
	ok(same && pool->scans[scan].nwanted == n && pool->scans[scan].needed == blocks,
	   "%s: chunks %s", what, expected);
}

static void
test_chunks(void)
{
	CScanPool  *pool = pool_create(16, 16, 1024);
	int			table = table_add(pool, 8);

#define CHUNKS(nblocks, expected, what, ...) \
	wants_chunks(pool, scan_ranges(pool, table, R, nblocks, (const CScanRange[]) {__VA_ARGS__}, \
				 COUNT(((const CScanRange[]) {__VA_ARGS__})), 0), \
				 nblocks, (const CScanRange[]) {__VA_ARGS__}, \
				 COUNT(((const CScanRange[]) {__VA_ARGS__})), expected, what)

	CHUNKS(64, "10101000", "one range in each", {0, 8}, {17, 19}, {39, 40});
	CHUNKS(64, "01000000", "two ranges in one", {8, 9}, {15, 16});
	CHUNKS(64, "01110000", "a chunk that two ranges touch", {10, 20}, {22, 30});
	CHUNKS(64, "01000000", "a range that ends at a chunk's border", {10, 16});
	CHUNKS(64, "00100000", "one that begins there", {16, 17});
	CHUNKS(64, "01100000", "one that passes it", {15, 17});
	CHUNKS(64, "10000001", "the first and the last block", {0, 1}, {63, 64});
	CHUNKS(59, "00000001", "a partial chunk at the end", {56, 59});
	CHUNKS(57, "10000001", "of one block", {3, 4}, {56, 57});
	CHUNKS(64, "11111111", "all", {0, 64});
	ok(pool_check(pool) == NULL, "the pool is sound");
	{
		int			none = scan_ranges(pool, table, R, 64, &(CScanRange) {0, 0}, 0, 0);

		is_int(pool->scans[none].nwanted, 0, "no range at all");
		is_int(cscan_pool_choose(pool, none, CSCAN_NONE, 1), CSCAN_NONE, "no range: nothing to be had");
		ok(!pool->scans[none].blocked, "no range: and nothing to wait for");
	}
#undef CHUNKS
	pool_free(pool);
}

static void
test_pieces(void)
{
	CScanPool  *pool = pool_create(8, 16, 1024);
	int			table = table_add(pool, 16);
	CScanRange	a_wants[] = {{0, 2}, {14, 17}, {30, 32}};
	CScanRange	b_wants[] = {{1, 4}, {9, 10}};
	int			a = scan_ranges(pool, table, R, 40, a_wants, COUNT(a_wants), 0);
	int			b;
	int			c;
	CScanPieces pieces = cscan_pool_pieces_wanted(pool, 0);

	is_int(pool->spaces[table].piece_blocks, 1, "a piece is a block");
	is_int((int64_t) pieces.word[0], 0xc003, "pieces of one scan");
	is_int((int64_t) cscan_pool_pieces_wanted(pool, 1).word[0], 0xc001, "pieces of the next chunk");
	is_int(count_pieces(&pieces), 4, "none beyond the chunk");
	is_int((int64_t) cscan_pool_pieces_wanted(pool, 2).word[0], 0, "none of a chunk that nobody wants");
	b = scan_ranges(pool, table, R, 40, b_wants, COUNT(b_wants), 0);
	is_int((int64_t) cscan_pool_pieces_wanted(pool, 0).word[0], 0xc20f, "pieces of two scans");
	cscan_pool_set_stalled(pool, a, true);
	is_int((int64_t) cscan_pool_pieces_wanted(pool, 0).word[0], 0x020e, "pieces: not of one that is stalled");
	cscan_pool_set_stalled(pool, a, false);
	cscan_pool_unwant(pool, b, 0);
	is_int((int64_t) cscan_pool_pieces_wanted(pool, 0).word[0], 0xc003, "pieces: nor of one that has had the chunk");
	c = scan_range(pool, table, 39, 32, 39);
	is_int((int64_t) cscan_pool_pieces_wanted(pool, 2).word[0], 0x7f, "pieces of a chunk at the end");
	cscan_pool_unregister(pool, c);
	is_int((int64_t) cscan_pool_pieces_wanted(pool, 2).word[0], 0, "pieces: not of one that has left");
	c = scan_range(pool, table_add(pool, 16), 40, 0, 40);
	is_int((int64_t) cscan_pool_pieces_wanted(pool, 0).word[0], 0xc003, "pieces: nor of one of another table");
	pool_free(pool);
}

/* ------------------------------------------------------------------
 * What is loaded
 * ------------------------------------------------------------------ */

static void
test_loads(void)
{
	CScanPool  *pool = pool_create(8, 16, 64);
	int			table = table_add(pool, 8);
	CScanRange	ranges[] = {{1, 3}, {6, 8}, {8, 10}, {16, 17}, {26, 27}};
	int			scan = scan_ranges(pool, table, R, 27, ranges, COUNT(ranges), 0);
	CScanAction act = decide(pool, 0);

	RUNS_ARE(&act, "two runs, up to the chunk's end", {1, 3}, {6, 8});
	is_int(pool->state->used, 4, "a load takes as much room as it has blocks");
	finish(pool, &act, 1);
	act = decide(pool, 1);
	RUNS_ARE(&act, "from the chunk's beginning", {8, 10});
	finish(pool, &act, 2);
	is_int(use_next(pool, scan, 2), 0, "the first is handed out");
	is_int(use_next(pool, scan, 3), 1, "then the second");
	act = decide(pool, 3);
	RUNS_ARE(&act, "a single block", {16, 17});
	finish(pool, &act, 3);
	is_int(use_next(pool, scan, 4), 2, "then the third");
	act = decide(pool, 4);
	RUNS_ARE(&act, "the table's last block", {26, 27});
	finish(pool, &act, 4);
	is_int(pool->state->used, 8, "their room adds up");
	ok(pool_check(pool) == NULL, "the pool is sound");
	pool_free(pool);
}

/* Adjacent ranges are one run; two scans' pieces are loaded together. */
static void
test_loads_together(void)
{
	CScanPool  *pool = pool_create(8, 16, 64);
	int			table = table_add(pool, 8);
	int			a = scan_ranges(pool, table, R, 16, (CScanRange[]) {{0, 2}, {2, 3}, {8, 16}}, 3, 0);
	int			b = scan_ranges(pool, table, R, 16, (CScanRange[]) {{5, 7}, {8, 16}}, 2, 0);
	int			stalled = scan_range(pool, table, 16, 3, 5);
	CScanAction act;

	cscan_pool_set_stalled(pool, stalled, true);
	cscan_pool_unwant(pool, a, 1);
	act = decide(pool, 0);
	RUNS_ARE(&act, "two scans' blocks, without those of one that is stalled", {0, 3}, {5, 7});
	ok(!cscan_pool_ready_for(pool, act.slot, a) && !cscan_pool_absent_for(pool, a, 0), "on its way for the first");
	ok(!cscan_pool_ready_for(pool, act.slot, b) && !cscan_pool_absent_for(pool, b, 0), "and for the second");
	is_int(use_next(pool, a, 0), CSCAN_NO_CHUNK, "which have to wait for it");
	finish(pool, &act, 1);
	ok(cscan_pool_ready_for(pool, act.slot, a) && cscan_pool_ready_for(pool, act.slot, b), "ready for both");
	ok(!cscan_pool_ready_for(pool, act.slot, stalled), "not for the third");
	ok(cscan_pool_absent_for(pool, stalled, 0), "for which it is absent");
	is_int(pool->scans[stalled].available, 0, "and not available");
	is_int(pool->scans[b].available, 1, "as it is for the second");
	is_int(use_next(pool, stalled, 2), CSCAN_NO_CHUNK, "the third asks");
	act = decide(pool, 3);
	RUNS_ARE(&act, "and gets what it lacks", {3, 5});
	pool_free(pool);
}

/* While one scan reads a chunk, what another one wants of it is added. */
static void
test_top_up(void)
{
	CScanPool  *pool = pool_create(8, 16, 64);
	int			table = table_add(pool, 16);
	int			a = scan_range(pool, table, 32, 0, 4);
	int			b;
	int			c;
	CScanAction first = decide(pool, 0);
	CScanAction act;

	finish(pool, &first, 1);
	is_int(use_next(pool, a, 2), 0, "top-up: one reads it");
	b = scan_ranges(pool, table, R, 32, (CScanRange[]) {{2, 6}, {12, 16}}, 2, 0);
	act = decide(pool, 3);
	is_int(act.slot, first.slot, "top-up: the same slot");
	RUNS_ARE(&act, "top-up: only what is missing", {4, 6}, {12, 16});
	is_int(pool->state->used, 10, "top-up: its room grows");
	is_int(pool->scans[a].in_use, first.slot, "top-up: the first goes on reading");
	ok(cscan_pool_in_flight(pool, act.slot), "top-up: in flight");
	c = scan_range(pool, table, 32, 1, 3);
	is_int(use_next(pool, c, 3), 0, "top-up: what is there is to be had meanwhile");
	is_int(use_next(pool, b, 3), CSCAN_NO_CHUNK, "top-up: what is not is not");
	finish(pool, &act, 4);
	is_int(use_next(pool, b, 4), 0, "top-up: then it is");
	is_int(pool->state->used, 10, "top-up: its room stays");
	is_int(pool->state->total, 10, "top-up: that of all slots, too");
	ok(pool_check(pool) == NULL, "the pool is sound");
	pool_free(pool);
}

/* Who wants more than what is in flight waits for it, and then once more. */
static void
test_in_flight(void)
{
	CScanPool  *pool = pool_create(8, 16, 64);
	int			table = table_add(pool, 16);
	int			a = scan_range(pool, table, 32, 0, 4);
	int			b;
	CScanAction act = decide(pool, 0);

	b = scan_range(pool, table, 32, 2, 8);
	ok(!cscan_pool_absent_for(pool, b, 0), "in flight: not absent for one that wants more");
	ok(!cscan_pool_ready_for(pool, act.slot, b), "in flight: nor ready");
	is_int(pool->scans[b].available, 1, "in flight: but available");
	is_int(use_next(pool, b, 1), CSCAN_NO_CHUNK, "in flight: it waits");
	is_int(decide(pool, 1).kind, CSCAN_ACT_NOTHING, "in flight: nothing else is to be done");
	finish(pool, &act, 2);
	ok(cscan_pool_absent_for(pool, b, 0), "in flight: absent when it has arrived");
	is_int(use_next(pool, b, 2), CSCAN_NO_CHUNK, "in flight: it waits once more");
	act = decide(pool, 3);
	RUNS_ARE(&act, "in flight: the rest", {4, 8});
	is_int(use_next(pool, a, 3), 0, "in flight: the first has what it wants");
	finish(pool, &act, 4);
	is_int(use_next(pool, b, 5), 0, "in flight: now both");
	pool_free(pool);
}

/* What is not held may have gone: it is loaded anew with what is added. */
static void
test_reload(void)
{
	CScanPool  *pool = pool_create(8, 16, 64);
	int			table = table_add(pool, 16);
	int			a = scan_range(pool, table, 32, 0, 4);
	int			b;
	int			slot;
	CScanAction act;

	cscan_pool_set_limits(pool, pool->state->budget, 128);
	act = decide(pool, 0);
	finish(pool, &act, 0);
	slot = act.slot;
	use_next(pool, a, 1);
	use_next(pool, a, 2);
	cscan_pool_unregister(pool, a);
	is_int(cscan_pool_release(pool), slot, "reload: nobody wants it, so it is not held");
	is_int(pool->state->used, 0, "reload: it does not count as used");
	is_int(pool->state->total, 4, "reload: but is remembered");

	/* Who finds all in it need not wait. */
	a = scan_range(pool, table, 32, 1, 3);
	ok(cscan_pool_ready_for(pool, slot, a), "reload: ready for one that wants a part of it");
	is_int(use_next(pool, a, 3), 0, "reload: which has it");

	b = scan_ranges(pool, table, R, 32, (CScanRange[]) {{2, 6}, {15, 16}}, 2, 0);
	act = decide(pool, 4);
	is_int(act.slot, slot, "reload: the same slot");
	RUNS_ARE(&act, "reload: what was there, and more", {0, 6}, {15, 16});
	is_int(act.nblocks, 7, "reload: all of it is loaded");
	is_int(pool->state->used, 7, "reload: and held");
	is_int(pool->state->total, 7, "reload: what was there does not count twice");
	is_int(pool->slots[slot].nblocks, 7, "reload: nor in the slot");
	ok(pool->slots[slot].held, "reload: it is held");
	ok(pool_check(pool) == NULL, "the pool is sound");
	finish(pool, &act, 5);
	is_int(use_next(pool, b, 6), 0, "reload: then it is ready");
	use_next(pool, b, 7);
	use_next(pool, a, 7);
	is_int(cscan_pool_release(pool), slot, "reload: and let go of again");
	is_int(pool->state->used, 0, "reload: used adds up");
	is_int(pool->state->total, 7, "reload: so does the total");
	cscan_pool_drop(pool, slot);
	is_int(pool->state->total, 0, "reload: to nothing in the end");
	pool_free(pool);
}

/*
 * All scans have left, and the next one sees less of the table; then what is
 * loaded anew is less than what the slot had.
 */
static void
test_reload_shorter(void)
{
	CScanPool  *pool = pool_create(8, 16, 64);
	int			table = table_add(pool, 16);
	int			a = scan_range(pool, table, 14, 10, 14);
	int			b;
	int			c;
	int			slot;
	CScanAction act;

	cscan_pool_set_limits(pool, pool->state->budget, 128);
	act = decide(pool, 0);
	RUNS_ARE(&act, "shorter: at first up to the end", {10, 14});
	finish(pool, &act, 0);
	slot = act.slot;
	use_next(pool, a, 1);
	use_next(pool, a, 2);
	cscan_pool_unregister(pool, a);
	is_int(cscan_pool_release(pool), slot, "shorter: it is let go of");

	b = scan_range(pool, table, 12, 8, 11);
	act = decide(pool, 3);
	RUNS_ARE(&act, "shorter: now not so far", {8, 12});
	ok(pool_check(pool) == NULL, "the pool is sound");
	is_int(pool->state->used, 4, "shorter: used");
	is_int(pool->state->total, 4, "shorter: total");
	finish(pool, &act, 4);
	is_int(use_next(pool, b, 5), 0, "shorter: ready");

	c = scan_range(pool, table, 14, 10, 14);
	ok(!cscan_pool_ready_for(pool, slot, c), "shorter: what was not loaded anew is not there");
	act = decide(pool, 6);
	RUNS_ARE(&act, "shorter: and is loaded", {12, 14});
	pool_free(pool);
}

/* A budget for held blocks counts what is loaded, not whole chunks. */
static void
test_budget(void)
{
	CScanPool  *pool = pool_create(8, 16, 16);
	int			table = table_add(pool, 8);
	CScanRange	ranges[8];
	int			scan;
	int			loads = 0;
	CScanAction act;

	for (uint32_t i = 0; i < 8; i++)
	{
		ranges[i].first = 8 * i + i;
		ranges[i].end = ranges[i].first + 1;
	}
	scan = scan_ranges(pool, table, R, 64, ranges, 8, 0);
	for (uint32_t c = 0; c < 8; c++)
	{
		/* One process more needs one chunk more. */
		if (c > 0)
			cscan_pool_join(pool, scan);
		while ((act = decide(pool, c)).kind == CSCAN_ACT_LOAD)
		{
			loads++;
			finish(pool, &act, c);
		}
	}
	is_int(loads, 8, "a pool of two whole chunks holds a block of each of eight");
	is_int(pool->state->used, 8, "and counts eight");
	ok(pool_check(pool) == NULL, "the pool is sound");
	pool_free(pool);
}

/* ------------------------------------------------------------------
 * Samples
 * ------------------------------------------------------------------ */

static void
sample_is(const CScanPool *pool, int scan, uint32_t chunk, uint32_t max,
		  const uint32_t *expected, uint32_t n, const char *what)
{
	uint32_t	blocks[64];
	uint32_t	got = cscan_pool_sample(pool, scan, chunk, blocks, max);
	bool		same = got == n;

	for (uint32_t i = 0; i < n && same; i++)
		same &= blocks[i] == expected[i];
	if (!ok(same, "sample: %s", what))
	{
		for (uint32_t i = 0; i < got; i++)
			note("block %u", blocks[i]);
	}
}

#define SAMPLE_IS(scan, chunk, max, what, ...) \
	sample_is(pool, scan, chunk, max, (const uint32_t[]) {__VA_ARGS__}, \
			  COUNT(((const uint32_t[]) {__VA_ARGS__})), what)

static void
test_sample(void)
{
	CScanPool  *pool = pool_create(8, 16, 1024);
	int			table = table_add(pool, 32);
	int			all = scan_range(pool, table, 80, 0, 80);
	int			some = scan_ranges(pool, table, R, 80, (CScanRange[]) {{3, 5}, {8, 9}, {30, 35}, {63, 64}}, 4, 0);
	uint32_t	blocks[64];

	SAMPLE_IS(all, 0, 2, "the ends", 0, 31);
	SAMPLE_IS(all, 1, 5, "evenly spread", 32, 39, 47, 55, 63);
	SAMPLE_IS(all, 2, 4, "of a chunk at the end", 64, 69, 74, 79);
	SAMPLE_IS(all, 1, 1, "only one", 32);
	is_int(cscan_pool_sample(pool, all, 0, blocks, 64), 32, "sample: more than there are: all of them");
	is_int(cscan_pool_sample(pool, all, 2, blocks, 64), 16, "sample: and of a partial one");
	SAMPLE_IS(some, 0, 16, "all that are wanted", 3, 4, 8, 30, 31);
	SAMPLE_IS(some, 1, 16, "of the next one", 32, 33, 34, 63);
	SAMPLE_IS(some, 0, 5, "just as many", 3, 4, 8, 30, 31);
	SAMPLE_IS(some, 0, 3, "fewer", 3, 8, 31);
	SAMPLE_IS(some, 0, 2, "the ends of ranges", 3, 31);
	is_int(cscan_pool_sample(pool, some, 2, blocks, 64), 0, "sample: nothing of a chunk that it does not want");
	pool_free(pool);
}

/* ------------------------------------------------------------------
 * Large chunks, many ranges
 * ------------------------------------------------------------------ */

static void
test_large_chunks(void)
{
	CScanPool  *pool = pool_create(8, 16, 4096);
	int			t512 = table_add(pool, 512);
	int			t513 = table_add(pool, 513);
	int			t1300 = table_add(pool, 1300);
	int			scan;
	CScanPieces pieces;
	CScanAction act;

	is_int(pool->spaces[t512].piece_blocks, 1, "large: 512 blocks are 512 pieces");
	is_int(pool->spaces[t513].piece_blocks, 2, "large: of 513, two are a piece");
	is_int(pool->spaces[t1300].piece_blocks, 3, "large: of 1300, three");

	scan = scan_range(pool, t512, 512, 0, 512);
	act = decide(pool, 0);
	RUNS_ARE(&act, "large: all of 512", {0, 512});
	cscan_pool_unregister(pool, scan);
	cscan_pool_remove_space(pool, t512);

	scan = scan_ranges(pool, t513, R, 1026, (CScanRange[]) {{3, 4}, {512, 514}}, 2, 0);
	pieces = cscan_pool_pieces_wanted(pool, chunk_of(pool, t513, 0));
	ok(has_piece(&pieces, 1) && has_piece(&pieces, 256) && count_pieces(&pieces) == 2, "large: the pieces with its blocks");
	act = decide(pool, 0);
	RUNS_ARE(&act, "large: whole pieces, but not beyond the chunk", {2, 4}, {512, 513});
	finish(pool, &act, 0);
	is_int(use_next(pool, scan, 1), chunk_of(pool, t513, 0), "large: ready");
	act = decide(pool, 1);
	RUNS_ARE(&act, "large: pieces count from the chunk's beginning", {513, 515});
	cscan_pool_unregister(pool, scan);
	cscan_pool_remove_space(pool, t513);

	scan = scan_ranges(pool, t1300, R, 1304, (CScanRange[]) {{0, 4}, {7, 8}, {1299, 1304}}, 3, 0);
	act = decide(pool, 0);
	RUNS_ARE(&act, "large: three blocks a piece", {0, 9}, {1299, 1300});
	finish(pool, &act, 0);
	ok(cscan_pool_ready_for(pool, act.slot, scan), "large: ready");
	is_int(use_next(pool, scan, 1), chunk_of(pool, t1300, 0), "large: handed out");
	act = decide(pool, 1);
	RUNS_ARE(&act, "large: the table's end", {1300, 1304});
	finish(pool, &act, 1);
	ok(pool_check(pool) == NULL, "the pool is sound");
	pool_free(pool);
}

/* The table grows within a piece, of which the beginning is there. */
static void
test_grown_within_piece(void)
{
	CScanPool  *pool = pool_create(8, 16, 4096);
	int			table = table_add(pool, 1024);
	int			a = scan_range(pool, table, 1001, 1000, 1001);
	int			b;
	CScanAction act = decide(pool, 0);
	int			slot = act.slot;

	RUNS_ARE(&act, "grown: half a piece", {1000, 1001});
	finish(pool, &act, 0);
	is_int(use_next(pool, a, 1), 0, "grown: ready");
	b = scan_range(pool, table, 1002, 1000, 1002);
	ok(!cscan_pool_ready_for(pool, slot, b), "grown: not ready for who wants the other half");
	act = decide(pool, 2);
	is_int(act.kind, CSCAN_ACT_LOAD, "grown: it is loaded");
	finish(pool, &act, 3);
	ok(cscan_pool_ready_for(pool, slot, b), "grown: then it is ready");
	pool_free(pool);
}

/* ... and who wants something else brings all of that piece, too: its beginning stays pinned. */
static void
test_grown_beside(void)
{
	CScanPool  *pool = pool_create(4, 4, 4096);
	int			table = table_add(pool, 1024);	/* of pieces of two blocks */
	int			a = scan_ranges(pool, table, R, 101, (CScanRange[]) {{0, 50}, {50, 101}}, 2, 0);
	CScanAction act = decide(pool, 0);
	int			slot = act.slot;
	int			b;

	RUNS_ARE(&act, "grown beside: half a piece at the end", {0, 101});
	cscan_pool_loaded(pool, slot, 1, 1, false, false);
	b = scan_range(pool, table, 200, 150, 160);
	is_int(use_next(pool, a, 2), 0, "grown beside: in use");
	act = decide(pool, 3);
	RUNS_ARE(&act, "grown beside: the piece that has grown, and what is wanted", {100, 102}, {150, 160});
	cscan_pool_loaded(pool, slot, 4, 1, false, false);
	is_int(pool->slots[slot].nblocks, 112, "grown beside: blocks of both");
	is_int(pool->state->used, 112, "grown beside: all are accounted for");
	ok(cscan_pool_ready_for(pool, slot, b), "grown beside: ready");
	ok(pool_check(pool) == NULL, "grown beside: the pool is in order");
	pool_free(pool);
}

static void
test_many_ranges(void)
{
	static CScanRange ranges[CSCAN_MAX_RANGES];
	CScanPool  *pool = pool_create(4, 64, 1024);
	int			table = table_add(pool, 64);
	int			scans[2];
	uint32_t	chunks = 0;
	bool		right = true;
	uint32_t	chunk;

	for (uint32_t i = 0; i < CSCAN_MAX_RANGES; i++)
	{
		ranges[i].first = 4 * i + 1;
		ranges[i].end = 4 * i + 3;
	}
	for (int i = 0; i < 2; i++)
		scans[i] = scan_ranges(pool, table, N, 4 * CSCAN_MAX_RANGES, ranges, CSCAN_MAX_RANGES, 0);
	is_int(pool->scans[scans[0]].nwanted, CSCAN_MAX_RANGES * 4 / 64, "many ranges: in so many chunks");
	for (uint64_t now = 1; (chunk = use_next(pool, scans[0], now)) != CSCAN_NO_CHUNK ||
		 pool->scans[scans[0]].nwanted > 0; now++)
	{
		CScanAction act;
		CScanRun	run = {0, 0, 0};

		if (chunk != CSCAN_NO_CHUNK)
		{
			chunks++;
			continue;
		}
		act = decide(pool, now);
		right &= act.kind == CSCAN_ACT_LOAD && act.nblocks == 32;
		if (!right)
			break;
		for (uint32_t i = 0; cscan_action_next_run(&act, &run); i++)
			right &= run.first == act.chunk * 64 + 4 * i + 1 && run.end == run.first + 2;
		finish(pool, &act, now);
	}
	ok(right, "many ranges: each load brings those of its chunk");
	is_int(chunks, CSCAN_MAX_RANGES * 4 / 64, "many ranges: all chunks were handed out");
	is_int(pool->scans[scans[1]].nwanted, CSCAN_MAX_RANGES * 4 / 64, "many ranges: and of the other one none");
	pool_free(pool);
}

/* ------------------------------------------------------------------
 * The same as a plain array of blocks says
 * ------------------------------------------------------------------ */

#define MAX_BLOCKS	8192
#define SCANS		4

typedef struct Plain
{
	bool		wants[SCANS][MAX_BLOCKS];
	bool		loaded[MAX_BLOCKS];
	int			scan[SCANS];
	uint32_t	nblocks;
	uint32_t	chunk_blocks;
	uint32_t	piece_blocks;
	const char *wrong;
} Plain;

static uint32_t
random_ranges(Random *random, uint32_t nblocks, CScanRange *ranges)
{
	uint32_t	n = 0;
	uint32_t	longest = 1 + random_below(random, 1 + random_below(random, nblocks));
	uint32_t	b = random_below(random, 1 + longest);

	while (b < nblocks && n < CSCAN_MAX_RANGES)
	{
		uint32_t	end = b + 1 + random_below(random, longest);

		/* Ranges may touch. */
		ranges[n].first = b;
		ranges[n].end = end < nblocks ? end : nblocks;
		b = ranges[n++].end + random_below(random, longest + 1);
	}
	return n;
}

/* Is block b, or another one of its piece, wanted by a scan that counts and still wants the chunk? */
static bool
piece_wanted(const CScanPool *pool, const Plain *plain, uint32_t chunk, uint32_t piece)
{
	uint32_t	base = chunk * plain->chunk_blocks;

	for (int s = 0; s < SCANS; s++)
	{
		if (pool->scans[plain->scan[s]].stalled || !cscan_pool_wants(pool, plain->scan[s], chunk))
			continue;
		for (uint32_t b = piece * plain->piece_blocks; b < (piece + 1) * plain->piece_blocks &&
			 b < plain->chunk_blocks && base + b < plain->nblocks; b++)
		{
			if (plain->wants[s][base + b])
				return true;
		}
	}
	return false;
}

static uint32_t
blocks_wanted(const Plain *plain, int s)
{
	uint32_t	n = 0;

	for (uint32_t b = 0; b < plain->nblocks; b++)
		n += plain->wants[s][b];
	return n;
}

/* Has the pool of every chunk the same opinion as the plain array? */
static const char *
compare(const CScanPool *pool, const Plain *plain)
{
	uint32_t	nchunks = (plain->nblocks - 1) / plain->chunk_blocks + 1;

	for (uint32_t c = 0; c < nchunks; c++)
	{
		CScanPieces pieces = cscan_pool_pieces_wanted(pool, c);
		int			slot = cscan_pool_find(pool, c);
		uint32_t	base = c * plain->chunk_blocks;

		for (uint32_t p = 0; p < CSCAN_MAX_PIECES; p++)
		{
			if (has_piece(&pieces, p) != piece_wanted(pool, plain, c, p))
				return "the pieces that are wanted";
		}
		for (int s = 0; s < SCANS; s++)
		{
			bool		all = true;

			for (uint32_t b = base; b < base + plain->chunk_blocks && b < plain->nblocks; b++)
				all &= !plain->wants[s][b] || plain->loaded[b];
			if (!cscan_pool_wants(pool, plain->scan[s], c))
				continue;
			if (slot != CSCAN_NONE && cscan_pool_ready_for(pool, slot, plain->scan[s]) != all)
				return "ready or not";
			if (cscan_pool_absent_for(pool, plain->scan[s], c) !=
				(!all && !(slot != CSCAN_NONE && cscan_pool_in_flight(pool, slot))))
				return "absent or not";
		}
	}
	return NULL;
}

static const char *
compare_sample(const CScanPool *pool, const Plain *plain, int s, uint32_t chunk, uint32_t max)
{
	uint32_t	blocks[64];
	uint32_t	base = chunk * plain->chunk_blocks;
	uint32_t	wanted = 0;
	uint32_t	n = cscan_pool_sample(pool, plain->scan[s], chunk, blocks, max);

	for (uint32_t b = base; b < base + plain->chunk_blocks && b < plain->nblocks; b++)
		wanted += plain->wants[s][b];
	if (n != (max < wanted ? max : wanted))
		return "how large the sample is";
	for (uint32_t i = 0; i < n; i++)
	{
		uint32_t	between = 0;

		if (blocks[i] / plain->chunk_blocks != chunk || !plain->wants[s][blocks[i]] ||
			(i > 0 && blocks[i] <= blocks[i - 1]))
			return "what is in the sample";
		for (uint32_t b = i > 0 ? blocks[i - 1] + 1 : base; b < blocks[i]; b++)
			between += plain->wants[s][b];
		if (i == 0 ? between > 0 : between > wanted / (n - 1))
			return "how the sample is spread";
	}
	return NULL;
}

static const char *
one_difference(uint64_t seed, CScanPolicyId policy)
{
	static Plain plain;
	static CScanRange ranges[CSCAN_MAX_RANGES];
	Random		random = {seed};
	uint32_t	kind = random_below(&random, 4);
	uint32_t	chunk_blocks = kind == 0 ? 513 + random_below(&random, 1200) : 1 + random_below(&random, 80);
	CScanPool  *pool = pool_create(SCANS, 256, MAX_BLOCKS);
	int			table = table_add_sized(pool, chunk_blocks, 200);
	CScanAction flying;
	const char *wrong = NULL;

	memset(&plain, 0, sizeof(plain));
	flying.kind = CSCAN_ACT_NOTHING;
	cscan_pool_set_limits(pool, pool->state->budget, 2 * MAX_BLOCKS);
	plain.chunk_blocks = chunk_blocks;
	plain.piece_blocks = pool->spaces[table].piece_blocks;
	plain.nblocks = 1 + random_below(&random, (chunk_blocks * 200 < MAX_BLOCKS ? chunk_blocks * 200 : MAX_BLOCKS) - 1);
	for (int s = 0; s < SCANS; s++)
	{
		uint32_t	n = random_ranges(&random, plain.nblocks, ranges);
		uint32_t	needed = 0;

		for (uint32_t r = 0; r < n; r++)
			memset(plain.wants[s] + ranges[r].first, 1, ranges[r].end - ranges[r].first);
		for (uint32_t c = 0; c <= (plain.nblocks - 1) / chunk_blocks; c++)
		{
			bool		any = false;

			for (uint32_t b = c * chunk_blocks; b < (c + 1) * chunk_blocks && b < plain.nblocks; b++)
				any |= plain.wants[s][b];
			needed += any;
		}
		plain.scan[s] = scan_ranges(pool, table, policy, plain.nblocks, ranges, n, 0);
		if (pool->scans[plain.scan[s]].nwanted != needed)
			wrong = "the number of chunks";
		if (pool->scans[plain.scan[s]].needed != blocks_wanted(&plain, s))
			wrong = "the number of blocks";
	}

	for (uint64_t now = 1; now < 600 && wrong == NULL; now++)
	{
		int			s = (int) random_below(&random, SCANS);
		uint32_t	chunk = random_below(&random, (plain.nblocks - 1) / chunk_blocks + 1);

		/* One step of something. */
		if (flying.kind == CSCAN_ACT_LOAD && random_chance(&random, 50))
		{
			CScanRun	run = {0, 0, 0};

			while (cscan_action_next_run(&flying, &run))
				memset(plain.loaded + run.first, 1, run.end - run.first);
			finish(pool, &flying, now);
			flying.kind = CSCAN_ACT_NOTHING;
		}
		else if (flying.kind != CSCAN_ACT_LOAD && random_chance(&random, 60))
		{
			CScanRun	run = {0, 0, 0};
			uint32_t	sum = 0;

			flying = decide(pool, now);
			while (flying.kind == CSCAN_ACT_LOAD && cscan_action_next_run(&flying, &run))
			{
				for (uint32_t b = run.first; b < run.end; b++)
				{
					if (plain.loaded[b] ||
						!piece_wanted(pool, &plain, flying.chunk, (b - flying.chunk * chunk_blocks) / plain.piece_blocks))
						wrong = "what is loaded";
				}
				if (run.end > plain.nblocks)
					wrong = "the table's end";
				sum += run.end - run.first;
			}
			if (flying.kind == CSCAN_ACT_LOAD && sum != flying.nblocks)
				wrong = "how much is loaded";
		}
		else if (random_chance(&random, 80))
		{
			int			slot = cscan_pool_choose(pool, plain.scan[s], CSCAN_NONE, now);

			for (uint32_t b = 0; slot != CSCAN_NONE && b < chunk_blocks; b++)
			{
				uint32_t	block = pool->slots[slot].chunk * chunk_blocks + b;

				if (block < plain.nblocks && plain.wants[s][block] && !plain.loaded[block])
					wrong = "what is handed out";
			}
		}
		else
			cscan_pool_set_stalled(pool, plain.scan[s], true);

		/* The pool is large enough for all: nothing is evicted. */
		if (wrong == NULL)
			wrong = compare_sample(pool, &plain, s, chunk, 1 + random_below(&random, 40));
		if (wrong == NULL && (now < 50 || now % 20 == 0))
			wrong = compare(pool, &plain);
		if (wrong == NULL)
			wrong = pool_check(pool);
	}
	pool_free(pool);
	return wrong;
}

static void
test_differences(void)
{
	const char *only = getenv("SEED");
	const char *runs = getenv("RUNS");
	uint64_t	first = only ? strtoull(only, NULL, 10) : 1;
	uint64_t	last = only ? first : runs ? strtoull(runs, NULL, 10) : 40;

	for (int policy = 0; policy < CSCAN_NPOLICIES; policy++)
	{
		int			failures = 0;

		for (uint64_t seed = first; seed <= last; seed++)
		{
			const char *wrong = one_difference(seed, (CScanPolicyId) policy);

			if (wrong != NULL && failures++ < 10)
				note("SEED=%llu: %s", (unsigned long long) seed, wrong);
		}
		is_int(failures, 0, "%s: as a plain array of blocks says", cscan_policies[policy]->name);
	}
}

void
test_ranges(void)
{
	test_chunks();
	test_pieces();
	test_loads();
	test_loads_together();
	test_top_up();
	test_in_flight();
	test_reload();
	test_reload_shorter();
	test_budget();
	test_sample();
	test_large_chunks();
	test_grown_within_piece();
	test_grown_beside();
	test_many_ranges();
	test_differences();
}
