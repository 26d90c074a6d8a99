/*-------------------------------------------------------------------------
 *
 * state.h
 *		Where the parts of a pool's state are, for the files of this room.
 *
 * The files of this room in layers; each calls, and includes, those above it only:
 *
 *		sets			bitmaps and tallies; know nothing of scans
 *		space			chunks and where they are
 *		pool.h, state	the fields, and questions that only look
 *		record.h		what an event leaves behind, for whoever listens
 *		policy.h		what a policy is: the questions that it answers
 *		interest		what a scan wants of a chunk
 *		slots			slots: lists, sets, order of use
 *		status			what each scan has, how many want what
 *		queue			which starved scan is the next
 *		<policies>		one file each; they look, and keep a history
 *		schedule		the ABM's next step
 *		events			what happens to a pool
 *		pool.c			how a pool is laid out, begun, and counted anew
 *		trace			records of events, and of a state
 *
 * Each file's questions of pool.h belong to its layer.  Events hand their records
 * to a function that the process's handle points to.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CSCAN_STATE_H
#define CSCAN_STATE_H

#include "pool.h"

/* Words of a set of chunks, of slots, of scans, and of spaces. */
static inline uint32_t
cscan_chunk_words(const CScanPool *pool)
{
	return pool->state->limits.max_chunks / 64;
}

static inline uint32_t
cscan_slot_words(const CScanPool *pool)
{
	return cscan_set_words((uint32_t) pool->state->limits.max_slots);
}

static inline uint32_t
cscan_scan_words(const CScanPool *pool)
{
	return cscan_set_words((uint32_t) pool->state->limits.max_scans);
}

static inline uint32_t
cscan_space_words(const CScanPool *pool)
{
	return cscan_set_words((uint32_t) pool->state->limits.max_spaces);
}

/* A scan's ranges, its wanted set, and its set of spaces; a space's set of scans. */
static inline CScanSpaceRange *
cscan_ranges(const CScanPool *pool, int scan)
{
	return pool->ranges + (size_t) scan * CSCAN_MAX_RANGES;
}

static inline uint64_t *
cscan_wanted(const CScanPool *pool, int scan)
{
	return pool->wanted + (size_t) scan * cscan_chunk_words(pool);
}

static inline uint64_t *
cscan_scan_spaces(const CScanPool *pool, int scan)
{
	return pool->scan_spaces + (size_t) scan * cscan_space_words(pool);
}

static inline uint64_t *
cscan_space_scans(const CScanPool *pool, int space)
{
	return pool->space_scans + (size_t) space * cscan_scan_words(pool);
}

/* The traits of a scan's policy. */
static inline const CScanTraits *
cscan_traits(const CScanPool *pool, int scan)
{
	return &pool->state->traits[pool->scans[scan].policy];
}

/* What a scan has: sets of slots, kept by status.c. */
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

/* Of a word of a scan's wanted set, the chunks that are in no slot and may be loaded. */
static inline uint64_t
cscan_absent_word(const CScanPool *pool, const uint64_t *wanted, uint32_t w)
{
	return wanted[w] & pool->loadable[w] & ~pool->resident[w];
}

/* Is there a scan of that policy? */
extern bool cscan_state_any_of(const CScanPool *pool, int policy);

/*
 * The first chunk at or after "from", going round once, that the scan wants and
 * that is neither there nor on its way; or CSCAN_NO_CHUNK.  With "loadable", only
 * one that may be loaded.
 */
extern uint32_t cscan_state_first_absent(const CScanPool *pool, int scan, uint32_t from,
										 bool loadable);

/*
 * The first chunk at or after "from", going round once, that the scan wants and
 * whose space's access is refused; or CSCAN_NO_CHUNK.
 */
extern uint32_t cscan_state_first_refused(const CScanPool *pool, int scan, uint32_t from);

#endif							/* CSCAN_STATE_H */
