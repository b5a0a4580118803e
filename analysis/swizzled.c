/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In: a generic access and a matrix operand that lie in one variable. Out: whether any thread
 * touches a chunk that the matrix has. Invariant: an address is known modulo 2^k only if its
 * contents are that at every execution of the thread: numbers of the thread alone, and registers
 * whose set has a stride of a multiple of 2^k. A stage of a ring is such a multiple, so nothing
 * need be known of it.
 */
#include "analysis/swizzled.h"

#include "analysis/extent_matrix.h"
#include "analysis/threads.h"
#include "analysis/value_private.h"
#include "base/bits.h"

#define CHUNK 16
#define PATTERN_LOG 10 /* the address bits that swizzling looks at, and below */
#define DEPTH_MOST 24
#define FUEL 400
#define BITS_MOST 18 /* the shared memory of a CTA has no more */
#define NOT_ASKED UINT32_MAX
#define RESIDUES_MOST 512

struct residue { /* value modulo 2^bits */
	uint64_t value;
	uint32_t bits;
};

/* What a register holds in each thread, filled as threads are asked about. */
struct residues {
	struct residues *next;
	uint32_t node;
	uint32_t assumptions;
	uint32_t open_from, open_end; /* no number follows in these threads from the thread alone */
	struct residue v[];	      /* by thread; NOT_ASKED bits */
};

/* Where an access is. */
struct footprint {
	struct footprint *next;
	uint32_t insn, touch;
	struct thread_set who;	  /* comes there */
	const struct operand *at; /* the address, */
	uint32_t node;		  /* of the register in it; NONE: there is none */
	struct residues *kept;	  /* of that; NULL: nothing is kept */
	uint32_t assumptions;
	uint32_t bits; /* so many of every thread's are known; NOT_ASKED */
	struct bits chunks[BITS_MOST +
			   1]; /* by bits: those that some thread touches; no words: not asked */
};

struct look {
	const struct values *vs;
	uint32_t variable, tid, fuel, assumptions;
	bool cut; /* it ended for want of depth or fuel */
};

static const struct residue unknown = {0, 0};

static struct residue modulo(uint64_t value, uint32_t bits)
{
	return (struct residue){value, bits > 64 ? 64 : bits};
}

static uint32_t fewer(const struct residue *a, const struct residue *b)
{
	return a->bits < b->bits ? a->bits : b->bits;
}

/* What a register's set says, whoever runs it. */
static struct residue by_set(struct look *l, uint32_t node)
{
	const struct value *v = &l->vs->at[node];

	if ((v->base != BASE_NUMBER && v->base != BASE_SYMBOL) || v->lo < -VALUE_FAR ||
		v->lo > VALUE_FAR)
		return unknown;
	l->assumptions |= v->assumptions;
	return modulo((uint64_t)v->lo, v->stride ? (uint32_t)__builtin_ctzll(v->stride) : 64);
}

static struct residue low_bits(struct look *, const struct operand *, uint32_t depth);
static struct residue register_bits(struct look *, uint32_t node, uint32_t depth);

/* The operand holds an address in the variable. */
static bool is_address(const struct look *l, const struct operand *o)
{
	const struct values *vs = l->vs;
	uint32_t node = o ? trips_plain_node(vs, o) : NONE;

	return o &&
	       (o->kind == OPERAND_SYMBOL || (node != NONE && vs->at[node].base == BASE_SYMBOL));
}

/* factor * source 0, the factor a constant. */
static struct residue multiple(
	struct look *l, const struct insn *insn, uint64_t factor, uint32_t depth)
{
	const struct operand *o = insn_source(l->vs->fn, insn, 0);

	if (is_address(l, o)) /* its alignment is not asked for */
		return unknown;
	struct residue x = low_bits(l, o, depth);

	if (!factor)
		return modulo(0, 64);
	return modulo(x.value * factor, x.bits + (uint32_t)__builtin_ctzll(factor));
}

static struct residue both(struct look *l, const struct insn *insn, uint32_t depth)
{
	struct residue x = low_bits(l, insn_source(l->vs->fn, insn, 0), depth),
		       y = low_bits(l, insn_source(l->vs->fn, insn, 1), depth);
	uint64_t v = insn->op == OP_add	  ? x.value + y.value
		     : insn->op == OP_sub ? x.value - y.value
		     : insn->op == OP_and ? x.value & y.value
		     : insn->op == OP_or  ? x.value | y.value
					  : x.value ^ y.value;

	return modulo(v, fewer(&x, &y));
}

/* The low bits of a result follow from low bits of the sources. Of addresses at most one is in it,
 * as it is or with low bits changed that its variable's alignment says are none of its own. */
static struct residue low_result(
	struct look *l, const struct insn *insn, const struct value *result, uint32_t depth)
{
	const struct function *fn = l->vs->fn;
	const struct operand *a = insn_source(fn, insn, 0), *b = insn_source(fn, insn, 1),
			     *c = insn_source(fn, insn, 2);
	struct type type = insn_type(insn, 0), from = insn_type(insn, 1);
	bool address = result->base == BASE_SYMBOL, x = is_address(l, a), y = is_address(l, b);
	struct residue r, s;
	int64_t by;

	if (type.is_float || type.bits < 32 || insn_has(insn, MOD_sat) || insn_has(insn, MOD_hi) ||
		insn_has(insn, MOD_wide))
		return unknown;
	switch (insn->op) {
	case OP_mov:
		return x == address ? low_bits(l, a, depth) : unknown;
	case OP_cvt:
		if (x != address || from.is_float || from.bits < 32)
			return unknown;
		r = low_bits(l, a, depth);
		return modulo(r.value, r.bits < 32 ? r.bits : 32);
	case OP_add:
		return x + y == address ? both(l, insn, depth) : unknown;
	case OP_sub:
		return x == address && !y ? both(l, insn, depth) : unknown;
	case OP_and:
	case OP_or:
	case OP_xor:
		if (x + y != address)
			return unknown;
		r = both(l, insn, depth);
		return modulo(r.value, address && r.bits > result->aux ? result->aux : r.bits);
	case OP_shl:
		if (address || !trips_constant_of(l->vs, b, &by) || by < 0 || by > 31)
			return unknown;
		return multiple(l, insn, UINT64_C(1) << by, depth);
	case OP_mul:
		if (address || !trips_constant_of(l->vs, b, &by))
			return unknown;
		return multiple(l, insn, (uint64_t)by, depth);
	case OP_mad:
		if (is_address(l, c) != address || !trips_constant_of(l->vs, b, &by))
			return unknown;
		r = multiple(l, insn, (uint64_t)by, depth);
		s = low_bits(l, c, depth);
		return modulo(r.value + s.value, fewer(&r, &s));
	default:
		return unknown;
	}
}

/* What all ways into a phi agree about. One that comes back to the phi runs out of depth: nothing
 * is known of it then. */
static struct residue joined(struct look *l, const struct node *n, uint32_t depth)
{
	const struct values *vs = l->vs;
	struct residue all = unknown;

	for (uint32_t k = 0; k < vs->cfg->blocks[n->block].pred.n; k++) {
		struct residue way = register_bits(l, vs->ssa.inputs[n->input + k], depth);
		uint64_t apart = k ? all.value ^ way.value : 0;

		if (k && all.bits < way.bits)
			way.bits = all.bits;
		if (apart && (uint32_t)__builtin_ctzll(apart) < way.bits)
			way.bits = (uint32_t)__builtin_ctzll(apart);
		all = way;
		if (!all.bits)
			return unknown;
	}
	return all;
}

static struct residue node_bits_of(struct look *l, uint32_t node, uint32_t depth)
{
	const struct values *vs = l->vs;
	const struct node *n = &vs->ssa.nodes[node];
	uint32_t bits = vs->fn->regs[n->reg].bits;
	struct residue r = unknown, s;

	if (n->kind == NODE_DEF && n->previous == NONE && bits >= 32)
		r = low_result(l, &vs->fn->insns[n->insn], &vs->at[node], depth - 1);
	if (n->kind == NODE_PHI)
		r = joined(l, n, depth - 1);
	s = by_set(l, node);
	if (s.bits > r.bits)
		r = s;
	return modulo(r.value, r.bits < bits ? r.bits : bits);
}

/* What is kept of a register; NULL: too much is kept already. */
static struct residues *residues_of(struct values *vs, uint32_t node)
{
	struct residues **list = &vs->residues[node % RESIDUES_LISTS];
	bool exact;
	uint32_t most = threads_most(vs, &exact);

	for (struct residues *r = *list; r; r = r->next)
		if (r->node == node)
			return r;
	if (vs->nresidues == RESIDUES_MOST)
		return NULL;
	vs->nresidues++;
	struct residues *fresh =
		arena_alloc(vs->arena, sizeof(*fresh) + most * sizeof(struct residue));

	*fresh = (struct residues){.next = *list, .node = node};
	for (uint32_t t = 0; t < most; t++)
		fresh->v[t].bits = NOT_ASKED;
	return *list = fresh;
}

/* The whole number, where it follows from the thread's. */
static bool whole_number(
	const struct look *l, uint32_t node, struct residues *kept, struct residue *out)
{
	const struct values *vs = l->vs;
	int64_t number;
	uint32_t end;

	if (vs->at[node].base == BASE_SYMBOL ||
		(kept && l->tid >= kept->open_from && l->tid < kept->open_end))
		return false;
	if (thread_node_number(vs, l->tid, node, &number, &end)) {
		*out = modulo((uint64_t)number, vs->fn->regs[vs->ssa.nodes[node].reg].bits);
		return true;
	}
	if (kept) {
		kept->open_from = l->tid;
		kept->open_end = end;
	}
	return false;
}

/* A register; what is found is kept, unless it was not looked at to the end. */
static struct residue register_bits(struct look *l, uint32_t node, uint32_t depth)
{
	struct values *vs = (struct values *)(uintptr_t)l->vs;
	struct residue r;

	if (node >= vs->nsolved ||
		(vs->at[node].base == BASE_SYMBOL && vs->at[node].id != l->variable))
		return unknown;
	if (!depth || !l->fuel) {
		l->cut = true;
		return unknown;
	}
	l->fuel--;
	struct residues *kept = residues_of(vs, node);
	uint32_t assumptions = l->assumptions;
	bool cut = l->cut;

	if (kept && kept->v[l->tid].bits != NOT_ASKED) {
		l->assumptions |= kept->assumptions;
		return kept->v[l->tid];
	}
	l->assumptions = 0;
	l->cut = false;
	/* what comes around a loop finds what is certain of the phi */
	if (kept && vs->ssa.nodes[node].kind == NODE_PHI)
		kept->v[l->tid] = by_set(l, node);
	if (!whole_number(l, node, kept, &r))
		r = node_bits_of(l, node, depth);
	if (kept && (!l->cut || kept->v[l->tid].bits != NOT_ASKED)) {
		kept->v[l->tid] = r;
		kept->assumptions |= l->assumptions;
	}
	l->assumptions |= assumptions;
	l->cut |= cut;
	return r;
}

/* An address counts from its variable. */
static struct residue low_bits(struct look *l, const struct operand *o, uint32_t depth)
{
	const struct values *vs = l->vs;
	struct residue r;

	if (!o)
		return unknown;
	if (o->kind == OPERAND_IMM)
		return modulo((uint64_t)o->imm, 64);
	if (o->kind == OPERAND_SYMBOL) {
		struct value v = evaluate_operand(
			(struct evaluation){(struct values *)(uintptr_t)vs, NULL, 0, NULL}, 0, o);

		return v.base == BASE_SYMBOL && v.id == l->variable ? modulo((uint64_t)v.lo, 64)
								    : unknown;
	}
	if (o->kind != OPERAND_REG || o->component || o->negated || vs->fn->regs[o->id].vector > 1)
		return unknown;
	r = register_bits(l, vs->ssa.node_of[o - vs->fn->operands], depth);
	return modulo(r.value + (uint64_t)o->imm, r.bits);
}

/* The node of a register that is the address as it is, but for a constant behind it; NONE. */
static uint32_t plain_node(const struct values *vs, const struct operand *o)
{
	uint32_t node = NONE;

	if (o->kind == OPERAND_REG && !o->component && !o->negated &&
		vs->fn->regs[o->id].vector <= 1)
		node = vs->ssa.node_of[o - vs->fn->operands];
	return node < vs->nsolved && vs->at[node].base == BASE_SYMBOL ? node : NONE;
}

static const struct touch *touch_of(const struct values *vs, const struct access *a)
{
	return &vs->cfg->effects[a->insn].touches[a->touch];
}

/* The address of thread tid, counted from its variable. */
static struct residue address_of(
	struct values *vs, const struct access *g, struct footprint *f, uint32_t tid)
{
	struct look l = {.vs = vs, .variable = g->address.id, .tid = tid, .fuel = FUEL};
	struct residue r;

	if (f->node == NONE) /* the variable itself, or nothing that is known without assumptions */
		return f->at && f->at->kind == OPERAND_SYMBOL ? low_bits(&l, f->at, DEPTH_MOST)
							      : unknown;
	if (f->kept && f->kept->v[tid].bits != NOT_ASKED) {
		r = f->kept->v[tid];
		f->assumptions |= f->kept->assumptions;
	} else {
		r = register_bits(&l, f->node, DEPTH_MOST);
		f->assumptions |= l.assumptions;
	}
	return modulo(r.value + (uint64_t)f->at->imm, r.bits);
}

static uint32_t bits_of_all(struct values *vs, const struct access *g, struct footprint *f)
{
	uint32_t bits = BITS_MOST;

	for (uint32_t tid = 0; tid < THREADS_MAX && bits >= PATTERN_LOG; tid++) {
		if (!thread_set_has(&f->who, tid))
			continue;
		struct residue at = address_of(vs, g, f, tid);

		if (at.bits < bits)
			bits = at.bits;
	}
	return bits;
}

static struct bits find_chunks(
	struct values *vs, const struct access *g, struct footprint *f, uint32_t bits)
{
	uint64_t mask = (UINT64_C(1) << bits) - 1;
	struct bits chunks = bits_new(vs->arena, (1u << bits) / CHUNK);

	for (uint32_t tid = 0; tid < THREADS_MAX; tid++) {
		if (!thread_set_has(&f->who, tid))
			continue;
		uint64_t at = address_of(vs, g, f, tid).value;

		for (uint64_t b = at & ~(uint64_t)(CHUNK - 1); b < at + g->bytes; b += CHUNK)
			bits_set(chunks, (uint32_t)((b & mask) / CHUNK));
	}
	return chunks;
}

static struct footprint *footprint_of(struct values *vs, const struct access *g)
{
	struct footprint **list = &vs->footprints[g->insn % RESIDUES_LISTS];

	for (struct footprint *f = *list; f; f = f->next)
		if (f->insn == g->insn && f->touch == g->touch)
			return f;
	struct footprint *f = ARENA_NEW(vs->arena, struct footprint, 1);
	const struct operand *o =
		insn_operand(vs->fn, &vs->fn->insns[g->insn], touch_of(vs, g)->operand);

	if (o && o->kind == OPERAND_MEM)
		o = o->indexed ? NULL : operand_child(vs->fn, o, 0);
	*f = (struct footprint){
		.next = *list, .insn = g->insn, .touch = g->touch, .at = o, .bits = NOT_ASKED};
	f->node = o ? plain_node(vs, o) : NONE;
	f->kept = f->node == NONE ? NULL : residues_of(vs, f->node);
	threads_run(vs, g->insn, &f->who);
	return *list = f;
}

/* The chunk at `address` is one of the matrix, all of it modulo `mask` + 1. */
static bool has_chunk(const struct matrix_rows *m, uint64_t address, uint64_t mask)
{
	/* swizzling is undone as it is done: bits 4 to 6 by bits 7 to 9, as many as a row has
	 * chunks */
	uint64_t plain = address ^ (address >> 3 & (m->row - CHUNK));
	uint64_t start = (uint64_t)m->start.lo, column = start % m->row;
	uint64_t offset = (plain - (start - column)) & mask, in_row = offset % m->row;

	if (in_row < column || in_row >= column + m->bytes)
		return false;
	for (uint32_t i = 0; i < m->rows; i += 8)
		if (((offset - in_row - (uint64_t)(i / 8) * m->sbo) & mask) < UINT64_C(8) * m->row)
			return true;
	return false;
}

/* So many low bits of where the k-step is are known. */
static uint32_t stage_bits(const struct matrix_rows *m)
{
	uint32_t bits = m->start.stride ? (uint32_t)__builtin_ctzll(m->start.stride) : 64;

	return bits < BITS_MOST ? bits : BITS_MOST;
}

static bool touches(const struct matrix_rows *m, const struct access *g, const struct residue *at)
{
	uint32_t stages = stage_bits(m), bits = at->bits < stages ? at->bits : stages;

	if (bits < PATTERN_LOG)
		return true;
	uint64_t mask = (UINT64_C(1) << bits) - 1;

	for (uint64_t b = at->value & ~(uint64_t)(CHUNK - 1); b < at->value + g->bytes; b += CHUNK)
		if (has_chunk(m, b & mask, mask))
			return true;
	return false;
}

/* Some chunk of the matrix is one of these, modulo 2^bits. */
static bool meets(const struct matrix_rows *m, struct bits chunks, uint32_t bits)
{
	uint64_t mask = (UINT64_C(1) << bits) - 1, start = (uint64_t)m->start.lo;

	for (uint32_t row = 0; row < m->rows; row++) {
		uint64_t first =
			start + (uint64_t)(row / 8) * m->sbo + (uint64_t)(row % 8) * m->row;

		for (uint64_t plain = first; plain < first + m->bytes; plain += CHUNK) {
			uint64_t at = plain ^ (plain >> 3 & (m->row - CHUNK));

			if (bits_has(chunks, (uint32_t)((at & mask) / CHUNK)))
				return true;
		}
	}
	return false;
}

/* No thread is in the chunks of the matrix. */
static bool all_apart(
	struct values *vs, const struct access *g, struct footprint *f, const struct matrix_rows *m)
{
	if (f->bits == NOT_ASKED)
		f->bits = bits_of_all(vs, g, f);
	uint32_t stages = stage_bits(m), bits = f->bits < stages ? f->bits : stages;

	if (bits < PATTERN_LOG)
		return false;
	if (!f->chunks[bits].words)
		f->chunks[bits] = find_chunks(vs, g, f, bits);
	return !meets(m, f->chunks[bits], bits);
}

#define LOOKS_FIRST 8 /* threads: mostly one of them meets the matrix, if any does */

static bool first_meet(
	struct values *vs, const struct access *g, struct footprint *f, const struct matrix_rows *m)
{
	for (uint32_t tid = 0, n = 0; tid < THREADS_MAX && n < LOOKS_FIRST; tid++) {
		if (!thread_set_has(&f->who, tid))
			continue;
		struct residue address = address_of(vs, g, f, tid);

		if (touches(m, g, &address))
			return true;
		n++;
	}
	return false;
}

/* ---- ranges that meet at an edge ---- */

#define PLACES_MOST 16 /* of one thread that are looked at */

/* The ranges share no more than a quarter of the generic access's: else most threads meet it
 * anyway. */
static bool meets_at_edge(const struct access *g, const struct access *a)
{
	const struct value *p = &g->address, *q = &a->address;

	if (p->lo < -INT32_MAX || p->hi > INT32_MAX || q->lo < -INT32_MAX || q->hi > INT32_MAX ||
		a->bytes > INT32_MAX)
		return false;
	int64_t end = p->hi + (int64_t)g->bytes, other_end = q->hi + (int64_t)a->bytes;
	int64_t from = p->lo > q->lo ? p->lo : q->lo, to = end < other_end ? end : other_end;

	return to - from <= (end - p->lo) / 4;
}

/* One of the places that the async access can begin at makes it touch the bytes at x. */
static bool reaches(const struct access *a, int64_t x, int64_t bytes)
{
	const struct value *v = &a->address;
	int64_t size = (int64_t)a->bytes, step = v->stride ? (int64_t)v->stride : 1, begin = v->lo;

	if (x - size >= begin)
		begin += (x - size - begin) / step * step + step;
	return begin <= v->hi && begin < x + bytes;
}

/* The thread can be anywhere in its access's range that agrees with what is known of it. */
static bool may_reach(const struct access *g, const struct access *a, const struct residue *at)
{
	const int64_t period = INT64_C(1) << (at->bits < 32 ? at->bits : 32);
	int64_t x = g->address.lo +
		    (int64_t)((at->value - (uint64_t)g->address.lo) & (uint64_t)(period - 1));

	if ((g->address.hi - x) / period >= PLACES_MOST)
		return true;
	for (; x <= g->address.hi; x += period)
		if (reaches(a, x, (int64_t)g->bytes))
			return true;
	return false;
}

static bool some_reach(
	struct values *vs, const struct access *g, struct footprint *f, const struct access *a)
{
	for (uint32_t tid = 0; tid < THREADS_MAX; tid++) {
		if (!thread_set_has(&f->who, tid))
			continue;
		struct residue address = address_of(vs, g, f, tid);

		if (may_reach(g, a, &address))
			return true;
	}
	return false;
}

bool swizzled_apart(const struct values *values, const struct access *g, const struct access *a,
	uint32_t *assumptions)
{
	struct values *vs = (struct values *)(uintptr_t)values;
	struct matrix_place at = {vs->fn, vs, vs->options, a->insn};
	const struct value *v = &g->address;
	struct matrix_rows m = {.assumptions = 0};
	bool assumed, rows, edge;

	if (!g->pattern || v->base != BASE_SYMBOL || !threads_numbered(vs, &assumed))
		return false;
	rows = a->pattern && matrix_rows(at, touch_of(vs, a), &m) && m.start.base == BASE_SYMBOL &&
	       m.start.id == v->id && m.start.lo >= 0 && m.start.hi <= INT32_MAX;
	edge = !rows && a->address.base == BASE_SYMBOL && a->address.id == v->id &&
	       meets_at_edge(g, a);
	if (!rows && !edge)
		return false;
	struct footprint *f = footprint_of(vs, g);

	if (rows ? first_meet(vs, g, f, &m) || !all_apart(vs, g, f, &m) : some_reach(vs, g, f, a))
		return false;
	*assumptions |= f->assumptions | (rows ? m.start.assumptions | m.assumptions
					       : g->address.assumptions | a->address.assumptions);
	if (assumed)
		*assumptions |= ASSUME_FLAT_BLOCK;
	return true;
}
