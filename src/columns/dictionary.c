/*-------------------------------------------------------------------------
 *
 * dictionary.c
 *		See dictionary.h.
 *
 *-------------------------------------------------------------------------
 */
#include "dictionary.h"

/* Base and step, behind the head of a dictionary of integers. */
#define GRID	16

size_t
cscan_dictionary_integers_size(const CScanDistinct *distinct, unsigned width)
{
	return CSCAN_DICTIONARY_HEAD + GRID + (size_t) distinct->count * width;
}

size_t
cscan_dictionary_strings_size(const CScanDistinct *distinct)
{
	return CSCAN_DICTIONARY_HEAD + ((size_t) distinct->count + 1) * cscan_entry_bytes(distinct->bytes) +
		distinct->bytes;
}

void
cscan_dictionary_plan_codes(CScanSeriesPlan *codes, const CScanDistinct *distinct, uint32_t n)
{
	memset(codes, 0, sizeof(*codes));
	codes->source.n = n;
	codes->source.codes = distinct->codes;
	cscan_source_measure(&codes->source, false);
	cscan_series_plan(codes);
}

static uint8_t *
write_head(const CScanDistinct *distinct, unsigned width, uint8_t *out)
{
	memset(out, 0, CSCAN_DICTIONARY_HEAD);
	cscan_put_u32(out, distinct->count);
	out[4] = (uint8_t) width;
	return out + CSCAN_DICTIONARY_HEAD;
}

uint8_t *
cscan_dictionary_write_integers(const CScanDistinct *distinct, const CScanSource *source, unsigned width,
								uint8_t *out)
{
	uint64_t	least = (uint64_t) cscan_source_number(source, source->minimum);

	out = write_head(distinct, width, out);
	out = cscan_put_u64(out, (uint64_t) source->minimum);
	out = cscan_put_u64(out, source->divisor.step);
	for (uint32_t e = 0; e < distinct->count; e++)
		out = cscan_put_entry(out, width, (uint64_t) distinct->numbers[e] - least);
	return out;
}

uint8_t *
cscan_dictionary_write_strings(const CScanDistinct *distinct, const CScanStrings *strings, uint8_t *out)
{
	unsigned	width = cscan_entry_bytes(distinct->bytes);
	uint64_t	place = 0;

	out = write_head(distinct, width, out);
	out = cscan_put_entry(out, width, 0);
	for (uint32_t e = 0; e < distinct->count; e++)
	{
		place += strings->lengths[distinct->rows[e]];
		out = cscan_put_entry(out, width, place);
	}
	for (uint32_t e = 0; e < distinct->count; e++)
	{
		uint32_t	row = distinct->rows[e];

		if (strings->lengths[row] > 0)
			memcpy(out, strings->bytes[row], strings->lengths[row]);
		out += strings->lengths[row];
	}
	return out;
}

/* ------------------------------------------------------------------
 * Reading
 * ------------------------------------------------------------------ */

static bool
open_integers(CScanDictionary *dictionary, CScanCursor *cursor)
{
	const uint8_t *grid = cscan_cursor_take(cursor, GRID);

	if (grid == NULL)
		return false;
	dictionary->base = (int64_t) cscan_get_u64(grid);
	dictionary->step = cscan_get_u64(grid + 8);
	dictionary->entries = cscan_cursor_take(cursor, (size_t) dictionary->nentries * dictionary->width);
	return dictionary->entries != NULL;
}

/* Each string begins where the one before it ends, or nowhere. */
static bool
open_strings(CScanDictionary *dictionary, CScanCursor *cursor)
{
	unsigned	width = dictionary->width;
	uint64_t	place = 0;

	dictionary->entries = cscan_cursor_take(cursor, ((size_t) dictionary->nentries + 1) * width);
	if (dictionary->entries == NULL)
		return false;
	for (uint32_t e = 0; e <= dictionary->nentries; e++)
	{
		uint64_t	next = cscan_get_entry(dictionary->entries, width, e);

		if (next < place || next > CSCAN_COLUMN_MAX_BYTES || (e == 0 && next != 0))
			return cscan_damaged(cursor->damage, CSCAN_DAMAGE_PLACE, cursor->run,
								 dictionary->entries + (size_t) e * width);
		place = next;
	}
	dictionary->bytes = cscan_cursor_take(cursor, place);
	return dictionary->bytes != NULL;
}

bool
cscan_dictionary_open(CScanDictionary *dictionary, CScanColumnKind kind, uint32_t n, CScanCursor *cursor)
{
	const uint8_t *head = cscan_cursor_take(cursor, CSCAN_DICTIONARY_HEAD);
	bool		opened;

	if (head == NULL)
		return false;
	memset(dictionary, 0, sizeof(*dictionary));
	dictionary->n = n;
	dictionary->nentries = cscan_get_u32(head);
	dictionary->width = head[4];
	if (dictionary->nentries == 0 || dictionary->nentries > CSCAN_MAX_ENTRIES || dictionary->nentries > n)
		return cscan_damaged(cursor->damage, CSCAN_DAMAGE_ENTRIES, cursor->run, head);
	if (!cscan_entry_bytes_valid(dictionary->width) ||
		(kind == CSCAN_COLUMN_STRINGS && dictionary->width == 8) ||
		head[5] != 0 || head[6] != 0 || head[7] != 0)
		return cscan_damaged(cursor->damage, CSCAN_DAMAGE_WIDTH, cursor->run, head + 4);
	opened = kind == CSCAN_COLUMN_INTEGERS ? open_integers(dictionary, cursor) : open_strings(dictionary, cursor);
	if (!opened)
		return false;
	return dictionary->nentries == 1 || cscan_series_open(&dictionary->codes, n, cursor);
}

bool
cscan_dictionary_codes(const CScanDictionary *dictionary, uint32_t vector, int64_t *codes,
					   CScanDamage *damage)
{
	uint32_t	n = cscan_vector_values(dictionary->n, vector);
	uint64_t	last = dictionary->nentries - 1;
	uint64_t	signs = 0;

	if (last == 0)
	{
		memset(codes, 0, n * sizeof(int64_t));
		return true;
	}
	if (!cscan_series_read(&dictionary->codes, vector, codes, damage))
		return false;
	/* If one is negative, or more than the last, a sign bit is set. */
	for (uint32_t i = 0; i < n; i++)
		signs |= (uint64_t) codes[i] | (last - (uint64_t) codes[i]);
	if (signs >> 63)
		return cscan_damaged(damage, CSCAN_DAMAGE_CODE, dictionary->codes.run, dictionary->codes.head);
	return true;
}

static inline void
get_integers(const CScanDictionary *dictionary, unsigned width, const int64_t *codes, uint32_t n,
			 int64_t *values)
{
	const uint8_t *entries = dictionary->entries;
	uint64_t	base = (uint64_t) dictionary->base;
	uint64_t	step = dictionary->step;

	for (uint32_t i = 0; i < n; i++)
		values[i] = (int64_t) (base + step * cscan_get_entry(entries, width, (size_t) codes[i]));
}

/* One loop for each width, which the compiler then knows. */
void
cscan_dictionary_integers(const CScanDictionary *dictionary, const int64_t *codes, uint32_t n,
						  int64_t *values)
{
	switch (dictionary->width)
	{
		case 1:
			get_integers(dictionary, 1, codes, n, values);
			break;
		case 2:
			get_integers(dictionary, 2, codes, n, values);
			break;
		case 4:
			get_integers(dictionary, 4, codes, n, values);
			break;
		default:
			get_integers(dictionary, 8, codes, n, values);
			break;
	}
}

static inline void
get_strings(const CScanDictionary *dictionary, unsigned width, const int64_t *codes, uint32_t n,
			const uint8_t **strings, uint32_t *lengths)
{
	const uint8_t *places = dictionary->entries;
	const uint8_t *bytes = dictionary->bytes;

	for (uint32_t i = 0; i < n; i++)
	{
		uint64_t	place = cscan_get_entry(places, width, (size_t) codes[i]);

		strings[i] = bytes + place;
		lengths[i] = (uint32_t) (cscan_get_entry(places, width, (size_t) codes[i] + 1) - place);
	}
}

void
cscan_dictionary_strings(const CScanDictionary *dictionary, const int64_t *codes, uint32_t n,
						 const uint8_t **strings, uint32_t *lengths)
{
	switch (dictionary->width)
	{
		case 1:
			get_strings(dictionary, 1, codes, n, strings, lengths);
			break;
		case 2:
			get_strings(dictionary, 2, codes, n, strings, lengths);
			break;
		default:
			get_strings(dictionary, 4, codes, n, strings, lengths);
			break;
	}
}
