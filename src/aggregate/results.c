/*-------------------------------------------------------------------------
 *
 * results.c
 *		Aggregates: which there are, their states, and what becomes of them.
 *
 *		init			how each Aggref is computed
 *		settle			where the states are, once the arguments are vectorized
 *		begin_groups	states of new groups
 *		advance			take the selected rows of a batch into account
 *		result			what a group's state becomes
 *
 * Sums, averages, counts, minima and maxima of numbers, and deviations of floats,
 * have states of their own (vector/states.h).  A result is made by the functions by
 * which PostgreSQL's aggregates make it, and a state below a Gather has the form
 * that their combine functions expect.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "catalog/objectaccess.h"
#include "catalog/pg_aggregate.h"
#include "catalog/pg_proc_d.h"
#include "catalog/pg_type_d.h"
#include "libpq/pqformat.h"
#include "nodes/nodeFuncs.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/float.h"
#include "utils/fmgroids.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/numeric.h"
#include "utils/syscache.h"
#include "utils/typcache.h"

#include "aggregate/aggregate.h"

/* ------------------------------------------------------------------
 * Which aggregates there are
 * ------------------------------------------------------------------ */

/* What makes such an aggregate of floats of the state that it shares with avg(); else NULL. */
static PGFunction
deviation_of(Oid function)
{
	switch (function)
	{
		case F_VARIANCE_FLOAT4:
		case F_VARIANCE_FLOAT8:
		case F_VAR_SAMP_FLOAT4:
		case F_VAR_SAMP_FLOAT8:
			return float8_var_samp;
		case F_VAR_POP_FLOAT4:
		case F_VAR_POP_FLOAT8:
			return float8_var_pop;
		case F_STDDEV_FLOAT4:
		case F_STDDEV_FLOAT8:
		case F_STDDEV_SAMP_FLOAT4:
		case F_STDDEV_SAMP_FLOAT8:
			return float8_stddev_samp;
		case F_STDDEV_POP_FLOAT4:
		case F_STDDEV_POP_FLOAT8:
			return float8_stddev_pop;
		default:
			return NULL;
	}
}

static void
find_kind(CScanAggregate *aggregate)
{
	aggregate->kind = CSCAN_AGGREGATE_TRANSITION;
	if (aggregate->aggref->aggdistinct != NIL)
	{
		Assert(aggregate->aggref->aggfnoid == F_COUNT_ANY);
		aggregate->kind = CSCAN_AGGREGATE_DISTINCT;
		return;
	}
	switch (aggregate->aggref->aggfnoid)
	{
		case F_COUNT_:
		case F_COUNT_ANY:
			aggregate->kind = CSCAN_AGGREGATE_COUNT;
			break;
		case F_AVG_INT2:
		case F_AVG_INT4:
		case F_AVG_INT8:
		case F_AVG_NUMERIC:
			aggregate->average = true;
			aggregate->kind = CSCAN_AGGREGATE_SUM;
			break;
		case F_SUM_INT2:
		case F_SUM_INT4:
		case F_SUM_INT8:
		case F_SUM_NUMERIC:
			aggregate->kind = CSCAN_AGGREGATE_SUM;
			break;
		case F_MAX_INT2:
		case F_MAX_INT4:
		case F_MAX_INT8:
		case F_MAX_DATE:
		case F_MAX_TIME:
		case F_MAX_TIMESTAMP:
		case F_MAX_TIMESTAMPTZ:
		case F_MAX_MONEY:
		case F_MAX_NUMERIC:
			aggregate->maximum = true;
			aggregate->kind = CSCAN_AGGREGATE_EXTREME;
			break;
		case F_MIN_INT2:
		case F_MIN_INT4:
		case F_MIN_INT8:
		case F_MIN_DATE:
		case F_MIN_TIME:
		case F_MIN_TIMESTAMP:
		case F_MIN_TIMESTAMPTZ:
		case F_MIN_MONEY:
		case F_MIN_NUMERIC:
			aggregate->kind = CSCAN_AGGREGATE_EXTREME;
			break;
		case F_SUM_FLOAT4:
		case F_SUM_FLOAT8:
			aggregate->kind = CSCAN_AGGREGATE_FLOAT_SUM;
			break;
		case F_AVG_FLOAT4:
		case F_AVG_FLOAT8:
			aggregate->kind = CSCAN_AGGREGATE_FLOAT_AVERAGE;
			break;
		case F_MAX_FLOAT4:
		case F_MAX_FLOAT8:
			aggregate->maximum = true;
			aggregate->kind = CSCAN_AGGREGATE_FLOAT_EXTREME;
			break;
		case F_MIN_FLOAT4:
		case F_MIN_FLOAT8:
			aggregate->kind = CSCAN_AGGREGATE_FLOAT_EXTREME;
			break;
		default:
			aggregate->deviation = deviation_of(aggregate->aggref->aggfnoid);
			if (aggregate->deviation)
				aggregate->kind = CSCAN_AGGREGATE_FLOAT_AVERAGE;
			break;
	}
}

bool
cscan_aggregate_frees_state(const Aggref *aggref)
{
	CScanAggregate aggregate = {.aggref = (Aggref *) aggref};

	find_kind(&aggregate);
	return aggregate.kind != CSCAN_AGGREGATE_TRANSITION || aggref->aggtranstype != INTERNALOID;
}

static bool
is_of_floats(const CScanAggregate *aggregate)
{
	return aggregate->kind == CSCAN_AGGREGATE_FLOAT_SUM || aggregate->kind == CSCAN_AGGREGATE_FLOAT_AVERAGE ||
		aggregate->kind == CSCAN_AGGREGATE_FLOAT_EXTREME;
}

/* The user must be allowed to call the aggregate, and its owner its functions. */
static void
check_permission(Oid function, Oid user)
{
	AclResult	result = cscan_function_aclcheck(function, user);

	if (result != ACLCHECK_OK)
		aclcheck_error(result, OBJECT_FUNCTION, get_func_name(function));
	InvokeFunctionExecuteHook(function);
}

static void
check_permissions(const Aggref *aggref)
{
	AclResult	result = cscan_function_aclcheck(aggref->aggfnoid, GetUserId());
	HeapTuple	aggregate;
	HeapTuple	procedure;
	Form_pg_aggregate form;
	Oid			owner;

	if (result != ACLCHECK_OK)
		aclcheck_error(result, OBJECT_AGGREGATE, get_func_name(aggref->aggfnoid));
	InvokeFunctionExecuteHook(aggref->aggfnoid);
	procedure = SearchSysCache1(PROCOID, ObjectIdGetDatum(aggref->aggfnoid));
	aggregate = SearchSysCache1(AGGFNOID, ObjectIdGetDatum(aggref->aggfnoid));
	if (!HeapTupleIsValid(procedure) || !HeapTupleIsValid(aggregate))
		elog(ERROR, "cache lookup failed for aggregate %u", aggref->aggfnoid);
	owner = ((Form_pg_proc) GETSTRUCT(procedure))->proowner;
	form = (Form_pg_aggregate) GETSTRUCT(aggregate);
	check_permission(form->aggtransfn, owner);
	if (DO_AGGSPLIT_SERIALIZE(aggref->aggsplit) && OidIsValid(form->aggserialfn))
		check_permission(form->aggserialfn, owner);
	if (!DO_AGGSPLIT_SKIPFINAL(aggref->aggsplit) && OidIsValid(form->aggfinalfn))
		check_permission(form->aggfinalfn, owner);
	ReleaseSysCache(aggregate);
	ReleaseSysCache(procedure);
}

static bool
check_function(Oid function, void *context)
{
	(void) context;
	check_permission(function, GetUserId());
	return false;
}

/*
 * A walker: the user must be allowed to call the functions of an expression.  What is
 * computed on vectors does not call them; PostgreSQL checks these kinds.
 */
static bool
check_expression(Node *node, void *context)
{
	const ScalarArrayOpExpr *array_op = (const ScalarArrayOpExpr *) node;

	if (node == NULL)
		return false;
	switch (nodeTag(node))
	{
		case T_ScalarArrayOpExpr:
			/* PostgreSQL looks for the value in a hash table. */
			if (OidIsValid(array_op->hashfuncid))
			{
				(void) check_function(array_op->hashfuncid, context);
				(void) check_function(array_op->useOr ? array_op->opfuncid : array_op->negfuncid, context);
			}
			else
				(void) check_function(array_op->opfuncid, context);
			break;
		case T_FuncExpr:
		case T_OpExpr:
		case T_DistinctExpr:
		case T_NullIfExpr:
			(void) check_functions_in_node(node, check_function, context);
			break;
		default:
			break;
	}
	return expression_tree_walker(node, check_expression, context);
}

void
cscan_aggregates_init(CScanAggregateState *node, List *aggrefs)
{
	ListCell   *lc;
	ListCell   *lca;

	node->naggregates = 0;
	node->aggregates = palloc0((list_length(aggrefs) + 1) * sizeof(CScanAggregate));
	foreach(lc, aggrefs)
	{
		CScanAggregate *aggregate = &node->aggregates[node->naggregates++];

		aggregate->aggref = lfirst_node(Aggref, lc);
		aggregate->partial = DO_AGGSPLIT_SKIPFINAL(aggregate->aggref->aggsplit);
		aggregate->argument = aggregate->filter = -1;
		aggregate->scale = -1;
		check_permissions(aggregate->aggref);
		find_kind(aggregate);
		foreach(lca, aggregate->aggref->args)
		{
			TargetEntry *entry = lfirst_node(TargetEntry, lca);

			if (aggregate->kind == CSCAN_AGGREGATE_DISTINCT)
			{
				aggregate->distinct_key = list_length(node->distinct);
				if (aggregate->aggref->aggfilter)
					node->filtered_distinct = bms_add_member(node->filtered_distinct, aggregate->distinct_key);
				node->distinct = lappend(node->distinct, entry->expr);
				continue;
			}
			if (aggregate->narguments++ == 0)
			{
				aggregate->argument = list_length(node->arguments);
				aggregate->type = getBaseType(exprType((Node *) entry->expr));
				aggregate->typlen = get_typlen(aggregate->type);
			}
			if (aggregate->aggref->aggfilter)
				node->filtered_arguments = bms_add_member(node->filtered_arguments, list_length(node->arguments));
			node->arguments = lappend(node->arguments, entry->expr);
		}
		if (aggregate->aggref->aggfilter)
		{
			aggregate->filter = list_length(node->filters);
			node->filters = lappend(node->filters, aggregate->aggref->aggfilter);
		}
	}
	foreach(lc, node->keys)
	{
		TypeCacheEntry *type = lookup_type_cache(exprType(lfirst(lc)), TYPECACHE_EQ_OPR);

		(void) check_function(get_opcode(type->eq_opr), NULL);
	}
	(void) check_expression((Node *) node->keys, NULL);
	(void) check_expression((Node *) node->distinct, NULL);
	(void) check_expression((Node *) node->arguments, NULL);
	(void) check_expression((Node *) node->filters, NULL);
}

size_t
cscan_aggregates_settle(CScanAggregateState *node)
{
	size_t		offset = node->shows ? node->nkeys * sizeof(int64) : 0;

	for (int i = 0; i < node->naggregates; i++)
	{
		CScanAggregate *aggregate = &node->aggregates[i];
		const CScanArgumentInput *argument = aggregate->argument < 0 || node->input == NULL ? NULL :
			&node->input->arguments[aggregate->argument];

		/* Numerics and floats that are no vectors are better off with their own functions. */
		if (((aggregate->kind == CSCAN_AGGREGATE_SUM || aggregate->kind == CSCAN_AGGREGATE_EXTREME) &&
			 aggregate->type == NUMERICOID) || is_of_floats(aggregate))
		{
			if (argument && argument->vectorized && (argument->number.mixed == NULL || aggregate->kind == CSCAN_AGGREGATE_SUM))
			{
				aggregate->scale = argument->number.scale;
				aggregate->mixed = argument->number.mixed != NULL;
				aggregate->small_scale = aggregate->mixed ? cscan_choice_scale(argument->number.mixed) : -1;
			}
			else
				aggregate->kind = CSCAN_AGGREGATE_TRANSITION;
		}
		if (aggregate->kind == CSCAN_AGGREGATE_SUM && aggregate->type == INT8OID && aggregate->partial &&
			!CSCAN_SENDS_BIGINT_SUMS)
			aggregate->kind = CSCAN_AGGREGATE_TRANSITION;
		aggregate->offset = offset;
		switch (aggregate->kind)
		{
			case CSCAN_AGGREGATE_COUNT:
				offset += sizeof(CScanCount);
				break;
			case CSCAN_AGGREGATE_DISTINCT:
				offset += sizeof(CScanCount);
				aggregate->pairs = cscan_pairs_create(node, aggregate);
				break;
			case CSCAN_AGGREGATE_SUM:
				offset += sizeof(CScanSumState);
				break;
			case CSCAN_AGGREGATE_EXTREME:
				offset += sizeof(CScanExtremeState);
				break;
			case CSCAN_AGGREGATE_FLOAT_SUM:
				offset += sizeof(CScanFloatSum);
				break;
			case CSCAN_AGGREGATE_FLOAT_AVERAGE:
				offset += sizeof(CScanFloatAverage);
				break;
			case CSCAN_AGGREGATE_FLOAT_EXTREME:
				offset += sizeof(CScanFloatExtreme);
				break;
			case CSCAN_AGGREGATE_TRANSITION:
				offset += sizeof(CScanTransitionState);
				cscan_transition_init(node, aggregate);
				break;
		}
	}
	return offset;
}

/* ------------------------------------------------------------------
 * Rows
 * ------------------------------------------------------------------ */

void
cscan_aggregates_begin_groups(CScanAggregateState *node, uint32 first, uint32 end)
{
	for (int i = 0; i < node->naggregates; i++)
	{
		const CScanAggregate *aggregate = &node->aggregates[i];

		for (uint32 g = first; g < end && aggregate->kind == CSCAN_AGGREGATE_TRANSITION; g++)
			cscan_transition_begin(node, aggregate, (CScanTransitionState *)
								   (cscan_group_states(&node->groups, g) + aggregate->offset));
	}
}

/* Keep a numeric as long as groups, in the place of another one. */
static void
replace_numeric(CScanAggregateState *node, Numeric *place, Datum value)
{
	MemoryContext old = MemoryContextSwitchTo(node->values_context);
	Numeric		copy = DatumGetNumericCopy(value);

	MemoryContextSwitchTo(old);
	if (*place)
		pfree(*place);
	*place = copy;
}

static void
sum_value(CScanAggregateState *node, const CScanAggregate *aggregate, CScanSumState *state, Datum value)
{
	int64		integer;
	int			scale;

	if (aggregate->scale < 0)
		integer = cscan_values_integer_of_datum(value, aggregate->typlen);
	else if (!cscan_values_scaled_numeric(value, &scale, &integer) || scale != aggregate->scale)
	{
		if (state->odd)
			value = DirectFunctionCall2(numeric_add, NumericGetDatum(state->odd), value);
		replace_numeric(node, &state->odd, value);
		state->nodd++;
		return;
	}
	state->sum.n++;
	state->sum.sum += integer;
	state->full = true;
}

static void
compare_value(CScanAggregateState *node, const CScanAggregate *aggregate, CScanExtremeState *state, Datum value)
{
	CScanExtreme *extreme = &state->extreme;
	int64		integer;
	int			scale;

	if (aggregate->scale < 0)
		integer = cscan_values_integer_of_datum(value, aggregate->typlen);
	else if (!cscan_values_scaled_numeric(value, &scale, &integer) || scale != aggregate->scale)
	{
		if (state->odd == NULL ||
			DatumGetBool(DirectFunctionCall2(aggregate->maximum ? numeric_gt : numeric_lt, value,
											 NumericGetDatum(state->odd))))
			replace_numeric(node, &state->odd, value);
		return;
	}
	if (extreme->n++ == 0 || (aggregate->maximum ? integer > extreme->value : integer < extreme->value))
		extreme->value = integer;
}

/* Note which sums have a row of the larger scale. */
static void
mark_full(const CScanChoice *choice, const CScanStatePlace *place, const CScanVector *vector, const CScanSelection *selection)
{
	for (uint32 i = 0; i < selection->n; i++)
	{
		char	   *state = place->groups + place->offset + (place->group_of ? place->group_of[i] : 0) * place->group_size;
		uint16		row = selection->rows[i];

		if (!cscan_vector_is_null(vector, row) && cscan_choice_is_full(choice, row))
			((CScanSumState *) state)->full = true;
	}
}

/* Take floats into account. */
static void
advance_floats(const CScanAggregate *aggregate, const CScanStatePlace *place, const CScanVector *vector,
			   const CScanSelection *selection)
{
	bool		fits = true;

	if (aggregate->kind == CSCAN_AGGREGATE_FLOAT_SUM)
		fits = cscan_state_float_sum(place, vector, selection, aggregate->type == FLOAT4OID);
	else if (aggregate->kind == CSCAN_AGGREGATE_FLOAT_AVERAGE)
		fits = cscan_state_float_average(place, vector, selection);
	else
		cscan_state_float_extreme(place, vector, selection, aggregate->maximum);
	if (!fits)
		float_overflow_error();
}

static void
advance_float(const CScanAggregate *aggregate, char *state, Datum value)
{
	static const CScanSelection one = {.n = 1,.rows = {0}};
	int64		bits = cscan_bits_of_float(aggregate->type == FLOAT4OID ? DatumGetFloat4(value) : DatumGetFloat8(value));
	CScanVector vector = {.values = &bits};
	CScanStatePlace place = {.groups = state};

	advance_floats(aggregate, &place, &vector, &one);
}

/* What cannot be had as a vector in this batch is taken row by row. */
static void
advance_by_row(CScanAggregateState *node, const CScanAggregate *aggregate, const CScanStatePlace *place,
			   const CScanSelection *selection)
{
	Datum		values[FUNC_MAX_ARGS];
	bool		isnull[FUNC_MAX_ARGS];
	MemoryContext old = MemoryContextSwitchTo(node->input->econtext->ecxt_per_tuple_memory);

	for (uint32 i = 0; i < selection->n; i++)
	{
		char	   *state = place->groups + place->offset + (place->group_of ? place->group_of[i] : 0) * place->group_size;
		uint16		row = selection->rows[i];

		CHECK_FOR_INTERRUPTS();
		for (int k = 0; k < aggregate->narguments; k++)
			values[k] = cscan_row_expr_value(&node->input->arguments[aggregate->argument + k].row, node->input, row, &isnull[k]);
		if (aggregate->kind == CSCAN_AGGREGATE_TRANSITION)
			cscan_transition_advance(node, aggregate, (CScanTransitionState *) state, values, isnull);
		else if (!isnull[0] && aggregate->kind == CSCAN_AGGREGATE_COUNT)
			((CScanCount *) state)->n++;
		else if (!isnull[0] && aggregate->kind == CSCAN_AGGREGATE_SUM)
			sum_value(node, aggregate, (CScanSumState *) state, values[0]);
		else if (!isnull[0] && is_of_floats(aggregate))
			advance_float(aggregate, state, values[0]);
		else if (!isnull[0])
			compare_value(node, aggregate, (CScanExtremeState *) state, values[0]);
		ResetExprContext(node->input->econtext);
	}
	MemoryContextSwitchTo(old);
}

static void
advance(CScanAggregateState *node, const CScanAggregate *aggregate, const CScanStatePlace *place,
		const CScanSelection *selection)
{
	const CScanVector *vector = NULL;
	CScanVector nulls;

	if (aggregate->argument >= 0 && aggregate->kind != CSCAN_AGGREGATE_TRANSITION)
	{
		const CScanArgumentInput *argument = &node->input->arguments[aggregate->argument];

		/* The scale is that of the first input. */
		if (aggregate->kind == CSCAN_AGGREGATE_COUNT ||
			(argument->number.scale == aggregate->scale && (argument->number.mixed != NULL) == aggregate->mixed &&
			 (!aggregate->mixed || cscan_choice_scale(argument->number.mixed) == aggregate->small_scale)))
			vector = cscan_input_argument(node->input, aggregate->argument);
		if (vector == NULL && aggregate->kind == CSCAN_AGGREGATE_COUNT &&
			cscan_input_nulls(node->input, aggregate->argument, &nulls))
			vector = &nulls;
		node->by_row += vector == NULL && argument->vectorized;
	}
	if (vector == NULL && (aggregate->argument >= 0 || aggregate->kind == CSCAN_AGGREGATE_TRANSITION))
		advance_by_row(node, aggregate, place, selection);
	else if (aggregate->kind == CSCAN_AGGREGATE_COUNT)
		cscan_state_count(place, vector, selection);
	else if (aggregate->kind == CSCAN_AGGREGATE_SUM)
	{
		cscan_state_sum(place, vector, selection);
		if (aggregate->mixed)
			mark_full(node->input->arguments[aggregate->argument].number.mixed, place, vector, selection);
	}
	else if (is_of_floats(aggregate))
		advance_floats(aggregate, place, vector, selection);
	else
		cscan_state_extreme(place, vector, selection, aggregate->maximum);
}

void
cscan_aggregates_advance(CScanAggregateState *node, const uint32 *group_of)
{
	const CScanSelection *all = &node->input->selection;
	uint32		of_filtered[CSCAN_BATCH];
	CScanSelection filtered;

	for (int i = 0; i < node->naggregates; i++)
	{
		const CScanAggregate *aggregate = &node->aggregates[i];
		CScanStatePlace	place = {
			node->groups.groups, node->groups.group_size, node->groups.states + aggregate->offset, group_of
		};
		const CScanSelection *selection = all;

		if (aggregate->filter >= 0)
		{
			uint32		k = 0;

			cscan_input_filter(node->input, aggregate->filter, &filtered);
			for (uint32 r = 0; r < all->n && k < filtered.n && group_of; r++)
			{
				if (all->rows[r] == filtered.rows[k])
					of_filtered[k++] = group_of[r];
			}
			selection = &filtered;
			if (group_of)
				place.group_of = of_filtered;
		}
		if (aggregate->kind == CSCAN_AGGREGATE_DISTINCT)
			cscan_pairs_advance(node, aggregate->pairs, place.group_of, selection);
		else
			advance(node, aggregate, &place, selection);
	}
}

void
cscan_aggregates_finish(CScanAggregateState *node)
{
	for (int i = 0; i < node->naggregates; i++)
	{
		if (node->aggregates[i].pairs)
			cscan_pairs_finish(node, node->aggregates[i].pairs);
	}
}

void
cscan_aggregates_clear(CScanAggregateState *node)
{
	for (int i = 0; i < node->naggregates; i++)
	{
		if (node->aggregates[i].pairs)
			cscan_pairs_clear(node, node->aggregates[i].pairs);
	}
}

/* ------------------------------------------------------------------
 * Results
 * ------------------------------------------------------------------ */

/* A sum as a numeric of a scale. */
static Numeric
numeric_of(CScanWide sum, int scale)
{
	char		digits[64];
	char	   *at = digits + sizeof(digits);
	bool		negative = sum < 0;
	unsigned __int128 left = negative ? -(unsigned __int128) sum : (unsigned __int128) sum;
	int			n = 0;

	if (sum >= PG_INT64_MIN && sum <= PG_INT64_MAX)
	{
		int64		integer = (int64) sum;
		Datum		value;

		/* int64_div_fast_to_numeric() is not right for all scales before 15.2. */
		cscan_values_from_integers(-1, CSCAN_STORAGE_NUMERIC, scale, &integer, 1,
								   palloc(cscan_values_integers_room(CSCAN_STORAGE_NUMERIC, 1)), &value);
		return DatumGetNumeric(value);
	}
	*--at = '\0';
	while (left > 0 || n <= scale)
	{
		if (n == scale && n > 0)
			*--at = '.';
		*--at = '0' + (int) (left % 10);
		left /= 10;
		n++;
	}
	if (negative)
		*--at = '-';
	return DatumGetNumeric(DirectFunctionCall3(numeric_in, CStringGetDatum(at), ObjectIdGetDatum(InvalidOid),
											   Int32GetDatum(-1)));
}

/* All that has been summed up. */
static Datum
total(const CScanAggregate *aggregate, const CScanSumState *state)
{
	Datum		sum;

	if (state->odd && state->sum.n == 0)
		return NumericGetDatum(state->odd);
	/* Of a small scale only zeros come behind it. */
	if (aggregate->mixed && !state->full)
		sum = NumericGetDatum(numeric_of(state->sum.sum / cscan_values_power_of_10(aggregate->scale - aggregate->small_scale),
										 aggregate->small_scale));
	else
		sum = NumericGetDatum(numeric_of(state->sum.sum, Max(aggregate->scale, 0)));
	return state->odd ? DirectFunctionCall2(numeric_add, sum, NumericGetDatum(state->odd)) : sum;
}

/* Write a numeric as numericvar_serialize() does: its digits, in base 10,000. */
static void
send_numeric(StringInfo buf, Datum value)
{
	bytea	   *sent = DatumGetByteaPP(DirectFunctionCall1(numeric_send, value));
	StringInfoData in;
	int			ndigits;

	/* numeric_send() writes the same fields with 16 bits each. */
	initStringInfo(&in);
	appendBinaryStringInfo(&in, VARDATA_ANY(sent), VARSIZE_ANY_EXHDR(sent));
	ndigits = (uint16) pq_getmsgint(&in, sizeof(uint16));
	pq_sendint32(buf, ndigits);
	pq_sendint32(buf, (int16) pq_getmsgint(&in, sizeof(int16)));
	pq_sendint32(buf, (uint16) pq_getmsgint(&in, sizeof(uint16)));
	pq_sendint32(buf, (uint16) pq_getmsgint(&in, sizeof(uint16)));
	for (int i = 0; i < ndigits; i++)
		pq_sendint16(buf, (uint16) pq_getmsgint(&in, sizeof(uint16)));
}

/*
 * The state that numeric_avg_serialize() or, of bigints, int8_avg_serialize() would
 * make.
 */
static Datum
serialize_sum(const CScanAggregate *aggregate, const CScanSumState *state)
{
	StringInfoData buf;
	Datum		sum = total(aggregate, state);
	bool		is_special = state->odd && (numeric_is_nan(DatumGetNumeric(sum)) || numeric_is_inf(DatumGetNumeric(sum)));
	int64		n = state->sum.n + state->nodd;
	int64		nan = 0;
	int64		inf = 0;
	int64		minus_inf = 0;

	if (is_special)
	{
		/* Such values are counted only. */
		n--;
		if (numeric_is_nan(DatumGetNumeric(sum)))
			nan = 1;
		else if (DatumGetBool(DirectFunctionCall2(numeric_gt, sum, NumericGetDatum(int64_to_numeric(0)))))
			inf = 1;
		else
			minus_inf = 1;
		sum = NumericGetDatum(int64_to_numeric(0));
	}
	pq_begintypsend(&buf);
	pq_sendint64(&buf, n);
	send_numeric(&buf, sum);
	if (aggregate->type == NUMERICOID)
	{
		int			scale = DatumGetInt32(DirectFunctionCall1(numeric_scale, sum));

		pq_sendint32(&buf, scale);
		pq_sendint64(&buf, n);
		pq_sendint64(&buf, nan);
		pq_sendint64(&buf, inf);
		pq_sendint64(&buf, minus_inf);
	}
	return PointerGetDatum(pq_endtypsend(&buf));
}

/* The state of avg() of integers of up to 32 bits: their number and their sum. */
static Datum
average_state(const CScanSumState *state)
{
	Datum		both[2] = {Int64GetDatum(state->sum.n), Int64GetDatum((int64) state->sum.sum)};

	return PointerGetDatum(construct_array(both, 2, INT8OID, sizeof(int64), get_typbyval(INT8OID), TYPALIGN_DOUBLE));
}

static Datum
sum_result(const CScanAggregate *aggregate, const CScanSumState *state, bool *isnull)
{
	bool		is_small = aggregate->type == INT2OID || aggregate->type == INT4OID;
	int64		n = state->sum.n + state->nodd;

	if (aggregate->partial && aggregate->average && is_small)
		return average_state(state);
	if (n == 0)
	{
		*isnull = true;
		return (Datum) 0;
	}
	if (is_small && !aggregate->average)
		return Int64GetDatum((int64) state->sum.sum);
	if (aggregate->partial)
		return serialize_sum(aggregate, state);
	if (aggregate->average)
		return DirectFunctionCall2(numeric_div, total(aggregate, state), NumericGetDatum(int64_to_numeric(n)));
	return total(aggregate, state);
}

static Datum
extreme_result(const CScanAggregate *aggregate, const CScanExtremeState *state, bool *isnull)
{
	const CScanExtreme *extreme = &state->extreme;
	Datum		value;

	if (extreme->n == 0)
	{
		*isnull = state->odd == NULL;
		return state->odd ? NumericGetDatum(state->odd) : (Datum) 0;
	}
	if (aggregate->scale < 0)
	{
		cscan_values_from_integers(aggregate->typlen, CSCAN_STORAGE_BYVAL, 0, &extreme->value, 1, NULL, &value);
		return value;
	}
	value = NumericGetDatum(numeric_of(extreme->value, aggregate->scale));
	if (state->odd &&
		DatumGetBool(DirectFunctionCall2(aggregate->maximum ? numeric_gt : numeric_lt, NumericGetDatum(state->odd), value)))
		return NumericGetDatum(state->odd);
	return value;
}

/* A float of the argument's type */
static Datum
float_datum(const CScanAggregate *aggregate, double value)
{
	return aggregate->type == FLOAT4OID ? Float4GetDatum((float4) value) : Float8GetDatum(value);
}

/* The state as PostgreSQL has it */
static Datum
float_average_state(const CScanFloatAverage *state)
{
	Datum		fields[3] = {Float8GetDatum(state->n), Float8GetDatum(state->sum), Float8GetDatum(state->squares)};

	return PointerGetDatum(construct_array(fields, 3, FLOAT8OID, sizeof(float8), FLOAT8PASSBYVAL, TYPALIGN_DOUBLE));
}

static Datum
float_average_result(const CScanAggregate *aggregate, const CScanFloatAverage *state, bool *isnull)
{
	if (aggregate->partial)
		return float_average_state(state);
	if (aggregate->deviation)
	{
		LOCAL_FCINFO(fcinfo, 1);
		Datum		result;

		InitFunctionCallInfoData(*fcinfo, NULL, 1, InvalidOid, NULL, NULL);
		fcinfo->args[0].value = float_average_state(state);
		fcinfo->args[0].isnull = false;
		result = aggregate->deviation(fcinfo);
		*isnull = fcinfo->isnull;
		return result;
	}
	*isnull = state->n == 0;
	return *isnull ? (Datum) 0 : Float8GetDatum(state->sum / state->n);
}

Datum
cscan_aggregate_result(CScanAggregateState *node, const CScanAggregate *aggregate, char *states, bool *isnull)
{
	char	   *state = states + aggregate->offset;

	*isnull = false;
	switch (aggregate->kind)
	{
		case CSCAN_AGGREGATE_COUNT:
		case CSCAN_AGGREGATE_DISTINCT:
			return Int64GetDatum(((CScanCount *) state)->n);
		case CSCAN_AGGREGATE_SUM:
			return sum_result(aggregate, (CScanSumState *) state, isnull);
		case CSCAN_AGGREGATE_EXTREME:
			return extreme_result(aggregate, (CScanExtremeState *) state, isnull);
		case CSCAN_AGGREGATE_FLOAT_SUM:
			*isnull = ((CScanFloatSum *) state)->n == 0;
			return float_datum(aggregate, ((CScanFloatSum *) state)->sum);
		case CSCAN_AGGREGATE_FLOAT_EXTREME:
			*isnull = ((CScanFloatExtreme *) state)->n == 0;
			return float_datum(aggregate, ((CScanFloatExtreme *) state)->value);
		case CSCAN_AGGREGATE_FLOAT_AVERAGE:
			return float_average_result(aggregate, (CScanFloatAverage *) state, isnull);
		default:
			return cscan_transition_result(node, aggregate, (CScanTransitionState *) state, isnull);
	}
}

/* Free what a group's states have in values_context. */
void
cscan_aggregates_end_group(CScanAggregateState *node, char *states)
{
	for (int i = 0; i < node->naggregates; i++)
	{
		const CScanAggregate *aggregate = &node->aggregates[i];
		char	   *state = states + aggregate->offset;
		Numeric		odd = NULL;

		if (aggregate->kind == CSCAN_AGGREGATE_TRANSITION)
			cscan_transition_end(aggregate, (CScanTransitionState *) state);
		else if (aggregate->kind == CSCAN_AGGREGATE_SUM)
			odd = ((CScanSumState *) state)->odd;
		else if (aggregate->kind == CSCAN_AGGREGATE_EXTREME)
			odd = ((CScanExtremeState *) state)->odd;
		if (odd)
			pfree(odd);
	}
}
