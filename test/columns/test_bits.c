/*-------------------------------------------------------------------------
 *
 * test_bits.c
 *		Packing: each width, each number of values, each row by itself.
 *
 *-------------------------------------------------------------------------
 */
#include "harness.h"

#include <stdlib.h>

#include "bits.h"

/* Pack n numbers of a width, and unpack all rows, and each by itself. */
static bool
packs(Random *random, uint32_t n, unsigned width, int64_t base)
{
	size_t		size = cscan_bits_size(n, width);
	uint32_t	rows = cscan_bits_rows(n);
	int64_t    *numbers = malloc(n * sizeof(int64_t));
	int64_t    *got = malloc(rows * CSCAN_LANES * sizeof(int64_t));
	uint8_t    *packed = malloc(size + 1);
	bool		same = true;

	for (uint32_t i = 0; i < n; i++)
	{
		uint64_t	number = width == 0 ? 0 : random_next(random) >> (64 - width);

		numbers[i] = (int64_t) ((uint64_t) base + number);
	}
	cscan_bits_pack(numbers, n, base, width, packed + 1);
	cscan_bits_unpack(packed + 1, 0, rows, base, width, got);
	same = memcmp(numbers, got, n * sizeof(int64_t)) == 0;
	for (uint32_t r = 0; r < rows; r++)
	{
		int64_t		row[CSCAN_LANES];

		cscan_bits_unpack(packed + 1, r, 1, base, width, row);
		same &= memcmp(row, got + r * CSCAN_LANES, sizeof(row)) == 0;
	}
	free(numbers);
	free(got);
	free(packed);
	return same;
}

void
test_bits(void)
{
	static const uint32_t counts[] = {1, 2, 15, 16, 17, 31, 32, 100, 511, 1000, 1008, 1009, 1023, 1024};
	Random		random = {1};

	for (unsigned width = 0; width <= 64; width++)
	{
		bool		same = true;

		for (size_t c = 0; c < sizeof(counts) / sizeof(counts[0]); c++)
		{
			same &= packs(&random, counts[c], width, 0);
			same &= packs(&random, counts[c], width, INT64_MIN);
			same &= packs(&random, counts[c], width, (int64_t) random_next(&random));
		}
		ok(same, "numbers of %u bits", width);
	}
	ok(cscan_bits_size(1024, 7) == 128 * 7 && cscan_bits_size(0, 64) == 0 && cscan_bits_size(1, 1) == 128,
	   "a full vector takes 128 bytes times the width");
	ok(cscan_bits_width(0) == 0 && cscan_bits_width(1) == 1 && cscan_bits_width(255) == 8 &&
	   cscan_bits_width(256) == 9 && cscan_bits_width(UINT64_MAX) == 64, "widths");
}
