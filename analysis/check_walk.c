/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In: a unit with effects, flow graph and values, and a site. Out: the states on the ways of one
 * thread from there. A walk follows the site forwards; where the way forks on a predicate whose
 * value is known on that way, only the fitting branch is followed, since compilers repeat tests and
 * keep flags: a condition of the site that cannot change, a register not written since, a constant
 * put into it; and, where that is asked for, a way that some thread takes which runs the site. Invariant: states and sets of truths only grow, so a walk ends.
 */
#include "analysis/checks.h"

#include <string.h>

#define MAX_CONDITIONS 64

uint8_t check_larger(uint8_t a, uint8_t b)
{
	return a > b ? a : b;
}

/* The guard register as an operand, for questions about its value. */
static struct operand guard_operand(const struct insn *insn)
{
	return (struct operand){.kind = OPERAND_REG, .id = insn->guard};
}

/* A predicate with one definition outside all loops is computed once; so is an invariant number. */
static bool stays(
	const struct unit *unit, uint32_t insn, const struct operand *guard, uint32_t number)
{
	if (value_number_invariant(unit->values, number))
		return true;
	struct ids defs = value_definitions(unit->values, insn, guard->id);

	return defs.n == 1 && defs.v[0] < unit->fn->ninsns &&
	       unit->cfg.block_of[defs.v[0]] != NONE &&
	       unit->cfg.blocks[unit->cfg.block_of[defs.v[0]]].loop_depth == 0;
}

static void track(struct check_walk *w, uint32_t reg, uint8_t start, bool is_condition)
{
	for (uint32_t k = 0; k < w->ntracked; k++)
		if (w->tracked[k].reg == reg) {
			w->tracked[k].start &= start;
			return;
		}
	if (w->ntracked < CHECK_TRACKED_MOST)
		w->tracked[w->ntracked++] = (struct check_tracked){reg, start, is_condition};
}

static const struct insn *single_definition(
	const struct unit *unit, uint32_t insn, uint32_t reg, uint32_t *at)
{
	struct ids defs = value_definitions(unit->values, insn, reg);

	if (defs.n != 1 || defs.v[0] >= unit->fn->ninsns)
		return NULL;
	*at = defs.v[0];
	return &unit->fn->insns[*at];
}

static const struct operand *predicate_source(
	const struct unit *unit, const struct insn *insn, uint32_t k)
{
	const struct operand *o = insn_operand(unit->fn, insn, k);

	return o && o->kind == OPERAND_REG && !o->negated && unit->fn->regs[o->id].bits == 1 ? o
											     : NULL;
}

struct known_predicate {
	uint32_t insn, reg; /* the register as that instruction reads it */
	bool truth;
};

/* What a known predicate says of those it was made from: `and' true and `or' false say it of both.
 */
static uint32_t derive(
	const struct unit *unit, const struct known_predicate *from, struct known_predicate out[2])
{
	uint32_t at, n = 0;
	const struct insn *def = single_definition(unit, from->insn, from->reg, &at);
	const struct operand *a, *b;

	if (!def || def->guard != NONE || unit->cfg.block_of[at] == NONE)
		return 0;
	a = predicate_source(unit, def, 1);
	b = predicate_source(unit, def, 2);
	if ((def->op == OP_not || def->op == OP_mov) && a)
		out[n++] = (struct known_predicate){at, a->id, from->truth != (def->op == OP_not)};
	if ((def->op == OP_and && from->truth) || (def->op == OP_or && !from->truth)) {
		if (a)
			out[n++] = (struct known_predicate){at, a->id, from->truth};
		if (b)
			out[n++] = (struct known_predicate){at, b->id, from->truth};
	}
	return n;
}

/* The register that was read at an instruction still holds the same where the site runs. One
 * definition D, and D dominates the reader, which dominates the site: a way from the reader through
 * D to the site that avoids the reader would also be one from the entry. */
static bool reaches_site(const struct check_walk *w, const struct known_predicate *k)
{
	const struct cfg *cfg = &w->unit->cfg;
	uint32_t def = w->defs->at[k->reg];

	if (!w->defs->n[k->reg])
		return true;
	return w->defs->n[k->reg] == 1 && cfg->block_of[def] != NONE &&
	       cfg_dominates(cfg, cfg->block_of[def], cfg->block_of[k->insn]) &&
	       (cfg->block_of[def] != cfg->block_of[k->insn] || def < k->insn);
}

static void add_condition(struct check_walk *w, uint32_t insn, bool truth)
{
	struct known_predicate todo[MAX_CONDITIONS] = {
		{insn, w->unit->fn->insns[insn].guard, truth}};

	for (uint32_t n = 1; n > 0;) {
		struct known_predicate k = todo[--n], made[2];
		struct operand reg = {.kind = OPERAND_REG, .id = k.reg};
		uint32_t number = value_number(w->unit->values, k.insn, &reg);

		if (stays(w->unit, k.insn, &reg, number) && w->nconditions < MAX_CONDITIONS)
			w->conditions[w->nconditions++] = (struct check_condition){
				number, k.truth, value_uniform(w->unit->values, k.insn, &reg)};
		if (reaches_site(w, &k))
			track(w, k.reg, k.truth ? CHECK_TRUE : CHECK_FALSE, true);
		uint32_t more = derive(w->unit, &k, made);

		for (uint32_t i = 0; i < more && n < MAX_CONDITIONS; i++)
			todo[n++] = made[i];
	}
}

bool check_edge_leads(const struct cfg *cfg, uint32_t from, uint32_t k, uint32_t to)
{
	uint32_t s = cfg->blocks[from].succ.v[k];

	if (!cfg_dominates(cfg, s, to))
		return false;
	for (uint32_t i = 0; i < cfg->blocks[s].pred.n; i++) {
		uint32_t p = cfg->blocks[s].pred.v[i];

		if (p != from &&
			!cfg_dominates(cfg, s, p)) /* a join, reached by the other branch as well */
			return false;
	}
	return true;
}

bool check_is_plain(const struct unit *unit, uint32_t insn)
{
	const struct effect *e = unit->effects[insn];
	const struct insn *i = &unit->fn->insns[insn];
	const struct operand *d0 = insn_operand(unit->fn, i, 0);

	if (i->guard != NONE || e->is_call || e->is_branch || e->is_exit)
		return false;
	return !d0 || d0->kind == OPERAND_MEM ||
	       (d0->kind == OPERAND_REG && unit->fn->regs[d0->id].bits > 16);
}

void check_conditions(struct check_walk *w)
{
	const struct cfg *cfg = &w->unit->cfg;
	uint32_t b = cfg->block_of[w->site];

	w->conditions = ARENA_NEW(w->unit->arena, struct check_condition, MAX_CONDITIONS);
	w->tracked = ARENA_NEW(w->unit->arena, struct check_tracked, CHECK_TRACKED_MOST);
	w->nconditions = w->ntracked = 0;
	w->numbered = false;
	if (w->unit->fn->insns[w->site].guard != NONE)
		add_condition(w, w->site, !w->unit->fn->insns[w->site].guard_negated);
	for (uint32_t d = cfg->blocks[b].idom; d != NONE; d = cfg->blocks[d].idom) {
		const struct block *block = &cfg->blocks[d];
		uint32_t last = block->first + block->count - 1;

		*w->defs->steps += 8; /* a step of a walk costs far less */
		if (block->succ.n != 2 || !block->count || w->unit->fn->insns[last].guard == NONE)
			continue;
		bool taken = check_edge_leads(cfg, d, 0, b);

		if (taken != check_edge_leads(cfg, d, 1, b))
			add_condition(w, last, taken != w->unit->fn->insns[last].guard_negated);
	}
	for (uint32_t k = 0; w->follows_flags && k < w->defs->nflags; k++)
		track(w, w->defs->flags[k], CHECK_TRUE | CHECK_FALSE, false);
	w->now = ARENA_NEW(w->unit->arena, uint8_t, w->ntracked + 1);
	memset(w->now, CHECK_TRUE | CHECK_FALSE, w->ntracked);
}

bool check_by_number(struct check_walk *w)
{
	bool assumed;

	w->numbered = threads_numbered(w->unit->values, &assumed);
	w->assumed = assumed ? ASSUME_FLAT_BLOCK : 0;
	if (w->numbered)
		threads_run(w->unit->values, w->site, &w->who);
	return w->numbered;
}

int check_guard(const struct check_walk *w, uint32_t insn)
{
	const struct insn *i = &w->unit->fn->insns[insn];

	if (i->guard == NONE)
		return 1;
	uint8_t truth = check_truth_now(w, i->guard);

	if (truth == CHECK_TRUE || truth == CHECK_FALSE)
		return (truth == CHECK_TRUE) != i->guard_negated;
	struct operand guard = guard_operand(i);
	uint32_t number = value_number(w->unit->values, insn, &guard);

	for (uint32_t k = 0; k < w->nconditions; k++)
		if (w->conditions[k].number == number)
			return w->conditions[k].truth != i->guard_negated;
	return -1;
}

/* A register is given one of these values. */
static void make(struct check_walk *w, uint32_t reg, uint8_t made, bool always)
{
	uint32_t k = w->defs->slot[reg];

	if (!k--)
		return;
	w->now[k] = made | (always ? 0 : w->now[k]);
	if (w->tracked[k].is_condition)
		w->context = CHECK_COLD;
}

/* What an instruction does to the registers that are followed. */
static void step_truths(struct check_walk *w, uint32_t insn)
{
	const struct insn *i = &w->unit->fn->insns[insn];
	uint32_t one = w->defs->makes[insn];

	if (one == NONE)
		return;
	if (one != CHECK_SEVERAL) {
		if (w->defs->slot[one])
			make(w, one, check_truth_made(w, i), i->guard == NONE);
		return;
	}
	regs_defined(w->unit->fn, i, w->unit->arena, &w->defined);
	for (uint32_t d = 0; d < w->defined.n; d++)
		make(w, w->defined.v[d], CHECK_TRUE | CHECK_FALSE, i->guard == NONE);
}

/* The site with its guard open: this way is one of those on which it runs, or of those on which
 * not. */
static uint8_t step_site(struct check_walk *w, uint8_t state)
{
	int runs = state ? check_guard(w, w->site) : 1;

	if (runs >= 0 && (runs == 1) != w->site_runs)
		return 0;
	if (!w->site_runs)
		return state;
	w->context = CHECK_HOT;
	for (uint32_t k = 0; k < w->ntracked; k++)
		w->now[k] = w->tracked[k].start;
	return w->start;
}

static uint8_t step_guarded(struct check_walk *w, uint32_t insn, uint8_t state)
{
	switch (check_guard(w, insn)) {
	case 0:
		return state;
	case 1:
		return w->step(w, insn, state);
	default:
		return w->join(state, w->step(w, insn, state));
	}
}

static bool leaves_thread(const struct unit *unit, uint32_t b)
{
	const struct block *block = &unit->cfg.blocks[b];

	if (!block->exits)
		return false;
	return !block->count || unit->fn->insns[block->first + block->count - 1].op != OP_trap;
}

static uint8_t run_block(struct check_walk *w, uint32_t b, uint8_t state, check_visitor *visit, void *arg)
{
	const struct block *block = &w->unit->cfg.blocks[b];
	uint32_t end = block->first + block->count;

	*w->defs->steps += block->count;
	for (uint32_t n = w->defs->notable_from[block->first]; n < w->defs->nnotable; n++) {
		uint32_t i = w->defs->notable[n];

		if (i >= end)
			break;
		if (visit && state)
			visit(w, i, i, state, arg);
		state = i == w->site ? step_site(w, state) : step_guarded(w, i, state);
		step_truths(w, i);
	}
	if (visit && state && leaves_thread(w->unit, b) &&
		(!block->count || check_guard(w, end - 1) != 0))
		visit(w, NONE, block->count ? end - 1 : NONE, state, arg);
	return state;
}

/* Which successors the walk's thread can take. */
static bool may_take(const struct check_walk *w, const struct block *block, uint32_t k)
{
	uint32_t last = block->first + block->count - 1;

	if (block->succ.n != 2 || !block->count || w->unit->fn->insns[last].guard == NONE)
		return true;
	int runs = check_guard(w, last);

	if (runs < 0 && w->numbered &&
		!threads_may_take(w->unit->values, &w->who, w->unit->cfg.block_of[last], k)) {
		w->unit->assumptions |= w->assumed;
		return false;
	}
	return runs < 0 || (runs == 1) == (k == 0);
}

/* to |= from, where there was something before; tells whether `to` grew. */
static bool bytes_or(uint8_t *to, const uint8_t *from, uint32_t n)
{
	uint64_t grown = 0, x, y;
	uint32_t i = 0;

	for (; i + sizeof(x) <= n; i += sizeof(x)) {
		memcpy(&x, to + i, sizeof(x));
		memcpy(&y, from + i, sizeof(y));
		grown |= y & ~x;
		x |= y;
		memcpy(to + i, &x, sizeof(x));
	}
	for (; i < n; i++) {
		grown |= from[i] & (uint8_t)~to[i];
		to[i] |= from[i];
	}
	return grown != 0;
}

/* On an edge the predicate of the branch is known: where it is followed; or NULL. */
static uint8_t *decided_on_edge(const struct check_walk *w, const struct block *block)
{
	uint32_t guard = block->count && block->succ.n == 2
				 ? w->unit->fn->insns[block->first + block->count - 1].guard
				 : NONE;
	uint32_t slot = guard == NONE ? 0 : w->defs->slot[guard];

	return slot ? &w->now[slot - 1] : NULL;
}

static bool flow_into(struct check_walk *w, const struct block *block, uint32_t k, uint8_t out)
{
	uint32_t to = block->succ.v[k] * CHECK_CONTEXTS + w->context;
	uint8_t joined = w->in[to] ? w->join(w->in[to], out) : out;
	uint8_t *decided = decided_on_edge(w, block), now = decided ? *decided : 0;
	uint8_t *truths = &w->truths[(size_t)to * w->ntracked];
	bool first = !w->in[to], grown = joined != w->in[to];

	w->in[to] = joined;
	if (decided) {
		const struct insn *last = &w->unit->fn->insns[block->first + block->count - 1];

		*decided = (k == 0) != last->guard_negated ? CHECK_TRUE : CHECK_FALSE;
	}
	if (first)
		memcpy(truths, w->now, w->ntracked);
	else
		grown |= bytes_or(truths, w->now, w->ntracked);
	if (decided)
		*decided = now;
	return grown;
}

struct walk_queue {
	uint32_t *v, n;
	bool *has;
};

static void push(struct walk_queue *q, uint32_t entry)
{
	if (q->has[entry])
		return;
	q->has[entry] = true;
	q->v[q->n++] = entry;
}

/* One block in one context; a block with the site is run for both answers of the site's guard. */
static void run_entry(
	struct check_walk *w, uint32_t entry, struct walk_queue *q, check_visitor *visit, void *arg)
{
	uint32_t b = entry / CHECK_CONTEXTS;
	const struct block *block = &w->unit->cfg.blocks[b];
	bool home = b == w->unit->cfg.block_of[w->site];

	for (int runs = 1; runs >= (home && w->unit->fn->insns[w->site].guard != NONE ? 0 : 1);
		runs--) {
		w->site_runs = runs;
		w->context = entry % CHECK_CONTEXTS;
		memcpy(w->now, &w->truths[(size_t)entry * w->ntracked], w->ntracked);
		uint8_t out = run_block(w, b, w->in[entry], visit, arg);

		for (uint32_t k = 0; q && out && k < block->succ.n; k++)
			if (may_take(w, block, k) && flow_into(w, block, k, out))
				push(q, block->succ.v[k] * CHECK_CONTEXTS + w->context);
	}
}

/* Blocks from which that of the site can be reached, as a set of the stage's memory. */
static struct bits find_ahead(const struct check_walk *w)
{
	const struct cfg *cfg = &w->unit->cfg;
	struct bits ahead = bits_new(w->unit->arena, cfg->n);
	uint32_t *stack = ARENA_UNSET(w->unit->arena, uint32_t, cfg->n), depth = 0;

	stack[depth++] = cfg->block_of[w->site];
	bits_set(ahead, stack[0]);
	while (depth) {
		struct ids pred = cfg->blocks[stack[--depth]].pred;

		for (uint32_t k = 0; k < pred.n; k++)
			if (!bits_has(ahead, pred.v[k])) {
				bits_set(ahead, pred.v[k]);
				stack[depth++] = pred.v[k];
			}
	}
	ARENA_GIVE_BACK(w->unit->arena, stack, cfg->n);
	return ahead;
}

static uint8_t *room_for_truths(const struct check_walk *w, struct check_room *room, size_t size)
{
	if (!room->truths || size > room->size) {
		room->size = size > 2 * room->size ? size : 2 * room->size;
		room->truths = ARENA_UNSET(w->unit->arena, uint8_t, room->size);
	}
	return room->truths;
}

static bool has_flags(const struct check_walk *w, const struct check_flags *kept)
{
	if (!kept->tracked || kept->ntracked != w->ntracked || kept->numbered != w->numbered ||
		(w->numbered && memcmp(&kept->who, &w->who, sizeof(w->who))) ||
		kept->nconditions != w->nconditions ||
		!bits_has(kept->ahead, w->unit->cfg.block_of[w->site]))
		return false;
	for (uint32_t i = 0; i < w->nconditions; i++)
		if (kept->conditions[i].number != w->conditions[i].number ||
			kept->conditions[i].truth != w->conditions[i].truth)
			return false;
	for (uint32_t t = 0; t < w->ntracked; t++)
		if (kept->tracked[t].reg != w->tracked[t].reg ||
			kept->tracked[t].start != w->tracked[t].start ||
			kept->tracked[t].is_condition != w->tracked[t].is_condition)
			return false;
	return true;
}

static void keep_flags(const struct check_walk *w, struct check_flags *kept)
{
	kept->ahead = find_ahead(w);
	kept->who = w->who;
	kept->numbered = w->numbered;
	kept->nconditions = w->nconditions;
	kept->conditions = w->conditions;
	kept->ntracked = w->ntracked;
	kept->tracked = ARENA_UNSET(w->unit->arena, struct check_tracked, w->ntracked + 1);
	memcpy(kept->tracked, w->tracked, sizeof(*w->tracked) * w->ntracked);
}

/* The state of the flags where a block begins becomes the present one. */
static void begin_with_flags(struct check_walk *w, uint32_t block)
{
	memcpy(w->now, &w->truths[(size_t)block * CHECK_CONTEXTS * w->ntracked], w->ntracked);
}

/* What the flags hold where blocks begin, from the entry of the function on. Conditions of the
 * site that never change hold there as well, for a thread that will come to the site. */
static void run_flags(struct check_walk *w, struct walk_queue *q)
{
	struct bits ahead = w->defs->kept->ahead;

	w->in[0] = 1;
	memset(w->truths, CHECK_TRUE | CHECK_FALSE, w->ntracked);
	push(q, 0);
	while (q->n && !budget_spent(w->unit->budget)) {
		uint32_t entry = q->v[--q->n], b = entry / CHECK_CONTEXTS;
		const struct block *block = &w->unit->cfg.blocks[b];

		q->has[entry] = false;
		begin_with_flags(w, b);
		for (uint32_t n = w->defs->notable_from[block->first]; n < w->defs->nnotable; n++) {
			if (w->defs->notable[n] >= block->first + block->count)
				break;
			step_truths(w, w->defs->notable[n]);
		}
		w->context = CHECK_COLD;
		for (uint32_t k = 0; k < block->succ.n; k++)
			if (bits_has(ahead, block->succ.v[k]) && may_take(w, block, k) &&
				flow_into(w, block, k, 1))
				push(q, block->succ.v[k] * CHECK_CONTEXTS);
	}
}

/* What they hold where the site runs. */
static void note_flags_at_site(struct check_walk *w)
{
	uint32_t b = w->unit->cfg.block_of[w->site];

	if (!w->in[b * CHECK_CONTEXTS])
		return;
	begin_with_flags(w, b);
	for (uint32_t n = w->defs->notable_from[w->unit->cfg.blocks[b].first];
		n < w->defs->nnotable && w->defs->notable[n] < w->site; n++)
		step_truths(w, w->defs->notable[n]);
	for (uint32_t t = 0; t < w->ntracked; t++)
		if (!w->tracked[t].is_condition && w->now[t])
			w->tracked[t].start = w->now[t];
}

/* The latest run that serves the walk comes to the front; else the older one. */
static bool find_kept(const struct check_walk *w)
{
	struct check_flags *kept = w->defs->kept, older = kept[1];

	if (has_flags(w, &kept[0]))
		return true;
	kept[1] = kept[0];
	kept[0] = older;
	return has_flags(w, &kept[0]);
}

static void find_flags_at_site(struct check_walk *w, struct walk_queue *q)
{
	bool known = find_kept(w);
	struct check_flags *kept = w->defs->kept;
	uint32_t n = w->unit->cfg.n * CHECK_CONTEXTS;
	uint8_t (*join)(uint8_t, uint8_t) = w->join, *in = w->in, *truths = w->truths;

	w->join = check_larger; /* the one state of this run is "reached" */
	if (!kept->in)
		kept->in = ARENA_UNSET(w->unit->arena, uint8_t, n);
	w->in = kept->in;
	w->truths = room_for_truths(w, &kept->truths, (size_t)n * w->ntracked);
	if (!known) {
		keep_flags(w, kept);
		memset(w->in, 0, n);
		run_flags(w, q);
	}
	note_flags_at_site(w);
	w->join = join;
	w->in = in;
	w->truths = truths;
}

void check_run(struct check_walk *w, check_visitor *visit, void *arg)
{
	uint32_t n = w->unit->cfg.n * CHECK_CONTEXTS;
	uint32_t home = w->unit->cfg.block_of[w->site] * CHECK_CONTEXTS + CHECK_COLD;
	struct walk_queue q = {.v = w->defs->queue, .has = w->defs->queued};

	if (*w->defs->steps > CHECK_STEPS_MOST)
		return;
	*w->defs->steps += n;
	for (uint32_t k = 0; k < w->ntracked; k++)
		w->defs->slot[w->tracked[k].reg] = (uint8_t)(k + 1);
	w->in = w->defs->in;
	w->truths = room_for_truths(w, w->defs->room, (size_t)n * w->ntracked);
	memset(q.has, 0, n);
	memset(w->in, 0, n);
	if (w->follows_flags && w->defs->nflags)
		find_flags_at_site(w, &q);
	memset(&w->truths[(size_t)home * w->ntracked], 0, w->ntracked);
	push(&q, home);
	while (q.n && !budget_spent(w->unit->budget)) {
		uint32_t entry = q.v[--q.n];

		q.has[entry] = false;
		run_entry(w, entry, &q, NULL, NULL);
	}
	for (uint32_t entry = 0; entry < n; entry++)
		if (w->in[entry] || entry == home)
			run_entry(w, entry, NULL, visit, arg);
	for (uint32_t k = 0; k < w->ntracked; k++)
		w->defs->slot[w->tracked[k].reg] = 0;
}
