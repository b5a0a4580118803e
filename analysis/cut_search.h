/* SPDX-License-Identifier: Apache-2.0 */
/* Branch and bound over the open paths of small problems: finishes what the cuts began (cut.c). */
#pragma once

#include "analysis/cut_runs.h"

/* Replaces `best` (width by run, meets all feasible demands) by something cheaper if it finds it
 * within a fixed amount of work. */
void cut_search(struct runs *, struct ids demands, const bool *infeasible, uint8_t *best,
	struct arena *, struct budget *);
/* The cost of what stands. */
uint64_t cut_cost(const struct runs *, const uint8_t *have);
uint64_t cut_cost_at(const struct runs *, uint32_t r, uint8_t width);
