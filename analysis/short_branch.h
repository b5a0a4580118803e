/* SPDX-License-Identifier: Apache-2.0 */
/* Branches that the assembler may turn into instructions under a predicate. */
#pragma once

#include "analysis/unit.h"

enum branch_length {
	BRANCH_NOT_ASKED,
	BRANCH_EMPTY, /* nothing stands between it and where its ways meet, */
	BRANCH_SHORT, /* so little that the branch may not be there when the code runs, */
	BRANCH_LONG   /* or more */
};

/* A `ret' of a callee: it goes on behind the call. */
bool branch_returns(const struct unit *, uint32_t insn);

/* Of a branch, or a `ret' of a callee. */
enum branch_length branch_length(const struct unit *, uint32_t insn);
