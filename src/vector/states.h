/*-------------------------------------------------------------------------
 *
 * states.h
 *		What aggregates know of the rows that they have seen.
 *
 * A *state* is a few words in the memory of a group.  All zeros is the state of
 * no rows.  Those of one aggregate lie at the same place in each group.
 *
 * Sums of a batch fit into 128 bits, and so do those of 2^63 rows.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CSCAN_STATES_H
#define CSCAN_STATES_H

#include "vector.h"

/* Of count() */
typedef struct CScanCount
{
	int64_t		n;
} CScanCount;

/* Of sum() and avg() */
typedef struct CScanSum
{
	int64_t		n;				/* rows that are not null */
	CScanWide	sum;
} CScanSum;

/* Of min() and max() */
typedef struct CScanExtreme
{
	int64_t		n;
	int64_t		value;
} CScanExtreme;

/* Of sum() of floats */
typedef struct CScanFloatSum
{
	int64_t		n;
	double		sum;
} CScanFloatSum;

/* Of avg(), stddev() and the like of floats: their number, sum, and sum of squares of differences from the average */
typedef struct CScanFloatAverage
{
	double		n;
	double		sum;
	double		squares;
} CScanFloatAverage;

/* Of min() and max() of floats */
typedef struct CScanFloatExtreme
{
	int64_t		n;
	double		value;
} CScanFloatExtreme;

/* Where the states of an aggregate are. */
typedef struct CScanStatePlace
{
	char	   *groups;			/* the first group */
	size_t		group_size;
	size_t		offset;			/* of the state, in a group */
	const uint32_t *group_of;	/* of each selected row; NULL: all are in the
								 * first group */
} CScanStatePlace;

/*
 * Add the selected rows.  Without a vector count() counts all of them, else those
 * that are not null, as all others do.
 */
extern void cscan_state_count(const CScanStatePlace *place, const CScanVector *vector, const CScanSelection *selection);
extern void cscan_state_sum(const CScanStatePlace *place, const CScanVector *vector, const CScanSelection *selection);
extern void cscan_state_extreme(const CScanStatePlace *place, const CScanVector *vector, const CScanSelection *selection,
								bool maximum);

/*
 * The same of floats, in the order of the rows, as PostgreSQL's functions do it;
 * "single": each sum is rounded to 32 bits.  False if a sum has overflowed: then the
 * states are not defined.
 */
extern bool cscan_state_float_sum(const CScanStatePlace *place, const CScanVector *vector, const CScanSelection *selection,
								  bool single);
extern bool cscan_state_float_average(const CScanStatePlace *place, const CScanVector *vector,
									  const CScanSelection *selection);
extern void cscan_state_float_extreme(const CScanStatePlace *place, const CScanVector *vector,
									  const CScanSelection *selection, bool maximum);

#endif							/* CSCAN_STATES_H */
