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
	int			helper;			/* index in the pool, or CSCAN_NONE: it owns
								 * the scan */
	CScanTicket ticket;

	/* Chunks that have been taken ahead, see next_chunk.c */
	CScanPortion ahead[CSCAN_MAX_AHEAD];
	uint32		nahead;
	uint32		next_ahead;		/* of these, the first not handed out */

	/* Loads of its tables when its patience ended, plus 1; 0: it has not ended */
	uint64		patience_ended;
};

/* All of this process. */
extern dlist_head cscan_registrations;

/*
 * A process that has a registration asks the kernel for long time slices, and
 * one that has none left for what it had before; see time_slice.c.
 */
extern void cscan_time_slice_lengthen(void);
extern void cscan_time_slice_reset(void);

/* The wait event of a scan that waits for a chunk. */
extern uint32 cscan_wait_for_chunk;

/*
 * Has the scan of an owner lost its place, or that of a helper gone?  Call with
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
 * The latch of the ABM, if it sleeps: to be set after the lock has been released;
 * call with it held.  One who tells is enough.
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
 * A chunk has been handed out, or taken ahead; call with the lock held.  So what
 * the views tell may be ahead of the scan, and for one that ends early it
 * includes chunks that were not read.
 */
extern void cscan_registration_count(const CScanTicket *ticket, uint32 chunk, CScanDelivery how);

/* What is handed out with a chunk of the pool; call with the lock held. */
extern CScanPortion cscan_registration_portion(uint32 chunk);

#endif							/* CSCAN_REGISTRY_INTERNAL_H */
