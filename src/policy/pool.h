/*-------------------------------------------------------------------------
 *
 * pool.h
 *		The state that the policies decide over, in plain C.
 *
 * A *pool* holds spaces (numbered lists of chunks, space.h), scans and slots.
 * Each scan has the set of chunks that it still needs, of one space or of
 * many.  Each slot holds one chunk, or is about to.  The pool lives in memory
 * that the caller hands in: shared memory in the server, the heap in a test or
 * a simulator.  Nothing here allocates, locks, reads a clock or does I/O; the
 * caller passes the time (us).
 *
 * Chunks are numbered through all spaces, so a set of chunks is one bitmap.
 * Policies, slots and counts know chunks and costs.  A scan's interest is kept
 * as ranges of blocks; only interest.c and space.h interpret these.  A space
 * says what a chunk costs, in blocks, and where its runs are.
 *
 * Invariants:
 *	- A chunk leaves a scan's wanted set once in a pass: it is handed out
 *	  (cscan_pool_choose), the scan takes it (cscan_pool_take), or the scan
 *	  gives it up (unwant, rest, unregister).
 *	- A chunk is in at most one slot.  Its bit in the resident map is set
 *	  exactly while it is in one.
 *	- The blocks of held (pinned) slots, those in flight included, never exceed
 *	  the budget.  The blocks of all slots never exceed the room.  Both limits
 *	  may shrink at any time; then they are exceeded until slots have gone.
 *	- The calls below keep all counts (what is there for each scan, how many
 *	  scans want a chunk) as things change; a decision only looks.  So other
 *	  code may read the fields and never writes them.
 *
 * A scan is interested in all of a space, in a set of ranges of its blocks, or
 * in some columns of some chunks of a columnar space.
 * It wants a chunk if it wants any block of it.  A load reads the pieces of a
 * chunk that active scans want.  If a scan wants pieces of a chunk that are
 * missing, it finds the chunk absent, and the next load tops it up.
 *
 * A slot is held while a scan wants its chunk.  When no scan does, the ABM
 * unpins its blocks.  They stay in memory while there is room and no process
 * takes their frames, and the slot remembers them for the next scan.
 *
 * The life of a slot:
 *
 *		FREE --decide: LOAD--> BUSY, in flight
 *		  ^                      |  cscan_pool_loaded
 *		  |                      v
 *		  +---- drop ------- BUSY, ready
 *		                         |  decide: LOAD of further pieces
 *		                         +--> in flight again (a top-up)
 *		                         |  decide: TRIM
 *		                         +--> ready, with fewer columns
 *
 * The life of a scan:
 *
 *		FREE --register--> ANNOUNCING --start--> STARTED --unregister--> FREE
 *		                       ^                    |
 *		                       +------- rest -------+
 *
 * A scan announces what it wants space by space.  Until it starts, it counts
 * in no decision.
 *
 * The lock that the caller holds around the calls protects all fields.  In the
 * server that is the scheduler's lock (shared/shared.h).
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

#define CSCAN_NO_CHUNK		UINT32_MAX

/*
 * A scan keeps at most this many ranges, over all of its spaces.  Where a
 * space's ranges do not fit, it wants whole chunks.
 */
#define CSCAN_MAX_RANGES	1024

/* The pool measures the pace of this many devices separately. */
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

/* The scheduler's queues of starved scans, see queue.h. */
typedef enum CScanQueueKind
{
	CSCAN_QUEUE_BLOCKED,		/* scans that wait */
	CSCAN_QUEUE_READING,		/* scans that still have a chunk to read */
	CSCAN_QUEUE_EMPTY,			/* scans that wait and have nothing available */
	CSCAN_NQUEUE_KINDS
} CScanQueueKind;

#define CSCAN_NQUEUES		(CSCAN_NQUEUE_KINDS * CSCAN_NPOLICIES)

typedef struct CScanSpaceRange
{
	int32_t		space;
	CScanRange	blocks;
} CScanSpaceRange;

/* A registered scan: a query q of the paper. */
typedef struct CScanScan
{
	bool		used;			/* entry is taken */
	bool		started;		/* interest is complete: it counts */
	uint8_t		policy;			/* a CScanPolicyId */
	bool		waiting;		/* its owner asked for a chunk and found none */
	bool		blocked;		/* its owner or a helper waits, and it wants
								 * something */
	bool		stalled;		/* took no page for a while: does not count */
	bool		warm;			/* finds its chunks in memory by itself */
	bool		loaded_for;		/* the chunk handed out last was loaded for it */
	int32_t		in_use;			/* slot of the chunk its owner reads, or none */
	uint32_t	promised;		/* slots loaded for it that it has not taken */
	uint32_t	nhelpers;		/* other processes that read for it */
	uint32_t	nspaces;		/* spaces that it has announced */
	uint32_t	nranges;		/* ranges of its interest, in chunk order */
	uint32_t	nwanted;		/* chunks in its wanted set */
	uint32_t	nloadable;		/* of these, chunks that may be loaded */
	uint64_t	needed;			/* blocks that it wants of its wanted chunks */
	uint64_t	columns;		/* that it wants of columnar spaces */
	uint64_t	overlap;		/* of these, those by which scans overlap */
	uint32_t	position;		/* chunk that it took last, or starts at */
	uint32_t	cursor;			/* chunk that follows the last one loaded in
								 * one of its spaces */
	uint64_t	since;			/* when it last asked for a chunk (us) */

	/* Counted as things change, see status.c. */
	uint32_t	available;		/* chunks ready, in flight or in use for it */
	uint32_t	ready;			/* of these, ready and not yet used */
	uint32_t	passing;		/* of these, in flight without what it wants */
	uint32_t	using;			/* of these, in use */
	uint32_t	first_word;		/* no wanted chunk is before this word */
	uint32_t	end_word;		/* nor from this word on */
	uint32_t	first_space;	/* no space of it is before this one */
	uint16_t	counted;		/* tallies that count it, see status.c */
	int8_t		queue;			/* kind of the queue by urgency that it is in,
								 * or none */
	bool		in_empty;		/* it is in the queue of the empty ones */
	uint8_t		queued_policy;	/* policy of these queues */
	int32_t		places[CSCAN_NQUEUE_KINDS]; /* places in these queues */
	uint32_t	alike;			/* during a decision: its class (columnar.c) */
} CScanScan;

/*
 * A process that reads for another process's scan, as parallel workers do.  It
 * takes chunks out of the same wanted set.  For the policies owner and helpers
 * are one scan, starved while it has fewer chunks available than processes
 * plus one.
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
	CScanPieces loaded;			/* pieces that are there */
	CScanPieces coming;			/* pieces there when the load in flight ends */
	uint32_t	extent;			/* end of the chunk when it was loaded: a
								 * piece that goes beyond is there up to it */
	bool		in_flight;
	uint32_t	nblocks;		/* blocks of the pieces in coming */
	uint32_t	loading;		/* blocks of the load in flight, or the last */
	bool		failed;			/* not loaded: scans read it themselves */
	bool		cheap;			/* quick to load again: not worth keeping */
	bool		held;			/* pinned, or about to be */
	int32_t		loaded_for;		/* scan it was loaded for, until it takes it */
	uint64_t	stamp;			/* when last loaded or handed out (us) */
	uint64_t	order;			/* number of its last load */
	uint32_t	users;			/* processes of active scans that read it */
	uint32_t	readers;		/* processes of any scan that read it */
} CScanSlot;

/* The lists of all slots that are taken, see slots.c. */
typedef enum CScanSlotList
{
	CSCAN_SLOTS_BY_STAMP,
	CSCAN_SLOTS_BY_ORDER,
	CSCAN_NSLOT_LISTS
} CScanSlotList;

/* A slot's place in one of these lists: small, since a search visits many. */
typedef struct CScanSlotPlace
{
	uint64_t	key;			/* its stamp, or its order */
	int32_t		before;			/* its neighbours, or none */
	int32_t		after;
} CScanSlotPlace;

/* A scan in a queue, see queue.c. */
typedef struct CScanQueued
{
	uint64_t	key;			/* the lowest key goes first */
	int32_t		scan;			/* of equal keys the lower number */
} CScanQueued;

/* Scans that want the same columns, during a decision: see columnar.c. */
typedef struct CScanClass
{
	uint64_t	columns;
	uint64_t	wanted;			/* chunks of one word that they want */
} CScanClass;

/* How the queues order the starved scans of a policy, see queue.c. */
typedef enum CScanQueueOrder
{
	CSCAN_QUEUE_NONE,			/* no queues: the policy looks by itself */
	CSCAN_QUEUE_SINCE,			/* the longest waiting first */
	CSCAN_QUEUE_RELEVANCE		/* the highest queryRelevance first */
} CScanQueueOrder;

/* A policy's constants, which counts and queues depend on. */
typedef struct CScanTraits
{
	uint8_t		queue;			/* a CScanQueueOrder */
	uint32_t	impatience;		/* weight of waiting time in queryRelevance */
	bool		in_order;		/* a scan can use only its next chunk */
	bool		overrides;		/* a blocked scan may evict any slot as the
								 * last resort, see schedule.c */
	bool		keeps_ready;	/* a chunk stays while its scans can use it */
} CScanTraits;

typedef struct CScanDevice
{
	double		block_time;		/* moving average of a block's load (us) */
} CScanDevice;

typedef struct CScanPoolState
{
	CScanLimits limits;
	int32_t		nhelpers;		/* helper entries taken */
	int32_t		nspaces;		/* space entries taken */
	int32_t		first_free_space;	/* no space entry before it is free */
	int32_t		spaces_end;		/* no space entry from here on is taken */
	uint32_t	next_chunk;		/* search for free numbers begins here */
	uint32_t	budget;			/* most blocks of held slots */
	uint32_t	used;			/* blocks of held slots, in flight included */
	uint32_t	room;			/* most blocks of all slots, >= budget */
	uint32_t	total;			/* blocks of all slots */
	uint64_t	nloads;			/* loads so far */
	int32_t		evicted_for;	/* scan that the last step made room for, or
								 * none */
	bool		unpinned;		/* slots have been unpinned for a load, and
								 * nothing has changed since */
	double		block_time;		/* average of all loads (us), see events.c */
	uint64_t	pace;			/* block_time as the policies see it (ns);
								 * follows in steps, see queue.c */
	CScanDevice devices[CSCAN_MAX_DEVICES];
	CScanTraits traits[CSCAN_NPOLICIES];

	/* Counted as things change. */
	int32_t		nscans;			/* started scans */
	int32_t		nactive;		/* of these, scans that are not stalled */
	int32_t		nrefused;		/* spaces whose access is refused */
	int32_t		nplanes;		/* planes that each tally has room for */
	int32_t		first[CSCAN_NSLOT_LISTS];	/* ends of the lists of slots */
	int32_t		last[CSCAN_NSLOT_LISTS];
	bool		queues_stale;	/* the rate has changed, and keys with it */
	int32_t		queued[CSCAN_NQUEUES];	/* scans in each queue */

	bool		traced;			/* calls leave records, see record.h */
} CScanPoolState;

typedef struct CScanTraceRecord CScanTraceRecord;

/*
 * A process's handle: pointers to the parts.  Those behind history are
 * computed from those before it.
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
	uint64_t   *loadable;		/* chunks of spaces whose access is granted */
	uint64_t   *refused;		/* chunks of spaces whose access is refused */
	uint64_t   *resident;		/* chunks that are in a slot */
	int32_t    *slot_of;		/* each chunk's slot, or none */
	uint64_t   *space_scans;	/* each space's set of scans */
	uint64_t   *slot_sets;		/* sets of slots, see slots.c */
	uint64_t   *slot_tallies;	/* planes of tallies of slots, see status.c */
	uint64_t   *chunk_tallies;	/* likewise of chunks */
	uint64_t   *scan_slots;		/* each scan's sets of slots, likewise */
	uint64_t   *scan_sets;		/* sets of scans, likewise */
	CScanSlotPlace *slot_places;	/* max_slots for each list, see slots.c */
	CScanQueued *queues;		/* max_scans for each queue, see queue.c */
	CScanClass *classes;		/* max_scans of them */

	/* Takes the records in a process that may trace; NULL after attach. */
	void		(*record) (const CScanPool *pool, const CScanTraceRecord *r);
};

typedef enum CScanActionKind
{
	CSCAN_ACT_NOTHING,
	CSCAN_ACT_EVICT,			/* slot has been freed: let go of its frames */
	CSCAN_ACT_UNPIN,			/* slot is no longer held, but stays */
	CSCAN_ACT_LOAD,				/* slot has been taken: load these pieces */
	CSCAN_ACT_TRIM				/* slot has lost these pieces (columns): let go
								 * of their frames */
} CScanActionKind;

typedef struct CScanAction
{
	CScanActionKind kind;
	int			slot;
	int			space;
	int			scan;			/* the scan that it is done for */
	uint32_t	chunk;

	/* For a load; cscan_action_next_run() gives its runs.  Likewise for a trim */
	CScanPlace	place;			/* its blocks, up to the space's extent */
	CScanPieces pieces;			/* pieces to be loaded */
	uint32_t	nblocks;		/* blocks in these pieces */
} CScanAction;

/* ------------------------------------------------------------------
 * Set-up (pool.c)
 * ------------------------------------------------------------------ */

/*
 * Size returns the bytes that a pool takes, at an address that is a multiple
 * of 8.  Attach, in each process, sets the handle's pointers.  Init, called
 * once, makes the pool empty.
 */
extern size_t cscan_pool_size(const CScanLimits *limits);
extern void cscan_pool_attach(CScanPool *pool, void *memory, const CScanLimits *limits);
extern void cscan_pool_init(CScanPool *pool, const CScanLimits *limits);

/*
 * Compute all counts anew, for a pool that was put together by hand.  They
 * follow from the spaces, scans (up to since), slots (up to order), helpers,
 * ranges, wanted sets, sets of spaces and histories.
 */
extern void cscan_pool_rebuild(CScanPool *pool);

/* ------------------------------------------------------------------
 * Events (events.c)
 * ------------------------------------------------------------------ */

/*
 * Set the most blocks of held slots, and of all slots; room is at least
 * budget.
 */
extern void cscan_pool_set_limits(CScanPool *pool, uint32_t budget, uint32_t room);

/* Set a block's load time (us), assumed until loads have shown it. */
extern void cscan_pool_set_block_time(CScanPool *pool, double block_time);

/*
 * Return the blocks that a chunk of a table of nblocks should have:
 * 1..preferred, or more in a very large table.
 */
extern uint32_t cscan_pool_chunk_blocks(const CScanPool *pool,
										uint32_t preferred, uint32_t nblocks);

/*
 * Spaces.  Add makes one for nchunks chunks, at most CSCAN_MAX_CHUNKS, or
 * returns CSCAN_NONE if no entry or no numbers are free.  The caller removes
 * it.  Extend gives a space nchunks numbers, if those that follow its own are
 * free; it returns whether the space has them.
 */
extern int	cscan_pool_add_space(CScanPool *pool, uint32_t chunk_blocks, uint32_t nchunks,
								 uint32_t device);
extern bool cscan_pool_extend_space(CScanPool *pool, int space, uint32_t nchunks);
extern void cscan_pool_remove_space(CScanPool *pool, int space);

/*
 * A new space is columnar (space.h).  Its chunks have the blocks of the layout.
 * Its extent, and each scan's idea of it, is one of whole chunks.
 */
extern void cscan_pool_set_columnar(CScanPool *pool, int space, const CScanLayout *layout);

extern void cscan_pool_set_access(CScanPool *pool, int space, CScanAccess access);

/* Loads of a space begin with this chunk, or the next one that is wanted. */
extern void cscan_pool_set_cursor(CScanPool *pool, int space, uint32_t chunk);

/* Note whether this chunk is likely to be in memory. */
extern void cscan_pool_set_cached(CScanPool *pool, uint32_t chunk, bool cached);

/*
 * Scans.  Register takes an entry, or returns CSCAN_NONE.  Announce, once for
 * each space, makes the scan want the chunks that these ranges touch, at most
 * CSCAN_MAX_RANGES.  A columnar space may be announced in several parts.  The
 * ranges are in order, do not overlap, are not empty and end at nblocks at the
 * latest.  The scan takes nblocks for the table's end; the space must have
 * room for it (cscan_space_capacity).  From start on, the scan counts.
 *
 * Rest takes back all that a scan wants.  The scan may then announce an
 * interest anew, and start again.  It stays a scan of the spaces that it
 * announced before, except those that it leaves while it rests.
 */
extern int	cscan_pool_register(CScanPool *pool, CScanPolicyId policy, uint64_t now);
extern void cscan_pool_announce(CScanPool *pool, int scan, int space, uint32_t nblocks,
								const CScanRange *ranges, uint32_t nranges);

/*
 * A scan that has not started wants these columns of columnar spaces.  Until
 * then it wants all.  Its spaces must suit (cscan_pool_columns_fit).  "Common"
 * are columns that every scan wants.  Two scans do not overlap by these, unless
 * they want no others.
 */
extern void cscan_pool_set_columns(CScanPool *pool, int scan, uint64_t columns, uint64_t common);
extern void cscan_pool_start(CScanPool *pool, int scan, uint64_t now);
extern void cscan_pool_rest(CScanPool *pool, int scan, uint64_t now);
extern void cscan_pool_leave_space(CScanPool *pool, int scan, int space);
extern void cscan_pool_unregister(CScanPool *pool, int scan);

/* A started scan no longer wants a chunk, or any chunk of a space. */
extern void cscan_pool_unwant(CScanPool *pool, int scan, uint32_t chunk);
extern void cscan_pool_unwant_space(CScanPool *pool, int scan, int space);

/*
 * A stalled scan does not count until it asks for a chunk; for a warm one
 * nothing is loaded.
 */
extern void cscan_pool_set_stalled(CScanPool *pool, int scan, bool stalled);
extern void cscan_pool_set_warm(CScanPool *pool, int scan, bool warm);

/* A process that the pool does not know reads this chunk for the scan. */
extern void cscan_pool_set_position(CScanPool *pool, int scan, uint32_t chunk);

/*
 * Helpers.  Join returns CSCAN_NONE if there is no room.  A helper quits by
 * itself, before or after its scan has gone.
 */
extern int	cscan_pool_join(CScanPool *pool, int scan);
extern void cscan_pool_quit(CScanPool *pool, int helper);

/*
 * selectChunk: give back the chunk in use and choose the next, for the scan's
 * owner (helper = CSCAN_NONE) or for one of its helpers.  Returns the slot.
 * CSCAN_NONE: the scan has finished (nwanted = 0) or is blocked.
 */
extern int	cscan_pool_choose(CScanPool *pool, int scan, int helper, uint64_t now);

/*
 * Take removes a chunk from the wanted set, for the scan to read by itself:
 * one of a refused space, else one neither there nor in flight, else any; each
 * time the next in order.  Peek only says which.  False if the scan wants
 * none.
 */
extern bool cscan_pool_peek(const CScanPool *pool, int scan, uint32_t *chunk);
extern bool cscan_pool_take(CScanPool *pool, int scan, int helper, uint64_t now,
							uint32_t *chunk);

/* A load in flight has brought these pieces already: scans can use them. */
extern void cscan_pool_arrived(CScanPool *pool, int slot, const CScanPieces *pieces);

/* A load has ended.  It took duration us; 0 if that should not count. */
extern void cscan_pool_loaded(CScanPool *pool, int slot, uint64_t now,
							  uint64_t duration, bool failed, bool cheap);

/* Free a slot.  Processes that read it go on without it. */
extern void cscan_pool_drop(CScanPool *pool, int slot);

/* Return a cheap or failed slot that no scan needs, or CSCAN_NONE. */
extern int	cscan_pool_useless(CScanPool *pool);

/*
 * Pins follow wants.  Release returns a held slot that no scan wants any more.
 * Hold returns a slot that is wanted again and for which the budget has room.
 * Both change its state as if that were done; CSCAN_NONE if there is none.
 * After decide has unpinned a slot for a load, hold returns none until
 * something changes: if that load cannot begin, the two would undo each other
 * for ever.
 */
extern int	cscan_pool_release(CScanPool *pool);
extern int	cscan_pool_hold(CScanPool *pool);

/* ------------------------------------------------------------------
 * Decisions (schedule.c)
 * ------------------------------------------------------------------ */

/* Decide the ABM's next step.  The state is changed as if it were done. */
extern void cscan_pool_decide(CScanPool *pool, uint64_t now, CScanAction *act);

/*
 * The limits may have fallen below what the slots have.  Decide what goes next:
 * first pins (CSCAN_ACT_UNPIN), then slots (CSCAN_ACT_EVICT).  What is in flight
 * stays until its load has ended, and so do slots in use that exceed the room.
 */
extern void cscan_pool_shrink(CScanPool *pool, CScanAction *act);

/*
 * Could decide find anything to do?  If not, the ABM need not be told of what
 * has changed.
 */
extern bool cscan_pool_wants_load(CScanPool *pool, uint64_t now);

/*
 * The runs of blocks to be loaded, one at a time and in order.  *run is empty
 * (end = 0) at first; false if none is left.
 */
static inline bool
cscan_action_next_run(const CScanAction *act, CScanRun *run)
{
	return cscan_place_next_run(&act->place, &act->pieces, run);
}

/* ------------------------------------------------------------------
 * Questions (state.c).  An "active" scan counts: started and not stalled.
 * ------------------------------------------------------------------ */

extern bool cscan_pool_active(const CScanPool *pool, int scan);
extern int	cscan_pool_running(const CScanPool *pool);
extern bool cscan_pool_wants(const CScanPool *pool, int scan, uint32_t chunk);
extern bool cscan_pool_starved(const CScanPool *pool, int scan);
extern bool cscan_pool_below(const CScanPool *pool, int scan, uint32_t limit);
extern bool cscan_pool_has_nothing(const CScanPool *pool, int scan);
extern bool cscan_pool_has_absent(const CScanPool *pool, int scan);
extern bool cscan_pool_has_refused(const CScanPool *pool, int scan);
extern bool cscan_pool_interested_in(const CScanPool *pool, int scan, int space);

/*
 * Are all spaces of a scan columnar, and has each one of the columns that it
 * wants?  Or is none columnar?
 */
extern bool cscan_pool_columns_fit(const CScanPool *pool, int scan);

/* Chunks of a space that a scan wants. */
extern uint32_t cscan_pool_count_wanted(const CScanPool *pool, int scan, int space);

/* A space's first scan with a number >= from, even if it only announces. */
extern int	cscan_pool_scan_of(const CScanPool *pool, int space, int from);

/* A scan's first space with a number >= from. */
extern int	cscan_pool_space_of_scan(const CScanPool *pool, int scan, int from);

/* A chunk's slot, or CSCAN_NONE; a chunk's space. */
extern int	cscan_pool_find(const CScanPool *pool, uint32_t chunk);
extern const CScanSpace *cscan_pool_space_of(const CScanPool *pool, uint32_t chunk);

extern bool cscan_pool_in_flight(const CScanPool *pool, int slot);
extern bool cscan_pool_in_use(const CScanPool *pool, int slot);
extern uint32_t cscan_pool_users(const CScanPool *pool, int slot);
extern int	cscan_pool_interested(const CScanPool *pool, uint32_t chunk);

/* The first wanted chunk at or after "from", going round once. */
extern uint32_t cscan_pool_next_wanted(const CScanPool *pool, int scan, uint32_t from);

/*
 * Get chunks with numbers >= *next that may be loaded for some active scan, are
 * in no slot, and whose space has two scans or more.  It takes no more than max
 * looks, one of them for each space that has only one scan, and returns how
 * many there are.  *next is where to go on; 0: from the beginning.
 */
extern uint32_t cscan_pool_shared_absent(const CScanPool *pool, uint32_t *next, uint32_t *chunks,
										 uint32_t max);

/* The expected time of a load of nblocks blocks of a space (us). */
extern double cscan_pool_load_time(const CScanPool *pool, int space, uint32_t nblocks);

/* If this slot woke the scan, would it find a chunk to use? */
extern bool cscan_pool_can_use(const CScanPool *pool, int slot, int scan);

/* ------------------------------------------------------------------
 * What a scan wants of a chunk (interest.c)
 * ------------------------------------------------------------------ */

extern bool cscan_pool_ready_for(const CScanPool *pool, int slot, int scan);

/* When the load in flight ends, is all there that the scan wants? */
extern bool cscan_pool_comes_for(const CScanPool *pool, int slot, int scan);
extern bool cscan_pool_absent_for(const CScanPool *pool, int scan, uint32_t chunk);

/* Blocks that a scan wants of a chunk of its spaces. */
extern uint32_t cscan_pool_cost_for(const CScanPool *pool, int scan, uint32_t chunk);

/* The pieces of a chunk that active scans want. */
extern CScanPieces cscan_pool_pieces_wanted(const CScanPool *pool, uint32_t chunk);

/*
 * Get at most max of the blocks that a scan wants of a table's chunk, evenly
 * spread.  Returns how many.
 */
extern uint32_t cscan_pool_sample(const CScanPool *pool, int scan, uint32_t chunk,
								  uint32_t *blocks, uint32_t max);

#endif							/* CSCAN_POOL_H */
