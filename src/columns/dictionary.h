/*-------------------------------------------------------------------------
 *
 * dictionary.h
 *		Dictionaries: the distinct values of a run, and a code for each row.
 *
 * An entry is a number of an integer source, or a string.  The codes are a
 * series (series.h), so they may be packed, or be runs.  Entries are not
 * compressed further: a reader finds each by its code, without a table of its
 * own.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CSCAN_DICTIONARY_H
#define CSCAN_DICTIONARY_H

#include "distinct.h"
#include "series.h"

#define CSCAN_DICTIONARY_HEAD	8

typedef struct CScanDictionary
{
	uint32_t	n;				/* rows */
	uint32_t	nentries;
	unsigned	width;			/* bytes of an entry, or of a string's place */
	int64_t		base;			/* integers: value = base + entry * step */
	uint64_t	step;
	const uint8_t *entries;		/* strings: where each begins; then the end */
	const uint8_t *bytes;		/* strings: all of them */
	CScanSeries codes;			/* if there are several entries */
} CScanDictionary;

/* The exact sizes of what the two write functions write. */
extern size_t cscan_dictionary_integers_size(const CScanDistinct *distinct, unsigned width);
extern size_t cscan_dictionary_strings_size(const CScanDistinct *distinct);

/* Plan the series of n codes, of several entries. */
extern void cscan_dictionary_plan_codes(CScanSeriesPlan *codes, const CScanDistinct *distinct,
										uint32_t n);

/* Write a dictionary without its codes; returns the place behind it. */
extern uint8_t *cscan_dictionary_write_integers(const CScanDistinct *distinct, const CScanSource *source,
												unsigned width, uint8_t *out);
extern uint8_t *cscan_dictionary_write_strings(const CScanDistinct *distinct, const CScanStrings *strings,
											   uint8_t *out);

/* Open a dictionary and the codes of n rows. */
extern bool cscan_dictionary_open(CScanDictionary *dictionary, CScanColumnKind kind, uint32_t n,
								  CScanCursor *cursor);

/* Get the codes of a vector into an array of CSCAN_VECTOR; all are entries. */
extern bool cscan_dictionary_codes(const CScanDictionary *dictionary, uint32_t vector, int64_t *codes,
								   CScanDamage *damage);

/* Get n entries by their codes; "values" may be "codes". */
extern void cscan_dictionary_integers(const CScanDictionary *dictionary, const int64_t *codes, uint32_t n,
									  int64_t *values);
extern void cscan_dictionary_strings(const CScanDictionary *dictionary, const int64_t *codes, uint32_t n,
									 const uint8_t **strings, uint32_t *lengths);

#endif							/* CSCAN_DICTIONARY_H */
