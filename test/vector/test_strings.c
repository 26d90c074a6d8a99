/*-------------------------------------------------------------------------
 *
 * test_strings.c
 *		Conditions on strings: random ones of few characters, so that many pass,
 *		against twins that try everything.
 *
 *-------------------------------------------------------------------------
 */
#include "harness.h"

#include <string.h>

#define LONGEST		12

/* A string of the first "alphabet" of these characters */
static uint32_t
random_string(Random *random, const char *characters, uint32_t alphabet, char *bytes)
{
	uint32_t	length = (uint32_t) random_below(random, LONGEST + 1);

	for (uint32_t i = 0; i < length; i++)
		bytes[i] = characters[random_below(random, alphabet)];
	return length;
}

static bool
matches(const char *pattern, uint32_t npattern, const char *bytes, uint32_t length)
{
	if (npattern == 0)
		return length == 0;
	if (pattern[0] != '%')
		return length > 0 && bytes[0] == pattern[0] && matches(pattern + 1, npattern - 1, bytes + 1, length - 1);
	for (uint32_t skip = 0; skip <= length; skip++)
	{
		if (matches(pattern + 1, npattern - 1, bytes + skip, length - skip))
			return true;
	}
	return false;
}

static void
test_like(Random *random)
{
	bool		right = true;
	bool		possible = true;
	uint64_t	passed = 0;
	CScanString pieces[LONGEST + 1];
	CScanStringTest test;

	for (uint64_t r = 0; r < rounds(); r++)
	{
		char		pattern[LONGEST];
		char		bytes[LONGEST];
		uint32_t	npattern = random_string(random, "%ab", 3, pattern);

		right &= cscan_string_test_like(&test, pattern, npattern, pieces) && test.n <= cscan_string_test_pieces(pattern, npattern);
		for (int i = 0; i < 8; i++)
		{
			uint32_t	length = random_string(random, "ab", 2, bytes);
			bool		passes = cscan_string_test_passes(&test, bytes, length);

			right &= passes == matches(pattern, npattern, bytes, length);
			possible &= !passes || cscan_string_test_may_pass(&test, length);
			passed += passes;
		}
	}
	ok(right, "LIKE passes what it should");
	ok(passed > rounds() / 2 && passed < 7 * rounds(), "many strings pass, and many do not");
	ok(possible, "none of those is too short");
	ok(!cscan_string_test_like(&test, "a_%", 3, pieces) && !cscan_string_test_like(&test, "\\%", 2, pieces),
	   "'_' and escapes are not known");
}

static void
test_sets(Random *random)
{
	static char bytes[20][LONGEST];
	bool		right = true;
	bool		possible = true;

	for (uint64_t r = 0; r < rounds(); r++)
	{
		CScanString strings[20];
		CScanString wanted[20];
		CScanStringTest test;
		uint32_t	n = (uint32_t) random_below(random, 20);

		for (uint32_t i = 0; i < 20; i++)
		{
			strings[i].bytes = bytes[i];
			strings[i].length = random_string(random, "a\0\xff", 3, bytes[i]) / 3;
			wanted[i] = strings[i];
		}
		cscan_string_test_set(&test, strings, n);
		for (uint32_t i = 0; i < 20; i++)
		{
			bool		passes = cscan_string_test_passes(&test, wanted[i].bytes, wanted[i].length);
			bool		is_there = false;

			for (uint32_t k = 0; k < n; k++)
				is_there |= wanted[k].length == wanted[i].length &&
					memcmp(wanted[k].bytes, wanted[i].bytes, wanted[i].length) == 0;
			right &= passes == is_there;
			possible &= !passes || cscan_string_test_may_pass(&test, wanted[i].length);
		}
	}
	ok(right, "of a set those pass that are in it");
	ok(possible, "and no others have such a length");
}

void
test_strings(void)
{
	Random		random = beginning();

	test_like(&random);
	test_sets(&random);
}
