/*-------------------------------------------------------------------------
 *
 * test_trace.c
 *		A trace of any calls replays with the same decisions; one that was
 *		changed does not; one that is damaged does no harm.
 *
 * The calls are random ones, in no sensible order, on a small pool: whatever
 * a caller may do.  They begin before the trace does, so that it has a state to
 * tell.
 *
 *-------------------------------------------------------------------------
 */
#define _POSIX_C_SOURCE 200809L /* fmemopen */

#include "harness.h"
#include "replay.h"
#include "trace.h"

#include <stdlib.h>
#include <string.h>

#define SCANS		8
#define SLOTS		6
#define SPACES		6
#define CHUNKS		2048
#define BUDGET		96
#define RUNS		40
#define CALLS		1500
#define CHANGES		2000

/* What has been recorded, as a file. */
static uint8_t *trace;
static size_t length;
static size_t size;
static uint64_t kinds[256];

static void
append(const void *bytes, size_t n)
{
	if (length + n > size)
	{
		size = 2 * (length + n);
		trace = realloc(trace, size);
		if (trace == NULL)
			abort();
	}
	memcpy(trace + length, bytes, n);
	length += n;
}

static void
put(void *arg, const CScanTraceRecord *r)
{
	uint8_t		bytes[CSCAN_TRACE_RECORD_SIZE];

	(void) arg;
	kinds[r->kind]++;
	cscan_trace_encode(r, bytes);
	append(bytes, sizeof(bytes));
}

static void
record(const CScanPool *pool, const CScanTraceRecord *r)
{
	(void) pool;
	put(NULL, r);
}

static void
begin_trace(CScanPool *pool)
{
	uint8_t		bytes[CSCAN_TRACE_HEADER_SIZE];

	length = 0;
	cscan_trace_encode_header(&pool->state->limits, bytes);
	append(bytes, sizeof(bytes));
	cscan_trace_save(pool, put, NULL);
	pool->record = record;
	pool->state->traced = true;
}

static void
end_trace(CScanPool *pool)
{
	CScanTraceRecord end = {.kind = CSCAN_TRACE_END};

	pool->state->traced = false;
	put(NULL, &end);
}

static ReplayOutcome
replay_bytes(const void *bytes, size_t n, Replay *replay)
{
	FILE	   *in = fmemopen((void *) bytes, n, "rb");
	ReplayOutcome outcome;

	if (in == NULL)
		abort();
	outcome = replay_run(in, replay);
	fclose(in);
	return outcome;
}

static size_t
nrecords(void)
{
	return (length - CSCAN_TRACE_HEADER_SIZE) / CSCAN_TRACE_RECORD_SIZE;
}

static uint8_t *
record_at(size_t n)
{
	return trace + CSCAN_TRACE_HEADER_SIZE + n * CSCAN_TRACE_RECORD_SIZE;
}

/* ------------------------------------------------------------------
 * Random calls
 * ------------------------------------------------------------------ */

/* One of those entries of 0..n - 1 that are there, or none. */
static int
pick(CScanPool *pool, Random *random, int n, bool (*is_there) (const CScanPool *pool, int i))
{
	int			i = (int) random_below(random, (uint32_t) n);

	return is_there(pool, i) ? i : CSCAN_NONE;
}

static bool
space_used(const CScanPool *pool, int i)
{
	return pool->spaces[i].used;
}

static bool
scan_used(const CScanPool *pool, int i)
{
	return pool->scans[i].used;
}

static bool
helper_used(const CScanPool *pool, int i)
{
	return pool->helpers[i].used;
}

static bool
slot_in_flight(const CScanPool *pool, int i)
{
	return pool->slots[i].space != CSCAN_NONE && pool->slots[i].in_flight;
}

static bool
slot_used(const CScanPool *pool, int i)
{
	return pool->slots[i].space != CSCAN_NONE && !pool->slots[i].in_flight;
}

/* An interest in a table of so many blocks; returns the number of ranges. */
static uint32_t
make_ranges(Random *random, uint32_t nblocks, CScanRange *ranges)
{
	uint32_t	n = 0;
	uint32_t	gap = 1 + random_below(random, 60);

	if (random_chance(random, 30))
	{
		ranges[0] = (CScanRange) {0, nblocks};
		return 1;
	}
	for (uint32_t b = random_below(random, gap); b < nblocks && n < 20; n++)
	{
		uint32_t	end = b + 1 + random_below(random, 30);

		ranges[n] = (CScanRange) {b, end < nblocks ? end : nblocks};
		b = end + 1 + random_below(random, gap);
	}
	return n;
}

/* Give a space columns; of at least one block each. */
static void
make_columnar(CScanPool *pool, Random *random, int space)
{
	CScanLayout layout = random_layout(random, pool->spaces[space].chunk_blocks, CSCAN_LAYOUT_COLUMNS);

	cscan_pool_set_columnar(pool, space, &layout);
}

static void
space_call(CScanPool *pool, Random *random)
{
	int			space = pick(pool, random, SPACES, space_used);

	if (space == CSCAN_NONE || random_chance(random, 5))
	{
		space = cscan_pool_add_space(pool, 1 + random_below(random, random_chance(random, 20) ? 900 : 12),
									 1 + random_below(random, random_chance(random, 20) ? 800 : 100),
									 random_below(random, CSCAN_MAX_DEVICES));
		if (space != CSCAN_NONE && random_chance(random, 20))
			make_columnar(pool, random, space);
		if (space != CSCAN_NONE)
			cscan_pool_set_access(pool, space, CSCAN_ACCESS_GRANTED);
	}
	else if (random_chance(random, 30))
		cscan_pool_set_access(pool, space, random_chance(random, 80) ? CSCAN_ACCESS_GRANTED :
							  (CScanAccess) random_below(random, 3));
	else if (pool->spaces[space].nscans == 0 && random_chance(random, 20))
		cscan_pool_remove_space(pool, space);
	else if (random_chance(random, 20))
		cscan_pool_set_cursor(pool, space, pool->spaces[space].first_chunk +
							  random_below(random, pool->spaces[space].nchunks));
	else if (random_chance(random, 20))
		cscan_pool_set_cached(pool, random_below(random, CHUNKS), random_chance(random, 80));
	else if (random_chance(random, 20))
		(void) cscan_pool_extend_space(pool, space, random_below(random, 200));
	else if (random_chance(random, 3))
		cscan_pool_set_limits(pool, BUDGET / 2 + random_below(random, BUDGET),
							  BUDGET * 3 / 2 + random_below(random, BUDGET));
}

/* A scan announces an interest in a few spaces, which it has not announced since it rests. */
static void
announce(CScanPool *pool, Random *random, int scan)
{
	CScanRange	ranges[20];

	for (int i = 0; i < SPACES; i++)
	{
		const CScanSpace *space = &pool->spaces[i];
		uint32_t	nblocks = 1 + random_below(random, 300);

		if (!space->used || space->chunk_blocks > BUDGET || random_chance(random, 70) ||
			cscan_pool_count_wanted(pool, scan, i) > 0)
			continue;
		if (pool->scans[scan].nspaces > 0 &&
			cscan_space_is_columnar(&pool->spaces[pool->scans[scan].first_space]) != cscan_space_is_columnar(space))
			continue;
		if (nblocks > cscan_space_capacity(space))
			nblocks = (uint32_t) cscan_space_capacity(space);
		if (cscan_space_is_columnar(space))
			nblocks = (nblocks - 1) / space->chunk_blocks * space->chunk_blocks + space->chunk_blocks;
		cscan_pool_announce(pool, scan, i, nblocks, ranges, make_ranges(random, nblocks, ranges));
		if (cscan_space_is_columnar(space) && random_chance(random, 30))
			cscan_pool_announce(pool, scan, i, nblocks, ranges, make_ranges(random, nblocks, ranges));
	}
	if (random_chance(random, 80))
		cscan_pool_set_columns(pool, scan, random_next(random) | 1, random_chance(random, 50) ? random_next(random) : 0);
}

/* One that rests leaves a space of which it has announced nothing since. */
static void
leave_space(CScanPool *pool, Random *random, int scan)
{
	int			space = pick(pool, random, SPACES, space_used);

	if (space != CSCAN_NONE && cscan_pool_interested_in(pool, scan, space) &&
		cscan_pool_count_wanted(pool, scan, space) == 0)
		cscan_pool_leave_space(pool, scan, space);
}

static void
new_scan(CScanPool *pool, Random *random, uint64_t now)
{
	int			scan = cscan_pool_register(pool, (CScanPolicyId) random_below(random, CSCAN_NPOLICIES), now);

	if (scan == CSCAN_NONE)
		return;
	announce(pool, random, scan);
	if (random_chance(random, 10))
		return;					/* it starts later */
	cscan_pool_start(pool, scan, now);
	if (random_chance(random, 30))
		cscan_pool_unwant(pool, scan, random_below(random, CHUNKS));
}

/* What becomes of a scan that has started. */
static void
started_call(CScanPool *pool, Random *random, int scan, int helper, uint64_t now)
{
	int			space = pick(pool, random, SPACES, space_used);
	uint32_t	chunk;

	switch (random_below(random, 40))
	{
		case 0:
			cscan_pool_set_stalled(pool, scan, true);
			break;
		case 1:
			cscan_pool_set_warm(pool, scan, random_chance(random, 50));
			break;
		case 2:
			cscan_pool_join(pool, scan);
			break;
		case 3:
			cscan_pool_set_position(pool, scan, random_below(random, CHUNKS));
			break;
		case 4:
			cscan_pool_rest(pool, scan, now);
			break;
		case 5:
			if (space != CSCAN_NONE && random_chance(random, 30))
				cscan_pool_unwant_space(pool, scan, space);
			break;
		case 6:
		case 7:
			(void) cscan_pool_take(pool, scan, helper, now, &chunk);
			break;
		default:
			if (pool->scans[scan].nwanted == 0 || random_chance(random, 1))
				cscan_pool_unregister(pool, scan);
			else
				(void) cscan_pool_choose(pool, scan, helper, now);
			break;
	}
}

static void
scan_call(CScanPool *pool, Random *random, uint64_t now)
{
	int			scan = pick(pool, random, SCANS, scan_used);
	int			helper = pick(pool, random, MAX_HELPERS, helper_used);

	if (scan == CSCAN_NONE)
	{
		new_scan(pool, random, now);
		return;
	}
	if (helper != CSCAN_NONE && random_chance(random, 10))
	{
		cscan_pool_quit(pool, helper);
		return;
	}
	if (helper != CSCAN_NONE && pool->helpers[helper].scan != scan)
		helper = CSCAN_NONE;
	if (pool->scans[scan].started)
		started_call(pool, random, scan, helper, now);
	else if (random_chance(random, 10))
		announce(pool, random, scan);
	else if (random_chance(random, 10))
		leave_space(pool, random, scan);
	else if (random_chance(random, 20))
		cscan_pool_start(pool, scan, now);
	else if (random_chance(random, 5))
		cscan_pool_unregister(pool, scan);
}

static void
manager_call(CScanPool *pool, Random *random, uint64_t now)
{
	CScanAction act;
	int			slot;

	switch (random_below(random, 12))
	{
		case 0:
			slot = cscan_pool_useless(pool);
			if (slot != CSCAN_NONE)
				cscan_pool_drop(pool, slot);
			break;
		case 1:
			(void) cscan_pool_release(pool);
			break;
		case 2:
			(void) cscan_pool_hold(pool);
			break;
		case 3:
			if (random_chance(random, 20))
				cscan_pool_set_limits(pool, BUDGET / 2 + random_below(random, BUDGET),
									  BUDGET + random_below(random, BUDGET));
			cscan_pool_shrink(pool, &act);
			if (random_chance(random, 10))
				cscan_pool_set_block_time(pool, (1 + random_below(random, 20000)) / 700.0);
			slot = pick(pool, random, SLOTS, slot_used);
			if (slot != CSCAN_NONE && random_chance(random, 5))
				cscan_pool_drop(pool, slot);
			break;
		case 4:
		case 5:
		case 6:
		case 7:
			slot = pick(pool, random, SLOTS, slot_in_flight);
			if (slot != CSCAN_NONE && cscan_space_is_columnar(&pool->spaces[pool->slots[slot].space]) &&
				random_chance(random, 50))
				cscan_pool_arrived(pool, slot, &(CScanPieces) {{random_next(random)}});
			else if (slot != CSCAN_NONE)
				cscan_pool_loaded(pool, slot, now, random_chance(random, 5) ? 0 : 500 + random_below(random, 1000),
								  random_chance(random, 5), random_chance(random, 20));
			break;
		default:
			cscan_pool_decide(pool, now, &act);
			break;
	}
}

static CScanPool *
trace_pool(void)
{
	CScanLimits limits = {SCANS, SPACES, SLOTS, MAX_HELPERS, CHUNKS};

	return pool_create_limited(&limits, BUDGET);
}

/* Calls with a trace from the middle on; what is in the pool before is random, too. */
static void
record_calls(uint64_t seed, int ncalls)
{
	CScanPool  *pool = trace_pool();
	Random		random = {seed};
	uint64_t	now = 1000;
	int			begin = (int) random_below(&random, (uint32_t) ncalls / 2);

	cscan_pool_set_limits(pool, BUDGET, BUDGET * 7 / 4);
	for (int i = 0; i < ncalls; i++)
	{
		uint32_t	what = random_below(&random, 100);

		if (i == begin)
			begin_trace(pool);
		now += random_below(&random, 200);
		if (what < 5)
			space_call(pool, &random);
		else if (what < 55)
			scan_call(pool, &random, now);
		else
			manager_call(pool, &random, now);
	}
	end_trace(pool);
	pool_free(pool);
}

/* ------------------------------------------------------------------
 * Tests
 * ------------------------------------------------------------------ */

static void
test_bytes(void)
{
	static const uint8_t expected[] = {
		52, 3, 2, 1, 0xff, 0xff, 0xff, 0xff, 8, 7, 6, 5, 4, 3, 2, 1,
		4, 3, 2, 1, 0xfe, 0xff, 0xff, 0xff, 0x44, 0x33, 0x22, 0x11, 0xdd, 0xcc, 0xbb, 0xaa
	};
	CScanTraceRecord r = {.kind = CSCAN_TRACE_DECIDE,.flag = 3,.count = 0x0102,.scan = -1,
		.time = UINT64_C(0x0102030405060708),.other = 0x01020304,.slot = -2,.chunk = 0x11223344,
	.blocks = 0xaabbccdd};
	CScanTraceRecord back;
	uint8_t		bytes[CSCAN_TRACE_RECORD_SIZE];

	cscan_trace_encode(&r, bytes);
	ok(sizeof(expected) == sizeof(bytes) && memcmp(bytes, expected, sizeof(bytes)) == 0,
	   "a record has these bytes");
	cscan_trace_decode(bytes, &back);
	ok(back.kind == r.kind && back.flag == r.flag && back.count == r.count && back.scan == r.scan &&
	   back.time == r.time && back.other == r.other && back.slot == r.slot && back.chunk == r.chunk &&
	   back.blocks == r.blocks, "and comes back as it was");
}

static void
test_same(void)
{
	int			same = 0;
	uint64_t	decisions = 0;
	int			missing = 0;
	Replay		replay;

	memset(kinds, 0, sizeof(kinds));
	for (int i = 0; i < RUNS; i++)
	{
		ReplayOutcome outcome;

		record_calls((uint64_t) i, CALLS);
		outcome = replay_bytes(trace, length, &replay);
		same += outcome == REPLAY_SAME;
		decisions += replay.decisions;
		if (outcome != REPLAY_SAME)
		{
			note("seed %d", i);
			replay_report(outcome, &replay, stdout);
		}
	}
	is_int(same, RUNS, "traces that begin in the middle replay with the same decisions");
	note("%llu decisions", (unsigned long long) decisions);
	for (int kind = CSCAN_TRACE_LIMITS; kind <= CSCAN_TRACE_ARRIVED; kind++)
	{
		if (kinds[kind] == 0)
			note("no record of kind %d", kind);
		missing += kinds[kind] == 0;
	}
	for (int kind = CSCAN_TRACE_STATE_COLUMNAR; kind <= CSCAN_TRACE_STATE_END; kind++)
	{
		if (kind > CSCAN_TRACE_STATE_COLUMNS && kind < CSCAN_TRACE_STATE)
			continue;
		if (kinds[kind] == 0)
			note("no record of kind %d", kind);
		missing += kinds[kind] == 0;
	}
	is_int(missing, 0, "records of every kind were among them");
}

/* The state that is restored tells itself as it was told. */
static void
test_state(void)
{
	CScanPool  *pool = trace_pool();
	uint8_t    *first;
	size_t		told = 0;
	int			scan = CSCAN_NONE;
	int			space = CSCAN_NONE;
	const char *wrong = NULL;

	record_calls(4711, CALLS);
	while (wrong == NULL)
	{
		CScanTraceRecord r;

		cscan_trace_decode(record_at(told++), &r);
		wrong = cscan_trace_restore(pool, &r, &scan, &space);
		if (r.kind == CSCAN_TRACE_STATE_END)
			break;
	}
	ok(wrong == NULL, "a state is restored");
	wrong = pool_check(pool);
	ok(wrong == NULL, "the pool is sound");
	if (wrong != NULL)
		note("%s", wrong);
	told *= CSCAN_TRACE_RECORD_SIZE;
	first = malloc(told);
	if (first == NULL)
		abort();
	memcpy(first, record_at(0), told);
	begin_trace(pool);
	ok(length == CSCAN_TRACE_HEADER_SIZE + told && memcmp(first, record_at(0), told) == 0,
	   "and is told in the same words");
	note("%zu bytes", told);
	free(first);
	pool_free(pool);
}

/* A block's time is told as it is, whatever fraction it has. */
static void
test_block_time(void)
{
	static const double times[] = {5, 0.5, 1.0010001, 5.0 / 3, 1e-4, 12345.6789};
	int			same = 0;

	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++)
	{
		CScanPool  *pool = trace_pool();
		Replay		replay;

		begin_trace(pool);
		cscan_pool_set_block_time(pool, times[i]);
		end_trace(pool);
		same += replay_bytes(trace, length, &replay) == REPLAY_SAME;
		pool_free(pool);
	}
	is_int(same, sizeof(times) / sizeof(times[0]), "block times of any fraction are replayed");
}

/* Where the next numbers of chunks are looked for is part of the state. */
static void
test_numbers(void)
{
	CScanPool  *pool = trace_pool();
	Replay		replay;
	int			space;

	table_add_sized(pool, 1, 10);
	table_add_sized(pool, 1, 10);
	cscan_pool_remove_space(pool, 0);
	begin_trace(pool);
	space = table_add_sized(pool, 1, 10);
	is_int(chunk_of(pool, space, 0), 20, "a space has numbers behind those given last");
	scan_all(pool, space, CSCAN_POLICY_RELEVANCE, 10, 1);
	(void) load_one(pool, 2);
	end_trace(pool);
	ok(replay_bytes(trace, length, &replay) == REPLAY_SAME, "and has them when it is replayed");
	pool_free(pool);
}

/* A state that cannot be is refused before anything goes by it. */
static void
test_refused(void)
{
	CScanPool  *pool = trace_pool();
	int			scan = CSCAN_NONE;
	int			space = CSCAN_NONE;
	CScanTraceRecord first = {.kind = CSCAN_TRACE_STATE_SPACE,.time = UINT64_C(10) << 32,.chunk = 1,.blocks = 10};
	CScanTraceRecord again = {.kind = CSCAN_TRACE_STATE_SPACE,.time = UINT64_C(10) << 32 | 20,.chunk = 1,.blocks = 10};
	CScanTraceRecord same = {.kind = CSCAN_TRACE_STATE_SPACE,.time = UINT64_C(10) << 32 | 5,.chunk = 1,.other = 1};

	ok(cscan_trace_restore(pool, &first, &scan, &space) == NULL, "a space is told");
	ok(cscan_trace_restore(pool, &same, &scan, &space) != NULL, "another one has none of its chunks");
	ok(cscan_trace_restore(pool, &again, &scan, &space) != NULL, "nor is it told twice");
	pool_free(pool);
}

/* Change what was decided, one field of one record at a time. */
static void
test_changed(void)
{
	static const struct
	{
		CScanTraceKind kind;
		int			place;		/* byte of the record that is changed */
		const char *what;
	}			changes[] = {
		{CSCAN_TRACE_DECIDE, 1, "what is done"},
		{CSCAN_TRACE_DECIDE, 2, "the pieces of a load"},
		{CSCAN_TRACE_DECIDE, 4, "whom it is for"},
		{CSCAN_TRACE_DECIDE, 20, "the slot"},
		{CSCAN_TRACE_DECIDE, 24, "the chunk"},
		{CSCAN_TRACE_DECIDE, 28, "the number of blocks"},
		{CSCAN_TRACE_CHOOSE, 20, "a choice"},
		{CSCAN_TRACE_TAKE, 24, "a chunk that was taken"},
		{CSCAN_TRACE_START, 24, "where a scan begins"},
		{CSCAN_TRACE_REGISTER, 4, "a scan's place"},
		{CSCAN_TRACE_JOIN, 16, "a helper's place"},
		{CSCAN_TRACE_ADD_SPACE, 16, "a space's place"},
		{CSCAN_TRACE_EXTEND_SPACE, 1, "whether a space has been extended"},
		{CSCAN_TRACE_USELESS, 20, "what is useless"},
		{CSCAN_TRACE_RELEASE, 20, "what is released"},
		{CSCAN_TRACE_HOLD, 20, "what is held"},
		{CSCAN_TRACE_SHRINK, 1, "how the pool shrinks"},
		{CSCAN_TRACE_SHRINK, 20, "what goes as it shrinks"},
	};

	record_calls(1, 4 * CALLS);
	for (size_t c = 0; c < sizeof(changes) / sizeof(changes[0]); c++)
	{
		int			tried = 0;
		int			found = 0;
		Replay		replay;

		for (size_t i = 0; i < nrecords() && tried < 5; i++)
		{
			uint8_t    *r = record_at(i);

			if (r[0] != changes[c].kind || (changes[c].place == 2 && r[1] != CSCAN_ACT_LOAD))
				continue;
			tried++;
			r[changes[c].place] ^= 1;
			found += replay_bytes(trace, length, &replay) == REPLAY_DIFFERS &&
				replay.records == i + 1;
			r[changes[c].place] ^= 1;
		}
		if (!ok(tried > 0 && found == tried, "%s: a change is found", changes[c].what))
			note("%d of %d", found, tried);
	}
}

static void
expect(const uint8_t *bytes, size_t n, ReplayOutcome outcome, const char *word, const char *what)
{
	Replay		replay;
	ReplayOutcome got = replay_bytes(bytes, n, &replay);

	if (!ok(got == outcome && replay.message != NULL && strstr(replay.message, word) != NULL, "%s", what))
		note("outcome %d: %s", (int) got, replay.message ? replay.message : "");
}

static void
test_damaged(void)
{
	CScanTraceRecord lost = {.kind = CSCAN_TRACE_LOST,.time = 17};
	uint8_t		bytes[CSCAN_TRACE_RECORD_SIZE];
	size_t		middle;
	Replay		replay;
	Random		random = {99};
	int			done = 0;

	record_calls(2, CALLS);
	middle = CSCAN_TRACE_HEADER_SIZE + nrecords() * 3 / 4 * CSCAN_TRACE_RECORD_SIZE;
	expect(trace, 10, REPLAY_BROKEN, "no header", "a file without a header");
	expect(trace, length - 5, REPLAY_BROKEN, "within a record", "a file that ends within a record");
	expect(trace, length - CSCAN_TRACE_RECORD_SIZE, REPLAY_INCOMPLETE, "no end", "a file without an end");
	trace[3] ^= 1;
	expect(trace, length, REPLAY_BROKEN, "not a trace", "a file that is no trace");
	trace[3] ^= 1;
	trace[8] ^= 2;
	expect(trace, length, REPLAY_BROKEN, "another version", "a file of another version");
	trace[8] ^= 2;
	trace[40] ^= 4;
	expect(trace, length, REPLAY_BROKEN, "other limits", "a file made with other limits");
	trace[40] ^= 4;
	trace[32] ^= 1;
	expect(trace, length, REPLAY_BROKEN, "number of chunks", "a file of a pool that cannot be");
	trace[32] ^= 1;
	trace[19] = 0x7f;
	expect(trace, length, REPLAY_BROKEN, "too large", "a file of a pool that is too large");
	trace[19] = 0;

	while (record_at(middle / CSCAN_TRACE_RECORD_SIZE - 2)[0] == CSCAN_TRACE_RANGES)
		middle += CSCAN_TRACE_RECORD_SIZE;
	cscan_trace_encode(&lost, bytes);
	memcpy(record_at(middle / CSCAN_TRACE_RECORD_SIZE - 2), bytes, sizeof(bytes));
	ok(replay_bytes(trace, length, &replay) == REPLAY_INCOMPLETE && replay.lost == 17,
	   "a file with lost records is the same up to there");

	/* Whatever is in it, nothing goes out of bounds. */
	for (int i = 0; i < CHANGES; i++)
	{
		size_t		place;
		uint8_t		before;

		if (i % 40 == 0)
			record_calls((uint64_t) i, CALLS / 4);
		place = CSCAN_TRACE_HEADER_SIZE + random_next(&random) % (length - CSCAN_TRACE_HEADER_SIZE);
		before = trace[place];
		trace[place] = (uint8_t) random_next(&random);
		(void) replay_bytes(trace, length, &replay);
		trace[place] = before;
		done++;
	}
	is_int(done, CHANGES, "files with a changed byte are read without harm");
}

static void
test_print(void)
{
	char		text[4096] = "";
	Replay		replay;
	FILE	   *in;
	FILE	   *out = fmemopen(text, sizeof(text) - 1, "w");
	CScanPool  *pool = trace_pool();
	int			table;
	int			scan;
	CScanAction act;

	begin_trace(pool);
	table = table_add_sized(pool, 8, 10);
	scan = scan_all(pool, table, CSCAN_POLICY_RELEVANCE, 40, 100);
	(void) cscan_pool_choose(pool, scan, CSCAN_NONE, 110);
	cscan_pool_decide(pool, 120, &act);
	end_trace(pool);
	pool_free(pool);

	in = fmemopen(trace, length, "rb");
	if (in == NULL || out == NULL)
		abort();
	ok(replay_print(in, out, &replay) == REPLAY_SAME, "a trace is printed");
	fclose(in);
	fclose(out);
	ok(strstr(text, "version 7: 8 scans, 6 slots, 16 helpers, 6 spaces, 2048 chunks\n") != NULL &&
	   strstr(text, " add space chunk_blocks 8 chunks 10 device 0 -> space 0\n") != NULL &&
	   strstr(text, " access space 0: granted\n") != NULL &&
	   strstr(text, "           100 register policy relevance -> scan 0\n") != NULL &&
	   strstr(text, " announce scan 0 space 0 blocks 40 ranges 1\n") != NULL &&
	   strstr(text, " ranges 0..39\n") != NULL &&
	   strstr(text, "           100 start scan 0 -> chunk 0\n") != NULL &&
	   strstr(text, "           110 choose scan 0 helper none -> slot none\n") != NULL &&
	   strstr(text, "           120 decide -> load slot 0 space 0 chunk 0 for scan 0 blocks 8 pieces ") != NULL,
	   "with a line for each record");
}

void
test_trace(void)
{
	test_bytes();
	test_same();
	test_state();
	test_block_time();
	test_numbers();
	test_refused();
	test_changed();
	test_damaged();
	test_print();
	free(trace);
	trace = NULL;
	length = size = 0;
}
