/*-------------------------------------------------------------------------
 *
 * test_pool.c
 *		Tables, scans and slots: what holds whatever the policy is.
 *
 *-------------------------------------------------------------------------
 */
#include "harness.h"

#include <stddef.h>

#define N	CSCAN_POLICY_NORMAL
#define R	CSCAN_POLICY_RELEVANCE

static void
test_chunk_blocks(void)
{
	CScanPool  *pool = pool_create(2, 16, 1024);
	uint32_t	blocks;
	bool		enough = true;

	is_int(cscan_pool_chunk_blocks(pool, 64, 10000), 64, "chunk_blocks: as preferred where that fits");
	is_int(cscan_pool_chunk_blocks(pool, 128, 10000), 128, "chunk_blocks: 8 slots are enough");
	is_int(cscan_pool_chunk_blocks(pool, 1000, 10000), 128, "chunk_blocks: fewer are not");
	cscan_pool_set_limits(pool, 3, 3);
	is_int(cscan_pool_chunk_blocks(pool, 64, 10000), 1, "chunk_blocks: at least one");
	is_int(cscan_pool_chunk_blocks(pool, 64, 0), 1, "chunk_blocks: of an empty table too");
	is_int(cscan_pool_chunk_blocks(pool, 64, CSCAN_MAX_CHUNKS), 1, "chunk_blocks: just as many chunks as there may be");
	is_int(cscan_pool_chunk_blocks(pool, 64, CSCAN_MAX_CHUNKS + 1), 2, "chunk_blocks: one more block makes them larger");
	blocks = cscan_pool_chunk_blocks(pool, 1, UINT32_MAX - 1);
	is_int(blocks, 65536, "chunk_blocks: of the largest table");
	for (uint32_t n = 1; n < UINT32_MAX / 3 * 2; n = n + n / 2 + 1)
		enough &= (n - 1) / cscan_pool_chunk_blocks(pool, 1, n) < CSCAN_MAX_CHUNKS;
	ok(enough, "chunk_blocks: never too many chunks");
	pool_free(pool);
}

static void
test_registering(void)
{
	CScanPool  *pool = pool_create(3, 16, 64);
	int			table = table_add(pool, 4);
	int			a = scan_all(pool, table, R, 9, 5);
	int			b;
	int			c;

	is_int(pool->scans[a].nwanted, 3, "a part of a chunk is a chunk; all of them are wanted");
	is_int((int64_t) pool->scans[a].needed, 9, "and all of their blocks");
	cscan_pool_unwant(pool, a, 1);
	cscan_pool_unwant(pool, a, 1);
	is_int(pool->scans[a].nwanted, 2, "unless taken out, which counts once");
	is_int((int64_t) pool->scans[a].needed, 5, "with its blocks");
	ok(!cscan_pool_wants(pool, a, 1) && !cscan_pool_wants(pool, a, 3), "that one is not, nor one past the end");
	is_int(cscan_pool_next_wanted(pool, a, 1), 2, "the next wanted one");
	is_int(cscan_pool_next_wanted(pool, a, 3), 0, "goes round");
	cscan_pool_unwant(pool, a, 2);
	is_int((int64_t) pool->scans[a].needed, 4, "of a part of a chunk only its blocks count");
	b = scan_all(pool, table, R, 4 * 128, 5);
	is_int(pool->scans[b].nwanted, 128, "whole words of the map");
	ok(cscan_pool_wants(pool, b, 127) && !cscan_pool_wants(pool, b, 128), "up to the last one");
	is_int(pool->spaces[table].extent, 512, "the table is as long as its longest scan says");
	c = scan_all(pool, table, R, 0, 5);
	is_int(cscan_pool_choose(pool, c, CSCAN_NONE, 6), CSCAN_NONE, "an empty scan gets nothing");
	ok(!pool->scans[c].blocked, "and has finished at once");
	is_int(scan_all(pool, table, R, 9, 5), CSCAN_NONE, "no room for a fourth");
	cscan_pool_unregister(pool, b);
	is_int(pool->spaces[table].extent, 512, "the longest scan has gone: the table stays as long");
	is_int(scan_all(pool, table, R, 9, 5), b, "so there is room");
	is_int(pool->spaces[table].nscans, 3, "for a third scan");
	for (int i = 0; i < 3; i++)
		cscan_pool_unregister(pool, i);
	is_int(pool->spaces[table].nscans, 0, "all have gone");
	a = scan_all(pool, table, R, 9, 6);
	is_int(pool->spaces[table].extent, 9, "the next one's table is as long as it says");
	ok(pool_check(pool) == NULL, "the pool is sound");
	pool_free(pool);
}

/* Announcing, resting, and starting anew. */
static void
test_life(void)
{
	CScanPool  *pool = pool_create(3, 16, 64);
	int			table = table_add(pool, 4);
	int			a = cscan_pool_register(pool, R, 5);
	int			b;
	CScanRange	range = {4, 10};

	ok(pool->scans[a].used && !pool->scans[a].started, "registered, but not started");
	is_int(pool->scans[a].since, 5, "since it registered");
	is_int(pool->spaces[table].nscans, 0, "it is no table's scan yet");
	announce_all(pool, a, table, 20);
	is_int(pool->spaces[table].nscans, 1, "it has announced its interest: it is one of the table's");
	is_int(pool->spaces[table].extent, 20, "which is as long as it says");
	is_int(cscan_pool_scan_of(pool, table, 0), a, "it is its first one");
	is_int(cscan_pool_running(pool), 0, "but it does not count");
	is_int(cscan_pool_interested(pool, 2), 0, "nor is it interested in a chunk");
	is_int(decide(pool, 6).kind, CSCAN_ACT_NOTHING, "nothing is loaded for it");
	ok(pool_check(pool) == NULL, "the pool is sound while it announces");
	chunk_put(pool, 4, 6);
	is_int(pool->scans[a].available, 0, "nor does what is loaded now count");
	ok(pool_check(pool) == NULL, "the pool is sound then");
	cscan_pool_start(pool, a, 7);
	is_int(pool->scans[a].ready, 1, "until it starts");
	cscan_pool_drop(pool, cscan_pool_find(pool, 4));
	is_int(pool->scans[a].since, 7, "it starts: since then");
	is_int(pool->scans[a].nwanted, 5, "with five chunks");
	is_int(cscan_pool_running(pool), 1, "it counts");
	is_int(load_one(pool, 8), 0, "and is served");
	is_int(use_next(pool, a, 9), 0, "as here");
	is_int(pool->slots[pool->scans[a].in_use].users, 1, "it uses a chunk");

	cscan_pool_rest(pool, a, 20);
	ok(pool->scans[a].used && !pool->scans[a].started, "at rest it is there, but not started");
	is_int(pool->scans[a].nwanted, 0, "it wants no chunk");
	is_int((int64_t) pool->scans[a].needed, 0, "and no block");
	is_int(pool->scans[a].in_use, CSCAN_NONE, "it has given back its chunk");
	is_int(pool->slots[cscan_pool_find(pool, 0)].users, 0, "which nobody uses");
	is_int(pool->scans[a].since, 20, "since it rests");
	is_int(pool->spaces[table].nscans, 1, "it stays one of the table's");
	is_int(cscan_pool_running(pool), 0, "it does not count");
	ok(pool_check(pool) == NULL, "the pool is sound while it rests");

	cscan_pool_announce(pool, a, table, 24, &range, 1);
	is_int(pool->spaces[table].nscans, 1, "announcing again it is not another one");
	is_int(pool->spaces[table].extent, 24, "the table has grown meanwhile");
	cscan_pool_start(pool, a, 30);
	is_int(pool->scans[a].nwanted, 2, "now it wants two chunks");
	is_int((int64_t) pool->scans[a].needed, 6, "of six blocks");
	is_int(pool->scans[a].since, 30, "since it started again");
	is_int(use_next(pool, a, 31), CSCAN_NO_CHUNK, "it waits");
	ok(pool->scans[a].blocked && pool->scans[a].waiting, "it is blocked");
	cscan_pool_rest(pool, a, 40);
	ok(!pool->scans[a].blocked && !pool->scans[a].waiting, "at rest it is not");
	is_int(decide(pool, 41).kind, CSCAN_ACT_NOTHING, "nor is it served");

	b = scan_all(pool, table, R, 20, 50);
	ok(pool_check(pool) == NULL, "another one beside it");
	cscan_pool_unregister(pool, a);
	is_int(pool->spaces[table].nscans, 1, "the one at rest goes");
	is_int(cscan_pool_scan_of(pool, table, 0), b, "the other stays");
	a = cscan_pool_register(pool, R, 60);
	announce_all(pool, a, table, 20);
	cscan_pool_unregister(pool, a);
	is_int(pool->spaces[table].nscans, 1, "one that has not started may go, too");
	ok(pool_check(pool) == NULL, "the pool is sound after all that");
	pool_free(pool);
}

/* The table grows between two registrations. */
static void
test_partial(uint32_t grown, const char *name)
{
	CScanPool  *pool = pool_create(4, 16, 64);
	int			table = table_add(pool, 8);
	int			a = scan_add(pool, table, R, 10, 1, 1, 0);
	int			b;
	int			slot;
	CScanAction act = decide(pool, 0);

	is_int(first_run(&act).first, 8, "%s: the last chunk", name);
	is_int(act.nblocks, 2, "%s: as far as it goes", name);
	is_int(pool->state->used, 2, "%s: takes as much room", name);
	slot = act.slot;

	b = scan_add(pool, table, R, grown, 1, 1, 1);
	is_int(decide(pool, 1).kind, CSCAN_ACT_NOTHING, "%s: in flight, so the rest has to wait", name);
	cscan_pool_loaded(pool, slot, 2, 1000, false, false);
	ok(cscan_pool_ready_for(pool, slot, a), "%s: ready for who saw the table as it was", name);
	ok(!cscan_pool_ready_for(pool, slot, b), "%s: not for who saw it grown", name);
	ok(cscan_pool_absent_for(pool, b, 1), "%s: who finds it absent", name);
	is_int(use_next(pool, b, 3), CSCAN_NO_CHUNK, "%s: and is blocked", name);

	act = decide(pool, 4);
	is_int(act.kind, CSCAN_ACT_LOAD, "%s: a top-up", name);
	is_int(act.slot, slot, "%s: of the same slot", name);
	is_int(first_run(&act).first, 10, "%s: from where it ended", name);
	is_int(act.nblocks, (grown < 16 ? grown : 16) - 10, "%s: to where it ends now", name);
	ok(cscan_pool_in_flight(pool, slot), "%s: in flight again", name);
	is_int(use_next(pool, a, 5), 1, "%s: what was ready is so all the while", name);
	cscan_pool_loaded(pool, slot, 6, 1000, false, false);
	is_int(use_next(pool, b, 7), 1, "%s: now both have it", name);
	is_int(pool->state->used, (grown < 16 ? grown : 16) - 8, "%s: its room has grown", name);
	ok(pool_check(pool) == NULL, "%s: the pool is sound", name);
	pool_free(pool);
}

static void
test_failed(void)
{
	CScanPool  *pool = pool_create(4, 16, 64);
	int			table = table_add(pool, 1);
	int			a = scan_add(pool, table, R, 4, 0, 0, 0);
	CScanAction act;

	cscan_pool_choose(pool, a, CSCAN_NONE, 0);
	act = decide(pool, 0);
	cscan_pool_loaded(pool, act.slot, 1, 0, true, false);
	is_int(use_next(pool, a, 2), 0, "failed: handed out all the same");
	ok(pool->slots[act.slot].failed, "failed: so that its reader knows");
	is_int(cscan_pool_useless(pool), CSCAN_NONE, "failed: not useless while it is in use");
	use_next(pool, a, 3);
	is_int(cscan_pool_useless(pool), act.slot, "failed: useless after that");
	cscan_pool_drop(pool, act.slot);
	is_int(pool->state->used, 0, "failed: dropped");
	cscan_pool_drop(pool, act.slot);
	is_int(pool->state->used, 0, "dropping it twice does no harm");
	pool_free(pool);
}

/* Which chunks that several scans share are absent?  A look costs the same however many spaces there are. */
static void
test_shared_absent(void)
{
	CScanPool  *pool = pool_create(4, 8, 8);
	int			alone[3];
	int			shared;
	uint32_t	next = 0;
	uint32_t	chunks[4];

	for (int i = 0; i < 3; i++)
	{
		alone[i] = table_add_sized(pool, 1, 10);
		(void) scan_add(pool, alone[i], R, 10, 0, 9, 0);
	}
	is_int(cscan_pool_shared_absent(pool, &next, chunks, 2), 0, "shared, absent: no space has two scans");
	is_int(next, 20, "shared, absent: two looks are two spaces");
	shared = table_add_sized(pool, 1, 10);
	(void) scan_add(pool, shared, R, 10, 4, 9, 0);
	is_int(cscan_pool_shared_absent(pool, &next, chunks, 4), 0, "shared, absent: one scan is none");
	is_int(next, 0, "shared, absent: then it begins anew");
	cscan_pool_unregister(pool, 0);
	(void) scan_add(pool, shared, CSCAN_POLICY_ELEVATOR, 10, 6, 8, 0);
	chunk_put(pool, 36, 1);
	is_int(cscan_pool_shared_absent(pool, &next, chunks, 4), 2, "shared, absent: with two scans there are some");
	ok(chunks[0] == 34 && chunks[1] == 35 && next == 36, "shared, absent: those that one of them wants");
	is_int(cscan_pool_shared_absent(pool, &next, chunks, 4), 3, "shared, absent: and then the others");
	ok(chunks[0] == 37 && chunks[2] == 39, "shared, absent: but for what is in a slot");
	pool_free(pool);
}

static void
test_cached(void)
{
	CScanPool  *pool = pool_create(4, 16, 64);
	int			table = table_add(pool, 1);
	int			a = scan_add(pool, table, R, 4, 0, 1, 0);
	int			b = scan_add(pool, table, R, 4, 0, 0, 0);
	int			cached = decide(pool, 0).slot;
	int			read = decide(pool, 0).slot;
	double		block_time;

	block_time = pool->state->block_time;
	cscan_pool_loaded(pool, cached, 1, 0, false, true);
	ok(pool->state->block_time == block_time, "cached: its time does not count");
	cscan_pool_loaded(pool, read, 1, (uint64_t) block_time + 800, false, false);
	is_double(pool->state->block_time, block_time + 100, "read: a moving average, by one eighth");
	use_next(pool, a, 2);
	use_next(pool, a, 3);
	use_next(pool, a, 4);
	is_int(cscan_pool_useless(pool), CSCAN_NONE, "cached: of use while somebody wants it");
	use_next(pool, b, 5);
	is_int(cscan_pool_useless(pool), CSCAN_NONE, "cached: or reads it");
	cscan_pool_set_stalled(pool, b, true);
	is_int(cscan_pool_useless(pool), cached, "cached: not for one that is stalled");
	cscan_pool_set_stalled(pool, b, false);
	use_next(pool, b, 6);
	is_int(cscan_pool_useless(pool), cached, "cached: useless then; what was read is worth keeping");
	is_int(cscan_pool_release(pool), cached < read ? cached : read, "but is not held on to");
	is_int(cscan_pool_release(pool), cached < read ? read : cached, "nor is the other one");
	is_int(cscan_pool_release(pool), CSCAN_NONE, "and that is all");
	is_int(pool->state->used, 0, "what is not held does not count against the budget");
	is_int(pool->state->total, 2, "it is remembered though");
	scan_add(pool, table, R, 4, 1, 1, 7);
	is_int(cscan_pool_hold(pool), read, "and held again when it is wanted");
	is_int(cscan_pool_hold(pool), CSCAN_NONE, "that one alone");
	ok(pool_check(pool) == NULL, "the pool is sound");
	pool_free(pool);
}

static void
test_take(CScanPolicyId policy, const char *name)
{
	CScanPool  *pool = pool_create(4, 16, 64);
	int			table = table_add(pool, 1);
	int			a = scan_add(pool, table, policy, 6, 1, 3, 0);
	uint32_t	chunk;

	cscan_pool_choose(pool, a, CSCAN_NONE, 1);
	chunk_put(pool, 1, 2);
	chunk_begin(pool, 2, 2);
	ok(cscan_pool_take(pool, a, CSCAN_NONE, 9, &chunk), "%s, take: there is one", name);
	is_int(chunk, 3, "%s, take: rather one that is not there nor in flight", name);
	ok(!pool->scans[a].blocked, "%s, take: it is blocked no more", name);
	is_int(pool->scans[a].since, 9, "%s, take: since then", name);
	is_int(pool->scans[a].nwanted, 2, "%s, take: it is needed no more", name);
	ok(cscan_pool_take(pool, a, CSCAN_NONE, 10, &chunk) && chunk == 1, "%s, take: then in order, going round", name);
	ok(cscan_pool_take(pool, a, CSCAN_NONE, 11, &chunk) && chunk == 2, "%s, take: to the last", name);
	ok(!cscan_pool_take(pool, a, CSCAN_NONE, 12, &chunk), "%s, take: then none", name);
	pool_free(pool);
}

static void
test_stalled(void)
{
	CScanPool  *pool = pool_create(4, 2, 2);
	int			table = table_add(pool, 1);
	int			idle = scan_add(pool, table, R, 20, 0, 3, 0);
	int			b;
	CScanAction act;

	load_one(pool, 0);
	load_one(pool, 0);
	use_next(pool, idle, 1);
	b = scan_add(pool, table, R, 20, 10, 19, 2);
	cscan_pool_choose(pool, b, CSCAN_NONE, 2);
	cscan_pool_set_stalled(pool, idle, true);
	is_int(cscan_pool_interested(pool, 2), 0, "stalled: not interested");
	ok(!cscan_pool_in_use(pool, pool->scans[idle].in_use), "stalled: does not use its chunk");
	cscan_pool_decide(pool, 3, &act);
	is_int(act.kind, CSCAN_ACT_EVICT, "stalled: what it holds");
	cscan_pool_decide(pool, 3, &act);
	cscan_pool_loaded(pool, act.slot, 3, 0, false, false);
	use_next(pool, b, 3);
	cscan_pool_decide(pool, 3, &act);
	is_int(act.kind, CSCAN_ACT_EVICT, "stalled: all of it may go");
	is_int(pool->scans[idle].in_use, CSCAN_NONE, "stalled: it goes on without");
	is_int(pool->scans[idle].nwanted, 3, "stalled: its chunk was handed out once");
	use_next(pool, idle, 4);
	ok(!pool->scans[idle].stalled, "stalled: until it next asks for a chunk");
	pool_free(pool);
}

static void
test_two_tables(void)
{
	CScanPool  *pool = pool_create(4, 16, 8);
	int			small = table_add(pool, 2);
	int			large = table_add(pool, 4);
	int			a = scan_add(pool, small, R, 20, 0, 9, 0);
	int			b = scan_add(pool, large, R, 20, 0, 1, 0);
	uint32_t	first = pool->spaces[large].first_chunk;
	CScanAction act;

	is_int(first, TABLE_CHUNKS, "two tables: the chunks of the other are numbered behind those of one");
	act = decide(pool, 0);
	is_int(act.space, large, "two tables: the most relevant scan wins across them");
	is_int(first_run(&act).first, 0, "two tables: its first block");
	cscan_pool_loaded(pool, act.slot, 0, 0, false, false);
	act = decide(pool, 0);
	is_int(act.space, large, "two tables: as long as it is starved");
	cscan_pool_loaded(pool, act.slot, 0, 0, false, false);
	cscan_pool_choose(pool, a, CSCAN_NONE, 1);
	is_int(decide(pool, 1).kind, CSCAN_ACT_LOAD, "two tables: the other's turn");
	ok(cscan_pool_find(pool, 0) != CSCAN_NONE, "two tables: chunk 0 of one");
	is_int(cscan_pool_find(pool, first), CSCAN_NONE, "two tables: is not chunk 0 of the other, which went");
	ok(pool_check(pool) == NULL, "two tables: one budget for both");
	cscan_pool_unregister(pool, b);
	cscan_pool_remove_space(pool, large);
	is_int(pool->state->total, 2, "a table that goes takes its chunks with it");
	ok(pool_check(pool) == NULL, "the pool is sound");
	is_int(cscan_pool_add_space(pool, 1, 10, 0), large, "its place is free");
	is_int(pool->spaces[large].access, CSCAN_ACCESS_UNKNOWN, "a new table may not be loaded from yet");
	pool_free(pool);
}

/* A smaller budget: what is there goes before anything is loaded. */
static void
test_budget(void)
{
	CScanPool  *pool = pool_create(4, 16, 8);
	int			table = table_add(pool, 1);
	CScanAction act;
	int			evicted = 0;

	for (uint32_t c = 0; c < 8; c++)
		chunk_put(pool, c, c);
	scan_add(pool, table, R, 20, 10, 19, 9);
	cscan_pool_set_limits(pool, 4, 4);
	for (;;)
	{
		cscan_pool_decide(pool, 10, &act);
		if (act.kind != CSCAN_ACT_EVICT)
			break;
		evicted++;
	}
	is_int(evicted, 5, "a smaller budget: what is too much goes, and one more");
	is_int(act.kind, CSCAN_ACT_LOAD, "a smaller budget: then there is room");
	ok(pool_check(pool) == NULL, "a smaller budget: is kept to");
	cscan_pool_set_limits(pool, 0, 0);
	ok(decide(pool, 11).kind == CSCAN_ACT_NOTHING, "no budget: no loads");
	pool_free(pool);
}

/* Shrink as far as possible: the number of steps, and the slots in their order. */
static int
shrink(CScanPool *pool, CScanActionKind kind, int *slots)
{
	CScanAction act;
	int			n = 0;

	for (;;)
	{
		cscan_pool_shrink(pool, &act);
		if (act.kind == CSCAN_ACT_NOTHING)
			return n;
		is_int(act.kind, kind, "shrink: pins before slots");
		slots[n++] = act.slot;
	}
}

static void
test_shrink(void)
{
	CScanPool  *pool = pool_create(4, 16, 64);
	int			table = table_add(pool, 1);
	int			slots[16];
	int			used;
	int			wanted;
	int			wanted_twice;
	int			unwanted;
	int			in_flight;

	cscan_pool_set_limits(pool, 64, 64);
	used = chunk_put(pool, 0, 1);
	scan_add(pool, table, R, 4, 0, 0, 2);
	cscan_pool_choose(pool, 0, CSCAN_NONE, 3);
	wanted_twice = chunk_put(pool, 1, 4);
	wanted = chunk_put(pool, 2, 5);
	unwanted = chunk_put(pool, 3, 6);
	in_flight = chunk_begin(pool, 4, 7);
	scan_add(pool, table, R, 4, 1, 2, 8);
	scan_add(pool, table, R, 4, 1, 1, 9);

	is_int(shrink(pool, CSCAN_ACT_UNPIN, slots), 0, "shrink: not below the limits");
	cscan_pool_set_limits(pool, 3, 64);
	is_int(shrink(pool, CSCAN_ACT_UNPIN, slots), 2, "shrink: as many pins as need be");
	ok(slots[0] == unwanted && slots[1] == wanted, "shrink: what nobody wants, then what fewer scans want");
	is_int(pool->state->total, 5, "shrink: the slots stay");
	cscan_pool_set_limits(pool, 0, 64);
	is_int(shrink(pool, CSCAN_ACT_UNPIN, slots), 2, "shrink: all pins but that of a load");
	ok(slots[0] == wanted_twice && slots[1] == used, "shrink: what is in use comes last");
	is_int(cscan_pool_hold(pool), CSCAN_NONE, "shrink: nothing is pinned again");
	cscan_pool_loaded(pool, in_flight, 10, 0, false, false);
	is_int(shrink(pool, CSCAN_ACT_UNPIN, slots), 1, "shrink: when the load has ended, its pin, too");
	cscan_pool_set_limits(pool, 0, 0);
	is_int(shrink(pool, CSCAN_ACT_EVICT, slots), 4, "shrink: slots that exceed the room go");
	is_int(pool->state->total, 1, "shrink: but not one in use");
	is_int(pool->scans[0].in_use, used, "shrink: which its reader keeps");
	cscan_pool_set_limits(pool, 64, 64);
	ok(pool_check(pool) == NULL, "shrink: the pool is sound");
	pool_free(pool);
}

void
test_pool(void)
{
	test_chunk_blocks();
	test_registering();
	test_life();
	test_partial(13, "grown");
	test_partial(16, "grown to the full");
	test_partial(40, "grown by chunks");
	test_failed();
	test_shared_absent();
	test_cached();
	test_take(R, "relevance");
	test_take(N, "normal");
	test_stalled();
	test_two_tables();
	test_budget();
	test_shrink();
}
