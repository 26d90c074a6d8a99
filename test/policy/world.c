/*-------------------------------------------------------------------------
 *
 * world.c
 *		See world.h.
 *
 * The next event is whatever is due first: a load that ends, a client that
 * arrives, wakes up or has done with its chunk.  The manager acts after each
 * event, and wakes the blocked scans that can use what was loaded, as the
 * server's does: a scan that is never woken is never run.
 *
 *-------------------------------------------------------------------------
 */
#include "world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NEVER	UINT64_MAX

static void
wrong(World *world, const Client *client, const char *what)
{
	if (world->wrong != NULL)
		return;
	world->wrong = what;
	world->wrong_client = client ? (int) (client - world->clients) : -1;
}

static void
trace(const World *world, const char *what, int a, int b)
{
	if (world->trace)
		note("%9llu %-8s %3d %3d", (unsigned long long) world->now, what, a, b);
}

void
world_begin(World *world, uint64_t seed, int max_slots, uint32_t budget)
{
	memset(world, 0, sizeof(*world));
	world->random.state = seed;
	world->pool = pool_create(WORLD_CLIENTS, max_slots, budget);
	cscan_pool_set_load_time(world->pool, WORLD_LOAD);
	world->max_inflight = 1;
	world->max_loads = 100000;
	world->wrong_client = -1;
}

int
world_table(World *world, uint32_t chunk_blocks, uint32_t nblocks, uint32_t max_blocks)
{
	int			i = world->ntables++;

	world->table[i] = table_add(world->pool, chunk_blocks);
	world->nblocks[i] = nblocks;
	world->max_blocks[i] = max_blocks;
	world->loaded[i] = calloc(WORLD_MAX_BLOCKS, sizeof(bool));
	if (world->loaded[i] == NULL || max_blocks > WORLD_MAX_BLOCKS ||
		(max_blocks - 1) / chunk_blocks >= WORLD_MAX_CHUNKS ||
		chunk_blocks > WORLD_MAX_CHUNK_BLOCKS)
		abort();
	return i;
}

Client *
world_client(World *world, CScanPolicyId policy, int table, uint32_t chunks, uint64_t cpu)
{
	Client	   *client = &world->clients[world->nclients++];

	client->policy = policy;
	client->table = table;
	client->chunks = chunks;
	client->cpu = cpu;
	client->pause = WORLD_LOAD;
	client->phase = CLIENT_ABSENT;
	client->wants = calloc(WORLD_MAX_BLOCKS, sizeof(bool));
	if (client->wants == NULL)
		abort();
	return client;
}

void
world_end(World *world)
{
	pool_free(world->pool);
	for (int i = 0; i < world->ntables; i++)
		free(world->loaded[i]);
	for (int i = 0; i < world->nclients; i++)
		free(world->clients[i].wants);
}

/* Between half of it and half as much again. */
static uint64_t
about(World *world, uint64_t time)
{
	return time / 2 + random_below(&world->random, (uint32_t) time + 1);
}

/* ------------------------------------------------------------------
 * Blocks
 * ------------------------------------------------------------------ */

static uint32_t
chunk_blocks(const World *world, int table)
{
	return world->pool->tables[world->table[table]].chunk_blocks;
}

/* Which of the world's tables is that of the pool? */
static int
table_of(const World *world, int pool_table)
{
	int			i = 0;

	while (world->table[i] != pool_table)
		i++;
	return i;
}

/* The first block of a chunk, and the one after its last that clients may want. */
static CScanRange
blocks_of(const World *world, int table, uint32_t chunk)
{
	CScanRange	blocks = {chunk * chunk_blocks(world, table), (chunk + 1) * chunk_blocks(world, table)};

	if (blocks.end > world->max_blocks[table])
		blocks.end = world->max_blocks[table];
	return blocks;
}

/* Nothing of a chunk is there any more. */
static void
forget(World *world, int table, uint32_t chunk)
{
	CScanRange	blocks = blocks_of(world, table, chunk);

	memset(world->loaded[table] + blocks.first, 0, blocks.end - blocks.first);
	world->failed[table][chunk] = false;
}

/* Is all of a chunk there that a client wants? */
static bool
has_all(const World *world, const Client *client, uint32_t chunk)
{
	CScanRange	blocks = blocks_of(world, client->table, chunk);

	for (uint32_t b = blocks.first; b < blocks.end; b++)
	{
		if (client->wants[b] && !world->loaded[client->table][b])
			return false;
	}
	return true;
}

/*
 * Which blocks of a chunk do scans that count want, or others of the same piece?
 * wanted[] begins with the chunk's first.
 */
static void
find_wanted(const World *world, int table, uint32_t chunk, bool *wanted)
{
	uint32_t	piece = world->pool->tables[world->table[table]].piece_blocks;
	CScanRange	blocks = blocks_of(world, table, chunk);
	uint32_t	length = blocks.end - blocks.first;

	memset(wanted, 0, length);
	for (int i = 0; i < world->nclients; i++)
	{
		const Client *client = &world->clients[i];

		if (client->table != table || chunk >= client->nchunks || client->had[chunk] ||
			(client->phase != CLIENT_READING && client->phase != CLIENT_BLOCKED) ||
			world->pool->scans[client->scan].stalled)
			continue;
		for (uint32_t b = 0; b < length; b++)
		{
			if (!client->wants[blocks.first + b])
				continue;
			for (uint32_t k = b - b % piece; k < b - b % piece + piece && k < length; k++)
				wanted[k] = true;
		}
	}
}

/* Is that block in a piece that is there up to what was the table's end? */
static bool
piece_is_growing(const bool *loaded, const CScanAction *act, CScanRange blocks, uint32_t block)
{
	uint32_t	first = block - (block - blocks.first) % act->piece_blocks;
	uint32_t	end = first + act->piece_blocks;
	bool		some = false;
	bool		all = true;

	for (uint32_t b = first; b < end && b < blocks.end; b++)
	{
		some |= loaded[b];
		all &= loaded[b];
	}
	return some && !all;
}

/* A load begins: does it bring what it should? */
static void
check_load(World *world, const CScanAction *act, bool held)
{
	int			table = table_of(world, act->table);
	uint32_t	nblocks = world->pool->tables[act->table].nblocks;
	const bool *loaded = world->loaded[table];
	CScanRange	blocks = blocks_of(world, table, act->chunk);
	CScanRange	run = {0, 0};
	uint32_t	last = 0;
	uint32_t	sum = 0;
	bool		brought[WORLD_MAX_CHUNK_BLOCKS] = {false};
	bool		wanted[WORLD_MAX_CHUNK_BLOCKS];

	while (cscan_action_next_run(act, &run))
	{
		if (run.first >= run.end || run.first < blocks.first || run.end > blocks.end ||
			run.end > nblocks || (sum > 0 && run.first <= last))
		{
			wrong(world, NULL, "a load's runs are not in order, or not in its chunk");
			return;
		}
		memset(brought + run.first - blocks.first, 1, run.end - run.first);
		sum += run.end - run.first;
		last = run.end;
	}
	if (sum == 0 || sum != act->nblocks)
		wrong(world, NULL, "a load of nothing, or of another number of blocks than it says");

	find_wanted(world, table, act->chunk, wanted);
	for (uint32_t b = blocks.first; b < blocks.end; b++)
	{
		bool		there = loaded[b] && held;
		bool		growing = piece_is_growing(loaded, act, blocks, b);

		if (brought[b - blocks.first] && there && !growing)
			wrong(world, NULL, "a block is loaded that is there already");
		if (brought[b - blocks.first] && !wanted[b - blocks.first] && !loaded[b] && !growing)
			wrong(world, NULL, "a block is loaded that nobody wants");
		if (!brought[b - blocks.first] && wanted[b - blocks.first] && !there && b < nblocks)
			wrong(world, NULL, "a load leaves out what is wanted");
	}
}

/* ------------------------------------------------------------------
 * Clients
 * ------------------------------------------------------------------ */

/*
 * The most loads that a scan may see while it waits for one chunk.
 *
 *	normal, attach	each older waiter may have two chunks loaded first, one of
 *					them in two parts; while its own chunk is being loaded,
 *					in two parts too, and while it wakes up, the other loads
 *					in flight may be up to three times as fast
 *	elevator		one sweep over all that is on it, for each table
 *	relevance		it is served when its waiting time, shared by all scans, is
 *					worth more than what it needs; loads vary by half, and
 *					those that find all in memory take no time that counts
 *	demand			likewise, but its time counts eight times (impatience)
 *	mixed			the policies take turns, so all of it, for each of them
 */
static uint64_t
wait_bound(const World *world, const Client *client)
{
	uint64_t	scans = world->nclients;
	uint64_t	in_order = 3 * scans + 3 * world->max_inflight * (2 + world->sluggish / WORLD_LOAD);
	uint32_t	impatience = cscan_policies[client->policy]->impatience;
	uint64_t	relevance = in_order + 4 * scans * client->needed_before / (impatience > 0 ? impatience : 1);
	uint64_t	elevator = in_order;
	bool		several = false;

	for (int i = 0; i < world->ntables; i++)
		elevator += world->max_blocks[i] / chunk_blocks(world, i) + 1;
	for (int i = 0; i < world->nclients; i++)
		several |= world->clients[i].policy != client->policy;
	if (several)
		return CSCAN_NPOLICIES * (elevator + relevance);
	if (impatience > 0)
		return relevance;
	if (client->policy == CSCAN_POLICY_ELEVATOR)
		return elevator;
	return in_order;
}

static void
end_wait(World *world, Client *client)
{
	uint64_t	loads = world->pool->state->nloads - client->loads_before;

	if (loads > world->longest)
		world->longest = loads;
	if (loads > wait_bound(world, client))
		wrong(world, client, "a scan waited for too many loads");
}

static void
hand_out(World *world, Client *client, uint32_t chunk)
{
	if (client->phase == CLIENT_BLOCKED)
		end_wait(world, client);
	if (chunk >= client->nchunks || client->had[chunk])
		wrong(world, client, "a chunk was handed out twice, or was not wanted");
	else
	{
		client->had[chunk] = true;
		client->left--;
	}
	client->phase = CLIENT_READING;
	client->next = world->now + about(world, client->cpu);
	client->stalled_at = NEVER;
	if (client->stalls && random_chance(&world->random, 10))
		client->next = world->now + 20 * WORLD_PATIENCE;
	if (client->next > world->now + WORLD_PATIENCE)
		client->stalled_at = world->now + WORLD_PATIENCE;
}

static void
leave(World *world, Client *client)
{
	if (client->left != 0)
		wrong(world, client, "a scan finished without all of its chunks");
	cscan_pool_unregister(world->pool, client->scan);
	client->phase = CLIENT_GONE;
	client->next = NEVER;
	if (client->endless)
	{
		client->phase = CLIENT_ABSENT;
		client->next = world->now + random_below(&world->random, (uint32_t) client->pause + 1);
	}
}

/* It wants its next chunk. */
static void
ask(World *world, Client *client)
{
	CScanInterest *scan = &world->pool->scans[client->scan];
	bool		woken = client->phase == CLIENT_BLOCKED;
	int			slot;
	uint32_t	chunk;

	if (random_chance(&world->random, world->take_percent) &&
		cscan_pool_take(world->pool, client->scan, CSCAN_NONE, world->now, &chunk))
	{
		trace(world, "take", client->scan, (int) chunk);
		hand_out(world, client, chunk);
		return;
	}
	slot = cscan_pool_choose(world->pool, client->scan, CSCAN_NONE, world->now);
	if (slot != CSCAN_NONE)
	{
		trace(world, "use", client->scan, (int) world->pool->slots[slot].chunk);
		if (!cscan_pool_ready_for(world->pool, slot, client->scan))
			wrong(world, client, "a chunk was handed out that is not ready");
		if (!world->failed[client->table][world->pool->slots[slot].chunk] &&
			!has_all(world, client, world->pool->slots[slot].chunk))
			wrong(world, client, "a chunk was handed out without some of its blocks");
		hand_out(world, client, world->pool->slots[slot].chunk);
	}
	else if (scan->needed == 0)
		leave(world, client);
	else
	{
		trace(world, woken ? "vain" : "block", client->scan, (int) scan->needed);
		world->vain += woken;
		if (!woken)
		{
			client->loads_before = world->pool->state->nloads;
			client->needed_before = scan->needed;
		}
		client->phase = CLIENT_BLOCKED;
		client->next = NEVER;
		if (!scan->blocked)
			wrong(world, client, "a scan that got nothing is not blocked");
	}
}

/*
 * Ranges with gaps between them in a run of blocks, or this run as it is.  They
 * begin and end anywhere, often at a chunk's border.
 */
static uint32_t
choose_ranges(World *world, Client *client, CScanRange blocks, CScanRange *ranges)
{
	uint32_t	size = chunk_blocks(world, client->table);
	uint32_t	n = 0;
	uint32_t	b = blocks.first;

	ranges[n++] = blocks;
	if (client->holes == 0)
		return n;

	n = 0;
	b += random_below(&world->random, blocks.end - blocks.first);
	if (random_chance(&world->random, 50))
		b = blocks.first;
	while (b < blocks.end && n < CSCAN_MAX_RANGES)
	{
		uint32_t	end = b + 1 + random_below(&world->random, client->holes);

		if (random_chance(&world->random, 20))
			end = b + 1;
		else if (random_chance(&world->random, 20))
			end = (b / size + 1) * size;
		if (end > blocks.end)
			end = blocks.end;
		ranges[n].first = b;
		ranges[n++].end = end;
		b = end + 1 + random_below(&world->random, client->holes);
	}
	return n;
}

static void
arrive(World *world, Client *client)
{
	int			i = client->table;
	uint32_t	size = chunk_blocks(world, i);
	uint32_t	grow = random_below(&world->random, world->growth + 1);
	uint32_t	first = 0;
	uint32_t	last;
	CScanRange	blocks;
	CScanRange	ranges[CSCAN_MAX_RANGES];
	uint32_t	nranges;

	if (world->nblocks[i] + grow <= world->max_blocks[i])
		world->nblocks[i] += grow;
	client->nblocks = world->nblocks[i];
	client->nchunks = (world->nblocks[i] - 1) / size + 1;
	last = client->nchunks - 1;
	if (client->chunks > 0 && client->chunks < client->nchunks)
	{
		/* Often the end of the table, which grows. */
		first = client->nchunks - client->chunks;
		if (random_chance(&world->random, 70))
			first = random_below(&world->random, first + 1);
		last = first + client->chunks - 1;
	}

	blocks.first = first * size;
	blocks.end = last == client->nchunks - 1 ? client->nblocks : (last + 1) * size;
	nranges = choose_ranges(world, client, blocks, ranges);
	memset(client->wants, 0, WORLD_MAX_BLOCKS);
	for (uint32_t r = 0; r < nranges; r++)
		memset(client->wants + ranges[r].first, 1, ranges[r].end - ranges[r].first);
	client->left = 0;
	for (uint32_t c = 0; c < WORLD_MAX_CHUNKS; c++)
	{
		client->had[c] = true;
		for (uint32_t b = c * size; b < (c + 1) * size && b < client->nblocks; b++)
			client->had[c] &= !client->wants[b];
		client->left += !client->had[c];
	}

	client->scan = cscan_pool_register(world->pool, world->table[i], client->policy,
									   client->nblocks, ranges, nranges, world->now);
	cscan_pool_start(world->pool, client->scan);
	if (world->pool->scans[client->scan].needed != client->left)
		wrong(world, client, "a scan wants another number of chunks than its ranges touch");
	trace(world, "arrive", client->scan, (int) client->left);
	client->phase = CLIENT_READING;
	ask(world, client);
}

/* A slot is ready now: whom the pool would wake for it can go on, and nobody else. */
static void
check_wakeups(World *world, int slot)
{
	for (int i = 0; i < world->nclients; i++)
	{
		const Client *client = &world->clients[i];

		if (client->phase == CLIENT_BLOCKED && client->next == NEVER &&
			cscan_pool_can_use(world->pool, slot, client->scan) !=
			(cscan_policies[client->policy]->choose_available(world->pool, client->scan) != CSCAN_NONE))
			wrong(world, client, "a scan is woken in vain, or not woken");
	}
}

/* Those that can go on now will, some time. */
static void
wake(World *world)
{
	for (int i = 0; i < world->nclients; i++)
	{
		Client	   *client = &world->clients[i];

		if (client->phase == CLIENT_BLOCKED && client->next == NEVER &&
			cscan_policies[client->policy]->choose_available(world->pool, client->scan) != CSCAN_NONE)
			client->next = world->now + random_below(&world->random, (uint32_t) world->sluggish + 1);
	}
}

/* ------------------------------------------------------------------
 * The manager
 * ------------------------------------------------------------------ */

static void
finish_load(World *world, int n)
{
	CScanAction act = world->inflight[n];
	bool		anew = world->anew[n];
	int			slot = act.slot;
	int			table = table_of(world, act.table);
	bool		failed = random_chance(&world->random, world->fail_percent);
	bool		cached = random_chance(&world->random, world->cached_percent);
	CScanRange	run = {0, 0};

	world->ninflight--;
	world->inflight[n] = world->inflight[world->ninflight];
	world->anew[n] = world->anew[world->ninflight];
	world->done_at[n] = world->done_at[world->ninflight];
	trace(world, "loaded", slot, (int) act.chunk);

	/* What was there before a slot was filled anew may have been gone. */
	if (anew)
		forget(world, table, act.chunk);
	while (cscan_action_next_run(&act, &run))
		memset(world->loaded[table] + run.first, 1, run.end - run.first);
	world->failed[table][act.chunk] = failed;
	cscan_pool_loaded(world->pool, slot, world->now, cached ? 0 : WORLD_LOAD, failed, cached);
	check_wakeups(world, slot);
	wake(world);
	if (random_chance(&world->random, 50))
	{
		while ((slot = cscan_pool_useless(world->pool)) != CSCAN_NONE)
		{
			forget(world, table_of(world, world->pool->slots[slot].table), world->pool->slots[slot].chunk);
			cscan_pool_drop(world->pool, slot);
		}
	}
}

/* Does the client, which is blocked, hold on to what is in that slot? */
static bool
holds(const CScanPool *pool, const Client *client, int slot)
{
	const CScanSlot *s = &pool->slots[slot];

	if (client->phase != CLIENT_BLOCKED || s->table != pool->scans[client->scan].table)
		return false;

	/* It is being woken for it, or needs more blocks of it. */
	return cscan_policies[client->policy]->choose_available(pool, client->scan) == slot ||
		(cscan_pool_wants(pool, client->scan, s->chunk) &&
		 !cscan_pool_ready_for(pool, slot, client->scan));
}

/* Does somebody read, or hold on to, all that counts against the budget? */
static bool
all_taken(const World *world)
{
	const CScanPool *pool = world->pool;

	for (int s = 0; s < pool->state->max_slots; s++)
	{
		bool		taken = cscan_pool_in_use(pool, s);

		if (pool->slots[s].table == CSCAN_NONE || !pool->slots[s].held)
			continue;
		for (int i = 0; i < world->nclients && !taken; i++)
			taken = holds(pool, &world->clients[i], s);
		if (!taken)
			return false;
	}
	return true;
}

/*
 * Nothing is in flight and the pool wants nothing done.  A scan that waits
 * must then have a reason: it is about to wake up, all slots are taken, or it
 * is on the elevator, which waits for a reader.
 */
static void
check_idle(World *world)
{
	bool		reads[CSCAN_NPOLICIES] = {false};
	bool		elevator_waits = false;

	if (all_taken(world))
		return;
	for (int i = 0; i < world->nclients; i++)
	{
		Client	   *client = &world->clients[i];

		reads[client->policy] |= (client->phase == CLIENT_READING &&
								  cscan_pool_active(world->pool, client->scan)) ||
			(client->phase == CLIENT_BLOCKED && client->next != NEVER);
	}
	for (int i = 0; i < world->nclients; i++)
	{
		Client	   *client = &world->clients[i];

		if (client->phase != CLIENT_BLOCKED || client->next != NEVER)
			continue;
		if (client->policy == CSCAN_POLICY_ELEVATOR && reads[client->policy])
			elevator_waits = true;
		else if (cscan_policies[client->policy]->impatience > 0 && reads[client->policy])
			world->idle_relevance++;
		else
		{
			if (world->idle++ == 0 && world->trace)
				note("idle! client %d scan %d", i, client->scan);
			return;
		}
	}
	world->idle_elevator += elevator_waits;
}

static void
manage(World *world)
{
	if (world->releases)
	{
		while (cscan_pool_release(world->pool) != CSCAN_NONE)
			;
		while (cscan_pool_hold(world->pool) != CSCAN_NONE)
			;
	}
	while (world->ninflight < world->max_inflight)
	{
		CScanAction act;
		bool		used[WORLD_CLIENTS * 64] = {false};
		bool		held[WORLD_CLIENTS * 64] = {false};
		bool		there[WORLD_CLIENTS * 64] = {false};

		for (int i = 0; i < world->pool->state->max_slots; i++)
		{
			used[i] = cscan_pool_in_use(world->pool, i) || cscan_pool_in_flight(world->pool, i);
			there[i] = world->pool->slots[i].table != CSCAN_NONE;
			held[i] = there[i] && world->pool->slots[i].held;
		}
		cscan_pool_decide(world->pool, world->now, &act);
		if (act.kind == CSCAN_ACT_NOTHING)
			break;
		if (act.kind == CSCAN_ACT_EVICT)
		{
			trace(world, "evict", act.slot, (int) act.chunk);
			if (used[act.slot])
				wrong(world, NULL, "a chunk was evicted that is used or in flight");
			forget(world, table_of(world, act.table), act.chunk);
			continue;
		}
		if (act.kind == CSCAN_ACT_UNPIN)
		{
			trace(world, "unpin", act.slot, (int) act.chunk);
			if (used[act.slot])
				wrong(world, NULL, "a chunk was unpinned that is used or in flight");
			continue;
		}
		trace(world, "load", act.scan, (int) act.chunk);
		if (!cscan_pool_in_flight(world->pool, act.slot))
			wrong(world, NULL, "a load is not in flight");
		check_load(world, &act, held[act.slot]);
		world->top_ups += held[act.slot];
		world->reloads += there[act.slot] && !held[act.slot];
		world->anew[world->ninflight] = there[act.slot] && !held[act.slot];
		world->inflight[world->ninflight] = act;
		world->done_at[world->ninflight++] = world->now + about(world, WORLD_LOAD);
	}
	if (world->ninflight == 0)
		check_idle(world);
}

/* ------------------------------------------------------------------
 * Time
 * ------------------------------------------------------------------ */

static bool
anybody_left(const World *world)
{
	for (int i = 0; i < world->nclients; i++)
	{
		if (!world->clients[i].endless && world->clients[i].phase != CLIENT_GONE)
			return true;
	}
	return false;
}

/* Does what is due first.  False if nothing ever will be. */
static bool
next_event(World *world)
{
	Client	   *first = NULL;
	int			load = -1;
	uint64_t	when = NEVER;
	bool		stall = false;

	for (int i = 0; i < world->ninflight; i++)
	{
		if (world->done_at[i] < when)
		{
			when = world->done_at[i];
			load = i;
		}
	}
	for (int i = 0; i < world->nclients; i++)
	{
		Client	   *client = &world->clients[i];

		if (client->next < when)
		{
			when = client->next;
			first = client;
			stall = false;
		}
		if (client->phase == CLIENT_READING && client->stalled_at < when)
		{
			when = client->stalled_at;
			first = client;
			stall = true;
		}
	}
	if (when == NEVER)
		return false;

	if (when > world->now)
		world->now = when;
	if (first == NULL)
		finish_load(world, load);
	else if (stall)
	{
		trace(world, "stall", first->scan, 0);
		cscan_pool_set_stalled(world->pool, first->scan, true);
		first->stalled_at = NEVER;
	}
	else if (first->phase == CLIENT_ABSENT)
		arrive(world, first);
	else
		ask(world, first);
	return true;
}

bool
world_run(World *world)
{
	for (int i = 0; i < world->nclients; i++)
		world->clients[i].next = random_below(&world->random, (uint32_t) world->clients[i].pause + 1);

	while (anybody_left(world) && world->wrong == NULL)
	{
		const char *broken;

		if (!next_event(world))
			wrong(world, NULL, "deadlock: scans are blocked and nothing will happen");
		manage(world);
		broken = pool_check(world->pool);
		if (broken != NULL)
			wrong(world, NULL, broken);
		if (world->pool->state->nloads > world->max_loads)
			wrong(world, NULL, "a scan starves: too many loads");
	}
	return world->wrong == NULL;
}
