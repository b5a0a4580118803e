/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random programs: kernels of one to three warps that write and read shared and global memory,
 * copy in bulk, and hand over through barriers of every kind. They are built so that every
 * barrier is met by the threads that it counts; what varies is who does what, at which bytes,
 * and which fences stand where. The same seed gives the same program.
 */
#include "say.h"

#include <stdlib.h>
#include <string.h>

/* Lines that program_print() puts in front of the first line of a program. */
enum { HEAD_LINES = 11, CLUSTER_BARRIER = 15 };

/* Which threads run the code that is being made. */
struct who {
	int warps;
	bool whole_warps, all, in_loop;
	bool alone; /* all other warps have left the kernel */
};

static void make_body(struct maker *m, const struct who *who, int n);

static void maybe_fence(struct maker *m)
{
	if (chance(m, m->fence_odds))
		put_fence(m, chance(m, 10) ? some_guard(m) : always());
}

static void put_sync(struct maker *m, int id, int warps, bool wait)
{
	int count = 0;
	for (int w = 0; w < MAX_WARPS; w++)
		count += warps >> w & 1 ? 32 : 0;
	struct step *s;
	int r = id > 0 && chance(m, 20) ? temp(m) : -1;
	if (r >= 0)
		put(m, "\tmov.u32 %%r%d, %d;", r, id);
	if (r >= 0)
		s = put(m, "\tbar.%s %%r%d, %d;", wait ? "sync" : "arrive", r, count);
	else if (!wait)
		s = put(m, "\tbar.arrive %d, %d;", id, count);
	else if (id == 0 && below(m, 2))
		s = put(m, "\t%s 0;", below(m, 3) ? "bar.sync" : "barrier.sync.aligned");
	else
		s = put(m, "\tbar.sync %d, %d;", id, count);
	s->op = wait ? OP_SYNC : OP_ARRIVE;
	s->barrier = id;
	s->warps = warps;
}

static int all_warps(const struct maker *m)
{
	return (1 << m->p->warps) - 1;
}

/* All threads of the only CTA; what stands between the halves is not handed over. */
static void put_cluster_barrier(struct maker *m, const struct who *who)
{
	struct step *s =
		put(m, "\tbarrier.cluster.arrive%s.aligned;", below(m, 2) ? ".release" : "");
	s->op = OP_ARRIVE;
	s->barrier = CLUSTER_BARRIER;
	s->warps = all_warps(m);
	if (chance(m, 30))
		make_body(m, &(struct who){.warps = who->warps}, 1);
	s = put(m, "\tbarrier.cluster.wait%s.aligned;", below(m, 2) ? ".acquire" : "");
	s->op = OP_WAIT;
	s->barrier = CLUSTER_BARRIER;
}

/* A barrier of exactly the threads that run this code. */
static void put_barrier(struct maker *m, const struct who *who)
{
	if (who->all && chance(m, 6))
		put_cluster_barrier(m, who);
	else if (who->all)
		put_sync(m, 0, all_warps(m), true);
	else if (who->whole_warps && who->alone && chance(m, 50))
		put(m, "\tbar.sync 0;")->op =
			OP_SYNC; /* the others have left: they count no more */
	else if (who->whole_warps && who->warps != 0)
		put_sync(m, 1 + who->warps, who->warps, true);
	else
		maybe_fence(m);
	if (who->whole_warps && chance(m, 10))
		put(m, "\tbar.warp.sync -1;")->op = OP_WARP_SYNC;
}

static void put_mb_arrive(struct maker *m, int mbarrier)
{
	struct step *s = put(m, "\tmbarrier.arrive.shared.b64 _, [bars+%d];", 8 * mbarrier);
	s->op = OP_MB_ARRIVE;
	s->barrier = mbarrier;
}

static void put_mb_wait(struct maker *m, int mbarrier, enum parity parity, int depth)
{
	char text[24];
	int l = label(m), q = temp(m);
	switch (parity) {
	case PARITY_ZERO:
	case PARITY_ONE:
		snprintf(text, sizeof(text), "%d", parity == PARITY_ONE);
		break;
	case PARITY_PHASE:
		snprintf(text, sizeof(text), "%s", "%phase");
		break;
	case PARITY_LOOP:
	case PARITY_LOOP_OTHER:
		put(m, "\tand.b32 %%r%d, %%i%d, 1;", q, depth);
		if (parity == PARITY_LOOP_OTHER)
			put(m, "\txor.b32 %%r%d, %%r%d, 1;", q, q);
		snprintf(text, sizeof(text), "%%r%d", q);
		break;
	}
	put_label(m, l);
	struct step *s = put(m, "\tmbarrier.try_wait.parity.shared.b64 %%q%d, [bars+%d], %s;", q,
		8 * mbarrier, text);
	s->op = OP_MB_WAIT;
	s->barrier = mbarrier;
	s->parity = parity;
	s->depth = depth;
	put(m, "\t@!%%q%d bra L%d;", q, l);
}

/* ---- compound statements ---- */

static void make_if(struct maker *m, const struct who *who)
{
	struct cond c = chance(m, 15) ? (struct cond){COND_DATA, below(m, NVALUES), 0, false}
				      : some_guard(m);
	struct who inner = *who, other = *who;
	bool warp_level = c.kind != COND_DATA && (c.kind != COND_PRED || c.a >= PRED_WARP0);
	if (!warp_level)
		inner.whole_warps = other.whole_warps = inner.all = other.all = false;
	if (c.kind == COND_PRED && (c.a == PRED_WARP0 || c.a == PRED_OTHERS)) {
		bool first = (c.a == PRED_WARP0) != c.negated;
		inner.warps &= first ? 1 : ~1;
		other.warps &= first ? ~1 : 1;
		inner.all = other.all = false;
	}
	int otherwise = label(m), end = label(m);
	bool has_else = chance(m, 40);
	c.negated = !c.negated;
	put_jump(m, c, otherwise);
	make_body(m, &inner, 1 + below(m, 3));
	if (has_else)
		put_jump(m, always(), end);
	put_label(m, otherwise);
	if (has_else) {
		make_body(m, &other, 1 + below(m, 3));
		put_label(m, end);
	}
}

/* The same by a table of targets, indexed by a bit of a parameter. */
static void make_switch(struct maker *m, const struct who *who)
{
	int zero = label(m), one = label(m), end = label(m), t = temp(m);
	m->p->uses_flags = true;
	put(m, "\tand.b32 %%r%d, %%flags, 1;", t);
	put(m, "T%d: .branchtargets L%d, L%d;", t, zero, one);
	struct step *s = put(m, "\tbrx.idx%s %%r%d, T%d;", below(m, 2) ? ".uni" : "", t, t);
	s->op = OP_JUMP;
	s->guard = on(PRED_FLAG0);
	s->value = one;
	put_label(m, zero);
	make_body(m, who, 1 + below(m, 3));
	put_jump(m, always(), end);
	put_label(m, one);
	make_body(m, who, below(m, 3));
	put_label(m, end);
}

struct loop {
	int depth, head, end;
	struct cond leave;
	bool bottom;
};

static struct loop loop_begin(struct maker *m)
{
	struct loop l = {.depth = m->depth++, .head = label(m), .end = label(m)};
	l.leave = chance(m, 50) ? (struct cond){COND_LOOP_GE_N, l.depth, 0, false}
				: (struct cond){COND_LOOP_GE, l.depth, 1 + below(m, 3), false};
	l.bottom = chance(m, 40);
	struct step *s = put(m, "\tmov.u32 %%i%d, 0;", l.depth);
	s->op = OP_LOOP_ZERO;
	s->depth = l.depth;
	if (l.bottom && l.leave.kind == COND_LOOP_GE_N && chance(m, 70))
		put_jump(m, l.leave, l.end);
	put_label(m, l.head);
	if (!l.bottom)
		put_jump(m, l.leave, l.end);
	return l;
}

static void loop_end(struct maker *m, struct loop *l)
{
	struct step *s = put(m, "\tadd.u32 %%i%d, %%i%d, 1;", l->depth, l->depth);
	s->op = OP_LOOP_NEXT;
	s->depth = l->depth;
	if (l->bottom) {
		l->leave.negated = true;
		put_jump(m, l->leave, l->head);
	} else {
		put_jump(m, always(), l->head);
	}
	put_label(m, l->end);
	m->depth--;
}

static void make_loop(struct maker *m, const struct who *who)
{
	struct who inner = *who;
	inner.in_loop = true;
	struct loop l = loop_begin(m);
	make_body(m, &inner, 2 + below(m, 3));
	loop_end(m, &l);
}

static void make_statement(struct maker *m, const struct who *who)
{
	int k = below(m, 100);
	if (k < 28)
		put_write(m);
	else if (k < 40)
		put_read(m);
	else if (k < 48)
		put_use(m);
	else if (k < 53)
		put_global(m);
	else if (k < 56)
		put_copies(m);
	else if (k < 70)
		put_async(m);
	else if (k < 76)
		put_fence(m, chance(m, 40) ? some_guard(m) : always());
	else if (k < 88)
		put_barrier(m, who);
	else if (k < 94)
		make_if(m, who);
	else if (k < 96)
		make_switch(m, who);
	else if (m->depth < NDEPTHS)
		make_loop(m, who);
	else
		put_write(m);
}

static void make_body(struct maker *m, const struct who *who, int n)
{
	for (int i = 0; i < n && m->p->n < 300; i++)
		make_statement(m, who);
}

/* Everybody writes, perhaps fences, meets; one issues; perhaps they meet again. */
static void make_handoff(struct maker *m, const struct who *who)
{
	int n = 1 + below(m, 2);
	for (int i = 0; i < n; i++)
		chance(m, 75) ? put_write(m) : put_read(m);
	if (chance(m, 30))
		put_use(m);
	maybe_fence(m);
	put_barrier(m, who);
	if (chance(m, 12))
		put_fence(m, rare_guard(m));
	put_async(m);
	if (chance(m, 60))
		put_barrier(m, who);
}

/* One role hands over to the other through a named barrier or an mbarrier, once. */
static void make_roles(struct maker *m, const struct who *who)
{
	int one = label(m), end = label(m), writers = all_warps(m) & ~1;
	bool named = m->shot_used || below(m, 2), arrive = below(m, 2);
	int id = 9 + m->next_id++;
	struct who w = {.warps = writers, .whole_warps = true, .in_loop = who->in_loop};
	struct who i = {.warps = 1, .whole_warps = true, .in_loop = who->in_loop};
	put_jump(m, on(PRED_WARP0), one);
	make_body(m, &w, 1 + below(m, 3));
	maybe_fence(m);
	if (named)
		put_sync(m, id, all_warps(m), !arrive);
	else
		put_mb_arrive(m, MB_FULL);
	if (chance(m, 30))
		make_body(m, &w, 1);
	if (chance(m, 15)) {
		put(m, "\t%s;", below(m, 2) ? "ret" : "exit")->op = OP_EXIT;
		m->left = true;
	} else {
		put_jump(m, always(), end);
	}
	put_label(m, one);
	if (chance(m, 30))
		make_body(m, &i, 1);
	if (named)
		put_sync(m, id, all_warps(m), true);
	else
		put_mb_wait(m, MB_FULL, PARITY_ZERO, 0);
	if (chance(m, 15))
		put_fence(m, rare_guard(m));
	make_body(m, &i, 1);
	put_async(m);
	put_label(m, end);
	m->shot_used |= !named;
}

/* Between two meetings somebody fences for all, or it looks like that. */
static void make_leader(struct maker *m, const struct who *who)
{
	int id = 9 + m->next_id++, writers = all_warps(m) & ~1;
	bool split =
		m->p->warps > 1 && !who->in_loop && !who->alone && m->next_id < 5 && chance(m, 60);
	int one = label(m), end = label(m);

	put_write(m);
	if (chance(m, 60))
		put_barrier(m, who);
	if (!split) {
		put_fence(m, some_guard(m));
		if (chance(m, 25))
			put_write(m);
		put_barrier(m, who);
		put_async(m);
		return;
	}
	struct who w = {.warps = writers, .whole_warps = true};
	struct who i = {.warps = 1, .whole_warps = true};
	put_jump(m, on(PRED_WARP0), one);
	make_body(m, &w, below(m, 3));
	if (chance(m, 25))
		put_fence(m, rare_guard(m));
	put_sync(m, id, all_warps(m), chance(m, 50));
	if (chance(m, 30))
		make_body(m, &w, 1);
	put_jump(m, always(), end);
	put_label(m, one);
	if (chance(m, 60))
		put_fence(m, rare_guard(m));
	make_body(m, &i, below(m, 2));
	put_sync(m, id, all_warps(m), true);
	if (chance(m, 60))
		put_async(m);
	put_label(m, end);
	if (chance(m, 60))
		put_barrier(m, who);
	put_async(m);
}

/* Writers fill a stage, issuers empty it, with a full and an empty mbarrier. */
static void make_ring(struct maker *m)
{
	int one = label(m), end = label(m), depth = m->depth;
	struct who w = {.warps = all_warps(m) & ~1, .whole_warps = true, .in_loop = true};
	struct who i = {.warps = 1, .whole_warps = true, .in_loop = true};
	put_jump(m, on(PRED_WARP0), one);
	struct loop l = loop_begin(m);
	struct loop same = l;
	put_mb_wait(m, MB_EMPTY, PARITY_LOOP_OTHER, depth);
	make_body(m, &w, 1 + below(m, 3));
	maybe_fence(m);
	put_mb_arrive(m, MB_FULL);
	loop_end(m, &l);
	put_jump(m, always(), end);
	put_label(m, one);
	l = loop_begin(m);
	/* both roles must count alike */
	for (int k = m->p->n - 1; m->p->lines[k].step.op != OP_LOOP_ZERO; k--) {
		free(m->p->lines[k].text);
		m->p->n = k;
	}
	l.leave = same.leave;
	l.bottom = false;
	put_label(m, l.head);
	put_jump(m, l.leave, l.end);
	put_mb_wait(m, MB_FULL, PARITY_LOOP, depth);
	if (chance(m, 12))
		put_fence(m, rare_guard(m));
	put_async(m);
	make_body(m, &i, below(m, 2));
	if (chance(m, m->fence_odds / 2))
		put_fence(m, always());
	put_mb_arrive(m, MB_EMPTY);
	loop_end(m, &l);
	put_label(m, end);
	m->shot_used = true;
}

/* A bulk load that everybody waits for. */
static void make_load(struct maker *m, const struct who *who)
{
	if (m->loaded || who->in_loop)
		put_barrier(m, who); /* the issuer must not overrun a slow waiter */
	m->loaded = true;
	put_bulk_load(m, on(PRED_FIRST), MB_LOADED);
	put_mb_wait(m, MB_LOADED, PARITY_PHASE, 0);
	put(m, "\txor.b32 %%phase, %%phase, 1;")->op = OP_PHASE;
}

static void make_segment(struct maker *m, const struct who *who)
{
	bool many = m->p->warps > 1;
	int k = below(m, 100);
	if (who->alone && k >= 55 && k < 82)
		k -= 50;
	if (k < 35)
		make_handoff(m, who);
	else if (k < 55)
		make_body(m, who, 2 + below(m, 4));
	else if (k < 70 && many && !who->in_loop && m->next_id < 5)
		make_roles(m, who);
	else if (k < 82 && many && !who->in_loop && !m->shot_used)
		make_ring(m);
	else if (k < 88)
		make_load(m, who);
	else
		make_leader(m, who);
}

static void make_prologue(struct maker *m)
{
	struct program *p = m->p;
	int threads = 32 * p->warps;
	put(m, "\tmov.u32 %%thread, %%tid.x;");
	put(m, "\tshr.u32 %%warp, %%thread, 5;");
	put(m, "\tand.b32 %%lane, %%thread, 31;");
	put(m, "\tsetp.eq.u32 %%first, %%thread, 0;");
	put(m, "\tsetp.eq.u32 %%lane0, %%lane, 0;");
	put(m, "\telect.sync _|%%elect, -1;");
	put(m, "\tsetp.eq.u32 %%warp0, %%warp, 0;");
	put(m, "\tsetp.eq.u32 %%warp1, %%warp, 1;");
	put(m, "\tsetp.gt.u32 %%others, %%thread, 31;");
	put(m, "\tld.param.u64 %%in, [%s_in];", p->name);
	put(m, "\tcvta.to.global.u64 %%in, %%in;");
	put(m, "\tld.param.u64 %%out, [%s_out];", p->name);
	put(m, "\tcvta.to.global.u64 %%out, %%out;");
	put(m, "\tld.param.u64 %%out2, [%s_out2];", p->name);
	put(m, "\tcvta.to.global.u64 %%out2, %%out2;");
	put(m, "\tld.param.u32 %%n, [%s_n];", p->name);
	put(m, "\tld.param.u32 %%flags, [%s_flags];", p->name);
	put(m, "\tand.b32 %%bit, %%flags, 1;");
	put(m, "\tsetp.ne.u32 %%flag0, %%bit, 0;");
	put(m, "\tand.b32 %%bit, %%flags, 2;");
	put(m, "\tsetp.ne.u32 %%flag1, %%bit, 0;");
	put(m, "\tmov.u32 %%phase, 0;");
	put(m, "\tmov.u32 %%acc, 0;");
	put(m, "\tmov.u32 %%one, 1;");
	for (int v = 0; v < NVALUES; v++)
		put(m, "\tmov.u32 %%v%d, 0;", v);
	put(m, "\t@%%first mbarrier.init.shared.b64 [bars+%d], %d;", 8 * MB_FULL, threads - 32);
	put(m, "\t@%%first mbarrier.init.shared.b64 [bars+%d], 32;", 8 * MB_EMPTY);
	put(m, "\t@%%first mbarrier.init.shared.b64 [bars+%d], 1;", 8 * MB_LOADED);
	put(m, "\t@%%first mbarrier.init.shared.b64 [bars+%d], 1;", 8 * MB_SHOT);
	p->expected[MB_FULL] = 2 * (p->warps - 1);
	p->expected[MB_EMPTY] = 2;
	p->expected[MB_LOADED] = p->expected[MB_SHOT] = 1;
	put_sync(m, 0, all_warps(m), true);
}

/* Labels become line numbers. */
static void resolve(struct program *p)
{
	int *at = calloc(MAX_LINES, sizeof(*at));
	for (int i = 0; i < p->n; i++)
		if (p->lines[i].step.op == OP_LABEL)
			at[p->lines[i].step.value] = i;
	for (int i = 0; i < p->n; i++)
		if (p->lines[i].step.op == OP_JUMP)
			p->lines[i].step.value = at[p->lines[i].step.value];
		else if (p->lines[i].step.op == OP_MB_WAIT)
			p->uses_mbarriers = true;
	free(at);
}

void program_make(struct program *p, uint64_t seed)
{
	static const int odds[] = {0, 0, 40, 80, 95, 100};
	memset(p, 0, sizeof(*p));
	snprintf(p->name, sizeof(p->name), "k%llu", (unsigned long long)seed);
	struct maker m = {.p = p, .state = (seed + 1) * UINT64_C(0x9e3779b97f4a7c15)};
	for (int i = 0; i < 8; i++)
		below(&m, 2);
	p->warps = 1 + below(&m, MAX_WARPS);
	m.fence_odds = odds[below(&m, 6)];
	make_prologue(&m);
	struct who who = {.warps = all_warps(&m), .whole_warps = true, .all = true};
	int n = 1 + below(&m, 3);
	for (int i = 0; i < n; i++) {
		if (m.left)
			who = (struct who){.warps = 1, .whole_warps = true, .alone = true};
		if (m.depth == 0 && chance(&m, 25)) {
			who.in_loop = true;
			struct loop l = loop_begin(&m);
			make_segment(&m, &who);
			if (chance(&m, 50))
				make_segment(&m, &who);
			loop_end(&m, &l);
			who.in_loop = false;
		} else {
			make_segment(&m, &who);
		}
	}
	put(&m, "\tst.global.u32 [%%out+64], %%acc;")->op = OP_USE_ACC;
	put(&m, "\tret;");
	resolve(p);
	p->temps = m.temps;
}

int program_print(const struct program *p, FILE *out)
{
	static const char *const directive[] = {".reqntid", ".maxntid"};
	int head = fprintf(out,
		".visible .entry %s(.param .u64 .ptr .global %s_in, "
		".param .u64 .ptr .global %s_out,\n\t.param .u64 .ptr .global %s_out2, "
		".param .u32 %s_n, .param .u32 %s_flags)\n%s %d, 1, 1\n{\n"
		"\t.shared .align 128 .b8 tile[1024];\n\t.shared .align 128 .b8 other[1024];\n"
		"\t.shared .align 8 .b8 bars[32];\n"
		"\t.reg .b32 %%thread, %%warp, %%lane, %%n, %%flags, %%bit, %%phase, %%acc, "
		"%%one;\n"
		"\t.reg .b32 %%r<%d>, %%v<%d>, %%i<%d>;\n\t.reg .b64 %%d<%d>, %%in, %%out, "
		"%%out2;\n"
		"\t.reg .pred %%q<%d>, %%first, %%lane0, %%elect, %%warp0, %%warp1, %%others, "
		"%%flag0, "
		"%%flag1;\n",
		p->name, p->name, p->name, p->name, p->name, p->name, directive[p->temps % 2],
		32 * p->warps, p->temps + 1, NVALUES, NDEPTHS, p->temps + 1, p->temps + 1);
	if (head < 0)
		return 0;
	for (int i = 0; i < p->n; i++)
		fprintf(out, "%s\n", p->lines[i].text);
	fprintf(out, "}\n");
	return HEAD_LINES;
}

void program_clear(struct program *p)
{
	for (int i = 0; i < p->n; i++)
		free(p->lines[i].text);
	p->n = 0;
}
