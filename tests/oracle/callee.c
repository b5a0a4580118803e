/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions that write, read, fence, meet and copy through an address that is passed to them,
 * some of them calling others or themselves, and the calls of them.
 */
#include "say.h"

static void put_callee_head(struct maker *m, int i, const struct callee *c)
{
	const char *n = m->p->name;
	char ret[64] = "";
	if (c->returns)
		snprintf(ret, sizeof(ret), "(.param .b32 %s_f%d_r) ", n, i);
	put(m, ".func %s%s_f%d(.param .b%d %s_f%d_p, .param .b32 %s_f%d_bars,", ret, n, i,
		c->wide ? 64 : 32, n, i, n, i);
	put(m, "\t.param .b64 %s_f%d_in, .param .b64 %s_f%d_out, .param .b32 %s_f%d_flags,", n, i,
		n, i, n, i);
	put(m, "\t.param .b32 %s_f%d_n, .param .b32 %s_f%d_count)", n, i, n, i);
	put_label(m, c->label);
	m->p->lines[m->p->n - 1].text[0] = '{';
	m->p->lines[m->p->n - 1].text[1] = '\0';
}

static void put_arg(struct maker *m, int i, const struct callee *c)
{
	const char *n = m->p->name;
	if (!c->wide) {
		put(m, "\tld.param.u32 %%arg, [%s_f%d_p];", n, i);
		return;
	}
	put(m, "\tld.param.u64 %%wide, [%s_f%d_p];", n, i);
	put(m, "\tcvta.to.shared.u64 %%wide, %%wide;");
	put(m, "\tcvt.u32.u64 %%arg, %%wide;");
}

static void put_callee_prologue(struct maker *m, int i, const struct callee *c)
{
	const char *n = m->p->name;
	put(m, "\t.reg .b32 %%arg, %%bars, %%count;");
	put(m, "\t.reg .b64 %%wide, %%out;");
	put_registers(m);
	put_arg(m, i, c);
	put(m, "\tld.param.u32 %%bars, [%s_f%d_bars];", n, i);
	put(m, "\tld.param.u64 %%in, [%s_f%d_in];", n, i);
	put(m, "\tld.param.u64 %%out, [%s_f%d_out];", n, i);
	put(m, "\tld.param.u32 %%flags, [%s_f%d_flags];", n, i);
	put(m, "\tld.param.u32 %%n, [%s_f%d_n];", n, i);
	put(m, "\tld.param.u32 %%count, [%s_f%d_count];", n, i);
	put_flags(m);
}

/* count: text of what the callee shall count down from. */
static void put_call_of(struct maker *m, int i, const struct callee *c, struct place arg,
	const char *count, int value)
{
	int r = temp(m), result = c->returns ? below(m, NVALUES) : NONE;
	char at[48];
	struct place start = arg;
	int base = start.base, a;
	start.base = 0;
	do
		a = address(m, &start, false, at, sizeof(at));
	while (a == NONE);
	put(m, "\tadd.u32 %%r%d, %%r%d, %d;", a, a, base);
	if (c->wide) {
		put(m, "\tcvt.u64.u32 %%d%d, %%r%d;", r, a);
		put(m, "\tcvta.shared.u64 %%d%d, %%d%d;", r, r);
	}
	if (m->in_callee)
		put(m, "\tmov.u32 %%r%d, %%bars;", r);
	else
		put(m, "\tmov.u32 %%r%d, bars;", r);
	put(m, "\t{");
	put(m, "\t.param .b%d a0;", c->wide ? 64 : 32);
	put(m, "\t.param .b32 a1, a4, a5, a6, back;");
	put(m, "\t.param .b64 a2, a3;");
	put(m, "\tst.param.b%d [a0], %%%s%d;", c->wide ? 64 : 32, c->wide ? "d" : "r",
		c->wide ? r : a);
	put(m, "\tst.param.b32 [a1], %%r%d;", r);
	put(m, "\tst.param.b64 [a2], %%in;");
	put(m, "\tst.param.b64 [a3], %%out;");
	put(m, "\tst.param.b32 [a4], %%flags;");
	put(m, "\tst.param.b32 [a5], %%n;");
	put(m, "\tst.param.b32 [a6], %s;", count);
	struct step *s = put(m, "\tcall%s %s%s_f%d, (a0, a1, a2, a3, a4, a5, a6);",
		c->syncs && below(m, 2) ? ".uni" : "", c->returns ? "(back), " : "", m->p->name, i);
	s->op = OP_CALL;
	s->value = c->label;
	s->to = arg;
	s->count = value;
	s->result = result;
	if (c->returns)
		put(m, "\tld.param.b32 %%v%d, [back];", result);
	put(m, "\t}");
}

static void make_callee(struct maker *m, int i)
{
	struct callee *c = &m->callees[i];
	struct who who = {.warps = all_warps(m), .whole_warps = c->syncs, .all = c->syncs};
	int end = label(m);
	uint64_t before = m->more;
	m->more |= bit(FEATURE_CALL) | (c->recurses ? bit(FEATURE_RECURSION) : 0);
	put_callee_head(m, i, c);
	put_callee_prologue(m, i, c);
	if (c->recurses)
		put_jump(m, (struct cond){COND_LAST_CALL, 0, 0, false}, end);
	make_body(m, &who, 1 + below(m, 3));
	if (c->recurses) {
		int less = temp(m);
		char text[16];
		put(m, "\tsub.u32 %%r%d, %%count, 1;", less);
		snprintf(text, sizeof(text), "%%r%d", less);
		put_call_of(m, i, c,
			(struct place){.var = VAR_ARG, .base = chance(m, 50) ? 256 : 0}, text,
			NONE);
		if (chance(m, 50)) /* the inner call had another one */
			put_arg(m, i, c);
		make_body(m, &who, below(m, 3));
	}
	put_label(m, end);
	if (c->returns)
		put(m, "\tst.param.b32 [%s_f%d_r], %%v0;", m->p->name, i);
	put(m, "\tret;")->op = OP_RETURN;
	put(m, "}");
	m->more = before;
}

void make_callees(struct maker *m)
{
	int n = 1 + below(m, MAX_CALLEES);
	m->in_callee = true;
	for (int i = 0; i < n; i++) {
		m->callees[i] = (struct callee){.label = label(m),
			.syncs = chance(m, 40),
			.returns = chance(m, 40),
			.wide = chance(m, 40),
			.recurses = chance(m, 25)};
		make_callee(m, i);
		m->ncallees = i + 1;
	}
	m->in_callee = false;
	m->keep_pool = true;
}

static void put_call_to(struct maker *m, int i)
{
	struct callee *c = &m->callees[i];
	c->used = true;
	struct place arg = {.var = m->in_callee ? VAR_ARG : chance(m, 30)};
	if (!m->in_callee && chance(m, 60))
		arg.base = 512 * below(m, 3);
	else if (!m->in_callee && chance(m, 40))
		arg.by_warp = 256;
	int times = c->recurses && chance(m, 85) ? 1 + below(m, 2) : 0;
	char text[16];
	snprintf(text, sizeof(text), "%d", times);
	put_call_of(m, i, c, arg, text, times);
}

void put_call(struct maker *m, const struct who *who)
{
	int i = below(m, m->ncallees);
	if (m->callees[i].syncs && !who->all)
		put_write(m);
	else
		put_call_to(m, i);
}

void put_missing_calls(struct maker *m)
{
	for (int i = 0; i < m->ncallees; i++)
		if (!m->callees[i].used)
			put_call_to(m, i);
}
