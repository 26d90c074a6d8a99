/*-------------------------------------------------------------------------
 *
 * string_write.c
 *		How strings are planned and written (string_body.h).
 *
 *-------------------------------------------------------------------------
 */
#include "codec.h"
#include "string_body.h"

/* The bytes in a frame, unless it has one vector. */
#define FRAME_BYTES		65536

/* A frame is compressed if it shrinks by at least one part in this many. */
#define LEAST_GAIN		16

/*
 * Decompression takes time, and a dictionary saves that and more.  So a run is
 * compressed only if that saves one part in this many, and a page.
 */
#define LEAST_SAVING	8
#define PAGE_BYTES		8192

/* If this many frames have not shrunk that much, the others are not tried. */
#define TRIED_FRAMES	8

/* ------------------------------------------------------------------
 * Memory
 * ------------------------------------------------------------------ */

static uint32_t
length_of(const CScanStrings *strings, uint32_t row)
{
	return cscan_is_null(strings->nulls, row) ? 0 : strings->lengths[row];
}

/* The bytes of a vector's strings. */
static uint64_t
vector_bytes(const CScanStrings *strings, uint32_t vector)
{
	uint32_t	first = vector * CSCAN_VECTOR;
	uint64_t	bytes = 0;

	for (uint32_t i = 0; i < cscan_vector_values(strings->n, vector); i++)
		bytes += length_of(strings, first + i);
	return bytes;
}

/* The parts of a plan's memory that hold numbers, and where bytes begin. */
static size_t
numbers_size(uint32_t n)
{
	/* Per vector: one number in "ends", at most two in "frames". */
	return cscan_distinct_size(n) + 3 * sizeof(uint32_t) * (size_t) cscan_vectors(n);
}

size_t
cscan_strings_memory(const CScanStrings *strings, CScanEncoding codec)
{
	uint64_t	all = 0;
	uint64_t	largest = 0;

	for (uint32_t v = 0; v < cscan_vectors(strings->n); v++)
	{
		uint64_t	bytes = vector_bytes(strings, v);

		all += bytes;
		if (largest < bytes)
			largest = bytes;
	}
	if (all > CSCAN_COLUMN_MAX_BYTES)
		return 0;
	if (!cscan_codec_known(codec))
		return numbers_size(strings->n);
	if (largest < FRAME_BYTES)
		largest = all < FRAME_BYTES ? all : FRAME_BYTES;
	return numbers_size(strings->n) + largest + all;
}

/* ------------------------------------------------------------------
 * Frames
 * ------------------------------------------------------------------ */

static uint32_t
begin_of(const CScanStringsPlan *plan, uint32_t vector)
{
	return vector == 0 ? 0 : plan->ends[vector - 1];
}

/* The vector behind a frame that begins with this one. */
static uint32_t
frame_end(const CScanStringsPlan *plan, uint32_t vector)
{
	uint32_t	begin = begin_of(plan, vector);
	uint32_t	end = vector + 1;

	while (end < cscan_vectors(plan->strings.n) && plan->ends[end] - begin <= FRAME_BYTES)
		end++;
	return end;
}

/* Copy the strings of some vectors; returns the place behind them. */
static uint8_t *
copy_strings(const CScanStrings *strings, uint32_t vector, uint32_t end, uint8_t *out)
{
	uint32_t	behind = end * CSCAN_VECTOR < strings->n ? end * CSCAN_VECTOR : strings->n;

	for (uint32_t i = vector * CSCAN_VECTOR; i < behind; i++)
	{
		uint32_t	length = length_of(strings, i);

		if (length == 0)
			continue;
		memcpy(out, strings->bytes[i], length);
		out += length;
	}
	return out;
}

/*
 * Compress all strings; false if that takes more than "limit" bytes, or if the
 * first frames do not shrink.
 */
static bool
compress(CScanStringsPlan *plan, CScanEncoding codec, size_t limit)
{
	uint32_t	nvectors = cscan_vectors(plan->strings.n);
	uint8_t    *out = plan->compressed;
	uint32_t	end;

	plan->nframes = 0;
	for (uint32_t v = 0; v < nvectors; v = end)
	{
		size_t		n;
		size_t		size;

		end = frame_end(plan, v);
		n = plan->ends[end - 1] - begin_of(plan, v);
		copy_strings(&plan->strings, v, end, plan->bytes);
		size = cscan_codec_compress(codec, plan->bytes, n, out, n - n / LEAST_GAIN);
		if (size == 0 || size >= n)
		{
			memcpy(out, plan->bytes, n);
			size = n;
		}
		out += size;
		plan->frames[2 * plan->nframes] = end;
		plan->frames[2 * plan->nframes + 1] = (uint32_t) (out - plan->compressed);
		plan->nframes++;
		plan->frames_size = (size_t) (out - plan->compressed);
		if (plan->frames_size + 4 + 8 * (size_t) plan->nframes >= limit)
			return false;
		n = plan->ends[end - 1];
		if (plan->nframes == TRIED_FRAMES && plan->frames_size > n - n / LEAST_GAIN)
			return false;
	}
	return true;
}

/* ------------------------------------------------------------------
 * Planning and writing
 * ------------------------------------------------------------------ */

static void
plan_lengths(CScanStringsPlan *plan)
{
	CScanSource *source = &plan->lengths.source;
	uint32_t	end = 0;

	source->n = plan->strings.n;
	source->lengths = plan->strings.lengths;
	source->nulls = plan->strings.nulls;
	cscan_source_measure(source, true);
	cscan_series_plan(&plan->lengths);
	for (uint32_t v = 0; v < cscan_vectors(plan->strings.n); v++)
	{
		end += (uint32_t) vector_bytes(&plan->strings, v);
		plan->ends[v] = end;
	}
}

static void
plan_dictionary(CScanStringsPlan *plan, void *memory)
{
	size_t		size;

	cscan_distinct_strings(&plan->distinct, &plan->strings, memory, 1, plan->size);
	if (!plan->distinct.complete)
		return;
	plan->ndistinct = plan->distinct.count;
	size = cscan_dictionary_strings_size(&plan->distinct);
	if (plan->distinct.count > 1)
	{
		cscan_dictionary_plan_codes(&plan->codes, &plan->distinct, plan->strings.n);
		size += plan->codes.size;
	}
	if (size >= plan->size)
		return;
	plan->encoding = plan->distinct.count == 1 ? CSCAN_ENCODING_CONSTANT : CSCAN_ENCODING_DICTIONARY;
	plan->size = size;
}

void
cscan_strings_plan(CScanStringsPlan *plan, const CScanStrings *strings, CScanEncoding codec, void *memory)
{
	uint32_t	nvectors = cscan_vectors(strings->n);
	uint8_t    *at = memory;
	uint32_t	all;
	size_t		before;
	size_t		least_saving;

	memset(plan, 0, sizeof(*plan));
	plan->strings = *strings;
	plan->ends = (uint32_t *) (void *) (at + cscan_distinct_size(strings->n));
	plan->frames = plan->ends + nvectors;

	plan_lengths(plan);
	all = plan->ends[nvectors - 1];
	before = plan->lengths.size + 4 * (size_t) nvectors;
	plan->encoding = CSCAN_ENCODING_PLAIN;
	plan->size = before + all;

	plan_dictionary(plan, memory);

	least_saving = plan->size / LEAST_SAVING + PAGE_BYTES;
	if (!cscan_codec_known(codec) || before + least_saving >= plan->size)
		return;
	plan->compressed = at + numbers_size(strings->n);
	plan->bytes = plan->compressed + all;
	if (!compress(plan, codec, plan->size - least_saving - before))
		return;
	plan->encoding = codec;
	plan->size = before + 4 + 8 * (size_t) plan->nframes + plan->frames_size;
}

uint8_t *
cscan_strings_write(const CScanStringsPlan *plan, uint8_t *out)
{
	uint32_t	nvectors = cscan_vectors(plan->strings.n);

	if (plan->encoding == CSCAN_ENCODING_CONSTANT || plan->encoding == CSCAN_ENCODING_DICTIONARY)
	{
		out = cscan_dictionary_write_strings(&plan->distinct, &plan->strings, out);
		return plan->distinct.count == 1 ? out : cscan_series_write(&plan->codes, out);
	}
	out = cscan_series_write(&plan->lengths, out);
	for (uint32_t v = 0; v < nvectors; v++)
		out = cscan_put_u32(out, plan->ends[v]);
	if (plan->encoding == CSCAN_ENCODING_PLAIN)
		return copy_strings(&plan->strings, 0, nvectors, out);
	out = cscan_put_u32(out, plan->nframes);
	for (uint32_t i = 0; i < 2 * plan->nframes; i++)
		out = cscan_put_u32(out, plan->frames[i]);
	memcpy(out, plan->compressed, plan->frames_size);
	return out + plan->frames_size;
}
