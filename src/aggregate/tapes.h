/*-------------------------------------------------------------------------
 *
 * tapes.h
 *		What finds no memory, divided among tapes by a hash.
 *
 * All that has one hash is on one tape.  A tape is read when there is memory
 * again, and what finds none then is divided anew, among tapes of the next level.
 *
 *		choose, write	to the tape of a hash
 *		next			what has been written is to be read: the next tape
 *		read			bytes of a tape
 *
 *-------------------------------------------------------------------------
 */
#ifndef CSCAN_TAPES_H
#define CSCAN_TAPES_H

#include "compat.h"

#include "nodes/pg_list.h"
#include "utils/logtape.h"

typedef struct CScanTapePart CScanTapePart;

typedef struct CScanTapes
{
	MemoryContext context;
	Size		limit;			/* bytes of memory that the caller has */
	LogicalTapeSet *set;		/* NULL: there are none */
	CScanTapePart **parts;		/* being written; NULL: none is */
	uint32		nparts;
	uint32		level;			/* of the tape that was read last; 0: none was */
	List	   *waiting;		/* CScanTapePart */
	uint64	   *count;			/* of all tapes that were written */
} CScanTapes;

/* Begin without tapes; "context" is for nothing else, and its end must not come before theirs. */
extern void cscan_tapes_begin(CScanTapes *tapes, MemoryContext context, Size limit, uint64 *count);

/* Is there something that next() has not taken over yet? */
static inline bool
cscan_tapes_are_written(const CScanTapes *tapes)
{
	return tapes->parts != NULL;
}

/* The tape for a hash, and bytes for a tape. */
extern LogicalTape *cscan_tapes_choose(CScanTapes *tapes, uint32 hash);
extern void cscan_tapes_write(CScanTapes *tapes, LogicalTape *tape, const void *bytes, size_t size);

/* The next tape to be read, which the caller closes; NULL: there is none. */
extern LogicalTape *cscan_tapes_next(CScanTapes *tapes);

/* Read so many bytes; at the end of the tape there may be none. */
extern bool cscan_tapes_read(CScanTapes *tapes, LogicalTape *tape, void *bytes, size_t size, bool may_end);

/* Forget all of them. */
extern void cscan_tapes_end(CScanTapes *tapes);

#endif							/* CSCAN_TAPES_H */
