/*-------------------------------------------------------------------------
 *
 * distinct.h
 *		Finding the distinct values of a run, and giving each a code.
 *
 * Codes are given in the order in which the values first appear.  Rows that
 * lie close together then tend to have close codes, and a vector of codes
 * takes few bits, whatever the order of the values is.  To sort them would
 * cost time, and would help only comparisons, which the caller's collation or
 * type may order otherwise.
 *
 * The search is given up once a dictionary cannot pay:
 *	- there are more than 65,536 entries, or they alone take as many bytes as
 *	  the best encoding so far;
 *	- after 16,384 values, more than 7 of 8 of the last 4,096 were new.  Values
 *	  drawn evenly from 65,536 are less often new by then.
 *	- too many values have landed in the same places of the hash table.  Only
 *	  values made to do so can bring that about.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CSCAN_DISTINCT_H
#define CSCAN_DISTINCT_H

#include "source.h"

/* Strings as the caller has them: string i is lengths[i] bytes at bytes[i]. */
typedef struct CScanStrings
{
	uint32_t	n;
	const void *const *bytes;
	const uint32_t *lengths;
	const uint64_t *nulls;		/* or NULL */
} CScanStrings;

typedef struct CScanDistinct
{
	bool		complete;		/* all were found */
	uint32_t	count;			/* those found */
	uint64_t	bytes;			/* of strings: the bytes of these */
	uint16_t   *codes;			/* per row */
	int64_t    *numbers;		/* per entry, of integers: its number */
	uint32_t   *rows;			/* of strings: the first row that has it, */
	uint32_t   *hashes;			/* and its hash */

	/* The hash table: entry + 1, or 0. */
	uint32_t   *slots;
	uint32_t	mask;			/* slots - 1 */
	unsigned	shift;			/* a product's highest bits are a slot */
	uint64_t	patience;		/* steps that may still be in vain */
} CScanDistinct;

/* The bytes of memory that a search among n values needs, aligned to 8. */
extern size_t cscan_distinct_size(uint32_t n);

/*
 * Find the distinct numbers of a source or the distinct strings, unless their
 * entries take "limit" bytes; an entry is one of "width" bytes, or a string
 * and that.  A null row has the code of the row before it.
 */
extern void cscan_distinct_integers(CScanDistinct *distinct, const CScanSource *source, void *memory,
									unsigned width, size_t limit);
extern void cscan_distinct_strings(CScanDistinct *distinct, const CScanStrings *strings, void *memory,
								   unsigned width, size_t limit);

#endif							/* CSCAN_DISTINCT_H */
