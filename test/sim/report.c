/*-------------------------------------------------------------------------
 *
 * report.c
 *		See report.h.
 *
 *-------------------------------------------------------------------------
 */
#include "report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define US	1000000.0

/* ------------------------------------------------------------------
 * Alone
 * ------------------------------------------------------------------ */

static bool
same_query(const PlanQuery *a, const PlanQuery *b)
{
	return a->block_cpu == b->block_cpu && a->table == b->table && a->nranges == b->nranges &&
		memcmp(a->ranges, b->ranges, sizeof(CScanRange) * a->nranges) == 0;
}

static double
run_alone(const SimConfig *config, const PlanQuery *query)
{
	SimConfig	quiet = *config;
	Plan	   *plan = plan_create();
	PlanQuery  *only = plan_add(plan, 0, 0, query->speed, query->block_cpu, query->table);
	Sim		   *sim;
	double		time;

	for (uint32_t i = 0; i < query->nranges; i++)
		plan_add_range(only, query->ranges[i].first, query->ranges[i].end);

	/* Under one policy, so that those that are compared have one measure. */
	quiet.policy = CSCAN_POLICY_NORMAL;
	quiet.max_scans = 1;
	quiet.log = false;
	quiet.check_every = 0;
	sim = sim_create(&quiet, plan);
	sim_run(sim);
	time = (double) (sim->results[0].end - sim->results[0].start);
	sim_free(sim);
	plan_free(plan);
	return time > 0 ? time : 1;
}

double *
report_alone(const SimConfig *config, const Plan *plan)
{
	double	   *alone = calloc(plan->nqueries + 1, sizeof(double));

	if (alone == NULL)
		abort();
	for (int i = 0; i < plan->nqueries; i++)
	{
		/* Of the last few hundred one may have been the same. */
		for (int j = i - 1; j >= 0 && j >= i - 500 && alone[i] == 0; j--)
		{
			if (same_query(&plan->queries[i], &plan->queries[j]))
				alone[i] = alone[j];
		}
		if (alone[i] == 0)
			alone[i] = run_alone(config, &plan->queries[i]);
	}
	return alone;
}

/* ------------------------------------------------------------------
 * One run
 * ------------------------------------------------------------------ */

static int
by_size(const void *a, const void *b)
{
	double		x = *(const double *) a;
	double		y = *(const double *) b;

	return x < y ? -1 : x > y;
}

/* Of sorted values the one that so many percent do not exceed. */
static double
percentile(const double *values, int n, double percent)
{
	int			i = (int) ceil(n * percent / 100) - 1;

	return n == 0 ? 0 : values[i < 0 ? 0 : i];
}

static void
add_latencies(const Sim *sim, const double *alone, Report *report)
{
	double	   *latencies = calloc(sim->plan->nqueries + 1, sizeof(double));
	int			n = 0;

	if (latencies == NULL)
		abort();
	for (int i = 0; i < sim->plan->nqueries; i++)
	{
		const SimResult *result = &sim->results[i];

		if (!result->done || sim->plan->endless[sim->plan->queries[i].stream])
			continue;
		latencies[n++] = (double) (result->end - result->start) / US;
		report->latency += latencies[n - 1];
		report->normalised += latencies[n - 1] * US / alone[i];
	}
	report->queries = n;
	if (n > 0)
	{
		report->latency /= n;
		report->normalised /= n;
	}
	qsort(latencies, n, sizeof(double), by_size);
	report->p50 = percentile(latencies, n, 50);
	report->p95 = percentile(latencies, n, 95);
	report->p99 = percentile(latencies, n, 99);
	free(latencies);
}

static void
add_streams(const Sim *sim, Report *report)
{
	uint64_t	first = SIM_NEVER;
	int			n = 0;

	for (int i = 0; i < sim->nstreams; i++)
	{
		const SimStream *stream = &sim->streams[i];

		if (stream->first_start < first)
			first = stream->first_start;
		if (sim->plan->endless[i] || stream->nqueries == 0 || stream->end == 0)
			continue;
		report->stream += (double) (stream->end - stream->first_start) / US;
		n++;
	}
	if (n > 0)
		report->stream /= n;
	if (first != SIM_NEVER)
		report->total = (double) (sim->now - first) / US;
}

Report
report_make(const Sim *sim, uint64_t seed, const double *alone)
{
	const SimStats *stats = &sim->stats;
	Report		report = {0};

	report.seed = seed;
	report.policy = policy_label(sim->config.policy);
	add_latencies(sim, alone, &report);
	add_streams(sim, &report);
	report.loads = stats->loads;
	report.megabytes = (double) sim->disk.blocks * BLOCK_BYTES / (1024 * 1024);
	report.seeks = sim->disk.nseeks;
	report.delivered = stats->delivered;
	report.evictions = stats->evictions;
	report.self_reads = stats->self_reads;
	if (report.total > 0)
	{
		report.cpu = 100 * sim->cores.busy / US / report.total / sim->config.cores;
		report.disk = 100 * sim->disk.busy / US / report.total;
	}
	report.waits = stats->waits;
	report.wait_time = (double) stats->wait_time / US;
	report.longest_wait = (double) stats->longest_wait / US;
	report.most_loads = stats->most_loads;
	report.vain = stats->vain;
	report.idle = (double) (stats->idle_elevator + stats->idle_relevance + stats->idle_taken) / US;
	if (sim->config.log)
	{
		report.bound = sim_bound(sim, false);
		report.lifetime_bound = sim_bound(sim, true);
	}
	return report;
}

/* Loads of all kinds over a bound. */
static double
ratio(const Report *report, uint64_t bound)
{
	return bound == 0 ? 0 : (double) (report->loads + report->self_reads) / (double) bound;
}

void
report_heading(FILE *file, bool csv)
{
	if (csv)
		fprintf(file, "seed,policy,queries,stream_s,latency_s,normalised,p50_s,p95_s,p99_s,total_s,loads,read_mb,seeks,"
				"delivered,evictions,self_reads,cpu_percent,disk_percent,waits,wait_s,longest_wait_s,most_loads,"
				"vain_wakes,idle_s,bound,loads_per_bound,lifetime_bound,loads_per_lifetime_bound\n");
	else
		fprintf(file, "%6s %-10s %9s %10s %9s %9s %9s %7s %9s %9s %6s %6s %8s %9s %9s %7s %7s %7s\n",
				"seed", "policy", "stream s", "latency s", "norm. x", "p95 s", "total s", "loads", "read MB",
				"chunks", "CPU %", "disk %", "waits", "waits s", "longest s", "loads", "/bound", "/life");
}

void
report_print(FILE *file, const Report *r, bool csv)
{
	if (csv)
		fprintf(file, "%llu,%s,%d,%.6f,%.6f,%.6f,%.6f,%.6f,%.6f,%.6f,%llu,%.3f,%llu,%llu,%llu,%llu,%.3f,%.3f,%llu,%.6f,%.6f,"
				"%llu,%llu,%.6f,%llu,%.4f,%llu,%.4f\n",
				(unsigned long long) r->seed, r->policy, r->queries, r->stream, r->latency, r->normalised, r->p50, r->p95,
				r->p99, r->total, (unsigned long long) r->loads, r->megabytes, (unsigned long long) r->seeks,
				(unsigned long long) r->delivered, (unsigned long long) r->evictions,
				(unsigned long long) r->self_reads, r->cpu, r->disk, (unsigned long long) r->waits, r->wait_time,
				r->longest_wait, (unsigned long long) r->most_loads, (unsigned long long) r->vain, r->idle,
				(unsigned long long) r->bound, ratio(r, r->bound), (unsigned long long) r->lifetime_bound,
				ratio(r, r->lifetime_bound));
	else
		fprintf(file, "%6llu %-10s %9.2f %10.2f %9.2f %9.2f %9.2f %7llu %9.0f %9llu %6.1f %6.1f %8llu %9.1f %9.2f %7llu %7.2f %7.2f\n",
				(unsigned long long) r->seed, r->policy, r->stream, r->latency, r->normalised, r->p95, r->total,
				(unsigned long long) r->loads, r->megabytes, (unsigned long long) r->delivered, r->cpu, r->disk,
				(unsigned long long) r->waits, r->wait_time, r->longest_wait, (unsigned long long) r->most_loads,
				ratio(r, r->bound), ratio(r, r->lifetime_bound));
}

/* ------------------------------------------------------------------
 * Queries
 * ------------------------------------------------------------------ */

typedef struct Kind
{
	PlanSpeed	speed;
	double		block_cpu;
	int			percent;		/* of its table */
	int			n;
	double		latency;
	double		alone;
	double		normalised;
	double		waits;
} Kind;

static int
by_kind(const void *a, const void *b)
{
	const Kind *x = a;
	const Kind *y = b;

	if (x->speed != y->speed)
		return x->speed < y->speed ? -1 : 1;
	if (x->block_cpu != y->block_cpu)
		return x->block_cpu < y->block_cpu ? -1 : 1;
	return x->percent - y->percent;
}

static Kind
kind_of(const Sim *sim, int query, const double *alone)
{
	const PlanQuery *q = &sim->plan->queries[query];
	const SimResult *result = &sim->results[query];
	Kind		kind = {q->speed, q->block_cpu, 0, 1, 0, 0, 0, 0};

	kind.percent = (int) floor(100.0 * plan_blocks(q) / sim->config.table_blocks[q->table] + 0.5);
	kind.latency = (double) (result->end - result->start) / US;
	kind.alone = alone[query] / US;
	kind.normalised = kind.latency / kind.alone;
	kind.waits = (double) result->wait_time / US;
	return kind;
}

void
report_kinds(FILE *file, const Sim *sim, const double *alone, bool csv)
{
	static const char *const speeds[] = {"fast", "slow", "other"};
	Kind	   *kinds = calloc(sim->plan->nqueries + 1, sizeof(Kind));
	int			n = 0;
	int			last = 0;

	if (kinds == NULL)
		abort();
	for (int i = 0; i < sim->plan->nqueries; i++)
	{
		if (sim->results[i].done)
			kinds[n++] = kind_of(sim, i, alone);
	}
	qsort(kinds, n, sizeof(Kind), by_kind);
	for (int i = 1; i < n; i++)
	{
		if (by_kind(&kinds[last], &kinds[i]) != 0)
		{
			kinds[++last] = kinds[i];
			continue;
		}
		kinds[last].n++;
		kinds[last].latency += kinds[i].latency;
		kinds[last].alone += kinds[i].alone;
		kinds[last].normalised += kinds[i].normalised;
		kinds[last].waits += kinds[i].waits;
	}
	for (int i = 0; i <= last && n > 0; i++)
	{
		const Kind *k = &kinds[i];

		fprintf(file, csv ? "kind,%s,%s,%d,%d,%.6f,%.6f,%.6f,%.6f\n" :
				"       %-10s %-5s %3d %%: %5d queries, latency %8.2f s, alone %8.2f s, normalised %6.2f, waited %8.2f s\n",
				policy_label(sim->config.policy), speeds[k->speed], k->percent, k->n, k->latency / k->n,
				k->alone / k->n, k->normalised / k->n, k->waits / k->n);
	}
	free(kinds);
}

void
report_queries(FILE *file, const Sim *sim, uint64_t seed, const double *alone)
{
	static const char *const speeds[] = {"fast", "slow", "other"};

	for (int i = 0; i < sim->plan->nqueries; i++)
	{
		const PlanQuery *query = &sim->plan->queries[i];
		const SimResult *result = &sim->results[i];

		if (!result->done)
			continue;
		fprintf(file, "%llu,%s,%d,%s,%d,%u,%u,%.6f,%.6f,%.6f,%llu,%.6f\n", (unsigned long long) seed,
				policy_label(sim->config.policy), query->stream, speeds[query->speed], query->table,
				query->ranges[0].first, plan_blocks(query), (double) result->start / US,
				(double) (result->end - result->start) / US, alone[i] / US,
				(unsigned long long) result->waits, (double) result->wait_time / US);
	}
}
