/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Declarations: variables of the module and of bodies, registers, parameters and returns (ISA 5.1,
 * 5.4, 7.1). What is read of one gathers in b->declaration and becomes a symbol or register at each
 * name.
 */
#include "parser/build.h"
#include "parser/words.h"

#include <string.h>

void build_linkage(struct build *b, int kind)
{
	b->declaration.linkage |= 1u << (kind - TOK_EXTERN);
}

static bool has_linkage(const struct build *b, int kind)
{
	return b->declaration.linkage >> (kind - TOK_EXTERN) & 1;
}

/* The space comes first, so it starts a new declaration (but for the linkage before it). */
void build_space(struct build *b, int kind)
{
	uint32_t linkage = b->declaration.linkage;

	b->declaration =
		(struct declaration){.space = kind, .linkage = linkage, .vector = 1, .elements = 1};
}

void build_align(struct build *b, struct span number)
{
	b->declaration.align = (uint32_t)build_number(b, number);
}

void build_specifier(struct build *b, struct span at)
{
	struct slice text = build_text(b, at);
	enum modifier mod = modifier_find(text.text + 1, text.size - 1);

	if (modifier_type_bits(mod))
		b->declaration.type = mod;
	else if (mod == MOD_v2 || mod == MOD_v4 || mod == MOD_v8)
		b->declaration.vector = mod == MOD_v2 ? 2 : mod == MOD_v4 ? 4 : 8;
	else if (mod == MOD_shared__cta || mod == MOD_shared__cluster)
		b->declaration.pointer_space =
			mod == MOD_shared__cta ? SPACE_SHARED : SPACE_CLUSTER;
}

void build_pointer_space(struct build *b, enum space space)
{
	b->declaration.pointer_space = (uint8_t)space;
}

void build_dimension(struct build *b)
{
	if (b->muted)
		return;
	uint64_t size = (uint64_t)b->stack[--b->nstack].operand.imm;

	if (__builtin_mul_overflow(b->declaration.elements, size, &b->declaration.elements))
		b->declaration.elements = UINT64_MAX / 4096;
}

void build_dimension_open(struct build *b)
{
	b->declaration.open = true;
}

/* 50 MB of values need no memory: only their number counts, for `x[] = {..}`. */
void build_initialiser_begin(struct build *b)
{
	b->quiet_before = b->muted;
	b->muted = true;
}

void build_initialiser_end(struct build *b, uint32_t values)
{
	b->muted = b->quiet_before;
	b->declaration.values = values;
	b->declaration.has_values = true;
}

static uint8_t space_of(int kind)
{
	switch (kind) {
	case TOK_REG:
		return SPACE_REG;
	case TOK_GLOBAL:
		return SPACE_GLOBAL;
	case TOK_CONST:
		return SPACE_CONST;
	case TOK_SHARED:
		return SPACE_SHARED;
	case TOK_LOCAL:
		return SPACE_LOCAL;
	default:
		return SPACE_PARAM;
	}
}

static uint64_t element_bytes(const struct declaration *d)
{
	uint32_t bits = modifier_type_bits(d->type);

	return (uint64_t)(bits < 8 ? 1 : bits / 8) * (d->vector ? d->vector : 1);
}

static uint64_t bytes_of(const struct declaration *d)
{
	uint64_t elements = d->elements, bytes;

	if (d->open)
		elements *= d->has_values ? d->values : 0;
	return __builtin_mul_overflow(elements, element_bytes(d), &bytes) ? UINT64_MAX / 4096
									  : bytes;
}

static struct symbol symbol_of(const struct build *b, struct span name)
{
	const struct declaration *d = &b->declaration;
	uint64_t natural = element_bytes(d);

	return (struct symbol){
		.kind = SYMBOL_VAR,
		.space = space_of(d->space),
		.ptr_space = d->pointer_space,
		.is_extern = has_linkage(b, TOK_EXTERN),
		.is_visible = has_linkage(b, TOK_VISIBLE) || has_linkage(b, TOK_COMMON),
		.is_weak = has_linkage(b, TOK_WEAK),
		.unsized = d->open && !d->has_values,
		.size = bytes_of(d),
		.align = d->align > natural ? d->align : (uint32_t)natural,
		.type = (uint16_t)d->type,
		.name = build_name_id(b, name),
		.target = NONE,
		.at = name,
	};
}

static void add_function_symbol(struct build *b, struct symbol symbol)
{
	struct slice text = names_text(b->names, symbol.name);
	struct function *fn = b->fn;
	uint32_t id = b->module->nsymbols + fn->nsymbols;

	ARENA_PUSH(b->arena, fn->symbols, fn->nsymbols, b->symbols_cap_fn, symbol);
	if (text.size != 1 || text.text[0] != '_')
		scope_add_symbol(&b->scope, text.text, text.size, id);
}

static void mix(uint32_t *hash, uint64_t value)
{
	for (int i = 0; i < 8; i++, value >>= 8)
		*hash = (*hash ^ (uint32_t)(value & 0xff)) * 16777619u;
}

/* Parameters and returns of functions and prototypes; the sizes decide which calls fit. */
static void add_parameter(struct build *b, struct span name)
{
	bool is_return = b->header.part == PART_RETURNS;
	struct symbol symbol = symbol_of(b, name);

	mix(&b->header.signature, symbol.size * 2 + is_return);
	if (is_return)
		b->header.nreturns++;
	else
		b->header.nparameters++;
	if (!b->fn || b->header.is_prototype)
		return;
	symbol.kind = is_return ? SYMBOL_RETURN : SYMBOL_PARAM;
	if (b->declaration.space == TOK_REG) {
		struct slice text = build_text(b, name);

		scope_add_reg(&b->scope, text.text, text.size, b->declaration.type,
			(uint8_t)b->declaration.vector);
		symbol.space = SPACE_REG;
		ARENA_PUSH(b->arena, b->fn->symbols, b->fn->nsymbols, b->symbols_cap_fn, symbol);
		return;
	}
	add_function_symbol(b, symbol);
}

static void declare(struct build *b, struct span name)
{
	struct slice text = build_text(b, name);

	if (b->header.part != PART_NONE)
		add_parameter(b, name);
	else if (b->function == NONE)
		module_add_symbol(b, symbol_of(b, name));
	else if (b->fn && b->declaration.space == TOK_REG)
		scope_add_reg(&b->scope, text.text, text.size, b->declaration.type,
			(uint8_t)b->declaration.vector);
	else if (b->fn)
		add_function_symbol(b, symbol_of(b, name));
}

void build_declare(struct build *b, struct span name)
{
	declare(b, name);
	b->declaration.elements = 1;
	b->declaration.open = b->declaration.has_values = false;
	b->declaration.values = 0;
}

static void declare_numbered(struct build *b, struct span name, uint32_t n)
{
	struct slice text = build_text(b, name);

	for (uint32_t i = 0; i < n; i++) {
		struct symbol symbol = symbol_of(b, name);

		symbol.name = names_add_numbered(b->names, text.text, text.size, i);
		if (symbol.name == NONE)
			longjmp(*b->arena->on_failure, 1);
		if (b->function == NONE)
			module_add_symbol(b, symbol);
		else if (b->fn)
			add_function_symbol(b, symbol);
	}
}

/* `.reg .b32 %r<4>;` declares %r0 to %r3 (ISA 5.4.6); registers come into being when first named.
 */
void build_declare_range(struct build *b, struct span name, struct span count)
{
	struct slice text = build_text(b, name);
	uint64_t n = build_number(b, count);

	if (b->declaration.space == TOK_REG && !b->fn)
		return;
	if (b->declaration.space == TOK_REG)
		scope_add_range(&b->scope, text.text, text.size, n, b->declaration.type,
			(uint8_t)b->declaration.vector);
	else if (n > MAX_VARIABLE_RANGE)
		build_error(b, count, "more than %d variables", MAX_VARIABLE_RANGE);
	else
		declare_numbered(b, name, (uint32_t)n);
}
