/*-------------------------------------------------------------------------
 *
 * room.h
 *		Room for the values of one batch, shared by all who read batches in turn.
 *
 * A query may aggregate thousands of tables, one batch after the other.  Each of
 * them would need the same arrays.  So each takes block after block from shared
 * ones: the n-th that one takes is the n-th that another takes.
 *
 * Invariant: what is in a block lasts as long as nobody else has its turn.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CSCAN_EXEC_ROOM_H
#define CSCAN_EXEC_ROOM_H

#include "compat.h"

#include "nodes/pg_list.h"
#include "utils/palloc.h"

typedef struct CScanRooms
{
	MemoryContext context;
	List	   *small;			/* CSCAN_ROOM_SMALL bytes each */
	List	   *large;			/* CSCAN_ROOM_LARGE bytes each */
	const void *user;			/* whose turn it was last */
} CScanRooms;

/* What one reader has taken. */
typedef struct CScanRoom
{
	CScanRooms *rooms;
	int			nsmall;
	int			nlarge;
} CScanRoom;

/* Integers or Datums of a batch; and of the entries of a dictionary. */
#define CSCAN_ROOM_SMALL	((Size) 1024 * sizeof(int64))
#define CSCAN_ROOM_LARGE	((Size) 65536 * sizeof(int64))

/* Make blocks; the context keeps them. */
extern CScanRooms *cscan_rooms_create(MemoryContext context);

/* Take a block with at least so many bytes, up to CSCAN_ROOM_LARGE. */
extern void *cscan_room_take(CScanRoom *room, Size bytes);

#endif							/* CSCAN_EXEC_ROOM_H */
