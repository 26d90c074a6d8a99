/*-------------------------------------------------------------------------
 *
 * cores.c
 *		See cores.h.
 *
 *-------------------------------------------------------------------------
 */
#include "cores.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Of a core (us): what rounding may leave of a job that is done. */
#define NOTHING_LEFT	1e-6

void
cores_init(Cores *cores, int ncores)
{
	memset(cores, 0, sizeof(*cores));
	cores->ncores = ncores;
}

void
cores_add_others(Cores *cores, double others)
{
	cores->others = others;
}

void
cores_free(Cores *cores)
{
	free(cores->jobs);
	cores->jobs = NULL;
}

/* How much of a core each job has. */
static double
pace(const Cores *cores)
{
	double		all = cores->njobs + cores->others;

	return all <= cores->ncores ? 1.0 : cores->ncores / all;
}

void
cores_advance(Cores *cores, uint64_t now)
{
	double		done;

	if (now <= cores->now)
		return;
	done = (double) (now - cores->now) * pace(cores);
	cores->progress += done;
	cores->busy += done * cores->njobs;
	cores->now = now;

	/* A new start where nobody minds: small numbers stay exact. */
	if (cores->njobs == 0)
		cores->progress = 0;
}

static bool
ends_before(const CoresJob *a, const CoresJob *b)
{
	return a->ends < b->ends || (a->ends == b->ends && a->order < b->order);
}

void
cores_add(Cores *cores, uint64_t now, int owner, double work)
{
	CoresJob	job;
	int			i;

	cores_advance(cores, now);
	if (cores->njobs == cores->max_jobs)
	{
		cores->max_jobs = cores->max_jobs == 0 ? 64 : 2 * cores->max_jobs;
		cores->jobs = realloc(cores->jobs, sizeof(CoresJob) * cores->max_jobs);
		if (cores->jobs == NULL)
			abort();
	}
	job.ends = cores->progress + work;
	job.order = cores->norders++;
	job.owner = owner;

	for (i = cores->njobs++; i > 0 && ends_before(&job, &cores->jobs[(i - 1) / 2]); i = (i - 1) / 2)
		cores->jobs[i] = cores->jobs[(i - 1) / 2];
	cores->jobs[i] = job;
}

uint64_t
cores_next(const Cores *cores)
{
	double		left;

	if (cores->njobs == 0)
		return SIM_NEVER;
	left = (cores->jobs[0].ends - cores->progress - NOTHING_LEFT) / pace(cores);
	return cores->now + (left > 0 ? (uint64_t) ceil(left) : 0);
}

int
cores_pop(Cores *cores, uint64_t now)
{
	int			owner;
	CoresJob	last;
	int			i = 0;

	cores_advance(cores, now);
	owner = cores->jobs[0].owner;
	last = cores->jobs[--cores->njobs];
	for (;;)
	{
		int			child = 2 * i + 1;

		if (child + 1 < cores->njobs && ends_before(&cores->jobs[child + 1], &cores->jobs[child]))
			child++;
		if (child >= cores->njobs || !ends_before(&cores->jobs[child], &last))
			break;
		cores->jobs[i] = cores->jobs[child];
		i = child;
	}
	cores->jobs[i] = last;
	return owner;
}
