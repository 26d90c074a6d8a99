/*-------------------------------------------------------------------------
 *
 * loader.c
 *		Frames: reads the blocks of a chunk into shared buffers and keeps them
 *		pinned until they are let go.  Never decides anything.
 *
 * Each slot of the pool has its frames here, in the ABM's own memory: the
 * pinned buffers and the resource owner that they are pinned under.  So after
 * an error all of a chunk's pins go at once.
 *
 * Starting a load hands its reads to the kernel as far as the version can:
 *
 *		15, 16	advice to prefetch the chunk; finishing reads it block by block
 *		17		advice and vectored reads; finishing reads them
 *		18, 19	asynchronous reads; finishing waits for them
 *
 * A load that goes on where the last one ended needs no advice.  The kernel
 * has read ahead by itself, which costs less, since it puts these reads into
 * large pages.
 *
 * Every read that was started is waited for, whatever happens.  With io_uring
 * a read that nobody waits for keeps its buffers pinned.
 *
 * Blocks that were in memory before are left as they were found.  Blocks that
 * the ABM read and nobody wants are unpinned with a usage count of 0, unless
 * another process has used them.  So they are evicted before other blocks.
 * When their slot is given up they become the very next frames to be reused.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "common/hashfn.h"
#include "storage/condition_variable.h"
#include "utils/memutils.h"
#include "utils/resowner.h"

#include "abm/abm.h"
#include "fault.h"
#include "policy/keep.h"

/* Blocks that are read before the ABM looks for other work. */
#define BLOCKS_AT_ONCE	(128 * 1024 / BLCKSZ)

#if CSCAN_HAVE_VECTORED_IO
typedef struct CScanRead
{
	ReadBuffersOperation op;
	bool		started;
} CScanRead;
#endif

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
	int			nbuffers;		/* used places in the arrays, one for each
								 * block of the chunk */
	int			room;			/* size of the arrays */
	BlockNumber *blocks;		/* in places that are not empty */
	Buffer	   *buffers;
	uint8	   *states;			/* of CScanFrameState */

	/* The load in flight, if any */
	CScanAction load;			/* what is loaded; nblocks = 0: none is */
	bool		failed;			/* a part of it failed */
	BufferAccessStrategy strategy;
	uint32		blocks_read;	/* read from storage so far */
	bool		looked;			/* the page cache has been asked */
	bool		there;			/* if looked: it had most of the load */
	bool		keep;			/* if looked: it is to keep the load */
#if CSCAN_HAVE_VECTORED_IO
	CScanRead  *reads;
	int			nreads;
	int			nfinished;
#else
	CScanRun	run;			/* the run being read */
	BlockNumber next;			/* the next block of the run */
#endif
} CScanFrames;

static CScanFrames *frames;
static MemoryContext loader_context;

/* What the page cache is to keep: a guess that ends with the ABM. */
static CScanKeep page_cache;

/* The block behind the load that was started last. */
static RelFileLocator next_locator;
static BlockNumber next_block;

void
cscan_loader_init(void)
{
	loader_context = AllocSetContextCreate(TopMemoryContext, "cscan loader",
										   ALLOCSET_DEFAULT_SIZES);
	frames = MemoryContextAllocZero(loader_context,
									sizeof(CScanFrames) * cscan_pool.state->limits.max_slots);
	cscan_keep_begin(&page_cache);
}

/* Clean up after an error outside of a transaction; see bgwriter.c. */
void
cscan_loader_clean_up_error(void)
{
	LWLockReleaseAll();
	ConditionVariableCancelSleep();
	pgstat_report_wait_end();
	cscan_abort_io();
	UnlockBuffers();
	CurrentResourceOwner = AuxProcessResourceOwner;
}

/*
 * Log an error while loading.  The scan raises it when it reads the page in
 * its own session.
 */
static void
report_and_clean_up(MemoryContext old_context)
{
	MemoryContextSwitchTo(old_context);
	EmitErrorReport();
	FlushErrorState();
	cscan_loader_clean_up_error();
}

/* Make room for the chunk's first nbuffers blocks.  New places are empty. */
static void
make_room(CScanFrames *f, int nbuffers)
{
	if (f->room < nbuffers)
	{
		MemoryContext old = MemoryContextSwitchTo(loader_context);

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

#if CSCAN_HAVE_VECTORED_IO

static void
start_reads(CScanFrames *f, bool sequential)
{
	SMgrRelation smgr = cscan_smgropen(f->locator);
	CScanRun	run = {0, 0, 0};
#if CSCAN_HAVE_AIO
	int			limit = Min(io_combine_limit, io_max_combine_limit);
#else
	int			limit = io_combine_limit;
#endif

	f->reads = MemoryContextAlloc(loader_context, sizeof(CScanRead) * f->load.nblocks);
	f->nreads = f->nfinished = 0;
	while (cscan_action_next_run(&f->load, &run))
	{
		for (BlockNumber block = run.first; block < run.end;)
		{
			CScanRead  *read = &f->reads[f->nreads];
			int			place = run.place + (block - run.first);
			int			n = 0;
			int			ours = 0;

			/* If the table has grown, part of the piece may be there. */
			while (n < limit && block + n < run.end && f->states[place + n] == CSCAN_FRAME_EMPTY)
				n++;
			if (n == 0)
			{
				block++;
				continue;
			}

			memset(read, 0, sizeof(CScanRead));
			read->op.smgr = smgr;
#if CSCAN_HAVE_AIO
			read->op.persistence = f->permanent ? RELPERSISTENCE_PERMANENT : RELPERSISTENCE_UNLOGGED;
#else
			read->op.smgr_persistence = f->permanent ? RELPERSISTENCE_PERMANENT : RELPERSISTENCE_UNLOGGED;
#endif
			read->op.forknum = MAIN_FORKNUM;
			read->op.strategy = f->strategy;
			if (StartReadBuffers(&read->op, &f->buffers[place], block, &n,
								 sequential ? 0 : READ_BUFFERS_ISSUE_ADVICE))
			{
				read->started = true;
				f->nreads++;
#if CSCAN_HAVE_AIO
				ours = n;
#else
				ours = read->op.io_buffers_len;
#endif
			}
			for (int i = 0; i < n; i++)
			{
				f->blocks[place + i] = block + i;
				f->states[place + i] = i < ours ? CSCAN_FRAME_READ : CSCAN_FRAME_FOUND;
			}
			f->blocks_read += ours;
			block += n;
		}
	}
}

/* Finish the next read. */
static void
finish_read(CScanFrames *f)
{
	CScanRead  *read = &f->reads[f->nfinished++];

	/* Do not finish it again if it fails now. */
	read->started = false;
	WaitReadBuffers(&read->op);
	CSCAN_FAULT(CSCAN_FAULT_ABM_READ);
}

/* Reads that were started must be finished, come what may. */
static bool
reads_left(const CScanFrames *f)
{
	return f->nfinished < f->nreads;
}

static void
forget_reads(CScanFrames *f)
{
	if (f->reads)
		pfree(f->reads);
	f->reads = NULL;
	f->nreads = 0;
	f->nfinished = 0;
}

#else							/* 15, 16 */

static void
start_reads(CScanFrames *f, bool sequential)
{
	CScanRun	run = {0, 0, 0};

	/*
	 * Advise on a whole run of blocks.  The storage manager of these versions
	 * advises only on single blocks, which become single small reads.  Blocks
	 * in shared buffers need no advice; the run's ends show whether it is
	 * there.
	 */
	while (!sequential && cscan_action_next_run(&f->load, &run))
	{
		if (!cscan_in_buffers(f->locator, run.first) ||
			!cscan_in_buffers(f->locator, run.end - 1))
			cscan_page_cache_advise(f->locator, run.first, run.end - run.first);
	}
	f->run = (CScanRun) {0, 0, 0};
	f->next = 0;
}

/* Is there another block?  After a failure the rest is of no use. */
static bool
reads_left(CScanFrames *f)
{
	if (f->failed)
		return false;
	if (f->next < f->run.end)
		return true;
	if (!cscan_action_next_run(&f->load, &f->run))
		return false;
	f->next = f->run.first;
	return true;
}

/* Read some blocks. */
static void
finish_read(CScanFrames *f)
{
	for (int i = 0; i < BLOCKS_AT_ONCE && reads_left(f); i++)
	{
		int64		before = pgBufferUsage.shared_blks_read;
		int			place = f->run.place + (f->next - f->run.first);

		/* If the table has grown, part of the piece may be there. */
		if (f->states[place] != CSCAN_FRAME_EMPTY)
		{
			f->next++;
			continue;
		}
		CSCAN_FAULT(CSCAN_FAULT_ABM_READ);
		f->buffers[place] = ReadBufferWithoutRelcache(f->locator, MAIN_FORKNUM, f->next,
													  RBM_NORMAL, f->strategy, f->permanent);
		f->blocks[place] = f->next;
		f->states[place] = CSCAN_FRAME_FOUND;
		if (pgBufferUsage.shared_blks_read != before)
		{
			f->states[place] = CSCAN_FRAME_READ;
			f->blocks_read++;
		}
		f->next++;
	}
}

static void
forget_reads(CScanFrames *f)
{
	(void) f;
}

#endif

#if CSCAN_HAVE_DROP_BEHIND

static uint64
chunk_name(const CScanFrames *f)
{
	uint64		table = hash_bytes_extended((const unsigned char *) &f->locator, sizeof(f->locator), 0);

	return hash_bytes_uint32_extended(f->load.place.first, table);
}

#endif

/*
 * With cscan.drop_behind the kernel need not keep what is now in shared
 * buffers.  It keeps a load that it had most of before, or has room for.  If
 * it had only a few pages of a load, lookups left them there, and these are
 * dropped, too.  If kept, they would stay as long as the chunk is loaded again
 * and again, since each load uses them, until such pages fill the page cache.
 */
static void
look_before_reads(CScanFrames *f)
{
#if CSCAN_HAVE_DROP_BEHIND
	if (cscan_drop_behind == CSCAN_DROP_BEHIND_OFF || cscan_io_is_direct())
		return;
	f->there = cscan_page_cache_has_most(f->locator, &f->load);
	f->keep = f->there;
	if (cscan_drop_behind == CSCAN_DROP_BEHIND_AUTO)
		f->keep = cscan_keep(&page_cache, chunk_name(f), f->load.nblocks, f->there);
	f->looked = true;
#else
	(void) f;
#endif
}

static void
drop_behind(CScanFrames *f)
{
#if CSCAN_HAVE_DROP_BEHIND
	CScanRun	run = {0, 0, 0};
	BlockNumber last = InvalidBlockNumber;

	if (!f->looked || f->failed)
		return;
	while (cscan_action_next_run(&f->load, &run))
	{
		BlockNumber first = run.first;

		for (BlockNumber block = first; block <= run.end; block++)
		{
			if (block < run.end && f->states[run.place + (block - run.first)] == CSCAN_FRAME_READ)
			{
				last = block;
				continue;
			}
			if (!f->keep && first < block)
				cscan_page_cache_drop(f->locator, first, block - first);
			first = block + 1;
		}
	}

	/* Only a chunk seen in the page cache can be seen to have gone. */
	if (f->keep && !f->there && 2 * f->blocks_read > f->load.nblocks && cscan_page_cache_has(f->locator, last))
		cscan_keep_remember(&page_cache, chunk_name(f), f->load.nblocks);
#else
	(void) f;
#endif
}

/* Begin a load that the pool decided; cscan_loader_finish() must follow. */
void
cscan_loader_start(const CScanAction *act, const CScanSharedTable *table)
{
	CScanFrames *f = &frames[act->slot];
	MemoryContext old_context = CurrentMemoryContext;
	CScanRun	run = {0, 0, 0};
	bool		sequential;

	Assert(f->load.nblocks == 0);

	/* Is it one run, right behind the last load? */
	(void) cscan_action_next_run(act, &run);
	sequential = run.first == next_block && run.end - run.first == act->nblocks &&
		RelFileLocatorEquals(table->locator, next_locator);
	do
		next_block = run.end;
	while (cscan_action_next_run(act, &run));
	next_locator = table->locator;

	/* Blocks that the slot held before it was unpinned are loaded again. */
	if (f->owner == NULL)
	{
		f->owner = ResourceOwnerCreate(AuxProcessResourceOwner, "cscan chunk");
		f->nbuffers = 0;
	}
	f->locator = table->locator;
	f->permanent = table->permanent;
	make_room(f, act->place.end - act->place.first);
	f->load = *act;
	f->blocks_read = 0;
	f->failed = false;
	f->looked = false;

	/*
	 * With a strategy, blocks that are found keep their usage count.  A new
	 * strategy for each load takes no frames again: its ring is of no use to
	 * the ABM.
	 */
	MemoryContextSwitchTo(loader_context);
	f->strategy = GetAccessStrategy(BAS_BULKREAD);
	MemoryContextSwitchTo(old_context);

	CurrentResourceOwner = f->owner;
	PG_TRY();
	{
		look_before_reads(f);
		start_reads(f, sequential);
	}
	PG_CATCH();
	{
		report_and_clean_up(old_context);
		f->failed = true;
	}
	PG_END_TRY();
	CurrentResourceOwner = AuxProcessResourceOwner;
}

/* This also drops pins that are left after a failure. */
static void
delete_owner(CScanFrames *f)
{
	ResourceOwnerRelease(f->owner, RESOURCE_RELEASE_BEFORE_LOCKS, false, false);
	ResourceOwnerDelete(f->owner);
	f->owner = NULL;
}

/*
 * Read, or wait for, about 128 kB of a load.  Returns false if nothing is
 * left; then cscan_loader_finish() will not wait.
 */
bool
cscan_loader_step(int slot)
{
	CScanFrames *f = &frames[slot];
	MemoryContext old_context = CurrentMemoryContext;

	if (f->load.nblocks == 0 || !reads_left(f))
		return false;

	CurrentResourceOwner = f->owner;
	PG_TRY();
	{
		finish_read(f);
	}
	PG_CATCH();
	{
		report_and_clean_up(old_context);
		f->failed = true;
	}
	PG_END_TRY();
	CurrentResourceOwner = AuxProcessResourceOwner;
	CHECK_FOR_INTERRUPTS();
	return true;
}

/*
 * Wait for a load.  Returns false if it failed: then all of the slot's pins
 * are gone.  Sets *blocks_read to the number of blocks read from storage.
 */
bool
cscan_loader_finish(int slot, uint32 *blocks_read)
{
	CScanFrames *f = &frames[slot];
	bool		failed;

	*blocks_read = 0;
	if (f->load.nblocks == 0)
		return true;
	while (cscan_loader_step(slot))
		;
	forget_reads(f);
	drop_behind(f);
	FreeAccessStrategy(f->strategy);
	f->strategy = NULL;

	failed = f->failed;
	if (!failed)
		*blocks_read = f->blocks_read;
	f->load.nblocks = 0;
	if (failed)
		cscan_loader_release(slot);
	return !failed;
}

/*
 * Unpin a slot's frames, but remember where they are.  The blocks stay there
 * until another process takes the frames.  Frames that no scan wants go first.
 */
void
cscan_loader_unpin(int slot, bool wanted)
{
	CScanFrames *f = &frames[slot];

	Assert(f->load.nblocks == 0);
	if (f->owner == NULL)
		return;
	CurrentResourceOwner = f->owner;
	for (int i = 0; i < f->nbuffers && !f->failed; i++)
	{
		if (f->states[i] == CSCAN_FRAME_EMPTY)
			continue;
		if (f->states[i] == CSCAN_FRAME_READ && !wanted)
			cscan_release_unwanted(f->buffers[i]);
		else
			ReleaseBuffer(f->buffers[i]);
	}
	CurrentResourceOwner = AuxProcessResourceOwner;
	delete_owner(f);
}

/*
 * Pin a slot's frames again.  Returns false if a block is gone; then the
 * caller must release the slot.
 */
bool
cscan_loader_repin(int slot)
{
	CScanFrames *f = &frames[slot];
	int			i;

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
		delete_owner(f);
		return false;
	}
	CurrentResourceOwner = AuxProcessResourceOwner;
	return true;
}

/*
 * Forget a slot's frames, and make them the next to be reused.  The last block
 * goes first, since the free list hands out its newest entry first.
 */
void
cscan_loader_release(int slot)
{
	CScanFrames *f = &frames[slot];
	uint32		ignored;

	/* If a load in flight fails, it has released the slot. */
	if (f->load.nblocks != 0 && !cscan_loader_finish(slot, &ignored))
		return;

	if (!f->failed)
	{
		cscan_loader_unpin(slot, false);
		for (int i = f->nbuffers; i-- > 0;)
		{
			if (f->states[i] == CSCAN_FRAME_READ)
				cscan_buffer_is_next(f->buffers[i], f->locator, f->blocks[i]);
		}
	}
	else if (f->owner != NULL)
		delete_owner(f);
	f->nbuffers = 0;
	f->failed = false;
}

/*
 * Drop a slot's pins without reading anything, as the ABM ends.  Reads in
 * flight are waited for, whatever their result.
 */
void
cscan_loader_abandon(int slot)
{
	CScanFrames *f = &frames[slot];

#if CSCAN_HAVE_AIO
	for (int i = 0; i < f->nreads; i++)
	{
		if (f->reads[i].started && pgaio_wref_valid(&f->reads[i].op.io_wref))
			pgaio_wref_wait(&f->reads[i].op.io_wref);
	}
#endif
	f->load.nblocks = 0;
	if (f->owner != NULL)
		delete_owner(f);
}

/* Are an unpinned slot's blocks still there, as far as a few show? */
bool
cscan_loader_intact(int slot)
{
	CScanFrames *f = &frames[slot];
	int			step = Max(1, f->nbuffers / 8);

	for (int i = 0; i < f->nbuffers; i += step)
	{
		if (f->states[i] != CSCAN_FRAME_EMPTY &&
			!cscan_buffer_has(f->buffers[i], f->locator, f->blocks[i]))
			return false;
	}
	return true;
}

/* Does a process wait for the last other pin on one of the slot's buffers? */
bool
cscan_loader_waited_for(int slot)
{
	CScanFrames *f = &frames[slot];

	for (int i = 0; i < f->nbuffers && f->owner != NULL; i++)
	{
		if (f->states[i] != CSCAN_FRAME_EMPTY &&
			(cscan_buffer_state(GetBufferDescriptor(f->buffers[i] - 1)) & BM_PIN_COUNT_WAITER))
			return true;
	}
	return false;
}

bool
cscan_loader_holds(int slot, Buffer buffer)
{
	CScanFrames *f = &frames[slot];

	for (int i = 0; i < f->nbuffers && f->owner != NULL; i++)
	{
		if (f->buffers[i] == buffer)
			return true;
	}
	return false;
}

/* Close the files of tables that may be gone; nothing may be in flight. */
void
cscan_loader_tidy(void)
{
	cscan_page_cache_forget();
	cscan_smgr_forget_all();
}
