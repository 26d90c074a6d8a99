/*-------------------------------------------------------------------------
 *
 * group_table.h
 *		The groups of rows with equal keys.
 *
 * A table of groups: each has its keys, integers or null, and room for the
 * states of aggregates (states.h).  Groups are numbered in the order in which
 * they come.  A group is found by a hash of its keys, or, while these have few
 * possible values, by its place among all combinations of them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CSCAN_GROUP_TABLE_H
#define CSCAN_GROUP_TABLE_H

#include "vector.h"

/* The most keys; a null key is a bit of a word. */
#define CSCAN_MAX_KEYS	32

/* Combinations that have places of their own */
#define CSCAN_DIRECT	4096

/* What a group begins with; its keys and its states follow. */
typedef struct CScanGroupHead
{
	uint32_t	hash;
	uint32_t	nulls;			/* a bit for each key */
	int64_t		keys[];
} CScanGroupHead;

typedef struct CScanGroupTable
{
	int			nkeys;
	size_t		group_size;		/* bytes, a multiple of 8 */
	size_t		states;			/* offset of the states */
	CScanMemory memory;

	uint32_t	ngroups;
	uint32_t	room;			/* for groups; a power of two */
	char	   *groups;
	uint32_t   *buckets;		/* two for each group that there is room for;
								 * number + 1, or 0 */

	/* Combinations of few values */
	bool		direct;
	int64_t		lows[CSCAN_MAX_KEYS];
	uint32_t	spans[CSCAN_MAX_KEYS];	/* values, and one place for null */
	uint32_t   *places;			/* number + 1, or 0 */
} CScanGroupTable;

/* Begin a table of groups with so many bytes of states. */
extern void cscan_group_table_begin(CScanGroupTable *table, int nkeys, size_t state_size, const CScanMemory *memory);

/* Forget all groups. */
extern void cscan_group_table_clear(CScanGroupTable *table);

/* The bytes that it takes, and those that it takes with so many more groups. */
extern size_t cscan_group_table_size(const CScanGroupTable *table);
extern size_t cscan_group_table_next_size(const CScanGroupTable *table, uint32_t more);

static inline CScanGroupHead *
cscan_group(const CScanGroupTable *table, uint32_t number)
{
	return (CScanGroupHead *) (table->groups + number * table->group_size);
}

static inline char *
cscan_group_states(const CScanGroupTable *table, uint32_t number)
{
	return table->groups + number * table->group_size + table->states;
}

/* Add the one group of a table without keys. */
extern void cscan_group_table_add(CScanGroupTable *table);

/*
 * Find the groups of the selected rows by vectors of keys, and make those that
 * there are not, with states of zeros.  If there may be no new ones, rows without
 * a group go to "missing", with their hashes, and "selection" keeps the others.
 */
extern void cscan_group_table_find(CScanGroupTable *table, const CScanVector *const *keys, bool may_grow,
							  CScanSelection *selection, uint32_t *group_of,
							  CScanSelection *missing, uint32_t *missing_hashes);

/*
 * Take a group of such a table over, with its states, unless there is one with its
 * keys.  Returns the number of the one or the other.
 */
extern uint32_t cscan_group_table_take(CScanGroupTable *table, const CScanGroupHead *group, bool *is_new);

/*
 * Keep only some groups; they get new numbers, in the same order.  Keys may be changed
 * before cscan_group_table_rehash(), which must follow.
 */
extern void cscan_group_table_keep(CScanGroupTable *table, bool (*is_kept) (const void *arg, const CScanGroupHead *group),
								   const void *arg);
extern void cscan_group_table_rehash(CScanGroupTable *table);

#endif							/* CSCAN_GROUP_TABLE_H */
