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
