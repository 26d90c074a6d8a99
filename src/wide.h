/*-------------------------------------------------------------------------
 *
 * wide.h
 *		Loops that are compiled twice.
 *
 * PostgreSQL is compiled for the oldest CPU of its kind, whose instructions
 * take two numbers of 64 bits at a time.  A function marked CSCAN_WIDE is
 * compiled for AVX2 as well, whose instructions take four.  The dynamic
 * linker chooses one of the two when it loads the library.  Both compute the
 * same, so only loops over integers are marked, and of these those that gain.
 *
 * It needs gcc, glibc and x86-64.  Sanitizers are not ready when the linker
 * chooses.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CSCAN_WIDE_H
#define CSCAN_WIDE_H

/* Any header of glibc defines __GLIBC__. */
#include <stdint.h>

#if defined(__x86_64__) && defined(__GLIBC__) && __GNUC__ >= 9 && !defined(__clang__) && \
	!defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define CSCAN_WIDE	__attribute__((target_clones("avx2", "default")))
#else
#define CSCAN_WIDE
#endif

#endif							/* CSCAN_WIDE_H */
