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
 * Dates and timestamps are integers, so their fields are arithmetic, too: those of
 * dates after Christ.  Where there is a time zone PostgreSQL computes them.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "catalog/pg_type_d.h"
#include "datatype/timestamp.h"
#include "nodes/nodeFuncs.h"
#include "utils/fmgroids.h"
#include "utils/formatting.h"
#include "utils/lsyscache.h"
#include "utils/numeric.h"

#include "input/input.h"
#include "vector/calendar.h"

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

static int
add(CScanInput *input, CScanOperation operation, int left, int right, int64 constant, Oid type)
{
	CScanInstruction instruction = {
		.operation = operation,
		.left = left,
		.right = right,
		.constant = constant,
		.least = type == INT2OID ? PG_INT16_MIN : type == INT4OID ? PG_INT32_MIN : PG_INT64_MIN,
		.most = type == INT2OID ? PG_INT16_MAX : type == INT4OID ? PG_INT32_MAX : PG_INT64_MAX
	};

	return cscan_program_add(&input->program, &instruction);
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
	number->reg = add(input, CSCAN_COLUMN, column, 0, 0, InvalidOid);
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
	number->reg = add(input, CSCAN_CONSTANT, 0, 0, value, InvalidOid);
	return true;
}

/* Let a numeric have a larger scale. */
static bool
rescale(CScanInput *input, CScanNumber *number, int scale)
{
	if (!cscan_values_is_scale(scale))
		return false;
	if (scale > number->scale)
		number->reg = add(input, CSCAN_MULTIPLY, number->reg,
						  add(input, CSCAN_CONSTANT, 0, 0, cscan_values_power_of_10(scale - number->scale), InvalidOid), 0, INT8OID);
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
	number->reg = add(input, CSCAN_FLOAT_ORDER, number->reg, number->reg, 0, InvalidOid);
	number->scale = -1;
}

/* ------------------------------------------------------------------
 * Dates and timestamps
 * ------------------------------------------------------------------ */

static int
constant(CScanInput *input, int64 value)
{
	return add(input, CSCAN_CONSTANT, 0, 0, value, InvalidOid);
}

/* The same value, if it is within these limits. */
static int
limit(CScanInput *input, int reg, int64 least, int64 most)
{
	CScanInstruction instruction = {
		.operation = CSCAN_ADD, .left = reg, .right = constant(input, 0), .least = least, .most = most
	};

	return cscan_program_add(&input->program, &instruction);
}

/* A date, or a timestamp, after Christ and not infinite; nothing that is made of it is out of range. */
static int
limit_date(CScanInput *input, int reg)
{
	return limit(input, reg, CSCAN_FIRST_DATE, CSCAN_LAST_DATE);
}

static int
limit_timestamp(CScanInput *input, int reg)
{
	return limit(input, reg, CSCAN_FIRST_DATE * USECS_PER_DAY, END_TIMESTAMP - 7 * USECS_PER_DAY);
}

/* How many units a value is, rounded down */
static int
compile_units(CScanInput *input, int reg, int64 unit)
{
	return add(input, CSCAN_UNITS, reg, reg, unit, INT8OID);
}

static int
compile_floor(CScanInput *input, int reg, int64 unit)
{
	return add(input, CSCAN_MULTIPLY, compile_units(input, reg, unit), constant(input, unit), 0, INT8OID);
}

/* What is left of a multiple of "unit", in units of "part" */
static int
compile_part(CScanInput *input, int reg, int64 unit, int64 part)
{
	int			rest = add(input, CSCAN_SUBTRACT, reg, compile_floor(input, reg, unit), 0, INT8OID);

	return part == 1 ? rest : compile_units(input, rest, part);
}

static int
compile_days(CScanInput *input, int timestamp)
{
	return compile_units(input, timestamp, USECS_PER_DAY);
}

static int
compile_sum(CScanInput *input, int reg, int64 value)
{
	return add(input, CSCAN_ADD, reg, constant(input, value), 0, INT8OID);
}

/* Find a field of a date.  False if it has no vectors. */
static bool
compile_date_field(CScanInput *input, const char *field, int days, int *reg)
{
	static const struct
	{
		const char *name;
		CScanCalendarField field;
	}			fields[] = {
		{"year", CSCAN_FIELD_YEAR}, {"quarter", CSCAN_FIELD_QUARTER}, {"month", CSCAN_FIELD_MONTH}, {"day", CSCAN_FIELD_DAY}
	};

	for (int i = 0; i < (int) lengthof(fields); i++)
	{
		if (strcmp(field, fields[i].name) == 0)
		{
			*reg = add(input, CSCAN_CALENDAR, days, days, fields[i].field, INT8OID);
			return true;
		}
	}
	/* 2000-01-01 was a Saturday. */
	if (strcmp(field, "dow") == 0)
		*reg = compile_part(input, compile_sum(input, days, 6), 7, 1);
	else if (strcmp(field, "isodow") == 0)
		*reg = compile_sum(input, compile_part(input, compile_sum(input, days, 5), 7, 1), 1);
	else if (strcmp(field, "doy") == 0)
		*reg = compile_sum(input, add(input, CSCAN_SUBTRACT, days,
									  add(input, CSCAN_CALENDAR, days, days, CSCAN_FIRST_OF_YEAR, INT8OID), 0, INT8OID), 1);
	else
		return false;
	return true;
}

/* The same of a timestamp; it may be a numeric. */
static bool
compile_timestamp_field(CScanInput *input, const char *field, int timestamp, CScanNumber *number)
{
	number->scale = 0;
	if (strcmp(field, "minute") == 0)
		number->reg = compile_part(input, timestamp, USECS_PER_HOUR, USECS_PER_MINUTE);
	else if (strcmp(field, "hour") == 0)
		number->reg = compile_part(input, timestamp, USECS_PER_DAY, USECS_PER_HOUR);
	else if (strcmp(field, "second") == 0 || strcmp(field, "epoch") == 0)
	{
		number->scale = 6;
		number->reg = *field == 's' ? compile_part(input, timestamp, USECS_PER_MINUTE, 1) :
			compile_sum(input, timestamp, (POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * USECS_PER_DAY);
	}
	else
		return compile_date_field(input, field, compile_days(input, timestamp), &number->reg);
	return true;
}

/* date_trunc() */
static bool
compile_trunc(CScanInput *input, const char *field, int timestamp, int *reg)
{
	static const struct
	{
		const char *name;
		int64		unit;
	}			units[] = {
		{"second", USECS_PER_SEC}, {"minute", USECS_PER_MINUTE}, {"hour", USECS_PER_HOUR}, {"day", USECS_PER_DAY}
	};
	CScanCalendarField first;

	for (int i = 0; i < (int) lengthof(units); i++)
	{
		if (strcmp(field, units[i].name) == 0)
		{
			*reg = compile_floor(input, timestamp, units[i].unit);
			return true;
		}
	}
	if (strcmp(field, "week") == 0)
	{
		/* 2000-01-03 was a Monday. */
		*reg = compile_sum(input, compile_floor(input, compile_sum(input, timestamp, -2 * USECS_PER_DAY), 7 * USECS_PER_DAY),
						   2 * USECS_PER_DAY);
		return true;
	}
	if (strcmp(field, "month") == 0)
		first = CSCAN_FIRST_OF_MONTH;
	else if (strcmp(field, "quarter") == 0)
		first = CSCAN_FIRST_OF_QUARTER;
	else if (strcmp(field, "year") == 0)
		first = CSCAN_FIRST_OF_YEAR;
	else
		return false;
	timestamp = compile_days(input, timestamp);
	*reg = add(input, CSCAN_MULTIPLY, add(input, CSCAN_CALENDAR, timestamp, timestamp, first, INT8OID),
			   constant(input, USECS_PER_DAY), 0, INT8OID);
	return true;
}

/* A field's name in the usual form; NULL if it is not known. */
static const char *
field_name(const Expr *expr)
{
	const Const *name = (const Const *) expr;

	if (!IsA(expr, Const) || name->constisnull)
		return NULL;
	return asc_tolower(VARDATA_ANY(DatumGetPointer(name->constvalue)), VARSIZE_ANY_EXHDR(DatumGetPointer(name->constvalue)));
}

/* Functions of dates and timestamps.  Those that make a field raise no error. */
static bool
compile_time(CScanInput *input, Oid function, List *args, CScanNumber *number)
{
	bool		is_cast = list_length(args) == 1;
	const char *field = is_cast ? NULL : field_name(linitial(args));
	CScanNumber time;

	if ((!is_cast && field == NULL) || !cscan_number_compile(input, llast(args), &time) || time.scale != -1)
		return false;
	time.reg = function == F_TIMESTAMP_DATE || function == F_EXTRACT_TEXT_DATE ? limit_date(input, time.reg) :
		limit_timestamp(input, time.reg);
	number->scale = -1;
	input->computes |= is_cast || function == F_DATE_TRUNC_TEXT_TIMESTAMP;
	switch (function)
	{
		case F_DATE_TIMESTAMP:
			number->reg = compile_days(input, time.reg);
			return true;
		case F_TIMESTAMP_DATE:
			number->reg = limit_timestamp(input, add(input, CSCAN_MULTIPLY, time.reg, constant(input, USECS_PER_DAY), 0,
													 INT8OID));
			return true;
		case F_DATE_TRUNC_TEXT_TIMESTAMP:
			return compile_trunc(input, field, time.reg, &number->reg);
		case F_EXTRACT_TEXT_DATE:
			number->scale = 0;
			return compile_date_field(input, field, time.reg, &number->reg);
		case F_EXTRACT_TEXT_TIMESTAMP:
			return compile_timestamp_field(input, field, time.reg, number);
		default:				/* date_part() */
			if (!compile_timestamp_field(input, field, time.reg, number) || number->scale > 0)
				return false;
			number->scale = CSCAN_FLOAT;
			number->reg = add(input, CSCAN_FLOAT_OF_INTEGER, number->reg, number->reg, 0, InvalidOid);
			return true;
	}
}

static bool
compile_function(CScanInput *input, Oid function, List *args, CScanNumber *number)
{
	const CScanArithmetic *found = NULL;
	CScanNumber left;
	CScanNumber right;

	for (int i = 0; i < (int) lengthof(casts); i++)
	{
		if (casts[i].function != function || list_length(args) != 1)
			continue;
		if (!cscan_number_compile(input, linitial(args), number) || number->scale != -1)
			return false;
		number->scale = casts[i].result == NUMERICOID ? 0 : casts[i].result == FLOAT8OID ? CSCAN_FLOAT : -1;
		if (casts[i].operation != CSCAN_COLUMN)
			number->reg = add(input, casts[i].operation, number->reg, number->reg, 0, InvalidOid);
		return true;
	}
	switch (function)
	{
		case F_DATE_TIMESTAMP:
		case F_TIMESTAMP_DATE:
		case F_DATE_TRUNC_TEXT_TIMESTAMP:
		case F_DATE_PART_TEXT_TIMESTAMP:
		case F_EXTRACT_TEXT_DATE:
		case F_EXTRACT_TEXT_TIMESTAMP:
			return compile_time(input, function, args, number);
		default:
			break;
	}
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
	number->reg = add(input, found->operation, left.reg, right.reg, 0, found->result);
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
