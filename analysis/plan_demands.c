/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Comes in: many demands. Goes out: fewer, those that end at the same places being one. Invariant:
 * what meets the joined demand meets each of its parts; it may ask for more where the parts are
 * pending in different places, so it is used only where their number would cost too much time.
 */
#include "analysis/plan_demands.h"

#include <stdlib.h>

static int by_end(const void *x, const void *y)
{
	const struct demand *a = x, *b = y;

	if (a->width != b->width)
		return a->width < b->width ? -1 : 1;
	if (a->waiting_side != b->waiting_side)
		return a->waiting_side ? 1 : -1;
	if (a->nsinks != b->nsinks)
		return a->nsinks < b->nsinks ? -1 : 1;
	return memcmp(a->sinks, b->sinks, sizeof(*a->sinks) * a->nsinks);
}

static uint32_t *room(struct arena *arena, uint32_t total, uint32_t **at)
{
	*at = ARENA_NEW(arena, uint32_t, total + 1);
	return *at;
}

static uint32_t *append(uint32_t *to, const uint32_t *v, uint32_t n)
{
	if (n)
		memcpy(to, v, sizeof(*v) * n);
	return to + n;
}

/* All of v[0 .. n) into the first. */
static struct demand joined(struct demand *v, uint32_t n, struct arena *arena)
{
	struct demand sum = v[0];
	uint32_t sources = 0, edges = 0, *to;

	for (uint32_t i = 0; i < n; i++) {
		sources += v[i].nsources;
		edges += v[i].nedges;
		if (v[i].pending.words != sum.pending.words)
			bits_or(sum.pending, v[i].pending);
	}
	sum.sources = room(arena, sources, &to);
	for (uint32_t i = 0; i < n; i++)
		to = append(to, v[i].sources, v[i].nsources);
	sum.edges = room(arena, edges, &to);
	for (uint32_t i = 0; i < n; i++)
		to = append(to, v[i].edges, v[i].nedges);
	sum.nsources = sources;
	sum.nedges = edges;
	return sum;
}

uint32_t demands_join(struct demand *v, uint32_t n, struct arena *arena)
{
	return n <= DEMANDS_MANY ? n : demands_join_all(v, n, arena);
}

uint32_t demands_join_all(struct demand *v, uint32_t n, struct arena *arena)
{
	uint32_t kept = 0;

	if (!n)
		return 0;
	qsort(v, n, sizeof(*v), by_end);
	for (uint32_t i = 0, k; i < n; i = k) {
		for (k = i + 1; k < n && by_end(&v[i], &v[k]) == 0; k++)
			;
		v[kept++] = joined(v + i, k - i, arena);
	}
	return kept;
}
