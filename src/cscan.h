/*-------------------------------------------------------------------------
 *
 * cscan.h
 *		What all directories share: settings, and one init function a module.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CSCAN_H
#define CSCAN_H

#include "postgres.h"

#include "policy/policy.h"

/* The kernel tells, and can be told, what its page cache keeps of a file. */
#if defined(__linux__) && defined(USE_POSIX_FADVISE)
#define CSCAN_HAVE_DROP_BEHIND	1
#else
#define CSCAN_HAVE_DROP_BEHIND	0
#endif

typedef enum CScanDropBehind
{
	CSCAN_DROP_BEHIND_OFF,
	CSCAN_DROP_BEHIND_ON,
	CSCAN_DROP_BEHIND_AUTO
} CScanDropBehind;

/* The value auto of cscan.page_cost and of cscan.buffer_share */
#define CSCAN_AUTO	(-1.0)

/* Settings; see cscan.c for their meaning. */
extern bool cscan_enabled;
extern bool cscan_columns_enabled;
extern bool cscan_vectors_enabled;
extern int	cscan_policy;		/* a CScanPolicyId */
extern int	cscan_chunk_size;	/* kB */
extern double cscan_buffer_share;	/* or CSCAN_AUTO */
extern int	cscan_drop_behind;	/* a CScanDropBehind */
extern int	cscan_min_table_size;	/* kB, or -1 */
extern int	cscan_max_scans;
extern int	cscan_max_tables;
extern double cscan_page_cost;	/* or CSCAN_AUTO */
extern int	cscan_columns_naptime;	/* s; 0: no visits */
extern double cscan_columns_share;
extern double cscan_columns_vacuum; /* share of blocks; 1: never */
extern int	cscan_time_slice;	/* ms; 0: as it is */
extern int	cscan_debug_take_ahead; /* chunks */
extern bool cscan_debug_small_scans;
extern bool cscan_debug_copies;
extern int	cscan_debug_rest_after; /* ms */
extern int	cscan_debug_few_groups;

/* Loaded by shared_preload_libraries: shared state and the ABM exist. */
extern bool cscan_preloaded;

/* Raises an error with a hint unless cscan was preloaded. */
extern void cscan_require_preload(void);

extern void cscan_shared_init(void);
extern void cscan_lock_init(void);
extern void cscan_tables_init(void);
extern void cscan_registry_init(void);
extern void cscan_abm_init(void);
extern void cscan_exec_init(void);
extern void cscan_exec_init_families(void);
extern void cscan_input_init(void);
extern void cscan_aggregate_init(void);
extern void cscan_planner_init(void);
extern void cscan_upkeep_init(void);

#endif							/* CSCAN_H */
