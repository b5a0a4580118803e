/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In: a unit and the fences in force. Out: the predicates under which fences run (literals), and
 * where each may get a new value. Invariant: a literal is one value number, so what holds under it
 * at one place holds under it everywhere, until a definition of its register.
 */
#include "analysis/flow_state.h"

#include <stdlib.h>

static uint32_t guard_number(const struct unit *unit, uint32_t insn)
{
	struct operand guard = {.kind = OPERAND_REG, .id = unit->fn->insns[insn].guard};

	return value_number(unit->values, insn, &guard);
}

static uint32_t literal_number(const struct flow_setup *s, uint32_t number, bool negated)
{
	for (uint32_t i = 0; i < s->nliterals; i++)
		if (s->literals[i].number == number && s->literals[i].negated == negated)
			return i;
	return NO_LITERAL;
}

uint8_t flow_literal(const struct flow_setup *s, uint32_t insn)
{
	const struct insn *at = &s->unit->fn->insns[insn];

	if (at->guard == NONE || !s->nliterals)
		return NO_LITERAL;
	return (uint8_t)literal_number(s, guard_number(s->unit, insn), at->guard_negated);
}

/* ---- guards ---- */

static int by_number(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void collect_guards(const struct unit *unit, struct guards *g)
{
	uint32_t cap = 0;

	*g = (struct guards){0};
	for (uint32_t i = 0; i < unit->fn->ninsns; i++)
		if (unit->fn->insns[i].guard != NONE && unit->cfg.block_of[i] != NONE)
			ARENA_PUSH(unit->arena, g->insns, g->n, cap, i);
	g->numbers = ARENA_NEW(unit->arena, uint32_t, g->n);
	g->sorted = ARENA_NEW(unit->arena, uint32_t, g->n);
	for (uint32_t i = 0; i < g->n; i++)
		g->sorted[i] = g->numbers[i] = guard_number(unit, g->insns[i]);
	if (g->n)
		qsort(g->sorted, g->n, sizeof(*g->sorted), by_number);
}

static bool used_twice(const struct guards *g, uint32_t number)
{
	uint32_t lo = 0, hi = g->n;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (g->sorted[mid] < number)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo + 1 < g->n && g->sorted[lo + 1] == number;
}

/* ---- literals ---- */

/* Both signs of the guard of an instruction: what is pending is pending where it holds or where it
 * does not. A predicate that guards one place only goes together with nothing. */
static void literal_add(struct flow_setup *s, uint32_t insn)
{
	if (s->unit->fn->insns[insn].guard == NONE || s->nliterals + 2 > LITERALS_MAX)
		return;
	uint32_t number = guard_number(s->unit, insn);

	if (literal_number(s, number, false) != NO_LITERAL)
		return;
	if (!s->guards.insns)
		collect_guards(s->unit, &s->guards);
	if (!used_twice(&s->guards, number))
		return;
	for (uint8_t negated = 0; negated < 2; negated++) {
		s->literals[s->nliterals] = (struct literal){.number = number,
			.negated = negated,
			.opposite = (uint8_t)(negated ? s->nliterals - 1 : s->nliterals + 1)};
		s->nliterals++;
	}
}

/* The branches that decide whether block b runs, nearest first, up to three. */
static void literals_of_branches(struct flow_setup *s, uint32_t b)
{
	const struct cfg *cfg = &s->unit->cfg;
	uint32_t found = 0;

	for (uint32_t d = cfg->blocks[b].idom; d != NONE && found < 3; d = cfg->blocks[d].idom) {
		const struct block *block = &cfg->blocks[d];

		if (block->succ.n != 2 || !block->count || cfg_postdominates(cfg, b, d) ||
			s->unit->fn->insns[flow_last_insn(block)].guard == NONE)
			continue;
		bool taken = cfg_dominates(cfg, block->succ.v[0], b);

		if (taken == cfg_dominates(cfg, block->succ.v[1], b))
			continue;
		literal_add(s, flow_last_insn(block));
		found++;
	}
}

static void list_fences(struct flow_setup *s)
{
	const struct unit *unit = s->unit;
	uint32_t cap = 0;

	for (uint32_t k = 0; k < unit->cfg.active.n; k++) {
		uint32_t i = unit->cfg.active.v[k];

		if (unit->effects[i]->fence != FENCE_NONE && unit->cfg.block_of[i] != NONE)
			ARENA_PUSH(unit->arena, s->fences, s->nfences, cap, i);
	}
}

/* The instructions before or behind which the view places a fence, ascending. */
static uint32_t *list_placed(const struct unit *unit, const struct fence_view *view)
{
	uint32_t n = view ? view->nplaced : 0, *v = ARENA_NEW(unit->arena, uint32_t, n + 1);

	for (uint32_t i = 0; i < n; i++)
		v[i] = view->placed[i].before;
	if (n)
		qsort(v, n, sizeof(*v), by_number);
	return v;
}

void flow_find_literals(struct flow_setup *s, const struct fence_view *view)
{
	const struct unit *unit = s->unit;
	const uint8_t *existing = view ? view->existing : NULL;
	const uint32_t *placed = list_placed(unit, view);
	uint32_t nplaced = view ? view->nplaced : 0;

	if (!s->fences)
		list_fences(s);
	/* there is room for few, so the order counts: a planned fence must stand in it where it
	 * will stand once it is in the text, else the output of a rewrite would be judged otherwise
	 */
	for (uint32_t k = 0; k < s->nfences; k++)
		if (!existing || existing[s->fences[k]] != FENCE_NONE)
			literal_add(s, s->fences[k]);
	for (uint32_t k = 0, p = 0; k < s->nfences || p < nplaced;) {
		bool planned = k == s->nfences || (p < nplaced && placed[p] < s->fences[k]);
		uint32_t i = planned ? placed[p++] : s->fences[k++];

		if (!planned && existing && existing[i] == FENCE_NONE)
			continue;
		if (i < unit->fn->ninsns && unit->cfg.block_of[i] != NONE)
			literals_of_branches(s, unit->cfg.block_of[i]);
	}
}

bool flow_same_literals(const struct flow_setup *a, const struct flow_setup *b)
{
	if (a->nliterals != b->nliterals)
		return false;
	for (uint32_t i = 0; i < a->nliterals; i++)
		if (a->literals[i].number != b->literals[i].number ||
			a->literals[i].negated != b->literals[i].negated)
			return false;
	return true;
}

/* ---- definitions ---- */

static int by_place(const void *a, const void *b)
{
	const struct literal_change *x = a, *y = b;

	if (x->insn != y->insn)
		return x->insn < y->insn ? -1 : 1;
	return (x->literal > y->literal) - (x->literal < y->literal);
}

static void add_changes(
	const struct flow_setup *s, uint32_t insn, uint8_t literal, struct literal_changes *list)
{
	struct unit *unit = s->unit;
	struct ids defs = value_definitions(unit->values, insn, unit->fn->insns[insn].guard);

	for (uint32_t d = 0; d < defs.n; d++) {
		struct literal_change one = {defs.v[d], literal};

		ARENA_PUSH(unit->arena, list->v, list->n, list->cap, one);
	}
}

struct literal_changes flow_literal_changes(const struct flow_setup *s)
{
	struct literal_changes list = {0};
	uint32_t kept = 0;

	for (uint32_t i = 0; s->nliterals && i < s->guards.n; i++)
		for (uint32_t negated = 0; negated < 2; negated++) {
			uint32_t l = literal_number(s, s->guards.numbers[i], negated);

			if (l != NO_LITERAL &&
				!value_number_invariant(s->unit->values, s->guards.numbers[i]))
				add_changes(s, s->guards.insns[i], (uint8_t)l, &list);
		}
	if (!list.n)
		return list;
	qsort(list.v, list.n, sizeof(*list.v), by_place);
	for (uint32_t i = 0; i < list.n; i++)
		if (!i || by_place(&list.v[i], &list.v[kept - 1]) != 0)
			list.v[kept++] = list.v[i];
	list.n = kept;
	return list;
}
