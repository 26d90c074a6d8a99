/*-------------------------------------------------------------------------
 *
 * read_ahead.c
 *		The coming pages of a chunk that a CScan reads itself.
 *
 *		read_ahead		before a page is pinned: see to it that those behind it
 *						are on their way
 *		end				give back what was read ahead
 *
 * A chunk from the ABM is in shared buffers, where each page is a hit.  A chunk
 * that the scan reads itself comes from storage, as quickly as in PostgreSQL's
 * own scans:
 *
 *		15, 16	the kernel reads ahead of consecutive blocks; a bitmap's pages
 *				get advice, one by one
 *		17		a read stream over the rest of the chunk: vectored reads
 *		18, 19	the same: asynchronous reads
 *
 * Invariant: a stream reads blocks of one chunk only.  It ends with the chunk,
 * before the scan asks for another one, and whenever the scan begins again or
 * turns round.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "utils/spccache.h"

#include "exec/exec.h"
#include "fault.h"

/* Choose the next block of the rest, and take it out. */
static BlockNumber
choose_block(CScanState *node)
{
	CScanRange *rest = &node->ahead.rest;
	BlockNumber block = rest->first;

	if (!node->ahead.forward)
		return rest->end > rest->first ? --rest->end : InvalidBlockNumber;
	if (node->kind == CSCAN_BITMAP)
		block = cscan_pages_next(node->pages, &node->ahead.entry, rest->first, rest->end);
	if (block >= rest->end)
		return InvalidBlockNumber;
	rest->first = block + 1;
	return block;
}

static void
begin(CScanState *node, CScanRange rest, bool forward)
{
	CScanAhead *ahead = &node->ahead;

	ahead->begun = true;
	ahead->rest = rest;
	ahead->forward = forward;
	ahead->entry = node->entry;
}

#if CSCAN_HAVE_VECTORED_IO

static BlockNumber
stream_callback(ReadStream *stream, void *callback_private_data, void *per_buffer_data)
{
	(void) stream;
	(void) per_buffer_data;
	CSCAN_FAULT(CSCAN_FAULT_AHEAD);
	return choose_block(callback_private_data);
}

/*
 * Begin a stream over the rest.  If only the first rows may be wanted, it reads
 * further ahead as the scan goes on; else it does so from the beginning.
 * Consecutive blocks of a table are left to the kernel's read-ahead, as in
 * PostgreSQL's scans.
 */
static ReadStream *
begin_stream(CScanState *node)
{
	MemoryContext old = MemoryContextSwitchTo(node->css.ss.ps.state->es_query_cxt);
	int			flags = READ_STREAM_USE_BATCHING;
	ReadStream *stream;

	if (node->kind != CSCAN_BITMAP)
		flags |= READ_STREAM_SEQUENTIAL;
	if (node->ahead.forward && node->ahead.rest.first >= node->head)
		flags |= READ_STREAM_FULL;
	stream = read_stream_begin_relation(flags, ((HeapScanDesc) node->scan)->rs_strategy,
										node->css.ss.ss_currentRelation, MAIN_FORKNUM,
										stream_callback, node, 0);
	MemoryContextSwitchTo(old);
	return stream;
}

ReadStream *
cscan_read_ahead(CScanState *node, CScanRange rest, bool forward)
{
	CScanAhead *ahead = &node->ahead;

	if (ahead->begun && ahead->forward != forward)
		cscan_read_ahead_end(node);
	if (!ahead->begun)
	{
		/* Many a scan that may stop early stops on its first page. */
		if (forward && rest.first == node->span.first && rest.first < node->head)
			return NULL;
		begin(node, rest, forward);
		ahead->stream = begin_stream(node);
	}
	return ahead->stream;
}

void
cscan_read_ahead_end(CScanState *node)
{
	if (node->ahead.stream)
		read_stream_end(node->ahead.stream);
	node->ahead.stream = NULL;
	node->ahead.begun = false;
}

#else							/* 15, 16 */

ReadStream *
cscan_read_ahead(CScanState *node, CScanRange rest, bool forward)
{
	Relation	rel = node->css.ss.ss_currentRelation;
	CScanAhead *ahead = &node->ahead;
	BlockNumber block;
	int			distance;

	/* The kernel reads ahead of consecutive blocks. */
	if (node->kind != CSCAN_BITMAP)
		return NULL;
	if (!ahead->begun)
		begin(node, rest, forward);

	/*
	 * The page that is read now needs no advice, whether it has had any or
	 * not.
	 */
	if (ahead->advised > 0)
		ahead->advised--;
	else
		(void) choose_block(node);

	/*
	 * Advise on each page, as PostgreSQL does, on consecutive ones, too.  If
	 * the kernel finds out by itself that they follow each other, it reads
	 * far ahead of them, over pages that the bitmap does not have.
	 */
	distance = get_tablespace_io_concurrency(rel->rd_rel->reltablespace);
	while (ahead->advised < distance && (block = choose_block(node)) != InvalidBlockNumber)
	{
		CSCAN_FAULT(CSCAN_FAULT_AHEAD);
		(void) PrefetchBuffer(rel, MAIN_FORKNUM, block);
		ahead->advised++;
	}
	return NULL;
}

void
cscan_read_ahead_end(CScanState *node)
{
	node->ahead.begun = false;
	node->ahead.advised = 0;
}

#endif
