/*-------------------------------------------------------------------------
 *
 * balance.c
 *		See balance.h.
 *
 *-------------------------------------------------------------------------
 */
#include "balance.h"

#include <string.h>

/*
 * Frames a second that are no sign of misses: a small part of all buffers,
 * within limits, and a small part of what was loaded.  From PostgreSQL 18 on, a
 * sequential scan that is not cooperative takes 300 frames for its ring, once.
 * On storage of 1 ms a miss, 1,024 of them keep one process waiting.
 */
#define NOISE_PART			64
#define LEAST_NOISE			64
#define MOST_NOISE			1024
#define NOISE_OF_LOADS		32

/* The share rises only if others miss less than so much of the noise. */
#define QUIET_PART			2

/* Scans would gain if they lose at least so much of what is loaded. */
#define GAIN_PART			16

#define FALLS_TO			0.75
#define RISES_BY			(1.0 / 16)

/* One look may make up for so many seconds. */
#define MOST_FALLS			16

/* A fall so soon after a rise (us) shows that the rise was wrong. */
#define AT_ONCE				10000000

#define LEAST_PAUSE			4000000
#define MOST_PAUSE			256000000

#define Max(a, b)	((a) > (b) ? (a) : (b))
#define Min(a, b)	((a) < (b) ? (a) : (b))

void
cscan_balance_begin(CScanBalance *balance, double share)
{
	memset(balance, 0, sizeof(*balance));
	balance->share = Max(CSCAN_BALANCE_FLOOR, Min(share, CSCAN_BALANCE_CEILING));
	balance->pause = LEAST_PAUSE;
}

static double
noise(const CScanBalanceSeen *seen)
{
	double		part = (double) seen->buffers / NOISE_PART;

	return Max(LEAST_NOISE, Min(part, MOST_NOISE)) * (double) seen->elapsed / 1e6 +
		(double) seen->loaded / NOISE_OF_LOADS;
}

static void
fall(CScanBalance *balance, const CScanBalanceSeen *seen)
{
	int			steps = (int) Max(1, Min(seen->elapsed / CSCAN_BALANCE_EVERY, MOST_FALLS));

	if (balance->rose_at != 0)
	{
		bool		at_once = seen->now - balance->rose_at < AT_ONCE;

		balance->pause = at_once ? Min(2 * balance->pause, MOST_PAUSE) : LEAST_PAUSE;
		balance->rose_at = 0;
	}
	while (steps-- > 0)
		balance->share *= FALLS_TO;
	balance->share = Max(balance->share, CSCAN_BALANCE_FLOOR);
}

bool
cscan_balance_look(CScanBalance *balance, const CScanBalanceSeen *seen)
{
	double		before = balance->share;
	double		most = noise(seen);
	bool		miss = (double) seen->others > most;
	bool		quiet = (double) seen->others * QUIET_PART <= most;
	bool		gain = seen->lost > 0 && seen->lost * GAIN_PART >= seen->loaded;

	if (miss && balance->missed)
	{
		fall(balance, seen);
		balance->fell_at = seen->now;
	}
	else if (quiet && gain &&
			 (balance->fell_at == 0 || seen->now >= balance->fell_at + balance->pause))
	{
		balance->share = Min(balance->share + RISES_BY, CSCAN_BALANCE_CEILING);
		if (balance->share > before)
			balance->rose_at = seen->now;
	}
	balance->missed = miss;
	return balance->share != before;
}
