/*-------------------------------------------------------------------------
 *
 * predicate.h
 *		Which rows of a batch meet a condition.
 *
 * SQL's conditions are true, false or unknown.  Nobody asks for the third: a
 * condition says for which rows it is true, or for which it is false, and NOT
 * asks for the other one.  AND and OR ask one part after the other, each for
 * those rows alone on which the ones before have not settled the matter.  A row
 * for which a part is unknown is not asked about the others, although SQL's AND
 * would, unless that matters, since they may raise errors.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CSCAN_PREDICATE_H
#define CSCAN_PREDICATE_H

#include "program.h"

typedef enum CScanPredicateKind
{
	CSCAN_AND,
	CSCAN_OR,
	CSCAN_NOT,
	CSCAN_COMPARE,				/* two registers */
	CSCAN_ONE_OF,				/* a register with a list of integers */
	CSCAN_IS_NULL,
	CSCAN_ASK					/* somebody else knows */
} CScanPredicateKind;

typedef enum CScanComparison
{
	CSCAN_LESS,
	CSCAN_LESS_EQUAL,
	CSCAN_EQUAL,
	CSCAN_GREATER_EQUAL,
	CSCAN_GREATER,
	CSCAN_NOT_EQUAL
} CScanComparison;

typedef struct CScanPredicate
{
	CScanPredicateKind kind;
	struct CScanPredicate *parts;	/* of AND, OR and NOT */
	int			nparts;
	bool		careful;		/* of AND and OR: a row is to be asked about as
								 * many parts as in SQL */
	CScanComparison comparison;
	int			left;			/* registers */
	int			right;
	const int64_t *list;		/* in ascending order */
	int			nlist;
	bool		list_has_null;
	int			question;		/* of the caller's */
} CScanPredicate;

/* AND, OR and NOT must not be nested deeper: each level takes some kB of stack. */
#define CSCAN_PREDICATE_DEPTH	16

/*
 * Answers questions: the rows of "from" for which the answer is true, and those for
 * which it is false.  One of the two may be NULL; then the other one may be "from".
 * False if they cannot be had in this batch.
 */
typedef struct CScanAnswers
{
	bool		(*ask) (void *arg, int question, const CScanSelection *from, CScanSelection *yes, CScanSelection *no);
	void	   *arg;
} CScanAnswers;

/*
 * Get the rows of "from" for which a condition is "wanted".  "to" may be "from".
 * False if that cannot be had in this batch; then "to" is not defined.
 */
extern bool cscan_predicate_select(const CScanPredicate *predicate, CScanProgram *program, const CScanAnswers *answers,
								   bool wanted, const CScanSelection *from, CScanSelection *to);

#endif							/* CSCAN_PREDICATE_H */
