/*-------------------------------------------------------------------------
 *
 * decode.c
 *		A column run, read from its pages and decoded vector by vector.
 *
 * A vector's values passed by reference lie in the decoder's own memory.  They
 * are there until the next vector is decoded.
 *
 *-------------------------------------------------------------------------
 */
#include "store.h"

#include "utils/memutils.h"

static void
forget_vectors(CScanDecoder *d)
{
	d->vector = d->nulls_vector = d->integers_vector = d->codes_vector = UINT32_MAX;
}

void
cscan_decoder_init(CScanDecoder *d, Relation heap, Relation index, int column)
{
	d->index = index;
	d->column = column;
	d->typlen = sizeof(int32);
	if (column < RelationGetNumberOfAttributes(index))
		d->typlen = TupleDescAttr(RelationGetDescr(heap), index->rd_index->indkey.values[column] - 1)->attlen;
	d->context = CurrentMemoryContext;
	d->integers = d->codes = NULL;
	d->room = NULL;
	d->room_size = 0;
	d->no_nulls = false;
	forget_vectors(d);
}

void
cscan_decoder_reset(CScanDecoder *d)
{
	if (d->room != NULL)
		pfree(d->room);
	if (d->integers != NULL)
		pfree(d->integers);
	if (d->codes != NULL)
		pfree(d->codes);
	d->integers = d->codes = NULL;
	d->room = NULL;
	d->room_size = 0;
	forget_vectors(d);
}

bool
cscan_decoder_read(CScanDecoder *d, const CScanGroup *group, BufferAccessStrategy strategy)
{
	const CScanStoredRun *stored = &group->runs[d->column];
	char	   *bytes = palloc_extended(Max(stored->size, 1), MCXT_ALLOC_HUGE);

	d->entry = &group->serving;
	d->stored = stored;
	forget_vectors(d);
	if (!cscan_store_read_run(d->index, d->entry, stored, strategy, bytes))
		return false;
	cscan_store_open_run(d->index, d->entry, stored, d->column, bytes, &d->run);
	return true;
}

static char *
get_room(CScanDecoder *d, size_t size)
{
	if (size > d->room_size)
	{
		if (d->room != NULL)
			pfree(d->room);
		d->room = MemoryContextAllocExtended(d->context, size, MCXT_ALLOC_HUGE);
		d->room_size = size;
	}
	return d->room;
}

/* Make Datums of integers. */
static void
make_integers(CScanDecoder *d, const int64 *integers, uint32 n, Datum *values)
{
	/* Without a value there is no scale. */
	if (d->stored->nnulls < d->run.header.nvalues)
		cscan_values_from_integers(d->typlen, d->stored->storage, d->stored->scale, integers, n,
								   get_room(d, cscan_values_integers_room(d->stored->storage, n)), values);
}

/* Types of fixed length, and strings that end with a zero, must be so. */
static bool
has_length(const CScanDecoder *d, const uint8 *string, uint32 length)
{
	switch (d->stored->storage)
	{
		case CSCAN_STORAGE_VARLENA:
			return true;
		case CSCAN_STORAGE_FIXED:
			return length == (uint32) d->typlen;
		default:
			return length > 0 && string[length - 1] == '\0';
	}
}

/* Make Datums of strings: of the first rows or, with "rows", of those from the row "from" on. */
static void
make_strings(CScanDecoder *d, const uint8 *const *strings, const uint32 *lengths, uint32 from, const uint16 *rows,
			 uint32 n, Datum *values)
{
	for (uint32 i = 0; i < n; i++)
	{
		if (!d->isnull[rows ? from + rows[i] : i] && !has_length(d, strings[i], lengths[i]))
			ereport(ERROR,
					(errcode(ERRCODE_INDEX_CORRUPTED),
					 errmsg("index \"%s\" is damaged in block %u", RelationGetRelationName(d->index),
							d->entry->first + d->stored->page),
					 errdetail("Column run of column %d has a value of another length than its type.", d->column + 1),
					 cscan_store_hint_rebuild()));
	}
	cscan_values_from_strings(d->stored->storage, strings, lengths, n,
							  get_room(d, cscan_values_strings_room(lengths, n)), values);
}

bool
cscan_decoder_nulls(CScanDecoder *d, uint32 vector)
{
	uint64		nulls[CSCAN_NULL_WORDS];
	uint32		n = cscan_column_values(&d->run, vector);

	if (d->nulls_vector == vector)
		return !d->no_nulls;
	d->nulls_vector = vector;
	if (cscan_column_nulls(&d->run, vector, nulls) == 0)
	{
		if (!d->no_nulls)
			memset(d->isnull, 0, sizeof(d->isnull));
		d->no_nulls = true;
		return false;
	}
	d->no_nulls = false;
	for (uint32 i = 0; i < n; i++)
		d->isnull[i] = cscan_is_null(nulls, i);
	return true;
}

/* Get the integers, or the strings, of a whole vector. */
static void
get_integers(CScanDecoder *d, uint32 vector, int64 *integers)
{
	CScanDamage damage;

	if (!cscan_column_integers(&d->run, vector, integers, &damage))
		cscan_store_report_damage(d->index, d->entry, d->stored, d->column, &damage);
}

static void
get_strings(CScanDecoder *d, uint32 vector, const uint8 **strings, uint32 *lengths)
{
	CScanDamage damage;

	if (!cscan_column_strings(&d->run, vector, strings, lengths, &damage))
		cscan_store_report_damage(d->index, d->entry, d->stored, d->column, &damage);
}

void
cscan_decoder_decode(CScanDecoder *d, uint32 vector)
{
	uint32		n = cscan_column_values(&d->run, vector);

	if (d->vector == vector)
		return;
	(void) cscan_decoder_nulls(d, vector);
	if (d->run.header.kind == CSCAN_COLUMN_INTEGERS)
	{
		int64		integers[CSCAN_VECTOR];

		get_integers(d, vector, integers);
		make_integers(d, integers, n, d->values);
	}
	else
	{
		const uint8 *strings[CSCAN_VECTOR];
		uint32		lengths[CSCAN_VECTOR];

		get_strings(d, vector, strings, lengths);
		make_strings(d, strings, lengths, 0, NULL, n, d->values);
	}
	d->vector = vector;
}

static int64 *
get_vector(CScanDecoder *d)
{
	return MemoryContextAlloc(d->context, CSCAN_VECTOR * sizeof(int64));
}

bool
cscan_decoder_integers(CScanDecoder *d, uint32 vector)
{
	if (d->run.header.kind != CSCAN_COLUMN_INTEGERS)
		return false;
	if (d->integers_vector == vector)
		return true;
	(void) cscan_decoder_nulls(d, vector);
	if (d->integers == NULL)
		d->integers = get_vector(d);
	get_integers(d, vector, d->integers);
	d->integers_vector = vector;
	return true;
}

void
cscan_decoder_decode_rows(CScanDecoder *d, uint32 vector, uint32 from, const uint16 *rows, uint32 n)
{
	Datum		values[CSCAN_VECTOR];

	if (d->vector == vector)
		return;
	if (n > cscan_column_values(&d->run, vector) / 2)
	{
		cscan_decoder_decode(d, vector);
		return;
	}
	(void) cscan_decoder_nulls(d, vector);
	d->vector = UINT32_MAX;
	if (cscan_decoder_integers(d, vector))
	{
		int64		integers[CSCAN_VECTOR];

		for (uint32 i = 0; i < n; i++)
			integers[i] = d->integers[from + rows[i]];
		make_integers(d, integers, n, values);
	}
	else
	{
		const uint8 *strings[CSCAN_VECTOR];
		uint32		lengths[CSCAN_VECTOR];

		get_strings(d, vector, strings, lengths);

		/* The rows ascend, so none is overwritten before it is read. */
		for (uint32 i = 0; i < n; i++)
		{
			strings[i] = strings[from + rows[i]];
			lengths[i] = lengths[from + rows[i]];
		}
		make_strings(d, strings, lengths, from, rows, n, values);
	}
	for (uint32 i = 0; i < n; i++)
		d->values[from + rows[i]] = values[i];
}

bool
cscan_decoder_codes(CScanDecoder *d, uint32 vector)
{
	CScanDamage damage;

	if (cscan_column_nentries(&d->run) == 0)
		return false;
	if (d->codes_vector == vector)
		return true;
	(void) cscan_decoder_nulls(d, vector);
	if (d->codes == NULL)
		d->codes = get_vector(d);
	if (!cscan_column_codes(&d->run, vector, d->codes, &damage))
		cscan_store_report_damage(d->index, d->entry, d->stored, d->column, &damage);
	d->codes_vector = vector;
	return true;
}
