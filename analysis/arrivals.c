/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In: hand-offs of a unit and the sets of threads that meet. Out: the mbarriers (ISA 9.7.13.15)
 * each phase of which takes one arrival of every thread that arrives there, and the epochs with
 * which those arrivals keep step.
 *
 * The count of such an mbarrier is the number of threads that can arrive, and each arrives at most
 * once, all of them or none, from one meeting to the next. Where one set has all of them, no thread
 * can be a phase ahead: the set does not meet before all have arrived, so that every phase is of
 * one epoch. Arrivals of several sets that never meet as one are held together by what they wait
 * for, which is not followed: then a phase takes one arrival of each under an assumption
 * (one-arrival).
 *
 * Invariant: who waits there hears the arrivals of whole phases, so that what one thread had handed
 * over at its latest meeting before it arrived is ordered before what another of its set did from
 * that meeting to its own arrive of the same phase.
 */
#include "analysis/leaders_private.h"

#include "analysis/access.h"

#define OBJECT_BYTES 8
#define LOOKS_MAX 64	     /* mbarriers that are looked at */
#define STEPS_MAX (1u << 17) /* threads times blocks that are walked for one mbarrier and epoch */

enum { NOT_YET = 1, ONCE = 2, MORE = 4 }; /* arrivals since the latest meeting, as a set */

#define MEETINGS_MAX 63 /* sites of an epoch */

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
	uint8_t *in; /* by block: ... before it, on the way from one meeting */
	uint32_t *stack;
	bool *waiting; /* by block: it is on the stack */
	bool failed;
};

static const struct operand *operand_of(const struct unit *unit, uint32_t insn, uint32_t behind)
{
	uint8_t n = unit->effects[insn].mbarrier_operand;

	return n == UINT8_MAX ? NULL : insn_operand(unit->fn, &unit->fn->insns[insn], n + behind);
}

/* The constant behind the object's address; `none` if there is no such operand; -1. */
static int64_t constant_of(const struct unit *unit, uint32_t insn, int64_t none)
{
	const struct operand *o = operand_of(unit, insn, 1);

	if (!o)
		return none;
	struct value v = value_of(unit->values, insn, o);

	return v.base == BASE_NUMBER && v.lo == v.hi && v.lo >= 0 ? v.lo : -1;
}

/* It takes one from the count of a phase and does nothing else to it. */
static bool arrives_once(const struct unit *unit, uint32_t insn)
{
	const struct insn *i = &unit->fn->insns[insn];
	const struct effect *e = &unit->effects[insn];

	return e->sync == SYNC_MBAR_ARRIVE && !e->remote && !insn_has(i, MOD_arrive_drop) &&
	       !insn_has(i, MOD_noComplete) &&
	       (insn_has(i, MOD_expect_tx) || constant_of(unit, insn, 1) == 1);
}

static bool counts_arrivals(uint8_t sync)
{
	return sync == SYNC_MBAR_INIT || sync == SYNC_MBAR_INVAL || sync == SYNC_MBAR_ARRIVE ||
	       sync == SYNC_CPASYNC_ARRIVE || sync == SYNC_TCGEN05_COMMIT;
}

/* Adds the threads that may run an instruction. */
static void add_threads(struct finder *f, uint32_t insn, struct thread_set *set)
{
	for (uint32_t t = 0; t < f->most; t++) {
		struct thread thread = {(uint16_t)t, false};

		if (thread_runs(f->unit->values, thread, insn) != TRUTH_NO &&
			thread_reaches(f->unit->values, thread, f->unit->cfg.block_of[insn]))
			thread_set_add(set, t);
	}
}

static uint32_t size_of(const struct thread_set *s)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < THREADS_MAX / 64; i++)
		n += (uint32_t)__builtin_popcountll(s->w[i]);
	return n;
}

/* An instruction that changes what an mbarrier counts. */
struct change {
	uint32_t insn;
	bool known; /* there is an operand that names the object */
	bool fixed; /* at a constant place of its variable */
	struct access object;
};

struct changes {
	struct change *v;
	uint32_t n;
};

static struct changes find_changes(const struct unit *unit)
{
	struct changes c = {0};
	uint32_t most = 0;

	for (uint32_t i = 0; i < unit->fn->ninsns; i++)
		most += unit->cfg.block_of[i] != NONE && counts_arrivals(unit->effects[i].sync);
	c.v = ARENA_NEW(unit->arena, struct change, most);
	for (uint32_t i = 0; i < unit->fn->ninsns; i++) {
		if (unit->cfg.block_of[i] == NONE || !counts_arrivals(unit->effects[i].sync))
			continue;
		struct change *change = &c.v[c.n++];
		const struct operand *o = operand_of(unit, i, 0);

		change->insn = i;
		change->known = o != NULL;
		if (!o)
			continue;
		change->object = access_mbarrier(unit->values, i, o);
		const struct value *v = &change->object.address;

		change->fixed = (v->base == BASE_SYMBOL || v->base == BASE_DERIVED) &&
				v->lo == v->hi && !v->assumptions;
	}
	return c;
}

static bool same_variable(const struct change *a, const struct change *b)
{
	return a->fixed && b->fixed && a->object.address.base == b->object.address.base &&
	       a->object.address.id == b->object.address.id;
}

/* `other` may be about the object of `change`, without being so for certain. */
static bool may_be_same(const struct unit *unit, const struct change *change,
	const struct change *other, uint32_t *assumptions)
{
	if (same_variable(change, other)) {
		int64_t apart = change->object.address.lo - other->object.address.lo;

		return apart > -OBJECT_BYTES && apart < OBJECT_BYTES;
	}
	return !other->known ||
	       access_same_object(unit->values, &change->object, &other->object, assumptions);
}

static bool is_same(const struct change *a, const struct change *b)
{
	return same_variable(a, b) && a->object.address.lo == b->object.address.lo;
}

/* The count that an init gives, if it is run once and agrees with those before; -1. */
static int64_t initial_count(const struct unit *unit, uint32_t insn, int64_t before)
{
	int64_t n = constant_of(unit, insn, -1);

	return n < 1 || (before >= 0 && n != before) ||
			       unit->cfg.blocks[unit->cfg.block_of[insn]].loop_depth
		       ? -1
		       : n;
}

/* All that may be done to the object of one arrive: the threads and sites that arrive there; false:
 * its phases do not take one arrival of each of them. */
static bool find_arrivals(
	struct finder *f, const struct changes *c, const struct change *arrive, struct arrivers *a)
{
	const struct unit *unit = f->unit;
	uint32_t *sites = ARENA_NEW(unit->arena, uint32_t, c->n);
	int64_t count = -1;

	for (uint32_t i = 0; i < c->n; i++) {
		const struct change *change = &c->v[i];
		uint32_t insn = change->insn, site = f->h->site_of[insn];

		if (!is_same(arrive, change)) {
			if (may_be_same(unit, arrive, change, &a->assumptions))
				return false;
		} else if (unit->effects[insn].sync == SYNC_MBAR_INIT) {
			count = initial_count(unit, insn, count);
			if (count < 0)
				return false;
		} else {
			if (!arrives_once(unit, insn) || site == NONE || !f->h->to[site].n)
				return false;
			sites[a->sites.n++] = site;
			add_threads(f, insn, &a->threads);
		}
	}
	a->sites.v = sites;
	return count == (int64_t)size_of(&a->threads);
}

/* ---- from meeting to meeting ---- */

/* Behind an arrive that may be passed with these numbers of arrivals. */
static uint8_t pass_arrive(struct walk *w, struct thread t, uint32_t site, uint8_t count)
{
	enum truth runs = thread_runs(w->f->unit->values, t, w->f->h->sites[site].insn);
	uint8_t more = (uint8_t)((count & NOT_YET ? ONCE : 0) | (count & (ONCE | MORE) ? MORE : 0));

	if (runs == TRUTH_NO)
		return count;
	w->failed |= (more & MORE) != 0;
	return runs == TRUTH_YES ? more : count | more;
}

/* From a site to the end of its block; 0: a meeting ends the way. */
static uint8_t pass_sites(struct walk *w, struct thread t, uint32_t site, uint32_t block,
	uint32_t from, uint8_t count)
{
	const struct handoffs *h = w->f->h;

	for (uint32_t s = site; s < h->n && h->sites[s].block == block; s++) {
		if (w->f->out->arrives[s] == w->number)
			count = pass_arrive(w, t, s, count);
		if (!w->meeting_of[s])
			continue;
		w->between[from][w->meeting_of[s]] |= count;
		return 0;
	}
	return count;
}

static uint32_t enter_succs(struct walk *w, struct thread t, uint32_t b, uint8_t out, uint32_t top)
{
	const struct block *block = &w->f->unit->cfg.blocks[b];

	for (uint32_t i = 0; i < block->succ.n && out; i++) {
		uint32_t to = block->succ.v[i];

		if (!(out & ~w->in[to]) || thread_takes(w->f->unit->values, t, b, i) == TRUTH_NO)
			continue;
		w->in[to] |= out;
		if (!w->waiting[to])
			w->stack[top++] = to;
		w->waiting[to] = true;
	}
	return top;
}

/* Along all ways of the thread from one meeting to the next ones. */
static void walk_on(struct walk *w, struct thread t, uint32_t from)
{
	uint32_t top = 0, site = from ? w->meetings[from - 1] : NONE;
	uint32_t block = from ? w->f->h->sites[site].block : 0;
	uint8_t out = pass_sites(w, t, from ? site + 1 : w->first[0], block, from, NOT_YET);

	memset(w->in, 0, w->f->unit->cfg.n);
	top = enter_succs(w, t, block, out, top);
	while (top) {
		uint32_t b = w->stack[--top];

		w->waiting[b] = false;
		out = pass_sites(w, t, w->first[b], b, from, w->in[b]);
		top = enter_succs(w, t, b, w->failed ? 0 : out, top);
	}
}

static void walk_thread(struct walk *w, struct thread t)
{
	uint64_t done = 0, todo = 1;

	while (todo & ~done && !w->failed) {
		uint32_t from = (uint32_t)__builtin_ctzll(todo & ~done);

		done |= UINT64_C(1) << from;
		walk_on(w, t, from);
		for (uint32_t m = 1; m <= w->n; m++)
			if (w->between[from][m])
				todo |= UINT64_C(1) << m;
	}
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

/* The sets of the epoch have all the threads that arrive, and these keep step with its meetings. */
static bool in_step(struct walk *w, uint32_t epoch)
{
	const struct finder *f = w->f;
	struct thread_set all = {0};

	for (uint32_t g = 0; g < f->ngroups; g++)
		for (uint32_t i = 0; i < THREADS_MAX / 64 && f->groups[g].epoch == epoch; i++)
			all.w[i] |= f->groups[g].threads.w[i];
	if (!thread_set_within(&w->who->threads, &all) || !find_meetings(w, epoch))
		return false;
	w->failed = false;
	memset(w->between, 0, sizeof(w->between));
	for (uint32_t t = 0; t < f->most && !w->failed; t++)
		if (thread_set_has(&w->who->threads, t))
			walk_thread(w, (struct thread){(uint16_t)t, false});
	return !w->failed && all_alike(w) && !budget_spent(f->unit->budget);
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

static bool keeps_step(struct walk *w, struct arrivers *a)
{
	const struct finder *f = w->f;
	uint32_t steps = 0;

	w->who = a;
	if ((uint64_t)size_of(&a->threads) * f->unit->cfg.n > STEPS_MAX)
		return false;
	for (uint32_t e = 0; e < f->out->nepochs; e++)
		if (in_step(w, e))
			steps |= UINT32_C(1) << e;
	a->epochs =
		steps & ~UINT32_C(1); /* what is acquired is not followed in that of all threads */
	if (!is_proven(f, a, steps)) {
		if (!(f->unit->options->assume & ASSUME_ONE_ARRIVAL))
			return false;
		a->assumptions |= ASSUME_ONE_ARRIVAL;
	}
	return a->epochs != 0;
}

static struct walk *walk_new(struct finder *f)
{
	struct arena *arena = f->unit->arena;
	uint32_t nblocks = f->unit->cfg.n;
	struct walk *w = ARENA_NEW(arena, struct walk, 1);

	w->f = f;
	w->first = ARENA_NEW(arena, uint32_t, nblocks);
	w->in = ARENA_NEW(arena, uint8_t, nblocks);
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

/* Gives the sites of `a` the number; ARRIVERS_MAX: none. */
static void number_sites(struct leaders *l, const struct arrivers *a, uint32_t number)
{
	for (uint32_t i = 0; i < a->sites.n; i++)
		l->arrives[a->sites.v[i]] = (uint8_t)number;
}

void arrivals_find(struct finder *f)
{
	struct leaders *l = f->out;
	struct arena *arena = f->unit->arena;

	f->arrivals = true;
	if (l->nepochs < 2)
		return;
	l->arrives = ARENA_NEW(arena, uint8_t, f->h->n);
	memset(l->arrives, ARRIVERS_MAX, f->h->n);
	l->arrivers = ARENA_NEW(arena, struct arrivers, ARRIVERS_MAX);

	struct walk *w = walk_new(f);
	struct changes c = find_changes(f->unit);
	struct bits seen = bits_new(arena, c.n + 1);
	uint32_t looks = 0;

	for (uint32_t i = 0; i < c.n && l->narrivers < ARRIVERS_MAX && looks < LOOKS_MAX; i++) {
		struct arrivers *a = &l->arrivers[l->narrivers];

		if (bits_has(seen, i) || !c.v[i].fixed || !arrives_once(f->unit, c.v[i].insn))
			continue;
		for (uint32_t k = i; k < c.n; k++)
			if (is_same(&c.v[i], &c.v[k]))
				bits_set(seen, k);
		*a = (struct arrivers){0};
		looks++;
		if (budget_spent(f->unit->budget) || !find_arrivals(f, &c, &c.v[i], a))
			continue;
		w->number = l->narrivers;
		number_sites(l, a, w->number);
		if (keeps_step(w, a))
			l->narrivers++;
		else
			number_sites(l, a, ARRIVERS_MAX);
	}
}
