/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In: a unit with effects, flow graph and values. Out: findings of the rules that look at one thread's
 * way only. A walk follows one site forwards; where the way forks on a condition that decided whether
 * the site runs, and that cannot have changed, only the fitting branch is followed, since compilers
 * repeat such tests. Invariant: states only grow, so a walk ends.
 */
#include "analysis/checks.h"

#include "base/rules.h"

uint8_t check_larger(uint8_t a, uint8_t b)
{
	return a > b ? a : b;
}

/* The guard register as an operand, for questions about its value. */
static struct operand guard_operand(const struct insn *insn)
{
	return (struct operand){.kind = OPERAND_REG, .id = insn->guard, .at = insn->at};
}

/* A predicate with one definition outside all loops is computed once; so is an invariant number. */
static bool stays(const struct unit *unit, uint32_t insn, const struct operand *guard, uint32_t number)
{
	if (value_number_invariant(unit->values, number))
		return true;
	struct ids defs = value_definitions(unit->values, insn, guard->id);

	return defs.n == 1 && defs.v[0] < unit->fn->ninsns &&
		unit->cfg.block_of[defs.v[0]] != NONE &&
		unit->cfg.blocks[unit->cfg.block_of[defs.v[0]]].loop_depth == 0;
}

static void add_condition(struct check_walk *w, uint32_t insn, bool truth)
{
	struct operand guard = guard_operand(&w->unit->fn->insns[insn]);
	uint32_t number = value_number(w->unit->values, insn, &guard);

	if (!stays(w->unit, insn, &guard, number))
		return;
	w->conditions[w->nconditions++] = (struct check_condition){number, truth};
}

void check_conditions(struct check_walk *w)
{
	const struct cfg *cfg = &w->unit->cfg;
	uint32_t b = cfg->block_of[w->site], n = 1;

	for (uint32_t d = b; d != NONE; d = cfg->blocks[d].idom)
		n++;
	w->conditions = ARENA_NEW(w->unit->arena, struct check_condition, n);
	w->nconditions = 0;
	if (w->unit->fn->insns[w->site].guard != NONE)
		add_condition(w, w->site, !w->unit->fn->insns[w->site].guard_negated);
	for (uint32_t d = cfg->blocks[b].idom; d != NONE; d = cfg->blocks[d].idom) {
		const struct block *block = &cfg->blocks[d];
		uint32_t last = block->first + block->count - 1;

		if (block->succ.n != 2 || !block->count || w->unit->fn->insns[last].guard == NONE)
			continue;
		bool taken = cfg_dominates(cfg, block->succ.v[0], b);

		if (taken != cfg_dominates(cfg, block->succ.v[1], b))
			add_condition(w, last, taken != w->unit->fn->insns[last].guard_negated);
	}
}

int check_guard(const struct check_walk *w, uint32_t insn)
{
	const struct insn *i = &w->unit->fn->insns[insn];

	if (i->guard == NONE)
		return 1;
	struct operand guard = guard_operand(i);
	uint32_t number = value_number(w->unit->values, insn, &guard);

	for (uint32_t k = 0; k < w->nconditions; k++)
		if (w->conditions[k].number == number)
			return w->conditions[k].truth != i->guard_negated;
	return -1;
}

static uint8_t step_guarded(struct check_walk *w, uint32_t insn, uint8_t state)
{
	if (insn == w->site)
		return w->join(w->start, check_guard(w, insn) == 1 ? 0 : state);
	switch (check_guard(w, insn)) {
	case 0:
		return state;
	case 1:
		return w->step(w, insn, state);
	default:
		return w->join(state, w->step(w, insn, state));
	}
}

typedef void visitor(struct check_walk *, uint32_t insn, uint32_t at, uint8_t state, void *);

static bool leaves_thread(const struct unit *unit, uint32_t b)
{
	const struct block *block = &unit->cfg.blocks[b];

	if (!block->exits)
		return false;
	return !block->count || unit->fn->insns[block->first + block->count - 1].op != OP_trap;
}

static uint8_t run_block(struct check_walk *w, uint32_t b, uint32_t from, uint8_t state, visitor *visit,
	void *arg)
{
	const struct block *block = &w->unit->cfg.blocks[b];
	uint32_t end = block->first + block->count;

	for (uint32_t i = from; i < end; i++) {
		if (visit && state)
			visit(w, i, i, state, arg);
		state = step_guarded(w, i, state);
	}
	if (visit && state && leaves_thread(w->unit, b) &&
		(!block->count || check_guard(w, end - 1) != 0))
		visit(w, NONE, block->count ? end - 1 : NONE, state, arg);
	return state;
}

/* Which successors the walk's thread can take. */
static bool may_take(const struct check_walk *w, const struct block *block, uint32_t k)
{
	if (block->succ.n != 2 || !block->count)
		return true;
	switch (check_guard(w, block->first + block->count - 1)) {
	case 1:
		return w->unit->fn->insns[block->first + block->count - 1].guard == NONE || k == 0;
	case 0:
		return k == 1;
	default:
		return true;
	}
}

void check_run(struct check_walk *w, visitor *visit, void *arg)
{
	const struct cfg *cfg = &w->unit->cfg;
	bool *queued = ARENA_NEW(w->unit->arena, bool, cfg->n);
	uint32_t *queue = ARENA_NEW(w->unit->arena, uint32_t, cfg->n);
	uint32_t n = 0, home = cfg->block_of[w->site];

	w->in = ARENA_NEW(w->unit->arena, uint8_t, cfg->n);
	queue[n++] = home;
	queued[home] = true;
	while (n && !budget_spent(w->unit->budget)) {
		uint32_t b = queue[--n];
		const struct block *block = &cfg->blocks[b];

		queued[b] = false;
		uint8_t out = run_block(w, b, block->first, w->in[b], NULL, NULL);

		for (uint32_t k = 0; out && k < block->succ.n; k++) {
			uint32_t to = block->succ.v[k];

			if (!may_take(w, block, k) || w->join(w->in[to], out) == w->in[to])
				continue;
			w->in[to] = w->join(w->in[to], out);
			if (!queued[to]) {
				queued[to] = true;
				queue[n++] = to;
			}
		}
	}
	for (uint32_t b = 0; b < cfg->n; b++)
		if (w->in[b] || b == home)
			run_block(w, b, cfg->blocks[b].first, w->in[b], visit, arg);
}

void check_report(struct check_list *list, uint8_t rule, uint8_t confidence, uint32_t insn,
	uint32_t other, const char *detail)
{
	struct check_finding f = {.rule = rule,
		.confidence = confidence,
		.insn = insn,
		.other = other,
		.detail = detail};

	ARENA_PUSH(list->unit->arena, list->v, list->n, list->cap, f);
}

/* Calls make nothing of these rules certain, and nothing is assumed of them. */
void checks_run(struct unit *unit, struct check_finding **findings, uint32_t *n)
{
	struct check_list list = {.unit = unit};

	if (unit->options->rules >> RULE_BULK_STORE_UNWAITED & 1)
		check_bulk_stores(&list);
	if (unit->options->rules >> RULE_MBARRIER_INIT_UNFENCED & 1)
		check_mbarrier_init(&list);
	if (unit->options->rules >> RULE_TENSORMAP_UNFENCED & 1)
		check_tensormaps(&list);
	*findings = list.v;
	*n = list.n;
}
