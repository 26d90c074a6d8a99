/*-------------------------------------------------------------------------
 *
 * status.h
 *		What each scan has, and how many want what: counts kept by events.
 *
 * Of each scan (state.h, CScanHas) it is kept which slots hold a chunk that it
 * wants, which of these it can use, and which it need not wait for.  From that
 * follow the numbers that decide whether it is starved.
 *
 * Tallies (sets.h) say how many active scans want what is in each slot, and how
 * many want each chunk.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CSCAN_STATUS_H
#define CSCAN_STATUS_H

#include "state.h"

/* How many active scans want what is in a slot: of these ... */
typedef enum CScanSlotTally
{
	CSCAN_TALLY_INTERESTED,		/* all */
	CSCAN_TALLY_KEEPERS,		/* those that can use it as it is, and of whose
								 * policy it must stay until they have */
	CSCAN_TALLY_ALMOST_STARVED, /* those with fewer than 3 chunks available */
	CSCAN_TALLY_STARVED,		/* starved scans served by queryRelevance */
	CSCAN_NSLOT_TALLIES
} CScanSlotTally;

/* How many active scans want a chunk: of these ... */
typedef enum CScanChunkTally
{
	CSCAN_CHUNKS_INTERESTED,	/* all */
	CSCAN_CHUNKS_STARVED,		/* those with fewer than 2 chunks available */
	CSCAN_NCHUNK_TALLIES
} CScanChunkTally;

extern void cscan_status_init(CScanPool *pool);

/* A scan starts, with its interest; it leaves, with its wants as they are now. */
extern void cscan_status_enter(CScanPool *pool, int scan);
extern void cscan_status_leave(CScanPool *pool, int scan);

/* Whether it is active, starved, waits or may be served has changed. */
extern void cscan_status_changed(CScanPool *pool, int scan);

/* A chunk has left its wanted set. */
extern void cscan_status_unwanted(CScanPool *pool, int scan, uint32_t chunk);

/* What is in a slot has changed, or what its scans want of it. */
extern void cscan_status_slot_changed(CScanPool *pool, int slot);

/* One of its processes reads another slot now. */
extern void cscan_status_reads(CScanPool *pool, int scan, int32_t *in_use, int slot);

/*
 * The tallies.  Those of starved and almost starved scans, and those of chunks,
 * are brought up to date when they are asked for.
 */
extern CScanTally cscan_status_slots(CScanPool *pool, CScanSlotTally which);
extern CScanTally cscan_status_slots_now(const CScanPool *pool, CScanSlotTally which);
extern void cscan_status_chunks(CScanPool *pool, CScanTally *interested, CScanTally *starved);

#endif							/* CSCAN_STATUS_H */
