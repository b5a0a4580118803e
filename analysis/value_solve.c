/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In: a function with its graph and effects. Out: what each register of the interesting slices can
 * hold. Only registers that an address, size, descriptor, barrier, count or branch depends on are
 * looked at. Values start empty and grow in reverse postorder until nothing changes; loops are
 * widened at the constants of the text; then a few rounds make them narrower again. Invariant at
 * the end: evaluating any node again gives a subset of its value. A last full sweep checks it, so
 * that no dependence (on a condition's bound, say) need be tracked.
 */
#include "analysis/value_solver.h"

#include <string.h>

struct value values_join(
	struct values *vs, const struct value *a, const struct value *b, uint32_t bits)
{
	if (a->base == BASE_DESCRIPTOR && b->base == BASE_DESCRIPTOR && a->id != b->id)
		return descriptor_join(vs, a, b);
	return range_join(a, b, bits);
}

/* ---- what has changed since ---- */

static inline uint32_t later(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

static bool is_immediate(const struct values *vs, const struct insn *insn, uint32_t k)
{
	const struct operand *o = insn_source(vs->fn, insn, k);

	return o && o->kind == OPERAND_IMM;
}

/* A register may be a difference, through copies: idiom_shifted looks for that. */
static bool may_be_rounded(const struct values *vs, const struct operand *o)
{
	uint32_t node = trips_plain_node(vs, o);

	if (node == NONE || vs->ssa.nodes[node].kind != NODE_DEF)
		return false;
	const struct insn *insn = &vs->fn->insns[vs->ssa.nodes[node].insn];
	const struct operand *from = insn_source(vs->fn, insn, 0);

	return insn->op == OP_sub || (insn->op == OP_mov && from && from->kind == OPERAND_REG);
}

/* What a definition gives depends on no more than the values of the nodes that it reads and what holds where
 * it stands: no form is looked for in what its operands are computed from. */
static bool looks_no_further(const struct values *vs, uint32_t node)
{
	const struct node *n = &vs->ssa.nodes[node];
	const struct insn *insn = n->kind == NODE_DEF ? &vs->fn->insns[n->insn] : NULL;

	if (!insn || n->previous != NONE)
		return false;
	switch (insn->op) {
	case OP_mov:
	case OP_LINK_MOV:
	case OP_setp:
	case OP_ld:
	case OP_ldu:
	case OP_cvt:
	case OP_cvta:
	case OP_mul:
	case OP_shr:
	case OP_and:
		return true;
	case OP_add:
		return lockstep_is_plain(vs, insn);
	case OP_shl:
		return !may_be_rounded(vs, insn_source(vs->fn, insn, 0));
	case OP_sub:
	case OP_mad:
		return lockstep_is_plain(vs, insn) && is_immediate(vs, insn, 1) &&
		       (insn->op == OP_sub || insn_source(vs->fn, insn, 1)->imm >= 0);
	case OP_or:
	case OP_xor:
		return is_immediate(vs, insn, 0) || is_immediate(vs, insn, 1);
	default:
		return false;
	}
}

struct fresh {
	uint32_t here; /* the latest change of what a node reads, */
	uint32_t all;  /* or of what that is computed from */
};

static inline struct fresh fresh_reads(const struct solver *s, uint32_t node)
{
	const struct values *vs = s->vs;
	struct fresh fresh = {0, 0};

	for (uint32_t i = vs->read_at[node]; i < vs->read_at[node + 1]; i++) {
		fresh.here = later(fresh.here, vs->changed[vs->reads[i]]);
		fresh.all = later(fresh.all, vs->fresh[vs->reads[i]]);
	}
	return fresh;
}

/* What holds on some way into a block has changed since. */
static bool ways_changed(const struct solver *s, uint32_t b, uint32_t since)
{
	const struct block *block = &s->vs->cfg->blocks[b];

	for (uint32_t i = 0; i < block->pred.n; i++)
		if (context_edge_since(s->vs, block->pred.v[i], b) >= since)
			return true;
	return false;
}

/* What a node is computed from is up to date. */
static inline struct fresh refresh(const struct solver *s, uint32_t node)
{
	const struct values *vs = s->vs;
	struct fresh fresh = fresh_reads(s, node);

	if (vs->ssa.nodes[node].kind == NODE_DEF)
		vs->fresh[node] = later(vs->fresh[node], fresh.all);
	return fresh;
}

/* Something that the evaluation of a node may look at has changed since the latest one. */
static inline bool is_stale(const struct solver *s, uint32_t node)
{
	const struct node *n = &s->vs->ssa.nodes[node];
	struct fresh fresh = refresh(s, node);
	uint32_t looked = s->looked[node];

	if ((s->shallow[node] ? fresh.here : fresh.all) >= looked)
		return true;
	return n->kind == NODE_PHI ? ways_changed(s, n->block, looked)
				   : context_since(s->vs, n->block) >= looked;
}

static void set(struct solver *s, uint32_t node, const struct value *v)
{
	struct values *vs = s->vs;

	vs->at[node] = *v;
	vs->changed[node] = ++vs->clock;
	context_outdate(vs, node);
	s->vs->fresh[node] = vs->clock;
	if (s->circle[s->rank[node]] < s->unsettled)
		s->unsettled = s->circle[s->rank[node]];
}

static struct value evaluate_anew(struct solver *s, uint32_t node)
{
	struct values *vs = s->vs;
	const struct context *context = context_of_block(vs, vs->ssa.nodes[node].block);

	return evaluate_node((struct evaluation){vs, context, 0, NULL}, node);
}

/* What the node gives, or gave the last time if it is not stale. */
static struct value evaluate(struct solver *s, uint32_t node, bool stale)
{
	if (stale) {
		s->last[node] = evaluate_anew(s, node);
		s->looked[node] = s->vs->clock + 1;
	}
	if (!s->capped[node] || s->last[node].base == BASE_EMPTY)
		return s->last[node];
	return solver_cap(&s->last[node],
		s->last[node].base == BASE_NUMBER ? node_bits(s->vs, node) : 64);
}

/* Brings one node up to date that is stale; true when it grew. */
static bool grow(struct solver *s, uint32_t node)
{
	struct values *vs = s->vs;
	struct value old = vs->at[node], v = evaluate(s, node, true);
	uint32_t bits = node_bits(vs, node);

	if (!range_is_empty(&old))
		bits_set(s->loose, s->rank[node]);
	if (range_subset(&v, &old, bits)) {
		refresh(s, node);
		return false;
	}
	if (!range_is_empty(&old)) {
		v = values_join(vs, &old, &v, bits);
		if (s->changes[node] < 255)
			s->changes[node]++;
		if (s->changes[node] > 100) { /* never seen: an operation that does not settle */
			uint32_t flags = v.assumptions;

			v = range_top(bits);
			v.assumptions = flags;
		} else if (vs->ssa.nodes[node].kind == NODE_PHI) {
			v = solver_widen(s, node, &old, &v);
		} else if (s->changes[node] > 40) {
			v = solver_lose_bounds(&v, bits);
		}
		if (range_subset(&v, &old, bits)) {
			refresh(s, node);
			return false;
		}
	}
	set(s, node, &v);
	return true;
}

/* Evaluates what is marked from one rank up to another, and what reads that when it grew: all of it is stale. */
static bool settle(struct solver *s, uint32_t from, uint32_t to)
{
	struct values *vs = s->vs;
	bool any = false;

	for (uint32_t r = bits_next(s->dirty, from); r < to; r = bits_next(s->dirty, r)) {
		uint32_t node = s->order[r];

		bits_clear(s->dirty, r);
		if (budget_spent(vs->budget))
			return false;
		if (!grow(s, node))
			continue;
		any = true;
		/* a user before this one is in a loop: go back to it once the scan has passed */
		uint32_t least = r;

		for (uint32_t u = s->vs->user_at[node]; u < s->vs->user_at[node + 1]; u++) {
			uint32_t rank = s->rank[s->vs->users[u]];

			if (rank >= to)
				continue;
			bits_set(s->dirty, rank);
			least = rank < least ? rank : least;
		}
		r = least;
	}
	return any;
}

/* Marks what is to be evaluated, of the nodes from one rank up to another. Definitions come behind those that
 * they read, so one pass brings them up to date; phis read what is behind them, too. */
static void mark_stale(struct solver *s, uint32_t from, uint32_t to)
{
	const struct node *nodes = s->vs->ssa.nodes;

	for (uint32_t phis = 0; phis < 2; phis++)
		for (uint32_t r = from; r < to; r++)
			if ((nodes[s->order[r]].kind == NODE_PHI) == phis && is_stale(s, s->order[r]))
				bits_set(s->dirty, r);
}

/* Nothing depends on what comes behind it, but for the rest of its circle. */
static void begin_sweep(struct solver *s)
{
	uint32_t from = s->unsettled;

	s->unsettled = s->vs->nsolved;
	mark_stale(s, from, s->vs->nsolved);
}

/* The rank behind a circle. */
static uint32_t circle_end(const struct solver *s, uint32_t first)
{
	uint32_t end = first + 1;

	while (s->circle[end] == first)
		end++;
	return end;
}

/* What is in no circle was evaluated when all that it depends on was what it is now. */
static void sweep_circles(struct solver *s)
{
	uint32_t from = s->unsettled;

	s->unsettled = s->vs->nsolved;
	for (uint32_t i = 0; i < s->ncircles; i++)
		if (s->circles[i] >= from)
			mark_stale(s, s->circles[i], circle_end(s, s->circles[i]));
}

/* Gives a node that has no value yet its first one. */
static void begin(struct solver *s, uint32_t node)
{
	struct value *v = &s->last[node];

	*v = evaluate_anew(s, node);
	s->looked[node] = s->vs->clock + 1;
	if (range_is_empty(v))
		refresh(s, node);
	else
		set(s, node, v);
}

static void settle_circle(struct solver *s, uint32_t from, uint32_t to)
{
	if (!bits_has(s->anew, from))
		return;
	for (uint32_t r = from; r < to; r++)
		bits_set(s->dirty, r);
	settle(s, from, to);
}

/* Each circle settles before what depends on it is looked at. */
static void settle_circles(struct solver *s)
{
	uint32_t r = 0;

	for (uint32_t i = 0; i <= s->ncircles; i++) {
		for (; r < s->circles[i] && !budget_spent(s->vs->budget); r++)
			if (bits_has(s->anew, r))
				begin(s, s->order[r]);
		if (i == s->ncircles || budget_spent(s->vs->budget))
			return;
		r = circle_end(s, s->circles[i]);
		settle_circle(s, s->circles[i], r);
	}
}

/* Grows everything to a set that evaluation maps into itself. */
static void ascend(struct solver *s)
{
	uint32_t first = bits_next(s->anew, 0);

	settle_circles(s);
	s->unsettled = first == NONE ? s->vs->nsolved : s->circle[first];
	sweep_circles(s);
	while (!s->vs->budget->spent && settle(s, 0, s->vs->nsolved))
		begin_sweep(s);
}

/* All was looked at in turn since the last sweep, so nothing is stale but by what stands behind it. */
static void sweep_again(struct solver *s)
{
	if (s->vs->looks_behind)
		begin_sweep(s);
	else
		sweep_circles(s);
}

/* The better of what a node has and what it gives; false: it is no better. */
static bool shrink(struct solver *s, uint32_t node, bool stale)
{
	struct values *vs = s->vs;
	struct value v = evaluate(s, node, stale);

	if (range_is_empty(&v) || memcmp(&v, &vs->at[node], sizeof(v)) == 0)
		return false;
	v = range_meet(&vs->at[node], &v, node_bits(vs, node));
	if (memcmp(&v, &vs->at[node], sizeof(v)) == 0)
		return false;
	set(s, node, &v);
	return true;
}

/* Those phis are from now on evaluated in another way. */
static void mark_bounded(struct solver *s)
{
	for (uint32_t i = 0; i < s->vs->ntrips; i++) {
		uint32_t phi = s->vs->trips[i].node;

		if (trips_are_bounded(s->vs, phi) && bits_has(s->anew, s->rank[phi])) {
			s->looked[phi] = 0;
			bits_set(s->dirty, s->rank[phi]);
		}
	}
}

/* The first rank from r on that may have something better. Nothing becomes stale before something changes; the
 * meet with what was evaluated before is there, or was taken a round ago. */
static uint32_t next_to_shrink(const struct solver *s, uint32_t r, uint32_t round)
{
	uint32_t stale = bits_next(s->dirty, r), loose = round ? NONE : bits_next(s->loose, r);

	return stale < loose ? stale : loose;
}

/* What evaluation gives from a sound solution is sound, so the better of both is. False: nothing is stale. */
static bool narrow(struct solver *s)
{
	struct values *vs = s->vs;
	bool changed = true;

	mark_bounded(s);
	for (uint32_t round = 0; changed && round < 3; round++) {
		changed = false;
		if (round) /* else nothing but the bounded ones is stale: all has settled */
			sweep_again(s);
		for (uint32_t r = 0; r < vs->nsolved; r++) {
			if (!changed && (r = next_to_shrink(s, r, round)) == NONE)
				break;
			uint32_t node = s->order[r];
			bool stale = changed ? is_stale(s, node) : bits_has(s->dirty, r);

			bits_clear(s->dirty, r);
			if ((!stale && (round || !bits_has(s->loose, r))) ||
				range_is_empty(&vs->at[node]) || budget_spent(vs->budget))
				continue;
			changed |= shrink(s, node, stale);
		}
	}
	return changed || vs->budget->spent;
}

/* ---- all of it ---- */

/* Has the node solved anew. */
static void reset(struct solver *s, uint32_t node)
{
	struct values *vs = s->vs;
	const struct node *n = &vs->ssa.nodes[node];

	vs->at[node] = range_empty();
	vs->changed[node] = vs->clock;
	s->changes[node] = 0;
	s->capped[node] = false;
	s->looked[node] = 0;
	for (uint32_t k = 0; n->kind == NODE_PHI && k < vs->cfg->blocks[n->block].pred.n; k++)
		vs->kept_inputs[n->input + k].looked = 0;
}

/* Those that are to be solved anew. */
static void solve(struct solver *s)
{
	struct values *vs = s->vs;

	vs->clock++;
	bits_zero(s->dirty);
	for (uint32_t r = bits_next(s->anew, 0); r != NONE; r = bits_next(s->anew, r + 1))
		reset(s, s->order[r]);
	bits_zero(s->loose);
	/* two for five instructions, in kernels full of accesses */
	vs->kept = (struct kept_values){.expected = vs->fn->ninsns / 2};
	vs->places = NULL;
	vs->steady = NULL;
	vs->same = NULL;
	ascend(s);
	if (vs->budget->spent) {
		/* what is there may not cover everything yet: know nothing */
		vs->unsolved = true;
		for (uint32_t i = 0; i < vs->nsolved; i++)
			vs->at[i] = range_top(node_bits(vs, i));
	} else {
		vs->narrowing = true;
		if (narrow(s))
			sweep_again(s);
		vs->narrowing = false;
	}
}

static void solve_all(struct solver *s)
{
	context_outdate_all(s->vs);
	for (uint32_t r = 0; r < s->vs->nsolved; r++)
		bits_set(s->anew, r);
	solve(s);
	if (!s->vs->unsolved)
		solver_find_steady(s);
}

#define AGAIN_MOST 4 /* times that only a part is solved anew */

/* The alignment of dynamic shared memory is another one: what is made of it is solved anew, and what stands where
 * something else follows from that. */
static void solve_aligned(struct solver *s)
{
	struct values *vs = s->vs;

	launch_find_dependent(s);
	for (uint32_t round = 0; round < AGAIN_MOST && bits_count(s->anew) < vs->nsolved / 2; round++) {
		uint32_t begun = vs->clock + 1;

		solve(s);
		if (vs->unsolved)
			return;
		if (launch_find_outdated(s, begun))
			continue;
		solver_find_steady(s);
		return;
	}
	solve_all(s);
}

/* What only the solution needs. */
static void give_back(struct solver *s)
{
	struct arena *arena = s->vs->arena;
	uint32_t n = s->vs->nsolved + 1;

	ARENA_GIVE_BACK(arena, s->thresholds, s->thresholds_cap);
	ARENA_GIVE_BACK(arena, s->last, n);
	ARENA_GIVE_BACK(arena, s->looked, n);
	ARENA_GIVE_BACK(arena, s->shallow, n);
	ARENA_GIVE_BACK(arena, s->vs->kept_inputs, s->ninputs + 1);
	ARENA_GIVE_BACK(arena, s->vs->fresh, n);
	ARENA_GIVE_BACK(arena, s->vs->changed, n);
	ARENA_GIVE_BACK(arena, s->vs->watches, s->vs->watches_cap);
	ARENA_GIVE_BACK(arena, s->vs->watch_of, n);
	s->vs->kept_inputs = NULL;
	s->vs->fresh = s->vs->changed = s->vs->watch_of = NULL;
	s->vs->watches = NULL;
	ARENA_GIVE_BACK(arena, s->capped, n);
	ARENA_GIVE_BACK(arena, s->changes, n);
	ARENA_GIVE_BACK(arena, s->loose.words, s->loose.nwords);
	ARENA_GIVE_BACK(arena, s->dirty.words, s->dirty.nwords);
	ARENA_GIVE_BACK(arena, s->anew.words, s->anew.nwords);
	ARENA_GIVE_BACK(arena, s->circles, n);
	ARENA_GIVE_BACK(arena, s->circle, n);
	ARENA_GIVE_BACK(arena, s->rank, n);
	ARENA_GIVE_BACK(arena, s->order, n);
}

/* No value changes any more, and few differ. */
static void share_values(struct values *vs)
{
	struct kept_values kept = {0};

	if (vs->nsolved < 4 * KEPT_FEW)
		return;
	for (uint32_t i = 0; i < vs->nsolved; i++) {
		bool again = i && memcmp(&vs->at[i], &vs->at[i - 1], sizeof(*vs->at)) == 0;

		vs->at_of[i] = again ? vs->at_of[i - 1]
				     : kept_number(&kept, vs->arena, &vs->at[i]);
	}
	ARENA_GIVE_BACK(vs->arena, kept.numbers, kept.numbers_cap);
	ARENA_GIVE_BACK(vs->arena, vs->at, vs->nsolved + 1);
	vs->at = kept.v;
}

struct values *values_solve(const struct function *fn, const struct cfg *cfg,
	const struct analysis_options *options, struct arena *arena, struct budget *budget,
	uint32_t *assumptions_used)
{
	struct values *vs = ARENA_NEW(arena, struct values, 1);
	struct solver s = {.vs = vs};

	(void)assumptions_used; /* bounds carry their own assumptions; see struct value */
	*vs = (struct values){
		.fn = fn, .cfg = cfg, .options = options, .arena = arena, .budget = budget};
	arena_begin(&vs->caches, arena);
	ssa_init(&vs->ssa, fn, cfg, arena);
	launch_find(vs);
	solver_slice(&s);
	vs->at = ARENA_UNSET(arena, struct value, vs->nsolved + 1);
	vs->at_of = ARENA_UNSET(arena, uint32_t, vs->nsolved + 1);
	for (uint32_t i = 0; i < vs->nsolved; i++)
		vs->at_of[i] = i;
	context_find_controls(vs);
	solver_order(&s);
	s.dirty = bits_new(arena, vs->nsolved + 1);
	s.anew = bits_new(arena, vs->nsolved + 1);
	s.loose = bits_new(arena, vs->nsolved + 1);
	s.changes = ARENA_NEW(arena, uint8_t, vs->nsolved + 1);
	s.capped = ARENA_NEW(arena, bool, vs->nsolved + 1);
	vs->changed = ARENA_NEW(arena, uint32_t, vs->nsolved + 1);
	vs->watch_of = ARENA_NEW(arena, uint32_t, vs->nsolved + 1);
	vs->marks = ARENA_NEW(arena, uint32_t, vs->nsolved + 1);
	vs->fresh = ARENA_NEW(arena, uint32_t, vs->nsolved + 1);
	s.ninputs = vs->ssa.ninputs;
	vs->kept_inputs = ARENA_NEW(arena, struct kept_input, s.ninputs + 1);
	s.shallow = ARENA_NEW(arena, bool, vs->nsolved + 1);
	for (uint32_t i = 0; i < vs->nsolved; i++)
		s.shallow[i] = looks_no_further(vs, i);
	s.looked = ARENA_NEW(arena, uint32_t, vs->nsolved + 1);
	s.last = ARENA_UNSET(arena, struct value, vs->nsolved + 1);
	solve_all(&s);
	if (!vs->unsolved && launch_find_alignment(vs))
		solve_aligned(&s);
	give_back(&s);
	if (!options->text_only) /* may never be asked for */
		values_find_uniform(vs);
	values_number(vs);
	values_find_roots(vs);
	share_values(vs);
	ssa_rest(&vs->ssa);
	return vs;
}

void value_forget(struct values *vs)
{
	context_rest(vs);
}

void value_rest(struct values *vs)
{
	value_forget(vs);
	ssa_drop_index(&vs->ssa);
}
