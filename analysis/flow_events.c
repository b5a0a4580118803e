/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In: a unit with its accesses and hand-offs. Out: per block the events that the flow looks at, the
 * predicates under which fences run (literals), and the sets of the solver. Ten thousand
 * instructions become a few hundred events. Invariant: what changes or reads the state of the flow
 * is an event.
 */
#include "analysis/commits.h"
#include "analysis/flow_state.h"

#include <stdlib.h>

/* ---- literals ---- */

static bool same_literal(const struct literal *a, uint32_t number, bool negated)
{
	return a->number == number && a->negated == negated;
}

static uint32_t literal_number(const struct flow_setup *s, uint32_t number, bool negated)
{
	for (uint32_t i = 0; i < s->nliterals; i++)
		if (same_literal(&s->literals[i], number, negated))
			return i;
	return NONE;
}

uint32_t flow_literal(const struct flow_setup *s, uint32_t insn, uint32_t reg, bool negated)
{
	struct operand guard = {.kind = OPERAND_REG, .id = reg};

	if (reg == NONE || !s->nliterals)
		return NONE;
	return literal_number(s, value_number(s->unit->values, insn, &guard), negated);
}

/* The value numbers of all guards of the function, sorted: how often a predicate is used. */
struct guards {
	uint32_t *v, n;
};

static int by_number(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static struct guards collect_guards(const struct unit *unit)
{
	struct guards g = {ARENA_NEW(unit->arena, uint32_t, unit->fn->ninsns), 0};

	for (uint32_t i = 0; i < unit->fn->ninsns; i++) {
		struct operand guard = {.kind = OPERAND_REG, .id = unit->fn->insns[i].guard};

		if (guard.id != NONE && unit->cfg.block_of[i] != NONE)
			g.v[g.n++] = value_number(unit->values, i, &guard);
	}
	qsort(g.v, g.n, sizeof(*g.v), by_number);
	return g;
}

static bool used_twice(const struct guards *g, uint32_t number)
{
	uint32_t lo = 0, hi = g->n;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (g->v[mid] < number)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo + 1 < g->n && g->v[lo + 1] == number;
}

/* Both signs of a predicate: what is pending is pending where it holds or where it does not. A
 * predicate that guards one place only goes together with nothing. */
static void literal_add(
	struct flow_setup *s, const struct guards *guards, uint32_t insn, uint32_t reg)
{
	struct operand guard = {.kind = OPERAND_REG, .id = reg};
	const struct values *values = s->unit->values;

	if (reg == NONE)
		return;
	uint32_t number = value_number(values, insn, &guard);

	if (literal_number(s, number, false) == NONE) {
		if (s->nliterals + 2 > LITERALS_MAX || !used_twice(guards, number))
			return;
		for (uint32_t negated = 0; negated < 2; negated++) {
			s->literals[s->nliterals] = (struct literal){.number = number,
				.negated = negated,
				.opposite = negated ? s->nliterals - 1 : s->nliterals + 1};
			s->nliterals++;
		}
	}
}

/* The branches that decide whether block b runs, nearest first, up to three. */
static void literals_of_branches(struct flow_setup *s, const struct guards *guards, uint32_t b)
{
	const struct cfg *cfg = &s->unit->cfg;
	uint32_t found = 0;

	for (uint32_t d = cfg->blocks[b].idom; d != NONE && found < 3; d = cfg->blocks[d].idom) {
		const struct block *block = &cfg->blocks[d];

		if (block->succ.n != 2 || !block->count || cfg_postdominates(cfg, b, d))
			continue;
		const struct insn *insn = &s->unit->fn->insns[flow_last_insn(block)];

		if (insn->guard == NONE)
			continue;
		bool taken = cfg_dominates(cfg, block->succ.v[0], b);

		if (taken == cfg_dominates(cfg, block->succ.v[1], b))
			continue;
		literal_add(s, guards, flow_last_insn(block), insn->guard);
		found++;
	}
}

/* Of the fences in the text and those of the view (NULL: none). */
static void find_literals(struct flow_setup *s, const struct fence_view *view)
{
	const struct unit *unit = s->unit;
	struct bits placed = bits_new(unit->arena, unit->fn->ninsns + 1);
	struct guards guards = collect_guards(unit);

	for (uint32_t i = 0; view && i < view->nplaced; i++)
		bits_set(placed, view->placed[i].before);
	/* there is room for few, so the order counts: a planned fence must stand in it where it
	 * will stand once it is in the text, else the output of a rewrite would be judged otherwise
	 */
	for (uint32_t pass = 0; pass < 2; pass++) {
		for (uint32_t i = 0; i < unit->fn->ninsns; i++) {
			uint8_t fence =
				view && view->existing ? view->existing[i] : unit->effects[i].fence;

			if (unit->cfg.block_of[i] == NONE)
				continue;
			if (pass == 0 && fence != FENCE_NONE)
				literal_add(s, &guards, i, unit->fn->insns[i].guard);
			if (pass == 1 && (fence != FENCE_NONE || bits_has(placed, i)))
				literals_of_branches(s, &guards, unit->cfg.block_of[i]);
		}
	}
}

/* ---- events ---- */

struct event_list {
	struct event *v;
	uint32_t n, cap;
};

static void event_add(struct flow_setup *s, struct event_list *list, struct event e)
{
	ARENA_PUSH(s->unit->arena, list->v, list->n, list->cap, e);
}

/* Definitions of the watched predicates at which a literal may change its value. */
static struct bits *literal_definitions(struct flow_setup *s)
{
	struct unit *unit = s->unit;
	struct bits *at = ARENA_NEW(unit->arena, struct bits, unit->fn->ninsns + 1);

	for (uint32_t i = 0; i < unit->fn->ninsns; i++) {
		const struct insn *insn = &unit->fn->insns[i];

		if (insn->guard == NONE || unit->cfg.block_of[i] == NONE)
			continue;
		for (uint32_t negated = 0; negated < 2; negated++) {
			uint32_t l = flow_literal(s, i, insn->guard, negated);

			if (l == NONE ||
				value_number_invariant(unit->values, s->literals[l].number))
				continue;
			struct ids defs = value_definitions(unit->values, i, insn->guard);

			for (uint32_t d = 0; d < defs.n; d++) {
				if (!at[defs.v[d]].words)
					at[defs.v[d]] = bits_new(unit->arena, LITERALS_MAX);
				bits_set(at[defs.v[d]], l);
			}
		}
	}
	return at;
}

static bool stands_alone(const struct flow_setup *s, uint32_t access)
{
	return !s->facts.groups || groups_members(s->facts.groups, access).n == 1;
}

/* For each instruction the load facts that are complete there. */
static struct ids *load_completions(struct flow_setup *s)
{
	struct unit *unit = s->unit;
	struct ids *at = ARENA_NEW(unit->arena, struct ids, unit->fn->ninsns + 1);
	struct loads *loads = NULL;

	if (!(unit->options->assume & ASSUME_CONSUMED_LOADS))
		return at;
	for (uint32_t f = 0; f < s->facts.n; f++) {
		const struct access *g = &unit->accesses.v[s->facts.v[f].access];

		if (s->facts.v[f].form != FORM_PENDING || g->writes || g->cp_async || g->call)
			continue;
		if (!stands_alone(s, s->facts.v[f].access)) /* complete: but others may not be */
			continue;
		if (!loads)
			loads = loads_prepare(unit);
		struct ids ends = load_completed_at(loads, g->insn);

		for (uint32_t i = 0; i < ends.n; i++) {
			struct ids *list = &at[ends.v[i]];
			uint32_t *v = ARENA_NEW(unit->arena, uint32_t, list->n + 1);

			if (list->n)
				memcpy(v, list->v, list->n * sizeof(*v));
			v[list->n] = f;
			*list = (struct ids){v, list->n + 1};
		}
	}
	return at;
}

static bool has_facts(const struct flow_setup *s, uint32_t access)
{
	uint32_t own = facts_access(&s->facts, access);

	return s->facts.first_of[own] < s->facts.first_of[own + 1];
}

static void events_of_insn(struct flow_setup *s, struct event_list *list, uint32_t i,
	uint32_t *next_access, struct ids complete, struct bits literals)
{
	const struct unit *unit = s->unit;
	const struct effect *e = &unit->effects[i];
	uint32_t first = *next_access, end, site = s->handoffs.site_of[i];

	for (end = first; end < unit->accesses.n && unit->accesses.v[end].insn == i; end++)
		;
	*next_access = end;
	if (complete.n)
		event_add(s, list,
			(struct event){.insn = i, .kind = EVENT_COMPLETE, .facts = complete});
	for (uint32_t l = 0; literals.words && l < s->nliterals; l++)
		if (bits_has(literals, l))
			event_add(s, list,
				(struct event){.insn = i, .kind = EVENT_LITERAL, .arg = l});
	if (e->fence != FENCE_NONE)
		event_add(s, list, (struct event){.insn = i, .kind = EVENT_FENCE});
	for (uint32_t k = first; k < end; k++)
		if (unit->accesses.v[k].proxy == PROXY_GENERIC && has_facts(s, k))
			event_add(
				s, list, (struct event){.insn = i, .kind = EVENT_ACCESS, .arg = k});
	if (e->sync == SYNC_CPASYNC_WAIT)
		event_add(s, list, (struct event){.insn = i, .kind = EVENT_WAIT});
	if (site != NONE && s->handoffs.sites[site].releases)
		event_add(s, list, (struct event){.insn = i, .kind = EVENT_RELEASE, .arg = site});
	if (site != NONE && s->handoffs.sites[site].acquires)
		event_add(s, list, (struct event){.insn = i, .kind = EVENT_ACQUIRE, .arg = site});
	for (uint32_t k = first; k < end; k++)
		if (unit->accesses.v[k].proxy == PROXY_ASYNC && s->facts.row[k])
			event_add(
				s, list, (struct event){.insn = i, .kind = EVENT_ASYNC, .arg = k});
}

/* The accesses come sorted by instruction: the first one at or after an instruction. */
static uint32_t access_from(const struct accesses *accesses, uint32_t insn)
{
	uint32_t lo = 0, hi = accesses->n;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (accesses->v[mid].insn < insn)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static void collect_events(struct flow_setup *s)
{
	struct unit *unit = s->unit;
	struct bits *literals = literal_definitions(s);
	struct event_list list = {0};

	if (!s->complete)
		s->complete = load_completions(s);
	s->base_of = ARENA_NEW(unit->arena, uint32_t, unit->cfg.n + 1);
	for (uint32_t b = 0; b < unit->cfg.n; b++) {
		const struct block *block = &unit->cfg.blocks[b];
		uint32_t next = access_from(&unit->accesses, block->first);

		s->base_of[b] = list.n;
		for (uint32_t i = block->first; i < block->first + block->count; i++)
			events_of_insn(s, &list, i, &next, s->complete[i], literals[i]);
		if (s->handoffs.exit_of[b] != NONE)
			event_add(s, &list,
				(struct event){.insn = block->first + block->count,
					.kind = EVENT_RELEASE,
					.arg = s->handoffs.exit_of[b]});
	}
	s->base_of[unit->cfg.n] = list.n;
	s->base = list.v;
}

static int placed_order(const void *a, const void *b)
{
	const struct placed_fence *x = a, *y = b;

	if (x->before != y->before)
		return x->before < y->before ? -1 : 1;
	return (int)x->behind - (int)y->behind;
}

/* Events with the planned fences merged in; a planned fence stands before its instruction,
 * or at the end of the block. */
void flow_merge_events(struct flow_setup *s, const struct fence_view *view)
{
	struct unit *unit = s->unit;
	uint32_t nplaced = view ? view->nplaced : 0, base_n = s->base_of[unit->cfg.n];
	struct placed_fence *placed = ARENA_NEW(unit->arena, struct placed_fence, nplaced);

	if (nplaced)
		memcpy(placed, view->placed, nplaced * sizeof(*placed));
	qsort(placed, nplaced, sizeof(*placed), placed_order);
	if (s->events_cap < base_n + nplaced) {
		s->events_cap = base_n + nplaced + 64;
		s->events = ARENA_NEW(unit->arena, struct event, s->events_cap);
	}
	s->nevents = 0;
	for (uint32_t b = 0; b < unit->cfg.n; b++) {
		const struct block *block = &unit->cfg.blocks[b];
		uint32_t k = s->base_of[b], p = 0, hi = nplaced;

		while (p < hi) { /* first planned fence of the block */
			uint32_t mid = p + (hi - p) / 2;

			if (placed[mid].before < block->first)
				p = mid + 1;
			else
				hi = mid;
		}
		s->events_of[b] = s->nevents;
		for (; k < s->base_of[b + 1]; k++) {
			for (; p < nplaced && placed[p].before < block->first + block->count &&
				placed[p].before <= s->base[k].insn && !placed[p].behind;
				p++)
				s->events[s->nevents++] = (struct event){.insn = placed[p].before,
					.kind = EVENT_PLACED,
					.fence = placed[p].kind};
			s->events[s->nevents++] = s->base[k];
		}
		for (; p < nplaced && placed[p].before < block->first + block->count; p++)
			s->events[s->nevents++] = (struct event){.insn = placed[p].before,
				.kind = EVENT_PLACED,
				.fence = placed[p].kind};
	}
	s->events_of[unit->cfg.n] = s->nevents;
}

static uint32_t event_of(const struct flow_setup *s, uint32_t site, enum event_kind kind)
{
	const struct sync_site *at = &s->handoffs.sites[site];
	const struct block *block = &s->unit->cfg.blocks[at->block];
	uint32_t insn = at->is_exit ? block->first + block->count : at->insn;
	uint32_t lo = flow_first(s, at->block), hi = flow_end(s, at->block), end = hi;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (s->events[mid].insn < insn)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (; lo < end && s->events[lo].insn == insn; lo++)
		if (s->events[lo].kind == kind && s->events[lo].arg == site)
			return lo;
	return end;
}

uint32_t flow_acquire_event(const struct flow_setup *s, uint32_t site)
{
	return event_of(s, site, EVENT_ACQUIRE);
}

uint32_t flow_release_event(const struct flow_setup *s, uint32_t site)
{
	return event_of(s, site, EVENT_RELEASE);
}

/* ---- setup ---- */

static struct state state_new(struct flow_setup *s)
{
	struct arena *arena = s->unit->arena;
	struct state st = {
		.own = bits_new(arena, s->facts.n),
		.foreign = bits_new(arena, s->facts.n),
	};

	for (uint32_t e = 0; e < s->leaders.nepochs; e++)
		st.fresh[e] = bits_new(arena, s->facts.n);
	for (uint32_t l = 0; l < s->nliterals; l++) {
		st.own_if[l] = bits_new(arena, s->facts.n);
		st.foreign_if[l] = bits_new(arena, s->facts.n);
	}
	return st;
}

/* What depends on the literals, and the sets of the solver. */
#define SETS_MAX (UINT64_C(1) << 30) /* bytes that the sets of one function may take */

static uint64_t bytes_of_sets(const struct flow_setup *s)
{
	uint64_t set = (s->facts.n + 63) / 64 * sizeof(uint64_t);

	return set *
	       (s->unit->cfg.n * (3 + 2 * (uint64_t)s->nliterals) + 4 * (uint64_t)s->handoffs.n);
}

/* Twenty thousand accesses in a hundred thousand blocks are more than the sets are made for: first
 * the literals go, which only costs precision; then the function is incomplete. */
static bool fits(struct flow_setup *s)
{
	if (bytes_of_sets(s) > SETS_MAX)
		s->nliterals = 0;
	if (bytes_of_sets(s) <= SETS_MAX)
		return true;
	s->trivial = s->too_large = true;
	return false;
}

static void prepare_sets(struct flow_setup *s)
{
	const struct unit *unit = s->unit;
	struct arena *arena = unit->arena;

	collect_events(s);
	s->events_of = ARENA_NEW(arena, uint32_t, unit->cfg.n + 1);
	s->in = ARENA_NEW(arena, struct state, unit->cfg.n);
	s->reached = ARENA_NEW(arena, bool, unit->cfg.n);
	for (uint32_t b = 0; b < unit->cfg.n; b++)
		s->in[b] = state_new(s);
	s->now = state_new(s);
	s->sent_own = ARENA_NEW(arena, struct bits, s->handoffs.n);
	s->sent_foreign = ARENA_NEW(arena, struct bits, s->handoffs.n);
	s->received = ARENA_NEW(arena, struct bits, s->handoffs.n);
	s->fresh_at = ARENA_NEW(arena, struct bits, s->handoffs.n);
	s->uncovered_at = ARENA_NEW(arena, uint32_t, s->handoffs.n);
	for (uint32_t i = 0; i < s->handoffs.n; i++) {
		s->sent_own[i] = bits_new(arena, s->facts.n);
		s->sent_foreign[i] = bits_new(arena, s->facts.n);
		s->received[i] = bits_new(arena, s->facts.n);
		s->fresh_at[i] = bits_new(arena, s->facts.n);
	}
	s->scratch = bits_new(arena, s->facts.n);
	s->scratch2 = bits_new(arena, s->facts.n);
	s->suppressed = bits_new(arena, s->facts.n);
	s->dirty = ARENA_NEW(arena, uint64_t, (unit->cfg.n + 63) / 64);
	s->seen = ARENA_NEW(arena, uint32_t, unit->cfg.n);
	s->heard = ARENA_NEW(arena, uint32_t, s->handoffs.n);
	if (s->facts.groups)
		s->known = ARENA_NEW(arena, uint8_t, (size_t)s->facts.groups->nasyncs * s->facts.n);
}

/* What no thread of this CTA may have as its own when it reaches a barrier of all threads: data
 * that an mbarrier hands over when they are complete (cp.async.mbarrier.arrive, st.async), whose
 * thread need not wait and has them in flight, and what came from another CTA. */
static void find_deferred(struct flow_setup *s)
{
	const struct access *v = s->unit->accesses.v;

	s->deferred = bits_new(s->unit->arena, s->facts.n);
	for (uint32_t f = 0; f < s->facts.n; f++)
		if (s->facts.v[f].form == FORM_ARRIVED || s->facts.v[f].form == FORM_WEAK)
			bits_set(s->deferred, f);
	for (uint32_t r = 0; r < s->handoffs.n; r++) {
		const struct sync_site *site = &s->handoffs.sites[r];

		for (uint32_t f = 0; f < s->facts.n && (site->cp_async || site->self); f++) {
			const struct fact *fact = &s->facts.v[f];
			const struct access *g = &v[fact->access];

			if (fact->form != FORM_INFLIGHT && fact->sibling[FORM_INFLIGHT] != NONE &&
				(site->self ? g->insn == site->insn : g->cp_async))
				bits_set(s->deferred, f);
		}
	}
}

struct flow_setup *flow_prepare(struct unit *unit)
{
	struct flow_setup *s = ARENA_NEW(unit->arena, struct flow_setup, 1);

	s->unit = unit;
	handoff_pair(unit, &s->handoffs);
	facts_collect(unit, s->handoffs.any_cross, &s->facts);
	s->too_large = s->facts.too_many;
	s->trivial = !s->facts.n;
	if (s->trivial)
		return s;
	facts_fence_effects(unit, &s->facts, s->fence);
	s->uncommitted = commits_missing(unit, &s->facts);
	find_deferred(s);
	find_literals(s, NULL);
	leaders_find(unit, &s->handoffs, NULL, NULL, &s->leaders);
	if (fits(s))
		prepare_sets(s);
	return s;
}

static bool same_literals(const struct flow_setup *a, const struct flow_setup *b)
{
	if (a->nliterals != b->nliterals)
		return false;
	for (uint32_t i = 0; i < a->nliterals; i++)
		if (!same_literal(&a->literals[i], b->literals[i].number, b->literals[i].negated))
			return false;
	return true;
}

struct flow_setup *flow_prepare_with(struct flow_setup *from, const struct fence_view *view)
{
	if (from->trivial)
		return from;
	struct flow_setup *s = ARENA_NEW(from->unit->arena, struct flow_setup, 1);

	s->unit = from->unit;
	s->handoffs = from->handoffs;
	s->facts = from->facts;
	s->complete = from->complete;
	s->uncommitted = from->uncommitted;
	s->deferred = from->deferred;
	memcpy(s->fence, from->fence, sizeof(s->fence));
	find_literals(s, view);
	leaders_find(s->unit, &s->handoffs, view, &from->leaders, &s->leaders);
	if (bytes_of_sets(s) > SETS_MAX)
		s->nliterals = 0;
	if (same_literals(s, from) && leaders_same(&s->leaders, &from->leaders))
		return from;
	prepare_sets(s);
	return s;
}
