/*-------------------------------------------------------------------------
 *
 * main.c
 *		Runs the tests of column runs: all of them, or those that are named.
 *
 *-------------------------------------------------------------------------
 */
#include "harness.h"

static const TestSuite suites[] = {
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
	return tests_run(suites, sizeof(suites) / sizeof(suites[0]), argc, argv);
}
