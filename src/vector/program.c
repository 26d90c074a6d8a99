/*-------------------------------------------------------------------------
 *
 * program.c
 *		Arithmetic on vectors (program.h).
 *
 * Rows that are not selected, or null, have any values, which may overflow.  So
 * loops are in unsigned arithmetic, and nobody looks at what such rows get.
 * Only divisions visit the selected rows alone.
 *
 *-------------------------------------------------------------------------
 */
#include "calendar.h"
#include "program.h"
#include "wide.h"

#include <math.h>
#include <string.h>

int
cscan_program_add(CScanProgram *program, const CScanInstruction *instruction)
{
	CScanRegister *reg;

	for (int i = 0; i < program->n; i++)
	{
		const CScanInstruction *other = &program->instructions[i];

		if (other->operation == instruction->operation && other->left == instruction->left &&
			other->right == instruction->right && other->constant == instruction->constant &&
			other->is_null == instruction->is_null &&
			other->least == instruction->least && other->most == instruction->most)
			return i;
	}
	if (program->n == program->room)
	{
		program->room = program->room == 0 ? 16 : 2 * program->room;
		program->instructions = program->memory.resize(program->memory.arg, program->instructions,
													   program->room * sizeof(CScanInstruction));
		program->registers = program->memory.resize(program->memory.arg, program->registers,
													program->room * sizeof(CScanRegister));
	}
	program->instructions[program->n] = *instruction;
	reg = &program->registers[program->n];
	memset(reg, 0, sizeof(CScanRegister));
	if (instruction->operation != CSCAN_COLUMN)
	{
		reg->values = program->batch_memory.resize(program->batch_memory.arg, NULL, CSCAN_BATCH * sizeof(int64_t));
		reg->isnull = program->batch_memory.resize(program->batch_memory.arg, NULL, CSCAN_BATCH * sizeof(bool));
	}
	if (instruction->operation == CSCAN_CONSTANT)
		cscan_program_set(program, program->n, instruction->constant, instruction->is_null);
	return program->n++;
}

void
cscan_program_set(CScanProgram *program, int constant, int64_t value, bool is_null)
{
	CScanRegister *reg = &program->registers[constant];

	program->instructions[constant].constant = value;
	program->instructions[constant].is_null = is_null;
	for (int i = 0; i < CSCAN_BATCH; i++)
		reg->values[i] = value;
	memset(reg->isnull, is_null, CSCAN_BATCH * sizeof(bool));
	reg->vector.values = reg->values;
	reg->vector.isnull = is_null ? reg->isnull : NULL;
	reg->vector.minimum = is_null ? INT64_MAX : value;
	reg->vector.maximum = is_null ? INT64_MIN : value;
}

void
cscan_program_restore(CScanProgram *program)
{
	for (int i = 0; i < program->n; i++)
	{
		const CScanInstruction *instruction = &program->instructions[i];

		if (instruction->operation == CSCAN_CONSTANT)
			cscan_program_set(program, i, instruction->constant, instruction->is_null);
	}
}

void
cscan_program_begin(CScanProgram *program, uint32_t n, const CScanSelection *selection)
{
	program->nrows = n;
	program->selection = selection;
	for (int i = 0; i < program->n; i++)
	{
		program->registers[i].state = program->instructions[i].operation == CSCAN_CONSTANT ?
			CSCAN_REGISTER_DONE : CSCAN_REGISTER_UNKNOWN;
		program->registers[i].tight = false;
	}
}

/* ------------------------------------------------------------------
 * Bounds
 * ------------------------------------------------------------------ */

static CScanWide
magnitude(const CScanVector *v)
{
	CScanWide	low = v->minimum < 0 ? -(CScanWide) v->minimum : v->minimum;
	CScanWide	high = v->maximum < 0 ? -(CScanWide) v->maximum : v->maximum;

	return low > high ? low : high;
}

static bool
is_empty(const CScanVector *v)
{
	return v->minimum > v->maximum;
}

static void
bounds_of_product(const CScanVector *left, const CScanVector *right, CScanWide *low, CScanWide *high)
{
	CScanWide	corners[4] = {
		(CScanWide) left->minimum * right->minimum, (CScanWide) left->minimum * right->maximum,
		(CScanWide) left->maximum * right->minimum, (CScanWide) left->maximum * right->maximum
	};

	*low = *high = corners[0];
	for (int i = 1; i < 4; i++)
	{
		*low = corners[i] < *low ? corners[i] : *low;
		*high = corners[i] > *high ? corners[i] : *high;
	}
}

static inline int64_t
units_of(int64_t value, int64_t unit)
{
	return value / unit - (value % unit < 0);
}

/* The year, and the first date of one, grow with the date. */
static void
bounds_of_field(CScanCalendarField field, const CScanVector *dates, CScanWide *low, CScanWide *high)
{
	*low = field == CSCAN_FIELD_QUARTER || field == CSCAN_FIELD_MONTH || field == CSCAN_FIELD_DAY ? 1 :
		cscan_calendar_field(field, dates->minimum);
	*high = field == CSCAN_FIELD_QUARTER ? 4 : field == CSCAN_FIELD_MONTH ? 12 : field == CSCAN_FIELD_DAY ? 31 :
		cscan_calendar_field(field, dates->maximum);
}

/* The bounds of an instruction's result; false if they are beyond its type's. */
static bool
find_bounds(const CScanInstruction *instruction, const CScanVector *left, const CScanVector *right, CScanVector *result)
{
	CScanWide	low;
	CScanWide	high;

	if (is_empty(left) || is_empty(right))
	{
		result->minimum = INT64_MAX;
		result->maximum = INT64_MIN;
		return true;
	}
	switch (instruction->operation)
	{
		case CSCAN_ADD:
			low = (CScanWide) left->minimum + right->minimum;
			high = (CScanWide) left->maximum + right->maximum;
			break;
		case CSCAN_SUBTRACT:
			low = (CScanWide) left->minimum - right->maximum;
			high = (CScanWide) left->maximum - right->minimum;
			break;
		case CSCAN_MULTIPLY:
			bounds_of_product(left, right, &low, &high);
			break;
		case CSCAN_NEGATE:
			low = -(CScanWide) left->maximum;
			high = -(CScanWide) left->minimum;
			break;
		case CSCAN_UNITS:
			if (left->minimum == INT64_MIN || left->maximum == INT64_MAX)
				return false;
			low = units_of(left->minimum, instruction->constant);
			high = units_of(left->maximum, instruction->constant);
			break;
		case CSCAN_CALENDAR:
			if (left->minimum < CSCAN_FIRST_DATE || left->maximum > CSCAN_LAST_DATE)
				return false;
			bounds_of_field((CScanCalendarField) instruction->constant, left, &low, &high);
			break;
		case CSCAN_DIVIDE:
			if (right->minimum <= 0 && right->maximum >= 0)
				return false;
			high = magnitude(left);
			low = -high;
			break;
		default:
			if (right->minimum <= 0 && right->maximum >= 0)
				return false;
			high = magnitude(right) - 1;
			low = -high;

			/* The processor divides, and that may not fit. */
			if (left->minimum == INT64_MIN && right->minimum <= -1 && right->maximum >= -1)
				return false;
			break;
	}
	if (low < instruction->least || high > instruction->most)
		return false;
	result->minimum = (int64_t) low;
	result->maximum = (int64_t) high;
	return true;
}

/* ------------------------------------------------------------------
 * Loops
 * ------------------------------------------------------------------ */

#define LOOP(expression) \
	for (uint32_t i = 0; i < n; i++) \
		out[i] = (int64_t) (expression)

/* A loop with a constant on either side, or none. */
#define LOOPS(op) \
	do { \
		if (right_is_constant) \
			LOOP((uint64_t) left[i] op b); \
		else if (left_is_constant) \
			LOOP(a op (uint64_t) right[i]); \
		else \
			LOOP((uint64_t) left[i] op (uint64_t) right[i]); \
	} while (0)

CSCAN_WIDE static void
compute_all(CScanOperation operation, const int64_t *restrict left, bool left_is_constant,
			const int64_t *restrict right, bool right_is_constant, int64_t *restrict out, uint32_t n)
{
	uint64_t	a = (uint64_t) left[0];
	uint64_t	b = (uint64_t) right[0];

	switch (operation)
	{
		case CSCAN_ADD:
			LOOPS(+);
			break;
		case CSCAN_SUBTRACT:
			LOOPS(-);
			break;
		case CSCAN_MULTIPLY:
			LOOPS(*);
			break;
		default:
			LOOP(0 - (uint64_t) left[i]);
			break;
	}
}

static void
compute_selected(CScanOperation operation, const int64_t *left, const int64_t *right, const bool *isnull, int64_t *out,
				 const CScanSelection *selection)
{
	for (uint32_t i = 0; i < selection->n; i++)
	{
		uint16_t	row = selection->rows[i];
		uint64_t	a = (uint64_t) left[row];
		uint64_t	b = (uint64_t) right[row];

		if (isnull && isnull[row])
			continue;
		switch (operation)
		{
			case CSCAN_ADD:
				out[row] = (int64_t) (a + b);
				break;
			case CSCAN_SUBTRACT:
				out[row] = (int64_t) (a - b);
				break;
			case CSCAN_MULTIPLY:
				out[row] = (int64_t) (a * b);
				break;
			case CSCAN_NEGATE:
				out[row] = (int64_t) (0 - a);
				break;
			case CSCAN_DIVIDE:
				out[row] = left[row] / right[row];
				break;
			default:
				out[row] = left[row] % right[row];
				break;
		}
	}
}

/* The compiler divides by a constant without a division. */
#define UNITS_LOOP(unit) \
	for (uint32_t i = 0; i < n; i++) \
		out[i] = units_of(left[i], unit)

/* Units of microseconds */
#define SECOND		INT64_C(1000000)
#define MINUTE		(60 * SECOND)
#define HOUR		(60 * MINUTE)
#define DAY			(24 * HOUR)
#define WEEK		(7 * DAY)

static void
compute_units(const int64_t *restrict left, int64_t unit, int64_t *restrict out, uint32_t n)
{
	switch (unit)
	{
		case SECOND:
			UNITS_LOOP(SECOND);
			break;
		case MINUTE:
			UNITS_LOOP(MINUTE);
			break;
		case HOUR:
			UNITS_LOOP(HOUR);
			break;
		case DAY:
			UNITS_LOOP(DAY);
			break;
		case WEEK:
			UNITS_LOOP(WEEK);
			break;
		default:
			UNITS_LOOP(unit);
			break;
	}
}

/* Other rows may have no date that there is. */
static void
compute_fields(CScanCalendarField field, const int64_t *left, const bool *isnull, int64_t *out, const CScanSelection *selection)
{
	int64_t		last = CSCAN_FIRST_DATE;
	int64_t		value = cscan_calendar_field(field, last);

	for (uint32_t i = 0; i < selection->n; i++)
	{
		uint16_t	row = selection->rows[i];

		if (isnull && isnull[row])
			continue;
		/* A day often has many rows. */
		if (left[row] != last)
		{
			last = left[row];
			value = cscan_calendar_field(field, last);
		}
		out[row] = value;
	}
}

#define FLOAT_LOOP(expression) \
	for (uint32_t i = 0; i < n; i++) \
	{ \
		double		a = cscan_float_of_bits(left[i]); \
		double		b = cscan_float_of_bits(right[i]); \
\
		(void) b; \
		out[i] = cscan_bits_of_float(expression); \
	}

/* Floats overflow without harm: that of the selected rows is found out afterwards. */
static void
compute_floats(CScanOperation operation, const int64_t *restrict left, const int64_t *restrict right, int64_t *restrict out,
			   uint32_t n)
{
	switch (operation)
	{
		case CSCAN_FLOAT_ADD:
			FLOAT_LOOP(a + b);
			break;
		case CSCAN_FLOAT_SUBTRACT:
			FLOAT_LOOP(a - b);
			break;
		case CSCAN_FLOAT_MULTIPLY:
			FLOAT_LOOP(a * b);
			break;
		case CSCAN_FLOAT_DIVIDE:
			FLOAT_LOOP(a / b);
			break;
		case CSCAN_FLOAT_NEGATE:
			FLOAT_LOOP(-a);
			break;
		case CSCAN_FLOAT_OF_INTEGER:
			for (uint32_t i = 0; i < n; i++)
				out[i] = cscan_bits_of_float((double) left[i]);
			break;
		default:
			for (uint32_t i = 0; i < n; i++)
				out[i] = cscan_float_order(cscan_float_of_bits(left[i]));
			break;
	}
}

/*
 * Are all selected results what PostgreSQL's functions would return?  These raise
 * errors for infinite results, divisors of zero, and products and quotients that are
 * zero.  Infinite and NaN operands are so few that they are treated alike.
 */
static bool
floats_fit(CScanOperation operation, const int64_t *left, const int64_t *right, const CScanVector *result,
		   const CScanSelection *selection)
{
	bool		may_vanish = operation == CSCAN_FLOAT_MULTIPLY || operation == CSCAN_FLOAT_DIVIDE;

	if (operation > CSCAN_FLOAT_DIVIDE)
		return true;
	for (uint32_t i = 0; i < selection->n; i++)
	{
		uint16_t	row = selection->rows[i];
		double		value = cscan_float_of_bits(result->values[row]);

		if (cscan_vector_is_null(result, row))
			continue;
		if (!isfinite(value) || (may_vanish && value == 0 && cscan_float_of_bits(left[row]) != 0 &&
								 cscan_float_of_bits(right[row]) != 0))
			return false;
	}
	return true;
}

/* A row is null if either of its operands is. */
static const bool *
compute_nulls(const CScanVector *left, const CScanVector *right, bool *restrict out, uint32_t n)
{
	if (left->isnull == NULL || left->isnull == right->isnull)
		return right->isnull;
	if (right->isnull == NULL)
		return left->isnull;
	for (uint32_t i = 0; i < n; i++)
		out[i] = left->isnull[i] | right->isnull[i];
	return out;
}

/* ------------------------------------------------------------------
 * Registers
 * ------------------------------------------------------------------ */

static bool
is_constant(const CScanProgram *program, int number)
{
	return program->instructions[number].operation == CSCAN_CONSTANT;
}

/*
 * Make the bounds of all columns in an expression those of the selected rows.
 * They may be wider: those of a row group.  If they are wrong, so may be what was
 * computed by them, and it can be anything.
 */
static void
tighten(CScanProgram *program, int number)
{
	const CScanInstruction *instruction = &program->instructions[number];
	CScanRegister *reg = &program->registers[number];

	if (reg->tight || instruction->operation == CSCAN_CONSTANT)
		return;
	reg->tight = true;
	if (instruction->operation == CSCAN_COLUMN)
	{
		cscan_vector_tighten(&reg->vector, program->selection);
		return;
	}
	tighten(program, instruction->left);
	tighten(program, instruction->right);
	if (instruction->operation >= CSCAN_LOCAL_TIME)
		return;
	if (!find_bounds(instruction, &program->registers[instruction->left].vector,
					 &program->registers[instruction->right].vector, &reg->vector))
	{
		reg->vector.minimum = INT64_MIN;
		reg->vector.maximum = INT64_MAX;
	}
}

/*
 * A division is the one operation that the processor may refuse.  So it trusts
 * no bounds but those of the rows themselves: others come from disk.
 */
static bool
divides(const CScanInstruction *instruction)
{
	return instruction->operation == CSCAN_DIVIDE || instruction->operation == CSCAN_REMAINDER;
}

/* Bounds do not help here, and those of the result are found out afterwards. */
static bool
compute_times(CScanProgram *program, const CScanInstruction *instruction, const CScanVector *times, CScanRegister *reg)
{
	const CScanTimeZone *zone = program->zones[instruction->constant];

	if (instruction->operation == CSCAN_LOCAL_TIME ?
		!cscan_timezone_to_local(zone, times, program->selection, reg->values) :
		!cscan_timezone_to_utc(zone, times, program->selection, reg->values))
		return false;
	reg->vector.values = reg->values;
	reg->vector.isnull = times->isnull;
	cscan_vector_tighten(&reg->vector, program->selection);
	return reg->vector.minimum >= instruction->least && reg->vector.maximum <= instruction->most;
}

static bool
compute(CScanProgram *program, int number)
{
	const CScanInstruction *instruction = &program->instructions[number];
	CScanRegister *reg = &program->registers[number];
	const CScanVector *left;
	const CScanVector *right;

	if (instruction->operation == CSCAN_COLUMN)
		return program->load(program->arg, instruction->left, program->selection, &reg->vector);
	left = cscan_program_get(program, instruction->left);
	right = left ? cscan_program_get(program, instruction->right) : NULL;
	if (right == NULL)
		return false;
	if (instruction->operation >= CSCAN_FLOAT_ADD)
	{
		reg->vector.values = reg->values;
		reg->vector.isnull = compute_nulls(left, right, reg->isnull, program->nrows);
		reg->vector.minimum = INT64_MIN;
		reg->vector.maximum = INT64_MAX;
		compute_floats(instruction->operation, left->values, right->values, reg->values, program->nrows);
		if (instruction->operation == CSCAN_FLOAT_ORDER)
			cscan_vector_tighten(&reg->vector, program->selection);
		return floats_fit(instruction->operation, left->values, right->values, &reg->vector, program->selection);
	}
	if (instruction->operation >= CSCAN_LOCAL_TIME)
		return compute_times(program, instruction, left, reg);
	if (divides(instruction) || !find_bounds(instruction, left, right, &reg->vector))
	{
		tighten(program, instruction->left);
		tighten(program, instruction->right);
		if (!find_bounds(instruction, left, right, &reg->vector))
			return false;
	}
	reg->vector.values = reg->values;
	reg->vector.isnull = compute_nulls(left, right, reg->isnull, program->nrows);
	if (instruction->operation == CSCAN_UNITS)
		compute_units(left->values, instruction->constant, reg->values, program->nrows);
	else if (instruction->operation == CSCAN_CALENDAR)
		compute_fields((CScanCalendarField) instruction->constant, left->values, reg->vector.isnull, reg->values,
					   program->selection);
	else if (divides(instruction) || program->selection->n < program->nrows / 4)
		compute_selected(instruction->operation, left->values, right->values, reg->vector.isnull, reg->values,
						 program->selection);
	else
		compute_all(instruction->operation, left->values, is_constant(program, instruction->left),
					right->values, is_constant(program, instruction->right), reg->values, program->nrows);
	return true;
}

const CScanVector *
cscan_program_get(CScanProgram *program, int number)
{
	CScanRegister *reg = &program->registers[number];

	if (reg->state == CSCAN_REGISTER_UNKNOWN)
		reg->state = compute(program, number) ? CSCAN_REGISTER_DONE : CSCAN_REGISTER_FAILED;
	return reg->state == CSCAN_REGISTER_DONE ? &reg->vector : NULL;
}
