/*-------------------------------------------------------------------------
 *
 * machine.h
 *		A pool behind a table of functions, so that two implementations of it
 *		can be driven side by side.
 *
 * machine.c puts the core behind it (core_machine).  The naive twin in twin/
 * knows nothing but this header (naive_machine).  See test_twin.c.
 *
 *-------------------------------------------------------------------------
 */
#ifndef MACHINE_H
#define MACHINE_H

#include <stdbool.h>
#include <stdint.h>

#define MACHINE_NONE		(-1)
#define MACHINE_NO_CHUNK	UINT32_MAX

/* Ranges that a scan's interest can have. */
#define MACHINE_MAX_RANGES	1024

/* Columns that a space can have. */
#define MACHINE_MAX_COLUMNS	33

/* The policies that both have. */
enum
{
	MACHINE_NORMAL,
	MACHINE_ATTACH,
	MACHINE_ELEVATOR,
	MACHINE_RELEVANCE,
	MACHINE_DEMAND,
	MACHINE_NPOLICIES
};

/* May a space's chunks be loaded? */
enum
{
	MACHINE_UNKNOWN,
	MACHINE_GRANTED,
	MACHINE_REFUSED
};

/* Kinds of actions. */
enum
{
	MACHINE_NOTHING,
	MACHINE_EVICT,
	MACHINE_UNPIN,
	MACHINE_LOAD,
	MACHINE_TRIM
};

typedef struct MachineLimits
{
	int			scans;
	int			spaces;
	int			slots;
	int			helpers;
	uint32_t	chunks;
} MachineLimits;

/* Blocks first..end - 1. */
typedef struct MachineRange
{
	uint32_t	first;
	uint32_t	end;
} MachineRange;

/* What was decided. */
typedef struct MachineAction
{
	int			kind;
	int			slot;
	int			space;
	int			scan;
	uint32_t	chunk;
	uint32_t	nblocks;
	uint64_t	pieces;			/* a hash of the set of pieces */
	uint64_t	runs;			/* a hash of the runs of blocks */
} MachineAction;

/* A scan.  What is counted of it is zero until it has started. */
typedef struct MachineScan
{
	bool		used;
	bool		started;
	bool		waiting;
	bool		blocked;
	bool		stalled;
	bool		warm;
	bool		starved;
	bool		has_absent;
	bool		loaded_for;
	int			in_use;
	uint32_t	nspaces;
	uint32_t	nwanted;
	uint32_t	nloadable;
	uint32_t	position;
	uint32_t	cursor;
	uint32_t	available;
	uint32_t	ready;
	uint32_t	using;
	uint64_t	needed;
	uint64_t	since;
} MachineScan;

typedef struct MachineSpace
{
	bool		used;
	int			access;
	int			nscans;
	uint32_t	first_chunk;
	uint32_t	nchunks;
	uint32_t	extent;
	uint32_t	cursor;
	uint64_t	last_load;
} MachineSpace;

typedef struct MachineSlot
{
	int			space;
	uint32_t	chunk;
	uint32_t	nblocks;
	uint32_t	loading;
	bool		in_flight;
	bool		held;
	bool		failed;
	bool		cheap;
	int			loaded_for;
	uint32_t	users;
	int			interested;
	uint64_t	stamp;
	uint64_t	order;
} MachineSlot;

/* What a scan has to do with one chunk. */
typedef struct MachineWant
{
	bool		wants;
	bool		absent;			/* if it wants it, */
	uint32_t	cost;			/* likewise */
} MachineWant;

/* The pool as a whole. */
typedef struct MachineTotals
{
	uint32_t	used;
	uint32_t	total;
	int			running;
	uint32_t	next_chunk;
	uint64_t	nloads;
	uint64_t	pace;
} MachineTotals;

#define MACHINE_HASH(hash, n)	((hash) = (hash) * UINT64_C(1099511628211) + (n) + 1)

typedef struct Machine
{
	const char *name;
	void	   *(*create) (const MachineLimits *limits);
	void		(*destroy) (void *m);
	void		(*set_limits) (void *m, uint32_t budget, uint32_t room);
	void		(*set_block_time) (void *m, double block_time);

	int			(*add_space) (void *m, uint32_t chunk_blocks, uint32_t nchunks, uint32_t device);
	bool		(*extend_space) (void *m, int space, uint32_t nchunks);
	void		(*set_columnar) (void *m, int space, const uint32_t *begin, uint32_t ncolumns);
	void		(*remove_space) (void *m, int space);
	void		(*set_access) (void *m, int space, int access);
	void		(*set_cursor) (void *m, int space, uint32_t chunk);
	void		(*set_cached) (void *m, uint32_t chunk, bool cached);

	int			(*add_scan) (void *m, int policy, uint64_t now);
	void		(*announce) (void *m, int scan, int space, uint32_t nblocks,
							 const MachineRange *ranges, uint32_t nranges);
	void		(*set_columns) (void *m, int scan, uint64_t columns, uint64_t common);
	void		(*start) (void *m, int scan, uint64_t now);
	void		(*rest) (void *m, int scan, uint64_t now);
	void		(*remove_scan) (void *m, int scan);
	void		(*unwant) (void *m, int scan, uint32_t chunk);
	void		(*unwant_space) (void *m, int scan, int space);
	void		(*set_stalled) (void *m, int scan, bool stalled);
	void		(*set_warm) (void *m, int scan, bool warm);
	void		(*set_position) (void *m, int scan, uint32_t chunk);

	int			(*join) (void *m, int scan);
	void		(*quit) (void *m, int helper);
	int			(*choose) (void *m, int scan, int helper, uint64_t now);
	bool		(*peek) (void *m, int scan, uint32_t *chunk);
	bool		(*take) (void *m, int scan, int helper, uint64_t now, uint32_t *chunk);

	MachineAction (*decide) (void *m, uint64_t now);
	bool		(*wants_load) (void *m, uint64_t now);	/* may be NULL */
	void		(*loaded) (void *m, int slot, uint64_t now, uint64_t duration, bool failed,
						   bool cheap);
	void		(*arrived) (void *m, int slot, uint64_t columns);
	void		(*drop) (void *m, int slot);
	int			(*useless) (void *m);
	int			(*release) (void *m);
	int			(*hold) (void *m);
	MachineAction (*shrink) (void *m);
	void		(*rebuild) (void *m);	/* all that is counted; may be NULL */

	MachineScan (*scan) (void *m, int scan);
	MachineSpace (*space) (void *m, int space);
	MachineSlot (*slot) (void *m, int slot);
	MachineWant (*want) (void *m, int scan, uint32_t chunk);
	MachineTotals (*totals) (void *m);
	double		(*load_time) (void *m, int space, uint32_t nblocks);
} Machine;

extern const Machine core_machine;
extern const Machine naive_machine;

#endif							/* MACHINE_H */
