/*-------------------------------------------------------------------------
 *
 * cost.c
 *		What the scheduling of a chunk costs, in CPU time.
 *
 * Scans of ranges at random places come, read and go, one as soon as another
 * has gone, on one table; the disk is all that they wait for: reading takes no
 * time.  So every scan is starved nearly always, and each load has to be chosen
 * among them all.  All calls of the pool are timed together: register, choose,
 * decide, loaded, evictions, leave, and the search for those to be woken; the
 * time is divided by the chunks handed out.  Windows of many chunks give a
 * median and a spread.
 *
 *		cost [--quick]	prints a Markdown table
 *
 *-------------------------------------------------------------------------
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "policy.h"

#define LOAD_TIME		10000	/* us */
#define WINDOWS			41
#define IN_FLIGHT		2

typedef struct Setting
{
	CScanPolicyId policy;
	int			scans;
	uint32_t	chunks;			/* of the table, as the administrator set them */
	uint32_t	percent;		/* that a scan reads at most; it is 1 to so
								 * many */
} Setting;

static const Setting settings[] = {
	{CSCAN_POLICY_RELEVANCE, 16, 1024, 100},
	{CSCAN_POLICY_RELEVANCE, 64, 16384, 100},
	{CSCAN_POLICY_RELEVANCE, 64, 16384, 1},
	{CSCAN_POLICY_RELEVANCE, 64, 65536, 100},
	{CSCAN_POLICY_RELEVANCE, 64, 262144, 100},
	{CSCAN_POLICY_RELEVANCE, 64, 1000000, 100},
	{CSCAN_POLICY_RELEVANCE, 128, 16384, 100},
	{CSCAN_POLICY_RELEVANCE, 256, 16384, 100},
	{CSCAN_POLICY_RELEVANCE, 512, 16384, 100},
	{CSCAN_POLICY_RELEVANCE, 1000, 16384, 100},
	{CSCAN_POLICY_RELEVANCE, 1000, 1000000, 100},
	{CSCAN_POLICY_RELEVANCE, 1000, 1000000, 1},
	{CSCAN_POLICY_DEMAND, 64, 16384, 100},
	{CSCAN_POLICY_DEMAND, 1000, 1000000, 100},
	{CSCAN_POLICY_NORMAL, 64, 16384, 100},
	{CSCAN_POLICY_ATTACH, 64, 16384, 100},
	{CSCAN_POLICY_ELEVATOR, 64, 16384, 100},
};

static uint64_t random_state = 1;

static uint32_t
random_below(uint32_t bound)
{
	random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t) ((random_state >> 33) % bound);
}

static double
cpu_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double) t.tv_sec * 1e6 + (double) t.tv_nsec / 1e3;
}

typedef struct Run
{
	const Setting *setting;
	CScanPool	pool;
	int			table;
	uint32_t	nblocks;
	uint64_t	now;
	int			loads[IN_FLIGHT];	/* slots */
	int			nloads;
	uint64_t	delivered;
	uint64_t	nloaded;
	int			nregistered;
	double		registering;	/* us, in all */
} Run;

static int
compare(const void *a, const void *b)
{
	double		x = *(const double *) a;
	double		y = *(const double *) b;

	return x < y ? -1 : x > y;
}

static void
begin_scan(Run *run)
{
	uint32_t	length = (uint32_t) ((uint64_t) run->nblocks * (1 + random_below(run->setting->percent)) / 100);
	CScanRange	range;
	double		began = cpu_now();
	int			scan;

	range.first = random_below(run->nblocks - length + 1);
	range.end = range.first + length;
	scan = cscan_pool_register(&run->pool, run->table, run->setting->policy, run->nblocks,
							   &range, 1, run->now);
	cscan_pool_start(&run->pool, scan);
	run->registering += cpu_now() - began;
	run->nregistered++;
}

/* A scan reads all that there is for it; then it waits, or is done. */
static void
read_all(Run *run, int scan)
{
	while (cscan_pool_choose(&run->pool, scan, CSCAN_NONE, run->now) != CSCAN_NONE)
		run->delivered++;
	if (run->pool.scans[scan].needed == 0)
	{
		cscan_pool_unregister(&run->pool, scan);
		begin_scan(run);
	}
}

/* Returns whether a load was begun. */
static bool
begin_load(Run *run)
{
	CScanAction act;

	do
		cscan_pool_decide(&run->pool, run->now, &act);
	while (act.kind == CSCAN_ACT_EVICT || act.kind == CSCAN_ACT_UNPIN);
	if (act.kind == CSCAN_ACT_LOAD)
		run->loads[run->nloads++] = act.slot;
	return act.kind == CSCAN_ACT_LOAD;
}

/* One load, and what the scans make of it. */
static void
step(Run *run)
{
	CScanPool  *pool = &run->pool;
	int			slot;

	while (cscan_pool_release(pool) != CSCAN_NONE)
		;
	while (cscan_pool_hold(pool) != CSCAN_NONE)
		;
	while (run->nloads < IN_FLIGHT && begin_load(run))
		;
	if (run->nloads == 0)
	{
		/* Those that have just come have not asked yet. */
		for (int i = 0; i < run->setting->scans; i++)
			read_all(run, i);
		return;
	}
	run->now += LOAD_TIME;
	slot = run->loads[0];
	memmove(run->loads, run->loads + 1, sizeof(int) * (size_t) --run->nloads);
	cscan_pool_loaded(pool, slot, run->now, LOAD_TIME, false, false);
	run->nloaded++;
	for (int i = 0; i < run->setting->scans; i++)
	{
		if (cscan_pool_wants(pool, i, pool->slots[slot].chunk) &&
			cscan_pool_ready_for(pool, slot, i))
			read_all(run, i);
	}
}

static void
measure(const Setting *setting, bool quick)
{
	Run			run = {.setting = setting};
	uint32_t	preferred = 4;	/* blocks */
	int			slots = (int) (setting->chunks / 16 < 1024 ? setting->chunks / 16 : 1024);
	uint32_t	chunk_blocks;
	uint64_t	window = (uint64_t) setting->scans * (quick ? 20 : 200);
	double		costs[WINDOWS];
	void	   *memory;
	double		began;

	random_state = 1;
	run.nblocks = setting->chunks * preferred;
	memory = calloc(1, cscan_pool_size(setting->scans, 4 * slots, 0));
	if (memory == NULL)
		abort();
	cscan_pool_attach(&run.pool, memory, setting->scans, 4 * slots, 0);
	cscan_pool_init(&run.pool, setting->scans, 4 * slots, 0);
	cscan_pool_set_limits(&run.pool, (uint32_t) slots * 64, (uint32_t) slots * 64);
	chunk_blocks = cscan_pool_chunk_blocks(&run.pool, preferred, run.nblocks);
	cscan_pool_set_limits(&run.pool, (uint32_t) slots * chunk_blocks, (uint32_t) slots * chunk_blocks * 3 / 2);
	run.table = cscan_pool_add_table(&run.pool, chunk_blocks);
	cscan_pool_set_loadable(&run.pool, run.table, true);
	for (int i = 0; i < setting->scans; i++)
		begin_scan(&run);

	/* The first window is not counted: the pool has to fill. */
	for (int w = -1; w < WINDOWS; w++)
	{
		uint64_t	before = run.delivered;

		began = cpu_now();
		while (run.delivered < before + window)
			step(&run);
		if (w >= 0)
			costs[w] = (cpu_now() - began) / (double) (run.delivered - before);
	}
	qsort(costs, WINDOWS, sizeof(double), compare);
	printf("| %s | %d | %u | %u | 1 to %u %% | %.1f | **%.2f** | %.2f to %.2f | %.1f |\n",
		   cscan_policies[setting->policy]->name, setting->scans, setting->chunks,
		   (run.nblocks - 1) / chunk_blocks + 1, setting->percent,
		   (double) run.delivered / (double) run.nloaded,
		   costs[WINDOWS / 2], costs[WINDOWS / 20], costs[WINDOWS - 1 - WINDOWS / 20],
		   run.registering / run.nregistered);
	fflush(stdout);
	free(memory);
}

int
main(int argc, char **argv)
{
	bool		quick = argc > 1 && strcmp(argv[1], "--quick") == 0;

	puts("| policy | scans | chunks | decided over | ranges | delivered per load | a decision (us) | 5 to 95 % of the windows | to register (us) |");
	puts("|---|---|---|---|---|---|---|---|---|");
	for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++)
		measure(&settings[i], quick);
	return 0;
}
