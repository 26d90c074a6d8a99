/*-------------------------------------------------------------------------
 *
 * manager.c
 *		What the server's Active Buffer Manager does, in the same order.
 *
 * The functions have the names that they have in src/abm/abm.c, where the
 * reasons are.  Differences: a table's lock is always to be had, at once; loads
 * do not fail; nobody else takes the frames of chunks that are not pinned.
 *
 *-------------------------------------------------------------------------
 */
#include "engine.h"

#include <string.h>

#include "state.h"

/* At one moment, before it counts as spinning. */
#define MAX_ROUNDS	20

#define Max(a, b)	((a) > (b) ? (a) : (b))

/* ------------------------------------------------------------------
 * Spaces
 * ------------------------------------------------------------------ */

static bool
is_loading(const Sim *sim, int space)
{
	for (int i = 0; i < sim->nin_flight; i++)
	{
		if (sim->in_flight[i].space == space)
			return true;
	}
	return false;
}

static bool
has_active_scan(const Sim *sim, int space)
{
	const CScanPool *pool = sim->pool;

	for (int i = cscan_pool_scan_of(pool, space, 0); i != CSCAN_NONE; i = cscan_pool_scan_of(pool, space, i + 1))
	{
		if (cscan_pool_active(pool, i))
			return true;
	}
	return false;
}

static void
let_go(Sim *sim, int space)
{
	const CScanPool *pool = sim->pool;
	const CScanSpace *s = &pool->spaces[space];

	for (int c = cscan_set_next(pool->resident, cscan_chunk_words(pool), s->first_chunk);
		 c >= 0 && (uint32_t) c < s->first_chunk + s->nchunks;
		 c = cscan_set_next(pool->resident, cscan_chunk_words(pool), (uint32_t) c + 1))
		cscan_pool_drop(sim->pool, cscan_pool_find(pool, (uint32_t) c));
}

/*
 * Nothing is held of a space that nobody scans, or whose scans are all stalled.
 * What is in flight is waited for: then this is called again.
 */
void
sim_look_after_spaces(Sim *sim)
{
	if (!sim->look_after)
		return;
	sim->look_after = false;
	for (int i = 0; i < sim->npartitions; i++)
	{
		int			space = sim->partitions[i].space;

		if (space == CSCAN_NONE || is_loading(sim, space) || has_active_scan(sim, space))
			continue;
		let_go(sim, space);
		if (sim->pool->spaces[space].nscans == 0)
		{
			cscan_pool_remove_space(sim->pool, space);
			sim->partitions[i].space = CSCAN_NONE;
		}
	}
}

/* ------------------------------------------------------------------
 * Loads
 * ------------------------------------------------------------------ */

static void
start_load(Sim *sim, const CScanAction *act)
{
	SimLoad    *load = &sim->in_flight[sim->nin_flight++];
	DiskRequest request = {0};
	CScanRun	run = {0, 0, 0};

	load->slot = act->slot;
	load->space = act->space;
	load->started = sim->now;
	load->nblocks = act->nblocks;
	load->read = false;

	while (cscan_action_next_run(act, &run))
	{
		if (request.nruns++ == 0)
			request.first = run.first;
		request.end = run.end;
	}
	request.owner = SIM_MANAGER;
	request.file = sim->partition_of[act->space];
	request.nblocks = act->nblocks;
	disk_submit(&sim->disk, sim->now, request);
}

static bool
run_scheduler(Sim *sim)
{
	bool		worked = false;

	while (sim->nin_flight < sim->config.depth)
	{
		CScanAction act;

		cscan_pool_decide(sim->pool, sim->now, &act);
		if (act.kind == CSCAN_ACT_NOTHING)
			break;
		worked = true;
		if (act.kind == CSCAN_ACT_EVICT)
			sim->stats.evictions++;
		else if (act.kind == CSCAN_ACT_LOAD)
			start_load(sim, &act);
	}
	return worked;
}

static bool
storage_is_fast(const Sim *sim)
{
	return sim->block_time > 0 && sim->block_time < SIM_FAST_BLOCK_TIME;
}

static bool
wake_scans(Sim *sim, int slot)
{
	const CScanSlot *s = &sim->pool->slots[slot];
	bool		any = false;

	for (int i = cscan_pool_scan_of(sim->pool, s->space, 0); i != CSCAN_NONE;
		 i = cscan_pool_scan_of(sim->pool, s->space, i + 1))
	{
		if (sim->pool->scans[i].blocked && cscan_pool_wants(sim->pool, i, s->chunk) &&
			cscan_pool_ready_for(sim->pool, slot, i))
		{
			sim_signal(sim, &sim->streams[sim->stream_of[i]]);
			any = true;
		}
	}
	return any;
}

static void
finish_load(Sim *sim)
{
	SimLoad		load = sim->in_flight[0];
	uint64_t	duration = sim->now - Max(load.started, sim->last_finish);

	sim->nin_flight--;
	memmove(sim->in_flight, sim->in_flight + 1, sizeof(SimLoad) * sim->nin_flight);
	sim->last_loaded = sim->now;
	sim->longest_load = Max(sim->longest_load, duration);
	cscan_pool_loaded(sim->pool, load.slot, sim->now, duration, false, storage_is_fast(sim));
	sim->stats.loads++;
	sim->stats.loaded_blocks += load.nblocks;
	if (wake_scans(sim, load.slot))
	{
		double		time = (double) duration / load.nblocks;

		if (sim->block_time == 0)
			sim->block_time = time;
		else
			sim->block_time += (time - sim->block_time) / 8.0;
	}
	sim->last_finish = sim->now;
	sim->look_after |= !has_active_scan(sim, load.space);
	sim_check_waits(sim);
}

/* The manager has one process, so it copies what was read load by load. */
static void
copy_first(Sim *sim)
{
	sim->copying = true;
	cores_add(&sim->cores, sim->now, SIM_MANAGER, sim->in_flight[0].nblocks * sim->config.load_cpu);
}

static void
take_first(Sim *sim)
{
	if (sim->config.load_cpu == 0)
		sim_load_done(sim);
	else
		copy_first(sim);
}

/*
 * The disk has done with the next of the loads.  Where it was all in the page
 * cache the manager has not slept.
 */
void
sim_load_read(Sim *sim, bool cached)
{
	int			i = 0;

	while (sim->in_flight[i].read)
		i++;
	sim->in_flight[i].read = true;
	if (i > 0)
		return;					/* it is busy with an earlier one, or wakes up for it */
	if (sim->config.manager_wake > 0 && !cached)
		sim_wake_manager(sim);
	else
		take_first(sim);
}

/* It goes on with what it was waiting for, or looks whether there is anything to do. */
void
sim_manager_is_awake(Sim *sim)
{
	if (sim->nin_flight > 0 && sim->in_flight[0].read && !sim->copying)
		take_first(sim);
	else if (sim->nin_flight == 0)
		sim_manage(sim);
}

/* The oldest load is complete. */
void
sim_load_done(Sim *sim)
{
	sim->copying = false;
	finish_load(sim);
	if (sim->nin_flight > 0 && sim->in_flight[0].read)
		take_first(sim);
	sim_manage(sim);
}

/* ------------------------------------------------------------------
 * The loop
 * ------------------------------------------------------------------ */

static void
drop_useless(Sim *sim)
{
	int			slot;

	while ((slot = cscan_pool_useless(sim->pool)) != CSCAN_NONE)
	{
		sim->stats.evictions++;
		cscan_pool_drop(sim->pool, slot);
	}
}

static void
let_pins_follow_wants(Sim *sim)
{
	while (cscan_pool_release(sim->pool) != CSCAN_NONE)
		;
	while (cscan_pool_hold(sim->pool) != CSCAN_NONE)
		;
}

/*
 * Once round the main loop, and again while there is something to do.  That
 * must come to an end before a scan does something; where it does not the
 * server's manager would spin, which is counted here.
 */
void
sim_manage(Sim *sim)
{
	bool		worked;
	int			rounds = 0;

	do
	{
		sim_look_after_spaces(sim);
		drop_useless(sim);
		let_pins_follow_wants(sim);
		worked = run_scheduler(sim);
	} while (worked && sim->nin_flight == 0 && ++rounds < MAX_ROUNDS);
	sim->stats.spins += rounds == MAX_ROUNDS;
}

/* A scan has changed something: while a load is awaited, only decide anew. */
void
sim_told(Sim *sim)
{
	if (sim->nin_flight == 0 && sim->config.manager_wake > 0)
		sim_wake_manager(sim);
	else if (sim->nin_flight == 0)
		sim_manage(sim);
	else
		(void) run_scheduler(sim);
}
