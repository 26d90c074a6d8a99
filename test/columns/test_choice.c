/*-------------------------------------------------------------------------
 *
 * test_choice.c
 *		Each encoding is chosen for the data that it is made for, and takes the
 *		bytes that it should.
 *
 *-------------------------------------------------------------------------
 */
#include "harness.h"

#include <math.h>
#include <stdio.h>

#define N	100000

static Column *
integers(uint32_t n)
{
	return column_create(CSCAN_COLUMN_INTEGERS, n);
}

static void
takes(Column *column, CScanEncoding expected, double bits, const char *name)
{
	uint32_t	n = column->input.nvalues;
	CScanEncoding encoding;
	size_t		size;
	const char *wrong = there_and_back(column, &encoding, &size);

	ok(wrong == NULL && encoding == expected && 8.0 * (double) size / n <= bits, "%s: %s, at most %g bits a value",
	   name, encoding_name(expected), bits);
	note("%s, %g bits a value%s%s", encoding_name(encoding), 8.0 * (double) size / n, wrong == NULL ? "" : ": ",
		 wrong == NULL ? "" : wrong);
	column_free(column);
}

void
test_choice(void)
{
	Random		random = {1};
	Column	   *c = integers(N);

	for (uint32_t i = 0; i < N; i++)
		c->integers[i] = 42;
	takes(c, CSCAN_ENCODING_CONSTANT, 0.01, "one value");

	c = integers(N);
	for (uint32_t i = 0; i < N; i++)
		c->integers[i] = 42;
	column_set_null(c, 77);
	takes(c, CSCAN_ENCODING_CONSTANT, 1.01, "one value, and a null");

	c = integers(N);
	for (uint32_t i = 0; i < N; i++)
		c->integers[i] = 1000000 + random_below(&random, 1000);
	takes(c, CSCAN_ENCODING_FRAME, 10.2, "1,000 values without gaps");

	/* The range of each vector is its own. */
	c = integers(N);
	for (uint32_t i = 0; i < N; i++)
		c->integers[i] = i / 1024 * INT64_C(100000000) + random_below(&random, 1000);
	takes(c, CSCAN_ENCODING_FRAME, 10.2, "values that rise with their vector");

	c = integers(N);
	for (uint32_t i = 0; i < N; i++)
		c->integers[i] = INT64_C(1700000000000000) + random_below(&random, 86400) * INT64_C(1000000);
	takes(c, CSCAN_ENCODING_FRAME, 17.2, "timestamps of whole seconds");

	c = integers(N);
	for (uint32_t i = 1; i < N; i++)
		c->integers[i] = c->integers[i - 1] + 1000 + random_below(&random, 16);
	takes(c, CSCAN_ENCODING_DELTA, 4.3, "a sequence with gaps");

	/* Only modulo 2^64 are the differences small. */
	c = integers(N);
	for (uint32_t i = 0; i < N; i++)
		c->integers[i] = i % 2 == 0 ? INT64_MAX - random_below(&random, 10000) : INT64_MIN + random_below(&random, 10000);
	takes(c, CSCAN_ENCODING_DELTA, 16.3, "alternating extremes");

	c = integers(N);
	for (uint32_t i = 1; i < N; i++)
		c->integers[i] = random_chance(&random, 1) ? (int64_t) random_below(&random, 1 << 30) : c->integers[i - 1];
	takes(c, CSCAN_ENCODING_RUN_LENGTH, 0.6, "runs of 100 values");

	c = integers(N);
	for (uint32_t i = 0; i < N; i++)
	{
		Random		value = {random_below(&random, 200)};

		c->integers[i] = (int64_t) random_next(&value);
	}
	takes(c, CSCAN_ENCODING_DICTIONARY, 8.5, "200 values far apart");

	c = integers(N);
	for (uint32_t i = 0; i < N; i++)
	{
		static const int64_t values[] = {0, 1, 200, 255};

		c->integers[i] = values[random_below(&random, 4)];
	}
	takes(c, CSCAN_ENCODING_DICTIONARY, 2.2, "four small values");

	/* Codes are in runs. */
	c = integers(N);
	for (uint32_t i = 0; i < N; i++)
	{
		Random		value = {i / 50 % 100};

		c->integers[i] = (int64_t) random_next(&value);
	}
	takes(c, CSCAN_ENCODING_DICTIONARY, 0.4, "100 values far apart, in runs of 50");

	c = integers(N);
	for (uint32_t i = 0; i < N; i++)
		c->integers[i] = (int64_t) random_next(&random);
	takes(c, CSCAN_ENCODING_PLAIN, 64.01, "anything");

	c = integers(5);
	for (uint32_t i = 0; i < 5; i++)
		c->integers[i] = 1000 + random_below(&random, 200);
	takes(c, CSCAN_ENCODING_PLAIN, 8 * (40 + 24 + 5) / 5.0, "five values");

	/* Floats: the same few ones, and zeros of both signs. */
	c = integers(N);
	for (uint32_t i = 0; i < N; i++)
	{
		static const double values[] = {0.0, -0.0, 1.5, 3.14159, 1e300, -1e-300, INFINITY, 0.1};

		memcpy(&c->integers[i], &values[random_below(&random, 8)], 8);
	}
	takes(c, CSCAN_ENCODING_DICTIONARY, 3.2, "eight floats");

	c = column_create(CSCAN_COLUMN_STRINGS, N);
	for (uint32_t i = 0; i < N; i++)
		column_set_string(c, i, &"RAN"[random_below(&random, 3)], 1);
	takes(c, CSCAN_ENCODING_DICTIONARY, 2.2, "three strings");

	c = column_create(CSCAN_COLUMN_STRINGS, N);
	for (uint32_t i = 0; i < N; i++)
		column_set_string(c, i, &"ON"[i > N / 2], 1);
	takes(c, CSCAN_ENCODING_DICTIONARY, 0.12, "two strings in two runs");

	c = column_create(CSCAN_COLUMN_STRINGS, N);
	for (uint32_t i = 0; i < N; i++)
	{
		uint64_t	uuid[2] = {random_next(&random), random_next(&random)};

		column_set_string(c, i, uuid, sizeof(uuid));
	}
	takes(c, CSCAN_ENCODING_PLAIN, 128.1, "uuids");
}
