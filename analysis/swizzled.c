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

#include <stdlib.h>

#define CHUNK 16
#define NOT_ASKED UINT32_MAX
#define PATTERN_LOG 10 /* the address bits that swizzling looks at, and below */
#define BITS_MOST 18   /* the shared memory of a CTA has no more */

struct chunks { /* by their number, modulo 2^bits / CHUNK */
	struct bits set;	/* no words: not asked */
	uint32_t from, to; /* words outside are empty */
};

struct chunk_sets { /* by bits */
	struct chunks of[BITS_MOST + 1 - PATTERN_LOG];
};

/* Where a generic access is. */
struct footprint {
	struct footprint *next;
	uint32_t insn, touch;
	struct thread_set who;	  /* comes there */
	const struct operand *at; /* the address, */
	uint32_t node;		  /* of the register in it; NONE: there is none */
	struct residues *kept;	  /* of that; NULL: nothing is kept */
	uint32_t assumptions;
	uint32_t bits; /* so many of every thread's are known; NOT_ASKED */
	struct chunk_sets chunks; /* those that some thread touches */
	bool spread, anywhere; /* what follows is known; not, since a thread may be in many places */
	/* of offsets at which threads can be that agree with what is known of them */
	int64_t first, last;
	uint32_t nplaces;
	int64_t *places; /* in order; NULL: not asked, or too many */
};

/* What an async access reads of a matrix; the same for all generic ones. */
struct kstep {
	struct kstep *next;
	uint32_t insn, touch;
	bool known; /* its rows are */
	struct matrix_rows rows;
	struct chunk_sets chunks; /* of those */
	uint32_t met; /* the thread that was found to meet it last; THREADS_MAX: none yet */
};

/* The last thread of the set, or THREADS_MAX. */
static uint32_t last_thread(const struct thread_set *s)
{
	for (uint32_t w = THREADS_MAX / 64; w-- > 0;)
		if (s->w[w])
			return w * 64 + 63 - (uint32_t)__builtin_clzll(s->w[w]);
	return THREADS_MAX;
}

/* The node of a register that is the address as it is, but for a constant behind it; NONE. */
static uint32_t plain_node(const struct values *vs, const struct operand *o)
{
	uint32_t node = NONE;

	if (o->kind == OPERAND_REG && !o->component && !o->negated &&
		vs->fn->regs[o->id].vector <= 1)
		node = o->node;
	return node < vs->nsolved && value_at(vs, node)->base == BASE_SYMBOL ? node : NONE;
}

static const struct touch *touch_of(const struct values *vs, const struct access *a)
{
	return &vs->cfg->effects[a->insn]->touches[a->touch];
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
	if (f->kept && thread_set_has(&f->kept->asked, tid)) {
		r = f->kept->v[tid];
		f->assumptions |= f->kept->assumptions;
	} else {
		r = residue_of_node(vs, g->address.id, tid, f->node, &f->assumptions);
	}
	return residue_modulo(r.value + (uint64_t)operand_offset(vs->fn, f->at), r.bits);
}

/* All threads will be asked about. */
static void fill(struct values *vs, const struct access *g, const struct footprint *f)
{
	if (f->node != NONE)
		residues_fill(vs, g->address.id, f->node, &f->who);
}

static uint32_t bits_of_all(struct values *vs, const struct access *g, struct footprint *f)
{
	uint32_t bits = BITS_MOST;

	fill(vs, g, f);
	for (uint32_t tid = thread_set_next(&f->who, 0); tid < THREADS_MAX && bits >= PATTERN_LOG;
		tid = thread_set_next(&f->who, tid + 1)) {
		struct residue at = address_of(vs, g, f, tid);

		if (at.bits < bits)
			bits = at.bits;
	}
	return bits;
}

static void chunks_add(struct chunks *c, uint64_t address)
{
	uint32_t chunk = (uint32_t)(address / CHUNK) & (c->set.nwords * 64 - 1), word = chunk / 64;

	bits_set(c->set, chunk);
	c->from = word < c->from ? word : c->from;
	c->to = word >= c->to ? word + 1 : c->to;
}

static bool chunks_have(const struct chunks *c, uint64_t address)
{
	return bits_has(c->set, (uint32_t)(address / CHUNK) & (c->set.nwords * 64 - 1));
}

static bool chunks_meet(const struct chunks *x, const struct chunks *y)
{
	uint32_t from = x->from > y->from ? x->from : y->from, to = x->to < y->to ? x->to : y->to;

	for (uint32_t i = from; i < to; i++)
		if (x->set.words[i] & y->set.words[i])
			return true;
	return false;
}

static struct chunks chunks_new(struct values *vs, uint32_t bits)
{
	return (struct chunks){bits_new(vs->arena, (1u << bits) / CHUNK), UINT32_MAX, 0};
}

/* The chunks of threads; so many bits of every thread's are known. */
static const struct chunks *thread_chunks(
	struct values *vs, const struct access *g, struct footprint *f, uint32_t bits)
{
	struct chunks *chunks = &f->chunks.of[bits - PATTERN_LOG];

	if (chunks->set.words)
		return chunks;
	*chunks = chunks_new(vs, bits);
	for (uint32_t tid = thread_set_next(&f->who, 0); tid < THREADS_MAX;
		tid = thread_set_next(&f->who, tid + 1)) {
		uint64_t at = address_of(vs, g, f, tid).value;

		for (uint64_t b = at & ~(uint64_t)(CHUNK - 1); b < at + g->bytes; b += CHUNK)
			chunks_add(chunks, b);
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

static struct kstep *kstep_of(struct values *vs, const struct access *a)
{
	struct kstep **list = &vs->ksteps[a->insn % RESIDUES_LISTS];
	struct matrix_place at = {vs->fn, vs, vs->options, a->insn};

	for (struct kstep *k = *list; k; k = k->next)
		if (k->insn == a->insn && k->touch == a->touch)
			return k;
	struct kstep *k = ARENA_NEW(vs->arena, struct kstep, 1);

	*k = (struct kstep){
		.next = *list, .insn = a->insn, .touch = a->touch, .met = THREADS_MAX};
	k->known = a->pattern && matrix_rows(at, touch_of(vs, a), &k->rows) &&
		   k->rows.start.base == BASE_SYMBOL && k->rows.start.lo >= 0 &&
		   k->rows.start.hi <= INT32_MAX;
	return *list = k;
}

/* So many low bits of where the k-step is are known. */
static uint32_t stage_bits(const struct kstep *k)
{
	uint64_t stride = k->rows.start.stride;
	uint32_t bits = stride ? (uint32_t)__builtin_ctzll(stride) : 64;

	return bits < BITS_MOST ? bits : BITS_MOST;
}

/* The chunks of the matrix; so many bits of where it is are known. */
static const struct chunks *matrix_chunks(struct values *vs, struct kstep *k, uint32_t bits)
{
	const struct matrix_rows *m = &k->rows;
	struct chunks *chunks = &k->chunks.of[bits - PATTERN_LOG];

	if (chunks->set.words)
		return chunks;
	*chunks = chunks_new(vs, bits);
	for (uint32_t row = 0; row < m->rows; row++) {
		uint64_t first = (uint64_t)m->start.lo + (uint64_t)(row / 8) * m->sbo +
				 (uint64_t)(row % 8) * m->row;

		/* swizzling: bits 4 to 6 by bits 7 to 9, as many as a row has chunks */
		for (uint64_t plain = first; plain < first + m->bytes; plain += CHUNK)
			chunks_add(chunks, plain ^ (plain >> 3 & (m->row - CHUNK)));
	}
	return chunks;
}

static bool touches(
	struct values *vs, struct kstep *k, const struct access *g, const struct residue *at)
{
	uint32_t stages = stage_bits(k), bits = at->bits < stages ? at->bits : stages;

	if (bits < PATTERN_LOG)
		return true;
	const struct chunks *chunks = matrix_chunks(vs, k, bits);

	for (uint64_t b = at->value & ~(uint64_t)(CHUNK - 1); b < at->value + g->bytes; b += CHUNK)
		if (chunks_have(chunks, b))
			return true;
	return false;
}

#define LOOKS_FIRST 8 /* threads: mostly one of them meets the matrix, if any does */

static bool thread_meets(struct values *vs, const struct access *g, struct footprint *f,
	struct kstep *k, uint32_t tid)
{
	struct residue address = address_of(vs, g, f, tid);

	return touches(vs, k, g, &address);
}

static bool first_meet(
	struct values *vs, const struct access *g, struct footprint *f, struct kstep *k)
{
	if (k->met < THREADS_MAX && thread_set_has(&f->who, k->met) &&
		thread_meets(vs, g, f, k, k->met))
		return true;
	for (uint32_t tid = thread_set_next(&f->who, 0), n = 0; tid < THREADS_MAX && n < LOOKS_FIRST;
		tid = thread_set_next(&f->who, tid + 1), n++) {
		if (!thread_meets(vs, g, f, k, tid))
			continue;
		k->met = tid;
		return true;
	}
	return false;
}

/* No thread is in the chunks of the matrix. */
static bool all_apart(
	struct values *vs, const struct access *g, struct footprint *f, struct kstep *k)
{
	/* once the bits of all threads are known, looking at some of them is no cheaper */
	if (f->bits == NOT_ASKED) {
		if (first_meet(vs, g, f, k))
			return false;
		f->bits = bits_of_all(vs, g, f);
	}
	uint32_t stages = stage_bits(k), bits = f->bits < stages ? f->bits : stages;

	return bits >= PATTERN_LOG &&
	       !chunks_meet(thread_chunks(vs, g, f, bits), matrix_chunks(vs, k, bits));
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

/* The first place that the async access can begin at and touch bytes at or behind x; may be behind its last. */
static int64_t begin_behind(const struct access *a, int64_t x)
{
	const struct value *v = &a->address;
	int64_t size = (int64_t)a->bytes, step = v->stride ? (int64_t)v->stride : 1;

	return x - size < v->lo ? v->lo : v->lo + (x - size - v->lo) / step * step + step;
}

/* One of the places that it can begin at makes it touch the bytes at x. */
static bool reaches(const struct access *a, int64_t x, int64_t bytes)
{
	int64_t begin = begin_behind(a, x);

	return begin <= a->address.hi && begin < x + bytes;
}

/* Where a thread can be in its access's range: at x and every `period` from there on that agrees with what
 * is known of it; false: in too many places. */
static bool find_place(
	const struct access *g, const struct residue *at, int64_t *x, int64_t *period)
{
	*period = INT64_C(1) << (at->bits < 32 ? at->bits : 32);
	*x = g->address.lo +
	     (int64_t)((at->value - (uint64_t)g->address.lo) & (uint64_t)(*period - 1));
	return (g->address.hi - *x) / *period < PLACES_MOST;
}

static void find_spread(struct values *vs, const struct access *g, struct footprint *f)
{
	int64_t x, period;

	fill(vs, g, f);
	f->spread = true;
	f->first = INT64_MAX;
	f->last = INT64_MIN;
	for (uint32_t tid = thread_set_next(&f->who, 0); tid < THREADS_MAX && !f->anywhere;
		tid = thread_set_next(&f->who, tid + 1)) {
		struct residue address = address_of(vs, g, f, tid);

		f->anywhere = !find_place(g, &address, &x, &period);
		if (f->anywhere || x > g->address.hi)
			continue;
		f->first = x < f->first ? x : f->first;
		f->nplaces += (uint32_t)((g->address.hi - x) / period) + 1;
		x += (g->address.hi - x) / period * period;
		f->last = x > f->last ? x : f->last;
	}
}

/* Kept for so many places of all accesses together. */
#define KEPT_MOST (1u << 19)

static int by_offset(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* As bits, where that takes few words: most places are multiples of the same. Each is there once then. */
static bool sort_as_bits(struct values *vs, struct footprint *f)
{
	uint64_t all = 0;

	for (uint32_t i = 0; i < f->nplaces; i++)
		all |= (uint64_t)(f->places[i] - f->first);
	uint32_t unit = all ? (uint32_t)__builtin_ctzll(all) : 0, n = 0;
	uint64_t last = (uint64_t)(f->last - f->first) >> unit;

	if (last / 64 > f->nplaces)
		return false;
	struct bits there = bits_new(vs->arena, (uint32_t)last + 1);

	for (uint32_t i = 0; i < f->nplaces; i++)
		bits_set(there, (uint32_t)((uint64_t)(f->places[i] - f->first) >> unit));
	for (uint32_t at = bits_next(there, 0); at != NONE; at = bits_next(there, at + 1))
		f->places[n++] = f->first + (int64_t)((uint64_t)at << unit);
	f->nplaces = n;
	ARENA_GIVE_BACK(vs->arena, there.words, there.nwords);
	return true;
}

static void list_places(struct values *vs, const struct access *g, struct footprint *f)
{
	uint32_t n = 0;
	int64_t x, period;

	if (f->places || f->nplaces > KEPT_MOST - vs->nplaces)
		return;
	vs->nplaces += f->nplaces;
	f->places = ARENA_UNSET(vs->arena, int64_t, f->nplaces);
	for (uint32_t tid = thread_set_next(&f->who, 0); tid < THREADS_MAX;
		tid = thread_set_next(&f->who, tid + 1)) {
		struct residue address = address_of(vs, g, f, tid);

		find_place(g, &address, &x, &period);
		for (; x <= g->address.hi; x += period)
			f->places[n++] = x;
	}
	if (!sort_as_bits(vs, f))
		qsort(f->places, n, sizeof(*f->places), by_offset);
}

/* In order of offsets: from one to where the access can begin behind it, and on to the first one there. */
static bool place_reaches(const struct footprint *f, int64_t bytes, const struct access *a)
{
	for (uint32_t i = 0; i < f->nplaces;) {
		int64_t begin = begin_behind(a, f->places[i]);
		uint32_t lo = i, hi = f->nplaces;

		if (begin > a->address.hi)
			return false;
		if (begin < f->places[i] + bytes)
			return true;
		while (hi - lo > 1) {
			uint32_t mid = lo + (hi - lo) / 2;

			if (f->places[mid] + bytes <= begin)
				lo = mid;
			else
				hi = mid;
		}
		i = hi;
	}
	return false;
}

/* The thread is where the async access can be, or in too many places. */
static bool one_reaches(struct values *vs, const struct access *g, struct footprint *f,
	const struct access *a, uint32_t tid)
{
	struct residue address = address_of(vs, g, f, tid);
	int64_t x, period;

	if (!find_place(g, &address, &x, &period))
		return true;
	for (; x <= g->address.hi; x += period)
		if (reaches(a, x, (int64_t)g->bytes))
			return true;
	return false;
}

static bool any_reaches(
	struct values *vs, const struct access *g, struct footprint *f, const struct access *a)
{
	for (uint32_t tid = thread_set_next(&f->who, 0); tid < THREADS_MAX;
		tid = thread_set_next(&f->who, tid + 1))
		if (one_reaches(vs, g, f, a, tid))
			return true;
	return false;
}

/* Mostly one of these is at that edge of the range, if any thread is. */
static bool outermost_reach(
	struct values *vs, const struct access *g, struct footprint *f, const struct access *a)
{
	uint32_t first = thread_set_next(&f->who, 0), last = last_thread(&f->who);

	return first < THREADS_MAX && (one_reaches(vs, g, f, a, first) ||
					      one_reaches(vs, g, f, a, last));
}

static bool some_reach(
	struct values *vs, const struct access *g, struct footprint *f, const struct access *a)
{
	int64_t bytes = (int64_t)g->bytes;

	if (!f->spread && outermost_reach(vs, g, f, a))
		return true;
	if (!f->spread)
		find_spread(vs, g, f);
	if (f->anywhere)
		return true;
	/* at most what lies between the outermost places is touched, and certainly both of these */
	if (f->first > f->last || !reaches(a, f->first, f->last + bytes - f->first))
		return false;
	if (reaches(a, f->first, bytes) || reaches(a, f->last, bytes))
		return true;
	list_places(vs, g, f);
	return f->places ? place_reaches(f, bytes, a) : any_reaches(vs, g, f, a);
}

bool swizzled_apart(const struct values *values, const struct access *g, const struct access *a,
	uint32_t *assumptions)
{
	struct values *vs = (struct values *)(uintptr_t)values;
	const struct value *v = &g->address;
	bool assumed, rows, edge;

	if (!g->pattern || v->base != BASE_SYMBOL || !threads_numbered(vs, &assumed))
		return false;
	struct kstep *k = kstep_of(vs, a);

	rows = k->known && k->rows.start.id == v->id;
	edge = !rows && a->address.base == BASE_SYMBOL && a->address.id == v->id &&
	       meets_at_edge(g, a);
	if (!rows && !edge)
		return false;
	struct footprint *f = footprint_of(vs, g);

	if (rows ? !all_apart(vs, g, f, k) : some_reach(vs, g, f, a))
		return false;
	*assumptions |= f->assumptions |
			(rows ? k->rows.start.assumptions | k->rows.assumptions
			      : g->address.assumptions | a->address.assumptions);
	if (assumed)
		*assumptions |= ASSUME_FLAT_BLOCK;
	return true;
}
