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

static uint32_t later(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

static uint32_t fresh_node(const struct solver *s, uint32_t node)
{
	return node == NONE || node >= s->vs->nsolved ? 0 : s->fresh[node];
}

static void make_fresh(struct solver *s, uint32_t node, uint32_t clock)
{
	if (clock <= s->fresh[node])
		return;
	s->fresh[node] = clock;
	s->decisions += s->decides[node];
}

static void find_deciding(struct solver *s)
{
	const struct values *vs = s->vs;

	s->decisions = 1;
	for (uint32_t b = 0; b < vs->cfg->n; b++) {
		uint32_t guard = vs->entry[b] == NONE ? NONE : vs->ssa.guard_of[vs->entry[b]];

		if (guard != NONE && guard < vs->nsolved)
			s->decides[guard] = true;
	}
}

/* The latest change of what holds at a block; see context_at_block. */
static uint32_t fresh_context(struct solver *s, uint32_t block)
{
	const struct values *vs = s->vs;
	struct fresh_place *place = &s->places[block];
	uint32_t fresh = 0;

	if (place->decisions == s->decisions)
		return place->fresh;
	for (uint32_t b = vs->control[block], steps = 0; b != NONE && steps < CONTROLS_MAX;
		steps++) {
		fresh = later(fresh, fresh_node(s, vs->ssa.guard_of[vs->entry[b]]));
		b = vs->control[vs->cfg->blocks[b].idom];
	}
	*place = (struct fresh_place){s->decisions, fresh};
	return fresh;
}

static uint32_t fresh_reads(const struct solver *s, uint32_t node)
{
	uint32_t fresh = 0;

	for (uint32_t i = s->vs->read_at[node]; i < s->vs->read_at[node + 1]; i++)
		fresh = later(fresh, s->fresh[s->vs->reads[i]]);
	return fresh;
}

/* The latest change of what holds on the ways into a block. */
static uint32_t fresh_ways(struct solver *s, uint32_t b)
{
	const struct values *vs = s->vs;
	const struct block *block = &vs->cfg->blocks[b];
	uint32_t fresh = 0;

	for (uint32_t i = 0; i < block->pred.n; i++) {
		uint32_t branch = context_branch(vs, block->pred.v[i]);

		fresh = later(fresh, fresh_context(s, block->pred.v[i]));
		if (branch != NONE)
			fresh = later(fresh, fresh_node(s, vs->ssa.guard_of[branch]));
	}
	return fresh;
}

/* The latest change of anything that the evaluation of a node may look at. */
static uint32_t fresh_around(struct solver *s, uint32_t node)
{
	const struct node *n = &s->vs->ssa.nodes[node];

	uint32_t fresh = fresh_reads(s, node);

	if (n->kind == NODE_PHI)
		return later(fresh, fresh_ways(s, n->block));
	make_fresh(s, node, fresh);
	return later(fresh, fresh_context(s, n->block));
}

/* Definitions come behind those that they read, so one pass brings all up to date. */
static void begin_sweep(struct solver *s)
{
	struct values *vs = s->vs;

	for (uint32_t r = 0; r < vs->nsolved; r++) {
		uint32_t node = s->order[r];

		if (vs->ssa.nodes[node].kind == NODE_DEF)
			make_fresh(s, node, fresh_reads(s, node));
	}
	s->context_block = NONE;
}

static void set(struct solver *s, uint32_t node, const struct value *v)
{
	struct values *vs = s->vs;

	vs->at[node] = *v;
	vs->changed[node] = ++vs->clock;
	vs->slice_clock += vs->in_slice[node];
	make_fresh(s, node, vs->clock);
}

static struct value evaluate_anew(struct solver *s, uint32_t node)
{
	struct values *vs = s->vs;
	const struct node *n = &vs->ssa.nodes[node];

	if (n->kind == NODE_DEF && s->context_block != n->block) {
		context_at_block(vs, n->block, &s->context);
		s->context_block = n->block;
	}
	return evaluate_node((struct evaluation){vs, &s->context, 0, NULL}, node);
}

/* *anew: not what it gave the last time. */
static struct value evaluate(struct solver *s, uint32_t node, bool *anew)
{
	*anew = fresh_around(s, node) >= s->looked[node];
	if (*anew) {
		s->last[node] = evaluate_anew(s, node);
		s->looked[node] = s->vs->clock + 1;
	}
	struct value v = s->last[node];

	if (s->capped[node] && v.base != BASE_EMPTY)
		v = solver_cap(&v, v.base == BASE_NUMBER ? node_bits(s->vs, node) : 64);
	return v;
}

/* Brings one node up to date; true when it grew. */
static bool grow(struct solver *s, uint32_t node)
{
	struct values *vs = s->vs;
	bool anew;
	struct value v = evaluate(s, node, &anew), old = vs->at[node];
	uint32_t bits = node_bits(vs, node);

	if (range_subset(&v, &old, bits))
		return false;
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
		if (range_subset(&v, &old, bits))
			return false;
	}
	set(s, node, &v);
	return true;
}

static bool settle(struct solver *s)
{
	struct values *vs = s->vs;
	bool any = false;

	for (uint32_t r = bits_next(s->dirty, 0); r != NONE; r = bits_next(s->dirty, r)) {
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

			bits_set(s->dirty, rank);
			least = rank < least ? rank : least;
		}
		if (least < r)
			s->context_block = NONE;
		r = least;
	}
	return any;
}

/* Grows everything to a set that evaluation maps into itself. */
static void ascend(struct solver *s)
{
	struct values *vs = s->vs;

	do {
		for (uint32_t r = 0; r < vs->nsolved; r++)
			bits_set(s->dirty, r);
		begin_sweep(s);
	} while (settle(s) && !vs->budget->spent);
}

/* What evaluation gives from a sound solution is sound, so the better of both is. */
static void narrow(struct solver *s)
{
	struct values *vs = s->vs;

	for (uint32_t round = 0; round < 3; round++) {
		bool changed = false;

		begin_sweep(s);
		for (uint32_t r = 0; r < vs->nsolved; r++) {
			uint32_t node = s->order[r];
			uint32_t bits = node_bits(vs, node);

			if (range_is_empty(&vs->at[node]) || budget_spent(vs->budget))
				continue;
			bool anew;
			struct value v = evaluate(s, node, &anew);

			/* the meet with what was evaluated before was taken a round ago */
			if ((round && !anew) || range_is_empty(&v) ||
				memcmp(&v, &vs->at[node], sizeof(v)) == 0)
				continue;
			struct value better = range_meet(&vs->at[node], &v, bits);

			if (memcmp(&better, &vs->at[node], sizeof(better)) == 0)
				continue;
			changed = true;
			set(s, node, &better);
		}
		if (!changed)
			return;
	}
}

static void solve_all(struct solver *s)
{
	struct values *vs = s->vs;

	vs->clock++;
	vs->slice_clock++;
	for (uint32_t i = 0; i < vs->nsolved; i++) {
		vs->at[i] = range_empty();
		vs->changed[i] = vs->clock;
		s->changes[i] = 0;
		s->capped[i] = false;
		s->looked[i] = 0;
	}
	vs->cached = NULL;
	vs->places = NULL;
	ascend(s);
	if (vs->budget->spent) {
		/* what is there may not cover everything yet: know nothing */
		vs->unsolved = true;
		for (uint32_t i = 0; i < vs->nsolved; i++)
			vs->at[i] = range_top(node_bits(vs, i));
	} else {
		vs->narrowing = true;
		for (uint32_t i = 0; i < vs->nsolved; i++)
			if (trips_are_bounded(vs, i))
				s->looked[i] = 0; /* from now on evaluated in another way */
		narrow(s);
		vs->narrowing = false;
	}
}

/* What only the solution needs. */
static void give_back(struct solver *s)
{
	struct arena *arena = s->vs->arena;
	uint32_t n = s->vs->nsolved + 1;

	ARENA_GIVE_BACK(arena, s->last, n);
	ARENA_GIVE_BACK(arena, s->looked, n);
	ARENA_GIVE_BACK(arena, s->places, s->vs->cfg->n + 1);
	ARENA_GIVE_BACK(arena, s->decides, n);
	ARENA_GIVE_BACK(arena, s->fresh, n);
	ARENA_GIVE_BACK(arena, s->capped, n);
	ARENA_GIVE_BACK(arena, s->changes, n);
	ARENA_GIVE_BACK(arena, s->dirty.words, s->dirty.nwords);
	ARENA_GIVE_BACK(arena, s->rank, n);
}

struct values *values_solve(const struct function *fn, const struct cfg *cfg,
	const struct analysis_options *options, struct arena *arena, struct budget *budget,
	uint32_t *assumptions_used)
{
	struct values *vs = ARENA_NEW(arena, struct values, 1);
	struct constraint room[CONTEXT_MAX];
	struct solver s = {.vs = vs, .context = {.v = room}, .context_block = NONE};

	(void)assumptions_used; /* bounds carry their own assumptions; see struct value */
	*vs = (struct values){
		.fn = fn, .cfg = cfg, .options = options, .arena = arena, .budget = budget};
	launch_find(vs);
	ssa_init(&vs->ssa, fn, cfg, arena);
	solver_slice(&s);
	vs->at = ARENA_NEW(arena, struct value, vs->nsolved + 1);
	solver_collect_thresholds(&s);
	context_find_controls(vs);
	s.dirty = bits_new(arena, vs->nsolved + 1);
	s.changes = ARENA_NEW(arena, uint8_t, vs->nsolved + 1);
	s.capped = ARENA_NEW(arena, bool, vs->nsolved + 1);
	vs->changed = ARENA_NEW(arena, uint32_t, vs->nsolved + 1);
	vs->in_slice = ARENA_NEW(arena, bool, vs->nsolved + 1);
	vs->marks = ARENA_NEW(arena, uint32_t, vs->nsolved + 1);
	vs->implied = ARENA_NEW(arena, struct implied *, vs->nsolved + 1);
	s.fresh = ARENA_NEW(arena, uint32_t, vs->nsolved + 1);
	s.decides = ARENA_NEW(arena, bool, vs->nsolved + 1);
	s.places = ARENA_NEW(arena, struct fresh_place, cfg->n + 1);
	s.looked = ARENA_NEW(arena, uint32_t, vs->nsolved + 1);
	s.last = ARENA_NEW(arena, struct value, vs->nsolved + 1);
	find_deciding(&s);
	solve_all(&s);
	if (!vs->unsolved && launch_find_alignment(vs))
		solve_all(&s);
	give_back(&s);
	values_find_uniform(vs);
	values_number(vs);
	values_find_roots(vs);
	return vs;
}
