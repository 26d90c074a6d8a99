/*-------------------------------------------------------------------------
 *
 * room.c
 *		Room for the values of one batch (room.h).
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "columns/format.h"
#include "exec/room.h"
#include "utils/memutils.h"
#include "vector/vector.h"

StaticAssertDecl(CSCAN_ROOM_SMALL == CSCAN_BATCH * sizeof(int64), "a small block holds a batch");
StaticAssertDecl(CSCAN_ROOM_LARGE == CSCAN_MAX_ENTRIES * sizeof(int64), "a large block holds a dictionary's entries");

CScanRooms *
cscan_rooms_create(MemoryContext context)
{
	CScanRooms *rooms = MemoryContextAllocZero(context, sizeof(CScanRooms));

	rooms->context = context;
	return rooms;
}

static void *
take(CScanRooms *rooms, List **list, int number, Size bytes)
{
	if (number == list_length(*list))
	{
		MemoryContext old = MemoryContextSwitchTo(rooms->context);

		*list = lappend(*list, bytes == CSCAN_ROOM_SMALL ? palloc0(bytes) : palloc(bytes));
		MemoryContextSwitchTo(old);
	}
	return list_nth(*list, number);
}

void *
cscan_room_take(CScanRoom *room, Size bytes)
{
	CScanRooms *rooms = room->rooms;

	if (bytes > CSCAN_ROOM_LARGE)
		elog(ERROR, "a block of %zu bytes is too large", bytes);
	if (bytes <= CSCAN_ROOM_SMALL)
		return take(rooms, &rooms->small, room->nsmall++, CSCAN_ROOM_SMALL);
	return take(rooms, &rooms->large, room->nlarge++, CSCAN_ROOM_LARGE);
}
