/* SPDX-License-Identifier: Apache-2.0 */
/* What the value files share: the solver's state, evaluation in a context, and insn decoding. */
#pragma once

#include "analysis/range.h"
#include "analysis/ssa.h"
#include "analysis/value_kept.h"
#include "base/bits.h"

/* "The contents of `node`, read as a signed or unsigned number of `bits` bits, lie in [lo, hi]";
 * with `excludes`: are not lo. */
struct constraint {
	uint32_t node;
	uint16_t assumptions; /* enum assumption bits */
	uint8_t bits;
	bool is_signed : 1, excludes : 1;
	int64_t lo, hi;
};

_Static_assert(ASSUME_ALL <= UINT16_MAX && sizeof(struct constraint) == 24,
	"many blocks have some of them");

#define CONTEXT_MAX 48
#define CONTROLS_MAX 12 /* branches on the way to a block that count */

/* What is known to hold at a place. */
struct context {
	uint32_t n;
	struct constraint *v;	     /* room for CONTEXT_MAX while it is being made */
	const struct context *outer; /* with fewer constraints: equal where the others do not
					matter; NULL: none */
	uint32_t place;		     /* number under which results are kept; 0: they are not */
	uint32_t own, serial;	     /* see value_place.c; serial 0: not begun */
	uint64_t mask;		     /* of the nodes of its own constraints, at least, once begun */
	uint64_t all;		     /* of the nodes of all its constraints, at least */
	uint32_t guard;		     /* of a place */
	bool holds;
};

struct implied { /* what follows from a predicate that is false [0] or true [1] */
	struct constraint *v[2];
	uint32_t n[2], cap[2];
	uint64_t mask[2];  /* of the nodes of v */
	uint32_t since[2]; /* clock of the values when v became what it is */
	bool current[2];   /* no value that it was made from has changed */
	bool watched;      /* whether one changes is seen; else it is never current */
};

struct watch { /* a node in the slice of a predicate */
	uint32_t predicate, next; /* index of another of the node, or 0 */
};

struct kept_context { /* what holds in a block that is entered on one arm of a branch */
	struct context context;
	uint32_t cap;
	uint32_t made;	/* the clock that `since' was when it was made, plus one; 0: it was not */
	uint32_t since; /* clock of the values when it, or what it is made of, became what it is */
	uint32_t seen;	/* vs->outdated when `since' was right; 0: look again */
};

struct descriptor_kind { /* what all values of one DESCRIPTOR id share; lo, hi, stride: bytes of the
			    start */
	uint8_t base, space; /* of the start address */
	bool high_known;
	uint32_t id, aux;
	uint64_t high; /* register contents without the 14 bits of the start */
};

struct derived_base { /* symbol + key, rounded up to a multiple of 2^log2: the same for all threads
		       */
	uint32_t key, log2;
	struct value parent; /* where it can lie */
};

struct trip { /* a phi of a loop's head that steps by a constant */
	uint32_t node;
	int64_t step;
	bool counts;   /* the loop ends by it */
	uint32_t next; /* another counter of the same head, or NONE */
	uint32_t end;  /* index of what ends the loop when the phi reaches it, or NONE */
	uint64_t rounds; /* at most so many back to the head, or UINT64_MAX; then it starts in */
	uint32_t root;	 /* this node */
	int64_t first;	 /* plus this */
};

struct trip_end { /* the loop ends in the round in which phi + step + added == other + constant */
	int64_t step, constant;
	uint32_t added, other; /* nodes from outside the loop, or NONE */
};

struct kept_input { /* what came into a phi along one way */
	struct value v;
	uint32_t looked; /* 1 + clock of the values from which, or 0 */
};

enum steady { /* from `at' of what it reads a node gives `at' again */
	STEADY_NOT,
	STEADY_HERE, /* under what holds in its block */
	STEADY	     /* and under no condition */
};

#define ANSWER UINT32_C(0x80000000) /* of value_of; there are fewer instructions and places */
#define RESIDUES_LISTS 64
#define DEFINITIONS_PAGE 16

struct values {
	const struct function *fn;
	const struct cfg *cfg;
	const struct analysis_options *options;
	struct arena *arena;
	struct arena caches; /* what value_rest() gives back: what holds in blocks and at places, and what follows;
				sums of nodes, and their numbers in threads */
	struct budget *budget;
	bool is_entry;
	bool flat;	     /* only %tid.x is read */
	uint32_t threads[3]; /* most threads per dimension, and in all */
	uint32_t threads_total;
	bool exact_threads;	 /* .reqntid */
	uint32_t dynamic_shared; /* symbol that stands for all .extern .shared arrays, or NONE */
	uint32_t assumed_align;	 /* binary logarithm of dynamic_shared's alignment by evidence, or 0
				  */
	struct ssa ssa;
	uint32_t nsolved;	  /* nodes with a value */
	struct value *at;	  /* by `at_of': by node while solving, then each value once */
	uint32_t *at_of;	  /* by node */
	uint32_t clock, *changed; /* changes of values so far; by node, while solving: the latest one of its own */
	uint32_t *fresh; /* by node: clock of the latest change of it or, through definitions, of
			    what it is computed from; while solving */
	struct kept_input *kept_inputs; /* by input of the phis; while solving */
	uint32_t *watch_of;	  /* by node: index of its first watch, or 0; NULL: no value changes any more */
	struct watch *watches;
	uint32_t nwatches, watches_cap;
	uint32_t outdated; /* 1 + how often something implied was current no more */
	struct kept_context **contexts; /* by block, filled on demand; one more for what is not kept; or NULL */
	uint32_t ncontexts;		/* constraints kept there */
	uint32_t *read_at, *reads; /* by node: nodes that its evaluation may look at */
	uint32_t nreads, reads_cap;
	bool looks_behind; /* some definition reads what a phi has from behind it: see lockstep_reads */
	struct implied **implied;  /* by node, filled on demand, or NULL */
	uint32_t serial, *marks;   /* by node: serial of the context asked about, and the answer; see
				      context_matters */
	uint32_t *order;	   /* solved nodes in order of evaluation */
	uint32_t *user_at, *users; /* by node: nodes that read it */
	struct ids **definitions;  /* by page of nodes, filled on demand: see value_definitions */
	uint32_t ndefinitions;	   /* nodes that there is room for */
	struct bits seen;	   /* by node; scratch of that walk, as the stack is */
	uint32_t *stack, stack_cap;
	uint32_t *control; /* by block: nearest dominator (or itself) entered on one arm of a branch
			    */
	struct trip *trips;
	uint32_t ntrips;
	struct trip_end *ends;
	uint32_t nends;
	uint32_t *trip_of;  /* by node: index of its trip, or NONE */
	uint32_t *counters; /* by block: the trip of a counter of this head, or NONE */
	bool narrowing;	    /* the solver has a solution and makes it better */
	uint8_t *steady; /* by node: enum steady; NULL: not known */
	bool *same;   /* by node: known to give `at' under no condition */
	bool *plain;	   /* by instruction: known to have no form of value_lockstep.c */
	uint32_t *entry;    /* by block: the branch that is its one way in, or NONE */
	uint8_t *shut;      /* by block: value.c, whether that branch ever leads there; NULL: not asked */
	struct descriptor_kind *descriptors;
	uint32_t ndescriptors, descriptors_cap;
	struct derived_base *derived;
	uint32_t nderived, derived_cap;
	bool *varies;	  /* by node: not the same in all threads of the CTA; see value_varying(). NULL: not found yet */
	bool *varies_race_free; /* the same under ASSUME_RACE_FREE; without it, varies itself */
	bool *meeting;	  /* by instruction: all threads of the CTA wait here for each other */
	bool *quiet;	  /* by instruction: nothing acquired since; both under ASSUME_RACE_FREE only */
	uint32_t *number; /* by node: value number, or NONE */
	bool *invariant;  /* by value number */
	uint32_t nnumbers, numbers_cap;
	struct number_table *numbers;
	uint64_t *roots;       /* by node: see value_roots */
	const struct stage_sum **sums; /* by node, filled on demand: see stages.c */
	bool *ways;	       /* by node, filled on demand: see ways_may_count */
	bool unsolved;	       /* the budget ran out */
	struct places *places; /* filled on demand; NULL while solving */
	uint32_t latest_place; /* number of the latest one that is not of a block; 0: there was none */
	struct kept_truths **truths; /* by node, filled on demand: see thread_ways.c */
	struct kept_truths *truths_alike[3]; /* by enum truth: of nodes that are so for all threads */
	const struct thread_set **reach; /* by block, likewise */
	const struct thread_set **warps_reach; /* the same by whole warps */
	struct kept_numbers **thread_numbers; /* by node, filled on demand: see threads.c */
	uint32_t nthread_numbers; /* kept there */
	uint16_t *unknown_numbers; /* by node: see threads.c; the fuel to find that no thread knows it, or 0 */
	struct residues *residues[RESIDUES_LISTS]; /* see residues.c */
	struct footprint *footprints[RESIDUES_LISTS]; /* see swizzled.c */
	struct kstep *ksteps[RESIDUES_LISTS];
	struct linear *linears[RESIDUES_LISTS], *linear_nodes[RESIDUES_LISTS]; /* see linear.c */
	uint32_t nplaces;      /* kept by footprints */
	uint32_t nresidues;
	uint32_t cuts;	       /* evaluations that ended for want of depth or fuel so far */
	struct kept_values kept; /* by place and node; by ANSWER with an instruction, and operand */
};

struct evaluation {
	struct values *values;
	const struct context *context; /* or NULL */
	uint32_t depth;		       /* operands further away come from values->at */
	uint32_t *fuel;		       /* or NULL */
};

struct type {
	uint8_t bits; /* 0: none */
	bool is_signed, is_float;
};

/* value_decode.c */
struct type type_of_modifier(uint16_t mod);
extern const struct type value_types[MOD_COUNT]; /* by modifier; bits 0: no type */
/* The k-th type among the modifiers (0: first). */
static inline struct type insn_type(const struct insn *insn, uint32_t k)
{
	for (uint32_t i = 0; i < insn->nmods; i++)
		if (value_types[insn->mods[i]].bits && !k--)
			return value_types[insn->mods[i]];
	return value_types[MOD_UNKNOWN];
}
static inline const struct operand *insn_source(
	const struct function *fn, const struct insn *insn, uint32_t k)
{
	return insn_operand(fn, insn, k + 1);
}

/* Slot of a register in the destination list (vector loads, unpacking, d|p), or 0. */
uint32_t insn_slot(const struct function *, const struct insn *, uint32_t reg);
enum compare {
	COMPARE_NONE,
	COMPARE_EQ,
	COMPARE_NE,
	COMPARE_LT,
	COMPARE_LE,
	COMPARE_GT,
	COMPARE_GE
};
enum compare insn_compare(const struct insn *, bool *is_unsigned);
extern const bool value_arithmetic[OP_LINK_MOV + 1];
/* Its result is a function of its register operands alone, and of a kind that is followed. */
static inline bool insn_is_arithmetic(const struct insn *insn)
{
	return value_arithmetic[insn->op];
}

/* A multicast copy; the operand that says to which CTAs of the cluster (ISA 9.7.9.27.1), or NULL. */
bool value_sends_to_mask(const struct insn *);
const struct operand *value_multicast_mask(const struct function *, const struct insn *);

/* value_operand.c */
/* A load from the parameters of the function itself, which never change; *fixed: from one place. */
bool value_loads_parameter(const struct values *, const struct insn *, bool *fixed);
struct value evaluate_operand(struct evaluation, uint32_t insn, const struct operand *);
/* value_eval.c */
struct value evaluate_node(struct evaluation, uint32_t node);
/* One definition from its operands (without the guard). */
struct value evaluate_definition(struct evaluation, uint32_t node);

/* value_idiom.c: remainders computed as differences */
bool idiom_difference(struct evaluation, const struct operand *const sources[2],
	const struct value values[2], struct value *);
/* a + (~y | (2^k - 1)), where y is a constant away from a: another form of a - (y & -2^k). */
bool idiom_sum(struct evaluation, const struct operand *a, const struct operand *b, struct value *);
/* value_floor.c: a is y * 2^k and b is c & y >> 31. */
bool idiom_floor(struct evaluation e, const struct operand *a, const struct operand *b, struct value *);
/* A difference that is shifted left by so many bits: its low bits are what it gives. */
bool idiom_shifted(struct evaluation, const struct operand *, uint32_t by, struct value *);
bool idiom_multiply_add(struct evaluation, const struct insn *, struct value *);
/* The upper part of x * factor, from 2^shift on, and one more where x is negative, is x / d for
 * each x of 32 bits. */
bool idiom_divides_signed(uint32_t factor, uint32_t shift, uint64_t d);

/* value_lockstep.c: sums of two registers that move in step */
#define LOCKSTEP_MOST 8
bool lockstep_evaluate(struct evaluation, const struct insn *, struct value *);
/* It has no such form. */
static inline bool lockstep_is_plain(const struct values *vs, const struct insn *insn)
{
	if (insn->op != OP_add && insn->op != OP_sub && insn->op != OP_mad)
		return true;
	return vs->plain && vs->plain[insn - vs->fn->insns];
}
/* Nodes behind phis whose values that takes, or phis themselves, LOCKSTEP_MOST + 1 at the most:
 * returns how many. */
uint32_t lockstep_reads(struct values *, const struct insn *, uint32_t *nodes);

bool idiom_align_up(struct evaluation, const struct insn *select, struct value *);

/* value_derived.c */
bool derived_align_up(struct values *, const struct value *, uint32_t k, struct value *);

/* value_descriptor.c */
struct value descriptor_from_address(struct values *, const struct value *shifted_from);
struct value descriptor_add(struct values *, const struct value *, const struct value *);
struct value descriptor_or(struct values *, const struct value *, const struct value *);
struct value descriptor_and(struct values *, const struct value *, uint64_t mask);
struct value descriptor_pack(
	struct values *, const struct value *low, const struct value *high, uint32_t half);
struct value descriptor_half(struct values *, const struct value *, bool high);
struct value descriptor_join(struct values *, const struct value *, const struct value *);

/* value_bits.c: the two sources of an or or xor certainly have no bit in common: then it is their sum. */
bool value_fields_apart(const struct values *, const struct insn *, uint32_t bits, uint32_t *assumptions);

/* value_context.c */
void context_find_controls(struct values *);
/* Forgets what holds in blocks, and all else that is in `caches`; what was found so stays as it is. */
void context_rest(struct values *);
void context_at_block(struct values *, uint32_t block, struct context *);
extern const struct context context_nothing;
/* Where the block is entered on one arm of a branch: brought up to date. */
const struct context *context_bring_up(struct values *, uint32_t block);
/* The same to read, until the values change or another is asked for. */
static inline const struct context *context_of_block(struct values *vs, uint32_t block)
{
	uint32_t control = vs->control[block];

	if (control == NONE)
		return &context_nothing;
	const struct kept_context *kept = vs->contexts ? vs->contexts[control] : NULL;

	if (kept && kept->seen == vs->outdated && kept->made == kept->since + 1)
		return &kept->context;
	return context_bring_up(vs, control);
}
/* Until the values change, also when another is asked for. */
bool context_stays(const struct values *, const struct context *of_block);
/* What follows from some predicate is something else since that clock; brings all that is kept up to date. */
bool context_any_since(struct values *, uint32_t clock);
/* Then: what follows from a guard that does or does not hold; from the branch on an edge; what holds in blocks. */
bool context_guard_since(const struct values *, uint32_t guard, bool holds, uint32_t clock);
bool context_branch_since(const struct values *, uint32_t from, uint32_t to, uint32_t clock);
void context_blocks_since(const struct values *, uint32_t clock, struct bits blocks);
/* The clock of the values when it, or what it is made of, became what it is. */
uint32_t context_look_since(struct values *, uint32_t block);
static inline uint32_t context_since(struct values *vs, uint32_t block)
{
	uint32_t control = vs->control[block];

	if (control == NONE)
		return 0;
	const struct kept_context *kept = vs->contexts ? vs->contexts[control] : NULL;

	return kept && kept->seen == vs->outdated ? kept->since : context_look_since(vs, block);
}
/* The value of a node has changed, or all have. */
void context_outdate(struct values *, uint32_t node);
void context_outdate_all(struct values *);
/* Replaces the constraints by those of another, or by none (NULL). */
void context_copy(struct context *, const struct context *from);
/* The branch at the end of a block that chooses between two successors, or NONE. */
uint32_t context_branch(const struct values *, uint32_t block);
/* The comparison of integers that an instruction's guard is the result of, or, with *negated, the opposite of;
 * NULL: something else. */
const struct insn *context_test(const struct values *, uint32_t insn, bool *negated);
void context_at_edge(struct values *, uint32_t from, uint32_t to, struct context *);
/* No more than what the branch itself says, at the end of `from`. */
void context_of_branch(struct values *, uint32_t from, uint32_t to, struct context *);
uint32_t context_edge_since(struct values *, uint32_t from, uint32_t to);
/* Its constraints are complete; those from `own` on are what its outer context lacks. */
void context_begin(struct values *, struct context *, uint32_t own);
/* False: no condition of a begun context (of its own ones) restricts the node or any that it is
 * computed from; `depth` bounds the search. */
bool context_matters(
	struct values *, const struct context *, uint32_t node, uint32_t depth);
/* The node is evaluated anew from its operands in a context, else it is what the solver found. */
static inline bool node_is_computed(const struct values *vs, uint32_t node)
{
	const struct node *n = &vs->ssa.nodes[node];

	return n->kind == NODE_DEF && n->previous == NONE &&
	       insn_is_arithmetic(&vs->fn->insns[n->insn]);
}
/* Adds what follows from a predicate node being true or false. */
void context_add(struct values *, struct context *, uint32_t predicate, bool holds);
/* value_implied.c: the same, worked out. */
void context_derive(struct values *, struct context *, uint32_t predicate, bool holds);
struct value context_restrict(const struct context *, uint32_t node, struct value);
static inline struct value context_apply(
	const struct context *context, uint32_t node, struct value v)
{
	return context->all >> (node % 64) & 1 ? context_restrict(context, node, v) : v;
}

/* What the solver has found, until it finds more. */
static inline const struct value *value_at(const struct values *vs, uint32_t node)
{
	return &vs->at[vs->at_of[node]];
}

/* value_solve.c */
struct value values_join(
	struct values *, const struct value *, const struct value *, uint32_t bits);
static inline uint32_t node_bits(const struct values *vs, uint32_t node)
{
	return vs->fn->regs[vs->ssa.nodes[node].reg].bits;
}

/* value_trips.c */
/* A constant as the text has it, in the instruction or in a mov before it. */
bool trips_constant_of(const struct values *, const struct operand *, int64_t *);
/* The node of an operand that is a whole register, or NONE. */
uint32_t trips_plain_node(const struct values *, const struct operand *);
/* node = result + constant, in full width, the constant added to *step; NONE: it is something else.
 */
uint32_t trips_step_back(const struct values *, uint32_t node, int64_t *step);
/* The phi that `node` is a constant away from. */
uint32_t trips_phi_below(const struct values *, uint32_t node, int64_t *step);
void trips_find(struct values *);
/* The loop of a phi that has a trip ends by it. */
void trips_count_by(struct values *, uint32_t phi);
bool trips_in_loop(const struct cfg *, uint32_t block, uint32_t head);
bool trips_is_back_edge(const struct values *, uint32_t block, uint32_t k);
/* The first counter whose rounds bound a phi, or NONE; the others follow by `next`. */
uint32_t trips_counters(const struct values *, uint32_t phi);
/* Something may bound the phi but what its inputs hold. */
bool trips_are_bounded(const struct values *, uint32_t phi);
bool trips_know_rounds(const struct values *, uint32_t phi);
/* What a phi can hold that starts in `start`, by the rounds of its loop; false: not known. */
bool trips_bound(struct values *, uint32_t phi, const struct value *start, struct value *);

/* value_ends.c */
void trips_find_ends(struct values *);
/* What a phi ends its loop by, or NULL. */
const struct trip_end *trips_end(const struct values *, uint32_t phi);
/* It is a number of so few that it is worth while to look at the ways into the loop. */
bool trips_end_is_near(const struct values *, uint32_t phi);
/* What the phi can hold that enters its loop in `start`, in the context of that way; false: not known. */
bool trips_bound_by_end(
	struct evaluation, uint32_t phi, const struct value *start, struct value *);

/* a - b, where a moves by a known number of rounds from b or a constant beside it; false: it does not. */
bool trips_distance(const struct values *, uint32_t a, uint32_t b, struct value *);

/* value_quiet.c: fills `meeting' and `quiet'. */
void values_find_quiet(struct values *);
/* value_uniform.c: fills `varies`; once, since who reads what goes with it. */
void values_find_uniform(struct values *);
/* `varies` or `varies_race_free`, found now if it was not yet. */
const bool *value_varying(const struct values *, bool race_free);
/* value_number.c */
void values_number(struct values *);
uint32_t number_of_operand(const struct values *, const struct operand *);
/* value_roots.c */
void values_find_roots(struct values *);

/* Classes of what an address was made from, as bits. */
#define ROOT_UNKNOWN (UINT64_C(1) << 63)
#define ROOT_SHARED (UINT64_C(1) << 62)	  /* address of a shared variable */
#define ROOT_VARIABLE (UINT64_C(1) << 61) /* address of a global or constant variable */
#define ROOT_LOADED (UINT64_C(1) << 60)	  /* came out of memory that the other roots reach */
#define ROOT_LOCAL (UINT64_C(1) << 59)
#define ROOT_PARAMS (ROOT_LOCAL - 1)
/* What an address operand was made from, over all ways; 0: nothing but numbers. */
uint64_t value_roots(const struct values *, uint32_t insn, const struct operand *);
