/*-------------------------------------------------------------------------
 *
 * state.h
 *		Where the parts of a pool's state are, for the files of this directory.
 *
 * The files form layers.  Each calls, and includes, only those above it:
 *
 *		sets			bitmaps and tallies; know nothing of scans
 *		space			chunks and where they are
 *		pool.h, state	the fields, and questions that only look
 *		record.h		the records that events leave
 *		policy.h		what a policy is: the questions that it answers
 *		interest		what a scan wants of a chunk
 *		slots			slots: lists, sets, order of use
 *		status			what each scan has, how many scans want what
 *		queue			which starved scan is next
 *		columnar		what relevance decides over columns
 *		<policies>		one file each; they look, and keep a history
 *		schedule		the ABM's next step
 *		events			what happens to a pool
 *		pool.c			lays out a pool, empties it, counts it anew
 *		trace			records of events, and of a state
 *
 * A function that pool.h declares belongs to the layer of its file.  Events
 * hand their records to a function that the process's handle points to.
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

/* The columns that a scan wants of a columnar space. */
static inline uint64_t
cscan_columns(const CScanPool *pool, int scan, const CScanSpace *space)
{
	return pool->scans[scan].columns & cscan_layout_all(&space->columns);
}

static inline const CScanTraits *
cscan_traits(const CScanPool *pool, int scan)
{
	return &pool->state->traits[pool->scans[scan].policy];
}

/* Sets of slots that status.c keeps for each scan. */
typedef enum CScanHas
{
	CSCAN_HAS_WANTED,			/* the scan wants the slot's chunk */
	CSCAN_HAS_READY,			/* and can use it as it is now */
	CSCAN_HAS_AVAILABLE,		/* and can use it, or it is in flight */
	CSCAN_HAS_PASSING,			/* and what is in flight does not bring what it
								 * wants */
	CSCAN_NHAS
} CScanHas;

static inline uint64_t *
cscan_scan_slots(const CScanPool *pool, int scan, CScanHas has)
{
	return pool->scan_slots +
		((size_t) scan * CSCAN_NHAS + has) * cscan_slot_words(pool);
}

typedef enum CScanScanSet
{
	CSCAN_SCANS_MOVED_SLOTS,	/* to be counted anew in slot tallies, */
	CSCAN_SCANS_MOVED_CHUNKS,	/* and in chunk tallies, see status.c */
	CSCAN_SCANS_MOVED_QUEUE,	/* to be queued anew, see queue.c */
	CSCAN_SCANS_COUNTED,		/* scratch of a decision, see columnar.c */
	CSCAN_SCANS_OF_POLICY,		/* started scans, a set for each policy */
	CSCAN_NSCAN_SETS = CSCAN_SCANS_OF_POLICY + CSCAN_NPOLICIES
} CScanScanSet;

static inline uint64_t *
cscan_scan_set(const CScanPool *pool, int set)
{
	return pool->scan_sets + (size_t) set * cscan_scan_words(pool);
}

/* The wanted chunks of word w that may be loaded and are in no slot. */
static inline uint64_t
cscan_absent_word(const CScanPool *pool, const uint64_t *wanted, uint32_t w)
{
	return wanted[w] & pool->loadable[w] & ~pool->resident[w];
}

/* Is there a started scan of that policy? */
extern bool cscan_state_any_of(const CScanPool *pool, int policy);

/*
 * The first chunk at or after "from", going round once, that the scan wants
 * and that is neither there nor in flight; or CSCAN_NO_CHUNK.  With
 * "loadable", only chunks that may be loaded count.
 */
extern uint32_t cscan_state_first_absent(const CScanPool *pool, int scan, uint32_t from,
										 bool loadable);

/*
 * The first chunk at or after "from", going round once, that the scan wants and
 * whose space's access is refused; or CSCAN_NO_CHUNK.
 */
extern uint32_t cscan_state_first_refused(const CScanPool *pool, int scan, uint32_t from);

#endif							/* CSCAN_STATE_H */
