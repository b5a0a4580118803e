/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pieces of random programs whose warps form sets, each of which meets at a barrier of its own: by one
 * instruction with the id in a register, behind branches and in loops that each set goes through by itself.
 */
#include "say.h"

int set_warps(const struct program *p, int set)
{
	int warps = 0;
	for (int w = 0; w < p->warps; w++)
		warps |= (p->set_of[w] == set) << w;
	return warps;
}

/* One to a warp, one to two of them in a row, even and odd ones, the first warp and the others. */
enum way { BY_WARP, BY_TWO, BY_TURNS, BY_FIRST };

static enum way way_of(const struct maker *m)
{
	return (enum way)(m->set_id >> 8);
}

void declare_sets(struct maker *m)
{
	struct program *p = m->p;
	enum way way = (enum way)below(m, p->warps == 2 ? 1 : chance(m, 80) ? 3 : 4);
	/* where one set alone comes to its barrier, that is one of a constant id */
	m->set_id = (int)way << 8 | chance(m, 75) << 7 | m->next_id;
	for (int w = 0; w < p->warps; w++)
		p->set_of[w] = way == BY_WARP	 ? w
			       : way == BY_TWO	 ? w / 2
			       : way == BY_TURNS ? w % 2
						 : w > 0;
	for (int w = 0; w < p->warps; w++)
		p->nsets = p->set_of[w] >= p->nsets ? p->set_of[w] + 1 : p->nsets;
	m->next_id += p->nsets;
	p->halves = way == BY_TURNS ? 3 : 0x15;
}

static int first_id(const struct maker *m)
{
	return m->set_id & 0x7f;
}

static int threads_of_set(const struct maker *m, int set)
{
	return 32 * __builtin_popcount((unsigned)set_warps(m->p, set));
}

static bool same_sizes(const struct maker *m)
{
	for (int set = 1; set < m->p->nsets; set++)
		if (threads_of_set(m, set) != threads_of_set(m, 0))
			return false;
	return true;
}

void put_set_registers(struct maker *m)
{
	switch (way_of(m)) {
	case BY_WARP:
		put(m, "\tshr.u32 %%set, %%thread, 5;");
		break;
	case BY_TWO:
		put(m, "\tshr.u32 %%set, %%thread, 6;");
		break;
	case BY_TURNS:
		put(m, "\tand.b32 %%set, %%warp, 1;");
		break;
	case BY_FIRST:
		put(m, "\tselp.u32 %%set, 0, 1, %%warp0;");
		break;
	}
	if (way_of(m) == BY_TURNS) {
		put(m, "\tsetp.lt.u32 %%sethalf, %%warp, 2;");
	} else {
		int r = temp(m);
		put(m, "\tand.b32 %%r%d, %%warp, 1;", r);
		put(m, "\tsetp.eq.u32 %%sethalf, %%r%d, 0;", r);
	}
	put(m, "\tadd.u32 %%setid, %%set, %d;", first_id(m));
	put(m, "\tmov.u32 %%setcount, %d;", threads_of_set(m, 0));
	put(m, "\tsetp.eq.u32 %%setfirst, %%thread, 0;");
	for (int set = 1; set < m->p->nsets; set++) {
		int q = temp(m), first = __builtin_ctz((unsigned)set_warps(m->p, set));
		put(m, "\tsetp.eq.or.u32 %%setfirst, %%thread, %d, %%setfirst;", 32 * first);
		if (threads_of_set(m, set) == threads_of_set(m, 0))
			continue;
		put(m, "\tsetp.eq.u32 %%q%d, %%set, %d;", q, set);
		put(m, "\t@%%q%d mov.u32 %%setcount, %d;", q, threads_of_set(m, set));
	}
}

struct cond some_set(struct maker *m)
{
	bool unknown = m->set_id & 0x80 || chance(m, 30);
	struct cond c = unknown ? (struct cond){COND_SET_GE_N, 0, 0, false}
				      : (struct cond){COND_SET_EQ, 0, below(m, m->p->nsets), false};
	c.negated = chance(m, 30);
	return c;
}

/* The set that alone runs this code, or NONE. */
static int one_set(const struct maker *m, const struct who *who)
{
	for (int set = 0; set < m->p->nsets && who->sets && who->warps; set++)
		if (!(who->warps & ~set_warps(m->p, set)))
			return set;
	return NONE;
}

void put_set_sync(struct maker *m, const struct who *who)
{
	int set = one_set(m, who);
	const char *op = chance(m, 80) ? "bar.sync" : "barrier.sync.aligned";
	char id[16] = "%setid", count[16] = "%setcount";
	if (chance(m, 30)) {
		int r = temp(m);
		put(m, "\tadd.u32 %%r%d, %%set, %d;", r, first_id(m));
		snprintf(id, sizeof(id), "%%r%d", r);
	}
	if (same_sizes(m) && chance(m, 95))
		snprintf(count, sizeof(count), "%d", threads_of_set(m, 0));
	if (set != NONE && chance(m, 50)) {
		snprintf(id, sizeof(id), "%d", first_id(m) + set);
		snprintf(count, sizeof(count), "%d", threads_of_set(m, set));
	}
	struct step *s = put(m, "\t%s %s, %s;", op, id, count);
	s->op = OP_SYNC;
	s->barrier = first_id(m);
	s->by_set = true;
	s->features |= bit(FEATURE_NAMED_BAR) | bit(FEATURE_SETS);
}

/* All but the sets as such are parted. */
static struct who by_sets(const struct who *who)
{
	return (struct who){.warps = who->warps, .in_loop = who->in_loop, .sets = true};
}

/* One of the set fences for it, or it looks like that. */
static void make_set_leader(struct maker *m, const struct who *who)
{
	put_write(m);
	put_barrier(m, who);
	put_fence(m, chance(m, 70) ? on(PRED_SET_FIRST) : some_guard(m));
	if (chance(m, 25))
		put_write(m);
	put_barrier(m, who);
	put_async(m, who);
}

static void make_set_handoff(struct maker *m, const struct who *who)
{
	chance(m, 75) ? put_write(m) : put_read(m);
	maybe_fence(m);
	put_barrier(m, who);
	if (chance(m, 20))
		put_fence(m, rare_guard(m));
	put_async(m, who);
	if (chance(m, 60))
		put_barrier(m, who);
}

static void make_set_parted(struct maker *m, const struct who *who);

static void make_set_piece(struct maker *m, const struct who *who)
{
	int k = below(m, 100);
	if (k < 40)
		make_set_handoff(m, who);
	else if (k < 48)
		make_set_parted(m, who);
	else if (k < 55)
		make_set_leader(m, who);
	else
		make_body(m, who, 1 + below(m, 3));
}

/* Each set takes a way of its own, to a barrier on it or not. */
static void make_set_if(struct maker *m, const struct who *who)
{
	struct who inner = by_sets(who), other = inner;
	struct cond c = some_set(m);
	int otherwise = label(m), end = label(m);
	if (c.kind == COND_SET_EQ) /* who jumps is not here */
		inner.warps &= c.negated ? set_warps(m->p, c.b) : ~set_warps(m->p, c.b);
	other.warps &= ~(c.kind == COND_SET_EQ ? inner.warps : 0);
	put_jump(m, c, otherwise);
	make_set_piece(m, &inner);
	if (chance(m, 70))
		put_barrier(m, &inner);
	if (chance(m, 60)) {
		put_jump(m, always(), end);
		put_label(m, otherwise);
		make_set_piece(m, &other);
		put_label(m, end);
	} else {
		put_label(m, otherwise);
	}
}

/* As many rounds as the set's number says, or what was left for it. */
static void make_set_loop(struct maker *m, const struct who *who)
{
	struct who inner = by_sets(who);
	bool taken = m->nbounds + m->p->nsets <= 8 && who->all && chance(m, 50);
	if (m->depth == NDEPTHS)
		return;
	if (taken) {
		for (int set = 0; set < m->p->nsets; set++) {
			int t = temp(m), number = below(m, 3);
			put(m, "\tmov.u32 %%r%d, %d;", t, number);
			struct step *s = put(m, "\t@%%first st.shared.u32 [bounds+%d], %%r%d;",
				4 * (m->nbounds + set), t);
			s->op = OP_LEAVE;
			s->guard = on(PRED_FIRST);
			s->barrier = m->nbounds + set;
			s->value = number;
		}
		put_sync(m, 0, all_warps(m), true);
		if (chance(m, 20))
			put_set_sync(m, who);
		int r = temp(m), t = temp(m);
		put(m, "\tshl.b32 %%r%d, %%set, 2;", r);
		put(m, "\tmov.u32 %%r%d, bounds;", t);
		put(m, "\tadd.u32 %%r%d, %%r%d, %%r%d;", r, r, t);
		struct step *s = put(m, "\tld.shared.u32 %%b%d, [%%r%d+%d];", m->depth, r, 4 * m->nbounds);
		s->op = OP_TAKE;
		s->by_set = true;
		s->barrier = m->nbounds;
		s->depth = m->depth;
		m->nbounds += m->p->nsets;
	}
	struct loop l = {.depth = m->depth++, .head = label(m), .end = label(m)};
	l.leave = (struct cond){taken ? COND_LOOP_GE_BOUND : COND_LOOP_GE_SET, l.depth, 0, false};
	l.bottom = !taken && chance(m, 40);
	inner.in_loop = true;
	struct step *s = put(m, "\tmov.u32 %%i%d, 0;", l.depth);
	s->op = OP_LOOP_ZERO;
	s->depth = l.depth;
	put_label(m, l.head);
	if (!l.bottom)
		put_jump(m, l.leave, l.end);
	make_set_piece(m, &inner);
	if (chance(m, 60))
		put_barrier(m, &inner);
	loop_end(m, &l);
}

/* Accesses, and the set's barrier behind them, so many times, perhaps in a loop. */
static void put_rounds(struct maker *m, const struct who *who, int n)
{
	struct who inner = {.warps = who->warps, .in_loop = true};
	if (n > 1 && m->depth < NDEPTHS && chance(m, 40)) {
		struct loop l = {.depth = m->depth++, .head = label(m), .end = label(m)};
		l.leave = (struct cond){COND_LOOP_GE, l.depth, n, false};
		struct step *s = put(m, "\tmov.u32 %%i%d, 0;", l.depth);
		s->op = OP_LOOP_ZERO;
		s->depth = l.depth;
		put_label(m, l.head);
		put_jump(m, l.leave, l.end);
		put_rounds(m, &inner, 1);
		loop_end(m, &l);
		return;
	}
	for (int i = 0; i < n; i++) {
		make_body(m, &inner, 1 + below(m, 2));
		maybe_fence(m);
		put_set_sync(m, who);
		if (chance(m, 50))
			put_async(m, &inner);
	}
}

/* Warps of one set go different ways, and meet from there: in two arms, or one of them behind the other. */
static void make_set_parted(struct maker *m, const struct who *who)
{
	struct cond c = on(chance(m, 15) ? PRED_WARP0 : PRED_SET_HALF);
	struct who inner = {.warps = who->warps, .in_loop = who->in_loop};
	int otherwise = label(m), end = label(m), n = 1 + below(m, 2);
	bool arms = chance(m, 70);
	c.negated = chance(m, 50);
	put_jump(m, c, otherwise);
	put_rounds(m, &inner, n);
	if (arms)
		put_jump(m, always(), end);
	put_label(m, otherwise);
	if (!arms) {
		c.negated = !c.negated;
		put_jump(m, c, end);
	}
	put_rounds(m, &inner, n);
	put_label(m, end);
}

/* At a barrier of all that is this set's turn, or the other one's. */
static void put_turn(struct maker *m, int id, bool wait)
{
	int count = 32 * m->p->warps, r = temp(m);
	if (wait) {
		put(m, "\tadd.u32 %%r%d, %%set, %d;", r, id);
	} else {
		put(m, "\txor.b32 %%r%d, %%set, 1;", r);
		put(m, "\tadd.u32 %%r%d, %%r%d, %d;", r, r, id);
	}
	struct step *s = put(m, "\tbar.%s %%r%d, %d;", wait ? "sync" : "arrive", r, count);
	s->op = wait ? OP_SYNC : OP_ARRIVE;
	s->barrier = id;
	s->by_set = wait;
	s->by_other = !wait;
	s->warps = all_warps(m);
	s->features |= bit(wait ? FEATURE_NAMED_BAR : FEATURE_BAR_ARRIVE);
}

static void put_turn_of_set(struct maker *m, const struct who *who, int id)
{
	put_turn(m, id, true);
	chance(m, 50) ? put_async(m, who) : make_body(m, who, 1 + below(m, 2));
	if (chance(m, 50))
		make_body(m, who, 1);
	maybe_fence(m);
	put_turn(m, id, false);
	if (chance(m, 30))
		make_body(m, who, 1);
}

/* Two sets take turns: each waits for the other one to have arrived, works, and arrives for it. */
static void make_turns(struct maker *m, const struct who *who)
{
	struct who inner = {.warps = who->warps, .in_loop = true, .sets = chance(m, 50)};
	int id = role_id(m), after = label(m);
	if (id == NONE || role_id(m) == NONE || m->depth == NDEPTHS)
		return;
	chance(m, 75) ? put_write(m) : put_read(m);
	maybe_fence(m);
	put_jump(m, (struct cond){COND_SET_EQ, 0, 0, false}, after);
	put_turn(m, id, false);
	put_label(m, after);
	if (chance(m, 60)) {
		struct loop l = loop_begin(m);
		put_turn_of_set(m, &inner, id);
		loop_end(m, &l);
	} else {
		put_turn_of_set(m, &inner, id);
		put_turn_of_set(m, &inner, id);
	}
}

/* Each set arrives at an mbarrier, its own or the other one's, and waits at its own. */
static void make_set_mbarriers(struct maker *m, const struct who *who)
{
	struct who inner = {.warps = who->warps, .in_loop = true};
	bool other = m->p->nsets == 2 && same_sizes(m) && chance(m, 50), rounds = chance(m, 40);
	struct loop l = {0};
	if (m->nmbarriers + m->p->nsets > NMBARRIERS || m->depth == NDEPTHS)
		return;
	struct step arrive = {.barrier = m->nmbarriers, .by_set = !other, .by_other = other};
	struct step wait = {.barrier = m->nmbarriers, .by_set = true, .parity = PARITY_ZERO};
	for (int set = 0; set < m->p->nsets; set++)
		new_mbarrier(m, threads_of_set(m, set), threads_of_set(m, set) / 16);
	if (rounds) {
		l = loop_begin(m);
		wait.parity = PARITY_LOOP;
		wait.depth = l.depth;
	}
	make_body(m, &inner, 1 + below(m, 2));
	maybe_fence(m);
	put_mb_arrive(m, arrive);
	if (chance(m, 20))
		make_body(m, &inner, 1);
	put_mb_wait(m, wait);
	if (chance(m, 20))
		put_fence(m, rare_guard(m));
	put_async(m, &inner);
	if (rounds)
		loop_end(m, &l);
}

void make_sets(struct maker *m, const struct who *who)
{
	uint64_t before = m->more;
	int n = 1 + below(m, 3);
	if (who->all && !who->in_loop && m->p->nsets == 2 && same_sizes(m) && chance(m, 25)) {
		m->more |= bit(FEATURE_SETS);
		make_turns(m, who);
		m->more = before;
		return;
	}
	if (who->all && !who->in_loop && chance(m, 15)) {
		m->more |= bit(FEATURE_SETS);
		make_set_mbarriers(m, who);
		m->more = before;
		return;
	}
	/* a set has the id that all have had before, under another count */
	bool twice = who->all && chance(m, 15);
	m->more |= bit(FEATURE_SETS);
	if (twice) {
		put_sync(m, 0, all_warps(m), true);
		make_set_handoff(m, &(struct who){.warps = who->warps, .in_loop = who->in_loop});
		put_sync(m, first_id(m), all_warps(m), true);
		if (chance(m, 50))
			put_async(m, who);
	}
	for (int i = 0; i < n; i++) {
		int k = below(m, 100);
		if (k < 25)
			make_set_if(m, who);
		else if (k < 40)
			make_set_loop(m, who);
		else if (k < 75)
			make_set_parted(m, who);
		else
			make_set_piece(m, who);
		if (chance(m, 40))
			put_set_sync(m, who);
	}
	if (twice)
		put_sync(m, 0, all_warps(m), true);
	m->more = before;
}
