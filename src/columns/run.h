/*-------------------------------------------------------------------------
 *
 * run.h
 *		Column runs: the interface for everybody outside of this directory.
 *
 * A column run is a string of bytes that holds all values of one column in a
 * row group (format.h), either *integers* of 64 bits or *strings* of bytes.
 * The caller maps its types to one of the two: whole numbers, dates,
 * timestamps, booleans, the bits of floats and scaled numerics to integers,
 * everything else to strings.  Values come back bit by bit as they were.
 *
 * To write a run:
 *
 *		cscan_column_memory()	how much memory a plan needs
 *		cscan_column_plan()		choose the encoding; its exact size
 *		cscan_column_write()
 *
 * The encoding is the one of the smallest size, and each size is exact.  Only
 * compression must save an eighth more, since it costs the reader time.  What
 * is not measured to the end, and why, is said in series.h, distinct.h and
 * string_body.h.
 *
 * To read it:
 *
 *		cscan_column_open()			check all that does not depend on values
 *		cscan_column_use_scratch()	if it has frames
 *		cscan_column_nulls()		a vector's nulls,
 *		cscan_column_integers()		its integers,
 *		cscan_column_strings()		or its strings
 *
 *		cscan_column_codes()		the same in two steps, if there is a
 *		..._entries()				dictionary
 *
 * The run's bytes must stay as they are while it is open: what has been
 * checked is not checked again.  Vectors may be read in any order.  Strings
 * lie in the run itself if they are not compressed.  Else they lie in the
 * scratch, until the next vector is read.  They are not aligned.
 *
 * All of this is plain C: no allocation, no I/O, no errors but what is
 * returned.  The bytes, the memory and the scratch are the caller's.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CSCAN_RUN_H
#define CSCAN_RUN_H

#include "integers.h"
#include "string_body.h"

/* Words of a vector's null bitmap. */
#define CSCAN_NULL_WORDS	(CSCAN_VECTOR / 64)

/* Values to be written. */
typedef struct CScanColumnInput
{
	CScanColumnKind kind;
	uint32_t	nvalues;
	const uint64_t *nulls;		/* bit i % 64 of word i / 64: row i; or NULL */
	const int64_t *integers;	/* one of these; what nulls have is ignored */
	const void *const *strings;
	const uint32_t *lengths;
	CScanEncoding codec;		/* of strings: _LZ4, _ZSTD, or _NONE */
} CScanColumnInput;

typedef struct CScanColumnPlan
{
	CScanColumnHeader header;	/* has the encoding, and what was measured */
	size_t		size;			/* the run's, exact */
	CScanColumnInput input;
	CScanIntegersPlan integers;
	CScanStringsPlan strings;
} CScanColumnPlan;

/* An open run. */
typedef struct CScanColumnRun
{
	CScanColumnHeader header;
	const uint8_t *nulls;		/* or NULL */
	size_t		scratch_size;	/* that cscan_column_use_scratch() needs */
	CScanIntegers integers;
	CScanStringsBody strings;
} CScanColumnRun;

/*
 * Get the bytes of memory that a plan of these values needs, aligned to 8.
 * They are used until the run has been written, as the values are.  0: there
 * are too many values, or bytes.
 */
extern size_t cscan_column_memory(const CScanColumnInput *input);
extern void cscan_column_plan(CScanColumnPlan *plan, const CScanColumnInput *input, void *memory);

/* Write plan->size bytes. */
extern void cscan_column_write(const CScanColumnPlan *plan, void *out);

/*
 * Open a run of size bytes.  False, and damage, if that is not one; then it
 * must not be read.
 */
extern bool cscan_column_open(CScanColumnRun *run, const void *bytes, size_t size, CScanDamage *damage);

/* Give it run->scratch_size bytes, at most CSCAN_COLUMN_MAX_BYTES. */
extern void cscan_column_use_scratch(CScanColumnRun *run, void *scratch);

/* The vectors of a run, and the values in one. */
static inline uint32_t
cscan_column_vectors(const CScanColumnRun *run)
{
	return cscan_vectors(run->header.nvalues);
}

static inline uint32_t
cscan_column_values(const CScanColumnRun *run, uint32_t vector)
{
	return cscan_vector_values(run->header.nvalues, vector);
}

/* Get a vector's nulls; returns how many. */
extern uint32_t cscan_column_nulls(const CScanColumnRun *run, uint32_t vector,
								   uint64_t nulls[CSCAN_NULL_WORDS]);

/*
 * Decode a vector.  The arrays have room for CSCAN_VECTOR entries, whatever
 * the vector has.  What a null row gets is not defined, but its string is
 * empty.  False, and damage, if the vector is damaged; then all of the arrays
 * is undefined.
 */
extern bool cscan_column_integers(const CScanColumnRun *run, uint32_t vector, int64_t *values,
								  CScanDamage *damage);
extern bool cscan_column_strings(CScanColumnRun *run, uint32_t vector, const uint8_t **strings,
								 uint32_t *lengths, CScanDamage *damage);

/* The number of a dictionary's entries; 0 if there is none. */
extern uint32_t cscan_column_nentries(const CScanColumnRun *run);

/* Decode a vector's codes: numbers of entries.  A null row has any. */
extern bool cscan_column_codes(const CScanColumnRun *run, uint32_t vector, int64_t *codes,
							   CScanDamage *damage);

/* Get the entries of n codes: integers, or strings and lengths. */
extern void cscan_column_integer_entries(const CScanColumnRun *run, const int64_t *codes, uint32_t n,
										 int64_t *values);
extern void cscan_column_string_entries(const CScanColumnRun *run, const int64_t *codes, uint32_t n,
										const uint8_t **strings, uint32_t *lengths);

#endif							/* CSCAN_RUN_H */
