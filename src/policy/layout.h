/*-------------------------------------------------------------------------
 *
 * layout.h
 *		Which places the columns of a row group have in a chunk.
 *
 * The chunks of a striped space (space.h) have one size.  So a layout gives
 * each column as many places as it has blocks in most row groups, and some
 * more.  In a group where it has fewer, the other places are empty.  Where it
 * has more, the rest has no place, and scans read it for themselves.
 *
 * Plain C: who makes a layout knows where the blocks are.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CSCAN_LAYOUT_H
#define CSCAN_LAYOUT_H

#include "space.h"

/* The columns of an index, and one that has the number of rows of each block. */
#define CSCAN_LAYOUT_COLUMNS	33

typedef struct CScanLayout
{
	uint32_t	ncolumns;
	uint32_t	begin[CSCAN_LAYOUT_COLUMNS + 1];	/* column c has the places
													 * begin[c] to
													 * begin[c + 1] - 1 */
} CScanLayout;

/* Give each column a quarter more places than its blocks, at least one. */
extern void cscan_layout_make(CScanLayout *layout, const uint32_t *nblocks, uint32_t ncolumns);

/* Blocks of a chunk. */
static inline uint32_t
cscan_layout_blocks(const CScanLayout *layout)
{
	return layout->begin[layout->ncolumns];
}

/*
 * Get the places of some columns, which are in order and not the same.  Those
 * that follow one another are one stripe.  Returns the number of stripes.
 */
extern uint32_t cscan_layout_stripes(const CScanLayout *layout, const int *columns, uint32_t ncolumns,
									 CScanRange *stripes);

/*
 * Get what a run of places has of a column that has so many blocks: the places,
 * and in "skipped" the blocks of the column before them.  False if it has none.
 */
extern bool cscan_layout_part(const CScanLayout *layout, uint32_t column, uint32_t nblocks, CScanRange places,
							  CScanRange *part, uint32_t *skipped);

#endif							/* CSCAN_LAYOUT_H */
