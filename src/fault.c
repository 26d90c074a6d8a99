/*-------------------------------------------------------------------------
 *
 * fault.c
 *		Places where tests can make something go wrong; fault.h says how.
 *
 *-------------------------------------------------------------------------
 */
#include "compat.h"

#include <signal.h>

#include "postmaster/interrupt.h"
#include "storage/latch.h"
#include "utils/guc.h"

#include "fault.h"

/* How often a waiting process looks up, and how long a delay is (ms). */
#define WAIT_ROUND	10

typedef enum CScanFaultAction
{
	CSCAN_FAULT_ERROR,
	CSCAN_FAULT_MEMORY,
	CSCAN_FAULT_FATAL,
	CSCAN_FAULT_KILL,
	CSCAN_FAULT_WAIT,
	CSCAN_FAULT_DELAY
} CScanFaultAction;

static const char *const places[] = {
	[CSCAN_FAULT_NONE] = "",
	[CSCAN_FAULT_BEGIN] = "begin",
	[CSCAN_FAULT_BITMAP] = "bitmap",
	[CSCAN_FAULT_REGISTER] = "register",
	[CSCAN_FAULT_REGISTERED] = "registered",
	[CSCAN_FAULT_JOIN] = "join",
	[CSCAN_FAULT_ASLEEP] = "asleep",
	[CSCAN_FAULT_CHUNK] = "chunk",
	[CSCAN_FAULT_PAGE] = "page",
	[CSCAN_FAULT_AHEAD] = "ahead",
	[CSCAN_FAULT_RESCAN] = "rescan",
	[CSCAN_FAULT_LEAVE] = "leave",
	[CSCAN_FAULT_LEFT] = "left",
	[CSCAN_FAULT_STORE_BEGUN] = "store-begun",
	[CSCAN_FAULT_STORE_BLOCK] = "store-block",
	[CSCAN_FAULT_STORE_WRITTEN] = "store-written",
	[CSCAN_FAULT_STORE_PUBLISHED] = "store-published",
	[CSCAN_FAULT_STORE_LOOK] = "store-look",
	[CSCAN_FAULT_STORE_ENTRY] = "store-entry",
	[CSCAN_FAULT_STORE_READ] = "store-read",
	[CSCAN_FAULT_ABM_START] = "abm-start",
	[CSCAN_FAULT_ABM_LOCKED] = "abm-locked",
	[CSCAN_FAULT_ABM_START_LOAD] = "abm-start-load",
	[CSCAN_FAULT_ABM_READ] = "abm-read",
	[CSCAN_FAULT_ABM_LOADED] = "abm-loaded",
	[CSCAN_FAULT_ABM_DROP] = "abm-drop",
	[CSCAN_FAULT_ABM_UNLOCK] = "abm-unlock",
};

static const char *const actions[] = {
	[CSCAN_FAULT_ERROR] = "error",
	[CSCAN_FAULT_MEMORY] = "memory",
	[CSCAN_FAULT_FATAL] = "fatal",
	[CSCAN_FAULT_KILL] = "kill",
	[CSCAN_FAULT_WAIT] = "wait",
	[CSCAN_FAULT_DELAY] = "delay",
};

int			cscan_fault_place = CSCAN_FAULT_NONE;
static char *debug_fault;
static CScanFaultAction fault_action;
static int	fault_number;		/* 0: each time */
static int	fault_count;		/* how often the place was reached */

/* Returns the index of a word; -1 if it is none of them. */
static int
find_word(const char *word, const char *const *words, int nwords)
{
	for (int i = 0; i < nwords; i++)
	{
		if (strcmp(word, words[i]) == 0)
			return i;
	}
	return -1;
}

static bool
parse(const char *value, int *place, int *action, int *number)
{
	char		place_name[32];
	char		action_name[32];
	char		number_text[16];
	char		rest;
	int			nwords;

	*place = CSCAN_FAULT_NONE;
	*action = CSCAN_FAULT_ERROR;
	*number = 0;
	if (value[0] == '\0')
		return true;
	nwords = sscanf(value, "%31s %31s %15s %c", place_name, action_name, number_text, &rest);
	if (nwords != 2 && nwords != 3)
		return false;
	if (nwords == 3)
		*number = atoi(number_text);
	if (*number < nwords - 2)
		return false;
	*place = find_word(place_name, places, lengthof(places));
	*action = find_word(action_name, actions, lengthof(actions));
	return *place > CSCAN_FAULT_NONE && *action >= 0;
}

static bool
check_debug_fault(char **newval, void **extra, GucSource source)
{
	int			place;
	int			action;
	int			number;

	(void) extra;
	(void) source;
	if (parse(*newval, &place, &action, &number))
		return true;
	GUC_check_errdetail("It must be a place, an action, and perhaps a number, such as \"chunk error 3\".");
	return false;
}

static void
assign_debug_fault(const char *newval, void *extra)
{
	int			action;

	(void) extra;
	(void) parse(newval, &cscan_fault_place, &action, &fault_number);
	fault_action = (CScanFaultAction) action;
	fault_count = 0;
}

void
cscan_fault_reached(void)
{
	const char *place = places[cscan_fault_place];

	if (++fault_count != fault_number && fault_number > 0)
		return;
	switch (fault_action)
	{
		case CSCAN_FAULT_ERROR:
			ereport(ERROR,
					(errcode(ERRCODE_INTERNAL_ERROR),
					 errmsg("injected error at \"%s\"", place)));
			break;
		case CSCAN_FAULT_MEMORY:
			ereport(ERROR,
					(errcode(ERRCODE_OUT_OF_MEMORY),
					 errmsg("out of memory"),
					 errdetail("Injected at \"%s\".", place)));
			break;
		case CSCAN_FAULT_FATAL:
			ereport(FATAL,
					(errcode(ERRCODE_INTERNAL_ERROR),
					 errmsg("injected fatal error at \"%s\"", place)));
			break;
		case CSCAN_FAULT_KILL:
			kill(MyProcPid, SIGKILL);
			break;
		case CSCAN_FAULT_WAIT:
			ereport(LOG, (errmsg("process %d waits at \"%s\"", MyProcPid, place)));
			while (!ConfigReloadPending)
			{
				CHECK_FOR_INTERRUPTS();
				pg_usleep(WAIT_ROUND * 1000L);
			}
			break;
		case CSCAN_FAULT_DELAY:
			pg_usleep(WAIT_ROUND * 1000L);
			break;
	}
}

void
cscan_fault_init(void)
{
	DefineCustomStringVariable("cscan.debug_fault",
							   "Makes a scan or the ABM fail at a named step.",
							   NULL,
							   &debug_fault,
							   "",
							   PGC_SUSET,
							   GUC_NOT_IN_SAMPLE,
							   check_debug_fault, assign_debug_fault, NULL);
}
