/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Comes in: demands of a solved scene. Goes out: sets of points. Invariant: a point is on a way
 * only if the demand's access is pending there.
 */
#include "analysis/ways.h"

bool ways_is_release(const struct unit *unit, uint32_t insn)
{
	const struct effect *effect = unit->effects[insn];

	return effect->releases || effect->is_exit;
}

void ways_build(const struct scene *scene, struct ways *ways)
{
	const struct cut_graph *g = &scene->points.graph;
	uint32_t *at = ARENA_NEW(scene->arena, uint32_t, g->n + 1);

	*ways = (struct ways){.scene = scene,
		.pred_first = ARENA_NEW(scene->arena, uint32_t, g->n + 1),
		.pred = ARENA_NEW(scene->arena, uint32_t, g->first[g->n] + 1),
		.queue = ARENA_NEW(scene->arena, uint32_t, g->n + 1),
		.forward = bits_new(scene->arena, g->n + 1),
		.ends = bits_new(scene->arena, g->n + 1)};
	for (uint32_t i = 0; i < g->first[g->n]; i++)
		ways->pred_first[g->succ[i] + 1]++;
	for (uint32_t p = 0; p < g->n; p++)
		ways->pred_first[p + 1] += ways->pred_first[p];
	memcpy(at, ways->pred_first, sizeof(*at) * g->n);
	for (uint32_t p = 0; p < g->n; p++)
		for (uint32_t i = g->first[p]; i < g->first[p + 1]; i++)
			ways->pred[at[g->succ[i]]++] = p;
}

/* Marks points, or takes the marks away. */
static void mark(struct bits ends, const uint32_t *points, uint32_t n, bool set)
{
	for (uint32_t i = 0; i < n; i++)
		set ? bits_set(ends, points[i]) : bits_clear(ends, points[i]);
}

/* Also behind a fence that ends a block, if the next one is reached with the access pending some
 * other way. */
static bool is_pending(const struct ways *ways, const struct demand *demand, uint32_t p)
{
	if (points_is_behind(&ways->scene->points, p))
		p = points_insn(&ways->scene->points, p) + 1;
	return bits_has(demand->pending, p);
}

static void go(struct ways *ways, uint32_t p, const struct demand *demand, struct bits seen,
	uint32_t *last)
{
	if (bits_has(seen, p) || !is_pending(ways, demand, p))
		return;
	bits_set(seen, p);
	ways->queue[(*last)++] = p;
}

static void forwards(struct ways *ways, const struct demand *demand)
{
	const struct cut_graph *g = &ways->scene->points.graph;
	uint32_t first = 0, last = 0;

	bits_zero(ways->forward);
	for (uint32_t i = 0; i < demand->nsources; i++)
		for (uint32_t k = g->first[demand->sources[i]];
			k < g->first[demand->sources[i] + 1]; k++)
			go(ways, g->succ[k], demand, ways->forward, &last);
	while (first < last) {
		uint32_t p = ways->queue[first++];

		if (bits_has(ways->ends, p))
			continue;
		for (uint32_t k = g->first[p]; k < g->first[p + 1]; k++)
			go(ways, g->succ[k], demand, ways->forward, &last);
	}
}

void ways_of(struct ways *ways, const struct demand *demand, enum way_end end, struct bits on_way)
{
	uint32_t first = 0, last = 0;

	mark(ways->ends, demand->sinks, demand->nsinks, true);
	forwards(ways, demand);
	bits_zero(on_way);
	for (uint32_t i = 0; i < demand->nsinks; i++) {
		uint32_t p = demand->sinks[i];

		if (bits_has(ways->forward, p) &&
			(end == WAY_ANY || ways_is_release(ways->scene->unit, p)))
			go(ways, p, demand, on_way, &last);
	}
	while (first < last) {
		uint32_t p = ways->queue[first++];

		for (uint32_t k = ways->pred_first[p]; k < ways->pred_first[p + 1]; k++)
			if (bits_has(ways->forward, ways->pred[k]) &&
				!bits_has(ways->ends, ways->pred[k]))
				go(ways, ways->pred[k], demand, on_way, &last);
	}
	mark(ways->ends, demand->sinks, demand->nsinks, false);
}

static bool stops(const struct unit *unit, uint32_t insn)
{
	const struct effect *effect = unit->effects[insn];

	if (effect->releases || effect->acquires || effect->sync == SYNC_CPASYNC_ARRIVE)
		return true;
	for (uint8_t i = 0; i < effect->ntouches; i++)
		if (effect->touches[i].proxy == PROXY_ASYNC)
			return true;
	return false;
}

static void step(struct ways *ways, uint32_t p, bool backwards, struct bits nearby, uint32_t *last)
{
	const struct cut_graph *g = &ways->scene->points.graph;
	const uint32_t *at = backwards ? ways->pred_first : g->first;
	const uint32_t *to = backwards ? ways->pred : g->succ;

	for (uint32_t k = at[p]; k < at[p + 1]; k++) {
		if (bits_has(nearby, to[k]))
			continue;
		bits_set(nearby, to[k]);
		ways->queue[(*last)++] = to[k];
	}
}

void ways_nearby(struct ways *ways, uint32_t from, bool backwards, struct bits nearby)
{
	const struct unit *unit = ways->scene->unit;
	uint32_t first = 0, last = 0;

	bits_zero(nearby);
	step(ways, from, backwards, nearby, &last);
	while (first < last) {
		uint32_t p = ways->queue[first++];

		if (p != unit->fn->ninsns && (p > unit->fn->ninsns || !stops(unit, p)))
			step(ways, p, backwards, nearby, &last);
	}
}

/* Whether a marked end does not come first. */
static bool leads_to(struct ways *ways, uint32_t from, struct bits to)
{
	const struct unit *unit = ways->scene->unit;
	uint32_t first = 0, last = 0;

	bits_zero(ways->forward);
	step(ways, from, false, ways->forward, &last);
	while (first < last) {
		uint32_t p = ways->queue[first++];

		if (bits_has(ways->ends, p))
			continue;
		if (bits_has(to, p))
			return true;
		if (p != unit->fn->ninsns && (p > unit->fn->ninsns || !stops(unit, p)))
			step(ways, p, false, ways->forward, &last);
	}
	return false;
}

bool ways_lead_to(struct ways *ways, uint32_t from, const struct demand *demand, struct bits to)
{
	mark(ways->ends, demand->sources, demand->nsources, true);
	bool leads = leads_to(ways, from, to);

	mark(ways->ends, demand->sources, demand->nsources, false);
	return leads;
}
