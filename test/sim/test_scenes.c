#include "tests.h"
void test_scenes(void) {}
