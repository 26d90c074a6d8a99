/*-------------------------------------------------------------------------
 *
 * tests.h
 *		What the simulator's tests share; ok() and is_int() are those of all
 *		plain C tests (../plain/reporter.h).
 *
 *-------------------------------------------------------------------------
 */
#ifndef SIM_TESTS_H
#define SIM_TESTS_H

#include "engine.h"

/*
 * A small server: one table of so many chunks of 128 blocks (1 MB), which the
 * disk reads in 10 ms each; nothing but that takes time.
 */
#define TEST_CHUNK	128
#define TEST_LOAD	10000
extern SimConfig test_config(uint32_t chunks, uint32_t pool_chunks, int policy);

/* A query for chunks first..first + n - 1, whose chunks take so long. */
extern PlanQuery *test_query(Plan *plan, int stream, uint64_t start, uint64_t chunk_cpu,
							 uint32_t first, uint32_t n);

extern void test_parts(void);
extern void test_runs(void);
extern void test_plans(void);
extern void test_bound(void);
extern void test_scenes(void);
extern void test_mixes(void);
extern void test_partitions(void);
extern void test_columns(void);

#endif							/* SIM_TESTS_H */
