/*-------------------------------------------------------------------------
 *
 * test_balance.c
 *		cscan.buffer_share = auto: a server in which others miss if the share is
 *		too large for them, second by second.
 *
 *-------------------------------------------------------------------------
 */
#include "harness.h"

#include <math.h>

#include "balance.h"

#define SECOND	UINT64_C(1000000)

/* 1 GB, of which others need a part, and scans could use a part. */
#define BUFFERS	131072

typedef struct Server
{
	CScanBalance balance;
	uint64_t	now;
	double		others_need;	/* part of the buffers */
	double		scans_need;		/* likewise */
	uint32_t	rises;
	uint32_t	falls;
} Server;

static void
begin(Server *s, double share, double others_need, double scans_need)
{
	cscan_balance_begin(&s->balance, share);
	s->now = SECOND;
	s->others_need = others_need;
	s->scans_need = scans_need;
	s->rises = s->falls = 0;
}

/* Others took so many frames in that time, scans loaded and lost so many blocks. */
static void
look(Server *s, uint64_t elapsed, uint64_t others, uint64_t loaded, uint64_t lost)
{
	CScanBalanceSeen seen = {s->now += elapsed, elapsed, others, loaded, lost, BUFFERS};
	double		before = s->balance.share;
	bool		changed = cscan_balance_look(&s->balance, &seen);

	s->rises += s->balance.share > before;
	s->falls += s->balance.share < before;
	if (changed != (s->balance.share != before) || s->balance.share < CSCAN_BALANCE_FLOOR ||
		s->balance.share > CSCAN_BALANCE_CEILING)
		ok(false, "balance: a share of %g after %g", s->balance.share, before);
}

/* So many seconds in which all follows from the share. */
static void
run(Server *s, int seconds)
{
	for (int i = 0; i < seconds; i++)
	{
		bool		miss = s->balance.share + s->others_need > 1.0;
		bool		lose = s->balance.share < s->scans_need;

		look(s, SECOND, miss ? 20000 : 30, 25000, lose ? 20000 : 0);
	}
}

static bool
is_share(const Server *s, double share)
{
	return fabs(s->balance.share - share) < 1e-9;
}

static void
test_falls(void)
{
	Server		s;

	begin(&s, 0.75, 1.0, 1.0);
	run(&s, 1);
	ok(is_share(&s, 0.75), "balance: a second of misses may be chance");
	run(&s, 1);
	ok(is_share(&s, 0.5625), "balance: after two the share falls by a quarter");
	run(&s, 6);
	ok(is_share(&s, CSCAN_BALANCE_FLOOR), "balance: it is at the floor after eight seconds");
	run(&s, 1000);
	ok(is_share(&s, CSCAN_BALANCE_FLOOR), "balance: and stays there while others miss");

	/* An ABM without scans looks seldom. */
	begin(&s, 0.75, 1.0, 0);
	look(&s, 10 * SECOND, 200000, 0, 0);
	look(&s, 10 * SECOND, 200000, 0, 0);
	ok(is_share(&s, CSCAN_BALANCE_FLOOR), "balance: a long time counts as many seconds");

	begin(&s, 0.5, 0, 0);
	for (int i = 0; i < 100; i++)
		look(&s, SECOND, i % 2 ? 3000 : 0, 0, 0);
	ok(is_share(&s, 0.5), "balance: single bursts do not matter");
	for (int i = 0; i < 100; i++)
		look(&s, SECOND, i % 3 ? 0 : 3000, 1000, 1000);
	ok(is_share(&s, CSCAN_BALANCE_CEILING), "balance: not even for a rise");
	begin(&s, 0.5, 0, 0);
	for (int i = 0; i < 100; i++)
		look(&s, SECOND, 1000, 0, 0);
	ok(is_share(&s, 0.5), "balance: nor do a few misses");
	for (int i = 0; i < 100; i++)
		look(&s, SECOND, 4000, 128000, 0);
	ok(is_share(&s, 0.5), "balance: nor what is few beside the loads");
	look(&s, SECOND, 4000, 0, 0);
	look(&s, SECOND, 4000, 0, 0);
	ok(s.balance.share < 0.5, "balance: without loads that is much");
}

static void
test_rises(void)
{
	Server		s;

	begin(&s, CSCAN_BALANCE_FLOOR, 0, 1.0);
	run(&s, 1);
	ok(is_share(&s, 0.1875), "balance: it rises by a sixteenth while scans would gain");
	run(&s, 9);
	ok(is_share(&s, CSCAN_BALANCE_CEILING), "balance: it is at the ceiling after ten seconds");
	run(&s, 1000);
	ok(is_share(&s, CSCAN_BALANCE_CEILING), "balance: and stays there");

	begin(&s, CSCAN_BALANCE_FLOOR, 0, 0.3);
	run(&s, 1000);
	ok(is_share(&s, 0.3125), "balance: it rises no more than scans need");

	begin(&s, 0.25, 0, 0);
	for (int i = 0; i < 100; i++)
		look(&s, SECOND, 0, 0, 0);
	ok(is_share(&s, 0.25), "balance: without scans nothing happens");
	for (int i = 0; i < 100; i++)
		look(&s, SECOND, 0, 32000, 1000);
	ok(is_share(&s, 0.25), "balance: nor if they lose little of what they load");
	for (int i = 0; i < 100; i++)
		look(&s, SECOND, 900, 0, 100);
	ok(is_share(&s, 0.25), "balance: nor if others take some frames");
}

/* Others miss if the share is above a limit, and scans want more than that. */
static void
test_steady(void)
{
	Server		s;
	uint32_t	rises;

	for (int percent = 20; percent <= 70; percent += 10)
	{
		begin(&s, 0.5, 1.0 - percent / 100.0, 1.0);
		run(&s, 1800);
		rises = s.rises;
		s.falls = 0;
		run(&s, 3600);
		note("share %d %%: %u rises in an hour, %u falls; at the end %g", percent, s.rises - rises, s.falls,
			 s.balance.share);
		ok(s.rises - rises <= 60 && s.falls <= 30, "balance: under a steady load, limit %d %%, it hardly moves", percent);
	}

	/* The long pauses end with that load. */
	s.others_need = 0;
	run(&s, 300);
	ok(is_share(&s, CSCAN_BALANCE_CEILING), "balance: others no longer miss, and it rises");
	s.others_need = 1.0;
	run(&s, 60);
	ok(is_share(&s, CSCAN_BALANCE_FLOOR), "balance: they miss again, and it falls");
	s.others_need = 0;
	run(&s, 20);
	ok(is_share(&s, CSCAN_BALANCE_CEILING), "balance: a rise that held for long makes the pause short again");
}

void
test_balance(void)
{
	test_falls();
	test_rises();
	test_steady();
}
