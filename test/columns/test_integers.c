/*-------------------------------------------------------------------------
 *
 * test_integers.c
 *		Integers there and back: the corners.
 *
 *-------------------------------------------------------------------------
 */
#include "harness.h"

/* Numbers of values around vectors and lanes. */
static const uint32_t counts[] = {
	1, 2, 3, 15, 16, 17, 1000, 1007, 1008, 1009, 1023, 1024, 1025, 2047, 2048, 2049, 4096, 10000
};

#define NCOUNTS	(sizeof(counts) / sizeof(counts[0]))

/* Value i of n. */
typedef int64_t (*Generator) (uint32_t i, uint32_t n, Random *random);

static Column *
generate(Generator generator, uint32_t n, uint64_t seed)
{
	Column	   *column = column_create(CSCAN_COLUMN_INTEGERS, n);
	Random		random = {seed};

	for (uint32_t i = 0; i < n; i++)
		column->integers[i] = generator(i, n, &random);
	return column;
}

static int64_t
zero(uint32_t i, uint32_t n, Random *random)
{
	(void) i;
	(void) n;
	(void) random;
	return 0;
}

static int64_t
least(uint32_t i, uint32_t n, Random *random)
{
	(void) i;
	(void) n;
	(void) random;
	return INT64_MIN;
}

static int64_t
ascending(uint32_t i, uint32_t n, Random *random)
{
	(void) n;
	(void) random;
	return i;
}

static int64_t
descending(uint32_t i, uint32_t n, Random *random)
{
	(void) random;
	return (int64_t) n - i;
}

/* Their difference is -1, modulo 2^64. */
static int64_t
extremes(uint32_t i, uint32_t n, Random *random)
{
	(void) n;
	(void) random;
	return i % 2 == 0 ? INT64_MIN : INT64_MAX;
}

static int64_t
three_extremes(uint32_t i, uint32_t n, Random *random)
{
	(void) n;
	(void) random;
	return i % 3 == 0 ? INT64_MIN : i % 3 == 1 ? 0 : INT64_MAX;
}

static int64_t
random_extremes(uint32_t i, uint32_t n, Random *random)
{
	static const int64_t values[] = {INT64_MIN, INT64_MIN + 1, -1, 0, 1, INT64_MAX - 1, INT64_MAX};

	(void) i;
	(void) n;
	return values[random_below(random, 7)];
}

static int64_t
anything(uint32_t i, uint32_t n, Random *random)
{
	(void) i;
	(void) n;
	return (int64_t) random_next(random);
}

/* Goes round more than once. */
static int64_t
wrapping(uint32_t i, uint32_t n, Random *random)
{
	(void) n;
	(void) random;
	return (int64_t) (i * (UINT64_C(1) << 59) + i);
}

static int64_t
runs(uint32_t i, uint32_t n, Random *random)
{
	(void) n;
	(void) random;
	return i / 700 % 3 * INT64_C(1000000007);
}

static int64_t
short_runs(uint32_t i, uint32_t n, Random *random)
{
	(void) n;
	(void) random;
	return (int64_t) ((i / 5) * UINT64_C(0x9e3779b97f4a7c15) >> 20);
}

static int64_t
outlier(uint32_t i, uint32_t n, Random *random)
{
	return i == n / 2 ? INT64_MAX : random_below(random, 100);
}

/* Whole seconds, in microseconds. */
static int64_t
seconds(uint32_t i, uint32_t n, Random *random)
{
	(void) i;
	(void) n;
	return INT64_C(700000000) * 1000000 + random_below(random, 1000000) * INT64_C(1000000) + 17;
}

/* The largest step that there can be. */
static int64_t
half_the_range(uint32_t i, uint32_t n, Random *random)
{
	(void) i;
	(void) n;
	return random_chance(random, 50) ? INT64_MIN : 0;
}

static int64_t
whole_range(uint32_t i, uint32_t n, Random *random)
{
	(void) i;
	(void) n;
	return random_chance(random, 50) ? INT64_MIN : INT64_MAX;
}

/* In one step from the least, but for the last one. */
static int64_t
nearly_steps(uint32_t i, uint32_t n, Random *random)
{
	return i == n - 1 ? 1 : random_below(random, 1000) * INT64_C(1024);
}

static const struct
{
	const char *name;
	Generator	generator;
}			generators[] = {
	{"zeros", zero},
	{"the least integer", least},
	{"ascending", ascending},
	{"descending", descending},
	{"alternating extremes", extremes},
	{"three extremes", three_extremes},
	{"random extremes", random_extremes},
	{"random", anything},
	{"wrapping", wrapping},
	{"runs", runs},
	{"short runs", short_runs},
	{"an outlier", outlier},
	{"seconds", seconds},
	{"half the range", half_the_range},
	{"the whole range", whole_range},
	{"nearly steps", nearly_steps},
};

/* How nulls lie. */
static bool
null_at(int pattern, uint32_t i, uint32_t n, Random *random)
{
	switch (pattern)
	{
		case 1:
			return random_chance(random, 10);
		case 2:
			return !random_chance(random, 3);
		case 3:
			return i < n / 2;
		case 4:
			return i >= n / 2;
		case 5:
			return i != n / 2;
		case 6:
			return true;
		default:
			return false;
	}
}

static const char *const patterns[] = {
	"no nulls", "some nulls", "many nulls", "nulls first", "nulls last", "one value", "all null"
};

/* One test for each generator and pattern: all counts. */
static void
test_generators(void)
{
	for (size_t g = 0; g < sizeof(generators) / sizeof(generators[0]); g++)
	{
		for (int p = 0; p < 7; p++)
		{
			const char *wrong = NULL;

			for (size_t c = 0; c < NCOUNTS && wrong == NULL; c++)
			{
				Column	   *column = generate(generators[g].generator, counts[c], c);
				Random		random = {c + 100};
				CScanEncoding encoding;
				size_t		size;

				for (uint32_t i = 0; i < counts[c]; i++)
				{
					if (!null_at(p, i, counts[c], &random))
						continue;
					column_set_null(column, i);
					column->integers[i] = (int64_t) random_next(&random);
				}
				wrong = there_and_back(column, &encoding, &size);
				if (wrong != NULL)
					note("%u values: %s", counts[c], wrong);
				column_free(column);
			}
			ok(wrong == NULL, "%s, %s", generators[g].name, patterns[p]);
		}
	}
}

static void
test_widths(void)
{
	for (unsigned width = 1; width <= 64; width++)
	{
		Column	   *column = column_create(CSCAN_COLUMN_INTEGERS, 5000);
		Random		random = {width};

		for (uint32_t i = 0; i < 5000; i++)
			column->integers[i] = (int64_t) (random_next(&random) >> (64 - width));
		round_trip(column, -1, "random integers of %u bits", width);
	}
}

static int64_t
value_of(uint32_t entry)
{
	Random		random = {entry};

	return (int64_t) random_next(&random);
}

/* Values that are each drawn from so many, far apart. */
static void
test_entries(uint32_t entries, int expected)
{
	Column	   *column = column_create(CSCAN_COLUMN_INTEGERS, 300000);
	Random		random = {entries};

	for (uint32_t i = 0; i < 300000; i++)
		column->integers[i] = value_of(random_below(&random, entries));
	round_trip(column, expected, "values drawn from %u", entries);
}

/*
 * As many entries as there can be, and one more.  At most half of the values
 * are new, so that the search goes on.
 */
static void
test_most_entries(uint32_t entries, int expected)
{
	Column	   *column = column_create(CSCAN_COLUMN_INTEGERS, 200000);

	for (uint32_t i = 0; i < 200000; i++)
		column->integers[i] = value_of(i / 2 < entries ? i / 2 : i % entries);
	round_trip(column, expected, "%u distinct values", entries);
}

/*
 * Values that all have the same place in a hash table whose places are the
 * highest bits of a product: products that are small.
 */
static void
test_collisions(void)
{
	Column	   *column = column_create(CSCAN_COLUMN_INTEGERS, 100000);
	uint64_t	multiplier = UINT64_C(0x9E3779B97F4A7C15);
	uint64_t	inverse = multiplier;

	for (int i = 0; i < 6; i++)
		inverse *= 2 - multiplier * inverse;
	for (uint32_t i = 0; i < 100000; i++)
		column->integers[i] = (int64_t) (i / 4 * inverse);
	round_trip(column, -1, "values made to collide");
}

/* Each value is next to one that differs from it by a step. */
static void
test_steps(void)
{
	for (int shift = 0; shift < 63; shift += 3)
	{
		for (int odd = 1; odd < 8; odd += 2)
		{
			Column	   *column = column_create(CSCAN_COLUMN_INTEGERS, 3000);
			uint64_t	step = (uint64_t) odd << shift;
			Random		random = {step};

			for (uint32_t i = 0; i < 3000; i++)
			{
				uint64_t	most = UINT64_MAX / step;
				uint64_t	number = random_next(&random) % (most < 5000 ? most + 1 : 5000);

				column->integers[i] = (int64_t) (UINT64_C(0x8000000000000000) + number * step);
			}
			round_trip(column, -1, "steps of %d << %d", odd, shift);
		}
	}
}

/* Memory is refused for more values than a run may have. */
static void
test_limits(void)
{
	CScanColumnInput input = {.kind = CSCAN_COLUMN_INTEGERS,.nvalues = CSCAN_COLUMN_MAX_VALUES + 1};

	ok(cscan_column_memory(&input) == 0, "a run has at most 2^20 values");
	round_trip(generate(anything, CSCAN_COLUMN_MAX_VALUES, 3), CSCAN_ENCODING_PLAIN, "2^20 random values");
	round_trip(generate(ascending, CSCAN_COLUMN_MAX_VALUES, 3), CSCAN_ENCODING_DELTA, "2^20 ascending values");
	round_trip(generate(runs, CSCAN_COLUMN_MAX_VALUES, 3), CSCAN_ENCODING_RUN_LENGTH, "2^20 values in runs");
	round_trip(column_create(CSCAN_COLUMN_INTEGERS, 0), CSCAN_ENCODING_NONE, "no values");
}

void
test_integers(void)
{
	test_generators();
	test_widths();
	test_steps();
	test_entries(255, CSCAN_ENCODING_DICTIONARY);
	test_entries(257, CSCAN_ENCODING_DICTIONARY);
	test_entries(20000, CSCAN_ENCODING_DICTIONARY);
	test_entries(1000000, CSCAN_ENCODING_PLAIN);
	test_most_entries(65536, CSCAN_ENCODING_DICTIONARY);
	test_most_entries(65537, CSCAN_ENCODING_PLAIN);
	test_collisions();
	test_limits();
}
