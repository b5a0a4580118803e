/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stand-in for the value analysis until it lands: registers with one definition are followed back to
 * symbols, constants and parameters; everything else is unknown and may touch anything. Weak symbols,
 * so that the true stage replaces it by being linked.
 */
#include "analysis/access.h"
#include "analysis/regs.h"

#define INTERIM __attribute__((weak))

struct values {
	const struct function *fn;
	const struct cfg *cfg;
	uint32_t *def, *ndef; /* by register */
	bool *varies;         /* by register: may differ between threads */
};

static bool source_varies(const struct values *v, const struct insn *insn, const struct insn_regs *r)
{
	if (insn->op == OP_mbarrier || insn->op == OP_elect || insn->op == OP_atom ||
		insn->op == OP_vote || insn->op == OP_match || insn->op == OP_activemask ||
		(insn->op == OP_ld && !insn_has(insn, MOD_param)))
		return true;
	for (uint32_t k = 0; k < insn->count; k++) {
		const struct operand *o = insn_operand(v->fn, insn, k);

		if (o->kind == OPERAND_SPECIAL && (o->special < SPECIAL_NTID_X || o->special == SPECIAL_LANEID ||
							  o->special == SPECIAL_WARPID))
			return true;
	}
	for (uint32_t k = 0; k < r->uses.n; k++)
		if (v->varies[r->uses.v[k]])
			return true;
	return false;
}

INTERIM struct values *values_solve(const struct function *fn, const struct cfg *cfg,
	const struct analysis_options *options, struct arena *arena, struct budget *budget, uint32_t *used)
{
	struct values *v = ARENA_NEW(arena, struct values, 1);
	struct insn_regs r = {0};

	(void)options, (void)budget, (void)used;
	*v = (struct values){fn, cfg, ARENA_NEW(arena, uint32_t, fn->nregs),
		ARENA_NEW(arena, uint32_t, fn->nregs), ARENA_NEW(arena, bool, fn->nregs)};
	for (uint32_t i = 0; i < fn->ninsns; i++) {
		regs_of(fn, &fn->insns[i], arena, &r);
		for (uint32_t k = 0; k < r.defs.n; k++) {
			v->def[r.defs.v[k]] = i;
			v->ndef[r.defs.v[k]]++;
		}
	}
	for (bool changed = true; changed;) {
		changed = false;
		for (uint32_t i = 0; i < fn->ninsns; i++) {
			regs_of(fn, &fn->insns[i], arena, &r);
			bool varies = source_varies(v, &fn->insns[i], &r);

			for (uint32_t k = 0; k < r.defs.n; k++) {
				changed |= varies && !v->varies[r.defs.v[k]];
				v->varies[r.defs.v[k]] |= varies;
			}
		}
	}
	return v;
}

static struct value unknown(void)
{
	return (struct value){.base = BASE_UNKNOWN, .lo = INT64_MIN, .hi = INT64_MAX};
}

static struct value number(int64_t lo, int64_t hi)
{
	return (struct value){.base = BASE_NUMBER, .lo = lo, .hi = hi, .stride = lo != hi};
}

static struct value plus(struct value a, struct value b)
{
	if (a.base == BASE_NUMBER) {
		struct value t = a;

		a = b;
		b = t;
	}
	if (b.base != BASE_NUMBER || a.base == BASE_UNKNOWN)
		return a.base == BASE_SYMBOL || a.base == BASE_PARAM
			? (a.lo = INT64_MIN, a.hi = INT64_MAX, a)
			: unknown();
	if (a.lo == INT64_MIN || b.lo == INT64_MIN || a.lo > INT32_MAX || a.lo < INT32_MIN) {
		a.lo = INT64_MIN;
		a.hi = INT64_MAX;
		return a;
	}
	a.lo += b.lo;
	a.hi += b.hi;
	a.stride = 1;
	return a;
}

static struct value of_operand(const struct values *, const struct operand *, uint32_t depth);

static struct value of_reg(const struct values *v, uint32_t reg, uint32_t depth)
{
	if (depth > 24 || v->ndef[reg] != 1)
		return unknown();
	const struct insn *insn = &v->fn->insns[v->def[reg]];
	struct value a = unknown(), b = unknown();

	if (insn->count > 1)
		a = of_operand(v, insn_operand(v->fn, insn, 1), depth + 1);
	if (insn->count > 2)
		b = of_operand(v, insn_operand(v->fn, insn, 2), depth + 1);
	switch (insn->op) {
	case OP_mov:
	case OP_cvt:
	case OP_cvta:
	case OP_LINK_MOV:
		return a;
	case OP_add:
		return plus(a, b);
	case OP_mapa:
		a.is_peer = true;
		return a;
	case OP_shl:
		if (a.base == BASE_NUMBER && b.base == BASE_NUMBER && b.lo == b.hi && b.lo < 16 &&
			a.lo >= 0 && a.hi < 65536)
			return number(a.lo << b.lo, a.hi << b.lo);
		return unknown();
	case OP_and:
	case OP_shr:
	case OP_or:
		if (a.base == BASE_SYMBOL || a.base == BASE_DESCRIPTOR) {
			a.base = BASE_DESCRIPTOR;
			return a;
		}
		return unknown();
	case OP_ld: {
		const struct operand *m = insn_operand(v->fn, insn, 1);
		const struct operand *c = m ? operand_child(v->fn, m, 0) : NULL;

		if (insn_has(insn, MOD_param) && c && c->kind == OPERAND_SYMBOL)
			return (struct value){.base = BASE_PARAM, .id = c->id, .space = SPACE_GLOBAL};
		return unknown();
	}
	default:
		return unknown();
	}
}

static struct value of_operand(const struct values *v, const struct operand *o, uint32_t depth)
{
	switch ((enum operand_kind)o->kind) {
	case OPERAND_IMM:
		return number(o->imm, o->imm);
	case OPERAND_SYMBOL:
		return (struct value){.base = BASE_SYMBOL, .id = o->id, .lo = o->imm, .hi = o->imm,
			.space = function_symbol(v->fn, o->id)->space};
	case OPERAND_SPECIAL:
		return number(0, 1023);
	case OPERAND_REG:
		return of_reg(v, o->id, depth);
	case OPERAND_MEM: {
		const struct operand *c = operand_child(v->fn, o, 0);
		struct value a = c ? of_operand(v, c, depth) : unknown();

		return c && c->kind == OPERAND_REG ? plus(a, number(c->imm, c->imm)) : a;
	}
	case OPERAND_SINK:
	case OPERAND_FLOAT:
	case OPERAND_LABEL:
	case OPERAND_LIST:
	case OPERAND_PAIR:
	case OPERAND_TUPLE:
	case OPERAND_NAME:
		break;
	}
	return unknown();
}

INTERIM struct value value_of(const struct values *v, uint32_t insn, const struct operand *o)
{
	(void)insn;
	return of_operand(v, o, 0);
}

INTERIM uint32_t value_number(const struct values *v, uint32_t insn, const struct operand *o)
{
	if (o->kind != OPERAND_REG || v->ndef[o->id] != 1)
		return insn | UINT32_C(1) << 30;
	const struct insn *def = &v->fn->insns[v->def[o->id]];
	const struct operand *a = insn_operand(v->fn, def, 1), *b = insn_operand(v->fn, def, 2);

	if (def->op == OP_setp && a && b && a->kind == OPERAND_REG && b->kind == OPERAND_IMM &&
		v->ndef[a->id] == 1 && def->nmods && a->id < 4096 && b->imm >= 0 && b->imm < 4096)
		return UINT32_C(1) << 31 | a->id << 12 | ((uint32_t)b->imm ^ (uint32_t)def->mods[0] << 4);
	return o->id;
}

INTERIM bool value_number_invariant(const struct values *v, uint32_t n)
{
	(void)v, (void)n;
	return false;
}

INTERIM bool value_uniform(const struct values *v, uint32_t insn, const struct operand *o)
{
	(void)insn;
	return o->kind == OPERAND_IMM || (o->kind == OPERAND_REG && !v->varies[o->id]);
}

INTERIM int value_decided(const struct values *v, uint32_t insn)
{
	(void)v, (void)insn;
	return -1;
}

INTERIM struct ids value_definitions(const struct values *v, uint32_t insn, uint32_t reg)
{
	(void)insn;
	return (struct ids){&v->def[reg], v->ndef[reg] ? 1 : 0};
}

INTERIM bool value_some_thread(const struct values *v, uint32_t insn, const struct operand *o, bool negated)
{
	(void)v, (void)insn, (void)o, (void)negated;
	return false;
}

static void fill(const struct function *fn, const struct values *v, uint32_t i, const struct touch *t,
	struct access *a)
{
	*a = (struct access){.insn = i,
		.proxy = t->proxy,
		.spaces = t->spaces & (SPACE_SHARED | SPACE_CLUSTER | SPACE_GLOBAL),
		.reads = t->reads,
		.writes = t->writes,
		.cp_async = fn->insns[i].op == OP_cp && t->proxy == PROXY_GENERIC && t->writes,
		.own = true,
		.peer = t->peer,
		.bytes = UINT64_MAX,
		.object = NONE};
	a->address = value_of(v, i, insn_operand(fn, &fn->insns[i], t->operand));
	a->peer |= a->address.is_peer;
	if (a->address.base == BASE_SYMBOL || a->address.base == BASE_DESCRIPTOR)
		a->object = a->address.id;
	if (t->generic_address)
		a->spaces = a->object != NONE ? SPACE_SHARED
			: a->address.base == BASE_PARAM ? SPACE_GLOBAL
							: a->spaces;
}

INTERIM void access_collect(const struct function *fn, const struct cfg *cfg, const struct values *v,
	const struct analysis_options *options, struct arena *arena, struct accesses *out)
{
	uint32_t cap = 0;

	(void)options;
	*out = (struct accesses){0};
	for (uint32_t i = 0; i < fn->ninsns; i++) {
		const struct effect *e = &cfg->effects[i];

		for (uint32_t t = 0; cfg->block_of[i] != NONE && t < e->ntouches; t++) {
			struct access a;

			if (e->touches[t].mbarrier || e->touches[t].proxy > PROXY_ASYNC)
				continue;
			fill(fn, v, i, &e->touches[t], &a);
			a.touch = (uint8_t)t;
			if (a.spaces)
				ARENA_PUSH(arena, out->v, out->n, cap, a);
		}
	}
}

INTERIM struct overlap access_overlap(const struct values *v, const struct accesses *s, uint32_t g,
	uint32_t a, const struct analysis_options *options, struct arena *arena)
{
	const struct access *x = &s->v[g], *y = &s->v[a];
	struct overlap o = {.may = true, .spaces = x->spaces & y->spaces};

	(void)v, (void)options, (void)arena;
	if ((x->spaces | y->spaces) == SPACE_GLOBAL) {
		o.may = x->address.base == BASE_PARAM && y->address.base == BASE_PARAM &&
			x->address.id == y->address.id;
		o.assumptions = ASSUME_DISTINCT_PARAMS;
		o.reason = "different parameters";
	} else if (x->object != NONE && y->object != NONE) {
		o.may = x->object == y->object;
		o.confidence = CONFIDENCE_LIKELY;
		o.reason = "distinct variables";
	}
	return o;
}

INTERIM bool access_same_mbarrier(const struct values *v, uint32_t insn_a, const struct operand *a,
	uint32_t insn_b, const struct operand *b, const struct analysis_options *options, uint32_t *used)
{
	struct value x = value_of(v, insn_a, a), y = value_of(v, insn_b, b);

	(void)options, (void)used;
	return x.base != BASE_SYMBOL || y.base != BASE_SYMBOL || x.id == y.id;
}
