/*-------------------------------------------------------------------------
 *
 * main.c
 *		Runs the tests of vectors: all of them, or those that are named.
 *
 *-------------------------------------------------------------------------
 */
#include "harness.h"

static const TestSuite suites[] = {
	{"program", test_program},
	{"predicates", test_predicates},
	{"states", test_states},
	{"groups", test_groups},
	{"numbering", test_numbering},
	{"strings", test_strings},
	{"floats", test_floats},
	{"calendar", test_calendar},
	{"timezones", test_timezones},
};

int
main(int argc, char **argv)
{
	return tests_run(suites, sizeof(suites) / sizeof(suites[0]), argc, argv);
}
