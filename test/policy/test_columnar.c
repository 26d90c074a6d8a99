/*-------------------------------------------------------------------------
 *
 * test_columnar.c
 *		Figure 11 of the paper, function by function, and what is loaded and let
 *		go of over columns.
 *
 * Six columns, A to F, of 1, 2, 3, 4, 5 and 6 blocks: 21 in a chunk.
 *
 *-------------------------------------------------------------------------
 */
#include "harness.h"

#include <math.h>

#include "columnar.h"

#define A	UINT64_C(1)
#define B	UINT64_C(2)
#define C	UINT64_C(4)
#define D	UINT64_C(8)
#define E	UINT64_C(16)
#define F	UINT64_C(32)
#define ALL	(A | B | C | D | E | F)

#define CHUNK	21
#define R		CSCAN_POLICY_RELEVANCE
#define SCANS	8

static CScanPool *
columnar_pool(uint32_t nchunks, uint32_t budget)
{
	CScanPool  *pool = pool_create(SCANS, 16, budget);
	CScanLayout layout = {6, {0, 1, 3, 6, 10, 15, 21}};
	int			space = table_add_sized(pool, CHUNK, nchunks);

	cscan_pool_set_columnar(pool, space, &layout);
	cscan_pool_set_block_time(pool, 1000);
	return pool;
}

/*
 * A scan of some columns of chunks first..last of a space of 20.  "Common" are
 * those that every scan wants.
 */
static int
scan_common(CScanPool *pool, CScanPolicyId policy, uint64_t columns, uint64_t common, uint32_t first, uint32_t last)
{
	int			scan = cscan_pool_register(pool, policy, 0);
	CScanRange	range = {first * CHUNK, (last + 1) * CHUNK};

	cscan_pool_announce(pool, scan, 0, 20 * CHUNK, &range, 1);
	cscan_pool_set_columns(pool, scan, columns, common);
	cscan_pool_start(pool, scan, 0);
	return scan;
}

static int
scan_columns(CScanPool *pool, CScanPolicyId policy, uint64_t columns, uint32_t first, uint32_t last)
{
	return scan_common(pool, policy, columns, 0, first, last);
}

/* Puts these columns of a chunk into a free slot. */
static int
columns_put(CScanPool *pool, uint32_t chunk, uint64_t columns, uint64_t now)
{
	CScanPieces have = {{0}};
	CScanPieces coming = {{columns}};
	int			slot = cscan_slots_free(pool);

	cscan_slots_take(pool, slot, chunk, now);
	pool->slots[slot].extent = (chunk + 1) * CHUNK;
	cscan_slots_begin_load(pool, slot, &have, &coming, cscan_layout_cost(&pool->spaces[0].columns, columns), 0, now);
	cscan_status_slot_changed(pool, slot);
	cscan_pool_loaded(pool, slot, now, 0, false, false);
	return slot;
}

static void
test_functions(void)
{
	CScanPool  *pool = columnar_pool(20, 400);
	int			a = scan_columns(pool, R, A | B, 0, 9);
	int			b = scan_columns(pool, R, B | C, 0, 4);
	int			c = scan_columns(pool, R, D | E, 0, 9);

	is_double(cscan_columnar_use(pool, a, 0), 3 / 2.0, "useRelevance: 3 blocks for two that overlap");
	is_double(cscan_columnar_use(pool, a, 9), 3, "useRelevance: one that wants it");
	is_double(cscan_columnar_use(pool, c, 0), 9, "useRelevance: none overlaps");
	is_double(cscan_columnar_load(pool, a, 0), 2 / 6.0, "loadRelevance: two for A, B and C");
	is_double(cscan_columnar_load(pool, a, 9), 1 / 3.0, "loadRelevance: one for A and B");
	is_double(cscan_columnar_load(pool, c, 0), 1 / 9.0, "loadRelevance: one for D and E");
	columns_put(pool, 0, B, 0);
	is_double(cscan_columnar_load(pool, a, 0), 2 / 4.0, "loadRelevance: B is there");
	is_double(cscan_columnar_keep(pool, 0), 3 / 2.0, "keepRelevance: three almost starved, 2 blocks are there");
	columns_put(pool, 1, A | B | F, 0);
	is_double(cscan_columnar_keep(pool, 1), 3 / 3.0, "keepRelevance: nobody wants F");
	columns_put(pool, 2, F, 0);
	is_double(cscan_columnar_keep(pool, 2), 3 / 6.0, "keepRelevance: nothing is there for them");
	columns_put(pool, 6, A | B, 0);
	columns_put(pool, 7, A | B, 0);
	is_double(cscan_columnar_load(pool, b, 4), 1 / 5.0, "loadRelevance: what is not starved does not count");
	is_double(cscan_columnar_load(pool, a, 4), 2 / 6.0, "loadRelevance: but the one served does");
	is_double(cscan_columnar_keep(pool, 6), 1 / 3.0, "keepRelevance: only one that is almost starved, with nothing there");
	pool_free(pool);
}

static uint64_t
loads(CScanPool *pool, uint32_t *chunk)
{
	CScanAction act = decide(pool, 1000);

	*chunk = act.chunk;
	return act.kind == CSCAN_ACT_LOAD ? act.pieces.word[0] : 0;
}

static void
test_loads(void)
{
	CScanPool  *pool = columnar_pool(20, 400);
	uint32_t	chunk;
	int			a = scan_columns(pool, R, A | B, 0, 1);
	int			b;

	scan_columns(pool, R, B | F, 1, 9);
	is_int((int64_t) loads(pool, &chunk), A | B, "a load brings the columns of the scan served");
	is_int(chunk, 0, "1 / 3 is more than 2 / 9");
	is_int((int64_t) loads(pool, &chunk), A | B | F, "and those of another that overlaps");
	is_int(chunk, 1, "of a chunk that both want");
	pool_free(pool);

	pool = columnar_pool(20, 400);
	scan_columns(pool, R, A | B, 0, 1);
	scan_columns(pool, R, D | E, 0, 9);
	is_int((int64_t) loads(pool, &chunk), A | B, "but not of one that does not");
	pool_free(pool);

	/* What is there in part costs less. */
	pool = columnar_pool(20, 400);
	a = scan_columns(pool, R, A | B | C, 0, 9);
	columns_put(pool, 5, B | C, 0);
	is_int((int64_t) loads(pool, &chunk), A, "a chunk that lacks one column is the cheapest");
	is_int(chunk, 5, "wherever it is");
	is_int((int64_t) cscan_columnar_columns(pool, a, 6), A | B | C, "others are loaded with all");
	pool_free(pool);

	/* Other policies. */
	pool = columnar_pool(20, 400);
	scan_columns(pool, CSCAN_POLICY_NORMAL, A | B, 0, 9);
	scan_columns(pool, CSCAN_POLICY_NORMAL, B | C, 0, 9);
	is_int((int64_t) loads(pool, &chunk), A | B, "normal loads a scan's own columns");
	is_int(chunk, 0, "in its order");
	cscan_pool_loaded(pool, cscan_pool_find(pool, 0), 2000, 0, false, false);
	is_int((int64_t) loads(pool, &chunk), C, "and what another one lacks of them");
	is_int(chunk, 0, "in that one's order");
	pool_free(pool);

	pool = columnar_pool(20, 400);
	scan_columns(pool, CSCAN_POLICY_ELEVATOR, A | B, 0, 9);
	scan_columns(pool, CSCAN_POLICY_ELEVATOR, D, 0, 9);
	is_int((int64_t) loads(pool, &chunk), A | B | D, "elevator loads the union");
	pool_free(pool);

	pool = columnar_pool(20, 6);
	scan_columns(pool, CSCAN_POLICY_ELEVATOR, A | B, 0, 9);
	scan_columns(pool, CSCAN_POLICY_ELEVATOR, D, 0, 9);
	is_int((int64_t) loads(pool, &chunk), A | B, "but not if the budget has no room for it");
	pool_free(pool);

	pool = columnar_pool(20, 400);
	a = scan_columns(pool, CSCAN_POLICY_ATTACH, A | B, 0, 9);
	cscan_pool_set_position(pool, a, 3);
	b = scan_columns(pool, CSCAN_POLICY_ATTACH, C | D, 0, 9);
	cscan_pool_set_position(pool, b, 6);
	is_int(pool->scans[scan_columns(pool, CSCAN_POLICY_ATTACH, A | D, 0, 9)].position, 6,
		   "attach joins the scan that it has most blocks in common with");
	pool_free(pool);
}

static void
test_chosen(void)
{
	CScanPool  *pool = columnar_pool(20, 400);
	int			a = scan_columns(pool, R, A | B, 0, 9);

	scan_columns(pool, R, B | C, 0, 4);
	scan_columns(pool, R, D, 5, 9);
	scan_columns(pool, R, E, 5, 9);
	columns_put(pool, 3, A | B, 0);
	columns_put(pool, 6, A | B, 1);
	is_int(use_next(pool, a, 1000), 6, "a scan uses the chunk that fewest others want some of the same columns of");
	is_int(use_next(pool, a, 1000), 3, "then the other one");
	pool_free(pool);
}

static void
test_trim(void)
{
	CScanPool  *pool = columnar_pool(20, 22);
	int			a = scan_columns(pool, R, A | B, 0, 9);
	int			b = scan_columns(pool, R, F, 0, 9);
	CScanAction act;
	int			slot = columns_put(pool, 0, A | B | F, 0);
	uint32_t	before = pool->state->total;

	/* Nine blocks; the scan of F has had its six. */
	is_int(use_next(pool, b, 100), 0, "a chunk of which one scan has had its columns");
	columns_put(pool, 1, F, 100);
	columns_put(pool, 2, F, 100);
	is_int(use_next(pool, b, 100), 1, "and gone on to another one");
	cscan_pool_decide(pool, 1000, &act);
	is_int(act.kind, CSCAN_ACT_TRIM, "there is no room: columns go that nobody wants");
	is_int((int64_t) act.pieces.word[0], F, "these and no others");
	is_int(act.slot, slot, "of a chunk that another scan wants");
	is_int(act.nblocks, 6, "with all of their blocks");
	is_int(pool->state->total, before + 12 - 6, "the pool has as many fewer");
	is_int(use_next(pool, a, 1000), 0, "what is wanted is still there");
	pool_free(pool);

	/* A chunk that a scan wants, with nothing that it wants. */
	pool = columnar_pool(20, 22);
	scan_columns(pool, R, A | B, 0, 9);
	b = scan_columns(pool, R, F, 0, 2);
	for (uint32_t c = 0; c < 3; c++)
		columns_put(pool, c, F, c);
	for (uint32_t c = 0; c < 3; c++)
		use_next(pool, b, 100);
	cscan_pool_unregister(pool, b);
	columns_put(pool, 3, A | B, 200);
	cscan_pool_decide(pool, 1000, &act);
	is_int(act.kind, CSCAN_ACT_EVICT, "a slot with no wanted column goes as a whole");
	is_int(act.chunk, 0, "the one used longest ago");
	pool_free(pool);

	/* A column that every scan wants is no reason to stay. */
	pool = columnar_pool(20, 22);
	cscan_pool_unregister(pool, scan_common(pool, R, A | C, A, 0, 9));
	scan_common(pool, R, A | D, A, 0, 9);
	columns_put(pool, 0, A | C, 0);
	for (uint32_t c = 1; c < 4; c++)
		columns_put(pool, c, A | D, c);
	cscan_pool_decide(pool, 1000, &act);
	ok(act.kind == CSCAN_ACT_EVICT || act.kind == CSCAN_ACT_NOTHING, "what only the common column is wanted of is not trimmed");
	pool_free(pool);
}

/* A scan of which A is common to all. */
static void
test_common(void)
{
	CScanPool  *pool = columnar_pool(20, 400);
	uint32_t	chunk;
	int			b = scan_common(pool, R, A | B, A, 0, 9);
	int			c = scan_common(pool, R, A | C, A, 0, 9);
	int			rows = scan_common(pool, R, A, A, 0, 9);
	int			more = scan_common(pool, R, A, A, 0, 9);

	ok(!cscan_columnar_overlap(pool, b, c), "scans do not overlap by a column that all want");
	ok(!cscan_columnar_overlap(pool, b, rows), "nor with one that wants no other");
	ok(cscan_columnar_overlap(pool, rows, more), "but two of those do");
	is_double(cscan_columnar_load(pool, b, 0), 1 / 3.0, "it counts as blocks to be loaded");
	is_int((int64_t) loads(pool, &chunk), A, "the most scans for the fewest blocks");
	is_int((int64_t) cscan_columnar_columns(pool, c, 1), A | C, "a load brings it with the others");
	pool_free(pool);
}

/* What is in flight for others only is nothing that a scan has. */
static void
test_passing(void)
{
	CScanPool  *pool = columnar_pool(20, 400);
	int			a = scan_columns(pool, R, A, 0, 9);
	int			b = scan_columns(pool, R, F, 0, 9);
	CScanAction act;

	is_int(use_next(pool, a, 0), CSCAN_NO_CHUNK, "one scan waits");
	is_int(use_next(pool, b, 0), CSCAN_NO_CHUNK, "and another one");
	act = decide(pool, 1000);
	is_int((int64_t) act.pieces.word[0], A, "a load for the first");
	ok(!cscan_pool_has_nothing(pool, a), "it has something coming");
	ok(cscan_pool_has_nothing(pool, b), "the other one has nothing");
	act = decide(pool, 1000);
	is_int((int64_t) act.pieces.word[0], A, "the first needs one more");
	act = decide(pool, 1000);
	is_int((int64_t) act.pieces.word[0], F, "then it is the other one's turn");
	ok(act.chunk >= 2, "with a chunk that is not in flight");
	pool_free(pool);
}

/* What a top-up does not make cheap, and what it does. */
static void
test_cheap(void)
{
	CScanPool  *pool = columnar_pool(20, 400);
	int			a;
	CScanAction act;

	a = scan_columns(pool, R, A | B, 0, 9);
	act = decide(pool, 1000);
	cscan_pool_arrived(pool, act.slot, &act.pieces);
	cscan_pool_loaded(pool, act.slot, 2000, 1000, false, true);
	ok(pool->slots[act.slot].cheap, "a load that has arrived before its end may be cheap");
	cscan_pool_set_warm(pool, a, true);
	scan_columns(pool, R, A | F, 0, 9);
	act = decide(pool, 3000);
	is_int((int64_t) act.pieces.word[0], F, "a top-up");
	cscan_pool_loaded(pool, act.slot, 4000, 1000, false, true);
	ok(pool->slots[act.slot].cheap, "of a cheap chunk leaves it so");
	pool_free(pool);

	pool = columnar_pool(20, 400);
	scan_columns(pool, R, A | B, 0, 9);
	columns_put(pool, 0, B, 0);
	act = decide(pool, 1000);
	is_int((int64_t) act.pieces.word[0], A, "a top-up");
	cscan_pool_loaded(pool, act.slot, 2000, 1000, false, true);
	ok(!pool->slots[act.slot].cheap, "of another one does not make it cheap");
	pool_free(pool);
}

/* A budget that has no room for all columns of a chunk. */
static void
test_small_budget(void)
{
	for (int policy = 0; policy < CSCAN_NPOLICIES; policy++)
	{
		CScanPool  *pool = columnar_pool(20, 10);
		int			e = scan_columns(pool, (CScanPolicyId) policy, E, 0, 2);
		int			f = scan_columns(pool, (CScanPolicyId) policy, F, 0, 2);
		int			got = 0;

		for (int n = 0; n < 100; n++)
		{
			got += use_next(pool, n % 2 ? e : f, (uint64_t) n * 1000) != CSCAN_NO_CHUNK;
			load_one(pool, (uint64_t) n * 1000 + 500);
		}
		is_int(got, 6, "%s: scans that want more together than the budget has are served one after the other",
			   policy_label(policy));
		pool_free(pool);
	}
}

static void
test_arrival(void)
{
	CScanPool  *pool = columnar_pool(20, 400);
	int			a = scan_columns(pool, R, A, 0, 9);
	int			b = scan_columns(pool, R, A | F, 0, 9);
	CScanAction act;

	is_int(use_next(pool, a, 0), CSCAN_NO_CHUNK, "a scan waits");
	is_int(use_next(pool, b, 0), CSCAN_NO_CHUNK, "and another one");
	act = decide(pool, 1000);
	cscan_pool_arrived(pool, act.slot, &(CScanPieces) {{A}});
	ok(cscan_pool_can_use(pool, act.slot, a), "its columns are there before the load has ended");
	ok(!cscan_pool_can_use(pool, act.slot, b), "those of the other one are not");
	is_int(use_next(pool, a, 2000), act.chunk, "it goes on");
	cscan_pool_loaded(pool, act.slot, 3000, 2000, false, false);
	is_int(use_next(pool, b, 3000), act.chunk, "then the other one");
	pool_free(pool);
}

void
test_columnar(void)
{
	test_functions();
	test_loads();
	test_chosen();
	test_trim();
	test_common();
	test_passing();
	test_cheap();
	test_small_budget();
	test_arrival();
}
