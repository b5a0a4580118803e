/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In: an access to stages of a ring, and an arrive. Out: whether the threads that make the access arrive for each of these
 * stages too, which they must have: then that arrive hands the access over, and no other need. Invariant: a
 * thread that lacks such an arrive is taken to hand over by any.
 */
#include "analysis/own_stage_private.h"

#define NUMBERS_MOST 256 /* stages that an access touches */

/* A stage that the access touches, and the arrives that its threads can come to. */
struct giving {
	struct question *q;
	const struct copy *copy;
	struct bits behind; /* sites */
	struct thread_set makers, lacking; /* some of those who make it */
	uint32_t warps; /* of which all are lacking, of some stage */
	bool is_held; /* it is not asked again whether the makers have the stage */
};

static bool has_number(const struct stage_number *set, int64_t number)
{
	int64_t ahead = number - set->plus - set->lo;

	return ahead >= 0 && number - set->plus <= set->hi &&
	       (set->stride ? ahead % (int64_t)set->stride == 0 : !ahead);
}

static uint32_t warps_of(const struct thread_set *s)
{
	uint32_t warps = 0;

	for (uint32_t t = 0; t < THREADS_MAX; t += 32)
		warps |= (uint32_t)((uint32_t)(s->w[t / 64] >> (t & 32)) != 0) << t / 32;
	return warps;
}

/* It stands behind the access, is for the stage, and hands over nothing (ISA 9.7.13.15.13: .relaxed). */
static bool arrives_relaxed(struct giving *g, uint32_t insn, int64_t number)
{
	const struct flow_setup *s = g->q->stages->setup;
	struct stage_number arrives;
	struct stage_place place;

	return s->unit->effects[insn]->sync == SYNC_MBAR_ARRIVE && s->handoffs.site_of[insn] == NONE &&
	       s->unit->cfg.block_of[insn] != NONE && stage_object_at(s->unit, insn, &place) &&
	       stage_same_base(&g->copy->wait, &place) &&
	       stage_object_number(s->unit->values, &place, &g->copy->wait, &arrives, &g->q->assumptions) &&
	       has_number(&arrives, number) &&
	       stage_comes_to(s->unit, s->unit->accesses.v[g->q->access].insn, insn);
}

/* Threads that hand over nothing when they arrive for the stage. */
static void find_relaxed(struct giving *g, int64_t number)
{
	const struct unit *unit = g->q->stages->setup->unit;

	for (uint32_t k = 0; k < unit->cfg.active.n; k++) {
		struct thread_set who;

		if (!arrives_relaxed(g, unit->cfg.active.v[k], number))
			continue;
		threads_run(unit->values, unit->cfg.active.v[k], &who);
		for (uint32_t t = 0; t < THREADS_MAX / 64; t++)
			who.w[t] &= g->makers.w[t];
		thread_set_join(&g->lacking, &who);
		g->warps |= warps_of(&who);
	}
}

/* Which threads that make the access cannot come to an arrive for the stage, or come to one that hands over nothing. */
static void find_lacking(struct giving *g, int64_t number)
{
	struct own_stages *stages = g->q->stages;
	const struct values *vs = stages->setup->unit->values;
	const struct handoffs *h = &stages->setup->handoffs;
	struct thread_set more, arriving = {{0}};
	struct stage_number arrives;

	find_relaxed(g, number);

	for (uint32_t i = 0; i < h->n; i++) {
		const struct stage_place *mbarrier = bits_has(g->behind, i) ? own_stage_mbarrier(stages, i) : NULL;

		if (!mbarrier || !stage_same_base(&g->copy->wait, mbarrier) ||
			!stage_object_number(vs, mbarrier, &g->copy->wait, &arrives, &g->q->assumptions) ||
			!has_number(&arrives, number))
			continue;
		threads_run(vs, h->sites[i].insn, &more);
		thread_set_join(&arriving, &more);
		if (thread_set_within(&g->makers, &arriving))
			return;
	}
	for (uint32_t k = 0; k < THREADS_MAX / 64; k++)
		g->lacking.w[k] |= g->makers.w[k] & ~arriving.w[k];
	g->warps |= warps_of(&g->makers) & ~warps_of(&arriving);
}

/* Whoever makes the access has the stage there. */
static bool is_held(struct giving *g, uint32_t node, int64_t plus)
{
	const struct own_stages *stages = g->q->stages;
	const struct unit *unit = stages->setup->unit;
	const struct stage_sum *wait = &g->copy->wait.sum;

	if (g->is_held)
		return true;
	struct stage_ring ring = {.empty = g->copy->wait,
		.node = node,
		.plus = plus,
		.parities = &g->q->stages->parities};
	const uint32_t insn = unit->accesses.v[g->copy->access].insn;

	if (!stage_object_at(unit, insn, &ring.full) || ring.full.sum.n != wait->n ||
		(wait->n && (ring.full.sum.terms[0].node != wait->terms[0].node ||
				    ring.full.sum.terms[0].factor != STAGE_OBJECT_BYTES)))
		return false;
	const uint32_t access = unit->accesses.v[g->q->access].insn;

	ring.first = stage_parity_starts(stages->setup, g->copy->wait_insn, insn) &&
		     stage_needs_those_behind(stages->setup, g->copy->wait_insn, access, &g->q->assumptions);
	bool held = stage_is_held(stages->setup, access, &ring);

	g->q->assumptions |= ring.assumptions;
	return held;
}

/* A stage that is written out is reached by an access only where the register + *plus is 0: `times' the register is in its
 * address, and the rest stays between two stages. */
static bool is_number(const struct giving *g, uint32_t node, int64_t times, int64_t *plus, uint32_t *assumptions)
{
	const struct values *vs = g->q->stages->setup->unit->values;
	const struct access *a = &g->q->stages->setup->unit->accesses.v[g->copy->access];
	struct stage_number n;
	struct stage_place at;
	struct stage_stretch mine, its;

	if (times <= 0 || times > STRIDE_MOST || !stage_number_of(vs, node, 0, &n, assumptions) ||
		!stage_place_of(vs, g->q->address, node, &at) || stage_term_with(&at, (uint32_t)times) != node ||
		!stage_same_base(&at, &g->copy->at) || !stage_stretch_of(vs, &at, node, g->q->bytes, &mine, assumptions) ||
		!stage_stretch_of(vs, &g->copy->at, NONE, a->bytes, &its, assumptions))
		return false;
	int64_t behind = mine.end - its.lo; /* with the number before it the access must end where the copy starts */

	*plus = (behind > 0 ? (behind + times - 1) / times : behind / times) - 1;
	return mine.lo + (1 - *plus) * times >= its.end;
}

/* The same of a stage that is written out, whose number may be in a register. */
static bool is_held_as_written(struct giving *g)
{
	const struct stage_sum *sum = &g->q->whole->sum;
	int64_t plus;

	for (uint32_t k = 0; k < sum->n; k++) {
		uint32_t assumptions = 0;

		if (!is_number(g, sum->terms[k].node, (int32_t)sum->terms[k].factor, &plus, &assumptions) ||
			!is_held(g, sum->terms[k].node, plus))
			continue;
		g->q->assumptions |= assumptions;
		return true;
	}
	return is_held(g, NONE, 0);
}

/* False: it is not known which stages those are, or that they are held. */
static bool stages_given_up(struct giving *g)
{
	const struct copy *copy = g->copy;
	struct stage_number touches;
	struct stage_stretch mine, its;
	int64_t last, n = 0;

	if (copy->number.node == NONE) {
		find_lacking(g, 0);
		return is_held_as_written(g);
	}
	if (!own_stage_touched(g->q, copy, &touches, &last, &mine, &its))
		return false;
	for (; touches.plus <= last; touches.plus++) {
		if (its.lo + touches.plus * copy->stride >= mine.end ||
			its.end + touches.plus * copy->stride <= mine.lo)
			continue;
		if (!is_held(g, touches.node, touches.plus))
			return false;
		for (int64_t i = touches.lo; i <= touches.hi;
			i += touches.stride ? (int64_t)touches.stride : 1) {
			if (n++ == NUMBERS_MOST)
				return false;
			if (has_number(&copy->number, i + touches.plus))
				find_lacking(g, i + touches.plus);
		}
	}
	return true;
}

static bool may_fill_same(const struct unit *unit, const struct copy *other, struct copy *copy)
{
	const struct access *accesses = unit->accesses.v;
	int64_t apart = (int32_t)(other->at.sum.constant - copy->at.sum.constant);

	if (other == copy)
		return true;
	if (stage_same_base(&other->at, &copy->at) && !other->at.sum.n && !copy->at.sum.n && apart &&
		accesses[apart > 0 ? copy->access : other->access].bytes <= (uint64_t)(apart > 0 ? apart : -apart)) {
		copy->assumptions |= other->assumptions;
		return false;
	}
	struct overlap o = access_overlap(unit->values, &unit->accesses, other->access, copy->access, unit->options, NULL);

	copy->assumptions |= o.may ? 0 : o.assumptions;
	return o.may;
}

/* From each copy that may fill the same bytes, itself too, to it there is a wait. */
static bool is_waited_for_anew(const struct own_stages *stages, struct copy *copy)
{
	const struct unit *unit = stages->setup->unit;
	const struct access *accesses = unit->accesses.v;
	uint32_t *fills = ARENA_UNSET(unit->arena, uint32_t, stages->ncopies), n = 0;

	for (uint32_t k = 0; k < stages->ncopies; k++)
		if (may_fill_same(unit, &stages->copies[k], copy))
			fills[n++] = accesses[stages->copies[k].access].insn;
	return stage_wait_renewed(stages->setup, copy->wait_insn, (struct ids){fills, n}, accesses[copy->access].insn);
}

/* What its wait waits for is all that gives the stage up, in each round. */
static bool is_waited_for(struct own_stages *stages, struct copy *copy)
{
	const struct flow_setup *s = stages->setup;
	uint32_t insn = s->unit->accesses.v[copy->access].insn, k = 0;

	if (copy->asked)
		return copy->waits;
	while (k < stages->ncopies && !(stages->copies[k].asked && stages->copies[k].wait_insn == copy->wait_insn))
		k++;
	copy->counts = k < stages->ncopies ? stages->copies[k].counts
					   : stage_counts_all(s, copy->wait_insn, &copy->assumptions);
	if (k < stages->ncopies)
		copy->assumptions |= stages->copies[k].assumptions;
	copy->waits = copy->counts &&
			      is_waited_for_anew(stages, copy) &&
			      stage_parity_alternates(s, copy->wait_insn, insn, copy->number.node, &stages->parities);
	copy->asked = true;
	return copy->waits;
}

/* False: it is not known for which stages the makers must arrive. Whoever waits in front of a copy into other CTAs may be
 * in another one, and wait for a mbarrier of his own. */
static bool find_given_up(struct giving *g)
{
	struct own_stages *stages = g->q->stages;
	const struct flow_setup *s = stages->setup;
	uint32_t access = g->q->access;
	bool is = true;

	for (uint32_t k = 0; k < stages->ncopies && is; k++) {
		g->copy = &stages->copies[k];
		is = !own_stage_meets(s, access, g->copy->access) ||
		     (!s->unit->accesses.v[g->copy->access].peer &&
			     is_waited_for(stages, &stages->copies[k]) && stages_given_up(g));
		g->q->assumptions |= g->copy->assumptions;
	}
	return is;
}

/* Whoever comes to the site arrives later for each stage that the access touches: what others have told them goes on
 * from there. */
static bool is_passed_on(struct question *q, const struct thread_set *who)
{
	const struct flow_setup *s = q->stages->setup;
	struct giving g = {.q = q,
		.makers = *who,
		.behind = own_stage_arrives_behind(s, s->handoffs.sites[q->site].insn),
		.is_held = true};

	return find_given_up(&g) && thread_set_within(&g.lacking, &(struct thread_set){{0}});
}

bool own_stage_given_up(struct question *q, uint8_t *verdict)
{
	struct own_stages *stages = q->stages;
	const struct flow_setup *s = stages->setup;
	struct given_up *kept = &stages->given_up[q->access];
	uint32_t insn = s->unit->accesses.v[q->access].insn, before = q->assumptions;
	struct thread_set who;
	bool assumed;

	if (!kept->asked) {
		struct giving g = {.q = q, .behind = own_stage_arrives_behind(s, insn)};

		kept->asked = true;
		threads_run(s->unit->values, insn, &g.makers);
		kept->is = threads_numbered(s->unit->values, &assumed);
		q->assumptions = assumed ? ASSUME_FLAT_BLOCK : 0;
		kept->is = kept->is && find_given_up(&g);
		kept->lacking = g.lacking;
		kept->warp_lacks = g.warps != 0;
		kept->lacks = !thread_set_within(&g.lacking, &(struct thread_set){{0}});
		kept->assumptions = q->assumptions;
	}
	q->assumptions = before | kept->assumptions;
	if (!kept->is || !kept->lacks)
		return kept->is;
	threads_run(s->unit->values, s->handoffs.sites[q->site].insn, &who);
	if (kept->warp_lacks || !is_passed_on(q, &who))
		*verdict = VERDICT_HOLDS_OWN;
	return !thread_sets_meet(&kept->lacking, &who);
}
