/* SPDX-License-Identifier: Apache-2.0 */
/* Hand-offs between the two CTAs of a cluster. */
#include "say.h"

/* An mbarrier in each CTA at which all threads of the other one arrive. */
static int peer_mbarrier(struct maker *m)
{
	return new_mbarrier(m, 32 * m->p->warps, 2 * m->p->warps);
}

static void arrive_at_peer(struct maker *m, int mb)
{
	put_mb_arrive(m, (struct step){.barrier = mb, .peer = true});
}

static void wait_for_peer(struct maker *m, int mb)
{
	put_mb_wait(m,
		(struct step){.barrier = mb, .count = 1, .features = bit(FEATURE_REMOTE_ARRIVE)});
}

/* Both write, often to each other, meet, and issue. */
static void make_meeting(struct maker *m, const struct who *who)
{
	make_body(m, who, 1 + below(m, 2));
	put_write(m);
	maybe_fence(m);
	put_cluster_barrier(m, who);
	if (chance(m, 50))
		put_fence(m, rare_guard(m));
	put_async(m, who);
	if (who->in_loop || chance(m, 30))
		put_cluster_barrier(m, who);
}

/* The same by remote arrivals. */
static void make_exchange(struct maker *m, const struct who *who)
{
	int mb = peer_mbarrier(m);
	if (mb == NONE)
		return;
	put_write(m);
	make_body(m, who, below(m, 2));
	maybe_fence(m);
	arrive_at_peer(m, mb);
	if (chance(m, 30))
		make_body(m, who, 1);
	wait_for_peer(m, mb);
	if (chance(m, 50))
		put_fence(m, rare_guard(m));
	put_async(m, who);
}

/* The first CTA writes, the second issues. */
static void make_one_way(struct maker *m, const struct who *who)
{
	int mb = peer_mbarrier(m), first = label(m), end = label(m);
	struct who one = *who;
	one.both = false;
	if (mb == NONE)
		return;
	put_jump(m, on(PRED_RANK0), first);
	make_body(m, &one, below(m, 2));
	wait_for_peer(m, mb);
	if (chance(m, 50))
		put_fence(m, rare_guard(m));
	put_async(m, &one);
	put_jump(m, always(), end);
	put_label(m, first);
	put_write(m);
	make_body(m, &one, 1 + below(m, 2));
	maybe_fence(m);
	arrive_at_peer(m, mb);
	put_label(m, end);
}

/* st.async into the other CTA, counted in bytes by the mbarrier there. */
static void make_send(struct maker *m, const struct who *who)
{
	int mb = new_mbarrier(m, 1, 1);
	bool single = chance(m, 40), red = chance(m, 25);
	int real = single ? 4 : 4 * 32 * m->p->warps, model = single ? 4 : 4 * 2 * m->p->warps;
	struct step like = {.barrier = mb, .peer = true};
	struct place to = place_small(m, 4);
	struct cond c = single ? on(PRED_FIRST) : always();
	char at[48], bar[48], guard[32];
	if (mb == NONE)
		return;
	to.peer = true;
	put_mb_arrive(
		m, (struct step){
			   .barrier = mb, .value = real, .bytes = model, .guard = on(PRED_FIRST)});
	address(m, &to, false, at, sizeof(at));
	mb_address(m, &like, bar, sizeof(bar));
	cond_name(m, c, guard, sizeof(guard));
	struct step *s = put(m,
		"\t%s%s.shared::cluster.mbarrier::complete_tx::bytes%s.u32 %s, %%one, %s;", guard,
		red ? "red.async.relaxed.cluster" : "st.async", red ? ".add" : "", at, bar);
	s->op = OP_SEND;
	s->guard = c;
	s->to = to;
	s->barrier = mb;
	s->peer = true;
	s->bytes = 4;
	s->features |= bit(FEATURE_SEND);
	if (chance(m, 40))
		maybe_fence(m);
	put_mb_wait(m, (struct step){.barrier = mb, .count = 1});
	if (chance(m, 50))
		put_fence(m, rare_guard(m));
	put_async(m, who);
}

/* All read what a multicast then writes over. */
static void make_refill(struct maker *m, const struct who *who)
{
	int mb = chance(m, 50) ? peer_mbarrier(m) : NONE;
	int n = 1 + below(m, 2);
	for (int i = 0; i < n; i++)
		chance(m, 75) ? put_read(m) : put_write(m);
	if (chance(m, 40))
		put_use(m);
	maybe_fence(m);
	if (mb == NONE) {
		put_cluster_barrier(m, who);
	} else {
		arrive_at_peer(m, mb);
		wait_for_peer(m, mb);
	}
	if (chance(m, 50))
		put_fence(m, rare_guard(m));
	put_multicast(m, chance(m, 50) ? on(PRED_RANK0) : on(PRED_FIRST));
	if (chance(m, 50))
		put_use(m);
}

void make_cluster_segment(struct maker *m, const struct who *who)
{
	int k = below(m, 100), odds = m->peer_odds;
	m->peer_odds = 70;
	if (k < 25 || who->in_loop)
		make_meeting(m, who);
	else if (k < 45)
		make_exchange(m, who);
	else if (k < 60)
		make_one_way(m, who);
	else if (k < 80)
		make_send(m, who);
	else
		make_refill(m, who);
	m->peer_odds = odds;
}
