/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The oracle: runs a small program for every value of its unknown parameters and several orders
 * of its threads. Each thread carries which generic accesses happen before its present point,
 * which of those have a fence behind them, and which reads have certainly delivered their value.
 * Barriers and mbarriers pass these sets on. An async access that meets an unfenced access of the
 * same bytes is an edge. Slow and obvious; it knows nothing of control flow graphs.
 */
#include "state.h"

#include <stddef.h>
#include <stdlib.h>

static int set_of(const struct program *p, const struct thread *t)
{
	return p->set_of[t->tid / 32];
}

int next_of_set(const struct program *p, const struct thread *t, const struct step *s)
{
	return s->by_set ? set_of(p, t) : s->by_other ? 1 - set_of(p, t) : 0;
}

static bool is_set_first(const struct program *p, const struct thread *t)
{
	int w = 0;
	while (p->set_of[w] != set_of(p, t))
		w++;
	return t->tid == 32 * w;
}

static bool pred_holds(const struct run *r, const struct thread *t, int pred)
{
	switch ((enum pred)pred) {
	case PRED_FIRST:
		return t->tid == 0;
	case PRED_SECOND:
		return t->tid == 32;
	case PRED_LANE:
	case PRED_ELECT:
		return t->tid % 32 == 0;
	case PRED_WARP0:
		return t->tid / 32 == 0;
	case PRED_WARP1:
		return t->tid / 32 == 1;
	case PRED_GROUP:
		return t->tid / 32 < 4;
	case PRED_OTHERS:
		return t->tid / 32 != 0;
	case PRED_FLAG0:
		return r->flags & 1;
	case PRED_FLAG1:
		return r->flags & 2;
	case PRED_RANK0:
		return t->cta == 0;
	case PRED_SET_FIRST:
		return is_set_first(r->p, t);
	case PRED_SET_HALF:
		return r->p->halves >> t->tid / 32 & 1;
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
	case COND_LOOP_GE_BOUND:
		v = t->loop[c->a] >= t->bound[c->a];
		break;
	case COND_TURN:
		v = (t->tid / 32 + t->loop[c->a]) & 1;
		break;
	case COND_SET_EQ:
		v = set_of(r->p, t) == c->b;
		break;
	case COND_SET_GE_N:
		v = set_of(r->p, t) >= r->n;
		break;
	case COND_LOOP_GE_SET:
		v = t->loop[c->a] > set_of(r->p, t);
		break;
	case COND_DATA:
		v = value_holds(r, t, c->a);
		break;
	case COND_BELOW:
		v = t->tid < c->b;
		break;
	case COND_STAGE:
		v = t->rings[c->a].at == c->b;
		break;
	case COND_LAST_CALL:
		v = t->count == 0;
		break;
	}
	return v != c->negated;
}

static int threads_of(int warps)
{
	int n = 0;
	for (int w = 0; w < MAX_WARPS; w++)
		n += warps >> w & 1 ? 2 : 0;
	return n;
}

static void do_memory(struct run *r, struct thread *t, const struct step *s)
{
	switch ((int)s->op) {
	case OP_READ:
	case OP_WRITE:
	case OP_UPDATE:
		do_access(r, t, s);
		break;
	case OP_COPY:
		do_copy(r, t, s);
		break;
	case OP_SEND:
		do_send(r, t, s);
		break;
	case OP_BULK_LOAD:
		async_access(r, t, &s->to, true);
		async_access(r, t, &s->from, false);
		break;
	case OP_BULK_STORE:
		async_access(r, t, &s->to, false);
		async_access(r, t, &s->from, true);
		break;
	case OP_MATMUL:
		for (int v = 0; v < NVALUES; v++)
			if (s->value >> v & 1)
				do_use(r, t, &t->held[v]);
		async_access(r, t, &s->to, false);
		if (s->from.size)
			async_access(r, t, &s->from, false);
		break;
	default:
		break;
	}
}

/* What a hint makes of an access: nothing, or one of the async proxy. */
static void do_hinted(struct run *r, struct thread *t, const struct step *s)
{
	if (s->op == OP_READ)
		memset(&t->held[s->value], 0, sizeof(struct set));
	if (s->as_async)
		async_access(r, t, &s->to, s->op != OP_READ);
}

static bool do_sync(struct run *r, struct thread *t, const struct step *s)
{
	struct barrier *bar = &r->bars[t->cta][s->barrier + next_of_set(r->p, t, s)];
	int warps = s->warps ? s->warps : set_warps(r->p, set_of(r->p, t));
	switch ((int)s->op) {
	case OP_SYNC:
		return bar_sync(
			r, bar, t, s->barrier == 0 ? live(r, t->cta) : threads_of(warps));
	case OP_ARRIVE:
		bar_arrive(r, bar, t, threads_of(warps));
		break;
	case OP_CLUSTER_ARRIVE:
		cluster_arrive(r, t);
		break;
	case OP_CLUSTER_WAIT:
		return cluster_wait(r, t);
	case OP_WARP_SYNC:
		return bar_sync(r, &r->warp_bars[t->cta][t->tid / 32], t, 2);
	case OP_MB_ARRIVE:
		mb_arrive(r, t, s);
		break;
	case OP_MB_COPIES:
		mb_copies(r, t, s);
		break;
	case OP_MB_WAIT:
		return mb_wait(r, t, s);
	case OP_MB_ASK:
		mb_wait(r, t, s);
		break;
	default:
		break;
	}
	return true;
}

static void do_stage(struct thread *t, const struct step *s)
{
	struct stage *ring = &t->rings[s->ring - 1];
	int i = t->loop[s->depth] + s->value;
	switch ((int)s->op) {
	case OP_STAGE_SET:
		*ring = (struct stage){s->value, s->count};
		break;
	case OP_STAGE_STEP:
		ring->at++;
		break;
	case OP_STAGE_WRAP:
		*ring = (struct stage){0, ring->parity ^ 1};
		break;
	case OP_STAGE_NEXT:
		if (++ring->at == s->count)
			*ring = (struct stage){0, ring->parity ^ 1};
		break;
	case OP_STAGE_OF:
		*ring = (struct stage){i % s->count, i / s->count & 1};
		break;
	default:
		*ring = t->rings[s->value];
		break;
	}
}

/* Steps that touch nothing but the thread; true if it has jumped. */
static bool do_control(struct run *r, struct thread *t, const struct step *s)
{
	switch ((int)s->op) {
	case OP_JUMP:
		t->pc = s->value;
		return true;
	case OP_CALL:
		do_call(r, t, s);
		return true;
	case OP_RETURN:
		do_return(t);
		return true;
	case OP_EXIT:
		t->pc = r->p->n;
		return true;
	case OP_LOOP_ZERO:
		t->loop[s->depth] = 0;
		break;
	case OP_LOOP_NEXT:
		t->loop[s->depth]++;
		break;
	case OP_MAP_FIELD:
		r->template[s->value] = s->amounts[s->by_loop ? t->loop[s->depth] & 1 : r->flags >> 1 & 1];
		break;
	case OP_MAP_COPY:
		memcpy(r->map, r->template, sizeof(r->map));
		break;
	case OP_LEAVE:
		r->numbers[t->cta][s->barrier] = s->value;
		break;
	case OP_TAKE:
		t->bound[s->depth] = r->numbers[t->cta][s->barrier + next_of_set(r->p, t, s)];
		break;
	case OP_STAGE_SET:
	case OP_STAGE_NEXT:
	case OP_STAGE_STEP:
	case OP_STAGE_WRAP:
	case OP_STAGE_OF:
	case OP_STAGE_COPY:
		do_stage(t, s);
		break;
	case OP_MOVE:
		t->held[s->result] = t->held[s->value];
		break;
	case OP_PHASE:
		t->phase ^= 1;
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
	case OP_FENCE:
		do_fence(r, t, s->value);
		break;
	default:
		break;
	}
	return false;
}

/* One step of one thread; false if it has to wait. */
static bool thread_step(struct run *r, struct thread *t)
{
	t->pc = r->skip[t->pc];
	if (t->pc == r->p->n)
		return true;
	const struct step *s = &r->p->lines[t->pc].step;
	if (s->op == OP_JUMP && s->guard.kind == COND_DATA)
		do_use(r, t, &t->held[s->guard.a]);
	if (s->op == OP_FENCE)
		stamp(r, &t->facts.before, s->features);
	if (!cond_holds(r, t, &s->guard)) {
		t->pc++;
		return true;
	}
	if (do_control(r, t, s))
		return true;
	if (s->neutral || s->as_async)
		do_hinted(r, t, s);
	else
		do_memory(r, t, s);
	if (!do_sync(r, t, s))
		return false;
	t->pc++;
	return true;
}

/* In some runs a thread lets the others go on when it has arrived: what it does next comes late. */
static bool rests(const struct run *r, const struct thread *t, int pc)
{
	uint32_t h = (uint32_t)(r->rests * 7919 + r->steps * 104729 + t->tid * 31) * 2654435761u;
	return r->rests && pc < r->p->n && r->p->lines[pc].step.op == OP_MB_ARRIVE && h >> 31;
}

/* Runs each thread in the given order until it has to wait. */
static enum verdict run_all(struct run *r, const int *order)
{
	for (bool moved = true; moved;) {
		moved = false;
		for (int i = 0; i < r->nthreads; i++) {
			struct thread *t = &r->threads[order[i]];
			int pc = r->skip[t->pc];
			for (; !t->over && thread_step(r, t); pc = r->skip[t->pc]) {
				moved = true;
				if (t->pc >= r->p->n)
					leave(r, t);
				if (++r->steps > MAX_STEPS || r->too_long)
					return TOO_LONG;
				if (rests(r, t, pc))
					break;
			}
		}
	}
	for (int i = 0; i < r->nthreads; i++)
		if (!r->threads[i].over)
			return STUCK;
	return arrives_twice(r) ? TWICE : RAN;
}

static void run_reset(struct run *r, const struct program *p, int n, int flags, int guess)
{
	memset(r, 0, offsetof(struct run, events));
	r->p = p;
	r->n = n;
	r->flags = flags;
	r->guess = guess;
	r->nthreads = 2 * p->warps * p->ctas;
	r->nevents = r->steps = r->nhits = 0;
	r->too_long = false;
	for (int i = 0; i < MAP_FIELDS; i++) /* before it is built it is another one */
		r->map[i] = i == MAP_ELEMENT ? 4 : 64;
	for (int i = 0; i < r->nthreads; i++) {
		struct thread *t = &r->threads[i];
		t->cta = i / (2 * p->warps);
		t->tid = i / 2 % p->warps * 32 + i % 2 * p->lane;
		t->pc = p->start;
	}
}

/* A read whose value is never used, or used before, makes no edge by the default rules. */
static void keep_hits(const struct run *r, struct meeting *seen, bool *row_seen)
{
	for (int i = 0; i < r->nhits; i++) {
		const struct hit *h = &r->hits[i];
		const struct event *e = &r->events[h->event];
		bool counts = !e->is_load || (e->used && !h->done);
		struct meeting *m = &seen[e->line * r->p->n + h->async];
		m->plain |= h->plain && counts;
		m->strict |= h->strict;
		m->features |= h->features;
		m->generic = e->line + 1; /* not zero: seen */
		m->async = h->async;
		row_seen[e->line] = true;
	}
}

/* The i-th order: the warps shuffled, and which of the two threads of one comes first. */
static void order_make(int i, int warps, int *order)
{
	int perm[MAX_THREADS];
	uint32_t h = (uint32_t)(i / 2 * 2654435761u + 1);
	for (int w = 0; w < warps; w++)
		perm[w] = w;
	for (int w = warps - 1; w > 0 && i >= 2; w--) {
		h = h * 1664525u + 1013904223u;
		int k = (int)(h >> 16) % (w + 1), keep = perm[w];
		perm[w] = perm[k];
		perm[k] = keep;
	}
	for (int w = 0; w < warps; w++) {
		order[2 * w] = 2 * perm[w] + i % 2;
		order[2 * w + 1] = 2 * perm[w] + 1 - i % 2;
	}
}

static void outcome_add(struct outcome *o, const struct meeting *m)
{
	if (o->n % 64 == 0)
		o->v = realloc(o->v, (size_t)(o->n + 64) * sizeof(*o->v));
	o->v[o->n] = *m;
	o->v[o->n++].generic--;
	o->edges += m->plain;
	o->strict_edges += m->strict;
}

static void outcome_collect(const struct meeting *seen, const bool *row_seen,
	const struct program *p, struct outcome *o)
{
	o->n = o->edges = o->strict_edges = 0;
	for (int g = 0; g < p->n; g++)
		for (int a = 0; row_seen[g] && a < p->n; a++)
			if (seen[g * p->n + a].generic)
				outcome_add(o, &seen[g * p->n + a]);
}

/* For each line the next one, from itself on, that does anything. */
static void find_skips(struct run *r, const struct program *p)
{
	r->skip[p->n] = p->n;
	for (int i = p->n - 1; i >= 0; i--) {
		enum op op = p->lines[i].step.op;
		r->skip[i] = op == OP_NONE || op == OP_LABEL ? r->skip[i + 1] : i;
	}
}

enum verdict program_run(const struct program *p, struct outcome *out)
{
	struct run *r = malloc(sizeof(*r));
	struct meeting *seen = calloc((size_t)p->n * (size_t)p->n, sizeof(*seen));
	bool row_seen[MAX_LINES] = {false};
	enum verdict worst = RAN;
	find_skips(r, p);
	int warps = p->warps * p->ctas, guesses = p->uses_data ? 6 : 1;
	int plain = !p->uses_mbarriers && !p->races ? 1 : warps == 1 ? 2 : warps == 2 ? 6 : 12;
	int orders = plain + (p->uses_mbarriers ? plain / 2 : 0); /* the latter with rests */
	int last = p->uses_n ? p->rounds > 3 ? p->rounds : 3 : 0;
	for (int n = 0; n <= last; n = n >= 3 && n < last ? last : n + 1)
		for (int flags = 0; flags < (p->uses_flags ? 4 : 1); flags++)
			for (int o = 0; o < orders * guesses && worst == RAN; o++) {
				int order[MAX_THREADS];
				order_make(o % orders, warps, order);
				run_reset(r, p, n, flags, o / orders);
				r->rests = o % orders >= plain ? o % orders : 0;
				enum verdict v = run_all(r, order);
				if (r->rests && v == STUCK)
					continue; /* who is slow may miss a phase that takes too few */
				if (v > worst)
					worst = v;
				keep_hits(r, seen, row_seen);
			}
	outcome_collect(seen, row_seen, p, out);
	free(seen);
	free(r);
	return worst;
}
