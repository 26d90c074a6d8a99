/*-------------------------------------------------------------------------
 *
 * main.c
 *		Runs the policy core's tests: all of them, or those that are named.
 *
 *-------------------------------------------------------------------------
 */
#include "harness.h"

static const TestSuite suites[] = {
	{"pool", test_pool},
	{"spaces", test_spaces},
	{"ranges", test_ranges},
	{"families", test_families},
	{"relevance", test_relevance},
	{"columnar", test_columnar},
	{"demand", test_demand},
	{"orders", test_orders},
	{"keep", test_keep},
	{"layout", test_layout},
	{"balance", test_balance},
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
	return tests_run(suites, sizeof(suites) / sizeof(suites[0]), argc, argv);
}
