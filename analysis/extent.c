/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In: a touch of an instruction. Out: first address and number of bytes. Bytes are an upper bound
 * always; where only an assumption makes them finite its bit is set.
 */
#include "analysis/extent.h"

#include "analysis/neighbours.h"

#define ANY_BYTES UINT64_MAX

struct expectation { /* mbarrier.expect_tx and arrive.expect_tx */
	uint32_t insn;
	const struct operand *mbarrier;
	uint64_t bytes;
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

static uint64_t number_bound(
	const struct extents *x, uint32_t insn, const struct operand *o, bool *exact)
{
	struct value v = value_of(x->values, insn, o);

	*exact = v.base == BASE_NUMBER && v.lo == v.hi;
	if (v.base != BASE_NUMBER || v.lo < 0 || v.hi > INT32_MAX)
		return ANY_BYTES;
	return (uint64_t)v.hi;
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
		struct expectation e = {
			i, o, number_bound(x, i, insn_operand(x->fn, insn, k + 1), &exact)};

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
	for (uint32_t i = 0; i < fn->ninsns; i++)
		if (cfg->block_of[i] != NONE)
			collect_expectation(x, i);
	return x;
}

/* Most bytes that a mbarrier of this copy waits for; a copy longer than that would never be
 * awaited. */
static uint64_t expected_bytes(struct extents *x, uint32_t insn, uint8_t mbarrier)
{
	const struct operand *o =
		mbarrier == UINT8_MAX ? NULL : insn_operand(x->fn, &x->fn->insns[insn], mbarrier);
	uint64_t most = 0;

	if (!o || x->any_unknown || x->nexpected > 4096)
		return ANY_BYTES;
	for (uint32_t k = 0; k < x->nexpected; k++) {
		uint32_t unused = 0;

		if (x->expected[k].bytes > most &&
			access_same_mbarrier(x->values, insn, o, x->expected[k].insn,
				x->expected[k].mbarrier, x->options, &unused))
			most = x->expected[k].bytes;
	}
	return most ? most : ANY_BYTES;
}

static void limit(struct extent *e, uint64_t bytes, uint32_t assumption)
{
	if (bytes >= e->bytes)
		return;
	e->bytes = bytes;
	e->assumptions |= assumption;
}

static void limit_by_neighbours(struct extents *x, struct extent *e, uint32_t insn)
{
	if (!x->neighbours)
		return;
	limit(e, neighbours_gap(x->neighbours, insn, &e->address), ASSUME_MAP_GAP);
	e->has_ceiling = neighbours_ceiling(x->neighbours, insn, &e->address, &e->ceiling);
}

static void limit_tensor(struct extents *x, struct extent *e, uint32_t insn, const struct touch *t)
{
	e->bytes = expected_bytes(x, insn, t->mbarrier_operand);
	limit_by_neighbours(x, e, insn);
	/* copies into different stages do not overlap, so none is longer than a stage */
	if ((x->options->assume & ASSUME_STAGE_STRIDE) && e->address.stride >= 128 &&
		(e->address.base == BASE_SYMBOL || e->address.base == BASE_DERIVED))
		limit(e, e->address.stride, ASSUME_STAGE_STRIDE);
}

static struct slice opcode_slice(const struct function *fn, const struct insn *insn)
{
	return (struct slice){fn->module->source->text + insn->opcode_at.begin,
		insn->opcode_at.end - insn->opcode_at.begin};
}

/* The M, N, K of a modifier .m64n128k16. */
static bool shape_of(const struct function *fn, const struct insn *insn, uint32_t shape[3])
{
	struct slice text = opcode_slice(fn, insn);

	for (size_t i = 0; i + 3 < text.size; i++) {
		const char *p = text.text + i;
		size_t at = i + 1;

		if (p[0] != '.' || p[1] != 'm' || p[2] < '0' || p[2] > '9')
			continue;
		for (uint32_t k = 0; k < 3; k++) {
			if (at >= text.size || text.text[at] != "mnk"[k])
				return false;
			shape[k] = 0;
			for (at++; at < text.size && text.text[at] >= '0' && text.text[at] <= '9';
				at++)
				shape[k] = shape[k] * 10 + (uint32_t)(text.text[at] - '0');
		}
		return true;
	}
	return false;
}

/* Immediate trans-a / trans-b at the end of a 16-bit wgmma (ISA 9.7.15.5.2), when operand is A or
 * B. */
static bool is_transposed(const struct extents *x, const struct insn *insn, uint8_t operand)
{
	const struct operand *a = insn_operand(x->fn, insn, 1);
	bool a_in_shared = a && a->kind == OPERAND_REG;
	bool sixteen = insn_has(insn, MOD_f16) || insn_has(insn, MOD_bf16);
	uint32_t sparse = insn_has(insn, MOD_sp) ? 2 : 0, plain = 6 + sparse;
	const struct operand *o = NULL;

	if (!sixteen || insn->count <= plain)
		return false;
	if (operand == 1 && a_in_shared)
		o = insn_operand(x->fn, insn, plain);
	else if (operand == 2)
		o = insn_operand(x->fn, insn, plain + (a_in_shared ? 1 : 0));
	return o && !(o->kind == OPERAND_IMM && o->imm == 0);
}

static uint32_t row_bytes(uint32_t swizzle)
{
	switch (swizzle) {
	case 1:
		return 128;
	case 2:
		return 64;
	case 3:
		return 32;
	default:
		return 16;
	}
}

/* Moves a start down to the beginning of its row: swizzling mixes the chunks of a row. */
static void round_to_row(const struct extents *x, struct extent *e, uint32_t row)
{
	struct value *v = &e->address;
	uint32_t k = (uint32_t)__builtin_ctz(row);

	if (row <= 16 || v->lo < -VALUE_FAR || v->hi > VALUE_FAR)
		return;
	bool aligned = v->aux >= k;

	/* operands of a swizzle mode start in patterns that are aligned to them (ISA 9.7.15.5.1) */
	if (!aligned && (x->options->assume & ASSUME_ALIGNED_TMA)) {
		aligned = true;
		e->assumptions |= ASSUME_ALIGNED_TMA;
	}
	if (aligned) { /* each start goes down to a multiple of the row */
		v->lo &= -(int64_t)row;
		v->hi &= -(int64_t)row;
		if (v->stride % row != 0)
			v->stride = row;
		if (v->lo == v->hi)
			v->stride = 0;
		return;
	}
	v->lo -= row - 16; /* starts anywhere in its row */
	if (v->stride)
		v->stride = 1;
	else
		v->hi -= row - 16, e->bytes += row - 16;
}

static void wgmma_extent(struct extents *x, struct extent *e, uint32_t i, const struct touch *t,
	const struct descriptor *d)
{
	const struct insn *insn = &x->fn->insns[i];
	uint32_t shape[3];

	e->bytes = 65536;
	if (!d->high_known || !shape_of(x->fn, insn, shape))
		return;
	uint32_t swizzle = d->swizzle >> 1; /* wgmma: bits 62-63 */
	uint32_t row = row_bytes(swizzle), rows = t->operand == 1 ? shape[0] : shape[1];
	/* K is 32 bytes; B of a sparse product has twice as many */
	uint32_t kbytes = insn_has(insn, MOD_sp) && t->operand == 2 ? 64 : 32;
	uint64_t bytes;

	if (is_transposed(x, insn, t->operand)) {
		uint32_t width = row / 2, k = kbytes / 2;

		bytes = (uint64_t)(rows > width ? (rows + width - 1) / width - 1 : 0) * d->lbo +
			(uint64_t)(k / 8 - 1) * d->sbo + 8u * row;
	} else {
		bytes = (uint64_t)((rows + 7) / 8 - 1) * d->sbo + 8u * row;
		if (row == 16) /* core matrices along K are LBO apart */
			bytes += (uint64_t)(kbytes / 16 - 1) * d->lbo;
		else if (kbytes > row)
			bytes += d->lbo;
	}
	e->bytes = bytes;
	round_to_row(x, e, row);
}

/* The instruction descriptor is not decoded: 256 rows at most, in either order (ISA 9.7.16.10.5).
 */
static void tcgen05_extent(struct extent *e, const struct descriptor *d)
{
	e->bytes = ANY_BYTES;
	if (!d->high_known)
		return;
	uint64_t stride = d->lbo > d->sbo ? d->lbo : d->sbo;

	e->bytes = 31 * stride + 8 * 128 + d->lbo + d->sbo;
	if (e->address.lo > -VALUE_FAR) {
		e->address.lo -= 112;
		e->address.stride = e->address.lo == e->address.hi ? 0 : 1;
	}
}

static void matrix_extent(struct extents *x, struct extent *e, uint32_t insn, const struct touch *t)
{
	struct descriptor d;

	e->bytes = ANY_BYTES;
	if (!value_descriptor(x->values, &e->address, &d)) {
		e->address.base = BASE_UNKNOWN;
		return;
	}
	e->address = d.start;
	if (t->extent == EXTENT_WGMMA)
		wgmma_extent(x, e, insn, t, &d);
	else
		tcgen05_extent(e, &d);
}

struct extent extent_of(struct extents *x, uint32_t insn, const struct touch *t)
{
	const struct insn *i = &x->fn->insns[insn];
	struct extent e = {.address = value_of(x->values, insn, insn_operand(x->fn, i, t->operand)),
		.bytes = ANY_BYTES};

	switch ((enum extent_kind)t->extent) {
	case EXTENT_FIXED:
	case EXTENT_LANES:
		e.bytes = t->bytes ? t->bytes : ANY_BYTES;
		e.exact = t->bytes != 0;
		break;
	case EXTENT_OPERAND:
		if (t->size_operand != UINT8_MAX && insn_operand(x->fn, i, t->size_operand))
			e.bytes = number_bound(
				x, insn, insn_operand(x->fn, i, t->size_operand), &e.exact);
		if (e.bytes == ANY_BYTES && (t->spaces & (SPACE_SHARED | SPACE_CLUSTER)) &&
			t->writes)
			limit_tensor(x, &e, insn, t);
		break;
	case EXTENT_TENSOR_LOAD:
		limit_tensor(x, &e, insn, t);
		break;
	case EXTENT_WGMMA:
	case EXTENT_TCGEN05:
		matrix_extent(x, &e, insn, t);
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
