/*-------------------------------------------------------------------------
 *
 * codec.h
 *		Compression of frames with the libraries that the server has.
 *
 * A build knows lz4 or zstd if it is compiled with USE_LZ4 or USE_ZSTD, as the
 * server is.  A run that needs the other one gives CSCAN_DAMAGE_NO_CODEC.
 *
 * These libraries are the one thing here that may allocate memory: zstd does,
 * for the time of a call.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CSCAN_CODEC_H
#define CSCAN_CODEC_H

#include "format.h"

/* Is this CSCAN_ENCODING_LZ4 or _ZSTD, and does this build know it? */
extern bool cscan_codec_known(CScanEncoding codec);

/* Compress n bytes into at most "room" bytes; 0 if they do not fit. */
extern size_t cscan_codec_compress(CScanEncoding codec, const void *bytes, size_t n, void *out,
								   size_t room);

/* Decompress size bytes into exactly n bytes. */
extern CScanDamageKind cscan_codec_decompress(CScanEncoding codec, const void *compressed, size_t size,
											  void *out, size_t n);

#endif							/* CSCAN_CODEC_H */
