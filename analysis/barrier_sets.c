/* SPDX-License-Identifier: Apache-2.0 */
/* In: a barrier instruction. Out: the threads that can come to it, under which id, and how many it asks for. */
#include "analysis/barrier_sets.h"

static const struct operand *operand_at(const struct unit *unit, uint32_t insn, uint8_t number)
{
	return number == UINT8_MAX ? NULL : insn_operand(unit->fn, &unit->fn->insns[insn], number);
}

/* How many threads it asks for, if that is a constant; 0. */
static uint32_t constant_count(const struct unit *unit, uint32_t insn)
{
	const struct operand *count = operand_at(unit, insn, unit->effects[insn]->count_operand);

	if (!count || unit->fn->insns[insn].guard != NONE)
		return 0;
	struct value v = value_of(unit->values, insn, count);

	return v.base == BASE_NUMBER && v.lo == v.hi && v.lo > 0 && v.lo <= THREADS_MAX &&
			       v.lo % 32 == 0
		       ? (uint32_t)v.lo
		       : 0;
}

uint32_t barrier_counted(const struct unit *unit, uint32_t insn)
{
	const struct insn *i = &unit->fn->insns[insn];

	return i->op == OP_bar || insn_has(i, MOD_aligned) ? constant_count(unit, insn) : 0;
}

bool barrier_add_threads(
	const struct unit *unit, uint32_t insn, struct thread_set by_id[BARRIER_IDS])
{
	const struct thread_set *who = threads_reach(unit->values, unit->cfg.block_of[insn]);
	const struct operand *o = operand_at(unit, insn, unit->effects[insn]->barrier_operand);
	struct thread_set known = {0};
	int64_t id = -1;

	for (uint32_t i = 0; i < BARRIER_IDS; i++)
		thread_set_join(&known, &by_id[i]);
	for (uint32_t t = thread_set_next(who, 0), end = 0; t < THREADS_MAX; t = thread_set_next(who, t + 1)) {
		if (t >= end && (!o || !thread_number(unit->values, t, o, &id, &end)))
			return false;
		if (id < 0 || id >= BARRIER_IDS)
			return false;
		if (thread_set_has(&known, t) && !thread_set_has(&by_id[id], t))
			return false; /* none of one fixed set */
		thread_set_add(&by_id[id], t);
	}
	return true;
}

bool barrier_set_complete(const struct thread_set *s, uint32_t count)
{
	uint32_t n = 0;

	for (uint32_t t = 0; t < THREADS_MAX; t += 32) {
		if (thread_set_has_warp(s, t))
			n += 32;
		else if ((uint32_t)(s->w[t / 64] >> (t & 32)))
			return false;
	}
	return !n || n == count;
}

uint32_t barrier_whole_sets(
	const struct unit *unit, const uint32_t *insns, uint32_t n, struct thread_set by_id[BARRIER_IDS])
{
	uint32_t sets = 0, count = n ? constant_count(unit, insns[0]) : 0;

	for (uint32_t i = 0; i < n; i++)
		if (!count || constant_count(unit, insns[i]) != count || !barrier_add_threads(unit, insns[i], by_id))
			return 0;
	for (uint32_t k = 0; k < BARRIER_IDS; k++) {
		if (thread_set_next(&by_id[k], 0) == THREADS_MAX)
			continue;
		if (!barrier_set_complete(&by_id[k], count))
			return 0;
		by_id[sets++] = by_id[k];
	}
	return sets;
}
