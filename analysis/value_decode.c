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

const struct type value_types[MOD_COUNT] = {
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
	return mod < MOD_COUNT ? value_types[mod] : value_types[MOD_UNKNOWN];
}

uint32_t insn_slot(const struct function *fn, const struct insn *insn, uint32_t reg)
{
	const struct operand *d = insn_operand(fn, insn, 0);

	for (uint32_t i = 0; d && i < operand_count(d); i++) {
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

const bool value_arithmetic[OP_LINK_MOV + 1] = {
	[OP_mov] = true,
	[OP_LINK_MOV] = true,
	[OP_add] = true,
	[OP_sub] = true,
	[OP_mul] = true,
	[OP_mad] = true,
	[OP_shl] = true,
	[OP_shr] = true,
	[OP_and] = true,
	[OP_or] = true,
	[OP_xor] = true,
	[OP_not] = true,
	[OP_neg] = true,
	[OP_min] = true,
	[OP_max] = true,
	[OP_abs] = true,
	[OP_div] = true,
	[OP_rem] = true,
	[OP_bfe] = true,
	[OP_bfi] = true,
	[OP_cvt] = true,
	[OP_cvta] = true,
	[OP_selp] = true,
	[OP_setp] = true,
	[OP_set] = true,
	[OP_slct] = true,
	[OP_prmt] = true,
	[OP_shf] = true,
	[OP_lop3] = true,
	[OP_mapa] = true,
	[OP_addc] = true,
	[OP_subc] = true,
	[OP_popc] = true,
	[OP_clz] = true,
	[OP_bfind] = true,
	[OP_mul24] = true,
	[OP_mad24] = true,
	[OP_sad] = true,
	[OP_szext] = true,
	[OP_bmsk] = true,
	[OP_brev] = true,
};

bool value_sends_to_mask(const struct insn *insn)
{
	return insn->op == OP_cp && (insn_has(insn, MOD_multicast__cluster) ||
					    insn_has(insn, MOD_multicast__cluster__16b));
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
