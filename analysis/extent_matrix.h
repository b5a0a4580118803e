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

/* What a k-step of wgmma reads of a K-major matrix with swizzled rows: `bytes` of each row, at the same place
 * before they are swizzled. Rows of `row` bytes lie in groups of eight, `sbo` bytes apart. */
struct matrix_rows {
	struct value start; /* of the first row's part */
	uint32_t rows, row, sbo, bytes;
	uint32_t assumptions; /* that patterns begin where the variable's alignment says */
};

/* False: it is no such operand, or reads whole rows, or is not known so well. */
bool matrix_rows(struct matrix_place, const struct touch *, struct matrix_rows *);
