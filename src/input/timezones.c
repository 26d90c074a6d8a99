/*-------------------------------------------------------------------------
 *
 * timezones.c
 *		Time zones, as vectors know them.
 *
 * A zone's periods are those that pg_next_dst_boundary() tells one after the other,
 * as that is what DetermineTimeZoneOffset() goes by.  pg_localtime() has to agree
 * with them at both ends of each; where it does not, nothing is known.
 *
 * A process keeps the zones that it has met.  The session's may be another one when
 * the next batch comes: a cursor's query goes on after SET.
 *
 * Interface: input.h.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "datatype/timestamp.h"
#include "pgtime.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

#include "input/input.h"
#include "vector/calendar.h"

/*
 * Years after 2000 whose periods are found.  The last rules that end are those of Morocco,
 * in 2087, so 400 of these years are as all that follow.
 */
#define END_YEARS	500

/* A zone, and where it comes from */
typedef struct CScanKnownTimeZone
{
	CScanTimeZone	zone;
	pg_tz	   *tz;
} CScanKnownTimeZone;

static List *known_zones = NIL;

static pg_time_t
unix_time(int64 days)
{
	return (days + POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * SECS_PER_DAY;
}

static int64
zone_time(pg_time_t time)
{
	return (time - unix_time(0)) * USECS_PER_SEC;
}

static bool
shows(pg_tz *tz, pg_time_t time, long offset)
{
	struct pg_tm *tm = pg_localtime(&time, tz);

	return tm != NULL && tm->tm_gmtoff == offset;
}

/* Find the periods of a zone.  If there are none, PostgreSQL computes its times. */
static void
find_periods(CScanTimeZone *zone, pg_tz *tz)
{
	pg_time_t	start = unix_time(CSCAN_FIRST_DATE);
	pg_time_t	last = unix_time(INT64CONST(365) * END_YEARS);
	pg_time_t	end;
	int			room = 16;
	int64	   *starts = palloc(room * sizeof(int64));
	int64	   *offsets = palloc(room * sizeof(int64));
	int			n = 0;
	int			found;

	do
	{
		long		offset;
		long		next_offset;
		int			isdst;

		found = pg_next_dst_boundary(&start, &offset, &isdst, &end, &next_offset, &isdst, tz);
		if (found < 0)
			return;
		if (shows(tz, start, offset) && (found == 0 || shows(tz, end - 1, offset)))
		{
			if (n == room)
			{
				room *= 2;
				starts = repalloc(starts, room * sizeof(int64));
				offsets = repalloc(offsets, room * sizeof(int64));
			}
			starts[n] = zone_time(start);
			offsets[n++] = offset * USECS_PER_SEC;
		}
		/* What local mean time was may have two answers. */
		else if (n > 0)
			return;
		start = end;
	} while (found > 0 && end < last);
	zone->repeats = found > 0;
	if (zone->repeats)
		zone->end = zone_time(end);
	zone->starts = starts;
	zone->offsets = offsets;
	zone->n = n;
}

static const CScanTimeZone *
zone_of(pg_tz *tz)
{
	CScanKnownTimeZone *known;
	MemoryContext old;
	ListCell   *lc;

	foreach(lc, known_zones)
	{
		known = lfirst(lc);
		if (known->tz == tz)
			return &known->zone;
	}
	old = MemoryContextSwitchTo(TopMemoryContext);
	known = palloc0(sizeof(CScanKnownTimeZone));
	known->tz = tz;
	if (pg_tz_acceptable(tz))
		find_periods(&known->zone, tz);
	known_zones = lappend(known_zones, known);
	MemoryContextSwitchTo(old);
	return &known->zone;
}

/* A zone whose clocks never change, this many seconds to the east. */
static const CScanTimeZone *
fixed_zone(int east)
{
	CScanTimeZone  *zone = palloc0(sizeof(CScanTimeZone));
	int64	   *period = palloc(2 * sizeof(int64));

	period[0] = CSCAN_FIRST_DATE * USECS_PER_DAY;
	period[1] = east * USECS_PER_SEC;
	zone->n = 1;
	zone->starts = &period[0];
	zone->offsets = &period[1];
	return zone;
}

static int
add_zone(CScanInput *input, const CScanTimeZone *zone)
{
	CScanProgram *program = &input->program;

	for (int i = 1; i < input->nzones; i++)
	{
		if (program->zones[i] == zone)
			return i;
	}
	program->zones = program->zones ? repalloc(program->zones, (input->nzones + 1) * sizeof(CScanTimeZone *)) :
		palloc(sizeof(CScanTimeZone *));
	program->zones[input->nzones] = zone;
	return input->nzones++;
}

int
cscan_timezone_of_session(CScanInput *input)
{
	if (input->nzones == 0)
		add_zone(input, zone_of(input->session_zone = session_timezone));
	return 0;
}

int
cscan_timezone_of_name(CScanInput *input, const Expr *expr)
{
	const Const *name = (const Const *) expr;
	pg_tz	   *tz;
	int			east;

	if (!IsA(expr, Const) || name->constisnull ||
		!cscan_decode_zone(TextDatumGetCString(name->constvalue), &tz, &east))
		return -1;
	cscan_timezone_of_session(input);
	return add_zone(input, tz ? zone_of(tz) : fixed_zone(east));
}

bool
cscan_timezones_follow(CScanInput *input)
{
	if (input->nzones == 0 || input->session_zone == session_timezone)
		return false;
	input->program.zones[0] = zone_of(input->session_zone = session_timezone);
	return true;
}
