/*-------------------------------------------------------------------------
 *
 * reporter.h
 *		What all plain C tests share: a tiny test reporter, random numbers
 *		and memory.
 *
 * A test file is one function that takes no arguments and reports with ok().
 * The suite's main() names these functions, and tests_run() calls them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef REPORTER_H
#define REPORTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* "ok N - name" or "not ok N - name"; returns what it was given. */
extern bool ok(bool passed, const char *fmt,...)
			__attribute__((format(printf, 2, 3)));

/* Likewise; prints what it got if that is not what was expected. */
extern bool is_int(int64_t got, int64_t expected, const char *fmt,...)
			__attribute__((format(printf, 3, 4)));
extern bool is_double(double got, double expected, const char *fmt,...)
			__attribute__((format(printf, 3, 4)));

/* A line of comment. */
extern void note(const char *fmt,...) __attribute__((format(printf, 1, 2)));

/* Print the last line; returns the exit status. */
extern int	tests_finish(void);

typedef struct TestSuite
{
	const char *name;
	void		(*run) (void);
} TestSuite;

/* Run all of n suites, or those that the command line names, and finish. */
extern int	tests_run(const TestSuite *suites, size_t n, int argc, char **argv);

/* Memory that is all zeros; it is there, or the test ends. */
extern void *zeroed(size_t number, size_t size);

/* A number from the environment. */
extern uint64_t setting(const char *name, uint64_t otherwise);

/* A random number generator that is the same everywhere (splitmix64). */
typedef struct Random
{
	uint64_t	state;
} Random;

extern uint64_t random_next(Random *random);
extern uint32_t random_below(Random *random, uint32_t bound);
extern bool random_chance(Random *random, uint32_t percent);

#endif							/* REPORTER_H */
