/*-------------------------------------------------------------------------
 *
 * page_columns.h
 *		Columns of the visible rows of a heap page.
 *
 * Rows are taken apart only as far as somebody asks, and only those that are
 * selected then.  Each row remembers how far it is.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CSCAN_PAGE_COLUMNS_H
#define CSCAN_PAGE_COLUMNS_H

#include "compat.h"

#include "access/heapam.h"
#include "access/htup_details.h"

#include "exec/room.h"
#include "vector/vector.h"

/* How an attribute lies in a row. */
typedef struct CScanAttributeLayout
{
	int16		length;			/* attlen */
	bool		byval;
	uint8		align;			/* bytes; 1, 2, 4 or 8 */
	int			place;			/* its place in rows without nulls, or -1 */
} CScanAttributeLayout;

typedef struct CScanPageRow
{
	HeapTupleHeader tuple;
	uint32		offset;			/* behind the attributes that it has passed */
	uint16		passed;			/* how many these are */
	uint16		natts;
	bool		has_nulls;
} CScanPageRow;

typedef struct CScanPageColumns
{
	TupleDesc	desc;
	CScanAttributeLayout *layout;
	int			ncolumns;
	const int  *attributes;		/* of each column, from 0; ascending */
	Datum	  **values;			/* of each column, the rows' */
	bool	  **isnull;
	bool	   *any_null;
	HeapScanDesc heap;
	uint32		first;			/* among the page's visible tuples */
	uint32		nrows;
	int			got;			/* columns before this one are there; 0: nor are rows[] */
	uint32		reach;			/* how many bytes of a row were looked at last time */
	CScanPageRow *rows;			/* MaxHeapTuplesPerPage */
} CScanPageColumns;

/*
 * The attributes are in ascending order.  The current context keeps it all, except
 * what is of one page only.
 */
extern CScanPageColumns *cscan_page_columns_create(TupleDesc desc, const int *attributes, int ncolumns, CScanRoom *room);

/* Begin with the visible tuples [first, end) of the scan's page, which stays pinned. */
extern void cscan_page_columns_begin(CScanPageColumns *p, HeapScanDesc heap, uint32 first, uint32 end);

/* Get all columns up to this one, for the selected rows. */
extern void cscan_page_columns_get(CScanPageColumns *p, int column, const CScanSelection *selection);

#endif							/* CSCAN_PAGE_COLUMNS_H */
