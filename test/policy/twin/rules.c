/*-------------------------------------------------------------------------
 *
 * rules.c
 *		The naive twin's policies: see twin.h.
 *
 * Normal and attach are orderly: a scan takes its chunks by their numbers.
 * Relevance and demand are eager: they weigh what is wanted.
 *
 *-------------------------------------------------------------------------
 */
#include <stddef.h>

#include "twin.h"

static bool
orderly(int policy)
{
	return policy == MACHINE_NORMAL || policy == MACHINE_ATTACH;
}

static bool
eager(int policy)
{
	return policy == MACHINE_RELEVANCE || policy == MACHINE_DEMAND;
}

/* Attach begins where the scan is that it has most blocks in common with. */
uint32_t
twin_begin(const Twin *t, int scan)
{
	int			leader = MACHINE_NONE;
	uint64_t	highest = 0;

	if (t->scan[scan].policy != MACHINE_ATTACH)
		return 0;
	for (int q = 0; q < t->limits.scans; q++)
	{
		uint64_t	common = 0;

		if (q == scan || !twin_active(t, q) || !orderly(t->scan[q].policy))
			continue;
		for (uint32_t c = 0; c < t->limits.chunks; c++)
		{
			if (twin_wants(t, q, c) && twin_wants(t, scan, c))
				common += twin_columns_cost(t, t->space_of[c], t->scan[q].special & t->scan[scan].special);
		}
		if (common > highest)
		{
			highest = common;
			leader = q;
		}
	}
	return leader == MACHINE_NONE ? 0 : twin_next(t, scan, t->scan[leader].position);
}

/* The first space of a scan, or NULL. */
static const TwinSpace *
first_space(const Twin *t, int scan)
{
	for (int p = 0; p < t->limits.spaces; p++)
	{
		if (twin_share(t, scan, p)->member)
			return &t->space[p];
	}
	return NULL;
}

/* Do the scan's chunks have columns? */
static bool
has_columns(const Twin *t, int scan)
{
	const TwinSpace *p = first_space(t, scan);

	return p != NULL && p->ncolumns > 0;
}

int
twin_pick(const Twin *t, int scan)
{
	const TwinScan *q = &t->scan[scan];
	int			pick = MACHINE_NONE;
	int			pick_interest = 0;
	uint64_t	pick_blocks = 0;
	uint64_t	pick_scans = 1;

	if (orderly(q->policy))
	{
		uint32_t	c = twin_next(t, scan, q->position);
		int			there = c == MACHINE_NO_CHUNK ? MACHINE_NONE : t->slot_of[c];

		return there != MACHINE_NONE && twin_usable(t, scan, there) ? there : MACHINE_NONE;
	}

	/*
	 * Of columns the slot that has most blocks for each scan that wants some of
	 * the same.
	 */
	for (int i = 0; eager(q->policy) && has_columns(t, scan) && i < t->limits.slots; i++)
	{
		uint64_t	scans = 0;
		uint64_t	blocks;

		if (!twin_usable(t, scan, i))
			continue;
		blocks = twin_columns_cost(t, t->space_of[t->slot[i].chunk], q->columns);
		for (int other = 0; other < t->limits.scans; other++)
			scans += twin_active(t, other) && twin_wants(t, other, t->slot[i].chunk) && twin_overlap(t, scan, other);
		if (pick != MACHINE_NONE &&
			(blocks * pick_scans < pick_blocks * scans ||
			 (blocks * pick_scans == pick_blocks * scans && t->slot[i].number > t->slot[pick].number)))
			continue;
		pick = i;
		pick_blocks = blocks;
		pick_scans = scans;
	}
	if (pick != MACHINE_NONE)
		return pick;

	/* The slot that the fewest want, if the policy is eager; then the one loaded first. */
	for (int i = 0; i < t->limits.slots; i++)
	{
		int			interest;

		if (!twin_usable(t, scan, i))
			continue;
		interest = eager(q->policy) ? twin_interest(t, t->slot[i].chunk) : 0;
		if (pick != MACHINE_NONE)
		{
			if (interest > pick_interest)
				continue;
			if (interest == pick_interest && t->slot[i].number >= t->slot[pick].number)
				continue;
		}
		pick = i;
		pick_interest = interest;
	}
	return pick;
}

/* An orderly scan's next chunk, if it can be loaded. */
static uint32_t
orderly_target(const Twin *t, int scan)
{
	uint32_t	c = twin_next(t, scan, t->scan[scan].position);

	if (c == MACHINE_NO_CHUNK || !twin_granted(t, c) || !twin_missing(t, scan, c))
		return MACHINE_NO_CHUNK;
	return c;
}

/*
 * Has the pool no more chunks than there are scans?  If they have columns: is there
 * no room for one of each scan, and one more of this one?
 */
static bool
crowded(const Twin *t, int scan, uint32_t chunk)
{
	const TwinSpace *p = &t->space[t->space_of[chunk]];
	uint64_t	sum = twin_cost(t, scan, chunk);

	if (p->ncolumns == 0)
		return t->budget / p->size <= (uint32_t) twin_running(t);
	for (int q = 0; q < t->limits.scans; q++)
	{
		if (twin_active(t, q) && first_space(t, q) != NULL)
			sum += twin_load_size(t, q);
	}
	return t->budget < sum;
}

/*
 * The orderly scan that asked longest ago.  If the pool has no more chunks than
 * there are scans, one that waits goes before one that reads.
 */
static int
orderly_nominee(const Twin *t, int policy)
{
	int			first = MACHINE_NONE;

	for (int q = 0; q < t->limits.scans; q++)
	{
		const TwinScan *a = &t->scan[q];
		const TwinScan *b;
		uint32_t	c;

		if (a->policy != policy || a->warm || !twin_active(t, q))
			continue;
		c = orderly_target(t, q);
		if (c == MACHINE_NO_CHUNK)
			continue;
		if (first == MACHINE_NONE)
		{
			first = q;
			continue;
		}
		b = &t->scan[first];
		if (crowded(t, q, c) && a->blocked != b->blocked)
		{
			if (a->blocked)
				first = q;
		}
		else if (a->since < b->since)
			first = q;
	}
	return first;
}

/* Of the starved scans of a policy that wait, or that read, the one of the least key. */
static int
least(const Twin *t, int policy, bool blocked, const uint64_t *key)
{
	int			found = MACHINE_NONE;

	for (int q = t->limits.scans - 1; q >= 0; q--)
	{
		if (t->scan[q].taken && t->scan[q].policy == policy && t->scan[q].blocked == blocked &&
			t->sight[q].starved && t->sight[q].lacks &&
			(found == MACHINE_NONE || key[q] <= key[found]))
			found = q;
	}
	return found;
}

static int
elevator_nominee(const Twin *t)
{
	uint64_t	key[t->limits.scans];
	int			found;

	for (int q = 0; q < t->limits.scans; q++)
		key[q] = t->scan[q].since;
	found = least(t, MACHINE_ELEVATOR, true, key);
	return found != MACHINE_NONE ? found : least(t, MACHINE_ELEVATOR, false, key);
}

/* The nanoseconds of waiting that make up for a block that a scan needs. */
static uint64_t
block_worth(const Twin *t, int policy)
{
	uint64_t	worth = t->pace * (uint64_t) twin_running(t);

	if (policy == MACHINE_DEMAND)
		worth /= 8;
	return worth == 0 ? 1 : worth;
}

/*
 * The scan that waits longest of those that have nothing at all; or, in order, not
 * their next chunk.
 */
int
twin_poorest(const Twin *t, int policy, bool has_nothing)
{
	int			first = MACHINE_NONE;

	for (int q = 0; policy != MACHINE_ELEVATOR && q < t->limits.scans; q++)
	{
		const TwinScan *a = &t->scan[q];
		bool		poor = t->sight[q].available == t->sight[q].in_vain;

		if (!a->taken || a->policy != policy || !a->blocked || (has_nothing ? !poor : !orderly(policy)))
			continue;
		if (orderly(policy) ? a->warm || !twin_active(t, q) || orderly_target(t, q) == MACHINE_NO_CHUNK :
			!t->sight[q].starved || !t->sight[q].lacks)
			continue;
		if (first == MACHINE_NONE || a->since < t->scan[first].since)
			first = q;
	}
	return first;
}

/*
 * The scan that needs the fewest blocks goes first; time that it has waited makes
 * up for some of them.  But one that has nothing, and has waited for half more than
 * the time in which each scan could have had a load, goes before all.  It lets a scan
 * finish that needs no more than 16 loads, for the time of 16.  And if there is no room for two chunks of each scan, while some scan has
 * nothing, those that read come last.
 */
static int
most_eager(Twin *t, int policy, int poorest, uint64_t now)
{
	uint64_t	worth = block_worth(t, policy);
	uint64_t	key[t->limits.scans];
	int			waits;
	int			reads;
	uint64_t	reads_key;

	for (int q = 0; q < t->limits.scans; q++)
	{
		key[q] = twin_sum(t, q)->needed;
		if (t->scan[q].blocked)
			key[q] = t->scan[q].since + key[q] * worth / 1000;
	}
	waits = least(t, policy, true, key);
	reads = least(t, policy, false, key);
	if (reads == MACHINE_NONE)
		return waits;
	if (waits == MACHINE_NONE)
		return reads;
	if (poorest != MACHINE_NONE && t->room < 2 * (uint32_t) twin_running(t) * twin_load_size(t, poorest))
		return waits;
	reads_key = now + key[reads] * worth / 1000;
	if (reads_key == key[waits])
		return reads < waits ? reads : waits;
	return (int64_t) (reads_key - key[waits]) > 0 ? waits : reads;
}

static int
eager_nominee(Twin *t, int policy, uint64_t now)
{
	int			poorest = twin_poorest(t, policy, true);
	int			eager = most_eager(t, policy, poorest, now);
	uint64_t	turn = 3 * (uint64_t) twin_running(t) / 2;

	if (poorest == MACHINE_NONE)
		return eager;
	if (twin_sum(t, eager)->needed <= 16 * twin_load_size(t, eager) && turn < 16)
		turn = 16;
	return now > t->scan[poorest].since + turn * (t->pace * twin_load_size(t, poorest) / 1000) ? poorest : eager;
}

int
twin_nominee(Twin *t, int policy, uint64_t now)
{
	if (orderly(policy))
		return orderly_nominee(t, policy);
	return policy == MACHINE_ELEVATOR ? elevator_nominee(t) : eager_nominee(t, policy, now);
}

/* The first chunk, from where the lift is, that an elevator scan in the same shaft lacks. */
static uint32_t
elevator_target(const Twin *t, int scan)
{
	bool		rides[t->limits.scans];
	const TwinSpace *here = first_space(t, scan);

	for (int q = 0; q < t->limits.scans; q++)
	{
		const TwinSpace *there = first_space(t, q);

		rides[q] = twin_active(t, q) && t->scan[q].policy == MACHINE_ELEVATOR &&
			t->sight[q].lacks && there != NULL && there->shaft == here->shaft;
	}
	for (uint32_t n = 0; n < t->limits.chunks; n++)
	{
		uint32_t	c = twin_round(t, here->lift, n);

		for (int q = 0; q < t->limits.scans; q++)
		{
			if (rides[q] && twin_wants(t, q, c) && twin_granted(t, c) && twin_missing(t, q, c))
				return c;
		}
	}
	return MACHINE_NO_CHUNK;
}

/* Does a load for one scan help the other? */
static bool
helps(const Twin *t, int scan, int other)
{
	if (other == scan)
		return true;
	return twin_active(t, other) && t->sight[other].available - t->sight[other].in_vain < 2 + t->sight[other].helpers &&
		twin_overlap(t, scan, other);
}

uint64_t
twin_brings(const Twin *t, int scan, uint32_t chunk)
{
	int			policy = t->scan[scan].policy;
	uint64_t	columns = 0;

	for (int q = 0; q < t->limits.scans; q++)
	{
		if (!twin_wants(t, q, chunk))
			continue;
		if (orderly(policy) ? q == scan : eager(policy) ? helps(t, scan, q) : twin_active(t, q))
			columns |= t->scan[q].columns;
	}
	return columns;
}

/* The scans that a load helps, over the blocks that it loads for them. */
static uint32_t
columns_target(const Twin *t, int scan)
{
	uint32_t	target = MACHINE_NO_CHUNK;
	uint64_t	best_scans = 0;
	uint64_t	best_blocks = 1;

	for (uint32_t n = 0; n < t->limits.chunks; n++)
	{
		uint32_t	c = twin_round(t, t->scan[scan].next, n);
		int			slot = t->slot_of[c];
		uint64_t	columns = 0;
		uint64_t	scans = 0;
		uint64_t	blocks;

		if (!twin_wants(t, scan, c) || !twin_granted(t, c) || !twin_missing(t, scan, c))
			continue;
		for (int q = 0; q < t->limits.scans; q++)
		{
			if (!twin_wants(t, q, c) || !helps(t, scan, q))
				continue;
			columns |= t->scan[q].columns;
			scans++;
		}
		blocks = twin_columns_cost(t, t->space_of[c], columns);
		for (uint32_t b = 0; slot != MACHINE_NONE && t->slot[slot].held && b < t->space[t->space_of[c]].size; b++)
		{
			uint32_t	end;

			if (t->slot[slot].here[b] && columns >> twin_piece(t, c, b, &end) & 1)
				blocks--;
		}
		if (target != MACHINE_NO_CHUNK &&
			(scans * best_blocks < best_scans * blocks ||
			 (scans * best_blocks == best_scans * blocks && t->cached[c] <= t->cached[target])))
			continue;
		target = c;
		best_scans = scans;
		best_blocks = blocks;
	}
	return target;
}

/* Of the chunks that the scan lacks the one that most others wait for. */
static uint32_t
eager_target(const Twin *t, int scan)
{
	bool		counts[t->limits.scans];
	bool		hungry[t->limits.scans];
	uint32_t	target = MACHINE_NO_CHUNK;
	uint64_t	highest = 0;

	if (!t->sight[scan].lacks)
		return MACHINE_NO_CHUNK;
	if (has_columns(t, scan))
		return columns_target(t, scan);
	for (int q = 0; q < t->limits.scans; q++)
	{
		counts[q] = twin_active(t, q);
		hungry[q] = counts[q] && t->sight[q].available - t->sight[q].in_vain < 2 + t->sight[q].helpers;
	}
	for (uint32_t n = 0; n < t->limits.chunks; n++)
	{
		uint32_t	c = twin_round(t, t->scan[scan].next, n);
		const bool *wants = &t->wants[(uint64_t) c * t->limits.scans];
		unsigned	nhungry = 0;
		unsigned	ncounts = 0;
		uint64_t	value;

		if (!wants[scan] || !twin_granted(t, c) || !twin_missing(t, scan, c))
			continue;
		for (int q = 0; q < t->limits.scans; q++)
		{
			nhungry += wants[q] & hungry[q];
			ncounts += wants[q] & counts[q];
		}
		value = (nhungry * UINT64_C(100000) + ncounts) * 2 + t->cached[c];
		if (target == MACHINE_NO_CHUNK || value > highest)
		{
			target = c;
			highest = value;
		}
	}
	return target;
}

uint32_t
twin_target(const Twin *t, int scan)
{
	int			policy = t->scan[scan].policy;

	if (orderly(policy))
		return orderly_target(t, scan);
	return policy == MACHINE_ELEVATOR ? elevator_target(t, scan) : eager_target(t, scan);
}

/* Is a slot's chunk the scan's next one, or the one after that? */
static bool
one_of_two(const Twin *t, int scan, int slot)
{
	uint32_t	c = twin_next(t, scan, t->scan[scan].position);

	if (c == MACHINE_NO_CHUNK)
		return false;
	return t->slot[slot].chunk == c || t->slot[slot].chunk == twin_next(t, scan, c + 1);
}

/* Eager policies guard what starved scans of any eager policy want. */
bool
twin_guards(const Twin *t, int policy, int slot)
{
	for (int q = 0; q < t->limits.scans; q++)
	{
		int			his = t->scan[q].policy;

		if (!twin_active(t, q) || !twin_wants(t, q, t->slot[slot].chunk))
			continue;
		if (eager(policy) && eager(his) && t->sight[q].starved)
			return true;
		if (policy == MACHINE_ELEVATOR && his == policy && twin_usable(t, q, slot))
			return true;
		if (orderly(policy) && his == policy && one_of_two(t, q, slot))
			return true;
	}
	return false;
}

bool
twin_clings(const Twin *t, int scan, int slot)
{
	int			policy = t->scan[scan].policy;

	if (orderly(policy))
		return !twin_missing(t, scan, twin_next(t, scan, t->scan[scan].position)) &&
			one_of_two(t, scan, slot);
	if (eager(policy) && twin_wants(t, scan, t->slot[slot].chunk))
		return true;
	return twin_guards(t, policy, slot);
}

/* Blocks in a slot, of these columns if there are some. */
static uint64_t
blocks_of(const Twin *t, int slot, uint64_t columns)
{
	const TwinSlot *s = &t->slot[slot];
	const TwinSpace *p = &t->space[t->space_of[s->chunk]];
	uint64_t	sum = 0;

	for (uint32_t b = 0; p->ncolumns > 0 && b < p->size; b++)
	{
		uint32_t	end;

		sum += s->here[b] && columns >> twin_piece(t, s->chunk, b, &end) & 1;
	}
	return sum > 0 ? sum : twin_blocks(t, slot);
}

TwinWorth
twin_worth(const Twin *t, int policy, int slot, bool by_block)
{
	uint32_t	c = t->slot[slot].chunk;
	TwinWorth	worth = {0, 1, 0};
	uint64_t	columns = 0;

	if (orderly(policy))
		return worth;
	for (int q = 0; q < t->limits.scans && eager(policy); q++)
	{
		if (!twin_active(t, q) || !twin_wants(t, q, c) || t->sight[q].available - t->sight[q].in_vain >= 3 + t->sight[q].helpers)
			continue;
		worth.count++;
		columns |= t->scan[q].columns;
	}
	if (by_block && eager(policy))
		worth.blocks = blocks_of(t, slot, columns);
	worth.rest = (uint64_t) twin_interest(t, c);
	for (int i = 0; i < TWIN_MEMORY && policy == MACHINE_DEMAND; i++)
	{
		/* Demand comes last, and is at most TWIN_MEMORY. */
		if (i == 0)
			worth.rest *= TWIN_MEMORY + 1;
		worth.rest += t->memory[i][c];
	}
	return worth;
}

bool
twin_worth_same(TwinWorth a, TwinWorth b)
{
	return a.count * b.blocks == b.count * a.blocks && a.rest == b.rest;
}

bool
twin_worth_less(TwinWorth a, TwinWorth b)
{
	if (a.count * b.blocks == b.count * a.blocks)
		return a.rest < b.rest;
	return a.count * b.blocks < b.count * a.blocks;
}
