/*-------------------------------------------------------------------------
 *
 * test_starvation.c
 *		No scan is starved, and the pool never comes to a standstill.
 *
 * Each run puts endless short scans beside long, slow and stalling ones, on
 * small pools, under one policy or all of them, with tables that grow, loads
 * that fail and readers that are slow to wake up.  World.c checks after each
 * event; here is what the runs are made of and how many loads a scan may see
 * during its life.
 *
 *-------------------------------------------------------------------------
 */
#include "world.h"

#include <stdio.h>
#include <stdlib.h>

#define MIXED	CSCAN_NPOLICIES

static const char *const names[] = {
	"normal", "attach", "elevator", "relevance", "mixed"
};

static CScanPolicyId
policy_of(World *world, int policy)
{
	return policy == MIXED ? (CScanPolicyId) random_below(&world->random, CSCAN_NPOLICIES) : (CScanPolicyId) policy;
}

static void
build(World *world, int policy, uint64_t seed, int least_slots)
{
	Random		random = {seed};
	int			slots = least_slots + (int) random_below(&random, 6);
	int			nshort = 1 + (int) random_below(&random, 6);
	int			nlong = 1 + (int) random_below(&random, 3);
	int			ntables = 1 + (int) random_below(&random, WORLD_TABLES);

	world_begin(world, random_next(&random), 2 * slots, 4 * slots);
	for (int i = 0; i < ntables; i++)
	{
		uint32_t	nblocks = 1 + random_below(&random, 100);

		world_table(world, 4, nblocks, nblocks + random_below(&random, 40));
	}
	world->growth = random_chance(&random, 50) ? 6 : 0;
	world->max_inflight = 1 + (int) random_below(&random, WORLD_INFLIGHT);
	world->fail_percent = random_chance(&random, 30) ? 5 : 0;
	world->cached_percent = random_chance(&random, 30) ? 30 : 0;
	world->take_percent = random_chance(&random, 30) ? 3 : 0;
	world->sluggish = random_chance(&random, 50) ? 4 * WORLD_LOAD : 10;

	for (int i = 0; i < nlong; i++)
		world_client(world, policy_of(world, policy), (int) random_below(&random, ntables), 0,
					 WORLD_LOAD / 5);
	/* a slow one, and one that stalls */
	world_client(world, policy_of(world, policy), (int) random_below(&random, ntables), 0,
				 8 * WORLD_LOAD);
	world_client(world, policy_of(world, policy), (int) random_below(&random, ntables), 0,
				 WORLD_LOAD)->stalls = true;
	for (int i = 0; i < nshort; i++)
	{
		Client	   *client = world_client(world, policy_of(world, policy),
										  (int) random_below(&random, ntables),
										  1 + random_below(&random, 4),
										  random_chance(&random, 50) ? 10 : WORLD_LOAD);

		client->endless = true;
		client->pause = random_chance(&random, 50) ? 1 : 2 * WORLD_LOAD;
	}
}

void
test_starvation(void)
{
	int			runs = getenv("RUNS") ? atoi(getenv("RUNS")) : 300;
	int			least = getenv("SLOTS") ? atoi(getenv("SLOTS")) : 8;
	World		world;

	for (int policy = 0; policy <= MIXED; policy++)
	{
		uint64_t	longest = 0, idle = 0, idle_elevator = 0, vain = 0, loads = 0;
		int			failures = 0;

		for (int run = 0; run < runs; run++)
		{
			build(&world, policy, (uint64_t) run * 1000 + policy, least);
			if (getenv("TRACE") && atoi(getenv("TRACE")) == run * 1000 + policy) world.trace = true;
			if (!world_run(&world))
			{
				if (failures++ < 5)
				note("%s, run %d: %s (client %d, %llu loads)", names[policy], run, world.wrong,
					 world.wrong_client, (unsigned long long) world.pool->state->nloads);
			}
			if (world.idle && getenv("IDLE")) note("run %d idle %d", run, (int) world.idle);
			if (world.longest > longest)
				longest = world.longest;
			idle += world.idle;
			idle_elevator += world.idle_elevator;
			vain += world.vain;
			loads += world.pool->state->nloads;
			world_end(&world);
		}
		note("%s: %llu loads, longest %llu, idle %llu, for elevator %llu, vain %llu", names[policy],
			 (unsigned long long) loads, (unsigned long long) longest, (unsigned long long) idle,
			 (unsigned long long) idle_elevator, (unsigned long long) vain);
		ok(failures == 0, "%s", names[policy]);
	}
}
