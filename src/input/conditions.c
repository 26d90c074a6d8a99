/*-------------------------------------------------------------------------
 *
 * conditions.c
 *		Conditions as predicates on vectors.
 *
 * Vectors know comparisons of numbers, IN, IS NULL, AND, OR and NOT.  A part
 * that they do not know is a question (questions.c).
 *
 * A value that is fixed in a pass may be no value that the number can be: 0.055,
 * of numerics with two digits.  Then the comparison is with the next smaller one,
 * and is another one: x < 0.055 is x <= 0.05.
 *
 * Invariant: a clause says what it may do to a query that it is asked too early of.
 * may_fail_by_row: it may raise an error for a row, so no row may be asked it that
 * PostgreSQL would not have asked.  may_fail: likewise, or the value that it compares
 * with may raise one when it is computed, once in a pass.  Wrongly set, they cost
 * time; wrongly not set, a query fails.
 *
 * Interface: input.h.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "access/nbtree.h"
#include "access/stratnum.h"
#include "catalog/pg_am_d.h"
#include "catalog/pg_type_d.h"
#include "commands/defrem.h"
#include "datatype/timestamp.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/date.h"
#include "utils/fmgroids.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/numeric.h"
#include "utils/timestamp.h"

#include "input/input.h"
#include "vector/calendar.h"

/* Longer conditions, and those that come when there is so much already, have no vectors. */
#define MAX_COMPARISONS		256
#define MAX_INSTRUCTIONS	1024

static bool compile(CScanInput *input, CScanClause *clause, Expr *expr, int depth, CScanPredicate *p);

/* ------------------------------------------------------------------
 * Comparisons
 * ------------------------------------------------------------------ */

/* Which comparison an operator is, of two types in the order of their integers. */
static bool
find_comparison(Oid opno, CScanComparison *comparison)
{
	static const CScanComparison by_strategy[] = {
		[BTLessStrategyNumber] = CSCAN_LESS,
		[BTLessEqualStrategyNumber] = CSCAN_LESS_EQUAL,
		[BTEqualStrategyNumber] = CSCAN_EQUAL,
		[BTGreaterEqualStrategyNumber] = CSCAN_GREATER_EQUAL,
		[BTGreaterStrategyNumber] = CSCAN_GREATER
	};
	Oid			left;
	Oid			right;
	Oid			opclass;
	int			strategy;

	op_input_types(opno, &left, &right);
	if (!OidIsValid(left) || !OidIsValid(right) || !OidIsValid(cscan_number_or_float_type(left)) ||
		!OidIsValid(cscan_number_or_float_type(right)))
		return false;
	opclass = GetDefaultOpClass(left, BTREE_AM_OID);
	if (!OidIsValid(opclass))
		return false;
	strategy = get_op_opfamily_strategy(opno, get_opclass_family(opclass));
	if (strategy != InvalidStrategy)
	{
		*comparison = by_strategy[strategy];
		return true;
	}
	opno = get_negator(opno);
	if (!OidIsValid(opno) ||
		get_op_opfamily_strategy(opno, get_opclass_family(opclass)) != BTEqualStrategyNumber)
		return false;
	*comparison = CSCAN_NOT_EQUAL;
	return true;
}

static bool
is_integer(Oid type)
{
	return type == INT2OID || type == INT4OID || type == INT8OID;
}

static bool
is_time(Oid type)
{
	return type == DATEOID || type == TIMESTAMPOID || type == TIMESTAMPTZOID;
}

/* Are the integers of two types of one kind, so that they can be compared as they are? */
static bool
are_alike(Oid left, Oid right)
{
	return left == right || (is_integer(left) && is_integer(right)) || (cscan_is_float(left) && cscan_is_float(right));
}

/* The same comparison with its sides exchanged. */
static CScanComparison
commute(CScanComparison comparison)
{
	switch (comparison)
	{
		case CSCAN_LESS:
			return CSCAN_GREATER;
		case CSCAN_LESS_EQUAL:
			return CSCAN_GREATER_EQUAL;
		case CSCAN_GREATER_EQUAL:
			return CSCAN_LESS_EQUAL;
		case CSCAN_GREATER:
			return CSCAN_LESS;
		default:
			return comparison;
	}
}

/* Is this a value that is there, which nothing has to compute? */
static bool
is_value(const CScanInput *input, Node *node)
{
	while (IsA(node, RelabelType))
		node = (Node *) ((RelabelType *) node)->arg;
	return IsA(node, Const) || (IsA(node, Param) && cscan_param_is_given(input, (Param *) node));
}

/*
 * Compare a number with a value that is fixed in a pass.  If that has to be
 * computed, this must not happen before PostgreSQL would do so for some row: so
 * it is a condition of its own, and not a part of one.
 */
static bool
compile_fixed(CScanInput *input, CScanClause *clause, bool is_whole, Expr *expr, Expr *value,
			  CScanComparison comparison, CScanPredicate *p)
{
	CScanNumber number;
	CScanFixed *fixed;
	CScanInstruction instruction = {.operation = CSCAN_CONSTANT, .least = PG_INT64_MIN, .most = PG_INT64_MAX};
	Oid			compared = cscan_number_or_float_type(exprType((Node *) expr));
	Oid			type = cscan_number_or_float_type(exprType((Node *) value));

	if (!are_alike(compared, type) && !(is_time(compared) && is_time(type)))
		return false;
	if (!is_value(input, (Node *) value))
	{
		if (!is_whole)
			return false;
		clause->computes_value = true;
	}
	if (!cscan_number_compile(input, expr, &number))
		return false;
	cscan_number_order(input, &number);
	if (type == TIMESTAMPTZOID && compared != type)
	{
		number.reg = cscan_time_with_zone(input, compared, number.reg);
		compared = type;
	}
	fixed = palloc0(sizeof(CScanFixed));
	fixed->value = value;
	fixed->type = type;
	fixed->compared = compared;
	fixed->scale = number.scale;
	fixed->predicate = p;
	fixed->comparison = comparison;

	/* A constant of its own: each fixed value is another one. */
	instruction.left = -1 - input->program.n;
	fixed->reg = cscan_program_add(&input->program, &instruction);
	clause->fixed = lappend(clause->fixed, fixed);
	p->kind = CSCAN_COMPARE;
	p->left = number.reg;
	p->right = fixed->reg;
	p->comparison = comparison;
	return true;
}

static bool
compile_comparison(CScanInput *input, CScanClause *clause, OpExpr *op, CScanPredicate *p)
{
	CScanComparison comparison;
	CScanNumber left;
	CScanNumber right;
	bool		is_whole = (Expr *) op == clause->row.expr;
	Expr	   *a;
	Expr	   *b;

	if (list_length(op->args) != 2 || !find_comparison(op->opno, &comparison))
		return false;
	a = linitial(op->args);
	b = lsecond(op->args);
	if (cscan_expr_is_fixed((Node *) b))
		return compile_fixed(input, clause, is_whole, a, b, comparison, p);
	if (cscan_expr_is_fixed((Node *) a))
		return compile_fixed(input, clause, is_whole, b, a, commute(comparison), p);
	if (!are_alike(cscan_number_or_float_type(exprType((Node *) a)), cscan_number_or_float_type(exprType((Node *) b))) ||
		!cscan_number_compile(input, a, &left) || !cscan_number_compile(input, b, &right) ||
		!cscan_number_align(input, &left, &right))
		return false;
	cscan_number_order(input, &left);
	cscan_number_order(input, &right);
	p->kind = CSCAN_COMPARE;
	p->left = left.reg;
	p->right = right.reg;
	p->comparison = comparison;
	return true;
}

/* Get the greatest integer of a scale that is not greater than a numeric; "exact": it is that. */
static bool
floor_of_numeric(Datum value, int scale, int64 *integer, bool *exact)
{
	Numeric		numeric = DatumGetNumeric(value);
	Numeric		power;
	Datum		scaled;
	Datum		floored;

	/* What is too large may not be multiplied. */
	if (numeric_is_nan(numeric) || numeric_is_inf(numeric) ||
		!DatumGetBool(DirectFunctionCall2(numeric_lt, value, NumericGetDatum(int64_to_numeric(PG_INT64_MAX)))) ||
		!DatumGetBool(DirectFunctionCall2(numeric_gt, value, NumericGetDatum(int64_to_numeric(PG_INT64_MIN)))))
		return false;
	power = int64_to_numeric(1);
	for (int i = 0; i < scale; i++)
		power = DatumGetNumeric(DirectFunctionCall2(numeric_mul, NumericGetDatum(power),
													NumericGetDatum(int64_to_numeric(10))));
	scaled = DirectFunctionCall2(numeric_mul, value, NumericGetDatum(power));
	floored = DirectFunctionCall1(numeric_floor, scaled);
	if (!DatumGetBool(DirectFunctionCall2(numeric_lt, floored, NumericGetDatum(int64_to_numeric(PG_INT64_MAX)))) ||
		!DatumGetBool(DirectFunctionCall2(numeric_gt, floored, NumericGetDatum(int64_to_numeric(PG_INT64_MIN)))))
		return false;
	*exact = DatumGetBool(DirectFunctionCall2(numeric_eq, floored, scaled));
	*integer = DatumGetInt64(DirectFunctionCall1(numeric_int8, floored));
	return true;
}

/* Get the integer by which a float is compared. */
static int64
order_of_float(Datum value, Oid type)
{
	return cscan_float_order(type == FLOAT4OID ? DatumGetFloat4(value) : DatumGetFloat8(value));
}

/* A date, or a timestamp, as one with a time zone.  False near the ends of what there is: a comparison raises no error. */
static bool
with_zone(Oid type, Datum value, int64 *integer)
{
	int64		days = type == DATEOID ? DatumGetDateADT(value) : DatumGetTimestamp(value) / USECS_PER_DAY;

	if (days < CSCAN_FIRST_DATE || days > END_TIMESTAMP / USECS_PER_DAY - 7)
		return false;
	*integer = DatumGetTimestampTz(DirectFunctionCall1(type == DATEOID ? date_timestamptz : timestamp_timestamptz, value));
	return true;
}

/* Get what a fixed value is among the integers with which it is compared. */
static bool
floor_of_fixed(const CScanFixed *fixed, Datum value, int64 *integer, bool *exact)
{
	int64		days;

	*exact = true;
	if (fixed->type == NUMERICOID)
		return floor_of_numeric(value, fixed->scale, integer, exact);
	if (cscan_is_float(fixed->type))
	{
		*integer = order_of_float(value, fixed->type);
		return true;
	}
	*integer = cscan_values_integer_of_datum(value, get_typlen(fixed->type));
	if (fixed->type == fixed->compared || is_integer(fixed->type))
		return true;
	if (fixed->compared == TIMESTAMPTZOID)
		return with_zone(fixed->type, value, integer);
	if (fixed->type == TIMESTAMPOID)
	{
		if (TIMESTAMP_NOT_FINITE(*integer))
			return false;
		days = *integer / USECS_PER_DAY;
		days -= *integer % USECS_PER_DAY < 0;
		*exact = days * USECS_PER_DAY == *integer;
		*integer = days;
		return true;
	}
	/* A date, as a timestamp */
	if (DATE_NOT_FINITE(*integer) || *integer >= TIMESTAMP_END_JULIAN - POSTGRES_EPOCH_JDATE ||
		*integer < DATETIME_MIN_JULIAN - POSTGRES_EPOCH_JDATE)
		return false;
	*integer *= USECS_PER_DAY;
	return true;
}

/* Compare with a fixed value in this pass.  False if it is none of the integers. */
static bool
fix(CScanInput *input, CScanFixed *fixed)
{
	CScanComparison comparison = fixed->comparison;
	bool		isnull;
	bool		exact;
	int64		integer;
	Datum		value;

	if (IsA(fixed->value, Const))
	{
		value = ((Const *) fixed->value)->constvalue;
		isnull = ((Const *) fixed->value)->constisnull;
	}
	else
	{
		if (fixed->state == NULL)
			fixed->state = cscan_expr_state(fixed->value, input);
		value = ExecEvalExprSwitchContext(fixed->state, input->econtext, &isnull);
	}
	if (isnull)
	{
		cscan_program_set(&input->program, fixed->reg, 0, true);
		fixed->predicate->comparison = comparison;
		return true;
	}
	if (!floor_of_fixed(fixed, value, &integer, &exact))
		return false;
	if (!exact)
	{
		switch (comparison)
		{
			case CSCAN_LESS:
				comparison = CSCAN_LESS_EQUAL;
				break;
			case CSCAN_GREATER_EQUAL:
				comparison = CSCAN_GREATER;
				break;
			case CSCAN_EQUAL:
			case CSCAN_NOT_EQUAL:
				return false;
			default:
				break;
		}
	}
	cscan_program_set(&input->program, fixed->reg, integer, false);
	fixed->predicate->comparison = comparison;
	return true;
}

void
cscan_condition_fix(CScanInput *input, CScanClause *clause)
{
	MemoryContext old = MemoryContextSwitchTo(input->econtext->ecxt_per_tuple_memory);
	ListCell   *lc;

	clause->by_row = !clause->vectorized;
	foreach(lc, clause->fixed)
	{
		if (!fix(input, lfirst(lc)))
			clause->by_row = true;
	}
	clause->fixed_known = true;
	MemoryContextSwitchTo(old);
}

/* ------------------------------------------------------------------
 * IN
 * ------------------------------------------------------------------ */

/* Make a predicate that refers to no other one its opposite. */
static void
negate(CScanPredicate *p)
{
	CScanPredicate *part = palloc(sizeof(CScanPredicate));

	*part = *p;
	memset(p, 0, sizeof(CScanPredicate));
	p->kind = CSCAN_NOT;
	p->parts = part;
	p->nparts = 1;
}

static int
compare_integers(const void *a, const void *b)
{
	int64		x = *(const int64 *) a;
	int64		y = *(const int64 *) b;

	return x < y ? -1 : x > y;
}

/* A number is, or is not, one of a constant array. */
static bool
compile_list(CScanInput *input, ScalarArrayOpExpr *op, CScanPredicate *p)
{
	CScanComparison comparison;
	CScanNumber number;
	Const	   *list = lsecond(op->args);
	ArrayType  *array;
	Oid			type;
	Datum	   *values;
	bool	   *isnull;
	int16		typlen;
	bool		typbyval;
	char		typalign;
	int			n;
	int64	   *integers;
	int			kept = 0;

	if (!IsA(list, Const) || list->constisnull || !find_comparison(op->opno, &comparison) ||
		!(op->useOr ? comparison == CSCAN_EQUAL : comparison == CSCAN_NOT_EQUAL))
		return false;
	array = DatumGetArrayTypeP(list->constvalue);
	type = cscan_number_or_float_type(ARR_ELEMTYPE(array));
	if (!OidIsValid(type) || !are_alike(cscan_number_or_float_type(exprType(linitial(op->args))), type) ||
		!cscan_number_compile(input, linitial(op->args), &number))
		return false;
	cscan_number_order(input, &number);
	get_typlenbyvalalign(type, &typlen, &typbyval, &typalign);
	deconstruct_array(array, ARR_ELEMTYPE(array), typlen, typbyval, typalign, &values, &isnull, &n);
	/* Of no value at all null is not one. */
	if (n == 0)
		return false;
	integers = palloc(n * sizeof(int64));
	for (int i = 0; i < n; i++)
	{
		bool		exact = true;

		if (isnull[i])
		{
			p->list_has_null = true;
			continue;
		}
		if (cscan_is_float(type))
			integers[kept] = order_of_float(values[i], type);
		else if (type != NUMERICOID)
			integers[kept] = cscan_values_integer_of_datum(values[i], typlen);
		else if (!floor_of_numeric(values[i], number.scale, &integers[kept], &exact))
			return false;
		kept += exact;
	}
	qsort(integers, kept, sizeof(int64), compare_integers);
	p->kind = CSCAN_ONE_OF;
	p->left = number.reg;
	p->list = integers;
	p->nlist = kept;
	if (!op->useOr)
		negate(p);
	return true;
}

/* ------------------------------------------------------------------
 * Conditions and their parts
 * ------------------------------------------------------------------ */

/*
 * Does it raise no error, though it is not marked leakproof?  LIKE does only with an
 * escape at the pattern's end, or a nondeterministic collation, and a comparison of
 * numerics never does.
 */
bool
cscan_condition_is_harmless(const OpExpr *op)
{
	const Const *pattern;

	switch (op->opfuncid)
	{
		case F_NUMERIC_EQ:
		case F_NUMERIC_NE:
		case F_NUMERIC_LT:
		case F_NUMERIC_LE:
		case F_NUMERIC_GT:
		case F_NUMERIC_GE:
			return true;
		case F_TEXTLIKE:
		case F_TEXTNLIKE:
		case F_BPCHARLIKE:
		case F_BPCHARNLIKE:
			pattern = lsecond(op->args);
			return IsA(pattern, Const) && OidIsValid(op->inputcollid) && get_collation_isdeterministic(op->inputcollid) &&
				(pattern->constisnull || strchr(TextDatumGetCString(pattern->constvalue), '\\') == NULL);
		default:
			return false;
	}
}

static bool
is_not_leakproof(Oid function, void *context)
{
	(void) context;
	return !get_func_leakproof(function);
}

/*
 * Does a function lack the collation that it needs?  Then it says so when it is called,
 * although it may be leakproof.
 */
static bool
lacks_collation(Node *node)
{
	List	   *args = IsA(node, FuncExpr) ? ((FuncExpr *) node)->args :
		IsA(node, OpExpr) ? ((OpExpr *) node)->args :
		IsA(node, ScalarArrayOpExpr) ? ((ScalarArrayOpExpr *) node)->args : NIL;
	ListCell   *lc;

	if (args == NIL || OidIsValid(exprInputCollation(node)))
		return false;
	foreach(lc, args)
	{
		if (type_is_collatable(exprType(lfirst(lc))))
			return true;
	}
	return false;
}

/*
 * A walker: may an expression raise an error?  Leakproof functions do not, and few
 * others are known.  A subquery's value may have to be computed first.
 */
static bool
may_fail(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (lacks_collation(node))
		return true;
	switch (nodeTag(node))
	{
		case T_OpExpr:
			if (cscan_condition_is_harmless((OpExpr *) node))
				return expression_tree_walker(node, may_fail, context);
			break;
		case T_Param:
			return !cscan_param_is_given(context, (Param *) node);
		case T_List:
		case T_Var:
		case T_Const:
		case T_FuncExpr:
		case T_ScalarArrayOpExpr:
		case T_ArrayExpr:
		case T_BoolExpr:
		case T_NullTest:
		case T_BooleanTest:
		case T_RelabelType:
			break;
		default:
			return true;
	}
	return check_functions_in_node(node, is_not_leakproof, context) ||
		expression_tree_walker(node, may_fail, context);
}

/* Let a part of a condition be a question. */
static void
make_question(CScanInput *input, CScanClause *clause, Expr *expr, CScanPredicate *p)
{
	CScanQuestion *question = cscan_question_create(input, expr);

	question->may_fail = may_fail((Node *) expr, input);
	clause->may_fail |= question->may_fail;
	clause->vectorized |= !question->is_by_row;
	clause->questions = lappend(clause->questions, question);
	p->kind = CSCAN_ASK;
	p->question = list_length(input->questions) - 1;
}

static bool
compile_parts(CScanInput *input, CScanClause *clause, BoolExpr *expr, int depth, CScanPredicate *p)
{
	ListCell   *lc;

	if (depth >= CSCAN_PREDICATE_DEPTH)
		return false;
	p->kind = expr->boolop == AND_EXPR ? CSCAN_AND : expr->boolop == OR_EXPR ? CSCAN_OR : CSCAN_NOT;
	p->parts = palloc0(list_length(expr->args) * sizeof(CScanPredicate));
	foreach(lc, expr->args)
	{
		if (!compile(input, clause, lfirst(lc), depth + 1, &p->parts[p->nparts]))
			make_question(input, clause, lfirst(lc), &p->parts[p->nparts]);
		p->nparts++;
	}
	p->careful = input->computes || clause->questions != NIL;
	return true;
}

/* Vectorize an expression, except parts of it; false if that gains nothing. */
static bool
compile(CScanInput *input, CScanClause *clause, Expr *expr, int depth, CScanPredicate *p)
{
	CScanNumber number;
	bool		ok = false;

	switch (nodeTag(expr))
	{
		case T_BoolExpr:
			return compile_parts(input, clause, (BoolExpr *) expr, depth, p);
		case T_OpExpr:
			ok = compile_comparison(input, clause, (OpExpr *) expr, p);
			break;
		case T_ScalarArrayOpExpr:
			ok = compile_list(input, (ScalarArrayOpExpr *) expr, p);
			break;
		case T_NullTest:
			ok = !((NullTest *) expr)->argisrow && cscan_number_compile(input, ((NullTest *) expr)->arg, &number);
			if (!ok)
				break;
			p->kind = CSCAN_IS_NULL;
			p->left = number.reg;
			if (((NullTest *) expr)->nulltesttype == IS_NOT_NULL)
				negate(p);
			break;
		case T_Var:
			ok = exprType((Node *) expr) == BOOLOID && cscan_number_compile(input, expr, &number);
			if (!ok)
				break;
			p->kind = CSCAN_COMPARE;
			p->comparison = CSCAN_NOT_EQUAL;
			p->left = number.reg;
			p->right = cscan_program_add(&input->program, &(CScanInstruction) {
				.operation = CSCAN_CONSTANT,.least = PG_INT64_MIN,.most = PG_INT64_MAX});
			break;
		default:
			break;
	}
	clause->vectorized |= ok;
	return ok;
}

/* A walker: are there more comparisons than "*context"? */
static bool
has_more(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, OpExpr) && --*(int *) context < 0)
		return true;
	return expression_tree_walker(node, has_more, context);
}

/* Each constant takes memory, and is looked for among all of them. */
static bool
is_short(Node *node)
{
	int			left = MAX_COMPARISONS;

	return !has_more(node, &left);
}

void
cscan_condition_compile(CScanInput *input, CScanClause *clause)
{
	clause->vectorized = clause->may_fail = clause->computes_value = false;
	input->computes = false;
	if (contain_volatile_functions((Node *) clause->row.expr))
		clause->may_fail = true;
	else if (!is_short((Node *) clause->row.expr) || input->program.n > MAX_INSTRUCTIONS)
		make_question(input, clause, clause->row.expr, &clause->predicate);
	else if (!compile(input, clause, clause->row.expr, 0, &clause->predicate))
		make_question(input, clause, clause->row.expr, &clause->predicate);
	clause->may_fail |= input->computes;
	clause->may_fail_by_row = clause->may_fail;
	clause->may_fail |= clause->computes_value;
}

bool
cscan_condition_asks_ahead(const CScanInput *input, const CScanClause *clause)
{
	ListCell   *lc;

	if (!clause->vectorized || clause->may_fail_by_row)
		return false;
	foreach(lc, clause->questions)
	{
		/* What is computed for each row of a page needs all of the row. */
		if (((CScanQuestion *) lfirst(lc))->is_by_row && input->scan->kind != CSCAN_COLUMNS)
			return false;
	}
	return true;
}
