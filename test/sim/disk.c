/*-------------------------------------------------------------------------
 *
 * disk.c
 *		See disk.h.
 *
 *-------------------------------------------------------------------------
 */
#include "disk.h"
#include "reporter.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void
disk_init(Disk *disk, double bandwidth, uint64_t latency, uint64_t seek)
{
	memset(disk, 0, sizeof(*disk));
	disk->bandwidth = bandwidth;
	disk->latency = latency;
	disk->seek = seek;
	disk->head_file = -1;
	disk->max_requests = 16;
	disk->queue = zeroed(disk->max_requests, sizeof(DiskRequest));
}

void
disk_add_slices(Disk *disk, uint64_t slice, double own_bandwidth)
{
	disk->slice = slice;
	disk->own_bandwidth = own_bandwidth > disk->bandwidth ? own_bandwidth : disk->bandwidth;
	disk->last_read = -(double) slice;
}

void
disk_free(Disk *disk)
{
	free(disk->queue);
	free(disk->cache.base);
	free(disk->cache.before);
	free(disk->cache.after);
	free(disk->cache.there);
}

/* ------------------------------------------------------------------
 * Page cache
 * ------------------------------------------------------------------ */

void
disk_add_cache(Disk *disk, uint32_t blocks, bool drop_behind, const uint32_t *file_blocks, int nfiles)
{
	DiskCache  *cache = &disk->cache;
	uint32_t	n = 1;			/* entry 0 is the list's two ends */

	cache->limit = blocks / EXTENT_BLOCKS;
	cache->base = zeroed(nfiles, sizeof(uint32_t));
	for (int i = 0; i < nfiles; i++)
	{
		cache->base[i] = n;
		n += (file_blocks[i] - 1) / EXTENT_BLOCKS + 1;
	}
	cache->before = zeroed(n, sizeof(uint32_t));
	cache->after = zeroed(n, sizeof(uint32_t));
	cache->there = zeroed(n, sizeof(bool));
	cache->drop_behind = drop_behind;
	cscan_keep_begin(&cache->keep);
}

static void
unlink_extent(DiskCache *cache, uint32_t e)
{
	cache->after[cache->before[e]] = cache->after[e];
	cache->before[cache->after[e]] = cache->before[e];
}

static void
put_first(DiskCache *cache, uint32_t e)
{
	cache->before[e] = 0;
	cache->after[e] = cache->after[0];
	cache->before[cache->after[0]] = e;
	cache->after[0] = e;
}

/* Read an extent through the cache.  Was it there? */
static bool
use_extent(DiskCache *cache, uint32_t e)
{
	bool		there = cache->there[e];

	if (there)
		unlink_extent(cache, e);
	else if (cache->held == cache->limit)
	{
		uint32_t	last = cache->before[0];

		unlink_extent(cache, last);
		cache->there[last] = false;
	}
	else
		cache->held++;
	cache->there[e] = true;
	put_first(cache, e);
	return there;
}

static void
drop_extent(DiskCache *cache, uint32_t e)
{
	if (!cache->there[e])
		return;
	unlink_extent(cache, e);
	cache->there[e] = false;
	cache->held--;
}

/* Blocks of a request that have to come from the disk. */
static uint32_t
blocks_missing(Disk *disk, const DiskRequest *request)
{
	DiskCache  *cache = &disk->cache;
	uint32_t	span = request->end - request->first;
	uint32_t	first;
	uint32_t	end;
	uint64_t	name;
	uint32_t	found = 0;
	uint32_t	missing = 0;
	bool		there;
	bool		keep = true;

	if (cache->limit == 0)
		return request->nblocks;
	first = cache->base[request->file] + request->first / EXTENT_BLOCKS;
	end = cache->base[request->file] + (request->end - 1) / EXTENT_BLOCKS + 1;
	name = (first + 1) * UINT64_C(0x9E3779B97F4A7C15);
	for (uint32_t e = first; e < end; e++)
		found += cache->there[e];
	there = 2 * found > end - first;
	name ^= name >> 32;
	if (cache->drop_behind)
		keep = cscan_keep(&cache->keep, name, request->nblocks, there);

	for (uint32_t b = request->first; b < request->end; b = (b / EXTENT_BLOCKS + 1) * EXTENT_BLOCKS)
	{
		uint32_t	e = cache->base[request->file] + b / EXTENT_BLOCKS;
		uint32_t	next = (b / EXTENT_BLOCKS + 1) * EXTENT_BLOCKS;

		if (!(keep ? use_extent(cache, e) : cache->there[e]))
			missing += (next < request->end ? next : request->end) - b;
		if (!keep)
			drop_extent(cache, e);
	}
	if (cache->drop_behind && keep && !there)
		cscan_keep_remember(&cache->keep, name, request->nblocks);

	/* Runs with gaps between them: as if they were spread evenly. */
	return (uint32_t) ((uint64_t) missing * request->nblocks / span);
}

/* ------------------------------------------------------------------
 * The queue
 * ------------------------------------------------------------------ */

/*
 * How long a transfer takes that begins at this time.  As Linux counts
 * (blk-throttle): what was read since a first slice began may be as much as the
 * bandwidth allows until the end of the present one; the first one moves on, so
 * that at most two before the present one count; after a slice without a read
 * there is a new first one.
 */
static double
transfer(Disk *disk, double start, double bytes)
{
	double		slice = (double) disk->slice;
	double		per_slice = disk->bandwidth * slice / 1e6;
	double		at = start;

	if (disk->slice == 0)
		return bytes * 1e6 / disk->bandwidth;
	while (bytes > 0)
	{
		double		number;		/* the present slice's, 0 is the first */
		double		part;

		if (at >= disk->last_read + slice)
		{
			disk->first_slice = at;
			disk->read = 0;
		}
		number = floor((at - disk->first_slice) / slice);
		if (number > 2)
		{
			disk->first_slice += (number - 2) * slice;
			disk->read = fmax(disk->read - (number - 2) * per_slice, 0);
			number = 2;
		}
		part = fmin(bytes, (number + 1) * per_slice - disk->read);
		if (part <= 0)
		{
			at = disk->first_slice + (number + 1) * slice;
			disk->last_read = at;
			continue;
		}
		bytes -= part;
		disk->read += part;
		at += part * 1e6 / disk->own_bandwidth;
		disk->last_read = at;
	}
	return at - start;
}

/* The first request of the queue is the next to be served. */
static void
begin(Disk *disk, uint64_t now)
{
	DiskRequest *request = &disk->queue[disk->first];
	uint32_t	blocks = blocks_missing(disk, request);
	uint32_t	seeks = request->nruns - 1;
	uint64_t	start;
	double		time;

	request->cached = blocks == 0;
	start = request->ready > now && !request->cached ? request->ready : now;
	if (request->file != disk->head_file || request->first != disk->head)
		seeks++;
	if (blocks == 0)
		seeks = 0;
	else
	{
		disk->head_file = request->file;
		disk->head = request->end;
	}
	time = (double) seeks * (double) disk->seek;
	disk->busy += time + (double) blocks * BLOCK_BYTES * 1e6 / disk->bandwidth;
	time += transfer(disk, (double) start + time, (double) blocks * BLOCK_BYTES);
	disk->nseeks += seeks;
	disk->blocks += blocks;

	/* In the long run the bandwidth is exact. */
	time += (double) (request->nblocks - blocks) * CACHED_BLOCK_TIME + disk->rounding;
	disk->rounding = time - floor(time);
	disk->done_at = start + (uint64_t) floor(time);
}

void
disk_submit(Disk *disk, uint64_t now, DiskRequest request)
{
	request.ready = now + disk->latency;
	if (disk->nrequests == disk->max_requests)
	{
		DiskRequest *queue = zeroed(2 * (size_t) disk->max_requests, sizeof(DiskRequest));

		for (int i = 0; i < disk->nrequests; i++)
			queue[i] = disk->queue[(disk->first + i) % disk->max_requests];
		free(disk->queue);
		disk->queue = queue;
		disk->first = 0;
		disk->max_requests *= 2;
	}
	disk->queue[(disk->first + disk->nrequests++) % disk->max_requests] = request;
	if (disk->nrequests == 1)
		begin(disk, now);
}

uint64_t
disk_next(const Disk *disk)
{
	return disk->nrequests == 0 ? SIM_NEVER : disk->done_at;
}

DiskRequest
disk_pop(Disk *disk, uint64_t now)
{
	DiskRequest request = disk->queue[disk->first];

	disk->first = (disk->first + 1) % disk->max_requests;
	disk->nserved++;
	if (--disk->nrequests > 0)
		begin(disk, now);
	return request;
}
