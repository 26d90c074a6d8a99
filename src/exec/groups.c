/*-------------------------------------------------------------------------
 *
 * groups.c
 *		Which row groups a CScan announces, which it reads without the ABM, and
 *		which it need not read at all.
 *
 *		init			what the plan wants of each group
 *		answer			who says what is in memory
 *		prepare			what the conditions are compared with in a pass
 *		find, find_all	divide the groups of a pass, of one scan or of a family
 *		settle			whether the announced ones are registered
 *		locate			the blocks of a group that the registry hands out
 *		take_own		the next group of those that are left to the scan
 *		coming			the group that follows in the scan's own order
 *		share, learn	the same for parallel workers
 *
 * A group that is stored is announced by the index and the columns that the
 * plan needs, whatever the scan finds in it later.  What the index does not
 * have comes from the heap, page by page, when the group is read.  A group is
 * skipped at once if its minima and maxima exclude all rows, and all of its
 * blocks are in the runs.
 *
 * All other groups are the scan's own: those that are not stored, and those
 * that only their heap blocks are left of.  They come last.  Without a
 * registration all groups are its own.
 *
 * Invariant: a group is skipped after a look of the reader's (store/reader.c),
 * or is taken exactly once.  Only a snapshot and a transaction for which
 * all-visible means visible read from runs.  Others read all blocks from the
 * heap.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "access/visibilitymap.h"
#include "access/xact.h"
#include "nodes/nodeFuncs.h"
#include "port/atomics.h"
#include "port/pg_bitutils.h"
#include "storage/lmgr.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"

#include "exec/columns.h"

/* Directory pages ahead of which the system is told */
#define GROUPS_AHEAD	32

/* Blocks of a group that are asked for in the visibility map, more or less */
#define SAMPLED_BLOCKS	16

/*
 * Must all rows come from the heap?  What is all-visible is visible to an MVCC
 * snapshot only.  A serializable transaction must lock what it reads, or miss
 * a conflict.  COPY FREEZE of this transaction marks pages as all-visible
 * before the index knows of their rows.
 */
bool
cscan_groups_must_read_heap(const CScanState *node)
{
	Relation	heap = node->css.ss.ss_currentRelation;

	return !IsMVCCSnapshot(node->css.ss.ps.state->es_snapshot) || IsolationIsSerializable() ||
		cscan_is_new_in_transaction(heap) || cscan_snapshots_may_be_too_old();
}

/* Before the first look at a group, compute what columns are compared with. */
void
cscan_groups_prepare(CScanState *node)
{
	CScanColumns *c = node->columns;
	ExprContext *context = node->css.ss.ps.ps_ExprContext;
	ListCell   *zone_cell;
	ListCell   *expr_cell;

	c->reader->from_heap = cscan_groups_must_read_heap(node);
	forboth(zone_cell, c->zones, expr_cell, c->zone_exprs)
	{
		CScanZone  *zone = lfirst(zone_cell);
		ExprState  *expr = lfirst(expr_cell);
		MemoryContext caller;

		if (expr == NULL)
			continue;
		/* The values live as long as the pass. */
		zone->value = ExecEvalExprSwitchContext(expr, context, &zone->isnull);
		caller = MemoryContextSwitchTo(node->context);
		if (!zone->isnull)
		{
			int16		typlen;
			bool		typbyval;

			get_typlenbyval(exprType((Node *) zone->expr), &typlen, &typbyval);
			zone->value = datumCopy(zone->value, typbyval, typlen);
		}
		zone->known = true;
		MemoryContextSwitchTo(caller);
	}
	ResetExprContext(context);
	c->prepared = true;
}

/* Are all pages of a group's runs that the scan needs in shared buffers, as far as their ends show? */
bool
cscan_groups_in_memory(const CScanState *node, uint32 number)
{
	const CScanColumns *c = node->columns;
	RelFileLocator locator = cscan_relation_locator(c->index);
	CScanGroup	group;
	bool		there = cscan_store_read_group(c->index, number, &group);

	for (uint64 left = c->wanted.columns; there && left != 0; left &= left - 1)
	{
		const CScanStoredRun *run = &group.runs[pg_rightmost_one_pos64(left)];
		BlockNumber first = group.serving.first + run->page;
		uint32		npages = cscan_stored_run_pages(run);

		there = npages == 0 ||
			(cscan_in_buffers(locator, first) && cscan_in_buffers(locator, first + npages - 1));
	}
	cscan_store_free_group(&group);
	return there;
}

static bool
is_in_memory(void *arg, Oid relid, uint32 group)
{
	(void) relid;
	return cscan_groups_in_memory(arg, group);
}

/* Whoever registers the scan answers that, by default the scan. */
void
cscan_groups_answer(CScanState *node, bool (*in_memory) (void *arg, Oid relid, uint32 group), void *arg)
{
	node->columns->wanted.in_memory = in_memory ? in_memory : is_in_memory;
	node->columns->wanted.arg = in_memory ? arg : node;
}

void
cscan_groups_init(CScanState *node)
{
	CScanColumns *c = node->columns;
	int			rows_of_blocks = RelationGetNumberOfAttributes(c->index);

	/* The numbers of rows of blocks are a column behind the index's own. */
	c->wanted.columns = c->wanted.common = UINT64CONST(1) << rows_of_blocks;
	for (int i = 0; i < c->ncolumns; i++)
		c->wanted.columns |= UINT64CONST(1) << c->columns[i];
	cscan_groups_answer(node, NULL, NULL);
}

/* What is to be read will be found anew. */
void
cscan_groups_forget(CScanState *node)
{
	node->columns->plans = NULL;
	node->columns->own = NULL;
	node->columns->nown = node->columns->next_own = 0;
	node->columns->next_shared = NULL;
}

const CScanGroupTarget *
cscan_groups_wanted(const CScanState *node)
{
	return &node->columns->wanted;
}

Oid
cscan_groups_index(const CScanState *node)
{
	return RelationGetRelid(node->columns->index);
}

/* Has this transaction the index for itself, as one that it has made? */
bool
cscan_groups_locked_index(const CScanState *node)
{
	return CheckRelationLockedByMe(node->columns->index, AccessExclusiveLock, false);
}

static CScanRange
blocks_of(const CScanState *node, uint32 group)
{
	CScanRange	blocks = {group * node->group_blocks, node->nblocks};

	if (blocks.end - blocks.first > node->group_blocks)
		blocks.end = blocks.first + node->group_blocks;
	return blocks;
}

/* What a scan does about a group. */
enum
{
	SKIP,
	ANNOUNCE,
	OWN
};

/*
 * Is it worth reading a group's runs?  A few blocks that are not stale show
 * whether some are all-visible.
 */
static bool
has_fresh_block(CScanReader *r, const CScanGroup *group, CScanRange blocks)
{
	uint32		covered = group->serving.nrows == 0 ? 0 : Min(group->serving.covered, blocks.end - blocks.first);
	uint32		step = covered / SAMPLED_BLOCKS + 1;
	bool		found = false;
	uint32		next = 0;

	for (uint32 i = 0; i < covered && !found; i++)
	{
		if (i < next || cscan_has_bit(group->stale, i))
			continue;
		found = visibilitymap_get_status(r->heap, blocks.first + i, &r->vm_buffer) & VISIBILITYMAP_ALL_VISIBLE;
		next = i + step;
	}
	return found;
}

static uint8
plan_group(CScanState *node, uint32 number)
{
	CScanColumns *c = node->columns;
	CScanReader *r = c->reader;
	CScanRange	blocks = blocks_of(node, number);
	CScanGroup	group;
	uint64		counts[CSCAN_NSOURCES];
	bool		stored = cscan_store_read_group(c->index, number, &group) && has_fresh_block(r, &group, blocks);
	bool		matches = stored && cscan_zones_may_match(c->zones, r->heap, r->index, &group);

	cscan_store_free_group(&group);
	if (matches)
		return ANNOUNCE;
	if (!stored)
		return OWN;

	/* A look at another time may find another entry. */
	memcpy(counts, r->counts, sizeof(counts));
	if (cscan_reader_look(r, blocks.first, blocks.end) &&
		r->counts[CSCAN_FROM_RUNS] - counts[CSCAN_FROM_RUNS] == blocks.end - blocks.first &&
		!cscan_zones_may_match(c->zones, r->heap, r->index, &r->group))
	{
		node->counts.groups++;
		node->counts.skipped++;
		memcpy(node->counts.blocks, r->counts, sizeof(r->counts));
		return SKIP;
	}
	memcpy(r->counts, counts, sizeof(counts));
	return OWN;
}

static void
begin_target(CScanState *node, CScanTarget *target, const CScanRange *ranges, uint32 nranges)
{
	memset(target, 0, sizeof(CScanTarget));
	target->rel = node->columns->index;
	target->nblocks = cscan_space_chunks_for(node->group_blocks, node->nblocks);
	target->ranges = ranges;
	target->nranges = nranges;
	target->groups = &node->columns->wanted;
	target->room = MemoryContextAllocHuge(node->context, (nranges + 1) * sizeof(CScanRange));
}

/*
 * Divide the groups of a pass.  "target" gets those that are to be announced.
 * Returns whether there are some.
 */
bool
cscan_groups_find(CScanState *node, CScanTarget *target)
{
	CScanColumns *c = node->columns;
	uint32		ngroups = cscan_space_chunks_for(node->group_blocks, node->nblocks);
	CScanRange *ranges;
	uint32		nranges = 0;

	/* A family has found them, and then not registered the scan. */
	if (c->plans)
	{
		*target = c->found;
		return target->nranges > 0;
	}

	cscan_groups_prepare(node);
	ranges = MemoryContextAllocHuge(node->context, (ngroups / 2 + 1) * sizeof(CScanRange));
	c->plans = MemoryContextAllocHuge(node->context, ngroups + 1);
	for (uint32 g = 0; g < ngroups; g++)
	{
		CHECK_FOR_INTERRUPTS();
		if (!c->reader->from_heap && g + GROUPS_AHEAD < ngroups)
			cscan_store_prefetch_group(c->index, g + GROUPS_AHEAD);
		c->plans[g] = c->reader->from_heap ? OWN : plan_group(node, g);
		if (c->plans[g] != ANNOUNCE)
			continue;
		if (nranges > 0 && ranges[nranges - 1].end == g)
			ranges[nranges - 1].end++;
		else
			ranges[nranges++] = (CScanRange) {g, g + 1};
	}
	cscan_reader_reset(c->reader);
	begin_target(node, target, ranges, nranges);
	c->found = *target;
	if (nranges == 0)
		return false;
	if (node->reg == NULL)
		cscan_store_layout(c->index, ranges, nranges, &c->wanted.layout);
	return true;
}

/* Do two scans want the same columns, by number, of their indexes? */
static bool
alike(const CScanState *a, const CScanState *b)
{
	return a->columns->wanted.columns == b->columns->wanted.columns &&
		a->columns->wanted.common == b->columns->wanted.common;
}

/*
 * Find the groups of scans that are to be registered as one.  A registration has
 * one set of columns.  If more than half of the blocks are read by scans with
 * the same set, it is that one (Boyer and Moore's vote), or else any.  Moves
 * those that can be announced together to the front, in their order, and
 * returns how many there are.
 */
int
cscan_groups_find_all(CScanState **members, int n, CScanTarget *targets)
{
	const CScanState *most = NULL;
	uint64		lead = 0;
	int			found = 0;

	for (int i = 0; i < n; i++)
	{
		uint64		blocks = members[i]->nblocks;

		if (most && alike(members[i], most))
			lead += blocks;
		else if (blocks <= lead)
			lead -= blocks;
		else
		{
			most = members[i];
			lead = blocks - lead;
		}
	}
	for (int i = 0; i < n; i++)
	{
		if (alike(members[i], most) && cscan_groups_find(members[i], &targets[found]))
			members[found++] = members[i];
	}
	return found;
}

/*
 * The registry has taken what was announced, or not.  Then these groups are the
 * scan's own, too.
 */
void
cscan_groups_settle(CScanState *node, const CScanTarget *target)
{
	CScanColumns *c = node->columns;
	uint32		ngroups = target->nblocks;
	MemoryContext caller = MemoryContextSwitchTo(node->context);

	c->own = palloc_extended((ngroups + 1) * sizeof(uint32), MCXT_ALLOC_HUGE);
	for (uint32 g = 0; g < ngroups; g++)
	{
		if (c->plans[g] == OWN || (c->plans[g] == ANNOUNCE && node->reg == NULL))
			c->own[c->nown++] = g;
	}
	pfree(c->plans);
	c->plans = NULL;

	/* As blocks of the heap, like those of other scans. */
	node->nranges = node->reg ? target->nranges : 0;
	node->ranges = palloc((node->nranges + 1) * sizeof(CScanRange));
	for (uint32 r = 0; r < node->nranges; r++)
	{
		node->ranges[r].first = blocks_of(node, target->ranges[r].first).first;
		node->ranges[r].end = blocks_of(node, target->ranges[r].end - 1).end;
	}
	MemoryContextSwitchTo(caller);
}

/* What is left of the announced groups, to be announced again. */
void
cscan_groups_target(CScanState *node, CScanTarget *target)
{
	CScanRange *ranges = MemoryContextAllocHuge(node->context, (node->nranges + 1) * sizeof(CScanRange));

	for (uint32 r = 0; r < node->nranges; r++)
	{
		ranges[r].first = node->ranges[r].first / node->group_blocks;
		ranges[r].end = cscan_space_chunks_for(node->group_blocks, node->ranges[r].end);
	}
	begin_target(node, target, ranges, node->nranges);
}

/* The registry hands out groups of the index; the scan reads blocks of the heap. */
void
cscan_groups_locate(const CScanState *node, CScanPortion *portion)
{
	portion->blocks = blocks_of(node, portion->chunk);
}

/* Take the next group of the scan's own.  False if none is left. */
bool
cscan_groups_take_own(CScanState *node, CScanPortion *portion)
{
	CScanColumns *c = node->columns;
	uint32		n;

	if (c->next_shared)
		n = pg_atomic_fetch_add_u32(c->next_shared, 1);
	else
		n = c->next_own < c->nown ? c->next_own++ : c->nown;
	if (n >= c->nown)
		return false;
	memset(portion, 0, sizeof(CScanPortion));
	portion->chunk = c->own[n];
	portion->blocks = blocks_of(node, portion->chunk);
	node->counts.chunks++;
	return true;
}

/* The first block of the group that this process will read next, if that is known. */
bool
cscan_groups_coming(const CScanState *node, BlockNumber *block)
{
	const CScanColumns *c = node->columns;

	if (c->next_shared || node->reg || c->next_own >= c->nown)
		return false;
	*block = blocks_of(node, c->own[c->next_own]).first;
	return true;
}

/*
 * Copy the leader's own groups to where workers see them.  From now on its
 * processes take them by "next", which is 0 at first.
 */
dsa_pointer
cscan_groups_share(CScanState *node, dsa_area *area, uint32 *nown, pg_atomic_uint32 *next)
{
	CScanColumns *c = node->columns;
	dsa_pointer shared;

	*nown = c->nown;
	c->next_shared = next;
	if (c->nown == 0)
		return InvalidDsaPointer;
	shared = dsa_allocate_extended(area, c->nown * sizeof(uint32), DSA_ALLOC_HUGE);
	memcpy(dsa_get_address(area, shared), c->own, c->nown * sizeof(uint32));
	return shared;
}

/* Take over, in a worker, what the leader has shared. */
void
cscan_groups_learn(CScanState *node, uint32 *own, uint32 nown, pg_atomic_uint32 *next)
{
	node->columns->own = own;
	node->columns->nown = nown;
	node->columns->next_shared = next;
}
