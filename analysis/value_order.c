/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In: nodes, what the evaluation of each may look at, and the branches that say what holds where it stands.
 * Out: the order in which to evaluate them: a node that depends on itself, through a loop, comes with all that
 * it goes in a circle with, in text order as far as loops allow; what only depends on such a circle comes behind
 * it, so that it is evaluated when the circle has settled. Circles are the strongly connected components of
 * "depends on" (Tarjan, SIAM J. Comput. 1972), which come out in the order that is looked for.
 */
#include "analysis/value_solver.h"

/* Vertices: the nodes, and behind them for each block what holds in it. */
struct circles {
	struct values *vs;
	uint32_t n;	   /* nodes */
	uint32_t *number;  /* by vertex: when it was reached, from 1 on; 0: it was not */
	uint32_t *least;   /* by vertex: the least number that it is known to lead back to */
	uint32_t *next;	   /* by vertex: its next edge */
	uint32_t *path;	   /* from where the walk started */
	uint32_t *open, nopen; /* reached, in no circle yet */
	uint32_t *circle;  /* by vertex: from 1 on, in order of evaluation */
	uint32_t reached, ncircles;
};

#define NO_EDGE NONE
#define LAST_EDGE (NONE - 1)

static uint32_t condition_at(const struct circles *c, uint32_t block)
{
	uint32_t control = c->vs->control[block];

	return control == NONE ? NO_EDGE : c->n + control;
}

static uint32_t guard_at(const struct circles *c, uint32_t branch)
{
	uint32_t guard = branch == NONE ? NONE : c->vs->ssa.guard_of[branch];

	return guard < c->n ? guard : NO_EDGE;
}

/* The k-th vertex that a vertex depends on by what holds where it stands. */
static uint32_t condition(const struct circles *c, uint32_t v, uint32_t k)
{
	const struct values *vs = c->vs;

	if (v >= c->n) { /* what holds in a block that is entered on one arm of a branch */
		uint32_t b = v - c->n;

		return k == 0	? guard_at(c, vs->entry[b])
		       : k == 1 ? condition_at(c, vs->cfg->blocks[b].idom)
				: LAST_EDGE;
	}
	const struct node *n = &vs->ssa.nodes[v];
	const struct block *block = &vs->cfg->blocks[n->block];

	if (n->kind == NODE_DEF && k == 0)
		return condition_at(c, n->block);
	if (n->kind != NODE_PHI || k / 2 >= block->pred.n)
		return LAST_EDGE;
	uint32_t from = block->pred.v[k / 2];

	return k % 2 ? guard_at(c, context_branch(vs, from)) : condition_at(c, from);
}

/* The next vertex that it depends on and that is in no circle yet, or LAST_EDGE. */
static uint32_t next_edge(struct circles *c, uint32_t v)
{
	const struct values *vs = c->vs;
	uint32_t first = v < c->n ? vs->read_at[v] : 0, reads = v < c->n ? vs->read_at[v + 1] - first : 0;

	while (c->next[v] < reads) {
		uint32_t to = vs->reads[first + c->next[v]++];

		if (!c->circle[to])
			return to;
	}
	for (;;) {
		uint32_t to = condition(c, v, c->next[v]++ - reads);

		if (to == LAST_EDGE || (to != NO_EDGE && !c->circle[to]))
			return to;
	}
}

static void close_circle(struct circles *c, uint32_t v)
{
	uint32_t w;

	c->ncircles++;
	do {
		w = c->open[--c->nopen];
		c->circle[w] = c->ncircles;
	} while (w != v);
}

static void walk(struct circles *c, uint32_t root)
{
	uint32_t depth = 0;

	for (uint32_t v = root;;) {
		if (!c->number[v]) {
			c->number[v] = c->least[v] = ++c->reached;
			c->open[c->nopen++] = v;
			c->path[depth++] = v;
		}
		uint32_t to = next_edge(c, v);

		if (to == LAST_EDGE) {
			if (c->least[v] == c->number[v])
				close_circle(c, v);
			if (!--depth)
				return;
			to = v;
			v = c->path[depth - 1];
		} else if (!c->number[to]) {
			v = to;
			continue;
		}
		if (!c->circle[to] && c->least[to] < c->least[v])
			c->least[v] = c->least[to];
	}
}

/* All that it depends on is in circles already, so it is one by itself. */
static bool stands_alone(struct circles *c, uint32_t v)
{
	if (next_edge(c, v) != LAST_EDGE) {
		c->next[v] = 0;
		return false;
	}
	c->number[v] = ++c->reached;
	c->circle[v] = ++c->ncircles;
	return true;
}

static void find_circles(struct circles *c, const uint32_t *order)
{
	struct arena *arena = c->vs->arena;
	uint32_t most = c->n + c->vs->cfg->n + 1;

	c->number = ARENA_NEW(arena, uint32_t, most);
	c->least = ARENA_UNSET(arena, uint32_t, most);
	c->next = ARENA_NEW(arena, uint32_t, most);
	c->path = ARENA_UNSET(arena, uint32_t, most);
	c->open = ARENA_UNSET(arena, uint32_t, most);
	c->circle = ARENA_NEW(arena, uint32_t, most);
	for (uint32_t k = 0; k < c->n; k++)
		if (!c->number[order[k]] && !stands_alone(c, order[k]))
			walk(c, order[k]);
	ARENA_GIVE_BACK(arena, c->open, most);
	ARENA_GIVE_BACK(arena, c->path, most);
	ARENA_GIVE_BACK(arena, c->next, most);
	ARENA_GIVE_BACK(arena, c->least, most);
	ARENA_GIVE_BACK(arena, c->number, most);
}

/* Nodes by block in reverse postorder; in a block phis first, then in text order. */
static uint32_t *in_text_order(struct values *vs)
{
	uint32_t n = vs->nsolved, at = 0;
	uint32_t *of_insn = ARENA_NEW(vs->arena, uint32_t, vs->fn->ninsns + 1);
	uint32_t *of_block = ARENA_NEW(vs->arena, uint32_t, vs->cfg->n + 1);
	uint32_t *next = ARENA_NEW(vs->arena, uint32_t, n + 1);
	uint32_t *order = ARENA_NEW(vs->arena, uint32_t, n + 1);

	for (uint32_t i = 0; i < vs->fn->ninsns; i++)
		of_insn[i] = NONE;
	for (uint32_t b = 0; b < vs->cfg->n; b++)
		of_block[b] = NONE;
	for (uint32_t i = n; i-- > 0;) {
		const struct node *node = &vs->ssa.nodes[i];
		uint32_t *list =
			node->kind == NODE_DEF ? &of_insn[node->insn] : &of_block[node->block];

		next[i] = *list;
		*list = i;
	}
	for (uint32_t b = 0; b < vs->cfg->n; b++) {
		const struct block *block = &vs->cfg->blocks[b];

		for (uint32_t i = of_block[b]; i != NONE; i = next[i])
			order[at++] = i;
		for (uint32_t k = block->first; k < block->first + block->count; k++)
			for (uint32_t i = of_insn[k]; i != NONE; i = next[i])
				order[at++] = i;
	}
	ARENA_GIVE_BACK(vs->arena, next, n + 1);
	ARENA_GIVE_BACK(vs->arena, of_block, vs->cfg->n + 1);
	ARENA_GIVE_BACK(vs->arena, of_insn, vs->fn->ninsns + 1);
	return order;
}

/* A definition does not depend on itself but through a phi; a phi may be a circle by itself. */
static void list_circles(struct solver *s)
{
	const struct values *vs = s->vs;

	s->circles = ARENA_UNSET(vs->arena, uint32_t, vs->nsolved + 1);
	for (uint32_t r = 0; r < vs->nsolved; r++)
		if (s->circle[r] == r &&
			(s->circle[r + 1] == r ||
				vs->ssa.nodes[s->order[r]].kind == NODE_PHI))
			s->circles[s->ncircles++] = r;
	s->circles[s->ncircles] = vs->nsolved;
}

void solver_order(struct solver *s)
{
	struct values *vs = s->vs;
	struct circles c = {.vs = vs, .n = vs->nsolved};

	vs->order = in_text_order(vs);
	find_circles(&c, vs->order);
	uint32_t *at = ARENA_NEW(vs->arena, uint32_t, c.ncircles + 2);

	for (uint32_t i = 0; i < c.n; i++)
		at[c.circle[i] + 1]++;
	for (uint32_t i = 1; i <= c.ncircles; i++)
		at[i + 1] += at[i];
	s->order = ARENA_UNSET(vs->arena, uint32_t, c.n + 1);
	s->rank = ARENA_UNSET(vs->arena, uint32_t, c.n + 1);
	s->circle = ARENA_UNSET(vs->arena, uint32_t, c.n + 1);
	s->circle[c.n] = c.n;
	for (uint32_t i = 1; i <= c.ncircles; i++)
		for (uint32_t rank = at[i]; rank < at[i + 1]; rank++)
			s->circle[rank] = at[i];
	for (uint32_t k = 0; k < c.n; k++) {
		uint32_t node = vs->order[k], rank = at[c.circle[node]]++;

		s->order[rank] = node;
		s->rank[node] = rank;
	}
	ARENA_GIVE_BACK(vs->arena, at, c.ncircles + 2);
	ARENA_GIVE_BACK(vs->arena, c.circle, c.n + vs->cfg->n + 1);
	list_circles(s);
}
