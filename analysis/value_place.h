/* SPDX-License-Identifier: Apache-2.0 */
/* What holds at the places of a solved function, and what registers hold there. */
#pragma once

#include "analysis/value_operation.h"

/* What is known where an instruction runs, its guard included. */
const struct context *place_at(struct values *, uint32_t insn);
/* evaluate_register in a context of a solved function: kept where it can be. */
struct value place_register(struct evaluation, uint32_t node);
