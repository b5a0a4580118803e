/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In: a generic access and an async one that lie in one variable. Out: whether any thread touches
 * what the async one does: a chunk of its matrix, or bytes where their ranges meet at an edge.
 * Invariant: a thread is ruled out only by low bits of its address that are known (residues.h).
 */
#include "analysis/swizzled.h"

#include "analysis/extent_matrix.h"
#include "analysis/residues.h"
#include "analysis/threads.h"
#include "base/bits.h"

#define CHUNK 16
#define PATTERN_LOG 10 /* the address bits that swizzling looks at, and below */
#define BITS_MOST 18   /* the shared memory of a CTA has no more */

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
	/* by bits: those that some thread touches; no words: not asked */
	struct bits chunks[BITS_MOST + 1];
};

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
	struct residue r;

	if (f->node == NONE) /* the variable itself, or nothing that is known without assumptions */
		return f->at && f->at->kind == OPERAND_SYMBOL
			       ? residue_of(vs, g->address.id, tid, f->at, &f->assumptions)
			       : residue_unknown;
	if (f->kept && f->kept->v[tid].bits != NOT_ASKED) {
		r = f->kept->v[tid];
		f->assumptions |= f->kept->assumptions;
	} else {
		r = residue_of_node(vs, g->address.id, tid, f->node, &f->assumptions);
	}
	return residue_modulo(r.value + (uint64_t)f->at->imm, r.bits);
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
