/*-------------------------------------------------------------------------
 *
 * neighbours.c
 *		What other processes wait for, as far as the process array tells, and
 *		which scans do not go on.
 *
 * VACUUM FREEZE and a standby's replay wait without bound for a buffer to be
 * pinned by nobody else.  No signal of PostgreSQL's reaches the ABM outside of
 * a transaction.  So the ABM looks every so often while it holds pins.
 *
 * A scan that takes no page for a while, although it could, is stalled and
 * does not count in any decision.  Its wait event tells whether it waits for
 * its client or only for a CPU.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include <unistd.h>

#include "access/xlog.h"
#include "storage/proc.h"

#include "abm/abm.h"

#define WAIT_CLASS_MASK		0xFF000000U

/*
 * Does this process wait for something that takes no CPU of this machine and
 * is not the storage: its client, a lock, a point in time, another process?
 */
static bool
is_idle_process(int proc)
{
	volatile PGPROC *p = &ProcGlobal->allProcs[proc];

	switch (p->wait_event_info & WAIT_CLASS_MASK)
	{
		case PG_WAIT_LOCK:
		case PG_WAIT_CLIENT:
		case PG_WAIT_EXTENSION:
		case PG_WAIT_IPC:
		case PG_WAIT_TIMEOUT:
			return true;
		default:
			return false;
	}
}

/* Does the scan's process wait for something else, without helpers? */
static bool
is_idle(int scan)
{
	return cscan_pool.scans[scan].nhelpers == 0 &&
		is_idle_process(cscan_scans[scan].proc);
}

/* Mark scans that took no page for a while as stalled ("now" in us). */
void
cscan_neighbours_find_stalled(uint64 now)
{
	static int	ncpus = 0;
	uint64		patience = CSCAN_STALLED_AFTER;
	int			reading = 0;

	if (ncpus == 0)
		ncpus = Max(1, (int) sysconf(_SC_NPROCESSORS_ONLN));

	cscan_lock();
	for (int i = 0; i < cscan_max_scans; i++)
		reading += cscan_pool.scans[i].used &&
			!cscan_pool.scans[i].blocked && !cscan_pool.scans[i].stalled && !is_idle(i);

	/* If many compete for the CPUs it takes longer to be sure. */
	if (reading > ncpus)
		patience = patience * reading / ncpus;

	for (int i = 0; i < cscan_max_scans; i++)
	{
		CScanScan  *s = &cscan_pool.scans[i];
		CScanSharedScan *scan = &cscan_scans[i];
		uint32		progress = pg_atomic_read_u32(&scan->progress);

		if (!s->used || s->stalled || scan->announcing)
			continue;
		if (s->blocked || progress != scan->last_progress)
		{
			scan->last_progress = progress;
			scan->last_change = now;
		}
		else if (now > scan->last_change + (is_idle(i) ? CSCAN_STALLED_AFTER : patience))
			cscan_pool_set_stalled(&cscan_pool, i, true);
	}
	cscan_unlock();
}

/*
 * Does any process wait for a lock on a table or on an object such as a
 * database, or for a buffer's pin?  Asking each of the ABM's many locks and
 * buffers takes long.
 */
CScanWaiters
cscan_neighbours_waiters(void)
{
	CScanWaiters waiters = {0};

	for (uint32 i = 0; i < ProcGlobal->allProcCount; i++)
	{
		uint32		event = ((volatile PGPROC *) &ProcGlobal->allProcs[i])->wait_event_info;

		waiters.relation |= event == (PG_WAIT_LOCK | LOCKTAG_RELATION);
		waiters.object |= event == (PG_WAIT_LOCK | LOCKTAG_OBJECT);
		waiters.pin |= (event & WAIT_CLASS_MASK) == CSCAN_WAIT_CLASS_BUFFER;
	}
	return waiters;
}

/*
 * The buffer that replay waits for and the ABM has pinned; InvalidBuffer if
 * there is none.
 */
Buffer
cscan_neighbours_replay_buffer(void)
{
	if (!RecoveryInProgress() || !HoldingBufferPinThatDelaysRecovery())
		return InvalidBuffer;
	return GetStartupBufferPinWaitBufId() + 1;
}
