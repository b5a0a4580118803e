/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Instructions that a whole warp runs as one (shfl.sync and its like, ISA 9.7.9.6, 9.7.13.9 to 9.7.13.12, 9.7.14), and
 * whose result one of its threads stores: the sum of a warp that lane 0 puts into shared memory.
 */
#pragma once

#include "analysis/dead_store.h"
#include "analysis/needed.h"
#include "analysis/tracked.h"
#include "analysis/unit.h"

struct lane_stores;

/* Passes a value on to a callee: a move in disguise, not a store (ISA 7.1). So is a store to local memory, which the
 * assembler keeps in registers where it can. */
bool effect_moves_value(const struct effect *);
/* The store, atomic or stmatrix needs its registers' values, wherever it runs. */
bool effect_stores_values(const struct effect *);
/* `asked`: by instruction, not 0 where a hand-off or an async access stands. Arena memory. */
struct lane_stores *lane_stores_prepare(struct unit *, const struct tracked *, const uint32_t *asked,
	struct dead_stores *, struct needed *);
/* All threads of a warp run the instruction, and then one of them, parting from others, stores what it brings, with no
 * hand-off on the way: each of them had the registers that it reads. */
bool lane_stores_result(struct lane_stores *, uint32_t insn);
