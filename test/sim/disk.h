/*-------------------------------------------------------------------------
 *
 * disk.h
 *		A disk that serves requests in the order in which they came.
 *
 * A request is for some runs of blocks of one chunk.  It costs
 *
 *		latency		from its arrival until it can begin; latencies of requests
 *					that wait side by side pass at the same time, which is what
 *					a queue is good for
 *		seek		for each run that does not follow the block read last
 *		transfer	its bytes at the disk's bandwidth
 *
 * so with a queue that is never empty a request costs seeks and transfer alone.
 *
 * A disk that is limited by one of Linux's control groups is quicker than that,
 * for a while: in each slice of time it reads at its own speed what the bandwidth
 * allows for the whole slice, and then nothing until the next; what was not used
 * of a slice can be had in the next two.  So a pause of its readers costs nothing
 * if they catch up in time.
 *
 * In front of the disk there may be a page cache: extents of EXTENT_BLOCKS,
 * least recently used out.  What is in it costs no more than to copy it: it is
 * there as soon as it is asked for, and nobody sleeps until then.  What
 * comes there is decided as the server does with cscan.drop_behind = auto, or it
 * is all of it.
 * Times are in us.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SIM_DISK_H
#define SIM_DISK_H

#include "cores.h"
#include "keep.h"

#define BLOCK_BYTES		8192
#define EXTENT_BLOCKS	64

/* To copy a block that is in the page cache (us). */
#define CACHED_BLOCK_TIME	1.0

typedef struct DiskRequest
{
	int			owner;			/* the caller's */
	int			file;
	uint32_t	first;			/* its first block, and */
	uint32_t	end;			/* the one behind its last */
	uint32_t	nblocks;		/* blocks of these that it is for, */
	uint32_t	nruns;			/* in so many runs */
	uint64_t	ready;			/* arrival and latency */
	bool		cached;			/* all of it was in the page cache; known when
								 * it comes back */
} DiskRequest;

typedef struct DiskCache
{
	uint32_t	limit;			/* extents that it can hold */
	uint32_t	held;
	uint32_t   *base;			/* a file's first extent */
	uint32_t   *before;			/* neighbours in the list of those held, the */
	uint32_t   *after;			/* last used first; ends at entry 0 */
	bool	   *there;
	bool		drop_behind;	/* not all comes there */
	CScanKeep	keep;
} DiskCache;

typedef struct Disk
{
	double		bandwidth;		/* bytes in a second */
	double		own_bandwidth;	/* likewise, without its limit; with slices */
	uint64_t	slice;			/* 0: none */
	double		first_slice;	/* when it began (us) */
	double		read;			/* since then, in bytes */
	double		last_read;		/* us */
	uint64_t	latency;
	uint64_t	seek;
	DiskCache	cache;

	/* The queue, a ring; the first one is being served. */
	DiskRequest *queue;
	int			first;
	int			nrequests;
	int			max_requests;
	uint64_t	done_at;		/* when that one is complete */

	/* Where the head is. */
	int			head_file;
	uint32_t	head;
	double		rounding;		/* part of a us that was not counted yet */

	/* Sums. */
	uint64_t	nserved;
	uint64_t	nseeks;
	uint64_t	blocks;			/* transferred */
	double		busy;			/* seeking or transferring (us) */
} Disk;

extern void disk_init(Disk *disk, double bandwidth, uint64_t latency, uint64_t seek);

/* Its bandwidth is a limit for each slice of so many us; its own is this. */
extern void disk_add_slices(Disk *disk, uint64_t slice, double own_bandwidth);

/* A page cache of so many blocks in front of it, for files of these sizes. */
extern void disk_add_cache(Disk *disk, uint32_t blocks, bool drop_behind,
						   const uint32_t *file_blocks, int nfiles);
extern void disk_free(Disk *disk);
extern void disk_submit(Disk *disk, uint64_t now, DiskRequest request);

/* When the next request is complete, and which; taken out at that time. */
extern uint64_t disk_next(const Disk *disk);
extern DiskRequest disk_pop(Disk *disk, uint64_t now);

#endif							/* SIM_DISK_H */
