/*-------------------------------------------------------------------------
 *
 * time_slice.c
 *		A process with a cooperative scan asks the kernel for long time slices.
 *
 * Scans that need not wait for storage use CPU without a pause.  Processes
 * that sleep often and briefly, to read a socket or write a file, queue behind
 * them.  At each wake-up such a process waits until a scan's time slice has
 * ended.  PostgreSQL 18's scans sleep while I/O workers read for them, so
 * nobody need wait for those.
 *
 * Linux (6.12 and later) first runs the process whose turn is to end first:
 * one that asks for short slices.  A process that asks for long ones gets as
 * much CPU in all, but seldom and at length, and any process that wakes goes
 * first.
 *
 * Invariant: a process without a registration has the slice that it had
 * before.  If the kernel cannot do it or does not allow it, nothing happens.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "shared/registry_internal.h"

#ifdef __linux__
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#if defined(SYS_sched_setattr) && defined(SYS_sched_getattr)

/*
 * struct sched_attr in its first version: later ones would set more.  The
 * kernel's header has it, but older ones conflict with the C library's.
 */
typedef struct CScanSchedAttr
{
	uint32		size;
	uint32		policy;
	uint64		flags;
	int32		nice;
	uint32		priority;
	uint64		runtime;		/* for SCHED_OTHER: the time slice (ns) */
	uint64		deadline;
	uint64		period;
} CScanSchedAttr;

static CScanSchedAttr before;
static bool lengthened = false;
static bool of_no_use = false;	/* the kernel knows no slices */

static bool
get_attributes(CScanSchedAttr *attr)
{
	return syscall(SYS_sched_getattr, 0, attr, sizeof(*attr), 0) == 0;
}

static bool
set_attributes(CScanSchedAttr *attr)
{
	attr->size = sizeof(*attr);
	return syscall(SYS_sched_setattr, 0, attr, 0) == 0;
}

void
cscan_time_slice_lengthen(void)
{
	CScanSchedAttr attr;
	uint64		slice = (uint64) cscan_time_slice * 1000000;	/* ns */

	if (lengthened || of_no_use || slice == 0 || !get_attributes(&before))
		return;
	if ((before.policy != SCHED_OTHER && before.policy != SCHED_BATCH) ||
		before.runtime >= slice)
		return;
	attr = before;
	attr.runtime = slice;
	lengthened = set_attributes(&attr);

	/* Older kernels accept it without effect. */
	if (!lengthened || !get_attributes(&attr) || attr.runtime != slice)
	{
		lengthened = false;
		of_no_use = true;
	}
}

void
cscan_time_slice_reset(void)
{
	if (lengthened)
		(void) set_attributes(&before);
	lengthened = false;
}

#else

void
cscan_time_slice_lengthen(void)
{
}

void
cscan_time_slice_reset(void)
{
}

#endif
