/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In: effects, CFG and values of a unit. Out: the sites that release or acquire and their pairs.
 *
 * Barriers pair by id and by barrier_meet() (pair_barriers.c); mbarrier arrives pair with the waits
 * whose object may be the same (pair_mbarriers.c); releases through memory pair with every acquire through memory;
 * where one of a pair is relaxed, the fences that it leans on stand in its place (pair_leaning.c). A pair is dropped
 * only when the same order certainly runs through a barrier of all threads that lies between
 * (phases), or under a named assumption. Invariant: a pair that is missing cannot happen.
 */
#include "analysis/handoff.h"

#include "analysis/barrier.h"
#include "analysis/pairing.h"

#include <string.h>

static bool carries(const struct pairing *p, const struct effect *e)
{
	if (pair_is_relaxed(e))
		return e->sync == SYNC_MBAR_WAIT ? p->acquire_fence : p->release_fence;
	if (pair_is_half(e))
		return p->relaxed;
	switch ((enum sync_kind)e->sync) {
	case SYNC_BAR:
	case SYNC_BAR_ARRIVE:
	case SYNC_WARP:
	case SYNC_CPASYNC_ARRIVE:
	case SYNC_CLUSTER_ARRIVE:
	case SYNC_CLUSTER_WAIT:
	case SYNC_MBAR_ARRIVE:
	case SYNC_MBAR_WAIT:
		return true;
	case SYNC_MEMORY:
		return e->releases || e->acquires;
	case SYNC_NONE:
	case SYNC_MBAR_INIT:
	case SYNC_MBAR_INVAL:
	case SYNC_MBAR_EXPECT:
	case SYNC_CPASYNC_COMMIT:
	case SYNC_CPASYNC_WAIT:
	case SYNC_BULK_COMMIT:
	case SYNC_BULK_WAIT:
	case SYNC_TCGEN05_COMMIT:
	case SYNC_WGMMA_FENCE:
	case SYNC_WGMMA_COMMIT:
	case SYNC_WGMMA_WAIT:
		return false;
	}
	return false;
}

static uint32_t thread_limit(const struct unit *unit)
{
	const struct function_info *info = &unit->module->functions[unit->fn->index];
	uint64_t n = 0;

	for (int d = DIRECTIVE_MAXNTID; d <= DIRECTIVE_REQNTID; d++)
		if (info->ndim[d])
			n = (uint64_t)info->dim[d][0] * info->dim[d][1] * info->dim[d][2];
	if (unit->options->maxntid && (unit->options->override_directives || !n))
		n = unit->options->maxntid;
	return n > UINT32_MAX ? 0 : (uint32_t)n;
}

/* The barrier takes every thread of the CTA: no count, or one that no launch can fall short of. A
 * block may be as large as maxntid and no larger (ISA 11.4.2). */
static bool takes_all(const struct unit *unit, uint32_t insn)
{
	const struct effect *e = unit->effects[insn];

	if (e->sync != SYNC_BAR)
		return false;
	if (e->count_operand == UINT8_MAX)
		return true;
	const struct operand *count =
		insn_operand(unit->fn, &unit->fn->insns[insn], e->count_operand);

	if (!count)
		return false;
	struct value v = value_of(unit->values, insn, count);
	uint32_t limit = thread_limit(unit);

	return limit && v.base == BASE_NUMBER && v.lo >= (int64_t)limit;
}

static struct sync_site *site_add(struct pairing *p, uint32_t insn, uint32_t block)
{
	struct sync_site site = {.insn = insn, .block = block, .max_phase = NONE, .barrier = NONE};

	ARENA_PUSH(p->unit->arena, p->h->sites, p->h->n, p->cap, site);
	return &p->h->sites[p->h->n - 1];
}

static void find_fences(struct pairing *p)
{
	const struct ids *active = &p->unit->cfg.active;

	for (uint32_t k = 0; k < active->n; k++) {
		const struct effect *e = p->unit->effects[active->v[k]];

		p->relaxed |= pair_is_relaxed(e);
		p->release_fence |= pair_leans_release(e);
		p->acquire_fence |= pair_leans_acquire(e);
	}
}

/* st.async and red.async complete at the mbarrier they name (ISA 9.7.9.12, 9.7.13.7): who waits
 * there has what they wrote, and nothing else of their thread. */
static bool publishes_itself(const struct effect *e)
{
	for (uint32_t t = 0; t < e->ntouches; t++)
		if (e->touches[t].proxy == PROXY_GENERIC && e->touches[t].asynchronous &&
			e->touches[t].writes && !e->touches[t].mbarrier)
			return e->sync == SYNC_NONE && e->mbarrier_operand != UINT8_MAX;
	return false;
}

/* bar.warp.sync of all lanes, which meets itself alone. */
static bool takes_warp(const struct unit *unit, uint32_t insn)
{
	const struct operand *mask = insn_operand(unit->fn, &unit->fn->insns[insn], 0);

	if (unit->effects[insn]->sync != SYNC_WARP || !mask ||
		unit->fn->insns[insn].guard != NONE ||
		!(unit->options->assume & ASSUME_CONVERGED_WARP))
		return false;
	struct value v = value_of(unit->values, insn, mask);

	return v.base == BASE_NUMBER && v.lo == v.hi && (uint32_t)v.lo == UINT32_MAX;
}

static void collect(struct pairing *p)
{
	struct unit *unit = p->unit;
	const struct cfg *cfg = &unit->cfg;

	find_fences(p);
	for (uint32_t b = 0; b < cfg->n; b++) {
		const struct block *block = &cfg->blocks[b];

		for (uint32_t k = 0; k < block->nactive; k++) {
			uint32_t i = cfg->active.v[block->active + k];
			const struct effect *e = unit->effects[i];
			bool self = publishes_itself(e);

			if (!self && !carries(p, e))
				continue;
			struct sync_site *s = site_add(p, i, b);

			s->self = self;
			s->kind = e->sync;
			s->leans = p->relaxed && (pair_leans_release(e) || pair_leans_acquire(e));
			s->releases = self || e->releases || e->sync == SYNC_BAR ||
				      e->sync == SYNC_BAR_ARRIVE || e->sync == SYNC_WARP ||
				      e->sync == SYNC_CPASYNC_ARRIVE ||
				      e->sync == SYNC_MBAR_ARRIVE || e->sync == SYNC_MBAR_EXPECT ||
				      e->sync == SYNC_CLUSTER_ARRIVE || pair_leans_release(e);
			s->acquires = e->acquires || e->sync == SYNC_BAR || e->sync == SYNC_WARP ||
				      e->sync == SYNC_MBAR_WAIT || e->sync == SYNC_CLUSTER_WAIT ||
				      pair_leans_acquire(e);
			s->cp_async = e->sync == SYNC_CPASYNC_ARRIVE;
			s->full = takes_all(unit, i);
			s->resets = s->full;
			s->warp = takes_warp(unit, i);
			s->crosses = self || e->sync == SYNC_CLUSTER_ARRIVE ||
				     e->sync == SYNC_CLUSTER_WAIT || e->remote ||
				     ((e->sync == SYNC_MEMORY || pair_is_half(e)) && e->cluster_scope);
			p->h->site_of[i] = p->h->n - 1;
		}
		if (block->exits && !block->aborts) {
			struct sync_site *s = site_add(
				p, block->count ? block->first + block->count - 1 : NONE, b);

			s->releases = s->is_exit = true;
			p->h->exit_of[b] = p->h->n - 1;
		}
	}
}

void pair_add(struct pairing *p, uint32_t release, uint32_t acquire)
{
	struct pair_list *list = &p->to[release];

	ARENA_PUSH(p->unit->arena, list->v, list->n, list->cap, acquire);
	if (p->h->sites[release].crosses)
		p->h->any_cross = true;
}

/* ---- clusters ---- */

/* Between the arrive and the wait that follows in its block nothing happens that could be handed
 * over: then the two are one barrier, and what is pending behind it was pending at somebody's
 * arrive. */
static bool arrive_meets_wait(const struct unit *unit, const struct sync_site *arrive)
{
	const struct block *block = &unit->cfg.blocks[arrive->block];

	for (uint32_t i = arrive->insn + 1; i < block->first + block->count; i++) {
		const struct effect *e = unit->effects[i];

		if (e->sync == SYNC_CLUSTER_WAIT)
			return true;
		if (e->ntouches || e->sync != SYNC_NONE || !e->known || e->is_call)
			return false;
	}
	return false;
}

/* The arrive that stands before a wait in its block, as a number in the group; NONE. */
static uint32_t arrive_before(const struct handoffs *h, const struct barrier_group *g,
	const uint32_t *arrives, uint32_t wait)
{
	uint32_t best = NONE;

	for (uint32_t a = 0; a < g->n; a++)
		if (h->sites[arrives[a]].block == h->sites[wait].block &&
			g->insns[a] < h->sites[wait].insn &&
			(best == NONE || g->insns[a] > g->insns[best]))
			best = a;
	return best;
}

/* An arrive.relaxed publishes nothing, so what its thread left pending is in no partner's set. */
static bool all_arrives_release(const struct unit *unit)
{
	for (uint32_t k = 0; k < unit->cfg.active.n; k++) {
		uint32_t i = unit->cfg.active.v[k];

		if (unit->effects[i]->sync == SYNC_CLUSTER_ARRIVE && unit->cfg.block_of[i] != NONE &&
			unit->effects[i]->relaxed)
			return false;
	}
	return true;
}

static void pair_cluster(struct pairing *p)
{
	struct unit *unit = p->unit;
	struct handoffs *h = p->h;
	uint32_t *arrives = ARENA_NEW(unit->arena, uint32_t, h->n);
	uint32_t *insns = ARENA_NEW(unit->arena, uint32_t, h->n);
	struct barrier_group g = {.insns = insns};
	bool tight = true;

	for (uint32_t i = 0; i < h->n; i++) {
		if (h->sites[i].kind != SYNC_CLUSTER_ARRIVE)
			continue;
		arrives[g.n] = i;
		insns[g.n++] = h->sites[i].insn;
		tight &= arrive_meets_wait(unit, &h->sites[i]);
	}
	if (!g.n)
		return;
	tight &= all_arrives_release(unit);
	g.meet = ARENA_NEW(unit->arena, uint64_t, (size_t)g.n * ((g.n + 63) / 64));
	barrier_meet(unit, &g);
	for (uint32_t w = 0; w < h->n; w++) {
		if (h->sites[w].kind != SYNC_CLUSTER_WAIT || !h->sites[w].acquires)
			continue;
		uint32_t own = tight ? arrive_before(h, &g, arrives, w) : NONE;

		h->sites[w].resets = own != NONE;
		for (uint32_t r = 0; r < g.n; r++)
			if (own == NONE || barrier_meets(&g, r, own))
				pair_add(p, arrives[r], w);
	}
}

/* ---- warps, memory ---- */

static void pair_warps(struct pairing *p)
{
	bool converged = p->unit->options->assume & ASSUME_CONVERGED_WARP;

	for (uint32_t r = 0; r < p->h->n; r++) {
		if (p->h->sites[r].kind != SYNC_WARP)
			continue;
		for (uint32_t a = 0; a < p->h->n; a++) {
			if (p->h->sites[a].kind != SYNC_WARP)
				continue;
			if (a == r || !converged)
				pair_add(p, r, a);
			else
				p->h->assumptions |= ASSUME_CONVERGED_WARP;
		}
	}
}

static bool is_flag(const struct unit *unit, uint32_t insn, bool writes)
{
	const struct effect *e = unit->effects[insn];

	for (uint32_t t = 0; t < e->ntouches; t++) {
		const struct touch *touch = &e->touches[t];

		if (touch->mbarrier || touch->proxy != PROXY_GENERIC ||
			!(writes ? touch->writes : touch->reads))
			continue;
		if (e->releases || e->acquires || (touch->reads && touch->writes) ||
			insn_has(&unit->fn->insns[insn], MOD_relaxed) ||
			insn_has(&unit->fn->insns[insn], MOD_volatile) ||
			insn_has(&unit->fn->insns[insn], MOD_mmio))
			return true;
	}
	return false;
}

/* fence.acq_rel and membar order nothing between threads without strong accesses around them that
 * another thread can observe (ISA 8.7.3). */
static void pair_memory(struct pairing *p)
{
	struct unit *unit = p->unit;
	bool strong_write = false, strong_read = false, releases = false, acquires = false;

	for (uint32_t i = 0; i < p->h->n; i++) {
		releases |= p->h->sites[i].kind == SYNC_MEMORY && p->h->sites[i].releases;
		acquires |= p->h->sites[i].kind == SYNC_MEMORY && p->h->sites[i].acquires;
	}
	for (uint32_t k = 0; releases && acquires && k < unit->cfg.active.n; k++) {
		uint32_t i = unit->cfg.active.v[k];

		if (unit->cfg.block_of[i] == NONE)
			continue;
		strong_write |= is_flag(unit, i, true);
		strong_read |= is_flag(unit, i, false);
	}
	if (!strong_write || !strong_read)
		return;
	for (uint32_t r = 0; r < p->h->n; r++) {
		if (p->h->sites[r].kind != SYNC_MEMORY || !p->h->sites[r].releases)
			continue;
		for (uint32_t a = 0; a < p->h->n; a++)
			if (p->h->sites[a].kind == SYNC_MEMORY && p->h->sites[a].acquires)
				pair_add(p, r, a);
	}
}

/* ---- the result ---- */

/* The same order runs through a full barrier that the releasing thread passes later and the
 * acquiring one earlier; what is still unfenced then is sent there. */
static bool through_barrier(const struct sync_site *release, const struct sync_site *acquire)
{
	return !release->full && !release->crosses && !release->is_exit && !release->cp_async &&
	       !release->self && release->max_phase != NONE &&
	       release->max_phase < acquire->min_phase;
}

/* The releasing thread has then passed a full barrier at which the acquiring one had not arrived yet when
 * it acquired: what it hears was released before. */
static bool too_late(const struct sync_site *release, const struct sync_site *acquire)
{
	return !release->full && !acquire->full && !release->crosses && !acquire->crosses &&
		acquire->max_phase != NONE && release->min_phase > acquire->max_phase;
}

/* The lists are in the stage's memory: they are kept in `arena`, as long as they are in the end. */
static void finish(struct pairing *p, struct arena *arena)
{
	struct handoffs *h = p->h;
	uint32_t *nfrom = ARENA_NEW(p->unit->arena, uint32_t, h->n);
	uint32_t **from = ARENA_NEW(p->unit->arena, uint32_t *, h->n);
	struct pair_arms arms;

	pair_find_arms(p, &arms);

	h->to = ARENA_NEW(arena, struct ids, h->n);
	h->from = ARENA_NEW(arena, struct ids, h->n);
	for (uint32_t r = 0; r < h->n; r++) {
		uint32_t kept = 0;

		for (uint32_t i = 0; i < p->to[r].n; i++) {
			uint32_t a = p->to[r].v[i];

			if (through_barrier(&h->sites[r], &h->sites[a]) ||
				too_late(&h->sites[r], &h->sites[a]) ||
				pair_in_other_arms(p, &arms, &h->sites[r], &h->sites[a]))
				continue;
			p->to[r].v[kept++] = a;
			nfrom[a]++;
		}
		uint32_t *to = ARENA_UNSET(arena, uint32_t, kept);

		if (kept)
			memcpy(to, p->to[r].v, sizeof(*to) * kept);
		h->to[r] = (struct ids){to, kept};
	}
	for (uint32_t a = 0; a < h->n; a++) {
		from[a] = ARENA_NEW(arena, uint32_t, nfrom[a]);
		nfrom[a] = 0;
	}
	for (uint32_t r = 0; r < h->n; r++)
		for (uint32_t i = 0; i < h->to[r].n; i++)
			from[h->to[r].v[i]][nfrom[h->to[r].v[i]]++] = r;
	for (uint32_t a = 0; a < h->n; a++)
		h->from[a] = (struct ids){from[a], nfrom[a]};
}

void handoff_find(struct unit *unit, struct handoffs *h)
{
	struct pairing p = {.unit = unit, .h = h};

	*h = (struct handoffs){
		.site_of = ARENA_UNSET(unit->arena, uint32_t, unit->fn->ninsns),
		.exit_of = ARENA_NEW(unit->arena, uint32_t, unit->cfg.n),
	};
	memset(h->site_of, 0xff, sizeof(*h->site_of) * unit->fn->ninsns);
	for (uint32_t b = 0; b < unit->cfg.n; b++)
		h->exit_of[b] = NONE;
	collect(&p);
}

bool handoff_may_cross(const struct handoffs *h)
{
	for (uint32_t i = 0; i < h->n; i++)
		if (h->sites[i].crosses)
			return true;
	return false;
}

void handoff_pair(struct unit *unit, struct handoffs *h)
{
	struct pairing p = {.unit = unit, .h = h};
	struct arena *arena = unit->arena, stage;

	unit_begin(unit, &stage);
	p.to = ARENA_NEW(unit->arena, struct pair_list, h->n);
	if (unit->options->cross_threads) {
		pair_barriers(&p);
		pair_cluster(&p);
		pair_mbarriers(&p);
		pair_leaning(&p);
		pair_warps(&p);
		pair_memory(&p);
		pair_phases(&p);
		pair_exits(&p);
	}
	finish(&p, arena);
	unit_end(unit);
}
