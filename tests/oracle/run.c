/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The oracle: runs a small program for every value of its unknown parameters and several orders
 * of its threads. Each thread carries which generic accesses happen before its present point,
 * which of those have a fence behind them, and which reads have certainly delivered their value.
 * Barriers and mbarriers pass these sets on. An async access that meets an unfenced access of the
 * same bytes is an edge. Slow and obvious; it knows nothing of control flow graphs.
 */
#include "program.h"

#include <stdlib.h>
#include <string.h>

enum { WORDS = 10, MAX_EVENTS = WORDS * 64, MAX_STEPS = 6000, MAX_HITS = 20000, NBARRIERS = 16 };

struct set {
	uint64_t w[WORDS];
};

struct facts {
	struct set before, fenced, done;
};

struct event {
	int line, var, lo, hi;
	bool reads, writes, is_load, used;
};

struct copy {
	int event, group;
};

struct thread {
	int tid, pc, phase, loop[NDEPTHS];
	bool over, blocked;
	struct facts facts;
	struct set held[NVALUES], acc; /* reads whose value a register holds */
	struct copy copies[64];
	int ncopies, group;
	int waits_for; /* phase of the barrier that it sleeps at */
};

struct barrier {
	int arrived, phase;
	struct facts next, last;
};

struct hit {
	int event, async;
	bool done;
};

struct run {
	const struct program *p;
	int n, flags, guess;
	struct thread threads[MAX_THREADS];
	int nthreads;
	struct barrier bars[NBARRIERS], warp_bars[MAX_WARPS], mbs[NMBARRIERS];
	struct event events[MAX_EVENTS];
	int nevents, steps;
	struct set shared, global;
	struct hit hits[MAX_HITS];
	int nhits;
	bool too_long;
};

static void set_add(struct set *s, int i)
{
	s->w[i / 64] |= UINT64_C(1) << (i % 64);
}

static bool set_has(const struct set *s, int i)
{
	return s->w[i / 64] >> (i % 64) & 1;
}

static void set_join(struct set *s, const struct set *o)
{
	for (int i = 0; i < WORDS; i++)
		s->w[i] |= o->w[i];
}

static void facts_join(struct facts *f, const struct facts *o)
{
	set_join(&f->before, &o->before);
	set_join(&f->fenced, &o->fenced);
	set_join(&f->done, &o->done);
}

static bool pred_holds(const struct run *r, const struct thread *t, int pred)
{
	switch ((enum pred)pred) {
	case PRED_FIRST:
		return t->tid == 0;
	case PRED_LANE:
	case PRED_ELECT:
		return t->tid % 32 == 0;
	case PRED_WARP0:
		return t->tid / 32 == 0;
	case PRED_WARP1:
		return t->tid / 32 == 1;
	case PRED_OTHERS:
		return t->tid / 32 != 0;
	case PRED_FLAG0:
		return r->flags & 1;
	case PRED_FLAG1:
		return r->flags & 2;
	case NPREDS:
		break;
	}
	abort();
}

/*
 * What a loaded value says is anybody's guess, but the same guess each time; a register that was
 * never loaded is zero.
 */
static bool value_holds(const struct run *r, const struct thread *t, int value)
{
	for (int e = 0; e < r->nevents; e++)
		if (set_has(&t->held[value], e)) {
			uint32_t h = (uint32_t)(r->guess * 7919 + e * 104729 + 1);
			h ^= h >> 13;
			h *= 0x5bd1e995u;
			return h >> 15 & 1;
		}
	return false;
}

static bool cond_holds(const struct run *r, const struct thread *t, const struct cond *c)
{
	bool v = true;
	switch (c->kind) {
	case COND_ALWAYS:
		break;
	case COND_PRED:
		v = pred_holds(r, t, c->a);
		break;
	case COND_LOOP_EQ:
		v = t->loop[c->a] == c->b;
		break;
	case COND_LOOP_GE:
		v = t->loop[c->a] >= c->b;
		break;
	case COND_LOOP_GE_N:
		v = t->loop[c->a] >= r->n;
		break;
	case COND_DATA:
		v = value_holds(r, t, c->a);
		break;
	}
	return v != c->negated;
}

static int place_at(const struct thread *t, const struct place *p)
{
	return p->base + p->by_tid * t->tid + p->by_warp * (t->tid / 32) +
	       p->by_stage * (t->loop[p->depth] & 1);
}

static int event_new(struct run *r, const struct thread *t, const struct place *p)
{
	if (r->nevents == MAX_EVENTS) {
		r->too_long = true;
		return 0;
	}
	int lo = place_at(t, p);
	r->events[r->nevents] =
		(struct event){.line = t->pc, .var = p->var, .lo = lo, .hi = lo + p->size};
	set_add(p->var == 2 ? &r->global : &r->shared, r->nevents);
	return r->nevents++;
}

static void do_access(struct run *r, struct thread *t, const struct step *s)
{
	int e = event_new(r, t, &s->to);
	r->events[e].reads = s->op != OP_WRITE;
	r->events[e].writes = s->op != OP_READ;
	r->events[e].is_load = s->op == OP_READ;
	if (s->op == OP_READ) {
		memset(&t->held[s->value], 0, sizeof(struct set));
		set_add(&t->held[s->value], e);
	}
	set_add(&t->facts.before, e);
}

/* A copy counts from the wait on that completes it. */
static void do_copy(struct run *r, struct thread *t, const struct step *s)
{
	int e = event_new(r, t, &s->to);
	r->events[e].writes = true;
	if (t->ncopies == 64) {
		r->too_long = true;
		return;
	}
	t->copies[t->ncopies++] = (struct copy){e, t->group};
}

static void do_wait_group(struct thread *t, int pending)
{
	int kept = 0;
	for (int i = 0; i < t->ncopies; i++)
		if (t->copies[i].group < t->group - pending)
			set_add(&t->facts.before, t->copies[i].event);
		else
			t->copies[kept++] = t->copies[i];
	t->ncopies = kept;
}

static void do_use(struct run *r, struct thread *t, const struct set *values)
{
	for (int e = 0; e < r->nevents; e++)
		if (set_has(values, e)) {
			r->events[e].used = true;
			set_add(&t->facts.done, e);
		}
}

static void async_access(struct run *r, struct thread *t, const struct place *p, bool writes)
{
	int lo = place_at(t, p), hi = lo + p->size;
	for (int i = 0; i < r->nevents; i++) {
		const struct event *e = &r->events[i];
		if (!set_has(&t->facts.before, i) || set_has(&t->facts.fenced, i))
			continue;
		if (e->var != p->var || e->hi <= lo || hi <= e->lo || !(e->writes || writes))
			continue;
		if (r->nhits == MAX_HITS) {
			r->too_long = true;
			return;
		}
		r->hits[r->nhits++] = (struct hit){i, t->pc, set_has(&t->facts.done, i)};
	}
}

static void do_fence(const struct run *r, struct thread *t, int spaces)
{
	for (int i = 0; i < WORDS; i++) {
		uint64_t mask = (spaces & SPACE_SHARED ? r->shared.w[i] : 0) |
				(spaces & SPACE_GLOBAL ? r->global.w[i] : 0);
		t->facts.fenced.w[i] |= t->facts.before.w[i] & mask;
	}
}

static void barrier_arrive(struct barrier *b, const struct thread *t, int expected)
{
	facts_join(&b->next, &t->facts);
	if (++b->arrived < expected)
		return;
	b->arrived = 0;
	b->phase++;
	b->last = b->next;
}

/* A bar.* phase hands over what its own arrivals brought and nothing of earlier phases. */
static void bar_arrive(struct barrier *b, const struct thread *t, int expected)
{
	int phase = b->phase;
	barrier_arrive(b, t, expected);
	if (b->phase != phase)
		memset(&b->next, 0, sizeof(b->next));
}

static bool bar_sync(struct barrier *b, struct thread *t, int expected)
{
	if (!t->blocked) {
		t->waits_for = b->phase + 1;
		t->blocked = true;
		bar_arrive(b, t, expected);
	}
	if (b->phase < t->waits_for)
		return false;
	t->blocked = false;
	facts_join(&t->facts, &b->last);
	return true;
}

static bool mb_wait(struct barrier *b, struct thread *t, const struct step *s)
{
	int parity = 0;
	switch (s->parity) {
	case PARITY_ZERO:
		break;
	case PARITY_ONE:
		parity = 1;
		break;
	case PARITY_PHASE:
		parity = t->phase;
		break;
	case PARITY_LOOP:
		parity = t->loop[s->depth] & 1;
		break;
	case PARITY_LOOP_OTHER:
		parity = (t->loop[s->depth] & 1) ^ 1;
		break;
	}
	if ((b->phase & 1) == parity)
		return false;
	if (b->phase > 0)
		facts_join(&t->facts, &b->last);
	return true;
}

/* bar.sync 0 counts the threads that have not left. */
static int live(const struct run *r)
{
	int n = 0;
	for (int i = 0; i < r->nthreads; i++)
		n += !r->threads[i].over;
	return n;
}

static void leave(struct run *r, struct thread *t)
{
	struct barrier *b = &r->bars[0];
	t->over = true;
	if (b->arrived == 0 || b->arrived < live(r))
		return;
	b->arrived = 0;
	b->phase++;
	b->last = b->next;
	memset(&b->next, 0, sizeof(b->next));
}

static int threads_of(int warps)
{
	int n = 0;
	for (int w = 0; w < MAX_WARPS; w++)
		n += warps >> w & 1 ? 2 : 0;
	return n;
}

/* One step of one thread; false if it has to wait. */
static bool thread_step(struct run *r, struct thread *t)
{
	const struct step *s = &r->p->lines[t->pc].step;
	if (s->op == OP_JUMP && s->guard.kind == COND_DATA)
		do_use(r, t, &t->held[s->guard.a]);
	if (s->op != OP_JUMP && !cond_holds(r, t, &s->guard)) {
		t->pc++;
		return true;
	}
	switch (s->op) {
	case OP_NONE:
	case OP_LABEL:
		break;
	case OP_JUMP:
		if (cond_holds(r, t, &s->guard)) {
			t->pc = s->value;
			return true;
		}
		break;
	case OP_EXIT:
		t->pc = r->p->n;
		return true;
	case OP_LOOP_ZERO:
		t->loop[s->depth] = 0;
		break;
	case OP_LOOP_NEXT:
		t->loop[s->depth]++;
		break;
	case OP_PHASE:
		t->phase ^= 1;
		break;
	case OP_READ:
	case OP_WRITE:
	case OP_UPDATE:
		do_access(r, t, s);
		break;
	case OP_COPY:
		do_copy(r, t, s);
		break;
	case OP_COMMIT:
		t->group++;
		break;
	case OP_WAIT_GROUP:
		do_wait_group(t, s->value);
		break;
	case OP_MIX:
		set_join(&t->acc, &t->held[s->value]);
		break;
	case OP_USE:
		do_use(r, t, &t->held[s->value]);
		break;
	case OP_USE_ACC:
		do_use(r, t, &t->acc);
		break;
	case OP_BULK_LOAD:
		async_access(r, t, &s->to, true);
		async_access(r, t, &s->from, false);
		break;
	case OP_BULK_STORE:
		async_access(r, t, &s->to, false);
		async_access(r, t, &s->from, true);
		break;
	case OP_FENCE:
		do_fence(r, t, s->value);
		break;
	case OP_SYNC:
		if (!bar_sync(&r->bars[s->barrier], t,
			    s->barrier == 0 ? live(r) : threads_of(s->warps)))
			return false;
		break;
	case OP_ARRIVE:
		t->waits_for = r->bars[s->barrier].phase + 1;
		bar_arrive(&r->bars[s->barrier], t, threads_of(s->warps));
		break;
	case OP_WAIT:
		if (r->bars[s->barrier].phase < t->waits_for)
			return false;
		facts_join(&t->facts, &r->bars[s->barrier].last);
		break;
	case OP_WARP_SYNC:
		if (!bar_sync(&r->warp_bars[t->tid / 32], t, 2))
			return false;
		break;
	case OP_MB_ARRIVE:
		barrier_arrive(&r->mbs[s->barrier], t, r->p->expected[s->barrier]);
		break;
	case OP_MB_WAIT:
		if (!mb_wait(&r->mbs[s->barrier], t, s))
			return false;
		break;
	}
	t->pc++;
	return true;
}

/* Runs each thread in the given order until it has to wait. */
static enum verdict run_all(struct run *r, const int *order)
{
	for (bool moved = true; moved;) {
		moved = false;
		for (int i = 0; i < r->nthreads; i++) {
			struct thread *t = &r->threads[order[i]];
			while (!t->over && thread_step(r, t)) {
				moved = true;
				if (t->pc >= r->p->n)
					leave(r, t);
				if (++r->steps > MAX_STEPS || r->too_long)
					return TOO_LONG;
			}
		}
	}
	for (int i = 0; i < r->nthreads; i++)
		if (!r->threads[i].over)
			return STUCK;
	return RAN;
}

static void run_reset(struct run *r, const struct program *p, int n, int flags, int guess)
{
	memset(r->threads, 0, sizeof(r->threads));
	memset(r->bars, 0, sizeof(r->bars));
	memset(r->warp_bars, 0, sizeof(r->warp_bars));
	memset(r->mbs, 0, sizeof(r->mbs));
	memset(&r->shared, 0, sizeof(r->shared));
	memset(&r->global, 0, sizeof(r->global));
	r->p = p;
	r->n = n;
	r->flags = flags;
	r->guess = guess;
	r->nthreads = 2 * p->warps;
	r->nevents = r->steps = r->nhits = 0;
	r->too_long = false;
	for (int i = 0; i < r->nthreads; i++)
		r->threads[i].tid = i / 2 * 32 + i % 2;
}

static void keep_hits(const struct run *r, bool strict, char *seen)
{
	for (int i = 0; i < r->nhits; i++) {
		const struct event *e = &r->events[r->hits[i].event];
		if (strict || !e->is_load || (e->used && !r->hits[i].done))
			seen[e->line * MAX_LINES + r->hits[i].async] = 1;
	}
}

/* The i-th order: a permutation of the warps, and which of its two threads comes first. */
static void order_make(int i, int warps, int *order)
{
	static const int perms[6][MAX_WARPS] = {
		{0, 1, 2}, {1, 0, 2}, {2, 1, 0}, {0, 2, 1}, {1, 2, 0}, {2, 0, 1}};
	int nperms = warps == 3 ? 6 : warps;
	for (int w = 0; w < warps; w++) {
		int warp = perms[i % nperms][w], swap = i / nperms % 2;
		order[2 * w] = 2 * warp + swap;
		order[2 * w + 1] = 2 * warp + 1 - swap;
	}
}

static void edges_collect(const char *seen, const struct program *p, struct edges *edges)
{
	edges->n = 0;
	for (int g = 0; g < p->n; g++)
		for (int a = 0; a < p->n; a++)
			if (seen[g * MAX_LINES + a]) {
				if (edges->n % 64 == 0)
					edges->v = realloc(edges->v,
						(size_t)(edges->n + 64) * sizeof(*edges->v));
				edges->v[edges->n++] = (struct edge){g, a};
			}
}

enum verdict program_run(const struct program *p, bool strict, struct edges *edges)
{
	struct run *r = malloc(sizeof(*r));
	char *seen = calloc(MAX_LINES, MAX_LINES);
	enum verdict worst = RAN;
	int guesses = p->uses_data ? 6 : 1;
	int orders = !p->uses_mbarriers ? 1 : p->warps == 3 ? 12 : 2 * p->warps;
	for (int n = 0; n < (p->uses_n ? 4 : 1); n++)
		for (int flags = 0; flags < (p->uses_flags ? 4 : 1); flags++)
			for (int o = 0; o < orders * guesses; o++) {
				int order[MAX_THREADS];
				order_make(o % orders, p->warps, order);
				run_reset(r, p, n, flags, o / orders);
				enum verdict v = run_all(r, order);
				if (v > worst)
					worst = v;
				keep_hits(r, strict, seen);
			}
	edges_collect(seen, p, edges);
	free(seen);
	free(r);
	return worst;
}
