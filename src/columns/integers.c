/*-------------------------------------------------------------------------
 *
 * integers.c
 *		See integers.h.
 *
 *-------------------------------------------------------------------------
 */
#include "integers.h"

void
cscan_integers_plan(CScanIntegersPlan *plan, const int64_t *integers, uint32_t n, const uint64_t *nulls,
					void *memory)
{
	CScanSource *source = &plan->series.source;
	size_t		size;

	memset(plan, 0, sizeof(*plan));
	source->n = n;
	source->integers = integers;
	source->nulls = nulls;
	cscan_source_measure(source, true);
	cscan_series_plan(&plan->series);
	plan->encoding = plan->series.encoding;
	plan->size = plan->series.size;
	if (plan->encoding == CSCAN_ENCODING_CONSTANT)
	{
		plan->ndistinct = 1;
		return;
	}

	plan->width = cscan_entry_bytes((uint64_t) cscan_source_number(source, source->maximum) -
									(uint64_t) cscan_source_number(source, source->minimum));
	cscan_distinct_integers(&plan->distinct, source, memory, plan->width, plan->size);
	if (!plan->distinct.complete)
		return;
	plan->ndistinct = plan->distinct.count;
	cscan_dictionary_plan_codes(&plan->codes, &plan->distinct, n);
	size = cscan_dictionary_integers_size(&plan->distinct, plan->width) + plan->codes.size;
	if (size >= plan->size)
		return;
	plan->encoding = CSCAN_ENCODING_DICTIONARY;
	plan->size = size;
}

uint8_t *
cscan_integers_write(const CScanIntegersPlan *plan, uint8_t *out)
{
	if (plan->encoding != CSCAN_ENCODING_DICTIONARY)
		return cscan_series_write(&plan->series, out);
	out = cscan_dictionary_write_integers(&plan->distinct, &plan->series.source, plan->width, out);
	return cscan_series_write(&plan->codes, out);
}

bool
cscan_integers_open(CScanIntegers *integers, CScanEncoding encoding, uint32_t n, CScanCursor *cursor)
{
	const uint8_t *head = cursor->at;

	integers->encoding = encoding;
	integers->n = n;
	if (encoding == CSCAN_ENCODING_DICTIONARY)
		return cscan_dictionary_open(&integers->dictionary, CSCAN_COLUMN_INTEGERS, n, cursor);
	if (!cscan_series_open(&integers->series, n, cursor))
		return false;
	return integers->series.encoding == encoding ||
		cscan_damaged(cursor->damage, CSCAN_DAMAGE_SERIES, cursor->run, head);
}

bool
cscan_integers_read(const CScanIntegers *integers, uint32_t vector, int64_t *values, CScanDamage *damage)
{
	uint32_t	n = cscan_vector_values(integers->n, vector);

	if (integers->encoding != CSCAN_ENCODING_DICTIONARY)
		return cscan_series_read(&integers->series, vector, values, damage);
	if (!cscan_dictionary_codes(&integers->dictionary, vector, values, damage))
		return false;
	cscan_dictionary_integers(&integers->dictionary, values, n, values);
	return true;
}
