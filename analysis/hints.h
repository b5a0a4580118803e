/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Comments that say something to the analysis (spec 2.9): `ignore`, `off` .. `on`, `generic`, `async`,
 * `neutral`. Places are compared as offsets of the text, so that a hint in a callee works in each of
 * its copies.
 */
#pragma once

#include "analysis/unit.h"
#include "base/bits.h"

struct hint_use {
	const struct hint *hint;
	const char *invalid; /* why it is not obeyed, or NULL */
	bool used;
};

struct hint_map {
	struct hint_use *uses; /* by place, each comment once */
	uint32_t nuses;
	uint8_t *leave;        /* enum leave bits by instruction */
	uint32_t *by;          /* by instruction: index into uses of the hint behind LEAVE_EDGES, or NONE */
	uint32_t *first;       /* by instruction: first use that stands directly before it, and how many */
	uint32_t *count;
};

/* Reads the comments, applies `generic`, `async`, `neutral` to the effects, and marks ranges. */
void hints_read(
	const struct function *, const struct effect **effects, struct arena *, struct hint_map *);
/* Gives each `ignore` to the fence that follows at once, or to the next access or call of its block
 * in `named` (those that a finding names). */
void hints_ignore(const struct unit *, struct bits named, struct hint_map *);
