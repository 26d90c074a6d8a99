/*-------------------------------------------------------------------------
 *
 * family.c
 *		The CScans of one Append, as one scan of many tables.
 *
 * A query over a partitioned table announces at once what it will read of all
 * partitions, and reads chunks in the order in which they become available.
 * The order of an Append's fragments is free (Section 3 of "Reordering Query
 * Execution in Tertiary Memory Databases").  The node remains PostgreSQL's
 * Append, which prunes, runs children asynchronously and counts.  This file
 * replaces only its choice of the next child.  Append asks for it when a child
 * has no row.  For a member of a family, having no row means that its turn is
 * over.
 *
 *		choose_next		Append asks for the next child: those before the first
 *						member, then the member that has the next chunk and, in
 *						the end, the other children
 *		next			a member has read its chunk: the next one is its own, or
 *						the turn goes to another member
 *		rest, leave		the Append begins again, or ends
 *
 * Members are the CScans that the planner has marked (rewrite.c), except those
 * that read almost nothing or that the ABM cannot lock.  If the family cannot
 * be registered as a whole, its CScans run on their own, one after the other.
 *
 * A pass, with the flags that are set:
 *
 *		resting --choose_next--> ahead --begin--> turns, active --no chunk left--> turns
 *		   ^                      |                                            |
 *		   |                      +------- no family in this pass -----+       |
 *		   |                                                           v       v
 *		   +--------------------- rest <--------------------------- the other children
 *
 * Invariant: each member's list of taken chunks holds for its table as if the
 * member were alone.  Each chunk is handed out in exactly one turn.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "access/tableam.h"
#include "executor/execPartition.h"
#include "nodes/nodeFuncs.h"
#include "nodes/execnodes.h"
#include "utils/memutils.h"

#include "exec/exec.h"
#include "exec/room.h"

struct CScanFamily
{
	AppendState *append;
	bool		(*choose_other) (AppendState *append);	/* PostgreSQL's own
														 * choice */
	Oid			relid;			/* of the table that the query names */
	CScanState **members;		/* by number of the Append's child; NULL if it
								 * is not marked */
	int			nmembers;		/* marked children */
	CScanRooms *rooms;			/* of members that filter batches, one after
								 * the other; NULL: none has done so yet */
	CScanState *host;			/* the first member, if they are parallel */
	bool		helping;		/* no chunk is left but those that other
								 * processes read */
	bool		led;			/* this process has begun the family as the
								 * leader */
	Bitmapset  *valid;			/* children that are not pruned then; NULL:
								 * all */

	/* This pass over all of them */
	CScanRegistration *reg;		/* NULL: there is none */
	bool		active;			/* the registration hands out chunks */
	bool		turns;			/* members have turns; the other children
								 * follow */
	bool		begun;			/* a pass has begun, now or earlier */
	bool		ahead;			/* children before the first member have their
								 * place */
	bool		resting;		/* no pass is under way */
	bool		beginning;		/* members are being told of the pass */
	bool		rescanned;		/* this is not the first pass */
	CScanState **by_relid;		/* announced members, by table */
	int			nannounced;
	int			next_own;		/* announced member that may have row groups
								 * of its own left */
	CScanState *next;			/* member of the next turn, if known */
	int			other;			/* PostgreSQL's choice, put off until the
								 * turns end; -1: none */
	int			resume;			/* where PostgreSQL's choice goes on */
};

static bool choose_next(AppendState *append);

/* The methods by which a CScan is recognized. */
static const CustomExecMethods *cscan_methods;

bool
cscan_is_scan_state(const PlanState *ps)
{
	return IsA(ps, CustomScanState) && ((const CustomScanState *) ps)->methods == cscan_methods;
}

CScanRooms *
cscan_family_rooms(CScanFamily *family)
{
	if (family->rooms == NULL)
		family->rooms = cscan_rooms_create(family->append->ps.state->es_query_cxt);
	return family->rooms;
}

/* ------------------------------------------------------------------
 * Beginning
 * ------------------------------------------------------------------ */

/* The table, or index of columns, that a member announces. */
static Oid
announced_relid(const CScanState *member)
{
	return member->kind == CSCAN_COLUMNS ? cscan_groups_index(member) :
		RelationGetRelid(member->css.ss.ss_currentRelation);
}

static int
compare_relids(const void *a, const void *b)
{
	Oid			x = announced_relid(*(CScanState *const *) a);
	Oid			y = announced_relid(*(CScanState *const *) b);

	return x < y ? -1 : x > y;
}

static CScanState *
find_member(const CScanFamily *family, Oid relid)
{
	int			low = 0;
	int			high = family->nannounced;

	while (low < high)
	{
		int			middle = (low + high) / 2;
		CScanState *member = family->by_relid[middle];
		Oid			here = announced_relid(member);

		if (here == relid)
			return member;
		if (here < relid)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

/* Set by_relid to the members in "valid" (NULL: all), each table once. */
static void
find_members(CScanFamily *family, const Bitmapset *valid)
{
	int			n = 0;

	for (int i = 0; i < family->append->as_nplans; i++)
	{
		if (family->members[i] && (valid == NULL || bms_is_member(i, valid)))
			family->by_relid[n++] = family->members[i];
	}
	qsort(family->by_relid, n, sizeof(CScanState *), compare_relids);

	/* If a UNION ALL reads a table twice, the second scan is on its own. */
	family->nannounced = 0;
	for (int i = 0; i < n; i++)
	{
		if (i == 0 || compare_relids(&family->by_relid[i], &family->by_relid[i - 1]) != 0)
			family->by_relid[family->nannounced++] = family->by_relid[i];
	}
}

/*
 * Find what each member is to read.  Drop members that read almost nothing, and
 * those that the ABM cannot lock.  Of members that read columns, drop those too
 * that cannot be announced with most others.
 *
 * All bitmaps exist at the same time, where PostgreSQL's own scans would have
 * one after the other.  So the pages of all members together get the memory of
 * one hash table.
 */
static CScanTarget *
find_targets(CScanFamily *family)
{
	CScanTarget *targets = palloc(sizeof(CScanTarget) * Max(family->nannounced, 1));
	Size		room = get_hash_memory_limit();
	int			n = 0;

	for (int i = 0; i < family->nannounced; i++)
	{
		CScanState *member = family->by_relid[i];
		uint64		blocks = 0;

		CHECK_FOR_INTERRUPTS();
		member->pages_room = room;
		if (!member->found)
			cscan_blocks_find(member);
		if (member->pages)
			room -= Min(room, member->pages->size);
		for (uint32 r = 0; r < member->nranges; r++)
			blocks += member->ranges[r].end - member->ranges[r].first;
		if (blocks <= (cscan_debug_small_scans ? 0 : CSCAN_SMALL_MEMBER) || !cscan_blocks_lockable(member))
			continue;
		if (member->kind != CSCAN_COLUMNS)
			targets[n] = cscan_blocks_target(member);
		family->by_relid[n++] = member;
	}
	family->nannounced = n;
	if (n > 0 && family->by_relid[0]->kind == CSCAN_COLUMNS)
		family->nannounced = cscan_groups_find_all(family->by_relid, n, targets);
	return targets;
}

/*
 * Rescan the members that PostgreSQL would rescan only when asked for a row.
 * Their turns come after that.
 */
static void
rescan_members(CScanFamily *family)
{
	family->beginning = true;
	for (int i = 0; i < family->append->as_nplans; i++)
	{
		CScanState *member = family->members[i];

		if (member && member->css.ss.ps.chgParam != NULL)
			ExecReScan(&member->css.ss.ps);
	}
	family->beginning = false;
}

/* Drop what a member has left of a pass on its own. */
static void
forget_own(CScanFamily *family, CScanState *member)
{
	if (member->reg && member->reg != family->reg)
		cscan_blocks_leave(member);
	if (member->scan && member->plain)
	{
		ExecClearTuple(member->css.ss.ss_ScanTupleSlot);
		table_endscan(member->scan);
		member->scan = NULL;
	}
	member->plain = member->finished = member->alone = false;
}

static bool
is_in_memory(void *arg, Oid relid, uint32 group)
{
	const CScanState *member = find_member(arg, relid);

	return member != NULL && cscan_groups_in_memory(member, group);
}

/*
 * Let the family's registration hand out the members' chunks, or stop that.
 * Members that were on their own then keep their registrations.
 */
static void
set_by_family(CScanFamily *family, bool by_family)
{
	for (int i = 0; i < family->nannounced; i++)
	{
		CScanState *member = family->by_relid[i];

		if (by_family)
		{
			forget_own(family, member);
			member->reg = family->reg;
		}
		else if (member->by_family)
			member->reg = NULL;
		if (member->kind == CSCAN_COLUMNS)
			cscan_groups_answer(member, by_family ? is_in_memory : NULL, family);
		member->by_family = by_family;
		member->begun = by_family;
	}
	family->next_own = 0;
}

/*
 * Announce all members that are not pruned, as one scan.  There is no family
 * in this pass if that is not possible or only one member is left, which then
 * registers by itself.  Below a Gather one member is enough, since there it
 * does not register by itself.
 */
static void
begin(CScanFamily *family, const Bitmapset *valid, bool joinable)
{
	CScanTarget *targets;
	int			least = joinable ? 1 : 2;

	family->resting = false;
	rescan_members(family);
	find_members(family, valid);
	if (family->nannounced < least || !cscan_blocks_may_register(family->by_relid[0]))
	{
		cscan_family_leave(family);
		return;
	}
	targets = find_targets(family);
	if (family->reg && (family->nannounced < least ||
						!cscan_registry_again(family->reg, targets, family->nannounced)))
		cscan_family_leave(family);
	if (family->reg == NULL && family->nannounced >= least)
		family->reg = cscan_registry_register(family->relid, targets, family->nannounced,
											  family->by_relid[0]->policy, joinable);
	if (family->reg)
	{
		family->active = family->turns = true;
		family->helping = false;
		set_by_family(family, true);
	}
	for (int i = 0; i < family->nannounced && family->reg; i++)
	{
		CScanState *member = family->by_relid[i];

		member->counts.chunks += targets[i].nchunks;
		if (member->kind == CSCAN_COLUMNS)
			cscan_groups_settle(member, &targets[i]);
	}
	pfree(targets);
}

/* Has the leader begun this family below a Gather? */
static bool
is_shared(const CScanFamily *family)
{
	return family->host != NULL && family->host->parallel != NULL;
}

/*
 * Does pruning compare only with constants and parameters?  Any other
 * expression might raise an error that PostgreSQL would never reach.
 */
static bool
prunes_by_values(const PartitionPruneState *state)
{
	for (int i = 0; i < state->num_partprunedata; i++)
	{
		const PartitionPruningData *data = state->partprunedata[i];

		for (int k = 0; k < data->num_partrelprunedata; k++)
		{
			ListCell   *lc;

			foreach(lc, data->partrelprunedata[k].exec_pruning_steps)
			{
				ListCell   *lce;

				if (!IsA(lfirst(lc), PartitionPruneStepOp))
					continue;
				foreach(lce, ((PartitionPruneStepOp *) lfirst(lc))->exprs)
				{
					if (!IsA(lfirst(lce), Const) && !IsA(lfirst(lce), Param))
						return false;
				}
			}
		}
	}
	return true;
}

/*
 * Below a Gather: apply run-time pruning to the members, if possible.
 * PostgreSQL prunes when the Append begins.  The Gather has already evaluated
 * the parameters for its workers, so the result is the same.
 */
static void
prune(CScanFamily *family)
{
	PartitionPruneState *state = family->append->as_prune_state;
	EState	   *estate = family->append->ps.state;
	MemoryContext old;
	int			param = -1;

	bms_free(family->valid);
	family->valid = NULL;
	if (state == NULL || !state->do_exec_prune || !prunes_by_values(state))
		return;
	while ((param = bms_next_member(state->execparamids, param)) >= 0)
	{
		if (estate->es_param_exec_vals[param].execPlan != NULL)
			return;
	}
	old = MemoryContextSwitchTo(estate->es_query_cxt);
	family->valid = cscan_find_matching_subplans(state);
	if (family->valid == NULL)
		family->valid = bms_make_singleton(family->append->as_nplans);
	MemoryContextSwitchTo(old);
}

/* Was this member pruned before the workers began? */
bool
cscan_family_has_pruned(const CScanState *node)
{
	return node->family->valid != NULL && !bms_is_member(node->child, node->family->valid);
}

/* Begin in the leader, before workers.  Returns the registration or NULL. */
const CScanRegistration *
cscan_family_begin_leader(CScanFamily *family)
{
	cscan_family_take_choice(family);
	set_by_family(family, false);
	family->active = family->turns = false;
	if (family->reg)
		cscan_registry_rest(family->reg);
	for (int i = 0; i < family->append->as_nplans; i++)
	{
		CScanState *member = family->members[i];

		if (member == NULL)
			continue;
		cscan_chunks_reset(member);
		if (family->led && outerPlanState(member))
			ExecReScan(outerPlanState(member));
	}
	prune(family);
	begin(family, family->valid, true);
	family->led = true;
	return family->reg;
}

/* Join the leader's family as a worker. */
static void
join(CScanFamily *family)
{
	const CScanTicket *ticket = cscan_parallel_family_ticket(family->host);
	int			n = 0;

	if (ticket == NULL)
		return;
	for (int i = 0; i < family->append->as_nplans; i++)
	{
		CScanState *member = family->members[i];

		if (member && member->parallel && cscan_parallel_learn(member))
			family->by_relid[n++] = member;
	}
	qsort(family->by_relid, n, sizeof(CScanState *), compare_relids);
	family->nannounced = n;
	family->reg = cscan_registry_join(ticket, NULL);
	family->active = family->turns = true;
	family->helping = false;
	set_by_family(family, true);
}

/*
 * Begin this process's pass over what the leader has announced.  Members that
 * are pruned only now are taken back.
 */
static void
begin_shared(CScanFamily *family)
{
	rescan_members(family);
	if (!family->host->leader)
		join(family);
	else
		family->active = family->turns = family->reg != NULL;
	for (int i = 0; i < family->nannounced && family->reg; i++)
	{
		CScanState *member = family->by_relid[i];

		if (!bms_is_member(member->child, family->append->as_valid_subplans))
			cscan_registry_take_back(family->reg, announced_relid(member));
	}
}

/* ------------------------------------------------------------------
 * Turns
 * ------------------------------------------------------------------ */

/*
 * The family lost its place while it was stalled.  Register what is left.  If
 * that is not possible, each member reads the rest of its table on its own.
 */
static void
register_rest(CScanFamily *family)
{
	CScanTarget *targets = palloc(sizeof(CScanTarget) * family->nannounced);
	CScanState **rest = palloc(sizeof(CScanState *) * family->nannounced);
	int			n = 0;

	cscan_registry_leave(family->reg);
	family->reg = NULL;
	for (int i = 0; i < family->nannounced; i++)
	{
		CScanState *member = family->by_relid[i];

		member->reg = NULL;
		cscan_blocks_keep_rest(member);
		if (member->nranges == 0)
			continue;
		rest[n] = member;
		targets[n++] = cscan_blocks_target(member);
	}
	if (n > 0 && cscan_blocks_may_register(rest[0]))
		family->reg = cscan_registry_register(family->relid, targets, n,
											  family->by_relid[0]->policy, false);
	for (int i = 0; i < n && family->reg; i++)
	{
		if (!cscan_blocks_same_chunks(rest[i], &targets[i]))
		{
			cscan_registry_leave(family->reg);
			family->reg = NULL;
		}
	}
	pfree(targets);
	pfree(rest);
	if (family->reg != NULL)
	{
		set_by_family(family, true);
		return;
	}
	set_by_family(family, false);
	for (int i = 0; i < family->nannounced; i++)
		family->by_relid[i]->begun = family->by_relid[i]->alone = true;
	family->nannounced = 0;
	family->active = false;
	if (family->other < 0)
		family->other = family->resume;
}

/*
 * Ask the registry for the next chunk.  A worker without a registration takes
 * one without the ABM.
 */
static CScanDelivery
next_portion(CScanFamily *family, CScanPortion *portion, uint64 *waited)
{
	if (family->reg)
		return cscan_registry_next(family->reg, portion, waited);
	return cscan_registry_take(cscan_parallel_family_ticket(family->host), portion) ?
		CSCAN_SELF_READ : CSCAN_FINISHED;
}

/*
 * No chunk is left.  Help another process of a parallel scan with one that it
 * reads; returns whose it is, or NULL.
 */
static CScanState *
help_others(CScanFamily *family)
{
	for (int i = 0; i < family->nannounced; i++)
	{
		CScanState *member = family->by_relid[i];

		if (member->parallel && cscan_parallel_help(member))
			return member;
	}
	return NULL;
}

/*
 * All that was announced has been handed out.  Row groups that were not follow,
 * member by member; returns whose the next one is, or NULL.
 */
static CScanState *
take_own(CScanFamily *family)
{
	for (; family->next_own < family->nannounced; family->next_own++)
	{
		CScanState *member = family->by_relid[family->next_own];
		CScanPortion portion;

		if (member->kind != CSCAN_COLUMNS || !cscan_groups_take_own(member, &portion))
			continue;
		cscan_chunks_set(member, &portion, CSCAN_SELF_READ);
		return member;
	}
	return NULL;
}

/*
 * Get the next chunk and hand it to its member.  Returns that member, or NULL
 * if no chunk is left.
 */
static CScanState *
next_turn(CScanFamily *family)
{
	uint64		waited = 0;
	CScanState *member = family->helping ? help_others(family) : NULL;

	if (member)
		return member;
	while (family->active)
	{
		CScanPortion portion;
		CScanDelivery how = next_portion(family, &portion, &waited);

		if (how == CSCAN_LOST)
		{
			register_rest(family);
			continue;
		}
		if (how == CSCAN_FINISHED)
		{
			member = help_others(family);
			family->helping = member != NULL;
			if (member)
			{
				member->counts.waited += waited;
				return member;
			}

			/* The leader's helpers may still be reading. */
			family->active = false;
			if (!family->rescanned && !(is_shared(family) && family->host->leader))
				cscan_family_leave(family);
			break;
		}

		member = find_member(family, portion.relid);
		if (member == NULL)
			ereport(ERROR,
					(errcode(ERRCODE_INTERNAL_ERROR),
					 errmsg_internal("a chunk of relation %u was handed out, which the scan does not read",
									 portion.relid)));

		/* The table was announced before it was pruned. */
		if (!bms_is_member(member->child, family->append->as_valid_subplans))
			continue;
		if (member->kind == CSCAN_COLUMNS)
			cscan_groups_locate(member, &portion);
		cscan_chunks_set(member, &portion, how);
		member->counts.waited += waited;
		if (member->parallel)
			cscan_parallel_count(member);
		return member;
	}
	return take_own(family);
}

/* A member has read its chunk.  Is the next one its own? */
bool
cscan_family_next(CScanState *node)
{
	CScanFamily *family = node->family;
	CScanState *member;

	if (node->parallel && cscan_parallel_go_on(node))
		return true;
	member = next_turn(family);
	if (member == node)
		return true;
	family->next = member;

	/* If the family lost its place, the member may read its rest alone. */
	return member == NULL && !node->by_family && node->alone && cscan_chunks_next(node);
}

static CScanFamily *
family_of(const AppendState *append)
{
	for (int i = 0; i < append->as_nplans; i++)
	{
		CScanFamily *family;

		if (!cscan_is_scan_state(append->appendplans[i]))
			continue;
		family = ((CScanState *) append->appendplans[i])->family;
		if (family)
			return family;
	}
	return NULL;
}

/* Has the family handed out this child's chunks in this pass? */
static bool
had_turns(const CScanFamily *family, int child)
{
	return family->members[child] != NULL && family->members[child]->by_family;
}

/*
 * Begin the members' turns in a pass of the Append.  PostgreSQL's choice comes
 * first, since it does the pruning.  The child that it chose is put off.
 */
static void
begin_turns(CScanFamily *family)
{
	AppendState *append = family->append;

	if (is_shared(family))
		begin_shared(family);
	else
		begin(family, append->as_valid_subplans, false);
	family->resume = append->as_whichplan;
	family->other = had_turns(family, append->as_whichplan) ? -1 : append->as_whichplan;
}

/* Choose the Append's next child. */
static bool
choose_next(AppendState *append)
{
	CScanFamily *family = family_of(append);

	if (append->as_whichplan < 0)
	{
		/* If all members are rescanned lazily, nothing has called this yet. */
		if (family->begun)
			cscan_family_rest(family);
		family->begun = family->ahead = true;
	}
	if (family->ahead)
	{
		if (!family->choose_other(append))
			return false;

		/* What a UNION ALL begins with may be a header. */
		if (!is_shared(family) && family->members[append->as_whichplan] == NULL)
			return true;
		family->ahead = false;
		begin_turns(family);
	}
	if (family->turns)
	{
		CScanState *member = family->next;

		if (member == NULL)
			member = next_turn(family);
		family->next = NULL;
		if (member != NULL)
		{
			append->as_whichplan = member->child;
			return true;
		}
		family->turns = false;
		append->as_whichplan = family->resume;
	}

	/* Now the other children, beginning with the one that was put off. */
	if (family->other >= 0)
	{
		append->as_whichplan = family->other;
		family->other = -1;
		return true;
	}
	while (family->choose_other(append))
	{
		if (!had_turns(family, append->as_whichplan))
			return true;
	}
	return false;
}

/* Make the family choose; a parallel Append has set its own choice anew. */
void
cscan_family_take_choice(CScanFamily *family)
{
	if (family->append->choose_next_subplan == choose_next)
		return;
	family->choose_other = family->append->choose_next_subplan;
	family->append->choose_next_subplan = choose_next;
}

/* ------------------------------------------------------------------
 * Life cycle
 * ------------------------------------------------------------------ */

/* The Append is about to begin again. */
void
cscan_family_rest(CScanFamily *family)
{
	if (family->resting || family->beginning || !family->begun || is_shared(family))
		return;
	family->resting = family->rescanned = true;
	set_by_family(family, false);
	family->active = family->turns = false;
	family->next = NULL;
	if (family->reg)
		cscan_registry_rest(family->reg);
}

void
cscan_family_leave(CScanFamily *family)
{
	CScanRegistration *reg = family->reg;

	family->active = false;
	if (reg == NULL)
		return;

	/* A member may have a registration of its own, which rests: keep it. */
	for (int i = 0; i < family->append->as_nplans; i++)
	{
		CScanState *member = family->members[i];

		if (member && member->reg == reg)
			member->reg = NULL;
	}
	family->reg = NULL;
	cscan_registry_leave(reg);
}

/* Make a family of an Append's marked CScans. */
static void
make_family(AppendState *append)
{
	CScanFamily *family;
	CScanState **members = palloc0(sizeof(CScanState *) * Max(append->as_nplans, 1));
	CScanState *first = NULL;
	int			n = 0;

	for (int i = 0; i < append->as_nplans; i++)
	{
		CScanState *member = (CScanState *) append->appendplans[i];

		if (!cscan_is_scan_state(append->appendplans[i]) || !OidIsValid(member->family_relid) ||
			member->first_rows || member->scroll)
			continue;
		if (first == NULL)
			first = member;
		if (member->css.ss.ps.plan->parallel_aware != first->css.ss.ps.plan->parallel_aware ||
			(member->kind == CSCAN_COLUMNS) != (first->kind == CSCAN_COLUMNS))
			continue;
		members[i] = member;
		member->child = i;
		n++;
	}
	if (n < 2)
	{
		pfree(members);
		return;
	}

	family = palloc0(sizeof(CScanFamily));
	family->append = append;
	family->members = members;
	family->nmembers = n;
	family->by_relid = palloc(sizeof(CScanState *) * n);
	family->other = -1;
	if (first->css.ss.ps.plan->parallel_aware)
		family->host = first;
	for (int i = 0; i < append->as_nplans; i++)
	{
		if (members[i] == NULL)
			continue;
		members[i]->family = family;
		members[i]->host = family->host;
	}
	family->relid = first->family_relid;
	cscan_family_take_choice(family);
}

static bool
find_families(PlanState *ps, void *context)
{
	if (ps == NULL)
		return false;
	if (IsA(ps, AppendState) && family_of((AppendState *) ps) == NULL)
		make_family((AppendState *) ps);
	return planstate_tree_walker(ps, find_families, context);
}

static ExecutorStart_hook_type prev_executor_start;

static void
executor_start(QueryDesc *query, int eflags)
{
	MemoryContext old;

	if (prev_executor_start)
		prev_executor_start(query, eflags);
	else
		standard_ExecutorStart(query, eflags);
	if (eflags & EXEC_FLAG_EXPLAIN_ONLY)
		return;
	old = MemoryContextSwitchTo(query->estate->es_query_cxt);
	(void) find_families(query->planstate, NULL);
	MemoryContextSwitchTo(old);
}

void
cscan_family_init(const CustomExecMethods *methods)
{
	cscan_methods = methods;
	prev_executor_start = ExecutorStart_hook;
	ExecutorStart_hook = executor_start;
}
