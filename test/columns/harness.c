/*-------------------------------------------------------------------------
 *
 * harness.c
 *		See harness.h.
 *
 *-------------------------------------------------------------------------
 */
#include "harness.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "codec.h"

/* ------------------------------------------------------------------
 * Columns
 * ------------------------------------------------------------------ */

Column *
column_create(CScanColumnKind kind, uint32_t n)
{
	Column	   *column = zeroed(1, sizeof(*column));

	column->input.kind = kind;
	column->input.nvalues = n;
	if (kind == CSCAN_COLUMN_INTEGERS)
		column->input.integers = column->integers = zeroed(n, sizeof(int64_t));
	else
	{
		column->strings = zeroed(n, sizeof(void *));
		column->input.strings = (const void *const *) column->strings;
		column->input.lengths = column->lengths = zeroed(n, sizeof(uint32_t));
		column->input.codec = some_codec();
	}
	return column;
}

void
column_set_string(Column *column, uint32_t row, const void *bytes, uint32_t length)
{
	free(column->strings[row]);
	column->strings[row] = NULL;
	column->lengths[row] = length;
	if (length == 0)
		return;
	column->strings[row] = zeroed(1, length);
	memcpy(column->strings[row], bytes, length);
}

void
column_set_null(Column *column, uint32_t row)
{
	if (column->nulls == NULL)
		column->input.nulls = column->nulls = zeroed((column->input.nvalues + 63) / 64, 8);
	column->nulls[row / 64] |= UINT64_C(1) << (row % 64);
}

void
column_free(Column *column)
{
	for (uint32_t i = 0; column->strings != NULL && i < column->input.nvalues; i++)
		free(column->strings[i]);
	free(column->strings);
	free(column->lengths);
	free(column->integers);
	free(column->nulls);
	free(column);
}

const char *
encoding_name(CScanEncoding encoding)
{
	static const char *const names[CSCAN_NENCODINGS] = {
		"none", "constant", "plain", "frame", "delta", "run length", "dictionary", "lz4", "zstd"
	};

	return names[encoding];
}

CScanEncoding
some_codec(void)
{
	return cscan_codec_known(CSCAN_ENCODING_ZSTD) ? CSCAN_ENCODING_ZSTD :
		cscan_codec_known(CSCAN_ENCODING_LZ4) ? CSCAN_ENCODING_LZ4 : CSCAN_ENCODING_NONE;
}

/* ------------------------------------------------------------------
 * There
 * ------------------------------------------------------------------ */

static Written
write_over(const Column *column, int rubbish)
{
	Written		written;
	size_t		size = cscan_column_memory(&column->input);
	void	   *memory = malloc(size);

	if (size == 0 || memory == NULL)
		abort();
	memset(memory, rubbish, size);
	cscan_column_plan(&written.plan, &column->input, memory);
	written.size = written.plan.size;
	written.bytes = malloc(written.size);
	memset(written.bytes, rubbish, written.size);
	cscan_column_write(&written.plan, written.bytes);
	free(memory);
	return written;
}

Written
write_column(const Column *column)
{
	return write_over(column, 0xa5);
}

/* ------------------------------------------------------------------
 * And back
 * ------------------------------------------------------------------ */

static bool
is_null(const Column *column, uint32_t row)
{
	return cscan_is_null(column->nulls, row);
}

static int
compare_integers(const void *a, const void *b)
{
	int64_t		x = *(const int64_t *) a;
	int64_t		y = *(const int64_t *) b;

	return x < y ? -1 : x > y;
}

/* The header against the column. */
static const char *
check_header(const Column *column, const CScanColumnHeader *header)
{
	const CScanColumnInput *input = &column->input;
	int64_t    *sorted = zeroed(input->nvalues + 1, sizeof(int64_t));
	uint32_t	filled = 0;
	uint32_t	distinct = 0;
	const char *wrong = NULL;

	for (uint32_t i = 0; i < input->nvalues; i++)
	{
		if (!is_null(column, i))
			sorted[filled++] = input->kind == CSCAN_COLUMN_INTEGERS ? column->integers[i] : column->lengths[i];
	}
	qsort(sorted, filled, sizeof(int64_t), compare_integers);
	for (uint32_t i = 0; i < filled; i++)
		distinct += i == 0 || sorted[i] != sorted[i - 1];
	if (header->nvalues != input->nvalues || header->nnulls != input->nvalues - filled)
		wrong = "counts";
	else if (filled > 0 && (header->minimum != sorted[0] || header->maximum != sorted[filled - 1]))
		wrong = "minimum or maximum";
	else if (input->kind == CSCAN_COLUMN_INTEGERS && header->ndistinct != 0 && header->ndistinct != distinct)
		wrong = "number of distinct values";
	free(sorted);
	return wrong;
}

static const char *
check_nulls(const Column *column, const CScanColumnRun *run, uint32_t vector)
{
	uint64_t	nulls[CSCAN_NULL_WORDS];
	uint32_t	count = 0;

	if (cscan_column_nulls(run, vector, nulls) != cscan_count_nulls(nulls, CSCAN_VECTOR))
		return "count of nulls";
	for (uint32_t i = 0; i < cscan_column_values(run, vector); i++)
	{
		count += is_null(column, vector * CSCAN_VECTOR + i);
		if (is_null(column, vector * CSCAN_VECTOR + i) != cscan_is_null(nulls, i))
			return "nulls";
	}
	return count == cscan_count_nulls(nulls, CSCAN_VECTOR) ? NULL : "nulls behind the end";
}

static const char *
compare_integer_vector(const Column *column, uint32_t vector, uint32_t n, const int64_t *values)
{
	for (uint32_t i = 0; i < n; i++)
	{
		uint32_t	row = vector * CSCAN_VECTOR + i;

		if (!is_null(column, row) && values[i] != column->integers[row])
			return "an integer";
	}
	return NULL;
}

static const char *
compare_string_vector(const Column *column, uint32_t vector, uint32_t n, const uint8_t **strings,
					  const uint32_t *lengths, bool nulls_are_empty)
{
	for (uint32_t i = 0; i < n; i++)
	{
		uint32_t	row = vector * CSCAN_VECTOR + i;

		if (is_null(column, row))
		{
			if (nulls_are_empty && lengths[i] != 0)
				return "a null has a length";
		}
		else if (lengths[i] != column->lengths[row])
			return "a length";
		else if (lengths[i] > 0 && memcmp(strings[i], column->strings[row], lengths[i]) != 0)
			return "a string";
	}
	return NULL;
}

/* Arrays of exactly a vector. */
typedef struct Arrays
{
	int64_t    *integers;
	const uint8_t **strings;
	uint32_t   *lengths;
} Arrays;

/* Codes and entries give the same as values. */
static const char *
check_codes(const Column *column, CScanColumnRun *run, uint32_t vector, Arrays *arrays)
{
	uint32_t	n = cscan_column_values(run, vector);
	CScanDamage damage;

	if (cscan_column_nentries(run) == 0)
		return NULL;
	if (!cscan_column_codes(run, vector, arrays->integers, &damage))
		return "codes cannot be decoded";
	for (uint32_t i = 0; i < n; i++)
	{
		if (arrays->integers[i] < 0 || arrays->integers[i] >= cscan_column_nentries(run))
			return "a code";
	}
	if (column->input.kind == CSCAN_COLUMN_INTEGERS)
	{
		cscan_column_integer_entries(run, arrays->integers, n, arrays->integers);
		return compare_integer_vector(column, vector, n, arrays->integers);
	}
	cscan_column_string_entries(run, arrays->integers, n, arrays->strings, arrays->lengths);
	return compare_string_vector(column, vector, n, arrays->strings, arrays->lengths, false);
}

static const char *
check_vector(const Column *column, CScanColumnRun *run, uint32_t vector, Arrays *arrays)
{
	uint32_t	n = cscan_column_values(run, vector);
	const char *wrong = check_nulls(column, run, vector);
	CScanDamage damage;

	if (wrong != NULL)
		return wrong;
	if (column->input.kind == CSCAN_COLUMN_INTEGERS)
	{
		if (!cscan_column_integers(run, vector, arrays->integers, &damage))
			return "integers cannot be decoded";
		wrong = compare_integer_vector(column, vector, n, arrays->integers);
	}
	else
	{
		if (!cscan_column_strings(run, vector, arrays->strings, arrays->lengths, &damage))
			return "strings cannot be decoded";
		wrong = compare_string_vector(column, vector, n, arrays->strings, arrays->lengths, true);
	}
	return wrong != NULL ? wrong : check_codes(column, run, vector, arrays);
}

/* All vectors in order, then as many at random. */
static const char *
check_run(const Column *column, const uint8_t *bytes, size_t size)
{
	CScanColumnRun run;
	CScanDamage damage;
	Random		random = {size};
	Arrays		arrays;
	void	   *scratch;
	const char *wrong = NULL;
	uint32_t	nvectors;

	if (!cscan_column_open(&run, bytes, size, &damage))
		return "it cannot be opened";
	nvectors = cscan_column_vectors(&run);
	scratch = malloc(run.scratch_size);
	cscan_column_use_scratch(&run, scratch);
	arrays.integers = malloc(CSCAN_VECTOR * sizeof(int64_t));
	arrays.strings = malloc(CSCAN_VECTOR * sizeof(uint8_t *));
	arrays.lengths = malloc(CSCAN_VECTOR * sizeof(uint32_t));
	for (uint32_t v = 0; v < 2 * nvectors && wrong == NULL; v++)
		wrong = check_vector(column, &run, v < nvectors ? v : random_below(&random, nvectors), &arrays);
	free(arrays.integers);
	free(arrays.strings);
	free(arrays.lengths);
	free(scratch);
	return wrong;
}

const char *
there_and_back(const Column *column, CScanEncoding *encoding, size_t *size)
{
	Written		written = write_over(column, 0xa5);
	Written		again = write_over(column, 0x5a);
	uint8_t    *odd = malloc(written.size + 1);
	const char *wrong;

	*encoding = written.plan.header.encoding;
	*size = written.size;
	wrong = check_header(column, &written.plan.header);
	if (written.size != again.size || memcmp(written.bytes, again.bytes, again.size) != 0)
		wrong = "it differs when written again";
	if (wrong == NULL)
		wrong = check_run(column, written.bytes, written.size);
	memcpy(odd + 1, written.bytes, written.size);
	if (wrong == NULL && check_run(column, odd + 1, written.size) != NULL)
		wrong = "it cannot be read at an odd address";
	free(written.bytes);
	free(again.bytes);
	free(odd);
	return wrong;
}

bool
round_trip(Column *column, int expected, const char *fmt,...)
{
	CScanEncoding encoding;
	size_t		size;
	const char *wrong = there_and_back(column, &encoding, &size);
	char		name[200];
	va_list		args;

	va_start(args, fmt);
	vsnprintf(name, sizeof(name), fmt, args);
	va_end(args);
	ok(wrong == NULL && (expected < 0 || encoding == (CScanEncoding) expected), "%s", name);
	if (wrong != NULL)
		note("%s: %s", encoding_name(encoding), wrong);
	else if (expected >= 0 && encoding != (CScanEncoding) expected)
		note("got %s, expected %s", encoding_name(encoding), encoding_name(expected));
	column_free(column);
	return wrong == NULL;
}
