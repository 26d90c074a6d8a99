/*-------------------------------------------------------------------------
 *
 * test_helpers.c
 *		Several processes that read for one scan.
 *
 *-------------------------------------------------------------------------
 */
#include "harness.h"

#include <stddef.h>
#include <string.h>

#include "relevance.h"

#define R	CSCAN_POLICY_RELEVANCE

static uint32_t
use_as(CScanPool *pool, int scan, int helper, uint64_t now)
{
	int			slot = cscan_pool_choose(pool, scan, helper, now);

	return slot == CSCAN_NONE ? CSCAN_NO_CHUNK : pool->slots[slot].chunk;
}

static void
test_coming_and_going(void)
{
	CScanPool  *pool = pool_create(2, 8, 8);
	int			table = table_add(pool, 1);
	int			scan = scan_add(pool, table, R, 8, 0, 7, 0);
	int			helpers[MAX_HELPERS];
	int			again;

	for (int i = 0; i < MAX_HELPERS; i++)
		helpers[i] = cscan_pool_join(pool, scan);
	is_int(pool->scans[scan].nhelpers, MAX_HELPERS, "join: all of them");
	is_int(cscan_pool_join(pool, scan), CSCAN_NONE, "join: there is no room for more");
	is_int(cscan_pool_running(pool), 1, "they are one scan");
	is_int(cscan_pool_interested(pool, 3), 1, "which is interested once");
	cscan_pool_quit(pool, helpers[3]);
	is_int(pool->scans[scan].nhelpers, MAX_HELPERS - 1, "quit: one less");
	is_int(cscan_pool_join(pool, scan), helpers[3], "quit: its place is free");

	cscan_pool_unregister(pool, scan);
	is_int(pool->helpers[helpers[0]].scan, CSCAN_NONE, "the owner leaves: its helpers can see it");
	again = scan_add(pool, table, R, 8, 0, 7, 0);
	is_int(again, scan, "another scan takes the entry");
	is_int(pool->scans[again].nhelpers, 0, "and has no helpers");
	is_int(cscan_pool_join(pool, again), CSCAN_NONE, "the places are still taken");
	for (int i = 0; i < MAX_HELPERS; i++)
		cscan_pool_quit(pool, helpers[i]);
	is_int(pool->scans[again].nhelpers, 0, "who quits later takes nothing from it");
	is_int(pool->state->nhelpers, 0, "all places are free");
	pool_free(pool);
}

static void
test_starved(void)
{
	CScanPool  *pool = pool_create(2, 8, 8);
	int			table = table_add(pool, 1);
	int			scan = scan_add(pool, table, R, 8, 0, 7, 0);
	int			a = cscan_pool_join(pool, scan);
	int			b = cscan_pool_join(pool, scan);

	for (uint32_t c = 0; c < 3; c++)
		chunk_put(pool, c, c);
	is_int(pool->scans[scan].available, 3, "three chunks are available");
	ok(cscan_pool_starved(pool, scan), "three processes are starved with three chunks");
	is_int(cscan_relevance_load(pool, 5), 1 * (pool->state->limits.max_scans + 1) + 1,
		   "loadRelevance counts it as a starved one");
	chunk_put(pool, 3, 3);
	ok(!cscan_pool_starved(pool, scan), "with four they are not");
	is_int(cscan_relevance_keep(pool, 5), 1 * (pool->state->limits.max_scans + 1) + 1,
		   "but almost: keepRelevance");

	is_int(use_as(pool, scan, a, 10), 0, "one takes the first");
	is_int(use_as(pool, scan, CSCAN_NONE, 11), 1, "the owner the second");
	is_int(use_as(pool, scan, b, 12), 2, "another one the third");
	is_int(pool->scans[scan].using, 3, "three are in use");
	is_int(pool->scans[scan].available, 4, "and are available still");
	is_int(cscan_pool_users(pool, cscan_pool_find(pool, 0)), 1, "each by one process");
	ok(cscan_pool_in_use(pool, cscan_pool_find(pool, 2)), "a helper's chunk is in use");
	is_int(use_as(pool, scan, a, 13), 3, "what it has done it gives back");
	ok(!cscan_pool_in_use(pool, cscan_pool_find(pool, 0)), "so that it may go");
	ok(cscan_pool_starved(pool, scan) && cscan_pool_has_absent(pool, scan), "now more is needed");
	cscan_pool_drop(pool, cscan_pool_find(pool, 3));
	is_int(pool->helpers[a].in_use, CSCAN_NONE, "a slot that goes is used by nobody");
	cscan_pool_quit(pool, b);
	ok(!cscan_pool_in_use(pool, cscan_pool_find(pool, 2)), "nor is what a helper had that quits");
	pool_free(pool);
}

/*
 * A scan that waits for a second chunk may not evict what a starved scan wants.
 * One behind it has nothing at all: it may.
 */
static void
test_unservable(CScanPolicyId policy)
{
	CScanPool  *pool = pool_create(3, 3, 3);
	int			table = table_add(pool, 1);
	int			first = scan_add(pool, table, policy, 20, 0, 1, 0);
	int			reader = scan_add(pool, table, policy, 20, 10, 15, 0);
	int			empty;
	int			helper = cscan_pool_join(pool, first);
	CScanAction act;

	(void) cscan_pool_join(pool, reader);
	chunk_put(pool, 0, 1);
	chunk_put(pool, 10, 2);
	chunk_put(pool, 11, 3);
	(void) use_as(pool, first, CSCAN_NONE, 4);
	(void) use_as(pool, reader, CSCAN_NONE, 5);
	is_int(use_as(pool, first, helper, 6), CSCAN_NO_CHUNK, "%s: a helper waits", policy_label(policy));
	act = decide(pool, 7);
	is_int(act.kind, CSCAN_ACT_NOTHING, "%s: it cannot be served", policy_label(policy));
	empty = scan_add(pool, table, policy, 20, 16, 19, 8);
	is_int(use_as(pool, empty, CSCAN_NONE, 8), CSCAN_NO_CHUNK, "%s: another scan has nothing", policy_label(policy));
	act = decide(pool, 9);
	ok(act.kind == CSCAN_ACT_LOAD && act.scan == empty && act.chunk == 16,
	   "%s: it is not held up", policy_label(policy));
	pool_free(pool);
}

/* Readers of every slot hold up nobody, as long as only pins are to go. */
static void
test_all_in_use(CScanPolicyId policy, uint32_t room)
{
	CScanPool  *pool = pool_create(4, 8, 3);
	int			table = table_add(pool, 1);
	int			empty;
	CScanAction act;

	cscan_pool_set_limits(pool, 3, room);
	for (uint32_t i = 0; i < 3; i++)
	{
		int			reader = scan_add(pool, table, policy, 20, 4 * i, 4 * i + 3, 0);

		chunk_put(pool, 4 * i, 1 + i);
		(void) use_as(pool, reader, CSCAN_NONE, 10 + i);
	}
	empty = scan_add(pool, table, policy, 20, 16, 19, 20);
	act = decide(pool, 21);
	is_int(act.kind, CSCAN_ACT_NOTHING, "%s: nobody waits, nothing goes", policy_label(policy));
	(void) use_as(pool, empty, CSCAN_NONE, 22);
	cscan_pool_decide(pool, 23, &act);
	if (room > 3)
	{
		ok(act.kind == CSCAN_ACT_UNPIN && act.chunk == 0, "%s: the chunk handed out first is unpinned", policy_label(policy));
		cscan_pool_decide(pool, 24, &act);
		ok(act.kind == CSCAN_ACT_LOAD && act.chunk == 16, "%s: the scan gets its own", policy_label(policy));
		is_int(pool->scans[0].in_use, cscan_pool_find(pool, 0), "%s: its reader goes on", policy_label(policy));
	}
	else
		is_int(act.kind, CSCAN_ACT_NOTHING, "%s: without room nothing in use goes", policy_label(policy));
	pool_free(pool);
}

static void
test_blocked(void)
{
	CScanPool  *pool = pool_create(2, 8, 8);
	int			table = table_add(pool, 1);
	int			scan = scan_add(pool, table, R, 8, 0, 7, 0);
	int			a = cscan_pool_join(pool, scan);
	uint32_t	chunk;

	is_int(use_as(pool, scan, a, 10), CSCAN_NO_CHUNK, "a helper finds nothing");
	ok(pool->scans[scan].blocked && pool->scans[scan].since == 10, "the scan is blocked since then");
	is_int(use_as(pool, scan, CSCAN_NONE, 20), CSCAN_NO_CHUNK, "nor does the owner");
	ok(pool->scans[scan].blocked && pool->scans[scan].since == 10, "since the first of them asked");
	chunk_put(pool, 0, 30);
	is_int(use_as(pool, scan, CSCAN_NONE, 40), 0, "the owner gets one");
	ok(pool->scans[scan].blocked, "the scan is blocked while the helper waits");
	ok(cscan_pool_take(pool, scan, a, 50, &chunk) && chunk == 1, "which takes one by itself");
	ok(!pool->scans[scan].blocked && pool->scans[scan].since == 50, "then nobody waits");
	is_int(use_as(pool, scan, a, 60), CSCAN_NO_CHUNK, "it waits again");
	cscan_pool_quit(pool, a);
	ok(!pool->scans[scan].blocked, "and gives up");
	pool_free(pool);
}

/*
 * Scans with helpers that come, read, wait and go at random: each chunk is
 * handed out once to each scan, and all of them finish.
 */
static void
test_at_random(uint64_t seed)
{
	enum
	{
		SCANS = 4, CHUNKS = 40
	};
	Random		random = {seed};
	CScanPool  *pool = pool_create(SCANS, 12, 8 + random_below(&random, 5));
	int			table = table_add(pool, 1);
	int			scans[SCANS];
	bool		had[SCANS][CHUNKS];
	int			in_flight = CSCAN_NONE;
	int			left = SCANS;
	bool		twice = false;
	const char *broken = NULL;
	int			steps;

	memset(had, 0, sizeof(had));
	for (int i = 0; i < SCANS; i++)
		scans[i] = scan_add(pool, table, (CScanPolicyId) random_below(&random, CSCAN_NPOLICIES),
							CHUNKS, 0, CHUNKS - 1, (uint64_t) i);

	for (steps = 0; steps < 20000 && left > 0 && broken == NULL; steps++)
	{
		uint64_t	now = 1000 + (uint64_t) steps;
		int			i = (int) random_below(&random, SCANS);
		int			helper = CSCAN_NONE;
		uint32_t	chunk;

		if (in_flight != CSCAN_NONE && random_chance(&random, 50))
		{
			cscan_pool_loaded(pool, in_flight, now, 100, random_chance(&random, 2), false);
			in_flight = CSCAN_NONE;
		}
		if (in_flight == CSCAN_NONE)
		{
			CScanAction act = decide(pool, now);

			if (act.kind == CSCAN_ACT_LOAD)
				in_flight = act.slot;
		}
		if (scans[i] == CSCAN_NONE)
			continue;

		if (random_chance(&random, 3))
			(void) cscan_pool_join(pool, scans[i]);
		for (int h = 0; h < MAX_HELPERS; h++)
		{
			if (pool->helpers[h].used && pool->helpers[h].scan == scans[i] &&
				random_chance(&random, 40))
				helper = h;
		}
		if (helper != CSCAN_NONE && random_chance(&random, 3))
		{
			cscan_pool_quit(pool, helper);
			helper = CSCAN_NONE;
		}
		if (!random_chance(&random, 5) ||
			!cscan_pool_take(pool, scans[i], helper, now, &chunk))
			chunk = use_as(pool, scans[i], helper, now);
		if (chunk != CSCAN_NO_CHUNK)
		{
			twice |= had[i][chunk];
			had[i][chunk] = true;
		}
		else if (pool->scans[scans[i]].nwanted == 0)
		{
			cscan_pool_unregister(pool, scans[i]);
			scans[i] = CSCAN_NONE;
			left--;
		}
		for (int h = 0; h < MAX_HELPERS; h++)
		{
			if (pool->helpers[h].used && pool->helpers[h].scan == CSCAN_NONE)
				cscan_pool_quit(pool, h);
		}
		broken = pool_check(pool);
	}
	for (int i = 0; i < SCANS; i++)
	{
		for (int c = 0; c < CHUNKS; c++)
			twice |= !had[i][c];
	}
	ok(left == 0 && !twice && broken == NULL && pool->state->nhelpers == 0,
	   "at random, seed %u: each chunk once, and all finish (%d steps%s%s)",
	   (unsigned) seed, steps, broken ? ", " : "", broken ? broken : "");
	pool_free(pool);
}

void
test_helpers(void)
{
	test_coming_and_going();
	test_starved();
	test_unservable(R);
	test_unservable(CSCAN_POLICY_DEMAND);
	test_all_in_use(R, 6);
	test_all_in_use(R, 3);
	test_all_in_use(CSCAN_POLICY_DEMAND, 6);
	test_all_in_use(CSCAN_POLICY_NORMAL, 6);
	test_blocked();
	for (uint64_t seed = 1; seed <= 20; seed++)
		test_at_random(seed);
}
