/* SPDX-License-Identifier: Apache-2.0 */
/* One forward walk for the rules that need no proxy flow: what is left of one site's duty on each
 * way. */
#pragma once

#include "analysis/audit.h"
#include "analysis/regs.h"
#include "analysis/threads.h"
#include "base/bits.h"

/* A branch or guard that decides whether a site runs: value number and the outcome it had. */
struct check_condition {
	uint32_t number;
	bool truth;
	bool same; /* for all threads of the CTA that come there */
};

/* A predicate register followed along the walk: as a set of what it can hold. */
enum check_truth { CHECK_TRUE = 1, CHECK_FALSE = 2 };

struct check_tracked {
	uint32_t reg;
	uint8_t start;	   /* enum check_truth bits just after the site */
	bool is_condition; /* the site runs only so; else a flag */
};

/* Ways on which the conditions of the last run of the site still hold are kept apart from others,
 * or a loop would join this round of the site with the round before. */
enum check_context { CHECK_COLD, CHECK_HOT, CHECK_CONTEXTS };

struct check_room { /* for the truths of the walk that asked for most so far */
	uint8_t *truths;
	size_t size;
};

/* What flags hold where blocks begin, as a run from the entry found it: it serves all sites in these blocks that run
 * under the same conditions. */
struct check_flags {
	struct bits ahead; /* the blocks */
	struct check_condition *conditions;
	uint32_t nconditions;
	struct check_tracked *tracked; /* as they were when it began; NULL: there was no run */
	uint32_t ntracked;
	struct thread_set who;
	bool numbered;
	uint8_t *in;
	struct check_room truths;
};

struct check_defs { /* what walks of one function share */
	/* by register that may hold a bool: how many instructions define it, and the last one */
	uint32_t *n, *at;
	uint32_t *notable, nnotable; /* instructions that a walk looks at, ascending */
	uint32_t *notable_from;	     /* by instruction: the first of these at or behind it */
	uint32_t *makes; /* by instruction: the one register, if it may hold a bool, that it defines; NONE; CHECK_SEVERAL */
	uint8_t *slot; /* by register: 1 + its number among those that the running walk follows */
	uint32_t *flags, nflags; /* registers that hold bools made of constants */
	uint8_t *in;		 /* room of a walk, see below */
	struct check_room *room;
	struct check_flags *kept; /* of the latest two runs: stores mostly take turns with those of a tail */
	uint32_t *queue;
	bool *queued;
	uint64_t *steps; /* of all walks so far */
};

#define CHECK_SEVERAL (UINT32_MAX - 1)

#define CHECK_TRACKED_MOST 128

/* More steps are not taken: the function is then `incomplete`. */
#define CHECK_STEPS_MOST (UINT64_C(1) << 24)

struct check_walk {
	struct unit *unit;
	const struct check_defs *defs;
	uint32_t site; /* the instruction that starts the walk */
	bool follows_flags; /* then fewer ways are taken; what no walk without them shows none shows with them */
	uint8_t start; /* state just after it */
	struct check_condition
		*conditions; /* that hold for the thread that ran the site, also later */
	uint32_t nconditions;
	struct thread_set who; /* threads that may run the site: check_by_number() */
	bool numbered;
	uint32_t assumed; /* enum assumption bits on which that rests */
	struct check_tracked *tracked;
	uint32_t ntracked;
	/* State after an instruction that runs; 0 ends a way. Must keep the order: a larger state
	 * in, no smaller state out. Called until nothing grows, in no fixed order. */
	uint8_t (*step)(struct check_walk *, uint32_t insn, uint8_t state);
	/* Joins two states; no smaller than either. */
	uint8_t (*join)(uint8_t, uint8_t);
	/* filled by the walk */
	uint8_t *in;	 /* by block and context */
	uint8_t *truths; /* by block, context and tracked register, on entry, where there is a state */
	uint8_t *now;	 /* by tracked register, where the walk stands */
	uint8_t context; /* enum check_context, where the walk stands */
	bool site_runs;	 /* what is tried when the site's guard is not known */
	struct reg_list defined;
};

typedef void check_visitor(struct check_walk *, uint32_t insn, uint32_t at, uint8_t state, void *);

struct check_list {
	struct unit *unit;
	struct check_defs defs;
	struct check_finding *v;
	uint32_t n, cap;
};

struct check_defs check_prepare(struct unit *);
/* What a register may hold where the running walk stands: enum check_truth bits. */
static inline uint8_t check_truth_now(const struct check_walk *w, uint32_t reg)
{
	uint32_t slot = w->defs->slot[reg];

	return slot ? w->now[slot - 1] : CHECK_TRUE | CHECK_FALSE;
}

/* Whether a bool made by an instruction is true: the same. Bools are predicates, or what compilers
 * keep in 16-bit registers as 0 and 1: masked with 255, compared with 0. */
uint8_t check_truth_made(const struct check_walk *, const struct insn *);
/* Every way to block `to' takes successor k of block `from'. */
bool check_edge_leads(const struct cfg *, uint32_t from, uint32_t k, uint32_t to);
/* Finds what is known of predicates where walk->site runs: conditions that stay for good, and
 * registers to follow. */
void check_conditions(struct check_walk *);
/* From now on the walk takes only branches that some thread takes which runs the site, by its number: what stands
 * on other ways is done by others, if at all. False: threads are not known by number. */
bool check_by_number(struct check_walk *);
/* Does nothing once the walks of the function have taken too many steps, see CHECK_STEPS_MOST.
 * Runs to the fixed point, then once more in order, with `visit` called before each instruction
 * (and with insn == NONE at a place where the thread ends, `at` being the last instruction). */
void check_run(struct check_walk *, check_visitor *visit, void *);
/* The guard of an instruction for the thread of the walk: 1 runs, 0 does not, -1 not known. */
int check_guard(const struct check_walk *, uint32_t insn);
/* The largest of two: the join of states that are simply ordered. */
uint8_t check_larger(uint8_t, uint8_t);
/* No way parts at an instruction, and nothing changes that a walk follows. */
bool check_is_plain(const struct unit *, uint32_t insn);
void check_report(struct check_list *, uint8_t rule, uint8_t confidence, uint32_t insn,
	uint32_t other, const char *detail);

void check_bulk_stores(struct check_list *);
void check_mbarrier_init(struct check_list *);
void check_tensormaps(struct check_list *);
