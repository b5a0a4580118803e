/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In: an access to a stage, and the mbarriers of its ring. Out: whether the thread has the stage there: on each
 * way back from the access it comes to a wait for what was copied there, before it comes to an arrive that
 * gives the stage up. Who touches a stage that it does not have hands that over by any arrive. Invariant: the
 * number of the stage is followed back through what its register was made from; where that is not known,
 * nothing is.
 */
#include "analysis/flow_state.h"
#include "analysis/own_stage.h"

#define STATES_MOST 512

struct point { /* the end of a block, and the number of the stage there: node + plus */
	uint32_t block, node;
	int64_t plus;
};

struct search {
	const struct flow_setup *s;
	struct stage_ring *ring;
	uint32_t access; /* instruction */
	struct point v[STATES_MOST];
	uint32_t n;
	bool held;
};

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
	if (a->node == b->node)
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
	struct stage_number mine, its;
	bool of_ring;

	if (site == NONE || w->s->handoffs.sites[site].is_exit)
		return STEP_ON;
	mine = number_of(w, p);
	switch (w->s->handoffs.sites[site].kind) {
	case SYNC_MBAR_WAIT:
		if (w->s->unit->fn->insns[insn].guard != NONE ||
			!number_at(w, insn, &w->ring->full, &its, &of_ring) ||
			((its.node != NONE || its.lo == its.hi) &&
				!stage_parity_alternates(w->s, insn, w->access, its.node, w->ring->parities)))
			return STEP_ON;
		/* which of several stages the access is to is not known: no more is that of the wait */
		return are_same(&mine, &its) || (!w->ring->exact && its.lo != its.hi) ? STEP_HELD : STEP_ON;
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
		*p = (struct point){p->block, NONE, p->plus + c};
		return true;
	}
	from = trips_step_back(vs, p->node, &step);
	if (from == NONE)
		return false;
	*p = (struct point){p->block, from, p->plus + step};
	return true;
}

static void add(struct search *w, const struct point *p)
{
	for (uint32_t k = 0; k < w->n; k++)
		if (w->v[k].block == p->block && w->v[k].node == p->node && w->v[k].plus == p->plus)
			return;
	if (w->n == STATES_MOST)
		w->held = false;
	else
		w->v[w->n++] = *p;
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
		struct point to = {block->pred.v[k], is_phi ? vs->ssa.inputs[n->input + k] : p.node, p.plus};

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
	struct point p = {s->unit->cfg.block_of[insn], ring->node, ring->plus};

	w->s = s;
	w->ring = ring;
	w->access = insn;
	w->n = 0;
	w->held = true;
	go_back(w, p, insn);
	for (uint32_t k = 0; k < w->n && w->held; k++) {
		const struct block *block = &s->unit->cfg.blocks[w->v[k].block];

		go_back(w, w->v[k], block->first + block->count);
	}
	bool held = w->held;

	ARENA_GIVE_BACK(s->unit->arena, w, 1);
	return held;
}
