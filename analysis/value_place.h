/* SPDX-License-Identifier: Apache-2.0 */
/* What holds at the places of a solved function, and what registers hold there. */
#pragma once

#include "analysis/value_operation.h"

/* What is known where an instruction runs, its guard included. */
const struct context *place_at(struct values *, uint32_t insn);
/* evaluate_register in a context of a solved function: kept where it can be. */
struct value place_register(struct evaluation, uint32_t node);

/* value_ways.c: what a phi holds at a place that it dominates, from what comes along each way into its block
 * and what holds at the place; false: no more than is known of it anyway. */
bool ways_into_phi(struct values *, const struct context *place, uint32_t phi, struct value *);
/* Such a phi may count in the address. */
bool ways_may_count(struct values *, const struct operand *mem);

/* value_open.c: what an address holds that is a phi and a constant, by the ways into the phi's block that what
 * holds at the place leaves open; false: all are, or it is no such address. */
bool open_ways_into(struct evaluation, const struct operand *mem, struct value *);
