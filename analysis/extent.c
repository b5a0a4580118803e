/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In: a touch of an instruction. Out: first address and number of bytes. Bytes are an upper bound
 * always; where only an assumption makes them finite its bit is set.
 */
#include "analysis/extent.h"

#include "analysis/extent_matrix.h"
#include "analysis/neighbours.h"
#include "analysis/stages.h"

#define ANY_BYTES UINT64_MAX

struct expectation { /* mbarrier.expect_tx and arrive.expect_tx */
	uint32_t insn;
	const struct operand *mbarrier;
	uint64_t bytes;
	uint32_t assumptions; /* on which `bytes` rests */
};

struct extents {
	const struct function *fn;
	const struct cfg *cfg;
	const struct values *values;
	const struct analysis_options *options;
	struct arena *arena;
	struct expectation *expected;
	uint32_t nexpected, expected_cap;
	bool any_unknown; /* some expectation has no bound */
	struct neighbours *neighbours;
};

static uint64_t number_bound(const struct extents *x, uint32_t insn, const struct operand *o,
	bool *exact, uint32_t *assumptions)
{
	struct value v = value_of(x->values, insn, o);

	*exact = v.base == BASE_NUMBER && v.lo == v.hi;
	if (v.base != BASE_NUMBER || v.lo < 0 || v.hi > INT32_MAX)
		return ANY_BYTES;
	*assumptions |= v.assumptions;
	return (uint64_t)v.hi;
}

static bool copies_shared(const struct effect *e)
{
	for (uint8_t k = 0; k < e->ntouches; k++)
		if (e->touches[k].spaces & (SPACE_SHARED | SPACE_CLUSTER) &&
			!(e->touches[k].spaces & SPACE_GLOBAL))
			return true;
	return false;
}

/* The same of the size of a copy. */
static uint64_t size_bound(const struct extents *x, uint32_t insn, const struct operand *o, bool *exact,
	uint32_t *assumptions)
{
	uint64_t bytes = number_bound(x, insn, o, exact, assumptions);
	int64_t most;

	if (bytes == ANY_BYTES && copies_shared(x->cfg->effects[insn]) &&
		value_shared_size(x->values, insn, o, &most, assumptions))
		return (uint64_t)most;
	return bytes;
}

static void collect_expectation(struct extents *x, uint32_t i)
{
	const struct insn *insn = &x->fn->insns[i];
	bool exact;

	if (insn->op != OP_mbarrier || !insn_has(insn, MOD_expect_tx))
		return;
	for (uint32_t k = 0; k + 1 < insn->count; k++) {
		const struct operand *o = insn_operand(x->fn, insn, k);

		if (o->kind != OPERAND_MEM)
			continue;
		struct expectation e = {.insn = i, .mbarrier = o};

		e.bytes = number_bound(
			x, i, insn_operand(x->fn, insn, k + 1), &exact, &e.assumptions);

		ARENA_PUSH(x->arena, x->expected, x->nexpected, x->expected_cap, e);
		return;
	}
	x->any_unknown = true;
}

struct extents *extents_prepare(const struct function *fn, const struct cfg *cfg,
	const struct values *values, const struct analysis_options *options, struct arena *arena)
{
	struct extents *x = ARENA_NEW(arena, struct extents, 1);

	*x = (struct extents){fn, cfg, values, options, arena, NULL, 0, 0, false, NULL};
	if (options->assume & ASSUME_MAP_GAP)
		x->neighbours = neighbours_prepare(fn, cfg, values, arena);
	for (uint32_t k = 0; k < cfg->active.n; k++)
		if (cfg->block_of[cfg->active.v[k]] != NONE)
			collect_expectation(x, cfg->active.v[k]);
	return x;
}

/* Most bytes that a mbarrier of this copy is told to wait for at once. That a copy is no longer is
 * an assumption: the same phase may be told more in several pieces. */
static uint64_t expected_bytes(
	struct extents *x, uint32_t insn, uint8_t mbarrier, uint32_t *assumptions)
{
	const struct operand *o =
		mbarrier == UINT8_MAX ? NULL : insn_operand(x->fn, &x->fn->insns[insn], mbarrier);
	uint64_t most = 0;

	if (!o || x->any_unknown || x->nexpected > 4096)
		return ANY_BYTES;
	for (uint32_t k = 0; k < x->nexpected; k++) {
		const struct expectation *e = &x->expected[k];

		if (e->bytes > most && access_same_mbarrier(x->values, insn, o, e->insn,
					       e->mbarrier, x->options, assumptions)) {
			most = e->bytes;
			*assumptions |= e->assumptions;
		}
	}
	return most ? most : ANY_BYTES;
}

static void limit(struct extent *e, uint64_t bytes, uint32_t assumption)
{
	if (bytes >= e->bytes)
		return;
	e->bytes = bytes;
	e->assumptions = assumption;
}

static void limit_by_neighbours(struct extents *x, struct extent *e, uint32_t insn)
{
	if (!x->neighbours)
		return;
	limit(e, neighbours_gap(x->neighbours, insn, &e->address), ASSUME_MAP_GAP);
	e->has_ceiling = neighbours_ceiling(x->neighbours, insn, &e->address, &e->ceiling);
}

static bool is_thread_number(const struct values *vs, uint32_t node)
{
	const struct node *n = &vs->ssa.nodes[node];
	const struct insn *insn = n->kind == NODE_DEF ? &vs->fn->insns[n->insn] : NULL;
	const struct operand *from = insn && insn->op == OP_mov ? insn_source(vs->fn, insn, 0) : NULL;

	return from && n->previous == NONE && from->kind == OPERAND_SPECIAL &&
	       from->special == SPECIAL_TID_X;
}

/* The stride of the addresses that one thread computes, without what its number adds to all of them; 0: not known. */
static uint64_t stride_in_thread(const struct values *vs, const struct operand *o, uint32_t *assumptions)
{
	struct stage_sum sum;
	uint64_t stride = 0;

	if (!stage_sum_of(vs, o, &sum))
		return 0;
	for (uint32_t i = 0; i < sum.n; i++) {
		const struct value *v = value_at(vs, sum.terms[i].node);
		int64_t factor = (int32_t)sum.terms[i].factor;

		if (v->lo == v->hi || is_thread_number(vs, sum.terms[i].node))
			continue;
		if (v->base != BASE_NUMBER)
			return 0;
		*assumptions |= v->assumptions;
		stride = range_gcd(stride, v->stride * (uint64_t)(factor < 0 ? -factor : factor));
	}
	return stride;
}

static void limit_tensor(struct extents *x, struct extent *e, uint32_t insn, const struct touch *t)
{
	uint32_t assumptions = ASSUME_MAP_GAP;

	if (x->options->assume & ASSUME_MAP_GAP) {
		uint64_t bytes = expected_bytes(x, insn, t->mbarrier_operand, &assumptions);

		limit(e, bytes, assumptions);
	}
	limit_by_neighbours(x, e, insn);
	if (!(x->options->assume & ASSUME_STAGE_STRIDE) ||
		(e->address.base != BASE_SYMBOL && e->address.base != BASE_DERIVED))
		return;
	/* copies into different stages do not overlap, so none is longer than a stage */
	uint64_t stride = e->address.stride;

	assumptions = ASSUME_STAGE_STRIDE;
	if (stride && stride < 128)
		stride = stride_in_thread(x->values,
			insn_operand(x->fn, &x->fn->insns[insn], t->operand), &assumptions);
	if (stride >= 128)
		limit(e, stride, assumptions);
}

struct extent extent_of(struct extents *x, uint32_t insn, const struct touch *t)
{
	const struct operand *o = insn_operand(x->fn, &x->fn->insns[insn], t->operand);

	return extent_at(x, insn, t, value_of(x->values, insn, o));
}

struct extent extent_at(
	struct extents *x, uint32_t insn, const struct touch *t, struct value address)
{
	const struct insn *i = &x->fn->insns[insn];
	struct extent e = {.address = address, .bytes = ANY_BYTES};

	switch ((enum extent_kind)t->extent) {
	case EXTENT_FIXED:
	case EXTENT_LANES:
		e.bytes = t->bytes ? t->bytes : ANY_BYTES;
		e.exact = t->bytes != 0;
		break;
	case EXTENT_OPERAND:
		if (t->size_operand != UINT8_MAX && insn_operand(x->fn, i, t->size_operand))
			e.bytes = size_bound(x, insn, insn_operand(x->fn, i, t->size_operand),
				&e.exact, &e.assumptions);
		if (e.bytes == ANY_BYTES && (t->spaces & (SPACE_SHARED | SPACE_CLUSTER)) &&
			t->writes)
			limit_tensor(x, &e, insn, t);
		break;
	case EXTENT_TENSOR_LOAD:
		limit_tensor(x, &e, insn, t);
		break;
	case EXTENT_WGMMA:
	case EXTENT_TCGEN05:
		matrix_extent((struct matrix_place){x->fn, x->values, x->options, insn}, t, &e);
		break;
	case EXTENT_TENSOR_STORE:
		limit_by_neighbours(x, &e, insn);
		break;
	case EXTENT_WMMA:
	case EXTENT_UNKNOWN:
		break;
	}
	return e;
}
