#include "tests.h"
void test_mixes(void) {}
