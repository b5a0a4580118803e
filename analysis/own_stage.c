/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In: facts, hand-offs, and values. Out: for an arrive on an mbarrier, the facts that it does not hand
 * over under ASSUME_OWN_STAGE: those that every async write which they could meet finds in a stage
 * other than that of the mbarrier. Invariant: a fact is held back only if the stage of its bytes and
 * the number of the mbarrier differ whenever it is pending there: their sets share no number; or their
 * registers differ in one round, and none of them is computed anew on the way from the access.
 */
#include "analysis/own_stage.h"

#include "analysis/flow_state.h"
#include "analysis/stages.h"

#include <stdlib.h>

#define OFFSET_MOST (INT64_C(1) << 28) /* no shared memory is larger: sums below it have not wrapped */
#define STAGES_MOST 4096
#define STRIDE_MOST (1 << 20)
#define OBJECT_BYTES 8
#define NO_NODE (NONE - 1)

/* An address: base + sum, each term a number. */
struct place {
	uint8_t base; /* BASE_SYMBOL or BASE_DERIVED with `id` as in struct value; BASE_NUMBER: there is none */
	uint32_t id;
	struct stage_sum sum;
	uint32_t assumptions; /* enum assumption bits on which base and constant rest */
};

struct stretch { /* bytes [lo, end) behind a base */
	int64_t lo, end;
};

struct number { /* of a stage: contents of `node`, which are in a set, plus a constant */
	uint32_t node; /* NONE: 0 */
	int64_t lo, hi, plus;
	uint64_t stride;
};

/* An async write with the wait in front of it. Stage i: at + i * stride, behind mbarrier wait + 8 * i. */
struct copy {
	uint32_t access;
	struct place at, wait;
	struct number number; /* node NONE: a stage of its own, written out */
	uint32_t stride;      /* bytes; 0: not known */
	uint32_t assumptions;
};

enum verdict { VERDICT_HANDS_OVER, VERDICT_HOLDS_OWN, VERDICT_HOLDS_ALL };

struct other { /* is a stage that is written out another one than that of an mbarrier? */
	bool asked, is_other;
	uint32_t assumptions;
};

struct held { /* what an arrive does not hand over: facts; filled on demand */
	struct bits judged;    /* no words: none is yet */
	struct bits own, all;  /* held back of its own thread; of others too */
	uint32_t *assumptions; /* by fact that is held back */
	uint32_t rests_on;     /* all of them */
	struct other *others;  /* by copy */
};

struct walked { /* from one access: sites reached behind a new definition of `node` with the access still pending */
	uint32_t node;
	struct bits sites;
};

struct kept { /* an address that was asked for */
	bool known;
	struct place place;
};

struct own_stages {
	const struct flow_setup *setup;
	struct copy *copies;
	uint32_t ncopies;
	struct bits candidates;	 /* facts that meet copies of rings alone */
	struct held *held;	 /* by site */
	struct walked *walked;	 /* by access */
	struct kept **objects;	 /* by site: its mbarrier; NULL: not asked for */
	struct kept **places;	 /* by access: its first byte */
};

static const struct operand *address_of(const struct unit *unit, const struct access *access)
{
	const struct insn *insn = &unit->fn->insns[access->insn];
	uint8_t operand = unit->effects[access->insn]->touches[access->touch].operand;

	return operand == UINT8_MAX ? NULL : insn_operand(unit->fn, insn, operand);
}

/* Constants go into the constant, the variable's address into the base. */
static bool take_base(const struct values *vs, struct place *p)
{
	struct stage_sum *sum = &p->sum;
	uint32_t n = 0;

	p->base = BASE_NUMBER;
	p->assumptions = 0;
	for (uint32_t k = 0; k < sum->n; k++) {
		const struct value *v = &vs->at[sum->terms[k].node];
		bool address = v->base == BASE_SYMBOL || v->base == BASE_DERIVED;

		if (address ? v->lo != v->hi || sum->terms[k].factor != 1 || p->base != BASE_NUMBER
			    : v->base != BASE_NUMBER)
			return false;
		if (v->lo != v->hi) {
			sum->terms[n++] = sum->terms[k];
			continue;
		}
		if (address) {
			p->base = v->base;
			p->id = v->id;
		}
		sum->constant += sum->terms[k].factor * (uint32_t)(uint64_t)v->lo;
		p->assumptions |= v->assumptions;
	}
	sum->n = n;
	return p->base != BASE_NUMBER;
}

/* `node`: the register whose term is wanted; NONE: all of them are. */
static bool place_of(
	const struct values *vs, const struct operand *o, uint32_t node, struct place *out)
{
	const struct operand *inner = o && o->kind == OPERAND_MEM && !o->indexed
					      ? operand_child(vs->fn, o, 0)
					      : o;

	if (inner && inner->kind == OPERAND_SYMBOL && !vs->unsolved) {
		struct value v = evaluate_operand(
			(struct evaluation){(struct values *)(uintptr_t)vs, NULL, 0, NULL}, 0, inner);

		*out = (struct place){.base = v.base, .id = v.id, .assumptions = v.assumptions};
		out->sum.constant = (uint32_t)(uint64_t)v.lo;
		return (v.base == BASE_SYMBOL || v.base == BASE_DERIVED) && v.lo == v.hi;
	}
	return inner && !vs->unsolved && stage_sum_in(vs, o, node, &out->sum) && take_base(vs, out);
}

/* The operand of `mapa` from which an address in some CTA of the cluster comes, or the address itself. */
static const struct operand *own_address(const struct values *vs, const struct operand *o)
{
	const struct operand *inner = o && o->kind == OPERAND_MEM ? operand_child(vs->fn, o, 0) : o;
	uint32_t node = trips_plain_node(vs, inner);

	if (node == NONE || vs->ssa.nodes[node].kind != NODE_DEF ||
		vs->ssa.nodes[node].previous != NONE)
		return o;
	const struct insn *insn = &vs->fn->insns[vs->ssa.nodes[node].insn];

	return insn->op == OP_mapa ? insn_source(vs->fn, insn, 0) : o;
}

static bool object_at(const struct unit *unit, uint32_t insn, struct place *out)
{
	uint8_t operand = unit->effects[insn]->mbarrier_operand;

	return operand != UINT8_MAX &&
	       place_of(unit->values,
		       own_address(unit->values,
			       insn_operand(unit->fn, &unit->fn->insns[insn], operand)),
		       NONE, out);
}

static bool same_base(const struct place *a, const struct place *b)
{
	return a->base == b->base && a->id == b->id;
}

/* The contents of a node as the number of a stage. */
static bool number_of(
	const struct values *vs, uint32_t node, int64_t plus, struct number *out, uint32_t *assumptions)
{
	*out = (struct number){.node = node, .plus = plus};
	if (node == NONE)
		return true;
	const struct value *v = &vs->at[node];

	if (v->base != BASE_NUMBER || v->lo < 0 || v->hi > STAGES_MOST)
		return false;
	out->lo = v->lo;
	out->hi = v->hi;
	out->stride = v->stride;
	*assumptions |= v->assumptions;
	return true;
}

/* The bytes of an access whose first one is the sum without its term `but`. */
static bool stretch_of(const struct values *vs, const struct place *x, uint32_t but,
	uint64_t bytes, struct stretch *out, uint32_t *assumptions)
{
	int64_t lo = (int32_t)x->sum.constant, hi = lo;

	for (uint32_t k = 0; k < x->sum.n; k++) {
		const struct value *v = &vs->at[x->sum.terms[k].node];
		int64_t factor = (int32_t)x->sum.terms[k].factor;

		if (x->sum.terms[k].node == but)
			continue;
		if (v->base != BASE_NUMBER || v->lo < -OFFSET_MOST || v->hi > OFFSET_MOST)
			return false;
		lo += factor * (factor < 0 ? v->hi : v->lo);
		hi += factor * (factor < 0 ? v->lo : v->hi);
		*assumptions |= v->assumptions;
	}
	*assumptions |= x->assumptions;
	if (lo < -OFFSET_MOST || hi > OFFSET_MOST || bytes > (uint64_t)OFFSET_MOST)
		return false;
	*out = (struct stretch){lo, hi + (int64_t)bytes};
	return true;
}

static uint32_t term_with(const struct place *x, uint32_t factor)
{
	for (uint32_t k = 0; k < x->sum.n; k++)
		if (x->sum.terms[k].factor == factor)
			return x->sum.terms[k].node;
	return NONE;
}

/* ---- copies and their waits ---- */

/* The number of the mbarrier is that of the stage. */
static bool guards(const struct values *vs, struct copy *copy)
{
	const struct stage_sum *wait = &copy->wait.sum, *at = &copy->at.sum;

	if (wait->n > 1)
		return false;
	if (!wait->n)
		return !at->n && number_of(vs, NONE, 0, &copy->number, &copy->assumptions);
	if (wait->terms[0].factor != OBJECT_BYTES)
		return false;
	for (uint32_t k = 0; k < at->n; k++) {
		if (at->terms[k].node != wait->terms[0].node)
			continue;
		copy->stride = at->terms[k].factor;
		return copy->stride && copy->stride <= STRIDE_MOST &&
		       number_of(vs, at->terms[k].node, 0, &copy->number, &copy->assumptions);
	}
	return false;
}

/* The wait nearest in front of an instruction that it cannot be reached without; NONE. */
static uint32_t wait_before(const struct flow_setup *s, uint32_t insn)
{
	const struct cfg *cfg = &s->unit->cfg;

	for (uint32_t b = cfg->block_of[insn], end = insn; b != NONE; b = cfg->blocks[b].idom) {
		const struct block *block = &cfg->blocks[b];

		if (b != cfg->block_of[insn])
			end = block->first + block->count;
		for (uint32_t i = end; i-- > block->first;) {
			uint32_t site = s->handoffs.site_of[i];

			if (site != NONE && s->handoffs.sites[site].kind == SYNC_MBAR_WAIT &&
				s->handoffs.sites[site].acquires &&
				s->unit->fn->insns[i].guard == NONE)
				return i;
		}
	}
	return NONE;
}

static bool find_copy(const struct flow_setup *s, uint32_t access, struct copy *copy)
{
	const struct access *a = &s->unit->accesses.v[access];

	*copy = (struct copy){.access = access};
	if (a->proxy != PROXY_ASYNC || !a->writes || !s->facts.row[access] ||
		a->bytes > (uint64_t)OFFSET_MOST)
		return false;
	uint32_t wait = wait_before(s, a->insn);

	copy->assumptions = a->extent_assumptions;
	return wait != NONE && object_at(s->unit, wait, &copy->wait) &&
	       place_of(s->unit->values, address_of(s->unit, a),
		       copy->wait.sum.n == 1 ? copy->wait.sum.terms[0].node : NO_NODE, &copy->at) &&
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
		.places = ARENA_NEW(arena, struct kept *, unit->accesses.n + 1)};
	return stages;
}

/* ---- numbers that differ ---- */

static uint64_t common_divisor(uint64_t a, uint64_t b)
{
	while (b) {
		uint64_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

/* Whatever the two are, and whenever. */
static bool always_differ(const struct number *i, const struct number *j)
{
	int64_t lo = i->lo + i->plus - (j->lo + j->plus);
	uint64_t step = common_divisor(i->stride, j->stride);

	if (i->hi + i->plus < j->lo + j->plus || j->hi + j->plus < i->lo + i->plus)
		return true;
	return step && lo % (int64_t)step;
}

/* While *root is what it is. */
static bool differ_now(const struct values *vs, const struct number *i, const struct number *j,
	uint32_t *root, uint32_t *assumptions)
{
	if (i->node == NONE || j->node == NONE)
		return false;
	*root = i->node;
	if (i->node == j->node)
		return i->plus != j->plus;
	return i->plus == j->plus &&
	       (stages_one_ahead(vs, i->node, j->node) || stages_one_ahead(vs, j->node, i->node) ||
		       stages_differ(vs, i->node, j->node, root, assumptions));
}

/* ---- the access is pending, and its stage is no longer in the register ---- */

/* Whenever the access is pending at the site, the node holds what it held at the access. */
static bool same_round(struct own_stages *stages, uint32_t access, uint32_t site, uint32_t node)
{
	const struct flow_setup *s = stages->setup;
	const struct node *def = &s->unit->values->ssa.nodes[node];
	uint32_t block = s->handoffs.sites[site].block, insn = s->handoffs.sites[site].insn;
	struct walked *walked = &stages->walked[access];

	if (!cfg_dominates(&s->unit->cfg, def->block, block) ||
		(def->kind == NODE_DEF && def->block == block && def->insn >= insn))
		return false;
	if (!walked->sites.words || walked->node != node)
		*walked = (struct walked){node, own_stage_left(s, access, node)};
	return !bits_has(walked->sites, site);
}

/* ---- verdicts ---- */

struct question { /* does the arrive at `site` hand over the access? */
	struct own_stages *stages;
	uint32_t access, site;
	const struct operand *address;
	const struct place *whole, *mbarrier; /* of the access */
	struct place at;  /* the same in the register of its stage, */
	bool taken;	  /* once it is there */
	uint32_t node;	  /* that register, or NONE */
	uint64_t bytes;
	uint32_t assumptions;
};

/* Each mbarrier on which it may arrive is that of another copy, which has its place in the same ring. */
static bool of_other_copies(const struct question *q, const struct copy *copy,
	const struct number *arrives)
{
	int64_t stride = 0;
	uint64_t step = arrives->stride ? arrives->stride : 1;

	for (int64_t i = arrives->lo; i <= arrives->hi; i += (int64_t)step) {
		int64_t by = i + arrives->plus;
		const struct copy *found = NULL;

		for (uint32_t k = 0; k < q->stages->ncopies && by; k++) {
			const struct copy *other = &q->stages->copies[k];
			int64_t moved = (int32_t)(other->at.sum.constant - copy->at.sum.constant);

			if (other->number.node != NONE || !same_base(&other->wait, &copy->wait) ||
				(int32_t)(other->wait.sum.constant - copy->wait.sum.constant) !=
					by * OBJECT_BYTES ||
				moved % by || moved / by <= 0 ||
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
	uint32_t node = term_with(q->whole, stride);

	if (q->taken && node == q->node)
		return true;
	q->node = node;
	/* with no such register the one that is nowhere in it: the sum stays as short as can be */
	q->taken = place_of(q->stages->setup->unit->values, q->address,
		node == NONE ? NO_NODE : node, &q->at);
	return q->taken;
}

/* The number of the mbarrier on which it arrives, counted from that of the copy where its register is 0. */
static bool arrives_at(struct question *q, const struct copy *copy, struct number *out)
{
	const struct values *vs = q->stages->setup->unit->values;
	const struct stage_sum *sum = &q->mbarrier->sum;
	int64_t apart = (int32_t)(sum->constant - copy->wait.sum.constant);

	if (!sum->n || (sum->n == 1 && sum->terms[0].factor == OBJECT_BYTES))
		return apart % OBJECT_BYTES == 0 &&
		       number_of(vs, sum->n ? sum->terms[0].node : NONE, apart / OBJECT_BYTES, out,
			       &q->assumptions);
	/* a multiple that is no sum: its set says what can be said */
	const struct value *v = &vs->at[sum->terms[0].node];

	if (sum->n != 1 || sum->terms[0].factor != 1 || v->lo < 0 ||
		v->hi > STAGES_MOST * OBJECT_BYTES || v->stride % OBJECT_BYTES ||
		(v->lo + apart) % OBJECT_BYTES)
		return false;
	*out = (struct number){.node = NONE,
		.hi = (v->hi - v->lo) / OBJECT_BYTES,
		.plus = (v->lo + apart) / OBJECT_BYTES,
		.stride = v->stride / OBJECT_BYTES};
	q->assumptions |= v->assumptions;
	return true;
}

/* Stage numbers, counted from that of the copy where its register is 0. */
static bool other_stage(struct question *q, const struct copy *copy, uint8_t *verdict)
{
	const struct values *vs = q->stages->setup->unit->values;
	const struct access *a = &q->stages->setup->unit->accesses.v[copy->access];
	struct number arrives, touches;
	struct stretch mine, its;
	uint32_t root;

	if (!same_base(&copy->wait, q->mbarrier) || !arrives_at(q, copy, &arrives))
		return false;
	q->assumptions |= copy->assumptions | q->mbarrier->assumptions;
	if (copy->number.node == NONE) {
		const struct number itself = {.node = NONE};

		return always_differ(&arrives, &itself) && of_other_copies(q, copy, &arrives);
	}
	if (arrives.lo + arrives.plus < copy->number.lo || arrives.hi + arrives.plus > copy->number.hi)
		return false; /* no mbarrier of this ring */
	if (!take_stage(q, copy->stride) || !same_base(&copy->at, &q->at) ||
		!number_of(vs, q->node, 0, &touches, &q->assumptions) ||
		!stretch_of(vs, &q->at, q->node, q->bytes, &mine, &q->assumptions) ||
		!stretch_of(vs, &copy->at, copy->number.node, a->bytes, &its, &q->assumptions))
		return false;
	int64_t stride = copy->stride, first = (mine.lo - its.end) / stride - 1,
		last = (mine.end - its.lo) / stride + 1;

	if (last - first > 64)
		return false;
	for (touches.plus = first; touches.plus <= last; touches.plus++) {
		if (its.lo + touches.plus * stride >= mine.end ||
			its.end + touches.plus * stride <= mine.lo ||
			always_differ(&touches, &arrives))
			continue;
		if (!differ_now(vs, &touches, &arrives, &root, &q->assumptions) ||
			!same_round(q->stages, q->access, q->site, root))
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

/* Some fact of the access makes an edge with the async one. */
static bool meets(const struct flow_setup *s, uint32_t access, uint32_t async)
{
	const struct fact_row *row = s->facts.row[async];
	uint32_t end = s->facts.first_of[access + 1];

	for (uint32_t f = s->facts.first_of[access]; row && f < end; f++)
		for (uint32_t k = 0; k < row->n; k++)
			if (row->word[k] == f / 64 && row->mask[k] >> (f % 64) & 1)
				return true;
	return false;
}

/* NULL: it is of no ring. */
static const struct place *mbarrier_of(struct own_stages *stages, uint32_t site)
{
	const struct unit *unit = stages->setup->unit;
	struct kept *kept = stages->objects[site];

	if (!kept) {
		kept = stages->objects[site] = ARENA_NEW(unit->arena, struct kept, 1);
		bool known = object_at(
			unit, stages->setup->handoffs.sites[site].insn, &kept->place);

		for (uint32_t k = 0; known && k < stages->ncopies && !kept->known; k++)
			kept->known = same_base(&stages->copies[k].wait, &kept->place);
	}
	return kept->known ? &kept->place : NULL;
}

/* NULL: it is not known. */
static const struct place *place_kept(struct own_stages *stages, uint32_t access)
{
	const struct unit *unit = stages->setup->unit;
	struct kept *kept = stages->places[access];

	if (!kept) {
		kept = stages->places[access] = ARENA_NEW(unit->arena, struct kept, 1);
		kept->known = place_of(unit->values,
			address_of(unit, &unit->accesses.v[access]), NONE, &kept->place);
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

	if (g->cp_async || g->st_async || g->call || g->bytes > (uint64_t)OFFSET_MOST)
		return VERDICT_HANDS_OVER;
	q.mbarrier = mbarrier_of(stages, site);
	q.whole = q.mbarrier ? place_kept(stages, access) : NULL;
	if (!q.whole)
		return VERDICT_HANDS_OVER;
	q.stages = stages;
	q.access = access;
	q.site = site;
	q.address = address_of(unit, g);
	q.bytes = g->bytes;
	q.taken = false;
	q.assumptions = ASSUME_OWN_STAGE | q.whole->assumptions | g->extent_assumptions;
	for (uint32_t k = 0; k < stages->ncopies; k++) {
		const struct copy *copy = &stages->copies[k];

		if (meets(s, access, copy->access) &&
			!(copy->number.node == NONE ? other_written(&q, k)
						    : other_stage(&q, copy, &verdict)))
			return VERDICT_HANDS_OVER;
	}
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
