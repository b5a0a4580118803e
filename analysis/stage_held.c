/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In: an access to a stage, and the mbarriers of its ring. Out: whether the thread has the stage there: on each
 * way back from the access it comes to a wait for what was copied there, which a branch behind it has found to be over, before
 * it comes to an arrive that gives the stage up. Who touches a stage that it does not have hands that over by any arrive. Invariant: the
 * number of the stage is followed back through what its register was made from; where that is not known,
 * nothing is.
 */
#include "analysis/flow_state.h"
#include "analysis/own_stage.h"
#include "analysis/value_private.h"

#define STATES_MOST 512
#define WAITS_MOST 64

struct point { /* the end of a block, and the number of the stage there: node + plus */
	uint32_t block, node;
	int64_t plus;
	/* what the branches on the way from here on say: */
	uint64_t over;	 /* waits, as a mask, are */
	uint32_t answer; /* so is the one that this phi is the answer of, or NONE */
};

struct search {
	const struct flow_setup *s;
	struct stage_ring *ring;
	uint32_t access; /* instruction */
	struct point v[STATES_MOST];
	uint32_t n;
	uint32_t waits[WAITS_MOST], nwaits; /* for what is copied into the ring: instructions */
	bool held;
};

static void find_waits(struct search *w)
{
	const struct handoffs *h = &w->s->handoffs;
	struct stage_place place;

	for (uint32_t k = 0; k < h->n && w->nwaits < WAITS_MOST; k++)
		if (h->sites[k].kind == SYNC_MBAR_WAIT && w->s->unit->fn->insns[h->sites[k].insn].guard == NONE &&
			stage_object_at(w->s->unit, h->sites[k].insn, &place) &&
			stage_same_base(&place, &w->ring->full))
			w->waits[w->nwaits++] = h->sites[k].insn;
}

/* The bit of a wait in a mask; 0: it is none of those. */
static uint64_t bit_of(const struct search *w, uint32_t insn)
{
	for (uint32_t k = 0; k < w->nwaits; k++)
		if (w->waits[k] == insn)
			return UINT64_C(1) << k;
	return 0;
}

/* What is not 0 where a wait is over: its answer, the same in a register, or a phi of such ones. Its bit, or, where the
 * ways tell, `phi`; 0 and NONE: it is no answer. */
static uint64_t answer_of(const struct search *w, uint32_t node, uint32_t *phi)
{
	const struct values *vs = w->s->unit->values;
	int64_t one, zero;

	*phi = NONE;
	for (uint32_t depth = 0; depth < 4 && node < vs->nsolved && vs->ssa.nodes[node].kind == NODE_DEF; depth++) {
		const struct insn *insn = &vs->fn->insns[vs->ssa.nodes[node].insn];
		const struct operand *from = insn_source(vs->fn, insn, insn->op == OP_selp ? 2 : 0);
		uint64_t bit = bit_of(w, vs->ssa.nodes[node].insn);

		if (bit || vs->ssa.nodes[node].previous != NONE)
			return bit;
		if (insn->op != OP_mov && insn->op != OP_LINK_MOV &&
			(insn->op != OP_selp || !trips_constant_of(vs, insn_source(vs->fn, insn, 0), &one) ||
				!trips_constant_of(vs, insn_source(vs->fn, insn, 1), &zero) || !one || zero))
			return 0;
		node = trips_plain_node(vs, from);
	}
	if (node < vs->nsolved && vs->ssa.nodes[node].kind == NODE_PHI)
		*phi = node;
	return 0;
}

static bool may_be_answer(const struct search *w, uint32_t node, uint32_t depth)
{
	const struct values *vs = w->s->unit->values;
	uint32_t phi;
	uint64_t bit = answer_of(w, node, &phi);

	for (uint32_t k = 0; !bit && phi != NONE && depth && k < vs->cfg->blocks[vs->ssa.nodes[phi].block].pred.n; k++)
		bit = may_be_answer(w, vs->ssa.inputs[vs->ssa.nodes[phi].input + k], depth - 1);
	return bit != 0;
}

/* What the branch from the block of the point to another one says. */
static void hear(const struct search *w, struct point *p, uint32_t to)
{
	struct values *vs = (struct values *)(uintptr_t)w->s->unit->values;
	struct constraint room[CONTEXT_MAX];
	struct context context = {.v = room};
	uint32_t phi;

	context_of_branch(vs, p->block, to, &context);
	for (uint32_t i = 0; i < context.n; i++) {
		const struct constraint *c = &context.v[i];
		bool has_zero = c->lo <= 0 && c->hi >= 0;

		if (c->excludes != has_zero)
			continue;
		p->over |= answer_of(w, c->node, &phi);
		if (phi != NONE && p->answer == NONE && may_be_answer(w, phi, 2))
			p->answer = phi;
	}
}

/* The number that an mbarrier has in its ring, whose first one is at `from`; false: it is none of that ring, or has
 * some number. */
static bool number_at(const struct search *w, uint32_t insn, const struct stage_place *from,
	struct stage_number *out, bool *of_ring)
{
	struct stage_place place;

	*of_ring = stage_object_at(w->s->unit, insn, &place) && stage_same_base(&place, from);
	return *of_ring && stage_object_number(w->s->unit->values, &place, from, out, &w->ring->assumptions);
}

#define ANY_NUMBER (INT64_C(1) << 40)

static struct stage_number number_of(const struct search *w, const struct point *p)
{
	struct stage_number n;

	if (!stage_number_of(w->s->unit->values, p->node, p->plus, &n, &w->ring->assumptions)) {
		n.lo = -ANY_NUMBER;
		n.hi = ANY_NUMBER;
		n.stride = 1;
	}
	return n;
}

static bool are_same(const struct stage_number *a, const struct stage_number *b)
{
	if (a->node == b->node && a->node != NONE)
		return a->plus == b->plus;
	return a->lo == a->hi && b->lo == b->hi && a->lo + a->plus == b->lo + b->plus;
}

static bool are_other(const struct search *w, const struct stage_number *a, const struct stage_number *b)
{
	const struct values *vs = w->s->unit->values;
	uint32_t root;

	return stage_numbers_differ(a, b) ||
	       stage_numbers_differ_now(vs, a, b, &root, &w->ring->assumptions) ||
	       (a->plus == b->plus &&
		       (stages_few_ahead(vs, a->node, b->node) || stages_few_ahead(vs, b->node, a->node)));
}

enum step { STEP_ON, STEP_HELD, STEP_GIVEN_UP };

/* What an instruction on the way says. */
static enum step look_at(const struct search *w, uint32_t insn, const struct point *p)
{
	uint32_t site = w->s->handoffs.site_of[insn];
	uint8_t kind = w->s->unit->effects[insn]->sync;
	struct stage_number mine, its;
	bool of_ring;

	/* an arrive gives the stage up, and be it relaxed, which is no site */
	if (site == NONE ? kind != SYNC_MBAR_ARRIVE : w->s->handoffs.sites[site].is_exit)
		return STEP_ON;
	mine = number_of(w, p);
	switch (site == NONE ? kind : w->s->handoffs.sites[site].kind) {
	case SYNC_MBAR_WAIT:
		if (!(p->over & bit_of(w, insn)) || !number_at(w, insn, &w->ring->full, &its, &of_ring) ||
			((its.node != NONE || its.lo == its.hi) &&
				(!stage_parity_alternates(w->s, insn, w->access, its.node, w->ring->parities) ||
					stage_parity_before_first(w->s, insn, w->access, its.node, w->ring->parities))))
			return STEP_ON;
		return are_same(&mine, &its) ? STEP_HELD : STEP_ON;
	case SYNC_MBAR_ARRIVE:
		if (number_at(w, insn, &w->ring->empty, &its, &of_ring))
			return are_other(w, &mine, &its) ? STEP_ON : STEP_GIVEN_UP;
		return of_ring ? STEP_GIVEN_UP : STEP_ON;
	default:
		return STEP_ON;
	}
}

/* The number in front of the definition of its register; false: not known. */
static bool step_back(const struct values *vs, struct point *p)
{
	const struct insn *insn = &vs->fn->insns[vs->ssa.nodes[p->node].insn];
	int64_t step = 0, c;
	uint32_t from;

	if (vs->ssa.nodes[p->node].previous == NONE && insn->op == OP_mov &&
		trips_constant_of(vs, insn_source(vs->fn, insn, 0), &c)) {
		*p = (struct point){p->block, NONE, p->plus + c, p->over, p->answer};
		return true;
	}
	from = trips_step_back(vs, p->node, &step);
	if (from == NONE)
		return false;
	*p = (struct point){p->block, from, p->plus + step, p->over, p->answer};
	return true;
}

static void add(struct search *w, const struct point *p)
{
	for (uint32_t k = 0; k < w->n; k++)
		if (w->v[k].block == p->block && w->v[k].node == p->node && w->v[k].plus == p->plus &&
			w->v[k].over == p->over && w->v[k].answer == p->answer)
			return;
	if (w->n == STATES_MOST)
		w->held = false;
	else
		w->v[w->n++] = *p;
}

static bool is_zero(const struct values *vs, uint32_t node)
{
	int64_t c;

	return node < vs->nsolved && vs->ssa.nodes[node].kind == NODE_DEF && vs->ssa.nodes[node].previous == NONE &&
	       vs->fn->insns[vs->ssa.nodes[node].insn].op == OP_mov &&
	       trips_constant_of(vs, insn_source(vs->fn, &vs->fn->insns[vs->ssa.nodes[node].insn], 0), &c) && !c;
}

static void enter_preds(struct search *w, struct point p)
{
	const struct values *vs = w->s->unit->values;
	const struct block *block = &vs->cfg->blocks[p.block];
	const struct node *n = p.node == NONE ? NULL : &vs->ssa.nodes[p.node];
	bool is_phi = n && n->kind == NODE_PHI && n->block == p.block;

	/* at the start of the kernel: nobody has given it up, if the first copy waits for that */
	w->held &= p.block != 0 || (w->ring->first && !is_phi);
	for (uint32_t k = 0; k < block->pred.n && w->held; k++) {
		struct point to = {block->pred.v[k], is_phi ? vs->ssa.inputs[n->input + k] : p.node, p.plus, p.over,
			p.answer};

		if (p.answer != NONE && vs->ssa.nodes[p.answer].block == p.block) {
			uint32_t input = vs->ssa.inputs[vs->ssa.nodes[p.answer].input + k];

			if (is_zero(vs, input))
				continue; /* no way to here */
			to.over |= answer_of(w, input, &to.answer);
		}
		hear(w, &to, p.block);

		w->held &= to.node == NONE || (to.node < vs->nsolved &&
						      vs->ssa.nodes[to.node].kind != NODE_UNDEFINED);
		add(w, &to);
	}
}

/* From `end` back through the block. */
static void go_back(struct search *w, struct point p, uint32_t end)
{
	const struct values *vs = w->s->unit->values;
	const struct block *block = &vs->cfg->blocks[p.block];

	for (uint32_t i = end; i-- > block->first;) {
		const struct node *n = p.node == NONE ? NULL : &vs->ssa.nodes[p.node];
		enum step step = look_at(w, i, &p);

		if (step != STEP_ON) {
			w->held &= step == STEP_HELD;
			return;
		}
		p.over &= ~bit_of(w, i);
		if (n && n->kind == NODE_DEF && n->insn == i && !step_back(vs, &p)) {
			w->held = false;
			return;
		}
	}
	enter_preds(w, p);
}

bool stage_is_held(const struct flow_setup *s, uint32_t insn, struct stage_ring *ring)
{
	struct search *w = ARENA_UNSET(s->unit->arena, struct search, 1);
	struct point p = {s->unit->cfg.block_of[insn], ring->node, ring->plus, 0, NONE};

	w->s = s;
	w->ring = ring;
	w->access = insn;
	w->n = w->nwaits = 0;
	w->held = true;
	find_waits(w);
	go_back(w, p, insn);
	for (uint32_t k = 0; k < w->n && w->held; k++) {
		const struct block *block = &s->unit->cfg.blocks[w->v[k].block];

		go_back(w, w->v[k], block->first + block->count);
	}
	bool held = w->held;

	ARENA_GIVE_BACK(s->unit->arena, w, 1);
	return held;
}
