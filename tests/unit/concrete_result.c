/* SPDX-License-Identifier: Apache-2.0 */
/* What one instruction computes from numbers (ISA 9.7.1, 9.7.2, 9.7.5, 9.7.6, 9.7.8, 9.7.9.21). */
#include "concrete_private.h"

uint32_t concrete_width(const struct insn *insn, uint32_t which, bool *is_signed)
{
	for (uint32_t i = 0; i < insn->nmods; i++) {
		uint32_t bits = 0;
		bool s = false;

		switch (insn->mods[i]) {
		case MOD_pred:
			bits = 1;
			break;
		case MOD_s8:
			s = true; /* fallthrough */
		case MOD_u8:
		case MOD_b8:
			bits = 8;
			break;
		case MOD_s16:
			s = true; /* fallthrough */
		case MOD_u16:
		case MOD_b16:
			bits = 16;
			break;
		case MOD_s32:
			s = true; /* fallthrough */
		case MOD_u32:
		case MOD_b32:
			bits = 32;
			break;
		case MOD_s64:
			s = true; /* fallthrough */
		case MOD_u64:
		case MOD_b64:
			bits = 64;
			break;
		default:
			continue;
		}
		if (!which--) {
			*is_signed = s;
			return bits;
		}
	}
	*is_signed = false;
	return 0;
}


__extension__ typedef unsigned __int128 uwide;

static uint64_t high_product(const struct machine *m)
{
	if (m->is_signed)
		return (uint64_t)(sign(m->a, m->bits) * sign(m->b, m->bits) >> m->bits);
	if (m->bits == 64)
		return (uint64_t)((uwide)m->a * m->b >> 64);
	return m->a * m->b >> m->bits;
}

static uint64_t product(const struct machine *m)
{
	if (insn_has(m->insn, MOD_wide))
		return m->is_signed ? (uint64_t)(sign(m->a, m->bits) * sign(m->b, m->bits))
				    : m->a * m->b;
	return insn_has(m->insn, MOD_hi) ? high_product(m) : m->a * m->b;
}

static bool compare(const struct machine *m)
{
	int64_t x = sign(m->a, m->bits), y = sign(m->b, m->bits);
	bool less = m->is_signed ? x < y : m->a < m->b, equal = m->a == m->b;

	if (insn_has(m->insn, MOD_eq))
		return equal;
	if (insn_has(m->insn, MOD_ne))
		return !equal;
	if (insn_has(m->insn, MOD_lt))
		return less;
	if (insn_has(m->insn, MOD_le))
		return less || equal;
	if (insn_has(m->insn, MOD_gt))
		return !less && !equal;
	return !less;
}

static bool joined(const struct insn *insn, bool a, bool b)
{
	if (insn_has(insn, MOD_and))
		return a && b;
	if (insn_has(insn, MOD_or))
		return a || b;
	return insn_has(insn, MOD_xor) ? a != b : a;
}

static int64_t within(int64_t v, int64_t least, int64_t most)
{
	return v < least ? least : v > most ? most : v;
}

/* Into so many bits, the nearest number that fits (ISA 9.7.1.1, 9.7.9.21). */
static uint64_t saturated(int64_t v, uint32_t bits, bool is_signed)
{
	int64_t most = (int64_t)(UINT64_C(1) << (is_signed ? bits - 1 : bits)) - 1;

	return (uint64_t)within(v, is_signed ? -most - 1 : 0, most);
}

static uint64_t converted(const struct machine *m)
{
	bool to_signed;
	uint32_t from = concrete_width(m->insn, 1, &to_signed);
	uint64_t v = to_signed ? (uint64_t)sign(m->a, from) : cut(m->a, from);

	if (insn_has(m->insn, MOD_sat))
		v = saturated((int64_t)v, m->bits, m->is_signed);
	/* a narrow result is extended in its register by its own sign */
	return m->is_signed ? (uint64_t)sign(v, m->bits) : cut(v, m->bits);
}

static uint64_t sum(const struct machine *m, bool minus)
{
	int64_t a = sign(m->a, m->bits), b = sign(m->b, m->bits);

	if (insn_has(m->insn, MOD_sat))
		return saturated(minus ? a - b : a + b, m->bits, true);
	return minus ? m->a - m->b : m->a + m->b;
}

/* Both as one number, the second one above the first (ISA 9.7.8.8). */
static uint64_t funnelled(const struct machine *m)
{
	uint32_t n = insn_has(m->insn, MOD_wrap) ? (uint32_t)m->d & 31 : m->d > 32 ? 32 : (uint32_t)m->d;
	uint64_t both = m->b << 32 | m->a;

	return insn_has(m->insn, MOD_l) ? both << n >> 32 : both >> n;
}

static uint64_t counted(const struct machine *m)
{
	uint32_t v = (uint32_t)m->a, out = 0;

	switch (m->insn->op) {
	case OP_popc:
		return (uint64_t)__builtin_popcount(v);
	case OP_clz:
		return v ? (uint64_t)__builtin_clz(v) : 32;
	case OP_bfind:
		v = m->is_signed && v >> 31 ? ~v : v;
		return v ? 31 - (uint64_t)__builtin_clz(v) : UINT32_MAX;
	default: /* brev */
		for (uint32_t i = 0; i < 32; i++)
			out |= (v >> i & 1) << (31 - i);
		return out;
	}
}

/* Of the low 24 bits of both. */
static uint64_t product24(const struct machine *m)
{
	if (m->is_signed)
		return (uint64_t)(sign(m->a, 24) * sign(m->b, 24));
	return cut(m->a, 24) * cut(m->b, 24);
}

static uint64_t difference(const struct machine *m)
{
	int64_t a = m->is_signed ? sign(m->a, m->bits) : (int64_t)m->a,
		b = m->is_signed ? sign(m->b, m->bits) : (int64_t)m->b;

	return (uint64_t)(a < b ? b - a : a - b);
}

static uint64_t shifted(const struct machine *m)
{
	uint64_t k = m->b & UINT32_MAX;

	if (m->insn->op == OP_shl)
		return k >= m->bits ? 0 : m->a << k;
	if (m->is_signed)
		return (uint64_t)(sign(m->a, m->bits) >> (k >= m->bits ? m->bits - 1 : k));
	return k >= m->bits ? 0 : m->a >> k;
}

static uint64_t extremum(const struct machine *m, bool most)
{
	bool less = m->is_signed ? sign(m->a, m->bits) < sign(m->b, m->bits) : m->a < m->b;

	return less != most ? m->a : m->b;
}

static uint64_t quotient(const struct machine *m, bool rest)
{
	int64_t x = sign(m->a, m->bits), y = sign(m->b, m->bits);

	if (!m->b)
		return 0;
	if (!m->is_signed)
		return rest ? m->a % m->b : m->a / m->b;
	if (y == -1)
		return rest ? 0 : (uint64_t)-x;
	return (uint64_t)(rest ? x % y : x / y);
}

static uint64_t field(const struct machine *m)
{
	uint32_t position = m->b & 255, length = m->d & 255;
	uint64_t v = position >= m->bits ? 0 : m->a >> position;

	if (!length)
		return 0;
	if (m->is_signed)
		return (uint64_t)sign(v, length);
	return cut(v, length);
}

static uint64_t logic(uint64_t a, uint64_t b, uint64_t c, uint64_t table)
{
	uint64_t out = 0;

	for (uint32_t i = 0; i < 32; i++) {
		uint32_t row = (uint32_t)((a >> i & 1) << 2 | (b >> i & 1) << 1 | (c >> i & 1));

		out |= (table >> row & 1) << i;
	}
	return out;
}

static uint64_t permuted(uint64_t a, uint64_t b, uint64_t selector)
{
	uint64_t both = b << 32 | a, out = 0;

	for (uint32_t i = 0; i < 4; i++) {
		uint32_t s = selector >> (4 * i) & 15;
		uint64_t byte = both >> (8 * (s & 7)) & 255;

		if (s & 8)
			byte = byte & 128 ? 255 : 0;
		out |= byte << (8 * i);
	}
	return out;
}

bool concrete_result(struct machine *m, uint64_t *out)
{
	const struct insn *insn = m->insn;
	const struct function *fn = m->c->fn;
	uint64_t e = insn->count > 4 ? concrete_operand(m->c, insn_operand(fn, insn, 4)) : 0;

	switch (insn->op) {
	case OP_mov:
	case OP_cvta:
		*out = m->a;
		return true;
	case OP_add:
	case OP_sub:
		*out = sum(m, insn->op == OP_sub);
		return true;
	case OP_mul:
		*out = product(m);
		return true;
	case OP_mad:
		*out = product(m) + m->d;
		return true;
	case OP_shl:
	case OP_shr:
		*out = shifted(m);
		return true;
	case OP_and:
		*out = m->a & m->b;
		return true;
	case OP_or:
		*out = m->a | m->b;
		return true;
	case OP_xor:
		*out = m->a ^ m->b;
		return true;
	case OP_not:
		*out = ~m->a;
		return true;
	case OP_neg:
		*out = -m->a;
		return true;
	case OP_abs:
		*out = sign(m->a, m->bits) < 0 ? -m->a : m->a;
		return true;
	case OP_min:
	case OP_max:
		*out = extremum(m, insn->op == OP_max);
		return true;
	case OP_div:
	case OP_rem:
		*out = quotient(m, insn->op == OP_rem);
		return true;
	case OP_bfe:
		*out = field(m);
		return true;
	case OP_bfi: {
		uint64_t mask = cut(~UINT64_C(0), (uint32_t)e) << m->d;

		*out = (m->b & ~mask) | (m->a << m->d & mask);
		return true;
	}
	case OP_selp:
		*out = m->d ? m->a : m->b;
		return true;
	case OP_setp:
		*out = joined(insn, compare(m), m->d & 1);
		return true;
	case OP_cvt:
		*out = converted(m);
		return true;
	case OP_set: /* bits and sign of the numbers that are compared come second */
		*out = compare(&(struct machine){.insn = insn,
			       .bits = concrete_width(insn, 1, &m->is_signed),
			       .is_signed = m->is_signed,
			       .a = m->a,
			       .b = m->b})
			       ? UINT64_MAX
			       : 0;
		return true;
	case OP_slct:
		*out = sign(m->d, 32) >= 0 ? m->a : m->b;
		return true;
	case OP_sad:
		*out = difference(m) + m->d;
		return true;
	case OP_mul24:
		*out = product24(m);
		return true;
	case OP_mad24:
		*out = product24(m) + m->d;
		return true;
	case OP_shf:
		*out = funnelled(m);
		return true;
	case OP_popc:
	case OP_clz:
	case OP_bfind:
	case OP_brev:
		*out = counted(m);
		return true;
	case OP_cnot:
		*out = !m->a;
		return true;
	case OP_lop3:
		*out = logic(m->a, m->b, m->d, e);
		return true;
	case OP_prmt:
		*out = permuted(m->a, m->b, m->d);
		return true;
	default:
		return false;
	}
}

bool concrete_second(const struct machine *m, uint64_t v)
{
	bool with = m->insn->op == OP_setp ? m->d & 1 : false;

	if (m->insn->op == OP_setp)
		return joined(m->insn, !compare(m), with);
	if (m->insn->op == OP_lop3 && m->insn->count > 5)
		return joined(m->insn, cut(v, m->bits) != 0,
			concrete_operand(m->c, insn_operand(m->c->fn, m->insn, 5)) & 1);
	return false;
}
