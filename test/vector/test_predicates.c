/*-------------------------------------------------------------------------
 *
 * test_predicates.c
 *		Conditions: random trees on random batches, against SQL's three values,
 *		one row after the other.
 *
 *-------------------------------------------------------------------------
 */
#include "harness.h"

#include <stdlib.h>
#include <string.h>

typedef enum Truth
{
	NO,
	YES,
	UNKNOWN
} Truth;

static int64_t list[8] = {-100, -7, -1, 0, 1, 3, 50, 100};

/* A question of the caller's is about the last column: is it odd? */
static Truth
answer(const Batch *batch, uint16_t row)
{
	if (batch->has_nulls[COLUMNS - 1] && batch->isnull[COLUMNS - 1][row])
		return UNKNOWN;
	return batch->values[COLUMNS - 1][row] % 2 != 0 ? YES : NO;
}

/* How often a row has been asked about */
static uint32_t asked[CSCAN_BATCH];

static bool
ask(void *arg, int question, const CScanSelection *from, CScanSelection *yes, CScanSelection *no)
{
	uint32_t	n = from->n;
	uint32_t	nyes = 0;
	uint32_t	nno = 0;

	(void) question;
	for (uint32_t i = 0; i < n; i++)
	{
		uint16_t	row = from->rows[i];
		Truth		truth = answer(arg, row);

		asked[row]++;
		if (truth == YES && yes)
			yes->rows[nyes++] = row;
		if (truth == NO && no)
			no->rows[nno++] = row;
	}
	if (yes)
		yes->n = nyes;
	if (no)
		no->n = nno;
	return true;
}

static Truth
compare(const Batch *batch, const CScanProgram *program, const CScanPredicate *p, uint16_t row)
{
	int64_t		sides[2];

	for (int s = 0; s < 2; s++)
	{
		const CScanInstruction *in = &program->instructions[s == 0 ? p->left : p->right];

		if (in->operation == CSCAN_CONSTANT)
		{
			if (in->is_null)
				return UNKNOWN;
			sides[s] = in->constant;
			continue;
		}
		if (batch->has_nulls[in->left] && batch->isnull[in->left][row])
			return UNKNOWN;
		sides[s] = batch->values[in->left][row];
	}
	switch (p->comparison)
	{
		case CSCAN_LESS:
			return sides[0] < sides[1];
		case CSCAN_LESS_EQUAL:
			return sides[0] <= sides[1];
		case CSCAN_EQUAL:
			return sides[0] == sides[1];
		case CSCAN_GREATER_EQUAL:
			return sides[0] >= sides[1];
		case CSCAN_GREATER:
			return sides[0] > sides[1];
		default:
			return sides[0] != sides[1];
	}
}

static Truth
truth_of(const Batch *batch, const CScanProgram *program, const CScanPredicate *p, uint16_t row)
{
	Truth		result;
	bool		unknown = false;
	int			column = p->kind == CSCAN_ONE_OF || p->kind == CSCAN_IS_NULL ? program->instructions[p->left].left : 0;
	bool		isnull = batch->has_nulls[column] && batch->isnull[column][row];

	switch (p->kind)
	{
		case CSCAN_AND:
		case CSCAN_OR:
			for (int i = 0; i < p->nparts; i++)
			{
				result = truth_of(batch, program, &p->parts[i], row);
				if (result == (p->kind == CSCAN_AND ? NO : YES))
					return result;
				unknown |= result == UNKNOWN;
			}
			return unknown ? UNKNOWN : p->kind == CSCAN_AND ? YES : NO;
		case CSCAN_NOT:
			result = truth_of(batch, program, p->parts, row);
			return result == UNKNOWN ? UNKNOWN : result == YES ? NO : YES;
		case CSCAN_COMPARE:
			return compare(batch, program, p, row);
		case CSCAN_IS_NULL:
			return isnull;
		case CSCAN_ASK:
			return answer(batch, row);
		default:
			if (isnull)
				return UNKNOWN;
			for (int i = 0; i < p->nlist; i++)
			{
				if (p->list[i] == batch->values[column][row])
					return YES;
			}
			return p->list_has_null ? UNKNOWN : NO;
	}
}

static void
random_predicate(CScanPredicate *p, Random *random, int depth)
{
	memset(p, 0, sizeof(*p));
	if (depth > 0 && random_chance(random, 70))
	{
		p->kind = (CScanPredicateKind) random_below(random, 3);
		p->nparts = p->kind == CSCAN_NOT ? 1 : 1 + (int) random_below(random, 4);
		p->careful = random_chance(random, 50);
		p->parts = zeroed((size_t) p->nparts, sizeof(CScanPredicate));
		for (int i = 0; i < p->nparts; i++)
			random_predicate(&p->parts[i], random, depth - 1);
		return;
	}
	p->kind = (CScanPredicateKind) (CSCAN_COMPARE + random_below(random, 4));
	p->comparison = (CScanComparison) random_below(random, 6);
	p->left = (int) random_below(random, COLUMNS);
	p->right = (int) random_below(random, COLUMNS + 3);
	p->list = list + random_below(random, 4);
	p->nlist = (int) random_below(random, 5);
	p->list_has_null = random_chance(random, 30);
}

static void
free_predicate(CScanPredicate *p)
{
	for (int i = 0; i < p->nparts; i++)
		free_predicate(&p->parts[i]);
	free(p->parts);
}

/* AND and OR by turns, as deep as may be, with a question in each: nobody is asked more often than there are questions. */
static void
test_depth(Random *random, Batch *batch, CScanProgram *program, const CScanAnswers *answers)
{
	CScanPredicate levels[CSCAN_PREDICATE_DEPTH][2];
	CScanSelection found;
	bool		right = true;
	bool		often = false;
	uint32_t	k = 0;

	memset(levels, 0, sizeof(levels));
	memset(asked, 0, sizeof(asked));
	batch_fill(batch, random, 0);
	for (int d = 0; d < CSCAN_PREDICATE_DEPTH - 1; d++)
	{
		levels[d][0] = (CScanPredicate) {.kind = CSCAN_ASK};
		levels[d][1] = (CScanPredicate) {.kind = d % 2 == 0 ? CSCAN_AND : CSCAN_OR, .careful = true, .parts = levels[d + 1], .nparts = 2};
	}
	levels[CSCAN_PREDICATE_DEPTH - 1][0].kind = levels[CSCAN_PREDICATE_DEPTH - 1][1].kind = CSCAN_ASK;
	cscan_program_begin(program, batch->nrows, &batch->selection);
	right = cscan_predicate_select(&levels[0][1], program, answers, true, &batch->selection, &found);
	for (uint32_t i = 0; i < batch->selection.n; i++)
	{
		uint16_t	row = batch->selection.rows[i];

		if (truth_of(batch, program, &levels[0][1], row) == YES)
			right &= k < found.n && found.rows[k++] == row;
		often |= asked[row] > CSCAN_PREDICATE_DEPTH + 1;
	}
	ok(right && k == found.n, "a condition of many levels has the rows that it should have");
	ok(!often, "each of its questions is asked once");
}

void
test_predicates(void)
{
	Random		random = beginning();
	Batch	   *batch = zeroed(1, sizeof(Batch));
	CScanProgram program = {.load = batch_load, .arg = batch, .memory = memory, .batch_memory = memory};
	CScanAnswers answers = {ask, batch};
	bool		right = true;
	uint64_t	failed = 0;

	for (int c = 0; c < COLUMNS; c++)
		cscan_program_add(&program, &(CScanInstruction) {.operation = CSCAN_COLUMN, .left = c});
	cscan_program_add(&program, &(CScanInstruction) {.operation = CSCAN_CONSTANT, .constant = 3});
	cscan_program_add(&program, &(CScanInstruction) {.operation = CSCAN_CONSTANT, .constant = -50});
	cscan_program_add(&program, &(CScanInstruction) {.operation = CSCAN_CONSTANT, .is_null = true});
	for (uint64_t r = 0; r < rounds() && right; r++)
	{
		CScanPredicate p;
		CScanSelection found;
		bool		wanted = random_chance(&random, 50);
		uint32_t	k = 0;

		batch_fill(batch, &random, random_chance(&random, 70) ? 300 : 0);
		random_predicate(&p, &random, 3);
		cscan_program_begin(&program, batch->nrows, &batch->selection);
		if (!cscan_predicate_select(&p, &program, &answers, wanted, &batch->selection, &found))
			failed++;
		else
		{
			for (uint32_t i = 0; i < batch->selection.n; i++)
			{
				uint16_t	row = batch->selection.rows[i];

				if (truth_of(batch, &program, &p, row) == (wanted ? YES : NO))
					right &= k < found.n && found.rows[k++] == row;
			}
			right &= k == found.n;
		}
		free_predicate(&p);
	}
	ok(right, "each condition has the rows that it should have");
	ok(failed < rounds() / 4, "most can be had");
	test_depth(&random, batch, &program, &answers);
}
