/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a set of values has a number that a program computed. */
#pragma once

#include "analysis/value_private.h"
#include "concrete.h"

/* Is x in the set, modulo 2^bits? */
bool cover_has(const struct values *, const struct concrete *, const struct value *, uint64_t x,
	uint32_t bits);
