/*-------------------------------------------------------------------------
 *
 * events.c
 *		What happens to the naive twin, and its table of functions.
 *
 *-------------------------------------------------------------------------
 */
#include <stdlib.h>
#include <string.h>

#include "twin.h"

static void *
get_memory(size_t n, size_t size)
{
	void	   *p = calloc(n > 0 ? n : 1, size);

	if (p == NULL)
		abort();
	return p;
}

/* The sums of these scans' wants have to be made anew. */
static void
doubt(Twin *t, int scan)
{
	t->scan[scan].summed = false;
}

static void
doubt_all(Twin *t)
{
	for (int q = 0; q < t->limits.scans; q++)
		doubt(t, q);
}

/* ------------------------------------------------------------------
 * The pool
 * ------------------------------------------------------------------ */

static void
keep_pace(Twin *t)
{
	double		ns = t->block_time * 1000;

	if (ns < 1)
		ns = 1;
	if (ns < 0.875 * t->pace || ns > 1.125 * t->pace)
		t->pace = (uint64_t) ns;
}

static void
set_block_time(void *m, double block_time)
{
	Twin	   *t = m;

	for (int d = 0; d < TWIN_NDEVICES; d++)
		t->device_time[d] = 0;
	t->block_time = block_time;
	t->pace = 0;
	keep_pace(t);
}

static void *
create(const MachineLimits *limits)
{
	Twin	   *t = get_memory(1, sizeof(*t));

	t->limits = *limits;
	t->made_room_for = MACHINE_NONE;
	t->space = get_memory(limits->spaces, sizeof(TwinSpace));
	t->scan = get_memory(limits->scans, sizeof(TwinScan));
	t->share = get_memory((size_t) limits->scans * limits->spaces, sizeof(TwinShare));
	t->slot = get_memory(limits->slots, sizeof(TwinSlot));
	t->helper = get_memory(limits->helpers, sizeof(TwinHelper));
	t->sight = get_memory(limits->scans, sizeof(TwinSight));
	t->space_of = get_memory(limits->chunks, sizeof(int));
	t->slot_of = get_memory(limits->chunks, sizeof(int));
	t->wants = get_memory((size_t) limits->chunks * limits->scans, sizeof(bool));
	t->cached = get_memory(limits->chunks, sizeof(bool));
	for (int i = 0; i < TWIN_MEMORY; i++)
		t->memory[i] = get_memory(limits->chunks, sizeof(bool));
	for (uint32_t c = 0; c < limits->chunks; c++)
		t->space_of[c] = t->slot_of[c] = MACHINE_NONE;
	for (int i = 0; i < limits->slots; i++)
		t->slot[i].meant_for = MACHINE_NONE;
	set_block_time(t, 5.0);
	return t;
}

static void
destroy(void *m)
{
	Twin	   *t = m;

	for (int i = 0; i < t->limits.slots; i++)
		twin_empty(t, i);
	for (int i = 0; i < t->limits.scans * t->limits.spaces; i++)
		free(t->share[i].asked);
	for (int i = 0; i < TWIN_MEMORY; i++)
		free(t->memory[i]);
	free(t->space);
	free(t->scan);
	free(t->share);
	free(t->slot);
	free(t->helper);
	free(t->sight);
	free(t->space_of);
	free(t->slot_of);
	free(t->wants);
	free(t->cached);
	free(t);
}

static void
set_limits(void *m, uint32_t budget, uint32_t room)
{
	Twin	   *t = m;

	t->budget = budget;
	t->room = room;
}

/* ------------------------------------------------------------------
 * Spaces
 * ------------------------------------------------------------------ */

/* Are n numbers from this one on there, and nobody's? */
static bool
are_free(const Twin *t, uint32_t first, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
	{
		if (first + i >= t->limits.chunks || t->space_of[first + i] != MACHINE_NONE)
			return false;
	}
	return true;
}

/* The first such numbers at or after a place; all numbers if there are none. */
static uint32_t
find_numbers(const Twin *t, uint32_t place, uint32_t n)
{
	while (place < t->limits.chunks && !are_free(t, place, n))
		place++;
	return place;
}

static int
add_space(void *m, uint32_t chunk_blocks, uint32_t nchunks, uint32_t device)
{
	Twin	   *t = m;
	TwinSpace  *p;
	int			space = 0;
	uint32_t	base = find_numbers(t, t->next_number, nchunks);

	if (base >= t->limits.chunks)
		base = find_numbers(t, 0, nchunks);
	while (space < t->limits.spaces && t->space[space].taken)
		space++;
	if (space == t->limits.spaces || base >= t->limits.chunks)
		return MACHINE_NONE;
	p = &t->space[space];
	memset(p, 0, sizeof(*p));
	p->taken = true;
	p->access = MACHINE_UNKNOWN;
	p->base = p->next = p->lift = base;
	p->shaft = ++t->nshafts;
	p->count = nchunks;
	p->device = device;
	p->size = chunk_blocks;
	p->grain = 1;
	while (p->grain * 512 < chunk_blocks)
		p->grain++;
	for (uint32_t c = base; c < base + nchunks; c++)
	{
		t->space_of[c] = space;
		t->cached[c] = false;
		for (int i = 0; i < TWIN_MEMORY; i++)
			t->memory[i][c] = false;
	}
	t->next_number = base + nchunks;
	return space;
}

static bool
extend_space(void *m, int space, uint32_t nchunks)
{
	Twin	   *t = m;
	TwinSpace  *p = &t->space[space];

	if (nchunks <= p->count)
		return true;
	if (!are_free(t, p->base + p->count, nchunks - p->count))
		return false;
	for (; p->count < nchunks; p->count++)
	{
		uint32_t	c = p->base + p->count;

		t->space_of[c] = space;
		t->cached[c] = false;
		for (int i = 0; i < TWIN_MEMORY; i++)
			t->memory[i][c] = false;
	}
	return true;
}

static void
remove_space(void *m, int space)
{
	Twin	   *t = m;
	bool		any = false;

	for (int i = 0; i < t->limits.slots; i++)
	{
		if (t->slot[i].taken && t->space_of[t->slot[i].chunk] == space)
			twin_empty(t, i);
	}
	for (uint32_t c = 0; c < t->limits.chunks; c++)
	{
		if (t->space_of[c] == space)
			t->space_of[c] = MACHINE_NONE;
	}
	t->space[space].taken = false;
	for (int p = 0; p < t->limits.spaces; p++)
		any = any || t->space[p].taken;
	if (!any)
		t->next_number = 0;
}

static void
set_access(void *m, int space, int access)
{
	Twin	   *t = m;

	t->space[space].access = access;
	doubt_all(t);
}

static void
set_cursor(void *m, int space, uint32_t chunk)
{
	Twin	   *t = m;

	t->space[space].next = chunk;
	for (int p = 0; p < t->limits.spaces; p++)
	{
		if (t->space[p].taken && t->space[p].shaft == t->space[space].shaft)
			t->space[p].lift = chunk;
	}
	for (int q = 0; q < t->limits.scans; q++)
	{
		if (t->scan[q].started && twin_share(t, q, space)->member)
			t->scan[q].next = chunk;
	}
}

static void
set_cached(void *m, uint32_t chunk, bool cached)
{
	((Twin *) m)->cached[chunk] = cached;
}

static int
count_members(const Twin *t, int space)
{
	int			sum = 0;

	for (int q = 0; q < t->limits.scans; q++)
		sum += twin_share(t, q, space)->member;
	return sum;
}

/* ------------------------------------------------------------------
 * Scans
 * ------------------------------------------------------------------ */

static int
add_scan(void *m, int policy, uint64_t now)
{
	Twin	   *t = m;

	for (int i = 0; i < t->limits.scans; i++)
	{
		if (t->scan[i].taken)
			continue;
		memset(&t->scan[i], 0, sizeof(TwinScan));
		t->scan[i].taken = true;
		t->scan[i].policy = policy;
		t->scan[i].since = now;
		t->scan[i].columns = t->scan[i].special = ~UINT64_C(0);
		t->scan[i].reads = MACHINE_NONE;
		return i;
	}
	return MACHINE_NONE;
}

static void
announce(void *m, int scan, int space, uint32_t nblocks, const MachineRange *ranges,
		 uint32_t nranges)
{
	Twin	   *t = m;
	TwinSpace  *p = &t->space[space];
	TwinShare  *share = twin_share(t, scan, space);
	uint32_t	sum = nranges;

	if (count_members(t, space) == 0 || p->known < nblocks)
		p->known = nblocks;
	share->member = true;

	/* Whole chunks? */
	for (int i = 0; i < t->limits.spaces; i++)
		sum += twin_share(t, scan, i)->nranges;
	share->by_block = nranges > 0 && sum <= MACHINE_MAX_RANGES && p->ncolumns == 0 &&
		(nranges > 1 || ranges[0].first > 0 || ranges[0].end < nblocks);
	if (share->by_block)
	{
		share->nranges = nranges;
		share->nblocks = nblocks;
		share->asked = get_memory(nblocks, sizeof(bool));
	}
	for (uint32_t r = 0; r < nranges; r++)
	{
		for (uint32_t b = ranges[r].first; b < ranges[r].end; b++)
		{
			t->wants[(uint64_t) (p->base + b / p->size) * t->limits.scans + scan] = true;
			if (share->by_block)
				share->asked[b] = true;
		}
	}
	doubt_all(t);
}

static void
set_columnar(void *m, int space, const uint32_t *begin, uint32_t ncolumns)
{
	Twin	   *t = m;

	t->space[space].ncolumns = ncolumns;
	memcpy(t->space[space].begin, begin, sizeof(uint32_t) * (ncolumns + 1));
}

static void
set_columns(void *m, int scan, uint64_t columns, uint64_t common)
{
	Twin	   *t = m;

	t->scan[scan].columns = t->scan[scan].special = columns;
	if (columns & ~common)
		t->scan[scan].special = columns & ~common;
	doubt(t, scan);
}

/* All that hangs together with a space of the scan hangs together from now on. */
static void
join_shafts(Twin *t, int scan, const TwinSpace *latest)
{
	TwinSpace	model = *latest;

	for (int i = 0; i < t->limits.spaces; i++)
	{
		uint64_t	shaft = t->space[i].shaft;

		if (!twin_share(t, scan, i)->member)
			continue;
		for (int k = 0; k < t->limits.spaces; k++)
		{
			if (!t->space[k].taken || t->space[k].shaft != shaft)
				continue;
			t->space[k].shaft = model.shaft;
			t->space[k].lift = model.lift;
			t->space[k].lift_when = model.lift_when;
		}
	}
}

static void
start(void *m, int scan, uint64_t now)
{
	Twin	   *t = m;
	TwinScan   *q = &t->scan[scan];
	const TwinSpace *latest = NULL;
	const TwinSpace *latest_lift = NULL;

	doubt(t, scan);
	q->started = true;
	q->since = now;
	q->next = 0;
	for (int i = 0; i < t->limits.spaces; i++)
	{
		const TwinSpace *p = &t->space[i];

		if (!twin_share(t, scan, i)->member)
			continue;
		if (latest == NULL || p->when > latest->when)
			latest = p;
		if (latest_lift == NULL || p->lift_when > latest_lift->lift_when)
			latest_lift = p;
	}
	if (latest != NULL)
		q->next = latest->next;
	if (latest_lift != NULL && q->policy == MACHINE_ELEVATOR)
		join_shafts(t, scan, latest_lift);
	if (twin_sum(t, scan)->nwanted > 0)
	{
		bool	   *chunks = t->memory[t->nstarts++ % TWIN_MEMORY];

		for (uint32_t c = 0; c < t->limits.chunks; c++)
			chunks[c] = twin_wants(t, scan, c);
	}
	q->position = twin_begin(t, scan);
}

/* The scan wants nothing of a space. */
static void
forget(Twin *t, int scan, int space)
{
	TwinShare  *share = twin_share(t, scan, space);

	doubt(t, scan);
	if (!share->member)
		return;
	for (uint32_t n = 0; n < t->space[space].count; n++)
		t->wants[(uint64_t) (t->space[space].base + n) * t->limits.scans + scan] = false;
	free(share->asked);
	memset(share, 0, sizeof(*share));
	share->member = true;
}

/* A process of the scan reads a slot, or waits, from now on. */
static void
turn_to(Twin *t, int scan, int helper, int slot, bool waits)
{
	TwinScan   *q = &t->scan[scan];

	t->let_go = false;
	if (helper == MACHINE_NONE)
	{
		q->reads = slot;
		q->waiting = waits;
	}
	else
	{
		t->helper[helper].reads = slot;
		t->helper[helper].waiting = waits;
	}
	q->blocked = q->waiting;
	for (int h = 0; h < t->limits.helpers; h++)
	{
		if (t->helper[h].taken && t->helper[h].scan == scan && t->helper[h].waiting)
			q->blocked = true;
	}
	if (twin_sum(t, scan)->nwanted == 0)
		q->blocked = false;
}

static void
rest(void *m, int scan, uint64_t now)
{
	Twin	   *t = m;
	TwinScan   *q = &t->scan[scan];

	for (int i = 0; i < t->limits.spaces; i++)
		forget(t, scan, i);
	q->started = false;
	turn_to(t, scan, MACHINE_NONE, MACHINE_NONE, false);
	q->since = now;
}

static void
remove_scan(void *m, int scan)
{
	Twin	   *t = m;

	for (int i = 0; i < t->limits.spaces; i++)
	{
		forget(t, scan, i);
		twin_share(t, scan, i)->member = false;
	}
	for (int h = 0; h < t->limits.helpers; h++)
	{
		if (t->helper[h].taken && t->helper[h].scan == scan)
			t->helper[h].scan = t->helper[h].reads = MACHINE_NONE;
	}
	for (int i = 0; i < t->limits.slots; i++)
	{
		if (t->slot[i].meant_for == scan)
			t->slot[i].meant_for = MACHINE_NONE;
	}
	memset(&t->scan[scan], 0, sizeof(TwinScan));
	t->scan[scan].reads = MACHINE_NONE;
	t->let_go = false;
}

static void
unwant(void *m, int scan, uint32_t chunk)
{
	Twin	   *t = m;
	TwinScan   *q = &t->scan[scan];

	if (!twin_wants(t, scan, chunk))
		return;
	if (q->summed)
	{
		q->nwanted--;
		q->nloadable -= twin_granted(t, chunk);
		q->needed -= twin_cost(t, scan, chunk);
	}
	t->wants[(uint64_t) chunk * t->limits.scans + scan] = false;
	if (twin_sum(t, scan)->nwanted == 0)
		q->blocked = false;
}

static void
unwant_space(void *m, int scan, int space)
{
	Twin	   *t = m;

	for (uint32_t n = 0; n < t->space[space].count; n++)
		unwant(t, scan, t->space[space].base + n);
}

static void
set_stalled(void *m, int scan, bool stalled)
{
	((Twin *) m)->scan[scan].stalled = stalled;
}

static void
set_warm(void *m, int scan, bool warm)
{
	((Twin *) m)->scan[scan].warm = warm;
}

static void
set_position(void *m, int scan, uint32_t chunk)
{
	((Twin *) m)->scan[scan].position = chunk;
}

/* ------------------------------------------------------------------
 * Readers
 * ------------------------------------------------------------------ */

static int
join(void *m, int scan)
{
	Twin	   *t = m;
	int			h = 0;

	while (h < t->limits.helpers && t->helper[h].taken)
		h++;
	if (h == t->limits.helpers)
		return MACHINE_NONE;
	t->helper[h] = (TwinHelper) {.taken = true,.scan = scan,.reads = MACHINE_NONE};
	return h;
}

static void
quit(void *m, int helper)
{
	Twin	   *t = m;

	if (t->helper[helper].scan != MACHINE_NONE)
		turn_to(t, t->helper[helper].scan, helper, MACHINE_NONE, false);
	t->helper[helper].taken = false;
}

static int
choose(void *m, int scan, int helper, uint64_t now)
{
	Twin	   *t = m;
	TwinScan   *q = &t->scan[scan];
	bool		was_blocked = q->blocked;
	int			slot;

	q->stalled = false;
	slot = twin_pick(t, scan);
	turn_to(t, scan, helper, slot, slot == MACHINE_NONE && twin_sum(t, scan)->nwanted > 0);

	/* A wait goes on, unless there is nothing to wait for, or a process was served. */
	if (!was_blocked || (q->blocked && slot != MACHINE_NONE))
		q->since = now;
	if (slot == MACHINE_NONE)
		return slot;
	q->position = t->slot[slot].chunk;
	unwant(t, scan, t->slot[slot].chunk);
	t->slot[slot].stamp = now;
	q->got_own = t->slot[slot].meant_for == scan;
	if (q->got_own)
		t->slot[slot].meant_for = MACHINE_NONE;
	return slot;
}

static bool
peek(void *m, int scan, uint32_t *chunk)
{
	const Twin *t = m;
	uint32_t	absent = MACHINE_NO_CHUNK;

	for (uint32_t n = 0; n < t->limits.chunks; n++)
	{
		uint32_t	c = twin_round(t, t->scan[scan].position, n);

		if (!t->scan[scan].started || !twin_wants(t, scan, c))
			continue;
		if (t->space[t->space_of[c]].access == MACHINE_REFUSED)
		{
			*chunk = c;
			return true;
		}
		if (absent == MACHINE_NO_CHUNK && twin_missing(t, scan, c))
			absent = c;
	}
	*chunk = absent != MACHINE_NO_CHUNK ? absent : twin_next(t, scan, t->scan[scan].position);
	return *chunk != MACHINE_NO_CHUNK;
}

static bool
take(void *m, int scan, int helper, uint64_t now, uint32_t *chunk)
{
	Twin	   *t = m;

	if (!peek(m, scan, chunk))
		return false;
	unwant(t, scan, *chunk);
	turn_to(t, scan, helper, MACHINE_NONE, false);
	t->scan[scan].position = *chunk;
	t->scan[scan].since = now;
	t->scan[scan].stalled = false;
	return true;
}

/* ------------------------------------------------------------------
 * Slots
 * ------------------------------------------------------------------ */

void
twin_empty(Twin *t, int slot)
{
	TwinSlot   *s = &t->slot[slot];

	if (!s->taken)
		return;
	for (int q = 0; q < t->limits.scans; q++)
	{
		if (t->scan[q].reads == slot)
			t->scan[q].reads = MACHINE_NONE;
	}
	for (int h = 0; h < t->limits.helpers; h++)
	{
		if (t->helper[h].reads == slot)
			t->helper[h].reads = MACHINE_NONE;
	}
	t->slot_of[s->chunk] = MACHINE_NONE;
	t->let_go = false;
	free(s->here);
	free(s->due);
	memset(s, 0, sizeof(*s));
	s->meant_for = MACHINE_NONE;
}

static void
drop(void *m, int slot)
{
	twin_empty(m, slot);
}

static MachineAction
decide(void *m, uint64_t now)
{
	return twin_decide(m, now);
}

/* Blocks of a slot's chunk as far as they are known, or of its load if that is more. */
static uint32_t
whole_load(const Twin *t, const TwinSlot *s)
{
	const TwinSpace *p = &t->space[t->space_of[s->chunk]];
	uint64_t	begin = (uint64_t) (s->chunk - p->base) * p->size;
	uint64_t	blocks = 0;

	if (p->ncolumns > 0)
	{
		blocks = twin_blocks(t, (int) (s - t->slot));
		return blocks > s->loading ? (uint32_t) blocks : s->loading;
	}
	while (blocks < p->size && begin + blocks < p->known)
		blocks++;
	return blocks > s->loading ? (uint32_t) blocks : s->loading;
}

static void
arrived(void *m, int slot, uint64_t columns)
{
	Twin	   *t = m;
	TwinSlot   *s = &t->slot[slot];

	for (uint32_t b = 0; b < t->space[t->space_of[s->chunk]].size; b++)
	{
		uint32_t	end;

		if (s->due[b] && columns >> twin_piece(t, s->chunk, b, &end) & 1)
			s->here[b] = true;
	}
}

static void
loaded(void *m, int slot, uint64_t now, uint64_t duration, bool failed, bool cheap)
{
	Twin	   *t = m;
	TwinSlot   *s = &t->slot[slot];
	TwinSpace  *p = &t->space[t->space_of[s->chunk]];

	for (uint32_t b = 0; b < p->size; b++)
		s->here[b] = s->due[b];
	if (s->had_some && !s->cheap)
		cheap = false;
	s->cheap = cheap;
	s->failed = failed;
	s->in_flight = false;
	s->stamp = now;
	t->let_go = false;
	if (s->loading != 0 && duration != 0)
	{
		double		sample = (double) duration / s->loading;
		double	   *its = &t->device_time[p->device];

		*its = *its == 0 ? sample : *its + (sample - *its) / 8.0;
		t->block_time += ((double) duration / whole_load(t, s) - t->block_time) / 8.0;
		keep_pace(t);
	}
}

/* Is there a reason for it to stay? */
static bool
is_of_use(const Twin *t, int slot)
{
	return t->slot[slot].in_flight || twin_readers(t, slot) > 0 ||
		twin_interest(t, t->slot[slot].chunk) > 0;
}

static int
useless(void *m)
{
	const Twin *t = m;

	for (int i = 0; i < t->limits.slots; i++)
	{
		if (t->slot[i].taken && (t->slot[i].failed || t->slot[i].cheap) && !is_of_use(t, i))
			return i;
	}
	return MACHINE_NONE;
}

static int
release(void *m)
{
	Twin	   *t = m;

	for (int i = 0; i < t->limits.slots; i++)
	{
		if (t->slot[i].held && !is_of_use(t, i))
		{
			t->slot[i].held = false;
			return i;
		}
	}
	return MACHINE_NONE;
}

/* Loads to come have to find three times as much in the budget. */
static int
hold(void *m)
{
	Twin	   *t = m;
	uint32_t	held = twin_all_blocks(t, true);

	for (int i = 0; i < t->limits.slots && !t->let_go; i++)
	{
		if (t->slot[i].taken && !t->slot[i].held && is_of_use(t, i) &&
			held + 4 * twin_blocks(t, i) <= t->budget)
		{
			t->slot[i].held = true;
			return i;
		}
	}
	return MACHINE_NONE;
}

static MachineAction
shrink(void *m)
{
	return twin_shrink(m);
}

/* ------------------------------------------------------------------
 * Views
 * ------------------------------------------------------------------ */

static MachineScan
get_scan(void *m, int scan)
{
	Twin	   *t = m;
	const TwinScan *q = &t->scan[scan];
	MachineScan view;
	TwinSight	sight;

	memset(&view, 0, sizeof(view));
	if (!q->taken)
		return view;
	doubt(t, scan);
	sight = twin_look(t, scan);
	view.used = true;
	view.started = q->started;
	view.waiting = q->waiting;
	view.blocked = q->blocked;
	view.stalled = q->stalled;
	view.warm = q->warm;
	view.starved = sight.starved;
	view.has_absent = sight.lacks;
	view.loaded_for = q->got_own;
	view.in_use = q->reads;
	for (int i = 0; i < t->limits.spaces; i++)
		view.nspaces += twin_share(t, scan, i)->member;
	view.nwanted = q->nwanted;
	view.nloadable = q->nloadable;
	view.needed = q->needed;
	view.position = q->position;
	view.cursor = q->started ? q->next : 0;
	view.available = sight.available;
	view.ready = sight.ready;
	view.using = sight.using;
	view.since = q->since;
	return view;
}

static MachineSpace
get_space(void *m, int space)
{
	const Twin *t = m;
	const TwinSpace *p = &t->space[space];
	MachineSpace view;

	memset(&view, 0, sizeof(view));
	if (!p->taken)
		return view;
	view.used = true;
	view.access = p->access;
	view.nscans = count_members(t, space);
	view.first_chunk = p->base;
	view.nchunks = p->count;
	view.extent = p->known;
	view.cursor = p->next;
	view.last_load = p->when;
	return view;
}

static MachineSlot
get_slot(void *m, int slot)
{
	const Twin *t = m;
	const TwinSlot *s = &t->slot[slot];
	MachineSlot view;

	memset(&view, 0, sizeof(view));
	view.space = MACHINE_NONE;
	if (!s->taken)
		return view;
	view.space = t->space_of[s->chunk];
	view.chunk = s->chunk;
	view.nblocks = twin_blocks(t, slot);
	view.loading = s->loading;
	view.in_flight = s->in_flight;
	view.held = s->held;
	view.failed = s->failed;
	view.cheap = s->cheap;
	view.loaded_for = s->meant_for;
	view.users = twin_readers(t, slot);
	view.interested = twin_interest(t, s->chunk);
	view.stamp = s->stamp;
	view.order = s->number;
	return view;
}

static MachineWant
get_want(void *m, int scan, uint32_t chunk)
{
	const Twin *t = m;
	MachineWant view;

	memset(&view, 0, sizeof(view));
	if (twin_wants(t, scan, chunk))
	{
		view.wants = true;
		view.absent = twin_missing(t, scan, chunk);
		view.cost = twin_cost(t, scan, chunk);
	}
	return view;
}

static MachineTotals
get_totals(void *m)
{
	const Twin *t = m;
	MachineTotals view;

	memset(&view, 0, sizeof(view));
	view.used = twin_all_blocks(t, true);
	view.total = twin_all_blocks(t, false);
	view.running = twin_running(t);
	view.next_chunk = t->next_number;
	view.nloads = t->nloads;
	view.pace = t->pace;
	return view;
}

static double
load_time(void *m, int space, uint32_t nblocks)
{
	const Twin *t = m;
	double		block_time = t->device_time[t->space[space].device];

	if (block_time == 0)
		block_time = t->block_time;
	return block_time * nblocks;
}

const Machine naive_machine = {
	.name = "twin",
	.create = create,
	.destroy = destroy,
	.set_limits = set_limits,
	.set_block_time = set_block_time,
	.add_space = add_space,
	.extend_space = extend_space,
	.remove_space = remove_space,
	.set_access = set_access,
	.set_cursor = set_cursor,
	.set_cached = set_cached,
	.add_scan = add_scan,
	.announce = announce,
	.set_columnar = set_columnar,
	.set_columns = set_columns,
	.start = start,
	.rest = rest,
	.remove_scan = remove_scan,
	.unwant = unwant,
	.unwant_space = unwant_space,
	.set_stalled = set_stalled,
	.set_warm = set_warm,
	.set_position = set_position,
	.join = join,
	.quit = quit,
	.choose = choose,
	.peek = peek,
	.take = take,
	.decide = decide,
	.loaded = loaded,
	.arrived = arrived,
	.drop = drop,
	.useless = useless,
	.release = release,
	.hold = hold,
	.shrink = shrink,
	.scan = get_scan,
	.space = get_space,
	.slot = get_slot,
	.want = get_want,
	.totals = get_totals,
	.load_time = load_time,
};
