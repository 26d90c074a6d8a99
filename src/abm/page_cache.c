/*-------------------------------------------------------------------------
 *
 * page_cache.c
 *		The operating system's copy of a table: asks and advises the kernel
 *		about runs of a table's blocks.
 *
 *		cscan_page_cache_advise()	these will be read
 *		cscan_page_cache_has()		is this one there?
 *		cscan_page_cache_is_blind() or can nobody tell?
 *		cscan_page_cache_has_most()	are most of these, before they are read?
 *		cscan_page_cache_drop()		these need not be kept
 *		cscan_page_cache_forget()	close the file, and forget all answers
 *
 * The storage manager hides its files, so the ABM opens one of its own: that
 * of the segment that was asked for last.  It is closed before a table's lock
 * is released, since the table may go then.
 *
 * All of this is only advice.  If the kernel or the file says no, nothing
 * happens, and reading the block will tell what is wrong with it.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "abm/abm.h"

#if CSCAN_HAVE_DROP_BEHIND
#include <sys/stat.h>
#include <sys/sysmacros.h>
#endif

/* The kernel takes no longer advice, and drops the rest. */
#define ADVICE_BLOCKS	(128 * 1024 / BLCKSZ)

/* At least so many of a chunk's blocks, and one in so many, are asked for. */
#define ASK_LEAST		8
#define ASK_EVERY		8

/* So many pages are asked for at once. */
#define ASK_PAGES		1024

/* The kernel usually reads ahead at most this far, and often less. */
#define AHEAD_BLOCKS	(16 * 1024 * 1024 / BLCKSZ)

/* The largest unit in which the kernel reads ahead. */
#define PIECE_BLOCKS	(2 * 1024 * 1024 / BLCKSZ)

#if defined(USE_POSIX_FADVISE)

static int	fd = -1;
static RelFileLocator fd_locator;
static BlockNumber fd_segment;

#if CSCAN_HAVE_DROP_BEHIND

/*
 * Answers of cscan_page_cache_has_most() about the blocks behind its load:
 * each ahead_step-th from ahead_first to ahead_end.
 */
static bool ahead[AHEAD_BLOCKS];
static uint64 ahead_first;
static uint64 ahead_end;
static uint32 ahead_step;
static RelFileLocator ahead_locator;

/* The kernel could not be asked when it was asked last. */
static bool blind;

/* How far the kernel reads ahead on a device (blocks); 0: not known yet. */
static dev_t read_ahead_device;
static uint32 read_ahead;

/* The end of the run that cscan_page_cache_drop() has dropped. */
static BlockNumber run_first;
static BlockNumber run_end;
static RelFileLocator run_locator;

#endif

static void
close_segment(void)
{
	if (fd >= 0)
		CloseTransientFile(fd);
	fd = -1;
}

static bool
open_segment(RelFileLocator locator, BlockNumber segment)
{
	char	   *base;
	char	   *path;

	if (fd >= 0 && segment == fd_segment && RelFileLocatorEquals(locator, fd_locator))
		return true;
	close_segment();
	base = cscan_relation_path(locator);
	path = segment == 0 ? base : psprintf("%s.%u", base, segment);
	fd = OpenTransientFile(path, O_RDONLY | PG_BINARY);
	fd_locator = locator;
	fd_segment = segment;
	if (path != base)
		pfree(path);
	pfree(base);
	return fd >= 0;
}

/*
 * Open the segment of a run's first block.  Returns how many blocks of the run
 * it has, or 0 if it cannot be opened.  *offset is where they begin in it
 * (bytes).
 */
static int
open_run(RelFileLocator locator, BlockNumber first, int nblocks, off_t *offset)
{
	BlockNumber place = first % RELSEG_SIZE;

	if (!open_segment(locator, first / RELSEG_SIZE))
		return 0;
	*offset = (off_t) place * BLCKSZ;
	return Min(nblocks, (int) (RELSEG_SIZE - place));
}

#endif							/* USE_POSIX_FADVISE */

/*
 * Forget what was found out about a table.  It holds only while hardly anybody
 * else reads the table, so it goes with the scans that it was found out for.
 */
void
cscan_page_cache_forget(void)
{
#if defined(USE_POSIX_FADVISE)
	close_segment();
#endif
#if CSCAN_HAVE_DROP_BEHIND
	memset(&ahead_locator, 0, sizeof(ahead_locator));
	memset(&run_locator, 0, sizeof(run_locator));
	read_ahead = 0;
#endif
}

void
cscan_page_cache_advise(RelFileLocator locator, BlockNumber first, int nblocks)
{
#if defined(USE_POSIX_FADVISE)
	while (nblocks > 0)
	{
		off_t		offset;
		int			n = open_run(locator, first, nblocks, &offset);

		if (n == 0)
			return;
		n = Min(n, ADVICE_BLOCKS);
		(void) posix_fadvise(fd, offset, (off_t) n * BLCKSZ, POSIX_FADV_WILLNEED);
		first += n;
		nblocks -= n;
	}
#else
	(void) locator;
	(void) first;
	(void) nblocks;
#endif
}

#if CSCAN_HAVE_DROP_BEHIND

/*
 * Ask for each step-th block from first to end whether any part of it is in
 * the page cache.  Returns how many are; there[], unless NULL, gets each
 * answer.  A block that cannot be asked for counts as there.  first and end
 * have more bits than block numbers so that a step behind the last block does
 * not wrap around.
 *
 * All pages between are asked for with them: a call costs more than the answers
 * for a hundred pages.  16 MB take a quarter of a millisecond, and ten times
 * as long with a call for each block.  Blocks behind the file's end are not there,
 * and nobody is asked.
 */
static uint32
ask_kernel(RelFileLocator locator, uint64 first, uint64 end, uint32 step, bool *there)
{
	int			page_size = (int) sysconf(_SC_PAGESIZE);
	uint32		nthere = 0;
	unsigned char pages[ASK_PAGES];

	end = Min(end, (uint64) MaxBlockNumber + 1);
	if (first < end)
		blind = false;
	while (first < end)
	{
		off_t		offset = 0;
		int			n = open_run(locator, first, end - first, &offset);
		uint64		segment_end = first - first % RELSEG_SIZE + RELSEG_SIZE;
		uint64		part_end = n > 0 ? first + n : Min(end, segment_end);
		off_t		before = offset % page_size;
		bool		opened = n > 0;
		size_t		length;
		char	   *map = MAP_FAILED;
		size_t		known = 0;		/* pages[] has answers from here ... */
		size_t		known_end = 0;	/* ... to here (bytes in the map) */
		struct stat st;

		if (opened && fstat(fd, &st) == 0)
			n = Min(n, Max(st.st_size - offset, 0) / BLCKSZ);
		length = before + (size_t) n * BLCKSZ;

		/* A map begins at a page of the machine, perhaps before the block. */
		if (n > 0)
			map = mmap(NULL, length, PROT_READ, MAP_SHARED, fd, offset - before);
		for (size_t place = before; first < part_end; first += step, place += (size_t) step * BLCKSZ)
		{
			size_t		from = place / page_size * page_size;
			bool		behind = opened && place + BLCKSZ > length;
			bool		found = false;

			if (!behind && place + BLCKSZ > known_end)
			{
				size_t		size = opened ? Min(sizeof(pages) * page_size, length - from) : sizeof(pages) * page_size;

				if (map == MAP_FAILED || mincore(map + from, size, pages) != 0)
				{
					blind = true;
					memset(pages, 1, sizeof(pages));
				}
				known = from;
				known_end = from + size;
			}
			for (; !behind && from < place + BLCKSZ; from += page_size)
				found |= pages[(from - known) / page_size] & 1;
			nthere += found;
			if (there != NULL)
				*there++ = found;
		}
		if (map != MAP_FAILED)
			munmap(map, length);
	}
	return nthere;
}

bool
cscan_page_cache_is_blind(void)
{
	return blind;
}

bool
cscan_page_cache_has(RelFileLocator locator, BlockNumber block)
{
	return !cscan_io_is_direct() && ask_kernel(locator, block, (uint64) block + 1, 1, NULL) > 0;
}

/*
 * Returns how far the kernel may read ahead in the open segment (blocks):
 * twice the device's limit, since it asks for as much again in the middle of
 * what it has read ahead.  A partition has the limit of its disk.  A file
 * system without a device of its own to ask (btrfs) has AHEAD_BLOCKS.
 */
static uint32
blocks_ahead(void)
{
	static const char *const places[] = {
		"/sys/dev/block/%u:%u/queue/read_ahead_kb",
		"/sys/dev/block/%u:%u/../queue/read_ahead_kb",
		"/sys/class/bdi/%u:%u/read_ahead_kb"
	};
	struct stat st;

	if (fd < 0 || fstat(fd, &st) != 0)
		return AHEAD_BLOCKS;
	if (read_ahead != 0 && st.st_dev == read_ahead_device)
		return read_ahead;
	read_ahead_device = st.st_dev;
	read_ahead = AHEAD_BLOCKS;
	for (int i = 0; i < (int) lengthof(places); i++)
	{
		char		path[MAXPGPATH];
		unsigned long kilobytes;
		FILE	   *file;
		int			nread;

		snprintf(path, sizeof(path), places[i], major(st.st_dev), minor(st.st_dev));
		file = AllocateFile(path, "r");
		if (file == NULL)
			continue;
		nread = fscanf(file, "%lu", &kilobytes);
		FreeFile(file);
		if (nread != 1)
			continue;
		if (kilobytes < AHEAD_BLOCKS / 2 * (BLCKSZ / 1024))
			read_ahead = TYPEALIGN(ASK_EVERY, kilobytes * 2 / (BLCKSZ / 1024) + 1);
		break;
	}
	return read_ahead;
}

/*
 * A load of nblocks blocks is about to begin: are most of them in the page
 * cache?  The blocks whose numbers are multiples of a step are asked for.
 *
 * Blocks that the kernel reads ahead of the ABM's own reads do not count.  So
 * behind a load up to chunk_end, the end of its chunk, blocks are looked up now, before
 * the kernel can read them.  ahead[] keeps the answers for the next load: of
 * the next chunk or, if that one is in the pool, of a later one.
 */
bool
cscan_page_cache_has_most(RelFileLocator locator, const CScanRun *runs, int nruns, uint32 nblocks,
						  BlockNumber chunk_end)
{
	uint32		asked = 0;
	uint32		there = 0;
	uint32		step = 1;

	while (step < ASK_EVERY && step * 2 * ASK_LEAST <= nblocks)
		step *= 2;
	for (int r = 0; r < nruns; r++)
	{
		CScanRun	run = runs[r];
		uint64		next = ((uint64) run.first + step - 1) / step * step;
		uint32		n = next < run.end ? (run.end - next - 1) / step + 1 : 0;
		uint32		known = 0;	/* answers for the run and what follows */
		uint32		skipped = 0;	/* answers before those */
		uint32		left = 0;	/* answers behind the run */
		uint32		window;

		/* A short run may have no such block. */
		if (n == 0)
			there += ask_kernel(locator, run.first, (uint64) run.first + 1, 1, NULL);
		asked += Max(n, 1);
		if (RelFileLocatorEquals(locator, ahead_locator) && step == ahead_step &&
			next >= ahead_first && next < ahead_end)
		{
			skipped = (next - ahead_first) / step;
			known = (ahead_end - next) / step;
		}
		for (uint32 i = 0; i < Min(n, known); i++)
			there += ahead[skipped + i];
		if (known < n)
			there += ask_kernel(locator, next + known * step, run.end, step, NULL);
		if (run.end < chunk_end)
			continue;

		window = blocks_ahead();
		if (known > n)
		{
			left = Min(known - n, window / step);
			memmove(ahead, ahead + skipped + n, left);
		}
		next += n * step;
		ask_kernel(locator, next + left * step, next + window, step, ahead + left);
		ahead_first = next;
		ahead_end = next + window;
		ahead_step = step;
		ahead_locator = locator;
	}
	return 2 * there > asked;
}

/*
 * The blocks need not be kept.  The kernel drops pages in the units in which
 * it has read them.  A unit that began before these blocks is named once more,
 * if all of it may go.
 */
void
cscan_page_cache_drop(RelFileLocator locator, BlockNumber first, int nblocks)
{
	if (!RelFileLocatorEquals(locator, run_locator) || first != run_end)
		run_first = first;
	run_end = first + nblocks;
	run_locator = locator;
	if (run_end - run_first > (BlockNumber) nblocks + PIECE_BLOCKS)
		run_first = first - PIECE_BLOCKS;

	nblocks = run_end - run_first;
	for (BlockNumber block = run_first; nblocks > 0;)
	{
		off_t		offset;
		int			n = open_run(locator, block, nblocks, &offset);

		if (n == 0)
			return;
		(void) posix_fadvise(fd, offset, (off_t) n * BLCKSZ, POSIX_FADV_DONTNEED);
		block += n;
		nblocks -= n;
	}
}

#else

bool
cscan_page_cache_is_blind(void)
{
	return true;
}

bool
cscan_page_cache_has(RelFileLocator locator, BlockNumber block)
{
	(void) locator;
	(void) block;
	return false;
}

#endif
