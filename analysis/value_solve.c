/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In: a function with its graph and effects. Out: what each register of the interesting slices can
 * hold. Only registers that an address, size, descriptor, barrier, count or branch depends on are
 * looked at. Values start empty and grow in reverse postorder until nothing changes; loops are
 * widened at the constants of the text; then a few rounds make them narrower again. Invariant at
 * the end: evaluating any node again gives a subset of its value. A last full sweep checks it, so
 * that no dependence (on a condition's bound, say) need be tracked.
 */
#include "analysis/value_private.h"

#include "base/bits.h"

#include <stdlib.h>

struct solver {
	struct values *vs;
	bool *needed;		/* by register */
	uint32_t *stack, depth; /* registers to follow */
	uint32_t *order, *rank; /* nodes in order of evaluation and back */
	struct bits dirty;	/* by rank */
	uint8_t *changes;	/* by node */
	bool *capped;		/* by node: a counter that is assumed not to wrap */
	int64_t *thresholds;
	uint32_t nthresholds, thresholds_cap;
	struct context context; /* of the block that was looked at last */
	uint32_t context_block;
};

uint32_t node_bits(const struct values *vs, uint32_t node)
{
	return vs->fn->regs[vs->ssa.nodes[node].reg].bits;
}

struct value values_join(
	struct values *vs, const struct value *a, const struct value *b, uint32_t bits)
{
	if (a->base == BASE_DESCRIPTOR && b->base == BASE_DESCRIPTOR && a->id != b->id)
		return descriptor_join(vs, a, b);
	return range_join(a, b, bits);
}

static void need(struct solver *s, uint32_t reg)
{
	if (s->needed[reg])
		return;
	s->needed[reg] = true;
	s->stack[s->depth++] = reg;
}

static void need_operand(struct solver *s, const struct operand *o, uint32_t depth)
{
	if (!o)
		return;
	if (o->kind == OPERAND_REG)
		need(s, o->id);
	for (uint32_t i = 0; depth < 4 && i < o->count; i++)
		need_operand(s, operand_child(s->vs->fn, o, i), depth + 1);
}

/* The address inside brackets, without coordinates. */
static void need_address(struct solver *s, const struct operand *o)
{
	const struct function *fn = s->vs->fn;

	if (!o)
		return;
	if (o->kind == OPERAND_REG)
		need(s, o->id);
	if (o->kind != OPERAND_MEM)
		return;
	need_operand(s, operand_child(fn, o, 0), 1);
	if (o->indexed)
		need_operand(s, operand_child(fn, o, 1), 1);
}

static void need_numbered(struct solver *s, const struct insn *insn, uint8_t number)
{
	if (number != UINT8_MAX)
		need_address(s, insn_operand(s->vs->fn, insn, number));
}

static void need_roots(struct solver *s, uint32_t i)
{
	const struct values *vs = s->vs;
	const struct insn *insn = &vs->fn->insns[i];
	const struct effect *e = &vs->cfg->effects[i];

	for (uint32_t k = 0; k < e->ntouches; k++) {
		const struct touch *t = &e->touches[k];

		if (!(t->spaces & (SPACE_SHARED | SPACE_CLUSTER | SPACE_GLOBAL)) && !t->mbarrier)
			continue;
		need_numbered(s, insn, t->operand);
		need_numbered(s, insn, t->size_operand);
		need_numbered(s, insn, t->mbarrier_operand);
	}
	if (e->sync != SYNC_NONE) {
		need_numbered(s, insn, e->barrier_operand);
		need_numbered(s, insn, e->count_operand);
		need_numbered(s, insn, e->mbarrier_operand);
	}
	/* expect_tx: the bytes that an mbarrier waits for bound tensor copies */
	if (insn->op == OP_mbarrier)
		for (uint32_t k = 0; k < insn->count; k++)
			if (!(k == 0 && insn_operand(vs->fn, insn, 0)->kind == OPERAND_REG))
				need_address(s, insn_operand(vs->fn, insn, k));
	if (insn->guard != NONE &&
		(e->ntouches || e->sync != SYNC_NONE || e->fence != FENCE_NONE || e->is_branch ||
			e->is_exit || e->is_call || insn->op == OP_bra || insn->op == OP_brx))
		need(s, insn->guard);
	if (insn->op == OP_brx)
		need_address(s, insn_operand(vs->fn, insn, 0));
	/* what reaches a callee without a body says what it may touch; the others are linked */
	if (insn->op == OP_call || (insn->op == OP_st && insn_has(insn, MOD_param)))
		for (uint32_t k = 0; k < insn->count; k++)
			need_operand(s, insn_operand(vs->fn, insn, k), 0);
}

/* From a definition's register to those that it is computed from. */
static void need_sources(struct solver *s, uint32_t i)
{
	const struct function *fn = s->vs->fn;
	const struct insn *insn = &fn->insns[i];
	bool follow = insn_is_arithmetic(insn) || insn->op == OP_shfl || insn->op == OP_elect;

	if (insn->guard != NONE)
		need(s, insn->guard);
	if (insn->op == OP_ld || insn->op == OP_ldu)
		need_address(s, insn_source(fn, insn, 0));
	if (!follow)
		return;
	for (uint32_t k = 0; k < insn->nmods; k++) {
		struct type type = type_of_modifier(insn->mods[k]);

		/* a comparison of floats may still be one of parameters: the same for all threads
		 */
		if (type.bits && type.is_float && insn->op != OP_setp)
			return;
	}
	for (uint32_t k = 1; k < insn->count; k++)
		need_operand(s, insn_operand(fn, insn, k), 0);
}

static void slice(struct solver *s)
{
	struct values *vs = s->vs;
	struct ssa *ssa = &vs->ssa;

	s->needed = ARENA_NEW(vs->arena, bool, vs->fn->nregs + 1);
	s->stack = ARENA_NEW(vs->arena, uint32_t, vs->fn->nregs + 1);
	for (uint32_t i = 0; i < vs->fn->ninsns; i++)
		if (vs->cfg->block_of[i] != NONE)
			need_roots(s, i);
	while (s->depth) {
		uint32_t reg = s->stack[--s->depth];

		ssa_register(ssa, reg);
		for (uint32_t d = ssa->def_at[reg]; d < ssa->def_at[reg + 1]; d++)
			need_sources(s, ssa->def_insn[d]);
	}
	vs->nsolved = ssa->n;
}

/* Nodes by block in reverse postorder; in a block phis first, then in text order. */
static void order_nodes(struct solver *s)
{
	struct values *vs = s->vs;
	uint32_t n = vs->nsolved, at = 0;
	uint32_t *of_insn = ARENA_NEW(vs->arena, uint32_t, vs->fn->ninsns + 1);
	uint32_t *of_block = ARENA_NEW(vs->arena, uint32_t, vs->cfg->n + 1);
	uint32_t *next = ARENA_NEW(vs->arena, uint32_t, n + 1);

	s->order = vs->order = ARENA_NEW(vs->arena, uint32_t, n + 1);
	s->rank = ARENA_NEW(vs->arena, uint32_t, n + 1);
	for (uint32_t i = 0; i < vs->fn->ninsns; i++)
		of_insn[i] = NONE;
	for (uint32_t b = 0; b < vs->cfg->n; b++)
		of_block[b] = NONE;
	for (uint32_t i = n; i-- > 0;) {
		const struct node *node = &vs->ssa.nodes[i];
		uint32_t *list =
			node->kind == NODE_DEF ? &of_insn[node->insn] : &of_block[node->block];

		next[i] = *list;
		*list = i;
	}
	for (uint32_t b = 0; b < vs->cfg->n; b++) {
		const struct block *block = &vs->cfg->blocks[b];

		for (uint32_t i = of_block[b]; i != NONE; i = next[i])
			s->order[at++] = i;
		for (uint32_t k = block->first; k < block->first + block->count; k++)
			for (uint32_t i = of_insn[k]; i != NONE; i = next[i])
				s->order[at++] = i;
	}
	for (uint32_t k = 0; k < at; k++)
		s->rank[s->order[k]] = k;
}

static void visit_operand(
	struct solver *s, const struct operand *o, uint32_t user, bool fill, uint32_t depth)
{
	const struct function *fn = s->vs->fn;

	if (o->kind == OPERAND_REG) {
		uint32_t node = s->vs->ssa.node_of[o - fn->operands];

		if (node != NONE && node < s->vs->nsolved) {
			if (fill)
				s->vs->users[s->vs->user_at[node]++] = user;
			else
				s->vs->user_at[node + 1]++;
		}
	}
	for (uint32_t i = 0; depth < 4 && i < o->count; i++)
		visit_operand(s, operand_child(fn, o, i), user, fill, depth + 1);
}

static void visit_node(struct solver *s, uint32_t node, bool fill)
{
	struct values *vs = s->vs;
	const struct node *n = &vs->ssa.nodes[node];

	if (n->kind == NODE_PHI) {
		const struct block *block = &vs->cfg->blocks[n->block];

		for (uint32_t i = 0; i < block->pred.n; i++) {
			uint32_t input = vs->ssa.inputs[n->input + i];

			if (fill)
				s->vs->users[s->vs->user_at[input]++] = node;
			else
				s->vs->user_at[input + 1]++;
		}
	}
	if (n->kind != NODE_DEF)
		return;
	const struct insn *insn = &vs->fn->insns[n->insn];

	if (insn_is_arithmetic(insn) || insn->op == OP_shfl)
		for (uint32_t k = 1; k < insn->count; k++)
			visit_operand(s, insn_operand(vs->fn, insn, k), node, fill, 0);
	if (n->previous != NONE && n->previous < vs->nsolved) {
		if (fill)
			s->vs->users[s->vs->user_at[n->previous]++] = node;
		else
			s->vs->user_at[n->previous + 1]++;
	}
}

static void index_users(struct solver *s)
{
	struct values *vs = s->vs;
	uint32_t n = vs->nsolved;

	s->vs->user_at = ARENA_NEW(vs->arena, uint32_t, n + 2);
	for (uint32_t i = 0; i < n; i++)
		visit_node(s, i, false);
	for (uint32_t i = 0; i < n; i++)
		s->vs->user_at[i + 1] += s->vs->user_at[i];
	s->vs->users = ARENA_NEW(vs->arena, uint32_t, s->vs->user_at[n] + 1);
	for (uint32_t i = 0; i < n; i++)
		visit_node(s, i, true);
	for (uint32_t i = n; i > 0; i--)
		s->vs->user_at[i] = s->vs->user_at[i - 1];
	s->vs->user_at[0] = 0;
}

static int by_value(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* Constants that the function compares with or masks by: where loops end. */
static void collect_thresholds(struct solver *s)
{
	struct values *vs = s->vs;

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

			if (o->kind != OPERAND_IMM || o->imm < -VALUE_FAR || o->imm > VALUE_FAR)
				continue;
			for (int64_t c = o->imm - 1; c <= o->imm + 1; c++)
				ARENA_PUSH(vs->arena, s->thresholds, s->nthresholds,
					s->thresholds_cap, c);
		}
	}
	if (s->nthresholds)
		qsort(s->thresholds, s->nthresholds, sizeof(*s->thresholds), by_value);
}

/* The least threshold at or above v, or VALUE_FAR * 2. */
static int64_t threshold_above(const struct solver *s, int64_t v)
{
	uint32_t lo = 0, hi = s->nthresholds;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (s->thresholds[mid] < v)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < s->nthresholds ? s->thresholds[lo] : VALUE_FAR * 2;
}

static int64_t threshold_below(const struct solver *s, int64_t v)
{
	uint32_t lo = 0, hi = s->nthresholds;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (s->thresholds[mid] <= v)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo ? s->thresholds[lo - 1] : -VALUE_FAR * 2;
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

static struct value cap(const struct value *v, uint32_t bits)
{
	struct value out = range_clip(v, v->lo, counter_end(bits));

	out.assumptions |= ASSUME_NO_WRAP;
	return out;
}

static struct value lose_bounds(const struct value *v, uint32_t bits)
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

/* `grown` is a proper superset of `old`: jump ahead. */
static struct value widen(
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
	if (up && !down && grown->lo >= 0 && out.base != BASE_DESCRIPTOR && s->changes[node] < 60 &&
		(s->vs->options->assume & ASSUME_NO_WRAP)) {
		s->capped[node] = true;
		out.hi = down_to(
			counter_end(out.base == BASE_NUMBER ? bits : 64), grown->lo, stride);
		out.stride = stride;
		return cap(&out, out.base == BASE_NUMBER ? bits : 64);
	}
	s->capped[node] = false;
	return lose_bounds(grown, bits);
}

static struct value evaluate(struct solver *s, uint32_t node)
{
	struct values *vs = s->vs;
	const struct node *n = &vs->ssa.nodes[node];

	if (n->kind == NODE_DEF && s->context_block != n->block) {
		context_at_block(vs, n->block, &s->context);
		s->context_block = n->block;
	}
	struct value v = evaluate_node((struct evaluation){vs, &s->context, 0, NULL}, node);

	if (s->capped[node] && v.base != BASE_EMPTY)
		v = cap(&v, v.base == BASE_NUMBER ? node_bits(vs, node) : 64);
	return v;
}

/* Brings one node up to date; true when it grew. */
static bool grow(struct solver *s, uint32_t node)
{
	struct values *vs = s->vs;
	struct value v = evaluate(s, node), old = vs->at[node];
	uint32_t bits = node_bits(vs, node);

	if (range_subset(&v, &old, bits))
		return false;
	if (!range_is_empty(&old)) {
		v = values_join(vs, &old, &v, bits);
		if (s->changes[node] < 255)
			s->changes[node]++;
		if (s->changes[node] > 100) { /* never seen: an operation that does not settle */
			uint32_t flags = v.assumptions;

			v = range_top(bits);
			v.assumptions = flags;
		} else if (vs->ssa.nodes[node].kind == NODE_PHI) {
			v = widen(s, node, &old, &v);
		} else if (s->changes[node] > 40) {
			v = lose_bounds(&v, bits);
		}
		if (range_subset(&v, &old, bits))
			return false;
	}
	vs->at[node] = v;
	return true;
}

static bool settle(struct solver *s)
{
	struct values *vs = s->vs;
	bool any = false;

	for (uint32_t r = bits_next(s->dirty, 0); r != NONE; r = bits_next(s->dirty, r)) {
		uint32_t node = s->order[r];

		bits_clear(s->dirty, r);
		if (budget_spent(vs->budget))
			return false;
		if (!grow(s, node))
			continue;
		any = true;
		/* a user before this one is in a loop: go back to it once the scan has passed */
		uint32_t least = r;

		for (uint32_t u = s->vs->user_at[node]; u < s->vs->user_at[node + 1]; u++) {
			uint32_t rank = s->rank[s->vs->users[u]];

			bits_set(s->dirty, rank);
			least = rank < least ? rank : least;
		}
		if (least < r)
			s->context_block = NONE;
		r = least;
	}
	return any;
}

/* Grows everything to a set that evaluation maps into itself. */
static void ascend(struct solver *s)
{
	struct values *vs = s->vs;

	do {
		for (uint32_t r = 0; r < vs->nsolved; r++)
			bits_set(s->dirty, r);
		s->context_block = NONE;
	} while (settle(s) && !vs->budget->spent);
}

/* What evaluation gives from a sound solution is sound, so the better of both is. */
static void narrow(struct solver *s)
{
	struct values *vs = s->vs;

	for (uint32_t round = 0; round < 3; round++) {
		bool changed = false;

		s->context_block = NONE;
		for (uint32_t r = 0; r < vs->nsolved; r++) {
			uint32_t node = s->order[r];
			uint32_t bits = node_bits(vs, node);

			if (range_is_empty(&vs->at[node]) || budget_spent(vs->budget))
				continue;
			struct value v = evaluate(s, node);

			if (range_is_empty(&v))
				continue;
			struct value better = range_meet(&vs->at[node], &v, bits);

			if (memcmp(&better, &vs->at[node], sizeof(better)) != 0)
				changed = true;
			vs->at[node] = better;
		}
		if (!changed)
			return;
	}
}

static void set_threads(struct values *vs)
{
	const struct module *module = vs->fn->module;
	const struct function_info *info = &module->functions[vs->fn->index];
	uint32_t req = info->ndim[DIRECTIVE_REQNTID], max = info->ndim[DIRECTIVE_MAXNTID];
	uint32_t total = 1024;

	vs->is_entry = info->is_entry;
	if (req) {
		const uint32_t *d = info->dim[DIRECTIVE_REQNTID];

		vs->exact_threads = true;
		for (uint32_t k = 0; k < 3; k++)
			vs->threads[k] = d[k] ? d[k] : 1;
		vs->threads_total = vs->threads[0] * vs->threads[1] * vs->threads[2];
		return;
	}
	if (max) {
		const uint32_t *d = info->dim[DIRECTIVE_MAXNTID];
		uint64_t product =
			(uint64_t)(d[0] ? d[0] : 1) * (d[1] ? d[1] : 1) * (d[2] ? d[2] : 1);

		total = product < 1024 ? (uint32_t)product : 1024;
	}
	if (vs->options->maxntid && (!max || vs->options->override_directives) &&
		vs->options->maxntid < 1024)
		total = vs->options->maxntid;
	/* .maxntid bounds the product only (ISA 11.4.2), so each dimension may be as large */
	vs->threads_total = total;
	vs->threads[0] = vs->threads[1] = total;
	vs->threads[2] = total < 64 ? total : 64;
}

static bool reads_special(
	const struct function *fn, enum special_register from, enum special_register to)
{
	for (uint32_t i = 0; i < fn->noperands; i++)
		if (fn->operands[i].kind == OPERAND_SPECIAL && fn->operands[i].special >= from &&
			fn->operands[i].special <= to)
			return true;
	return false;
}

static uint32_t find_dynamic_shared(const struct function *fn)
{
	uint32_t n = fn->module->nsymbols + fn->nsymbols;
	uint32_t best = NONE;

	for (uint32_t id = 0; id < n; id++) {
		const struct symbol *symbol = function_symbol(fn, id);

		if (symbol->kind != SYMBOL_VAR || symbol->space != SPACE_SHARED ||
			!symbol->is_extern)
			continue;
		if (best == NONE || symbol->align > function_symbol(fn, best)->align)
			best = id;
	}
	return best;
}

/* The binary logarithm of the alignment that one operand's being right would prove; 0: none. */
static uint32_t evidence_of(struct values *vs, uint32_t insn, const struct touch *t)
{
	const struct operand *o = t->operand == UINT8_MAX
					  ? NULL
					  : insn_operand(vs->fn, &vs->fn->insns[insn], t->operand);
	bool tensor = t->extent == EXTENT_TENSOR_LOAD || t->extent == EXTENT_TENSOR_STORE;
	struct descriptor d;

	if (!o || (!tensor && t->extent != EXTENT_WGMMA))
		return 0;
	struct value v = value_of(vs, insn, o);
	uint32_t most = 7; /* tensor copies: 128 bytes (ISA 9.7.9.27.1.2) */

	if (!tensor) {
		/* operands swizzled by 128 bytes repeat every 1024 (ISA 9.7.15.5.1) */
		if (!value_descriptor(vs, &v, &d) || !d.high_known || d.swizzle >> 1 != 1 ||
			d.base_offset || d.start.lo % 1024 || d.start.stride % 1024)
			return 0;
		v = d.start;
		most = 10;
	}
	if (v.base != BASE_SYMBOL || v.id != vs->dynamic_shared || v.lo < -VALUE_FAR ||
		v.hi > VALUE_FAR)
		return 0;
	uint64_t bits = (uint64_t)v.lo | v.stride;
	uint32_t zeros = bits ? (uint32_t)__builtin_ctzll(bits) : most;

	return zeros < most ? zeros : most;
}

/* Operands that have to be aligned say how dynamic shared memory is (--assume=aligned-tma). */
static bool find_evidence(struct values *vs)
{
	uint32_t best = 0;

	if (vs->dynamic_shared == NONE || !(vs->options->assume & ASSUME_ALIGNED_TMA))
		return false;
	for (uint32_t i = 0; i < vs->fn->ninsns; i++)
		for (uint32_t k = 0;
			vs->cfg->block_of[i] != NONE && k < vs->cfg->effects[i].ntouches; k++) {
			uint32_t log2 = evidence_of(vs, i, &vs->cfg->effects[i].touches[k]);

			best = log2 > best ? log2 : best;
		}
	uint32_t align = function_symbol(vs->fn, vs->dynamic_shared)->align;

	if (UINT32_C(1) << best <= align)
		return false;
	vs->assumed_align = best;
	return true;
}

static void solve_all(struct solver *s)
{
	struct values *vs = s->vs;

	for (uint32_t i = 0; i < vs->nsolved; i++) {
		vs->at[i] = range_empty();
		s->changes[i] = 0;
		s->capped[i] = false;
	}
	vs->cached = NULL;
	ascend(s);
	if (vs->budget->spent) {
		/* what is there may not cover everything yet: know nothing */
		vs->unsolved = true;
		for (uint32_t i = 0; i < vs->nsolved; i++)
			vs->at[i] = range_top(node_bits(vs, i));
	} else {
		narrow(s);
	}
}

struct values *values_solve(const struct function *fn, const struct cfg *cfg,
	const struct analysis_options *options, struct arena *arena, struct budget *budget,
	uint32_t *assumptions_used)
{
	struct values *vs = ARENA_NEW(arena, struct values, 1);
	struct solver s = {.vs = vs, .context_block = NONE};

	(void)assumptions_used; /* bounds carry their own assumptions; see struct value */
	*vs = (struct values){.fn = fn,
		.cfg = cfg,
		.options = options,
		.arena = arena,
		.budget = budget,
		.dynamic_shared = find_dynamic_shared(fn)};
	set_threads(vs);
	vs->flat = !reads_special(fn, SPECIAL_TID_Y, SPECIAL_TID_Z) || vs->exact_threads;
	if (vs->exact_threads && (vs->threads[1] > 1 || vs->threads[2] > 1))
		vs->flat = false;
	ssa_init(&vs->ssa, fn, cfg, arena);
	slice(&s);
	vs->at = ARENA_NEW(arena, struct value, vs->nsolved + 1);
	order_nodes(&s);
	index_users(&s);
	collect_thresholds(&s);
	context_find_controls(vs);
	s.dirty = bits_new(arena, vs->nsolved + 1);
	s.changes = ARENA_NEW(arena, uint8_t, vs->nsolved + 1);
	s.capped = ARENA_NEW(arena, bool, vs->nsolved + 1);
	solve_all(&s);
	if (!vs->unsolved && find_evidence(vs))
		solve_all(&s);
	vs->cached = NULL;
	values_find_uniform(vs);
	values_number(vs);
	values_find_roots(vs);
	return vs;
}
