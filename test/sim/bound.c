/*-------------------------------------------------------------------------
 *
 * bound.c
 *		See bound.h.
 *
 *-------------------------------------------------------------------------
 */
#include "bound.h"

#include <stdlib.h>

typedef struct Gap
{
	uint64_t	begin;
	uint64_t	end;
} Gap;

static int
by_chunk_and_end(const void *a, const void *b)
{
	const BoundInterval *x = a;
	const BoundInterval *y = b;

	if (x->chunk != y->chunk)
		return x->chunk < y->chunk ? -1 : 1;
	return x->end < y->end ? -1 : x->end > y->end;
}

static int
by_begin(const void *a, const void *b)
{
	const Gap  *x = a;
	const Gap  *y = b;

	if (x->begin != y->begin)
		return x->begin < y->begin ? -1 : 1;
	return x->end < y->end ? -1 : x->end > y->end;
}

/* A heap of ends, the last on top. */
static void
heap_push(uint64_t *heap, size_t *n, uint64_t end)
{
	size_t		i = (*n)++;

	for (; i > 0 && heap[(i - 1) / 2] < end; i = (i - 1) / 2)
		heap[i] = heap[(i - 1) / 2];
	heap[i] = end;
}

static void
heap_pop(uint64_t *heap, size_t *n)
{
	uint64_t	last = heap[--(*n)];
	size_t		i = 0;

	for (;;)
	{
		size_t		child = 2 * i + 1;

		if (child + 1 < *n && heap[child + 1] > heap[child])
			child++;
		if (child >= *n || heap[child] <= last)
			break;
		heap[i] = heap[child];
		i = child;
	}
	heap[i] = last;
}

/* Ends of gaps that are over by then go. */
static void
heap_remove_until(uint64_t *heap, size_t *n, uint64_t time)
{
	size_t		kept = 0;
	size_t		all = *n;

	for (size_t i = 0; i < all; i++)
	{
		uint64_t	end = heap[i];

		if (end > time)
			heap_push(heap, &kept, end);
	}
	*n = kept;
}

/* The most gaps of which no more than capacity overlap at any time. */
static uint64_t
most_gaps(Gap *gaps, size_t n, uint32_t capacity)
{
	uint64_t   *kept = malloc(sizeof(uint64_t) * (n + 1));
	size_t		nkept = 0;
	uint64_t	left_out = 0;

	if (kept == NULL)
		abort();
	qsort(gaps, n, sizeof(Gap), by_begin);
	for (size_t i = 0; i < n; i++)
	{
		/* Only when it is full does it matter whether some are over. */
		if (nkept >= capacity)
			heap_remove_until(kept, &nkept, gaps[i].begin);
		heap_push(kept, &nkept, gaps[i].end);
		if (nkept > capacity)
		{
			heap_pop(kept, &nkept);
			left_out++;
		}
	}
	free(kept);
	return n - left_out;
}

uint64_t
bound_loads(BoundInterval *intervals, size_t n, uint32_t capacity)
{
	Gap		   *gaps = malloc(sizeof(Gap) * (n + 1));
	size_t		ngaps = 0;
	uint64_t	loads = 0;

	if (gaps == NULL)
		abort();
	qsort(intervals, n, sizeof(BoundInterval), by_chunk_and_end);
	for (size_t i = 0; i < n;)
	{
		uint64_t	chunk = intervals[i].chunk;
		uint64_t	k = 0;
		uint64_t	last = 0;

		for (; i < n && intervals[i].chunk == chunk; i++)
		{
			if (intervals[i].light || (k > 0 && intervals[i].begin <= last))
				continue;
			if (k > 0)
			{
				gaps[ngaps].begin = last;
				gaps[ngaps++].end = intervals[i].begin;
			}
			last = intervals[i].end;
			k++;
		}
		loads += k > 0 ? k : 1;
	}
	loads -= most_gaps(gaps, ngaps, capacity);
	free(gaps);
	return loads;
}
