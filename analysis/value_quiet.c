/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In: a function's graph and effects, and solved values. Out: which loads read what lay in memory when
 * all threads of the CTA met for the last time, in a program without data races (ISA 8.7.2).
 *
 * Why that is so: let two threads of one round read different values of one place. Then some write is
 * ordered behind the one load and before the other, so an order leads from the first thread, behind the
 * barrier, into the second, before its load. It enters there by an acquire, and that stands behind the
 * barrier too: an order that enters before the barrier would make a cycle with it. A kernel's start is
 * as good as such a barrier. Invariant: an instruction is quiet only if on every way to it a barrier of
 * all threads, or the start, comes after everything by which its thread may acquire.
 */
#include "analysis/value_private.h"

struct ids_met { /* barrier ids that not all threads wait at each time */
	int64_t lo, hi;
};

/* The ids that a barrier can have. */
static struct ids_met ids_of(const struct values *vs, uint32_t insn)
{
	uint8_t number = vs->cfg->effects[insn]->barrier_operand;
	const struct operand *o =
		number == UINT8_MAX ? NULL : insn_operand(vs->fn, &vs->fn->insns[insn], number);

	if (!o)
		return (struct ids_met){0, 0};
	struct value v = value_of(vs, insn, o);

	return v.base == BASE_NUMBER ? (struct ids_met){v.lo, v.hi} : (struct ids_met){0, 15};
}

/* No launch can fall short of its count, or it has none (ISA 9.7.13.1). */
static bool asks_for_all(const struct values *vs, uint32_t insn)
{
	const struct effect *e = vs->cfg->effects[insn];

	if (e->sync != SYNC_BAR)
		return false;
	if (e->count_operand == UINT8_MAX)
		return true;
	const struct operand *o = insn_operand(vs->fn, &vs->fn->insns[insn], e->count_operand);

	if (!o)
		return false;
	struct value v = value_of(vs, insn, o);

	return v.base == BASE_NUMBER && v.lo >= (int64_t)vs->threads_total;
}

static bool is_barrier(const struct values *vs, uint32_t insn)
{
	uint8_t sync = vs->cfg->effects[insn]->sync;

	return vs->cfg->block_of[insn] != NONE && (sync == SYNC_BAR || sync == SYNC_BAR_ARRIVE);
}

/* Barriers at which all threads wait each time: no other of an id that may be the same is for some. */
static void find_meetings(struct values *vs)
{
	struct ids_met *some = NULL;
	uint32_t n = 0, cap = 0;

	const struct ids *active = &vs->cfg->active;

	for (uint32_t k = 0; k < active->n; k++)
		if (is_barrier(vs, active->v[k]) && !asks_for_all(vs, active->v[k]))
			ARENA_PUSH(vs->arena, some, n, cap, ids_of(vs, active->v[k]));
	vs->meeting = ARENA_NEW(vs->arena, bool, vs->fn->ninsns + 1);
	for (uint32_t a = 0; a < active->n; a++) {
		uint32_t i = active->v[a];

		if (!is_barrier(vs, i) || !asks_for_all(vs, i))
			continue;
		struct ids_met own = ids_of(vs, i);

		vs->meeting[i] = true;
		for (uint32_t k = 0; k < n; k++)
			if (own.lo <= some[k].hi && some[k].lo <= own.hi)
				vs->meeting[i] = false;
	}
}

/* What other threads have done may come to count as done before what follows. */
static bool may_acquire(const struct values *vs, uint32_t insn)
{
	const struct effect *e = vs->cfg->effects[insn];

	if (e->is_call || (!e->known && !e->pure) || vs->fn->insns[insn].op == OP_griddepcontrol)
		return true;
	if (e->fence == FENCE_GENERIC_ACQUIRE || e->fence == FENCE_TENSORMAP_ACQUIRE ||
		e->fence == FENCE_OTHER)
		return true;
	switch ((enum sync_kind)e->sync) {
	case SYNC_BAR:
	case SYNC_WARP:
	case SYNC_CLUSTER_WAIT:
	case SYNC_MBAR_WAIT:
	case SYNC_MEMORY:
		return true;
	case SYNC_NONE:
	case SYNC_BAR_ARRIVE:
	case SYNC_CLUSTER_ARRIVE:
	case SYNC_MBAR_INIT:
	case SYNC_MBAR_INVAL:
	case SYNC_MBAR_ARRIVE:
	case SYNC_MBAR_EXPECT:
	case SYNC_CPASYNC_COMMIT:
	case SYNC_CPASYNC_WAIT:
	case SYNC_CPASYNC_ARRIVE:
	case SYNC_BULK_COMMIT:
	case SYNC_BULK_WAIT:
	case SYNC_TCGEN05_COMMIT:
	case SYNC_WGMMA_FENCE:
	case SYNC_WGMMA_COMMIT:
	case SYNC_WGMMA_WAIT:
		break;
	}
	return e->acquires;
}

/* Carries what holds before an instruction over it. A guard may keep threads from it. */
static bool step(const struct values *vs, uint32_t insn, bool quiet)
{
	if (vs->meeting[insn])
		return quiet || vs->fn->insns[insn].guard == NONE;
	return quiet && !may_acquire(vs, insn);
}

static bool step_block(const struct values *vs, uint32_t b, bool quiet)
{
	const struct block *block = &vs->cfg->blocks[b];

	for (uint32_t i = block->first; i < block->first + block->count; i++)
		quiet = step(vs, i, quiet);
	return quiet;
}

void values_find_quiet(struct values *vs)
{
	const struct cfg *cfg = vs->cfg;
	bool *in = ARENA_NEW(vs->arena, bool, cfg->n + 1);

	find_meetings(vs);
	for (uint32_t b = 0; b < cfg->n; b++)
		in[b] = b || vs->is_entry;
	for (bool changed = true; changed && !budget_spent(vs->budget);) {
		changed = false;
		for (uint32_t b = 0; b < cfg->n; b++) {
			if (step_block(vs, b, in[b]))
				continue;
			for (uint32_t k = 0; k < cfg->blocks[b].succ.n; k++) {
				uint32_t s = cfg->blocks[b].succ.v[k];

				changed |= in[s] && s <= b;
				in[s] = false;
			}
		}
	}
	vs->quiet = ARENA_NEW(vs->arena, bool, vs->fn->ninsns + 1);
	for (uint32_t b = 0; b < cfg->n && !vs->budget->spent; b++) {
		const struct block *block = &cfg->blocks[b];

		for (uint32_t i = block->first; i < block->first + block->count; i++) {
			vs->quiet[i] = in[b];
			in[b] = step(vs, i, in[b]);
		}
	}
}
