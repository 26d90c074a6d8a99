/*-------------------------------------------------------------------------
 *
 * test_layout.c
 *		The places of columns in a chunk: of random layouts, each block of each
 *		column is found once, in order, by whatever runs of places are asked for.
 *
 *-------------------------------------------------------------------------
 */
#include "harness.h"

#include "layout.h"

static Random random = {1};

/* Blocks of each column, when the layout was made and in some group. */
static uint32_t seen[CSCAN_LAYOUT_COLUMNS];
static uint32_t has[CSCAN_LAYOUT_COLUMNS];

static void
make(CScanLayout *layout, uint32_t ncolumns)
{
	for (uint32_t c = 0; c < ncolumns; c++)
	{
		seen[c] = random_below(&random, 30);
		has[c] = random_below(&random, 45);
	}
	cscan_layout_make(layout, seen, ncolumns);
}

/* All columns at once, cut into runs of places that end anywhere. */
static bool
finds_each_block_once(const CScanLayout *layout)
{
	uint32_t	next[CSCAN_LAYOUT_COLUMNS] = {0};
	uint32_t	end = cscan_layout_blocks(layout);
	CScanRange	places = {0, 0};

	while (places.end < end)
	{
		places.first = places.end;
		places.end += 1 + random_below(&random, end - places.end);
		for (uint32_t c = 0; c < layout->ncolumns; c++)
		{
			CScanRange	part;
			uint32_t	skipped;

			if (!cscan_layout_part(layout, c, has[c], places, &part, &skipped))
				continue;
			if (skipped != next[c] || part.first < places.first || part.end > places.end ||
				part.first != layout->begin[c] + skipped)
				return false;
			next[c] = skipped + (part.end - part.first);
		}
	}
	for (uint32_t c = 0; c < layout->ncolumns; c++)
	{
		uint32_t	room = layout->begin[c + 1] - layout->begin[c];

		if (next[c] != (has[c] < room ? has[c] : room))
			return false;
	}
	return true;
}

/* The stripes of some columns hold their places and no others. */
static bool
has_right_stripes(const CScanLayout *layout)
{
	int			columns[CSCAN_LAYOUT_COLUMNS];
	CScanRange	stripes[CSCAN_LAYOUT_COLUMNS];
	uint32_t	ncolumns = 0;
	uint32_t	wanted = 0;
	uint32_t	found = 0;
	uint32_t	nstripes;

	for (uint32_t c = 0; c < layout->ncolumns; c++)
	{
		if (random_below(&random, 2) == 0)
			continue;
		columns[ncolumns++] = (int) c;
		wanted += layout->begin[c + 1] - layout->begin[c];
	}
	nstripes = cscan_layout_stripes(layout, columns, ncolumns, stripes);
	for (uint32_t s = 0; s < nstripes; s++)
	{
		if (stripes[s].first >= stripes[s].end || (s > 0 && stripes[s].first <= stripes[s - 1].end))
			return false;
		found += stripes[s].end - stripes[s].first;
	}
	for (uint32_t i = 0; i < ncolumns; i++)
	{
		bool		within = false;

		for (uint32_t s = 0; s < nstripes; s++)
			within |= stripes[s].first <= layout->begin[columns[i]] && layout->begin[columns[i] + 1] <= stripes[s].end;
		if (!within)
			return false;
	}
	return found == wanted;
}

void
test_layout(void)
{
	bool		blocks = true;
	bool		stripes = true;
	bool		room = true;

	for (int i = 0; i < 20000; i++)
	{
		CScanLayout layout;

		make(&layout, 1 + random_below(&random, CSCAN_LAYOUT_COLUMNS));
		for (uint32_t c = 0; c < layout.ncolumns; c++)
			room &= layout.begin[c + 1] - layout.begin[c] > seen[c];
		blocks &= finds_each_block_once(&layout);
		stripes &= has_right_stripes(&layout);
	}
	ok(room, "layout: each column has more places than the sample showed");
	ok(blocks, "layout: each block that has a place is found once, whatever is asked for");
	ok(stripes, "layout: stripes have the places of their columns, and no others");
}
