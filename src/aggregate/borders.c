/*-------------------------------------------------------------------------
 *
 * borders.c
 *		Groups that are complete before all rows have been read (Section 7.2 of
 *		the paper).
 *
 * Chunks come in any order.  A group is complete if nothing that is still to come can
 * have its key (exec/bounds.h).  When half of the groups are complete, or an eighth if
 * memory is full, these go out, and only the others are kept.  So a GROUP BY of a key
 * that follows the order of the table takes little memory, and has its first rows
 * early.
 *
 * Whether the table is in that order need not be known: if it is not, groups are
 * complete at the end, as without borders.
 *
 * Invariant: a group is complete only if no row that is still to come has its key.
 * Its number does not change before all complete groups have gone out.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "utils/memutils.h"

#include "aggregate/aggregate.h"
#include "exec/bounds.h"

struct CScanBorders
{
	MemoryContext context;		/* of the bounds */
	int			key;
	CScanBoundsSource *sources; /* by number of the input */
	CScanBounds *bounds;		/* NULL: none in this pass */
	bool		begun;
	uint32		enough;			/* groups to look for complete ones */
	uint32		enough_if_full; /* the same if there is no memory for more */
};

/* Nothing has been read yet in this pass. */
void
cscan_borders_begin(CScanBorders *borders)
{
	MemoryContextReset(borders->context);
	borders->bounds = NULL;
	borders->begun = false;
	borders->enough = CSCAN_FEW_GROUPS;
	borders->enough_if_full = 1;
}

CScanBorders *
cscan_borders_create(CScanAggregateState *node, int key)
{
	CScanBorders *borders = palloc0(sizeof(CScanBorders));

	for (int i = 0; i < node->naggregates; i++)
	{
		/* Nobody but its own function knows how to free such a state. */
		if (node->aggregates[i].kind == CSCAN_AGGREGATE_TRANSITION &&
			node->aggregates[i].aggref->aggtranstype == INTERNALOID)
			return NULL;
	}
	borders->context = AllocSetContextCreate(node->css.ss.ps.state->es_query_cxt, "CScan bounds", ALLOCSET_DEFAULT_SIZES);
	borders->key = key;
	borders->sources = palloc(Max(node->ninputs, 1) * sizeof(CScanBoundsSource));
	for (int i = 0; i < node->ninputs; i++)
	{
		CScanBoundsSource *source = &borders->sources[i];

		source->scan = cscan_inputs_scan(node, i);
		source->attribute = castNode(Var, cscan_inputs_key(node, i, key))->varattno - 1;
		source->brin = (Oid) list_nth_int(((CustomScan *) source->scan->css.ss.ps.plan)->custom_private, CSCAN_PRIVATE_BOUNDS);
		cscan_chunks_record(source->scan);
	}
	cscan_borders_begin(borders);
	return borders;
}

int
cscan_borders_key(const CScanAggregateState *node)
{
	return node->borders->key;
}

/* Find the bounds of what this pass reads. */
static CScanBounds *
find_bounds(CScanAggregateState *node)
{
	CScanBorders *borders = node->borders;
	CScanBoundsSource *sources = MemoryContextAlloc(borders->context, Max(node->ninputs, 1) * sizeof(CScanBoundsSource));
	int			n = 0;

	for (int i = 0; i < node->ninputs; i++)
	{
		if (cscan_inputs_reads(node, i))
			sources[n++] = borders->sources[i];
	}
	return cscan_bounds_find(sources, n, borders->context);
}

static bool
is_complete(const CScanBorders *borders, const CScanGroupHead *group)
{
	return (group->nulls & ((uint32) 1 << borders->key)) == 0 &&
		!cscan_bounds_may_come(borders->bounds, group->keys[borders->key]);
}

static bool
is_open(const void *borders, const CScanGroupHead *group)
{
	return !is_complete(borders, group);
}

bool
cscan_borders_is_complete(const CScanAggregateState *node, uint32 group)
{
	return is_complete(node->borders, cscan_group(&node->groups, group));
}

bool
cscan_borders_reached(CScanAggregateState *node, bool may_grow)
{
	CScanBorders *borders = node->borders;
	uint32		ngroups = node->groups.ngroups;
	uint32		ncomplete = 0;
	bool		few;

	if (!borders->begun)
	{
		borders->begun = true;
		borders->bounds = find_bounds(node);
	}
	/* A spilled row's tape depends on the numbers of strings. */
	if (borders->bounds == NULL || !cscan_bounds_advance(borders->bounds, node->input->scan) || cscan_spill_is_writing(node))
		return false;

	/* To look costs as much as there are groups.  So they must have become more since the last time. */
	few = ngroups < borders->enough;
	if (few && (ngroups < borders->enough_if_full || may_grow))
		return false;
	cscan_bounds_look(borders->bounds);
	for (uint32 g = 0; g < ngroups; g++)
		ncomplete += cscan_borders_is_complete(node, g);
	borders->enough = ngroups + ngroups / 2;
	borders->enough_if_full = ngroups + ngroups / 8 + 1;
	return ncomplete > 0 && ncomplete >= ngroups / (few ? 8 : 2);
}

/* ------------------------------------------------------------------
 * Open groups
 * ------------------------------------------------------------------ */

/* The places of a group's numbers of strings: of a key, and of what it shows. */
static int
numbers_of(CScanAggregateState *node, uint32 group, int k, int64 *places[2])
{
	CScanGroupHead *head = cscan_group(&node->groups, group);
	int			n = 0;

	if (head->nulls & ((uint32) 1 << k))
		return 0;
	places[n++] = &head->keys[k];
	if (cscan_equal_may_differ(node->common.key_kinds[k]))
		places[n++] = &((int64 *) cscan_group_states(&node->groups, group))[k];
	return n;
}

/* Forget the strings that no group has any more; the others get new numbers. */
static void
number_anew(CScanAggregateState *node, int k)
{
	CScanNumbering *numbering = &node->numbering[k];
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "CScan strings", ALLOCSET_DEFAULT_SIZES);
	uint32		n = numbering->n;
	int64	   *numbers = MemoryContextAllocHuge(context, n * sizeof(int64));	/* 0: nobody has it */
	char	   *bytes = MemoryContextAllocHuge(context, numbering->nbytes + 1);
	uint32	   *lengths = MemoryContextAllocHuge(context, n * sizeof(uint32));
	char	   *at = bytes;
	int64	   *places[2];

	memset(numbers, 0, n * sizeof(int64));
	for (uint32 g = 0; g < node->groups.ngroups; g++)
	{
		for (int i = numbers_of(node, g, k, places); i-- > 0;)
		{
			if (*places[i] >= CSCAN_FIRST_NUMBER)
				numbers[*places[i] - CSCAN_FIRST_NUMBER] = 1;
		}
	}
	for (uint32 i = 0; i < n; i++)
	{
		char		room[CSCAN_SHORT_STRING];
		const char *string;

		if (numbers[i] == 0)
			continue;
		string = cscan_numbering_string(numbering, CSCAN_FIRST_NUMBER + i, room, &lengths[i]);
		memcpy(at, string, lengths[i]);
		at += lengths[i];
	}
	cscan_numbering_clear(numbering);
	at = bytes;
	for (uint32 i = 0; i < n; i++)
	{
		if (numbers[i] == 0)
			continue;
		numbers[i] = cscan_numbering_number(numbering, at, lengths[i], true);
		at += lengths[i];
	}
	for (uint32 g = 0; g < node->groups.ngroups; g++)
	{
		for (int i = numbers_of(node, g, k, places); i-- > 0;)
		{
			if (*places[i] >= CSCAN_FIRST_NUMBER)
				*places[i] = numbers[*places[i] - CSCAN_FIRST_NUMBER];
		}
	}
	MemoryContextDelete(context);
}

void
cscan_borders_keep_open(CScanAggregateState *node)
{
	CScanBorders *borders = node->borders;

	for (uint32 g = 0; g < node->groups.ngroups; g++)
	{
		if (cscan_borders_is_complete(node, g))
			cscan_aggregates_end_group(node, cscan_group_states(&node->groups, g));
	}
	cscan_group_table_keep(&node->groups, is_open, borders);
	for (int k = 0; k < node->nkeys; k++)
	{
		if (node->common.key_kinds[k] != CSCAN_KEY_DATUM && node->numbering[k].n > 0)
			number_anew(node, k);
	}
	cscan_inputs_forget_strings(node);
	cscan_group_table_rehash(&node->groups);
	borders->enough = Max(2 * node->groups.ngroups, CSCAN_FEW_GROUPS);
	borders->enough_if_full = node->groups.ngroups + node->groups.ngroups / 8 + 1;
}
