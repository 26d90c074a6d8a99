/*-------------------------------------------------------------------------
 *
 * series.h
 *		A series: integers in the smallest of five encodings.
 *
 *		cscan_series_plan()		which one, and its exact size
 *		cscan_series_write()
 *		cscan_series_open()		check all sizes and places
 *		cscan_series_read()		decode a vector
 *
 * A run of integers is a series, or a dictionary and a series of codes.  The
 * lengths of strings are one.
 *
 *	constant	one value
 *	plain		each value less the least, in 1, 2, 4 or 8 bytes
 *	frame		blocks of 1,024 numbers (source.h), each with its own base; the
 *				rest is packed into as many bits as the largest needs
 *	delta		the same of the differences of two consecutive numbers of a
 *				block, modulo 2^64; the block's base is its first number
 *	run length	a number and how often it follows itself.  A run ends with its
 *				vector, so that a vector's runs are its own
 *
 * Plain is for a handful of values, and for those without any order.
 *
 * A plan first takes two measures of each vector, in one pass: the range of
 * its numbers and that of their differences.  They give the exact sizes of
 * constant, plain, frame and delta.  It also counts the runs.  A run takes at
 * least about as many bits as a value in a frame, and mostly as many again for
 * its length.  So run length is measured, exactly too, if there are at most
 * half as many runs as values.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CSCAN_SERIES_H
#define CSCAN_SERIES_H

#include "source.h"

#define CSCAN_SERIES_HEAD	24

typedef struct CScanSeriesPlan
{
	CScanSource source;
	CScanEncoding encoding;
	size_t		size;			/* exact, in bytes */
	uint32_t	nruns;			/* run length: runs, */
	size_t		runs_size;		/* and what the blocks of their values take */
} CScanSeriesPlan;

/* Blocks, opened. */
typedef struct CScanBlocks
{
	uint32_t	n;				/* numbers in all of them */
	const uint8_t *ends;
	const uint8_t *bytes;
} CScanBlocks;

typedef struct CScanSeries
{
	CScanEncoding encoding;
	uint32_t	n;
	unsigned	width;			/* plain: bytes of a value */
	int64_t		base;			/* value = base + number * step */
	uint64_t	step;
	const uint8_t *run;			/* the run's first byte, */
	const uint8_t *head;		/* and the series' */
	const uint8_t *plain;
	const uint8_t *run_ends;	/* run length: per vector */
	CScanBlocks blocks;			/* frame, delta; run length: values */
	CScanBlocks lengths;
} CScanSeries;

/* Choose an encoding.  plan->source is not empty, and has been measured. */
extern void cscan_series_plan(CScanSeriesPlan *plan);

/* Write plan->size bytes; returns the place behind them. */
extern uint8_t *cscan_series_write(const CScanSeriesPlan *plan, uint8_t *out);

/* Open a series of n values, n > 0. */
extern bool cscan_series_open(CScanSeries *series, uint32_t n, CScanCursor *cursor);

/*
 * Decode a vector into an array of CSCAN_VECTOR, of which what is behind the
 * last value may be written, too.
 */
extern bool cscan_series_read(const CScanSeries *series, uint32_t vector, int64_t *values,
							  CScanDamage *damage);

#endif							/* CSCAN_SERIES_H */
