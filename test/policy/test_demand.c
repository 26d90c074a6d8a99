/*-------------------------------------------------------------------------
 *
 * test_demand.c
 *		Policy demand: what it does unlike relevance, on pools set up by hand.
 *
 * Loads are 1000 us throughout, so that waiting times read as load units.
 *
 *-------------------------------------------------------------------------
 */
#include "harness.h"

#include <string.h>

#define D		CSCAN_POLICY_DEMAND
#define R		CSCAN_POLICY_RELEVANCE
#define SCANS	8

static CScanPool *
demand_pool(int nslots)
{
	CScanPool  *pool = pool_create(SCANS, nslots, nslots);

	cscan_pool_set_load_time(pool, 1000);
	return pool;
}

/* A scan of these chunks comes and goes. */
static void
ask(CScanPool *pool, int table, CScanPolicyId policy, uint32_t nblocks, uint32_t first, uint32_t last)
{
	uint32_t	chunk_blocks = pool->tables[table].chunk_blocks;
	CScanRange	range = {first * chunk_blocks, (last + 1) * chunk_blocks};

	cscan_pool_unregister(pool, cscan_pool_register(pool, table, policy, nblocks, &range, 1, 0));
}

static void
test_impatience(CScanPolicyId policy, uint64_t patience)
{
	CScanPool  *pool = demand_pool(8);
	int			table = table_add(pool, 1);
	int			large = scan_add(pool, table, policy, 40, 0, 19, 0);
	int			small = scan_add(pool, table, policy, 40, 20, 23, 0);
	const char *name = policy_label(policy);

	cscan_pool_choose(pool, large, CSCAN_NONE, 1000);
	is_double(cscan_relevance_query(pool, large, 1000 + patience), -4, "%s: its wait makes good for 16 chunks more", name);
	is_int(cscan_policies[policy]->choose_query(pool, 1000 + patience - 1000), small,
		   "%s: until then who needs less is served", name);
	cscan_pool_choose(pool, small, CSCAN_NONE, 1000 + patience);
	is_int(cscan_policies[policy]->choose_query(pool, 1000 + patience), large,
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
	is_int(cscan_demand_of(pool, table, 6), 3, "three scans have asked for a chunk, under any policy");
	is_int(cscan_demand_of(pool, table, 0), 1, "one for another");
	is_int(cscan_demand_of(pool, table, 11), 0, "nobody for a third");
	chunk_put(pool, table, 6, 10);
	chunk_put(pool, table, 5, 20);
	chunk_put(pool, table, 0, 30);
	is_int(evicted_for(pool, table, D), 0, "the one that the fewest asked for goes, though it is used last");
	is_int(load_one(pool, 60), 30, "for what the scan wants");
	pool_free(pool);

	/* The same under relevance. */
	pool = demand_pool(3);
	table = table_add(pool, 1);
	ask(pool, table, D, 40, 0, 10);
	ask(pool, table, D, 40, 5, 6);
	chunk_put(pool, table, 6, 10);
	chunk_put(pool, table, 5, 20);
	chunk_put(pool, table, 0, 30);
	is_int(evicted_for(pool, table, R), 6, "under relevance the least recently used one does");
	pool_free(pool);

	/* One scan that wants a chunk counts more than many that have. */
	pool = demand_pool(3);
	table = table_add(pool, 1);
	for (int i = 0; i < 5; i++)
		ask(pool, table, D, 40, 1, 2);
	chunk_put(pool, table, 1, 10);
	chunk_put(pool, table, 2, 20);
	chunk_put(pool, table, 0, 5);
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
	int			scan;
	CScanRange	holes[] = {{0, 1}, {7, 9}};

	ask(pool, table, D, 80, 3, 3);
	for (int i = 0; i < CSCAN_LAST_SCANS - 1; i++)
		ask(pool, table, D, 80, 5, 5);
	is_int(cscan_demand_of(pool, table, 3), 1, "a scan is remembered until as many have come as are kept");
	ask(pool, table, D, 80, 5, 5);
	is_int(cscan_demand_of(pool, table, 3), 0, "then it is forgotten");
	is_int(cscan_demand_of(pool, table, 5), CSCAN_LAST_SCANS, "the others are not");
	is_int(cscan_demand_of(pool, other, 5), 0, "each table has its own");

	/* Ranges of blocks, and a scan that begins again. */
	scan = cscan_pool_register(pool, other, D, 80, holes, 2, 0);
	is_int(cscan_demand_of(pool, other, 0) + cscan_demand_of(pool, other, 3) + cscan_demand_of(pool, other, 4), 3,
		   "a chunk is asked for if any of its blocks is");
	is_int(cscan_demand_of(pool, other, 1) + cscan_demand_of(pool, other, 2) + cscan_demand_of(pool, other, 5), 0,
		   "and what is in a hole is not");
	cscan_pool_again(pool, scan, 80, NULL, 0, 10);
	is_int(cscan_demand_of(pool, other, 0), 1, "to rest is not to ask");
	cscan_pool_again(pool, scan, 80, holes, 1, 20);
	is_int(cscan_demand_of(pool, other, 0), 2, "to begin again is");
	is_int(cscan_demand_of(pool, other, 4), 1, "with what it wants then");
	pool_free(pool);
}

static void
test_parts(void)
{
	CScanPool  *pool = demand_pool(4);
	int			table = table_add(pool, 1);

	ask(pool, table, D, CSCAN_PARTS, 7, 7);
	is_int(cscan_demand_of(pool, table, 7), 1, "as many chunks as parts: each is one");
	is_int(cscan_demand_of(pool, table, 6), 0, "not its neighbour");
	is_int(cscan_demand_of(pool, table, CSCAN_PARTS), 0, "chunks beyond the parts: nobody asked");
	ask(pool, table, D, CSCAN_PARTS + 1, CSCAN_PARTS, CSCAN_PARTS);
	is_int(cscan_demand_of(pool, table, CSCAN_PARTS), 1, "one more: a part has two");
	is_int(cscan_demand_of(pool, table, CSCAN_PARTS + 1), 1, "both of them");
	is_int(cscan_demand_of(pool, table, 7), 0, "and all that was known is forgotten");
	ask(pool, table, D, 10, 7, 7);
	is_int(cscan_demand_of(pool, table, 6), 1, "a smaller table's scan asks for parts as they are");
	ask(pool, table, D, CSCAN_MAX_CHUNKS, 0, CSCAN_MAX_CHUNKS - 1);
	is_int(cscan_demand_of(pool, table, CSCAN_MAX_CHUNKS - 1), 1, "as many chunks as there can be");
	is_int(pool->tables[table].part_chunks, CSCAN_MAX_CHUNKS / CSCAN_PARTS, "have parts of so many");
	memset(pool->tables[table].demand, 0xff, sizeof(pool->tables[table].demand));
	cscan_pool_rebuild(pool);
	is_int(cscan_demand_of(pool, table, 12345), 1, "counted anew it is the same");
	pool_free(pool);
}

void
test_demand(void)
{
	test_impatience(R, 16 * 2 * 1000);
	test_impatience(D, 16 * 2 * 1000 / 8);
	test_victims();
	test_memory();
	test_parts();
}
