/*-------------------------------------------------------------------------
 *
 * test_layout.c
 *		The places of columns in a chunk: of random layouts, any columns are
 *		found as runs that have their places and no others.
 *
 *-------------------------------------------------------------------------
 */
#include "harness.h"

static Random random = {1};

/* A layout of columns that have so many blocks; each has more places. */
static bool
make(CScanLayout *layout, uint32_t ncolumns)
{
	uint32_t	nblocks[CSCAN_LAYOUT_COLUMNS];
	bool		room = true;

	for (uint32_t c = 0; c < ncolumns; c++)
		nblocks[c] = random_below(&random, 30);
	cscan_layout_make(layout, nblocks, ncolumns);
	for (uint32_t c = 0; c < ncolumns; c++)
		room &= cscan_layout_size(layout, c) > nblocks[c];
	return room;
}

/* Some columns of a chunk, as runs. */
static bool
has_right_runs(const CScanLayout *layout)
{
	CScanSpace	space;
	CScanPlace	place;
	CScanPieces columns = {{random_next(&random) & cscan_layout_all(layout)}};
	CScanRun	run = {0, 0, 0};
	uint64_t	found = 0;
	uint32_t	last = 0;
	uint32_t	cost = 0;
	uint32_t	chunk = random_below(&random, 5);

	cscan_space_begin(&space, cscan_layout_blocks(layout));
	space.columns = *layout;
	space.nchunks = 5;
	space.extent = 5 * space.chunk_blocks;
	place = cscan_space_place(&space, chunk);
	if (cscan_space_npieces(&space, chunk) != layout->ncolumns)
		return false;
	while (cscan_place_next_run(&place, &columns, &run))
	{
		if (run.end <= run.first || run.first != place.first + run.place || (cost > 0 && run.first <= last))
			return false;
		for (uint32_t c = 0; c < layout->ncolumns; c++)
		{
			if (run.place <= layout->begin[c] && place.first + layout->begin[c + 1] <= run.end)
				found |= UINT64_C(1) << c;
		}
		last = run.end;
		cost += run.end - run.first;
	}
	return found == columns.word[0] && cost == cscan_layout_cost(layout, found) && last <= place.end;
}

void
test_layout(void)
{
	bool		runs = true;
	bool		room = true;

	for (int i = 0; i < 20000; i++)
	{
		CScanLayout layout;

		room &= make(&layout, 1 + random_below(&random, CSCAN_LAYOUT_COLUMNS));
		runs &= has_right_runs(&layout);
	}
	ok(room, "layout: each column has more places than the sample showed");
	ok(runs, "layout: runs have the places of the columns asked for, and no others");
}
