/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One forward walk per load over the blocks it reaches. Two register sets travel along:
 *   must: registers whose value certainly depends on the load's latest execution (join: intersection)
 *   may:  registers whose value possibly depends on it (join: union)
 * The walk ends on a path where the load runs again, where an anchor uses a register of must, or
 * where no register of may is live. Both sets only move one way, so the walk ends.
 */
#include "analysis/loads.h"

#include "analysis/regs.h"
#include "base/bits.h"

#define LIVENESS_LIMIT (UINT64_C(1) << 31) /* bits; beyond it every register counts as live */

struct state {
	bool reached, queued;
	struct bits must, may;
	bool escaped; /* some use cannot be followed: never dead */
};

struct insn_range {
	const uint32_t *defs, *uses;
	uint32_t ndefs, nuses;
};

struct loads {
	struct unit *unit;
	struct insn_range *regs; /* by instruction */
	struct bits *live_out;   /* by block; NULL: too large */
	struct bits *live_at;    /* by instruction that asks; no words: another */
	struct state *in;      /* by block, reused */
	uint32_t *touched, ntouched;
	uint32_t *queue;
	struct bits must, may; /* of the block under way */
};

static void live_before(const struct loads *l, uint32_t i, struct bits live)
{
	const struct insn_range *r = &l->regs[i];

	if (l->unit->fn->insns[i].guard == NONE)
		for (uint32_t k = 0; k < r->ndefs; k++)
			bits_clear(live, r->defs[k]);
	for (uint32_t k = 0; k < r->nuses; k++)
		bits_set(live, r->uses[k]);
}

/* Only hand-offs and async accesses ask whether a load is complete. */
static bool is_asked(const struct unit *unit, uint32_t i)
{
	const struct effect *e = &unit->effects[i];

	if (e->sync != SYNC_NONE || e->is_exit || e->is_call)
		return true;
	for (uint32_t t = 0; t < e->ntouches; t++)
		if (e->touches[t].proxy == PROXY_ASYNC)
			return true;
	return false;
}

static void tabulate(struct loads *l)
{
	const struct function *fn = l->unit->fn;
	struct arena *arena = l->unit->arena;
	struct insn_regs regs = {0};

	l->regs = ARENA_NEW(arena, struct insn_range, fn->ninsns);
	for (uint32_t i = 0; i < fn->ninsns; i++) {
		regs_of(fn, &fn->insns[i], arena, &regs);
		uint32_t *v = ARENA_NEW(arena, uint32_t, regs.defs.n + regs.uses.n);

		for (uint32_t k = 0; k < regs.defs.n; k++)
			v[k] = regs.defs.v[k];
		for (uint32_t k = 0; k < regs.uses.n; k++)
			v[regs.defs.n + k] = regs.uses.v[k];
		l->regs[i] = (struct insn_range){v, v + regs.defs.n, regs.defs.n, regs.uses.n};
	}
}

static void liveness(struct loads *l)
{
	const struct cfg *cfg = &l->unit->cfg;
	struct arena *arena = l->unit->arena;
	uint32_t nregs = l->unit->fn->nregs, asked = 0;
	struct bits live = bits_new(arena, nregs);

	for (uint32_t i = 0; i < l->unit->fn->ninsns; i++)
		asked += is_asked(l->unit, i);
	if ((uint64_t)nregs * (cfg->n + asked) > LIVENESS_LIMIT)
		return;
	l->live_out = ARENA_NEW(arena, struct bits, cfg->n);
	l->live_at = ARENA_NEW(arena, struct bits, l->unit->fn->ninsns);
	for (uint32_t b = 0; b < cfg->n; b++)
		l->live_out[b] = bits_new(arena, nregs);
	for (bool changed = true; changed && !budget_spent(l->unit->budget);) {
		changed = false;
		for (uint32_t b = cfg->n; b-- > 0;) {
			const struct block *block = &cfg->blocks[b];

			bits_copy(live, l->live_out[b]);
			for (uint32_t i = block->first + block->count; i-- > block->first;)
				live_before(l, i, live);
			for (uint32_t i = 0; i < block->pred.n; i++)
				changed |= bits_or(l->live_out[block->pred.v[i]], live);
		}
	}
	for (uint32_t b = 0; b < cfg->n; b++) {
		const struct block *block = &cfg->blocks[b];

		bits_copy(live, l->live_out[b]);
		for (uint32_t i = block->first + block->count; i-- > block->first;) {
			live_before(l, i, live);
			if (!is_asked(l->unit, i))
				continue;
			l->live_at[i] = bits_new(arena, nregs);
			bits_copy(l->live_at[i], live);
		}
	}
}

struct loads *loads_prepare(struct unit *unit)
{
	struct loads *l = ARENA_NEW(unit->arena, struct loads, 1);
	uint32_t n = unit->cfg.n;

	l->unit = unit;
	tabulate(l);
	liveness(l);
	l->in = ARENA_NEW(unit->arena, struct state, n);
	l->touched = ARENA_NEW(unit->arena, uint32_t, n);
	l->queue = ARENA_NEW(unit->arena, uint32_t, n + 1);
	l->must = bits_new(unit->arena, unit->fn->nregs);
	l->may = bits_new(unit->arena, unit->fn->nregs);
	return l;
}

static bool any_used(struct bits set, const struct insn_range *r)
{
	for (uint32_t i = 0; i < r->nuses; i++)
		if (bits_has(set, r->uses[i]))
			return true;
	return false;
}

/* Passes a value on to a callee: a move in disguise, not a store (ISA 7.1). */
static bool is_argument_store(const struct effect *e)
{
	return e->ntouches == 1 && e->touches[0].spaces == SPACE_PARAM;
}

/* Executing it needs its register values: it anchors the loads that feed it (spec section 4). */
static bool is_anchor(const struct unit *unit, uint32_t i)
{
	const struct insn *insn = &unit->fn->insns[i];
	const struct effect *e = &unit->effects[i];

	if (e->is_branch || e->is_exit)
		return insn->guard != NONE || insn->op == OP_brx;
	if (insn->guard != NONE)
		return false; /* may not execute; see the guard itself in step() */
	if (is_argument_store(e))
		return false;
	if (insn->op == OP_wgmma)
		return e->ntouches > 0; /* mma_async, not fence/commit/wait */
	for (uint32_t t = 0; t < e->ntouches; t++)
		if (e->touches[t].proxy == PROXY_GENERIC && e->touches[t].writes &&
			!e->touches[t].mbarrier && !e->touches[t].asynchronous)
			return true;
	return false;
}

enum step { STEP_ON, STEP_DONE, STEP_AGAIN };

/* Carries must/may over one instruction. */
static enum step step(struct loads *l, uint32_t load, uint32_t i, bool *escaped)
{
	const struct unit *unit = l->unit;
	const struct insn *insn = &unit->fn->insns[i];
	const struct insn_range *r = &l->regs[i];
	bool must, may, guard;

	if (i == load)
		return STEP_AGAIN;
	must = any_used(l->must, r);
	may = any_used(l->may, r);
	guard = insn->guard != NONE && bits_has(l->must, insn->guard);
	if (must && is_anchor(unit, i))
		return STEP_DONE;
	/* the guard of a store or branch must be known whether or not it is taken */
	if (guard && unit->effects[i].ntouches)
		return STEP_DONE;
	*escaped |= may && (is_argument_store(&unit->effects[i]) || unit->effects[i].is_call);
	for (uint32_t k = 0; k < r->ndefs; k++) {
		uint32_t d = r->defs[k];

		if (insn->guard == NONE) {
			must ? bits_set(l->must, d) : bits_clear(l->must, d);
			may ? bits_set(l->may, d) : bits_clear(l->may, d);
		} else {
			if (!guard && !(must && bits_has(l->must, d)))
				bits_clear(l->must, d);
			else
				bits_set(l->must, d);
			if (may)
				bits_set(l->may, d);
		}
	}
	return STEP_ON;
}

struct ends {
	uint32_t *v, n, cap;
};

/* From instruction `from` to the end of the block; true: the state goes on to the successors. */
static bool run_block(struct loads *l, uint32_t load, uint32_t b, uint32_t from, bool *escaped,
	struct ends *ends)
{
	const struct block *block = &l->unit->cfg.blocks[b];

	for (uint32_t i = from; i < block->first + block->count; i++) {
		if (!*escaped && l->live_at && l->live_at[i].words &&
			!bits_meet(l->may, l->live_at[i])) {
			if (ends)
				ARENA_PUSH(l->unit->arena, ends->v, ends->n, ends->cap, i);
			return false;
		}
		switch (step(l, load, i, escaped)) {
		case STEP_ON:
			break;
		case STEP_DONE:
			if (ends)
				ARENA_PUSH(l->unit->arena, ends->v, ends->n, ends->cap, i);
			return false;
		case STEP_AGAIN:
			return false;
		}
	}
	return true;
}

/* Joins the current state into the successors; queues those that changed. */
static uint32_t flow_on(struct loads *l, uint32_t b, bool escaped, uint32_t top)
{
	const struct block *block = &l->unit->cfg.blocks[b];

	for (uint32_t i = 0; i < block->succ.n; i++) {
		struct state *in = &l->in[block->succ.v[i]];
		bool changed = !in->reached;

		if (!in->reached) {
			if (!in->must.words) {
				in->must = bits_new(l->unit->arena, l->unit->fn->nregs);
				in->may = bits_new(l->unit->arena, l->unit->fn->nregs);
			}
			in->reached = true;
			in->escaped = escaped;
			bits_copy(in->must, l->must);
			bits_copy(in->may, l->may);
			l->touched[l->ntouched++] = block->succ.v[i];
		} else {
			for (uint32_t w = 0; w < in->must.nwords; w++) {
				changed |= (in->must.words[w] & ~l->must.words[w]) != 0;
				in->must.words[w] &= l->must.words[w];
			}
			changed |= bits_or(in->may, l->may);
			changed |= escaped && !in->escaped;
			in->escaped |= escaped;
		}
		if (changed && !in->queued) {
			in->queued = true;
			l->queue[top++] = block->succ.v[i];
		}
	}
	return top;
}

static void start(struct loads *l, uint32_t load)
{
	const struct insn_range *r = &l->regs[load];

	bits_zero(l->must);
	bits_zero(l->may);
	for (uint32_t k = 0; k < r->ndefs; k++) {
		bits_set(l->must, r->defs[k]);
		bits_set(l->may, r->defs[k]);
	}
}

struct ids load_completed_at(struct loads *l, uint32_t load)
{
	const struct cfg *cfg = &l->unit->cfg;
	uint32_t home = cfg->block_of[load], top = 0;
	struct ends ends = {0};
	bool escaped = false;

	l->ntouched = 0;
	start(l, load);
	if (run_block(l, load, home, load + 1, &escaped, NULL))
		top = flow_on(l, home, escaped, top);
	while (top && !budget_spent(l->unit->budget)) {
		uint32_t b = l->queue[--top];

		l->in[b].queued = false;
		bits_copy(l->must, l->in[b].must);
		bits_copy(l->may, l->in[b].may);
		escaped = l->in[b].escaped;
		if (run_block(l, load, b, cfg->blocks[b].first, &escaped, NULL))
			top = flow_on(l, b, escaped, top);
	}
	/* the sets are final: note where each way ends */
	start(l, load);
	escaped = false;
	run_block(l, load, home, load + 1, &escaped, &ends);
	for (uint32_t t = 0; t < l->ntouched; t++) {
		uint32_t b = l->touched[t];

		bits_copy(l->must, l->in[b].must);
		bits_copy(l->may, l->in[b].may);
		escaped = l->in[b].escaped;
		run_block(l, load, b, cfg->blocks[b].first, &escaped, &ends);
		l->in[b].reached = l->in[b].queued = false;
	}
	if (budget_spent(l->unit->budget))
		return (struct ids){0};
	return (struct ids){ends.v, ends.n};
}
