/*-------------------------------------------------------------------------
 *
 * tests.c
 *		Runs the simulator's tests: all of them, or those that are named.
 *
 *-------------------------------------------------------------------------
 */
#include "tests.h"

static const TestSuite suites[] = {
	{"parts", test_parts},
	{"runs", test_runs},
	{"plans", test_plans},
	{"bound", test_bound},
	{"scenes", test_scenes},
	{"mixes", test_mixes},
	{"partitions", test_partitions},
	{"columns", test_columns},
};

SimConfig
test_config(uint32_t chunks, uint32_t pool_chunks, int policy)
{
	SimConfig	config;
	Workload	ignored;

	sim_defaults(&config, &ignored);
	config.cores = 64;
	config.bandwidth = 100.0 * 1024 * 1024;
	config.latency = 0;
	config.wake = 0;
	config.chunk_blocks = TEST_CHUNK;
	config.budget = config.room = pool_chunks * TEST_CHUNK;
	config.max_scans = 32;
	config.policy = policy;
	config.table_blocks[0] = chunks * TEST_CHUNK;
	config.check_every = 16;
	return config;
}

PlanQuery *
test_query(Plan *plan, int stream, uint64_t start, uint64_t chunk_cpu, uint32_t first, uint32_t n)
{
	PlanQuery  *query = plan_add(plan, stream, start, PLAN_OTHER, (double) chunk_cpu / TEST_CHUNK, 0);

	plan_add_range(query, first * TEST_CHUNK, (first + n) * TEST_CHUNK);
	return query;
}

int
main(int argc, char **argv)
{
	return tests_run(suites, sizeof(suites) / sizeof(suites[0]), argc, argv);
}
