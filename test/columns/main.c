/*-------------------------------------------------------------------------
 *
 * main.c
 *		Runs the tests of column runs: all of them, or those that are named.
 *
 *-------------------------------------------------------------------------
 */
#include "harness.h"

static const struct
{
	const char *name;
	void		(*run) (void);
}			suites[] = {
	{"bits", test_bits},
	{"integers", test_integers},
	{"strings", test_strings},
	{"choice", test_choice},
	{"random", test_random},
	{"damage", test_damage},
	{"mutations", test_mutations},
};

int
main(int argc, char **argv)
{
	for (size_t i = 0; i < sizeof(suites) / sizeof(suites[0]); i++)
	{
		bool		wanted = argc < 2;

		for (int a = 1; a < argc; a++)
			wanted |= strcmp(argv[a], suites[i].name) == 0;
		if (!wanted)
			continue;
		note("%s", suites[i].name);
		suites[i].run();
	}
	return tests_finish();
}
