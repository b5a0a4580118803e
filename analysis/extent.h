/* SPDX-License-Identifier: Apache-2.0 */
/* How many bytes an access touches from its address on (analysis-notes section 7). */
#pragma once

#include "analysis/access.h"

struct extent {
	struct value address; /* perhaps moved down to the start of a swizzle row */
	uint64_t bytes;	      /* UINT64_MAX: to the end of the variable */
	bool exact;	      /* exactly these bytes, not only some of them */
	uint32_t assumptions;
	bool has_ceiling; /* under ASSUME_MAP_GAP no byte at or above `ceiling` (on the address's
			     base) */
	int64_t ceiling;
};

struct extents;

/* Collects what the extents of tensor copies depend on. */
struct extents *extents_prepare(const struct function *, const struct cfg *, const struct values *,
	const struct analysis_options *, struct arena *);
struct extent extent_of(struct extents *, uint32_t insn, const struct touch *);
/* The same, of that address. */
struct extent extent_at(struct extents *, uint32_t insn, const struct touch *, struct value address);
