/*-------------------------------------------------------------------------
 *
 * keep.c
 *		See keep.h.
 *
 *-------------------------------------------------------------------------
 */
#include "keep.h"

#include <string.h>

/*
 * One in this many chunks whose place is taken replaces the chunk there.  So
 * chunks that are never loaded again go in the end.
 */
#define REPLACE_EVERY	16

#define SHARE_GROWS_BY	1.25
#define SHARE_FALLS_BY	4.0
#define LEAST_SHARE		(1.0 / 64)

void
cscan_keep_begin(CScanKeep *keep)
{
	memset(keep, 0, sizeof(*keep));
	keep->share = 1.0;
}

static void
change_share(CScanKeep *keep, bool there)
{
	if (there)
		keep->share *= SHARE_GROWS_BY;
	else
		keep->share /= SHARE_FALLS_BY;
	if (keep->share > 1.0)
		keep->share = 1.0;
	if (keep->share < LEAST_SHARE)
		keep->share = LEAST_SHARE;
}

bool
cscan_keep(CScanKeep *keep, uint64_t name, uint32_t nblocks, bool there)
{
	CScanLetIn *place = &keep->let_in[name % CSCAN_KEEP_PLACES];

	if (place->nblocks != 0 && place->name == name)
	{
		/* A load of another part of the chunk tells nothing. */
		if (place->nblocks == nblocks)
			change_share(keep, there);
		place->nblocks = 0;
	}
	if (there)
		return true;
	keep->due += keep->share;
	if (keep->due < 1.0)
		return false;
	keep->due -= 1.0;
	return true;
}

void
cscan_keep_remember(CScanKeep *keep, uint64_t name, uint32_t nblocks)
{
	CScanLetIn *place = &keep->let_in[name % CSCAN_KEEP_PLACES];

	if (place->nblocks != 0 && ++keep->ncollisions % REPLACE_EVERY != 0)
		return;
	place->name = name;
	place->nblocks = nblocks;
}
