/*-------------------------------------------------------------------------
 *
 * replay.c
 *		See replay.h.
 *
 *-------------------------------------------------------------------------
 */
#include "interest.h"
#include "replay.h"

#include <stdlib.h>
#include <string.h>

#include "policy.h"

/* No server has more scans (cscan.max_scans), nor more of the other things. */
#define MAX_SCANS	10000
#define MAX_OTHERS	(1 << 24)
#define MAX_NUMBERS	(UINT32_C(1) << 28)
#define MAX_SIZE	(UINT64_C(1) << 36)

typedef struct Player
{
	CScanPool	pool;			/* the first: it is found by its address */
	CScanTraceRecord left;		/* the record that the last call has left */
	int			nleft;			/* how many: it should be one */
} Player;

static void
catch_record(const CScanPool *pool, const CScanTraceRecord *r)
{
	Player	   *player = (Player *) pool;

	if (r->kind == CSCAN_TRACE_RANGES)
		return;
	player->left = *r;
	player->nleft++;
}

/* ------------------------------------------------------------------
 * Text
 * ------------------------------------------------------------------ */

static const char *const action_names[] = {"nothing", "evict", "unpin", "load", "trim"};
static const char *const access_names[] = {"unknown", "granted", "refused"};
static const char *const call_names[] = {
	"limits", "add space", "extend space", "remove space", "access", "register", "announce", "start",
	"rest", "unwant", "unwant space", "unregister", "stalled", "warm", "position", "join", "quit",
	"choose", "block time", "take", "decide", "loaded", "drop", "useless", "release", "hold",
	"cursor", "cached", "leave space", "shrink", "columnar", "columns", "arrived"
};

#define NAME(names, n)	((n) < sizeof(names) / sizeof(names[0]) ? (names)[n] : "?")

static const char *
policy_name(int policy)
{
	return policy < CSCAN_NPOLICIES ? cscan_policies[policy]->name : "?";
}

/* " word N", " word none" for CSCAN_NONE */
static void
number(FILE *out, const char *word, int32_t n)
{
	if (n == CSCAN_NONE)
		fprintf(out, " %s none", word);
	else
		fprintf(out, " %s %d", word, n);
}

static void
describe_ranges(const CScanTraceRecord *r, FILE *out)
{
	CScanRange	ranges[3];
	uint32_t	n = cscan_trace_get_ranges(r, ranges);

	fprintf(out, "ranges");
	for (uint32_t i = 0; i < n; i++)
		fprintf(out, " %u..%u", ranges[i].first, ranges[i].end - 1);
}

/* " words N+N BITS" */
static void
words(const CScanTraceRecord *r, FILE *out)
{
	fprintf(out, " words %u+%u %016llx", r->chunk, r->blocks, (unsigned long long) r->time);
}

static double
number_of(uint64_t bits)
{
	double		number;

	memcpy(&number, &bits, sizeof(number));
	return number;
}

static void
describe_state(const CScanTraceRecord *r, FILE *out)
{
	fprintf(out, "state");
	switch (r->kind)
	{
		case CSCAN_TRACE_STATE:
			fprintf(out, " budget %u room %u loads %llu next chunk %u%s", r->chunk, r->blocks,
					(unsigned long long) r->time, (uint32_t) r->other, r->flag ? " unpinned" : "");
			number(out, "evicted for scan", r->scan);
			break;
		case CSCAN_TRACE_STATE_DEVICE:
			if (r->other == CSCAN_NONE)
				fprintf(out, " block time %g pace %llu", number_of(r->time),
						(unsigned long long) r->chunk | (unsigned long long) r->blocks << 32);
			else
				fprintf(out, " device %d block time %g", r->other, number_of(r->time));
			break;
		case CSCAN_TRACE_STATE_SPACE:
			fprintf(out, " space %d chunks %u+%u chunk_blocks %u extent %u cursor %u device %u access %s",
					r->other, (uint32_t) r->time, (uint32_t) (r->time >> 32), r->chunk, r->blocks,
					(uint32_t) r->scan, r->count, NAME(access_names, r->flag));
			break;
		case CSCAN_TRACE_STATE_COLUMNAR:
			fprintf(out, " space %d columns %u", r->other, r->count);
			break;
		case CSCAN_TRACE_STATE_COLUMNS:
			fprintf(out, " scan %d columns %llx", r->scan, (unsigned long long) r->time);
			break;
		case CSCAN_TRACE_STATE_LOADED:
			fprintf(out, " space %d last load %llu", r->other, (unsigned long long) r->time);
			break;
		case CSCAN_TRACE_STATE_CACHED:
			fprintf(out, " cached");
			words(r, out);
			break;
		case CSCAN_TRACE_STATE_SCAN:
			fprintf(out, " scan %d policy %s position %u since %llu%s%s%s%s%s",
					r->scan, policy_name(r->flag & CSCAN_TRACE_SCAN_POLICY), r->chunk,
					(unsigned long long) r->time, r->count ? " started" : "",
					r->flag & CSCAN_TRACE_SCAN_WAITING ? " waiting" : "",
					r->flag & CSCAN_TRACE_SCAN_BLOCKED ? " blocked" : "",
					r->flag & CSCAN_TRACE_SCAN_STALLED ? " stalled" : "",
					r->flag & CSCAN_TRACE_SCAN_WARM ? " warm" : "");
			number(out, "uses slot", r->slot);
			break;
		case CSCAN_TRACE_STATE_CURSOR:
			fprintf(out, " scan %d cursor %u%s", r->scan, r->chunk, r->flag ? " loaded for it" : "");
			break;
		case CSCAN_TRACE_STATE_SPACES:
			fprintf(out, " scan %d spaces", r->scan);
			words(r, out);
			break;
		case CSCAN_TRACE_STATE_RANGES:
			fprintf(out, " scan %d space %d ranges %u", r->scan, r->other, r->count);
			break;
		case CSCAN_TRACE_STATE_WANTED:
			fprintf(out, " scan %d wants", r->scan);
			words(r, out);
			break;
		case CSCAN_TRACE_STATE_HELPER:
			fprintf(out, " helper %d%s", r->other, r->flag ? " waiting" : "");
			number(out, "scan", r->scan);
			number(out, "uses slot", r->slot);
			break;
		case CSCAN_TRACE_STATE_SLOT:
			fprintf(out, " slot %d chunk %u blocks %u stamp %llu%s%s%s%s", r->slot,
					r->chunk, r->blocks, (unsigned long long) r->time,
					r->flag & CSCAN_TRACE_SLOT_IN_FLIGHT ? " in flight" : "",
					r->flag & CSCAN_TRACE_SLOT_FAILED ? " failed" : "",
					r->flag & CSCAN_TRACE_SLOT_CHEAP ? " cheap" : "",
					r->flag & CSCAN_TRACE_SLOT_HELD ? " held" : "");
			number(out, "for scan", r->scan);
			break;
		case CSCAN_TRACE_STATE_LOAD:
			fprintf(out, " slot %d load %llu extent %u loading %u", r->slot, (unsigned long long) r->time,
					r->blocks, r->chunk);
			break;
		case CSCAN_TRACE_STATE_PIECES:
			fprintf(out, " slot %d %s", r->slot, r->flag ? "coming" : "loaded");
			words(r, out);
			break;
		case CSCAN_TRACE_STATE_HISTORY:
			fprintf(out, " history of %s", policy_name(r->other));
			words(r, out);
			break;
		default:
			fprintf(out, " complete");
			break;
	}
}

static void
describe_space_call(const CScanTraceRecord *r, FILE *out)
{
	switch (r->kind)
	{
		case CSCAN_TRACE_ADD_SPACE:
			fprintf(out, " chunk_blocks %u chunks %u device %d ->", r->blocks, r->chunk, r->slot);
			number(out, "space", r->other);
			break;
		case CSCAN_TRACE_EXTEND_SPACE:
			fprintf(out, " %d chunks %u -> %s", r->other, r->chunk, r->flag ? "yes" : "no");
			break;
		case CSCAN_TRACE_ACCESS:
			fprintf(out, " space %d: %s", r->other, NAME(access_names, r->flag));
			break;
		case CSCAN_TRACE_CURSOR:
			fprintf(out, " space %d chunk %u", r->other, r->chunk);
			break;
		case CSCAN_TRACE_CACHED:
			fprintf(out, " chunk %u: %s", r->chunk, r->flag ? "yes" : "no");
			break;
		case CSCAN_TRACE_COLUMNAR:
			fprintf(out, " space %d columns %u", r->other, r->count);
			break;
		default:
			fprintf(out, " %d", r->other);
			break;
	}
}

static void
describe_scan_call(const CScanTraceRecord *r, FILE *out)
{
	switch (r->kind)
	{
		case CSCAN_TRACE_REGISTER:
			fprintf(out, " policy %s ->", policy_name(r->flag));
			number(out, "scan", r->scan);
			break;
		case CSCAN_TRACE_ANNOUNCE:
			fprintf(out, " scan %d space %d blocks %u ranges %u", r->scan, r->other, r->blocks, r->count);
			break;
		case CSCAN_TRACE_COLUMNS:
			fprintf(out, " scan %d: %llx", r->scan, (unsigned long long) r->time);
			break;
		case CSCAN_TRACE_START:
			fprintf(out, " scan %d -> chunk %u", r->scan, r->chunk);
			break;
		case CSCAN_TRACE_UNWANT:
		case CSCAN_TRACE_POSITION:
			fprintf(out, " scan %d chunk %u", r->scan, r->chunk);
			break;
		case CSCAN_TRACE_UNWANT_SPACE:
		case CSCAN_TRACE_LEAVE_SPACE:
			fprintf(out, " %d scan %d", r->other, r->scan);
			break;
		case CSCAN_TRACE_STALLED:
		case CSCAN_TRACE_WARM:
			fprintf(out, " scan %d: %s", r->scan, r->flag ? "yes" : "no");
			break;
		case CSCAN_TRACE_JOIN:
			fprintf(out, " scan %d ->", r->scan);
			number(out, "helper", r->other);
			break;
		case CSCAN_TRACE_QUIT:
			number(out, "helper", r->other);
			break;
		default:
			fprintf(out, " scan %d", r->scan);
			break;
	}
}

static void
describe_call(const CScanTraceRecord *r, FILE *out)
{
	fprintf(out, "%s", call_names[r->kind - CSCAN_TRACE_LIMITS]);
	switch (r->kind)
	{
		case CSCAN_TRACE_LIMITS:
			fprintf(out, " budget %u room %u", r->chunk, r->blocks);
			break;
		case CSCAN_TRACE_ADD_SPACE:
		case CSCAN_TRACE_EXTEND_SPACE:
		case CSCAN_TRACE_REMOVE_SPACE:
		case CSCAN_TRACE_COLUMNAR:
		case CSCAN_TRACE_ACCESS:
		case CSCAN_TRACE_CURSOR:
		case CSCAN_TRACE_CACHED:
			describe_space_call(r, out);
			break;
		case CSCAN_TRACE_CHOOSE:
		case CSCAN_TRACE_TAKE:
			fprintf(out, " scan %d", r->scan);
			number(out, "helper", r->other);
			fprintf(out, " ->");
			if (r->kind == CSCAN_TRACE_CHOOSE)
				number(out, "slot", r->slot);
			else if (!r->flag)
				fprintf(out, " nothing");
			if (r->kind == CSCAN_TRACE_CHOOSE ? r->slot != CSCAN_NONE : r->flag)
				fprintf(out, " chunk %u", r->chunk);
			break;
		case CSCAN_TRACE_DECIDE:
			fprintf(out, " -> %s", NAME(action_names, r->flag));
			if (r->flag != CSCAN_ACT_NOTHING)
			{
				fprintf(out, " slot %d space %d chunk %u", r->slot, r->other, r->chunk);
				number(out, "for scan", r->scan);
			}
			if (r->flag == CSCAN_ACT_LOAD || r->flag == CSCAN_ACT_TRIM)
				fprintf(out, " blocks %u pieces %04x", r->blocks, r->count);
			break;
		case CSCAN_TRACE_SHRINK:
			fprintf(out, " -> %s", NAME(action_names, r->flag));
			if (r->flag != CSCAN_ACT_NOTHING)
				fprintf(out, " slot %d space %d chunk %u", r->slot, r->other, r->chunk);
			break;
		case CSCAN_TRACE_LOADED:
			fprintf(out, " slot %d took %llu%s%s", r->slot,
					(unsigned long long) r->chunk | (unsigned long long) r->blocks << 32,
					r->flag & CSCAN_TRACE_LOADED_FAILED ? " failed" : "",
					r->flag & CSCAN_TRACE_LOADED_CHEAP ? " cheap" : "");
			break;
		case CSCAN_TRACE_ARRIVED:
			fprintf(out, " slot %d columns %llx", r->slot, (unsigned long long) r->time);
			break;
		case CSCAN_TRACE_BLOCK_TIME:
			fprintf(out, " %g", number_of(r->time));
			break;
		case CSCAN_TRACE_USELESS:
		case CSCAN_TRACE_RELEASE:
		case CSCAN_TRACE_HOLD:
			fprintf(out, " ->");
			number(out, "slot", r->slot);
			break;
		case CSCAN_TRACE_DROP:
			number(out, "slot", r->slot);
			break;
		default:
			describe_scan_call(r, out);
			break;
	}
}

static bool
has_time(uint8_t kind)
{
	return kind == CSCAN_TRACE_REGISTER || kind == CSCAN_TRACE_START || kind == CSCAN_TRACE_REST ||
		kind == CSCAN_TRACE_CHOOSE || kind == CSCAN_TRACE_TAKE || kind == CSCAN_TRACE_DECIDE ||
		kind == CSCAN_TRACE_LOADED;
}

static bool
is_call(uint8_t kind)
{
	return kind >= CSCAN_TRACE_LIMITS && kind <= CSCAN_TRACE_ARRIVED;
}

void
replay_describe(const CScanTraceRecord *r, FILE *out)
{
	if (has_time(r->kind))
		fprintf(out, "%14llu ", (unsigned long long) r->time);
	else
		fprintf(out, "%14s ", "");
	if (is_call(r->kind))
		describe_call(r, out);
	else if ((r->kind >= CSCAN_TRACE_STATE && r->kind <= CSCAN_TRACE_STATE_END) ||
			 r->kind == CSCAN_TRACE_STATE_COLUMNAR || r->kind == CSCAN_TRACE_STATE_COLUMNS)
		describe_state(r, out);
	else if (r->kind == CSCAN_TRACE_RANGES)
		describe_ranges(r, out);
	else if (r->kind == CSCAN_TRACE_LOST)
		fprintf(out, "%llu records have been lost", (unsigned long long) r->time);
	else if (r->kind == CSCAN_TRACE_END)
		fprintf(out, "end");
	else
		fprintf(out, "unknown record %d", r->kind);
	putc('\n', out);
}

/* ------------------------------------------------------------------
 * Reading
 * ------------------------------------------------------------------ */

static bool
read_header(FILE *in, CScanLimits *limits, Replay *replay)
{
	uint8_t		bytes[CSCAN_TRACE_HEADER_SIZE];

	memset(replay, 0, sizeof(*replay));
	if (fread(bytes, sizeof(bytes), 1, in) != 1)
		replay->message = "the trace has no header";
	else
		replay->message = cscan_trace_decode_header(bytes, limits);
	if (replay->message == NULL &&
		(limits->max_scans > MAX_SCANS || limits->max_slots > MAX_OTHERS ||
		 limits->max_helpers > MAX_OTHERS || limits->max_spaces > MAX_OTHERS ||
		 limits->max_chunks > MAX_NUMBERS || cscan_pool_size(limits) > MAX_SIZE))
		replay->message = "the trace is of a pool that is too large";
	return replay->message == NULL;
}

/* False at the end of the file, or if that is in the middle of a record. */
static bool
read_record(FILE *in, CScanTraceRecord *r, Replay *replay)
{
	uint8_t		bytes[CSCAN_TRACE_RECORD_SIZE];
	size_t		got = fread(bytes, 1, sizeof(bytes), in);

	if (got != sizeof(bytes))
	{
		replay->no_end = (got == 0);
		replay->message = got == 0 ? "the trace has no end: it is being written, or whoever wrote it died" :
			"the trace ends within a record";
		return false;
	}
	cscan_trace_decode(bytes, r);
	replay->context[replay->records++ % REPLAY_CONTEXT] = *r;
	return true;
}

/* Whatever ended the reading. */
static ReplayOutcome
ended(const Replay *replay)
{
	return replay->no_end || replay->lost > 0 ? REPLAY_INCOMPLETE : REPLAY_BROKEN;
}

ReplayOutcome
replay_print(FILE *in, FILE *out, Replay *replay)
{
	CScanLimits limits;
	CScanTraceRecord r;

	if (!read_header(in, &limits, replay))
		return REPLAY_BROKEN;
	fprintf(out, "version %d: %d scans, %d slots, %d helpers, %d spaces, %u chunks\n", CSCAN_TRACE_VERSION,
			limits.max_scans, limits.max_slots, limits.max_helpers, limits.max_spaces, limits.max_chunks);
	while (read_record(in, &r, replay))
	{
		replay_describe(&r, out);
		if (r.kind == CSCAN_TRACE_END)
			return REPLAY_SAME;
	}
	return ended(replay);
}

/* ------------------------------------------------------------------
 * Calls
 * ------------------------------------------------------------------ */

static bool
is_scan(const CScanPool *pool, int scan)
{
	return scan >= 0 && scan < pool->state->limits.max_scans && pool->scans[scan].used;
}

static bool
is_started(const CScanPool *pool, int scan)
{
	return is_scan(pool, scan) && pool->scans[scan].started;
}

static bool
is_space(const CScanPool *pool, int space)
{
	return space >= 0 && space < pool->state->limits.max_spaces && pool->spaces[space].used;
}

static bool
is_slot(const CScanPool *pool, int slot)
{
	return slot >= 0 && slot < pool->state->limits.max_slots;
}

static bool
is_helper(const CScanPool *pool, int helper)
{
	return helper >= 0 && helper < pool->state->limits.max_helpers && pool->helpers[helper].used;
}

static bool
are_in_order(const CScanRange *ranges, uint32_t n, uint32_t nblocks)
{
	uint32_t	last = 0;

	for (uint32_t i = 0; i < n; i++)
	{
		if (ranges[i].first < last || ranges[i].first >= ranges[i].end || ranges[i].end > nblocks)
			return false;
		last = ranges[i].end;
	}
	return true;
}

/* The layout that a record's ranges are; its ncolumns is 0 if they are none. */
static CScanLayout
layout_of(const CScanTraceRecord *r, const CScanRange *places)
{
	CScanLayout layout = {.ncolumns = 0};

	for (uint32_t i = 0; i < r->count; i++)
	{
		if (!cscan_record_add_column(&layout, places[i]))
			layout.ncolumns = CSCAN_LAYOUT_COLUMNS;
	}
	if (layout.ncolumns != r->count)
		layout.ncolumns = 0;
	return layout;
}

/* A layout that a new space can have. */
static bool
is_layout(const CScanPool *pool, const CScanTraceRecord *r, const CScanRange *places)
{
	const CScanSpace *space = &pool->spaces[r->other];
	CScanLayout layout = layout_of(r, places);

	return layout.ncolumns > 0 && space->nscans == 0 && !cscan_space_is_columnar(space) &&
		cscan_layout_blocks(&layout) == space->chunk_blocks && space->extent % space->chunk_blocks == 0;
}

/* An interest that the space can have, and that the scan has not told before. */
static bool
is_interest(const CScanPool *pool, const CScanTraceRecord *r, const CScanRange *ranges)
{
	const CScanSpace *space = &pool->spaces[r->other];

	return r->blocks <= cscan_space_capacity(space) &&
		(!cscan_space_is_columnar(space) || r->blocks % space->chunk_blocks == 0) &&
		(cscan_space_is_columnar(space) || cscan_pool_count_wanted(pool, r->scan, r->other) == 0) && are_in_order(ranges, r->count, r->blocks);
}

/* Can this call be made? */
static bool
is_possible(const CScanPool *pool, const CScanTraceRecord *r, const CScanRange *ranges)
{
	uint32_t	max_chunks = pool->state->limits.max_chunks;

	switch (r->kind)
	{
		case CSCAN_TRACE_ADD_SPACE:
			return r->blocks > 0 && r->chunk > 0 && r->chunk <= CSCAN_MAX_CHUNKS &&
				r->slot >= 0 && r->slot < CSCAN_MAX_DEVICES;
		case CSCAN_TRACE_EXTEND_SPACE:
			return is_space(pool, r->other) && r->chunk <= max_chunks;
		case CSCAN_TRACE_REMOVE_SPACE:
			return is_space(pool, r->other) && pool->spaces[r->other].nscans == 0;
		case CSCAN_TRACE_ACCESS:
			return is_space(pool, r->other) && r->flag <= CSCAN_ACCESS_REFUSED;
		case CSCAN_TRACE_COLUMNAR:
			return is_space(pool, r->other) && is_layout(pool, r, ranges);
		case CSCAN_TRACE_CURSOR:
			return is_space(pool, r->other) && r->chunk <= max_chunks;
		case CSCAN_TRACE_CACHED:
			return r->chunk < max_chunks;
		case CSCAN_TRACE_REGISTER:
			return r->flag < CSCAN_NPOLICIES;
		case CSCAN_TRACE_ANNOUNCE:
			return is_scan(pool, r->scan) && !pool->scans[r->scan].started && is_space(pool, r->other) &&
				is_interest(pool, r, ranges);
		case CSCAN_TRACE_COLUMNS:
			return is_scan(pool, r->scan) && !pool->scans[r->scan].started;
		case CSCAN_TRACE_START:
			return is_scan(pool, r->scan) && !pool->scans[r->scan].started &&
				cscan_pool_columns_fit(pool, r->scan);
		case CSCAN_TRACE_UNWANT:
			return is_started(pool, r->scan) && r->chunk < max_chunks;
		case CSCAN_TRACE_LEAVE_SPACE:
			return is_scan(pool, r->scan) && !pool->scans[r->scan].started && is_space(pool, r->other) &&
				cscan_pool_interested_in(pool, r->scan, r->other) &&
				cscan_pool_count_wanted(pool, r->scan, r->other) == 0;
		case CSCAN_TRACE_UNWANT_SPACE:
			return is_started(pool, r->scan) && is_space(pool, r->other);
		case CSCAN_TRACE_REST:
		case CSCAN_TRACE_UNREGISTER:
		case CSCAN_TRACE_STALLED:
		case CSCAN_TRACE_WARM:
		case CSCAN_TRACE_POSITION:
		case CSCAN_TRACE_JOIN:
			return is_scan(pool, r->scan);
		case CSCAN_TRACE_QUIT:
			return is_helper(pool, r->other);
		case CSCAN_TRACE_CHOOSE:
		case CSCAN_TRACE_TAKE:
			return is_scan(pool, r->scan) &&
				(pool->scans[r->scan].started || pool->scans[r->scan].nwanted == 0) &&
				(r->other == CSCAN_NONE ||
				 (is_helper(pool, r->other) && pool->helpers[r->other].scan == r->scan));
		case CSCAN_TRACE_DROP:
			return is_slot(pool, r->slot);
		case CSCAN_TRACE_ARRIVED:
			return is_slot(pool, r->slot) && pool->slots[r->slot].space != CSCAN_NONE && pool->slots[r->slot].in_flight;
		case CSCAN_TRACE_LOADED:
			return is_slot(pool, r->slot) && pool->slots[r->slot].space != CSCAN_NONE;
		default:
			return true;
	}
}

/* Make it, of those that decide nothing. */
static void
call_plain(CScanPool *pool, const CScanTraceRecord *r, const CScanRange *ranges)
{
	CScanLayout layout;
	CScanPieces arrived = {{r->time}};

	switch (r->kind)
	{
		case CSCAN_TRACE_LIMITS:
			cscan_pool_set_limits(pool, r->chunk, r->blocks);
			break;
		case CSCAN_TRACE_REMOVE_SPACE:
			cscan_pool_remove_space(pool, r->other);
			break;
		case CSCAN_TRACE_ACCESS:
			cscan_pool_set_access(pool, r->other, (CScanAccess) r->flag);
			break;
		case CSCAN_TRACE_CURSOR:
			cscan_pool_set_cursor(pool, r->other, r->chunk);
			break;
		case CSCAN_TRACE_CACHED:
			cscan_pool_set_cached(pool, r->chunk, r->flag != 0);
			break;
		case CSCAN_TRACE_ANNOUNCE:
			cscan_pool_announce(pool, r->scan, r->other, r->blocks, ranges, r->count);
			break;
		case CSCAN_TRACE_COLUMNAR:
			layout = layout_of(r, ranges);
			cscan_pool_set_columnar(pool, r->other, &layout);
			break;
		case CSCAN_TRACE_COLUMNS:
			cscan_pool_set_columns(pool, r->scan, r->time, r->time & ~(r->chunk | (uint64_t) r->blocks << 32));
			break;
		case CSCAN_TRACE_REST:
			cscan_pool_rest(pool, r->scan, r->time);
			break;
		case CSCAN_TRACE_UNWANT:
			cscan_pool_unwant(pool, r->scan, r->chunk);
			break;
		case CSCAN_TRACE_UNWANT_SPACE:
			cscan_pool_unwant_space(pool, r->scan, r->other);
			break;
		case CSCAN_TRACE_LEAVE_SPACE:
			cscan_pool_leave_space(pool, r->scan, r->other);
			break;
		case CSCAN_TRACE_UNREGISTER:
			cscan_pool_unregister(pool, r->scan);
			break;
		case CSCAN_TRACE_STALLED:
			cscan_pool_set_stalled(pool, r->scan, r->flag != 0);
			break;
		case CSCAN_TRACE_WARM:
			cscan_pool_set_warm(pool, r->scan, r->flag != 0);
			break;
		case CSCAN_TRACE_POSITION:
			cscan_pool_set_position(pool, r->scan, r->chunk);
			break;
		case CSCAN_TRACE_QUIT:
			cscan_pool_quit(pool, r->other);
			break;
		case CSCAN_TRACE_ARRIVED:
			cscan_pool_arrived(pool, r->slot, &arrived);
			break;
		case CSCAN_TRACE_BLOCK_TIME:
			cscan_pool_set_block_time(pool, number_of(r->time));
			break;
		case CSCAN_TRACE_LOADED:
			cscan_pool_loaded(pool, r->slot, r->time, r->chunk | (uint64_t) r->blocks << 32,
							  r->flag & CSCAN_TRACE_LOADED_FAILED, r->flag & CSCAN_TRACE_LOADED_CHEAP);
			break;
		default:
			cscan_pool_drop(pool, r->slot);
			break;
	}
}

/* Make it.  Does it decide anything? */
static bool
call(CScanPool *pool, const CScanTraceRecord *r, const CScanRange *ranges)
{
	CScanAction act;
	uint32_t	chunk;

	switch (r->kind)
	{
		case CSCAN_TRACE_ADD_SPACE:
			cscan_pool_add_space(pool, r->blocks, r->chunk, (uint32_t) r->slot);
			return true;
		case CSCAN_TRACE_EXTEND_SPACE:
			cscan_pool_extend_space(pool, r->other, r->chunk);
			return true;
		case CSCAN_TRACE_REGISTER:
			cscan_pool_register(pool, (CScanPolicyId) r->flag, r->time);
			return true;
		case CSCAN_TRACE_START:
			cscan_pool_start(pool, r->scan, r->time);
			return true;
		case CSCAN_TRACE_JOIN:
			cscan_pool_join(pool, r->scan);
			return true;
		case CSCAN_TRACE_CHOOSE:
			cscan_pool_choose(pool, r->scan, r->other, r->time);
			return true;
		case CSCAN_TRACE_TAKE:
			cscan_pool_take(pool, r->scan, r->other, r->time, &chunk);
			return true;
		case CSCAN_TRACE_DECIDE:
			cscan_pool_decide(pool, r->time, &act);
			return true;
		case CSCAN_TRACE_USELESS:
			cscan_pool_useless(pool);
			return true;
		case CSCAN_TRACE_RELEASE:
			cscan_pool_release(pool);
			return true;
		case CSCAN_TRACE_HOLD:
			cscan_pool_hold(pool);
			return true;
		case CSCAN_TRACE_SHRINK:
			cscan_pool_shrink(pool, &act);
			return true;
		default:
			call_plain(pool, r, ranges);
			return false;
	}
}

static bool
equal(const CScanTraceRecord *a, const CScanTraceRecord *b)
{
	return a->kind == b->kind && a->flag == b->flag && a->count == b->count && a->scan == b->scan &&
		a->time == b->time && a->other == b->other && a->slot == b->slot && a->chunk == b->chunk &&
		a->blocks == b->blocks;
}

/* ------------------------------------------------------------------
 * Replay
 * ------------------------------------------------------------------ */

/* The ranges that follow a record; false if they do not. */
static bool
read_ranges(FILE *in, uint32_t nranges, CScanRange *ranges, Replay *replay)
{
	uint32_t	n = 0;

	while (n < nranges)
	{
		CScanTraceRecord r;
		CScanRange	some[3];
		uint32_t	nsome;

		if (!read_record(in, &r, replay))
			return false;
		if (r.kind == CSCAN_TRACE_LOST)
		{
			replay->lost = r.time;
			return false;
		}
		nsome = r.kind == CSCAN_TRACE_RANGES ? cscan_trace_get_ranges(&r, some) : 0;
		if (nsome == 0 || nsome > nranges - n)
		{
			replay->message = "ranges are missing";
			return false;
		}
		memcpy(ranges + n, some, sizeof(CScanRange) * nsome);
		n += nsome;
	}
	return true;
}

/* The state that the trace begins with. */
static bool
read_state(FILE *in, CScanPool *pool, Replay *replay)
{
	CScanTraceRecord r = {.kind = 0};
	int			scan = CSCAN_NONE;
	int			space = CSCAN_NONE;

	while (r.kind != CSCAN_TRACE_STATE_END)
	{
		if (!read_record(in, &r, replay))
			return false;
		if (replay->records == 1 && r.kind != CSCAN_TRACE_STATE)
			replay->message = "the trace does not begin with a state";
		else
			replay->message = cscan_trace_restore(pool, &r, &scan, &space);
		if (replay->message != NULL)
			return false;
	}
	return true;
}

static ReplayOutcome
play(FILE *in, Player *player, Replay *replay)
{
	static CScanRange ranges[CSCAN_MAX_RANGES];
	CScanTraceRecord *r = &replay->recorded;

	if (!read_state(in, &player->pool, replay))
		return ended(replay);
	player->pool.record = catch_record;
	player->pool.state->traced = true;
	while (read_record(in, r, replay))
	{
		bool		has_ranges = r->kind == CSCAN_TRACE_ANNOUNCE || r->kind == CSCAN_TRACE_COLUMNAR;

		if (r->kind == CSCAN_TRACE_END)
			return REPLAY_SAME;
		if (r->kind == CSCAN_TRACE_LOST)
		{
			replay->lost = r->time;
			return REPLAY_INCOMPLETE;
		}
		if (!is_call(r->kind))
		{
			replay->message = "a record that does not belong there";
			return REPLAY_BROKEN;
		}
		if (has_ranges && r->count > CSCAN_MAX_RANGES)
		{
			replay->message = "too many ranges";
			return REPLAY_BROKEN;
		}
		if (has_ranges && !read_ranges(in, r->count, ranges, replay))
			return ended(replay);
		if (!is_possible(&player->pool, r, ranges))
		{
			replay->message = "a call that cannot be made";
			return REPLAY_BROKEN;
		}
		player->nleft = 0;
		replay->events++;
		replay->decisions += call(&player->pool, r, ranges);
		replay->replayed = player->left;
		if (player->nleft != 1 || !equal(r, &player->left))
			return REPLAY_DIFFERS;
	}
	return ended(replay);
}

ReplayOutcome
replay_run(FILE *in, Replay *replay)
{
	CScanLimits limits;
	Player		player = {.nleft = 0};
	void	   *memory;
	ReplayOutcome outcome;

	if (!read_header(in, &limits, replay))
		return REPLAY_BROKEN;
	memory = calloc(1, cscan_pool_size(&limits));
	if (memory == NULL)
	{
		replay->message = "there is not enough memory for a pool of that size";
		return REPLAY_BROKEN;
	}
	cscan_pool_attach(&player.pool, memory, &limits);
	cscan_pool_init(&player.pool, &limits);
	outcome = play(in, &player, replay);
	free(memory);
	return outcome;
}

int
replay_report(ReplayOutcome outcome, const Replay *replay, FILE *out)
{
	uint64_t	first = replay->records > REPLAY_CONTEXT ? replay->records - REPLAY_CONTEXT : 0;

	if (outcome == REPLAY_DIFFERS || (outcome == REPLAY_BROKEN && replay->records > 0))
	{
		fprintf(out, "before that:\n");
		for (uint64_t i = first; i < replay->records; i++)
			replay_describe(&replay->context[i % REPLAY_CONTEXT], out);
	}
	switch (outcome)
	{
		case REPLAY_SAME:
			fprintf(out, "%llu events, %llu decisions, all the same\n",
					(unsigned long long) replay->events, (unsigned long long) replay->decisions);
			return 0;
		case REPLAY_DIFFERS:
			fprintf(out, "event %llu differs: recorded\n", (unsigned long long) replay->events);
			replay_describe(&replay->recorded, out);
			fprintf(out, "replayed\n");
			replay_describe(&replay->replayed, out);
			return 1;
		case REPLAY_INCOMPLETE:
			fprintf(out, "%llu events, %llu decisions, all the same so far; ",
					(unsigned long long) replay->events, (unsigned long long) replay->decisions);
			if (replay->lost > 0)
				fprintf(out, "then %llu records have been lost\n", (unsigned long long) replay->lost);
			else
				fprintf(out, "%s\n", replay->message);
			return 2;
		default:
			fprintf(out, "record %llu: %s\n", (unsigned long long) replay->records, replay->message);
			return 2;
	}
}
