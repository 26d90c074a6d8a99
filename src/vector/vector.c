/*-------------------------------------------------------------------------
 *
 * vector.c
 *		Bounds, and selections as sets.
 *
 *-------------------------------------------------------------------------
 */
#include "vector.h"
#include "wide.h"

#include <string.h>

void
cscan_vector_tighten(CScanVector *vector, const CScanSelection *selection)
{
	int64_t		minimum = INT64_MAX;
	int64_t		maximum = INT64_MIN;

	for (uint32_t i = 0; i < selection->n; i++)
	{
		uint16_t	row = selection->rows[i];
		int64_t		value = vector->values[row];

		if (cscan_vector_is_null(vector, row))
			continue;
		minimum = value < minimum ? value : minimum;
		maximum = value > maximum ? value : maximum;
	}
	vector->minimum = minimum;
	vector->maximum = maximum;
}

CSCAN_WIDE void
cscan_selection_all(CScanSelection *selection, uint32_t n)
{
	selection->n = n;
	for (uint32_t i = 0; i < n; i++)
		selection->rows[i] = (uint16_t) i;
}

void
cscan_selection_without(const CScanSelection *all, const CScanSelection *part, CScanSelection *rest)
{
	uint32_t	next = 0;
	uint32_t	n = 0;

	for (uint32_t i = 0; i < all->n; i++)
	{
		if (next < part->n && part->rows[next] == all->rows[i])
			next++;
		else
			rest->rows[n++] = all->rows[i];
	}
	rest->n = n;
}

void
cscan_selection_common(const CScanSelection *a, const CScanSelection *b, CScanSelection *to)
{
	uint32_t	na = a->n;
	uint32_t	nb = b->n;
	uint32_t	i = 0;
	uint32_t	j = 0;
	uint32_t	n = 0;

	while (i < na && j < nb)
	{
		uint16_t	x = a->rows[i];
		uint16_t	y = b->rows[j];

		i += x <= y;
		j += y <= x;
		if (x == y)
			to->rows[n++] = x;
	}
	to->n = n;
}

void
cscan_selection_add(CScanSelection *to, const CScanSelection *more)
{
	uint32_t	i = to->n;
	uint32_t	j = more->n;
	uint32_t	k = i + j;

	to->n = k;
	while (j > 0)
	{
		if (i > 0 && to->rows[i - 1] > more->rows[j - 1])
			to->rows[--k] = to->rows[--i];
		else
			to->rows[--k] = more->rows[--j];
	}
}
