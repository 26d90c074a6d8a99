/*-------------------------------------------------------------------------
 *
 * look.c
 *		The naive twin's questions: see twin.h.
 *
 *-------------------------------------------------------------------------
 */
#include "twin.h"

TwinShare *
twin_share(const Twin *t, int scan, int space)
{
	return &t->share[scan * t->limits.spaces + space];
}

bool
twin_active(const Twin *t, int scan)
{
	const TwinScan *q = &t->scan[scan];

	return q->taken && q->started && !q->stalled;
}

int
twin_running(const Twin *t)
{
	int			sum = 0;

	for (int q = 0; q < t->limits.scans; q++)
	{
		if (twin_active(t, q))
			sum++;
	}
	return sum;
}

bool
twin_wants(const Twin *t, int scan, uint32_t chunk)
{
	return t->wants[(uint64_t) chunk * t->limits.scans + scan];
}

bool
twin_granted(const Twin *t, uint32_t chunk)
{
	return t->space[t->space_of[chunk]].access == MACHINE_GRANTED;
}

uint32_t
twin_piece(const Twin *t, uint32_t chunk, uint32_t b, uint32_t *end)
{
	const TwinSpace *p = &t->space[t->space_of[chunk]];
	uint32_t	piece = 0;

	if (p->ncolumns == 0)
	{
		piece = b / p->grain;
		*end = (piece + 1) * p->grain;
		return piece;
	}
	while (p->begin[piece + 1] <= b)
		piece++;
	*end = p->begin[piece + 1];
	return piece;
}

bool
twin_asks(const Twin *t, int scan, uint32_t chunk, uint32_t b)
{
	const TwinSpace *p = &t->space[t->space_of[chunk]];
	const TwinShare *share = twin_share(t, scan, t->space_of[chunk]);
	uint64_t	block = (uint64_t) (chunk - p->base) * p->size + b;

	if (!twin_wants(t, scan, chunk))
		return false;
	if (share->by_block)
		return block < share->nblocks && share->asked[block];
	if (p->ncolumns > 0)
	{
		uint32_t	end;

		return (t->scan[scan].columns >> twin_piece(t, chunk, b, &end)) & 1;
	}
	return block < p->known;
}

uint32_t
twin_length(const Twin *t, uint32_t chunk)
{
	const TwinSpace *p = &t->space[t->space_of[chunk]];
	uint32_t	n = 0;

	while (n < p->size && (uint64_t) (chunk - p->base) * p->size + n < p->known)
		n++;
	return n;
}

uint32_t
twin_cost(const Twin *t, int scan, uint32_t chunk)
{
	uint32_t	size = t->space[t->space_of[chunk]].size;
	uint32_t	sum = 0;

	for (uint32_t b = 0; b < size; b++)
	{
		if (twin_asks(t, scan, chunk, b))
			sum++;
	}
	return sum;
}

uint32_t
twin_columns_cost(const Twin *t, int space, uint64_t columns)
{
	const TwinSpace *p = &t->space[space];
	uint32_t	sum = 0;

	if (p->ncolumns == 0)
		return p->size;
	for (uint32_t c = 0; c < p->ncolumns; c++)
	{
		if (columns >> c & 1)
			sum += p->begin[c + 1] - p->begin[c];
	}
	return sum;
}

uint32_t
twin_load_size(const Twin *t, int scan)
{
	for (int p = 0; p < t->limits.spaces; p++)
	{
		if (twin_share(t, scan, p)->member)
			return twin_columns_cost(t, p, t->scan[scan].columns);
	}
	return 1;
}

bool
twin_overlap(const Twin *t, int a, int b)
{
	return (t->scan[a].special & t->scan[b].special) != 0;
}

const TwinScan *
twin_sum(Twin *t, int scan)
{
	TwinScan   *q = &t->scan[scan];

	if (q->summed)
		return q;
	q->summed = true;
	q->needed = q->nwanted = q->nloadable = 0;
	for (uint32_t c = 0; c < t->limits.chunks && q->started; c++)
	{
		if (!twin_wants(t, scan, c))
			continue;
		q->nwanted++;
		q->needed += twin_cost(t, scan, c);
		if (twin_granted(t, c))
			q->nloadable++;
	}
	return q;
}

/* Does the load of a slot bring all that the scan wants of its chunk? */
static bool
comes(const Twin *t, int scan, int slot)
{
	const TwinSlot *s = &t->slot[slot];

	for (uint32_t b = 0; b < t->space[t->space_of[s->chunk]].size; b++)
	{
		if (!s->due[b] && twin_asks(t, scan, s->chunk, b))
			return false;
	}
	return true;
}

TwinSight
twin_look(Twin *t, int scan)
{
	const TwinScan *q = twin_sum(t, scan);
	TwinSight	sight = {0};

	if (!q->started)
		return sight;
	if (q->reads != MACHINE_NONE)
		sight.using++;
	for (int h = 0; h < t->limits.helpers; h++)
	{
		if (!t->helper[h].taken || t->helper[h].scan != scan)
			continue;
		sight.helpers++;
		if (t->helper[h].reads != MACHINE_NONE)
			sight.using++;
	}
	sight.available = sight.using;
	for (int i = 0; i < t->limits.slots; i++)
	{
		if (!t->slot[i].taken || !twin_wants(t, scan, t->slot[i].chunk))
			continue;
		if (twin_usable(t, scan, i))
			sight.ready++;
		if (!twin_missing(t, scan, t->slot[i].chunk))
			sight.available++;
		if (t->slot[i].in_flight && !twin_usable(t, scan, i) && !comes(t, scan, i))
			sight.in_vain++;
	}
	sight.starved = twin_active(t, scan) && !q->warm && q->nwanted != 0 &&
		sight.available - sight.in_vain < 2 + sight.helpers;
	sight.lacks = sight.available - sight.using < q->nloadable;
	return sight;
}

bool
twin_usable(const Twin *t, int scan, int slot)
{
	const TwinSlot *s = &t->slot[slot];

	if (!s->taken || !twin_wants(t, scan, s->chunk))
		return false;
	for (uint32_t b = 0; b < t->space[t->space_of[s->chunk]].size && !s->failed; b++)
	{
		if (!s->here[b] && twin_asks(t, scan, s->chunk, b))
			return false;
	}
	return true;
}

bool
twin_missing(const Twin *t, int scan, uint32_t chunk)
{
	int			slot = t->slot_of[chunk];

	if (slot == MACHINE_NONE)
		return true;
	return !twin_usable(t, scan, slot) && !t->slot[slot].in_flight;
}

uint32_t
twin_round(const Twin *t, uint32_t place, uint32_t n)
{
	if (place >= t->limits.chunks)
		place = 0;
	return (place + n) % t->limits.chunks;
}

uint32_t
twin_next(const Twin *t, int scan, uint32_t place)
{
	for (uint32_t n = 0; n < t->limits.chunks; n++)
	{
		uint32_t	c = twin_round(t, place, n);

		if (twin_wants(t, scan, c))
			return c;
	}
	return MACHINE_NO_CHUNK;
}

int
twin_interest(const Twin *t, uint32_t chunk)
{
	int			sum = 0;

	for (int q = 0; q < t->limits.scans; q++)
	{
		if (twin_wants(t, q, chunk) && twin_active(t, q))
			sum++;
	}
	return sum;
}

uint32_t
twin_readers(const Twin *t, int slot)
{
	uint32_t	sum = 0;

	for (int q = 0; q < t->limits.scans; q++)
	{
		if (twin_active(t, q) && t->scan[q].reads == slot)
			sum++;
	}
	for (int h = 0; h < t->limits.helpers; h++)
	{
		const TwinHelper *helper = &t->helper[h];

		if (helper->taken && helper->reads == slot && twin_active(t, helper->scan))
			sum++;
	}
	return sum;
}

uint32_t
twin_blocks(const Twin *t, int slot)
{
	const TwinSlot *s = &t->slot[slot];
	uint32_t	sum = 0;

	for (uint32_t b = 0; s->taken && b < t->space[t->space_of[s->chunk]].size; b++)
		sum += s->due[b];
	return sum;
}

uint32_t
twin_all_blocks(const Twin *t, bool held)
{
	uint32_t	sum = 0;

	for (int i = 0; i < t->limits.slots; i++)
	{
		if (t->slot[i].held || !held)
			sum += twin_blocks(t, i);
	}
	return sum;
}
