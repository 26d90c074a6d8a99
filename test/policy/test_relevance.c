/*-------------------------------------------------------------------------
 *
 * test_relevance.c
 *		Figure 3 of the paper, function by function, on pools set up by hand.
 *
 * Chunks are one block and a block takes 1000 us throughout, so that waiting times
 * read as load units.
 *
 *-------------------------------------------------------------------------
 */
#include "harness.h"

#include <math.h>
#include <stddef.h>

#include "relevance.h"

#define R		CSCAN_POLICY_RELEVANCE
#define SCANS	8
#define QMAX	(SCANS + 1)

static CScanPool *
relevance_pool(int nslots)
{
	CScanPool  *pool = pool_create(SCANS, nslots, nslots);

	cscan_pool_set_block_time(pool, 1000);
	return pool;
}

static bool
starved(CScanPool *pool, int scan)
{
	return cscan_pool_starved(pool, scan);
}

static double
relevance_of(CScanPool *pool, int scan, uint64_t now)
{
	return cscan_relevance_query(pool, scan, now);
}

static void
test_query(void)
{
	CScanPool  *pool = relevance_pool(16);
	int			table = table_add(pool, 1);
	int			q = scan_add(pool, table, R, 20, 0, 9, 0);
	int			other = scan_add(pool, table, R, 20, 10, 19, 0);
	int			slot;

	ok(starved(pool, q), "with nothing available a scan is starved");
	is_double(relevance_of(pool, q, 5000), -10, "not blocked: only what it needs counts");
	cscan_pool_choose(pool, q, CSCAN_NONE, 1000);
	is_double(relevance_of(pool, q, 1000), -10, "just blocked: it has not waited");
	is_double(relevance_of(pool, q, 7000), -10 + 6.0 / 2, "blocked: waiting in load units / running scans");
	cscan_pool_choose(pool, q, CSCAN_NONE, 4000);
	is_double(relevance_of(pool, q, 7000), -7, "asking again does not begin the waiting anew");
	cscan_pool_set_block_time(pool, 2000);
	is_double(relevance_of(pool, q, 7000), -10 + 3.0 / 2, "slower loads: fewer load units");
	cscan_pool_set_block_time(pool, 1000);
	cscan_pool_set_stalled(pool, other, true);
	is_double(relevance_of(pool, q, 7000), -4, "a stalled scan is not running");
	cscan_pool_set_stalled(pool, other, false);

	chunk_put(pool, 3, 7000);
	ok(starved(pool, q), "1 available: starved");
	chunk_put(pool, 15, 7000);
	ok(starved(pool, q), "chunks that it does not want are not available");
	slot = chunk_begin(pool, 4, 7000);
	ok(!starved(pool, q), "2 available, one of them in flight: not starved");
	ok(relevance_of(pool, q, 9000) == -INFINITY, "not starved: minus infinity");
	cscan_pool_drop(pool, slot);

	is_int(use_next(pool, q, 8000), 3, "it uses the one that is there");
	ok(starved(pool, q), "the chunk in use is 1 available: starved");
	is_double(relevance_of(pool, q, 9000), -9, "a scan that reads does not wait");
	chunk_put(pool, 5, 9000);
	ok(!starved(pool, q), "the chunk in use and a ready one: not starved");
	cscan_pool_set_stalled(pool, q, true);
	ok(!starved(pool, q), "stalled: not starved");
	ok(relevance_of(pool, q, 9000) == -INFINITY, "stalled: minus infinity");
	pool_free(pool);
}

static void
test_functions(void)
{
	CScanPool  *pool = relevance_pool(16);
	int			table = table_add(pool, 1);
	int			a = scan_add(pool, table, R, 20, 0, 9, 0);
	int			b = scan_add(pool, table, R, 20, 5, 14, 0);

	scan_add(pool, table, R, 20, 5, 19, 0);
	is_double(cscan_relevance_use(pool, 0), QMAX - 1, "useRelevance: Qmax less 1 interested");
	is_double(cscan_relevance_use(pool, 7), QMAX - 3, "useRelevance: Qmax less 3 interested");
	is_double(cscan_relevance_load(pool, 0), 1 * QMAX + 1, "loadRelevance: 1 starved, 1 interested");
	is_double(cscan_relevance_load(pool, 7), 3 * QMAX + 3, "loadRelevance: 3 starved, 3 interested");

	/* a has 2 available, which is almost starved; the others have 1. */
	chunk_put(pool, 1, 0);
	chunk_put(pool, 8, 0);
	is_double(cscan_relevance_load(pool, 7), 2 * QMAX + 3, "loadRelevance: 2 available are not starved");
	is_double(cscan_relevance_keep(pool, 7), 3 * QMAX + 3, "keepRelevance: 2 available are almost starved");
	chunk_put(pool, 2, 0);
	is_double(cscan_relevance_keep(pool, 7), 2 * QMAX + 3, "keepRelevance: 3 available are not");
	is_double(cscan_relevance_keep(pool, 1), 0 * QMAX + 1, "keepRelevance: interested alone");
	is_double(cscan_relevance_keep(pool, 19), 1 * QMAX + 1, "keepRelevance: almost starved and interested");

	cscan_pool_set_stalled(pool, b, true);
	is_double(cscan_relevance_use(pool, 7), QMAX - 2, "useRelevance: a stalled scan is not interested");
	is_double(cscan_relevance_load(pool, 7), 1 * QMAX + 2, "loadRelevance: nor starved");
	is_double(cscan_relevance_keep(pool, 7), 1 * QMAX + 2, "keepRelevance: nor almost starved");
	is_int(cscan_pool_running(pool), 2, "runningQueries leaves it out");
	is_int(use_next(pool, a, 0), 1, "chooseAvailableChunk: 1 and 2 have fewest readers, 1 was loaded first");
	pool_free(pool);
}

static void
test_choose_available(void)
{
	CScanPool  *pool = relevance_pool(16);
	int			table = table_add(pool, 1);
	int			q = scan_add(pool, table, R, 20, 0, 9, 0);
	int			in_flight;

	scan_add(pool, table, R, 20, 4, 9, 0);
	chunk_put(pool, 5, 0);
	chunk_put(pool, 12, 0);
	chunk_put(pool, 3, 0);
	chunk_put(pool, 0, 0);
	in_flight = chunk_begin(pool, 1, 0);
	is_int(use_next(pool, q, 100), 3, "what fewest others want, though loaded later; of these the first loaded");
	is_int(pool->scans[q].nwanted, 9, "it is needed no more");
	is_int(pool->slots[pool->scans[q].in_use].stamp, 100, "handed out at");
	is_int(use_next(pool, q, 200), 0, "then the other one");
	is_int(use_next(pool, q, 300), 5, "then what others want too");
	is_int(use_next(pool, q, 400), CSCAN_NO_CHUNK, "not what it does not want, nor what is in flight");
	ok(pool->scans[q].blocked, "it is blocked");
	is_int(pool->scans[q].in_use, CSCAN_NONE, "and uses nothing");
	cscan_pool_loaded(pool, in_flight, 500, 1000, false, false);
	is_int(use_next(pool, q, 600), 1, "it is ready when it has been loaded");
	ok(!pool->scans[q].blocked, "it is blocked no more");
	pool_free(pool);
}

static void
test_choose_load(void)
{
	CScanPool  *pool = relevance_pool(16);
	int			table = table_add(pool, 1);
	int			a = scan_add(pool, table, R, 20, 0, 9, 0);
	int			b = scan_add(pool, table, R, 20, 6, 19, 0);
	CScanAction act;

	act = decide(pool, 0);
	is_int(act.scan, a, "chooseQueryToProcess: the one that needs least");
	is_int(act.chunk, 6, "chooseChunkToLoad: what most starved scans want");
	is_int(first_run(&act).first, 6, "from its first block");
	is_int(act.nblocks, 1, "all of its blocks");
	act = decide(pool, 0);
	is_int(act.chunk, 7, "a tie goes to the chunk that follows the last one loaded");
	act = decide(pool, 0);
	is_int(act.kind, CSCAN_ACT_NOTHING, "what is in flight is available: nobody is starved");
	pool_free(pool);

	pool = relevance_pool(16);
	table = table_add(pool, 1);
	a = scan_add(pool, table, R, 20, 0, 19, 0);
	cscan_pool_set_cursor(pool, table, 18);
	is_int(load_one(pool, 0), 18, "a tie goes to the cursor's chunk");
	use_next(pool, a, 0);
	is_int(load_one(pool, 0), 19, "then to the next");
	use_next(pool, a, 0);
	is_int(load_one(pool, 0), 0, "and wraps around");
	b = scan_add(pool, table, R, 20, 10, 10, 0);
	is_int(load_one(pool, 0), 10, "a shorter scan goes first");
	is_int(use_next(pool, b, 0), 10, "and has its chunk");
	is_int(load_one(pool, 0), CSCAN_NO_CHUNK, "nobody is starved then");
	use_next(pool, a, 0);
	cscan_pool_set_access(pool, table, CSCAN_ACCESS_UNKNOWN);
	use_next(pool, a, 0);
	is_int(load_one(pool, 0), CSCAN_NO_CHUNK, "a table may not be loadable now");
	cscan_pool_set_access(pool, table, CSCAN_ACCESS_GRANTED);
	ok(load_one(pool, 0) != CSCAN_NO_CHUNK, "and again later");
	pool_free(pool);
}

static void
test_find_slot(void)
{
	CScanPool  *pool = relevance_pool(4);
	int			table = table_add(pool, 1);
	int			user = scan_add(pool, table, R, 20, 0, 9, 0);
	int			q;
	CScanAction act;

	/* user: reads 0, has 1 and 2 ready, so it is not starved. */
	for (uint32_t c = 0; c < 3; c++)
		chunk_put(pool, c, c);
	use_next(pool, user, 10);
	chunk_put(pool, 15, 20);
	q = scan_add(pool, table, R, 20, 15, 17, 30);
	cscan_pool_decide(pool, 40, &act);
	is_int(act.kind, CSCAN_ACT_EVICT, "findFreeSlot: the pool is full");
	is_int(act.scan, q, "for the starved scan");
	is_int(act.chunk, 1, "not what is in use, nor what it wants itself; the oldest of equals");
	cscan_pool_decide(pool, 40, &act);
	is_int(act.kind, CSCAN_ACT_LOAD, "then there is room");
	is_int(act.chunk, 16, "for its chunk");
	pool_free(pool);
}

static void
test_find_slot_starved(void)
{
	CScanPool  *pool = relevance_pool(4);
	int			table = table_add(pool, 1);
	int			a = scan_add(pool, table, R, 20, 0, 5, 0);
	int			b;
	CScanAction act;

	/* a starves with chunk 0 ready; 10, 11 and 12 are of use to nobody. */
	chunk_put(pool, 0, 1);
	chunk_put(pool, 12, 4);
	chunk_put(pool, 10, 2);
	chunk_put(pool, 11, 3);
	b = scan_add(pool, table, R, 20, 15, 16, 5);
	cscan_pool_decide(pool, 10, &act);
	is_int(act.scan, b, "the shorter scan");
	is_int(act.chunk, 10, "not what a starved scan wants, though it is older; a tie: handed out longest ago");
	decide(pool, 10);
	cscan_pool_decide(pool, 10, &act);
	is_int(act.chunk, 11, "then the next");
	decide(pool, 10);
	cscan_pool_decide(pool, 10, &act);
	is_int(act.scan, a, "b has two in flight, so it is a's turn");
	is_int(act.chunk, 12, "a's own chunk stays");
	decide(pool, 10);
	cscan_pool_decide(pool, 10, &act);
	is_int(act.kind, CSCAN_ACT_NOTHING, "nobody is starved");
	pool_free(pool);
}

/* All is protected: the lowest keepRelevance goes, for a scan that has nothing. */
static void
test_small_pool(void)
{
	CScanPool  *pool = relevance_pool(2);
	int			table = table_add(pool, 1);
	int			a = scan_add(pool, table, R, 20, 0, 5, 0);
	int			c = scan_add(pool, table, R, 20, 0, 0, 0);
	int			b = scan_add(pool, table, R, 20, 10, 12, 0);
	CScanAction act;

	chunk_put(pool, 0, 1);
	chunk_put(pool, 1, 2);
	cscan_pool_unwant(pool, a, 1);
	use_next(pool, c, 3);
	cscan_pool_unregister(pool, c);
	scan_add(pool, table, R, 20, 1, 1, 4);
	cscan_pool_decide(pool, 10, &act);
	is_int(act.kind, CSCAN_ACT_NOTHING, "all that is there is protected, and nobody is blocked");
	cscan_pool_choose(pool, b, CSCAN_NONE, 10);
	cscan_pool_decide(pool, 20, &act);
	is_int(act.kind, CSCAN_ACT_EVICT, "small pool: a blocked scan that has nothing");
	is_int(act.scan, b, "is what it is done for");
	is_int(act.chunk, 1, "the lowest keepRelevance goes; a tie: handed out longest ago");
	cscan_pool_decide(pool, 20, &act);
	is_int(act.kind, CSCAN_ACT_LOAD, "and its chunk is loaded");
	is_int(act.scan, b, "for the same scan");
	pool_free(pool);
}

void
test_relevance(void)
{
	test_query();
	test_functions();
	test_choose_available();
	test_choose_load();
	test_find_slot();
	test_find_slot_starved();
	test_small_pool();
}
