/*-------------------------------------------------------------------------
 *
 * tables.c
 *		The plan's tables, their partitions, and the pool's spaces.
 *
 * A table without partitions is one partition.  The pool has a space for each
 * partition that a scan has announced and that the manager has not let go of since.
 *
 *-------------------------------------------------------------------------
 */
#include "engine.h"
#include "reporter.h"

#include <stdlib.h>
#include <string.h>

/*
 * Numbers of chunks: so many times as many as there are chunks, as numbers that
 * spaces leave behind do not always suit the next ones.
 */
#define SPARE_NUMBERS	4

/* A family's slots may be smaller than a chunk: the server allows for so many blocks. */
#define SMALL_SLOT		128

#define Min(a, b)	((a) < (b) ? (a) : (b))
#define Max(a, b)	((a) > (b) ? (a) : (b))

/* Chunks are at least as large as this: see cscan_pool_chunk_blocks(). */
static uint32_t
smallest_chunk(const SimConfig *config)
{
	uint32_t	smallest = Min(config->chunk_blocks, config->budget / 8);

	return Max(smallest, 1);
}

static CScanPool *
create_pool(const Sim *sim)
{
	const SimConfig *config = &sim->config;
	uint32_t	smallest = smallest_chunk(config);
	uint32_t	slot = config->partitions > 1 ? Min(smallest, SMALL_SLOT) : smallest;
	uint64_t	nchunks = 0;
	CScanLimits limits = {0};
	CScanPool  *pool;

	for (int i = 0; i < sim->npartitions; i++)
		nchunks += Min(cscan_space_chunks_for(smallest, sim->partitions[i].nblocks), CSCAN_MAX_CHUNKS);
	limits.max_scans = config->max_scans;
	limits.max_spaces = sim->npartitions;
	limits.max_slots = 16 + (int32_t) (Max(config->room, config->budget) / slot);
	limits.max_chunks = (uint32_t) (SPARE_NUMBERS * nchunks + 63) / 64 * 64;
	pool = pool_create_limited(&limits, config->budget);
	cscan_pool_set_limits(pool, config->budget, config->room);
	return pool;
}

/* Cut the tables into partitions, and make a pool that has room for them. */
void
sim_tables_begin(Sim *sim)
{
	const SimConfig *config = &sim->config;
	int			n = 0;

	sim->npartitions = config->ntables * (int) config->partitions;
	sim->partitions = zeroed(sim->npartitions, sizeof(SimPartition));
	sim->partition_of = zeroed(sim->npartitions, sizeof(int));
	for (int t = 0; t < config->ntables; t++)
	{
		for (uint32_t i = 0; i < config->partitions; i++)
		{
			SimPartition *p = &sim->partitions[n++];

			p->table = t;
			p->first_block = plan_partition(config->table_blocks[t], config->partitions, i);
			p->nblocks = plan_partition(config->table_blocks[t], config->partitions, i + 1) - p->first_block;
			p->space = CSCAN_NONE;
		}
	}
	sim->pool = create_pool(sim);

	for (int i = 0; i < sim->npartitions; i++)
	{
		SimPartition *p = &sim->partitions[i];

		p->chunk_blocks = config->columns.ncolumns > 0 ? config->chunk_blocks :
			cscan_pool_chunk_blocks(sim->pool, config->chunk_blocks, p->nblocks);
		p->largest = Min(p->chunk_blocks, p->nblocks);
		p->nchunks = cscan_space_chunks_for(p->chunk_blocks, p->nblocks);
		p->first_chunk = sim->nchunks[p->table];
		sim->nchunks[p->table] += p->nchunks;
		sim->sweep += p->nblocks / p->chunk_blocks + 1;
	}
}

void
sim_tables_end(Sim *sim)
{
	pool_free(sim->pool);
	free(sim->partitions);
	free(sim->partition_of);
}

/* The sizes of the partitions, as those of files; the caller frees them. */
uint32_t *
sim_file_blocks(const Sim *sim)
{
	uint32_t   *blocks = zeroed(sim->npartitions, sizeof(uint32_t));

	for (int i = 0; i < sim->npartitions; i++)
		blocks[i] = sim->partitions[i].nblocks;
	return blocks;
}

/* The last partition of a table that begins at a block, or a chunk, or before it. */
static const SimPartition *
find(const Sim *sim, int table, uint32_t number, bool chunk)
{
	int			low = table * (int) sim->config.partitions;
	int			high = low + (int) sim->config.partitions;

	while (high - low > 1)
	{
		int			middle = (low + high) / 2;
		const SimPartition *p = &sim->partitions[middle];

		if ((chunk ? p->first_chunk : p->first_block) <= number)
			low = middle;
		else
			high = middle;
	}
	return &sim->partitions[low];
}

const SimPartition *
sim_partition_of_chunk(const Sim *sim, int table, uint32_t chunk)
{
	return find(sim, table, chunk, true);
}

const SimPartition *
sim_partition_of_block(const Sim *sim, int table, uint32_t block)
{
	return find(sim, table, block, false);
}

/* The chunk of a table that a block is in. */
uint32_t
sim_chunk_of(const Sim *sim, int table, uint32_t block)
{
	const SimPartition *p = sim_partition_of_block(sim, table, block);

	return p->first_chunk + (block - p->first_block) / p->chunk_blocks;
}

/* The chunk of a table that has this number in the pool, and whether it is one of that table. */
bool
sim_from_pool(const Sim *sim, int table, uint32_t number, uint32_t *chunk)
{
	int			space = sim->pool->space_of[number];
	const SimPartition *p;

	if (space == CSCAN_NONE)
		return false;
	p = &sim->partitions[sim->partition_of[space]];
	*chunk = p->first_chunk + number - sim->pool->spaces[space].first_chunk;
	return p->space == space && p->table == table;
}

/* The other way round; CSCAN_NO_CHUNK if its partition has no space. */
uint32_t
sim_to_pool(const Sim *sim, int table, uint32_t chunk)
{
	const SimPartition *p = sim_partition_of_chunk(sim, table, chunk);

	if (p->space == CSCAN_NONE)
		return CSCAN_NO_CHUNK;
	return sim->pool->spaces[p->space].first_chunk + chunk - p->first_chunk;
}

/* Likewise of one that has columns. */
static uint32_t
columns_run(const Sim *sim, const PlanQuery *query, uint32_t base, DiskRequest *request)
{
	const CScanLayout *layout = &sim->config.columns;

	for (uint64_t left = (query->columns | sim->config.common) & cscan_layout_all(layout); left != 0; left &= left - 1)
	{
		uint32_t	c = (uint32_t) __builtin_ctzll(left);

		if (request->nruns == 0 || base + layout->begin[c] != request->end)
			request->nruns++;
		if (request->nblocks == 0)
			request->first = base + layout->begin[c];
		request->end = base + layout->begin[c + 1];
		request->nblocks += cscan_layout_size(layout, c);
	}
	return request->nblocks;
}

/*
 * What a query wants of a chunk, as a request to the disk; returns the number of
 * blocks.
 */
uint32_t
sim_next_run(const Sim *sim, const PlanQuery *query, uint32_t chunk, DiskRequest *request)
{
	const SimPartition *p = sim_partition_of_chunk(sim, query->table, chunk);
	uint32_t	base = p->first_block + (chunk - p->first_chunk) * p->chunk_blocks;
	uint32_t	limit = Min(base + p->chunk_blocks, p->first_block + p->nblocks);
	uint32_t	low = 0;
	uint32_t	high = query->nranges;

	memset(request, 0, sizeof(*request));
	request->file = (int) (p - sim->partitions);
	if (sim->config.columns.ncolumns > 0)
		return columns_run(sim, query, base, request);
	while (low < high)
	{
		uint32_t	middle = (low + high) / 2;

		if (query->ranges[middle].end <= base)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < query->nranges && query->ranges[low].first < limit; low++)
	{
		uint32_t	first = Max(query->ranges[low].first, base) - p->first_block;
		uint32_t	end = Min(query->ranges[low].end, limit) - p->first_block;

		if (request->nruns == 0 || first != request->end)
			request->nruns++;
		if (request->nblocks == 0)
			request->first = first;
		request->end = end;
		request->nblocks += end - first;
	}
	return request->nblocks;
}

/* ------------------------------------------------------------------
 * Spaces
 * ------------------------------------------------------------------ */

static bool
have_space(Sim *sim, SimPartition *p)
{
	if (p->space != CSCAN_NONE)
		return true;
	p->space = cscan_pool_add_space(sim->pool, p->chunk_blocks, p->nchunks, 0);
	if (p->space == CSCAN_NONE)
		return false;
	if (sim->config.columns.ncolumns > 0)
		cscan_pool_set_columnar(sim->pool, p->space, &sim->config.columns);
	cscan_pool_set_access(sim->pool, p->space, CSCAN_ACCESS_GRANTED);
	sim->partition_of[p->space] = (int) (p - sim->partitions);
	return true;
}

/* Announce what a query wants of a partition, if it is anything; its ranges from *next on. */
static void
announce(Sim *sim, int scan, const PlanQuery *query, const SimPartition *p, uint32_t *next)
{
	uint32_t	end = p->first_block + p->nblocks;
	CScanRange	ranges[CSCAN_MAX_RANGES];
	uint32_t	n = 0;

	while (*next < query->nranges && query->ranges[*next].first < end)
	{
		const CScanRange *range = &query->ranges[*next];

		ranges[n].first = Max(range->first, p->first_block) - p->first_block;
		ranges[n++].end = Min(range->end, end) - p->first_block;
		if (range->end > end)
			break;
		++*next;
	}
	if (n > 0)
		cscan_pool_announce(sim->pool, scan, p->space, p->nblocks, ranges, n);
}

/*
 * Register a query's scan: it announces the partitions that it touches.  Returns
 * CSCAN_NONE where there is no room for it.
 */
int
sim_register(Sim *sim, const PlanQuery *query, CScanPolicyId policy)
{
	SimPartition *first = &sim->partitions[query->table * (int) sim->config.partitions];
	uint32_t	next = 0;
	int			scan;

	for (uint32_t r = 0; r < query->nranges; r++)
	{
		const SimPartition *from = sim_partition_of_block(sim, query->table, query->ranges[r].first);
		const SimPartition *to = sim_partition_of_block(sim, query->table, query->ranges[r].end - 1);

		for (SimPartition *p = first + (from - first); p <= to; p++)
		{
			if (!have_space(sim, p))
				return CSCAN_NONE;
		}
	}
	scan = cscan_pool_register(sim->pool, policy, sim->now);
	for (uint32_t i = 0; i < sim->config.partitions && scan != CSCAN_NONE && next < query->nranges; i++)
		announce(sim, scan, query, &first[i], &next);
	if (scan != CSCAN_NONE && sim->config.columns.ncolumns > 0)
		cscan_pool_set_columns(sim->pool, scan, query->columns | sim->config.common, sim->config.common);
	if (scan != CSCAN_NONE)
		cscan_pool_start(sim->pool, scan, sim->now);
	return scan;
}
