/*-------------------------------------------------------------------------
 *
 * cost.c
 *		What the scheduling of a chunk costs, in CPU time.
 *
 * Scans of ranges at random places come, read and go, one as soon as another
 * has gone, on one table or on families of partitions; the disk is all that they
 * wait for: reading takes no time.  So every scan is starved nearly always, and
 * each load has to be chosen among them all.  All calls of the pool are timed
 * together: register, choose, decide, loaded, evictions, leave, and the search for
 * those to be woken; the time is divided by the chunks handed out.  Windows of many
 * chunks give a median and a spread.
 *
 * A scan of a family announces all of its spaces.  Some are leaf scans, of one space.
 *
 *		cost [--quick] [N]	prints a Markdown table, or the row of number N
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

/* The time that a scan takes to leave is looked at once in so many. */
#define LEAVE_SAMPLE	8

typedef struct Setting
{
	CScanPolicyId policy;
	int			scans;
	uint32_t	chunks;			/* of a table, as the administrator set them */
	uint32_t	percent;		/* that a scan reads at most; it is 1 to so
								 * many */
	uint32_t	spaces;			/* of a family; 0: there is one table */
	uint32_t	families;		/* each scan has its own if there are as many */
	uint32_t	leaves;			/* percent of the scans that read one space */
	uint32_t	columns;		/* of an index; 0: it is a table */
} Setting;

static const Setting settings[] = {
	{CSCAN_POLICY_RELEVANCE, 16, 1024, 100, 0, 0, 0, 0},
	{CSCAN_POLICY_RELEVANCE, 64, 16384, 100, 0, 0, 0, 0},
	{CSCAN_POLICY_RELEVANCE, 64, 16384, 1, 0, 0, 0, 0},
	{CSCAN_POLICY_RELEVANCE, 64, 65536, 100, 0, 0, 0, 0},
	{CSCAN_POLICY_RELEVANCE, 64, 262144, 100, 0, 0, 0, 0},
	{CSCAN_POLICY_RELEVANCE, 64, 1000000, 100, 0, 0, 0, 0},
	{CSCAN_POLICY_RELEVANCE, 128, 16384, 100, 0, 0, 0, 0},
	{CSCAN_POLICY_RELEVANCE, 256, 16384, 100, 0, 0, 0, 0},
	{CSCAN_POLICY_RELEVANCE, 512, 16384, 100, 0, 0, 0, 0},
	{CSCAN_POLICY_RELEVANCE, 1000, 16384, 100, 0, 0, 0, 0},
	{CSCAN_POLICY_RELEVANCE, 1000, 1000000, 100, 0, 0, 0, 0},
	{CSCAN_POLICY_RELEVANCE, 1000, 1000000, 1, 0, 0, 0, 0},
	{CSCAN_POLICY_DEMAND, 64, 16384, 100, 0, 0, 0, 0},
	{CSCAN_POLICY_DEMAND, 1000, 1000000, 100, 0, 0, 0, 0},
	{CSCAN_POLICY_NORMAL, 64, 16384, 100, 0, 0, 0, 0},
	{CSCAN_POLICY_ATTACH, 64, 16384, 100, 0, 0, 0, 0},
	{CSCAN_POLICY_ELEVATOR, 64, 16384, 100, 0, 0, 0, 0},

	/* An index of columns, of which each scan wants up to seven. */
	{CSCAN_POLICY_RELEVANCE, 16, 1024, 100, 0, 0, 0, 16},
	{CSCAN_POLICY_RELEVANCE, 64, 4096, 100, 0, 0, 0, 16},
	{CSCAN_POLICY_RELEVANCE, 64, 4096, 100, 0, 0, 0, 4},
	{CSCAN_POLICY_RELEVANCE, 64, 65536, 100, 0, 0, 0, 16},
	{CSCAN_POLICY_DEMAND, 64, 4096, 100, 0, 0, 0, 16},
	{CSCAN_POLICY_NORMAL, 64, 4096, 100, 0, 0, 0, 16},
	{CSCAN_POLICY_ELEVATOR, 64, 4096, 100, 0, 0, 0, 16},

	/* One family of 1,500 small partitions, which all scans read. */
	{CSCAN_POLICY_RELEVANCE, 64, 1, 100, 1500, 1, 0, 0},
	{CSCAN_POLICY_RELEVANCE, 64, 1, 100, 1500, 1, 50, 0},
	{CSCAN_POLICY_DEMAND, 64, 1, 100, 1500, 1, 0, 0},
	{CSCAN_POLICY_DEMAND, 64, 1, 100, 1500, 1, 50, 0},
	{CSCAN_POLICY_NORMAL, 64, 1, 100, 1500, 1, 0, 0},
	{CSCAN_POLICY_ATTACH, 64, 1, 100, 1500, 1, 0, 0},
	{CSCAN_POLICY_ELEVATOR, 64, 1, 100, 1500, 1, 0, 0},
	{CSCAN_POLICY_ELEVATOR, 64, 1, 100, 1500, 1, 50, 0},

	/* A family of 150 for each of them. */
	{CSCAN_POLICY_RELEVANCE, 64, 1, 100, 150, 64, 0, 0},
	{CSCAN_POLICY_RELEVANCE, 64, 1, 100, 150, 64, 50, 0},
	{CSCAN_POLICY_DEMAND, 64, 1, 100, 150, 64, 0, 0},
	{CSCAN_POLICY_ELEVATOR, 64, 1, 100, 150, 64, 0, 0},
	{CSCAN_POLICY_RELEVANCE, 64, 10, 100, 150, 64, 0, 0},

	/* A family of 1,500 for each of them: 96,000 tables. */
	{CSCAN_POLICY_RELEVANCE, 64, 1, 100, 1500, 64, 0, 0},
	{CSCAN_POLICY_DEMAND, 64, 1, 100, 1500, 64, 0, 0},
	{CSCAN_POLICY_NORMAL, 64, 1, 100, 1500, 64, 0, 0},
	{CSCAN_POLICY_ATTACH, 64, 1, 100, 1500, 64, 0, 0},
	{CSCAN_POLICY_ELEVATOR, 64, 1, 100, 1500, 64, 0, 0},

	/* Larger partitions; and more scans. */
	{CSCAN_POLICY_RELEVANCE, 64, 200, 100, 84, 1, 20, 0},
	{CSCAN_POLICY_RELEVANCE, 1000, 1, 100, 1500, 1, 20, 0},
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
	uint32_t	nblocks;		/* of a table, or of a partition */
	uint32_t	spaces;			/* of a family; they follow one another */
	uint64_t	now;
	int			loads[IN_FLIGHT];	/* slots */
	int			nloads;
	uint64_t	delivered;
	uint64_t	nloaded;
	int			nregistered;
	double		registering;	/* us, in all */
	double		first;			/* of the first one */
	int			nleft;
	int			nleft_sampled;
	double		leaving;		/* us, of these in all */
	double		adding;			/* us, of all spaces in all */
} Run;

static int
compare(const void *a, const void *b)
{
	double		x = *(const double *) a;
	double		y = *(const double *) b;

	return x < y ? -1 : x > y;
}

/* A range of the blocks of one space. */
static void
announce_range(Run *run, int scan, int space)
{
	uint32_t	grain = run->setting->columns > 0 ? run->pool.spaces[space].chunk_blocks : 1;
	uint32_t	length = (uint32_t) ((uint64_t) (run->nblocks / grain) * (1 + random_below(run->setting->percent)) / 100);
	CScanRange	range;

	if (length == 0)
		length = 1;
	range.first = random_below(run->nblocks / grain - length + 1) * grain;
	range.end = range.first + length * grain;
	cscan_pool_announce(&run->pool, scan, space, run->nblocks, &range, 1);
}

/* One to seven of an index's columns. */
static void
choose_columns(Run *run, int scan)
{
	uint64_t	columns = 0;

	for (uint32_t n = 1 + random_below(7); n > 0; n--)
		columns |= UINT64_C(1) << random_below(run->setting->columns);
	cscan_pool_set_columns(&run->pool, scan, columns, 0);
}

/* All of some spaces of a family that follow one another, as percent says. */
static void
announce_spaces(Run *run, int scan, uint32_t family)
{
	uint32_t	n = (run->spaces * (1 + random_below(run->setting->percent)) + 99) / 100;
	uint32_t	first = random_below(run->spaces - n + 1);
	CScanRange	all = {0, run->nblocks};

	if (random_below(100) < run->setting->leaves)
		n = 1;
	for (uint32_t i = 0; i < n; i++)
		cscan_pool_announce(&run->pool, scan, (int) (family * run->spaces + first + i), run->nblocks, &all, 1);
}

static void
begin_scan(Run *run, int number)
{
	const Setting *setting = run->setting;
	double		began = cpu_now();
	int			scan = cscan_pool_register(&run->pool, setting->policy, run->now);

	if (setting->spaces > 0)
		announce_spaces(run, scan, (uint32_t) number % setting->families);
	else
		announce_range(run, scan, 0);
	if (setting->columns > 0)
		choose_columns(run, scan);
	cscan_pool_start(&run->pool, scan, run->now);
	run->registering += cpu_now() - began;
	if (run->nregistered++ == 0)
		run->first = run->registering;
}

static void
end_scan(Run *run, int scan)
{
	double		began = 0;

	if (run->nleft++ % LEAVE_SAMPLE == 0)
		began = cpu_now();
	cscan_pool_unregister(&run->pool, scan);
	if (began > 0)
	{
		run->leaving += cpu_now() - began;
		run->nleft_sampled++;
	}
}

/* A scan reads all that there is for it; then it waits, or is done. */
static void
read_all(Run *run, int scan)
{
	while (cscan_pool_choose(&run->pool, scan, CSCAN_NONE, run->now) != CSCAN_NONE)
		run->delivered++;
	if (run->pool.scans[scan].nwanted == 0)
	{
		end_scan(run, scan);
		begin_scan(run, scan);
	}
}

/* Returns whether a load was begun. */
static bool
begin_load(Run *run)
{
	CScanAction act;

	do
		cscan_pool_decide(&run->pool, run->now, &act);
	while (act.kind == CSCAN_ACT_EVICT || act.kind == CSCAN_ACT_UNPIN || act.kind == CSCAN_ACT_TRIM);
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

/* A pool of so many chunks, with all of its spaces; returns its size. */
static size_t
create_pool(Run *run)
{
	const Setting *setting = run->setting;
	uint32_t	nspaces = setting->spaces > 0 ? setting->spaces * setting->families : 1;
	uint32_t	sizes[CSCAN_LAYOUT_COLUMNS];
	CScanLayout layout = {.ncolumns = 0};
	uint32_t	preferred = 4;	/* blocks */
	uint32_t	slots = nspaces * setting->chunks / 16;
	CScanLimits limits = {setting->scans, (int32_t) nspaces, 0, 0, 0};
	uint32_t	chunk_blocks;
	uint32_t	nchunks;
	double		began;

	if (slots > 1024)
		slots = 1024;
	for (uint32_t c = 0; c < setting->columns; c++)
		sizes[c] = c;
	cscan_layout_make(&layout, sizes, setting->columns);
	if (setting->columns > 0)
		preferred = cscan_layout_blocks(&layout);
	run->nblocks = setting->chunks * preferred;
	run->spaces = setting->spaces;
	nchunks = setting->chunks < CSCAN_MAX_CHUNKS ? setting->chunks : CSCAN_MAX_CHUNKS;
	limits.max_slots = (int32_t) slots * 4;
	limits.max_chunks = (nspaces * nchunks + 63) / 64 * 64;
	cscan_pool_attach(&run->pool, calloc(1, cscan_pool_size(&limits)), &limits);
	if (run->pool.state == NULL)
		abort();
	cscan_pool_init(&run->pool, &limits);
	cscan_pool_set_limits(&run->pool, slots * 64 + 8 * preferred, slots * 64 + 8 * preferred);
	chunk_blocks = cscan_pool_chunk_blocks(&run->pool, preferred, run->nblocks);
	cscan_pool_set_limits(&run->pool, slots * chunk_blocks, slots * chunk_blocks * 3 / 2);

	began = cpu_now();
	for (uint32_t i = 0; i < nspaces; i++)
	{
		int			space = cscan_pool_add_space(&run->pool, chunk_blocks,
												 cscan_space_chunks_for(chunk_blocks, run->nblocks), 0);

		if (setting->columns > 0)
			cscan_pool_set_columnar(&run->pool, space, &layout);
		cscan_pool_set_access(&run->pool, space, CSCAN_ACCESS_GRANTED);
	}
	run->adding = (cpu_now() - began) / nspaces;
	return cscan_pool_size(&limits);
}

static void
print_what(const Run *run)
{
	const Setting *setting = run->setting;
	uint32_t	nchunks = run->pool.spaces[0].nchunks;

	printf("| %s | %d | ", cscan_policies[setting->policy]->name, setting->scans);
	if (setting->columns > 0)
		printf("%u of %u columns | %u | ", setting->chunks, setting->columns, nchunks);
	else if (setting->spaces == 0)
		printf("%u | %u | ", setting->chunks, nchunks);
	else
		printf("%u x %u x %u, %u %% leaves | %u | ", setting->families, setting->spaces, nchunks, setting->leaves,
			   setting->families * setting->spaces * nchunks);
	printf("1 to %u %% | ", setting->percent);
}

static void
measure(const Setting *setting, bool quick)
{
	Run			run = {.setting = setting};
	uint64_t	window = (uint64_t) setting->scans * (quick ? 20 : 200);
	double		costs[WINDOWS];
	size_t		size;
	double		began;

	random_state = 1;
	size = create_pool(&run);
	for (int i = 0; i < setting->scans; i++)
		begin_scan(&run, i);

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
	print_what(&run);
	printf("%.1f | **%.2f** | %.2f to %.2f | %.1f | %.0f | %.1f | %.1f | %.1f |\n",
		   (double) run.delivered / (double) run.nloaded,
		   costs[WINDOWS / 2], costs[WINDOWS / 20], costs[WINDOWS - 1 - WINDOWS / 20],
		   run.registering / run.nregistered, run.first, run.nleft_sampled > 0 ? run.leaving / run.nleft_sampled : 0,
		   run.adding, (double) size / 1024 / 1024);
	fflush(stdout);
	free(run.pool.state);
}

int
main(int argc, char **argv)
{
	bool		quick = argc > 1 && strcmp(argv[1], "--quick") == 0;
	int			n = (int) (sizeof(settings) / sizeof(settings[0]));
	int			only = argc > 1 + quick ? atoi(argv[1 + quick]) : -1;

	puts("| policy | scans | chunks | decided over | ranges | delivered per load | a decision (us) | 5 to 95 % of the windows |"
		 " to register (us) | the first one | to leave (us) | to add a space (us) | pool (MB) |");
	puts("|---|---|---|---|---|---|---|---|---|---|---|---|---|");
	for (int i = 0; i < n; i++)
	{
		if (only < 0 || only == i)
			measure(&settings[i], quick);
	}
	return 0;
}
