/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Leaders that fence for those with whom they arrive at an mbarrier: sets of threads write, each
 * meets at a barrier of its own, its leader fences, all of them arrive, and others wait there
 * before they load. Mostly; now and then something is not as it should be.
 */
#include "say.h"

/* A set of warps and the first thread of it. */
struct crew {
	int warps, id;
	enum pred leader;
};

struct plan {
	struct crew crews[2];
	int n, waiters;
	struct cond arrive; /* who of a set */
	int times, mb, back, together;
	bool loop, outsiders,
		ahead; /* the sets meet as one before they write, or when they have arrived */
	struct loop l;
};

static int warps_in(int warps)
{
	return __builtin_popcount((unsigned)warps);
}

/* Threads that arrive, of the program (per_warp = 32) or of the model (2). */
static int arrivals(const struct plan *p, int per_warp)
{
	int n = 0;
	for (int i = 0; i < p->n; i++)
		n += p->arrive.kind == COND_ALWAYS ? per_warp * warps_in(p->crews[i].warps)
		     : p->arrive.a == PRED_LANE	   ? warps_in(p->crews[i].warps)
						   : 1;
	return n * p->times;
}

static void choose_crews(struct maker *m, struct plan *p)
{
	int all = all_warps(m);
	*p = (struct plan){.n = 1, .times = 1, .back = NONE, .together = NONE};
	p->crews[0] = (struct crew){1, NONE, PRED_FIRST};
	if (m->p->warps > 2 && chance(m, 50)) {
		p->n = 2;
		p->crews[1] = (struct crew){2, NONE, PRED_SECOND};
	} else if (m->group && m->p->warps == 5) {
		p->crews[0].warps = 0xf;
	} else if (chance(m, 40)) {
		p->crews[0] = (struct crew){all & ~1, NONE, PRED_SECOND};
	}
	p->waiters = all;
	for (int i = 0; i < p->n; i++) {
		p->crews[i].id = role_id(m);
		p->waiters &= ~p->crews[i].warps;
	}
	if (p->n == 2 && chance(m, 50))
		p->together = role_id(m);
	p->ahead = chance(m, 50);
}

/* A count that is not the number of arrivals; false: no mbarrier is left. */
static bool choose_counts(struct maker *m, struct plan *p)
{
	int fewer = 0, others = 0;
	p->arrive = chance(m, 60) ? on(PRED_LANE) : always();
	if (p->n == 1 && chance(m, 15))
		p->arrive = on(p->crews[0].leader);
	p->times = chance(m, 8) ? 2 : 1;
	p->outsiders = chance(m, 8);
	if (p->outsiders && chance(m, 50))
		others = warps_in(p->waiters);
	if (arrivals(p, 1) > 1 && chance(m, 10))
		fewer = 1;
	bool all = p->arrive.kind == COND_ALWAYS;
	p->mb = new_mbarrier(m, arrivals(p, 32) + others - fewer * (all ? 32 : 1),
		arrivals(p, 2) + others - fewer * (all ? 2 : 1));
	/* two sets in a loop wait for each other, mostly */
	if (p->loop && chance(m, p->n == 2 ? 80 : 40))
		p->back = new_mbarrier(m, 32 * warps_in(p->waiters), 2 * warps_in(p->waiters));
	return p->mb != NONE;
}

static void begin(struct maker *m, struct plan *p, bool first)
{
	if (!p->loop)
		return;
	if (first)
		p->l = loop_begin(m);
	else
		loop_again(m, &p->l);
	if (!first)
		p->l.bottom = false;
}

static void put_crew(struct maker *m, struct plan *p, const struct crew *c, bool first)
{
	struct who who = {.warps = c->warps, .whole_warps = true, .in_loop = p->loop};
	struct who leader = {.warps = c->warps, .in_loop = p->loop};
	struct cond others = on(c->leader);
	int end = label(m);
	bool late = chance(m, 8);
	others.negated = true;
	begin(m, p, first);
	if (p->together != NONE && p->ahead)
		put_sync(m, p->together, p->crews[0].warps | p->crews[1].warps, true);
	if (p->back != NONE)
		put_mb_wait(m, (struct step){.barrier = p->back,
				       .depth = p->l.depth,
				       .parity = PARITY_LOOP_OTHER});
	make_body(m, &who, below(m, 2));
	put_write(m);
	if (c->id != NONE && chance(m, 93))
		put_sync(m, c->id, c->warps, true);
	else
		put_barrier(m, &who);
	put_jump(m, others, end);
	if (!late && chance(m, 90))
		put_fence(m, rare_guard(m));
	if (chance(m, 60))
		put_async(m, &leader);
	put_label(m, end);
	if (chance(m, 8))
		put_write(m);
	for (int i = 0; i < p->times; i++)
		put_mb_arrive(m, (struct step){.barrier = p->mb, .guard = p->arrive});
	if (late)
		put_fence(m, on(c->leader));
	if (p->together != NONE && !p->ahead)
		put_sync(m, p->together, p->crews[0].warps | p->crews[1].warps, true);
	if (chance(m, 15))
		make_body(m, &who, 1);
	if (p->loop)
		loop_end(m, &p->l);
}

static void put_waiters(struct maker *m, struct plan *p)
{
	struct who who = {.warps = p->waiters, .whole_warps = true, .in_loop = p->loop};
	begin(m, p, false);
	if (p->outsiders)
		put_mb_arrive(m, (struct step){.barrier = p->mb, .guard = on(PRED_LANE)});
	put_mb_wait(m, (struct step){.barrier = p->mb,
			       .depth = p->l.depth,
			       .parity = p->loop ? PARITY_LOOP : PARITY_ZERO});
	make_body(m, &who, below(m, 2));
	put_async(m, &who);
	if (chance(m, 40))
		put_async(m, &who);
	if (p->back != NONE)
		put_mb_arrive(m, (struct step){.barrier = p->back});
	if (p->loop)
		loop_end(m, &p->l);
}

void make_arrivals(struct maker *m, const struct who *who)
{
	struct plan p;
	int end = label(m);
	choose_crews(m, &p);
	p.loop = m->depth < NDEPTHS && chance(m, 60);
	if (!p.waiters || !choose_counts(m, &p))
		return;
	for (int i = 0; i < p.n; i++) {
		int next = label(m);
		struct cond others = on(i			  ? PRED_WARP1
					: p.crews[0].warps == 0xf ? PRED_GROUP
					: p.crews[0].warps & 1	  ? PRED_WARP0
								  : PRED_OTHERS);
		others.negated = true;
		put_jump(m, others, next);
		put_crew(m, &p, &p.crews[i], i == 0);
		put_jump(m, always(), end);
		put_label(m, next);
	}
	put_waiters(m, &p);
	put_label(m, end);
	if (chance(m, 40))
		put_barrier(m, who);
	if (chance(m, 40))
		put_async(m, who);
}
