/*-------------------------------------------------------------------------
 *
 * pool.c
 *		How a pool is laid out in memory, made empty, and counted anew.
 *
 *-------------------------------------------------------------------------
 */
#include <string.h>

#include "interest.h"
#include "policy.h"
#include "queue.h"
#include "slots.h"
#include "status.h"

static size_t
history_words(int policy, const CScanLimits *limits)
{
	return cscan_policies[policy]->history_words ? cscan_policies[policy]->history_words(limits) : 0;
}

/* Set the pointers to the parts; with memory = NULL only add up sizes. */
static size_t
lay_out(CScanPool *pool, char *memory, const CScanLimits *limits)
{
	size_t		size = 0;
	size_t		scans = (size_t) limits->max_scans;
	size_t		spaces = (size_t) limits->max_spaces;
	size_t		slots = (size_t) limits->max_slots;
	size_t		chunk_words = limits->max_chunks / 64;
	size_t		scan_words = cscan_set_words((uint32_t) limits->max_scans);
	size_t		space_words = cscan_set_words((uint32_t) limits->max_spaces);
	size_t		slot_words = cscan_set_words((uint32_t) limits->max_slots);
	size_t		planes = (size_t) cscan_tally_planes((uint32_t) limits->max_scans);

#define PART(part, type, count) \
	do { \
		if (memory != NULL) \
			pool->part = (type *) (memory + size); \
		size += (sizeof(type) * (count) + 7) / 8 * 8; \
	} while (0)

	PART(state, CScanPoolState, 1);
	PART(scans, CScanScan, scans);
	PART(spaces, CScanSpace, spaces);
	PART(slots, CScanSlot, slots);
	PART(helpers, CScanHelper, (size_t) limits->max_helpers);
	PART(ranges, CScanSpaceRange, scans * CSCAN_MAX_RANGES);
	PART(wanted, uint64_t, scans * chunk_words);
	PART(scan_spaces, uint64_t, scans * space_words);
	PART(cached, uint64_t, chunk_words);
	for (int p = 0; p < CSCAN_NPOLICIES; p++)
		PART(history[p], uint64_t, history_words(p, limits));
	PART(space_of, int32_t, limits->max_chunks);
	PART(numbered, uint64_t, chunk_words);
	PART(loadable, uint64_t, chunk_words);
	PART(refused, uint64_t, chunk_words);
	PART(resident, uint64_t, chunk_words);
	PART(slot_of, int32_t, limits->max_chunks);
	PART(space_scans, uint64_t, spaces * scan_words);
	PART(slot_sets, uint64_t, CSCAN_NSLOT_SETS * slot_words);
	PART(slot_tallies, uint64_t, CSCAN_NSLOT_TALLIES * planes * slot_words);
	PART(chunk_tallies, uint64_t, CSCAN_NCHUNK_TALLIES * planes * chunk_words);
	PART(scan_slots, uint64_t, scans * CSCAN_NHAS * slot_words);
	PART(scan_sets, uint64_t, CSCAN_NSCAN_SETS * scan_words);
	PART(slot_places, CScanSlotPlace, CSCAN_NSLOT_LISTS * slots);
	PART(queues, CScanQueued, CSCAN_NQUEUES * scans);
	PART(classes, CScanClass, scans);
#undef PART

	return size;
}

size_t
cscan_pool_size(const CScanLimits *limits)
{
	return lay_out(NULL, NULL, limits);
}

void
cscan_pool_attach(CScanPool *pool, void *memory, const CScanLimits *limits)
{
	lay_out(pool, memory, limits);
	pool->record = NULL;
}

void
cscan_pool_init(CScanPool *pool, const CScanLimits *limits)
{
	CScanPoolState *state = pool->state;
	size_t		chunk_bytes = limits->max_chunks / 8;

	memset(state, 0, sizeof(*state));
	state->limits = *limits;
	state->evicted_for = CSCAN_NONE;
	for (int p = 0; p < CSCAN_NPOLICIES; p++)
		state->traits[p] = cscan_policies[p]->traits;

	memset(pool->scans, 0, sizeof(CScanScan) * (size_t) limits->max_scans);
	memset(pool->spaces, 0, sizeof(CScanSpace) * (size_t) limits->max_spaces);
	if (limits->max_helpers > 0)
		memset(pool->helpers, 0, sizeof(CScanHelper) * (size_t) limits->max_helpers);
	memset(pool->wanted, 0, chunk_bytes * (size_t) limits->max_scans);
	memset(pool->scan_spaces, 0, sizeof(uint64_t) * cscan_space_words(pool) * (size_t) limits->max_scans);
	memset(pool->space_scans, 0, sizeof(uint64_t) * cscan_scan_words(pool) * (size_t) limits->max_spaces);
	memset(pool->cached, 0, chunk_bytes);
	memset(pool->numbered, 0, chunk_bytes);
	memset(pool->loadable, 0, chunk_bytes);
	memset(pool->refused, 0, chunk_bytes);
	for (uint32_t c = 0; c < limits->max_chunks; c++)
		pool->space_of[c] = CSCAN_NONE;
	for (int p = 0; p < CSCAN_NPOLICIES; p++)
		memset(pool->history[p], 0, sizeof(uint64_t) * history_words(p, limits));

	cscan_slots_init(pool);
	cscan_status_init(pool);
	cscan_queue_init(pool);
	cscan_queue_set_block_time(pool, 5.0);
}

/* ------------------------------------------------------------------
 * Counting anew
 * ------------------------------------------------------------------ */

/* Count the spaces; mark their numbers and their access. */
static void
count_spaces(CScanPool *pool)
{
	CScanPoolState *state = pool->state;

	state->nspaces = state->nrefused = state->first_free_space = state->spaces_end = 0;
	memset(pool->numbered, 0, sizeof(uint64_t) * cscan_chunk_words(pool));
	memset(pool->loadable, 0, sizeof(uint64_t) * cscan_chunk_words(pool));
	memset(pool->refused, 0, sizeof(uint64_t) * cscan_chunk_words(pool));
	memset(pool->space_scans, 0,
		   sizeof(uint64_t) * cscan_scan_words(pool) * (size_t) state->limits.max_spaces);
	for (uint32_t c = 0; c < state->limits.max_chunks; c++)
		pool->space_of[c] = CSCAN_NONE;
	for (int i = 0; i < state->limits.max_spaces; i++)
	{
		CScanSpace *p = &pool->spaces[i];
		uint32_t	last = p->first_chunk + p->nchunks - 1;

		p->nscans = 0;
		if (!p->used)
			continue;
		state->nspaces++;
		state->spaces_end = i + 1;
		state->nrefused += p->access == CSCAN_ACCESS_REFUSED;
		cscan_set_add_range(pool->numbered, p->first_chunk, last);
		if (p->access == CSCAN_ACCESS_GRANTED)
			cscan_set_add_range(pool->loadable, p->first_chunk, last);
		else if (p->access == CSCAN_ACCESS_REFUSED)
			cscan_set_add_range(pool->refused, p->first_chunk, last);
		for (uint32_t c = p->first_chunk; c <= last; c++)
			pool->space_of[c] = i;
	}
}

static void
count_scan(CScanPool *pool, int scan)
{
	CScanScan  *s = &pool->scans[scan];
	const uint64_t *wanted = cscan_wanted(pool, scan);
	uint32_t	nranges = s->nranges;

	s->nhelpers = 0;
	s->promised = 0;
	s->nspaces = 0;
	s->first_word = s->end_word = s->first_space = 0;
	if (!s->used)
		return;
	CSCAN_SET_EACH(i, cscan_scan_spaces(pool, scan), cscan_space_words(pool))
	{
		cscan_set_add(cscan_space_scans(pool, i), (uint32_t) scan);
		pool->spaces[i].nscans++;
		if (s->nspaces++ == 0)
			s->first_space = (uint32_t) i;
	}
	for (uint32_t w = 0; w < cscan_chunk_words(pool); w++)
	{
		if (wanted[w] == 0)
			continue;
		if (s->end_word == 0)
			s->first_word = w;
		s->end_word = w + 1;
	}
	s->nranges = nranges;
	cscan_interest_complete(pool, scan);

	/* Ranges may have been read: only chunks still wanted count. */
	s->needed = 0;
	CSCAN_SET_EACH(c, wanted, cscan_chunk_words(pool))
	{
		s->needed += cscan_pool_cost_for(pool, scan, (uint32_t) c);
	}
}

static void
count_reader(CScanPool *pool, int scan, int slot)
{
	if (slot == CSCAN_NONE)
		return;
	pool->slots[slot].readers++;
	pool->scans[scan].using++;
	pool->scans[scan].available++;
}

void
cscan_pool_rebuild(CScanPool *pool)
{
	const CScanLimits *limits = &pool->state->limits;

	count_spaces(pool);
	for (int i = 0; i < limits->max_scans; i++)
		count_scan(pool, i);
	pool->state->nhelpers = 0;
	for (int i = 0; i < limits->max_helpers; i++)
	{
		if (!pool->helpers[i].used)
			continue;
		pool->state->nhelpers++;
		if (pool->helpers[i].scan != CSCAN_NONE)
			pool->scans[pool->helpers[i].scan].nhelpers++;
	}
	cscan_slots_rebuild(pool);
	for (int i = 0; i < limits->max_slots; i++)
	{
		if (pool->slots[i].loaded_for != CSCAN_NONE)
			pool->scans[pool->slots[i].loaded_for].promised++;
	}
	cscan_status_init(pool);
	cscan_queue_init(pool);

	/* Readers come first: when a scan enters, its readers count as users. */
	for (int i = 0; i < limits->max_helpers; i++)
	{
		if (pool->helpers[i].used)
			count_reader(pool, pool->helpers[i].scan, pool->helpers[i].in_use);
	}
	for (int i = 0; i < limits->max_scans; i++)
	{
		if (pool->scans[i].used)
			count_reader(pool, i, pool->scans[i].in_use);
		if (pool->scans[i].started)
			cscan_status_enter(pool, i);
	}
}
