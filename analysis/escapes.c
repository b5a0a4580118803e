/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In: a function. Out: whether a generic address of shared memory is stored anywhere. Registers
 * are looked at without regard to order: one that holds such an address somewhere counts everywhere, and
 * whatever is computed from it is one. Invariant: an instruction that is not known to keep its operands
 * from memory lets them out.
 */
#include "analysis/escapes.h"

#include "analysis/regs.h"
#include "analysis/value_private.h"
#include "base/bits.h"

struct taint {
	const struct function *fn;
	struct arena *arena;
	struct bits held; /* registers */
	struct insn_regs regs;
	bool changed, escapes;
};

/* Makes a generic address of shared memory, whatever it reads. */
static bool is_source(const struct insn *insn)
{
	if (insn->op == OP_mapa)
		return true;
	return insn->op == OP_cvta && !insn_has(insn, MOD_to) &&
	       (insn_has(insn, MOD_shared) || insn_has(insn, MOD_shared__cta) ||
		       insn_has(insn, MOD_shared__cluster));
}

/* Its result is no address, or one inside a state space. */
static bool ends_here(const struct insn *insn)
{
	switch (insn->op) {
	case OP_setp:
	case OP_isspacep:
	case OP_getctarank:
		return true;
	case OP_cvta:
		return insn_has(insn, MOD_to);
	default:
		return false;
	}
}

/* Reads its operands and puts none of them into memory. */
static bool keeps_in(const struct insn *insn)
{
	switch (insn->op) {
	case OP_mbarrier:
	case OP_wgmma:
	case OP_bar:
	case OP_barrier:
	case OP_bra:
	case OP_brx:
	case OP_prefetch:
	case OP_nanosleep:
	case OP_fence:
		return true;
	default:
		return false;
	}
}

static bool holds(const struct taint *t, const struct operand *o, uint32_t depth)
{
	if (o->kind == OPERAND_REG)
		return bits_has(t->held, o->id);
	for (uint32_t i = 0; depth < 4 && o->kind != OPERAND_MEM && i < operand_count(o); i++)
		if (holds(t, operand_child(t->fn, o, i), depth + 1))
			return true;
	return false;
}

/* Some operand that is read as it is, not through brackets. */
static bool reads_one(const struct taint *t, const struct insn *insn)
{
	uint32_t first = regs_destinations(t->fn, insn);

	for (uint32_t k = first; k < insn->count; k++)
		if (holds(t, insn_operand(t->fn, insn, k), 0))
			return true;
	return false;
}

static void look_at(struct taint *t, const struct insn *insn)
{
	bool source = is_source(insn);

	if (!source && (ends_here(insn) || keeps_in(insn) || !reads_one(t, insn)))
		return;
	if (!source && !insn_is_arithmetic(insn) && insn->op != OP_shfl && insn->op != OP_LINK_MOV) {
		t->escapes = true;
		return;
	}
	regs_defined(t->fn, insn, t->arena, &t->regs.defs);
	for (uint32_t i = 0; i < t->regs.defs.n; i++) {
		t->changed |= !bits_has(t->held, t->regs.defs.v[i]);
		bits_set(t->held, t->regs.defs.v[i]);
	}
}

bool shared_escapes(const struct function *fn, const struct cfg *cfg, struct arena *arena)
{
	struct taint t = {.fn = fn, .arena = arena, .held = bits_new(arena, fn->nregs + 1)};

	if (cfg->calls_unknown)
		return true;
	do {
		t.changed = false;
		for (uint32_t i = 0; i < fn->ninsns && !t.escapes; i++)
			if (cfg->block_of[i] != NONE)
				look_at(&t, &fn->insns[i]);
	} while (t.changed && !t.escapes);
	return t.escapes;
}
