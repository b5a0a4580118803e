/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In: an operand and the values of nodes. Out: what it can hold. Registers come from the solved
 * values, or are evaluated anew a few steps deep where a context (conditions that hold at the
 * place) can make them narrower.
 */
#include "analysis/value_place.h"

#define CLUSTER_MOST 16 /* CTAs of a cluster (non-portable sizes) */

struct value value_type_range(struct type type)
{
	if (type.is_signed && type.bits < 64)
		return range_span(
			-(INT64_C(1) << (type.bits - 1)), (INT64_C(1) << (type.bits - 1)) - 1, 1);
	return any(type.bits);
}

struct value value_in_type(const struct value *v, struct type type)
{
	return type.is_signed ? range_signed(v, type.bits) : range_unsigned(v, type.bits);
}

bool value_is_shared_address(const struct value *v)
{
	return (v->base == BASE_SYMBOL || v->base == BASE_DERIVED) && v->space &&
	       !(v->space & ~(SPACE_SHARED | SPACE_CLUSTER));
}

/* The sum wrapped at 32 bits where the offset is not small: then 64 bits do not hold base + offset.
 */
struct value value_extended(struct value v)
{
	const int64_t half = INT64_C(1) << 31;

	if (v.base != BASE_SYMBOL && v.base != BASE_DERIVED)
		return v;
	if (v.lo >= half &&
		v.hi < 3 * half) { /* an offset below zero, as unsigned numbers have it */
		v.lo -= 2 * half;
		v.hi -= 2 * half;
	}
	if ((v.assumptions & ASSUME_NO_WRAP) || (v.lo >= -half && v.hi < half))
		return v;
	uint64_t step = v.stride ? v.stride & -v.stride : 1;

	v.stride = step < (uint64_t)half ? step : (uint64_t)half;
	v.lo = -VALUE_FAR * 2 + (int64_t)((uint64_t)(v.lo - -VALUE_FAR * 2) % v.stride);
	v.hi = VALUE_FAR * 2 - (int64_t)(((uint64_t)VALUE_FAR * 2 - (uint64_t)v.lo) % v.stride);
	return v;
}

static struct value below(uint32_t n)
{
	return range_span(0, n ? (int64_t)n - 1 : 0, 1);
}

static struct value special_thread(const struct values *vs, uint32_t dimension, bool count)
{
	uint32_t most = vs->threads[dimension];

	if (!count)
		return below(most);
	return vs->exact_threads ? range_constant(most) : range_span(1, most, 1);
}

/* The CTAs of a cluster, or along one of its dimensions, at the most: as many as the kernel asks for (ISA 11.7), else
 * those of the largest cluster. A dimension of 0 says nothing. */
static uint32_t most_ctas(const struct values *vs, enum special_register special)
{
	const struct function_info *info = &vs->fn->module->functions[vs->fn->index];
	const uint32_t *d = info->dim[DIRECTIVE_REQNCTAPERCLUSTER];
	uint32_t n = info->ndim[DIRECTIVE_REQNCTAPERCLUSTER], most = CLUSTER_MOST;
	uint64_t all = 1;

	if (info->ndim[DIRECTIVE_MAXCLUSTERRANK] && info->dim[DIRECTIVE_MAXCLUSTERRANK][0] &&
		info->dim[DIRECTIVE_MAXCLUSTERRANK][0] < most)
		most = info->dim[DIRECTIVE_MAXCLUSTERRANK][0];
	for (uint32_t k = 0; k < n; k++)
		all = d[k] && all <= CLUSTER_MOST ? all * d[k] : UINT32_MAX;
	if (!n || all > most)
		return most;
	if (special == SPECIAL_CLUSTER_CTARANK || special == SPECIAL_CLUSTER_NCTARANK)
		return (uint32_t)all;
	uint32_t k = (uint32_t)(special - SPECIAL_CLUSTER_CTAID_X);

	return k < n ? d[k] : 1;
}

static struct value special_value(const struct values *vs, const struct operand *o)
{
	switch ((enum special_register)o->special) {
	case SPECIAL_TID_X:
	case SPECIAL_TID_Y:
	case SPECIAL_TID_Z:
		return special_thread(vs, (uint32_t)(o->special - SPECIAL_TID_X), false);
	case SPECIAL_NTID_X:
	case SPECIAL_NTID_Y:
	case SPECIAL_NTID_Z:
		return special_thread(vs, (uint32_t)(o->special - SPECIAL_NTID_X), true);
	case SPECIAL_CTAID_X:
		return range_span(0, INT32_MAX - 1, 1);
	case SPECIAL_CTAID_Y:
	case SPECIAL_CTAID_Z:
		return range_span(0, 65534, 1);
	case SPECIAL_NCTAID_X:
		return range_span(1, INT32_MAX, 1);
	case SPECIAL_NCTAID_Y:
	case SPECIAL_NCTAID_Z:
		return range_span(1, 65535, 1);
	case SPECIAL_LANEID:
		return below(32);
	case SPECIAL_WARPID:
		return below(64);
	case SPECIAL_NWARPID:
		return range_span(1, 64, 1);
	case SPECIAL_CLUSTER_CTARANK:
	case SPECIAL_CLUSTER_CTAID_X:
	case SPECIAL_CLUSTER_CTAID_Y:
	case SPECIAL_CLUSTER_CTAID_Z:
		return below(most_ctas(vs, o->special));
	case SPECIAL_CLUSTER_NCTARANK:
		return range_span(1, most_ctas(vs, o->special), 1);
	case SPECIAL_WARP_SZ:
		return range_constant(32);
	case SPECIAL_DYNAMIC_SMEM_SIZE:
	case SPECIAL_TOTAL_SMEM_SIZE:
		return range_span(0, 1 << 20, 1);
	case SPECIAL_OTHER:
	case SPECIAL_TID:
	case SPECIAL_CLUSTERID:
	case SPECIAL_NCLUSTERID:
	case SPECIAL_LANEMASK:
	case SPECIAL_SMID:
	case SPECIAL_GRIDID:
	case SPECIAL_CLOCK:
		break;
	}
	return any(64);
}

/* All .extern .shared arrays start at one place: they are one variable (ISA 5.4.3). */
static struct value symbol_value(const struct values *vs, uint32_t id, int64_t offset)
{
	const struct symbol *symbol = function_symbol(vs->fn, id);
	struct value v = range_constant(offset);

	if (symbol->kind == SYMBOL_FUNC || symbol->kind == SYMBOL_ALIAS)
		return any(64);
	v.base = BASE_SYMBOL;
	v.space = symbol->space;
	v.id = id;
	if (symbol->space == SPACE_SHARED && symbol->is_extern && vs->dynamic_shared != NONE) {
		v.id = vs->dynamic_shared;
		symbol = function_symbol(vs->fn, v.id);
	}
	v.aux = symbol->align ? (uint32_t)__builtin_ctz(symbol->align) : 0;
	if (v.id == vs->dynamic_shared && v.aux < vs->assumed_align)
		v.aux = vs->assumed_align;
	return v;
}

struct value evaluate_under(struct evaluation e, uint32_t node)
{
	struct values *vs = e.values;
	struct value v = context_apply(e.context, node, *value_at(vs, node));

	/* only pure arithmetic depends on nothing but its operands, as they are at the place of use
	 */
	if (!node_is_computed(vs, node) || range_is_empty(&v))
		return v;
	if (!e.depth || (e.fuel && !*e.fuel)) {
		vs->cuts++;
		return v;
	}
	if (e.fuel)
		--*e.fuel;
	e.depth--;
	struct value again = evaluate_definition(e, node);

	if (range_is_empty(&again))
		return again;
	return range_meet(&v, &again, node_bits(vs, node));
}

enum { MATTERS_DEPTH = 16 };

struct value evaluate_register(struct evaluation e, uint32_t node)
{
	const struct values *vs = e.values;

	if (node == NONE || node >= vs->nsolved)
		return any(64);
	if (!e.context)
		return *value_at(vs, node);
	if (e.context->place || e.context->outer)
		return place_register(e, node);
	if (!e.depth) /* no further than this */
		return context_apply(e.context, node, *value_at(vs, node));
	if (!context_matters(e.values, e.context, node, MATTERS_DEPTH))
		return *value_at(vs, node);
	return evaluate_under(e, node);
}

/* A register that is read in an unusual way. */
static struct value changed_register(struct evaluation e, const struct operand *o)
{
	const struct function *fn = e.values->fn;
	uint32_t bits = fn->regs[o->id].bits;

	if (fn->regs[o->id].vector > 1 || o->component)
		return any(bits);
	struct value v = evaluate_register(e, o->node);

	if (o->negated) {
		struct value from = range_constant(bits == 1);

		v = range_sub(&from, &v, bits == 1 ? 8 : bits);
	}
	if (!o->offset)
		return v;
	struct value offset = range_constant(operand_offset(fn, o));

	return v.base == BASE_DESCRIPTOR ? any(64) : range_add(&v, &offset, bits);
}

static inline struct value register_operand(struct evaluation e, const struct operand *o)
{
	const struct function *fn = e.values->fn;

	if (o < fn->operands || o >= fn->operands + fn->noperands)
		return any(64);
	if (o->negated || o->offset || o->component || fn->regs[o->id].vector > 1)
		return changed_register(e, o);
	return evaluate_register(e, o->node);
}

struct value evaluate_operand(struct evaluation e, uint32_t insn, const struct operand *o)
{
	const struct values *vs = e.values;
	const struct function *fn = vs->fn;

	switch ((enum operand_kind)o->kind) {
	case OPERAND_IMM:
		return range_constant(o->imm);
	case OPERAND_SPECIAL:
		return special_value(vs, o);
	case OPERAND_SYMBOL:
		return symbol_value(vs, o->id, operand_offset(fn, o));
	case OPERAND_REG:
		return register_operand(e, o);
	case OPERAND_MEM: {
		const struct operand *base = operand_child(fn, o, 0);

		if (!base)
			return any(64);
		struct value v = evaluate_operand(e, insn, base);

		if (o->indexed && operand_child(fn, o, 1)) {
			struct value index = evaluate_operand(e, insn, operand_child(fn, o, 1));

			v = range_add(&v, &index, 64);
		}
		return v;
	}
	case OPERAND_FLOAT:
	case OPERAND_SINK:
	case OPERAND_LABEL:
	case OPERAND_LIST:
	case OPERAND_PAIR:
	case OPERAND_TUPLE:
	case OPERAND_NAME:
		break;
	}
	return any(64);
}

struct value operation_source(const struct operation *op, uint32_t k)
{
	const struct operand *o = insn_source(op->e.values->fn, op->insn, k);

	if (!o)
		return any(64);
	/* most are one of these */
	if (o->kind == OPERAND_IMM)
		return range_constant(o->imm);
	return o->kind == OPERAND_REG ? register_operand(op->e, o)
				      : evaluate_operand(op->e, op->index, o);
}

/* Source k as a number of the instruction's type. */
struct value operation_number(const struct operation *op, uint32_t k)
{
	struct value v = operation_source(op, k);

	return value_in_type(&v, op->type);
}

/* A .param variable of a call holds what the latest call gave (ISA 7.1). */
bool value_loads_parameter(const struct values *vs, const struct insn *insn, bool *fixed)
{
	const struct evaluation plain = {(struct values *)(uintptr_t)vs, NULL, 0, NULL};
	const struct operand *mem = insn_source(vs->fn, insn, 0);

	if (insn->op != OP_ld || !mem || mem->kind != OPERAND_MEM)
		return false;
	struct value v = evaluate_operand(plain, 0, mem);

	*fixed = v.lo == v.hi;
	return v.base == BASE_SYMBOL && v.space == SPACE_PARAM && v.id >= vs->fn->first_param &&
	       v.id < vs->fn->first_param + vs->fn->nparams;
}
