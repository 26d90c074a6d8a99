/*-------------------------------------------------------------------------
 *
 * bench_main.c
 *		Bytes a value, and millions of values a second, of columns like TPC-H's
 *		(shapes.c); of all of them, or of those that are named.
 *
 * A run is planned and written, then opened and decoded vector by vector, five
 * times or more; the best time counts.  It is CPU time of this process.
 *
 *-------------------------------------------------------------------------
 */
#include "harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "codec.h"

static double
cpu_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double) now.tv_sec + 1e-9 * (double) now.tv_nsec;
}

/* Keeps what was decoded from being optimised away. */
static volatile uint64_t sink;

static void
encode(const Column *column, void *memory, CScanColumnPlan *plan, uint8_t *out)
{
	cscan_column_plan(plan, &column->input, memory);
	cscan_column_write(plan, out);
}

static void
decode(const uint8_t *bytes, size_t size, void *scratch)
{
	static int64_t integers[CSCAN_VECTOR];
	static const uint8_t *strings[CSCAN_VECTOR];
	static uint32_t lengths[CSCAN_VECTOR];
	CScanColumnRun run;
	CScanDamage damage;
	bool		good = cscan_column_open(&run, bytes, size, &damage);

	cscan_column_use_scratch(&run, scratch);
	for (uint32_t v = 0; v < cscan_column_vectors(&run) && good; v++)
	{
		if (run.header.kind == CSCAN_COLUMN_INTEGERS)
		{
			good = cscan_column_integers(&run, v, integers, &damage);
			sink += (uint64_t) integers[v % CSCAN_VECTOR];
		}
		else
		{
			good = cscan_column_strings(&run, v, strings, lengths, &damage);
			sink += lengths[v % CSCAN_VECTOR];
		}
	}
	if (!good)
		abort();
}

static void
measure(const Shape *shape, uint32_t n, CScanEncoding codec)
{
	Column	   *column = shape->make(n, codec);
	void	   *memory = malloc(cscan_column_memory(&column->input));
	void	   *scratch;
	uint8_t    *out;
	CScanColumnPlan plan;
	CScanColumnRun run;
	CScanDamage damage;
	double		encoding = 1e9;
	double		decoding = 1e9;
	double		spent = 0;

	cscan_column_plan(&plan, &column->input, memory);
	out = malloc(plan.size);
	cscan_column_write(&plan, out);
	if (!cscan_column_open(&run, out, plan.size, &damage))
		abort();
	scratch = malloc(run.scratch_size);
	for (int i = 0; i < 5 || spent < 0.3; i++)
	{
		double		start = cpu_seconds();
		double		written;
		double		read;

		encode(column, memory, &plan, out);
		written = cpu_seconds();
		decode(out, plan.size, scratch);
		read = cpu_seconds();
		encoding = written - start < encoding ? written - start : encoding;
		decoding = read - written < decoding ? read - written : decoding;
		spent += read - start;
	}
	printf("%-40s %-10s %9.3f %9.0f %9.0f\n", shape->what, encoding_name(plan.header.encoding),
		   (double) plan.size / n, n / encoding / 1e6, n / decoding / 1e6);
	fflush(stdout);
	free(out);
	free(memory);
	free(scratch);
	column_free(column);
}

int
main(int argc, char **argv)
{
	uint32_t	n = (uint32_t) setting("VALUES", 120000);

	printf("%u values\n%-40s %-10s %9s %9s %9s\n", n, "column", "encoding", "bytes", "M/s in", "M/s out");
	for (const Shape *shape = shapes; shape->name != NULL; shape++)
	{
		bool		wanted = argc < 2;

		for (int a = 1; a < argc; a++)
			wanted |= strcmp(argv[a], shape->name) == 0;
		for (CScanEncoding codec = CSCAN_ENCODING_LZ4; wanted && codec <= CSCAN_ENCODING_ZSTD; codec++)
		{
			if (shape->has_codecs ? cscan_codec_known(codec) : codec == CSCAN_ENCODING_ZSTD)
				measure(shape, n, codec);
		}
	}
	return 0;
}
