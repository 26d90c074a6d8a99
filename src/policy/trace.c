/*-------------------------------------------------------------------------
 *
 * trace.c
 *		See trace.h.
 *
 * A saved state has a pool's spaces, scans, helpers and slots, and the
 * policies' histories.  All counts are computed from these
 * (cscan_pool_rebuild), so a trace does not depend on how the pool keeps them.
 *
 *-------------------------------------------------------------------------
 */
#include <stddef.h>
#include <string.h>

#include "policy.h"
#include "state.h"
#include "trace.h"

/* Two numbers of 32 bits in one of 64. */
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
cscan_trace_encode_header(const CScanLimits *limits, uint8_t bytes[CSCAN_TRACE_HEADER_SIZE])
{
	memset(bytes, 0, CSCAN_TRACE_HEADER_SIZE);
	memcpy(bytes, CSCAN_TRACE_MAGIC, 8);
	bytes = put_number(bytes + 8, CSCAN_TRACE_VERSION, 4);
	bytes = put_number(bytes, CSCAN_TRACE_RECORD_SIZE, 4);
	bytes = put_number(bytes, (uint32_t) limits->max_scans, 4);
	bytes = put_number(bytes, (uint32_t) limits->max_slots, 4);
	bytes = put_number(bytes, (uint32_t) limits->max_helpers, 4);
	bytes = put_number(bytes, (uint32_t) limits->max_spaces, 4);
	bytes = put_number(bytes, limits->max_chunks, 4);
	bytes = put_number(bytes, CSCAN_MAX_PIECES, 4);
	(void) put_number(bytes, CSCAN_MAX_RANGES, 4);
}

const char *
cscan_trace_decode_header(const uint8_t bytes[CSCAN_TRACE_HEADER_SIZE], CScanLimits *limits)
{
	if (memcmp(bytes, CSCAN_TRACE_MAGIC, 8) != 0)
		return "this is not a trace";
	bytes += 8;
	if (get_number(&bytes, 4) != CSCAN_TRACE_VERSION ||
		get_number(&bytes, 4) != CSCAN_TRACE_RECORD_SIZE)
		return "the trace is of another version of the format";
	limits->max_scans = (int32_t) get_number(&bytes, 4);
	limits->max_slots = (int32_t) get_number(&bytes, 4);
	limits->max_helpers = (int32_t) get_number(&bytes, 4);
	limits->max_spaces = (int32_t) get_number(&bytes, 4);
	limits->max_chunks = (uint32_t) get_number(&bytes, 4);
	if (get_number(&bytes, 4) != CSCAN_MAX_PIECES || get_number(&bytes, 4) != CSCAN_MAX_RANGES)
		return "the trace was made with other limits of pieces or ranges";
	if (limits->max_scans < 1 || limits->max_slots < 1 || limits->max_helpers < 0 ||
		limits->max_spaces < 1)
		return "the trace is of a pool without scans, slots or spaces";
	if (limits->max_chunks == 0 || limits->max_chunks % 64 != 0 || limits->max_chunks > INT32_MAX)
		return "the trace is of a pool with an impossible number of chunks";
	return NULL;
}

uint32_t
cscan_trace_get_ranges(const CScanTraceRecord *r, CScanRange ranges[3])
{
	ranges[0] = (CScanRange) {LOW(r->time), HIGH(r->time)};
	ranges[1] = (CScanRange) {(uint32_t) r->other, (uint32_t) r->slot};
	ranges[2] = (CScanRange) {r->chunk, r->blocks};
	return r->count > CSCAN_RANGES_IN_RECORD ? 0 : r->count;
}

/* ------------------------------------------------------------------
 * Saving a state
 * ------------------------------------------------------------------ */

/* Save the words that are not empty, as runs of equal ones. */
static void
save_words(const uint64_t *words, size_t n, CScanTraceRecord r, CScanTracePut put, void *arg)
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

/* The reverse of cscan_record_number(). */
static double
number_of(uint64_t bits)
{
	double		number;

	memcpy(&number, &bits, sizeof(number));
	return number;
}

/* Save ranges that the record before has announced. */
static void
save_ranges(const CScanRange *ranges, uint32_t nranges, CScanTracePut put, void *arg)
{
	for (uint32_t n = 0; n < nranges; n += CSCAN_RANGES_IN_RECORD)
	{
		CScanTraceRecord r = cscan_record_of_ranges(ranges + n, nranges - n);

		put(arg, &r);
	}
}

static void
save_layout(const CScanLayout *layout, int space, CScanTracePut put, void *arg)
{
	CScanTraceRecord r = {.kind = CSCAN_TRACE_STATE_COLUMNAR,.other = space,.count = (uint16_t) layout->ncolumns};
	CScanRange	places[CSCAN_LAYOUT_COLUMNS];

	put(arg, &r);
	cscan_record_layout(layout, places);
	save_ranges(places, layout->ncolumns, put, arg);
}

static void
save_space(const CScanPool *pool, int space, CScanTracePut put, void *arg)
{
	const CScanSpace *p = &pool->spaces[space];
	CScanTraceRecord r = {.kind = CSCAN_TRACE_STATE_SPACE,.other = space,
		.time = BOTH(p->first_chunk, p->nchunks),.chunk = p->chunk_blocks,.blocks = p->extent,
	.scan = (int32_t) p->cursor,.count = (uint16_t) p->device};

	r.flag = p->access;
	put(arg, &r);
	if (cscan_space_is_columnar(p))
		save_layout(&p->columns, space, put, arg);
	r = (CScanTraceRecord) {.kind = CSCAN_TRACE_STATE_LOADED,.other = space,.time = p->last_load};
	if (p->last_load > 0)
		put(arg, &r);
}

/* Save a scan's ranges, those of each space behind a record that names it. */
static void
save_interest(const CScanPool *pool, int scan, CScanTracePut put, void *arg)
{
	const CScanSpaceRange *ranges = cscan_ranges(pool, scan);
	uint32_t	nranges = pool->scans[scan].nranges;
	uint32_t	end;

	for (uint32_t n = 0; n < nranges; n = end)
	{
		CScanTraceRecord r = {.kind = CSCAN_TRACE_STATE_RANGES,.scan = scan,.other = ranges[n].space};

		for (end = n; end < nranges && ranges[end].space == ranges[n].space; end++)
			;
		r.count = (uint16_t) (end - n);
		put(arg, &r);
		for (uint32_t i = n; i < end; i += CSCAN_RANGES_IN_RECORD)
		{
			CScanRange	some[CSCAN_RANGES_IN_RECORD];
			uint32_t	left = end - i < CSCAN_RANGES_IN_RECORD ? end - i : CSCAN_RANGES_IN_RECORD;

			for (uint32_t k = 0; k < left; k++)
				some[k] = ranges[i + k].blocks;
			save_ranges(some, left, put, arg);
		}
	}
}

static void
save_scan(const CScanPool *pool, int scan, CScanTracePut put, void *arg)
{
	const CScanScan *s = &pool->scans[scan];
	CScanTraceRecord r = {.kind = CSCAN_TRACE_STATE_SCAN,.scan = scan};

	r.flag = s->policy | (s->waiting ? CSCAN_TRACE_SCAN_WAITING : 0) |
		(s->blocked ? CSCAN_TRACE_SCAN_BLOCKED : 0) |
		(s->stalled ? CSCAN_TRACE_SCAN_STALLED : 0) |
		(s->warm ? CSCAN_TRACE_SCAN_WARM : 0);
	r.count = s->started;
	r.time = s->since;
	r.slot = s->in_use;
	r.chunk = s->position;
	put(arg, &r);
	r = (CScanTraceRecord) {.kind = CSCAN_TRACE_STATE_CURSOR,.scan = scan,.chunk = s->cursor,
		.flag = s->loaded_for};
	put(arg, &r);
	r = (CScanTraceRecord) {.kind = CSCAN_TRACE_STATE_SPACES,.scan = scan};
	save_words(cscan_scan_spaces(pool, scan), cscan_space_words(pool), r, put, arg);
	r = (CScanTraceRecord) {.kind = CSCAN_TRACE_STATE_COLUMNS,.scan = scan,.time = s->columns,
		.chunk = LOW(s->overlap),.blocks = HIGH(s->overlap)};
	if (s->columns != UINT64_MAX)
		put(arg, &r);
	save_interest(pool, scan, put, arg);
	r = (CScanTraceRecord) {.kind = CSCAN_TRACE_STATE_WANTED,.scan = scan};
	save_words(cscan_wanted(pool, scan), cscan_chunk_words(pool), r, put, arg);
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
	r.scan = s->loaded_for;
	r.time = s->stamp;
	r.chunk = s->chunk;
	r.blocks = s->nblocks;
	put(arg, &r);
	r = (CScanTraceRecord) {.kind = CSCAN_TRACE_STATE_LOAD,.slot = slot,.time = s->order,
		.blocks = s->extent,.chunk = s->loading};
	put(arg, &r);
	r = (CScanTraceRecord) {.kind = CSCAN_TRACE_STATE_PIECES,.slot = slot};
	save_words(s->loaded.word, CSCAN_PIECE_WORDS, r, put, arg);
	r.flag = 1;
	save_words(s->coming.word, CSCAN_PIECE_WORDS, r, put, arg);
}

static size_t
history_words(const CScanPool *pool, int policy)
{
	return cscan_policies[policy]->history_words ?
		cscan_policies[policy]->history_words(&pool->state->limits) : 0;
}

void
cscan_trace_save(const CScanPool *pool, CScanTracePut put, void *arg)
{
	const CScanPoolState *state = pool->state;
	const CScanLimits *limits = &state->limits;
	CScanTraceRecord r = {.kind = CSCAN_TRACE_STATE,.flag = state->unpinned,.scan = state->evicted_for,
		.time = state->nloads,.chunk = state->budget,.blocks = state->room,
	.other = (int32_t) state->next_chunk};

	put(arg, &r);
	r = (CScanTraceRecord) {.kind = CSCAN_TRACE_STATE_DEVICE,.other = CSCAN_NONE,
		.time = cscan_record_number(state->block_time),.chunk = LOW(state->pace),.blocks = HIGH(state->pace)};
	put(arg, &r);
	for (int d = 0; d < CSCAN_MAX_DEVICES; d++)
	{
		r = (CScanTraceRecord) {.kind = CSCAN_TRACE_STATE_DEVICE,.other = d,
			.time = cscan_record_number(state->devices[d].block_time)};
		if (state->devices[d].block_time > 0)
			put(arg, &r);
	}
	for (int i = 0; i < limits->max_spaces; i++)
	{
		if (pool->spaces[i].used)
			save_space(pool, i, put, arg);
	}
	r = (CScanTraceRecord) {.kind = CSCAN_TRACE_STATE_CACHED};
	save_words(pool->cached, cscan_chunk_words(pool), r, put, arg);
	for (int i = 0; i < limits->max_scans; i++)
	{
		if (pool->scans[i].used)
			save_scan(pool, i, put, arg);
	}
	for (int i = 0; i < limits->max_helpers; i++)
	{
		const CScanHelper *h = &pool->helpers[i];

		if (!h->used)
			continue;
		r = (CScanTraceRecord) {.kind = CSCAN_TRACE_STATE_HELPER,.flag = h->waiting,.scan = h->scan,
			.other = i,.slot = h->in_use};
		put(arg, &r);
	}
	for (int i = 0; i < limits->max_slots; i++)
	{
		if (pool->slots[i].space != CSCAN_NONE)
			save_slot(pool, i, put, arg);
	}
	for (int p = 0; p < CSCAN_NPOLICIES; p++)
	{
		r = (CScanTraceRecord) {.kind = CSCAN_TRACE_STATE_HISTORY,.other = p};
		save_words(pool->history[p], history_words(pool, p), r, put, arg);
	}
	r = (CScanTraceRecord) {.kind = CSCAN_TRACE_STATE_END};
	put(arg, &r);
}

/* ------------------------------------------------------------------
 * Restoring a state
 * ------------------------------------------------------------------ */

static bool
is_scan(const CScanPool *pool, int scan)
{
	return scan >= 0 && scan < pool->state->limits.max_scans;
}

static bool
is_used_scan(const CScanPool *pool, int scan)
{
	return is_scan(pool, scan) && pool->scans[scan].used;
}

static bool
is_slot(const CScanPool *pool, int slot)
{
	return slot >= 0 && slot < pool->state->limits.max_slots;
}

static bool
is_space(const CScanPool *pool, int space)
{
	return space >= 0 && space < pool->state->limits.max_spaces && pool->spaces[space].used;
}

/* Restore a run of words from save_words(); false if it does not fit. */
static bool
restore_words(uint64_t *words, size_t n, const CScanTraceRecord *r)
{
	if (r->chunk >= n || r->blocks > n - r->chunk)
		return false;
	for (uint32_t w = 0; w < r->blocks; w++)
		words[r->chunk + w] = r->time;
	return true;
}

static void
restore_state(CScanPool *pool, const CScanTraceRecord *r)
{
	CScanPoolState *state = pool->state;

	state->unpinned = r->flag != 0;
	state->evicted_for = is_scan(pool, r->scan) ? r->scan : CSCAN_NONE;
	state->nloads = r->time;
	state->next_chunk = (uint32_t) r->other;
	cscan_pool_set_limits(pool, r->chunk, r->blocks);
}

static const char *
restore_device(CScanPool *pool, const CScanTraceRecord *r)
{
	if (r->other == CSCAN_NONE)
	{
		pool->state->block_time = number_of(r->time);
		pool->state->pace = BOTH(r->chunk, r->blocks);
	}
	else if (r->other >= 0 && r->other < CSCAN_MAX_DEVICES)
		pool->state->devices[r->other].block_time = number_of(r->time);
	else
		return "a device that cannot be";
	return NULL;
}

static const char *
restore_space(CScanPool *pool, const CScanTraceRecord *r)
{
	uint32_t	first = LOW(r->time);
	uint32_t	nchunks = HIGH(r->time);
	uint32_t	max_chunks = pool->state->limits.max_chunks;
	CScanSpace *p;

	if (r->other < 0 || r->other >= pool->state->limits.max_spaces || r->chunk == 0 ||
		r->flag > CSCAN_ACCESS_REFUSED || r->count >= CSCAN_MAX_DEVICES ||
		first >= max_chunks || nchunks == 0 || nchunks > max_chunks - first ||
		pool->spaces[r->other].used)
		return "a space that cannot be";
	for (uint32_t c = first; c < first + nchunks; c++)
	{
		if (cscan_set_has(pool->numbered, c))
			return "two spaces with the same chunks";
	}
	p = &pool->spaces[r->other];
	cscan_space_begin(p, r->chunk);
	p->access = r->flag;
	p->first_chunk = first;
	p->nchunks = nchunks;
	p->device = r->count;
	p->extent = r->blocks;
	p->cursor = (uint32_t) r->scan;
	if (p->extent > cscan_space_capacity(p))
	{
		p->used = false;
		return "a space that is larger than its chunks";
	}
	cscan_set_add_range(pool->numbered, first, first + nchunks - 1);
	for (uint32_t c = first; c < first + nchunks; c++)
		pool->space_of[c] = r->other;
	return NULL;
}

static const char *
restore_scan(CScanPool *pool, const CScanTraceRecord *r)
{
	CScanScan  *s;

	if (!is_scan(pool, r->scan) || (r->flag & CSCAN_TRACE_SCAN_POLICY) >= CSCAN_NPOLICIES ||
		(r->slot != CSCAN_NONE && !is_slot(pool, r->slot)))
		return "a scan that cannot be";
	s = &pool->scans[r->scan];
	memset(s, 0, sizeof(*s));
	s->used = true;
	s->started = r->count != 0;
	s->policy = r->flag & CSCAN_TRACE_SCAN_POLICY;
	s->waiting = (r->flag & CSCAN_TRACE_SCAN_WAITING) != 0;
	s->blocked = (r->flag & CSCAN_TRACE_SCAN_BLOCKED) != 0;
	s->stalled = (r->flag & CSCAN_TRACE_SCAN_STALLED) != 0;
	s->warm = (r->flag & CSCAN_TRACE_SCAN_WARM) != 0;
	s->columns = s->overlap = UINT64_MAX;
	s->since = r->time;
	s->in_use = r->slot;
	s->position = r->chunk;
	memset(cscan_wanted(pool, r->scan), 0, sizeof(uint64_t) * cscan_chunk_words(pool));
	memset(cscan_scan_spaces(pool, r->scan), 0, sizeof(uint64_t) * cscan_space_words(pool));
	return NULL;
}

static const char *
restore_spaces(CScanPool *pool, const CScanTraceRecord *r)
{
	if (!is_used_scan(pool, r->scan) ||
		!restore_words(cscan_scan_spaces(pool, r->scan), cscan_space_words(pool), r))
		return "spaces that no scan has";
	CSCAN_SET_EACH(i, cscan_scan_spaces(pool, r->scan), cscan_space_words(pool))
	{
		if (!is_space(pool, i))
			return "a scan of a space that is not there";
	}
	return NULL;
}

static const char *
restore_layout(CScanPool *pool, const CScanTraceRecord *r, int space)
{
	CScanRange	places[CSCAN_RANGES_IN_RECORD];
	uint32_t	n = cscan_trace_get_ranges(r, places);

	for (uint32_t i = 0; i < n; i++)
	{
		if (!cscan_record_add_column(&pool->spaces[space].columns, places[i]))
			return "a layout that cannot be";
	}
	return n > 0 ? NULL : "a layout that cannot be";
}

static const char *
restore_ranges(CScanPool *pool, const CScanTraceRecord *r, int scan, int space)
{
	CScanScan  *s = &pool->scans[scan];
	CScanRange	ranges[CSCAN_RANGES_IN_RECORD];
	uint32_t	n = cscan_trace_get_ranges(r, ranges);

	if (n == 0 || n > CSCAN_MAX_RANGES - s->nranges)
		return "ranges that nobody has";
	for (uint32_t i = 0; i < n; i++)
	{
		const CScanSpaceRange *last = s->nranges > 0 ? &cscan_ranges(pool, scan)[s->nranges - 1] : NULL;

		if (ranges[i].first >= ranges[i].end ||
			ranges[i].end > cscan_space_capacity(&pool->spaces[space]) ||
			cscan_space_is_columnar(&pool->spaces[space]) ||
			(last && last->space == space && ranges[i].first < last->blocks.end) ||
			(last && s->started &&
			 pool->spaces[last->space].first_chunk > pool->spaces[space].first_chunk))
			return "ranges that are not in order";
		cscan_ranges(pool, scan)[s->nranges++] = (CScanSpaceRange) {space, ranges[i]};
	}
	return NULL;
}

static const char *
restore_wanted(CScanPool *pool, const CScanTraceRecord *r)
{
	if (!is_used_scan(pool, r->scan))
		return "a map of chunks that nobody wants";
	if (!restore_words(cscan_wanted(pool, r->scan), cscan_chunk_words(pool), r))
		return "a map of chunks that there are not";
	for (uint32_t w = r->chunk; w < r->chunk + r->blocks; w++)
	{
		for (uint64_t chunks = r->time; chunks != 0; chunks &= chunks - 1)
		{
			uint32_t	chunk = w * 64 + (uint32_t) __builtin_ctzll(chunks);

			if (pool->space_of[chunk] == CSCAN_NONE ||
				!cscan_pool_interested_in(pool, r->scan, pool->space_of[chunk]))
				return "a map of chunks that the scan's spaces do not have";
		}
	}
	return NULL;
}

static const char *
restore_helper(CScanPool *pool, const CScanTraceRecord *r)
{
	CScanHelper *h;

	if (r->other < 0 || r->other >= pool->state->limits.max_helpers ||
		(r->scan != CSCAN_NONE && !is_used_scan(pool, r->scan)) ||
		(r->slot != CSCAN_NONE && (!is_slot(pool, r->slot) || r->scan == CSCAN_NONE)))
		return "a helper that cannot be";
	h = &pool->helpers[r->other];
	h->used = true;
	h->waiting = r->flag != 0;
	h->scan = r->scan;
	h->in_use = r->slot;
	return NULL;
}

static const char *
restore_slot(CScanPool *pool, const CScanTraceRecord *r)
{
	CScanSlot  *s;

	if (!is_slot(pool, r->slot) || r->chunk >= pool->state->limits.max_chunks ||
		pool->space_of[r->chunk] == CSCAN_NONE || pool->slot_of[r->chunk] != CSCAN_NONE ||
		(r->scan != CSCAN_NONE && !is_scan(pool, r->scan)))
		return "a slot that cannot be";
	s = &pool->slots[r->slot];
	memset(s, 0, sizeof(*s));
	s->in_flight = (r->flag & CSCAN_TRACE_SLOT_IN_FLIGHT) != 0;
	s->failed = (r->flag & CSCAN_TRACE_SLOT_FAILED) != 0;
	s->cheap = (r->flag & CSCAN_TRACE_SLOT_CHEAP) != 0;
	s->held = (r->flag & CSCAN_TRACE_SLOT_HELD) != 0;
	s->loaded_for = r->scan;
	s->stamp = r->time;
	s->space = pool->space_of[r->chunk];
	s->chunk = r->chunk;
	s->nblocks = r->blocks;
	pool->slot_of[r->chunk] = r->slot;
	return NULL;
}

/*
 * After the last record: does the extent of each slot reach its chunk, and are
 * its columns there?
 */
static const char *
check_slots(const CScanPool *pool)
{
	for (int i = 0; i < pool->state->limits.max_slots; i++)
	{
		const CScanSlot *s = &pool->slots[i];

		if (s->space != CSCAN_NONE &&
			s->extent < cscan_space_first_block(&pool->spaces[s->space], s->chunk))
			return "a slot whose chunk is beyond the space's end";
		if (s->space != CSCAN_NONE && cscan_space_is_columnar(&pool->spaces[s->space]) &&
			((s->loaded.word[0] | s->coming.word[0]) & ~cscan_layout_all(&pool->spaces[s->space].columns)) != 0)
			return "a slot of columns that there are not";
	}
	return NULL;
}

/* A layout has the blocks of a chunk, and an extent whole chunks. */
static const char *
check_layouts(const CScanPool *pool)
{
	for (int i = 0; i < pool->state->limits.max_spaces; i++)
	{
		const CScanSpace *p = &pool->spaces[i];

		if (p->used && cscan_space_is_columnar(p) &&
			(cscan_layout_blocks(&p->columns) != p->chunk_blocks || p->extent % p->chunk_blocks != 0))
			return "a layout that its space does not have";
	}
	return NULL;
}

/* Readers must read slots that are taken. */
static const char *
check_readers(const CScanPool *pool)
{
	for (int i = 0; i < pool->state->limits.max_scans; i++)
	{
		const CScanScan *s = &pool->scans[i];

		if (s->used && s->in_use != CSCAN_NONE && pool->slots[s->in_use].space == CSCAN_NONE)
			return "a scan that reads a slot that is free";
		if (s->used && s->started && !cscan_pool_columns_fit(pool, i))
			return "a scan whose columns do not suit its spaces";
	}
	for (int i = 0; i < pool->state->limits.max_helpers; i++)
	{
		const CScanHelper *h = &pool->helpers[i];

		if (h->used && h->in_use != CSCAN_NONE && pool->slots[h->in_use].space == CSCAN_NONE)
			return "a helper that reads a slot that is free";
	}
	return NULL;
}

static const char *
end_restore(CScanPool *pool)
{
	const char *wrong = check_readers(pool);

	if (wrong == NULL)
		wrong = check_layouts(pool);
	if (wrong == NULL)
		wrong = check_slots(pool);
	if (wrong == NULL)
		cscan_pool_rebuild(pool);
	return wrong;
}

const char *
cscan_trace_restore(CScanPool *pool, const CScanTraceRecord *r, int *scan, int *space)
{
	CScanSlot  *slot = is_slot(pool, r->slot) && pool->slots[r->slot].space != CSCAN_NONE ?
		&pool->slots[r->slot] : NULL;

	switch (r->kind)
	{
		case CSCAN_TRACE_STATE:
			restore_state(pool, r);
			return NULL;
		case CSCAN_TRACE_STATE_DEVICE:
			return restore_device(pool, r);
		case CSCAN_TRACE_STATE_SPACE:
			return restore_space(pool, r);
		case CSCAN_TRACE_STATE_COLUMNAR:
			*scan = *space = CSCAN_NONE;
			if (!is_space(pool, r->other) || cscan_space_is_columnar(&pool->spaces[r->other]))
				return "a layout of no space";
			*space = r->other;
			return NULL;
		case CSCAN_TRACE_STATE_LOADED:
			if (!is_space(pool, r->other))
				return "loads of no space";
			pool->spaces[r->other].last_load = r->time;
			return NULL;
		case CSCAN_TRACE_STATE_CACHED:
			return restore_words(pool->cached, cscan_chunk_words(pool), r) ? NULL :
				"a map of chunks that there are not";
		case CSCAN_TRACE_STATE_SCAN:
			return restore_scan(pool, r);
		case CSCAN_TRACE_STATE_CURSOR:
			if (!is_used_scan(pool, r->scan))
				return "a cursor of no scan";
			pool->scans[r->scan].cursor = r->chunk;
			pool->scans[r->scan].loaded_for = r->flag != 0;
			return NULL;
		case CSCAN_TRACE_STATE_SPACES:
			return restore_spaces(pool, r);
		case CSCAN_TRACE_STATE_RANGES:
			*scan = *space = CSCAN_NONE;
			if (!is_used_scan(pool, r->scan) || !is_space(pool, r->other) ||
				!cscan_pool_interested_in(pool, r->scan, r->other))
				return "ranges of no scan";
			*scan = r->scan;
			*space = r->other;
			return NULL;
		case CSCAN_TRACE_STATE_COLUMNS:
			if (!is_used_scan(pool, r->scan))
				return "columns of no scan";
			pool->scans[r->scan].columns = r->time;
			pool->scans[r->scan].overlap = BOTH(r->chunk, r->blocks);
			return NULL;
		case CSCAN_TRACE_RANGES:
			if (*space == CSCAN_NONE)
				return "ranges that nobody has";
			return *scan == CSCAN_NONE ? restore_layout(pool, r, *space) : restore_ranges(pool, r, *scan, *space);
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
			slot->extent = r->blocks;
			slot->loading = r->chunk;
			return NULL;
		case CSCAN_TRACE_STATE_PIECES:
			return slot != NULL && restore_words(r->flag ? slot->coming.word : slot->loaded.word,
												 CSCAN_PIECE_WORDS, r) ? NULL : "pieces of no chunk";
		case CSCAN_TRACE_STATE_HISTORY:
			return r->other >= 0 && r->other < CSCAN_NPOLICIES &&
				restore_words(pool->history[r->other], history_words(pool, r->other), r) ? NULL :
				"a history of no policy";
		case CSCAN_TRACE_STATE_END:
			return end_restore(pool);
		default:
			return "a record that does not belong into a state";
	}
}
