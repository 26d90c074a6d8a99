/*-------------------------------------------------------------------------
 *
 * schedule.h
 *		What the ABM's decisions share with other events.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CSCAN_SCHEDULE_H
#define CSCAN_SCHEDULE_H

#include "pool.h"

/* Free a slot, if it is taken.  Processes that read it go on without it. */
extern void cscan_schedule_drop(CScanPool *pool, int slot);

#endif							/* CSCAN_SCHEDULE_H */
