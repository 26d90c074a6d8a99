/*-------------------------------------------------------------------------
 *
 * queue.c
 *		See queue.h.
 *
 * The rate changes when scans come and go, and with the time that a load
 * takes.  Then all keys that depend on it change.  To make this rare, the
 * block time counts only when it has moved by more than an eighth since it
 * last did (pace).
 *
 * Keys are kept beside the scans.  Keys of scans that have changed since
 * (MOVED) stay old until a caller asks.
 *
 *-------------------------------------------------------------------------
 */
#include "queue.h"

#define NO_QUEUE	0

/* Queue numbers begin at 1: each policy's waiting scans, then its others. */
static uint8_t
queue_of(CScanPolicyId policy, bool blocked)
{
	return (uint8_t) (2 * policy + (blocked ? 1 : 2));
}

static CScanQueued *
entries(const CScanPool *pool, uint8_t queue)
{
	return pool->queues + (size_t) (queue - 1) * pool->state->limits.max_scans;
}

void
cscan_queue_init(CScanPool *pool)
{
	for (int q = 0; q < CSCAN_NQUEUES; q++)
		pool->state->queued[q] = 0;
	pool->state->queues_stale = false;
	for (int i = 0; i < pool->state->limits.max_scans; i++)
		pool->scans[i].queue = NO_QUEUE;
}

uint64_t
cscan_queue_rate(const CScanPool *pool, CScanPolicyId policy)
{
	uint64_t	rate = pool->state->pace * (uint64_t) pool->state->nactive /
		pool->state->traits[policy].impatience;

	return rate > 0 ? rate : 1;
}

uint64_t
cscan_queue_worth(const CScanPool *pool, CScanPolicyId policy, uint64_t needed)
{
	return needed * cscan_queue_rate(pool, policy) / 1000;
}

void
cscan_queue_set_block_time(CScanPool *pool, double block_time)
{
	CScanPoolState *state = pool->state;
	double		pace = (double) state->pace;
	double		now = block_time * 1000;

	state->block_time = block_time;
	if (now < 1)
		now = 1;
	if (now > pace * 1.125 || now < pace * 0.875)
	{
		state->pace = (uint64_t) now;
		state->queues_stale = true;
	}
}

static uint64_t
key_of(const CScanPool *pool, int scan)
{
	const CScanScan *s = &pool->scans[scan];

	if (cscan_traits(pool, scan)->queue == CSCAN_QUEUE_SINCE)
		return s->since;
	if (!s->blocked)
		return s->needed;
	return cscan_queue_worth(pool, s->policy, s->needed) + s->since;
}

static bool
goes_first(const CScanQueued *a, const CScanQueued *b)
{
	return a->key != b->key ? a->key < b->key : a->scan < b->scan;
}

static void
put(CScanPool *pool, CScanQueued *heap, int32_t place, CScanQueued entry)
{
	heap[place] = entry;
	pool->scans[entry.scan].queue_place = place;
}

/* Move an entry down from a free place to where it belongs. */
static void
sift_down(CScanPool *pool, uint8_t queue, int32_t place, CScanQueued entry)
{
	CScanQueued *heap = entries(pool, queue);
	int32_t		n = pool->state->queued[queue - 1];
	int32_t		child;

	while ((child = 2 * place + 1) < n)
	{
		if (child + 1 < n && goes_first(&heap[child + 1], &heap[child]))
			child++;
		if (!goes_first(&heap[child], &entry))
			break;
		put(pool, heap, place, heap[child]);
		place = child;
	}
	put(pool, heap, place, entry);
}

/* Move an entry up or down from a free place to where it belongs. */
static void
sift(CScanPool *pool, uint8_t queue, int32_t place, CScanQueued entry)
{
	CScanQueued *heap = entries(pool, queue);

	while (place > 0 && goes_first(&entry, &heap[(place - 1) / 2]))
	{
		put(pool, heap, place, heap[(place - 1) / 2]);
		place = (place - 1) / 2;
	}
	sift_down(pool, queue, place, entry);
}

static void
dequeue(CScanPool *pool, int scan)
{
	CScanScan *s = &pool->scans[scan];
	uint8_t		queue = s->queue;
	int32_t		n;

	if (queue == NO_QUEUE)
		return;
	s->queue = NO_QUEUE;
	n = --pool->state->queued[queue - 1];
	if (s->queue_place < n)
		sift(pool, queue, s->queue_place, entries(pool, queue)[n]);
}

/* Put a scan into the queue and place where it belongs now. */
static void
move(CScanPool *pool, int scan)
{
	CScanScan *s = &pool->scans[scan];
	uint8_t		queue = NO_QUEUE;
	CScanQueued entry = {0, scan};

	if (s->started && cscan_traits(pool, scan)->queue != CSCAN_QUEUE_NONE &&
		cscan_pool_starved(pool, scan) && cscan_pool_has_absent(pool, scan))
		queue = queue_of(s->policy, s->blocked);

	if (queue != s->queue)
	{
		dequeue(pool, scan);
		if (queue == NO_QUEUE)
			return;
		s->queue = queue;
		s->queue_place = pool->state->queued[queue - 1]++;
	}
	else if (queue == NO_QUEUE)
		return;
	entry.key = key_of(pool, scan);
	sift(pool, queue, s->queue_place, entry);
}

/* The rate has changed: compute the keys that depend on it, and reorder. */
static void
set_keys(CScanPool *pool)
{
	for (int p = 0; p < CSCAN_NPOLICIES; p++)
	{
		uint8_t		queue = queue_of(p, true);
		CScanQueued *heap = entries(pool, queue);
		int32_t		n = pool->state->queued[queue - 1];

		if (pool->state->traits[p].queue != CSCAN_QUEUE_RELEVANCE)
			continue;
		for (int32_t i = 0; i < n; i++)
			heap[i].key = key_of(pool, heap[i].scan);
		for (int32_t i = n / 2; i-- > 0;)
			sift_down(pool, queue, i, heap[i]);
	}
	pool->state->queues_stale = false;
}

int
cscan_queue_first(CScanPool *pool, CScanPolicyId policy, bool blocked, uint64_t *key)
{
	uint64_t   *moved = cscan_scan_set(pool, CSCAN_SCANS_MOVED_QUEUE);
	uint8_t		queue = queue_of(policy, blocked);

	for (uint32_t w = 0; w < cscan_scan_words(pool); w++)
	{
		while (moved[w] != 0)
		{
			int			scan = (int) (w * 64) + __builtin_ctzll(moved[w]);

			moved[w] &= moved[w] - 1;
			move(pool, scan);
		}
	}
	if (pool->state->queues_stale)
		set_keys(pool);

	if (pool->state->queued[queue - 1] == 0)
		return CSCAN_NONE;
	*key = entries(pool, queue)[0].key;
	return entries(pool, queue)[0].scan;
}
