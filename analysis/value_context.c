/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In: a place. Out: conditions that hold there, as constraints on nodes: what follows from the
 * branches that lead to it on one arm only (value_implied.c). What follows from a predicate is kept
 * until a value that it was made from changes.
 * Why it is sound to use a constraint on any node whose definition dominates the branch: in strict
 * SSA the node was not computed again between the branch and the place (see ssa.c).
 */
#include "analysis/value_private.h"

#include <string.h>

/* The last instruction of the only predecessor decides, under a guard, whether this block is
 * entered. */
static uint32_t entry_branch(const struct values *vs, uint32_t b)
{
	const struct cfg *cfg = vs->cfg;
	const struct block *block = &cfg->blocks[b];

	if (block->pred.n != 1 || b == 0)
		return NONE;
	const struct block *p = &cfg->blocks[block->pred.v[0]];

	if (!p->count)
		return NONE;
	uint32_t last = p->first + p->count - 1;
	const struct insn *insn = &vs->fn->insns[last];

	if (insn->guard == NONE)
		return NONE;
	switch (insn->op) {
	case OP_bra:
		return p->succ.n == 2 && p->succ.v[0] != p->succ.v[1] ? last : NONE;
	case OP_ret:
	case OP_exit:
	case OP_trap:
		return p->succ.n == 1 && p->exits ? last : NONE;
	default:
		return NONE;
	}
}

void context_find_controls(struct values *vs)
{
	const struct cfg *cfg = vs->cfg;

	vs->outdated = 1;
	vs->control = ARENA_NEW(vs->arena, uint32_t, cfg->n + 1);
	vs->entry = ARENA_NEW(vs->arena, uint32_t, cfg->n + 1);
	for (uint32_t b = 0; b < cfg->n; b++) {
		uint32_t up = cfg->blocks[b].idom;

		vs->entry[b] = entry_branch(vs, b);
		vs->control[b] = vs->entry[b] != NONE ? b : up == NONE ? NONE : vs->control[up];
	}
}

void context_rest(struct values *vs)
{
	arena_end(&vs->caches);
	arena_begin(&vs->caches, vs->arena);
	vs->contexts = NULL;
	vs->ncontexts = 0;
	vs->implied = NULL;
	vs->places = NULL;
	vs->sums = NULL;
	vs->thread_numbers = NULL;
	vs->nthread_numbers = 0;
	memset(vs->linears, 0, sizeof(vs->linears));
	memset(vs->linear_nodes, 0, sizeof(vs->linear_nodes));
}

/* ---- what follows from a predicate, kept ---- */

#define SLICE_MAX 96 /* nodes; what follows from a predicate of more is not kept */

static void watch(struct values *vs, uint32_t node, uint32_t predicate)
{
	struct watch w = {predicate, vs->watch_of[node]};

	if (!vs->nwatches) /* index 0 is none */
		ARENA_PUSH(vs->arena, vs->watches, vs->nwatches, vs->watches_cap, w);
	vs->watch_of[node] = vs->nwatches;
	ARENA_PUSH(vs->arena, vs->watches, vs->nwatches, vs->watches_cap, w);
}

/* The latest predicate that was watched by it. */
static bool is_watched(const struct values *vs, uint32_t node, uint32_t predicate)
{
	uint32_t latest = vs->watch_of[node];

	return latest && vs->watches[latest].predicate == predicate;
}

/* Has the nodes watched that a predicate is computed from, through definitions; false: too many. */
static bool watch_slice(struct values *vs, uint32_t predicate)
{
	uint32_t v[SLICE_MAX], n = 0;

	watch(vs, predicate, predicate);
	v[n++] = predicate;
	for (uint32_t done = 0; done < n; done++) {
		if (vs->ssa.nodes[v[done]].kind != NODE_DEF)
			continue;
		for (uint32_t i = vs->read_at[v[done]]; i < vs->read_at[v[done] + 1]; i++) {
			uint32_t read = vs->reads[i];

			if (is_watched(vs, read, predicate))
				continue;
			if (n == SLICE_MAX)
				return false;
			watch(vs, read, predicate);
			v[n++] = read;
		}
	}
	return true;
}

void context_outdate(struct values *vs, uint32_t node)
{
	for (uint32_t w = vs->watch_of[node]; w; w = vs->watches[w].next) {
		struct implied *known = vs->implied[vs->watches[w].predicate];

		vs->outdated += known->current[0] || known->current[1];
		known->current[0] = known->current[1] = false;
	}
}

void context_outdate_all(struct values *vs)
{
	for (uint32_t i = 0; vs->implied && i < vs->nsolved; i++)
		if (vs->implied[i])
			vs->implied[i]->current[0] = vs->implied[i]->current[1] = false;
	vs->outdated++;
}

void context_copy(struct context *context, const struct context *from)
{
	context->n = from ? from->n : 0;
	context->all = from ? from->all : 0;
	if (context->n)
		memcpy(context->v, from->v, sizeof(*from->v) * from->n);
}

static void append(struct context *context, const struct constraint *v, uint32_t n, uint64_t mask)
{
	if (n > CONTEXT_MAX - context->n)
		n = CONTEXT_MAX - context->n;
	memcpy(context->v + context->n, v, sizeof(*v) * n);
	context->n += n;
	context->all |= mask;
}

static uint64_t mask_of(const struct constraint *v, uint32_t n)
{
	uint64_t mask = 0;

	for (uint32_t i = 0; i < n; i++)
		mask |= UINT64_C(1) << (v[i].node % 64);
	return mask;
}

static bool is_same_constraint(const struct constraint *a, const struct constraint *b)
{
	return a->node == b->node && a->assumptions == b->assumptions && a->lo == b->lo &&
	       a->hi == b->hi && a->bits == b->bits && a->is_signed == b->is_signed &&
	       a->excludes == b->excludes;
}

static bool is_same(const struct implied *known, uint32_t half, const struct context *fresh)
{
	uint32_t i = 0;

	if (!known->since[half] || known->n[half] != fresh->n)
		return false;
	while (i < fresh->n && is_same_constraint(&known->v[half][i], &fresh->v[i]))
		i++;
	return i == fresh->n;
}

static void derive(struct values *vs, struct implied *known, uint32_t predicate, bool holds)
{
	struct constraint room[CONTEXT_MAX];
	struct context fresh = {.v = room};

	context_derive(vs, &fresh, predicate, holds);
	known->current[holds] = known->watched;
	if (is_same(known, holds, &fresh))
		return;
	if (fresh.n > known->cap[holds]) {
		known->cap[holds] = fresh.n;
		known->v[holds] = ARENA_UNSET(&vs->caches, struct constraint, fresh.n);
	}
	memcpy(known->v[holds], fresh.v, sizeof(*fresh.v) * fresh.n);
	known->n[holds] = fresh.n;
	known->mask[holds] = mask_of(fresh.v, fresh.n);
	known->since[holds] = vs->clock;
}

static const struct implied *implied_by(struct values *vs, uint32_t predicate, bool holds)
{
	if (!vs->implied)
		vs->implied = ARENA_NEW(&vs->caches, struct implied *, vs->nsolved + 1);
	struct implied *known = vs->implied[predicate];

	if (!known) {
		known = vs->implied[predicate] = ARENA_NEW(&vs->caches, struct implied, 1);
		known->watched = !vs->watch_of || watch_slice(vs, predicate);
	}
	if (!known->current[holds])
		derive(vs, known, predicate, holds);
	return known;
}

void context_add(struct values *vs, struct context *context, uint32_t predicate, bool holds)
{
	const struct implied *known = implied_by(vs, predicate, holds);

	append(context, known->v[holds], known->n[holds], known->mask[holds]);
}

/* ---- does a condition matter to a register? ---- */

void context_begin(struct values *vs, struct context *context, uint32_t own)
{
	context->own = own;
	context->serial = ++vs->serial;
	context->mask = own ? mask_of(context->v + own, context->n - own) : context->all;
}

static bool is_restricted(const struct context *context, uint32_t node)
{
	if (!(context->mask >> (node % 64) & 1))
		return false;
	for (uint32_t i = context->own; i < context->n; i++)
		if (context->v[i].node == node)
			return true;
	return false;
}

bool context_matters(
	struct values *vs, const struct context *context, uint32_t node, uint32_t depth)
{
	uint32_t *mark = &vs->marks[node];

	if (!context->mask)
		return false;
	if (*mark >> 1 == context->serial)
		return *mark & 1;
	bool yes = is_restricted(context, node);

	if (!yes && node_is_computed(vs, node)) {
		yes = !depth; /* who knows */
		for (uint32_t i = vs->read_at[node]; !yes && i < vs->read_at[node + 1]; i++)
			yes = context_matters(vs, context, vs->reads[i], depth - 1);
	}
	*mark = context->serial << 1 | yes;
	return yes;
}

/* ---- places ---- */

struct condition { /* the predicate holds, or does not */
	uint32_t predicate; /* or NONE */
	bool holds;
};

static struct condition condition_of(const struct values *vs, uint32_t branch, uint32_t to)
{
	const struct insn *insn = &vs->fn->insns[branch];
	const struct block *block = &vs->cfg->blocks[vs->cfg->block_of[branch]];
	uint32_t guard = vs->ssa.guard_of[branch];
	bool taken = insn->op == OP_bra && block->succ.v[0] == to;

	return (struct condition){guard < vs->nsolved ? guard : NONE, taken != insn->guard_negated};
}

static void add_branch(struct values *vs, struct context *context, uint32_t branch, uint32_t to)
{
	struct condition c = condition_of(vs, branch, to);

	if (c.predicate != NONE)
		context_add(vs, context, c.predicate, c.holds);
}

/* ---- what holds in a block, kept ---- */

#define KEPT_MOST (UINT32_C(1) << 16) /* constraints of all blocks together; 40 bytes each */

static struct kept_context *kept_at(struct values *vs, uint32_t block)
{
	if (!vs->contexts)
		vs->contexts = ARENA_NEW(&vs->caches, struct kept_context *, vs->cfg->n + 1);
	if (!vs->contexts[block])
		vs->contexts[block] = ARENA_NEW(&vs->caches, struct kept_context, 1);
	return vs->contexts[block];
}

static uint32_t control_above(const struct values *vs, uint32_t block)
{
	return vs->control[vs->cfg->blocks[block].idom];
}

/* Brings up to date what follows from the branches that lead to a block, `steps` of them at the most, and when
 * the latest became what it is. False: look again the next time, as some are not watched or left out. */
static bool find_since(struct values *vs, uint32_t block, uint32_t steps, uint32_t *since)
{
	*since = 0;
	if (block == NONE)
		return true;
	if (!steps)
		return false;
	struct kept_context *kept = kept_at(vs, block);

	if (kept->seen == vs->outdated) {
		*since = kept->since;
		return true;
	}
	struct condition c = condition_of(vs, vs->entry[block], block);
	const struct implied *own = c.predicate == NONE ? NULL : implied_by(vs, c.predicate, c.holds);
	bool whole = find_since(vs, control_above(vs, block), steps - 1, since);

	if (own && own->since[c.holds] > *since)
		*since = own->since[c.holds];
	whole = whole && (!own || own->watched);
	if (whole || steps == CONTROLS_MAX) {
		kept->since = *since;
		kept->seen = whole ? vs->outdated : 0;
	}
	return whole;
}

static void make(struct values *vs, struct context *context, uint32_t block)
{
	context_copy(context, NULL);
	for (uint32_t steps = 0; block != NONE && steps < CONTROLS_MAX && context->n < CONTEXT_MAX; steps++) {
		add_branch(vs, context, vs->entry[block], block);
		block = control_above(vs, block);
	}
}

/* What is made where no more is kept. */
static const struct context *passing(struct values *vs, const struct context *context)
{
	struct kept_context *last = kept_at(vs, vs->cfg->n);

	if (!last->cap) {
		last->cap = CONTEXT_MAX;
		last->context.v = ARENA_UNSET(&vs->caches, struct constraint, CONTEXT_MAX);
	}
	context_copy(&last->context, context);
	return &last->context;
}

const struct context context_nothing;

const struct context *context_bring_up(struct values *vs, uint32_t control)
{
	struct constraint room[CONTEXT_MAX];
	struct context fresh = {.v = room};
	struct kept_context *kept = kept_at(vs, control);
	uint32_t since;

	if (kept->seen != vs->outdated)
		find_since(vs, control, CONTROLS_MAX, &since);
	else
		since = kept->since;
	if (kept->made == since + 1)
		return &kept->context;
	make(vs, &fresh, control);
	if (kept->cap < fresh.n) {
		if (vs->ncontexts > KEPT_MOST)
			return passing(vs, &fresh);
		kept->cap = fresh.n;
		kept->context.v = ARENA_UNSET(&vs->caches, struct constraint, fresh.n);
		vs->ncontexts += fresh.n;
	}
	context_copy(&kept->context, &fresh);
	kept->made = since + 1;
	return &kept->context;
}

bool context_stays(const struct values *vs, const struct context *of_block)
{
	const struct kept_context *passing_by = vs->contexts ? vs->contexts[vs->cfg->n] : NULL;

	return !passing_by || of_block != &passing_by->context;
}

uint32_t context_look_since(struct values *vs, uint32_t block)
{
	uint32_t since;

	find_since(vs, vs->control[block], CONTROLS_MAX, &since);
	return since;
}

void context_at_block(struct values *vs, uint32_t block, struct context *context)
{
	context_copy(context, context_of_block(vs, block));
}

const struct insn *context_test(const struct values *vs, uint32_t insn, bool *negated)
{
	uint32_t node = vs->ssa.guard_of[insn];

	*negated = vs->fn->insns[insn].guard_negated;
	for (uint32_t fuel = 4; fuel--;) {
		if (node == NONE || node >= vs->nsolved || vs->ssa.nodes[node].kind != NODE_DEF ||
			vs->ssa.nodes[node].previous != NONE)
			return NULL;
		const struct insn *test = &vs->fn->insns[vs->ssa.nodes[node].insn];

		if (test->op == OP_setp) /* the second result says the opposite, the third source more */
			return insn_operand(vs->fn, test, 0)->kind == OPERAND_REG && !insn_source(vs->fn, test, 2) &&
					       !insn_type(test, 0).is_float
				       ? test
				       : NULL;
		if (test->op != OP_not)
			return NULL;
		*negated = !*negated;
		node = trips_plain_node(vs, insn_source(vs->fn, test, 0));
	}
	return NULL;
}

uint32_t context_branch(const struct values *vs, uint32_t b)
{
	const struct block *block = &vs->cfg->blocks[b];
	uint32_t last = block->first + block->count - 1;

	if (!block->count || block->succ.n != 2 || block->succ.v[0] == block->succ.v[1] ||
		vs->fn->insns[last].op != OP_bra || vs->fn->insns[last].guard == NONE)
		return NONE;
	return last;
}

void context_at_edge(struct values *vs, uint32_t from, uint32_t to, struct context *context)
{
	uint32_t branch = context_branch(vs, from);

	context_at_block(vs, from, context);
	if (branch == NONE)
		return;
	/* the nearest condition matters most: leave room for it */
	if (context->n > CONTEXT_MAX - 12)
		context->n = CONTEXT_MAX - 12;
	add_branch(vs, context, branch, to);
}

void context_of_branch(struct values *vs, uint32_t from, uint32_t to, struct context *context)
{
	uint32_t branch = context_branch(vs, from);

	context_copy(context, NULL);
	if (branch != NONE)
		add_branch(vs, context, branch, to);
}

uint32_t context_edge_since(struct values *vs, uint32_t from, uint32_t to)
{
	uint32_t branch = context_branch(vs, from), since = context_since(vs, from);

	if (branch == NONE)
		return since;
	struct condition c = condition_of(vs, branch, to);

	if (c.predicate == NONE)
		return since;
	uint32_t own = implied_by(vs, c.predicate, c.holds)->since[c.holds];

	return own > since ? own : since;
}

/* ---- what follows from something else now ---- */

bool context_any_since(struct values *vs, uint32_t clock)
{
	bool any = false;

	for (uint32_t i = 0; vs->implied && i < vs->nsolved; i++)
		for (uint32_t holds = 0; vs->implied[i] && holds < 2; holds++)
			if (vs->implied[i]->since[holds])
				any |= implied_by(vs, i, holds)->since[holds] >= clock;
	return any;
}

bool context_guard_since(const struct values *vs, uint32_t guard, bool holds, uint32_t clock)
{
	const struct implied *known = vs->implied && guard < vs->nsolved ? vs->implied[guard] : NULL;

	return known && known->since[holds] >= clock;
}

bool context_branch_since(const struct values *vs, uint32_t from, uint32_t to, uint32_t clock)
{
	uint32_t branch = context_branch(vs, from);
	struct condition c = branch == NONE ? (struct condition){NONE, false} : condition_of(vs, branch, to);

	return context_guard_since(vs, c.predicate, c.holds, clock);
}

void context_blocks_since(const struct values *vs, uint32_t clock, struct bits blocks)
{
	for (uint32_t b = 0; b < vs->cfg->n; b++) {
		uint32_t up = vs->cfg->blocks[b].idom;
		struct condition c = vs->entry[b] == NONE ? (struct condition){NONE, false}
							  : condition_of(vs, vs->entry[b], b);

		/* what dominates it comes before it */
		if (context_guard_since(vs, c.predicate, c.holds, clock) || (up != NONE && bits_has(blocks, up)))
			bits_set(blocks, b);
	}
}

struct value context_restrict(const struct context *context, uint32_t node, struct value v)
{
	for (uint32_t i = 0; i < context->n; i++) {
		const struct constraint *c = &context->v[i];

		if (c->node != node || range_is_empty(&v))
			continue;
		if (v.base != BASE_NUMBER) {
			/* a parameter's value, or an address: only plain numbers are restricted */
			if (v.base != BASE_PARAM || v.space || c->excludes)
				continue;
			struct value whole = c->is_signed ? range_signed(&v, c->bits)
							  : range_unsigned(&v, c->bits);
			struct value part = range_clip(&whole, c->lo, c->hi);

			if (range_is_empty(&part) || part.lo < -VALUE_FAR || part.hi > VALUE_FAR)
				continue;
			v = part;
			v.assumptions |= c->assumptions;
			continue;
		}
		struct value whole =
			c->is_signed ? range_signed(&v, c->bits) : range_unsigned(&v, c->bits);
		struct value part = c->excludes ? range_without(&whole, c->lo)
						: range_clip(&whole, c->lo, c->hi);

		/* that nothing is left must not rest on an assumption: nothing has no flags */
		if (range_is_empty(&part) && (v.assumptions | c->assumptions))
			continue;
		if (part.lo == whole.lo && part.hi == whole.hi && part.base == whole.base)
			continue; /* nothing gained: keep the form it had */
		if (!range_is_empty(&part))
			part.assumptions |= c->assumptions;
		part.space = v.space;
		v = part;
	}
	return v;
}
