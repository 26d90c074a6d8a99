/*-------------------------------------------------------------------------
 *
 * replay_main.c
 *		The program: replay [--print] TRACE
 *
 * Exits with 0 if all is the same, 1 if a decision differs, 2 if the trace
 * cannot be replayed to its end.
 *
 *-------------------------------------------------------------------------
 */
#include "replay.h"

#include <string.h>

int
main(int argc, char **argv)
{
	bool		print = argc == 3 && strcmp(argv[1], "--print") == 0;
	Replay		replay;
	ReplayOutcome outcome;
	FILE	   *in;

	if (argc != 2 && !print)
	{
		fprintf(stderr, "usage: replay [--print] TRACE\n");
		return 2;
	}
	in = fopen(argv[argc - 1], "rb");
	if (in == NULL)
	{
		perror(argv[argc - 1]);
		return 2;
	}
	outcome = print ? replay_print(in, stdout, &replay) : replay_run(in, &replay);
	fclose(in);
	if (!print)
		return replay_report(outcome, &replay, stdout);
	return outcome == REPLAY_SAME ? 0 : replay_report(outcome, &replay, stderr);
}
