/*-------------------------------------------------------------------------
 *
 * input.c
 *		What is made of a CScan's batches (input.h).
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "catalog/pg_type_d.h"
#include "executor/instrument.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "input/input.h"

/* No string has this number. */
#define NO_NUMBER	PG_INT64_MIN

static void *
resize(void *context, void *old, size_t size)
{
	return old ? repalloc_huge(old, size) : MemoryContextAllocHuge(context, size);
}

/* Room for the values of a batch. */
static void *
take(void *input, void *old, size_t size)
{
	Assert(old == NULL);
	(void) old;
	return cscan_room_take(&((CScanInput *) input)->room, size);
}

CScanMemory
cscan_memory_of(MemoryContext context)
{
	return (CScanMemory) {resize, context};
}

/* ------------------------------------------------------------------
 * Beginning
 * ------------------------------------------------------------------ */

static Bitmapset *
needed_attributes(Index scanrelid, List *exprs)
{
	Bitmapset  *needed = NULL;
	Bitmapset  *attributes = NULL;
	int			member = -1;

	pull_varattnos((Node *) exprs, scanrelid, &needed);
	while ((member = bms_next_member(needed, member)) >= 0)
	{
		if (member + FirstLowInvalidHeapAttributeNumber > 0)
			attributes = bms_add_member(attributes, member + FirstLowInvalidHeapAttributeNumber - 1);
	}
	return attributes;
}

static CScanClause *
make_clause(CScanInput *input, Expr *expr)
{
	CScanClause *clause = palloc0(sizeof(CScanClause));

	cscan_row_expr_init(&clause->row, input, expr);
	clause->is_whole = expr == NULL;
	input->is_guarded = true;
	if (expr)
		cscan_condition_compile(input, clause);
	return clause;
}

/* How much a condition costs for each row: least those about numbers alone, most those that PostgreSQL computes. */
static int
rank_of(const CScanClause *clause)
{
	return clause->vectorized ? clause->questions != NIL : 2;
}

/*
 * Put the conditions into the order in which they are asked: the cheapest first,
 * but none before one that might raise an error for a row that it drops.
 *
 * Subplans are there once, in the scan's own conditions.  So from the first one on
 * it is these that are asked, all together.
 */
static void
make_clauses(CScanInput *input, List *quals)
{
	int			first = 0;		/* behind all that may raise an error */
	bool		whole = contain_volatile_functions((Node *) quals);
	ListCell   *lc;

	input->clauses = palloc((list_length(quals) + 1) * sizeof(CScanClause *));
	input->nclauses = 0;
	foreach(lc, quals)
	{
		CScanClause *clause;
		int			place;

		/* Volatile functions are called for one row after the other. */
		whole |= contain_subplans(lfirst(lc));
		if (whole)
			break;
		clause = make_clause(input, lfirst(lc));
		place = input->nclauses++;
		if (clause->may_fail)
			first = input->nclauses;
		else
		{
			for (; place > first && rank_of(input->clauses[place - 1]) > rank_of(clause); place--)
				input->clauses[place] = input->clauses[place - 1];
		}
		input->clauses[place] = clause;
	}
	if (!whole)
		return;
	for (int i = 0; i < input->nclauses; i++)
	{
		if (!input->clauses[i]->vectorized)
			input->nclauses = i;
	}
	input->clauses[input->nclauses++] = make_clause(input, NULL);
}

/*
 * The index conditions of a bitmap.  They are on vectors if all are that, without
 * subplans, which are there once.
 */
static void
make_index_clauses(CScanInput *input, List *conditions)
{
	ListCell   *lc;
	int			n = 0;

	if (contain_subplans((Node *) conditions) || contain_volatile_functions((Node *) conditions))
		return;
	input->index_clauses = palloc((list_length(conditions) + 1) * sizeof(CScanClause *));
	foreach(lc, conditions)
	{
		input->index_clauses[n] = make_clause(input, lfirst(lc));
		if (!cscan_condition_asks_ahead(input, input->index_clauses[n++]))
			return;
	}
	input->nindex_clauses = n;
}

bool
cscan_key_kind(Node *key, CScanKeyKind *kind)
{
	Oid			collation = exprCollation(key);
	Oid			type = getBaseType(exprType(key));

	switch (type)
	{
		case TEXTOID:
		case VARCHAROID:
		case BPCHAROID:
			/* Padded strings of one length differ if any of their bytes do. */
			*kind = type == BPCHAROID && exprTypmod(key) < 0 ? CSCAN_KEY_PADDED : CSCAN_KEY_STRING;
			/* Without a collation PostgreSQL says so when it hashes. */
			return OidIsValid(collation) && get_collation_isdeterministic(collation);
		case BYTEAOID:
			*kind = CSCAN_KEY_STRING;
			return true;
		case NUMERICOID:
			*kind = CSCAN_KEY_NUMERIC;
			return true;
		case FLOAT4OID:
		case FLOAT8OID:
			*kind = CSCAN_KEY_FLOAT;
			return true;
		default:
			*kind = CSCAN_KEY_DATUM;
			return OidIsValid(cscan_number_type(type));
	}
}

static void
make_key(CScanInput *input, CScanKeyInput *key, Expr *expr, bool is_filtered)
{
	key->kind = input->common->key_kinds[key - input->keys];
	cscan_row_expr_init(&key->row, input, expr);
	key->column = IsA(expr, Var) ? cscan_batch_column(input->batch, ((Var *) expr)->varattno - 1) : -1;
	input->is_guarded = is_filtered;
	key->vectorized = (cscan_key_is_integer(key->kind) || key->kind == CSCAN_KEY_NUMERIC) &&
		!contain_volatile_functions((Node *) expr) && cscan_number_compile(input, expr, &key->number) &&
		key->number.mixed == NULL;
	if (key->vectorized && key->kind == CSCAN_KEY_FLOAT)
		cscan_number_order(input, &key->number);
	key->integers = cscan_room_take(&input->room, CSCAN_BATCH * sizeof(int64));
	key->isnull = cscan_room_take(&input->room, CSCAN_BATCH * sizeof(bool));
}

static void
make_argument(CScanInput *input, CScanArgumentInput *argument, Expr *expr, bool is_filtered)
{
	cscan_row_expr_init(&argument->row, input, expr);
	argument->column = IsA(expr, Var) ? cscan_batch_column(input->batch, ((Var *) expr)->varattno - 1) : -1;
	input->is_guarded = is_filtered;
	argument->vectorized = !contain_volatile_functions((Node *) expr) &&
		cscan_number_compile(input, expr, &argument->number);
}

CScanInput *
cscan_input_create(CScanState *scan, const CScanInputCommon *common, const CScanInputExprs *exprs)
{
	CScanInput *input = palloc0(sizeof(CScanInput));
	CustomScan *plan = (CustomScan *) scan->css.ss.ps.plan;
	List	   *all_keys = list_concat_copy(exprs->keys, exprs->distinct);
	List	   *all = list_concat(list_concat_copy(all_keys, exprs->arguments), exprs->filters);
	List	   *index_conditions = scan->kind == CSCAN_BITMAP ? plan->custom_exprs : NIL;
	ListCell   *lc;
	int			i = 0;

	input->scan = scan;
	input->common = common;
	input->room.rooms = common->rooms;
	input->ps = &scan->css.ss.ps;
	input->econtext = input->ps->ps_ExprContext;
	all = list_concat(list_concat(all, plan->scan.plan.qual), index_conditions);
	input->batch = cscan_batch_create(scan, needed_attributes(plan->scan.scanrelid, all), &input->room);
	input->batch->selection = &input->selection;
	input->choice_methods = &cscan_cases_methods;
	input->session_zone = session_timezone;
	input->program.load = cscan_number_load;
	input->program.arg = input;
	input->program.memory = cscan_memory_of(CurrentMemoryContext);
	input->program.batch_memory = (CScanMemory) {take, input};
	make_index_clauses(input, index_conditions);
	make_clauses(input, plan->scan.plan.qual);
	input->nkeys = list_length(exprs->keys);
	input->ndistinct = list_length(exprs->distinct);
	input->keys = palloc0((list_length(all_keys) + 1) * sizeof(CScanKeyInput));
	foreach(lc, all_keys)
	{
		make_key(input, &input->keys[i], lfirst(lc),
				 i >= input->nkeys && bms_is_member(i - input->nkeys, exprs->filtered_distinct));
		i++;
	}
	input->narguments = list_length(exprs->arguments);
	input->arguments = palloc0((input->narguments + 1) * sizeof(CScanArgumentInput));
	i = 0;
	foreach(lc, exprs->arguments)
	{
		make_argument(input, &input->arguments[i], lfirst(lc), bms_is_member(i, exprs->filtered_arguments));
		i++;
	}
	input->filters = palloc((list_length(exprs->filters) + 1) * sizeof(CScanClause *));
	i = 0;
	foreach(lc, exprs->filters)
		input->filters[i++] = make_clause(input, lfirst(lc));
	input->nfilters = i;

	/* Its constants are in the room now, whoever had its turn before. */
	common->rooms->user = NULL;
	return input;
}

/* Forget the values with which conditions compare, and what dictionaries' entries have answered. */
static void
forget_fixed(CScanInput *input)
{
	ListCell   *lc;

	for (int i = 0; i < input->nindex_clauses; i++)
		input->index_clauses[i]->fixed_known = false;
	for (int i = 0; i < input->nclauses; i++)
		input->clauses[i]->fixed_known = false;
	for (int i = 0; i < input->nfilters; i++)
		input->filters[i]->fixed_known = false;
	foreach(lc, input->questions)
		((CScanQuestion *) lfirst(lc))->runs = 0;
	cscan_cases_begin(input);
}

void
cscan_input_begin(CScanInput *input)
{
	forget_fixed(input);
}

void
cscan_input_enter(CScanInput *input)
{
	ListCell   *lc;

	cscan_program_restore(&input->program);
	cscan_input_forget_strings(input);
	foreach(lc, input->questions)
		((CScanQuestion *) lfirst(lc))->runs = 0;
}

/* ------------------------------------------------------------------
 * Rows that meet the conditions
 * ------------------------------------------------------------------ */

/* Get the selected rows that meet a condition. */
static void
select_rows(CScanInput *input, CScanClause *clause, CScanSelection *found)
{
	CScanAnswers answers = {cscan_question_ask, input};

	if (!clause->fixed_known)
		cscan_condition_fix(input, clause);
	if (clause->by_row || !cscan_predicate_select(&clause->predicate, &input->program, &answers, true,
												  &input->selection, found))
		cscan_row_expr_split(&clause->row, input, &input->selection, found, NULL);
}

void
cscan_input_meet(CScanInput *input, CScanClause *clause)
{
	CScanSelection found;

	select_rows(input, clause, &found);
	input->selection.n = found.n;
	memcpy(input->selection.rows, found.rows, found.n * sizeof(uint16));
}

void
cscan_input_recheck(CScanInput *input)
{
	CScanSelection *selection = &input->selection;
	uint32		before = selection->n;
	uint32		n = 0;

	if (input->nindex_clauses > 0)
	{
		for (int i = 0; i < input->nindex_clauses && selection->n > 0; i++)
			cscan_input_meet(input, input->index_clauses[i]);
	}
	else
	{
		for (uint32 i = 0; i < selection->n; i++)
		{
			if (cscan_bitmap_recheck(input->scan, cscan_batch_row(input->batch, selection->rows[i], NULL, 0)))
				selection->rows[n++] = selection->rows[i];
		}
		selection->n = n;
	}
	InstrCountFiltered2(input->ps, before - selection->n);
}

bool
cscan_input_next_unfiltered(CScanInput *input)
{
	CHECK_FOR_INTERRUPTS();
	ResetExprContext(input->econtext);
	MemoryContextReset(input->common->batch_context);
	if (!cscan_batch_next(input->batch))
		return false;
	/* A cursor may go on with another time zone. */
	if (cscan_timezones_follow(input))
		forget_fixed(input);
	cscan_selection_all(&input->selection, input->batch->nrows);
	cscan_program_begin(&input->program, input->batch->nrows, &input->selection);
	return true;
}

static bool
next_batch(CScanInput *input)
{
	uint32		n;

	do
	{
		if (!cscan_input_next_unfiltered(input))
			return false;
		cscan_batch_count(input->batch, input->batch->nrows);
		if (input->scan->kind == CSCAN_BITMAP && input->scan->recheck_page)
			cscan_input_recheck(input);
		n = input->selection.n;
		for (int i = 0; i < input->nclauses && input->selection.n > 0; i++)
			cscan_input_meet(input, input->clauses[i]);
		InstrCountFiltered1(input->ps, n - input->selection.n);
	} while (input->selection.n == 0);
	return true;
}

bool
cscan_input_next(CScanInput *input)
{
	bool		any;

	if (input->ps->chgParam != NULL)
		ExecReScan(input->ps);
	if (input->ps->instrument)
		InstrStartNode(input->ps->instrument);
	any = next_batch(input);
	if (input->ps->instrument)
		InstrStopNode(input->ps->instrument, any ? input->selection.n : 0);
	return any;
}

void
cscan_input_keep(CScanInput *input, uint32 nrows)
{
	ResetExprContext(input->econtext);
	MemoryContextReset(input->common->batch_context);
	cscan_batch_keep(input->batch, nrows);
	if (cscan_timezones_follow(input))
		forget_fixed(input);
	cscan_selection_all(&input->selection, nrows);
	cscan_program_begin(&input->program, nrows, &input->selection);
}

/* ------------------------------------------------------------------
 * Keys
 * ------------------------------------------------------------------ */

int64
cscan_key_number(CScanNumbering *numbering, const char *bytes, uint32 length, bool may_add)
{
	return length <= CSCAN_SHORT_STRING ? cscan_numbering_short(bytes, length) :
		cscan_numbering_number(numbering, bytes, length, may_add);
}

const char *
cscan_key_bytes(CScanKeyKind kind, Datum value, uint32 *length)
{
	Datum		common = kind == CSCAN_KEY_NUMERIC ? DirectFunctionCall1(numeric_trim_scale, value) : value;
	struct varlena *varlena = pg_detoast_datum_packed((struct varlena *) DatumGetPointer(common));
	const char *bytes = VARDATA_ANY(varlena);

	*length = VARSIZE_ANY_EXHDR(varlena);
	while (*length > 0 && bytes[*length - 1] == ' ' && kind == CSCAN_KEY_PADDED)
		(*length)--;
	return bytes;
}

/* Numberings that share a limit */
typedef struct CScanNumberings
{
	CScanNumbering *first;
	int			n;
	Size		limit;			/* bytes */
	uint32		ngrow;			/* from this row on no strings are added; it
								 * becomes smaller when there is no room */
} CScanNumberings;

/* Do all of them have more bytes than they may? */
static bool
are_full(const CScanNumberings *numberings)
{
	Size		bytes = 0;

	for (int k = 0; k < numberings->n; k++)
		bytes += cscan_numbering_size(&numberings->first[k]);
	return bytes > numberings->limit;
}

/* The number of the selection's row i. */
static int64
number_bytes(CScanNumbering *numbering, const char *bytes, uint32 length, CScanNumberings *all, uint32 i)
{
	uint32		n = numbering->n;
	int64		number = cscan_key_number(numbering, bytes, length, i < all->ngrow);

	if (numbering->n > n && are_full(all))
		all->ngrow = i + 1;
	return number;
}

/* The number of a string's bytes, or only of what equal ones have in common. */
static int64
number_of(CScanInput *input, CScanKeyKind kind, CScanNumbering *numbering, Datum value, CScanNumberings *all, uint32 i)
{
	MemoryContext old = MemoryContextSwitchTo(input->common->key_context);
	uint32		length;
	const char *bytes = cscan_key_bytes(kind, value, &length);
	int64		number = number_bytes(numbering, bytes, length, all, i);

	MemoryContextSwitchTo(old);
	MemoryContextReset(input->common->key_context);
	return number;
}

/* Number the strings of a column by its dictionary.  False if it has none. */
static bool
number_codes(CScanInput *input, CScanKeyInput *key, const CScanSelection *selection, CScanNumbering *numbering,
			 CScanNumberings *all)
{
	bool		may_add = all->ngrow > 0;
	const int64 *codes;
	const bool *isnull;
	uint32		nentries;

	if (key->column < 0 || !cscan_batch_codes(input->batch, key->column, &codes, &isnull, &nentries))
		return false;
	if (key->entries == NULL)
		key->entries = cscan_room_take(&input->room, CSCAN_MAX_ENTRIES * sizeof(int64));
	if (key->runs != input->batch->runs)
	{
		key->runs = input->batch->runs;
		for (uint32 i = 0; i < nentries; i++)
			key->entries[i] = NO_NUMBER;
	}
	for (uint32 i = 0; i < selection->n; i++)
	{
		uint16		row = selection->rows[i];
		int64		number;

		if (cscan_batch_is_null(isnull, row))
			continue;
		number = key->entries[codes[row]];
		if (number == NO_NUMBER)
		{
			number = number_of(input, key->kind, numbering, cscan_batch_entry(input->batch, key->column, codes[row]), all, i);

			/* A later batch may add what this one may no longer. */
			if (number >= 0 || !may_add)
				key->entries[codes[row]] = number;
		}
		key->integers[row] = number;
	}
	key->vector.isnull = isnull;
	return true;
}

/* A float as the bits of a double */
static int64
bits_of(Datum value, int16 typlen)
{
	return cscan_bits_of_float(typlen == sizeof(float4) ? DatumGetFloat4(value) : DatumGetFloat8(value));
}

/* The integer by which a value of a key that is one is compared */
static int64
integer_of(CScanKeyKind kind, Datum value, int16 typlen)
{
	return kind == CSCAN_KEY_FLOAT ? cscan_float_order(cscan_float_of_bits(bits_of(value, typlen))) :
		cscan_values_integer_of_datum(value, typlen);
}

/* Make integers of a key's Datums. */
static void
convert_key(CScanInput *input, CScanKeyInput *key, const CScanSelection *selection, CScanNumbering *numbering,
			CScanNumberings *all)
{
	int16		typlen = key->row.typlen;
	const Datum *values = NULL;
	const bool *isnull;

	if (key->column >= 0)
		cscan_batch_datums(input->batch, key->column, &values, &isnull);
	else if (cscan_equal_may_differ(key->kind) && key - input->keys < input->nkeys)
	{
		/* cscan_input_shown() will look at the values. */
		cscan_row_expr_compute(&key->row, input, selection);
		values = key->row.values;
		isnull = key->row.isnull;
	}
	else
		isnull = key->isnull;
	for (uint32 i = 0; i < selection->n; i++)
	{
		uint16		row = selection->rows[i];
		Datum		value;

		if (values == NULL)
			value = cscan_row_expr_value(&key->row, input, row, &key->isnull[row]);
		else
			value = values[row];
		if (!cscan_batch_is_null(isnull, row))
			key->integers[row] = cscan_key_is_integer(key->kind) ? integer_of(key->kind, value, typlen) :
				number_of(input, key->kind, numbering, value, all, i);
		if (values == NULL)
			ResetExprContext(input->econtext);
	}
	key->vector.isnull = isnull;
}

/* Make numbers of a numeric key's integers.  Equal ones often follow each other. */
static void
number_integers(CScanKeyInput *key, const CScanVector *computed, const CScanSelection *selection, CScanNumbering *numbering,
				CScanNumberings *all)
{
	int64		last = 0;
	int64		number = NO_NUMBER;

	for (uint32 i = 0; i < selection->n; i++)
	{
		uint16		row = selection->rows[i];

		if (cscan_vector_is_null(computed, row))
			continue;
		if (number < 0 || computed->values[row] != last)
		{
			char		bytes[CSCAN_NUMERIC_BYTES];
			uint32		length = cscan_values_numeric_bytes(computed->values[row], key->number.scale, bytes);

			last = computed->values[row];
			number = number_bytes(numbering, bytes, length, all, i);
		}
		key->integers[row] = number;
	}
	key->vector.isnull = computed->isnull;
}

/* Get a key of these rows, which are selected, with bounds. */
static void
get_key(CScanInput *input, CScanKeyInput *key, const CScanSelection *rows, CScanNumbering *numbering,
		CScanNumberings *all)
{
	MemoryContext old = MemoryContextSwitchTo(input->common->batch_context);
	const CScanVector *computed = NULL;

	if (key->vectorized)
		computed = cscan_program_get(&input->program, key->number.reg);
	if (computed && cscan_key_is_integer(key->kind))
		key->vector = *computed;
	else
	{
		key->vector.values = key->integers;
		if (computed)
			number_integers(key, computed, rows, numbering, all);
		else if (cscan_key_is_integer(key->kind) || !number_codes(input, key, rows, numbering, all))
			convert_key(input, key, rows, numbering, all);
	}
	/* Bounds from disk are not good enough to find places by them. */
	cscan_vector_tighten(&key->vector, rows);
	MemoryContextSwitchTo(old);
}

uint32
cscan_input_keys(CScanInput *input, CScanNumbering *numbering, bool may_add, Size limit, const CScanVector **vectors)
{
	CScanNumberings all = {numbering, input->nkeys, limit, may_add ? input->selection.n : 0};

	for (int k = 0; k < input->nkeys; k++)
	{
		get_key(input, &input->keys[k], &input->selection, &numbering[k], &all);
		vectors[k] = &input->keys[k].vector;
	}
	return all.ngrow;
}

uint32
cscan_input_distinct(CScanInput *input, int number, const CScanSelection *rows, CScanNumbering *numbering, bool may_add,
					 Size limit, CScanVector *vector)
{
	CScanNumberings all = {numbering, 1, limit, may_add ? rows->n : 0};
	CScanKeyInput *key = &input->keys[input->nkeys + number];

	get_key(input, key, rows, numbering, &all);
	*vector = key->vector;
	return all.ngrow;
}

Datum
cscan_input_distinct_value(CScanInput *input, int number, uint16 row, bool *isnull)
{
	CScanKeyInput *key = &input->keys[input->nkeys + number];
	const Datum *values;
	const bool *nulls;

	if (key->column < 0)
		return cscan_row_expr_value(&key->row, input, row, isnull);
	cscan_batch_datums(input->batch, key->column, &values, &nulls);
	*isnull = cscan_batch_is_null(nulls, row);
	return values[row];
}

/* The number, or the bits, of the very value of a key */
static int64
shown_of(CScanInput *input, const CScanKeyInput *key, CScanNumbering *numbering, Datum value)
{
	/* One string has room in any case. */
	CScanNumberings all = {numbering, 1, .ngrow = 1};

	return key->kind == CSCAN_KEY_FLOAT ? bits_of(value, key->row.typlen) :
		number_of(input, CSCAN_KEY_STRING, numbering, value, &all, 0);
}

int64
cscan_input_shown(CScanInput *input, int number, uint16 row, CScanNumbering *numbering)
{
	CScanKeyInput *key = &input->keys[number];
	const Datum *values = key->row.values;
	const bool *isnull = key->row.isnull;
	int64		shown;

	if (key->column >= 0)
		cscan_batch_datums(input->batch, key->column, &values, &isnull);
	else if (key->vectorized)
	{
		/* It may have been computed on vectors. */
		bool		no_value;
		Datum		value = cscan_row_expr_value(&key->row, input, row, &no_value);

		shown = no_value ? 0 : shown_of(input, key, numbering, value);
		ResetExprContext(input->econtext);
		return shown;
	}
	if (cscan_batch_is_null(isnull, row))
		return 0;
	return shown_of(input, key, numbering, values[row]);
}

void
cscan_input_forget_strings(CScanInput *input)
{
	for (int k = 0; k < input->nkeys + input->ndistinct; k++)
		input->keys[k].runs = 0;
}

/* ------------------------------------------------------------------
 * Arguments
 * ------------------------------------------------------------------ */

const CScanVector *
cscan_input_argument(CScanInput *input, int number)
{
	CScanArgumentInput *argument = &input->arguments[number];

	return argument->vectorized ? cscan_program_get(&input->program, argument->number.reg) : NULL;
}

bool
cscan_input_nulls(CScanInput *input, int number, CScanVector *vector)
{
	int			column = input->arguments[number].column;

	if (column < 0)
		return false;
	memset(vector, 0, sizeof(CScanVector));
	vector->isnull = cscan_batch_nulls(input->batch, column);
	return true;
}

void
cscan_input_filter(CScanInput *input, int number, CScanSelection *found)
{
	select_rows(input, input->filters[number], found);
}
