/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In: the wait in front of a copy into a stage. Out: whether its mbarriers count all who give the stage up
 * (ISA 9.7.13.15). What cannot be counted is believed. Invariant: false where one arrive by the threads that
 * act alike is more arrivals than a phase takes, where the count goes down on the way (arrive_drop), or
 * where it begins anew between two waits.
 */
#include "analysis/flow_state.h"
#include "analysis/own_stage.h"
#include "analysis/threads.h"

struct counting {
	const struct unit *unit;
	uint32_t wait;
	struct access object; /* what the wait may name */
	uint32_t *assumptions;
};

static const struct operand *object_of(const struct unit *unit, uint32_t insn)
{
	uint8_t n = unit->effects[insn]->mbarrier_operand;

	return n == UINT8_MAX ? NULL : insn_operand(unit->fn, &unit->fn->insns[insn], n);
}

static bool is_of_ring(const struct counting *c, uint32_t insn)
{
	const struct values *vs = c->unit->values;
	const struct operand *o = object_of(c->unit, insn);

	if (!o)
		return false;
	struct access object = access_mbarrier(vs, insn, o);

	return object.address.base == c->object.address.base &&
	       object.address.id == c->object.address.id &&
	       access_same_object(vs, &c->object, &object, c->assumptions);
}

struct count { /* least 0: not known */
	uint64_t least, most;
};

static struct count either(struct count a, struct count b)
{
	if (!a.least || !b.least)
		return (struct count){0, 0};
	return (struct count){a.least < b.least ? a.least : b.least, a.most > b.most ? a.most : b.most};
}

static struct count count_in(const struct values *vs, uint32_t insn, const struct operand *o, uint32_t depth);

/* One of the constants that come together in a phi or a selp. */
static struct count one_of_several(const struct values *vs, uint32_t node, uint32_t depth)
{
	const struct node *n = &vs->ssa.nodes[node];
	const struct insn *at = &vs->fn->insns[n->insn];
	struct value v = *value_at(vs, node);

	if (v.base == BASE_NUMBER && v.lo == v.hi && v.lo > 0)
		return (struct count){(uint64_t)v.lo, (uint64_t)v.lo};
	if (!depth || (n->kind == NODE_DEF && (n->previous != NONE || at->op != OP_selp)))
		return (struct count){0, 0};
	if (n->kind == NODE_DEF)
		return either(count_in(vs, n->insn, insn_source(vs->fn, at, 0), depth - 1),
			count_in(vs, n->insn, insn_source(vs->fn, at, 1), depth - 1));
	struct count all = {0, 0};

	for (uint32_t k = 0; n->kind == NODE_PHI && k < vs->cfg->blocks[n->block].pred.n; k++) {
		uint32_t input = vs->ssa.inputs[n->input + k];
		struct count c = input < vs->nsolved ? one_of_several(vs, input, depth - 1) : (struct count){0, 0};

		all = k ? either(all, c) : c;
	}
	return all;
}

static struct count count_in(const struct values *vs, uint32_t insn, const struct operand *o, uint32_t depth)
{
	struct value v = value_of(vs, insn, o);
	uint32_t node = trips_plain_node(vs, o);

	if (v.base == BASE_NUMBER && v.lo == v.hi && v.lo > 0)
		return (struct count){(uint64_t)v.lo, (uint64_t)v.lo};
	return node == NONE ? (struct count){0, 0} : one_of_several(vs, node, depth);
}

/* What the operand behind the object's address holds, of several constants any; `none` where there is no such operand. */
static struct count count_behind(const struct unit *unit, uint32_t insn, uint64_t none)
{
	uint8_t n = unit->effects[insn]->mbarrier_operand;
	const struct operand *o = insn_operand(unit->fn, &unit->fn->insns[insn], n + 1u);

	return o ? count_in(unit->values, insn, o, 4) : (struct count){none, none};
}

/* ---- who arrives ---- */

/* Threads that come to a place whenever one of them does; of the warps in `elected`, one thread. */
struct alike {
	struct thread_set threads;
	uint32_t elected;
};

/* A condition on the way: the guard of an instruction, or the i-th edge out of a block. */
struct condition {
	bool is_edge;
	uint32_t at, i;
	bool same; /* where it is not known, it is the same for all of them */
};

static enum truth truth_of(const struct values *vs, struct thread t, const struct condition *c)
{
	return c->is_edge ? thread_takes(vs, t, c->at, c->i) : thread_runs(vs, t, c->at);
}

static bool is_same(const struct values *vs, uint32_t insn)
{
	uint32_t node = vs->ssa.guard_of[insn];

	return node < vs->nsolved && !value_varying(vs, true)[node];
}

static void restrict_to(const struct values *vs, const struct condition *c, struct alike *a)
{
	uint32_t open = 0; /* warps */

	for (uint32_t t = 0; t < THREADS_MAX; t++) {
		if (!thread_set_has(&a->threads, t))
			continue;
		enum truth truth = truth_of(vs, (struct thread){(uint16_t)t, false}, c);

		if (truth == TRUTH_YES || (truth == TRUTH_OPEN && c->same))
			continue;
		a->threads.w[t / 64] &= ~(UINT64_C(1) << t % 64);
		open |= (uint32_t)(truth == TRUTH_OPEN) << t / 32;
	}
	for (uint32_t t = 0; open; t += 32, open >>= 1)
		if (open & 1 && truth_of(vs, (struct thread){(uint16_t)t, true}, c) == TRUTH_YES)
			a->elected |= UINT32_C(1) << t / 32;
}

/* Along the dominators of the instruction, where each one that is not certainly passed has a single way to the next:
 * what else decides is not followed, and nobody is found. */
static struct alike find_alike(const struct unit *unit, uint32_t insn)
{
	const struct values *vs = unit->values;
	const struct cfg *cfg = &unit->cfg;
	struct alike a = {.elected = 0}, nobody = a;
	bool assumed;

	if (!threads_numbered(vs, &assumed) || !vs->threads_total)
		return nobody;
	a.threads = *threads_reach(vs, cfg->block_of[insn]);
	for (uint32_t b = cfg->block_of[insn], d; b; b = d) {
		const struct block *block = &cfg->blocks[b];

		d = block->idom;
		if (cfg_postdominates(cfg, b, d))
			continue;
		const struct block *above = &cfg->blocks[d];
		uint32_t branch = above->first + above->count - 1;

		if (block->pred.n != 1 || above->succ.n != 2 || unit->fn->insns[branch].guard == NONE)
			return nobody;
		restrict_to(vs, &(struct condition){true, d, above->succ.v[0] != b, is_same(vs, branch)}, &a);
	}
	if (unit->fn->insns[insn].guard != NONE)
		restrict_to(vs, &(struct condition){false, insn, 0, is_same(vs, insn)}, &a);
	return a;
}

static uint64_t number_of(const struct alike *a)
{
	uint64_t n = thread_set_size(&a->threads);

	for (uint32_t t = 0; t < THREADS_MAX; t += 32)
		n += (a->elected >> t / 32 & 1) && !(uint32_t)(a->threads.w[t / 64] >> (t & 32));
	return n;
}

/* All threads that come to the arrive name the same mbarrier in the same round. */
static bool is_one_object(const struct unit *unit, uint32_t insn, struct stage_place *place)
{
	const struct values *vs = unit->values;

	if (!stage_object_at(unit, insn, place))
		return false;
	for (uint32_t k = 0; k < place->sum.n; k++)
		if (value_varying(vs, true)[place->sum.terms[k].node])
			return false;
	return true;
}

/* What one run of an arrive takes from the count. */
static uint64_t arrivals_of(const struct unit *unit, uint32_t insn)
{
	return insn_has(&unit->fn->insns[insn], MOD_expect_tx) ||
			       unit->effects[insn]->sync != SYNC_MBAR_ARRIVE
		       ? 1
		       : count_behind(unit, insn, 1).most;
}

static bool waits_between(const struct unit *unit, uint32_t from, uint32_t to)
{
	while (from < to && unit->effects[from]->sync != SYNC_MBAR_WAIT)
		from++;
	return from < to;
}

/* One that takes from what is pending (cp.async.mbarrier.arrive without .noinc adds to it first). */
static bool arrives(const struct unit *unit, uint32_t insn)
{
	return unit->effects[insn]->sync == SYNC_MBAR_ARRIVE ||
	       (unit->effects[insn]->sync == SYNC_CPASYNC_ARRIVE && insn_has(&unit->fn->insns[insn], MOD_noinc));
}

/* Whoever comes to `insn` has arrived there before, on the same mbarrier in the same round. */
static bool arrives_before(const struct unit *unit, uint32_t before, uint32_t insn, const struct stage_place *place,
	const struct alike *who)
{
	const struct cfg *cfg = &unit->cfg;
	uint32_t a = cfg->block_of[before], b = cfg->block_of[insn];
	struct stage_place other;

	if (!arrives(unit, before) || a == NONE || !cfg_dominates(cfg, a, b) ||
		(a == b && before >= insn) || !stage_object_at(unit, before, &other) ||
		!stage_same_base(&other, place) || !stage_same_sum(&other.sum, &place->sum) ||
		(!place->sum.n && (a != b || waits_between(unit, before, insn))))
		return false;
	struct alike earlier = find_alike(unit, before);

	return thread_set_within(&who->threads, &earlier.threads) && !(who->elected & ~earlier.elected);
}

/* Arrivals on one mbarrier whenever threads come to this arrive, at least. */
static uint64_t arrivals_at(const struct unit *unit, uint32_t insn)
{
	const struct ids *active = &unit->cfg.active;
	struct stage_place place;
	uint64_t each = arrivals_of(unit, insn);

	if (!is_one_object(unit, insn, &place))
		return 0;
	struct alike who = find_alike(unit, insn);

	for (uint32_t k = 0; k < active->n; k++)
		if (arrives_before(unit, active->v[k], insn, &place, &who))
			each += arrivals_of(unit, active->v[k]);
	return number_of(&who) * each;
}

/* ---- the count ---- */

bool stage_comes_to(const struct unit *unit, uint32_t from, uint32_t to)
{
	const struct cfg *cfg = &unit->cfg;
	uint32_t n = 0, target = cfg->block_of[to], *todo = ARENA_NEW(unit->arena, uint32_t, cfg->n + 1);
	struct bits seen = bits_new(unit->arena, cfg->n);

	for (todo[n++] = cfg->block_of[from]; n;) {
		const struct block *b = &cfg->blocks[todo[--n]];

		for (uint32_t i = 0; i < b->succ.n; i++) {
			if (b->succ.v[i] == target)
				return true;
			if (!bits_has(seen, b->succ.v[i]))
				todo[n++] = b->succ.v[i];
			bits_set(seen, b->succ.v[i]);
		}
	}
	return cfg->block_of[from] == target && from < to;
}

/* False: the phases are no longer what they were at the wait. */
static bool stays_as_it_is(const struct counting *c, uint32_t insn)
{
	uint8_t sync = c->unit->effects[insn]->sync;

	if (sync == SYNC_MBAR_INIT || sync == SYNC_MBAR_INVAL)
		return !stage_comes_to(c->unit, c->wait, insn) || !stage_comes_to(c->unit, insn, c->wait);
	return sync != SYNC_MBAR_ARRIVE || !insn_has(&c->unit->fn->insns[insn], MOD_arrive_drop);
}

bool stage_counts_all(const struct flow_setup *s, uint32_t wait, uint32_t *assumptions)
{
	const struct unit *unit = s->unit;
	const struct ids *active = &unit->cfg.active;
	struct counting c = {unit, wait, access_mbarrier(unit->values, wait, object_of(unit, wait)), assumptions};
	uint64_t fewest = UINT64_MAX, most = 0;

	for (uint32_t k = 0; k < active->n; k++) {
		uint32_t i = active->v[k];
		uint8_t sync = unit->effects[i]->sync;

		if ((sync != SYNC_MBAR_INIT && sync != SYNC_MBAR_INVAL && !arrives(unit, i)) ||
			unit->cfg.block_of[i] == NONE || !is_of_ring(&c, i))
			continue;
		if (!stays_as_it_is(&c, i))
			return false;
		if (sync == SYNC_MBAR_INIT) {
			uint64_t count = count_behind(unit, i, 0).least;

			fewest = count && count < fewest ? count : fewest;
		} else if (sync != SYNC_MBAR_INVAL) {
			uint64_t n = arrivals_at(unit, i);

			most = n > most ? n : most;
		}
	}
	return most <= fewest;
}

/* In the loop around it nobody waits from one arrive on this mbarrier to the next. */
static bool arrives_on_and_on(const struct unit *unit, uint32_t insn)
{
	const struct cfg *cfg = &unit->cfg;
	uint32_t head = cfg->blocks[cfg->block_of[insn]].loop_head;
	struct stage_place place;

	if (head == NONE || !stage_object_at(unit, insn, &place) || place.sum.n)
		return false;
	for (uint32_t k = 0; k < cfg->active.n; k++) {
		uint32_t i = cfg->active.v[k];

		if (unit->effects[i]->sync == SYNC_MBAR_WAIT && cfg->block_of[i] != NONE &&
			trips_in_loop(cfg, cfg->block_of[i], head))
			return false;
	}
	return true;
}

/* Arrivals on one mbarrier of the ring by all who can come to an arrive once, at most; UINT64_MAX: not known. */
static uint64_t arrivals_most(const struct unit *unit, uint32_t insn)
{
	uint64_t once = arrivals_of(unit, insn);
	struct thread_set who;
	bool assumed;

	if (!once || arrives_on_and_on(unit, insn) || !threads_numbered(unit->values, &assumed))
		return UINT64_MAX;
	threads_run(unit->values, insn, &who);
	return once * thread_set_size(&who);
}

bool stage_needs_those_behind(const struct flow_setup *s, uint32_t wait, uint32_t insn, uint32_t *assumptions)
{
	const struct unit *unit = s->unit;
	const struct ids *active = &unit->cfg.active;
	struct counting c = {unit, wait, access_mbarrier(unit->values, wait, object_of(unit, wait)), assumptions};
	struct bits behind = own_stage_arrives_behind(s, insn);
	uint64_t fewest = UINT64_MAX, most = 0;

	for (uint32_t k = 0; k < active->n; k++) {
		uint32_t i = active->v[k], site = s->handoffs.site_of[i];
		uint8_t sync = unit->effects[i]->sync;

		if ((sync != SYNC_MBAR_INIT && sync != SYNC_CPASYNC_ARRIVE && sync != SYNC_TCGEN05_COMMIT &&
			    sync != SYNC_MBAR_ARRIVE) ||
			unit->cfg.block_of[i] == NONE || (site != NONE && bits_has(behind, site)) || !is_of_ring(&c, i))
			continue;
		uint64_t n = sync == SYNC_MBAR_INIT ? count_behind(unit, i, 0).least : arrivals_most(unit, i);

		if (sync == SYNC_MBAR_INIT)
			fewest = n && n < fewest ? n : fewest;
		else
			most = n > UINT64_MAX - most ? UINT64_MAX : most + n;
	}
	return fewest == UINT64_MAX || most < fewest;
}
