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

/* A slot is free again, and whoever reads it goes on without; if it was taken. */
extern void cscan_schedule_drop(CScanPool *pool, int slot);

#endif							/* CSCAN_SCHEDULE_H */
