/* SPDX-License-Identifier: Apache-2.0 */
/* Values by two numbers. Few differ, so that each is held once. */
#pragma once

#include "analysis/value.h"

struct kept_place { /* both numbers 0: free */
	uint32_t a, b;
	uint32_t v; /* index of its value */
};

struct kept_values {
	struct kept_place *places; /* open addressing */
	uint32_t nplaces, cap;
	struct value *v; /* each once */
	uint32_t n, v_cap;
	uint32_t *numbers, numbers_cap; /* open addressing: 1 + index of a value, or 0 */
};

/* What was kept under two numbers that are not both 0, until more is kept; or NULL. */
const struct value *kept_find(const struct kept_values *, uint32_t a, uint32_t b);
/* Keeps a value under two numbers that have none. */
void kept_add(struct kept_values *, struct arena *, uint32_t a, uint32_t b, const struct value *);
