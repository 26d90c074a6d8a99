/*-------------------------------------------------------------------------
 *
 * integers.h
 *		The body of a run of integers: a series, or a dictionary of them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CSCAN_INTEGERS_H
#define CSCAN_INTEGERS_H

#include "dictionary.h"

typedef struct CScanIntegersPlan
{
	CScanEncoding encoding;
	size_t		size;			/* exact, in bytes */
	uint32_t	ndistinct;		/* distinct values, 0: unknown */
	CScanSeriesPlan series;		/* of the values; its source has the extremes */
	CScanSeriesPlan codes;
	CScanDistinct distinct;
	unsigned	width;			/* bytes of an entry */
} CScanIntegersPlan;

typedef struct CScanIntegers
{
	CScanEncoding encoding;
	uint32_t	n;
	CScanSeries series;
	CScanDictionary dictionary;
} CScanIntegers;

/*
 * Choose an encoding for n integers, of which one is not null.  The memory has
 * cscan_distinct_size(n) bytes, and is used until they are written.
 */
extern void cscan_integers_plan(CScanIntegersPlan *plan, const int64_t *integers, uint32_t n,
								const uint64_t *nulls, void *memory);
extern uint8_t *cscan_integers_write(const CScanIntegersPlan *plan, uint8_t *out);

extern bool cscan_integers_open(CScanIntegers *integers, CScanEncoding encoding, uint32_t n,
								CScanCursor *cursor);

/* Decode a vector into an array of CSCAN_VECTOR. */
extern bool cscan_integers_read(const CScanIntegers *integers, uint32_t vector, int64_t *values,
								CScanDamage *damage);

#endif							/* CSCAN_INTEGERS_H */
