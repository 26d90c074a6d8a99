/*-------------------------------------------------------------------------
 *
 * flush.c
 *		Groups that make room for others.
 *
 * In many tables the rows of a group are near to each other, as those of an order
 * are.  When memory is full of such groups, those that are there get few rows any
 * more.  So all of them are written to tapes, with their states, and others take their
 * place.  At the end what is known of a group lies on one tape, by a hash of its keys,
 * in some pieces.  Tape by tape these are put together.
 *
 * spill.c does the reverse, and is better where rows are not near: groups stay, and
 * rows of others go to tapes.  A pass over the table does one or the other.
 *
 * On a tape a group is as it is in memory.  Numerics that its states point to follow.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "utils/fmgrprotos.h"
#include "utils/memutils.h"

#include "aggregate/aggregate.h"
#include "aggregate/tapes.h"

/* A row that has found no memory belongs to an old group this seldom, or rows are not near. */
#define SELDOM		8

/* Pieces that cannot be divided have one hash. */
#define MAX_LEVEL	16

struct CScanFlush
{
	MemoryContext context;
	CScanTapes	tapes;
	LogicalTape *tape;			/* that is being read */
	CScanGroupHead *group;		/* its next one, if has_next */
	bool		has_next;
};

/* ------------------------------------------------------------------
 * States
 * ------------------------------------------------------------------ */

/* Where a state has a numeric of its own; NULL: it never has one. */
static Numeric *
odd_place(const CScanAggregate *aggregate, char *states)
{
	if (aggregate->kind == CSCAN_AGGREGATE_SUM)
		return &((CScanSumState *) (states + aggregate->offset))->odd;
	if (aggregate->kind == CSCAN_AGGREGATE_EXTREME)
		return &((CScanExtremeState *) (states + aggregate->offset))->odd;
	return NULL;
}

static void
combine_sums(CScanSumState *to, const CScanSumState *from)
{
	to->sum.n += from->sum.n;
	to->sum.sum += from->sum.sum;
	to->nodd += from->nodd;
	to->full |= from->full;
	if (from->odd && to->odd)
	{
		Datum		sum = DirectFunctionCall2(numeric_add, NumericGetDatum(to->odd), NumericGetDatum(from->odd));

		pfree(to->odd);
		pfree(from->odd);
		to->odd = DatumGetNumeric(sum);
	}
	else if (from->odd)
		to->odd = from->odd;
}

/* Let one of two numerics go. */
static Numeric
choose(Numeric a, Numeric b, bool maximum)
{
	bool		takes_b = DatumGetBool(DirectFunctionCall2(maximum ? numeric_gt : numeric_lt, NumericGetDatum(b),
														   NumericGetDatum(a)));

	pfree(takes_b ? a : b);
	return takes_b ? b : a;
}

static void
combine_extremes(CScanExtremeState *to, const CScanExtremeState *from, bool maximum)
{
	int64		value = from->extreme.value;

	if (from->extreme.n > 0 &&
		(to->extreme.n == 0 || (maximum ? value > to->extreme.value : value < to->extreme.value)))
		to->extreme.value = value;
	to->extreme.n += from->extreme.n;
	if (from->odd)
		to->odd = to->odd ? choose(to->odd, from->odd, maximum) : from->odd;
}

/* What two pieces of a group know.  Numerics of "from" are the group's from now on. */
static void
combine(CScanAggregateState *node, char *to, const char *from)
{
	MemoryContext old = MemoryContextSwitchTo(node->values_context);

	for (int i = 0; i < node->naggregates; i++)
	{
		const CScanAggregate *aggregate = &node->aggregates[i];
		size_t		offset = aggregate->offset;

		if (aggregate->kind == CSCAN_AGGREGATE_COUNT)
			((CScanCount *) (to + offset))->n += ((const CScanCount *) (from + offset))->n;
		else if (aggregate->kind == CSCAN_AGGREGATE_SUM)
			combine_sums((CScanSumState *) (to + offset), (const CScanSumState *) (from + offset));
		else
			combine_extremes((CScanExtremeState *) (to + offset), (const CScanExtremeState *) (from + offset),
							 aggregate->maximum);
	}
	MemoryContextSwitchTo(old);
}

/* ------------------------------------------------------------------
 * Writing
 * ------------------------------------------------------------------ */

/*
 * Are keys and states plain values, which may be combined in any order?  A sum of floats
 * depends on the order of its rows.
 */
static bool
is_possible(const CScanAggregateState *node)
{
	if (node->nkeys == 0 || node->shows || node->borders)
		return false;
	for (int k = 0; k < node->nkeys; k++)
	{
		if (node->common.key_kinds[k] != CSCAN_KEY_DATUM)
			return false;
	}
	for (int i = 0; i < node->naggregates; i++)
	{
		CScanAggregateKind kind = node->aggregates[i].kind;

		if (kind != CSCAN_AGGREGATE_COUNT && kind != CSCAN_AGGREGATE_SUM && kind != CSCAN_AGGREGATE_EXTREME)
			return false;
	}
	return true;
}

/* Do the groups have some rows each, and few of the next rows belong to the older half of them? */
static bool
rows_are_near(CScanAggregateState *node)
{
	CScanSelection rows = node->input->selection;
	const CScanVector *keys[CSCAN_MAX_KEYS];
	CScanSelection missing;
	uint32		group_of[CSCAN_BATCH];
	uint32		hashes[CSCAN_BATCH];
	uint32		of_old = 0;

	if (node->rows - node->rows_before < 2 * (uint64) node->groups.ngroups)
		return false;
	(void) cscan_input_keys(node->input, node->numbering, false, node->limit, keys);
	cscan_group_table_find(&node->groups, keys, false, &rows, group_of, &missing, hashes);
	for (uint32 i = 0; i < rows.n; i++)
		of_old += group_of[i] < node->groups.ngroups / 2;
	return of_old < node->input->selection.n / SELDOM;
}

static CScanFlush *
begin(CScanAggregateState *node)
{
	MemoryContext context = AllocSetContextCreate(node->css.ss.ps.state->es_query_cxt, "CScan flush", ALLOCSET_DEFAULT_SIZES);
	CScanFlush *flush = MemoryContextAllocZero(context, sizeof(CScanFlush));

	flush->context = context;
	flush->group = MemoryContextAlloc(context, node->groups.group_size);
	cscan_tapes_begin(&flush->tapes, AllocSetContextCreate(context, "CScan tapes", ALLOCSET_DEFAULT_SIZES), node->limit,
					  &node->partitions);
	return flush;
}

bool
cscan_flush_pays(CScanAggregateState *node)
{
	if (node->flush)
		return true;
	if (node->groups_stay || node->spill || !is_possible(node) || !rows_are_near(node))
	{
		node->groups_stay = true;
		return false;
	}
	node->flush = begin(node);
	return true;
}

static void
write_numeric(CScanTapes *tapes, LogicalTape *tape, Numeric value)
{
	uint32		size = VARSIZE(value);

	cscan_tapes_write(tapes, tape, &size, sizeof(size));
	cscan_tapes_write(tapes, tape, value, size);
}

void
cscan_flush_write(CScanAggregateState *node)
{
	CScanTapes *tapes = &node->flush->tapes;

	for (uint32 g = 0; g < node->groups.ngroups; g++)
	{
		CScanGroupHead *group = cscan_group(&node->groups, g);
		LogicalTape *tape = cscan_tapes_choose(tapes, group->hash);

		if (g % CSCAN_BATCH == 0)
			CHECK_FOR_INTERRUPTS();
		cscan_tapes_write(tapes, tape, group, node->groups.group_size);
		for (int i = 0; i < node->naggregates; i++)
		{
			Numeric    *odd = odd_place(&node->aggregates[i], cscan_group_states(&node->groups, g));

			if (odd && *odd)
				write_numeric(tapes, tape, *odd);
		}
	}
	node->flushed += node->groups.ngroups;
}

bool
cscan_flush_is_writing(const CScanAggregateState *node)
{
	return node->flush != NULL && cscan_tapes_are_written(&node->flush->tapes);
}

/* ------------------------------------------------------------------
 * Reading
 * ------------------------------------------------------------------ */

bool
cscan_flush_next(CScanAggregateState *node)
{
	CScanFlush *flush = node->flush;

	flush->tape = cscan_tapes_next(&flush->tapes);
	return flush->tape != NULL;
}

bool
cscan_flush_may_divide(const CScanAggregateState *node)
{
	return node->flush->tapes.level < MAX_LEVEL;
}

static Numeric
read_numeric(CScanAggregateState *node)
{
	CScanFlush *flush = node->flush;
	uint32		size;
	Numeric		value;

	(void) cscan_tapes_read(&flush->tapes, flush->tape, &size, sizeof(size), false);
	value = MemoryContextAlloc(node->values_context, size);
	(void) cscan_tapes_read(&flush->tapes, flush->tape, value, size, false);
	return value;
}

bool
cscan_flush_has_more(CScanAggregateState *node)
{
	CScanFlush *flush = node->flush;

	CHECK_FOR_INTERRUPTS();
	if (!flush->has_next)
		flush->has_next = cscan_tapes_read(&flush->tapes, flush->tape, flush->group, node->groups.group_size, true);
	if (!flush->has_next)
	{
		LogicalTapeClose(flush->tape);
		flush->tape = NULL;
	}
	return flush->has_next;
}

void
cscan_flush_read(CScanAggregateState *node)
{
	CScanFlush *flush = node->flush;
	char	   *states = (char *) flush->group + node->groups.states;
	bool		is_new;
	uint32		group;

	for (int i = 0; i < node->naggregates; i++)
	{
		Numeric    *odd = odd_place(&node->aggregates[i], states);

		if (odd && *odd)
			*odd = read_numeric(node);
	}
	group = cscan_group_table_take(&node->groups, flush->group, &is_new);
	if (!is_new)
		combine(node, cscan_group_states(&node->groups, group), states);
	flush->has_next = false;
}

void
cscan_flush_end(CScanAggregateState *node)
{
	if (node->flush == NULL)
		return;
	cscan_tapes_end(&node->flush->tapes);
	MemoryContextDelete(node->flush->context);
	node->flush = NULL;
}
