/*-------------------------------------------------------------------------
 *
 * trace.h
 *		What happens to a pool, as records of 32 bytes.
 *
 * A trace is a header, records that tell the state of a pool, and one record
 * for each call that changes it, with its arguments and what it decided.
 * Whoever makes the same calls on a pool with that state must get the same
 * decisions.  doc/trace.md says it byte by byte.
 *
 * The functions of pool.h leave records while the pool's state says "traced",
 * through the "record" of the process's handle.  Only the call from outside
 * leaves one, not what it calls in turn.  As in all of this room nothing is
 * written or allocated here: where records go is the caller's business.
 *
 * In a file all numbers have the least significant byte first.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CSCAN_TRACE_H
#define CSCAN_TRACE_H

#include "pool.h"

#define CSCAN_TRACE_MAGIC	"CSCANTRC"
#define CSCAN_TRACE_VERSION	3

#define CSCAN_TRACE_HEADER_SIZE	64
#define CSCAN_TRACE_RECORD_SIZE	32

/* The numbers are the format: do not change them. */
typedef enum CScanTraceKind
{
	/* What follows another record. */
	CSCAN_TRACE_RANGES = 1,		/* up to three ranges of an interest */

	/* The state at the beginning, in this order. */
	CSCAN_TRACE_STATE = 16,
	CSCAN_TRACE_STATE_TABLE = 17,
	CSCAN_TRACE_STATE_SCAN = 18,	/* RANGES follow */
	CSCAN_TRACE_STATE_WANTED = 19,
	CSCAN_TRACE_STATE_HELPER = 20,
	CSCAN_TRACE_STATE_SLOT = 21,
	CSCAN_TRACE_STATE_LOAD = 22,	/* more of a slot */
	CSCAN_TRACE_STATE_PIECES = 23,
	CSCAN_TRACE_STATE_PACE = 24,
	CSCAN_TRACE_STATE_END = 25,
	CSCAN_TRACE_STATE_ASKED = 26,	/* more of a table: comes after it */

	/* Calls. */
	CSCAN_TRACE_LIMITS = 32,
	CSCAN_TRACE_ADD_TABLE = 33,
	CSCAN_TRACE_REMOVE_TABLE = 34,
	CSCAN_TRACE_LOADABLE = 35,
	CSCAN_TRACE_REGISTER = 36,	/* RANGES follow */
	CSCAN_TRACE_START = 37,
	CSCAN_TRACE_AGAIN = 38,		/* RANGES follow */
	CSCAN_TRACE_UNWANT = 39,
	CSCAN_TRACE_UNREGISTER = 40,
	CSCAN_TRACE_STALLED = 41,
	CSCAN_TRACE_WARM = 42,
	CSCAN_TRACE_POSITION = 43,
	CSCAN_TRACE_JOIN = 44,
	CSCAN_TRACE_PART = 45,
	CSCAN_TRACE_CHOOSE = 46,
	CSCAN_TRACE_LOAD_TIME = 47,
	CSCAN_TRACE_TAKE = 48,
	CSCAN_TRACE_DECIDE = 49,
	CSCAN_TRACE_LOADED = 50,
	CSCAN_TRACE_DROP = 51,
	CSCAN_TRACE_USELESS = 52,
	CSCAN_TRACE_RELEASE = 53,
	CSCAN_TRACE_HOLD = 54,
	CSCAN_TRACE_CURSOR = 55,

	/* The trace itself. */
	CSCAN_TRACE_LOST = 64,		/* records are missing here */
	CSCAN_TRACE_END = 65		/* complete */
} CScanTraceKind;

/* The fields in the order of the file; which of them a kind uses it says. */
struct CScanTraceRecord
{
	uint8_t		kind;			/* a CScanTraceKind */
	uint8_t		flag;			/* a truth value, a policy, a kind of action */
	uint16_t	count;			/* ranges that follow; of a load, see
								 * cscan_trace_pieces() */
	int32_t		scan;
	uint64_t	time;			/* us; or a word of a map */
	int32_t		other;			/* a table, or a helper */
	int32_t		slot;
	uint32_t	chunk;
	uint32_t	blocks;
};

typedef struct CScanTraceHeader
{
	int32_t		max_scans;
	int32_t		max_slots;
	int32_t		max_helpers;
} CScanTraceHeader;

/* Bits of a STATE_SCAN's flag above its policy, and of a STATE_SLOT's. */
#define CSCAN_TRACE_SCAN_POLICY		0x0f
#define CSCAN_TRACE_SCAN_WAITING	0x10
#define CSCAN_TRACE_SCAN_BLOCKED	0x20
#define CSCAN_TRACE_SCAN_STALLED	0x40
#define CSCAN_TRACE_SCAN_WARM		0x80

#define CSCAN_TRACE_SLOT_IN_FLIGHT	0x01
#define CSCAN_TRACE_SLOT_FAILED		0x02
#define CSCAN_TRACE_SLOT_CHEAP		0x04
#define CSCAN_TRACE_SLOT_HELD		0x08

/* ... and of a LOADED's */
#define CSCAN_TRACE_LOADED_FAILED	0x01
#define CSCAN_TRACE_LOADED_CHEAP	0x02

/* Leave a record, if that is wanted: CSCAN_TRACE(pool, .kind = ..., ...). */
#define CSCAN_TRACE(pool, ...) \
	do { \
		if (__builtin_expect((pool)->state->traced, 0)) \
			(pool)->record((pool), &(CScanTraceRecord) {__VA_ARGS__}); \
	} while (0)

/* ... with the ranges that belong to it. */
#define CSCAN_TRACE_WITH_RANGES(pool, ranges, nranges, ...) \
	do { \
		if (__builtin_expect((pool)->state->traced, 0)) \
		{ \
			(pool)->record((pool), &(CScanTraceRecord) {.count = (uint16_t) (nranges), __VA_ARGS__}); \
			cscan_trace_ranges((pool), (ranges), (nranges)); \
		} \
	} while (0)

extern void cscan_trace_ranges(const CScanPool *pool, const CScanRange *ranges, uint32_t nranges);

/* A decision's record: what cscan_pool_decide did. */
extern void cscan_trace_action(const CScanPool *pool, uint64_t now, const CScanAction *act);

/* So much of the pieces of a load is in its record. */
extern uint16_t cscan_trace_pieces(const CScanPieces *pieces);

/* Records that tell the state of a pool, STATE to STATE_END, one at a time. */
typedef void (*CScanTracePut) (void *arg, const CScanTraceRecord *r);
extern void cscan_trace_save(const CScanPool *pool, CScanTracePut put, void *arg);

/*
 * The other way, one record at a time (a STATE_SCAN's RANGES, too), into a pool
 * that was just made empty.  *scan is the one whose ranges come next.  Returns
 * NULL, or what is wrong with the record; nothing out of bounds is touched.
 */
extern const char *cscan_trace_restore(CScanPool *pool, const CScanTraceRecord *r, int *scan);

/* Up to three ranges of a RANGES record; returns how many. */
extern uint32_t cscan_trace_get_ranges(const CScanTraceRecord *r, CScanRange ranges[3]);

/* As bytes.  Decoding a header returns NULL, or what is wrong with it. */
extern void cscan_trace_encode(const CScanTraceRecord *r, uint8_t bytes[CSCAN_TRACE_RECORD_SIZE]);
extern void cscan_trace_decode(const uint8_t bytes[CSCAN_TRACE_RECORD_SIZE], CScanTraceRecord *r);
extern void cscan_trace_encode_header(const CScanTraceHeader *header,
									  uint8_t bytes[CSCAN_TRACE_HEADER_SIZE]);
extern const char *cscan_trace_decode_header(const uint8_t bytes[CSCAN_TRACE_HEADER_SIZE],
											 CScanTraceHeader *header);

#endif							/* CSCAN_TRACE_H */
