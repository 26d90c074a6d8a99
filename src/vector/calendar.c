/*-------------------------------------------------------------------------
 *
 * calendar.c
 *		Fields of dates (calendar.h).
 *
 * Years begin with March here, so that the leap day is a year's last one, and
 * months have a regular length: 153 days in five of them.
 *
 *-------------------------------------------------------------------------
 */
#include "calendar.h"

#define DAYS_OF_400_YEARS	146097

/* From 0000-03-01 to 2000-01-01 */
#define DAYS_BEFORE			730425

typedef struct CScanCivil
{
	int64_t		year;
	int64_t		month;			/* from 1 */
	int64_t		day;			/* likewise */
} CScanCivil;

static CScanCivil
civil_of(int64_t date)
{
	uint64_t	days = (uint64_t) (date + DAYS_BEFORE);
	uint64_t	era = days / DAYS_OF_400_YEARS;
	uint64_t	in_era = days % DAYS_OF_400_YEARS;
	uint64_t	year = (in_era - in_era / 1460 + in_era / 36524 - in_era / 146096) / 365;
	uint64_t	in_year = in_era - (365 * year + year / 4 - year / 100);
	uint64_t	month = (5 * in_year + 2) / 153;	/* from 0, March */
	CScanCivil	civil;

	civil.day = (int64_t) (in_year - (153 * month + 2) / 5 + 1);
	civil.month = (int64_t) (month < 10 ? month + 3 : month - 9);
	civil.year = (int64_t) (400 * era + year + (civil.month <= 2));
	return civil;
}

static int64_t
first_of(int64_t year, int64_t month)
{
	uint64_t	y = (uint64_t) (year - (month <= 2));
	uint64_t	in_era = y % 400;
	uint64_t	in_year = (uint64_t) (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5;

	return (int64_t) (y / 400 * DAYS_OF_400_YEARS + in_era * 365 + in_era / 4 - in_era / 100 + in_year) - DAYS_BEFORE;
}

int64_t
cscan_calendar_field(CScanCalendarField field, int64_t date)
{
	CScanCivil	civil = civil_of(date);

	switch (field)
	{
		case CSCAN_FIELD_YEAR:
			return civil.year;
		case CSCAN_FIELD_QUARTER:
			return (civil.month + 2) / 3;
		case CSCAN_FIELD_MONTH:
			return civil.month;
		case CSCAN_FIELD_DAY:
			return civil.day;
		case CSCAN_FIRST_OF_YEAR:
			return first_of(civil.year, 1);
		case CSCAN_FIRST_OF_QUARTER:
			return first_of(civil.year, (civil.month - 1) / 3 * 3 + 1);
		default:
			return date - civil.day + 1;
	}
}
