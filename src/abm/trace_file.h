/*-------------------------------------------------------------------------
 *
 * trace_file.h
 *		The server's trace: the file that the ABM writes.
 *
 * cscan.trace names the file.  The format is policy/trace.h's; doc/trace.md
 * says how to use it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CSCAN_TRACE_FILE_H
#define CSCAN_TRACE_FILE_H

/* Do what cscan.trace says; write all, or wait for more; write and end. */
extern void cscan_trace_file_begin_or_end(void);
extern void cscan_trace_file_write(bool all);
extern void cscan_trace_file_end(void);

extern void cscan_trace_file_define_setting(void);

#endif							/* CSCAN_TRACE_FILE_H */
