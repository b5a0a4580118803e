/* SPDX-License-Identifier: Apache-2.0 */
/* Stores that the assembler may leave out, as their bytes are written again before anybody else could look. */
#pragma once

#include "analysis/unit.h"

struct dead_stores;

/* `asked`: by instruction, not 0 where a hand-off or an async access stands. Arena memory. */
struct dead_stores *dead_stores_prepare(struct unit *, const uint32_t *asked);
/* A plain store of which all bytes are written again on the only way on, before a hand-off. */
bool store_is_dead(struct dead_stores *, uint32_t insn);
