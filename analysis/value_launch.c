/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In: a function's directives and variables. Out: how many threads run it at most, and what stands
 * for dynamic shared memory, with the alignment that operands prove, and what depends on that.
 */
#include "analysis/value_solver.h"

static void set_threads(struct values *vs)
{
	const struct module *module = vs->fn->module;
	const struct function_info *info = &module->functions[vs->fn->index];
	uint32_t req = info->ndim[DIRECTIVE_REQNTID], max = info->ndim[DIRECTIVE_MAXNTID];
	uint32_t total = 1024;

	vs->is_entry = info->is_entry;
	if (req) {
		const uint32_t *d = info->dim[DIRECTIVE_REQNTID];

		vs->exact_threads = true;
		for (uint32_t k = 0; k < 3; k++)
			vs->threads[k] = d[k] ? d[k] : 1;
		vs->threads_total = vs->threads[0] * vs->threads[1] * vs->threads[2];
		return;
	}
	if (max) {
		const uint32_t *d = info->dim[DIRECTIVE_MAXNTID];
		uint64_t product =
			(uint64_t)(d[0] ? d[0] : 1) * (d[1] ? d[1] : 1) * (d[2] ? d[2] : 1);

		total = product < 1024 ? (uint32_t)product : 1024;
	}
	if (vs->options->maxntid && (!max || vs->options->override_directives) &&
		vs->options->maxntid < 1024)
		total = vs->options->maxntid;
	/* .maxntid bounds the product only (ISA 11.4.2), so each dimension may be as large */
	vs->threads_total = total;
	vs->threads[0] = vs->threads[1] = total;
	vs->threads[2] = total < 64 ? total : 64;
}

/* The better aligned of two symbols, `best' being one of .extern .shared memory or NONE. */
static uint32_t better_of(const struct function *fn, uint32_t best, uint32_t id)
{
	const struct symbol *symbol = function_symbol(fn, id);

	if (!symbol_is_dynamic_shared(symbol))
		return best;
	return best == NONE || symbol->align > function_symbol(fn, best)->align ? id : best;
}

static uint32_t find_dynamic_shared(const struct function *fn)
{
	const struct module *module = fn->module;
	uint32_t best = NONE;

	for (uint32_t i = 0; i < module->ndynamic_shared; i++)
		best = better_of(fn, best, module->dynamic_shared[i]);
	for (uint32_t i = 0; i < fn->nsymbols; i++)
		best = better_of(fn, best, module->nsymbols + i);
	return best;
}

void launch_find(struct values *vs)
{
	const uint64_t others = UINT64_C(1) << SPECIAL_TID_Y | UINT64_C(1) << SPECIAL_TID_Z | UINT64_C(1) << SPECIAL_TID;

	vs->dynamic_shared = find_dynamic_shared(vs->fn);
	set_threads(vs);
	vs->flat = vs->exact_threads ? vs->threads[1] == 1 && vs->threads[2] == 1
				     : !(vs->ssa.specials & others);
}

#define EVIDENCE_MOST 10 /* operands swizzled by 128 bytes repeat every 1024 (ISA 9.7.15.5.1) */

/* The binary logarithm of the alignment that one operand's being right would prove; 0: none. */
static uint32_t evidence_of(struct values *vs, uint32_t insn, const struct touch *t)
{
	const struct operand *o = t->operand == UINT8_MAX
					  ? NULL
					  : insn_operand(vs->fn, &vs->fn->insns[insn], t->operand);
	bool tensor = t->extent == EXTENT_TENSOR_LOAD || t->extent == EXTENT_TENSOR_STORE;
	struct descriptor d;

	if (!o || (!tensor && t->extent != EXTENT_WGMMA))
		return 0;
	struct value v = value_of(vs, insn, o);
	uint32_t most = 7; /* tensor copies: 128 bytes (ISA 9.7.9.27.1.2) */

	if (!tensor) {
		if (!value_descriptor(vs, &v, &d) || !d.high_known || d.swizzle >> 1 != 1 ||
			d.base_offset || d.start.lo % 1024 || d.start.stride % 1024)
			return 0;
		v = d.start;
		most = EVIDENCE_MOST;
	}
	if (v.base != BASE_SYMBOL || v.id != vs->dynamic_shared || v.lo < -VALUE_FAR ||
		v.hi > VALUE_FAR)
		return 0;
	uint64_t bits = (uint64_t)v.lo | v.stride;
	uint32_t zeros = bits ? (uint32_t)__builtin_ctzll(bits) : most;

	return zeros < most ? zeros : most;
}

bool launch_find_alignment(struct values *vs)
{
	uint32_t best = 0;

	if (vs->dynamic_shared == NONE || !(vs->options->assume & ASSUME_ALIGNED_TMA))
		return false;
	/* what is asked here is asked again where there is news */
	for (uint32_t n = 0; n < vs->cfg->active.n && best < EVIDENCE_MOST; n++) {
		uint32_t i = vs->cfg->active.v[n];

		for (uint32_t k = 0;
			vs->cfg->block_of[i] != NONE && k < vs->cfg->effects[i]->ntouches; k++) {
			uint32_t log2 = evidence_of(vs, i, &vs->cfg->effects[i]->touches[k]);

			best = log2 > best ? log2 : best;
		}
	}
	uint32_t align = function_symbol(vs->fn, vs->dynamic_shared)->align;

	if (UINT32_C(1) << best <= align)
		return false;
	vs->assumed_align = best;
	return true;
}

static bool names_dynamic_shared(const struct values *vs, const struct operand *o, uint32_t depth)
{
	const struct symbol *symbol =
		o->kind == OPERAND_SYMBOL ? function_symbol(vs->fn, o->id) : NULL;

	if (symbol && symbol_is_dynamic_shared(symbol))
		return true;
	for (uint32_t i = 0; depth < 4 && i < operand_count(o); i++)
		if (names_dynamic_shared(vs, operand_child(vs->fn, o, i), depth + 1))
			return true;
	return false;
}

static bool makes_dynamic_shared(const struct values *vs, uint32_t node)
{
	const struct node *n = &vs->ssa.nodes[node];
	const struct insn *insn = n->kind == NODE_DEF ? &vs->fn->insns[n->insn] : NULL;

	for (uint32_t k = 1; insn && k < insn->count; k++)
		if (names_dynamic_shared(vs, insn_operand(vs->fn, insn, k), 0))
			return true;
	return false;
}

/* Of a load nothing comes but of a parameter, which is at none of these addresses. */
static bool is_load(const struct values *vs, uint32_t node)
{
	const struct node *n = &vs->ssa.nodes[node];

	return n->kind == NODE_DEF && (vs->fn->insns[n->insn].op == OP_ld || vs->fn->insns[n->insn].op == OP_ldu);
}

/* What is on the stack, and all that is made of it, into `anew`. */
static void add_users(struct solver *s, uint32_t depth)
{
	struct values *vs = s->vs;

	while (depth) {
		uint32_t node = vs->stack[--depth];

		if (bits_has(s->anew, s->rank[node]))
			continue;
		bits_set(s->anew, s->rank[node]);
		for (uint32_t u = vs->user_at[node]; u < vs->user_at[node + 1]; u++)
			if (!is_load(vs, vs->users[u]))
				ARENA_PUSH(vs->arena, vs->stack, depth, vs->stack_cap, vs->users[u]);
	}
}

void launch_find_dependent(struct solver *s)
{
	struct values *vs = s->vs;
	uint32_t depth = 0;

	bits_zero(s->anew);
	for (uint32_t i = 0; i < vs->nsolved; i++)
		if (makes_dynamic_shared(vs, i))
			ARENA_PUSH(vs->arena, vs->stack, depth, vs->stack_cap, i);
	add_users(s, depth);
}

/* What holds where the node stands, or on a way into it, or whether it is guarded, follows from something else. */
static bool holds_otherwise(const struct values *vs, const struct bits blocks, uint32_t node, uint32_t clock)
{
	const struct node *n = &vs->ssa.nodes[node];
	const struct block *block = &vs->cfg->blocks[n->block];

	if (n->kind == NODE_UNDEFINED)
		return false;
	if (n->kind == NODE_DEF)
		return bits_has(blocks, n->block) ||
		       (n->previous != NONE && context_guard_since(vs, vs->ssa.guard_of[n->insn],
						       vs->fn->insns[n->insn].guard_negated, clock));
	for (uint32_t i = 0; i < block->pred.n; i++)
		if (bits_has(blocks, block->pred.v[i]) ||
			context_branch_since(vs, block->pred.v[i], n->block, clock))
			return true;
	return false;
}

bool launch_find_outdated(struct solver *s, uint32_t clock)
{
	struct values *vs = s->vs;
	uint32_t depth = 0;

	if (!context_any_since(vs, clock))
		return false;
	struct bits blocks = bits_new(vs->arena, vs->cfg->n + 1);

	context_blocks_since(vs, clock, blocks);
	bits_zero(s->anew);
	for (uint32_t i = 0; i < vs->nsolved; i++)
		if (holds_otherwise(vs, blocks, i, clock))
			ARENA_PUSH(vs->arena, vs->stack, depth, vs->stack_cap, i);
	add_users(s, depth);
	ARENA_GIVE_BACK(vs->arena, blocks.words, blocks.nwords);
	return bits_any(s->anew);
}
