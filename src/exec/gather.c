/*-------------------------------------------------------------------------
 *
 * gather.c
 *		A CScan or a family below a Gather: what the leader sets up and the
 *		workers find.
 *
 * These are the node's callbacks for parallel plans.  The leader finds out
 * what is to be read and registers it when it sets up the shared memory,
 * before there are workers.  Only the leader makes bitmaps.  A family is
 * registered as a whole when the leader comes to its first member, the host.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "access/tableam.h"

#include "exec/exec.h"

Size
cscan_gather_estimate(CustomScanState *css, ParallelContext *pcxt)
{
	return cscan_parallel_size((CScanState *) css, pcxt->nworkers);
}

/*
 * Find out what is to be read and register it.  A family's host does so for
 * all members.
 */
static void
begin(CScanState *node)
{
	const CScanRegistration *family = NULL;

	if (node->host == NULL)
	{
		cscan_chunks_reset(node);
		if (node->columns)
			cscan_columns_reset(node);
		cscan_blocks_find(node);
		node->head = 0;
		if (node->first_rows && node->nranges > 0)
			node->head = cscan_blocks_head(node);
		cscan_blocks_register(node, true);
	}
	else
	{
		if (node->host == node)
			family = cscan_family_begin_leader(node->family);

		/* Workers divide the bitmap of a member that is not announced. */
		if (node->kind == CSCAN_BITMAP && !node->found && !cscan_family_has_pruned(node))
			cscan_blocks_find(node);
	}
	cscan_parallel_publish(node, family);
}

void
cscan_gather_initialize(CustomScanState *css, ParallelContext *pcxt, void *coordinate)
{
	CScanState *node = (CScanState *) css;

	Assert(node->reg == NULL || node->by_family);
	cscan_parallel_begin_leader(node, coordinate, pcxt->nworkers);
	begin(node);
}

/* The workers of the last pass have ended. */
void
cscan_gather_reinitialize(CustomScanState *css, ParallelContext *pcxt, void *coordinate)
{
	CScanState *node = (CScanState *) css;

	(void) pcxt;
	(void) coordinate;
	if (node->parallel == NULL)
		return;
	cscan_parallel_collect(node);
	cscan_parallel_begin_again(node);

	/*
	 * The node itself has not been told of a rescan yet.  The values in its
	 * conditions stay the same (rewrite.c sees to that).
	 */
	if (node->host == NULL)
	{
		if (node->reg)
			cscan_registry_rest(node->reg);
		if (outerPlanState(css))
			ExecReScan(outerPlanState(css));
	}
	begin(node);
}

void
cscan_gather_attach(CustomScanState *css, shm_toc *toc, void *coordinate)
{
	CScanState *node = (CScanState *) css;

	(void) toc;
	node->parallel = coordinate;
	if (node->family)
		cscan_family_take_choice(node->family);
}

/* The shared memory is about to go. */
void
cscan_gather_shutdown(CustomScanState *css)
{
	CScanState *node = (CScanState *) css;

	if (node->parallel == NULL)
		return;
	if (node->leader)
		cscan_parallel_collect(node);
	else
		cscan_parallel_count(node);
	if (node->host)
		cscan_family_leave(node->family);
	else
		cscan_blocks_leave(node);
	if (node->leader)
		cscan_parallel_close(node);
	node->parallel = NULL;
	node->leader = false;
	node->finished = true;
}
