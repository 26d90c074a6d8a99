/*-------------------------------------------------------------------------
 *
 * cost_main.c
 *		What a trace costs, in CPU time (doc/trace.md): make trace-cost
 *
 * Scans that read one table together, alone in memory, as fast as they can,
 * with records or without; and the same for the cheapest of all calls.  Each
 * figure is the least of a few runs.
 *
 *-------------------------------------------------------------------------
 */
#define _POSIX_C_SOURCE 200809L /* clock_gettime */

#include "harness.h"
#include "trace.h"

#include <stdio.h>
#include <time.h>

#define RUNS		7
#define RING		8192
#define CHEAP_CALLS	10000000

static CScanTraceRecord ring[RING];
static uint8_t bytes[RING][CSCAN_TRACE_RECORD_SIZE];
static uint64_t head;
static uint64_t ncalls;

static void
put(const CScanPool *pool, const CScanTraceRecord *r)
{
	(void) pool;
	ring[head++ % RING] = *r;
}

/* CPU time in nanoseconds. */
static double
cpu_time(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double) t.tv_sec * 1e9 + (double) t.tv_nsec;
}

/* One round of the manager; then each scan asks for a chunk.  How many have ended? */
static int
turn(CScanPool *pool, uint64_t *now)
{
	CScanAction act;
	int			ended = 0;

	(void) cscan_pool_useless(pool);
	(void) cscan_pool_release(pool);
	(void) cscan_pool_hold(pool);
	cscan_pool_decide(pool, *now += 10, &act);
	ncalls += 4;
	if (act.kind == CSCAN_ACT_LOAD)
	{
		cscan_pool_loaded(pool, act.slot, *now += 100, 100, false, false);
		ncalls++;
	}
	for (int i = 0; i < pool->state->limits.max_scans; i++)
	{
		if (!pool->scans[i].used)
			continue;
		ncalls++;
		if (cscan_pool_choose(pool, i, CSCAN_NONE, *now += 3) == CSCAN_NONE &&
			pool->scans[i].nwanted == 0)
		{
			cscan_pool_unregister(pool, i);
			ended++;
		}
	}
	return ended;
}

/* Nanoseconds a call. */
static double
run(int nscans, int nslots, uint32_t nchunks, bool traced)
{
	CScanPool  *pool = pool_create(nscans, nslots, (uint32_t) nslots * 8);
	int			table = table_add(pool, 8);
	uint64_t	now = 1000;
	double		time;
	int			left = nscans;

	pool->record = put;
	pool->state->traced = traced;
	for (int i = 0; i < nscans; i++)
		scan_all(pool, table, CSCAN_POLICY_RELEVANCE, nchunks * 8, now);
	ncalls = 0;
	time = cpu_time();
	while (left > 0)
		left -= turn(pool, &now);
	time = cpu_time() - time;
	pool_free(pool);
	return time / (double) ncalls;
}

static double
run_cheap(bool traced)
{
	CScanPool  *pool = pool_create(1, 8, 64);
	int			scan = scan_all(pool, table_add(pool, 8), CSCAN_POLICY_NORMAL, 800, 1);
	double		time;

	pool->record = put;
	pool->state->traced = traced;
	time = cpu_time();
	for (uint32_t i = 0; i < CHEAP_CALLS; i++)
		cscan_pool_set_position(pool, scan, i);
	time = cpu_time() - time;
	pool_free(pool);
	return time / CHEAP_CALLS;
}

static double
run_encode(void)
{
	double		time = cpu_time();

	for (int i = 0; i < CHEAP_CALLS; i++)
		cscan_trace_encode(&ring[i % RING], bytes[i % RING]);
	return (cpu_time() - time) / CHEAP_CALLS;
}

static void
keep_least(double *least, double time)
{
	if (*least == 0 || time < *least)
		*least = time;
}

int
main(void)
{
	static const int sizes[][3] = {{4, 32, 1024}, {16, 64, 1024}, {64, 256, 512}};
	double		off = 0;
	double		on = 0;
	double		encode = 0;

	for (int i = 0; i < RUNS; i++)
	{
		keep_least(&off, run_cheap(false));
		keep_least(&on, run_cheap(true));
		keep_least(&encode, run_encode());
	}
	printf("a record: %.1f ns for the caller, %.1f ns for the writer\n", on - off, encode);
	for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++)
	{
		off = on = 0;
		for (int i = 0; i < RUNS; i++)
		{
			keep_least(&off, run(sizes[s][0], sizes[s][1], (uint32_t) sizes[s][2], false));
			keep_least(&on, run(sizes[s][0], sizes[s][1], (uint32_t) sizes[s][2], true));
		}
		printf("%d scans, %d slots, %d chunks: a call %.0f ns, traced %.0f ns (%+.1f %%)\n",
			   sizes[s][0], sizes[s][1], sizes[s][2], off, on, (on / off - 1) * 100);
	}
	return 0;
}
