/* SPDX-License-Identifier: Apache-2.0 */
/* Where a statement of a random program reads or writes, and the text of the address. */
#include "say.h"

static int some_var(struct maker *m)
{
	if (m->in_callee)
		return chance(m, 20) ? VAR_POOL : VAR_ARG;
	return m->keep_pool && chance(m, 15) ? VAR_POOL : chance(m, 30);
}

/* Of a stage, mostly inside it. */
static struct place place_stage(struct maker *m, int size)
{
	const struct stages *r = &m->stages;
	struct place p = {.var = r->var, .size = size, .ring = 1 + r->regs[below(m, r->nregs)],
		.by_ring = r->stride};
	int room = r->stride - size + (chance(m, 6) ? 256 : 0);
	if (size == 4 && chance(m, 40))
		p.by_tid = 4;
	else if (size < 64 && chance(m, 30))
		p.by_warp = r->stride / 4;
	else if (room > 0)
		p.base = 16 * below(m, room / 16 + 1);
	return p;
}

/* A row of its own for each thread or for several, and in it a chunk that its number is mixed into. */
static struct place place_rows_of(struct maker *m, int size)
{
	static const int rows[] = {128, 128, 128, 64, 32};
	struct place p = {.var = chance(m, 30), .size = size, .swizzle = rows[below(m, 5)]};
	int chunks = p.swizzle / 16;
	p.per = 1 << below(m, __builtin_ctz((unsigned)chunks) + 1);
	p.apart_by = chance(m, 70) ? chunks / p.per : 1;
	p.chunk = below(m, chunks - (p.per - 1) * p.apart_by);
	p.base = chance(m, 85) ? 1024 * below(m, 3) : 128 * below(m, 9);
	p.base += size < 16 && chance(m, 30) ? size * below(m, 16 / size) : 0;
	return p;
}

/* Ends where a bulk access may begin, 16 bytes before that, or a word behind, in some thread. */
static struct place place_edge(struct maker *m, int size)
{
	static const int steps[] = {4, 8, 16, 20, -4, -16, 36};
	struct place p = {.var = VAR_TILE, .size = size, .at_edge = true};
	int warp = below(m, m->p->warps), tid = 32 * warp + (chance(m, 50) ? m->p->lane : 0);
	int edge = 9216 + 256 * below(m, 2);
	p.by_tid = steps[below(m, 7)];
	p.threads_from = tid;
	p.base = chance(m, 50) ? edge - size + (size == 4 ? 4 : 16) * below(m, 2)
			       : edge + 256 - (size == 4 ? 4 : 16) * below(m, 2);
	if (size == 16)
		p.by_tid = p.by_tid < 0 ? -16 : 16 << below(m, 2);
	m->edge = chance(m, 70) ? tid + below(m, 2) : 0;
	return p;
}

struct place place_small(struct maker *m, int size)
{
	m->edge = 0;
	if (m->stages.nregs && chance(m, 75))
		return place_stage(m, size);
	if (m->swizzles && !m->in_callee && chance(m, 60))
		return place_rows_of(m, size);
	if (m->edges && !m->in_callee && chance(m, 60))
		return place_edge(m, size);
	struct place p = {.var = some_var(m), .size = size};
	p.peer = m->cluster && !m->in_callee && chance(m, m->peer_odds);
	if (m->cluster && !m->in_callee && !p.peer && size == 4 && chance(m, 15))
		p.mapped = MAPPED_SELF + below(m, 3);
	if (m->cluster && !m->in_callee && chance(m, 10))
		p.by_rank = 256;
	switch (below(m, m->depth ? 4 : 3)) {
	case 0:
		p.base = 16 * below(m, 60);
		break;
	case 1:
		p.base = 512 * below(m, 2);
		p.by_tid = size > 4 ? 0 : 4;
		p.mix = p.by_tid && chance(m, 20) ? 16 << below(m, 4) : 0;
		break;
	case 2:
		p.base = 16 * below(m, 8);
		p.by_warp = 256;
		break;
	case 3:
		p.by_stage = 512;
		p.by_tid = size > 4 ? 0 : 4;
		p.depth = below(m, m->depth);
		break;
	}
	return p;
}

struct place place_bulk(struct maker *m)
{
	static const int sizes[] = {16, 256, 512, 1024};
	if (m->stages.nregs && chance(m, 85)) {
		int size = sizes[below(m, 4)];
		return place_stage(m, size <= m->stages.stride || chance(m, 8) ? size : m->stages.stride);
	}
	if (m->edges && !m->in_callee && chance(m, 70))
		return (struct place){.base = 9216 + 256 * below(m, 2), .size = 256};
	if (m->swizzles && !m->in_callee && chance(m, 40))
		return (struct place){.var = chance(m, 30), .base = 1024 * below(m, 3) + 128 * below(m, 8),
			.size = chance(m, 50) ? 1024 : 32 << below(m, 3)};
	struct place p = {.var = some_var(m), .size = sizes[below(m, 4)]};
	if (m->depth && p.size <= 512 && below(m, 2) == 0) {
		p.by_stage = 512;
		p.depth = below(m, m->depth);
	} else {
		p.base = p.size == 16 ? 16 * below(m, 60) : p.size * below(m, 1024 / p.size);
	}
	return p;
}

struct place place_global(struct maker *m, int size)
{
	return (struct place){.var = VAR_GLOBAL, .base = 256 * below(m, 4), .size = size};
}

static const char *const var_names[] = {"tile", "other", "pool", "%in", "%map", "%arg"};

/* x ^ (x >> 3 & mask) of an offset, or row and chunk by themselves. */
static void add_rows(struct maker *m, const struct place *p, int r)
{
	int t = temp(m), x = temp(m), c = temp(m), mask = p->swizzle - 16;
	int per = __builtin_ctz((unsigned)p->per), rows = __builtin_ctz((unsigned)p->swizzle);
	put(m, per ? "\tshr.u32 %%r%d, %%thread, %d;" : "\tmov.u32 %%r%d, %%thread; // >> %d", t, per);
	put(m, "\tand.b32 %%r%d, %%thread, %d;", c, p->per - 1);
	if (p->apart_by > 1)
		put(m, "\tmul.lo.u32 %%r%d, %%r%d, %d;", c, c, p->apart_by);
	if (p->chunk)
		put(m, "\tadd.u32 %%r%d, %%r%d, %d;", c, c, p->chunk);
	int k = below(m, 4);
	if (k == 3) { /* the chunk is mixed by itself */
		int lower = 7 - rows;
		put(m, "\tshr.u32 %%r%d, %%r%d, %d;", x, t, lower);
		put(m, "\tand.b32 %%r%d, %%r%d, %d;", x, x, mask >> 4);
		put(m, "\txor.b32 %%r%d, %%r%d, %%r%d;", c, c, x);
		put(m, "\tshl.b32 %%r%d, %%r%d, 4;", c, c);
		put(m, "\tmad.lo.u32 %%r%d, %%r%d, %d, %%r%d;", t, t, p->swizzle, c);
		put(m, "\tadd.u32 %%r%d, %%r%d, %%r%d;", r, r, t);
		return;
	}
	put(m, "\tshl.b32 %%r%d, %%r%d, %d;", t, t, rows);
	put(m, "\tshl.b32 %%r%d, %%r%d, 4;", c, c);
	put(m, below(m, 2) ? "\tadd.u32 %%r%d, %%r%d, %%r%d;" : "\tor.b32 %%r%d, %%r%d, %%r%d;", t, t, c);
	if (k == 0) {
		put(m, "\tshr.u32 %%r%d, %%r%d, 3;", x, t);
		put(m, "\tlop3.b32 %%r%d, %%r%d, %%r%d, %d, 0x78;", t, t, x, mask);
	} else if (k == 1) {
		put(m, "\tbfe.u32 %%r%d, %%r%d, 7, %d;", x, t, rows - 4);
		put(m, "\tshl.b32 %%r%d, %%r%d, 4;", x, x);
		put(m, "\txor.b32 %%r%d, %%r%d, %%r%d;", t, t, x);
	} else {
		put(m, "\tshr.u32 %%r%d, %%r%d, 3;", x, t);
		put(m, "\tand.b32 %%r%d, %%r%d, %d;", x, x, mask);
		put(m, "\txor.b32 %%r%d, %%r%d, %%r%d;", t, t, x);
	}
	put(m, "\tadd.u32 %%r%d, %%r%d, %%r%d;", r, r, t);
}

/* The same offsets in several spellings. */
static void add_thread(struct maker *m, const struct place *p, int r)
{
	int t = temp(m);
	if (p->at_edge) {
		int from = -p->by_tid * p->threads_from;
		if (below(m, 2))
			put(m, "\tsub.s32 %%r%d, %%thread, %d;", t, p->threads_from);
		else
			put(m, "\tadd.s32 %%r%d, %%thread, %d;", t, -p->threads_from);
		if (below(m, 2)) {
			put(m, "\tmad.lo.s32 %%r%d, %%r%d, %d, %%r%d;", r, t, p->by_tid, r);
			return;
		}
		put(m, "\tmad.lo.s32 %%r%d, %%thread, %d, %%r%d;", r, p->by_tid, r);
		put(m, "\tadd.s32 %%r%d, %%r%d, %d;", r, r, from);
		return;
	}
	if (p->mix || below(m, 3) == 0) {
		put(m, "\tshl.b32 %%r%d, %%thread, 2;", t);
		if (p->mix)
			put(m, "\txor.b32 %%r%d, %%r%d, %d;", t, t, p->mix);
		put(m, "\tadd.u32 %%r%d, %%r%d, %%r%d;", r, r, t);
	} else {
		put(m, "\tmad.lo.u32 %%r%d, %%thread, %d, %%r%d;", r, p->by_tid, r);
	}
}

static void add_warp(struct maker *m, const struct place *p, int r)
{
	int t = temp(m);
	if (below(m, 3) == 0) {
		put(m, "\tand.b32 %%r%d, %%thread, -32;", t);
		put(m, "\tmad.lo.u32 %%r%d, %%r%d, %d, %%r%d;", r, t, p->by_warp / 32, r);
	} else {
		put(m, "\tmad.lo.u32 %%r%d, %%warp, %d, %%r%d;", r, p->by_warp, r);
	}
}

static void add_stage(struct maker *m, const struct place *p, int r)
{
	int t = temp(m), q;
	switch (below(m, 5)) {
	case 0:
		put(m, "\trem.u32 %%r%d, %%i%d, 2;", t, p->depth);
		break;
	case 1:
		put(m, "\tshl.b32 %%r%d, %%i%d, 9;", t, p->depth);
		put(m, "\tand.b32 %%r%d, %%r%d, %d;", t, t, p->by_stage);
		put(m, "\tadd.u32 %%r%d, %%r%d, %%r%d;", r, r, t);
		return;
	case 2:
		q = temp(m);
		put(m, "\tand.b32 %%r%d, %%i%d, 1;", t, p->depth);
		put(m, "\tsetp.ne.u32 %%q%d, %%r%d, 0;", q, t);
		put(m, "\tselp.b32 %%r%d, %d, 0, %%q%d;", t, p->by_stage, q);
		put(m, "\tadd.u32 %%r%d, %%r%d, %%r%d;", r, r, t);
		return;
	default:
		put(m, "\tand.b32 %%r%d, %%i%d, 1;", t, p->depth);
		break;
	}
	put(m, "\tmad.lo.u32 %%r%d, %%r%d, %d, %%r%d;", r, t, p->by_stage, r);
}

static void add_ring(struct maker *m, const struct place *p, int r)
{
	int t = temp(m), s = p->ring - 1, k = p->by_ring & (p->by_ring - 1) ? 0 : below(m, 3);
	if (k == 0) {
		put(m, "\tmad.lo.u32 %%r%d, %%s%d, %d, %%r%d;", r, s, p->by_ring, r);
		return;
	}
	if (k == 1)
		put(m, "\tshl.b32 %%r%d, %%s%d, %d;", t, s, __builtin_ctz((unsigned)p->by_ring));
	else
		put(m, "\tmul.lo.u32 %%r%d, %%s%d, %d;", t, s, p->by_ring);
	put(m, "\tadd.u32 %%r%d, %%r%d, %%r%d;", r, t, r);
}

static bool is_simple(const struct place *p)
{
	return !p->by_tid && !p->swizzle && !p->by_warp && !p->by_lane && !p->by_stage && !p->ring && !p->peer && !p->by_rank &&
	       p->mapped == MAPPED_NOT;
}

int address(struct maker *m, const struct place *p, bool generic, char *out, size_t size)
{
	static const char *const ranks[] = {"", "%rank", "0", "1"};
	const char *var = var_names[p->var];
	if (p->var == VAR_GLOBAL || (is_simple(p) && !generic && below(m, 2))) {
		snprintf(out, size, "[%s+%d]", var, p->base);
		return NONE;
	}
	int r = temp(m);
	put(m, "\tmov.u32 %%r%d, %s;", r, var);
	if (p->by_tid)
		add_thread(m, p, r);
	if (p->by_warp)
		add_warp(m, p, r);
	if (p->swizzle)
		add_rows(m, p, r);
	if (p->by_lane)
		put(m, "\tmad.lo.u32 %%r%d, %%lane, %d, %%r%d;", r, p->by_lane, r);
	if (p->by_stage)
		add_stage(m, p, r);
	if (p->ring)
		add_ring(m, p, r);
	if (p->by_rank)
		put(m, "\tmad.lo.u32 %%r%d, %%rank, %d, %%r%d;", r, p->by_rank, r);
	if (p->mapped && !generic)
		put(m, "\tmapa.shared::cluster.u32 %%r%d, %%r%d, %s;", r, r, ranks[p->mapped]);
	if (p->peer && !generic)
		put(m, "\tmapa.shared::cluster.u32 %%r%d, %%r%d, %%peer;", r, r);
	if (!generic) {
		snprintf(out, size, "[%%r%d+%d]", r, p->base);
		return r;
	}
	put(m, "\tcvt.u64.u32 %%d%d, %%r%d;", r, r);
	put(m, "\tcvta.shared.u64 %%d%d, %%d%d;", r, r);
	if (p->mapped)
		put(m, "\tmapa.u64 %%d%d, %%d%d, %s;", r, r, ranks[p->mapped]);
	if (p->peer)
		put(m, "\tmapa.u64 %%d%d, %%d%d, %%peer;", r, r);
	snprintf(out, size, "[%%d%d+%d]", r, p->base);
	return r;
}

const char *space_of(const struct place *p, bool generic)
{
	return generic ? "" : p->peer || p->mapped ? ".shared::cluster" : ".shared";
}

void mb_address(struct maker *m, const struct step *s, char *out, size_t size)
{
	const char *bars = m->in_callee ? "%bars" : "bars";
	if (!s->peer && !s->by_stage && !s->ring && !s->by_set && !s->by_other) {
		snprintf(out, size, "[%s+%d]", bars, 8 * s->barrier);
		return;
	}
	int r = temp(m);
	put(m, "\tmov.u32 %%r%d, %s;", r, bars);
	if (s->by_stage) {
		int t = temp(m);
		put(m, "\tand.b32 %%r%d, %%i%d, 1;", t, s->depth);
		put(m, "\tmad.lo.u32 %%r%d, %%r%d, 8, %%r%d;", r, t, r);
	}
	if (s->ring) {
		struct place p = {.ring = s->ring, .by_ring = 8};
		add_ring(m, &p, r);
	}
	if (s->by_set)
		put(m, "\tmad.lo.u32 %%r%d, %%set, 8, %%r%d;", r, r);
	if (s->by_other) {
		int t = temp(m);
		put(m, "\txor.b32 %%r%d, %%set, 1;", t);
		put(m, "\tmad.lo.u32 %%r%d, %%r%d, 8, %%r%d;", r, t, r);
	}
	if (s->peer)
		put(m, "\tmapa.shared::cluster.u32 %%r%d, %%r%d, %%peer;", r, r);
	snprintf(out, size, "[%%r%d+%d]", r, 8 * s->barrier);
}
