/*-------------------------------------------------------------------------
 *
 * test_mixed.c
 *		Several policies in one pool: the longest blocked scan is served, what
 *		other policies protect goes last, and nobody holds up the others.
 *
 *-------------------------------------------------------------------------
 */
#include "harness.h"

#include <stddef.h>

#define N	CSCAN_POLICY_NORMAL
#define E	CSCAN_POLICY_ELEVATOR
#define R	CSCAN_POLICY_RELEVANCE

static void
test_longest_blocked(void)
{
	static const CScanPolicyId policies[] = {N, CSCAN_POLICY_ATTACH, E, R, CSCAN_POLICY_DEMAND};
	enum
	{
		n = sizeof(policies) / sizeof(policies[0])
	};

	/* Whichever of them waits longest is served first. */
	for (int first = 0; first < n; first++)
	{
		CScanPool  *pool = pool_create(8, 16, 16);
		int			table = table_add(pool, 1);
		int			scans[n];

		for (int i = 0; i < n; i++)
			scans[i] = scan_add(pool, table, policies[i], 10 * n, 10 * i, 10 * i + 9, 0);
		for (int i = 0; i < n; i++)
			cscan_pool_choose(pool, scans[i], CSCAN_NONE, 100 + (i + n - first) % n);
		is_int(decide(pool, 200).scan, scans[first], "mixed: %s has been blocked longest",
			   cscan_policies[policies[first]]->name);
		pool_free(pool);
	}
}

static void
test_blocked_first(void)
{
	CScanPool  *pool = pool_create(8, 16, 16);
	int			table = table_add(pool, 1);
	int			reads = scan_add(pool, table, R, 40, 0, 1, 0);
	int			waits = scan_add(pool, table, N, 40, 20, 39, 0);

	chunk_put(pool, 0, 0);
	use_next(pool, reads, 1);
	cscan_pool_choose(pool, waits, CSCAN_NONE, 50);
	is_int(decide(pool, 60).scan, waits, "mixed: who waits goes before who reads, though starved for longer");
	pool_free(pool);
}

/* What others protect goes last, but it goes. */
static void
test_protected(void)
{
	CScanPool  *pool = pool_create(8, 3, 3);
	int			table = table_add(pool, 1);
	int			n;
	CScanAction act;

	scan_add(pool, table, E, 40, 0, 0, 0);
	scan_add(pool, table, R, 40, 2, 2, 0);
	chunk_put(pool, 0, 1);
	chunk_put(pool, 2, 2);
	chunk_put(pool, 30, 3);
	n = scan_add(pool, table, N, 40, 10, 19, 4);
	cscan_pool_choose(pool, n, CSCAN_NONE, 4);
	cscan_pool_decide(pool, 5, &act);
	is_int(act.scan, n, "mixed: normal is served");
	is_int(act.chunk, 30, "mixed: what nobody protects goes first, though it is the youngest");
	is_int(load_one(pool, 5), 10, "mixed: and makes room");
	use_next(pool, n, 6);
	cscan_pool_choose(pool, n, CSCAN_NONE, 7);

	/* 10 is of no use now: the two others are protected. */
	cscan_pool_decide(pool, 8, &act);
	is_int(act.chunk, 10, "mixed: then what it has done with");
	is_int(load_one(pool, 8), 11, "mixed: for its next");
	use_next(pool, n, 9);
	cscan_pool_decide(pool, 10, &act);
	is_int(act.kind, CSCAN_ACT_EVICT, "mixed: nothing else is left");
	is_int(act.chunk, 0, "mixed: so what others protect goes too, in its own order");
	pool_free(pool);
}

/* An elevator that waits for its slowest scan holds up only its own. */
static void
test_elevator_waits(void)
{
	CScanPool  *pool = pool_create(8, 4, 4);
	int			table = table_add(pool, 1);
	int			slow = scan_add(pool, table, E, 40, 0, 39, 0);
	int			fast = scan_add(pool, table, E, 40, 0, 39, 0);
	int			r;
	CScanAction act;

	for (int i = 0; i < 4; i++)
	{
		load_one(pool, i);
		use_next(pool, fast, i);
		if (i == 0)
			use_next(pool, slow, i);
	}
	use_next(pool, fast, 5);
	is_int(decide(pool, 6).kind, CSCAN_ACT_NOTHING, "mixed: the elevator waits for its slowest scan");
	r = scan_add(pool, table, R, 40, 30, 31, 10);
	cscan_pool_choose(pool, r, CSCAN_NONE, 10);
	cscan_pool_decide(pool, 11, &act);
	is_int(act.kind, CSCAN_ACT_EVICT, "mixed: relevance does not");
	is_int(act.scan, r, "mixed: room is made for it");
	cscan_pool_decide(pool, 11, &act);
	is_int(act.kind, CSCAN_ACT_LOAD, "mixed: which it gets");
	is_int(act.scan, r, "mixed: and not the elevator, though blocked for longer");
	ok(pool_check(pool) == NULL, "the pool is sound");
	pool_free(pool);
}

/* A chunk whose reader is being woken stays until it has it. */
static void
test_being_woken(CScanPolicyId policy)
{
	const char *name = cscan_policies[policy]->name;
	CScanPool  *pool = pool_create(8, 1, 1);
	int			table = table_add(pool, 1);
	int			a = scan_add(pool, table, policy, 40, 0, 0, 0);
	int			b;
	CScanAction act;

	cscan_pool_choose(pool, a, CSCAN_NONE, 0);
	load_one(pool, 1);
	b = scan_add(pool, table, R, 40, 20, 20, 2);
	cscan_pool_choose(pool, b, CSCAN_NONE, 2);
	is_int(decide(pool, 100000).kind, CSCAN_ACT_NOTHING, "%s: what a scan is being woken for stays", name);
	is_int(use_next(pool, a, 100001), 0, "%s: so it finds it", name);
	is_int(decide(pool, 100002).kind, CSCAN_ACT_NOTHING, "%s: and reads it", name);
	cscan_pool_choose(pool, a, CSCAN_NONE, 100003);
	cscan_pool_unregister(pool, a);
	act = decide(pool, 100004);
	is_int(act.scan, b, "%s: then the other's turn comes", name);
	pool_free(pool);
}

/*
 * A scan waits on the elevator, and what the sweep loads in its name is for
 * another one: that one must have it.
 */
static void
test_loaded_for(void)
{
	CScanPool  *pool = pool_create(8, 1, 1);
	int			table = table_add(pool, 1);
	int			longest = scan_add(pool, table, E, 40, 20, 39, 0);
	int			first = scan_add(pool, table, E, 40, 0, 9, 0);
	int			r = scan_add(pool, table, R, 40, 15, 15, 0);
	CScanAction act;

	cscan_pool_choose(pool, longest, CSCAN_NONE, 1);
	cscan_pool_choose(pool, first, CSCAN_NONE, 2);
	cscan_pool_choose(pool, r, CSCAN_NONE, 3);
	act = decide(pool, 4);
	is_int(act.scan, longest, "elevator: served for the one that waits longest");
	is_int(act.chunk, 0, "elevator: with the next chunk of the sweep");
	is_int(pool->slots[act.slot].loaded_for, first, "elevator: which is loaded for the one that wants it");
	cscan_pool_loaded(pool, act.slot, 5, 0, false, false);
	is_int(decide(pool, 6).kind, CSCAN_ACT_NOTHING, "elevator: and stays until that one has it");
	is_int(use_next(pool, first, 7), 0, "elevator: as here");
	pool_free(pool);
}

void
test_mixed(void)
{
	test_longest_blocked();
	test_blocked_first();
	test_protected();
	test_elevator_waits();
	for (int policy = 0; policy < CSCAN_NPOLICIES; policy++)
		test_being_woken((CScanPolicyId) policy);
	test_loaded_for();
}
