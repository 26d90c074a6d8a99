/*-------------------------------------------------------------------------
 *
 * schedule.c
 *		The ABM's main decision, over all policies (Figure 3, main()).
 *
 * Each policy proposes one of its scans.  The scan blocked longest wins.  A
 * scan that only needs its next chunk soon comes after all that wait.  If
 * nothing can be done for the winner, the next proposal has its turn; in the
 * end, of each policy, the scan that waits longest (in order), and the one that
 * waits longest with nothing available.  The winner's policy picks the chunk.
 *
 * If there is no room, first columns go that no scan wants, of chunks that scans
 * want.  Then the policy picks a victim:
 *
 *	 1. a slot that no policy protects;
 *	 2. a slot that only other policies protect (relevance and demand protect
 *		the same: what starved scans of either want);
 *	 3. if the scan waits, has nothing available, and its policy overrides:
 *		any slot that is neither in use nor in flight.  Otherwise a pool smaller
 *		than the scans' needs would stop for ever;
 *	 4. if a victim is only unpinned: a slot in use, too.  Its readers have their
 *		own pins, and mostly find the rest of the chunk where it was.  Otherwise
 *		as many slow readers as there are slots would hold up all the others.
 *
 * If none of this helps, the slot that has other columns of the chunk is unpinned.
 * Then the load has as much room as the chunk needs.
 *
 * A chunk that a sleeping scan is being woken for is never a victim.
 *
 *-------------------------------------------------------------------------
 */
#include <string.h>

#include "columnar.h"
#include "interest.h"
#include "policy.h"
#include "record.h"
#include "schedule.h"
#include "slots.h"
#include "status.h"

const CScanPolicy *const cscan_policies[CSCAN_NPOLICIES] = {
#define CSCAN_POLICY_ENTRY(id, name) [CSCAN_POLICY_##id] = &cscan_policy_##name,
	CSCAN_POLICIES(CSCAN_POLICY_ENTRY)
#undef CSCAN_POLICY_ENTRY
};

#define Max(a, b)	((a) > (b) ? (a) : (b))

/* Processes that read a slot go on without it. */
static void
send_readers_away(CScanPool *pool, int slot)
{
	CScanSlot  *s = &pool->slots[slot];

	if (s->readers == 0)
		return;
	CSCAN_SET_EACH(i, cscan_space_scans(pool, s->space), cscan_scan_words(pool))
	{
		if (pool->scans[i].in_use == slot)
			cscan_status_reads(pool, i, &pool->scans[i].in_use, CSCAN_NONE);
	}
	for (int i = 0; i < pool->state->limits.max_helpers && s->readers > 0; i++)
	{
		CScanHelper *helper = &pool->helpers[i];

		if (helper->used && helper->in_use == slot)
			cscan_status_reads(pool, helper->scan, &helper->in_use, CSCAN_NONE);
	}
}

void
cscan_schedule_drop(CScanPool *pool, int slot)
{
	if (pool->slots[slot].space == CSCAN_NONE)
		return;
	send_readers_away(pool, slot);
	pool->state->unpinned = false;
	cscan_slots_forget(pool, slot);
	cscan_status_slot_changed(pool, slot);
	cscan_slots_clear(pool, slot);
}

/*
 * If this slot woke the scan, would it find a chunk to use?  If the policy
 * does not go in order, the slot's own chunk is one.
 */
bool
cscan_pool_can_use(const CScanPool *pool, int slot, int scan)
{
	const CScanPolicy *policy = cscan_policies[pool->scans[scan].policy];

	return cscan_pool_wants(pool, scan, pool->slots[slot].chunk) &&
		cscan_pool_ready_for(pool, slot, scan) &&
		(!policy->traits.in_order || policy->choose_available(pool, scan) != CSCAN_NONE);
}

/* Does a go before b?  Blocked scans first, then the scan that asked first. */
static bool
goes_first(const CScanScan *a, const CScanScan *b)
{
	if (a->blocked != b->blocked)
		return a->blocked;
	return a->since < b->since;
}

/* The proposals of a policy, one after the other (policy.h). */
typedef enum Proposal
{
	PROPOSE_QUERY,
	PROPOSE_WAITING,
	PROPOSE_EMPTY,
	NPROPOSALS
} Proposal;

static int
propose(CScanPool *pool, int p, uint64_t now, Proposal proposal)
{
	const CScanPolicy *policy = cscan_policies[p];

	if (!cscan_state_any_of(pool, p))
		return CSCAN_NONE;
	if (proposal == PROPOSE_QUERY)
		return policy->choose_query(pool, (CScanPolicyId) p, now);
	if (proposal == PROPOSE_WAITING)
		return policy->choose_waiting ? policy->choose_waiting(pool, (CScanPolicyId) p) : CSCAN_NONE;
	return policy->choose_empty ? policy->choose_empty(pool, (CScanPolicyId) p) : CSCAN_NONE;
}

/* The proposal that goes first, of the policies not yet tried. */
static int
choose_query(CScanPool *pool, uint64_t now, unsigned tried, Proposal proposal)
{
	int			best = CSCAN_NONE;

	for (int p = 0; p < CSCAN_NPOLICIES; p++)
	{
		int			scan;

		if (tried & (1u << p))
			continue;
		scan = propose(pool, p, now, proposal);
		if (scan != CSCAN_NONE &&
			(best == CSCAN_NONE || goes_first(&pool->scans[scan], &pool->scans[best])))
			best = scan;
	}
	return best;
}

/*
 * Was the slot loaded for a scan that still sleeps, and will take it when it
 * wakes up?  If such chunks could go, in a pool with fewer slots than scans
 * each load might evict what another scan is just being woken for.
 */
static bool
about_to_be_taken(const CScanPool *pool, int slot)
{
	int			scan = pool->slots[slot].loaded_for;

	return scan != CSCAN_NONE && cscan_pool_active(pool, scan) &&
		pool->scans[scan].blocked &&
		cscan_policies[pool->scans[scan].policy]->choose_available(pool, scan) == slot;
}

/*
 * Find slots that may go at all: not in flight, not keep_slot; not in use, if
 * they are spared; and held, if they must be.
 */
static void
find_candidates(CScanPool *pool, int keep_slot, bool spare_used, bool held, uint64_t *candidates)
{
	const uint64_t *taken = cscan_slot_set(pool, held ? CSCAN_SLOTS_HELD : CSCAN_SLOTS_TAKEN);
	const uint64_t *in_flight = cscan_slot_set(pool, CSCAN_SLOTS_IN_FLIGHT);
	const uint64_t *in_use = cscan_slot_set(pool, CSCAN_SLOTS_IN_USE);

	for (uint32_t w = 0; w < cscan_slot_words(pool); w++)
		candidates[w] = taken[w] & ~in_flight[w] & ~(spare_used ? in_use[w] : 0);
	if (keep_slot != CSCAN_NONE)
		cscan_set_remove(candidates, (uint32_t) keep_slot);
}

/* The least valued candidate, or CSCAN_NONE.  Uses up the set. */
static int
choose_among(CScanPool *pool, const CScanPolicy *policy, uint64_t *candidates)
{
	uint64_t   *lowest = cscan_slot_set(pool, CSCAN_SLOTS_LOWEST);

	for (;;)
	{
		int			victim;

		memcpy(lowest, candidates, sizeof(uint64_t) * cscan_slot_words(pool));
		policy->least_valued(pool, lowest);
		victim = cscan_slots_oldest(pool, lowest);
		if (victim == CSCAN_NONE || !about_to_be_taken(pool, victim))
			return victim;
		cscan_set_remove(candidates, (uint32_t) victim);
	}
}

static int
choose_victim(CScanPool *pool, int scan, int keep_slot, bool held)
{
	const CScanPolicy *policy = cscan_policies[pool->scans[scan].policy];
	uint64_t   *candidates = cscan_slot_set(pool, CSCAN_SLOTS_CANDIDATES);
	bool		last_resort = pool->scans[scan].blocked && cscan_pool_has_nothing(pool, scan);

	for (int step = 1; step <= (held ? 4 : 3); step++)
	{
		int			victim;

		if (step >= 3 && !(last_resort && policy->traits.overrides))
			break;
		find_candidates(pool, keep_slot, step <= 3, held, candidates);
		if (step <= 2)
			policy->exclude(pool, scan, candidates);
		for (int p = 0; p < CSCAN_NPOLICIES && step == 1; p++)
		{
			if (p != pool->scans[scan].policy && cscan_state_any_of(pool, p))
				cscan_policies[p]->protect(pool, (CScanPolicyId) p, candidates);
		}
		victim = choose_among(pool, policy, candidates);
		if (victim != CSCAN_NONE)
			return victim;
	}
	return CSCAN_NONE;
}

/*
 * May the slot that has other columns of the scan's chunk go for those that it
 * lacks?
 */
static bool
gives_way(CScanPool *pool, int scan, int slot)
{
	const CScanPolicy *policy = cscan_policies[pool->scans[scan].policy];
	uint64_t   *candidates = cscan_slot_set(pool, CSCAN_SLOTS_CANDIDATES);

	if (slot == CSCAN_NONE || !cscan_set_has(cscan_slot_set(pool, CSCAN_SLOTS_COLUMNAR), (uint32_t) slot) ||
		!pool->slots[slot].held || pool->slots[slot].in_flight || about_to_be_taken(pool, slot) ||
		!pool->scans[scan].blocked)
		return false;
	if (policy->traits.overrides)
		return policy->traits.in_order || cscan_pool_has_nothing(pool, scan);
	memset(candidates, 0, sizeof(uint64_t) * cscan_slot_words(pool));
	cscan_set_add(candidates, (uint32_t) slot);
	policy->exclude(pool, scan, candidates);
	return cscan_set_has(candidates, (uint32_t) slot);
}

/* Make the action one on this slot and its chunk. */
static void
name_slot(const CScanPool *pool, CScanActionKind kind, int slot, CScanAction *act)
{
	act->kind = kind;
	act->slot = slot;
	act->space = pool->slots[slot].space;
	act->chunk = pool->slots[slot].chunk;
}

static void
evict(CScanPool *pool, int slot, CScanAction *act)
{
	name_slot(pool, CSCAN_ACT_EVICT, slot, act);
	cscan_schedule_drop(pool, slot);
}

static bool
lacks(const CScanPool *pool, int scan, uint32_t chunk)
{
	return cscan_pool_wants(pool, scan, chunk) && cscan_pool_absent_for(pool, scan, chunk);
}

/*
 * The scan that a load is for.  Elevator also loads chunks that only its other
 * scans lack: then the first of these.
 */
static int
loaded_for(const CScanPool *pool, int scan, uint32_t chunk)
{
	int			best = CSCAN_NONE;

	if (lacks(pool, scan, chunk))
		return scan;
	CSCAN_SET_EACH(i, cscan_space_scans(pool, pool->space_of[chunk]), cscan_scan_words(pool))
	{
		if (pool->scans[i].policy == pool->scans[scan].policy &&
			cscan_pool_active(pool, i) && lacks(pool, i, chunk) &&
			(best == CSCAN_NONE || goes_first(&pool->scans[i], &pool->scans[best])))
			best = i;
	}
	return best;
}

static void
unpin(CScanPool *pool, int slot, CScanAction *act)
{
	name_slot(pool, CSCAN_ACT_UNPIN, slot, act);
	cscan_slots_set_held(pool, slot, false);
	pool->state->unpinned = true;
}

/* The pieces of a slot that a load leaves as they are. */
static CScanPieces
kept_pieces(const CScanSlot *slot, const CScanAction *act)
{
	CScanPieces pieces = slot->loaded;
	uint32_t	p = cscan_space_growing_piece(&act->place, &slot->loaded, slot->extent);

	if (p < CSCAN_MAX_PIECES)
		cscan_set_remove(pieces.word, p);
	return pieces;
}

/*
 * Does a load leave in place what is in the slot?  Not if it is not held, nor
 * if the space had more blocks when it was loaded: then the extent cannot say
 * which blocks of the last piece are there.
 */
static bool
stays(const CScanSlot *slot, const CScanAction *act)
{
	return slot->held && slot->extent <= act->place.end;
}

/*
 * The columns to load of the action's chunk, if a slot keeps "kept" of them and
 * scans want "again" of what it does not keep: those of the policy and "again".
 * If the budget has no room for these it is one scan's own.
 */
static uint64_t
find_columns(const CScanPool *pool, int scan, const CScanAction *act, uint64_t kept, uint64_t again)
{
	const CScanPolicy *policy = cscan_policies[pool->scans[scan].policy];
	const CScanSpace *space = &pool->spaces[act->space];
	uint64_t	columns = policy->choose_columns ? policy->choose_columns(pool, scan, act->chunk) :
		cscan_pool_pieces_wanted(pool, act->chunk).word[0];

	if (cscan_layout_cost(&space->columns, columns | again | kept) > pool->state->budget)
		return cscan_columns(pool, loaded_for(pool, scan, act->chunk), space) & ~kept;
	return (columns | again) & ~kept;
}

/* The number of blocks that the slot has and this load brings again. */
static uint32_t
blocks_again(const CScanSlot *slot, const CScanAction *act)
{
	if (!stays(slot, act))
		return slot->nblocks;
	if (cscan_space_growing_piece(&act->place, &slot->loaded, slot->extent) < CSCAN_MAX_PIECES)
		return cscan_space_blocks_before(&act->place, slot->extent);
	return 0;
}

/*
 * Find the pieces to load of the action's chunk: those that active scans want,
 * or these columns.  If the slot that has some of the chunk is held, load only
 * the rest, and the piece that the space has grown into, wanted or not.
 * Otherwise its blocks may be gone: load all anew, but no columns that nobody
 * wants.  *have gets the pieces that stay as they are.
 */
static void
find_pieces(const CScanPool *pool, int slot, CScanAction *act, CScanPieces *have)
{
	CScanRun	run = {0, 0, 0};

	CScanPieces loaded = {{0}};

	act->pieces = cscan_pool_pieces_wanted(pool, act->chunk);
	act->place = cscan_space_place(&pool->spaces[act->space], act->chunk);
	if (slot != CSCAN_NONE)
	{
		loaded = pool->slots[slot].loaded;
		if (stays(&pool->slots[slot], act))
			*have = kept_pieces(&pool->slots[slot], act);
	}
	if (act->place.columns)
		act->pieces.word[0] = find_columns(pool, act->scan, act, have->word[0], loaded.word[0] & act->pieces.word[0]);
	for (int w = 0; w < CSCAN_PIECE_WORDS && !act->place.columns; w++)
		act->pieces.word[w] = (act->pieces.word[w] | loaded.word[w]) & ~have->word[w];
	cscan_place_clip(&act->place, &act->pieces);
	act->nblocks = 0;
	while (cscan_action_next_run(act, &run))
		act->nblocks += run.end - run.first;
}

/* Tell the space, its scans and the policies that a load begins. */
static void
note_load(CScanPool *pool, int scan, uint32_t chunk)
{
	CScanSpace *space = &pool->spaces[pool->space_of[chunk]];

	space->cursor = chunk + 1;
	space->last_load = pool->state->nloads;
	cscan_set_remove(pool->cached, chunk);
	CSCAN_SET_EACH(i, cscan_space_scans(pool, pool->space_of[chunk]), cscan_scan_words(pool))
	{
		if (pool->scans[i].started)
			pool->scans[i].cursor = chunk + 1;
	}
	for (int p = 0; p < CSCAN_NPOLICIES; p++)
	{
		if (cscan_policies[p]->on_load)
			cscan_policies[p]->on_load(pool, pool->history[p], scan, chunk);
	}
}

static void
begin_load(CScanPool *pool, int slot, bool top_up, uint32_t again, const CScanPieces *have,
		   uint64_t now, CScanAction *act)
{
	CScanSlot  *s = &pool->slots[slot];
	int			scan;

	act->kind = CSCAN_ACT_LOAD;
	act->slot = slot;
	if (!top_up)
		cscan_slots_take(pool, slot, act->chunk, now);
	scan = loaded_for(pool, act->scan, act->chunk);
	s->extent = act->place.end;
	cscan_slots_promise(pool, slot, scan);
	cscan_slots_begin_load(pool, slot, have, &act->pieces, act->nblocks, again, now);
	pool->state->unpinned = false;
	note_load(pool, act->scan, act->chunk);
	cscan_status_slot_changed(pool, slot);
}

/*
 * Take from a slot columns that nobody wants; with "held" from a held one.
 * Returns whether there is one.
 */
static bool
trim(CScanPool *pool, bool held, CScanAction *act)
{
	uint64_t	columns;
	int			slot = cscan_columnar_unwanted(pool, held, &columns);

	if (slot == CSCAN_NONE)
		return false;
	if (columns == pool->slots[slot].loaded.word[0])
	{
		evict(pool, slot, act);
		return true;
	}
	name_slot(pool, CSCAN_ACT_TRIM, slot, act);
	act->place = cscan_space_place(&pool->spaces[act->space], act->chunk);
	act->pieces = (CScanPieces) {{columns}};
	act->nblocks = cscan_layout_cost(&pool->spaces[act->space].columns, columns);
	cscan_slots_trim(pool, slot, columns);
	pool->state->unpinned = false;
	cscan_status_slot_changed(pool, slot);
	return true;
}

/* Load the next chunk for that scan, or make room for it, if possible. */
static void
serve(CScanPool *pool, int scan, uint64_t now, CScanAction *act)
{
	CScanPoolState *state = pool->state;
	int			there;			/* slot that has some of the chunk, or none */
	int			slot;
	bool		full;
	uint32_t	chunk;
	uint32_t	again;			/* blocks in it that are loaded again */
	CScanPieces have = {{0}};	/* pieces in it that are not */

	act->kind = CSCAN_ACT_NOTHING;
	act->slot = act->space = act->scan = CSCAN_NONE;

	chunk = cscan_policies[pool->scans[scan].policy]->choose_load(pool, scan);
	if (chunk == CSCAN_NO_CHUNK)
		return;

	act->scan = scan;
	act->space = pool->space_of[chunk];
	act->chunk = chunk;
	there = cscan_pool_find(pool, chunk);
	find_pieces(pool, there, act, &have);
	again = there == CSCAN_NONE ? 0 : blocks_again(&pool->slots[there], act);

	/* There may be room, but too much pinned. */
	full = state->total - again + act->nblocks > Max(state->room, state->budget);
	if (full || state->used + act->nblocks > state->budget)
	{
		if (act->nblocks > state->budget || trim(pool, !full, act))
			return;
		act->slot = choose_victim(pool, scan, there, !full);
		if (act->slot == CSCAN_NONE && gives_way(pool, scan, there))
			unpin(pool, there, act);
		else if (act->slot != CSCAN_NONE && full)
			evict(pool, act->slot, act);
		else if (act->slot != CSCAN_NONE)
			unpin(pool, act->slot, act);
		return;
	}

	slot = there != CSCAN_NONE ? there : cscan_slots_free(pool);
	act->slot = slot != CSCAN_NONE ? slot : choose_victim(pool, scan, CSCAN_NONE, false);
	if (slot != CSCAN_NONE)
		begin_load(pool, slot, slot == there, again, &have, now, act);
	else if (act->slot != CSCAN_NONE)
		evict(pool, act->slot, act);
}

/*
 * No scan asks for this room, and the scans may have several policies.  So the
 * lowest keepRelevance goes first, which looks at all of them.  A slot in use is
 * unpinned last, and is never evicted.
 */
static void
shrink(CScanPool *pool, CScanAction *act)
{
	CScanPoolState *state = pool->state;
	uint64_t   *candidates = cscan_slot_set(pool, CSCAN_SLOTS_CANDIDATES);
	bool		pinned = state->used > state->budget;
	int			slot = CSCAN_NONE;

	act->kind = CSCAN_ACT_NOTHING;
	act->slot = act->space = act->scan = CSCAN_NONE;
	if (!pinned && state->total <= Max(state->room, state->budget))
		return;
	for (int spare_used = 1; spare_used >= (pinned ? 0 : 1) && slot == CSCAN_NONE; spare_used--)
	{
		find_candidates(pool, CSCAN_NONE, spare_used != 0, pinned, candidates);
		slot = choose_among(pool, &cscan_policy_relevance, candidates);
	}
	if (slot == CSCAN_NONE)
		return;
	if (pinned)
	{
		name_slot(pool, CSCAN_ACT_UNPIN, slot, act);
		cscan_slots_set_held(pool, slot, false);
	}
	else
		evict(pool, slot, act);
}

void
cscan_pool_shrink(CScanPool *pool, CScanAction *act)
{
	bool		nothing;

	shrink(pool, act);
	nothing = act->kind == CSCAN_ACT_NOTHING;
	CSCAN_RECORD(pool,.kind = CSCAN_TRACE_SHRINK,.flag = (uint8_t) act->kind,
				 .slot = act->slot,.other = act->space,.chunk = nothing ? 0 : act->chunk);
}

/* If scans take chunks in order, finding out takes as long as deciding. */
bool
cscan_pool_wants_load(CScanPool *pool, uint64_t now)
{
	for (int p = 0; p < CSCAN_NPOLICIES; p++)
	{
		if (cscan_policies[p]->traits.in_order && cscan_state_any_of(pool, p))
			return true;
	}
	return pool->state->evicted_for != CSCAN_NONE || choose_query(pool, now, 0, PROPOSE_QUERY) != CSCAN_NONE;
}

void
cscan_pool_decide(CScanPool *pool, uint64_t now, CScanAction *act)
{
	unsigned	tried;
	int			scan = pool->state->evicted_for;

	act->kind = CSCAN_ACT_NOTHING;
	act->slot = act->space = act->scan = CSCAN_NONE;

	/* Room that was made for a scan belongs to that scan. */
	if (scan != CSCAN_NONE && cscan_pool_active(pool, scan) &&
		pool->scans[scan].nloadable > 0 && !pool->scans[scan].warm)
		serve(pool, scan, now, act);

	/*
	 * An elevator that waits for its slowest scan holds up no other policy.
	 * Nor does a scan that cannot be served hold up those that may evict
	 * anything.
	 */
	for (int proposal = 0; proposal < NPROPOSALS && act->kind == CSCAN_ACT_NOTHING; proposal++)
	{
		tried = 0;
		while (act->kind == CSCAN_ACT_NOTHING &&
			   (scan = choose_query(pool, now, tried, (Proposal) proposal)) != CSCAN_NONE)
		{
			serve(pool, scan, now, act);
			tried |= 1u << pool->scans[scan].policy;
		}
	}
	pool->state->evicted_for = act->kind == CSCAN_ACT_EVICT || act->kind == CSCAN_ACT_UNPIN ||
		act->kind == CSCAN_ACT_TRIM ? scan : CSCAN_NONE;
	cscan_record_action(pool, now, act);
}
