/*-------------------------------------------------------------------------
 *
 * test_starvation.c
 *		No scan is starved, and the pool never comes to a standstill.
 *
 * Each run puts endless short scans beside long, slow and stalling ones, on
 * small pools, under one policy or all of them, with tables that grow, loads
 * that fail and readers that are slow to wake up.  World.c checks after each
 * event, and how long a scan waits for each chunk (see wait_bound there); here
 * is what the runs are made of.
 *
 * Each client scans whole chunks; or ranges with holes, which begin and end
 * anywhere, so that slots hold pieces of chunks and are topped up; or such
 * ranges of chunks so large that a piece has several blocks.  In two more kinds of
 * runs half of the clients scan several tables at once, with chunks of sizes from
 * one block to 64, or to 2,048: whole chunks, or ranges.
 *
 * Every run has a number and is the same each time: RUN=policy,slots,number
 * or RUN=policy,slots,number,interest in the environment runs that one alone
 * and shows all of its events; RUNS=n makes n of each kind.
 *
 *-------------------------------------------------------------------------
 */
#include "world.h"

#include <stdio.h>
#include <stdlib.h>

#define CHUNK_BLOCKS	4
#define RUNS			7
#define MIXED			CSCAN_NPOLICIES

/* What the clients want of a table. */
typedef enum Interest
{
	WHOLE_CHUNKS,
	RANGES,
	RANGES_OF_LARGE_CHUNKS,
	FAMILIES,
	FAMILIES_RANGES
} Interest;

#define NINTERESTS		5

static const char *const interests[] = {
	"", ", ranges", ", ranges of large chunks", ", families", ", ranges of families"
};

static bool
has_families(Interest interest)
{
	return interest >= FAMILIES;
}

static uint32_t
pick_chunk_blocks(World *world, Interest interest)
{
	Random	   *random = &world->random;

	switch (interest)
	{
		case WHOLE_CHUNKS:
			return CHUNK_BLOCKS;
		case RANGES:
			return 1 + random_below(random, 24);
		case RANGES_OF_LARGE_CHUNKS:
			return CSCAN_MAX_PIECES - 2 + random_below(random, 2 * CSCAN_MAX_PIECES);
		case FAMILIES:
			return random_chance(random, 30) ? 1 : 1 + random_below(random, 64);
		default:
			return random_chance(random, 30) ? 1 :
				random_chance(random, 50) ? 1 + random_below(random, 64) : WORLD_MAX_CHUNK_BLOCKS;
	}
}

static CScanPolicyId
pick_policy(World *world, int policy)
{
	if (policy == MIXED)
		return (CScanPolicyId) random_below(&world->random, CSCAN_NPOLICIES);
	return (CScanPolicyId) policy;
}

static int
pick_table(World *world)
{
	return (int) random_below(&world->random, world->ntables);
}

static Client *
add(World *world, int policy, uint32_t chunks, uint64_t cpu)
{
	CScanPolicyId id = pick_policy(world, policy);

	return world_client(world, id, pick_table(world), chunks, cpu);
}

/* Chunks of this size, or each table has its own. */
static void
build_tables(World *world, const uint32_t *chunk_blocks, int ntables)
{
	Random	   *random = &world->random;

	for (int i = 0; i < ntables; i++)
	{
		uint32_t	size = chunk_blocks[i];
		uint32_t	chunks = size > CSCAN_MAX_PIECES / 2 ? 12 : 25;
		uint32_t	nblocks = 1 + random_below(random, chunks * size);

		world_table(world, size, nblocks, nblocks + random_below(random, 10 * size));
	}
	world->grows = random_chance(random, 50);
}

/* Some read most of their chunks, some a little; a few all of them. */
static void
build_holes(World *world)
{
	for (int i = 0; i < world->nclients; i++)
	{
		if (random_chance(&world->random, 85))
			world->clients[i].holes = 1 + random_below(&world->random,
													   random_chance(&world->random, 50) ? world->largest : 4 * world->largest);
	}
}

/* Half of them scan several tables, some of these all. */
static void
build_families(World *world)
{
	for (int i = 0; i < world->nclients; i++)
	{
		uint32_t	percent = random_chance(&world->random, 30) ? 100 : 50;

		if (random_chance(&world->random, 50))
			continue;
		for (int t = 0; t < world->ntables; t++)
		{
			if (random_chance(&world->random, percent))
				world_join(world, &world->clients[i], t);
		}
	}
}

static void
build_manager(World *world)
{
	Random	   *random = &world->random;

	world->max_inflight = 1 + (int) random_below(random, WORLD_INFLIGHT);
	world->releases = random_chance(random, 50);
	world->fail_percent = random_chance(random, 30) ? 5 : 0;
	world->cached_percent = random_chance(random, 30) ? 30 : 0;
	world->take_percent = random_chance(random, 30) ? 3 : 0;
	world->sluggish = random_chance(random, 50) ? 4 * WORLD_LOAD : 10;
}

/* Long scans, a slow one, one that stalls, and short ones without end. */
static void
build_clients(World *world, int policy)
{
	Random	   *random = &world->random;
	int			nlong = 1 + (int) random_below(random, 3);
	int			nshort = 1 + (int) random_below(random, 6);

	for (int i = 0; i < nlong; i++)
		add(world, policy, 0, WORLD_LOAD / 5);
	add(world, policy, 0, 8 * WORLD_LOAD);
	add(world, policy, 0, WORLD_LOAD)->stalls = true;
	for (int i = 0; i < nshort; i++)
	{
		Client	   *client = add(world, policy, 1 + random_below(random, 4),
								 random_chance(random, 50) ? 10 : WORLD_LOAD);

		client->endless = true;
		client->pause = random_chance(random, 50) ? 1 : 2 * WORLD_LOAD;
	}
}

static void
build(World *world, int policy, int slots, int number, Interest interest)
{
	uint32_t	chunk_blocks[WORLD_TABLES];
	uint32_t	largest = 0;
	uint32_t	budget;
	int			ntables;

	world_begin(world, interest * UINT64_C(1000000007) + (uint64_t) number * 1000 + slots * 10 + policy,
				2 * slots + 8, 0);
	ntables = has_families(interest) ? 2 + (int) random_below(&world->random, WORLD_TABLES - 1) :
		1 + (int) random_below(&world->random, 3);
	for (int i = 0; i < ntables; i++)
	{
		chunk_blocks[i] = i == 0 || has_families(interest) ? pick_chunk_blocks(world, interest) : chunk_blocks[0];
		if (largest < chunk_blocks[i])
			largest = chunk_blocks[i];
	}
	budget = largest * (slots + random_below(&world->random, 3));
	cscan_pool_set_limits(world->pool, budget,
						  budget + largest * random_below(&world->random, 6));
	if (has_families(interest))
	{
		world->refuse_percent = random_chance(&world->random, 50) ? 15 : 0;
		world->leave_percent = random_chance(&world->random, 50) ? 25 : 0;
	}
	build_tables(world, chunk_blocks, ntables);
	build_manager(world);
	build_clients(world, policy);
	if (has_families(interest))
		build_families(world);
	if (interest != WHOLE_CHUNKS && interest != FAMILIES)
		build_holes(world);
}

/* What all runs of a kind saw. */
typedef struct Summary
{
	int			failures;
	uint64_t	loads;
	uint64_t	longest;
	uint64_t	idle;
	uint64_t	idle_relevance;
	uint64_t	idle_elevator;
	uint64_t	vain;
	uint64_t	top_ups;
	uint64_t	reloads;
	uint64_t	families;
	uint64_t	refused;
	uint64_t	renumbered;
} Summary;

static void
run(int policy, int slots, int number, Interest interest, bool trace, Summary *sum)
{
	World		world;

	build(&world, policy, slots, number, interest);
	world.trace = trace;
	if (!world_run(&world))
	{
		note("RUN=%d,%d,%d,%d: %s (client %d, %llu loads)", policy, slots, number, interest,
			 world.wrong, world.wrong_client, (unsigned long long) world.pool->state->nloads);
		sum->failures++;
	}
	sum->loads += world.pool->state->nloads;
	if (sum->longest < world.longest)
		sum->longest = world.longest;
	if (world.idle)
		note("RUN=%d,%d,%d,%d: idle", policy, slots, number, interest);
	sum->idle += world.idle;
	sum->idle_relevance += world.idle_relevance;
	sum->idle_elevator += world.idle_elevator;
	sum->vain += world.vain;
	sum->top_ups += world.top_ups;
	sum->reloads += world.reloads;
	sum->families += world.families;
	sum->refused += world.refused;
	sum->renumbered += world.renumbered;
	world_end(&world);
}

static void
run_kind(int policy, int slots, Interest interest, int runs, Summary *all)
{
	Summary		sum = {0};

	if (interest == FAMILIES)
		runs = (runs + 1) / 2;
	if (interest == RANGES_OF_LARGE_CHUNKS || interest == FAMILIES_RANGES)
		runs = (runs + 3) / 4;
	for (int number = 0; number < runs; number++)
		run(policy, slots, number, interest, false, &sum);
	ok(sum.failures == 0, "%s, %d slots%s: nobody starves, nothing stops", policy_label(policy), slots,
	   interests[interest]);
	is_int((int64_t) sum.idle, 0, "%s, %d slots%s: the disk is never idle without a reason", policy_label(policy), slots,
		   interests[interest]);
	if (interest != WHOLE_CHUNKS && interest != FAMILIES && sum.loads > (has_families(interest) ? 20000 : 1000))
		ok(sum.top_ups > 0, "%s, %d slots%s: slots were topped up", policy_label(policy), slots, interests[interest]);
	note("%llu loads, %llu of them top-ups, %llu reloads; at most %llu in one wait, %llu vain wake-ups; idle: %llu for the elevator, %llu for relevance",
		 (unsigned long long) sum.loads, (unsigned long long) sum.top_ups,
		 (unsigned long long) sum.reloads, (unsigned long long) sum.longest,
		 (unsigned long long) sum.vain, (unsigned long long) sum.idle_elevator,
		 (unsigned long long) sum.idle_relevance);
	all->families += sum.families;
	all->refused += sum.refused;
	all->renumbered += sum.renumbered;
}

/* The policies from that one on, and all of them together. */
void
test_starvation_from(int first)
{
	/* 8 are promised (cscan_pool_chunk_blocks); fewer must not stop it. */
	static const int slots[] = {1, 2, 3, 5, 8, 12};
	const char *only = getenv("RUN");
	const char *runs = getenv("RUNS");
	int			policy;
	int			nslots;
	int			number;
	int			interest = WHOLE_CHUNKS;
	Summary		sum = {0};

	if (only != NULL && sscanf(only, "%d,%d,%d,%d", &policy, &nslots, &number, &interest) >= 3)
	{
		run(policy, nslots, number, (Interest) interest, true, &sum);
		ok(sum.failures == 0, "one run of %s%s", policy_label(policy), interests[interest]);
		return;
	}
	for (interest = 0; interest < NINTERESTS; interest++)
	{
		for (size_t i = 0; i < sizeof(slots) / sizeof(slots[0]); i++)
		{
			for (policy = first; policy <= MIXED; policy++)
				run_kind(policy, slots[i], (Interest) interest, runs ? atoi(runs) : RUNS, &sum);
		}
	}
	ok(sum.families > 0 && sum.refused > 0 && sum.renumbered > 0,
	   "there were scans of several tables, tables that may not be loaded, and tables that came again");
	note("%llu scans of several tables, %llu chunks read without a load, %llu tables came again",
		 (unsigned long long) sum.families, (unsigned long long) sum.refused,
		 (unsigned long long) sum.renumbered);
}

void
test_starvation(void)
{
	test_starvation_from(0);
}
