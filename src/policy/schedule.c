/*-------------------------------------------------------------------------
 *
 * schedule.c
 *		The ABM's main decision, over all policies (Figure 3, main()).
 *
 * Each policy proposes one of its scans.  The longest blocked of these wins;
 * a scan that only needs its next chunk soon comes after all that wait.  If
 * nothing can be done for it, the next one's turn comes.  The winner's policy
 * picks the chunk, and a victim where there is no room:
 *
 *	 1. a slot that nobody protects;
 *	 2. a slot that only other policies protect (what relevance and demand
 *		protect, what starved scans of either want, is the same);
 *	 3. if the scan waits and nothing at all is there for it: any slot that is
 *		not in use.  Otherwise a pool smaller than the scans' needs would
 *		stop for ever.
 *
 * What a sleeping scan is being woken for is never a victim.
 *
 *-------------------------------------------------------------------------
 */
#include <string.h>

#include "pool_internal.h"

const CScanPolicy *const cscan_policies[CSCAN_NPOLICIES] = {
#define CSCAN_POLICY_ENTRY(id, name) [CSCAN_POLICY_##id] = &cscan_policy_##name,
	CSCAN_POLICIES(CSCAN_POLICY_ENTRY)
#undef CSCAN_POLICY_ENTRY
};

#define Max(a, b)	((a) > (b) ? (a) : (b))

/* Does a before b?  Blocked scans first, of these the one that waits longest. */
static bool
goes_first(const CScanInterest *a, const CScanInterest *b)
{
	if (a->blocked != b->blocked)
		return a->blocked;
	return a->since < b->since;
}

static bool
any_of_policy(const CScanPool *pool, int policy)
{
	return cscan_set_next(cscan_scan_set(pool, CSCAN_SCANS_OF_POLICY + policy),
						  cscan_scan_words(pool), 0) >= 0;
}

/* Of the policies' proposals the one that goes first, but for those tried. */
static int
choose_query(CScanPool *pool, uint64_t now, unsigned tried)
{
	int			best = CSCAN_NONE;

	for (int p = 0; p < CSCAN_NPOLICIES; p++)
	{
		int			scan;

		if ((tried & (1u << p)) || !any_of_policy(pool, p))
			continue;
		scan = cscan_policies[p]->choose_query(pool, now);
		if (scan != CSCAN_NONE &&
			(best == CSCAN_NONE || goes_first(&pool->scans[scan], &pool->scans[best])))
			best = scan;
	}
	return best;
}

/*
 * Was it loaded for a scan that still sleeps and will take it when it wakes
 * up?  If such chunks could go, then in a pool with fewer slots than scans
 * each load might throw out what another scan is just being woken for.
 */
static bool
about_to_be_taken(const CScanPool *pool, int slot)
{
	int			scan = pool->slots[slot].trigger;

	return scan != CSCAN_NONE && cscan_pool_active(pool, scan) &&
		pool->scans[scan].blocked &&
		cscan_policies[pool->scans[scan].policy]->choose_available(pool, scan) == slot;
}

/* Slots that may go at all: not in flight, not in use; and held, if they must be. */
static void
find_candidates(CScanPool *pool, int keep_slot, bool held, uint64_t *candidates)
{
	const uint64_t *taken = cscan_slot_set(pool, held ? CSCAN_SLOTS_HELD : CSCAN_SLOTS_TAKEN);
	const uint64_t *in_flight = cscan_slot_set(pool, CSCAN_SLOTS_IN_FLIGHT);
	const uint64_t *in_use = cscan_slot_set(pool, CSCAN_SLOTS_IN_USE);

	for (uint32_t w = 0; w < cscan_slot_words(pool); w++)
		candidates[w] = taken[w] & ~in_flight[w] & ~in_use[w];
	if (keep_slot != CSCAN_NONE)
		cscan_set_remove(candidates, (uint32_t) keep_slot);
}

/* The least valued of the candidates, which are used up. */
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
	bool		last_resort = pool->scans[scan].blocked &&
		pool->scans[scan].available == 0;

	for (int step = 1; step <= 3; step++)
	{
		int			victim;

		if (step == 3 && !(last_resort && policy->overrides))
			break;
		find_candidates(pool, keep_slot, held, candidates);
		if (step <= 2)
			policy->spare(pool, scan, candidates);
		for (int p = 0; p < CSCAN_NPOLICIES && step == 1; p++)
		{
			if (p != pool->scans[scan].policy && any_of_policy(pool, p))
				cscan_policies[p]->protect(pool, candidates);
		}
		victim = choose_among(pool, policy, candidates);
		if (victim != CSCAN_NONE)
			return victim;
	}
	return CSCAN_NONE;
}

/* Make the action one on what is in this slot. */
static void
name_slot(const CScanPool *pool, CScanActionKind kind, int slot, CScanAction *act)
{
	act->kind = kind;
	act->slot = slot;
	act->table = pool->slots[slot].table;
	act->chunk = pool->slots[slot].chunk;
}

static void
evict(CScanPool *pool, int slot, CScanAction *act)
{
	name_slot(pool, CSCAN_ACT_EVICT, slot, act);
	cscan_slots_drop(pool, slot);
}

/* An elevator also loads what only others on it want: then for one of these. */
static int
loaded_for(const CScanPool *pool, int scan, uint32_t chunk)
{
	int			best = CSCAN_NONE;

	if (cscan_pool_wants(pool, scan, chunk))
		return scan;
	CSCAN_SET_EACH(i, cscan_table_scans(pool, pool->scans[scan].table), cscan_scan_words(pool))
	{
		if (pool->scans[i].policy == pool->scans[scan].policy &&
			cscan_pool_active(pool, i) && cscan_pool_wants(pool, i, chunk) &&
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

/* Pieces of the chunk, as far as the table goes. */
static uint32_t
npieces(const CScanAction *act)
{
	uint32_t	length = act->blocks.end - act->blocks.first;

	return length / act->piece_blocks + (length % act->piece_blocks != 0);
}

bool
cscan_action_next_run(const CScanAction *act, CScanRange *run)
{
	int			n = (int) npieces(act);
	uint32_t	from = run->end == 0 ? 0 :
		(run->end - act->blocks.first - 1) / act->piece_blocks + 1;
	int			first = cscan_set_next(act->pieces.word, CSCAN_PIECE_WORDS, from);
	int			end;

	if (first < 0 || first >= n)
		return false;
	end = cscan_set_next_gap(act->pieces.word, CSCAN_PIECE_WORDS, (uint32_t) first);
	run->first = act->blocks.first + (uint32_t) first * act->piece_blocks;
	run->end = end >= n ? act->blocks.end : act->blocks.first + (uint32_t) end * act->piece_blocks;
	return true;
}

/* Of what has been loaded before, the table may have lost its end. */
static void
leave_out_beyond_end(CScanAction *act)
{
	uint32_t	n = npieces(act);

	for (uint32_t w = n / 64; w < CSCAN_PIECE_WORDS; w++)
		act->pieces.word[w] &= w == n / 64 ? ~(UINT64_MAX << (n % 64)) : 0;
}

/*
 * The table has grown into a piece that has been loaded up to its former end:
 * as a number, or CSCAN_MAX_PIECES if there is no such piece.
 */
static uint32_t
growing_piece(const CScanSlot *slot, const CScanAction *act)
{
	uint32_t	before = slot->end - act->blocks.first;
	uint32_t	p = before / act->piece_blocks;

	if (slot->end >= act->blocks.end || before % act->piece_blocks == 0 ||
		!((slot->loaded.word[p / 64] >> (p % 64)) & 1))
		return CSCAN_MAX_PIECES;
	return p;
}

static CScanPieces
without_growing_piece(const CScanSlot *slot, const CScanAction *act)
{
	CScanPieces pieces = slot->loaded;
	uint32_t	p = growing_piece(slot, act);

	if (p < CSCAN_MAX_PIECES)
		pieces.word[p / 64] &= ~(UINT64_C(1) << (p % 64));
	return pieces;
}

/* Of the blocks that the slot has, those that this load brings again. */
static uint32_t
blocks_again(const CScanSlot *slot, const CScanAction *act)
{
	if (!slot->held)
		return slot->nblocks;
	if (growing_piece(slot, act) < CSCAN_MAX_PIECES)
		return (slot->end - act->blocks.first) % act->piece_blocks;
	return 0;
}

/* Load the next chunk for that scan, or make room for it, if that can be. */
static void
serve(CScanPool *pool, int scan, uint64_t now, CScanAction *act)
{
	CScanPoolState *state = pool->state;
	CScanTable *table;
	CScanSlot  *s;
	int			slot;
	uint32_t	chunk;
	uint32_t	again;			/* blocks in the slot that are loaded again */
	CScanPieces have = {{0}};	/* pieces in it that are not */
	CScanRange	run = {0, 0};

	act->kind = CSCAN_ACT_NOTHING;
	act->slot = act->table = act->scan = CSCAN_NONE;

	chunk = cscan_policies[pool->scans[scan].policy]->choose_load(pool, scan);
	if (chunk == CSCAN_NO_CHUNK)
		return;

	act->scan = scan;
	act->table = pool->scans[scan].table;
	act->chunk = chunk;
	table = &pool->tables[act->table];

	/*
	 * The chunk may be there in part; then it only needs the rest, and the
	 * piece that the table has grown into, wanted or not.  Unless it is not
	 * held: its blocks may be gone, so all of them are loaded anew.
	 */
	act->pieces = cscan_pool_pieces_wanted(pool, act->table, chunk);
	act->blocks = cscan_pool_blocks_of(pool, act->table, chunk);
	act->piece_blocks = table->piece_blocks;
	slot = cscan_pool_find(pool, act->table, chunk);
	if (slot != CSCAN_NONE)
	{
		s = &pool->slots[slot];
		if (s->held)
			have = without_growing_piece(s, act);
		for (int w = 0; w < CSCAN_PIECE_WORDS; w++)
		{
			act->pieces.word[w] = (act->pieces.word[w] | s->loaded.word[w]) & ~have.word[w];
		}
	}
	leave_out_beyond_end(act);
	act->nblocks = 0;
	while (cscan_action_next_run(act, &run))
		act->nblocks += run.end - run.first;
	again = slot == CSCAN_NONE ? 0 : blocks_again(&pool->slots[slot], act);

	if (state->total - again + act->nblocks > Max(state->room, state->budget))
		act->slot = choose_victim(pool, scan, slot, false);
	else if (state->used + act->nblocks > state->budget)
	{
		/* There is room, but too much is pinned. */
		act->slot = choose_victim(pool, scan, slot, true);
		if (act->slot != CSCAN_NONE)
			unpin(pool, act->slot, act);
		return;
	}
	else if (slot != CSCAN_NONE)
		act->slot = slot;
	else
	{
		act->slot = cscan_slots_free(pool);
		if (act->slot == CSCAN_NONE)
			act->slot = choose_victim(pool, scan, CSCAN_NONE, false);
	}
	if (act->slot == CSCAN_NONE)
		return;

	if (act->slot != slot && pool->slots[act->slot].table != CSCAN_NONE)
	{
		evict(pool, act->slot, act);
		return;
	}

	act->kind = CSCAN_ACT_LOAD;
	if (act->slot != slot)
		cscan_slots_take(pool, act->slot, act->table, chunk, now);
	s = &pool->slots[act->slot];
	if (!s->held || s->end < act->blocks.end)
		s->end = act->blocks.end;
	s->trigger = loaded_for(pool, scan, chunk);
	cscan_slots_begin_load(pool, act->slot, &have, &act->pieces, act->nblocks, again, now);
	table->cursor = chunk + 1;
	if (pool->scans[scan].policy == CSCAN_POLICY_ELEVATOR)
		table->elevator = chunk + 1;
}

/* Where scans take their chunks in order, to find out takes as long as to decide. */
bool
cscan_pool_wants_load(CScanPool *pool, uint64_t now)
{
	for (int p = 0; p < CSCAN_NPOLICIES; p++)
	{
		if (cscan_policies[p]->in_order && any_of_policy(pool, p))
			return true;
	}
	return pool->state->room_for != CSCAN_NONE || choose_query(pool, now, 0) != CSCAN_NONE;
}

void
cscan_pool_decide(CScanPool *pool, uint64_t now, CScanAction *act)
{
	unsigned	tried = 0;
	int			scan = pool->state->room_for;

	act->kind = CSCAN_ACT_NOTHING;
	act->slot = act->table = act->scan = CSCAN_NONE;

	/* Room that was made for a scan is that scan's. */
	if (scan != CSCAN_NONE && cscan_pool_active(pool, scan) &&
		pool->tables[pool->scans[scan].table].loadable && !pool->scans[scan].warm)
		serve(pool, scan, now, act);

	/* An elevator that waits for its slowest scan holds up nobody else. */
	while (act->kind == CSCAN_ACT_NOTHING &&
		   (scan = choose_query(pool, now, tried)) != CSCAN_NONE)
	{
		serve(pool, scan, now, act);
		tried |= 1u << pool->scans[scan].policy;
	}
	pool->state->room_for = act->kind == CSCAN_ACT_EVICT || act->kind == CSCAN_ACT_UNPIN ?
		scan : CSCAN_NONE;
	cscan_trace_action(pool, now, act);
}
