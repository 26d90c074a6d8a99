/*-------------------------------------------------------------------------
 *
 * test_plans.c
 *		Plans of queries: drawn, written, read.
 *
 *-------------------------------------------------------------------------
 */
#include "tests.h"

#include <stdlib.h>
#include <string.h>

static Workload
workload(void)
{
	SimConfig	ignored;
	Workload	work;

	sim_defaults(&ignored, &work);
	return work;
}

static bool
same_plan(const Plan *a, const Plan *b)
{
	if (a->nqueries != b->nqueries || a->nstreams != b->nstreams)
		return false;
	for (int i = 0; i < a->nqueries; i++)
	{
		const PlanQuery *x = &a->queries[i];
		const PlanQuery *y = &b->queries[i];

		if (x->stream != y->stream || x->start != y->start || x->speed != y->speed ||
			x->block_cpu != y->block_cpu || x->table != y->table || x->policy != y->policy ||
			x->nranges != y->nranges || x->pause != y->pause || x->pause_after != y->pause_after ||
			memcmp(x->ranges, y->ranges, sizeof(CScanRange) * x->nranges) != 0 ||
			a->endless[x->stream] != b->endless[x->stream])
			return false;
	}
	return true;
}

/* Writes a text into a file, reads it as a plan. */
static Plan *
read_text(const char *text, const Workload *work, char *error, size_t size)
{
	FILE	   *file = tmpfile();
	Plan	   *plan;

	error[0] = '\0';
	fputs(text, file);
	rewind(file);
	plan = plan_read(file, work, error, size);
	fclose(file);
	return plan;
}

static void
test_drawing(void)
{
	Workload	work = workload();
	Plan	   *plan = plan_draw(&work, 1);
	Plan	   *again = plan_draw(&work, 1);
	Plan	   *other = plan_draw(&work, 2);
	uint64_t	blocks = 0;
	int			slow = 0;
	bool		within = true;

	is_int(plan->nqueries, 64, "16 streams of 4 queries");
	ok(same_plan(plan, again), "one seed, one plan");
	ok(!same_plan(plan, other), "another seed, another plan");
	for (int i = 0; i < plan->nqueries; i++)
	{
		const PlanQuery *query = &plan->queries[i];

		blocks += plan_blocks(query);
		slow += query->speed == PLAN_SLOW;
		within &= query->ranges[0].end <= work.table_blocks[0];
		if (query->stream == 5)
			within &= query->start == 5 * work.stagger;
	}
	is_int(slow, 32, "half of them are slow");
	is_int((int64_t) (blocks / work.table_blocks[0]), 25, "each stream reads 1.61 tables");
	ok(within, "all lie in the table and start in time");
	plan_free(plan);
	plan_free(again);
	plan_free(other);
}

static void
test_ranges_drawn(void)
{
	Workload	work = workload();
	bool		good = true;

	work.pieces = 7;
	for (uint64_t seed = 0; seed < 50; seed++)
	{
		Plan	   *plan = plan_draw(&work, seed);

		for (int i = 0; i < plan->nqueries; i++)
		{
			const PlanQuery *query = &plan->queries[i];
			double		percent = 100.0 * plan_blocks(query) / work.table_blocks[0];
			uint32_t	last = 0;

			for (uint32_t r = 0; r < query->nranges; r++)
			{
				good &= query->ranges[r].first >= last && query->ranges[r].end > query->ranges[r].first;
				last = query->ranges[r].end;
			}
			good &= last <= work.table_blocks[0] && query->nranges <= 7;
			good &= percent > 0.9 && (percent < 1.1 || (percent > 9.9 && percent < 10.1) ||
									  (percent > 49.9 && percent < 50.1) || percent > 99.9);
		}
		plan_free(plan);
	}
	ok(good, "seven ranges: in order, within the table, of the size that was asked for");
}

static void
test_open_loop(void)
{
	Workload	work = workload();
	Plan	   *plan;
	bool		in_order = true;

	work.rate = 10;
	work.queries = 2000;
	plan = plan_draw(&work, 1);
	for (int i = 1; i < plan->nqueries; i++)
		in_order &= plan->queries[i].start >= plan->queries[i - 1].start;
	is_int(plan->nstreams, 2000, "open loop: each query is a stream");
	ok(in_order, "they arrive in order");
	ok(plan->queries[1999].start > 180000000 && plan->queries[1999].start < 220000000,
	   "2000 of them at 10 a second in about 200 s");
	plan_free(plan);
}

static void
test_files(void)
{
	Workload	work = workload();
	Plan	   *plan;
	Plan	   *back;
	FILE	   *file = tmpfile();
	char		error[200];

	work.ntables = 2;
	work.table_blocks[1] = 5000;
	work.pieces = 3;
	plan = plan_draw(&work, 7);
	plan->queries[3].policy = CSCAN_POLICY_ATTACH;
	plan->queries[4].pause_after = 5;
	plan->queries[4].pause = 2500000;
	plan->queries[6].speed = PLAN_OTHER;
	plan->queries[6].block_cpu = 12.5;
	plan_set_endless(plan, 9);
	plan_write(file, plan);
	rewind(file);
	back = plan_read(file, &work, error, sizeof(error));
	ok(back != NULL && same_plan(plan, back), "what is written is read");
	fclose(file);
	plan_free(plan);
	plan_free(back);

	plan = read_text("# nothing\n\n0 0.5 fast 0 10 # a comment\n1 0 12.5 5 6 8 9 pause=3:1.5\n", &work, error, sizeof(error));
	ok(plan != NULL && plan->nqueries == 2 && plan->queries[0].start == 500000 &&
	   plan->queries[1].nranges == 2 && plan->queries[1].pause == 1500000, "a plan by hand");
	plan_free(plan);
}

static void
test_errors(void)
{
	static const char *const texts[] = {
		"", "x 0 fast 0 1\n", "0 0\n", "0 0 quick 0 1\n", "0 0 fast\n", "0 0 fast 1\n", "0 0 fast 5 5\n",
		"0 0 fast 5 8 7 9\n", "0 0 fast 0 999999999\n", "0 0 fast 0 1 table=7\n", "0 0 fast 0 1 policy=best\n",
		"0 0 fast 0 1 pause=3\n", "0 0 fast 0 1 colour=3\n", "-1 0 fast 0 1\n", "0 0 fast 0 99999999999\n",
	};
	Workload	work = workload();
	char		error[200];

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
	{
		Plan	   *plan = read_text(texts[i], &work, error, sizeof(error));

		ok(plan == NULL && error[0] != '\0', "refused: %.*s", (int) strcspn(texts[i], "\n"), texts[i]);
		if (plan != NULL)
			plan_free(plan);
	}
}

void
test_plans(void)
{
	test_drawing();
	test_ranges_drawn();
	test_open_loop();
	test_files();
	test_errors();
}
