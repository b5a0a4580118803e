/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One forward walk per load over the blocks it reaches. Two register sets travel along:
 *   must: registers whose value certainly depends on the load (join: intersection)
 *   may:  registers whose value possibly depends on it (join: union)
 * The load is complete on a path where an anchor uses a register of must, or where no register of
 * may is live. Where it runs again before that, older executions stay open beside the latest: an
 * accumulator may hold their values. So there are two pairs of sets, and must of the older ones is
 * what depends on all of them. The walk ends on a path where nothing is open. The sets only move
 * one way, a closed pair being the top, so the walk ends.
 *
 * The registers of a function that calls itself are other ones in the inner call (ISA 7.1), which
 * the linked text does not tell apart: a load that is open at such a call counts as never complete.
 */
#include "analysis/loads.h"

#include "analysis/dead_store.h"
#include "analysis/lane_store.h"
#include "analysis/needed.h"
#include "analysis/short_branch.h"
#include "analysis/tracked.h"
#include "base/bits.h"

#define LIVENESS_LIMIT (UINT64_C(1) << 31) /* bits; beyond it every register counts as live */

enum age { LATEST, OLDER, NAGES };

struct values {
	bool open[NAGES]; /* not known to be complete; else the sets mean nothing */
	struct bits must[NAGES], may[NAGES]; /* of the words of the web alone */
	bool escaped; /* some use cannot be followed: never dead */
};

struct state {
	bool reached;
	uint32_t end; /* where the latest walk from here found all complete, or NONE */
	struct values values;
};

struct loads {
	struct unit *unit;
	struct tracked tracked;
	uint64_t *stops; /* by instruction: its fold, or all bits where more is to be looked at */
	uint32_t *asked; /* by instruction: whether it asks */
	uint32_t *looks, nlooks; /* by instruction: 1 + its number among those where it is looked what is live, which ask or
				  * begin an arm of a branch; 0: it is none */
	struct lane_stores *lane_stores;
	struct dead_stores *dead_stores;
	struct needed *needed;
	struct bits *live_out; /* by block; NULL: too large */
	struct bits *live_at;  /* by such a number */
	enum branch_length *branches; /* by block: of the branch at its end */
	struct state *in;      /* by block, reused; the last: behind the load */
	uint32_t *touched, ntouched;
	struct bits queue; /* states to be run; the blocks in the order of the graph */
	struct values now;    /* of the block under way */
	uint64_t fold[NAGES]; /* of these: the words of may, one over the other, at least */
	uint32_t word, words; /* of the load under way: of all registers those of its web */
	bool recursed;	      /* open where its function is entered again */
};

static const struct tracked_insn *tracked_at(const struct loads *l, uint32_t i)
{
	return &l->tracked.insns[l->tracked.at[i]];
}

static void live_before(const struct loads *l, uint32_t i, struct bits live)
{
	const struct tracked_insn *r = tracked_at(l, i);

	if (l->unit->fn->insns[i].guard == NONE)
		for (uint32_t k = 0; k < r->ndefs; k++)
			bits_clear(live, r->defs[k]);
	for (uint32_t k = 0; k < r->nuses; k++)
		bits_set(live, r->uses[k]);
}

/* Only hand-offs and async accesses ask whether a load is complete. */
static bool is_asked(const struct unit *unit, uint32_t i)
{
	const struct effect *e = unit->effects[i];

	if (e->sync != SYNC_NONE || e->is_exit || e->is_call)
		return true;
	for (uint32_t t = 0; t < e->ntouches; t++)
		if (e->touches[t].proxy == PROXY_ASYNC)
			return true;
	return false;
}

static void find_stops(struct loads *l)
{
	const struct unit *unit = l->unit;

	l->stops = ARENA_UNSET(unit->arena, uint64_t, unit->fn->ninsns);
	l->asked = ARENA_NEW(unit->arena, uint32_t, unit->fn->ninsns);
	l->looks = ARENA_NEW(unit->arena, uint32_t, unit->fn->ninsns);
	for (uint32_t i = 0; i < unit->fn->ninsns; i++)
		l->stops[i] = tracked_at(l, i)->fold;
	for (uint32_t k = 0; k < unit->cfg.active.n; k++) {
		uint32_t i = unit->cfg.active.v[k];

		if (!is_asked(unit, i))
			continue;
		l->stops[i] = UINT64_MAX;
		l->asked[i] = l->looks[i] = ++l->nlooks;
	}
	/* on one arm of a branch a value may be one that nobody looks at, and another in its place behind it */
	for (uint32_t b = 0; b < unit->cfg.n; b++) {
		const struct block *block = &unit->cfg.blocks[b];
		uint32_t i = block->nactive ? unit->cfg.active.v[block->active] : NONE;

		if (i == NONE || l->looks[i] || block->pred.n != 1 ||
			unit->cfg.blocks[block->pred.v[0]].succ.n < 2)
			continue;
		l->stops[i] = UINT64_MAX;
		l->looks[i] = ++l->nlooks;
	}
}

/* Backward through a block; what is live where somebody asks is kept. */
static void live_through(struct loads *l, const struct block *block, struct bits live)
{
	for (uint32_t i = block->first + block->count; i-- > block->first;) {
		if (!l->stops[i])
			continue;
		live_before(l, i, live);
		if (l->looks[i])
			bits_copy(l->live_at[l->looks[i] - 1], live);
	}
}

static void liveness(struct loads *l)
{
	const struct cfg *cfg = &l->unit->cfg;
	struct arena *arena = l->unit->arena;
	uint32_t nregs = l->tracked.n;
	struct bits live = bits_new(arena, nregs);
	bool *dirty = ARENA_UNSET(arena, bool, cfg->n); /* more is live behind the block than it has seen */

	if ((uint64_t)nregs * (cfg->n + l->nlooks) > LIVENESS_LIMIT)
		return;
	l->live_out = ARENA_NEW(arena, struct bits, cfg->n);
	l->live_at = ARENA_NEW(arena, struct bits, l->nlooks);
	for (uint32_t b = 0; b < cfg->n; b++)
		l->live_out[b] = bits_new(arena, nregs);
	for (uint32_t i = 0; i < l->nlooks; i++)
		l->live_at[i] = bits_new(arena, nregs);
	memset(dirty, true, cfg->n);
	for (bool changed = true; changed && !budget_spent(l->unit->budget);) {
		changed = false;
		for (uint32_t b = cfg->n; b-- > 0;) {
			const struct block *block = &cfg->blocks[b];

			if (!dirty[b])
				continue;
			dirty[b] = false;
			bits_copy(live, l->live_out[b]);
			live_through(l, block, live);
			for (uint32_t i = 0; i < block->pred.n; i++) {
				uint32_t p = block->pred.v[i];

				if (bits_or(l->live_out[p], live))
					changed = dirty[p] = true;
			}
		}
	}
}

static void values_new(const struct loads *l, struct values *v)
{
	for (enum age a = LATEST; a < NAGES; a++) {
		v->must[a] = bits_new(l->unit->arena, l->tracked.web_words * 64);
		v->may[a] = bits_new(l->unit->arena, l->tracked.web_words * 64);
	}
}

/* For the sets of the load under way. */
static void values_fit(const struct loads *l, struct values *v)
{
	for (enum age a = LATEST; a < NAGES; a++)
		v->must[a].nwords = v->may[a].nwords = l->words;
}

struct loads *loads_prepare(struct unit *unit, struct ids loads)
{
	struct loads *l = ARENA_NEW(unit->arena, struct loads, 1);
	uint32_t n = unit->cfg.n;

	l->unit = unit;
	tracked_find(unit, loads, &l->tracked);
	find_stops(l);
	l->dead_stores = dead_stores_prepare(unit, l->asked);
	l->needed = needed_prepare(unit, &l->tracked);
	l->lane_stores = lane_stores_prepare(unit, &l->tracked, l->asked, l->dead_stores, l->needed);
	liveness(l);
	l->branches = ARENA_NEW(unit->arena, enum branch_length, n);
	l->in = ARENA_NEW(unit->arena, struct state, n + 1);
	l->touched = ARENA_NEW(unit->arena, uint32_t, n + 1);
	l->queue = bits_new(unit->arena, n + 1);
	values_new(l, &l->now);
	return l;
}

/* The place of a tracked register in the sets of the load under way; one of another web may be none of theirs. */
static uint32_t place_of(const struct loads *l, uint32_t number)
{
	return number - l->word * 64;
}

static bool has(const struct loads *l, struct bits set, uint32_t number)
{
	uint32_t place = place_of(l, number);

	return place < l->words * 64 && bits_has(set, place);
}

static bool any_used(const struct loads *l, struct bits set, const struct tracked_insn *r)
{
	for (uint32_t i = 0; i < r->nuses; i++)
		if (has(l, set, r->uses[i]))
			return true;
	return false;
}

static bool any_defined(const struct loads *l, struct bits set, const struct tracked_insn *r)
{
	for (uint32_t i = 0; i < r->ndefs; i++)
		if (has(l, set, r->defs[i]))
			return true;
	return false;
}

static bool is_conditional(const struct insn *branch)
{
	return branch->guard != NONE || branch->op == OP_brx;
}

static bool is_branch(const struct loads *l, uint32_t i)
{
	return l->unit->effects[i]->is_branch || branch_returns(l->unit, i);
}

static enum branch_length length_of(struct loads *l, uint32_t branch)
{
	enum branch_length *length = &l->branches[l->unit->cfg.block_of[branch]];

	if (*length == BRANCH_NOT_ASKED)
		*length = branch_length(l->unit, branch);
	return *length;
}

/* What the ways of a branch write hangs on what decides it, and no use of a register says so. */
static bool decides_values(struct loads *l, uint32_t i)
{
	return is_branch(l, i) && is_conditional(&l->unit->fn->insns[i]) &&
	       length_of(l, i) == BRANCH_SHORT;
}

/* Executing it needs its register values: it anchors the loads that feed it (spec section 4). */
static bool is_anchor(struct loads *l, uint32_t i)
{
	const struct unit *unit = l->unit;
	const struct insn *insn = &unit->fn->insns[i];
	const struct effect *e = unit->effects[i];

	if (is_branch(l, i))
		return is_conditional(insn) && length_of(l, i) == BRANCH_LONG;
	if (e->is_exit)
		return insn->guard != NONE;
	if (insn->guard != NONE)
		return false; /* may not execute; see the guard itself in step() */
	if (insn->op == OP_wgmma)
		return e->ntouches > 0; /* mma_async, not fence/commit/wait */
	return (effect_stores_values(e) && !store_is_dead(l->dead_stores, i)) || lane_stores_result(l->lane_stores, i);
}

/* The guard of a memory access must be known whether or not it is taken; constants and parameters
 * are read whenever it suits, and local memory may be registers (seen of ptxas 13.0). */
static bool needs_guard(const struct effect *e)
{
	for (uint8_t t = 0; t < e->ntouches; t++)
		if (e->touches[t].spaces & ~(SPACE_CONST | SPACE_PARAM | SPACE_LOCAL))
			return true;
	return false;
}

static bool any_open(const struct values *v)
{
	return v->open[LATEST] || v->open[OLDER];
}

static void copy_values(struct values *to, const struct values *from)
{
	to->escaped = from->escaped;
	for (enum age a = LATEST; a < NAGES; a++) {
		to->open[a] = from->open[a];
		if (!from->open[a])
			continue;
		bits_copy(to->must[a], from->must[a]);
		bits_copy(to->may[a], from->may[a]);
	}
}

static bool bits_cut(struct bits set, struct bits other)
{
	bool changed = false;

	for (uint32_t w = 0; w < set.nwords; w++) {
		changed |= (set.words[w] & ~other.words[w]) != 0;
		set.words[w] &= other.words[w];
	}
	return changed;
}

/* Joins one pair of sets into another; true if that one changed. */
static bool join_age(struct values *to, enum age t, const struct values *from, enum age f)
{
	if (!from->open[f])
		return false;
	if (!to->open[t]) {
		to->open[t] = true;
		bits_copy(to->must[t], from->must[f]);
		bits_copy(to->may[t], from->may[f]);
		return true;
	}
	bool changed = bits_cut(to->must[t], from->must[f]);

	return bits_or(to->may[t], from->may[f]) || changed;
}

/* Joins the current values into a state, which is queued if it changed. */
static void join_into(struct loads *l, uint32_t at)
{
	struct state *in = &l->in[at];
	bool changed = !in->reached;

	if (!in->reached) {
		if (!in->values.must[LATEST].words)
			values_new(l, &in->values);
		values_fit(l, &in->values);
		in->reached = true;
		copy_values(&in->values, &l->now);
		l->touched[l->ntouched++] = at;
	} else {
		for (enum age a = LATEST; a < NAGES; a++)
			changed |= join_age(&in->values, a, &l->now, a);
		changed |= l->now.escaped && !in->values.escaped;
		in->values.escaped |= l->now.escaped;
	}
	if (changed)
		bits_set(l->queue, at);
}

/* The load runs: what it brought before is older now. */
static void run_load(struct loads *l, uint32_t load)
{
	const struct tracked_insn *r = tracked_at(l, load);
	struct values *v = &l->now;

	join_age(v, OLDER, v, LATEST);
	v->open[LATEST] = true;
	bits_zero(v->must[LATEST]);
	bits_zero(v->may[LATEST]);
	for (uint32_t k = 0; k < r->ndefs; k++) {
		uint32_t d = place_of(l, r->defs[k]);

		bits_clear(v->must[OLDER], d);
		if (l->unit->fn->insns[load].guard == NONE)
			bits_clear(v->may[OLDER], d);
		bits_set(v->must[LATEST], d);
		bits_set(v->may[LATEST], d);
	}
}

static uint64_t fold(struct bits set)
{
	uint64_t all = 0;

	for (uint32_t w = 0; w < set.nwords; w++)
		all |= set.words[w];
	return all;
}

/* Carries one pair of sets over an instruction, or closes it there. must is part of may, so an
 * instruction with no register of may leaves all as it is. */
static void step(struct loads *l, enum age a, uint32_t i)
{
	const struct unit *unit = l->unit;
	const struct insn *insn = &unit->fn->insns[i];
	const struct tracked_insn *r = tracked_at(l, i);

	if (!(r->fold & l->fold[a]))
		return;
	struct bits must_set = l->now.must[a], may_set = l->now.may[a];
	bool may = any_used(l, may_set, r), must = may && any_used(l, must_set, r);

	if (!may && !any_defined(l, may_set, r))
		return;
	uint32_t under = insn->guard == NONE ? NONE : l->tracked.number[insn->guard];
	bool guard = under != NONE && has(l, must_set, under);

	if ((must && is_anchor(l, i)) || (guard && needs_guard(unit->effects[i]))) {
		l->now.open[a] = false;
		return;
	}
	l->now.escaped |= may && (effect_moves_value(unit->effects[i]) ||
					 unit->effects[i]->is_call || decides_values(l, i));
	if (may)
		l->fold[a] |= r->fold;
	must = must && !needed_none(l->needed, i);
	for (uint32_t k = 0; k < r->ndefs; k++) {
		uint32_t d = place_of(l, r->defs[k]);

		if (d >= l->words * 64)
			continue;
		if (insn->guard == NONE) {
			must ? bits_set(must_set, d) : bits_clear(must_set, d);
			may ? bits_set(may_set, d) : bits_clear(may_set, d);
		} else {
			if (!guard && !(must && bits_has(must_set, d)))
				bits_clear(must_set, d);
			else
				bits_set(must_set, d);
			if (may)
				bits_set(may_set, d);
		}
	}
}

/* Nobody will look at a value that no live register depends on. */
static void close_dead(struct loads *l, uint32_t i)
{
	if (l->now.escaped || !l->live_at || !l->looks[i])
		return;
	struct bits live = {l->live_at[l->looks[i] - 1].words + l->word, l->words};

	for (enum age a = LATEST; a < NAGES; a++)
		if (!bits_meet(l->now.may[a], live))
			l->now.open[a] = false;
}

/* The first instruction from i on that may change something, or `end`. */
static uint32_t next_stop(const struct loads *l, uint32_t i, uint32_t end)
{
	uint64_t registers = l->fold[LATEST] | l->fold[OLDER];

	if (registers)
		while (i < end && !(l->stops[i] & registers))
			i++;
	else /* nothing is left that depends on the load, and that may be asked */
		while (i < end && l->stops[i] != UINT64_MAX)
			i++;
	return i;
}

/* From state `at` to where all is complete, or to the end of its block and on to the successors. */
static void run_block(struct loads *l, uint32_t load, uint32_t at)
{
	const struct cfg *cfg = &l->unit->cfg;
	const struct block *block = &cfg->blocks[at == cfg->n ? cfg->block_of[load] : at];
	uint32_t from = at == cfg->n ? load + 1 : block->first;

	l->in[at].end = NONE;
	copy_values(&l->now, &l->in[at].values);
	for (enum age a = LATEST; a < NAGES; a++)
		l->fold[a] = l->now.open[a] ? fold(l->now.may[a]) : 0;
	for (uint32_t i = from; i < block->first + block->count; i++) {
		i = next_stop(l, i, block->first + block->count);
		if (i == block->first + block->count)
			break;
		close_dead(l, i);
		if (any_open(&l->now) && i == load) {
			run_load(l, load);
			join_into(l, cfg->n);
			return;
		}
		for (enum age a = LATEST; a < NAGES; a++)
			if (l->now.open[a])
				step(l, a, i);
		if (any_open(&l->now))
			continue;
		l->in[at].end = cfg_active_from(cfg, i);
		return;
	}
	l->recursed |= block->recurses;
	for (uint32_t i = 0; i < block->succ.n; i++)
		join_into(l, block->succ.v[i]);
}

struct ids load_completed_at(struct loads *l, uint32_t load)
{
	uint32_t *ends = NULL, n = 0, cap = 0;

	const struct tracked_insn *r = tracked_at(l, load);

	l->word = r->ndefs ? l->tracked.web_from[r->defs[0]] / 64 : 0;
	l->words = r->ndefs ? (l->tracked.web_end[r->defs[0]] + 63) / 64 - l->word : 0;
	values_fit(l, &l->now);
	l->ntouched = 0;
	l->recursed = false;
	uint64_t usual = l->stops[load];

	l->stops[load] = UINT64_MAX;
	l->now.open[LATEST] = l->now.open[OLDER] = l->now.escaped = false;
	run_load(l, load);
	join_into(l, l->unit->cfg.n);
	for (uint32_t at = l->unit->cfg.n; at != NONE && !budget_spent(l->unit->budget);) {
		bits_clear(l->queue, at);
		run_block(l, load, at);
		at = bits_next(l->queue, at + 1);
		if (at == NONE)
			at = bits_next(l->queue, 0);
	}
	for (uint32_t t = 0; t < l->ntouched; t++) {
		struct state *in = &l->in[l->touched[t]];

		if (in->end != NONE)
			ARENA_PUSH(l->unit->arena, ends, n, cap, in->end);
		in->reached = false;
		bits_clear(l->queue, l->touched[t]);
	}
	l->stops[load] = usual;
	if (l->recursed || budget_spent(l->unit->budget))
		return (struct ids){0};
	return (struct ids){ends, n};
}
