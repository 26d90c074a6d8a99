/*-------------------------------------------------------------------------
 *
 * replay.h
 *		Makes the calls of a trace again, on a pool with the same state, and
 *		looks whether it decides the same.
 *
 * The pool is traced while that goes on: a call is the same if it leaves the
 * same record.  A trace is not believed: what would reach out of the pool's
 * bounds is an error.
 *
 *-------------------------------------------------------------------------
 */
#ifndef REPLAY_H
#define REPLAY_H

#include <stdio.h>

#include "trace.h"

/* Records that are kept for a look back. */
#define REPLAY_CONTEXT	10

typedef enum ReplayOutcome
{
	REPLAY_SAME,
	REPLAY_DIFFERS,				/* see recorded and replayed */
	REPLAY_INCOMPLETE,			/* all the same as far as it goes */
	REPLAY_BROKEN				/* see message */
} ReplayOutcome;

typedef struct Replay
{
	uint64_t	records;		/* read so far */
	uint64_t	events;			/* calls among these */
	uint64_t	decisions;		/* calls that decide something */
	const char *message;		/* what is wrong with the trace, or NULL */
	bool		no_end;			/* it is only that it stops */
	uint64_t	lost;			/* records that it has lost at its end */
	CScanTraceRecord recorded;
	CScanTraceRecord replayed;
	CScanTraceRecord context[REPLAY_CONTEXT];	/* the last ones, in a ring */
} Replay;

/* From the header to the end. */
extern ReplayOutcome replay_run(FILE *in, Replay *replay);

/* Only print it, one line a record. */
extern ReplayOutcome replay_print(FILE *in, FILE *out, Replay *replay);

/* One record as a line. */
extern void replay_describe(const CScanTraceRecord *r, FILE *out);

/* What came of it, with context; returns the exit status. */
extern int	replay_report(ReplayOutcome outcome, const Replay *replay, FILE *out);

#endif							/* REPLAY_H */
