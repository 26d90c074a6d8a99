/*-------------------------------------------------------------------------
 *
 * space.h
 *		A space: a numbered list of logical chunks, and where they are stored.
 *
 * A *chunk* is a list of *runs* of blocks, with a cost in blocks.  Its *pieces*
 * are what can be there or not by itself.  Which blocks a chunk has is known here
 * only: the pool counts chunks and what they cost, the loader and the scan take runs.
 *
 * There is one kind of space so far, a table's heap.  Its chunks are runs of
 * chunk_blocks consecutive blocks; a piece is one block, or a few in chunks of
 * very many.  The space's extent is the number of blocks that are known of: it
 * only grows while the space has scans.
 *
 * Chunks are numbered through all spaces of a pool, so that a set of chunks may
 * be of several spaces: a space has the numbers from first_chunk on.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CSCAN_SPACE_H
#define CSCAN_SPACE_H

#include <stdbool.h>
#include <stdint.h>

#include "sets.h"

/* A space has at most this many chunks; chunks of larger tables are larger. */
#define CSCAN_MAX_CHUNKS	65536

/* A chunk has at most this many pieces. */
#define CSCAN_MAX_PIECES	512
#define CSCAN_PIECE_WORDS	(CSCAN_MAX_PIECES / 64)

/* A set of a chunk's pieces. */
typedef struct CScanPieces
{
	uint64_t	word[CSCAN_PIECE_WORDS];
} CScanPieces;

/* Blocks first..end - 1 of a table. */
typedef struct CScanRange
{
	uint32_t	first;
	uint32_t	end;
} CScanRange;

/* Blocks that follow one another, and where in their chunk they are. */
typedef struct CScanRun
{
	uint32_t	first;			/* block; with end = 0: before the first run */
	uint32_t	end;			/* the block behind the last one */
	uint32_t	place;			/* of the first one, in 0..the chunk's cost - 1 */
} CScanRun;

/* May the chunks of a space be loaded? */
typedef enum CScanAccess
{
	CSCAN_ACCESS_UNKNOWN,		/* not yet */
	CSCAN_ACCESS_GRANTED,		/* yes */
	CSCAN_ACCESS_REFUSED		/* no: its scans read for themselves */
} CScanAccess;

typedef struct CScanSpace
{
	bool		used;			/* entry is taken */
	uint8_t		access;			/* a CScanAccess */
	int32_t		nscans;			/* scans that are, or will be, interested */
	uint32_t	first_chunk;	/* its chunks have the numbers from here on, */
	uint32_t	nchunks;		/* so many at most */
	uint32_t	device;			/* that it is stored on, < CSCAN_MAX_DEVICES */
	uint32_t	chunk_blocks;	/* blocks in a chunk */
	uint32_t	piece_blocks;	/* blocks in a piece of a chunk */
	uint32_t	extent;			/* the most blocks that a live scan has seen */
	uint32_t	cursor;			/* chunk that follows the last one loaded */
	uint64_t	last_load;		/* number of that load, 0: none so far */
} CScanSpace;

/* Where a chunk is: a copy, good without the lock.  See cscan_place_next_run(). */
typedef struct CScanPlace
{
	uint32_t	first;			/* its blocks, as far as the space's extent goes */
	uint32_t	end;
	uint32_t	piece_blocks;
} CScanPlace;

/* A space of chunks of so many blocks; the caller sets its numbers. */
extern void cscan_space_begin(CScanSpace *space, uint32_t chunk_blocks);

/* Chunks of so many blocks, and blocks that its chunks can hold at most. */
extern uint32_t cscan_space_chunks_for(uint32_t chunk_blocks, uint32_t nblocks);

/* Blocks in a chunk where chunks of so many would be too many: twice that, and so on. */
extern uint32_t cscan_space_chunk_blocks_for(uint32_t chunk_blocks, uint32_t nblocks);
extern uint64_t cscan_space_capacity(const CScanSpace *space);

/* The number of the chunk that a block is in. */
extern uint32_t cscan_space_chunk_of(const CScanSpace *space, uint32_t block);

/* A chunk's first block, place, cost in blocks, and number of pieces. */
static inline uint32_t
cscan_space_first_block(const CScanSpace *space, uint32_t chunk)
{
	return (chunk - space->first_chunk) * space->chunk_blocks;
}

static inline CScanPlace
cscan_space_place(const CScanSpace *space, uint32_t chunk)
{
	CScanPlace	place = {cscan_space_first_block(space, chunk), space->extent, space->piece_blocks};

	if (place.end < place.first)
		place.end = place.first;
	if (place.end - place.first > space->chunk_blocks)
		place.end = place.first + space->chunk_blocks;
	return place;
}

static inline uint32_t
cscan_space_cost(const CScanSpace *space, uint32_t chunk)
{
	CScanPlace	place = cscan_space_place(space, chunk);

	return place.end - place.first;
}

/* What so many of its chunks cost that are before its extent as a whole. */
static inline uint64_t
cscan_space_whole_cost(const CScanSpace *space, uint32_t nchunks)
{
	return (uint64_t) nchunks * space->chunk_blocks;
}

extern uint32_t cscan_space_npieces(const CScanSpace *space, uint32_t chunk);

/* Its blocks, were the space to go on behind its extent. */
extern CScanRange cscan_space_blocks(const CScanSpace *space, uint32_t chunk);

/*
 * The part of a range of blocks that is in a chunk, as blocks of the chunk;
 * false if there is none.
 */
static inline bool
cscan_space_within(const CScanSpace *space, uint32_t chunk, CScanRange range, CScanRange *within)
{
	uint32_t	base = cscan_space_first_block(space, chunk);

	if (range.end <= base || (range.first >= base && range.first - base >= space->chunk_blocks))
		return false;
	within->first = range.first > base ? range.first - base : 0;
	within->end = range.end - base < space->chunk_blocks ? range.end - base : space->chunk_blocks;
	return true;
}

/* The piece that a block of a chunk is in; mostly it is the block's own. */
static inline uint32_t
cscan_piece_of(const CScanSpace *space, uint32_t block)
{
	return space->piece_blocks == 1 ? block : block / space->piece_blocks;
}

/* Add the pieces that have these blocks of a chunk; are they all there? */
static inline void
cscan_space_add_pieces(const CScanSpace *space, CScanRange within, CScanPieces *pieces)
{
	cscan_set_add_range(pieces->word, cscan_piece_of(space, within.first),
						cscan_piece_of(space, within.end - 1));
}

static inline bool
cscan_space_has_pieces(const CScanSpace *space, CScanRange within, const CScanPieces *pieces)
{
	uint32_t	last = cscan_piece_of(space, within.end - 1);

	for (uint32_t p = cscan_piece_of(space, within.first); p <= last; p = (p / 64 + 1) * 64)
	{
		if (~pieces->word[p / 64] & cscan_word_bits(p, last))
			return false;
	}
	return true;
}

/*
 * A piece that was there up to the space's former extent, "end", and that the
 * space has grown into since: its number, or CSCAN_MAX_PIECES if there is none.
 */
extern uint32_t cscan_space_growing_piece(const CScanPlace *place, const CScanPieces *loaded,
										  uint32_t end);

/* Blocks of that piece that were there. */
extern uint32_t cscan_space_blocks_before(const CScanPlace *place, uint32_t end);

/* Take out pieces beyond the extent. */
extern void cscan_place_clip(const CScanPlace *place, CScanPieces *pieces);

/*
 * The runs of some pieces of a chunk, one at a time and in order.  *run is empty
 * (end = 0) at first; false if there is none left.
 */
extern bool cscan_place_next_run(const CScanPlace *place, const CScanPieces *pieces, CScanRun *run);

/* Is the set empty? */
extern bool cscan_pieces_empty(const CScanPieces *pieces);

#endif							/* CSCAN_SPACE_H */
