/*-------------------------------------------------------------------------
 *
 * predicate.c
 *		Which rows of a batch meet a condition (predicate.h).
 *
 * Bounds may decide for all rows.  Else a loop writes each row's number, and
 * goes on to the next place only if the row is one: it has no branches.
 *
 *-------------------------------------------------------------------------
 */
#include "predicate.h"

#include <string.h>

static const CScanComparison opposite[] = {
	[CSCAN_LESS] = CSCAN_GREATER_EQUAL,
	[CSCAN_LESS_EQUAL] = CSCAN_GREATER,
	[CSCAN_EQUAL] = CSCAN_NOT_EQUAL,
	[CSCAN_GREATER_EQUAL] = CSCAN_LESS,
	[CSCAN_GREATER] = CSCAN_LESS_EQUAL,
	[CSCAN_NOT_EQUAL] = CSCAN_EQUAL
};

/* ------------------------------------------------------------------
 * Comparisons
 * ------------------------------------------------------------------ */

/* What bounds say of all rows that are not null: 1: true, 0: false, -1: nothing. */
static int
decide(CScanComparison comparison, const CScanVector *left, const CScanVector *right)
{
	switch (comparison)
	{
		case CSCAN_LESS:
			return left->maximum < right->minimum ? 1 : left->minimum >= right->maximum ? 0 : -1;
		case CSCAN_LESS_EQUAL:
			return left->maximum <= right->minimum ? 1 : left->minimum > right->maximum ? 0 : -1;
		case CSCAN_GREATER_EQUAL:
			return left->minimum >= right->maximum ? 1 : left->maximum < right->minimum ? 0 : -1;
		case CSCAN_GREATER:
			return left->minimum > right->maximum ? 1 : left->maximum <= right->minimum ? 0 : -1;
		case CSCAN_EQUAL:
		case CSCAN_NOT_EQUAL:
			if (left->maximum < right->minimum || left->minimum > right->maximum)
				return comparison == CSCAN_NOT_EQUAL;
			if (left->minimum == left->maximum && right->minimum == right->maximum)
				return (left->minimum == right->minimum) == (comparison == CSCAN_EQUAL);
			return -1;
	}
	return -1;
}

/* Rows of a selection for which an expression in "row" is true. */
#define SELECT_ROWS(expression) \
	do { \
		for (uint32_t i = 0; i < n; i++) \
		{ \
			uint16_t	row = from->rows[i]; \
\
			to->rows[k] = row; \
			k += (uint32_t) (expression); \
		} \
	} while (0)

#define SELECT_COMPARED(op) \
	do { \
		if (constant) \
			SELECT_ROWS(left[row] op c); \
		else \
			SELECT_ROWS(left[row] op right[row]); \
	} while (0)

static void
select_compared(CScanComparison comparison, const int64_t *left, const int64_t *right, bool constant,
				const CScanSelection *from, CScanSelection *to)
{
	int64_t		c = right[0];
	uint32_t	n = from->n;
	uint32_t	k = 0;

	switch (comparison)
	{
		case CSCAN_LESS:
			SELECT_COMPARED(<);
			break;
		case CSCAN_LESS_EQUAL:
			SELECT_COMPARED(<=);
			break;
		case CSCAN_EQUAL:
			SELECT_COMPARED(==);
			break;
		case CSCAN_GREATER_EQUAL:
			SELECT_COMPARED(>=);
			break;
		case CSCAN_GREATER:
			SELECT_COMPARED(>);
			break;
		case CSCAN_NOT_EQUAL:
			SELECT_COMPARED(!=);
			break;
	}
	to->n = k;
}

/* Drop the rows that are null, or those that are not. */
static void
select_null(const bool *isnull, bool wanted, const CScanSelection *from, CScanSelection *to)
{
	uint32_t	n = from->n;
	uint32_t	k = 0;

	if (isnull == NULL)
	{
		if (wanted)
			to->n = 0;
		else if (to != from)
			memcpy(to, from, offsetof(CScanSelection, rows) + n * sizeof(uint16_t));
		return;
	}
	SELECT_ROWS(isnull[row] == wanted);
	to->n = k;
}

static bool
compare(const CScanPredicate *p, CScanProgram *program, bool wanted, const CScanSelection *from, CScanSelection *to)
{
	CScanComparison comparison = wanted ? p->comparison : opposite[p->comparison];
	const CScanVector *left = cscan_program_get(program, p->left);
	const CScanVector *right = left ? cscan_program_get(program, p->right) : NULL;
	int			decided;

	if (right == NULL)
		return false;
	select_null(left->isnull, false, from, to);
	select_null(right->isnull, false, to, to);
	if (to->n == 0)
		return true;
	decided = decide(comparison, left, right);
	if (decided == 0)
		to->n = 0;
	else if (decided < 0)
		select_compared(comparison, left->values, right->values,
						program->instructions[p->right].operation == CSCAN_CONSTANT, to, to);
	return true;
}

static bool
is_in(const int64_t *list, int n, int64_t value)
{
	int			low = 0;

	while (n > 0)
	{
		int			half = n / 2;

		if (list[low + half] < value)
		{
			low += half + 1;
			n -= half + 1;
		}
		else if (list[low + half] > value)
			n = half;
		else
			return true;
	}
	return false;
}

static bool
one_of(const CScanPredicate *p, CScanProgram *program, bool wanted, const CScanSelection *from, CScanSelection *to)
{
	const CScanVector *left = cscan_program_get(program, p->left);
	uint32_t	n;
	uint32_t	k = 0;

	if (left == NULL)
		return false;
	/* Nothing is known to be different from null. */
	if (!wanted && p->list_has_null)
	{
		to->n = 0;
		return true;
	}
	select_null(left->isnull, false, from, to);
	n = to->n;
	from = to;
	SELECT_ROWS(is_in(p->list, p->nlist, left->values[row]) == wanted);
	to->n = k;
	return true;
}

/* ------------------------------------------------------------------
 * AND, OR and NOT
 * ------------------------------------------------------------------ */

static bool settle(const CScanPredicate *p, CScanProgram *program, const CScanAnswers *answers,
				   const CScanSelection *from, CScanSelection *yes, CScanSelection *no);

/*
 * Of an AND, the rows for which a part is false, and those for which all are true; of
 * an OR the other way round.  A row for which a part is unknown is asked about the
 * others, too.
 */
static bool
settle_parts(const CScanPredicate *p, CScanProgram *program, const CScanAnswers *answers,
			 const CScanSelection *from, CScanSelection *decided, CScanSelection *agreed)
{
	CScanSelection open = *from;	/* not decided yet */
	CScanSelection of_part;
	CScanSelection other;

	decided->n = 0;
	*agreed = *from;
	for (int i = 0; i < p->nparts && open.n > 0; i++)
	{
		CScanSelection *yes = p->kind == CSCAN_OR ? &of_part : &other;
		CScanSelection *no = p->kind == CSCAN_OR ? &other : &of_part;

		if (!settle(&p->parts[i], program, answers, &open, yes, no))
			return false;
		cscan_selection_without(&open, &of_part, &open);
		cscan_selection_add(decided, &of_part);
		cscan_selection_common(agreed, &other, agreed);
	}
	if (open.n == 0)
		agreed->n = 0;
	return true;
}

/* The rows for which a condition is true, and those for which it is false.  Each question is asked once. */
static bool
settle(const CScanPredicate *p, CScanProgram *program, const CScanAnswers *answers,
	   const CScanSelection *from, CScanSelection *yes, CScanSelection *no)
{
	switch (p->kind)
	{
		case CSCAN_AND:
			return settle_parts(p, program, answers, from, no, yes);
		case CSCAN_OR:
			return settle_parts(p, program, answers, from, yes, no);
		case CSCAN_NOT:
			return settle(p->parts, program, answers, from, no, yes);
		case CSCAN_ASK:
			return answers->ask(answers->arg, p->question, from, yes, no);
		default:
			return cscan_predicate_select(p, program, answers, true, from, yes) &&
				cscan_predicate_select(p, program, answers, false, from, no);
	}
}

/* Rows for which all parts are "wanted". */
static bool
all_parts(const CScanPredicate *p, CScanProgram *program, const CScanAnswers *answers, bool wanted,
		  const CScanSelection *from, CScanSelection *to)
{
	if (p->careful)
	{
		CScanSelection decided;
		CScanSelection agreed;

		if (!settle_parts(p, program, answers, from, &decided, &agreed))
			return false;
		*to = agreed;
		return true;
	}
	for (int i = 0; i < p->nparts; i++)
	{
		if (!cscan_predicate_select(&p->parts[i], program, answers, wanted, i == 0 ? from : to, to))
			return false;
		if (to->n == 0)
			break;
	}
	return true;
}

/* Rows for which one of them is. */
static bool
any_part(const CScanPredicate *p, CScanProgram *program, const CScanAnswers *answers, bool wanted,
		 const CScanSelection *from, CScanSelection *to)
{
	CScanSelection rest = *from;
	CScanSelection found;

	to->n = 0;
	for (int i = 0; i < p->nparts && rest.n > 0; i++)
	{
		if (!cscan_predicate_select(&p->parts[i], program, answers, wanted, &rest, &found))
			return false;
		cscan_selection_without(&rest, &found, &rest);
		cscan_selection_add(to, &found);
	}
	return true;
}

bool
cscan_predicate_select(const CScanPredicate *p, CScanProgram *program, const CScanAnswers *answers, bool wanted,
					   const CScanSelection *from, CScanSelection *to)
{
	const CScanVector *vector;

	switch (p->kind)
	{
		case CSCAN_AND:
			return wanted ? all_parts(p, program, answers, true, from, to) :
				any_part(p, program, answers, false, from, to);
		case CSCAN_OR:
			return wanted ? any_part(p, program, answers, true, from, to) :
				all_parts(p, program, answers, false, from, to);
		case CSCAN_NOT:
			return cscan_predicate_select(p->parts, program, answers, !wanted, from, to);
		case CSCAN_COMPARE:
			return compare(p, program, wanted, from, to);
		case CSCAN_ONE_OF:
			return one_of(p, program, wanted, from, to);
		case CSCAN_IS_NULL:
			vector = cscan_program_get(program, p->left);
			if (vector == NULL)
				return false;
			select_null(vector->isnull, wanted, from, to);
			return true;
		case CSCAN_ASK:
			return answers->ask(answers->arg, p->question, from, wanted ? to : NULL, wanted ? NULL : to);
	}
	return false;
}
