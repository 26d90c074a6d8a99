/*-------------------------------------------------------------------------
 *
 * timezone.c
 *		Local times of a time zone (timezone.h).
 *
 * Rows that follow each other are often of one period.  So each loop knows for
 * which times the offset of its last row holds, and looks for another one only
 * beyond them.
 *
 *-------------------------------------------------------------------------
 */
#include "timezone.h"

#define SECOND				INT64_C(1000000)
#define DAY					(86400 * SECOND)
#define YEARS_400			(146097 * DAY)

/* Later times are not known. */
#define LAST_TIME			(250 * YEARS_400)

/* The period of a time, and the offset after it */
typedef struct Period
{
	int64_t		start;
	int64_t		end;			/* INT64_MAX: it has none */
	int64_t		offset;
	int64_t		next_offset;
} Period;

/* The last period that has begun at a time; there is one. */
static int
find(const CScanTimeZone *zone, int64_t time)
{
	int			low = 0;
	int			high = zone->n;

	while (high - low > 1)
	{
		int			middle = (low + high) / 2;

		if (zone->starts[middle] <= time)
			low = middle;
		else
			high = middle;
	}
	return low;
}

static bool
find_period(const CScanTimeZone *zone, int64_t time, Period *period)
{
	int64_t		again = zone->end - YEARS_400;	/* repeated from here on */
	int64_t		shift = 0;
	int			i;

	if (zone->n == 0 || time < zone->starts[0] || time > LAST_TIME)
		return false;
	if (zone->repeats && time >= zone->end)
		shift = ((time - zone->end) / YEARS_400 + 1) * YEARS_400;
	i = find(zone, time - shift);
	period->start = (shift > 0 && zone->starts[i] < again ? again : zone->starts[i]) + shift;
	period->offset = period->next_offset = zone->offsets[i];
	period->end = INT64_MAX;
	if (i + 1 < zone->n)
	{
		period->end = zone->starts[i + 1] + shift;
		period->next_offset = zone->offsets[i + 1];
	}
	else if (zone->repeats)
	{
		period->end = zone->end + shift;
		period->next_offset = zone->offsets[find(zone, again)];
	}
	return true;
}

bool
cscan_timezone_to_local(const CScanTimeZone *zone, const CScanVector *times, const CScanSelection *selection, int64_t *out)
{
	Period		period = {.start = 1};	/* and no end: of no time */

	for (uint32_t i = 0; i < selection->n; i++)
	{
		uint16_t	row = selection->rows[i];
		int64_t		time = times->values[row];

		if (cscan_vector_is_null(times, row))
			continue;
		if ((time < period.start || time >= period.end) && !find_period(zone, time, &period))
			return false;
		out[row] = time + period.offset;
	}
	return true;
}

/*
 * PostgreSQL looks for the first change of clocks that comes after the day before the
 * local time, taken as one of UTC.  It compares whole seconds.
 */
static int64_t
to_utc_near(const Period *period, int64_t time)
{
	int64_t		second = time - (time % SECOND + SECOND) % SECOND;
	int64_t		before = second - period->offset;
	int64_t		after = second - period->next_offset;
	bool		is_before = (before < period->end && after < period->end) ||
		(!(before > period->end && after >= period->end) && before > after);

	return time - (is_before ? period->offset : period->next_offset);
}

bool
cscan_timezone_to_utc(const CScanTimeZone *zone, const CScanVector *times, const CScanSelection *selection, int64_t *out)
{
	Period		period;
	int64_t		from = 1;		/* local times that have the period's offset */
	int64_t		to = 0;

	for (uint32_t i = 0; i < selection->n; i++)
	{
		uint16_t	row = selection->rows[i];
		int64_t		time = times->values[row];

		if (cscan_vector_is_null(times, row))
			continue;
		if (time < from || time >= to)
		{
			if (time < INT64_MIN + DAY || !find_period(zone, time - DAY, &period))
				return false;
			from = period.start + DAY;
			to = INT64_MAX;
			if (period.end != INT64_MAX)
			{
				int64_t		least = period.offset < period.next_offset ? period.offset : period.next_offset;

				to = period.end + (least < DAY ? least : DAY);
			}
			if (time >= to)
			{
				out[row] = to_utc_near(&period, time);
				continue;
			}
		}
		out[row] = time - period.offset;
	}
	return true;
}
