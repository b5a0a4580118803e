/* SPDX-License-Identifier: Apache-2.0 */
/* Modes and forms that are not in the tree yet: they say so and fail. */
#include "cli/run.h"

#define PENDING __attribute__((weak))

static int not_yet(const char *what)
{
	fprintf(stderr, "fencepost: error: %s is not built in\n", what);
	return 2;
}

PENDING int run_dump(const struct settings *settings)
{
	(void)settings;
	return not_yet("--dump");
}

PENDING int run_explain(const struct settings *settings)
{
	(void)settings;
	return not_yet("--explain");
}

PENDING int run_merge(const struct settings *settings)
{
	(void)settings;
	return not_yet("--merge");
}

static void nothing(struct report *report)
{
	(void)report;
}

static void nothing_of(struct report *report, const struct file_result *file)
{
	(void)report, (void)file;
}

static void nothing_at_all(
	struct report *report, const struct totals *totals, const struct fixed_finding *fixed, uint32_t n)
{
	(void)report, (void)totals, (void)fixed, (void)n;
}

PENDING const struct report_form report_sarif = {nothing, nothing_of, nothing_at_all};
PENDING const struct report_form report_html = {nothing, nothing_of, nothing_at_all};
