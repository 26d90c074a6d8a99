/*-------------------------------------------------------------------------
 *
 * series_read.c
 *		How a series is opened and decoded (series.h).
 *
 * cscan_series_open() has checked where each block is, and its width.  To
 * decode a block needs no check but that of the lengths of runs.
 *
 *-------------------------------------------------------------------------
 */
#include "bits.h"
#include "series.h"
#include "wide.h"

/* ------------------------------------------------------------------
 * Opening
 * ------------------------------------------------------------------ */

/*
 * Open the blocks of n numbers.  "extra" are the bytes of a block before its
 * base.
 */
static bool
open_blocks(CScanBlocks *blocks, uint32_t n, uint32_t extra, CScanCursor *cursor)
{
	uint32_t	nblocks = cscan_vectors(n);

	blocks->n = n;
	blocks->ends = cscan_cursor_take(cursor, 4 * (size_t) nblocks);
	if (blocks->ends == NULL)
		return false;
	blocks->bytes = cursor->at;
	for (uint32_t b = 0; b < nblocks; b++)
	{
		const uint8_t *head = cscan_cursor_take(cursor, extra + 9);
		unsigned	width;

		if (head == NULL)
			return false;
		width = head[extra + 8];
		if (width > 64)
			return cscan_damaged(cursor->damage, CSCAN_DAMAGE_WIDTH, cursor->run, head + extra + 8);
		if (cscan_cursor_take(cursor, cscan_bits_size(cscan_vector_values(n, b), width)) == NULL)
			return false;
		if (cscan_get_u32(blocks->ends + 4 * (size_t) b) != (size_t) (cursor->at - blocks->bytes))
			return cscan_damaged(cursor->damage, CSCAN_DAMAGE_PLACE, cursor->run,
								 blocks->ends + 4 * (size_t) b);
	}
	return true;
}

/* Open runs: each vector has one at least, and at most as many as values. */
static bool
open_runs(CScanSeries *series, CScanCursor *cursor)
{
	uint32_t	nvectors = cscan_vectors(series->n);
	uint32_t	nruns = 0;

	series->run_ends = cscan_cursor_take(cursor, 4 * (size_t) nvectors);
	if (series->run_ends == NULL)
		return false;
	for (uint32_t v = 0; v < nvectors; v++)
	{
		const uint8_t *at = series->run_ends + 4 * (size_t) v;
		uint32_t	end = cscan_get_u32(at);

		if (end <= nruns || end - nruns > cscan_vector_values(series->n, v))
			return cscan_damaged(cursor->damage, CSCAN_DAMAGE_PLACE, cursor->run, at);
		nruns = end;
	}
	return open_blocks(&series->blocks, nruns, 0, cursor) &&
		open_blocks(&series->lengths, nruns, 0, cursor);
}

bool
cscan_series_open(CScanSeries *series, uint32_t n, CScanCursor *cursor)
{
	const uint8_t *head = cscan_cursor_take(cursor, CSCAN_SERIES_HEAD);

	if (head == NULL)
		return false;
	memset(series, 0, sizeof(*series));
	series->encoding = head[0];
	series->n = n;
	series->width = head[1];
	series->base = (int64_t) cscan_get_u64(head + 8);
	series->step = cscan_get_u64(head + 16);
	series->run = cursor->run;
	series->head = head;
	for (int i = 2; i < 8; i++)
	{
		if (head[i] != 0)
			return cscan_damaged(cursor->damage, CSCAN_DAMAGE_SERIES, cursor->run, head + i);
	}
	if (series->encoding == CSCAN_ENCODING_PLAIN ?
		!cscan_entry_bytes_valid(series->width) : series->width != 0)
		return cscan_damaged(cursor->damage, CSCAN_DAMAGE_WIDTH, cursor->run, head + 1);
	switch (series->encoding)
	{
		case CSCAN_ENCODING_CONSTANT:
			return true;
		case CSCAN_ENCODING_PLAIN:
			series->plain = cscan_cursor_take(cursor, (size_t) n * series->width);
			return series->plain != NULL;
		case CSCAN_ENCODING_FRAME:
			return open_blocks(&series->blocks, n, 0, cursor);
		case CSCAN_ENCODING_DELTA:
			return open_blocks(&series->blocks, n, 8, cursor);
		case CSCAN_ENCODING_RUN_LENGTH:
			return open_runs(series, cursor);
		default:
			return cscan_damaged(cursor->damage, CSCAN_DAMAGE_SERIES, cursor->run, head);
	}
}

/* ------------------------------------------------------------------
 * Decoding
 * ------------------------------------------------------------------ */

static const uint8_t *
block(const CScanBlocks *blocks, uint32_t b)
{
	return blocks->bytes + (b == 0 ? 0 : cscan_get_u32(blocks->ends + 4 * ((size_t) b - 1)));
}

/* Unpack rows first..first + nrows - 1 of a block. */
static void
unpack(const uint8_t *head, uint32_t first, uint32_t nrows, int64_t *numbers)
{
	cscan_bits_unpack(head + 9, first, nrows, (int64_t) cscan_get_u64(head), head[8], numbers);
}

/* Turn differences into numbers.  The first one stands for none. */
static void
add_up(const uint8_t *head, uint32_t n, int64_t *numbers)
{
	uint64_t	number = cscan_get_u64(head);

	numbers[0] = (int64_t) number;
	for (uint32_t i = 1; i < n; i++)
	{
		number += (uint64_t) numbers[i];
		numbers[i] = (int64_t) number;
	}
}

/* Turn numbers into values, a row at a time: the last one is whole. */
CSCAN_WIDE static void
to_values(uint64_t base, uint64_t step, uint32_t n, int64_t *numbers)
{
	if (step == 1 && base == 0)
		return;
	for (uint32_t r = 0; r < cscan_bits_rows(n); r++)
	{
		for (int l = 0; l < CSCAN_LANES; l++)
			numbers[l] = (int64_t) (base + (uint64_t) numbers[l] * step);
		numbers += CSCAN_LANES;
	}
}

static void
read_plain(const CScanSeries *series, uint32_t vector, uint32_t n, int64_t *values)
{
	const uint8_t *plain = series->plain + (size_t) vector * CSCAN_VECTOR * series->width;
	uint64_t	base = (uint64_t) series->base;
	uint64_t	step = series->step;

	switch (series->width)
	{
		case 1:
			for (uint32_t i = 0; i < n; i++)
				values[i] = (int64_t) (base + step * cscan_get_entry(plain, 1, i));
			break;
		case 2:
			for (uint32_t i = 0; i < n; i++)
				values[i] = (int64_t) (base + step * cscan_get_entry(plain, 2, i));
			break;
		case 4:
			for (uint32_t i = 0; i < n; i++)
				values[i] = (int64_t) (base + step * cscan_get_entry(plain, 4, i));
			break;
		default:
			for (uint32_t i = 0; i < n; i++)
				values[i] = (int64_t) (base + step * cscan_get_entry(plain, 8, i));
			break;
	}
}

/*
 * Decode a vector's runs.  They lie in one block or in two; of these only the
 * rows that have them are unpacked.
 */
static bool
read_runs(const CScanSeries *series, uint32_t vector, uint32_t n, int64_t *values, CScanDamage *damage)
{
	int64_t		numbers[CSCAN_VECTOR];
	int64_t		lengths[CSCAN_VECTOR];
	const uint8_t *at = series->run_ends + 4 * (size_t) vector;
	uint32_t	run = vector == 0 ? 0 : cscan_get_u32(at - 4);
	uint32_t	end = cscan_get_u32(at);
	uint32_t	done = 0;

	while (run < end)
	{
		uint32_t	b = run / CSCAN_VECTOR;
		uint32_t	first = run % CSCAN_VECTOR / CSCAN_LANES;
		uint32_t	behind = b * CSCAN_VECTOR + cscan_vector_values(series->blocks.n, b);
		uint32_t	begin = b * CSCAN_VECTOR + first * CSCAN_LANES;

		if (behind > end)
			behind = end;
		unpack(block(&series->blocks, b), first, cscan_bits_rows(behind - begin), numbers);
		unpack(block(&series->lengths, b), first, cscan_bits_rows(behind - begin), lengths);
		for (; run < behind; run++)
		{
			int64_t		number = numbers[run - begin];
			uint64_t	more = (uint64_t) lengths[run - begin];

			if (more >= n - done)
				return cscan_damaged(damage, CSCAN_DAMAGE_RUNS, series->run, at);
			for (uint32_t last = done + (uint32_t) more; done <= last; done++)
				values[done] = number;
		}
	}
	return done == n || cscan_damaged(damage, CSCAN_DAMAGE_RUNS, series->run, at);
}

bool
cscan_series_read(const CScanSeries *series, uint32_t vector, int64_t *values, CScanDamage *damage)
{
	uint32_t	n = cscan_vector_values(series->n, vector);
	const uint8_t *head;

	switch (series->encoding)
	{
		case CSCAN_ENCODING_CONSTANT:
			for (uint32_t i = 0; i < n; i++)
				values[i] = series->base;
			return true;
		case CSCAN_ENCODING_PLAIN:
			read_plain(series, vector, n, values);
			return true;
		case CSCAN_ENCODING_FRAME:
			unpack(block(&series->blocks, vector), 0, cscan_bits_rows(n), values);
			break;
		case CSCAN_ENCODING_DELTA:
			head = block(&series->blocks, vector);
			unpack(head + 8, 0, cscan_bits_rows(n), values);
			add_up(head, n, values);
			break;
		default:
			if (!read_runs(series, vector, n, values, damage))
				return false;
			/* The last row is whole, as those that were unpacked. */
			for (uint32_t i = n; i < cscan_bits_rows(n) * CSCAN_LANES; i++)
				values[i] = 0;
			break;
	}
	to_values((uint64_t) series->base, series->step, n, values);
	return true;
}
