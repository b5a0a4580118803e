/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In: a unit. Out: its registers that hold bools made of constants (flags), what an instruction
 * makes of those that a walk follows, and the instructions that a walk has to look at. Invariant:
 * an instruction that is passed over changes neither a bool nor memory, and hands nothing over.
 */
#include "analysis/checks.h"

static uint8_t inverse(uint8_t truth)
{
	return (uint8_t)((truth & CHECK_TRUE ? CHECK_FALSE : 0) |
			 (truth & CHECK_FALSE ? CHECK_TRUE : 0));
}

/* Of source k of an instruction: a constant, or a register that is followed. */
static uint8_t truth_of_source(const struct check_walk *w, const struct insn *insn, uint32_t k)
{
	const struct operand *o = insn_operand(w->unit->fn, insn, k);

	if (o && o->kind == OPERAND_IMM)
		return o->imm ? CHECK_TRUE : CHECK_FALSE;
	if (!o || o->kind != OPERAND_REG || o->component)
		return CHECK_TRUE | CHECK_FALSE;
	return o->negated ? inverse(check_truth_now(w, o->id)) : check_truth_now(w, o->id);
}

static bool is_constant(const struct unit *unit, const struct insn *insn, uint32_t k, int64_t value)
{
	const struct operand *o = insn_operand(unit->fn, insn, k);

	return o && o->kind == OPERAND_IMM && o->imm == value;
}

uint8_t check_truth_made(const struct check_walk *w, const struct insn *insn)
{
	uint8_t a = truth_of_source(w, insn, 1), b = truth_of_source(w, insn, 2);

	if (insn->op == OP_mov && insn->count == 2) {
		const struct operand *o = insn_operand(w->unit->fn, insn, 1);

		return o->kind == OPERAND_IMM && (o->imm < -1 || o->imm > 1)
			       ? CHECK_TRUE | CHECK_FALSE
			       : a;
	}
	if (insn->op == OP_not && insn_has(insn, MOD_pred))
		return inverse(a);
	if (insn->op == OP_and && (insn_has(insn, MOD_pred) || is_constant(w->unit, insn, 2, 255)))
		return (a & b & CHECK_TRUE) | ((a | b) & CHECK_FALSE);
	if (insn->op == OP_or && insn_has(insn, MOD_pred))
		return ((a | b) & CHECK_TRUE) | (a & b & CHECK_FALSE);
	if (insn->op == OP_selp && is_constant(w->unit, insn, 1, 1) &&
		is_constant(w->unit, insn, 2, 0))
		return truth_of_source(w, insn, 3);
	if (insn->op == OP_setp && insn->count == 3 && is_constant(w->unit, insn, 2, 0)) {
		if (insn_has(insn, MOD_ne))
			return a;
		if (insn_has(insn, MOD_eq))
			return inverse(a);
	}
	return CHECK_TRUE | CHECK_FALSE;
}

/* Flags found so far; slot: by register 1 + its number. */
struct flag_search {
	const struct unit *unit;
	uint32_t *flags, n;
	uint8_t *slot;
};

/* The register that an instruction of the kind above makes a bool in, from a constant or from bools
 * that are flags; or NONE. */
static uint32_t made_bool(const struct flag_search *s, const struct insn *insn)
{
	const struct function *fn = s->unit->fn;
	const struct operand *d = insn_operand(fn, insn, 0);
	bool pred = d && d->kind == OPERAND_REG && fn->regs[d->id].bits == 1;

	if (!d || d->kind != OPERAND_REG || d->component || (!pred && fn->regs[d->id].bits != 16))
		return NONE;
	if (insn->op == OP_mov &&
		(is_constant(s->unit, insn, 1, 0) || is_constant(s->unit, insn, 1, 1) ||
			(pred && is_constant(s->unit, insn, 1, -1))))
		return d->id;
	if (insn->op != OP_mov && insn->op != OP_not && insn->op != OP_and && insn->op != OP_or &&
		insn->op != OP_selp && insn->op != OP_setp)
		return NONE;
	for (uint32_t k = 1; k < insn->count; k++) {
		const struct operand *o = insn_operand(fn, insn, k);

		if (o->kind == OPERAND_REG && s->slot[o->id])
			return d->id;
	}
	return NONE;
}

/* Flags: what they hold at the site is not known, but often behind it. A register that something
 * else than 0 and 1 is put into is not a bool; its truth is then unknown, which is right as well.
 */
static void find_flags(const struct unit *unit, struct check_defs *defs)
{
	struct flag_search s = {.unit = unit,
		.flags = ARENA_NEW(unit->arena, uint32_t, CHECK_TRACKED_MOST),
		.slot = defs->slot};
	uint32_t before;

	do {
		before = s.n;
		for (uint32_t k = 0; k < defs->nnotable && s.n < CHECK_TRACKED_MOST; k++) {
			uint32_t reg = made_bool(&s, &unit->fn->insns[defs->notable[k]]);

			if (reg == NONE || s.slot[reg])
				continue;
			s.flags[s.n++] = reg;
			s.slot[reg] = (uint8_t)s.n;
		}
	} while (s.n > before);
	for (uint32_t k = 0; k < s.n; k++)
		s.slot[s.flags[k]] = 0;
	defs->flags = s.flags;
	defs->nflags = s.n;
}

static bool is_narrow(const struct function *fn, const struct operand *o)
{
	return o->kind != OPERAND_REG || fn->regs[o->id].bits <= 16;
}

/* What makes a register wider than a bool, or stores, makes none. */
static bool may_make_bool(const struct function *fn, const struct insn *insn)
{
	const struct operand *d0 = insn_operand(fn, insn, 0);

	if (!d0 || d0->kind == OPERAND_MEM)
		return false;
	if (d0->kind == OPERAND_REG)
		return is_narrow(fn, d0);
	if (d0->kind != OPERAND_LIST)
		return true;
	for (uint32_t k = 0; k < operand_count(d0); k++)
		if (is_narrow(fn, operand_child(fn, d0, k)))
			return true;
	return false;
}

static void list_notable(struct unit *unit, struct check_defs *defs)
{
	struct reg_list defined = {0};
	uint32_t cap = 0;

	defs->notable_from = ARENA_UNSET(unit->arena, uint32_t, unit->fn->ninsns + 1);
	defs->makes = ARENA_UNSET(unit->arena, uint32_t, unit->fn->ninsns);
	for (uint32_t i = 0; i < unit->fn->ninsns; i++) {
		bool makes = may_make_bool(unit->fn, &unit->fn->insns[i]);

		defs->notable_from[i] = defs->nnotable;
		defs->makes[i] = NONE;
		if (!makes && unit->effects[i]->known && unit->effects[i]->pure)
			continue;
		ARENA_PUSH(unit->arena, defs->notable, defs->nnotable, cap, i);
		if (!makes)
			continue;
		regs_defined(unit->fn, &unit->fn->insns[i], unit->arena, &defined);
		defs->makes[i] = defined.n == 1 ? defined.v[0] : CHECK_SEVERAL;
		for (uint32_t k = 0; k < defined.n; k++) {
			defs->n[defined.v[k]]++;
			defs->at[defined.v[k]] = i;
		}
	}
	defs->notable_from[unit->fn->ninsns] = defs->nnotable;
}

struct check_defs check_prepare(struct unit *unit)
{
	uint32_t entries = unit->cfg.n * CHECK_CONTEXTS;
	struct check_defs defs = {.n = ARENA_NEW(unit->arena, uint32_t, unit->fn->nregs),
		.at = ARENA_UNSET(unit->arena, uint32_t, unit->fn->nregs),
		.in = ARENA_NEW(unit->arena, uint8_t, entries),
		.room = ARENA_NEW(unit->arena, struct check_room, 1),
		.kept = ARENA_NEW(unit->arena, struct check_flags, 2),
		.queue = ARENA_UNSET(unit->arena, uint32_t, entries),
		.queued = ARENA_NEW(unit->arena, bool, entries),
		.slot = ARENA_NEW(unit->arena, uint8_t, unit->fn->nregs + 1),
		.steps = ARENA_NEW(unit->arena, uint64_t, 1)};

	list_notable(unit, &defs);
	find_flags(unit, &defs);
	return defs;
}
