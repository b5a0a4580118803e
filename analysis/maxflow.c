/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Comes in: a network as a list of edges with capacities. Goes out: the value of a maximum flow and
 * the side of the sink in the cut nearest to it. Invariant: an edge and its reverse are neighbours
 * in the arrays (e and e ^ 1), and the sum of what is left on both never changes.
 */
#include "analysis/maxflow.h"

#include <assert.h>

struct half {	       /* of an edge: one way */
	uint32_t next; /* of the same node, or NONE */
	uint32_t to;
	uint64_t left; /* capacity that is not used */
};

struct maxflow {
	uint32_t nodes;
	uint32_t *head;		 /* by node: its first edge, or NONE */
	uint32_t *level;	 /* by node: distance to the sink in this phase, or NONE */
	uint32_t *turn;		 /* by node: the edge to try next in this phase */
	uint32_t *queue, nqueue; /* the nodes that have a level */
	uint32_t *path;
	struct half *v; /* by edge */
	uint32_t n;
	size_t cap;
};

struct maxflow *maxflow_new(struct arena *arena, uint32_t nodes, size_t edges)
{
	struct maxflow *m = ARENA_NEW(arena, struct maxflow, 1);

	m->nodes = nodes;
	m->cap = 2 * edges;
	m->v = ARENA_UNSET(arena, struct half, m->cap);
	m->head = ARENA_UNSET(arena, uint32_t, nodes);
	m->level = ARENA_UNSET(arena, uint32_t, nodes);
	m->turn = ARENA_UNSET(arena, uint32_t, nodes);
	m->queue = ARENA_UNSET(arena, uint32_t, nodes);
	m->path = ARENA_UNSET(arena, uint32_t, nodes);
	memset(m->level, 0xff, sizeof(*m->level) * nodes);
	maxflow_clear(m);
	return m;
}

void maxflow_clear(struct maxflow *m)
{
	memset(m->head, 0xff, sizeof(*m->head) * m->nodes);
	m->n = 0;
}

static void half_edge(struct maxflow *m, uint32_t from, uint32_t to, uint64_t capacity)
{
	assert(m->n < m->cap);
	m->v[m->n] = (struct half){m->head[from], to, capacity};
	m->head[from] = m->n++;
}

void maxflow_edge(struct maxflow *m, uint32_t from, uint32_t to, uint64_t capacity)
{
	half_edge(m, from, to, capacity);
	half_edge(m, to, from, 0);
}

static void reach(struct maxflow *m, uint32_t node, uint32_t level)
{
	m->level[node] = level;
	m->turn[node] = m->head[node];
	m->queue[m->nqueue++] = node;
}

/* Distances to the sink over edges with capacity left, up to the source's; false when it is out of
 * reach. From this side, since there are many sources as a rule, and the cut that is wanted is near
 * the sink: what is behind it is not looked at again. */
static bool number_levels(struct maxflow *m, uint32_t source, uint32_t sink)
{
	for (uint32_t i = 0; i < m->nqueue; i++)
		m->level[m->queue[i]] = NONE;
	m->nqueue = 0;
	reach(m, sink, 0);
	for (uint32_t i = 0; i < m->nqueue && m->level[source] == NONE; i++) {
		uint32_t u = m->queue[i];

		for (uint32_t e = m->head[u]; e != NONE; e = m->v[e].next)
			if (m->level[m->v[e].to] == NONE && m->v[e ^ 1].left)
				reach(m, m->v[e].to, m->level[u] + 1);
	}
	return m->level[source] != NONE;
}

/* The next edge of u, which is not the sink, that goes one level down, or NONE; skipped ones are
 * not tried again in the phase. */
static uint32_t next_turn(struct maxflow *m, uint32_t u)
{
	for (uint32_t e = m->turn[u]; e != NONE; e = m->v[e].next)
		if (m->v[e].left && m->level[m->v[e].to] == m->level[u] - 1)
			return m->turn[u] = e;
	return m->turn[u] = NONE;
}

/* Pushes along the path of edges; the depth of its first edge that is now full. */
static uint32_t augment(struct maxflow *m, const uint32_t *path, uint32_t depth, uint64_t *pushed)
{
	uint64_t least = MAXFLOW_INFINITE;
	uint32_t full = 0;

	for (uint32_t i = 0; i < depth; i++)
		if (m->v[path[i]].left < least)
			least = m->v[path[i]].left;
	*pushed = least;
	for (uint32_t i = depth; i-- > 0;) {
		m->v[path[i]].left -= least;
		m->v[path[i] ^ 1].left += least;
		if (!m->v[path[i]].left)
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
			u = m->v[path[depth] ^ 1].to;
			continue;
		}
		uint32_t e = next_turn(m, u);

		if (e != NONE) {
			path[depth++] = e;
			u = m->v[e].to;
		} else if (u == source) {
			return true;
		} else {
			u = m->v[path[--depth] ^ 1].to;
			m->turn[u] = m->v[path[depth]].next;
		}
	}
}

uint64_t maxflow_run(struct maxflow *m, uint32_t source, uint32_t sink)
{
	uint64_t flow = 0;

	while (number_levels(m, source, sink))
		if (!block_flow(m, source, sink, &flow) || flow >= MAXFLOW_INFINITE)
			return MAXFLOW_INFINITE;
	return flow;
}

void maxflow_sink_side(const struct maxflow *m, struct bits side)
{
	bits_zero(side);
	for (uint32_t i = 0; i < m->nqueue; i++)
		bits_set(side, m->queue[i]);
}
