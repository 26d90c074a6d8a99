/*-------------------------------------------------------------------------
 *
 * trace_ring.h
 *		The server's trace, from processes that call the pool to the ABM.
 *
 * A process that calls the pool, with the scheduler's lock held, puts a record
 * into a ring in shared memory.  The ABM takes it out without the lock
 * (abm/trace_file.c).
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
	Latch	   *reader;			/* the ABM's, NULL while it is down; written by
								 * the ABM under the scheduler's lock */

	/* Under the scheduler's lock; the ABM may look without it. */
	uint64		head;			/* records put in so far */
	uint64		tail;			/* records taken out so far */
	uint64		lost;			/* records without room; while there are some,
								 * none is put in */

	/* The ABM may read those between tail and head without the lock. */
	CScanTraceRecord records[CSCAN_TRACE_RING];
} CScanTraceRing;

/* NULL unless preloaded. */
extern CScanTraceRing *cscan_trace_ring;

/* The pool's "record"; call with the lock held. */
extern void cscan_trace_ring_record(const CScanPool *pool, const CScanTraceRecord *r);

#endif							/* CSCAN_TRACE_RING_H */
