/*-------------------------------------------------------------------------
 *
 * report.h
 *		What a run has shown, in the terms of the server's own statistics, as a
 *		table for people or as comma-separated values.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SIM_REPORT_H
#define SIM_REPORT_H

#include "engine.h"

typedef struct Report
{
	uint64_t	seed;
	const char *policy;
	int			queries;		/* that were finished */
	double		stream;			/* seconds, average: from a stream's first
								 * start to its last end */
	double		latency;		/* seconds of a query, average */
	double		normalised;		/* ... each over its time alone, cold */
	double		p50;
	double		p95;
	double		p99;
	double		total;			/* seconds from the first start to the last
								 * end */
	uint64_t	loads;
	double		megabytes;		/* transferred by the disk */
	uint64_t	seeks;
	uint64_t	delivered;
	uint64_t	evictions;
	uint64_t	self_reads;
	double		cpu;			/* percent of all cores */
	double		disk;			/* percent of the time */
	uint64_t	waits;
	double		wait_time;		/* seconds, sum */
	double		longest_wait;	/* seconds */
	uint64_t	most_loads;		/* during one wait */
	uint64_t	vain;			/* wake-ups for nothing */
	double		idle;			/* seconds that the disk was idle although a
								 * scan was blocked, with a reason */
	uint64_t	bound;			/* loads, for the observed deliveries, and */
	uint64_t	lifetime_bound; /* for the observed ends of scans */
} Report;

/*
 * How long each query of a plan takes alone, on a cold system (us).  The caller
 * frees it.
 */
extern double *report_alone(const SimConfig *config, const Plan *plan);

extern Report report_make(const Sim *sim, uint64_t seed, const double *alone);
extern void report_heading(FILE *file, bool csv);
extern void report_print(FILE *file, const Report *report, bool csv);

/* A line for each speed and size of query, or for each query. */
extern void report_kinds(FILE *file, const Sim *sim, const double *alone, bool csv);
extern void report_queries(FILE *file, const Sim *sim, uint64_t seed, const double *alone);

#endif							/* SIM_REPORT_H */
