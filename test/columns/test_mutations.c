/*-------------------------------------------------------------------------
 *
 * test_mutations.c
 *		Sound runs of every encoding, damaged at random, by seed: each can be
 *		opened and decoded, or gives an error at a place within it.
 *
 * The sanitizers watch that nothing else is read: each damaged run lies in
 * memory of exactly its size.
 *
 *-------------------------------------------------------------------------
 */
#include "harness.h"

#include <stdlib.h>

#define MOST_RUNS	64

static Written runs[MOST_RUNS];
static uint32_t nruns;

static void
add(Column *column)
{
	runs[nruns++] = write_column(column);
	column_free(column);
}

static int64_t
integer(int model, uint32_t i, Random *random)
{
	Random		entry = {i / 7 % 30};

	switch (model)
	{
		case 0:
			return 5;
		case 1:
			return random_below(random, 1000);
		case 2:
			return i * INT64_C(1000) + random_below(random, 3);
		case 3:
			return (i / 100) * INT64_C(123456789);
		case 4:
			return (int64_t) random_next(&entry);
		case 5:
			entry.state = random_below(random, 30);
			return (int64_t) random_next(&entry);
		case 6:
			return random_below(random, 1000) * INT64_C(86400000000);
		default:
			return (int64_t) random_next(random);
	}
}

static uint32_t
string(int model, uint32_t i, Random *random, uint8_t *bytes)
{
	switch (model)
	{
		case 0:
			memcpy(bytes, "constant", 8);
			return 8;
		case 1:
			memset(bytes, 'a' + (int) random_below(random, 4), 20);
			return 20;
		case 2:
			memset(bytes, 'a' + (int) (i / 50 % 20), 9);
			return i / 50 % 10;
		case 3:
			for (int b = 0; b < 90; b++)
				bytes[b] = (uint8_t) random_below(random, 3);
			return 30 + random_below(random, 60);
		default:
			for (int b = 0; b < 16; b++)
				bytes[b] = (uint8_t) random_next(random);
			return random_below(random, 16);
	}
}

/* Runs of every encoding, with and without nulls, of one vector or three. */
static void
make_runs(void)
{
	static const uint32_t counts[] = {40, 2500};
	Random		random = {1};
	uint8_t		bytes[100];

	for (int c = 0; c < 2; c++)
	{
		for (int nulls = 0; nulls < 2; nulls++)
		{
			for (int model = 0; model < 8; model++)
			{
				Column	   *column = column_create(CSCAN_COLUMN_INTEGERS, counts[c]);

				for (uint32_t i = 0; i < counts[c]; i++)
				{
					column->integers[i] = integer(model, i, &random);
					if (nulls && random_chance(&random, 20))
						column_set_null(column, i);
				}
				add(column);
			}
			for (int model = 0; model < 6; model++)
			{
				Column	   *column = column_create(CSCAN_COLUMN_STRINGS, counts[c]);

				column->input.codec = model < 5 ? CSCAN_ENCODING_LZ4 : CSCAN_ENCODING_ZSTD;
				for (uint32_t i = 0; i < counts[c]; i++)
				{
					uint32_t	length = string(model < 5 ? model : 3, i, &random, bytes);

					column_set_string(column, i, bytes, length);
					if (nulls && random_chance(&random, 20))
						column_set_null(column, i);
				}
				add(column);
			}
		}
	}
}

/* ------------------------------------------------------------------
 * Reading whatever it is
 * ------------------------------------------------------------------ */

static uint64_t opened;
static uint64_t decoded;
static uint64_t found[CSCAN_DAMAGE_NO_MEMORY + 1];

/* Damage must be of a kind, and within the run. */
static bool
sound_damage(const CScanDamage *damage, size_t size)
{
	if (damage->kind <= CSCAN_DAMAGE_NONE || damage->kind > CSCAN_DAMAGE_NO_MEMORY || damage->offset > size)
		return false;
	found[damage->kind]++;
	return true;
}

static bool
within(const uint8_t *string, size_t length, const uint8_t *bytes, size_t size)
{
	return string >= bytes && length <= size && (size_t) (string - bytes) <= size - length;
}

static bool
strings_within(const CScanColumnRun *run, uint32_t n, const uint8_t **strings, const uint32_t *lengths,
			   const uint8_t *bytes, size_t size, const uint8_t *scratch)
{
	for (uint32_t i = 0; i < n; i++)
	{
		if (lengths[i] > 0 && !within(strings[i], lengths[i], bytes, size) &&
			!within(strings[i], lengths[i], scratch, run->scratch_size))
			return false;
	}
	return true;
}

/* Read a run that may be damaged.  Returns NULL, or what went wrong. */
static const char *
read_damaged(const uint8_t *bytes, size_t size)
{
	static int64_t integers[CSCAN_VECTOR];
	static const uint8_t *strings[CSCAN_VECTOR];
	static uint32_t lengths[CSCAN_VECTOR];
	uint64_t	nulls[CSCAN_NULL_WORDS];
	CScanDamage damage = {CSCAN_DAMAGE_NONE, SIZE_MAX};
	CScanColumnRun run;
	uint8_t    *scratch;
	uint32_t	good = 0;
	uint32_t	nvectors;
	const char *wrong = NULL;

	if (!cscan_column_open(&run, bytes, size, &damage))
		return sound_damage(&damage, size) ? NULL : "what was found wrong at the beginning";
	opened++;
	nvectors = cscan_column_vectors(&run);
	if (run.scratch_size > CSCAN_COLUMN_MAX_BYTES)
		return "the scratch is too large";
	scratch = malloc(run.scratch_size);
	cscan_column_use_scratch(&run, scratch);
	/* Each vector, and the first one again. */
	for (uint32_t v = 0; v <= nvectors && nvectors > 0; v++)
	{
		uint32_t	vector = v % nvectors;
		uint32_t	n = cscan_column_values(&run, vector);
		bool		is_good;

		cscan_column_nulls(&run, vector, nulls);
		if (run.header.kind == CSCAN_COLUMN_INTEGERS)
			is_good = cscan_column_integers(&run, vector, integers, &damage);
		else
		{
			is_good = cscan_column_strings(&run, vector, strings, lengths, &damage);
			if (is_good && !strings_within(&run, n, strings, lengths, bytes, size, scratch))
				wrong = "a string lies elsewhere";
		}
		good += is_good;
		if (!is_good && !sound_damage(&damage, size))
			wrong = "what was found wrong in a vector";
		if (is_good && cscan_column_nentries(&run) > 0)
		{
			if (!cscan_column_codes(&run, vector, integers, &damage))
				wrong = "codes of a sound vector";
			else if (run.header.kind == CSCAN_COLUMN_INTEGERS)
				cscan_column_integer_entries(&run, integers, n, integers);
			else
				cscan_column_string_entries(&run, integers, n, strings, lengths);
		}
	}
	decoded += good == nvectors + 1;
	free(scratch);
	return wrong;
}

/* ------------------------------------------------------------------
 * Damaging
 * ------------------------------------------------------------------ */

/* A place, more often one at the beginning, where the structure is. */
static size_t
place(Random *random, size_t size)
{
	size_t		most = random_chance(random, 60) && size > 150 ? 150 : size;

	return random_next(random) % most;
}

/* Damage *bytes, of *size bytes, once. */
static void
damage_once(Random *random, uint8_t **bytes, size_t *size)
{
	size_t		at = place(random, *size);
	size_t		room = *size - at;
	size_t		n = 1 + random_below(random, 64);
	const Written *other = &runs[random_below(random, nruns)];
	uint32_t	number;

	switch (random_below(random, 8))
	{
		case 0:
			(*bytes)[at] ^= (uint8_t) (1 << random_below(random, 8));
			break;
		case 1:
			(*bytes)[at] = random_chance(random, 50) ? (uint8_t) random_next(random) : random_chance(random, 50) ? 0 : 0xff;
			break;
		case 2:
			if (room < 4)
				break;
			memcpy(&number, *bytes + at, 4);
			number += (uint32_t) random_below(random, 9) - 4;
			memcpy(*bytes + at, &number, 4);
			break;
		case 3:
			*size -= n < room ? n : room - (at == 0);
			break;
		case 4:
			*bytes = realloc(*bytes, *size + n);
			memset(*bytes + *size, (int) random_next(random), n);
			*size += n;
			break;
		case 5:
			memset(*bytes + at, random_chance(random, 50) ? 0 : 0xff, n < room ? n : room);
			break;
		case 6:
			/* The same place of another run, mostly. */
			if (at >= other->size)
				break;
			n = random_chance(random, 20) ? room : n;
			n = n < room ? n : room;
			memcpy(*bytes + at, other->bytes + at, n < other->size - at ? n : other->size - at);
			break;
		default:
			n = n < room ? n : room;
			memmove(*bytes + at, *bytes + random_next(random) % (*size - n + 1), n);
			break;
	}
}

void
test_mutations(void)
{
	uint64_t	mutations = setting("MUTATIONS", 600000);
	uint64_t	seed = setting("SEED", 0);
	const char *wrong = NULL;
	bool		all = true;

	make_runs();
	for (uint64_t m = 0; m < mutations && wrong == NULL; m++)
	{
		Random		random = {seed * 1000003 + m};
		const Written *sound = &runs[m % nruns];
		size_t		size = sound->size;
		uint8_t    *bytes = malloc(size);
		uint8_t    *exact;

		memcpy(bytes, sound->bytes, size);
		for (uint32_t times = 1 + random_below(&random, 3); times > 0; times--)
			damage_once(&random, &bytes, &size);
		exact = malloc(size);
		memcpy(exact, bytes, size);
		/* Else a change of its size is all that would be seen. */
		if (size >= 8 && random_chance(&random, 90))
			cscan_put_u32(exact + 4, (uint32_t) size);
		wrong = read_damaged(exact, size);
		if (wrong != NULL)
			note("mutation %llu: %s", (unsigned long long) m, wrong);
		free(exact);
		free(bytes);
	}
	ok(wrong == NULL, "%llu damaged runs", (unsigned long long) mutations);
	note("%llu opened, %llu decoded", (unsigned long long) opened, (unsigned long long) decoded);
	for (int k = CSCAN_DAMAGE_NONE + 1; k < CSCAN_DAMAGE_NO_CODEC; k++)
	{
		note("damage %d: %llu", k, (unsigned long long) found[k]);
		all &= found[k] > 0 || (k == CSCAN_DAMAGE_FRAME && some_codec() == CSCAN_ENCODING_NONE);
	}
	ok(all, "each kind of damage occurs");

	/* Each bit of the first bytes of each run. */
	wrong = NULL;
	for (uint32_t r = 0; r < nruns && wrong == NULL; r++)
	{
		uint8_t    *bytes = malloc(runs[r].size);

		memcpy(bytes, runs[r].bytes, runs[r].size);
		for (size_t bit = 0; bit < 8 * runs[r].size && bit < 8 * 100 && wrong == NULL; bit++)
		{
			bytes[bit / 8] ^= (uint8_t) (1 << bit % 8);
			wrong = read_damaged(bytes, runs[r].size);
			bytes[bit / 8] ^= (uint8_t) (1 << bit % 8);
		}
		free(bytes);
	}
	ok(wrong == NULL, "each of the first 800 bits");
	for (uint32_t r = 0; r < nruns; r++)
		free(runs[r].bytes);
}
