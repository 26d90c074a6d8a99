/*-------------------------------------------------------------------------
 *
 * harness.h
 *		What the policy core's tests share: pools on the heap, and shorthands
 *		for the things that every test does.
 *
 * The core is plain C, so its tests are too: no server, no clock, no disk.
 *
 *-------------------------------------------------------------------------
 */
#ifndef HARNESS_H
#define HARNESS_H

#include <stdbool.h>
#include <stdint.h>

#include "interest.h"
#include "policy.h"
#include "reporter.h"
#include "slots.h"
#include "status.h"

/* Of a CScanPolicyId, or of CSCAN_NPOLICIES for all of them at once. */
extern const char *policy_label(int policy);

/*
 * A pool with memory of its own: for so many scans and slots, MAX_HELPERS helpers,
 * POOL_SPACES tables and POOL_CHUNKS chunks; or within other limits.
 */
#define MAX_HELPERS	16
#define POOL_SPACES	32
#define POOL_CHUNKS	(4 * CSCAN_MAX_CHUNKS)
extern CScanPool *pool_create(int max_scans, int max_slots, uint32_t budget);
extern CScanPool *pool_create_limited(const CScanLimits *limits, uint32_t budget);
extern void pool_free(CScanPool *pool);

/* A table whose chunks may be loaded; it has room for TABLE_CHUNKS, or for nchunks. */
#define TABLE_CHUNKS	1024
extern int	table_add(CScanPool *pool, uint32_t chunk_blocks);
extern int	table_add_sized(CScanPool *pool, uint32_t chunk_blocks, uint32_t nchunks);

/* The number of a table's nth chunk, from 0 on.  The first table's begin with 0. */
extern uint32_t chunk_of(const CScanPool *pool, int table, uint32_t n);

/* A scan of some ranges of a table of nblocks, started. */
extern int	scan_ranges(CScanPool *pool, int table, CScanPolicyId policy, uint32_t nblocks,
						const CScanRange *ranges, uint32_t nranges, uint64_t now);

/* A scan of all of a table's nblocks, started. */
extern int	scan_all(CScanPool *pool, int table, CScanPolicyId policy,
					 uint32_t nblocks, uint64_t now);

/* A scan of chunks first..last of a table of nblocks, started. */
extern int	scan_add(CScanPool *pool, int table, CScanPolicyId policy,
					 uint32_t nblocks, uint32_t first, uint32_t last,
					 uint64_t now);

/* A layout of a chunk of so many blocks, with up to max_columns columns. */
extern CScanLayout random_layout(Random *random, uint32_t chunk_blocks, uint32_t max_columns);

/* A scan announces all of a table's nblocks. */
extern void announce_all(CScanPool *pool, int scan, int table, uint32_t nblocks);

/* A scan of all blocks of some tables, nblocks in each, started. */
extern int	scan_family(CScanPool *pool, const int *tables, int ntables, CScanPolicyId policy,
						uint32_t nblocks, uint64_t now);

/* Puts a whole chunk into a free slot, ready, loaded at "now"; the slot. */
extern int	chunk_put(CScanPool *pool, uint32_t chunk, uint64_t now);

/* Puts it there in flight. */
extern int	chunk_begin(CScanPool *pool, uint32_t chunk, uint64_t now);

/* Decides until there is a load or nothing; completes nothing. */
extern CScanAction decide(CScanPool *pool, uint64_t now);

/* The first run of blocks that a load consists of. */
extern CScanRun first_run(const CScanAction *act);

/*
 * Decides and completes the load at once.  Returns the chunk, CSCAN_NO_CHUNK
 * if nothing is to be loaded.
 */
extern uint32_t load_one(CScanPool *pool, uint64_t now);

/* Takes the next chunk of a scan: its number, or CSCAN_NO_CHUNK. */
extern uint32_t use_next(CScanPool *pool, int scan, uint64_t now);

/*
 * The pool's own invariants (pool.h), each from what it follows from.  NULL if they
 * hold, else what does not.
 */
extern const char *pool_check(const CScanPool *pool);

/* The test files. */
extern void test_pool(void);
extern void test_spaces(void);
extern void test_families(void);
extern void test_ranges(void);
extern void test_relevance(void);
extern void test_columnar(void);
extern void test_demand(void);
extern void test_orders(void);
extern void test_keep(void);
extern void test_layout(void);
extern void test_balance(void);
extern void test_mixed(void);
extern void test_helpers(void);
extern void test_example(void);
extern void test_model(void);
extern void test_trace(void);
extern void test_starvation(void);
extern void test_starvation_from(int first);
extern void test_twin(void);

#endif							/* HARNESS_H */
