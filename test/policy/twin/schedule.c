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
 *	 2. a slot that only other policies protect;
 *	 3. if the scan waits and nothing at all is there for it: any slot that is
 *		not in use.  Otherwise a pool smaller than the scans' needs would
 *		stop for ever.
 *
 * What a sleeping scan is being woken for is never a victim.
 *
 *-------------------------------------------------------------------------
 */
#include <stddef.h>
#include <string.h>

#include "policy.h"

const CScanPolicy *const cscan_policies[CSCAN_NPOLICIES] = {
	[CSCAN_POLICY_NORMAL] = &cscan_policy_normal,
	[CSCAN_POLICY_ATTACH] = &cscan_policy_attach,
	[CSCAN_POLICY_ELEVATOR] = &cscan_policy_elevator,
	[CSCAN_POLICY_RELEVANCE] = &cscan_policy_relevance,
	[CSCAN_POLICY_DEMAND] = &cscan_policy_demand,
};

#define Max(a, b)	((a) > (b) ? (a) : (b))
#define Min(a, b)	((a) < (b) ? (a) : (b))

/* Does a before b?  Blocked scans first, of these the one that waits longest. */
static bool
goes_first(const CScanInterest *a, const CScanInterest *b)
{
	if (a->blocked != b->blocked)
		return a->blocked;
	return a->since < b->since;
}

/* Of the policies' proposals the one that goes first, but for those tried. */
static int
choose_query(const CScanPool *pool, uint64_t now, unsigned tried)
{
	int			best = CSCAN_NONE;

	for (int p = 0; p < CSCAN_NPOLICIES; p++)
	{
		int			scan;

		if (tried & (1u << p))
			continue;
		scan = cscan_policies[p]->choose_query(pool, now);
		if (scan != CSCAN_NONE &&
			(best == CSCAN_NONE || goes_first(&pool->scans[scan], &pool->scans[best])))
			best = scan;
	}
	return best;
}

static bool
others_protect(const CScanPool *pool, int slot, int scan)
{
	for (int p = 0; p < CSCAN_NPOLICIES; p++)
	{
		if (p != pool->scans[scan].policy && cscan_policies[p]->protects(pool, slot))
			return true;
	}
	return false;
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

static int
choose_victim(const CScanPool *pool, int scan, int keep_slot, bool held)
{
	const CScanPolicy *policy = cscan_policies[pool->scans[scan].policy];
	bool		last_resort = pool->scans[scan].blocked &&
		pool->scans[scan].available == 0;

	for (int step = 1; step <= 3; step++)
	{
		int			victim = CSCAN_NONE;
		double		lowest = 0;

		if (step == 3 && !(last_resort && policy->overrides))
			break;
		for (int i = 0; i < pool->state->max_slots; i++)
		{
			double		keep;

			if (pool->slots[i].table == CSCAN_NONE || i == keep_slot ||
				(held && !pool->slots[i].held) ||
				cscan_pool_in_flight(pool, i) || cscan_pool_in_use(pool, i) ||
				about_to_be_taken(pool, i))
				continue;
			if (step <= 2 && !policy->may_evict(pool, i, scan))
				continue;
			if (step == 1 && others_protect(pool, i, scan))
				continue;
			keep = policy->keep(pool, i);
			if (victim == CSCAN_NONE || keep < lowest ||
				(keep == lowest && pool->slots[i].stamp < pool->slots[victim].stamp))
			{
				victim = i;
				lowest = keep;
			}
		}
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
	cscan_pool_drop(pool, slot);
}

/* An elevator also loads what only others on it want: then for one of these. */
static int
loaded_for(const CScanPool *pool, int scan, uint32_t chunk)
{
	int			best = CSCAN_NONE;

	if (cscan_pool_wants(pool, scan, chunk))
		return scan;
	for (int i = 0; i < pool->state->max_scans; i++)
	{
		if (pool->scans[i].table == pool->scans[scan].table &&
			pool->scans[i].policy == pool->scans[scan].policy &&
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
	pool->slots[slot].held = false;
	pool->state->used -= pool->slots[slot].nblocks;
	pool->state->unpinned = true;
}

/* A piece of the chunk as the table is now: empty beyond its end. */
static CScanRange
piece_blocks(const CScanAction *act, uint32_t p)
{
	CScanRange	piece = {act->blocks.first + p * act->piece_blocks, act->blocks.end};

	if (piece.first >= piece.end)
		piece.end = piece.first;
	else if (piece.end - piece.first > act->piece_blocks)
		piece.end = piece.first + act->piece_blocks;
	return piece;
}

bool
cscan_action_next_run(const CScanAction *act, CScanRange *run)
{
	CScanRange	next = {0, 0};

	for (uint32_t p = 0; p < CSCAN_MAX_PIECES; p++)
	{
		CScanRange	piece = piece_blocks(act, p);

		if (!cscan_pool_has_piece(&act->pieces, p) || piece.first == piece.end ||
			piece.first < run->end)
			continue;
		if (next.end == 0)
			next = piece;
		else if (next.end == piece.first)
			next.end = piece.end;
	}
	if (next.end == 0)
		return false;
	*run = next;
	return true;
}

/* Blocks of a piece that a slot has; a piece that has grown since has them at its beginning. */
static uint32_t
blocks_there(const CScanSlot *slot, const CScanAction *act, uint32_t p)
{
	CScanRange	piece = piece_blocks(act, p);

	if (!cscan_pool_has_piece(&slot->loaded, p) || slot->end <= piece.first)
		return 0;
	return Min(slot->end, piece.end) - piece.first;
}

/*
 * What has to be loaded of a chunk, of which a slot may have something already:
 * what somebody wants and is not there as a whole, where it is pinned.  Its
 * blocks may be gone where it is not: then all that was there comes again.
 * *again is how many of the slot's blocks come again, *have what stays.
 */
static void
find_pieces(const CScanPool *pool, const CScanSlot *slot, CScanAction *act,
			uint32_t *again, CScanPieces *have)
{
	CScanPieces wanted = cscan_pool_pieces_wanted(pool, act->table, act->chunk);

	memset(&act->pieces, 0, sizeof(act->pieces));
	memset(have, 0, sizeof(*have));
	act->nblocks = *again = 0;
	for (uint32_t p = 0; p < CSCAN_MAX_PIECES; p++)
	{
		CScanRange	piece = piece_blocks(act, p);
		uint32_t	length = piece.end - piece.first;
		uint32_t	there = slot == NULL ? 0 : blocks_there(slot, act, p);
		bool		load = cscan_pool_has_piece(&wanted, p);

		if (slot != NULL && cscan_pool_has_piece(&slot->loaded, p))
		{
			/* The table's end may have gone from under it. */
			bool		whole = there == length;

			if (slot->held && whole)
			{
				have->word[p / 64] |= UINT64_C(1) << (p % 64);
				load = false;
			}
			else
				load = true;
		}
		if (!load || length == 0)
			continue;
		act->pieces.word[p / 64] |= UINT64_C(1) << (p % 64);
		act->nblocks += length;
		*again += there;
	}
	if (slot != NULL && !slot->held)
		*again = slot->nblocks;
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
	CScanPieces have;			/* pieces in it that are not */

	act->kind = CSCAN_ACT_NOTHING;
	act->slot = act->table = act->scan = CSCAN_NONE;

	chunk = cscan_policies[pool->scans[scan].policy]->choose_load(pool, scan);
	if (chunk == CSCAN_NO_CHUNK)
		return;

	act->scan = scan;
	act->table = pool->scans[scan].table;
	act->chunk = chunk;
	table = &pool->tables[act->table];

	act->blocks = cscan_pool_blocks_of(pool, act->table, chunk);
	act->piece_blocks = table->piece_blocks;
	slot = cscan_pool_find(pool, act->table, chunk);
	find_pieces(pool, slot == CSCAN_NONE ? NULL : &pool->slots[slot], act, &again, &have);

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
		for (int i = 0; i < state->max_slots && act->slot == CSCAN_NONE; i++)
		{
			if (pool->slots[i].table == CSCAN_NONE)
				act->slot = i;
		}
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
	state->unpinned = false;
	s = &pool->slots[act->slot];
	s->table = act->table;
	s->chunk = chunk;
	s->loaded = have;
	for (int w = 0; w < CSCAN_PIECE_WORDS; w++)
		s->coming.word[w] = have.word[w] | act->pieces.word[w];
	if (act->slot != slot || !s->held || s->end < act->blocks.end)
		s->end = act->blocks.end;
	s->nblocks += act->nblocks - again;
	s->in_flight = true;
	s->trigger = loaded_for(pool, scan, chunk);
	s->stamp = now;
	s->order = ++state->nloads;
	s->failed = false;
	pool->resident[(size_t) act->table * CSCAN_MAP_WORDS + chunk / 64] |=
		UINT64_C(1) << (chunk % 64);
	state->used += s->held ? act->nblocks - again : act->nblocks;
	state->total += act->nblocks - again;
	s->held = true;
	table->cursor = chunk + 1;
	if (pool->scans[scan].policy == CSCAN_POLICY_ELEVATOR)
		table->elevator = chunk + 1;
}

void
cscan_pool_decide(CScanPool *pool, uint64_t now, CScanAction *act)
{
	unsigned	tried = 0;
	int			scan = pool->state->room_for;

	act->kind = CSCAN_ACT_NOTHING;
	act->slot = act->table = act->scan = CSCAN_NONE;

	/* Room that was made for a scan is that scan's. */
	cscan_pool_count(pool);
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
}
