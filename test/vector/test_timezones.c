/*-------------------------------------------------------------------------
 *
 * test_timezones.c
 *		Local times of random time zones, against one that looks at each period, and
 *		the times of a day on which clocks change.
 *
 *-------------------------------------------------------------------------
 */
#include "harness.h"

#define SECOND		INT64_C(1000000)
#define HOUR		(3600 * SECOND)
#define DAY			(24 * HOUR)
#define YEARS_400	(146097 * DAY)
#define MOST		40

typedef struct Zone
{
	CScanTimeZone zone;
	int64_t		starts[MOST];
	int64_t		offsets[MOST];
} Zone;

static int64_t
random_time(Random *random, uint32_t days)
{
	return (int64_t) random_below(random, days * 86400) * SECOND + (int64_t) random_below(random, SECOND);
}

/* Periods of some hours to some years; offsets of whole quarters of an hour, and others */
static void
random_zone(Zone *zone, Random *random)
{
	int64_t		start = -(int64_t) random_below(random, 100000) * DAY;
	int64_t		first = start;

	zone->zone.n = 1 + (int) random_below(random, MOST);
	for (int i = 0; i < zone->zone.n; i++)
	{
		zone->starts[i] = start;
		zone->offsets[i] = random_chance(random, 80) ? ((int64_t) random_below(random, 105) - 52) * HOUR / 4 :
			((int64_t) random_below(random, 200000) - 100000) * SECOND;
		start += (1 + (int64_t) random_below(random, random_chance(random, 20) ? 200 : 20000)) * HOUR +
			(int64_t) random_below(random, 3600) * SECOND;
	}
	zone->zone.starts = zone->starts;
	zone->zone.offsets = zone->offsets;
	zone->zone.repeats = random_chance(random, 50);
	zone->zone.end = start > first + YEARS_400 ? start : first + YEARS_400 + (int64_t) random_below(random, 1000) * HOUR;
}

/* The offset of a time, and when the next period begins, or INT64_MAX; false if it is not known. */
static bool
look(const Zone *zone, int64_t time, int64_t *offset, int64_t *next)
{
	int64_t		shift = 0;

	if (time < zone->starts[0])
		return false;
	while (zone->zone.repeats && time - shift >= zone->zone.end)
		shift += YEARS_400;
	*next = zone->zone.repeats ? zone->zone.end + shift : INT64_MAX;
	for (int i = 0; i < zone->zone.n; i++)
	{
		if (zone->starts[i] <= time - shift)
			*offset = zone->offsets[i];
		else
		{
			*next = zone->starts[i] + shift;
			break;
		}
	}
	return true;
}

static bool
utc_of(const Zone *zone, int64_t local, int64_t *utc)
{
	int64_t		second = local - (local % SECOND + SECOND) % SECOND;
	int64_t		before;
	int64_t		after;
	int64_t		boundary;
	int64_t		later;

	if (!look(zone, second - DAY, &before, &boundary))
		return false;
	if (boundary == INT64_MAX)
		after = before;
	else if (!look(zone, boundary, &after, &later))
		return false;
	if (second - before < boundary && second - after < boundary)
		*utc = local - before;
	else if (second - before > boundary && second - after >= boundary)
		*utc = local - after;
	else
		*utc = local - (after > before ? before : after);
	return true;
}

static void
test_random(Random *random)
{
	Batch	   *batch = zeroed(1, sizeof(Batch));
	int64_t    *out = zeroed(CSCAN_BATCH, sizeof(int64_t));
	Zone		zone;
	bool		right = true;
	uint64_t	had = 0;

	for (uint64_t r = 0; r < rounds(); r++)
	{
		bool		to_local = random_chance(random, 50);
		bool		may_be_early = random_chance(random, 20);
		bool		all = true;
		bool		known;
		CScanVector vector;

		random_zone(&zone, random);
		batch_fill(batch, random, 1);
		for (uint32_t i = 0; i < batch->nrows; i++)
		{
			int			period = (int) random_below(random, (uint32_t) zone.zone.n);
			int64_t		near = zone.starts[period] + (random_chance(random, 10) ? 3 * DAY : 0);

			if (random_chance(random, 10))
				near += (int64_t) random_below(random, 5) * YEARS_400;
			if (random_chance(random, 5))
				near = zone.zone.end;
			batch->values[0][i] = near + random_time(random, 6) - 2 * DAY;
			if (random_chance(random, 20))
				batch->values[0][i] = near + ((int64_t) random_below(random, 200) - 100) * HOUR / 4 + (int64_t) random_below(random, 3) - 1;
			if (!may_be_early && batch->values[0][i] < zone.starts[0] + DAY)
				batch->values[0][i] = zone.starts[0] + DAY + random_time(random, 1000);
		}
		batch->is_missing[0] = false;
		batch_load(batch, 0, &batch->selection, &vector);
		known = to_local ? cscan_timezone_to_local(&zone.zone, &vector, &batch->selection, out) :
			cscan_timezone_to_utc(&zone.zone, &vector, &batch->selection, out);
		for (uint32_t i = 0; i < batch->selection.n; i++)
		{
			uint16_t	row = batch->selection.rows[i];
			int64_t		time = batch->values[0][row];
			int64_t		wanted = 0;
			int64_t		next;
			bool		found;

			if (cscan_vector_is_null(&vector, row))
				continue;
			found = to_local ? look(&zone, time, &wanted, &next) : utc_of(&zone, time, &wanted);
			if (to_local)
				wanted += time;
			all &= found;
			right &= !known || (found && out[row] == wanted);
		}
		right &= known == all;
		had += known;
	}
	ok(right, "times are those of their periods");
	ok(had > rounds() / 8 && had < rounds(), "some can be had, and some not");
}

/* Clocks that are set forward from 2 to 3 o'clock on one day, and back from 3 to 2 on another */
static void
test_changes(void)
{
	static const int64_t starts[] = {0, 100 * DAY + 1 * HOUR, 300 * DAY + 1 * HOUR};
	static const int64_t offsets[] = {1 * HOUR, 2 * HOUR, 1 * HOUR};
	CScanTimeZone zone = {.n = 3,.starts = starts,.offsets = offsets};
	int64_t		local[] = {100 * DAY + 2 * HOUR - 1, 100 * DAY + 2 * HOUR, 100 * DAY + 3 * HOUR - 1, 100 * DAY + 3 * HOUR,
	300 * DAY + 2 * HOUR - 1, 300 * DAY + 2 * HOUR, 300 * DAY + 3 * HOUR - 1, 300 * DAY + 3 * HOUR};
	int64_t		back[] = {1, 1, 1, 2, 2, 1, 1, 1};
	int64_t		out[8];
	CScanVector vector = {.values = local};
	CScanSelection selection;
	int64_t		early = -1;

	cscan_selection_all(&selection, 8);
	ok(cscan_timezone_to_utc(&zone, &vector, &selection, out), "all times are known");
	for (int i = 0; i < 8; i++)
		is_int(local[i] - out[i], back[i] * HOUR, "the offset of a time near a change");
	cscan_selection_all(&selection, 1);
	vector.values = &early;
	ok(!cscan_timezone_to_local(&zone, &vector, &selection, out), "a time before the first period is not known");
	zone.n = 0;
	early = DAY;
	ok(!cscan_timezone_to_local(&zone, &vector, &selection, out), "nothing is known without periods");
}

void
test_timezones(void)
{
	Random		random = beginning();

	test_changes();
	test_random(&random);
}
