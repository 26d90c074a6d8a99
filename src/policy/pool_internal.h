/*-------------------------------------------------------------------------
 *
 * pool_internal.h
 *		What the files that keep the pool share among themselves.
 *
 *		pool.c		tables, scans, helpers; what they ask for
 *		ranges.c	what a scan wants of a chunk, block by block
 *		slots.c		slots: which is where, what state they are in, their order
 *		status.c	what each scan has, and how many want what
 *		queue.c		which starved scan is the next
 *		demand.c	what the last scans of a table wanted (and a policy)
 *		schedule.c	the manager's next step
 *
 * Policies look through policy.h, and at what is declared here as theirs.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CSCAN_POOL_INTERNAL_H
#define CSCAN_POOL_INTERNAL_H

#include "policy.h"
#include "trace.h"

#define RANGES(pool, scan)		((pool)->ranges + (size_t) (scan) * CSCAN_MAX_RANGES)
#define WANTED(pool, scan)		((pool)->wanted + (size_t) (scan) * CSCAN_MAP_WORDS)
#define RESIDENT(pool, table)	((pool)->resident + (size_t) (table) * CSCAN_MAP_WORDS)

/* Words of a set of slots, and of one of scans. */
static inline uint32_t
cscan_slot_words(const CScanPool *pool)
{
	return cscan_set_words((uint32_t) pool->state->max_slots);
}

static inline uint32_t
cscan_scan_words(const CScanPool *pool)
{
	return cscan_set_words((uint32_t) pool->state->max_scans);
}

/* ------------------------------------------------------------------
 * slots.c
 * ------------------------------------------------------------------ */

/* The sets that a slot may be in; the last two are scratch of a decision. */
typedef enum CScanSlotSet
{
	CSCAN_SLOTS_TAKEN,
	CSCAN_SLOTS_IN_FLIGHT,
	CSCAN_SLOTS_HELD,
	CSCAN_SLOTS_IN_USE,			/* by scans that are not stalled */
	CSCAN_SLOTS_DISPENSABLE,	/* cheap or failed */
	CSCAN_SLOTS_CANDIDATES,
	CSCAN_SLOTS_LOWEST,
	CSCAN_NSLOT_SETS
} CScanSlotSet;

static inline uint64_t *
cscan_slot_set(const CScanPool *pool, CScanSlotSet set)
{
	return pool->slot_sets + (size_t) set * cscan_slot_words(pool);
}

extern uint32_t cscan_slots_index_size(int max_slots);
extern void cscan_slots_init(CScanPool *pool);
extern void cscan_slots_rebuild(CScanPool *pool);

/* A free slot, or none. */
extern int	cscan_slots_free(const CScanPool *pool);

/* A slot comes to hold a chunk: nothing of it yet, but it is about to be loaded. */
extern void cscan_slots_take(CScanPool *pool, int slot, int table, uint32_t chunk, uint64_t now);

/*
 * A load into a slot begins: it has what it has, and this comes to it.  "again"
 * blocks of what it had are loaded again.
 */
extern void cscan_slots_begin_load(CScanPool *pool, int slot, const CScanPieces *have,
								   const CScanPieces *coming, uint32_t nblocks,
								   uint32_t again, uint64_t now);

/* It is free again; whoever reads it goes on without. */
extern void cscan_slots_drop(CScanPool *pool, int slot);
extern void cscan_slots_set_held(CScanPool *pool, int slot, bool held);

/* It has been used just now; or so its stamp says. */
extern void cscan_slots_touch(CScanPool *pool, int slot, uint64_t now);

/* Of a set of slots the least recently used, and the one loaded first; or none. */
extern int	cscan_slots_oldest(const CScanPool *pool, const uint64_t *slots);
extern int	cscan_slots_first(const CScanPool *pool, const uint64_t *slots);

/* ------------------------------------------------------------------
 * status.c
 * ------------------------------------------------------------------ */

/* What a scan has: sets of slots. */
typedef enum CScanHas
{
	CSCAN_HAS_WANTED,			/* it wants the chunk that is in them */
	CSCAN_HAS_READY,			/* and can use it as it is */
	CSCAN_HAS_AVAILABLE,		/* or that is on its way */
	CSCAN_NHAS
} CScanHas;

static inline uint64_t *
cscan_scan_slots(const CScanPool *pool, int scan, CScanHas has)
{
	return pool->scan_slots +
		((size_t) scan * CSCAN_NHAS + has) * cscan_slot_words(pool);
}

/* Sets of scans.  Those of each policy follow. */
typedef enum CScanScanSet
{
	CSCAN_SCANS_MOVED_SLOTS,	/* have to be counted anew, see status.c */
	CSCAN_SCANS_MOVED_CHUNKS,
	CSCAN_SCANS_MOVED_QUEUE,	/* and queued, see queue.c */
	CSCAN_SCANS_OF_POLICY,
	CSCAN_NSCAN_SETS = CSCAN_SCANS_OF_POLICY + CSCAN_NPOLICIES
} CScanScanSet;

static inline uint64_t *
cscan_scan_set(const CScanPool *pool, int set)
{
	return pool->scan_sets + (size_t) set * cscan_scan_words(pool);
}

static inline uint64_t *
cscan_table_scans(const CScanPool *pool, int table)
{
	return pool->table_scans + (size_t) table * cscan_scan_words(pool);
}

/* How many active scans want what is in a slot: of these ... */
typedef enum CScanSlotTally
{
	CSCAN_TALLY_INTERESTED,		/* all */
	CSCAN_TALLY_ELEVATOR,		/* elevator scans, which can use it as it is */
	CSCAN_TALLY_ALMOST_STARVED, /* those with fewer than 3 chunks available */
	CSCAN_TALLY_STARVED,		/* starved scans served by queryRelevance */
	CSCAN_NTALLIES
} CScanSlotTally;

extern void cscan_status_init(CScanPool *pool);

/* A scan has come, with its interest; it goes, or its interest does: with its wants. */
extern void cscan_status_enter(CScanPool *pool, int scan);
extern void cscan_status_leave(CScanPool *pool, int scan);

/* A table has fewer scans. */
extern void cscan_status_shrink(CScanPool *pool, int table);

/* Whether it is active, starved, waits or may be served has changed. */
extern void cscan_status_changed(CScanPool *pool, int scan);

/* A chunk has left its wanted set. */
extern void cscan_status_unwanted(CScanPool *pool, int scan, uint32_t chunk);

/* What is in a slot has changed. */
extern void cscan_status_slot_changed(CScanPool *pool, int slot);

/* One of its processes reads another slot now. */
extern void cscan_status_reads(CScanPool *pool, int scan, int32_t *in_use, int slot);

/*
 * The tallies.  Those of starved and almost starved scans, and those of chunks,
 * are brought up to date when they are asked for.
 */
extern CScanTally cscan_status_slots(CScanPool *pool, CScanSlotTally which);
extern CScanTally cscan_status_slots_now(const CScanPool *pool, CScanSlotTally which);
extern void cscan_status_chunks(CScanPool *pool, int table, CScanTally *interested,
								CScanTally *starved);

/*
 * The first chunk at or after "from", going round once, that the scan wants and
 * that is neither there nor on its way; or CSCAN_NO_CHUNK.
 */
extern uint32_t cscan_status_first_absent(const CScanPool *pool, int scan, uint32_t from);

/* ------------------------------------------------------------------
 * queue.c
 * ------------------------------------------------------------------ */

extern void cscan_queue_init(CScanPool *pool);

/*
 * Who is first of the scans of a policy that are starved and for which something
 * can be loaded: those that wait, and those that still have a chunk to read.
 * CSCAN_NONE if there is none; else *key is what it is ordered by.
 */
extern int	cscan_queue_first(CScanPool *pool, CScanPolicyId policy, bool blocked,
							  uint64_t *key);

/* What one chunk needed is worth in waiting time (us), to a policy with impatience. */
extern uint64_t cscan_queue_rate(const CScanPool *pool, CScanPolicyId policy);

/* A load took so long (us); or so we are told. */
extern void cscan_queue_note_load(CScanPool *pool, double duration);

/* ------------------------------------------------------------------
 * relevance.c: what demand.c shares with it
 * ------------------------------------------------------------------ */

extern uint32_t cscan_relevance_start(const CScanPool *pool, int scan);
extern int	cscan_relevance_choose_available(const CScanPool *pool, int scan);
extern int	cscan_relevance_choose_query(CScanPool *pool, uint64_t now, CScanPolicyId policy);
extern uint32_t cscan_relevance_choose_load(CScanPool *pool, int scan);
extern void cscan_relevance_spare(CScanPool *pool, int scan, uint64_t *slots);
extern void cscan_relevance_least_valued(CScanPool *pool, uint64_t *slots);
extern void cscan_relevance_protect(CScanPool *pool, uint64_t *slots);

/* ------------------------------------------------------------------
 * demand.c
 * ------------------------------------------------------------------ */

/* A scan begins, with its ranges: these are asked for. */
extern void cscan_demand_note(CScanPool *pool, int scan);

/* How many of a table's last scans wanted a chunk's part. */
extern uint32_t cscan_demand_of(const CScanPool *pool, int table, uint32_t chunk);

/* Of a table that was put together by hand: count anew. */
extern void cscan_demand_rebuild(CScanPool *pool, int table);

/* keepRelevance, and of equals those that the fewest have asked for. */
extern void cscan_demand_least_valued(CScanPool *pool, uint64_t *slots);

#endif							/* CSCAN_POOL_INTERNAL_H */
