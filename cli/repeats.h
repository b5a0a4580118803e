/* SPDX-License-Identifier: Apache-2.0 */
/* Findings that say the same of the same lines of the source: the copies of an unrolled loop, mostly. */
#pragma once

#include "lib/fencepost.h"

#define REPEATS_END UINT32_MAX

struct repeats {
	bool *again;    /* by finding: an earlier one of the same lines is there */
	uint32_t *next; /* by finding: the next of the same lines, or REPEATS_END */
};

/* Only findings with .loc lines for each of their places repeat one another. False: no memory, nothing
 * to free. */
bool repeats_find(const struct fencepost_result *, struct repeats *);
void repeats_free(struct repeats *);
