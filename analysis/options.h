/* SPDX-License-Identifier: Apache-2.0 */
/* What the analysis of one module may be told (the command line's options, spec section 4). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum hazard { HAZARD_RAW = 1, HAZARD_WAW = 2, HAZARD_WAR = 4 }; /* bits of a mask */

enum assumption { /* bits of a mask; spec section 4, --assume */
	ASSUME_NAMED_IDS = 1 << 0,
	ASSUME_CONVERGED_WARP = 1 << 1,
	ASSUME_STAGE_STRIDE = 1 << 2,
	ASSUME_MAP_GAP = 1 << 3,
	ASSUME_ALIGNED_TMA = 1 << 4,
	ASSUME_NO_WRAP = 1 << 5,
	ASSUME_CONSUMED_LOADS = 1 << 6,
	ASSUME_FLAT_BLOCK = 1 << 7,
	ASSUME_PARAM_GLOBAL = 1 << 8,
	ASSUME_DISTINCT_PARAMS = 1 << 9,
	ASSUME_RACE_FREE = 1 << 10,
	ASSUME_ONE_ARRIVAL = 1 << 11,
	ASSUME_MULTICAST_SELF = 1 << 12,
	ASSUME_LOADED_GLOBAL = 1 << 13,
	ASSUME_OWN_STAGE = 1 << 14,
	ASSUME_ALL = (1 << 15) - 1
};

enum calls_mode { CALLS_AUTO, CALLS_NONE, CALLS_WRITE, CALLS_ASYNC, CALLS_WORST };

enum fix { FIX_MISSING = 1, FIX_MISPLACED = 2, FIX_WIDE = 4, FIX_REDUNDANT = 8 };

struct analysis_options {
	uint32_t hazards;     /* enum hazard bits */
	bool shared, global;  /* --spaces */
	bool cross_threads;   /* --threads=cross */
	bool writer_side;     /* --placement=writer */
	bool strict;          /* also implies assume = 0 and !cp_async_trust, set by the caller */
	bool cp_async_trust;
	bool mutate;
	bool text_only; /* only fences and the edges left are asked for */
	uint32_t fix;         /* enum fix bits */
	uint32_t assume;      /* enum assumption bits */
	uint32_t rules;       /* bit 1 << enum rule: rules that may be reported (base/rules.h) */
	enum calls_mode calls;
	double budget_seconds;
	uint32_t maxntid;     /* threads per block by the assembler's command line, 0: not given */
	bool override_directives; /* ... and it overrides .maxntid */
};

/* The defaults of spec section 4. */
struct analysis_options analysis_defaults(void);
