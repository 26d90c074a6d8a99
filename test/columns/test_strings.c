/*-------------------------------------------------------------------------
 *
 * test_strings.c
 *		Strings there and back: the corners.
 *
 *-------------------------------------------------------------------------
 */
#include "harness.h"

#include <stdio.h>
#include <stdlib.h>

#include "codec.h"

static const uint32_t counts[] = {1, 2, 15, 17, 1000, 1023, 1024, 1025, 2047, 2049, 5000};

#define NCOUNTS	(sizeof(counts) / sizeof(counts[0]))

/* Put string i of n into "bytes"; returns its length, less than 1,000. */
typedef uint32_t (*Generator) (uint32_t i, Random *random, uint8_t *bytes);

static uint32_t
empty(uint32_t i, Random *random, uint8_t *bytes)
{
	(void) i;
	(void) random;
	(void) bytes;
	return 0;
}

static uint32_t
same(uint32_t i, Random *random, uint8_t *bytes)
{
	(void) i;
	(void) random;
	memcpy(bytes, "the same", 8);
	return 8;
}

static uint32_t
two(uint32_t i, Random *random, uint8_t *bytes)
{
	(void) i;
	bytes[0] = random_chance(random, 30) ? 'N' : 'Y';
	return 1;
}

/* One is the beginning of the other. */
static uint32_t
prefixes(uint32_t i, Random *random, uint8_t *bytes)
{
	(void) i;
	memset(bytes, 'a', 40);
	return random_below(random, 40);
}

/* The same but for zeros at their end. */
static uint32_t
zeros(uint32_t i, Random *random, uint8_t *bytes)
{
	(void) i;
	memset(bytes, 0, 40);
	return random_below(random, 40);
}

static uint32_t
uuids(uint32_t i, Random *random, uint8_t *bytes)
{
	(void) i;
	for (int b = 0; b < 16; b++)
		bytes[b] = (uint8_t) random_next(random);
	return 16;
}

static uint32_t
rubbish(uint32_t i, Random *random, uint8_t *bytes)
{
	uint32_t	n = random_below(random, 300);

	(void) i;
	for (uint32_t b = 0; b < n; b++)
		bytes[b] = (uint8_t) random_next(random);
	return n;
}

static uint32_t
text(uint32_t i, Random *random, uint8_t *bytes)
{
	static const char *const words[] = {
		"the ", "packages ", "sleep ", "quickly ", "furiously ", "regular ", "deposits ", "against ", "ironic "
	};
	uint32_t	n = 0;

	(void) i;
	for (uint32_t w = random_below(random, 12); w > 0; w--)
	{
		const char *word = words[random_below(random, 9)];

		memcpy(bytes + n, word, strlen(word));
		n += (uint32_t) strlen(word);
	}
	return n;
}

static uint32_t
numbered(uint32_t i, Random *random, uint8_t *bytes)
{
	(void) random;
	return (uint32_t) sprintf((char *) bytes, "Customer#%09u", i);
}

/* Empty, but now and then. */
static uint32_t
sparse(uint32_t i, Random *random, uint8_t *bytes)
{
	return i % 700 == 0 ? rubbish(i, random, bytes) : 0;
}

static const struct
{
	const char *name;
	Generator	generator;
}			generators[] = {
	{"empty strings", empty},
	{"one string", same},
	{"two strings", two},
	{"prefixes", prefixes},
	{"zero bytes", zeros},
	{"uuids", uuids},
	{"random bytes", rubbish},
	{"text", text},
	{"numbered", numbered},
	{"sparse", sparse},
};

static Column *
generate(Generator generator, uint32_t n, uint64_t seed, uint32_t nulls)
{
	Column	   *column = column_create(CSCAN_COLUMN_STRINGS, n);
	Random		random = {seed};
	uint8_t		bytes[1000];

	for (uint32_t i = 0; i < n; i++)
	{
		uint32_t	length = generator(i, &random, bytes);

		column_set_string(column, i, bytes, length);
		if (!random_chance(&random, nulls))
			continue;
		/* What a null row points at is nothing. */
		free(column->strings[i]);
		column->strings[i] = NULL;
		column->lengths[i] = (uint32_t) random_next(&random);
		column_set_null(column, i);
	}
	return column;
}

static void
test_generators(void)
{
	static const CScanEncoding codecs[] = {CSCAN_ENCODING_NONE, CSCAN_ENCODING_LZ4, CSCAN_ENCODING_ZSTD};
	static const uint32_t shares[] = {0, 10, 99, 100};

	for (size_t g = 0; g < sizeof(generators) / sizeof(generators[0]); g++)
	{
		for (int s = 0; s < 4; s++)
		{
			const char *wrong = NULL;

			for (size_t c = 0; c < 3 * NCOUNTS && wrong == NULL; c++)
			{
				uint32_t	n = counts[c / 3];
				Column	   *column = generate(generators[g].generator, n, c, shares[s]);
				CScanEncoding encoding;
				size_t		size;

				column->input.codec = codecs[c % 3];
				wrong = there_and_back(column, &encoding, &size);
				if (wrong != NULL)
					note("%u values, %s: %s", n, encoding_name(encoding), wrong);
				column_free(column);
			}
			ok(wrong == NULL, "%s, %u %% nulls", generators[g].name, shares[s]);
		}
	}
}

/* Codecs that are asked for are used, if the build has them. */
static void
test_codecs(void)
{
	for (CScanEncoding codec = CSCAN_ENCODING_LZ4; codec <= CSCAN_ENCODING_ZSTD; codec++)
	{
		bool		known = cscan_codec_known(codec);
		Column	   *column = generate(text, 20000, 1, 5);

		column->input.codec = codec;
		round_trip(column, known ? (int) codec : CSCAN_ENCODING_PLAIN, "text with %s%s", encoding_name(codec),
				   known ? "" : ", which this build does not know");
		column = generate(rubbish, 20000, 1, 5);
		column->input.codec = codec;
		round_trip(column, CSCAN_ENCODING_PLAIN, "random bytes with %s", encoding_name(codec));
	}
	round_trip(generate(numbered, 20000, 1, 5), some_codec() == CSCAN_ENCODING_NONE ? CSCAN_ENCODING_PLAIN : (int) some_codec(),
			   "numbered strings");
}

/* Frames that shrink, and some in their midst that do not. */
static void
test_kept_frames(void)
{
	Column	   *column = generate(text, 30000, 7, 0);
	Random		random = {8};
	uint8_t		bytes[1000];

	for (uint32_t i = 0; i < 30000; i++)
	{
		if (i / 3000 % 3 == 1)
			column_set_string(column, i, bytes, rubbish(i, &random, bytes));
	}
	round_trip(column, some_codec() == CSCAN_ENCODING_NONE ? CSCAN_ENCODING_PLAIN : (int) some_codec(),
			   "frames that do not shrink, among others");
}

/* Strings of 1 MB, some of them twice, among short ones. */
static void
test_long(void)
{
	uint8_t    *bytes = malloc(1 << 20);
	Column	   *column = column_create(CSCAN_COLUMN_STRINGS, 1500);
	Random		random = {9};

	for (uint32_t b = 0; b < 1 << 20; b++)
		bytes[b] = (uint8_t) (random_next(&random) % 20);
	for (uint32_t i = 0; i < 1500; i++)
	{
		bytes[0] = (uint8_t) (i / 2);
		column_set_string(column, i, bytes, i % 100 < 2 ? 1 << 20 : random_below(&random, 20));
	}
	round_trip(column, -1, "strings of 1 MB");
	for (uint32_t b = 0; b < 1 << 20; b++)
		bytes[b] = (uint8_t) random_next(&random);
	column = column_create(CSCAN_COLUMN_STRINGS, 3);
	for (uint32_t i = 0; i < 3; i++)
		column_set_string(column, i, bytes, 1 << 20);
	round_trip(column, CSCAN_ENCODING_CONSTANT, "one string of 1 MB");
	free(bytes);
}

/* Strings that are each drawn from so many. */
static void
test_entries(uint32_t entries, uint32_t n, int expected)
{
	Column	   *column = column_create(CSCAN_COLUMN_STRINGS, n);
	Random		random = {entries};
	char		name[100];

	column->input.codec = CSCAN_ENCODING_NONE;
	for (uint32_t i = 0; i < n; i++)
	{
		uint32_t	entry = i < entries ? i : random_below(&random, entries);
		int			length = sprintf(name, "a name that is long enough to pay for its entry: %u", entry);

		column_set_string(column, i, name, (uint32_t) length);
	}
	round_trip(column, expected, "%u strings, of them %u distinct", n, entries);
}

/*
 * As many entries as there can be, and one more.  The first 20,000 rows have
 * few, so that the search goes on.
 */
static void
test_most_entries(uint32_t entries, int expected)
{
	uint32_t	n = 200000;
	Column	   *column = column_create(CSCAN_COLUMN_STRINGS, n);
	char		name[100];

	column->input.codec = CSCAN_ENCODING_NONE;
	for (uint32_t i = 0; i < n; i++)
	{
		uint32_t	entry = i / 2 < entries ? i / 2 : i % entries;
		int			length = sprintf(name, "a name that is long enough to pay for its entry: %u", entry);

		column_set_string(column, i, name, (uint32_t) length);
	}
	round_trip(column, expected, "%u distinct strings", entries);
}

/* Memory is refused for more bytes than a run may have. */
static void
test_limits(void)
{
	uint32_t	lengths[3] = {1 << 27, 1 << 27, 0};
	const void *strings[3] = {"", "", ""};
	uint64_t	nulls[1] = {0};
	CScanColumnInput input = {.kind = CSCAN_COLUMN_STRINGS,.nvalues = 3,.nulls = nulls,.strings = strings,.lengths = lengths};

	ok(cscan_column_memory(&input) > 0, "a run has at most 2^28 bytes in strings");
	lengths[2] = 1;
	ok(cscan_column_memory(&input) == 0, "and no more");
	nulls[0] = 4;
	ok(cscan_column_memory(&input) > 0, "nulls are not counted");
	lengths[0] = lengths[1] = UINT32_MAX;
	ok(cscan_column_memory(&input) == 0, "lengths may be as long as they like");
	round_trip(column_create(CSCAN_COLUMN_STRINGS, 0), CSCAN_ENCODING_NONE, "no strings");
}

void
test_strings(void)
{
	test_generators();
	test_codecs();
	test_kept_frames();
	test_long();
	test_entries(2, 50000, CSCAN_ENCODING_DICTIONARY);
	test_entries(255, 50000, CSCAN_ENCODING_DICTIONARY);
	test_entries(257, 50000, CSCAN_ENCODING_DICTIONARY);
	test_most_entries(65536, CSCAN_ENCODING_DICTIONARY);
	test_most_entries(65537, CSCAN_ENCODING_PLAIN);
	test_limits();
}
