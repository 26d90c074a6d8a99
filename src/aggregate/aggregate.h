/*-------------------------------------------------------------------------
 *
 * aggregate.h
 *		The node CScan Aggregate: groups and aggregates of a CScan's batches.
 *
 *		node.c			the node's life, and its groups
 *		explain.c		what EXPLAIN says
 *		borders.c		groups that are complete early
 *		flush.c			groups that make room for others
 *		spill.c			rows whose groups find no memory
 *		results.c		aggregates: states, and what becomes of them
 *		pairs.c			which values of count(DISTINCT ...) a group has seen
 *		tapes.h			tapes by a hash, for groups (flush.c), rows and values
 *		transitions.c	aggregates that PostgreSQL's own functions compute
 *		inputs.c		the scans that the node reads, one or an Append's
 *		input.h			batches, conditions, keys and arguments
 *
 * Calls go downwards only.
 *
 * The node stands for an Agg above a scan, or above an Append of scans, or for its
 * half below a Gather.  Its custom_scan_tlist has the keys and then the Aggrefs, with
 * the scan's columns.  The planner's target list and HAVING refer to that.
 *
 * Above an Append it has the columns of the Append's parent.  Then what the Append
 * returns follows in custom_scan_tlist: its targets' n-th expression is the n-th of
 * each child's target list (inputs.c).
 *
 *-------------------------------------------------------------------------
 */
#ifndef CSCAN_AGGREGATE_H
#define CSCAN_AGGREGATE_H

#include "compat.h"

#include "nodes/extensible.h"
#include "utils/numeric.h"

#include "input/input.h"
#include "vector/group_table.h"
#include "vector/states.h"

/* What custom_private holds: integers, in this order. */
typedef enum CScanAggregatePrivate
{
	CSCAN_AGGREGATE_NKEYS,
	CSCAN_AGGREGATE_NAGGREGATES,
	CSCAN_AGGREGATE_GROUPED,	/* there is a GROUP BY: without rows there is no
								 * group */
	CSCAN_AGGREGATE_BORDER_KEY, /* number of the key that has borders, or -1 */
	CSCAN_AGGREGATE_NFIELDS
} CScanAggregatePrivate;

typedef enum CScanAggregateKind
{
	CSCAN_AGGREGATE_COUNT,
	CSCAN_AGGREGATE_SUM,
	CSCAN_AGGREGATE_EXTREME,
	CSCAN_AGGREGATE_FLOAT_SUM,
	CSCAN_AGGREGATE_FLOAT_AVERAGE,	/* and deviations from it */
	CSCAN_AGGREGATE_FLOAT_EXTREME,
	CSCAN_AGGREGATE_DISTINCT,	/* count(DISTINCT ...) */
	CSCAN_AGGREGATE_TRANSITION
} CScanAggregateKind;

/*
 * A numeric that is no integer of the expected scale is summed up, or compared,
 * apart.
 */
typedef struct CScanSumState
{
	CScanSum	sum;
	Numeric		odd;			/* NULL: none */
	int64		nodd;
	bool		full;			/* of a mixed number: a row had the larger scale */
} CScanSumState;

typedef struct CScanExtremeState
{
	CScanExtreme extreme;
	Numeric		odd;
} CScanExtremeState;

/* What a transition function works on. */
typedef struct CScanTransitionState
{
	Datum		value;
	bool		isnull;
	bool		is_new;			/* the first argument becomes the value */
} CScanTransitionState;

/* Values that groups have seen, see pairs.c. */
typedef struct CScanPairs CScanPairs;

/* Functions of an aggregate, see transitions.c. */
typedef struct CScanTransition CScanTransition;

typedef struct CScanAggregate
{
	Aggref	   *aggref;
	CScanAggregateKind kind;
	bool		maximum;		/* of _EXTREME and _FLOAT_EXTREME */
	bool		average;		/* of _SUM */
	PGFunction	deviation;		/* of _FLOAT_AVERAGE: what becomes of the state, if
								 * it is no average */
	bool		partial;		/* its state goes up, not its result */
	Oid			type;			/* of its argument, if it has one */
	int16		typlen;
	int			scale;			/* of numerics; -1: of integers; CSCAN_FLOAT: of floats */
	bool		mixed;			/* _SUM: rows of some input may have a smaller scale */
	int			small_scale;
	int			argument;		/* number of the first one; -1: none */
	int			narguments;
	int			filter;			/* number; -1: none */
	size_t		offset;			/* of its state in a group's states */
	int			distinct_key;	/* number of the key of DISTINCT */
	CScanPairs *pairs;
	CScanTransition *transition;
} CScanAggregate;

/* Rows that wait for memory, see spill.c. */
typedef struct CScanSpill CScanSpill;

/* Groups that wait for the rest of their rows, see flush.c. */
typedef struct CScanFlush CScanFlush;

/* Which groups are complete, see borders.c. */
typedef struct CScanBorders CScanBorders;

typedef struct CScanAggregateState
{
	CustomScanState css;
	CScanInputCommon common;
	CScanInput **inputs;		/* by number of the Append's child; NULL: not
								 * needed yet */
	int			ninputs;
	CScanInput *input;			/* whose turn it is; NULL: there is none */
	int			current;		/* its number */
	List	   *keys;			/* expressions */
	List	   *distinct;		/* of count(DISTINCT ...) */
	List	   *arguments;
	List	   *filters;
	Bitmapset  *filtered_distinct;	/* those with a FILTER, by number */
	Bitmapset  *filtered_arguments;
	List	   *targets;		/* what the Append returns; NIL: these are the
								 * scan's own columns */
	int			nkeys;
	bool		grouped;
	int			naggregates;
	CScanAggregate *aggregates;
	AggState   *context_node;	/* by which transition functions find memory */

	/* Groups */
	MemoryContext groups_context;	/* of the table and of the keys' strings */
	MemoryContext values_context;	/* of states' values passed by reference */
	CScanGroupTable groups;
	CScanNumbering *numbering;	/* of each key's strings */
	bool		shows;			/* states begin with the number, for each key, of
								 * what the group shows */
	uint32		next_group;		/* to be handed out */
	Size		limit;			/* bytes of memory */
	Size		memory;			/* that groups and their distinct values take, as
								 * counted last */
	CScanSpill *spill;			/* NULL: no row has been spilled yet */
	CScanFlush *flush;			/* NULL: no group has made room yet */
	bool		groups_stay;	/* none will, until all are cleared: rows are
								 * spilled */
	CScanBorders *borders;		/* NULL: no group is complete before the end */
	bool		begun;
	bool		read;			/* all rows have been */
	bool		finished;

	/* For EXPLAIN ANALYZE */
	uint64		batches;
	uint64		rows;			/* that met the conditions */
	uint64		rows_before;	/* of them, until the groups were cleared last */
	uint64		by_row;			/* arguments on vectors, computed row by row in a
								 * batch */
	uint64		ngroups;
	uint64		early;			/* groups that went out before all rows were read */
	Size		peak;			/* the most memory */
	uint64		spilled;		/* rows */
	uint64		flushed;		/* groups */
	uint64		partitions;
} CScanAggregateState;

/* node.c */
extern const CustomScanMethods cscan_aggregate_methods;

/* explain.c */
extern void cscan_aggregate_explain(CustomScanState *css, List *ancestors, ExplainState *es);

/*
 * Can anybody but its own function free a state of this aggregate?  Else there are no
 * borders.  The planner asks before it is known whether a numeric is on vectors; then
 * the answer is that it is.
 */
extern bool cscan_aggregate_frees_state(const Aggref *aggref);

/* borders.c */

/* Make the borders of a key, which is a column of each input.  NULL if the aggregates do not allow it. */
extern CScanBorders *cscan_borders_create(CScanAggregateState *node, int key);

/* Begin a pass. */
extern void cscan_borders_begin(CScanBorders *borders);

/* The number of the key. */
extern int	cscan_borders_key(const CScanAggregateState *node);

/* Fewer groups stay as they are, if there is memory. */
#define CSCAN_FEW_GROUPS	1024

/*
 * Rows of a batch have been taken into account; "may_grow": there is memory for those
 * of another one.  True if it is time to hand out complete groups.
 */
extern bool cscan_borders_reached(CScanAggregateState *node, bool may_grow);

/* After that, and until all of them have gone out: is a group complete? */
extern bool cscan_borders_is_complete(const CScanAggregateState *node, uint32 group);

/* The complete groups have gone out.  Keep the others only. */
extern void cscan_borders_keep_open(CScanAggregateState *node);

/*
 * flush.c
 *
 * When there is no memory for the groups of the selected rows: is it better to let all
 * groups make room than to spill rows?  Then write() them, and forget them.
 */
extern bool cscan_flush_pays(CScanAggregateState *node);
extern void cscan_flush_write(CScanAggregateState *node);

/* Has something been written that next() has not taken over yet? */
extern bool cscan_flush_is_writing(const CScanAggregateState *node);

/* Begin with the next part of what has been written.  False if nothing is left. */
extern bool cscan_flush_next(CScanAggregateState *node);

/* Is there another piece of a group in it?  Put it to the groups that there are. */
extern bool cscan_flush_has_more(CScanAggregateState *node);
extern void cscan_flush_read(CScanAggregateState *node);

/* May groups of this part be written, to be read as smaller parts? */
extern bool cscan_flush_may_divide(const CScanAggregateState *node);
extern void cscan_flush_end(CScanAggregateState *node);

/*
 * spill.c
 *
 * Rows may be spilled of a batch for which that has been prepared, while all of
 * them were selected.
 */
extern void cscan_spill_prepare(CScanAggregateState *node);
extern bool cscan_spill_is_writing(const CScanAggregateState *node);
extern void cscan_spill_rows(CScanAggregateState *node, const CScanSelection *rows, const uint32 *hashes);

/* Begin with the next part of what has been spilled.  False if nothing is left. */
extern bool cscan_spill_next(CScanAggregateState *node);

/* Let the input have the next rows of the part selected.  False at its end. */
extern bool cscan_spill_read(CScanAggregateState *node);
extern void cscan_spill_end(CScanAggregateState *node);

/* inputs.c */

/* Find the scans; the expressions are set. */
extern void cscan_inputs_init(CScanAggregateState *node);

/* An input's scan, the n-th key in its columns, and whether this pass, which has begun, reads it. */
extern CScanState *cscan_inputs_scan(const CScanAggregateState *node, int number);
extern Expr *cscan_inputs_key(const CScanAggregateState *node, int number, int n);
extern bool cscan_inputs_reads(const CScanAggregateState *node, int number);

/* Begin a pass. */
extern void cscan_inputs_begin(CScanAggregateState *node);

/* Get the next batch with rows that meet the conditions, of any input.  False at the end. */
extern bool cscan_inputs_next(CScanAggregateState *node);

/* Let an input have its turn. */
extern void cscan_inputs_enter(CScanAggregateState *node, int number);

extern void cscan_inputs_forget_strings(CScanAggregateState *node);

/* results.c */
extern void cscan_aggregates_init(CScanAggregateState *node, List *aggrefs);
extern size_t cscan_aggregates_settle(CScanAggregateState *node);
extern void cscan_aggregates_begin_groups(CScanAggregateState *node, uint32 first, uint32 end);
extern void cscan_aggregates_advance(CScanAggregateState *node, const uint32 *group_of);
/* All rows of the groups have been taken; or all groups are forgotten. */
extern void cscan_aggregates_finish(CScanAggregateState *node);
extern void cscan_aggregates_clear(CScanAggregateState *node);
extern void cscan_aggregates_end_group(CScanAggregateState *node, char *states);
extern Datum cscan_aggregate_result(CScanAggregateState *node, const CScanAggregate *aggregate, char *states, bool *isnull);

/* pairs.c */
extern CScanPairs *cscan_pairs_create(CScanAggregateState *node, const CScanAggregate *aggregate);

/* Forget all values. */
extern void cscan_pairs_clear(CScanAggregateState *node, CScanPairs *pairs);

/* The bytes that they take; changes are in the node's memory, too. */
extern Size cscan_pairs_memory(const CScanPairs *pairs);

/* Take rows of a batch into account, and their groups; without keys there is one group. */
extern void cscan_pairs_advance(CScanAggregateState *node, CScanPairs *pairs, const uint32 *group_of,
								   const CScanSelection *selection);

/* All rows of the groups have been taken: count what waits on disk, and forget the values. */
extern void cscan_pairs_finish(CScanAggregateState *node, CScanPairs *pairs);

/* transitions.c */
extern bool cscan_transition_supported(const Aggref *aggref);
extern void cscan_transition_init(CScanAggregateState *node, CScanAggregate *aggregate);
extern void cscan_transition_begin(CScanAggregateState *node, const CScanAggregate *aggregate, CScanTransitionState *state);
extern void cscan_transition_advance(CScanAggregateState *node, const CScanAggregate *aggregate, CScanTransitionState *state,
									 const Datum *values, const bool *isnull);
extern Datum cscan_transition_result(CScanAggregateState *node, const CScanAggregate *aggregate, CScanTransitionState *state,
									 bool *isnull);
extern void cscan_transition_end(const CScanAggregate *aggregate, CScanTransitionState *state);

#endif							/* CSCAN_AGGREGATE_H */
