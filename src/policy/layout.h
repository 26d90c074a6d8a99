/*-------------------------------------------------------------------------
 *
 * layout.h
 *		Which places the columns of a row group have in a chunk.
 *
 * The chunks of a columnar space (space.h) have one size.  So a layout gives
 * each column as many places as it has blocks in most row groups, and some
 * more.  In a group where it has fewer, the other places are empty.  Where it
 * has more, the rest has no place, and scans read it for themselves.
 *
 * A set of columns is a word: the lowest bit stands for column 0.
 *
 * Plain C: who makes a layout knows where the blocks are.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CSCAN_LAYOUT_H
#define CSCAN_LAYOUT_H

#include <stdint.h>

/* The columns of an index, and one that has the number of rows of each block. */
#define CSCAN_LAYOUT_COLUMNS	33

typedef struct CScanLayout
{
	uint32_t	ncolumns;		/* 0: there is no layout */
	uint32_t	begin[CSCAN_LAYOUT_COLUMNS + 1];	/* column c has the places
													 * begin[c] to
													 * begin[c + 1] - 1 */
} CScanLayout;

/* Give each column a quarter more places than its blocks, at least one. */
extern void cscan_layout_make(CScanLayout *layout, const uint32_t *nblocks, uint32_t ncolumns);

/* Places of a chunk, and of a column. */
static inline uint32_t
cscan_layout_blocks(const CScanLayout *layout)
{
	return layout->begin[layout->ncolumns];
}

static inline uint32_t
cscan_layout_size(const CScanLayout *layout, uint32_t column)
{
	return layout->begin[column + 1] - layout->begin[column];
}

/* The set of all columns. */
static inline uint64_t
cscan_layout_all(const CScanLayout *layout)
{
	return ~(UINT64_MAX << layout->ncolumns);
}

/* Places of the columns of a set. */
static inline uint32_t
cscan_layout_cost(const CScanLayout *layout, uint64_t columns)
{
	uint32_t	cost = 0;

	for (; columns != 0; columns &= columns - 1)
		cost += cscan_layout_size(layout, (uint32_t) __builtin_ctzll(columns));
	return cost;
}

#endif							/* CSCAN_LAYOUT_H */
