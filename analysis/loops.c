/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cycles and their nesting by Havlak's method (TOPLAS 1997): heads are visited in falling preorder
 * and their bodies collapsed by union-find. Edges wait at the lowest common ancestor of their ends
 * until that is visited (Ramalingam, TOPLAS 1999), so each is looked at once, also in irreducible
 * graphs. A cycle with several entries counts under the one that the depth-first walk reached
 * first, which is enough for "how often does this run".
 */
#include "analysis/dominators.h"
#include "analysis/preorder.h"

void preorder_find(const struct graph *g, uint32_t root, struct arena *arena, struct preorder *out)
{
	*out = (struct preorder){0, ARENA_UNSET(arena, uint32_t, g->n + 1),
		ARENA_UNSET(arena, uint32_t, g->n + 1), ARENA_UNSET(arena, uint32_t, g->n + 1),
		ARENA_UNSET(arena, uint32_t, g->n + 1)};
	uint32_t *stack = ARENA_UNSET(arena, uint32_t, g->n + 1);
	uint32_t *next = ARENA_UNSET(arena, uint32_t, g->n + 1);
	uint32_t depth = 0;

	for (uint32_t i = 0; i < g->n; i++)
		out->number[i] = NONE;
	out->number[root] = 0;
	out->at[0] = root;
	out->parent[0] = NONE;
	out->n = 1;
	next[0] = g->succ_at[root];
	stack[depth++] = 0;
	while (depth) {
		uint32_t v = stack[depth - 1];

		if (next[v] == g->succ_at[out->at[v] + 1]) {
			out->last[v] = out->n - 1;
			depth--;
			continue;
		}
		uint32_t to = g->succ[next[v]++];

		if (out->number[to] != NONE)
			continue;
		uint32_t w = out->n++;

		out->number[to] = w;
		out->at[w] = to;
		out->parent[w] = v;
		next[w] = g->succ_at[to];
		stack[depth++] = w;
	}
	ARENA_GIVE_BACK(arena, next, g->n + 1);
	ARENA_GIVE_BACK(arena, stack, g->n + 1);
}

struct edge { /* between preorder numbers, in a list */
	uint32_t from, to;
	uint32_t next; /* NONE: last */
};

struct nest {
	const struct graph *g;
	const struct preorder *order;
	struct edge *edges;
	uint32_t nedges;
	uint32_t *waiting; /* by lowest common ancestor: its first edge */
	uint32_t *into; /* by vertex that stands for a collapsed cycle: first edge that enters it */
	uint32_t *back; /* by head: first edge from its own subtree */
	uint32_t *set;	/* union-find: the head that a vertex is collapsed into */
	uint32_t *in_body; /* head whose body a vertex was put in last */
	uint32_t *head;
	uint32_t *body, nbody;
};

static uint32_t find(uint32_t *set, uint32_t v)
{
	while (set[v] != v) {
		set[v] = set[set[v]];
		v = set[v];
	}
	return v;
}

static void put_edge(struct nest *nest, uint32_t *list, uint32_t from, uint32_t to)
{
	nest->edges[nest->nedges] = (struct edge){from, to, *list};
	*list = nest->nedges++;
}

/* Sorts the edges that leave u. `active` leads from a finished vertex to its nearest ancestor on
 * the way from the root to u, which is the lowest common ancestor with u (Tarjan's offline method).
 */
static void sort_edges(struct nest *nest, uint32_t *active, uint32_t u)
{
	const struct graph *g = nest->g;
	uint32_t vertex = nest->order->at[u];

	for (uint32_t i = g->succ_at[vertex]; i < g->succ_at[vertex + 1]; i++) {
		uint32_t v = nest->order->number[g->succ[i]];

		if (v <= u && u <= nest->order->last[v])
			put_edge(nest, &nest->back[v], u, v);
		else
			put_edge(nest, &nest->waiting[v > u ? u : find(active, v)], u, v);
	}
}

static void sort_all_edges(struct nest *nest, struct arena *arena)
{
	uint32_t n = nest->order->n, top = 0;
	uint32_t *active = ARENA_NEW(arena, uint32_t, n);

	for (uint32_t u = 0; u < n; u++) {
		active[u] = u;
		for (; u && top != nest->order->parent[u]; top = nest->order->parent[top])
			active[top] = nest->order->parent[top];
		top = u;
		sort_edges(nest, active, u);
	}
}

static void join_body(struct nest *nest, uint32_t head, uint32_t v)
{
	if (v == head || nest->in_body[v] == head)
		return;
	nest->in_body[v] = head;
	nest->body[nest->nbody++] = v;
}

static void collapse(struct nest *nest, uint32_t head)
{
	nest->nbody = 0;
	for (uint32_t e = nest->back[head]; e != NONE; e = nest->edges[e].next)
		join_body(nest, head, find(nest->set, nest->edges[e].from));
	for (uint32_t k = 0; k < nest->nbody; k++)
		for (uint32_t e = nest->into[nest->body[k]]; e != NONE; e = nest->edges[e].next)
			join_body(nest, head, find(nest->set, nest->edges[e].from));
	for (uint32_t k = 0; k < nest->nbody; k++) {
		nest->head[nest->body[k]] = head;
		nest->set[nest->body[k]] = head;
	}
}

static void visit(struct nest *nest, uint32_t w)
{
	for (uint32_t e = nest->waiting[w]; e != NONE;) {
		struct edge *edge = &nest->edges[e];
		uint32_t next = edge->next, to = find(nest->set, edge->to);

		edge->next = nest->into[to];
		nest->into[to] = e;
		e = next;
	}
	if (nest->back[w] != NONE)
		collapse(nest, w);
}

static uint32_t *filled(struct arena *arena, uint32_t n, uint32_t with)
{
	uint32_t *v = ARENA_UNSET(arena, uint32_t, n);

	for (uint32_t i = 0; i < n; i++)
		v[i] = with;
	return v;
}

void loops_find(
	const struct graph *g, const struct preorder *order, struct arena *arena, uint32_t *head,
	bool *is_head)
{
	struct nest nest = {.g = g, .order = order};
	struct arena own;
	uint32_t n = order->n;

	arena_begin(&own, arena);
	nest.edges = ARENA_UNSET(&own, struct edge, g->succ_at[g->n]);
	nest.waiting = filled(&own, n, NONE);
	nest.into = filled(&own, n, NONE);
	nest.back = filled(&own, n, NONE);
	nest.set = filled(&own, n, 0);
	nest.in_body = filled(&own, n, NONE);
	nest.head = filled(&own, n, NONE);
	nest.body = filled(&own, n, NONE);
	for (uint32_t i = 0; i < n; i++)
		nest.set[i] = i;
	sort_all_edges(&nest, &own);
	for (uint32_t w = n; w-- > 0;)
		visit(&nest, w);
	for (uint32_t i = 0; i < g->n; i++) {
		head[i] = NONE;
		is_head[i] = false;
	}
	for (uint32_t w = 0; w < n; w++) {
		is_head[order->at[w]] = nest.back[w] != NONE;
		if (nest.head[w] != NONE)
			head[order->at[w]] = order->at[nest.head[w]];
	}
	arena_end(&own);
}
