/*-------------------------------------------------------------------------
 *
 * layout.c
 *		See layout.h.
 *
 *-------------------------------------------------------------------------
 */
#include "layout.h"

void
cscan_layout_make(CScanLayout *layout, const uint32_t *nblocks, uint32_t ncolumns)
{
	layout->ncolumns = ncolumns;
	layout->begin[0] = 0;
	for (uint32_t c = 0; c < ncolumns; c++)
		layout->begin[c + 1] = layout->begin[c] + nblocks[c] + nblocks[c] / 4 + 1;
}

uint32_t
cscan_layout_stripes(const CScanLayout *layout, const int *columns, uint32_t ncolumns, CScanRange *stripes)
{
	uint32_t	n = 0;

	for (uint32_t i = 0; i < ncolumns; i++)
	{
		uint32_t	first = layout->begin[columns[i]];

		if (n > 0 && stripes[n - 1].end == first)
			n--;
		else
			stripes[n].first = first;
		stripes[n++].end = layout->begin[columns[i] + 1];
	}
	return n;
}

bool
cscan_layout_part(const CScanLayout *layout, uint32_t column, uint32_t nblocks, CScanRange places,
				  CScanRange *part, uint32_t *skipped)
{
	uint32_t	begin = layout->begin[column];
	uint32_t	end = layout->begin[column + 1];

	if (nblocks < end - begin)
		end = begin + nblocks;
	part->first = places.first > begin ? places.first : begin;
	part->end = places.end < end ? places.end : end;
	if (part->first >= part->end)
		return false;
	*skipped = part->first - begin;
	return true;
}
