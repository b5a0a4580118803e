/* SPDX-License-Identifier: Apache-2.0 */
/* Modes and forms that are not in the tree yet: they say so and fail. */
#include "cli/run.h"

#define PENDING __attribute__((weak))

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

PENDING const struct report_form report_html = {nothing, nothing_of, nothing_at_all};
