/*-------------------------------------------------------------------------
 *
 * trace_file.c
 *		See trace_file.h.
 *
 * The ABM takes records out of the ring (shared/trace_ring.c) and writes them,
 * outside of the scheduler's lock.  If it does not keep up, records are lost
 * and never waited for; their number is written in their place.  An error with
 * the file only ends the trace, with a line in the log.
 *
 * A trace begins with the pool's state, which is copied under the lock.  From
 * then on calls are recorded.  The file is always a new one.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include <fcntl.h>
#include <unistd.h>

#include "common/file_perm.h"
#include "storage/fd.h"
#include "utils/guc.h"
#include "utils/memutils.h"

#include "abm/trace_file.h"
#include "shared/shared.h"

/* Records that are written at once. */
#define AT_ONCE		512

static char *trace_file;		/* the setting */

/* The ABM's own. */
static char *writing;			/* name of the file, or NULL */
static int	fd = -1;
static uint64 nwritten;			/* records */
static char *refused;			/* name of a file that could not be made */

/* ------------------------------------------------------------------
 * The file
 * ------------------------------------------------------------------ */

/* Stop recording.  Records in the ring no longer matter. */
static void
stop_recording(void)
{
	cscan_lock();
	cscan_pool.state->traced = false;
	cscan_unlock();
}

static void
close_file(void)
{
	stop_recording();
	if (fd >= 0)
		close(fd);
	fd = -1;
	pfree(writing);
	writing = NULL;
}

/* Write to the file.  On failure ends the trace and returns false. */
static bool
write_bytes(const uint8 *bytes, size_t size)
{
	while (size > 0)
	{
		ssize_t		written;

		errno = 0;
		written = write(fd, bytes, size);
		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0)
		{
			/* As elsewhere: no reason given means no space. */
			if (errno == 0)
				errno = ENOSPC;
			ereport(LOG,
					(errcode_for_file_access(),
					 errmsg("could not write trace file \"%s\": %m", writing),
					 errdetail("The trace ends here.")));
			close_file();
			return false;
		}
		bytes += written;
		size -= written;
	}
	return true;
}

/* Write records first..end - 1 of an array whose length is a power of two. */
static bool
write_records(const CScanTraceRecord *records, uint64 mask, uint64 first, uint64 end)
{
	uint8		bytes[AT_ONCE][CSCAN_TRACE_RECORD_SIZE];

	while (first < end)
	{
		int			n = 0;

		for (; n < AT_ONCE && first < end; n++, first++)
			cscan_trace_encode(&records[first & mask], bytes[n]);
		if (!write_bytes(bytes[0], (size_t) n * CSCAN_TRACE_RECORD_SIZE))
			return false;
		nwritten += n;
	}
	return true;
}

static bool
write_record(const CScanTraceRecord *r)
{
	return write_records(r, 0, 0, 1);
}

/*
 * Write all records in the ring.  Those that come meanwhile wait for the next
 * time: with many callers of the pool there are always more.
 */
static bool
drain(void)
{
	CScanTraceRing *ring = cscan_trace_ring;
	bool		any_lost = true;

	while (any_lost)
	{
		CScanTraceRecord lost = {.kind = CSCAN_TRACE_LOST};
		uint64		head;

		/* The number of lost records follows those in the ring. */
		cscan_lock();
		head = ring->head;
		if (head == ring->tail)
		{
			lost.time = ring->lost;
			ring->lost = 0;
		}
		cscan_unlock();

		if (head == ring->tail)
			return lost.time == 0 || write_record(&lost);
		if (!write_records(ring->records, CSCAN_TRACE_RING - 1, ring->tail, head))
			return false;
		cscan_lock();
		ring->tail = head;
		any_lost = ring->lost > 0;
		cscan_unlock();
	}
	return true;
}

void
cscan_trace_file_write(bool all)
{
	/* An unlocked look: records missed now are seen next time. */
	if (writing != NULL &&
		(all || cscan_trace_ring->head - cscan_trace_ring->tail >= CSCAN_TRACE_RING / 4))
		(void) drain();
}

void
cscan_trace_file_end(void)
{
	CScanTraceRecord end = {.kind = CSCAN_TRACE_END};

	if (writing == NULL)
		return;
	stop_recording();
	if (!drain() || !write_record(&end))
		return;
	ereport(LOG,
			(errmsg("trace \"%s\" has ended after " UINT64_FORMAT " records", writing, nwritten)));
	close_file();
}

/* ------------------------------------------------------------------
 * The beginning
 * ------------------------------------------------------------------ */

typedef struct CScanTraceCopy
{
	CScanTraceRecord *records;
	uint64		n;
	uint64		room;
} CScanTraceCopy;

static void
copy_record(void *arg, const CScanTraceRecord *r)
{
	CScanTraceCopy *copy = arg;

	if (copy->n < copy->room)
		copy->records[copy->n] = *r;
	copy->n++;
}

/*
 * Copy the pool's state, and record calls in the ring from then on.  Returns
 * no records if memory runs out.
 */
static CScanTraceCopy
copy_state(void)
{
	CScanTraceCopy copy = {NULL, 0, 0};

	for (;;)
	{
		copy.n = 0;
		cscan_lock();
		cscan_trace_save(&cscan_pool, copy_record, &copy);
		if (copy.n <= copy.room)
		{
			cscan_trace_ring->head = cscan_trace_ring->tail = cscan_trace_ring->lost = 0;
			cscan_pool.state->traced = true;
			cscan_unlock();
			return copy;
		}
		cscan_unlock();

		/* The first pass only counted. */
		if (copy.records != NULL)
			pfree(copy.records);
		copy.room = copy.n + copy.n / 2 + 64;
		copy.records = MemoryContextAllocExtended(TopMemoryContext, copy.room * sizeof(CScanTraceRecord),
												  MCXT_ALLOC_HUGE | MCXT_ALLOC_NO_OOM);
		if (copy.records == NULL)
			return copy;
	}
}

static void
begin(const char *name)
{
	uint8		bytes[CSCAN_TRACE_HEADER_SIZE];
	CScanTraceCopy copy;

	fd = BasicOpenFilePerm(name, O_WRONLY | O_CREAT | O_EXCL | PG_BINARY, pg_file_create_mode);
	if (fd < 0)
	{
		ereport(LOG,
				(errcode_for_file_access(),
				 errmsg("could not create trace file \"%s\": %m", name),
				 errdetail("Nothing is traced until \"%s\" names a file that can be created.", "cscan.trace")));
		refused = MemoryContextStrdup(TopMemoryContext, name);
		return;
	}
	writing = MemoryContextStrdup(TopMemoryContext, name);
	nwritten = 0;
	cscan_trace_encode_header(&cscan_pool.state->limits, bytes);
	if (!write_bytes(bytes, sizeof(bytes)))
		return;
	copy = copy_state();
	if (copy.records == NULL)
	{
		ereport(LOG,
				(errcode(ERRCODE_OUT_OF_MEMORY),
				 errmsg("out of memory for trace \"%s\"", writing)));
		close_file();
		return;
	}
	if (write_records(copy.records, PG_UINT64_MAX, 0, copy.n))
		ereport(LOG, (errmsg("trace \"%s\" has begun", writing)));
	pfree(copy.records);
}

void
cscan_trace_file_begin_or_end(void)
{
	if (writing != NULL && strcmp(writing, trace_file) != 0)
		cscan_trace_file_end();
	if (refused != NULL && strcmp(refused, trace_file) != 0)
	{
		pfree(refused);
		refused = NULL;
	}
	if (writing == NULL && refused == NULL && trace_file[0] != '\0')
		begin(trace_file);
}

/* ------------------------------------------------------------------
 * The setting
 * ------------------------------------------------------------------ */

static bool
check_trace(char **newval, void **extra, GucSource source)
{
	(void) extra;
	(void) source;
	if ((*newval)[0] == '\0')
		return true;
	canonicalize_path(*newval);
	if (path_is_relative_and_below_cwd(*newval) && strlen(*newval) < MAXPGPATH)
		return true;
	GUC_check_errdetail("It must be the name of a file within the data directory.");
	return false;
}

void
cscan_trace_file_define_setting(void)
{
	DefineCustomStringVariable("cscan.trace",
							   "Names a new file in the data directory for a trace of the scheduler's decisions.",
							   "An empty name ends the trace.",
							   &trace_file,
							   "",
							   PGC_SIGHUP,
							   GUC_SUPERUSER_ONLY,
							   check_trace, NULL, NULL);
}
