/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A k-step of wgmma reads a part of each row of its matrix, which swizzling spreads over the row's chunks
 * of 16 bytes (ISA 9.7.15.5.1). Ranges with one stride cannot tell that part from the rest of the row; the
 * chunks that each thread writes can. Nor can they tell how far the sum of two parts of a thread's number goes, so
 * ranges that meet at an edge are asked about thread by thread too.
 */
#pragma once

#include "analysis/access.h"

/* No thread's generic access touches a byte that the async one does. Both lie in one variable. Adds the
 * assumptions on which that rests. */
bool swizzled_apart(const struct values *, const struct access *g, const struct access *a,
	uint32_t *assumptions);
