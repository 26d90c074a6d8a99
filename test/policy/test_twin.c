/*-------------------------------------------------------------------------
 *
 * test_twin.c
 *		The core decides as its naive twin does, ties included.
 *
 * The twin (twin/) is the same pool and the same policies in their plainest
 * form.  Both get the same random events, and must answer the same each time.
 * Now and then all that can be seen of both is compared.
 *
 * EVENTS=n makes n events in all of each kind of run.  TWIN=kind,number runs one
 * alone and shows its events; TWIN=kind runs only one kind.
 *
 *-------------------------------------------------------------------------
 */
#include "harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "machine.h"

#define MAX_SCANS		64
#define MAX_SPACES		256
#define MAX_LOADS		4
#define NHELPERS		8
#define MIXED			MACHINE_NPOLICIES

typedef struct Kind
{
	const char *name;
	int			scans;
	int			slots;
	int			spaces;			/* at most, and at first */
	uint32_t	chunks;			/* of a space, at most */
	uint32_t	chunk_blocks;	/* at most */
	int			policy;			/* or MIXED */
	int			events;			/* of a run */
	int			every;			/* so many events all is compared */
	int			share;			/* of all events (percent) */
	int			families;		/* scans of more than one space (percent) */
	uint32_t	numbers;		/* for chunks; 0: as many as all spaces may need */
	uint32_t	ranges;			/* of a scan in a space, at most */
	bool		full;			/* begins with all its scans, and few others come;
								 * elevator has each chunk read by all of them
								 * before it decides anything */
	uint32_t	columnar;		/* spaces that have columns (percent) */
} Kind;

#define N	MACHINE_NORMAL
#define A	MACHINE_ATTACH
#define E	MACHINE_ELEVATOR
#define R	MACHINE_RELEVANCE
#define D	MACHINE_DEMAND

/* *INDENT-OFF* */
static const Kind kinds[] = {
	{"tiny", 4, 4, 1, 8, 4, MIXED, 300, 1, 100, 0, 0, 20, false, 20},
	{"normal", 8, 12, 2, 40, 8, N, 600, 20, 50, 20, 0, 20, false, 20},
	{"attach", 8, 12, 2, 40, 8, A, 600, 20, 50, 20, 0, 20, false, 20},
	{"elevator", 8, 12, 2, 40, 8, E, 600, 20, 100, 20, 0, 20, false, 20},
	{"relevance", 8, 12, 2, 40, 8, R, 600, 20, 200, 20, 0, 20, false, 20},
	{"relevance, many scans", 40, 70, 3, 200, 4, R, 3000, 300, 100, 20, 0, 20, false, 20},
	{"demand", 8, 12, 2, 40, 8, D, 600, 20, 200, 20, 0, 20, false, 20},
	{"demand, many scans", 40, 70, 3, 200, 4, D, 3000, 300, 100, 20, 0, 20, false, 20},
	{"demand, many chunks", 12, 24, 2, 900, 1, D, 2000, 300, 50, 20, 0, 20, false, 20},
	{"mixed", 16, 24, 3, 60, 16, MIXED, 1000, 50, 200, 20, 0, 20, false, 20},
	{"large chunks", 12, 24, 2, 12, 1500, MIXED, 1000, 50, 50, 20, 0, 20, false, 20},
	{"one space and all", 4, 6, 3, 4, 4, MIXED, 300, 1, 100, 50, 0, 4, false, 20},
	{"families, normal", 12, 16, 24, 4, 8, N, 600, 20, 50, 60, 0, 6, false, 20},
	{"families, attach", 12, 16, 24, 4, 8, A, 600, 20, 50, 60, 0, 6, false, 20},
	{"families, elevator", 12, 16, 24, 4, 8, E, 600, 20, 50, 60, 0, 6, false, 20},
	{"families, relevance", 12, 16, 24, 4, 8, R, 600, 20, 100, 60, 0, 6, false, 20},
	{"families, demand", 12, 16, 24, 4, 8, D, 600, 20, 100, 60, 0, 6, false, 20},
	{"families", 16, 24, 24, 4, 16, MIXED, 1000, 20, 200, 60, 0, 6, false, 20},
	{"families of few, of larger chunks", 12, 24, 6, 6, 700, MIXED, 1000, 50, 50, 60, 0, 20, false, 20},
	{"spaces come and go", 6, 12, 12, 10, 4, MIXED, 600, 10, 200, 40, 64, 6, false, 20},
	{"spaces come and go, demand", 5, 16, 8, 10, 4, D, 1000, 20, 100, 40, 64, 6, false, 20},
	{"more ranges than are kept", 6, 12, 5, 16, 400, MIXED, 600, 20, 30, 80, 0, 700, false, 20},
	{"family of 200 small spaces, many scans", 48, 100, 200, 3, 4, MIXED, 4000, 200, 100, 70, 0, 3, false, 20},
	{"family of 200 small spaces, demand", 48, 100, 200, 3, 4, D, 4000, 200, 50, 70, 0, 3, false, 20},
	{"64 scans of 16,384 chunks, normal", 64, 256, 1, 16384, 1, N, 40000, 20000, 20, 0, 0, 20, true, 20},
	{"64 scans of 16,384 chunks, attach", 64, 256, 1, 16384, 1, A, 40000, 20000, 20, 0, 0, 20, true, 20},
	{"64 scans of 16,384 chunks, elevator", 64, 256, 1, 16384, 1, E, 40000, 20000, 20, 0, 0, 20, true, 20},
	{"64 scans of 16,384 chunks, relevance", 64, 256, 1, 16384, 1, R, 40000, 20000, 20, 0, 0, 20, true, 20},
	{"64 scans of 16,384 chunks, demand", 64, 256, 1, 16384, 1, D, 40000, 20000, 20, 0, 0, 20, true, 20},
	{"columns, relevance", 8, 12, 2, 40, 40, MACHINE_RELEVANCE, 600, 20, 200, 20, 0, 20, false, 100},
	{"columns, demand", 8, 12, 2, 40, 40, MACHINE_DEMAND, 600, 20, 100, 20, 0, 20, false, 100},
	{"columns, relevance, many scans", 40, 70, 3, 200, 40, MACHINE_RELEVANCE, 3000, 300, 100, 20, 0, 20, false, 100},
	{"columns, mixed", 16, 24, 3, 60, 60, MIXED, 1000, 50, 200, 20, 0, 20, false, 100},
	{"columns, families", 16, 24, 24, 4, 30, MIXED, 1000, 20, 200, 60, 0, 6, false, 80},
	{"64 scans of 2 * 8,192 chunks, mixed", 64, 256, 2, 8192, 1, MIXED, 40000, 20000, 20, 50, 0, 20, true, 20},
};
/* *INDENT-ON* */

#undef N
#undef A
#undef E
#undef R
#undef D

typedef struct Space
{
	bool		used;
	uint32_t	first_chunk;
	uint32_t	nchunks;
	uint32_t	chunk_blocks;
	uint32_t	ncolumns;		/* 0: it has no columns */
	uint32_t	nblocks;		/* that it has now */
	int			nscans;
} Space;

typedef enum Stage
{
	FREE,
	ANNOUNCING,
	STARTED,
	RESTING
} Stage;

typedef struct Scan
{
	Stage		stage;
	bool		of[MAX_SPACES];
	int			todo[MAX_SPACES];	/* spaces to be announced, the last one first */
	int			ntodo;
	uint32_t	nranges;		/* that it has announced since it rested */
} Scan;

typedef struct Twins
{
	const Kind *kind;
	Random		random;
	const Machine *machine[2];
	void	   *m[2];
	MachineLimits limits;
	uint64_t	now;
	int			event;
	const char *what;			/* the event */
	const char *wrong;			/* what differed, or NULL */
	bool		show;

	Space		space[MAX_SPACES];
	Scan		scan[MAX_SCANS];
	int			helper[NHELPERS];	/* the scan that it helps, or none */
	int			loads[MAX_LOADS];	/* slots */
	int			nloads;
	uint64_t	decided;		/* decisions that were not to do nothing */
} Twins;

/* What the two answered must be the same. */
static void
same(Twins *t, int64_t naive, int64_t core)
{
	if (t->show)
		note("%6d %8llu %-12s %lld %lld", t->event, (unsigned long long) t->now, t->what,
			 (long long) naive, (long long) core);
	if (naive != core && t->wrong == NULL)
		t->wrong = t->what;
}

/* An event that has no answer. */
static void
tell(Twins *t, const char *what, int64_t a, int64_t b)
{
	t->what = what;
	if (t->show)
		note("%6d %8llu %s: %lld, %lld", t->event, (unsigned long long) t->now, what,
			 (long long) a, (long long) b);
}

static uint32_t
below(Twins *t, uint32_t bound)
{
	return random_below(&t->random, bound);
}

static bool
chance(Twins *t, uint32_t percent)
{
	return random_chance(&t->random, percent);
}

/* Calls the same function of both, with arguments that have no effects. */
#define BOTH(function, ...) \
	do { \
		t->machine[0]->function(t->m[0], __VA_ARGS__); \
		t->machine[1]->function(t->m[1], __VA_ARGS__); \
	} while (0)
#define BOTH_SAME(result, function, ...) \
	do { \
		(result) = t->machine[0]->function(t->m[0], __VA_ARGS__); \
		same(t, (result), t->machine[1]->function(t->m[1], __VA_ARGS__)); \
	} while (0)

/* ------------------------------------------------------------------
 * Comparing
 * ------------------------------------------------------------------ */

static void
show_scan(int i, const char *name, const MachineScan *s)
{
	note("scan %d %s: %s%s%s%s%s%s%s%s in use %d spaces %u wanted %u loadable %u needed %llu position %u cursor %u available %u ready %u using %u since %llu",
		 i, name, s->used ? "" : "free ", s->started ? "started " : "", s->waiting ? "waiting " : "",
		 s->blocked ? "blocked " : "", s->stalled ? "stalled " : "", s->starved ? "starved " : "",
		 s->has_absent ? "lacks " : "", s->loaded_for ? "own " : "", s->in_use, s->nspaces, s->nwanted,
		 s->nloadable, (unsigned long long) s->needed, s->position, s->cursor, s->available, s->ready,
		 s->using, (unsigned long long) s->since);
}

static void
show_slot(int i, const char *name, const MachineSlot *s)
{
	note("slot %d %s: space %d chunk %u blocks %u loading %u%s%s%s%s for %d users %u interested %d stamp %llu order %llu",
		 i, name, s->space, s->chunk, s->nblocks, s->loading, s->in_flight ? " in flight" : "",
		 s->held ? " held" : "", s->failed ? " failed" : "", s->cheap ? " cheap" : "", s->loaded_for,
		 s->users, s->interested, (unsigned long long) s->stamp, (unsigned long long) s->order);
}

static void
compare_scan(Twins *t, int i)
{
	MachineScan a = t->machine[0]->scan(t->m[0], i);
	MachineScan b = t->machine[1]->scan(t->m[1], i);

	if (memcmp(&a, &b, sizeof(a)) == 0)
		return;
	if (t->show)
	{
		show_scan(i, t->machine[0]->name, &a);
		show_scan(i, t->machine[1]->name, &b);
	}
	t->what = "scan";
	same(t, 0, 1);
}

static void
compare_slot(Twins *t, int i)
{
	MachineSlot a = t->machine[0]->slot(t->m[0], i);
	MachineSlot b = t->machine[1]->slot(t->m[1], i);

	if (memcmp(&a, &b, sizeof(a)) == 0)
		return;
	if (t->show)
	{
		show_slot(i, t->machine[0]->name, &a);
		show_slot(i, t->machine[1]->name, &b);
	}
	t->what = "slot";
	same(t, 0, 1);
}

static void
compare_space(Twins *t, int i)
{
	MachineSpace a = t->machine[0]->space(t->m[0], i);
	MachineSpace b = t->machine[1]->space(t->m[1], i);
	bool		equal = memcmp(&a, &b, sizeof(a)) == 0;

	if (!equal && t->show)
		note("space %d: used %d %d access %d %d scans %d %d first %u %u chunks %u %u extent %u %u cursor %u %u last load %llu %llu",
			 i, a.used, b.used, a.access, b.access, a.nscans, b.nscans, a.first_chunk, b.first_chunk,
			 a.nchunks, b.nchunks, a.extent, b.extent, a.cursor, b.cursor,
			 (unsigned long long) a.last_load, (unsigned long long) b.last_load);
	if (equal && a.used)
		equal = t->machine[0]->load_time(t->m[0], i, 7) == t->machine[1]->load_time(t->m[1], i, 7);
	if (equal)
		return;
	t->what = "space";
	same(t, 0, 1);
}

static void
compare_want(Twins *t, int scan, uint32_t chunk)
{
	MachineWant a = t->machine[0]->want(t->m[0], scan, chunk);
	MachineWant b = t->machine[1]->want(t->m[1], scan, chunk);

	if (memcmp(&a, &b, sizeof(a)) == 0)
		return;
	if (t->show)
		note("scan %d chunk %u: wants %d %d absent %d %d cost %u %u", scan, chunk, a.wants, b.wants,
			 a.absent, b.absent, a.cost, b.cost);
	t->what = "want";
	same(t, 0, 1);
}

static void
compare_all(Twins *t)
{
	MachineTotals a = t->machine[0]->totals(t->m[0]);
	MachineTotals b = t->machine[1]->totals(t->m[1]);

	for (int i = 0; i < t->kind->scans; i++)
		compare_scan(t, i);
	for (int i = 0; i < t->kind->slots; i++)
		compare_slot(t, i);
	for (int i = 0; i < t->limits.spaces; i++)
		compare_space(t, i);

	/* Of many chunks only some. */
	for (int i = 0; i < t->kind->scans; i++)
	{
		uint32_t	step = t->limits.chunks <= 256 ? 1 : 1 + below(t, t->limits.chunks / 16);

		for (uint32_t c = below(t, step); c < t->limits.chunks && t->scan[i].stage == STARTED; c += step)
			compare_want(t, i, c);
	}
	if (memcmp(&a, &b, sizeof(a)) != 0)
	{
		if (t->show)
			note("used %u %u total %u %u running %d %d next chunk %u %u loads %llu %llu pace %llu %llu",
				 a.used, b.used, a.total, b.total, a.running, b.running, a.next_chunk, b.next_chunk,
				 (unsigned long long) a.nloads, (unsigned long long) b.nloads,
				 (unsigned long long) a.pace, (unsigned long long) b.pace);
		t->what = "totals";
		same(t, 0, 1);
	}
}

static void
show_all(Twins *t)
{
	for (int i = 0; i < t->kind->scans * 2; i++)
	{
		MachineScan s = t->machine[i % 2]->scan(t->m[i % 2], i / 2);

		if (s.used)
			show_scan(i / 2, t->machine[i % 2]->name, &s);
	}
	for (int i = 0; i < t->kind->slots * 2; i++)
	{
		MachineSlot s = t->machine[i % 2]->slot(t->m[i % 2], i / 2);

		if (s.space != MACHINE_NONE)
			show_slot(i / 2, t->machine[i % 2]->name, &s);
	}
}

/* ------------------------------------------------------------------
 * Choosing
 * ------------------------------------------------------------------ */

static int
pick_scan(Twins *t)
{
	int			start = (int) below(t, (uint32_t) t->kind->scans);

	for (int i = 0; i < t->kind->scans; i++)
	{
		int			scan = (start + i) % t->kind->scans;

		if (t->scan[scan].stage != FREE)
			return scan;
	}
	return MACHINE_NONE;
}

static int
pick_space(Twins *t)
{
	int			start = (int) below(t, (uint32_t) t->limits.spaces);

	for (int i = 0; i < t->limits.spaces; i++)
	{
		int			space = (start + i) % t->limits.spaces;

		if (t->space[space].used)
			return space;
	}
	return MACHINE_NONE;
}

static uint32_t
pick_chunk(Twins *t, int space)
{
	return t->space[space].first_chunk + below(t, t->space[space].nchunks);
}

/* The owner of a scan, or one of its helpers. */
static int
pick_reader(Twins *t, int scan)
{
	int			helper = (int) below(t, NHELPERS);

	return t->helper[helper] == scan ? helper : MACHINE_NONE;
}

/* Ranges in a space of so many blocks; how many. */
static uint32_t
pick_ranges(Twins *t, uint32_t nblocks, MachineRange *ranges)
{
	uint32_t	n = 0;
	uint32_t	b = 0;
	uint32_t	most = chance(t, 50) ? nblocks : 1 + nblocks / 10;

	if (t->kind->ranges > 100 && chance(t, 80))
		most = 1 + below(t, 4);
	if (nblocks == 0 || chance(t, 4))
		return 0;
	if (chance(t, 40))
	{
		ranges[0] = (MachineRange) {0, nblocks};
		return 1;
	}
	while (n < t->kind->ranges && b < nblocks)
	{
		b += below(t, most + 1);
		if (b >= nblocks)
			break;
		ranges[n].first = b;
		b += 1 + below(t, most);
		if (b > nblocks)
			b = nblocks;
		ranges[n++].end = b;
		b += chance(t, 80);
	}
	return n;
}

/* Blocks that a scan takes a space to have: all, or those of some time ago. */
static uint32_t
pick_blocks(Twins *t, int space)
{
	uint32_t	most = t->space[space].nblocks;

	if (t->space[space].ncolumns > 0)
		return most;
	if (chance(t, 5) && most > 2)
		return below(t, 3);
	return chance(t, 50) ? most : 1 + below(t, most);
}

/* ------------------------------------------------------------------
 * Spaces
 * ------------------------------------------------------------------ */

static void
add_space(Twins *t)
{
	uint32_t	chunk_blocks = 1 + below(t, t->kind->chunk_blocks);
	uint32_t	nchunks = t->kind->full || chance(t, 50) ? t->kind->chunks : 1 + below(t, t->kind->chunks);
	uint32_t	device = below(t, 3);
	uint32_t	most = nchunks * chunk_blocks;
	int			space;
	Space	   *p;

	t->what = "add_space";
	BOTH_SAME(space, add_space, chunk_blocks, nchunks, device);
	if (space == MACHINE_NONE || t->wrong != NULL)
		return;
	p = &t->space[space];
	p->used = true;
	p->first_chunk = t->machine[0]->space(t->m[0], space).first_chunk;
	same(t, p->first_chunk, t->machine[1]->space(t->m[1], space).first_chunk);
	p->nchunks = nchunks;
	p->chunk_blocks = chunk_blocks;
	p->nblocks = t->kind->full || chance(t, 50) ? most : 1 + below(t, most);
	p->nscans = 0;
	p->ncolumns = 0;
	if (chance(t, t->kind->columnar))
	{
		CScanLayout layout = random_layout(&t->random, chunk_blocks, chance(t, 50) ? 6 : MACHINE_MAX_COLUMNS);

		p->nblocks = most;
		p->ncolumns = layout.ncolumns;
		tell(t, "set_columnar: space, columns", space, p->ncolumns);
		BOTH(set_columnar, space, layout.begin, layout.ncolumns);
	}
	if (t->kind->full || chance(t, 90))
		BOTH(set_access, space, MACHINE_GRANTED);
}

/* The loads into slots of a space, or into one slot, are not waited for any more. */
static void
forget_loads(Twins *t, int space, int slot)
{
	for (int l = 0; l < t->nloads; l++)
	{
		if (t->loads[l] == slot ||
			(space != MACHINE_NONE && t->machine[0]->slot(t->m[0], t->loads[l]).space == space))
			t->loads[l--] = t->loads[--t->nloads];
	}
}

static void
remove_space(Twins *t, int space)
{
	tell(t, "remove_space", space, 0);
	forget_loads(t, space, MACHINE_NONE);
	BOTH(remove_space, space);
	t->space[space].used = false;
}

static void
grow_space(Twins *t, int space)
{
	Space	   *p = &t->space[space];
	uint32_t	nblocks = p->ncolumns > 0 ? p->nblocks + p->chunk_blocks :
		p->nblocks + 1 + below(t, chance(t, 50) ? p->chunk_blocks : 3 * p->chunk_blocks);
	uint32_t	nchunks = (nblocks - 1) / p->chunk_blocks + 1;
	bool		extended;

	t->what = "extend_space";
	BOTH_SAME(extended, extend_space, space, nchunks);
	if (!extended)
	{
		p->nblocks = p->nchunks * p->chunk_blocks;
		return;
	}
	p->nblocks = nblocks;
	if (nchunks > p->nchunks)
		p->nchunks = nchunks;
}

static void
change_space(Twins *t, int space)
{
	Space	   *p = &t->space[space];
	uint32_t	cached = below(t, 6);

	switch (below(t, 6))
	{
		case 0:
			{
				int			access = chance(t, 70) ? MACHINE_GRANTED :
					chance(t, 50) ? MACHINE_REFUSED : MACHINE_UNKNOWN;

				tell(t, "set_access", space, access);
				BOTH(set_access, space, access);
				break;
			}
		case 1:
			grow_space(t, space);
			break;
		case 2:
			{
				uint32_t	cursor = p->first_chunk + below(t, p->nchunks + 2);

				tell(t, "set_cursor", space, cursor);
				BOTH(set_cursor, space, cursor);
				break;
			}
		case 3:
			for (uint32_t n = 0; n < cached; n++)
			{
				uint32_t	chunk = pick_chunk(t, space);
				bool		is = chance(t, 70);

				tell(t, "set_cached", chunk, is);
				BOTH(set_cached, chunk, is);
			}
			break;
		default:
			if (p->nscans == 0 && chance(t, 50))
			{
				remove_space(t, space);
				if (chance(t, 70))
					add_space(t);
			}
			else if (p->nscans == 0)
			{
				/* It has become shorter, or longer. */
				p->nblocks = 1 + below(t, p->nchunks * p->chunk_blocks);
				if (p->ncolumns > 0)
					p->nblocks = ((p->nblocks - 1) / p->chunk_blocks + 1) * p->chunk_blocks;
			}
			else
				add_space(t);
			break;
	}
}

/* ------------------------------------------------------------------
 * Scans
 * ------------------------------------------------------------------ */

static void
announce(Twins *t, int scan, int space)
{
	static MachineRange ranges[MACHINE_MAX_RANGES];
	Scan	   *s = &t->scan[scan];
	Space	   *p = &t->space[space];
	uint32_t	nblocks;
	uint32_t	nranges;

	/* Another space may have come in its place. */
	for (int i = 0; i < t->limits.spaces; i++)
	{
		if (s->of[i] && (t->space[i].ncolumns > 0) != (p->ncolumns > 0))
			return;
	}
	if (!p->used)
		return;
	nblocks = pick_blocks(t, space);
	nranges = pick_ranges(t, nblocks, ranges);

	/* Sometimes there are exactly as many as are kept, or one more. */
	if (s->nranges < MACHINE_MAX_RANGES && s->nranges + nranges > MACHINE_MAX_RANGES && chance(t, 60))
		nranges = MACHINE_MAX_RANGES - s->nranges + (chance(t, 30) && nranges > MACHINE_MAX_RANGES - s->nranges);
	if (s->nranges + nranges <= MACHINE_MAX_RANGES && p->ncolumns == 0 &&
		(nranges != 1 || ranges[0].first > 0 || ranges[0].end < nblocks))
		s->nranges += nranges;
	tell(t, "announce: scan, space", scan, space);
	if (t->show)
		note("of %u blocks %u ranges, the first is %u to %u", nblocks, nranges,
			 nranges > 0 ? ranges[0].first : 0, nranges > 0 ? ranges[0].end : 0);
	BOTH(announce, scan, space, nblocks, ranges, nranges);
	if (p->ncolumns > 0 && chance(t, 30))
	{
		nranges = pick_ranges(t, nblocks, ranges);
		tell(t, "announce more: scan, ranges", scan, nranges);
		BOTH(announce, scan, space, nblocks, ranges, nranges);
	}
	p->nscans += !s->of[space];
	s->of[space] = true;
}

/* Some columns, of each of its spaces at least one. */
static void
pick_columns(Twins *t, int scan)
{
	uint64_t	columns = random_next(&t->random);
	uint64_t	common = 0;
	uint32_t	fewest = MACHINE_MAX_COLUMNS;

	if (chance(t, 50))
		columns &= random_next(&t->random);
	for (int i = 0; i < t->limits.spaces; i++)
	{
		if (t->scan[scan].of[i] && t->space[i].ncolumns > 0 && t->space[i].ncolumns < fewest)
			fewest = t->space[i].ncolumns;
	}
	columns |= UINT64_C(1) << below(t, fewest);
	if (chance(t, 50))
		common = random_next(&t->random) & random_next(&t->random);
	tell(t, "set_columns: columns, common", (int64_t) columns, (int64_t) common);
	BOTH(set_columns, scan, columns, common);
}

/* Sometimes something else happens before all is announced. */
static void
go_on_announcing(Twins *t, int scan)
{
	Scan	   *s = &t->scan[scan];

	while (s->ntodo > 0)
	{
		if (chance(t, 3))
			return;
		announce(t, scan, s->todo[--s->ntodo]);
	}
	if (chance(t, 10))
		return;
	pick_columns(t, scan);
	tell(t, "start", scan, 0);
	BOTH(start, scan, t->now);
	s->stage = STARTED;
	if (chance(t, 10))
	{
		int			space = pick_space(t);
		uint32_t	chunk = space == MACHINE_NONE ? 0 : pick_chunk(t, space);

		tell(t, "unwant", scan, chunk);
		BOTH(unwant, scan, chunk);
	}
	if (chance(t, 4))
	{
		int			space = pick_space(t);

		tell(t, "unwant_space", scan, space);
		if (space != MACHINE_NONE)
			BOTH(unwant_space, scan, space);
	}
}

static bool
is_columnar(const Twins *t, int space)
{
	return t->space[space].ncolumns > 0;
}

/* One space, some, or all, in any order. */
static void
begin_announcing(Twins *t, int scan)
{
	Scan	   *s = &t->scan[scan];
	int			first = pick_space(t);
	uint32_t	likely = chance(t, 40) ? 100 : 1 + below(t, 99);

	s->stage = ANNOUNCING;
	s->ntodo = 0;
	s->nranges = 0;

	/* All of its spaces have columns, or none has. */
	for (int i = 0; i < t->limits.spaces && first != MACHINE_NONE; i++)
	{
		if (s->of[i] && is_columnar(t, i) != is_columnar(t, first))
			first = MACHINE_NONE;
	}
	if (first == MACHINE_NONE)
		return;
	if (chance(t, (uint32_t) t->kind->families))
	{
		bool		backward = chance(t, 50);

		for (int i = 0; i < t->limits.spaces; i++)
		{
			int			space = backward ? t->limits.spaces - 1 - i : i;

			if (space != first && t->space[space].used && is_columnar(t, space) == is_columnar(t, first) &&
				chance(t, likely))
				s->todo[s->ntodo++] = space;
		}
	}
	s->todo[s->ntodo++] = first;
	if (s->ntodo > 1 && chance(t, 30))
	{
		int			other = (int) below(t, (uint32_t) s->ntodo);

		s->todo[s->ntodo - 1] = s->todo[other];
		s->todo[other] = first;
	}
	go_on_announcing(t, scan);
}

static void
set_stalled(Twins *t, int scan, bool stalled)
{
	tell(t, "set_stalled", scan, stalled);
	BOTH(set_stalled, scan, stalled);
}

static void
set_warm(Twins *t, int scan, bool warm)
{
	tell(t, "set_warm", scan, warm);
	BOTH(set_warm, scan, warm);
}

static void
add_scan(Twins *t)
{
	int			policy = t->kind->policy == MIXED ? (int) below(t, MACHINE_NPOLICIES) : t->kind->policy;
	int			scan;

	t->what = "register";
	BOTH_SAME(scan, add_scan, policy, t->now);
	if (scan == MACHINE_NONE)
		return;
	if (t->show)
		note("policy %d", policy);
	memset(t->scan[scan].of, 0, sizeof(t->scan[scan].of));
	if (chance(t, 10))
		set_stalled(t, scan, true);
	if (chance(t, 10))
		set_warm(t, scan, true);
	begin_announcing(t, scan);
}

static void
remove_scan(Twins *t, int scan)
{
	tell(t, "unregister", scan, 0);
	BOTH(remove_scan, scan);
	t->scan[scan].stage = FREE;
	for (int i = 0; i < t->limits.spaces; i++)
		t->space[i].nscans -= t->scan[scan].of[i];
	for (int i = 0; i < NHELPERS; i++)
	{
		if (t->helper[i] == scan)
			t->helper[i] = -2;	/* whose scan has gone */
	}
}

static void
rest(Twins *t, int scan)
{
	tell(t, "rest", scan, 0);
	BOTH(rest, scan, t->now);
	t->scan[scan].stage = RESTING;
	if (chance(t, 70))
		begin_announcing(t, scan);
}

static void
read_chunk(Twins *t, int scan)
{
	int			reader = pick_reader(t, scan);
	int			slot;

	/* The clocks of processes may be a little apart. */
	uint64_t	now = t->now - (chance(t, 10) && t->now > 2 ? 2 : 0);

	tell(t, "choose: scan, helper", scan, reader);
	BOTH_SAME(slot, choose, scan, reader, now);
	if (slot == MACHINE_NONE && t->machine[0]->scan(t->m[0], scan).nwanted == 0 && chance(t, 70))
		remove_scan(t, scan);
}

static void
take_chunk(Twins *t, int scan)
{
	uint32_t	chunk[2] = {0, 0};
	int			reader = pick_reader(t, scan);
	bool		taken[2];

	tell(t, "take: scan, helper", scan, reader);
	for (int i = 0; i < 2; i++)
		taken[i] = t->machine[i]->peek(t->m[i], scan, &chunk[i]);
	t->what = "peek";
	same(t, taken[0] ? (int64_t) chunk[0] : -1, taken[1] ? (int64_t) chunk[1] : -1);
	for (int i = 0; i < 2; i++)
		taken[i] = t->machine[i]->take(t->m[i], scan, reader, t->now, &chunk[i]);
	t->what = "take";
	same(t, taken[0] ? (int64_t) chunk[0] : -1, taken[1] ? (int64_t) chunk[1] : -1);
}

static void
same_action(Twins *t, const MachineAction *a, const MachineAction *b)
{
	t->what = "action";
	same(t, a->kind, b->kind);
	t->what = "its slot";
	same(t, a->slot, b->slot);
	t->what = "its scan";
	same(t, a->scan, b->scan);
	t->what = "its space";
	same(t, a->space, b->space);
	t->what = "its chunk";
	same(t, a->chunk, b->chunk);
	t->what = "its blocks";
	same(t, a->nblocks, b->nblocks);
	t->what = "its runs";
	same(t, (int64_t) a->runs, (int64_t) b->runs);
	t->what = "the rest of it";
	same(t, memcmp(a, b, sizeof(*a)), 0);
}

static void
decide_next(Twins *t)
{
	bool		wants = t->machine[1]->wants_load(t->m[1], t->now);
	MachineAction a = t->machine[0]->decide(t->m[0], t->now);
	MachineAction b = t->machine[1]->decide(t->m[1], t->now);

	same_action(t, &a, &b);
	t->what = "wants_load";
	same(t, wants || a.kind == MACHINE_NOTHING, true);
	t->decided += (a.kind != MACHINE_NOTHING);
	if (a.kind == MACHINE_LOAD)
		t->loads[t->nloads++] = a.slot;
}

/* Some of a load is there. */
static void
arrive(Twins *t)
{
	int			slot = t->loads[below(t, (uint32_t) t->nloads)];
	int			space = t->machine[0]->slot(t->m[0], slot).space;
	uint64_t	columns = random_next(&t->random);

	if (t->space[space].ncolumns == 0)
		return;
	tell(t, "arrived: slot, columns", slot, (int64_t) columns);
	BOTH(arrived, slot, columns);
}

static void
finish_load(Twins *t)
{
	int			n = (int) below(t, (uint32_t) t->nloads);
	int			slot = t->loads[n];
	uint64_t	duration = chance(t, 30) ? 0 : (500 + below(t, 1000)) * (chance(t, 5) ? 20 : 1);
	bool		failed = chance(t, 5);
	bool		cheap = chance(t, 15);

	tell(t, "loaded: slot, duration", slot, (int64_t) duration);
	t->loads[n] = t->loads[--t->nloads];
	BOTH(loaded, slot, t->now, duration, failed, cheap);
}

/* Until nothing can go, or only some of it. */
static void
shrink(Twins *t)
{
	MachineAction a;

	do
	{
		MachineAction b;

		a = t->machine[0]->shrink(t->m[0]);
		b = t->machine[1]->shrink(t->m[1]);
		same_action(t, &a, &b);
	} while (a.kind != MACHINE_NOTHING && t->wrong == NULL && chance(t, 90));
}

static void
look_after(Twins *t)
{
	int			slot;

	switch (below(t, 4))
	{
		case 3:
			shrink(t);
			break;
		case 0:
			t->what = "useless";
			slot = t->machine[0]->useless(t->m[0]);
			same(t, slot, t->machine[1]->useless(t->m[1]));
			if (slot != MACHINE_NONE)
				BOTH(drop, slot);
			break;
		case 1:
			t->what = "release";
			same(t, t->machine[0]->release(t->m[0]), t->machine[1]->release(t->m[1]));
			break;
		default:
			t->what = "hold";
			same(t, t->machine[0]->hold(t->m[0]), t->machine[1]->hold(t->m[1]));
			break;
	}
}

/* What happens seldom. */
static void
disturb(Twins *t, int scan)
{
	int			space = pick_space(t);
	int			n = (int) below(t, NHELPERS);

	t->what = "disturbance";
	switch (below(t, 12))
	{
		case 0:
			if (t->helper[n] == MACHINE_NONE)
			{
				int			helper;

				BOTH_SAME(helper, join, scan);
				if (helper != MACHINE_NONE)
					t->helper[helper] = scan;
			}
			break;
		case 1:
		case 2:
			if (t->helper[n] != MACHINE_NONE)
			{
				tell(t, "quit", n, t->helper[n]);
				BOTH(quit, n);
			}
			t->helper[n] = MACHINE_NONE;
			break;
		case 3:
			if (t->scan[scan].stage == STARTED)
				rest(t, scan);
			break;
		case 4:
			set_warm(t, scan, chance(t, 30));
			break;
		case 5:
			if (chance(t, 50))
				remove_scan(t, scan);
			break;
		case 6:
			{
				uint32_t	budget = t->kind->chunk_blocks * (2 + below(t, (uint32_t) t->kind->slots));
				uint32_t	room = budget + below(t, budget);

				tell(t, "set_limits", budget, room);
				BOTH(set_limits, budget, room);
			}
			break;
		case 7:
			n = (int) below(t, (uint32_t) t->kind->slots);
			tell(t, "drop", n, 0);
			forget_loads(t, MACHINE_NONE, n);
			BOTH(drop, n);
			break;
		case 8:
			if (t->scan[scan].stage == STARTED && space != MACHINE_NONE)
			{
				uint32_t	chunk = pick_chunk(t, space);

				if (chance(t, 50))
				{
					tell(t, "set_position", scan, chunk);
					BOTH(set_position, scan, chunk);
				}
				else if (chance(t, 80))
				{
					tell(t, "unwant", scan, chunk);
					BOTH(unwant, scan, chunk);
				}
				else
				{
					tell(t, "unwant_space", scan, space);
					BOTH(unwant_space, scan, space);
				}
			}
			else if (chance(t, 10))
			{
				double		block_time = below(t, 3) == 0 ? 0.0001 : 1 + below(t, 1000);

				tell(t, "set_block_time", (int64_t) block_time, 0);
				BOTH(set_block_time, block_time);
			}
			else if (chance(t, 30) && t->machine[1]->rebuild != NULL)
			{
				tell(t, "rebuild", 0, 0);
				t->machine[1]->rebuild(t->m[1]);
			}
			break;
		default:
			if (space == MACHINE_NONE)
				add_space(t);
			else
				change_space(t, space);
			break;
	}
}

static void
next_event(Twins *t)
{
	int			scan = pick_scan(t);
	uint32_t	dice = below(t, 100);
	Stage		stage = scan == MACHINE_NONE ? FREE : t->scan[scan].stage;

	/* Often nothing passes, so that there are ties. */
	if (chance(t, 50))
		t->now += below(t, chance(t, 5) ? 5000 : 4);

	if ((dice < 8 && (!t->kind->full || chance(t, 10))) || scan == MACHINE_NONE)
		add_scan(t);
	else if (dice < 45 && stage == ANNOUNCING)
		go_on_announcing(t, scan);
	else if (dice < 30 && stage == RESTING)
		begin_announcing(t, scan);
	else if (dice < 45)
		read_chunk(t, scan);
	else if (dice < 75 && t->nloads < MAX_LOADS)
		decide_next(t);
	else if (dice < 80 && t->nloads > 0 && chance(t, 50))
		arrive(t);
	else if (dice < 88 && t->nloads > 0)
		finish_load(t);
	else if (dice < 92)
		look_after(t);
	else if (dice < 94 && stage == STARTED)
		take_chunk(t, scan);
	else if (dice < 96)
		set_stalled(t, scan, chance(t, 70));
	else
		disturb(t, scan);
}

/* Returns what went wrong, or NULL. */
static const char *
run(const Kind *kind, int number, bool show, uint64_t *events, uint64_t *decided)
{
	static Twins twins;
	Twins	   *t = &twins;
	uint32_t	budget;
	uint32_t	room;

	memset(t, 0, sizeof(*t));
	t->kind = kind;
	t->machine[0] = &naive_machine;
	t->machine[1] = &core_machine;
	t->show = show;
	t->random.state = (uint64_t) (kind - kinds) * 1000003 + (uint64_t) number;
	t->limits = (MachineLimits) {kind->scans, kind->spaces + 1, kind->slots, NHELPERS, kind->numbers};
	if (t->limits.chunks == 0)
		t->limits.chunks = ((uint32_t) kind->spaces + 1) * (kind->chunks + kind->chunks / 4 + 1);
	if (kind->full)
		t->limits.chunks = (uint32_t) kind->spaces * kind->chunks + 64;
	t->limits.chunks = (t->limits.chunks + 63) / 64 * 64;
	for (int i = 0; i < 2; i++)
		t->m[i] = t->machine[i]->create(&t->limits);
	budget = kind->chunk_blocks * (2 + below(t, (uint32_t) kind->slots));
	room = budget + below(t, budget);
	tell(t, "set_limits", budget, room);
	BOTH(set_limits, budget, room);
	for (int i = 0; i < NHELPERS; i++)
		t->helper[i] = MACHINE_NONE;
	for (int i = 0; i < kind->spaces; i++)
		add_space(t);
	for (int i = 0; i < kind->scans && kind->full; i++)
		add_scan(t);
	for (t->event = 0; t->event < kind->events && t->wrong == NULL; t->event++)
	{
		next_event(t);
		if (t->event % kind->every == 0 && t->wrong == NULL)
			compare_all(t);
	}
	if (t->wrong == NULL)
		compare_all(t);
	else if (t->show)
		show_all(t);
	for (int i = 0; i < 2; i++)
		t->machine[i]->destroy(t->m[i]);
	*events += (uint64_t) t->event;
	*decided += t->decided;
	if (t->wrong != NULL)
		note("TWIN=%d,%d: %s at event %d", (int) (kind - kinds), number, t->wrong, t->event);
	return t->wrong;
}

void
test_twin(void)
{
	const char *only = getenv("TWIN");
	const char *most = getenv("EVENTS");
	int			total = most ? atoi(most) : 50000;
	int			k = -1;
	int			number;

	if (only != NULL && sscanf(only, "%d,%d", &k, &number) == 2)
	{
		uint64_t	events = 0;
		uint64_t	decided = 0;

		ok(run(&kinds[k], number, true, &events, &decided) == NULL, "%s, run %d", kinds[k].name, number);
		return;
	}
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
	{
		uint64_t	events = 0;
		uint64_t	decided = 0;
		int			failures = 0;
		int			runs = (int) ((int64_t) total * kinds[i].share / 100 / kinds[i].events) + 1;

		if (k >= 0 && (size_t) k != i)
			continue;
		for (number = 0; number < runs && failures < 5; number++)
			failures += run(&kinds[i], number, false, &events, &decided) != NULL;
		ok(failures == 0, "%s: decides as its naive twin does", kinds[i].name);
		ok(decided > events / (kinds[i].full && kinds[i].policy == MACHINE_ELEVATOR ? 100 : 50),
		   "%s: there was something to decide", kinds[i].name);
		note("%llu events, %llu decisions that were not to do nothing", (unsigned long long) events,
			 (unsigned long long) decided);
	}
}
