/*-------------------------------------------------------------------------
 *
 * space.c
 *		See space.h.  Only these two files multiply a chunk's number by a chunk's
 *		size.
 *
 *-------------------------------------------------------------------------
 */
#include <string.h>

#include "space.h"

void
cscan_space_begin(CScanSpace *space, uint32_t chunk_blocks)
{
	memset(space, 0, sizeof(*space));
	space->used = true;
	space->access = CSCAN_ACCESS_UNKNOWN;
	space->chunk_blocks = chunk_blocks;
	space->piece_blocks = (chunk_blocks - 1) / CSCAN_MAX_PIECES + 1;
}

uint32_t
cscan_space_chunks_for(uint32_t chunk_blocks, uint32_t nblocks)
{
	return nblocks / chunk_blocks + (nblocks % chunk_blocks != 0);
}

uint32_t
cscan_space_chunk_blocks_for(uint32_t chunk_blocks, uint32_t nblocks)
{
	while (cscan_space_chunks_for(chunk_blocks, nblocks) > CSCAN_MAX_CHUNKS)
		chunk_blocks *= 2;
	return chunk_blocks;
}

uint64_t
cscan_space_capacity(const CScanSpace *space)
{
	return (uint64_t) space->nchunks * space->chunk_blocks;
}

uint32_t
cscan_space_chunk_of(const CScanSpace *space, uint32_t block)
{
	return space->first_chunk + block / space->chunk_blocks;
}

CScanRange
cscan_space_blocks(const CScanSpace *space, uint32_t chunk)
{
	CScanRange	blocks = {cscan_space_first_block(space, chunk), UINT32_MAX};

	if (UINT32_MAX - blocks.first > space->chunk_blocks)
		blocks.end = blocks.first + space->chunk_blocks;
	return blocks;
}

static uint32_t
npieces(const CScanPlace *place)
{
	if (place->columns)
		return place->end > place->first ? place->columns->ncolumns : 0;
	return cscan_space_chunks_for(place->piece_blocks, place->end - place->first);
}

/* The place in a chunk at which a piece begins, or the last one ends. */
static uint32_t
begin_of(const CScanPlace *place, uint32_t piece)
{
	uint64_t	begin = place->columns ? place->columns->begin[piece] : (uint64_t) piece * place->piece_blocks;

	return begin < place->end - place->first ? (uint32_t) begin : place->end - place->first;
}

uint32_t
cscan_space_npieces(const CScanSpace *space, uint32_t chunk)
{
	CScanPlace	place = cscan_space_place(space, chunk);

	return npieces(&place);
}

uint32_t
cscan_space_growing_piece(const CScanPlace *place, const CScanPieces *loaded, uint32_t end)
{
	uint32_t	before = end - place->first;
	uint32_t	p = before / place->piece_blocks;

	if (place->columns || end >= place->end || before % place->piece_blocks == 0 ||
		!cscan_set_has(loaded->word, p))
		return CSCAN_MAX_PIECES;
	return p;
}

uint32_t
cscan_space_blocks_before(const CScanPlace *place, uint32_t end)
{
	return (end - place->first) % place->piece_blocks;
}

void
cscan_place_clip(const CScanPlace *place, CScanPieces *pieces)
{
	uint32_t	n = npieces(place);

	for (uint32_t w = n / 64; w < CSCAN_PIECE_WORDS; w++)
		pieces->word[w] &= w == n / 64 ? ~(UINT64_MAX << (n % 64)) : 0;
}

bool
cscan_place_next_run(const CScanPlace *place, const CScanPieces *pieces, CScanRun *run)
{
	int			n = (int) npieces(place);
	uint32_t	from = 0;
	int			first;
	int			end;

	if (run->end != 0 && place->columns == NULL)
		from = (run->end - place->first - 1) / place->piece_blocks + 1;
	else if (run->end != 0)
	{
		while (place->first + place->columns->begin[from] < run->end)
			from++;
	}
	first = cscan_set_next(pieces->word, CSCAN_PIECE_WORDS, from);
	if (first < 0 || first >= n)
		return false;
	end = cscan_set_next_gap(pieces->word, CSCAN_PIECE_WORDS, (uint32_t) first);
	run->place = begin_of(place, (uint32_t) first);
	run->first = place->first + run->place;
	run->end = place->first + begin_of(place, (uint32_t) (end < n ? end : n));
	return true;
}

bool
cscan_pieces_empty(const CScanPieces *pieces)
{
	for (int w = 0; w < CSCAN_PIECE_WORDS; w++)
	{
		if (pieces->word[w] != 0)
			return false;
	}
	return true;
}
