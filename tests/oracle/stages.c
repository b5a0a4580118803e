/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rings of stages with an mbarrier for each: full and empty ones side by side, a register that counts the
 * stages and one whose bit flips when it starts over. One role fills a stage by a bulk load and the
 * other reads it, or one writes it and the other copies it away; an arrive may stand for the stage
 * before, when the next one is read or written already. Mostly; now and then something is not as it
 * should be.
 */
#include "say.h"

/* Registers: of the stage that is worked at, of the one that is given up, one past the first. */
enum { NOW, LAST, PAST };

enum { VALUE_NOW = 1, VALUE_NEXT = 2 };

struct ring {
	int n, full, empty, rounds;
	int lag, lag_of_fillers; /* rounds before a stage is given up; their sum is less than n */
	bool loads; /* the stages are filled by bulk loads */
	bool by_lane; /* one lane of each warp arrives */
	bool early;   /* when the lanes have met before they read or write, not behind that */
	bool counted; /* the stage follows from the loop's counter */
	struct who fillers, users;
	enum pred pred;
	struct loop l;
};

static int warps_in(int warps)
{
	return __builtin_popcount((unsigned)warps);
}

/* ---- the registers ---- */

static void put_set(struct maker *m, int ring, int stage, int parity)
{
	put(m, "\tmov.u32 %%w%d, %d;", ring, parity);
	struct step *s = put(m, "\tmov.u32 %%s%d, %d;", ring, stage);
	s->op = OP_STAGE_SET;
	s->ring = 1 + ring;
	s->value = stage;
	s->count = parity;
}

static void put_copy(struct maker *m, int to, int from)
{
	put(m, "\tmov.u32 %%w%d, %%w%d;", to, from);
	struct step *s = put(m, "\tmov.u32 %%s%d, %%s%d;", to, from);
	s->op = OP_STAGE_COPY;
	s->ring = 1 + to;
	s->value = from;
}

/* `offset` rounds after the present one. */
static void put_of_counter(struct maker *m, int ring, int n, int depth, int offset)
{
	int t = temp(m), i = temp(m);
	put(m, "\tadd.u32 %%r%d, %%i%d, %d;", i, depth, offset);
	if (n & (n - 1)) {
		put(m, "\tdiv.u32 %%r%d, %%r%d, %d;", t, i, n);
		put(m, "\tand.b32 %%w%d, %%r%d, 1;", ring, t);
		if (chance(m, 50))
			put(m, "\trem.u32 %%s%d, %%r%d, %d;", ring, i, n);
		else
			put(m, "\tmad.lo.s32 %%s%d, %%r%d, -%d, %%r%d;", ring, t, n, i);
	} else {
		put(m, "\tshr.u32 %%r%d, %%r%d, %d;", t, i, __builtin_ctz((unsigned)n));
		put(m, "\tand.b32 %%w%d, %%r%d, 1;", ring, t);
		put(m, "\tand.b32 %%s%d, %%r%d, %d;", ring, i, n - 1);
	}
	struct step *s = &m->p->lines[m->p->n - 1].step;
	s->op = OP_STAGE_OF;
	s->ring = 1 + ring;
	s->depth = depth;
	s->count = n;
	s->value = offset;
}

/* The next stage, behind a branch where it starts over. */
static void put_next_by_branch(struct maker *m, int ring, int n)
{
	int l = label(m);
	struct step *s = put(m, "\tadd.u32 %%s%d, %%s%d, 1;", ring, ring);
	s->op = OP_STAGE_STEP;
	s->ring = 1 + ring;
	put_jump(m, (struct cond){COND_STAGE, ring, n, true}, l);
	put(m, "\txor.b32 %%w%d, %%w%d, 1;", ring, ring);
	s = put(m, "\tmov.u32 %%s%d, 0;", ring);
	s->op = OP_STAGE_WRAP;
	s->ring = 1 + ring;
	put_label(m, l);
}

static void put_next(struct maker *m, int ring, int n)
{
	int k = below(m, 4), t = temp(m), p = temp(m);
	if (k == 0) {
		put_next_by_branch(m, ring, n);
		return;
	}
	put(m, "\tadd.u32 %%r%d, %%s%d, 1;", t, ring);
	if (k == 1)
		put(m, "\tsetp.eq.u32 %%q%d, %%s%d, %d;", p, ring, n - 1);
	else
		put(m, "\tsetp.eq.u32 %%q%d, %%r%d, %d;", p, t, n);
	if (k == 3) {
		put(m, "\t@%%q%d xor.b32 %%w%d, %%w%d, 1;", p, ring, ring);
	} else {
		int x = temp(m);
		put(m, "\tselp.b32 %%r%d, 1, 0, %%q%d;", x, p);
		put(m, "\txor.b32 %%w%d, %%w%d, %%r%d;", ring, ring, x);
	}
	struct step *s = put(m, "\tselp.b32 %%s%d, 0, %%r%d, %%q%d;", ring, t, p);
	s->op = OP_STAGE_NEXT;
	s->ring = 1 + ring;
	s->count = n;
}

/* ---- statements ---- */

/* From here on accesses may be in the stages of these registers. */
static void use_stages(struct maker *m, const struct ring *r, int reg, int other)
{
	m->stages.n = r->n;
	m->stages.regs[0] = reg;
	m->stages.regs[1] = other;
	m->stages.nregs = other == NONE ? 1 : 2;
}

static void use_no_stages(struct maker *m)
{
	m->stages.nregs = 0;
}

static void put_wait(struct maker *m, const struct ring *r, int first, int ring, enum parity parity)
{
	put_mb_wait(m, (struct step){.barrier = first, .ring = 1 + ring, .parity = parity});
	if (r->by_lane && r->early)
		put_warp_sync(m);
}

static void put_arrive(struct maker *m, const struct ring *r, int first, int ring, struct cond c)
{
	if (r->by_lane && !r->early)
		put_warp_sync(m);
	if (r->by_lane)
		c = on(PRED_LANE);
	put_mb_arrive(m, (struct step){.barrier = first, .ring = 1 + ring, .guard = c});
}

static void put_load(struct maker *m, const struct ring *r, int ring, struct cond c)
{
	char guard[32], at[48], mb[48];
	use_stages(m, r, ring, NONE);
	struct place to = place_bulk(m), from = place_global(m, to.size);
	use_no_stages(m);
	struct step like = {.barrier = r->full, .ring = 1 + NOW};
	address(m, &to, false, at, sizeof(at));
	mb_address(m, &like, mb, sizeof(mb));
	cond_name(m, c, guard, sizeof(guard));
	struct step *s = put(m, "\t%smbarrier.arrive.expect_tx.shared.b64 _, %s, %d;", guard, mb, to.size);
	s->op = OP_MB_ARRIVE;
	s->guard = c;
	s->barrier = r->full;
	s->ring = 1 + NOW;
	s = put(m,
		"\t%scp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes %s, [%%in+%d], %d, "
		"%s;",
		guard, at, from.base, to.size, mb);
	s->op = OP_BULK_LOAD;
	s->guard = c;
	s->to = to;
	s->from = from;
}

static void put_value(struct maker *m, int ring, int v, const struct ring *r)
{
	char at[48];
	use_stages(m, r, ring, NONE);
	struct place from = place_small(m, 4);
	use_no_stages(m);
	from.peer = false;
	address(m, &from, false, at, sizeof(at));
	struct step *s = put(m, "\tld.shared.u32 %%v%d, %s;", v, at);
	s->op = OP_READ;
	s->to = from;
	s->value = v;
}

static void put_use_of(struct maker *m, int v)
{
	struct step *s = put(m, "\tst.global.u32 [%%out+%d], %%v%d;", 4 * v, v);
	s->op = OP_USE;
	s->value = v;
}

/* ---- loops ---- */

static void begin(struct maker *m, struct ring *r)
{
	put_set(m, NOW, 0, 0);
	put_set(m, LAST, 0, 0);
	if (chance(m, 50))
		put_set(m, PAST, 1 % r->n, 0);
	else
		put_copy(m, PAST, NOW);
	loop_again(m, &r->l);
	if (r->counted)
		put_of_counter(m, NOW, r->n, r->l.depth, 0);
	if (r->counted && r->lag && chance(m, 50))
		put_of_counter(m, PAST, r->n, r->l.depth, 1);
}

static void end(struct maker *m, struct ring *r)
{
	if (!r->counted)
		put_next(m, NOW, r->n);
	loop_end(m, &r->l);
}

/* The stage is done with, or the one `lag` rounds before it. */
static void put_give(struct maker *m, const struct ring *r, int first, int lag)
{
	int skip = label(m);
	if (lag == 0) {
		put_arrive(m, r, first, chance(m, 2) ? LAST : NOW, always());
		return;
	}
	if (lag == 1 && chance(m, 40)) {
		if (r->by_lane)
			put_jump(m, (struct cond){COND_LOOP_GE, r->l.depth, 1, true}, skip);
		put_arrive(m, r, first, LAST,
			r->by_lane ? always() : (struct cond){COND_LOOP_GE, r->l.depth, 1, false});
		put_label(m, skip);
		put_copy(m, LAST, NOW);
		return;
	}
	put_jump(m, (struct cond){COND_LOOP_GE, r->l.depth, lag, true}, skip);
	put_arrive(m, r, first, LAST, always());
	put_next(m, LAST, r->n);
	put_label(m, skip);
}

/* What is left to be given up after the loop. */
static void put_rest(struct maker *m, const struct ring *r, int first, int lag)
{
	for (int i = 0; i < lag; i++) {
		int skip = label(m);
		put_jump(m, (struct cond){COND_LOOP_GE, r->l.depth, lag - i, true}, skip);
		put_arrive(m, r, first, LAST, always());
		put_next(m, LAST, r->n);
		put_label(m, skip);
	}
}

static void put_loader(struct maker *m, struct ring *r)
{
	bool single = r->fillers.warps != 1 || chance(m, 40);
	int end_of = label(m);
	struct cond others = on(PRED_FIRST);
	others.negated = true;
	if (single)
		put_jump(m, others, end_of);
	begin(m, r);
	put_wait(m, r, r->empty, NOW, PARITY_RING_OTHER);
	if (chance(m, m->fence_odds / 3))
		put_fence(m, always());
	if (!single)
		put_warp_sync(m);
	put_load(m, r, chance(m, 5) ? PAST : NOW, single ? always() : on(PRED_FIRST));
	if (chance(m, 10))
		make_body(m, &(struct who){.warps = r->fillers.warps, .in_loop = true}, 1);
	end(m, r);
	put_label(m, end_of);
}

/* Reads the next stage before it uses what it has read of this one. */
static void put_reader_ahead(struct maker *m, struct ring *r)
{
	int last = label(m), v = VALUE_NOW;
	put_set(m, NOW, 0, 0);
	put_wait(m, r, r->full, NOW, PARITY_RING);
	put_value(m, NOW, VALUE_NOW, r);
	loop_again(m, &r->l);
	put_copy(m, LAST, NOW);
	put_next(m, NOW, r->n);
	put_jump(m, (struct cond){COND_LOOP_EQ, r->l.depth, r->l.leave.b - 1, false}, last);
	put_wait(m, r, r->full, NOW, PARITY_RING);
	put_value(m, NOW, VALUE_NEXT, r);
	put_label(m, last);
	if (chance(m, 75))
		put_use_of(m, v);
	if (chance(m, m->fence_odds / 2))
		put_fence(m, rare_guard(m));
	if (chance(m, 20)) {
		use_stages(m, r, NOW, LAST);
		make_body(m, &r->users, 1);
		use_no_stages(m);
	}
	put_arrive(m, r, r->empty, chance(m, 5) ? NOW : LAST, always());
	if (chance(m, 20))
		put_use_of(m, v);
	struct step *s = put(m, "\tmov.u32 %%v%d, %%v%d;", v, VALUE_NEXT);
	s->op = OP_MOVE;
	s->value = VALUE_NEXT;
	s->result = v;
	loop_end(m, &r->l);
}

/* Whoever has given it up, or has not waited for it, has no business there; nor who only asks. */
static void put_touch_other(struct maker *m, struct ring *r, int ring)
{
	if (chance(m, 50))
		put_mb_ask(m, (struct step){.barrier = r->full,
				      .ring = 1 + ring,
				      .parity = chance(m, 70) ? PARITY_RING_OTHER : PARITY_RING});
	use_stages(m, r, ring, NONE);
	chance(m, 70) ? put_write(m) : put_read(m);
	use_no_stages(m);
}

static void put_reader(struct maker *m, struct ring *r)
{
	int n = 1 + below(m, 2);
	if (chance(m, 8)) {
		put_set(m, NOW, below(m, r->n), 0);
		put_touch_other(m, r, NOW);
	}
	begin(m, r);
	put_wait(m, r, r->full, NOW, PARITY_RING);
	use_stages(m, r, NOW, chance(m, 15) ? LAST : NONE);
	for (int i = 0; i < n; i++)
		chance(m, 70) ? put_read(m) : chance(m, 30) ? put_write(m) : put_matrix_read(m);
	if (chance(m, 50))
		put_use(m);
	if (chance(m, 20))
		make_body(m, &r->users, 1);
	use_no_stages(m);
	if (chance(m, m->fence_odds / 2))
		put_fence(m, rare_guard(m));
	put_give(m, r, r->empty, r->lag);
	if (r->lag && chance(m, 30)) /* too late for what that has handed over */
		put_fence(m, always());
	if (chance(m, 10))
		put_touch_other(m, r, below(m, 2) ? NOW : LAST);
	if (chance(m, 25))
		put_use(m);
	end(m, r);
	if (chance(m, 30))
		put_rest(m, r, r->empty, r->lag);
}

static void put_writer(struct maker *m, struct ring *r)
{
	int n = 1 + below(m, 2);
	begin(m, r);
	put_wait(m, r, r->empty, NOW, PARITY_RING_OTHER);
	use_stages(m, r, NOW, chance(m, 10) ? LAST : NONE);
	for (int i = 0; i < n; i++)
		chance(m, 70) ? put_write(m) : chance(m, 60) ? put_matrix_write(m) : put_copies(m);
	if (chance(m, 20))
		make_body(m, &r->fillers, 1);
	use_no_stages(m);
	maybe_fence(m);
	put_give(m, r, r->full, r->lag_of_fillers);
	end(m, r);
	put_rest(m, r, r->full, r->lag_of_fillers);
}

static void put_sender(struct maker *m, struct ring *r)
{
	begin(m, r);
	put_wait(m, r, r->full, NOW, PARITY_RING);
	if (chance(m, 12))
		put_fence(m, rare_guard(m));
	use_stages(m, r, chance(m, 5) ? PAST : NOW, NONE);
	put_async(m, &r->users);
	if (chance(m, 25))
		make_body(m, &r->users, 1);
	use_no_stages(m);
	if (chance(m, m->fence_odds / 2))
		put_fence(m, always());
	put_give(m, r, r->empty, r->lag);
	end(m, r);
	if (chance(m, 30))
		put_rest(m, r, r->empty, r->lag);
}

/* ---- the ring ---- */

static bool choose(struct maker *m, const struct who *who, struct ring *r)
{
	static const int strides[] = {256, 512, 512, 1024, 768};
	bool wide = m->group && m->p->warps == 5;
	int ones = wide && chance(m, 60) ? 0xf : 1, others = all_warps(m) & ~ones;
	r->n = 2 + below(m, 3);
	r->loads = chance(m, 60);
	if (m->nmbarriers + 2 * r->n > NMBARRIERS || m->depth == NDEPTHS)
		return false;
	r->pred = ones == 0xf ? PRED_GROUP : PRED_WARP0;
	bool swap = ones == 0xf ? !r->loads : r->loads || chance(m, 50);
	r->fillers = (struct who){.warps = swap ? ones : others, .whole_warps = true, .in_loop = true};
	r->users = (struct who){.warps = swap ? others : ones, .whole_warps = true, .in_loop = true};
	if (!(r->fillers.warps & 1) && r->loads)
		return false; /* the first thread loads */
	r->by_lane = chance(m, 30);
	r->early = chance(m, 15);
	r->counted = chance(m, 30);
	r->lag = chance(m, 50) ? 1 : r->n > 2 && chance(m, 20) ? 2 : 0;
	r->lag_of_fillers = !r->loads && r->lag + 1 < r->n ? below(m, 2) : 0;
	int each = r->by_lane ? 1 : 32, model = r->by_lane ? 1 : 2, f = warps_in(r->fillers.warps),
	    u = warps_in(r->users.warps);
	r->full = r->empty = 0;
	for (int i = 0; i < r->n; i++) {
		int mb = new_mbarrier(m, r->loads ? 1 : each * f, r->loads ? 1 : model * f);
		r->full = i ? r->full : mb;
	}
	bool few = u > 1 && chance(m, 8); /* a phase ends before all have arrived */
	for (int i = 0; i < r->n; i++) {
		int mb = new_mbarrier(m, few ? each : each * u, few ? model : model * u);
		r->empty = i ? r->empty : mb;
	}
	r->rounds = r->n + 1 + below(m, r->n);
	r->l = (struct loop){.depth = m->depth,
		.leave = {chance(m, 50) ? COND_LOOP_GE_N : COND_LOOP_GE, m->depth, r->rounds, false}};
	m->p->rounds = r->rounds;
	m->stages.stride = strides[below(m, 5)];
	m->stages.var = chance(m, 30);
	return who->warps == all_warps(m);
}

void make_stages(struct maker *m, const struct who *who)
{
	struct ring r = {0};
	uint64_t before = m->more;
	int one = label(m), end_of = label(m);
	if (who->in_loop || who->alone || !choose(m, who, &r))
		return;
	bool ahead = r.loads && r.l.leave.kind == COND_LOOP_GE && chance(m, 40);
	m->more |= bit(FEATURE_STAGES) | (r.lag || r.lag_of_fillers || ahead ? bit(FEATURE_AHEAD) : 0);
	bool fills = r.pred == PRED_GROUP ? r.fillers.warps == 0xf : r.fillers.warps & 1;
	put_jump(m, on(r.pred), one);
	for (int i = 0; i < 2; i++) {
		if ((i == 1) == fills)
			r.loads ? put_loader(m, &r) : put_writer(m, &r);
		else if (!r.loads)
			put_sender(m, &r);
		else
			ahead ? put_reader_ahead(m, &r) : put_reader(m, &r);
		if (i == 0) {
			put_jump(m, always(), end_of);
			put_label(m, one);
		}
	}
	put_label(m, end_of);
	if (chance(m, 30))
		put_barrier(m, who);
	if (chance(m, 30))
		put_async(m, who);
	m->more = before;
}
