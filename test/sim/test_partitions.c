/*-------------------------------------------------------------------------
 *
 * test_partitions.c
 *		Families: tables that are cut into partitions.
 *
 * A query of a family is one scan, which announces all partitions that it touches.
 * Such a scan must do as well as one of a table of the same size: short runs do
 * exactly as well, and Table 2's mix does about as well.
 *
 *-------------------------------------------------------------------------
 */
#include "tests.h"

#include <stdlib.h>

/* A table of ten chunks in so many partitions, or none. */
static Sim *
run_small(const Plan *plan, int policy, uint32_t partitions)
{
	SimConfig	config = test_config(10, 8, policy);
	Sim		   *sim;

	config.partitions = partitions;
	sim = sim_create(&config, plan);
	if (!sim_run(sim))
		ok(false, "%s, %u partitions: %s", policy_label(policy), partitions, sim->wrong);
	return sim;
}

/* Partitions of whole chunks: it is the same as one table. */
static void
test_whole_chunks(void)
{
	for (int policy = 0; policy < CSCAN_NPOLICIES; policy++)
	{
		Plan	   *plan = plan_create();
		Sim		   *table;
		Sim		   *family;

		test_query(plan, 0, 0, 15000, 0, 10);
		test_query(plan, 1, 35000, 2000, 0, 10);
		test_query(plan, 2, 35000, 2000, 3, 6);
		test_query(plan, 3, 60000, 2000, 4, 2);
		table = run_small(plan, policy, 1);
		family = run_small(plan, policy, 5);
		is_int((int64_t) family->stats.loads, (int64_t) table->stats.loads,
			   "%s: five partitions of two chunks take the loads of one table", policy_label(policy));
		is_int((int64_t) family->now, (int64_t) table->now, "%s: and its time", policy_label(policy));
		is_int((int64_t) family->stats.delivered, 10 + 10 + 6 + 2, "%s: all get all chunks", policy_label(policy));
		is_int(family->pool->state->nspaces, 0, "%s: no space is left", policy_label(policy));
		sim_free(table);
		sim_free(family);
		plan_free(plan);
	}
}

/* A partition's last chunk is a smaller one. */
static void
test_small_chunks(void)
{
	Plan	   *plan = plan_create();
	Sim		   *sim;

	/* Four partitions of two chunks and a half. */
	test_query(plan, 0, 0, 0, 0, 10);
	sim = run_small(plan, CSCAN_POLICY_RELEVANCE, 4);
	is_int((int64_t) sim->stats.loads, 12, "four partitions of two chunks and a half have twelve");
	is_int((int64_t) sim->stats.loaded_blocks, 10 * TEST_CHUNK, "in which no block is read twice");
	is_int((int64_t) sim->now, 10 * TEST_LOAD, "and which take no longer");
	sim_free(sim);
	plan_free(plan);
}

/* What a query does not touch is not announced. */
static void
test_touched(void)
{
	Plan	   *plan = plan_create();
	SimConfig	config = test_config(10, 8, CSCAN_POLICY_RELEVANCE);
	Sim		   *sim;
	int			spaces = 0;

	config.partitions = 5;
	plan_add_range(test_query(plan, 0, 0, 1000, 0, 3), 8 * TEST_CHUNK, 9 * TEST_CHUNK);
	sim = sim_create(&config, plan);
	while (sim->stats.delivered == 0 && sim_step(sim))
		;
	for (int i = 0; i < sim->npartitions; i++)
		spaces += sim->partitions[i].space != CSCAN_NONE;
	is_int(spaces, 3, "a scan of two ranges has announced the three partitions that they touch");
	is_int(sim->pool->scans[sim->streams[0].scan].nspaces, 3, "and the pool knows it");
	ok(sim_run(sim), "it ends");
	is_int((int64_t) sim->stats.loaded_blocks, 4 * TEST_CHUNK, "it has read nothing else");
	sim_free(sim);
	plan_free(plan);
}

/* A stalled scan of two partitions, and one of the second: the first is let go of. */
static void
test_stalled_family(void)
{
	Plan	   *plan = plan_create();
	SimConfig	config = test_config(40, 8, CSCAN_POLICY_RELEVANCE);
	PlanQuery  *query;
	Sim		   *sim;

	config.partitions = 2;
	query = test_query(plan, 0, 0, 1000, 0, 40);
	query->pause_after = 3;
	query->pause = 1000000;
	test_query(plan, 1, 0, 40000, 20, 20);
	sim = sim_create(&config, plan);
	while (sim->stats.stalls == 0 && sim_step(sim))
		;
	for (int i = 0; i < sim->pool->state->limits.max_slots; i++)
	{
		if (sim->pool->slots[i].space == sim->partitions[0].space)
			ok(false, "nothing is held of a partition whose scans are all stalled");
	}
	ok(sim->pool->spaces[sim->partitions[1].space].nscans == 2, "the other partition has a scan that goes on");
	ok(sim_run(sim), "both end");
	is_int((int64_t) sim->stats.delivered, 60, "and get all chunks");
	sim_free(sim);
	plan_free(plan);
}

/* ------------------------------------------------------------------
 * Table 2's mix
 * ------------------------------------------------------------------ */

#define SEEDS	5

typedef struct Totals
{
	double		stream;			/* seconds */
	double		blocks;			/* read */
} Totals;

static void
add_run(const SimConfig *config, const Plan *plan, const char *what, Totals *totals)
{
	Sim		   *sim = sim_create(config, plan);

	if (!sim_run(sim))
		ok(false, "%s, %s: %s", policy_label(config->policy), what, sim->wrong);
	for (int i = 0; i < sim->nstreams && sim->wrong[0] == '\0'; i++)
		totals->stream += (double) (sim->streams[i].end - sim->streams[i].first_start) / 1e6;
	totals->blocks += (double) sim->disk.blocks;
	sim_free(sim);
}

static bool
within(double a, double b, double percent)
{
	return a <= b * (1 + percent / 100) && a >= b * (1 - percent / 100);
}

/* The same queries on one table and on a family of the same size. */
static void
compare(int policy, uint32_t partitions, uint32_t leaves, double percent)
{
	Totals		table = {0};
	Totals		family = {0};
	char		what[100];

	snprintf(what, sizeof(what), "%u partitions, %u %% of the queries read one", partitions, leaves);
	for (uint64_t seed = 1; seed <= SEEDS; seed++)
	{
		SimConfig	config;
		Workload	work;
		Plan	   *plan;

		/* 1,500 MB, and a pool that is as large a part of it as ever. */
		sim_defaults(&config, &work);
		config.table_blocks[0] = work.table_blocks[0] = 1500 * 128;
		config.budget = 160 * 128;
		config.room = 280 * 128;
		config.policy = policy;
		config.log = false;
		config.check_every = 20000;
		work.partitions = partitions;
		work.leaves = leaves;
		plan = plan_draw(&work, seed);
		add_run(&config, plan, "one table", &table);
		config.partitions = partitions;
		add_run(&config, plan, what, &family);
		plan_free(plan);
	}
	ok(within(family.stream, table.stream, percent), "%s, %s: stream time as on one table, but for %.0f %%",
	   policy_label(policy), what, percent);
	ok(within(family.blocks, table.blocks, percent), "%s, %s: likewise what is read", policy_label(policy), what);
	note("stream time %.3f, blocks read %.3f of one table's (%.1f s, %.0f MB)", family.stream / table.stream,
		 family.blocks / table.blocks, table.stream / SEEDS / 16, table.blocks / SEEDS / 128);
}

/*
 * Under normal and attach a trifle decides which scan is ahead, and with that a
 * tenth of the loads; see README.md.
 */
static void
test_table_2(void)
{
	static const struct
	{
		CScanPolicyId policy;
		double		percent;
	}			bounds[] = {
		{CSCAN_POLICY_NORMAL, 15}, {CSCAN_POLICY_ATTACH, 15}, {CSCAN_POLICY_ELEVATOR, 5},
		{CSCAN_POLICY_RELEVANCE, 3}, {CSCAN_POLICY_DEMAND, 3}
	};

	for (size_t i = 0; i < sizeof(bounds) / sizeof(bounds[0]); i++)
	{
		compare(bounds[i].policy, 84, 0, bounds[i].percent);
		compare(bounds[i].policy, 84, 30, bounds[i].percent);
		compare(bounds[i].policy, 1500, 0, bounds[i].percent);
		compare(bounds[i].policy, 1500, 30, bounds[i].percent);
	}
}

void
test_partitions(void)
{
	test_whole_chunks();
	test_small_chunks();
	test_touched();
	test_stalled_family();
	test_table_2();
}
