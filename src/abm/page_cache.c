/*-------------------------------------------------------------------------
 *
 * page_cache.c
 *		The operating system's copy of a table: what is said to the kernel, and
 *		asked of it, about runs of a table's blocks.
 *
 *		cscan_page_cache_advise()	these will be read
 *		cscan_page_cache_has()		is this one there?
 *		cscan_page_cache_ask()		which of these are, before they are read?
 *		cscan_page_cache_drop()		these need not be kept
 *		cscan_page_cache_forget()	close the file, and forget all answers
 *
 * The storage manager shows nobody its files, so here is one of our own, that
 * of the segment that was asked for last.  It is closed before a table's lock
 * is released, since then the table may go.
 *
 * All of this is only advice: where the kernel, or the file, says no, nothing
 * happens, and reading the block will say what is wrong with it.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "abm/abm.h"

/* Advice is given in pieces: the kernel takes no longer ones, and drops the rest. */
#define ADVICE_BLOCKS	(128 * 1024 / BLCKSZ)

/* The kernel reads no further ahead than this, as a rule, */
#define AHEAD_BLOCKS	(16 * 1024 * 1024 / BLCKSZ)

/* and in no larger pieces. */
#define PIECE_BLOCKS	(2 * 1024 * 1024 / BLCKSZ)

#if defined(USE_POSIX_FADVISE)

static int	fd = -1;
static RelFileLocator fd_locator;
static BlockNumber fd_segment;

#if CSCAN_HAVE_DROP_BEHIND

/* What cscan_page_cache_ask() has found out of the blocks from ahead_first on, */
static bool ahead[AHEAD_BLOCKS];
static BlockNumber ahead_first;
static RelFileLocator ahead_locator;

/* and the end of what cscan_page_cache_drop() has dropped. */
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
 * Opens the segment of the first block of a run, and returns how many blocks of
 * the run it has; *offset is where they begin in it, in bytes.  0: it cannot be
 * opened.
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
 * What was found out about a table holds as long as nobody else reads it, or
 * so: it is forgotten when the scans that it was found out for have gone.
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

/* Sets there[] for each of the blocks, as below. */
static void
ask_kernel(RelFileLocator locator, BlockNumber first, int nblocks, bool *there)
{
	unsigned char pages[256];
	int			page_size = (int) sysconf(_SC_PAGESIZE);

	/*
	 * A map begins where a page of the machine does, perhaps before the
	 * block.
	 */
	int			most = ((int) sizeof(pages) - 1) * page_size / BLCKSZ;

	memset(there, true, sizeof(bool) * nblocks);
	while (nblocks > 0)
	{
		off_t		offset;
		int			n = open_run(locator, first, nblocks, &offset);
		off_t		before;
		size_t		length;
		char	   *map;

		if (n == 0)
			return;
		n = Min(n, most);
		before = offset % page_size;
		length = before + (size_t) n * BLCKSZ;
		map = mmap(NULL, length, PROT_READ, MAP_SHARED, fd, offset - before);
		if (map == MAP_FAILED)
			return;
		if (mincore(map, length, pages) == 0)
		{
			for (int i = 0; i < n; i++)
			{
				int			from = (before + i * BLCKSZ) / page_size;
				int			to = (before + (i + 1) * BLCKSZ - 1) / page_size;

				there[i] = false;
				for (int page = from; page <= to; page++)
					there[i] |= pages[page] & 1;
			}
		}
		munmap(map, length);
		first += n;
		nblocks -= n;
		there += n;
	}
}

bool
cscan_page_cache_has(RelFileLocator locator, BlockNumber block)
{
	bool		there;

	if (cscan_io_is_direct())
		return false;
	ask_kernel(locator, block, 1, &there);
	return there;
}

/*
 * Sets there[] for each of the blocks, which are about to be read: is any part
 * of it in the page cache?  What cannot be told is said to be there.
 *
 * What the kernel reads ahead of our own reads does not count.  So the blocks that
 * follow are looked up at the same time, before it can read them; ahead[] has the
 * answers for the load that comes next.
 */
void
cscan_page_cache_ask(RelFileLocator locator, BlockNumber first, int nblocks, bool *there)
{
	int			known = 0;
	int			left;

	if (RelFileLocatorEquals(locator, ahead_locator) && first == ahead_first)
		known = Min(nblocks, AHEAD_BLOCKS);
	memcpy(there, ahead, sizeof(bool) * known);
	ask_kernel(locator, first + known, nblocks - known, there + known);

	left = known > 0 ? AHEAD_BLOCKS - known : 0;
	memmove(ahead, ahead + known, sizeof(bool) * left);
	ask_kernel(locator, first + nblocks + left, AHEAD_BLOCKS - left, ahead + left);
	ahead_first = first + nblocks;
	ahead_locator = locator;
}

/*
 * The blocks need not be kept.  The kernel drops its pages in the pieces in
 * which it has read them; so one that began before these blocks is named once
 * more, if all of it may go.
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
cscan_page_cache_has(RelFileLocator locator, BlockNumber block)
{
	(void) locator;
	(void) block;
	return false;
}

#endif
