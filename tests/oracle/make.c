/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random programs: kernels that write and read shared and global memory, copy in bulk, multiply,
 * and hand over through barriers of every kind. They are built so that every barrier is met by
 * the threads that it counts; what varies is who does what, at which bytes, and which fences stand
 * where. The same seed gives the same program.
 */
#include "say.h"

#include <stdlib.h>
#include <string.h>

enum { CALL_ODDS = 15 };

void maybe_fence(struct maker *m)
{
	if (chance(m, m->fence_odds))
		put_fence(m, chance(m, 10) ? some_guard(m) : always());
}

/* ---- compound statements ---- */

/* The arms of a branch: those for whom the condition holds, and the others. */
static void split(const struct maker *m, struct cond c, struct who *yes, struct who *no)
{
	bool by_warp = c.kind == COND_PRED &&
		       (c.a == PRED_WARP0 || c.a == PRED_OTHERS || c.a == PRED_GROUP);
	if (c.kind == COND_DATA || (c.kind == COND_PRED && (c.a == PRED_FIRST || c.a == PRED_LANE ||
								   c.a == PRED_ELECT || c.a == PRED_SET_FIRST || c.a == PRED_SET_HALF)))
		yes->whole_warps = no->whole_warps = yes->all = no->all = yes->both = no->both =
			yes->sets = no->sets = false;
	if (c.kind == COND_PRED && c.a == PRED_RANK0)
		yes->both = no->both = false;
	if (c.kind == COND_SET_GE_N)
		yes->whole_warps = no->whole_warps = yes->all = no->all = yes->both = no->both = false;
	if (!by_warp && c.kind != COND_SET_EQ)
		return;
	int ones = c.kind == COND_SET_EQ ? set_warps(m->p, c.b) : c.a == PRED_WARP0 ? 1 : c.a == PRED_OTHERS ? ~1 : 0xf;
	ones = (c.negated ? ~ones : ones) & all_warps(m);
	for (int set = 0; set < m->p->nsets; set++) {
		int of_set = set_warps(m->p, set) & ones;
		if (of_set && of_set != set_warps(m->p, set))
			yes->sets = no->sets = false;
	}
	yes->warps &= ones;
	no->warps &= ~ones;
	yes->all = no->all = yes->both = no->both = false;
}

static void make_if(struct maker *m, const struct who *who)
{
	struct cond c = chance(m, 15) ? (struct cond){COND_DATA, below(m, NVALUES), 0, false}
				      : some_guard(m);
	struct who inner = *who, other = *who;
	split(m, c, &inner, &other);
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

struct loop loop_begin(struct maker *m)
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

void loop_again(struct maker *m, struct loop *l)
{
	l->head = label(m);
	l->end = label(m);
	m->depth++;
	struct step *s = put(m, "\tmov.u32 %%i%d, 0;", l->depth);
	s->op = OP_LOOP_ZERO;
	s->depth = l->depth;
	put_label(m, l->head);
	put_jump(m, l->leave, l->end);
}

void loop_end(struct maker *m, struct loop *l)
{
	struct step *s = put(m, "\tadd.u32 %%i%d, %%i%d, 1;", l->depth, l->depth);
	s->op = OP_LOOP_NEXT;
	s->depth = l->depth;
	if (l->bottom) {
		struct cond stay = l->leave;
		stay.negated = true;
		put_jump(m, stay, l->head);
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

/* A comment that says how findings here, or the next access, are to be treated. */
static void make_hinted(struct maker *m, const struct who *who)
{
	int k = below(m, 4);
	m->hinted = true;
	if (k == 0) {
		put(m, "\t// fencepost: off the test says so");
		make_body(m, who, 1 + below(m, 2));
		put(m, "\t// fencepost: on");
	} else {
		put(m, k == 1	 ? "\t// fencepost: ignore the test says so"
			: k == 2 ? "\t// fencepost: neutral"
				 : "\t// fencepost: async");
		if (k < 3 && chance(m, 50))
			put_async(m, who);
		else
			chance(m, 70) ? put_write(m) : put_read(m);
	}
	m->hinted = false;
}

static void make_statement(struct maker *m, const struct who *who)
{
	if (m->hints && !m->hinted && chance(m, 20)) {
		make_hinted(m, who);
		return;
	}
	int k = below(m, 100);
	if (m->ncallees && chance(m, 12))
		put_call(m, who);
	else if (who->whole_warps && chance(m, 6))
		chance(m, 60) ? put_matrix_write(m) : put_matrix_read(m);
	else if (k < 28)
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
		put_async(m, who);
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

void make_body(struct maker *m, const struct who *who, int n)
{
	for (int i = 0; i < n && m->p->n < 500; i++)
		make_statement(m, who);
}

/* ---- the whole program ---- */

static void put_head(struct maker *m)
{
	const char *n = m->p->name;
	put(m,
		".visible .entry %s(.param .u64 .ptr .global %s_in, .param .u64 .ptr .global "
		"%s_out,",
		n, n, n);
	put(m, "\t.param .u64 .ptr .global %s_out2, .param .u32 %s_n, .param .u32 %s_flags,", n, n,
		n);
	put(m, "\t.param .align 64 .b8 %s_map[128]%s", n, m->built ? "," : ")");
	if (m->built)
		put(m, "\t.param .u64 .ptr .global %s_built)", n);
	put(m, "%s %d, 1, 1", below(m, 2) ? ".reqntid" : ".maxntid", 32 * m->p->warps);
	if (m->cluster)
		put(m, ".reqnctapercluster 2, 1, 1");
	put(m, "{");
	put(m, "\t.shared .align 1024 .b8 tile[16384];");
	put(m, "\t.shared .align 1024 .b8 other[16384];");
	put(m, "\t.shared .align 8 .b8 bars[%d];", 8 * NMBARRIERS);
	put(m, "\t.shared .align 16 .b8 flags[%d];", 4 * NMBARRIERS);
	put(m, "\t.shared .align 4 .b8 bounds[32];");
	put(m, "\t.reg .b64 %%out, %%out2, %%map, %%token;");
	put(m, "\t.reg .b32 %%s<%d>, %%w<%d>;", NRINGS, NRINGS);
	put(m, "\t.reg .b16 %%both, %%self, %%other;");
	put(m, "\t.reg .f32 %%f<8>;");
	if (m->sets)
		put(m, "\t.reg .b32 %%set, %%setid, %%setcount; .reg .pred %%setfirst, %%sethalf;");
}

/* What the code of a kernel or callee refers to. */
void put_registers(struct maker *m)
{
	put(m, "\t.reg .b32 %%thread, %%warp, %%lane, %%n, %%flags, %%bit, %%phase, %%acc, %%one, "
	       "%%rank, "
	       "%%peer;");
	put(m, "\t.reg .b32 %%r<%d>, %%v<%d>, %%i<%d>, %%b<%d>, %%m<3>;", NTEMPS, NVALUES, NDEPTHS,
		NDEPTHS);
	put(m, "\t.reg .b64 %%d<%d>, %%in;", NTEMPS);
	put(m,
		"\t.reg .pred %%q<%d>, %%first, %%second, %%lane0, %%elect, %%warp0, %%warp1, %%group, %%others, "
		"%%flag0, "
		"%%flag1, %%rank0;",
		NTEMPS);
	put(m, "\tmov.u32 %%thread, %%tid.x;");
	put(m, "\tshr.u32 %%warp, %%thread, 5;");
	put(m, "\tand.b32 %%lane, %%thread, 31;");
	put(m, "\tsetp.eq.u32 %%first, %%thread, 0;");
	put(m, "\tsetp.eq.u32 %%second, %%thread, 32;");
	put(m, "\tsetp.eq.u32 %%lane0, %%lane, 0;");
	put(m, "\telect.sync _|%%elect, -1;");
	put(m, "\tsetp.eq.u32 %%warp0, %%warp, 0;");
	put(m, "\tsetp.eq.u32 %%warp1, %%warp, 1;");
	put(m, "\tsetp.lt.u32 %%group, %%warp, 4;");
	put(m, "\tsetp.gt.u32 %%others, %%thread, 31;");
	put(m, "\tmov.u32 %%rank, %%cluster_ctarank;");
	put(m, "\tsetp.eq.u32 %%rank0, %%rank, 0;");
	put(m, "\txor.b32 %%peer, %%rank, 1;");
	put(m, "\tmov.u32 %%phase, 0;");
	put(m, "\tmov.u32 %%acc, 0;");
	put(m, "\tmov.u32 %%one, 1;");
	for (int v = 0; v < NVALUES; v++)
		put(m, "\tmov.u32 %%v%d, 0;", v);
}

void put_flags(struct maker *m)
{
	put(m, "\tand.b32 %%bit, %%flags, 1;");
	put(m, "\tsetp.ne.u32 %%flag0, %%bit, 0;");
	put(m, "\tand.b32 %%bit, %%flags, 2;");
	put(m, "\tsetp.ne.u32 %%flag1, %%bit, 0;");
}

/* The result is the line of the first mbarrier's initialisation: how many arrive is known later. */
static int make_prologue(struct maker *m)
{
	const char *n = m->p->name;
	put_registers(m);
	if (m->sets)
		put_set_registers(m);
	put(m, "\tld.param.u64 %%in, [%s_in];", n);
	put(m, "\tcvta.to.global.u64 %%in, %%in;");
	put(m, "\tld.param.u64 %%out, [%s_out];", n);
	put(m, "\tcvta.to.global.u64 %%out, %%out;");
	put(m, "\tld.param.u64 %%out2, [%s_out2];", n);
	put(m, "\tcvta.to.global.u64 %%out2, %%out2;");
	put(m, "\tld.param.u32 %%n, [%s_n];", n);
	put(m, "\tld.param.u32 %%flags, [%s_flags];", n);
	put(m, "\tmov.b64 %%map, %s_map;", n);
	put(m, "\tcvta.param.u64 %%map, %%map;");
	put(m, "\tmov.b16 %%both, 3;");
	put(m, "\tshl.b32 %%bit, 1, %%rank;");
	put(m, "\tcvt.u16.u32 %%self, %%bit;");
	put(m, "\txor.b16 %%other, %%self, 3;");
	put_flags(m);
	int inits = m->p->n;
	for (int i = 0; i < NMBARRIERS; i++)
		put(m, "\t// mbarrier");
	put(m, "\tmov.u32 %%bit, 0;");
	for (int i = 0; i < NMBARRIERS; i += 4)
		put(m, "\t@%%first st.shared.v4.u32 [flags+%d], {%%bit, %%bit, %%bit, %%bit};",
			4 * i);
	put_sync(m, 0, all_warps(m), true);
	if (m->cluster)
		put_cluster_barrier(m, &(struct who){.warps = all_warps(m)});
	return inits;
}

static void put_inits(struct maker *m, int at)
{
	new_mbarrier(m, 1, 1);
	for (int i = 0; i < m->nmbarriers; i++) {
		free(m->p->lines[at + i].text);
		if (asprintf(&m->p->lines[at + i].text,
			    "\t@%%first mbarrier.init.shared.b64 [bars+%d], %d;", 8 * i,
			    m->threads[i]) < 0)
			abort();
	}
}

static bool is_access(enum op op)
{
	return op == OP_READ || op == OP_WRITE || op == OP_UPDATE || op == OP_COPY ||
	       op == OP_SEND || op == OP_BULK_LOAD || op == OP_BULK_STORE || op == OP_MATMUL;
}

/* Some other line names the label: then a block begins there. */
static bool is_target(const struct program *p, int label)
{
	char name[16];
	int n = snprintf(name, sizeof(name), "L%d", p->lines[label].step.value);

	for (int i = 0; i < p->n; i++)
		for (const char *at = strstr(p->lines[i].text, name); at && i != label; at = strstr(at + 1, name))
			if (at > p->lines[i].text && at[-1] == ' ' && (at[n] < '0' || at[n] > '9'))
				return true;
	return false;
}

/* The range of a hint, the rest of the block that an `ignore` may reach, the next access. */
static void apply_hints(struct program *p)
{
	bool off = false, ignore = false, neutral = false, async = false;
	for (int i = 0; i < p->n; i++) {
		struct step *s = &p->lines[i].step;
		const char *hint = strstr(p->lines[i].text, "fencepost: ");
		hint = hint ? hint + strlen("fencepost: ") : "";
		off = (off || strncmp(hint, "off", 3) == 0) && strcmp(hint, "on") != 0;
		ignore = (ignore || strncmp(hint, "ignore", 6) == 0) &&
			 (s->op != OP_LABEL || !is_target(p, i));
		neutral |= strcmp(hint, "neutral") == 0;
		async |= strcmp(hint, "async") == 0;
		s->may_ignore = off || ignore;
		if (s->may_ignore)
			s->features |= bit(FEATURE_HINT);
		ignore &= s->op != OP_JUMP && s->op != OP_EXIT;
		if (!is_access(s->op))
			continue;
		s->neutral = neutral;
		s->as_async = async;
		neutral = async = false;
	}
}

/* Labels become line numbers. */
static void resolve(struct program *p)
{
	static int at[MAX_LINES];
	apply_hints(p);
	for (int i = 0; i < p->n; i++)
		if (p->lines[i].step.op == OP_LABEL)
			at[p->lines[i].step.value] = i;
	for (int i = 0; i < p->n; i++) {
		struct step *s = &p->lines[i].step;
		if (s->op == OP_JUMP || s->op == OP_CALL)
			s->value = at[s->value];
		p->uses_mbarriers |= s->op == OP_MB_WAIT || s->op == OP_MB_ASK;
		p->features |= s->features;
		p->lines[i].origin = i;
	}
}

static void make_segments(struct maker *m)
{
	struct who who = {
		.warps = all_warps(m), .whole_warps = true, .all = true, .both = true, .sets = m->sets};
	int n = 1 + below(m, 3);
	for (int i = 0; i < n; i++) {
		if (m->arrivals && i == 0 && m->p->warps > 1) {
			m->more |= bit(FEATURE_LEADER_ARRIVES);
			make_arrivals(m, &who);
			m->more = 0;
			continue;
		}
		if (m->staged && i == 0) {
			chance(m, 30) ? make_unrolled(m, &who) : make_stages(m, &who);
			continue;
		}
		if (m->built && !m->left && (i == 0 || chance(m, 50))) {
			bool around = chance(m, 50);
			struct loop l = {0};
			if (i == 0)
				declare_map(m);
			if (around)
				l = loop_begin(m);
			who.in_loop = around;
			make_built_map(m, &who);
			who.in_loop = false;
			if (around)
				loop_end(m, &l);
			continue;
		}
		if (m->left)
			who = (struct who){.warps = m->group && m->p->warps == 5 ? 0xf : 1,
				.whole_warps = true,
				.alone = true};
		if (m->depth == 0 && chance(m, 25)) {
			who.in_loop = true;
			struct loop l = loop_begin(m);
			make_segment(m, &who);
			if (chance(m, 50))
				make_segment(m, &who);
			loop_end(m, &l);
			who.in_loop = false;
		} else {
			make_segment(m, &who);
		}
	}
	put_missing_calls(m);
	if (m->cluster)
		put_cluster_barrier(m, &who);
}

void program_make(struct program *p, uint64_t seed)
{
	static const int odds[] = {0, 0, 40, 80, 95, 100};
	memset(p, 0, sizeof(*p));
	snprintf(p->name, sizeof(p->name), "k%llu", (unsigned long long)seed);
	struct maker m = {.p = p, .state = (seed + 1) * UINT64_C(0x9e3779b97f4a7c15)};
	for (int i = 0; i < 8; i++)
		below(&m, 2);
	int kind = below(&m, 100);
	m.cluster = kind < 20;
	m.group = kind >= 20 && kind < 35;
	m.arrivals = kind >= 42 && kind < 57;
	m.staged = kind >= 28 && kind < 42;
	m.hints = chance(&m, 8);
	m.built = kind >= 57 && (seed * UINT64_C(0xd1342543de82ef95) >> 32) % 100 < 12;
	p->warps = m.group ? 4 + below(&m, 2) : 1 + below(&m, m.cluster ? 2 : 3);
	if ((m.arrivals || m.staged) && !m.group)
		p->warps = 2 + below(&m, 3);
	m.sets = kind >= 57 && !m.built && (seed * UINT64_C(0xaef17502108ef2d9) >> 32) % 100 < 20;
	if (m.sets)
		p->warps = chance(&m, 70) ? 4 : 2 + below(&m, 4);
	p->ctas = m.cluster ? 2 : 1;
	p->lane = chance(&m, 50) ? 1 : 1 + below(&m, 31);
	m.swizzles = kind >= 20 && chance(&m, m.group ? 40 : 15);
	m.edges = kind >= 20 && !m.swizzles && chance(&m, 8);
	m.fence_odds = m.arrivals ? 0 : odds[below(&m, 6)];
	m.peer_odds = 30;
	m.next_id = 1;
	m.next_role_id = 9;
	if (m.sets)
		declare_sets(&m);
	new_mbarrier(&m, 1, 1);
	new_mbarrier(&m, 1, 1);
	put(&m, "// program %s", p->name);
	if (chance(&m, CALL_ODDS))
		make_callees(&m);
	put_head(&m);
	p->start = p->n;
	int inits = make_prologue(&m);
	make_segments(&m);
	put(&m, "\tst.global.u32 [%%out+64], %%acc;")->op = OP_USE_ACC;
	put(&m, "\tret;");
	put(&m, "}");
	put_inits(&m, inits);
	resolve(p);
	p->temps = m.temps;
}

void program_clear(struct program *p)
{
	for (int i = 0; i < p->n; i++)
		free(p->lines[i].text);
	p->n = 0;
}
