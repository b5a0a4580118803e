/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In: an instruction that works on bits and what its operands can hold. Out: what the result can
 * hold (ISA 9.7.1, 9.7.8). Descriptors and addresses keep their base where the bits allow it.
 */
#include "analysis/value_operation.h"

/* A result that looked at an address's low bits rests on what they are assumed to be. */
static struct value with_alignment(
	const struct values *vs, const struct value *a, const struct value *b, struct value out)
{
	bool used = (a->base == BASE_SYMBOL && a->id == vs->dynamic_shared) ||
		    (b->base == BASE_SYMBOL && b->id == vs->dynamic_shared);

	if (used && vs->assumed_align)
		out.assumptions |= ASSUME_ALIGNED_TMA;
	return out;
}

static bool has_descriptor(const struct value *a, const struct value *b)
{
	return (a->base == BASE_DESCRIPTOR) != (b->base == BASE_DESCRIPTOR) && !range_is_empty(a) &&
	       !range_is_empty(b);
}

/* No address of the set has any of these bits. */
static bool has_none_of(const struct value *a, uint32_t lost)
{
	uint32_t known =
		a->lo == a->hi ? 31 : (uint32_t)__builtin_ctzll(a->stride | UINT64_C(1) << 31);

	if (known > a->aux)
		known = a->aux;
	return !(lost >> known) && !((uint64_t)a->lo & lost);
}

/* Bits from 24 on say whose shared memory of the cluster an address of 32 bits is in; clearing some
 * leads to the same place in another CTA of a pair, or in the own one. Compilers leave out of the
 * mask what an address does not have. */
static bool clears_rank(const struct operation *op, const struct value *a, const struct value *mask,
	struct value *out)
{
	const int64_t most = INT64_C(1) << 23;
	int64_t c;

	if (op->type.bits != 32 || !value_is_shared_address(a) || !range_is_constant(mask, &c) ||
		!(~(uint32_t)c >> 24) || a->lo < -most || a->hi >= most)
		return false;
	uint32_t lost = ~(uint32_t)c & 0xffffff;

	if (lost && !has_none_of(a, lost))
		return false;
	*out = lost ? with_alignment(op->e.values, a, mask, *a) : *a;
	out->is_peer = true;
	out->own_cta = false;
	out->space = SPACE_SHARED | SPACE_CLUSTER;
	return true;
}

struct value operation_and(const struct operation *op, const struct value *a, const struct value *b)
{
	struct value peer;
	int64_t c;

	if (clears_rank(op, a, b, &peer) || clears_rank(op, b, a, &peer))
		return peer;

	if (a->base == BASE_DESCRIPTOR && range_is_constant(b, &c))
		return descriptor_and(op->e.values, a, (uint64_t)c);
	if (b->base == BASE_DESCRIPTOR && range_is_constant(a, &c))
		return descriptor_and(op->e.values, b, (uint64_t)c);
	if (a->base == BASE_DESCRIPTOR || b->base == BASE_DESCRIPTOR)
		return any(op->type.bits);
	if (value_is_shared_address(a) && range_is_constant(b, &c) && op->type.bits >= 32) {
		/* (x + P - 1) & -P: x rounded up, when -P is all ones above its zeros */
		uint64_t mask = (uint64_t)c << (64 - op->type.bits) >> (64 - op->type.bits);
		uint32_t k = mask ? (uint32_t)__builtin_ctzll(mask) : 64;
		uint64_t all = ~UINT64_C(0) >> (64 - op->type.bits);
		struct value up = *a, v;

		if (k && k < 17 && mask == (all & ~((UINT64_C(1) << k) - 1)) && a->lo == a->hi) {
			up.lo = up.hi = a->lo - ((1 << k) - 1);
			if (derived_align_up(op->e.values, &up, k, &v))
				return v;
		}
	}
	return with_alignment(op->e.values, a, b, range_and(a, b, op->type.bits));
}

static uint64_t ones(uint32_t bits)
{
	return bits >= 64 ? ~UINT64_C(0) : (UINT64_C(1) << bits) - 1;
}

/* The bits that a number's set says may be ones. */
static uint64_t bits_of_value(struct value v, uint32_t bits)
{
	if (range_is_empty(&v))
		return 0;
	v = range_unsigned(&v, bits);
	if (v.base != BASE_NUMBER || v.lo < 0 || v.hi > VALUE_FAR)
		return ones(bits);
	if (v.lo == v.hi)
		return (uint64_t)v.lo;
	uint32_t zeros = range_trailing_zeros(&v);
	uint64_t below = v.hi ? ~UINT64_C(0) >> __builtin_clzll((uint64_t)v.hi) : 0;

	return below & ~ones(zeros < 63 ? zeros : 63);
}

/* The bits of a register of `bits` bits that may be ones, told from the instructions that made it: a set
 * with one stride does not say that (x & 7) | (y & 0x180) lacks the bits in between. Each instruction's
 * answer is cut to what its own set allows; what is assumed of those sets is added. */
static uint64_t possible_bits(const struct values *vs, const struct operand *o, uint32_t bits,
	uint32_t depth, uint32_t *assumptions)
{
	int64_t c;

	if (trips_constant_of(vs, o, &c))
		return (uint64_t)c & ones(bits);
	uint32_t node = trips_plain_node(vs, o);

	if (node == NONE || node_bits(vs, node) != bits)
		return ones(bits);
	const struct node *n = &vs->ssa.nodes[node];
	uint64_t most = bits_of_value(*value_at(vs, node), bits), x;

	*assumptions |= value_at(vs, node)->assumptions;
	if (!depth || n->kind != NODE_DEF || n->previous != NONE)
		return most;
	const struct insn *insn = &vs->fn->insns[n->insn];
	const struct operand *a = insn_source(vs->fn, insn, 0), *b = insn_source(vs->fn, insn, 1);
	struct type type = insn_type(insn, 0), from = insn_type(insn, 1);

	if (type.bits != bits || type.is_float ||
		insn_operand(vs->fn, insn, 0)->kind != OPERAND_REG)
		return most;
	switch (insn->op) {
	case OP_mov:
		return most & possible_bits(vs, a, bits, depth - 1, assumptions);
	case OP_and:
		return most & possible_bits(vs, a, bits, depth - 1, assumptions) &
		       possible_bits(vs, b, bits, depth - 1, assumptions);
	case OP_or:
	case OP_xor:
		return most & (possible_bits(vs, a, bits, depth - 1, assumptions) |
				      possible_bits(vs, b, bits, depth - 1, assumptions));
	case OP_shl:
		if (!trips_constant_of(vs, b, &c) || c < 0 || c >= (int64_t)bits)
			return most;
		return most & possible_bits(vs, a, bits, depth - 1, assumptions) << c;
	case OP_shr:
		if (!trips_constant_of(vs, b, &c) || c < 0 || c >= (int64_t)bits)
			return most;
		x = possible_bits(vs, a, bits, depth - 1, assumptions);
		if (type.is_signed && x >> (bits - 1))
			return most;
		return most & x >> c;
	case OP_cvt:
		if (from.is_float || from.is_signed || from.bits > bits || from.bits < 32 ||
			insn_has(insn, MOD_sat))
			return most;
		return most & possible_bits(vs, a, from.bits, depth - 1, assumptions);
	default:
		return most;
	}
}

bool value_bits(const struct values *vs, const struct operand *o, uint32_t *set, uint32_t *open)
{
	uint32_t node = trips_plain_node(vs, o), assumptions = 0;
	int64_t c = 0;

	*set = 0;
	*open = UINT32_MAX;
	if (vs->unsolved)
		return false;
	if (trips_constant_of(vs, o, &c)) {
		*set = (uint32_t)(uint64_t)c;
		*open = 0;
		return true;
	}
	const struct node *n = node == NONE ? NULL : &vs->ssa.nodes[node];
	const struct insn *insn =
		n && n->kind == NODE_DEF && n->previous == NONE ? &vs->fn->insns[n->insn] : NULL;

	if (insn && insn->op == OP_or && insn_type(insn, 0).bits == 32 && node_bits(vs, node) == 32 &&
		trips_constant_of(vs, insn_source(vs->fn, insn, 1), &c)) {
		*set = (uint32_t)(uint64_t)c;
		o = insn_source(vs->fn, insn, 0);
	}
	*open = (uint32_t)possible_bits(vs, o, 32, 6, &assumptions) & ~*set;
	return !assumptions;
}

bool value_fields_apart(
	const struct values *vs, const struct insn *insn, uint32_t bits, uint32_t *assumptions)
{
	const uint32_t depth = 5;
	uint64_t x = possible_bits(vs, insn_source(vs->fn, insn, 0), bits, depth, assumptions);

	return !(x & possible_bits(vs, insn_source(vs->fn, insn, 1), bits, depth, assumptions));
}

/* Fields that are put together are a sum. */
static bool sum_of_fields(const struct operation *op, const struct value *a, const struct value *b,
	struct value *out)
{
	uint32_t used = 0;

	if ((op->insn->op != OP_or && op->insn->op != OP_xor) || a->base != BASE_NUMBER ||
		b->base != BASE_NUMBER || a->lo == a->hi || b->lo == b->hi ||
		!value_fields_apart(op->e.values, op->insn, op->type.bits, &used))
		return false;
	*out = range_add(a, b, op->type.bits);
	out->assumptions |= used;
	return true;
}

struct value operation_or(const struct operation *op, const struct value *a, const struct value *b)
{
	if (has_descriptor(a, b))
		return a->base == BASE_DESCRIPTOR ? descriptor_or(op->e.values, a, b)
						  : descriptor_or(op->e.values, b, a);
	if (a->base == BASE_DESCRIPTOR || b->base == BASE_DESCRIPTOR)
		return any(op->type.bits);
	struct value both;

	if (sum_of_fields(op, a, b, &both))
		return both;
	return with_alignment(op->e.values, a, b, range_or(a, b, op->type.bits));
}

struct value operation_xor(const struct operation *op, const struct value *a, const struct value *b)
{
	if (a->base == BASE_DESCRIPTOR || b->base == BASE_DESCRIPTOR)
		return any(op->type.bits);
	struct value both;

	if (sum_of_fields(op, a, b, &both))
		return both;
	return with_alignment(op->e.values, a, b, range_xor(a, b, op->type.bits));
}

/* bfe d, a, position, length: (a >> position) & mask; signed forms extend the top bit. */
struct value operation_extract(const struct operation *op)
{
	struct value a = operation_source(op, 0), position = operation_source(op, 1),
		     length = operation_source(op, 2);
	int64_t p, n;

	if (!range_is_constant(&position, &p) || !range_is_constant(&length, &n) || p < 0 ||
		n <= 0 || p + n > op->type.bits)
		return any(op->type.bits);
	if (p == 4 && n >= 14 && value_is_shared_address(&a))
		return descriptor_from_address(op->e.values, &a);
	struct value v = range_unsigned(&a, op->type.bits);

	v = range_shr(&v, &position);
	return op->type.is_signed ? range_signed(&v, (uint32_t)n) : range_unsigned(&v, (uint32_t)n);
}

/* bfi f, a, b, position, length: the low bits of a replace bits of b. */
struct value operation_insert(const struct operation *op)
{
	struct value a = operation_source(op, 0), b = operation_source(op, 1),
		     position = operation_source(op, 2), length = operation_source(op, 3);
	int64_t p, n;

	if (!range_is_constant(&position, &p) || !range_is_constant(&length, &n) || p < 0 ||
		n <= 0 || p + n > op->type.bits || n > 62)
		return any(op->type.bits);
	if (range_is_empty(&a) || range_is_empty(&b))
		return range_empty();
	/* the upper half of a descriptor: too large a number for a sum */
	if (b.base == BASE_DESCRIPTOR && p == n && p + n == op->type.bits)
		return descriptor_pack(op->e.values, &b, &a, (uint32_t)n);
	struct value low = range_constant((int64_t)((UINT64_C(1) << n) - 1)),
		     keep = range_constant((int64_t) ~(((UINT64_C(1) << n) - 1) << p));

	if (p + n < op->type.bits) /* else a shift loses the others */
		a = operation_and(op, &a, &low);
	if (a.base == BASE_DESCRIPTOR && p)
		return any(op->type.bits);
	a = p ? range_shl(&a, &position, op->type.bits) : a;
	b = operation_and(op, &b, &keep);
	/* they have no bit in common */
	return a.base == BASE_NUMBER && b.base == BASE_NUMBER ? range_add(&a, &b, op->type.bits)
							      : operation_or(op, &b, &a);
}

/* lop3 d, a, b, c, table: the tables of single two-input functions; others by their width. */
struct value operation_logic3(const struct operation *op)
{
	struct value table = operation_source(op, 3), a = operation_source(op, 0),
		     b = operation_source(op, 1), c = operation_source(op, 2), t;
	int64_t which;

	if (op->slot) /* whether that is not zero, put together with a predicate */
		return range_span(0, 1, 1);
	if (!range_is_constant(&table, &which))
		return any(op->bits);
	switch (which) {
	case 0xc0:
		return operation_and(op, &a, &b);
	case 0xfc:
		return operation_or(op, &a, &b);
	case 0x3c:
		return operation_xor(op, &a, &b);
	case 0x80:
		t = operation_and(op, &a, &b);
		return operation_and(op, &t, &c);
	case 0xfe:
		t = operation_or(op, &a, &b);
		return operation_or(op, &t, &c);
	case 0x96:
		t = operation_xor(op, &a, &b);
		return operation_xor(op, &t, &c);
	case 0xf8:
		t = operation_and(op, &b, &c);
		return operation_or(op, &a, &t);
	case 0xea:
		t = operation_and(op, &a, &b);
		return operation_or(op, &t, &c);
	case 0x6a:
		t = operation_and(op, &a, &b);
		return operation_xor(op, &t, &c);
	case 0x78:
		t = operation_and(op, &b, &c);
		return operation_xor(op, &a, &t);
	default:
		return any(op->bits);
	}
}

/* Four of the eight bytes of b and a, or so many copies of the sign of one (ISA 9.7.9.7). */
static int64_t permuted(int64_t a, int64_t b, int64_t selector)
{
	uint64_t bytes = (uint64_t)b << 32 | (uint32_t)a;
	uint32_t out = 0;

	for (uint32_t k = 0; k < 4; k++) {
		uint32_t which = (uint32_t)(selector >> 4 * k) & 15;
		uint32_t byte = (uint32_t)(bytes >> 8 * (which & 7)) & 255;

		out |= (which & 8 ? byte >> 7 ? 255 : 0 : byte) << 8 * k;
	}
	return out;
}

/* prmt of constants, and with selectors that copy bytes in order, or pick bytes into a shorter number. */
struct value operation_permute(const struct operation *op)
{
	struct value selector = operation_source(op, 2), a = operation_source(op, 0),
		     b = operation_source(op, 1);
	int64_t s, x, y;

	if (!range_is_constant(&selector, &s) || op->insn->nmods > 1) /* modes: ISA 9.7.9.7 */
		return any(32);
	if (range_is_constant(&a, &x) && range_is_constant(&b, &y)) {
		struct value v = range_constant(permuted(x, y, s));

		v.assumptions = a.assumptions | b.assumptions;
		return v;
	}
	if (s == 0x3210)
		return a;
	if (s == 0x7654)
		return b;
	if (a.lo == 0 && a.hi == 0 && a.base == BASE_NUMBER && (s & 0xf) >= 4) {
		/* zero bytes above the one that is taken */
		bool one = (s >> 4 & 0xf) < 4 && (s >> 8 & 0xf) < 4 && (s >> 12 & 0xf) < 4;

		if (one)
			return range_span(0, 255, 1);
	}
	if (b.lo == 0 && b.hi == 0 && b.base == BASE_NUMBER) {
		bool byte = (s & 0xf) < 4 && (s >> 4 & 0xf) >= 4 && (s >> 8 & 0xf) >= 4 &&
			    (s >> 12 & 0xf) >= 4;
		bool half = (s & 0xf) < 4 && (s >> 4 & 0xf) < 4 && (s >> 8 & 0xf) >= 4 &&
			    (s >> 12 & 0xf) >= 4 && !(s & 0x8888);

		if (byte && !(s & 0x8888))
			return range_span(0, 255, 1);
		if (half)
			return range_span(0, 65535, 1);
	}
	return any(32);
}

/* Predicate logic keeps to 0 and 1. */
struct value operation_predicate(const struct operation *op)
{
	struct value a = operation_source(op, 0), b = operation_source(op, 1);
	bool both = a.lo == a.hi && b.lo == b.hi;

	if (op->insn->op == OP_not) {
		struct value one = range_constant(1);

		return range_sub(&one, &a, 8);
	}
	if (range_is_empty(&a) || range_is_empty(&b))
		return range_empty();
	switch (op->insn->op) {
	case OP_and:
		return a.hi == 0 || b.hi == 0 ? range_constant(0)
		       : both		      ? range_constant(1)
					      : range_span(0, 1, 1);
	case OP_or:
		return a.lo == 1 || b.lo == 1 ? range_constant(1)
		       : both		      ? range_constant(0)
					      : range_span(0, 1, 1);
	default:
		return both ? range_constant(a.lo ^ b.lo) : range_span(0, 1, 1);
	}
}
