/*-------------------------------------------------------------------------
 *
 * main.c
 *		The simulator's command line: see usage() below, and README.md.
 *
 *-------------------------------------------------------------------------
 */
#include "report.h"
#include "trace_file.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#define MB	(1024.0 * 1024.0)

/* Of a table. */
#define MAX_PARTITIONS	65536

typedef struct Options
{
	SimConfig	config;
	Workload	work;
	int			npolicies;
	int			policies[CSCAN_NPOLICIES + 1];
	uint64_t	seed;
	int			runs;
	bool		csv;
	bool		kinds;
	double		pool_chunks;	/* < 0: as set in config */
	const char *plan_file;
	const char *write_plan;
	const char *queries_file;
	const char *trace_file;
} Options;

#define NAME_OF_POLICY(id, name) #name ", "

static void
usage(FILE *file)
{
	fputs("usage: sim [option ...]\n"
		  "Runs queries on a simulated server and prints what its statistics would say.  The defaults are Table 2 of the\n"
		  "paper at the scale of scripts/bench: 16 streams, 1 s apart, of scans of 1, 10, 50 and 100 % of 879 MB.\n"
		  "\n"
		  "  --policy LIST       of "CSCAN_POLICIES(NAME_OF_POLICY)"mixed; or all (the default): all but mixed\n"
		  "  --seed N            of the queries (default 1); --runs N: so many seeds, one after the other (default 1)\n"
		  "\n"
		  "what is asked\n"
		  "  --work NAME         ranges16-mix (default), ranges16-fast, fast10, mix10, cold1: as in scripts/bench\n"
		  "  --streams N         --stagger SECONDS between their starts\n"
		  "  --queries N         of a stream, sizes drawn at random (default: one of each size, in any order)\n"
		  "  --rate N            open loop: so many queries arrive in a second, at random; --queries of them\n"
		  "  --sizes LIST        percent of the table, such as 1,10,50,100\n"
		  "  --fast-columns abc,bcd    of an index of columns: what FAST queries read, one of these sets each (default: all)\n"
		  "  --slow-columns abc,bcd    likewise of SLOW queries; --common LETTERS: what all read besides\n"
		  "  --speeds LETTERS    F and S: as many FAST and SLOW queries as there are letters of each\n"
		  "  --full LETTERS      full scans, one a stream, in this order, such as FSFSFSFSFS\n"
		  "  --ranges N          a query's blocks lie in so many ranges (default 1)\n"
		  "  --leaves PERCENT    so many of the queries read one partition instead, all of it (default 0)\n"
		  "  --fast US, --slow US    CPU time for a block (default 8, 38)\n"
		  "  --plan FILE         the queries of this file (one a line: stream start speed first end ..., see workload.h)\n"
		  "  --write-plan FILE   write the queries of the first seed as such a file\n"
		  "\n"
		  "the server\n"
		  "  --table SIZE        of each table; --tables N (default 879MB, 1)\n"
		  "  --partitions N      each table is a family of so many partitions (default 1: a table)\n"
		  "  --columns N,N,...   each table is an index of columns: blocks of each in a chunk, at most 26\n"
		  "  --chunk SIZE        cscan.chunk_size (default 4MB)\n"
		  "  --buffers SIZE      shared_buffers: the pool pins a half of it and fills 7/8 (default 192MB)\n"
		  "  --pool CHUNKS       instead: the pool pins so many chunks, and has room for no more\n"
		  "  --budget SIZE, --room SIZE    instead: what it pins, what it fills\n"
		  "  --page-cache SIZE   of the kernel (default 0: none); --drop-behind auto, or off: what comes there (default auto)\n"
		  "  --cores N           (default 2); --others N: processes of others that always want one (default 0)\n"
		  "  --bandwidth MBPS    of the disk (default 200); --slice MS, --own-bandwidth MBPS: a limit for each such slice of time,\n"
		  "                      in which the disk is so quick (default 0: none; and 1000)\n"
		  "  --latency US        of a request (default 100); --seek US: of a run that does not follow the last (default 0)\n"
		  "  --depth N           loads in flight (default 2)\n"
		  "  --wake US           that a wake-up takes (default 50); --manager-wake US: the manager's (default 0)\n"
		  "  --load-cpu US       CPU time of the manager for a block (default 0)\n"
		  "  --chunk-cpu US      CPU time of a scan for each chunk as such; --wait-cpu US: where it has waited for it (default 0)\n"
		  "  --max-scans N       cscan.max_scans (default 128); further scans read for themselves\n"
		  "\n"
		  "what is printed\n"
		  "  --csv               comma-separated values\n"
		  "  --kinds             also a line for each speed and size of query\n"
		  "  --each FILE         a line for each query, as CSV\n"
		  "  --trace FILE        a trace as the server writes it (doc/trace.md), of one policy and seed\n"
		  "  --no-bound          no lower bound of the loads (saves memory in very long runs)\n"
		  "  --check N           check everything after each N events (default 512; 0: only what is cheap)\n", file);
}

static void
fail(const char *what, const char *which)
{
	fprintf(stderr, "sim: %s: %s (see sim --help)\n", what, which);
	exit(2);
}

static double
get_number(const char *text, double min, double max, const char *option)
{
	char	   *end;
	double		value = strtod(text, &end);

	if (end == text || *end != '\0' || !(value >= min && value <= max))
		fail("not a number that is possible here", option);
	return value;
}

/* "4MB", "300kB", "2GB", or a number of blocks; in blocks. */
static uint32_t
get_size(const char *text, const char *option)
{
	char	   *end;
	double		value = strtod(text, &end);

	if (strcmp(end, "kB") == 0)
		value *= 1024.0 / BLOCK_BYTES;
	else if (strcmp(end, "MB") == 0)
		value *= MB / BLOCK_BYTES;
	else if (strcmp(end, "GB") == 0)
		value *= 1024 * MB / BLOCK_BYTES;
	else if (*end != '\0')
		fail("not a size (300kB, 4MB, 2GB, or a number of blocks)", option);
	if (end == text || !(value >= 0 && value <= 4e9))
		fail("not a size that is possible here", option);
	return (uint32_t) value;
}

static void
set_policies(Options *options, const char *list)
{
	char	   *copy = strdup(list);

	options->npolicies = 0;
	if (strcmp(list, "all") == 0)
	{
		for (int i = 0; i < CSCAN_NPOLICIES; i++)
			options->policies[options->npolicies++] = i;
		free(copy);
		return;
	}
	for (char *word = strtok(copy, ","); word != NULL; word = strtok(NULL, ","))
	{
		int			i = 0;

		while (i <= CSCAN_NPOLICIES && strcmp(policy_label(i), word) != 0)
			i++;
		if (i > CSCAN_NPOLICIES || options->npolicies > CSCAN_NPOLICIES)
			fail("no such policy", word);
		options->policies[options->npolicies++] = i;
	}
	free(copy);
}

static void
set_sizes(Workload *work, const char *list)
{
	char	   *copy = strdup(list);

	work->nsizes = 0;
	for (char *word = strtok(copy, ","); word != NULL && work->nsizes < PLAN_MAX_SIZES; word = strtok(NULL, ","))
		work->sizes[work->nsizes++] = get_number(word, 0.0001, 100, "--sizes");
	free(copy);
	if (work->nsizes == 0)
		fail("no sizes", "--sizes");
}

static void
set_columns(SimConfig *config, const char *list)
{
	char	   *copy = strdup(list);
	CScanLayout *layout = &config->columns;

	layout->ncolumns = 0;
	for (char *word = strtok(copy, ","); word != NULL && layout->ncolumns < 26; word = strtok(NULL, ","))
	{
		layout->begin[layout->ncolumns + 1] = layout->begin[layout->ncolumns] +
			(uint32_t) get_number(word, 1, 100000, "--columns");
		layout->ncolumns++;
	}
	free(copy);
	if (layout->ncolumns == 0)
		fail("no columns", "--columns");
	config->chunk_blocks = cscan_layout_blocks(layout);
	config->log = false;
}

/* "abc,bcd": sets of columns by their letters */
static void
set_sets(Workload *work, PlanSpeed speed, const char *list)
{
	char	   *copy = strdup(list);

	work->nsets[speed] = 0;
	for (char *word = strtok(copy, ","); word != NULL && work->nsets[speed] < PLAN_MAX_SETS; word = strtok(NULL, ","))
	{
		uint64_t	columns = plan_columns(word);

		if (columns == 0)
			fail("not letters of columns, from a on", list);
		work->sets[speed][work->nsets[speed]++] = columns;
	}
	free(copy);
}

static void
set_speeds(Workload *work, const char *letters)
{
	size_t		n = strlen(letters);

	if (n == 0 || n >= sizeof(work->speeds) || strspn(letters, "FS") != n)
		fail("letters F and S were expected", letters);
	strcpy(work->speeds, letters);
}

static void
set_full(Workload *work, const char *letters)
{
	set_speeds(work, letters);
	work->streams = (int) strlen(letters);
	work->in_order = true;
	work->nsizes = 1;
	work->sizes[0] = 100;
}

static void
set_work(Workload *work, const char *name)
{
	if (strcmp(name, "ranges16-mix") == 0)
		set_speeds(work, "FS");
	else if (strcmp(name, "ranges16-fast") == 0)
		set_speeds(work, "F");
	else if (strcmp(name, "fast10") == 0)
		set_full(work, "FFFFFFFFFF");
	else if (strcmp(name, "mix10") == 0)
		set_full(work, "FSFSFSFSFS");
	else if (strcmp(name, "cold1") == 0)
		set_full(work, "F");
	else
		fail("no such work", name);
}

enum
{
	OPT_HELP = 256, OPT_POLICY, OPT_SEED, OPT_RUNS, OPT_WORK, OPT_STREAMS, OPT_STAGGER, OPT_QUERIES, OPT_RATE, OPT_SIZES,
	OPT_SPEEDS, OPT_COLUMNS, OPT_FAST_COLUMNS, OPT_SLOW_COLUMNS, OPT_COMMON, OPT_FULL, OPT_RANGES, OPT_LEAVES, OPT_FAST, OPT_SLOW, OPT_PLAN, OPT_WRITE_PLAN, OPT_TABLE, OPT_TABLES, OPT_PARTITIONS, OPT_CHUNK,
	OPT_BUFFERS, OPT_POOL, OPT_BUDGET, OPT_ROOM, OPT_PAGE_CACHE, OPT_DROP_BEHIND, OPT_CORES, OPT_OTHERS, OPT_BANDWIDTH, OPT_OWN_BANDWIDTH, OPT_SLICE, OPT_LATENCY,
	OPT_SEEK, OPT_DEPTH,
	OPT_WAKE, OPT_MANAGER_WAKE, OPT_LOAD_CPU, OPT_CHUNK_CPU, OPT_WAIT_CPU, OPT_MAX_SCANS, OPT_CSV, OPT_KINDS, OPT_EACH, OPT_NO_BOUND, OPT_CHECK, OPT_TRACE
};

static const struct option long_options[] = {
	{"help", no_argument, NULL, OPT_HELP},
	{"policy", required_argument, NULL, OPT_POLICY},
	{"seed", required_argument, NULL, OPT_SEED},
	{"runs", required_argument, NULL, OPT_RUNS},
	{"work", required_argument, NULL, OPT_WORK},
	{"streams", required_argument, NULL, OPT_STREAMS},
	{"stagger", required_argument, NULL, OPT_STAGGER},
	{"queries", required_argument, NULL, OPT_QUERIES},
	{"rate", required_argument, NULL, OPT_RATE},
	{"sizes", required_argument, NULL, OPT_SIZES},
	{"speeds", required_argument, NULL, OPT_SPEEDS},
	{"columns", required_argument, NULL, OPT_COLUMNS},
	{"fast-columns", required_argument, NULL, OPT_FAST_COLUMNS},
	{"slow-columns", required_argument, NULL, OPT_SLOW_COLUMNS},
	{"common", required_argument, NULL, OPT_COMMON},
	{"full", required_argument, NULL, OPT_FULL},
	{"ranges", required_argument, NULL, OPT_RANGES},
	{"leaves", required_argument, NULL, OPT_LEAVES},
	{"fast", required_argument, NULL, OPT_FAST},
	{"slow", required_argument, NULL, OPT_SLOW},
	{"plan", required_argument, NULL, OPT_PLAN},
	{"write-plan", required_argument, NULL, OPT_WRITE_PLAN},
	{"table", required_argument, NULL, OPT_TABLE},
	{"tables", required_argument, NULL, OPT_TABLES},
	{"partitions", required_argument, NULL, OPT_PARTITIONS},
	{"chunk", required_argument, NULL, OPT_CHUNK},
	{"buffers", required_argument, NULL, OPT_BUFFERS},
	{"pool", required_argument, NULL, OPT_POOL},
	{"budget", required_argument, NULL, OPT_BUDGET},
	{"room", required_argument, NULL, OPT_ROOM},
	{"page-cache", required_argument, NULL, OPT_PAGE_CACHE},
	{"drop-behind", required_argument, NULL, OPT_DROP_BEHIND},
	{"cores", required_argument, NULL, OPT_CORES},
	{"others", required_argument, NULL, OPT_OTHERS},
	{"bandwidth", required_argument, NULL, OPT_BANDWIDTH},
	{"own-bandwidth", required_argument, NULL, OPT_OWN_BANDWIDTH},
	{"slice", required_argument, NULL, OPT_SLICE},
	{"latency", required_argument, NULL, OPT_LATENCY},
	{"seek", required_argument, NULL, OPT_SEEK},
	{"depth", required_argument, NULL, OPT_DEPTH},
	{"wake", required_argument, NULL, OPT_WAKE},
	{"manager-wake", required_argument, NULL, OPT_MANAGER_WAKE},
	{"load-cpu", required_argument, NULL, OPT_LOAD_CPU},
	{"chunk-cpu", required_argument, NULL, OPT_CHUNK_CPU},
	{"wait-cpu", required_argument, NULL, OPT_WAIT_CPU},
	{"max-scans", required_argument, NULL, OPT_MAX_SCANS},
	{"csv", no_argument, NULL, OPT_CSV},
	{"kinds", no_argument, NULL, OPT_KINDS},
	{"each", required_argument, NULL, OPT_EACH},
	{"trace", required_argument, NULL, OPT_TRACE},
	{"no-bound", no_argument, NULL, OPT_NO_BOUND},
	{"check", required_argument, NULL, OPT_CHECK},
	{NULL, 0, NULL, 0}
};

/* An option that says what is asked; false if it is none. */
static bool
set_workload_option(Options *options, int option, const char *name)
{
	Workload   *work = &options->work;

	switch (option)
	{
		case OPT_WORK:
			set_work(work, optarg);
			return true;
		case OPT_STREAMS:
			work->streams = (int) get_number(optarg, 1, 1000000, name);
			return true;
		case OPT_STAGGER:
			work->stagger = (uint64_t) (get_number(optarg, 0, 1e9, name) * 1e6);
			return true;
		case OPT_QUERIES:
			work->queries = (int) get_number(optarg, 1, 10000000, name);
			return true;
		case OPT_RATE:
			work->rate = get_number(optarg, 1e-6, 1e6, name);
			return true;
		case OPT_SIZES:
			set_sizes(work, optarg);
			return true;
		case OPT_SPEEDS:
			set_speeds(work, optarg);
			return true;
		case OPT_FULL:
			set_full(work, optarg);
			return true;
		case OPT_FAST_COLUMNS:
			set_sets(work, PLAN_FAST, optarg);
			return true;
		case OPT_SLOW_COLUMNS:
			set_sets(work, PLAN_SLOW, optarg);
			return true;
		case OPT_RANGES:
			work->pieces = (uint32_t) get_number(optarg, 1, CSCAN_MAX_RANGES, name);
			return true;
		case OPT_LEAVES:
			work->leaves = (uint32_t) get_number(optarg, 0, 100, name);
			return true;
		case OPT_FAST:
			work->block_cpu[PLAN_FAST] = get_number(optarg, 0, 1e9, name);
			return true;
		case OPT_SLOW:
			work->block_cpu[PLAN_SLOW] = get_number(optarg, 0, 1e9, name);
			return true;
		case OPT_PLAN:
			options->plan_file = optarg;
			return true;
		case OPT_WRITE_PLAN:
			options->write_plan = optarg;
			return true;
		default:
			return false;
	}
}

/* One that says what the server is; false if it is none. */
static bool
set_server_option(Options *options, int option, const char *name)
{
	SimConfig  *config = &options->config;

	switch (option)
	{
		case OPT_TABLE:
			config->table_blocks[0] = get_size(optarg, name);
			return true;
		case OPT_TABLES:
			config->ntables = (int) get_number(optarg, 1, PLAN_MAX_TABLES, name);
			return true;
		case OPT_PARTITIONS:
			config->partitions = (uint32_t) get_number(optarg, 1, MAX_PARTITIONS, name);
			return true;
		case OPT_CHUNK:
			config->chunk_blocks = get_size(optarg, name);
			return true;
		case OPT_COLUMNS:
			set_columns(config, optarg);
			return true;
		case OPT_COMMON:
			config->common = plan_columns(optarg);
			if (config->common == 0)
				fail("not letters of columns, from a on", optarg);
			return true;
		case OPT_BUFFERS:
			config->budget = get_size(optarg, name) / 2;
			config->room = (uint32_t) ((uint64_t) get_size(optarg, name) * 7 / 8);
			return true;
		case OPT_POOL:
			options->pool_chunks = get_number(optarg, 1, 1e7, name);
			return true;
		case OPT_BUDGET:
			config->budget = get_size(optarg, name);
			return true;
		case OPT_ROOM:
			config->room = get_size(optarg, name);
			return true;
		case OPT_PAGE_CACHE:
			config->page_cache = get_size(optarg, name);
			return true;
		case OPT_DROP_BEHIND:
			config->drop_behind = strcmp(optarg, "auto") == 0;
			if (!config->drop_behind && strcmp(optarg, "off") != 0)
				fail("neither auto nor off", name);
			return true;
		case OPT_CORES:
			config->cores = (int) get_number(optarg, 1, 100000, name);
			return true;
		case OPT_OTHERS:
			config->others = get_number(optarg, 0, 100000, name);
			return true;
		case OPT_BANDWIDTH:
			config->bandwidth = get_number(optarg, 0.001, 1e9, name) * MB;
			return true;
		case OPT_OWN_BANDWIDTH:
			config->own_bandwidth = get_number(optarg, 0.001, 1e9, name) * MB;
			return true;
		case OPT_SLICE:
			config->slice = (uint64_t) (get_number(optarg, 0, 1e6, name) * 1000);
			return true;
		case OPT_LATENCY:
			config->latency = (uint64_t) get_number(optarg, 0, 1e9, name);
			return true;
		case OPT_SEEK:
			config->seek = (uint64_t) get_number(optarg, 0, 1e9, name);
			return true;
		case OPT_DEPTH:
			config->depth = (int) get_number(optarg, 1, 1000, name);
			return true;
		case OPT_WAKE:
			config->wake = (uint64_t) get_number(optarg, 0, 1e9, name);
			return true;
		case OPT_MANAGER_WAKE:
			config->manager_wake = (uint64_t) get_number(optarg, 0, 1e9, name);
			return true;
		case OPT_LOAD_CPU:
			config->load_cpu = get_number(optarg, 0, 1e9, name);
			return true;
		case OPT_CHUNK_CPU:
			config->chunk_cpu = get_number(optarg, 0, 1e9, name);
			return true;
		case OPT_WAIT_CPU:
			config->wait_cpu = get_number(optarg, 0, 1e9, name);
			return true;
		case OPT_MAX_SCANS:
			config->max_scans = (int) get_number(optarg, 1, 1000000, name);
			return true;
		default:
			return false;
	}
}

static void
set_other_option(Options *options, int option, const char *name)
{
	switch (option)
	{
		case OPT_HELP:
			usage(stdout);
			exit(0);
		case OPT_POLICY:
			set_policies(options, optarg);
			break;
		case OPT_SEED:
			options->seed = (uint64_t) get_number(optarg, 0, 1e15, name);
			break;
		case OPT_RUNS:
			options->runs = (int) get_number(optarg, 1, 1e6, name);
			break;
		case OPT_CSV:
			options->csv = true;
			break;
		case OPT_KINDS:
			options->kinds = true;
			break;
		case OPT_EACH:
			options->queries_file = optarg;
			break;
		case OPT_TRACE:
			options->trace_file = optarg;
			break;
		case OPT_NO_BOUND:
			options->config.log = false;
			break;
		case OPT_CHECK:
			options->config.check_every = (uint64_t) get_number(optarg, 0, 1e15, name);
			break;
		default:
			usage(stderr);
			exit(2);
	}
}

static void
get_options(Options *options, int argc, char **argv)
{
	SimConfig  *config = &options->config;
	Workload   *work = &options->work;
	int			option;
	int			which = 0;

	memset(options, 0, sizeof(*options));
	sim_defaults(config, work);
	set_policies(options, "all");
	options->seed = 1;
	options->runs = 1;
	options->pool_chunks = -1;
	while ((option = getopt_long(argc, argv, "", long_options, &which)) != -1)
	{
		const char *name = option == '?' ? "" : long_options[which].name;

		if (!set_workload_option(options, option, name) && !set_server_option(options, option, name))
			set_other_option(options, option, name);
	}
	if (options->trace_file != NULL && (options->npolicies != 1 || options->runs != 1))
		fail("a trace is of one policy and one seed", "--trace");
	if (optind < argc)
		fail("what is this", argv[optind]);

	if (config->table_blocks[0] == 0 || config->chunk_blocks == 0)
		fail("not possible", "a table or a chunk without blocks");
	if (config->columns.ncolumns > 0)
	{
		if (config->page_cache > 0)
			fail("an index of columns has no page cache here", "--page-cache");
		config->table_blocks[0] -= config->table_blocks[0] % (config->chunk_blocks * config->partitions);
		if (config->table_blocks[0] == 0)
			fail("a table has no whole chunk", "--table");
		work->grain = config->chunk_blocks;
	}
	if (options->pool_chunks > 0)
		config->budget = config->room = (uint32_t) (options->pool_chunks * config->chunk_blocks);
	if (config->budget < 8)
		fail("too small", "the pool");
	if (config->room < config->budget)
		config->room = config->budget;
	for (int i = 1; i < config->ntables; i++)
		config->table_blocks[i] = config->table_blocks[0];
	if (config->partitions > config->table_blocks[0])
		fail("not possible", "a partition without blocks");
	work->ntables = config->ntables;
	work->partitions = config->partitions;
	memcpy(work->table_blocks, config->table_blocks, sizeof(work->table_blocks));
	if (work->rate > 0 && work->queries == 0)
		work->queries = 1000;
}

static FILE *
open_file(const char *name, const char *mode)
{
	FILE	   *file;

	if (strcmp(name, "-") == 0)
		return *mode == 'r' ? stdin : stdout;
	file = fopen(name, mode);
	if (file == NULL)
		fail("cannot open the file", name);
	return file;
}

static void
close_file(FILE *file, const char *name)
{
	if (file == NULL || file == stdin || file == stdout)
		return;
	if (fclose(file) != 0)
		fail("cannot write the file", name);
}

static Plan *
get_plan(const Options *options, uint64_t seed)
{
	char		error[200];
	Plan	   *plan;
	FILE	   *file;

	if (options->plan_file == NULL)
		return plan_draw(&options->work, seed);
	file = open_file(options->plan_file, "r");
	plan = plan_read(file, &options->work, error, sizeof(error));
	close_file(file, options->plan_file);
	if (plan == NULL)
		fail(options->plan_file, error);
	return plan;
}

/* All policies with the plan of one seed.  False if an invariant was violated. */
static bool
run_seed(const Options *options, uint64_t seed, FILE *each)
{
	Plan	   *plan = get_plan(options, seed);
	double	   *alone = report_alone(&options->config, plan);
	bool		passed = true;

	if (options->write_plan != NULL && seed == options->seed)
	{
		FILE	   *file = open_file(options->write_plan, "w");

		plan_write(file, plan);
		close_file(file, options->write_plan);
	}
	for (int i = 0; i < options->npolicies && passed; i++)
	{
		SimConfig	config = options->config;
		Sim		   *sim;
		Report		report;

		config.policy = options->policies[i];
		sim = sim_create(&config, plan);
		if (options->trace_file != NULL)
			trace_file_begin(sim, open_file(options->trace_file, "wb"));
		passed = sim_run(sim);
		if (options->trace_file != NULL && !trace_file_end(sim))
			fail("cannot write the file", options->trace_file);
		report = report_make(sim, seed, alone);
		report_print(stdout, &report, options->csv);
		if (options->kinds)
			report_kinds(stdout, sim, alone, options->csv);
		if (each != NULL)
			report_queries(each, sim, seed, alone);
		if (!passed)
			fprintf(stderr, "sim: seed %llu, %s: %s\n", (unsigned long long) seed, report.policy, sim->wrong);
		sim_free(sim);
	}
	free(alone);
	plan_free(plan);
	return passed;
}

int
main(int argc, char **argv)
{
	Options		options;
	FILE	   *each = NULL;
	bool		passed = true;

	get_options(&options, argc, argv);
	if (options.queries_file != NULL)
	{
		each = open_file(options.queries_file, "w");
		fprintf(each, "seed,policy,stream,speed,table,first,blocks,start_s,latency_s,alone_s,waits,wait_s\n");
	}
	report_heading(stdout, options.csv);
	for (int i = 0; i < options.runs && passed; i++)
		passed = run_seed(&options, options.seed + i, each);
	close_file(each, options.queries_file);
	return passed ? 0 : 1;
}
