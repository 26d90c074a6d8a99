/*-------------------------------------------------------------------------
 *
 * test_spaces.c
 *		Spaces: how their chunks are numbered, where these are, who may load
 *		them, and how fast.
 *
 *-------------------------------------------------------------------------
 */
#include "harness.h"

#include <string.h>

#define N	CSCAN_POLICY_NORMAL
#define E	CSCAN_POLICY_ELEVATOR
#define R	CSCAN_POLICY_RELEVANCE

/* A pool with a few numbers of chunks. */
static CScanPool *
small_pool(uint32_t max_chunks)
{
	CScanLimits limits = {4, 4, 8, 2, max_chunks};

	return pool_create_limited(&limits, 1024);
}

/* A space of so many chunks: its first number, or CSCAN_NO_CHUNK. */
static uint32_t
add(CScanPool *pool, uint32_t nchunks)
{
	int			space = cscan_pool_add_space(pool, 1, nchunks, 0);

	return space == CSCAN_NONE ? CSCAN_NO_CHUNK : pool->spaces[space].first_chunk;
}

/* The space that has that number goes. */
static void
take_out(CScanPool *pool, uint32_t chunk)
{
	cscan_pool_remove_space(pool, pool->space_of[chunk]);
}

/* ------------------------------------------------------------------
 * Numbers
 * ------------------------------------------------------------------ */

static void
test_numbers(void)
{
	CScanPool  *pool = small_pool(256);
	int			space;

	is_int(add(pool, 10), 0, "numbers: the first space's begin with 0");
	is_int(add(pool, 20), 10, "numbers: the next one's follow");
	is_int(add(pool, 30), 30, "numbers: and so on");
	take_out(pool, 10);
	is_int(pool->state->nspaces, 2, "numbers: one goes");
	space = cscan_pool_add_space(pool, 1, 5, 0);
	is_int(space, 1, "numbers: its entry is taken again");
	is_int(pool->spaces[space].first_chunk, 60, "numbers: but its numbers are not, as long as there are others");
	is_int(add(pool, 192), CSCAN_NO_CHUNK, "numbers: there are not so many");
	is_int(pool->state->next_chunk, 65, "numbers: which changes nothing");
	is_int(pool->state->nspaces, 3, "numbers: nothing at all");
	is_int(add(pool, 191), 65, "numbers: there are so many just yet");
	is_int(add(pool, 1), CSCAN_NO_CHUNK, "numbers: there is no entry for a fifth space");
	ok(pool_check(pool) == NULL, "the pool is sound");
	take_out(pool, 60);
	is_int(add(pool, 20), 10, "numbers: from the end they begin anew with those that are free");
	take_out(pool, 10);
	is_int(add(pool, 26), CSCAN_NO_CHUNK, "numbers: of one space they follow one another");
	is_int(add(pool, 5), 60, "numbers: behind those given last, not the first that are free");
	ok(pool_check(pool) == NULL, "the pool is sound");
	for (uint32_t c = 0; c < 256; c++)
	{
		if (pool->space_of[c] != CSCAN_NONE)
			take_out(pool, c);
	}
	is_int(pool->state->nspaces, 0, "numbers: all have gone");
	is_int(add(pool, 7), 0, "numbers: so they begin anew");
	take_out(pool, 0);
	is_int(add(pool, 8), 0, "numbers: each time");
	take_out(pool, 0);
	is_int(add(pool, 256), 0, "numbers: a single space may have all of them");
	ok(pool_check(pool) == NULL, "the pool is sound");
	pool_free(pool);
}

/* Runs of free numbers, of which none at or behind the next one is long enough. */
static void
test_fragments(void)
{
	CScanLimits limits = {2, 8, 8, 0, 256};
	CScanPool  *pool = pool_create_limited(&limits, 64);

	add(pool, 100);
	add(pool, 20);
	add(pool, 130);
	is_int(add(pool, 6), 250, "fragments: all are taken");
	take_out(pool, 0);
	take_out(pool, 120);
	is_int(add(pool, 10), 0, "fragments: of 0 to 99 the first");
	is_int(add(pool, 95), 120, "fragments: 90 are left there, so the next run");
	is_int(add(pool, 40), 10, "fragments: 35 are left of that one, so from 0 on");
	take_out(pool, 120);
	is_int(add(pool, 60), 120, "fragments: 50 to 99 are too few");
	is_int(add(pool, 40), 180, "fragments: behind that");
	take_out(pool, 180);
	take_out(pool, 120);
	is_int(pool->state->next_chunk, 220, "fragments: the next number is in the midst of free ones");
	is_int(add(pool, 120), 120, "fragments: a run may begin before it and end behind it");
	ok(pool_check(pool) == NULL, "the pool is sound");
	pool_free(pool);
}

static void
test_extend(void)
{
	CScanPool  *pool = small_pool(128);
	int			a = cscan_pool_add_space(pool, 4, 10, 0);
	int			b = cscan_pool_add_space(pool, 4, 10, 0);
	int			c;
	int			scan;

	ok(cscan_pool_extend_space(pool, a, 10) && cscan_pool_extend_space(pool, a, 5), "extend: it has so many");
	is_int(pool->spaces[a].nchunks, 10, "extend: and keeps them");
	ok(!cscan_pool_extend_space(pool, a, 11), "extend: the numbers behind its own are another's");
	is_int(pool->spaces[a].nchunks, 10, "extend: so nothing changes");
	ok(!cscan_pool_extend_space(pool, b, 119), "extend: nor are there more than there are");
	cscan_pool_set_cached(pool, 25, true);
	cscan_pool_set_access(pool, b, CSCAN_ACCESS_GRANTED);
	ok(cscan_pool_extend_space(pool, b, 30), "extend: here are free ones");
	is_int(pool->spaces[b].first_chunk, 10, "extend: it keeps its numbers");
	is_int(pool->spaces[b].nchunks, 30, "extend: and has more");
	ok(cscan_set_has(pool->loadable, 39) && !cscan_set_has(pool->loadable, 40), "extend: they may be loaded like the others");
	ok(!cscan_set_has(pool->cached, 25), "extend: nothing is known of them");
	is_int(cscan_space_capacity(&pool->spaces[b]), 120, "extend: there is room for more blocks");
	ok(pool_check(pool) == NULL, "the pool is sound");
	c = cscan_pool_add_space(pool, 4, 5, 0);
	is_int(pool->spaces[c].first_chunk, 40, "extend: the next space's numbers are behind");
	cscan_pool_set_access(pool, c, CSCAN_ACCESS_REFUSED);
	ok(cscan_pool_extend_space(pool, c, 88), "extend: up to the last number");
	ok(cscan_set_has(pool->refused, 127), "extend: it is refused like the others");
	ok(pool_check(pool) == NULL, "the pool is sound");

	/* Under a scan: the next one sees more. */
	cscan_pool_remove_space(pool, c);
	scan = scan_all(pool, b, R, 120, 0);
	ok(cscan_pool_extend_space(pool, b, 40), "extend: while it is scanned");
	is_int(pool->scans[scan].nwanted, 30, "extend: its scan wants what it wanted");
	is_int(pool->scans[scan_all(pool, b, R, 160, 0)].nwanted, 40, "extend: the next one wants more");
	is_int(load_one(pool, 1), 10, "extend: they share a chunk");
	ok(pool_check(pool) == NULL, "the pool is sound");
	pool_free(pool);
}

/* A space that goes takes all that is known of its chunks with it. */
static void
test_reuse(void)
{
	CScanPool  *pool = small_pool(64);
	int			a = table_add_sized(pool, 1, 40);
	int			b;
	int			scan = scan_all(pool, a, R, 40, 0);
	int			slot;

	slot = chunk_put(pool, 7, 1);
	chunk_put(pool, 8, 1);
	cscan_pool_set_cached(pool, 9, true);
	cscan_pool_set_cursor(pool, a, 20);
	is_int(use_next(pool, scan, 2), 7, "reuse: a scan reads");
	cscan_pool_unregister(pool, scan);
	cscan_pool_remove_space(pool, a);
	is_int(cscan_pool_find(pool, 7), CSCAN_NONE, "reuse: the space has gone, and what was loaded of it");
	is_int(pool->slots[slot].space, CSCAN_NONE, "reuse: its slot is free");
	is_int(pool->state->total + pool->state->used, 0, "reuse: nothing is there");
	ok(pool_check(pool) == NULL, "the pool is sound");

	b = cscan_pool_add_space(pool, 2, 64, 0);
	is_int(b, a, "reuse: another space has its entry");
	is_int(pool->spaces[b].first_chunk, 0, "reuse: and its numbers");
	is_int(pool->spaces[b].access, CSCAN_ACCESS_UNKNOWN, "reuse: it is not known whether it may be loaded");
	is_int(pool->spaces[b].extent, 0, "reuse: nor how long it is");
	ok(!cscan_set_has(pool->cached, 9), "reuse: nor what is in memory");
	cscan_pool_set_access(pool, b, CSCAN_ACCESS_GRANTED);
	scan = scan_all(pool, b, R, 128, 3);
	is_int(use_next(pool, scan, 4), CSCAN_NO_CHUNK, "reuse: its scan finds nothing");
	is_int(load_one(pool, 5), 0, "reuse: and its first chunk is loaded");
	ok(pool_check(pool) == NULL, "the pool is sound");
	pool_free(pool);
}

/* ------------------------------------------------------------------
 * Blocks
 * ------------------------------------------------------------------ */

static void
test_places(void)
{
	CScanSpace	s;
	CScanPlace	place;
	CScanRange	within;

	cscan_space_begin(&s, 8);
	s.first_chunk = 100;
	s.nchunks = 10;
	s.extent = 21;
	is_int(cscan_space_chunks_for(8, 0), 0, "places: no blocks are no chunk");
	is_int(cscan_space_chunks_for(8, 16), 2, "places: sixteen are two chunks of eight");
	is_int(cscan_space_chunks_for(8, 17), 3, "places: one more is a third");
	is_int(cscan_space_chunks_for(1, UINT32_MAX), UINT32_MAX, "places: as many as can be");
	is_int((int64_t) cscan_space_capacity(&s), 80, "places: so many blocks it can have");
	is_int(cscan_space_chunk_of(&s, 7), 100, "places: a block's chunk");
	is_int(cscan_space_chunk_of(&s, 8), 101, "places: the next one's");
	is_int(cscan_space_first_block(&s, 102), 16, "places: a chunk's first block");
	is_int(cscan_space_cost(&s, 101), 8, "places: a chunk's blocks");
	is_int(cscan_space_cost(&s, 102), 5, "places: the last one's, as far as the space goes");
	is_int(cscan_space_cost(&s, 103), 0, "places: none beyond");
	is_int(cscan_space_npieces(&s, 102), 5, "places: of a block each");
	place = cscan_space_place(&s, 102);
	ok(place.first == 16 && place.end == 21 && place.piece_blocks == 1, "places: where it is");
	ok(cscan_space_within(&s, 101, (CScanRange) {3, 12}, &within) && within.first == 0 && within.end == 4,
	   "places: of a range the part in a chunk");
	ok(cscan_space_within(&s, 101, (CScanRange) {10, 40}, &within) && within.first == 2 && within.end == 8,
	   "places: of one that goes further");
	ok(!cscan_space_within(&s, 101, (CScanRange) {3, 8}, &within) &&
	   !cscan_space_within(&s, 101, (CScanRange) {16, 20}, &within), "places: and none of its neighbours");

	/* The largest table that there is. */
	cscan_space_begin(&s, 65536);
	s.nchunks = CSCAN_MAX_CHUNKS;
	s.extent = UINT32_MAX - 1;
	is_int(s.piece_blocks, 128, "places: pieces of a large chunk");
	ok(cscan_space_capacity(&s) == UINT64_C(1) << 32, "places: the largest table fits");
	place = cscan_space_place(&s, 65535);
	ok(place.first == 0xffff0000 && place.end == UINT32_MAX - 1, "places: its last chunk");
	is_int(cscan_space_npieces(&s, 65535), 512, "places: has as many pieces as there may be");
	ok(cscan_space_within(&s, 65535, (CScanRange) {5, UINT32_MAX - 1}, &within) &&
	   within.first == 0 && within.end == 65534, "places: a range of all of it");
}

/* ------------------------------------------------------------------
 * Access, cursors, pace
 * ------------------------------------------------------------------ */

static void
test_access(void)
{
	CScanPool  *pool = pool_create(4, 8, 64);
	int			space = cscan_pool_add_space(pool, 1, 10, 0);
	int			scan = scan_all(pool, space, R, 10, 0);
	uint32_t	chunk;

	cscan_pool_choose(pool, scan, CSCAN_NONE, 1);
	is_int(pool->scans[scan].nwanted, 10, "access: unknown: the scan wants its chunks");
	is_int(pool->scans[scan].nloadable, 0, "access: unknown: of which none may be loaded");
	ok(!cscan_pool_has_absent(pool, scan) && !cscan_pool_has_refused(pool, scan), "access: unknown: it can but wait");
	is_int(load_one(pool, 2), CSCAN_NO_CHUNK, "access: unknown: nothing is loaded");
	ok(!cscan_pool_wants_load(pool, 2), "access: unknown: nor wanted");
	ok(pool->scans[scan].blocked, "access: unknown: it is blocked");
	ok(pool_check(pool) == NULL, "the pool is sound");

	cscan_pool_set_access(pool, space, CSCAN_ACCESS_GRANTED);
	is_int(pool->scans[scan].nloadable, 10, "access: granted: all may be loaded");
	is_int(load_one(pool, 3), 0, "access: granted: and are");
	is_int(use_next(pool, scan, 4), 0, "access: granted: the scan goes on");

	cscan_pool_set_access(pool, space, CSCAN_ACCESS_REFUSED);
	cscan_pool_set_access(pool, space, CSCAN_ACCESS_REFUSED);
	is_int(pool->state->nrefused, 1, "access: refused: one space");
	is_int(pool->scans[scan].nloadable, 0, "access: refused: nothing may be loaded");
	ok(cscan_pool_has_refused(pool, scan), "access: refused: it has to read for itself");
	is_int(load_one(pool, 5), CSCAN_NO_CHUNK, "access: refused: nothing is loaded");
	ok(cscan_pool_peek(pool, scan, &chunk) && chunk == 1, "access: refused: it looks what it may take");
	ok(cscan_pool_take(pool, scan, CSCAN_NONE, 6, &chunk) && chunk == 1, "access: refused: and takes it");
	is_int(pool->scans[scan].nwanted, 8, "access: refused: one less");
	ok(pool_check(pool) == NULL, "the pool is sound");

	cscan_pool_set_access(pool, space, CSCAN_ACCESS_GRANTED);
	is_int(pool->state->nrefused, 0, "access: granted again");
	ok(!cscan_pool_has_refused(pool, scan), "access: nothing is refused");
	is_int(load_one(pool, 7), 2, "access: so it goes on");
	cscan_pool_set_access(pool, space, CSCAN_ACCESS_REFUSED);
	cscan_pool_unregister(pool, scan);
	cscan_pool_remove_space(pool, space);
	is_int(pool->state->nrefused, 0, "access: a refused space goes");
	ok(pool_check(pool) == NULL, "the pool is sound");
	pool_free(pool);
}

static void
test_cursors(void)
{
	CScanPool  *pool = pool_create(6, 16, 64);
	int			a = table_add_sized(pool, 1, 100);
	int			b = table_add_sized(pool, 1, 100);
	int			both[] = {a, b};
	int			scan;

	is_int(pool->spaces[b].cursor, 100, "cursors: at first a space's is at its first chunk");
	cscan_pool_set_cursor(pool, a, 50);
	scan = scan_all(pool, a, R, 100, 0);
	is_int(pool->scans[scan].cursor, 50, "cursors: a scan begins where its space is");
	cscan_pool_set_cursor(pool, b, 120);
	is_int(pool->scans[scan].cursor, 50, "cursors: another space's is not its own");
	cscan_pool_set_cursor(pool, a, 60);
	is_int(pool->scans[scan].cursor, 60, "cursors: but its space's is");
	is_int(load_one(pool, 1), 60, "cursors: it is loaded from there on");
	is_int(pool->spaces[a].cursor, 61, "cursors: which moves the space's");
	is_int((int64_t) pool->spaces[a].last_load, 1, "cursors: it was the first load");
	cscan_pool_unregister(pool, scan);

	scan = scan_family(pool, both, 2, R, 100, 2);
	is_int(pool->scans[scan].cursor, 61, "cursors: a scan of two begins where the last load was");
	cscan_pool_unregister(pool, scan);
	scan = scan_all(pool, b, R, 100, 3);
	is_int(load_one(pool, 4), 120, "cursors: a load of the other");
	cscan_pool_unregister(pool, scan);
	scan = scan_family(pool, both, 2, R, 100, 5);
	is_int(pool->scans[scan].cursor, 121, "cursors: then there");
	cscan_pool_unregister(pool, scan);

	/* Beyond what is wanted it goes round. */
	cscan_pool_set_cursor(pool, a, 90);
	scan = scan_add(pool, a, R, 100, 20, 30, 6);
	is_int(load_one(pool, 7), 20, "cursors: from beyond its chunks a scan begins anew");
	cscan_pool_set_cursor(pool, a, 0);
	is_int(load_one(pool, 8), 21, "cursors: from before them, too");
	ok(pool_check(pool) == NULL, "the pool is sound");
	pool_free(pool);
}

static void
test_pace(void)
{
	CScanPool  *pool = pool_create(4, 16, 256);
	int			fast = cscan_pool_add_space(pool, 10, 10, 1);
	int			slow = cscan_pool_add_space(pool, 10, 10, 2);
	CScanAction act;

	cscan_pool_set_access(pool, fast, CSCAN_ACCESS_GRANTED);
	cscan_pool_set_access(pool, slow, CSCAN_ACCESS_GRANTED);
	is_double(pool->state->block_time, 5, "pace: 5 us a block, before anything is known");
	cscan_pool_set_block_time(pool, 2);
	is_double(cscan_pool_load_time(pool, slow, 10), 20, "pace: or as it is told");
	is_int((int64_t) pool->state->pace, 2000, "pace: the policies see it in ns");

	scan_all(pool, fast, R, 100, 0);
	act = decide(pool, 1);
	cscan_pool_loaded(pool, act.slot, 2, 100, false, false);
	is_double(pool->state->block_time, 3, "pace: ten blocks in 100 us: an eighth of the way from 2 to 10");
	is_int((int64_t) pool->state->pace, 3000, "pace: the policies follow");
	is_double(cscan_pool_load_time(pool, fast, 10), 100, "pace: the first load of a device counts wholly");
	is_double(cscan_pool_load_time(pool, slow, 10), 30, "pace: another's is not known");
	act = decide(pool, 3);
	cscan_pool_loaded(pool, act.slot, 4, 20, false, false);
	is_double(cscan_pool_load_time(pool, fast, 10), 90, "pace: the next one an eighth");
	is_double(pool->state->block_time, 3 - 1.0 / 8, "pace: as for all together");
	is_int((int64_t) pool->state->pace, 3000, "pace: a small change the policies do not see");
	cscan_pool_unregister(pool, 0);

	/* Only so much as is loaded counts, not what is there already. */
	scan_ranges(pool, slow, R, 100, (CScanRange[]) {{0, 2}}, 1, 5);
	act = decide(pool, 6);
	cscan_pool_loaded(pool, act.slot, 7, 8, false, false);
	is_double(cscan_pool_load_time(pool, slow, 10), 40, "pace: two blocks in 8 us");
	use_next(pool, 0, 8);
	scan_ranges(pool, slow, R, 100, (CScanRange[]) {{0, 3}}, 1, 9);
	act = decide(pool, 10);
	is_int(act.nblocks, 1, "pace: a top-up of one");
	cscan_pool_loaded(pool, act.slot, 11, 12, false, false);
	is_double(cscan_pool_load_time(pool, slow, 10), 50, "pace: one block in 12 us, and an eighth of that");

	cscan_pool_set_block_time(pool, 0.0001);
	is_int((int64_t) pool->state->pace, 1, "pace: at least 1");
	is_double(cscan_pool_load_time(pool, slow, 10), 0.001, "pace: what was known of devices is forgotten");
	pool_free(pool);
}

void
test_spaces(void)
{
	test_numbers();
	test_fragments();
	test_extend();
	test_reuse();
	test_places();
	test_access();
	test_cursors();
	test_pace();
}
