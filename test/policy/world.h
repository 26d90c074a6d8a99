/*-------------------------------------------------------------------------
 *
 * world.h
 *		A small unfriendly world around one pool, for test_starvation.c.
 *
 * Clients run scans over growing tables, each over one of them or over several at
 * once, as a partitioned table's.  A manager with several loads in flight does what
 * the pool decides.  Loads end out of order, fail, or find all of their blocks in
 * memory; whoever is woken may take long to wake up.  Whether a table's chunks may
 * be loaded turns out after its first scan has come.  A table that nobody scans may
 * go and come again, with other numbers.  All of it follows from one seed.  After
 * each of the first events, and after some of the others, the pool's invariants are
 * checked, and an idle disk must have a reason.
 *
 * The world keeps its own plain record, block by block, of what each client
 * wants and of what the loads have brought.  A load must bring what active
 * scans want and is not there, and nothing else; a chunk that is handed out
 * must have all blocks that its reader wants.
 *
 *-------------------------------------------------------------------------
 */
#ifndef WORLD_H
#define WORLD_H

#include "harness.h"

#define WORLD_CLIENTS		24
#define WORLD_TABLES		6
#define WORLD_MAX_CHUNKS	128 /* of a table */

/* Numbers of chunks: enough for any order in which tables come and go. */
#define WORLD_CHUNKS		(2 * WORLD_TABLES * WORLD_MAX_CHUNKS)
#define WORLD_INFLIGHT		4

/* Blocks of a table, at most. */
#define WORLD_MAX_BLOCKS	65536

/* ... and of a chunk */
#define WORLD_MAX_CHUNK_BLOCKS	2048

/* A load of the largest chunk takes about this long (us), others less. */
#define WORLD_LOAD			1000

/* A scan that keeps its chunk for longer is stalled. */
#define WORLD_PATIENCE		(25 * WORLD_LOAD)

/* After so many events the pool's invariants are checked less often. */
#define WORLD_ALL_EVENTS	1000

typedef enum ClientPhase
{
	CLIENT_ABSENT,				/* no scan; arrives at "next" */
	CLIENT_READING,				/* has a chunk until "next" */
	CLIENT_BLOCKED,				/* wakes up at "next", if ever */
	CLIENT_GONE
} ClientPhase;

typedef struct Client
{
	/* What it is. */
	CScanPolicyId policy;
	int			ntables;
	int			tables[WORLD_TABLES];
	uint32_t	chunks;			/* as many in a row of each, 0: all */
	uint32_t	holes;			/* longest gap between its ranges in these, 0:
								 * all of them is one range */
	uint64_t	cpu;			/* time that it spends on a chunk (us) */
	bool		stalls;			/* now and then on one for very long */
	bool		endless;		/* comes again until all others are done */
	uint64_t	pause;			/* at most so long before it comes (again) */

	/* What it does. */
	ClientPhase phase;
	uint64_t	next;
	uint64_t	stalled_at;
	int			scan;
	uint32_t	nblocks[WORLD_TABLES];	/* of each table when it came */
	bool		whole[WORLD_TABLES];	/* it wants all of the table */
	bool	   *wants[WORLD_TABLES];	/* for each block; NULL: none of the table */
	uint32_t	left;			/* chunks that it has not had yet */
	bool		had[WORLD_CHUNKS];	/* or does not want; by number */
	uint64_t	blocks_before;	/* blocks loaded when it blocked */
	uint64_t	needed_before;	/* blocks that it needed then */
} Client;

typedef struct World
{
	Random		random;
	CScanPool  *pool;
	int			ntables;
	int			table[WORLD_TABLES];
	uint32_t	first[WORLD_TABLES];	/* the number of its first chunk */
	uint32_t	size[WORLD_TABLES];	/* blocks of a chunk */
	uint32_t	largest;		/* of these */
	uint32_t	nblocks[WORLD_TABLES];
	uint32_t	max_blocks[WORLD_TABLES];
	bool	   *loaded[WORLD_TABLES];	/* for each block */
	uint64_t	decided_at[WORLD_TABLES];	/* whether it may be loaded */
	bool		failed[WORLD_CHUNKS];
	uint64_t	blocks;			/* loaded so far */
	bool		grows;			/* tables do, by a chunk and a half a scan at most */
	int			nclients;
	Client		clients[WORLD_CLIENTS];
	int			max_inflight;
	int			ninflight;
	CScanAction inflight[WORLD_INFLIGHT];	/* loads */
	bool		anew[WORLD_INFLIGHT];	/* of what a slot has already */
	uint64_t	done_at[WORLD_INFLIGHT];
	uint32_t	fail_percent;
	uint32_t	cached_percent;
	uint32_t	take_percent;
	uint32_t	refuse_percent; /* tables that may not be loaded; 0: all may,
								 * from the beginning */
	uint32_t	leave_percent;	/* tables that go when nobody scans them */
	bool		releases;		/* what nobody wants is not held */
	uint64_t	sluggish;		/* time that it may take to wake up (us) */
	uint64_t	max_loads;		/* more in all are a failure */
	uint64_t	now;
	bool		trace;

	/* What was seen. */
	const char *wrong;			/* the first thing that was, or NULL */
	int			wrong_client;
	uint64_t	longest;		/* most chunks' worth of loads during one wait */
	uint64_t	idle;			/* idle decisions while a scan was blocked ... */
	uint64_t	idle_elevator;	/* ... on an elevator that waits for a reader */
	uint64_t	idle_relevance; /* ... under relevance, which prefers a reader */
	uint64_t	vain;			/* wake-ups that found nothing */
	uint64_t	top_ups;		/* loads of what a slot lacked */
	uint64_t	reloads;		/* ... into a slot that was not held */
	uint64_t	families;		/* scans of several tables */
	uint64_t	refused;		/* chunks that were read without a load, so */
	uint64_t	renumbered;		/* tables that came again */
} World;

extern void world_begin(World *world, uint64_t seed, int max_slots, uint32_t budget);
extern int	world_table(World *world, uint32_t chunk_blocks, uint32_t nblocks,
						uint32_t max_blocks);
extern Client *world_client(World *world, CScanPolicyId policy, int table,
							uint32_t chunks, uint64_t cpu);

/* It scans this table, too. */
extern void world_join(World *world, Client *client, int table);

/* Runs until every client that is not endless has finished. */
extern bool world_run(World *world);
extern void world_end(World *world);

#endif							/* WORLD_H */
