/*-------------------------------------------------------------------------
 *
 * test_floats.c
 *		Floats: their order, arithmetic whose every result is checked alone, and
 *		states, which add the same numbers as a loop.
 *
 *-------------------------------------------------------------------------
 */
#include "harness.h"

#include <math.h>
#include <string.h>

static double
random_float(Random *random)
{
	static const double edges[] = {0.0, -0.0, 1, -1, 1e300, -1e300, 1e-300, 4.9e-324, INFINITY, -INFINITY, NAN, 0.1};

	if (random_chance(random, 20))
		return edges[random_below(random, sizeof(edges) / sizeof(edges[0]))];
	return (double) (int64_t) (random_next(random) % 20001 - 10000) / 16;
}

/* SQL's comparison: -1, 0 or 1 */
static int
compare(double a, double b)
{
	if (isnan(a) || isnan(b))
		return (isnan(a) != 0) - (isnan(b) != 0);
	return (a > b) - (a < b);
}

static void
test_order(Random *random)
{
	bool		right = true;

	for (uint64_t r = 0; r < 10 * rounds(); r++)
	{
		double		a = random_chance(random, 50) ? random_float(random) : cscan_float_of_bits((int64_t) random_next(random));
		double		b = random_float(random);
		int64_t		x = cscan_float_order(a);
		int64_t		y = cscan_float_order(b);

		right &= (x > y) - (x < y) == compare(a, b) && cscan_float_order(a) == x;
	}
	ok(right, "integers compare as floats do");
}

static void
fill(Batch *batch, Random *random, uint32_t percent_edges)
{
	batch_fill(batch, random, 100);
	for (int c = 0; c < COLUMNS; c++)
	{
		batch->is_missing[c] = batch->is_wide[c] = false;
		for (uint32_t i = 0; i < batch->nrows; i++)
		{
			double		value = random_chance(random, percent_edges) ? random_float(random) :
				(double) (1 + random_below(random, 1000)) / 8;

			batch->values[c][i] = cscan_bits_of_float(value);
		}
	}
}

/* What PostgreSQL's function returns; false if it raises an error. */
static bool
result_of(CScanOperation operation, double a, double b, double *result)
{
	bool		is_quotient = operation == CSCAN_FLOAT_DIVIDE;
	bool		may_vanish = operation == CSCAN_FLOAT_MULTIPLY || is_quotient;

	*result = operation == CSCAN_FLOAT_ADD ? a + b : operation == CSCAN_FLOAT_SUBTRACT ? a - b :
		operation == CSCAN_FLOAT_MULTIPLY ? a * b : is_quotient ? a / b : -a;
	if (operation == CSCAN_FLOAT_NEGATE)
		return true;
	if (is_quotient && b == 0 && !isnan(a))
		return false;
	if (isinf(*result) && !isinf(a) && !(isinf(b) && !is_quotient))
		return false;
	return !(may_vanish && *result == 0 && a != 0 && !(is_quotient ? isinf(b) : b == 0));
}

static void
test_arithmetic(Random *random)
{
	Batch	   *batch = zeroed(1, sizeof(Batch));
	bool		right = true;
	bool		all = true;
	uint64_t	had = 0;

	for (uint64_t r = 0; r < rounds(); r++)
	{
		CScanProgram program = {.load = batch_load, .arg = batch, .memory = memory, .batch_memory = memory};
		CScanInstruction in = {.operation = CSCAN_COLUMN};
		bool		has_edges = random_chance(random, 50);
		const CScanVector *vector;

		fill(batch, random, has_edges);
		cscan_program_add(&program, &in);
		in.left = 1;
		cscan_program_add(&program, &in);
		in.operation = (CScanOperation) (CSCAN_FLOAT_ADD + random_below(random, CSCAN_FLOAT_NEGATE - CSCAN_FLOAT_ADD + 1));
		in.left = 0;
		in.right = in.operation == CSCAN_FLOAT_NEGATE ? 0 : 1;
		cscan_program_add(&program, &in);
		cscan_program_begin(&program, batch->nrows, &batch->selection);
		vector = cscan_program_get(&program, 2);
		all &= vector != NULL || has_edges;
		had += vector != NULL;
		for (uint32_t i = 0; vector && i < batch->selection.n; i++)
		{
			uint16_t	row = batch->selection.rows[i];
			double		result;
			bool		isnull = (batch->has_nulls[0] && batch->isnull[0][row]) ||
				(in.right == 1 && batch->has_nulls[1] && batch->isnull[1][row]);

			right &= isnull == cscan_vector_is_null(vector, row);
			if (isnull)
				continue;
			right &= result_of(in.operation, cscan_float_of_bits(batch->values[0][row]),
							   cscan_float_of_bits(batch->values[in.right][row]), &result);
			right &= cscan_bits_of_float(result) == vector->values[row] || isnan(result);
		}
		for (int i = 0; i < program.n; i++)
		{
			program.memory.resize(NULL, program.registers[i].values, 1);
			program.memory.resize(NULL, program.registers[i].isnull, 1);
		}
	}
	ok(right, "what can be had is what PostgreSQL computes");
	ok(all, "where all is finite it can be had");
	note("%llu of %llu", (unsigned long long) had, (unsigned long long) rounds());
}

#define GROUPS	5

typedef struct States
{
	CScanFloatSum sum;
	CScanFloatSum single;
	CScanFloatAverage average;
	CScanFloatExtreme minimum;
	CScanFloatExtreme maximum;
} States;

static void
add_row(States *s, double value)
{
	s->minimum.value = s->sum.n > 0 && compare(s->minimum.value, value) < 0 ? s->minimum.value : value;
	s->maximum.value = s->sum.n > 0 && compare(s->maximum.value, value) > 0 ? s->maximum.value : value;
	s->sum.sum = s->sum.n > 0 ? s->sum.sum + value : value;
	s->single.sum = s->sum.n > 0 ? (float) s->single.sum + (float) value : value;
	s->average.sum += value;
	s->average.n++;
	s->sum.n++;
	s->single.n++;
	s->minimum.n++;
	s->maximum.n++;
}

static bool
is_same(double a, double b)
{
	return cscan_bits_of_float(a) == cscan_bits_of_float(b) || (isnan(a) && isnan(b));
}

static void
test_states_of_floats(Random *random)
{
	Batch	   *batch = zeroed(1, sizeof(Batch));
	bool		right = true;
	bool		fits = true;
	bool		noticed = true;

	for (uint64_t r = 0; r < rounds(); r++)
	{
		States		states[GROUPS];
		States		expected[GROUPS];
		CScanVector vector;
		uint32_t	group_of[CSCAN_BATCH];
		bool		grouped = random_chance(random, 50);
		CScanStatePlace place = {(char *) states, sizeof(States), 0, grouped ? group_of : NULL};

		memset(states, 0, sizeof(states));
		memset(expected, 0, sizeof(expected));
		fill(batch, random, 0);
		for (uint32_t i = 0; i < batch->nrows; i++)
		{
			if (random_chance(random, 5))
				batch->values[0][i] = cscan_bits_of_float(random_chance(random, 5) ? NAN : random_chance(random, 5) ? INFINITY : -0.0);
		}
		(void) batch_load(batch, 0, &batch->selection, &vector);
		for (uint32_t i = 0; i < batch->selection.n; i++)
		{
			uint16_t	row = batch->selection.rows[i];

			group_of[i] = grouped ? random_below(random, GROUPS) : 0;
			if (!cscan_vector_is_null(&vector, row))
				add_row(&expected[group_of[i]], cscan_float_of_bits(vector.values[row]));
		}
		place.offset = offsetof(States, sum);
		fits &= cscan_state_float_sum(&place, &vector, &batch->selection, false);
		place.offset = offsetof(States, single);
		fits &= cscan_state_float_sum(&place, &vector, &batch->selection, true);
		place.offset = offsetof(States, average);
		fits &= cscan_state_float_average(&place, &vector, &batch->selection);
		place.offset = offsetof(States, minimum);
		cscan_state_float_extreme(&place, &vector, &batch->selection, false);
		place.offset = offsetof(States, maximum);
		cscan_state_float_extreme(&place, &vector, &batch->selection, true);
		for (int g = 0; g < GROUPS; g++)
		{
			const States *s = &states[g];
			const States *e = &expected[g];

			right &= s->sum.n == e->sum.n && s->average.n == e->average.n && s->minimum.n == e->minimum.n &&
				is_same(s->sum.sum, e->sum.sum) && is_same(s->single.sum, e->single.sum) &&
				is_same(s->average.sum, e->average.sum) && is_same(s->minimum.value, e->minimum.value) &&
				is_same(s->maximum.value, e->maximum.value);
		}
		/* Too much of it */
		batch->nrows = 2;
		cscan_selection_all(&batch->selection, 2);
		vector.isnull = NULL;
		batch->values[0][0] = batch->values[0][1] = cscan_bits_of_float(1.7e308);
		memset(states, 0, sizeof(states));
		place.group_of = NULL;
		place.offset = offsetof(States, sum);
		noticed &= !cscan_state_float_sum(&place, &vector, &batch->selection, false);
		place.offset = offsetof(States, average);
		noticed &= !cscan_state_float_average(&place, &vector, &batch->selection);
		batch->values[0][0] = batch->values[0][1] = cscan_bits_of_float(3e38);
		place.offset = offsetof(States, single);
		noticed &= !cscan_state_float_sum(&place, &vector, &batch->selection, true);
	}
	ok(right, "states are those of one row after the other");
	ok(fits, "infinite values are no overflow");
	ok(noticed, "a sum that becomes infinite is");
}

void
test_floats(void)
{
	Random		random = beginning();

	test_order(&random);
	test_arithmetic(&random);
	test_states_of_floats(&random);
}
