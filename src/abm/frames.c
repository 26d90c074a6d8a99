/*-------------------------------------------------------------------------
 *
 * frames.c
 *		The frames that a slot holds: shared buffers, pinned or remembered.
 *
 * Each slot of the pool has its frames here, in the ABM's own memory: the
 * buffers, and the resource owner that they are pinned under.  So after an
 * error all of a chunk's pins go at once.  loader.c fills them.
 *
 * Blocks that were in memory before are left as they were found.  Blocks that
 * the ABM read and nobody wants are unpinned with a usage count of 0, unless
 * another process has used them.  So they are evicted before other blocks.
 * When their slot is given up they become the very next frames to be reused.
 *
 *		make_room			for the first blocks of the slot's chunk
 *		unpin, repin		the blocks may go, or must stay again
 *		trim				let go of the frames of some columns
 *		release				forget all of them
 *		let_rest, rest		unpin them without the pool's knowledge
 *		intact, waited_for, holds	what is in them, and who waits for one
 *
 * Invariant: a slot has an owner if and only if its frames are pinned.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "utils/memutils.h"
#include "utils/resowner.h"

#include "abm/abm.h"
#include "abm/frames.h"

/* Buffer headers that are fetched from memory ahead of a look at them. */
#define LOOK_AHEAD		16

static CScanFrames *frames;
static MemoryContext context;

void
cscan_frames_init(MemoryContext memory)
{
	context = memory;
	frames = MemoryContextAllocZero(context, sizeof(CScanFrames) * cscan_pool.state->limits.max_slots);
}

CScanFrames *
cscan_frames_of(int slot)
{
	return &frames[slot];
}

/* Make room for the chunk's first nbuffers blocks.  New places are empty. */
void
cscan_frames_make_room(CScanFrames *f, int nbuffers)
{
	if (f->room < nbuffers)
	{
		MemoryContext old = MemoryContextSwitchTo(context);

		f->blocks = f->blocks ? repalloc(f->blocks, sizeof(BlockNumber) * nbuffers) :
			palloc(sizeof(BlockNumber) * nbuffers);
		f->buffers = f->buffers ? repalloc(f->buffers, sizeof(Buffer) * nbuffers) :
			palloc(sizeof(Buffer) * nbuffers);
		f->states = f->states ? repalloc(f->states, nbuffers) : palloc(nbuffers);
		f->room = nbuffers;
		MemoryContextSwitchTo(old);
	}
	for (int i = f->nbuffers; i < nbuffers; i++)
	{
		f->buffers[i] = InvalidBuffer;
		f->states[i] = CSCAN_FRAME_EMPTY;
	}
	f->nbuffers = Max(f->nbuffers, nbuffers);
}

/* This also drops pins that are left after a failure. */
void
cscan_frames_delete_owner(CScanFrames *f)
{
	ResourceOwnerRelease(f->owner, RESOURCE_RELEASE_BEFORE_LOCKS, false, false);
	ResourceOwnerDelete(f->owner);
	f->owner = NULL;
}

/*
 * Unpin a slot's frames, but remember where they are.  The blocks stay there
 * until another process takes the frames.  Frames that no scan wants go first.
 */
void
cscan_frames_unpin(int slot, bool wanted)
{
	CScanFrames *f = &frames[slot];

	Assert(!f->loading);
	f->resting = false;
	if (f->owner == NULL)
		return;
	CurrentResourceOwner = f->owner;
	for (int i = 0; i < f->nbuffers; i++)
	{
		if (f->states[i] == CSCAN_FRAME_EMPTY)
			continue;
		if (f->states[i] == CSCAN_FRAME_READ && !wanted)
			cscan_release_unwanted(f->buffers[i]);
		else
			ReleaseBuffer(f->buffers[i]);
	}
	CurrentResourceOwner = AuxProcessResourceOwner;
	cscan_frames_delete_owner(f);
}

/*
 * Pin a slot's frames again.  Returns false if a block is gone; then the
 * caller must release the slot.
 */
bool
cscan_frames_repin(int slot)
{
	CScanFrames *f = &frames[slot];
	int			i;

	f->resting = false;
	if (f->owner != NULL || f->nbuffers == 0)
		return f->owner != NULL;
	f->owner = ResourceOwnerCreate(AuxProcessResourceOwner, "cscan chunk");
	CurrentResourceOwner = f->owner;
	for (i = 0; i < f->nbuffers; i++)
	{
		if (f->states[i] != CSCAN_FRAME_EMPTY &&
			!ReadRecentBuffer(f->locator, MAIN_FORKNUM, f->blocks[i], f->buffers[i]))
			break;
	}
	if (i < f->nbuffers)
	{
		while (i-- > 0)
		{
			if (f->states[i] != CSCAN_FRAME_EMPTY)
				ReleaseBuffer(f->buffers[i]);
		}
		CurrentResourceOwner = AuxProcessResourceOwner;
		cscan_frames_delete_owner(f);
		return false;
	}
	CurrentResourceOwner = AuxProcessResourceOwner;
	return true;
}

/*
 * Forget a slot's frames.  If their room is wanted, make them the next to be
 * reused.  The last block goes first, since the free list hands out its newest
 * entry first.  After a failed load all pins just go.
 */
void
cscan_frames_release(int slot, bool for_room, bool failed)
{
	CScanFrames *f = &frames[slot];

	if (!failed)
	{
		cscan_frames_unpin(slot, false);
		for (int i = f->nbuffers; for_room && i-- > 0;)
		{
			if (f->states[i] == CSCAN_FRAME_READ)
				cscan_buffer_is_next(f->buffers[i], f->locator, f->blocks[i]);
		}
	}
	else if (f->owner != NULL)
		cscan_frames_delete_owner(f);
	f->resting = false;
	f->nbuffers = 0;
}

/* A slot has lost columns: let go of their frames, which are the next to be reused. */
void
cscan_frames_trim(const CScanAction *act)
{
	CScanFrames *f = &frames[act->slot];
	CScanRun	run = {0, 0, 0};

	Assert(!f->loading);
	CurrentResourceOwner = f->owner;
	while (cscan_action_next_run(act, &run))
	{
		for (int i = run.place; i < (int) (run.place + (run.end - run.first)) && i < f->nbuffers; i++)
		{
			if (f->states[i] == CSCAN_FRAME_READ)
			{
				if (f->owner)
					cscan_release_unwanted(f->buffers[i]);
				cscan_buffer_is_next(f->buffers[i], f->locator, f->blocks[i]);
			}
			else if (f->states[i] == CSCAN_FRAME_FOUND && f->owner)
				ReleaseBuffer(f->buffers[i]);
			f->states[i] = CSCAN_FRAME_EMPTY;
			f->buffers[i] = InvalidBuffer;
		}
	}
	CurrentResourceOwner = AuxProcessResourceOwner;
}

/* Unpin a slot's frames, unless they are being loaded; the pool takes them for pinned. */
void
cscan_frames_let_rest(int slot)
{
	if (frames[slot].owner == NULL || frames[slot].loading)
		return;
	cscan_frames_unpin(slot, true);
	frames[slot].resting = true;
}

bool
cscan_frames_rest(int slot)
{
	return frames[slot].resting;
}

/* Are an unpinned slot's blocks still there, as far as a few show? */
bool
cscan_frames_intact(int slot)
{
	CScanFrames *f = &frames[slot];
	int			step = Max(1, f->nbuffers / 8);
	int			next = 0;

	for (int i = 0; i < f->nbuffers; i++)
	{
		if (i < next || f->states[i] == CSCAN_FRAME_EMPTY)
			continue;
		if (!cscan_buffer_has(f->buffers[i], f->locator, f->blocks[i]))
			return false;
		next = i + step;
	}
	return true;
}

/* Does a process wait for the last other pin on one of the slot's buffers? */
bool
cscan_frames_waited_for(int slot)
{
	CScanFrames *f = &frames[slot];

	for (int i = 0; i < f->nbuffers && f->owner != NULL; i++)
	{
		/* The headers are all over memory. */
		if (i + LOOK_AHEAD < f->nbuffers && f->states[i + LOOK_AHEAD] != CSCAN_FRAME_EMPTY)
			__builtin_prefetch(GetBufferDescriptor(f->buffers[i + LOOK_AHEAD] - 1));
		if (f->states[i] != CSCAN_FRAME_EMPTY &&
			(cscan_buffer_state(GetBufferDescriptor(f->buffers[i] - 1)) & BM_PIN_COUNT_WAITER))
			return true;
	}
	return false;
}

bool
cscan_frames_holds(int slot, Buffer buffer)
{
	CScanFrames *f = &frames[slot];

	for (int i = 0; i < f->nbuffers && f->owner != NULL; i++)
	{
		if (f->buffers[i] == buffer)
			return true;
	}
	return false;
}
