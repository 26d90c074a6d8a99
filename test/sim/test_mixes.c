/*-------------------------------------------------------------------------
 *
 * test_mixes.c
 *		Servers and queries drawn at random, under each policy and all of them
 *		together, with every invariant checked; the same number is the same run.
 *		Each also with its tables cut into partitions.
 *
 *-------------------------------------------------------------------------
 */
#include "tests.h"

#include <string.h>

#define RUNS	25

/* Partitions of some chunks, or of parts of one. */
static void
cut(Random *random, SimConfig *config)
{
	config->partitions = 2 + random_below(random, random_chance(random, 50) ? 5 : 60);
	for (int i = 0; i < config->ntables; i++)
		config->table_blocks[i] += config->partitions;
}

static SimConfig
draw_server(Random *random, int policy, bool families)
{
	SimConfig	config = test_config(1, 8, policy);

	config.cores = 1 + (int) random_below(random, 6);
	config.latency = random_chance(random, 50) ? random_below(random, 2000) : 0;
	config.seek = random_chance(random, 50) ? random_below(random, 8000) : 0;
	config.depth = 1 + (int) random_below(random, 4);
	config.wake = random_chance(random, 50) ? random_below(random, 20000) : 0;
	config.chunk_blocks = 16 + random_below(random, 120);
	config.budget = config.chunk_blocks * (8 + random_below(random, 30)) + random_below(random, 16);
	config.room = config.budget + random_below(random, 2) * random_below(random, config.budget);
	config.page_cache = random_chance(random, 25) ? random_below(random, 10000) : 0;
	config.drop_behind = random_chance(random, 50);
	config.load_cpu = random_chance(random, 30) ? random_below(random, 40) : 0;
	config.chunk_cpu = random_chance(random, 30) ? random_below(random, 1000) : 0;
	config.max_scans = random_chance(random, 15) ? 3 : 32;
	config.ntables = 1 + (int) random_below(random, 3);
	for (int i = 0; i < config.ntables; i++)
		config.table_blocks[i] = 1 + random_below(random, 120 * config.chunk_blocks);
	config.check_every = 1 + random_below(random, 100);
	config.manager_wake = random_chance(random, 25) ? random_below(random, 10000) : 0;
	config.wait_cpu = random_chance(random, 25) ? random_below(random, 1000) : 0;
	config.others = random_chance(random, 25) ? random_below(random, 6) : 0;
	if (families)
		cut(random, &config);
	return config;
}

static Workload
draw_work(Random *random, const SimConfig *config)
{
	Workload	work;
	SimConfig	ignored;

	sim_defaults(&ignored, &work);
	work.streams = 1 + (int) random_below(random, 12);
	work.stagger = random_below(random, 500000);
	work.queries = random_chance(random, 50) ? 1 + (int) random_below(random, 5) : 0;
	work.pieces = random_chance(random, 40) ? 1 + random_below(random, 30) : 1;
	work.ntables = config->ntables;
	memcpy(work.table_blocks, config->table_blocks, sizeof(work.table_blocks));
	work.block_cpu[PLAN_FAST] = random_below(random, 60);
	work.block_cpu[PLAN_SLOW] = random_below(random, 600);
	if (random_chance(random, 20))
	{
		work.rate = 1 + random_below(random, 20);
		work.queries = 30;
	}
	work.partitions = config->partitions;
	work.leaves = config->partitions > 1 ? random_below(random, 50) : 0;
	return work;
}

static void
add_pauses(Random *random, Plan *plan)
{
	for (int i = 0; i < plan->nqueries; i++)
	{
		if (!random_chance(random, 10))
			continue;
		plan->queries[i].pause_after = random_below(random, 10);
		plan->queries[i].pause = 1 + random_below(random, 2000000);
	}
}

/* The number of the chunk that a block is in, through all partitions before it. */
static uint32_t
number_of(const SimConfig *config, int table, uint32_t block)
{
	uint32_t	chunks = 0;

	for (uint32_t i = 0;; i++)
	{
		uint32_t	first = plan_partition(config->table_blocks[table], config->partitions, i);
		uint32_t	end = plan_partition(config->table_blocks[table], config->partitions, i + 1);

		if (block < end)
			return chunks + (block - first) / config->chunk_blocks;
		chunks += (end - first - 1) / config->chunk_blocks + 1;
	}
}

/* Chunks of all queries. */
static uint64_t
chunks_wanted(const Sim *sim)
{
	uint64_t	chunks = 0;

	for (int i = 0; i < sim->plan->nqueries; i++)
	{
		const PlanQuery *query = &sim->plan->queries[i];
		uint32_t	next = 0;

		for (uint32_t r = 0; r < query->nranges; r++)
		{
			uint32_t	first = number_of(&sim->config, query->table, query->ranges[r].first);
			uint32_t	end = number_of(&sim->config, query->table, query->ranges[r].end - 1) + 1;

			if (first < next)
				first = next;
			if (end > first)
				chunks += end - first;
			next = end;
		}
	}
	return chunks;
}

typedef struct Summary
{
	int			failed;
	int			incomplete;
	int			below;			/* runs with fewer loads than the bound */
	int			differ;
	uint64_t	events;
	uint64_t	loads;
	uint64_t	bound;
	uint64_t	stalls;
	uint64_t	self_reads;
	uint64_t	spins;
	uint64_t	most_loads;
} Summary;

static void
run(int policy, bool families, int number, Summary *sum)
{
	Random		random = {(uint64_t) number * 100 + policy};
	SimConfig	config = draw_server(&random, policy, families);
	Workload	work = draw_work(&random, &config);
	Plan	   *plan = plan_draw(&work, random_next(&random));
	Sim		   *sim;
	Sim		   *again;
	uint64_t	bound;

	if (random_chance(&random, 50))
		add_pauses(&random, plan);
	sim = sim_create(&config, plan);
	if (!sim_run(sim))
	{
		note("%s%s, number %d: %s", policy_label(policy), families ? ", families" : "", number, sim->wrong);
		sum->failed++;
	}
	for (int i = 0; i < plan->nqueries; i++)
	{
		if (!sim->results[i].done)
		{
			sum->incomplete++;
			break;
		}
	}
	sum->incomplete += sim->stats.delivered != chunks_wanted(sim);
	bound = sim_bound(sim, false);
	sum->below += sim->stats.loads + sim->stats.self_reads < bound;
	sum->events += sim->stats.events;
	sum->loads += sim->stats.loads;
	sum->bound += bound;
	sum->stalls += sim->stats.stalls;
	sum->self_reads += sim->stats.self_reads;
	sum->spins += sim->stats.spins;
	if (sim->stats.most_loads > sum->most_loads)
		sum->most_loads = sim->stats.most_loads;

	if (number % 5 == 0)
	{
		again = sim_create(&config, plan);
		sim_run(again);
		sum->differ += memcmp(&sim->stats, &again->stats, sizeof(sim->stats)) != 0 || sim->now != again->now;
		sim_free(again);
	}
	sim_free(sim);
	plan_free(plan);
}

static void
runs(int policy, bool families)
{
	const char *what = families ? ", families" : "";
	Summary		sum = {0};

	for (int number = 0; number < RUNS; number++)
		run(policy, families, number, &sum);
	is_int(sum.failed, 0, "%s%s: %d runs without a violation", policy_label(policy), what, RUNS);
	is_int(sum.incomplete, 0, "%s%s: all queries got all their chunks", policy_label(policy), what);
	is_int(sum.below, 0, "%s%s: never fewer loads than the bound", policy_label(policy), what);
	is_int(sum.differ, 0, "%s%s: the same run twice is the same", policy_label(policy), what);
	is_int((int64_t) sum.spins, 0, "%s%s: the manager always comes to an end", policy_label(policy), what);
	note("%llu events, %llu loads, bound %llu, %llu stalls, %llu self-reads, at most %llu loads in one wait",
		 (unsigned long long) sum.events, (unsigned long long) sum.loads, (unsigned long long) sum.bound,
		 (unsigned long long) sum.stalls, (unsigned long long) sum.self_reads,
		 (unsigned long long) sum.most_loads);
}

void
test_mixes(void)
{
	for (int policy = 0; policy <= CSCAN_NPOLICIES; policy++)
	{
		runs(policy, false);
		runs(policy, true);
	}
}
