/*-------------------------------------------------------------------------
 *
 * sets.c
 *		Tallies: counts of set membership, written bit by bit.
 *
 * Adding a set is binary addition of 64 counts at once.  The carry that goes
 * from plane to plane is a word too, and is mostly soon empty.  See sets.h.
 *
 *-------------------------------------------------------------------------
 */
#include "sets.h"

/* This many words are added together, so that the compiler can use vectors. */
#define ABREAST		8

/* Add a word to the counts, from plane k on. */
static inline void
add_word(const CScanTally *tally, int k, uint32_t w, uint64_t carry)
{
	for (; carry != 0 && k < tally->nplanes; k++)
	{
		uint64_t   *word = &tally->plane[k][w];
		uint64_t	both = *word & carry;

		*word ^= carry;
		carry = both;
	}
}

static inline void
subtract_word(const CScanTally *tally, int k, uint32_t w, uint64_t borrow)
{
	for (; borrow != 0 && k < tally->nplanes; k++)
	{
		uint64_t   *word = &tally->plane[k][w];
		uint64_t	missing = ~*word & borrow;

		*word ^= borrow;
		borrow = missing;
	}
}

void
cscan_tally_add(const CScanTally *tally, const uint64_t *set, uint32_t first, uint32_t end)
{
	uint32_t	w = first;

	for (; w + ABREAST <= end; w += ABREAST)
	{
		uint64_t	carry[ABREAST];
		uint64_t	any = 0;

		for (int i = 0; i < ABREAST; i++)
		{
			carry[i] = set[w + i];
			any |= carry[i];
		}
		for (int k = 0; any != 0 && k < tally->nplanes; k++)
		{
			uint64_t   *word = tally->plane[k] + w;

			any = 0;
			for (int i = 0; i < ABREAST; i++)
			{
				uint64_t	both = word[i] & carry[i];

				word[i] ^= carry[i];
				carry[i] = both;
				any |= both;
			}
		}
	}
	for (; w < end; w++)
		add_word(tally, 0, w, set[w]);
}

void
cscan_tally_subtract(const CScanTally *tally, const uint64_t *set, uint32_t first, uint32_t end)
{
	uint32_t	w = first;

	for (; w + ABREAST <= end; w += ABREAST)
	{
		uint64_t	borrow[ABREAST];
		uint64_t	any = 0;

		for (int i = 0; i < ABREAST; i++)
		{
			borrow[i] = set[w + i];
			any |= borrow[i];
		}
		for (int k = 0; any != 0 && k < tally->nplanes; k++)
		{
			uint64_t   *word = tally->plane[k] + w;

			any = 0;
			for (int i = 0; i < ABREAST; i++)
			{
				uint64_t	missing = ~word[i] & borrow[i];

				word[i] ^= borrow[i];
				borrow[i] = missing;
				any |= missing;
			}
		}
	}
	for (; w < end; w++)
		subtract_word(tally, 0, w, set[w]);
}

void
cscan_tally_add_one(const CScanTally *tally, uint32_t n)
{
	add_word(tally, 0, n / 64, UINT64_C(1) << (n % 64));
}

void
cscan_tally_subtract_one(const CScanTally *tally, uint32_t n)
{
	subtract_word(tally, 0, n / 64, UINT64_C(1) << (n % 64));
}

uint32_t
cscan_tally_count(const CScanTally *tally, uint32_t n)
{
	uint32_t	count = 0;

	for (int k = 0; k < tally->nplanes; k++)
		count |= (uint32_t) cscan_set_has(tally->plane[k], n) << k;
	return count;
}

void
cscan_tally_lowest(const CScanTally *tally, uint64_t *set, uint32_t words)
{
	/* Numbers whose next bit is 0 are lower, if there are any. */
	for (int k = tally->nplanes; k-- > 0;)
	{
		const uint64_t *plane = tally->plane[k];
		uint64_t	lower = 0;

		for (uint32_t w = 0; w < words && lower == 0; w++)
			lower |= set[w] & ~plane[w];
		if (lower == 0)
			continue;
		for (uint32_t w = 0; w < words; w++)
			set[w] &= ~plane[w];
	}
}

void
cscan_tally_remove_counted(const CScanTally *tally, uint64_t *set, uint32_t words)
{
	for (int k = 0; k < tally->nplanes; k++)
	{
		for (uint32_t w = 0; w < words; w++)
			set[w] &= ~tally->plane[k][w];
	}
}

void
cscan_highest_begin(CScanHighest *search)
{
	search->nplanes = 0;
	search->found = false;
	search->number = 0;
	search->count = 0;
}

void
cscan_highest_add(CScanHighest *search, const CScanTally *tally)
{
	for (int k = tally->nplanes; k-- > 0;)
		search->plane[search->nplanes++] = tally->plane[k];
}

void
cscan_highest_try(CScanHighest *search, uint32_t word, uint64_t numbers)
{
	bool		higher = !search->found;
	uint64_t	count = 0;

	if (numbers == 0)
		return;

	/*
	 * Go from the highest bit down.  Numbers that have the bit beat those that
	 * do not.  While the best so far agrees with them, nothing is decided.  If
	 * it has the bit and none of them has, they have lost.
	 */
	for (int k = 0; k < search->nplanes; k++)
	{
		uint64_t	those = numbers & search->plane[k][word];
		uint64_t	bit = UINT64_C(1) << (search->nplanes - 1 - k);

		if (those != 0)
		{
			numbers = those;
			count |= bit;
			if (!(search->count & bit))
				higher = true;
		}
		else if (!higher && (search->count & bit))
			return;
	}
	if (higher)
	{
		search->found = true;
		search->number = word * 64 + (uint32_t) __builtin_ctzll(numbers);
		search->count = count;
	}
}

void
cscan_highest_tie(CScanHighest *search, uint32_t number, uint32_t from)
{
	uint64_t	count = 0;

	for (int k = 0; k < search->nplanes; k++)
		count = count << 1 | cscan_set_has(search->plane[k], number);
	if (!search->found || count > search->count ||
		(count == search->count && number - from < search->number - from))
	{
		search->found = true;
		search->number = number;
		search->count = count;
	}
}
