/*-------------------------------------------------------------------------
 *
 * codec.c
 *		See codec.h.
 *
 *-------------------------------------------------------------------------
 */
#include "codec.h"

#ifdef USE_LZ4
#include <lz4.h>
#endif
#ifdef USE_ZSTD
#include <zstd.h>
#include <zstd_errors.h>

/* zstd's own choice between time and size. */
#define ZSTD_LEVEL	3
#endif

/* Sizes are ints in lz4. */
_Static_assert(CSCAN_COLUMN_MAX_BYTES < INT32_MAX / 2, "strings do not fit into a frame");

bool
cscan_codec_known(CScanEncoding codec)
{
	switch (codec)
	{
#ifdef USE_LZ4
		case CSCAN_ENCODING_LZ4:
			return true;
#endif
#ifdef USE_ZSTD
		case CSCAN_ENCODING_ZSTD:
			return true;
#endif
		default:
			return false;
	}
}

size_t
cscan_codec_compress(CScanEncoding codec, const void *bytes, size_t n, void *out, size_t room)
{
	switch (codec)
	{
#ifdef USE_LZ4
		case CSCAN_ENCODING_LZ4:
			{
				int			size = LZ4_compress_default(bytes, out, (int) n, (int) room);

				return size > 0 ? (size_t) size : 0;
			}
#endif
#ifdef USE_ZSTD
		case CSCAN_ENCODING_ZSTD:
			{
				size_t		size = ZSTD_compress(out, room, bytes, n, ZSTD_LEVEL);

				return ZSTD_isError(size) ? 0 : size;
			}
#endif
		default:
			(void) bytes;
			(void) n;
			(void) out;
			(void) room;
			return 0;
	}
}

CScanDamageKind
cscan_codec_decompress(CScanEncoding codec, const void *compressed, size_t size, void *out, size_t n)
{
	switch (codec)
	{
#ifdef USE_LZ4
		case CSCAN_ENCODING_LZ4:
			if (LZ4_decompress_safe(compressed, out, (int) size, (int) n) != (int) n)
				return CSCAN_DAMAGE_FRAME;
			return CSCAN_DAMAGE_NONE;
#endif
#ifdef USE_ZSTD
		case CSCAN_ENCODING_ZSTD:
			{
				size_t		got = ZSTD_decompress(out, n, compressed, size);

				if (ZSTD_isError(got) && ZSTD_getErrorCode(got) == ZSTD_error_memory_allocation)
					return CSCAN_DAMAGE_NO_MEMORY;
				return got == n ? CSCAN_DAMAGE_NONE : CSCAN_DAMAGE_FRAME;
			}
#endif
		default:
			(void) compressed;
			(void) size;
			(void) out;
			(void) n;
			return CSCAN_DAMAGE_NO_CODEC;
	}
}
