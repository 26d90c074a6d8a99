/*-------------------------------------------------------------------------
 *
 * demand.c
 *		Policy demand: relevance with two changes, and what it goes by.
 *
 *		queryRelevance	waiting counts eight times, so that whoever has waited
 *						long is served before one that needs little
 *		keepRelevance	of chunks that are worth the same the one goes that the
 *						fewest of the table's last scans wanted when they began:
 *						the next scan is likely to want what these did
 *
 * All else is relevance's (relevance.c).  The simulator shows what it gains: a
 * shorter worst wait, and on average no longer latency (doc/policies.md).
 *
 * What the last scans wanted is kept in parts of a table: a part is one chunk,
 * or as many as it takes for a table to have no more than CSCAN_PARTS.  All
 * scans of the table count, whatever their policy, each time they begin; those
 * that began long ago are forgotten as others come, and all of them when the
 * table's last scan has gone.  Parts only grow: a table that has outgrown them
 * begins to be known anew.
 *
 *-------------------------------------------------------------------------
 */
#include <string.h>

#include "pool_internal.h"

#define IMPATIENCE	8

/* Make room for what one more scan asks for: the oldest is forgotten. */
static uint64_t *
forget_oldest(CScanTable *t)
{
	uint64_t   *asked = t->asked[t->next_asked];

	t->next_asked = (t->next_asked + 1) % CSCAN_LAST_SCANS;
	CSCAN_SET_EACH(part, asked, CSCAN_PART_WORDS)
	{
		t->demand[part]--;
	}
	memset(asked, 0, sizeof(t->asked[0]));
	return asked;
}

void
cscan_demand_note(CScanPool *pool, int scan)
{
	const CScanInterest *s = &pool->scans[scan];
	const CScanRange *ranges = RANGES(pool, scan);
	CScanTable *t = &pool->tables[s->table];
	uint64_t   *asked;

	if (t->part_chunks == 0 || (s->nchunks - 1) / t->part_chunks >= CSCAN_PARTS)
	{
		memset(t->asked, 0, sizeof(t->asked));
		memset(t->demand, 0, sizeof(t->demand));
		t->part_chunks = (s->nchunks - 1) / CSCAN_PARTS + 1;
	}
	asked = forget_oldest(t);
	for (uint32_t r = 0; r < s->nranges; r++)
		cscan_set_add_range(asked, ranges[r].first / t->chunk_blocks / t->part_chunks,
							(ranges[r].end - 1) / t->chunk_blocks / t->part_chunks);
	CSCAN_SET_EACH(part, asked, CSCAN_PART_WORDS)
	{
		t->demand[part]++;
	}
}

/* Chunks beyond all parts are of a table that was longer: nobody asked for them. */
uint32_t
cscan_demand_of(const CScanPool *pool, int table, uint32_t chunk)
{
	const CScanTable *t = &pool->tables[table];

	if (t->part_chunks == 0 || chunk / t->part_chunks >= CSCAN_PARTS)
		return 0;
	return t->demand[chunk / t->part_chunks];
}

void
cscan_demand_rebuild(CScanPool *pool, int table)
{
	CScanTable *t = &pool->tables[table];

	memset(t->demand, 0, sizeof(t->demand));
	for (int i = 0; i < CSCAN_LAST_SCANS; i++)
	{
		CSCAN_SET_EACH(part, t->asked[i], CSCAN_PART_WORDS)
		{
			t->demand[part]++;
		}
	}
}

static int
choose_query(CScanPool *pool, uint64_t now)
{
	return cscan_relevance_choose_query(pool, now, CSCAN_POLICY_DEMAND);
}

/* keepRelevance, and of equals those that the fewest have asked for. */
void
cscan_demand_least_valued(CScanPool *pool, uint64_t *slots)
{
	uint32_t	least = UINT32_MAX;

	cscan_relevance_least_valued(pool, slots);
	CSCAN_SET_EACH(i, slots, cscan_slot_words(pool))
	{
		uint32_t	demand = cscan_demand_of(pool, pool->slots[i].table, pool->slots[i].chunk);

		if (demand < least)
			least = demand;
	}
	CSCAN_SET_EACH(i, slots, cscan_slot_words(pool))
	{
		if (cscan_demand_of(pool, pool->slots[i].table, pool->slots[i].chunk) > least)
			cscan_set_remove(slots, (uint32_t) i);
	}
}

const CScanPolicy cscan_policy_demand = {
	.name = "demand",
	.start = cscan_relevance_start,
	.choose_available = cscan_relevance_choose_available,
	.choose_query = choose_query,
	.choose_load = cscan_relevance_choose_load,
	.spare = cscan_relevance_spare,
	.least_valued = cscan_demand_least_valued,
	.protect = cscan_relevance_protect,
	.overrides = true,
	.impatience = IMPATIENCE,
};
