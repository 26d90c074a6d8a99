/*-------------------------------------------------------------------------
 *
 * series_write.c
 *		How a series is planned and written (series.h).
 *
 *-------------------------------------------------------------------------
 */
#include "bits.h"
#include "series.h"

/* What a block has before its bits. */
#define FRAME_HEAD	9
#define DELTA_HEAD	17

/* A range of numbers, or of differences modulo 2^64. */
typedef struct Range
{
	int64_t		least;
	int64_t		most;
} Range;

static const Range nothing = {INT64_MAX, INT64_MIN};

static void
extend(Range *range, int64_t number)
{
	range->least = number < range->least ? number : range->least;
	range->most = number > range->most ? number : range->most;
}

static uint64_t
distance(Range range)
{
	return (uint64_t) range.most - (uint64_t) range.least;
}

static int64_t
difference(int64_t number, int64_t before)
{
	return (int64_t) ((uint64_t) number - (uint64_t) before);
}

/* The size of a block of n numbers of a range. */
static size_t
frame_size(uint32_t n, Range range)
{
	return FRAME_HEAD + cscan_bits_size(n, cscan_bits_width(distance(range)));
}

/* Get the ranges of n > 0 numbers and of their differences, and count runs. */
static uint32_t
measure(const int64_t *numbers, uint32_t n, Range *values, Range *differences)
{
	Range		v = {numbers[0], numbers[0]};
	Range		d = nothing;
	uint32_t	nruns = 1;

	for (uint32_t i = 1; i < n; i++)
	{
		extend(&v, numbers[i]);
		extend(&d, difference(numbers[i], numbers[i - 1]));
		nruns += numbers[i] != numbers[i - 1];
	}
	if (n == 1)
		d.least = d.most = 0;
	*values = v;
	*differences = d;
	return nruns;
}

/* The length of the run that begins with the first of n numbers. */
static uint32_t
run_length(const int64_t *numbers, uint32_t n)
{
	uint32_t	length = 1;

	while (length < n && numbers[length] == numbers[0])
		length++;
	return length;
}

/* Get the size of the runs' blocks, values first, then lengths. */
static void
measure_runs(const CScanSource *source, size_t *values_size, size_t *lengths_size)
{
	int64_t		numbers[CSCAN_VECTOR];
	Range		values = nothing;
	Range		lengths = nothing;
	uint32_t	filled = 0;

	*values_size = *lengths_size = 0;
	for (uint32_t v = 0; v < cscan_vectors(source->n); v++)
	{
		uint32_t	n = cscan_source_load(source, v, numbers);
		uint32_t	length;

		for (uint32_t i = 0; i < n; i += length)
		{
			length = run_length(numbers + i, n - i);
			extend(&values, numbers[i]);
			extend(&lengths, length - 1);
			if (++filled < CSCAN_VECTOR)
				continue;
			*values_size += 4 + frame_size(filled, values);
			*lengths_size += 4 + frame_size(filled, lengths);
			values = lengths = nothing;
			filled = 0;
		}
	}
	if (filled == 0)
		return;
	*values_size += 4 + frame_size(filled, values);
	*lengths_size += 4 + frame_size(filled, lengths);
}

static void
offer(CScanSeriesPlan *plan, CScanEncoding encoding, size_t size)
{
	if (size >= plan->size)
		return;
	plan->encoding = encoding;
	plan->size = size;
}

void
cscan_series_plan(CScanSeriesPlan *plan)
{
	const CScanSource *source = &plan->source;
	int64_t		numbers[CSCAN_VECTOR];
	uint32_t	nvectors = cscan_vectors(source->n);
	Range		all;
	size_t		frame = CSCAN_SERIES_HEAD + 4 * (size_t) nvectors;
	size_t		delta = frame;
	size_t		lengths_size;

	if (source->minimum == source->maximum)
	{
		plan->encoding = CSCAN_ENCODING_CONSTANT;
		plan->size = CSCAN_SERIES_HEAD;
		return;
	}
	all.least = cscan_source_number(source, source->minimum);
	all.most = cscan_source_number(source, source->maximum);
	plan->nruns = 0;
	for (uint32_t v = 0; v < nvectors; v++)
	{
		uint32_t	n = cscan_source_load(source, v, numbers);
		Range		values;
		Range		differences;

		plan->nruns += measure(numbers, n, &values, &differences);
		frame += frame_size(n, values);
		delta += DELTA_HEAD - FRAME_HEAD + frame_size(n, differences);
	}

	/* Among equals the one that is decoded fastest. */
	plan->encoding = CSCAN_ENCODING_PLAIN;
	plan->size = CSCAN_SERIES_HEAD + (size_t) source->n * cscan_entry_bytes(distance(all));
	offer(plan, CSCAN_ENCODING_FRAME, frame);
	offer(plan, CSCAN_ENCODING_DELTA, delta);
	if (plan->nruns > source->n / 2)
		return;
	measure_runs(source, &plan->runs_size, &lengths_size);
	offer(plan, CSCAN_ENCODING_RUN_LENGTH,
		  CSCAN_SERIES_HEAD + 4 * (size_t) nvectors + plan->runs_size + lengths_size);
}

/* ------------------------------------------------------------------
 * Writing
 * ------------------------------------------------------------------ */

/* Write one block of n > 0 numbers. */
static uint8_t *
write_frame(uint8_t *out, const int64_t *numbers, uint32_t n)
{
	Range		range = {numbers[0], numbers[0]};
	unsigned	width;

	for (uint32_t i = 1; i < n; i++)
		extend(&range, numbers[i]);
	width = cscan_bits_width(distance(range));
	out = cscan_put_u64(out, (uint64_t) range.least);
	*out++ = (uint8_t) width;
	cscan_bits_pack(numbers, n, range.least, width, out);
	return out + cscan_bits_size(n, width);
}

/*
 * Likewise, of their differences.  The first has none; it takes the least, and
 * so adds nothing.
 */
static uint8_t *
write_delta(uint8_t *out, const int64_t *numbers, uint32_t n)
{
	int64_t		differences[CSCAN_VECTOR];
	Range		range = nothing;

	for (uint32_t i = 1; i < n; i++)
	{
		differences[i] = difference(numbers[i], numbers[i - 1]);
		extend(&range, differences[i]);
	}
	differences[0] = n > 1 ? range.least : 0;
	out = cscan_put_u64(out, (uint64_t) numbers[0]);
	return write_frame(out, differences, n);
}

static uint8_t *
write_blocks(const CScanSource *source, bool delta, uint8_t *out)
{
	int64_t		numbers[CSCAN_VECTOR];
	uint32_t	nvectors = cscan_vectors(source->n);
	uint8_t    *ends = out;
	uint8_t    *bytes = out + 4 * (size_t) nvectors;

	out = bytes;
	for (uint32_t v = 0; v < nvectors; v++)
	{
		uint32_t	n = cscan_source_load(source, v, numbers);

		out = delta ? write_delta(out, numbers, n) : write_frame(out, numbers, n);
		ends = cscan_put_u32(ends, (uint32_t) (out - bytes));
	}
	return out;
}

/* Blocks that are filled one number at a time. */
typedef struct Filling
{
	uint8_t    *ends;
	uint8_t    *bytes;
	uint8_t    *out;
	uint32_t	n;				/* numbers in the current one */
	int64_t		numbers[CSCAN_VECTOR];
} Filling;

static void
filling_begin(Filling *filling, uint32_t n, uint8_t *out)
{
	filling->ends = out;
	filling->bytes = filling->out = out + 4 * (size_t) cscan_vectors(n);
	filling->n = 0;
}

static void
filling_end_block(Filling *filling)
{
	if (filling->n == 0)
		return;
	filling->out = write_frame(filling->out, filling->numbers, filling->n);
	filling->ends = cscan_put_u32(filling->ends, (uint32_t) (filling->out - filling->bytes));
	filling->n = 0;
}

static void
filling_add(Filling *filling, int64_t number)
{
	filling->numbers[filling->n++] = number;
	if (filling->n == CSCAN_VECTOR)
		filling_end_block(filling);
}

static uint8_t *
write_runs(const CScanSeriesPlan *plan, uint8_t *out)
{
	const CScanSource *source = &plan->source;
	int64_t		numbers[CSCAN_VECTOR];
	uint32_t	nvectors = cscan_vectors(source->n);
	uint32_t	nruns = 0;
	Filling		values;
	Filling		lengths;

	filling_begin(&values, plan->nruns, out + 4 * (size_t) nvectors);
	filling_begin(&lengths, plan->nruns, out + 4 * (size_t) nvectors + plan->runs_size);
	for (uint32_t v = 0; v < nvectors; v++)
	{
		uint32_t	n = cscan_source_load(source, v, numbers);
		uint32_t	length;

		for (uint32_t i = 0; i < n; i += length)
		{
			length = run_length(numbers + i, n - i);
			filling_add(&values, numbers[i]);
			filling_add(&lengths, length - 1);
			nruns++;
		}
		out = cscan_put_u32(out, nruns);
	}
	filling_end_block(&values);
	filling_end_block(&lengths);
	return lengths.out;
}

static uint8_t *
write_plain(const CScanSource *source, unsigned width, uint8_t *out)
{
	int64_t		numbers[CSCAN_VECTOR];
	uint64_t	least = (uint64_t) cscan_source_number(source, source->minimum);

	for (uint32_t v = 0; v < cscan_vectors(source->n); v++)
	{
		uint32_t	n = cscan_source_load(source, v, numbers);

		for (uint32_t i = 0; i < n; i++)
			out = cscan_put_entry(out, width, (uint64_t) numbers[i] - least);
	}
	return out;
}

uint8_t *
cscan_series_write(const CScanSeriesPlan *plan, uint8_t *out)
{
	const CScanSource *source = &plan->source;
	bool		plain = plan->encoding == CSCAN_ENCODING_PLAIN;
	bool		from_least = plain || plan->encoding == CSCAN_ENCODING_CONSTANT;
	unsigned	width = 0;

	if (plain)
		width = (unsigned) ((plan->size - CSCAN_SERIES_HEAD) / source->n);
	memset(out, 0, 8);
	out[0] = (uint8_t) plan->encoding;
	out[1] = (uint8_t) width;
	out = cscan_put_u64(out + 8, (uint64_t) (from_least ? source->minimum : source->base));
	out = cscan_put_u64(out, source->divisor.step);
	switch (plan->encoding)
	{
		case CSCAN_ENCODING_PLAIN:
			return write_plain(source, width, out);
		case CSCAN_ENCODING_FRAME:
			return write_blocks(source, false, out);
		case CSCAN_ENCODING_DELTA:
			return write_blocks(source, true, out);
		case CSCAN_ENCODING_RUN_LENGTH:
			return write_runs(plan, out);
		default:
			return out;
	}
}
