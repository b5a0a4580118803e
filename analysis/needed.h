/* SPDX-License-Identifier: Apache-2.0 */
/* Whether the result of arithmetic hangs on what it reads: `x & 0' does not, nor the upper half of what was shifted up by it. */
#pragma once

#include "analysis/tracked.h"

struct needed;

/* Arena memory. */
struct needed *needed_prepare(struct unit *, const struct tracked *);
/* The result of the instruction is known without the tracked registers that it reads, and so it waits for none of them. */
bool needed_none(struct needed *, uint32_t insn);
