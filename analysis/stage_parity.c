/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In: a wait on the mbarrier of a stage, in a loop. Out: whether each round of the ring waits for a phase of
 * its own: the parity is the other one whenever the stage is the same again (ISA 9.7.13.15.16). The rounds
 * are gone through with numbers: what the loop's phis start in and what comes back to them. Invariant:
 * false only where two visits of a stage, one behind the other, have the same parity.
 */
#include "analysis/flow_state.h"
#include "analysis/own_stage.h"
#include "analysis/threads.h"

#include <string.h>

#define PHIS_MOST 16
#define NUMBERS_MOST 256 /* stages */
#define ROUNDS_MOST 128
#define DEPTH_MOST 8	 /* loops around, phis behind phis */
#define BLOCKS_MOST 32	 /* on the way to a phi */

struct rounds_of {
	const struct values *vs;
	uint32_t head; /* of the loop */
	struct {
		uint32_t node;
		uint64_t first, now;
	} phis[PHIS_MOST];
	uint32_t n, depth;
	bool fresh;   /* a phi was asked for that had no number yet */
	bool guessed; /* what one starts in is not known */
	bool constant; /* nothing is asked of phis */
	struct thread_given given;
};

/* ---- numbers ---- */

/* Before the loop: what came in first. What is not known is as good as 0. */
static uint64_t starts_in(struct rounds_of *r, uint32_t phi)
{
	const struct values *vs = r->vs;
	const struct node *n = &vs->ssa.nodes[phi];
	uint64_t v = 0;

	for (uint32_t k = 0; k < vs->cfg->blocks[n->block].pred.n; k++) {
		uint32_t input = vs->ssa.inputs[n->input + k];

		if (trips_is_back_edge(vs, n->block, k))
			continue;
		if (input < vs->nsolved && vs->ssa.nodes[input].kind == NODE_PHI && r->depth) {
			r->depth--;
			return starts_in(r, input);
		}
		if (!thread_node_given(vs, &r->given, input, &v))
			break;
		return v;
	}
	r->guessed = true;
	return 0;
}

/* Along the branches that are decided, from the dominator of a phi: its predecessor; NONE: not known. */
static uint32_t comes_from(struct rounds_of *r, uint32_t block)
{
	const struct cfg *cfg = r->vs->cfg;

	for (uint32_t b = cfg->blocks[block].idom, k = 0; b != NONE && k < BLOCKS_MOST; k++) {
		const struct block *at = &cfg->blocks[b];
		uint32_t branch = at->first + at->count - 1, i = 0;
		uint64_t holds;

		if (!at->succ.n || at->succ.n > 2)
			return NONE;
		if (at->succ.n == 2) {
			const struct insn *insn = &r->vs->fn->insns[branch];

			if (insn->op != OP_bra || insn->guard == NONE ||
				!thread_node_given(r->vs, &r->given, r->vs->ssa.guard_of[branch], &holds))
				return NONE;
			i = (holds != 0) == insn->guard_negated;
		}
		if (at->succ.v[i] == block)
			return b;
		b = at->succ.v[i];
	}
	return NONE;
}

static bool phi_of_head(struct rounds_of *r, uint32_t node, uint64_t *out)
{
	uint32_t k = 0;

	while (k < r->n && r->phis[k].node != node)
		k++;
	if (k == PHIS_MOST)
		return false;
	if (k == r->n) {
		r->n++;
		r->depth = DEPTH_MOST;
		r->phis[k].node = node;
		r->phis[k].first = r->phis[k].now = starts_in(r, node);
		r->fresh = true;
	}
	*out = r->phis[k].now;
	return true;
}

static bool phi_holds(void *data, uint32_t node, uint64_t *out)
{
	struct rounds_of *r = data;
	const struct node *n = &r->vs->ssa.nodes[node];

	if (n->block == r->head && !r->constant)
		return phi_of_head(r, node, out);
	if (r->constant || !trips_in_loop(r->vs->cfg, n->block, r->head) || !r->depth)
		return false;
	r->depth--;
	uint32_t from = comes_from(r, n->block);

	for (uint32_t k = 0; from != NONE && k < r->vs->cfg->blocks[n->block].pred.n; k++)
		if (r->vs->cfg->blocks[n->block].pred.v[k] == from)
			return thread_node_given(
				r->vs, &r->given, r->vs->ssa.inputs[n->input + k], out);
	return false;
}

static bool number(struct rounds_of *r, uint32_t node, uint64_t *out)
{
	r->depth = DEPTH_MOST;
	return thread_node_given(r->vs, &r->given, node, out);
}

static uint32_t input_of(const struct rounds_of *r, uint32_t phi, uint32_t way)
{
	return r->vs->ssa.inputs[r->vs->ssa.nodes[r->phis[phi].node].input + way];
}

/* The one way back along which something changes: others only ask again. False: there are several. */
static bool find_back(const struct rounds_of *r, uint32_t *back)
{
	*back = NONE;
	for (uint32_t way = 0; way < r->vs->cfg->blocks[r->head].pred.n; way++) {
		bool changes = false;

		for (uint32_t k = 0; k < r->n; k++)
			changes |= input_of(r, k, way) != r->phis[k].node;
		if (!changes || !trips_is_back_edge(r->vs, r->head, way))
			continue;
		if (*back != NONE)
			return false;
		*back = way;
	}
	return true;
}

static bool next_round(struct rounds_of *r)
{
	uint64_t next[PHIS_MOST];
	uint32_t back;

	if (!find_back(r, &back))
		return false;
	for (uint32_t k = 0; k < r->n && back != NONE; k++)
		if (!number(r, input_of(r, k, back), &next[k]))
			return false;
	if (back == NONE)
		return true;
	for (uint32_t k = 0; k < r->n && !r->fresh; k++)
		r->phis[k].now = next[k];
	return true;
}

/* ---- the loop ---- */

/* The innermost loop that both are in; NONE. */
static uint32_t common_head(const struct cfg *cfg, uint32_t a, uint32_t b)
{
	uint32_t h = cfg->blocks[a].loop_head;

	while (h != NONE && !trips_in_loop(cfg, b, h))
		h = cfg->blocks[h].outer_head;
	return h;
}

/* NONE, for a constant, stays too. */
static bool stays(const struct values *vs, uint32_t node, uint32_t head)
{
	return node == NONE || !trips_in_loop(vs->cfg, vs->ssa.nodes[node].block, head);
}

#define WAITS_MOST 16

/* The waits of one round on the mbarriers of the ring, one behind the other. */
struct visits {
	struct visit {
		uint32_t insn;
		struct stage_number stage; /* counted from that of the wait that is asked about */
		const struct operand *parity;
	} v[WAITS_MOST];
	uint32_t n, ours; /* the instruction of the one that is asked about, or that it stands for */
};

static bool comes_before(const struct cfg *cfg, uint32_t a, uint32_t b)
{
	uint32_t x = cfg->block_of[a], y = cfg->block_of[b];

	return x == y ? a < b : cfg_dominates(cfg, x, y);
}

static bool is_same_stage(const struct visit *a, const struct visit *b)
{
	return a->stage.node == b->stage.node && a->stage.plus == b->stage.plus;
}

static bool is_same_phase(const struct values *vs, const struct visit *a, const struct visit *b)
{
	uint32_t node = trips_plain_node(vs, a->parity);
	int64_t c, d;

	if (trips_constant_of(vs, a->parity, &c) && trips_constant_of(vs, b->parity, &d))
		return (c & 1) == (d & 1);
	return node != NONE && node == trips_plain_node(vs, b->parity);
}

/* Who has asked in vain asks again. Who asks for a phase that is over has not waited. */
static bool is_again(const struct flow_setup *s, const struct visit *a, const struct visit *b)
{
	const struct values *vs = s->unit->values;

	return is_same_stage(a, b) && is_same_phase(vs, a, b) && comes_before(vs->cfg, a->insn, b->insn) &&
	       stage_wait_refused(s, a->insn, b->insn);
}

/* False: it is not known in which order. */
static bool add_visit(const struct flow_setup *s, struct visits *visits, const struct visit *more)
{
	const struct values *vs = s->unit->values;
	uint32_t at = 0;

	for (uint32_t k = 0; k < visits->n; k++)
		if (is_again(s, &visits->v[k], more)) {
			if (visits->ours == more->insn)
				visits->ours = visits->v[k].insn;
			return true;
		}
	while (at < visits->n && comes_before(vs->cfg, visits->v[at].insn, more->insn))
		at++;
	if (visits->n == WAITS_MOST || (at < visits->n && !comes_before(vs->cfg, more->insn, visits->v[at].insn)))
		return false;
	for (uint32_t k = visits->n++; k > at; k--)
		visits->v[k] = visits->v[k - 1];
	visits->v[at] = *more;
	return true;
}

/* In a loop, or (NONE) all that may come before. */
static bool find_visits(const struct flow_setup *s, uint32_t wait, uint32_t head, struct visits *visits)
{
	const struct values *vs = s->unit->values;
	struct stage_place ours, place;
	uint32_t unused = 0;

	if (!stage_object_at(s->unit, wait, &ours))
		return false;
	visits->ours = wait;
	for (uint32_t k = 0; k < s->handoffs.n; k++) {
		const struct sync_site *site = &s->handoffs.sites[k];
		struct visit more = {.insn = site->insn};

		if (site->kind != SYNC_MBAR_WAIT ||
			(head != NONE ? !trips_in_loop(vs->cfg, site->block, head)
				      : site->insn != wait && !stage_comes_to(s->unit, site->insn, wait)) ||
			!stage_object_at(s->unit, site->insn, &place) || !stage_same_base(&place, &ours))
			continue;
		more.parity = insn_source(vs->fn, &vs->fn->insns[site->insn], 1);
		if (!stage_object_number(vs, &place, &ours, &more.stage, &unused) ||
			(more.stage.node == NONE && more.stage.lo != more.stage.hi) || !add_visit(s, visits, &more))
			return false;
	}
	return true;
}

/* Those in front of a loop, each on every way there and over; none, if others may come between. */
static void find_visits_before(const struct flow_setup *s, uint32_t wait, uint32_t head, struct visits *visits)
{
	const struct values *vs = s->unit->values;
	const struct cfg *cfg = &s->unit->cfg;
	uint32_t first = cfg->blocks[head].first, unused = 0;
	struct bits in_front = stage_blocks_before(s->unit, head);
	struct stage_place ours, place;
	bool known = stage_object_at(s->unit, wait, &ours);

	visits->ours = NONE;
	for (uint32_t k = 0; k < s->handoffs.n && known; k++) {
		const struct sync_site *site = &s->handoffs.sites[k];
		struct visit more = {.insn = site->insn};

		if (site->kind != SYNC_MBAR_WAIT || trips_in_loop(cfg, site->block, head) ||
			!bits_has(in_front, site->block) || !stage_object_at(s->unit, site->insn, &place) || !stage_same_base(&place, &ours))
			continue;
		more.parity = insn_source(vs->fn, &vs->fn->insns[site->insn], 1);
		if (!cfg_dominates(cfg, site->block, head) || !insn_has(&vs->fn->insns[site->insn], MOD_parity) ||
			!stage_object_number(vs, &place, &ours, &more.stage, &unused) ||
			(more.stage.node == NONE && more.stage.lo != more.stage.hi) ||
			!stage_wait_over(s, site->insn, first) || !add_visit(s, visits, &more)) {
			visits->n = 0;
			return;
		}
	}
}

/* The stage of a visit in this round, and its parity. */
static bool visit(struct rounds_of *r, const struct visit *v, int64_t *stage, uint64_t *parity)
{
	uint32_t node = trips_plain_node(r->vs, v->parity);
	uint64_t i = 0;
	int64_t c;

	if (v->stage.node != NONE && !number(r, v->stage.node, &i))
		return false;
	*stage = (int64_t)i + v->stage.plus;
	if (trips_constant_of(r->vs, v->parity, &c)) {
		*parity = (uint64_t)c;
		return true;
	}
	return node != NONE && number(r, node, parity);
}

/* All is as it was in the first round. */
static bool is_first(const struct rounds_of *r)
{
	for (uint32_t k = 0; k < r->n; k++)
		if (r->phis[k].now != r->phis[k].first)
			return false;
	return true;
}

enum visited { VISITED_ANEW, VISITED_IN_VAIN, VISITED_UNKNOWN };

/* `last': by stage, 1 + the parity that was waited for last; in vain: the wait that is asked about is for the same one. */
static enum visited go_to(struct rounds_of *r, const struct visits *visits, uint32_t ours, uint8_t *last)
{
	for (uint32_t i = 0; i < visits->n; i++) {
		const struct visit *v = &visits->v[i];
		uint64_t parity = 0;
		int64_t stage = 0;

		if (!visit(r, v, &stage, &parity))
			return VISITED_UNKNOWN;
		stage += NUMBERS_MOST / 2;
		if (r->fresh || stage < 0 || stage >= NUMBERS_MOST)
			continue;
		if (last[stage] == 1 + (parity & 1) && v->insn == ours)
			return VISITED_IN_VAIN;
		last[stage] = 1 + (parity & 1);
	}
	return VISITED_ANEW;
}

/* The one branch that leads out of the loop; NONE: there are several, or others. */
static uint32_t find_way_out(const struct rounds_of *r)
{
	const struct cfg *cfg = r->vs->cfg;
	uint32_t out = NONE;

	for (uint32_t b = 0; b < cfg->n; b++) {
		const struct block *at = &cfg->blocks[b];
		bool leaves = at->exits;

		for (uint32_t i = 0; i < at->succ.n; i++)
			leaves |= !trips_in_loop(cfg, at->succ.v[i], r->head);
		if (!leaves || !trips_in_loop(cfg, b, r->head))
			continue;
		if (out != NONE || at->succ.n != 2 || r->vs->fn->insns[at->first + at->count - 1].op != OP_bra)
			return NONE;
		out = b;
	}
	return out;
}

/* This round is known to be the last one. */
static bool ends(struct rounds_of *r, uint32_t way_out)
{
	const struct cfg *cfg = r->vs->cfg;
	uint64_t holds;

	if (way_out == NONE)
		return false;
	uint32_t branch = cfg->blocks[way_out].first + cfg->blocks[way_out].count - 1;

	return number(r, r->vs->ssa.guard_of[branch], &holds) &&
	       !trips_in_loop(cfg,
		       cfg->blocks[way_out].succ.v[(holds != 0) == r->vs->fn->insns[branch].guard_negated], r->head);
}

/* Whenever the loop is come to, it starts in the same constants. */
static bool starts_alike(struct rounds_of *r)
{
	bool alike = true;
	uint64_t v;

	r->constant = true;
	for (uint32_t k = 0; k < r->n; k++)
		for (uint32_t way = 0; way < r->vs->cfg->blocks[r->head].pred.n; way++)
			alike &= trips_is_back_edge(r->vs, r->head, way) ||
				 (number(r, input_of(r, k, way), &v) && v == r->phis[k].first);
	r->constant = false;
	return alike;
}

/* The loop begins anew, in the next round of the one around it. */
static bool begins_anew(struct rounds_of *r, uint32_t way_out)
{
	if (!ends(r, way_out) || r->fresh || !starts_alike(r))
		return false;
	for (uint32_t k = 0; k < r->n; k++)
		r->phis[k].now = r->phis[k].first;
	return true;
}

/* Gone through twice, unless something counts on and on. `again': a loop around it comes back to it with no other such
 * waits. */
static bool alternates(struct rounds_of *r, const struct visits *before, const struct visits *visits, bool again)
{
	uint32_t times = 0, way_out = again ? find_way_out(r) : NONE;
	uint8_t *last = ARENA_NEW(r->vs->arena, uint8_t, NUMBERS_MOST);

	if (go_to(r, before, NONE, last) == VISITED_UNKNOWN)
		memset(last, 0, NUMBERS_MOST);
	for (uint32_t k = 0; k < ROUNDS_MOST && times < 2; k++) {
		r->fresh = false;
		ends(r, way_out); /* asks for what that hangs on */
		enum visited visited = go_to(r, visits, visits->ours, last);

		if (visited != VISITED_ANEW)
			return visited == VISITED_UNKNOWN;
		if (r->fresh && r->guessed) /* how the loop goes on from what was before it is not known */
			memset(last, 0, NUMBERS_MOST);
		if (!begins_anew(r, way_out) && !next_round(r))
			return true;
		times += !r->fresh && is_first(r);
	}
	return true;
}

/* With no loop around it: the wait on this mbarrier that comes before it, if it is known, is for another phase. */
static bool alternates_once(const struct flow_setup *s, uint32_t wait)
{
	struct visits visits = {.n = 0};
	uint32_t ours = 0;

	if (!insn_has(&s->unit->fn->insns[wait], MOD_parity) || !find_visits(s, wait, NONE, &visits))
		return true;
	while (visits.v[ours].insn != visits.ours)
		ours++;
	for (uint32_t k = ours; k--;)
		if (is_same_stage(&visits.v[k], &visits.v[ours]))
			return !is_same_phase(s->unit->values, &visits.v[k], &visits.v[ours]);
	return true;
}

/* The loop stands in another one, in which nobody else waits on such mbarriers. */
static bool comes_back(const struct flow_setup *s, uint32_t wait, uint32_t head)
{
	const struct cfg *cfg = &s->unit->cfg;
	uint32_t outer = cfg->blocks[head].outer_head;
	struct stage_place ours, place;

	if (outer == NONE || !stage_object_at(s->unit, wait, &ours))
		return false;
	for (uint32_t k = 0; k < s->handoffs.n; k++) {
		const struct sync_site *site = &s->handoffs.sites[k];

		if (site->kind == SYNC_MBAR_WAIT && trips_in_loop(cfg, site->block, outer) &&
			!trips_in_loop(cfg, site->block, head) &&
			(!stage_object_at(s->unit, site->insn, &place) || stage_same_base(&place, &ours)))
			return false;
	}
	return true;
}

static bool find_alternates(const struct flow_setup *s, uint32_t wait, uint32_t head, uint32_t stage)
{
	const struct values *vs = s->unit->values;
	const struct insn *at = &vs->fn->insns[wait];
	const struct operand *phase = insn_source(vs->fn, at, 1);
	uint32_t node = trips_plain_node(vs, phase);
	struct visits visits = {.n = 0}, before = {.n = 0};
	struct rounds_of r = {.vs = vs, .head = head};
	bool parity = insn_has(at, MOD_parity);

	/* one stage in all rounds of a loop, and one phase, which is waited for once */
	while (r.head != NONE && (node != NONE || stage != NONE) && stays(vs, node, r.head) &&
		stays(vs, stage, r.head))
		r.head = vs->cfg->blocks[r.head].outer_head;
	if (r.head == NONE)
		return alternates_once(s, wait);
	if (!parity) /* the state that an arrive gave, in this round */
		return !stays(vs, node, r.head);
	r.given = (struct thread_given){phi_holds, &r};
	find_visits_before(s, wait, r.head, &before);
	if (find_visits(s, wait, r.head, &visits))
		return alternates(&r, &before, &visits, comes_back(s, wait, r.head));
	return !stays(vs, node, r.head); /* in whatever order, the same phase for all stages */
}

/* Somebody waits on such mbarriers in front of the loop. */
static bool waits_before(const struct flow_setup *s, uint32_t wait, uint32_t head)
{
	struct stage_place ours, place;

	for (uint32_t k = 0; k < s->handoffs.n && stage_object_at(s->unit, wait, &ours); k++) {
		const struct sync_site *site = &s->handoffs.sites[k];

		if (site->kind == SYNC_MBAR_WAIT && !trips_in_loop(&s->unit->cfg, site->block, head) &&
			stage_object_at(s->unit, site->insn, &place) && stage_same_base(&place, &ours) &&
			stage_comes_to(s->unit, site->insn, wait))
			return true;
	}
	return false;
}

/* The outermost of the loops around the wait that go on to another phase or stage; NONE. */
static uint32_t outermost(const struct values *vs, uint32_t node, uint32_t stage, uint32_t head)
{
	uint32_t out = NONE;

	for (; head != NONE; head = vs->cfg->blocks[head].outer_head)
		if (!stays(vs, node, head) || !stays(vs, stage, head))
			out = head;
	return out;
}

static bool find_before_first(const struct flow_setup *s, uint32_t wait, uint32_t head, uint32_t stage)
{
	const struct values *vs = s->unit->values;
	struct visits visits = {.n = 0};
	struct rounds_of r = {.vs = vs};
	uint32_t node, first = 0, ours = 0;
	uint64_t parity;
	int64_t c;

	if (!insn_has(&vs->fn->insns[wait], MOD_parity))
		return false;
	node = trips_plain_node(vs, insn_source(vs->fn, &vs->fn->insns[wait], 1));
	r.head = node == NONE && stage == NONE ? head : outermost(vs, node, stage, head);
	if ((r.head != NONE && waits_before(s, wait, r.head)) || !find_visits(s, wait, r.head, &visits))
		return false;
	while (visits.v[ours].insn != visits.ours)
		ours++;
	while (!is_same_stage(&visits.v[first], &visits.v[ours]))
		first++;
	node = trips_plain_node(vs, visits.v[first].parity);
	if (trips_constant_of(vs, visits.v[first].parity, &c))
		return c & 1;
	r.given = (struct thread_given){phi_holds, &r};
	return node != NONE && number(&r, node, &parity) && !r.guessed && parity & 1;
}

static struct stage_parity *parity_kept(const struct flow_setup *s, uint32_t wait, uint32_t insn, uint32_t stage,
	struct stage_parities *kept)
{
	const struct cfg *cfg = &s->unit->cfg;
	uint32_t head = common_head(cfg, cfg->block_of[wait], cfg->block_of[insn]);
	struct stage_parity *answer;

	if (!kept->of)
		kept->of = ARENA_NEW(s->unit->arena, struct stage_parity, s->handoffs.n + 1);
	answer = &kept->of[s->handoffs.site_of[wait]];
	if (!answer->asked || answer->head != head || answer->stage != stage)
		*answer = (struct stage_parity){true, find_alternates(s, wait, head, stage),
			find_before_first(s, wait, head, stage), head, stage};
	return answer;
}

bool stage_parity_alternates(const struct flow_setup *s, uint32_t wait, uint32_t insn, uint32_t stage,
	struct stage_parities *kept)
{
	return parity_kept(s, wait, insn, stage, kept)->alternates;
}

bool stage_parity_before_first(const struct flow_setup *s, uint32_t wait, uint32_t insn, uint32_t stage,
	struct stage_parities *kept)
{
	return parity_kept(s, wait, insn, stage, kept)->before_first;
}

bool stage_parity_starts(const struct flow_setup *s, uint32_t wait, uint32_t insn)
{
	const struct values *vs = s->unit->values;
	const struct insn *at = &vs->fn->insns[wait];
	const struct operand *phase = insn_source(vs->fn, at, 1);
	struct rounds_of r = {.vs = vs,
		.head = common_head(vs->cfg, vs->cfg->block_of[wait], vs->cfg->block_of[insn])};
	uint32_t node = trips_plain_node(vs, phase);
	uint64_t v;
	int64_t c;

	if (!insn_has(at, MOD_parity))
		return true;
	if (trips_constant_of(vs, phase, &c))
		return !(c & 1);
	r.given = (struct thread_given){phi_holds, &r};
	return node != NONE && number(&r, node, &v) && !r.guessed && !(v & 1);
}
