/*-------------------------------------------------------------------------
 *
 * input.h
 *		What is made of a CScan's batches: the rows that meet the scan's
 *		conditions and, for an aggregate, keys and arguments.
 *
 *		filter.c		a CScan that hands out rows, and finds them on vectors
 *		input.c			batch for batch
 *		cases.c			CASE and COALESCE as arithmetic on vectors
 *		conditions.c	conditions as predicates on vectors
 *		questions.c		parts of them that are not about numbers
 *		numbers.c		expressions as arithmetic on vectors
 *		times.c			functions of dates and timestamps among them
 *		timezones.c		time zones, as vectors know them
 *		rows.c			what PostgreSQL computes row by row
 *
 * Calls go downwards only.
 *
 * Each expression is *vectorized* before the first batch, as far as that can be.
 * PostgreSQL computes all others *row by row*, or once for each entry of a dictionary.  It also does so in batches in
 * which a value may not fit.  So results, and errors, are its own.
 *
 * A condition that only compares columns, on vectors, raises no error and shows
 * nobody what it sees.  It comes before others that raise none.  All others keep
 * their order, so the same rows raise the same errors.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CSCAN_INPUT_H
#define CSCAN_INPUT_H

#include "catalog/pg_type_d.h"
#include "pgtime.h"

#include "exec/batch.h"
#include "vector/predicate.h"
#include "vector/program.h"
#include "vector/numbering.h"
#include "vector/string_test.h"

/* An expression that PostgreSQL computes row by row. */
typedef struct CScanRowExpr
{
	Expr	   *expr;
	ExprState  *state;			/* NULL: not needed yet */
	int16		typlen;			/* of its result */
	bool		typbyval;
	int		   *columns;		/* of the batch that it needs */
	int			ncolumns;
	Datum	   *values;			/* of a batch; NULL: nobody has asked yet */
	bool	   *isnull;
} CScanRowExpr;

/* CASE, or COALESCE, see cases.c. */
typedef struct CScanChoice CScanChoice;

/* A number as the program computes it. */
typedef struct CScanNumber
{
	int			reg;
	int			scale;			/* of a numeric; -1: an integer; CSCAN_FLOAT: a float */
	CScanChoice *mixed;			/* some rows have a smaller scale, as the choice
								 * knows; it may only be compared and added up */
} CScanNumber;

/*
 * A value that is fixed in a pass, with which a number is compared.  It is found
 * when the condition is asked for the first time.
 */
typedef struct CScanFixed
{
	Expr	   *value;
	ExprState  *state;			/* NULL: it is a constant, or not needed yet */
	Oid			type;
	Oid			compared;		/* the type of the other side */
	int			scale;			/* of numerics that it is compared with */
	int			reg;
	struct CScanPredicate *predicate;
	CScanComparison comparison; /* for a value that the number can be */
} CScanFixed;

/*
 * A part of a condition that is not about numbers.  PostgreSQL computes it, row by
 * row, or for each entry of a column's dictionary; or it is a test of strings or nulls.
 */
typedef struct CScanQuestion
{
	CScanRowExpr row;
	int			column;			/* the only one that it needs, or -1 */
	bool		is_by_row;		/* it is computed row by row, in every batch */
	bool		may_fail;		/* PostgreSQL computes it, and may raise an error */
	uint64		runs;			/* whose dictionary's entries have answers */
	uint8	   *answers;		/* for each entry; 0: not asked yet */
	bool		is_of_nulls;	/* is the column null? */
	bool		is_of_strings;
	CScanStringTest test;		/* of the column's strings */
	bool		is_negated;		/* those that do not pass, or are not null, are wanted */
	bool		has_null;		/* in the set: a string that is not in it is unknown */
	bool		is_padded;		/* blanks at the end do not count */
} CScanQuestion;

typedef struct CScanClause
{
	CScanRowExpr row;
	bool		is_whole;		/* it is all of the scan's conditions */
	bool		vectorized;		/* at least a part of it */
	List	   *questions;		/* CScanQuestion: parts of it */
	bool		computes_value; /* with which it compares: once in a pass */
	bool		may_fail;		/* it may raise an error */
	bool		may_fail_by_row;	/* likewise, of each row anew */
	List	   *fixed;			/* CScanFixed */
	bool		fixed_known;	/* in this pass */
	bool		by_row;			/* in this pass PostgreSQL computes it */
	CScanPredicate predicate;
} CScanClause;

typedef enum CScanKeyKind
{
	CSCAN_KEY_DATUM,			/* an integer */
	CSCAN_KEY_STRING,			/* a string, compared byte by byte */
	CSCAN_KEY_PADDED,			/* likewise, without the blanks at its end;
								 * their number varies */
	CSCAN_KEY_NUMERIC,
	CSCAN_KEY_FLOAT				/* the integer by which floats are compared */
} CScanKeyKind;

/* Is a key an integer itself, and not the number of a string? */
static inline bool
cscan_key_is_integer(CScanKeyKind kind)
{
	return kind == CSCAN_KEY_DATUM || kind == CSCAN_KEY_FLOAT;
}

/* May equal keys of a kind look different? */
static inline bool
cscan_equal_may_differ(CScanKeyKind kind)
{
	return kind == CSCAN_KEY_PADDED || kind == CSCAN_KEY_NUMERIC || kind == CSCAN_KEY_FLOAT;
}

/* How an input gets a key. */
typedef struct CScanKeyInput
{
	CScanKeyKind kind;
	bool		vectorized;		/* a number, by arithmetic on vectors */
	CScanNumber number;
	CScanRowExpr row;
	int			column;			/* of the batch, if the key is one; else -1 */
	CScanVector vector;			/* of the batch */
	int64	   *integers;
	bool	   *isnull;			/* of an expression */

	/* Numbers of the strings that a dictionary's entries are */
	uint64		runs;
	int64	   *entries;		/* NO_NUMBER: not asked for yet */
} CScanKeyInput;

/* How it gets an argument. */
typedef struct CScanArgumentInput
{
	bool		vectorized;
	CScanNumber number;
	int			column;			/* if it is one; else -1 */
	CScanRowExpr row;
} CScanArgumentInput;

/* What all inputs of a node have in common. */
typedef struct CScanInputCommon
{
	CScanRooms *rooms;
	MemoryContext batch_context;	/* of what a batch's rows keep */
	MemoryContext key_context;	/* of a key that is being compared */
	CScanKeyKind *key_kinds;	/* also of DISTINCT */
} CScanInputCommon;

typedef struct CScanInput CScanInput;

/* How those below get one, and its values of a batch. */
typedef struct CScanChoiceMethods
{
	bool		(*compile) (CScanInput *input, Expr *expr, CScanNumber *number);
	bool		(*load) (CScanInput *input, int number, const CScanSelection *selection, CScanVector *vector);
} CScanChoiceMethods;

struct CScanInput
{
	CScanState *scan;
	const CScanInputCommon *common;
	CScanRoom	room;			/* for values of a batch, and what dictionaries'
								 * entries are; lost when another input has its turn */
	PlanState  *ps;				/* the scan's */
	ExprContext *econtext;		/* likewise; reset for each row */
	CScanBatch *batch;
	CScanProgram program;
	CScanClause **clauses;		/* in the order in which they are asked */
	int			nclauses;
	CScanClause **index_clauses;	/* a bitmap's index conditions, if all of them
									 * have vectors; see cscan_input_recheck() */
	int			nindex_clauses;
	List	   *questions;		/* CScanQuestion */
	List	   *choices;		/* CScanChoice; the program's column -1 is the first */
	const CScanChoiceMethods *choice_methods;
	int			choice_depth;	/* of the one that is being compiled */
	bool		is_guarded;		/* not each selected row may need what is being
								 * compiled: it has a FILTER, or is a condition */
	List	   *zone_names;		/* CScanZoneName of each of the program's zones; the
								 * first is the session's */
	pg_tz	   *session_zone;	/* of this batch */
	bool		computes;		/* an expression has been vectorized that does more
								 * than to name a column */
	CScanKeyInput *keys;		/* to group by, and then those of DISTINCT */
	int			nkeys;			/* to group by */
	int			ndistinct;
	CScanArgumentInput *arguments;
	int			narguments;
	CScanClause **filters;		/* of FILTER */
	int			nfilters;

	/* The rows of the batch that meet the conditions */
	CScanSelection selection;
};

/*
 * Add an instruction to an input's program; the result has the limits of a type.  Returns
 * its register.
 */
static inline int
cscan_input_add(CScanInput *input, CScanOperation operation, int left, int right, int64 constant, Oid type)
{
	CScanInstruction instruction = {
		.operation = operation,
		.left = left,
		.right = right,
		.constant = constant,
		.least = type == INT2OID ? PG_INT16_MIN : type == INT4OID ? PG_INT32_MIN : PG_INT64_MIN,
		.most = type == INT2OID ? PG_INT16_MAX : type == INT4OID ? PG_INT32_MAX : PG_INT64_MAX
	};

	return cscan_program_add(&input->program, &instruction);
}

/* ---------- rows.c ---------- */

/* Without an expression it is all of the scan's conditions. */
extern void cscan_row_expr_init(CScanRowExpr *row, CScanInput *input, Expr *expr);

/* Make what PostgreSQL computes an expression with, as the user with whom the scan has begun. */
extern ExprState *cscan_expr_state(Expr *expr, CScanInput *input);

/* How PostgreSQL computes it. */
extern ExprState *cscan_row_expr_state(CScanRowExpr *row, CScanInput *input);

/* Compute it for one row.  The value lasts until the scan's expression context is reset. */
extern Datum cscan_row_expr_value(CScanRowExpr *row, CScanInput *input, uint16 number, bool *isnull);

/* Compute it for the selected rows: "values" and "isnull", which last as long as the batch. */
extern void cscan_row_expr_compute(CScanRowExpr *row, CScanInput *input, const CScanSelection *selection);

/* Get the rows for which it is true, and those for which it is false; see CScanAnswers. */
extern void cscan_row_expr_split(CScanRowExpr *row, CScanInput *input, const CScanSelection *from,
								 CScanSelection *yes, CScanSelection *no);

/* Does an expression have one value throughout a pass? */
extern bool cscan_expr_is_fixed(Node *node);

/* ---------- timezones.c ---------- */

/* The number of the session's time zone among the program's zones. */
extern int	cscan_timezone_of_session(CScanInput *input);

/* Likewise of a constant name; -1 if it has no vectors. */
extern int	cscan_timezone_of_name(CScanInput *input, const Expr *name);

/* Let the zones be those of now.  Is the session's another one than it was? */
extern bool cscan_timezones_follow(CScanInput *input);

/* ---------- times.c ---------- */

/* Which of a function's arguments is the date or timestamp?  NULL: it is no such function. */
extern Expr *cscan_time_argument(Oid function, const List *args);

/* Vectorize such a function of a register; false if that is not possible. */
extern bool cscan_time_compile(CScanInput *input, Oid function, const List *args, int reg, CScanNumber *number);

/* A date, or a timestamp without time zone, as one with a time zone: for a comparison, which raises no error. */
extern int	cscan_time_with_zone(CScanInput *input, Oid type, int reg);

/* ---------- numbers.c ---------- */

/* A type whose values are integers, or numeric; of a domain its base type.  Else InvalidOid. */
extern Oid	cscan_number_type(Oid type);

/* Likewise, or a type of floats. */
extern Oid	cscan_number_or_float_type(Oid type);
extern bool cscan_is_float(Oid type);

/* The scale that numerics of a type modifier have; -1 if they have none, or one too large. */
extern int	cscan_number_scale(int32 typmod);

/* Vectorize an expression; false if that is not possible. */
extern bool cscan_number_compile(CScanInput *input, Expr *expr, CScanNumber *number);

/* Let two numbers have the same scale. */
extern bool cscan_number_align(CScanInput *input, CScanNumber *left, CScanNumber *right);

/* Let a number that is a float be the integer by which it is compared. */
extern void cscan_number_order(CScanInput *input, CScanNumber *number);

/* Load columns of a batch for the program. */
extern bool cscan_number_load(void *arg, int column, const CScanSelection *selection, CScanVector *vector);

/* ---------- conditions.c ---------- */

/* Vectorize a condition as far as possible. */
extern void cscan_condition_compile(CScanInput *input, CScanClause *clause);

/* May a condition be asked of all rows of a batch, although somebody may stop before them? */
extern bool cscan_condition_asks_ahead(const CScanInput *input, const CScanClause *clause);

/* Does an operator raise no error, though it is not marked leakproof? */
extern bool cscan_condition_is_harmless(const OpExpr *op);

/* Find the values with which a condition compares in this pass. */
extern void cscan_condition_fix(CScanInput *input, CScanClause *clause);

/* ---------- questions.c ---------- */

/* Is this a parameter whose value is there?  Variables of PL/pgSQL may have to be computed. */
extern bool cscan_param_is_given(const CScanInput *input, const Param *param);

/* Make a question of an expression; it gets the last place in the input's list. */
extern CScanQuestion *cscan_question_create(CScanInput *input, Expr *expr);

/* Answer the questions of predicates. */
extern bool cscan_question_ask(void *arg, int question, const CScanSelection *from, CScanSelection *yes, CScanSelection *no);

/* ---------- cases.c ---------- */

extern const CScanChoiceMethods cscan_cases_methods;

/* Begin a pass. */
extern void cscan_cases_begin(CScanInput *input);

/* The smaller scale of a choice's numerics. */
extern int	cscan_choice_scale(const CScanChoice *choice);

/* Has a row's value the larger one?  It has been computed, and is not null. */
extern bool cscan_choice_is_full(const CScanChoice *choice, uint16 row);

/* ---------- input.c ---------- */

/* What grows in a memory context. */
extern CScanMemory cscan_memory_of(MemoryContext context);

/* Expressions with a scan's columns */
typedef struct CScanInputExprs
{
	List	   *keys;			/* to group by */
	List	   *distinct;		/* keys of DISTINCT */
	List	   *arguments;
	List	   *filters;
	Bitmapset  *filtered_distinct;	/* those that only the rows of a FILTER need */
	Bitmapset  *filtered_arguments;
} CScanInputExprs;

/* Make the input of a scan for these expressions. */
extern CScanInput *cscan_input_create(CScanState *scan, const CScanInputCommon *common, const CScanInputExprs *exprs);

/* Begin a pass. */
extern void cscan_input_begin(CScanInput *input);

/* Begin a turn, after another input's. */
extern void cscan_input_enter(CScanInput *input);

/* Get the next batch with rows that meet the conditions.  False at the end. */
extern bool cscan_input_next(CScanInput *input);

/* Get the next batch, of which all rows are selected.  False at the end. */
extern bool cscan_input_next_unfiltered(CScanInput *input);

/* Leave only those rows of a page selected that meet a bitmap's index conditions. */
extern void cscan_input_recheck(CScanInput *input);

/* Leave only those rows selected that meet a condition. */
extern void cscan_input_meet(CScanInput *input, CScanClause *clause);

/* Begin with rows that have been kept; all of them have met the conditions. */
extern void cscan_input_keep(CScanInput *input, uint32 nrows);

/*
 * Get the keys of the selected rows as integers: "vectors" of them.  Strings get
 * numbers, each key its own; "may_add" says whether there may be new ones, as long as
 * all numberings have no more bytes than "limit".  Returns how many of the rows, from
 * the first on, may make new groups: a key of the others may have no number.
 */
extern uint32 cscan_input_keys(CScanInput *input, CScanNumbering *numbering, bool may_add, Size limit,
							   const CScanVector **vectors);

/*
 * Get a key of DISTINCT of some rows likewise, as a vector with bounds.  Returns how many
 * of them are such that their strings may be new.
 */
extern uint32 cscan_input_distinct(CScanInput *input, int number, const CScanSelection *rows, CScanNumbering *numbering,
								   bool may_add, Size limit, CScanVector *vector);

/* Get such a key of one row, which lasts until the scan's expression context is reset. */
extern Datum cscan_input_distinct_value(CScanInput *input, int number, uint16 row, bool *isnull);

/*
 * The bytes by which a string or numeric key is compared.  They are those of the value
 * itself, or lie in the current context.
 */
extern const char *cscan_key_bytes(CScanKeyKind kind, Datum value, uint32 *length);

/* The number of such bytes. */
extern int64 cscan_key_number(CScanNumbering *numbering, const char *bytes, uint32 length, bool may_add);

/*
 * Get the number of the very string, or numeric, that a row's key is, or the bits of the
 * float: equal ones may look different.  It is added.
 */
extern int64 cscan_input_shown(CScanInput *input, int key, uint16 row, CScanNumbering *numbering);

/* Forget the numbers of strings. */
extern void cscan_input_forget_strings(CScanInput *input);

/* Get an argument as a vector, or NULL if it is to be had row by row only. */
extern const CScanVector *cscan_input_argument(CScanInput *input, int number);

/* Get a vector that has no values, and says of which rows an argument is null.  False if it is no column. */
extern bool cscan_input_nulls(CScanInput *input, int number, CScanVector *vector);

/* Get the selected rows that meet a filter. */
extern void cscan_input_filter(CScanInput *input, int number, CScanSelection *found);

/* How a key can be had; false if it cannot. */
extern bool cscan_key_kind(Node *key, CScanKeyKind *kind);

#endif							/* CSCAN_INPUT_H */
