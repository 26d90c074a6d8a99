/*-------------------------------------------------------------------------
 *
 * reporter.c
 *		See reporter.h.
 *
 *-------------------------------------------------------------------------
 */
#include "reporter.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int	passed_count;
static int	failed_count;

static void
report(bool passed, const char *fmt, va_list args)
{
	if (passed)
		passed_count++;
	else
		failed_count++;
	printf("%s %d - ", passed ? "ok" : "not ok", passed_count + failed_count);
	vprintf(fmt, args);
	putchar('\n');
	fflush(stdout);
}

bool
ok(bool passed, const char *fmt,...)
{
	va_list		args;

	va_start(args, fmt);
	report(passed, fmt, args);
	va_end(args);
	return passed;
}

bool
is_int(int64_t got, int64_t expected, const char *fmt,...)
{
	va_list		args;

	va_start(args, fmt);
	report(got == expected, fmt, args);
	va_end(args);
	if (got != expected)
		note("got %lld, expected %lld", (long long) got, (long long) expected);
	return got == expected;
}

bool
is_double(double got, double expected, const char *fmt,...)
{
	bool		same = got == expected || fabs(got - expected) < 1e-9;
	va_list		args;

	va_start(args, fmt);
	report(same, fmt, args);
	va_end(args);
	if (!same)
		note("got %g, expected %g", got, expected);
	return same;
}

void
note(const char *fmt,...)
{
	va_list		args;

	printf("# ");
	va_start(args, fmt);
	vprintf(fmt, args);
	va_end(args);
	putchar('\n');
	fflush(stdout);
}

int
tests_finish(void)
{
	printf("%d passed, %d failed\n", passed_count, failed_count);
	return failed_count == 0 ? 0 : 1;
}

int
tests_run(const TestSuite *suites, size_t n, int argc, char **argv)
{
	for (size_t i = 0; i < n; i++)
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

void *
zeroed(size_t number, size_t size)
{
	void	   *memory = calloc(number > 0 ? number : 1, size);

	if (memory == NULL)
		abort();
	return memory;
}

uint64_t
setting(const char *name, uint64_t otherwise)
{
	const char *value = getenv(name);

	return value == NULL || *value == '\0' ? otherwise : strtoull(value, NULL, 10);
}

uint64_t
random_next(Random *random)
{
	uint64_t	z = (random->state += UINT64_C(0x9e3779b97f4a7c15));

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

uint32_t
random_below(Random *random, uint32_t bound)
{
	return (uint32_t) (random_next(random) % bound);
}

bool
random_chance(Random *random, uint32_t percent)
{
	return random_below(random, 100) < percent;
}
