/*-------------------------------------------------------------------------
 *
 * engine.h
 *		A discrete-event simulation of the server around one pool.
 *
 * Streams run the queries of a plan; each query is a scan, which asks the pool
 * for a chunk, reads it on the cores, and asks again.  A manager does what the
 * server's Active Buffer Manager does (manager.c), with a disk.  The engine
 * goes from event to event on a virtual clock, in us; nothing depends on
 * anything but the configuration and the plan.
 *
 * A scan's life:
 *
 *		IDLE --start--> ask ----chunk----> READING ---done---> ask
 *		                 |                   |  ^                |
 *		                 |               pause  go on            +--> IDLE, DONE
 *		                 |                   v  |
 *		                 |                  PAUSED
 *		                 +----none----> BLOCKED --signal--> WAKING --> ask
 *		                 |                 |
 *		                 |             nothing read for a second
 *		                 |                 v
 *		                 +--no place--> FETCHING --from the disk--> READING
 *
 * Invariants, checked in every run (check.c):
 *	- each wanted chunk is delivered once to each scan;
 *	- the pool's budget and room are not exceeded;
 *	- no scan waits for more loads than its policy's bound (sim_wait_bound);
 *	- while a scan is blocked and room can be made the disk is not idle.
 *	The first violation ends the run; sim->wrong says what it was.
 *
 * Tables may be indexes of columns: then a query wants whole chunks, and some
 * columns of each.  They may be families of partitions.  The engine numbers chunks by table, through
 * all of its partitions; tables.c knows their numbers in the pool.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SIM_ENGINE_H
#define SIM_ENGINE_H

#include "bound.h"
#include "cores.h"
#include "disk.h"
#include "workload.h"

typedef struct SimConfig
{
	int			cores;
	double		others;			/* processes that compete for them all the time */
	double		bandwidth;		/* of the disk, bytes a second */
	double		own_bandwidth;	/* likewise, and */
	uint64_t	slice;			/* in us: see disk.h; 0: none */
	uint64_t	latency;		/* of a request (us) */
	uint64_t	seek;			/* of the disk (us) */
	int			depth;			/* loads in flight */
	uint32_t	budget;			/* of the pool, in blocks */
	uint32_t	room;			/* likewise */
	uint32_t	chunk_blocks;
	int			max_scans;		/* that can be registered */
	uint32_t	page_cache;		/* in blocks */
	bool		drop_behind;	/* not all that is read comes there */
	uint64_t	wake;			/* time that a wake-up takes (us), of a scan */
	uint64_t	manager_wake;	/* and of the manager */
	uint64_t	stalled_after;	/* us */
	double		load_cpu;		/* the manager's CPU time for a block (us) */
	double		chunk_cpu;		/* a scan's CPU time for a chunk as such (us) */
	double		wait_cpu;		/* and for having waited for it (us) */
	int			policy;			/* a CScanPolicyId, or CSCAN_NPOLICIES: the
								 * streams have them in turn */
	int			ntables;
	uint32_t	table_blocks[PLAN_MAX_TABLES];
	uint32_t	partitions;		/* of each table; 1: it is not cut */
	CScanLayout columns;		/* of an index of columns: its chunks have
								 * these; ncolumns = 0: tables have none */
	uint64_t	common;			/* columns that all queries read */
	bool		log;			/* keep what the lower bound needs */
	uint64_t	check_every;	/* events between two full checks; 0: none */
} SimConfig;

typedef enum SimPhase
{
	SIM_IDLE,					/* between two queries */
	SIM_READING,				/* has a chunk, and is on the cores */
	SIM_PAUSED,					/* has a chunk, and does nothing */
	SIM_FETCHING,				/* reads blocks itself, from the disk */
	SIM_BLOCKED,				/* waits for a chunk */
	SIM_WAKING,					/* has been signalled */
	SIM_DONE
} SimPhase;

/* A stream and its query of the moment. */
typedef struct SimStream
{
	SimPhase	phase;
	uint64_t	serial;			/* grows with every change of phase */
	const int  *queries;		/* of the plan, which are this stream's */
	int			nqueries;
	int			current;		/* the one that runs, or comes next */
	uint64_t	first_start;	/* of the stream's first query, SIM_NEVER: not
								 * yet */
	uint64_t	end;			/* of the last one so far */

	/* The scan. */
	const PlanQuery *query;
	int			scan;			/* its place in the pool, CSCAN_NONE: it reads
								 * all by itself */
	CScanPolicyId policy;
	uint64_t	started;
	uint32_t	left;			/* chunks that it has not had yet */
	uint64_t   *had;			/* those that it has had, or does not want */
	uint64_t	log_from;		/* its first entry in the log */
	uint32_t	ndelivered;

	/* Its chunk. */
	uint32_t	chunk;
	double		work_left;		/* after a pause (us of CPU) */
	bool		waited;			/* for it */

	/* Its wait. */
	uint64_t	since;
	uint64_t	loads_before;	/* loads when it blocked */
	uint64_t	loads_signal;	/* ... when it was signalled */
} SimStream;

/* What became of a query; of an endless one's repetitions the last. */
typedef struct SimResult
{
	bool		done;
	uint64_t	start;
	uint64_t	end;
	uint64_t	waits;
	uint64_t	wait_time;
} SimResult;

typedef enum SimEventKind
{
	SIM_EVENT_START,			/* a stream's next query begins */
	SIM_EVENT_WAKE,
	SIM_EVENT_GO_ON,			/* after a pause */
	SIM_EVENT_STALL,
	SIM_EVENT_LOOK,				/* is it of any use to wait? */
	SIM_EVENT_MANAGER			/* the manager is awake */
} SimEventKind;

typedef struct SimEvent
{
	uint64_t	time;
	uint64_t	order;
	SimEventKind kind;
	int			stream;			/* CSCAN_NONE: of none */
	uint64_t	serial;			/* void if the stream's is another one now */
} SimEvent;

/* A table's, or the table itself if it has no others. */
typedef struct SimPartition
{
	int			table;			/* of the plan */
	uint32_t	first_block;	/* of the table's, and */
	uint32_t	nblocks;		/* so many */
	uint32_t	chunk_blocks;
	uint32_t	largest;		/* blocks in its first chunk */
	uint32_t	first_chunk;	/* of the table's, likewise */
	uint32_t	nchunks;
	int			space;			/* of the pool, or CSCAN_NONE */
} SimPartition;

typedef struct SimLoad
{
	int			slot;
	int			space;
	uint64_t	started;
	uint32_t	nblocks;
	bool		read;			/* off the disk; what is left is CPU work */
} SimLoad;

typedef struct SimLogEntry
{
	int			stream;
	int			table;			/* of the plan */
	uint32_t	chunk;
	bool		light;			/* not all of the chunk's blocks */
	uint64_t	registered;
	uint64_t	delivered;
	uint64_t	finished;		/* when the scan left */
} SimLogEntry;

typedef struct SimStats
{
	uint64_t	events;
	uint64_t	scans;
	uint64_t	delivered;
	uint64_t	loads;
	uint64_t	loaded_blocks;
	uint64_t	evictions;
	uint64_t	self_reads;
	uint64_t	refetches;		/* of what a stalled scan has lost */
	uint64_t	waits;
	uint64_t	wait_time;		/* us */
	uint64_t	longest_wait;	/* us */
	uint64_t	most_loads;		/* during one wait */
	uint64_t	wakes;
	uint64_t	vain;			/* ... that found nothing */
	uint64_t	stalls;
	uint64_t	spins;			/* moments when the manager found no end */
	uint64_t	idle_elevator;	/* us that the disk was idle although a scan
								 * was blocked: for the elevator's slowest, */
	uint64_t	idle_relevance; /* for a reader that relevance puts first, */
	uint64_t	idle_taken;		/* since all room was taken */
	int			max_running;	/* scans at one time */
} SimStats;

typedef enum SimIdle
{
	SIM_NOT_IDLE,
	SIM_IDLE_ELEVATOR,
	SIM_IDLE_RELEVANCE,
	SIM_IDLE_TAKEN
} SimIdle;

typedef struct Sim
{
	SimConfig	config;
	const Plan *plan;
	CScanPool  *pool;
	uint64_t	now;
	Cores		cores;
	Disk		disk;

	int			nstreams;
	SimStream  *streams;
	int		   *order;			/* the plan's queries by stream */
	SimResult  *results;		/* by query */
	int			unfinished;		/* streams that are not endless, not done */
	int			running;		/* registered scans */
	int		   *stream_of;		/* of each scan of the pool */

	/* Events: a heap, the first on top. */
	SimEvent   *events;
	size_t		nevents;
	size_t		max_events;
	uint64_t	norders;

	/* The tables. */
	int			npartitions;
	SimPartition *partitions;	/* by table */
	int		   *partition_of;	/* of each space */
	uint32_t	nchunks[PLAN_MAX_TABLES];	/* of each table */
	uint64_t	sweep;			/* loads that a sweep over all tables may take */

	/* The manager. */
	bool		look_after;		/* spaces may be of no use any more */
	SimLoad    *in_flight;		/* the oldest is the first */
	int			nin_flight;
	bool		manager_wakes;	/* it will be awake some time */
	bool		copying;		/* it copies what was read for the oldest load */
	uint64_t	last_finish;
	uint64_t	last_loaded;
	uint64_t	self_read;		/* when a waiting stream last read for itself */
	double		block_time;		/* of storage for which somebody waited */

	/* What was seen. */
	SimStats	stats;
	uint64_t	longest_load;	/* us */
	SimIdle		idle;			/* since */
	uint64_t	idle_since;
	SimLogEntry *entries;
	size_t		nentries;
	size_t		max_entries;
	char		wrong[200];		/* the first violation, or empty */
} Sim;

/* Owners of jobs and of requests that are not streams. */
#define SIM_MANAGER		(-1)

/* The server's, see abm.c and shared.h. */
#define SIM_ROUND_TIME			10000
#define SIM_WAIT_ROUND			100000
#define SIM_STUCK_AFTER			1000000
#define SIM_PATIENCE			30000000
#define SIM_PATIENCE_LOADS		16
#define SIM_FAST_BLOCK_TIME		20
#define SIM_STALLED_AFTER		250000

/* Those of Table 2, at the rig's scale. */
extern void sim_defaults(SimConfig *config, Workload *work);

extern Sim *sim_create(const SimConfig *config, const Plan *plan);
extern bool sim_run(Sim *sim);	/* false: see sim->wrong */
extern void sim_free(Sim *sim);

/* One step more; false if the run is over. */
extern bool sim_step(Sim *sim);

/*
 * The least loads of any schedule for the run's log: where each chunk comes to
 * each scan no later than it did, or no later than the scan ended.
 */
extern uint64_t sim_bound(const Sim *sim, bool by_end_of_scan);

/* Between engine.c and manager.c */
extern void sim_wrong(Sim *sim, const char *fmt,...)
			__attribute__((format(printf, 2, 3)));
extern void sim_wake_manager(Sim *sim);
extern void sim_manager_is_awake(Sim *sim);
extern void sim_signal(Sim *sim, SimStream *stream);
extern void sim_manage(Sim *sim);
extern void sim_told(Sim *sim);
extern void sim_load_read(Sim *sim, bool cached);
extern void sim_load_done(Sim *sim);
extern void sim_look_after_spaces(Sim *sim);

/* tables.c */
extern void sim_tables_begin(Sim *sim);
extern void sim_tables_end(Sim *sim);
extern uint32_t *sim_file_blocks(const Sim *sim);
extern const SimPartition *sim_partition_of_chunk(const Sim *sim, int table, uint32_t chunk);
extern const SimPartition *sim_partition_of_block(const Sim *sim, int table, uint32_t block);
extern uint32_t sim_chunk_of(const Sim *sim, int table, uint32_t block);
extern bool sim_from_pool(const Sim *sim, int table, uint32_t number, uint32_t *chunk);
extern uint32_t sim_to_pool(const Sim *sim, int table, uint32_t chunk);
extern uint32_t sim_next_run(const Sim *sim, const PlanQuery *query, uint32_t chunk,
							 DiskRequest *request);
extern int	sim_register(Sim *sim, const PlanQuery *query, CScanPolicyId policy);

/* check.c */
extern uint64_t sim_wait_bound(const Sim *sim, const SimStream *stream);
extern void sim_check_waits(Sim *sim);
extern void sim_check_event(Sim *sim);
extern void sim_check_all(Sim *sim);
extern SimIdle sim_why_idle(Sim *sim);

#endif							/* SIM_ENGINE_H */
