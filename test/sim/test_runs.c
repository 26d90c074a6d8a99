/*-------------------------------------------------------------------------
 *
 * test_runs.c
 *		Short runs of the whole engine, against times and counts worked out by
 *		hand; and that its checks notice what is wrong.
 *
 *-------------------------------------------------------------------------
 */
#include "tests.h"

#include <string.h>

/* Runs it, and says what is wrong if something is. */
static Sim *
run(const SimConfig *config, const Plan *plan, const char *what)
{
	Sim		   *sim = sim_create(config, plan);

	if (!sim_run(sim))
		ok(false, "%s: %s", what, sim->wrong);
	return sim;
}

static int64_t
latency(const Sim *sim, int query)
{
	return (int64_t) (sim->results[query].end - sim->results[query].start);
}

/* One scan of ten chunks. */
static void
alone(int policy, uint64_t chunk_cpu, uint64_t disk_latency, uint64_t seek, int depth,
	  int64_t expected, const char *what)
{
	SimConfig	config = test_config(10, 8, policy);
	Plan	   *plan = plan_create();
	Sim		   *sim;

	config.latency = disk_latency;
	config.seek = seek;
	config.depth = depth;
	test_query(plan, 0, 0, chunk_cpu, 0, 10);
	sim = run(&config, plan, what);
	is_int(latency(sim, 0), expected, "%s, %s: its time", policy_label(policy), what);
	is_int((int64_t) sim->stats.loads, 10, "%s, %s: its loads", policy_label(policy), what);
	sim_free(sim);
	plan_free(plan);
}

static void
test_alone(void)
{
	for (int policy = 0; policy < CSCAN_NPOLICIES; policy++)
	{
		alone(policy, 0, 0, 0, 2, 10 * TEST_LOAD, "no CPU");
		alone(policy, 1000, 0, 0, 2, 10 * TEST_LOAD + 1000, "the disk is slower");
		alone(policy, 30000, 0, 0, 2, TEST_LOAD + 10 * 30000, "the CPU is slower");
		alone(policy, 0, 500, 0, 1, 10 * (TEST_LOAD + 500), "each load pays the latency");

		/* In order, the next chunk is asked for when the last one is there. */
		if (policy == CSCAN_POLICY_NORMAL || policy == CSCAN_POLICY_ATTACH)
			alone(policy, 0, 500, 0, 2, 10 * (TEST_LOAD + 500), "nothing is queued");
		else
			alone(policy, 0, 500, 0, 2, 10 * TEST_LOAD + 500, "the queue hides it");
		alone(policy, 0, 0, 2000, 2, 10 * TEST_LOAD + 2000, "one seek");
	}
}

/* The manager sleeps until it is told, and while nothing has been read. */
static void
test_late_manager(void)
{
	for (int depth = 1; depth <= 2; depth++)
	{
		SimConfig	config = test_config(10, 8, CSCAN_POLICY_RELEVANCE);
		Plan	   *plan = plan_create();
		Sim		   *sim;

		config.depth = depth;
		config.manager_wake = 3000;
		test_query(plan, 0, 0, 0, 0, 10);
		sim = run(&config, plan, "a late manager");
		is_int(latency(sim, 0), 3000 + (depth == 1 ? 10 * (TEST_LOAD + 3000) : 10 * TEST_LOAD + 3000),
			   "the manager wakes up late, %d in flight", depth);
		is_int((int64_t) sim->stats.loads, 10, "its loads");
		sim_free(sim);
		plan_free(plan);
	}
}

/* The last chunk's is all that shows: the others' pass while the disk reads. */
static void
test_wait_cpu(void)
{
	SimConfig	config = test_config(10, 8, CSCAN_POLICY_RELEVANCE);
	Plan	   *plan = plan_create();
	Sim		   *sim;

	config.wait_cpu = 2000;
	test_query(plan, 0, 0, 1000, 0, 10);
	sim = run(&config, plan, "waits that cost CPU time");
	is_int(latency(sim, 0), 10 * TEST_LOAD + 1000 + 2000, "a wait costs CPU time");
	is_int((int64_t) sim->cores.busy, 10 * (1000 + 2000), "each of them does");
	sim_free(sim);
	plan_free(plan);
}

static void
test_together(void)
{
	SimConfig	config = test_config(10, 10, CSCAN_POLICY_RELEVANCE);
	Plan	   *plan = plan_create();
	Sim		   *sim;

	/* Three at one time; then one more, which finds nothing kept. */
	for (int i = 0; i < 3; i++)
		test_query(plan, i, 0, 1000, 0, 10);
	test_query(plan, 3, 1000000, 1000, 0, 10);
	sim = run(&config, plan, "together");
	is_int((int64_t) sim->stats.delivered, 40, "four scans of ten chunks have had forty");
	is_int((int64_t) sim->stats.loads, 20, "three share their loads; after the last one has gone nothing is kept");
	is_int(latency(sim, 2), 10 * TEST_LOAD + 1000, "each of the three takes as long as one");
	is_int((int64_t) sim_bound(sim, false), 10, "with all of it kept ten loads would have done");
	sim_free(sim);

	/* While one goes on, a second one finds what is kept. */
	config.room = 20 * TEST_CHUNK;
	plan_free(plan);
	plan = plan_create();
	test_query(plan, 0, 0, 50000, 0, 10);
	test_query(plan, 1, 450000, 0, 0, 10);
	sim = run(&config, plan, "what is kept");
	is_int((int64_t) sim->stats.loads, 10, "what a scan has read another one finds");
	is_int(latency(sim, 1), 0, "at once");
	sim_free(sim);

	/* Two of CPU work alone on one core. */
	config.cores = 1;
	plan_free(plan);
	plan = plan_create();
	test_query(plan, 0, 0, 50000, 0, 10);
	test_query(plan, 1, 0, 50000, 0, 10);
	sim = run(&config, plan, "one core");
	is_int((int64_t) sim->now, TEST_LOAD + 20 * 50000, "two scans on one core take the sum");
	is_int((int64_t) sim->cores.busy, 20 * 50000, "of their work");
	sim_free(sim);
	plan_free(plan);
}

static void
test_streams(void)
{
	SimConfig	config = test_config(10, 10, CSCAN_POLICY_NORMAL);
	Plan	   *plan = plan_create();
	Sim		   *sim;

	config.wake = 700;
	test_query(plan, 0, 5000, 0, 0, 4);
	test_query(plan, 0, 0, 0, 4, 2);
	test_query(plan, 0, 300000, 0, 0, 2);
	sim = run(&config, plan, "one stream");
	is_int((int64_t) sim->results[0].start, 5000, "a stream begins with its first query");
	is_int((int64_t) sim->results[1].start, 5000 + 4 * (TEST_LOAD + 700), "the next one follows");
	is_int((int64_t) sim->results[2].start, 300000, "but not before its own start");
	is_int((int64_t) sim->results[2].waits, 2, "it waited for each chunk");
	is_int((int64_t) sim->results[2].wait_time, 2 * (TEST_LOAD + 700), "which took the loads, and the time to wake up");
	sim_free(sim);
	plan_free(plan);
}

/* Who reads by himself, and when. */
static void
test_self_reads(void)
{
	SimConfig	config = test_config(10, 8, CSCAN_POLICY_RELEVANCE);
	Plan	   *plan = plan_create();
	Sim		   *sim;

	test_query(plan, 0, 0, 0, 3, 1);
	sim = run(&config, plan, "one chunk");
	is_int((int64_t) sim->stats.scans, 0, "one chunk is not registered");
	is_int((int64_t) sim->stats.self_reads, 1, "its scan reads it");
	is_int(latency(sim, 0), TEST_LOAD, "in the disk's time");
	sim_free(sim);

	config.max_scans = 1;
	plan_free(plan);
	plan = plan_create();
	test_query(plan, 0, 0, 0, 0, 10);
	test_query(plan, 1, 1, 0, 0, 10);
	sim = run(&config, plan, "no place");
	is_int((int64_t) sim->stats.self_reads, 10, "where there is no place for it a scan reads for itself");
	is_int((int64_t) sim->stats.loads, 10, "nothing is shared with it");
	sim_free(sim);

	/* A chunk takes three seconds. */
	config.bandwidth = 1024 * 1024 / 3.0;
	plan_free(plan);
	plan = plan_create();
	test_query(plan, 0, 0, 0, 0, 4);
	sim = run(&config, plan, "a slow disk");
	is_int((int64_t) sim->stats.self_reads, 0, "a load that takes long is no reason to read for oneself");
	is_int((int64_t) sim->stats.delivered, 4, "each chunk comes once");
	sim_free(sim);
	plan_free(plan);

	/* Slow readers keep all slots for ten seconds. */
	config = test_config(40, 8, CSCAN_POLICY_RELEVANCE);
	plan = plan_create();
	for (int i = 0; i < 8; i++)
		test_query(plan, i, 0, 10000000, (uint32_t) i * 4, 2);
	test_query(plan, 8, 20 * TEST_LOAD, 0, 32, 4);
	sim = run(&config, plan, "no slot");
	is_int((int64_t) sim->streams[8].end, 20 * TEST_LOAD + 4 * (SIM_STUCK_AFTER + SIM_WAIT_ROUND + TEST_LOAD),
		   "who waits for a second without any load reads for himself");
	is_int((int64_t) sim->stats.delivered, 20, "and gets each chunk once");
	sim_free(sim);
	plan_free(plan);
}

static void
test_stalls(void)
{
	SimConfig	config = test_config(40, 8, CSCAN_POLICY_ELEVATOR);
	Plan	   *plan = plan_create();
	PlanQuery  *query = test_query(plan, 0, 0, 1000, 0, 40);
	Sim		   *sim;

	query->pause_after = 3;
	query->pause = 10000000;
	test_query(plan, 1, 0, 1000, 0, 40);
	sim = run(&config, plan, "a pause");
	is_int((int64_t) sim->stats.stalls, 1, "a scan that pauses is stalled");
	ok(latency(sim, 1) < 40 * TEST_LOAD + 300000, "the other one waits for it 250 ms at the most");
	ok(latency(sim, 0) > 10000000, "it goes on after its pause");
	is_int((int64_t) sim->stats.refetches, 1, "its chunk has gone, so it reads what is left of it");
	is_int((int64_t) sim->stats.delivered, 80, "and both get all chunks");
	sim_free(sim);

	/* Alone: the manager lets go of the table, and takes it again. */
	plan_free(plan);
	plan = plan_create();
	query = test_query(plan, 0, 0, 1000, 0, 40);
	query->pause_after = 3;
	query->pause = 1000000;
	sim = run(&config, plan, "a pause alone");
	is_int((int64_t) sim->stats.refetches, 1, "nothing is held for stalled scans alone");
	is_int((int64_t) sim->stats.delivered, 40, "it gets all chunks");
	sim_free(sim);

	/* Too short a pause to be noticed. */
	plan_free(plan);
	plan = plan_create();
	query = test_query(plan, 0, 0, 1000, 0, 40);
	query->pause_after = 3;
	query->pause = 200000;
	sim = run(&config, plan, "a short pause");
	is_int((int64_t) sim->stats.stalls, 0, "who pauses for 200 ms is not stalled");
	sim_free(sim);
	plan_free(plan);
}

static void
test_load_cpu(void)
{
	SimConfig	config = test_config(10, 8, CSCAN_POLICY_RELEVANCE);
	Plan	   *plan = plan_create();
	Sim		   *sim;

	/* 2 ms for each load, beside the disk but for the last one. */
	config.load_cpu = 2000.0 / TEST_CHUNK;
	test_query(plan, 0, 0, 0, 0, 10);
	sim = run(&config, plan, "copying");
	is_int(latency(sim, 0), 10 * TEST_LOAD + 2000, "the manager copies a load while the disk reads the next");
	is_int((int64_t) sim->cores.busy, 20000, "and takes its time of the cores");
	sim_free(sim);

	/* 15 ms: that is slower than the disk. */
	config.load_cpu = 15000.0 / TEST_CHUNK;
	sim = run(&config, plan, "slow copying");
	is_int(latency(sim, 0), TEST_LOAD + 10 * 15000, "or the disk waits for the manager");
	sim_free(sim);
	plan_free(plan);
}

/* Breaks something after so many events; the run must not pass. */
static void
breaks(void (*what) (Sim *sim), const char *expected, const char *name)
{
	SimConfig	config = test_config(20, 8, CSCAN_POLICY_RELEVANCE);
	Plan	   *plan = plan_create();
	Sim		   *sim;

	for (int i = 0; i < 4; i++)
		test_query(plan, i, 0, 2000 * (uint64_t) (i + 1), 0, 20);
	sim = sim_create(&config, plan);
	for (int i = 0; i < 40; i++)
		sim_step(sim);
	what(sim);
	ok(!sim_run(sim) && strstr(sim->wrong, expected) != NULL, "it is noticed that %s", name);
	note("%s", sim->wrong);
	sim_free(sim);
	plan_free(plan);
}

static void
forget_delivery(Sim *sim)
{
	/* A chunk that the pool will hand out counts as had. */
	for (uint32_t c = 0; c < sim->nchunks[0]; c++)
	{
		if (cscan_pool_wants(sim->pool, sim->streams[3].scan, sim_to_pool(sim, 0, c)))
		{
			sim->streams[3].had[c / 64] |= UINT64_C(1) << (c % 64);
			return;
		}
	}
}

static void
shrink_pool(Sim *sim)
{
	cscan_pool_set_limits(sim->pool, TEST_CHUNK, TEST_CHUNK);
}

static void
lose_wake_up(Sim *sim)
{
	/* It is told to have been told; the event is void. */
	for (int steps = 0; steps < 1000; steps++)
	{
		for (int i = 0; i < sim->nstreams; i++)
		{
			if (sim->streams[i].phase == SIM_WAKING)
			{
				sim->streams[i].phase = SIM_BLOCKED;
				sim->streams[i].serial++;
				return;
			}
		}
		sim_step(sim);
	}
}

static void
starve(Sim *sim)
{
	/* Nothing may be loaded any more. */
	cscan_pool_set_access(sim->pool, sim->partitions[0].space, CSCAN_ACCESS_UNKNOWN);
}

static void
test_checks(void)
{
	breaks(forget_delivery, "delivered twice", "a chunk is delivered twice");
	breaks(shrink_pool, "budget", "the budget is exceeded");
	breaks(lose_wake_up, "sleeps", "a wake-up is lost");
	breaks(starve, "idle", "the disk is idle while scans wait");
}

/*
 * Table 2's mix keeps the disk busy while anybody waits.  Under relevance and
 * demand a reader may be put first for which there is no room: in a pool of eight chunks, hardly.
 */
static void
test_idle_disk(void)
{
	static const uint32_t pools[] = {0, 64, 16, 8};
	static const CScanPolicyId policies[] = {CSCAN_POLICY_NORMAL, CSCAN_POLICY_ATTACH, CSCAN_POLICY_RELEVANCE,
	CSCAN_POLICY_DEMAND};

	for (size_t p = 0; p < sizeof(policies) / sizeof(policies[0]); p++)
	{
		for (size_t i = 0; i < sizeof(pools) / sizeof(pools[0]); i++)
		{
			uint64_t	idle = 0;
			uint64_t	time = 0;

			for (uint64_t seed = 1; seed <= 5; seed++)
			{
				SimConfig	config;
				Workload	work;
				Plan	   *plan;
				Sim		   *sim;

				sim_defaults(&config, &work);
				config.policy = policies[p];
				if (pools[i] > 0)
					config.budget = config.room = pools[i] * config.chunk_blocks;
				plan = plan_draw(&work, seed);
				sim = run(&config, plan, "Table 2");
				idle += sim->stats.idle_relevance + sim->stats.idle_taken;
				time += sim->now;
				sim_free(sim);
				plan_free(plan);
			}
			ok(idle <= (pools[i] == 8 ? time / 200 : 0), "%s, Table 2, %u chunks (0: as many as usual): the disk is not idle",
			   policy_label(policies[p]), pools[i]);
			if (idle > 0)
				note("%.2f s of %.1f s", (double) idle / 1e6, (double) time / 1e6);
		}
	}
}

void
test_runs(void)
{
	test_alone();
	test_late_manager();
	test_wait_cpu();
	test_together();
	test_streams();
	test_self_reads();
	test_stalls();
	test_load_cpu();
	test_idle_disk();
	test_checks();
}
