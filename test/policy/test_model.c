/*-------------------------------------------------------------------------
 *
 * test_model.c
 *		The core under the assumptions of the small model that the targets
 *		come from: does it load as much as the model says?
 *
 * Streams of FAST and SLOW range scans over one table of 900 MB in 113 chunks,
 * a disk of 200 MB/s that loads one chunk at a time, two cores shared fairly,
 * 160 MB of buffers, no page cache and no overheads.  Time goes in steps of
 * 2 ms.  The plan below is the model's own default mix (its seed 7); the
 * expected numbers are the model's load counts for this plan, and for full
 * scans that begin one second apart.
 *
 *-------------------------------------------------------------------------
 */
#include "harness.h"

#include <stddef.h>
#include <string.h>

#define CHUNKS		113
#define SLOTS		20			/* 160 MB of chunks of 900 / 113 MB */
#define CORES		2
#define MAX_STREAMS	16
#define MAX_QUERIES	4

/* In us. */
#define STEP		2000
#define LOAD		(900.0 / CHUNKS / 200.0 * 1e6)
#define FAST		(1.0 / CHUNKS * 1e6)
#define SLOW		(4.3 / CHUNKS * 1e6)

typedef struct Query
{
	char		speed;			/* 'F' or 'S' */
	uint32_t	first;
	uint32_t	end;			/* the chunk after its last */
} Query;

typedef struct Plan
{
	int			nstreams;
	int			nqueries;		/* of each stream */
	uint64_t	delay;			/* between the streams' beginnings (us) */
	Query		queries[MAX_STREAMS][MAX_QUERIES];
} Plan;

static const Query mix[MAX_STREAMS][MAX_QUERIES] = {
	{{'S', 19, 30}, {'S', 41, 97}, {'F', 9, 10}, {'F', 46, 57}},
	{{'F', 64, 65}, {'F', 0, 113}, {'F', 55, 66}, {'S', 4, 60}},
	{{'F', 0, 113}, {'S', 3, 59}, {'F', 28, 39}, {'F', 73, 74}},
	{{'S', 3, 59}, {'F', 0, 113}, {'F', 18, 74}, {'S', 9, 65}},
	{{'F', 73, 84}, {'S', 71, 72}, {'F', 6, 62}, {'F', 0, 113}},
	{{'F', 70, 81}, {'F', 72, 83}, {'F', 79, 80}, {'F', 0, 113}},
	{{'S', 49, 105}, {'S', 59, 70}, {'S', 0, 113}, {'S', 31, 32}},
	{{'F', 44, 100}, {'F', 0, 113}, {'S', 67, 68}, {'S', 0, 113}},
	{{'S', 0, 113}, {'F', 15, 26}, {'S', 10, 66}, {'S', 19, 30}},
	{{'S', 0, 113}, {'F', 85, 86}, {'F', 97, 108}, {'S', 43, 54}},
	{{'S', 76, 87}, {'S', 0, 113}, {'F', 11, 22}, {'S', 60, 61}},
	{{'F', 7, 18}, {'S', 82, 83}, {'S', 0, 113}, {'S', 56, 112}},
	{{'S', 2, 13}, {'S', 0, 113}, {'F', 39, 95}, {'F', 63, 74}},
	{{'F', 27, 28}, {'S', 16, 17}, {'F', 0, 113}, {'S', 55, 111}},
	{{'S', 0, 113}, {'F', 28, 84}, {'S', 35, 91}, {'S', 17, 18}},
	{{'S', 55, 111}, {'S', 90, 91}, {'S', 22, 78}, {'S', 14, 70}},
};

/* A stream and the scan that it is at. */
typedef struct Stream
{
	int			nth;			/* how many it has begun */
	int			scan;			/* CSCAN_NONE: not begun, or finished */
	bool		reading;
	double		left;			/* CPU time for its chunk (us) */
} Stream;

typedef struct Outcome
{
	uint64_t	loads;
	double		total;			/* seconds */
	bool		sound;
} Outcome;

static void
ask(CScanPool *pool, Stream *stream, const Query *query, uint64_t now)
{
	stream->reading = cscan_pool_choose(pool, stream->scan, CSCAN_NONE, now) != CSCAN_NONE;
	if (stream->reading)
		stream->left = query->speed == 'F' ? FAST : SLOW;
}

static void
begin(CScanPool *pool, int table, CScanPolicyId policy, Stream *stream,
	  const Query *query, uint64_t now)
{
	stream->scan = scan_add(pool, table, policy, CHUNKS, query->first, query->end - 1, now);
	stream->nth++;
	ask(pool, stream, query, now);
}

static Outcome
run(const Plan *plan, CScanPolicyId policy)
{
	CScanPool  *pool = pool_create(MAX_STREAMS, SLOTS, SLOTS);
	int			table = table_add_sized(pool, 1, CHUNKS);
	Stream		streams[MAX_STREAMS];
	int			done = 0;
	int			loading = CSCAN_NONE;
	double		left = 0;
	uint64_t	now = 0;
	Outcome		outcome = {.sound = true};

	cscan_pool_set_block_time(pool, LOAD);
	memset(streams, 0, sizeof(streams));
	for (int i = 0; i < plan->nstreams; i++)
		streams[i].scan = CSCAN_NONE;

	while (done < plan->nstreams && now < UINT64_C(1000000000))
	{
		int			running = 0;
		double		share;

		for (int i = 0; i < plan->nstreams; i++)
		{
			Stream	   *stream = &streams[i];

			if (stream->nth == 0 && i * plan->delay <= now)
				begin(pool, table, policy, stream, &plan->queries[i][0], now);
			else if (stream->scan != CSCAN_NONE && !stream->reading)
				ask(pool, stream, &plan->queries[i][stream->nth - 1], now);
			running += stream->reading;
		}

		share = running > CORES ? (double) CORES / running : 1.0;
		for (int i = 0; i < plan->nstreams; i++)
		{
			Stream	   *stream = &streams[i];

			if (!stream->reading)
				continue;
			stream->left -= STEP * share;
			if (stream->left > 0)
				continue;
			ask(pool, stream, &plan->queries[i][stream->nth - 1], now);
			if (stream->reading || pool->scans[stream->scan].nwanted > 0)
				continue;
			cscan_pool_unregister(pool, stream->scan);
			stream->scan = CSCAN_NONE;
			if (stream->nth < plan->nqueries)
				begin(pool, table, policy, stream, &plan->queries[i][stream->nth], now);
			else
				done++;
		}

		if (loading != CSCAN_NONE && (left -= STEP) <= 0)
		{
			cscan_pool_loaded(pool, loading, now, (uint64_t) LOAD, false, false);
			loading = CSCAN_NONE;
		}
		if (loading == CSCAN_NONE)
		{
			CScanAction act = decide(pool, now);

			if (act.kind == CSCAN_ACT_LOAD)
			{
				loading = act.slot;
				left = LOAD;
			}
		}
		outcome.sound &= pool_check(pool) == NULL;
		now += STEP;
	}

	outcome.loads = pool->state->nloads;
	outcome.total = (double) now / 1e6;
	outcome.sound &= done == plan->nstreams;
	pool_free(pool);
	return outcome;
}

/* Within 5 % of what the model says. */
static Outcome
compare(const Plan *plan, const char *name, CScanPolicyId policy, uint64_t expected)
{
	Outcome		outcome = run(plan, policy);
	int64_t		off = (int64_t) outcome.loads - (int64_t) expected;

	if (off < 0)
		off = -off;
	ok(outcome.sound, "%s, %s: sound after every step, and finished", name, cscan_policies[policy]->name);
	ok(off * 100 <= (int64_t) expected * 5, "%s, %s: %llu loads, the model %llu", name,
	   cscan_policies[policy]->name, (unsigned long long) outcome.loads, (unsigned long long) expected);
	note("%s, %s: %.1f s", name, cscan_policies[policy]->name, outcome.total);
	return outcome;
}

static Plan
full_scans(const char *speeds, uint64_t delay)
{
	Plan		plan = {.nstreams = (int) strlen(speeds),.nqueries = 1,.delay = delay};

	for (int i = 0; i < plan.nstreams; i++)
		plan.queries[i][0] = (Query)
	{
		speeds[i], 0, CHUNKS
	};
	return plan;
}

static void
compare_all(const Plan *plan, const char *name, uint64_t normal,
			uint64_t elevator, uint64_t relevance)
{
	Outcome		in_order = compare(plan, name, CSCAN_POLICY_NORMAL, normal);
	Outcome		attach = run(plan, CSCAN_POLICY_ATTACH);

	ok(attach.sound, "%s, attach: sound after every step, and finished", name);
	ok(attach.loads < in_order.loads, "%s, attach: %llu loads, fewer than normal's %llu", name,
	   (unsigned long long) attach.loads, (unsigned long long) in_order.loads);
	compare(plan, name, CSCAN_POLICY_ELEVATOR, elevator);
	compare(plan, name, CSCAN_POLICY_RELEVANCE, relevance);
}

void
test_model(void)
{
	Plan		plan = {.nstreams = MAX_STREAMS,.nqueries = MAX_QUERIES,.delay = 1500000};

	memcpy(plan.queries, mix, sizeof(mix));
	compare_all(&plan, "default mix", 1655, 726, 865);
	plan = full_scans("FSFSFSFSFS", 1000000);
	compare_all(&plan, "fast and slow full scans", 857, 257, 357);
	plan = full_scans("FFFFFFFFFF", 1000000);
	compare_all(&plan, "fast full scans", 862, 318, 319);
}
