/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When a generic load is certainly complete in its thread (--assume=consumed-loads): at a store, an
 * atomic, a wgmma register operand or a branch that needs its value, directly or through arithmetic;
 * and where no use of the value lies ahead. Arithmetic alone does not complete it: ptxas moves it
 * below the hand-off (measured on an H200; the ISA promises neither).
 */
#pragma once

#include "analysis/unit.h"

struct loads; /* liveness of registers and scratch, shared by all queries of a unit */

/* For the loads at these instructions. */
struct loads *loads_prepare(struct unit *, struct ids loads);
/* Instructions at which every execution of the load at `insn`, one of those, so far is complete, each on every path on
 * which it is reached from the load; empty: never known. Arena memory. */
struct ids load_completed_at(struct loads *, uint32_t insn);
