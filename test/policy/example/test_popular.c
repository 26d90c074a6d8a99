/*-------------------------------------------------------------------------
 *
 * test_popular.c
 *		The worked example of doc/policies.md does what it says, alone and among
 *		the others.
 *
 *-------------------------------------------------------------------------
 */
#include "harness.h"

#include <string.h>

#define P CSCAN_POLICY_POPULAR

/* The list has it, in its last place, and nothing but the list and its file says so. */
static void
test_listed(void)
{
	CScanLimits limits = {1, 1, 1, 1, 640};

	is_int(P, CSCAN_NPOLICIES - 1, "it is the last policy of the list");
	ok(strcmp(cscan_policies[P]->name, "popular") == 0, "which has its table of functions");
	is_int((int64_t) cscan_policies[P]->history_words(&limits), 640, "and a word of history for each chunk");
}

/* The longest waiting is served, with what most have asked for; what nobody wants goes. */
static void
test_choices(void)
{
	CScanPool  *pool = pool_create(4, 8, 2);
	int			table = table_add(pool, 1);
	int			a = scan_add(pool, table, P, 10, 0, 5, 1);
	int			b = scan_add(pool, table, P, 10, 4, 7, 2);
	int			c = scan_add(pool, table, P, 10, 5, 9, 3);

	use_next(pool, a, 10);
	use_next(pool, b, 11);
	use_next(pool, c, 12);
	is_int(load_one(pool, 20), 5, "the first that waits gets what all three want");
	is_int(use_next(pool, b, 21), 5, "another one may use it first");
	is_int(load_one(pool, 22), 4, "it still waits: what two want");
	is_int(use_next(pool, a, 23), 5, "uses come in the order of the loads");
	is_int(use_next(pool, c, 24), 5, "for everybody");
	is_int(use_next(pool, a, 25), 4, "and then the next");
	is_int(use_next(pool, b, 26), 4, "for both");
	use_next(pool, c, 27);
	is_int(load_one(pool, 28), 6, "the third waits, the others read: the first of those that two want; nobody wants 5 any more");
	is_int(cscan_pool_find(pool, 5), CSCAN_NONE, "so that one went");
	pool_free(pool);
}

/* What it remembers of scans that have gone, whatever their policy was. */
static void
test_history(void)
{
	CScanPool  *pool = pool_create(8, 4, 2);
	int			table = table_add_sized(pool, 1, 20);
	const uint64_t *history = pool->history[P];
	int			scan;

	for (int i = 0; i < 4; i++)
		cscan_pool_unregister(pool, scan_add(pool, table, CSCAN_POLICY_NORMAL, 20, 7, 8, 1));
	cscan_pool_unregister(pool, scan_add(pool, table, P, 20, 8, 8, 1));
	is_int((int64_t) history[7], 4, "history: four scans have asked for a chunk");
	is_int((int64_t) history[8], 5, "history: five for another");
	is_int((int64_t) history[9], 0, "history: none for a third");
	scan = scan_all(pool, table, P, 20, 2);
	is_int(load_one(pool, 3), 8, "history: what most have asked for is loaded first");
	is_int((int64_t) history[8], 3, "history: half of which is forgotten with its load");
	use_next(pool, scan, 4);
	is_int(load_one(pool, 5), 7, "history: then the next");
	use_next(pool, scan, 6);
	cscan_pool_unregister(pool, scan);

	/* Nobody wants the two that are there. */
	cscan_pool_unregister(pool, scan_add(pool, table, P, 20, 7, 7, 7));
	scan = scan_add(pool, table, P, 20, 0, 4, 8);
	is_int(load_one(pool, 9), 0, "history: a scan wants others");
	is_int(cscan_pool_find(pool, 8), CSCAN_NONE, "history: for which the one goes that fewer asked for, though used earlier or not");
	ok(cscan_pool_find(pool, 7) != CSCAN_NONE, "history: the other stays");

	/* Another table with the same numbers. */
	cscan_pool_unregister(pool, scan);
	cscan_pool_remove_space(pool, table);
	table = table_add_sized(pool, 1, 20);
	is_int(chunk_of(pool, table, 0), 0, "history: another table has the numbers");
	is_int((int64_t) history[7], 0, "history: of which nothing is known");
	pool_free(pool);
}

/* Beside another policy's scans it gets all of its chunks, each once, of several tables. */
static void
test_all_chunks(void)
{
	CScanPool  *pool = pool_create(4, 8, 4);
	int			tables[2] = {table_add_sized(pool, 1, 10), table_add_sized(pool, 1, 10)};
	int			scans[3];
	uint32_t	had[3] = {0, 0, 0};
	int			left = 3;
	uint64_t	now = 1;

	for (int i = 0; i < 3; i++)
		scans[i] = scan_family(pool, tables, 2, i == 2 ? CSCAN_POLICY_RELEVANCE : P, 10, now);
	while (left > 0 && now < 1000)
	{
		now++;
		load_one(pool, now);
		for (int i = 0; i < 3; i++)
		{
			uint32_t	chunk = scans[i] == CSCAN_NONE ? CSCAN_NO_CHUNK : use_next(pool, scans[i], now);

			if (chunk != CSCAN_NO_CHUNK)
				had[i] |= UINT32_C(1) << chunk;
			else if (scans[i] != CSCAN_NONE && pool->scans[scans[i]].nwanted == 0)
			{
				cscan_pool_unregister(pool, scans[i]);
				scans[i] = CSCAN_NONE;
				left--;
			}
		}
	}
	for (int i = 0; i < 3; i++)
		is_int(had[i], (1 << 20) - 1, "scan %d has had all of its chunks", i);
	ok(pool_check(pool) == NULL, "the pool is sound");
	pool_free(pool);
}

int
main(void)
{
	test_listed();
	test_choices();
	test_history();
	test_all_chunks();
	test_mixed();
	test_families();
	test_trace();
	test_starvation_from(P);
	return tests_finish();
}
