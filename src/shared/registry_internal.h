/*-------------------------------------------------------------------------
 *
 * registry_internal.h
 *		What registry.c and next_chunk.c share: a registration, from within.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CSCAN_REGISTRY_INTERNAL_H
#define CSCAN_REGISTRY_INTERNAL_H

#include "shared/registry.h"

#include "lib/ilist.h"
#include "utils/resowner.h"

struct CScanRegistration
{
	dlist_node	node;
	ResourceOwner owner;
	int			helper;			/* index in the pool; CSCAN_NONE: the scan's
								 * owner */
	bool		joinable;		/* other processes may join: owner's only */
	CScanTicket ticket;
	const CScanGroupTarget *groups; /* of a scan of an index of columns */

	/* Chunks that have been taken ahead, see next_chunk.c */
	CScanPortion ahead[CSCAN_MAX_AHEAD];
	uint32		nahead;
	uint32		next_ahead;		/* the first that is not handed out */

	/* Its tables' loads when its patience ended, plus 1; 0: not ended. */
	uint64		patience_ended;
};

/* All registrations of this process. */
extern dlist_head cscan_registrations;

/*
 * Ask the kernel for long time slices while there is a registration, and for
 * the former ones after the last; see time_slice.c.
 */
extern void cscan_time_slice_lengthen(void);
extern void cscan_time_slice_reset(void);

/* The wait event of a scan that waits for a chunk. */
extern uint32 cscan_wait_for_chunk;

/*
 * Has an owner's scan lost its place, or has a helper's scan gone?  Call with
 * the lock held.
 */
static inline bool
cscan_registration_is_over(const CScanRegistration *reg)
{
	if (reg->helper == CSCAN_NONE)
		return cscan_scans[reg->ticket.scan].serial != reg->ticket.scan_serial;
	return cscan_pool.helpers[reg->helper].scan == CSCAN_NONE;
}

/*
 * Returns the ABM's latch if it sleeps.  Call with the lock held, and set the
 * latch after it has been released.  It is returned only once: one process
 * that tells is enough.
 */
static inline Latch *
cscan_registration_abm_to_wake(void)
{
	Latch	   *latch = cscan_shared->abm_idle ? cscan_shared->abm_latch : NULL;

	cscan_shared->abm_idle = false;
	return latch;
}

/* Wake the ABM, if it sleeps; the caller has released the scheduler's lock. */
static inline void
cscan_registration_wake(Latch *latch)
{
	if (latch != NULL)
		SetLatch(latch);
}

/*
 * Count a chunk that has been handed out or taken ahead; call with the lock
 * held.  So the views may be ahead of the scan.  For a scan that ends early
 * they include chunks that were not read.
 */
extern void cscan_registration_count(const CScanTicket *ticket, uint32 chunk, CScanDelivery how);

/* What is handed out with a pool's chunk; call with the lock held. */
extern CScanPortion cscan_registration_portion(uint32 chunk);

#endif							/* CSCAN_REGISTRY_INTERNAL_H */
