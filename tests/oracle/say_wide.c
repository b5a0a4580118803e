/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Statements of whole warps and warpgroups, of tensor maps and of clusters. Each reads or writes
 * bytes that its text does not spell out: the rows of a matrix, the tile of a descriptor, the box
 * of a map, the same offset in another CTA.
 */
#include "say.h"

/* ---- stmatrix, ldmatrix ---- */

static struct place place_rows(struct maker *m)
{
	struct place p = place_small(m, 16);
	p.by_tid = 0;
	p.at_edge = false;
	p.by_lane = p.swizzle ? 0 : 16;
	p.shape = SHAPE_ROWS;
	p.peer = false;
	if (!p.by_warp && !p.by_stage && !p.ring && !p.swizzle)
		p.base = 512 * below(m, 2);
	return p;
}

void put_matrix_write(struct maker *m)
{
	struct place to = place_rows(m);
	char at[48];
	address(m, &to, false, at, sizeof(at));
	struct step *s = put(m,
		"\tstmatrix.sync.aligned.m8n8.x4.shared.b16 %s, {%%one, %%one, %%one, %%one};", at);
	s->op = OP_WRITE;
	s->to = to;
	s->features |= bit(FEATURE_MATRIX);
}

void put_matrix_read(struct maker *m)
{
	struct place from = place_rows(m);
	char at[48];
	int v = below(m, NVALUES);
	address(m, &from, false, at, sizeof(at));
	struct step *s = put(m,
		"\tldmatrix.sync.aligned.m8n8.x4.shared.b16 {%%v%d, %%m0, %%m1, %%m2}, %s;", v, at);
	s->op = OP_READ;
	s->to = from;
	s->value = v;
	s->features |= bit(FEATURE_MATRIX);
}

/* ---- wgmma ---- */

bool can_wgmma(const struct maker *m, const struct who *who)
{
	return m->group && who->whole_warps && who->warps == 0xf && !m->in_callee;
}

/* Where a descriptor starts and what it spans: B, 8 or 16 columns of 16 elements of 2 bytes. */
static struct place place_descriptor(struct maker *m)
{
	static const int rows[] = {128, 64, 32};
	struct place p = {.var = chance(m, 30), .size = 256, .groups = 1 + below(m, 2)};
	if (chance(m, m->swizzles ? 15 : 60)) {
		p.shape = SHAPE_CORES;
		p.lead = chance(m, 60) ? 128 : 256;
		p.apart = chance(m, 50) ? 512 : 128 + p.lead;
	} else {
		p.shape = SHAPE_SWIZZLE;
		p.lead = rows[below(m, 3)];
		p.apart = chance(m, 50) ? 8 * p.lead : 1024;
	}
	if (m->stages.nregs && (p.shape == SHAPE_CORES || m->stages.stride % 1024 == 0) && chance(m, 80)) {
		p.var = m->stages.var;
		p.ring = 1 + m->stages.regs[below(m, m->stages.nregs)];
		p.by_ring = m->stages.stride;
	} else if (m->depth && chance(m, 40) && (p.shape == SHAPE_CORES || p.lead < 128)) {
		p.by_stage = 512;
		p.depth = below(m, m->depth);
	} else if (p.shape == SHAPE_CORES) {
		p.base = 512 * below(m, 2);
	} else { /* swizzled tiles start where the pattern does, in whichever chunk */
		p.base = 32 * below(m, p.lead / 32) + 1024 * below(m, m->swizzles ? 3 : 2);
	}
	return p;
}

/* The result is the register that holds it. */
static int put_descriptor(struct maker *m, const struct place *p)
{
	static const uint64_t modes[] = {0, 3, 2, 2, 1};
	uint64_t high = (uint64_t)(p->apart >> 4) << 32;
	if (p->shape == SHAPE_SWIZZLE)
		high |= modes[p->lead / 32] << 62 | UINT64_C(1) << 16;
	else
		high |= (uint64_t)(p->lead >> 4) << 16;
	char at[48];
	struct place start = *p;
	int base = start.base, r, d = temp(m);
	start.base = 0;
	do
		r = address(m, &start, false, at, sizeof(at));
	while (r == NONE);
	if (base)
		put(m, "\tadd.u32 %%r%d, %%r%d, %d;", r, r, base);
	if (chance(m, 30)) {
		put(m, "\tbfe.u32 %%r%d, %%r%d, 4, 14;", r, r);
		put(m, "\tor.b32 %%r%d, %%r%d, %u;", r, r, (unsigned)(high & 0xffffffffu));
		put(m, "\tmov.u32 %%r%d, %u;", d, (unsigned)(high >> 32));
		put(m, "\tmov.b64 %%d%d, {%%r%d, %%r%d};", d, r, d);
		return d;
	}
	put(m, "\tand.b32 %%r%d, %%r%d, 262143;", r, r);
	put(m, "\tshr.u32 %%r%d, %%r%d, 4;", r, r);
	put(m, "\tcvt.u64.u32 %%d%d, %%r%d;", d, r);
	put(m, "\tor.b64 %%d%d, %%d%d, %llu;", d, d, (unsigned long long)high);
	return d;
}

/* 64 rows of 16 elements: a part of each swizzled one, or 16 blocks of 128 bytes. */
static struct place place_a(struct maker *m)
{
	static const int rows[] = {128, 128, 64, 32};
	int row = rows[below(m, 4)];
	if (m->swizzles && chance(m, 80))
		return (struct place){.var = chance(m, 30), .shape = SHAPE_SWIZZLE, .size = 256,
			.lead = row, .groups = 8, .apart = 8 * row,
			.base = 32 * below(m, row / 32) + 1024 * below(m, 3)};
	return (struct place){.var = VAR_OTHER, .size = 2048};
}

void put_wgmma(struct maker *m)
{
	struct place b = place_descriptor(m), a = {.size = 0};
	bool a_shared = chance(m, m->swizzles ? 60 : 30);
	int db = put_descriptor(m, &b), da = NONE;
	if (a_shared) {
		a = place_a(m);
		da = a.shape == SHAPE_SWIZZLE ? put_descriptor(m, &a) : NONE;
	}
	if (a_shared && da == NONE) {
		da = temp(m);
		put(m, "\tmov.u32 %%r%d, other;", da);
		put(m, "\tand.b32 %%r%d, %%r%d, 262143;", da, da);
		put(m, "\tshr.u32 %%r%d, %%r%d, 4;", da, da);
		put(m, "\tcvt.u64.u32 %%d%d, %%r%d;", da, da);
		put(m, "\tor.b64 %%d%d, %%d%d, %llu;", da, da,
			(unsigned long long)(UINT64_C(8) << 16 | UINT64_C(16) << 32));
	}
	put(m, "\twgmma.fence.sync.aligned;");
	const char *more = b.groups == 2 ? ", %f4, %f5, %f6, %f7" : "";
	int columns = 8 * b.groups, trans = b.shape == SHAPE_CORES && chance(m, 30);
	bool from_loads = !a_shared && chance(m, 50);
	struct step *s =
		a_shared ? put(m,
				   "\twgmma.mma_async.sync.aligned.m64n%dk16.f32.f16.f16 "
				   "{%%f0, %%f1, %%f2, %%f3%s}, %%d%d, %%d%d, 1, 1, 1, 0, %d;",
				   columns, more, da, db, trans)
			 : put(m,
				   "\twgmma.mma_async.sync.aligned.m64n%dk16.f32.f16.f16 "
				   "{%%f0, %%f1, %%f2, %%f3%s}, {%s}, %%d%d, 1, 1, 1, %d;",
				   columns, more,
				   from_loads ? "%v0, %v1, %v2, %v3" : "%one, %one, %one, %one", db,
				   trans);
	s->value = from_loads ? (1 << NVALUES) - 1 : 0;
	s->op = OP_MATMUL;
	s->to = b;
	s->from = a;
	s->features |= bit(FEATURE_WGMMA);
	put(m, "\twgmma.commit_group.sync.aligned;");
	if (chance(m, 70))
		put(m, "\twgmma.wait_group.sync.aligned 0;");
}

/* ---- tensor copies: boxes of 256 bytes ---- */

static struct place place_box(struct maker *m)
{
	if (m->stages.nregs && m->stages.stride >= 256 && chance(m, 85))
		return (struct place){.var = m->stages.var, .size = 256, .ring = 1 + m->stages.regs[0],
			.by_ring = m->stages.stride};
	struct place p = {.var = chance(m, 30), .size = 256};
	if (m->depth && chance(m, 50)) {
		p.by_stage = 512;
		p.depth = below(m, m->depth);
	} else {
		p.base = 256 * below(m, 4);
	}
	return p;
}

void put_tensor_store(struct maker *m, struct cond c)
{
	struct place from = place_box(m);
	char guard[32], at[48];
	address(m, &from, false, at, sizeof(at));
	cond_name(m, c, guard, sizeof(guard));
	struct step *s = put(m,
		"\t%scp.async.bulk.tensor.1d.global.shared::cta.tile.bulk_group [%%map, {%%one}], "
		"%s;",
		guard, at);
	s->op = OP_BULK_STORE;
	s->guard = c;
	s->to = from;
	s->from = (struct place){.var = VAR_MAP, .size = 256};
	s->features |= bit(FEATURE_TENSOR);
	put(m, "\t%scp.async.bulk.commit_group;", guard);
	put(m, "\t%scp.async.bulk.wait_group.read 0;", guard);
}

void put_tensor_load(struct maker *m, struct cond c)
{
	struct place to = place_box(m);
	char guard[32], at[48];
	address(m, &to, false, at, sizeof(at));
	cond_name(m, c, guard, sizeof(guard));
	put(m, "\t%smbarrier.arrive.expect_tx.shared.b64 _, [bars+%d], 256;", guard, 8 * MB_SHOT);
	struct step *s = put(m,
		"\t%scp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::"
		"bytes "
		"%s, [%%map, {%%one}], [bars+%d];",
		guard, at, 8 * MB_SHOT);
	s->op = OP_BULK_LOAD;
	s->guard = c;
	s->to = to;
	s->from = (struct place){.var = VAR_MAP, .size = 256};
	s->features |= bit(FEATURE_TENSOR);
}

/* ---- clusters ---- */

/* Writes the same offset of both CTAs. */
void put_multicast(struct maker *m, struct cond c)
{
	static const char *const masks[] = {"", "%both", "1", "2", "%self", "%other"};
	struct place to = place_bulk(m), from = place_global(m, to.size);
	char guard[32], at[48];
	to.mask = chance(m, 50) ? MASK_BOTH : MASK_ZERO + below(m, 4);
	if (chance(m, 30))
		to.by_rank = to.size;
	if (to.mask == MASK_ZERO || to.mask == MASK_ONE) {
		/* who sends is one of those who get it, or only the strict rules count */
		bool member = chance(m, 85);
		c = on(PRED_RANK0);
		c.negated = (to.mask == MASK_ONE) == member;
		m->p->races |= !member;
	}
	address(m, &to, false, at, sizeof(at));
	cond_name(m, c, guard, sizeof(guard));
	struct step *s = put(m,
		"\t%scp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
		".multicast::cluster %s, [%%in+%d], %d, [bars+%d], %s;",
		guard, at, from.base, to.size, 8 * MB_SHOT, masks[to.mask]);
	s->op = OP_BULK_LOAD;
	s->guard = c;
	s->to = to;
	s->from = from;
	s->features |= bit(FEATURE_MULTICAST) | (to.mask != MASK_BOTH ? bit(FEATURE_MASK) : 0);
}

/* From the own CTA's memory to the other's. */
void put_peer_copy(struct maker *m, struct cond c)
{
	struct place to = place_bulk(m), from = place_bulk(m);
	struct step mb = {.barrier = MB_SHOT, .peer = true};
	char guard[32], at[48], source[48], bar[48];
	to.size = from.size = to.size < from.size ? to.size : from.size;
	to.peer = true;
	address(m, &to, false, at, sizeof(at));
	address(m, &from, false, source, sizeof(source));
	mb_address(m, &mb, bar, sizeof(bar));
	cond_name(m, c, guard, sizeof(guard));
	struct step *s = put(m,
		"\t%scp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes %s, "
		"%s, %d, %s;",
		guard, at, source, to.size, bar);
	s->op = OP_BULK_LOAD;
	s->guard = c;
	s->to = to;
	s->from = from;
	s->features |= bit(FEATURE_PEER_COPY);
}
