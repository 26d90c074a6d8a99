/*-------------------------------------------------------------------------
 *
 * filter.c
 *		A CScan that hands out rows, and finds them on vectors.
 *
 *		begin			the node takes its rows from here
 *		first_row		make the filter, unless no condition has vectors
 *		next_row		the next row that meets all conditions
 *
 * The conditions at the front, in the order that the input has brought them into
 * (input.c), are asked of a whole batch as far as they have vectors.  Rows that meet
 * them are then made, and only they are asked the others.
 *
 * If a bitmap's pages are lossy, its index conditions come first, in the same way.
 *
 * Whoever stops early, as with LIMIT, has asked later rows of a batch in vain.  That
 * costs little, but for strings that are compressed or not in their rows.  So rows of
 * the first batches are asked one by one, if there is a condition on strings.
 *
 * Invariant: whoever stops early does not see what comes of later rows.  So a
 * condition is asked of a whole batch only if it cannot raise an error for any row.
 * The value that it compares with may: it is computed once, after some row has met
 * all earlier conditions, which is when PostgreSQL would do it.  (A scan of columns
 * compares groups with it before there are rows: exec/groups.c.)
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "executor/instrument.h"
#include "nodes/makefuncs.h"
#include "optimizer/optimizer.h"
#include "utils/ruleutils.h"

#include "cscan.h"
#include "input/input.h"

/* How many scans of a process have room of their own; the others of a query do without vectors. */
#define MAX_OWN_ROOMS	64

/* Rows of so many batches of a pass are asked one by one, if it may stop early. */
#define FIRST_BATCHES	8

struct CScanFilter
{
	CScanInput *input;
	CScanInputCommon common;
	int			nclauses;		/* of the input's, from the first on, that are
								 * asked of batches */
	bool		computes;		/* one compares with a value that has to be
								 * computed */
	bool		asks_strings;	/* one is about strings */
	ExprState  *rest;			/* the others; NULL: there are none */
	uint32		nbatches;		/* of the pass so far */
	uint32		next;			/* of the selected rows */
	bool		one_by_one;		/* the batch has been asked none: each row is
								 * asked all */
	bool		rechecked;		/* the batch's rows meet a bitmap's conditions */
	uint32		removed_before; /* rows of the batch before this one are counted, if
								 * they were removed */
};

static int	own_rooms = 0;

/* ------------------------------------------------------------------
 * Beginning
 * ------------------------------------------------------------------ */

static bool
asks_strings(const CScanClause *clause)
{
	ListCell   *lc;

	foreach(lc, clause->questions)
	{
		if (((CScanQuestion *) lfirst(lc))->is_of_strings)
			return true;
	}
	return false;
}

/* Make the filter in the current context; NULL if no condition has vectors. */
static CScanFilter *
create(CScanState *node, CScanRooms *rooms)
{
	CScanFilter *filter = palloc0(sizeof(CScanFilter));

	filter->common.rooms = rooms;
	filter->input = cscan_input_create(node, &filter->common, &(CScanInputExprs) {NIL});
	while (filter->nclauses < filter->input->nclauses &&
		   cscan_condition_asks_ahead(filter->input, filter->input->clauses[filter->nclauses]))
	{
		const CScanClause *clause = filter->input->clauses[filter->nclauses++];

		filter->computes |= clause->computes_value;
		filter->asks_strings |= asks_strings(clause);
	}
	return filter->nclauses > 0 || filter->input->nindex_clauses > 0 ? filter : NULL;
}

static void
give_back_room(void *arg)
{
	(void) arg;
	own_rooms--;
}

/*
 * The members of a family take turns, and share room.  Other scans have room of
 * their own, if they are not too many.
 */
static CScanFilter *
create_with_room(CScanState *node)
{
	MemoryContextCallback *callback;
	CScanFilter *filter;

	if (node->family)
		return create(node, cscan_family_rooms(node->family));
	if (own_rooms >= MAX_OWN_ROOMS)
		return NULL;
	filter = create(node, cscan_rooms_create(CurrentMemoryContext));
	if (filter == NULL)
		return NULL;
	callback = palloc0(sizeof(MemoryContextCallback));
	callback->func = give_back_room;
	MemoryContextRegisterResetCallback(CurrentMemoryContext, callback);
	own_rooms++;
	return filter;
}

/* The conditions that are not asked of batches. */
static ExprState *
make_rest(const CScanFilter *filter)
{
	CScanInput *input = filter->input;
	List	   *rest = NIL;

	for (int i = filter->nclauses; i < input->nclauses; i++)
	{
		if (input->clauses[i]->is_whole)
			return input->ps->qual;
		rest = lappend(rest, input->clauses[i]->row.expr);
	}
	return ExecInitQual(rest, input->ps);
}

/* ------------------------------------------------------------------
 * Rows
 * ------------------------------------------------------------------ */

/*
 * Count rows of the batch that its conditions have removed, before this one: whoever
 * stops early counts none behind it.
 */
static void
count_removed(CScanFilter *filter, uint32 row)
{
	if (filter->rechecked || row <= filter->removed_before)
		return;
	InstrCountFiltered1(filter->input->ps, row - filter->removed_before);
	filter->removed_before = row;
}

/* Ask the conditions of all rows of the batch. */
static void
ask_conditions(CScanFilter *filter)
{
	CScanInput *input = filter->input;
	uint32		n;

	/* No value is computed for a row that a bitmap does not mean. */
	filter->rechecked = input->scan->recheck_page && (filter->computes || input->nindex_clauses > 0);
	if (filter->rechecked)
		cscan_input_recheck(input);
	n = input->selection.n;
	for (int i = 0; i < filter->nclauses && input->selection.n > 0 && !filter->one_by_one; i++)
		cscan_input_meet(input, input->clauses[i]);
	if (filter->rechecked)
		InstrCountFiltered1(input->ps, n - input->selection.n);
	filter->removed_before = 0;
}

/* Get the next batch with rows that may meet all conditions.  False at the end. */
static bool
next_batch(CScanFilter *filter)
{
	CScanInput *input = filter->input;

	filter->next = 0;
	if (input->common->rooms->user != filter)
	{
		cscan_input_enter(input);
		input->common->rooms->user = filter;
	}
	do
	{
		cscan_batch_count(input->batch, input->batch->nrows);
		count_removed(filter, input->batch->nrows);
		input->selection.n = 0;
		input->batch->nrows = filter->removed_before = 0;
		if (!cscan_input_next_unfiltered(input))
			return false;
		filter->one_by_one = filter->asks_strings && input->scan->first_rows && filter->nbatches < FIRST_BATCHES;
		filter->nbatches++;
		ask_conditions(filter);
	} while (input->selection.n == 0);
	cscan_batch_prepare_rows(input->batch);
	return true;
}

/*
 * The session's time zone is another one: the answers of the rows that are left of the
 * batch may be.
 */
static void
ask_again(CScanFilter *filter)
{
	CScanInput *input = filter->input;
	CScanSelection *selection = &input->selection;
	uint32		row = filter->next > 0 ? selection->rows[filter->next - 1] + 1 : 0;

	filter->one_by_one = true;
	filter->rechecked = false;
	filter->next = 0;
	for (selection->n = 0; row < input->batch->nrows; row++)
		selection->rows[selection->n++] = (uint16) row;
	cscan_batch_prepare_rows(input->batch);
}

static TupleTableSlot *
next_row(PlanState *ps)
{
	CScanState *node = (CScanState *) ps;
	CScanFilter *filter = node->filter;
	CScanInput *input = filter->input;
	ExprContext *econtext = ps->ps_ExprContext;

	for (;;)
	{
		TupleTableSlot *slot;
		ExprState  *rest;
		uint16		row;

		CHECK_FOR_INTERRUPTS();
		ResetExprContext(econtext);
		if (input->session_zone != session_timezone && (filter->rechecked || !filter->one_by_one))
			ask_again(filter);
		if (filter->next >= input->selection.n && !next_batch(filter))
			return ExecClearTuple(ps->ps_ProjInfo ? ps->ps_ResultTupleSlot : node->css.ss.ss_ScanTupleSlot);
		row = input->selection.rows[filter->next++];
		cscan_batch_count(input->batch, row + 1);
		count_removed(filter, row);
		filter->removed_before = row + 1;
		slot = cscan_batch_whole_row(input->batch, row);
		econtext->ecxt_scantuple = slot;
		if (node->recheck_page && !filter->rechecked && !cscan_bitmap_recheck(node, slot))
		{
			InstrCountFiltered2(ps, 1);
			continue;
		}
		rest = filter->one_by_one ? ps->qual : filter->rest;
		if (rest && !ExecQual(rest, econtext))
		{
			InstrCountFiltered1(ps, 1);
			continue;
		}
		return ps->ps_ProjInfo ? ExecProject(ps->ps_ProjInfo) : slot;
	}
}

/*
 * The first row is wanted.  Make the filter, and take rows from next_row from now on,
 * or do without.
 */
static TupleTableSlot *
first_row(PlanState *ps)
{
	CScanState *node = (CScanState *) ps;
	MemoryContext old = MemoryContextSwitchTo(ps->state->es_query_cxt);
	CScanUser	user = cscan_become_user(&node->user);

	node->filter = create_with_room(node);
	if (node->filter)
	{
		node->filter->common.batch_context = AllocSetContextCreate(CurrentMemoryContext, "CScan batch",
																   ALLOCSET_SMALL_SIZES);
		node->filter->rest = make_rest(node->filter);
		ps->ExecProcNode = next_row;
	}
	else
		cscan_tuples_choose_exec(node);
	(void) cscan_become_user(&user);
	MemoryContextSwitchTo(old);
	ExecSetExecProcNode(ps, ps->ExecProcNode);
	return ps->ExecProcNodeReal(ps);
}

static bool
may_filter(const CScanState *node)
{
	const PlanState *ps = &node->css.ss.ps;

	return cscan_vectors_enabled && (ps->plan->qual != NIL || node->kind == CSCAN_BITMAP) &&
		ps->state->es_epq_active == NULL && !node->scroll;
}

static void
begin(CScanState *node)
{
	if (may_filter(node))
		node->css.ss.ps.ExecProcNode = first_row;
}

static void
rescan(CScanState *node)
{
	CScanFilter *filter = node->filter;

	cscan_input_begin(filter->input);
	filter->input->selection.n = filter->input->batch->nrows = filter->next = filter->removed_before = 0;
	filter->nbatches = 0;
	filter->one_by_one = false;
}

/* ------------------------------------------------------------------
 * EXPLAIN
 * ------------------------------------------------------------------ */

/* The conditions that are asked of batches. */
static List *
find_conditions(CScanState *node)
{
	CScanFilter *filter = node->filter;
	List	   *conditions = NIL;

	if (filter == NULL)
		filter = create(node, cscan_rooms_create(CurrentMemoryContext));
	if (filter == NULL)
		return NIL;
	for (int i = 0; i < filter->input->nindex_clauses; i++)
		conditions = lappend(conditions, filter->input->index_clauses[i]->row.expr);
	for (int i = 0; i < filter->nclauses; i++)
		conditions = lappend(conditions, filter->input->clauses[i]->row.expr);
	return conditions;
}

static void
explain(CScanState *node, List *ancestors, ExplainState *es)
{
	MemoryContext context;
	MemoryContext old;
	List	   *conditions;

	/* Is it known by now that there is none? */
	if (!may_filter(node) || node->batched ||
		(node->filter == NULL && node->css.ss.ps.ExecProcNodeReal != first_row))
		return;
	context = AllocSetContextCreate(CurrentMemoryContext, "CScan conditions", ALLOCSET_DEFAULT_SIZES);
	old = MemoryContextSwitchTo(context);
	conditions = find_conditions(node);
	if (conditions != NIL)
	{
		List	   *names = set_deparse_context_plan(es->deparse_cxt, node->css.ss.ps.plan, ancestors);
		char	   *text = deparse_expression((Node *) make_ands_explicit(conditions), names, es->verbose, false);

		MemoryContextSwitchTo(old);
		ExplainPropertyText("CScan Vector Filter", text, es);
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
}

static const CScanFilterMethods methods = {
	.begin = begin,
	.rescan = rescan,
	.explain = explain,
};

void
cscan_input_init(void)
{
	cscan_filter_methods = &methods;
}
