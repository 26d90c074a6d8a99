/*-------------------------------------------------------------------------
 *
 * trace_file.h
 *		A run's trace, in the format of the server's (doc/trace.md).
 *
 * One run at a time is traced: the pool's callback has no argument.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SIM_TRACE_FILE_H
#define SIM_TRACE_FILE_H

#include "engine.h"

/* Before the first step, and after the last; false if it cannot be written. */
extern void trace_file_begin(Sim *sim, FILE *file);
extern bool trace_file_end(Sim *sim);

#endif							/* SIM_TRACE_FILE_H */
