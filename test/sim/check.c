/*-------------------------------------------------------------------------
 *
 * check.c
 *		What must hold in every run.
 *
 * Cheap checks follow each event: the pool's limits, and a reason wherever the
 * disk is idle while a scan is blocked.  Deliveries and waits are checked where
 * they happen (engine.c).  Now and then everything is looked at: the pool's own
 * books, each scan's wanted set against what it has had, and that no scan
 * sleeps although there is a chunk for it.
 *
 *-------------------------------------------------------------------------
 */
#include "engine.h"

#define Max(a, b)	((a) > (b) ? (a) : (b))

/* Of tables with more chunks the pool's own books are not checked. */
#define CHECKED_CHUNKS	2048

/*
 * The most loads that a scan may see while it waits for one chunk.
 *
 *	normal, attach	each older waiter may have two chunks loaded first, one of
 *					them in two parts, of columns both; and its own chunk may come in
 *					parts while other loads are in flight
 *	elevator		one sweep over all that is on it, for each partition
 *	relevance,		it is overdue after 3/2 loads for each scan, or 16, and then
 *	demand			those go first that are overdue for longer: one load each.
 *					The average load time follows chunks that are loaded in
 *					part, so loads may be several times as fast
 *	mixed			the policies take turns, so all of it, for each of them
 *
 * "Scans" are as many as have been registered at one time so far.  It is in
 * loads of about equal cost: with a page cache, where some cost nothing, it is
 * looked at as the time that so many of the longest would take.
 */
uint64_t
sim_wait_bound(const Sim *sim, const SimStream *stream)
{
	uint64_t	scans = sim->stats.max_running;
	uint64_t	in_order = (sim->config.columns.ncolumns > 0 ? 4 : 3) * scans + 6 * (uint64_t) sim->config.depth;
	uint64_t	turn = 4 * ((scans < 11 ? 16 : scans + scans / 2) + scans);
	uint64_t	elevator = in_order + sim->sweep;

	if (sim->config.policy == CSCAN_NPOLICIES)
		return CSCAN_NPOLICIES * (elevator + in_order + turn);
	if (cscan_policies[stream->policy]->traits.impatience > 0)
		return in_order + turn;
	if (stream->policy == CSCAN_POLICY_ELEVATOR)
		return elevator;
	return in_order;
}

/* Does anybody wait for longer than that?  After each load. */
void
sim_check_waits(Sim *sim)
{
	for (int i = 0; i < sim->config.max_scans; i++)
	{
		const SimStream *stream;
		uint64_t	loads;
		uint64_t	bound;

		if (!sim->pool->scans[i].used || !sim->pool->scans[i].blocked)
			continue;
		stream = &sim->streams[sim->stream_of[i]];
		if (stream->phase != SIM_BLOCKED)
			continue;
		loads = sim->stats.loads - stream->loads_before;
		bound = sim_wait_bound(sim, stream);
		if (loads > bound && sim->config.page_cache == 0)
			sim_wrong(sim, "stream %d: a scan has waited for %llu loads, more than the bound of %llu",
					  sim->stream_of[i], (unsigned long long) loads, (unsigned long long) bound);
		if (loads > bound && sim->now - stream->since > bound * sim->longest_load)
			sim_wrong(sim, "stream %d: a scan has waited for longer than %llu loads of the longest time",
					  sim->stream_of[i], (unsigned long long) bound);
	}
}

void
sim_check_event(Sim *sim)
{
	const CScanPoolState *state = sim->pool->state;

	if (state->used > state->budget)
		sim_wrong(sim, "%u blocks are pinned, the budget is %u", state->used, state->budget);
	if (state->total > Max(state->room, state->budget))
		sim_wrong(sim, "the slots have %u blocks, the room is %u", state->total, state->room);
	if (sim->nin_flight > sim->config.depth)
		sim_wrong(sim, "%d loads are in flight", sim->nin_flight);
}

/* ------------------------------------------------------------------
 * An idle disk
 * ------------------------------------------------------------------ */

/* Does a sleeping scan hold on to what is in that slot? */
static bool
holds(const Sim *sim, int scan, int slot)
{
	const CScanPool *pool = sim->pool;
	const CScanSlot *s = &pool->slots[slot];
	const CScanPolicy *policy = cscan_policies[pool->scans[scan].policy];

	if (!pool->scans[scan].blocked || !cscan_pool_interested_in(pool, scan, s->space))
		return false;

	/* It is being woken for it, or needs more blocks of it. */
	return policy->choose_available(pool, scan) == slot ||
		(cscan_pool_wants(pool, scan, s->chunk) && !cscan_pool_ready_for(pool, slot, scan));
}

/*
 * Does somebody read, or hold on to, all that counts against the budget, or against
 * the room, so that there is none for another chunk?
 */
static bool
all_taken(const Sim *sim)
{
	const CScanPool *pool = sim->pool;
	uint32_t	largest = 0;
	bool		full;

	for (int i = 0; i < sim->npartitions; i++)
	{
		if (sim->partitions[i].space != CSCAN_NONE)
			largest = Max(largest, sim->partitions[i].largest);
	}
	full = pool->state->total + largest > Max(pool->state->room, pool->state->budget);
	if (!full && pool->state->used + largest <= pool->state->budget)
		return false;
	for (int s = 0; s < pool->state->limits.max_slots; s++)
	{
		bool		taken;

		if (pool->slots[s].space == CSCAN_NONE || (!full && !pool->slots[s].held))
			continue;
		taken = cscan_pool_in_use(pool, s);
		for (int i = 0; i < pool->state->limits.max_scans && !taken; i++)
			taken = pool->scans[i].used && holds(sim, i, s);
		if (!taken)
			return false;
	}
	return true;
}

/*
 * The pool wants nothing done and nothing is in flight.  Scans that are blocked
 * must then have a reason: all slots are taken; or the elevator waits for a
 * reader; or relevance puts a reader first for which there is no room, as
 * Figure 3 has it.
 */
SimIdle
sim_why_idle(Sim *sim)
{
	const CScanPool *pool = sim->pool;
	bool		blocked[CSCAN_NPOLICIES] = {false};
	bool		reads[CSCAN_NPOLICIES] = {false};
	bool		any = false;

	if (sim->nin_flight > 0 || sim->disk.nrequests > 0 || sim->running == 0 || sim->manager_wakes)
		return SIM_NOT_IDLE;
	for (int i = 0; i < pool->state->limits.max_scans; i++)
	{
		const SimStream *stream;

		if (!pool->scans[i].used)
			continue;
		stream = &sim->streams[sim->stream_of[i]];
		if (stream->phase == SIM_BLOCKED)
			any = blocked[stream->policy] = true;
		else if (cscan_pool_active(pool, i))
			reads[stream->policy] = true;
	}
	if (!any)
		return SIM_NOT_IDLE;
	if (all_taken(sim))
		return SIM_IDLE_TAKEN;
	for (int p = 0; p < CSCAN_NPOLICIES; p++)
	{
		if (blocked[p] && !(reads[p] && (p == CSCAN_POLICY_ELEVATOR || cscan_policies[p]->traits.impatience > 0)))
		{
			sim_wrong(sim, "the disk is idle, a scan under %s is blocked, and there is room", cscan_policies[p]->name);
			return SIM_NOT_IDLE;
		}
	}
	return blocked[CSCAN_POLICY_ELEVATOR] ? SIM_IDLE_ELEVATOR : SIM_IDLE_RELEVANCE;
}

/* ------------------------------------------------------------------
 * Everything
 * ------------------------------------------------------------------ */

/* Blocks that it has not had, of what it wants; of chunks all, if it has too many ranges. */
static uint64_t
blocks_left(const Sim *sim, const SimStream *stream)
{
	const PlanQuery *query = stream->query;
	bool		whole = query->nranges + sim->config.partitions > CSCAN_MAX_RANGES;
	uint64_t	blocks = 0;

	if (whole)
		return sim->pool->scans[stream->scan].needed;
	for (uint32_t c = 0; c < sim->nchunks[query->table]; c++)
	{
		DiskRequest request;

		if (!cscan_set_has(stream->had, c))
			blocks += sim_next_run(sim, query, c, &request);
	}
	return blocks;
}

static void
check_scan(Sim *sim, int scan)
{
	const CScanPool *pool = sim->pool;
	const SimStream *stream = &sim->streams[sim->stream_of[scan]];

	if (pool->scans[scan].nwanted != stream->left)
		sim_wrong(sim, "stream %d: the pool says %u chunks are left, but %u are",
				  sim->stream_of[scan], pool->scans[scan].nwanted, stream->left);
	for (uint32_t c = 0; c < sim->nchunks[stream->query->table]; c++)
	{
		uint32_t	number = sim_to_pool(sim, stream->query->table, c);
		bool		wants = number != CSCAN_NO_CHUNK && cscan_pool_wants(pool, scan, number);

		if (wants == cscan_set_has(stream->had, c))
			sim_wrong(sim, "stream %d: is chunk %u wanted or not?", sim->stream_of[scan], c);
	}
	if (pool->scans[scan].needed != blocks_left(sim, stream))
		sim_wrong(sim, "stream %d: the pool says %llu blocks are left, but it is another number", sim->stream_of[scan],
				  (unsigned long long) pool->scans[scan].needed);
	if (pool->scans[scan].blocked != (stream->phase == SIM_BLOCKED || stream->phase == SIM_WAKING))
		sim_wrong(sim, "stream %d: is it blocked or not?", sim->stream_of[scan]);
	if (stream->phase == SIM_BLOCKED &&
		cscan_policies[stream->policy]->choose_available(pool, scan) != CSCAN_NONE)
		sim_wrong(sim, "stream %d: it sleeps although there is a chunk for it", sim->stream_of[scan]);
}

/* The harness's own checks know so many spaces, and look at each chunk. */
static bool
is_small(const Sim *sim)
{
	uint32_t	nchunks = 0;

	for (int i = 0; i < sim->config.ntables; i++)
		nchunks += sim->nchunks[i];
	return sim->npartitions <= POOL_SPACES && nchunks < CHECKED_CHUNKS;
}

void
sim_check_all(Sim *sim)
{
	const CScanPool *pool = sim->pool;
	const char *broken = is_small(sim) ? pool_check(pool) : NULL;
	uint32_t	used = 0;
	uint32_t	total = 0;

	if (broken != NULL)
		sim_wrong(sim, "%s", broken);
	for (int i = 0; i < pool->state->limits.max_slots; i++)
	{
		if (pool->slots[i].space == CSCAN_NONE)
			continue;
		total += pool->slots[i].nblocks;
		used += pool->slots[i].held ? pool->slots[i].nblocks : 0;
	}
	if (used != pool->state->used || total != pool->state->total)
		sim_wrong(sim, "the blocks of the slots do not add up");
	for (int i = 0; i < pool->state->limits.max_scans; i++)
	{
		if (pool->scans[i].used)
			check_scan(sim, i);
	}
}
