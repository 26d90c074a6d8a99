/*-------------------------------------------------------------------------
 *
 * abm.h
 *		The Active Buffer Manager's parts, within its own process.
 *
 *		abm.c			the worker: start, main loop, end
 *		loader.c		frames: start a load, finish it, let go
 *		page_cache.c	what is said to the kernel of a table's blocks
 *		recent.c		where the loads of a table begin again
 *		tables.c		the heavyweight locks on tables and databases
 *		neighbours.c	what other processes wait for, and which scans are stalled
 *		trace.c			a record of all that is decided
 *
 * The scheduler decides (policy/), this room does.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CSCAN_ABM_H
#define CSCAN_ABM_H

#include "shared/shared.h"

/* loader.c */
extern void cscan_loader_init(void);
extern void cscan_loader_start(const CScanAction *act, const CScanSharedTable *table);
extern bool cscan_loader_step(int slot);
extern bool cscan_loader_finish(int slot, uint32 *blocks_read);
extern void cscan_loader_release(int slot);
extern void cscan_loader_unpin(int slot, bool wanted);
extern bool cscan_loader_repin(int slot);
extern bool cscan_loader_intact(int slot);
extern void cscan_loader_abandon(int slot);
extern bool cscan_loader_waited_for(int slot);
extern bool cscan_loader_holds(int slot, Buffer buffer);
extern void cscan_loader_tidy(void);
extern void cscan_loader_clean_up_error(void);

/* page_cache.c */
extern void cscan_page_cache_advise(RelFileLocator locator, BlockNumber first, int nblocks);
extern bool cscan_page_cache_has(RelFileLocator locator, BlockNumber block);
extern bool cscan_page_cache_has_most(RelFileLocator locator, const CScanAction *load);
extern void cscan_page_cache_drop(RelFileLocator locator, BlockNumber first, int nblocks);
extern void cscan_page_cache_forget(void);

/* recent.c */
extern void cscan_recent_remember(RelFileLocator locator, BlockNumber end);
extern uint32 cscan_recent_begin(RelFileLocator locator, uint32 chunk_blocks, BlockNumber nblocks);

/* tables.c */
extern void cscan_tables_init(void);
extern bool cscan_tables_lock(int table, Oid dbid, Oid relid);
extern void cscan_tables_unlock(int table);
extern bool cscan_tables_waited_for(int table);

/* neighbours.c */
extern void cscan_neighbours_find_stalled(uint64 now);
extern bool cscan_neighbours_pin_waiter(void);
extern int	cscan_neighbours_replay_buffer(void);

/* abm.c */
extern PGDLLEXPORT void cscan_abm_main(Datum arg);

#endif							/* CSCAN_ABM_H */
