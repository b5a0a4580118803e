/* SPDX-License-Identifier: Apache-2.0 */
/* A unit of the analysis made from the body of a kernel, for tests that start at values or later. */
#pragma once

#include "analysis/flow_state.h"

#include <stdio.h>

struct unit_text {
	jmp_buf out_of_memory;
	struct arena arena;
	struct source source;
	struct names *names;
	struct diags diags;
	struct modules modules;
	struct linked linked;
	struct analysis_options options;
	struct budget budget;
	struct unit unit;
	uint32_t first_line; /* of the body in the source */
};

/* `body` goes into a kernel of 128 threads with registers %p0..%p9, %r0..%r49, %rd0..%rd19, %f0..%f19,
 * shared variables `tile` (2048 bytes) and `other` (512), mbarriers `full` and `empty`, and the
 * parameter `out`. The options are the defaults unless changed before unit_text_analyse(). */
void unit_text_parse(struct unit_text *, const char *body);
/* Effects to accesses. */
void unit_text_analyse(struct unit_text *);
void unit_text_free(struct unit_text *);
/* Line of an instruction inside the body, counted from 1. */
uint32_t unit_text_line(struct unit_text *, uint32_t insn);
