/*-------------------------------------------------------------------------
 *
 * workload.h
 *		What is asked: plans of queries, drawn from a seed or read from a file.
 *
 * A plan is a list of queries, each in a stream.  The queries of a stream run
 * one after the other, in the order of the plan; one begins when the one before
 * has ended, but not before its own start.  In an open loop every query is a
 * stream of its own.
 *
 * A plan file has one line for each query:
 *
 *		stream start speed first end [first end ...] [name=value ...]
 *
 *	stream		a number
 *	start		seconds from the beginning of the run
 *	speed		"fast", "slow", or CPU time for a block in us
 *	first end	a range of blocks, first..end - 1; the ranges are in order and
 *				do not overlap
 *	table=N		which table (0)
 *	policy=P	normal, attach, elevator, relevance or demand (that of the run)
 *	pause=N:S	having read N chunks and half of the next, it pauses for S
 *				seconds, as a cursor does that nobody fetches from
 *	columns=L	of an index of columns: those with these letters (all)
 *	endless=1	the stream begins again until all that are not endless are done
 *
 * What follows a # is a comment.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SIM_WORKLOAD_H
#define SIM_WORKLOAD_H

#include <stdio.h>

#include "harness.h"

/*
 * A table may be a family: it has so many partitions then, which are about equal
 * and follow one another.  Its blocks are numbered through all of them.
 */
#define PLAN_MAX_TABLES	64
#define PLAN_MAX_SIZES	64
#define PLAN_MAX_SETS	16
#define PLAN_ANY_POLICY	(-1)

typedef enum PlanSpeed
{
	PLAN_FAST,
	PLAN_SLOW,
	PLAN_OTHER					/* block_cpu says */
} PlanSpeed;

typedef struct PlanQuery
{
	int			stream;
	uint64_t	start;			/* us */
	PlanSpeed	speed;
	double		block_cpu;		/* us */
	int			table;
	int			policy;			/* a CScanPolicyId or PLAN_ANY_POLICY */
	uint32_t	nranges;
	CScanRange *ranges;
	uint64_t	columns;		/* a set, of an index of columns */
	uint32_t	pause_after;	/* chunks */
	uint64_t	pause;			/* us, 0: none */
} PlanQuery;

typedef struct Plan
{
	int			nqueries;
	PlanQuery  *queries;
	int			nstreams;
	bool	   *endless;		/* for each stream */
} Plan;

/* What to draw plans from. */
typedef struct Workload
{
	int			streams;
	uint64_t	stagger;		/* us between the starts of two streams */
	int			queries;		/* of a stream; 0: one of each size */
	double		rate;			/* open loop: queries a second; 0: streams */
	int			nsizes;
	double		sizes[PLAN_MAX_SIZES];	/* percent of the table */
	char		speeds[PLAN_MAX_SIZES]; /* letters F and S: as many of each as
										 * there are letters */
	bool		in_order;		/* stream i has the speed of letter i */
	uint32_t	pieces;			/* ranges that a query's blocks lie in */
	uint32_t	partitions;		/* of each table */
	uint32_t	leaves;			/* percent of the queries that read one
								 * partition, all of it */
	int			ntables;
	uint32_t	table_blocks[PLAN_MAX_TABLES];
	double		block_cpu[2];	/* FAST, SLOW */
	uint32_t	grain;			/* blocks of a chunk, if these are read as a
								 * whole; else 0 */
	int			nsets[2];		/* sets of columns that FAST, and SLOW, queries
								 * read, one of them each; 0: all */
	uint64_t	sets[2][PLAN_MAX_SETS];
} Workload;

extern Plan *plan_create(void);
extern PlanQuery *plan_add(Plan *plan, int stream, uint64_t start, PlanSpeed speed,
						   double block_cpu, int table);
extern void plan_add_range(PlanQuery *query, uint32_t first, uint32_t end);
extern void plan_set_endless(Plan *plan, int stream);
extern void plan_free(Plan *plan);

/* The first block of a table's partition; of the number behind the last: its end. */
extern uint32_t plan_partition(uint32_t nblocks, uint32_t partitions, uint32_t n);

/* A set of columns by their letters, from a on; 0 if it is none. */
extern uint64_t plan_columns(const char *letters);

/* Blocks that a query reads, of an index of columns those of all. */
extern uint32_t plan_blocks(const PlanQuery *query);

/* Draws a plan. */
extern Plan *plan_draw(const Workload *work, uint64_t seed);

/*
 * Reads a plan, for tables of these sizes.  Returns NULL and what is wrong if
 * it cannot.
 */
extern Plan *plan_read(FILE *file, const Workload *work, char *error, size_t size);
extern void plan_write(FILE *file, const Plan *plan);

#endif							/* SIM_WORKLOAD_H */
