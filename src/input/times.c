/*-------------------------------------------------------------------------
 *
 * times.c
 *		Functions of dates and timestamps as arithmetic on vectors.
 *
 * Dates and timestamps are integers, so their fields are arithmetic: those of dates
 * after Christ.  With a time zone they are fields of what its clocks show, which is
 * arithmetic, too (timezones.c).
 *
 * Interface: input.h.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "catalog/pg_type_d.h"
#include "datatype/timestamp.h"
#include "utils/fmgroids.h"
#include "utils/formatting.h"

#include "input/input.h"
#include "vector/calendar.h"

/* Numbers of arguments that there are not */
#define NO_FIELD		(-1)
#define NO_ZONE			(-1)
#define SESSION_ZONE	(-2)

/*
 * Functions of a date or a timestamp.  Those that make a field of one raise no error; all
 * others might, for those at the ends of what there is.
 */
typedef struct CScanTimeFunction
{
	Oid			function;
	int			time;			/* numbers of its arguments */
	int			field;
	int			zone;
	bool		is_of_date;
	bool		may_fail;
} CScanTimeFunction;

static const CScanTimeFunction functions[] = {
	{F_DATE_TIMESTAMP, 0, NO_FIELD, NO_ZONE, false, true},
	{F_DATE_TIMESTAMPTZ, 0, NO_FIELD, SESSION_ZONE, false, true},
	{F_TIMESTAMP_DATE, 0, NO_FIELD, NO_ZONE, true, true},
	{F_TIMESTAMP_TIMESTAMPTZ, 0, NO_FIELD, SESSION_ZONE, false, true},
	{F_TIMESTAMPTZ_DATE, 0, NO_FIELD, SESSION_ZONE, true, true},
	{F_TIMESTAMPTZ_TIMESTAMP, 0, NO_FIELD, SESSION_ZONE, false, true},
	{F_TIMEZONE_TEXT_TIMESTAMP, 1, NO_FIELD, 0, false, true},
	{F_TIMEZONE_TEXT_TIMESTAMPTZ, 1, NO_FIELD, 0, false, true},
	{F_DATE_TRUNC_TEXT_TIMESTAMP, 1, 0, NO_ZONE, false, true},
	{F_DATE_TRUNC_TEXT_TIMESTAMPTZ, 1, 0, SESSION_ZONE, false, true},
	{F_DATE_TRUNC_TEXT_TIMESTAMPTZ_TEXT, 1, 0, 2, false, true},
	{F_DATE_PART_TEXT_TIMESTAMP, 1, 0, NO_ZONE, false, false},
	{F_DATE_PART_TEXT_TIMESTAMPTZ, 1, 0, SESSION_ZONE, false, false},
	{F_EXTRACT_TEXT_DATE, 1, 0, NO_ZONE, true, false},
	{F_EXTRACT_TEXT_TIMESTAMP, 1, 0, NO_ZONE, false, false},
	{F_EXTRACT_TEXT_TIMESTAMPTZ, 1, 0, SESSION_ZONE, false, false}
};

static int
constant(CScanInput *input, int64 value)
{
	return cscan_input_add(input, CSCAN_CONSTANT, 0, 0, value, InvalidOid);
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
	return cscan_input_add(input, CSCAN_UNITS, reg, reg, unit, INT8OID);
}

static int
compile_floor(CScanInput *input, int reg, int64 unit)
{
	return cscan_input_add(input, CSCAN_MULTIPLY, compile_units(input, reg, unit), constant(input, unit), 0, INT8OID);
}

/* What is left of a multiple of "unit", in units of "part" */
static int
compile_part(CScanInput *input, int reg, int64 unit, int64 part)
{
	int			rest = cscan_input_add(input, CSCAN_SUBTRACT, reg, compile_floor(input, reg, unit), 0, INT8OID);

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
	return cscan_input_add(input, CSCAN_ADD, reg, constant(input, value), 0, INT8OID);
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
			*reg = cscan_input_add(input, CSCAN_CALENDAR, days, days, fields[i].field, INT8OID);
			return true;
		}
	}
	/* 2000-01-01 was a Saturday. */
	if (strcmp(field, "dow") == 0)
		*reg = compile_part(input, compile_sum(input, days, 6), 7, 1);
	else if (strcmp(field, "isodow") == 0)
		*reg = compile_sum(input, compile_part(input, compile_sum(input, days, 5), 7, 1), 1);
	else if (strcmp(field, "doy") == 0)
		*reg = compile_sum(input, cscan_input_add(input, CSCAN_SUBTRACT, days,
												  cscan_input_add(input, CSCAN_CALENDAR, days, days, CSCAN_FIRST_OF_YEAR, INT8OID),
												  0, INT8OID), 1);
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
	timestamp = cscan_input_add(input, CSCAN_CALENDAR, timestamp, timestamp, first, INT8OID);
	*reg = cscan_input_add(input, CSCAN_MULTIPLY, timestamp, constant(input, USECS_PER_DAY), 0, INT8OID);
	return true;
}

/* A time's local time in a zone, and the reverse */
static int
compile_local(CScanInput *input, int reg, int zone)
{
	return limit_timestamp(input, cscan_input_add(input, CSCAN_LOCAL_TIME, reg, reg, zone, INT8OID));
}

static int
compile_utc(CScanInput *input, int reg, int zone)
{
	return limit_timestamp(input, cscan_input_add(input, CSCAN_UTC_TIME, reg, reg, zone, INT8OID));
}

static int
compile_midnight(CScanInput *input, int days)
{
	return limit_timestamp(input, cscan_input_add(input, CSCAN_MULTIPLY, days, constant(input, USECS_PER_DAY), 0,
												  INT8OID));
}

/*
 * date_trunc() in a zone.  Hours and less keep the offset that the time has: one hour may
 * come twice.
 */
static bool
compile_trunc_in_zone(CScanInput *input, const char *field, int timestamp, int zone, int *reg)
{
	int			local = compile_local(input, timestamp, zone);
	bool		keeps = strcmp(field, "hour") == 0 || strcmp(field, "minute") == 0 || strcmp(field, "second") == 0;
	int			offset;

	if (!compile_trunc(input, field, local, reg))
		return false;
	if (!keeps)
	{
		*reg = compile_utc(input, *reg, zone);
		return true;
	}
	offset = cscan_input_add(input, CSCAN_SUBTRACT, local, timestamp, 0, INT8OID);
	*reg = cscan_input_add(input, CSCAN_SUBTRACT, *reg, offset, 0, INT8OID);
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

/* date_part() returns a float. */
static bool
make_float(CScanInput *input, CScanNumber *number)
{
	if (number->scale > 0)
		return false;
	number->scale = CSCAN_FLOAT;
	number->reg = cscan_input_add(input, CSCAN_FLOAT_OF_INTEGER, number->reg, number->reg, 0, InvalidOid);
	return true;
}

static const CScanTimeFunction *
find_function(Oid function)
{
	for (int i = 0; i < (int) lengthof(functions); i++)
	{
		if (functions[i].function == function)
			return &functions[i];
	}
	return NULL;
}

Expr *
cscan_time_argument(Oid function, const List *args)
{
	const CScanTimeFunction *found = find_function(function);

	return found ? list_nth(args, found->time) : NULL;
}

bool
cscan_time_compile(CScanInput *input, Oid function, const List *args, int reg, CScanNumber *number)
{
	const CScanTimeFunction *found = find_function(function);
	const char *field = NULL;
	int			zone = -1;

	if (found->field >= 0)
	{
		field = field_name(list_nth(args, found->field));
		if (field == NULL)
			return false;
	}
	if (found->zone != NO_ZONE)
	{
		zone = found->zone == SESSION_ZONE ? cscan_timezone_of_session(input) :
			cscan_timezone_of_name(input, list_nth(args, found->zone));
		if (zone < 0)
			return false;
	}
	input->computes |= found->may_fail;
	reg = found->is_of_date ? limit_date(input, reg) : limit_timestamp(input, reg);
	number->scale = -1;
	switch (function)
	{
		case F_DATE_TIMESTAMP:
			number->reg = compile_days(input, reg);
			return true;
		case F_DATE_TIMESTAMPTZ:
			number->reg = compile_days(input, compile_local(input, reg, zone));
			return true;
		case F_TIMESTAMP_DATE:
			number->reg = compile_midnight(input, reg);
			return true;
		case F_TIMESTAMPTZ_DATE:
			number->reg = compile_utc(input, compile_midnight(input, reg), zone);
			return true;
		case F_TIMESTAMP_TIMESTAMPTZ:
		case F_TIMEZONE_TEXT_TIMESTAMPTZ:
			number->reg = compile_local(input, reg, zone);
			return true;
		case F_TIMESTAMPTZ_TIMESTAMP:
		case F_TIMEZONE_TEXT_TIMESTAMP:
			number->reg = compile_utc(input, reg, zone);
			return true;
		case F_DATE_TRUNC_TEXT_TIMESTAMP:
			return compile_trunc(input, field, reg, &number->reg);
		case F_DATE_TRUNC_TEXT_TIMESTAMPTZ:
		case F_DATE_TRUNC_TEXT_TIMESTAMPTZ_TEXT:
			return compile_trunc_in_zone(input, field, reg, zone, &number->reg);
		case F_EXTRACT_TEXT_DATE:
			number->scale = 0;
			return compile_date_field(input, field, reg, &number->reg);
		default:
			if (zone >= 0 && strcmp(field, "epoch") != 0)
				reg = compile_local(input, reg, zone);
			return compile_timestamp_field(input, field, reg, number) &&
				(function == F_EXTRACT_TEXT_TIMESTAMP || function == F_EXTRACT_TEXT_TIMESTAMPTZ || make_float(input, number));
	}
}

int
cscan_time_with_zone(CScanInput *input, Oid type, int reg)
{
	reg = type == DATEOID ? compile_midnight(input, limit_date(input, reg)) : limit_timestamp(input, reg);
	return compile_utc(input, reg, cscan_timezone_of_session(input));
}
