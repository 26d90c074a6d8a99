/*-------------------------------------------------------------------------
 *
 * spill.c
 *		Rows whose groups find no memory.
 *
 * When there is no room for more groups, rows of those that are there are taken
 * as before.  All others are written to tapes, by a hash of their keys, so that
 * all rows of a group are on one tape.  When the groups have been handed out,
 * the tapes follow one by one, and may be divided again.
 *
 * On a tape the number of a row's input comes first.  Then the row follows, with the
 * columns of its batch.  It has met the conditions.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "access/detoast.h"
#include "utils/memutils.h"

#include "aggregate/aggregate.h"
#include "aggregate/tapes.h"

struct CScanSpill
{
	MemoryContext context;
	CScanTapes	tapes;
	TupleTableSlot **writers;	/* of each input, with the columns of its
								 * batch; NULL: not needed yet */
	TupleTableSlot **readers;
	CScanRooms *rooms;		/* for a batch that is read */
	MemoryContext rows;			/* of its rows */
	LogicalTape *tape;			/* that is being read */
	uint32		next_input;		/* of its next row, if has_next */
	bool		has_next;
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
	cscan_tapes_begin(&spill->tapes, AllocSetContextCreate(context, "CScan tapes", ALLOCSET_DEFAULT_SIZES), node->limit,
					  &node->partitions);
	spill->writers = palloc0(node->ninputs * sizeof(TupleTableSlot *));
	spill->readers = palloc0(node->ninputs * sizeof(TupleTableSlot *));
	spill->rooms = cscan_rooms_create(context);
	spill->rows = AllocSetContextCreate(context, "CScan spilled rows", ALLOCSET_DEFAULT_SIZES);
	MemoryContextSwitchTo(old);
	return spill;
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
write_row(CScanSpill *spill, LogicalTape *tape, uint32 input, CScanBatch *batch, uint16 row)
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
	cscan_tapes_write(&spill->tapes, tape, &input, sizeof(input));
	cscan_tapes_write(&spill->tapes, tape, tuple, tuple->t_len);
	pfree(tuple);
}

bool
cscan_spill_is_writing(const CScanAggregateState *node)
{
	return node->spill != NULL && cscan_tapes_are_written(&node->spill->tapes);
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
	make_slots(node, spill);
	for (uint32 i = 0; i < rows->n; i++)
		write_row(spill, cscan_tapes_choose(&spill->tapes, hashes[i]), node->current, batch, rows->rows[i]);
	MemoryContextSwitchTo(old);
	node->spilled += rows->n;
}

/* Find out whose row the next one is; false at the end of the tape. */
static bool
look_ahead(CScanSpill *spill)
{
	if (!spill->has_next)
		spill->has_next = cscan_tapes_read(&spill->tapes, spill->tape, &spill->next_input, sizeof(spill->next_input), true);
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
read_row(CScanAggregateState *node, CScanBatch *batch, uint32 row, Size *bytes)
{
	CScanSpill *spill = node->spill;
	TupleTableSlot *reader = spill->readers[node->current];
	uint32		length;
	MinimalTuple tuple;

	if (!look_ahead(spill) || spill->next_input != (uint32) node->current)
		return false;
	spill->has_next = false;
	(void) cscan_tapes_read(&spill->tapes, spill->tape, &length, sizeof(length), false);
	tuple = MemoryContextAlloc(spill->rows, length);
	(void) cscan_tapes_read(&spill->tapes, spill->tape, (char *) tuple + sizeof(length), length - sizeof(length), false);
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
read_batch(CScanAggregateState *node)
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
	while (n < CSCAN_BATCH && bytes < node->limit / 2 && read_row(node, batch, n, &bytes))
		n++;
	return n;
}

bool
cscan_spill_next(CScanAggregateState *node)
{
	CScanSpill *spill = node->spill;

	if (spill == NULL)
		return false;
	spill->tape = cscan_tapes_next(&spill->tapes);
	spill->has_next = false;
	return spill->tape != NULL;
}

bool
cscan_spill_read(CScanAggregateState *node)
{
	CScanSpill *spill = node->spill;
	uint32		n;

	CHECK_FOR_INTERRUPTS();
	if (!look_ahead(spill))
	{
		LogicalTapeClose(spill->tape);
		spill->tape = NULL;
		return false;
	}
	n = read_batch(node);
	cscan_input_keep(node->input, n);
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
	cscan_tapes_end(&node->spill->tapes);
	MemoryContextDelete(node->spill->context);
	node->spill = NULL;
}
