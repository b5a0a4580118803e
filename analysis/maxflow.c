/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Comes in: a network as a list of edges with capacities. Goes out: the value of a maximum flow and
 * the side of the sink in the cut nearest to it. Invariant: an edge and its reverse are neighbours
 * in the arrays (e and e ^ 1), and the sum of what is left on both never changes.
 */
#include "analysis/maxflow.h"

struct maxflow {
	struct arena *arena;
	uint32_t nodes;
	uint32_t *head;	 /* by node: its first edge, or NONE */
	uint32_t *level; /* by node: distance from the source in this phase */
	uint32_t *turn;	 /* by node: the edge to try next in this phase */
	uint32_t *queue, *path;
	uint32_t *next, *to; /* by edge */
	uint64_t *left;	     /* by edge: capacity that is not used */
	uint32_t n, cap;
};

struct maxflow *maxflow_new(struct arena *arena, uint32_t nodes)
{
	struct maxflow *m = ARENA_NEW(arena, struct maxflow, 1);

	m->arena = arena;
	m->nodes = nodes;
	m->head = ARENA_NEW(arena, uint32_t, nodes);
	m->level = ARENA_NEW(arena, uint32_t, nodes);
	m->turn = ARENA_NEW(arena, uint32_t, nodes);
	m->queue = ARENA_NEW(arena, uint32_t, nodes);
	m->path = ARENA_NEW(arena, uint32_t, nodes);
	maxflow_clear(m);
	return m;
}

void maxflow_clear(struct maxflow *m)
{
	memset(m->head, 0xff, sizeof(*m->head) * m->nodes);
	m->n = 0;
}

static void reserve(struct maxflow *m)
{
	uint32_t cap = m->cap ? 2 * m->cap : 64;

	if (m->n + 2 <= m->cap)
		return;
	m->next = arena_grow(m->arena, m->next, sizeof(*m->next) * m->cap, sizeof(*m->next) * cap);
	m->to = arena_grow(m->arena, m->to, sizeof(*m->to) * m->cap, sizeof(*m->to) * cap);
	m->left = arena_grow(m->arena, m->left, sizeof(*m->left) * m->cap, sizeof(*m->left) * cap);
	m->cap = cap;
}

static void half_edge(struct maxflow *m, uint32_t from, uint32_t to, uint64_t capacity)
{
	m->to[m->n] = to;
	m->left[m->n] = capacity;
	m->next[m->n] = m->head[from];
	m->head[from] = m->n++;
}

void maxflow_edge(struct maxflow *m, uint32_t from, uint32_t to, uint64_t capacity)
{
	reserve(m);
	half_edge(m, from, to, capacity);
	half_edge(m, to, from, 0);
}

/* Distances from the source over edges with capacity left; false when the sink is out of reach. */
static bool number_levels(struct maxflow *m, uint32_t source, uint32_t sink)
{
	uint32_t first = 0, last = 0;

	memset(m->level, 0xff, sizeof(*m->level) * m->nodes);
	m->level[source] = 0;
	m->queue[last++] = source;
	while (first < last && m->level[sink] == NONE) {
		uint32_t u = m->queue[first++];

		for (uint32_t e = m->head[u]; e != NONE; e = m->next[e]) {
			uint32_t v = m->to[e];

			if (!m->left[e] || m->level[v] != NONE)
				continue;
			m->level[v] = m->level[u] + 1;
			m->queue[last++] = v;
		}
	}
	return m->level[sink] != NONE;
}

/* The next edge of u that goes one level down, or NONE; skipped ones are not tried again in the
 * phase. */
static uint32_t next_turn(struct maxflow *m, uint32_t u)
{
	for (uint32_t e = m->turn[u]; e != NONE; e = m->next[e])
		if (m->left[e] && m->level[m->to[e]] == m->level[u] + 1)
			return m->turn[u] = e;
	return m->turn[u] = NONE;
}

/* Pushes along the path of edges; the depth of its first edge that is now full. */
static uint32_t augment(struct maxflow *m, const uint32_t *path, uint32_t depth, uint64_t *pushed)
{
	uint64_t least = MAXFLOW_INFINITE;
	uint32_t full = 0;

	for (uint32_t i = 0; i < depth; i++)
		if (m->left[path[i]] < least)
			least = m->left[path[i]];
	*pushed = least;
	for (uint32_t i = depth; i-- > 0;) {
		m->left[path[i]] -= least;
		m->left[path[i] ^ 1] += least;
		if (!m->left[path[i]])
			full = i;
	}
	return full;
}

/* One phase: augments until no path of shortest length is left. False: a path without any finite
 * edge. */
static bool block_flow(struct maxflow *m, uint32_t source, uint32_t sink, uint64_t *flow)
{
	uint32_t u = source, depth = 0, *path = m->path;

	for (;;) {
		if (u == sink) {
			uint64_t pushed;

			depth = augment(m, path, depth, &pushed);
			if (pushed == MAXFLOW_INFINITE)
				return false;
			*flow += pushed;
			u = m->to[path[depth] ^ 1];
			continue;
		}
		uint32_t e = next_turn(m, u);

		if (e != NONE) {
			path[depth++] = e;
			u = m->to[e];
		} else if (u == source) {
			return true;
		} else {
			u = m->to[path[--depth] ^ 1];
			m->turn[u] = m->next[path[depth]];
		}
	}
}

uint64_t maxflow_run(struct maxflow *m, uint32_t source, uint32_t sink)
{
	uint64_t flow = 0;

	while (number_levels(m, source, sink)) {
		memcpy(m->turn, m->head, sizeof(*m->turn) * m->nodes);
		if (!block_flow(m, source, sink, &flow) || flow >= MAXFLOW_INFINITE)
			return MAXFLOW_INFINITE;
	}
	return flow;
}

void maxflow_sink_side(struct maxflow *m, uint32_t sink, struct bits side)
{
	uint32_t first = 0, last = 0;

	bits_zero(side);
	bits_set(side, sink);
	m->queue[last++] = sink;
	while (first < last) {
		uint32_t u = m->queue[first++];

		for (uint32_t e = m->head[u]; e != NONE; e = m->next[e]) {
			uint32_t v = m->to[e];

			if (!m->left[e ^ 1] || bits_has(side, v))
				continue;
			bits_set(side, v);
			m->queue[last++] = v;
		}
	}
}
