/*-------------------------------------------------------------------------
 *
 * test_program.c
 *		Arithmetic: random programs on random batches, against one row after
 *		the other in 128 bits.
 *
 * A register that can be had is right in each row.  One that cannot be had has a
 * row that does not fit, or bounds that are too wide to tell: exact bounds say so
 * of an expression of one operation only if they are so.
 *
 *-------------------------------------------------------------------------
 */
#include "harness.h"

#define MOST	24

/* A row's value of an instruction: false if it is null; "fits" becomes false if it, or what it needs, does not fit. */
static bool
value_of(const CScanProgram *program, const Batch *batch, int number, uint16_t row, CScanWide *value, bool *fits)
{
	const CScanInstruction *in = &program->instructions[number];
	CScanWide	left;
	CScanWide	right;

	if (in->operation == CSCAN_COLUMN)
	{
		*value = batch->values[in->left][row];
		return !(batch->has_nulls[in->left] && batch->isnull[in->left][row]);
	}
	if (in->operation == CSCAN_CONSTANT)
	{
		*value = in->constant;
		return !in->is_null;
	}
	if (!value_of(program, batch, in->left, row, &left, fits) || !value_of(program, batch, in->right, row, &right, fits))
		return false;
	if (!*fits)
		return true;
	switch (in->operation)
	{
		case CSCAN_ADD:
			*value = left + right;
			break;
		case CSCAN_SUBTRACT:
			*value = left - right;
			break;
		case CSCAN_MULTIPLY:
			*value = left * right;
			break;
		case CSCAN_NEGATE:
			*value = -left;
			break;
		default:
			if (right == 0)
			{
				*fits = false;
				return true;
			}
			*value = in->operation == CSCAN_DIVIDE ? left / right : left % right;
			break;
	}
	*fits = *value >= in->least && *value <= in->most;
	return true;
}

static int
random_instruction(CScanProgram *program, Random *random)
{
	CScanInstruction in = {.least = INT64_MIN, .most = INT64_MAX};

	if (program->n < 2 || random_chance(random, 20))
	{
		in.operation = random_chance(random, 70) ? CSCAN_COLUMN : CSCAN_CONSTANT;
		if (in.operation == CSCAN_COLUMN)
			in.left = (int) random_below(random, COLUMNS);
		else
			in.constant = (int64_t) (random_next(random) % 2001) - 1000;
	}
	else
	{
		in.operation = (CScanOperation) (CSCAN_ADD + random_below(random, CSCAN_NEGATE - CSCAN_ADD + 1));
		in.left = (int) random_below(random, (uint32_t) program->n);
		in.right = in.operation == CSCAN_NEGATE ? in.left : (int) random_below(random, (uint32_t) program->n);
		if (random_chance(random, 30))
		{
			in.least = INT32_MIN;
			in.most = INT32_MAX;
		}
	}
	return cscan_program_add(program, &in);
}

/* Is a register right?  Counts those that can be had. */
static bool
is_right(CScanProgram *program, const Batch *batch, int number, uint64_t *had)
{
	const CScanVector *vector = cscan_program_get(program, number);

	if (vector == NULL)
		return true;
	++*had;
	for (uint32_t i = 0; i < program->selection->n; i++)
	{
		uint16_t	row = program->selection->rows[i];
		CScanWide	value = 0;
		bool		fits = true;
		bool		known = value_of(program, batch, number, row, &value, &fits);

		if (known == cscan_vector_is_null(vector, row))
			return false;
		if (known && (!fits || vector->values[row] != value || value < vector->minimum || value > vector->maximum))
			return false;
	}
	return true;
}

/* With small values everything fits, so that all registers can be had but those that divide. */
static void
test_small(void)
{
	Random		random = beginning();
	Batch	   *batch = zeroed(1, sizeof(Batch));
	bool		all = true;

	for (uint64_t r = 0; r < rounds() / 4; r++)
	{
		CScanProgram program = {.load = batch_load, .arg = batch, .memory = memory, .batch_memory = memory};
		CScanInstruction a = {.operation = CSCAN_COLUMN, .left = 0};
		CScanInstruction b = {.operation = CSCAN_COLUMN, .left = 1};
		CScanInstruction both = {.operation = (CScanOperation) (CSCAN_ADD + random_below(&random, 3)),
			.left = 0, .right = 1, .least = INT64_MIN, .most = INT64_MAX};

		batch_fill(batch, &random, 1000);
		for (int c = 0; c < COLUMNS; c++)
		{
			batch->is_missing[c] = false;
			for (uint32_t i = 0; i < batch->nrows; i++)
				batch->values[c][i] %= 1000;
		}
		cscan_program_add(&program, &a);
		cscan_program_add(&program, &b);
		cscan_program_begin(&program, batch->nrows, &batch->selection);
		all &= cscan_program_get(&program, cscan_program_add(&program, &both)) != NULL;
		for (int i = 0; i < program.n; i++)
		{
			program.memory.resize(NULL, program.registers[i].values, 1);
			program.memory.resize(NULL, program.registers[i].isnull, 1);
		}
	}
	ok(all, "what fits can be had");
}

/* A column whose bounds are wrong, as those of a damaged page may be */
static bool
load_wrong(void *arg, int column, const CScanSelection *selection, CScanVector *vector)
{
	(void) selection;
	*vector = (CScanVector) {.values = ((int64_t (*)[2]) arg)[column],.minimum = 1,.maximum = 10};
	return true;
}

/* Wrong bounds give wrong values at most; a division must not trap. */
static void
test_wrong_bounds(void)
{
	int64_t		values[2][2] = {{INT32_MAX, -5}, {5, 5}};
	CScanProgram program = {.load = load_wrong, .arg = values, .memory = memory, .batch_memory = memory};
	CScanSelection selection = {.n = 2, .rows = {0, 1}};
	CScanInstruction instructions[] = {
		{.operation = CSCAN_COLUMN, .left = 0},
		{.operation = CSCAN_COLUMN, .left = 1},
		{.operation = CSCAN_ADD, .left = 0, .right = 1, .least = INT32_MIN, .most = INT32_MAX},
		{.operation = CSCAN_DIVIDE, .left = 1, .right = 2, .least = INT32_MIN, .most = INT32_MAX},
		{.operation = CSCAN_REMAINDER, .left = 1, .right = 2, .least = INT32_MIN, .most = INT32_MAX},
	};

	for (int i = 0; i < 5; i++)
		cscan_program_add(&program, &instructions[i]);
	cscan_program_begin(&program, 2, &selection);
	ok(cscan_program_get(&program, 2) != NULL, "a sum is computed by wrong bounds");
	ok(cscan_program_get(&program, 3) == NULL && cscan_program_get(&program, 4) == NULL, "nothing is divided by it");
	for (int i = 0; i < program.n; i++)
	{
		program.memory.resize(NULL, program.registers[i].values, 1);
		program.memory.resize(NULL, program.registers[i].isnull, 1);
	}
}

void
test_program(void)
{
	Random		random = beginning();
	Batch	   *batch = zeroed(1, sizeof(Batch));
	uint64_t	had = 0;
	uint64_t	asked = 0;
	bool		right = true;

	for (uint64_t p = 0; p < rounds() / 20; p++)
	{
		CScanProgram program = {.load = batch_load, .arg = batch, .memory = memory, .batch_memory = memory};

		while (program.n < MOST)
			random_instruction(&program, &random);
		for (int r = 0; r < 20 && right; r++)
		{
			static const uint64_t spans[] = {0, 10, 1000, 100000, 1000000000};

			batch_fill(batch, &random, spans[random_below(&random, 5)]);
			cscan_program_begin(&program, batch->nrows, &batch->selection);
			for (int i = 0; i < MOST && right; i++, asked++)
			{
				right = is_right(&program, batch, (int) random_below(&random, MOST), &had);
				if (random_chance(&random, 10))
					some_of(&batch->selection, &random, 90);
			}
		}
	}
	ok(right, "each register that can be had is right in each row");
	ok(had > asked / 4, "many can be had");
	note("%llu of %llu", (unsigned long long) had, (unsigned long long) asked);
	test_small();
	test_wrong_bounds();
}
