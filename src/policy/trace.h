/*-------------------------------------------------------------------------
 *
 * trace.h
 *		A trace: the state of a pool, and records of what then happens to it.
 *
 * A trace is a header, records of the state of a pool, and one record for each
 * call that changes it, with its arguments and what it decided (record.h).
 * The same calls on a pool with that state must give the same decisions.
 * doc/trace.md describes it byte by byte.
 *
 * In a file all numbers have the least significant byte first.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CSCAN_TRACE_H
#define CSCAN_TRACE_H

#include "record.h"

#define CSCAN_TRACE_MAGIC	"CSCANTRC"
#define CSCAN_TRACE_VERSION	7

#define CSCAN_TRACE_HEADER_SIZE	64
#define CSCAN_TRACE_RECORD_SIZE	32

/* Bits of a STATE_SCAN's flag, above its policy, and of a STATE_SLOT's. */
#define CSCAN_TRACE_SCAN_POLICY		0x0f
#define CSCAN_TRACE_SCAN_WAITING	0x10
#define CSCAN_TRACE_SCAN_BLOCKED	0x20
#define CSCAN_TRACE_SCAN_STALLED	0x40
#define CSCAN_TRACE_SCAN_WARM		0x80

#define CSCAN_TRACE_SLOT_IN_FLIGHT	0x01
#define CSCAN_TRACE_SLOT_FAILED		0x02
#define CSCAN_TRACE_SLOT_CHEAP		0x04
#define CSCAN_TRACE_SLOT_HELD		0x08

/* Put the records of a pool's state, STATE to STATE_END, one at a time. */
typedef void (*CScanTracePut) (void *arg, const CScanTraceRecord *r);
extern void cscan_trace_save(const CScanPool *pool, CScanTracePut put, void *arg);

/*
 * Restore a state, one record at a time, into a pool that was just made empty.
 * *scan and *space are those whose ranges come next, or *space alone that
 * whose layout does; *space is CSCAN_NONE at first.  Returns NULL, or what is
 * wrong with the record.  Nothing out of bounds is touched.
 */
extern const char *cscan_trace_restore(CScanPool *pool, const CScanTraceRecord *r,
									   int *scan, int *space);

/* Get the ranges of a RANGES record, up to three; returns how many. */
extern uint32_t cscan_trace_get_ranges(const CScanTraceRecord *r, CScanRange ranges[3]);

/* Encode and decode.  Decoding a header returns NULL, or what is wrong. */
extern void cscan_trace_encode(const CScanTraceRecord *r, uint8_t bytes[CSCAN_TRACE_RECORD_SIZE]);
extern void cscan_trace_decode(const uint8_t bytes[CSCAN_TRACE_RECORD_SIZE], CScanTraceRecord *r);
extern void cscan_trace_encode_header(const CScanLimits *limits,
									  uint8_t bytes[CSCAN_TRACE_HEADER_SIZE]);
extern const char *cscan_trace_decode_header(const uint8_t bytes[CSCAN_TRACE_HEADER_SIZE],
											 CScanLimits *limits);

#endif							/* CSCAN_TRACE_H */
