/*-------------------------------------------------------------------------
 *
 * bits.c
 *		See bits.h.
 *
 *-------------------------------------------------------------------------
 */
#include "bits.h"
#include "wide.h"

/* The bytes of a word in each lane. */
#define ROW_BYTES	(CSCAN_LANES * 8)

static void
pack_row(const int64_t *restrict numbers, uint64_t base, unsigned shift, unsigned width,
		 uint8_t *restrict words)
{
	for (int l = 0; l < CSCAN_LANES; l++)
		cscan_put_u64(words + 8 * l, cscan_get_u64(words + 8 * l) | ((uint64_t) numbers[l] - base) << shift);
	if (shift + width <= 64)
		return;
	words += ROW_BYTES;
	for (int l = 0; l < CSCAN_LANES; l++)
		cscan_put_u64(words + 8 * l, ((uint64_t) numbers[l] - base) >> (64 - shift));
}

void
cscan_bits_pack(const int64_t *numbers, uint32_t n, int64_t base, unsigned width, uint8_t *packed)
{
	int64_t		last[CSCAN_LANES];
	uint32_t	bit = 0;

	memset(packed, 0, cscan_bits_size(n, width));
	if (width == 0)
		return;
	for (; n >= CSCAN_LANES; n -= CSCAN_LANES)
	{
		pack_row(numbers, (uint64_t) base, bit % 64, width, packed + bit / 64 * ROW_BYTES);
		numbers += CSCAN_LANES;
		bit += width;
	}
	if (n == 0)
		return;
	for (uint32_t l = 0; l < CSCAN_LANES; l++)
		last[l] = l < n ? numbers[l] : base;
	pack_row(last, (uint64_t) base, bit % 64, width, packed + bit / 64 * ROW_BYTES);
}

/* A row that lies in one word of each lane, and one that lies in two. */
static inline void
unpack_row(const uint8_t *restrict words, uint64_t base, unsigned shift, uint64_t mask,
		   int64_t *restrict numbers)
{
	for (int l = 0; l < CSCAN_LANES; l++)
		numbers[l] = (int64_t) (base + ((cscan_get_u64(words + 8 * l) >> shift) & mask));
}

static inline void
unpack_split_row(const uint8_t *restrict words, uint64_t base, unsigned shift, uint64_t mask,
				 int64_t *restrict numbers)
{
	const uint8_t *next = words + ROW_BYTES;

	for (int l = 0; l < CSCAN_LANES; l++)
		numbers[l] = (int64_t) (base + (((cscan_get_u64(words + 8 * l) >> shift) |
										 (cscan_get_u64(next + 8 * l) << (64 - shift))) & mask));
}

CSCAN_WIDE void
cscan_bits_unpack(const uint8_t *packed, uint32_t first, uint32_t nrows, int64_t base,
				  unsigned width, int64_t *numbers)
{
	uint64_t	mask = width == 64 ? UINT64_MAX : (UINT64_C(1) << width) - 1;
	uint32_t	bit = first * width;

	if (width == 0)
	{
		for (uint32_t i = 0; i < nrows * CSCAN_LANES; i++)
			numbers[i] = base;
		return;
	}
	for (uint32_t r = 0; r < nrows; r++)
	{
		const uint8_t *words = packed + bit / 64 * ROW_BYTES;

		if (bit % 64 + width <= 64)
			unpack_row(words, (uint64_t) base, bit % 64, mask, numbers);
		else
			unpack_split_row(words, (uint64_t) base, bit % 64, mask, numbers);
		bit += width;
		numbers += CSCAN_LANES;
	}
}
