/*-------------------------------------------------------------------------
 *
 * tapes.c
 *		What finds no memory, divided among tapes by a hash (tapes.h).
 *
 * That is what PostgreSQL's HashAgg does (nodeAgg.c).
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "common/hashfn.h"
#include "utils/memutils.h"

#include "aggregate/tapes.h"

/* Tapes that are written at a time; each has a block of memory. */
#define MIN_PARTS	4
#define MAX_PARTS	64

struct CScanTapePart
{
	LogicalTape *tape;			/* NULL: nothing has been written */
	uint32		level;			/* how often its contents have been divided */
};

void
cscan_tapes_begin(CScanTapes *tapes, MemoryContext context, Size limit, uint64 *count)
{
	memset(tapes, 0, sizeof(CScanTapes));
	tapes->context = context;
	tapes->limit = limit;
	tapes->count = count;
}

static void
begin_parts(CScanTapes *tapes)
{
	if (tapes->set == NULL)
		tapes->set = LogicalTapeSetCreate(true, NULL, -1);
	/* With a block each they have a fourth of the memory at most. */
	tapes->nparts = MIN_PARTS;
	while (tapes->nparts < MAX_PARTS && tapes->nparts * 8 * BLCKSZ < tapes->limit)
		tapes->nparts *= 2;
	tapes->parts = palloc(tapes->nparts * sizeof(CScanTapePart *));
	for (uint32 i = 0; i < tapes->nparts; i++)
	{
		tapes->parts[i] = palloc0(sizeof(CScanTapePart));
		tapes->parts[i]->level = tapes->level + 1;
	}
}

LogicalTape *
cscan_tapes_choose(CScanTapes *tapes, uint32 hash)
{
	MemoryContext old = MemoryContextSwitchTo(tapes->context);
	CScanTapePart *part;

	if (tapes->parts == NULL)
		begin_parts(tapes);

	/* What comes from one tape is divided by another hash. */
	part = tapes->parts[murmurhash32(hash + tapes->level * 0x9E3779B9U) % tapes->nparts];
	if (part->tape == NULL)
	{
		part->tape = LogicalTapeCreate(tapes->set);
		(*tapes->count)++;
	}
	MemoryContextSwitchTo(old);
	return part->tape;
}

void
cscan_tapes_write(CScanTapes *tapes, LogicalTape *tape, const void *bytes, size_t size)
{
	/* The tape's buffer is made when it is first written. */
	MemoryContext old = MemoryContextSwitchTo(tapes->context);

	LogicalTapeWrite(tape, unconstify(void *, bytes), size);
	MemoryContextSwitchTo(old);
}

LogicalTape *
cscan_tapes_next(CScanTapes *tapes)
{
	MemoryContext old = MemoryContextSwitchTo(tapes->context);
	CScanTapePart *part;

	for (uint32 i = 0; tapes->parts && i < tapes->nparts; i++)
	{
		if (tapes->parts[i]->tape == NULL)
			continue;
		LogicalTapeRewindForRead(tapes->parts[i]->tape, BLCKSZ);
		tapes->waiting = lcons(tapes->parts[i], tapes->waiting);
	}
	tapes->parts = NULL;
	MemoryContextSwitchTo(old);
	if (tapes->waiting == NIL)
		return NULL;
	part = linitial(tapes->waiting);
	tapes->waiting = list_delete_first(tapes->waiting);
	tapes->level = part->level;
	return part->tape;
}

bool
cscan_tapes_read(CScanTapes *tapes, LogicalTape *tape, void *bytes, size_t size, bool may_end)
{
	/* Its buffer is made when it is first read, too. */
	MemoryContext old = MemoryContextSwitchTo(tapes->context);
	size_t		n = LogicalTapeRead(tape, bytes, size);

	MemoryContextSwitchTo(old);
	if (n == size || (n == 0 && may_end))
		return n == size;
	ereport(ERROR,
			(errcode_for_file_access(),
			 errmsg("unexpected EOF in a temporary file of a CScan Aggregate: requested %zu bytes, read %zu bytes", size, n)));
	return false;
}

void
cscan_tapes_end(CScanTapes *tapes)
{
	if (tapes->set)
		LogicalTapeSetClose(tapes->set);
	MemoryContextReset(tapes->context);
	tapes->set = NULL;
	tapes->parts = NULL;
	tapes->waiting = NIL;
	tapes->level = 0;
}
