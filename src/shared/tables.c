/*-------------------------------------------------------------------------
 *
 * tables.c
 *		The tables and indexes of columns that are scanned.  Each has an entry
 *		here, and a space of the same number in the pool.
 *
 * A hash table finds a table by its name and its storage.  An entry that the
 * ABM is letting go of is hidden: a scan that comes meanwhile makes another
 * one.  A table that has outgrown its chunks' numbers gets another one, too.
 *
 * Invariant: the hash table has exactly one entry of each table that can be
 * found, and that entry has a space.  All of it is protected by the
 * scheduler's lock.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "storage/ipc.h"
#include "storage/shmem.h"
#include "utils/hsearch.h"

#include "shared/shared.h"

typedef struct CScanTableKey
{
	Oid			relid;
	RelFileLocator locator;
} CScanTableKey;

typedef struct CScanTableEntry
{
	CScanTableKey key;
	int			table;
} CScanTableEntry;

static HTAB *table_hash;

/* Chunk numbers for a table that may grow: an eighth more, and one. */
static uint32
nchunks_for(uint32 chunk_blocks, BlockNumber nblocks)
{
	uint32		n = cscan_space_chunks_for(chunk_blocks, nblocks);

	return Min(n + n / 8 + 1, CSCAN_MAX_CHUNKS);
}

/*
 * Returns a tablespace's device: the pace of each device is known apart.  A
 * number is never given back.  Tablespaces beyond the limit share the last
 * one.
 */
static uint32
device_of(Oid tablespace)
{
	for (uint32 i = 0; i < cscan_shared->ndevices; i++)
	{
		if (cscan_shared->devices[i] == tablespace)
			return i;
	}
	if (cscan_shared->ndevices == CSCAN_MAX_DEVICES)
		return CSCAN_MAX_DEVICES - 1;
	cscan_shared->devices[cscan_shared->ndevices] = tablespace;
	return cscan_shared->ndevices++;
}

/*
 * A chunk's size stays as it is while its table is scanned.  So if the share
 * moves by itself, the pool holds 8 chunks even when it is least.
 *
 * All tables of one query together should have no more chunks than one table
 * may have, as numbers are few.  So chunks are larger where the query has many
 * large tables, as long as the pool holds 8.
 */
uint32
cscan_tables_chunk_blocks(BlockNumber nblocks, uint64 blocks_of_all)
{
	uint32		preferred = cscan_shared->preferred_chunk_blocks;
	uint32		largest = cscan_pool.state->budget / 8;

	if (cscan_buffer_share == CSCAN_AUTO)
		largest = Min(largest, Max(1, (uint32) (NBuffers * CSCAN_BALANCE_FLOOR) / 8));
	preferred = Min(preferred, Max(largest, 1));
	while (blocks_of_all / preferred > CSCAN_MAX_CHUNKS && preferred * 2 <= largest)
		preferred *= 2;
	return cscan_pool_chunk_blocks(&cscan_pool, preferred, nblocks);
}

/*
 * Add a space for so many row groups.  The layout says how large they are.
 */
static int
add_columnar_space(uint32 ngroups, const CScanLayout *layout, uint32 device)
{
	int			table;

	if (ngroups > CSCAN_MAX_CHUNKS)
		return CSCAN_NONE;
	table = cscan_pool_add_space(&cscan_pool, cscan_layout_blocks(layout), nchunks_for(1, ngroups), device);
	if (table != CSCAN_NONE)
		cscan_pool_set_columnar(&cscan_pool, table, layout);
	return table;
}

/*
 * Add a space for the table.  If so many numbers are not free, its chunks
 * become larger, as far as the pool allows.
 */
static int
add_space(BlockNumber nblocks, uint64 blocks_of_all, uint32 device)
{
	uint32		chunk_blocks = cscan_tables_chunk_blocks(nblocks, blocks_of_all);

	for (;;)
	{
		int			table = cscan_pool_add_space(&cscan_pool, chunk_blocks,
												 nchunks_for(chunk_blocks, nblocks), device);

		if (table != CSCAN_NONE || chunk_blocks >= nblocks ||
			chunk_blocks * 2 > cscan_pool.state->budget)
			return table;
		chunk_blocks *= 2;
	}
}

static CScanTableKey
key_of(Oid relid, RelFileLocator locator)
{
	CScanTableKey key;

	memset(&key, 0, sizeof(key));
	key.relid = relid;
	key.locator = locator;
	return key;
}

/*
 * Make an entry for an index with this layout, or for a table if it is NULL.
 * "size" is in row groups, or in blocks.
 */
static int
make_entry(Relation rel, CScanTableKey key, CScanTableEntry *entry, uint32 size, uint64 blocks_of_all,
		   const CScanLayout *layout)
{
	uint32		device = device_of(cscan_locator_tablespace(key.locator));
	CScanSharedTable *t;
	int			table = layout ? add_columnar_space(size, layout, device) : add_space(size, blocks_of_all, device);

	if (table != CSCAN_NONE && entry == NULL)
	{
		entry = hash_search(table_hash, &key, HASH_ENTER_NULL, NULL);
		if (entry == NULL)
		{
			cscan_pool_remove_space(&cscan_pool, table);
			table = CSCAN_NONE;
		}
	}
	if (table == CSCAN_NONE)
		return CSCAN_NONE;
	entry->table = table;

	t = &cscan_tables[table];
	memset(t, 0, sizeof(*t));
	t->dbid = MyDatabaseId;
	t->relid = RelationGetRelid(rel);
	t->locator = key.locator;
	t->permanent = rel->rd_rel->relpersistence == RELPERSISTENCE_PERMANENT;
	t->lock_state = CSCAN_TABLE_WANTED;
	cscan_shared->tables_changed = true;
	return table;
}

int
cscan_tables_have(Relation rel, BlockNumber nblocks, uint64 blocks_of_all)
{
	CScanTableKey key = key_of(RelationGetRelid(rel), cscan_relation_locator(rel));
	CScanTableEntry *entry = hash_search(table_hash, &key, HASH_FIND, NULL);

	/* If its numbers are too few, give it more, or a space of its own. */
	if (entry != NULL)
	{
		const CScanSpace *space = &cscan_pool.spaces[entry->table];
		uint32		nchunks = cscan_space_chunks_for(space->chunk_blocks, nblocks);

		if (nblocks <= cscan_space_capacity(space) ||
			(nchunks <= CSCAN_MAX_CHUNKS &&
			 cscan_pool_extend_space(&cscan_pool, entry->table, nchunks)))
			return entry->table;
	}
	return make_entry(rel, key, entry, nblocks, blocks_of_all, NULL);
}

int
cscan_tables_have_groups(Relation index, uint32 ngroups, const CScanLayout *layout)
{
	CScanTableKey key = key_of(RelationGetRelid(index), cscan_relation_locator(index));
	CScanTableEntry *entry = hash_search(table_hash, &key, HASH_FIND, NULL);

	if (entry != NULL &&
		(ngroups <= cscan_pool.spaces[entry->table].nchunks ||
		 (ngroups <= CSCAN_MAX_CHUNKS && cscan_pool_extend_space(&cscan_pool, entry->table, ngroups))))
		return entry->table;
	return make_entry(index, key, entry, ngroups, 0, layout);
}

void
cscan_tables_hide(int table)
{
	CScanTableKey key = key_of(cscan_tables[table].relid, cscan_tables[table].locator);
	CScanTableEntry *entry = hash_search(table_hash, &key, HASH_FIND, NULL);

	if (entry != NULL && entry->table == table)
		(void) hash_search(table_hash, &key, HASH_REMOVE, NULL);
}

void
cscan_tables_drop(int table)
{
	Assert(cscan_pool.spaces[table].nscans == 0);
	cscan_tables_hide(table);
	cscan_pool_remove_space(&cscan_pool, table);
}

static shmem_request_hook_type prev_shmem_request_hook;
static shmem_startup_hook_type prev_shmem_startup_hook;

static void
tables_request(void)
{
	if (prev_shmem_request_hook)
		prev_shmem_request_hook();
	RequestAddinShmemSpace(hash_estimate_size(cscan_max_tables, sizeof(CScanTableEntry)));
}

static void
tables_startup(void)
{
	HASHCTL		info = {.keysize = sizeof(CScanTableKey),.entrysize = sizeof(CScanTableEntry)};

	if (prev_shmem_startup_hook)
		prev_shmem_startup_hook();
	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	table_hash = cscan_shmem_hash("cscan tables", cscan_max_tables, &info);
	LWLockRelease(AddinShmemInitLock);
}

void
cscan_tables_init(void)
{
	prev_shmem_request_hook = shmem_request_hook;
	shmem_request_hook = tables_request;
	prev_shmem_startup_hook = shmem_startup_hook;
	shmem_startup_hook = tables_startup;
}
