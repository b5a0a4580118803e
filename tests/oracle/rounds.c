/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pieces of random programs in which it counts how often threads meet: loops whose bound comes out of
 * shared memory, and waits for the phase before the first.
 */
#include "say.h"

enum { NBOUNDS = 8 };

/* The first thread leaves a number where all can read it. */
static void put_leave(struct maker *m, int slot, int number)
{
	int t = temp(m);
	put(m, "\tmov.u32 %%r%d, %d;", t, number);
	struct step *s = put(m, "\t@%%first st.shared.u32 [bounds+%d], %%r%d;", 4 * slot, t);
	s->op = OP_LEAVE;
	s->guard = on(PRED_FIRST);
	s->barrier = slot;
	s->value = number;
}

static void put_take(struct maker *m, int slot, int depth)
{
	struct step *s = put(m, "\tld.shared.u32 %%b%d, [bounds+%d];", depth, 4 * slot);
	s->op = OP_TAKE;
	s->barrier = slot;
	s->depth = depth;
}

/* A round in which all meet `barriers` times and at nothing else. */
static void put_round(struct maker *m, const struct who *who, int barriers)
{
	struct who inner = {.warps = who->warps, .in_loop = true};
	for (int i = 0; i < barriers; i++) {
		make_body(m, &inner, 1 + below(m, 2));
		maybe_fence(m);
		put_sync(m, 0, all_warps(m), true);
		if (chance(m, 70))
			put_async(m, &inner);
	}
}

static void put_bound_loop(struct maker *m, const struct who *who, int barriers)
{
	struct loop l = {.depth = m->depth++, .head = label(m), .end = label(m)};
	struct step *s = put(m, "\tmov.u32 %%i%d, 0;", l.depth);
	s->op = OP_LOOP_ZERO;
	s->depth = l.depth;
	put_label(m, l.head);
	put_jump(m, (struct cond){COND_LOOP_GE_BOUND, l.depth, 0, false}, l.end);
	put_round(m, who, barriers);
	loop_end(m, &l);
}

/* All have read the number but for warp 0, which reads another one then: the same load, in order. */
static void put_unequal(struct maker *m, int slot, int number, int id)
{
	int skip = label(m), taken = label(m);
	struct cond others = on(PRED_WARP0);
	others.negated = true;
	put_jump(m, others, skip);
	put_sync(m, id, all_warps(m), true);
	put_leave(m, slot, number);
	struct step *s = put(m, "\tbar.warp.sync -1;");
	s->op = OP_WARP_SYNC;
	s->features |= bit(FEATURE_WARP_SYNC);
	put_label(m, skip);
	put_take(m, slot, m->depth);
	put_jump(m, on(PRED_WARP0), taken);
	put_sync(m, id, all_warps(m), false);
	put_label(m, taken);
}

/* Who has been in fewer rounds meets the others as often as they want. */
static void put_rest(struct maker *m, const struct who *who, bool warp0, int barriers)
{
	int end = label(m);
	struct cond others = on(PRED_WARP0);
	others.negated = warp0;
	put_jump(m, others, end);
	put_round(m, who, barriers);
	put_label(m, end);
}

void make_bound(struct maker *m, const struct who *who)
{
	int slot = m->nbounds, barriers = 1 + below(m, 2), one = below(m, 3), other = below(m, 3);
	if (!who->all || m->depth == NDEPTHS || slot == NBOUNDS)
		return;
	uint64_t before = m->more;
	int k = below(m, 100);
	int id = m->p->warps > 1 && !who->in_loop && !m->cluster && k < 40 ? role_id(m) : NONE;
	m->nbounds++;
	m->more |= bit(FEATURE_BOUND);
	put_leave(m, slot, one);
	put_sync(m, 0, all_warps(m), true);
	if (id != NONE) {
		put_unequal(m, slot, other, id);
	} else if (k > 90 && !m->cluster) {
		m->p->races = true;
		put_leave(m, slot, other);
		put_take(m, slot, m->depth);
	} else {
		if (chance(m, 30))
			make_body(m, &(struct who){.warps = who->warps, .in_loop = who->in_loop}, 1);
		put_take(m, slot, m->depth);
	}
	put_bound_loop(m, who, barriers);
	if (id != NONE && one != other)
		put_rest(m, who, other < one, barriers * (other < one ? one - other : other - one));
	if (who->in_loop || chance(m, 50))
		put_sync(m, 0, all_warps(m), true);
	m->more = before;
}

static void put_stage(struct maker *m, const struct who *who, int full, int empty)
{
	put_mb_wait(m, (struct step){.barrier = full});
	make_body(m, who, 1 + below(m, 2));
	maybe_fence(m);
	put_mb_arrive(m, (struct step){.barrier = empty});
}

/* Two rounds over two stages, written out: who issues waits first for the phase before the first. */
void make_fresh(struct maker *m, const struct who *who)
{
	struct who issuers = {.warps = 1, .whole_warps = true},
		   others = {.warps = all_warps(m) & ~1, .whole_warps = true};
	int n = m->p->warps - 1, one = label(m), end = label(m), empty[2], full[2];
	bool again = chance(m, 30);
	if (!n || who->in_loop || m->nmbarriers + 4 > NMBARRIERS)
		return;
	uint64_t before = m->more;
	m->more |= bit(FEATURE_FRESH);
	for (int s = 0; s < 2; s++) {
		empty[s] = new_mbarrier(m, 32 * n, 2 * n);
		full[s] = new_mbarrier(m, 32, 2);
	}
	put_jump(m, on(PRED_WARP0), one);
	if (chance(m, 30))
		make_body(m, &others, 1);
	for (int s = 0; s < 2; s++)
		put_stage(m, &others, full[s], empty[s]);
	put_jump(m, always(), end);
	put_label(m, one);
	for (int s = 0; s < 2; s++) {
		put_mb_wait(m, (struct step){.barrier = empty[s], .parity = PARITY_ONE});
		put_async(m, &issuers);
		if (chance(m, 20))
			make_body(m, &issuers, 1);
		put_mb_arrive(m, (struct step){.barrier = full[s]});
	}
	for (int s = 0; again && s < 2; s++) {
		put_mb_wait(m, (struct step){.barrier = empty[s]});
		put_async(m, &issuers);
	}
	put_label(m, end);
	m->more = before;
}

/* In each round other warps write for the rest; mostly all meet between two of them. */
void make_turned(struct maker *m, const struct who *who)
{
	struct who inner = {.warps = who->warps, .in_loop = true};
	int id = role_id(m), other = label(m), end = label(m);
	bool apart = chance(m, 75), arrive = apart && chance(m, 25), twice = chance(m, 25);
	if (id == NONE || m->depth == NDEPTHS)
		return;
	uint64_t before = m->more;
	m->more |= bit(FEATURE_TURNS);
	struct loop l = loop_begin(m);
	struct cond turn = {COND_TURN, l.depth, 0, false};
	put_jump(m, turn, other);
	make_body(m, &inner, 1 + below(m, 2));
	maybe_fence(m);
	put_sync(m, id, all_warps(m), !arrive);
	if (chance(m, 40))
		make_body(m, &inner, 1);
	if (twice)
		put_sync(m, 0, all_warps(m), true);
	put_jump(m, always(), end);
	put_label(m, other);
	if (chance(m, 40))
		make_body(m, &inner, 1);
	put_sync(m, id, all_warps(m), true);
	put_async(m, &inner);
	if (twice)
		put_sync(m, 0, all_warps(m), true);
	if (chance(m, 30))
		make_body(m, &inner, 1);
	put_label(m, end);
	if (apart)
		put_sync(m, 0, all_warps(m), true);
	loop_end(m, &l);
	m->more = before;
}
