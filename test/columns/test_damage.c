/*-------------------------------------------------------------------------
 *
 * test_damage.c
 *		Each kind of damage is found, at its place.
 *
 *-------------------------------------------------------------------------
 */
#include "harness.h"

#include <stdio.h>
#include <stdlib.h>

#include "codec.h"

#define HEADER	sizeof(CScanColumnHeader)

/* Read all of a run.  Returns the damage that was found first. */
static CScanDamage
read_all(const uint8_t *bytes, size_t size)
{
	static int64_t integers[CSCAN_VECTOR];
	static const uint8_t *strings[CSCAN_VECTOR];
	static uint32_t lengths[CSCAN_VECTOR];
	CScanDamage damage = {CSCAN_DAMAGE_NONE, 0};
	CScanColumnRun run;
	void	   *scratch;
	bool		good = true;

	if (!cscan_column_open(&run, bytes, size, &damage))
		return damage;
	scratch = malloc(run.scratch_size);
	cscan_column_use_scratch(&run, scratch);
	for (uint32_t v = 0; v < cscan_column_vectors(&run) && good; v++)
	{
		if (run.header.kind == CSCAN_COLUMN_INTEGERS)
			good = cscan_column_integers(&run, v, integers, &damage);
		else
			good = cscan_column_strings(&run, v, strings, lengths, &damage);
	}
	free(scratch);
	return damage;
}

/* Write "bytes" over a copy of a run; that gives this damage at this place. */
static void
damaged_at(const Written *written, size_t place, const void *bytes, size_t n, CScanDamageKind kind, size_t offset,
		   const char *name)
{
	uint8_t    *copy = malloc(written->size);
	CScanDamage damage;

	memcpy(copy, written->bytes, written->size);
	memcpy(copy + place, bytes, n);
	damage = read_all(copy, written->size);
	if (!ok(damage.kind == kind && damage.offset == offset, "%s", name))
		note("got damage %d at %zu, expected %d at %zu", damage.kind, damage.offset, kind, offset);
	free(copy);
}

static void
damaged(const Written *written, size_t place, const void *bytes, size_t n, CScanDamageKind kind, const char *name)
{
	damaged_at(written, place, bytes, n, kind, place, name);
}

static void
damaged_u32(const Written *written, size_t place, uint32_t number, CScanDamageKind kind, const char *name)
{
	damaged(written, place, &number, sizeof(number), kind, name);
}

static void
damaged_byte(const Written *written, size_t place, int number, CScanDamageKind kind, const char *name)
{
	uint8_t		byte = (uint8_t) number;

	damaged(written, place, &byte, 1, kind, name);
}

/* Integers in a frame, with nulls: 3,000 of 7 bits. */
static void
test_header(void)
{
	Column	   *column = column_create(CSCAN_COLUMN_INTEGERS, 3000);
	Written		written;
	uint8_t    *longer;
	CScanDamage damage;
	bool		all_found = true;
	size_t		series = HEADER + 47 * 8;
	Random		random = {1};

	for (uint32_t i = 0; i < 3000; i++)
		column->integers[i] = random_below(&random, 128);
	column_set_null(column, 5);
	written = write_column(column);
	damage = read_all(written.bytes, written.size);
	ok(damage.kind == CSCAN_DAMAGE_NONE && written.plan.header.encoding == CSCAN_ENCODING_FRAME, "a sound run");

	damaged_byte(&written, 0, 2, CSCAN_DAMAGE_VERSION, "another version");
	damaged_byte(&written, 1, 2, CSCAN_DAMAGE_HEADER, "an impossible kind");
	damaged_byte(&written, 2, CSCAN_ENCODING_NONE, CSCAN_DAMAGE_HEADER, "no encoding");
	damaged_byte(&written, 3, 1, CSCAN_DAMAGE_HEADER, "a bit where zeros must be");
	damaged_u32(&written, 4, (uint32_t) written.size + 1, CSCAN_DAMAGE_SIZE, "another size");
	damaged_u32(&written, 8, CSCAN_COLUMN_MAX_VALUES + 1, CSCAN_DAMAGE_HEADER, "too many values");
	damaged_u32(&written, 12, 3001, CSCAN_DAMAGE_HEADER, "too many nulls");
	damaged_u32(&written, 16, 3000, CSCAN_DAMAGE_HEADER, "too many distinct values");
	damaged_u32(&written, 20, 1, CSCAN_DAMAGE_HEADER, "a bit where zeros must be");
	damaged_at(&written, 31, "\177", 1, CSCAN_DAMAGE_HEADER, 24, "a minimum above the maximum");
	damaged_byte(&written, HEADER, 0, CSCAN_DAMAGE_NULLS, "a null too few");
	damaged_at(&written, HEADER + 46 * 8 + 7, "\200", 1, CSCAN_DAMAGE_NULLS, HEADER, "a null behind the end");
	damaged_at(&written, 2, "\4", 1, CSCAN_DAMAGE_SERIES, series, "another encoding than the series has");
	damaged_byte(&written, series, CSCAN_ENCODING_LZ4, CSCAN_DAMAGE_SERIES, "a series cannot be compressed");
	damaged_byte(&written, series + 1, 1, CSCAN_DAMAGE_WIDTH, "a frame has no bytes a value");
	damaged_byte(&written, series + 5, 1, CSCAN_DAMAGE_SERIES, "a bit where zeros must be");
	damaged_u32(&written, series + 24, 1, CSCAN_DAMAGE_PLACE, "a block that ends too early");
	damaged_byte(&written, series + 36 + 8, 65, CSCAN_DAMAGE_WIDTH, "numbers of 65 bits");
	damaged_at(&written, series + 36 + 8, "\6", 1, CSCAN_DAMAGE_PLACE, series + 24, "a block of another width");
	damaged_at(&written, series + 36 + 8, "\100", 1, CSCAN_DAMAGE_CUT, written.size, "a block that is too long");

	/* Cut anywhere, with the size that it then has. */
	for (size_t size = 0; size < written.size; size++)
	{
		uint8_t    *cut = malloc(size);
		uint32_t	number = (uint32_t) size;

		memcpy(cut, written.bytes, size);
		if (size >= 8)
			memcpy(cut + 4, &number, 4);
		damage = read_all(cut, size);
		all_found &= damage.kind != CSCAN_DAMAGE_NONE && damage.offset <= size;
		free(cut);
	}
	ok(all_found, "cut anywhere");

	longer = malloc(written.size + 1);
	memcpy(longer, written.bytes, written.size);
	longer[written.size] = 0;
	damage = read_all(longer, written.size + 1);
	ok(damage.kind == CSCAN_DAMAGE_SIZE && damage.offset == 4, "a byte too many");
	longer[4]++;
	damage = read_all(longer, written.size + 1);
	ok(damage.kind == CSCAN_DAMAGE_SIZE && damage.offset == written.size, "also if the size has it");
	free(longer);
	free(written.bytes);
	column_free(column);
}

static void
test_runs(void)
{
	Column	   *column = column_create(CSCAN_COLUMN_INTEGERS, 2048);
	size_t		ends = HEADER + CSCAN_SERIES_HEAD;
	size_t		lengths;
	Written		written;
	uint64_t	base;

	for (uint32_t i = 0; i < 2048; i++)
		column->integers[i] = i / 128 * 1000003;
	column->integers[200] = 7;
	written = write_column(column);
	ok(written.plan.header.encoding == CSCAN_ENCODING_RUN_LENGTH, "a sound run of runs");
	damaged_u32(&written, ends, 0, CSCAN_DAMAGE_PLACE, "a vector without a run");
	damaged_u32(&written, ends + 4, 5, CSCAN_DAMAGE_PLACE, "runs that go backwards");
	damaged_u32(&written, ends, 1025, CSCAN_DAMAGE_PLACE, "more runs than values");
	lengths = ends + 8 + written.plan.integers.series.runs_size + 4;
	base = 1;
	damaged_at(&written, lengths, &base, 8, CSCAN_DAMAGE_RUNS, ends, "runs that are too long");
	base = UINT64_MAX;
	damaged_at(&written, lengths, &base, 8, CSCAN_DAMAGE_RUNS, ends, "a run of no value");
	free(written.bytes);
	column_free(column);

	/* All runs as long, but for one that is longer: a bit for each. */
	column = column_create(CSCAN_COLUMN_INTEGERS, 2048);
	for (uint32_t i = 0; i < 2048; i++)
		column->integers[i] = i / 128 * 1000003;
	for (uint32_t i = 128; i < 256; i++)
		column->integers[i] = i == 128 ? 0 : 1000003;
	written = write_column(column);
	lengths = ends + 8 + written.plan.integers.series.runs_size + 4;
	damaged_at(&written, lengths + 9, "", 1, CSCAN_DAMAGE_RUNS, ends, "runs that are too short");
	free(written.bytes);
	column_free(column);
}

static void
test_dictionary(void)
{
	Column	   *column = column_create(CSCAN_COLUMN_INTEGERS, 2000);
	size_t		codes = HEADER + 24 + 5 * 8;
	Written		written;
	Random		random = {1};

	for (uint32_t i = 0; i < 2000; i++)
	{
		Random		value = {i < 5 ? i : random_below(&random, 5)};

		column->integers[i] = (int64_t) random_next(&value);
	}
	written = write_column(column);
	ok(written.plan.header.encoding == CSCAN_ENCODING_DICTIONARY, "a sound dictionary");
	damaged_u32(&written, HEADER, 0, CSCAN_DAMAGE_ENTRIES, "no entries");
	damaged_u32(&written, HEADER, 2001, CSCAN_DAMAGE_ENTRIES, "more entries than values");
	damaged_byte(&written, HEADER + 4, 3, CSCAN_DAMAGE_WIDTH, "entries of three bytes");
	damaged_at(&written, HEADER + 5, "\1", 1, CSCAN_DAMAGE_WIDTH, HEADER + 4, "a bit where zeros must be");
	damaged_at(&written, codes + 24 + 8 + 9, "\377", 1, CSCAN_DAMAGE_CODE, codes, "a code that is not there");
	damaged_at(&written, codes + 24 + 8, "\1", 1, CSCAN_DAMAGE_CODE, codes, "all codes are one more");
	damaged_at(&written, codes + 24 + 8 + 7, "\200", 1, CSCAN_DAMAGE_CODE, codes, "a code that is negative");
	damaged_at(&written, codes + 24 + 8 + 7, "\177", 1, CSCAN_DAMAGE_CODE, codes, "a code that is huge");
	free(written.bytes);
	column_free(column);

	column = column_create(CSCAN_COLUMN_STRINGS, 2000);
	for (uint32_t i = 0; i < 2000; i++)
		column_set_string(column, i, &"abcdef"[random_below(&random, 4)], 2);
	written = write_column(column);
	ok(written.plan.header.encoding == CSCAN_ENCODING_DICTIONARY, "a sound dictionary of strings");
	damaged_byte(&written, HEADER + 8, 1, CSCAN_DAMAGE_PLACE, "the first string begins too late");
	damaged_at(&written, HEADER + 9, "\5", 1, CSCAN_DAMAGE_PLACE, HEADER + 10, "a string ends before it begins");
	damaged_at(&written, 2, "\1", 1, CSCAN_DAMAGE_ENTRIES, HEADER, "one string is four");
	damaged_at(&written, 2, "\4", 1, CSCAN_DAMAGE_HEADER, HEADER, "strings have no differences");
	free(written.bytes);
	column_free(column);
}

static void
test_frames(void)
{
	Column	   *column = column_create(CSCAN_COLUMN_STRINGS, 3000);
	size_t		series = HEADER;
	size_t		ends;
	size_t		frames;
	Written		written;
	Random		random = {1};
	uint8_t		bytes[40];

	for (uint32_t i = 0; i < 3000; i++)
	{
		for (int b = 0; b < 40; b++)
			bytes[b] = (uint8_t) random_below(&random, 8);
		column_set_string(column, i, bytes, 10 + random_below(&random, 30));
	}
	column->input.codec = CSCAN_ENCODING_NONE;
	written = write_column(column);
	ok(written.plan.header.encoding == CSCAN_ENCODING_PLAIN, "sound strings");
	ends = HEADER + written.plan.strings.lengths.size;
	damaged_u32(&written, ends + 4, 7, CSCAN_DAMAGE_PLACE, "vectors that go backwards");
	damaged_u32(&written, ends + 8, CSCAN_COLUMN_MAX_BYTES + 1, CSCAN_DAMAGE_PLACE, "too many bytes");
	damaged_u32(&written, ends, cscan_get_u32(written.bytes + ends) + 1, CSCAN_DAMAGE_LENGTHS, "a byte too many in a vector");
	damaged_u32(&written, ends, cscan_get_u32(written.bytes + ends) - 1, CSCAN_DAMAGE_LENGTHS, "a byte too few");
	damaged_at(&written, series + 24 + 12, "\11", 1, CSCAN_DAMAGE_LENGTHS, ends, "lengths that are too small");
	damaged_at(&written, series + 24 + 12 + 7, "\200", 1, CSCAN_DAMAGE_LENGTHS, ends, "lengths that are negative");
	free(written.bytes);

	for (CScanEncoding codec = CSCAN_ENCODING_LZ4; codec <= CSCAN_ENCODING_ZSTD; codec++)
	{
		uint32_t	cut;

		if (!cscan_codec_known(codec))
			continue;
		column->input.codec = codec;
		written = write_column(column);
		frames = ends + 12;
		ok(written.plan.header.encoding == codec && cscan_get_u32(written.bytes + frames) == 2, "sound frames of %s",
		   encoding_name(codec));
		damaged_u32(&written, frames, 0, CSCAN_DAMAGE_PLACE, "no frames");
		damaged_u32(&written, frames, 4, CSCAN_DAMAGE_PLACE, "more frames than vectors");
		damaged_u32(&written, frames + 4, 0, CSCAN_DAMAGE_PLACE, "a frame of no vectors");
		damaged_u32(&written, frames + 12, 4, CSCAN_DAMAGE_PLACE, "a vector too many");
		damaged_u32(&written, frames + 12, 2, CSCAN_DAMAGE_PLACE, "a vector too few");
		damaged_u32(&written, frames + 16, 0, CSCAN_DAMAGE_PLACE, "frames that go backwards");
		damaged_u32(&written, frames + 8, 100000, CSCAN_DAMAGE_PLACE, "a frame longer than what is in it");
		damaged(&written, frames + 20, "\377\377\377\377\377\377\377\377", 8, CSCAN_DAMAGE_FRAME, "a frame that is none");
		cut = cscan_get_u32(written.bytes + frames + 8) - 1;
		damaged_at(&written, frames + 8, &cut, 4, CSCAN_DAMAGE_FRAME, frames + 20, "a frame that is cut");
		free(written.bytes);
	}
	column_free(column);
}

/* A run of a library that this build has not: one is made up. */
static void
test_no_codec(void)
{
	struct
	{
		CScanColumnHeader header;
		uint8_t		series[24];
		uint32_t	end;
		uint32_t	nframes;
		uint32_t	vectors;
		uint32_t	size;
		uint8_t		bytes[8];
	}			run = {.end = 20,.nframes = 1,.vectors = 1,.size = 8};

	run.header.version = CSCAN_COLUMN_VERSION;
	run.header.kind = CSCAN_COLUMN_STRINGS;
	run.header.size = sizeof(run);
	run.header.nvalues = 2;
	run.header.minimum = run.header.maximum = 10;
	run.series[0] = CSCAN_ENCODING_CONSTANT;
	run.series[8] = 10;
	for (CScanEncoding codec = CSCAN_ENCODING_LZ4; codec <= CSCAN_ENCODING_ZSTD; codec++)
	{
		CScanDamage damage;

		run.header.encoding = (uint8_t) codec;
		damage = read_all((const uint8_t *) &run, sizeof(run));
		ok(damage.kind == (cscan_codec_known(codec) ? CSCAN_DAMAGE_FRAME : CSCAN_DAMAGE_NO_CODEC) &&
		   damage.offset == (size_t) (run.bytes - (uint8_t *) &run),
		   "a bad frame of %s%s", encoding_name(codec), cscan_codec_known(codec) ? "" : ", which this build does not know");
	}
}

void
test_damage(void)
{
	test_header();
	test_runs();
	test_dictionary();
	test_frames();
	test_no_codec();
}
