/*-------------------------------------------------------------------------
 *
 * frames.h
 *		A slot's frames, as the loader fills them; see frames.c.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CSCAN_FRAMES_H
#define CSCAN_FRAMES_H

#include "compat.h"

#include "utils/resowner.h"

/* How a block came into its frame. */
typedef enum CScanFrameState
{
	CSCAN_FRAME_EMPTY,			/* it has not been loaded */
	CSCAN_FRAME_FOUND,			/* it was in memory before */
	CSCAN_FRAME_READ			/* the ABM has read it */
} CScanFrameState;

typedef struct CScanFrames
{
	ResourceOwner owner;		/* NULL: holds nothing */
	RelFileLocator locator;
	bool		permanent;
	bool		loading;		/* a load is in flight */
	bool		resting;		/* not pinned, although the pool says so; see
								 * rest.c */
	int			nbuffers;		/* used places in the arrays, one for each
								 * block of the chunk */
	int			room;			/* size of the arrays */
	BlockNumber *blocks;		/* in places that are not empty */
	Buffer	   *buffers;
	uint8	   *states;			/* of CScanFrameState */
} CScanFrames;

extern void cscan_frames_init(MemoryContext memory);
extern CScanFrames *cscan_frames_of(int slot);

/* Make room for the chunk's first nbuffers blocks. */
extern void cscan_frames_make_room(CScanFrames *frames, int nbuffers);
extern void cscan_frames_delete_owner(CScanFrames *frames);

/* Forget a slot's frames; "for_room": they are the next to be reused. */
extern void cscan_frames_release(int slot, bool for_room, bool failed);

#endif							/* CSCAN_FRAMES_H */
