/*-------------------------------------------------------------------------
 *
 * batch.h
 *		The rows of a CScan, many at a time and a column at a time.
 *
 * A batch is a part of a vector of column runs, or the visible rows of a page.
 * Its rows have not met the scan's conditions yet.  A third kind comes from
 * whoever has kept rows for later (aggregate/spill.c).
 *
 * Columns are got only when somebody asks for one, as integers (vector/vector.h)
 * or as Datums, and only for the rows of the batch's selection.  Whoever uses the
 * batch may take rows out of that, but not while he looks at a part of it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CSCAN_EXEC_BATCH_H
#define CSCAN_EXEC_BATCH_H

#include "exec/exec.h"
#include "exec/page_columns.h"
#include "vector/vector.h"

/* The place of a scale has this for floats. */
#define CSCAN_FLOAT		(-2)

typedef enum CScanBatchKind
{
	CSCAN_BATCH_RUNS,
	CSCAN_BATCH_PAGE,
	CSCAN_BATCH_KEPT
} CScanBatchKind;

typedef struct CScanBatchColumn
{
	int			attribute;		/* of the table, from 0 */
	int			decoder;		/* the reader's, of a scan over row groups */
	int16		typlen;
	int			scale;			/* of numerics as integers; -1: integers;
								 * CSCAN_FLOAT: floats */
	bool		has_integers;	/* "integers" are there for this batch */
	bool		failed;			/* they cannot be had */
	CScanVector vector;
	int64	   *integers;
	Datum	   *kept;			/* of CSCAN_BATCH_KEPT */
	bool	   *kept_nulls;
} CScanBatchColumn;

typedef struct CScanBatch
{
	CScanState *scan;
	int			ncolumns;
	CScanBatchColumn *columns;	/* by attribute, ascending */
	CScanBatchKind kind;
	uint32		nrows;
	uint32		counted;		/* by the cumulative statistics; see cscan_batch_count() */
	const CScanSelection *selection;	/* set by whoever uses the batch */

	/* Of runs: rows of a vector, and a number for the group's runs */
	uint32		vector;
	uint32		from;
	uint64		runs;

	/* Of a page */
	HeapScanDesc heap;
	uint32		first;			/* among its visible tuples */
	CScanPageColumns *page;
} CScanBatch;

/*
 * Make a batch for the attributes (from 0) of a scan's table; the scan has been
 * begun by the executor.  The current context keeps it, except what is of one
 * batch only.
 */
extern CScanBatch *cscan_batch_create(CScanState *scan, const Bitmapset *attributes, CScanRoom *room);

/* The number of the column that an attribute is. */
extern int	cscan_batch_column(const CScanBatch *batch, int attribute);

/* Get the next rows.  False at the end of a pass. */
extern bool cscan_batch_next(CScanBatch *batch);

/* Let the cumulative statistics count the batch's rows before this one, unless they have. */
extern void cscan_batch_count(CScanBatch *batch, uint32 end);

/* Begin with rows that have been kept; the caller sets them and their columns' Datums. */
extern void cscan_batch_keep(CScanBatch *batch, uint32 nrows);

/*
 * Get a column as integers: those of its type or, with a scale, of numerics; floats as
 * the bits of doubles.
 * False if some row's value cannot be one.
 */
extern bool cscan_batch_integers(CScanBatch *batch, int column, CScanVector *vector);

/* Get a column as Datums; "isnull" is NULL if no row is null. */
extern void cscan_batch_datums(CScanBatch *batch, int column, const Datum **values, const bool **isnull);

/* Get which rows of a column are null; NULL if none is. */
extern const bool *cscan_batch_nulls(CScanBatch *batch, int column);

/*
 * Get the numbers of a dictionary's entries, and how many it has.  False if the
 * column has no dictionary in this batch.
 */
extern bool cscan_batch_codes(CScanBatch *batch, int column, const int64 **codes, const bool **isnull, uint32 *nentries);

/* Whether a row is null in a column that has been got as codes or Datums. */
static inline bool
cscan_batch_is_null(const bool *isnull, uint32 row)
{
	return isnull != NULL && isnull[row];
}

/*
 * Get a selected row in the scan's slot, with all that its plan needs.  Before the
 * first of a batch, prepare them.
 */
extern void cscan_batch_prepare_rows(CScanBatch *batch);
extern TupleTableSlot *cscan_batch_whole_row(CScanBatch *batch, uint32 row);

/* Get a row in the scan's slot, for an expression that needs these columns. */
extern TupleTableSlot *cscan_batch_row(CScanBatch *batch, uint32 row, const int *columns, int ncolumns);

/*
 * Get the value of a dictionary's entry, in the current context, and a row that
 * has this value of the column.
 */
extern Datum cscan_batch_entry(CScanBatch *batch, int column, int64 code);
extern TupleTableSlot *cscan_batch_entry_row(CScanBatch *batch, int column, Datum value);

#endif							/* CSCAN_EXEC_BATCH_H */
