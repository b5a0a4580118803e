/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PTX names the destination first (ISA 9.1); the exceptions are instructions whose first operand is
 * a memory operand (stores), a short list that has no destination at all, and a few with two. Everything
 * else is read.
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

/* Few have a second result: the reduction or the metadata of tcgen05.ld, what an mbarrier's wait reports, both in
 * front of the address, and the metadata of spcompress. */
static uint32_t results(const struct function *fn, const struct insn *insn)
{
	uint32_t n = 1;

	if (insn->op == OP_spcompress)
		return insn->count > 1 ? 2 : 1;
	if (insn->op != OP_tcgen05 && insn->op != OP_mbarrier)
		return 1;
	while (n < insn->count && insn_operand(fn, insn, n)->kind != OPERAND_MEM)
		n++;
	return n < insn->count ? n : 1;
}

uint32_t regs_destinations(const struct function *fn, const struct insn *insn)
{
	const struct operand *first = insn_operand(fn, insn, 0);

	if (!first || has_no_destination(insn))
		return 0;
	if (insn->op == OP_call)
		return first->kind == OPERAND_TUPLE;
	if (first->kind != OPERAND_REG && first->kind != OPERAND_LIST &&
		first->kind != OPERAND_PAIR && first->kind != OPERAND_SINK)
		return 0;
	return results(fn, insn);
}

void regs_defined(const struct function *fn, const struct insn *insn, struct arena *arena,
	struct reg_list *defs)
{
	defs->n = 0;
	for (uint32_t i = 0, n = regs_destinations(fn, insn); i < n; i++)
		collect(fn, insn_operand(fn, insn, i), arena, defs, 0);
}

void regs_of(const struct function *fn, const struct insn *insn, struct arena *arena,
	struct insn_regs *out)
{
	uint32_t first_use = regs_destinations(fn, insn);

	out->uses.n = 0;
	regs_defined(fn, insn, arena, &out->defs);
	if (first_use && insn->op == OP_wgmma) /* D is accumulated in place (ISA 9.7.15.5) */
		collect(fn, insn_operand(fn, insn, 0), arena, &out->uses, 0);
	for (uint32_t i = first_use; i < insn->count; i++)
		collect(fn, insn_operand(fn, insn, i), arena, &out->uses, 0);
	if (insn->guard != NONE)
		push(arena, &out->uses, insn->guard);
}
