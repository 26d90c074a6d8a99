/*-------------------------------------------------------------------------
 *
 * spill.c
 *		Rows whose groups find no memory.
 *
 * When there is no room for more groups, rows of those that are there are taken
 * as before.  All others are written to tapes, by a hash of their keys, so that
 * all rows of a group are on one tape.  When the groups have been handed out,
 * the tapes follow one by one, and may be divided again.  That is what
 * PostgreSQL's HashAgg does (nodeAgg.c).
 *
 * A row on a tape has the columns of its batch.  It has met the conditions.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "common/hashfn.h"
#include "utils/logtape.h"
#include "utils/memutils.h"

#include "aggregate/aggregate.h"

/* Tapes that are written at a time; each has a block of memory. */
#define MIN_PARTS	4
#define MAX_PARTS	64

typedef struct CScanSpillPart
{
	LogicalTape *tape;			/* NULL: nothing has been written */
	uint32		level;			/* how often its rows have been divided */
} CScanSpillPart;

struct CScanSpill
{
	MemoryContext context;
	LogicalTapeSet *tapes;
	TupleTableSlot *writer;		/* rows have the columns of the input's batch */
	TupleTableSlot *reader;
	MemoryContext rows;			/* of the rows of a batch that is read */
	List	   *waiting;		/* CScanSpillPart */
	uint32		level;			/* of the groups that are there now */
	uint32		nparts;
	CScanSpillPart **parts;		/* being written; NULL: none is */
};

static TupleDesc
describe_rows(const CScanBatch *batch)
{
	TupleDesc	desc = CreateTemplateTupleDesc(batch->ncolumns);

	for (int c = 0; c < batch->ncolumns; c++)
		TupleDescCopyEntry(desc, c + 1, RelationGetDescr(batch->scan->css.ss.ss_currentRelation),
						   batch->columns[c].attribute + 1);
	cscan_finish_tuple_desc(desc);
	return desc;
}

static CScanSpill *
begin(CScanAggregateState *node)
{
	CScanBatch *batch = node->input->batch;
	MemoryContext context = AllocSetContextCreate(node->css.ss.ps.state->es_query_cxt, "CScan spill", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	CScanSpill *spill = palloc0(sizeof(CScanSpill));

	spill->context = context;
	spill->tapes = LogicalTapeSetCreate(true, NULL, -1);
	spill->writer = MakeSingleTupleTableSlot(describe_rows(batch), &TTSOpsVirtual);
	spill->reader = MakeSingleTupleTableSlot(describe_rows(batch), &TTSOpsMinimalTuple);
	spill->rows = AllocSetContextCreate(context, "CScan spilled rows", ALLOCSET_DEFAULT_SIZES);
	spill->nparts = MIN_PARTS;
	while (spill->nparts < MAX_PARTS && spill->nparts * 8 * BLCKSZ < node->limit)
		spill->nparts *= 2;
	MemoryContextSwitchTo(old);
	return spill;
}

static void
begin_parts(CScanSpill *spill)
{
	spill->parts = palloc(spill->nparts * sizeof(CScanSpillPart *));
	for (uint32 i = 0; i < spill->nparts; i++)
	{
		spill->parts[i] = palloc0(sizeof(CScanSpillPart));
		spill->parts[i]->level = spill->level + 1;
	}
}

static void
write_row(CScanSpill *spill, CScanSpillPart *part, CScanBatch *batch, uint16 row)
{
	MinimalTuple tuple;

	ExecClearTuple(spill->writer);
	for (int c = 0; c < batch->ncolumns; c++)
	{
		const Datum *values;
		const bool *isnull;

		cscan_batch_datums(batch, c, &values, &isnull);
		spill->writer->tts_isnull[c] = cscan_batch_is_null(isnull, row);
		spill->writer->tts_values[c] = spill->writer->tts_isnull[c] ? (Datum) 0 : values[row];
	}
	ExecStoreVirtualTuple(spill->writer);
	tuple = ExecCopySlotMinimalTuple(spill->writer);
	if (part->tape == NULL)
		part->tape = LogicalTapeCreate(spill->tapes);
	LogicalTapeWrite(part->tape, (void *) tuple, tuple->t_len);
	pfree(tuple);
}

bool
cscan_spill_is_writing(const CScanAggregateState *node)
{
	return node->spill != NULL && node->spill->parts != NULL;
}

void
cscan_spill_prepare(CScanAggregateState *node)
{
	CScanBatch *batch = node->input->batch;

	for (int c = 0; c < batch->ncolumns; c++)
	{
		const Datum *values;
		const bool *isnull;

		cscan_batch_datums(batch, c, &values, &isnull);
	}
}

void
cscan_spill_rows(CScanAggregateState *node, const CScanSelection *rows, const uint32 *hashes)
{
	CScanBatch *batch = node->input->batch;
	CScanSpill *spill = node->spill;
	MemoryContext old;

	if (spill == NULL)
		spill = node->spill = begin(node);
	old = MemoryContextSwitchTo(spill->context);
	if (spill->parts == NULL)
		begin_parts(spill);
	for (uint32 i = 0; i < rows->n; i++)
	{
		/* Rows of one tape are divided anew by another hash. */
		uint32		hash = murmurhash32(hashes[i] + spill->level * 0x9E3779B9U);

		write_row(spill, spill->parts[hash % spill->nparts], batch, rows->rows[i]);
	}
	MemoryContextSwitchTo(old);
	node->spilled += rows->n;
}

/* Read so many bytes; at the end of the tape there may be none. */
static bool
read_bytes(CScanSpill *spill, CScanSpillPart *part, void *bytes, size_t size, bool may_end)
{
	/* The tape's buffer is made when it is first read. */
	MemoryContext old = MemoryContextSwitchTo(spill->context);
	size_t		n = LogicalTapeRead(part->tape, bytes, size);

	MemoryContextSwitchTo(old);
	if (n == size || (n == 0 && may_end))
		return n == size;
	ereport(ERROR,
			(errcode_for_file_access(),
			 errmsg("unexpected EOF for spilled rows of a CScan Aggregate: requested %zu bytes, read %zu bytes", size, n)));
	return false;
}

/* Read a row; false at the end of the tape. */
static bool
read_row(CScanSpill *spill, CScanSpillPart *part, CScanBatch *batch, uint32 row)
{
	uint32		length;
	MinimalTuple tuple;

	if (!read_bytes(spill, part, &length, sizeof(length), true))
		return false;
	tuple = MemoryContextAlloc(spill->rows, length);
	(void) read_bytes(spill, part, (char *) tuple + sizeof(length), length - sizeof(length), false);
	tuple->t_len = length;
	ExecStoreMinimalTuple(tuple, spill->reader, false);
	slot_getallattrs(spill->reader);
	for (int c = 0; c < batch->ncolumns; c++)
	{
		batch->columns[c].kept[row] = spill->reader->tts_values[c];
		batch->columns[c].kept_nulls[row] = spill->reader->tts_isnull[c];
	}
	return true;
}

static void
make_room(CScanSpill *spill, CScanBatch *batch)
{
	for (int c = 0; c < batch->ncolumns && batch->columns[c].kept == NULL; c++)
	{
		batch->columns[c].kept = MemoryContextAlloc(spill->context, CSCAN_BATCH * sizeof(Datum));
		batch->columns[c].kept_nulls = MemoryContextAlloc(spill->context, CSCAN_BATCH * sizeof(bool));
	}
}

bool
cscan_spill_next(CScanAggregateState *node)
{
	CScanSpill *spill = node->spill;
	CScanBatch *batch = node->input->batch;
	CScanSpillPart *part;
	MemoryContext old;
	uint32		n;

	if (spill == NULL)
		return false;
	old = MemoryContextSwitchTo(spill->context);
	for (uint32 i = 0; i < spill->nparts && spill->parts; i++)
	{
		if (spill->parts[i]->tape == NULL)
			continue;
		LogicalTapeRewindForRead(spill->parts[i]->tape, BLCKSZ);
		spill->waiting = lcons(spill->parts[i], spill->waiting);
		node->partitions++;
	}
	spill->parts = NULL;
	MemoryContextSwitchTo(old);
	if (spill->waiting == NIL)
		return false;

	part = linitial(spill->waiting);
	spill->waiting = list_delete_first(spill->waiting);
	spill->level = part->level;
	make_room(spill, batch);
	do
	{
		CHECK_FOR_INTERRUPTS();
		ExecClearTuple(spill->reader);
		MemoryContextReset(spill->rows);
		for (n = 0; n < CSCAN_BATCH && read_row(spill, part, batch, n);)
			n++;
		if (n == 0)
			break;
		cscan_input_keep(node->input, n);
		cscan_aggregate_advance(node);
	} while (n == CSCAN_BATCH);
	LogicalTapeClose(part->tape);
	return true;
}

void
cscan_spill_end(CScanAggregateState *node)
{
	CScanBatch *batch;

	if (node->spill == NULL)
		return;
	batch = node->input->batch;
	for (int c = 0; c < batch->ncolumns; c++)
		batch->columns[c].kept = NULL;
	ExecDropSingleTupleTableSlot(node->spill->writer);
	ExecDropSingleTupleTableSlot(node->spill->reader);
	LogicalTapeSetClose(node->spill->tapes);
	MemoryContextDelete(node->spill->context);
	node->spill = NULL;
}
