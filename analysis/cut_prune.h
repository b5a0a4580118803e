/* SPDX-License-Identifier: Apache-2.0 */
/* Takes away what a cut has too much: the planner's own; see cut.c. */
#pragma once

#include "analysis/cut_runs.h"

struct pruner;

/* `infeasible`, by demand, is read as it is at each call of prune(). Lives in the arena. */
struct pruner *pruner_new(
	struct runs *, const bool *infeasible, struct arena *, struct budget *);
/* Takes away, dearest first, what these demands, which are met but for infeasible ones, do not need of `have`
 * (width by run). Too many fences in too many runs stay as they are. */
void prune(const struct pruner *, struct ids demands, uint8_t *have);
