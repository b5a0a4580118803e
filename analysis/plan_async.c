/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Comes in: an async access. Goes out: the point where compiler passes would fence it. Invariant:
 * between that point and the access no generic access is made and nothing is acquired, so the fence
 * covers there what it would cover right before the access.
 */
#include "analysis/plan_async.h"

/* Nothing that a fence behind it would cover and one before it would not. */
static bool is_neutral(const struct unit *unit, uint32_t k)
{
	const struct effect *effect = unit->effects[k];

	if (effect->acquires || effect->is_call || effect->sync == SYNC_CPASYNC_WAIT ||
		unit->fn->insns[k].op == OP_LINK_MOV)
		return false;
	if (!effect->known && effect->may_touch_memory)
		return false;
	for (uint8_t i = 0; i < effect->ntouches; i++) {
		const struct touch *touch = &effect->touches[i];

		if (touch->proxy == PROXY_GENERIC && !touch->mbarrier &&
			(touch->spaces & (SPACE_SHARED | SPACE_CLUSTER | SPACE_GLOBAL)))
			return false;
	}
	return true;
}

static bool all_neutral(const struct unit *unit, uint32_t from, uint32_t to)
{
	for (uint32_t k = from; k < to; k++)
		if (!is_neutral(unit, k))
			return false;
	return true;
}

/* Backwards in the block, over neutral instructions, to a point that takes a fence gladly. */
static uint32_t nearest_good(const struct scene *scene, uint32_t point)
{
	const struct unit *unit = scene->unit;
	uint32_t first = unit->cfg.blocks[unit->cfg.block_of[point]].first;
	uint32_t allowed = scene->points.cost[point] < CUT_FORBIDDEN ? point : NONE;

	for (uint32_t k = point;; k--) {
		if (scene->points.cost[k] < CUT_AVOID)
			return k;
		if (scene->points.cost[k] < CUT_FORBIDDEN && allowed == NONE)
			allowed = k;
		if (k == first || !is_neutral(unit, k - 1))
			return allowed;
	}
}

/* All blocks of which `head` is a dominator and that lie before `join` are neutral. */
static bool region_is_neutral(const struct unit *unit, uint32_t head, uint32_t join)
{
	for (uint32_t b = 0; b < unit->cfg.n; b++) {
		const struct block *block = &unit->cfg.blocks[b];

		if (b == head || b == join || !cfg_dominates(&unit->cfg, head, b) ||
			(join != NONE && cfg_dominates(&unit->cfg, join, b)))
			continue;
		if (!all_neutral(unit, block->first, block->first + block->count))
			return false;
	}
	return true;
}

static uint32_t last_of(const struct block *block)
{
	return block->first + block->count - 1;
}

/* The block outside of the loop from which alone its head is entered, or NONE. */
static uint32_t preheader(const struct unit *unit, uint32_t head)
{
	const struct block *block = &unit->cfg.blocks[head];
	uint32_t found = NONE;

	for (uint32_t i = 0; i < block->pred.n; i++) {
		if (cfg_dominates(&unit->cfg, head, block->pred.v[i]))
			continue;
		if (found != NONE)
			return NONE;
		found = block->pred.v[i];
	}
	return found;
}

static bool in_loop(const struct unit *unit, uint32_t b, uint32_t head)
{
	uint32_t depth = unit->cfg.blocks[head].loop_depth;

	return cfg_dominates(&unit->cfg, head, b) && unit->cfg.blocks[b].loop_depth >= depth;
}

static bool loop_is_neutral(const struct unit *unit, uint32_t head)
{
	for (uint32_t b = 0; b < unit->cfg.n; b++) {
		const struct block *block = &unit->cfg.blocks[b];

		if (in_loop(unit, b, head) &&
			!all_neutral(unit, block->first, block->first + block->count))
			return false;
	}
	return true;
}

/* One step outwards: the point before the branch into the arm, or before the loop (behind what
 * stands there, if a fence before that would cover less); NONE: stay. */
static uint32_t step_out(const struct scene *scene, uint32_t point)
{
	const struct unit *unit = scene->unit;
	const struct cfg *cfg = &unit->cfg;
	uint32_t b = cfg->block_of[point], head = cfg->blocks[b].loop_head, to;

	if (!all_neutral(unit, cfg->blocks[b].first, point))
		return NONE;
	if (head != NONE && loop_is_neutral(unit, head)) {
		to = preheader(unit, head);
	} else {
		to = cfg->blocks[b].idom;
		if (to == NONE || cfg->blocks[to].succ.n < 2 || cfg->blocks[to].loop_head != head ||
			!region_is_neutral(unit, to, cfg->blocks[to].ipdom))
			return NONE;
	}
	if (to == NONE || !cfg->blocks[to].count)
		return NONE;
	uint32_t last = last_of(&cfg->blocks[to]);

	return is_neutral(unit, last) ? last : points_end_of(&scene->points, last);
}

uint32_t async_point(const struct scene *scene, uint32_t insn, bool hoist)
{
	uint32_t point = nearest_good(scene, insn);

	while (hoist && point != NONE && !points_is_behind(&scene->points, point)) {
		uint32_t out = step_out(scene, point);

		if (out == NONE || scene->points.cost[out] >= CUT_AVOID)
			break;
		point = out;
	}
	return point;
}
