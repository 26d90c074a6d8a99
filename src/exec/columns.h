/*-------------------------------------------------------------------------
 *
 * columns.h
 *		What a CScan over row groups has, for columns.c and groups.c.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CSCAN_EXEC_COLUMNS_H
#define CSCAN_EXEC_COLUMNS_H

#include "exec/exec.h"

struct CScanColumns
{
	Relation	index;
	CScanReader *reader;
	int			ncolumns;		/* that the plan needs */
	int		   *columns;		/* their numbers in the index */
	int		   *attributes;		/* their places in the slot */
	int			last_attribute; /* the largest of their attribute numbers */
	TupleTableSlot *heap_slot;	/* of rows from the heap */
	List	   *zones;			/* CScanZone */
	List	   *zone_exprs;		/* ExprState of each zone's expr, or NULL */
	bool		prepared;		/* the zones have this pass's values */

	/* What of the groups is announced, and what is left to this scan */
	CScanGroupTarget wanted;
	uint8	   *plans;			/* for each group, until that is settled */
	CScanTarget found;			/* what is to be announced, meanwhile */
	uint32	   *own;			/* groups that are not announced, or have no
								 * registration; with workers in shared memory */
	uint32		nown;
	uint32		next_own;		/* without workers: the first that is not
								 * taken */
	pg_atomic_uint32 *next_shared;	/* with workers: the same; else NULL */

	/* The rows of a vector that are being handed out */
	uint32		vector;
	uint32		row;
	uint32		end_row;

	/* The blocks that are read from the heap, behind the rows from runs */
	BlockNumber first;			/* of the group's blocks in the chunk */
	BlockNumber block;
	BlockNumber end_block;
	BlockNumber advised;		/* blocks before this one need no advice */
};

#endif							/* CSCAN_EXEC_COLUMNS_H */
