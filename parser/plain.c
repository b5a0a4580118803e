/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One form for what can be written in several: a constant that may stand on either side stands second,
 * arithmetic that gives back its operand is a move, a constant that a predicate is set to is 0 or 1, and a table of
 * one target is a branch. So no later stage has to look for the others. In: instructions whose operands are settled. Out: the same, of equal meaning; the
 * text is untouched.
 */
#include "parser/plain.h"

static bool is_integer(uint16_t mod)
{
	switch (mod) {
	case MOD_b16:
	case MOD_u16:
	case MOD_s16:
	case MOD_b32:
	case MOD_u32:
	case MOD_s32:
	case MOD_b64:
	case MOD_u64:
	case MOD_s64:
		return true;
	default:
		return false;
	}
}

static uint64_t all_ones(uint16_t mod)
{
	return mod == MOD_b16 ? UINT16_MAX : mod == MOD_b32 ? UINT32_MAX : UINT64_MAX;
}

/* ISA 9.7.1, 9.7.8: a second operand that leaves the first as it is. */
static bool has_neutral(const struct insn *insn, const struct operand *second)
{
	uint64_t c = (uint64_t)second->imm;

	if (insn->nmods != 1 || !is_integer(insn->mods[0]))
		return false;
	switch (insn->op) {
	case OP_add:
	case OP_sub:
	case OP_or:
	case OP_xor:
	case OP_shl:
	case OP_shr:
		return c == 0;
	case OP_and:
		return (c & all_ones(insn->mods[0])) == all_ones(insn->mods[0]);
	default:
		return false;
	}
}

bool plain_may_change(uint16_t op)
{
	switch (op) {
	case OP_add:
	case OP_and:
	case OP_mad:
	case OP_max:
	case OP_min:
	case OP_mov:
	case OP_mul:
	case OP_not:
	case OP_or:
	case OP_shl:
	case OP_shr:
	case OP_sub:
	case OP_xor:
		return true;
	default:
		return false;
	}
}

static bool commutes(uint16_t op)
{
	return op != OP_sub && op != OP_shl && op != OP_shr;
}

/* ISA 4.5.3: as in C, what is not zero is true; compilers write -1. */
static void settle_truths(const struct insn *insn, struct operand *operands)
{
	for (uint32_t k = 1; k < insn->count; k++)
		if (operands[k].kind == OPERAND_IMM)
			operands[k].imm = operands[k].imm != 0;
}

void plain_form(struct insn *insn, struct operand *operands)
{
	if (insn->nmods == 1 && insn->mods[0] == MOD_pred)
		settle_truths(insn, operands);
	if (insn->count < 3)
		return;
	struct operand *first = &operands[1], *second = &operands[2];

	if (first->kind == OPERAND_IMM && second->kind != OPERAND_IMM && commutes(insn->op)) {
		struct operand constant = *first;

		*first = *second;
		*second = constant;
	}
	if (second->kind == OPERAND_IMM && first->kind == OPERAND_REG && has_neutral(insn, second)) {
		insn->op = OP_mov;
		insn->count = 2;
	}
}

/* The one label that all entries of a table of branches are; NONE: several, or none. */
static uint32_t only_target(const struct function *fn, const struct operand *o)
{
	if (o->kind != OPERAND_LABEL || fn->labels[o->id].table == NONE)
		return NONE;
	const struct table *table = &fn->tables[fn->labels[o->id].table];

	if (table->kind != TABLE_BRANCH || !table->n)
		return NONE;
	for (uint32_t k = 1; k < table->n; k++)
		if (table->v[k] != table->v[0])
			return NONE;
	return table->v[0];
}

/* ISA 9.7.12.4: the index is one of the table's, so with one target nothing hangs on it. */
void plain_branches(struct function *fn)
{
	for (uint32_t i = 0; fn->ntables && i < fn->ninsns; i++) {
		struct insn *insn = &fn->insns[i];

		if (insn->op != OP_brx || insn->count != 2)
			continue;
		struct operand *operands = &fn->operands[insn->first];
		uint32_t target = only_target(fn, &operands[1]);

		if (target == NONE)
			continue;
		operands[0] = (struct operand){.kind = OPERAND_LABEL, .id = target};
		insn->op = OP_bra;
		insn->count = 1;
	}
}
