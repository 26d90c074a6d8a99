/*-------------------------------------------------------------------------
 *
 * neighbours.c
 *		What other processes wait for, as far as the process array tells.
 *
 * Who waits for a buffer to be pinned by nobody else?  VACUUM FREEZE and a standby's replay wait for that without bound, and no
 * signal of PostgreSQL's reaches the ABM outside of a transaction.  So the ABM
 * looks, every so often, while it holds pins.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "access/xlog.h"
#include "storage/proc.h"

#include "abm/abm.h"

#define WAIT_CLASS_MASK		0xFF000000U

/*
 * Does this process wait for something that takes no CPU of this machine and is
 * not the storage: its client, a lock, a point in time, another process?
 */
bool
cscan_neighbours_is_idle(int proc)
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

/* Does any process wait for a buffer? */
bool
cscan_neighbours_pin_waiter(void)
{
	for (uint32 i = 0; i < ProcGlobal->allProcCount; i++)
	{
		volatile PGPROC *proc = &ProcGlobal->allProcs[i];

		if ((proc->wait_event_info & WAIT_CLASS_MASK) == CSCAN_WAIT_CLASS_BUFFER)
			return true;
	}
	return false;
}

/* The buffer that replay waits for, as a Buffer; InvalidBuffer if none. */
int
cscan_neighbours_replay_buffer(void)
{
	if (!RecoveryInProgress())
		return InvalidBuffer;
	return GetStartupBufferPinWaitBufId() + 1;
}
