/*-------------------------------------------------------------------------
 *
 * balance.h
 *		Which share of shared buffers may the pool pin, with cscan.buffer_share
 *		= auto?
 *
 *		cscan_balance_begin()	the share at first
 *		cscan_balance_look()	what happened since the last look: a new share
 *
 * Others come first.  While other processes miss, the share falls by a quarter
 * each second, down to a floor.  While they do not, and scans lose chunks that a
 * larger share would have kept, it rises by a sixteenth of all buffers each
 * second, up to a ceiling.  To fall fast and rise slowly is what keeps senders on
 * a network fair (AIMD), for the same reason: too much is dearer than too little.
 *
 * A process misses if it takes a frame for a page.  A few do so at any time, and
 * what is known of others is a difference that is not exact.  So others miss if
 * they take more than NOISE frames a second, in two looks on end.
 *
 * The share would swing under a steady load if others missed as soon as it has
 * risen.  So after a fall it does not rise for a while.  The while is twice as
 * long after each fall that follows a rise at once.
 *
 * Invariant: CSCAN_BALANCE_FLOOR <= share <= CSCAN_BALANCE_CEILING.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CSCAN_BALANCE_H
#define CSCAN_BALANCE_H

#include <stdbool.h>
#include <stdint.h>

#define CSCAN_BALANCE_FLOOR		0.125
#define CSCAN_BALANCE_CEILING	0.75

/* The share that a server begins with. */
#define CSCAN_BALANCE_START		0.25

/* The shortest time between two looks (us). */
#define CSCAN_BALANCE_EVERY		1000000

typedef struct CScanBalance
{
	double		share;
	bool		missed;			/* others missed at the last look */
	uint64_t	rose_at;		/* when it last rose (us); 0: not since it
								 * fell */
	uint64_t	fell_at;		/* when it last fell, or should have, were it
								 * not for the floor (us); 0: never */
	uint64_t	pause;			/* it does not rise for so long after that
								 * (us) */
} CScanBalance;

/* What happened since the last look.  All but the times are blocks. */
typedef struct CScanBalanceSeen
{
	uint64_t	now;			/* us */
	uint64_t	elapsed;		/* us, not 0 */
	uint64_t	others;			/* frames that others took */
	uint64_t	loaded;			/* read for scans */
	uint64_t	lost;			/* of scans: a larger share would have kept
								 * them */
	uint64_t	buffers;		/* all shared buffers */
} CScanBalanceSeen;

extern void cscan_balance_begin(CScanBalance *balance, double share);

/* Returns whether the share has changed. */
extern bool cscan_balance_look(CScanBalance *balance, const CScanBalanceSeen *seen);

#endif							/* CSCAN_BALANCE_H */
