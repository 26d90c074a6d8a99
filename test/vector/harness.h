/*-------------------------------------------------------------------------
 *
 * harness.h
 *		What the tests of vectors share: random batches.
 *
 * Each test has a twin that looks at one row after the other.
 *
 *-------------------------------------------------------------------------
 */
#ifndef HARNESS_H
#define HARNESS_H

#include "reporter.h"

#include "group_table.h"
#include "numbering.h"
#include "predicate.h"
#include "program.h"
#include "states.h"
#include "string_test.h"

#define COLUMNS	4

/* Columns with values and nulls, and the rows that are selected */
typedef struct Batch
{
	uint32_t	nrows;
	int64_t		values[COLUMNS][CSCAN_BATCH];
	bool		isnull[COLUMNS][CSCAN_BATCH];
	bool		has_nulls[COLUMNS];
	bool		is_missing[COLUMNS];	/* cannot be loaded */
	bool		is_wide[COLUMNS];	/* has bounds that are too wide */
	CScanSelection selection;
} Batch;

extern const CScanMemory memory;
extern uint64_t rounds(void);
extern Random beginning(void);

/* Fill a batch; "span" bounds the values of most columns, 0: they may be anything. */
extern void batch_fill(Batch *batch, Random *random, uint64_t span);

/* A column as a vector; it is a CScanProgram's load function. */
extern bool batch_load(void *arg, int column, const CScanSelection *selection, CScanVector *vector);

/* Some of a selection's rows. */
extern void some_of(CScanSelection *selection, Random *random, uint32_t percent);

extern void test_program(void);
extern void test_predicates(void);
extern void test_groups(void);
extern void test_states(void);
extern void test_numbering(void);
extern void test_strings(void);
extern void test_floats(void);
extern void test_calendar(void);
extern void test_timezones(void);

#endif							/* HARNESS_H */
