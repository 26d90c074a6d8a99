/*-------------------------------------------------------------------------
 *
 * slots.h
 *		Slots: which chunk each holds, what state they are in, and their order.
 *
 * Kept as things change, and following from the slots alone:
 *
 *		sets		slots that are taken, in flight, held, in use, dispensable,
 *					of columns, passed
 *		the index	from a chunk to its slot
 *		by stamp	a list of the taken slots, the least recently used one first
 *		by order	another one, in the order of their loads
 *
 * Which scans are interested in a slot's chunk is kept by status.c.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CSCAN_SLOTS_H
#define CSCAN_SLOTS_H

#include "state.h"

/*
 * The sets that a slot may be in.  Passed are those of columnar spaces of which
 * a scan may have ceased to want a column.  The last two are a decision's
 * scratch.
 */
typedef enum CScanSlotSet
{
	CSCAN_SLOTS_TAKEN,
	CSCAN_SLOTS_IN_FLIGHT,
	CSCAN_SLOTS_HELD,
	CSCAN_SLOTS_IN_USE,			/* by scans that are not stalled */
	CSCAN_SLOTS_DISPENSABLE,	/* cheap or failed */
	CSCAN_SLOTS_COLUMNAR,
	CSCAN_SLOTS_PASSED,
	CSCAN_SLOTS_CANDIDATES,
	CSCAN_SLOTS_LOWEST,
	CSCAN_NSLOT_SETS
} CScanSlotSet;

static inline uint64_t *
cscan_slot_set(const CScanPool *pool, CScanSlotSet set)
{
	return pool->slot_sets + (size_t) set * cscan_slot_words(pool);
}

extern void cscan_slots_init(CScanPool *pool);
extern void cscan_slots_rebuild(CScanPool *pool);

/* Return a free slot, or CSCAN_NONE. */
extern int	cscan_slots_free(const CScanPool *pool);

/* Take a slot for a chunk that is about to be loaded; it has no pieces yet. */
extern void cscan_slots_take(CScanPool *pool, int slot, uint32_t chunk, uint64_t now);

/*
 * Begin a load of nblocks blocks into a slot.  The slot keeps the pieces
 * "have" and gets those in "coming".  It had "again" of these blocks before.
 */
extern void cscan_slots_begin_load(CScanPool *pool, int slot, const CScanPieces *have,
								   const CScanPieces *coming, uint32_t nblocks,
								   uint32_t again, uint64_t now);

extern void cscan_slots_end_load(CScanPool *pool, int slot, uint64_t now, bool failed, bool cheap);

/* Pieces of a load in flight are there. */
extern void cscan_slots_arrived(CScanPool *pool, int slot, const CScanPieces *pieces);

/* A slot loses these columns. */
extern void cscan_slots_trim(CScanPool *pool, int slot, uint64_t columns);

/* A scan may have ceased to want a slot's columns. */
extern void cscan_slots_pass(CScanPool *pool, int slot);

/* Free a slot in two steps: out of the index, then out of the lists. */
extern void cscan_slots_forget(CScanPool *pool, int slot);
extern void cscan_slots_clear(CScanPool *pool, int slot);

/* The slot is loaded for this scan, which has not taken it; or for none. */
extern void cscan_slots_promise(CScanPool *pool, int slot, int scan);

extern void cscan_slots_set_held(CScanPool *pool, int slot, bool held);

/* Stamp a slot as used now. */
extern void cscan_slots_touch(CScanPool *pool, int slot, uint64_t now);

/* Add to the processes of active scans that read a slot; number may be < 0. */
extern void cscan_slots_add_users(CScanPool *pool, int slot, int number);

/* The least recently used slot of a set, and the one loaded first; or none. */
extern int	cscan_slots_oldest(const CScanPool *pool, const uint64_t *slots);
extern int	cscan_slots_first(const CScanPool *pool, const uint64_t *slots);

#endif							/* CSCAN_SLOTS_H */
