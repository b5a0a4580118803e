/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PTX names the destination first (ISA 9.1); the exceptions are instructions whose first operand is
 * a memory operand (stores) and a short list that has no destination at all. Everything else is read.
 */
#include "analysis/regs.h"

static bool has_no_destination(const struct insn *insn)
{
	switch (insn->op) {
	case OP_bar:
	case OP_barrier:
		return !insn_has(insn, MOD_red);
	case OP_tcgen05:
		return !insn_has(insn, MOD_ld);
	case OP_bra:
	case OP_brx:
	case OP_ret:
	case OP_exit:
	case OP_nanosleep:
	case OP_setmaxnreg:
	case OP_stackrestore:
	case OP_pmevent:
		return true;
	default:
		return false;
	}
}

static void push(struct arena *arena, struct reg_list *list, uint32_t reg)
{
	ARENA_PUSH(arena, list->v, list->n, list->cap, reg);
}

/* All registers below an operand; operands nest three deep at most ([map, {x, y}] in a list). */
static void collect(const struct function *fn, const struct operand *o, struct arena *arena,
	struct reg_list *list, uint32_t depth)
{
	if (o->kind == OPERAND_REG)
		push(arena, list, o->id);
	if (depth == 4)
		return;
	for (uint32_t i = 0; i < operand_count(o); i++) {
		const struct operand *child = operand_child(fn, o, i);

		if (operand_count(child))
			collect(fn, child, arena, list, depth + 1);
		else if (child->kind == OPERAND_REG)
			push(arena, list, child->id);
	}
}

bool regs_first_is_destination(const struct function *fn, const struct insn *insn)
{
	const struct operand *first = insn_operand(fn, insn, 0);

	if (!first || has_no_destination(insn))
		return false;
	if (insn->op == OP_call)
		return first->kind == OPERAND_TUPLE;
	return first->kind == OPERAND_REG || first->kind == OPERAND_LIST ||
		first->kind == OPERAND_PAIR || first->kind == OPERAND_SINK;
}

void regs_defined(const struct function *fn, const struct insn *insn, struct arena *arena,
	struct reg_list *defs)
{
	defs->n = 0;
	if (regs_first_is_destination(fn, insn))
		collect(fn, insn_operand(fn, insn, 0), arena, defs, 0);
}

void regs_of(const struct function *fn, const struct insn *insn, struct arena *arena,
	struct insn_regs *out)
{
	uint32_t first_use = 0;

	out->uses.n = 0;
	regs_defined(fn, insn, arena, &out->defs);
	if (regs_first_is_destination(fn, insn)) {
		first_use = 1;
		if (insn->op == OP_wgmma) /* D is accumulated in place (ISA 9.7.15.5) */
			collect(fn, insn_operand(fn, insn, 0), arena, &out->uses, 0);
	}
	for (uint32_t i = first_use; i < insn->count; i++)
		collect(fn, insn_operand(fn, insn, i), arena, &out->uses, 0);
	if (insn->guard != NONE)
		push(arena, &out->uses, insn->guard);
}
