/*-------------------------------------------------------------------------
 *
 * pool.h
 *		The state that the policies decide over, in plain C.
 *
 * A *pool* knows tables (cut into chunks), scans (each with the set of chunks
 * that it still needs) and slots (each holding one chunk, or about to).  It
 * lives in memory that the caller hands in: shared memory in the server, the
 * heap in a test or a simulator.  Nothing here allocates, locks, reads a clock
 * or does I/O; time is handed in, in microseconds.
 *
 * Invariants:
 *	- A chunk leaves a scan's wanted set exactly once: when it is handed out
 *	  (cscan_pool_choose) or when the scan takes it itself (cscan_pool_take).
 *	- A chunk of a table is in at most one slot, and its bit in the table's
 *	  resident map is set exactly while it is.
 *	- The blocks of the slots that are held (pinned), those in flight included,
 *	  never exceed the budget; those of all slots never exceed the room.  Both
 *	  may be made smaller at any time, and are exceeded until slots have gone.
 *	- Whatever is counted (what is there for each scan, how many want a chunk) is
 *	  kept by the calls below as things change; a decision only looks.  So the
 *	  fields are for others to read and never to write.
 *
 * A scan's interest is a set of ranges of blocks.  A chunk is wanted if any of
 * its blocks is, and of a chunk only those pieces are loaded that somebody
 * wants; a piece is one block, or a few in chunks of very many.  A scan that
 * wants pieces of a chunk which are not there finds the chunk absent, and the
 * next load tops it up.
 *
 * A slot is held while a scan wants its chunk.  When nobody does, its blocks
 * are let go, but as long as there is room and nobody takes their frames they
 * stay there, and the slot remembers them for the next scan.
 *
 * The life of a slot:
 *
 *		FREE --decide: LOAD--> BUSY, in flight
 *		  ^                      |  cscan_pool_loaded
 *		  |                      v
 *		  +---- drop ------- BUSY, ready
 *		                         |  decide: LOAD of further pieces
 *		                         +--> in flight again (a top-up)
 *
 * All fields are protected by whatever lock the caller holds around the calls;
 * in the server that is the scheduler's lock (see shared/shared.h).
 *
 *-------------------------------------------------------------------------
 */
#ifndef CSCAN_POOL_H
#define CSCAN_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sets.h"

/* A table has at most this many chunks; chunks of larger tables are larger. */
#define CSCAN_MAX_CHUNKS	65536
#define CSCAN_MAP_WORDS		(CSCAN_MAX_CHUNKS / 64)

#define CSCAN_NONE			(-1)

/* A chunk has at most this many pieces. */
#define CSCAN_MAX_PIECES	512
#define CSCAN_PIECE_WORDS	(CSCAN_MAX_PIECES / 64)

/* A set of a chunk's pieces. */
typedef struct CScanPieces
{
	uint64_t	word[CSCAN_PIECE_WORDS];
} CScanPieces;

/* A scan's interest has at most this many ranges. */
#define CSCAN_MAX_RANGES	1024

/* Blocks first..end - 1 of a table. */
typedef struct CScanRange
{
	uint32_t	first;
	uint32_t	end;
} CScanRange;

/* Policies that are only built into a test. */
#ifndef CSCAN_MORE_POLICIES
#define CSCAN_MORE_POLICIES(POLICY)
#endif

/*
 * The policies: each has a file of its own and is listed here, with the name of
 * its constant and that of its table of functions.
 */
#define CSCAN_POLICIES(POLICY) \
	POLICY(NORMAL, normal) \
	POLICY(ATTACH, attach) \
	POLICY(ELEVATOR, elevator) \
	POLICY(RELEVANCE, relevance) \
	POLICY(DEMAND, demand) \
	CSCAN_MORE_POLICIES(POLICY)

typedef enum CScanPolicyId
{
#define CSCAN_POLICY_CONSTANT(id, name) CSCAN_POLICY_##id,
	CSCAN_POLICIES(CSCAN_POLICY_CONSTANT)
#undef CSCAN_POLICY_CONSTANT
	CSCAN_NPOLICIES
} CScanPolicyId;

/* The scheduler's queues of starved scans, two for each policy: see queue.c. */
#define CSCAN_NQUEUES		(2 * CSCAN_NPOLICIES)

/*
 * Of the last so many scans of a table it is kept which of so many parts of it
 * they wanted when they began: see demand.c.
 */
#define CSCAN_LAST_SCANS	32
#define CSCAN_PARTS			256
#define CSCAN_PART_WORDS	(CSCAN_PARTS / 64)

/* A registered scan: a query q of the paper. */
typedef struct CScanInterest
{
	int32_t		table;			/* its table, or CSCAN_NONE: entry is free */
	uint8_t		policy;			/* a CScanPolicyId */
	bool		waiting;		/* its owner asked for a chunk and found none */
	bool		blocked;		/* its owner or a helper did; never if needed
								 * = 0 */
	bool		stalled;		/* took no page for a while: does not count */
	bool		warm;			/* finds what it needs in memory by itself */
	int32_t		in_use;			/* slot of the chunk its owner reads, or none */
	uint32_t	nhelpers;		/* other processes that read for it */
	uint32_t	nblocks;		/* blocks of the table, as this scan saw it */
	uint32_t	nchunks;		/* chunks of the table, likewise */
	uint32_t	nranges;		/* of its interest, when it began */
	uint32_t	needed;			/* chunks in its wanted set */
	uint32_t	position;		/* chunk that it took last, or starts at */
	uint64_t	since;			/* when it last asked for a chunk (us) */
	bool		loaded_for;		/* the chunk handed out last was loaded for it */

	/* Counted as things change, see status.c. */
	uint32_t	available;		/* chunks ready, in flight or in use for it */
	uint32_t	ready;			/* of these, ready and not yet used */
	uint32_t	using;			/* of these, in use */
	uint32_t	first_word;		/* its wanted chunks are in these words of its */
	uint32_t	end_word;		/* wanted set */
	uint8_t		counted;		/* in which tallies it is, see status.c */
	uint8_t		queue;			/* in which queue it is, see queue.c */
	int32_t		place;			/* where in it */
} CScanInterest;

/*
 * A process that reads for another one's scan, as parallel workers do.  It
 * takes chunks out of the same wanted set; for the policies all of them are
 * one scan, which is starved while it has fewer chunks available than it has
 * processes, and one more.
 */
typedef struct CScanHelper
{
	bool		used;			/* entry is taken */
	bool		waiting;		/* asked for a chunk and found none */
	int32_t		scan;			/* CSCAN_NONE: the scan has gone meanwhile */
	int32_t		in_use;			/* slot of the chunk it is reading, or none */
} CScanHelper;

typedef struct CScanTable
{
	int32_t		nscans;			/* scans registered on it */
	bool		used;			/* entry is taken */
	bool		loadable;		/* chunks may be loaded now */
	uint32_t	chunk_blocks;	/* blocks in a chunk */
	uint32_t	piece_blocks;	/* blocks in a piece of a chunk */
	uint32_t	nblocks;		/* the most blocks that a live scan has seen */
	uint32_t	cursor;			/* chunk that follows the last one loaded */
	uint32_t	elevator;		/* elevator's cursor, likewise */
	int32_t		nplanes;		/* of the tallies of its chunks, each */
	int32_t		interested[CSCAN_MAX_PLANES];	/* numbers of the planes, */
	int32_t		starved[CSCAN_MAX_PLANES];	/* see status.c */
	uint32_t	part_chunks;	/* chunks in a part, 0 before the first scan */
	uint32_t	next_asked;		/* entry of "asked" for the next scan */
	uint64_t	asked[CSCAN_LAST_SCANS][CSCAN_PART_WORDS];	/* parts they wanted */
	uint8_t		demand[CSCAN_PARTS];	/* how many of them wanted each */
} CScanTable;

typedef struct CScanSlot
{
	int32_t		table;			/* CSCAN_NONE: slot is free */
	uint32_t	chunk;
	CScanPieces loaded;			/* what is there, and */
	CScanPieces coming;			/* what will be, if a load is in flight */
	uint32_t	end;			/* the table's end when it was loaded: a piece
								 * that goes beyond it is there up to it */
	bool		in_flight;
	uint32_t	nblocks;		/* blocks of what is coming, in all */
	bool		failed;			/* not loaded: its readers read it themselves */
	bool		cheap;			/* quickly had again: no use in keeping */
	bool		held;			/* pinned, or about to be */
	int32_t		trigger;		/* scan it was loaded for, until handed out */
	uint64_t	stamp;			/* handed out, or else loaded, at (us) */
	uint64_t	order;			/* number of its load */
	uint32_t	users;			/* processes of active scans that read it */
	uint32_t	readers;		/* processes of all scans */
} CScanSlot;

/* The lists of all slots that are taken, see slots.c. */
typedef enum CScanSlotList
{
	CSCAN_SLOTS_BY_STAMP,
	CSCAN_SLOTS_BY_ORDER,
	CSCAN_NSLOT_LISTS
} CScanSlotList;

/* A slot's place in one of them: small, since many are looked at. */
typedef struct CScanSlotPlace
{
	uint64_t	key;			/* its stamp, or its order */
	int32_t		before;			/* its neighbours, or none */
	int32_t		after;
} CScanSlotPlace;

/* A scan in a queue, see queue.c. */
typedef struct CScanQueued
{
	uint64_t	key;			/* the least goes first, */
	int32_t		scan;			/* of equals the one with the lower number */
} CScanQueued;

typedef struct CScanPoolState
{
	int32_t		max_scans;
	int32_t		max_slots;
	int32_t		max_helpers;
	int32_t		nhelpers;		/* entries taken */
	uint32_t	budget;			/* blocks that held slots may have in all */
	uint32_t	used;			/* blocks that they have, in flight included */
	uint32_t	room;			/* blocks that all slots may have, >= budget */
	uint32_t	total;			/* blocks that they have */
	uint64_t	nloads;			/* loads so far */
	int32_t		room_for;		/* scan that the last eviction was for, or
								 * none */
	bool		unpinned;		/* slots have been let go of for a load, and
								 * nothing has changed since */
	double		load_time;		/* moving average of a chunk's load (us) */
	uint64_t	pace;			/* load_time as the policies see it (us); it
								 * follows in steps, see queue.c */

	/* Counted as things change. */
	int32_t		nscans;			/* scans that are registered, of these */
	int32_t		nactive;		/* not stalled */
	int32_t		nplanes;		/* that each tally of slots has room for */
	int32_t		nfree_planes;	/* for tallies of chunks */
	int32_t		first[CSCAN_NSLOT_LISTS];	/* ends of the lists of slots */
	int32_t		last[CSCAN_NSLOT_LISTS];
	uint32_t	index_mask;		/* size of the index of slots, less 1 */
	bool		queues_stale;	/* all keys in the queues have changed */
	int32_t		queued[CSCAN_NQUEUES];	/* scans in each queue */

	bool		traced;			/* calls leave records, see trace.h */
} CScanPoolState;

typedef struct CScanTraceRecord CScanTraceRecord;

/*
 * A process's handle: where the parts are.  There are max_scans tables.  What
 * comes after the wanted sets follows from what comes before.
 */
typedef struct CScanPool CScanPool;

struct CScanPool
{
	CScanPoolState *state;
	CScanInterest *scans;
	CScanTable *tables;
	CScanSlot  *slots;
	CScanHelper *helpers;
	CScanRange *ranges;			/* CSCAN_MAX_RANGES for each scan */
	uint64_t   *wanted;			/* CSCAN_MAP_WORDS for each scan */
	uint64_t   *resident;		/* CSCAN_MAP_WORDS for each table */
	uint64_t   *slot_sets;		/* sets of slots, see slots.c */
	uint64_t   *slot_tallies;	/* planes of tallies of slots, see status.c */
	uint64_t   *scan_slots;		/* each scan's sets of slots, likewise */
	uint64_t   *scan_sets;		/* sets of scans, likewise */
	uint64_t   *table_scans;	/* each table's set of scans */
	uint64_t   *planes;			/* 2 for each scan, of tallies of chunks */
	int32_t    *free_planes;
	int32_t    *index;			/* slots by table and chunk, see slots.c */
	CScanSlotPlace *slot_places;	/* max_slots for each list, likewise */
	CScanQueued *queues;		/* max_scans for each queue, see queue.c */

	/* Takes the records, in a process that may trace; NULL at first. */
	void		(*record) (const CScanPool *pool, const CScanTraceRecord *r);
};

typedef enum CScanActionKind
{
	CSCAN_ACT_NOTHING,
	CSCAN_ACT_EVICT,			/* slot has been freed: let go of its frames */
	CSCAN_ACT_UNPIN,			/* slot is no longer held, but stays */
	CSCAN_ACT_LOAD				/* slot has been taken: load these pieces */
} CScanActionKind;

typedef struct CScanAction
{
	CScanActionKind kind;
	int			slot;
	int			table;
	int			scan;			/* the scan that it is done for */
	uint32_t	chunk;

	/* Of a load: see cscan_action_next_run() */
	CScanRange	blocks;			/* the chunk's, as far as the table goes */
	uint32_t	piece_blocks;
	CScanPieces pieces;			/* to be loaded */
	uint32_t	nblocks;		/* blocks in these */
} CScanAction;

/*
 * Set-up.  A pool for so many scans, slots and helpers takes so many bytes, at
 * an address that is a multiple of 8.  Attach says where in them the parts
 * are, in each process; init, once, makes all of it empty.
 */
extern size_t cscan_pool_size(int max_scans, int max_slots, int max_helpers);
extern void cscan_pool_attach(CScanPool *pool, void *memory, int max_scans,
							  int max_slots, int max_helpers);
extern void cscan_pool_init(CScanPool *pool, int max_scans, int max_slots,
							int max_helpers);

/*
 * Blocks that held slots may have in all, and that all slots may have, which is
 * not less.
 */
extern void cscan_pool_set_limits(CScanPool *pool, uint32_t budget, uint32_t room);

/* How long a load takes, until loads have shown it (us). */
extern void cscan_pool_set_load_time(CScanPool *pool, double load_time);

/* Blocks that a chunk of a table of nblocks should have, in 1..preferred. */
extern uint32_t cscan_pool_chunk_blocks(const CScanPool *pool,
										uint32_t preferred, uint32_t nblocks);

/* Tables.  A table entry is the caller's to take and to give back. */
extern int	cscan_pool_add_table(CScanPool *pool, uint32_t chunk_blocks);
extern void cscan_pool_remove_table(CScanPool *pool, int table);
extern void cscan_pool_set_loadable(CScanPool *pool, int table, bool loadable);

/* Loads of a table begin with this chunk, or the next one that is wanted. */
extern void cscan_pool_set_cursor(CScanPool *pool, int table, uint32_t chunk);

/*
 * Scans.  Register makes the chunks wanted that these ranges touch; the ranges
 * are in order, do not overlap, are not empty and end at nblocks at the latest,
 * which is what the scan takes for the table's end.  cscan_pool_unwant may take
 * some out again before the first choice.  Returns CSCAN_NONE where there is no
 * room.
 */
extern int	cscan_pool_register(CScanPool *pool, int table, CScanPolicyId policy,
								uint32_t nblocks, const CScanRange *ranges,
								uint32_t nranges, uint64_t now);
extern void cscan_pool_start(CScanPool *pool, int scan);

/*
 * The same scan begins again, with another interest perhaps.  With no ranges it
 * rests: it wants nothing.
 */
extern void cscan_pool_again(CScanPool *pool, int scan, uint32_t nblocks,
							 const CScanRange *ranges, uint32_t nranges,
							 uint64_t now);
extern void cscan_pool_unwant(CScanPool *pool, int scan, uint32_t chunk);
extern void cscan_pool_unregister(CScanPool *pool, int scan);

/*
 * A stalled scan does not count until it asks for a chunk; for a warm one
 * nothing is loaded.
 */
extern void cscan_pool_set_stalled(CScanPool *pool, int scan, bool stalled);
extern void cscan_pool_set_warm(CScanPool *pool, int scan, bool warm);

/* Somebody reads this chunk for the scan, who is not known to the pool. */
extern void cscan_pool_set_position(CScanPool *pool, int scan, uint32_t chunk);

/*
 * Helpers.  Join returns CSCAN_NONE where there is no room.  A helper parts by
 * itself, before or after its scan has gone.
 */
extern int	cscan_pool_join(CScanPool *pool, int scan);
extern void cscan_pool_part(CScanPool *pool, int helper);

/*
 * selectChunk: give back the chunk in use and choose the next, for the scan's
 * owner (helper = CSCAN_NONE) or for one of its helpers.  Returns the slot, or
 * CSCAN_NONE: then the scan has finished (needed = 0) or is blocked.
 */
extern int	cscan_pool_choose(CScanPool *pool, int scan, int helper, uint64_t now);

/*
 * Take a chunk out of the wanted set, to be read by the scan itself: the next
 * one in its order, rather one that nobody is loading just now.  Peek only
 * says which; false if there is none.
 */
extern bool cscan_pool_peek(const CScanPool *pool, int scan, uint32_t *chunk);
extern bool cscan_pool_take(CScanPool *pool, int scan, int helper, uint64_t now,
							uint32_t *chunk);

/* The first of a table's scans, by number, from that number on. */
extern int	cscan_pool_scan_of(const CScanPool *pool, int table, int from);

/* The manager's next step; the state is changed as if it were done. */
extern void cscan_pool_decide(CScanPool *pool, uint64_t now, CScanAction *act);

/*
 * Could that be anything at all?  If not, it would do nothing, and the manager
 * need not be told of what has changed.
 */
extern bool cscan_pool_wants_load(CScanPool *pool, uint64_t now);

/*
 * The runs of blocks that are to be loaded, one at a time and in order.  *run
 * is empty at first; false if there is none left.
 */
extern bool cscan_action_next_run(const CScanAction *act, CScanRange *run);

/* A load has ended.  duration in us, 0 if it should not count. */
extern void cscan_pool_loaded(CScanPool *pool, int slot, uint64_t now,
							  uint64_t duration, bool failed, bool cheap);

/* Forget what a slot holds; whoever reads it goes on without. */
extern void cscan_pool_drop(CScanPool *pool, int slot);

/* A slot that is of no use to anybody and not worth keeping, or none. */
extern int	cscan_pool_useless(CScanPool *pool);

/*
 * Pins follow wants.  Release finds a held slot that nobody wants any more,
 * hold one that is wanted again and for which the budget has room; the slot's
 * state is changed as if it were done.  Both return none when all is well.
 * What decide has just let go of for a load, hold leaves alone: a load that
 * cannot be begun after all must not make both take turns for ever.
 */
extern int	cscan_pool_release(CScanPool *pool);
extern int	cscan_pool_hold(CScanPool *pool);

/*
 * Everything that is kept counted, counted anew from what it follows from: the
 * tables, scans (up to loaded_for), slots (up to order), helpers, ranges and
 * wanted sets.  For a pool that was put together by hand.
 */
extern void cscan_pool_rebuild(CScanPool *pool);

/*
 * Questions that the policies ask.  "Active" scans are those that count:
 * registered and not stalled.
 */
extern bool cscan_pool_active(const CScanPool *pool, int scan);
extern int	cscan_pool_running(const CScanPool *pool);
extern bool cscan_pool_wants(const CScanPool *pool, int scan, uint32_t chunk);
extern bool cscan_pool_starved(const CScanPool *pool, int scan);
extern bool cscan_pool_has_absent(const CScanPool *pool, int scan);
extern int	cscan_pool_find(const CScanPool *pool, int table, uint32_t chunk);
extern bool cscan_pool_ready_for(const CScanPool *pool, int slot, int scan);
extern bool cscan_pool_can_use(const CScanPool *pool, int slot, int scan);
extern bool cscan_pool_absent_for(const CScanPool *pool, int scan, uint32_t chunk);
extern CScanRange cscan_pool_blocks_of(const CScanPool *pool, int table, uint32_t chunk);
extern CScanPieces cscan_pool_pieces_wanted(const CScanPool *pool, int table,
											uint32_t chunk);
extern uint32_t cscan_pool_sample(const CScanPool *pool, int scan, uint32_t chunk,
								  uint32_t *blocks, uint32_t max);
extern bool cscan_pool_in_flight(const CScanPool *pool, int slot);
extern bool cscan_pool_in_use(const CScanPool *pool, int slot);
extern uint32_t cscan_pool_users(const CScanPool *pool, int slot);
extern bool cscan_pool_below(const CScanPool *pool, int scan, uint32_t limit);
extern int	cscan_pool_interested(const CScanPool *pool, int table,
								  uint32_t chunk);
extern uint32_t cscan_pool_next_wanted(const CScanPool *pool, int scan,
									   uint32_t from);

#endif							/* CSCAN_POOL_H */
