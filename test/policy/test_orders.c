/*-------------------------------------------------------------------------
 *
 * test_orders.c
 *		The older policies: normal's block order, attach's start, elevator's
 *		sweep.
 *
 *-------------------------------------------------------------------------
 */
#include "harness.h"

#include <stddef.h>

#define N	CSCAN_POLICY_NORMAL
#define A	CSCAN_POLICY_ATTACH
#define E	CSCAN_POLICY_ELEVATOR
#define R	CSCAN_POLICY_RELEVANCE

static void
test_normal(void)
{
	CScanPool  *pool = pool_create(8, 4, 4);
	int			table = table_add(pool, 1);
	int			a = scan_add(pool, table, N, 20, 3, 19, 0);
	int			b;
	CScanAction act;
	int			slot = chunk_put(pool, 4, 0);

	is_int(use_next(pool, a, 10), CSCAN_NO_CHUNK, "normal: only the next chunk is of use, not one further on");
	ok(!cscan_pool_can_use(pool, slot, a), "normal: which is no reason to wake it");
	is_int(load_one(pool, 10), 3, "normal: which is loaded");
	is_int(use_next(pool, a, 20), 3, "normal: and used");
	is_int(use_next(pool, a, 30), 4, "normal: then the one that was there");
	is_int(load_one(pool, 30), 5, "normal: the next one while it reads");
	is_int(load_one(pool, 30), CSCAN_NO_CHUNK, "normal: no further ahead");

	b = scan_add(pool, table, N, 20, 10, 19, 40);
	use_next(pool, b, 40);
	use_next(pool, a, 50);
	use_next(pool, a, 60);
	act = decide(pool, 70);
	is_int(act.scan, b, "normal: the oldest waiter first");
	is_int(act.chunk, 10, "normal: its first chunk");
	cscan_pool_loaded(pool, act.slot, 80, 0, false, false);
	is_int(use_next(pool, b, 80), 10, "normal: has it");
	cscan_pool_decide(pool, 90, &act);
	is_int(act.kind, CSCAN_ACT_EVICT, "normal: full");
	is_int(act.scan, b, "normal: b asked before a did, and has its chunk by now");
	is_int(act.chunk, 3, "normal: the least recently used goes");
	is_int(load_one(pool, 90), 11, "normal: for b's next");
	cscan_pool_decide(pool, 110, &act);
	is_int(act.scan, a, "normal: then a's turn has come");
	is_int(act.chunk, 4, "normal: least recently handed out: 4, then 5");
	pool_free(pool);
}

static void
test_attach(void)
{
	CScanPool  *pool = pool_create(8, 16, 16);
	int			table = table_add(pool, 1);
	int			other = table_add(pool, 1);
	int			big = scan_add(pool, table, A, 40, 0, 39, 0);
	int			small = scan_add(pool, table, N, 40, 0, 39, 0);
	int			relevant = scan_add(pool, table, R, 40, 0, 39, 0);
	int			s;

	is_int(pool->scans[big].position, 0, "attach: alone it begins at its first chunk");
	cscan_pool_set_position(pool, big, 12);
	for (uint32_t c = 0; c <= 12; c++)
		cscan_pool_unwant(pool, big, c);
	cscan_pool_set_position(pool, small, 30);
	for (uint32_t c = 0; c <= 30; c++)
		cscan_pool_unwant(pool, small, c);
	cscan_pool_set_position(pool, relevant, 5);

	s = scan_add(pool, table, A, 40, 0, 39, 0);
	is_int(pool->scans[s].position, 12, "attach: begins where the one with the largest remaining overlap is");
	cscan_pool_unregister(pool, s);
	s = scan_add(pool, table, A, 40, 20, 39, 0);
	is_int(pool->scans[s].position, 20, "attach: at the first wanted chunk at or after that");
	cscan_pool_unregister(pool, s);
	s = scan_add(pool, table, A, 40, 0, 11, 0);
	is_int(pool->scans[s].position, 0, "attach: no overlap left, so at its own first");
	cscan_pool_unregister(pool, s);
	cscan_pool_set_stalled(pool, big, true);
	s = scan_add(pool, table, A, 40, 0, 39, 0);
	is_int(pool->scans[s].position, 30, "attach: not to a stalled scan; to a normal one though");
	cscan_pool_unregister(pool, s);
	cscan_pool_set_stalled(pool, small, true);
	s = scan_add(pool, table, A, 40, 0, 39, 0);
	is_int(pool->scans[s].position, 0, "attach: nor to other policies");
	cscan_pool_unregister(pool, s);
	cscan_pool_set_stalled(pool, big, false);
	cscan_pool_set_stalled(pool, small, false);
	s = scan_add(pool, other, A, 40, 0, 39, 0);
	is_int(pool->scans[s].position, 0, "attach: nor to another table's");
	cscan_pool_unregister(pool, s);
	s = scan_add(pool, table, N, 40, 0, 39, 0);
	is_int(pool->scans[s].position, 0, "normal: attaches to nobody");
	cscan_pool_unregister(pool, s);
	cscan_pool_unregister(pool, small);
	cscan_pool_unregister(pool, relevant);
	cscan_pool_unregister(pool, big);

	/* It goes round. */
	big = scan_add(pool, table, A, 4, 0, 3, 0);
	cscan_pool_unwant(pool, big, 0);
	cscan_pool_set_position(pool, big, 2);
	s = scan_add(pool, table, A, 4, 0, 3, 0);
	for (uint32_t c = 0; c < 4; c++)
		chunk_put(pool, c, c);
	is_int(use_next(pool, s, 1), 2, "attach: from there on");
	is_int(use_next(pool, s, 1), 3, "attach: to the end");
	is_int(use_next(pool, s, 1), 0, "attach: around");
	is_int(use_next(pool, s, 1), 1, "attach: to where it began");
	is_int(use_next(pool, s, 1), CSCAN_NO_CHUNK, "attach: and no further");
	pool_free(pool);
}

static void
test_elevator(void)
{
	CScanPool  *pool = pool_create(8, 4, 4);
	int			table = table_add(pool, 1);
	int			other = table_add(pool, 1);
	int			slow = scan_add(pool, table, E, 10, 0, 9, 0);
	int			fast = scan_add(pool, table, E, 10, 0, 9, 0);
	int			late;
	int			beside;

	is_int(load_one(pool, 1), 0, "elevator: from the first");
	use_next(pool, slow, 2);
	use_next(pool, fast, 2);
	is_int(load_one(pool, 3), 1, "elevator: strictly in order");
	use_next(pool, fast, 4);
	is_int(load_one(pool, 5), 2, "elevator: the fast one moves the cursor");
	use_next(pool, fast, 6);
	is_int(load_one(pool, 7), 3, "elevator: the pool is full now");
	use_next(pool, fast, 8);
	use_next(pool, fast, 9);
	ok(pool->scans[fast].blocked, "elevator: the fast one is blocked");
	is_int(load_one(pool, 10), CSCAN_NO_CHUNK, "elevator: the cursor waits for the slowest");

	late = scan_add(pool, table, E, 10, 0, 2, 11);
	is_int(use_next(pool, late, 11), 0, "elevator: a late one takes what is there");
	is_int(use_next(pool, late, 12), 1, "elevator: in the order of the loads");
	use_next(pool, late, 13);
	is_int(use_next(pool, slow, 14), 1, "elevator: the slow one goes on");
	is_int(load_one(pool, 15), 4, "elevator: and so does the sweep");
	cscan_pool_set_stalled(pool, slow, true);
	use_next(pool, fast, 15);
	is_int(load_one(pool, 16), 5, "elevator: it does not wait for one that is stalled");

	use_next(pool, fast, 17);
	use_next(pool, fast, 18);
	beside = scan_add(pool, other, E, 10, 7, 9, 19);
	use_next(pool, beside, 19);
	is_int(decide(pool, 20).space, table, "elevator: the longest waiting table first");
	cscan_pool_unregister(pool, slow);
	cscan_pool_unregister(pool, fast);
	is_int(load_one(pool, 21), chunk_of(pool, other, 7), "elevator: one cursor for each table, the other one's has not moved");
	cscan_pool_unregister(pool, beside);
	scan_ranges(pool, table, E, 10, (CScanRange[]) {{0, 1}, {7, 10}}, 2, 22);
	is_int(load_one(pool, 23), 7, "elevator: and this one's has");
	pool_free(pool);

	pool = pool_create(8, 8, 8);
	table = table_add(pool, 1);
	scan_add(pool, table, E, 10, 2, 9, 0);
	cscan_pool_set_cursor(pool, table, 8);
	is_int(load_one(pool, 1), 8, "elevator: on from where it is");
	is_int(load_one(pool, 1), 9, "elevator: to the end");
	use_next(pool, 0, 1);
	use_next(pool, 0, 1);
	is_int(load_one(pool, 1), 2, "elevator: wraps around to what is wanted");
	pool_free(pool);
}

/* A chunk that everybody wants again and again does not hold up the sweep. */
static void
test_sweep_moves(void)
{
	CScanPool  *pool = pool_create(8, 4, 4);
	int			table = table_add(pool, 1);
	int			again;

	scan_add(pool, table, E, 10, 0, 9, 0);
	is_int(load_one(pool, 1), 0, "elevator: chunk 0 is loaded");
	use_next(pool, 0, 1);
	use_next(pool, 0, 1);
	cscan_pool_drop(pool, cscan_pool_find(pool, 0));
	again = scan_add(pool, table, E, 10, 0, 0, 2);
	cscan_pool_choose(pool, again, CSCAN_NONE, 2);
	is_int(load_one(pool, 3), 1, "elevator: who wants it again waits for the next sweep");
	pool_free(pool);
}

void
test_orders(void)
{
	test_normal();
	test_attach();
	test_elevator();
	test_sweep_moves();
}
