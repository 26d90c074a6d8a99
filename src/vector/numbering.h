/*-------------------------------------------------------------------------
 *
 * numbering.h
 *		Strings as integers: each different one has a number.
 *
 * A short string is its own number: its length and its bytes.  Others have
 * numbers in the order in which they come.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CSCAN_NUMBERING_H
#define CSCAN_NUMBERING_H

#include "vector.h"

typedef struct CScanNumberedString
{
	uint32_t	hash;
	uint32_t	length;
	size_t		offset;
} CScanNumberedString;

typedef struct CScanNumbering
{
	CScanMemory memory;
	uint32_t	n;
	uint32_t	room;			/* a power of two */
	CScanNumberedString *entries;
	uint32_t   *buckets;		/* two for each entry; number + 1, or 0 */
	char	   *bytes;
	size_t		nbytes;
	size_t		bytes_room;
} CScanNumbering;

extern void cscan_numbering_begin(CScanNumbering *numbering, const CScanMemory *memory);

/* Forget all of them. */
extern void cscan_numbering_clear(CScanNumbering *numbering);

/* The bytes that they take. */
extern size_t cscan_numbering_size(const CScanNumbering *numbering);

/* The most bytes of a short string; numbers of others begin here. */
#define CSCAN_SHORT_STRING		7
#define CSCAN_FIRST_NUMBER		((int64_t) (CSCAN_SHORT_STRING + 1) << 56)

/* The number of a short string. */
static inline int64_t
cscan_numbering_short(const char *bytes, uint32_t length)
{
	uint64_t	number = (uint64_t) length << 56;

	for (uint32_t i = 0; i < length; i++)
		number |= (uint64_t) (uint8_t) bytes[i] << (8 * i);
	return (int64_t) number;
}

/*
 * Get the number of a string that is not short.  If none may be added, a string that
 * is new gets a negative number, which others may have, too.
 */
extern int64_t cscan_numbering_number(CScanNumbering *numbering, const char *bytes, uint32_t length, bool may_add);

/* Get a string; a short one is copied to "room". */
static inline const char *
cscan_numbering_string(const CScanNumbering *numbering, int64_t number, char room[CSCAN_SHORT_STRING], uint32_t *length)
{
	const CScanNumberedString *entry;

	if (number < CSCAN_FIRST_NUMBER)
	{
		*length = (uint32_t) (number >> 56);
		for (uint32_t i = 0; i < *length; i++)
			room[i] = (char) (number >> (8 * i));
		return room;
	}
	entry = &numbering->entries[number - CSCAN_FIRST_NUMBER];
	*length = entry->length;
	return numbering->bytes + entry->offset;
}

#endif							/* CSCAN_NUMBERING_H */
