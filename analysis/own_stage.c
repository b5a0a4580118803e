/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In: facts, hand-offs, and values. Out: for an arrive on an mbarrier, the facts that it does not hand
 * over under ASSUME_OWN_STAGE: those that every async write which they could meet finds in a stage
 * other than that of the mbarrier. Invariant: a fact is held back only if the stage of its bytes and
 * the number of the mbarrier differ whenever it is pending there: their sets share no number; or their
 * registers differ in one round, and none of them is computed anew on the way from the access; and those who made it give
 * its stage up themselves (stage_given_up.c).
 */
#include "analysis/own_stage_private.h"

/* ---- copies and their waits ---- */

/* The number of the mbarrier is that of the stage. */
static bool guards(const struct values *vs, struct copy *copy)
{
	const struct stage_sum *wait = &copy->wait.sum, *at = &copy->at.sum;

	if (wait->n > 1)
		return false;
	if (!wait->n)
		return !at->n && stage_number_of(vs, NONE, 0, &copy->number, &copy->assumptions);
	if (wait->terms[0].factor != STAGE_OBJECT_BYTES)
		return false;
	for (uint32_t k = 0; k < at->n; k++) {
		if (at->terms[k].node != wait->terms[0].node)
			continue;
		copy->stride = at->terms[k].factor;
		return copy->stride && copy->stride <= STRIDE_MOST &&
		       stage_number_of(vs, at->terms[k].node, 0, &copy->number, &copy->assumptions);
	}
	return false;
}

static bool find_copy(const struct flow_setup *s, uint32_t access, struct copy *copy)
{
	const struct access *a = &s->unit->accesses.v[access];

	*copy = (struct copy){.access = access};
	if (a->proxy != PROXY_ASYNC || !a->writes || !s->facts.row[access] ||
		a->bytes > (uint64_t)STAGE_OFFSET_MOST)
		return false;
	copy->assumptions = a->extent_assumptions;
	return stage_wait_before(s, a->insn, &copy->wait, &copy->wait_insn) &&
	       stage_place_of(s->unit->values, stage_address_of(s->unit, a),
		       copy->wait.sum.n == 1 ? copy->wait.sum.terms[0].node : STAGE_NO_NODE, &copy->at) &&
	       guards(s->unit->values, copy);
}

static struct bits find_candidates(const struct flow_setup *s, const struct copy *copies, uint32_t n)
{
	struct bits candidates = bits_new(s->unit->arena, s->facts.n);

	for (uint32_t k = 0; k < n; k++) {
		const struct fact_row *row = s->facts.row[copies[k].access];

		for (uint32_t i = 0; i < row->n; i++)
			candidates.words[row->word[i]] |= row->mask[i];
	}
	for (uint32_t a = 0, k = 0; a < s->unit->accesses.n; a++) {
		const struct fact_row *row = s->facts.row[a];

		if (k < n && copies[k].access == a)
			k++;
		else
			for (uint32_t i = 0; row && i < row->n; i++)
				candidates.words[row->word[i]] &= ~row->mask[i];
	}
	return candidates;
}

struct own_stages *own_stages_find(const struct flow_setup *setup)
{
	struct unit *unit = setup->unit;
	struct arena *arena = unit->arena;
	struct copy *copies = NULL, copy;
	uint32_t n = 0, cap = 0;

	if (!(unit->options->assume & ASSUME_OWN_STAGE) || setup->facts.groups)
		return NULL;
	for (uint32_t a = 0; a < unit->accesses.n; a++)
		if (find_copy(setup, a, &copy))
			ARENA_PUSH(arena, copies, n, cap, copy);
	if (!n)
		return NULL;
	struct own_stages *stages = ARENA_NEW(arena, struct own_stages, 1);

	*stages = (struct own_stages){.setup = setup,
		.copies = copies,
		.ncopies = n,
		.candidates = find_candidates(setup, copies, n),
		.held = ARENA_NEW(arena, struct held, setup->handoffs.n + 1),
		.walked = ARENA_NEW(arena, struct walked, unit->accesses.n + 1),
		.objects = ARENA_NEW(arena, struct kept *, setup->handoffs.n + 1),
		.places = ARENA_NEW(arena, struct kept *, unit->accesses.n + 1),
		.given_up = ARENA_NEW(arena, struct given_up, unit->accesses.n + 1)};
	return stages;
}

/* ---- the access is pending, and its stage is no longer in the register ---- */

/* Whenever the access is pending at the site, the node holds what it held at the access. */
static bool same_round(struct question *q, uint32_t node)
{
	const struct flow_setup *s = q->stages->setup;
	uint32_t site = q->site;
	const struct node *def = &s->unit->values->ssa.nodes[node];
	uint32_t block = s->handoffs.sites[site].block, insn = s->handoffs.sites[site].insn;
	struct walked *walked = &q->stages->walked[q->access];

	if (!cfg_dominates(&s->unit->cfg, def->block, block) ||
		(def->kind == NODE_DEF && def->block == block && def->insn >= insn))
		return false;
	if (!walked->sites.words || walked->node != node)
		*walked = (struct walked){node, own_stage_left(s, q->access, node, false), {0}};
	if (bits_has(walked->sites, site))
		return false;
	if (s->complete && !walked->by_letter.words)
		walked->by_letter = own_stage_left(s, q->access, node, true);
	if (s->complete && bits_has(walked->by_letter, site))
		q->assumptions |= ASSUME_CONSUMED_LOADS;
	return true;
}

/* ---- verdicts ---- */

/* Each mbarrier on which it may arrive is that of another copy, which has its place in the same ring: as many bytes,
 * no more than lie between two stages. */
static bool of_other_copies(const struct question *q, const struct copy *copy,
	const struct stage_number *arrives)
{
	const struct access *accesses = q->stages->setup->unit->accesses.v;
	int64_t stride = 0, bytes = (int64_t)accesses[copy->access].bytes;
	uint64_t step = arrives->stride ? arrives->stride : 1;

	for (int64_t i = arrives->lo; i <= arrives->hi; i += (int64_t)step) {
		int64_t by = i + arrives->plus;
		const struct copy *found = NULL;

		for (uint32_t k = 0; k < q->stages->ncopies && by; k++) {
			const struct copy *other = &q->stages->copies[k];
			int64_t moved = (int32_t)(other->at.sum.constant - copy->at.sum.constant);

			if (other->number.node != NONE || !stage_same_base(&other->wait, &copy->wait) ||
				!stage_same_base(&other->at, &copy->at) ||
				(int32_t)(other->wait.sum.constant - copy->wait.sum.constant) !=
					by * STAGE_OBJECT_BYTES ||
				(int64_t)accesses[other->access].bytes != bytes || moved % by ||
				moved / by < bytes || moved / by <= 0 ||
				(stride && moved / by != stride))
				continue;
			found = other;
			stride = moved / by;
			break;
		}
		if (!found)
			return false;
	}
	return true;
}

/* The address of the access, as a stage of so many bytes and what is added to it. */
static bool take_stage(struct question *q, uint32_t stride)
{
	uint32_t node = stage_term_with(q->whole, stride);

	if (q->taken && node == q->node)
		return true;
	q->node = node;
	/* with no such register the one that is nowhere in it: the sum stays as short as can be */
	q->taken = stage_place_of(q->stages->setup->unit->values, q->address,
		node == NONE ? STAGE_NO_NODE : node, &q->at);
	return q->taken;
}

bool own_stage_touched(struct question *q, const struct copy *copy, struct stage_number *first, int64_t *last,
	struct stage_stretch *mine, struct stage_stretch *its)
{
	const struct values *vs = q->stages->setup->unit->values;
	const struct access *a = &q->stages->setup->unit->accesses.v[copy->access];

	if (!take_stage(q, copy->stride) || !stage_same_base(&copy->at, &q->at) ||
		!stage_number_of(vs, q->node, 0, first, &q->assumptions) ||
		!stage_stretch_of(vs, &q->at, q->node, q->bytes, mine, &q->assumptions) ||
		!stage_stretch_of(vs, &copy->at, copy->number.node, a->bytes, its, &q->assumptions))
		return false;
	int64_t stride = copy->stride;

	first->plus = (mine->lo - its->end) / stride - 1;
	*last = (mine->end - its->lo) / stride + 1;
	return *last - first->plus <= 64;
}

/* Stage numbers, counted from that of the copy where its register is 0. */
static bool other_stage(struct question *q, const struct copy *copy, uint8_t *verdict)
{
	const struct values *vs = q->stages->setup->unit->values;
	struct stage_number arrives, touches;
	struct stage_stretch mine, its;
	int64_t last, stride = copy->stride;
	uint32_t root;

	if (!stage_same_base(&copy->wait, q->mbarrier) || !stage_object_number(vs, q->mbarrier, &copy->wait, &arrives, &q->assumptions))
		return false;
	q->assumptions |= copy->assumptions | q->mbarrier->assumptions;
	if (copy->number.node == NONE) {
		const struct stage_number itself = {.node = NONE};

		return stage_numbers_differ(&arrives, &itself) && of_other_copies(q, copy, &arrives);
	}
	if (arrives.lo + arrives.plus < copy->number.lo || arrives.hi + arrives.plus > copy->number.hi)
		return false; /* no mbarrier of this ring */
	if (!own_stage_touched(q, copy, &touches, &last, &mine, &its))
		return false;
	for (; touches.plus <= last; touches.plus++) {
		if (its.lo + touches.plus * stride >= mine.end ||
			its.end + touches.plus * stride <= mine.lo ||
			stage_numbers_differ(&touches, &arrives))
			continue;
		if (!stage_numbers_differ_now(vs, &touches, &arrives, &root, &q->assumptions) ||
			!same_round(q, root))
			return false;
		*verdict = VERDICT_HOLDS_OWN;
	}
	return true;
}

/* The same, of a stage that is written out, asked once: it does not depend on the access. */
static bool other_written(struct question *q, uint32_t copy)
{
	struct held *held = &q->stages->held[q->site];
	struct other *other;
	uint32_t before = q->assumptions;
	uint8_t unused;

	if (!held->others)
		held->others = ARENA_NEW(q->stages->setup->unit->arena, struct other, q->stages->ncopies);
	other = &held->others[copy];
	if (!other->asked) {
		q->assumptions = 0;
		*other = (struct other){true, other_stage(q, &q->stages->copies[copy], &unused), 0};
		other->assumptions = q->assumptions;
	}
	q->assumptions = before | other->assumptions;
	return other->is_other;
}

bool own_stage_meets(const struct flow_setup *s, uint32_t access, uint32_t async)
{
	const struct fact_row *row = s->facts.row[async];
	uint32_t end = s->facts.first_of[access + 1];

	for (uint32_t f = s->facts.first_of[access]; row && f < end; f++)
		for (uint32_t k = 0; k < row->n; k++)
			if (row->word[k] == f / 64 && row->mask[k] >> (f % 64) & 1)
				return true;
	return false;
}

const struct stage_place *own_stage_mbarrier(struct own_stages *stages, uint32_t site)
{
	const struct unit *unit = stages->setup->unit;
	struct kept *kept = stages->objects[site];

	if (!kept) {
		kept = stages->objects[site] = ARENA_NEW(unit->arena, struct kept, 1);
		bool known = stage_object_at(
			unit, stages->setup->handoffs.sites[site].insn, &kept->place);

		for (uint32_t k = 0; known && k < stages->ncopies && !kept->known; k++)
			kept->known = stage_same_base(&stages->copies[k].wait, &kept->place);
	}
	return kept->known ? &kept->place : NULL;
}

/* NULL: it is not known. */
static const struct stage_place *place_kept(struct own_stages *stages, uint32_t access)
{
	const struct unit *unit = stages->setup->unit;
	struct kept *kept = stages->places[access];

	if (!kept) {
		kept = stages->places[access] = ARENA_NEW(unit->arena, struct kept, 1);
		kept->known = stage_place_of(unit->values,
			stage_address_of(unit, &unit->accesses.v[access]), NONE, &kept->place);
	}
	return kept->known ? &kept->place : NULL;
}

static uint8_t judge(struct own_stages *stages, uint32_t access, uint32_t site, uint32_t *assumptions)
{
	const struct flow_setup *s = stages->setup;
	const struct unit *unit = s->unit;
	const struct access *g = &unit->accesses.v[access];
	struct question q;
	uint8_t verdict = VERDICT_HOLDS_ALL;

	if (g->cp_async || g->st_async || g->call || g->bytes > (uint64_t)STAGE_OFFSET_MOST)
		return VERDICT_HANDS_OVER;
	q.mbarrier = own_stage_mbarrier(stages, site);
	q.whole = q.mbarrier ? place_kept(stages, access) : NULL;
	if (!q.whole)
		return VERDICT_HANDS_OVER;
	q.stages = stages;
	q.access = access;
	q.site = site;
	q.address = stage_address_of(unit, g);
	q.bytes = g->bytes;
	q.taken = false;
	q.assumptions = ASSUME_OWN_STAGE | q.whole->assumptions | g->extent_assumptions;
	for (uint32_t k = 0; k < stages->ncopies; k++) {
		const struct copy *copy = &stages->copies[k];

		if (own_stage_meets(s, access, copy->access) &&
			!(copy->number.node == NONE ? other_written(&q, k)
						    : other_stage(&q, copy, &verdict)))
			return VERDICT_HANDS_OVER;
	}
	if (!own_stage_given_up(&q, &verdict))
		return VERDICT_HANDS_OVER;
	*assumptions = q.assumptions;
	return verdict;
}

/* The facts of an access, of which one is to be judged. */
static void judge_facts(struct own_stages *stages, uint32_t access, uint32_t site)
{
	const struct facts *facts = &stages->setup->facts;
	struct held *held = &stages->held[site];
	uint32_t assumptions = 0;
	uint8_t verdict = judge(stages, access, site, &assumptions);

	for (uint32_t f = facts->first_of[access]; f < facts->first_of[access + 1]; f++) {
		bits_set(held->judged, f);
		if (verdict == VERDICT_HANDS_OVER)
			continue;
		bits_set(held->own, f);
		if (verdict == VERDICT_HOLDS_ALL)
			bits_set(held->all, f);
		held->assumptions[f] = assumptions;
		held->rests_on |= assumptions;
	}
}

static struct held *held_at(struct own_stages *stages, uint32_t site)
{
	struct arena *arena = stages->setup->arena;
	struct held *held = &stages->held[site];
	uint32_t n = stages->setup->facts.n;

	if (!held->judged.words)
		*held = (struct held){.judged = bits_new(arena, n),
			.own = bits_new(arena, n),
			.all = bits_new(arena, n),
			.assumptions = ARENA_NEW(arena, uint32_t, n)};
	return held;
}

void own_stages_hold_back(
	struct own_stages *stages, uint32_t site, bool foreign, struct bits set, uint32_t *assumptions)
{
	const struct flow_setup *s = stages->setup;
	const struct sync_site *at = &s->handoffs.sites[site];

	if (at->kind != SYNC_MBAR_ARRIVE || at->cp_async || at->self || at->is_exit ||
		!bits_meet(set, stages->candidates))
		return;
	struct held *held = held_at(stages, site);
	struct bits kept = foreign ? held->all : held->own;

	for (uint32_t w = 0; w < set.nwords; w++) {
		uint64_t asked = set.words[w] & stages->candidates.words[w], open;

		while ((open = asked & ~held->judged.words[w]) != 0) {
			if (budget_spent(s->unit->budget))
				return;
			judge_facts(stages, s->facts.v[w * 64 + (uint32_t)__builtin_ctzll(open)].access,
				site);
		}
		uint64_t back = asked & kept.words[w];

		set.words[w] &= ~back;
		for (; back && held->rests_on & ~*assumptions; back &= back - 1)
			*assumptions |= held->assumptions[w * 64 + (uint32_t)__builtin_ctzll(back)];
	}
}
