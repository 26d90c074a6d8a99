/*-------------------------------------------------------------------------
 *
 * pairs.c
 *		count(DISTINCT ...): which values each group has seen.
 *
 * A *pair* is a group's number and a value, as an integer.  A set has each pair
 * once, and a group's count is the number of its pairs.  PostgreSQL sorts the
 * values of each group instead.
 *
 * When there is no memory for more pairs, those that are not in the set go to
 * tapes, by a hash, with the value's bytes.  When all rows have been read, these
 * pairs are counted tape by tape, and may be divided again.
 *
 * Invariant: once a pair has gone to a tape no other one enters the set, until
 * the tapes are read.  So no pair is in both.
 *
 * Interface: aggregate.h.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "common/hashfn.h"
#include "lib/stringinfo.h"
#include "utils/memutils.h"

#include "aggregate/aggregate.h"
#include "aggregate/tapes.h"

/* Pairs are read from a tape until their values have so many bytes; the last value may have more. */
#define MAX_READ	((Size) 64 * 1024 * 1024)

/* What comes before a value's bytes on a tape */
typedef struct CScanPairHead
{
	uint32		group;
	uint32		length;
} CScanPairHead;

struct CScanPairs
{
	const CScanAggregate *aggregate;
	CScanGroupTable set;		/* of pairs; without keys of GROUP BY of values */
	CScanNumbering numbering;	/* of strings */
	int64	   *group_of;		/* each row's, for a batch */
	Size		memory;			/* of both, in bytes, as the node has it */

	CScanTapes	tapes;			/* of pairs that are not in the set */
};

CScanPairs *
cscan_pairs_create(CScanAggregateState *node, const CScanAggregate *aggregate)
{
	CScanPairs *pairs = palloc0(sizeof(CScanPairs));
	CScanMemory memory = cscan_memory_of(node->groups_context);

	pairs->aggregate = aggregate;
	cscan_group_table_begin(&pairs->set, node->nkeys > 0 ? 2 : 1, 0, &memory);
	cscan_numbering_begin(&pairs->numbering, &memory);
	pairs->group_of = palloc0(CSCAN_BATCH * sizeof(int64));
	cscan_tapes_begin(&pairs->tapes, AllocSetContextCreate(node->css.ss.ps.state->es_query_cxt, "CScan pairs",
														   ALLOCSET_DEFAULT_SIZES),
					  node->limit, &node->partitions);
	return pairs;
}

Size
cscan_pairs_memory(const CScanPairs *pairs)
{
	return pairs->memory;
}

/* The set has changed: tell the node of its memory. */
static void
count_memory(CScanAggregateState *node, CScanPairs *pairs)
{
	Size		memory = cscan_group_table_size(&pairs->set) + cscan_numbering_size(&pairs->numbering);

	node->memory += memory - pairs->memory;
	node->peak = Max(node->peak, node->memory);
	pairs->memory = memory;
}

static void
clear_set(CScanAggregateState *node, CScanPairs *pairs)
{
	cscan_group_table_clear(&pairs->set);
	cscan_numbering_clear(&pairs->numbering);
	cscan_inputs_forget_strings(node);
	count_memory(node, pairs);
}

void
cscan_pairs_clear(CScanAggregateState *node, CScanPairs *pairs)
{
	clear_set(node, pairs);
	cscan_tapes_end(&pairs->tapes);
}

/* ------------------------------------------------------------------
 * Pairs
 * ------------------------------------------------------------------ */

static CScanKeyKind
kind_of(const CScanAggregateState *node, const CScanPairs *pairs)
{
	return node->common.key_kinds[node->nkeys + pairs->aggregate->distinct_key];
}

/*
 * Is there memory for so many more pairs?  An empty set may always have some.  "limit":
 * the bytes that strings may have then.
 */
static bool
has_memory_for(const CScanAggregateState *node, const CScanPairs *pairs, uint32 more, Size *limit)
{
	Size		other = node->memory - pairs->memory + cscan_group_table_next_size(&pairs->set, more);

	*limit = node->limit - Min(other, node->limit);
	return pairs->set.ngroups == 0 || other + cscan_numbering_size(&pairs->numbering) <= node->limit;
}

/* Count pairs that are new, for their groups. */
static void
count_new(CScanAggregateState *node, CScanPairs *pairs, uint32 before)
{
	for (uint32 i = before; i < pairs->set.ngroups; i++)
	{
		uint32		group = node->nkeys > 0 ? (uint32) cscan_group(&pairs->set, i)->keys[0] : 0;

		((CScanCount *) (cscan_group_states(&node->groups, group) + pairs->aggregate->offset))->n++;
	}
	count_memory(node, pairs);
}

/* Find pairs of a batch's rows; those that are new are counted, or are missing. */
static void
find_pairs(CScanAggregateState *node, CScanPairs *pairs, CScanVector *value, bool may_grow, CScanSelection *rows,
		   CScanSelection *missing)
{
	CScanVector group = {pairs->group_of, NULL, 0, 0};
	const CScanVector *keys[2] = {value, value};
	uint32		found[CSCAN_BATCH];
	uint32		hashes[CSCAN_BATCH];
	uint32		before = pairs->set.ngroups;

	missing->n = 0;
	if (rows->n == 0)
		return;
	cscan_vector_tighten(value, rows);
	cscan_vector_tighten(&group, rows);
	if (node->nkeys > 0)
		keys[0] = &group;
	cscan_group_table_find(&pairs->set, keys, may_grow, rows, found, missing, hashes);
	count_new(node, pairs, before);
}

/* ------------------------------------------------------------------
 * Tapes
 * ------------------------------------------------------------------ */

static void
write_pair(CScanAggregateState *node, CScanPairs *pairs, uint32 group, const char *bytes, uint32 length)
{
	CScanPairHead head = {group, length};
	uint32		hash = hash_combine(hash_bytes((const unsigned char *) bytes, (int) length), murmurhash32(group));
	LogicalTape *tape = cscan_tapes_choose(&pairs->tapes, hash);

	cscan_tapes_write(&pairs->tapes, tape, &head, sizeof(head));
	cscan_tapes_write(&pairs->tapes, tape, bytes, length);
	node->spilled++;
}

/* Write the pairs of a batch's rows that are missing. */
static void
write_missing(CScanAggregateState *node, CScanPairs *pairs, const CScanVector *value, const CScanSelection *missing)
{
	CScanKeyKind kind = kind_of(node, pairs);

	for (uint32 i = 0; i < missing->n; i++)
	{
		uint16		row = missing->rows[i];
		const char *bytes = (const char *) &value->values[row];
		uint32		length = sizeof(int64);
		bool		isnull;

		CHECK_FOR_INTERRUPTS();
		if (!cscan_key_is_integer(kind))
		{
			MemoryContext old = MemoryContextSwitchTo(node->input->econtext->ecxt_per_tuple_memory);

			bytes = cscan_key_bytes(kind, cscan_input_distinct_value(node->input, pairs->aggregate->distinct_key, row, &isnull),
									&length);
			MemoryContextSwitchTo(old);
		}
		write_pair(node, pairs, (uint32) pairs->group_of[row], bytes, length);
		ResetExprContext(node->input->econtext);
	}
}

/* ------------------------------------------------------------------
 * Rows
 * ------------------------------------------------------------------ */

/* Take the rows out whose value is null. */
static void
drop_nulls(const CScanVector *value, CScanSelection *rows)
{
	uint32		n = 0;

	for (uint32 i = 0; i < rows->n && value->isnull; i++)
	{
		rows->rows[n] = rows->rows[i];
		n += !value->isnull[rows->rows[i]];
	}
	if (value->isnull)
		rows->n = n;
}

void
cscan_pairs_advance(CScanAggregateState *node, CScanPairs *pairs, const uint32 *group_of, const CScanSelection *selection)
{
	CScanSelection first;
	CScanSelection rest;
	CScanSelection missing;
	CScanVector value;
	Size		limit;
	bool		may_grow = !cscan_tapes_are_written(&pairs->tapes) && has_memory_for(node, pairs, selection->n, &limit);
	uint32		ngrow;

	if (selection->n == 0)
		return;
	if (!may_grow)
		limit = 0;
	ngrow = cscan_input_distinct(node->input, pairs->aggregate->distinct_key, selection, &pairs->numbering, may_grow, limit, &value);
	for (uint32 i = 0; i < selection->n && group_of; i++)
		pairs->group_of[selection->rows[i]] = group_of[i];
	first.n = ngrow;
	memcpy(first.rows, selection->rows, ngrow * sizeof(uint16));
	rest.n = selection->n - ngrow;
	memcpy(rest.rows, selection->rows + ngrow, rest.n * sizeof(uint16));
	drop_nulls(&value, &first);
	drop_nulls(&value, &rest);
	find_pairs(node, pairs, &value, true, &first, &missing);
	find_pairs(node, pairs, &value, false, &rest, &missing);
	if (missing.n > 0)
		write_missing(node, pairs, &value, &missing);
}

/* ------------------------------------------------------------------
 * Reading tapes
 * ------------------------------------------------------------------ */

/* Pairs that have been read, as many as fit into a batch */
typedef struct CScanPairBatch
{
	uint32		n;
	int64		values[CSCAN_BATCH];
	uint32		lengths[CSCAN_BATCH];
	Size		offsets[CSCAN_BATCH];
	StringInfoData bytes;
	CScanPairHead head;			/* of the next one, if has_head */
	bool		has_head;
} CScanPairBatch;

/* Read pairs, up to a batch, or fewer if their values are large.  False at the end of the tape. */
static bool
read_pairs(CScanAggregateState *node, CScanPairs *pairs, LogicalTape *tape, bool may_add, CScanPairBatch *batch)
{
	CScanKeyKind kind = kind_of(node, pairs);
	const CScanPairHead *head = &batch->head;

	batch->n = 0;
	resetStringInfo(&batch->bytes);
	while (batch->n < CSCAN_BATCH && (Size) batch->bytes.len < Min(node->limit / 2, MAX_READ))
	{
		uint32		i = batch->n;
		char	   *bytes;

		if (!batch->has_head && !cscan_tapes_read(&pairs->tapes, tape, &batch->head, sizeof(batch->head), true))
			break;
		/* A value of almost 1 GB needs all of the buffer. */
		batch->has_head = i > 0 && batch->bytes.len + (Size) head->length >= MaxAllocSize / 2;
		if (batch->has_head)
			break;
		enlargeStringInfo(&batch->bytes, head->length);
		bytes = batch->bytes.data + batch->bytes.len;
		(void) cscan_tapes_read(&pairs->tapes, tape, bytes, head->length, false);
		batch->offsets[i] = batch->bytes.len;
		batch->lengths[i] = head->length;
		batch->bytes.len += head->length;
		pairs->group_of[i] = head->group;
		if (cscan_key_is_integer(kind))
			memcpy(&batch->values[i], bytes, sizeof(int64));
		else
			batch->values[i] = cscan_key_number(&pairs->numbering, bytes, head->length, may_add);
		batch->n++;
	}
	return batch->n > 0;
}

/* Count the pairs of a tape, as far as there is memory for them. */
static void
count_tape(CScanAggregateState *node, CScanPairs *pairs, LogicalTape *tape)
{
	CScanPairBatch *batch = palloc(sizeof(CScanPairBatch));
	Size		limit;

	initStringInfo(&batch->bytes);
	batch->has_head = false;
	clear_set(node, pairs);
	for (;;)
	{
		bool		may_grow = !cscan_tapes_are_written(&pairs->tapes) && has_memory_for(node, pairs, CSCAN_BATCH, &limit);
		CScanSelection rows;
		CScanSelection missing;
		CScanVector value = {batch->values, NULL, 0, 0};

		CHECK_FOR_INTERRUPTS();
		if (!read_pairs(node, pairs, tape, may_grow, batch))
			break;
		cscan_selection_all(&rows, batch->n);
		find_pairs(node, pairs, &value, may_grow, &rows, &missing);
		for (uint32 i = 0; i < missing.n; i++)
		{
			uint16		row = missing.rows[i];

			write_pair(node, pairs, (uint32) pairs->group_of[row], batch->bytes.data + batch->offsets[row], batch->lengths[row]);
		}
	}
	LogicalTapeClose(tape);
	pfree(batch->bytes.data);
	pfree(batch);
}

void
cscan_pairs_finish(CScanAggregateState *node, CScanPairs *pairs)
{
	LogicalTape *tape;

	while ((tape = cscan_tapes_next(&pairs->tapes)) != NULL)
		count_tape(node, pairs, tape);
	cscan_pairs_clear(node, pairs);
}
