/*-------------------------------------------------------------------------
 *
 * trace.c
 *		See trace.h.
 *
 * The state is told by what a pool's scans, tables, helpers and slots say of
 * themselves; all that can be counted again from these is (cscan_pool_rebuild),
 * so a trace knows nothing of how the pool keeps its counts.
 *
 *-------------------------------------------------------------------------
 */
#include <stddef.h>
#include <string.h>

#include "trace.h"

#define RANGES(pool, scan)		((pool)->ranges + (size_t) (scan) * CSCAN_MAX_RANGES)
#define WANTED(pool, scan)		((pool)->wanted + (size_t) (scan) * CSCAN_MAP_WORDS)

#define RANGES_IN_RECORD		3

/* Two numbers in the place of one. */
#define LOW(word)				((uint32_t) (word))
#define HIGH(word)				((uint32_t) ((word) >> 32))
#define BOTH(low, high)			((uint64_t) (low) | (uint64_t) (high) << 32)

/* ------------------------------------------------------------------
 * Bytes
 * ------------------------------------------------------------------ */

static uint8_t *
put_number(uint8_t *bytes, uint64_t number, int size)
{
	for (int i = 0; i < size; i++)
		bytes[i] = (uint8_t) (number >> (8 * i));
	return bytes + size;
}

static uint64_t
get_number(const uint8_t **bytes, int size)
{
	uint64_t	number = 0;

	for (int i = 0; i < size; i++)
		number |= (uint64_t) (*bytes)[i] << (8 * i);
	*bytes += size;
	return number;
}

void
cscan_trace_encode(const CScanTraceRecord *r, uint8_t bytes[CSCAN_TRACE_RECORD_SIZE])
{
	bytes = put_number(bytes, r->kind, 1);
	bytes = put_number(bytes, r->flag, 1);
	bytes = put_number(bytes, r->count, 2);
	bytes = put_number(bytes, (uint32_t) r->scan, 4);
	bytes = put_number(bytes, r->time, 8);
	bytes = put_number(bytes, (uint32_t) r->other, 4);
	bytes = put_number(bytes, (uint32_t) r->slot, 4);
	bytes = put_number(bytes, r->chunk, 4);
	(void) put_number(bytes, r->blocks, 4);
}

void
cscan_trace_decode(const uint8_t bytes[CSCAN_TRACE_RECORD_SIZE], CScanTraceRecord *r)
{
	r->kind = (uint8_t) get_number(&bytes, 1);
	r->flag = (uint8_t) get_number(&bytes, 1);
	r->count = (uint16_t) get_number(&bytes, 2);
	r->scan = (int32_t) get_number(&bytes, 4);
	r->time = get_number(&bytes, 8);
	r->other = (int32_t) get_number(&bytes, 4);
	r->slot = (int32_t) get_number(&bytes, 4);
	r->chunk = (uint32_t) get_number(&bytes, 4);
	r->blocks = (uint32_t) get_number(&bytes, 4);
}

void
cscan_trace_encode_header(const CScanTraceHeader *header, uint8_t bytes[CSCAN_TRACE_HEADER_SIZE])
{
	memset(bytes, 0, CSCAN_TRACE_HEADER_SIZE);
	memcpy(bytes, CSCAN_TRACE_MAGIC, 8);
	bytes = put_number(bytes + 8, CSCAN_TRACE_VERSION, 4);
	bytes = put_number(bytes, CSCAN_TRACE_RECORD_SIZE, 4);
	bytes = put_number(bytes, (uint32_t) header->max_scans, 4);
	bytes = put_number(bytes, (uint32_t) header->max_slots, 4);
	bytes = put_number(bytes, (uint32_t) header->max_helpers, 4);
	bytes = put_number(bytes, CSCAN_MAX_CHUNKS, 4);
	bytes = put_number(bytes, CSCAN_MAX_PIECES, 4);
	(void) put_number(bytes, CSCAN_MAX_RANGES, 4);
}

const char *
cscan_trace_decode_header(const uint8_t bytes[CSCAN_TRACE_HEADER_SIZE], CScanTraceHeader *header)
{
	if (memcmp(bytes, CSCAN_TRACE_MAGIC, 8) != 0)
		return "this is not a trace";
	bytes += 8;
	if (get_number(&bytes, 4) != CSCAN_TRACE_VERSION ||
		get_number(&bytes, 4) != CSCAN_TRACE_RECORD_SIZE)
		return "the trace is of another version of the format";
	header->max_scans = (int32_t) get_number(&bytes, 4);
	header->max_slots = (int32_t) get_number(&bytes, 4);
	header->max_helpers = (int32_t) get_number(&bytes, 4);
	if (get_number(&bytes, 4) != CSCAN_MAX_CHUNKS || get_number(&bytes, 4) != CSCAN_MAX_PIECES ||
		get_number(&bytes, 4) != CSCAN_MAX_RANGES)
		return "the trace was made with other limits of chunks, pieces or ranges";
	if (header->max_scans < 1 || header->max_slots < 1 || header->max_helpers < 0)
		return "the trace is of a pool without scans or slots";
	return NULL;
}

/* ------------------------------------------------------------------
 * Calls
 * ------------------------------------------------------------------ */

/* The next of so many ranges, as many as a record takes. */
static CScanTraceRecord
record_of_ranges(const CScanRange *ranges, uint32_t left)
{
	CScanTraceRecord r = {.kind = CSCAN_TRACE_RANGES};

	r.count = (uint16_t) (left < RANGES_IN_RECORD ? left : RANGES_IN_RECORD);
	r.time = BOTH(ranges[0].first, ranges[0].end);
	if (r.count > 1)
	{
		r.other = (int32_t) ranges[1].first;
		r.slot = (int32_t) ranges[1].end;
	}
	if (r.count > 2)
	{
		r.chunk = ranges[2].first;
		r.blocks = ranges[2].end;
	}
	return r;
}

void
cscan_trace_ranges(const CScanPool *pool, const CScanRange *ranges, uint32_t nranges)
{
	for (uint32_t n = 0; n < nranges; n += RANGES_IN_RECORD)
	{
		CScanTraceRecord r = record_of_ranges(ranges + n, nranges - n);

		pool->record(pool, &r);
	}
}

uint32_t
cscan_trace_get_ranges(const CScanTraceRecord *r, CScanRange ranges[3])
{
	ranges[0] = (CScanRange) {LOW(r->time), HIGH(r->time)};
	ranges[1] = (CScanRange) {(uint32_t) r->other, (uint32_t) r->slot};
	ranges[2] = (CScanRange) {r->chunk, r->blocks};
	return r->count > RANGES_IN_RECORD ? 0 : r->count;
}

uint16_t
cscan_trace_pieces(const CScanPieces *pieces)
{
	uint64_t	sum = 0;

	for (int w = 0; w < CSCAN_PIECE_WORDS; w++)
		sum = sum * 31 + pieces->word[w];
	sum ^= sum >> 32;
	return (uint16_t) (sum ^ sum >> 16);
}

void
cscan_trace_action(const CScanPool *pool, uint64_t now, const CScanAction *act)
{
	bool		load = act->kind == CSCAN_ACT_LOAD;
	bool		nothing = act->kind == CSCAN_ACT_NOTHING;

	CSCAN_TRACE(pool,.kind = CSCAN_TRACE_DECIDE,.flag = (uint8_t) act->kind,.time = now,
				.scan = nothing ? CSCAN_NONE : act->scan,.other = nothing ? CSCAN_NONE : act->table,
				.slot = nothing ? CSCAN_NONE : act->slot,.chunk = nothing ? 0 : act->chunk,
				.blocks = load ? act->nblocks : 0,
				.count = load ? cscan_trace_pieces(&act->pieces) : 0);
}

/* ------------------------------------------------------------------
 * State
 * ------------------------------------------------------------------ */

/* Words that are not empty, as runs of equal ones. */
static void
save_words(const uint64_t *words, uint32_t n, CScanTraceRecord r, CScanTracePut put, void *arg)
{
	uint32_t	length;

	for (uint32_t w = 0; w < n; w += length)
	{
		for (length = 1; w + length < n && words[w + length] == words[w]; length++)
			;
		if (words[w] == 0)
			continue;
		r.time = words[w];
		r.chunk = w;
		r.blocks = length;
		put(arg, &r);
	}
}

static void
save_scan(const CScanPool *pool, int scan, CScanTracePut put, void *arg)
{
	const CScanInterest *s = &pool->scans[scan];
	CScanTraceRecord r = {.kind = CSCAN_TRACE_STATE_SCAN,.scan = scan};

	r.flag = s->policy | (s->waiting ? CSCAN_TRACE_SCAN_WAITING : 0) |
		(s->blocked ? CSCAN_TRACE_SCAN_BLOCKED : 0) |
		(s->stalled ? CSCAN_TRACE_SCAN_STALLED : 0) |
		(s->warm ? CSCAN_TRACE_SCAN_WARM : 0);
	r.count = (uint16_t) s->nranges;
	r.time = s->since;
	r.other = s->table;
	r.slot = s->in_use;
	r.chunk = s->position;
	r.blocks = s->nblocks;
	put(arg, &r);
	for (uint32_t n = 0; n < s->nranges; n += RANGES_IN_RECORD)
	{
		r = record_of_ranges(RANGES(pool, scan) + n, s->nranges - n);
		put(arg, &r);
	}
	r = (CScanTraceRecord) {.kind = CSCAN_TRACE_STATE_WANTED,.scan = scan};
	save_words(WANTED(pool, scan), s->nchunks / 64 + (s->nchunks % 64 != 0), r, put, arg);
}

static void
save_slot(const CScanPool *pool, int slot, CScanTracePut put, void *arg)
{
	const CScanSlot *s = &pool->slots[slot];
	CScanTraceRecord r = {.kind = CSCAN_TRACE_STATE_SLOT,.slot = slot};

	r.flag = (s->in_flight ? CSCAN_TRACE_SLOT_IN_FLIGHT : 0) |
		(s->failed ? CSCAN_TRACE_SLOT_FAILED : 0) |
		(s->cheap ? CSCAN_TRACE_SLOT_CHEAP : 0) |
		(s->held ? CSCAN_TRACE_SLOT_HELD : 0);
	r.scan = s->trigger;
	r.time = s->stamp;
	r.other = s->table;
	r.chunk = s->chunk;
	r.blocks = s->nblocks;
	put(arg, &r);
	r = (CScanTraceRecord) {.kind = CSCAN_TRACE_STATE_LOAD,.slot = slot,.time = s->order,.blocks = s->end};
	put(arg, &r);
	r = (CScanTraceRecord) {.kind = CSCAN_TRACE_STATE_PIECES,.slot = slot};
	save_words(s->loaded.word, CSCAN_PIECE_WORDS, r, put, arg);
	r.flag = 1;
	save_words(s->coming.word, CSCAN_PIECE_WORDS, r, put, arg);
}

void
cscan_trace_save(const CScanPool *pool, CScanTracePut put, void *arg)
{
	const CScanPoolState *state = pool->state;
	CScanTraceRecord r = {.kind = CSCAN_TRACE_STATE,.flag = state->unpinned,.scan = state->room_for,.time = state->nloads,
	.chunk = state->budget,.blocks = state->room};
	uint64_t	load_time;

	memcpy(&load_time, &state->load_time, sizeof(load_time));
	r.other = (int32_t) LOW(load_time);
	r.slot = (int32_t) HIGH(load_time);
	put(arg, &r);
	for (int i = 0; i < state->max_scans; i++)
	{
		const CScanTable *t = &pool->tables[i];

		if (!t->used)
			continue;
		r = (CScanTraceRecord) {.kind = CSCAN_TRACE_STATE_TABLE,.flag = t->loadable,.other = i,
			.time = BOTH(t->cursor, t->elevator),.chunk = t->chunk_blocks,.blocks = t->nblocks,
			.scan = (int32_t) t->next_asked,.slot = (int32_t) t->part_chunks};
		put(arg, &r);
		r = (CScanTraceRecord) {.kind = CSCAN_TRACE_STATE_ASKED,.other = i};
		save_words(&t->asked[0][0], CSCAN_LAST_SCANS * CSCAN_PART_WORDS, r, put, arg);
	}
	for (int i = 0; i < state->max_scans; i++)
	{
		if (pool->scans[i].table != CSCAN_NONE)
			save_scan(pool, i, put, arg);
	}
	for (int i = 0; i < state->max_helpers; i++)
	{
		const CScanHelper *h = &pool->helpers[i];

		if (!h->used)
			continue;
		r = (CScanTraceRecord) {.kind = CSCAN_TRACE_STATE_HELPER,.flag = h->waiting,.scan = h->scan,
			.other = i,.slot = h->in_use};
		put(arg, &r);
	}
	for (int i = 0; i < state->max_slots; i++)
	{
		if (pool->slots[i].table != CSCAN_NONE)
			save_slot(pool, i, put, arg);
	}
	r = (CScanTraceRecord) {.kind = CSCAN_TRACE_STATE_PACE,.time = state->pace};
	put(arg, &r);
	r = (CScanTraceRecord) {.kind = CSCAN_TRACE_STATE_END};
	put(arg, &r);
}

/* ------------------------------------------------------------------
 * And back
 * ------------------------------------------------------------------ */

static bool
is_scan(const CScanPool *pool, int scan)
{
	return scan >= 0 && scan < pool->state->max_scans;
}

static bool
is_slot(const CScanPool *pool, int slot)
{
	return slot >= 0 && slot < pool->state->max_slots;
}

static bool
is_table(const CScanPool *pool, int table)
{
	return is_scan(pool, table) && pool->tables[table].used;
}

/* Runs of words that save_words() has made; false if they do not fit. */
static bool
restore_words(uint64_t *words, uint32_t n, const CScanTraceRecord *r)
{
	if (r->chunk >= n || r->blocks > n - r->chunk)
		return false;
	for (uint32_t w = 0; w < r->blocks; w++)
		words[r->chunk + w] = r->time;
	return true;
}

static const char *
restore_table(CScanPool *pool, const CScanTraceRecord *r)
{
	CScanTable *t;

	if (!is_scan(pool, r->other) || r->chunk == 0 ||
		r->scan < 0 || r->scan >= CSCAN_LAST_SCANS || r->slot < 0)
		return "a table that cannot be";
	t = &pool->tables[r->other];
	memset(t, 0, sizeof(*t));
	t->used = true;
	t->loadable = r->flag != 0;
	t->cursor = LOW(r->time);
	t->elevator = HIGH(r->time);
	t->chunk_blocks = r->chunk;
	t->nblocks = r->blocks;
	t->next_asked = (uint32_t) r->scan;
	t->part_chunks = (uint32_t) r->slot;
	return NULL;
}

static const char *
restore_scan(CScanPool *pool, const CScanTraceRecord *r)
{
	CScanInterest *s;
	uint32_t	chunk_blocks;

	if (!is_scan(pool, r->scan) || !is_table(pool, r->other) ||
		(r->flag & CSCAN_TRACE_SCAN_POLICY) >= CSCAN_NPOLICIES ||
		(r->slot != CSCAN_NONE && !is_slot(pool, r->slot)))
		return "a scan that cannot be";
	s = &pool->scans[r->scan];
	chunk_blocks = pool->tables[r->other].chunk_blocks;
	memset(s, 0, sizeof(*s));
	s->nchunks = r->blocks / chunk_blocks + (r->blocks % chunk_blocks != 0);
	if (s->nchunks > CSCAN_MAX_CHUNKS || r->count > CSCAN_MAX_RANGES)
	{
		s->table = CSCAN_NONE;
		return "a scan of too many chunks or ranges";
	}
	s->policy = r->flag & CSCAN_TRACE_SCAN_POLICY;
	s->waiting = (r->flag & CSCAN_TRACE_SCAN_WAITING) != 0;
	s->blocked = (r->flag & CSCAN_TRACE_SCAN_BLOCKED) != 0;
	s->stalled = (r->flag & CSCAN_TRACE_SCAN_STALLED) != 0;
	s->warm = (r->flag & CSCAN_TRACE_SCAN_WARM) != 0;
	s->since = r->time;
	s->table = r->other;
	s->in_use = r->slot;
	s->position = r->chunk;
	s->nblocks = r->blocks;
	memset(WANTED(pool, r->scan), 0, sizeof(uint64_t) * CSCAN_MAP_WORDS);
	return NULL;
}

static const char *
restore_ranges(CScanPool *pool, const CScanTraceRecord *r, int scan)
{
	CScanInterest *s = &pool->scans[scan];
	CScanRange	ranges[RANGES_IN_RECORD];
	uint32_t	n = cscan_trace_get_ranges(r, ranges);

	if (n == 0 || n > CSCAN_MAX_RANGES - s->nranges)
		return "ranges that nobody has";
	for (uint32_t i = 0; i < n; i++)
	{
		uint32_t	before = s->nranges > 0 ? RANGES(pool, scan)[s->nranges - 1].end : 0;

		if (ranges[i].first < before || ranges[i].first >= ranges[i].end ||
			ranges[i].end > s->nblocks)
			return "ranges that are not in order";
		RANGES(pool, scan)[s->nranges++] = ranges[i];
	}
	return NULL;
}

static const char *
restore_slot(CScanPool *pool, const CScanTraceRecord *r)
{
	CScanSlot  *s;

	if (!is_slot(pool, r->slot) || !is_table(pool, r->other) || r->chunk >= CSCAN_MAX_CHUNKS ||
		(r->scan != CSCAN_NONE && !is_scan(pool, r->scan)))
		return "a slot that cannot be";
	s = &pool->slots[r->slot];
	memset(s, 0, sizeof(*s));
	s->in_flight = (r->flag & CSCAN_TRACE_SLOT_IN_FLIGHT) != 0;
	s->failed = (r->flag & CSCAN_TRACE_SLOT_FAILED) != 0;
	s->cheap = (r->flag & CSCAN_TRACE_SLOT_CHEAP) != 0;
	s->held = (r->flag & CSCAN_TRACE_SLOT_HELD) != 0;
	s->trigger = r->scan;
	s->stamp = r->time;
	s->table = r->other;
	s->chunk = r->chunk;
	s->nblocks = r->blocks;
	return NULL;
}

static const char *
restore_helper(CScanPool *pool, const CScanTraceRecord *r)
{
	CScanHelper *h;

	if (r->other < 0 || r->other >= pool->state->max_helpers ||
		(r->scan != CSCAN_NONE && (!is_scan(pool, r->scan) || pool->scans[r->scan].table == CSCAN_NONE)) ||
		(r->slot != CSCAN_NONE && (!is_slot(pool, r->slot) || r->scan == CSCAN_NONE)))
		return "a helper that cannot be";
	h = &pool->helpers[r->other];
	h->used = true;
	h->waiting = r->flag != 0;
	h->scan = r->scan;
	h->in_use = r->slot;
	return NULL;
}

static void
restore_state(CScanPool *pool, const CScanTraceRecord *r)
{
	CScanPoolState *state = pool->state;
	uint64_t	load_time = BOTH((uint32_t) r->other, (uint32_t) r->slot);

	memcpy(&state->load_time, &load_time, sizeof(load_time));
	state->unpinned = r->flag != 0;
	state->room_for = is_scan(pool, r->scan) ? r->scan : CSCAN_NONE;
	state->nloads = r->time;
	cscan_pool_set_limits(pool, r->chunk, r->blocks);
}

static const char *
restore_wanted(CScanPool *pool, const CScanTraceRecord *r)
{
	uint32_t	nchunks;

	if (!is_scan(pool, r->scan) || pool->scans[r->scan].table == CSCAN_NONE)
		return "a map of chunks that nobody wants";
	nchunks = pool->scans[r->scan].nchunks;
	if (!restore_words(WANTED(pool, r->scan), nchunks / 64 + (nchunks % 64 != 0), r) ||
		(nchunks % 64 != 0 && WANTED(pool, r->scan)[nchunks / 64] >> (nchunks % 64) != 0))
		return "a map of chunks that the table does not have";
	return NULL;
}

/* All is told: can it be? */
static const char *
check_slots(const CScanPool *pool)
{
	for (int i = 0; i < pool->state->max_slots; i++)
	{
		const CScanSlot *s = &pool->slots[i];

		if (s->table != CSCAN_NONE &&
			s->end < (uint64_t) s->chunk * pool->tables[s->table].chunk_blocks)
			return "a slot whose chunk is beyond the table's end";
	}
	return NULL;
}

const char *
cscan_trace_restore(CScanPool *pool, const CScanTraceRecord *r, int *scan)
{
	CScanSlot  *slot = is_slot(pool, r->slot) && pool->slots[r->slot].table != CSCAN_NONE ?
		&pool->slots[r->slot] : NULL;
	const char *wrong = NULL;

	switch (r->kind)
	{
		case CSCAN_TRACE_STATE:
			restore_state(pool, r);
			break;
		case CSCAN_TRACE_STATE_TABLE:
			return restore_table(pool, r);
		case CSCAN_TRACE_STATE_ASKED:
			if (!is_table(pool, r->other) ||
				!restore_words(&pool->tables[r->other].asked[0][0], CSCAN_LAST_SCANS * CSCAN_PART_WORDS, r))
				return "parts of no table";
			break;
		case CSCAN_TRACE_STATE_SCAN:
			wrong = restore_scan(pool, r);
			*scan = wrong == NULL ? r->scan : CSCAN_NONE;
			break;
		case CSCAN_TRACE_RANGES:
			return *scan == CSCAN_NONE ? "ranges that nobody has" : restore_ranges(pool, r, *scan);
		case CSCAN_TRACE_STATE_WANTED:
			return restore_wanted(pool, r);
		case CSCAN_TRACE_STATE_HELPER:
			return restore_helper(pool, r);
		case CSCAN_TRACE_STATE_SLOT:
			return restore_slot(pool, r);
		case CSCAN_TRACE_STATE_LOAD:
			if (slot == NULL)
				return "a load into a slot that is free";
			slot->order = r->time;
			slot->end = r->blocks;
			break;
		case CSCAN_TRACE_STATE_PIECES:
			if (slot == NULL ||
				!restore_words(r->flag ? slot->coming.word : slot->loaded.word, CSCAN_PIECE_WORDS, r))
				return "pieces of no chunk";
			break;
		case CSCAN_TRACE_STATE_PACE:
			pool->state->pace = r->time;
			break;
		case CSCAN_TRACE_STATE_END:
			cscan_pool_rebuild(pool);
			return check_slots(pool);
		default:
			return "a record that does not belong into a state";
	}
	return wrong;
}
