/*-------------------------------------------------------------------------
 *
 * bounds.h
 *		Which values of a column may still come from a CScan (Section 7.2 of the
 *		paper).
 *
 * The blocks of a table are divided into units.  Of each unit the least and the
 * greatest value of one column are known: of a row group those of its runs, of a
 * range of blocks those in a BRIN index.  What the scan has read counts no more.
 * So it is known which values what is left can have, whatever the order of chunks is.
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

/* Find out which values what is left can have. */
extern void cscan_bounds_look(CScanBounds *bounds);

/* Can a row that was left at the last look have this value? */
extern bool cscan_bounds_may_come(const CScanBounds *bounds, int64 value);

/* How many blocks have bounds of their own in an index: a BRIN index, or else one of columns. */
extern uint32 cscan_bounds_unit(Oid index, bool brin);

/* Can there be bounds of a column of this type? */
extern bool cscan_bounds_are_possible(Oid type);

/* Does a BRIN index with this operator family have them? */
extern bool cscan_bounds_in_brin(Oid opfamily, Oid type);

#endif							/* CSCAN_EXEC_BOUNDS_H */
