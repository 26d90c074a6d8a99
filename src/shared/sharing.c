/*-------------------------------------------------------------------------
 *
 * sharing.c
 *		What the scans of a table share: see sharing.h.
 *
 * Two things make a page cheaper.  With n other active scans of the table, the
 * next one is likely to find what they have read, or they what it reads: a page
 * costs 1 - n / (2 (n + 1)).  And if of the chunks that the last scans got only
 * a share was read for them, the next one will hardly need more.  The smaller
 * of both counts.  What was seen loses half of its weight every HALF_LIFE, and
 * begins with the weight of some chunks that were not shared.  It never weighs
 * more than MOST_SEEN chunks, so that a busy hour is forgotten as soon as a busy
 * minute.
 *
 * The entries are a small cache with several ways.  An entry of a table without
 * scans may be lost to another one.
 *
 * Invariant: an entry has as many running scans as are registered under its
 * name, or fewer.  The scheduler's lock protects changes.  The planner reads
 * without it: it only guesses.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include <math.h>

#include "common/hashfn.h"

#include "shared/sharing.h"

#define ENTRIES			1024
#define WAYS			8

/* Half of what was seen is forgotten after so long (us). */
#define HALF_LIFE		30000000.0

/* The weight of scans that share nothing, in chunks. */
#define PRIOR			32.0

/* The most that what was seen weighs, in chunks. */
#define MOST_SEEN		256.0

typedef struct CScanSharing
{
	Oid			dbid;
	Oid			relid;			/* InvalidOid: the entry is free */
	bool		columns;		/* of its scans, those of columns */
	uint32		running;		/* registered scans */
	uint64		seen_at;		/* when a scan last went (us) */
	double		chunks;			/* that scans got, as of then, at most
								 * MOST_SEEN */
	double		read;			/* of these, those read for them */
} CScanSharing;

static CScanSharing *entries;

Size
cscan_sharing_size(void)
{
	return sizeof(CScanSharing) * ENTRIES;
}

void
cscan_sharing_attach(void *memory)
{
	entries = memory;
}

void
cscan_sharing_init(void)
{
	memset(entries, 0, cscan_sharing_size());
}

/* The first of the entries that may have the table. */
static CScanSharing *
ways_of(Oid dbid, Oid relid)
{
	return entries + hash_combine(murmurhash32(dbid), murmurhash32(relid)) % (ENTRIES / WAYS) * WAYS;
}

static CScanSharing *
find(Oid dbid, Oid relid, bool columns)
{
	CScanSharing *way = ways_of(dbid, relid);

	for (int i = 0; i < WAYS; i++, way++)
	{
		if (way->relid == relid && way->dbid == dbid && way->columns == columns)
			return way;
	}
	return NULL;
}

void
cscan_sharing_begin(Oid dbid, Oid relid, bool columns)
{
	CScanSharing *entry = find(dbid, relid, columns);

	if (entry == NULL)
	{
		CScanSharing *way = ways_of(dbid, relid);

		/* It takes the place of the one that has been quiet longest. */
		for (int i = 0; i < WAYS; i++, way++)
		{
			if (way->running == 0 && (entry == NULL || way->seen_at < entry->seen_at))
				entry = way;
		}
		if (entry == NULL)
			return;
		memset(entry, 0, sizeof(*entry));
		entry->dbid = dbid;
		entry->relid = relid;
		entry->columns = columns;
	}
	entry->running++;
}

/* The weight that is left of what was seen. */
static double
weight(const CScanSharing *entry, uint64 now)
{
	return now > entry->seen_at ? exp2((entry->seen_at - (double) now) / HALF_LIFE) : 1.0;
}

void
cscan_sharing_end(Oid dbid, Oid relid, bool columns, uint32 chunks, uint32 read)
{
	CScanSharing *entry = find(dbid, relid, columns);
	uint64		now = cscan_now();
	double		left;

	if (entry == NULL)
		return;
	if (entry->running > 0)
		entry->running--;
	left = weight(entry, now);
	entry->chunks = entry->chunks * left + chunks;
	entry->read = entry->read * left + read;
	if (entry->chunks > MOST_SEEN)
	{
		entry->read *= MOST_SEEN / entry->chunks;
		entry->chunks = MOST_SEEN;
	}
	entry->seen_at = now;
}

/* Active scans under that name, of which so many are registered. */
static uint32
count_active(Oid dbid, Oid relid, bool columns, uint32 running)
{
	uint32		seen = 0;
	uint32		active = 0;

	for (int i = 0; i < cscan_max_scans && seen < running; i++)
	{
		const CScanSharedScan *s = &cscan_scans[i];

		if (s->pid == 0 || s->relid != relid || s->dbid != dbid || s->columns != columns)
			continue;
		seen++;
		active += cscan_pool_active(&cscan_pool, i);
	}
	return active;
}

static double
page_cost(Oid dbid, Oid relid, bool columns)
{
	const CScanSharing *entry = find(dbid, relid, columns);
	uint32		running;
	double		left;
	double		cost;

	if (entry == NULL)
		return 1.0;
	left = weight(entry, cscan_now());
	cost = (entry->read * left + PRIOR) / (entry->chunks * left + PRIOR);
	running = entry->running;
	if (running > 0)
	{
		double		n = count_active(dbid, relid, columns, running);

		cost = Min(cost, 1.0 - n / (2.0 * (n + 1.0)));
	}
	return Min(1.0, Max(CSCAN_LEAST_PAGE_COST, cost));
}

double
cscan_sharing_page_cost(Oid relid, Oid parent, bool columns)
{
	double		cost = page_cost(MyDatabaseId, relid, columns);

	return OidIsValid(parent) ? Min(cost, page_cost(MyDatabaseId, parent, columns)) : cost;
}
