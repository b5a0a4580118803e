/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tensor maps that the kernel builds: a template in shared memory whose fields are replaced, in
 * each round or in some, by constants or by what a parameter chooses; its copy to global memory;
 * tensor copies by what the map holds then, as long as its box. What nobody has replaced is the box
 * of another map, which fills a variable.
 */
#include "say.h"

enum { OTHER_BOX = 64, OTHER_ELEMENT = 4 };

/* Elements of a dimension, or bytes of one by its code in tensormap.replace. */
static int amount(struct maker *m, int field)
{
	static const int rows[] = {1, 2, 4, 8}, columns[] = {16, 32, 64}, codes[] = {0, 1, 2};
	return field == MAP_ELEMENT ? codes[below(m, 3)]
	       : field == 0	    ? columns[below(m, 3)]
				    : rows[below(m, 4)];
}

static void put_field(struct maker *m, int field, const char *guard, struct cond c)
{
	int a = amount(m, field), b = amount(m, field), r = temp(m);
	bool chosen = field != MAP_ELEMENT && chance(m, 30),
	     by_loop = chosen && m->depth && chance(m, 50);
	struct step *s;
	if (!chosen)
		b = a;
	if (by_loop) {
		int q = temp(m);
		put(m, "\tand.b32 %%r%d, %%i%d, 1;", r, m->depth - 1);
		put(m, "\tsetp.eq.u32 %%q%d, %%r%d, 0;", q, r);
		put(m, "\tselp.b32 %%r%d, %d, %d, %%q%d;", r, a, b, q);
	} else if (chosen) {
		m->p->uses_flags = true;
		put(m, "\tselp.b32 %%r%d, %d, %d, %%flag1;", r, b, a);
	} else if (field != MAP_ELEMENT) {
		put(m, "\tmov.u32 %%r%d, %d;", r, a);
	}
	if (field == MAP_ELEMENT)
		s = put(m,
			"\t%stensormap.replace.tile.elemtype.shared::cta.b1024.b32 [%%tmpl], %d;",
			guard, a);
	else
		s = put(m,
			"\t%stensormap.replace.tile.box_dim.shared::cta.b1024.b32 [%%tmpl], %d, "
			"%%r%d;",
			guard, field, r);
	s->op = OP_MAP_FIELD;
	s->guard = c;
	s->value = field;
	s->by_loop = by_loop;
	s->depth = m->depth - by_loop;
	s->amounts[0] = field == MAP_ELEMENT ? 1 << a : a;
	s->amounts[1] = field == MAP_ELEMENT ? 1 << b : b;
}

/* Zeros, or what another map holds. */
static void put_template(struct maker *m)
{
	bool zeros = chance(m, 50);
	int r = temp(m), v = temp(m);
	put(m, "\tshl.b32 %%r%d, %%lane, 2;", r);
	put(m, "\tadd.u32 %%r%d, %%r%d, %%tmpl32;", r, r);
	if (zeros)
		put(m, "\tmov.u32 %%r%d, 0;", v);
	else
		put(m, "\tld.global.u32 %%r%d, [%%in+%d];", v, 4 * below(m, 8));
	for (int field = 0; field < MAP_FIELDS; field++) {
		struct step *s = field ? put(m, "\t// the same")
				       : put(m, "\t@%%warp0 st.shared.u32 [%%r%d], %%r%d;", r, v);
		s->op = OP_MAP_FIELD;
		s->guard = on(PRED_WARP0);
		s->value = field;
		s->amounts[0] = s->amounts[1] = zeros		       ? 0
						: field == MAP_ELEMENT ? OTHER_ELEMENT
								       : OTHER_BOX;
	}
}

static void put_fields(struct maker *m)
{
	bool arm = chance(m, 30);
	int skip = label(m);
	if (arm)
		put_jump(m, (struct cond){COND_PRED, PRED_FIRST, 0, true}, skip);
	for (int field = 0; field < MAP_FIELDS; field++) {
		int past = label(m);
		if (chance(m, 6))
			continue;
		bool sometimes = chance(m, 8);
		if (sometimes) {
			m->p->uses_flags = true;
			put_jump(m, on(PRED_FLAG0), past);
		}
		put_field(m, field, arm ? "" : "@%first ", arm ? always() : on(PRED_FIRST));
		if (chance(m, 8))
			put_field(m, field, arm ? "" : "@%first ", arm ? always() : on(PRED_FIRST));
		put_label(m, past);
	}
	put_label(m, skip);
}

static void put_map_copy(struct maker *m)
{
	int past = label(m);
	bool alone = m->p->warps == 1 && chance(m, 50), sometimes = chance(m, 8);
	put_warp_sync(m);
	if (sometimes) {
		m->p->uses_flags = true;
		put_jump(m, on(PRED_FLAG1), past);
	}
	struct step *s = put(m,
		"\t%stensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu."
		"sync.aligned [%%mapg], [%%tmpl], 128;",
		alone ? "" : "@%warp0 ");
	s->op = OP_MAP_COPY;
	s->guard = alone ? always() : on(PRED_WARP0);
	put_label(m, past);
	put(m, "\t%sfence.proxy.tensormap::generic.acquire.gpu [%%mapg], 128;",
		alone ? "" : "@%warp0 ");
}

/* A copy by the box that is in the map then; all of one base, as no gap between two may be less
 * than a box (map-gap). */
static void put_boxed(struct maker *m)
{
	struct place box = {.var = chance(m, 30), .base = m->map_base, .by_map = 1 + below(m, 2)};
	bool store = chance(m, 60);
	char guard[32], at[48];
	int who = below(m, 3), q = temp(m);
	struct cond c = on(who == 1 ? PRED_WARP0 : PRED_FIRST);
	if (who == 2) {
		put(m, "\tand.pred %%q%d, %%warp0, %%elect;", q);
		snprintf(guard, sizeof(guard), "@%%q%d ", q);
	} else {
		cond_name(m, c, guard, sizeof(guard));
	}
	address(m, &box, false, at, sizeof(at));
	if (!store)
		put(m, "\t%smbarrier.arrive.expect_tx.shared.b64 _, [bars+%d], %d;", guard,
			8 * MB_SHOT, OTHER_BOX * OTHER_BOX * OTHER_ELEMENT);
	const char *where = box.by_map == 2 ? "{%one, %one}" : "{%one}";
	struct step *s = store ? put(m,
					 "\t%scp.async.bulk.tensor.%dd.global.shared::cta.tile."
					 "bulk_group [%%mapc, %s], %s;",
					 guard, box.by_map, where, at)
			       : put(m,
					 "\t%scp.async.bulk.tensor.%dd.shared::cluster.global.tile."
					 "mbarrier::complete_tx::bytes %s, "
					 "[%%mapc, %s], [bars+%d];",
					 guard, box.by_map, at, where, 8 * MB_SHOT);
	s->op = store ? OP_BULK_STORE : OP_BULK_LOAD;
	s->guard = c;
	s->to = box;
	s->from = (struct place){.var = VAR_MAP, .size = 256};
	s->features |= bit(FEATURE_BOX);
	if (store) {
		put(m, "\t%scp.async.bulk.commit_group;", guard);
		put(m, "\t%scp.async.bulk.wait_group.read 0;", guard);
	}
}

void declare_map(struct maker *m)
{
	put(m, "\t.shared .align 128 .b8 template[128];");
	put(m, "\t.reg .b32 %%tmpl32;");
	put(m, "\t.reg .b64 %%tmpl, %%mapg, %%mapc;");
	put(m, "\tmov.u32 %%tmpl32, template;");
	put(m, "\tcvt.u64.u32 %%tmpl, %%tmpl32;");
	put(m, "\tld.param.u64 %%mapg, [%s_built];", m->p->name);
	put(m, "\tcvta.to.global.u64 %%mapg, %%mapg;");
	put(m, "\tcvta.global.u64 %%mapc, %%mapg;");
	m->map_base = 128 * below(m, 10);
	put_template(m);
	put_warp_sync(m);
}

void make_built_map(struct maker *m, const struct who *who)
{
	put_fields(m);
	put_map_copy(m);
	for (int i = 0; i < 2; i++) {
		put_write(m);
		make_body(m, who, below(m, 2));
		maybe_fence(m);
		put_sync(m, 0, all_warps(m), true);
		if (chance(m, 70))
			put_boxed(m);
	}
	if (chance(m, 15)) /* for the next round */
		put_fields(m);
}
