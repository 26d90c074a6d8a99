/*-------------------------------------------------------------------------
 *
 * twin.h
 *		The naive twin: the same pool in its plainest form.
 *
 * The twin is written from the description of what a pool does.  It shares no
 * text and no structure with the core, so that it cannot share a bug with it.
 *
 * It keeps one boolean for each thing that is so or not: whether a scan wants a
 * chunk, wants a block, whether a slot has a block.  There are no bitmaps, no
 * lists, no queues and no tallies.  What is asked for is counted by a loop when it
 * is asked for.  Two things are kept for speed alone.  One is the space and the
 * slot of each chunk.  The other is the sums of a scan's wants: a chunk that leaves
 * is subtracted, and after anything else, or to be shown, they are counted anew.
 *
 *		events.c	what happens to the pool, and the table of machine.h
 *		look.c		questions
 *		rules.c		the policies
 *		decide.c	the next step of the manager
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWIN_H
#define TWIN_H

#include "machine.h"

#define TWIN_NDEVICES	16
#define TWIN_MEMORY		32		/* starts that demand remembers */

typedef struct TwinSpace
{
	bool		taken;
	uint32_t	ncolumns;		/* if it has columns: a scan wants the same ones
								 * of each chunk */
	uint32_t	begin[MACHINE_MAX_COLUMNS + 1];	/* first block of each; the end */
	int			access;
	uint32_t	base;			/* its first number */
	uint32_t	count;			/* its numbers */
	uint32_t	device;
	uint32_t	size;			/* blocks of a chunk */
	uint32_t	grain;			/* blocks of a piece */
	uint32_t	known;			/* blocks that scans have seen */
	uint32_t	next;			/* where its loads go on, */
	uint64_t	when;			/* and the number of the last one */
	uint64_t	shaft;			/* spaces in one shaft share elevator's order: */
	uint32_t	lift;			/* where it goes on, the same in all of them, */
	uint64_t	lift_when;		/* and when it last went */
} TwinSpace;

/* What a scan has announced of one space. */
typedef struct TwinShare
{
	bool		member;
	bool		by_block;		/* only some blocks, not whole chunks */
	uint32_t	nranges;		/* ranges that these came from */
	uint32_t	nblocks;		/* entries of: */
	bool	   *asked;			/* is this block wanted? */
} TwinShare;

typedef struct TwinScan
{
	bool		taken;
	bool		started;
	int			policy;
	bool		waiting;
	bool		blocked;
	bool		stalled;
	bool		warm;
	bool		got_own;		/* its last chunk was loaded for it */
	int			reads;			/* a slot */
	uint32_t	position;
	uint32_t	next;			/* where loads for it go on */
	uint64_t	since;
	uint64_t	columns;		/* a set, by bits */
	uint64_t	special;		/* those of these that not all scans want; all if
								 * there are no such */

	bool		summed;			/* the following are right */
	uint32_t	nwanted;
	uint32_t	nloadable;
	uint64_t	needed;
} TwinScan;

typedef struct TwinHelper
{
	bool		taken;
	bool		waiting;
	int			scan;
	int			reads;
} TwinHelper;

typedef struct TwinSlot
{
	bool		taken;
	uint32_t	chunk;
	bool	   *here;			/* blocks of the chunk that can be read */
	bool	   *due;			/* those, and those that are being loaded */
	bool		had_some;		/* when its last load began */
	bool		in_flight;
	bool		held;
	bool		failed;
	bool		cheap;
	uint32_t	loading;		/* blocks of its last load */
	uint32_t	length;			/* blocks that the chunk had then */
	int			meant_for;		/* a scan */
	uint64_t	stamp;
	uint64_t	number;			/* of its last load */
} TwinSlot;

/* What there is for a scan at the moment. */
typedef struct TwinSight
{
	uint32_t	using;
	uint32_t	ready;
	uint32_t	available;
	uint32_t	in_vain;		/* of these, in flight, but not with what it wants */
	uint32_t	helpers;
	bool		starved;
	bool		lacks;			/* something is left to be loaded */
} TwinSight;

typedef struct Twin
{
	MachineLimits limits;
	uint32_t	budget;
	uint32_t	room;
	uint32_t	next_number;	/* for the next space */
	uint64_t	nloads;
	int			made_room_for;	/* a scan */
	bool		let_go;			/* slots were let go of, and nothing happened since */
	double		block_time;
	uint64_t	pace;
	double		device_time[TWIN_NDEVICES];
	uint64_t	nlifts;
	uint64_t	nshafts;
	uint64_t	nstarts;

	TwinSpace  *space;
	TwinScan   *scan;
	TwinShare  *share;			/* of scan i in space j: i * spaces + j */
	TwinSlot   *slot;
	TwinHelper *helper;
	int		   *space_of;		/* of each chunk, or none */
	int		   *slot_of;		/* likewise */
	bool	   *wants;			/* chunk i by scan j: i * scans + j */
	bool	   *cached;			/* chunks */
	bool	   *memory[TWIN_MEMORY];	/* chunks that were wanted by a scan that
										 * started */
	TwinSight  *sight;			/* of each scan, during a decision */
} Twin;

/* ------------------------------------------------------------------
 * look.c
 * ------------------------------------------------------------------ */

extern TwinShare *twin_share(const Twin *t, int scan, int space);
extern bool twin_active(const Twin *t, int scan);
extern int	twin_running(const Twin *t);
extern bool twin_wants(const Twin *t, int scan, uint32_t chunk);
extern bool twin_granted(const Twin *t, uint32_t chunk);

/* Block b of a chunk: does the scan want it? */
extern bool twin_asks(const Twin *t, int scan, uint32_t chunk, uint32_t b);

/* The piece of a chunk that block b is in, and the block behind that piece. */
extern uint32_t twin_piece(const Twin *t, uint32_t chunk, uint32_t b, uint32_t *end);

/* Blocks of a chunk, as far as its space is known; and what the scan wants of it. */
extern uint32_t twin_length(const Twin *t, uint32_t chunk);
extern uint32_t twin_cost(const Twin *t, int scan, uint32_t chunk);

/* Blocks of these columns of a chunk; of one without columns all. */
extern uint32_t twin_columns_cost(const Twin *t, int space, uint64_t columns);

/* Blocks that a load for the scan has, as it begins. */
extern uint32_t twin_load_size(const Twin *t, int scan);

/* Have two scans a column in common? */
extern bool twin_overlap(const Twin *t, int a, int b);

/* The sums of a scan's wants. */
extern const TwinScan *twin_sum(Twin *t, int scan);
extern TwinSight twin_look(Twin *t, int scan);

/* Can the scan read the slot?  Must the chunk be loaded before it can read it? */
extern bool twin_usable(const Twin *t, int scan, int slot);
extern bool twin_missing(const Twin *t, int scan, uint32_t chunk);

/* The nth chunk that one comes to who begins at a place and goes round. */
extern uint32_t twin_round(const Twin *t, uint32_t place, uint32_t n);

/* The first that the scan wants, in that order. */
extern uint32_t twin_next(const Twin *t, int scan, uint32_t place);

/* Active scans that want a chunk; processes of active scans that read a slot. */
extern int	twin_interest(const Twin *t, uint32_t chunk);
extern uint32_t twin_readers(const Twin *t, int slot);

/* Blocks in a slot, and in all slots, or all that are held. */
extern uint32_t twin_blocks(const Twin *t, int slot);
extern uint32_t twin_all_blocks(const Twin *t, bool held);

/* ------------------------------------------------------------------
 * rules.c: what each policy does.  Those that choose for the manager find
 * t->sight filled in.
 * ------------------------------------------------------------------ */

/* Where does a scan begin? */
extern uint32_t twin_begin(const Twin *t, int scan);

/* The slot that it reads next. */
extern int	twin_pick(const Twin *t, int scan);

/* The scan of a policy that something is to be loaded for. */
extern int	twin_nominee(Twin *t, int policy, uint64_t now);
extern int	twin_poorest(const Twin *t, int policy, bool has_nothing);

/* What is loaded for a scan. */
extern uint32_t twin_target(const Twin *t, int scan);

/* May a slot not go: because of a policy's scans, because of this scan? */
extern bool twin_guards(const Twin *t, int policy, int slot);
extern bool twin_clings(const Twin *t, int scan, int slot);

/* The columns of a chunk that are loaded for a scan, of a space that has columns. */
extern uint64_t twin_brings(const Twin *t, int scan, uint32_t chunk);

/*
 * The lower it is, the sooner a slot goes: first count over blocks, then rest.  If
 * no slot that may go has columns, blocks do not matter.
 */
typedef struct TwinWorth
{
	uint64_t	count;
	uint64_t	blocks;
	uint64_t	rest;
} TwinWorth;

extern TwinWorth twin_worth(const Twin *t, int policy, int slot, bool by_block);
extern bool twin_worth_less(TwinWorth a, TwinWorth b);
extern bool twin_worth_same(TwinWorth a, TwinWorth b);

/* ------------------------------------------------------------------
 * decide.c, events.c
 * ------------------------------------------------------------------ */

extern MachineAction twin_decide(Twin *t, uint64_t now);
extern MachineAction twin_shrink(Twin *t);
extern void twin_empty(Twin *t, int slot);

/* A scan that a load which brings what only others want is meant for. */
extern int	twin_meant_for(const Twin *t, int scan, uint32_t chunk);

#endif							/* TWIN_H */
