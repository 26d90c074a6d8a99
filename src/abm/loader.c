/*-------------------------------------------------------------------------
 *
 * loader.c
 *		Frames: reads the blocks of a chunk into shared buffers and keeps them
 *		pinned until they are let go.  Never decides anything.
 *
 * Each slot of the pool has its frames here, in the ABM's own memory: the
 * pinned buffers, and the resource owner that they are pinned under, so that
 * after an error all of a chunk's pins go at once.
 *
 * Starting a load hands its reads to the kernel as far as the version can:
 *
 *		15, 16	advice to prefetch the chunk; finishing reads it block by block
 *		17		advice and vectored reads; finishing reads them
 *		18, 19	asynchronous reads; finishing waits for them
 *
 * A load that goes on where the last one ended needs no advice: the kernel has
 * read ahead by itself, and at less cost, as it puts what it reads by itself
 * into large pages.
 *
 * Every read that was started is waited for, whatever happens: with io_uring
 * one that nobody waits for keeps its buffers pinned.
 *
 * Blocks that were in memory before are left as they were found.  Blocks that
 * the ABM read and nobody wants are unpinned with no usage to their name, so
 * that they go before anybody else's, unless somebody has used one for itself;
 * and when their slot is given up they become the very next frames to be reused.
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

/* So many blocks are read before the ABM looks up again. */
#define BLOCKS_AT_ONCE	(128 * 1024 / BLCKSZ)

#if CSCAN_HAVE_VECTORED_IO
typedef struct CScanRead
{
	ReadBuffersOperation op;
	bool		started;
} CScanRead;
#endif

/* How a block came into its frame */
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
	int			nbuffers;		/* places in use of the arrays, which have one
								 * for each block of the chunk */
	int			room;			/* size of the arrays */
	BlockNumber *blocks;		/* of places that are not empty */
	Buffer	   *buffers;
	uint8	   *states;			/* of CScanFrameState */

	/* The load in flight, if any */
	CScanAction load;			/* what is loaded; nblocks = 0: none is */
	bool		failed;			/* something of it went wrong */
	BufferAccessStrategy strategy;
	uint32		blocks_read;	/* read from storage so far */
	bool		looked;			/* has the page cache been asked for it? */
	bool		there;			/* then: was most of it there, */
	bool		keep;			/* and is it to stay, or to come, there? */
#if CSCAN_HAVE_VECTORED_IO
	CScanRead  *reads;
	int			nreads;
	int			nfinished;
#else
	CScanRun	run;			/* the run being read, and */
	BlockNumber next;			/* the next block of it */
#endif
} CScanFrames;

static CScanFrames *frames;
static MemoryContext loader_context;

/* What the page cache is to keep: a guess, which ends with this process. */
static CScanKeep page_cache;

/* What follows the load that was started last. */
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

/*
 * What error recovery outside of a transaction takes; see bgwriter.c.
 */
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
 * An error while loading is the scan's to raise, when it reads the page in
 * its own session; here it only goes to the log.
 */
static void
report_and_clean_up(MemoryContext old_context)
{
	MemoryContextSwitchTo(old_context);
	EmitErrorReport();
	FlushErrorState();
	cscan_loader_clean_up_error();
}

/* Have places for the chunk's first nbuffers blocks; new ones are empty. */
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

			/* What the table has grown into may be there in part. */
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

/* Finish one of them. */
static void
finish_read(CScanFrames *f)
{
	CScanRead  *read = &f->reads[f->nfinished++];

	/* Not again if this one fails. */
	read->started = false;
	WaitReadBuffers(&read->op);
	CSCAN_FAULT(CSCAN_FAULT_ABM_READ);
}

/* What was started must be finished, come what may. */
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
	 * Advice is given on a whole run of blocks, which the storage manager of
	 * these versions cannot: its advice on single blocks becomes single small
	 * reads.  What is in shared buffers needs none; a look at the ends will
	 * do.
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

/* Is there another block?  After a failure the rest of the chunk is of no use. */
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

/* Read some of them. */
static void
finish_read(CScanFrames *f)
{
	for (int i = 0; i < BLOCKS_AT_ONCE && reads_left(f); i++)
	{
		int64		before = pgBufferUsage.shared_blks_read;
		int			place = f->run.place + (f->next - f->run.first);

		/* What the table has grown into may be there in part. */
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
 * With cscan.drop_behind the kernel need not keep what is in shared buffers
 * now, unless it had most of it before, or has room for it.  A few pages are
 * what lookups have left there.  Those are in shared buffers now like the
 * others; were they kept, they would stay as long as the chunk is loaded again
 * and again, since that uses them, until such pages fill the page cache.
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

	/* Only what has come from the page cache, and is seen there, may go from it. */
	if (f->keep && !f->there && 2 * f->blocks_read > f->load.nblocks && cscan_page_cache_has(f->locator, last))
		cscan_keep_remember(&page_cache, chunk_name(f), f->load.nblocks);
#else
	(void) f;
#endif
}

/* Begin to load what the pool decided; cscan_loader_finish() must follow. */
void
cscan_loader_start(const CScanAction *act, const CScanSharedTable *table)
{
	CScanFrames *f = &frames[act->slot];
	MemoryContext old_context = CurrentMemoryContext;
	CScanRun	run = {0, 0, 0};
	bool		sequential;

	Assert(f->load.nblocks == 0);

	/* One run, right behind the last load? */
	(void) cscan_action_next_run(act, &run);
	sequential = run.first == next_block && run.end - run.first == act->nblocks &&
		RelFileLocatorEquals(table->locator, next_locator);
	do
		next_block = run.end;
	while (cscan_action_next_run(act, &run));
	next_locator = table->locator;

	/* What the slot held before it was unpinned is loaded again. */
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
	 * With a strategy, blocks that are found keep their usage count.  Its
	 * ring is of no use to us: a new one for each load takes no frames again.
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

/* What is still pinned under the owner, after a failure, goes with it. */
static void
delete_owner(CScanFrames *f)
{
	ResourceOwnerRelease(f->owner, RESOURCE_RELEASE_BEFORE_LOCKS, false, false);
	ResourceOwnerDelete(f->owner);
	f->owner = NULL;
}

/*
 * Do some of what is left of a load: read, or wait for, 128 kB or so.  Returns
 * false if nothing is left; then cscan_loader_finish() will not wait.
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
 * are gone.  *blocks_read is set to the number of blocks read from storage.
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
 * Unpin a slot's frames, but remember where they are: as long as nobody takes
 * them the blocks stay there.  Those that nobody wants go first.
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
 * Pin the frames of a slot again.  Returns false if a block is gone; then the
 * slot has to be released.
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
 * Forget a slot's frames, and make them the next to be reused; the last block
 * first, since the free list hands out what came to it last.
 */
void
cscan_loader_release(int slot)
{
	CScanFrames *f = &frames[slot];
	uint32		ignored;

	/* Still in flight?  If that fails it comes back here by itself. */
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
 * The process ends: drop the slot's pins without reading anything.  Reads that
 * are on their way are waited for, whatever comes of them.
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

/* Are the blocks of a slot that is not pinned still there, as far as a few show? */
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

/* Does somebody wait until a buffer of this slot is pinned by nobody else? */
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

/* Nothing is in flight: close the files of tables that may be gone. */
void
cscan_loader_tidy(void)
{
	cscan_page_cache_forget();
	cscan_smgr_forget_all();
}
