/*-------------------------------------------------------------------------
 *
 * calendar.h
 *		Fields of dates.
 *
 * A date is its days since 2000-01-01, as PostgreSQL's.  The calendar is the
 * Gregorian one, for years from 1 to 4,998,000.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CSCAN_CALENDAR_H
#define CSCAN_CALENDAR_H

#include "vector.h"

typedef enum CScanCalendarField
{
	CSCAN_FIELD_YEAR,
	CSCAN_FIELD_QUARTER,
	CSCAN_FIELD_MONTH,
	CSCAN_FIELD_DAY,			/* of the month */
	CSCAN_FIRST_OF_YEAR,		/* dates */
	CSCAN_FIRST_OF_QUARTER,
	CSCAN_FIRST_OF_MONTH
} CScanCalendarField;

#define CSCAN_FIRST_DATE	(-730119)	/* 0001-01-01 */
#define CSCAN_LAST_DATE		1825000000

/* Get a field of a date between these. */
extern int64_t cscan_calendar_field(CScanCalendarField field, int64_t date);

#endif							/* CSCAN_CALENDAR_H */
