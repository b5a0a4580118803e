/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each name of the body gets a struct local_name on first sight; names.c keeps its number as the
 * name's mark. Bindings form a stack; a block's end pops its own and restores what they hid.
 * Registers of a range come into being when first named, so `%r<1000000>` costs nothing.
 */
#include "parser/scope.h"
#include "parser/words.h"

#include <endian.h>
#include <string.h>

enum { RECENT_LEAST = 4, RECENT_MOST = 12 }; /* bits of the hash */

void scope_init(struct scope *scope, struct arena *arena, struct names *names, struct function *fn,
	uint32_t ninsns)
{
	*scope = (struct scope){.arena = arena, .names = names, .fn = fn};
	scope->recent_bits = RECENT_LEAST;
	while (scope->recent_bits < RECENT_MOST && ninsns >> scope->recent_bits)
		scope->recent_bits++;
	scope->recent = ARENA_NEW(arena, struct recent, 1u << scope->recent_bits);
	names_forget(names);
}

static uint32_t name_id(struct scope *scope, const char *text, size_t size)
{
	uint32_t name = names_add(scope->names, text, size);

	if (name == NONE)
		longjmp(*scope->arena->on_failure, 1);
	return name;
}

static bool packs(size_t size)
{
	return size > 0 && size <= sizeof(((struct recent *)0)->text);
}

static uint64_t load(const char *p, size_t size)
{
	uint64_t word = 0;

	memcpy(&word, p, size);
	return le64toh(word);
}

/* The text without a read beyond its ends: two loads that overlap, the second shifted into place.
 */
static struct recent packed(const char *text, size_t size)
{
	if (size > 8)
		return (struct recent){
			.text = {load(text, 8), load(text + size - 8, 8) >> 8 * (16 - size)}};
	if (size >= 4)
		return (struct recent){
			.text = {load(text, 4) | load(text + size - 4, 4) >> 8 * (8 - size) << 32,
				0}};
	return (struct recent){.text = {load(text, 1) | load(text + size / 2, 1) << 8 * (size / 2) |
						load(text + size - 1, 1) << 8 * (size - 1),
				       0}};
}

static void remember(struct scope *scope, const char *text, size_t size, uint32_t reg)
{
	if (!packs(size))
		return;
	struct recent r = packed(text, size);

	r.reg = reg;
	r.generation = scope->generation;
	*scope_recent(scope, r.text[0], r.text[1]) = r;
}

/* The name means something else from here on. */
static void forget(struct scope *scope, const char *text, size_t size)
{
	if (!packs(size))
		return;
	struct recent r = packed(text, size);

	*scope_recent(scope, r.text[0], r.text[1]) = (struct recent){.text = {0, 0}};
}

static uint32_t local_of(struct scope *scope, uint32_t name)
{
	uint32_t local = names_mark(scope->names, name, NAMES_LOCAL);

	if (local != NONE)
		return local;
	local = scope->nlocals;
	struct local_name fresh = {name, NONE, NONE, NONE, NONE};

	ARENA_PUSH(scope->arena, scope->locals, scope->nlocals, scope->locals_cap, fresh);
	names_set_mark(scope->names, name, NAMES_LOCAL, local);
	return local;
}

void scope_open(struct scope *scope)
{
	struct open_block block = {
		scope->nscopes++, scope->nbindings, scope->nopen_labels, scope->nreferences};

	ARENA_PUSH(scope->arena, scope->blocks, scope->nblocks, scope->blocks_cap, block);
}

uint32_t scope_depth(const struct scope *scope)
{
	return scope->nblocks - 1;
}

uint32_t scope_current(const struct scope *scope)
{
	return scope->blocks[scope->nblocks - 1].scope;
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

void scope_close(struct scope *scope, uint32_t **table_entries)
{
	struct open_block block = scope->blocks[--scope->nblocks];

	while (scope->nopen_labels > block.nlabels) {
		uint32_t label = scope->open_labels[--scope->nopen_labels];
		uint32_t local = local_of(scope, scope->fn->labels[label].name);

		scope->locals[local].label = scope->hidden_labels[--scope->nhidden_labels];
		settle_all(scope, label, block.nreferences, table_entries);
	}
	while (scope->nbindings > block.nbindings) {
		struct binding *binding = &scope->bindings[--scope->nbindings];

		struct slice name = names_text(scope->names, scope->locals[binding->local].name);

		scope->generation += binding->kind == BINDING_RANGE;
		scope->locals[binding->local].binding = binding->previous;
		forget(scope, name.text, name.size);
	}
}

static void bind(struct scope *scope, const char *text, size_t size, struct binding binding)
{
	binding.local = local_of(scope, name_id(scope, text, size));
	struct local_name *local = &scope->locals[binding.local];

	binding.previous = local->binding;
	local->binding = scope->nbindings;
	ARENA_PUSH(scope->arena, scope->bindings, scope->nbindings, scope->bindings_cap, binding);
	scope->generation += binding.kind == BINDING_RANGE;
	forget(scope, text, size);
}

static uint32_t new_reg(
	struct scope *scope, uint32_t name, enum modifier type, uint8_t bits, uint8_t vector)
{
	struct function *fn = scope->fn;
	struct reg reg = {name, (uint16_t)type, bits, vector, fn->nregs};

	ARENA_PUSH(scope->arena, fn->regs, fn->nregs, scope->regs_cap, reg);
	return fn->nregs - 1;
}

void scope_add_reg(
	struct scope *scope, const char *text, size_t size, enum modifier type, uint8_t vector)
{
	uint8_t bits = (uint8_t)modifier_type_bits(type);
	uint32_t reg = new_reg(scope, name_id(scope, text, size), type, bits, vector);

	bind(scope, text, size,
		(struct binding){.kind = BINDING_REG, .id = reg, .bits = bits, .vector = vector});
}

uint32_t scope_new_reg(struct scope *scope, const char *text, size_t size, enum modifier type)
{
	return new_reg(scope, name_id(scope, text, size), type, (uint8_t)modifier_type_bits(type), 1);
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
	size_t prefix;
};

/* `%r12` is number 12 of `%r` or, where prefixes end in digits, number 2 of `%r1`. The innermost
 * wins, which is the one bound last. */
static struct numbered find_ranges(struct scope *scope, const char *text, size_t size)
{
	uint64_t number = 0, power = 1;
	struct numbered best = {NONE, 0, 0};

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
			best = (struct numbered){found, (uint32_t)number, prefix};
	}
	return best;
}

/* Assemblers read `%r05` as `%r5` [measured]. */
static uint32_t canonical(struct scope *scope, const char *text, size_t size,
	struct numbered numbered, uint32_t local)
{
	if (text[numbered.prefix] != '0' || size - numbered.prefix == 1)
		return local;
	uint32_t name = names_add_numbered(scope->names, text, numbered.prefix, numbered.number);

	if (name == NONE)
		longjmp(*scope->arena->on_failure, 1);
	return local_of(scope, name);
}

static uint32_t range_instance(struct scope *scope, uint32_t local, uint32_t binding)
{
	const struct binding *range = &scope->bindings[binding];
	uint32_t i = scope->locals[local].instance;

	while (i != NONE && scope->instances[i].range != range->id)
		i = scope->instances[i].previous;
	if (i == NONE) {
		uint32_t reg = new_reg(
			scope, scope->locals[local].name, range->type, range->bits, range->vector);
		struct instance fresh = {range->id, reg, scope->locals[local].instance, NONE, NONE};

		i = scope->ninstances;
		ARENA_PUSH(scope->arena, scope->instances, scope->ninstances, scope->instances_cap,
			fresh);
		scope->locals[local].instance = i;
	}
	return i;
}

struct resolved scope_find(struct scope *scope, const char *text, size_t size)
{
	return scope_find_name(scope, name_id(scope, text, size), text, size);
}

static struct resolved find_name(struct scope *scope, uint32_t name, const char *text, size_t size)
{
	uint32_t local = local_of(scope, name);
	uint32_t newest = scope->locals[local].instance;

	if (newest != NONE && scope->instances[newest].generation == scope->generation &&
		scope->instances[newest].plain == scope->locals[local].binding)
		return (struct resolved){RESOLVED_REG, scope->instances[newest].reg};
	uint32_t plain = scope->locals[local].binding;
	struct numbered range = find_ranges(scope, text, size);

	while (plain != NONE && scope->bindings[plain].kind == BINDING_RANGE)
		plain = scope->bindings[plain].previous;
	if (range.binding != NONE && (plain == NONE || range.binding > plain)) {
		uint32_t own = canonical(scope, text, size, range, local);
		uint32_t i = range_instance(scope, own, range.binding);

		if (own == local) { /* the right answer for this spelling */
			scope->instances[i].generation = scope->generation;
			scope->instances[i].plain = scope->locals[local].binding;
		}
		return (struct resolved){RESOLVED_REG, scope->instances[i].reg};
	}
	if (plain == NONE)
		return (struct resolved){RESOLVED_NOTHING, NONE};
	const struct binding *binding = &scope->bindings[plain];

	return (struct resolved){
		binding->kind == BINDING_REG ? RESOLVED_REG : RESOLVED_SYMBOL, binding->id};
}

struct resolved scope_find_name(struct scope *scope, uint32_t name, const char *text, size_t size)
{
	struct resolved found = find_name(scope, name, text, size);

	if (found.kind == RESOLVED_REG)
		remember(scope, text, size, found.id);
	return found;
}

void scope_end(struct scope *scope)
{
	ARENA_GIVE_BACK(scope->arena, scope->recent, 1u << scope->recent_bits);
	ARENA_GIVE_BACK(scope->arena, scope->locals, scope->locals_cap);
	ARENA_GIVE_BACK(scope->arena, scope->bindings, scope->bindings_cap);
	ARENA_GIVE_BACK(scope->arena, scope->instances, scope->instances_cap);
	ARENA_GIVE_BACK(scope->arena, scope->references, scope->references_cap);
}

bool scope_add_label(
	struct scope *scope, const char *text, size_t size, struct span at, uint32_t *label)
{
	struct function *fn = scope->fn;
	uint32_t name = name_id(scope, text, size), local = local_of(scope, name);
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
