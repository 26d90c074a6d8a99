/*-------------------------------------------------------------------------
 *
 * abm.c
 *		The Active Buffer Manager: one background worker for the cluster.
 *
 * This file is its life: registration, start, errors, end.  rounds.c is what
 * it does in between.
 *
 * The ABM is connected, to no database, so that it takes part in procsignal
 * barriers and invalidation.  It never runs a transaction: an abort would
 * release its locks.  It exits with code 1 to be started again.
 *
 * Invariant: however the ABM exits, it leaves no pin, no I/O in flight and no
 * lock behind, and the shared state says so.  Pins go before locks.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "postmaster/bgworker.h"
#include "postmaster/interrupt.h"
#include "storage/ipc.h"
#include "storage/lock.h"
#include "storage/pmsignal.h"
#include "storage/procsignal.h"
#include "utils/resowner.h"

#include "abm/abm.h"
#include "abm/trace_file.h"
#include "fault.h"

static uint32 wait_idle;
static uint64 began;			/* when this ABM said hello (us) */
static shmem_startup_hook_type prev_shmem_startup_hook;

/*
 * The end, whatever its reason, has two steps, since an error ends an exit
 * callback but not the next one.  The first step drops the pins.  Nothing is
 * read any more.
 */
static void
abandon_loads(int code, Datum arg)
{
	(void) code;
	(void) arg;
	LWLockReleaseAll();

	/* It may be that of an interrupted load. */
	CurrentResourceOwner = AuxProcessResourceOwner;
	cscan_loads_abandon();
}

/* The second step gives up the locks, and clears the ABM's shared state. */
static void
say_goodbye(int code, Datum arg)
{
	(void) code;
	(void) arg;
	LWLockReleaseAll();
	LockReleaseAll(DEFAULT_LOCKMETHOD, true);
	cscan_trace_file_end();

	cscan_lock();
	cscan_shared->abm_latch = cscan_trace_ring->reader = NULL;
	if (cscan_now() > began + CSCAN_ABM_RETURNS)
		cscan_shared->abm_expected = cscan_now() + CSCAN_ABM_RETURNS;
	cscan_shared->abm_pid = 0;
	cscan_shared->abm_idle = false;
	cscan_holding_reset();
	cscan_unlock();
	ConditionVariableBroadcast(&cscan_shared->released);
}

static void
say_hello(void)
{
	cscan_lock();
	cscan_shared_set_budget();
	cscan_shared->abm_latch = cscan_trace_ring->reader = MyLatch;
	cscan_shared->abm_pid = MyProcPid;
	began = cscan_now();
	if (cscan_shared->abm_expected == 0)
		cscan_shared->abm_expected = began + CSCAN_ABM_RETURNS;
	cscan_shared_abm_lives(began);
	cscan_shared->abm_idle = false;
	cscan_holding_reset();
	cscan_unlock();
}

/*
 * Handle an error outside of a load: exit with nothing held.  The postmaster
 * starts the ABM again.
 */
static void
recover(void)
{
	HOLD_INTERRUPTS();
	EmitErrorReport();
	cscan_loader_clean_up_error();
	FlushErrorState();
	proc_exit(1);
}

void
cscan_abm_main(Datum arg)
{
	sigjmp_buf	local_sigjmp_buf;

	(void) arg;
	cscan_lock_at_once = true;
	pqsignal(SIGHUP, SignalHandlerForConfigReload);
	pqsignal(SIGTERM, die);
	pqsignal(SIGINT, CSCAN_SIG_IGN);

	/*
	 * SIGHUP was ignored until here, so a reload since the fork has been
	 * missed.  Read the configuration again in any case.
	 */
	ConfigReloadPending = true;
	BackgroundWorkerUnblockSignals();
	BackgroundWorkerInitializeConnection(NULL, NULL, 0);

	CreateAuxProcessResourceOwner();
	CurrentResourceOwner = AuxProcessResourceOwner;
	cscan_loads_init();
	cscan_rest_init();
	cscan_loader_init();
	cscan_locks_init();
	cscan_share_init();
	before_shmem_exit(say_goodbye, (Datum) 0);
	before_shmem_exit(abandon_loads, (Datum) 0);

	if (sigsetjmp(local_sigjmp_buf, 1) != 0)
	{
		error_context_stack = NULL;
		recover();
	}
	PG_exception_stack = &local_sigjmp_buf;

	say_hello();
	cscan_trace_file_begin_or_end();
	CSCAN_FAULT(CSCAN_FAULT_ABM_START);
	cscan_rounds_run(wait_idle);
}

static void
abm_startup(void)
{
	if (prev_shmem_startup_hook)
		prev_shmem_startup_hook();
	wait_idle = cscan_wait_event("CScanAbmMain");
}

void
cscan_abm_init(void)
{
	BackgroundWorker worker;

	prev_shmem_startup_hook = shmem_startup_hook;
	shmem_startup_hook = abm_startup;

	cscan_shared_describe_worker(&worker, "cscan abm", "cscan_abm_main", BgWorkerStart_ConsistentState, 1);
	RegisterBackgroundWorker(&worker);
}
