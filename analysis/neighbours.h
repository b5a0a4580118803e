/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bounds of tensor copies by what lies beside them (--assume=map-gap): the box of a tensor map is not
 * in the PTX text, but a copy covers no live mbarrier object, and two copies of one map that a block or
 * a round of a loop issues side by side do not overlap.
 */
#pragma once

#include "analysis/value.h"

struct neighbours;

struct neighbours *neighbours_prepare(const struct function *, const struct cfg *,
	const struct values *, struct arena *);
/* The lowest offset, on the base of `address` and above all its starts, at which an mbarrier object
 * lies that is live at the instruction; false: none is known. */
bool neighbours_ceiling(
	const struct neighbours *, uint32_t insn, const struct value *address, int64_t *ceiling);
/* Bytes to the next destination (or source) that a copy of the same map has in the block, or in the same
 * round of the innermost loop; UINT64_MAX: none. */
uint64_t neighbours_gap(struct neighbours *, uint32_t insn, const struct value *address);
