/*-------------------------------------------------------------------------
 *
 * test_example.c
 *		The paper's example of why short scans go first.
 *
 * Two scans at the same speed, one load at a time, consuming takes no time.
 * Q1 came first and needs 30 chunks, Q2 needs 10 others.  Served in turn, Q2
 * has finished after 20 loads and Q1 after 40, which is 30 on average; with
 * the short one first, after 10 and 40, which is 25.
 *
 *-------------------------------------------------------------------------
 */
#include "harness.h"

#include <stddef.h>

#define LOAD		1000		/* us */
#define Q1_NEEDS	30
#define Q2_NEEDS	10

typedef struct Example
{
	uint64_t	finished[2];	/* loads after which Q1, Q2 had all they need */
	uint32_t	first[2];		/* the first chunks loaded, for the order */
	bool		in_turn;		/* the first 20 loads alternated */
} Example;

/* It uses all that is there for it; true if it has finished. */
static bool
consume(CScanPool *pool, int scan, uint64_t now)
{
	while (cscan_pool_choose(pool, scan, CSCAN_NONE, now) != CSCAN_NONE)
		;
	return pool->scans[scan].nwanted == 0;
}

static void
play(CScanPolicyId policy, uint64_t late, Example *example)
{
	CScanPool  *pool = pool_create(4, 16, 16);
	int			table = table_add(pool, 1);
	uint64_t	now = 0;
	uint64_t	loads = 0;
	bool		was_q1 = false;
	int			scans[2];
	bool		done[2] = {false, false};

	*example = (Example)
	{
		.in_turn = true
	};
	cscan_pool_set_block_time(pool, LOAD);
	scans[0] = scan_add(pool, table, policy, Q1_NEEDS + Q2_NEEDS, 0, Q1_NEEDS - 1, now);
	consume(pool, scans[0], now);
	now += late;
	scans[1] = scan_add(pool, table, policy, Q1_NEEDS + Q2_NEEDS, Q1_NEEDS,
						Q1_NEEDS + Q2_NEEDS - 1, now);
	consume(pool, scans[1], now);

	while (!(done[0] && done[1]))
	{
		CScanAction act = decide(pool, now);
		bool		is_q1 = act.scan == scans[0];

		if (act.kind != CSCAN_ACT_LOAD)
			break;
		if (loads < 2)
			example->first[loads] = act.chunk;
		if (loads > 0 && loads < 2 * Q2_NEEDS && is_q1 == was_q1)
			example->in_turn = false;
		was_q1 = is_q1;
		now += LOAD;
		loads++;
		cscan_pool_loaded(pool, act.slot, now, LOAD, false, false);
		for (int i = 0; i < 2; i++)
		{
			if (!done[i] && consume(pool, scans[i], now))
			{
				done[i] = true;
				example->finished[i] = loads;
				cscan_pool_unregister(pool, scans[i]);
			}
		}
	}
	ok(pool_check(pool) == NULL, "the pool is sound at the end");
	pool_free(pool);
}

static double
mean(const Example *example)
{
	return (double) (example->finished[0] + example->finished[1]) / 2;
}

/*
 * Both begin with nothing loaded; a moment lies between them, and then most of
 * a load's time, which must not make a difference.
 */
static void
test_start(uint64_t late)
{
	Example		example;

	play(CSCAN_POLICY_RELEVANCE, late, &example);
	is_int(example.finished[1], Q2_NEEDS, "relevance, %d us apart: the short scan goes first", (int) late);
	is_int(example.finished[0], Q1_NEEDS + Q2_NEEDS, "relevance: the long scan has all after 40 loads");
	is_double(mean(&example), 25, "relevance: 25 loads on average");
	is_int(example.first[0], Q1_NEEDS, "relevance: the first load is the short scan's first chunk");
	is_int(example.first[1], Q1_NEEDS + 1, "relevance: its loads are sequential");

	play(CSCAN_POLICY_NORMAL, late, &example);
	is_int(example.finished[1], 2 * Q2_NEEDS, "normal, %d us apart: the short scan waits for every other load", (int) late);
	is_int(example.finished[0], Q1_NEEDS + Q2_NEEDS, "normal: the long scan has all after 40 loads");
	is_double(mean(&example), 30, "normal: 30 loads on average");
	is_int(example.first[0], 0, "normal: who came first is served first");
	ok(example.in_turn, "normal: the two take turns while both are there");

	play(CSCAN_POLICY_ATTACH, late, &example);
	is_double(mean(&example), 30, "attach: nothing to share, so like normal");

	play(CSCAN_POLICY_ELEVATOR, late, &example);
	is_int(example.finished[0], Q1_NEEDS, "elevator: the sweep comes to the long scan's chunks first");
	is_int(example.finished[1], Q1_NEEDS + Q2_NEEDS, "elevator: the short scan waits for the whole sweep");
}

/* However long the long scan has waited, it is not put off for ever. */
static void
test_waiting(void)
{
	CScanPool  *pool = pool_create(8, 16, 16);
	int			table = table_add(pool, 1);
	int			q1 = scan_add(pool, table, CSCAN_POLICY_RELEVANCE, 40, 0, 29, 0);
	int			shorts = 0;
	uint64_t	now = 0;

	cscan_pool_set_block_time(pool, LOAD);
	consume(pool, q1, now);

	/* Short scans, one after the other, of chunks that Q1 does not want. */
	while (shorts < 1000)
	{
		uint32_t	chunk = 30 + shorts % 10;
		int			q2 = scan_add(pool, table, CSCAN_POLICY_RELEVANCE, 40, chunk, chunk, now);
		bool		served;

		consume(pool, q2, now);
		served = pool->scans[q2].nwanted == 0 || decide(pool, now).scan == q2;
		for (int i = 0; i < 16; i++)
		{
			if (cscan_pool_in_flight(pool, i))
				cscan_pool_loaded(pool, i, now, LOAD, false, false);
		}
		cscan_pool_unregister(pool, q2);
		if (!served)
			break;

		/* What they had is gone, so that the next one needs a load too. */
		for (int i = 0; i < 16; i++)
		{
			if (pool->slots[i].space != CSCAN_NONE)
				cscan_pool_drop(pool, i);
		}
		now += LOAD;
		shorts++;
	}

	/*
	 * -30 + waiting / 2 is -1 only when it has waited for 58 loads.  But its
	 * turn comes when it has waited for more than 16.
	 */
	is_int(shorts, 17, "relevance: a waiting long scan has its turn");
	pool_free(pool);
}

void
test_example(void)
{
	test_start(1);
	test_start(LOAD / 2);
	test_waiting();
}
