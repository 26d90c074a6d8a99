/*-------------------------------------------------------------------------
 *
 * lock.c
 *		The scheduler's lock: an LWLock with a short queue.
 *
 * The lock is held for some microseconds, so hardly any process finds it
 * taken.  But if hundreds of scans share few CPUs, now and then a process
 * loses its CPU while it holds the lock.  Then all others queue behind it, and
 * that queue stays.  An LWLock wakes only the first in the queue.  The others
 * sleep until that one has got a CPU, behind all processes that want one.
 *
 * So the queue never holds more than a few.  A process that finds the lock
 * taken and the queue full sleeps for a moment, wakes up by itself and tries
 * again.  After many tries it queues all the same, so that no process waits
 * without bound.  The ABM, which all wait for, always queues.  So does a process
 * that is to be cancelled: its nap ends with the signal.
 *
 * Nothing here raises an error, and no process sleeps with the lock.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "storage/ipc.h"

#include "shared/shared.h"

/* Processes that queue, besides the ABM. */
#define MAX_QUEUE		4

/*
 * Other processes sleep for so long (us), each time twice as long up to a
 * limit, and at most so often.  Hundreds that wake up every millisecond would
 * leave little of the CPUs to the process that has the lock.
 */
#define MIN_NAP			1000
#define MAX_NAP			32000
#define MAX_NAPS		100

bool		cscan_lock_at_once;

static uint32 wait_for_lock;
static instr_time locked_at;

static void
queue_for_lock(void)
{
	LWLockAcquire(cscan_shared->lock, LW_EXCLUSIVE);
}

/* The lock was not free. */
static void
lock_slowly(void)
{
	long		nap = MIN_NAP;

	if (cscan_lock_at_once)
	{
		queue_for_lock();
		return;
	}
	for (int naps = 0;; naps++)
	{
		/* The count stays right: an LWLock holds off interrupts. */
		if (pg_atomic_fetch_add_u32(&cscan_shared->lock_queue, 1) < MAX_QUEUE ||
			naps >= MAX_NAPS || InterruptPending)
		{
			queue_for_lock();
			pg_atomic_fetch_sub_u32(&cscan_shared->lock_queue, 1);
			return;
		}
		pg_atomic_fetch_sub_u32(&cscan_shared->lock_queue, 1);

		pgstat_report_wait_start(wait_for_lock);
		pg_usleep(nap);
		pgstat_report_wait_end();
		nap = Min(nap * 2, MAX_NAP);
		if (LWLockConditionalAcquire(cscan_shared->lock, LW_EXCLUSIVE))
			return;
	}
}

void
cscan_lock(void)
{
	bool		waited = !LWLockConditionalAcquire(cscan_shared->lock, LW_EXCLUSIVE);

	if (waited)
		lock_slowly();
	INSTR_TIME_SET_CURRENT(locked_at);
	cscan_shared->lock_stats.locks++;
	cscan_shared->lock_stats.lock_waits += waited;
}

void
cscan_unlock(void)
{
	CScanLockStats *stats = &cscan_shared->lock_stats;
	instr_time	now;
	double		held;

	INSTR_TIME_SET_CURRENT(now);
	INSTR_TIME_SUBTRACT(now, locked_at);
	held = INSTR_TIME_GET_MILLISEC(now);
	stats->lock_time += held;
	stats->max_lock_time = Max(stats->max_lock_time, held);
	LWLockRelease(cscan_shared->lock);
}

static shmem_startup_hook_type prev_shmem_startup_hook;

static void
lock_startup(void)
{
	if (prev_shmem_startup_hook)
		prev_shmem_startup_hook();
	wait_for_lock = cscan_wait_event("CScanLock");
}

void
cscan_lock_init(void)
{
	prev_shmem_startup_hook = shmem_startup_hook;
	shmem_startup_hook = lock_startup;
}
