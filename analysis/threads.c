/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In: SSA nodes and a thread. Out: the number that the node holds in this thread, if it is an
 * expression over the thread's number and constants (ISA 9.7.1, 9.7.4, 9.7.7, 9.7.9). Invariant: a
 * number is given only if it is the same at every execution; all else is open.
 */
#include "analysis/thread_arith.h"
#include "analysis/thread_truths.h"
#include "analysis/value_private.h"

#include <string.h>

#define FUEL 256 /* nodes looked at for one answer */
#define FUEL_FIRST 24 /* before what is found of them is kept */

struct look {
	const struct values *vs;
	uint32_t tid;
	bool elected;  /* elect.sync picks this lane */
	bool numbered; /* %tid.x tells threads apart */
	bool keeps;    /* many threads are asked about, and many nodes that share what they are made of */
	bool differs;  /* out: something was looked at that threads can have different, */
	uint8_t lanes; /* and those of one warp too: enum lanes */
	const struct thread_given *given; /* or NULL */
	uint32_t fuel;
};

static struct look look_at(const struct values *vs, uint32_t tid, bool elected)
{
	bool assumed;

	return (struct look){.vs = vs,
		.tid = tid,
		.elected = elected,
		.numbered = threads_numbered(vs, &assumed),
		.fuel = FUEL};
}

static bool node_number(struct look *, uint32_t node, uint64_t *);

static void no_count(struct look *l)
{
	if (l->lanes)
		l->lanes = LANES_DIFFER;
}

static bool operand_number(struct look *l, const struct operand *o, uint64_t *out)
{
	if (!o || o->component)
		return false;
	switch ((enum operand_kind)o->kind) {
	case OPERAND_IMM:
		*out = (uint64_t)o->imm;
		return true;
	case OPERAND_SPECIAL:
		if (o->special != SPECIAL_TID_X && o->special != SPECIAL_LANEID)
			return false; /* in no thread */
		l->differs = true;
		l->lanes |= LANES_COUNT;
		*out = o->special == SPECIAL_TID_X ? l->tid : l->tid & 31;
		return l->numbered || (!l->tid && !l->elected);
	case OPERAND_REG:
		if (o->offset || !node_number(l, o->node, out))
			return false;
		if (o->negated) {
			*out = l->vs->fn->regs[o->id].bits == 1 ? !*out : 0 - *out;
			no_count(l);
		}
		return true;
	case OPERAND_SINK:
	case OPERAND_FLOAT:
	case OPERAND_SYMBOL:
	case OPERAND_LABEL:
	case OPERAND_MEM:
	case OPERAND_LIST:
	case OPERAND_PAIR:
	case OPERAND_TUPLE:
	case OPERAND_NAME:
		break;
	}
	return false;
}

static bool source(struct look *l, const struct insn *insn, uint32_t k, uint64_t *out)
{
	return operand_number(l, insn_source(l->vs->fn, insn, k), out);
}

/* The first n sources. Where one of them is not known, it does not matter that others differ between threads:
 * it is not known in any thread in which it is the same, unless it only was too far to look. *counts: the first
 * one alone differs in the warp, and counts lanes. */
static bool sources(struct look *l, const struct insn *insn, uint32_t n, uint64_t *out, bool *counts)
{
	bool others_differ = false, known = true;
	uint8_t others_lanes = LANES_ALIKE;

	*counts = false;
	for (uint32_t k = 0; k < n && known; k++) {
		others_differ |= l->differs;
		others_lanes |= l->lanes;
		l->differs = false;
		l->lanes = LANES_ALIKE;
		known = source(l, insn, k, &out[k]);
		*counts = k ? *counts && !l->lanes : l->lanes == LANES_COUNT;
	}
	if (known || !l->fuel) {
		l->differs |= others_differ;
		l->lanes |= others_lanes;
	}
	no_count(l);
	return known;
}

/* setp: the comparison, then its combination with a third source (ISA 9.7.7.2). */
static bool comparison(struct look *l, const struct insn *insn, uint32_t slot, uint64_t *out)
{
	struct type type = insn_type(insn, 0);
	bool is_unsigned, holds, other = true;
	enum compare c = insn_compare(insn, &is_unsigned);
	const struct operand *with = insn_source(l->vs->fn, insn, 2);
	uint64_t v[2], a, b, p = 0;
	bool counts;

	if (!type.bits || type.is_float || c == COMPARE_NONE || !sources(l, insn, 2, v, &counts))
		return false;
	if (counts)
		l->lanes = thread_lanes(insn, c, v[1]);
	a = thread_cut(v[0], type.bits);
	b = thread_cut(v[1], type.bits);
	holds = thread_compared(c,
		type.is_signed && !is_unsigned ? thread_signed(a, type.bits) < thread_signed(b, type.bits)
					       : a < b,
		a == b);
	if (slot)
		holds = !holds;
	if (with) {
		other = operand_number(l, with, &p);
		if (insn_has(insn, MOD_and) && (!holds || other))
			holds = holds && p;
		else if (insn_has(insn, MOD_or) && (holds || other))
			holds = holds || p;
		else if (insn_has(insn, MOD_xor) && other)
			holds = holds != (p != 0);
		else
			return false;
	}
	*out = holds;
	return true;
}

/* and, or: one side may be enough. */
static bool logic(struct look *l, const struct insn *insn, uint32_t bits, uint64_t *out)
{
	uint64_t a = 0, b = 0, all = thread_cut(~UINT64_C(0), bits);
	bool x = source(l, insn, 0, &a);
	uint8_t lanes = l->lanes;

	l->lanes = LANES_ALIKE;
	bool y = source(l, insn, 1, &b), counts = x && y && lanes == LANES_COUNT && !l->lanes;

	l->lanes |= lanes;
	no_count(l);
	if (counts)
		l->lanes = thread_lanes(insn, COMPARE_NONE, b);
	uint64_t enough = insn->op == OP_and ? 0 : all;

	if ((x && thread_cut(a, bits) == enough) || (y && thread_cut(b, bits) == enough)) {
		*out = enough;
		return true;
	}
	*out = insn->op == OP_and ? a & b : a | b;
	return x && y;
}

/* Every lane of a warp takes part, so lane b's own value comes back (ISA 9.7.9.6). */
static bool shuffled(struct look *l, const struct insn *insn, uint32_t slot, uint64_t *out)
{
	uint64_t lane, clamp, mask;
	struct look there = *l;

	if (slot || !insn_has(insn, MOD_idx) || !source(l, insn, 1, &lane) ||
		!source(l, insn, 2, &clamp) || !source(l, insn, 3, &mask) || clamp != 31 ||
		thread_cut(mask, 32) != UINT32_MAX)
		return false;
	there.tid = (l->tid & ~UINT32_C(31)) | (lane & 31);
	there.elected = l->elected && there.tid == l->tid;
	bool known = source(&there, insn, 0, out);

	l->fuel = there.fuel;
	no_count(l);
	l->differs = true; /* but not in a warp, unless the lane that is asked does */
	return known;
}

/* The register or operand is %tid.x as it is. */
static bool is_tid(const struct look *l, const struct operand *o)
{
	if (o && o->kind == OPERAND_REG && !o->component && !o->offset && !o->negated) {
		uint32_t node = o->node;
		const struct node *n = node < l->vs->nsolved ? &l->vs->ssa.nodes[node] : NULL;

		if (!n || n->kind != NODE_DEF || n->previous != NONE ||
			l->vs->fn->insns[n->insn].op != OP_mov)
			return false;
		o = insn_source(l->vs->fn, &l->vs->fn->insns[n->insn], 0);
	}
	return o && o->kind == OPERAND_SPECIAL && !o->component && o->special == SPECIAL_TID_X;
}

static bool two_sources(struct look *l, const struct insn *insn, struct type type, uint64_t *out)
{
	uint64_t v[2], a, b, c;
	bool counts;

	if (!sources(l, insn, 2, v, &counts))
		return false;
	a = v[0];
	b = v[1];
	if (counts)
		l->lanes = thread_lanes(insn, COMPARE_NONE, b);
	switch (insn->op) {
	case OP_add:
		*out = a + b;
		return insn->nmods == 1;
	case OP_sub:
		*out = a - b;
		return insn->nmods == 1;
	case OP_xor:
		*out = a ^ b;
		return true;
	case OP_shl:
	case OP_shr:
		return thread_shifted(insn, type, a, b, out);
	case OP_div:
	case OP_rem:
		return thread_divided(insn, type, a, b, out);
	case OP_mul:
		return thread_product(insn, type, a, b, out);
	case OP_mad:
		if (!thread_product(insn, type, a, b, out) || !source(l, insn, 2, &c))
			return false;
		*out += c;
		no_count(l);
		return true;
	case OP_bfe:
		if (type.is_signed || !source(l, insn, 2, &c))
			return false;
		no_count(l);
		b = thread_cut(b, 8);
		c = thread_cut(c, 8);
		*out = b >= type.bits ? 0 : thread_cut(thread_cut(a, type.bits) >> b, (uint32_t)c);
		return c > 0;
	default:
		return false;
	}
}

/* bfi: the low bits of a in a field of b (ISA 9.7.1.24). */
static bool inserted(struct look *l, const struct insn *insn, struct type type, uint64_t *out)
{
	uint64_t v[4];
	bool counts;

	if (!sources(l, insn, 4, v, &counts))
		return false;
	uint64_t at = thread_cut(v[2], 8);
	uint64_t field = at < type.bits ? thread_cut(~UINT64_C(0), (uint32_t)thread_cut(v[3], 8)) << at : 0;

	*out = (v[1] & ~field) | (at < type.bits ? v[0] << at & field : 0);
	return true;
}

static bool converted(struct look *l, const struct insn *insn, uint64_t *out)
{
	struct type from = insn_type(insn, insn->op == OP_cvt), to = insn_type(insn, 0);

	if (!from.bits || from.is_float || to.is_float || insn_has(insn, MOD_sat) ||
		!source(l, insn, 0, out))
		return false;
	*out = from.is_signed ? (uint64_t)thread_signed(*out, from.bits) : thread_cut(*out, from.bits);
	/* a register may be wider than the type: then that extends what it keeps (ISA 9.4.1) */
	*out = to.is_signed ? (uint64_t)thread_signed(*out, to.bits) : thread_cut(*out, to.bits);
	return to.bits != 0;
}

static bool selected(struct look *l, const struct insn *insn, uint64_t *out)
{
	uint64_t p;

	return source(l, insn, 2, &p) && source(l, insn, p ? 0 : 1, out);
}

static bool definition(struct look *l, const struct insn *insn, uint32_t slot, uint64_t *out)
{
	struct type type = insn_type(insn, 0);
	uint64_t mask;

	switch (insn->op) {
	case OP_setp:
		return comparison(l, insn, slot, out);
	case OP_shfl:
		return shuffled(l, insn, slot, out);
	case OP_elect: /* the same lane for the same lanes, every time (ISA 9.7.14.3) */
		*out = 1;
		l->differs = true;
		l->lanes = LANES_DIFFER;
		return l->elected && slot == 1 && source(l, insn, 0, &mask) &&
		       thread_cut(mask, 32) == UINT32_MAX;
	default:
		break;
	}
	if (slot || !type.bits || type.is_float)
		return insn->op == OP_LINK_MOV && !slot && source(l, insn, 0, out);
	switch (insn->op) {
	case OP_mov:
	case OP_cvt:
		return converted(l, insn, out);
	case OP_LINK_MOV:
		return source(l, insn, 0, out);
	case OP_not:
		if (!source(l, insn, 0, out))
			return false;
		*out = ~*out;
		return true;
	case OP_and:
	case OP_or:
		return logic(l, insn, type.bits, out);
	case OP_selp:
		return selected(l, insn, out);
	case OP_bfi:
		return inserted(l, insn, type, out);
	default:
		return two_sources(l, insn, type, out);
	}
}

#define KEPT_MOST (256 * THREADS_MAX) /* numbers, of all nodes together */

struct kept_number { /* of a node in a thread */
	uint64_t number;
	uint16_t fuel; /* that it took, */
	bool known, differs; /* and what came of it */
	uint8_t lanes;
};

struct kept_numbers {
	struct thread_set asked;
	bool same;	/* for all threads, as `all` has it */
	uint32_t warps; /* for all threads of these, as their first one has it */
	uint32_t most;	/* threads before this one */
	struct kept_number all;
	struct kept_number *v[]; /* by warp: of its threads, or of its first one alone; or NULL */
};

/* NULL: too many are kept already. */
static struct kept_numbers *kept_of(const struct values *vs, uint32_t node)
{
	struct values *m = (struct values *)(uintptr_t)vs; /* what is kept changes no answer */
	bool exact;

	if (!m->thread_numbers)
		m->thread_numbers = ARENA_NEW(&m->caches, struct kept_numbers *, m->nsolved);
	uint32_t most = (threads_most(vs, &exact) + 31) & ~UINT32_C(31);

	if (m->thread_numbers[node] || m->nthread_numbers + most > KEPT_MOST)
		return m->thread_numbers[node];
	m->nthread_numbers += most;
	struct kept_numbers *kept =
		arena_alloc(&m->caches, sizeof(*kept) + most / 32 * sizeof(*kept->v));

	kept->most = most;
	return m->thread_numbers[node] = kept;
}

static struct kept_number *number_at(struct kept_numbers *kept, uint32_t tid)
{
	return kept->same ? &kept->all
			  : &kept->v[tid / 32][kept->warps >> tid / 32 & 1 ? 0 : tid % 32];
}

static void keep_number(struct look *l, struct kept_numbers *kept, struct kept_number number)
{
	struct arena *arena = &((struct values *)(uintptr_t)l->vs)->caches;
	struct kept_number **warp = &kept->v[l->tid / 32];

	if (!number.differs) {
		kept->same = true;
		memset(&kept->asked, 0xff, sizeof(kept->asked));
	} else if (!number.lanes) {
		kept->warps |= UINT32_C(1) << l->tid / 32;
		kept->asked.w[l->tid / 64] |= UINT64_C(0xffffffff) << (l->tid & 32);
		if (!*warp)
			*warp = ARENA_UNSET(arena, struct kept_number, 1);
	} else {
		thread_set_add(&kept->asked, l->tid);
		if (!*warp)
			*warp = ARENA_UNSET(arena, struct kept_number, 32);
	}
	*number_at(kept, l->tid) = number;
}

static bool compute_node(struct look *, uint32_t node, uint64_t *);

/* It was found to be known in no thread. Takes as much fuel as finding it. */
static bool is_unknown(struct look *l, uint32_t node)
{
	struct values *m = (struct values *)(uintptr_t)l->vs; /* what is kept changes no answer */

	if (!m->unknown_numbers)
		m->unknown_numbers = ARENA_NEW(m->arena, uint16_t, m->nsolved);
	uint32_t fuel = m->unknown_numbers[node];

	l->fuel -= fuel < l->fuel ? fuel : l->fuel;
	return fuel != 0;
}

/* The same as if nothing were kept: it takes as much fuel. */
static bool kept_node(struct look *l, struct kept_numbers *kept, uint32_t node, uint64_t *out)
{
	struct kept_number number = {.known = false};
	const uint32_t fuel = l->fuel;

	if (thread_set_has(&kept->asked, l->tid))
		number = *number_at(kept, l->tid);
	if (number.fuel && number.fuel <= fuel) {
		l->fuel -= number.fuel;
		l->differs = number.differs;
		l->lanes = number.lanes;
		*out = number.number;
		return number.known;
	}
	number.known = compute_node(l, node, out);
	number.number = number.known ? *out : 0;
	number.fuel = (uint16_t)(fuel - l->fuel);
	number.differs = l->differs;
	number.lanes = l->lanes;
	if (l->fuel) /* else it was cut short, perhaps */
		keep_number(l, kept, number);
	return number.known;
}

/* What stays where the guard fails is known too. */
static bool guarded_node(struct look *l, const struct node *n, uint32_t node, uint64_t *out)
{
	uint64_t holds;

	if (!node_number(l, l->vs->ssa.guard_of[n->insn], &holds))
		return false;
	return (holds != 0) != l->vs->fn->insns[n->insn].guard_negated ? compute_node(l, node, out)
								       : node_number(l, n->previous, out);
}

static bool node_number(struct look *l, uint32_t node, uint64_t *out)
{
	const struct values *vs = l->vs;

	if (node == NONE || node >= vs->nsolved || !l->fuel)
		return false;
	const struct node *n = &vs->ssa.nodes[node];

	if (l->given && n->kind == NODE_PHI)
		return l->given->phi(l->given->data, node, out);
	if (l->given && n->kind == NODE_DEF && n->previous != NONE)
		return guarded_node(l, n, node, out);
	if (n->kind != NODE_DEF || n->previous != NONE)
		return false;
	if (!l->given && is_unknown(l, node))
		return false;
	struct kept_numbers *kept = l->keeps && !l->elected ? kept_of(vs, node) : NULL;
	const bool differs = l->differs;
	const uint8_t lanes = l->lanes;
	bool known = kept && l->tid < kept->most ? kept_node(l, kept, node, out) : compute_node(l, node, out);

	l->differs |= differs;
	l->lanes |= lanes;
	return known;
}

static bool defined_number(struct look *l, const struct node *n, uint64_t *out)
{
	const struct values *vs = l->vs;
	const struct insn *insn = &vs->fn->insns[n->insn];
	const struct operand *d = insn_operand(vs->fn, insn, 0);

	if (!d || d->kind == OPERAND_LIST || vs->fn->regs[n->reg].vector > 1 ||
		!definition(l, insn, d->kind == OPERAND_REG ? 0 : insn_slot(vs->fn, insn, n->reg),
			out))
		return false;
	*out = thread_cut(*out, vs->fn->regs[n->reg].bits);
	return true;
}

/* Leaves what was looked at for this node alone. */
static bool compute_node(struct look *l, uint32_t node, uint64_t *out)
{
	const struct node *n = &l->vs->ssa.nodes[node];
	const uint32_t fuel = l->fuel--;

	l->differs = false;
	l->lanes = LANES_ALIKE;
	bool known = defined_number(l, n, out);

	if (!known && !l->differs && l->fuel && !l->given)
		l->vs->unknown_numbers[node] = (uint16_t)(fuel - l->fuel);
	if (!known || l->vs->fn->regs[n->reg].bits < 8)
		no_count(l);
	return known;
}

/* For how many threads it is the same: all, those of the warp, or 1. */
static uint32_t alike_of(const struct look *l)
{
	return !l->differs ? THREADS_MAX : !l->lanes ? 32 : 1;
}

enum truth thread_compute(const struct values *vs, struct thread t, uint32_t node, uint32_t *alike)
{
	uint32_t from = t.elected ? t.tid & ~UINT32_C(31) : t.tid,
		 to = t.elected ? from + 31 : t.tid;
	enum truth all = TRUTH_OPEN;

	for (uint32_t tid = from; tid <= to; tid++) {
		struct look l = look_at(vs, tid, t.elected);
		uint64_t v;

		l.fuel = FUEL_FIRST;
		bool known = node_number(&l, node, &v);

		if (!l.fuel) { /* what it is made of is looked at again and again */
			l = look_at(vs, tid, t.elected);
			l.keeps = true;
			known = node_number(&l, node, &v);
		}
		*alike = alike_of(&l);
		if (!known || (all != TRUTH_OPEN && (all == TRUTH_YES) != (v != 0)))
			return TRUTH_OPEN;
		all = v ? TRUTH_YES : TRUTH_NO;
		if (*alike > 1)
			break;
	}
	return all;
}

uint32_t thread_compare_end(const struct values *vs, uint32_t tid, uint32_t node)
{
	const struct node *n = &vs->ssa.nodes[node];
	const struct insn *insn = n->kind == NODE_DEF && n->previous == NONE
					  ? &vs->fn->insns[n->insn]
					  : NULL;
	struct look l = look_at(vs, tid, false);
	bool is_unsigned;
	uint64_t v;

	if (!insn || insn->op != OP_setp || !l.numbered || insn_source(vs->fn, insn, 2) ||
		!is_tid(&l, insn_source(vs->fn, insn, 0)) || !source(&l, insn, 1, &v) || l.differs)
		return tid + 1;
	struct type type = insn_type(insn, 0);
	enum compare how = insn_compare(insn, &is_unsigned);
	int64_t c = type.is_signed && !is_unsigned ? thread_signed(v, type.bits)
						   : (int64_t)thread_cut(v, type.bits);

	if (type.bits < 16 || c < 0 || c >= THREADS_MAX)
		return tid + 1;
	/* the outcome changes at c, or behind it, or at both */
	if (tid < c && how != COMPARE_LE && how != COMPARE_GT)
		return (uint32_t)c;
	if (tid <= c && how != COMPARE_LT && how != COMPARE_GE)
		return (uint32_t)c + 1;
	return THREADS_MAX;
}

/* Behind the last thread for which it is the same. */
static uint32_t end_of(const struct look *l)
{
	return (l->tid / alike_of(l) + 1) * alike_of(l);
}

bool thread_number(
	const struct values *vs, uint32_t tid, const struct operand *o, int64_t *out, uint32_t *end)
{
	struct look l = look_at(vs, tid, false);
	uint64_t v;

	if (o < vs->fn->operands || o >= vs->fn->operands + vs->fn->noperands ||
		!operand_number(&l, o, &v))
		return false;
	*out = (int64_t)v;
	*end = end_of(&l);
	return true;
}

bool thread_node_number(
	const struct values *vs, uint32_t tid, uint32_t node, int64_t *out, uint32_t *end)
{
	struct look l = look_at(vs, tid, false);
	uint64_t v = 0;

	l.keeps = true;
	bool known = node_number(&l, node, &v);

	*out = (int64_t)v;
	*end = end_of(&l);
	return known;
}

bool thread_node_given(
	const struct values *vs, const struct thread_given *given, uint32_t node, uint64_t *out)
{
	/* in no thread that has a number: what depends on it is not known */
	struct look l = {.vs = vs, .tid = 1, .given = given, .fuel = FUEL};

	return node_number(&l, node, out);
}
