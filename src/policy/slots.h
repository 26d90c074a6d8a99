/*-------------------------------------------------------------------------
 *
 * slots.h
 *		Slots: which chunk is where, what state they are in, and their order.
 *
 * Kept as things change, and following from the slots alone:
 *
 *		sets		slots that are taken, in flight, held, in use, dispensable
 *		the index	from a chunk to its slot
 *		by stamp	a list of the taken slots, the least recently used one first
 *		by order	another one, in the order of their loads
 *
 * This is mechanics: who is interested in what is in them is status.c's.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CSCAN_SLOTS_H
#define CSCAN_SLOTS_H

#include "state.h"

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

extern void cscan_slots_init(CScanPool *pool);
extern void cscan_slots_rebuild(CScanPool *pool);

/* A free slot, or none. */
extern int	cscan_slots_free(const CScanPool *pool);

/* A slot comes to hold a chunk: nothing of it yet, but it is about to be loaded. */
extern void cscan_slots_take(CScanPool *pool, int slot, uint32_t chunk, uint64_t now);

/*
 * A load into a slot begins: it has what it has, and this comes to it.  "again"
 * blocks of what it had are loaded again.
 */
extern void cscan_slots_begin_load(CScanPool *pool, int slot, const CScanPieces *have,
								   const CScanPieces *coming, uint32_t nblocks,
								   uint32_t again, uint64_t now);

/* It has ended. */
extern void cscan_slots_end_load(CScanPool *pool, int slot, uint64_t now, bool failed, bool cheap);

/* A slot goes, in two steps: its chunk is in no slot any more; it is free again. */
extern void cscan_slots_forget(CScanPool *pool, int slot);
extern void cscan_slots_clear(CScanPool *pool, int slot);

extern void cscan_slots_set_held(CScanPool *pool, int slot, bool held);

/* It has been used just now; or so its stamp says. */
extern void cscan_slots_touch(CScanPool *pool, int slot, uint64_t now);

/* So many more processes of active scans read it, or fewer. */
extern void cscan_slots_add_users(CScanPool *pool, int slot, int number);

/* Of a set of slots the least recently used, and the one loaded first; or none. */
extern int	cscan_slots_oldest(const CScanPool *pool, const uint64_t *slots);
extern int	cscan_slots_first(const CScanPool *pool, const uint64_t *slots);

#endif							/* CSCAN_SLOTS_H */
