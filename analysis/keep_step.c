/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In: an mbarrier whose count is the number of threads that can arrive there. Out: the epochs with
 * whose meetings those arrivals keep step.
 *
 * Each thread arrives at most once, all of them or none, from one meeting to the next. Where one
 * set has all of them, no thread can be a phase ahead: the set does not meet before all have
 * arrived, so that every phase is of one epoch. Arrivals of several sets that never meet as one are
 * held together by what they wait for, which is not followed: then a phase takes one arrival of
 * each under an assumption (one-arrival).
 *
 * Invariant: who waits there hears the arrivals of whole phases, so that what one thread had handed
 * over at its latest meeting before it arrived is ordered before what another of its set did from
 * that meeting to its own arrive of the same phase.
 */
#include "analysis/leaders_private.h"

#define STEPS_MAX (1u << 17) /* threads times blocks that are walked for one mbarrier and epoch */
#define MEETINGS_MAX 63	     /* sites of an epoch */
#define TOGETHER 64	     /* threads that are walked at once, a bit for each */

enum { NOT_YET = 1, ONCE = 2, MORE = 4 }; /* arrivals since the latest meeting, as a set */

/* Threads that have arrived so often since their latest meeting. */
struct counts {
	uint64_t never, once, more;
};

struct walk {
	struct finder *f;
	const struct arrivers *who;
	uint32_t number;
	uint32_t *first;       /* by block: its first site, or their number */
	uint32_t *meetings, n; /* sites of the epoch that is looked at */
	uint8_t *meeting_of;   /* by site: its number among them + 1, or 0 */
	/* by meetings (0: the start of the kernel): how often who has passed one arrives before the
	 * next */
	uint8_t between[MEETINGS_MAX + 1][MEETINGS_MAX + 1];
	/* of the threads that are walked now */
	uint16_t tids[TOGETHER];
	uint32_t ntids;
	bool *asked;		      /* by block: edges are known */
	uint64_t (*edges)[2];	      /* by block: who may take its first, its second edge */
	uint64_t *always, *sometimes; /* by site: who arrives there, or may */
	uint64_t reached[MEETINGS_MAX + 1];
	struct counts *in; /* by block: before it, on the way from one meeting */
	uint32_t *stack;
	bool *waiting; /* by block: it is on the stack */
	bool failed;
};

/* Behind an arrive. */
static void pass_arrive(struct walk *w, uint32_t site, struct counts *c)
{
	uint64_t once = c->never & w->sometimes[site];

	w->failed |= ((c->once | c->more) & w->sometimes[site]) != 0;
	c->never &= ~w->always[site];
	c->once |= once;
}

/* From a site to the end of its block; false: a meeting ends the way. */
static bool pass_sites(
	struct walk *w, uint32_t site, uint32_t block, uint32_t from, struct counts *c)
{
	const struct handoffs *h = w->f->h;

	for (uint32_t s = site; s < h->n && h->sites[s].block == block; s++) {
		if (w->f->out->arrives[s] == w->number)
			pass_arrive(w, s, c);
		uint32_t m = w->meeting_of[s];

		if (!m)
			continue;
		w->between[from][m] |= (uint8_t)((c->never ? NOT_YET : 0) | (c->once ? ONCE : 0) |
						 (c->more ? MORE : 0));
		w->reached[m] |= c->never | c->once | c->more;
		return false;
	}
	return true;
}

/* Who may take the i-th edge out of a block. */
static uint64_t edge(struct walk *w, uint32_t b, uint32_t i)
{
	if (w->f->unit->cfg.blocks[b].succ.n != 2)
		return UINT64_MAX;
	if (!w->asked[b]) {
		w->asked[b] = true;
		w->edges[b][0] = w->edges[b][1] = 0;
		for (uint32_t k = 0; k < w->ntids; k++)
			for (uint32_t e = 0; e < 2; e++)
				if (thread_takes(w->f->unit->values,
					    (struct thread){w->tids[k], false}, b, e) != TRUTH_NO)
					w->edges[b][e] |= UINT64_C(1) << k;
	}
	return w->edges[b][i];
}

static uint32_t enter_succs(struct walk *w, uint32_t b, const struct counts *c, uint32_t top)
{
	const struct block *block = &w->f->unit->cfg.blocks[b];

	for (uint32_t i = 0; i < block->succ.n; i++) {
		uint32_t to = block->succ.v[i];
		uint64_t who = edge(w, b, i);
		struct counts *in = &w->in[to];

		if (!(who & ((c->never & ~in->never) | (c->once & ~in->once) |
				    (c->more & ~in->more))))
			continue;
		in->never |= c->never & who;
		in->once |= c->once & who;
		in->more |= c->more & who;
		if (!w->waiting[to])
			w->stack[top++] = to;
		w->waiting[to] = true;
	}
	return top;
}

/* Along all ways from one meeting to the next ones. */
static void walk_on(struct walk *w, uint32_t from)
{
	uint32_t top = 0, site = from ? w->meetings[from - 1] : NONE;
	uint32_t block = from ? w->f->h->sites[site].block : 0;
	struct counts c = {.never = w->reached[from]};

	memset(w->in, 0, sizeof(*w->in) * w->f->unit->cfg.n);
	if (pass_sites(w, from ? site + 1 : w->first[0], block, from, &c))
		top = enter_succs(w, block, &c, top);
	while (top) {
		uint32_t b = w->stack[--top];

		w->waiting[b] = false;
		c = w->in[b];
		if (pass_sites(w, w->first[b], b, from, &c) && !w->failed)
			top = enter_succs(w, b, &c, top);
	}
}

/* The threads in w->tids, from the start of the kernel. */
static void walk_threads(struct walk *w)
{
	uint64_t walked[MEETINGS_MAX + 1] = {0};
	bool more = true;

	memset(w->reached, 0, sizeof(w->reached));
	w->reached[0] = w->ntids < TOGETHER ? (UINT64_C(1) << w->ntids) - 1 : UINT64_MAX;
	while (more && !w->failed) {
		more = false;
		for (uint32_t m = 0; m <= w->n && !w->failed; m++) {
			if (!(w->reached[m] & ~walked[m]))
				continue;
			walked[m] = w->reached[m];
			walk_on(w, m);
			more = true;
		}
	}
}

/* The next threads that arrive, up to so many, from number t on; the number behind them. */
static uint32_t choose_threads(struct walk *w, uint32_t t, uint32_t most)
{
	const struct values *vs = w->f->unit->values;

	w->ntids = 0;
	for (; t < w->f->most && w->ntids < most; t++)
		if (thread_set_has(&w->who->threads, t))
			w->tids[w->ntids++] = (uint16_t)t;
	memset(w->asked, 0, sizeof(*w->asked) * w->f->unit->cfg.n);
	for (uint32_t i = 0; i < w->who->sites.n; i++) {
		uint32_t s = w->who->sites.v[i];

		w->always[s] = w->sometimes[s] = 0;
		for (uint32_t k = 0; k < w->ntids; k++) {
			enum truth runs = thread_runs(
				vs, (struct thread){w->tids[k], false}, w->f->h->sites[s].insn);

			w->always[s] |= (uint64_t)(runs == TRUTH_YES) << k;
			w->sometimes[s] |= (uint64_t)(runs != TRUTH_NO) << k;
		}
	}
	return t;
}

/* The meetings at which others can be at the moment of meeting m, as a mask. */
static bool partners(const struct walk *w, uint32_t m, uint64_t *out)
{
	const struct handoffs *h = w->f->h;
	uint32_t site = m ? w->meetings[m - 1] : NONE;

	*out = UINT64_C(1) << m;
	for (uint32_t i = 0; m && i < h->from[site].n; i++) {
		uint32_t r = h->from[site].v[i];

		if (h->sites[r].is_exit || !w->meeting_of[r])
			return false;
		*out |= UINT64_C(1) << w->meeting_of[r];
	}
	return true;
}

/* Between two meetings whoever takes part in both has arrived as often. */
static bool all_alike(const struct walk *w)
{
	uint64_t with[MEETINGS_MAX + 1], reached = 1;

	for (uint32_t p = 0; p <= w->n; p++)
		for (uint32_t q = 1; q <= w->n; q++)
			if (w->between[p][q])
				reached |= UINT64_C(1) << q;
	for (uint32_t m = 0; m <= w->n; m++)
		if (reached >> m & 1 && !partners(w, m, &with[m]))
			return false;
	for (uint32_t p = 0; p <= w->n; p++) {
		for (uint32_t q = 1; q <= w->n; q++) {
			uint8_t count = 0;

			for (uint64_t x = with[p]; w->between[p][q] && x; x &= x - 1)
				for (uint64_t y = with[q]; y; y &= y - 1)
					count |= w->between[__builtin_ctzll(x)][__builtin_ctzll(y)];
			if (count & (count - 1))
				return false;
		}
	}
	return true;
}

static bool find_meetings(struct walk *w, uint32_t epoch)
{
	const struct finder *f = w->f;

	w->n = 0;
	for (uint32_t s = 0; s < f->h->n; s++) {
		w->meeting_of[s] = 0;
		if (!(f->out->begins[s] >> epoch & 1))
			continue;
		if (w->n == MEETINGS_MAX)
			return false;
		w->meetings[w->n++] = s;
		w->meeting_of[s] = (uint8_t)w->n;
	}
	return true;
}

/* They keep step with its meetings. */
static bool in_step(struct walk *w, uint32_t epoch)
{
	const struct finder *f = w->f;

	if ((epoch && !(w->who->may_keep >> epoch & 1)) || !find_meetings(w, epoch))
		return false;
	w->failed = false;
	memset(w->between, 0, sizeof(w->between));
	/* what the first does alone tells most of the time */
	for (uint32_t t = 0, most = 1; t < f->most && !w->failed; most = TOGETHER) {
		t = choose_threads(w, t, most);
		if (w->ntids)
			walk_threads(w);
		w->failed |= !all_alike(w) || budget_spent(f->unit->budget);
	}
	return !w->failed;
}

/* All threads that may arrive are there: a block of fewer than expected would take another arrival
 * of some for that of those that are missing. */
static bool all_there(const struct finder *f, const struct arrivers *a, uint32_t epoch)
{
	for (uint32_t t = 0; t < f->most && !f->exact; t++)
		if (t % 32 && thread_set_has(&a->threads, t))
			return false;
	for (uint32_t i = 0; i < a->sites.n && !f->exact; i++)
		if (!epoch || !leaders_counted(f, epoch, a->sites.v[i]))
			return false;
	return true;
}

/* One set, which keeps step, has them all. */
static bool is_proven(const struct finder *f, const struct arrivers *a, uint32_t in_step)
{
	for (uint32_t g = 0; g < f->ngroups; g++)
		if (in_step >> f->groups[g].epoch & 1 &&
			thread_set_within(&a->threads, &f->groups[g].threads) &&
			all_there(f, a, f->groups[g].epoch))
			return true;
	return false;
}

static void keep(struct walk *w, const struct arrivers *a, struct keeping *out)
{
	const struct finder *f = w->f;
	uint32_t steps = 0;

	w->who = a;
	if ((uint64_t)thread_set_size(&a->threads) * f->unit->cfg.n > STEPS_MAX)
		return;
	for (uint32_t e = 0; e < f->out->nepochs; e++)
		if (in_step(w, e))
			steps |= UINT32_C(1) << e;
	out->assumptions = a->assumptions;
	if (!is_proven(f, a, steps)) {
		if (!(f->unit->options->assume & ASSUME_ONE_ARRIVAL))
			return;
		out->assumptions |= ASSUME_ONE_ARRIVAL;
	}
	out->epochs = steps & a->may_keep;
}

static struct walk *walk_new(struct finder *f)
{
	struct arena *arena = f->unit->arena;
	uint32_t nblocks = f->unit->cfg.n;
	struct walk *w = ARENA_NEW(arena, struct walk, 1);

	w->f = f;
	w->first = ARENA_NEW(arena, uint32_t, nblocks);
	w->in = ARENA_NEW(arena, struct counts, nblocks);
	w->asked = ARENA_NEW(arena, bool, nblocks);
	w->edges = arena_alloc(arena, sizeof(*w->edges) * nblocks);
	w->always = ARENA_NEW(arena, uint64_t, f->h->n);
	w->sometimes = ARENA_NEW(arena, uint64_t, f->h->n);
	w->meetings = ARENA_NEW(arena, uint32_t, MEETINGS_MAX);
	w->meeting_of = ARENA_NEW(arena, uint8_t, f->h->n);
	w->stack = ARENA_NEW(arena, uint32_t, nblocks + 1);
	w->waiting = ARENA_NEW(arena, bool, nblocks);
	for (uint32_t b = 0; b < nblocks; b++)
		w->first[b] = f->h->n;
	for (uint32_t s = f->h->n; s-- > 0;)
		w->first[f->h->sites[s].block] = s;
	return w;
}

struct keeping arrivals_keep(const struct leaders *l, const struct arrivers *a)
{
	struct finder *f = l->finder;

	if (!a->keeping->known) {
		struct walk *w = walk_new(f);

		a->keeping->known = true;
		w->number = l->arrives[a->sites.v[0]];
		keep(w, a, a->keeping);
	}
	return *a->keeping;
}
