/*-------------------------------------------------------------------------
 *
 * space.h
 *		A space: a numbered list of logical chunks, and where they are stored.
 *
 * A *chunk* is a list of *runs* of blocks, with a cost in blocks.  A *piece*
 * is a part of a chunk that can be there without the rest.  Only this layer
 * knows which blocks a chunk has: the pool counts chunks and costs, the loader
 * and the scan take runs.
 *
 * A table's heap is a space whose chunks are runs of chunk_blocks consecutive
 * blocks.  A piece is one block, or several in a very large chunk.  A space's
 * extent is the number of its blocks known so far.  It only grows while the
 * space has scans.
 *
 * In a *columnar* space, that of an index of columns, a chunk is a row group
 * and a piece is a column.  Its blocks are places in a layout (layout.h).  The
 * caller knows where they are stored.  Its extent is one of whole chunks.
 *
 * Chunks are numbered through all spaces of a pool, so a set of chunks may be
 * of several spaces.  A space's numbers begin at first_chunk.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CSCAN_SPACE_H
#define CSCAN_SPACE_H

#include <stdbool.h>
#include <stdint.h>

#include "layout.h"
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

/* Consecutive blocks, and their place in the chunk. */
typedef struct CScanRun
{
	uint32_t	first;			/* first block; end 0: before the first run */
	uint32_t	end;			/* the block behind the last one */
	uint32_t	place;			/* of first, in 0..the chunk's cost - 1 */
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
	int32_t		nscans;			/* scans that have announced an interest */
	uint32_t	first_chunk;	/* number of its first chunk */
	uint32_t	nchunks;		/* numbers that it has */
	uint32_t	device;			/* its device, < CSCAN_MAX_DEVICES */
	uint32_t	chunk_blocks;	/* blocks in a chunk */
	uint32_t	piece_blocks;	/* blocks in a piece of a chunk */
	uint32_t	extent;			/* the most blocks that a live scan has seen */
	uint32_t	cursor;			/* chunk that follows the last one loaded */
	uint64_t	last_load;		/* number of that load, 0: none so far */
	CScanLayout columns;		/* of a columnar space */
} CScanSpace;

/* Where a chunk is: a copy, valid without the lock (cscan_place_next_run). */
typedef struct CScanPlace
{
	uint32_t	first;			/* its blocks, up to the space's extent */
	uint32_t	end;
	uint32_t	piece_blocks;
	const CScanLayout *columns; /* of a columnar space, as long as it exists;
								 * else NULL */
} CScanPlace;

static inline bool
cscan_space_is_columnar(const CScanSpace *space)
{
	return space->columns.ncolumns > 0;
}

/* Begin a space of chunks of chunk_blocks blocks; the caller sets numbers. */
extern void cscan_space_begin(CScanSpace *space, uint32_t chunk_blocks);

/* The number of chunks, of chunk_blocks each, that nblocks blocks take. */
extern uint32_t cscan_space_chunks_for(uint32_t chunk_blocks, uint32_t nblocks);

/*
 * Return chunk_blocks, doubled until nblocks blocks take at most
 * CSCAN_MAX_CHUNKS chunks.  Capacity is the blocks that a space's chunks can
 * hold.
 */
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
	CScanPlace	place = {cscan_space_first_block(space, chunk), space->extent, space->piece_blocks,
	cscan_space_is_columnar(space) ? &space->columns : NULL};

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

/* The cost (blocks) of nchunks chunks that lie within the space's extent. */
static inline uint64_t
cscan_space_whole_cost(const CScanSpace *space, uint32_t nchunks)
{
	return (uint64_t) nchunks * space->chunk_blocks;
}

extern uint32_t cscan_space_npieces(const CScanSpace *space, uint32_t chunk);

/* A chunk's blocks, as if the space went on behind its extent. */
extern CScanRange cscan_space_blocks(const CScanSpace *space, uint32_t chunk);

/*
 * Get the part of a range of blocks that is in a chunk, counted from the
 * chunk's first block.  False if there is none.
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

/*
 * The following three are for a table's chunks.  The piece that a block is in;
 * mostly a piece is one block.
 */
static inline uint32_t
cscan_piece_of(const CScanSpace *space, uint32_t block)
{
	return space->piece_blocks == 1 ? block : block / space->piece_blocks;
}

/* Add the pieces that hold these blocks of a chunk; are all of them there? */
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
 * The loaded piece that the space has grown into since its extent was "end",
 * or CSCAN_MAX_PIECES if there is none.
 */
extern uint32_t cscan_space_growing_piece(const CScanPlace *place, const CScanPieces *loaded,
										  uint32_t end);

/* Blocks of that piece that were there. */
extern uint32_t cscan_space_blocks_before(const CScanPlace *place, uint32_t end);

/* Take out the pieces beyond the extent. */
extern void cscan_place_clip(const CScanPlace *place, CScanPieces *pieces);

/*
 * The runs of some pieces of a chunk, one at a time and in order.  *run is
 * empty (end = 0) at first; false if none is left.
 */
extern bool cscan_place_next_run(const CScanPlace *place, const CScanPieces *pieces, CScanRun *run);

extern bool cscan_pieces_empty(const CScanPieces *pieces);

#endif							/* CSCAN_SPACE_H */
