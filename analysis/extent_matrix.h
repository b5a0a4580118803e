/* SPDX-License-Identifier: Apache-2.0 */
/* How many bytes a matrix operand of wgmma or tcgen05 has from its descriptor's start on. */
#pragma once

#include "analysis/extent.h"

struct matrix_place {
	const struct function *fn;
	const struct values *values;
	const struct analysis_options *options;
	uint32_t insn;
};

/* `e->address` comes as the descriptor's value and goes as the start, moved down to its row. */
void matrix_extent(struct matrix_place, const struct touch *, struct extent *e);
