/*-------------------------------------------------------------------------
 *
 * program.h
 *		Arithmetic on vectors.
 *
 * A program is a list of instructions, each of which computes a *register*, a
 * vector, from registers before it.  All expressions of a scan are in one
 * program, so what several of them have in common is computed once.  A register
 * is computed when it is first asked for in a batch, for the rows that are
 * selected then; later selections must be a part of that.
 *
 * Each instruction has the limits of its type.  If the bounds of its result are
 * not within them, some row might overflow, and the register cannot be had in
 * this batch.  The same is true if a divisor may be zero, if some row's result as a
 * float is infinite, NaN, or has become zero, and if a zone does not know some time.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CSCAN_PROGRAM_H
#define CSCAN_PROGRAM_H

#include "vector.h"
#include "timezone.h"

/* program.c looks at the order: of those about times, and those about floats, which follow them. */
typedef enum CScanOperation
{
	CSCAN_COLUMN,				/* loaded by a function of the caller's */
	CSCAN_CONSTANT,
	CSCAN_ADD,
	CSCAN_SUBTRACT,
	CSCAN_MULTIPLY,
	CSCAN_DIVIDE,				/* towards zero */
	CSCAN_REMAINDER,			/* with the dividend's sign */
	CSCAN_NEGATE,
	CSCAN_UNITS,				/* divided by "constant", rounded down; no operand is
								 * the least or the most integer */
	CSCAN_CALENDAR,				/* of days, what "constant" says; see calendar.h */
	CSCAN_LOCAL_TIME,			/* of a time of UTC, in the zone "constant" */
	CSCAN_UTC_TIME,				/* the reverse; see timezone.h */
	CSCAN_FLOAT_ADD,			/* floats; all that follow are about them */
	CSCAN_FLOAT_SUBTRACT,
	CSCAN_FLOAT_MULTIPLY,
	CSCAN_FLOAT_DIVIDE,
	CSCAN_FLOAT_NEGATE,
	CSCAN_FLOAT_OF_INTEGER,
	CSCAN_FLOAT_ORDER			/* the integer by which a float is compared */
} CScanOperation;

typedef struct CScanInstruction
{
	CScanOperation operation;
	int			left;			/* registers before this one; of a column its
								 * number; of a constant any: instructions that are
								 * equal share a register */
	int			right;
	int64_t		constant;		/* a constant's value; a unit; a field of a date;
								 * the number of a zone */
	bool		is_null;		/* of a constant */
	int64_t		least;			/* limits of the type */
	int64_t		most;
} CScanInstruction;

typedef enum CScanRegisterState
{
	CSCAN_REGISTER_UNKNOWN,
	CSCAN_REGISTER_DONE,
	CSCAN_REGISTER_FAILED
} CScanRegisterState;

typedef struct CScanRegister
{
	CScanVector vector;
	CScanRegisterState state;
	bool		tight;			/* the bounds are those of the selected rows */
	int64_t    *values;			/* room for a batch; of a column NULL */
	bool	   *isnull;
} CScanRegister;

typedef struct CScanProgram
{
	CScanInstruction *instructions;
	CScanRegister *registers;
	int			n;
	int			room;

	/* Loads a column for the selected rows.  False if it cannot be had in this batch. */
	bool		(*load) (void *arg, int column, const CScanSelection *selection, CScanVector *vector);
	void	   *arg;
	const CScanTimeZone **zones;	/* the caller's; it may exchange them between
								 * two batches */
	CScanMemory memory;			/* of the program */
	CScanMemory batch_memory;	/* of its registers' values */

	/* The batch */
	uint32_t	nrows;
	const CScanSelection *selection;
} CScanProgram;

/* Add an instruction, unless the program has it; returns its register. */
extern int	cscan_program_add(CScanProgram *program, const CScanInstruction *instruction);

/* Give a constant another value, between two batches. */
extern void cscan_program_set(CScanProgram *program, int constant, int64_t value, bool is_null);

/* Give all constants their values again, which others may have overwritten. */
extern void cscan_program_restore(CScanProgram *program);

/* Begin with a batch of n rows, of which these are selected. */
extern void cscan_program_begin(CScanProgram *program, uint32_t n, const CScanSelection *selection);

/* From now on only these are; they are a part of those that were. */
static inline void
cscan_program_select(CScanProgram *program, const CScanSelection *selection)
{
	program->selection = selection;
}

/* Get a register; NULL if it cannot be had in this batch. */
extern const CScanVector *cscan_program_get(CScanProgram *program, int number);

#endif							/* CSCAN_PROGRAM_H */
