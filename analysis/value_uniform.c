/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In: solved nodes. Out: which of them may differ between threads of a CTA that execute the same
 * place. Differences start at thread numbers, loads and votes, flow along operands, and appear at
 * phis where the two ways of a branch on a differing predicate meet. Starts optimistic and only
 * adds.
 *
 * A load differs whatever its address is, but for constant memory. In a program without data races
 * (--assume=race-free) it differs only with its address where threads at one place have met equally
 * often: see value_quiet.c. They have not behind a barrier of all threads that only one way of a
 * differing branch runs into before the ways meet.
 *
 * The same is found for the threads of one set among each other: there a number that all of them have does not
 * differ, as tid / 128 for the 128 threads that a barrier tid / 128 + 1 takes.
 */
#include "analysis/threads.h"
#include "analysis/value_divergence.h"

static bool special_varies(uint8_t special)
{
	switch ((enum special_register)special) {
	case SPECIAL_NTID_X:
	case SPECIAL_NTID_Y:
	case SPECIAL_NTID_Z:
	case SPECIAL_CTAID_X:
	case SPECIAL_CTAID_Y:
	case SPECIAL_CTAID_Z:
	case SPECIAL_NCTAID_X:
	case SPECIAL_NCTAID_Y:
	case SPECIAL_NCTAID_Z:
	case SPECIAL_NWARPID:
	case SPECIAL_CLUSTER_CTARANK:
	case SPECIAL_CLUSTER_NCTARANK:
	case SPECIAL_CLUSTER_CTAID_X:
	case SPECIAL_CLUSTER_CTAID_Y:
	case SPECIAL_CLUSTER_CTAID_Z:
	case SPECIAL_CLUSTERID:
	case SPECIAL_NCLUSTERID:
	case SPECIAL_DYNAMIC_SMEM_SIZE:
	case SPECIAL_TOTAL_SMEM_SIZE:
	case SPECIAL_GRIDID:
	case SPECIAL_WARP_SZ:
		return false;
	case SPECIAL_OTHER:
	case SPECIAL_TID_X:
	case SPECIAL_TID_Y:
	case SPECIAL_TID_Z:
	case SPECIAL_TID:
	case SPECIAL_LANEID:
	case SPECIAL_WARPID:
	case SPECIAL_LANEMASK:
	case SPECIAL_SMID:
	case SPECIAL_CLOCK:
		break;
	}
	return true;
}

static bool some_varies(const struct values *vs, const struct operand *o, uint32_t depth);

static inline bool operand_varies(const struct values *vs, const struct operand *o, uint32_t depth)
{
	if (o->kind == OPERAND_REG) /* of no node, if it is none */
		return o->node >= vs->nsolved;
	if (o->kind == OPERAND_SPECIAL)
		return special_varies(o->special);
	return operand_has_children(o) && some_varies(vs, o, depth);
}

static bool some_varies(const struct values *vs, const struct operand *o, uint32_t depth)
{
	for (uint32_t i = 0; depth < 4 && i < operand_count(o); i++)
		if (operand_varies(vs, operand_child(vs->fn, o, i), depth + 1))
			return true;
	return false;
}

static bool is_shared_load(const struct insn *load)
{
	bool shared = insn_has(load, MOD_shared) || insn_has(load, MOD_shared__cta) ||
		      insn_has(load, MOD_shared__cluster);

	return load->op == OP_ld && (shared || insn_has(load, MOD_global));
}

/* A plain load of memory that threads share, from its address alone: the same where that is. */
static bool loads_same(const struct divergence *d, uint32_t insn)
{
	const struct values *vs = d->vs;
	const struct insn *load = &vs->fn->insns[insn];
	const struct effect *e = vs->cfg->effects[insn];
	if (load->op != OP_ld || !e->known || e->sync != SYNC_NONE)
		return false;
	if (insn_has(load, MOD_const)) /* never written (ISA 5.1.3) */
		return true;
	if (!d->race_free || !is_shared_load(load))
		return false;
	/* what is read beside the coherent memory is not written while the kernel runs */
	return insn_has(load, MOD_nc) ||
	       (vs->quiet[insn] && !bits_has(d->skewed, vs->cfg->block_of[insn]));
}

/* Differs whatever its operands are. */
static bool is_source(const struct divergence *d, uint32_t node)
{
	const struct values *vs = d->vs;
	const struct node *n = &vs->ssa.nodes[node];

	if (n->kind != NODE_DEF)
		return false;
	const struct insn *insn = &vs->fn->insns[n->insn];
	bool fixed;

	if (vs->is_entry && insn->op == OP_ld && value_loads_parameter(vs, insn, &fixed))
		return !fixed;
	if (insn->op == OP_getctarank)
		return operand_varies(vs, insn_source(vs->fn, insn, 0), 0);
	if (loads_same(d, n->insn))
		return operand_varies(vs, insn_source(vs->fn, insn, 0), 0);
	if (!insn_is_arithmetic(insn) && insn->op != OP_shfl)
		return true;
	/* the carry is in no operand (ISA 9.7.2) */
	if (insn->op == OP_addc || insn->op == OP_subc)
		return true;
	/* whether the other lane was in range is each lane's own (ISA 9.7.9.6) */
	if (insn->op == OP_shfl && insn_slot(vs->fn, insn, n->reg))
		return true;
	for (uint32_t k = 1; k < insn->count; k++)
		if (operand_varies(vs, insn_operand(vs->fn, insn, k), 0))
			return true;
	return false;
}

/* A source that may be none in a program without races: a load. */
static bool is_loaded(const struct divergence *d, uint32_t node)
{
	const struct values *vs = d->vs;

	return d->race_free && d->sources[node] &&
	       vs->fn->insns[vs->ssa.nodes[node].insn].op == OP_ld;
}

static void init(struct divergence *d)
{
	struct values *vs = d->vs;
	uint32_t nb = vs->cfg->n;
	bool *loud = ARENA_NEW(d->arena, bool, nb + 1);

	d->skewed = bits_new(d->arena, nb + 1);
	d->meets = ARENA_NEW(d->arena, bool, nb + 1);
	d->stack = ARENA_NEW(d->arena, uint32_t, vs->nsolved + 1);
	d->branch_of = ARENA_NEW(d->arena, uint32_t, vs->nsolved + 1);
	d->next_phi = ARENA_NEW(d->arena, uint32_t, vs->nsolved + 1);
	d->next_branch = ARENA_NEW(d->arena, uint32_t, 2 * nb + 1);
	d->first_phi = ARENA_NEW(d->arena, uint32_t, nb + 1);
	for (uint32_t b = 0; b < nb; b++)
		d->first_phi[b] = NONE;
	for (uint32_t i = 0; d->race_free && i < vs->fn->ninsns; i++)
		if (vs->meeting[i])
			d->meets[vs->cfg->block_of[i]] = true;
	for (uint32_t i = 0; i < vs->nsolved; i++) {
		const struct node *n = &vs->ssa.nodes[i];

		d->branch_of[i] = NONE;
		if (is_loaded(d, i))
			loud[vs->cfg->block_of[n->insn]] = true;
		if (n->kind != NODE_PHI)
			continue;
		loud[n->block] = true;
		d->next_phi[i] = d->first_phi[n->block];
		d->first_phi[n->block] = i;
	}
	divergence_prepare(d, loud);
}


bool value_parts_unseen(const struct cfg *cfg, uint32_t block)
{
	const struct block *b = &cfg->blocks[block];

	if (!b->count || b->succ.n < 2)
		return false;
	uint32_t last = b->first + b->count - 1;
	uint32_t seen = cfg->fn->insns[last].guard == NONE ? 1 : 2;

	return (cfg->effects[last]->is_call || cfg->effects[last]->is_exit) && b->succ.n > seen;
}

static void flow_on(struct divergence *d, uint32_t node)
{
	for (uint32_t u = d->user_at[node]; u < d->user_at[node + 1]; u++)
		divergence_add(d, d->users[u]);
	for (uint32_t test = d->branch_of[node]; test != NONE; test = d->next_branch[test])
		divergence_split(d, test / 2);
}

/* Guarded definitions and, if there are no races, loads that were sources. */
static struct ids find_later(const struct divergence *d)
{
	struct values *vs = d->vs;
	uint32_t *v = ARENA_UNSET(d->arena, uint32_t, vs->nsolved), n = 0;

	for (uint32_t i = 0; i < vs->nsolved; i++) {
		const struct node *node = &vs->ssa.nodes[i];

		if (node->kind == NODE_DEF && (node->previous != NONE || is_loaded(d, i)))
			v[n++] = i;
	}
	ARENA_TRIM(d->arena, v, n, vs->nsolved);
	return (struct ids){v, n};
}

/* Definitions, loads and barriers of all threads that the differences so far make differ. */
static void add_dependent(struct divergence *d)
{
	const struct values *vs = d->vs;

	for (uint32_t i = 0; d->race_free && i < vs->fn->ninsns; i++) {
		uint32_t g = vs->meeting[i] ? vs->ssa.guard_of[i] : NONE;

		if (vs->meeting[i] && vs->fn->insns[i].guard != NONE &&
			(g == NONE || g >= vs->nsolved || d->varies[g]))
			divergence_skew(d, vs->cfg->block_of[i]);
	}
	for (uint32_t k = 0; k < d->later.n; k++) {
		uint32_t i = d->later.v[k];
		const struct node *n = &vs->ssa.nodes[i];
		uint32_t g = n->previous != NONE ? vs->ssa.guard_of[n->insn] : NONE;

		if ((g != NONE && (g >= vs->nsolved || d->varies[g])) ||
			(is_loaded(d, i) && is_source(d, i)))
			divergence_add(d, i);
	}
}

static void spread(struct divergence *d)
{
	const struct values *vs = d->vs;

	for (uint32_t guard = 0; d->depth || guard == 0; guard = 1) {
		while (d->depth && d->steps < 20000000)
			flow_on(d, d->stack[--d->depth]);
		if (d->depth) { /* too much branching to follow: call everything different */
			for (uint32_t i = 0; i < vs->nsolved; i++)
				d->varies[i] = true;
			return;
		}
		add_dependent(d);
	}
}

static void add_test(struct divergence *d, uint32_t test, uint32_t node)
{
	if (node == NONE || node >= d->vs->nsolved)
		return;
	d->next_branch[test] = d->branch_of[node];
	d->branch_of[node] = test;
}

/* What decides where blocks go on: the guard, of brx.idx the index too. */
static void find_branches(struct divergence *d)
{
	const struct values *vs = d->vs;

	for (uint32_t k = 0; k < vs->cfg->n; k++) {
		const struct block *b = &vs->cfg->blocks[k];

		if (!b->count || b->succ.n < 2)
			continue;
		uint32_t last = b->first + b->count - 1;
		const struct insn *insn = &vs->fn->insns[last];
		const struct operand *o = insn_operand(vs->fn, insn, 0);

		if (insn->guard != NONE)
			add_test(d, 2 * k, vs->ssa.guard_of[last]);
		if (insn->op == OP_brx && o && o->kind == OPERAND_REG)
			add_test(d, 2 * k + 1, o->node);
	}
}

/* The result is made in `arena`. */
static bool *find_varying(struct divergence d, struct arena *arena)
{
	struct values *vs = d.vs;
	struct arena stage;

	d.varies = ARENA_NEW(arena, bool, vs->nsolved + 1);
	arena_begin(&stage, arena);
	d.arena = &stage;
	init(&d);
	find_branches(&d);
	d.later = find_later(&d);
	for (uint32_t i = 0; i < vs->nsolved; i++)
		if (d.sources[i] && (!is_loaded(&d, i) || is_source(&d, i)))
			divergence_add(&d, i);
	for (uint32_t b = 0; b < vs->cfg->n; b++)
		if (value_parts_unseen(vs->cfg, b))
			divergence_split(&d, b);
	spread(&d);
	arena_end(&stage);
	return d.varies;
}

/* Some source is a load of memory that threads share: others are sources with races and without. */
static bool any_shared_load(const struct divergence *d)
{
	const struct values *vs = d->vs;

	for (uint32_t i = 0; i < vs->nsolved; i++)
		if (d->sources[i] && is_shared_load(&vs->fn->insns[vs->ssa.nodes[i].insn]))
			return true;
	return false;
}

static const bool *find_sources(struct values *vs, struct arena *arena)
{
	bool *sources = ARENA_NEW(arena, bool, vs->nsolved + 1);
	struct divergence d = {.vs = vs};

	for (uint32_t i = 0; i < vs->nsolved; i++)
		sources[i] = is_source(&d, i);
	return sources;
}

void values_find_uniform(struct values *vs)
{
	struct divergence d = {.vs = vs,
		.sources = find_sources(vs, vs->arena),
		.user_at = vs->user_at,
		.users = vs->users};

	vs->varies = vs->varies_race_free = find_varying(d, vs->arena);
	if (vs->options->assume & ASSUME_RACE_FREE && any_shared_load(&d)) {
		values_find_quiet(vs);
		d.race_free = true;
		vs->varies_race_free = find_varying(d, vs->arena);
	}
	ARENA_GIVE_BACK(vs->arena, vs->users, vs->user_at[vs->nsolved] + 1);
	ARENA_GIVE_BACK(vs->arena, vs->user_at, vs->nsolved + 2);
	vs->users = vs->user_at = NULL;
}

const bool *value_varying(const struct values *vs, bool race_free)
{
	if (!vs->varies)
		values_find_uniform((struct values *)(uintptr_t)vs);
	return race_free ? vs->varies_race_free : vs->varies;
}

/* The node holds one number in all threads of the set. */
static enum truth one_number(const struct values *vs, uint32_t node, const struct thread_set *set)
{
	uint32_t end = 0;
	int64_t first = 0, v = 0;
	bool any = false;

	for (uint32_t t = thread_set_next(set, 0); t < THREADS_MAX; t = thread_set_next(set, t < end ? end : t + 1)) {
		if (!thread_node_number(vs, t, node, &v, &end))
			return TRUTH_OPEN;
		if (any && v != first)
			return TRUTH_NO;
		first = v;
		any = true;
	}
	return TRUTH_YES;
}

/* It may hold one number where what it reads holds several. */
static bool may_forget(const struct insn *insn)
{
	switch ((uint32_t)insn->op) {
	case OP_shr:
	case OP_and:
	case OP_div:
	case OP_rem:
	case OP_bfe:
	case OP_setp:
		return true;
	default:
		return false;
	}
}

bool divergence_is_fixed(const struct divergence *d, uint32_t node)
{
	const struct values *vs = d->vs;
	const struct node *n = &vs->ssa.nodes[node];

	if (n->kind != NODE_DEF || !may_forget(&vs->fn->insns[n->insn]))
		return false;
	for (uint32_t k = 0; k < d->nsets; k++)
		if (one_number(vs, node, &d->sets[k]) != TRUTH_YES)
			return false;
	return true;
}

/* Who reads each node, found anew. */
static void find_users(struct divergence *d, struct arena *arena)
{
	const struct values *vs = d->vs;
	uint32_t n = vs->nsolved, *at = ARENA_NEW(arena, uint32_t, n + 2);
	uint32_t *users = ARENA_UNSET(arena, uint32_t, vs->nreads + 1);

	for (uint32_t r = 0; r < vs->nreads; r++)
		at[vs->reads[r]]++;
	for (uint32_t i = 0, all = 0; i <= n; i++)
		at[i] = all += at[i];
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t r = vs->read_at[i]; r < vs->read_at[i + 1]; r++)
			users[--at[vs->reads[r]]] = i;
	d->user_at = at;
	d->users = users;
}

const bool *values_alike(struct values *vs, const struct thread_set *sets, uint32_t nsets, struct arena *arena,
	uint32_t *assumptions)
{
	struct divergence d = {.vs = vs,
		.race_free = value_varying(vs, true) != vs->varies,
		.sets = sets,
		.nsets = nsets,
		.sources = find_sources(vs, arena)};

	*assumptions |= d.race_free ? ASSUME_RACE_FREE : 0;
	find_users(&d, arena);
	return find_varying(d, arena);
}

enum truth value_guard_alike(
	const struct values *vs, const struct thread_set *sets, uint32_t nsets, uint32_t insn)
{
	uint32_t node = vs->ssa.guard_of[insn];
	enum truth all = TRUTH_YES;

	if (node == NONE || node >= vs->nsolved)
		return TRUTH_OPEN;
	for (uint32_t k = 0; k < nsets && all == TRUTH_YES; k++)
		all = one_number(vs, node, &sets[k]);
	return all;
}

static bool is_same(
	const struct values *vs, const bool *varies, uint32_t insn, const struct operand *o)
{
	uint32_t node;

	switch ((enum operand_kind)o->kind) {
	case OPERAND_IMM:
	case OPERAND_SYMBOL:
	case OPERAND_FLOAT:
		return true;
	case OPERAND_SPECIAL:
		return !special_varies(o->special);
	case OPERAND_REG:
		if (o >= vs->fn->operands && o < vs->fn->operands + vs->fn->noperands)
			node = o->node;
		else
			node = ssa_node_before(&((struct values *)(uintptr_t)vs)->ssa, insn, o->id);
		return node != NONE && node < vs->nsolved && !varies[node];
	case OPERAND_MEM: {
		const struct operand *base = operand_child(vs->fn, o, 0);

		if (!base || !is_same(vs, varies, insn, base))
			return false;
		return !o->indexed || is_same(vs, varies, insn, operand_child(vs->fn, o, 1));
	}
	case OPERAND_SINK:
	case OPERAND_LABEL:
	case OPERAND_LIST:
	case OPERAND_PAIR:
	case OPERAND_TUPLE:
	case OPERAND_NAME:
		break;
	}
	return false;
}

bool value_uniform(const struct values *vs, uint32_t insn, const struct operand *o)
{
	return is_same(vs, value_varying(vs, false), insn, o);
}

bool value_uniform_race_free(const struct values *vs, uint32_t insn, const struct operand *o)
{
	return is_same(vs, value_varying(vs, true), insn, o);
}

bool value_alike(const struct values *vs, const bool *varies, uint32_t insn, const struct operand *o)
{
	return is_same(vs, varies, insn, o);
}
