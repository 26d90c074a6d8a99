/*-------------------------------------------------------------------------
 *
 * bounds.h
 *		Which values of a column may still come from a CScan (Section 7.2 of the
 *		paper).
 *
 * The blocks of a table are divided into units.  Of each unit the least and the
 * greatest value of one column are known: of a row group those of its runs, of a
 * range of blocks those in a BRIN index.  What the scan has read counts no more.
 * So what is left has bounds, whatever the order of chunks is.
 *
 * Values are integers, see vector/vector.h.  Nulls have no bounds.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CSCAN_EXEC_BOUNDS_H
#define CSCAN_EXEC_BOUNDS_H

#include "exec/exec.h"

typedef struct CScanBounds CScanBounds;

/*
 * Find the bounds of an attribute (from 0), an integer, for the pass that the scan
 * has begun.  "brin" is the index that has them, or InvalidOid for the scan's own
 * index of columns.  cscan_chunks_record() was called before the pass.  NULL if
 * they say nothing.  The current context keeps them.
 */
extern CScanBounds *cscan_bounds_find(CScanState *scan, int attribute, Oid brin);

/*
 * Look where the scan is.  All rows before that, but not those of the page or of
 * the row group that it is reading, count no more.  True if a unit has ended.
 */
extern bool cscan_bounds_advance(CScanBounds *bounds);

/* Get the bounds of what is left; "minimum" is above "maximum" if nothing is. */
extern void cscan_bounds_left(CScanBounds *bounds, int64 *minimum, int64 *maximum);

/* Can there be bounds of a column of this type? */
extern bool cscan_bounds_are_possible(Oid type);

/* Does a BRIN index with this operator family have them? */
extern bool cscan_bounds_in_brin(Oid opfamily, Oid type);

#endif							/* CSCAN_EXEC_BOUNDS_H */
