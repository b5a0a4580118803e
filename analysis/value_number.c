/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In: solved nodes. Out: a number per node, equal only for equal values: the hash-consed expression
 * over SSA definitions. What cannot be an expression (loads, phis, guarded definitions, votes) gets
 * a number of its own. Nodes are numbered when they are asked for, behind those that they are made of.
 */
#include "analysis/value_private.h"

#include <string.h>

#define KEY_WORDS 8

struct entry {
	uint32_t key[KEY_WORDS];
	uint32_t number;
};

struct slot {
	uint32_t hash, entry; /* entry + 1; 0: free */
};

struct number_table {
	struct entry *v;
	uint32_t n, cap;
	struct slot *slots; /* open addressing */
	uint32_t size;	    /* a power of two */
};

enum key_kind { KEY_IMM = 1, KEY_SPECIAL, KEY_SYMBOL, KEY_OFFSET, KEY_NOT, KEY_INDEXED, KEY_INSN };

static void put_wide(uint32_t *key, uint64_t v)
{
	key[0] = (uint32_t)v;
	key[1] = (uint32_t)(v >> 32);
}

static uint64_t hash_key(const uint32_t *key)
{
	uint64_t h = 0;

	for (uint32_t i = 0; i < KEY_WORDS; i += 2) {
		h = (h ^ (key[i] | (uint64_t)key[i + 1] << 32)) * UINT64_C(0x9e3779b97f4a7c15);
		h ^= h >> 29;
	}
	return h;
}

static uint32_t fresh(struct values *vs, bool invariant)
{
	ARENA_PUSH(vs->arena, vs->invariant, vs->nnumbers, vs->numbers_cap, invariant);
	return vs->nnumbers - 1;
}

static struct slot *free_slot(const struct number_table *t, uint32_t hash)
{
	while (t->slots[hash & (t->size - 1)].entry)
		hash++;
	return &t->slots[hash & (t->size - 1)];
}

static void enlarge(struct values *vs, uint32_t size)
{
	struct number_table *t = vs->numbers, old = *t;

	t->size = size;
	t->slots = ARENA_NEW(vs->arena, struct slot, t->size);
	for (uint32_t i = 0; i < old.size; i++)
		if (old.slots[i].entry)
			*free_slot(t, old.slots[i].hash) = old.slots[i];
	ARENA_GIVE_BACK(vs->arena, old.slots, old.size);
}

static uint32_t intern(struct values *vs, const uint32_t *key, bool invariant)
{
	struct number_table *t = vs->numbers;
	uint32_t hash = (uint32_t)hash_key(key);

	if (2 * t->n >= t->size)
		enlarge(vs, 2 * t->size);
	for (uint32_t i = hash;; i++) {
		const struct slot *slot = &t->slots[i & (t->size - 1)];

		if (!slot->entry)
			break;
		if (slot->hash == hash &&
			memcmp(t->v[slot->entry - 1].key, key, sizeof(t->v->key)) == 0)
			return t->v[slot->entry - 1].number;
	}
	struct entry entry = {.number = fresh(vs, invariant)};

	memcpy(entry.key, key, sizeof(entry.key));
	ARENA_PUSH(vs->arena, t->v, t->n, t->cap, entry);
	*free_slot(t, hash) = (struct slot){hash, t->n};
	return entry.number;
}

static void number_node(struct values *, uint32_t node);

static uint32_t number_of_node(struct values *vs, uint32_t node)
{
	if (node >= vs->nsolved)
		return fresh(vs, false);
	if (vs->number[node] == NONE)
		number_node(vs, node);
	return vs->number[node];
}

static bool volatile_special(uint8_t special)
{
	return special == SPECIAL_CLOCK || special == SPECIAL_OTHER || special == SPECIAL_WARPID ||
	       special == SPECIAL_SMID;
}

static uint32_t operand_number(struct values *vs, const struct operand *o)
{
	uint32_t key[KEY_WORDS] = {0}, number = NONE;

	switch ((enum operand_kind)o->kind) {
	case OPERAND_IMM:
	case OPERAND_FLOAT:
		key[0] = KEY_IMM;
		put_wide(&key[1], (uint64_t)o->imm);
		key[3] = o->kind;
		return intern(vs, key, true);
	case OPERAND_SPECIAL:
		if (volatile_special(o->special))
			return fresh(vs, false);
		key[0] = KEY_SPECIAL;
		key[1] = o->id;
		key[2] = o->special;
		return intern(vs, key, true);
	case OPERAND_SYMBOL:
		key[0] = KEY_SYMBOL;
		key[1] = o->id;
		put_wide(&key[2], (uint64_t)operand_offset(vs->fn, o));
		return intern(vs, key, true);
	case OPERAND_REG:
		if (o < vs->fn->operands || o >= vs->fn->operands + vs->fn->noperands ||
			o->component)
			return fresh(vs, false);
		number = number_of_node(vs, o->node);
		if (o->negated) {
			key[0] = KEY_NOT;
			key[1] = number;
			number = intern(vs, key, vs->invariant[number]);
		}
		break;
	case OPERAND_MEM: {
		const struct operand *base = operand_child(vs->fn, o, 0);

		if (!base)
			return fresh(vs, false);
		number = operand_number(vs, base);
		if (!o->indexed)
			return number;
		uint32_t index = operand_number(vs, operand_child(vs->fn, o, 1));

		key[0] = KEY_INDEXED;
		key[1] = number;
		key[2] = index;
		return intern(vs, key, vs->invariant[number] && vs->invariant[index]);
	}
	case OPERAND_SINK:
	case OPERAND_LABEL:
	case OPERAND_LIST:
	case OPERAND_PAIR:
	case OPERAND_TUPLE:
	case OPERAND_NAME:
		return fresh(vs, false);
	}
	if (o->offset) {
		memset(key, 0, sizeof(key));
		key[0] = KEY_OFFSET;
		key[1] = number;
		put_wide(&key[2], (uint64_t)operand_offset(vs->fn, o));
		number = intern(vs, key, vs->invariant[number]);
	}
	return number;
}

static bool has_expression(const struct values *vs, const struct insn *insn)
{
	bool fixed;

	if (insn->op == OP_ld)
		return insn_has(insn, MOD_const) || value_loads_parameter(vs, insn, &fixed);
	if (insn->op == OP_addc || insn->op == OP_subc || insn->op == OP_set ||
		insn_has(insn, MOD_cc))
		return false;
	return insn_is_arithmetic(insn) || insn->op == OP_elect || insn->op == OP_getctarank;
}

static bool list_number(struct values *vs, const struct operand *o, uint32_t *out, bool *invariant)
{
	uint32_t key[KEY_WORDS] = {0};

	if (o->kind != OPERAND_LIST || operand_count(o) > 4) {
		uint32_t n = operand_number(vs, o);

		*invariant &= vs->invariant[n];
		*out = n;
		return o->kind != OPERAND_LIST;
	}
	key[0] = KEY_INDEXED;
	for (uint32_t i = 0; i < operand_count(o); i++) {
		uint32_t n = operand_number(vs, operand_child(vs->fn, o, i));

		key[i + 2] = n + 1;
		*invariant &= vs->invariant[n];
	}
	*out = intern(vs, key, *invariant);
	return true;
}

static bool is_expression(const struct values *vs, const struct node *n)
{
	const struct insn *insn = n->kind == NODE_DEF ? &vs->fn->insns[n->insn] : NULL;

	return insn && n->previous == NONE && insn->count <= 5 && has_expression(vs, insn);
}

static uint32_t expression(struct values *vs, const struct node *n)
{
	const struct insn *insn = &vs->fn->insns[n->insn];
	uint32_t key[KEY_WORDS] = {KEY_INSN | (uint32_t)insn->op << 8};
	uint64_t mods = insn->op;
	bool invariant = true;

	if (insn->op == OP_mov || insn->op == OP_LINK_MOV) {
		const struct operand *d = insn_operand(vs->fn, insn, 0),
				     *s = insn_source(vs->fn, insn, 0);

		if (d->kind == OPERAND_REG && s && s->kind != OPERAND_LIST)
			return operand_number(vs, s);
	}
	for (uint32_t i = 0; i < insn->nmods; i++)
		mods = mods * 1000003 + insn->mods[i];
	put_wide(&key[1], mods);
	key[3] = insn_slot(vs->fn, insn, n->reg);
	for (uint32_t k = 1; k < insn->count; k++)
		if (!list_number(vs, insn_operand(vs->fn, insn, k), &key[k + 3], &invariant))
			return fresh(vs, false);
	return intern(vs, key, invariant);
}

/* In text order: blocks in reverse postorder, in a block phis first. */
static bool precedes(const struct values *vs, uint32_t a, uint32_t b)
{
	const struct node *x = &vs->ssa.nodes[a], *y = &vs->ssa.nodes[b];

	if (x->block != y->block)
		return x->block < y->block;
	if (x->kind != NODE_DEF || y->kind != NODE_DEF)
		return x->kind != NODE_DEF && (y->kind == NODE_DEF || a < b);
	return x->insn != y->insn ? x->insn < y->insn : a < b;
}

/* All that comes into the phi stands before it: it may be one value. */
static bool is_join(const struct values *vs, uint32_t node)
{
	const struct node *n = &vs->ssa.nodes[node];

	for (uint32_t i = 0; n->block && i < vs->cfg->blocks[n->block].pred.n; i++) {
		uint32_t input = vs->ssa.inputs[n->input + i];

		if (input >= vs->nsolved || !precedes(vs, input, node))
			return false;
	}
	return n->block && vs->cfg->blocks[n->block].pred.n;
}

/* In a kernel what stands outside all loops has one value in a thread, whatever makes it; a
 * function may be called again. */
static bool made_once(const struct values *vs, const struct node *n)
{
	return vs->is_entry && n->block < vs->cfg->n && !vs->cfg->blocks[n->block].loop_depth;
}

static uint32_t phi_number(struct values *vs, const struct node *n)
{
	uint32_t same = vs->number[vs->ssa.inputs[n->input]];

	for (uint32_t i = 1; i < vs->cfg->blocks[n->block].pred.n; i++)
		if (vs->number[vs->ssa.inputs[n->input + i]] != same)
			return fresh(vs, made_once(vs, n));
	return same;
}

/* Stacks what is to be numbered first. */
static void push_part(struct values *vs, uint32_t node, uint32_t *depth)
{
	if (node < vs->nsolved && vs->number[node] == NONE)
		ARENA_PUSH(vs->arena, vs->stack, *depth, vs->stack_cap, node);
}

static void push_operand(
	struct values *vs, const struct operand *o, uint32_t *depth, uint32_t nested)
{
	if (o->kind == OPERAND_REG)
		push_part(vs, o->node, depth);
	for (uint32_t i = 0; nested < 4 && i < operand_count(o); i++)
		push_operand(vs, operand_child(vs->fn, o, i), depth, nested + 1);
}

static void push_parts(struct values *vs, uint32_t node, uint32_t *depth)
{
	const struct node *n = &vs->ssa.nodes[node];

	if (n->kind == NODE_PHI)
		for (uint32_t i = 0; i < vs->cfg->blocks[n->block].pred.n; i++)
			push_part(vs, vs->ssa.inputs[n->input + i], depth);
	else
		for (uint32_t k = 1; k < vs->fn->insns[n->insn].count; k++)
			push_operand(
				vs, insn_operand(vs->fn, &vs->fn->insns[n->insn], k), depth, 0);
}

/* What a node is made of stands before it, so this ends. */
static void number_node(struct values *vs, uint32_t node)
{
	uint32_t depth = 0;

	ARENA_PUSH(vs->arena, vs->stack, depth, vs->stack_cap, node);
	while (depth) {
		uint32_t top = vs->stack[depth - 1], before = depth;
		const struct node *n = &vs->ssa.nodes[top];
		bool made = n->kind == NODE_PHI ? is_join(vs, top) : is_expression(vs, n);

		if (made && vs->number[top] == NONE)
			push_parts(vs, top, &depth);
		if (depth > before)
			continue;
		depth--;
		if (vs->number[top] == NONE)
			vs->number[top] = !made			? fresh(vs, made_once(vs, n))
					  : n->kind == NODE_PHI ? phi_number(vs, n)
								: expression(vs, n);
	}
}

void values_number(struct values *vs)
{
	vs->number = memset(ARENA_UNSET(vs->arena, uint32_t, vs->nsolved + 1), 0xff,
		sizeof(*vs->number) * (vs->nsolved + (size_t)1));
	vs->numbers = ARENA_NEW(vs->arena, struct number_table, 1);
	enlarge(vs, 256);
}

uint32_t value_number(const struct values *vs, uint32_t insn, const struct operand *o)
{
	struct values *mutable_vs = (struct values *)(uintptr_t)vs;

	if (o->kind == OPERAND_REG &&
		(o < vs->fn->operands || o >= vs->fn->operands + vs->fn->noperands))
		return number_of_node(mutable_vs, ssa_node_before(&mutable_vs->ssa, insn, o->id));
	return operand_number(mutable_vs, o);
}

bool value_number_invariant(const struct values *vs, uint32_t number)
{
	return number < vs->nnumbers && vs->invariant[number];
}
