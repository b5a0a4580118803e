/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In: values. Out: where threads of a CTA part: at a branch, at an exit or a barrier under a guard, by the id of a
 * barrier that is in a register. By the letter, or if the program has no data race.
 */
#include "analysis/barrier.h"
#include "analysis/barrier_sets.h"


struct who { /* is asked about */
	bool letter;        /* also if the program has a data race */
	const bool *varies; /* threads of some sets, each for itself: values_alike(); NULL: all of the CTA */
};

static const struct who letter = {.letter = true}, no_race = {0};

static bool same(const struct unit *unit, struct who who, uint32_t insn, const struct operand *o)
{
	if (who.varies)
		return value_alike(unit->values, who.varies, insn, o);
	return who.letter ? value_uniform(unit->values, insn, o) : value_uniform_race_free(unit->values, insn, o);
}

/* Whether the last instruction of a block may send threads different ways, or some of them out of the kernel. */
static bool last_parts(const struct unit *unit, uint32_t b, struct who who)
{
	const struct block *block = &unit->cfg.blocks[b];

	uint32_t last = block->first + block->count - 1;
	const struct insn *insn = &unit->fn->insns[last];
	struct operand guard = {.kind = OPERAND_REG, .id = insn->guard};

	if (insn->op == OP_brx) {
		const struct operand *index = insn_operand(unit->fn, insn, 0);

		return !index || !same(unit, who, last, index) ||
		       (insn->guard != NONE && !same(unit, who, last, &guard));
	}
	if (insn->guard == NONE || value_parts_unseen(&unit->cfg, b))
		return value_parts_unseen(&unit->cfg, b);
	return !same(unit, who, last, &guard) && value_decided(unit->values, last) < 0;
}

static bool parts(const struct unit *unit, uint32_t b, struct who who)
{
	const struct block *block = &unit->cfg.blocks[b];

	return block->succ.n > 1 && block->count && last_parts(unit, b, who);
}

/* It ends in `@p exit': whoever does not leave goes on. */
static bool may_leave(const struct unit *unit, uint32_t b)
{
	const struct block *block = &unit->cfg.blocks[b];
	const struct insn *last = block->count ? &unit->fn->insns[block->first + block->count - 1] : NULL;

	return block->exits && block->succ.n == 1 && last && last->guard != NONE &&
	       (last->op == OP_exit || last->op == OP_ret);
}

bool barrier_parts(const struct unit *unit, uint32_t b)
{
	return parts(unit, b, letter);
}

bool barrier_divergent(const struct unit *unit, uint32_t b)
{
	return parts(unit, b, no_race);
}

bool barrier_assumed_together(const struct unit *unit, uint32_t b)
{
	return !parts(unit, b, no_race) && parts(unit, b, letter);
}

static void find_whole(struct unit *unit, const struct barrier_group *g, struct barrier_whole *whole)
{
	struct thread_set *by_id = ARENA_NEW(unit->arena, struct thread_set, BARRIER_IDS);
	bool assumed = false;

	whole->asked = true;
	if (!threads_numbered(unit->values, &assumed))
		return;
	whole->sets = by_id;
	whole->n = barrier_whole_sets(unit, g->insns, g->n, by_id);
	whole->assume = assumed ? ASSUME_FLAT_BLOCK : 0;
}

bool barrier_parts_sets(
	struct unit *unit, const struct barrier_group *g, struct barrier_whole *whole, uint32_t b)
{
	const struct block *block = &unit->cfg.blocks[b];
	uint32_t last = block->first + block->count - 1;
	enum truth known = TRUTH_OPEN;

	if (!whole->asked)
		find_whole(unit, g, whole);
	if (!whole->n)
		return true;
	if (unit->fn->insns[last].op != OP_brx && !value_parts_unseen(&unit->cfg, b))
		known = value_guard_alike(unit->values, whole->sets, whole->n, last);
	if (known == TRUTH_OPEN && !whole->varies)
		whole->varies = values_alike(
			unit->values, whole->sets, whole->n, unit->arena, &whole->varies_assume);
	if (known == TRUTH_NO || (known == TRUTH_OPEN && parts(unit, b, (struct who){.varies = whole->varies})))
		return true;
	unit->assumptions |= whole->assume | (known == TRUTH_OPEN ? whole->varies_assume : 0);
	return false;
}

bool barrier_some_leave(struct unit *unit, uint32_t b)
{
	if (!may_leave(unit, b) || !last_parts(unit, b, letter))
		return false;
	if (last_parts(unit, b, no_race))
		return true;
	unit->assumptions |= ASSUME_RACE_FREE;
	return false;
}

uint32_t barrier_ids(struct unit *unit, uint32_t insn, bool *assumed)
{
	const struct operand *o =
		insn_operand(unit->fn, &unit->fn->insns[insn], unit->effects[insn]->barrier_operand);
	bool exact;
	uint32_t most = threads_most(unit->values, &exact), ids = 0;

	if (!o || o->kind != OPERAND_REG || !threads_numbered(unit->values, assumed))
		return 0;
	const struct thread_set *who = threads_reach(unit->values, unit->cfg.block_of[insn]);

	for (uint32_t t = 0, end = 0; t < most; t++) {
		int64_t id;

		if (t < end || !thread_set_has(who, t))
			continue;
		if (!thread_number(unit->values, t, o, &id, &end) || id < 0 || id > 15)
			return 0;
		ids |= UINT32_C(1) << id;
	}
	return ids;
}

bool barrier_skipped(const struct unit *unit, uint32_t insn)
{
	return unit->fn->insns[insn].guard != NONE && value_decided(unit->values, insn) != 1;
}

bool barrier_divides(struct unit *unit, uint32_t insn)
{
	struct operand guard = {.kind = OPERAND_REG, .id = unit->fn->insns[insn].guard};

	if (!barrier_skipped(unit, insn) || value_uniform(unit->values, insn, &guard))
		return false;
	if (!value_uniform_race_free(unit->values, insn, &guard))
		return true;
	unit->assumptions |= ASSUME_RACE_FREE;
	return false;
}
