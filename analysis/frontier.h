/* SPDX-License-Identifier: Apache-2.0 */
/* Where definitions meet: iterated dominance frontiers. */
#pragma once

#include "analysis/cfg.h"

struct frontiers;

struct frontiers *frontiers_new(const struct cfg *, struct arena *);
/* Of the n blocks in `from`, each once, those with the stamp `mark` in `at` being the blocks themselves:
 * sets found[b] = mark for each block of their iterated frontier and puts it into `blocks`, which has
 * room for all; gives back their number. `mark` must be another one in each call, and not 0. */
uint32_t frontiers_iterated(struct frontiers *, const uint32_t *from, uint32_t n, const uint32_t *at,
	uint32_t mark, uint32_t *found, uint32_t *blocks);
