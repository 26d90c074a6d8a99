/*-------------------------------------------------------------------------
 *
 * test_bound.c
 *		The lower bound of loads against brute force, on tiny cases.
 *
 * Brute force knows what is in the pool (nothing, a part, or all of each
 * chunk) and which intervals have been served, goes through time, and tries
 * every load and every eviction at each moment.  A part takes half a slot, and
 * serves all light intervals of its chunk.
 *
 *-------------------------------------------------------------------------
 */
#include "tests.h"

#include <stdlib.h>
#include <string.h>

#define CHUNKS		3
#define POOLS		27			/* 3 to the power of CHUNKS */
#define INTERVALS	6
#define SERVED		(1 << INTERVALS)
#define TIMES		8
#define TOO_MANY	100

typedef struct Case
{
	int			n;
	BoundInterval intervals[INTERVALS];
	int			capacity;
} Case;

typedef uint8_t Costs[POOLS][SERVED];

static const int power[CHUNKS] = {1, 3, 9};

static int
level(int pool, uint64_t chunk)
{
	return pool / power[chunk] % 3;
}

static int
weight(int pool)
{
	return level(pool, 0) + level(pool, 1) + level(pool, 2);
}

/* What the pool serves at a time. */
static int
serves(const Case *c, int pool, uint64_t time)
{
	int			served = 0;

	for (int i = 0; i < c->n; i++)
	{
		const BoundInterval *v = &c->intervals[i];

		if (v->begin <= time && time <= v->end && level(pool, v->chunk) >= (v->light ? 1 : 2))
			served |= 1 << i;
	}
	return served;
}

static bool
lower(Costs costs, int pool, int served, int cost)
{
	if (cost >= costs[pool][served])
		return false;
	costs[pool][served] = (uint8_t) cost;
	return true;
}

/* All loads and evictions that there can be at one time. */
static void
act(const Case *c, Costs costs, uint64_t time)
{
	bool		changed = true;

	while (changed)
	{
		changed = false;
		for (int pool = 0; pool < POOLS; pool++)
		{
			int			now = serves(c, pool, time);

			for (int served = 0; served < 1 << c->n; served++)
			{
				int			cost = costs[pool][served];

				if (cost >= TOO_MANY)
					continue;
				changed |= lower(costs, pool, served | now, cost);
				for (int k = 0; k < CHUNKS; k++)
				{
					for (int to = 0; to < 3; to++)
					{
						int			next = pool + (to - level(pool, k)) * power[k];

						if (to < level(pool, k))
							changed |= lower(costs, next, served, cost);
						else if (to > level(pool, k) && weight(next) <= 2 * c->capacity)
							changed |= lower(costs, next, served, cost + 1);
					}
				}
			}
		}
	}
}

static int
brute_force(const Case *c)
{
	static Costs costs;
	int			best = TOO_MANY;

	memset(costs, TOO_MANY, sizeof(costs));
	costs[0][0] = 0;
	for (uint64_t time = 0; time < TIMES; time++)
	{
		int			over = 0;

		act(c, costs, time);
		for (int i = 0; i < c->n; i++)
			over |= (c->intervals[i].end == time) << i;
		for (int pool = 0; pool < POOLS; pool++)
		{
			for (int served = 0; served < 1 << c->n; served++)
			{
				if (over & ~served)
					costs[pool][served] = TOO_MANY;
			}
		}
	}
	for (int pool = 0; pool < POOLS; pool++)
	{
		if (costs[pool][(1 << c->n) - 1] < best)
			best = costs[pool][(1 << c->n) - 1];
	}
	return best;
}

static Case
draw(Random *random, bool light)
{
	Case		c;

	c.n = 1 + (int) random_below(random, INTERVALS);
	c.capacity = 1 + (int) random_below(random, CHUNKS);
	for (int i = 0; i < c.n; i++)
	{
		BoundInterval *v = &c.intervals[i];

		v->chunk = random_below(random, CHUNKS);
		v->begin = random_below(random, TIMES);
		v->end = v->begin + random_below(random, (uint32_t) (TIMES - v->begin));
		if (random_chance(random, 50) && v->end > v->begin + 1)
			v->end = v->begin + 1;
		v->light = light && random_chance(random, 30);
	}
	return c;
}

static void
show(const Case *c, int bound, int best)
{
	note("bound %d, brute force %d, %d chunks fit", bound, best, c->capacity);
	for (int i = 0; i < c->n; i++)
		note("  chunk %d: %d..%d%s", (int) c->intervals[i].chunk, (int) c->intervals[i].begin,
			 (int) c->intervals[i].end, c->intervals[i].light ? " light" : "");
}

static void
compare(bool light, int cases, int at_least)
{
	Random		random = {light};
	int			above = 0;
	int			tight = 0;

	for (int i = 0; i < cases; i++)
	{
		Case		c = draw(&random, light);
		Case		sorted = c;
		int			bound = (int) bound_loads(sorted.intervals, sorted.n, sorted.capacity);
		int			best = brute_force(&c);

		if (bound > best && above++ == 0)
			show(&c, bound, best);
		tight += bound == best;
	}
	is_int(above, 0, "%d cases%s: the bound is never above brute force", cases, light ? " with parts of chunks" : "");
	ok(tight * 100 >= cases * at_least, "and is reached in at least %d of 100", at_least);
	note("%d of %d are reached", tight, cases);
}

/* Without keeping anything it is piercing, chunk by chunk. */
static void
compare_piercing(int cases)
{
	Random		random = {3};
	int			wrong = 0;

	for (int i = 0; i < cases; i++)
	{
		Case		c = draw(&random, false);
		int			best = 0;

		for (uint64_t chunk = 0; chunk < CHUNKS; chunk++)
		{
			int			least = TIMES;

			/* Every set of times. */
			for (int times = 0; times < 1 << TIMES; times++)
			{
				bool		pierced = true;

				for (int k = 0; k < c.n && pierced; k++)
				{
					const BoundInterval *v = &c.intervals[k];
					int			within = ((2 << v->end) - 1) & ~((1 << v->begin) - 1);

					pierced = v->chunk != chunk || (times & within);
				}
				if (pierced && __builtin_popcount(times) < least)
					least = __builtin_popcount(times);
			}
			best += least;
		}
		wrong += (int) bound_loads(c.intervals, c.n, 0) != best;
	}
	is_int(wrong, 0, "%d cases: where nothing is kept the bound is the least piercing", cases);
}

static void
test_by_hand(void)
{
	/* Two scans of two chunks, one after the other; chunk 1 also later on. */
	BoundInterval two[] = {{0, 0, 10, false}, {1, 0, 20, false}, {0, 30, 40, false}, {1, 30, 50, false}, {1, 90, 95, false}};
	BoundInterval light[] = {{7, 0, 1, true}, {7, 5, 6, true}, {8, 0, 1, false}, {8, 5, 6, true}};

	is_int((int64_t) bound_loads(two, 5, 0), 5, "by hand: nothing is kept");
	is_int((int64_t) bound_loads(two, 5, 1), 3, "by hand: one chunk is kept, over two gaps in turn");
	is_int((int64_t) bound_loads(two, 5, 2), 2, "by hand: both are kept");
	is_int((int64_t) bound_loads(light, 4, 0), 2, "by hand: parts of a chunk count once");
	is_int((int64_t) bound_loads(two, 0, 4), 0, "nothing wanted, nothing loaded");
}

void
test_bound(void)
{
	test_by_hand();
	compare(false, 2000, 80);
	compare(true, 1000, 50);
	compare_piercing(2000);
}
