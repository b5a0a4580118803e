/* SPDX-License-Identifier: Apache-2.0 */
/* Fewer demands for the cut where they are very many. */
#pragma once

#include "analysis/flow.h"

#define DEMANDS_MANY 256

/* Joins those with the same sinks, in place; the new number. */
uint32_t demands_join(struct demand *, uint32_t n, struct arena *);
/* However few they are. */
uint32_t demands_join_all(struct demand *, uint32_t n, struct arena *);
