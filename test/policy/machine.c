/*-------------------------------------------------------------------------
 *
 * machine.c
 *		See machine.h.  MACHINE is the name of what is defined here.
 *
 *-------------------------------------------------------------------------
 */
#include "machine.h"

#include <stdlib.h>
#include <string.h>

#include "policy.h"

static void *
create(int max_scans, int max_slots, int max_helpers)
{
	CScanPool  *pool = calloc(1, sizeof(*pool));
	void	   *memory = calloc(1, cscan_pool_size(max_scans, max_slots, max_helpers));

	if (pool == NULL || memory == NULL)
		abort();
	cscan_pool_attach(pool, memory, max_scans, max_slots, max_helpers);
	cscan_pool_init(pool, max_scans, max_slots, max_helpers);
	return pool;
}

static void
destroy(void *m)
{
	CScanPool  *pool = m;

	free(pool->state);
	free(pool);
}

static void
set_limits(void *m, uint32_t budget, uint32_t room)
{
	cscan_pool_set_limits(m, budget, room);
}

static int
add_table(void *m, uint32_t chunk_blocks)
{
	int			table = cscan_pool_add_table(m, chunk_blocks);

	if (table != CSCAN_NONE)
		cscan_pool_set_loadable(m, table, true);
	return table;
}

static void
remove_table(void *m, int table)
{
	cscan_pool_remove_table(m, table);
}

static void
set_loadable(void *m, int table, bool loadable)
{
	cscan_pool_set_loadable(m, table, loadable);
}

static void
set_cursor(void *m, int table, uint32_t chunk)
{
	cscan_pool_set_cursor(m, table, chunk);
}

static int
add_scan(void *m, int table, int policy, uint32_t nblocks, const MachineRange *ranges,
		 uint32_t nranges, uint64_t now)
{
	return cscan_pool_register(m, table, (CScanPolicyId) policy, nblocks,
							   (const CScanRange *) ranges, nranges, now);
}

static void
unwant(void *m, int scan, uint32_t chunk)
{
	cscan_pool_unwant(m, scan, chunk);
}

static void
start(void *m, int scan)
{
	cscan_pool_start(m, scan);
}

static void
again(void *m, int scan, uint32_t nblocks, const MachineRange *ranges, uint32_t nranges,
	  uint64_t now)
{
	cscan_pool_again(m, scan, nblocks, (const CScanRange *) ranges, nranges, now);
}

static void
remove_scan(void *m, int scan)
{
	cscan_pool_unregister(m, scan);
}

static void
set_stalled(void *m, int scan, bool stalled)
{
	cscan_pool_set_stalled(m, scan, stalled);
}

static void
set_warm(void *m, int scan, bool warm)
{
	cscan_pool_set_warm(m, scan, warm);
}

static int
join(void *m, int scan)
{
	return cscan_pool_join(m, scan);
}

static void
part(void *m, int helper)
{
	cscan_pool_part(m, helper);
}

static int
choose(void *m, int scan, int helper, uint64_t now)
{
	return cscan_pool_choose(m, scan, helper, now);
}

static bool
peek(void *m, int scan, uint32_t *chunk)
{
	return cscan_pool_peek(m, scan, chunk);
}

static bool
take(void *m, int scan, int helper, uint64_t now, uint32_t *chunk)
{
	return cscan_pool_take(m, scan, helper, now, chunk);
}

static MachineAction
decide(void *m, uint64_t now)
{
	CScanAction act;
	MachineAction result;

	cscan_pool_decide(m, now, &act);
	memset(&result, 0, sizeof(result));
	result.kind = act.kind;
	result.slot = act.slot;
	result.table = act.table;
	if (act.kind == CSCAN_ACT_NOTHING)
		return result;
	result.scan = act.scan;
	result.chunk = act.chunk;
	if (act.kind != CSCAN_ACT_LOAD)
		return result;
	result.nblocks = act.nblocks;
	for (int w = 0; w < CSCAN_PIECE_WORDS; w++)
		result.pieces = result.pieces * 31 + act.pieces.word[w];
	return result;
}

static void
loaded(void *m, int slot, uint64_t now, uint64_t duration, bool failed, bool cheap)
{
	cscan_pool_loaded(m, slot, now, duration, failed, cheap);
}

static void
drop(void *m, int slot)
{
	cscan_pool_drop(m, slot);
}

static int
useless(void *m)
{
	return cscan_pool_useless(m);
}

static int
release(void *m)
{
	return cscan_pool_release(m);
}

static int
hold(void *m)
{
	return cscan_pool_hold(m);
}

#ifdef NAIVE
#define REBUILD		NULL
#define WANTS_LOAD	NULL
#define COUNT(pool)	cscan_pool_count(pool)
#else
#define REBUILD		rebuild
#define WANTS_LOAD	wants_load
#define COUNT(pool)	((void) 0)

static void
rebuild(void *m)
{
	cscan_pool_rebuild(m);
}

static bool
wants_load(void *m, uint64_t now)
{
	return cscan_pool_wants_load(m, now);
}
#endif

static MachineScan
get_scan(void *m, int scan)
{
	CScanPool  *pool = m;
	const CScanInterest *s = &pool->scans[scan];
	MachineScan result;

	COUNT(pool);
	memset(&result, 0, sizeof(result));
	result.table = s->table;
	if (s->table == CSCAN_NONE)
		return result;
	result.waiting = s->waiting;
	result.blocked = s->blocked;
	result.stalled = s->stalled;
	result.starved = cscan_pool_starved(pool, scan);
	result.in_use = s->in_use;
	result.needed = s->needed;
	result.position = s->position;
	result.available = s->available;
	result.ready = s->ready;
	result.using = s->using;
	result.since = s->since;
	return result;
}

static MachineSlot
get_slot(void *m, int slot)
{
	CScanPool  *pool = m;
	const CScanSlot *s = &pool->slots[slot];
	MachineSlot result;

	memset(&result, 0, sizeof(result));
	result.table = s->table;
	if (s->table == CSCAN_NONE)
		return result;
	result.chunk = s->chunk;
	result.nblocks = s->nblocks;
	result.in_flight = s->in_flight;
	result.held = s->held;
	result.failed = s->failed;
	result.cheap = s->cheap;
	result.trigger = s->trigger;
	result.users = cscan_pool_users(pool, slot);
	result.interested = cscan_pool_interested(pool, s->table, s->chunk);
	result.stamp = s->stamp;
	result.order = s->order;
	return result;
}

static bool
absent(void *m, int scan, uint32_t chunk)
{
	return cscan_pool_absent_for(m, scan, chunk);
}

static uint32_t
used(void *m)
{
	CScanPool  *pool = m;

	return pool->state->used;
}

const Machine MACHINE = {
	.name = "pool",
	.create = create,
	.destroy = destroy,
	.set_limits = set_limits,
	.add_table = add_table,
	.remove_table = remove_table,
	.set_loadable = set_loadable,
	.set_cursor = set_cursor,
	.add_scan = add_scan,
	.unwant = unwant,
	.start = start,
	.again = again,
	.remove_scan = remove_scan,
	.set_stalled = set_stalled,
	.set_warm = set_warm,
	.join = join,
	.part = part,
	.choose = choose,
	.peek = peek,
	.take = take,
	.decide = decide,
	.wants_load = WANTS_LOAD,
	.loaded = loaded,
	.drop = drop,
	.useless = useless,
	.release = release,
	.hold = hold,
	.rebuild = REBUILD,
	.scan = get_scan,
	.slot = get_slot,
	.absent = absent,
	.used = used,
};
