/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In: a unit with effects, flow graph, values and accesses. Out: the findings of the rules that
 * look at one thread's way only. Invariant: nothing here changes what the proxy flow sees.
 */
#include "analysis/checks.h"

#include "base/rules.h"

void check_report(struct check_list *list, uint8_t rule, uint8_t confidence, uint32_t insn,
	uint32_t other, const char *detail)
{
	struct check_finding f = {.rule = rule,
		.confidence = confidence,
		.insn = insn,
		.other = other,
		.detail = detail};

	ARENA_PUSH(list->unit->lasting, list->v, list->n, list->cap, f);
}

static bool may_be_site(const struct effect *e)
{
	bool reads = false, writes = false;

	for (uint32_t t = 0; t < e->ntouches; t++) {
		const struct touch *touch = &e->touches[t];

		reads |= touch->proxy == PROXY_ASYNC && touch->reads && touch->spaces & SPACE_SHARED;
		writes |= touch->proxy == PROXY_ASYNC && touch->writes && touch->spaces == SPACE_GLOBAL;
		if (touch->proxy == PROXY_TENSORMAP && touch->writes)
			return true;
	}
	return reads && writes;
}

/* A first look: most functions have no bulk store, write no tensor map and publish no mbarrier by a
 * relaxed arrive. */
static bool has_sites(const struct unit *unit)
{
	bool inits = false, relaxed = false;

	for (uint32_t k = 0; k < unit->cfg.active.n; k++) {
		const struct effect *e = unit->effects[unit->cfg.active.v[k]];

		inits |= e->sync == SYNC_MBAR_INIT;
		relaxed |= e->sync == SYNC_CLUSTER_ARRIVE && e->relaxed;
		if (may_be_site(e))
			return true;
	}
	return inits && relaxed;
}

/* Calls make nothing of these rules certain, and nothing is assumed of them. */
void checks_run(struct unit *unit, struct check_finding **findings, uint32_t *n)
{
	struct check_list list = {.unit = unit};
	struct arena stage;

	*findings = NULL;
	*n = 0;
	if (!has_sites(unit))
		return;
	unit_begin(unit, &stage);
	list.defs = check_prepare(unit);
	if (unit->options->rules >> RULE_BULK_STORE_UNWAITED & 1)
		check_bulk_stores(&list);
	if (unit->options->rules >> RULE_MBARRIER_INIT_UNFENCED & 1)
		check_mbarrier_init(&list);
	if (unit->options->rules >> RULE_TENSORMAP_UNFENCED & 1)
		check_tensormaps(&list);
	if (*list.defs.steps > CHECK_STEPS_MOST)
		unit_note(unit, NONE, "too many copies to follow each to its wait");
	unit_end(unit);
	*findings = list.v;
	*n = list.n;
}
