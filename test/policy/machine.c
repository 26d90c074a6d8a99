/*-------------------------------------------------------------------------
 *
 * machine.c
 *		The core as a machine: see machine.h.
 *
 *-------------------------------------------------------------------------
 */
#include "machine.h"

#include <stdlib.h>
#include <string.h>

#include "interest.h"
#include "policy.h"

_Static_assert(MACHINE_NONE == CSCAN_NONE && MACHINE_NO_CHUNK == CSCAN_NO_CHUNK, "none");
_Static_assert(MACHINE_MAX_RANGES == CSCAN_MAX_RANGES, "ranges");
_Static_assert(MACHINE_MAX_COLUMNS == CSCAN_LAYOUT_COLUMNS, "columns");
_Static_assert((int) MACHINE_NORMAL == (int) CSCAN_POLICY_NORMAL &&
			   (int) MACHINE_ATTACH == (int) CSCAN_POLICY_ATTACH &&
			   (int) MACHINE_ELEVATOR == (int) CSCAN_POLICY_ELEVATOR &&
			   (int) MACHINE_RELEVANCE == (int) CSCAN_POLICY_RELEVANCE &&
			   (int) MACHINE_DEMAND == (int) CSCAN_POLICY_DEMAND, "policies");
_Static_assert((int) MACHINE_UNKNOWN == (int) CSCAN_ACCESS_UNKNOWN &&
			   (int) MACHINE_GRANTED == (int) CSCAN_ACCESS_GRANTED &&
			   (int) MACHINE_REFUSED == (int) CSCAN_ACCESS_REFUSED, "access");
_Static_assert((int) MACHINE_NOTHING == (int) CSCAN_ACT_NOTHING &&
			   (int) MACHINE_EVICT == (int) CSCAN_ACT_EVICT &&
			   (int) MACHINE_UNPIN == (int) CSCAN_ACT_UNPIN &&
			   (int) MACHINE_LOAD == (int) CSCAN_ACT_LOAD &&
			   (int) MACHINE_TRIM == (int) CSCAN_ACT_TRIM, "actions");
_Static_assert(sizeof(MachineRange) == sizeof(CScanRange), "ranges");

static void *
create(const MachineLimits *limits)
{
	CScanLimits l = {limits->scans, limits->spaces, limits->slots, limits->helpers, limits->chunks};
	CScanPool  *pool = calloc(1, sizeof(*pool));
	void	   *memory = malloc(cscan_pool_size(&l));

	if (pool == NULL || memory == NULL)
		abort();

	/* Init must not count on memory that is zero. */
	memset(memory, 0x5a, cscan_pool_size(&l));
	cscan_pool_attach(pool, memory, &l);
	cscan_pool_init(pool, &l);
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

static void
set_block_time(void *m, double block_time)
{
	cscan_pool_set_block_time(m, block_time);
}

static int
add_space(void *m, uint32_t chunk_blocks, uint32_t nchunks, uint32_t device)
{
	return cscan_pool_add_space(m, chunk_blocks, nchunks, device);
}

static bool
extend_space(void *m, int space, uint32_t nchunks)
{
	return cscan_pool_extend_space(m, space, nchunks);
}

static void
remove_space(void *m, int space)
{
	cscan_pool_remove_space(m, space);
}

static void
set_access(void *m, int space, int access)
{
	cscan_pool_set_access(m, space, (CScanAccess) access);
}

static void
set_cursor(void *m, int space, uint32_t chunk)
{
	cscan_pool_set_cursor(m, space, chunk);
}

static void
set_cached(void *m, uint32_t chunk, bool cached)
{
	cscan_pool_set_cached(m, chunk, cached);
}

static int
add_scan(void *m, int policy, uint64_t now)
{
	return cscan_pool_register(m, (CScanPolicyId) policy, now);
}

static void
announce(void *m, int scan, int space, uint32_t nblocks, const MachineRange *ranges,
		 uint32_t nranges)
{
	cscan_pool_announce(m, scan, space, nblocks, (const CScanRange *) ranges, nranges);
}

static void
set_columnar(void *m, int space, const uint32_t *begin, uint32_t ncolumns)
{
	CScanLayout layout = {.ncolumns = ncolumns};

	memcpy(layout.begin, begin, sizeof(uint32_t) * (ncolumns + 1));
	cscan_pool_set_columnar(m, space, &layout);
}

static void
set_columns(void *m, int scan, uint64_t columns, uint64_t common)
{
	cscan_pool_set_columns(m, scan, columns, common);
}

static void
start(void *m, int scan, uint64_t now)
{
	cscan_pool_start(m, scan, now);
}

static void
rest(void *m, int scan, uint64_t now)
{
	cscan_pool_rest(m, scan, now);
}

static void
remove_scan(void *m, int scan)
{
	cscan_pool_unregister(m, scan);
}

static void
unwant(void *m, int scan, uint32_t chunk)
{
	cscan_pool_unwant(m, scan, chunk);
}

static void
unwant_space(void *m, int scan, int space)
{
	cscan_pool_unwant_space(m, scan, space);
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

static void
set_position(void *m, int scan, uint32_t chunk)
{
	cscan_pool_set_position(m, scan, chunk);
}

static int
join(void *m, int scan)
{
	return cscan_pool_join(m, scan);
}

static void
quit(void *m, int helper)
{
	cscan_pool_quit(m, helper);
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
action(const CScanAction *done)
{
	CScanAction act = *done;
	MachineAction result;
	CScanRun	run = {0, 0, 0};

	memset(&result, 0, sizeof(result));
	result.kind = (int) act.kind;
	result.slot = result.space = result.scan = CSCAN_NONE;
	if (act.kind == CSCAN_ACT_NOTHING)
		return result;
	result.slot = act.slot;
	result.space = act.space;
	result.scan = act.scan;
	result.chunk = act.chunk;
	if (act.kind != CSCAN_ACT_LOAD && act.kind != CSCAN_ACT_TRIM)
		return result;
	result.nblocks = act.nblocks;
	for (int w = 0; w < CSCAN_PIECE_WORDS; w++)
		MACHINE_HASH(result.pieces, act.pieces.word[w]);
	while (cscan_action_next_run(&act, &run))
	{
		MACHINE_HASH(result.runs, run.first);
		MACHINE_HASH(result.runs, run.end);
		MACHINE_HASH(result.runs, run.place);
	}
	return result;
}

static MachineAction
decide(void *m, uint64_t now)
{
	CScanAction act;

	cscan_pool_decide(m, now, &act);
	return action(&act);
}

static MachineAction
shrink(void *m)
{
	CScanAction act;

	cscan_pool_shrink(m, &act);
	return action(&act);
}

static bool
wants_load(void *m, uint64_t now)
{
	return cscan_pool_wants_load(m, now);
}

static void
loaded(void *m, int slot, uint64_t now, uint64_t duration, bool failed, bool cheap)
{
	cscan_pool_loaded(m, slot, now, duration, failed, cheap);
}

static void
arrived(void *m, int slot, uint64_t columns)
{
	CScanPieces pieces = {{columns}};

	cscan_pool_arrived(m, slot, &pieces);
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

static void
rebuild(void *m)
{
	cscan_pool_rebuild(m);
}

static MachineScan
get_scan(void *m, int scan)
{
	CScanPool  *pool = m;
	const CScanScan *s = &pool->scans[scan];
	MachineScan result;

	memset(&result, 0, sizeof(result));
	result.used = s->used;
	if (!s->used)
		return result;
	result.started = s->started;
	result.waiting = s->waiting;
	result.blocked = s->blocked;
	result.stalled = s->stalled;
	result.warm = s->warm;
	result.loaded_for = s->loaded_for;
	result.in_use = s->in_use;
	result.nspaces = s->nspaces;
	result.position = s->position;
	result.since = s->since;
	if (!s->started)
		return result;
	result.starved = cscan_pool_starved(pool, scan);
	result.has_absent = cscan_pool_has_absent(pool, scan);
	result.nwanted = s->nwanted;
	result.nloadable = s->nloadable;
	result.needed = s->needed;
	result.cursor = s->cursor;
	result.available = s->available;
	result.ready = s->ready;
	result.using = s->using;
	return result;
}

static MachineSpace
get_space(void *m, int space)
{
	CScanPool  *pool = m;
	const CScanSpace *s = &pool->spaces[space];
	MachineSpace result;

	memset(&result, 0, sizeof(result));
	result.used = s->used;
	if (!s->used)
		return result;
	result.access = s->access;
	result.nscans = s->nscans;
	result.first_chunk = s->first_chunk;
	result.nchunks = s->nchunks;
	result.extent = s->extent;
	result.cursor = s->cursor;
	result.last_load = s->last_load;
	return result;
}

static MachineSlot
get_slot(void *m, int slot)
{
	CScanPool  *pool = m;
	const CScanSlot *s = &pool->slots[slot];
	MachineSlot result;

	memset(&result, 0, sizeof(result));
	result.space = s->space;
	if (s->space == CSCAN_NONE)
		return result;
	result.chunk = s->chunk;
	result.nblocks = s->nblocks;
	result.loading = s->loading;
	result.in_flight = s->in_flight;
	result.held = s->held;
	result.failed = s->failed;
	result.cheap = s->cheap;
	result.loaded_for = s->loaded_for;
	result.users = cscan_pool_users(pool, slot);
	result.interested = cscan_pool_interested(pool, s->chunk);
	result.stamp = s->stamp;
	result.order = s->order;
	return result;
}

static MachineWant
get_want(void *m, int scan, uint32_t chunk)
{
	MachineWant result;

	memset(&result, 0, sizeof(result));
	result.wants = cscan_pool_wants(m, scan, chunk);
	if (result.wants)
	{
		result.absent = cscan_pool_absent_for(m, scan, chunk);
		result.cost = cscan_pool_cost_for(m, scan, chunk);
	}
	return result;
}

static MachineTotals
get_totals(void *m)
{
	CScanPool  *pool = m;
	MachineTotals result;

	memset(&result, 0, sizeof(result));
	result.used = pool->state->used;
	result.total = pool->state->total;
	result.running = cscan_pool_running(pool);
	result.next_chunk = pool->state->next_chunk;
	result.nloads = pool->state->nloads;
	result.pace = pool->state->pace;
	return result;
}

static double
load_time(void *m, int space, uint32_t nblocks)
{
	return cscan_pool_load_time(m, space, nblocks);
}

const Machine core_machine = {
	.name = "core",
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
	.wants_load = wants_load,
	.loaded = loaded,
	.arrived = arrived,
	.drop = drop,
	.useless = useless,
	.release = release,
	.hold = hold,
	.shrink = shrink,
	.rebuild = rebuild,
	.scan = get_scan,
	.space = get_space,
	.slot = get_slot,
	.want = get_want,
	.totals = get_totals,
	.load_time = load_time,
};
