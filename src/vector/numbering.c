/*-------------------------------------------------------------------------
 *
 * numbering.c
 *		Strings as integers (numbering.h).
 *
 *-------------------------------------------------------------------------
 */
#include "numbering.h"

#include <string.h>

#define FIRST_ROOM	64

void
cscan_numbering_begin(CScanNumbering *numbering, const CScanMemory *memory)
{
	memset(numbering, 0, sizeof(CScanNumbering));
	numbering->memory = *memory;
	cscan_numbering_clear(numbering);
}

void
cscan_numbering_clear(CScanNumbering *numbering)
{
	numbering->n = 0;
	numbering->nbytes = 0;
	numbering->room = FIRST_ROOM;
	numbering->entries = numbering->memory.resize(numbering->memory.arg, numbering->entries,
											  numbering->room * sizeof(CScanNumberedString));
	numbering->buckets = numbering->memory.resize(numbering->memory.arg, numbering->buckets, 2 * numbering->room * sizeof(uint32_t));
	memset(numbering->buckets, 0, 2 * numbering->room * sizeof(uint32_t));
	numbering->bytes_room = 1024;
	numbering->bytes = numbering->memory.resize(numbering->memory.arg, numbering->bytes, numbering->bytes_room);
}

size_t
cscan_numbering_size(const CScanNumbering *numbering)
{
	return numbering->room * (sizeof(CScanNumberedString) + 2 * sizeof(uint32_t)) + numbering->bytes_room;
}

static uint32_t
hash_bytes(const char *bytes, uint32_t length)
{
	uint64_t	hash = length;

	while (length > 0)
	{
		uint64_t	word = 0;
		uint32_t	n = length < sizeof(word) ? length : sizeof(word);

		memcpy(&word, bytes, n);
		hash = (hash ^ word) * UINT64_C(0x9E3779B97F4A7C15);
		hash ^= hash >> 32;
		bytes += n;
		length -= n;
	}
	/* The last word must reach all bits of the result. */
	return (uint32_t) ((hash * UINT64_C(0xD6E8FEB86659FD93)) >> 32);
}

static void
grow(CScanNumbering *numbering)
{
	uint32_t	mask = 4 * numbering->room - 1;

	numbering->room *= 2;
	numbering->entries = numbering->memory.resize(numbering->memory.arg, numbering->entries,
											  numbering->room * sizeof(CScanNumberedString));
	numbering->buckets = numbering->memory.resize(numbering->memory.arg, numbering->buckets, 2 * numbering->room * sizeof(uint32_t));
	memset(numbering->buckets, 0, 2 * numbering->room * sizeof(uint32_t));
	for (uint32_t i = 0; i < numbering->n; i++)
	{
		uint32_t	bucket = numbering->entries[i].hash & mask;

		while (numbering->buckets[bucket] != 0)
			bucket = (bucket + 1) & mask;
		numbering->buckets[bucket] = i + 1;
	}
}

static void
add(CScanNumbering *numbering, const char *bytes, uint32_t length, uint32_t hash)
{
	CScanNumberedString *entry = &numbering->entries[numbering->n];

	while (numbering->bytes_room - numbering->nbytes < length)
	{
		numbering->bytes_room *= 2;
		numbering->bytes = numbering->memory.resize(numbering->memory.arg, numbering->bytes, numbering->bytes_room);
	}
	entry->hash = hash;
	entry->length = length;
	entry->offset = numbering->nbytes;
	if (length > 0)
		memcpy(numbering->bytes + numbering->nbytes, bytes, length);
	numbering->nbytes += length;
	numbering->n++;
}

int64_t
cscan_numbering_number(CScanNumbering *numbering, const char *bytes, uint32_t length, bool may_add)
{
	uint32_t	hash = hash_bytes(bytes, length);
	uint32_t	mask = 2 * numbering->room - 1;
	uint32_t	bucket = hash & mask;

	for (; numbering->buckets[bucket] != 0; bucket = (bucket + 1) & mask)
	{
		const CScanNumberedString *entry = &numbering->entries[numbering->buckets[bucket] - 1];

		if (entry->hash == hash && entry->length == length &&
			memcmp(numbering->bytes + entry->offset, bytes, length) == 0)
			return CSCAN_FIRST_NUMBER + numbering->buckets[bucket] - 1;
	}
	if (!may_add)
		return -1 - (int64_t) hash;
	if (numbering->n == numbering->room)
	{
		grow(numbering);
		mask = 2 * numbering->room - 1;
		for (bucket = hash & mask; numbering->buckets[bucket] != 0;)
			bucket = (bucket + 1) & mask;
	}
	numbering->buckets[bucket] = numbering->n + 1;
	add(numbering, bytes, length, hash);
	return CSCAN_FIRST_NUMBER + numbering->n - 1;
}
