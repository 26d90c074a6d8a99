/*-------------------------------------------------------------------------
 *
 * batch.c
 *		The rows of a CScan, many at a time and a column at a time (batch.h).
 *
 * Integers of column runs are those that were stored, if they are integers of
 * the scale that is wanted.  All others are made of Datums.  Bounds of a run are
 * those that its directory says; nothing that would read or write out of bounds
 * may rely on them.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "access/tupmacs.h"
#include "pgstat.h"

#include "exec/batch.h"
#include "exec/columns.h"
#include "exec/heap_page.h"

StaticAssertDecl(CSCAN_BATCH == CSCAN_VECTOR && CSCAN_BATCH >= MaxHeapTuplesPerPage,
				 "a batch must hold a vector of column runs, and the rows of a page");

/* The number of the scan's decoder of a column of the table. */
static int
find_decoder(const CScanColumns *columns, int attribute)
{
	for (int i = 0; i < columns->ncolumns; i++)
	{
		if (columns->attributes[i] == attribute)
			return i;
	}
	elog(ERROR, "a scan of columns does not read attribute %d", attribute + 1);
}

CScanBatch *
cscan_batch_create(CScanState *scan, const Bitmapset *attributes, CScanRoom *room)
{
	CScanBatch *batch = palloc0(sizeof(CScanBatch));
	TupleDesc	desc = RelationGetDescr(scan->css.ss.ss_currentRelation);
	int		   *numbers;
	int			attribute = -1;

	batch->scan = scan;
	batch->ncolumns = bms_num_members(attributes);
	batch->columns = palloc0(Max(batch->ncolumns, 1) * sizeof(CScanBatchColumn));
	numbers = palloc(Max(batch->ncolumns, 1) * sizeof(int));
	for (int c = 0; (attribute = bms_next_member(attributes, attribute)) >= 0; c++)
	{
		CScanBatchColumn *column = &batch->columns[c];

		numbers[c] = column->attribute = attribute;
		column->typlen = TupleDescAttr(desc, attribute)->attlen;
		column->scale = -1;
		column->integers = cscan_room_take(room, CSCAN_BATCH * sizeof(int64));
		if (scan->columns)
			column->decoder = find_decoder(scan->columns, attribute);
	}
	batch->page = cscan_page_columns_create(desc, numbers, batch->ncolumns, room);
	return batch;
}

int
cscan_batch_column(const CScanBatch *batch, int attribute)
{
	for (int c = 0; c < batch->ncolumns; c++)
	{
		if (batch->columns[c].attribute == attribute)
			return c;
	}
	elog(ERROR, "attribute %d is no column of the batch", attribute + 1);
	return -1;
}

static void
forget_integers(CScanBatch *batch)
{
	for (int c = 0; c < batch->ncolumns; c++)
		batch->columns[c].has_integers = batch->columns[c].failed = false;
}

bool
cscan_batch_next(CScanBatch *batch)
{
	CScanState *scan = batch->scan;
	uint32		first;
	uint32		end;

	/* Those of the last page show that. */
	scan->looks_at_rows = batch->page->got > 0;
	if (!cscan_tuples_next_rows(scan, &first, &end))
		return false;
	forget_integers(batch);
	batch->counted = scan->plain && end > 0;
	if (end == 0)
	{
		batch->kind = CSCAN_BATCH_RUNS;
		batch->vector = scan->columns->vector;
		batch->from = scan->columns->row;
		batch->nrows = scan->columns->end_row - scan->columns->row;
		batch->runs = scan->columns->reader->group.serving.generation;
	}
	else
	{
		batch->kind = CSCAN_BATCH_PAGE;
		batch->heap = (HeapScanDesc) scan->scan;
		batch->first = first;
		batch->nrows = end - first;
		cscan_page_columns_begin(batch->page, batch->heap, first, end);
	}
	return true;
}

void
cscan_batch_count(CScanBatch *batch, uint32 end)
{
	Relation	rel = batch->scan->css.ss.ss_currentRelation;
	uint32		begin = batch->counted;

	/* Those of column runs count for the index. */
	if (batch->kind != CSCAN_BATCH_PAGE || begin >= end)
		return;
	batch->counted = end;

	/* Tables have the same counter for rows that are returned. */
	if (batch->scan->kind != CSCAN_BITMAP)
		pgstat_count_index_tuples(rel, end - begin);
	for (uint32 i = begin; i < end && batch->scan->kind == CSCAN_BITMAP; i++)
		pgstat_count_heap_fetch(rel);
}

void
cscan_batch_keep(CScanBatch *batch, uint32 nrows)
{
	forget_integers(batch);
	batch->kind = CSCAN_BATCH_KEPT;
	batch->nrows = nrows;
}

static CScanDecoder *
decoder_of(const CScanBatch *batch, const CScanBatchColumn *column)
{
	return &batch->scan->columns->reader->decoders[column->decoder];
}

void
cscan_batch_datums(CScanBatch *batch, int number, const Datum **values, const bool **isnull)
{
	CScanBatchColumn *column = &batch->columns[number];
	CScanDecoder *d;

	switch (batch->kind)
	{
		case CSCAN_BATCH_RUNS:
			d = decoder_of(batch, column);
			cscan_decoder_decode(d, batch->vector);
			*values = d->values + batch->from;
			*isnull = d->no_nulls ? NULL : d->isnull + batch->from;
			break;
		case CSCAN_BATCH_PAGE:
			cscan_page_columns_get(batch->page, number, batch->selection);
			*values = batch->page->values[number];
			*isnull = batch->page->any_null[number] ? batch->page->isnull[number] : NULL;
			break;
		case CSCAN_BATCH_KEPT:
			*values = column->kept;
			*isnull = column->kept_nulls;
			break;
	}
}

const bool *
cscan_batch_nulls(CScanBatch *batch, int number)
{
	const Datum *values;
	const bool *isnull;
	CScanDecoder *d;

	if (batch->kind == CSCAN_BATCH_RUNS)
	{
		/* The values need not be decoded. */
		d = decoder_of(batch, &batch->columns[number]);
		return cscan_decoder_nulls(d, batch->vector) ? d->isnull + batch->from : NULL;
	}
	cscan_batch_datums(batch, number, &values, &isnull);
	return isnull;
}

/* Get stored integers as they are; false if they are not what is wanted. */
static bool
get_stored(CScanBatch *batch, CScanBatchColumn *column)
{
	CScanDecoder *d = decoder_of(batch, column);

	/* Floats of 32 bits have to become doubles. */
	if (column->scale == CSCAN_FLOAT && column->typlen != sizeof(double))
		return false;
	if (d->stored->nnulls < d->run.header.nvalues &&
		(column->scale < 0 ? d->stored->storage != CSCAN_STORAGE_BYVAL :
		 d->stored->storage != CSCAN_STORAGE_NUMERIC || d->stored->scale != column->scale))
		return false;
	if (!cscan_decoder_integers(d, batch->vector))
		return false;
	column->vector.values = d->integers + batch->from;
	column->vector.isnull = d->no_nulls ? NULL : d->isnull + batch->from;
	column->vector.minimum = column->scale == CSCAN_FLOAT ? PG_INT64_MIN : d->stored->minimum;
	column->vector.maximum = column->scale == CSCAN_FLOAT ? PG_INT64_MAX : d->stored->maximum;
	return true;
}

/* Make integers of a type's Datums. */
static void
convert_integers(CScanBatchColumn *column, const Datum *values, const bool *isnull, const CScanSelection *selection)
{
	int64		minimum = PG_INT64_MAX;
	int64		maximum = PG_INT64_MIN;

	for (uint32 i = 0; i < selection->n; i++)
	{
		uint16		row = selection->rows[i];
		int64		value = cscan_values_integer_of_datum(values[row], column->typlen);

		column->integers[row] = value;
		if (cscan_batch_is_null(isnull, row))
			continue;
		minimum = Min(minimum, value);
		maximum = Max(maximum, value);
	}
	column->vector.minimum = minimum;
	column->vector.maximum = maximum;
}

/* The same of floats. */
static void
convert_floats(CScanBatchColumn *column, const Datum *values, const bool *isnull, const CScanSelection *selection)
{
	for (uint32 i = 0; i < selection->n; i++)
	{
		uint16		row = selection->rows[i];

		if (!cscan_batch_is_null(isnull, row))
			column->integers[row] = cscan_bits_of_float(column->typlen == sizeof(float) ? DatumGetFloat4(values[row]) :
														DatumGetFloat8(values[row]));
	}
	column->vector.minimum = PG_INT64_MIN;
	column->vector.maximum = PG_INT64_MAX;
}

bool
cscan_batch_integers(CScanBatch *batch, int number, CScanVector *vector)
{
	CScanBatchColumn *column = &batch->columns[number];
	const Datum *values;
	const bool *isnull;

	if (!column->has_integers && !column->failed)
	{
		if (batch->kind != CSCAN_BATCH_RUNS || !get_stored(batch, column))
		{
			cscan_batch_datums(batch, number, &values, &isnull);
			column->vector.values = column->integers;
			column->vector.isnull = isnull;
			if (column->scale == CSCAN_FLOAT)
				convert_floats(column, values, isnull, batch->selection);
			else if (column->scale < 0)
				convert_integers(column, values, isnull, batch->selection);
			else
				column->failed = !cscan_values_scaled_numerics(values, isnull, batch->selection->rows, batch->selection->n,
															   column->scale, column->integers, &column->vector.minimum,
															   &column->vector.maximum);
		}
		column->has_integers = !column->failed;
	}
	*vector = column->vector;
	return column->has_integers;
}

bool
cscan_batch_codes(CScanBatch *batch, int number, const int64 **codes, const bool **isnull, uint32 *nentries)
{
	CScanDecoder *d;

	if (batch->kind != CSCAN_BATCH_RUNS)
		return false;
	d = decoder_of(batch, &batch->columns[number]);
	if (!cscan_decoder_codes(d, batch->vector))
		return false;
	*codes = d->codes + batch->from;
	*isnull = d->no_nulls ? NULL : d->isnull + batch->from;
	*nentries = cscan_column_nentries(&d->run);
	return true;
}

/* A row of a page, with its place and all of its columns. */
static TupleTableSlot *
store_tuple(CScanBatch *batch, uint32 row)
{
	HeapScanDesc heap = batch->heap;
	uint32		index = heap->rs_cindex;
	TupleTableSlot *slot;

	heap->rs_cindex = batch->first + row;
	slot = cscan_heap_page_next(heap, batch->scan->css.ss.ss_ScanTupleSlot);
	heap->rs_cindex = index;
	return slot;
}

void
cscan_batch_prepare_rows(CScanBatch *batch)
{
	CScanColumns *c = batch->scan->columns;

	/* Before the first batch, and between two scans, there is nothing to decode. */
	if (batch->kind != CSCAN_BATCH_RUNS || batch->selection->n == 0)
		return;
	for (int i = 0; i < c->ncolumns; i++)
		cscan_decoder_decode_rows(&c->reader->decoders[i], batch->vector, batch->from, batch->selection->rows,
								  batch->selection->n);
}

TupleTableSlot *
cscan_batch_whole_row(CScanBatch *batch, uint32 row)
{
	HeapScanDesc heap = batch->heap;
	uint32		index;
	TupleTableSlot *slot;

	if (batch->kind == CSCAN_BATCH_RUNS)
		return cscan_columns_store_row(batch->scan, batch->from + row);
	if (batch->scan->kind != CSCAN_COLUMNS)
		return store_tuple(batch, row);
	index = heap->rs_cindex;
	heap->rs_cindex = batch->first + row;
	slot = cscan_columns_store_tuple(batch->scan);
	heap->rs_cindex = index;
	return slot;
}

TupleTableSlot *
cscan_batch_row(CScanBatch *batch, uint32 row, const int *columns, int ncolumns)
{
	TupleTableSlot *slot = batch->scan->css.ss.ss_ScanTupleSlot;

	if (batch->kind == CSCAN_BATCH_PAGE && batch->scan->kind != CSCAN_COLUMNS)
		return store_tuple(batch, row);
	ExecClearTuple(slot);
	for (int i = 0; i < ncolumns; i++)
	{
		int			attribute = batch->columns[columns[i]].attribute;
		const Datum *values;
		const bool *isnull;

		cscan_batch_datums(batch, columns[i], &values, &isnull);
		slot->tts_values[attribute] = values[row];
		slot->tts_isnull[attribute] = cscan_batch_is_null(isnull, row);
	}
	return ExecStoreVirtualTuple(slot);
}

Datum
cscan_batch_entry(CScanBatch *batch, int number, int64 code)
{
	CScanBatchColumn *column = &batch->columns[number];
	CScanDecoder *d = decoder_of(batch, column);
	Datum		value;

	if (d->run.header.kind == CSCAN_COLUMN_INTEGERS)
	{
		int64		integer;

		cscan_column_integer_entries(&d->run, &code, 1, &integer);
		cscan_values_from_integers(column->typlen, d->stored->storage, d->stored->scale, &integer, 1,
								   palloc(cscan_values_integers_room(d->stored->storage, 1) + 1), &value);
	}
	else
	{
		const uint8 *string;
		uint32		length;

		cscan_column_string_entries(&d->run, &code, 1, &string, &length);
		cscan_values_from_strings(d->stored->storage, &string, &length, 1,
								  palloc(cscan_values_strings_room(&length, 1)), &value);
	}
	return value;
}

TupleTableSlot *
cscan_batch_entry_row(CScanBatch *batch, int number, Datum value)
{
	TupleTableSlot *slot = batch->scan->css.ss.ss_ScanTupleSlot;
	int			attribute = batch->columns[number].attribute;

	ExecClearTuple(slot);
	slot->tts_values[attribute] = value;
	slot->tts_isnull[attribute] = false;
	return ExecStoreVirtualTuple(slot);
}
