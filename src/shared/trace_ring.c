/*-------------------------------------------------------------------------
 *
 * trace_ring.c
 *		See trace_ring.h.
 *
 * Invariant: no process that calls the pool waits for the ABM.  If the ring is
 * full a record is counted as lost.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "shared/trace_ring.h"

CScanTraceRing *cscan_trace_ring;

void
cscan_trace_ring_record(const CScanPool *pool, const CScanTraceRecord *r)
{
	CScanTraceRing *ring = cscan_trace_ring;

	(void) pool;
	if (ring->lost > 0 || ring->head - ring->tail >= CSCAN_TRACE_RING)
	{
		ring->lost++;
		return;
	}
	ring->records[ring->head++ % CSCAN_TRACE_RING] = *r;
	if (ring->head - ring->tail == CSCAN_TRACE_RING / 2 && ring->reader != NULL)
		SetLatch(ring->reader);
}
