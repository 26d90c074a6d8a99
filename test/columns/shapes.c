/*-------------------------------------------------------------------------
 *
 * shapes.c
 *		Columns like those of TPC-H's lineitem in the order of l_shipdate, and
 *		some that are hard.
 *
 * Amounts are in cents, as a numeric(15, 2) is mapped.  Dates are days.
 *
 *-------------------------------------------------------------------------
 */
#include "harness.h"

/* Days in the seven years of shipments, and rows a day at scale 1. */
#define DAYS	2526
#define PER_DAY	2376

/* The day when returns ended (1995-06-17). */
#define RETURNS_END	1260

typedef int64_t (*Integer) (uint32_t i, Random *random);

static Column *
integers(uint32_t n, Integer integer)
{
	Column	   *column = column_create(CSCAN_COLUMN_INTEGERS, n);
	Random		random = {1};

	for (uint32_t i = 0; i < n; i++)
		column->integers[i] = integer(i, &random);
	return column;
}

static int64_t
ship_day(uint32_t i)
{
	return 1230 + i / PER_DAY;
}

static int64_t
quantity(uint32_t i, Random *random)
{
	(void) i;
	return 100 * (1 + (int64_t) random_below(random, 50));
}

static int64_t
extended_price(uint32_t i, Random *random)
{
	int64_t		part = 1 + random_below(random, 200000);

	(void) i;
	return (1 + random_below(random, 50)) * (90000 + part / 10 % 20001 + 100 * (part % 1000));
}

static int64_t
discount(uint32_t i, Random *random)
{
	(void) i;
	return random_below(random, 11);
}

static int64_t
ship_date(uint32_t i, Random *random)
{
	(void) random;
	return ship_day(i);
}

static int64_t
receipt_date(uint32_t i, Random *random)
{
	return ship_day(i) + 1 + random_below(random, 30);
}

static int64_t
order_key(uint32_t i, Random *random)
{
	(void) i;
	return 1 + random_below(random, 6000000);
}

/* In the order of the table's own key: 1 to 7 lines an order. */
static int64_t
sorted_order_key(uint32_t i, Random *random)
{
	static int64_t key;

	if (i == 0)
		key = 1;
	else if (random_chance(random, 25))
		key += key % 8 == 7 ? 25 : 1;
	return key;
}

static int64_t
supplier(uint32_t i, Random *random)
{
	(void) i;
	return 1 + random_below(random, 10000);
}

/* Microseconds, rising, some at a time. */
static int64_t
event_time(uint32_t i, Random *random)
{
	static int64_t time;

	time = i == 0 ? INT64_C(700000000000000) : time + random_below(random, 2000000);
	return time;
}

static int64_t
serial(uint32_t i, Random *random)
{
	(void) random;
	return 1000000 + (int64_t) i;
}

static int64_t
small_runs(uint32_t i, Random *random)
{
	static int64_t value;

	if (i == 0 || random_chance(random, 12))
		value = (int64_t) (random_next(random) >> 30);
	return value;
}

static int64_t
few_floats(uint32_t i, Random *random)
{
	double		value = random_below(random, 2000) * 0.37;
	int64_t		bits;

	(void) i;
	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

static int64_t
many_entries(uint32_t i, Random *random)
{
	Random		value = {random_below(random, 20000)};

	(void) i;
	return (int64_t) random_next(&value);
}

static int64_t
anything(uint32_t i, Random *random)
{
	(void) i;
	return (int64_t) random_next(random);
}

/* ------------------------------------------------------------------
 * Strings
 * ------------------------------------------------------------------ */

static Column *
chosen(uint32_t n, const char *const *strings, uint32_t nstrings)
{
	Column	   *column = column_create(CSCAN_COLUMN_STRINGS, n);
	Random		random = {1};

	for (uint32_t i = 0; i < n; i++)
	{
		const char *string = strings[random_below(&random, nstrings)];

		column_set_string(column, i, string, (uint32_t) strlen(string));
	}
	return column;
}

static Column *
return_flag(uint32_t n, CScanEncoding codec)
{
	Column	   *column = column_create(CSCAN_COLUMN_STRINGS, n);
	Random		random = {1};

	(void) codec;
	for (uint32_t i = 0; i < n; i++)
	{
		bool		late = ship_day(i) + 1 + random_below(&random, 30) > RETURNS_END;

		column_set_string(column, i, late ? "N" : random_chance(&random, 50) ? "R" : "A", 1);
	}
	return column;
}

static Column *
line_status(uint32_t n, CScanEncoding codec)
{
	Column	   *column = column_create(CSCAN_COLUMN_STRINGS, n);

	(void) codec;
	for (uint32_t i = 0; i < n; i++)
		column_set_string(column, i, ship_day(i) > RETURNS_END ? "O" : "F", 1);
	return column;
}

static Column *
ship_mode(uint32_t n, CScanEncoding codec)
{
	static const char *const modes[] = {"REG AIR", "AIR", "RAIL", "SHIP", "TRUCK", "MAIL", "FOB"};

	(void) codec;
	return chosen(n, modes, 7);
}

static Column *
ship_instructions(uint32_t n, CScanEncoding codec)
{
	static const char *const instructions[] = {"DELIVER IN PERSON", "COLLECT COD", "NONE", "TAKE BACK RETURN"};

	(void) codec;
	return chosen(n, instructions, 4);
}

/* A piece of 10 to 43 bytes out of a long text, as dbgen makes it. */
static Column *
comment(uint32_t n, CScanEncoding codec)
{
	static const char *const words[] = {
		"furiously", "quickly", "carefully", "blithely", "slyly", "ironic", "final", "bold", "regular", "express",
		"pending", "special", "even", "silent", "packages", "requests", "accounts", "deposits", "foxes", "ideas",
		"theodolites", "instructions", "dependencies", "excuses", "platelets", "asymptotes", "courts", "dolphins",
		"sleep", "wake", "are", "cajole", "haggle", "nag", "use", "boost", "affix", "detect", "integrate", "about",
		"above", "according to", "across", "after", "against", "along", "among", "around", "the", "pinto beans."
	};
	static char text[1 << 20];
	Column	   *column = column_create(CSCAN_COLUMN_STRINGS, n);
	Random		random = {1};
	size_t		filled = 0;

	while (filled < sizeof(text) - 20)
	{
		const char *word = words[random_below(&random, sizeof(words) / sizeof(words[0]))];

		memcpy(text + filled, word, strlen(word));
		filled += strlen(word);
		text[filled++] = ' ';
	}
	column->input.codec = codec;
	for (uint32_t i = 0; i < n; i++)
		column_set_string(column, i, text + random_below(&random, (uint32_t) filled - 50), 10 + random_below(&random, 34));
	return column;
}

static Column *
uuid(uint32_t n, CScanEncoding codec)
{
	Column	   *column = column_create(CSCAN_COLUMN_STRINGS, n);
	Random		random = {1};

	column->input.codec = codec;
	for (uint32_t i = 0; i < n; i++)
	{
		uint64_t	bytes[2] = {random_next(&random), random_next(&random)};

		column_set_string(column, i, bytes, sizeof(bytes));
	}
	return column;
}

/* A shape of integers. */
#define INTEGERS(function) \
static Column * \
make_##function(uint32_t n, CScanEncoding codec) \
{ \
	(void) codec; \
	return integers(n, function); \
}

INTEGERS(quantity)
INTEGERS(extended_price)
INTEGERS(discount)
INTEGERS(ship_date)
INTEGERS(receipt_date)
INTEGERS(order_key)
INTEGERS(sorted_order_key)
INTEGERS(supplier)
INTEGERS(event_time)
INTEGERS(serial)
INTEGERS(small_runs)
INTEGERS(few_floats)
INTEGERS(many_entries)
INTEGERS(anything)

/* One in ten is null. */
static Column *
discount_nulls(uint32_t n, CScanEncoding codec)
{
	Column	   *column = make_discount(n, codec);
	Random		random = {2};

	for (uint32_t i = 0; i < n; i++)
	{
		if (random_chance(&random, 10))
			column_set_null(column, i);
	}
	return column;
}

const Shape shapes[] = {
	{"quantity", "l_quantity: 1.00 to 50.00", make_quantity, false},
	{"extendedprice", "l_extendedprice", make_extended_price, false},
	{"discount", "l_discount: 0.00 to 0.10", make_discount, false},
	{"discount-nulls", "l_discount, a tenth of it null", discount_nulls, false},
	{"shipdate", "l_shipdate, sorted", make_ship_date, false},
	{"receiptdate", "l_receiptdate", make_receipt_date, false},
	{"orderkey", "l_orderkey", make_order_key, false},
	{"orderkey-sorted", "l_orderkey, sorted", make_sorted_order_key, false},
	{"suppkey", "l_suppkey", make_supplier, false},
	{"returnflag", "l_returnflag: three strings", return_flag, false},
	{"linestatus", "l_linestatus: two, one after the other", line_status, false},
	{"shipmode", "l_shipmode: seven strings", ship_mode, false},
	{"shipinstruct", "l_shipinstruct: four strings", ship_instructions, false},
	{"comment", "l_comment: text", comment, true},
	{"timestamps", "rising timestamps", make_event_time, false},
	{"serial", "a sequence", make_serial, false},
	{"runs", "runs of 8 values", make_small_runs, false},
	{"floats", "2,000 floats", make_few_floats, false},
	{"entries", "20,000 numbers far apart", make_many_entries, false},
	{"random", "random integers", make_anything, false},
	{"uuid", "uuids", uuid, true},
	{NULL, NULL, NULL, false}
};
