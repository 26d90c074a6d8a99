/*-------------------------------------------------------------------------
 *
 * timezone.h
 *		Local times of a time zone.
 *
 * A time is microseconds since 2000-01-01: of UTC, or of a zone's clocks.  A zone
 * has *periods*, in each of which its clocks differ from UTC by one offset.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CSCAN_TIMEZONE_H
#define CSCAN_TIMEZONE_H

#include "vector.h"

typedef struct CScanTimeZone
{
	int			n;				/* periods; 0: nothing is known of it */
	const int64_t *starts;		/* of each, ascending, whole seconds of UTC */
	const int64_t *offsets;		/* what clocks show more than UTC, less than two
								 * days */
	bool		repeats;		/* from "end" on all is as it was 400 years before;
								 * else the last period has no end */
	int64_t		end;			/* at least 400 years after the first start */
} CScanTimeZone;

/*
 * Get what a zone's clocks show at times of UTC, and the reverse: of the selected rows
 * that are not null.  Where clocks are set forward or back, some times never come, and
 * some come twice.  The former are taken for what clocks would show without the change,
 * and the latter for those after it, as DetermineTimeZoneOffset() does.  False: not all of
 * the rows are known, as some are before the first period, or after the year 100,000.
 */
extern bool cscan_timezone_to_local(const CScanTimeZone *zone, const CScanVector *times, const CScanSelection *selection,
									int64_t *out);
extern bool cscan_timezone_to_utc(const CScanTimeZone *zone, const CScanVector *times, const CScanSelection *selection,
								  int64_t *out);

#endif							/* CSCAN_TIMEZONE_H */
