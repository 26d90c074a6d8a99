/*-------------------------------------------------------------------------
 *
 * test_states.c
 *		States of aggregates, in one group and in many, against one row after
 *		the other.
 *
 *-------------------------------------------------------------------------
 */
#include "harness.h"

#include <string.h>

#define GROUPS	37

typedef struct States
{
	CScanCount	all;
	CScanCount	count;
	CScanSum	sum;
	CScanExtreme minimum;
	CScanExtreme maximum;
} States;

static void
add_row(States *states, bool isnull, int64_t value)
{
	states->all.n++;
	if (isnull)
		return;
	if (states->count.n == 0 || value < states->minimum.value)
		states->minimum.value = value;
	if (states->count.n == 0 || value > states->maximum.value)
		states->maximum.value = value;
	states->count.n++;
	states->sum.n++;
	states->minimum.n++;
	states->maximum.n++;
	states->sum.sum += value;
}

static void
add_batch(States *states, const uint32_t *group_of, const CScanVector *vector, const CScanSelection *selection)
{
	CScanStatePlace place = {(char *) states, sizeof(States), offsetof(States, all), group_of};

	cscan_state_count(&place, NULL, selection);
	place.offset = offsetof(States, count);
	cscan_state_count(&place, vector, selection);
	place.offset = offsetof(States, sum);
	cscan_state_sum(&place, vector, selection);
	place.offset = offsetof(States, minimum);
	cscan_state_extreme(&place, vector, selection, false);
	place.offset = offsetof(States, maximum);
	cscan_state_extreme(&place, vector, selection, true);
}

void
test_states(void)
{
	Random		random = beginning();
	Batch	   *batch = zeroed(1, sizeof(Batch));
	States		states[GROUPS];
	States		expected[GROUPS];
	bool		right[2] = {true, true};

	for (int grouped = 0; grouped < 2; grouped++)
	{
		memset(states, 0, sizeof(states));
		memset(expected, 0, sizeof(expected));
		for (uint64_t r = 0; r < rounds() && right[grouped]; r++)
		{
			CScanVector vector;
			uint32_t	group_of[CSCAN_BATCH] = {0};

			batch_fill(batch, &random, random_chance(&random, 50) ? 100000 : 0);
			batch->is_missing[0] = false;
			(void) batch_load(batch, 0, &batch->selection, &vector);
			for (uint32_t i = 0; i < batch->selection.n; i++)
			{
				uint16_t	row = batch->selection.rows[i];

				group_of[i] = grouped ? random_below(&random, GROUPS) : 0;
				add_row(&expected[group_of[i]], cscan_vector_is_null(&vector, row), vector.values[row]);
			}
			add_batch(states, grouped ? group_of : NULL, &vector, &batch->selection);
			right[grouped] = memcmp(states, expected, sizeof(states)) == 0;
		}
	}
	ok(right[0], "states in one group");
	ok(right[1], "states in many groups");
}
