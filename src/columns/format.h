/*-------------------------------------------------------------------------
 *
 * format.h
 *		What a column run looks like, and how its bytes are read.
 *
 * A *column run* has all values of one column in a row group.  Row i is value
 * i; a null row holds a filler.  A *vector* is 1,024 consecutive values, and
 * can be decoded without the others.
 *
 *	run			header, null bitmap, body
 *	nulls		words of 64 bits, per row a bit, 1: null; absent if no row is
 *				null, or all are
 *	body		integers	series
 *							dictionary, series of codes
 *				strings		dictionary, series of codes
 *							series of lengths, vectors, bytes
 *							series of lengths, vectors, frames
 *				absent if all rows are null
 *	series		u8 encoding, u8 bytes of a plain value, 6 zeros, i64 base, u64
 *				step; then (series.h)
 *				constant	nothing
 *				plain		the values
 *				frame		blocks
 *				delta		blocks
 *				run length	per vector: u32 runs up to its end;
 *							blocks of the runs' values, blocks of lengths - 1
 *	blocks		per block of 1,024 numbers: u32 end of its bytes; the blocks
 *	block		in a delta: i64 first number; i64 base, u8 width, bits (bits.h)
 *	dictionary	u32 entries, u8 bytes of a number, 3 zeros; then
 *				integers	i64 base, u64 step; per entry: its number
 *				strings		per entry: begin of its bytes; end of them all;
 *							the bytes
 *	vectors		per vector: u32 end of its strings' bytes
 *	frames		u32 frames; per frame: u32 vectors up to its end, u32 end of
 *				its bytes; the frames
 *
 * A dictionary of one entry has no codes.  A frame holds the bytes of some
 * whole vectors.  It is compressed if it is shorter than these.
 *
 * Numbers have the machine's byte order, as on all of PostgreSQL's pages.
 * Nothing is aligned.
 *
 * A run has no checksum, since its pages have one, but its reader trusts no
 * byte of it.  cscan_column_open() checks every size and every place in a run.
 * The decoding functions check what depends on values: lengths of runs and of
 * strings, codes, compressed frames.  Damage gives an error or wrong values.
 * It never makes a reader read outside of the run, or run on.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CSCAN_FORMAT_H
#define CSCAN_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define CSCAN_COLUMN_VERSION	1

/* Values in a vector, and in a block. */
#define CSCAN_VECTOR			1024

/* A run has at most this many values, and bytes in its strings. */
#define CSCAN_COLUMN_MAX_VALUES	(1 << 20)
#define CSCAN_COLUMN_MAX_BYTES	(1 << 28)

/* A dictionary has at most this many entries. */
#define CSCAN_MAX_ENTRIES		65536

typedef enum CScanColumnKind
{
	CSCAN_COLUMN_INTEGERS,
	CSCAN_COLUMN_STRINGS
} CScanColumnKind;

typedef enum CScanEncoding
{
	CSCAN_ENCODING_NONE,		/* every value is null */
	CSCAN_ENCODING_CONSTANT,
	CSCAN_ENCODING_PLAIN,
	CSCAN_ENCODING_FRAME,		/* frame of reference */
	CSCAN_ENCODING_DELTA,		/* frame of reference of the differences */
	CSCAN_ENCODING_RUN_LENGTH,
	CSCAN_ENCODING_DICTIONARY,
	CSCAN_ENCODING_LZ4,
	CSCAN_ENCODING_ZSTD
} CScanEncoding;

#define CSCAN_NENCODINGS	(CSCAN_ENCODING_ZSTD + 1)

/* The first bytes of a run. */
typedef struct CScanColumnHeader
{
	uint8_t		version;
	uint8_t		kind;			/* a CScanColumnKind */
	uint8_t		encoding;		/* a CScanEncoding */
	uint8_t		zero;
	uint32_t	size;			/* of the run, in bytes */
	uint32_t	nvalues;
	uint32_t	nnulls;
	uint32_t	ndistinct;		/* distinct values but null, 0: unknown */
	uint32_t	zeros;
	int64_t		minimum;		/* of values that are not null; of strings, */
	int64_t		maximum;		/* of their lengths */
} CScanColumnHeader;

_Static_assert(sizeof(CScanColumnHeader) == 40, "the header has holes");

/* What is wrong with a run. */
typedef enum CScanDamageKind
{
	CSCAN_DAMAGE_NONE,
	CSCAN_DAMAGE_CUT,			/* bytes are missing at its end */
	CSCAN_DAMAGE_SIZE,			/* it is longer or shorter than it says */
	CSCAN_DAMAGE_VERSION,		/* it has another version of the format */
	CSCAN_DAMAGE_HEADER,		/* kind, encoding or counts are impossible */
	CSCAN_DAMAGE_NULLS,			/* the null bitmap has another count of nulls */
	CSCAN_DAMAGE_SERIES,		/* a series' head is impossible */
	CSCAN_DAMAGE_WIDTH,			/* a number of bits or bytes is impossible */
	CSCAN_DAMAGE_PLACE,			/* an end is not where it must be */
	CSCAN_DAMAGE_RUNS,			/* lengths of runs do not sum up to a vector */
	CSCAN_DAMAGE_ENTRIES,		/* the number of entries is impossible */
	CSCAN_DAMAGE_CODE,			/* a code is not in the dictionary */
	CSCAN_DAMAGE_LENGTHS,		/* lengths of strings do not sum up */
	CSCAN_DAMAGE_FRAME,			/* a frame cannot be decompressed */
	/* These two are not the run's fault. */
	CSCAN_DAMAGE_NO_CODEC,		/* this build has not the library for it */
	CSCAN_DAMAGE_NO_MEMORY		/* that library got no memory */
} CScanDamageKind;

typedef struct CScanDamage
{
	CScanDamageKind kind;
	size_t		offset;			/* of the first byte that is wrong, in the run */
} CScanDamage;

/* A place in a run that is being opened. */
typedef struct CScanCursor
{
	const uint8_t *run;			/* the run's first byte */
	const uint8_t *at;
	size_t		left;			/* bytes from there to its end */
	CScanDamage *damage;
} CScanCursor;

/* Report damage.  Always false, for "return cscan_damaged(...)". */
static inline bool
cscan_damaged(CScanDamage *damage, CScanDamageKind kind, const uint8_t *run, const uint8_t *at)
{
	damage->kind = kind;
	damage->offset = (size_t) (at - run);
	return false;
}

/* Take the next n bytes; NULL, and damage, if there are fewer. */
static inline const uint8_t *
cscan_cursor_take(CScanCursor *cursor, size_t n)
{
	const uint8_t *bytes = cursor->at;

	if (n > cursor->left)
	{
		cscan_damaged(cursor->damage, CSCAN_DAMAGE_CUT, cursor->run, cursor->at + cursor->left);
		return NULL;
	}
	cursor->at += n;
	cursor->left -= n;
	return bytes;
}

static inline uint32_t
cscan_get_u32(const uint8_t *bytes)
{
	uint32_t	number;

	memcpy(&number, bytes, sizeof(number));
	return number;
}

static inline uint64_t
cscan_get_u64(const uint8_t *bytes)
{
	uint64_t	number;

	memcpy(&number, bytes, sizeof(number));
	return number;
}

static inline uint8_t *
cscan_put_u32(uint8_t *bytes, uint32_t number)
{
	memcpy(bytes, &number, sizeof(number));
	return bytes + sizeof(number);
}

static inline uint8_t *
cscan_put_u64(uint8_t *bytes, uint64_t number)
{
	memcpy(bytes, &number, sizeof(number));
	return bytes + sizeof(number);
}

/* Entry i of an array of numbers of 1, 2, 4 or 8 bytes. */
static inline uint64_t
cscan_get_entry(const uint8_t *entries, unsigned bytes, size_t i)
{
	uint16_t	two;

	switch (bytes)
	{
		case 1:
			return entries[i];
		case 2:
			memcpy(&two, entries + 2 * i, 2);
			return two;
		case 4:
			return cscan_get_u32(entries + 4 * i);
		default:
			return cscan_get_u64(entries + 8 * i);
	}
}

static inline uint8_t *
cscan_put_entry(uint8_t *out, unsigned bytes, uint64_t number)
{
	uint8_t		one = (uint8_t) number;
	uint16_t	two = (uint16_t) number;

	switch (bytes)
	{
		case 1:
			*out = one;
			break;
		case 2:
			memcpy(out, &two, 2);
			break;
		case 4:
			cscan_put_u32(out, (uint32_t) number);
			break;
		default:
			cscan_put_u64(out, number);
	}
	return out + bytes;
}

/* The bytes that such an array needs for numbers up to this one. */
static inline unsigned
cscan_entry_bytes(uint64_t most)
{
	return most <= UINT8_MAX ? 1 : most <= UINT16_MAX ? 2 : most <= UINT32_MAX ? 4 : 8;
}

static inline bool
cscan_entry_bytes_valid(unsigned bytes)
{
	return bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8;
}

/* The vectors of n values, and the values in one of them. */
static inline uint32_t
cscan_vectors(uint32_t n)
{
	return (n + CSCAN_VECTOR - 1) / CSCAN_VECTOR;
}

static inline uint32_t
cscan_vector_values(uint32_t n, uint32_t vector)
{
	uint32_t	left = n - vector * CSCAN_VECTOR;

	return left < CSCAN_VECTOR ? left : CSCAN_VECTOR;
}

#endif							/* CSCAN_FORMAT_H */
