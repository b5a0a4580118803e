/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Maximum flow, and by it the cheapest way to cut a network in two (Dinic 1970: phases of shortest
 * augmenting paths). No recursion; the memory is the arena's.
 */
#pragma once

#include "base/bits.h"
#include "base/span.h"

#define MAXFLOW_INFINITE (UINT64_C(1) << 62) /* a capacity that no cut may take */

struct maxflow;

/* For networks of that many nodes and at most so many edges. */
struct maxflow *maxflow_new(struct arena *, uint32_t nodes, size_t edges);
/* Forgets the edges and keeps the memory, for another network. */
void maxflow_clear(struct maxflow *);
void maxflow_edge(struct maxflow *, uint32_t from, uint32_t to, uint64_t capacity);
/* The value of a maximum flow = the cost of a cheapest cut; MAXFLOW_INFINITE: no finite cut exists.
 */
uint64_t maxflow_run(struct maxflow *, uint32_t source, uint32_t sink);
/* After maxflow_run that told a finite value: the nodes that can still reach the sink. The edges into
 * this set from outside are the cheapest cut nearest the sink. */
void maxflow_sink_side(const struct maxflow *, struct bits side);
