/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In: a function. Out: the registers that an address, size, descriptor, barrier, count or branch
 * depends on, as nodes, and which nodes read each.
 */
#include "analysis/value_solver.h"

struct slicer {
	struct values *vs;
	bool *needed;		/* by register */
	uint32_t *stack, depth; /* registers to follow */
	bool calls;		/* of callees without a body */
	bool maps;		/* tensor maps are built here */
};

static void need(struct slicer *s, uint32_t reg)
{
	if (s->needed[reg])
		return;
	s->needed[reg] = true;
	s->stack[s->depth++] = reg;
}

static void need_below(struct slicer *s, const struct operand *o, uint32_t depth);

static inline void need_operand(struct slicer *s, const struct operand *o, uint32_t depth)
{
	if (!o)
		return;
	if (o->kind == OPERAND_REG)
		need(s, o->id);
	if (operand_has_children(o))
		need_below(s, o, depth);
}

static void need_below(struct slicer *s, const struct operand *o, uint32_t depth)
{
	for (uint32_t i = 0; depth < 4 && i < operand_count(o); i++)
		need_operand(s, operand_child(s->vs->fn, o, i), depth + 1);
}

/* The address inside brackets, without coordinates. */
static void need_address(struct slicer *s, const struct operand *o)
{
	const struct function *fn = s->vs->fn;

	if (!o)
		return;
	if (o->kind == OPERAND_REG)
		need(s, o->id);
	if (o->kind != OPERAND_MEM)
		return;
	need_operand(s, operand_child(fn, o, 0), 1);
	if (o->indexed)
		need_operand(s, operand_child(fn, o, 1), 1);
}

static void need_numbered(struct slicer *s, const struct insn *insn, uint8_t number)
{
	if (number != UINT8_MAX)
		need_address(s, insn_operand(s->vs->fn, insn, number));
}

/* Registers may count that no effect of the instruction names. */
static bool names_more(const struct insn *insn)
{
	switch (insn->op) {
	case OP_brx:
	case OP_tcgen05:
	case OP_call:
	case OP_st:
	case OP_cp:
	case OP_tensormap:
		return true;
	default:
		return false;
	}
}

/* expect_tx: the bytes that an mbarrier waits for bound tensor copies */
static void need_expected(struct slicer *s, const struct insn *insn)
{
	for (uint32_t k = 0; k < insn->count; k++)
		if (!(k == 0 && insn_operand(s->vs->fn, insn, 0)->kind == OPERAND_REG))
			need_address(s, insn_operand(s->vs->fn, insn, k));
}

static void need_named(struct slicer *s, const struct insn *insn)
{
	const struct function *fn = s->vs->fn;

	switch (insn->op) {
	case OP_brx:
		need_address(s, insn_operand(fn, insn, 0));
		break;
	case OP_tcgen05:
		if (insn_has(insn, MOD_mma)) /* the instruction descriptor */
			need_address(s, insn_operand(fn, insn, insn_has(insn, MOD_sp) ? 4 : 3));
		break;
	case OP_cp:
		if (value_sends_to_mask(insn))
			need_address(s, value_multicast_mask(fn, insn));
		break;
	case OP_tensormap: /* what is put into a map */
		for (uint32_t k = 1; k < insn->count; k++)
			need_address(s, insn_operand(fn, insn, k));
		break;
	default:
		break;
	}
}

/* What reaches a callee without a body says what it may touch (the others are linked), and so does what
 * it can find in memory: a stored pointer. Zeros where a tensor map is to be built leave it as it is. */
static void need_given(struct slicer *s, const struct insn *insn)
{
	const struct function *fn = s->vs->fn;

	if (insn->op == OP_call || (insn->op == OP_st && insn_has(insn, MOD_param)))
		for (uint32_t k = 0; k < insn->count; k++)
			need_operand(s, insn_operand(fn, insn, k), 0);
	if (insn->op == OP_st && (s->calls || s->maps) && !insn_type(insn, 0).is_float &&
		insn_type(insn, 0).bits >= 32)
		need_operand(s, insn_operand(fn, insn, 1), 0);
}

static void need_touched(struct slicer *s, const struct insn *insn, const struct effect *e)
{
	for (uint32_t k = 0; k < e->ntouches; k++) {
		const struct touch *t = &e->touches[k];

		if (!(t->spaces & (SPACE_SHARED | SPACE_CLUSTER | SPACE_GLOBAL | SPACE_LOCAL)) &&
			!t->mbarrier)
			continue;
		need_numbered(s, insn, t->operand);
		need_numbered(s, insn, t->size_operand);
		need_numbered(s, insn, t->mbarrier_operand);
	}
	if (e->sync != SYNC_NONE) {
		need_numbered(s, insn, e->barrier_operand);
		need_numbered(s, insn, e->count_operand);
		need_numbered(s, insn, e->mbarrier_operand);
	}
}

static void need_roots(struct slicer *s, uint32_t i)
{
	const struct insn *insn = &s->vs->fn->insns[i];
	const struct effect *e = s->vs->cfg->effects[i];
	bool acts = e->ntouches || e->sync != SYNC_NONE || e->fence != FENCE_NONE || e->is_branch ||
		    e->is_exit || e->is_call;

	if (acts)
		need_touched(s, insn, e);
	if (insn->op == OP_mbarrier)
		need_expected(s, insn);
	if (insn->guard != NONE && (acts || insn->op == OP_bra || insn->op == OP_brx))
		need(s, insn->guard);
	if (names_more(insn)) {
		need_named(s, insn);
		need_given(s, insn);
	}
}

/* From a definition's register to those that it is computed from. */
static void need_sources(struct slicer *s, uint32_t i)
{
	const struct function *fn = s->vs->fn;
	const struct insn *insn = &fn->insns[i];
	bool follow = insn_is_arithmetic(insn) || insn->op == OP_shfl || insn->op == OP_elect ||
		      insn->op == OP_getctarank;

	if (insn->guard != NONE)
		need(s, insn->guard);
	if (insn->op == OP_ld || insn->op == OP_ldu)
		need_address(s, insn_source(fn, insn, 0));
	if (!follow)
		return;
	for (uint32_t k = 0; k < insn->nmods; k++) {
		struct type type = value_types[insn->mods[k]];

		/* a comparison of floats may still be one of parameters: the same for all threads
		 */
		if (type.bits && type.is_float && insn->op != OP_setp)
			return;
	}
	for (uint32_t k = 1; k < insn->count; k++)
		need_operand(s, insn_operand(fn, insn, k), 0);
}

static void slice(struct slicer *s)
{
	struct values *vs = s->vs;
	struct ssa *ssa = &vs->ssa;

	s->needed = ARENA_NEW(vs->arena, bool, vs->fn->nregs + 1);
	s->stack = ARENA_NEW(vs->arena, uint32_t, vs->fn->nregs + 1);
	for (uint32_t k = 0; k < vs->cfg->active.n; k++) {
		uint32_t i = vs->cfg->active.v[k];

		s->calls |= vs->fn->insns[i].op == OP_call && vs->cfg->block_of[i] != NONE;
		s->maps |= vs->fn->insns[i].op == OP_tensormap;
	}
	for (uint32_t k = 0; k < vs->cfg->active.n; k++)
		if (vs->cfg->block_of[vs->cfg->active.v[k]] != NONE)
			need_roots(s, vs->cfg->active.v[k]);
	while (s->depth) {
		uint32_t reg = s->stack[--s->depth];

		ssa_register(ssa, reg);
		for (uint32_t d = ssa->def_at[reg]; d < ssa->def_at[reg + 1]; d++)
			need_sources(s, ssa->def_insn[d]);
	}
	vs->nsolved = ssa->n;
	ARENA_GIVE_BACK(vs->arena, s->stack, vs->fn->nregs + 1);
	ARENA_GIVE_BACK(vs->arena, s->needed, vs->fn->nregs + 1);
}

struct use {
	uint32_t source, user;
};

struct uses { /* in order of their users */
	struct values *vs;
	struct use *v;
	uint32_t n, cap;
	uint32_t user;
	bool counts; /* what is read makes the value of the user */
};

static inline void push_read(struct uses *uses, uint32_t node)
{
	struct values *vs = uses->vs;

	if (node >= vs->nsolved) /* or NONE */
		return;
	ARENA_PUSH(vs->arena, vs->reads, vs->nreads, vs->reads_cap, node);
	if (uses->counts)
		ARENA_PUSH(
			vs->arena, uses->v, uses->n, uses->cap, ((struct use){node, uses->user}));
}

static void read_below(struct uses *uses, const struct operand *o, uint32_t depth);

static inline void read_operand(struct uses *uses, const struct operand *o, uint32_t depth)
{
	if (o->kind == OPERAND_REG)
		push_read(uses, o->node);
	if (operand_has_children(o))
		read_below(uses, o, depth);
}

static void read_below(struct uses *uses, const struct operand *o, uint32_t depth)
{
	const struct function *fn = uses->vs->fn;

	for (uint32_t i = 0; depth < 4 && i < operand_count(o); i++)
		read_operand(uses, operand_child(fn, o, i), depth + 1);
}

static void read_phi(struct uses *uses, const struct node *n)
{
	const struct values *vs = uses->vs;

	uses->counts = true;
	for (uint32_t k = 0; k < vs->cfg->blocks[n->block].pred.n; k++)
		push_read(uses, vs->ssa.inputs[n->input + k]);
	const struct trip_end *end = trips_end(vs, uses->user);

	if (end) {
		push_read(uses, end->added);
		push_read(uses, end->other);
	}
	for (uint32_t c = trips_counters(vs, uses->user); c != NONE; c = vs->trips[c].next)
		push_read(uses, vs->trips[c].node);
}

static void read_definition(struct uses *uses, const struct node *n)
{
	struct values *vs = uses->vs;
	const struct insn *insn = &vs->fn->insns[n->insn];
	uint32_t behind[LOCKSTEP_MOST + 1];
	bool made = insn_is_arithmetic(insn) || insn->op == OP_shfl || insn->op == OP_getctarank;

	for (uint32_t k = 1; k < insn->count; k++) {
		/* of a load no value comes, but whether it is the same for all threads */
		uses->counts = made || (insn->op == OP_ld && k == 1);
		read_operand(uses, insn_operand(vs->fn, insn, k), 0);
	}
	uses->counts = true;
	uint32_t nbehind = lockstep_is_plain(vs, insn) ? 0 : lockstep_reads(vs, insn, behind);

	vs->looks_behind |= nbehind > 0;
	while (nbehind-- > 0)
		push_read(uses, behind[nbehind]);
	uses->counts = false;
	push_read(uses, vs->ssa.guard_of[n->insn]);
	uses->counts = true;
	push_read(uses, n->previous);
}

/* From the last one on: each node's end moves to its start. */
static void sort_users(const struct uses *uses)
{
	struct values *vs = uses->vs;
	uint32_t n = vs->nsolved, *at = vs->user_at = ARENA_NEW(vs->arena, uint32_t, n + 2);

	for (uint32_t i = 0; i < uses->n; i++)
		at[uses->v[i].source]++;
	for (uint32_t i = 0, all = 0; i <= n; i++)
		at[i] = all += at[i];
	vs->users = ARENA_UNSET(vs->arena, uint32_t, uses->n + 1);
	for (uint32_t i = uses->n; i-- > 0;)
		vs->users[--at[uses->v[i].source]] = uses->v[i].user;
}

/* Whatever the evaluation of a node could look at, but for what holds at its place; and by node who
 * is made of it. */
static void index_reads(struct values *vs)
{
	struct uses uses = {.vs = vs};

	vs->read_at = ARENA_NEW(vs->arena, uint32_t, vs->nsolved + 1);
	for (uint32_t i = 0; i < vs->nsolved; i++) {
		const struct node *n = &vs->ssa.nodes[i];

		uses.user = i;
		if (n->kind == NODE_PHI)
			read_phi(&uses, n);
		if (n->kind == NODE_DEF)
			read_definition(&uses, n);
		vs->read_at[i + 1] = vs->nreads;
	}
	sort_users(&uses);
	ARENA_GIVE_BACK(vs->arena, uses.v, uses.cap);
	ARENA_TRIM(vs->arena, vs->reads, vs->nreads, vs->reads_cap);
}

void solver_slice(struct solver *s)
{
	slice(&(struct slicer){.vs = s->vs});
	trips_find(s->vs);
	index_reads(s->vs);
}
