/*-------------------------------------------------------------------------
 *
 * states.c
 *		What aggregates know of the rows that they have seen (states.h).
 *
 * In one group a batch is summed in 64 bits, if its bounds allow that.
 *
 *-------------------------------------------------------------------------
 */
#include "states.h"

#include <math.h>

/* The state of the group of selected row i. */
#define STATE(type, i)	((type *) (at + (size_t) group_of[i] * size))

void
cscan_state_count(const CScanStatePlace *place, const CScanVector *vector, const CScanSelection *selection)
{
	char	   *at = place->groups + place->offset;
	size_t		size = place->group_size;
	const uint32_t *group_of = place->group_of;
	const bool *isnull = vector ? vector->isnull : NULL;
	uint32_t	n = selection->n;

	if (group_of == NULL)
	{
		uint32_t	nulls = 0;

		for (uint32_t i = 0; i < n && isnull; i++)
			nulls += isnull[selection->rows[i]];
		((CScanCount *) at)->n += n - nulls;
	}
	else if (isnull == NULL)
	{
		for (uint32_t i = 0; i < n; i++)
			STATE(CScanCount, i)->n++;
	}
	else
	{
		for (uint32_t i = 0; i < n; i++)
			STATE(CScanCount, i)->n += !isnull[selection->rows[i]];
	}
}

static bool
sums_fit(const CScanVector *v)
{
	return v->minimum > INT64_MIN / CSCAN_BATCH && v->maximum < INT64_MAX / CSCAN_BATCH;
}

/* All selected rows are in one group. */
static void
sum_one(CScanSum *state, const CScanVector *v, const CScanSelection *selection)
{
	uint32_t	n = selection->n;
	uint32_t	counted = 0;

	if (v->isnull == NULL && sums_fit(v))
	{
		uint64_t	sum = 0;

		/* The last one is row n - 1 if all of the first n are selected. */
		if (n > 0 && selection->rows[n - 1] == n - 1)
		{
			for (uint32_t i = 0; i < n; i++)
				sum += (uint64_t) v->values[i];
		}
		else
		{
			for (uint32_t i = 0; i < n; i++)
				sum += (uint64_t) v->values[selection->rows[i]];
		}
		state->sum += (int64_t) sum;
		state->n += n;
		return;
	}
	for (uint32_t i = 0; i < n; i++)
	{
		uint16_t	row = selection->rows[i];

		if (cscan_vector_is_null(v, row))
			continue;
		state->sum += v->values[row];
		counted++;
	}
	state->n += counted;
}

void
cscan_state_sum(const CScanStatePlace *place, const CScanVector *vector, const CScanSelection *selection)
{
	char	   *at = place->groups + place->offset;
	size_t		size = place->group_size;
	const uint32_t *group_of = place->group_of;

	if (group_of == NULL)
	{
		sum_one((CScanSum *) at, vector, selection);
		return;
	}
	for (uint32_t i = 0; i < selection->n; i++)
	{
		uint16_t	row = selection->rows[i];
		CScanSum   *state = STATE(CScanSum, i);

		if (cscan_vector_is_null(vector, row))
			continue;
		state->n++;
		state->sum += vector->values[row];
	}
}

/* Of rows that are in one group */
static const uint32_t first[CSCAN_BATCH];

void
cscan_state_extreme(const CScanStatePlace *place, const CScanVector *vector, const CScanSelection *selection, bool maximum)
{
	char	   *at = place->groups + place->offset;
	size_t		size = place->group_size;
	const uint32_t *group_of = place->group_of ? place->group_of : first;

	for (uint32_t i = 0; i < selection->n; i++)
	{
		uint16_t	row = selection->rows[i];
		CScanExtreme *state = STATE(CScanExtreme, i);
		int64_t		value = vector->values[row];

		if (cscan_vector_is_null(vector, row))
			continue;
		if (state->n++ == 0 || (maximum ? value > state->value : value < state->value))
			state->value = value;
	}
}

bool
cscan_state_float_sum(const CScanStatePlace *place, const CScanVector *vector, const CScanSelection *selection, bool single)
{
	char	   *at = place->groups + place->offset;
	size_t		size = place->group_size;
	const uint32_t *group_of = place->group_of ? place->group_of : first;

	for (uint32_t i = 0; i < selection->n; i++)
	{
		uint16_t	row = selection->rows[i];
		CScanFloatSum *state = STATE(CScanFloatSum, i);
		double		value = cscan_float_of_bits(vector->values[row]);
		double		sum;

		if (cscan_vector_is_null(vector, row))
			continue;
		/* The first value is the sum: 0 + -0 would be 0. */
		sum = state->n++ == 0 ? value : single ? (float) state->sum + (float) value : state->sum + value;
		if (isinf(sum) && !isinf(state->sum) && !isinf(value))
			return false;
		state->sum = sum;
	}
	return true;
}

bool
cscan_state_float_average(const CScanStatePlace *place, const CScanVector *vector, const CScanSelection *selection)
{
	char	   *at = place->groups + place->offset;
	size_t		size = place->group_size;
	const uint32_t *group_of = place->group_of ? place->group_of : first;

	for (uint32_t i = 0; i < selection->n; i++)
	{
		uint16_t	row = selection->rows[i];
		CScanFloatAverage *state = STATE(CScanFloatAverage, i);
		double		value = cscan_float_of_bits(vector->values[row]);
		double		before = state->sum;

		if (cscan_vector_is_null(vector, row))
			continue;
		state->n++;
		state->sum += value;
		if (state->n > 1)
		{
			double		difference = value * state->n - state->sum;

			state->squares += difference * difference / (state->n * (state->n - 1));
			if (isinf(state->sum) || isinf(state->squares))
			{
				if (!isinf(before) && !isinf(value))
					return false;
				state->squares = NAN;
			}
		}
		else if (!isfinite(value))
			state->squares = NAN;
	}
	return true;
}

void
cscan_state_float_extreme(const CScanStatePlace *place, const CScanVector *vector, const CScanSelection *selection, bool maximum)
{
	char	   *at = place->groups + place->offset;
	size_t		size = place->group_size;
	const uint32_t *group_of = place->group_of ? place->group_of : first;

	for (uint32_t i = 0; i < selection->n; i++)
	{
		uint16_t	row = selection->rows[i];
		CScanFloatExtreme *state = STATE(CScanFloatExtreme, i);
		double		value = cscan_float_of_bits(vector->values[row]);
		int64_t		a = cscan_float_order(state->value);
		int64_t		b = cscan_float_order(value);

		if (cscan_vector_is_null(vector, row))
			continue;
		/* Of equal ones, which may look different, the last one counts. */
		if (state->n++ == 0 || !(maximum ? a > b : a < b))
			state->value = value;
	}
}
