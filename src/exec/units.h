/*-------------------------------------------------------------------------
 *
 * units.h
 *		Which values an index says that parts of a table have.
 *
 * The blocks of a table are divided into units.  Of each unit the least and the
 * greatest value of one column are known: of a row group those of its runs, of a
 * range of blocks those in a BRIN index.
 *
 * Values are integers, see vector/vector.h.  Nulls have no bounds.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CSCAN_EXEC_UNITS_H
#define CSCAN_EXEC_UNITS_H

#include "exec/exec.h"

typedef struct CScanUnits
{
	CScanState *scan;
	int			attribute;		/* from 0 */
	int16		typlen;
	BlockNumber nblocks;
	uint32		unit_blocks;
	uint32		nunits;
	uint32	   *left;			/* blocks of each unit that are still to be read;
								 * none, if no value is in it */
	bool	   *known;			/* else its values can be any */
	int64	   *minima;
	int64	   *maxima;
	BlockNumber *may_look;		/* while it is being found */
} CScanUnits;

/*
 * Find the units of a scan's table, and the bounds of an attribute's values in them,
 * for the pass that the scan has begun, or will begin.  What it is to read has been
 * found.  "brin" is the index that has the bounds, or InvalidOid for the scan's own
 * index of columns.  A BRIN index has at most "most" units.  Up to *may_look blocks
 * are read to find bounds that no index has, and *may_look becomes less.  The current
 * context keeps the units.  Returns how many of them are known.
 */
extern uint32 cscan_units_find(CScanUnits *units, CScanState *scan, int attribute, Oid brin,
							   uint32 most, BlockNumber *may_look);

static inline BlockNumber
cscan_units_end(const CScanUnits *units, uint32 unit)
{
	uint64		end = ((uint64) unit + 1) * units->unit_blocks;

	return end < units->nblocks ? (BlockNumber) end : units->nblocks;
}

/* How many blocks have bounds of their own in an index: a BRIN index, or else one of columns. */
extern uint32 cscan_units_blocks(Oid index, bool brin);

/* Can there be bounds of a column of this type? */
extern bool cscan_units_are_possible(Oid type);

/* Does a BRIN index with this operator family have them? */
extern bool cscan_units_in_brin(Oid opfamily, Oid type);

#endif							/* CSCAN_EXEC_UNITS_H */
