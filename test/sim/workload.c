/*-------------------------------------------------------------------------
 *
 * workload.c
 *		See workload.h.
 *
 *-------------------------------------------------------------------------
 */
#include "workload.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define US	1000000.0

static void *
resized(void *memory, size_t number, size_t size)
{
	memory = realloc(memory, number * size);
	if (memory == NULL)
		abort();
	return memory;
}

/* ------------------------------------------------------------------
 * Plans
 * ------------------------------------------------------------------ */

Plan *
plan_create(void)
{
	Plan	   *plan = calloc(1, sizeof(Plan));

	if (plan == NULL)
		abort();
	return plan;
}

static void
have_stream(Plan *plan, int stream)
{
	if (stream < plan->nstreams)
		return;
	plan->endless = resized(plan->endless, stream + 1, sizeof(bool));
	memset(plan->endless + plan->nstreams, 0, sizeof(bool) * (stream + 1 - plan->nstreams));
	plan->nstreams = stream + 1;
}

PlanQuery *
plan_add(Plan *plan, int stream, uint64_t start, PlanSpeed speed, double block_cpu, int table)
{
	PlanQuery  *query;

	have_stream(plan, stream);

	/* Its size doubles whenever it is a power of two. */
	if ((plan->nqueries & (plan->nqueries - 1)) == 0)
		plan->queries = resized(plan->queries, plan->nqueries == 0 ? 1 : 2 * (size_t) plan->nqueries,
								sizeof(PlanQuery));
	query = &plan->queries[plan->nqueries++];
	memset(query, 0, sizeof(*query));
	query->stream = stream;
	query->start = start;
	query->speed = speed;
	query->block_cpu = block_cpu;
	query->table = table;
	query->policy = PLAN_ANY_POLICY;
	query->columns = UINT64_MAX;
	return query;
}

void
plan_add_range(PlanQuery *query, uint32_t first, uint32_t end)
{
	query->ranges = resized(query->ranges, query->nranges + 1, sizeof(CScanRange));
	query->ranges[query->nranges].first = first;
	query->ranges[query->nranges++].end = end;
}

void
plan_set_endless(Plan *plan, int stream)
{
	have_stream(plan, stream);
	plan->endless[stream] = true;
}

void
plan_free(Plan *plan)
{
	for (int i = 0; i < plan->nqueries; i++)
		free(plan->queries[i].ranges);
	free(plan->queries);
	free(plan->endless);
	free(plan);
}

uint32_t
plan_blocks(const PlanQuery *query)
{
	uint32_t	n = 0;

	for (uint32_t i = 0; i < query->nranges; i++)
		n += query->ranges[i].end - query->ranges[i].first;
	return n;
}

uint64_t
plan_columns(const char *letters)
{
	uint64_t	columns = 0;

	for (; *letters != '\0'; letters++)
	{
		if (*letters < 'a' || *letters > 'z')
			return 0;
		columns |= UINT64_C(1) << (*letters - 'a');
	}
	return columns;
}

uint32_t
plan_partition(uint32_t nblocks, uint32_t partitions, uint32_t n)
{
	return (uint32_t) ((uint64_t) nblocks * n / partitions);
}

/* ------------------------------------------------------------------
 * Drawing
 * ------------------------------------------------------------------ */

/* In 0..1, never 0. */
static double
uniform(Random *random)
{
	return ((double) (random_next(random) >> 11) + 1) / 9007199254740992.0;
}

static void
shuffle(Random *random, void *array, size_t n, size_t size)
{
	char	   *a = array;
	char		swap[16];

	for (; n > 1; n--)
	{
		size_t		k = random_below(random, (uint32_t) n);

		memcpy(swap, a + k * size, size);
		memcpy(a + k * size, a + (n - 1) * size, size);
		memcpy(a + (n - 1) * size, swap, size);
	}
}

/*
 * So many percent of a table at a random place, at a whole percent as the rig
 * does; in one range or several, with as much left out between two as is in
 * one.
 */
static void
draw_ranges(const Workload *work, Random *random, PlanQuery *query, double size)
{
	uint32_t	nblocks = work->table_blocks[query->table];
	uint32_t	places = size >= 100 ? 1 : (uint32_t) (100 - size) + 1;
	uint32_t	first = (uint32_t) ((double) nblocks * random_below(random, places) / 100);
	uint32_t	blocks = (uint32_t) ((double) nblocks * size / 100);
	uint32_t	pieces = work->pieces;

	if (blocks < 1)
		blocks = 1;
	if (blocks > nblocks - first)
		blocks = nblocks - first;
	while (pieces > 1 && blocks / pieces < 2)
		pieces--;
	if (pieces <= 1)
	{
		plan_add_range(query, first, first + blocks);
		return;
	}

	/* Twice the length if the table has it. */
	for (uint32_t i = 0; i < pieces; i++)
	{
		uint64_t	span = 2 * (uint64_t) blocks;
		uint32_t	from;
		uint32_t	until;

		if (span > nblocks)
			span = nblocks;
		if (first > nblocks - (uint32_t) span)
			first = nblocks - (uint32_t) span;
		from = first + (uint32_t) (span * i / pieces);
		until = first + (uint32_t) (span * (i + 1) / pieces);
		until = from + (uint32_t) ((uint64_t) (until - from) * blocks / span);
		if (until > from && (query->nranges == 0 || query->ranges[query->nranges - 1].end < from))
			plan_add_range(query, from, until);
		else if (until > from)
			query->ranges[query->nranges - 1].end = until;
	}
}

/* All of one partition. */
static void
draw_leaf(const Workload *work, Random *random, PlanQuery *query)
{
	uint32_t	nblocks = work->table_blocks[query->table];
	uint32_t	n = random_below(random, work->partitions);

	plan_add_range(query, plan_partition(nblocks, work->partitions, n),
				   plan_partition(nblocks, work->partitions, n + 1));
}

static void
draw_query(const Workload *work, Random *random, Plan *plan, int stream, uint64_t start,
		   char letter, double size)
{
	PlanSpeed	speed = letter == 'S' ? PLAN_SLOW : PLAN_FAST;
	int			table = work->ntables > 1 ? (int) random_below(random, work->ntables) : 0;
	PlanQuery  *query = plan_add(plan, stream, start, speed, work->block_cpu[speed], table);

	if (work->leaves > 0 && random_chance(random, work->leaves))
		draw_leaf(work, random, query);
	else
		draw_ranges(work, random, query, size);
	if (work->grain > 0)
	{
		query->nranges = 1;
		query->ranges[0].first -= query->ranges[0].first % work->grain;
		query->ranges[0].end += work->grain - 1 - (query->ranges[0].end - 1) % work->grain;
	}
	if (work->nsets[speed] > 0)
		query->columns = work->sets[speed][random_below(random, (uint32_t) work->nsets[speed])];
}

static Plan *
draw_open_loop(const Workload *work, Random *random, Plan *plan)
{
	size_t		nspeeds = strlen(work->speeds);
	double		time = 0;

	for (int i = 0; i < work->queries; i++)
	{
		char		letter = work->speeds[random_below(random, (uint32_t) nspeeds)];
		double		size = work->sizes[random_below(random, work->nsizes)];

		time += -log(uniform(random)) / work->rate;
		draw_query(work, random, plan, i, (uint64_t) (time * US), letter, size);
	}
	return plan;
}

Plan *
plan_draw(const Workload *work, uint64_t seed)
{
	Plan	   *plan = plan_create();
	Random		random = {seed};
	int			each = work->queries > 0 ? work->queries : work->nsizes;
	int			n = work->streams * each;
	size_t		nspeeds = strlen(work->speeds);
	char	   *letters;
	double		sizes[PLAN_MAX_SIZES];

	if (work->rate > 0)
		return draw_open_loop(work, &random, plan);

	letters = resized(NULL, n + 1, 1);
	for (int i = 0; i < n; i++)
		letters[i] = work->speeds[(work->in_order ? i / each : i) % nspeeds];
	if (!work->in_order)
		shuffle(&random, letters, n, 1);
	memcpy(sizes, work->sizes, sizeof(sizes));
	for (int i = 0; i < work->streams; i++)
	{
		shuffle(&random, sizes, work->nsizes, sizeof(double));
		for (int k = 0; k < each; k++)
			draw_query(work, &random, plan, i, i * work->stagger, letters[i * each + k],
					   work->queries > 0 ? sizes[random_below(&random, work->nsizes)] : sizes[k]);
	}
	free(letters);
	return plan;
}

/* ------------------------------------------------------------------
 * Files
 * ------------------------------------------------------------------ */

static const char *
set_policy(const char *name, int *policy)
{
	for (int i = 0; i < CSCAN_NPOLICIES; i++)
	{
		if (strcmp(cscan_policies[i]->name, name) == 0)
		{
			*policy = i;
			return NULL;
		}
	}
	return "there is no such policy";
}

/* A number that ends where the word does. */
static bool
number(const char *word, double *value)
{
	char	   *end;

	*value = strtod(word, &end);
	return end != word && *end == '\0' && *value >= 0 && *value < 1e15;
}

/* name=value */
static const char *
read_option(Plan *plan, PlanQuery *query, const Workload *work, char *word)
{
	char	   *value = strchr(word, '=') + 1;
	double		x;
	double		y;

	value[-1] = '\0';
	if (strcmp(word, "policy") == 0)
		return set_policy(value, &query->policy);
	if (strcmp(word, "columns") == 0)
	{
		query->columns = plan_columns(value);
		return query->columns != 0 ? NULL : "columns are letters from a on";
	}
	if (strcmp(word, "pause") == 0)
	{
		char	   *colon = strchr(value, ':');

		if (colon == NULL)
			return "a pause is CHUNKS:SECONDS";
		*colon = '\0';
		if (!number(value, &x) || !number(colon + 1, &y))
			return "a pause is CHUNKS:SECONDS";
		query->pause_after = (uint32_t) x;
		query->pause = (uint64_t) (y * US);
		return NULL;
	}
	if (!number(value, &x))
		return "a number was expected";
	if (strcmp(word, "table") == 0)
	{
		if (x >= work->ntables)
			return "there is no such table";
		query->table = (int) x;
		return NULL;
	}
	if (strcmp(word, "endless") == 0)
	{
		if (x > 0)
			plan_set_endless(plan, query->stream);
		return NULL;
	}
	return "there is no such option";
}

static const char *
read_speed(const char *word, const Workload *work, PlanQuery *query)
{
	if (strcmp(word, "fast") == 0 || strcmp(word, "slow") == 0)
	{
		query->speed = word[0] == 'f' ? PLAN_FAST : PLAN_SLOW;
		query->block_cpu = work->block_cpu[query->speed];
		return NULL;
	}
	query->speed = PLAN_OTHER;
	return number(word, &query->block_cpu) ? NULL : "a speed is fast, slow or a number";
}

static const char *
check_ranges(const PlanQuery *query, const Workload *work)
{
	uint32_t	last = 0;

	if (query->nranges == 0 || query->nranges > CSCAN_MAX_RANGES)
		return "a query has 1 to 1024 ranges";
	for (uint32_t i = 0; i < query->nranges; i++)
	{
		if (query->ranges[i].first < last || query->ranges[i].end <= query->ranges[i].first)
			return "ranges are in order, do not overlap and are not empty";
		last = query->ranges[i].end;
	}
	return last <= work->table_blocks[query->table] ? NULL : "a range goes beyond the table's end";
}

static const char *
read_line(Plan *plan, const Workload *work, char *line)
{
	const char *separators = " \t\r\n";
	char	   *word = strtok(line, separators);
	PlanQuery  *query;
	double		stream;
	double		start;
	double		first;
	double		end;
	const char *error;

	if (word == NULL)
		return NULL;
	if (!number(word, &stream) || stream >= 1000000)
		return "a line begins with the number of a stream";
	word = strtok(NULL, separators);
	if (word == NULL || !number(word, &start))
		return "a start in seconds was expected";
	query = plan_add(plan, (int) stream, (uint64_t) (start * US), PLAN_FAST, 0, 0);
	word = strtok(NULL, separators);
	error = word == NULL ? "a speed was expected" : read_speed(word, work, query);
	while (error == NULL && (word = strtok(NULL, separators)) != NULL)
	{
		if (strchr(word, '=') != NULL)
		{
			error = read_option(plan, query, work, word);
			continue;
		}
		if (!number(word, &first) || (word = strtok(NULL, separators)) == NULL ||
			!number(word, &end) || first > UINT32_MAX || end > UINT32_MAX)
			return "a range is two numbers of blocks";
		plan_add_range(query, (uint32_t) first, (uint32_t) end);
	}
	return error ? error : check_ranges(query, work);
}

Plan *
plan_read(FILE *file, const Workload *work, char *error, size_t size)
{
	Plan	   *plan = plan_create();
	static char line[CSCAN_MAX_RANGES * 24 + 1024];
	const char *wrong = NULL;
	int			n = 0;

	while (wrong == NULL && fgets(line, sizeof(line), file) != NULL)
	{
		n++;
		line[strcspn(line, "#")] = '\0';
		wrong = read_line(plan, work, line);
	}
	if (wrong == NULL && plan->nqueries == 0)
		wrong = "there is no query in it";
	if (wrong == NULL)
		return plan;
	snprintf(error, size, "line %d: %s", n, wrong);
	plan_free(plan);
	return NULL;
}

void
plan_write(FILE *file, const Plan *plan)
{
	static const char *const speeds[] = {"fast", "slow"};

	fprintf(file, "# stream start speed first end ...\n");
	for (int i = 0; i < plan->nqueries; i++)
	{
		const PlanQuery *query = &plan->queries[i];

		fprintf(file, "%d %.6f", query->stream, (double) query->start / US);
		if (query->speed == PLAN_OTHER)
			fprintf(file, " %.9g", query->block_cpu);
		else
			fprintf(file, " %s", speeds[query->speed]);
		for (uint32_t r = 0; r < query->nranges; r++)
			fprintf(file, " %u %u", query->ranges[r].first, query->ranges[r].end);
		if (query->table != 0)
			fprintf(file, " table=%d", query->table);
		if (query->columns != UINT64_MAX)
		{
			fprintf(file, " columns=");
			for (int c = 0; c < 26; c++)
			{
				if (query->columns >> c & 1)
					putc('a' + c, file);
			}
		}
		if (query->policy != PLAN_ANY_POLICY)
			fprintf(file, " policy=%s", cscan_policies[query->policy]->name);
		if (query->pause > 0)
			fprintf(file, " pause=%u:%.6f", query->pause_after, (double) query->pause / US);
		if (plan->endless[query->stream])
			fprintf(file, " endless=1");
		fputc('\n', file);
	}
}
