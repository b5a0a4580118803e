/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In: how a node grew. Out: where to jump ahead to, so that loops settle: the next constant that
 * the text compares with, then no bound, or the end of a counter that is assumed not to wrap.
 */
#include "analysis/value_solver.h"

#include <stdlib.h>

struct constants {
	int64_t *v;
	uint32_t n, cap;
};

/* How many of an ascending list are below v. */
static uint32_t count_below(const int64_t *list, uint32_t n, int64_t v)
{
	uint32_t lo = 0, hi = n;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (list[mid] < v)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static int by_number(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

/* The constants that the function compares with or masks by, ascending: where loops end. */
static struct constants find_constants(struct values *vs)
{
	struct constants list = {0};

	for (uint32_t k = 0; k < vs->nsolved; k++) {
		const struct node *n = &vs->ssa.nodes[k];

		if (n->kind != NODE_DEF)
			continue;
		const struct insn *insn = &vs->fn->insns[n->insn];

		if (insn->op != OP_setp && insn->op != OP_and && insn->op != OP_rem &&
			insn->op != OP_min && insn->op != OP_max && insn->op != OP_selp)
			continue;
		for (uint32_t i = 1; i < insn->count; i++) {
			const struct operand *o = insn_operand(vs->fn, insn, i);

			if (o->kind == OPERAND_IMM && o->imm >= -VALUE_FAR && o->imm <= VALUE_FAR)
				ARENA_PUSH(vs->arena, list.v, list.n, list.cap, o->imm);
		}
	}
	if (list.n)
		qsort(list.v, list.n, sizeof(*list.v), by_number);
	return list;
}

/* In ascending order, too: the constants and what is beside them. */
static void collect_thresholds(struct solver *s)
{
	struct arena *arena = s->vs->arena;
	struct constants list = find_constants(s->vs);

	for (uint32_t i = 0; i < list.n; i++)
		for (int64_t c = list.v[i] - 1; c <= list.v[i] + 1; c++)
			if (!s->nthresholds || c > s->thresholds[s->nthresholds - 1])
				ARENA_PUSH(arena, s->thresholds, s->nthresholds, s->thresholds_cap, c);
	s->has_thresholds = true;
	ARENA_GIVE_BACK(arena, list.v, list.cap);
}

/* The least threshold at or above v, or VALUE_FAR * 2. */
static int64_t threshold_above(const struct solver *s, int64_t v)
{
	uint32_t k = count_below(s->thresholds, s->nthresholds, v);

	return k < s->nthresholds ? s->thresholds[k] : VALUE_FAR * 2;
}

static int64_t threshold_below(const struct solver *s, int64_t v)
{
	uint32_t k = count_below(s->thresholds, s->nthresholds, v + 1);

	return k ? s->thresholds[k - 1] : -VALUE_FAR * 2;
}

static int64_t down_to(int64_t v, int64_t from, uint64_t stride)
{
	return v - (int64_t)(((uint64_t)v - (uint64_t)from) % stride);
}

/* Where a counter that only grows is assumed to stop. */
static int64_t counter_end(uint32_t bits)
{
	return bits >= 63 ? VALUE_FAR * 2 : (INT64_C(1) << (bits - 1)) - 1;
}

struct value solver_cap(const struct value *v, uint32_t bits)
{
	struct value out = range_clip(v, v->lo, counter_end(bits));

	out.assumptions |= ASSUME_NO_WRAP;
	return out;
}

struct value solver_lose_bounds(const struct value *v, uint32_t bits)
{
	struct value out = *v;

	if (v->base == BASE_NUMBER && bits < 63) {
		out.hi = out.lo + (INT64_C(1) << bits) * (int64_t)(out.stride ? out.stride : 1);
		if (out.stride > 1 << 20)
			return range_top(bits);
		out.assumptions &= ~(uint32_t)ASSUME_NO_WRAP;
		out = range_fit(out, bits);
		out.assumptions = v->assumptions;
		return out;
	}
	if (v->base == BASE_NUMBER || v->base == BASE_SYMBOL || v->base == BASE_DERIVED ||
		v->base == BASE_PARAM || v->base == BASE_DESCRIPTOR || v->base == BASE_OPAQUE) {
		uint64_t step = out.stride & -out.stride;

		out.stride = step ? step : 1;
		out.lo = -VALUE_FAR * 2 +
			 (int64_t)(((uint64_t)out.lo + (uint64_t)VALUE_FAR * 2) % out.stride);
		out.hi = down_to(VALUE_FAR * 2, out.lo, out.stride);
		return out;
	}
	return range_top(bits);
}

struct value solver_widen(
	struct solver *s, uint32_t node, const struct value *old, const struct value *grown)
{
	uint32_t bits = node_bits(s->vs, node);
	struct value out = *grown;

	if (s->changes[node] <= 6 || range_is_empty(old) || old->base != grown->base ||
		old->id != grown->id)
		return out;
	uint64_t stride = out.stride ? out.stride : 1;
	bool up = grown->hi > old->hi, down = grown->lo < old->lo;

	if (s->changes[node] <= 20) {
		if (!s->has_thresholds)
			collect_thresholds(s);
		int64_t above = up ? threshold_above(s, grown->hi) : grown->hi;
		int64_t below = down ? threshold_below(s, grown->lo) : grown->lo;

		if (above < VALUE_FAR && below > -VALUE_FAR) {
			out.lo = grown->lo - down_to(grown->lo - below, 0, stride);
			out.hi = down_to(above, out.lo, stride);
			if (out.hi >= grown->hi && out.lo <= grown->lo)
				return range_fit(out, bits);
		}
	}
	out = *grown;
	uint32_t wide = out.base == BASE_NUMBER ? bits : 64;

	/* what is beyond the end already counts down, as unsigned numbers show that */
	if (up && !down && grown->lo >= 0 && grown->hi <= counter_end(wide) &&
		out.base != BASE_DESCRIPTOR && s->changes[node] < 60 &&
		(s->vs->options->assume & ASSUME_NO_WRAP)) {
		s->capped[node] = true;
		out.hi = down_to(counter_end(wide), grown->lo, stride);
		out.stride = stride;
		return solver_cap(&out, wide);
	}
	s->capped[node] = false;
	return solver_lose_bounds(grown, bits);
}
