/*-------------------------------------------------------------------------
 *
 * node.c
 *		The node CScan Aggregate: its life, and its groups (aggregate.h).
 *
 * The node takes rows into account until groups are complete, which is at the end or
 * at a border (borders.c).  Then it hands out one of these groups after the other.
 * When all are gone, rows that found no memory follow (spill.c), and their groups, or
 * groups that made room for others (flush.c).
 *
 * Invariant: all rows of a group are taken into account before it is handed out.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "nodes/nodeFuncs.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "aggregate/aggregate.h"
#include "cscan.h"

/* Pieces of groups that are read before memory is looked at */
#define MEMORY_CHECK	64

/* A table of 2^31 groups, whose numbers would need more than 32 bits, takes 48 GiB and more (bytes). */
#define MOST_MEMORY		(UINT64CONST(32) << 30)

static Node *create_state(CustomScan *plan);
static void begin_aggregate(CustomScanState *css, EState *estate, int eflags);
static TupleTableSlot *exec_aggregate(CustomScanState *css);
static void end_aggregate(CustomScanState *css);
static void rescan_aggregate(CustomScanState *css);

const CustomScanMethods cscan_aggregate_methods = {
	.CustomName = "CScan Aggregate",
	.CreateCustomScanState = create_state,
};

static const CustomExecMethods aggregate_exec_methods = {
	.CustomName = "CScan Aggregate",
	.BeginCustomScan = begin_aggregate,
	.ExecCustomScan = exec_aggregate,
	.EndCustomScan = end_aggregate,
	.ReScanCustomScan = rescan_aggregate,
	.ExplainCustomScan = cscan_aggregate_explain,
};

static Node *
create_state(CustomScan *plan)
{
	CScanAggregateState *node = palloc0(sizeof(CScanAggregateState));

	NodeSetTag(node, T_CustomScanState);
	node->css.methods = &aggregate_exec_methods;
	node->nkeys = list_nth_int(plan->custom_private, CSCAN_AGGREGATE_NKEYS);
	node->naggregates = list_nth_int(plan->custom_private, CSCAN_AGGREGATE_NAGGREGATES);
	node->grouped = list_nth_int(plan->custom_private, CSCAN_AGGREGATE_GROUPED);
	return (Node *) node;
}

/* ------------------------------------------------------------------
 * Memory
 * ------------------------------------------------------------------ */

/* The memory of the keys' strings. */
static Size
strings_memory(const CScanAggregateState *node)
{
	Size		bytes = 0;

	for (int k = 0; k < node->nkeys; k++)
		bytes += cscan_numbering_size(&node->numbering[k]);
	return bytes;
}

/* The other memory, with so many more groups. */
static Size
memory_without_strings(const CScanAggregateState *node, uint32 more)
{
	Size		bytes = cscan_group_table_next_size(&node->groups, more) + MemoryContextMemAllocated(node->values_context, true);

	for (int i = 0; i < node->naggregates; i++)
	{
		if (node->aggregates[i].pairs)
			bytes += cscan_pairs_memory(node->aggregates[i].pairs);
	}
	return bytes;
}

/* Is there memory for so many more groups? */
static bool
has_memory_for(const CScanAggregateState *node, uint32 more)
{
	return memory_without_strings(node, more) + strings_memory(node) <= node->limit;
}

static void
count_memory(CScanAggregateState *node)
{
	node->memory = memory_without_strings(node, 0) + strings_memory(node);
	node->peak = Max(node->peak, node->memory);
}

/* ------------------------------------------------------------------
 * Begin and end of groups
 * ------------------------------------------------------------------ */

/* Without a GROUP BY there is one group from the beginning. */
static void
begin_groups(CScanAggregateState *node)
{
	node->next_group = 0;
	if (!node->grouped)
	{
		cscan_group_table_add(&node->groups);
		cscan_aggregates_begin_groups(node, 0, 1);
	}
	count_memory(node);
}

static void
clear_groups(CScanAggregateState *node)
{
	cscan_group_table_clear(&node->groups);
	for (int k = 0; k < node->nkeys; k++)
		cscan_numbering_clear(&node->numbering[k]);
	cscan_aggregates_clear(node);
	cscan_inputs_forget_strings(node);
	ReScanExprContext(node->context_node->curaggcontext);
	node->rows_before = node->rows;
	node->groups_stay = false;
	begin_groups(node);
}

/* Write all groups, and forget them. */
static void
flush_groups(CScanAggregateState *node)
{
	count_memory(node);
	cscan_flush_write(node);
	clear_groups(node);
}

static void
begin_aggregate(CustomScanState *css, EState *estate, int eflags)
{
	CScanAggregateState *node = (CScanAggregateState *) css;
	CustomScan *plan = (CustomScan *) css->ss.ps.plan;
	CScanMemory memory;
	List	   *aggrefs = NIL;
	ListCell   *lc;

	outerPlanState(css) = ExecInitNode(outerPlan(plan), estate,
									   eflags & ~(EXEC_FLAG_REWIND | EXEC_FLAG_BACKWARD | EXEC_FLAG_MARK));
	foreach(lc, plan->custom_scan_tlist)
	{
		TargetEntry *entry = lfirst_node(TargetEntry, lc);

		if (list_length(node->keys) < node->nkeys)
			node->keys = lappend(node->keys, entry->expr);
		else if (list_length(aggrefs) < node->naggregates)
			aggrefs = lappend(aggrefs, entry->expr);
		else
			node->targets = lappend(node->targets, entry->expr);
	}
	node->context_node = makeNode(AggState);
	node->context_node->ss.ps.state = estate;
	node->context_node->curaggcontext = CreateExprContext(estate);
	node->context_node->tmpcontext = css->ss.ps.ps_ExprContext;
	node->values_context = node->context_node->curaggcontext->ecxt_per_tuple_memory;
	node->limit = Min(get_hash_memory_limit(), MOST_MEMORY);
	cscan_aggregates_init(node, aggrefs);
	cscan_inputs_init(node);

	node->groups_context = AllocSetContextCreate(estate->es_query_cxt, "CScan groups", ALLOCSET_DEFAULT_SIZES);
	memory = cscan_memory_of(node->groups_context);
	cscan_group_table_begin(&node->groups, node->nkeys, cscan_aggregates_settle(node), &memory);
	node->numbering = palloc((node->nkeys + 1) * sizeof(CScanNumbering));
	for (int k = 0; k < node->nkeys; k++)
		cscan_numbering_begin(&node->numbering[k], &memory);
	if (list_nth_int(plan->custom_private, CSCAN_AGGREGATE_BORDER_KEY) >= 0)
		node->borders = cscan_borders_create(node, list_nth_int(plan->custom_private, CSCAN_AGGREGATE_BORDER_KEY));
	begin_groups(node);
}

/* ------------------------------------------------------------------
 * Rows
 * ------------------------------------------------------------------ */

/* Let new groups show what the first row of each has. */
static void
show_first(CScanAggregateState *node, uint32 before, const uint32 *group_of)
{
	const CScanSelection *selection = &node->input->selection;
	uint32		next = before;

	for (uint32 i = 0; i < selection->n && next < node->groups.ngroups; i++)
	{
		int64	   *shown;

		/* Groups are added in the order of their first rows. */
		if (group_of[i] != next)
			continue;
		shown = (int64 *) cscan_group_states(&node->groups, next++);
		for (int k = 0; k < node->nkeys; k++)
		{
			if (cscan_equal_may_differ(node->common.key_kinds[k]))
				shown[k] = cscan_input_shown(node->input, k, selection->rows[i], &node->numbering[k]);
		}
	}
	if (next != node->groups.ngroups)
		elog(ERROR, "a group has no first row");
}

/*
 * Find the groups of the selected rows; of those without one, spill the rows, or let
 * other groups make room.  The first row may make a group whatever memory there is, so
 * some group is always complete in the end.
 */
static void
find_groups(CScanAggregateState *node, uint32 *group_of)
{
	CScanSelection *selection = &node->input->selection;
	const CScanVector *keys[CSCAN_MAX_KEYS];
	CScanSelection rest;
	CScanSelection missing;
	uint32		hashes[CSCAN_BATCH];
	uint32		before = node->groups.ngroups;
	bool		may_grow = before == 0;
	Size		limit = node->limit;
	uint32		ngrow;

	/* Once rows have been spilled, their groups must not come here. */
	if (!may_grow && !cscan_spill_is_writing(node))
	{
		may_grow = has_memory_for(node, selection->n);
		if (!may_grow && cscan_flush_pays(node))
		{
			flush_groups(node);
			before = 0;
			may_grow = true;
		}
		limit -= Min(memory_without_strings(node, selection->n), limit);
	}
	else if (may_grow && cscan_spill_is_writing(node))
		may_grow = false;

	if (!may_grow)
		cscan_spill_prepare(node);
	ngrow = cscan_input_keys(node->input, node->numbering, may_grow, limit, keys);
	if (may_grow && ngrow < selection->n)
		cscan_spill_prepare(node);
	rest.n = selection->n - ngrow;
	memcpy(rest.rows, selection->rows + ngrow, rest.n * sizeof(uint16));
	selection->n = ngrow;
	missing.n = 0;
	if (ngrow > 0)
		cscan_group_table_find(&node->groups, keys, true, selection, group_of, &missing, hashes);
	if (rest.n > 0)
	{
		cscan_group_table_find(&node->groups, keys, false, &rest, group_of + ngrow, &missing, hashes);
		memcpy(selection->rows + ngrow, rest.rows, rest.n * sizeof(uint16));
		selection->n += rest.n;
	}
	cscan_aggregates_begin_groups(node, before, node->groups.ngroups);
	if (node->shows)
		show_first(node, before, group_of);
	if (missing.n > 0)
		cscan_spill_rows(node, &missing, hashes);
}

/* Take rows into account, of which the input has selected some. */
static void
advance(CScanAggregateState *node)
{
	uint32		group_of[CSCAN_BATCH];

	node->batches++;
	node->rows += node->input->selection.n;
	if (node->nkeys > 0)
		find_groups(node, group_of);
	else if (node->groups.ngroups == 0)
	{
		cscan_group_table_add(&node->groups);
		cscan_aggregates_begin_groups(node, 0, 1);
	}
	count_memory(node);
	cscan_aggregates_advance(node, node->nkeys > 0 ? group_of : NULL);
	count_memory(node);
}

/* ------------------------------------------------------------------
 * Groups
 * ------------------------------------------------------------------ */

static Datum
key_value(CScanAggregateState *node, int k, int64 key, Form_pg_attribute attribute)
{
	const char *bytes;
	char		room[CSCAN_SHORT_STRING];
	uint32		length;
	struct varlena *varlena;
	Datum		value;

	if (node->common.key_kinds[k] == CSCAN_KEY_FLOAT)
		return attribute->attlen == sizeof(float4) ? Float4GetDatum((float4) cscan_float_of_bits(key)) :
			Float8GetDatum(cscan_float_of_bits(key));
	if (node->common.key_kinds[k] == CSCAN_KEY_DATUM)
	{
		cscan_values_from_integers(attribute->attlen, CSCAN_STORAGE_BYVAL, 0, &key, 1, NULL, &value);
		return value;
	}
	if (key < 0)
		elog(ERROR, "a group's string has no number");
	bytes = cscan_numbering_string(&node->numbering[k], key, room, &length);
	varlena = palloc(VARHDRSZ + length);
	SET_VARSIZE(varlena, VARHDRSZ + length);
	memcpy(VARDATA(varlena), bytes, length);
	return PointerGetDatum(varlena);
}

/* Read rows until all have been, or complete groups can go out. */
static void
read_rows(CScanAggregateState *node)
{
	if (!node->begun)
		cscan_inputs_begin(node);
	node->begun = true;
	while (cscan_inputs_next(node))
	{
		advance(node);
		if (node->borders && cscan_borders_reached(node, has_memory_for(node, CSCAN_BATCH)))
			return;
	}
	cscan_aggregates_finish(node);
	if (node->flush)
		flush_groups(node);
	node->read = true;
}

/* Put the groups of a part that was flushed together.  False if there is none. */
static bool
read_flushed(CScanAggregateState *node)
{
	while (cscan_flush_next(node))
	{
		/* Numerics take memory without new groups. */
		for (uint32 i = 1; cscan_flush_has_more(node); i++)
		{
			if ((node->groups.ngroups == node->groups.room || (i % MEMORY_CHECK == 0 && node->groups.ngroups > 1)) &&
				!has_memory_for(node, 1) && cscan_flush_may_divide(node))
				flush_groups(node);
			cscan_flush_read(node);
		}
		count_memory(node);
		if (!cscan_flush_is_writing(node))
			return true;
		flush_groups(node);
	}
	return false;
}

/* The same of rows that were spilled. */
static bool
read_spilled(CScanAggregateState *node)
{
	if (!cscan_spill_next(node))
		return false;
	while (cscan_spill_read(node))
		advance(node);
	return true;
}

/* Find the next group that is complete.  False if there is none. */
static bool
find_complete(CScanAggregateState *node)
{
	for (;;)
	{
		while (!node->read && node->next_group < node->groups.ngroups &&
			   !cscan_borders_is_complete(node, node->next_group))
			node->next_group++;
		if (node->next_group < node->groups.ngroups)
			return true;
		if (node->read)
			return false;
		cscan_borders_keep_open(node);
		read_rows(node);
		node->next_group = 0;
	}
}

/* Get the next group; an empty slot if there is none. */
static TupleTableSlot *
next_group(CScanAggregateState *node)
{
	TupleTableSlot *slot = node->css.ss.ss_ScanTupleSlot;
	const CScanGroupHead *group;
	MemoryContext old;

	ExecClearTuple(slot);
	while (!find_complete(node))
	{
		if (node->finished || (node->spill == NULL && node->flush == NULL))
			return slot;
		clear_groups(node);
		if (node->flush ? !read_flushed(node) : !read_spilled(node))
		{
			node->finished = true;
			return slot;
		}
		cscan_aggregates_finish(node);
	}
	group = cscan_group(&node->groups, node->next_group);
	old = MemoryContextSwitchTo(node->css.ss.ps.ps_ExprContext->ecxt_per_tuple_memory);
	for (int k = 0; k < node->nkeys; k++)
	{
		slot->tts_isnull[k] = (group->nulls & ((uint32) 1 << k)) != 0;
		slot->tts_values[k] = slot->tts_isnull[k] ? (Datum) 0 :
			key_value(node, k, cscan_equal_may_differ(node->common.key_kinds[k]) ?
					  ((const int64 *) cscan_group_states(&node->groups, node->next_group))[k] : group->keys[k],
					  TupleDescAttr(slot->tts_tupleDescriptor, k));
	}
	for (int i = 0; i < node->naggregates; i++)
		slot->tts_values[node->nkeys + i] =
			cscan_aggregate_result(node, &node->aggregates[i], cscan_group_states(&node->groups, node->next_group),
								   &slot->tts_isnull[node->nkeys + i]);
	MemoryContextSwitchTo(old);
	for (int i = node->nkeys + node->naggregates; i < slot->tts_tupleDescriptor->natts; i++)
		slot->tts_isnull[i] = true;
	node->next_group++;
	node->ngroups++;
	node->early += !node->read;
	return ExecStoreVirtualTuple(slot);
}

static TupleTableSlot *
exec_aggregate(CustomScanState *css)
{
	CScanAggregateState *node = (CScanAggregateState *) css;
	ExprContext *econtext = css->ss.ps.ps_ExprContext;

	if (!node->begun)
		read_rows(node);
	for (;;)
	{
		CHECK_FOR_INTERRUPTS();
		ResetExprContext(econtext);
		econtext->ecxt_scantuple = next_group(node);
		if (TupIsNull(econtext->ecxt_scantuple))
			return css->ss.ps.ps_ProjInfo ? ExecClearTuple(css->ss.ps.ps_ProjInfo->pi_state.resultslot) :
				econtext->ecxt_scantuple;
		if (css->ss.ps.qual == NULL || ExecQual(css->ss.ps.qual, econtext))
			return css->ss.ps.ps_ProjInfo ? ExecProject(css->ss.ps.ps_ProjInfo) : econtext->ecxt_scantuple;
		InstrCountFiltered1(css, 1);
	}
}

/* May the groups be handed out once more?  They may be gone, and a final function may change its state. */
static bool
can_show_again(const CScanAggregateState *node)
{
	for (int i = 0; i < node->naggregates; i++)
	{
		if (node->aggregates[i].kind == CSCAN_AGGREGATE_TRANSITION)
			return false;
	}
	return node->grouped && node->spill == NULL && node->flush == NULL && node->borders == NULL;
}

static void
rescan_aggregate(CustomScanState *css)
{
	CScanAggregateState *node = (CScanAggregateState *) css;
	PlanState  *outer = outerPlanState(css);

	if (node->begun && can_show_again(node) && css->ss.ps.chgParam == NULL && outer->chgParam == NULL)
	{
		/* The groups are the same. */
		node->next_group = 0;
		return;
	}
	cscan_spill_end(node);
	cscan_flush_end(node);
	clear_groups(node);
	if (node->borders)
		cscan_borders_begin(node->borders);
	node->begun = node->read = node->finished = false;
	if (outer->chgParam == NULL)
		ExecReScan(outer);
}

static void
end_aggregate(CustomScanState *css)
{
	CScanAggregateState *node = (CScanAggregateState *) css;

	cscan_spill_end(node);
	cscan_flush_end(node);
	cscan_aggregates_clear(node);
	ExecEndNode(outerPlanState(css));
}

void
cscan_aggregate_init(void)
{
	RegisterCustomScanMethods(&cscan_aggregate_methods);
}
