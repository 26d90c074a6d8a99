/*-------------------------------------------------------------------------
 *
 * string_read.c
 *		How strings are opened and decoded (string_body.h).
 *
 * cscan_strings_open() has checked that the places of vectors and frames are
 * in the run and in order.  A vector's lengths are checked against its place,
 * so each of its strings lies within it.
 *
 *-------------------------------------------------------------------------
 */
#include "codec.h"
#include "string_body.h"

/* ------------------------------------------------------------------
 * Opening
 * ------------------------------------------------------------------ */

/* Where a vector's bytes begin in all of them, and where they end. */
static uint32_t
end_of(const CScanStringsBody *body, uint32_t vector)
{
	return cscan_get_u32(body->ends + 4 * (size_t) vector);
}

static uint32_t
begin_of(const CScanStringsBody *body, uint32_t vector)
{
	return vector == 0 ? 0 : end_of(body, vector - 1);
}

/* The vectors up to a frame's end, and the compressed bytes. */
static uint32_t
frame_vectors(const CScanStringsBody *body, uint32_t frame)
{
	return cscan_get_u32(body->frames + 8 * (size_t) frame);
}

static uint32_t
frame_end(const CScanStringsBody *body, uint32_t frame)
{
	return cscan_get_u32(body->frames + 8 * (size_t) frame + 4);
}

static bool
open_vectors(CScanStringsBody *body, CScanCursor *cursor)
{
	uint32_t	nvectors = cscan_vectors(body->n);
	uint32_t	place = 0;

	body->ends = cscan_cursor_take(cursor, 4 * (size_t) nvectors);
	if (body->ends == NULL)
		return false;
	for (uint32_t v = 0; v < nvectors; v++)
	{
		uint32_t	end = end_of(body, v);

		if (end < place || end > CSCAN_COLUMN_MAX_BYTES)
			return cscan_damaged(cursor->damage, CSCAN_DAMAGE_PLACE, cursor->run,
								 body->ends + 4 * (size_t) v);
		place = end;
	}
	return true;
}

/*
 * Open the frames: each has a vector at least, the last one ends with the
 * last, and none is longer than what is in it.
 */
static bool
open_frames(CScanStringsBody *body, CScanCursor *cursor)
{
	uint32_t	nvectors = cscan_vectors(body->n);
	uint32_t	vector = 0;
	uint32_t	place = 0;
	const uint8_t *count = cscan_cursor_take(cursor, 4);

	if (count == NULL)
		return false;
	body->nframes = body->in_scratch = cscan_get_u32(count);
	if (body->nframes == 0 || body->nframes > nvectors)
		return cscan_damaged(cursor->damage, CSCAN_DAMAGE_PLACE, cursor->run, count);
	body->frames = cscan_cursor_take(cursor, 8 * (size_t) body->nframes);
	if (body->frames == NULL)
		return false;
	for (uint32_t f = 0; f < body->nframes; f++)
	{
		uint32_t	end = frame_vectors(body, f);
		uint32_t	place_end = frame_end(body, f);
		const uint8_t *at = body->frames + 8 * (size_t) f;
		uint32_t	n;

		if (end <= vector || end > nvectors || (f == body->nframes - 1 && end != nvectors))
			return cscan_damaged(cursor->damage, CSCAN_DAMAGE_PLACE, cursor->run, at);
		n = end_of(body, end - 1) - begin_of(body, vector);
		if (place_end < place || place_end - place > n)
			return cscan_damaged(cursor->damage, CSCAN_DAMAGE_PLACE, cursor->run, at + 4);
		if (place_end - place < n && body->scratch_size < n)
			body->scratch_size = n;
		vector = end;
		place = place_end;
	}
	body->compressed = cscan_cursor_take(cursor, place);
	return body->compressed != NULL;
}

bool
cscan_strings_open(CScanStringsBody *body, CScanEncoding encoding, uint32_t n, CScanCursor *cursor)
{
	const uint8_t *head = cursor->at;

	memset(body, 0, sizeof(*body));
	body->encoding = encoding;
	body->n = n;
	body->run = cursor->run;
	switch (encoding)
	{
		case CSCAN_ENCODING_CONSTANT:
		case CSCAN_ENCODING_DICTIONARY:
			if (!cscan_dictionary_open(&body->dictionary, CSCAN_COLUMN_STRINGS, n, cursor))
				return false;
			return (body->dictionary.nentries == 1) == (encoding == CSCAN_ENCODING_CONSTANT) ||
				cscan_damaged(cursor->damage, CSCAN_DAMAGE_ENTRIES, cursor->run, head);
		case CSCAN_ENCODING_PLAIN:
			if (!cscan_series_open(&body->lengths, n, cursor) || !open_vectors(body, cursor))
				return false;
			body->bytes = cscan_cursor_take(cursor, end_of(body, cscan_vectors(n) - 1));
			return body->bytes != NULL;
		case CSCAN_ENCODING_LZ4:
		case CSCAN_ENCODING_ZSTD:
			return cscan_series_open(&body->lengths, n, cursor) && open_vectors(body, cursor) &&
				open_frames(body, cursor);
		default:
			return cscan_damaged(cursor->damage, CSCAN_DAMAGE_HEADER, cursor->run, head);
	}
}

/* ------------------------------------------------------------------
 * Decoding
 * ------------------------------------------------------------------ */

/* The frame that a vector is in. */
static uint32_t
frame_of(const CScanStringsBody *body, uint32_t vector)
{
	uint32_t	low = 0;
	uint32_t	high = body->nframes - 1;

	while (low < high)
	{
		uint32_t	middle = (low + high) / 2;

		if (frame_vectors(body, middle) > vector)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

/* Get a vector's bytes out of its frame; NULL if that is damaged. */
static const uint8_t *
frame_bytes(CScanStringsBody *body, uint32_t vector, CScanDamage *damage)
{
	uint32_t	frame = frame_of(body, vector);
	uint32_t	place = frame == 0 ? 0 : frame_end(body, frame - 1);
	uint32_t	size = frame_end(body, frame) - place;
	uint32_t	begin = begin_of(body, frame == 0 ? 0 : frame_vectors(body, frame - 1));
	uint32_t	n = end_of(body, frame_vectors(body, frame) - 1) - begin;
	const uint8_t *stored = body->compressed + place;
	CScanDamageKind kind;

	if (size == n)
		return stored + (begin_of(body, vector) - begin);
	if (body->in_scratch != frame)
	{
		body->in_scratch = body->nframes;
		kind = cscan_codec_decompress(body->encoding, stored, size, body->scratch, n);
		if (kind != CSCAN_DAMAGE_NONE)
		{
			cscan_damaged(damage, kind, body->run, stored);
			return NULL;
		}
		body->in_scratch = frame;
	}
	return body->scratch + (begin_of(body, vector) - begin);
}

/* Nulls have no bytes. */
static void
clear_nulls(const uint64_t *nulls, uint32_t n, int64_t *lengths)
{
	for (uint32_t w = 0; w < (n + 63) / 64; w++)
	{
		for (uint64_t left = nulls[w]; left != 0; left &= left - 1)
			lengths[w * 64 + (uint32_t) __builtin_ctzll(left)] = 0;
	}
}

bool
cscan_strings_read(CScanStringsBody *body, uint32_t vector, const uint64_t *nulls,
				   const uint8_t **strings, uint32_t *lengths, CScanDamage *damage)
{
	int64_t		numbers[CSCAN_VECTOR];
	uint32_t	n = cscan_vector_values(body->n, vector);
	const uint8_t *at;
	uint64_t	left;

	if (body->encoding == CSCAN_ENCODING_CONSTANT || body->encoding == CSCAN_ENCODING_DICTIONARY)
	{
		if (!cscan_dictionary_codes(&body->dictionary, vector, numbers, damage))
			return false;
		cscan_dictionary_strings(&body->dictionary, numbers, n, strings, lengths);
		for (uint32_t i = 0; nulls != NULL && i < n; i++)
			lengths[i] = cscan_is_null(nulls, i) ? 0 : lengths[i];
		return true;
	}

	if (!cscan_series_read(&body->lengths, vector, numbers, damage))
		return false;
	at = body->encoding == CSCAN_ENCODING_PLAIN ? body->bytes + begin_of(body, vector) :
		frame_bytes(body, vector, damage);
	if (at == NULL)
		return false;
	if (nulls != NULL)
		clear_nulls(nulls, n, numbers);
	left = end_of(body, vector) - begin_of(body, vector);
	for (uint32_t i = 0; i < n; i++)
	{
		uint64_t	length = (uint64_t) numbers[i];

		if (length > left)
			return cscan_damaged(damage, CSCAN_DAMAGE_LENGTHS, body->run, body->ends + 4 * (size_t) vector);
		strings[i] = at;
		lengths[i] = (uint32_t) length;
		at += length;
		left -= length;
	}
	return left == 0 ||
		cscan_damaged(damage, CSCAN_DAMAGE_LENGTHS, body->run, body->ends + 4 * (size_t) vector);
}
