/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dominators by Lengauer and Tarjan with path compression (TOPLAS 1979): O(m log n) on every graph,
 * where the iterative method of Cooper, Harvey and Kennedy is quadratic on a ladder of early exits.
 * In: a graph and its root. Out: the tree, with places that answer "dominates" in constant time.
 * Vertices are called by their preorder number throughout; `at` leads back to the caller's.
 */
#include "analysis/dominators.h"

#include "analysis/preorder.h"

struct forest {
	uint32_t *semi, *ancestor, *label, *stack;
};

/* The vertex with the least semidominator on the way from v to the root of its tree in the forest.
 */
static uint32_t evaluate(struct forest *f, uint32_t v)
{
	uint32_t n = 0;

	if (f->ancestor[v] == NONE)
		return v;
	for (uint32_t x = v; f->ancestor[f->ancestor[x]] != NONE; x = f->ancestor[x])
		f->stack[n++] = x;
	while (n--) {
		uint32_t x = f->stack[n], a = f->ancestor[x];

		if (f->semi[f->label[a]] < f->semi[f->label[x]])
			f->label[x] = f->label[a];
		f->ancestor[x] = f->ancestor[a];
	}
	return f->label[v];
}

static uint32_t *filled(struct arena *arena, uint32_t n, uint32_t with)
{
	uint32_t *v = ARENA_UNSET(arena, uint32_t, n + 1);

	for (uint32_t i = 0; i < n; i++)
		v[i] = with;
	return v;
}

static void find_semidominator(
	const struct graph *g, const struct preorder *order, struct forest *f, uint32_t w)
{
	uint32_t vertex = order->at[w];

	for (uint32_t i = g->pred_at[vertex]; i < g->pred_at[vertex + 1]; i++) {
		uint32_t v = order->number[g->pred[i]];

		if (v == NONE)
			continue;
		uint32_t u = evaluate(f, v);

		if (f->semi[u] < f->semi[w])
			f->semi[w] = f->semi[u];
	}
}

/* Immediate dominators by preorder number. */
static uint32_t *solve(const struct graph *g, const struct preorder *order, struct arena *arena)
{
	uint32_t n = order->n;
	uint32_t *idom = filled(arena, n, NONE), *bucket = filled(arena, n, NONE);
	uint32_t *next = filled(arena, n, NONE);
	struct forest f = {filled(arena, n, 0), filled(arena, n, NONE), filled(arena, n, 0),
		filled(arena, n, 0)};

	for (uint32_t i = 0; i < n; i++)
		f.semi[i] = f.label[i] = i;
	for (uint32_t w = n; w-- > 1;) {
		uint32_t parent = order->parent[w];

		find_semidominator(g, order, &f, w);
		next[w] = bucket[f.semi[w]];
		bucket[f.semi[w]] = w;
		f.ancestor[w] = parent;
		for (uint32_t v = bucket[parent]; v != NONE; v = next[v]) {
			uint32_t u = evaluate(&f, v);

			idom[v] = f.semi[u] < f.semi[v] ? u : parent;
		}
		bucket[parent] = NONE;
	}
	for (uint32_t w = 1; w < n; w++)
		if (idom[w] != f.semi[w])
			idom[w] = idom[idom[w]];
	return idom;
}

/* Preorder places in the dominator tree: a parent's number is below its children's. */
static void number_tree(const struct preorder *order, const uint32_t *idom, struct arena *arena,
	struct dominators *out)
{
	uint32_t n = order->n;
	uint32_t *size = filled(arena, n, 1), *place = filled(arena, n, 0);

	for (uint32_t w = n; w-- > 1;)
		size[idom[w]] += size[w];
	for (uint32_t w = 0; w < n; w++) {
		uint32_t enter = w ? place[idom[w]] : 0;

		if (w)
			place[idom[w]] += size[w];
		place[w] = enter + 1;
		out->enter[order->at[w]] = enter;
		out->leave[order->at[w]] = enter + size[w];
	}
}

void dominators_find(
	const struct graph *g, const struct preorder *order, struct arena *arena, struct dominators *out)
{
	struct arena own;

	arena_begin(&own, arena);
	uint32_t *idom = solve(g, order, &own);

	out->idom = filled(arena, g->n, NONE);
	out->enter = filled(arena, g->n, NONE);
	out->leave = filled(arena, g->n, NONE);
	for (uint32_t w = 1; w < order->n; w++)
		out->idom[order->at[w]] = order->at[idom[w]];
	number_tree(order, idom, &own, out);
	arena_end(&own);
}
