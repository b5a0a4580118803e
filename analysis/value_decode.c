/* SPDX-License-Identifier: Apache-2.0 */
/* In: an instruction's modifiers and operands. Out: types, comparison, destination slots. */
#include "analysis/regs.h"
#include "analysis/value_private.h"

struct type type_of_modifier(uint16_t mod)
{
	switch (mod) {
	case MOD_pred:
		return (struct type){1, false, false};
	case MOD_u8:
	case MOD_b8:
		return (struct type){8, false, false};
	case MOD_s8:
		return (struct type){8, true, false};
	case MOD_u16:
	case MOD_b16:
		return (struct type){16, false, false};
	case MOD_s16:
		return (struct type){16, true, false};
	case MOD_u32:
	case MOD_b32:
		return (struct type){32, false, false};
	case MOD_s32:
		return (struct type){32, true, false};
	case MOD_u64:
	case MOD_b64:
		return (struct type){64, false, false};
	case MOD_s64:
		return (struct type){64, true, false};
	case MOD_f16:
	case MOD_bf16:
		return (struct type){16, false, true};
	case MOD_f32:
	case MOD_tf32:
	case MOD_f16x2:
	case MOD_bf16x2:
	case MOD_u16x2:
	case MOD_s16x2:
		return (struct type){32, false, true}; /* no number that this file could read */
	case MOD_f64:
		return (struct type){64, false, true};
	default:
		return (struct type){0, false, false};
	}
}

struct type insn_type(const struct insn *insn, uint32_t k)
{
	for (uint32_t i = 0; i < insn->nmods; i++) {
		struct type type = type_of_modifier(insn->mods[i]);

		if (type.bits && !k--)
			return type;
	}
	return (struct type){0, false, false};
}

const struct operand *insn_source(const struct function *fn, const struct insn *insn, uint32_t k)
{
	return insn_operand(fn, insn, k + 1);
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
