/*-------------------------------------------------------------------------
 *
 * record.h
 *		What happens to a pool, as records of 32 bytes.
 *
 * The functions of pool.h leave records while the pool's state says "traced",
 * through the "record" of the process's handle.  Only the call from outside
 * leaves a record, not the calls that it makes in turn.  Nothing is written or
 * allocated here: the caller decides where records go.  trace.h makes a trace
 * of them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CSCAN_RECORD_H
#define CSCAN_RECORD_H

#include <string.h>

#include "pool.h"

/* The numbers are the format: do not change them. */
typedef enum CScanTraceKind
{
	/* Follow another record. */
	CSCAN_TRACE_RANGES = 1,		/* up to three ranges of an interest, or
								 * columns of a layout */
	CSCAN_TRACE_STATE_COLUMNAR = 2, /* more of a space of the state: its layout;
									 * RANGES follow */
	CSCAN_TRACE_STATE_COLUMNS = 3,	/* more of a scan of the state */

	/* The state at the beginning of a trace, in this order. */
	CSCAN_TRACE_STATE = 16,
	CSCAN_TRACE_STATE_DEVICE = 17,
	CSCAN_TRACE_STATE_SPACE = 18,
	CSCAN_TRACE_STATE_LOADED = 19,	/* more of a space: comes after it */
	CSCAN_TRACE_STATE_CACHED = 20,
	CSCAN_TRACE_STATE_SCAN = 21,
	CSCAN_TRACE_STATE_CURSOR = 22,	/* more of a scan */
	CSCAN_TRACE_STATE_SPACES = 23,	/* more of a scan: spaces */
	CSCAN_TRACE_STATE_RANGES = 24,	/* more of a scan: in a space; RANGES
									 * follow */
	CSCAN_TRACE_STATE_WANTED = 25,
	CSCAN_TRACE_STATE_HELPER = 26,
	CSCAN_TRACE_STATE_SLOT = 27,
	CSCAN_TRACE_STATE_LOAD = 28,	/* more of a slot */
	CSCAN_TRACE_STATE_PIECES = 29,
	CSCAN_TRACE_STATE_HISTORY = 30,
	CSCAN_TRACE_STATE_END = 31,

	/* Calls. */
	CSCAN_TRACE_LIMITS = 32,
	CSCAN_TRACE_ADD_SPACE = 33,
	CSCAN_TRACE_EXTEND_SPACE = 34,
	CSCAN_TRACE_REMOVE_SPACE = 35,
	CSCAN_TRACE_ACCESS = 36,
	CSCAN_TRACE_REGISTER = 37,
	CSCAN_TRACE_ANNOUNCE = 38,	/* RANGES follow */
	CSCAN_TRACE_START = 39,
	CSCAN_TRACE_REST = 40,
	CSCAN_TRACE_UNWANT = 41,
	CSCAN_TRACE_UNWANT_SPACE = 42,
	CSCAN_TRACE_UNREGISTER = 43,
	CSCAN_TRACE_STALLED = 44,
	CSCAN_TRACE_WARM = 45,
	CSCAN_TRACE_POSITION = 46,
	CSCAN_TRACE_JOIN = 47,
	CSCAN_TRACE_QUIT = 48,
	CSCAN_TRACE_CHOOSE = 49,
	CSCAN_TRACE_BLOCK_TIME = 50,
	CSCAN_TRACE_TAKE = 51,
	CSCAN_TRACE_DECIDE = 52,
	CSCAN_TRACE_LOADED = 53,
	CSCAN_TRACE_DROP = 54,
	CSCAN_TRACE_USELESS = 55,
	CSCAN_TRACE_RELEASE = 56,
	CSCAN_TRACE_HOLD = 57,
	CSCAN_TRACE_CURSOR = 58,
	CSCAN_TRACE_CACHED = 59,
	CSCAN_TRACE_LEAVE_SPACE = 60,
	CSCAN_TRACE_SHRINK = 61,
	CSCAN_TRACE_COLUMNAR = 62,	/* RANGES follow */
	CSCAN_TRACE_COLUMNS = 63,

	CSCAN_TRACE_ARRIVED = 64,

	/* The trace itself. */
	CSCAN_TRACE_LOST = 128,		/* records are missing here */
	CSCAN_TRACE_END = 129		/* complete */
} CScanTraceKind;

/* The fields as in the file; doc/trace.md says which of them a kind uses. */
struct CScanTraceRecord
{
	uint8_t		kind;			/* a CScanTraceKind */
	uint8_t		flag;			/* a truth value, a policy, a kind of action */
	uint16_t	count;			/* ranges that follow; of a load, its check
								 * sum, see cscan_record_pieces() */
	int32_t		scan;
	uint64_t	time;			/* us; or a word of a set */
	int32_t		other;			/* a space, a helper, a device or a policy */
	int32_t		slot;
	uint32_t	chunk;
	uint32_t	blocks;
};

/* Bits of a LOADED's flag. */
#define CSCAN_TRACE_LOADED_FAILED	0x01
#define CSCAN_TRACE_LOADED_CHEAP	0x02

/* Leave a record, if traced: CSCAN_RECORD(pool, .kind = ..., ...). */
#define CSCAN_RECORD(pool, ...) \
	do { \
		if (__builtin_expect((pool)->state->traced, 0)) \
			(pool)->record((pool), &(CScanTraceRecord) {__VA_ARGS__}); \
	} while (0)

/* The bits of a floating point number. */
static inline uint64_t
cscan_record_number(double number)
{
	uint64_t	bits;

	memcpy(&bits, &number, sizeof(bits));
	return bits;
}

#define CSCAN_RANGES_IN_RECORD	3

/* Make a record of the next ranges, as many as fit. */
static inline CScanTraceRecord
cscan_record_of_ranges(const CScanRange *ranges, uint32_t left)
{
	CScanTraceRecord r = {.kind = CSCAN_TRACE_RANGES};

	r.count = (uint16_t) (left < CSCAN_RANGES_IN_RECORD ? left : CSCAN_RANGES_IN_RECORD);
	r.time = (uint64_t) ranges[0].first | (uint64_t) ranges[0].end << 32;
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

/* The places of a layout's columns, as ranges for its record, and back. */
static inline void
cscan_record_layout(const CScanLayout *layout, CScanRange places[CSCAN_LAYOUT_COLUMNS])
{
	for (uint32_t c = 0; c < layout->ncolumns; c++)
		places[c] = (CScanRange) {layout->begin[c], layout->begin[c + 1]};
}

/* Add a column to a layout; false if its places are not the next ones. */
static inline bool
cscan_record_add_column(CScanLayout *layout, CScanRange places)
{
	if (layout->ncolumns == CSCAN_LAYOUT_COLUMNS || places.first >= places.end ||
		places.first != (layout->ncolumns > 0 ? cscan_layout_blocks(layout) : 0))
		return false;
	layout->begin[0] = 0;
	layout->begin[++layout->ncolumns] = places.end;
	return true;
}

/* The check sum of a load's pieces, for its record. */
static inline uint16_t
cscan_record_pieces(const CScanPieces *pieces)
{
	uint64_t	sum = 0;

	for (int w = 0; w < CSCAN_PIECE_WORDS; w++)
		sum = sum * 31 + pieces->word[w];
	sum ^= sum >> 32;
	return (uint16_t) (sum ^ sum >> 16);
}

/* Leave a record of what cscan_pool_decide did. */
static inline void
cscan_record_action(const CScanPool *pool, uint64_t now, const CScanAction *act)
{
	bool		load = act->kind == CSCAN_ACT_LOAD || act->kind == CSCAN_ACT_TRIM;
	bool		nothing = act->kind == CSCAN_ACT_NOTHING;

	CSCAN_RECORD(pool,.kind = CSCAN_TRACE_DECIDE,.flag = (uint8_t) act->kind,.time = now,
				 .scan = nothing ? CSCAN_NONE : act->scan,.other = nothing ? CSCAN_NONE : act->space,
				 .slot = nothing ? CSCAN_NONE : act->slot,.chunk = nothing ? 0 : act->chunk,
				 .blocks = load ? act->nblocks : 0,
				 .count = load ? cscan_record_pieces(&act->pieces) : 0);
}

#endif							/* CSCAN_RECORD_H */
