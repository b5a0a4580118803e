/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The statements that random programs are made of. Each comes as one or more lines of PTX with
 * the step that the oracle executes; addresses, conditions and spellings vary.
 */
#include "say.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

int below(struct maker *m, int n)
{
	m->state ^= m->state << 13;
	m->state ^= m->state >> 7;
	m->state ^= m->state << 17;
	return (int)(m->state * UINT64_C(0x2545f4914f6cdd1d) >> 33) % n;
}

bool chance(struct maker *m, int percent)
{
	return below(m, 100) < percent;
}

struct step *put(struct maker *m, const char *fmt, ...)
{
	struct program *p = m->p;
	if (p->n == MAX_LINES - 1)
		p->n--; /* too long: the caller throws it away */
	struct line *l = &p->lines[p->n++];
	va_list args;
	va_start(args, fmt);
	memset(l, 0, sizeof(*l));
	l->step.result = NONE;
	l->step.features = m->more;
	if (vasprintf(&l->text, fmt, args) < 0)
		abort();
	va_end(args);
	return &l->step;
}

int temp(struct maker *m)
{
	return m->temps++;
}

int label(struct maker *m)
{
	return m->labels++;
}

void put_label(struct maker *m, int l)
{
	struct step *s = put(m, "L%d:", l);
	s->op = OP_LABEL;
	s->value = l;
}

const char *const pred_names[NPREDS] = {
	"%first", "%second", "%lane0", "%elect", "%warp0", "%warp1", "%group", "%others", "%flag0", "%flag1", "%rank0",
	"%setfirst", "%sethalf"};

void cond_name(struct maker *m, struct cond c, char *out, size_t size)
{
	int q;
	switch (c.kind) {
	case COND_ALWAYS:
		snprintf(out, size, "%s", "");
		return;
	case COND_PRED:
		snprintf(out, size, "@%s%s ", c.negated ? "!" : "", pred_names[c.a]);
		m->p->uses_flags |= c.a == PRED_FLAG0 || c.a == PRED_FLAG1;
		return;
	case COND_LOOP_EQ:
		q = temp(m);
		put(m, "\tsetp.eq.u32 %%q%d, %%i%d, %d;", q, c.a, c.b);
		break;
	case COND_LOOP_GE:
		q = temp(m);
		put(m, "\tsetp.ge.u32 %%q%d, %%i%d, %d;", q, c.a, c.b);
		break;
	case COND_LOOP_GE_N:
		q = temp(m);
		m->p->uses_n = true;
		put(m, "\tsetp.ge.u32 %%q%d, %%i%d, %%n;", q, c.a);
		break;
	case COND_LOOP_GE_BOUND:
		q = temp(m);
		put(m, "\tsetp.ge.u32 %%q%d, %%i%d, %%b%d;", q, c.a, c.a);
		break;
	case COND_BELOW:
		q = temp(m);
		put(m, "\tsetp.lt.u32 %%q%d, %%thread, %d;", q, c.b);
		break;
	case COND_STAGE:
		q = temp(m);
		put(m, "\tsetp.eq.u32 %%q%d, %%s%d, %d;", q, c.a, c.b);
		break;
	case COND_TURN:
		q = temp(m);
		put(m, "\tadd.u32 %%r%d, %%warp, %%i%d;", q, c.a);
		put(m, "\tand.b32 %%r%d, %%r%d, 1;", q, q);
		put(m, "\tsetp.ne.u32 %%q%d, %%r%d, 0;", q, q);
		break;
	case COND_SET_EQ:
		q = temp(m);
		put(m, "\tsetp.eq.u32 %%q%d, %%set, %d;", q, c.b);
		break;
	case COND_SET_GE_N:
		q = temp(m);
		m->p->uses_n = true;
		put(m, "\tsetp.ge.u32 %%q%d, %%set, %%n;", q);
		break;
	case COND_LOOP_GE_SET:
		q = temp(m);
		put(m, "\tsetp.gt.u32 %%q%d, %%i%d, %%set;", q, c.a);
		break;
	case COND_DATA:
		q = temp(m);
		m->p->uses_data = true;
		put(m, "\tsetp.ne.u32 %%q%d, %%v%d, 0;", q, c.a);
		break;
	case COND_LAST_CALL:
		q = temp(m);
		put(m, "\tsetp.eq.u32 %%q%d, %%count, 0;", q);
		break;
	default:
		abort();
	}
	snprintf(out, size, "@%s%%q%d ", c.negated ? "!" : "", q);
}

struct cond always(void)
{
	return (struct cond){COND_ALWAYS, 0, 0, false};
}

struct cond on(enum pred p)
{
	return (struct cond){COND_PRED, (int)p, 0, false};
}

void put_jump(struct maker *m, struct cond c, int to)
{
	char guard[32];
	cond_name(m, c, guard, sizeof(guard));
	struct step *s = put(
		m, "\t%sbra%s L%d;", guard, c.kind == COND_ALWAYS && below(m, 2) ? ".uni" : "", to);
	s->op = OP_JUMP;
	s->guard = c;
	s->value = to;
}

struct cond some_guard(struct maker *m)
{
	static const enum pred preds[] = {
		PRED_FIRST, PRED_LANE, PRED_ELECT, PRED_WARP0, PRED_OTHERS, PRED_FLAG0, PRED_FLAG1};
	if (m->depth && chance(m, 15))
		return (struct cond){COND_LOOP_EQ, below(m, m->depth), below(m, 3), below(m, 2)};
	if (m->sets && !m->in_callee && chance(m, 30))
		return some_set(m);
	struct cond c = on(preds[below(m, 7)]);
	if (m->group && chance(m, 15))
		c.a = PRED_GROUP;
	else if (m->cluster && chance(m, 20))
		c.a = PRED_RANK0;
	c.negated = chance(m, 25);
	return c;
}

struct cond rare_guard(struct maker *m)
{
	return chance(m, 15) ? some_guard(m) : always();
}

/* The threads whose accesses shall end at an edge. */
static struct cond below_edge(const struct maker *m, struct cond c)
{
	return m->edge && c.kind == COND_ALWAYS ? (struct cond){COND_BELOW, 0, m->edge, false} : c;
}

static uint64_t features_of(const struct place *p)
{
	return (p->peer ? bit(FEATURE_PEER) : 0) | (p->mapped ? bit(FEATURE_MAPPED) : 0) | (p->swizzle ? bit(FEATURE_SWIZZLE) : 0) |
	       (p->at_edge ? bit(FEATURE_EDGE) : 0);
}

void put_write(struct maker *m)
{
	struct cond c = rare_guard(m);
	int size = chance(m, 25) ? 16 : 4;
	struct place to = place_small(m, size);
	c = below_edge(m, c);
	bool generic = chance(m, 15);
	char guard[32], at[48];
	address(m, &to, generic, at, sizeof(at));
	cond_name(m, c, guard, sizeof(guard));
	const char *space = space_of(&to, generic);
	struct step *s;
	if (size == 16) {
		s = put(m, "\t%sst%s.v4.u32 %s, {%%one, %%one, %%one, %%one};", guard, space, at);
		s->op = OP_WRITE;
	} else if (chance(m, 15)) {
		s = put(m,
			chance(m, 50) ? "\t%sred%s.add.u32 %s, %%one;"
				      : "\t%satom%s.exch.b32 %%bit, %s, %%one;",
			guard, space, at);
		s->op = OP_UPDATE;
	} else {
		static const char *const kinds[] = {"", "", "", ".volatile", ".relaxed.cta"};
		s = put(m, "\t%sst%s%s.u32 %s, %%one;", guard, kinds[below(m, 5)], space, at);
		s->op = OP_WRITE;
	}
	s->guard = c;
	s->to = to;
	s->features |= features_of(&to);
}

void put_read(struct maker *m)
{
	struct cond c = rare_guard(m);
	struct place from = place_small(m, 4);
	c = below_edge(m, c);
	bool generic = chance(m, 15);
	int v = below(m, NVALUES);
	char guard[32], at[48];
	address(m, &from, generic, at, sizeof(at));
	cond_name(m, c, guard, sizeof(guard));
	struct step *s = put(m, "\t%sld%s.u32 %%v%d, %s;", guard, space_of(&from, generic), v, at);
	s->op = OP_READ;
	s->guard = c;
	s->to = from;
	s->value = v;
	s->features |= features_of(&from);
}

void put_use(struct maker *m)
{
	int v = below(m, NVALUES);
	struct step *s;
	if (chance(m, 40)) {
		s = put(m, "\tadd.u32 %%acc, %%acc, %%v%d;", v);
		s->op = OP_MIX;
	} else {
		s = put(m, "\tst.global.u32 [%%out+%d], %%v%d;", 4 * v, v);
		s->op = OP_USE;
	}
	s->value = v;
}

void put_global(struct maker *m)
{
	struct place p = place_global(m, 4);
	p.base += 4 * below(m, 8);
	int v = below(m, NVALUES);
	bool write = chance(m, 60);
	struct step *s;
	if (write) {
		s = put(m, "\tst.global.u32 [%%in+%d], %%one;", p.base);
	} else {
		s = put(m, "\tld.global.u32 %%v%d, [%%in+%d];", v, p.base);
	}
	s->op = write ? OP_WRITE : OP_READ;
	s->to = p;
	s->value = v;
	s->features |= bit(FEATURE_GLOBAL);
}

void put_fence(struct maker *m, struct cond c)
{
	static const struct {
		const char *text;
		int spaces;
	} kinds[] = {
		{"fence.proxy.async.shared::cta", SPACE_SHARED},
		{"fence.proxy.async.shared::cta", SPACE_SHARED},
		{"fence.proxy.async", SPACE_CLUSTER | SPACE_GLOBAL},
		{"fence.proxy.async", SPACE_CLUSTER | SPACE_GLOBAL},
		{"fence.proxy.async.shared::cluster", SPACE_CLUSTER},
		{"fence.proxy.async.global", SPACE_GLOBAL},
	};
	static const char *const others[] = {
		"membar.cta", "fence.acq_rel.cta", "fence.proxy.alias"};
	int k = below(m, 6);
	char guard[32];
	if (chance(m, 5))
		put(m, "\t%s;", others[below(m, 3)]); /* not one of them helps */
	cond_name(m, c, guard, sizeof(guard));
	struct step *s = put(m, "\t%s%s;", guard, kinds[k].text);
	s->op = OP_FENCE;
	s->guard = c;
	s->value = kinds[k].spaces;
	if (c.kind != COND_ALWAYS)
		s->features |= bit(FEATURE_GUARDED_FENCE);
}

static void put_bulk_store(struct maker *m, struct cond c)
{
	struct place from = place_bulk(m), to = place_global(m, from.size);
	char guard[32], at[48];
	address(m, &from, false, at, sizeof(at));
	cond_name(m, c, guard, sizeof(guard));
	bool reduce = chance(m, 15);
	struct step *s = put(m,
		"\t%scp.%sasync.bulk.global.shared::cta.bulk_group%s [%%in+%d], %s, %d;", guard,
		reduce ? "reduce." : "", reduce ? ".add.u32" : "", to.base, at, from.size);
	s->op = OP_BULK_STORE;
	s->guard = c;
	s->to = from;
	s->from = to;
	if (chance(m, 70)) {
		put(m, "\t%scp.async.bulk.commit_group;", guard);
		put(m, "\t%scp.async.bulk.wait_group%s 0;", guard, below(m, 2) ? ".read" : "");
	}
}

void put_bulk_load(struct maker *m, struct cond c, int mbarrier)
{
	struct place to = place_bulk(m), from = place_global(m, to.size);
	char guard[32], at[48];
	address(m, &to, false, at, sizeof(at));
	cond_name(m, c, guard, sizeof(guard));
	const char *bars = m->in_callee ? "%bars" : "bars";
	struct step *s = put(m, "\t%smbarrier.arrive.expect_tx.shared.b64 _, [%s+%d], %d;", guard,
		bars, 8 * mbarrier, to.size);
	if (mbarrier == MB_LOADED) {
		s->op = OP_MB_ARRIVE;
		s->guard = c;
		s->barrier = mbarrier;
	}
	s = put(m,
		"\t%scp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
		"%s, [%%in+%d], %d, [%s+%d];",
		guard, at, from.base, to.size, bars, 8 * mbarrier);
	s->op = OP_BULK_LOAD;
	s->guard = c;
	s->to = to;
	s->from = from;
}

void put_copies(struct maker *m)
{
	int n = 1 + below(m, 3);
	for (int i = 0; i < n; i++) {
		struct place to = place_small(m, 16);
		to.peer = false;
		char at[48];
		address(m, &to, false, at, sizeof(at));
		struct step *s = put(m, "\tcp.async.cg.shared.global %s, [%%out%s+%d], 16;", at,
			m->in_callee ? "" : "2", 16 * i);
		s->op = OP_COPY;
		s->to = to;
		s->features |= bit(FEATURE_CP_ASYNC);
		if (chance(m, 60))
			put(m, "\tcp.async.commit_group;")->op = OP_COMMIT;
	}
	if (chance(m, 30)) {
		struct step *s = put(m, "\tcp.async.wait_all;");
		s->op = OP_WAIT_GROUP;
		s->value = -1;
	} else if (chance(m, 80)) {
		int left = below(m, 3);
		struct step *s = put(m, "\tcp.async.wait_group %d;", left);
		s->op = OP_WAIT_GROUP;
		s->value = left;
	}
}

static struct cond issuer(struct maker *m)
{
	if (m->sets && !m->in_callee && chance(m, 40))
		return on(PRED_SET_FIRST);
	return chance(m, 70) ? on(chance(m, 60) ? PRED_FIRST : PRED_ELECT) : rare_guard(m);
}

void put_async(struct maker *m, const struct who *who)
{
	if (can_wgmma(m, who) && chance(m, 60)) {
		put_wgmma(m);
		return;
	}
	struct cond c = issuer(m);
	int k = below(m, 100);
	if (m->cluster && !m->in_callee && k < 30) {
		k < 15 ? put_multicast(m, c) : put_peer_copy(m, c);
		return;
	}
	if (!m->in_callee && k >= 85) {
		k < 93 ? put_tensor_store(m, c) : put_tensor_load(m, c);
		return;
	}
	if (chance(m, 50))
		put_bulk_store(m, c);
	else
		put_bulk_load(m, c, MB_SHOT);
}
