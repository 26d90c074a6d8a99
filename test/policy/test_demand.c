/*-------------------------------------------------------------------------
 *
 * test_demand.c
 *		Policy demand: what it does unlike relevance, on pools set up by hand.
 *
 * Chunks are mostly one block and a block takes 1000 us, so that waiting times read
 * as load units.
 *
 *-------------------------------------------------------------------------
 */
#include "harness.h"

#include "relevance.h"

#define D		CSCAN_POLICY_DEMAND
#define R		CSCAN_POLICY_RELEVANCE
#define SCANS	8

/* Of so many starts it is kept what they wanted (demand.c). */
#define LAST_SCANS	32

static CScanPool *
demand_pool(int nslots)
{
	CScanPool  *pool = pool_create(SCANS, nslots, nslots);

	cscan_pool_set_block_time(pool, 1000);
	return pool;
}

/* A scan of these chunks comes and goes. */
static void
ask(CScanPool *pool, int table, CScanPolicyId policy, uint32_t nblocks, uint32_t first, uint32_t last)
{
	uint32_t	chunk_blocks = pool->spaces[table].chunk_blocks;
	CScanRange	range = {first * chunk_blocks, (last + 1) * chunk_blocks};

	cscan_pool_unregister(pool, scan_ranges(pool, table, policy, nblocks, &range, 1, 0));
}

/* In how many of the sets of its history a chunk is (demand.c); its tally says the same. */
static int
demand_of(const CScanPool *pool, uint32_t chunk)
{
	uint32_t	words = cscan_chunk_words(pool);
	const uint64_t *sets = pool->history[D] + 1;
	const uint64_t *planes = sets + (size_t) LAST_SCANS * words;
	int			n = 0;
	int			counted = 0;

	for (uint32_t i = 0; i < LAST_SCANS; i++)
		n += cscan_set_has(sets + (size_t) i * words, chunk);
	for (uint32_t k = 0; k < 6; k++)
		counted += cscan_set_has(planes + (size_t) k * words, chunk) << k;
	return n == counted ? n : -1;
}

static void
test_impatience(CScanPolicyId policy, uint64_t patience)
{
	CScanPool  *pool = demand_pool(8);
	int			table = table_add(pool, 1);
	int			large = scan_add(pool, table, policy, 40, 0, 9, 0);
	int			small = scan_add(pool, table, policy, 40, 20, 23, 0);
	const char *name = policy_label(policy);

	cscan_pool_choose(pool, large, CSCAN_NONE, 1000);
	is_double(cscan_relevance_query(pool, large, 1000 + patience), -4, "%s: its wait makes good for 6 chunks more", name);
	is_int(cscan_policies[policy]->choose_query(pool, policy, 1000 + patience - 1000), small,
		   "%s: until then who needs less is served", name);
	cscan_pool_choose(pool, small, CSCAN_NONE, 1000 + patience);
	is_int(cscan_policies[policy]->choose_query(pool, policy, 1000 + patience), large,
		   "%s: of equals the one with the lower number", name);
	pool_free(pool);
}

/* A scan comes that wants others: which chunk goes for it? */
static uint32_t
evicted_for(CScanPool *pool, int table, CScanPolicyId policy)
{
	CScanAction act;

	scan_add(pool, table, policy, 40, 30, 39, 40);
	cscan_pool_decide(pool, 50, &act);
	return act.kind == CSCAN_ACT_EVICT ? act.chunk : CSCAN_NO_CHUNK;
}

/* What goes, of chunks that nobody wants now, and what of those that somebody does. */
static void
test_victims(void)
{
	CScanPool  *pool = demand_pool(3);
	int			table = table_add(pool, 1);

	ask(pool, table, D, 40, 0, 10);
	ask(pool, table, R, 40, 5, 6);
	ask(pool, table, CSCAN_POLICY_NORMAL, 40, 6, 6);
	is_int(demand_of(pool, 6), 3, "three scans have asked for a chunk, under any policy");
	is_int(demand_of(pool, 0), 1, "one for another");
	is_int(demand_of(pool, 11), 0, "nobody for a third");
	chunk_put(pool, 6, 10);
	chunk_put(pool, 5, 20);
	chunk_put(pool, 0, 30);
	is_int(evicted_for(pool, table, D), 0, "the one that the fewest asked for goes, though it is used last");
	is_int(load_one(pool, 60), 30, "for what the scan wants");
	pool_free(pool);

	/* The same under relevance. */
	pool = demand_pool(3);
	table = table_add(pool, 1);
	ask(pool, table, D, 40, 0, 10);
	ask(pool, table, D, 40, 5, 6);
	chunk_put(pool, 6, 10);
	chunk_put(pool, 5, 20);
	chunk_put(pool, 0, 30);
	is_int(evicted_for(pool, table, R), 6, "under relevance the least recently used one does");
	pool_free(pool);

	/* One scan that wants a chunk counts more than many that have. */
	pool = demand_pool(3);
	table = table_add(pool, 1);
	for (int i = 0; i < 5; i++)
		ask(pool, table, D, 40, 1, 2);
	chunk_put(pool, 1, 10);
	chunk_put(pool, 2, 20);
	chunk_put(pool, 0, 5);
	cscan_pool_set_warm(pool, scan_add(pool, table, D, 40, 0, 0, 30), true);
	is_int(evicted_for(pool, table, D), 1, "what a scan wants now stays, however few asked for it");
	pool_free(pool);
}

static void
test_memory(void)
{
	CScanPool  *pool = demand_pool(4);
	int			table = table_add(pool, 2);
	int			other = table_add(pool, 2);
	uint32_t	first = chunk_of(pool, other, 0);
	int			scan;
	CScanRange	holes[] = {{0, 1}, {7, 9}};

	ask(pool, table, D, 80, 3, 3);
	for (int i = 0; i < LAST_SCANS - 1; i++)
		ask(pool, table, D, 80, 5, 5);
	is_int(demand_of(pool, 3), 1, "a scan is remembered until as many have come as are kept");
	ask(pool, table, D, 80, 5, 5);
	is_int(demand_of(pool, 3), 0, "then it is forgotten");
	is_int(demand_of(pool, 5), LAST_SCANS, "the others are not");
	is_int(demand_of(pool, first + 5), 0, "another table's chunks are others");

	/* Ranges of blocks, and a scan that begins again. */
	scan = scan_ranges(pool, other, D, 80, holes, 2, 0);
	is_int(demand_of(pool, first) + demand_of(pool, first + 3) + demand_of(pool, first + 4), 3,
		   "a chunk is asked for if any of its blocks is");
	is_int(demand_of(pool, first + 1) + demand_of(pool, first + 2) + demand_of(pool, first + 5), 0,
		   "and what is in a hole is not");
	is_int(demand_of(pool, 5), LAST_SCANS - 1, "scans of all tables count as the last ones");
	cscan_pool_rest(pool, scan, 10);
	is_int(demand_of(pool, first), 1, "to rest is not to ask");
	cscan_pool_start(pool, scan, 15);
	is_int(demand_of(pool, first), 1, "nor is to start without an interest");
	is_int(demand_of(pool, 5), LAST_SCANS - 1, "for which nothing is forgotten");
	cscan_pool_rest(pool, scan, 20);
	cscan_pool_announce(pool, scan, other, 80, holes, 1);
	is_int(demand_of(pool, first), 1, "nor is to announce one");
	cscan_pool_start(pool, scan, 20);
	is_int(demand_of(pool, first), 2, "to start again with one is");
	is_int(demand_of(pool, first + 4), 1, "with what it wants then");
	pool_free(pool);
}

/* Several tables at once, and what becomes of a table's numbers. */
static void
test_spaces_of(void)
{
	CScanPool  *pool = demand_pool(3);
	int			tables[3];
	int			whole;
	uint32_t	first[3];

	for (int i = 0; i < 3; i++)
	{
		tables[i] = table_add_sized(pool, 1, 40);
		first[i] = chunk_of(pool, tables[i], 0);
	}
	whole = scan_family(pool, tables, 3, R, 40, 0);
	cscan_pool_unregister(pool, whole);
	ask(pool, tables[1], R, 40, 0, 39);
	is_int(demand_of(pool, first[0]), 1, "who scans three tables asks for each");
	is_int(demand_of(pool, first[1] + 39), 2, "beside one that scans one of them");
	chunk_put(pool, first[1], 10);
	chunk_put(pool, first[0], 20);
	chunk_put(pool, first[1] + 1, 30);
	is_int(evicted_for(pool, tables[2], D), first[0], "so a chunk of another table goes, though used since");

	/* Its numbers go with a table. */
	for (int i = 0; i < pool->state->limits.max_scans; i++)
	{
		if (pool->scans[i].used)
			cscan_pool_unregister(pool, i);
	}
	cscan_pool_remove_space(pool, tables[2]);
	cscan_pool_remove_space(pool, tables[1]);
	ok(cscan_pool_extend_space(pool, tables[0], 60), "a table is extended by numbers of one that has gone");
	is_int(demand_of(pool, first[1]), 0, "of which nothing is known any more");
	is_int(demand_of(pool, first[0]), 1, "but of those that it had");
	tables[1] = table_add_sized(pool, 1, POOL_CHUNKS - 60);
	is_int(demand_of(pool, chunk_of(pool, tables[1], 0)), 0, "a new table's chunks have not been asked for");
	pool_free(pool);
}

void
test_demand(void)
{
	test_impatience(R, 6 * 2 * 1000);
	test_impatience(D, 6 * 2 * 1000 / 8);
	test_victims();
	test_memory();
	test_spaces_of();
}
