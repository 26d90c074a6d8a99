/*-------------------------------------------------------------------------
 *
 * transitions.c
 *		Aggregates that PostgreSQL's own functions compute, row by row.
 *
 * This is what nodeAgg.c does with them, for one state in one place.  The
 * functions find the memory of their states by an AggState that has nothing else.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "access/transam.h"
#include "catalog/pg_aggregate.h"
#include "catalog/pg_language.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type_d.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "parser/parse_agg.h"
#include "parser/parse_coerce.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/expandeddatum.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/syscache.h"

#include "aggregate/aggregate.h"

struct CScanTransition
{
	Oid			type;			/* of the state */
	int16		typlen;
	bool		typbyval;
	int16		result_typlen;
	Datum		first;			/* what states begin with */
	bool		first_isnull;
	FmgrInfo	function;
	FunctionCallInfo call;
	FmgrInfo	final;			/* final or serialization function */
	bool		has_final;
	int			nfinal;			/* its arguments */
};

/*
 * A function in C may look for more in the AggState than there is.  PostgreSQL calls
 * volatile ones for one row after the other, and once for aggregates that are alike.
 */
static bool
may_run(Oid function)
{
	HeapTuple	tuple;
	bool		may = false;

	if (!OidIsValid(function) || function < FirstUnpinnedObjectId)
		return true;
	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
	if (HeapTupleIsValid(tuple))
	{
		may = ((Form_pg_proc) GETSTRUCT(tuple))->prolang != ClanguageId &&
			((Form_pg_proc) GETSTRUCT(tuple))->provolatile != PROVOLATILE_VOLATILE;
		ReleaseSysCache(tuple);
	}
	return may;
}

static bool
may_all_run(Oid aggregate)
{
	HeapTuple	tuple = SearchSysCache1(AGGFNOID, ObjectIdGetDatum(aggregate));
	Form_pg_aggregate form;
	bool		may;

	if (!HeapTupleIsValid(tuple))
		return false;
	form = (Form_pg_aggregate) GETSTRUCT(tuple);
	may = may_run(form->aggtransfn) && may_run(form->aggfinalfn) && may_run(form->aggserialfn);
	ReleaseSysCache(tuple);
	return may;
}

bool
cscan_transition_supported(const Aggref *aggref)
{
	return may_all_run(aggref->aggfnoid) && aggref->aggkind == AGGKIND_NORMAL && aggref->aggorder == NIL && aggref->aggdistinct == NIL &&
		aggref->aggdirectargs == NIL && aggref->aggtranstype != InvalidOid;
}

/* Get what states begin with. */
static void
find_first(CScanTransition *t, HeapTuple tuple)
{
	Oid			input;
	Oid			io_param;
	Datum		value = SysCacheGetAttr(AGGFNOID, tuple, Anum_pg_aggregate_agginitval, &t->first_isnull);

	t->first = (Datum) 0;
	if (t->first_isnull)
		return;
	getTypeInputInfo(t->type, &input, &io_param);
	t->first = OidInputFunctionCall(input, TextDatumGetCString(value), io_param, -1);
}

void
cscan_transition_init(CScanAggregateState *node, CScanAggregate *aggregate)
{
	Aggref	   *aggref = aggregate->aggref;
	CScanTransition *t = palloc0(sizeof(CScanTransition));
	HeapTuple	tuple = SearchSysCache1(AGGFNOID, ObjectIdGetDatum(aggref->aggfnoid));
	Form_pg_aggregate form;
	Oid			types[FUNC_MAX_ARGS];
	int			ntypes = get_aggregate_argtypes(aggref, types);
	int			n = list_length(aggref->args);
	Expr	   *expr;
	Oid			final;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for aggregate %u", aggref->aggfnoid);
	form = (Form_pg_aggregate) GETSTRUCT(tuple);
	t->type = aggref->aggtranstype;
	get_typlenbyval(t->type, &t->typlen, &t->typbyval);
	t->result_typlen = get_typlen(aggref->aggtype);
	find_first(t, tuple);

	build_aggregate_transfn_expr(types, ntypes, 0, aggref->aggvariadic, t->type, aggref->inputcollid,
								 form->aggtransfn, InvalidOid, &expr, NULL);
	fmgr_info(form->aggtransfn, &t->function);
	fmgr_info_set_expr((Node *) expr, &t->function);
	t->call = palloc0(SizeForFunctionCallInfo(n + 1));
	InitFunctionCallInfoData(*t->call, &t->function, n + 1, aggref->inputcollid, (Node *) node->context_node, NULL);

	final = aggregate->partial ? (t->type == INTERNALOID ? form->aggserialfn : InvalidOid) : form->aggfinalfn;
	t->has_final = OidIsValid(final);
	t->nfinal = 1;
	if (t->has_final)
	{
		if (aggregate->partial)
			build_aggregate_serialfn_expr(final, &expr);
		else
		{
			t->nfinal = form->aggfinalextra ? ntypes + 1 : 1;
			build_aggregate_finalfn_expr(types, t->nfinal, t->type, aggref->aggtype, aggref->inputcollid, final, &expr);
		}
		fmgr_info(final, &t->final);
		fmgr_info_set_expr((Node *) expr, &t->final);
	}

	/* A strict function's first argument becomes the state, so it must have its type. */
	if (t->function.fn_strict && t->first_isnull && (ntypes == 0 || !IsBinaryCoercible(types[0], t->type)))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_FUNCTION_DEFINITION),
				 errmsg("aggregate %u needs to have compatible input type and transition type", aggref->aggfnoid)));
	ReleaseSysCache(tuple);
	aggregate->transition = t;
}

/* Keep a value as long as states.  An expanded object may be there already. */
static Datum
keep(CScanAggregateState *node, const CScanTransition *t, Datum value)
{
	MemoryContext old;

	if (DatumIsReadWriteExpandedObject(value, false, t->typlen) &&
		MemoryContextGetParent(DatumGetEOHP(value)->eoh_context) == node->values_context)
		return value;
	old = MemoryContextSwitchTo(node->values_context);
	value = datumCopy(value, t->typbyval, t->typlen);
	MemoryContextSwitchTo(old);
	return value;
}

/* Free what a state has of its own; its type is not internal, or its function has returned another one. */
void
cscan_transition_end(const CScanAggregate *aggregate, CScanTransitionState *state)
{
	const CScanTransition *t = aggregate->transition;

	if (t->typbyval || state->isnull)
		return;
	if (DatumIsReadWriteExpandedObject(state->value, false, t->typlen))
		DeleteExpandedObject(state->value);
	else
		pfree(DatumGetPointer(state->value));
}

void
cscan_transition_begin(CScanAggregateState *node, const CScanAggregate *aggregate, CScanTransitionState *state)
{
	const CScanTransition *t = aggregate->transition;

	state->value = t->first_isnull ? (Datum) 0 : keep(node, t, t->first);
	state->isnull = t->first_isnull;
	state->is_new = t->first_isnull;
}

void
cscan_transition_advance(CScanAggregateState *node, const CScanAggregate *aggregate, CScanTransitionState *state,
						 const Datum *values, const bool *isnull)
{
	CScanTransition *t = aggregate->transition;
	FunctionCallInfo call = t->call;
	Datum		value;

	for (int i = 0; i < aggregate->narguments; i++)
	{
		if (t->function.fn_strict && isnull[i])
			return;
		call->args[i + 1].value = values[i];
		call->args[i + 1].isnull = isnull[i];
	}
	if (t->function.fn_strict && state->is_new)
	{
		state->value = keep(node, t, values[0]);
		state->isnull = state->is_new = false;
		return;
	}
	if (t->function.fn_strict && state->isnull)
		return;
	call->args[0].value = state->value;
	call->args[0].isnull = state->isnull;
	call->isnull = false;
	value = FunctionCallInvoke(call);
	if (!t->typbyval && DatumGetPointer(value) != DatumGetPointer(state->value))
	{
		Datum		kept = call->isnull ? value : keep(node, t, value);

		cscan_transition_end(aggregate, state);
		value = kept;
	}
	state->value = value;
	state->isnull = call->isnull;
	state->is_new = false;
}

Datum
cscan_transition_result(CScanAggregateState *node, const CScanAggregate *aggregate, CScanTransitionState *state, bool *isnull)
{
	CScanTransition *t = aggregate->transition;

	LOCAL_FCINFO(call, FUNC_MAX_ARGS);
	Datum		value;

	*isnull = state->isnull;
	if (!t->has_final)
		return MakeExpandedObjectReadOnly(state->value, state->isnull, t->typlen);
	if (t->final.fn_strict && (state->isnull || t->nfinal > 1))
	{
		*isnull = true;
		return (Datum) 0;
	}
	InitFunctionCallInfoData(*call, &t->final, t->nfinal, aggregate->partial ? InvalidOid : aggregate->aggref->inputcollid,
							 (Node *) node->context_node, NULL);
	call->args[0].value = MakeExpandedObjectReadOnly(state->value, state->isnull, t->typlen);
	call->args[0].isnull = state->isnull;
	for (int i = 1; i < t->nfinal; i++)
	{
		call->args[i].value = (Datum) 0;
		call->args[i].isnull = true;
	}
	value = FunctionCallInvoke(call);
	*isnull = call->isnull;

	/* HAVING and the target list may each use it, and more than once. */
	return MakeExpandedObjectReadOnly(value, call->isnull, t->result_typlen);
}
