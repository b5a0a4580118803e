/* SPDX-License-Identifier: Apache-2.0 */
/* One root (kernel, or function that nothing calls) on its way through the stages, and what each found. */
#pragma once

#include "analysis/access.h"
#include "analysis/cfg.h"
#include "analysis/options.h"
#include "analysis/value.h"
#include "base/budget.h"

struct unmodelled { /* something whose effect is not known: the verdict is then never `clean` */
	uint32_t insn;
	const char *what; /* "unknown instruction `foo.bar'", "call of unknown function `f'" */
};

enum leave { /* what hints ask for (spec 2.9), by instruction */
	LEAVE_EDGES = 1, /* edges that name it are suppressed: no demand, no fence */
	LEAVE_TEXT = 2   /* inside a hinted range: nothing may be inserted before it */
};

struct unit {
	const struct module *module;
	const struct function *fn;  /* calls linked in: analysis/link.h */
	const struct analysis_options *options;
	struct arena *arena;        /* emptied after the unit */
	struct budget *budget;
	const struct effect **effects; /* by instruction, hints applied */
	struct cfg cfg;
	struct values *values;
	struct accesses accesses;
	const uint8_t *leave;       /* enum leave bits by instruction; NULL: no hints */
	uint32_t assumptions;       /* enum assumption bits that ruled an edge out so far */
	struct unmodelled *unmodelled;
	uint32_t nunmodelled, unmodelled_cap;
};
