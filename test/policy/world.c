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
	CScanLimits limits = {WORLD_CLIENTS, WORLD_TABLES, max_slots, MAX_HELPERS, WORLD_CHUNKS};

	memset(world, 0, sizeof(*world));
	world->random.state = seed;
	world->pool = pool_create_limited(&limits, budget);
	world->max_inflight = 1;
	world->max_loads = 100000;
	world->wrong_client = -1;
}

/* A space for a table, which it has not got. */
static void
add_space(World *world, int i)
{
	world->table[i] = cscan_pool_add_space(world->pool, world->size[i], WORLD_MAX_CHUNKS, (uint32_t) i);
	if (world->table[i] == CSCAN_NONE)
		abort();
	world->first[i] = world->pool->spaces[world->table[i]].first_chunk;
	world->decided_at[i] = NEVER;
	memset(world->loaded[i], 0, WORLD_MAX_BLOCKS);
	memset(world->failed + world->first[i], 0, WORLD_MAX_CHUNKS);
	if (world->refuse_percent == 0)
		cscan_pool_set_access(world->pool, world->table[i], CSCAN_ACCESS_GRANTED);
}

int
world_table(World *world, uint32_t chunk_blocks, uint32_t nblocks, uint32_t max_blocks)
{
	int			i = world->ntables++;

	world->size[i] = chunk_blocks;
	if (world->largest < chunk_blocks)
		world->largest = chunk_blocks;
	world->nblocks[i] = nblocks;
	world->max_blocks[i] = max_blocks;
	world->loaded[i] = calloc(WORLD_MAX_BLOCKS, sizeof(bool));
	if (world->loaded[i] == NULL || max_blocks > WORLD_MAX_BLOCKS ||
		(max_blocks - 1) / chunk_blocks >= WORLD_MAX_CHUNKS ||
		chunk_blocks > WORLD_MAX_CHUNK_BLOCKS)
		abort();
	add_space(world, i);
	return i;
}

Client *
world_client(World *world, CScanPolicyId policy, int table, uint32_t chunks, uint64_t cpu)
{
	Client	   *client = &world->clients[world->nclients++];

	client->policy = policy;
	client->chunks = chunks;
	client->cpu = cpu;
	client->pause = WORLD_LOAD;
	client->phase = CLIENT_ABSENT;
	world_join(world, client, table);
	return client;
}

void
world_join(World *world, Client *client, int table)
{
	(void) world;
	if (client->wants[table] != NULL)
		return;
	client->tables[client->ntables++] = table;
	client->wants[table] = calloc(WORLD_MAX_BLOCKS, sizeof(bool));
	if (client->wants[table] == NULL)
		abort();
}

void
world_end(World *world)
{
	pool_free(world->pool);
	for (int i = 0; i < world->ntables; i++)
		free(world->loaded[i]);
	for (int i = 0; i < world->nclients; i++)
	{
		for (int t = 0; t < WORLD_TABLES; t++)
			free(world->clients[i].wants[t]);
	}
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

/* Which of the world's tables is that of the pool? */
static int
table_of(const World *world, int space)
{
	int			i = 0;

	while (world->table[i] != space)
		i++;
	return i;
}

/* Which has the chunk with that number? */
static int
table_of_chunk(const World *world, uint32_t chunk)
{
	int			i = 0;

	while (chunk < world->first[i] || chunk - world->first[i] >= WORLD_MAX_CHUNKS)
		i++;
	return i;
}

/* The first block of a chunk, and the one after its last that clients may want. */
static CScanRange
blocks_of(const World *world, int table, uint32_t chunk)
{
	uint32_t	n = chunk - world->first[table];
	CScanRange	blocks = {n * world->size[table], (n + 1) * world->size[table]};

	if (blocks.end > world->max_blocks[table])
		blocks.end = world->max_blocks[table];
	if (blocks.end < blocks.first)
		blocks.end = blocks.first;
	return blocks;
}

/* Nothing of a chunk is there any more. */
static void
forget(World *world, uint32_t chunk)
{
	int			table = table_of_chunk(world, chunk);
	CScanRange	blocks = blocks_of(world, table, chunk);

	memset(world->loaded[table] + blocks.first, 0, blocks.end - blocks.first);
	world->failed[chunk] = false;
}

/* Is all of a chunk there that a client wants? */
static bool
has_all(const World *world, const Client *client, uint32_t chunk)
{
	int			table = table_of_chunk(world, chunk);
	CScanRange	blocks = blocks_of(world, table, chunk);

	for (uint32_t b = blocks.first; b < blocks.end; b++)
	{
		if (client->wants[table][b] && !world->loaded[table][b])
			return false;
	}
	return true;
}

/* How many blocks does a client still want? */
static uint64_t
blocks_wanted(const World *world, const Client *client)
{
	uint64_t	n = 0;

	for (int i = 0; i < client->ntables; i++)
	{
		int			t = client->tables[i];

		for (uint32_t b = 0; b < world->max_blocks[t]; b++)
			n += client->wants[t][b] && !client->had[world->first[t] + b / world->size[t]];
	}
	return n;
}

/*
 * Which blocks of a chunk do scans that count want, or others of the same piece?
 * wanted[] begins with the chunk's first.
 */
static void
find_wanted(const World *world, int table, uint32_t chunk, bool *wanted)
{
	uint32_t	piece = (world->size[table] - 1) / CSCAN_MAX_PIECES + 1;
	CScanRange	blocks = blocks_of(world, table, chunk);
	uint32_t	length = blocks.end - blocks.first;

	memset(wanted, 0, length);
	for (int i = 0; i < world->nclients; i++)
	{
		const Client *client = &world->clients[i];

		if (client->wants[table] == NULL || client->had[chunk] ||
			(client->phase != CLIENT_READING && client->phase != CLIENT_BLOCKED) ||
			world->pool->scans[client->scan].stalled)
			continue;
		for (uint32_t b = 0; b < length; b++)
		{
			if (!client->wants[table][blocks.first + b])
				continue;
			for (uint32_t k = b - b % piece; k < b - b % piece + piece && k < length; k++)
				wanted[k] = true;
		}
	}
}

/* Is that block in a piece that is there up to what was the table's end? */
static bool
piece_is_growing(const World *world, int table, CScanRange blocks, uint32_t block)
{
	uint32_t	piece = (world->size[table] - 1) / CSCAN_MAX_PIECES + 1;
	uint32_t	first = block - (block - blocks.first) % piece;
	bool		some = false;
	bool		all = true;

	for (uint32_t b = first; b < first + piece && b < blocks.end; b++)
	{
		some |= world->loaded[table][b];
		all &= world->loaded[table][b];
	}
	return some && !all;
}

/* A load begins: does it bring what it should? */
static void
check_load(World *world, const CScanAction *act, bool held)
{
	int			table = table_of(world, act->space);
	uint32_t	nblocks = world->pool->spaces[act->space].extent;
	const bool *loaded = world->loaded[table];
	CScanRange	blocks = blocks_of(world, table, act->chunk);
	CScanRun	run = {0, 0, 0};
	uint32_t	last = 0;
	uint32_t	sum = 0;
	bool		brought[WORLD_MAX_CHUNK_BLOCKS] = {false};
	bool		wanted[WORLD_MAX_CHUNK_BLOCKS];

	if (table != table_of_chunk(world, act->chunk))
		wrong(world, NULL, "a load is of another table than its chunk");
	if (world->pool->spaces[act->space].access != CSCAN_ACCESS_GRANTED)
		wrong(world, NULL, "a load of a table that may not be loaded");
	while (cscan_action_next_run(act, &run))
	{
		if (run.first >= run.end || run.first < blocks.first || run.end > blocks.end ||
			run.end > nblocks || (sum > 0 && run.first <= last) ||
			run.place != run.first - blocks.first)
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
		bool		growing = piece_is_growing(world, table, blocks, b);

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
 * How much may be loaded while a scan waits for one chunk, in chunks of the largest
 * size.
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
 *
 * Until it is known whether a table may be loaded others' loads go on for a while.
 */
static uint64_t
wait_bound(const World *world, const Client *client)
{
	uint64_t	scans = world->nclients;
	uint64_t	in_order = 3 * scans +
		3 * world->max_inflight * ((world->refuse_percent > 0 ? 4 : 2) + world->sluggish / WORLD_LOAD);
	uint32_t	impatience = cscan_policies[client->policy]->traits.impatience;
	uint64_t	relevance = in_order +
		4 * scans * (client->needed_before / world->largest + 1) / (impatience > 0 ? impatience : 1);
	uint64_t	elevator = in_order;
	bool		several = false;

	for (int i = 0; i < world->ntables; i++)
		elevator += world->max_blocks[i] / world->largest + 1;
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
	uint64_t	loads = (world->blocks - client->blocks_before) / world->largest;

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
	if (chunk >= WORLD_CHUNKS || client->had[chunk])
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
	CScanScan  *scan = &world->pool->scans[client->scan];
	bool		refused = cscan_pool_has_refused(world->pool, client->scan);
	bool		woken = client->phase == CLIENT_BLOCKED;
	int			slot;
	uint32_t	chunk;

	if ((refused || random_chance(&world->random, world->take_percent)) &&
		cscan_pool_take(world->pool, client->scan, CSCAN_NONE, world->now, &chunk))
	{
		trace(world, "take", client->scan, (int) chunk);
		if (refused && cscan_pool_space_of(world->pool, chunk)->access != CSCAN_ACCESS_REFUSED)
			wrong(world, client, "a scan takes another chunk than a refused one");
		world->refused += refused;
		hand_out(world, client, chunk);
		return;
	}
	slot = cscan_pool_choose(world->pool, client->scan, CSCAN_NONE, world->now);
	if (slot != CSCAN_NONE)
	{
		chunk = world->pool->slots[slot].chunk;
		trace(world, "use", client->scan, (int) chunk);
		if (!cscan_pool_ready_for(world->pool, slot, client->scan))
			wrong(world, client, "a chunk was handed out that is not ready");
		if (!world->failed[chunk] && !has_all(world, client, chunk))
			wrong(world, client, "a chunk was handed out without some of its blocks");
		hand_out(world, client, chunk);
	}
	else if (scan->nwanted == 0)
		leave(world, client);
	else
	{
		trace(world, woken ? "vain" : "block", client->scan, (int) scan->nwanted);
		world->vain += woken;
		if (!woken)
		{
			client->blocks_before = world->blocks;
			client->needed_before = scan->needed;
		}
		client->phase = CLIENT_BLOCKED;
		client->next = NEVER;
		if (!scan->blocked)
			wrong(world, client, "a scan that got nothing is not blocked");
		if (world->blocks % 8 == 0 && scan->needed != blocks_wanted(world, client))
			wrong(world, client, "a scan needs another number of blocks than it wants");
	}
}

/*
 * Ranges with gaps between them in a run of blocks, or this run as it is.  They
 * begin and end anywhere, often at a chunk's border.
 */
static uint32_t
choose_ranges(World *world, const Client *client, uint32_t size, CScanRange blocks, CScanRange *ranges)
{
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

/* Whoever wants all of the table wants what it has grown by of its last chunk, too. */
static void
grow_wants(World *world, int table)
{
	for (int i = 0; i < world->nclients; i++)
	{
		Client	   *client = &world->clients[i];
		uint32_t	end;

		if (client->wants[table] == NULL || !client->whole[table] ||
			(client->phase != CLIENT_READING && client->phase != CLIENT_BLOCKED))
			continue;
		end = ((client->nblocks[table] - 1) / world->size[table] + 1) * world->size[table];
		if (end > world->nblocks[table])
			end = world->nblocks[table];
		memset(client->wants[table], 1, end);
	}
}

/* Does nobody scan the table, nor load it? */
static bool
is_idle(const World *world, int table)
{
	if (world->pool->spaces[world->table[table]].nscans > 0)
		return false;
	for (int i = 0; i < world->ninflight; i++)
	{
		if (world->inflight[i].space == world->table[table])
			return false;
	}
	return true;
}

/* A client is about to scan the table: it may be another one now. */
static void
prepare_table(World *world, int table)
{
	CScanPool  *pool = world->pool;
	int			space = world->table[table];

	if (is_idle(world, table) && random_chance(&world->random, world->leave_percent))
	{
		int			gap = CSCAN_NONE;

		/* Its numbers are others' meanwhile, or it is given new ones. */
		cscan_pool_remove_space(pool, space);
		if (random_chance(&world->random, 50))
			gap = cscan_pool_add_space(pool, 1, 1 + random_below(&world->random, 2 * WORLD_MAX_CHUNKS - 1), 0);
		if (gap != CSCAN_NONE)
			cscan_pool_remove_space(pool, gap);
		world->table[table] = CSCAN_NONE;
		world->first[table] = UINT32_MAX / 2;
		add_space(world, table);
		world->renumbered++;
		trace(world, "anew", table, (int) world->first[table]);
	}
	if (world->refuse_percent > 0 && pool->spaces[world->table[table]].access == CSCAN_ACCESS_UNKNOWN &&
		world->decided_at[table] == NEVER)
		world->decided_at[table] = world->now + random_below(&world->random, WORLD_LOAD);
}

/* What a client wants of a table, from now on. */
static void
announce(World *world, Client *client, int t)
{
	uint32_t	size = world->size[t];
	uint32_t	grow = random_below(&world->random, (world->grows ? size + size / 2 : 0) + 1);
	uint32_t	nchunks;
	uint32_t	first = 0;
	uint32_t	last;
	CScanRange	blocks;
	CScanRange	ranges[CSCAN_MAX_RANGES];
	uint32_t	nranges;

	if (world->nblocks[t] + grow <= world->max_blocks[t])
		world->nblocks[t] += grow;
	client->nblocks[t] = world->nblocks[t];
	nchunks = (world->nblocks[t] - 1) / size + 1;
	last = nchunks - 1;
	if (client->chunks > 0 && client->chunks < nchunks)
	{
		/* Often the end of the table, which grows. */
		first = nchunks - client->chunks;
		if (random_chance(&world->random, 70))
			first = random_below(&world->random, first + 1);
		last = first + client->chunks - 1;
	}

	blocks.first = first * size;
	blocks.end = last == nchunks - 1 ? client->nblocks[t] : (last + 1) * size;
	nranges = choose_ranges(world, client, size, blocks, ranges);
	client->whole[t] = nranges == 1 && ranges[0].first == 0 && ranges[0].end == client->nblocks[t];
	memset(client->wants[t], 0, WORLD_MAX_BLOCKS);
	for (uint32_t r = 0; r < nranges; r++)
		memset(client->wants[t] + ranges[r].first, 1, ranges[r].end - ranges[r].first);
	for (uint32_t b = 0; b < client->nblocks[t]; b++)
	{
		if (client->wants[t][b])
			client->had[world->first[t] + b / size] = false;
	}
	grow_wants(world, t);
	cscan_pool_announce(world->pool, client->scan, world->table[t], client->nblocks[t], ranges, nranges);
}

static void
arrive(World *world, Client *client)
{
	for (int i = 0; i < client->ntables; i++)
		prepare_table(world, client->tables[i]);
	memset(client->had, 1, sizeof(client->had));
	client->scan = cscan_pool_register(world->pool, client->policy, world->now);
	for (int i = 0; i < client->ntables; i++)
		announce(world, client, client->tables[i]);
	client->phase = CLIENT_READING;
	for (int i = 0; i < client->ntables; i++)
		grow_wants(world, client->tables[i]);
	cscan_pool_start(world->pool, client->scan, world->now);
	client->left = 0;
	for (uint32_t c = 0; c < WORLD_CHUNKS; c++)
		client->left += !client->had[c];
	if (world->pool->scans[client->scan].nwanted != client->left)
		wrong(world, client, "a scan wants another number of chunks than its ranges touch");
	if (world->pool->scans[client->scan].needed != blocks_wanted(world, client))
		wrong(world, client, "a scan wants another number of blocks than its ranges have");
	trace(world, "arrive", client->scan, (int) client->left);
	world->families += client->ntables > 1;
	ask(world, client);
}

/* Is there something for a scan that waits? */
static bool
can_go_on(const World *world, const Client *client)
{
	return cscan_policies[client->policy]->choose_available(world->pool, client->scan) != CSCAN_NONE ||
		cscan_pool_has_refused(world->pool, client->scan);
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

		if (client->phase == CLIENT_BLOCKED && client->next == NEVER && can_go_on(world, client))
			client->next = world->now + random_below(&world->random, (uint32_t) world->sluggish + 1);
	}
}

/* ------------------------------------------------------------------
 * The manager
 * ------------------------------------------------------------------ */

/* How long a load takes: a tenth of the longest to get there, then block by block. */
static uint64_t
load_time(const World *world, uint32_t nblocks)
{
	return WORLD_LOAD / 10 + (uint64_t) (WORLD_LOAD - WORLD_LOAD / 10) * nblocks / world->largest;
}

/* It has found out whether a table may be loaded. */
static void
decide_access(World *world, int table)
{
	bool		refused = random_chance(&world->random, world->refuse_percent);

	world->decided_at[table] = NEVER;
	cscan_pool_set_access(world->pool, world->table[table], refused ? CSCAN_ACCESS_REFUSED : CSCAN_ACCESS_GRANTED);
	trace(world, "access", table, refused);
	wake(world);
}

static void
finish_load(World *world, int n)
{
	CScanAction act = world->inflight[n];
	bool		anew = world->anew[n];
	int			slot = act.slot;
	int			table = table_of(world, act.space);
	bool		failed = random_chance(&world->random, world->fail_percent);
	bool		cached = random_chance(&world->random, world->cached_percent);
	CScanRun	run = {0, 0, 0};

	world->ninflight--;
	world->inflight[n] = world->inflight[world->ninflight];
	world->anew[n] = world->anew[world->ninflight];
	world->done_at[n] = world->done_at[world->ninflight];
	trace(world, "loaded", slot, (int) act.chunk);

	/* What was there before a slot was filled anew may have been gone. */
	if (anew)
		forget(world, act.chunk);
	while (cscan_action_next_run(&act, &run))
		memset(world->loaded[table] + run.first, 1, run.end - run.first);
	world->failed[act.chunk] = failed;
	cscan_pool_loaded(world->pool, slot, world->now,
					  cached ? 0 : load_time(world, act.nblocks), failed, cached);
	check_wakeups(world, slot);
	wake(world);
	if (random_chance(&world->random, 50))
	{
		while ((slot = cscan_pool_useless(world->pool)) != CSCAN_NONE)
		{
			forget(world, world->pool->slots[slot].chunk);
			cscan_pool_drop(world->pool, slot);
		}
	}
}

/* Does the client, which is blocked, hold on to what is in that slot? */
static bool
holds(const CScanPool *pool, const Client *client, int slot)
{
	const CScanSlot *s = &pool->slots[slot];

	if (client->phase != CLIENT_BLOCKED || !cscan_pool_interested_in(pool, client->scan, s->space))
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

	for (int s = 0; s < pool->state->limits.max_slots; s++)
	{
		bool		taken = cscan_pool_in_use(pool, s);

		if (pool->slots[s].space == CSCAN_NONE || !pool->slots[s].held)
			continue;
		for (int i = 0; i < world->nclients && !taken; i++)
			taken = holds(pool, &world->clients[i], s);
		if (!taken)
			return false;
	}
	return true;
}

/* Does it wait to hear whether one of its tables may be loaded? */
static bool
waits_for_access(const World *world, const Client *client)
{
	for (int i = 0; i < client->ntables; i++)
	{
		if (world->decided_at[client->tables[i]] != NEVER)
			return true;
	}
	return false;
}

/*
 * Nothing is in flight and the pool wants nothing done.  A scan that waits
 * must then have a reason: it is about to wake up, it is not known yet whether its
 * tables may be loaded, all slots are taken, or it is on the elevator, which waits
 * for a reader.
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
			(client->phase == CLIENT_BLOCKED && (client->next != NEVER || waits_for_access(world, client)));
	}
	for (int i = 0; i < world->nclients; i++)
	{
		Client	   *client = &world->clients[i];

		if (client->phase != CLIENT_BLOCKED || client->next != NEVER || waits_for_access(world, client))
			continue;
		if (client->policy == CSCAN_POLICY_ELEVATOR && reads[client->policy])
			elevator_waits = true;
		else if (cscan_policies[client->policy]->traits.impatience > 0 && reads[client->policy])
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
		bool		expected = cscan_pool_wants_load(world->pool, world->now);

		for (int i = 0; i < world->pool->state->limits.max_slots; i++)
		{
			used[i] = cscan_pool_in_use(world->pool, i) || cscan_pool_in_flight(world->pool, i);
			there[i] = world->pool->slots[i].space != CSCAN_NONE;
			held[i] = there[i] && world->pool->slots[i].held;
		}
		cscan_pool_decide(world->pool, world->now, &act);
		if (act.kind != CSCAN_ACT_NOTHING && !expected)
			wrong(world, NULL, "the pool said that it wanted nothing");
		if (act.kind == CSCAN_ACT_NOTHING)
			break;
		if (act.kind == CSCAN_ACT_EVICT)
		{
			trace(world, "evict", act.slot, (int) act.chunk);
			if (used[act.slot])
				wrong(world, NULL, "a chunk was evicted that is used or in flight");
			forget(world, act.chunk);
			continue;
		}
		if (act.kind == CSCAN_ACT_UNPIN)
		{
			trace(world, "unpin", act.slot, (int) act.chunk);
			if (cscan_pool_in_flight(world->pool, act.slot))
				wrong(world, NULL, "a chunk was unpinned that is in flight");
			if (used[act.slot] && !cscan_pool_has_nothing(world->pool, act.scan))
				wrong(world, NULL, "a chunk in use was unpinned for a scan that has one");
			continue;
		}
		trace(world, "load", act.scan, (int) act.chunk);
		if (!cscan_pool_in_flight(world->pool, act.slot))
			wrong(world, NULL, "a load is not in flight");
		check_load(world, &act, held[act.slot]);
		world->blocks += act.nblocks;
		world->top_ups += held[act.slot];
		world->reloads += there[act.slot] && !held[act.slot];
		world->anew[world->ninflight] = there[act.slot] && !held[act.slot];
		world->inflight[world->ninflight] = act;
		world->done_at[world->ninflight++] = world->now +
			about(world, load_time(world, act.nblocks));
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
	int			table = -1;
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
	for (int i = 0; i < world->ntables; i++)
	{
		if (world->decided_at[i] < when)
		{
			when = world->decided_at[i];
			table = i;
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
	if (first == NULL && table >= 0)
		decide_access(world, table);
	else if (first == NULL)
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
	uint64_t	events = 0;

	cscan_pool_set_block_time(world->pool, (double) WORLD_LOAD / world->largest);
	for (int i = 0; i < world->nclients; i++)
		world->clients[i].next = random_below(&world->random, (uint32_t) world->clients[i].pause + 1);

	while (anybody_left(world) && world->wrong == NULL)
	{
		const char *broken = NULL;

		if (!next_event(world))
			wrong(world, NULL, "deadlock: scans are blocked and nothing will happen");
		manage(world);

		/* To look at all of it takes longer than all else. */
		if (events++ < WORLD_ALL_EVENTS || events % 4 == 0 || world->trace)
			broken = pool_check(world->pool);
		if (broken != NULL)
			wrong(world, NULL, broken);
		if (world->pool->state->nloads > world->max_loads)
			wrong(world, NULL, "a scan starves: too many loads");
	}
	return world->wrong == NULL;
}
