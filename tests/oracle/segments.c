/* SPDX-License-Identifier: Apache-2.0 */
/* Larger pieces of random programs: the ways in which threads hand over to each other. */
#include "say.h"

/* Two roles: who issues, and who writes for them. */
struct roles {
	enum pred pred;
	struct who writers, issuers;
};

static struct roles roles_of(const struct maker *m, const struct who *who)
{
	bool wide = m->group && m->p->warps == 5;
	int ones = wide ? 0xf : 1;
	return (struct roles){wide ? PRED_GROUP : PRED_WARP0,
		{.warps = all_warps(m) & ~ones, .whole_warps = true, .in_loop = who->in_loop},
		{.warps = ones, .whole_warps = true, .in_loop = who->in_loop}};
}

static int warps_in(int warps)
{
	return __builtin_popcount((unsigned)warps);
}

/* An mbarrier at which all threads of these warps arrive. */
static int mbarrier_of(struct maker *m, int warps)
{
	return new_mbarrier(m, 32 * warps_in(warps), 2 * warps_in(warps));
}

/* Everybody writes, perhaps fences, meets; one issues; perhaps they meet again. */
static void make_handoff(struct maker *m, const struct who *who)
{
	int n = 1 + below(m, 2);
	for (int i = 0; i < n; i++)
		chance(m, 75) ? put_write(m) : put_read(m);
	if (chance(m, 30))
		put_use(m);
	maybe_fence(m);
	put_barrier(m, who);
	if (chance(m, 12))
		put_fence(m, rare_guard(m));
	put_async(m, who);
	if (chance(m, 60))
		put_barrier(m, who);
}

/* One role hands over to the other through a named barrier or an mbarrier, once. */
static void make_roles(struct maker *m, const struct who *who)
{
	struct roles r = roles_of(m, who);
	int one = label(m), end = label(m), mb = NONE, id = NONE;
	bool arrive = below(m, 2);
	if (below(m, 2))
		mb = mbarrier_of(m, r.writers.warps);
	if (mb == NONE)
		id = role_id(m);
	bool twice = id != NONE && chance(m, 30); /* they have met before, in either arm */
	put_jump(m, on(r.pred), one);
	if (twice)
		put_sync(m, id, all_warps(m), true);
	make_body(m, &r.writers, 1 + below(m, 3));
	maybe_fence(m);
	if (mb != NONE)
		put_mb_arrive(m, (struct step){.barrier = mb});
	else if (id != NONE)
		put_sync(m, id, all_warps(m), !arrive);
	if (chance(m, 30))
		make_body(m, &r.writers, 1);
	if (!m->cluster && !m->ncallees && chance(m, 15)) {
		put(m, "\t%s;", below(m, 2) ? "ret" : "exit")->op = OP_EXIT;
		m->left = true;
	} else {
		put_jump(m, always(), end);
	}
	put_label(m, one);
	if (twice)
		put_sync(m, id, all_warps(m), true);
	if (chance(m, 30))
		make_body(m, &r.issuers, 1);
	if (mb != NONE)
		put_mb_wait(m, (struct step){.barrier = mb});
	else if (id != NONE)
		put_sync(m, id, all_warps(m), true);
	if (chance(m, 15))
		put_fence(m, rare_guard(m));
	make_body(m, &r.issuers, 1);
	put_async(m, &r.issuers);
	put_label(m, end);
}

/* Between two meetings somebody fences for all, or it looks like that. */
static void make_leader(struct maker *m, const struct who *who)
{
	struct roles r = roles_of(m, who);
	bool parts = m->p->warps > 1 && !who->in_loop && !who->alone && chance(m, 60);
	int one = label(m), end = label(m), id = parts ? role_id(m) : NONE;

	put_write(m);
	if (chance(m, 60))
		put_barrier(m, who);
	if (id == NONE) {
		put_fence(m, some_guard(m));
		if (chance(m, 25))
			put_write(m);
		put_barrier(m, who);
		put_async(m, who);
		return;
	}
	put_jump(m, on(r.pred), one);
	make_body(m, &r.writers, below(m, 3));
	if (chance(m, 25))
		put_fence(m, rare_guard(m));
	put_sync(m, id, all_warps(m), chance(m, 50));
	if (chance(m, 30))
		make_body(m, &r.writers, 1);
	put_jump(m, always(), end);
	put_label(m, one);
	if (chance(m, 60))
		put_fence(m, rare_guard(m));
	make_body(m, &r.issuers, below(m, 2));
	put_sync(m, id, all_warps(m), true);
	if (chance(m, 60))
		put_async(m, &r.issuers);
	put_label(m, end);
	if (chance(m, 60))
		put_barrier(m, who);
	put_async(m, who);
}

/* All write and meet; one thread fences and stores; they meet again and go on. */
static void make_elected(struct maker *m, const struct who *who)
{
	static const enum pred ones[] = {PRED_FIRST, PRED_ELECT, PRED_LANE, PRED_WARP0};
	struct cond c = on(ones[below(m, 4)]);
	struct who leader = {.warps = who->warps, .in_loop = who->in_loop};
	int id = who->all && chance(m, 60) ? role_id(m) : NONE, end = label(m);
	int n = 1 + below(m, 2);
	for (int i = 0; i < n; i++)
		put_write(m);
	id != NONE ? put_sync(m, id, all_warps(m), true) : put_barrier(m, who);
	c.negated = true;
	put_jump(m, c, end);
	if (chance(m, 80))
		put_fence(m, rare_guard(m));
	put_async(m, &leader);
	put_label(m, end);
	if (chance(m, 85))
		id != NONE ? put_sync(m, id, all_warps(m), true) : put_barrier(m, who);
	make_body(m, who, below(m, 3));
	put_async(m, who);
}

/* In each of two roles by itself, by a named barrier of the role. */
static void make_elected_roles(struct maker *m, const struct who *who)
{
	struct roles r = roles_of(m, who);
	int one = label(m), end = label(m);
	put_jump(m, on(r.pred), one);
	make_elected(m, &r.writers);
	put_jump(m, always(), end);
	put_label(m, one);
	make_elected(m, &r.issuers);
	put_label(m, end);
	if (chance(m, 40))
		put_barrier(m, who);
	if (chance(m, 40))
		put_async(m, who);
}

/* The same through two mbarriers: writers to leader, and back. */
static void make_leader_mbarriers(struct maker *m, const struct who *who)
{
	struct roles r = roles_of(m, who);
	bool single = chance(m, 40);
	int one = label(m), end = label(m), up = mbarrier_of(m, r.writers.warps);
	int down = single ? new_mbarrier(m, 1, 1) : mbarrier_of(m, r.issuers.warps);
	if (up == NONE || down == NONE)
		return;
	put_jump(m, on(r.pred), one);
	make_body(m, &r.writers, 1 + below(m, 2));
	if (chance(m, 15))
		maybe_fence(m);
	put_mb_arrive(m, (struct step){.barrier = up});
	if (chance(m, 20))
		make_body(m, &r.writers, 1);
	put_mb_wait(m, (struct step){.barrier = down});
	make_body(m, &r.writers, below(m, 2));
	put_async(m, &r.writers);
	put_jump(m, always(), end);
	put_label(m, one);
	put_mb_wait(m, (struct step){.barrier = up});
	if (chance(m, 75))
		put_fence(m, single && chance(m, 50) ? on(PRED_FIRST) : rare_guard(m));
	if (chance(m, 60))
		put_async(m, &r.issuers);
	if (chance(m, 30))
		make_body(m, &r.issuers, 1);
	put_mb_arrive(
		m, (struct step){.barrier = down, .guard = single ? on(PRED_FIRST) : always()});
	put_label(m, end);
	if (chance(m, 40))
		put_barrier(m, who);
	if (chance(m, 60))
		put_async(m, who);
}

/* Writers fill a stage, issuers empty it, with full and empty mbarriers, one or two of each. */
static void make_ring(struct maker *m, const struct who *who)
{
	struct roles r = roles_of(m, who);
	r.writers.in_loop = r.issuers.in_loop = true;
	int one = label(m), end = label(m), depth = m->depth;
	bool two = chance(m, 40);
	if (m->nmbarriers + 4 > NMBARRIERS)
		return;
	int full = mbarrier_of(m, r.writers.warps);
	if (two)
		mbarrier_of(m, r.writers.warps);
	int empty = mbarrier_of(m, r.issuers.warps);
	if (two)
		mbarrier_of(m, r.issuers.warps);
	struct step mb = {.depth = depth, .by_stage = two, .features = bit(FEATURE_RING)};
	put_jump(m, on(r.pred), one);
	struct loop l = loop_begin(m);
	struct loop same = l;
	mb.barrier = empty;
	mb.parity = two ? PARITY_HALF_OTHER : PARITY_LOOP_OTHER;
	put_mb_wait(m, mb);
	make_body(m, &r.writers, 1 + below(m, 3));
	maybe_fence(m);
	mb.barrier = full;
	mb.parity = PARITY_ZERO;
	put_mb_arrive(m, mb);
	loop_end(m, &l);
	put_jump(m, always(), end);
	put_label(m, one);
	same.bottom = false;
	loop_again(m, &same);
	mb.parity = two ? PARITY_HALF : PARITY_LOOP;
	put_mb_wait(m, mb);
	if (chance(m, 12))
		put_fence(m, rare_guard(m));
	put_async(m, &r.issuers);
	make_body(m, &r.issuers, below(m, 2));
	if (chance(m, m->fence_odds / 2))
		put_fence(m, always());
	mb.barrier = empty;
	mb.parity = PARITY_ZERO;
	put_mb_arrive(m, mb);
	loop_end(m, &same);
	put_label(m, end);
}

/* The same by two named barriers: each side arrives at one and waits at the other. */
static void make_bar_ring(struct maker *m, const struct who *who)
{
	struct roles r = roles_of(m, who);
	r.writers.in_loop = r.issuers.in_loop = true;
	int one = label(m), end = label(m), full = role_id(m), empty = role_id(m);
	if (full == NONE || empty == NONE)
		return;
	put_jump(m, on(r.pred), one);
	struct loop l = loop_begin(m);
	struct loop same = l;
	put_sync(m, empty, all_warps(m), true);
	make_body(m, &r.writers, 1 + below(m, 3));
	maybe_fence(m);
	put_sync(m, full, all_warps(m), false);
	loop_end(m, &l);
	put_jump(m, always(), end);
	put_label(m, one);
	same.bottom = l.bottom && l.leave.kind == COND_LOOP_GE;
	loop_again(m, &same);
	put_sync(m, empty, all_warps(m), false);
	make_body(m, &r.issuers, below(m, 2));
	put_sync(m, full, all_warps(m), true);
	if (chance(m, 12))
		put_fence(m, rare_guard(m));
	put_async(m, &r.issuers);
	make_body(m, &r.issuers, below(m, 2));
	if (chance(m, m->fence_odds / 2))
		put_fence(m, always());
	loop_end(m, &same);
	put_label(m, end);
}

/* A counter in memory that writers raise and issuers watch: the mbarrier of its number stands for
 * it. */
static void put_raise(struct maker *m, int flag)
{
	static const char *const ways[] = {"red.release.cta.shared.add.u32 [flags+%d], %%one;",
		"atom.release.cta.shared.add.u32 %%bit, [flags+%d], %%one;",
		"red.relaxed.cta.shared.add.u32 [flags+%d], %%one;"};
	int k = below(m, 3);
	char text[80];
	if (k == 2)
		put(m, "\tfence.acq_rel.cta;");
	snprintf(text, sizeof(text), ways[k], 4 * flag);
	struct step *s = put(m, "\t%s", text);
	s->op = OP_MB_ARRIVE;
	s->barrier = flag;
	s->features |= bit(FEATURE_FLAG);
}

static void put_watch(struct maker *m, int flag, int count)
{
	int l = label(m), t = temp(m);
	bool relaxed = below(m, 2);
	put_label(m, l);
	struct step *s = put(m, "\tld.%s.cta.shared.u32 %%r%d, [flags+%d];",
		relaxed ? "relaxed" : "acquire", t, 4 * flag);
	put(m, "\tsetp.ne.u32 %%q%d, %%r%d, %d;", t, t, count);
	put(m, "\t@%%q%d bra L%d;", t, l);
	struct step *behind = put(m, relaxed ? "\tfence.acq_rel.cta;" : "\t// all have");
	if (relaxed) /* it is the fence that acquires; else the load, in its last round */
		s = behind;
	s->op = OP_MB_WAIT;
	s->barrier = flag;
}

static void make_flag(struct maker *m, const struct who *who)
{
	struct roles r = roles_of(m, who);
	int flag = mbarrier_of(m, r.writers.warps), one = label(m), end = label(m);
	if (flag == NONE)
		return;
	put_jump(m, on(r.pred), one);
	make_body(m, &r.writers, 1 + below(m, 2));
	maybe_fence(m);
	put_raise(m, flag);
	put_jump(m, always(), end);
	put_label(m, one);
	put_watch(m, flag, 32 * warps_in(r.writers.warps));
	if (chance(m, 15))
		put_fence(m, rare_guard(m));
	make_body(m, &r.issuers, below(m, 2));
	put_async(m, &r.issuers);
	put_label(m, end);
}

/* All arrive and wait by the state that the arrival gave. */
static void make_token(struct maker *m, const struct who *who)
{
	int mb = who->all ? mbarrier_of(m, who->warps) : NONE;
	if (mb == NONE)
		return;
	make_body(m, who, 1 + below(m, 2));
	maybe_fence(m);
	put_mb_arrive(m, (struct step){.barrier = mb, .parity = PARITY_TOKEN});
	if (chance(m, 40))
		make_body(m, &(struct who){.warps = who->warps}, 1);
	put_mb_wait(m, (struct step){.barrier = mb, .parity = PARITY_TOKEN});
	if (chance(m, 15))
		put_fence(m, rare_guard(m));
	put_async(m, who);
}

/* Copies that are complete at an mbarrier; `noinc`: they are among those that it counts. */
static void put_copies_arrive(struct maker *m, int mb, bool noinc)
{
	struct step *s = put(m, "\tcp.async.mbarrier.arrive%s.shared.b64 [bars+%d];",
		noinc ? ".noinc" : "", 8 * mb);
	s->op = OP_MB_COPIES;
	s->barrier = mb;
	s->count = noinc;
	s->features |= bit(noinc ? FEATURE_CP_NOINC : FEATURE_CP_MBARRIER);
	if (!noinc)
		put_mb_arrive(m, (struct step){.barrier = mb});
}

static void make_copies(struct maker *m, const struct who *who)
{
	struct roles r = roles_of(m, who);
	bool alone = m->p->warps == 1 || chance(m, 40);
	int mb = mbarrier_of(m, alone ? who->warps : r.writers.warps), one = label(m),
	    end = label(m);
	if (mb == NONE)
		return;
	if (!alone)
		put_jump(m, on(r.pred), one);
	if (chance(m, 40))
		put_write(m);
	put_copies(m);
	if (chance(m, 30))
		maybe_fence(m);
	put_copies_arrive(m, mb, chance(m, 50));
	if (!alone) {
		put_jump(m, always(), end);
		put_label(m, one);
	}
	put_mb_wait(m, (struct step){.barrier = mb});
	if (chance(m, 50))
		put_fence(m, rare_guard(m));
	put_async(m, alone ? who : &r.issuers);
	put_label(m, end);
	if (chance(m, 50)) {
		put_barrier(m, who);
		put_async(m, who);
	}
}

/* A bulk load that everybody waits for. */
static void make_load(struct maker *m, const struct who *who)
{
	if (m->loaded || who->in_loop)
		put_barrier(m, who); /* the issuer must not overrun a slow waiter */
	m->loaded = true;
	put_bulk_load(m, on(PRED_FIRST), MB_LOADED);
	put_mb_wait(m, (struct step){.barrier = MB_LOADED, .parity = PARITY_PHASE});
	put(m, "\txor.b32 %%phase, %%phase, 1;")->op = OP_PHASE;
}

/* Two sets of warps, each with a leader between barriers of its own; something may go around it. */
static void make_groups(struct maker *m, const struct who *who)
{
	struct roles r = roles_of(m, who);
	int one = label(m), end = label(m),
	    mb = chance(m, 50) ? mbarrier_of(m, r.writers.warps) : NONE;
	bool before = chance(m, 30), between = chance(m, 50);
	put_jump(m, on(r.pred), one);
	if (mb != NONE && before)
		put_mb_arrive(m, (struct step){.barrier = mb});
	make_elected(m, &r.writers);
	if (mb != NONE && !before)
		put_mb_arrive(m, (struct step){.barrier = mb});
	if (chance(m, 30))
		make_elected(m, &r.writers);
	put_jump(m, always(), end);
	put_label(m, one);
	if (mb != NONE && !between)
		put_mb_wait(m, (struct step){.barrier = mb});
	if (chance(m, 70))
		make_elected(m, &r.issuers);
	if (mb != NONE && between)
		put_mb_wait(m, (struct step){.barrier = mb});
	chance(m, 50) ? make_elected(m, &r.issuers) : put_async(m, &r.issuers);
	put_label(m, end);
	if (chance(m, 40))
		put_barrier(m, who);
	if (chance(m, 60))
		put_async(m, who);
}

static void make_led(struct maker *m, const struct who *who, bool many)
{
	uint64_t before = m->more;
	int k = below(m, 100);
	if (k < 25 && many) {
		m->more |= bit(FEATURE_LEADER_ARRIVES);
		make_arrivals(m, who);
	} else if (k < 50 && many) {
		m->more |= bit(FEATURE_LEADER_MBARRIER);
		k < 40 ? make_leader_mbarriers(m, who) : make_groups(m, who);
	} else {
		m->more |= bit(FEATURE_LEADER);
		k < 60 && many ? make_elected_roles(m, who)
		: k < 80       ? make_elected(m, who)
			       : make_leader(m, who);
	}
	m->more = before;
}

/* All but one role leave under a guard, with what they have not fenced; who stays meets nobody else any more. */
static void make_leave(struct maker *m, const struct who *who)
{
	struct roles r = roles_of(m, who);
	struct cond c = on(r.pred);
	uint64_t before = m->more;
	char guard[32];
	c.negated = true;
	m->more |= bit(FEATURE_LEFT);
	make_body(m, who, 1 + below(m, 2));
	maybe_fence(m);
	cond_name(m, c, guard, sizeof(guard));
	struct step *s = put(m, "\t%s%s;", guard, below(m, 2) ? "ret" : "exit");
	s->op = OP_EXIT;
	s->guard = c;
	m->left = true;
	r.issuers.alone = true;
	maybe_fence(m);
	put(m, "\tbar.sync 0;")->op = OP_SYNC;
	put_async(m, &r.issuers);
	m->more = before;
}

void make_segment(struct maker *m, const struct who *who)
{
	bool once = !who->in_loop && !who->alone, many = m->p->warps > 1 && once;
	int k = below(m, 100);
	if (m->cluster && who->both && chance(m, 60))
		make_cluster_segment(m, who);
	else if (m->sets && who->sets && !m->in_callee && chance(m, 85))
		make_sets(m, who);
	else if (many && who->all && chance(m, 6))
		make_turned(m, who);
	else if (chance(m, 7))
		make_bound(m, who);
	else if (many && chance(m, 5))
		make_fresh(m, who);
	else if (many && chance(m, 8))
		make_stages(m, who);
	else if (many && who->all && chance(m, 4))
		make_unrolled(m, who);
	else if (many && who->all && !m->cluster && !m->ncallees && chance(m, 3))
		make_leave(m, who);
	else if (k < 25)
		make_handoff(m, who);
	else if (k < 40)
		make_body(m, who, 2 + below(m, 4));
	else if (k < 52 && many)
		make_roles(m, who);
	else if (k < 60 && many)
		make_ring(m, who);
	else if (k < 66 && many)
		make_bar_ring(m, who);
	else if (k < 69 && many)
		make_flag(m, who);
	else if (k < 71)
		make_load(m, who);
	else if (k < 77)
		make_token(m, who);
	else if (k < 83 && once)
		make_copies(m, who);
	else
		make_led(m, who, many);
}
