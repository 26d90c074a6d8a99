/*-------------------------------------------------------------------------
 *
 * fault.h
 *		Places where tests can make something go wrong.
 *
 * Each step of a scan's life, in its own process and in the Active Buffer
 * Manager, has a place: CSCAN_FAULT(place).  A superuser's setting
 * cscan.debug_fault says what happens to a process that comes there:
 *
 *		PLACE ACTION [N]		only the N-th time (from 1) since it was set
 *
 *		error		an error
 *		memory		the error of a failed allocation
 *		fatal		an error that ends the session
 *		kill		the process is gone, as by SIGKILL
 *		wait		it stays there until it is interrupted or the configuration
 *					is reloaded; the log says that it has come
 *		delay		it takes 10 ms longer
 *
 * No place is inside the scheduler's lock.  While the setting is empty a place
 * costs a test of a variable.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CSCAN_FAULT_H
#define CSCAN_FAULT_H

#include "postgres.h"

typedef enum CScanFaultPlace
{
	CSCAN_FAULT_NONE,

	/* A scan's own process, or one of its parallel workers */
	CSCAN_FAULT_BEGIN,			/* before its first fetch */
	CSCAN_FAULT_BITMAP,			/* its bitmap has been made, not yet copied */
	CSCAN_FAULT_REGISTER,		/* before it registers */
	CSCAN_FAULT_REGISTERED,		/* right after */
	CSCAN_FAULT_JOIN,			/* a worker, before it joins */
	CSCAN_FAULT_ASLEEP,			/* it is about to sleep until a chunk comes */
	CSCAN_FAULT_CHUNK,			/* it has got a chunk */
	CSCAN_FAULT_PAGE,			/* it has a page pinned */
	CSCAN_FAULT_AHEAD,			/* it chooses a page to read ahead */
	CSCAN_FAULT_RESCAN,			/* it begins again */
	CSCAN_FAULT_LEAVE,			/* before it leaves */
	CSCAN_FAULT_LEFT,			/* it has left, and waits for the ABM */

	/* Whoever builds a row group of a column store */
	CSCAN_FAULT_STORE_BEGUN,	/* it is published as being built */
	CSCAN_FAULT_STORE_BLOCK,	/* a block looked all-visible, and is not
								 * locked yet */
	CSCAN_FAULT_STORE_WRITTEN,	/* its pages are written, nothing refers to
								 * them */
	CSCAN_FAULT_STORE_PUBLISHED,	/* it serves */

	/* A scan of row groups */
	CSCAN_FAULT_STORE_LOOK,		/* it has read the visibility map, and no
								 * entry */
	CSCAN_FAULT_STORE_ENTRY,	/* it has read an entry, and no run */
	CSCAN_FAULT_STORE_READ,		/* it has read the runs */

	/* The Active Buffer Manager */
	CSCAN_FAULT_ABM_START,		/* it has started, but done nothing yet */
	CSCAN_FAULT_ABM_LOCKED,		/* it has a table's lock, unknown to others */
	CSCAN_FAULT_ABM_START_LOAD, /* it has decided on a load */
	CSCAN_FAULT_ABM_READ,		/* it has read a step of a load */
	CSCAN_FAULT_ABM_LOADED,		/* a load is complete, and no process knows */
	CSCAN_FAULT_ABM_DROP,		/* before it lets go of a chunk's frames */
	CSCAN_FAULT_ABM_UNLOCK		/* chunks are dropped, the lock is held */
} CScanFaultPlace;

/* The place that is set; CSCAN_FAULT_NONE almost always. */
extern int	cscan_fault_place;

extern void cscan_fault_reached(void);
extern void cscan_fault_init(void);

#define CSCAN_FAULT(place) \
	do { \
		if (unlikely(cscan_fault_place == (place))) \
			cscan_fault_reached(); \
	} while (0)

#endif							/* CSCAN_FAULT_H */
