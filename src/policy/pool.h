/*-------------------------------------------------------------------------
 *
 * pool.h
 *		The state that the policies decide over, in plain C.
 *
 * A *pool* knows spaces (numbered lists of chunks, space.h), scans (each with the
 * set of chunks that it still needs, of one space or of many) and slots (each
 * holding one chunk, or about to).  It lives in memory that the caller hands in:
 * shared memory in the server, the heap in a test or a simulator.  Nothing here
 * allocates, locks, reads a clock or does I/O; time is handed in, in
 * microseconds.
 *
 * Chunks are numbered through all spaces, so that a set of chunks is one bitmap.
 * Policies, slots and counts know chunks and costs.  A scan's interest is kept as
 * ranges of blocks, which only interest.c and space.h interpret: what a chunk costs,
 * in blocks, and where its runs are, its space says.
 *
 * Invariants:
 *	- A chunk leaves a scan's wanted set exactly once: when it is handed out
 *	  (cscan_pool_choose) or when the scan takes it itself (cscan_pool_take).
 *	- A chunk is in at most one slot, and its bit in the resident map is set
 *	  exactly while it is.
 *	- The blocks of the slots that are held (pinned), those in flight included,
 *	  never exceed the budget; those of all slots never exceed the room.  Both
 *	  may be made smaller at any time, and are exceeded until slots have gone.
 *	- Whatever is counted (what is there for each scan, how many want a chunk) is
 *	  kept by the calls below as things change; a decision only looks.  So the
 *	  fields are for others to read and never to write.
 *
 * A scan's interest in a space is all of it, or a set of ranges of blocks.  A
 * chunk is wanted if any of its blocks is, and of a chunk only those pieces are
 * loaded that somebody wants.  A scan that wants pieces of a chunk which are not
 * there finds the chunk absent, and the next load tops it up.
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
 * The life of a scan:
 *
 *		FREE --register--> ANNOUNCING --start--> STARTED --unregister--> FREE
 *		                       ^                    |
 *		                       +------- rest -------+
 *
 * While it announces, space by space, what it wants, it counts in no decision.
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

#include "policies.h"
#include "sets.h"
#include "space.h"

#define CSCAN_NONE			(-1)

/* No chunk. */
#define CSCAN_NO_CHUNK		UINT32_MAX

/*
 * A scan's interest has at most this many ranges, in all of its spaces.  Where it
 * would have more, it wants whole chunks.
 */
#define CSCAN_MAX_RANGES	1024

/* The pace of so many devices is known apart. */
#define CSCAN_MAX_DEVICES	16

/* What a pool has room for.  max_chunks is a multiple of 64. */
typedef struct CScanLimits
{
	int32_t		max_scans;
	int32_t		max_spaces;
	int32_t		max_slots;
	int32_t		max_helpers;
	uint32_t	max_chunks;
} CScanLimits;

/* The scheduler's queues of starved scans, two for each policy: see queue.c. */
#define CSCAN_NQUEUES		(2 * CSCAN_NPOLICIES)

/* A range of a space's blocks. */
typedef struct CScanSpaceRange
{
	int32_t		space;
	CScanRange	blocks;
} CScanSpaceRange;

/* A registered scan: a query q of the paper. */
typedef struct CScanScan
{
	bool		used;			/* entry is taken */
	bool		started;		/* it counts: its interest is complete */
	uint8_t		policy;			/* a CScanPolicyId */
	bool		waiting;		/* its owner asked for a chunk and found none */
	bool		blocked;		/* its owner or a helper did; never if it wants
								 * nothing */
	bool		stalled;		/* took no page for a while: does not count */
	bool		warm;			/* finds what it needs in memory by itself */
	bool		loaded_for;		/* the chunk handed out last was loaded for it */
	int32_t		in_use;			/* slot of the chunk its owner reads, or none */
	uint32_t	nhelpers;		/* other processes that read for it */
	uint32_t	nspaces;		/* that it has announced an interest in */
	uint32_t	nranges;		/* of its interest, in order of chunks */
	uint32_t	nwanted;		/* chunks in its wanted set, of these */
	uint32_t	nloadable;		/* those that may be loaded */
	uint64_t	needed;			/* blocks that it wants of them */
	uint32_t	position;		/* chunk that it took last, or starts at */
	uint32_t	cursor;			/* chunk that follows the last one loaded in one
								 * of its spaces */
	uint64_t	since;			/* when it last asked for a chunk (us) */

	/* Counted as things change, see status.c. */
	uint32_t	available;		/* chunks ready, in flight or in use for it */
	uint32_t	ready;			/* of these, ready and not yet used */
	uint32_t	using;			/* of these, in use */
	uint32_t	first_word;		/* its wanted chunks are in these words of its */
	uint32_t	end_word;		/* wanted set */
	uint16_t	counted;		/* in which tallies it is, see status.c */
	uint8_t		queue;			/* in which queue it is, see queue.c */
	int32_t		queue_place;	/* where in it */
} CScanScan;

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

typedef struct CScanSlot
{
	int32_t		space;			/* CSCAN_NONE: slot is free */
	uint32_t	chunk;
	CScanPieces loaded;			/* what is there, and */
	CScanPieces coming;			/* what will be, if a load is in flight */
	uint32_t	extent;			/* the space's when it was loaded: a piece that
								 * goes beyond it is there up to it */
	bool		in_flight;
	uint32_t	nblocks;		/* blocks of what is coming, in all */
	uint32_t	loading;		/* blocks of the load in flight, or the last */
	bool		failed;			/* not loaded: its readers read it themselves */
	bool		cheap;			/* quickly had again: no use in keeping */
	bool		held;			/* pinned, or about to be */
	int32_t		loaded_for;		/* a scan, until it is handed out to it */
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

/* How the starved scans of a policy are put in order, see queue.c. */
typedef enum CScanQueueOrder
{
	CSCAN_QUEUE_NONE,			/* not at all: the policy looks by itself */
	CSCAN_QUEUE_SINCE,			/* who has waited longest */
	CSCAN_QUEUE_RELEVANCE		/* by queryRelevance */
} CScanQueueOrder;

/* What is constant about a policy, for those who count. */
typedef struct CScanTraits
{
	uint8_t		queue;			/* a CScanQueueOrder */
	uint32_t	impatience;		/* what waiting is worth in queryRelevance */
	bool		in_order;		/* only its next chunk is of use to a scan */
	bool		overrides;		/* the last resort of a small pool may be used
								 * for its scans */
	bool		keeps_ready;	/* what its scans can use stays until they have */
} CScanTraits;

/* How fast a device is. */
typedef struct CScanDevice
{
	double		block_time;		/* moving average of a block's load (us) */
} CScanDevice;

typedef struct CScanPoolState
{
	CScanLimits limits;
	int32_t		nhelpers;		/* entries taken */
	int32_t		nspaces;		/* likewise */
	int32_t		first_free_space;	/* no entry before it is free */
	uint32_t	next_chunk;		/* numbers are looked for from here on */
	uint32_t	budget;			/* blocks that held slots may have in all */
	uint32_t	used;			/* blocks that they have, in flight included */
	uint32_t	room;			/* blocks that all slots may have, >= budget */
	uint32_t	total;			/* blocks that they have */
	uint64_t	nloads;			/* loads so far */
	int32_t		evicted_for;	/* scan that the last eviction was for, or
								 * none */
	bool		unpinned;		/* slots have been let go of for a load, and
								 * nothing has changed since */
	double		block_time;		/* as a device's, of all loads (us) */
	uint64_t	pace;			/* block_time as the policies see it (ns); it
								 * follows in steps, see queue.c */
	CScanDevice devices[CSCAN_MAX_DEVICES];
	CScanTraits traits[CSCAN_NPOLICIES];

	/* Counted as things change. */
	int32_t		nscans;			/* scans that are started, of these */
	int32_t		nactive;		/* not stalled */
	int32_t		nrefused;		/* spaces whose access is refused */
	int32_t		nplanes;		/* that each tally has room for */
	int32_t		first[CSCAN_NSLOT_LISTS];	/* ends of the lists of slots */
	int32_t		last[CSCAN_NSLOT_LISTS];
	bool		queues_stale;	/* all keys in the queues have changed */
	int32_t		queued[CSCAN_NQUEUES];	/* scans in each queue */

	bool		traced;			/* calls leave records, see record.h */
} CScanPoolState;

typedef struct CScanTraceRecord CScanTraceRecord;

/*
 * A process's handle: where the parts are.  What comes after the history follows
 * from what comes before.
 */
typedef struct CScanPool CScanPool;

struct CScanPool
{
	CScanPoolState *state;
	CScanScan  *scans;
	CScanSpace *spaces;
	CScanSlot  *slots;
	CScanHelper *helpers;
	CScanSpaceRange *ranges;	/* CSCAN_MAX_RANGES for each scan */
	uint64_t   *wanted;			/* a set of chunks for each scan */
	uint64_t   *scan_spaces;	/* a set of spaces for each scan */
	uint64_t   *cached;			/* chunks that are likely to be in memory */
	uint64_t   *history[CSCAN_NPOLICIES];	/* what a policy remembers */

	int32_t    *space_of;		/* each chunk's space */
	uint64_t   *numbered;		/* chunks that some space has */
	uint64_t   *loadable;		/* chunks whose space's access is granted, */
	uint64_t   *refused;		/* and refused */
	uint64_t   *resident;		/* chunks that are in a slot, and */
	int32_t    *slot_of;		/* in which */
	uint64_t   *space_scans;	/* each space's set of scans */
	uint64_t   *slot_sets;		/* sets of slots, see slots.c */
	uint64_t   *slot_tallies;	/* planes of tallies of slots, see status.c */
	uint64_t   *chunk_tallies;	/* and of chunks */
	uint64_t   *scan_slots;		/* each scan's sets of slots, likewise */
	uint64_t   *scan_sets;		/* sets of scans, likewise */
	CScanSlotPlace *slot_places;	/* max_slots for each list, see slots.c */
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
	int			space;
	int			scan;			/* the scan that it is done for */
	uint32_t	chunk;

	/* Of a load: see cscan_action_next_run() */
	CScanPlace	place;			/* the chunk's, as far as the space goes */
	CScanPieces pieces;			/* to be loaded */
	uint32_t	nblocks;		/* blocks in these */
} CScanAction;

/* ------------------------------------------------------------------
 * Set-up (pool.c)
 * ------------------------------------------------------------------ */

/*
 * A pool takes so many bytes, at an address that is a multiple of 8.  Attach says
 * where in them the parts are, in each process; init, once, makes all of it empty.
 */
extern size_t cscan_pool_size(const CScanLimits *limits);
extern void cscan_pool_attach(CScanPool *pool, void *memory, const CScanLimits *limits);
extern void cscan_pool_init(CScanPool *pool, const CScanLimits *limits);

/*
 * Everything that is kept counted, counted anew from what it follows from: the
 * spaces, scans (up to since), slots (up to order), helpers, ranges, wanted sets,
 * sets of spaces and histories.  For a pool that was put together by hand.
 */
extern void cscan_pool_rebuild(CScanPool *pool);

/* ------------------------------------------------------------------
 * Events (events.c)
 * ------------------------------------------------------------------ */

/*
 * Blocks that held slots may have in all, and that all slots may have, which is
 * not less.
 */
extern void cscan_pool_set_limits(CScanPool *pool, uint32_t budget, uint32_t room);

/* How long the load of a block takes, until loads have shown it (us). */
extern void cscan_pool_set_block_time(CScanPool *pool, double block_time);

/* Blocks that a chunk of a table of nblocks should have, in 1..preferred. */
extern uint32_t cscan_pool_chunk_blocks(const CScanPool *pool,
										uint32_t preferred, uint32_t nblocks);

/*
 * Spaces.  An entry is the caller's to take and to give back.  A space is made for
 * nchunks chunks, at most CSCAN_MAX_CHUNKS; CSCAN_NONE where there is no entry or
 * there are no numbers.  Extend gives it more numbers, if those that follow its own
 * are free.
 */
extern int	cscan_pool_add_space(CScanPool *pool, uint32_t chunk_blocks, uint32_t nchunks,
								 uint32_t device);
extern bool cscan_pool_extend_space(CScanPool *pool, int space, uint32_t nchunks);
extern void cscan_pool_remove_space(CScanPool *pool, int space);
extern void cscan_pool_set_access(CScanPool *pool, int space, CScanAccess access);

/* Loads of a space begin with this chunk, or the next one that is wanted. */
extern void cscan_pool_set_cursor(CScanPool *pool, int space, uint32_t chunk);

/* This chunk is likely to be in memory, or not. */
extern void cscan_pool_set_cached(CScanPool *pool, uint32_t chunk, bool cached);

/*
 * Scans.  Register takes an entry, or returns CSCAN_NONE.  Announce makes the
 * chunks of a space wanted that these ranges touch, once for each space: the ranges
 * are in order, do not overlap, are not empty and end at nblocks at the latest,
 * which is what the scan takes for the table's end, and which the space must have
 * room for (cscan_space_capacity).  Then start: from there on the scan counts.
 *
 * Rest takes back all that a scan wants; it may announce an interest anew then, and
 * start again.  It stays a scan of the spaces that it has announced before, but for
 * those that it leaves while it rests.
 */
extern int	cscan_pool_register(CScanPool *pool, CScanPolicyId policy, uint64_t now);
extern void cscan_pool_announce(CScanPool *pool, int scan, int space, uint32_t nblocks,
								const CScanRange *ranges, uint32_t nranges);
extern void cscan_pool_start(CScanPool *pool, int scan, uint64_t now);
extern void cscan_pool_rest(CScanPool *pool, int scan, uint64_t now);
extern void cscan_pool_leave_space(CScanPool *pool, int scan, int space);
extern void cscan_pool_unregister(CScanPool *pool, int scan);

/* A started scan does not want a chunk any more; or any of a space. */
extern void cscan_pool_unwant(CScanPool *pool, int scan, uint32_t chunk);
extern void cscan_pool_unwant_space(CScanPool *pool, int scan, int space);

/*
 * A stalled scan does not count until it asks for a chunk; for a warm one
 * nothing is loaded.
 */
extern void cscan_pool_set_stalled(CScanPool *pool, int scan, bool stalled);
extern void cscan_pool_set_warm(CScanPool *pool, int scan, bool warm);

/* Somebody reads this chunk for the scan, who is not known to the pool. */
extern void cscan_pool_set_position(CScanPool *pool, int scan, uint32_t chunk);

/*
 * Helpers.  Join returns CSCAN_NONE where there is no room.  A helper quits by
 * itself, before or after its scan has gone.
 */
extern int	cscan_pool_join(CScanPool *pool, int scan);
extern void cscan_pool_quit(CScanPool *pool, int helper);

/*
 * selectChunk: give back the chunk in use and choose the next, for the scan's
 * owner (helper = CSCAN_NONE) or for one of its helpers.  Returns the slot, or
 * CSCAN_NONE: then the scan has finished (nwanted = 0) or is blocked.
 */
extern int	cscan_pool_choose(CScanPool *pool, int scan, int helper, uint64_t now);

/*
 * Take a chunk out of the wanted set, to be read by the scan itself: one whose
 * space is refused, or else the next one in its order, rather one that nobody is
 * loading just now.  Peek only says which; false if there is none.
 */
extern bool cscan_pool_peek(const CScanPool *pool, int scan, uint32_t *chunk);
extern bool cscan_pool_take(CScanPool *pool, int scan, int helper, uint64_t now,
							uint32_t *chunk);

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

/* ------------------------------------------------------------------
 * Decisions (schedule.c)
 * ------------------------------------------------------------------ */

/* The ABM's next step; the state is changed as if it were done. */
extern void cscan_pool_decide(CScanPool *pool, uint64_t now, CScanAction *act);

/*
 * Could that be anything at all?  If not, it would do nothing, and the ABM
 * need not be told of what has changed.
 */
extern bool cscan_pool_wants_load(CScanPool *pool, uint64_t now);

/*
 * The runs of blocks that are to be loaded, one at a time and in order.  *run
 * is empty (end = 0) at first; false if there is none left.
 */
static inline bool
cscan_action_next_run(const CScanAction *act, CScanRun *run)
{
	return cscan_place_next_run(&act->place, &act->pieces, run);
}

/* ------------------------------------------------------------------
 * Questions (state.c).  "Active" scans are those that count: started and not
 * stalled.
 * ------------------------------------------------------------------ */

extern bool cscan_pool_active(const CScanPool *pool, int scan);
extern int	cscan_pool_running(const CScanPool *pool);
extern bool cscan_pool_wants(const CScanPool *pool, int scan, uint32_t chunk);
extern bool cscan_pool_starved(const CScanPool *pool, int scan);
extern bool cscan_pool_below(const CScanPool *pool, int scan, uint32_t limit);
extern bool cscan_pool_has_absent(const CScanPool *pool, int scan);
extern bool cscan_pool_has_refused(const CScanPool *pool, int scan);
extern bool cscan_pool_interested_in(const CScanPool *pool, int scan, int space);

/* Chunks of a space that a scan wants. */
extern uint32_t cscan_pool_count_wanted(const CScanPool *pool, int scan, int space);

/* The first scan of a space, by number, from that number on; announcing ones too. */
extern int	cscan_pool_scan_of(const CScanPool *pool, int space, int from);

/* The first space of a scan, by number, from that number on. */
extern int	cscan_pool_space_of_scan(const CScanPool *pool, int scan, int from);

/* The slot that a chunk is in, or none; a chunk's space. */
extern int	cscan_pool_find(const CScanPool *pool, uint32_t chunk);
extern const CScanSpace *cscan_pool_space_of(const CScanPool *pool, uint32_t chunk);

extern bool cscan_pool_in_flight(const CScanPool *pool, int slot);
extern bool cscan_pool_in_use(const CScanPool *pool, int slot);
extern uint32_t cscan_pool_users(const CScanPool *pool, int slot);
extern int	cscan_pool_interested(const CScanPool *pool, uint32_t chunk);

/* The first wanted chunk at or after "from", going round once. */
extern uint32_t cscan_pool_next_wanted(const CScanPool *pool, int scan, uint32_t from);

/* How long the load of so many blocks of a space takes (us). */
extern double cscan_pool_load_time(const CScanPool *pool, int space, uint32_t nblocks);

/* Would the scan find something to use if it were woken because of that slot? */
extern bool cscan_pool_can_use(const CScanPool *pool, int slot, int scan);

/* ------------------------------------------------------------------
 * What a scan wants of a chunk (interest.c)
 * ------------------------------------------------------------------ */

extern bool cscan_pool_ready_for(const CScanPool *pool, int slot, int scan);
extern bool cscan_pool_absent_for(const CScanPool *pool, int scan, uint32_t chunk);

/* Blocks that a scan wants of a chunk of its spaces. */
extern uint32_t cscan_pool_cost_for(const CScanPool *pool, int scan, uint32_t chunk);

/* What of a chunk any active scan wants. */
extern CScanPieces cscan_pool_pieces_wanted(const CScanPool *pool, uint32_t chunk);

/*
 * Some of the blocks that a scan wants of a chunk, evenly spread and at most
 * max; returns how many.
 */
extern uint32_t cscan_pool_sample(const CScanPool *pool, int scan, uint32_t chunk,
								  uint32_t *blocks, uint32_t max);

#endif							/* CSCAN_POOL_H */
