/*-------------------------------------------------------------------------
 *
 * decide.c
 *		What the naive twin's manager does next: see twin.h.
 *
 *-------------------------------------------------------------------------
 */
#include <stdlib.h>
#include <string.h>

#include "twin.h"

/* Is scan a more urgent than scan b? */
static bool
more_urgent(const Twin *t, int a, int b)
{
	if (b == MACHINE_NONE)
		return true;
	if (t->scan[a].blocked == t->scan[b].blocked)
		return t->scan[a].since < t->scan[b].since;
	return t->scan[a].blocked;
}

/* A sleeping scan that a slot was loaded for will read it next. */
static bool
promised(const Twin *t, int slot)
{
	int			scan = t->slot[slot].meant_for;

	return scan != MACHINE_NONE && twin_active(t, scan) && t->scan[scan].blocked &&
		twin_pick(t, scan) == slot;
}

/* Mind: 2, what any policy guards; 1, what the scan's own guards; 0, nothing. */
static bool
may_go(const Twin *t, int scan, int slot, int mind)
{
	int			policy = t->scan[scan].policy;

	if (mind >= 1 && twin_clings(t, scan, slot))
		return false;
	for (int p = 0; p < MACHINE_NPOLICIES && mind == 2; p++)
	{
		if (p != policy && twin_guards(t, p, slot))
			return false;
	}
	return true;
}

/* The least worth of some slots, but for those that are promised. */
static int
least_worth(const Twin *t, int policy, bool *may)
{
	for (;;)
	{
		bool		by_block = false;
		int			victim = MACHINE_NONE;
		TwinWorth	victim_worth = {0, 1, 0};

		for (int i = 0; i < t->limits.slots; i++)
			by_block |= may[i] && t->space[t->space_of[t->slot[i].chunk]].ncolumns > 0;
		for (int i = 0; i < t->limits.slots; i++)
		{
			TwinWorth	worth;

			if (!may[i])
				continue;
			worth = twin_worth(t, policy, i, by_block);
			if (victim == MACHINE_NONE || twin_worth_less(worth, victim_worth) ||
				(twin_worth_same(worth, victim_worth) && t->slot[i].stamp < t->slot[victim].stamp))
			{
				victim = i;
				victim_worth = worth;
			}
		}
		if (victim == MACHINE_NONE || !promised(t, victim))
			return victim;
		may[victim] = false;
	}
}

/* Does an active scan want a block of these of a chunk? */
static bool
asked_for(const Twin *t, uint32_t chunk, uint32_t from, uint32_t to)
{
	for (int q = 0; q < t->limits.scans; q++)
	{
		if (!twin_active(t, q) || !twin_wants(t, q, chunk))
			continue;
		for (uint32_t b = from; b < to; b++)
		{
			if (twin_asks(t, q, chunk, b))
				return true;
		}
	}
	return false;
}

/* In the end the other columns of a chunk lose their pins, for those that the scan lacks. */
static bool
yields(const Twin *t, int scan, int slot)
{
	int			policy = t->scan[scan].policy;

	if (slot == MACHINE_NONE || t->space[t->space_of[t->slot[slot].chunk]].ncolumns == 0 ||
		!t->slot[slot].held || t->slot[slot].in_flight || promised(t, slot) || !t->scan[scan].blocked)
		return false;
	if (policy == MACHINE_ELEVATOR)
		return !twin_clings(t, scan, slot);
	return policy == MACHINE_NORMAL || policy == MACHINE_ATTACH || t->sight[scan].available == t->sight[scan].in_vain;
}

static int
find_victim(const Twin *t, int scan, int stays, bool held)
{
	int			policy = t->scan[scan].policy;
	bool		desperate = policy != MACHINE_ELEVATOR && t->scan[scan].blocked &&
		t->sight[scan].available == t->sight[scan].in_vain;

	for (int mind = 2; mind >= (!desperate ? 1 : held ? -1 : 0); mind--)
	{
		bool		may[t->limits.slots];
		int			victim;

		for (int i = 0; i < t->limits.slots; i++)
		{
			const TwinSlot *s = &t->slot[i];

			may[i] = i != stays && s->taken && !s->in_flight && (s->held || !held) &&
				(mind < 0 || twin_readers(t, i) == 0) && may_go(t, scan, i, mind);
		}
		victim = least_worth(t, policy, may);
		if (victim != MACHINE_NONE)
			return victim;
	}
	return MACHINE_NONE;
}

/* Is it a column that some scan wants, and not all? */
static bool
special_for_some(const Twin *t, uint32_t chunk, uint32_t column)
{
	for (int q = 0; q < t->limits.scans; q++)
	{
		if (twin_active(t, q) && twin_wants(t, q, chunk) && t->scan[q].special >> column & 1)
			return true;
	}
	return false;
}

/*
 * Columns of a chunk that some scan wants, but that none wants: a slot that has
 * such, the one used longest ago.  "all": it has no others, but for those that all
 * scans want.
 */
static int
find_unwanted(const Twin *t, bool held, bool *unwanted, bool *all)
{
	int			found = MACHINE_NONE;

	for (int i = 0; i < t->limits.slots; i++)
	{
		const TwinSlot *s = &t->slot[i];
		const TwinSpace *p;
		uint32_t	to;
		bool		some = false;
		bool		others = false;
		bool		any = false;

		if (!s->taken || s->in_flight || (held && !s->held) || twin_readers(t, i) > 0 ||
			twin_interest(t, s->chunk) == 0 ||
			(found != MACHINE_NONE && s->stamp >= t->slot[found].stamp))
			continue;
		p = &t->space[t->space_of[s->chunk]];
		for (uint32_t from = 0; p->ncolumns > 0 && from < p->size; from = to)
		{
			twin_piece(t, s->chunk, from, &to);
			if (!s->here[from])
				continue;
			if (asked_for(t, s->chunk, from, to))
				others |= special_for_some(t, s->chunk, twin_piece(t, s->chunk, from, &to));
			else
				some = true;
			any = true;
		}
		if (!some && (others || !any))
			continue;
		found = i;
		*all = !others;
		for (uint32_t from = 0; from < p->size; from = to)
		{
			twin_piece(t, s->chunk, from, &to);
			for (uint32_t b = from; b < to; b++)
				unwanted[b] = s->here[b] && !asked_for(t, s->chunk, from, to);
		}
	}
	return found;
}

/*
 * What is in a slot stays there while it is held, unless its space has become
 * shorter since it was loaded.
 */
static bool
stays(const Twin *t, int slot)
{
	return t->slot[slot].held && t->slot[slot].length <= twin_length(t, t->slot[slot].chunk);
}

/* The columns that a slot has and keeps, or that are loaded again with others. */
static uint64_t
stuff_of(const Twin *t, int slot, uint32_t chunk)
{
	uint64_t	columns = 0;
	uint32_t	to;

	for (uint32_t from = 0; slot != MACHINE_NONE && from < t->space[t->space_of[chunk]].size; from = to)
	{
		uint32_t	piece = twin_piece(t, chunk, from, &to);

		if (t->slot[slot].here[from] && (stays(t, slot) || asked_for(t, chunk, from, to)))
			columns |= UINT64_C(1) << piece;
	}
	return columns;
}

/*
 * Which blocks of a chunk are to be loaded?  Pieces are loaded as a whole, as far
 * as the space is known.  A piece that is there as a whole is not loaded again if
 * its slot is held; what is in a slot that is not held is loaded again in any case,
 * but a column only if it is asked for.
 */
static uint32_t
plan(const Twin *t, int scan, uint32_t chunk, bool *load)
{
	bool		columns = t->space[t->space_of[chunk]].ncolumns > 0;
	uint64_t	brings = columns ? twin_brings(t, scan, chunk) : 0;
	bool		again = true;
	uint32_t	length = twin_length(t, chunk);
	int			slot = t->slot_of[chunk];
	uint32_t	sum = 0;
	uint32_t	to;

	if (columns && twin_columns_cost(t, t->space_of[chunk], brings | stuff_of(t, slot, chunk)) > t->budget)
	{
		brings = t->scan[twin_meant_for(t, scan, chunk)].columns;
		again = false;
	}
	for (uint32_t from = 0; from < length; from = to)
	{
		uint32_t	here = 0;
		bool		get;

		uint32_t	piece = twin_piece(t, chunk, from, &to);

		if (to > length)
			to = length;
		for (uint32_t b = from; slot != MACHINE_NONE && b < to; b++)
			here += t->slot[slot].here[b];
		if (here == to - from && stays(t, slot))
			get = false;
		else if (columns)
			get = brings >> piece & 1 || (again && here > 0 && asked_for(t, chunk, from, to));
		else
			get = here > 0 || asked_for(t, chunk, from, to);
		for (uint32_t b = from; b < to; b++)
			load[b] = get;
		if (get)
			sum += to - from;
	}
	return sum;
}

/* What is loaded, as pieces and as runs. */
static void
describe(const Twin *t, uint32_t chunk, const bool *load, MachineAction *act)
{
	const TwinSpace *p = &t->space[t->space_of[chunk]];
	uint64_t	words[8] = {0};
	uint32_t	first = (chunk - p->base) * p->size;

	for (uint32_t b = 0; b < p->size; b++)
	{
		uint32_t	end;
		uint32_t	piece = twin_piece(t, chunk, b, &end);

		end = b;
		if (load[b])
			words[piece / 64] |= UINT64_C(1) << (piece % 64);
		if (!load[b] || (b > 0 && load[b - 1]))
			continue;
		while (end < p->size && load[end])
			end++;
		MACHINE_HASH(act->runs, first + b);
		MACHINE_HASH(act->runs, first + end);
		MACHINE_HASH(act->runs, b);
	}
	for (int w = 0; w < 8; w++)
		MACHINE_HASH(act->pieces, words[w]);
}

/* A load for one scan may bring what only others want: then it is meant for one of them. */
int
twin_meant_for(const Twin *t, int scan, uint32_t chunk)
{
	int			found = MACHINE_NONE;

	if (twin_wants(t, scan, chunk) && twin_missing(t, scan, chunk))
		return scan;
	for (int q = 0; q < t->limits.scans; q++)
	{
		if (twin_active(t, q) && twin_wants(t, q, chunk) && twin_missing(t, q, chunk) &&
			t->scan[q].policy == t->scan[scan].policy && more_urgent(t, q, found))
			found = q;
	}
	return found;
}

static void
move_cursors(Twin *t, int scan, uint32_t chunk)
{
	int			space = t->space_of[chunk];
	bool		lift = t->scan[scan].policy == MACHINE_ELEVATOR;

	t->cached[chunk] = false;
	t->space[space].next = chunk + 1;
	t->space[space].when = t->nloads;
	t->nlifts += lift;
	for (int p = 0; p < t->limits.spaces && lift; p++)
	{
		if (!t->space[p].taken || t->space[p].shaft != t->space[space].shaft)
			continue;
		t->space[p].lift = chunk + 1;
		t->space[p].lift_when = t->nlifts;
	}
	for (int q = 0; q < t->limits.scans; q++)
	{
		TwinScan   *other = &t->scan[q];

		if (!other->taken || !other->started || !twin_share(t, q, space)->member)
			continue;
		other->next = chunk + 1;
	}
}

static void
load_into(Twin *t, int scan, int slot, uint32_t chunk, const bool *load, uint32_t nblocks,
		  uint64_t now)
{
	TwinSlot   *s = &t->slot[slot];
	uint32_t	size = t->space[t->space_of[chunk]].size;
	bool		stay = stays(t, slot);
	int			for_whom = twin_meant_for(t, scan, chunk);

	if (!s->taken)
	{
		s->taken = true;
		s->chunk = chunk;
		s->here = calloc(size, sizeof(bool));
		s->due = calloc(size, sizeof(bool));
		t->slot_of[chunk] = slot;
	}
	s->had_some = false;
	for (uint32_t b = 0; b < size; b++)
	{
		s->here[b] = s->here[b] && stay && !load[b];
		s->had_some |= s->here[b];
		s->due[b] = s->here[b] || load[b];
	}
	s->held = s->in_flight = true;
	s->failed = false;
	s->loading = nblocks;
	s->length = twin_length(t, chunk);
	s->meant_for = for_whom;
	s->stamp = now;
	s->number = ++t->nloads;
	t->let_go = false;
	move_cursors(t, scan, chunk);
}

/* Load a chunk for the scan, or make room for one; or do nothing. */
static void
help(Twin *t, int scan, uint64_t now, MachineAction *act)
{
	uint32_t	chunk = twin_target(t, scan);
	uint32_t	most = t->room > t->budget ? t->room : t->budget;
	uint32_t	nblocks;
	uint32_t	after;			/* blocks in its slot then */
	bool	   *load;
	int			there;
	int			slot;
	bool		let_go = false;
	bool		unwanted[4096];
	bool		all = false;
	int			trimmed = MACHINE_NONE;
	bool		make_room;

	if (chunk == MACHINE_NO_CHUNK)
		return;
	there = slot = t->slot_of[chunk];
	load = calloc(t->space[t->space_of[chunk]].size, sizeof(bool));
	after = nblocks = plan(t, scan, chunk, load);
	if (there != MACHINE_NONE && stays(t, there))
	{
		for (uint32_t b = 0; b < t->space[t->space_of[chunk]].size; b++)
			after += t->slot[there].due[b] && !load[b];
	}
	if (there != MACHINE_NONE)
		after -= twin_blocks(t, there);
	after += twin_all_blocks(t, false);

	make_room = after > most || twin_all_blocks(t, true) + nblocks > t->budget;
	if (make_room && nblocks > t->budget)
		slot = MACHINE_NONE;
	else if (after > most)
	{
		trimmed = find_unwanted(t, false, unwanted, &all);
		slot = trimmed != MACHINE_NONE ? trimmed : find_victim(t, scan, there, false);
		if (slot == MACHINE_NONE && yields(t, scan, there))
		{
			slot = there;
			let_go = true;
		}
	}
	else if (twin_all_blocks(t, true) + nblocks > t->budget)
	{
		trimmed = find_unwanted(t, true, unwanted, &all);
		slot = trimmed != MACHINE_NONE ? trimmed : find_victim(t, scan, there, true);
		let_go = trimmed == MACHINE_NONE;
		if (slot == MACHINE_NONE && yields(t, scan, there))
			slot = there;
	}
	else if (there == MACHINE_NONE)
	{
		slot = 0;
		while (slot < t->limits.slots && t->slot[slot].taken)
			slot++;
		if (slot == t->limits.slots)
			slot = find_victim(t, scan, MACHINE_NONE, false);
	}
	if (slot != MACHINE_NONE)
	{
		act->scan = scan;
		act->slot = slot;
		act->chunk = chunk;
		if (t->slot[slot].taken && (slot != there || make_room))
		{
			act->kind = let_go ? MACHINE_UNPIN : trimmed != MACHINE_NONE && !all ? MACHINE_TRIM : MACHINE_EVICT;
			act->chunk = t->slot[slot].chunk;
			if (act->kind == MACHINE_TRIM)
				describe(t, act->chunk, unwanted, act);
		}
		else
		{
			act->kind = MACHINE_LOAD;
			act->nblocks = nblocks;
			describe(t, chunk, load, act);
		}
		act->space = t->space_of[act->chunk];
	}
	switch (act->kind)
	{
		case MACHINE_EVICT:
			twin_empty(t, slot);
			break;
		case MACHINE_UNPIN:
			t->slot[slot].held = false;
			t->let_go = true;
			break;
		case MACHINE_TRIM:
			for (uint32_t b = 0; b < t->space[t->space_of[act->chunk]].size; b++)
			{
				act->nblocks += unwanted[b];
				t->slot[slot].here[b] = t->slot[slot].due[b] = t->slot[slot].here[b] && !unwanted[b];
			}
			t->let_go = false;
			break;
		case MACHINE_LOAD:
			load_into(t, scan, slot, chunk, load, nblocks, now);
			break;
	}
	free(load);
}

/* The most urgent of the scans that the policies name, of those that have not been asked. */
static int
most_urgent(Twin *t, uint64_t now, const bool *asked, int turn)
{
	int			first = MACHINE_NONE;

	for (int p = 0; p < MACHINE_NPOLICIES; p++)
	{
		int			scan = MACHINE_NONE;

		if (!asked[p])
			scan = turn == 0 ? twin_nominee(t, p, now) : twin_poorest(t, p, turn == 2);

		if (scan != MACHINE_NONE && more_urgent(t, scan, first))
			first = scan;
	}
	return first;
}

MachineAction
twin_decide(Twin *t, uint64_t now)
{
	MachineAction act;
	bool		asked[MACHINE_NPOLICIES];
	int			scan = t->made_room_for;

	memset(&act, 0, sizeof(act));
	act.kind = MACHINE_NOTHING;
	act.slot = act.space = act.scan = MACHINE_NONE;
	for (int q = 0; q < t->limits.scans; q++)
		t->sight[q] = twin_look(t, q);

	/* Room that was made for a scan is used for that scan, if it has a use for it. */
	if (scan != MACHINE_NONE && twin_active(t, scan) && !t->scan[scan].warm &&
		twin_sum(t, scan)->nloadable > 0)
		help(t, scan, now, &act);
	for (int turn = 0; turn <= 2; turn++)
	{
		memset(asked, 0, sizeof(asked));
		while (act.kind == MACHINE_NOTHING &&
			   (scan = most_urgent(t, now, asked, turn)) != MACHINE_NONE)
		{
			asked[t->scan[scan].policy] = true;
			help(t, scan, now, &act);
		}
	}
	t->made_room_for = MACHINE_NONE;
	if (act.kind == MACHINE_EVICT || act.kind == MACHINE_UNPIN || act.kind == MACHINE_TRIM)
		t->made_room_for = scan;
	return act;
}

/*
 * What is more than the limits allow goes: pins before slots.  First goes what
 * relevance thinks the least of.  Slots that are read lose only their pins, and
 * after all the others.
 */
MachineAction
twin_shrink(Twin *t)
{
	bool		pins = twin_all_blocks(t, true) > t->budget;
	uint32_t	most = t->room > t->budget ? t->room : t->budget;
	MachineAction act;
	int			victim = MACHINE_NONE;
	bool		may[t->limits.slots];

	memset(&act, 0, sizeof(act));
	act.kind = MACHINE_NOTHING;
	act.slot = act.space = act.scan = MACHINE_NONE;
	if (!pins && twin_all_blocks(t, false) <= most)
		return act;
	for (int q = 0; q < t->limits.scans; q++)
		t->sight[q] = twin_look(t, q);
	for (int read = 0; read <= pins && victim == MACHINE_NONE; read++)
	{
		for (int i = 0; i < t->limits.slots; i++)
		{
			const TwinSlot *s = &t->slot[i];

			may[i] = s->taken && !s->in_flight && (!pins || s->held) && (read || twin_readers(t, i) == 0);
		}
		victim = least_worth(t, MACHINE_RELEVANCE, may);
	}
	if (victim == MACHINE_NONE)
		return act;
	act.kind = pins ? MACHINE_UNPIN : MACHINE_EVICT;
	act.slot = victim;
	act.chunk = t->slot[victim].chunk;
	act.space = t->space_of[act.chunk];
	if (pins)
		t->slot[victim].held = false;
	else
		twin_empty(t, victim);
	return act;
}
