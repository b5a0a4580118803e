/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In: facts and the async accesses that they make edges with; later, runs of the flow. Out: meetings
 * that are none, because the two accesses are in other stages of a ring unless a round ends between them.
 * Invariant: a meeting is called none only if no way along which the fact stays pending leads over the
 * definition of the register that both stages are computed from to the async access; on such a way only an
 * unguarded fence is taken to end it.
 */
#include "analysis/rounds.h"

#include "analysis/extent.h"
#include "analysis/stage_split.h"
#include "analysis/stages.h"
#include "analysis/threads.h"

#define SHARED_MOST (INT64_C(1) << 18) /* addresses of shared memory are below */
#define PAIRS_MOST (UINT64_C(1) << 16)

/* One fact that makes no edge with an async access in the same round of `root`. */
struct round_pair {
	uint32_t fact, root, assumptions;
};

struct rounds {
	struct round_pair **of; /* by access: its pairs, by fact; NULL: none */
	uint32_t *n;
	struct bits blocks;
	bool any;
};

/* ---- pairs ---- */

#define ASKED_LISTS 64

struct asked { /* whether two registers are other stages of a ring, and under what */
	struct asked *next;
	uint32_t a, b, root, assumptions;
	bool differ;
};

struct finder {
	struct unit *unit;
	struct values *vs;
	struct stage_sum *sums; /* by access, where it was looked at */
	bool *looked;
	struct asked *asked[ASKED_LISTS];
	struct numbers *numbers[NUMBERS_LISTS];
};

static const struct touch *touch_of(const struct unit *unit, const struct access *a)
{
	return &unit->effects[a->insn]->touches[a->touch];
}

static const struct operand *address_of(const struct unit *unit, uint32_t access)
{
	const struct access *a = &unit->accesses.v[access];
	const struct touch *t = touch_of(unit, a);

	return t->operand == UINT8_MAX
		       ? NULL
		       : insn_operand(unit->fn, &unit->fn->insns[a->insn], t->operand);
}

static bool is_descriptor(const struct unit *unit, const struct access *a)
{
	return touch_of(unit, a)->extent == EXTENT_WGMMA;
}

/* Bytes for each 1 in the operand. */
static uint32_t descriptor_unit(const struct finder *f, uint32_t async)
{
	return is_descriptor(f->unit, &f->unit->accesses.v[async]) ? 16 : 1;
}

static bool number_within(const struct values *vs, uint32_t node, int64_t *hi, uint32_t *assumptions)
{
	struct value v = *value_at(vs, node);

	if (v.base != BASE_NUMBER || v.lo < 0 || v.hi >= SHARED_MOST)
		return false;
	*hi = v.hi;
	*assumptions |= v.assumptions;
	return true;
}

/* A stage may go so many bytes on. */
static bool is_stride(uint64_t bytes)
{
	return bytes >= 16 && bytes <= SHARED_MOST;
}

/* Of an address only the registers that may be the number of a stage. */
static const struct stage_sum *sum_of(struct finder *f, uint32_t access)
{
	struct stage_sum *s = &f->sums[access];
	const struct access *a = &f->unit->accesses.v[access];
	uint32_t unit = descriptor_unit(f, access), n = 0, unused = 0;
	int64_t most;

	if (f->looked[access])
		return s;
	f->looked[access] = true;
	if (f->unit->cfg.blocks[f->unit->cfg.block_of[a->insn]].loop_head == NONE ||
		(a->address.base != BASE_SYMBOL && a->address.base != BASE_DERIVED) ||
		!stage_sum_of(f->vs, address_of(f->unit, access), s))
		s->n = 0;
	for (uint32_t k = 0; k < s->n; k++)
		if (is_stride(unit * s->terms[k].factor) &&
			number_within(f->vs, s->terms[k].node, &most, &unused))
			s->terms[n++] = s->terms[k];
	s->n = n;
	return s;
}

/* How far an async access may begin below where its operand points: at the start of a row. */
static void moved_down(const struct finder *f, uint32_t async, int64_t *least, int64_t *most)
{
	const struct access *a = &f->unit->accesses.v[async];
	struct value v = value_of(f->vs, a->insn, address_of(f->unit, async));
	struct descriptor d;

	*least = 0;
	*most = is_descriptor(f->unit, a) ? 112 : 0;
	if (*most && value_descriptor(f->vs, &v, &d) && d.start.stride == a->address.stride &&
		d.start.lo - a->address.lo == d.start.hi - a->address.hi &&
		d.start.lo - a->address.lo <= *most)
		*least = *most = d.start.lo - a->address.lo;
}

static bool is_near(const struct value *v)
{
	return v->lo > -SHARED_MOST && v->hi < SHARED_MOST;
}

/* Where the two begin without their stages lies so near that other stages never overlap. */
static bool never_reach(struct finder *f, const struct access *g, uint32_t async, const struct part *x,
	const struct part *y, int64_t stages, uint32_t *assumptions)
{
	const struct access *a = &f->unit->accesses.v[async];
	struct value p = x->rest, q = y->rest;
	int64_t size = x->factor, least, most;
	struct descriptor d;

	if (is_descriptor(f->unit, a)) {
		if (!value_descriptor(f->vs, &q, &d))
			return false;
		q = d.start;
	}
	if (p.base != q.base || p.id != q.id || (p.base != BASE_SYMBOL && p.base != BASE_DERIVED) ||
		!is_near(&p) || !is_near(&q) || g->bytes > 1 << 16 || a->bytes > 1 << 17)
		return false;
	moved_down(f, async, &least, &most);
	int64_t lo = p.lo - q.hi, hi = p.hi - q.lo; /* from where the async one's operand points */
	int64_t bytes = (int64_t)a->bytes, own = (int64_t)g->bytes;
	int64_t reach = size * stages + (hi > -lo ? hi : -lo) + bytes + own + most;

	*assumptions |= p.assumptions | q.assumptions | a->extent_assumptions | g->extent_assumptions;
	return reach < SHARED_MOST && lo + size >= bytes - least && hi - size <= -own - most;
}

/* Without their stages, `nodes`, the two lie near each other: by what their registers hold, or by what each
 * thread makes of them. */
static bool rest_is_near(struct finder *f, uint32_t generic, uint32_t async, const uint32_t *nodes,
	int64_t stages, uint32_t *assumptions)
{
	const struct access *g = &f->unit->accesses.v[generic];
	uint32_t unit = descriptor_unit(f, async);
	struct part p, q;

	for (uint32_t by_thread = 0; by_thread < 2; by_thread++) {
		struct split s = {.vs = f->vs,
			.stage = nodes[0],
			.kept = by_thread ? f->numbers : NULL,
			.block = f->unit->cfg.block_of[g->insn]};
		struct split t = {.vs = f->vs, .stage = nodes[1]};
		uint32_t rests_on = *assumptions;

		if (!split_operand(&s, address_of(f->unit, generic), &p) ||
			!split_operand(&t, address_of(f->unit, async), &q) ||
			p.factor != unit * q.factor)
			return false;
		if (!never_reach(f, g, async, &p, &q, stages, &rests_on))
			continue;
		*assumptions = rests_on | s.assumptions;
		return true;
	}
	return false;
}

/* Most pairs of accesses ask about the same few registers. */
static const struct asked *ask(struct finder *f, uint32_t a, uint32_t b)
{
	struct asked **list = &f->asked[(a ^ b) % ASKED_LISTS], *it;

	for (it = *list; it; it = it->next)
		if (it->a == a && it->b == b)
			return it;
	it = ARENA_NEW(f->unit->arena, struct asked, 1);
	*it = (struct asked){.next = *list, .a = a, .b = b};
	it->differ = stages_differ(f->vs, a, b, &it->root, &it->assumptions);
	return *list = it;
}

/* Some register of the one and some of the other are stages of one ring that differ. */
static bool in_other_stages(
	struct finder *f, uint32_t generic, uint32_t async, struct round_pair *pair)
{
	const struct stage_sum *s = sum_of(f, generic), *t = sum_of(f, async);
	uint32_t unit = descriptor_unit(f, async);

	for (uint32_t i = 0; i < s->n; i++)
		for (uint32_t k = 0; k < t->n; k++) {
			uint32_t x = s->terms[i].node, y = t->terms[k].node, rests_on = 0;
			uint32_t factor = s->terms[i].factor;
			const struct asked *asked;
			int64_t m, n;

			if (x == y || factor != unit * t->terms[k].factor ||
				!number_within(f->vs, x, &m, &rests_on) ||
				!number_within(f->vs, y, &n, &rests_on) ||
				!(asked = ask(f, x, y))->differ)
				continue;
			pair->root = asked->root;
			pair->assumptions = rests_on | asked->assumptions;
			m = m > n ? m : n;
			if (rest_is_near(f, generic, async, (uint32_t[]){x, y}, m, &pair->assumptions))
				return true;
		}
	return false;
}

static bool is_plain(const struct access *g)
{
	return !g->cp_async && !g->st_async && !g->call && !g->peer && g->bytes != UINT64_MAX;
}

static void find_pairs(struct finder *f, struct rounds *r, const struct facts *facts, uint32_t async)
{
	const struct fact_row *row = facts->row[async];
	const struct access *a = &f->unit->accesses.v[async];
	uint32_t cap = 0;

	if (!row || a->peer || !sum_of(f, async)->n)
		return;
	for (uint32_t i = 0; i < row->n; i++)
		for (uint64_t mask = row->mask[i]; mask; mask &= mask - 1) {
			struct round_pair pair = {.fact = row->word[i] * 64 +
							  (uint32_t)__builtin_ctzll(mask)};
			const struct fact *fact = &facts->v[pair.fact];

			if (fact->form != FORM_PENDING || fact->space != SPACE_SHARED ||
				!is_plain(&f->unit->accesses.v[fact->access]) ||
				!in_other_stages(f, fact->access, async, &pair))
				continue;
			ARENA_PUSH(f->unit->arena, r->of[async], r->n[async], cap, pair);
		}
	if (!r->n[async])
		return;
	r->any = true;
	bits_set(r->blocks, f->unit->cfg.block_of[a->insn]);
}

static uint64_t count_pairs(const struct unit *unit, const struct facts *facts)
{
	uint64_t n = 0;

	for (uint32_t k = 0; k < unit->accesses.n; k++)
		for (uint32_t i = 0; facts->row[k] && i < facts->row[k]->n; i++)
			n += (uint64_t)__builtin_popcountll(facts->row[k]->mask[i]);
	return n;
}

struct rounds *rounds_find(struct unit *unit, const struct facts *facts)
{
	struct arena *arena = unit->arena;
	uint32_t n = unit->accesses.n;
	struct finder f = {.unit = unit, .vs = (struct values *)(uintptr_t)unit->values};

	if (facts->groups || f.vs->unsolved || count_pairs(unit, facts) > PAIRS_MOST)
		return NULL;
	struct rounds *r = ARENA_NEW(arena, struct rounds, 1);

	f.sums = ARENA_UNSET(arena, struct stage_sum, n);
	f.looked = ARENA_NEW(arena, bool, n);
	r->of = ARENA_NEW(arena, struct round_pair *, n);
	r->n = ARENA_NEW(arena, uint32_t, n);
	r->blocks = bits_new(arena, unit->cfg.n);
	for (uint32_t k = 0; k < n; k++)
		find_pairs(&f, r, facts, k);
	ARENA_GIVE_BACK(arena, f.looked, n);
	ARENA_GIVE_BACK(arena, f.sums, n);
	return r->any ? r : NULL;
}

bool rounds_in_block(const struct rounds *r, uint32_t block)
{
	return r && bits_has(r->blocks, block);
}

/* ---- runs ---- */

static const struct round_pair *pair_of(const struct rounds *r, uint32_t async, uint32_t fact)
{
	for (uint32_t i = 0; r && i < r->n[async]; i++)
		if (r->of[async][i].fact == fact)
			return &r->of[async][i];
	return NULL;
}

static bool kills(const struct flow_setup *s, const struct event *e, uint32_t fact)
{
	enum fence_kind kind = FENCE_NONE;

	if (e->kind == EVENT_PLACED)
		kind = (enum fence_kind)e->fence;
	if (e->kind == EVENT_FENCE && s->unit->fn->insns[e->insn].guard == NONE)
		kind = (enum fence_kind)(s->existing ? s->existing[e->insn]
						     : s->unit->effects[e->insn]->fence);
	return kind != FENCE_NONE && bits_has(s->fence[kind].kill, fact);
}

/* A fact of another round on its way to an access: of the thread itself, or of one that it heard it from. */
struct search {
	struct flow_setup *s;
	uint32_t fact, insn;
	bool foreign;
	uint32_t *todo, n, cap;
};

static void enter_succs(struct search *q, uint32_t b)
{
	struct flow_setup *s = q->s;
	const struct block *block = &s->unit->cfg.blocks[b];

	for (uint32_t i = 0; i < block->succ.n; i++) {
		uint32_t to = block->succ.v[i];

		if (s->seen[to] == s->round)
			continue;
		s->seen[to] = s->round;
		ARENA_PUSH(s->unit->arena, q->todo, q->n, q->cap, to);
	}
}

/* What others have done is settled here but for what they send now: the fact is no longer of another round, or
 * whoever has it of his own sends it. */
static bool resets(const struct flow_setup *s, uint32_t site, uint32_t fact)
{
	struct bits entered = epochs_entered(s, site);

	return entered.nwords && !bits_has(entered, fact) &&
	       s->unit->fn->insns[s->handoffs.sites[site].insn].guard == NONE;
}

/* From event e of block b on; true when the access is come to. */
static bool go_on(struct search *q, uint32_t b, uint32_t e)
{
	struct flow_setup *s = q->s;

	for (; e < flow_end(s, b); e++) {
		const struct event *event = &s->events[e];

		if (event->kind == EVENT_ASYNC && event->insn == q->insn)
			return true;
		if ((!q->foreign || !s->own_only) && kills(s, event, q->fact))
			return false;
		if (event->kind == EVENT_ACQUIRE && q->foreign && resets(s, event->arg, q->fact))
			return false;
		if (event->kind == EVENT_ACQUIRE && !q->foreign)
			s->heard[event->arg] = s->round;
	}
	enter_succs(q, b);
	return false;
}

static bool finish(struct search *q)
{
	while (q->n) {
		uint32_t b = q->todo[--q->n];

		if (flow_reached(q->s, b) && go_on(q, b, flow_first(q->s, b)))
			return true;
	}
	return false;
}

/* Lanes that meet here have come equally often to the root, which they all pass once a round, and so have the
 * same in it: what one of them hears was made in its own round, if it was in that of whoever sent it. */
static bool keeps_round(struct flow_setup *s, uint32_t number, uint32_t root)
{
	const struct sync_site *site = &s->handoffs.sites[number];
	const struct ids *from = &s->handoffs.from[number];
	const struct values *vs = s->unit->values;
	const struct cfg *cfg = &s->unit->cfg;
	uint32_t head = vs->ssa.nodes[root].block;

	if (!site->warp || from->n != 1 || from->v[0] != number ||
		vs->ssa.nodes[root].kind != NODE_PHI || value_varying(vs, false)[root] ||
		cfg->blocks[site->block].loop_head != head || s->unit->fn->insns[site->insn].guard != NONE)
		return false;
	for (uint32_t k = 0; k < cfg->blocks[head].pred.n; k++)
		if (trips_is_back_edge(vs, head, k) &&
			!cfg_dominates(cfg, site->block, cfg->blocks[head].pred.v[k]))
			return false;
	return true;
}

/* From where the root is made anew. */
static bool leads_from_root(struct search *q, uint32_t root)
{
	struct flow_setup *s = q->s;
	const struct node *n = &s->unit->values->ssa.nodes[root];
	struct bits own = {flow_row(s, n->block), s->set_words};
	bool phi = n->kind == NODE_PHI;
	uint32_t e = flow_first(s, n->block);

	if (!flow_reached(s, n->block) ||
		(phi && !bits_has(q->foreign ? flow_foreign(s, n->block) : own, q->fact)))
		return false;
	while (!phi && e < flow_end(s, n->block) && s->events[e].insn < n->insn)
		e++;
	return go_on(q, n->block, e) || finish(q);
}

/* Some way along which the fact is pending all along leads to the access from where the root is made anew, or
 * from where the fact comes in from a thread that may be in another round, or has it from one. */
static bool leads_over(struct flow_setup *s, uint32_t root, uint32_t fact, uint32_t insn)
{
	struct search q = {.s = s, .fact = fact, .insn = insn};
	bool met = false;

	s->round++;
	if (leads_from_root(&q, root))
		return true;
	uint32_t own_round = s->round++;

	q.foreign = true;
	if (leads_from_root(&q, root))
		return true;
	for (uint32_t i = 0; i < s->handoffs.n; i++) {
		const struct sync_site *site = &s->handoffs.sites[i];

		if (!site->acquires || !bits_has(s->received[i], fact) || !flow_reached(s, site->block))
			continue;
		bool keeps = keeps_round(s, i, root) && s->heard[i] != own_round;

		met |= keeps;
		if (!keeps && go_on(&q, site->block, flow_acquire_event(s, i) + 1))
			return true;
	}
	if (finish(&q))
		return true;
	s->led |= met ? ASSUME_CONVERGED_WARP : 0;
	return false;
}

bool rounds_apart(struct flow_setup *s, uint32_t async, uint32_t fact)
{
	const struct round_pair *pair = pair_of(s->rounds, async, fact);

	if (!pair || leads_over(s, pair->root, fact, s->unit->accesses.v[async].insn))
		return false;
	s->led |= pair->assumptions;
	return true;
}
