/*-------------------------------------------------------------------------
 *
 * group_table.c
 *		The groups of rows with equal keys (group_table.h).
 *
 *-------------------------------------------------------------------------
 */
#include "group_table.h"

#include <string.h>

#define FIRST_ROOM	256

void
cscan_group_table_begin(CScanGroupTable *table, int nkeys, size_t state_size, const CScanMemory *memory)
{
	memset(table, 0, sizeof(CScanGroupTable));
	table->nkeys = nkeys;
	table->memory = *memory;
	table->states = sizeof(CScanGroupHead) + (size_t) nkeys * sizeof(int64_t);
	table->group_size = (table->states + state_size + 7) / 8 * 8;
	table->places = memory->resize(memory->arg, NULL, CSCAN_DIRECT * sizeof(uint32_t));
	cscan_group_table_clear(table);
}

void
cscan_group_table_clear(CScanGroupTable *table)
{
	table->ngroups = 0;
	table->direct = false;
	table->room = FIRST_ROOM;
	table->groups = table->memory.resize(table->memory.arg, table->groups, table->room * table->group_size);
	table->buckets = table->memory.resize(table->memory.arg, table->buckets, 2 * table->room * sizeof(uint32_t));
	memset(table->buckets, 0, 2 * table->room * sizeof(uint32_t));
}

static size_t
size_of(const CScanGroupTable *table, size_t room)
{
	return room * (table->group_size + 2 * sizeof(uint32_t));
}

size_t
cscan_group_table_size(const CScanGroupTable *table)
{
	return size_of(table, table->room);
}

size_t
cscan_group_table_next_size(const CScanGroupTable *table, uint32_t more)
{
	size_t		room = table->room;

	while (room < (size_t) table->ngroups + more)
		room *= 2;
	return size_of(table, room);
}

static void
add_to_bucket(CScanGroupTable *table, uint32_t number)
{
	uint32_t	mask = 2 * table->room - 1;
	uint32_t	bucket = cscan_group(table, number)->hash & mask;

	while (table->buckets[bucket] != 0)
		bucket = (bucket + 1) & mask;
	table->buckets[bucket] = number + 1;
}

static void
grow(CScanGroupTable *table)
{
	table->room *= 2;
	table->groups = table->memory.resize(table->memory.arg, table->groups, table->room * table->group_size);
	table->buckets = table->memory.resize(table->memory.arg, table->buckets, 2 * table->room * sizeof(uint32_t));
	memset(table->buckets, 0, 2 * table->room * sizeof(uint32_t));
	for (uint32_t i = 0; i < table->ngroups; i++)
		add_to_bucket(table, i);
}

/* ------------------------------------------------------------------
 * By hash
 * ------------------------------------------------------------------ */

static uint64_t
mix(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) * UINT64_C(0x9E3779B97F4A7C15);
	return hash ^ (hash >> 32);
}

/* 32 bits of a hash, each of which depends on all bits of the keys. */
static inline uint32_t
fold(uint64_t hash)
{
	return (uint32_t) ((hash * UINT64_C(0xD6E8FEB86659FD93)) >> 32);
}

/* Hash the selected rows' keys; "nulls" gets their bits. */
static void
hash_rows(int nkeys, const CScanVector *const *keys, const CScanSelection *selection, uint64_t *hashes, uint32_t *nulls)
{
	uint32_t	n = selection->n;

	memset(hashes, 0, n * sizeof(uint64_t));
	memset(nulls, 0, n * sizeof(uint32_t));
	for (int k = 0; k < nkeys; k++)
	{
		const CScanVector *key = keys[k];

		if (key->isnull == NULL)
		{
			for (uint32_t i = 0; i < n; i++)
				hashes[i] = mix(hashes[i], (uint64_t) key->values[selection->rows[i]]);
			continue;
		}
		for (uint32_t i = 0; i < n; i++)
		{
			uint16_t	row = selection->rows[i];
			bool		isnull = key->isnull[row];

			hashes[i] = mix(hashes[i], isnull ? 1 : (uint64_t) key->values[row]);
			nulls[i] |= (uint32_t) isnull << k;
		}
	}
}

void
cscan_group_table_keep(CScanGroupTable *table, bool (*is_kept) (const void *arg, const CScanGroupHead *group), const void *arg)
{
	uint32_t	n = 0;

	for (uint32_t i = 0; i < table->ngroups; i++)
	{
		if (!is_kept(arg, cscan_group(table, i)))
			continue;
		if (n < i)
			memcpy(cscan_group(table, n), cscan_group(table, i), table->group_size);
		n++;
	}
	table->ngroups = n;
	if ((size_t) n * 8 >= table->room || table->room == FIRST_ROOM)
		return;
	while (table->room > FIRST_ROOM && (size_t) n * 4 < table->room)
		table->room /= 2;
	table->groups = table->memory.resize(table->memory.arg, table->groups, table->room * table->group_size);
	table->buckets = table->memory.resize(table->memory.arg, table->buckets, 2 * table->room * sizeof(uint32_t));
}

void
cscan_group_table_rehash(CScanGroupTable *table)
{
	table->direct = false;
	memset(table->buckets, 0, 2 * table->room * sizeof(uint32_t));
	for (uint32_t i = 0; i < table->ngroups; i++)
	{
		CScanGroupHead *group = cscan_group(table, i);
		uint64_t	hash = 0;

		for (int k = 0; k < table->nkeys; k++)
			hash = mix(hash, group->nulls & ((uint32_t) 1 << k) ? 1 : (uint64_t) group->keys[k]);
		group->hash = fold(hash);
		add_to_bucket(table, i);
	}
}

static bool
has_keys(const CScanGroupHead *group, int nkeys, const CScanVector *const *keys, uint16_t row)
{
	for (int k = 0; k < nkeys; k++)
	{
		if (!(group->nulls & ((uint32_t) 1 << k)) && group->keys[k] != keys[k]->values[row])
			return false;
	}
	return true;
}

/* The bucket of a row's group, or the empty one where it would be. */
static uint32_t *
find_bucket(const CScanGroupTable *table, const CScanVector *const *keys, uint16_t row, uint32_t hash, uint32_t nulls)
{
	uint32_t	mask = 2 * table->room - 1;
	uint32_t	bucket = hash & mask;

	while (table->buckets[bucket] != 0)
	{
		const CScanGroupHead *group = cscan_group(table, table->buckets[bucket] - 1);

		if (group->hash == hash && group->nulls == nulls && has_keys(group, table->nkeys, keys, row))
			break;
		bucket = (bucket + 1) & mask;
	}
	return &table->buckets[bucket];
}

static uint32_t
add_group(CScanGroupTable *table, const CScanVector *const *keys, uint16_t row, uint32_t hash, uint32_t nulls)
{
	CScanGroupHead *group = cscan_group(table, table->ngroups);

	memset(group, 0, table->group_size);
	group->hash = hash;
	group->nulls = nulls;
	for (int k = 0; k < table->nkeys; k++)
		group->keys[k] = nulls & ((uint32_t) 1 << k) ? 0 : keys[k]->values[row];
	return table->ngroups++;
}

void
cscan_group_table_add(CScanGroupTable *table)
{
	(void) add_group(table, NULL, 0, 0, 0);
}

uint32_t
cscan_group_table_take(CScanGroupTable *table, const CScanGroupHead *group, bool *is_new)
{
	uint32_t	mask = 2 * table->room - 1;

	*is_new = false;
	for (uint32_t bucket = group->hash & mask; table->buckets[bucket] != 0; bucket = (bucket + 1) & mask)
	{
		const CScanGroupHead *other = cscan_group(table, table->buckets[bucket] - 1);

		/* The keys that are null are 0. */
		if (other->hash == group->hash && other->nulls == group->nulls &&
			memcmp(other->keys, group->keys, (size_t) table->nkeys * sizeof(int64_t)) == 0)
			return table->buckets[bucket] - 1;
	}
	*is_new = true;
	if (table->ngroups == table->room)
		grow(table);
	memcpy(cscan_group(table, table->ngroups), group, table->group_size);
	add_to_bucket(table, table->ngroups);
	return table->ngroups++;
}

static void
find_by_hash(CScanGroupTable *table, const CScanVector *const *keys, bool may_grow, CScanSelection *selection,
			 uint32_t *group_of, CScanSelection *missing, uint32_t *missing_hashes)
{
	uint64_t	hashes[CSCAN_BATCH];
	uint32_t	nulls[CSCAN_BATCH];
	uint32_t	kept = 0;

	hash_rows(table->nkeys, keys, selection, hashes, nulls);
	for (uint32_t i = 0; i < selection->n; i++)
	{
		uint16_t	row = selection->rows[i];
		uint32_t	hash = fold(hashes[i]);
		uint32_t   *bucket = find_bucket(table, keys, row, hash, nulls[i]);

		if (*bucket == 0 && !may_grow)
		{
			missing_hashes[missing->n] = hash;
			missing->rows[missing->n++] = row;
			continue;
		}
		if (*bucket == 0)
		{
			if (table->ngroups == table->room)
			{
				grow(table);
				bucket = find_bucket(table, keys, row, hash, nulls[i]);
			}
			*bucket = add_group(table, keys, row, hash, nulls[i]) + 1;
		}
		group_of[kept] = *bucket - 1;
		selection->rows[kept++] = row;
	}
	selection->n = kept;
}

/* ------------------------------------------------------------------
 * By place
 * ------------------------------------------------------------------ */

/*
 * Make places for all combinations of the keys' values, or see that there are
 * some already.  False if there would be too many.
 */
static bool
has_places(CScanGroupTable *table, const CScanVector *const *keys)
{
	uint64_t	combinations = 1;
	bool		fits = table->direct;
	int64_t		lows[CSCAN_MAX_KEYS];

	for (int k = 0; k < table->nkeys; k++)
	{
		int64_t		low = keys[k]->minimum;
		int64_t		high = keys[k]->maximum;
		CScanWide	span;

		if (low > high)
			low = high = 0;		/* all are null */
		if (fits && (low < table->lows[k] || (CScanWide) high - table->lows[k] + 2 > table->spans[k]))
			fits = false;
		if (table->direct)
		{
			/* Keep what has a place, so that they are made anew less often. */
			int64_t		last = (int64_t) ((uint64_t) table->lows[k] + table->spans[k] - 2);

			low = low < table->lows[k] ? low : table->lows[k];
			high = high > last ? high : last;
		}
		span = (CScanWide) high - low + 2;
		if (span > CSCAN_DIRECT)
			combinations = CSCAN_DIRECT + 1;
		else if (combinations <= CSCAN_DIRECT)
			combinations *= (uint64_t) span;
		lows[k] = low;
		if (!fits && combinations <= CSCAN_DIRECT)
			table->spans[k] = (uint32_t) span;
	}
	if (fits)
		return true;
	table->direct = combinations <= CSCAN_DIRECT;
	if (table->direct)
	{
		memcpy(table->lows, lows, sizeof(lows));
		memset(table->places, 0, CSCAN_DIRECT * sizeof(uint32_t));
	}
	return table->direct;
}

/* The places of the selected rows. */
static void
find_places(const CScanGroupTable *table, const CScanVector *const *keys, const CScanSelection *selection,
			uint32_t *places)
{
	uint32_t	n = selection->n;

	memset(places, 0, n * sizeof(uint32_t));
	for (int k = 0; k < table->nkeys; k++)
	{
		const CScanVector *key = keys[k];
		uint64_t	low = (uint64_t) table->lows[k] - 1;	/* null has place 0 */
		uint32_t	span = table->spans[k];

		if (key->isnull == NULL)
		{
			for (uint32_t i = 0; i < n; i++)
				places[i] = places[i] * span + (uint32_t) ((uint64_t) key->values[selection->rows[i]] - low);
			continue;
		}
		for (uint32_t i = 0; i < n; i++)
		{
			uint16_t	row = selection->rows[i];

			places[i] = places[i] * span + (key->isnull[row] ? 0 : (uint32_t) ((uint64_t) key->values[row] - low));
		}
	}
}

void
cscan_group_table_find(CScanGroupTable *table, const CScanVector *const *keys, bool may_grow, CScanSelection *selection,
				  uint32_t *group_of, CScanSelection *missing, uint32_t *missing_hashes)
{
	uint32_t	places[CSCAN_BATCH];
	CScanSelection rest;
	bool		all = true;

	missing->n = 0;
	if (!may_grow || !has_places(table, keys))
	{
		find_by_hash(table, keys, may_grow, selection, group_of, missing, missing_hashes);
		return;
	}
	find_places(table, keys, selection, places);
	for (uint32_t i = 0; i < selection->n; i++)
	{
		group_of[i] = table->places[places[i]] - 1;
		all &= table->places[places[i]] != 0;
	}
	for (uint32_t i = 0; !all && i < selection->n; i++)
	{
		if (table->places[places[i]] == 0)
		{
			rest.n = 1;
			rest.rows[0] = selection->rows[i];
			find_by_hash(table, keys, true, &rest, &group_of[i], missing, missing_hashes);
			table->places[places[i]] = group_of[i] + 1;
		}
		group_of[i] = table->places[places[i]] - 1;
	}
}
