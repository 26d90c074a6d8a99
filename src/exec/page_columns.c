/*-------------------------------------------------------------------------
 *
 * page_columns.c
 *		Columns of the visible rows of a heap page (page_columns.h).
 *
 * Values passed by reference stay in the page.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "access/tupmacs.h"
#include "storage/bufpage.h"

#include "exec/exec.h"
#include "exec/page_columns.h"

#define MAX_REACH		512		/* bytes of a row that come into the cache early */

static uint8
align_bytes(char align)
{
	switch (align)
	{
		case TYPALIGN_CHAR:
			return 1;
		case TYPALIGN_SHORT:
			return ALIGNOF_SHORT;
		case TYPALIGN_INT:
			return ALIGNOF_INT;
		default:
			return MAXIMUM_ALIGNOF;
	}
}

CScanPageColumns *
cscan_page_columns_create(TupleDesc desc, const int *attributes, int ncolumns, CScanRoom *room)
{
	CScanPageColumns *p = palloc0(sizeof(CScanPageColumns));
	int			natts = ncolumns > 0 ? attributes[ncolumns - 1] + 1 : 0;
	int			place = 0;

	p->desc = desc;
	p->attributes = attributes;
	p->ncolumns = ncolumns;
	p->layout = palloc0(Max(natts, 1) * sizeof(CScanAttributeLayout));
	p->values = palloc(Max(ncolumns, 1) * sizeof(Datum *));
	p->isnull = palloc(Max(ncolumns, 1) * sizeof(bool *));
	p->any_null = palloc0(Max(ncolumns, 1) * sizeof(bool));
	for (int i = 0; i < natts; i++)
	{
		Form_pg_attribute attribute = TupleDescAttr(desc, i);
		CScanAttributeLayout *layout = &p->layout[i];

		layout->length = attribute->attlen;
		layout->byval = attribute->attbyval;
		layout->align = align_bytes(attribute->attalign);
		layout->place = -1;

		/* A varlena with a short header is not aligned, and its end is anywhere. */
		if (place >= 0 && attribute->attlen < 0 && place % layout->align != 0)
			place = -1;
		if (place < 0)
			continue;
		place = TYPEALIGN(layout->align, place);
		layout->place = place;
		place = attribute->attlen > 0 ? place + attribute->attlen : -1;
	}
	p->rows = cscan_room_take(room, MaxHeapTuplesPerPage * sizeof(CScanPageRow));
	p->reach = CSCAN_CACHE_LINE;
	for (int c = 0; c < ncolumns; c++)
	{
		p->values[c] = cscan_room_take(room, MaxHeapTuplesPerPage * sizeof(Datum));
		p->isnull[c] = cscan_room_take(room, MaxHeapTuplesPerPage * sizeof(bool));
	}
	return p;
}

void
cscan_page_columns_begin(CScanPageColumns *p, HeapScanDesc heap, uint32 first, uint32 end)
{
	p->heap = heap;
	p->first = first;
	p->nrows = end - first;
	p->got = 0;
}

/*
 * Find the page's rows.  They come into the CPU's cache all at once, as far as rows
 * have been looked at last time: one by one each would be waited for.
 */
static void
find_rows(CScanPageColumns *p)
{
	Page		page = BufferGetPage(p->heap->rs_cbuf);

	for (uint32 i = 0; i < p->nrows; i++)
	{
		char	   *tuple = PageGetItem(page, PageGetItemId(page, p->heap->rs_vistuples[p->first + i]));

		p->rows[i].tuple = (HeapTupleHeader) tuple;
		for (uint32 byte = 0; byte < p->reach; byte += CSCAN_CACHE_LINE)
			__builtin_prefetch(tuple + byte);
	}
	for (uint32 i = 0; i < p->nrows; i++)
	{
		CScanPageRow *row = &p->rows[i];

		row->offset = 0;
		row->passed = 0;
		row->natts = HeapTupleHeaderGetNatts(row->tuple);
		row->has_nulls = (row->tuple->t_infomask & HEAP_HASNULL) != 0;
	}
}

/* Go over attributes up to this one, and return where it is.  It is there, and not null. */
static inline char *
go_to(const CScanPageColumns *p, CScanPageRow *row, int attribute)
{
	char	   *data = (char *) row->tuple + row->tuple->t_hoff;
	const CScanAttributeLayout *layout = &p->layout[attribute];
	uint32		offset = row->offset;
	char	   *value;

	if (!row->has_nulls && layout->place >= 0)
		offset = layout->place;
	else
	{
		for (int i = row->passed; i <= attribute; i++)
		{
			layout = &p->layout[i];
			if (row->has_nulls && att_isnull(i, row->tuple->t_bits))
				continue;
			/* Padding is zeros; a short header is not zero. */
			if (layout->length != -1 || data[offset] == 0)
				offset = TYPEALIGN(layout->align, offset);
			if (i == attribute)
				break;
			offset = att_addlength_pointer(offset, layout->length, data + offset);
		}
	}
	value = data + offset;
	row->offset = att_addlength_pointer(offset, layout->length, value);
	row->passed = attribute + 1;
	return value;
}

static void
get_column(CScanPageColumns *p, int column, const CScanSelection *selection)
{
	int			attribute = p->attributes[column];
	const CScanAttributeLayout *layout = &p->layout[attribute];
	Datum	   *values = p->values[column];
	bool	   *isnull = p->isnull[column];
	bool		any_null = false;

	for (uint32 i = 0; i < selection->n; i++)
	{
		uint16		number = selection->rows[i];
		CScanPageRow *row = &p->rows[number];

		if (attribute >= row->natts)
		{
			/* It was added to the table later. */
			values[number] = getmissingattr(p->desc, attribute + 1, &isnull[number]);
			any_null |= isnull[number];
		}
		else if (row->has_nulls && att_isnull(attribute, row->tuple->t_bits))
		{
			values[number] = (Datum) 0;
			isnull[number] = true;
			any_null = true;
		}
		else
		{
			values[number] = fetch_att(go_to(p, row, attribute), layout->byval, layout->length);
			isnull[number] = false;
		}
	}
	p->any_null[column] = any_null;
}

void
cscan_page_columns_get(CScanPageColumns *p, int column, const CScanSelection *selection)
{
	/* Whoever only counts rows looks at none. */
	if (p->got == 0)
		find_rows(p);
	while (p->got <= column)
		get_column(p, p->got++, selection);
	if (selection->n > 0)
		p->reach = Min(MAXALIGN(SizeofHeapTupleHeader) + p->rows[selection->rows[0]].offset, MAX_REACH);
}
