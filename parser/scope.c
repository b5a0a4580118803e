/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each name of the body gets a struct local_name on first sight; names.c keeps its number as the
 * name's mark. Bindings form a stack; a block's end pops its own and restores what they hid.
 * Registers of a range come into being when first named, so `%r<1000000>` costs nothing.
 */
#include "parser/scope.h"
#include "parser/words.h"

#include <string.h>

enum { RANGE_REGS_FIRST = 6 }; /* binary logarithm of places */

void scope_init(
	struct scope *scope, struct arena *arena, struct names *names, struct function *fn)
{
	*scope = (struct scope){
		.arena = arena, .names = names, .fn = fn, .range_regs_bits = RANGE_REGS_FIRST};
	scope->range_regs = ARENA_NEW(arena, struct range_reg, 1u << RANGE_REGS_FIRST);
	names_forget(names);
}

static uint32_t name_id(struct scope *scope, const char *text, size_t size)
{
	uint32_t name = names_add(scope->names, text, size);

	if (name == NONE)
		longjmp(*scope->arena->on_failure, 1);
	return name;
}

static uint32_t local_of(struct scope *scope, uint32_t name)
{
	uint32_t local = names_mark(scope->names, name, NAMES_LOCAL);

	if (local != NONE)
		return local;
	local = scope->nlocals;
	struct local_name fresh = {name, NONE, NONE, NONE};

	ARENA_PUSH(scope->arena, scope->locals, scope->nlocals, scope->locals_cap, fresh);
	names_set_mark(scope->names, name, NAMES_LOCAL, local);
	return local;
}

void scope_open(struct scope *scope)
{
	struct open_block block = {
		scope->nbindings, scope->nopen_labels, scope->nreferences};

	ARENA_PUSH(scope->arena, scope->blocks, scope->nblocks, scope->blocks_cap, block);
}

static void settle(
	struct scope *scope, struct reference *reference, uint32_t label, uint32_t **table_entries)
{
	reference->settled = true;
	if (reference->operand == NONE) {
		table_entries[reference->table][reference->entry] = label;
		return;
	}
	struct operand *operand = &scope->fn->operands[reference->operand];

	operand->kind = OPERAND_LABEL;
	operand->id = label;
}

/* References of a name are a stack; those made inside the block are on top. */
static void settle_all(
	struct scope *scope, uint32_t label, uint32_t first, uint32_t **table_entries)
{
	uint32_t name = scope->fn->labels[label].name;
	struct local_name *local = &scope->locals[local_of(scope, name)];

	while (local->reference != NONE && local->reference >= first) {
		struct reference *reference = &scope->references[local->reference];

		settle(scope, reference, label, table_entries);
		local->reference = reference->previous;
	}
}

static void drop_views(struct scope *scope)
{
	for (uint32_t i = 0; i < 1u << PREFIX_BITS; i++)
		scope->prefixes[i].nregs = 0;
}

void scope_close(struct scope *scope, uint32_t **table_entries)
{
	struct open_block block = scope->blocks[--scope->nblocks];

	while (scope->nopen_labels > block.nlabels) {
		uint32_t label = scope->open_labels[--scope->nopen_labels];
		uint32_t local = local_of(scope, scope->fn->labels[label].name);

		scope->locals[local].label = scope->hidden_labels[--scope->nhidden_labels];
		settle_all(scope, label, block.nreferences, table_entries);
	}
	if (scope->nbindings > block.nbindings)
		drop_views(scope);
	while (scope->nbindings > block.nbindings) {
		struct binding *binding = &scope->bindings[--scope->nbindings];

		scope->renumbered += binding->numbered;
		scope->locals[binding->local].binding = binding->previous;
		ARENA_GIVE_BACK(scope->arena, binding->regs, binding->nregs);
	}
}

static bool is_numbered_name(const char *text, size_t size, struct numbered_name *name)
{
	size_t n = numbered_name_read(text, name);

	return n > 0 && n == size;
}

/* A name is declared by itself: it may hide a register of a range. A range that comes later hides it. */
static void note_alone(struct scope *scope, const char *text, size_t size)
{
	struct numbered_name name;

	if (!is_numbered_name(text, size, &name))
		return;
	struct prefix *prefix = scope_prefix_place(scope, name.prefix);

	if (prefix->text == name.prefix)
		prefix->hidden = true;
}

static void note_prefix(struct scope *scope, const char *text, size_t size, uint32_t local)
{
	if (size > SHORT_PREFIX)
		return;
	uint64_t name = short_prefix(text, size);
	struct prefix *prefix = scope_prefix_place(scope, name);

	if (!prefix->text)
		*prefix = (struct prefix){.text = name, .local = local};
}

static void bind(struct scope *scope, const char *text, size_t size, struct binding binding)
{
	binding.local = local_of(scope, name_id(scope, text, size));
	binding.numbered = binding.kind == BINDING_RANGE || is_decimal(text[size - 1]);
	scope->renumbered += binding.numbered;
	struct local_name *local = &scope->locals[binding.local];

	binding.previous = local->binding;
	local->binding = scope->nbindings;
	drop_views(scope);
	ARENA_PUSH(scope->arena, scope->bindings, scope->nbindings, scope->bindings_cap, binding);
	if (binding.kind == BINDING_RANGE)
		note_prefix(scope, text, size, binding.local);
	else
		note_alone(scope, text, size);
}

static uint32_t new_reg(struct scope *scope, struct reg reg)
{
	struct function *fn = scope->fn;

	ARENA_PUSH(scope->arena, fn->regs, fn->nregs, scope->regs_cap, reg);
	return fn->nregs - 1;
}

void scope_add_reg(
	struct scope *scope, const char *text, size_t size, enum modifier type, uint8_t vector)
{
	uint8_t bits = (uint8_t)modifier_type_bits(type);
	uint32_t reg = new_reg(scope, (struct reg){.name = name_id(scope, text, size),
					      .number = NONE,
					      .type = (uint16_t)type,
					      .bits = bits,
					      .vector = vector});

	bind(scope, text, size,
		(struct binding){.kind = BINDING_REG, .id = reg, .bits = bits, .vector = vector});
}

uint32_t scope_new_reg(struct scope *scope, const char *text, size_t size, enum modifier type)
{
	return new_reg(scope, (struct reg){.name = name_id(scope, text, size),
				      .number = NONE,
				      .type = (uint16_t)type,
				      .bits = (uint8_t)modifier_type_bits(type),
				      .vector = 1});
}

void scope_add_range(struct scope *scope, const char *text, size_t size, uint64_t count,
	enum modifier type, uint8_t vector)
{
	if (text[size - 1] >= '0' && text[size - 1] <= '9')
		scope->digit_prefixes = true;
	bind(scope, text, size,
		(struct binding){.kind = BINDING_RANGE,
			.id = scope->nranges++,
			.count = count,
			.type = (uint16_t)type,
			.bits = (uint8_t)modifier_type_bits(type),
			.vector = vector});
}

void scope_add_symbol(struct scope *scope, const char *text, size_t size, uint32_t symbol)
{
	bind(scope, text, size, (struct binding){.kind = BINDING_SYMBOL, .id = symbol});
}

/* The innermost range `prefix<count>` that holds `number`, or NONE. */
static uint32_t find_range(struct scope *scope, const char *text, size_t prefix, uint64_t number)
{
	uint32_t name = names_find(scope->names, text, prefix);
	uint32_t local = name == NONE ? NONE : names_mark(scope->names, name, NAMES_LOCAL);
	uint32_t i = local == NONE ? NONE : scope->locals[local].binding;

	while (i != NONE &&
		(scope->bindings[i].kind != BINDING_RANGE || scope->bindings[i].count <= number))
		i = scope->bindings[i].previous;
	return i;
}

struct numbered {	  /* the name of a register of a range, taken apart */
	uint32_t binding; /* NONE: no range has it */
	uint32_t number;
};

/* `%r12` is number 12 of `%r` or, where prefixes end in digits, number 2 of `%r1`. The innermost
 * wins, which is the one bound last. Assemblers read `%r05` as `%r5` [measured]. */
static struct numbered find_ranges(struct scope *scope, const char *text, size_t size)
{
	uint64_t number = 0, power = 1;
	struct numbered best = {NONE, 0};

	for (size_t prefix = size - 1; prefix > 0; prefix--, power *= 10) {
		char c = text[prefix];

		if (c < '0' || c > '9' || size - prefix > 18)
			break;
		number += (uint64_t)(c - '0') * power;
		bool last = text[prefix - 1] < '0' || text[prefix - 1] > '9';

		if ((!last && !scope->digit_prefixes) || number > UINT32_MAX)
			continue;
		uint32_t found = find_range(scope, text, prefix, number);

		if (found != NONE && (best.binding == NONE || found > best.binding))
			best = (struct numbered){found, (uint32_t)number};
	}
	return best;
}

/* Where the register is, or would be. */
static struct range_reg *range_reg_place(const struct scope *scope, uint32_t range, uint32_t number)
{
	uint64_t hash = ((uint64_t)range << 32 | number) * UINT64_C(0x9e3779b97f4a7c15);
	uint32_t mask = (1u << scope->range_regs_bits) - 1;
	uint32_t i = (uint32_t)(hash >> (64 - scope->range_regs_bits));
	struct range_reg *place = &scope->range_regs[i];

	while (place->reg && (place->number != number || place->range != range))
		place = &scope->range_regs[i = (i + 1) & mask];
	return place;
}

static void double_range_regs(struct scope *scope)
{
	struct range_reg *old = scope->range_regs;
	uint32_t n = 1u << scope->range_regs_bits;

	scope->range_regs_bits++;
	scope->range_regs = ARENA_NEW(scope->arena, struct range_reg, 2 * (size_t)n);
	for (uint32_t i = 0; i < n; i++)
		if (old[i].reg)
			*range_reg_place(scope, old[i].range, old[i].number) = old[i];
	ARENA_GIVE_BACK(scope->arena, old, n);
}

static uint32_t new_range_reg(struct scope *scope, const struct binding *range, uint32_t number)
{
	return new_reg(scope, (struct reg){.name = scope->locals[range->local].name,
				      .number = number,
				      .type = range->type,
				      .bits = range->bits,
				      .vector = range->vector});
}

static void grow_table(struct scope *scope, struct binding *range, uint32_t n)
{
	range->regs = arena_grow(scope->arena, range->regs, range->nregs * sizeof(*range->regs),
		n * sizeof(*range->regs));
	range->nregs = n;
	drop_views(scope);
}

/* Numbers are mostly dense, so that a table of them pays: of the whole range as long as there is room, else it
 * grows with the questions that it would have answered. Whether it has a place for the number. */
static bool keeps_number(struct scope *scope, struct binding *range, uint32_t number)
{
	if (number < range->nregs)
		return true;
	if (range->nasked == 0 && range->count <= scope->room) {
		scope->room -= (uint32_t)range->count;
		grow_table(scope, range, (uint32_t)range->count);
	} else if (++range->nasked > number / 16) {
		grow_table(scope, range, 2 * range->nregs > number ? 2 * range->nregs : number + 1);
	}
	return number < range->nregs;
}

/* The register of a number that the table has no place for, or had none for when it was first named. */
static uint32_t hashed_range_reg(
	struct scope *scope, struct binding *range, uint32_t number, bool kept)
{
	struct range_reg *place = range_reg_place(scope, range->id, number);

	if (place->reg)
		return place->reg - 1;
	uint32_t reg = new_range_reg(scope, range, number);

	if (kept)
		return reg;
	*place = (struct range_reg){range->id, number, reg + 1};
	range->nhashed++;
	if (++scope->nrange_regs == 1u << (scope->range_regs_bits - 1))
		double_range_regs(scope);
	return reg;
}

/* The register of that number, made when first named. */
static uint32_t range_reg(struct scope *scope, uint32_t binding, uint32_t number)
{
	struct binding *range = &scope->bindings[binding];

	if (number < range->nregs && range->regs[number])
		return range->regs[number] - 1;
	bool kept = keeps_number(scope, range, number);
	uint32_t reg = kept && !range->nhashed ? new_range_reg(scope, range, number)
					       : hashed_range_reg(scope, range, number, kept);

	if (kept)
		range->regs[number] = reg + 1;
	return reg;
}

uint32_t scope_find_unseen(struct scope *scope, struct prefix *prefix, uint32_t number)
{
	if (prefix->hidden || scope->digit_prefixes)
		return NONE;
	uint32_t b = scope->locals[prefix->local].binding;

	if (b == NONE || scope->bindings[b].kind != BINDING_RANGE ||
		number >= scope->bindings[b].count)
		return NONE;
	uint32_t reg = range_reg(scope, b, number);

	prefix->regs = scope->bindings[b].regs;
	prefix->nregs = scope->bindings[b].nregs;
	return reg;
}

struct resolved scope_find(struct scope *scope, const char *text, size_t size)
{
	struct numbered_name numbered;
	uint32_t reg = is_numbered_name(text, size, &numbered)
			       ? scope_find_numbered(scope, numbered)
			       : NONE;

	if (reg != NONE)
		return (struct resolved){RESOLVED_REG, reg};
	struct numbered range = find_ranges(scope, text, size);
	uint32_t name = names_find(scope->names, text, size);
	uint32_t local = name == NONE ? NONE : names_mark(scope->names, name, NAMES_LOCAL);
	uint32_t plain = local == NONE ? NONE : scope->locals[local].binding;

	while (plain != NONE && scope->bindings[plain].kind == BINDING_RANGE)
		plain = scope->bindings[plain].previous;
	if (range.binding != NONE && (plain == NONE || range.binding > plain))
		return (struct resolved){
			RESOLVED_REG, range_reg(scope, range.binding, range.number)};
	if (plain == NONE)
		return (struct resolved){RESOLVED_NOTHING, NONE};
	const struct binding *binding = &scope->bindings[plain];

	return (struct resolved){
		binding->kind == BINDING_REG ? RESOLVED_REG : RESOLVED_SYMBOL, binding->id};
}

void scope_end(struct scope *scope)
{
	ARENA_GIVE_BACK(scope->arena, scope->locals, scope->locals_cap);
	ARENA_GIVE_BACK(scope->arena, scope->bindings, scope->bindings_cap);
	ARENA_GIVE_BACK(scope->arena, scope->range_regs, 1u << scope->range_regs_bits);
	ARENA_GIVE_BACK(scope->arena, scope->references, scope->references_cap);
	ARENA_GIVE_BACK(scope->arena, scope->open_labels, scope->open_labels_cap);
	ARENA_GIVE_BACK(scope->arena, scope->hidden_labels, scope->hidden_labels_cap);
}

bool scope_add_label(
	struct scope *scope, const char *text, size_t size, struct span at, uint32_t *label)
{
	struct function *fn = scope->fn;
	uint32_t name = names_add_label(scope->names, text, size);

	if (name == NONE)
		longjmp(*scope->arena->on_failure, 1);
	uint32_t local = local_of(scope, name);
	uint32_t hidden = scope->locals[local].label;
	const struct open_block *block = &scope->blocks[scope->nblocks - 1];
	struct label fresh = {name, fn->ninsns, NONE, at};

	*label = fn->nlabels;
	ARENA_PUSH(scope->arena, fn->labels, fn->nlabels, scope->labels_cap, fresh);
	/* label numbers grow, so the block's own are those from its first one on (closed inner
	 * blocks have restored what they hid) */
	if (hidden != NONE && scope->nopen_labels > block->nlabels &&
		hidden >= scope->open_labels[block->nlabels])
		return false;
	ARENA_PUSH(scope->arena, scope->open_labels, scope->nopen_labels, scope->open_labels_cap,
		*label);
	ARENA_PUSH(scope->arena, scope->hidden_labels, scope->nhidden_labels,
		scope->hidden_labels_cap, hidden);
	scope->locals[local].label = *label;
	return true;
}

void scope_refer(struct scope *scope, uint32_t name, struct reference reference)
{
	reference.local = local_of(scope, name);
	reference.previous = scope->locals[reference.local].reference;
	scope->locals[reference.local].reference = scope->nreferences;
	ARENA_PUSH(scope->arena, scope->references, scope->nreferences, scope->references_cap,
		reference);
}
