/*-------------------------------------------------------------------------
 *
 * test_columns.c
 *		Indexes of columns: Table 4 of the paper, and that nothing stops where
 *		scans want different columns.
 *
 *-------------------------------------------------------------------------
 */
#include "tests.h"

#include <string.h>

/*
 * Ten columns of 20 blocks, and one that all scans want, as the server has it; 250
 * row groups; 16 streams of four queries of 40 %.
 */
static Sim *
run_table4(const char *const *sets, int nsets, int policy)
{
	SimConfig	config;
	Workload	work;
	Plan	   *plan;
	Sim		   *sim;

	sim_defaults(&config, &work);
	for (uint32_t c = 0; c <= 10; c++)
		config.columns.begin[c] = 20 * c;
	config.columns.ncolumns = 11;
	config.columns.begin[11] = 202;
	config.common = UINT64_C(1) << 10;
	config.chunk_blocks = work.grain = cscan_layout_blocks(&config.columns);
	config.table_blocks[0] = work.table_blocks[0] = 250 * config.chunk_blocks;
	config.budget = 1024;
	config.room = 1792;
	config.policy = policy;
	config.log = false;
	work.stagger = 50000;
	work.queries = 4;
	work.nsizes = 1;
	work.sizes[0] = 40;
	strcpy(work.speeds, "F");
	work.block_cpu[PLAN_FAST] = 40;
	work.nsets[PLAN_FAST] = nsets;
	for (int i = 0; i < nsets; i++)
		work.sets[PLAN_FAST][i] = plan_columns(sets[i]);

	plan = plan_draw(&work, 1);
	sim = sim_create(&config, plan);
	ok(sim_run(sim), "columns: %d sets, %s: it ends", nsets, policy_label(policy));
	if (sim->wrong[0] != '\0')
		note("%s", sim->wrong);
	plan_free(plan);
	return sim;
}

static uint64_t
blocks_of_table4(const char *const *sets, int nsets, int policy)
{
	Sim		   *sim = run_table4(sets, nsets, policy);
	uint64_t	blocks = sim->stats.loaded_blocks;

	sim_free(sim);
	return blocks;
}

/* The less the sets overlap, the more is loaded; relevance loads least but for the elevator. */
static void
test_table4(void)
{
	static const char *const overlapping[] = {"abc", "bcd", "cde", "def"};
	static const char *const disjoint[] = {"abc", "def"};
	uint64_t	before = 0;
	uint64_t	one = 0;
	uint64_t	apart;

	for (int n = 1; n <= 4; n++)
	{
		uint64_t	normal = blocks_of_table4(overlapping, n, CSCAN_POLICY_NORMAL);
		uint64_t	attach = blocks_of_table4(overlapping, n, CSCAN_POLICY_ATTACH);
		uint64_t	relevance = blocks_of_table4(overlapping, n, CSCAN_POLICY_RELEVANCE);

		ok(2 * relevance < normal, "Table 4, %d sets: relevance loads less than half of what normal does", n);
		ok(relevance < attach, "Table 4, %d sets: and less than attach", n);
		ok(relevance > before, "Table 4, %d sets: more than with fewer sets", n);
		before = relevance;
		if (n == 1)
			one = relevance;
	}
	apart = blocks_of_table4(disjoint, 2, CSCAN_POLICY_RELEVANCE);
	ok(apart > one * 3 / 2 && apart < one * 5 / 2, "Table 4: two sets with no column in common load about twice as much as one");
}

/* Columns of many sizes, in pools that hold few chunks: the simulator's own checks hold. */
static void
test_tight_pools(void)
{
	static const uint32_t begin[] = {0, 3, 8, 15, 26, 28, 30, 39, 69};
	static const char *const fast[] = {"abc", "de", "fgh", "ah"};
	static const char *const slow[] = {"bcd", "h", "abcdefgh"};
	static const uint32_t pools[] = {3, 5, 20};

	for (int policy = 0; policy <= CSCAN_NPOLICIES; policy++)
	{
		bool		ends = true;
		uint64_t	spins = 0;

		for (uint64_t seed = 1; seed <= 3; seed++)
		{
			for (size_t p = 0; p < sizeof(pools) / sizeof(pools[0]); p++)
			{
				SimConfig	config;
				Workload	work;
				Plan	   *plan;
				Sim		   *sim;

				sim_defaults(&config, &work);
				config.columns.ncolumns = 8;
				memcpy(config.columns.begin, begin, sizeof(begin));
				config.chunk_blocks = work.grain = cscan_layout_blocks(&config.columns);
				config.table_blocks[0] = work.table_blocks[0] = 111 * config.chunk_blocks;
				config.budget = config.room = pools[p] * config.chunk_blocks;
				config.policy = policy;
				config.log = false;
				work.streams = 12;
				work.queries = 4;
				work.stagger = 20000;
				work.block_cpu[PLAN_FAST] = 30;
				work.block_cpu[PLAN_SLOW] = 300;
				work.nsets[PLAN_FAST] = 4;
				work.nsets[PLAN_SLOW] = 3;
				for (int i = 0; i < 4; i++)
					work.sets[PLAN_FAST][i] = plan_columns(fast[i]);
				for (int i = 0; i < 3; i++)
					work.sets[PLAN_SLOW][i] = plan_columns(slow[i]);

				plan = plan_draw(&work, seed);
				sim = sim_create(&config, plan);
				if (!sim_run(sim))
				{
					ends = false;
					note("pool %u, seed %d: %s", pools[p], (int) seed, sim->wrong);
				}
				spins += sim->stats.spins;
				sim_free(sim);
				plan_free(plan);
			}
		}
		ok(ends, "columns in tight pools, %s: all ends, and nobody waits for ever", policy_label(policy));
		is_int((int64_t) spins, 0, "columns in tight pools, %s: the manager finds an end", policy_label(policy));
	}
}

void
test_columns(void)
{
	test_table4();
	test_tight_pools();
}
