/*-------------------------------------------------------------------------
 *
 * source.h
 *		Where the integers of a series come from, a vector at a time.
 *
 * A source is an array of the caller's, of one of three types, and a null
 * bitmap.  A null row takes the value before it, so it adds neither bits to a
 * frame nor a run.  The nulls that begin a vector take the first value that is
 * not null, so that a vector's range is that of its own values.
 *
 * A source whose values lie all on one grid gives their numbers on it: value =
 * base + number * step.  Timestamps that are whole seconds, or amounts that
 * are whole euros, come in steps.  The step is the greatest common divisor of
 * all differences.  Elsewhere the step is 1 and the base 0, and a number is
 * the value.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CSCAN_SOURCE_H
#define CSCAN_SOURCE_H

#include "format.h"

/* Division of multiples of a step by it, without a division. */
typedef struct CScanDivisor
{
	uint64_t	step;			/* odd << shift */
	uint64_t	inverse;		/* of odd, modulo 2^64 */
	uint64_t	most;			/* the most that a multiple can give */
	unsigned	shift;
} CScanDivisor;

typedef struct CScanSource
{
	uint32_t	n;
	const int64_t *integers;	/* one of these three, */
	const uint32_t *lengths;
	const uint16_t *codes;
	const uint64_t *nulls;		/* and this, if there are nulls */

	/* Of the values that are not null (cscan_source_measure). */
	int64_t		minimum;
	int64_t		maximum;
	int64_t		base;
	CScanDivisor divisor;
} CScanSource;

/*
 * Begin a source: the caller has set the fields up to "nulls", and a value is
 * not null.  Finds minimum, maximum and, if wanted, the step.
 */
extern void cscan_source_measure(CScanSource *source, bool steps);

/* Get a vector's numbers into an array of CSCAN_VECTOR; returns how many. */
extern uint32_t cscan_source_load(const CScanSource *source, uint32_t vector, int64_t *numbers);

/* The number of a value. */
static inline int64_t
cscan_source_number(const CScanSource *source, int64_t value)
{
	uint64_t	distance = (uint64_t) value - (uint64_t) source->base;

	return (int64_t) ((distance >> source->divisor.shift) * source->divisor.inverse);
}

static inline bool
cscan_is_null(const uint64_t *nulls, uint32_t row)
{
	return nulls != NULL && ((nulls[row / 64] >> (row % 64)) & 1);
}

/* Count the nulls among n rows. */
extern uint32_t cscan_count_nulls(const uint64_t *nulls, uint32_t n);

#endif							/* CSCAN_SOURCE_H */
