/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Comes in: edges, fence reports, checks, effects of one root. Goes out: a list of items of one
 * form. Invariant: each edge is one item, unless --rules leaves its rule out.
 */
#include "analysis/items.h"

#include <stdlib.h>

enum rule edge_rule(const struct edge *edge)
{
	if (edge->space == SPACE_GLOBAL)
		return RULE_MISSING_GLOBAL;
	if (edge->cp_async)
		return RULE_MISSING_CP_ASYNC;
	return edge->hazard == HAZARD_RAW   ? RULE_MISSING_RAW
	       : edge->hazard == HAZARD_WAW ? RULE_MISSING_WAW
					    : RULE_MISSING_WAR;
}

bool edge_wanted(const struct analysis_options *options, const struct edge *edge)
{
	return options->rules >> edge_rule(edge) & 1;
}

bool edge_suppressed(const struct unit *unit, const struct edge *edge)
{
	const struct access *v = unit->accesses.v;

	if (edge->more) /* a hint on the two that stand for their groups says nothing of the others
			 */
		return edge->hinted;
	return unit->leave &&
	       ((unit->leave[v[edge->generic].insn] | unit->leave[v[edge->async].insn]) &
		       LEAVE_EDGES);
}

uint32_t item_insn(const struct unit *unit, uint32_t access)
{
	return unit->accesses.v[access].insn;
}

/* Blocks are told apart by the text of their first instruction: copies of a callee are one. */
static uint32_t block_key(const struct unit *unit, uint32_t insn)
{
	if (insn == NONE || unit->cfg.block_of[insn] == NONE)
		return NONE;
	return unit->fn->insns[unit->cfg.blocks[unit->cfg.block_of[insn]].first].at.begin;
}

static uint32_t hint_on(const struct items *items, uint32_t insn)
{
	return insn != NONE && items->hints->by ? items->hints->by[insn] : NONE;
}

static bool stands_for_more(const struct edge *edge)
{
	return edge->more && !edge->hinted;
}

static void add(struct items *items, struct item item)
{
	const struct unit *unit = items->view->unit;

	if (!(unit->options->rules >> item.rule & 1))
		return;
	if (item.edge != NONE && stands_for_more(&items->view->flow->edges[item.edge])) {
		item.hint = NONE;
		ARENA_PUSH(unit->arena, items->v, items->n, items->cap, item);
		return;
	}
	item.hint = hint_on(items, item.generic);
	if (item.hint == NONE)
		item.hint = hint_on(items, item.async);
	if (item.hint == NONE)
		item.hint = hint_on(items, item.fence);
	if (item.hint != NONE)
		items->hints->uses[item.hint].used = true;
	ARENA_PUSH(unit->arena, items->v, items->n, items->cap, item);
}

static void add_edges(struct items *items)
{
	const struct analysis_view *view = items->view;
	uint32_t u = 0; /* both lists are by edge */

	for (uint32_t i = 0; i < view->flow->nedges; i++) {
		const struct edge *edge = &view->flow->edges[i];
		struct item item = {.rule = (uint8_t)edge_rule(edge),
			.confidence = edge->confidence,
			.hazard = edge->hazard,
			.space = edge->space,
			.cross_cta = edge->cross_cta,
			.waiting_side = edge->waiting_side,
			.generic = item_insn(view->unit, edge->generic),
			.async = item_insn(view->unit, edge->async),
			.fence = NONE,
			.edge = i};

		for (; u < view->plan->nunfixable && view->plan->unfixable[u].edge <= i; u++)
			if (view->plan->unfixable[u].edge == i)
				item.unfixable = view->plan->unfixable[u].reason;
		add(items, item);
	}
}

static void add_fence(
	struct items *items, const struct fence_report *report, enum rule rule, const char *detail)
{
	const struct audit *audit = items->view->audit;
	struct item item = {.rule = (uint8_t)rule,
		.confidence = rule == RULE_FENCE_MISPLACED && report->possible ? CONFIDENCE_POSSIBLE
									       : CONFIDENCE_LIKELY,
		.generic = NONE,
		.async = NONE,
		.fence = report->insn,
		.edge = NONE,
		.detail = detail};

	if (rule != RULE_FENCE_REDUNDANT) {
		item.lost = audit->lost;
		item.lost_edges = report->edges;
		item.nlost = report->nedges;
	}
	if (item.nlost) {
		const struct edge *edge = &audit->lost[report->edges[0]];

		item.generic = item_insn(items->view->unit, edge->generic);
		item.async = item_insn(items->view->unit, edge->async);
		item.hazard = edge->hazard;
		item.space = edge->space;
	}
	add(items, item);
}

/* In each copy of a callee the same fence may do something else: a verdict on its text needs all.
 */
static bool in_all_copies(const struct items *items, const struct fence_report *report,
	bool (*holds)(const struct fence_report *))
{
	const struct audit *audit = items->view->audit;
	const struct insn *insns = items->view->unit->fn->insns;

	for (uint32_t i = 0; i < audit->nfences; i++)
		if (insns[audit->fences[i].insn].at.begin == insns[report->insn].at.begin &&
			!holds(&audit->fences[i]))
			return false;
	return true;
}

static bool is_first_copy(const struct items *items, uint32_t n)
{
	const struct audit *audit = items->view->audit;
	const struct insn *insns = items->view->unit->fn->insns;

	for (uint32_t i = 0; i < n; i++)
		if (insns[audit->fences[i].insn].at.begin == insns[audit->fences[n].insn].at.begin)
			return false;
	return true;
}

static bool is_spare(const struct fence_report *report)
{
	return report->verdict == FENCE_SPARE && !report->misplaced;
}

static bool is_wide(const struct fence_report *report)
{
	return report->too_wide;
}

static bool is_issuer_side(const struct fence_report *report)
{
	return report->issuer_side || report->verdict == FENCE_SPARE;
}

static const char *narrower(const struct fence_report *report)
{
	if (report->narrow2 != FENCE_NONE)
		return "`.shared::cta' and `.global' cover all that it is needed for";
	switch (report->narrow) {
	case FENCE_ASYNC_CTA:
		return "`.shared::cta' covers all that it is needed for";
	case FENCE_ASYNC_GLOBAL:
		return "`.global' covers all that it is needed for";
	default:
		return "`.shared::cluster' covers all that it is needed for";
	}
}

static void add_fences(struct items *items)
{
	const struct audit *audit = items->view->audit;

	for (uint32_t i = 0; i < audit->nfences; i++) {
		const struct fence_report *report = &audit->fences[i];

		if (report->misplaced)
			add_fence(items, report, RULE_FENCE_MISPLACED, report->reason);
		if (!is_first_copy(items, i))
			continue;
		if (in_all_copies(items, report, is_spare))
			add_fence(items, report, RULE_FENCE_REDUNDANT, NULL);
		else if (report->issuer_side && in_all_copies(items, report, is_issuer_side))
			add_fence(items, report, RULE_FENCE_ISSUER_SIDE, NULL);
		if (report->too_wide && in_all_copies(items, report, is_wide))
			add_fence(items, report, RULE_FENCE_TOO_WIDE, narrower(report));
	}
}

static bool is_async(const struct unit *unit, uint32_t insn)
{
	if (insn == NONE)
		return false;
	for (uint8_t i = 0; i < unit->effects[insn]->ntouches; i++)
		if (unit->effects[insn]->touches[i].proxy != PROXY_GENERIC)
			return true;
	return false;
}

static void add_checks(struct items *items)
{
	const struct unit *unit = items->view->unit;

	for (uint32_t i = 0; i < items->view->nchecks; i++) {
		const struct check_finding *check = &items->view->checks[i];
		bool first = is_async(unit, check->insn);

		add(items, (struct item){.rule = check->rule,
				   .confidence = check->confidence,
				   .generic = first ? check->other : check->insn,
				   .async = first ? check->insn : check->other,
				   .fence = NONE,
				   .edge = NONE,
				   .detail = check->detail});
	}
}

static void add_unknown(struct items *items)
{
	const struct unit *unit = items->view->unit;

	for (uint32_t i = 0; i < unit->cfg.active.n; i++) {
		uint32_t k = unit->cfg.active.v[i];

		if (!unit->effects[k]->known && unit->cfg.block_of[k] != NONE)
			add(items, (struct item){.rule = RULE_UNKNOWN_INSTRUCTION,
					   .confidence = CONFIDENCE_LIKELY,
					   .generic = k,
					   .async = NONE,
					   .fence = NONE,
					   .edge = NONE});
	}
}

void items_collect(struct items *items)
{
	const struct analysis_view *view = items->view;

	items->cap = view->flow->nedges + view->nchecks + 2 * view->audit->nfences; /* or few more */
	items->v = ARENA_UNSET(view->unit->arena, struct item, items->cap);
	add_edges(items);
	add_fences(items);
	add_checks(items);
	add_unknown(items);
}

/* ---- their instructions ---- */

struct worded { /* an instruction and its opcode's text */
	struct slice opcode;
	uint32_t insn;
};

static int by_opcode(const void *x, const void *y)
{
	struct slice a = ((const struct worded *)x)->opcode, b = ((const struct worded *)y)->opcode;
	int order = memcmp(a.text, b.text, a.size < b.size ? a.size : b.size);

	return order ? order : (a.size > b.size) - (a.size < b.size);
}

/* The instructions that items name, each once; `number` of each is 1 + its place in the list. */
static struct ids list_insns(const struct items *items, uint32_t *number)
{
	struct arena *arena = items->view->unit->arena;
	uint32_t *v = NULL, n = 0, cap = 0;

	for (uint32_t i = 0; i < items->n; i++) {
		uint32_t of[] = {items->v[i].generic, items->v[i].async, items->v[i].fence};

		for (uint32_t k = 0; k < sizeof(of) / sizeof(*of); k++) {
			if (of[k] == NONE || number[of[k]])
				continue;
			ARENA_PUSH(arena, v, n, cap, of[k]);
			number[of[k]] = n;
		}
	}
	return (struct ids){v, n};
}

/* By number of the instruction: the order of its opcode's text. */
static const uint32_t *rank_opcodes(struct items *items, struct ids named, const uint32_t *number)
{
	const struct function *fn = items->view->unit->fn;
	struct arena *arena = items->view->unit->arena;
	struct worded *v = ARENA_UNSET(arena, struct worded, named.n + 1);
	uint32_t *rank = ARENA_NEW(arena, uint32_t, named.n + 1);

	for (uint32_t i = 0; i < named.n; i++) {
		struct span at = insn_opcode_at(fn, &fn->insns[named.v[i]]);

		v[i] = (struct worded){{fn->module->source->text + at.begin, at.end - at.begin}, named.v[i]};
	}
	if (named.n)
		qsort(v, named.n, sizeof(*v), by_opcode);
	for (uint32_t i = 1; i < named.n; i++)
		rank[number[v[i].insn]] =
			rank[number[v[i - 1].insn]] + (by_opcode(&v[i - 1], &v[i]) != 0);
	ARENA_GIVE_BACK(arena, v, named.n + 1);
	return rank;
}

static uint64_t two(uint32_t first, uint32_t second)
{
	return (uint64_t)first << 32 | second;
}

static void set_order(const struct items *items, const uint32_t *rank, struct item *item)
{
	const struct unit *unit = items->view->unit;
	const uint32_t *number = items->prints.number;
	uint32_t generic = item->generic, async = item->async;
	bool opcodes = item->fence == NONE; /* else one fence is one finding */

	item->group[0] = two(item->rule, item->hint);
	item->group[1] = two(offset_of(unit->fn, item->fence),
		block_key(unit, generic != NONE ? generic : item->fence));
	item->group[2] = two(block_key(unit, async),
		!opcodes	  ? 0
		: generic == NONE ? NONE
				  : rank[number[generic]]);
	item->group[3] = !opcodes ? 0 : async == NONE ? NONE : rank[number[async]];
	item->within[0] = two(UINT8_MAX - item->confidence, offset_of(unit->fn, generic));
	item->within[1] = two(offset_of(unit->fn, async), item->edge);
}

void items_number(struct items *items)
{
	const struct function *fn = items->view->unit->fn;
	struct arena *arena = items->view->unit->arena;
	uint32_t *number = ARENA_NEW(arena, uint32_t, fn->ninsns + 1);
	struct ids named = list_insns(items, number);

	items->prints = (struct prints){.fn = fn,
		.number = number,
		.of = ARENA_NEW(arena, struct print, named.n + 1)};
	const uint32_t *rank = rank_opcodes(items, named, number);

	for (uint32_t i = 0; i < items->n; i++)
		set_order(items, rank, &items->v[i]);
}

void findings_named(const struct analysis_view *view, struct bits named)
{
	struct hint_map none = {0};
	struct items items = {.view = view, .hints = &none};

	items_collect(&items);
	for (uint32_t i = 0; i < items.n; i++) {
		const struct item *item = &items.v[i];

		if (item->fence != NONE)
			bits_set(named, item->fence);
		if (item->fence == NONE && item->generic != NONE)
			bits_set(named, item->generic);
		if (item->fence == NONE && item->async != NONE)
			bits_set(named, item->async);
	}
}
