/*-------------------------------------------------------------------------
 *
 * test_random.c
 *		Random columns there and back, by seed.
 *
 * What a column is like is random, too: its range, step and runs, whether it
 * rises, whether its values are drawn from a few, and how its nulls lie.  So
 * all encodings occur; the last test counts them.
 *
 *-------------------------------------------------------------------------
 */
#include "harness.h"

static uint32_t
random_count(Random *random)
{
	switch (random_below(random, 4))
	{
		case 0:
			return random_below(random, 40);
		case 1:
			return 1000 + random_below(random, 50);
		case 2:
			return random_below(random, 3) * 1024 + random_below(random, 3);
		default:
			return random_below(random, 6000);
	}
}

static void
random_nulls(Column *column, Random *random)
{
	uint32_t	n = column->input.nvalues;
	uint32_t	share = random_below(random, 101);
	uint32_t	mean = 1 + random_below(random, 500);
	bool		null = false;

	if (random_chance(random, 40))
		return;
	for (uint32_t i = 0; i < n; i++)
	{
		if (random_below(random, mean) == 0)
			null = random_chance(random, share);
		if (!null)
			continue;
		column_set_null(column, i);
		if (column->integers != NULL)
			column->integers[i] = (int64_t) random_next(random);
	}
}

static Column *
random_integers(Random *random)
{
	uint32_t	n = random_count(random);
	Column	   *column = column_create(CSCAN_COLUMN_INTEGERS, n);
	unsigned	shift = random_below(random, 64);
	uint64_t	base = random_next(random) >> random_below(random, 64);
	uint64_t	step = random_chance(random, 50) ? 1 : 1 + (random_next(random) >> random_below(random, 64));
	uint32_t	repeat = random_chance(random, 50) ? 0 : random_below(random, 101);
	uint32_t	few = random_chance(random, 60) ? 0 : 1 + random_below(random, 300);
	uint32_t	outliers = random_chance(random, 80) ? 0 : random_below(random, 4);
	bool		rising = random_chance(random, 30);
	uint64_t	value = base;

	for (uint32_t i = 0; i < n; i++)
	{
		uint64_t	number = random_next(random) >> shift;

		if (few > 0)
		{
			Random		entry = {number % few};

			number = random_next(&entry) >> shift;
		}
		if (i == 0 || !random_chance(random, repeat))
			value = (rising ? value : base) + number * step;
		column->integers[i] = random_chance(random, outliers) ? (int64_t) random_next(random) : (int64_t) value;
	}
	random_nulls(column, random);
	return column;
}

static Column *
random_strings(Random *random)
{
	uint32_t	n = random_count(random);
	Column	   *column = column_create(CSCAN_COLUMN_STRINGS, n);
	uint32_t	longest = random_chance(random, 10) ? 5000 : 1 + random_below(random, 60);
	uint32_t	shortest = random_chance(random, 30) ? longest : random_below(random, longest + 1);
	uint32_t	few = random_chance(random, 60) ? 0 : 1 + random_below(random, 300);
	uint32_t	letters = 1 + random_below(random, random_chance(random, 50) ? 4 : 256);
	uint32_t	repeat = random_chance(random, 70) ? 0 : random_below(random, 101);
	uint8_t		bytes[5000];
	uint32_t	length = 0;

	column->input.codec = random_below(random, 3) == 0 ? CSCAN_ENCODING_NONE :
		random_chance(random, 50) ? CSCAN_ENCODING_LZ4 : CSCAN_ENCODING_ZSTD;
	random_nulls(column, random);
	for (uint32_t i = 0; i < n; i++)
	{
		Random		entry = {few > 0 ? random_below(random, few) : random_next(random)};

		if (cscan_is_null(column->nulls, i))
			continue;
		if (i == 0 || !random_chance(random, repeat))
		{
			length = shortest + random_below(&entry, longest - shortest + 1);
			for (uint32_t b = 0; b < length; b++)
				bytes[b] = (uint8_t) random_below(&entry, letters);
		}
		column_set_string(column, i, bytes, length);
	}
	return column;
}

void
test_random(void)
{
	uint64_t	rounds = setting("ROUNDS", 2000);
	uint64_t	seed = setting("SEED", 0);
	uint32_t	counts[2][CSCAN_NENCODINGS] = {{0}};
	bool		all = true;

	for (int kind = 0; kind < 2; kind++)
	{
		const char *wrong = NULL;

		for (uint64_t r = 0; r < rounds && wrong == NULL; r++)
		{
			Random		random = {seed * 1000003 + r};
			Column	   *column = kind == CSCAN_COLUMN_INTEGERS ? random_integers(&random) : random_strings(&random);
			CScanEncoding encoding;
			size_t		size;

			wrong = there_and_back(column, &encoding, &size);
			counts[kind][encoding]++;
			if (wrong != NULL)
				note("round %llu, %u values, %s: %s", (unsigned long long) r, column->input.nvalues,
					 encoding_name(encoding), wrong);
			column_free(column);
		}
		ok(wrong == NULL, "%llu random columns of %s", (unsigned long long) rounds, kind == 0 ? "integers" : "strings");
		for (int e = 0; e < CSCAN_NENCODINGS; e++)
		{
			bool		of_strings = e == CSCAN_ENCODING_LZ4 || e == CSCAN_ENCODING_ZSTD;
			bool		of_integers = e == CSCAN_ENCODING_FRAME || e == CSCAN_ENCODING_DELTA || e == CSCAN_ENCODING_RUN_LENGTH;

			if (counts[kind][e] > 0)
				note("%s: %u", encoding_name((CScanEncoding) e), counts[kind][e]);
			if (of_strings ? kind == 1 : of_integers ? kind == 0 : true)
				all &= counts[kind][e] > 0;
		}
	}
	ok(all, "each encoding occurs");
}
