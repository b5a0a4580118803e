/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bulk-store-unwaited: a bulk store reads its shared source at some later time. Before the source
 * is written again, or the CTA's memory goes away, the thread that issued it must have committed it
 * and waited for its group (ISA 9.7.9.27.2), and other writers must have heard of it through a
 * hand-off.
 *
 * State of one store on a way: phase and how many groups were committed after its own, as
 * (phase << 4 | 15 - age), both parts joined by the larger: less done, younger.
 */
#include "analysis/checks.h"
#include "analysis/value_private.h"
#include "base/rules.h"

#define COPIES_MOST 8 /* of an address */

enum phase { PHASE_GONE, PHASE_WAITED, PHASE_PARTLY, PHASE_COMMITTED, PHASE_ISSUED };

static uint8_t state_of(uint8_t phase, uint8_t age)
{
	return phase == PHASE_GONE ? 0 : (uint8_t)(phase << 4 | (15 - (age > 15 ? 15 : age)));
}

static uint8_t phase_of(uint8_t state)
{
	return state >> 4;
}

static uint8_t age_of(uint8_t state)
{
	return 15 - (state & 15);
}

static uint8_t join_parts(uint8_t a, uint8_t b)
{
	if (!a || !b)
		return a | b;
	uint8_t phase = phase_of(a) > phase_of(b) ? phase_of(a) : phase_of(b);
	uint8_t age = age_of(a) < age_of(b) ? age_of(a) : age_of(b);

	return state_of(phase, age);
}

static bool is_bulk_store(const struct effect *e, uint8_t *source)
{
	bool reads_shared = false, writes_global = false;

	for (uint32_t t = 0; t < e->ntouches; t++) {
		const struct touch *touch = &e->touches[t];

		if (touch->proxy != PROXY_ASYNC)
			continue;
		if (touch->reads && (touch->spaces & SPACE_SHARED) &&
			touch->extent != EXTENT_WGMMA && touch->extent != EXTENT_TCGEN05) {
			reads_shared = true;
			*source = (uint8_t)t;
		}
		writes_global |= touch->writes && touch->spaces == SPACE_GLOBAL;
	}
	return reads_shared && writes_global;
}

static int64_t wait_limit(const struct unit *unit, uint32_t insn)
{
	const struct effect *e = unit->effects[insn];
	const struct operand *o =
		e->count_operand == UINT8_MAX
			? NULL
			: insn_operand(unit->fn, &unit->fn->insns[insn], e->count_operand);

	return o && o->kind == OPERAND_IMM ? o->imm : INT64_MAX;
}

/* `wait_group N' leaves the N youngest groups. */
static uint8_t after_wait(uint8_t state, int64_t limit)
{
	uint8_t phase = phase_of(state), age = age_of(state);

	if (phase == PHASE_ISSUED || phase == PHASE_WAITED)
		return state;
	return state_of(age >= limit ? PHASE_WAITED : PHASE_PARTLY, age);
}

static uint8_t step_bulk(struct check_walk *w, uint32_t insn, uint8_t state)
{
	const struct effect *e = w->unit->effects[insn];
	uint8_t phase = phase_of(state), age = age_of(state);

	if (!state)
		return 0;
	switch ((int)e->sync) {
	case SYNC_BULK_COMMIT:
		if (phase == PHASE_ISSUED)
			return state_of(PHASE_COMMITTED, 0);
		return state_of(phase, age + 1);
	case SYNC_BULK_WAIT:
		return after_wait(state, wait_limit(w->unit, insn));
	default:
		return phase == PHASE_WAITED && e->releases && e->fence == FENCE_NONE ? 0 : state;
	}
}

/* One store of those that one walk is for. */
struct bulk_store {
	uint32_t insn;
	uint32_t read;	/* access number of the source, or NONE */
	uint32_t write; /* instruction found, or NONE */
	uint8_t write_state, confidence;
};

/* Stores of one block with nothing between that would part their ways: behind the last of them all
 * are in the same state. */
struct bulk_search {
	struct bulk_store *v;
	uint32_t n;
	bool alone;	       /* only some threads issue them */
	uint32_t exit;	       /* instruction found, or NONE */
	bool may_wait;	       /* some way waits for them */
	bool ends;	       /* the thread can end first (exit: NONE when its body just stops) */
	uint8_t exit_state;
};

static bool has_condition(const struct check_walk *w, const struct check_condition *c)
{
	for (uint32_t i = 0; i < w->nconditions; i++)
		if (w->conditions[i].number == c->number && w->conditions[i].truth == c->truth)
			return true;
	return false;
}

/* Whether the writer at `insn` is a thread that runs the store as well: then its own wait is
 * enough. All that picks the store's threads out of the CTA must pick the writer's. */
static bool same_threads(const struct check_walk *w, uint32_t insn)
{
	const struct cfg *cfg = &w->unit->cfg;
	bool picks = false;

	if (w->unit->fn->insns[w->site].guard == NONE &&
		cfg_dominates(cfg, cfg->block_of[w->site], cfg->block_of[insn]))
		return true;
	struct check_walk other = {.unit = w->unit, .defs = w->defs, .site = insn};

	check_conditions(&other);
	for (uint32_t k = 0; k < w->nconditions; k++) {
		if (w->conditions[k].same)
			continue;
		if (!has_condition(&other, &w->conditions[k]))
			return false;
		picks = true;
	}
	return picks;
}

static const struct operand *address_of(const struct unit *unit, uint32_t access)
{
	const struct access *a = &unit->accesses.v[access];
	uint8_t operand = unit->effects[a->insn]->touches[a->touch].operand;

	return operand == UINT8_MAX ? NULL : insn_operand(unit->fn, &unit->fn->insns[a->insn], operand);
}

/* The number of the register that an address is a copy of, through cvta and other widths. */
static uint32_t origin_of(const struct values *vs, uint32_t insn, const struct operand *o)
{
	const struct operand *reg = o->indexed ? NULL : operand_child(vs->fn, o, 0);

	if (!reg || reg->kind != OPERAND_REG || reg->offset)
		return value_number(vs, insn, o);
	for (uint32_t k = 0; k < COPIES_MOST; k++) {
		uint32_t node = reg->node;
		bool made = node < vs->nsolved && vs->ssa.nodes[node].kind == NODE_DEF &&
			    vs->ssa.nodes[node].previous == NONE;
		const struct insn *def = made ? &vs->fn->insns[vs->ssa.nodes[node].insn] : NULL;
		const struct operand *from = def ? insn_source(vs->fn, def, 0) : NULL;

		if (!from || from->kind != OPERAND_REG || from->offset || from->negated || from->component ||
			(def->op != OP_mov && def->op != OP_cvta && def->op != OP_cvt) ||
			(def->op == OP_cvt && (insn_type(def, 0).is_float || insn_type(def, 1).is_float ||
						      insn_type(def, 0).bits < 32 || insn_type(def, 1).bits < 32)))
			break;
		insn = vs->ssa.nodes[node].insn;
		reg = from;
	}
	return value_number(vs, insn, reg);
}

/* In one thread both begin at one address, in each round. */
static bool begin_together(const struct unit *unit, uint32_t a, uint32_t b)
{
	const struct operand *x = address_of(unit, a), *y = address_of(unit, b);

	if (!x || !y || x->kind != OPERAND_MEM || y->kind != OPERAND_MEM)
		return false;
	uint32_t number = origin_of(unit->values, unit->accesses.v[a].insn, x);

	return number == origin_of(unit->values, unit->accesses.v[b].insn, y) &&
	       value_number_invariant(unit->values, number);
}

/* A condition on the way to the store that is not the same for all threads; `edge` leads there. */
struct picked {
	uint32_t at;
	uint32_t edge; /* of the block, or NONE: the guard of the instruction */
};

/* At most that many of them, the nearest first; returns how many there are. */
static uint32_t find_picked(const struct unit *unit, uint32_t insn, struct picked *out, uint32_t most)
{
	const struct cfg *cfg = &unit->cfg;
	uint32_t b = cfg->block_of[insn], n = 0;

	for (uint32_t d = b; d != NONE; d = cfg->blocks[d].idom) {
		const struct block *block = &cfg->blocks[d];
		uint32_t last = d == b ? insn : block->first + block->count - 1;
		const struct insn *i = &unit->fn->insns[last];
		bool first = d != b && block->succ.n == 2 && check_edge_leads(cfg, d, 0, b);

		if (i->guard == NONE ||
			(d != b && (block->succ.n != 2 || first == check_edge_leads(cfg, d, 1, b))))
			continue;
		struct operand guard = {.kind = OPERAND_REG, .id = i->guard};

		if (value_uniform(unit->values, last, &guard))
			continue;
		if (n < most)
			out[n] = (struct picked){d == b ? last : d, d == b ? NONE : !first};
		n++;
	}
	return n;
}

static bool is_picked(const struct unit *unit, struct thread t, const struct picked *v, uint32_t n)
{
	for (uint32_t k = 0; k < n; k++)
		if ((v[k].edge == NONE ? thread_runs(unit->values, t, v[k].at)
				       : thread_takes(unit->values, t, v[k].at, v[k].edge)) != TRUTH_YES)
			return false;
	return true;
}

#define PICKED_MOST 16

/* Two threads at least certainly issue the store where one does, of CTAs with so many threads. */
static bool several_issue(const struct unit *unit, uint32_t insn, uint32_t threads)
{
	struct picked v[PICKED_MOST];
	uint32_t n = find_picked(unit, insn, v, PICKED_MOST), found = 0, elected = 0;
	bool assumed;

	if (!n || n > PICKED_MOST || !threads_numbered(unit->values, &assumed))
		return !n && threads != 1;
	for (uint32_t t = 0; t < threads && found < 2 && elected < 2; t++) {
		found += is_picked(unit, (struct thread){.tid = (uint16_t)t}, v, n);
		elected += t % 32 == 0 &&
			   is_picked(unit, (struct thread){.tid = (uint16_t)t, .elected = true}, v, n);
	}
	return found > 1 || elected > 1;
}

/* How sure it is that others than the thread that writes at `insn` have issued the store, whose waits say nothing to
 * it; or -1. */
static int confidence_of_others(const struct check_walk *w, const struct bulk_search *all, uint32_t insn)
{
	bool exact;
	uint32_t threads = threads_most(w->unit->values, &exact);

	if (all->alone && !same_threads(w, insn))
		return CONFIDENCE_LIKELY;
	if (!several_issue(w->unit, w->site, threads))
		return -1;
	return exact ? CONFIDENCE_LIKELY : CONFIDENCE_POSSIBLE;
}

/* `s` is one of those of `all`. Certain bytes are those of all threads. */
static void try_write(struct check_walk *w, uint32_t access, uint8_t state, const struct bulk_search *all,
	struct bulk_store *s)
{
	struct unit *unit = w->unit;
	uint32_t insn = unit->accesses.v[access].insn;
	bool waited = phase_of(state) == PHASE_WAITED;
	int confidence = CONFIDENCE_PROVEN;

	if (insn >= s->write || s->read == NONE)
		return;
	struct overlap o =
		access_overlap(unit->values, &unit->accesses, access, s->read, unit->options, NULL);

	/* stages of one buffer overlap in some iteration: only certain bytes are worth a word */
	if (!o.may ||
		(o.confidence != CONFIDENCE_PROVEN && (waited || !begin_together(unit, access, s->read))) ||
		(waited && (confidence = confidence_of_others(w, all, insn)) < 0))
		return;
	s->write = insn;
	s->write_state = state;
	s->confidence = (uint8_t)confidence;
}

static bool is_write(const struct access *access)
{
	return access->writes && (access->proxy == PROXY_GENERIC || access->proxy == PROXY_ASYNC) && access->own;
}

/* Stores beside one another are tried together, so many are too many: see CHECK_STEPS_MOST. */
static bool may_try(const struct check_walk *w, uint32_t k)
{
	*w->defs->steps += k ? 16 : 0;
	return *w->defs->steps <= CHECK_STEPS_MOST;
}

static void visit_bulk(struct check_walk *w, uint32_t insn, uint32_t at, uint8_t state, void *arg)
{
	struct bulk_search *s = arg;
	const struct accesses *all = &w->unit->accesses;

	if (insn == NONE) {
		if (phase_of(state) > PHASE_WAITED && (!s->ends || at < s->exit)) {
			s->ends = true;
			s->exit = at;
			s->exit_state = state;
		}
		return;
	}
	if (w->unit->effects[insn]->sync == SYNC_BULK_WAIT)
		s->may_wait |=
			phase_of(after_wait(state, wait_limit(w->unit, insn))) == PHASE_WAITED;
	if (!w->unit->effects[insn]->ntouches || check_guard(w, insn) == 0)
		return;
	for (uint32_t i = access_first(all, insn); i < all->n && all->v[i].insn == insn; i++)
		for (uint32_t k = 0; is_write(&all->v[i]) && k < s->n && may_try(w, k); k++)
			if (insn <= s->v[k].insn || insn > w->site)
				try_write(w, i, state, s, &s->v[k]);
}

/* What stands between a store and the last of the walk, which goes on from there. */
static void try_between(struct check_walk *w, struct bulk_search *s)
{
	const struct accesses *all = &w->unit->accesses;

	for (uint32_t i = access_first(all, s->v[0].insn); i < all->n && all->v[i].insn < w->site; i++)
		for (uint32_t k = 0; is_write(&all->v[i]) && k < s->n &&
				     s->v[k].insn < all->v[i].insn && may_try(w, k);
			k++)
			try_write(w, i, state_of(PHASE_ISSUED, 0), s, &s->v[k]);
}

static const char *detail_of(uint8_t state, bool exit)
{
	switch ((enum phase)phase_of(state)) {
	case PHASE_ISSUED:
		return exit ? "the kernel can end with the store neither committed nor waited for"
			    : "its source is written again with the store neither committed nor "
			      "waited for";
	case PHASE_COMMITTED:
		return exit ? "the kernel can end with no cp.async.bulk.wait_group behind the store"
			    : "its source is written again with no cp.async.bulk.wait_group "
			      "between";
	case PHASE_PARTLY:
		return exit ? "the kernel can end while the last wait_group still leaves the "
			      "store's group"
			    : "its source is written again while wait_group still leaves the "
			      "store's group";
	case PHASE_WAITED:
		return "other threads write its source again with no hand-off behind the wait";
	case PHASE_GONE:
		break;
	}
	return NULL;
}

static uint32_t find_read(const struct unit *unit, uint32_t insn, uint8_t touch)
{
	for (uint32_t i = access_first(&unit->accesses, insn); i < unit->accesses.n && unit->accesses.v[i].insn == insn;
		i++)
		if (unit->accesses.v[i].touch == touch)
			return i;
	return NONE;
}

/* Debug builds keep the leader's predicate in local memory, where no walk follows it: that the way
 * past a wait can be taken is then only possible. */
static uint8_t confidence_of_end(const struct unit *unit, const struct bulk_search *s)
{
	return unit->module->debug && s->may_wait ? CONFIDENCE_POSSIBLE : CONFIDENCE_LIKELY;
}

static bool is_plain(const struct unit *unit, uint32_t insn)
{
	uint8_t sync = unit->effects[insn]->sync;

	return sync != SYNC_BULK_COMMIT && sync != SYNC_BULK_WAIT && check_is_plain(unit, insn);
}

/* The stores from instruction i on that one walk is enough for; `s` takes them. */
static void gather(const struct unit *unit, uint32_t i, struct bulk_search *s)
{
	uint32_t block = unit->cfg.block_of[i];

	for (s->n = 0; i < unit->fn->ninsns && unit->cfg.block_of[i] == block; i++) {
		uint8_t source = 0;

		if (is_bulk_store(unit->effects[i], &source))
			s->v[s->n++] = (struct bulk_store){.insn = i, .read = find_read(unit, i, source)};
		if (!is_plain(unit, i))
			break;
	}
}

static void visit_end(struct check_walk *w, uint32_t insn, uint32_t at, uint8_t state, void *arg)
{
	if (insn == NONE)
		visit_bulk(w, insn, at, state, arg);
}

/* Whether a thread can end first that issues the store: others may go past the wait. */
static void ends_by_number(struct check_walk *w, struct bulk_search *s)
{
	check_conditions(w);
	if (!check_by_number(w))
		return;
	s->ends = false;
	check_run(w, visit_end, s);
}

/* Walks from the stores; false: it shows nothing. */
static bool walk(struct check_walk *w, struct bulk_search *s)
{
	bool shows = false;

	for (uint32_t k = 0; k < s->n; k++)
		s->v[k].write = NONE;
	s->exit = NONE;
	s->may_wait = s->ends = false;
	check_conditions(w);
	try_between(w, s);
	check_run(w, visit_bulk, s);
	for (uint32_t k = 0; k < s->n; k++)
		shows |= s->v[k].write != NONE;
	return shows || s->ends;
}

static void follow(struct check_list *list, struct bulk_search *s)
{
	struct unit *unit = list->unit;
	bool is_kernel = unit->module->functions[unit->fn->index].is_entry;
	uint64_t steps = *list->defs.steps;
	struct check_walk w = {.unit = unit,
		.defs = &list->defs,
		.site = s->v[s->n - 1].insn,
		.start = state_of(PHASE_ISSUED, 0),
		.step = step_bulk,
		.join = join_parts};

	if (*list->defs.steps > CHECK_STEPS_MOST)
		return;
	s->alone = find_picked(unit, w.site, NULL, 0) != 0;
	if (!walk(&w, s))
		return;
	if (list->defs.nflags) {
		*list->defs.steps = steps;
		w.follows_flags = true;
		walk(&w, s);
	}
	if (s->ends && is_kernel && s->may_wait)
		ends_by_number(&w, s);
	for (uint32_t k = 0; k < s->n; k++) {
		const struct bulk_store *v = &s->v[k];

		if (v->write != NONE)
			check_report(list, RULE_BULK_STORE_UNWAITED, v->confidence, v->insn,
				v->write, detail_of(v->write_state, false));
		else if (s->ends && is_kernel)
			check_report(list, RULE_BULK_STORE_UNWAITED, confidence_of_end(unit, s),
				v->insn, s->exit, detail_of(s->exit_state, true));
	}
}

void check_bulk_stores(struct check_list *list)
{
	struct unit *unit = list->unit;
	struct bulk_store *stores = ARENA_UNSET(unit->arena, struct bulk_store, unit->fn->ninsns);

	for (uint32_t n = 0, next = 0; n < list->defs.nnotable; n++) {
		uint32_t i = list->defs.notable[n];
		uint8_t source = 0;

		if (i < next || unit->cfg.block_of[i] == NONE ||
			!is_bulk_store(unit->effects[i], &source))
			continue;
		struct bulk_search s = {.v = stores};

		gather(unit, i, &s);
		follow(list, &s);
		next = s.v[s.n - 1].insn + 1;
	}
}
