/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In: effects, graph and values of a kernel. Out: waits at an mbarrier that acquire nothing. A wait
 * for parity 1 is over while an even number of phases is complete: none, or two and more. Where two
 * cannot be, what it waits for is the phase before the first one, which nobody arrived at.
 * Invariant: an object's arrivals are counted too high, those that one phase takes too low.
 */
#include "analysis/completions.h"

#include "analysis/threads.h"

struct arrival {
	uint32_t insn;
	struct access object;
	bool counted, bounded;
	uint64_t most; /* arrivals at one object in all, where bounded */
	uint32_t assumptions;
};

struct init {
	struct access object;
	uint64_t fewest; /* arrivals that a phase takes */
};

struct completions {
	struct unit *unit;
	struct arrival *arrivals;
	struct init *inits;
	uint32_t narrivals, arrivals_cap, ninits, inits_cap;
	bool unknown; /* something may arrive anywhere, or is none of a kernel's own objects */
	uint32_t *stamp, round, *stack; /* by block */
};

static const struct operand *object_operand(const struct unit *unit, uint32_t insn)
{
	uint8_t number = unit->effects[insn]->mbarrier_operand;

	return number == UINT8_MAX ? NULL : insn_operand(unit->fn, &unit->fn->insns[insn], number);
}

/* A call that control passes by: its callee is not part of the function. */
static bool is_unlinked_call(const struct unit *unit, uint32_t insn)
{
	const struct block *block = &unit->cfg.blocks[unit->cfg.block_of[insn]];

	if (!unit->effects[insn]->is_call)
		return false;
	if (insn + 1 < block->first + block->count)
		return true;
	for (uint32_t i = 0; i < block->succ.n; i++)
		if (unit->cfg.blocks[block->succ.v[i]].first == insn + 1)
			return true;
	return false;
}

static void add_arrival(struct completions *c, uint32_t insn, const struct operand *o)
{
	struct arrival a = {.insn = insn, .object = access_mbarrier(c->unit->values, insn, o)};

	ARENA_PUSH(c->unit->arena, c->arrivals, c->narrivals, c->arrivals_cap, a);
}

static void add_init(struct completions *c, uint32_t insn, const struct operand *o)
{
	struct unit *unit = c->unit;
	const struct operand *count = insn_operand(unit->fn, &unit->fn->insns[insn], 1);
	struct value v = {.base = BASE_UNKNOWN};

	if (count)
		v = value_of(unit->values, insn, count);
	struct init i = {access_mbarrier(unit->values, insn, o),
		v.base == BASE_NUMBER && v.lo > 0 && !v.assumptions ? (uint64_t)v.lo : 1};

	ARENA_PUSH(unit->arena, c->inits, c->ninits, c->inits_cap, i);
}

static void collect(struct completions *c, uint32_t insn)
{
	const struct effect *e = c->unit->effects[insn];

	if (e->sync == SYNC_NONE && e->known && !e->is_call)
		return;
	const struct operand *o = object_operand(c->unit, insn);
	bool arrives = e->sync == SYNC_MBAR_ARRIVE || e->sync == SYNC_CPASYNC_ARRIVE ||
		       e->sync == SYNC_TCGEN05_COMMIT;

	c->unknown |= is_unlinked_call(c->unit, insn) || (!e->known && e->may_touch_memory) ||
		      (arrives && !o);
	if (arrives && o)
		add_arrival(c, insn, o);
	if (e->sync == SYNC_MBAR_INIT && o)
		add_init(c, insn, o);
}

struct completions *completions_prepare(struct unit *unit)
{
	struct completions *c = ARENA_NEW(unit->arena, struct completions, 1);

	c->unit = unit;
	c->unknown = !unit->module->functions[unit->fn->index].is_entry;
	c->stamp = ARENA_NEW(unit->arena, uint32_t, unit->cfg.n);
	c->stack = ARENA_NEW(unit->arena, uint32_t, unit->cfg.n);
	for (uint32_t k = 0; k < unit->cfg.active.n; k++)
		if (unit->cfg.block_of[unit->cfg.active.v[k]] != NONE)
			collect(c, unit->cfg.active.v[k]);
	return c;
}

/* Stamps what comes behind a block, not through block `end`. */
static void walk(struct completions *c, uint32_t from, uint32_t end)
{
	const struct cfg *cfg = &c->unit->cfg;
	uint32_t top = 0;

	c->round++;
	for (uint32_t b = from;;) {
		for (uint32_t i = 0; i < cfg->blocks[b].succ.n; i++) {
			uint32_t s = cfg->blocks[b].succ.v[i];

			if (s == end || c->stamp[s] == c->round)
				continue;
			c->stamp[s] = c->round;
			c->stack[top++] = s;
		}
		if (!top)
			return;
		b = c->stack[--top];
	}
}

/* No thread comes to the instruction twice with the same object. */
static bool once_for_each_object(struct completions *c, struct arrival *a)
{
	const struct cfg *cfg = &c->unit->cfg;
	uint32_t block = cfg->block_of[a->insn];

	walk(c, block, NONE);
	if (c->stamp[block] != c->round)
		return true;
	uint32_t head = value_counter_head(
		c->unit->values, a->insn, object_operand(c->unit, a->insn), &a->assumptions);

	if (head == NONE || c->stamp[head] != c->round)
		return false;
	for (uint32_t i = 0; i < cfg->blocks[head].pred.n; i++) {
		uint32_t p = cfg->blocks[head].pred.v[i];

		if ((p == block || c->stamp[p] == c->round) && !cfg_dominates(cfg, head, p))
			return false;
	}
	walk(c, block, head);
	return block == head || c->stamp[block] != c->round;
}

static uint64_t most_threads(struct completions *c, struct arrival *a)
{
	const struct values *vs = c->unit->values;
	struct thread_set who;
	uint32_t most, n;
	bool exact, assumed;

	most = threads_most(vs, &exact);
	if (!threads_numbered(vs, &assumed))
		return most;
	threads_run(vs, a->insn, &who);
	n = thread_set_size(&who);
	if (assumed && n < most)
		a->assumptions |= ASSUME_FLAT_BLOCK;
	return n;
}

/* What one thread takes from the count that is pending; 0: not known. */
static uint64_t arrivals_of_one(const struct unit *unit, uint32_t insn)
{
	const struct insn *i = &unit->fn->insns[insn];
	const struct operand *count = i->count > 2 ? insn_operand(unit->fn, i, 2) : NULL;

	if (insn_has(i, MOD_arrive_drop) || unit->effects[insn]->remote ||
		unit->effects[insn]->sync == SYNC_TCGEN05_COMMIT)
		return 0;
	if (unit->effects[insn]->sync == SYNC_CPASYNC_ARRIVE || !count ||
		insn_has(i, MOD_expect_tx))
		return 1;
	struct value v = value_of(unit->values, insn, count);

	return v.base == BASE_NUMBER && v.lo > 0 && v.hi < INT32_MAX && !v.assumptions
		       ? (uint64_t)v.hi
		       : 0;
}

static void count(struct completions *c, struct arrival *a)
{
	uint64_t each = arrivals_of_one(c->unit, a->insn);

	a->counted = true;
	a->bounded = each && once_for_each_object(c, a);
	if (a->bounded)
		a->most = each * most_threads(c, a);
}

static bool waits_before_first(const struct unit *unit, uint32_t wait, uint32_t *assumptions)
{
	const struct insn *insn = &unit->fn->insns[wait];
	const struct operand *parity = insn->count > 2 ? insn_operand(unit->fn, insn, 2) : NULL;

	if (!parity || !insn_has(insn, MOD_parity))
		return false;
	struct value v = value_of(unit->values, wait, parity);

	*assumptions |= v.assumptions;
	return v.base == BASE_NUMBER && v.lo == 1 && v.hi == 1;
}

bool completions_none_heard(
	struct completions *c, uint32_t wait, const struct access *object, uint32_t *assumptions)
{
	const struct values *vs = c->unit->values;
	uint64_t arrivals = 0, fewest = UINT64_MAX;
	uint32_t used = 0;

	if (c->unknown || !waits_before_first(c->unit, wait, &used) ||
		(object->address.base != BASE_SYMBOL && object->address.base != BASE_DERIVED))
		return false;
	for (uint32_t i = 0; i < c->ninits; i++)
		if (c->inits[i].fewest < fewest &&
			access_same_object(vs, &c->inits[i].object, object, &used))
			fewest = c->inits[i].fewest;
	for (uint32_t i = 0; i < c->narrivals; i++) {
		struct arrival *a = &c->arrivals[i];

		if (!access_same_object(vs, &a->object, object, &used))
			continue;
		if (!a->counted)
			count(c, a);
		if (!a->bounded)
			return false;
		used |= a->assumptions;
		arrivals += a->most;
	}
	if (fewest == UINT64_MAX || arrivals / fewest > 1 || budget_spent(c->unit->budget))
		return false;
	*assumptions |= used;
	return true;
}
