/*-------------------------------------------------------------------------
 *
 * trace.h
 *		The server's trace: from whoever calls the pool, through a ring in
 *		shared memory, to a file that the ABM writes.
 *
 * cscan.trace names the file.  The format is policy/trace.h's; doc/trace.md
 * says how to use it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CSCAN_ABM_TRACE_H
#define CSCAN_ABM_TRACE_H

#include "cscan.h"
#include "policy/trace.h"

/* Records on their way into the file; a power of two. */
#define CSCAN_TRACE_RING	8192

typedef struct CScanTraceRing
{
	/* Under the scheduler's lock; the ABM may look without it. */
	uint64		head;			/* records put in so far */
	uint64		tail;			/* and taken out */
	uint64		lost;			/* for which there was no room; as long as
								 * there are some, none is put in */

	/* Those between tail and head are the ABM's to read without the lock. */
	CScanTraceRecord records[CSCAN_TRACE_RING];
} CScanTraceRing;

/* Under the scheduler's lock: the pool's "record". */
extern void cscan_trace_record(const CScanPool *pool, const CScanTraceRecord *r);

/* The ABM's: do what cscan.trace says; write what there is; write and end. */
extern void cscan_trace_begin_or_end(void);
extern void cscan_trace_write(bool all);
extern void cscan_trace_end(void);

extern void cscan_trace_define_setting(void);

#endif							/* CSCAN_ABM_TRACE_H */
