/*-------------------------------------------------------------------------
 *
 * distinct.c
 *		See distinct.h.
 *
 * The hash table has at least twice as many slots as there can be entries, so
 * a search always ends at a free one.
 *
 *-------------------------------------------------------------------------
 */
#include "distinct.h"

/* After so many values, a window with more new ones than this is the last. */
#define WARM_UP			16384
#define WINDOW			4096
#define MOST_NEW		(WINDOW / 8 * 7)

/* Steps to a next slot for each value, on average, before it is given up. */
#define PATIENCE		16

#define MULTIPLIER		UINT64_C(0x9E3779B97F4A7C15)

static uint32_t
most_entries(uint32_t n)
{
	return n < CSCAN_MAX_ENTRIES ? n : CSCAN_MAX_ENTRIES;
}

static uint32_t
nslots(uint32_t n)
{
	uint32_t	slots = 64;

	while (slots < 2 * most_entries(n))
		slots *= 2;
	return slots;
}

static size_t
align8(size_t size)
{
	return (size + 7) / 8 * 8;
}

size_t
cscan_distinct_size(uint32_t n)
{
	return align8(n * sizeof(uint16_t)) + nslots(n) * sizeof(uint32_t) +
		(size_t) most_entries(n) * sizeof(int64_t);
}

static void
begin(CScanDistinct *distinct, uint32_t n, void *memory)
{
	uint8_t    *bytes = memory;

	memset(distinct, 0, sizeof(*distinct));
	distinct->mask = nslots(n) - 1;
	distinct->shift = (unsigned) __builtin_clzll(distinct->mask);
	distinct->patience = (uint64_t) PATIENCE * n;
	distinct->slots = memory;
	memset(distinct->slots, 0, nslots(n) * sizeof(uint32_t));
	bytes += nslots(n) * sizeof(uint32_t);
	/* Integers need one number for each entry, strings two halves of one. */
	distinct->numbers = (int64_t *) (void *) bytes;
	distinct->rows = (uint32_t *) (void *) bytes;
	distinct->hashes = distinct->rows + most_entries(n);
	distinct->codes = (uint16_t *) (void *) (bytes + (size_t) most_entries(n) * sizeof(int64_t));
}

/* Go on to the next slot; false if that was done too often. */
static inline bool
next_slot(CScanDistinct *distinct, uint32_t *slot)
{
	if (distinct->patience == 0)
		return false;
	distinct->patience--;
	*slot = (*slot + 1) & distinct->mask;
	return true;
}

/* Were nearly all of the last window's values new?  "done" ends a vector. */
static bool
mostly_new(const CScanDistinct *distinct, uint32_t done, uint32_t *before)
{
	uint32_t	new = distinct->count - *before;

	if (done % WINDOW != 0)
		return false;
	*before = distinct->count;
	return done > WARM_UP && new > MOST_NEW;
}

/* Get a number's code; CSCAN_MAX_ENTRIES if there is none. */
static inline uint32_t
code_of_number(CScanDistinct *distinct, int64_t number, uint32_t most)
{
	uint32_t	slot = (uint32_t) (((uint64_t) number * MULTIPLIER) >> distinct->shift);
	uint32_t	entry;

	while ((entry = distinct->slots[slot]) != 0)
	{
		if (distinct->numbers[entry - 1] == number)
			return entry - 1;
		if (!next_slot(distinct, &slot))
			return CSCAN_MAX_ENTRIES;
	}
	if (distinct->count >= most)
		return CSCAN_MAX_ENTRIES;
	entry = distinct->count++;
	distinct->slots[slot] = entry + 1;
	distinct->numbers[entry] = number;
	return entry;
}

void
cscan_distinct_integers(CScanDistinct *distinct, const CScanSource *source, void *memory,
						unsigned width, size_t limit)
{
	int64_t		numbers[CSCAN_VECTOR];
	size_t		most = limit / width;
	uint32_t	done = 0;
	uint32_t	before = 0;
	uint32_t	code = CSCAN_MAX_ENTRIES;
	int64_t		last = 0;

	begin(distinct, source->n, memory);
	if (most > CSCAN_MAX_ENTRIES)
		most = CSCAN_MAX_ENTRIES;
	for (uint32_t v = 0; v < cscan_vectors(source->n); v++)
	{
		uint32_t	n = cscan_source_load(source, v, numbers);

		for (uint32_t i = 0; i < n; i++)
		{
			if (numbers[i] != last || code == CSCAN_MAX_ENTRIES)
			{
				last = numbers[i];
				code = code_of_number(distinct, last, (uint32_t) most);
				if (code == CSCAN_MAX_ENTRIES)
					return;
			}
			distinct->codes[done++] = (uint16_t) code;
		}
		if (mostly_new(distinct, done, &before))
			return;
	}
	distinct->complete = true;
}

/* ------------------------------------------------------------------
 * Strings
 * ------------------------------------------------------------------ */

static uint32_t
hash_bytes(const uint8_t *bytes, size_t n)
{
	uint64_t	hash = (n + 1) * MULTIPLIER;
	uint64_t	rest = 0;

	for (; n >= 8; n -= 8, bytes += 8)
	{
		hash = (hash ^ cscan_get_u64(bytes)) * MULTIPLIER;
		hash ^= hash >> 32;
	}
	if (n >= 4)
		rest = (uint64_t) cscan_get_u32(bytes) << 32 | cscan_get_u32(bytes + n - 4);
	else if (n > 0)
		rest = (uint64_t) bytes[0] << 16 | (uint64_t) bytes[n / 2] << 8 | bytes[n - 1];
	hash = (hash ^ rest) * MULTIPLIER;
	hash ^= hash >> 29;
	return (uint32_t) ((hash * MULTIPLIER) >> 32);
}

static bool
same_string(const CScanStrings *strings, uint32_t a, uint32_t b)
{
	uint32_t	n = strings->lengths[a];

	return n == strings->lengths[b] && (n == 0 || memcmp(strings->bytes[a], strings->bytes[b], n) == 0);
}

static uint32_t
code_of_string(CScanDistinct *distinct, const CScanStrings *strings, uint32_t row, unsigned width,
			   size_t limit)
{
	uint32_t	length = strings->lengths[row];
	uint32_t	hash = hash_bytes(strings->bytes[row], length);
	uint32_t	slot = hash & distinct->mask;
	uint32_t	entry;

	while ((entry = distinct->slots[slot]) != 0)
	{
		if (distinct->hashes[entry - 1] == hash && same_string(strings, distinct->rows[entry - 1], row))
			return entry - 1;
		if (!next_slot(distinct, &slot))
			return CSCAN_MAX_ENTRIES;
	}
	if (distinct->count == CSCAN_MAX_ENTRIES ||
		distinct->bytes + length + (distinct->count + 1) * (size_t) width > limit)
		return CSCAN_MAX_ENTRIES;
	distinct->bytes += length;
	entry = distinct->count++;
	distinct->slots[slot] = entry + 1;
	distinct->rows[entry] = row;
	distinct->hashes[entry] = hash;
	return entry;
}

void
cscan_distinct_strings(CScanDistinct *distinct, const CScanStrings *strings, void *memory,
					   unsigned width, size_t limit)
{
	uint32_t	before = 0;
	uint32_t	code = CSCAN_MAX_ENTRIES;
	uint32_t	last = 0;

	begin(distinct, strings->n, memory);
	for (uint32_t i = 0; i < strings->n; i++)
	{
		if (!cscan_is_null(strings->nulls, i) &&
			(code == CSCAN_MAX_ENTRIES || !same_string(strings, i, last)))
		{
			code = code_of_string(distinct, strings, i, width, limit);
			if (code == CSCAN_MAX_ENTRIES)
				return;
			last = i;
		}
		/* Nulls before the first string have its code, which is 0. */
		distinct->codes[i] = code == CSCAN_MAX_ENTRIES ? 0 : (uint16_t) code;
		if (mostly_new(distinct, i + 1, &before))
			return;
	}
	distinct->complete = true;
}
