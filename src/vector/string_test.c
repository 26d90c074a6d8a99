/*-------------------------------------------------------------------------
 *
 * string_test.c
 *		Conditions on strings, byte by byte (string_test.h).
 *
 *-------------------------------------------------------------------------
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE				/* memmem */
#endif

#include "string_test.h"

#include <stdlib.h>
#include <string.h>

/* By length first: most strings that differ do so in that. */
static int
compare(const void *a, const void *b)
{
	const CScanString *x = a;
	const CScanString *y = b;

	if (x->length != y->length)
		return x->length < y->length ? -1 : 1;
	return x->length > 0 ? memcmp(x->bytes, y->bytes, x->length) : 0;
}

void
cscan_string_test_set(CScanStringTest *test, CScanString *strings, uint32_t n)
{
	if (n > 1)
		qsort(strings, n, sizeof(CScanString), compare);
	*test = (CScanStringTest) {.kind = CSCAN_STRING_ONE_OF,.strings = strings,.n = n};
}

uint32_t
cscan_string_test_pieces(const char *pattern, uint32_t length)
{
	uint32_t	n = 1;

	for (uint32_t i = 0; i < length; i++)
		n += pattern[i] == '%';
	return n;
}

bool
cscan_string_test_like(CScanStringTest *test, const char *pattern, uint32_t length, CScanString *pieces)
{
	uint32_t	n = 0;
	uint32_t	begin = 0;

	for (uint32_t i = 0; i <= length; i++)
	{
		if (i < length && (pattern[i] == '_' || pattern[i] == '\\'))
			return false;
		if (i < length && pattern[i] != '%')
			continue;
		if (i > begin)
			pieces[n++] = (CScanString) {pattern + begin, i - begin};
		begin = i + 1;
	}
	*test = (CScanStringTest) {.kind = CSCAN_STRING_LIKE,.strings = pieces,.n = n,
			.from_begin = length == 0 || pattern[0] != '%',.to_end = length == 0 || pattern[length - 1] != '%'};
	return true;
}

bool
cscan_string_test_may_pass(const CScanStringTest *test, uint32_t length)
{
	uint32_t	least = 0;

	for (uint32_t i = 0; i < test->n; i++)
	{
		if (test->kind == CSCAN_STRING_ONE_OF && test->strings[i].length == length)
			return true;
		least += test->strings[i].length;
	}
	return test->kind == CSCAN_STRING_LIKE && length >= least;
}

static inline bool
is_same(const CScanString *string, const char *bytes, uint32_t length)
{
	return string->length == length && memcmp(string->bytes, bytes, length) == 0;
}

static bool
is_one_of(const CScanStringTest *test, const char *bytes, uint32_t length)
{
	CScanString wanted = {bytes, length};

	if (test->n == 1)
		return is_same(test->strings, bytes, length);
	return test->n > 0 && bsearch(&wanted, test->strings, test->n, sizeof(CScanString), compare) != NULL;
}

/* Pieces in the middle are where they are found first. */
static bool
is_like(const CScanStringTest *test, const char *bytes, uint32_t length)
{
	const CScanString *piece = test->strings;
	const CScanString *end = piece + test->n;
	const char *last = bytes + length;

	if (piece == end)
		return length == 0 || !test->from_begin;
	if (test->from_begin && test->to_end && piece + 1 == end)
		return is_same(piece, bytes, length);
	if (test->from_begin)
	{
		if (piece->length > length || memcmp(piece->bytes, bytes, piece->length) != 0)
			return false;
		bytes += piece->length;
		piece++;
	}
	if (test->to_end)
	{
		end--;
		if (end->length > (size_t) (last - bytes) || memcmp(end->bytes, last - end->length, end->length) != 0)
			return false;
		last -= end->length;
	}
	for (; piece < end; piece++)
	{
		const char *found = memmem(bytes, (size_t) (last - bytes), piece->bytes, piece->length);

		if (found == NULL)
			return false;
		bytes = found + piece->length;
	}
	return true;
}

bool
cscan_string_test_passes(const CScanStringTest *test, const char *bytes, uint32_t length)
{
	return test->kind == CSCAN_STRING_ONE_OF ? is_one_of(test, bytes, length) : is_like(test, bytes, length);
}
