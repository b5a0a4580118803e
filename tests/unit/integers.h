/* SPDX-License-Identifier: Apache-2.0 */
/* Random integer programs: the body of a kernel with loops, branches and guarded instructions. */
#pragma once

#include "writer.h"

/* The same text for the same seed. */
void integers_write(struct writer *, uint64_t seed);
/* A number as the programs use them: zero, one, powers of two and their neighbours mostly. */
int64_t integers_constant(struct writer *);
