/*-------------------------------------------------------------------------
 *
 * bits.h
 *		Packing of up to 1,024 numbers into 0 to 64 bits each.
 *
 * The numbers of a vector are laid out in 16 *lanes*: number i is in lane
 * i % 16, and is the one i / 16 there.  A lane is a string of bits in words of
 * 64.  The first words of all lanes come first, then the second ones, and so
 * on.  So 16 consecutive numbers, a *row*, lie at the same bits of 16
 * consecutive words.  One loop of 16 steps without a branch packs or unpacks
 * a row.  Compilers turn it into vector instructions for any width, and the
 * numbers come out in their order.
 *
 * Packed bits take whole words in each lane, multiples of 128 bytes.  For
 * 1,024 numbers that is 128 bytes times the width, with nothing to spare.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CSCAN_BITS_H
#define CSCAN_BITS_H

#include "format.h"

#define CSCAN_LANES		16

/* The bits of the numbers 0..most. */
static inline unsigned
cscan_bits_width(uint64_t most)
{
	return most == 0 ? 0 : 64 - (unsigned) __builtin_clzll(most);
}

/* The rows that n numbers take, and the bytes that these take packed. */
static inline uint32_t
cscan_bits_rows(uint32_t n)
{
	return (n + CSCAN_LANES - 1) / CSCAN_LANES;
}

static inline size_t
cscan_bits_size(uint32_t n, unsigned width)
{
	return (size_t) (cscan_bits_rows(n) * width + 63) / 64 * CSCAN_LANES * 8;
}

/* Pack n numbers, each less "base", into cscan_bits_size() bytes. */
extern void cscan_bits_pack(const int64_t *numbers, uint32_t n, int64_t base, unsigned width,
							uint8_t *packed);

/*
 * Unpack rows first..first + nrows - 1, and add "base" to each number.  Writes
 * nrows * CSCAN_LANES numbers.  Those behind the last packed one are "base" at
 * least.
 */
extern void cscan_bits_unpack(const uint8_t *packed, uint32_t first, uint32_t nrows, int64_t base,
							  unsigned width, int64_t *numbers);

#endif							/* CSCAN_BITS_H */
