/*-------------------------------------------------------------------------
 *
 * cases.c
 *		CASE and COALESCE as arithmetic on vectors.
 *
 * A choice is a column of the program that no batch has.  It is made of vectors that
 * have all of its results: each selected row takes the one of its first condition
 * that is true, or of its first result that is not null.
 *
 * Invariant: a condition is asked of those rows only that no earlier one has settled.
 * Results are computed of all rows, without errors: if one of them cannot be had for
 * a row that would not take it, PostgreSQL computes the batch.
 *
 * A row shows the scale of the numeric that it takes.  So these have one scale, or two
 * of them, and then the choice knows which row has which.
 *
 * numbers.c, which is below, calls this by the input's methods.
 *
 * Interface: input.h.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "nodes/nodeFuncs.h"

#include "input/input.h"

/* One in another takes some kB of stack. */
#define MAX_DEPTH	8

struct CScanChoice
{
	int			n;				/* results; the last one is ELSE's */
	CScanClause **conditions;	/* of each but the last; NULL: that it is not null */
	CScanNumber *results;
	bool	   *is_null;		/* the result is NULL for all rows */
	bool		is_float;
	int			small_scale;	/* of results that have another scale than the
								 * others; -1: there are none */
	bool	   *is_small;		/* of each result */
	bool	   *has_small;		/* of each row */
	int64	   *values;
	bool	   *isnull;
};

static CScanChoice *
create(CScanInput *input, int n, bool has_conditions)
{
	CScanChoice *choice = palloc0(sizeof(CScanChoice));

	choice->n = n;
	choice->conditions = has_conditions ? palloc0(n * sizeof(CScanClause *)) : NULL;
	choice->results = palloc0(n * sizeof(CScanNumber));
	choice->is_null = palloc0(n * sizeof(bool));
	choice->is_small = palloc0(n * sizeof(bool));
	choice->has_small = cscan_room_take(&input->room, CSCAN_BATCH * sizeof(bool));
	choice->small_scale = -1;
	choice->values = cscan_room_take(&input->room, CSCAN_BATCH * sizeof(int64));
	choice->isnull = cscan_room_take(&input->room, CSCAN_BATCH * sizeof(bool));
	return choice;
}

/*
 * May this part of a condition be asked here?  A choice is computed of all selected
 * rows.  So an error is wrong if some of these may not need the choice.
 */
static bool
may_ask(const CScanInput *input, const CScanQuestion *question)
{
	if (question->is_by_row)
		return false;
	return question->is_of_strings || !question->may_fail || (input->choice_depth == 1 && !input->is_guarded);
}

/* All conditions have to be on vectors, and none may compute a value. */
static CScanClause *
compile_condition(CScanInput *input, Expr *expr)
{
	CScanClause *clause = palloc0(sizeof(CScanClause));
	ListCell   *lc;

	cscan_row_expr_init(&clause->row, input, expr);
	cscan_condition_compile(input, clause);
	if (!clause->vectorized || clause->computes_value)
		return NULL;
	foreach(lc, clause->questions)
	{
		if (!may_ask(input, lfirst(lc)))
			return NULL;
	}
	return clause;
}

static bool
compile_result(CScanInput *input, CScanChoice *choice, int i, Expr *expr)
{
	if (expr == NULL || (IsA(expr, Const) && ((Const *) expr)->constisnull))
	{
		choice->is_null[i] = true;
		return true;
	}
	return cscan_number_compile(input, expr, &choice->results[i]) && choice->results[i].mixed == NULL;
}

/* Let a numeric of another scale have the choice's. */
static bool
enlarge(CScanInput *input, CScanChoice *choice, int i, const CScanNumber *number)
{
	CScanNumber full = *number;

	if (choice->results[i].scale < 0 || (choice->small_scale >= 0 && choice->small_scale != choice->results[i].scale))
		return false;
	choice->small_scale = choice->results[i].scale;
	choice->is_small[i] = true;
	return cscan_number_align(input, &choice->results[i], &full);
}

/* Results are in one form; it is that of the choice. */
static bool
settle_form(CScanInput *input, CScanChoice *choice, CScanNumber *number)
{
	int			first = -1;

	for (int i = 0; i < choice->n; i++)
	{
		if (!choice->is_null[i] && (first < 0 || choice->results[i].scale > number->scale))
			*number = choice->results[first = i];
	}
	if (first < 0)
		return false;
	for (int i = 0; i < choice->n; i++)
	{
		if (!choice->is_null[i] && choice->results[i].scale != number->scale && !enlarge(input, choice, i, number))
			return false;
	}
	choice->is_float = number->scale == CSCAN_FLOAT;
	number->mixed = choice->small_scale >= 0 ? choice : NULL;
	return true;
}

static bool
has_choice(Node *node, void *context)
{
	if (node == NULL)
		return false;
	return IsA(node, CaseExpr) || IsA(node, CoalesceExpr) ||
		expression_tree_walker(node, has_choice, context);
}

static bool
has_test_value(Node *node, void *context)
{
	if (node == NULL)
		return false;
	return IsA(node, CaseTestExpr) || expression_tree_walker(node, has_test_value, context);
}

typedef struct Substitution
{
	Expr	   *value;
	bool		is_put;
	bool		failed;
} Substitution;

/*
 * x is a CaseTestExpr in each WHEN.  Above it are the operator and casts.  Other nodes
 * may have a CaseTestExpr that stands for another value.
 */
static Node *
put_value(Node *node, void *context)
{
	Substitution *put = context;

	if (node == NULL)
		return NULL;
	switch (nodeTag(node))
	{
		case T_CaseTestExpr:
			put->is_put = true;
			put->failed |= exprType(node) != exprType((Node *) put->value) ||
				exprCollation(node) != exprCollation((Node *) put->value);
			return (Node *) put->value;
		case T_OpExpr:
		case T_FuncExpr:
		case T_BoolExpr:
		case T_RelabelType:
		case T_List:
			return expression_tree_mutator(node, put_value, context);
		default:
			put->failed |= has_test_value(node, NULL);
			return node;
	}
}

/*
 * CASE x WHEN y is CASE WHEN x = y, where x is compared each time.  NULL: it cannot be
 * written so.
 */
static Expr *
spell_out(const CaseExpr *expr, Expr *condition)
{
	Substitution put = {.value = expr->arg};

	if (put.value == NULL)
		return condition;
	condition = (Expr *) put_value((Node *) condition, &put);
	return put.is_put && !put.failed ? condition : NULL;
}

static bool
compile_case(CScanInput *input, const CaseExpr *expr, CScanChoice *choice)
{
	ListCell   *lc;
	int			i = 0;

	/* It would be compiled once for each WHEN. */
	if (has_choice((Node *) expr->arg, NULL))
		return false;
	foreach(lc, expr->args)
	{
		CaseWhen   *when = lfirst_node(CaseWhen, lc);
		Expr	   *condition = spell_out(expr, when->expr);

		choice->conditions[i] = condition ? compile_condition(input, condition) : NULL;
		if (choice->conditions[i] == NULL || !compile_result(input, choice, i++, when->result))
			return false;
	}
	return compile_result(input, choice, i, expr->defresult);
}

static bool
compile_coalesce(CScanInput *input, const CoalesceExpr *expr, CScanChoice *choice)
{
	ListCell   *lc;
	int			i = 0;

	foreach(lc, expr->args)
	{
		if (!compile_result(input, choice, i++, lfirst(lc)))
			return false;
	}
	return true;
}

static bool
compile(CScanInput *input, Expr *expr, CScanNumber *number)
{
	CScanInstruction column = {.operation = CSCAN_COLUMN, .least = PG_INT64_MIN, .most = PG_INT64_MAX};
	CScanChoice *choice;
	bool		ok;

	if (input->choice_depth >= MAX_DEPTH)
		return false;
	input->choice_depth++;
	if (IsA(expr, CaseExpr))
	{
		choice = create(input, list_length(((CaseExpr *) expr)->args) + 1, true);
		ok = compile_case(input, (CaseExpr *) expr, choice);
	}
	else
	{
		choice = create(input, list_length(((CoalesceExpr *) expr)->args), false);
		ok = compile_coalesce(input, (CoalesceExpr *) expr, choice);
	}
	input->choice_depth--;
	/* Some row may have to be asked as often as in SQL. */
	input->computes = true;
	if (!ok || !settle_form(input, choice, number))
		return false;
	input->choices = lappend(input->choices, choice);
	column.left = -list_length(input->choices);
	number->reg = cscan_program_add(&input->program, &column);
	return true;
}

/* Let these rows take a result. */
static bool
take_result(CScanInput *input, CScanChoice *choice, int i, const CScanSelection *rows)
{
	const CScanVector *vector = choice->is_null[i] ? NULL : cscan_program_get(&input->program, choice->results[i].reg);

	if (vector == NULL && !choice->is_null[i])
		return false;
	for (uint32 k = 0; k < rows->n; k++)
	{
		uint16		row = rows->rows[k];

		choice->isnull[row] = vector == NULL || cscan_vector_is_null(vector, row);
		if (!choice->isnull[row])
			choice->values[row] = vector->values[row];
		choice->has_small[row] = choice->is_small[i];
	}
	return true;
}

/* Of these rows, get those that take a result. */
static bool
find_rows(CScanInput *input, CScanChoice *choice, int i, const CScanSelection *rest, CScanSelection *found)
{
	CScanAnswers answers = {cscan_question_ask, input};
	const CScanVector *vector;
	CScanClause *condition;

	if (choice->conditions)
	{
		condition = choice->conditions[i];
		if (!condition->fixed_known)
			cscan_condition_fix(input, condition);
		return !condition->by_row &&
			cscan_predicate_select(&condition->predicate, &input->program, &answers, true, rest, found);
	}
	found->n = 0;
	if (choice->is_null[i])
		return true;
	vector = cscan_program_get(&input->program, choice->results[i].reg);
	if (vector == NULL)
		return false;
	for (uint32 k = 0; k < rest->n; k++)
	{
		if (!cscan_vector_is_null(vector, rest->rows[k]))
			found->rows[found->n++] = rest->rows[k];
	}
	return true;
}

static bool
load(CScanInput *input, int number, const CScanSelection *selection, CScanVector *vector)
{
	CScanChoice *choice = list_nth(input->choices, number);
	CScanSelection rest = *selection;
	CScanSelection found;

	for (int i = 0; i < choice->n - 1 && rest.n > 0; i++)
	{
		if (!find_rows(input, choice, i, &rest, &found))
			return false;
		if (found.n > 0 && !take_result(input, choice, i, &found))
			return false;
		cscan_selection_without(&rest, &found, &rest);
	}
	if (rest.n > 0 && !take_result(input, choice, choice->n - 1, &rest))
		return false;
	vector->values = choice->values;
	vector->isnull = choice->isnull;
	vector->minimum = PG_INT64_MIN;
	vector->maximum = PG_INT64_MAX;
	if (!choice->is_float)
		cscan_vector_tighten(vector, selection);
	return true;
}

void
cscan_cases_begin(CScanInput *input)
{
	ListCell   *lc;

	foreach(lc, input->choices)
	{
		CScanChoice *choice = lfirst(lc);

		for (int i = 0; i < choice->n - 1 && choice->conditions; i++)
			choice->conditions[i]->fixed_known = false;
	}
}

int
cscan_choice_scale(const CScanChoice *choice)
{
	return choice->small_scale;
}

bool
cscan_choice_is_full(const CScanChoice *choice, uint16 row)
{
	return !choice->has_small[row];
}

const CScanChoiceMethods cscan_cases_methods = {
	.compile = compile,
	.load = load,
};
