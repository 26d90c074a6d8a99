/*-------------------------------------------------------------------------
 *
 * string_body.h
 *		The body of a run of strings.
 *
 *	constant	a dictionary of one entry
 *	dictionary	and a series of codes
 *	plain		a series of lengths, and all bytes
 *	lz4, zstd	a series of lengths, and the bytes in frames
 *
 * A null row has no bytes, whatever its length in the series: that of the row
 * before it.  So strings of one length keep it.
 *
 * A frame has the bytes of as many vectors as fit into 64 kB, or of one whose
 * strings are longer.  So no vector lies in two frames, and none is
 * decompressed twice if they are read in order.
 *
 * A plan measures the lengths, and finds the distinct strings (distinct.h).
 * If compression is wanted it compresses frame after frame.  It stops once the
 * frames cannot save an eighth of the best size so far and a page, or if the
 * first eight frames do not shrink by a sixteenth.  What it has compressed it
 * keeps, so its size is exact.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CSCAN_STRING_BODY_H
#define CSCAN_STRING_BODY_H

#include "dictionary.h"

typedef struct CScanStringsPlan
{
	CScanEncoding encoding;
	size_t		size;			/* exact, in bytes */
	uint32_t	ndistinct;		/* distinct values, 0: unknown */
	CScanStrings strings;
	CScanSeriesPlan lengths;	/* its source has the extremes */
	CScanSeriesPlan codes;
	CScanDistinct distinct;
	uint32_t	nframes;
	size_t		frames_size;

	/* In the caller's memory. */
	uint32_t   *ends;			/* per vector: where its bytes end in all */
	uint32_t   *frames;			/* per frame: vectors, and size, up to its end */
	uint8_t    *bytes;			/* of a frame */
	uint8_t    *compressed;		/* all frames */
} CScanStringsPlan;

typedef struct CScanStringsBody
{
	CScanEncoding encoding;
	uint32_t	n;
	CScanDictionary dictionary;
	CScanSeries lengths;
	const uint8_t *run;			/* the run's first byte */
	const uint8_t *ends;		/* per vector */
	const uint8_t *bytes;		/* plain: all of them */
	uint32_t	nframes;
	const uint8_t *frames;		/* per frame: vectors, and size, up to its end */
	const uint8_t *compressed;	/* all frames */
	size_t		scratch_size;	/* of the largest frame that is compressed */
	uint8_t    *scratch;		/* the caller's */
	uint32_t	in_scratch;		/* the frame that is there, or nframes */
} CScanStringsBody;

/*
 * Get the memory that a plan needs, aligned to 8; 0 if the strings are too
 * long.  The codec is CSCAN_ENCODING_LZ4 or _ZSTD, or _NONE.
 */
extern size_t cscan_strings_memory(const CScanStrings *strings, CScanEncoding codec);

/*
 * Choose an encoding for strings of which one is not null.  The memory and the
 * strings are used until they are written.
 */
extern void cscan_strings_plan(CScanStringsPlan *plan, const CScanStrings *strings, CScanEncoding codec,
							   void *memory);
extern uint8_t *cscan_strings_write(const CScanStringsPlan *plan, uint8_t *out);

extern bool cscan_strings_open(CScanStringsBody *body, CScanEncoding encoding, uint32_t n,
							   CScanCursor *cursor);

/*
 * Decode a vector: where its strings are, in the run or in the scratch, and
 * their lengths.  "nulls" are the vector's, or NULL.
 */
extern bool cscan_strings_read(CScanStringsBody *body, uint32_t vector, const uint64_t *nulls,
							   const uint8_t **strings, uint32_t *lengths, CScanDamage *damage);

#endif							/* CSCAN_STRING_BODY_H */
