/*-------------------------------------------------------------------------
 *
 * run.c
 *		See run.h.
 *
 *-------------------------------------------------------------------------
 */
#include "run.h"

/* ------------------------------------------------------------------
 * Writing
 * ------------------------------------------------------------------ */

static CScanStrings
strings_of(const CScanColumnInput *input)
{
	CScanStrings strings = {input->nvalues, input->strings, input->lengths, input->nulls};

	return strings;
}

size_t
cscan_column_memory(const CScanColumnInput *input)
{
	CScanStrings strings = strings_of(input);

	if (input->nvalues > CSCAN_COLUMN_MAX_VALUES)
		return 0;
	if (input->kind == CSCAN_COLUMN_INTEGERS)
		return cscan_distinct_size(input->nvalues);
	return cscan_strings_memory(&strings, input->codec);
}

/* The bytes of a null bitmap of n rows. */
static size_t
nulls_size(const CScanColumnHeader *header)
{
	if (header->nnulls == 0 || header->nnulls == header->nvalues)
		return 0;
	return ((size_t) header->nvalues + 63) / 64 * 8;
}

void
cscan_column_plan(CScanColumnPlan *plan, const CScanColumnInput *input, void *memory)
{
	CScanColumnHeader *header = &plan->header;
	CScanStrings strings = strings_of(input);
	const CScanSource *source;

	memset(plan, 0, sizeof(*plan));
	plan->input = *input;
	header->version = CSCAN_COLUMN_VERSION;
	header->kind = (uint8_t) input->kind;
	header->nvalues = input->nvalues;
	header->nnulls = cscan_count_nulls(input->nulls, input->nvalues);
	plan->size = sizeof(*header);
	if (header->nnulls == 0)
		plan->input.nulls = strings.nulls = NULL;
	if (header->nnulls < header->nvalues)
	{
		plan->size += nulls_size(header);
		if (input->kind == CSCAN_COLUMN_INTEGERS)
		{
			cscan_integers_plan(&plan->integers, input->integers, input->nvalues, strings.nulls, memory);
			header->encoding = (uint8_t) plan->integers.encoding;
			header->ndistinct = plan->integers.ndistinct;
			plan->size += plan->integers.size;
			source = &plan->integers.series.source;
		}
		else
		{
			cscan_strings_plan(&plan->strings, &strings, input->codec, memory);
			header->encoding = (uint8_t) plan->strings.encoding;
			header->ndistinct = plan->strings.ndistinct;
			plan->size += plan->strings.size;
			source = &plan->strings.lengths.source;
		}
		header->minimum = source->minimum;
		header->maximum = source->maximum;
	}
	header->size = (uint32_t) plan->size;
}

/* Write a null bitmap, without the bits behind its end. */
static uint8_t *
write_nulls(const uint64_t *nulls, uint32_t n, uint8_t *out)
{
	for (uint32_t w = 0; w < n / 64; w++)
		out = cscan_put_u64(out, nulls[w]);
	if (n % 64 > 0)
		out = cscan_put_u64(out, nulls[n / 64] & (UINT64_MAX >> (64 - n % 64)));
	return out;
}

void
cscan_column_write(const CScanColumnPlan *plan, void *out)
{
	const CScanColumnHeader *header = &plan->header;
	uint8_t    *at = out;

	memcpy(at, header, sizeof(*header));
	at += sizeof(*header);
	if (header->encoding == CSCAN_ENCODING_NONE)
		return;
	if (nulls_size(header) > 0)
		at = write_nulls(plan->input.nulls, header->nvalues, at);
	if (header->kind == CSCAN_COLUMN_INTEGERS)
		cscan_integers_write(&plan->integers, at);
	else
		cscan_strings_write(&plan->strings, at);
}

/* ------------------------------------------------------------------
 * Opening
 * ------------------------------------------------------------------ */

/* Is a header possible?  Whether the body fits to it is seen there. */
static bool
check_header(const CScanColumnHeader *header, const uint8_t *bytes, CScanDamage *damage)
{
	uint32_t	filled = header->nvalues - header->nnulls;

#define CHECK(condition, field) \
	if (!(condition)) \
		return cscan_damaged(damage, CSCAN_DAMAGE_HEADER, bytes, bytes + offsetof(CScanColumnHeader, field))

	CHECK(header->kind == CSCAN_COLUMN_INTEGERS || header->kind == CSCAN_COLUMN_STRINGS, kind);
	CHECK(header->zero == 0, zero);
	CHECK(header->zeros == 0, zeros);
	CHECK(header->nvalues <= CSCAN_COLUMN_MAX_VALUES, nvalues);
	CHECK(header->nnulls <= header->nvalues, nnulls);
	CHECK(header->ndistinct <= filled, ndistinct);
	CHECK(header->minimum <= header->maximum, minimum);
	CHECK(header->kind == CSCAN_COLUMN_INTEGERS || header->minimum >= 0, minimum);
	CHECK(header->kind == CSCAN_COLUMN_INTEGERS || header->maximum <= CSCAN_COLUMN_MAX_BYTES, maximum);
	CHECK((header->encoding == CSCAN_ENCODING_NONE) == (filled == 0), encoding);
#undef CHECK
	return true;
}

/* A bitmap has as many nulls as the header says, and no bit behind its end. */
static bool
open_nulls(CScanColumnRun *run, CScanCursor *cursor)
{
	const CScanColumnHeader *header = &run->header;
	size_t		size = nulls_size(header);
	uint32_t	count = 0;

	if (size == 0)
		return true;
	run->nulls = cscan_cursor_take(cursor, size);
	if (run->nulls == NULL)
		return false;
	for (size_t w = 0; w < size; w += 8)
		count += (uint32_t) __builtin_popcountll(cscan_get_u64(run->nulls + w));
	if (count != header->nnulls ||
		(header->nvalues % 64 > 0 && cscan_get_u64(run->nulls + size - 8) >> (header->nvalues % 64) != 0))
		return cscan_damaged(cursor->damage, CSCAN_DAMAGE_NULLS, cursor->run, run->nulls);
	return true;
}

static bool
open_body(CScanColumnRun *run, CScanCursor *cursor)
{
	CScanEncoding encoding = run->header.encoding;
	uint32_t	n = run->header.nvalues;

	if (encoding == CSCAN_ENCODING_NONE)
		return true;
	if (run->header.kind == CSCAN_COLUMN_INTEGERS)
		return cscan_integers_open(&run->integers, encoding, n, cursor);
	if (!cscan_strings_open(&run->strings, encoding, n, cursor))
		return false;
	run->scratch_size = run->strings.scratch_size;
	return true;
}

bool
cscan_column_open(CScanColumnRun *run, const void *bytes, size_t size, CScanDamage *damage)
{
	CScanCursor cursor = {bytes, bytes, size, damage};
	const uint8_t *head = cscan_cursor_take(&cursor, sizeof(CScanColumnHeader));

	memset(run, 0, sizeof(*run));
	if (head == NULL)
		return false;
	memcpy(&run->header, head, sizeof(run->header));
	if (run->header.version != CSCAN_COLUMN_VERSION)
		return cscan_damaged(damage, CSCAN_DAMAGE_VERSION, bytes, head);
	if (run->header.size != size)
		return cscan_damaged(damage, CSCAN_DAMAGE_SIZE, bytes, head + offsetof(CScanColumnHeader, size));
	if (!check_header(&run->header, head, damage) || !open_nulls(run, &cursor) || !open_body(run, &cursor))
		return false;
	return cursor.left == 0 || cscan_damaged(damage, CSCAN_DAMAGE_SIZE, bytes, cursor.at);
}

void
cscan_column_use_scratch(CScanColumnRun *run, void *scratch)
{
	run->strings.scratch = scratch;
	run->strings.in_scratch = run->strings.nframes;
}

/* ------------------------------------------------------------------
 * Decoding
 * ------------------------------------------------------------------ */

uint32_t
cscan_column_nulls(const CScanColumnRun *run, uint32_t vector, uint64_t nulls[CSCAN_NULL_WORDS])
{
	uint32_t	n = cscan_column_values(run, vector);
	size_t		size = (n + 63) / 64 * 8;

	memset(nulls, 0, CSCAN_NULL_WORDS * 8);
	if (run->nulls != NULL)
		memcpy(nulls, run->nulls + (size_t) vector * CSCAN_NULL_WORDS * 8, size);
	else if (run->header.encoding == CSCAN_ENCODING_NONE)
	{
		memset(nulls, 0xff, size);
		if (n % 64 > 0)
			nulls[n / 64] = UINT64_MAX >> (64 - n % 64);
	}
	return cscan_count_nulls(nulls, n);
}

bool
cscan_column_integers(const CScanColumnRun *run, uint32_t vector, int64_t *values, CScanDamage *damage)
{
	if (run->header.encoding != CSCAN_ENCODING_NONE)
		return cscan_integers_read(&run->integers, vector, values, damage);
	memset(values, 0, cscan_column_values(run, vector) * sizeof(int64_t));
	return true;
}

bool
cscan_column_strings(CScanColumnRun *run, uint32_t vector, const uint8_t **strings, uint32_t *lengths,
					 CScanDamage *damage)
{
	uint64_t	nulls[CSCAN_NULL_WORDS];
	uint32_t	n = cscan_column_values(run, vector);

	if (run->header.encoding == CSCAN_ENCODING_NONE)
	{
		for (uint32_t i = 0; i < n; i++)
		{
			strings[i] = (const uint8_t *) "";
			lengths[i] = 0;
		}
		return true;
	}
	if (run->nulls == NULL || cscan_column_nulls(run, vector, nulls) == 0)
		return cscan_strings_read(&run->strings, vector, NULL, strings, lengths, damage);
	return cscan_strings_read(&run->strings, vector, nulls, strings, lengths, damage);
}

static const CScanDictionary *
dictionary_of(const CScanColumnRun *run)
{
	return run->header.kind == CSCAN_COLUMN_INTEGERS ? &run->integers.dictionary : &run->strings.dictionary;
}

uint32_t
cscan_column_nentries(const CScanColumnRun *run)
{
	return dictionary_of(run)->nentries;
}

bool
cscan_column_codes(const CScanColumnRun *run, uint32_t vector, int64_t *codes, CScanDamage *damage)
{
	return cscan_dictionary_codes(dictionary_of(run), vector, codes, damage);
}

void
cscan_column_integer_entries(const CScanColumnRun *run, const int64_t *codes, uint32_t n, int64_t *values)
{
	cscan_dictionary_integers(dictionary_of(run), codes, n, values);
}

void
cscan_column_string_entries(const CScanColumnRun *run, const int64_t *codes, uint32_t n,
							const uint8_t **strings, uint32_t *lengths)
{
	cscan_dictionary_strings(dictionary_of(run), codes, n, strings, lengths);
}
