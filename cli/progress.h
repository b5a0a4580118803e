/* SPDX-License-Identifier: Apache-2.0 */
/* One line on a terminal that says how far the work is. */
#pragma once

#include "cli/settings.h"

#include <time.h>

struct progress {
	bool shown, drawn;
	uint32_t files, of_files;
	size_t bytes, of_bytes;
	struct timespec start, last;
};

void progress_start(struct progress *, const struct settings *, uint32_t files, size_t bytes);
void progress_step(struct progress *, size_t bytes);
/* Takes the line away, so that a report can be written. */
void progress_clear(struct progress *);
