/*-------------------------------------------------------------------------
 *
 * engine.c
 *		The clock, and what scans do; see engine.h.
 *
 * What is due first happens next; of what is due at one time first the disk,
 * then the cores, then the events in the order in which they were made.
 *
 *-------------------------------------------------------------------------
 */
#include "engine.h"
#include "reporter.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void
sim_wrong(Sim *sim, const char *fmt,...)
{
	va_list		args;
	int			n;

	if (sim->wrong[0] != '\0')
		return;
	n = snprintf(sim->wrong, sizeof(sim->wrong), "at %.6f s: ", (double) sim->now / 1e6);
	va_start(args, fmt);
	vsnprintf(sim->wrong + n, sizeof(sim->wrong) - n, fmt, args);
	va_end(args);
}

void
sim_defaults(SimConfig *config, Workload *work)
{
	/* TPC-H's lineitem at scale 1 */
	const uint32_t table = 112512;

	/* 192 MB of shared_buffers */
	const double buffers = 24576;

	memset(config, 0, sizeof(*config));
	config->cores = 2;
	config->bandwidth = 200.0 * 1024 * 1024;
	config->own_bandwidth = 1000.0 * 1024 * 1024;
	config->latency = 100;
	config->seek = 0;
	config->depth = 2;
	config->budget = (uint32_t) (buffers * 0.5);
	config->room = (uint32_t) (buffers * 0.875);
	config->drop_behind = true;
	config->chunk_blocks = 512;
	config->max_scans = 128;
	config->wake = 50;
	config->stalled_after = SIM_STALLED_AFTER;
	config->policy = CSCAN_POLICY_RELEVANCE;
	config->ntables = 1;
	config->table_blocks[0] = table;
	config->partitions = 1;
	config->log = true;
	config->check_every = 512;

	memset(work, 0, sizeof(*work));
	work->streams = 16;
	work->stagger = 1000000;
	work->nsizes = 4;
	work->sizes[0] = 1;
	work->sizes[1] = 10;
	work->sizes[2] = 50;
	work->sizes[3] = 100;
	strcpy(work->speeds, "FS");
	work->pieces = 1;
	work->ntables = 1;
	work->table_blocks[0] = table;
	work->partitions = 1;
	work->block_cpu[PLAN_FAST] = 8;
	work->block_cpu[PLAN_SLOW] = 38;
}

/* ------------------------------------------------------------------
 * Events
 * ------------------------------------------------------------------ */

static bool
comes_before(const SimEvent *a, const SimEvent *b)
{
	return a->time < b->time || (a->time == b->time && a->order < b->order);
}

static void
add_event(Sim *sim, uint64_t time, SimEventKind kind, const SimStream *stream)
{
	SimEvent	event = {time, sim->norders++, kind, CSCAN_NONE, 0};
	size_t		i;

	if (stream != NULL)
	{
		event.stream = (int) (stream - sim->streams);
		event.serial = stream->serial;
	}
	if (sim->nevents == sim->max_events)
	{
		sim->max_events = sim->max_events == 0 ? 64 : 2 * sim->max_events;
		sim->events = realloc(sim->events, sizeof(SimEvent) * sim->max_events);
		if (sim->events == NULL)
			abort();
	}
	for (i = sim->nevents++; i > 0 && comes_before(&event, &sim->events[(i - 1) / 2]); i = (i - 1) / 2)
		sim->events[i] = sim->events[(i - 1) / 2];
	sim->events[i] = event;
}

static SimEvent
pop_event(Sim *sim)
{
	SimEvent	first = sim->events[0];
	SimEvent	last = sim->events[--sim->nevents];
	size_t		i = 0;

	for (;;)
	{
		size_t		child = 2 * i + 1;

		if (child + 1 < sim->nevents && comes_before(&sim->events[child + 1], &sim->events[child]))
			child++;
		if (child >= sim->nevents || !comes_before(&sim->events[child], &last))
			break;
		sim->events[i] = sim->events[child];
		i = child;
	}
	sim->events[i] = last;
	return first;
}

static void
set_phase(SimStream *stream, SimPhase phase)
{
	stream->phase = phase;
	stream->serial++;
}

/* ------------------------------------------------------------------
 * Chunks
 * ------------------------------------------------------------------ */

static bool
has_had(const SimStream *stream, uint32_t chunk)
{
	return (stream->had[chunk / 64] >> (chunk % 64)) & 1;
}

/* The set of chunks that it wants, as a set of those that it has had. */
static void
set_wanted(Sim *sim, SimStream *stream)
{
	const PlanQuery *query = stream->query;
	uint32_t	words = (sim->nchunks[query->table] - 1) / 64 + 1;

	stream->had = realloc(stream->had, sizeof(uint64_t) * words);
	if (stream->had == NULL)
		abort();
	memset(stream->had, 0xff, sizeof(uint64_t) * words);
	stream->left = 0;
	for (uint32_t r = 0; r < query->nranges; r++)
	{
		uint32_t	last = sim_chunk_of(sim, query->table, query->ranges[r].end - 1);

		for (uint32_t c = sim_chunk_of(sim, query->table, query->ranges[r].first); c <= last; c++)
		{
			stream->left += has_had(stream, c);
			stream->had[c / 64] &= ~(UINT64_C(1) << (c % 64));
		}
	}
}

static void
log_delivery(Sim *sim, const SimStream *stream, uint32_t chunk)
{
	SimLogEntry *entry;
	DiskRequest request;

	if (!sim->config.log)
		return;
	if (sim->nentries == sim->max_entries)
	{
		sim->max_entries = sim->max_entries == 0 ? 1024 : 2 * sim->max_entries;
		sim->entries = realloc(sim->entries, sizeof(SimLogEntry) * sim->max_entries);
		if (sim->entries == NULL)
			abort();
	}
	entry = &sim->entries[sim->nentries++];
	entry->stream = (int) (stream - sim->streams);
	entry->table = stream->query->table;
	entry->chunk = chunk;
	entry->light = sim_next_run(sim, stream->query, chunk, &request) <
		sim_partition_of_chunk(sim, entry->table, chunk)->largest;
	entry->registered = stream->started;
	entry->delivered = sim->now;
	entry->finished = SIM_NEVER;
}

static uint64_t
bound_of(const Sim *sim, bool by_end_of_scan)
{
	BoundInterval *intervals = zeroed(sim->nentries, sizeof(BoundInterval));
	uint32_t	room = sim->config.room > sim->config.budget ? sim->config.room : sim->config.budget;
	uint32_t	smallest = sim->config.chunk_blocks;
	uint64_t	loads;

	for (int i = 0; i < sim->npartitions; i++)
	{
		if (sim->partitions[i].largest < smallest)
			smallest = sim->partitions[i].largest;
	}
	for (size_t i = 0; i < sim->nentries; i++)
	{
		const SimLogEntry *entry = &sim->entries[i];

		intervals[i].chunk = (uint64_t) entry->table << 32 | entry->chunk;
		intervals[i].begin = entry->registered;
		intervals[i].end = by_end_of_scan ? entry->finished : entry->delivered;
		intervals[i].light = entry->light;
	}
	loads = bound_loads(intervals, sim->nentries, room / smallest);
	free(intervals);
	return loads;
}

/*
 * What holds where scans have only to end in time holds all the more where
 * each delivery has to be in time, and now and then it is the better bound.
 */
uint64_t
sim_bound(const Sim *sim, bool by_end_of_scan)
{
	uint64_t	by_end = bound_of(sim, true);
	uint64_t	by_delivery = by_end_of_scan ? 0 : bound_of(sim, false);

	return by_delivery > by_end ? by_delivery : by_end;
}

/* ------------------------------------------------------------------
 * Scans
 * ------------------------------------------------------------------ */

/* On to the cores, or into a pause when half of the chunk is done. */
static void
read_chunk(Sim *sim, SimStream *stream)
{
	const PlanQuery *query = stream->query;
	DiskRequest request;
	double		work = sim_next_run(sim, query, stream->chunk, &request) * query->block_cpu +
		sim->config.chunk_cpu + (stream->waited ? sim->config.wait_cpu : 0);

	stream->work_left = 0;
	if (query->pause > 0 && stream->ndelivered == query->pause_after + 1)
	{
		stream->work_left = work / 2;
		work -= stream->work_left;
	}
	set_phase(stream, SIM_READING);
	cores_add(&sim->cores, sim->now, (int) (stream - sim->streams), work);
}

static void
end_wait(Sim *sim, SimStream *stream)
{
	SimResult  *result = &sim->results[stream->query - sim->plan->queries];
	uint64_t	time = sim->now - stream->since;
	uint64_t	loads = (stream->phase == SIM_WAKING ? stream->loads_signal : sim->stats.loads) -
		stream->loads_before;
	uint64_t	bound = sim_wait_bound(sim, stream);

	sim->stats.wait_time += time;
	result->wait_time += time;
	if (time > sim->stats.longest_wait)
		sim->stats.longest_wait = time;
	if (loads > sim->stats.most_loads)
		sim->stats.most_loads = loads;
	if (sim->config.page_cache == 0 && loads > bound)
		sim_wrong(sim, "stream %d: a scan waited for %llu loads, more than the bound of %llu",
				  (int) (stream - sim->streams), (unsigned long long) loads, (unsigned long long) bound);
}

static void
deliver(Sim *sim, SimStream *stream, uint32_t chunk)
{
	stream->waited = stream->phase == SIM_BLOCKED || stream->phase == SIM_WAKING;
	if (stream->waited)
		end_wait(sim, stream);
	if (chunk >= sim->nchunks[stream->query->table] || has_had(stream, chunk))
	{
		sim_wrong(sim, "stream %d: chunk %u was delivered twice, or is not wanted",
				  (int) (stream - sim->streams), chunk);
		return;
	}
	log_delivery(sim, stream, chunk);
	stream->had[chunk / 64] |= UINT64_C(1) << (chunk % 64);
	stream->left--;
	stream->ndelivered++;
	stream->chunk = chunk;
	sim->stats.delivered++;
}

/* It reads the chunk, or what is left of it, by itself. */
static void
fetch(Sim *sim, SimStream *stream, bool rest)
{
	DiskRequest request;

	sim_next_run(sim, stream->query, stream->chunk, &request);
	if (rest && request.nblocks > 1)
	{
		uint32_t	half = request.nblocks / 2;

		request.first = request.end - half < request.first ? request.first : request.end - half;
		request.nblocks = half;
		request.nruns = 1;
	}
	request.owner = (int) (stream - sim->streams);
	set_phase(stream, SIM_FETCHING);
	disk_submit(&sim->disk, sim->now, request);
}

static void
next_query(Sim *sim, SimStream *stream)
{
	int			number = (int) (stream - sim->streams);

	if (++stream->current == stream->nqueries)
	{
		if (!sim->plan->endless[number])
		{
			set_phase(stream, SIM_DONE);
			sim->unfinished--;
			return;
		}
		stream->current = 0;
	}
	stream->query = &sim->plan->queries[stream->queries[stream->current]];
	set_phase(stream, SIM_IDLE);
	add_event(sim, stream->query->start > sim->now ? stream->query->start : sim->now, SIM_EVENT_START, stream);
}

static void
finish_scan(Sim *sim, SimStream *stream)
{
	SimResult  *result = &sim->results[stream->query - sim->plan->queries];

	if (stream->left != 0)
		sim_wrong(sim, "stream %d: a scan finished without %u of its chunks",
				  (int) (stream - sim->streams), stream->left);
	if (stream->scan != CSCAN_NONE)
	{
		cscan_pool_unregister(sim->pool, stream->scan);
		sim->stream_of[stream->scan] = CSCAN_NONE;
		stream->scan = CSCAN_NONE;
		sim->running--;
		sim->look_after = true;
	}
	result->done = true;
	result->start = stream->started;
	result->end = stream->end = sim->now;
	for (size_t i = stream->log_from; i < sim->nentries; i++)
	{
		if (sim->entries[i].stream == (int) (stream - sim->streams) && sim->entries[i].finished == SIM_NEVER)
			sim->entries[i].finished = sim->now;
	}
	next_query(sim, stream);
	sim_look_after_spaces(sim);
	sim_told(sim);
}

/* A scan that is not registered takes its chunks in order. */
static void
ask_nobody(Sim *sim, SimStream *stream)
{
	uint32_t	chunk = 0;

	if (stream->left == 0)
	{
		finish_scan(sim, stream);
		return;
	}
	while (has_had(stream, chunk))
		chunk++;
	sim->stats.self_reads++;
	deliver(sim, stream, chunk);
	fetch(sim, stream, false);
}

/*
 * When the server was last seen to get on.  A load in flight does so with every
 * step.
 */
static uint64_t
last_progress(const Sim *sim, const SimStream *stream)
{
	uint64_t	last = sim->nin_flight > 0 ? sim->now : sim->last_loaded;

	return last > stream->since ? last : stream->since;
}

/* The server's expected time of a load for the stream (us). */
static uint64_t
expected_load(const Sim *sim, const SimStream *stream)
{
	int			space = cscan_pool_space_of_scan(sim->pool, stream->scan, 0);

	return (uint64_t) cscan_pool_load_time(sim->pool, space, sim->pool->spaces[space].chunk_blocks);
}

/* When it will look again: it does so in rounds. */
static void
look_later(Sim *sim, SimStream *stream)
{
	uint64_t	rounds = (last_progress(sim, stream) + SIM_STUCK_AFTER - stream->since) / SIM_WAIT_ROUND + 1;

	if (stream->policy != CSCAN_POLICY_ELEVATOR)
		add_event(sim, stream->since + rounds * SIM_WAIT_ROUND, SIM_EVENT_LOOK, stream);
}

static void
block(Sim *sim, SimStream *stream)
{
	if (stream->phase == SIM_WAKING)
		sim->stats.vain++;
	else
	{
		stream->since = sim->now;
		stream->loads_before = sim->stats.loads;
		sim->stats.waits++;
		sim->results[stream->query - sim->plan->queries].waits++;
	}
	set_phase(stream, SIM_BLOCKED);
	look_later(sim, stream);
}

/* It wants its next chunk: see cscan_registry_next(). */
static void
ask(Sim *sim, SimStream *stream)
{
	CScanPool  *pool = sim->pool;
	int			slot;

	if (stream->scan == CSCAN_NONE)
	{
		ask_nobody(sim, stream);
		return;
	}
	slot = cscan_pool_choose(pool, stream->scan, CSCAN_NONE, sim->now);
	if (slot != CSCAN_NONE)
	{
		uint32_t	chunk;

		if (!sim_from_pool(sim, stream->query->table, pool->slots[slot].chunk, &chunk) ||
			!cscan_pool_ready_for(pool, slot, stream->scan))
			sim_wrong(sim, "stream %d: a chunk was handed out that is not ready", (int) (stream - sim->streams));
		deliver(sim, stream, chunk);
		read_chunk(sim, stream);
	}
	else if (pool->scans[stream->scan].nwanted == 0)
	{
		finish_scan(sim, stream);
		return;
	}
	else
		block(sim, stream);
	sim_told(sim);
}

static void
start_query(Sim *sim, SimStream *stream)
{
	const PlanQuery *query = stream->query;

	stream->started = sim->now;
	stream->ndelivered = 0;
	stream->log_from = sim->nentries;
	stream->scan = CSCAN_NONE;
	stream->policy = query->policy != PLAN_ANY_POLICY ? query->policy :
		sim->config.policy < CSCAN_NPOLICIES ? sim->config.policy : query->stream % CSCAN_NPOLICIES;
	if (stream->first_start == SIM_NEVER)
		stream->first_start = sim->now;
	set_wanted(sim, stream);

	/* One chunk is nothing to share. */
	if (plan_blocks(query) > sim_partition_of_block(sim, query->table, query->ranges[0].first)->chunk_blocks)
		stream->scan = sim_register(sim, query, stream->policy);
	if (stream->scan != CSCAN_NONE)
	{
		sim->stream_of[stream->scan] = query->stream;
		sim->stats.scans++;
		if (++sim->running > sim->stats.max_running)
			sim->stats.max_running = sim->running;
		if (sim->pool->scans[stream->scan].nwanted != stream->left)
			sim_wrong(sim, "stream %d: a scan wants %u chunks, its ranges touch %u", query->stream,
					  sim->pool->scans[stream->scan].nwanted, stream->left);
	}
	ask(sim, stream);
}

/* The manager has slept, and is to look after something. */
void
sim_wake_manager(Sim *sim)
{
	if (sim->manager_wakes)
		return;
	sim->manager_wakes = true;
	add_event(sim, sim->now + sim->config.manager_wake, SIM_EVENT_MANAGER, NULL);
}

/* It can use what was loaded: it wakes up, some time. */
void
sim_signal(Sim *sim, SimStream *stream)
{
	if (stream->phase != SIM_BLOCKED)
		return;
	stream->loads_signal = sim->stats.loads;
	sim->stats.wakes++;
	set_phase(stream, SIM_WAKING);
	add_event(sim, sim->now + sim->config.wake, SIM_EVENT_WAKE, stream);
}

/*
 * It has waited for long.  If nothing has been read for as long, it reads: one
 * stream in the time of a load.  And it does so when its patience ends.
 */
static void
look(Sim *sim, SimStream *stream)
{
	uint64_t	load = expected_load(sim, stream);
	uint64_t	patience = SIM_PATIENCE_LOADS * load * (uint64_t) cscan_pool_running(sim->pool);
	bool		too_long = sim->now > stream->since + (patience > SIM_PATIENCE ? patience : SIM_PATIENCE);
	bool		stuck = sim->now > last_progress(sim, stream) + SIM_STUCK_AFTER &&
		(sim->stats.self_reads == 0 || sim->now >= sim->self_read + load);
	uint32_t	number;
	uint32_t	chunk = CSCAN_NO_CHUNK;

	if (!(too_long || stuck) ||
		!cscan_pool_take(sim->pool, stream->scan, CSCAN_NONE, sim->now, &number))
	{
		look_later(sim, stream);
		return;
	}
	(void) sim_from_pool(sim, stream->query->table, number, &chunk);
	sim->stats.self_reads++;
	sim->self_read = sim->now;
	deliver(sim, stream, chunk);
	fetch(sim, stream, false);
	sim_told(sim);
}

/* The work that it had on the cores is done. */
static void
work_done(Sim *sim, SimStream *stream)
{
	uint64_t	stalled;

	if (stream->work_left == 0)
	{
		set_phase(stream, SIM_READING);
		ask(sim, stream);
		return;
	}
	set_phase(stream, SIM_PAUSED);
	add_event(sim, sim->now + stream->query->pause, SIM_EVENT_GO_ON, stream);

	/* The manager looks once in a round. */
	stalled = (sim->now + sim->config.stalled_after) / SIM_ROUND_TIME * SIM_ROUND_TIME + SIM_ROUND_TIME;
	if (stream->scan != CSCAN_NONE && stalled < sim->now + stream->query->pause)
		add_event(sim, stalled, SIM_EVENT_STALL, stream);
}

static void
go_on(Sim *sim, SimStream *stream)
{
	/* What a stalled scan has in use may go meanwhile. */
	if (stream->scan != CSCAN_NONE && sim->pool->scans[stream->scan].in_use == CSCAN_NONE)
	{
		sim->stats.refetches++;
		fetch(sim, stream, true);
		return;
	}
	set_phase(stream, SIM_READING);
	cores_add(&sim->cores, sim->now, (int) (stream - sim->streams), stream->work_left);
	stream->work_left = 0;
}

/* A scan has read blocks by itself. */
static void
fetched(Sim *sim, SimStream *stream)
{
	if (stream->work_left == 0)
		read_chunk(sim, stream);
	else
	{
		set_phase(stream, SIM_READING);
		cores_add(&sim->cores, sim->now, (int) (stream - sim->streams), stream->work_left);
		stream->work_left = 0;
	}
}

/* ------------------------------------------------------------------
 * Runs
 * ------------------------------------------------------------------ */

static void
do_event(Sim *sim, const SimEvent *event)
{
	SimStream  *stream = event->stream != CSCAN_NONE ? &sim->streams[event->stream] : NULL;

	if (stream != NULL && stream->serial != event->serial)
		return;
	switch (event->kind)
	{
		case SIM_EVENT_START:
			start_query(sim, stream);
			break;
		case SIM_EVENT_WAKE:
			ask(sim, stream);
			break;
		case SIM_EVENT_GO_ON:
			go_on(sim, stream);
			break;
		case SIM_EVENT_STALL:
			sim->stats.stalls++;
			cscan_pool_set_stalled(sim->pool, stream->scan, true);
			sim->look_after = true;
			sim_look_after_spaces(sim);
			sim_manage(sim);
			break;
		case SIM_EVENT_LOOK:
			look(sim, stream);
			break;
		case SIM_EVENT_MANAGER:
			sim->manager_wakes = false;
			sim_manager_is_awake(sim);
			break;
	}
}

/* How long was the disk idle although somebody waited, and why? */
static void
note_idle(Sim *sim)
{
	uint64_t	time = sim->now - sim->idle_since;

	if (sim->idle == SIM_IDLE_ELEVATOR)
		sim->stats.idle_elevator += time;
	else if (sim->idle == SIM_IDLE_RELEVANCE)
		sim->stats.idle_relevance += time;
	else if (sim->idle == SIM_IDLE_TAKEN)
		sim->stats.idle_taken += time;
	sim->idle_since = sim->now;
}

bool
sim_step(Sim *sim)
{
	uint64_t	disk = disk_next(&sim->disk);
	uint64_t	cores = cores_next(&sim->cores);
	uint64_t	event = sim->nevents > 0 ? sim->events[0].time : SIM_NEVER;

	if (sim->unfinished == 0 || sim->wrong[0] != '\0')
		return false;
	if (disk == SIM_NEVER && cores == SIM_NEVER && event == SIM_NEVER)
	{
		sim_wrong(sim, "deadlock: scans wait, and nothing will happen");
		return false;
	}
	sim->now = disk < cores ? disk : cores;
	if (event < sim->now)
		sim->now = event;
	note_idle(sim);
	sim->stats.events++;

	if (disk == sim->now)
	{
		DiskRequest request = disk_pop(&sim->disk, sim->now);

		if (request.owner == SIM_MANAGER)
			sim_load_read(sim, request.cached);
		else
			fetched(sim, &sim->streams[request.owner]);
	}
	else if (cores == sim->now)
	{
		int			owner = cores_pop(&sim->cores, sim->now);

		if (owner == SIM_MANAGER)
			sim_load_done(sim);
		else
			work_done(sim, &sim->streams[owner]);
	}
	else
	{
		SimEvent	next = pop_event(sim);

		do_event(sim, &next);
	}
	sim->idle = sim_why_idle(sim);
	sim_check_event(sim);
	if (sim->config.check_every > 0 && sim->stats.events % sim->config.check_every == 0)
		sim_check_all(sim);
	return true;
}

bool
sim_run(Sim *sim)
{
	while (sim_step(sim))
		;
	if (sim->wrong[0] == '\0' && sim->config.check_every > 0)
		sim_check_all(sim);
	cores_advance(&sim->cores, sim->now);
	return sim->wrong[0] == '\0';
}

/* The plan's queries by stream, in the plan's order. */
static void
divide_plan(Sim *sim)
{
	const Plan *plan = sim->plan;
	int		   *from = zeroed(plan->nstreams + 1, sizeof(int));

	for (int i = 0; i < plan->nqueries; i++)
		from[plan->queries[i].stream + 1]++;
	for (int i = 0; i < plan->nstreams; i++)
	{
		sim->streams[i].queries = sim->order + from[i];
		from[i + 1] += from[i];
	}
	for (int i = 0; i < plan->nqueries; i++)
	{
		SimStream  *stream = &sim->streams[plan->queries[i].stream];

		sim->order[from[plan->queries[i].stream] + stream->nqueries++] = i;
	}
	free(from);
}

Sim *
sim_create(const SimConfig *config, const Plan *plan)
{
	Sim		   *sim = zeroed(1, sizeof(Sim));

	sim->config = *config;
	sim->plan = plan;
	sim_tables_begin(sim);
	cores_init(&sim->cores, config->cores);
	cores_add_others(&sim->cores, config->others);
	disk_init(&sim->disk, config->bandwidth, config->latency, config->seek);
	if (config->slice > 0)
		disk_add_slices(&sim->disk, config->slice, config->own_bandwidth);
	if (config->page_cache >= EXTENT_BLOCKS)
	{
		uint32_t   *blocks = sim_file_blocks(sim);

		disk_add_cache(&sim->disk, config->page_cache, config->drop_behind, blocks, sim->npartitions);
		free(blocks);
	}

	sim->nstreams = plan->nstreams;
	sim->streams = zeroed(plan->nstreams, sizeof(SimStream));
	sim->order = zeroed(plan->nqueries, sizeof(int));
	sim->results = zeroed(plan->nqueries, sizeof(SimResult));
	sim->stream_of = zeroed(config->max_scans, sizeof(int));
	sim->in_flight = zeroed(config->depth, sizeof(SimLoad));
	for (int i = 0; i < config->max_scans; i++)
		sim->stream_of[i] = CSCAN_NONE;
	divide_plan(sim);
	for (int i = 0; i < sim->nstreams; i++)
	{
		SimStream  *stream = &sim->streams[i];

		stream->scan = CSCAN_NONE;
		stream->first_start = SIM_NEVER;
		stream->current = -1;
		sim->unfinished += !plan->endless[i];
		if (stream->nqueries > 0)
			next_query(sim, stream);
		else
		{
			stream->phase = SIM_DONE;
			sim->unfinished -= !plan->endless[i];
		}
	}
	return sim;
}

void
sim_free(Sim *sim)
{
	for (int i = 0; i < sim->nstreams; i++)
		free(sim->streams[i].had);
	sim_tables_end(sim);
	cores_free(&sim->cores);
	disk_free(&sim->disk);
	free(sim->streams);
	free(sim->order);
	free(sim->results);
	free(sim->stream_of);
	free(sim->events);
	free(sim->in_flight);
	free(sim->entries);
	free(sim);
}
