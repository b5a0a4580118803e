/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In: an instruction that reads tracked registers. Out: whether it needs one of them. Asked is, from the result back
 * through what its registers were made from, which bits of each may decide a bit that is asked for: shifts, fields
 * and masks by constants pass on but some, and where none is left the assembler leaves the operand out (ptxas 13.0,
 * seen in SASS). Invariant: a bit that may decide one that is asked for is asked for; what is not known asks for all.
 */
#include "analysis/needed.h"

#include "analysis/value_private.h"

#define DEPTH 6 /* instructions followed */
#define ALL UINT64_MAX

enum answer { NOT_ASKED, NO, YES };

struct needed {
	const struct unit *unit;
	const struct tracked *tracked;
	uint8_t *answer; /* by instruction */
};

struct needed *needed_prepare(struct unit *unit, const struct tracked *tracked)
{
	struct needed *n = ARENA_NEW(unit->arena, struct needed, 1);

	*n = (struct needed){unit, tracked, ARENA_NEW(unit->arena, uint8_t, unit->fn->ninsns)};
	return n;
}

/* The lowest n bits. */
static uint64_t low_bits(uint64_t n)
{
	return n >= 64 ? ALL : (UINT64_C(1) << n) - 1;
}

/* All bits up to the highest of the mask: what may carry into one of it. */
static uint64_t filled(uint64_t mask)
{
	return mask ? ALL >> __builtin_clzll(mask) : 0;
}

/* Of a number of `bits` bits with a sign those that decide the asked ones of the same with more bits. */
static uint64_t signed_part(uint64_t asked, uint32_t bits)
{
	bool sign = asked & ~low_bits(bits);

	return (asked & low_bits(bits)) | (sign && bits ? UINT64_C(1) << (bits - 1) : 0);
}

static bool same_registers(const struct operand *a, const struct operand *b)
{
	return a && b && a->kind == OPERAND_REG && b->kind == OPERAND_REG && a->id == b->id && !a->component &&
	       a->negated == b->negated;
}

/* ISA 9.7.8: shifts; what they shift in on the right hand is the sign, if there is one. */
static uint64_t of_shift(uint64_t asked, bool right, struct type type, uint64_t by)
{
	if (!right)
		return by >= type.bits ? 0 : asked >> by;
	uint64_t stays = by >= type.bits ? 0 : asked & low_bits(type.bits - by);
	uint64_t sign = type.is_signed && stays != asked ? UINT64_C(1) << (type.bits - 1) : 0;

	return (stays ? stays << by : 0) | sign;
}

/* ISA 9.7.8.7: of the registers {second, first} 32 bits that begin `by' further up, or end so far down. */
static uint64_t of_funnel(uint64_t asked, const struct insn *insn, uint32_t k, uint32_t by)
{
	by = insn_has(insn, MOD_wrap) ? by & 31 : by > 32 ? 32 : by;
	by = insn_has(insn, MOD_l) ? 32 - by : by;
	return (k ? asked >> (32 - by) : asked << by) & low_bits(32);
}

/* The predicate of a selp is set to a constant alone, which is not for source k. */
static bool chooses_other(const struct values *vs, const struct insn *insn, uint32_t k)
{
	const struct function *fn = vs->fn;
	const struct operand *p = insn_source(fn, insn, 2), *c;

	if (!p || p->kind != OPERAND_REG || p->negated)
		return false;
	struct ids defs = value_definitions(vs, (uint32_t)(insn - fn->insns), p->id);
	const struct insn *mov = defs.n == 1 && defs.v[0] < fn->ninsns ? &fn->insns[defs.v[0]] : NULL;

	if (!mov || mov->op != OP_mov || mov->guard != NONE || insn_operand(fn, mov, 0)->kind != OPERAND_REG)
		return false;
	c = insn_source(fn, mov, 0);
	return c && c->kind == OPERAND_IMM && !c->imm == !k;
}

/* Two constants have the bits that are asked for in common. */
static bool same_bits(const bool known[4], const int64_t c[4], uint64_t asked)
{
	return known[0] && known[1] && !((uint64_t)(c[0] ^ c[1]) & asked);
}

/* ISA 9.7.1: a product of integers with a constant. */
static uint64_t of_product(uint64_t asked, const struct insn *insn, uint64_t by)
{
	if (!by || (by == 1 && insn_has(insn, MOD_hi) && !insn_type(insn, 0).is_signed))
		return 0;
	return insn_has(insn, MOD_lo) && insn->op != OP_mul24 ? filled(asked) >> __builtin_ctzll(by) : ALL;
}

/* ISA 9.7.1.19 and 9.7.1.20, position and length being numbers of 8 bits. */
static uint64_t of_field(uint64_t asked, struct type type, uint64_t at, uint64_t n)
{
	if (!n)
		return 0;
	if (type.is_signed)
		return ALL;
	return at >= type.bits ? 0 : (asked & low_bits(n)) << at & low_bits(type.bits);
}

/* The bits of the k-th source that may decide those of the result that are asked for. */
static uint64_t asked_of(const struct values *vs, const struct insn *insn, uint32_t k, uint64_t asked)
{
	const struct operand *o[4];
	struct type type = insn_type(insn, 0), from = insn_type(insn, 1);
	int64_t c[4];
	bool known[4];

	if (type.is_float || from.is_float || !type.bits || !asked)
		return asked ? ALL : 0;
	if (insn->op == OP_cvt) /* a register may be wider than what is put into it (ISA 9.4.1) */
		asked = signed_part(asked, type.bits);
	else if (insn->op != OP_setp && !insn_has(insn, MOD_wide))
		asked &= low_bits(type.bits);
	for (uint32_t i = 0; i < 4; i++) {
		o[i] = insn_source(vs->fn, insn, i);
		known[i] = o[i] && trips_constant_of(vs, o[i], &c[i]);
	}
	switch (insn->op) {
	case OP_mov:
		return o[0]->kind == OPERAND_REG ? asked : ALL;
	case OP_cvt:
		return insn_has(insn, MOD_sat) || !from.bits ? ALL
		       : from.is_signed			     ? signed_part(asked, from.bits)
							     : asked & low_bits(from.bits);
	case OP_and:
		return known[1 - k] ? asked & (uint64_t)c[1 - k] : asked;
	case OP_or:
		return known[1 - k] ? asked & ~(uint64_t)c[1 - k] : asked;
	case OP_xor:
		return same_registers(o[0], o[1]) ? 0 : asked;
	case OP_sub:
	case OP_add:
		return insn->op == OP_sub && same_registers(o[0], o[1]) ? 0
		       : insn_has(insn, MOD_sat)			 ? ALL
									 : filled(asked);
	case OP_setp:
		return k < 2 && same_registers(o[0], o[1]) ? 0 : ALL;
	case OP_selp:
		if (k < 2) /* the one that a constant chooses, or either */
			return chooses_other(vs, insn, k) ? 0 : asked;
		return same_registers(o[0], o[1]) || same_bits(known, c, asked) ? 0 : ALL;
	case OP_slct:
		return k < 2 ? asked : same_registers(o[0], o[1]) || same_bits(known, c, asked) ? 0 : ALL;
	case OP_shf:
		return k < 2 && known[2] ? of_funnel(asked, insn, k, (uint32_t)(uint64_t)c[2]) : ALL;
	case OP_shl:
	case OP_shr:
		return k == 0 && known[1] ? of_shift(asked, insn->op == OP_shr, type, (uint32_t)(uint64_t)c[1]) : ALL;
	case OP_mul:
	case OP_mul24:
	case OP_mad:
		if (k == 2)
			return insn->op == OP_mad && insn_has(insn, MOD_lo) && !insn_has(insn, MOD_sat) ? filled(asked) : ALL;
		return known[1 - k] ? of_product(asked, insn, (uint64_t)c[1 - k] & low_bits(type.bits)) : ALL;
	case OP_bfe:
		return k == 0 && known[1] && known[2] ? of_field(asked, type, c[1] & 255, c[2] & 255) : ALL;
	case OP_bfi:
		if (k > 1 || !known[2] || !known[3])
			return ALL;
		uint64_t at = c[2] & 255, field = low_bits(c[3] & 255);

		return at >= 64 ? (k ? asked : 0) : k ? asked & ~(field << at) : asked >> at & field;
	default:
		return ALL;
	}
}

static bool needs(const struct needed *n, uint32_t insn, uint64_t asked, uint32_t depth);

/* What the operand's register was made from decides one of those bits. */
static bool operand_needs(const struct needed *n, uint32_t insn, const struct operand *o, uint64_t asked, uint32_t depth)
{
	const struct function *fn = n->unit->fn;

	if (!asked)
		return false;
	for (uint32_t i = 0; o->kind != OPERAND_REG && i < operand_count(o); i++)
		if (operand_needs(n, insn, operand_child(fn, o, i), ALL, 0))
			return true;
	if (o->kind != OPERAND_REG || n->tracked->number[o->id] == NONE)
		return false;
	struct ids defs = depth ? value_definitions(n->unit->values, insn, o->id) : (struct ids){0};
	uint32_t def = defs.n == 1 && defs.v[0] < fn->ninsns ? defs.v[0] : NONE;

	if (def == NONE || fn->insns[def].guard != NONE || !insn_is_arithmetic(&fn->insns[def]) ||
		insn_operand(fn, &fn->insns[def], 0)->kind != OPERAND_REG)
		return true;
	return needs(n, def, asked, depth - 1);
}

static bool needs(const struct needed *n, uint32_t insn, uint64_t asked, uint32_t depth)
{
	const struct insn *i = &n->unit->fn->insns[insn];

	for (uint32_t k = 0; k + 1 < i->count; k++)
		if (operand_needs(n, insn, insn_source(n->unit->fn, i, k), asked_of(n->unit->values, i, k, asked),
			    depth))
			return true;
	return false;
}

bool needed_none(struct needed *n, uint32_t insn)
{
	const struct insn *i = &n->unit->fn->insns[insn];

	if (n->answer[insn] == NOT_ASKED)
		n->answer[insn] = i->count > 1 && insn_is_arithmetic(i) && !insn_type(i, 0).is_float &&
						  !needs(n, insn, ALL, DEPTH)
					  ? YES
					  : NO;
	return n->answer[insn] == YES;
}
