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

/* Queues of one kind follow one another, and those of one policy likewise. */
static int
number_of(CScanPolicyId policy, CScanQueueKind kind)
{
	return CSCAN_NQUEUE_KINDS * (int) policy + (int) kind;
}

static CScanQueued *
entries(const CScanPool *pool, int queue)
{
	return pool->queues + (size_t) queue * (size_t) pool->state->limits.max_scans;
}

static int32_t *
place_of(CScanPool *pool, int queue, int32_t scan)
{
	return &pool->scans[scan].places[queue % CSCAN_NQUEUE_KINDS];
}

void
cscan_queue_init(CScanPool *pool)
{
	for (int q = 0; q < CSCAN_NQUEUES; q++)
		pool->state->queued[q] = 0;
	pool->state->queues_stale = false;
	for (int i = 0; i < pool->state->limits.max_scans; i++)
	{
		pool->scans[i].queue = CSCAN_NONE;
		pool->scans[i].in_empty = false;
	}
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
put(CScanPool *pool, int queue, int32_t place, CScanQueued entry)
{
	entries(pool, queue)[place] = entry;
	*place_of(pool, queue, entry.scan) = place;
}

/* Move an entry down from a free place to where it belongs. */
static void
sift_down(CScanPool *pool, int queue, int32_t place, CScanQueued entry)
{
	CScanQueued *heap = entries(pool, queue);
	int32_t		n = pool->state->queued[queue];
	int32_t		child;

	while ((child = 2 * place + 1) < n)
	{
		if (child + 1 < n && goes_first(&heap[child + 1], &heap[child]))
			child++;
		if (!goes_first(&heap[child], &entry))
			break;
		put(pool, queue, place, heap[child]);
		place = child;
	}
	put(pool, queue, place, entry);
}

/* Move an entry up or down from a free place to where it belongs. */
static void
sift(CScanPool *pool, int queue, int32_t place, CScanQueued entry)
{
	CScanQueued *heap = entries(pool, queue);

	while (place > 0 && goes_first(&entry, &heap[(place - 1) / 2]))
	{
		put(pool, queue, place, heap[(place - 1) / 2]);
		place = (place - 1) / 2;
	}
	sift_down(pool, queue, place, entry);
}

static void
take_out(CScanPool *pool, int queue, int scan)
{
	int32_t		place = *place_of(pool, queue, scan);
	int32_t		n = --pool->state->queued[queue];

	if (place < n)
		sift(pool, queue, place, entries(pool, queue)[n]);
}

/* Put a scan in, or where it belongs now. */
static void
put_in(CScanPool *pool, int queue, int scan, uint64_t key, bool is_in)
{
	CScanQueued entry = {key, scan};

	if (!is_in)
		*place_of(pool, queue, scan) = pool->state->queued[queue]++;
	sift(pool, queue, *place_of(pool, queue, scan), entry);
}

/* Put a scan into the queues and places where it belongs now. */
static void
move(CScanPool *pool, int scan)
{
	CScanScan *s = &pool->scans[scan];
	CScanPolicyId policy = (CScanPolicyId) s->policy;
	CScanQueueOrder order = (CScanQueueOrder) cscan_traits(pool, scan)->queue;
	int			kind = CSCAN_NONE;
	bool		empty;

	if (s->started && order != CSCAN_QUEUE_NONE && cscan_pool_starved(pool, scan) &&
		cscan_pool_has_absent(pool, scan))
		kind = s->blocked ? CSCAN_QUEUE_BLOCKED : CSCAN_QUEUE_READING;
	empty = kind == CSCAN_QUEUE_BLOCKED && order == CSCAN_QUEUE_RELEVANCE && cscan_pool_has_nothing(pool, scan);

	/* The entry of a scan that has gone may have another policy now. */
	if (s->queue != CSCAN_NONE && (s->queue != kind || s->queued_policy != s->policy))
	{
		take_out(pool, number_of((CScanPolicyId) s->queued_policy, (CScanQueueKind) s->queue), scan);
		s->queue = CSCAN_NONE;
	}
	if (s->in_empty && (!empty || s->queued_policy != s->policy))
	{
		take_out(pool, number_of((CScanPolicyId) s->queued_policy, CSCAN_QUEUE_EMPTY), scan);
		s->in_empty = false;
	}
	if (kind != CSCAN_NONE)
		put_in(pool, number_of(policy, (CScanQueueKind) kind), scan, key_of(pool, scan), s->queue == kind);
	if (empty)
		put_in(pool, number_of(policy, CSCAN_QUEUE_EMPTY), scan, s->since, s->in_empty);
	s->queue = (int8_t) kind;
	s->in_empty = empty;
	s->queued_policy = s->policy;
}

/* The rate has changed: compute the keys that depend on it, and reorder. */
static void
set_keys(CScanPool *pool)
{
	for (int p = 0; p < CSCAN_NPOLICIES; p++)
	{
		int			queue = number_of((CScanPolicyId) p, CSCAN_QUEUE_BLOCKED);
		CScanQueued *heap = entries(pool, queue);
		int32_t		n = pool->state->queued[queue];

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
cscan_queue_first(CScanPool *pool, CScanPolicyId policy, CScanQueueKind kind, uint64_t *key)
{
	uint64_t   *moved = cscan_scan_set(pool, CSCAN_SCANS_MOVED_QUEUE);
	int			queue = number_of(policy, kind);

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

	if (pool->state->queued[queue] == 0)
		return CSCAN_NONE;
	*key = entries(pool, queue)[0].key;
	return entries(pool, queue)[0].scan;
}
