/*-------------------------------------------------------------------------
 *
 * string_test.h
 *		Conditions on strings, byte by byte: whether one is in a set, or matches a
 *		pattern of LIKE.
 *
 * A pattern is pieces with '%' between them.  If characters have more than one
 * byte, none may look like a part of another one, as in UTF-8.  Patterns with '_'
 * or with an escape are not known here.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CSCAN_STRING_TEST_H
#define CSCAN_STRING_TEST_H

#include "vector.h"

typedef struct CScanString
{
	const char *bytes;
	uint32_t	length;
} CScanString;

typedef enum CScanStringTestKind
{
	CSCAN_STRING_ONE_OF,
	CSCAN_STRING_LIKE
} CScanStringTestKind;

typedef struct CScanStringTest
{
	CScanStringTestKind kind;
	CScanString *strings;		/* the set, in order; or the pattern's pieces */
	uint32_t	n;
	bool		from_begin;		/* a match begins where the string does */
	bool		to_end;			/* it ends where the string does */
} CScanStringTest;

/* Make a test of a set; it keeps the array, and sorts it. */
extern void cscan_string_test_set(CScanStringTest *test, CScanString *strings, uint32_t n);

/* The most pieces that a pattern can have. */
extern uint32_t cscan_string_test_pieces(const char *pattern, uint32_t length);

/*
 * Make a test of a pattern; "pieces" has room for as many as it can have.  They point
 * into the pattern.  False if it is not known here.
 */
extern bool cscan_string_test_like(CScanStringTest *test, const char *pattern, uint32_t length, CScanString *pieces);

/* May a string of this length pass? */
extern bool cscan_string_test_may_pass(const CScanStringTest *test, uint32_t length);

/* Does a string pass? */
extern bool cscan_string_test_passes(const CScanStringTest *test, const char *bytes, uint32_t length);

#endif							/* CSCAN_STRING_TEST_H */
