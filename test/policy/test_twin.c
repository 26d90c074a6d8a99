/*-------------------------------------------------------------------------
 *
 * test_twin.c
 *		The core decides as its naive twin does, ties included.
 *
 * The twin (twin/) is the same pool and the same policies in their plainest
 * form: everything is counted anew for each decision, by walking scans and
 * slots.  Both get the same random events, and must answer the same each time;
 * now and then all that can be seen of both is compared.
 *
 * EVENTS=n makes n events in all of each kind of run; TWIN=kind,number runs
 * one alone and shows its events.
 *
 *-------------------------------------------------------------------------
 */
#include "harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "machine.h"

#define MAX_SCANS		64
#define MAX_SLOTS		512
#define MAX_TABLES		4
#define MAX_LOADS		4
#define NHELPERS		8
#define MIXED			CSCAN_NPOLICIES
#define NTWINS			(CSCAN_POLICY_DEMAND + 1)	/* policies that the twin has, too */

typedef struct Kind
{
	const char *name;
	int			scans;
	int			slots;
	int			tables;
	uint32_t	chunks;			/* of a table, at most */
	uint32_t	chunk_blocks;	/* at most */
	int			policy;			/* or MIXED */
	int			events;			/* of a run */
	int			every;			/* so many events all is compared */
	int			share;			/* of all events (percent) */
	bool		full;			/* begins with all its scans, and few others come;
								 * elevator has each chunk read by all of them
								 * before it decides anything */
} Kind;

static const Kind kinds[] = {
	{"tiny", 4, 4, 1, 8, 4, MIXED, 300, 1, 100, false},
	{"normal", 8, 12, 2, 40, 8, CSCAN_POLICY_NORMAL, 600, 20, 50, false},
	{"attach", 8, 12, 2, 40, 8, CSCAN_POLICY_ATTACH, 600, 20, 50, false},
	{"elevator", 8, 12, 2, 40, 8, CSCAN_POLICY_ELEVATOR, 600, 20, 100, false},
	{"relevance", 8, 12, 2, 40, 8, CSCAN_POLICY_RELEVANCE, 600, 20, 200, false},
	{"relevance, many scans", 40, 70, 3, 200, 4, CSCAN_POLICY_RELEVANCE, 3000, 300, 100, false},
	{"demand", 8, 12, 2, 40, 8, CSCAN_POLICY_DEMAND, 600, 20, 200, false},
	{"demand, many scans", 40, 70, 3, 200, 4, CSCAN_POLICY_DEMAND, 3000, 300, 100, false},
	{"demand, parts of two chunks and more", 12, 24, 2, 900, 1, CSCAN_POLICY_DEMAND, 2000, 300, 50, false},
	{"mixed", 16, 24, 3, 60, 16, MIXED, 1000, 50, 200, false},
	{"large chunks", 12, 24, 2, 12, 1500, MIXED, 1000, 50, 50, false},
	{"64 scans of 16,384 chunks, normal", 64, 256, 1, 16384, 1, CSCAN_POLICY_NORMAL, 40000, 20000, 20, true},
	{"64 scans of 16,384 chunks, attach", 64, 256, 1, 16384, 1, CSCAN_POLICY_ATTACH, 40000, 20000, 20, true},
	{"64 scans of 16,384 chunks, elevator", 64, 256, 1, 16384, 1, CSCAN_POLICY_ELEVATOR, 40000, 20000, 20, true},
	{"64 scans of 16,384 chunks, relevance", 64, 256, 1, 16384, 1, CSCAN_POLICY_RELEVANCE, 40000, 20000, 20, true},
	{"64 scans of 16,384 chunks, demand", 64, 256, 1, 16384, 1, CSCAN_POLICY_DEMAND, 40000, 20000, 20, true},
	{"64 scans of 16,384 chunks, mixed", 64, 256, 2, 16384, 1, MIXED, 40000, 20000, 20, true},
};

typedef struct Twins
{
	const Kind *kind;
	Random		random;
	const Machine *machine[2];
	void	   *m[2];
	uint64_t	now;
	int			event;
	const char *what;			/* the event */
	const char *wrong;			/* what differed, or NULL */
	bool		show;

	int			table[MAX_TABLES];
	uint32_t	chunk_blocks[MAX_TABLES];
	bool		loadable[MAX_TABLES];
	int			nscans[MAX_TABLES];
	bool		scan[MAX_SCANS];	/* is registered */
	int			table_of[MAX_SCANS];
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

static void
compare_all(Twins *t)
{
	for (int i = 0; i < t->kind->scans; i++)
	{
		MachineScan a = t->machine[0]->scan(t->m[0], i);
		MachineScan b = t->machine[1]->scan(t->m[1], i);

		if (memcmp(&a, &b, sizeof(a)) != 0)
		{
			if (t->show)
				note("scan %d: table %d %d waiting %d %d blocked %d %d stalled %d %d starved %d %d in use %d %d needed %u %u position %u %u available %u %u ready %u %u using %u %u",
					 i, a.table, b.table, a.waiting, b.waiting, a.blocked, b.blocked, a.stalled, b.stalled,
					 a.starved, b.starved, a.in_use, b.in_use, a.needed, b.needed, a.position, b.position,
					 a.available, b.available, a.ready, b.ready, a.using, b.using);
			t->what = "scan";
			same(t, 0, 1);
		}
	}
	for (int i = 0; i < t->kind->slots; i++)
	{
		MachineSlot a = t->machine[0]->slot(t->m[0], i);
		MachineSlot b = t->machine[1]->slot(t->m[1], i);

		if (memcmp(&a, &b, sizeof(a)) != 0)
		{
			if (t->show)
				note("slot %d: table %d %d chunk %u %u blocks %u %u flags %d%d%d%d %d%d%d%d trigger %d %d users %u %u interested %d %d stamp %llu %llu order %llu %llu",
					 i, a.table, b.table, a.chunk, b.chunk, a.nblocks, b.nblocks, a.in_flight, a.held,
					 a.failed, a.cheap, b.in_flight, b.held, b.failed, b.cheap, a.trigger, b.trigger,
					 a.users, b.users, a.interested, b.interested,
					 (unsigned long long) a.stamp, (unsigned long long) b.stamp,
					 (unsigned long long) a.order, (unsigned long long) b.order);
			t->what = "slot";
			same(t, 0, 1);
		}
	}
	t->what = "used";
	same(t, t->machine[0]->used(t->m[0]), t->machine[1]->used(t->m[1]));
}

static int
pick_scan(Twins *t)
{
	int			start = (int) below(t, (uint32_t) t->kind->scans);

	for (int i = 0; i < t->kind->scans; i++)
	{
		int			scan = (start + i) % t->kind->scans;

		if (t->scan[scan])
			return scan;
	}
	return CSCAN_NONE;
}

/* The owner of a scan, or one of its helpers. */
static int
pick_reader(Twins *t, int scan)
{
	int			helper = (int) below(t, NHELPERS);

	return t->helper[helper] == scan ? helper : CSCAN_NONE;
}

/* Ranges in a table of so many blocks; how many. */
static uint32_t
pick_ranges(Twins *t, uint32_t nblocks, MachineRange *ranges)
{
	uint32_t	n = 0;
	uint32_t	b = 0;
	uint32_t	most = chance(t, 50) ? nblocks : 1 + nblocks / 10;

	if (chance(t, 30) || nblocks == 0)
	{
		ranges[0] = (MachineRange) {0, nblocks};
		return nblocks > 0;
	}
	while (n < 20 && b < nblocks)
	{
		b += below(t, most + 1);
		if (b >= nblocks)
			break;
		ranges[n].first = b;
		b += 1 + below(t, most);
		if (b > nblocks)
			b = nblocks;
		ranges[n++].end = b;
		b++;
	}
	return n;
}

static uint32_t
pick_blocks(Twins *t, int i)
{
	uint32_t	most = t->kind->chunks * t->chunk_blocks[i];

	if (chance(t, 5))
		return below(t, 3);
	return chance(t, 50) ? most : 1 + below(t, most);
}

static void
add_scan(Twins *t)
{
	MachineRange ranges[20];
	int			i = (int) below(t, (uint32_t) t->kind->tables);
	int			policy = t->kind->policy == MIXED ? (int) below(t, NTWINS) : t->kind->policy;
	uint32_t	nblocks = pick_blocks(t, i);
	uint32_t	nranges = pick_ranges(t, nblocks, ranges);
	int			scan;

	t->what = "register";
	BOTH_SAME(scan, add_scan, t->table[i], policy, nblocks, ranges, nranges, t->now);
	if (scan == CSCAN_NONE)
		return;
	t->scan[scan] = true;
	t->table_of[scan] = i;
	t->nscans[i]++;
	if (chance(t, 10))
		BOTH(unwant, scan, (uint32_t) t->event % t->kind->chunks);
	if (chance(t, 10))
		BOTH(set_stalled, scan, true);
	if (chance(t, 10))
		BOTH(set_warm, scan, true);
	BOTH(start, scan);
}

static void
remove_scan(Twins *t, int scan)
{
	t->what = "unregister";
	BOTH(remove_scan, scan);
	t->scan[scan] = false;
	t->nscans[t->table_of[scan]]--;
	for (int i = 0; i < NHELPERS; i++)
	{
		if (t->helper[i] == scan)
			t->helper[i] = -2;	/* whose scan has gone */
	}
}

static void
read_chunk(Twins *t, int scan)
{
	int			reader = pick_reader(t, scan);
	int			slot;

	/* The clocks of processes may be a little apart. */
	uint64_t	now = t->now - (chance(t, 10) && t->now > 2 ? 2 : 0);

	t->what = "choose";
	BOTH_SAME(slot, choose, scan, reader, now);
	if (slot == CSCAN_NONE && t->machine[0]->scan(t->m[0], scan).needed == 0 && chance(t, 70))
		remove_scan(t, scan);
}

static void
take_chunk(Twins *t, int scan)
{
	uint32_t	chunk[2] = {0, 0};
	int			reader = pick_reader(t, scan);
	bool		taken;

	t->what = "peek";
	BOTH_SAME(taken, peek, scan, &chunk[0]);
	t->what = "take";
	taken = t->machine[0]->take(t->m[0], scan, reader, t->now, &chunk[0]);
	same(t, taken, t->machine[1]->take(t->m[1], scan, reader, t->now, &chunk[1]));
	if (taken)
		same(t, chunk[0], chunk[1]);
}

static void
decide_next(Twins *t)
{
	bool		wants = t->machine[1]->wants_load(t->m[1], t->now);
	MachineAction a = t->machine[0]->decide(t->m[0], t->now);
	MachineAction b = t->machine[1]->decide(t->m[1], t->now);

	t->what = "decide";
	same(t, a.kind, b.kind);
	t->what = "wants_load";
	same(t, wants || a.kind == MACHINE_NOTHING, true);
	if (memcmp(&a, &b, sizeof(a)) != 0)
	{
		t->what = "decide: slot";
		same(t, a.slot, b.slot);
		t->what = "decide: scan";
		same(t, a.scan, b.scan);
		t->what = "decide: chunk";
		same(t, a.chunk, b.chunk);
		t->what = "decide: the rest";
		same(t, 0, 1);
	}
	t->decided += (a.kind != MACHINE_NOTHING);
	if (a.kind == MACHINE_LOAD)
		t->loads[t->nloads++] = a.slot;
}

static void
finish_load(Twins *t)
{
	int			n = (int) below(t, (uint32_t) t->nloads);
	int			slot = t->loads[n];
	uint64_t	duration = chance(t, 30) ? 0 : (500 + below(t, 1000)) * (chance(t, 5) ? 20 : 1);
	bool		failed = chance(t, 5);
	bool		cheap = chance(t, 15);

	t->what = "loaded";
	t->loads[n] = t->loads[--t->nloads];
	BOTH(loaded, slot, t->now, duration, failed, cheap);
}

static void
look_after(Twins *t)
{
	int			slot;

	switch (below(t, 3))
	{
		case 0:
			t->what = "useless";
			slot = t->machine[0]->useless(t->m[0]);
			same(t, slot, t->machine[1]->useless(t->m[1]));
			if (slot != CSCAN_NONE)
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

static void
set_stalled(Twins *t, int scan, bool stalled)
{
	BOTH(set_stalled, scan, stalled);
}

static void
set_warm(Twins *t, int scan, bool warm)
{
	BOTH(set_warm, scan, warm);
}

/* What happens seldom. */
static void
disturb(Twins *t, int scan)
{
	int			i = (int) below(t, (uint32_t) t->kind->tables);
	int			n = (int) below(t, NHELPERS);

	t->what = "disturbance";
	switch (below(t, 10))
	{
		case 0:
			t->loadable[i] = !t->loadable[i] || chance(t, 60);
			BOTH(set_loadable, t->table[i], t->loadable[i]);
			break;
		case 1:
			if (t->helper[n] == CSCAN_NONE && scan != CSCAN_NONE)
			{
				int			helper;

				BOTH_SAME(helper, join, scan);
				if (helper != CSCAN_NONE)
					t->helper[helper] = scan;
			}
			break;
		case 2:
		case 3:
			if (t->helper[n] != CSCAN_NONE)
				BOTH(part, n);
			t->helper[n] = CSCAN_NONE;
			break;
		case 4:
			if (scan != CSCAN_NONE)
			{
				MachineRange ranges[20];
				uint32_t	nblocks = pick_blocks(t, t->table_of[scan]);
				uint32_t	nranges = chance(t, 30) ? 0 : pick_ranges(t, nblocks, ranges);

				BOTH(again, scan, nblocks, ranges, nranges, t->now);
				BOTH(start, scan);
			}
			break;
		case 5:
			if (scan != CSCAN_NONE)
				set_warm(t, scan, chance(t, 30));
			break;
		case 6:
			if (scan != CSCAN_NONE && chance(t, 50))
				remove_scan(t, scan);
			break;
		case 7:
			{
				uint32_t	budget = t->kind->chunk_blocks * (2 + below(t, (uint32_t) t->kind->slots));
				uint32_t	room = budget + below(t, budget);

				BOTH(set_limits, budget, room);
			}
			break;
		case 8:
			n = (int) below(t, (uint32_t) t->kind->slots);
			for (int l = 0; l < t->nloads; l++)
			{
				if (t->loads[l] == n)
					t->loads[l--] = t->loads[--t->nloads];
			}
			BOTH(drop, n);
			break;
		default:
			if (t->nscans[i] == 0 && chance(t, 50))
			{
				for (int l = 0; l < t->nloads; l++)
				{
					if (t->machine[0]->slot(t->m[0], t->loads[l]).table == t->table[i])
						t->loads[l--] = t->loads[--t->nloads];
				}
				BOTH(remove_table, t->table[i]);
				t->chunk_blocks[i] = 1 + below(t, t->kind->chunk_blocks);
				BOTH_SAME(t->table[i], add_table, t->chunk_blocks[i]);
				t->loadable[i] = true;
			}
			else if (chance(t, 30))
			{
				uint32_t	cursor = below(t, t->kind->chunks + 2);

				BOTH(set_cursor, t->table[i], cursor);
			}
			else if (chance(t, 20) && t->machine[1]->rebuild != NULL)
				t->machine[1]->rebuild(t->m[1]);
			break;
	}
}

static void
next_event(Twins *t)
{
	int			scan = pick_scan(t);
	uint32_t	dice = below(t, 100);

	/* Often nothing passes, so that there are ties. */
	if (chance(t, 50))
		t->now += below(t, chance(t, 5) ? 5000 : 4);

	if ((dice < 8 && (!t->kind->full || chance(t, 10))) || scan == CSCAN_NONE)
		add_scan(t);
	else if (dice < 45)
		read_chunk(t, scan);
	else if (dice < 75 && t->nloads < MAX_LOADS)
		decide_next(t);
	else if (dice < 88 && t->nloads > 0)
		finish_load(t);
	else if (dice < 92)
		look_after(t);
	else if (dice < 94)
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
	Twins		twins = {.kind = kind,.machine = {&naive_machine, &core_machine},.show = show};
	Twins	   *t = &twins;
	uint32_t	budget;
	uint32_t	room;

	t->random.state = (uint64_t) (kind - kinds) * 1000003 + (uint64_t) number;
	for (int i = 0; i < 2; i++)
		t->m[i] = t->machine[i]->create(kind->scans, kind->slots, NHELPERS);
	budget = kind->chunk_blocks * (2 + below(t, (uint32_t) kind->slots));
	room = budget + below(t, budget);
	BOTH(set_limits, budget, room);
	for (int i = 0; i < NHELPERS; i++)
		t->helper[i] = CSCAN_NONE;
	for (int i = 0; i < kind->tables; i++)
	{
		t->chunk_blocks[i] = 1 + below(t, kind->chunk_blocks);
		t->loadable[i] = true;
		BOTH_SAME(t->table[i], add_table, t->chunk_blocks[i]);
	}
	for (int i = 0; i < kind->scans && kind->full; i++)
		add_scan(t);
	for (t->event = 0; t->event < kind->events && t->wrong == NULL; t->event++)
	{
		next_event(t);
		if (t->event % kind->every == 0)
			compare_all(t);
	}
	compare_all(t);
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
	int			k;
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

		for (number = 0; number < runs && failures < 5; number++)
			failures += run(&kinds[i], number, false, &events, &decided) != NULL;
		ok(failures == 0, "%s: decides as its naive twin does", kinds[i].name);
		ok(decided > events / (kinds[i].full && kinds[i].policy == CSCAN_POLICY_ELEVATOR ? 100 : 50),
		   "%s: there was something to decide", kinds[i].name);
		note("%llu events, %llu decisions that were not to do nothing", (unsigned long long) events,
			 (unsigned long long) decided);
	}
}
