/*-------------------------------------------------------------------------
 *
 * test_scenes.c
 *		Nobody is starved: endless short queries beside a long scan, a slow one
 *		and one that stalls, alone and together.
 *
 * The short ones come again at once, at places of their own or all at one
 * place, and would have the disk for themselves if a policy let them.  The
 * engine checks the bound on each wait in loads (sim_wait_bound), while the
 * wait lasts, too; here a bound in time is added:
 *
 *		stalled_after and a round, until a stalled scan no longer counts
 *		+ the bound in loads, each as long as the longest load was, or as the
 *		  slowest reader needs for its chunk, for which an elevator waits
 *
 *-------------------------------------------------------------------------
 */
#include "tests.h"

#define CHUNKS		100
#define SHORT		6
#define SHORT_SIZE	3

/* More than any of these runs needs. */
#define MAX_EVENTS	400000

#define SLOW_CPU	(4 * TEST_LOAD)

#define READERS		8

typedef enum Victim
{
	LONG,
	SLOW,
	STALLED,
	ALL_THREE
} Victim;

#define NVICTIMS	4

static const char *const victims[NVICTIMS] = {
	"a long scan", "a slow scan", "a stalled scan", "all three"
};

static void
add_victim(Plan *plan, int stream, Victim victim)
{
	PlanQuery  *query = test_query(plan, stream, 30000, victim == SLOW ? SLOW_CPU : TEST_LOAD / 5, 0, CHUNKS);

	if (victim == STALLED)
	{
		query->pause_after = 10;
		query->pause = 3000000;
	}
}

static Plan *
build(Victim victim, bool spread)
{
	Plan	   *plan = plan_create();
	Random		random = {victim * 2 + spread};
	int			streams = 0;

	if (victim == ALL_THREE)
	{
		add_victim(plan, streams++, LONG);
		add_victim(plan, streams++, SLOW);
		add_victim(plan, streams++, STALLED);
	}
	else
		add_victim(plan, streams++, victim);
	for (int i = 0; i < SHORT; i++)
	{
		int			stream = streams + i;

		for (int k = 0; k < 20; k++)
			test_query(plan, stream, 0, spread ? 100 : 5000, spread ? random_below(&random, CHUNKS - SHORT_SIZE) : 40, SHORT_SIZE);
		plan_set_endless(plan, stream);
	}
	return plan;
}

/* The longest that a scan may wait for a chunk, by the bound in loads (us). */
static uint64_t
time_bound(const Sim *sim)
{
	SimStream	worst = {.policy = (CScanPolicyId) sim->config.policy};
	uint64_t	load = sim->longest_load > SLOW_CPU ? sim->longest_load : SLOW_CPU;

	return SIM_STALLED_AFTER + 2 * SIM_ROUND_TIME + sim_wait_bound(sim, &worst) * load;
}

static void
scene(int policy, uint32_t pool_chunks, Victim victim, bool spread)
{
	SimConfig	config = test_config(CHUNKS, pool_chunks, policy);
	Plan	   *plan = build(victim, spread);
	Sim		   *sim;

	config.check_every = 64;
	config.wake = 100;
	sim = sim_create(&config, plan);
	while (sim->stats.events < MAX_EVENTS && sim_step(sim))
		;
	ok(sim->unfinished == 0 && sim->wrong[0] == '\0' && sim->stats.self_reads == 0 &&
	   sim->stats.longest_wait <= time_bound(sim),
	   "%s, %u chunks, %s beside endless short queries%s", policy_label(policy), pool_chunks, victims[victim],
	   spread ? "" : " at one place");
	if (sim->wrong[0] != '\0')
		note("%s", sim->wrong);
	note("%.1f s, %llu loads, longest wait %.2f s and %llu loads; the disk was idle for %.2f + %.2f + %.2f s",
		 (double) sim->now / 1e6, (unsigned long long) sim->stats.loads, (double) sim->stats.longest_wait / 1e6,
		 (unsigned long long) sim->stats.most_loads, (double) sim->stats.idle_elevator / 1e6,
		 (double) sim->stats.idle_relevance / 1e6, (double) sim->stats.idle_taken / 1e6);
	sim_free(sim);
	plan_free(plan);
}

/*
 * A scan of very many chunks that nobody else wants, beside endless loops over
 * fewer.  The disk is busy all the time.  How much of it does the scan get, of
 * what would be its share?
 */
#define LOOP_CHUNKS	1000
#define LONG_CHUNKS	10000

static void
share_of_long_scan(int policy, int loops, bool together)
{
	uint32_t	first = together ? LOOP_CHUNKS : (uint32_t) loops * LOOP_CHUNKS;
	SimConfig	config = test_config(first + LONG_CHUNKS, 64, policy);
	Plan	   *plan = plan_create();
	Sim		   *sim;
	double		share;

	test_query(plan, 0, 0, TEST_LOAD / 5, first, LONG_CHUNKS);
	for (int i = 0; i < loops; i++)
	{
		test_query(plan, i + 1, (uint64_t) i * 50 * TEST_LOAD, TEST_LOAD / 5,
				   together ? 0 : (uint32_t) i * LOOP_CHUNKS, LOOP_CHUNKS);
		plan_set_endless(plan, i + 1);
	}
	config.check_every = 0;
	sim = sim_create(&config, plan);
	while (sim->stats.loads < 20000 && sim_step(sim))
		;
	share = (double) sim->streams[0].ndelivered / (double) sim->stats.loads * (loops + 1);
	ok(sim->wrong[0] == '\0' && share >= 0.5, "%s: a scan of 10,000 chunks has half of its share beside %d endless loops%s",
	   policy_label(policy), loops, together ? " over the same chunks" : "");
	if (sim->wrong[0] != '\0')
		note("%s", sim->wrong);
	note("%.2f of its share, longest wait %llu loads; the loops read a chunk in %.1f ms", share,
		 (unsigned long long) sim->stats.most_loads,
		 (double) sim->now * loops / 1000 / (double) (sim->stats.delivered - sim->streams[0].ndelivered));
	sim_free(sim);
	plan_free(plan);
}

/*
 * As many slow readers as the pool has slots, and a quick scan for which the
 * disk has all its time.  There is room besides the budget, but not for two
 * chunks of each.
 */
static void
quick_among_slow_readers(int policy)
{
	uint32_t	first = READERS * 4;
	SimConfig	config = test_config(first + CHUNKS, READERS, policy);
	Plan	   *plan = plan_create();
	Sim		   *sim;
	SimResult	result;

	config.room = 2 * config.budget;
	for (int i = 0; i < READERS; i++)
		test_query(plan, i, 0, 200 * TEST_LOAD, (uint32_t) i * 4, 4);
	test_query(plan, READERS, 20 * TEST_LOAD, TEST_LOAD / 5, first, CHUNKS);
	sim = sim_create(&config, plan);
	while (sim_step(sim))
		;
	result = sim->results[READERS];
	ok(sim->wrong[0] == '\0' && result.done && result.end - result.start < 2 * CHUNKS * TEST_LOAD,
	   "%s: a quick scan goes on among as many slow readers as there are slots", policy_label(policy));
	ok(sim->stats.loads < sim->stats.delivered + CHUNKS / 10, "%s: nothing is loaded ahead in vain", policy_label(policy));
	if (sim->wrong[0] != '\0')
		note("%s", sim->wrong);
	note("%.2f of the time that the disk takes, %llu loads, %llu chunks", (double) (result.end - result.start) / (CHUNKS * TEST_LOAD), (unsigned long long) sim->stats.loads, (unsigned long long) sim->stats.delivered);
	sim_free(sim);
	plan_free(plan);
}

/* 10 TB on a disk of 200 MB/s, whose chunks take seconds, and eight scans of a tenth to all of it. */
static void
huge(int policy)
{
	uint32_t	chunk = 640 * TEST_CHUNK;
	uint32_t	nchunks = 16000;
	SimConfig	config = test_config(1, 64, policy);
	Plan	   *plan = plan_create();
	Sim		   *sim;

	config.bandwidth = 200.0 * 1024 * 1024;
	config.chunk_blocks = chunk;
	config.table_blocks[0] = nchunks * chunk;
	config.budget = 32 * chunk;
	config.room = 56 * chunk;
	config.check_every = 0;
	for (int i = 0; i < 8; i++)
	{
		uint32_t	n = i % 2 == 0 ? nchunks : i % 4 == 1 ? nchunks / 2 : nchunks / 10;
		PlanQuery  *query = plan_add(plan, i, (uint64_t) i * 5000000, PLAN_OTHER, 8, 0);
		uint32_t	first = (nchunks - n) / 8 * (uint32_t) i;

		plan_add_range(query, first * chunk, (first + n) * chunk);
	}
	sim = sim_create(&config, plan);
	while (sim_step(sim))
		;
	ok(sim->wrong[0] == '\0' && sim->stats.loads <= nchunks + nchunks / 20, "%s: eight scans of 10 TB share it", policy_label(policy));
	if (sim->wrong[0] != '\0')
		note("%s", sim->wrong);
	is_int((int64_t) sim->stats.self_reads, 0, "%s: none reads for itself", policy_label(policy));
	note("%.2f loads a chunk", (double) sim->stats.loads / nchunks);
	sim_free(sim);
	plan_free(plan);
}

void
test_scenes(void)
{
	static const uint32_t pools[] = {8, 16, 64};
	static const int loops[] = {1, 2, 3, 5, 10};

	huge(CSCAN_POLICY_RELEVANCE);
	huge(CSCAN_POLICY_DEMAND);

	quick_among_slow_readers(CSCAN_POLICY_NORMAL);
	quick_among_slow_readers(CSCAN_POLICY_ATTACH);
	quick_among_slow_readers(CSCAN_POLICY_RELEVANCE);
	quick_among_slow_readers(CSCAN_POLICY_DEMAND);

	for (int i = 0; i < (int) (sizeof(loops) / sizeof(loops[0])); i++)
	{
		share_of_long_scan(CSCAN_POLICY_RELEVANCE, loops[i], true);
		share_of_long_scan(CSCAN_POLICY_RELEVANCE, loops[i], false);
		share_of_long_scan(CSCAN_POLICY_DEMAND, loops[i], true);
		share_of_long_scan(CSCAN_POLICY_DEMAND, loops[i], false);
	}

	for (int policy = 0; policy <= CSCAN_NPOLICIES; policy++)
	{
		for (size_t i = 0; i < sizeof(pools) / sizeof(pools[0]); i++)
		{
			for (int victim = 0; victim < NVICTIMS; victim++)
			{
				scene(policy, pools[i], (Victim) victim, true);
				scene(policy, pools[i], (Victim) victim, false);
			}
		}
	}
}
