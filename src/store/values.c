/*-------------------------------------------------------------------------
 *
 * values.c
 *		A type's values as integers or strings, and back.
 *
 * Types passed by value are integers: their Datums.  A varlena is a string,
 * its bytes without the header, since a value's header may be short or long.
 * A type of fixed length is a string of that length.
 *
 * Numerics are integers as long as all of a run have the same display scale
 * and fit into 64 bits: 12.50 is 1250 at scale 2.  With the first one that is
 * otherwise, all of the run become strings.  Each one is converted back when
 * it is added, and must give the same bytes.  What numerics look like on disk
 * is part of PostgreSQL's file format (utils/adt/numeric.c).
 *
 *-------------------------------------------------------------------------
 */
#include "store.h"

#include "access/detoast.h"
#include "access/tupmacs.h"
#include "catalog/pg_type.h"
#include "utils/lsyscache.h"

#include "columns/codec.h"

/* Numerics on disk */
#define NUMERIC_SHORT			0x8000
#define NUMERIC_SPECIAL			0xC000
#define NUMERIC_SHORT_NEGATIVE	0x2000
#define NUMERIC_SHORT_SCALE		0x1F80
#define NUMERIC_SHORT_SCALE_BIT	7
#define NUMERIC_SHORT_WEIGHT	0x003F
#define NUMERIC_SHORT_SIGN		0x0040	/* of the weight */
#define NUMERIC_BASE			10000
#define NUMERIC_MAX_INTEGER_SCALE	18
#define NUMERIC_MAX_DIGITS		11	/* of a scaled integer: 5 before the
									 * point, 5 behind it, and 1 */
#define FEW_DIGITS				4	/* their number fits into an integer */
#define NUMERIC_MAX_BYTES		((NUMERIC_MAX_DIGITS + 1) * sizeof(int16))

static const int64 power_of_10[] = {
	1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000, 1000000000,
	INT64CONST(10000000000), INT64CONST(100000000000), INT64CONST(1000000000000), INT64CONST(10000000000000),
	INT64CONST(100000000000000), INT64CONST(1000000000000000), INT64CONST(10000000000000000),
	INT64CONST(100000000000000000), INT64CONST(1000000000000000000)
};

static bool
is_ordered(Oid type)
{
	switch (getBaseType(type))
	{
		case BOOLOID:
		case INT2OID:
		case INT4OID:
		case INT8OID:
		case CASHOID:
		case DATEOID:
		case TIMEOID:
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
		case NUMERICOID:
			return true;
		default:
			return false;
	}
}

/*
 * Add up digits whose sum cannot overflow.  "exponent" is that of ten by which the last
 * one has to be multiplied.  The last digit may reach beyond the scale: with zeros.
 */
static inline bool
sum_digits(const char *digits, uint32 ndigits, int exponent, int64 *sum)
{
	uint64		value = 0;
	uint64		scaled;

	for (uint32 i = 0; i < ndigits; i++)
	{
		int16		digit;

		memcpy(&digit, digits + i * sizeof(int16), sizeof(digit));
		value = value * NUMERIC_BASE + digit;
	}
	if (exponent >= 0 || ndigits == 0)
	{
		*sum = ndigits == 0 ? 0 : value * power_of_10[exponent];
		return true;
	}
	/* Divisions by constants are multiplications. */
	switch (exponent)
	{
		case -1:
			scaled = value / 10;
			break;
		case -2:
			scaled = value / 100;
			break;
		case -3:
			scaled = value / 1000;
			break;
		default:
			return false;
	}
	*sum = scaled;
	return scaled * power_of_10[-exponent] == value;
}

/* Get the integer that a numeric of this scale is. */
static inline bool
numeric_to_integer(const char *bytes, uint32 length, int *scale, int64 *integer)
{
	uint16		header;
	int			weight;
	int			exponent;
	bool		negative;
	uint32		ndigits;
	uint64		sum = 0;

	memcpy(&header, bytes, sizeof(header));
	if ((header & NUMERIC_SPECIAL) == NUMERIC_SPECIAL)
		return false;			/* NaN, infinity */
	if (!(header & NUMERIC_SHORT))
		return false;			/* a scale or weight beyond what an integer
								 * holds */
	*scale = (header & NUMERIC_SHORT_SCALE) >> NUMERIC_SHORT_SCALE_BIT;
	weight = header & NUMERIC_SHORT_WEIGHT;
	if (header & NUMERIC_SHORT_SIGN)
		weight |= ~NUMERIC_SHORT_WEIGHT;
	negative = header & NUMERIC_SHORT_NEGATIVE;
	bytes += sizeof(uint16);
	ndigits = (length - sizeof(uint16)) / sizeof(int16);
	if (*scale > NUMERIC_MAX_INTEGER_SCALE || ndigits > NUMERIC_MAX_DIGITS)
		return false;
	/* Most have few digits. */
	if (likely(ndigits <= FEW_DIGITS && 4 * (weight + 1) + *scale <= NUMERIC_MAX_INTEGER_SCALE))
	{
		int64		few;

		if (!sum_digits(bytes, ndigits, 4 * (weight + 1 - (int) ndigits) + *scale, &few))
			return false;
		*integer = negative ? -few : few;
		return true;
	}

	for (uint32 i = 0; i < ndigits; i++)
	{
		int16		digit;

		memcpy(&digit, bytes + i * sizeof(int16), sizeof(digit));
		exponent = 4 * (weight - (int) i) + *scale;
		/* The last digit may reach beyond the scale: with zeros. */
		if (exponent >= 0)
		{
			if (exponent > NUMERIC_MAX_INTEGER_SCALE ||
				(uint64) digit > (uint64) PG_INT64_MAX / power_of_10[exponent])
				return false;
			sum += (uint64) digit * power_of_10[exponent];
		}
		else if (exponent > -4 && digit % power_of_10[-exponent] == 0)
			sum += digit / power_of_10[-exponent];
		else
			return false;
		if (sum > (uint64) PG_INT64_MAX)
			return false;
	}
	*integer = negative ? -(int64) sum : (int64) sum;
	return true;
}

/* The numeric that it was; returns the length of its bytes. */
static uint32
integer_to_numeric(int64 integer, int scale, char *bytes)
{
	int16		digits[NUMERIC_MAX_DIGITS];
	uint64		left = integer < 0 ? -(uint64) integer : (uint64) integer;
	uint64		fraction = left % power_of_10[scale];
	int			nfraction = (scale + 3) / 4;
	int			n = NUMERIC_MAX_DIGITS;
	int			first;
	int			weight;
	uint16		header;

	left /= power_of_10[scale];
	/* Groups of four digits, from the last one on; that one may be short. */
	for (int have = (scale + 3) % 4 + 1; n > NUMERIC_MAX_DIGITS - nfraction; have = 4)
	{
		digits[--n] = fraction % power_of_10[have] * power_of_10[4 - have];
		fraction /= power_of_10[have];
	}
	while (left > 0)
	{
		digits[--n] = left % NUMERIC_BASE;
		left /= NUMERIC_BASE;
	}
	first = n;
	n = NUMERIC_MAX_DIGITS;
	weight = n - first - nfraction - 1;
	while (first < n && digits[first] == 0)
	{
		first++;
		weight--;
	}
	while (n > first && digits[n - 1] == 0)
		n--;
	if (first == n)
		weight = 0;

	header = NUMERIC_SHORT | (integer < 0 ? NUMERIC_SHORT_NEGATIVE : 0) | (scale << NUMERIC_SHORT_SCALE_BIT) |
		(weight < 0 ? NUMERIC_SHORT_SIGN : 0) | (weight & NUMERIC_SHORT_WEIGHT);
	memcpy(bytes, &header, sizeof(header));
	memcpy(bytes + sizeof(header), digits + first, (n - first) * sizeof(int16));
	return sizeof(header) + (n - first) * sizeof(int16);
}

void
cscan_values_init(CScanValues *values, Form_pg_attribute attribute, MemoryContext context)
{
	memset(values, 0, sizeof(CScanValues));
	values->typlen = sizeof(int32);
	values->typbyval = true;
	if (attribute != NULL)
	{
		values->typlen = attribute->attlen;
		values->typbyval = attribute->attbyval;
		values->ordered = is_ordered(attribute->atttypid);
		values->is_numeric = getBaseType(attribute->atttypid) == NUMERICOID;
	}
	values->context = context;
	cscan_values_reset(values);
}

void
cscan_values_reset(CScanValues *values)
{
	values->storage = values->typbyval ? CSCAN_STORAGE_BYVAL :
		values->is_numeric ? CSCAN_STORAGE_NUMERIC :
		values->typlen == -1 ? CSCAN_STORAGE_VARLENA :
		values->typlen == -2 ? CSCAN_STORAGE_CSTRING : CSCAN_STORAGE_FIXED;
	values->scale = -1;
	values->n = 0;
	values->nnulls = 0;
	values->nbytes = 0;
}

static void *
grow(CScanValues *values, void *array, size_t size)
{
	if (array == NULL)
		return MemoryContextAllocExtended(values->context, size, MCXT_ALLOC_HUGE);
	return repalloc_huge(array, size);
}

static bool
are_integers(const CScanValues *values)
{
	return values->storage == CSCAN_STORAGE_BYVAL || values->storage == CSCAN_STORAGE_NUMERIC;
}

static void
add_room(CScanValues *values)
{
	values->room = values->room == 0 ? 8 * 1024 : 2 * values->room;
	values->nulls = grow(values, values->nulls, values->room / 8);
	/* Numerics may be the one now and the other in the next group. */
	if (are_integers(values) || values->is_numeric)
		values->integers = grow(values, values->integers, values->room * sizeof(int64));
	if (!are_integers(values) || values->is_numeric)
	{
		values->offsets = grow(values, values->offsets, values->room * sizeof(uint32));
		values->lengths = grow(values, values->lengths, values->room * sizeof(uint32));
	}
}

static void
set_string(CScanValues *values, uint32 row, const char *bytes, uint32 length)
{
	while (values->nbytes + length > values->bytes_room)
	{
		values->bytes_room = values->bytes_room == 0 ? 256 * 1024 : 2 * values->bytes_room;
		values->bytes = grow(values, values->bytes, values->bytes_room);
	}
	if (length > 0)
		memcpy(values->bytes + values->nbytes, bytes, length);
	values->offsets[row] = values->nbytes;
	values->lengths[row] = length;
	values->nbytes += length;
}

/* A numeric has come that is no integer of this scale. */
static void
give_up_integers(CScanValues *values)
{
	char		bytes[NUMERIC_MAX_BYTES];

	values->storage = CSCAN_STORAGE_VARLENA;
	for (uint32 i = 0; i < values->n; i++)
	{
		if (cscan_is_null(values->nulls, i))
			set_string(values, i, NULL, 0);
		else
			set_string(values, i, bytes, integer_to_numeric(values->integers[i], values->scale, bytes));
	}
}

int64
cscan_values_integer_of_datum(Datum value, int16 typlen)
{
	switch (typlen)
	{
		case 1:
			return (int8) DatumGetChar(value);
		case 2:
			return DatumGetInt16(value);
		case 4:
			return DatumGetInt32(value);
		default:
			return (int64) value;
	}
}

bool
cscan_values_scaled_numeric(Datum value, int *scale, int64 *integer)
{
	struct varlena *varlena = pg_detoast_datum_packed((struct varlena *) DatumGetPointer(value));
	bool		ok;

	ok = numeric_to_integer(VARDATA_ANY(varlena), VARSIZE_ANY_EXHDR(varlena), scale, integer);
	if (PointerGetDatum(varlena) != value)
		pfree(varlena);
	return ok;
}

int64
cscan_values_power_of_10(int exponent)
{
	return power_of_10[exponent];
}

uint32
cscan_values_numeric_bytes(int64 integer, int scale, char *bytes)
{
	StaticAssertStmt(CSCAN_NUMERIC_BYTES >= NUMERIC_MAX_BYTES, "the bytes of a numeric have room");
	for (; scale > 0 && integer % 10 == 0; scale--)
		integer /= 10;
	return integer_to_numeric(integer, scale, bytes);
}

bool
cscan_values_scaled_numerics(const Datum *values, const bool *isnull, const uint16 *rows, uint32 n, int scale,
							 int64 *integers, int64 *minimum, int64 *maximum)
{
	int64		least = PG_INT64_MAX;
	int64		most = PG_INT64_MIN;

	for (uint32 i = 0; i < n; i++)
	{
		uint16		row = rows[i];
		const char *varlena = DatumGetPointer(values[row]);
		int64		integer;
		int			has;

		if (isnull && isnull[row])
			continue;
		if (likely(VARATT_IS_SHORT(varlena) && !VARATT_IS_EXTERNAL(varlena)))
		{
			if (!numeric_to_integer(VARDATA_SHORT(varlena), VARSIZE_SHORT(varlena) - VARHDRSZ_SHORT, &has, &integer))
				return false;
		}
		else if (!cscan_values_scaled_numeric(values[row], &has, &integer))
			return false;
		if (has != scale)
			return false;
		integers[row] = integer;
		least = Min(least, integer);
		most = Max(most, integer);
	}
	*minimum = least;
	*maximum = most;
	return true;
}

static bool
add_numeric(CScanValues *values, const char *bytes, uint32 length)
{
	char		again[NUMERIC_MAX_BYTES];
	int			scale;
	int64		integer;

	if (!numeric_to_integer(bytes, length, &scale, &integer))
		return false;
	if (values->scale >= 0 && values->scale != scale)
		return false;
	if (integer_to_numeric(integer, scale, again) != length || memcmp(again, bytes, length) != 0)
		return false;
	values->scale = scale;
	values->integers[values->n] = integer;
	return true;
}

void
cscan_values_add(CScanValues *values, Datum value, bool isnull)
{
	uint32		row = values->n;
	struct varlena *varlena;
	const char *bytes;
	uint32		length;

	if (row == values->room)
		add_room(values);
	if (row % 64 == 0)
		values->nulls[row / 64] = 0;
	if (isnull)
	{
		values->nulls[row / 64] |= UINT64CONST(1) << (row % 64);
		values->nnulls++;
		if (are_integers(values))
			values->integers[row] = 0;
		else
			set_string(values, row, NULL, 0);
		values->n++;
		return;
	}
	switch (values->storage)
	{
		case CSCAN_STORAGE_BYVAL:
			values->integers[row] = cscan_values_integer_of_datum(value, values->typlen);
			break;
		case CSCAN_STORAGE_FIXED:
			set_string(values, row, DatumGetPointer(value), values->typlen);
			break;
		case CSCAN_STORAGE_CSTRING:
			set_string(values, row, DatumGetPointer(value), strlen(DatumGetCString(value)) + 1);
			break;
		case CSCAN_STORAGE_NUMERIC:
		case CSCAN_STORAGE_VARLENA:
			varlena = pg_detoast_datum_packed((struct varlena *) DatumGetPointer(value));

			bytes = VARDATA_ANY(varlena);
			length = VARSIZE_ANY_EXHDR(varlena);
			if (values->storage == CSCAN_STORAGE_NUMERIC && !add_numeric(values, bytes, length))
				give_up_integers(values);
			if (values->storage == CSCAN_STORAGE_VARLENA)
				set_string(values, row, bytes, length);
			if (PointerGetDatum(varlena) != value)
				pfree(varlena);
			break;
	}
	values->n++;
}

void
cscan_values_truncate(CScanValues *values, uint32 n)
{
	if (n >= values->n)
		return;
	if (!are_integers(values))
		values->nbytes = values->offsets[n];
	for (uint32 row = n; row < values->n; row++)
	{
		if (cscan_is_null(values->nulls, row))
			values->nnulls--;
	}
	if (n % 64 != 0)
		values->nulls[n / 64] &= (UINT64CONST(1) << (n % 64)) - 1;
	values->n = n;
}

bool
cscan_values_too_large(const CScanValues *values, Datum value)
{
	return values->typlen == -1 && toast_raw_datum_size(value) > CSCAN_STORE_MAX_VALUE;
}

bool
cscan_values_is_external(const CScanValues *values, Datum value)
{
	return values->typlen == -1 && VARATT_IS_EXTERNAL(DatumGetPointer(value));
}

void
cscan_values_input(CScanValues *values, CScanEncoding codec, CScanColumnInput *input)
{
	memset(input, 0, sizeof(CScanColumnInput));
	input->kind = are_integers(values) ? CSCAN_COLUMN_INTEGERS : CSCAN_COLUMN_STRINGS;
	input->nvalues = values->n;
	input->nulls = values->nnulls > 0 ? values->nulls : NULL;
	input->codec = codec;
	if (input->kind == CSCAN_COLUMN_INTEGERS)
		input->integers = values->integers;
	else
	{
		const void **strings = palloc_extended(Max(values->n, 1) * sizeof(void *), MCXT_ALLOC_HUGE);

		for (uint32 i = 0; i < values->n; i++)
			strings[i] = values->bytes + values->offsets[i];
		input->strings = strings;
		input->lengths = values->lengths;
	}
}

bool
cscan_values_is_scale(int scale)
{
	return scale >= 0 && scale <= NUMERIC_MAX_INTEGER_SCALE;
}

/* Room for one numeric */
#define NUMERIC_ROOM	MAXALIGN(VARHDRSZ + NUMERIC_MAX_BYTES)

size_t
cscan_values_integers_room(CScanStorage storage, uint32 n)
{
	return storage == CSCAN_STORAGE_NUMERIC ? n * NUMERIC_ROOM : 0;
}

void
cscan_values_from_integers(int16 typlen, CScanStorage storage, int scale, const int64 *integers, uint32 n,
						   char *room, Datum *values)
{
	if (storage == CSCAN_STORAGE_NUMERIC)
	{
		for (uint32 i = 0; i < n; i++, room += NUMERIC_ROOM)
		{
			SET_VARSIZE(room, VARHDRSZ + integer_to_numeric(integers[i], scale, VARDATA(room)));
			values[i] = PointerGetDatum(room);
		}
		return;
	}
	switch (typlen)
	{
		case 1:
			for (uint32 i = 0; i < n; i++)
				values[i] = CharGetDatum((char) integers[i]);
			break;
		case 2:
			for (uint32 i = 0; i < n; i++)
				values[i] = Int16GetDatum((int16) integers[i]);
			break;
		case 4:
			for (uint32 i = 0; i < n; i++)
				values[i] = Int32GetDatum((int32) integers[i]);
			break;
		default:
			for (uint32 i = 0; i < n; i++)
				values[i] = (Datum) integers[i];
			break;
	}
}

size_t
cscan_values_strings_room(const uint32 *lengths, uint32 n)
{
	size_t		room = 0;

	for (uint32 i = 0; i < n; i++)
		room += MAXALIGN(VARHDRSZ + lengths[i]);
	return room;
}

void
cscan_values_from_strings(CScanStorage storage, const uint8 *const *strings, const uint32 *lengths, uint32 n,
						  char *room, Datum *values)
{
	for (uint32 i = 0; i < n; i++)
	{
		values[i] = PointerGetDatum(room);
		if (storage == CSCAN_STORAGE_VARLENA)
		{
			SET_VARSIZE(room, VARHDRSZ + lengths[i]);
			memcpy(VARDATA(room), strings[i], lengths[i]);
		}
		else
			memcpy(room, strings[i], lengths[i]);
		room += MAXALIGN(VARHDRSZ + lengths[i]);
	}
}

CScanEncoding
cscan_values_default_codec(void)
{
	return cscan_codec_known(CSCAN_ENCODING_ZSTD) ? CSCAN_ENCODING_ZSTD :
		cscan_codec_known(CSCAN_ENCODING_LZ4) ? CSCAN_ENCODING_LZ4 : CSCAN_ENCODING_NONE;
}
