/*-------------------------------------------------------------------------
 *
 * bounds.h
 *		Which values of a column may still come from CScans (Section 7.2 of the
 *		paper).
 *
 * Of units of a table an index knows the least and the greatest value (units.h).
 * What the scans have read counts no more.  So it is known which values what is left
 * can have, whatever the order of chunks is, and of the scans.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CSCAN_EXEC_BOUNDS_H
#define CSCAN_EXEC_BOUNDS_H

#include "exec/exec.h"

typedef struct CScanBounds CScanBounds;

/* A scan, and where the bounds of its values are. */
typedef struct CScanBoundsSource
{
	CScanState *scan;
	int			attribute;		/* from 0; its type has bounds (units.h) */
	Oid			brin;			/* or InvalidOid: the scan's own index of columns */
} CScanBoundsSource;

/*
 * Find the bounds of all that scans read in a pass, in one process, one scan at a
 * time.  The pass has begun: no scan begins it anew from now on, and no other scan
 * is read.  cscan_chunks_record() was called of each before it.  None reads a range of
 * TIDs.  NULL if they say nothing.  "context" keeps them; the current one keeps what
 * scans that have not begun find.
 */
extern CScanBounds *cscan_bounds_find(const CScanBoundsSource *sources, int n, MemoryContext context);

/*
 * Look where the scans are; "current" is the one that is being read.  All rows before
 * that, but not those of the page or of the row group that it is reading, count no
 * more.  True if a unit has ended.
 */
extern bool cscan_bounds_advance(CScanBounds *bounds, const CScanState *current);

/* Find out which values what is left can have. */
extern void cscan_bounds_look(CScanBounds *bounds);

/* Can a row that was left at the last look have this value? */
extern bool cscan_bounds_may_come(const CScanBounds *bounds, int64 value);

#endif							/* CSCAN_EXEC_BOUNDS_H */
