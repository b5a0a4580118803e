/* SPDX-License-Identifier: Apache-2.0 */
/* Instructions that are seldom in addresses, one at a time. */
#pragma once

#include "writer.h"

struct seldom {
	uint32_t d, x, y;      /* %r */
	uint32_t wide, wide2;  /* %rd */
	int64_t constant;
};

void seldom_write(struct writer *, const struct seldom *);
/* One that sets this predicate. */
void seldom_write_predicate(struct writer *, const struct seldom *, uint32_t p);
