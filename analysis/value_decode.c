/* SPDX-License-Identifier: Apache-2.0 */
/* In: an instruction's modifiers and operands. Out: types, comparison, destination slots. */
#include "analysis/regs.h"
#include "analysis/value_private.h"

#define UNSIGNED(n)                                                                                \
	{                                                                                          \
		n, false, false                                                                    \
	}
#define SIGNED(n)                                                                                  \
	{                                                                                          \
		n, true, false                                                                     \
	}
#define FLOAT(n)                                                                                   \
	{                                                                                          \
		n, false, true                                                                     \
	} /* of f16x2 and the like: no number that these files could read */

/* By modifier; bits 0: no type. */
static const struct type types[MOD_COUNT] = {
	[MOD_pred] = UNSIGNED(1),
	[MOD_u8] = UNSIGNED(8),
	[MOD_b8] = UNSIGNED(8),
	[MOD_s8] = SIGNED(8),
	[MOD_u16] = UNSIGNED(16),
	[MOD_b16] = UNSIGNED(16),
	[MOD_s16] = SIGNED(16),
	[MOD_u32] = UNSIGNED(32),
	[MOD_b32] = UNSIGNED(32),
	[MOD_s32] = SIGNED(32),
	[MOD_u64] = UNSIGNED(64),
	[MOD_b64] = UNSIGNED(64),
	[MOD_s64] = SIGNED(64),
	[MOD_f16] = FLOAT(16),
	[MOD_bf16] = FLOAT(16),
	[MOD_f32] = FLOAT(32),
	[MOD_tf32] = FLOAT(32),
	[MOD_f16x2] = FLOAT(32),
	[MOD_bf16x2] = FLOAT(32),
	[MOD_u16x2] = FLOAT(32),
	[MOD_s16x2] = FLOAT(32),
	[MOD_f64] = FLOAT(64),
};

struct type type_of_modifier(uint16_t mod)
{
	return mod < MOD_COUNT ? types[mod] : types[MOD_UNKNOWN];
}

struct type insn_type(const struct insn *insn, uint32_t k)
{
	for (uint32_t i = 0; i < insn->nmods; i++)
		if (types[insn->mods[i]].bits && !k--)
			return types[insn->mods[i]];
	return types[MOD_UNKNOWN];
}

uint32_t insn_slot(const struct function *fn, const struct insn *insn, uint32_t reg)
{
	const struct operand *d = insn_operand(fn, insn, 0);

	for (uint32_t i = 0; d && i < d->count; i++) {
		const struct operand *child = operand_child(fn, d, i);

		if (child->kind == OPERAND_REG && child->id == reg)
			return i;
	}
	return 0;
}

enum compare insn_compare(const struct insn *insn, bool *is_unsigned)
{
	*is_unsigned = false;
	for (uint32_t i = 0; i < insn->nmods; i++)
		switch (insn->mods[i]) {
		case MOD_eq:
			return COMPARE_EQ;
		case MOD_ne:
			return COMPARE_NE;
		case MOD_lt:
			return COMPARE_LT;
		case MOD_le:
			return COMPARE_LE;
		case MOD_gt:
			return COMPARE_GT;
		case MOD_ge:
			return COMPARE_GE;
		case MOD_lo:
			*is_unsigned = true;
			return COMPARE_LT;
		case MOD_ls:
			*is_unsigned = true;
			return COMPARE_LE;
		case MOD_hi:
			*is_unsigned = true;
			return COMPARE_GT;
		case MOD_hs:
			*is_unsigned = true;
			return COMPARE_GE;
		default:
			break;
		}
	return COMPARE_NONE;
}

/* Its result is a function of its register operands alone, and of a kind that is followed. */
bool insn_is_arithmetic(const struct insn *insn)
{
	switch (insn->op) {
	case OP_mov:
	case OP_LINK_MOV:
	case OP_add:
	case OP_sub:
	case OP_mul:
	case OP_mad:
	case OP_shl:
	case OP_shr:
	case OP_and:
	case OP_or:
	case OP_xor:
	case OP_not:
	case OP_neg:
	case OP_min:
	case OP_max:
	case OP_abs:
	case OP_div:
	case OP_rem:
	case OP_bfe:
	case OP_bfi:
	case OP_cvt:
	case OP_cvta:
	case OP_selp:
	case OP_setp:
	case OP_set:
	case OP_slct:
	case OP_prmt:
	case OP_shf:
	case OP_lop3:
	case OP_mapa:
	case OP_addc:
	case OP_subc:
	case OP_popc:
	case OP_clz:
	case OP_bfind:
	case OP_mul24:
	case OP_mad24:
	case OP_sad:
	case OP_szext:
	case OP_bmsk:
	case OP_brev:
		return true;
	default:
		return false;
	}
}

bool value_sends_to_mask(const struct insn *insn)
{
	return insn->op == OP_cp && insn_has(insn, MOD_multicast__cluster);
}

/* Behind the mbarrier, the last operand in brackets, and the offsets of im2col. */
const struct operand *value_multicast_mask(const struct function *fn, const struct insn *insn)
{
	const struct operand *mask = NULL;

	for (uint32_t k = insn->count; k-- > 0;) {
		const struct operand *o = insn_operand(fn, insn, k);

		if (o->kind == OPERAND_MEM || o->kind == OPERAND_SYMBOL)
			return mask;
		if (o->kind == OPERAND_REG || o->kind == OPERAND_IMM)
			mask = o;
	}
	return NULL;
}
