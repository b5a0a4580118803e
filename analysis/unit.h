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
	struct arena *lasting;      /* emptied after the unit */
	struct arena *arena;        /* the same, or emptied after the stage at hand: unit_begin() */
	struct budget *budget;
	const struct effect **effects; /* by instruction, hints applied */
	struct cfg cfg;
	struct values *values;
	struct accesses accesses;
	const uint8_t *leave;       /* enum leave bits by instruction; NULL: no hints */
	uint32_t assumptions;       /* enum assumption bits that ruled an edge out so far */
	bool observed;              /* somebody looks at the stages' results themselves */
	bool edges_only;            /* nothing but edges is asked for, and what they need */
	struct unmodelled *unmodelled;
	uint32_t nunmodelled, unmodelled_cap;
};

/* What is allocated in unit->arena from here on goes at unit_end(). What is kept for later by things
 * that live longer, as the setup of the flow does, must come from the arena that they were made in. */
static inline void unit_begin(struct unit *unit, struct arena *stage)
{
	arena_begin(stage, unit->arena);
	unit->arena = stage;
}

static inline void unit_end(struct unit *unit)
{
	struct arena *stage = unit->arena;

	unit->arena = stage->parent;
	arena_end(stage);
}

static inline void unit_note(struct unit *unit, uint32_t insn, const char *what)
{
	struct unmodelled one = {insn, what};

	ARENA_PUSH(unit->lasting, unit->unmodelled, unit->nunmodelled, unit->unmodelled_cap, one);
}
