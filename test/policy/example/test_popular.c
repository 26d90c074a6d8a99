/*-------------------------------------------------------------------------
 *
 * test_popular.c
 *		The worked example of doc/policies.md does what it says, alone and among
 *		the others.
 *
 *-------------------------------------------------------------------------
 */
#include "harness.h"

#define P CSCAN_POLICY_POPULAR

/* The longest waiting is served, with what most want; the least wanted goes. */
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
	is_int(load_one(pool, 28), 6, "the third waits, the others read: of what only it wants the first; nobody wants 5 any more");
	is_int(cscan_pool_find(pool, table, 5), CSCAN_NONE, "so that one went");
	pool_free(pool);
}

/* Beside another policy's scans it gets all of its chunks, each once. */
static void
test_all_chunks(void)
{
	CScanPool  *pool = pool_create(4, 8, 4);
	int			table = table_add(pool, 1);
	int			scans[3];
	uint32_t	had[3] = {0, 0, 0};
	int			left = 3;
	uint64_t	now = 1;

	for (int i = 0; i < 3; i++)
		scans[i] = scan_add(pool, table, i == 2 ? CSCAN_POLICY_RELEVANCE : P, 20, 0, 19, now);
	while (left > 0 && now < 1000)
	{
		now++;
		load_one(pool, now);
		for (int i = 0; i < 3; i++)
		{
			uint32_t	chunk = scans[i] == CSCAN_NONE ? CSCAN_NO_CHUNK : use_next(pool, scans[i], now);

			if (chunk != CSCAN_NO_CHUNK)
				had[i] |= UINT32_C(1) << chunk;
			else if (scans[i] != CSCAN_NONE && pool->scans[scans[i]].needed == 0)
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
	test_choices();
	test_all_chunks();
	test_mixed();
	test_starvation();
	return tests_finish();
}
