/*-------------------------------------------------------------------------
 *
 * harness.h
 *		What the tests of column runs share: columns in memory, and the way
 *		there and back.
 *
 * Everything that is written or read lies in memory of exactly its size, so
 * that the address sanitizer sees a byte too many.
 *
 *-------------------------------------------------------------------------
 */
#ifndef HARNESS_H
#define HARNESS_H

#include "reporter.h"
#include "run.h"

/* A column in memory of its own. */
typedef struct Column
{
	CScanColumnInput input;
	uint64_t   *nulls;
	int64_t    *integers;
	void	  **strings;		/* each in memory of its own */
	uint32_t   *lengths;
} Column;

extern Column *column_create(CScanColumnKind kind, uint32_t n);
extern void column_set_string(Column *column, uint32_t row, const void *bytes, uint32_t length);
extern void column_set_null(Column *column, uint32_t row);
extern void column_free(Column *column);

/* A run of exactly its size. */
typedef struct Written
{
	CScanColumnPlan plan;		/* its memory has gone */
	uint8_t    *bytes;
	size_t		size;
} Written;

extern Written write_column(const Column *column);

/*
 * Write a column, read it in order and in another one, and compare everything.
 * Returns NULL, or what is wrong.  *encoding is what was chosen.
 */
extern const char *there_and_back(const Column *column, CScanEncoding *encoding, size_t *size);

/*
 * The same as a test; "expected" is the encoding that must be chosen, or -1.
 * Frees the column.
 */
extern bool round_trip(Column *column, int expected, const char *fmt,...)
			__attribute__((format(printf, 3, 4)));

extern const char *encoding_name(CScanEncoding encoding);

/* The codec that this build has, zstd rather than lz4; or _NONE. */
extern CScanEncoding some_codec(void);

/* Columns like TPC-H's (shapes.c); NULL behind the last one. */
typedef struct Shape
{
	const char *name;
	const char *what;
	Column	   *(*make) (uint32_t n, CScanEncoding codec);
	bool		has_codecs;		/* differs by codec */
} Shape;

extern const Shape shapes[];

/* The test files. */
extern void test_bits(void);
extern void test_integers(void);
extern void test_strings(void);
extern void test_choice(void);
extern void test_random(void);
extern void test_damage(void);
extern void test_mutations(void);

#endif							/* HARNESS_H */
