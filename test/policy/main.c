/*-------------------------------------------------------------------------
 *
 * main.c
 *		Runs the policy core's tests: all of them, or those that are named.
 *
 *-------------------------------------------------------------------------
 */
#include "harness.h"

#include <stdio.h>
#include <string.h>

static const struct
{
	const char *name;
	void		(*run) (void);
}			suites[] = {
	{"pool", test_pool},
	{"spaces", test_spaces},
	{"ranges", test_ranges},
	{"families", test_families},
	{"relevance", test_relevance},
	{"demand", test_demand},
	{"orders", test_orders},
	{"keep", test_keep},
	{"mixed", test_mixed},
	{"helpers", test_helpers},
	{"example", test_example},
	{"model", test_model},
	{"trace", test_trace},
	{"starvation", test_starvation},
	{"twin", test_twin},
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
