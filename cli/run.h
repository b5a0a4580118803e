/* SPDX-License-Identifier: Apache-2.0 */
/* The modes of the tool; each returns the exit status. */
#pragma once

#include "cli/report.h"

int run_files(const struct settings *);  /* rewrite, --check */
int run_dump(const struct settings *);   /* --dump, --why */
int run_explain(const struct settings *);
int run_merge(const struct settings *);
