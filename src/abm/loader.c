/*-------------------------------------------------------------------------
 *
 * loader.c
 *		Loads: reads the blocks of a chunk into a slot's frames (frames.c), which
 *		stay pinned until they are let go.  Never decides anything.
 *
 * A load goes on step by step, 128 kB each.  The reads of the next steps are
 * handed to the kernel as far as the version can:
 *
 *		15, 16	advice to prefetch; a step reads block by block
 *		17		advice and vectored reads; a step reads one of them
 *		18, 19	advice and asynchronous reads; a step waits for one of them
 *
 * Only so many are handed over ahead, so that a load can be given up soon.
 *
 * Without advice the kernel reads ahead by itself, beyond the load's end and by
 * megabytes on some machines.  What it brings there has mostly gone from the page
 * cache when it is wanted.  But it costs less CPU time, since the kernel puts these
 * reads into large pages.  So only a load that goes on where the last one ended, on
 * fast storage, has no advice.
 *
 * Every read that was started is waited for, whatever happens.  With io_uring
 * a read that nobody waits for keeps its buffers pinned.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "common/hashfn.h"
#include "storage/condition_variable.h"
#include "utils/memutils.h"
#include "utils/resowner.h"

#include "abm/abm.h"
#include "abm/frames.h"
#include "fault.h"
#include "policy/keep.h"
#include "store/store.h"

/* Blocks that are read before the ABM looks for other work. */
#define BLOCKS_AT_ONCE	CSCAN_STEP_BLOCKS

#if CSCAN_HAVE_VECTORED_IO
typedef struct CScanRead
{
	ReadBuffersOperation op;
	bool		started;
	int			run;			/* number of the run that it is of */
} CScanRead;
#endif

/* A load has no more runs: pieces that do not touch, or an index's columns. */
#define MAX_RUNS		(CSCAN_MAX_PIECES / 2)

/* What a slot's load needs while it is in flight. */
typedef struct CScanLoad
{
	CScanFrames *held;			/* the slot's frames */
	CScanAction load;			/* what is loaded; nblocks = 0: none is */
	CScanRun   *runs;			/* its runs of blocks */
	int			nruns;
	uint64		generation;		/* of a row group's entry */
	bool		failed;			/* a part of it failed */
	bool		lost;			/* blocks that the slot had before are gone */
	bool		giving_up;		/* no more of it is read */
	BufferAccessStrategy strategy;
	uint32		blocks_read;	/* read from storage so far */
	bool		there;			/* the page cache had most of the load */
	bool		seen;			/* there, and nobody had to guess */
	bool		drop;			/* what it need not keep is to be dropped */
	bool		keep;			/* if so: it is to keep the load */
	bool		advised;		/* the kernel reads no more than this */
	CScanRun	run;			/* the run being read, or handed over */
	int			next_run;		/* number of the run that follows it */
	BlockNumber next;			/* the next block of the run */
	int			steps_ahead;	/* steps that are handed over ahead */
	BlockNumber next_advice;	/* the next block of its run without advice */
#if CSCAN_HAVE_VECTORED_IO
	CScanRead  *reads;			/* a ring of steps_ahead */
	uint32		nstarted;
	uint32		nfinished;
#else
	CScanRun	advice;			/* the run that advice is at */
	int			next_advice_run;	/* number of the run that follows it */
	uint32		nadvised;		/* blocks */
	uint32		nread;			/* blocks read, or found */
#endif
} CScanLoad;

static CScanLoad *loads;
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
	loads = MemoryContextAllocZero(loader_context, sizeof(CScanLoad) * cscan_pool.state->limits.max_slots);
	cscan_frames_init(loader_context);
	for (int i = 0; i < cscan_pool.state->limits.max_slots; i++)
		loads[i].held = cscan_frames_of(i);
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

/* Is there another block to read?  After a failure the rest is of no use. */
static bool
blocks_left(CScanLoad *f)
{
	if (f->failed)
		return false;
	if (f->next < f->run.end)
		return true;
	if (f->next_run >= f->nruns)
		return false;
	f->run = f->runs[f->next_run++];
	f->next = f->run.first;
#if CSCAN_HAVE_VECTORED_IO
	f->next_advice = f->next;
#endif
	return true;
}

/* The first run of which something is still to be asked for. */
static int
unasked_run(const CScanLoad *f)
{
	return f->next < f->run.end ? f->next_run - 1 : f->next_run;
}

/*
 * Advise on blocks of a run.  Blocks in shared buffers need no advice; the ends
 * show whether these are there.
 */
static void
advise(CScanLoad *f, BlockNumber first, int n)
{
	if (!cscan_in_buffers(f->held->locator, first) || !cscan_in_buffers(f->held->locator, first + n - 1))
		cscan_page_cache_advise(f->held->locator, first, n);
}

#if CSCAN_HAVE_VECTORED_IO

/* Start to read the next blocks that are not there yet. */
static void
start_read(CScanLoad *f)
{
	CScanRead  *read = &f->reads[f->nstarted % f->steps_ahead];
	int			place = f->run.place + (f->next - f->run.first);
	int			n = 0;
	int			ours = 0;
#if CSCAN_HAVE_AIO
	int			limit = Min(io_combine_limit, io_max_combine_limit);
#else
	int			limit = io_combine_limit;
#endif

	/* If the table has grown, part of the piece may be there. */
	while (n < limit && f->next + n < f->run.end && f->held->states[place + n] == CSCAN_FRAME_EMPTY)
		n++;
	if (n == 0)
	{
		f->next++;
		return;
	}

	if (f->advised && f->next >= f->next_advice && cscan_io_omits_advice())
	{
		advise(f, f->next, n);
		f->next_advice = f->next + n;
	}
	memset(read, 0, sizeof(CScanRead));
	read->op.smgr = cscan_smgropen(f->held->locator);
#if CSCAN_HAVE_AIO
	read->op.persistence = f->held->permanent ? RELPERSISTENCE_PERMANENT : RELPERSISTENCE_UNLOGGED;
#else
	read->op.smgr_persistence = f->held->permanent ? RELPERSISTENCE_PERMANENT : RELPERSISTENCE_UNLOGGED;
#endif
	read->op.forknum = MAIN_FORKNUM;
	read->op.strategy = f->strategy;
	if (StartReadBuffers(&read->op, &f->held->buffers[place], f->next, &n,
						 f->advised ? READ_BUFFERS_ISSUE_ADVICE : 0))
	{
		read->started = true;
		read->run = f->next_run - 1;
		f->nstarted++;
#if CSCAN_HAVE_AIO
		ours = n;
#else
		ours = read->op.io_buffers_len;
#endif
	}
	for (int i = 0; i < n; i++)
	{
		f->held->blocks[place + i] = f->next + i;
		f->held->states[place + i] = i < ours ? CSCAN_FRAME_READ : CSCAN_FRAME_FOUND;
	}
	f->blocks_read += ours;
	f->next += n;
}

static void
start_reads(CScanLoad *f)
{
	while (f->nstarted - f->nfinished < (uint32) f->steps_ahead && blocks_left(f))
		start_read(f);
}

static void
begin_reads(CScanLoad *f)
{
	f->reads = MemoryContextAlloc(loader_context, sizeof(CScanRead) * f->steps_ahead);
	f->nstarted = f->nfinished = 0;
	start_reads(f);
}

/* Finish the next read, and start another one. */
static void
finish_read(CScanLoad *f)
{
	CScanRead  *read = &f->reads[f->nfinished++ % f->steps_ahead];

	/* Do not finish it again if it fails now. */
	read->started = false;
	WaitReadBuffers(&read->op);
	CSCAN_FAULT(CSCAN_FAULT_ABM_READ);
	if (!f->giving_up)
		start_reads(f);
}

/* Reads that were started must be finished, come what may. */
static bool
reads_left(CScanLoad *f)
{
	return f->nfinished < f->nstarted;
}

/* The first run of which something is not read. */
static int
unread_run(const CScanLoad *f)
{
	if (f->nfinished < f->nstarted)
		return f->reads[f->nfinished % f->steps_ahead].run;
	return unasked_run(f);
}

static void
forget_reads(CScanLoad *f)
{
	if (f->reads)
		pfree(f->reads);
	f->reads = NULL;
	f->nstarted = f->nfinished = 0;
}

#else							/* 15, 16 */

/*
 * Advise on the next blocks, a piece of a run at a time.  The storage manager
 * of these versions advises only on single blocks, which become single small
 * reads.
 */
static void
advise_ahead(CScanLoad *f)
{
	uint32		ahead = f->steps_ahead * BLOCKS_AT_ONCE;

	while (f->advised && f->nadvised < f->nread + ahead)
	{
		uint32		n;

		if (f->next_advice >= f->advice.end)
		{
			if (f->next_advice_run >= f->nruns)
				return;
			f->advice = f->runs[f->next_advice_run++];
			f->next_advice = f->advice.first;
		}
		n = Min(f->advice.end - f->next_advice, Max(ahead / 2, 1));
		advise(f, f->next_advice, n);
		f->next_advice += n;
		f->nadvised += n;
	}
}

static void
begin_reads(CScanLoad *f)
{
	f->advice = (CScanRun) {0, 0, 0};
	f->next_advice_run = 0;
	f->next_advice = 0;
	f->nadvised = f->nread = 0;
	advise_ahead(f);
}

static bool
reads_left(CScanLoad *f)
{
	return !f->giving_up && blocks_left(f);
}

static int
unread_run(const CScanLoad *f)
{
	return unasked_run(f);
}

/* Read some blocks. */
static void
finish_read(CScanLoad *f)
{
	uint32		read_before = f->blocks_read;

	for (int i = 0; i < BLOCKS_AT_ONCE && blocks_left(f); i++)
	{
		int64		before = pgBufferUsage.shared_blks_read;
		int			place = f->run.place + (f->next - f->run.first);

		f->nread++;

		/* If the table has grown, part of the piece may be there. */
		if (f->held->states[place] != CSCAN_FRAME_EMPTY)
		{
			f->next++;
			continue;
		}
		f->held->buffers[place] = ReadBufferWithoutRelcache(f->held->locator, MAIN_FORKNUM, f->next,
													  RBM_NORMAL, f->strategy, f->held->permanent);
		f->held->blocks[place] = f->next;
		f->held->states[place] = CSCAN_FRAME_FOUND;
		if (pgBufferUsage.shared_blks_read != before)
		{
			f->held->states[place] = CSCAN_FRAME_READ;
			f->blocks_read++;
		}
		f->next++;
	}
	if (f->blocks_read != read_before)
		CSCAN_FAULT(CSCAN_FAULT_ABM_READ);
	advise_ahead(f);
}

static void
forget_reads(CScanLoad *f)
{
	(void) f;
}

#endif

#if CSCAN_HAVE_DROP_BEHIND

static uint64
chunk_name(const CScanLoad *f)
{
	uint64		table = hash_bytes_extended((const unsigned char *) &f->held->locator, sizeof(f->held->locator), 0);

	return hash_bytes_uint32_extended(f->load.place.first, table);
}

#endif

/*
 * Scans may copy themselves what the page cache has.
 *
 * With cscan.drop_behind the kernel need not keep what is now in shared
 * buffers.  It keeps a load that it had most of before, or has room for.  If
 * it had only a few pages of a load, lookups left them there, and these are
 * dropped, too.  If kept, they would stay as long as the chunk is loaded again
 * and again, since each load uses them, until such pages fill the page cache.
 */
static void
look_before_reads(CScanLoad *f)
{
#if CSCAN_HAVE_DROP_BEHIND
	if (cscan_io_is_direct())
		return;
	f->there = cscan_page_cache_has_most(f->held->locator, f->runs, f->nruns, f->load.nblocks,
										 f->load.place.columns ? InvalidBlockNumber : f->load.place.end);
	f->seen = f->there && !cscan_page_cache_is_blind();
	f->drop = cscan_drop_behind != CSCAN_DROP_BEHIND_OFF;
	f->keep = f->there;
	if (cscan_drop_behind == CSCAN_DROP_BEHIND_AUTO)
		f->keep = cscan_keep(&page_cache, chunk_name(f), f->load.nblocks, f->there);
#else
	(void) f;
#endif
}

static void
drop_behind(CScanLoad *f)
{
#if CSCAN_HAVE_DROP_BEHIND
	BlockNumber last = InvalidBlockNumber;

	if (!f->drop || f->failed)
		return;
	for (int i = 0; i < f->nruns; i++)
	{
		const CScanRun *run = &f->runs[i];
		BlockNumber first = run->first;

		for (BlockNumber block = first; block <= run->end; block++)
		{
			if (block < run->end && f->held->states[run->place + (block - run->first)] == CSCAN_FRAME_READ)
			{
				last = block;
				continue;
			}
			if (!f->keep && first < block)
				cscan_page_cache_drop(f->held->locator, first, block - first);
			first = block + 1;
		}
	}

	/* Only a chunk seen in the page cache can be seen to have gone. */
	if (f->keep && !f->there && 2 * f->blocks_read > f->load.nblocks && cscan_page_cache_has(f->held->locator, last))
		cscan_keep_remember(&page_cache, chunk_name(f), f->load.nblocks);
#else
	(void) f;
#endif
}

static int
compare_lengths(const void *a, const void *b)
{
	const CScanRun *x = a;
	const CScanRun *y = b;
	uint32		n = x->end - x->first;
	uint32		m = y->end - y->first;

	return n != m ? (n > m) - (n < m) : (x->place > y->place) - (x->place < y->place);
}

/*
 * Find the runs of blocks that a load reads.  Those of a table's chunk follow
 * from its place.  Those of an index's are where its directory says.  The
 * smallest columns come first, so that scans which need only these wake early
 * (Section 6.2).
 */
static void
find_runs(CScanLoad *f)
{
	const CScanLayout *layout = f->load.place.columns;
	CScanRun	run = {0, 0, 0};

	if (layout)
	{
		CScanPageSource source = {.locator = f->held->locator,.permanent = f->held->permanent};
		uint64		before = f->held->nbuffers > 0 ? f->generation : 0;

		f->nruns = cscan_store_find_runs(&source, f->load.place.first / cscan_layout_blocks(layout), layout,
										 f->load.pieces.word[0], f->runs, &f->generation);
		qsort(f->runs, f->nruns, sizeof(CScanRun), compare_lengths);

		/* What the slot has may be of an entry that serves no more. */
		f->failed = before != 0 && before != f->generation;
		return;
	}
	while (cscan_action_next_run(&f->load, &run))
		f->runs[f->nruns++] = run;
}

/* Does the load need advice?  One run right behind the last load does not, if the storage is fast. */
static void
note_sequence(CScanLoad *f, bool is_fast)
{
	f->advised = !cscan_io_is_direct() &&
		(!is_fast || f->nruns != 1 || f->runs[0].first != next_block ||
		 !RelFileLocatorEquals(f->held->locator, next_locator));
	if (f->nruns > 0)
		next_block = f->runs[f->nruns - 1].end;
	next_locator = f->held->locator;
}

/*
 * Begin a load that the pool decided, with so many steps handed over ahead, from
 * fast storage or not.
 * cscan_loader_finish() or cscan_loader_give_up() must follow.
 */
void
cscan_loader_start(const CScanAction *act, const CScanSharedTable *table, int steps_ahead, bool is_fast)
{
	CScanLoad  *f = &loads[act->slot];
	MemoryContext old_context = CurrentMemoryContext;

	Assert(f->load.nblocks == 0);

	/* Of a slot that rests the pool asks for what is missing only. */
	f->lost = cscan_frames_rest(act->slot) && !cscan_frames_repin(act->slot);

	/* Blocks that the slot held before it was unpinned are loaded again. */
	if (f->held->owner == NULL)
	{
		f->held->owner = ResourceOwnerCreate(AuxProcessResourceOwner, "cscan chunk");
		f->held->nbuffers = 0;
	}
	f->held->locator = table->locator;
	f->held->permanent = table->permanent;
	f->load = *act;
	f->held->loading = true;
	f->nruns = 0;
	f->blocks_read = 0;
	f->failed = f->giving_up = false;
	f->there = f->seen = f->drop = false;
	f->steps_ahead = steps_ahead;
	f->run = (CScanRun) {0, 0, 0};
	f->next_run = 0;
	f->next = 0;

	/*
	 * With a strategy, blocks that are found keep their usage count.  A new
	 * strategy for each load takes no frames again: its ring is of no use to
	 * the ABM.
	 */
	MemoryContextSwitchTo(loader_context);
	f->runs = palloc(MAX_RUNS * sizeof(CScanRun));
	f->strategy = GetAccessStrategy(BAS_BULKREAD);
	MemoryContextSwitchTo(old_context);

	CurrentResourceOwner = f->held->owner;
	PG_TRY();
	{
		find_runs(f);
		cscan_frames_make_room(f->held, act->place.end - act->place.first);
		note_sequence(f, is_fast);
		look_before_reads(f);
		begin_reads(f);
	}
	PG_CATCH();
	{
		report_and_clean_up(old_context);
		f->failed = true;
	}
	PG_END_TRY();
	CurrentResourceOwner = AuxProcessResourceOwner;
}

/*
 * Read, or wait for, about 128 kB of a load.  Returns false if nothing is
 * left; then cscan_loader_finish() will not wait.
 */
bool
cscan_loader_step(int slot)
{
	CScanLoad  *f = &loads[slot];
	MemoryContext old_context = CurrentMemoryContext;

	if (f->load.nblocks == 0 || !reads_left(f))
		return false;

	CurrentResourceOwner = f->held->owner;
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

/* The columns of a load in flight that are there as a whole. */
uint64
cscan_loader_arrived(int slot)
{
	const CScanLoad *f = &loads[slot];
	const CScanLayout *layout = f->load.place.columns;
	uint64		columns;

	if (f->load.nblocks == 0 || layout == NULL || f->failed || f->giving_up)
		return 0;
	columns = f->load.pieces.word[0];
	for (int i = unread_run(f); i < f->nruns; i++)
	{
		uint32		c = 0;

		while (layout->begin[c] != f->runs[i].place)
			c++;
		columns &= ~(UINT64CONST(1) << c);
	}
	return columns;
}

/*
 * Wait for a load.  Returns false if it failed: then all of the slot's pins
 * are gone, and nothing counts as read.
 */
bool
cscan_loader_finish(int slot, CScanLoaded *loaded)
{
	CScanLoad  *f = &loads[slot];
	bool		failed;

	memset(loaded, 0, sizeof(CScanLoaded));
	if (f->load.nblocks == 0)
		return true;
	while (cscan_loader_step(slot))
		;
	for (int i = 0; i < f->nruns; i++)
		loaded->nblocks += f->runs[i].end - f->runs[i].first;
	forget_reads(f);
	drop_behind(f);
	FreeAccessStrategy(f->strategy);
	f->strategy = NULL;
	pfree(f->runs);
	f->runs = NULL;

	failed = f->failed;
	if (!failed)
	{
		loaded->blocks_read = f->blocks_read;
		loaded->copied = f->seen && f->blocks_read > 0;
		loaded->lost = f->lost;
	}
	f->load.nblocks = 0;
	f->held->loading = false;
	if (failed)
		cscan_loader_release(slot, true);
	return !failed;
}

/*
 * Give up a load between two steps: wait only for what the kernel has been
 * handed, and let all of the slot's frames go.
 */
void
cscan_loader_give_up(int slot)
{
	CScanLoad  *f = &loads[slot];
	CScanLoaded loaded;

	f->giving_up = true;
	if (cscan_loader_finish(slot, &loaded))
		cscan_loader_release(slot, true);
}

/*
 * Forget a slot's frames, waiting for its load if one is in flight.  "for_room":
 * they are the next to be reused.
 */
void
cscan_loader_release(int slot, bool for_room)
{
	CScanLoad  *f = &loads[slot];
	CScanLoaded loaded;

	/* If a load in flight fails, it has released the slot. */
	if (f->load.nblocks != 0 && !cscan_loader_finish(slot, &loaded))
		return;
	cscan_frames_release(slot, for_room, f->failed);
	f->failed = false;
}

/*
 * Drop a slot's pins without reading anything, as the ABM ends.  Reads in
 * flight are waited for, whatever their result.
 */
void
cscan_loader_abandon(int slot)
{
	CScanLoad  *f = &loads[slot];

#if CSCAN_HAVE_AIO
	for (uint32 i = f->nfinished; i < f->nstarted; i++)
	{
		CScanRead  *read = &f->reads[i % f->steps_ahead];

		if (read->started && pgaio_wref_valid(&read->op.io_wref))
			pgaio_wref_wait(&read->op.io_wref);
	}
#endif
	f->load.nblocks = 0;
	f->held->loading = false;
	if (f->held->owner != NULL)
		cscan_frames_delete_owner(f->held);
}

/* Close the files of tables that may be gone; nothing may be in flight. */
void
cscan_loader_tidy(void)
{
	cscan_page_cache_forget();
	cscan_smgr_forget_all();
}
