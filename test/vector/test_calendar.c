/*-------------------------------------------------------------------------
 *
 * test_calendar.c
 *		Fields of dates, day after day against a calendar that counts; and units of
 *		time.
 *
 *-------------------------------------------------------------------------
 */
#include "harness.h"

#include "calendar.h"

static bool
is_leap(int64_t year)
{
	return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

/* All days of 2,000 years */
static void
test_days(void)
{
	static const int lengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
	int64_t		year = 1;
	int			month = 1;
	int			day = 1;
	int64_t		first_of_year = CSCAN_FIRST_DATE;
	int64_t		first_of_quarter = CSCAN_FIRST_DATE;
	int64_t		first_of_month = CSCAN_FIRST_DATE;
	bool		right = true;

	for (int64_t date = CSCAN_FIRST_DATE; date < 300000; date++)
	{
		right &= cscan_calendar_field(CSCAN_FIELD_YEAR, date) == year &&
			cscan_calendar_field(CSCAN_FIELD_QUARTER, date) == (month + 2) / 3 &&
			cscan_calendar_field(CSCAN_FIELD_MONTH, date) == month && cscan_calendar_field(CSCAN_FIELD_DAY, date) == day &&
			cscan_calendar_field(CSCAN_FIRST_OF_YEAR, date) == first_of_year &&
			cscan_calendar_field(CSCAN_FIRST_OF_QUARTER, date) == first_of_quarter &&
			cscan_calendar_field(CSCAN_FIRST_OF_MONTH, date) == first_of_month;
		if (date == 0)
			right &= year == 2000 && month == 1 && day == 1;
		if (day++ < lengths[month - 1] + (month == 2 && is_leap(year)))
			continue;
		day = 1;
		first_of_month = date + 1;
		if (month % 3 == 0)
			first_of_quarter = date + 1;
		if (month++ < 12)
			continue;
		month = 1;
		year++;
		first_of_year = date + 1;
	}
	ok(right, "fields of each day");
	is_int(cscan_calendar_field(CSCAN_FIELD_YEAR, CSCAN_LAST_DATE), 4998680, "the year of the last date");
}

static void
test_units(Random *random)
{
	static const int64_t known[] = {1000000, 60000000, 3600000000, 86400000000, 604800000000, 7, 1};
	Batch	   *batch = zeroed(1, sizeof(Batch));
	bool		right = true;
	uint64_t	had = 0;

	for (uint64_t r = 0; r < rounds(); r++)
	{
		CScanProgram program = {.load = batch_load, .arg = batch, .memory = memory, .batch_memory = memory};
		CScanInstruction column = {.operation = CSCAN_COLUMN};
		CScanInstruction units = {.operation = CSCAN_UNITS, .constant = known[random_below(random, 7)],
			.least = INT64_MIN, .most = INT64_MAX};
		const CScanVector *vector;

		batch_fill(batch, random, UINT64_C(1) << random_below(random, 60));
		/* The least and the most integer are not for it. */
		for (uint32_t i = 0; i < batch->nrows && r % 4 != 0; i++)
			batch->values[0][i] /= 4;
		cscan_program_add(&program, &column);
		cscan_program_add(&program, &units);
		cscan_program_begin(&program, batch->nrows, &batch->selection);
		vector = cscan_program_get(&program, 1);
		had += vector != NULL;
		for (uint32_t i = 0; vector && i < batch->selection.n; i++)
		{
			uint16_t	row = batch->selection.rows[i];
			CScanWide	value = batch->values[0][row];

			if (cscan_vector_is_null(vector, row))
				continue;
			right &= (CScanWide) vector->values[row] * units.constant <= value &&
				((CScanWide) vector->values[row] + 1) * units.constant > value && value != INT64_MIN && value != INT64_MAX &&
				vector->values[row] >= vector->minimum && vector->values[row] <= vector->maximum;
		}
		program.memory.resize(NULL, program.registers[1].values, 1);
		program.memory.resize(NULL, program.registers[1].isnull, 1);
	}
	ok(right, "units are rounded down");
	ok(had > rounds() / 2, "most can be had");
}

void
test_calendar(void)
{
	Random		random = beginning();

	test_days();
	test_units(&random);
}
