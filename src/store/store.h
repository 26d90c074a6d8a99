/*-------------------------------------------------------------------------
 *
 * store.h
 *		The column store: what an index of the method cscan_columns holds.
 *
 *		functions.c		the functions that users call
 *		handler.c		the access method, as PostgreSQL calls it
 *		vacuum.c		what VACUUM does to an index
 *		fill.c			a row group's values, from the heap into column runs
 *		heap.c			the rows of a heap page
 *		values.c		a type's values as integers or strings, and back
 *		extents.c		which pages are free
 *		directory.c		metapage, map and directory pages
 *		runs.c			column runs in pages
 *
 * Calls go downwards only.
 *
 * The heap's blocks are divided into *row groups* of meta.group_blocks
 * blocks.  An *entry* says where a group's column runs are, one for each
 * column and one that has the number of rows of each block.  A block of an
 * entry is *covered* if it is one of the first entry.covered blocks of the
 * group, and *stale* if its bit is set: then its rows in the runs do not
 * count.
 *
 * The metapage is block 0.  It has the numbers of map pages.  A map page has
 * those of directory pages, one for each group.  A directory page has the
 * group's *serving* entry, the generation of a *building* one, and for both
 * the bitmap of stale blocks.  Once a group has a directory page, it keeps it.
 *
 * What makes answers right:
 *
 * 1. A block is stored only while nobody can see anything but all of its rows
 *	  (fill.c).  Whoever changes a row of it later sets its bit: aminsert() for
 *	  what comes, ambulkdelete() for what goes.  Both set it in both bitmaps,
 *	  in one record of the write-ahead log.
 * 2. A group is built while its old entry serves.  Its building bitmap is
 *	  published before the heap is read, so no change is missed.
 * 3. A reader takes its snapshot, reads the bits of the visibility map, and
 *	  then entry and bitmap under one lock.  In this order it sees the bit of
 *	  each change that is not in the map.
 * 4. Each column page has the *generation* of its entry.  A generation is
 *	  never used again.  A reader that meets another one reads the group from
 *	  the heap.  So pages can be used again at once, on standbys too.
 *
 * One process at a time builds and frees: it has the heap's
 * ShareUpdateExclusiveLock, or is the one that creates the index.  It alone
 * gives out pages.  A page is in use if the metapage, a map page or a serving
 * entry refers to it.  All others are free, also after a crash.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CSCAN_STORE_H
#define CSCAN_STORE_H

#include "compat.h"

#include "commands/vacuum.h"
#include "datatype/timestamp.h"
#include "storage/bufpage.h"

#include "columns/run.h"

#define CSCAN_STORE_MAGIC		0xC5CA0C01
#define CSCAN_STORE_VERSION		1
#define CSCAN_STORE_METAPAGE	0

/* Heap blocks of a row group */
#define CSCAN_STORE_MIN_GROUP		64
#define CSCAN_STORE_MAX_GROUP		4096
#define CSCAN_STORE_DEFAULT_GROUP	2048

/* Nobody stores a value that is longer, or more bytes of strings in a row group. */
#define CSCAN_STORE_MAX_VALUE	(1024 * 1024)
#define CSCAN_STORE_MAX_STRINGS	(64 * 1024 * 1024)

/* How a run's values are stored; on disk. */
typedef enum CScanStorage
{
	CSCAN_STORAGE_BYVAL,		/* integers: the Datum of a type passed by
								 * value */
	CSCAN_STORAGE_NUMERIC,		/* integers: numerics of one display scale */
	CSCAN_STORAGE_FIXED,		/* strings: a type of fixed length */
	CSCAN_STORAGE_VARLENA,		/* strings: a varlena's bytes without its
								 * header */
	CSCAN_STORAGE_CSTRING		/* strings: with the byte that ends them */
} CScanStorage;

/* Where a column run is, and what is known of it. */
typedef struct CScanStoredRun
{
	uint32		page;			/* its first page, from the extent's begin */
	uint32		size;			/* bytes */
	uint32		nnulls;
	uint8		storage;		/* a CScanStorage */
	bool		ordered;		/* minimum and maximum are those of the type */
	int16		scale;			/* of numerics */
	int64		minimum;		/* of integers that are not null */
	int64		maximum;
} CScanStoredRun;

typedef struct CScanEntry
{
	uint64		generation;		/* 0: there is no entry */
	BlockNumber first;			/* of its pages, which are consecutive */
	uint32		npages;
	uint32		covered;		/* heap blocks */
	uint32		nrows;
	uint32		max_offset;		/* the largest offset number in a covered
								 * block */
	uint16		refused;		/* blocks not stored although all-visible */
	bool		in_vacuum;		/* it was built by VACUUM, which refuses more */
	bool		detoasted;		/* it has values that VACUUM cannot read */
	TimestampTz built;
} CScanEntry;

/*
 * The content of a directory page, followed by ncolumns + 1 runs of the
 * serving entry, and by the two bitmaps.
 */
typedef struct CScanDirectory
{
	uint32		group;
	uint32		ncolumns;
	uint32		group_blocks;
	uint32		zeros;
	uint64		building;		/* generation of the entry that is built, or 0 */
	CScanEntry	serving;
	CScanStoredRun runs[FLEXIBLE_ARRAY_MEMBER];
} CScanDirectory;

#define CSCAN_STORE_BITMAP_BYTES(group_blocks)	((group_blocks) / 8)

#define CSCAN_DIRECTORY_SIZE(ncolumns, group_blocks) \
	(offsetof(CScanDirectory, runs) + ((ncolumns) + 1) * sizeof(CScanStoredRun) + \
	 2 * CSCAN_STORE_BITMAP_BYTES(group_blocks))

StaticAssertDecl(SizeOfPageHeaderData + CSCAN_DIRECTORY_SIZE(INDEX_MAX_KEYS, CSCAN_STORE_MAX_GROUP) +
				 16 <= BLCKSZ, "a directory page must hold 32 columns");

/* Numbers of pages that fit into a metapage, and a map page */
#define CSCAN_STORE_MAPS		((BLCKSZ - SizeOfPageHeaderData - 16 - 48) / sizeof(BlockNumber))
#define CSCAN_STORE_MAP_ENTRIES	((BLCKSZ - SizeOfPageHeaderData - 16) / sizeof(BlockNumber))

typedef struct CScanStoreMeta
{
	uint32		magic;
	uint32		version;
	uint32		group_blocks;
	uint32		ncolumns;
	uint64		generation;		/* the next one */
	uint32		ngroups;		/* no later group has a directory page */
	uint32		zeros[3];
	BlockNumber maps[CSCAN_STORE_MAPS]; /* 0: there is none */
} CScanStoreMeta;

StaticAssertDecl(offsetof(CScanStoreMeta, maps) <= 48, "the metapage holds fewer maps");

typedef enum CScanPageKind
{
	CSCAN_PAGE_META = 1,
	CSCAN_PAGE_MAP,
	CSCAN_PAGE_DIRECTORY,
	CSCAN_PAGE_COLUMN
} CScanPageKind;

/* Each page's special space */
typedef struct CScanPageOpaque
{
	uint64		generation;		/* of a column page's entry */
	uint32		number;			/* of a column page, in its entry's extent */
	uint16		kind;			/* a CScanPageKind */
	uint16		id;				/* for pg_filedump and its like */
} CScanPageOpaque;

#define CSCAN_STORE_PAGE_ID		0xFFC5

/* Bytes of column runs in a page */
#define CSCAN_STORE_PAGE_BYTES \
	(BLCKSZ - SizeOfPageHeaderData - MAXALIGN(sizeof(CScanPageOpaque)))

static inline CScanPageOpaque *
cscan_page_opaque(Page page)
{
	return (CScanPageOpaque *) PageGetSpecialPointer(page);
}

/* What users may set for an index */
typedef struct CScanStoreOptions
{
	int32		vl_len_;		/* varlena header */
	int			row_group_blocks;
	int			compression;	/* a CScanEncoding */
} CScanStoreOptions;

/* ---------- directory.c ---------- */

/* A copy of a directory page, in the caller's memory context. */
typedef struct CScanGroup
{
	BlockNumber block;			/* the directory page, or InvalidBlockNumber */
	uint64		building;
	CScanEntry	serving;		/* generation 0 where there is none */
	CScanStoredRun *runs;
	uint8	   *stale;			/* the serving entry's bitmap */
} CScanGroup;

static inline bool
cscan_is_stale(const uint8 *bitmap, uint32 i)
{
	return bitmap[i / 8] & (1 << (i % 8));
}

static inline void
cscan_set_stale(uint8 *bitmap, uint32 i)
{
	bitmap[i / 8] |= 1 << (i % 8);
}

extern void cscan_store_init_fork(Relation index, ForkNumber fork, uint32 group_blocks);
extern void cscan_store_read_meta(Relation index, CScanStoreMeta *meta);

/* Get group's directory page as it is now; false if it has none. */
extern bool cscan_store_read_group(Relation index, uint32 group, CScanGroup *copy);
extern void cscan_store_free_group(CScanGroup *copy);

/* Set the bit of a heap block, if an entry may have it. */
extern void cscan_store_mark_stale(Relation index, BlockNumber block);

/* Set the bits that "stale" has in the bitmaps of a directory page. */
extern void cscan_store_mark_all_stale(Relation index, BlockNumber directory, const uint8 *stale);

/*
 * Publish that group is being built, and return the entry's generation.  The
 * group has a directory page afterwards; group's number must be below
 * cscan_store_max_groups().  So many free pages as cscan_store_lacks_pages()
 * says are used for it and its map.
 */
extern int	cscan_store_lacks_pages(Relation index, uint32 group);
extern uint64 cscan_store_begin_group(Relation index, uint32 group, const BlockNumber *free_pages,
									  BlockNumber *directory);

/*
 * Let the entry serve that has been built.  "stale" has the blocks that were
 * not stored; those that were marked meanwhile are added.
 */
extern void cscan_store_publish_group(Relation index, BlockNumber directory, const CScanEntry *entry,
									  const CScanStoredRun *runs, const uint8 *stale);

extern uint32 cscan_store_max_groups(void);

/* ---------- extents.c ---------- */

/* The pages in use, while one process builds. */
typedef struct CScanExtents CScanExtents;

extern CScanExtents *cscan_extents_find(Relation index);
extern BlockNumber cscan_extents_allocate(CScanExtents *extents, uint32 npages);
extern void cscan_extents_free(CScanExtents *extents, BlockNumber first, uint32 npages);

/* ---------- runs.c ---------- */

/* Get a page to initialize, exclusively locked; the file grows up to it. */
extern Buffer cscan_store_new_page(Relation index, BlockNumber block);
extern void cscan_store_init_page(Page page, CScanPageKind kind, uint64 generation, uint32 number);

/* Write bytes to consecutive pages of an entry, beginning with page "number" of its extent. */
extern void cscan_store_write_pages(Relation index, uint64 generation, BlockNumber first, uint32 number,
									const char *bytes, size_t size);

/* Read a run; false if its pages belong to another generation by now. */
extern bool cscan_store_read_run(Relation index, const CScanEntry *entry, const CScanStoredRun *run,
								 BufferAccessStrategy strategy, char *bytes);

/* Open a run that has been read, or raise an error that says where it is damaged. */
extern void cscan_store_open_run(Relation index, const CScanEntry *entry, const CScanStoredRun *run, int column,
								 char *bytes, CScanColumnRun *opened);
pg_noreturn extern void cscan_store_report_damage(Relation index, const CScanEntry *entry, const CScanStoredRun *run,
												  int column, const CScanDamage *damage);

/* ---------- values.c ---------- */

/* A column's values in a row group, while they are collected. */
typedef struct CScanValues
{
	/* The type */
	int16		typlen;
	bool		typbyval;
	bool		ordered;		/* its order is that of its integers */
	bool		is_numeric;

	CScanStorage storage;
	int16		scale;			/* of numerics, -1: not known yet */
	uint32		n;
	uint32		room;
	uint32		nnulls;
	uint64	   *nulls;			/* a bit for each row */
	int64	   *integers;
	uint32	   *offsets;		/* of strings, in bytes */
	uint32	   *lengths;
	char	   *bytes;
	size_t		nbytes;
	size_t		bytes_room;
	MemoryContext context;
} CScanValues;

/* Without an attribute they are integers of 32 bits. */
extern void cscan_values_init(CScanValues *values, Form_pg_attribute attribute, MemoryContext context);
extern void cscan_values_reset(CScanValues *values);

/* Add a value.  It is not toasted out of line; see cscan_values_too_large(). */
extern void cscan_values_add(CScanValues *values, Datum value, bool isnull);

/* Go back to the first n rows. */
extern void cscan_values_truncate(CScanValues *values, uint32 n);

/* Whether a value is too large to be stored. */
extern bool cscan_values_too_large(const CScanValues *values, Datum value);
extern bool cscan_values_is_external(const CScanValues *values, Datum value);

/* Describe them for columns/run.h, in memory of the current context. */
extern void cscan_values_input(CScanValues *values, CScanEncoding codec, CScanColumnInput *input);

/* The Datum of an integer or a string, in memory of the current context. */
extern Datum cscan_values_datum_of_integer(Form_pg_attribute attribute, CScanStorage storage, int scale, int64 integer);
extern Datum cscan_values_datum_of_string(CScanStorage storage, const uint8 *bytes, uint32 length);

/* The codec of an index without options. */
extern CScanEncoding cscan_values_default_codec(void);

/* ---------- heap.c ---------- */

typedef struct CScanHeap
{
	Relation	heap;
	Relation	index;
	int			ncolumns;
	int			last_attribute; /* the largest one that is a column */
	TupleTableSlot *slot;
} CScanHeap;

extern void cscan_heap_begin(CScanHeap *h, Relation heap, Relation index);
extern void cscan_heap_end(CScanHeap *h);
extern Form_pg_attribute cscan_heap_attribute(const CScanHeap *h, int column);

/* Get the line pointers of a locked page that have tuples; returns how many. */
extern int	cscan_heap_offsets(Page page, OffsetNumber *offsets, bool *has_dead);

/* Get the columns of one of these; they lie in the pinned page. */
extern void cscan_heap_row(CScanHeap *h, Buffer buffer, OffsetNumber offset, Datum *values, bool *isnull);

/* Give back the page. */
extern void cscan_heap_release(CScanHeap *h, Buffer buffer);

/* ---------- fill.c ---------- */

/* The phase of CREATE INDEX that fills; 1 is PostgreSQL's own. */
#define CSCAN_PHASE_FILLING	2

typedef struct CScanFill
{
	bool		in_vacuum;		/* no detoasting, and no group that gains
								 * little */
	bool		whole_groups;	/* leave the last group alone while it grows */
	uint32		groups;			/* result: groups that were built */
	uint64		rows;			/* result: rows in them */
} CScanFill;

extern void cscan_fill_index(Relation heap, Relation index, CScanFill *fill);

/* ---------- vacuum.c ---------- */

extern IndexBulkDeleteResult *cscan_store_bulkdelete(IndexVacuumInfo *info, Relation heap, IndexBulkDeleteResult *stats,
													 IndexBulkDeleteCallback callback, void *state);
extern IndexBulkDeleteResult *cscan_store_vacuumcleanup(IndexVacuumInfo *info, Relation heap, IndexBulkDeleteResult *stats);

/* ---------- handler.c ---------- */

/* Whether an index, not a partitioned one, is of this method. */
extern bool cscan_store_is_index(Relation index);

/* Define the method's reloptions. */
extern void cscan_store_init(void);

#endif							/* CSCAN_STORE_H */
