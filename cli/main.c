/* SPDX-License-Identifier: Apache-2.0 */
/* fencepost: options, files, exit status. Everything else is lib/, of which this is a client. */
#include "cli/run.h"

#include <argp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

static void print_version(FILE *out, struct argp_state *state)
{
	(void)state;
	fprintf(out, "fencepost %s\n", fencepost_version());
}

static int run_mode(const struct settings *settings)
{
	switch (settings->mode) {
	case MODE_REWRITE:
	case MODE_CHECK:
		return run_files(settings);
	case MODE_DUMP:
	case MODE_WHY:
		return run_dump(settings);
	case MODE_EXPLAIN:
		return run_explain(settings);
	case MODE_MERGE:
		return run_merge(settings);
	}
	return 2;
}

int main(int argc, char **argv)
{
	struct settings settings;
	int status;

	argp_program_version_hook = print_version;
	signal(SIGPIPE, SIG_IGN); /* a closed pipe is a write error, status 2, not a signal */
	signal(SIGXFSZ, SIG_IGN); /* likewise a file grown over the limit */
	settings_read(&settings, argc, argv);
	status = run_mode(&settings);
	settings_free(&settings);
	return status;
}
