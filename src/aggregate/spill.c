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
 * On a tape the number of a row's input comes first.  Then the row follows, with the
 * columns of its batch.  It has met the conditions.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "access/detoast.h"
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
	TupleTableSlot **writers;	/* of each input, with the columns of its
								 * batch; NULL: not needed yet */
	TupleTableSlot **readers;
	CScanRooms *rooms;		/* for a batch that is read */
	MemoryContext rows;			/* of its rows */
	uint32		next_input;		/* of the tape's next row, if has_next */
	bool		has_next;
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
	MemoryContext context = AllocSetContextCreate(node->css.ss.ps.state->es_query_cxt, "CScan spill", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	CScanSpill *spill = palloc0(sizeof(CScanSpill));

	spill->context = context;
	spill->tapes = LogicalTapeSetCreate(true, NULL, -1);
	spill->writers = palloc0(node->ninputs * sizeof(TupleTableSlot *));
	spill->readers = palloc0(node->ninputs * sizeof(TupleTableSlot *));
	spill->rooms = cscan_rooms_create(context);
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

/* Make the slots of the current input. */
static void
make_slots(CScanAggregateState *node, CScanSpill *spill)
{
	if (spill->writers[node->current])
		return;
	spill->writers[node->current] = MakeSingleTupleTableSlot(describe_rows(node->input->batch), &TTSOpsVirtual);
	spill->readers[node->current] = MakeSingleTupleTableSlot(describe_rows(node->input->batch), &TTSOpsMinimalTuple);
}

static void
write_row(CScanSpill *spill, CScanSpillPart *part, uint32 input, CScanBatch *batch, uint16 row)
{
	TupleTableSlot *writer = spill->writers[input];
	MinimalTuple tuple;

	ExecClearTuple(writer);
	for (int c = 0; c < batch->ncolumns; c++)
	{
		const Datum *values;
		const bool *isnull;

		cscan_batch_datums(batch, c, &values, &isnull);
		writer->tts_isnull[c] = cscan_batch_is_null(isnull, row);
		writer->tts_values[c] = writer->tts_isnull[c] ? (Datum) 0 : values[row];
	}
	ExecStoreVirtualTuple(writer);
	tuple = ExecCopySlotMinimalTuple(writer);
	if (part->tape == NULL)
		part->tape = LogicalTapeCreate(spill->tapes);
	LogicalTapeWrite(part->tape, &input, sizeof(input));
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
	make_slots(node, spill);
	for (uint32 i = 0; i < rows->n; i++)
	{
		/* Rows of one tape are divided anew by another hash. */
		uint32		hash = murmurhash32(hashes[i] + spill->level * 0x9E3779B9U);

		write_row(spill, spill->parts[hash % spill->nparts], node->current, batch, rows->rows[i]);
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

/* Find out whose row the next one is; false at the end of the tape. */
static bool
look_ahead(CScanSpill *spill, CScanSpillPart *part)
{
	if (!spill->has_next)
		spill->has_next = read_bytes(spill, part, &spill->next_input, sizeof(spill->next_input), true);
	return spill->has_next;
}

/* The bytes that a column of a row has when nothing of it is compressed or elsewhere. */
static Size
whole_size(const CScanBatchColumn *column, uint32 row)
{
	return column->typlen == -1 && !column->kept_nulls[row] ? toast_raw_datum_size(column->kept[row]) : 0;
}

/* Read a row, if it is the current input's; "bytes" grows by its large values. */
static bool
read_row(CScanAggregateState *node, CScanSpillPart *part, CScanBatch *batch, uint32 row, Size *bytes)
{
	CScanSpill *spill = node->spill;
	TupleTableSlot *reader = spill->readers[node->current];
	uint32		length;
	MinimalTuple tuple;

	if (!look_ahead(spill, part) || spill->next_input != (uint32) node->current)
		return false;
	spill->has_next = false;
	(void) read_bytes(spill, part, &length, sizeof(length), false);
	tuple = MemoryContextAlloc(spill->rows, length);
	(void) read_bytes(spill, part, (char *) tuple + sizeof(length), length - sizeof(length), false);
	tuple->t_len = length;
	ExecStoreMinimalTuple(tuple, reader, false);
	slot_getallattrs(reader);
	for (int c = 0; c < batch->ncolumns; c++)
	{
		batch->columns[c].kept[row] = reader->tts_values[c];
		batch->columns[c].kept_nulls[row] = reader->tts_isnull[c];
		*bytes += whole_size(&batch->columns[c], row);
	}
	return true;
}

/*
 * Read the rows of one input that follow on a tape, up to a batch.  It has fewer if
 * their values are large: all of them may become keys.
 */
static uint32
read_batch(CScanAggregateState *node, CScanSpillPart *part)
{
	CScanSpill *spill = node->spill;
	CScanRoom	room = {spill->rooms, 0, 0};
	CScanBatch *batch;
	Size		bytes = 0;
	uint32		n = 0;

	cscan_inputs_enter(node, spill->next_input);
	batch = node->input->batch;
	for (int c = 0; c < batch->ncolumns; c++)
	{
		batch->columns[c].kept = cscan_room_take(&room, CSCAN_BATCH * sizeof(Datum));
		batch->columns[c].kept_nulls = cscan_room_take(&room, CSCAN_BATCH * sizeof(bool));
	}
	ExecClearTuple(spill->readers[node->current]);
	MemoryContextReset(spill->rows);
	while (n < CSCAN_BATCH && bytes < node->limit / 2 && read_row(node, part, batch, n, &bytes))
		n++;
	return n;
}

bool
cscan_spill_next(CScanAggregateState *node)
{
	CScanSpill *spill = node->spill;
	CScanSpillPart *part;
	MemoryContext old;

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
	spill->has_next = false;
	while (look_ahead(spill, part))
	{
		uint32		n = read_batch(node, part);

		CHECK_FOR_INTERRUPTS();
		cscan_input_keep(node->input, n);
		cscan_aggregate_advance(node);
	}
	LogicalTapeClose(part->tape);
	return true;
}

void
cscan_spill_end(CScanAggregateState *node)
{
	if (node->spill == NULL)
		return;
	for (int i = 0; i < node->ninputs; i++)
	{
		if (node->spill->writers[i] == NULL)
			continue;
		ExecDropSingleTupleTableSlot(node->spill->writers[i]);
		ExecDropSingleTupleTableSlot(node->spill->readers[i]);
	}
	LogicalTapeSetClose(node->spill->tapes);
	MemoryContextDelete(node->spill->context);
	node->spill = NULL;
}
