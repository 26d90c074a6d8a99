/*-------------------------------------------------------------------------
 *
 * registry_internal.c
 *		What registry.c and next_chunk.c both do with a registration.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "shared/registry_internal.h"

dlist_head	cscan_registrations = DLIST_STATIC_INIT(cscan_registrations);
uint32		cscan_wait_for_chunk;

void
cscan_registration_count(const CScanTicket *ticket, uint32 chunk, CScanDelivery how)
{
	CScanScan  *s = &cscan_pool.scans[ticket->scan];
	CScanStats *stats = &cscan_shared->stats[s->policy];

	cscan_scans[ticket->scan].chunks_done++;
	cscan_tables[cscan_pool.space_of[chunk]].chunks_delivered++;
	stats->chunks_delivered++;
	stats->self_reads += (how == CSCAN_SELF_READ || how == CSCAN_COPIED);

	/* This may have been the last chunk, and others may be waiting. */
	if (s->nwanted == 0)
		ConditionVariableBroadcast(&cscan_scans[ticket->scan].cv);
}

CScanPortion
cscan_registration_portion(uint32 chunk)
{
	const CScanSpace *space = cscan_pool_space_of(&cscan_pool, chunk);
	CScanPortion portion;

	portion.relid = cscan_tables[cscan_pool.space_of[chunk]].relid;
	portion.chunk = chunk - space->first_chunk;
	portion.number = chunk;
	portion.blocks = cscan_space_blocks(space, chunk);
	return portion;
}
