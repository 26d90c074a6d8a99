/*-------------------------------------------------------------------------
 *
 * test_numbering.c
 *		Strings as integers: equal ones have one number, which gives the first
 *		of them back.
 *
 *-------------------------------------------------------------------------
 */
#include "harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DIFFERENT	500

void
test_numbering(void)
{
	Random		random = beginning();
	CScanNumbering numbering;
	static char strings[DIFFERENT][40];
	uint32_t	lengths[DIFFERENT];
	int64_t		numbers[DIFFERENT];
	bool		known[DIFFERENT] = {false};
	bool		right = true;
	bool		negative = true;
	char		room[CSCAN_SHORT_STRING];

	cscan_numbering_begin(&numbering, &memory);
	for (int i = 0; i < DIFFERENT; i++)
		lengths[i] = (uint32_t) snprintf(strings[i], sizeof(strings[i]), "%*d", 3 + i % 30, i);
	for (uint64_t r = 0; r < rounds(); r++)
	{
		uint32_t	i = random_below(&random, DIFFERENT);
		bool		is_short = lengths[i] <= CSCAN_SHORT_STRING;
		bool		may_add = r < rounds() / 2;
		uint32_t	length;
		int64_t		number;
		const char *bytes;

		number = is_short ? cscan_numbering_short(strings[i], lengths[i]) :
			cscan_numbering_number(&numbering, strings[i], lengths[i], may_add);
		if (!may_add && !known[i] && !is_short)
		{
			negative &= number < 0;
			continue;
		}
		right &= !known[i] || number == numbers[i];
		known[i] = true;
		numbers[i] = number;
		bytes = cscan_numbering_string(&numbering, number, room, &length);
		right &= length == lengths[i] && memcmp(bytes, strings[i], length) == 0;
	}
	for (int i = 0; i < DIFFERENT; i++)
	{
		for (int j = 0; j < i; j++)
			right &= !known[i] || !known[j] || numbers[i] != numbers[j];
	}
	ok(right, "equal strings have one number, and different ones different numbers");
	ok(negative, "without room new ones have negative numbers");
	cscan_numbering_clear(&numbering);
	is_int(numbering.n, 0, "all can be forgotten");
	free(numbering.entries);
	free(numbering.buckets);
	free(numbering.bytes);
}
