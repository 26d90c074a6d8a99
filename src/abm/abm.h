/*-------------------------------------------------------------------------
 *
 * abm.h
 *		The parts of the Active Buffer Manager (ABM), within its own process.
 *
 *		abm.c			the ABM's life: start, errors, end
 *		rounds.c		its main loop
 *		share.c			which share of shared buffers the pool may pin
 *		holding.c		the tables that are held: when their locks come and go
 *		loads.c			loads in flight: start, finish, which scans to wake
 *		frames.c		the frames that a slot holds: pin, unpin, let go
 *		loader.c		loads: start one, go on with it, finish it
 *		page_cache.c	asks and advises the kernel about a table's blocks
 *		recent.c		where the loads of a table begin again
 *		locks.c			the heavyweight locks on tables and databases
 *		neighbours.c	what other processes wait for; which scans are stalled
 *		trace_file.c	a record of all decisions
 *
 * Calls go downwards only.  policy/ decides, abm/ acts.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CSCAN_ABM_H
#define CSCAN_ABM_H

#include "shared/shared.h"

/* What takes longer (us) is done in parts, with a look at loads in between. */
#define CSCAN_PART_TIME		2000

/* abm.c */
extern PGDLLEXPORT void cscan_abm_main(Datum arg);

/* rounds.c */
extern void cscan_rounds_run(uint32 wait_event);

/* share.c */
extern void cscan_share_init(void);
extern void cscan_share_look(uint64 now);
extern bool cscan_share_is_exceeded(void);

/* holding.c */
extern bool cscan_holding_look_after(void);
extern void cscan_holding_yield_relations(void);
extern void cscan_holding_yield_databases(void);
extern void cscan_holding_wake_all(void);
extern bool cscan_holding_anything(void);
extern void cscan_holding_reset(void);

/* loads.c */
extern void cscan_loads_init(void);
extern void cscan_loads_run_scheduler(void);
extern bool cscan_loads_in_flight(void);
extern bool cscan_loads_step(void);
extern bool cscan_loads_finish(void);
extern void cscan_loads_go_on(void);
extern bool cscan_loads_follow_wants(void);
extern bool cscan_loads_shrink(void);
extern uint64 cscan_loads_lost(void);
extern void cscan_loads_drop_slot(int slot);
extern void cscan_loads_leave_slot(int slot);
extern void cscan_loads_tidy(bool now);
extern void cscan_loads_abandon(void);

/* frames.c */
extern void cscan_frames_trim(const CScanAction *act);
extern void cscan_frames_unpin(int slot, bool wanted);
extern bool cscan_frames_repin(int slot);
extern void cscan_frames_let_rest(int slot);
extern bool cscan_frames_rest(int slot);
extern bool cscan_frames_intact(int slot);
extern bool cscan_frames_waited_for(int slot);
extern bool cscan_frames_holds(int slot, Buffer buffer);

/* loader.c */

/* What came of a load. */
typedef struct CScanLoaded
{
	uint32		nblocks;		/* all of its blocks */
	uint32		blocks_read;	/* of these, those read from storage */
	bool		copied;			/* most of them were copied from the page
								 * cache */
	bool		lost;			/* what the slot had before is gone */
} CScanLoaded;

extern void cscan_loader_init(void);
extern void cscan_loader_start(const CScanAction *act, const CScanSharedTable *table,
							   int steps_ahead, bool is_fast);
extern bool cscan_loader_step(int slot);
extern bool cscan_loader_finish(int slot, CScanLoaded *loaded);
extern void cscan_loader_give_up(int slot);
extern uint64 cscan_loader_arrived(int slot);
extern void cscan_loader_release(int slot, bool for_room);
extern void cscan_loader_abandon(int slot);
extern void cscan_loader_tidy(void);
extern void cscan_loader_clean_up_error(void);

/* page_cache.c */
extern void cscan_page_cache_advise(RelFileLocator locator, BlockNumber first, int nblocks);
extern bool cscan_page_cache_is_blind(void);
extern bool cscan_page_cache_has(RelFileLocator locator, BlockNumber block);
extern bool cscan_page_cache_has_most(RelFileLocator locator, const CScanRun *runs, int nruns,
									  uint32 nblocks, BlockNumber chunk_end);
extern void cscan_page_cache_drop(RelFileLocator locator, BlockNumber first, int nblocks);
extern void cscan_page_cache_forget(void);

/* recent.c */
extern void cscan_recent_remember(RelFileLocator locator, BlockNumber end);
extern void cscan_recent_recall(RelFileLocator locator, int table, const CScanSpace *space);
extern void cscan_recent_look(void);

/* rest.c */
extern void cscan_rest_init(void);
extern void cscan_rest_begin(int table, uint64 now);
extern void cscan_rest_note_load(int table, uint64 now);
extern bool cscan_rest_has_vacuum(int table);
extern void cscan_rest_look(uint64 now);

/* locks.c */
extern void cscan_locks_init(void);
extern bool cscan_locks_take(int table, Oid dbid, Oid relid);
extern bool cscan_locks_are_all_taken(void);
extern void cscan_locks_release(int table);
extern bool cscan_locks_relation_waited_for(int table);
extern bool cscan_locks_database_waited_for(int table);
extern bool cscan_locks_relation_vacuumed(int table);

/* neighbours.c */
extern void cscan_neighbours_find_stalled(uint64 now);
typedef struct CScanWaiters
{
	bool		relation;		/* a process waits for a relation's lock */
	bool		object;			/* ... for another object's, maybe a
								 * database's */
	bool		pin;			/* a process waits for a buffer's pin */
} CScanWaiters;

extern CScanWaiters cscan_neighbours_waiters(void);
extern Buffer cscan_neighbours_replay_buffer(void);

#endif							/* CSCAN_ABM_H */
