/*-------------------------------------------------------------------------
 *
 * store.h
 *		The column store: what an index of the method cscan_columns holds.
 *
 *		functions.c		the functions that users call
 *		handler.c		the access method, as PostgreSQL calls it
 *		vacuum.c		what VACUUM does to an index
 *		fill.c			a row group's values, from the heap into column runs
 *		reader.c		row groups, as a scan reads them
 *		zones.c			which row groups a scan need not read
 *		heap.c			the rows of a heap page
 *		decode.c		a column run, vector by vector
 *		values.c		a type's values as integers or strings, and back
 *		extents.c		which pages are free
 *		locate.c		where a group's runs are, for those who plan its loads
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
 *	  in one record of the write-ahead log.  A statement sets it once for rows
 *	  that come into one block, unless somebody has begun to build meanwhile.
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
#include "policy/space.h"
#include "shared/shared.h"

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
	int16		scale;			/* of numerics; -1: all are null */
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

/* Pages that a run takes. */
static inline uint32
cscan_stored_run_pages(const CScanStoredRun *run)
{
	return (run->size + CSCAN_STORE_PAGE_BYTES - 1) / CSCAN_STORE_PAGE_BYTES;
}

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

/*
 * All that reads pages raises ERRCODE_INDEX_CORRUPTED for a page that cannot be
 * the index's, and ERRCODE_FEATURE_NOT_SUPPORTED for another version of the
 * format.
 */

/* The hint of such an error. */
extern int	cscan_store_hint_rebuild(void);

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
cscan_has_bit(const uint8 *bitmap, uint32 i)
{
	return bitmap[i / 8] & (1 << (i % 8));
}

static inline void
cscan_set_bit(uint8 *bitmap, uint32 i)
{
	bitmap[i / 8] |= 1 << (i % 8);
}

extern void cscan_store_init_fork(Relation index, ForkNumber fork, uint32 group_blocks);
extern void cscan_store_read_meta(Relation index, CScanStoreMeta *meta);
extern uint32 cscan_store_group_blocks(Relation index);

/* Get group's directory page as it is now; false if it has none. */
extern bool cscan_store_read_group(Relation index, uint32 group, CScanGroup *copy);
extern void cscan_store_free_group(CScanGroup *copy);

/* Advise the system that the page will be read soon. */
extern void cscan_store_prefetch_group(Relation index, uint32 group);

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

/* Row groups behind so many are never stored. */
extern uint32 cscan_store_max_groups(void);

/* ---------- locate.c ---------- */

/* Make a layout for an index, as some of the groups in these ranges show it. */
extern void cscan_store_layout(Relation index, const CScanRange *ranges, uint32 nranges, CScanLayout *layout);

/* An index's file, and how its pages are got at without a relation. */
typedef struct CScanPageSource
{
	RelFileLocator locator;
	bool		permanent;
	bool		in_memory;		/* nothing is read: only pages in shared buffers are found */
} CScanPageSource;

/*
 * Get the runs of blocks of the index's file that these columns of a group have
 * now, at most one for each, and where the layout has a place for them.  Returns
 * their number, and the entry's generation; both are 0 if nothing is stored, or the
 * source does not find the directory's pages.
 */
extern uint32 cscan_store_find_runs(const CScanPageSource *source, uint32 group, const CScanLayout *layout,
									uint64 columns, CScanRun *runs, uint64 *generation);

/* ---------- extents.c ---------- */

/* The pages in use, while one process builds. */
typedef struct CScanExtents CScanExtents;

extern CScanExtents *cscan_extents_find(Relation index);

/* The same, but in a large index only the spares and what is behind all pages, if the spares hold. */
extern CScanExtents *cscan_extents_find_quickly(Relation index, const CScanSpares *spares);

/* Note the spares, before the table's lock is given back. */
extern void cscan_extents_note(const CScanExtents *extents, Relation index, CScanSpares *spares);
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

/* Add a value that is not too large.  One that is toasted is detoasted. */
extern void cscan_values_add(CScanValues *values, Datum value, bool isnull);

/* Go back to the first n rows. */
extern void cscan_values_truncate(CScanValues *values, uint32 n);

/* Whether a value is too large to be stored. */
extern bool cscan_values_too_large(const CScanValues *values, Datum value);
extern bool cscan_values_is_external(const CScanValues *values, Datum value);

/* Describe them for columns/run.h, in memory of the current context. */
extern void cscan_values_input(CScanValues *values, CScanEncoding codec, CScanColumnInput *input);

/*
 * Make Datums of n integers or strings.  Those passed by reference lie in
 * "room", which is aligned and has so many bytes as the function above says.
 */
extern size_t cscan_values_integers_room(CScanStorage storage, uint32 n);
extern void cscan_values_from_integers(int16 typlen, CScanStorage storage, int scale, const int64 *integers, uint32 n,
									   char *room, Datum *values);
extern size_t cscan_values_strings_room(const uint32 *lengths, uint32 n);
extern void cscan_values_from_strings(CScanStorage storage, const uint8 *const *strings, const uint32 *lengths, uint32 n,
									  char *room, Datum *values);

/* The integer that a value of a type passed by value is. */
extern int64 cscan_values_integer_of_datum(Datum value, int16 typlen);

/* The scale of a numeric, and the integer that it is then; false if that is too large. */
extern bool cscan_values_scaled_numeric(Datum value, int *scale, int64 *integer);

/*
 * The same of rows of a batch, which have to have this scale; "isnull" may be NULL.  The
 * bounds are those of the integers; false if there is one that is none.
 */
extern bool cscan_values_scaled_numerics(const Datum *values, const bool *isnull, const uint16 *rows, uint32 n, int scale,
										 int64 *integers, int64 *minimum, int64 *maximum);

/* Write the bytes of the shortest numeric that is equal to such an integer; returns their number. */
#define CSCAN_NUMERIC_BYTES		24
extern uint32 cscan_values_numeric_bytes(int64 integer, int scale, char *bytes);

/* 10 to the power of a scale, or of the difference of two. */
extern int64 cscan_values_power_of_10(int exponent);

/* Whether numerics of this scale are integers. */
extern bool cscan_values_is_scale(int scale);

/* The codec of an index without options. */
extern CScanEncoding cscan_values_default_codec(void);

/* ---------- decode.c ---------- */

/* A column run, read and decoded vector by vector. */
typedef struct CScanDecoder
{
	Relation	index;
	int			column;			/* of the index; its number of columns stands
								 * for the rows of each block */
	int16		typlen;			/* the type's */
	MemoryContext context;		/* lives as long as the decoder */

	/* The run; in the caller's memory */
	const CScanEntry *entry;
	const CScanStoredRun *stored;
	CScanColumnRun run;

	/* The vectors that have been decoded, UINT32_MAX: none */
	uint32		vector;			/* of values */
	uint32		nulls_vector;
	uint32		integers_vector;
	uint32		codes_vector;
	Datum		values[CSCAN_VECTOR];
	bool		isnull[CSCAN_VECTOR];
	int64	   *integers;		/* NULL: nobody has asked for them yet */
	int64	   *codes;			/* likewise */
	char	   *room;			/* of values passed by reference */
	size_t		room_size;
	bool		no_nulls;		/* "isnull" is false throughout */
} CScanDecoder;

/* Column "column" of an index; the current context lives as long as the decoder. */
extern void cscan_decoder_init(CScanDecoder *d, Relation heap, Relation index, int column);

/*
 * Read and open the group's run of the column, in memory of the current
 * context.  False if its pages belong to another generation by now.
 */
extern bool cscan_decoder_read(CScanDecoder *d, const CScanGroup *group, BufferAccessStrategy strategy);

/* Give back its own memory.  The values that it has decoded are gone. */
extern void cscan_decoder_reset(CScanDecoder *d);

/* Decode the vector: values and isnull of its rows. */
extern void cscan_decoder_decode(CScanDecoder *d, uint32 vector);

/*
 * Decode isnull of the vector, and the values of n rows, which ascend: numbers from
 * the vector's row "from" on.
 */
extern void cscan_decoder_decode_rows(CScanDecoder *d, uint32 vector, uint32 from, const uint16 *rows, uint32 n);

/* Decode isnull alone; true if a row is null. */
extern bool cscan_decoder_nulls(CScanDecoder *d, uint32 vector);

/*
 * Decode integers in place of values, or the numbers of a dictionary's entries.
 * False if the run's values are strings, or if it has no dictionary.
 */
extern bool cscan_decoder_integers(CScanDecoder *d, uint32 vector);
extern bool cscan_decoder_codes(CScanDecoder *d, uint32 vector);

/* ---------- zones.c ---------- */

/* Conditions that tell of a row group's minima and maxima whether it can have a row. */
typedef struct CScanZone
{
	int			column;			/* of the index */
	int			strategy;		/* a BTStrategyNumber, or 0: a NullTest */
	bool		is_null;		/* of a NullTest: IS NULL */
	Expr	   *expr;			/* what the column is compared with */
	FmgrInfo	compare;		/* the column's value with that one */
	Oid			collation;
	Datum		value;			/* of expr, set by the caller */
	bool		isnull;
	bool		known;			/* "value" is set */
} CScanZone;

/*
 * Find such conditions among a scan's, which are clauses of the table "varno".
 * A list of CScanZone.
 */
extern List *cscan_zones_find(List *clauses, Index varno, Relation heap, Relation index);

/* Whether a group's column runs can have a row that meets all of them. */
extern bool cscan_zones_may_match(List *zones, Relation heap, Relation index, const CScanGroup *group);

/* ---------- reader.c ---------- */

/* How a scan gets the rows of a heap block */
typedef enum CScanBlockSource
{
	CSCAN_FROM_RUNS,
	CSCAN_FROM_HEAP_BEYOND,		/* no row group has it */
	CSCAN_FROM_HEAP_HIDDEN,		/* it is not all-visible */
	CSCAN_FROM_HEAP_STALE,		/* it has changed since, or was not stored */
	CSCAN_FROM_HEAP_ALWAYS,		/* the scan must not use runs */
	CSCAN_NSOURCES
} CScanBlockSource;

/* A scan's way to row groups, one at a time. */
typedef struct CScanReader
{
	Relation	heap;
	Relation	index;
	uint32		group_blocks;
	int			ncolumns;		/* that the scan wants */
	int		   *columns;		/* the index's numbers of these, and the one
								 * of the rows of each block */
	CScanDecoder *decoders;		/* one for each of both, from the first group
								 * that is read to cscan_reader_reset() */
	bool		from_heap;		/* the scan must not use runs */
	BufferAccessStrategy strategy;
	Buffer		vm_buffer;
	MemoryContext context;		/* of the group */
	uint64		advised;		/* generation of the entry whose runs the
								 * system was told of last */

	/* The group that is being read */
	BlockNumber first;			/* its first block */
	CScanGroup	group;
	uint8	   *all_visible;	/* a bit for each of its blocks */
	uint8	   *sources;		/* a CScanBlockSource for each of them */
	uint64		counts[CSCAN_NSOURCES]; /* of blocks, in all groups so far */
	CScanRange *segments;		/* rows of the runs that count */
	uint32		nsegments;
	uint32		segment;		/* being read */
} CScanReader;

extern CScanReader *cscan_reader_begin(Relation heap, Relation index, const int *columns, int ncolumns);
extern void cscan_reader_reset(CScanReader *r);
extern void cscan_reader_end(CScanReader *r);

/*
 * Look at the blocks [first, end) of one group: which of them have their rows
 * in the runs.  True if there is one.
 */
extern bool cscan_reader_look(CScanReader *r, BlockNumber first, BlockNumber end);

/*
 * Read the runs of these blocks.  If they are lost, all blocks are in the heap
 * from now on.
 */
extern void cscan_reader_read(CScanReader *r);

/* Advise the system that the runs of block's group will be read soon. */
extern void cscan_reader_prefetch(CScanReader *r, BlockNumber block);

/*
 * Find the next rows, [*from, *to) of one vector, which the caller decodes.
 * False if there are no more.
 */
extern bool cscan_reader_next(CScanReader *r, uint32 *vector, uint32 *from, uint32 *to);

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

/* No group is left. */
#define CSCAN_FILL_ENDED	PG_UINT32_MAX

typedef struct CScanFill
{
	bool		in_vacuum;		/* no detoasting, and no group that gains
								 * little */
	bool		whole_groups;	/* leave the last group alone while it grows */
	bool		sparing;		/* no group that gains little, but after an
								 * hour; the last one only while all of it is
								 * all-visible */
	CScanSpares *spares;		/* for who builds a few groups, again and
								 * again; or NULL */
	uint32		from;			/* the first group to look at */
	bool		(*stop) (const struct CScanFill *fill); /* asked before each
														 * but the first; or
														 * NULL */
	bool		(*give_up) (const struct CScanFill *fill);	/* asked while one is
															 * built; or NULL */
	uint32		next;			/* result, also after an error: the group to go
								 * on with, or CSCAN_FILL_ENDED */
	uint32		groups;			/* result: groups that were built */
	uint64		rows;			/* result: rows in them */
} CScanFill;

/* Build groups, as "fill" says. */
extern void cscan_fill_index(Relation heap, Relation index, CScanFill *fill);

/* Find the first group that it would build; "next" is its number.  False if there is none. */
extern bool cscan_fill_look(Relation heap, Relation index, CScanFill *fill);

/* ---------- vacuum.c ---------- */

extern IndexBulkDeleteResult *cscan_store_bulkdelete(IndexVacuumInfo *info, Relation heap, IndexBulkDeleteResult *stats,
													 IndexBulkDeleteCallback callback, void *state);
extern IndexBulkDeleteResult *cscan_store_vacuumcleanup(IndexVacuumInfo *info, Relation heap, IndexBulkDeleteResult *stats);

/* ---------- handler.c ---------- */

/* Whether an index, not a partitioned one, is of this method. */
extern bool cscan_store_is_index(Relation index);
extern bool cscan_store_is_planned(const struct IndexOptInfo *info);

/* Define the method's reloptions. */
extern void cscan_store_init(void);

#endif							/* CSCAN_STORE_H */
