/*-------------------------------------------------------------------------
 *
 * timezones.c
 *		Time zones, as vectors know them.
 *
 * A zone's periods are those that pg_next_dst_boundary() tells one after the other,
 * as that is what DetermineTimeZoneOffset() goes by.  pg_localtime() has to agree
 * with them at both ends of each; where it does not, nothing is known.
 *
 * A process keeps the zones that it has met.  The session's, or what a name stands for,
 * may be another one when the next batch comes: a cursor's query goes on after SET.
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

/* Where all zones begin, unless nothing is known of that time */
static const int64 first_time = CSCAN_FIRST_DATE * USECS_PER_DAY;

/* A constant name, and the zone that it stands for if that is an offset; the session's has none */
typedef struct CScanZoneName
{
	const char *name;
	CScanTimeZone zone;
	int64		offset;			/* of its only period */
} CScanZoneName;

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
		if (found == 0)
		{
			/* At the last one that it has in a table, it may know of none. */
			pg_time_t	later = start + 1;

			found = pg_next_dst_boundary(&later, &offset, &isdst, &end, &next_offset, &isdst, tz);
		}
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

/*
 * What a constant name stands for at this moment.  An abbreviation may come to stand
 * for something else, by a setting, and from 18 on with the session's zone.
 */
static void
look_up(CScanZoneName *name, const CScanTimeZone **zone)
{
	static const CScanTimeZone unknown = {0};
	pg_tz	   *tz;
	int			east;

	if (!cscan_decode_zone(name->name, &tz, &east))
		*zone = &unknown;
	else if (tz)
		*zone = zone_of(tz);
	else
	{
		name->offset = east * USECS_PER_SEC;
		*zone = &name->zone;
	}
}

static int
add_zone(CScanInput *input, const char *name)
{
	CScanProgram *program = &input->program;
	CScanZoneName *entry = palloc0(sizeof(CScanZoneName));

	input->zone_names = lappend(input->zone_names, entry);
	program->zones = program->zones ? repalloc(program->zones, list_length(input->zone_names) * sizeof(CScanTimeZone *)) :
		palloc(sizeof(CScanTimeZone *));
	entry->name = name;
	entry->zone.n = 1;
	entry->zone.starts = &first_time;
	entry->zone.offsets = &entry->offset;
	return list_length(input->zone_names) - 1;
}

int
cscan_timezone_of_session(CScanInput *input)
{
	if (input->zone_names == NIL)
	{
		add_zone(input, NULL);
		input->program.zones[0] = zone_of(input->session_zone);
	}
	return 0;
}

int
cscan_timezone_of_name(CScanInput *input, const Expr *expr)
{
	const Const *constant = (const Const *) expr;
	char	   *name;
	pg_tz	   *tz;
	int			east;

	if (!IsA(expr, Const) || constant->constisnull)
		return -1;
	name = TextDatumGetCString(constant->constvalue);
	if (!cscan_decode_zone(name, &tz, &east))
		return -1;
	cscan_timezone_of_session(input);
	for (int i = 1; i < list_length(input->zone_names); i++)
	{
		if (strcmp(((CScanZoneName *) list_nth(input->zone_names, i))->name, name) == 0)
			return i;
	}
	return add_zone(input, name);
}

bool
cscan_timezones_follow(CScanInput *input)
{
	bool		changed = input->session_zone != session_timezone;

	input->session_zone = session_timezone;
	if (changed && input->zone_names != NIL)
		input->program.zones[0] = zone_of(session_timezone);
	for (int i = 1; i < list_length(input->zone_names); i++)
		look_up(list_nth(input->zone_names, i), &input->program.zones[i]);
	return changed;
}
