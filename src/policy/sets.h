/*-------------------------------------------------------------------------
 *
 * sets.h
 *		Sets of small numbers as bitmaps, and tallies of many such sets.
 *
 * A set is an array of words; the caller knows how many.  A *tally* counts,
 * for each number, the sets that it is in.  Its counts are written bit by bit
 * into bitmaps of their own, its planes: bit c of plane k is bit k of the
 * count of c.  So a whole set is added or subtracted 64 counts at a time, and
 * a search for the highest or lowest count goes plane by plane.
 *
 * Plain C, no allocation: the planes are the caller's.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CSCAN_SETS_H
#define CSCAN_SETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Counts are less than 2 to this power. */
#define CSCAN_MAX_PLANES	16

typedef struct CScanTally
{
	int			nplanes;		/* the lowest bits first */
	uint64_t   *plane[CSCAN_MAX_PLANES];
} CScanTally;

/* Words of a set of the numbers 0..n - 1. */
static inline uint32_t
cscan_set_words(uint32_t n)
{
	return (n + 63) / 64;
}

/* Planes of a tally of at most n sets. */
static inline int
cscan_tally_planes(uint32_t n)
{
	return n == 0 ? 0 : 32 - __builtin_clz(n);
}

static inline bool
cscan_set_has(const uint64_t *set, uint32_t n)
{
	return (set[n / 64] >> (n % 64)) & 1;
}

static inline void
cscan_set_add(uint64_t *set, uint32_t n)
{
	set[n / 64] |= UINT64_C(1) << (n % 64);
}

static inline void
cscan_set_remove(uint64_t *set, uint32_t n)
{
	set[n / 64] &= ~(UINT64_C(1) << (n % 64));
}

static inline void
cscan_set_put(uint64_t *set, uint32_t n, bool in)
{
	if (in)
		cscan_set_add(set, n);
	else
		cscan_set_remove(set, n);
}

/* The bits of the numbers n..last in the word that has n. */
static inline uint64_t
cscan_word_bits(uint32_t n, uint32_t last)
{
	uint64_t	bits = UINT64_MAX << (n % 64);

	return last / 64 == n / 64 ? bits & (UINT64_MAX >> (63 - last % 64)) : bits;
}

/* Add the numbers first..last. */
static inline void
cscan_set_add_range(uint64_t *set, uint32_t first, uint32_t last)
{
	for (uint32_t n = first; n <= last; n = (n / 64 + 1) * 64)
		set[n / 64] |= cscan_word_bits(n, last);
}

/* The first number in the set that is at least from, or -1. */
static inline int
cscan_set_next(const uint64_t *set, uint32_t words, uint32_t from)
{
	uint64_t	word;
	uint32_t	w = from / 64;

	if (w >= words)
		return -1;
	word = set[w] & (UINT64_MAX << (from % 64));
	while (word == 0)
	{
		if (++w >= words)
			return -1;
		word = set[w];
	}
	return (int) (w * 64 + (uint32_t) __builtin_ctzll(word));
}

/* The first number >= from that is not in the set; at most 64 * words. */
static inline int
cscan_set_next_gap(const uint64_t *set, uint32_t words, uint32_t from)
{
	uint64_t	word;
	uint32_t	w = from / 64;

	if (w >= words)
		return (int) (words * 64);
	word = ~set[w] & (UINT64_MAX << (from % 64));
	while (word == 0)
	{
		if (++w >= words)
			return (int) (words * 64);
		word = ~set[w];
	}
	return (int) (w * 64 + (uint32_t) __builtin_ctzll(word));
}

static inline uint32_t
cscan_set_count(const uint64_t *set, uint32_t words)
{
	uint32_t	n = 0;

	for (uint32_t w = 0; w < words; w++)
		n += (uint32_t) __builtin_popcountll(set[w]);
	return n;
}

/* Take out the numbers first..last. */
static inline void
cscan_set_remove_range(uint64_t *set, uint32_t first, uint32_t last)
{
	for (uint32_t n = first; n <= last; n = (n / 64 + 1) * 64)
		set[n / 64] &= ~cscan_word_bits(n, last);
}

/* Count the numbers first..last that are in the set. */
static inline uint32_t
cscan_set_count_range(const uint64_t *set, uint32_t first, uint32_t last)
{
	uint32_t	count = 0;

	for (uint32_t n = first; n <= last; n = (n / 64 + 1) * 64)
		count += (uint32_t) __builtin_popcountll(set[n / 64] & cscan_word_bits(n, last));
	return count;
}

/* Loop over the numbers of a set.  The body may take out the current one. */
#define CSCAN_SET_EACH(n, set, words) \
	for (int n = cscan_set_next((set), (words), 0); n >= 0; \
		 n = cscan_set_next((set), (words), (uint32_t) n + 1))

/* Add words first..end - 1 of a set to the tally, or subtract them. */
extern void cscan_tally_add(const CScanTally *tally, const uint64_t *set,
							uint32_t first, uint32_t end);
extern void cscan_tally_subtract(const CScanTally *tally, const uint64_t *set,
								 uint32_t first, uint32_t end);

/* The same for one number. */
extern void cscan_tally_add_one(const CScanTally *tally, uint32_t n);
extern void cscan_tally_subtract_one(const CScanTally *tally, uint32_t n);

extern uint32_t cscan_tally_count(const CScanTally *tally, uint32_t n);

/* Leave in the set only the numbers with the lowest count. */
extern void cscan_tally_lowest(const CScanTally *tally, uint64_t *set, uint32_t words);

/* Take out of the set the numbers whose count is above 0. */
extern void cscan_tally_remove_counted(const CScanTally *tally, uint64_t *set,
									   uint32_t words);

/* The numbers of a word whose count is above 0. */
static inline uint64_t
cscan_tally_counted(const CScanTally *tally, uint32_t word)
{
	uint64_t	counted = 0;

	for (int k = 0; k < tally->nplanes; k++)
		counted |= tally->plane[k][word];
	return counted;
}

/*
 * A search for the number with the highest count.  The caller offers words in
 * an order of its choice; among equals the first one offered wins.  A count
 * may span several tallies, the most important one first.
 */
typedef struct CScanHighest
{
	int			nplanes;
	const uint64_t *plane[2 * CSCAN_MAX_PLANES + 1];	/* the highest first */
	bool		found;
	uint32_t	number;			/* the best so far */
	uint64_t	count;			/* all bits of its count, the highest first */
} CScanHighest;

extern void cscan_highest_begin(CScanHighest *search);
extern void cscan_highest_add(CScanHighest *search, const CScanTally *tally);

/* Offer numbers of one word; among equals the lower one comes first. */
extern void cscan_highest_try(CScanHighest *search, uint32_t word, uint64_t numbers);

/*
 * Offer a number after all words.  It also wins over an equal one that comes
 * later in the order that goes up from "from" and then round.
 */
extern void cscan_highest_tie(CScanHighest *search, uint32_t number, uint32_t from);

#endif							/* CSCAN_SETS_H */
