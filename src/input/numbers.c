/*-------------------------------------------------------------------------
 *
 * numbers.c
 *		Expressions as arithmetic on vectors.
 *
 * A number is an integer of its type, or a numeric of a scale that is known: a
 * column's is that of its type modifier.  What numeric's functions make of such
 * numbers has a scale that is known, too: the larger one of a sum's operands, and
 * the sum of a product's.  Or it is a float: the bits of a double, which those of 32
 * bits become.  Only arithmetic whose result has 64 bits is done.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "catalog/pg_type_d.h"
#include "nodes/nodeFuncs.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/numeric.h"

#include "input/input.h"

/* Functions of two integers, or one, and the type of their result */
typedef struct CScanArithmetic
{
	Oid			function;
	CScanOperation operation;
	Oid			result;
} CScanArithmetic;

static const CScanArithmetic arithmetic[] = {
	{F_INT2PL, CSCAN_ADD, INT2OID}, {F_INT4PL, CSCAN_ADD, INT4OID}, {F_INT8PL, CSCAN_ADD, INT8OID},
	{F_INT24PL, CSCAN_ADD, INT4OID}, {F_INT42PL, CSCAN_ADD, INT4OID}, {F_INT48PL, CSCAN_ADD, INT8OID},
	{F_INT84PL, CSCAN_ADD, INT8OID}, {F_INT28PL, CSCAN_ADD, INT8OID}, {F_INT82PL, CSCAN_ADD, INT8OID},
	{F_INT2MI, CSCAN_SUBTRACT, INT2OID}, {F_INT4MI, CSCAN_SUBTRACT, INT4OID}, {F_INT8MI, CSCAN_SUBTRACT, INT8OID},
	{F_INT24MI, CSCAN_SUBTRACT, INT4OID}, {F_INT42MI, CSCAN_SUBTRACT, INT4OID}, {F_INT48MI, CSCAN_SUBTRACT, INT8OID},
	{F_INT84MI, CSCAN_SUBTRACT, INT8OID}, {F_INT28MI, CSCAN_SUBTRACT, INT8OID}, {F_INT82MI, CSCAN_SUBTRACT, INT8OID},
	{F_INT2MUL, CSCAN_MULTIPLY, INT2OID}, {F_INT4MUL, CSCAN_MULTIPLY, INT4OID}, {F_INT8MUL, CSCAN_MULTIPLY, INT8OID},
	{F_INT24MUL, CSCAN_MULTIPLY, INT4OID}, {F_INT42MUL, CSCAN_MULTIPLY, INT4OID}, {F_INT48MUL, CSCAN_MULTIPLY, INT8OID},
	{F_INT84MUL, CSCAN_MULTIPLY, INT8OID}, {F_INT28MUL, CSCAN_MULTIPLY, INT8OID}, {F_INT82MUL, CSCAN_MULTIPLY, INT8OID},
	{F_INT2DIV, CSCAN_DIVIDE, INT2OID}, {F_INT4DIV, CSCAN_DIVIDE, INT4OID}, {F_INT8DIV, CSCAN_DIVIDE, INT8OID},
	{F_INT24DIV, CSCAN_DIVIDE, INT4OID}, {F_INT42DIV, CSCAN_DIVIDE, INT4OID}, {F_INT48DIV, CSCAN_DIVIDE, INT8OID},
	{F_INT84DIV, CSCAN_DIVIDE, INT8OID}, {F_INT28DIV, CSCAN_DIVIDE, INT8OID}, {F_INT82DIV, CSCAN_DIVIDE, INT8OID},
	{F_INT2MOD, CSCAN_REMAINDER, INT2OID}, {F_INT4MOD, CSCAN_REMAINDER, INT4OID}, {F_INT8MOD, CSCAN_REMAINDER, INT8OID},
	{F_MOD_INT2_INT2, CSCAN_REMAINDER, INT2OID}, {F_MOD_INT4_INT4, CSCAN_REMAINDER, INT4OID},
	{F_MOD_INT8_INT8, CSCAN_REMAINDER, INT8OID},
	{F_INT2UM, CSCAN_NEGATE, INT2OID}, {F_INT4UM, CSCAN_NEGATE, INT4OID}, {F_INT8UM, CSCAN_NEGATE, INT8OID},
	{F_NUMERIC_ADD, CSCAN_ADD, NUMERICOID}, {F_NUMERIC_SUB, CSCAN_SUBTRACT, NUMERICOID},
	{F_NUMERIC_MUL, CSCAN_MULTIPLY, NUMERICOID}, {F_NUMERIC_UMINUS, CSCAN_NEGATE, NUMERICOID},
	{F_FLOAT8PL, CSCAN_FLOAT_ADD, FLOAT8OID}, {F_FLOAT48PL, CSCAN_FLOAT_ADD, FLOAT8OID}, {F_FLOAT84PL, CSCAN_FLOAT_ADD, FLOAT8OID},
	{F_FLOAT8MI, CSCAN_FLOAT_SUBTRACT, FLOAT8OID}, {F_FLOAT48MI, CSCAN_FLOAT_SUBTRACT, FLOAT8OID},
	{F_FLOAT84MI, CSCAN_FLOAT_SUBTRACT, FLOAT8OID},
	{F_FLOAT8MUL, CSCAN_FLOAT_MULTIPLY, FLOAT8OID}, {F_FLOAT48MUL, CSCAN_FLOAT_MULTIPLY, FLOAT8OID},
	{F_FLOAT84MUL, CSCAN_FLOAT_MULTIPLY, FLOAT8OID},
	{F_FLOAT8DIV, CSCAN_FLOAT_DIVIDE, FLOAT8OID}, {F_FLOAT48DIV, CSCAN_FLOAT_DIVIDE, FLOAT8OID},
	{F_FLOAT84DIV, CSCAN_FLOAT_DIVIDE, FLOAT8OID},
	{F_FLOAT8UM, CSCAN_FLOAT_NEGATE, FLOAT8OID}, {F_FLOAT4UM, CSCAN_FLOAT_NEGATE, FLOAT4OID}
};

/* Casts of integers, and the type of their result; most leave them as they are */
static const CScanArithmetic casts[] = {
	{F_INT4_INT2, CSCAN_COLUMN, INT4OID}, {F_INT8_INT2, CSCAN_COLUMN, INT8OID}, {F_INT8_INT4, CSCAN_COLUMN, INT8OID},
	{F_INT4_BOOL, CSCAN_COLUMN, INT4OID},
	{F_NUMERIC_INT2, CSCAN_COLUMN, NUMERICOID}, {F_NUMERIC_INT4, CSCAN_COLUMN, NUMERICOID},
	{F_NUMERIC_INT8, CSCAN_COLUMN, NUMERICOID},
	{F_FLOAT8_INT2, CSCAN_FLOAT_OF_INTEGER, FLOAT8OID}, {F_FLOAT8_INT4, CSCAN_FLOAT_OF_INTEGER, FLOAT8OID},
	{F_FLOAT8_INT8, CSCAN_FLOAT_OF_INTEGER, FLOAT8OID}
};

Oid
cscan_number_type(Oid type)
{
	type = getBaseType(type);
	switch (type)
	{
		case BOOLOID:
		case INT2OID:
		case INT4OID:
		case INT8OID:
		case DATEOID:
		case TIMEOID:
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
		case CASHOID:
		case NUMERICOID:
			return type;
		default:
			return InvalidOid;
	}
}

bool
cscan_is_float(Oid type)
{
	type = getBaseType(type);
	return type == FLOAT4OID || type == FLOAT8OID;
}

Oid
cscan_number_or_float_type(Oid type)
{
	return cscan_is_float(type) ? getBaseType(type) : cscan_number_type(type);
}

int
cscan_number_scale(int32 typmod)
{
	int			scale;

	if (typmod < (int32) VARHDRSZ)
		return -1;
	scale = (((typmod - VARHDRSZ) & 0x7ff) ^ 1024) - 1024;
	return cscan_values_is_scale(scale) ? scale : -1;
}

bool
cscan_number_load(void *arg, int column, const CScanSelection *selection, CScanVector *vector)
{
	CScanInput *input = arg;

	if (column < 0)
		return input->choice_methods->load(input, -1 - column, selection, vector);
	return cscan_batch_integers(input->batch, column, vector);
}

static bool
compile_column(CScanInput *input, const Var *var, CScanNumber *number)
{
	int32		typmod = var->vartypmod;
	Oid			type = getBaseTypeAndTypmod(var->vartype, &typmod);
	int			column;

	if (var->varno != (int) ((CustomScan *) input->ps->plan)->scan.scanrelid || var->varlevelsup != 0 ||
		var->varattno <= 0 || !OidIsValid(cscan_number_or_float_type(type)))
		return false;
	number->scale = cscan_is_float(type) ? CSCAN_FLOAT : -1;
	if (type == NUMERICOID)
	{
		number->scale = cscan_number_scale(typmod);
		if (number->scale < 0)
			return false;
	}
	column = cscan_batch_column(input->batch, var->varattno - 1);
	input->batch->columns[column].scale = number->scale;
	number->reg = cscan_input_add(input, CSCAN_COLUMN, column, 0, 0, InvalidOid);
	return true;
}

static bool
compile_constant(CScanInput *input, const Const *constant, CScanNumber *number)
{
	Oid			type = cscan_number_or_float_type(constant->consttype);
	int64		value = 0;

	if (!OidIsValid(type) || constant->constisnull)
		return false;
	number->scale = cscan_is_float(type) ? CSCAN_FLOAT : -1;
	if (cscan_is_float(type))
		value = cscan_bits_of_float(type == FLOAT4OID ? DatumGetFloat4(constant->constvalue) :
									DatumGetFloat8(constant->constvalue));
	else if (type != NUMERICOID)
		value = cscan_values_integer_of_datum(constant->constvalue, constant->constlen);
	else if (!cscan_values_scaled_numeric(constant->constvalue, &number->scale, &value))
		return false;
	number->reg = cscan_input_add(input, CSCAN_CONSTANT, 0, 0, value, InvalidOid);
	return true;
}

/* Let a numeric have a larger scale. */
static bool
rescale(CScanInput *input, CScanNumber *number, int scale)
{
	if (!cscan_values_is_scale(scale))
		return false;
	if (scale > number->scale)
		number->reg = cscan_input_add(input, CSCAN_MULTIPLY, number->reg,
									  cscan_input_add(input, CSCAN_CONSTANT, 0, 0,
													  cscan_values_power_of_10(scale - number->scale), InvalidOid),
									  0, INT8OID);
	number->scale = scale;
	return true;
}

bool
cscan_number_align(CScanInput *input, CScanNumber *left, CScanNumber *right)
{
	int			scale = Max(left->scale, right->scale);

	if (left->scale < 0 || right->scale < 0)
		return left->scale == right->scale;
	return rescale(input, left, scale) && rescale(input, right, scale);
}

void
cscan_number_order(CScanInput *input, CScanNumber *number)
{
	if (number->scale != CSCAN_FLOAT)
		return;
	number->reg = cscan_input_add(input, CSCAN_FLOAT_ORDER, number->reg, number->reg, 0, InvalidOid);
	number->scale = -1;
}

static bool
compile_function(CScanInput *input, Oid function, List *args, CScanNumber *number)
{
	const CScanArithmetic *found = NULL;
	CScanNumber left;
	CScanNumber right;
	Expr	   *time;

	for (int i = 0; i < (int) lengthof(casts); i++)
	{
		if (casts[i].function != function || list_length(args) != 1)
			continue;
		if (!cscan_number_compile(input, linitial(args), number) || number->scale != -1)
			return false;
		number->scale = casts[i].result == NUMERICOID ? 0 : casts[i].result == FLOAT8OID ? CSCAN_FLOAT : -1;
		if (casts[i].operation != CSCAN_COLUMN)
			number->reg = cscan_input_add(input, casts[i].operation, number->reg, number->reg, 0, InvalidOid);
		return true;
	}
	time = cscan_time_argument(function, args);
	if (time)
		return cscan_number_compile(input, time, &left) && left.scale == -1 &&
			cscan_time_compile(input, function, args, left.reg, number);
	if (function == F_FLOAT8_FLOAT4)
		return list_length(args) == 1 && cscan_number_compile(input, linitial(args), number);
	for (int i = 0; i < (int) lengthof(arithmetic) && found == NULL; i++)
	{
		if (arithmetic[i].function == function)
			found = &arithmetic[i];
	}
	input->computes = true;
	if (found == NULL ||
		list_length(args) != (found->operation == CSCAN_NEGATE || found->operation == CSCAN_FLOAT_NEGATE ? 1 : 2) ||
		!cscan_number_compile(input, linitial(args), &left))
		return false;
	right = left;
	if (list_length(args) == 2 && !cscan_number_compile(input, lsecond(args), &right))
		return false;
	if (left.mixed || right.mixed || (found->result == NUMERICOID) != (left.scale >= 0) || cscan_is_float(found->result) != (left.scale == CSCAN_FLOAT))
		return false;
	number->scale = left.scale;
	if (found->operation == CSCAN_MULTIPLY && left.scale >= 0)
	{
		number->scale = left.scale + right.scale;
		if (!cscan_values_is_scale(number->scale))
			return false;
	}
	else if (!cscan_number_align(input, &left, &right))
		return false;
	else
		number->scale = left.scale;
	number->reg = cscan_input_add(input, found->operation, left.reg, right.reg, 0, found->result);
	return true;
}

bool
cscan_number_compile(CScanInput *input, Expr *expr, CScanNumber *number)
{
	number->mixed = NULL;
	switch (nodeTag(expr))
	{
		case T_Var:
			return compile_column(input, (const Var *) expr, number);
		case T_Const:
			return compile_constant(input, (const Const *) expr, number);
		case T_RelabelType:
			/* A numeric may get another type modifier, which is another type here. */
			return OidIsValid(cscan_number_or_float_type(exprType((Node *) expr))) &&
				cscan_number_or_float_type(exprType((Node *) expr)) ==
				cscan_number_or_float_type(exprType((Node *) ((RelabelType *) expr)->arg)) &&
				cscan_number_compile(input, ((RelabelType *) expr)->arg, number);
		case T_OpExpr:
			return compile_function(input, ((OpExpr *) expr)->opfuncid, ((OpExpr *) expr)->args, number);
		case T_FuncExpr:
			return compile_function(input, ((FuncExpr *) expr)->funcid, ((FuncExpr *) expr)->args, number);
		case T_CaseExpr:
		case T_CoalesceExpr:
			return input->choice_methods->compile(input, expr, number);
		default:
			return false;
	}
}
