/*-------------------------------------------------------------------------
 *
 * cscan.c
 *		Cooperative Scans for PostgreSQL: the module's table of contents.
 *
 * The settings that a session may always have are defined first.  The rest,
 * and everything that needs shared memory, exists only if
 * shared_preload_libraries loads the library.  Otherwise plans stay
 * PostgreSQL's own, and the functions say what to do.  Nothing here may raise
 * an error: pg_upgrade loads every library of the old cluster.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include "fmgr.h"
#include "utils/guc.h"

#include "abm/trace_file.h"
#include "cscan.h"
#include "fault.h"
#include "shared/registry.h"
#include "store/store.h"

PG_MODULE_MAGIC;

#if CSCAN_HAVE_DROP_BEHIND
#define DEFAULT_DROP_BEHIND	CSCAN_DROP_BEHIND_AUTO
#else
#define DEFAULT_DROP_BEHIND	CSCAN_DROP_BEHIND_OFF
#endif

/* The largest share that can be set.  An eighth of all buffers is never taken. */
#define MAX_BUFFER_SHARE	0.75

bool		cscan_enabled = true;
bool		cscan_columns_enabled = true;
bool		cscan_vectors_enabled = true;
int			cscan_policy = CSCAN_POLICY_RELEVANCE;
int			cscan_chunk_size = 4096;
double		cscan_buffer_share = 0.5;
int			cscan_drop_behind = DEFAULT_DROP_BEHIND;
int			cscan_min_table_size = -1;
int			cscan_max_scans = 128;
int			cscan_max_tables = 8192;
double		cscan_page_cost = CSCAN_AUTO;
int			cscan_columns_naptime = 15;
double		cscan_columns_share = 0.2;
double		cscan_columns_vacuum = 0.1;
int			cscan_time_slice = 10;
int			cscan_debug_take_ahead = 1;
bool		cscan_debug_small_scans = false;
bool		cscan_debug_copies = true;
int			cscan_debug_rest_after = 10000;
int			cscan_debug_few_groups = 16384;
bool		cscan_preloaded = false;

static char *page_cost_setting;
static char *buffer_share_setting;

static const struct config_enum_entry policy_options[] = {
#define POLICY_OPTION(id, name) {#name, CSCAN_POLICY_##id, false},
	CSCAN_POLICIES(POLICY_OPTION)
#undef POLICY_OPTION
	{NULL, 0, false}
};

/* auto, or a boolean in one of the forms that backslash_quote takes. */
static const struct config_enum_entry drop_behind_options[] = {
	{"auto", CSCAN_DROP_BEHIND_AUTO, false},
	{"on", CSCAN_DROP_BEHIND_ON, false},
	{"off", CSCAN_DROP_BEHIND_OFF, false},
	{"true", CSCAN_DROP_BEHIND_ON, true},
	{"false", CSCAN_DROP_BEHIND_OFF, true},
	{"yes", CSCAN_DROP_BEHIND_ON, true},
	{"no", CSCAN_DROP_BEHIND_OFF, true},
	{"1", CSCAN_DROP_BEHIND_ON, true},
	{"0", CSCAN_DROP_BEHIND_OFF, true},
	{NULL, 0, false}
};

void		_PG_init(void);

/*
 * Check a setting that is auto or a number from 0 to "most".  Its assign hook
 * gets the number, or CSCAN_AUTO.
 */
static bool
check_auto_or_number(const char *name, const char *text, double most, void **extra)
{
	double		value = CSCAN_AUTO;
	double	   *checked;

	if (pg_strcasecmp(text, "auto") != 0 &&
		(!parse_real(text, &value, 0, NULL) || !(value >= 0.0 && value <= most)))
	{
		GUC_check_errdetail("\"%s\" must be \"auto\" or a number from 0 to %g.", name, most);
		return false;
	}
	checked = cscan_guc_malloc(sizeof(double));
	if (checked == NULL)
		return false;
	*checked = value;
	*extra = checked;
	return true;
}

static bool
check_page_cost(char **newval, void **extra, GucSource source)
{
	(void) source;
	return check_auto_or_number("cscan.page_cost", *newval, 10.0, extra);
}

static void
assign_page_cost(const char *newval, void *extra)
{
	(void) newval;
	cscan_page_cost = *(double *) extra;
}

static bool
check_buffer_share(char **newval, void **extra, GucSource source)
{
	(void) source;
	return check_auto_or_number("cscan.buffer_share", *newval, MAX_BUFFER_SHARE, extra);
}

static void
assign_buffer_share(const char *newval, void *extra)
{
	(void) newval;
	cscan_buffer_share = *(double *) extra;
}

static bool
check_drop_behind(int *newval, void **extra, GucSource source)
{
	(void) extra;
	(void) source;
	if (*newval != CSCAN_DROP_BEHIND_OFF && !CSCAN_HAVE_DROP_BEHIND)
	{
		GUC_check_errdetail("\"cscan.drop_behind\" must be off on platforms that lack posix_fadvise() or mincore().");
		return false;
	}
	return true;
}

static void
complain_unless_preloaded(int elevel)
{
	if (!cscan_preloaded)
		ereport(elevel,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("cscan is not loaded by shared_preload_libraries"),
				 errhint("Add \"cscan\" to shared_preload_libraries, for example shared_preload_libraries = 'cscan' in postgresql.conf, and restart the server.")));
}

void
cscan_require_preload(void)
{
	complain_unless_preloaded(ERROR);
}

PG_FUNCTION_INFO_V1(cscan_warn_unless_preloaded);

/* Only the extension's script calls this. */
Datum
cscan_warn_unless_preloaded(PG_FUNCTION_ARGS)
{
	complain_unless_preloaded(WARNING);
	PG_RETURN_VOID();
}

static void
define_session_settings(void)
{
	DefineCustomBoolVariable("cscan.enabled",
							 "Lets cooperative scans replace sequential and bitmap scans.",
							 NULL,
							 &cscan_enabled,
							 true,
							 PGC_USERSET,
							 GUC_EXPLAIN,
							 NULL, NULL, NULL);
	DefineCustomBoolVariable("cscan.columns",
							 "Lets queries read indexes of access method cscan_columns in place of tables.",
							 NULL,
							 &cscan_columns_enabled,
							 true,
							 PGC_USERSET,
							 GUC_EXPLAIN,
							 NULL, NULL, NULL);
	DefineCustomBoolVariable("cscan.vectors",
							 "Lets conditions and aggregates work on many rows of a cooperative scan at a time.",
							 NULL,
							 &cscan_vectors_enabled,
							 true,
							 PGC_USERSET,
							 GUC_EXPLAIN,
							 NULL, NULL, NULL);
	DefineCustomEnumVariable("cscan.policy",
							 "Selects the policy that schedules this session's cooperative scans.",
							 NULL,
							 &cscan_policy,
							 CSCAN_POLICY_RELEVANCE,
							 policy_options,
							 PGC_USERSET,
							 GUC_EXPLAIN,
							 NULL, NULL, NULL);
	DefineCustomIntVariable("cscan.min_table_size",
							"Sets the size above which a table is scanned cooperatively.",
							"-1 stands for a quarter of shared_buffers. 0 admits every table.",
							&cscan_min_table_size,
							-1, -1, INT_MAX,
							PGC_USERSET,
							GUC_UNIT_KB | GUC_EXPLAIN,
							NULL, NULL, NULL);
	DefineCustomStringVariable("cscan.page_cost",
							   "Sets the planner's estimate of the cost of a page read by a cooperative scan.",
							   "The unit is seq_page_cost. \"auto\" follows what the scans of a table share.",
							   &page_cost_setting,
							   "auto",
							   PGC_USERSET,
							   GUC_EXPLAIN,
							   check_page_cost, assign_page_cost, NULL);
	DefineCustomIntVariable("cscan.time_slice",
							"Sets the time slice requested from Linux during a cooperative scan.",
							"Long slices let waking processes run sooner. 0 requests none.",
							&cscan_time_slice,
							10, 0, 100,
							PGC_USERSET,
							GUC_UNIT_MS,
							NULL, NULL, NULL);
}

static void
define_server_settings(void)
{
	DefineCustomIntVariable("cscan.chunk_size",
							"Sets the size of a chunk, the unit of scheduling and I/O.",
							"A small pool has smaller chunks, a very large table larger ones.",
							&cscan_chunk_size,
							4096, 64, 262144,
							PGC_POSTMASTER,
							GUC_UNIT_KB,
							NULL, NULL, NULL);
	DefineCustomStringVariable("cscan.buffer_share",
							   "Sets the share of shared_buffers that may hold pinned chunks.",
							   "\"auto\" follows the load. 0 turns cooperative scans off.",
							   &buffer_share_setting,
							   "0.5",
							   PGC_SIGHUP,
							   0,
							   check_buffer_share, assign_buffer_share, NULL);
	DefineCustomEnumVariable("cscan.drop_behind",
							 "Selects which chunks stay in the operating system's page cache.",
							 NULL,
							 &cscan_drop_behind,
							 DEFAULT_DROP_BEHIND,
							 drop_behind_options,
							 PGC_SIGHUP,
							 0,
							 check_drop_behind, NULL, NULL);
	DefineCustomIntVariable("cscan.columns_naptime",
							"Sets the time between visits of a database to keep its indexes of columns up to date.",
							"0 turns visits off.",
							&cscan_columns_naptime,
							15, 0, 86400,
							PGC_SIGHUP,
							GUC_UNIT_S,
							NULL, NULL, NULL);
	DefineCustomRealVariable("cscan.columns_share",
							 "Sets the share of its time that the worker for indexes of columns may be at work.",
							 NULL,
							 &cscan_columns_share,
							 0.2, 0.01, 1,
							 PGC_SIGHUP,
							 0,
							 NULL, NULL, NULL);
	DefineCustomRealVariable("cscan.columns_vacuum",
							 "Sets the share of blocks that are not all-visible above which a table with an index of columns is vacuumed.",
							 "1 turns that off.",
							 &cscan_columns_vacuum,
							 0.1, 0, 1,
							 PGC_SIGHUP,
							 0,
							 NULL, NULL, NULL);
	DefineCustomIntVariable("cscan.max_scans",
							"Sets the number of cooperative scans that can be registered at one time.",
							"A further scan takes the place of an idle one, or runs as a plain scan.",
							&cscan_max_scans,
							128, 1, 10000,
							PGC_POSTMASTER,
							0,
							NULL, NULL, NULL);
	DefineCustomIntVariable("cscan.max_tables",
							"Sets the number of tables that can be scanned cooperatively at one time.",
							"Each partition counts. A query that needs more scans its partitions one after the other.",
							&cscan_max_tables,
							8192, 16, 1048576,
							PGC_POSTMASTER,
							0,
							NULL, NULL, NULL);
	DefineCustomIntVariable("cscan.debug_take_ahead",
							"Sets the minimum number of resident chunks that a scan takes at once.",
							NULL,
							&cscan_debug_take_ahead,
							1, 1, CSCAN_MAX_AHEAD,
							PGC_SUSET,
							GUC_NOT_IN_SAMPLE,
							NULL, NULL, NULL);
	DefineCustomBoolVariable("cscan.debug_small_scans",
							 "Registers scans of a single chunk, and every scan from its first page on.",
							 NULL,
							 &cscan_debug_small_scans,
							 false,
							 PGC_SUSET,
							 GUC_NOT_IN_SAMPLE,
							 NULL, NULL, NULL);
	DefineCustomBoolVariable("cscan.debug_copies",
							 "Lets scans copy from the page cache what no other scan wants.",
							 NULL,
							 &cscan_debug_copies,
							 true,
							 PGC_SUSET,
							 GUC_NOT_IN_SAMPLE,
							 NULL, NULL, NULL);
	DefineCustomIntVariable("cscan.debug_few_groups",
							"Sets the number of row groups up to which all free pages of an index of columns are found each time.",
							NULL,
							&cscan_debug_few_groups,
							16384, 0, INT_MAX,
							PGC_SIGHUP,
							GUC_NOT_IN_SAMPLE,
							NULL, NULL, NULL);
	DefineCustomIntVariable("cscan.debug_rest_after",
							"Sets the time without a load after which chunks of a table are not pinned.",
							NULL,
							&cscan_debug_rest_after,
							10000, 0, INT_MAX,
							PGC_SIGHUP,
							GUC_NOT_IN_SAMPLE | GUC_UNIT_MS,
							NULL, NULL, NULL);
	cscan_trace_file_define_setting();
	cscan_fault_init();
}

void
_PG_init(void)
{
	define_session_settings();
	if (process_shared_preload_libraries_in_progress)
		define_server_settings();
	MarkGUCPrefixReserved("cscan");

	/* Any process may write to a table that has an index of columns. */
	cscan_store_init();

	/* Any process may get a plan with a CScan in it. */
	cscan_exec_init();
	cscan_input_init();
	cscan_aggregate_init();

	if (!process_shared_preload_libraries_in_progress || IsBinaryUpgrade)
		return;

	cscan_preloaded = true;
	cscan_shared_init();
	cscan_lock_init();
	cscan_tables_init();
	cscan_registry_init();
	cscan_planner_init();
	cscan_exec_init_families();
	cscan_abm_init();
	cscan_upkeep_init();
}
