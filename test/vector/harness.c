/*-------------------------------------------------------------------------
 *
 * harness.c
 *		What the tests of vectors share (harness.h).
 *
 *-------------------------------------------------------------------------
 */
#include "harness.h"

#include <stdlib.h>

static void *
resize(void *arg, void *old, size_t size)
{
	void	   *room = realloc(old, size);

	(void) arg;
	if (room == NULL)
		abort();
	return room;
}

const CScanMemory memory = {resize, NULL};

uint64_t
rounds(void)
{
	return setting("ROUNDS", 2000);
}

Random
beginning(void)
{
	return (Random) {setting("SEED", 1)};
}

static int64_t
random_value(Random *random, uint64_t span)
{
	static const int64_t edges[] = {0, 1, -1, INT64_MAX, INT64_MIN, INT32_MAX, INT32_MIN, INT16_MIN, 1000000007};

	if (span > 0)
		return (int64_t) (random_next(random) % span) - (int64_t) (span / 3);
	if (random_chance(random, 30))
		return edges[random_below(random, sizeof(edges) / sizeof(edges[0]))];
	return (int64_t) random_next(random) >> random_below(random, 64);
}

void
some_of(CScanSelection *selection, Random *random, uint32_t percent)
{
	uint32_t	n = 0;

	for (uint32_t i = 0; i < selection->n; i++)
	{
		if (random_chance(random, percent))
			selection->rows[n++] = selection->rows[i];
	}
	selection->n = n;
}

void
batch_fill(Batch *batch, Random *random, uint64_t span)
{
	batch->nrows = random_chance(random, 50) ? CSCAN_BATCH : 1 + random_below(random, CSCAN_BATCH);
	for (int c = 0; c < COLUMNS; c++)
	{
		batch->has_nulls[c] = random_chance(random, 50);
		batch->is_missing[c] = random_chance(random, 3);
		batch->is_wide[c] = random_chance(random, 50);
		for (uint32_t i = 0; i < batch->nrows; i++)
		{
			batch->values[c][i] = random_value(random, random_chance(random, 2) && span > 0 ? 0 : span);
			batch->isnull[c][i] = batch->has_nulls[c] && random_chance(random, 20);
		}
	}
	cscan_selection_all(&batch->selection, batch->nrows);
	if (random_chance(random, 60))
		some_of(&batch->selection, random, random_below(random, 101));
}

bool
batch_load(void *arg, int column, const CScanSelection *selection, CScanVector *vector)
{
	Batch	   *batch = arg;

	if (batch->is_missing[column])
		return false;
	vector->values = batch->values[column];
	vector->isnull = batch->has_nulls[column] ? batch->isnull[column] : NULL;
	cscan_vector_tighten(vector, selection);
	if (batch->is_wide[column] && vector->minimum <= vector->maximum)
	{
		vector->minimum = vector->minimum > INT64_MIN + 1000000 ? vector->minimum - 1000000 : INT64_MIN;
		vector->maximum = vector->maximum < INT64_MAX / 2 ? 2 * (vector->maximum > 0 ? vector->maximum : 0) : INT64_MAX;
	}
	return true;
}
