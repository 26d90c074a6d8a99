/*-------------------------------------------------------------------------
 *
 * source.c
 *		See source.h.
 *
 *-------------------------------------------------------------------------
 */
#include "source.h"

static CScanDivisor
divisor_of(uint64_t step)
{
	CScanDivisor d = {.step = step,.shift = (unsigned) __builtin_ctzll(step),.most = UINT64_MAX / step};
	uint64_t	odd = step >> d.shift;

	/* An odd number is its own inverse modulo 8.  A round doubles the bits. */
	d.inverse = odd;
	for (int bits = 3; bits < 64; bits *= 2)
		d.inverse *= 2 - odd * d.inverse;
	return d;
}

static bool
divides(const CScanDivisor *d, uint64_t number)
{
	uint64_t	x = number * d->inverse;

	/* Rotate.  What is no multiple has low bits, which come out on top. */
	if (d->shift > 0)
		x = x >> d->shift | x << (64 - d->shift);
	return x <= d->most;
}

static uint64_t
gcd(uint64_t a, uint64_t b)
{
	while (b != 0)
	{
		uint64_t	rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

uint32_t
cscan_count_nulls(const uint64_t *nulls, uint32_t n)
{
	uint32_t	count = 0;

	if (nulls == NULL)
		return 0;
	for (uint32_t w = 0; w < n / 64; w++)
		count += (uint32_t) __builtin_popcountll(nulls[w]);
	if (n % 64 > 0)
		count += (uint32_t) __builtin_popcountll(nulls[n / 64] << (64 - n % 64));
	return count;
}

/* Get the values of a vector, whatever those of its nulls are. */
static uint32_t
load_values(const CScanSource *source, uint32_t vector, int64_t *values)
{
	uint32_t	n = cscan_vector_values(source->n, vector);
	size_t		first = (size_t) vector * CSCAN_VECTOR;

	if (source->integers != NULL)
		memcpy(values, source->integers + first, n * sizeof(int64_t));
	else if (source->lengths != NULL)
	{
		for (uint32_t i = 0; i < n; i++)
			values[i] = source->lengths[first + i];
	}
	else
	{
		for (uint32_t i = 0; i < n; i++)
			values[i] = source->codes[first + i];
	}
	return n;
}

/* Fill in a vector's nulls; false if there is nothing else. */
static bool
fill_nulls(const uint64_t *nulls, uint32_t n, int64_t *values)
{
	uint32_t	first = 0;
	int64_t		last;

	while (first < n && cscan_is_null(nulls, first))
		first++;
	if (first == n)
		return false;
	last = values[first];
	for (uint32_t w = 0; w < (n + 63) / 64; w++)
	{
		if (nulls[w] == 0)
			continue;
		if (w > 0)
			last = values[w * 64 - 1];
		for (uint32_t i = w * 64; i < n && i < w * 64 + 64; i++)
		{
			if ((nulls[w] >> (i % 64)) & 1)
				values[i] = last;
			last = values[i];
		}
	}
	return true;
}

/* Get a vector's values, with those of its nulls; false if all are null. */
static bool
load_filled(const CScanSource *source, uint32_t vector, int64_t *values, uint32_t *n)
{
	*n = load_values(source, vector, values);
	return source->nulls == NULL || fill_nulls(source->nulls + vector * (CSCAN_VECTOR / 64), *n, values);
}

static void
find_extremes(CScanSource *source)
{
	int64_t		values[CSCAN_VECTOR];
	uint32_t	n;

	source->minimum = INT64_MAX;
	source->maximum = INT64_MIN;
	for (uint32_t v = 0; v < cscan_vectors(source->n); v++)
	{
		int64_t		minimum = source->minimum;
		int64_t		maximum = source->maximum;

		if (!load_filled(source, v, values, &n))
			continue;
		for (uint32_t i = 0; i < n; i++)
		{
			minimum = values[i] < minimum ? values[i] : minimum;
			maximum = values[i] > maximum ? values[i] : maximum;
		}
		source->minimum = minimum;
		source->maximum = maximum;
	}
}

/*
 * Find the greatest common divisor of all distances from the minimum.  Mostly
 * it is 1 after a few values.  Each time that a value is no multiple it is
 * halved at least, so there are no more than 64 divisions.
 */
static uint64_t
find_step(const CScanSource *source)
{
	int64_t		values[CSCAN_VECTOR];
	uint32_t	n;
	CScanDivisor divisor = {0};

	for (uint32_t v = 0; v < cscan_vectors(source->n); v++)
	{
		if (!load_filled(source, v, values, &n))
			continue;
		for (uint32_t i = 0; i < n; i++)
		{
			uint64_t	distance = (uint64_t) values[i] - (uint64_t) source->minimum;

			if (distance == 0 || (divisor.step != 0 && divides(&divisor, distance)))
				continue;
			divisor = divisor_of(gcd(distance, divisor.step));
			if (divisor.step == 1)
				return 1;
		}
	}
	return divisor.step;
}

void
cscan_source_measure(CScanSource *source, bool steps)
{
	uint64_t	step = 1;

	find_extremes(source);
	if (steps && source->minimum < source->maximum)
		step = find_step(source);
	source->divisor = divisor_of(step);
	source->base = step == 1 ? 0 : source->minimum;
}

uint32_t
cscan_source_load(const CScanSource *source, uint32_t vector, int64_t *numbers)
{
	uint32_t	n;
	bool		filled = load_filled(source, vector, numbers, &n);

	if (!filled)
	{
		for (uint32_t i = 0; i < n; i++)
			numbers[i] = source->minimum;
	}
	if (source->divisor.step != 1)
	{
		for (uint32_t i = 0; i < n; i++)
			numbers[i] = cscan_source_number(source, numbers[i]);
	}
	return n;
}
