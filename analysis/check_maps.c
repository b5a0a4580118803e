/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two rules about things that are prepared once and then used by another unit of the machine:
 * mbarrier objects published to the cluster (ISA 9.7.13.4, fence.mbarrier_init) and tensor maps
 * written by the kernel (ISA 9.7.13.4, fence.proxy.tensormap).
 */
#include "analysis/checks.h"
#include "base/rules.h"

/* ---- mbarrier-init-unfenced ---- */

/* A fence that orders everything before it for the cluster does as well as the narrow one. */
static bool publishes(const struct effect *e)
{
	if (e->fence == FENCE_MBARRIER_INIT || e->fence == FENCE_ASYNC_ALL ||
		e->fence == FENCE_ASYNC_CLUSTER)
		return true;
	if (e->sync == SYNC_MEMORY && !e->ntouches)
		return e->releases && e->fence == FENCE_NONE && e->cluster_scope;
	return e->sync == SYNC_CLUSTER_ARRIVE; /* the first one publishes, or is reported */
}

static uint8_t step_init(struct check_walk *w, uint32_t insn, uint8_t state)
{
	return publishes(w->unit->effects[insn]) ? 0 : state;
}

struct first_use { /* the first place that a walk found, in order of the text */
	uint32_t insn;
	uint8_t state;
};

/* With flags only where something is found without them. */
static void search_twice(struct check_walk *w, check_visitor *visit, void *arg, struct first_use *found)
{
	uint64_t steps = *w->defs->steps;

	check_conditions(w);
	check_run(w, visit, arg);
	if (found->insn == NONE || !w->defs->nflags)
		return;
	*w->defs->steps = steps;
	*found = (struct first_use){NONE, 0};
	w->follows_flags = true;
	check_conditions(w);
	check_run(w, visit, arg);
}

static void visit_arrive(struct check_walk *w, uint32_t insn, uint32_t at, uint8_t state, void *arg)
{
	struct first_use *found = arg;

	(void)at;
	if (insn == NONE || insn == w->site || insn >= found->insn)
		return;
	if (w->unit->effects[insn]->sync == SYNC_CLUSTER_ARRIVE && w->unit->effects[insn]->relaxed)
		*found = (struct first_use){insn, state};
}

/* Without a way to a peer's memory a cluster barrier publishes nothing that anybody could use. */
static bool uses_peers(const struct unit *unit)
{
	for (uint32_t i = 0; i < unit->fn->ninsns; i++) {
		const struct effect *e = unit->effects[i];

		if (unit->fn->insns[i].op == OP_mapa)
			return true;
		for (uint32_t t = 0; t < e->ntouches; t++)
			if (e->touches[t].peer)
				return true;
	}
	return false;
}

static bool is_init(const struct unit *unit, uint32_t insn)
{
	return unit->effects[insn]->sync == SYNC_MBAR_INIT && unit->cfg.block_of[insn] != NONE;
}

/* Behind inits that stand beside one another all ways are the same: the last of those from one on. */
static uint32_t last_of_row(const struct unit *unit, uint32_t first)
{
	uint32_t block = unit->cfg.block_of[first], last = first;

	for (uint32_t i = first; i < unit->fn->ninsns && unit->cfg.block_of[i] == block; i++) {
		if (is_init(unit, i))
			last = i;
		if (!check_is_plain(unit, i) || publishes(unit->effects[i]))
			break;
	}
	return last;
}

static void report_row(struct check_list *list, uint32_t first, uint32_t last)
{
	struct check_walk w = {.unit = list->unit,
		.defs = &list->defs,
		.site = last,
		.start = 1,
		.step = step_init,
		.join = check_larger};
	struct first_use found = {NONE, 0};

	search_twice(&w, visit_arrive, &found, &found);
	for (uint32_t i = first; i <= last && found.insn != NONE; i++)
		if (is_init(list->unit, i))
			check_report(list, RULE_MBARRIER_INIT_UNFENCED, CONFIDENCE_LIKELY, i, found.insn,
				"the relaxed arrive publishes nothing; "
				"fence.mbarrier_init.release.cluster belongs before it");
}

void check_mbarrier_init(struct check_list *list)
{
	struct unit *unit = list->unit;
	bool relaxed = false;

	for (uint32_t k = 0; k < unit->cfg.active.n; k++) {
		const struct effect *e = unit->effects[unit->cfg.active.v[k]];

		relaxed |= e->sync == SYNC_CLUSTER_ARRIVE && e->relaxed;
	}
	if (!relaxed || !uses_peers(unit))
		return;
	for (uint32_t n = 0, next = 0; n < list->defs.nnotable; n++) {
		uint32_t i = list->defs.notable[n];

		if (i < next || !is_init(unit, i))
			continue;
		next = last_of_row(unit, i) + 1;
		report_row(list, i, next - 1);
	}
}

/* ---- tensormap-unfenced ---- */

enum map_state { MAP_SETTLED, MAP_RELEASED, MAP_WRITTEN };

/* cp_fenceproxy is copy and release in one. */
static bool writes_map(const struct unit *unit, uint32_t insn, uint8_t *operand, uint8_t *state)
{
	const struct effect *e = unit->effects[insn];

	for (uint32_t t = 0; t < e->ntouches; t++) {
		if (e->touches[t].proxy != PROXY_TENSORMAP || !e->touches[t].writes)
			continue;
		*operand = e->touches[t].operand;
		*state = e->fence == FENCE_TENSORMAP_RELEASE ? MAP_RELEASED : MAP_WRITTEN;
		return *operand != UINT8_MAX;
	}
	return false;
}

/* 1: the same map, 0: another one, -1: not known. */
static int same_map(const struct unit *unit, uint32_t insn_a, const struct operand *a,
	uint32_t insn_b, const struct operand *b)
{
	struct value x = value_of(unit->values, insn_a, a), y = value_of(unit->values, insn_b, b);
	bool known = x.base == BASE_SYMBOL || x.base == BASE_PARAM;

	if (!known || (y.base != BASE_SYMBOL && y.base != BASE_PARAM))
		return -1;
	if (x.base != y.base || x.id != y.id)
		return 0;
	if (x.hi < y.lo - 127 || y.hi < x.lo - 127)
		return 0;
	return x.lo == x.hi && y.lo == y.hi ? 1 : -1;
}

/* The acquire names a map: one that is certainly another does nothing for this one. */
static bool acquires_other(const struct unit *unit, uint32_t write, uint32_t acquire)
{
	const struct operand *of = insn_operand(unit->fn, &unit->fn->insns[acquire], 0);
	uint8_t operand, state;

	return of && writes_map(unit, write, &operand, &state) &&
	       same_map(unit, write, insn_operand(unit->fn, &unit->fn->insns[write], operand), acquire, of) == 0;
}

static uint8_t step_map(struct check_walk *w, uint32_t insn, uint8_t state)
{
	const struct effect *e = w->unit->effects[insn];

	if (e->fence == FENCE_TENSORMAP_RELEASE && state == MAP_WRITTEN)
		return MAP_RELEASED;
	if (e->fence == FENCE_TENSORMAP_ACQUIRE && state == MAP_RELEASED && !acquires_other(w->unit, w->site, insn))
		return MAP_SETTLED;
	return state;
}

struct map_search {
	const struct operand *written;
	struct first_use found;
	uint8_t confidence;
	bool certain_only;
};

static bool used_map(const struct unit *unit, uint32_t insn, const struct operand **map)
{
	const struct effect *e = unit->effects[insn];

	for (uint32_t t = 0; t < e->ntouches; t++)
		if (e->touches[t].proxy == PROXY_TENSORMAP && e->touches[t].reads &&
			e->fence == FENCE_NONE && e->touches[t].operand != UINT8_MAX) {
			*map = insn_operand(
				unit->fn, &unit->fn->insns[insn], e->touches[t].operand);
			return true;
		}
	return false;
}

/* The instruction uses what may be the map that the site writes; `same` as above. */
static bool uses_written(const struct unit *unit, uint32_t site, const struct map_search *search, uint32_t insn,
	int *same)
{
	const struct operand *map;

	if (!used_map(unit, insn, &map))
		return false;
	*same = same_map(unit, site, search->written, insn, map);
	return *same > 0 || (*same < 0 && !search->certain_only);
}

static void visit_use(struct check_walk *w, uint32_t insn, uint32_t at, uint8_t state, void *arg)
{
	struct map_search *search = arg;
	int same;

	(void)at;
	if (insn == NONE || insn >= search->found.insn || !uses_written(w->unit, w->site, search, insn, &same))
		return;
	search->found = (struct first_use){insn, state};
	search->confidence = same == 1 ? CONFIDENCE_LIKELY : CONFIDENCE_POSSIBLE;
}

/* Wherever a walk may lead; it would look at each use as well. */
static bool is_used(const struct check_list *list, struct ids uses, uint32_t site, const struct map_search *search)
{
	int same;

	*list->defs.steps += uses.n;
	for (uint32_t n = 0; n < uses.n && *list->defs.steps <= CHECK_STEPS_MOST; n++)
		if (uses_written(list->unit, site, search, uses.v[n], &same))
			return true;
	return false;
}

/* All that use maps. */
static struct ids find_uses(const struct check_list *list)
{
	uint32_t *uses = NULL, n = 0, cap = 0;
	const struct operand *map;

	for (uint32_t k = 0; k < list->defs.nnotable; k++)
		if (used_map(list->unit, list->defs.notable[k], &map))
			ARENA_PUSH(list->unit->arena, uses, n, cap, list->defs.notable[k]);
	return (struct ids){uses, n};
}

struct map_fences {
	uint32_t *acquires, n;
	bool releases;
};

static struct map_fences find_map_fences(const struct unit *unit)
{
	struct map_fences f = {.n = 0};
	uint32_t cap = 0;

	for (uint32_t k = 0; k < unit->cfg.active.n; k++) {
		uint32_t i = unit->cfg.active.v[k];

		f.releases |= unit->effects[i]->fence == FENCE_TENSORMAP_RELEASE;
		if (unit->effects[i]->fence == FENCE_TENSORMAP_ACQUIRE)
			ARENA_PUSH(unit->arena, f.acquires, f.n, cap, i);
	}
	return f;
}

/* Kernels with several maps release and acquire under flags that no walk sees through: where something may do so for
 * what the site writes, only a map that is certainly the same counts. */
static bool may_be_settled(const struct unit *unit, const struct map_fences *f, uint32_t site, uint8_t state)
{
	bool acquired = false;

	for (uint32_t k = 0; k < f->n && !acquired; k++)
		acquired = !acquires_other(unit, site, f->acquires[k]);
	return acquired && (f->releases || state == MAP_RELEASED);
}

void check_tensormaps(struct check_list *list)
{
	struct unit *unit = list->unit;
	bool asked = false;
	struct ids uses = {NULL, 0};
	struct map_fences fences = {.n = 0};

	for (uint32_t n = 0; n < list->defs.nnotable; n++) {
		uint32_t i = list->defs.notable[n];
		uint8_t operand, start;

		if (unit->cfg.block_of[i] == NONE || !writes_map(unit, i, &operand, &start))
			continue;
		if (!asked) {
			uses = find_uses(list);
			fences = find_map_fences(unit);
		}
		asked = true;
		struct check_walk w = {.unit = unit,
			.defs = &list->defs,
			.site = i,
			.start = start,
			.step = step_map,
			.join = check_larger};
		struct map_search search = {
			.written = insn_operand(unit->fn, &unit->fn->insns[i], operand),
			.found = {NONE, 0},
			.certain_only = may_be_settled(unit, &fences, i, start)};

		if (!is_used(list, uses, i, &search))
			continue;
		search_twice(&w, visit_use, &search, &search.found);
		if (search.found.insn != NONE)
			check_report(list, RULE_TENSORMAP_UNFENCED, search.confidence, i,
				search.found.insn,
				search.found.state == MAP_WRITTEN
					? "fence.proxy.tensormap::generic.release and .acquire "
					  "belong between the two"
					: "fence.proxy.tensormap::generic.acquire belongs before "
					  "the copy");
	}
}
