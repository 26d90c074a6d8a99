/*-------------------------------------------------------------------------
 *
 * cores.h
 *		K cores, shared fairly by all who have work: processor sharing.
 *
 * While n jobs are there each gets min(1, K/n) of a core.  So all of them
 * progress at one pace, and it is enough to keep how much work each job that
 * has been there all the time would have had done: the common progress.  A job
 * ends when that has grown by the job's own work since it came.
 *
 * There may be others, too, who have work all the time and get their share.
 *
 * Times are in us.  A job ends at the first whole us at which its work is done.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SIM_CORES_H
#define SIM_CORES_H

#include <stdbool.h>
#include <stdint.h>

#define SIM_NEVER	UINT64_MAX

typedef struct CoresJob
{
	double		ends;			/* common progress at its end */
	uint64_t	order;			/* of equals the one that came first */
	int			owner;
} CoresJob;

typedef struct Cores
{
	int			ncores;
	double		others;			/* a mean, perhaps */
	uint64_t	now;			/* when progress was last brought up to date */
	double		progress;
	double		busy;			/* core-us that have been used */
	uint64_t	norders;
	int			njobs;
	int			max_jobs;
	CoresJob   *jobs;			/* a heap, the first to end on top */
} Cores;

extern void cores_init(Cores *cores, int ncores);
extern void cores_add_others(Cores *cores, double others);
extern void cores_free(Cores *cores);
extern void cores_advance(Cores *cores, uint64_t now);
extern void cores_add(Cores *cores, uint64_t now, int owner, double work);

/* When the next job ends, and whose it was; taken out at that time. */
extern uint64_t cores_next(const Cores *cores);
extern int	cores_pop(Cores *cores, uint64_t now);

#endif							/* SIM_CORES_H */
