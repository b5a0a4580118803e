/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operands of instructions. They wait on the builder's stack until the one that holds them is
 * complete, so that children lie side by side in function->operands. While a body is only checked
 * nothing is built, but names are looked at: they may be functions whose address is taken.
 */
#include "parser/build.h"
#include "parser/words.h"

#include <string.h>

static struct pending *top(struct build *b)
{
	return &b->stack[b->nstack - 1];
}

static uint32_t label_id(struct build *b, struct slice text)
{
	uint32_t id = names_add_label(b->names, text.text, text.size);

	if (id == NONE)
		longjmp(*b->arena->on_failure, 1);
	return id;
}

static bool is_branch(const struct build *b)
{
	return build_op(b) == OP_bra || build_op(b) == OP_brx;
}

uint32_t build_settle(struct build *b, uint32_t n)
{
	struct function *fn = b->fn;
	uint32_t first = fn->noperands;

	b->nstack -= n;
	for (uint32_t i = 0; i < n; i++) {
		const struct pending *child = &b->stack[b->nstack + i];

		if (child->operand.kind == OPERAND_NAME)
			scope_refer(&b->scope, child->operand.id,
				(struct reference){.operand = fn->noperands,
					.at = child->at,
					.required = is_branch(b)});
		ARENA_PUSH(b->arena, fn->operands, fn->noperands, b->operands_cap, child->operand);
	}
	return first;
}

static bool all_registers(const struct operand *v, uint32_t n)
{
	uint32_t i = 0;

	while (i < n && v[i].kind == OPERAND_REG)
		i++;
	return i == n;
}

uint32_t build_share(struct build *b, uint32_t first)
{
	struct function *fn = b->fn;
	const struct operand *list = fn->operands + first, *before = fn->operands + b->accumulators;
	uint32_t n = fn->noperands - first;

	if (b->nstack || build_op(b) != OP_wgmma)
		return first;
	if (n == b->naccumulators && !memcmp(list, before, sizeof(*list) * n)) {
		fn->noperands = first;
		fn->nshared += n;
		return b->accumulators;
	}
	b->accumulators = first;
	b->accumulators_text = (struct slice){0};
	b->naccumulators = all_registers(list, n) ? n : 0;
	return first;
}

void build_note_list(struct build *b, const char *text, size_t size)
{
	const struct function *fn = b->fn;

	for (uint32_t i = 0; i < b->naccumulators; i++)
		if (fn->regs[fn->operands[b->accumulators + i].id].number == NONE)
			return;
	b->accumulators_text = (struct slice){text, size};
	b->accumulators_when = b->scope.renumbered;
}

const char *build_same_list(struct build *b, const char *text)
{
	struct slice known = b->accumulators_text;

	if (!b->naccumulators || !known.size || b->accumulators_when != b->scope.renumbered || b->nstack ||
		build_op(b) != OP_wgmma || (size_t)(b->lexer.end - text) < known.size ||
		memcmp(text, known.text, known.size) != 0)
		return NULL;
	b->fn->nshared += b->naccumulators;
	return text + known.size;
}

void build_group(struct build *b, enum operand_kind kind, uint32_t n, struct span at)
{
	if (b->muted)
		return;
	uint32_t first = build_settle(b, n);

	if (kind == OPERAND_LIST)
		first = build_share(b, first);
	struct pending *parent = build_push(b, kind, at);

	parent->operand.first = first;
	parent->operand.children = n;
}

/* `call f, (5)`: the grammar took the argument list for an expression in parentheses. */
void build_constant(struct build *b)
{
	if (!b->muted && top(b)->is_parenthesised && build_op(b) == OP_call)
		build_group(b, OPERAND_TUPLE, 1, top(b)->at);
}

void build_sink(struct build *b, struct span at)
{
	if (!b->muted)
		build_push(b, OPERAND_SINK, at);
}

static char component_of(struct slice text)
{
	return text.size == 1 && strchr("xyzwrgba", text.text[0]) ? text.text[0] : 0;
}

/* Branch targets are labels, whatever else has the name (ISA 9.7.12.3-4). */
static bool must_be_label(const struct build *b)
{
	return is_branch(b) && (build_op(b) == OP_bra || b->nstack > 0);
}

/* Makes the operand what the name means; it stays a name where nothing but a label may have it. */
static void resolve(struct build *b, struct operand *operand, struct slice base, struct slice whole)
{
	struct resolved found = scope_find(&b->scope, base.text, base.size);
	uint32_t symbol = found.kind == RESOLVED_NOTHING
				  ? module_find_symbol(b->module, base.text, base.size)
				  : NONE;

	if (found.kind != RESOLVED_NOTHING) {
		operand->kind = found.kind == RESOLVED_REG ? OPERAND_REG : OPERAND_SYMBOL;
		operand->id = found.id;
	} else if (symbol != NONE) {
		operand->kind = OPERAND_SYMBOL;
		operand->id = symbol;
	} else if (base.text[0] == '%') {
		operand->kind = OPERAND_SPECIAL;
		operand->special = (uint8_t)special_find(whole.text, whole.size);
		operand->id = names_add_copy(b->names, whole.text, whole.size);
		if (operand->id == NONE)
			longjmp(*b->arena->on_failure, 1);
	}
}

static void reference(struct build *b, struct slice base, struct slice component,
	struct slice whole, struct span at)
{
	struct pending *pending = build_push(b, OPERAND_NAME, at);

	b->nstack--; /* while looking: the operands before this one */
	if (!must_be_label(b))
		resolve(b, &pending->operand, base, whole);
	if (pending->operand.kind == OPERAND_NAME)
		pending->operand.id = label_id(b, base);
	b->nstack++;
	if (pending->operand.kind != OPERAND_SPECIAL)
		pending->operand.component = component_of(component);
}

void build_reference(struct build *b, struct span at)
{
	struct slice text = build_text(b, at);

	if (!b->fn)
		build_taken(b, at);
	if (b->muted)
		return;
	const char *dot = memchr(text.text, '.', text.size);
	size_t size = dot ? (size_t)(dot - text.text) : text.size;
	struct slice component = {text.text + size + 1, dot ? text.size - size - 1 : 0};

	reference(b, (struct slice){text.text, size}, component, text, at);
}

/* `%tid .x`: blanks before the dot; the name of the special register is made without them. */
void build_component(struct build *b, struct span name, struct span component)
{
	if (b->muted)
		return;
	struct slice base = build_text(b, name), rest = build_text(b, component);
	char *whole = arena_alloc(b->arena, base.size + rest.size);

	memcpy(whole, base.text, base.size);
	memcpy(whole + base.size, rest.text, rest.size);
	reference(b, base, (struct slice){rest.text + 1, rest.size - 1},
		(struct slice){whole, base.size + rest.size},
		(struct span){name.begin, component.end});
}

static void set_offset(struct build *b, struct operand *operand, int64_t offset)
{
	struct function *fn = b->fn;

	operand->wide = offset != (int32_t)offset;
	operand->offset = (int32_t)offset;
	if (!operand->wide)
		return;
	ARENA_PUSH(b->arena, fn->wide_offsets, fn->nwide_offsets, b->wide_cap, offset);
	operand->offset = (int32_t)fn->nwide_offsets;
}

void build_add(struct build *b, struct span at)
{
	if (b->muted)
		return;
	uint64_t offset = (uint64_t)top(b)->operand.imm;

	b->nstack--;
	struct operand *base = &top(b)->operand;

	if (base->kind == OPERAND_IMM || base->kind == OPERAND_FLOAT)
		base->imm = (int64_t)((uint64_t)base->imm + offset);
	else if (b->fn)
		set_offset(b, base, (int64_t)((uint64_t)operand_offset(b->fn, base) + offset));
	top(b)->at = at;
}

void build_pair(struct build *b, struct span at)
{
	build_group(b, OPERAND_PAIR, 2, at);
}

void build_negated(struct build *b, struct span at)
{
	if (b->muted)
		return;
	top(b)->operand.negated = true;
	top(b)->at = at;
}

/* var[imm] is [var+imm]; var[r+imm] keeps both. */
void build_indexed(struct build *b, struct span at)
{
	if (b->muted)
		return;
	struct operand index = top(b)->operand;

	if (index.kind == OPERAND_IMM) {
		build_add(b, at);
		build_group(b, OPERAND_MEM, 1, at);
		return;
	}
	build_group(b, OPERAND_MEM, 2, at);
	top(b)->operand.indexed = true;
}
