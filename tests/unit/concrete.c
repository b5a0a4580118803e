/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small interpreter of integer PTX (ISA 9.7.1, 9.7.2, 9.7.5, 9.7.8, 9.7.9, 9.7.12), written apart
 * from the value analysis on purpose. Of memory only local variables are modelled: other stores do
 * nothing, other loads are not supported.
 */
#include "concrete_private.h"

#include <stdlib.h>
#include <string.h>

uint64_t concrete_base(const struct concrete *c, uint32_t symbol)
{
	if (function_symbol(c->fn, symbol)->space == SPACE_LOCAL)
		return CONCRETE_LOCAL_BASE;
	return function_symbol(c->fn, symbol)->align == 1024 ? c->shared_base : c->other_base;
}

/* The parts of a list, the low one first, as one number of so many bits. */
static uint64_t packed(const struct concrete *c, const struct operand *list, uint32_t bits)
{
	uint32_t n = operand_count(list), each = bits / n;
	uint64_t v = 0;

	for (uint32_t k = n; k-- > 0;)
		v = v << each | cut(concrete_operand(c, operand_child(c->fn, list, k)), each);
	return v;
}

uint64_t concrete_operand(const struct concrete *c, const struct operand *o)
{
	switch (o->kind) {
	case OPERAND_REG: {
		uint64_t v = c->regs[o->id] + (uint64_t)operand_offset(c->fn, o);

		v = cut(v, c->fn->regs[o->id].bits);
		return o->negated && c->fn->regs[o->id].bits == 1 ? !v : v;
	}
	case OPERAND_SPECIAL:
		return o->special == SPECIAL_TID_X     ? c->tid
		       : o->special == SPECIAL_LANEID  ? c->tid % 32
		       : o->special == SPECIAL_WARPID  ? c->tid / 32
		       : o->special == SPECIAL_CTAID_X ? c->ctaid
						       : 0;
	case OPERAND_SYMBOL:
		return concrete_base(c, o->id) + (uint64_t)operand_offset(c->fn, o);
	case OPERAND_MEM:
		return concrete_operand(c, operand_child(c->fn, o, 0));
	case OPERAND_LIST:
		return packed(c, o, 64);
	default:
		return (uint64_t)o->imm;
	}
}

enum outcome { DONE, STOP, UNKNOWN };

static bool in_local(const struct concrete *c, const struct insn *insn, uint64_t at)
{
	return insn_has(insn, MOD_local) ||
	       (!insn_has(insn, MOD_shared) && !insn_has(insn, MOD_global) &&
		       at - CONCRETE_LOCAL_BASE < 2 * sizeof(c->local));
}

static enum outcome store(struct concrete *c, const struct insn *insn)
{
	uint64_t at = concrete_operand(c, insn_operand(c->fn, insn, 0));
	const struct operand *data = insn_operand(c->fn, insn, 1);
	bool is_signed, list = data->kind == OPERAND_LIST;
	uint32_t bytes = concrete_width(insn, 0, &is_signed) / 8;

	if (!in_local(c, insn, at))
		/* a generic address that is none of a variable: no program that means something */
		return insn_has(insn, MOD_shared) || insn_has(insn, MOD_global) ? DONE : STOP;
	at -= CONCRETE_LOCAL_BASE;
	for (uint32_t k = 0; k < (list ? operand_count(data) : 1); k++, at += bytes) {
		uint64_t v = concrete_operand(c, list ? operand_child(c->fn, data, k) : data);

		if (at > sizeof(c->local) - bytes)
			return STOP;
		for (uint32_t b = 0; b < bytes; b++) {
			c->local[at + b] = (uint8_t)(v >> (8 * b));
			c->local_written[at + b] = true;
		}
	}
	return DONE;
}

static enum outcome load(struct concrete *c, const struct insn *insn)
{
	uint64_t at = concrete_operand(c, insn_operand(c->fn, insn, 1)) - CONCRETE_LOCAL_BASE;
	const struct operand *d = insn_operand(c->fn, insn, 0);
	bool is_signed, list = d->kind == OPERAND_LIST;
	uint32_t bytes = concrete_width(insn, 0, &is_signed) / 8;

	for (uint32_t k = 0; k < (list ? operand_count(d) : 1); k++, at += bytes) {
		const struct operand *to = list ? operand_child(c->fn, d, k) : d;
		uint64_t v = 0;

		if (at > sizeof(c->local) - bytes)
			return STOP;
		for (uint32_t b = 0; b < bytes; b++) {
			if (!c->local_written[at + b])
				return STOP;
			v |= (uint64_t)c->local[at + b] << (8 * b);
		}
		c->regs[to->id] =
			cut(is_signed ? (uint64_t)sign(v, 8 * bytes) : v, c->fn->regs[to->id].bits);
		c->written[to->id] = true;
	}
	return DONE;
}

static void set_result(struct concrete *c, const struct insn *insn, uint64_t v, bool second)
{
	const struct operand *d = insn_operand(c->fn, insn, 0), *p = NULL;

	if (d->kind == OPERAND_PAIR)
		p = operand_child(c->fn, d, 1), d = operand_child(c->fn, d, 0);
	if (d->kind == OPERAND_REG) {
		c->regs[d->id] = cut(v, c->fn->regs[d->id].bits);
		c->written[d->id] = true;
	}
	if (p && p->kind == OPERAND_REG) {
		c->regs[p->id] = second;
		c->written[p->id] = true;
	}
}

static enum outcome step(struct concrete *c, uint32_t i)
{
	const struct insn *insn = &c->fn->insns[i];
	const struct operand *d = insn_operand(c->fn, insn, 0);
	struct machine m = {.c = c, .insn = insn};
	uint64_t v;

	if (insn->op == OP_st)
		return store(c, insn);
	if (insn->op == OP_mov && d->kind == OPERAND_LIST) { /* the low part first */
		v = concrete_operand(c, insn_operand(c->fn, insn, 1));
		for (uint32_t k = 0; k < operand_count(d); k++) {
			uint32_t to = operand_child(c->fn, d, k)->id;

			c->regs[to] = cut(v, c->fn->regs[to].bits);
			c->written[to] = true;
			v >>= c->fn->regs[to].bits;
		}
		return DONE;
	}
	if (insn->op == OP_ld && !insn_has(insn, MOD_param))
		return load(c, insn);
	if (insn->op == OP_ld) {
		v = c->param;
	} else {
		m.bits = concrete_width(insn, 0, &m.is_signed);
		uint32_t read = insn->op == OP_cvt ? 64 : m.bits;

		m.a = insn->count > 1 ? cut(concrete_operand(c, insn_operand(c->fn, insn, 1)), read)
				      : 0;
		m.b = insn->count > 2 ? concrete_operand(c, insn_operand(c->fn, insn, 2)) : 0;
		m.d = insn->count > 3 ? concrete_operand(c, insn_operand(c->fn, insn, 3)) : 0;
		if (insn->op != OP_shl && insn->op != OP_shr)
			m.b = cut(m.b, m.bits);
		if (insn->op == OP_mov && insn_operand(c->fn, insn, 1)->kind == OPERAND_LIST)
			m.a = packed(c, insn_operand(c->fn, insn, 1), m.bits);
		if (!concrete_result(&m, &v))
			return UNKNOWN;
	}
	set_result(c, insn, v, concrete_second(&m, v));
	return DONE;
}

bool concrete_guard(const struct concrete *c, const struct insn *insn)
{
	return insn->guard == NONE || (c->regs[insn->guard] & 1) != insn->guard_negated;
}

bool concrete_run(struct concrete *c, uint32_t limit)
{
	uint32_t i = 0;

	for (c->steps = 0; i < c->fn->ninsns && c->steps < limit; c->steps++) {
		const struct insn *insn = &c->fn->insns[i];

		if (!concrete_guard(c, insn)) {
			if (c->pass)
				c->pass(c, i);
			i++;
			continue;
		}
		if (!c->see(c, i))
			return true;
		if (insn->op == OP_ret)
			return true;
		if (insn->op == OP_bra) {
			i = c->fn->labels[insn_operand(c->fn, insn, 0)->id].insn;
			continue;
		}
		enum outcome outcome = step(c, i);

		if (outcome != DONE)
			return outcome == STOP;
		i++;
	}
	return true;
}

bool concrete_run_fresh(struct concrete *c, uint32_t nregs, uint32_t limit)
{
	bool known;

	c->regs = calloc(nregs + 1, sizeof(*c->regs));
	c->written = calloc(nregs + 1, sizeof(*c->written));
	known = concrete_run(c, limit);
	free(c->regs);
	free(c->written);
	c->regs = NULL;
	c->written = NULL;
	return known;
}

/* shfl.sync.mode d|p, a, b, c, mask with all lanes there (ISA 9.7.9.6). */
static void shuffle(struct concrete *warp, uint32_t n, const struct insn *insn)
{
	uint64_t a[32];

	for (uint32_t k = 0; k < n; k++)
		a[k] = concrete_operand(&warp[k], insn_operand(warp->fn, insn, 1));
	for (uint32_t k = 0; k < n; k++) {
		uint32_t b = concrete_operand(&warp[k], insn_operand(warp->fn, insn, 2)) & 31;
		uint32_t c = (uint32_t)concrete_operand(&warp[k], insn_operand(warp->fn, insn, 3));
		uint32_t mask = c >> 8 & 31, bound = (k & mask) | (c & 31 & ~mask),
			 least = k & mask;
		uint32_t from = k;
		bool there;

		if (insn_has(insn, MOD_up))
			from = k - b, there = (int32_t)from >= (int32_t)bound;
		else if (insn_has(insn, MOD_down))
			from = k + b, there = from <= bound;
		else if (insn_has(insn, MOD_bfly))
			from = k ^ b, there = from <= bound;
		else
			from = least | (b & ~mask), there = from <= bound;
		set_result(&warp[k], insn, a[there && from < n ? from : k], there);
	}
}

/* All lanes of a warp are there, so the first is elected (ISA 9.7.13.13). */
static void elect(struct concrete *warp, uint32_t n, const struct insn *insn)
{
	for (uint32_t k = 0; k < n; k++)
		set_result(&warp[k], insn, 0, k == 0);
}

static bool step_together(struct concrete *lanes, uint32_t n, uint32_t i, bool *stop)
{
	const struct insn *insn = &lanes->fn->insns[i];

	if (insn->op == OP_shfl || insn->op == OP_elect) {
		for (uint32_t k = 0; k < n; k += 32)
			(insn->op == OP_shfl ? shuffle : elect)(
				lanes + k, n - k < 32 ? n - k : 32, insn);
		return true;
	}
	for (uint32_t k = 0; k < n; k++) {
		enum outcome outcome = concrete_guard(&lanes[k], insn) ? step(&lanes[k], i) : DONE;

		*stop |= outcome == STOP;
		if (outcome == UNKNOWN)
			return false;
	}
	return true;
}

bool concrete_run_together(struct concrete *lanes, uint32_t n, uint32_t limit)
{
	const struct function *fn = lanes->fn;
	bool stop = false;

	for (uint32_t i = 0, steps = 0; i < fn->ninsns && steps < limit && !stop; steps++) {
		const struct insn *insn = &fn->insns[i];
		uint32_t go = 0;

		for (uint32_t k = 0; k < n; k++) {
			go += concrete_guard(&lanes[k], insn);
			if (!lanes[k].see(&lanes[k], i))
				return true;
		}
		if (insn->op == OP_ret)
			return true;
		if (insn->op == OP_bra) {
			if (go && go < n)
				return true;
			i = go ? fn->labels[insn_operand(fn, insn, 0)->id].insn : i + 1;
			continue;
		}
		if (!step_together(lanes, n, i, &stop))
			return false;
		i++;
	}
	return true;
}
