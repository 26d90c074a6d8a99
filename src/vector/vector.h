/*-------------------------------------------------------------------------
 *
 * vector.h
 *		Vectors of integers, selections of rows, and memory.
 *
 *		predicate.c		which rows meet a condition
 *		string_test.c	which strings do
 *		program.c		arithmetic
 *		calendar.c		fields of dates
 *		timezone.c		local times of a time zone
 *		states.c		what aggregates know of rows
 *		group_table.c		the groups of rows with equal keys
 *		numbering.c		strings as integers
 *		vector.c		bounds, and selections as sets
 *
 * Calls go downwards only.
 *
 * A *batch* is up to CSCAN_BATCH rows.  A *vector* has one value for each, an
 * integer of 64 bits or null.  Numbers, dates and times are integers as they
 * are; numerics of one scale are multiples of a power of ten; a float is its 64
 * bits, and its vector has no bounds; a string is its number among those of its
 * column.  A *selection* says which of the rows still count.
 *
 * Invariant: no operation on integers overflows.  A vector has bounds, each
 * operation works out those of its result first, and what may not fit is not done
 * at all.  Floats and local times are computed first and looked at afterwards
 * (program.c).  What does not fit is not used: the caller lets somebody else compute
 * these rows, with that one's errors.
 *
 * All of this is plain C.  Memory is the caller's.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CSCAN_VECTOR_H
#define CSCAN_VECTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The most rows of a batch. */
#define CSCAN_BATCH		1024

/* 128 bits where memory is aligned to 64. */
typedef __int128 CScanWide __attribute__((aligned(8)));

typedef struct CScanVector
{
	const int64_t *values;		/* what a null row has is not defined */
	const bool *isnull;			/* NULL: no row is null */
	int64_t		minimum;		/* of rows that are selected and not null, or
								 * less */
	int64_t		maximum;		/* likewise, or more; less than "minimum":
								 * there is no such row */
} CScanVector;

/* Rows of a batch, in ascending order */
typedef struct CScanSelection
{
	uint32_t	n;
	uint16_t	rows[CSCAN_BATCH];
} CScanSelection;

/*
 * Memory that grows: resize(arg, old, size) is like realloc(), but aborts the
 * caller rather than return NULL.
 */
typedef struct CScanMemory
{
	void	   *(*resize) (void *arg, void *old, size_t size);
	void	   *arg;
} CScanMemory;

static inline bool
cscan_vector_is_null(const CScanVector *vector, uint32_t row)
{
	return vector->isnull != NULL && vector->isnull[row];
}

/* Floats, as their bits */
static inline double
cscan_float_of_bits(int64_t bits)
{
	union
	{
		int64_t		bits;
		double		value;
	}			both = {.bits = bits};

	return both.value;
}

static inline int64_t
cscan_bits_of_float(double value)
{
	union
	{
		double		value;
		int64_t		bits;
	}			both = {.value = value};

	return both.bits;
}

/*
 * An integer for a float, in SQL's order: NaN is equal to itself and greater than all
 * others, and -0 is 0.
 */
static inline int64_t
cscan_float_order(double value)
{
	int64_t		bits = cscan_bits_of_float(value);

	if (value != value)
		return INT64_MAX;
	if (value == 0)
		return 0;
	return bits >= 0 ? bits : bits ^ INT64_MAX;
}

/* Set the bounds to what the selected rows have. */
extern void cscan_vector_tighten(CScanVector *vector, const CScanSelection *selection);

/* Select all of n rows. */
extern void cscan_selection_all(CScanSelection *selection, uint32_t n);

/* What is in "all" and not in "part", which is a part of it. */
extern void cscan_selection_without(const CScanSelection *all, const CScanSelection *part, CScanSelection *rest);

/* Get the rows that are in both; "to" may be one of them. */
extern void cscan_selection_common(const CScanSelection *a, const CScanSelection *b, CScanSelection *to);

/* Add the rows of "more", of which none is in "to". */
extern void cscan_selection_add(CScanSelection *to, const CScanSelection *more);

#endif							/* CSCAN_VECTOR_H */
