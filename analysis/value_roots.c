/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In: solved nodes. Out: for each, the parameters and variables whose addresses may be part of it,
 * as a bit set: coarser than a base, but it survives joins and sums that lose the base. Products
 * and shifts are no addresses and lose their roots, but for what is divided and multiplied again.
 */
#include "analysis/value_private.h"

#include "base/bits.h"

/* One bit per 8-byte field of the parameters; fields share bits when there are very many. */
static uint64_t field_bit(uint32_t symbol, uint32_t first, int64_t offset)
{
	uint64_t field = (uint64_t)(symbol - first) * 7 + (uint64_t)(offset / 8);

	return UINT64_C(1) << field % 59;
}

static uint64_t operand_roots(const struct values *vs, const struct operand *o)
{
	if (!o) /* too few operands: ptxas will say so */
		return ROOT_UNKNOWN;
	switch ((enum operand_kind)o->kind) {
	case OPERAND_REG: {
		if (o < vs->fn->operands || o >= vs->fn->operands + vs->fn->noperands)
			return ROOT_UNKNOWN;
		uint32_t node = o->node;

		return node != NONE && node < vs->nsolved ? vs->roots[node] : ROOT_UNKNOWN;
	}
	case OPERAND_SYMBOL: {
		const struct symbol *symbol = function_symbol(vs->fn, o->id);

		if (symbol->kind == SYMBOL_FUNC || symbol->kind == SYMBOL_ALIAS)
			return ROOT_UNKNOWN;
		return symbol->space == SPACE_SHARED ? ROOT_SHARED
		       : symbol->space == SPACE_LOCAL || symbol->space == SPACE_PARAM
			       ? ROOT_LOCAL
			       : ROOT_VARIABLE;
	}
	case OPERAND_MEM: {
		const struct operand *base = operand_child(vs->fn, o, 0);
		uint64_t roots = base ? operand_roots(vs, base) : ROOT_UNKNOWN;

		if (o->indexed)
			roots |= operand_roots(vs, operand_child(vs->fn, o, 1));
		return roots;
	}
	case OPERAND_LIST: {
		uint64_t roots = 0;

		for (uint32_t i = 0; i < operand_count(o); i++)
			roots |= operand_roots(vs, operand_child(vs->fn, o, i));
		return roots;
	}
	case OPERAND_SINK:
	case OPERAND_SPECIAL:
	case OPERAND_IMM:
	case OPERAND_FLOAT:
	case OPERAND_LABEL:
	case OPERAND_PAIR:
	case OPERAND_TUPLE:
	case OPERAND_NAME:
		break;
	}
	return 0;
}

/* Half of a parameter of 64 bits, to be put together with the other one. */
static uint64_t half_roots(const struct values *vs, const struct insn *insn, uint32_t bits)
{
	const struct operand *mem = insn_source(vs->fn, insn, 0);
	const struct operand *o = mem && mem->kind == OPERAND_MEM ? operand_child(vs->fn, mem, 0) : NULL;

	if (!vs->is_entry || bits != 32 || !insn_has(insn, MOD_param) || !o || o->kind != OPERAND_SYMBOL)
		return 0;
	const struct symbol *symbol = function_symbol(vs->fn, o->id);

	return symbol->space == SPACE_PARAM && symbol->size == 8 && o->id >= vs->fn->first_param
		       ? field_bit(o->id, vs->fn->first_param, 0)
		       : 0;
}

static uint64_t load_roots(const struct values *vs, uint32_t node, const struct insn *insn)
{
	const struct operand *mem = insn_source(vs->fn, insn, 0);
	uint32_t bits = node_bits(vs, node);

	if (bits < 64)
		return half_roots(vs, insn, bits);
	if (node < vs->nsolved && value_at(vs, node)->base == BASE_PARAM)
		return field_bit(value_at(vs, node)->id, vs->fn->first_param, value_at(vs, node)->aux);
	if (!mem)
		return ROOT_UNKNOWN;
	if (insn_has(insn, MOD_param) || insn_has(insn, MOD_shared) ||
		insn_has(insn, MOD_shared__cta) || insn_has(insn, MOD_local) ||
		insn_has(insn, MOD_shared__cluster))
		return ROOT_UNKNOWN;
	uint64_t through = operand_roots(vs, mem);

	/* memory that a variable of this module or nothing known leads to may hold anything */
	if (!through || (through & ~ROOT_PARAMS & ~ROOT_LOADED))
		return ROOT_UNKNOWN;
	return through | ROOT_LOADED;
}

static const struct insn *only_definition(const struct values *vs, uint32_t node)
{
	bool is = node != NONE && vs->ssa.nodes[node].kind == NODE_DEF && vs->ssa.nodes[node].previous == NONE;

	return is ? &vs->fn->insns[vs->ssa.nodes[node].insn] : NULL;
}

/* Where the half of a register was taken out that the operand is: with 64 bits, the upper one shifted up (`whole'),
 * or as it is. NULL: not that half. */
static const struct insn *taken_from(const struct values *vs, const struct operand *o, uint32_t half, bool whole)
{
	const struct insn *def = whole ? only_definition(vs, trips_plain_node(vs, o)) : NULL;
	int64_t by;

	if (whole && half) {
		if (!def || def->op != OP_shl || !trips_constant_of(vs, insn_source(vs->fn, def, 1), &by) || by != 32)
			return NULL;
		def = only_definition(vs, trips_plain_node(vs, insn_source(vs->fn, def, 0)));
	}
	if (whole && (!def || def->op != OP_cvt || insn_type(def, 1).bits != 32 || insn_type(def, 1).is_signed))
		return NULL;
	o = whole ? insn_source(vs->fn, def, 0) : o;
	def = only_definition(vs, trips_plain_node(vs, o));
	return def && def->op == OP_mov && insn_slot(vs->fn, def, o->id) == half ? def : NULL;
}

/* The register that was taken apart and put together again, by mov or by or, or the node itself. */
static uint32_t whole_of(const struct values *vs, uint32_t node)
{
	const struct insn *put = only_definition(vs, node), *low = NULL, *high = NULL;
	const struct operand *list = put ? insn_source(vs->fn, put, 0) : NULL;

	if (put && put->op == OP_mov && list && list->kind == OPERAND_LIST && operand_count(list) == 2) {
		low = taken_from(vs, operand_child(vs->fn, list, 0), 0, false);
		high = taken_from(vs, operand_child(vs->fn, list, 1), 1, false);
	}
	for (uint32_t k = 0; put && put->op == OP_or && k < 2 && (!low || !high); k++) {
		low = taken_from(vs, insn_source(vs->fn, put, k), 0, true);
		high = taken_from(vs, insn_source(vs->fn, put, 1 - k), 1, true);
	}
	uint32_t whole = low && low == high ? trips_plain_node(vs, insn_source(vs->fn, low, 0)) : NONE;

	return whole == NONE ? node : whole;
}

/* By what an instruction multiplies (up), or divides, its first source; 0: something else. */
static uint64_t scale_of(const struct values *vs, const struct insn *insn, bool up)
{
	int64_t c;

	if (!trips_constant_of(vs, insn_source(vs->fn, insn, 1), &c) || c < 0 || insn_has(insn, MOD_hi))
		return 0;
	switch (insn->op) {
	case OP_shl:
	case OP_shr:
		return (insn->op == OP_shl) == up && c < 64 ? UINT64_C(1) << c : 0;
	case OP_mul:
	case OP_mad:
		return up ? (uint64_t)c : 0;
	case OP_div:
		return up ? 0 : (uint64_t)c;
	default:
		return 0;
	}
}

/* a / k * k is a with its low bits cut off, a * 1 is a. */
static uint64_t aligned_roots(const struct values *vs, const struct insn *insn)
{
	const struct operand *o = insn_source(vs->fn, insn, 0);
	uint64_t up = scale_of(vs, insn, true);
	uint32_t node = whole_of(vs, trips_plain_node(vs, o));

	if (up == 1)
		return operand_roots(vs, o);
	const struct insn *down = up ? only_definition(vs, node) : NULL;

	if (!down)
		return 0;
	return scale_of(vs, down, false) == up ? operand_roots(vs, insn_source(vs->fn, down, 0)) : 0;
}

/* What begins with the lowest bit. */
static uint64_t field_roots(const struct values *vs, const struct insn *insn)
{
	int64_t at;

	return trips_constant_of(vs, insn_source(vs->fn, insn, 1), &at) && !(at & 255)
		       ? operand_roots(vs, insn_source(vs->fn, insn, 0))
		       : 0;
}

/* A difference of two addresses is none; what is taken from a number is an address turned round. */
static uint64_t difference_roots(const struct values *vs, const struct insn *insn)
{
	int64_t c;
	bool turned = trips_constant_of(vs, insn_source(vs->fn, insn, 0), &c);

	return operand_roots(vs, insn_source(vs->fn, insn, turned));
}

static uint64_t definition_roots(const struct values *vs, uint32_t node)
{
	const struct node *n = &vs->ssa.nodes[node];
	const struct insn *insn = &vs->fn->insns[n->insn];
	uint64_t roots =
		n->previous != NONE && n->previous < vs->nsolved ? vs->roots[n->previous] : 0;

	switch (insn->op) {
	case OP_ld:
	case OP_ldu:
		return roots | load_roots(vs, node, insn);
	case OP_mad:
		return roots | aligned_roots(vs, insn) | operand_roots(vs, insn_source(vs->fn, insn, 2));
	case OP_sub:
		return roots | difference_roots(vs, insn);
	case OP_selp:
		return roots | operand_roots(vs, insn_source(vs->fn, insn, 0)) |
		       operand_roots(vs, insn_source(vs->fn, insn, 1));
	case OP_shl:
	case OP_mul:
		return roots | aligned_roots(vs, insn);
	case OP_bfe:
		return roots | field_roots(vs, insn);
	case OP_shr:
	case OP_div:
	case OP_rem:
	case OP_setp:
	case OP_set:
	case OP_popc:
	case OP_clz:
		return roots;
	default:
		break;
	}
	if (!insn_is_arithmetic(insn) && insn->op != OP_shfl)
		return node_bits(vs, node) >= 32 ? ROOT_UNKNOWN : roots;
	for (uint32_t k = 1; k < insn->count; k++)
		roots |= operand_roots(vs, insn_operand(vs->fn, insn, k));
	return roots;
}

static uint64_t node_roots(const struct values *vs, uint32_t node)
{
	const struct node *n = &vs->ssa.nodes[node];
	uint64_t roots = 0;

	if (n->kind == NODE_DEF)
		return definition_roots(vs, node);
	if (n->kind != NODE_PHI)
		return 0;
	const struct block *block = &vs->cfg->blocks[n->block];

	for (uint32_t i = 0; i < block->pred.n; i++) {
		uint32_t input = vs->ssa.inputs[n->input + i];

		roots |= input < vs->nsolved ? vs->roots[input] : ROOT_UNKNOWN;
	}
	return roots;
}

/* Only phis read what comes behind them; false: no phi has more than it had. */
static bool more_behind(const struct values *vs)
{
	for (uint32_t i = 0; i < vs->nsolved; i++)
		if (vs->ssa.nodes[i].kind == NODE_PHI && node_roots(vs, i) & ~vs->roots[i])
			return true;
	return false;
}

void values_find_roots(struct values *vs)
{
	vs->roots = ARENA_NEW(vs->arena, uint64_t, vs->nsolved + 1);
	/* sets only grow; each round follows all chains that lead forward */
	do
		for (uint32_t r = 0; r < vs->nsolved; r++)
			vs->roots[vs->order[r]] |= node_roots(vs, vs->order[r]);
	while (more_behind(vs));
}

uint64_t value_roots(const struct values *vs, uint32_t insn, const struct operand *o)
{
	(void)insn;
	return vs->unsolved ? ROOT_UNKNOWN : operand_roots(vs, o);
}
