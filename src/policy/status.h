/*-------------------------------------------------------------------------
 *
 * status.h
 *		What each scan has, and how many want what: counts kept by events.
 *
 * For each scan four sets of slots (state.h, CScanHas) say which slots hold a
 * chunk that it wants, which of these it can use, which are available, and which
 * of those are only in flight for others.  Their counts decide whether it is
 * starved.
 *
 * Tallies (sets.h) say how many active scans want what is in each slot, and
 * how many want each chunk.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CSCAN_STATUS_H
#define CSCAN_STATUS_H

#include "state.h"

/* The active scans that want a slot's chunk: of these ... */
typedef enum CScanSlotTally
{
	CSCAN_TALLY_INTERESTED,		/* all */
	CSCAN_TALLY_KEEPERS,		/* those that can use it as it is, if their
								 * policy keeps it until they have */
	CSCAN_TALLY_ALMOST_STARVED, /* those with fewer than 3 chunks available */
	CSCAN_TALLY_STARVED,		/* starved scans served by queryRelevance */
	CSCAN_NSLOT_TALLIES
} CScanSlotTally;

/* The active scans that want a chunk: of these ... */
typedef enum CScanChunkTally
{
	CSCAN_CHUNKS_INTERESTED,	/* all */
	CSCAN_CHUNKS_STARVED,		/* those with fewer than 2 chunks available */
	CSCAN_NCHUNK_TALLIES
} CScanChunkTally;

extern void cscan_status_init(CScanPool *pool);

/* Begin to count a scan; stop counting it, before its interest is cleared. */
extern void cscan_status_enter(CScanPool *pool, int scan);
extern void cscan_status_leave(CScanPool *pool, int scan);

/* Whether the scan is active, starved, waits or may be served has changed. */
extern void cscan_status_changed(CScanPool *pool, int scan);

/* A chunk has left the scan's wanted set. */
extern void cscan_status_unwanted(CScanPool *pool, int scan, uint32_t chunk);

/* A slot's pieces or state have changed, or what scans want of its chunk. */
extern void cscan_status_slot_changed(CScanPool *pool, int slot);

/* A process of the scan, with this in_use, now reads this slot or none. */
extern void cscan_status_reads(CScanPool *pool, int scan, int32_t *in_use, int slot);

/*
 * The tallies.  Those of starved and almost starved scans, and of chunks, are
 * brought up to date first, except by cscan_status_slots_now().
 */
extern CScanTally cscan_status_slots(CScanPool *pool, CScanSlotTally which);
extern CScanTally cscan_status_slots_now(const CScanPool *pool, CScanSlotTally which);
extern void cscan_status_chunks(CScanPool *pool, CScanTally *interested, CScanTally *starved);

#endif							/* CSCAN_STATUS_H */
