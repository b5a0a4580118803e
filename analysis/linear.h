/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A generic access's address as a sum of registers, each times a number. A range has one stride only: of a stage
 * times its size and a place in the stage it knows no more than both ends. The sum, modulo the size of a stage, has
 * the place alone.
 */
#pragma once

#include "analysis/access.h"

/* No place of the generic access is among the bytes that begin at lo, lo + stride, ..., hi, `size` each, counted from
 * the variable that its address is in. Adds the assumptions on which that rests. */
bool linear_apart(const struct values *, const struct access *g, const struct value *other, uint64_t size,
	uint32_t *assumptions);
/* All of it lies behind those bytes, unless an index in it, of which only the upper end is known, is negative. */
bool linear_behind(const struct values *, const struct access *g, const struct value *other, uint64_t size);
