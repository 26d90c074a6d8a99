/*-------------------------------------------------------------------------
 *
 * elevator.c
 *		Policy elevator: one cursor for each table sweeps what its scans want
 *		(Section 3 of the paper).
 *
 * Chunks are loaded strictly in the order of the sweep, and a chunk stays
 * until every elevator scan that wants it has used it; a full pool of wanted
 * chunks makes the cursor wait for the slowest scan.
 *
 *-------------------------------------------------------------------------
 */
#include "pool_internal.h"

static uint32_t
start(const CScanPool *pool, int scan)
{
	(void) pool;
	(void) scan;
	return 0;
}

/* In the order of the sweep, which is the order of the loads. */
static int
choose_available(const CScanPool *pool, int scan)
{
	if (pool->scans[scan].ready == 0)
		return CSCAN_NONE;
	return cscan_slots_first(pool, cscan_scan_slots(pool, scan, CSCAN_HAS_READY));
}

/* Any starved scan moves its table's cursor; the longest waiting first. */
static int
choose_query(CScanPool *pool, uint64_t now)
{
	uint64_t	since;
	int			scan = cscan_queue_first(pool, CSCAN_POLICY_ELEVATOR, true, &since);

	(void) now;
	if (scan == CSCAN_NONE)
		scan = cscan_queue_first(pool, CSCAN_POLICY_ELEVATOR, false, &since);
	return scan;
}

static uint32_t
choose_load(CScanPool *pool, int scan)
{
	int			table = pool->scans[scan].table;
	uint32_t	cursor = pool->tables[table].elevator;
	uint32_t	best = CSCAN_NO_CHUNK;
	uint32_t	nearest = 0;

	/* The next chunk of the sweep that some elevator scan finds absent. */
	CSCAN_SET_EACH(i, cscan_table_scans(pool, table), cscan_scan_words(pool))
	{
		uint32_t	chunk;
		uint32_t	distance;

		if (pool->scans[i].policy != CSCAN_POLICY_ELEVATOR || !cscan_pool_active(pool, i))
			continue;
		chunk = cscan_status_first_absent(pool, i, cursor);
		if (chunk == CSCAN_NO_CHUNK)
			continue;
		distance = chunk >= cursor ? chunk - cursor : chunk + CSCAN_MAX_CHUNKS;
		if (best == CSCAN_NO_CHUNK || distance < nearest)
		{
			best = chunk;
			nearest = distance;
		}
		if (nearest == 0)
			break;
	}
	return best;
}

/* What an elevator scan will use, as it is, stays until it has. */
static void
protect(CScanPool *pool, uint64_t *slots)
{
	CScanTally	wanted = cscan_status_slots(pool, CSCAN_TALLY_ELEVATOR);

	cscan_tally_remove_counted(&wanted, slots, cscan_slot_words(pool));
}

static void
spare(CScanPool *pool, int scan, uint64_t *slots)
{
	(void) scan;
	protect(pool, slots);
}

/* What the fewest scans of other policies want, then the oldest. */
static void
least_valued(CScanPool *pool, uint64_t *slots)
{
	CScanTally	interested = cscan_status_slots(pool, CSCAN_TALLY_INTERESTED);

	cscan_tally_lowest(&interested, slots, cscan_slot_words(pool));
}

const CScanPolicy cscan_policy_elevator = {
	.name = "elevator",
	.start = start,
	.choose_available = choose_available,
	.choose_query = choose_query,
	.choose_load = choose_load,
	.spare = spare,
	.least_valued = least_valued,
	.protect = protect,
	.overrides = false,
};
