/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Comes in: the comments of a (linked) function. Goes out: which instructions they speak of.
 * Invariant: a hint that is not understood, lacks its reason, or is not closed, changes nothing and
 * is reported.
 */
#include "analysis/hints.h"

#include "analysis/points.h"

#include <stdlib.h>

static int by_place(const void *a, const void *b)
{
	const struct hint_use *x = a, *y = b;

	return x->hint->at.begin < y->hint->at.begin ? -1 : x->hint->at.begin > y->hint->at.begin;
}

/* Copies of a callee repeat its comments: each place once. */
static void collect(const struct function *fn, struct arena *arena, struct hint_map *map)
{
	map->uses = ARENA_NEW(arena, struct hint_use, fn->nhints + 1);
	for (uint32_t i = 0; i < fn->nhints; i++)
		map->uses[map->nuses++] = (struct hint_use){.hint = &fn->hints[i]};
	qsort(map->uses, map->nuses, sizeof(*map->uses), by_place);
	uint32_t n = 0;

	for (uint32_t i = 0; i < map->nuses; i++)
		if (!n || map->uses[n - 1].hint->at.begin != map->uses[i].hint->at.begin)
			map->uses[n++] = map->uses[i];
	map->nuses = n;
}

static const struct span *body_of(const struct function *fn, uint32_t origin)
{
	return &fn->module->functions[origin].body;
}

static uint32_t function_at(const struct function *fn, uint32_t offset)
{
	uint32_t low = 0, high = fn->module->nfunctions; /* they are in order of the text */

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (fn->module->functions[mid].at.begin <= offset)
			low = mid + 1;
		else
			high = mid;
	}
	return low && fn->module->functions[low - 1].has_body && body_of(fn, low - 1)->begin <= offset &&
			       offset < body_of(fn, low - 1)->end
		       ? low - 1
		       : NONE;
}

static void check(const struct function *fn, struct hint_map *map)
{
	for (uint32_t i = 0; i < map->nuses; i++) {
		struct hint_use *use = &map->uses[i];
		bool bare = use->hint->reason.size == 0;

		if (use->hint->kind == HINT_INVALID)
			use->invalid =
				"not understood: say ignore, off, on, generic, async or neutral";
		else if (bare && (use->hint->kind == HINT_IGNORE || use->hint->kind == HINT_OFF))
			use->invalid = "a reason is missing behind it";
	}
	uint32_t open = NONE;

	for (uint32_t i = 0; i < map->nuses; i++) {
		struct hint_use *use = &map->uses[i];

		if (open != NONE && function_at(fn, use->hint->at.begin) !=
					    function_at(fn, map->uses[open].hint->at.begin)) {
			map->uses[open].invalid = "no `on' follows in this function";
			open = NONE;
		}
		if (use->hint->kind == HINT_OFF && !use->invalid && open == NONE)
			open = i;
		else if (use->hint->kind == HINT_ON && open == NONE)
			use->invalid = "no `off' stands before it";
		else if (use->hint->kind == HINT_ON)
			open = NONE;
	}
	if (open != NONE)
		map->uses[open].invalid = "no `on' follows in this function";
}

/* The first use that stands at or behind an offset of the text. */
static uint32_t first_use_at(const struct hint_map *map, uint32_t offset)
{
	uint32_t low = 0, high = map->nuses;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (map->uses[mid].hint->at.begin < offset)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* The uses that stand between the instruction before k (in its own function's text) and k. */
static void attach(const struct function *fn, struct arena *arena, struct hint_map *map)
{
	map->first = ARENA_NEW(arena, uint32_t, fn->ninsns + 1);
	map->count = ARENA_NEW(arena, uint32_t, fn->ninsns + 1);
	for (uint32_t k = 0; k < fn->ninsns; k++) {
		const struct insn *insn = &fn->insns[k];
		uint32_t from = body_of(fn, insn_origin(fn, insn))->begin;

		if (k && insn[-1].context == insn->context)
			from = insn[-1].at.begin;
		if (from >= insn->at.begin)
			continue;
		map->first[k] = first_use_at(map, from);
		map->count[k] = first_use_at(map, insn->at.begin) - map->first[k];
	}
}

static bool could_touch(const struct effect *effect)
{
	if (!effect->known)
		return effect->may_touch_memory;
	for (uint8_t i = 0; i < effect->ntouches; i++)
		if (!effect->touches[i].mbarrier)
			return true;
	return effect->is_call;
}

static void treat_as(struct effect *effect, enum hint_kind kind)
{
	uint8_t proxy = kind == HINT_ASYNC ? PROXY_ASYNC : PROXY_GENERIC;

	effect->known = true;
	effect->may_touch_memory = kind != HINT_NEUTRAL;
	effect->is_call = effect->is_call && kind != HINT_NEUTRAL;
	if (kind == HINT_NEUTRAL) {
		effect->ntouches = 0;
		return;
	}
	for (uint8_t i = 0; i < effect->ntouches; i++)
		if (!effect->touches[i].mbarrier)
			effect->touches[i].proxy = proxy;
	if (effect->ntouches)
		return;
	effect->touches[0] = (struct touch){.proxy = proxy,
		.spaces = SPACE_SHARED | SPACE_CLUSTER | SPACE_GLOBAL,
		.generic_address = true,
		.reads = true,
		.writes = true,
		.operand = UINT8_MAX,
		.extent = EXTENT_UNKNOWN,
		.size_operand = UINT8_MAX,
		.mbarrier_operand = UINT8_MAX};
	effect->ntouches = 1;
}

static void apply_effects(const struct function *fn, const struct effect **effects,
	struct arena *arena, struct hint_map *map)
{
	for (uint32_t k = 0; k < fn->ninsns; k++)
		for (uint32_t i = 0; i < map->count[k]; i++) {
			struct hint_use *use = &map->uses[map->first[k] + i];
			uint8_t kind = use->hint->kind;

			if (kind != HINT_GENERIC && kind != HINT_ASYNC && kind != HINT_NEUTRAL)
				continue;
			uint32_t to = k;

			while (to < fn->ninsns && !could_touch(effects[to]) &&
				!effects[to]->is_branch && !effects[to]->is_exit)
				to++;
			if (to == fn->ninsns || !could_touch(effects[to]))
				continue;
			treat_as(effects_own(effects, to, arena), kind);
			use->used = true;
		}
}

/* By use: the `off` that begins the range which the text behind the use is in, or NONE. */
static uint32_t *find_ranges(const struct hint_map *map, struct arena *arena)
{
	uint32_t *range = ARENA_NEW(arena, uint32_t, map->nuses + 1), open = NONE;

	for (uint32_t i = 0; i < map->nuses; i++) {
		const struct hint_use *use = &map->uses[i];

		if (use->hint->kind == HINT_ON)
			open = NONE;
		else if (use->hint->kind == HINT_OFF && !use->invalid && open == NONE)
			open = i;
		range[i] = open;
	}
	return range;
}

/* From each `off` to its `on` nothing is inserted and nothing is reported. */
static void mark_ranges(const struct function *fn, struct arena *arena, struct hint_map *map)
{
	const uint32_t *range = find_ranges(map, arena);

	for (uint32_t k = 0; k < fn->ninsns; k++) {
		uint32_t behind = first_use_at(map, fn->insns[k].at.begin + 1);

		if (!behind || range[behind - 1] == NONE)
			continue;
		map->by[k] = range[behind - 1];
		map->leave[k] |= LEAVE_EDGES;
		/* what goes before the first one stands before the `off` */
		if (insn_insert_at(fn, k) > map->uses[map->by[k]].hint->at.begin)
			map->leave[k] |= LEAVE_TEXT;
	}
}

void hints_read(const struct function *fn, const struct effect **effects, struct arena *arena,
	struct hint_map *map)
{
	*map = (struct hint_map){0};
	if (!fn->nhints)
		return;
	collect(fn, arena, map);
	check(fn, map);
	attach(fn, arena, map);
	map->leave = ARENA_NEW(arena, uint8_t, fn->ninsns + 1);
	map->by = ARENA_NEW(arena, uint32_t, fn->ninsns + 1);
	memset(map->by, 0xff, sizeof(*map->by) * ((size_t)fn->ninsns + 1));
	apply_effects(fn, effects, arena, map);
	mark_ranges(fn, arena, map);
}

/* Nothing but comments stands between, so that a rewrite puts nothing there either. */
static bool follows_at_once(const struct unit *unit, const struct hint *hint, uint32_t k)
{
	return insn_insert_at(unit->fn, k) <= hint->at.begin;
}

/* A fence that follows at once, be it named or not; else the next access or call that a finding
 * names. What fences a finding names depends on others, which a rewrite may insert: which one the
 * hint is for must not, or a second rewrite would take it for another. */
static uint32_t target_of(
	const struct unit *unit, struct bits named, const struct hint *hint, uint32_t k)
{
	if (fence_is_proxy((enum fence_kind)unit->effects[k]->fence) &&
		follows_at_once(unit, hint, k))
		return k;
	uint32_t to = bits_next(named, k);

	while (to != NONE && fence_is_proxy((enum fence_kind)unit->effects[to]->fence))
		to = bits_next(named, to + 1);
	return to;
}

void hints_ignore(const struct unit *unit, struct bits named, struct hint_map *map)
{
	const struct cfg *cfg = &unit->cfg;

	for (uint32_t b = 0; map->nuses && b < cfg->n; b++) {
		uint32_t end = cfg->blocks[b].first + cfg->blocks[b].count;

		for (uint32_t k = cfg->blocks[b].first; k < end; k++)
			for (uint32_t i = 0; i < map->count[k]; i++) {
				struct hint_use *use = &map->uses[map->first[k] + i];

				if (use->hint->kind != HINT_IGNORE || use->invalid)
					continue;
				uint32_t to = target_of(unit, named, use->hint, k);

				if (to >= end || map->leave[to] & LEAVE_EDGES)
					continue;
				map->leave[to] |= LEAVE_EDGES;
				map->by[to] = map->first[k] + i;
			}
	}
}
