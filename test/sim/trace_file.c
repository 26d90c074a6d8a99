/*-------------------------------------------------------------------------
 *
 * trace_file.c
 *		See trace_file.h.
 *
 *-------------------------------------------------------------------------
 */
#include "trace_file.h"

#include "trace.h"

static FILE *trace;

static void
put(void *arg, const CScanTraceRecord *r)
{
	uint8_t		bytes[CSCAN_TRACE_RECORD_SIZE];

	(void) arg;
	cscan_trace_encode(r, bytes);
	fwrite(bytes, sizeof(bytes), 1, trace);
}

static void
record(const CScanPool *pool, const CScanTraceRecord *r)
{
	(void) pool;
	put(NULL, r);
}

void
trace_file_begin(Sim *sim, FILE *file)
{
	uint8_t		bytes[CSCAN_TRACE_HEADER_SIZE];

	trace = file;
	cscan_trace_encode_header(&sim->pool->state->limits, bytes);
	fwrite(bytes, sizeof(bytes), 1, trace);
	cscan_trace_save(sim->pool, put, NULL);
	sim->pool->record = record;
	sim->pool->state->traced = true;
}

bool
trace_file_end(Sim *sim)
{
	CScanTraceRecord end = {.kind = CSCAN_TRACE_END};

	sim->pool->state->traced = false;
	put(NULL, &end);
	return fflush(trace) == 0 && !ferror(trace);
}
