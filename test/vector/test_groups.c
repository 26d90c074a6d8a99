/*-------------------------------------------------------------------------
 *
 * test_groups.c
 *		Groups: each row finds the group that has its keys, and no two groups
 *		have the same, whether they have places of their own or not, and after
 *		some of them have gone.
 *
 *-------------------------------------------------------------------------
 */
#include "harness.h"

#include <stdlib.h>
#include <string.h>

static bool
has_keys_of(const CScanGroupTable *table, uint32_t number, const CScanVector *const *keys, uint16_t row)
{
	const CScanGroupHead *group = cscan_group(table, number);

	for (int k = 0; k < table->nkeys; k++)
	{
		bool		isnull = (group->nulls & (UINT32_C(1) << k)) != 0;

		if (isnull != cscan_vector_is_null(keys[k], row) || (!isnull && group->keys[k] != keys[k]->values[row]))
			return false;
	}
	return true;
}

static bool
are_same(const CScanGroupTable *table, uint32_t a, uint32_t b)
{
	const CScanGroupHead *x = cscan_group(table, a);
	const CScanGroupHead *y = cscan_group(table, b);

	return x->nulls == y->nulls && memcmp(x->keys, y->keys, (size_t) table->nkeys * sizeof(int64_t)) == 0;
}

/* Rows of one batch; false if some row is in no group, or in a wrong one, or missing in vain. */
static bool
find_batch(CScanGroupTable *table, Batch *batch, bool may_grow, uint64_t *rows)
{
	CScanVector vectors[COLUMNS];
	const CScanVector *keys[COLUMNS];
	uint32_t	group_of[CSCAN_BATCH];
	uint32_t	hashes[CSCAN_BATCH];
	CScanSelection missing;
	uint32_t	n = batch->selection.n;
	uint32_t	before = table->ngroups;

	for (int c = 0; c < table->nkeys; c++)
	{
		batch->is_missing[c] = batch->is_wide[c] = false;
		(void) batch_load(batch, c, &batch->selection, &vectors[c]);
		keys[c] = &vectors[c];
	}
	cscan_group_table_find(table, keys, may_grow, &batch->selection, group_of, &missing, hashes);
	if (batch->selection.n + missing.n != n || (may_grow && missing.n > 0) || (!may_grow && table->ngroups > before))
		return false;
	for (uint32_t i = 0; i < batch->selection.n; i++)
	{
		if (group_of[i] >= table->ngroups || !has_keys_of(table, group_of[i], keys, batch->selection.rows[i]))
			return false;
		(*(uint64_t *) cscan_group_states(table, group_of[i]))++;
		++*rows;
	}
	for (uint32_t i = 0; i < missing.n; i++)
	{
		for (uint32_t g = 0; g < table->ngroups && i < 3; g++)
		{
			if (has_keys_of(table, g, keys, missing.rows[i]))
				return false;
		}
	}
	return true;
}

static bool
check_table(const CScanGroupTable *table, uint64_t rows)
{
	uint64_t	counted = 0;

	for (uint32_t a = 0; a < table->ngroups; a++)
	{
		counted += *(uint64_t *) cscan_group_states(table, a);
		for (uint32_t b = 0; b < a && a < 1500; b++)
		{
			if (are_same(table, a, b))
				return false;
		}
	}
	return counted == rows;
}

static bool
is_even(const void *rows, const CScanGroupHead *group)
{
	(void) rows;
	return (group->keys[0] & 1) == 0;
}

/* Some groups go, and the rest is found again: what is left of "rows". */
static uint64_t
keep_even(CScanGroupTable *table, uint64_t rows)
{
	for (uint32_t g = 0; g < table->ngroups; g++)
	{
		if (!is_even(NULL, cscan_group(table, g)))
			rows -= *(uint64_t *) cscan_group_states(table, g);
	}
	cscan_group_table_keep(table, is_even, NULL);
	cscan_group_table_rehash(table);
	return rows;
}

/* The groups of another table come to this one: how many rows these are. */
static uint64_t
take_others(CScanGroupTable *table, Batch *batch, Random *random, uint64_t span, bool *right)
{
	CScanGroupTable other;
	uint64_t	rows = 0;

	cscan_group_table_begin(&other, table->nkeys, sizeof(uint64_t), &memory);
	for (int b = 0; b < 5; b++)
	{
		batch_fill(batch, random, span);
		*right &= find_batch(&other, batch, true, &rows);
	}
	for (uint32_t g = 0; g < other.ngroups; g++)
	{
		bool		is_new;
		uint32_t	number = cscan_group_table_take(table, cscan_group(&other, g), &is_new);

		if (!is_new)
			*(uint64_t *) cscan_group_states(table, number) += *(uint64_t *) cscan_group_states(&other, g);
		*right &= number < table->ngroups;
	}
	free(other.groups);
	free(other.buckets);
	free(other.places);
	return rows;
}

/* Do 32,768 keys that differ in 15 bits only have about as many buckets of 65,536 as random ones (25,800)? */
static bool
spreads(int shift)
{
	CScanGroupTable table;
	int64_t	   *values = zeroed(CSCAN_BATCH, sizeof(int64_t));
	uint8_t    *seen = zeroed(65536, 1);
	uint32_t	group_of[CSCAN_BATCH];
	uint32_t	hashes[CSCAN_BATCH];
	uint32_t	buckets = 0;
	CScanSelection all;
	CScanSelection missing;

	cscan_group_table_begin(&table, 1, 0, &memory);
	for (uint64_t first = 0; first < 32768; first += CSCAN_BATCH)
	{
		CScanVector vector = {values, NULL, 0, 0};
		const CScanVector *key = &vector;

		for (uint64_t i = 0; i < CSCAN_BATCH; i++)
			values[i] = (int64_t) ((first + i) << shift);
		cscan_selection_all(&all, CSCAN_BATCH);
		cscan_vector_tighten(&vector, &all);
		cscan_group_table_find(&table, &key, true, &all, group_of, &missing, hashes);
	}
	for (uint32_t g = 0; g < table.ngroups; g++)
	{
		uint32_t	bucket = cscan_group(&table, g)->hash & 65535;

		buckets += !seen[bucket];
		seen[bucket] = 1;
	}
	free(table.groups);
	free(table.buckets);
	free(table.places);
	free(values);
	free(seen);
	return buckets > 24000;
}

void
test_groups(void)
{
	static const uint64_t spans[] = {0, 3, 40, 700, 100000};
	Random		random = beginning();
	Batch	   *batch = zeroed(1, sizeof(Batch));
	bool		right = true;
	uint64_t	direct = 0;

	for (uint64_t r = 0; r < rounds() / 40 && right; r++)
	{
		CScanGroupTable table;
		uint64_t	rows = 0;

		cscan_group_table_begin(&table, 1 + (int) random_below(&random, COLUMNS), sizeof(uint64_t), &memory);
		for (int b = 0; b < 20 && right; b++)
		{
			uint64_t	span = spans[random_chance(&random, 90) ? r % 5 : random_below(&random, 5)];

			batch_fill(batch, &random, span);
			right = find_batch(&table, batch, b < 10 || random_chance(&random, 50), &rows);
			direct += table.direct;
			if (random_chance(&random, 10))
				rows = keep_even(&table, rows);
			if (random_chance(&random, 5))
				rows += take_others(&table, batch, &random, span, &right);
			if (random_chance(&random, 3))
			{
				right &= check_table(&table, rows);
				cscan_group_table_clear(&table);
				rows = 0;
			}
		}
		right &= check_table(&table, rows);
		free(table.groups);
		free(table.buckets);
		free(table.places);
	}
	ok(right, "each row is in the group of its keys, and each group is there once");
	ok(direct > 0, "some tables have places for all combinations");
	for (int shift = 0; shift <= 48; shift += 16)
		ok(spreads(shift), "keys that differ in bits %d to %d only have hashes that differ in their last bits", shift, shift + 14);
}
