/*-------------------------------------------------------------------------
 *
 * trace_ring.h
 *		The server's trace, from whoever calls the pool to the ABM.
 *
 * Whoever holds the scheduler's lock and calls the pool puts a record into a ring in
 * shared memory.  The ABM takes it out, without the lock (abm/trace_file.c).
 *
 *-------------------------------------------------------------------------
 */
#ifndef CSCAN_TRACE_RING_H
#define CSCAN_TRACE_RING_H

#include "storage/latch.h"

#include "policy/trace.h"

/* Records on their way into the file; a power of two. */
#define CSCAN_TRACE_RING	8192

typedef struct CScanTraceRing
{
	Latch	   *reader;			/* the ABM's, NULL while it is down; it writes this
								 * under the scheduler's lock */

	/* Under the scheduler's lock; the ABM may look without it. */
	uint64		head;			/* records put in so far */
	uint64		tail;			/* and taken out */
	uint64		lost;			/* for which there was no room; as long as
								 * there are some, none is put in */

	/* Those between tail and head are the ABM's to read without the lock. */
	CScanTraceRecord records[CSCAN_TRACE_RING];
} CScanTraceRing;

/* NULL unless preloaded. */
extern CScanTraceRing *cscan_trace_ring;

/* The pool's "record"; call with the lock held. */
extern void cscan_trace_ring_record(const CScanPool *pool, const CScanTraceRecord *r);

#endif							/* CSCAN_TRACE_RING_H */
