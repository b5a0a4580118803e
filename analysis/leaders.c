/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In: hand-offs and fences of a unit. Out: the barriers whose threads are known one by one, and the
 * threads that may fence for them. A set of threads is known if no more threads can come to the
 * barriers of its id than their count asks for: then each of them takes part every time.
 */
#include "analysis/barrier_sets.h"
#include "analysis/leaders_private.h"

static bool is_empty(const struct thread_set *s)
{
	return !thread_sets_meet(s, s);
}

/* ---- the threads of named barriers ---- */

/* Threads that the barrier counts, if it is one that all its threads wait at; 0. */
static uint32_t counted(const struct finder *f, const struct sync_site *s)
{
	return s->kind != SYNC_BAR || s->unknown || s->full ? 0 : barrier_counted(f->unit, s->insn);
}

/* The sets of epoch e are those from number `from` on. */
static bool same_sets(const struct finder *f, uint32_t e, uint32_t from)
{
	uint32_t first = 0, n = f->ngroups - from;

	while (f->groups[first].epoch != e)
		first++;
	for (uint32_t i = 0; i < n; i++)
		if (f->groups[first + i].epoch != e ||
			memcmp(&f->groups[first + i].threads, &f->groups[from + i].threads,
				sizeof(struct thread_set)) != 0)
			return false;
	return f->groups[first + n].epoch != e;
}

/* Barriers of the same threads under other ids are meetings of the same epoch. */
static void find_epoch(struct finder *f, uint32_t barrier)
{
	struct thread_set by_id[BARRIER_IDS] = {0};
	uint32_t count = 0, epoch = f->out->nepochs;

	for (uint32_t i = 0; i < f->h->n; i++) {
		const struct sync_site *s = &f->h->sites[i];

		if (s->barrier != barrier)
			continue;
		uint32_t n = counted(f, s);

		if (!n || (count && n != count) || !barrier_add_threads(f->unit, s->insn, by_id))
			return;
		count = n;
	}
	for (uint32_t id = 0; id < BARRIER_IDS; id++)
		if (!barrier_set_complete(&by_id[id], count))
			return;
	uint32_t before = f->ngroups;

	for (uint32_t id = 0; id < BARRIER_IDS; id++)
		if (!is_empty(&by_id[id]))
			f->groups[f->ngroups++] = (struct group){by_id[id], epoch};
	if (before == f->ngroups)
		return;
	for (uint32_t known = 1; known < f->out->nepochs && epoch == f->out->nepochs; known++)
		if (same_sets(f, known, before))
			epoch = known;
	if (epoch == f->out->nepochs)
		f->out->nepochs++;
	else
		f->ngroups = before;
	for (uint32_t i = 0; i < f->h->n; i++)
		if (f->h->sites[i].barrier == barrier)
			f->out->epoch_of[i] = (uint8_t)epoch;
}

static void find_epochs(struct finder *f)
{
	struct leaders *l = f->out;

	l->epoch_of = ARENA_NEW(f->unit->arena, uint8_t, f->h->n + 1);
	for (uint32_t i = 0; i < f->h->n; i++)
		l->epoch_of[i] = f->h->sites[i].full ? 0 : EPOCHS_MAX;
	l->nepochs = 1;
	f->groups = ARENA_UNSET(f->unit->arena, struct group, EPOCHS_MAX * BARRIER_IDS);
	memset(&f->groups[0].threads, 0xff, sizeof(f->groups[0].threads));
	f->groups[0].epoch = 0;
	f->ngroups = 1;
	for (uint32_t i = 0; i < f->h->n && l->nepochs < EPOCHS_MAX && f->named; i++) {
		uint32_t barrier = f->h->sites[i].barrier;
		bool first = barrier != NONE;

		for (uint32_t k = 0; k < i && first; k++)
			first = f->h->sites[k].barrier != barrier;
		if (first && !budget_spent(f->unit->budget))
			find_epoch(f, barrier);
	}
}

/* Every set of epoch `part` is a part of some set of epoch `e`, and each of these has such a part.
 */
static bool is_part(const struct finder *f, uint32_t part, uint32_t e)
{
	for (uint32_t g = 0; g < f->ngroups; g++) {
		const struct group *group = &f->groups[g];
		bool found = e == part || e == 0 || (group->epoch != part && group->epoch != e);

		for (uint32_t k = 0; k < f->ngroups && !found; k++) {
			const struct group *other = &f->groups[k];

			if (group->epoch == part && other->epoch == e)
				found = thread_set_within(&group->threads, &other->threads);
			else if (group->epoch == e && other->epoch == part)
				found = thread_set_within(&other->threads, &group->threads);
		}
		if (!found)
			return false;
	}
	return true;
}

/* An unguarded barrier of the epoch's own stands on every way to a site. */
bool leaders_counted(const struct finder *f, uint32_t epoch, uint32_t site)
{
	const struct sync_site *to = &f->h->sites[site];

	for (uint32_t i = 0; i < f->h->n; i++) {
		const struct sync_site *s = &f->h->sites[i];

		if (f->out->epoch_of[i] != epoch || !f->out->begins[i])
			continue;
		if (s->block == to->block ? s->insn < to->insn
					  : cfg_dominates(&f->unit->cfg, s->block, to->block))
			return true;
	}
	return false;
}

/* Lanes of one warp may part on the way to where it leaves: then the others meet without it. */
static bool parts(const struct finder *f, struct thread t, uint32_t insn)
{
	const struct unit *unit = f->unit;
	struct operand guard = {.kind = OPERAND_REG, .id = unit->fn->insns[insn].guard};
	struct thread warp = {t.tid, true};

	return guard.id != NONE && !value_uniform(unit->values, insn, &guard) &&
	       thread_runs(f->unit->values, warp, insn) == TRUTH_OPEN;
}

/* Lanes may part on the ways from the dominator of a block to the block, so that some do not come. */
static bool parts_above(const struct finder *f, struct thread t, uint32_t b)
{
	const struct cfg *cfg = &f->unit->cfg;
	uint32_t above = cfg->blocks[b].idom, top = 0;

	if (above == NONE || cfg_postdominates(cfg, b, above))
		return false;
	struct bits seen = bits_new(f->unit->arena, cfg->n);
	uint32_t *stack = ARENA_UNSET(f->unit->arena, uint32_t, cfg->n + 1);

	stack[top++] = b;
	while (top) {
		uint32_t q = stack[--top];

		for (uint32_t i = 0; i < cfg->blocks[q].pred.n; i++) {
			uint32_t p = cfg->blocks[q].pred.v[i];
			const struct block *block = &cfg->blocks[p];

			/* behind the block itself they have come */
			if (bits_has(seen, p) || cfg_dominates(cfg, b, p))
				continue;
			bits_set(seen, p);
			if (block->succ.n > 1 && block->count &&
				parts(f, t, block->first + block->count - 1))
				return true;
			if (p != above)
				stack[top++] = p;
		}
	}
	return false;
}

static bool may_leave_alone_at(const struct finder *f, struct thread t, uint32_t exit)
{
	const struct cfg *cfg = &f->unit->cfg;

	if (!cfg->blocks[exit].exits || !thread_reaches(f->unit->values, t, exit))
		return false;
	if (cfg->blocks[exit].count && cfg->blocks[exit].succ.n &&
		parts(f, t, cfg->blocks[exit].first + cfg->blocks[exit].count - 1))
		return true;
	for (uint32_t b = exit; b != NONE && b; b = cfg->blocks[b].idom)
		if (parts_above(f, t, b))
			return true;
	return false;
}

static bool may_leave_alone(const struct finder *f, struct thread t)
{
	for (uint32_t b = 0; b < f->unit->cfg.n; b++)
		if (may_leave_alone_at(f, t, b))
			return true;
	return false;
}

/* Lanes of the set may leave there and let the rest of their warp meet without them. What holds for one that
 * comes there holds for all of its warp that do. */
static bool some_leave(const struct finder *f, const struct thread_set *set, uint32_t block)
{
	const struct thread_set *come = threads_reach(f->unit->values, block);

	for (uint32_t t = 0; t < f->most; t += 32) {
		uint32_t lanes = (uint32_t)((set->w[t / 64] & come->w[t / 64]) >> (t & 32));

		if (lanes && may_leave_alone_at(f,
				     (struct thread){(uint16_t)(t + (uint32_t)__builtin_ctz(lanes)),
					     false},
				     block))
			return true;
	}
	return false;
}

uint32_t leaders_enter(const struct leaders *l, uint32_t site)
{
	const struct finder *f = l->finder;
	const struct sync_site *s = &f->h->sites[site];
	uint32_t enters = l->enters[site];

	if (enters & ENTERS_ASKED)
		return enters & ~ENTERS_ASKED;
	for (uint32_t g = 0; g < f->ngroups && s->kind != SYNC_WARP; g++) {
		const struct thread_set *set = &f->groups[g].threads;
		uint32_t e = f->groups[g].epoch;

		if (l->epoch_of[site] == e && e)
			continue;
		if (!(enters >> e & 1) &&
			(!g || thread_sets_meet(set, threads_reach(f->unit->values, s->block))) &&
			(!s->is_exit || some_leave(f, set, s->block)))
			enters |= UINT32_C(1) << e;
	}
	l->enters[site] = (uint16_t)(enters | ENTERS_ASKED);
	return enters;
}

static void find_beginnings(struct finder *f)
{
	struct leaders *l = f->out;
	uint8_t parts[EPOCHS_MAX + 1] = {0};

	for (uint32_t e = 0; e < l->nepochs; e++)
		for (uint32_t part = 0; part < l->nepochs; part++)
			if (is_part(f, part, e))
				parts[e] |= (uint8_t)(1 << part);
	l->begins = ARENA_NEW(f->unit->arena, uint8_t, f->h->n + 1);
	l->counted = ARENA_NEW(f->unit->arena, uint8_t, f->h->n + 1);
	for (uint32_t i = 0; i < f->h->n; i++) {
		const struct sync_site *s = &f->h->sites[i];

		if (s->is_exit || f->unit->fn->insns[s->insn].guard != NONE)
			continue;
		l->begins[i] = parts[l->epoch_of[i]];
		if (s->full && s->unknown)
			l->begins[i] = 1;
	}
	for (uint32_t i = 0; i < f->h->n; i++)
		for (uint32_t e = 1; e < l->nepochs && f->h->sites[i].full; e++)
			if (leaders_counted(f, e, i))
				l->counted[i] |= (uint8_t)(1 << e);
}

/* ---- leaders ---- */

static void add_leader(struct finder *f, uint32_t tid, bool elected)
{
	struct leaders *l = f->out;

	for (uint32_t i = 0; i < l->n; i++)
		if (l->v[i].tid == tid && l->v[i].elected == elected)
			return;
	if (l->n < LEADERS_MAX)
		l->v[l->n++] = (struct thread){(uint16_t)tid, elected};
}

static uint32_t first_of_both(const struct thread_set *a, const struct thread_set *b)
{
	for (uint32_t i = 0; i < THREADS_MAX / 64; i++)
		if (a->w[i] & b->w[i])
			return i * 64 + (uint32_t)__builtin_ctzll(a->w[i] & b->w[i]);
	return NONE;
}

static bool elected_comes(const struct finder *f, uint32_t warp, uint32_t insn, bool guarded)
{
	struct thread t = {(uint16_t)warp, true};

	return (!guarded || thread_runs(f->unit->values, t, insn) != TRUTH_NO) &&
	       thread_reaches(f->unit->values, t, f->unit->cfg.block_of[insn]);
}

/* The first thread of each set, and the first warp's elected one, that can come to the fence. */
static void leaders_of_fence(struct finder *f, uint32_t insn, bool guarded)
{
	struct thread_set come = *threads_reach(f->unit->values, f->unit->cfg.block_of[insn]);

	if (guarded)
		threads_run(f->unit->values, insn, &come);
	for (uint32_t g = 0; g < f->ngroups; g++) {
		const struct thread_set *set = &f->groups[g].threads;
		uint32_t first = first_of_both(set, &come);

		if (first != NONE && (f->numbered || !first))
			add_leader(f, first, false);
		for (uint32_t t = 0; t < (f->numbered ? f->most : 1) && f->elects; t += 32) {
			if (!thread_set_has(set, t) || !elected_comes(f, t, insn, guarded))
				continue;
			add_leader(f, t, true);
			break;
		}
	}
}

static void find_leaders(struct finder *f, const struct fence_view *view)
{
	const struct unit *unit = f->unit;
	const struct ids *active = &unit->cfg.active;
	uint32_t placed = bits_next(f->placed, 0), n = unit->fn->ninsns;

	for (uint32_t k = 0; k <= active->n; k++) {
		uint32_t i = k < active->n ? active->v[k] : n;

		for (; placed < n && placed <= i; placed = bits_next(f->placed, placed + 1))
			if (unit->cfg.block_of[placed] != NONE)
				leaders_of_fence(f, placed, false);
		if (i < n && unit->cfg.block_of[i] != NONE &&
			(view && view->existing ? view->existing[i] : unit->effects[i]->fence) !=
				FENCE_NONE)
			leaders_of_fence(f, i, true);
	}
}

/* The leader takes part in every meeting of the set. */
static bool is_member(const struct finder *f, const struct group *g, struct thread t)
{
	bool exists = !t.tid || (f->exact && t.tid < f->most);

	if (!g->epoch) /* all that there are; who has left is looked for elsewhere */
		return exists;
	if (t.elected ? !thread_set_has_warp(&g->threads, t.tid)
		      : !thread_set_has(&g->threads, t.tid))
		return false;
	return (exists || t.elected || t.tid % 32 == 0) && !may_leave_alone(f, t);
}

static void find_members(struct finder *f)
{
	struct leaders *l = f->out;

	for (uint32_t g = 0; g < f->ngroups; g++) {
		struct epoch *e = &l->epochs[f->groups[g].epoch];
		uint32_t *members = &e->members[e->ngroups++];

		for (uint32_t i = 0; i < l->n; i++)
			if (is_member(f, &f->groups[g], l->v[i]))
				*members |= UINT32_C(1) << i;
	}
}

/* Of the sets of each epoch that arrive at an mbarrier, the leaders that arrive there too. */
static void find_led(struct finder *f, struct arrivers *a)
{
	memset(a->led, 0, sizeof(a->led));
	for (uint32_t g = 0; g < f->ngroups; g++) {
		const struct group *group = &f->groups[g];
		struct epoch *led = &a->led[group->epoch];

		if (!(a->may_keep >> group->epoch & 1) ||
			!thread_sets_meet(&a->threads, &group->threads))
			continue;
		uint32_t *members = &led->members[led->ngroups++];

		for (uint32_t i = 0; i < f->out->n; i++) {
			struct thread t = f->out->v[i];
			bool arrives = t.elected ? thread_set_has_warp(&a->threads, t.tid)
						 : thread_set_has(&a->threads, t.tid);

			if (arrives && is_member(f, group, t))
				*members |= UINT32_C(1) << i;
		}
	}
}

static void find_arrivers(struct finder *f, const struct leaders *known)
{
	struct leaders *l = f->out;

	f->arrivals = known && known->finder->arrivals;
	if (f->arrivals && known->narrivers) {
		l->arrives = known->arrives;
		l->narrivers = known->narrivers;
		l->arrivers = ARENA_NEW(f->unit->arena, struct arrivers, l->narrivers);
		memcpy(l->arrivers, known->arrivers, sizeof(*l->arrivers) * l->narrivers);
	}
	if (!f->arrivals && l->n && f->named)
		arrivals_find(f);
	for (uint32_t i = 0; i < l->narrivers; i++)
		find_led(f, &l->arrivers[i]);
}

/* ---- where they can be ---- */

/* Blocks that leader i comes to over edges that it may take. */
static void walk(struct finder *f, uint32_t i, uint32_t *stack)
{
	const struct cfg *cfg = &f->unit->cfg;
	struct leaders *l = f->out;
	uint32_t top = 0, bit = UINT32_C(1) << i;

	l->cannot[0] &= ~bit;
	stack[top++] = 0;
	while (top) {
		uint32_t b = stack[--top];

		for (uint32_t k = 0; k < cfg->blocks[b].succ.n; k++) {
			uint32_t to = cfg->blocks[b].succ.v[k];

			if (thread_takes(f->unit->values, l->v[i], b, k) == TRUTH_NO) {
				l->not_along[b][k] |= bit;
				continue;
			}
			if (!(l->cannot[to] & bit))
				continue;
			l->cannot[to] &= ~bit;
			stack[top++] = to;
		}
	}
}

static void find_runs(struct finder *f)
{
	const struct unit *unit = f->unit;
	struct leaders *l = f->out;
	uint32_t cap = 0;

	for (uint32_t k = 0; k < unit->cfg.active.n; k++) {
		struct leaders_run run = {.insn = unit->cfg.active.v[k]};

		if (unit->effects[run.insn]->fence == FENCE_NONE ||
			unit->cfg.block_of[run.insn] == NONE)
			continue;
		for (uint32_t i = 0; i < l->n; i++)
			if (thread_runs(unit->values, l->v[i], run.insn) == TRUTH_YES)
				run.set |= UINT32_C(1) << i;
		ARENA_PUSH(unit->arena, l->runs, l->nruns, cap, run);
	}
}

static void find_ways(struct finder *f)
{
	const struct unit *unit = f->unit;
	struct leaders *l = f->out;
	uint32_t *stack = ARENA_NEW(unit->arena, uint32_t, unit->cfg.n + 1);

	l->cannot = ARENA_NEW(unit->arena, uint32_t, unit->cfg.n + 1);
	l->not_along = arena_alloc(unit->arena, sizeof(*l->not_along) * (unit->cfg.n + 1));
	for (uint32_t b = 0; b < unit->cfg.n; b++)
		l->cannot[b] = (UINT32_C(1) << l->n) - 1;
	for (uint32_t i = 0; i < l->n; i++)
		walk(f, i, stack);
	find_runs(f);
}

static bool has_elections(const struct function *fn)
{
	for (uint32_t i = 0; i < fn->ninsns; i++)
		if (fn->insns[i].op == OP_elect)
			return true;
	return false;
}

/* The epochs rest on the barriers alone: with other fences they are the same. */
static void take_epochs(struct finder *f, const struct leaders *known)
{
	f->out->epoch_of = known->epoch_of;
	f->out->begins = known->begins;
	f->out->counted = known->counted;
	f->out->enters = known->enters;
	f->out->nepochs = known->nepochs;
	f->groups = known->finder->groups;
	f->ngroups = known->finder->ngroups;
}

void leaders_find(struct unit *unit, const struct handoffs *h, const struct fence_view *view,
	const struct leaders *known, struct leaders *out)
{
	struct finder *f = ARENA_NEW(unit->arena, struct finder, 1);
	bool assumed;

	*out = (struct leaders){.finder = f};
	f->unit = unit;
	f->h = h;
	f->out = out;
	f->most = threads_most(unit->values, &f->exact);
	f->numbered = threads_numbered(unit->values, &assumed);
	f->named = f->numbered && unit->options->cross_threads && !unit->nunmodelled &&
		   unit->module->functions[unit->fn->index].is_entry;
	f->placed = bits_new(unit->arena, unit->fn->ninsns + 1);
	f->elects = known ? known->finder->elects : has_elections(unit->fn);
	for (uint32_t i = 0; view && i < view->nplaced; i++)
		bits_set(f->placed, view->placed[i].before);
	if (known) {
		take_epochs(f, known);
	} else {
		find_epochs(f);
		find_beginnings(f);
		out->enters = ARENA_NEW(unit->arena, uint16_t, h->n + 1);
	}
	find_leaders(f, view);
	find_members(f);
	find_arrivers(f, known);
	find_ways(f);
	if (assumed && f->numbered && out->nepochs > 1)
		out->assumptions = ASSUME_FLAT_BLOCK;
	for (uint32_t i = 0; i < out->n && assumed && f->numbered; i++)
		if (out->v[i].tid || out->v[i].elected)
			out->assumptions = ASSUME_FLAT_BLOCK;
}

bool leaders_same(const struct leaders *a, const struct leaders *b)
{
	if (a->n != b->n)
		return false;
	for (uint32_t i = 0; i < a->n; i++)
		if (a->v[i].tid != b->v[i].tid || a->v[i].elected != b->v[i].elected)
			return false;
	return true;
}
