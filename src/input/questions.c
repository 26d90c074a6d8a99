/*-------------------------------------------------------------------------
 *
 * questions.c
 *		Parts of conditions that are not about numbers.
 *
 * One that needs one column, which has a dictionary in a batch, is computed once
 * for each of its entries.  If it compares strings byte by byte, it is a test of
 * strings (vector/string_test.h) where there is no dictionary.  Whether a column is
 * null is known without a look at its value.  All else PostgreSQL computes row by row.
 *
 * Invariant: bytes decide only where they do for PostgreSQL, which is under each
 * deterministic collation.  Without a collation PostgreSQL has to say so.
 *
 * Interface: input.h.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "access/detoast.h"
#include "catalog/pg_type_d.h"
#include "mb/pg_wchar.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "utils/array.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"

#include "input/input.h"

typedef enum CScanAnswer
{
	ANSWER_NONE,
	ANSWER_TRUE,
	ANSWER_FALSE,
	ANSWER_UNKNOWN
} CScanAnswer;

/* ------------------------------------------------------------------
 * Tests of strings
 * ------------------------------------------------------------------ */

/* What operators with a test of strings do. */
typedef struct CScanStringOperator
{
	Oid			function;
	CScanStringTestKind kind;
	bool		is_negated;
	bool		is_padded;
	bool		has_collation;
} CScanStringOperator;

static const CScanStringOperator operators[] = {
	{F_TEXTEQ, CSCAN_STRING_ONE_OF, false, false, true},
	{F_TEXTNE, CSCAN_STRING_ONE_OF, true, false, true},
	{F_BPCHAREQ, CSCAN_STRING_ONE_OF, false, true, true},
	{F_BPCHARNE, CSCAN_STRING_ONE_OF, true, true, true},
	{F_BYTEAEQ, CSCAN_STRING_ONE_OF, false, false, false},
	{F_BYTEANE, CSCAN_STRING_ONE_OF, true, false, false},
	{F_TEXTLIKE, CSCAN_STRING_LIKE, false, false, true},
	{F_TEXTNLIKE, CSCAN_STRING_LIKE, true, false, true},
	{F_BPCHARLIKE, CSCAN_STRING_LIKE, false, false, true},
	{F_BPCHARNLIKE, CSCAN_STRING_LIKE, true, false, true}
};

static const CScanStringOperator *
find_operator(Oid function, Oid collation)
{
	for (int i = 0; i < (int) lengthof(operators); i++)
	{
		if (operators[i].function != function)
			continue;
		if (operators[i].has_collation && (!OidIsValid(collation) || !get_collation_isdeterministic(collation)))
			return NULL;
		/* Elsewhere a character's bytes may be found in the middle of another one. */
		if (operators[i].kind == CSCAN_STRING_LIKE && GetDatabaseEncoding() != PG_UTF8 &&
			pg_database_encoding_max_length() > 1)
			return NULL;
		return &operators[i];
	}
	return NULL;
}

bool
cscan_param_is_given(const CScanInput *input, const Param *param)
{
	ParamListInfo params = input->ps->state->es_param_list_info;

	return param->paramkind == PARAM_EXTERN && params != NULL && params->paramFetch == NULL && params->paramCompile == NULL;
}

/* Get a value that is there, and lasts as long as the query; false if none is, or null. */
static bool
get_value(const CScanInput *input, Expr *expr, Datum *value)
{
	const ParamExternData *given;

	while (IsA(expr, RelabelType))
		expr = ((RelabelType *) expr)->arg;
	if (IsA(expr, Const))
	{
		*value = ((Const *) expr)->constvalue;
		return !((Const *) expr)->constisnull;
	}
	if (!IsA(expr, Param) || !cscan_param_is_given(input, (Param *) expr))
		return false;
	given = &input->ps->state->es_param_list_info->params[((Param *) expr)->paramid - 1];
	*value = given->value;
	return !given->isnull;
}

static CScanString
string_of(const CScanQuestion *question, struct varlena *varlena)
{
	CScanString string = {VARDATA_ANY(varlena), VARSIZE_ANY_EXHDR(varlena)};

	while (question->is_padded && string.length > 0 && string.bytes[string.length - 1] == ' ')
		string.length--;
	return string;
}

static bool
is_column(const CScanQuestion *question, const Expr *expr)
{
	while (IsA(expr, RelabelType))
		expr = ((const RelabelType *) expr)->arg;
	return IsA(expr, Var) && question->column >= 0 && get_typlen(exprType((const Node *) expr)) == -1;
}

static void
begin_test(CScanQuestion *question, const CScanStringOperator *op)
{
	question->is_negated = op->is_negated;
	question->is_padded = op->is_padded;
}

/* A column is compared with a value, or with a pattern. */
static bool
make_test(CScanInput *input, CScanQuestion *question, const OpExpr *expr)
{
	const CScanStringOperator *op = find_operator(expr->opfuncid, expr->inputcollid);
	Expr	   *column;
	Expr	   *other;
	Datum		value;
	CScanString *strings;

	if (op == NULL || list_length(expr->args) != 2)
		return false;
	column = linitial(expr->args);
	other = lsecond(expr->args);
	if (op->kind == CSCAN_STRING_ONE_OF && !is_column(question, column))
	{
		column = other;
		other = linitial(expr->args);
	}
	if (!is_column(question, column) || !get_value(input, other, &value))
		return false;
	begin_test(question, op);
	strings = palloc(sizeof(CScanString));
	*strings = string_of(question, PG_DETOAST_DATUM_PACKED(value));
	if (op->kind == CSCAN_STRING_ONE_OF)
		cscan_string_test_set(&question->test, strings, 1);
	else
	{
		Size		n = cscan_string_test_pieces(strings->bytes, strings->length);
		CScanString *pieces = palloc_extended(n * sizeof(CScanString), MCXT_ALLOC_HUGE);

		if (!cscan_string_test_like(&question->test, strings->bytes, strings->length, pieces))
			return false;
	}
	return true;
}

/* It is, or is not, one of an array. */
static bool
make_set(CScanInput *input, CScanQuestion *question, const ScalarArrayOpExpr *expr)
{
	const CScanStringOperator *op = find_operator(expr->opfuncid, expr->inputcollid);
	Datum		value;
	ArrayType  *array;
	Datum	   *values;
	bool	   *isnull;
	CScanString *strings;
	int			n;
	uint32		kept = 0;

	if (op == NULL || op->kind != CSCAN_STRING_ONE_OF || op->is_negated == expr->useOr ||
		!is_column(question, linitial(expr->args)) || !get_value(input, lsecond(expr->args), &value))
		return false;
	array = DatumGetArrayTypeP(value);
	if (get_typlen(ARR_ELEMTYPE(array)) != -1)
		return false;
	deconstruct_array(array, ARR_ELEMTYPE(array), -1, false, TYPALIGN_INT, &values, &isnull, &n);
	/* Of no value at all null is not one. */
	if (n == 0)
		return false;
	begin_test(question, op);
	strings = palloc_extended(n * sizeof(CScanString), MCXT_ALLOC_HUGE);
	for (int i = 0; i < n; i++)
	{
		question->has_null |= isnull[i];
		if (!isnull[i])
			strings[kept++] = string_of(question, PG_DETOAST_DATUM_PACKED(values[i]));
	}
	cscan_string_test_set(&question->test, strings, kept);
	return true;
}

/* Is a column of any type null, or not? */
static bool
make_null_test(CScanQuestion *question, const NullTest *expr)
{
	question->is_negated = expr->nulltesttype == IS_NOT_NULL;
	return question->column >= 0 && IsA(expr->arg, Var) && !expr->argisrow;
}

CScanQuestion *
cscan_question_create(CScanInput *input, Expr *expr)
{
	CScanQuestion *question = palloc0(sizeof(CScanQuestion));
	Bitmapset  *needed = NULL;

	cscan_row_expr_init(&question->row, input, expr);
	pull_varattnos((Node *) expr, ((CustomScan *) input->ps->plan)->scan.scanrelid, &needed);
	question->column = question->row.ncolumns == 1 && bms_membership(needed) == BMS_SINGLETON ?
		question->row.columns[0] : -1;
	question->is_of_strings = IsA(expr, OpExpr) ? make_test(input, question, (OpExpr *) expr) :
		IsA(expr, ScalarArrayOpExpr) && make_set(input, question, (ScalarArrayOpExpr *) expr);
	question->is_of_nulls = IsA(expr, NullTest) && make_null_test(question, (NullTest *) expr);
	question->is_by_row = !question->is_of_strings && !question->is_of_nulls && (question->column < 0 || input->scan->kind != CSCAN_COLUMNS);
	input->questions = lappend(input->questions, question);
	return question;
}

/* ------------------------------------------------------------------
 * Answers
 * ------------------------------------------------------------------ */

/* Ask about a value of the question's column. */
static CScanAnswer
ask_about(CScanInput *input, CScanQuestion *question, int64 code)
{
	ExprContext *econtext = input->econtext;
	MemoryContext old = MemoryContextSwitchTo(econtext->ecxt_per_tuple_memory);
	Datum		answer;
	bool		isnull;

	econtext->ecxt_scantuple = cscan_batch_entry_row(input->batch, question->column,
													 cscan_batch_entry(input->batch, question->column, code));
	answer = ExecEvalExpr(cscan_row_expr_state(&question->row, input), econtext, &isnull);
	MemoryContextSwitchTo(old);
	return isnull ? ANSWER_UNKNOWN : DatumGetBool(answer) ? ANSWER_TRUE : ANSWER_FALSE;
}

/* What an expression of the column says of null is computed for each such row. */
static CScanAnswer
ask_about_null(CScanInput *input, CScanQuestion *question, uint16 row)
{
	CScanSelection one = {.n = 1,.rows = {row}};
	CScanRowExpr *expr = &question->row;

	cscan_row_expr_compute(expr, input, &one);
	return expr->isnull[row] ? ANSWER_UNKNOWN : DatumGetBool(expr->values[row]) ? ANSWER_TRUE : ANSWER_FALSE;
}

/* Ask about the entries of the dictionary.  False if the batch has none. */
static bool
ask_dictionary(CScanInput *input, CScanQuestion *question, const CScanSelection *from, uint8 *found)
{
	const int64 *codes;
	const bool *isnull;
	uint32		nentries;

	if (question->column < 0 || !cscan_batch_codes(input->batch, question->column, &codes, &isnull, &nentries))
		return false;
	if (question->answers == NULL)
		question->answers = cscan_room_take(&input->room, CSCAN_MAX_ENTRIES);
	if (question->runs != input->batch->runs)
	{
		question->runs = input->batch->runs;
		memset(question->answers, ANSWER_NONE, nentries);
	}
	for (uint32 i = 0; i < from->n; i++)
	{
		uint16		row = from->rows[i];
		uint8	   *answer;

		if (cscan_batch_is_null(isnull, row))
		{
			found[i] = ask_about_null(input, question, row);
			continue;
		}
		answer = &question->answers[codes[row]];
		if (*answer == ANSWER_NONE)
			*answer = ask_about(input, question, codes[row]);
		found[i] = *answer;
	}
	return true;
}

/* Does a string that is compressed, or not in its row, pass? */
static bool
passes_detoasted(CScanInput *input, const CScanQuestion *question, Datum value)
{
	MemoryContext old;
	CScanString string;
	bool		passes;

	/* Like texteq(), look at the length first. */
	if (!question->is_padded && !cscan_string_test_may_pass(&question->test, toast_raw_datum_size(value) - VARHDRSZ))
		return false;
	CHECK_FOR_INTERRUPTS();
	old = MemoryContextSwitchTo(input->econtext->ecxt_per_tuple_memory);
	string = string_of(question, PG_DETOAST_DATUM_PACKED(value));
	passes = cscan_string_test_passes(&question->test, string.bytes, string.length);
	MemoryContextSwitchTo(old);
	ResetExprContext(input->econtext);
	return passes;
}

/* Test the strings of the rows. */
static void
test_strings(CScanInput *input, const CScanQuestion *question, const CScanSelection *from, uint8 *found)
{
	const Datum *values;
	const bool *isnull;
	CScanAnswer answers[] = {
		[false] = question->has_null ? ANSWER_UNKNOWN : question->is_negated ? ANSWER_TRUE : ANSWER_FALSE,
		[true] = question->is_negated ? ANSWER_FALSE : ANSWER_TRUE
	};

	cscan_batch_datums(input->batch, question->column, &values, &isnull);
	for (uint32 i = 0; i < from->n; i++)
	{
		uint16		row = from->rows[i];
		struct varlena *varlena = (struct varlena *) DatumGetPointer(values[row]);
		bool		passes;

		if (cscan_batch_is_null(isnull, row))
		{
			found[i] = ANSWER_UNKNOWN;
			continue;
		}
		if (VARATT_IS_EXTERNAL(varlena) || VARATT_IS_COMPRESSED(varlena))
			passes = passes_detoasted(input, question, values[row]);
		else
		{
			CScanString string = string_of(question, varlena);

			passes = cscan_string_test_passes(&question->test, string.bytes, string.length);
		}
		found[i] = answers[passes];
	}
}

/* Find out which rows are null. */
static void
test_nulls(CScanInput *input, const CScanQuestion *question, const CScanSelection *from, uint8 *found)
{
	const bool *isnull = cscan_batch_nulls(input->batch, question->column);

	for (uint32 i = 0; i < from->n; i++)
		found[i] = cscan_batch_is_null(isnull, from->rows[i]) != question->is_negated ? ANSWER_TRUE : ANSWER_FALSE;
}

bool
cscan_question_ask(void *arg, int number, const CScanSelection *from, CScanSelection *yes, CScanSelection *no)
{
	CScanInput *input = arg;
	CScanQuestion *question = list_nth(input->questions, number);
	uint8		found[CSCAN_BATCH];
	uint32		n = from->n;
	uint32		nyes = 0;
	uint32		nno = 0;

	if (question->is_of_nulls)
		test_nulls(input, question, from, found);
	else if (!ask_dictionary(input, question, from, found))
	{
		if (!question->is_of_strings)
		{
			cscan_row_expr_split(&question->row, input, from, yes, no);
			return true;
		}
		test_strings(input, question, from, found);
	}
	for (uint32 i = 0; i < n; i++)
	{
		uint16		row = from->rows[i];

		if (found[i] == ANSWER_TRUE && yes)
			yes->rows[nyes++] = row;
		if (found[i] == ANSWER_FALSE && no)
			no->rows[nno++] = row;
	}
	if (yes)
		yes->n = nyes;
	if (no)
		no->n = nno;
	return true;
}
