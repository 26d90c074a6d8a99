/*-------------------------------------------------------------------------
 *
 * test_families.c
 *		Scans of several tables at once, as those of a partitioned table are,
 *		beside scans of one of them; and tables of small and of large chunks.
 *
 *-------------------------------------------------------------------------
 */
#include "harness.h"

#include <string.h>

#include "relevance.h"

#define N	CSCAN_POLICY_NORMAL
#define A	CSCAN_POLICY_ATTACH
#define E	CSCAN_POLICY_ELEVATOR
#define R	CSCAN_POLICY_RELEVANCE

#define COUNT(array)	((uint32_t) (sizeof(array) / sizeof((array)[0])))

/* Tables of chunks of these sizes, with room for ten chunks each; chunk n of table i. */
#define TABLES	3
#define ROOM	10

static void
tables_add(CScanPool *pool, int tables[TABLES], uint32_t a, uint32_t b, uint32_t c)
{
	tables[0] = table_add_sized(pool, a, ROOM);
	tables[1] = table_add_sized(pool, b, ROOM);
	tables[2] = table_add_sized(pool, c, ROOM);
}

#define CHUNK(i, n)	((uint32_t) ((i) * ROOM + (n)))

/* ------------------------------------------------------------------
 * What a scan needs
 * ------------------------------------------------------------------ */

static void
test_needed(void)
{
	CScanPool  *pool = pool_create(4, 16, 8192);
	int			tables[TABLES];
	int			scan;
	CScanRange	ranges[] = {{3, 5}, {8, 12}};

	tables_add(pool, tables, 1, 8, 2048);
	scan = cscan_pool_register(pool, R, 0);
	announce_all(pool, scan, tables[2], 5000);
	announce_all(pool, scan, tables[0], 7);
	cscan_pool_announce(pool, scan, tables[1], 20, ranges, 2);
	is_int(pool->scans[scan].nspaces, 3, "needed: three tables");
	cscan_pool_start(pool, scan, 1);
	is_int(pool->scans[scan].nwanted, 7 + 2 + 3, "needed: chunks of all three");
	is_int((int64_t) pool->scans[scan].needed, 7 + 6 + 5000, "needed: and their blocks");
	is_int(pool->scans[scan].nloadable, 12, "needed: all may be loaded");
	is_int(cscan_pool_cost_for(pool, scan, CHUNK(0, 6)), 1, "needed: a chunk of one block");
	is_int(cscan_pool_cost_for(pool, scan, CHUNK(1, 0)), 2, "needed: two of another's");
	is_int(cscan_pool_cost_for(pool, scan, CHUNK(1, 1)), 4, "needed: four of the next one");
	is_int(cscan_pool_cost_for(pool, scan, CHUNK(2, 0)), 2048, "needed: all of a large one");
	is_int(cscan_pool_cost_for(pool, scan, CHUNK(2, 2)), 5000 - 4096, "needed: as far as the table goes");
	ok(pool_check(pool) == NULL, "the pool is sound");
	cscan_pool_unwant(pool, scan, CHUNK(2, 1));
	cscan_pool_unwant(pool, scan, CHUNK(1, 1));
	is_int((int64_t) pool->scans[scan].needed, 7 + 2 + 5000 - 2048, "needed: some that it does not want any more");
	is_int(cscan_pool_next_wanted(pool, scan, CHUNK(0, 7)), CHUNK(1, 0), "needed: from one table to the next");
	is_int(cscan_pool_next_wanted(pool, scan, CHUNK(2, 3)), CHUNK(0, 0), "needed: and round");

	cscan_pool_unwant_space(pool, scan, tables[2]);
	is_int((int64_t) pool->scans[scan].needed, 7 + 2, "needed: a table that it does not want at all");
	is_int(pool->scans[scan].nwanted, 8, "needed: nor its chunks");
	cscan_pool_unwant_space(pool, scan, tables[2]);
	is_int(pool->scans[scan].nspaces, 3, "needed: it stays one of its scans");
	use_next(pool, scan, 2);
	ok(pool->scans[scan].blocked, "needed: it waits");
	cscan_pool_unwant_space(pool, scan, tables[0]);
	ok(pool->scans[scan].blocked, "needed: for what is left");
	cscan_pool_unwant_space(pool, scan, tables[1]);
	is_int((int64_t) pool->scans[scan].needed, 0, "needed: nothing is");
	ok(!pool->scans[scan].blocked, "needed: so it does not");
	is_int(cscan_pool_choose(pool, scan, CSCAN_NONE, 3), CSCAN_NONE, "needed: it has finished");
	ok(pool_check(pool) == NULL, "the pool is sound");
	cscan_pool_unregister(pool, scan);
	is_int(pool->spaces[tables[0]].nscans + pool->spaces[tables[1]].nscans + pool->spaces[tables[2]].nscans, 0,
		   "needed: it leaves all three");
	pool_free(pool);
}

/* Who needs fewer blocks goes first, in however many chunks of however many tables. */
static void
test_order(CScanPolicyId policy)
{
	const char *name = policy_label(policy);
	CScanPool  *pool = pool_create(8, 32, 65536);
	int			tables[TABLES];
	int			large;
	int			small;
	int			family;
	int			both[2];

	tables_add(pool, tables, 1, 8, 2048);
	both[0] = tables[0];
	both[1] = tables[1];
	cscan_pool_set_block_time(pool, 1000);
	large = scan_all(pool, tables[2], policy, 2 * 2048, 0);
	small = scan_all(pool, tables[1], policy, 80, 0);
	is_int(decide(pool, 1).scan, small, "%s: ten chunks of 8 blocks go before two of 2,048", name);
	family = scan_family(pool, both, 2, policy, 7, 0);
	is_int(decide(pool, 1).scan, family, "%s: and eight chunks of 14 blocks in two tables before these", name);
	is_double(cscan_relevance_query(pool, small, 1), -80, "%s: queryRelevance counts blocks", name);
	is_double(cscan_relevance_query(pool, large, 1), -4096, "%s: of chunks of any size", name);

	/* The large one waits until it makes good for the others. */
	cscan_pool_unregister(pool, family);
	cscan_pool_choose(pool, large, CSCAN_NONE, 10);
	cscan_pool_choose(pool, small, CSCAN_NONE, 10 + 1000 * 4016 * 2 / cscan_policies[policy]->traits.impatience);
	is_int(cscan_policies[policy]->choose_query(pool, policy, 10000000), large,
		   "%s: who has waited for as long as 4,016 blocks take goes first", name);
	cscan_pool_unregister(pool, small);
	small = scan_all(pool, tables[1], policy, 80, 0);
	cscan_pool_choose(pool, small, CSCAN_NONE, 10 + 1000 * 4016 * 2 / cscan_policies[policy]->traits.impatience - 1);
	is_int(cscan_policies[policy]->choose_query(pool, policy, 10000000), small,
		   "%s: but not if it was a moment less", name);
	pool_free(pool);
}

/* A scan is starved if there is nothing for it in any of its tables. */
static void
test_starved(void)
{
	CScanPool  *pool = pool_create(4, 16, 64);
	int			tables[TABLES];
	int			family;
	int			leaf;

	tables_add(pool, tables, 1, 1, 1);
	family = scan_family(pool, tables, 3, R, 5, 0);
	leaf = scan_all(pool, tables[1], R, 5, 0);
	ok(cscan_pool_starved(pool, family) && cscan_pool_starved(pool, leaf), "starved: both, with nothing");
	chunk_put(pool, CHUNK(0, 2), 1);
	ok(cscan_pool_starved(pool, family), "starved: with a chunk of one of its tables");
	chunk_put(pool, CHUNK(1, 4), 1);
	ok(!cscan_pool_starved(pool, family), "starved: not with one of another, too");
	ok(cscan_pool_starved(pool, leaf), "starved: the other has only that one");
	is_double(cscan_relevance_load(pool, CHUNK(1, 0)), 1 * 5 + 2, "starved: loadRelevance of a chunk of both");
	is_double(cscan_relevance_load(pool, CHUNK(2, 0)), 0 * 5 + 1, "starved: of one of the family's");
	is_double(cscan_relevance_keep(pool, CHUNK(2, 0)), 1 * 5 + 1, "starved: it is almost");
	is_int(load_one(pool, 2), CHUNK(1, 0), "starved: the leaf is served");
	is_int(use_next(pool, family, 3), CHUNK(0, 2), "starved: the family uses first what nobody else wants");
	is_int(use_next(pool, family, 4), CHUNK(1, 4), "starved: then the others, in the order of the loads");
	ok(pool_check(pool) == NULL, "the pool is sound");
	pool_free(pool);
}

/* ------------------------------------------------------------------
 * What they share
 * ------------------------------------------------------------------ */

static void
test_shared(CScanPolicyId policy)
{
	const char *name = policy_label(policy);
	CScanPool  *pool = pool_create(4, 16, 64);
	int			tables[TABLES];
	int			family;
	int			leaf;
	CScanAction act;
	int			slot;
	uint32_t	nloads = 0;
	uint32_t	had[2] = {0, 0};

	tables_add(pool, tables, 4, 4, 4);
	family = scan_family(pool, tables, 2, policy, 8, 0);
	leaf = scan_add(pool, tables[1], policy, 8, 0, 0, 0);
	cscan_pool_unwant(pool, family, CHUNK(0, 0));
	cscan_pool_unwant(pool, family, CHUNK(0, 1));
	cscan_pool_choose(pool, family, CSCAN_NONE, 1);
	cscan_pool_choose(pool, leaf, CSCAN_NONE, 1);
	act = decide(pool, 2);
	slot = act.slot;
	is_int(act.chunk, CHUNK(1, 0), "%s: a chunk of both is loaded", name);
	is_int(act.space, tables[1], "%s: of that table", name);
	is_int(first_run(&act).first, 0, "%s: from its first block", name);
	cscan_pool_loaded(pool, slot, 3, 0, false, false);
	ok(cscan_pool_ready_for(pool, slot, family) && cscan_pool_ready_for(pool, slot, leaf), "%s: once for both", name);
	is_int(cscan_pool_choose(pool, leaf, CSCAN_NONE, 4), slot, "%s: one has it", name);
	is_int(cscan_pool_choose(pool, family, CSCAN_NONE, 4), slot, "%s: and the other", name);
	is_int(cscan_pool_users(pool, slot), 2, "%s: at the same time", name);
	ok(pool_check(pool) == NULL, "the pool is sound");
	cscan_pool_unregister(pool, leaf);
	is_int(cscan_pool_users(pool, slot), 1, "%s: one leaves", name);

	/* To the end: each chunk once to each, and each is loaded once. */
	cscan_pool_unregister(pool, family);
	family = scan_family(pool, tables, 3, policy, 40, 5);
	leaf = scan_all(pool, tables[2], policy, 40, 5);
	for (uint64_t now = 10; now < 1000 && (pool->scans[family].nwanted > 0 || pool->scans[leaf].nwanted > 0); now++)
	{
		int			scans[2] = {family, leaf};

		nloads += load_one(pool, now) != CSCAN_NO_CHUNK;
		for (int i = 0; i < 2; i++)
		{
			uint32_t	chunk = use_next(pool, scans[i], now);

			if (chunk != CSCAN_NO_CHUNK)
				had[i] ^= UINT32_C(1) << chunk;
		}
		if (pool_check(pool) != NULL)
			break;
	}
	is_int(had[0], (1 << 30) - 1, "%s: the family has had all chunks of all tables, each once", name);
	is_int(had[1], 0x3ff << 20, "%s: the leaf those of its own", name);
	if (policy == CSCAN_POLICY_RELEVANCE || policy == CSCAN_POLICY_ELEVATOR)
		is_int(nloads, 29, "%s: of 30 chunks one was there, and none was loaded twice", name);
	ok(pool_check(pool) == NULL, "the pool is sound");
	pool_free(pool);
}

/* Ranges of a table here and the whole of it there: a slot has pieces for both. */
static void
test_pieces(void)
{
	CScanPool  *pool = pool_create(4, 16, 64);
	int			tables[TABLES];
	int			family = cscan_pool_register(pool, R, 0);
	int			leaf;
	CScanRange	of_first[] = {{2, 3}};
	CScanRange	of_last[] = {{1, 2}, {6, 10}};
	CScanRange	of_leaf[] = {{0, 4}};
	CScanAction act;
	CScanRun	run = {0, 0, 0};

	/* Announced in another order than their numbers are in. */
	tables_add(pool, tables, 8, 8, 8);
	cscan_pool_announce(pool, family, tables[2], 16, of_last, 2);
	announce_all(pool, family, tables[1], 16);
	cscan_pool_announce(pool, family, tables[0], 16, of_first, 1);
	cscan_pool_start(pool, family, 0);
	is_int((int64_t) pool->scans[family].needed, 1 + 16 + 5, "pieces: blocks of ranges and of a whole table");
	is_int(pool->scans[family].nranges, 3, "pieces: the ranges are kept");
	is_int((int64_t) cscan_pool_pieces_wanted(pool, CHUNK(0, 0)).word[0], 0x04, "pieces: a block of the first table");
	is_int((int64_t) cscan_pool_pieces_wanted(pool, CHUNK(1, 1)).word[0], 0xff, "pieces: all of the second's");
	is_int((int64_t) cscan_pool_pieces_wanted(pool, CHUNK(2, 0)).word[0], 0xc2, "pieces: some of the third's");
	is_int((int64_t) cscan_pool_pieces_wanted(pool, CHUNK(2, 1)).word[0], 0x03, "pieces: and of its next chunk");
	ok(!cscan_pool_wants(pool, family, CHUNK(0, 1)), "pieces: where it has no range it wants no chunk");
	leaf = scan_ranges(pool, tables[2], R, 16, of_leaf, 1, 1);
	act = decide(pool, 2);
	is_int(act.scan, leaf, "pieces: the leaf needs less");
	is_int(act.chunk, CHUNK(2, 0), "pieces: its chunk");
	is_int(act.nblocks, 6, "pieces: with what both want of it");
	ok(cscan_action_next_run(&act, &run) && run.first == 0 && run.end == 4 && run.place == 0, "pieces: a run");
	ok(cscan_action_next_run(&act, &run) && run.first == 6 && run.end == 8 && run.place == 6, "pieces: and another");
	ok(!cscan_action_next_run(&act, &run), "pieces: and no more");
	cscan_pool_loaded(pool, act.slot, 3, 0, false, false);
	is_int(use_next(pool, family, 4), CHUNK(2, 0), "pieces: both can use it");
	is_int(use_next(pool, leaf, 4), CHUNK(2, 0), "pieces: as it is");
	ok(pool_check(pool) == NULL, "the pool is sound");
	pool_free(pool);
}

/* ------------------------------------------------------------------
 * Tables that may not be loaded
 * ------------------------------------------------------------------ */

static void
test_access(CScanPolicyId policy)
{
	const char *name = policy_label(policy);
	CScanPool  *pool = pool_create(4, 16, 64);
	int			tables[TABLES];
	int			scan;
	uint32_t	chunk;
	bool		in_order = cscan_policies[policy]->traits.in_order;

	tables_add(pool, tables, 1, 1, 1);
	scan = scan_family(pool, tables, 3, policy, 4, 0);
	cscan_pool_set_access(pool, tables[1], CSCAN_ACCESS_REFUSED);
	is_int(pool->scans[scan].nloadable, 8, "%s: chunks of two tables may be loaded", name);
	ok(cscan_pool_has_refused(pool, scan), "%s: those of the third not", name);
	is_int(load_one(pool, 1), CHUNK(0, 0), "%s: so one of the others' is", name);
	ok(cscan_pool_peek(pool, scan, &chunk) && chunk == CHUNK(1, 0), "%s: to take it looks at the refused first", name);
	ok(cscan_pool_take(pool, scan, CSCAN_NONE, 2, &chunk) && chunk == CHUNK(1, 0), "%s: and takes one", name);
	if (in_order)
		cscan_pool_set_position(pool, scan, CHUNK(0, 0));
	is_int(use_next(pool, scan, 3), CHUNK(0, 0), "%s: or uses one that is there", name);
	for (uint32_t n = 1; n < 4; n++)
		ok(cscan_pool_take(pool, scan, CSCAN_NONE, 4, &chunk) && chunk == CHUNK(1, n), "%s: all of the refused one's", name);
	ok(!cscan_pool_has_refused(pool, scan), "%s: nothing refused is left", name);
	ok(cscan_pool_peek(pool, scan, &chunk) && chunk == CHUNK(2, 0), "%s: then the next in its order", name);
	ok(pool_check(pool) == NULL, "the pool is sound");

	/* It is not known of one table. */
	cscan_pool_set_access(pool, tables[2], CSCAN_ACCESS_UNKNOWN);
	is_int(pool->scans[scan].nloadable, 3, "%s: chunks of one table may be loaded", name);
	ok(!cscan_pool_has_refused(pool, scan), "%s: none is refused", name);
	cscan_pool_set_position(pool, scan, CHUNK(0, 1));
	cscan_pool_choose(pool, scan, CSCAN_NONE, 5);
	for (uint32_t n = 1; n < 4; n++)
	{
		is_int(load_one(pool, 6), CHUNK(0, n), "%s: those of the first table", name);
		is_int(use_next(pool, scan, 7), CHUNK(0, n), "%s: are read", name);
	}
	is_int(use_next(pool, scan, 8), CSCAN_NO_CHUNK, "%s: then it waits", name);
	is_int(load_one(pool, 9), CSCAN_NO_CHUNK, "%s: since nothing may be loaded", name);
	ok(!cscan_pool_has_absent(pool, scan), "%s: nothing at all", name);
	cscan_pool_set_access(pool, tables[2], CSCAN_ACCESS_GRANTED);
	is_int(load_one(pool, 10), CHUNK(2, 0), "%s: until that is known", name);
	is_int(use_next(pool, scan, 11), CHUNK(2, 0), "%s: it goes on", name);
	ok(pool_check(pool) == NULL, "the pool is sound");
	pool_free(pool);
}

/* What is there may be used, whatever has become of the table's access. */
static void
test_refused_later(void)
{
	CScanPool  *pool = pool_create(4, 16, 64);
	int			tables[TABLES];
	int			scan;

	tables_add(pool, tables, 1, 1, 1);
	scan = scan_family(pool, tables, 2, R, 2, 0);
	chunk_put(pool, CHUNK(0, 0), 1);
	cscan_pool_set_access(pool, tables[0], CSCAN_ACCESS_REFUSED);
	is_int(use_next(pool, scan, 2), CHUNK(0, 0), "refused: a chunk that is there is used");
	is_int(load_one(pool, 3), CHUNK(1, 0), "refused: of the other table there are loads");
	ok(cscan_pool_has_refused(pool, scan), "refused: one is left");
	ok(pool_check(pool) == NULL, "the pool is sound");
	pool_free(pool);
}

/* ------------------------------------------------------------------
 * Which chunk
 * ------------------------------------------------------------------ */

static void
test_cached(CScanPolicyId policy)
{
	const char *name = policy_label(policy);
	CScanPool  *pool = pool_create(4, 16, 64);
	int			tables[TABLES];
	int			family;
	int			leaf;

	tables_add(pool, tables, 1, 1, 1);
	family = scan_family(pool, tables, 3, policy, 10, 0);
	cscan_pool_set_cached(pool, CHUNK(1, 3), true);
	cscan_pool_set_cached(pool, CHUNK(2, 3), true);
	cscan_pool_set_cached(pool, CHUNK(2, 4), true);
	cscan_pool_set_cached(pool, CHUNK(2, 4), false);
	is_int(load_one(pool, 1), CHUNK(1, 3), "%s: of equals one that is likely to be in memory", name);
	ok(!cscan_set_has(pool->cached, CHUNK(1, 3)), "%s: which it is not any more, so to say", name);
	use_next(pool, family, 2);
	is_int(load_one(pool, 3), CHUNK(2, 3), "%s: then the next one of these", name);
	use_next(pool, family, 4);
	is_int(load_one(pool, 5), CHUNK(2, 4), "%s: then from there on", name);
	use_next(pool, family, 6);
	cscan_pool_set_cached(pool, CHUNK(0, 5), true);
	leaf = scan_add(pool, tables[1], policy, 10, 8, 9, 7);
	cscan_pool_set_warm(pool, leaf, true);
	is_int(load_one(pool, 8), CHUNK(1, 8), "%s: but what more scans want goes before it", name);
	use_next(pool, family, 9);
	is_int(load_one(pool, 10), CHUNK(1, 9), "%s: all of it", name);
	use_next(pool, family, 11);
	is_int(load_one(pool, 12), CHUNK(0, 5), "%s: then it is its turn", name);
	pool_free(pool);
}

/* Of normal and attach: in the order of the chunks' numbers, through all tables. */
static void
test_in_order(void)
{
	CScanPool  *pool = pool_create(8, 32, 4096);
	int			tables[TABLES];
	int			scan;
	int			a;
	int			b;
	bool		in_order = true;

	tables_add(pool, tables, 1, 4, 64);
	scan = scan_family(pool, tables, 3, N, 8, 0);
	for (uint32_t n = 0; n < 8 + 2 + 1; n++)
	{
		uint32_t	expected = n < 8 ? CHUNK(0, n) : n < 10 ? CHUNK(1, n - 8) : CHUNK(2, 0);

		if (n == 0)
			cscan_pool_choose(pool, scan, CSCAN_NONE, 1);
		in_order &= load_one(pool, n + 2) == expected;
		in_order &= use_next(pool, scan, n + 2) == expected;
	}
	ok(in_order && pool->scans[scan].nwanted == 0, "normal: from table to table");
	cscan_pool_unregister(pool, scan);

	/* The next one's table may not be loaded: it waits, others do not. */
	scan = scan_family(pool, tables, 3, N, 8, 20);
	cscan_pool_set_access(pool, tables[0], CSCAN_ACCESS_UNKNOWN);
	for (uint32_t n = 0; n < 8; n++)
		cscan_pool_drop(pool, cscan_pool_find(pool, CHUNK(0, n)));
	cscan_pool_drop(pool, cscan_pool_find(pool, CHUNK(1, 0)));
	cscan_pool_choose(pool, scan, CSCAN_NONE, 21);
	is_int(load_one(pool, 22), CSCAN_NO_CHUNK, "normal: what follows is not loaded before it");
	cscan_pool_set_access(pool, tables[0], CSCAN_ACCESS_GRANTED);
	is_int(load_one(pool, 23), CHUNK(0, 0), "normal: only when it may be");
	cscan_pool_unregister(pool, scan);

	/* The overlap is weighed in blocks: two chunks of 64 are more than eight of 1. */
	a = scan_all(pool, tables[0], A, 8, 30);
	b = scan_all(pool, tables[2], N, 128, 30);
	cscan_pool_set_position(pool, a, CHUNK(0, 3));
	cscan_pool_set_position(pool, b, CHUNK(2, 1));
	scan = cscan_pool_register(pool, A, 31);
	announce_all(pool, scan, tables[0], 8);
	announce_all(pool, scan, tables[2], 128);
	cscan_pool_start(pool, scan, 31);
	is_int(pool->scans[scan].position, CHUNK(2, 1), "attach: to the scan of the other table, with which it shares more");
	cscan_pool_unregister(pool, scan);
	cscan_pool_unregister(pool, b);
	scan = scan_family(pool, tables, 3, A, 8, 32);
	is_int(pool->scans[scan].position, CHUNK(0, 3), "attach: or to that of one table, with which it shares some");
	ok(pool_check(pool) == NULL, "the pool is sound");
	pool_free(pool);
}

/* One sweep for all scans that have a table in common, or are linked by others. */
static void
test_elevator(void)
{
	CScanPool  *pool = pool_create(8, 32, 64);
	int			tables[TABLES];
	int			family;
	int			leaf;
	int			beside;
	uint32_t	order[4];

	tables_add(pool, tables, 1, 1, 1);
	family = scan_family(pool, tables, 2, E, 4, 0);
	leaf = scan_add(pool, tables[1], E, 4, 2, 3, 0);
	beside = scan_all(pool, tables[2], E, 4, 0);
	cscan_pool_choose(pool, leaf, CSCAN_NONE, 1);
	is_int(load_one(pool, 2), CHUNK(0, 0), "elevator: the leaf waits, and the family's sweep comes to its first chunk");
	cscan_pool_choose(pool, beside, CSCAN_NONE, 3);
	is_int(load_one(pool, 4), CHUNK(0, 1), "elevator: and to the next");
	cscan_pool_unregister(pool, leaf);
	is_int(load_one(pool, 5), CHUNK(2, 0), "elevator: who has no table in common has another sweep");
	is_int(load_one(pool, 6), CHUNK(2, 1), "elevator: from its own first chunk on");
	cscan_pool_set_stalled(pool, beside, true);

	leaf = scan_all(pool, tables[1], E, 4, 7);
	is_int(use_next(pool, family, 8), CHUNK(0, 0), "elevator: the family reads");
	is_int(use_next(pool, family, 9), CHUNK(0, 1), "elevator: in the order of the loads");
	cscan_pool_choose(pool, family, CSCAN_NONE, 10);
	for (int i = 0; i < 4; i++)
	{
		order[i] = load_one(pool, 11);
		use_next(pool, family, 12);
		use_next(pool, leaf, 12);
	}
	ok(order[0] == CHUNK(0, 2) && order[1] == CHUNK(0, 3) && order[2] == CHUNK(1, 0) && order[3] == CHUNK(1, 1),
	   "elevator: the sweep goes from table to table");
	is_int(pool->scans[leaf].nwanted, 2, "elevator: and a leaf has what has come of its table");
	cscan_pool_unregister(pool, leaf);
	leaf = scan_all(pool, tables[0], E, 4, 20);
	is_int(use_next(pool, leaf, 21), CHUNK(0, 0), "elevator: a late leaf has what is there");
	is_int(load_one(pool, 22), CHUNK(1, 2), "elevator: and waits for the sweep");
	ok(pool_check(pool) == NULL, "the pool is sound");

	/* The sweep stays where it is when a table goes, and the other way round. */
	cscan_pool_unregister(pool, leaf);
	cscan_pool_unregister(pool, family);
	cscan_pool_unregister(pool, beside);
	cscan_pool_loaded(pool, cscan_pool_find(pool, CHUNK(1, 2)), 23, 0, false, false);
	cscan_pool_remove_space(pool, tables[0]);
	leaf = scan_all(pool, tables[1], E, 10, 24);
	cscan_pool_unwant(pool, leaf, CHUNK(1, 0));
	cscan_pool_unwant(pool, leaf, CHUNK(1, 1));
	cscan_pool_unwant(pool, leaf, CHUNK(1, 2));
	is_int(load_one(pool, 25), CHUNK(1, 3), "elevator: the sweep stays where it is when its first table goes");
	tables[0] = table_add_sized(pool, 1, ROOM);
	family = scan_all(pool, tables[0], E, 10, 26);
	cscan_pool_choose(pool, family, CSCAN_NONE, 26);
	is_int(load_one(pool, 27), chunk_of(pool, tables[0], 0), "elevator: a table that comes has one of its own");
	use_next(pool, leaf, 28);
	cscan_pool_choose(pool, leaf, CSCAN_NONE, 29);
	cscan_pool_unregister(pool, family);
	is_int(load_one(pool, 30), CHUNK(1, 4), "elevator: which does not move the other");
	ok(pool_check(pool) == NULL, "the pool is sound");
	pool_free(pool);

	/* Two that have no table in common, but both with a third. */
	pool = pool_create(8, 32, 64);
	tables_add(pool, tables, 1, 1, 1);
	leaf = scan_all(pool, tables[0], E, 4, 0);
	beside = scan_all(pool, tables[2], E, 4, 0);
	is_int(load_one(pool, 1), CHUNK(0, 0), "elevator: one table's sweep");
	cscan_pool_choose(pool, beside, CSCAN_NONE, 2);
	is_int(load_one(pool, 3), CHUNK(2, 0), "elevator: and another's");
	family = scan_family(pool, tables, 3, E, 4, 4);
	cscan_pool_unwant_space(pool, family, tables[0]);
	cscan_pool_unwant_space(pool, family, tables[2]);
	cscan_pool_choose(pool, family, CSCAN_NONE, 4);
	order[0] = load_one(pool, 5);
	order[1] = load_one(pool, 6);
	ok(order[0] == CHUNK(2, 1) && order[1] == CHUNK(2, 2),
	   "elevator: who scans both makes one of them, where the last load was");
	cscan_pool_unregister(pool, family);
	cscan_pool_unwant_space(pool, beside, tables[2]);
	cscan_pool_choose(pool, leaf, CSCAN_NONE, 7);
	cscan_pool_choose(pool, leaf, CSCAN_NONE, 8);
	is_int(load_one(pool, 9), CHUNK(0, 1), "elevator: and so it goes on, round");
	ok(pool_check(pool) == NULL, "the pool is sound");
	pool_free(pool);

	/* A sweep goes round within the tables that its scans have in common. */
	pool = pool_create(8, 32, 64);
	tables_add(pool, tables, 1, 1, 1);
	leaf = scan_all(pool, tables[0], E, 4, 0);
	beside = scan_all(pool, tables[1], E, 4, 0);
	cscan_pool_set_cursor(pool, tables[0], CHUNK(0, 6));
	cscan_pool_choose(pool, leaf, CSCAN_NONE, 1);
	is_int(load_one(pool, 2), CHUNK(0, 0), "elevator: what follows in number is another sweep's");
	cscan_pool_unregister(pool, beside);
	family = scan_add(pool, tables[0], E, 4, 3, 3, 3);
	is_int(use_next(pool, leaf, 4), CHUNK(0, 0), "elevator: a scan reads");
	is_int(load_one(pool, 5), CHUNK(0, 1), "elevator: its own goes on");
	ok(pool_check(pool) == NULL, "the pool is sound");
	pool_free(pool);

	/* A scan of two tables begins where elevator's last load of these was. */
	pool = pool_create(8, 32, 64);
	tables_add(pool, tables, 1, 1, 1);
	leaf = scan_all(pool, tables[1], E, 8, 0);
	is_int(load_one(pool, 1), CHUNK(1, 0), "elevator: a load of one table");
	cscan_pool_unregister(pool, leaf);
	leaf = scan_all(pool, tables[0], R, 8, 2);
	is_int(load_one(pool, 3), CHUNK(0, 0), "elevator: and later one of the other, for another policy");
	cscan_pool_unregister(pool, leaf);
	family = scan_family(pool, tables, 2, E, 8, 4);
	is_int(pool->scans[family].cursor, CHUNK(0, 1), "elevator: where the last load was of all");
	use_next(pool, family, 5);
	use_next(pool, family, 5);
	is_int(load_one(pool, 6), CHUNK(1, 1), "elevator: but the sweep is where elevator's was");
	cscan_pool_set_cursor(pool, tables[0], CHUNK(0, 5));
	use_next(pool, family, 7);
	is_int(load_one(pool, 7), CHUNK(0, 5), "elevator: unless it is set");
	pool_free(pool);
}

/* ------------------------------------------------------------------
 * Growth, many ranges
 * ------------------------------------------------------------------ */

static void
test_growth(void)
{
	CScanPool  *pool = pool_create(8, 16, 64);
	int			tables[TABLES];
	int			whole;
	int			some;
	int			later;
	int			slot;
	CScanRange	ranges[] = {{0, 2}, {9, 10}};
	CScanAction act;

	tables_add(pool, tables, 8, 8, 8);
	whole = scan_family(pool, tables, 2, R, 10, 0);
	some = scan_ranges(pool, tables[1], R, 10, ranges, 2, 0);
	is_int((int64_t) pool->scans[whole].needed, 20, "growth: at first");
	slot = chunk_begin(pool, CHUNK(1, 1), 1);
	pool->slots[slot].extent = 10;
	cscan_pool_loaded(pool, slot, 2, 0, false, false);
	is_int(pool->scans[whole].ready, 1, "growth: its last chunk is there");
	is_int(pool->scans[some].ready, 1, "growth: for the other, too");

	later = cscan_pool_register(pool, R, 3);
	announce_all(pool, later, tables[1], 14);
	is_int((int64_t) pool->scans[whole].needed, 24, "growth: who wants all of the table wants four blocks more");
	is_int(pool->scans[whole].nwanted, 4, "growth: in the same chunks");
	is_int(pool->scans[whole].ready, 0, "growth: the last is not there as it is");
	is_int((int64_t) pool->scans[some].needed, 3, "growth: who wants ranges wants what it wanted");
	is_int(pool->scans[some].ready, 1, "growth: and has it");
	ok(pool_check(pool) == NULL, "the pool is sound");
	cscan_pool_start(pool, later, 4);
	is_int((int64_t) pool->scans[later].needed, 14, "growth: the one that saw it");
	cscan_pool_unregister(pool, later);
	is_int(pool->spaces[tables[1]].extent, 14, "growth: the table does not shrink while it is scanned");
	later = scan_all(pool, tables[1], R, 40, 5);
	is_int((int64_t) pool->scans[whole].needed, 26, "growth: two more, to the end of its chunk");
	ok(!cscan_pool_wants(pool, whole, CHUNK(1, 2)), "growth: but not the next one");
	is_int((int64_t) pool->scans[later].needed, 40, "growth: which another wants");
	is_int(cscan_pool_cost_for(pool, whole, CHUNK(0, 1)), 2, "growth: of the other table nothing has changed");
	cscan_pool_unregister(pool, scan_all(pool, tables[1], R, 48, 6));
	is_int((int64_t) pool->scans[whole].needed, 26, "growth: further on it does not matter");
	ok(pool_check(pool) == NULL, "the pool is sound");
	cscan_pool_unregister(pool, later);

	/* What it has grown by is loaded: here a top-up. */
	cscan_pool_unregister(pool, some);
	cscan_pool_unwant_space(pool, whole, tables[0]);
	cscan_pool_unwant(pool, whole, CHUNK(1, 0));
	is_int((int64_t) pool->scans[whole].needed, 8, "growth: a chunk is left");
	cscan_pool_choose(pool, whole, CSCAN_NONE, 7);
	act = decide(pool, 8);
	is_int(act.slot, slot, "growth: its slot");
	cscan_pool_loaded(pool, act.slot, 9, 0, false, false);
	is_int(use_next(pool, whole, 10), CHUNK(1, 1), "growth: gets the rest");
	is_int((int64_t) pool->scans[whole].needed, 0, "growth: that is all");
	pool_free(pool);
}

/* More ranges than can be kept: chunks of the tables that come last are whole. */
static void
test_many_ranges(void)
{
	static CScanRange ranges[CSCAN_MAX_RANGES];
	CScanPool  *pool = pool_create(4, 16, 4096);
	int			tables[4];
	int			scan;

	for (uint32_t i = 0; i < CSCAN_MAX_RANGES; i++)
		ranges[i] = (CScanRange) {2 * i, 2 * i + 1};
	for (int i = 0; i < 4; i++)
		tables[i] = table_add_sized(pool, 64, 64);
	scan = cscan_pool_register(pool, R, 0);
	cscan_pool_announce(pool, scan, tables[0], 2000, ranges, 1000);
	is_int(pool->scans[scan].nranges, 1000, "many ranges: a thousand");
	cscan_pool_announce(pool, scan, tables[1], 100, ranges, 25);
	is_int(pool->scans[scan].nranges, 1000, "many ranges: 25 more are too many");
	cscan_pool_announce(pool, scan, tables[2], 100, ranges, 24);
	is_int(pool->scans[scan].nranges, CSCAN_MAX_RANGES, "many ranges: 24 are not");
	cscan_pool_announce(pool, scan, tables[3], 100, ranges, 1);
	is_int(pool->scans[scan].nranges, CSCAN_MAX_RANGES, "many ranges: and one more is");
	cscan_pool_start(pool, scan, 1);
	is_int((int64_t) pool->scans[scan].needed, 1000 + 64 + 24 + 64, "many ranges: of these tables the chunks are wanted, whole");
	is_int(pool->scans[scan].nwanted, 32 + 1 + 1 + 1, "many ranges: those that the ranges touch");
	is_int((int64_t) cscan_pool_cost_for(pool, scan, 64), 64, "many ranges: all blocks of a chunk");
	is_int((int64_t) cscan_pool_cost_for(pool, scan, 128), 24, "many ranges: or those of its ranges");
	ok(!cscan_pool_wants(pool, scan, 65), "many ranges: no chunk beside them");
	ok(pool_check(pool) == NULL, "the pool is sound");

	/* It begins again: there is room again. */
	cscan_pool_rest(pool, scan, 2);
	cscan_pool_announce(pool, scan, tables[1], 100, ranges, 25);
	cscan_pool_start(pool, scan, 3);
	is_int((int64_t) pool->scans[scan].needed, 25, "many ranges: when it begins again there is room");
	is_int(pool->scans[scan].nspaces, 4, "many ranges: it is a scan of all of its tables");

	/* Whole chunks reach as far as the table does. */
	cscan_pool_unregister(pool, scan);
	scan = cscan_pool_register(pool, R, 4);
	cscan_pool_announce(pool, scan, tables[0], 2048, ranges, CSCAN_MAX_RANGES);
	cscan_pool_announce(pool, scan, tables[1], 100, &(CScanRange) {70, 80}, 1);
	cscan_pool_start(pool, scan, 5);
	is_int(cscan_pool_cost_for(pool, scan, 65), 36, "many ranges: of the last chunk, up to the table's end");
	announce_all(pool, cscan_pool_register(pool, R, 6), tables[1], 110);
	is_int(cscan_pool_cost_for(pool, scan, 65), 46, "many ranges: and with it when it grows");
	is_int((int64_t) pool->scans[scan].needed, 1024 + 46, "many ranges: which it needs then");
	ok(pool_check(pool) == NULL, "the pool is sound");
	pool_free(pool);
}

/* Resting and starting again, with other tables. */
static void
test_again(void)
{
	CScanPool  *pool = pool_create(4, 16, 64);
	int			tables[TABLES];
	int			scan;
	int			space;

	tables_add(pool, tables, 1, 1, 1);
	scan = scan_family(pool, tables, 2, R, 4, 0);
	is_int(load_one(pool, 1), CHUNK(0, 0), "again: a load");
	use_next(pool, scan, 2);
	cscan_pool_rest(pool, scan, 3);
	ok(pool_check(pool) == NULL, "the pool is sound");
	space = cscan_pool_space_of_scan(pool, scan, 0);
	is_int(space, tables[0], "again: at rest it keeps its tables");
	is_int(cscan_pool_space_of_scan(pool, scan, space + 1), tables[1], "again: both");
	announce_all(pool, scan, tables[2], 4);
	announce_all(pool, scan, tables[1], 4);
	cscan_pool_start(pool, scan, 4);
	is_int(pool->scans[scan].nspaces, 3, "again: another table joins them");
	is_int(pool->scans[scan].nwanted, 8, "again: it wants chunks of those announced since");
	ok(!cscan_pool_wants(pool, scan, CHUNK(0, 1)), "again: not of the first table");
	is_int(load_one(pool, 5), CHUNK(1, 0), "again: and is served");
	is_int(pool->spaces[tables[0]].nscans, 1, "again: it is a scan of the first table still");
	is_int(cscan_pool_count_wanted(pool, scan, tables[1]), 4, "again: of the second it wants all chunks, those on their way included");
	is_int(cscan_pool_count_wanted(pool, scan, tables[0]), 0, "again: of the first none");
	cscan_pool_rest(pool, scan, 6);
	cscan_pool_leave_space(pool, scan, tables[0]);
	cscan_pool_leave_space(pool, scan, tables[2]);
	is_int(pool->spaces[tables[0]].nscans, 0, "again: until it leaves it");
	is_int(pool->scans[scan].nspaces, 1, "again: one is left");
	is_int(cscan_pool_space_of_scan(pool, scan, 0), tables[1], "again: the second table");
	ok(!cscan_pool_interested_in(pool, scan, tables[2]), "again: it is not another's scan");
	ok(pool_check(pool) == NULL, "the pool is sound");
	announce_all(pool, scan, tables[2], 2);
	cscan_pool_start(pool, scan, 7);
	is_int(pool->scans[scan].nwanted, 2, "again: but may become that again");
	is_int(cscan_pool_space_of_scan(pool, scan, tables[1] + 1), tables[2], "again: the third table comes behind the second");
	is_int(pool->scans[scan].nspaces, 2, "again: beside the one that it did not leave");
	cscan_pool_rest(pool, scan, 7);
	announce_all(pool, scan, tables[0], 2);
	cscan_pool_start(pool, scan, 7);
	is_int(cscan_pool_space_of_scan(pool, scan, 0), tables[0], "again: the first table comes before them");
	cscan_pool_unregister(pool, scan);
	is_int(pool->spaces[tables[1]].nscans + pool->spaces[tables[2]].nscans, 0, "again: until it goes");
	ok(pool_check(pool) == NULL, "the pool is sound");
	pool_free(pool);
}

/* ------------------------------------------------------------------
 * Small chunks beside large ones
 * ------------------------------------------------------------------ */

static void
test_sizes(void)
{
	CScanPool  *pool = pool_create(8, 16, 4200);
	int			tables[TABLES];
	int			small;
	int			large;
	CScanAction act;

	tables_add(pool, tables, 1, 30, 2048);
	small = scan_all(pool, tables[0], R, 10, 0);
	for (uint32_t n = 0; n < 2; n++)
		is_int(load_one(pool, 1), CHUNK(0, n), "sizes: chunks of a block");
	is_int(pool->state->used, 2, "sizes: take a block of the budget");
	large = scan_all(pool, tables[2], R, 3 * 2048, 2);
	cscan_pool_choose(pool, large, CSCAN_NONE, 2);
	is_int(load_one(pool, 3), CHUNK(2, 0), "sizes: a chunk of 2,048");
	is_int(pool->state->used, 2050, "sizes: takes nearly half of it");
	is_int(use_next(pool, large, 4), CHUNK(2, 0), "sizes: it is read");
	is_int(use_next(pool, small, 4), CHUNK(0, 0), "sizes: as is a small one");
	is_int(load_one(pool, 5), CHUNK(2, 1), "sizes: there is room for another one");
	is_int(use_next(pool, small, 6), CHUNK(0, 1), "sizes: the next small one is read");
	is_int(load_one(pool, 7), CHUNK(0, 2), "sizes: and there is room for the one after that");
	is_int(pool->state->used, 3 + 2 * 2048, "sizes: all together");
	is_int(use_next(pool, large, 8), CHUNK(2, 1), "sizes: the next large one is read");

	/* Room for the third: the first goes, and what is small and wanted need not. */
	act = decide(pool, 9);
	is_int(act.chunk, CHUNK(2, 2), "sizes: the third large one");
	is_int(cscan_pool_find(pool, CHUNK(2, 0)), CSCAN_NONE, "sizes: for which the first has gone");
	ok(cscan_pool_find(pool, CHUNK(0, 2)) != CSCAN_NONE, "sizes: a small one that is wanted stays");
	ok(pool_check(pool) == NULL, "the pool is sound");
	pool_free(pool);

	/* Whether a pool is tight is asked of the next chunk's table (normal). */
	pool = pool_create(8, 16, 60);
	tables_add(pool, tables, 1, 30, 2048);
	small = scan_all(pool, tables[0], N, 10, 0);
	large = scan_all(pool, tables[1], N, 300, 0);
	cscan_pool_choose(pool, small, CSCAN_NONE, 10);
	load_one(pool, 11);
	use_next(pool, small, 12);
	cscan_pool_choose(pool, large, CSCAN_NONE, 20);
	is_int(cscan_policies[N]->choose_query(pool, N, 21), large,
		   "sizes: two chunks of 30 for two scans: who waits goes before who reads");
	cscan_pool_set_limits(pool, 120, 120);
	is_int(cscan_policies[N]->choose_query(pool, N, 21), small,
		   "sizes: with room for four who asked first goes first");
	pool_free(pool);
}

/* ------------------------------------------------------------------
 * All at once: counted anew it is the same
 * ------------------------------------------------------------------ */

/* A copy of a pool, counted anew. */
static CScanPool *
rebuilt(const CScanPool *pool)
{
	CScanPool  *copy = pool_create_limited(&pool->state->limits, 1);

	memcpy(copy->state, pool->state, cscan_pool_size(&pool->state->limits));
	memset(copy->numbered, 0xa5, pool->state->limits.max_chunks / 8);
	memset(copy->loadable, 0xa5, pool->state->limits.max_chunks / 8);
	memset(copy->refused, 0xa5, pool->state->limits.max_chunks / 8);
	memset(copy->resident, 0xa5, pool->state->limits.max_chunks / 8);
	memset(copy->slot_of, 0xa5, sizeof(int32_t) * pool->state->limits.max_chunks);
	memset(copy->space_of, 0xa5, sizeof(int32_t) * pool->state->limits.max_chunks);
	copy->state->used = copy->state->total = 77;
	cscan_pool_rebuild(copy);
	return copy;
}

/* Would the two do the same now? */
static bool
same_decision(CScanPool *a, CScanPool *b, uint64_t now)
{
	CScanAction x;
	CScanAction y;

	memset(&x, 0, sizeof(x));
	memset(&y, 0, sizeof(y));
	cscan_pool_decide(a, now, &x);
	cscan_pool_decide(b, now, &y);
	return memcmp(&x, &y, sizeof(x)) == 0;
}

static const char *
one_random(uint64_t seed)
{
	enum
	{
		SPACES = 6, SCANS = 8, SLOTS = 10
	};
	CScanLimits limits = {SCANS, SPACES, SLOTS, 2, 512};
	CScanPool  *pool = pool_create_limited(&limits, 600);
	Random		random = {seed};
	const char *wrong = NULL;

	cscan_pool_set_limits(pool, 600, 900);
	for (uint64_t now = 1; now < 1500 && wrong == NULL; now++)
	{
		int			space = (int) random_below(&random, SPACES);
		int			scan = (int) random_below(&random, SCANS);
		CScanScan  *s = &pool->scans[scan];
		CScanAction act;
		uint32_t	chunk;

		switch (random_below(&random, 12))
		{
			case 0:
				if (!pool->spaces[space].used)
					cscan_pool_add_space(pool, 1 + random_below(&random, random_chance(&random, 50) ? 4 : 70),
										 1 + random_below(&random, 120), (uint32_t) space);
				else if (pool->spaces[space].nscans == 0 && random_chance(&random, 30))
					cscan_pool_remove_space(pool, space);
				else
					cscan_pool_extend_space(pool, space, random_below(&random, 160));
				break;
			case 1:
				if (pool->spaces[space].used)
					cscan_pool_set_access(pool, space, random_chance(&random, 70) ? CSCAN_ACCESS_GRANTED :
										  (CScanAccess) random_below(&random, 3));
				break;
			case 2:
				if (!s->used)
				{
					scan = cscan_pool_register(pool, (CScanPolicyId) random_below(&random, CSCAN_NPOLICIES), now);
					s = &pool->scans[scan];
				}
				else if (s->started)
				{
					cscan_pool_rest(pool, scan, now);
					for (int i = 0; i < SPACES; i++)
					{
						if (cscan_pool_interested_in(pool, scan, i) && random_chance(&random, 50))
							cscan_pool_leave_space(pool, scan, i);
					}
				}
				for (int i = 0; i < SPACES && !s->started; i++)
				{
					uint64_t	most = cscan_space_capacity(&pool->spaces[i]);
					uint32_t	n = 1 + random_below(&random, most > 0 ? (uint32_t) most : 1);
					CScanRange	ranges[2] = {{0, (n + 1) / 2}, {(n + 1) / 2 + 1, n}};
					uint32_t	nranges = n > 3 && random_chance(&random, 50) ? 2 : 1;

					if (!pool->spaces[i].used || random_chance(&random, 50))
						continue;
					if (nranges == 1 && random_chance(&random, 60))
						ranges[0].end = n;
					cscan_pool_announce(pool, scan, i, n, ranges, nranges);
				}
				cscan_pool_start(pool, scan, now);
				break;
			case 3:
				if (s->started && random_chance(&random, 20))
					cscan_pool_unwant_space(pool, scan, space);
				else if (s->used && random_chance(&random, 20))
					cscan_pool_unregister(pool, scan);
				else if (s->started)
					cscan_pool_set_stalled(pool, scan, true);
				break;
			case 4:
				if (s->started)
					(void) cscan_pool_take(pool, scan, CSCAN_NONE, now, &chunk);
				break;
			case 5:
			case 6:
			case 7:
				if (s->started)
					(void) cscan_pool_choose(pool, scan, CSCAN_NONE, now);
				break;
			case 8:
				for (int i = 0; i < SLOTS; i++)
				{
					if (pool->slots[i].space != CSCAN_NONE && pool->slots[i].in_flight && random_chance(&random, 50))
						cscan_pool_loaded(pool, i, now, random_below(&random, 100), false, false);
				}
				break;
			default:
				cscan_pool_decide(pool, now, &act);
				break;
		}
		wrong = pool_check(pool);
		if (wrong == NULL && now % 10 == 0)
		{
			CScanPool  *copy = rebuilt(pool);

			wrong = pool_check(copy);
			if (wrong == NULL && !same_decision(pool, copy, now))
				wrong = "counted anew the pool decides otherwise";
			pool_free(copy);
		}
	}
	pool_free(pool);
	return wrong;
}

static void
test_random(void)
{
	int			failures = 0;

	for (uint64_t seed = 1; seed <= 40; seed++)
	{
		const char *wrong = one_random(seed);

		if (wrong != NULL && failures++ < 5)
			note("seed %d: %s", (int) seed, wrong);
	}
	is_int(failures, 0, "at random: the pool is sound, and counted anew it is the same");
}

void
test_families(void)
{
	test_needed();
	test_order(R);
	test_order(CSCAN_POLICY_DEMAND);
	test_starved();
	for (int policy = 0; policy < CSCAN_NPOLICIES; policy++)
		test_shared((CScanPolicyId) policy);
	test_pieces();
	for (int policy = 0; policy < CSCAN_NPOLICIES; policy++)
		test_access((CScanPolicyId) policy);
	test_refused_later();
	test_cached(R);
	test_cached(CSCAN_POLICY_DEMAND);
	test_in_order();
	test_elevator();
	test_growth();
	test_many_ranges();
	test_again();
	test_sizes();
	test_random();
}
