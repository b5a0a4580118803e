/* SPDX-License-Identifier: Apache-2.0 */
/* Fence changes become edits: how a fence is spelt, on which line it stands, how that line ends. */
#pragma once

#include "analysis/result.h"
#include "rewrite/edit.h"

/* The edits of changes sorted by place (insertions at a place before other changes of it), one
 * each. */
void fence_edits(
	const struct source *, const struct result_fence *const *, uint32_t n, struct edits *);
