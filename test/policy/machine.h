/*-------------------------------------------------------------------------
 *
 * machine.h
 *		A pool behind a table of functions, so that two implementations of it
 *		can be driven side by side.
 *
 * machine.c is compiled twice: with the core's own headers (core_machine), and
 * with those of the naive twin in twin/ (naive_machine), which is linked so that
 * none of its other names is seen.  See test_twin.c.
 *
 *-------------------------------------------------------------------------
 */
#ifndef MACHINE_H
#define MACHINE_H

#include <stdbool.h>
#include <stdint.h>

/* Blocks first..end - 1, as CScanRange. */
typedef struct MachineRange
{
	uint32_t	first;
	uint32_t	end;
} MachineRange;

/* What was decided, as CScanAction. */
typedef struct MachineAction
{
	int			kind;
	int			slot;
	int			table;
	int			scan;
	uint32_t	chunk;
	uint32_t	nblocks;
	uint64_t	pieces;			/* a hash of them */
} MachineAction;

/* Kinds of actions that the test has to know. */
#define MACHINE_NOTHING		0
#define MACHINE_LOAD		3

typedef struct MachineScan
{
	int			table;
	bool		waiting;
	bool		blocked;
	bool		stalled;
	bool		starved;
	int			in_use;
	uint32_t	needed;
	uint32_t	position;
	uint32_t	available;
	uint32_t	ready;
	uint32_t	using;
	uint64_t	since;
} MachineScan;

typedef struct MachineSlot
{
	int			table;
	uint32_t	chunk;
	uint32_t	nblocks;
	bool		in_flight;
	bool		held;
	bool		failed;
	bool		cheap;
	int			trigger;
	uint32_t	users;
	int			interested;
	uint64_t	stamp;
	uint64_t	order;
} MachineSlot;

typedef struct Machine
{
	const char *name;
	void	   *(*create) (int max_scans, int max_slots, int max_helpers);
	void		(*destroy) (void *m);
	void		(*set_limits) (void *m, uint32_t budget, uint32_t room);
	int			(*add_table) (void *m, uint32_t chunk_blocks);
	void		(*remove_table) (void *m, int table);
	void		(*set_loadable) (void *m, int table, bool loadable);
	void		(*set_cursor) (void *m, int table, uint32_t chunk);
	int			(*add_scan) (void *m, int table, int policy, uint32_t nblocks,
							 const MachineRange *ranges, uint32_t nranges, uint64_t now);
	void		(*unwant) (void *m, int scan, uint32_t chunk);
	void		(*start) (void *m, int scan);
	void		(*again) (void *m, int scan, uint32_t nblocks, const MachineRange *ranges,
						  uint32_t nranges, uint64_t now);
	void		(*remove_scan) (void *m, int scan);
	void		(*set_stalled) (void *m, int scan, bool stalled);
	void		(*set_warm) (void *m, int scan, bool warm);
	int			(*join) (void *m, int scan);
	void		(*part) (void *m, int helper);
	int			(*choose) (void *m, int scan, int helper, uint64_t now);
	bool		(*peek) (void *m, int scan, uint32_t *chunk);
	bool		(*take) (void *m, int scan, int helper, uint64_t now, uint32_t *chunk);
	MachineAction (*decide) (void *m, uint64_t now);
	bool		(*wants_load) (void *m, uint64_t now);	/* may be NULL */
	void		(*loaded) (void *m, int slot, uint64_t now, uint64_t duration, bool failed,
						   bool cheap);
	void		(*drop) (void *m, int slot);
	int			(*useless) (void *m);
	int			(*release) (void *m);
	int			(*hold) (void *m);
	void		(*rebuild) (void *m);	/* all that is counted; may be NULL */
	MachineScan (*scan) (void *m, int scan);
	MachineSlot (*slot) (void *m, int slot);
	bool		(*absent) (void *m, int scan, uint32_t chunk);
	uint32_t	(*used) (void *m);
} Machine;

extern const Machine core_machine;
extern const Machine naive_machine;

#endif							/* MACHINE_H */
