/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In: calls whose callee has no body in the module. Out: generic (and async) accesses at the call:
 * of the variables that its pointer arguments may name, and of module variables that other modules
 * can see. Invariant: with --calls=worst every byte may be touched in every way.
 */
#include "analysis/callees.h"

#include "analysis/link_copy.h"
#include "analysis/value_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct builder {
	struct unit *unit;
	struct access *extra;
	uint32_t n, cap;
	bool writes, async; /* what callees may do, by the mode */
	bool peers;	    /* addresses of other CTAs are made here */
};

static void add(
	struct builder *b, uint32_t call, uint8_t spaces, uint32_t object, struct value address)
{
	struct access a = {
		.insn = call,
		.spaces = spaces,
		.peer = (spaces & SPACE_CLUSTER) != 0,
		.reads = true,
		.writes = true,
		.own = true,
		.call = true,
		.address = address,
		.bytes = UINT64_MAX,
		.object = object,
	};

	if (b->writes) {
		a.proxy = PROXY_GENERIC;
		ARENA_PUSH(b->unit->arena, b->extra, b->n, b->cap, a);
	}
	if (b->async) {
		a.proxy = PROXY_ASYNC;
		ARENA_PUSH(b->unit->arena, b->extra, b->n, b->cap, a);
	}
}

static struct value anywhere(uint8_t spaces)
{
	return (struct value){.base = BASE_UNKNOWN,
		.space = spaces,
		.lo = INT64_MIN,
		.hi = INT64_MAX,
		.stride = 1};
}

static struct value in_symbol(uint32_t symbol)
{
	return (struct value){.base = BASE_SYMBOL,
		.space = SPACE_SHARED,
		.id = symbol,
		.lo = INT64_MIN,
		.hi = INT64_MAX,
		.stride = 1};
}

/* A pointer to shared memory for certain, or something that may be one. */
static bool names_shared(const struct value *v, bool *certain)
{
	*certain = (v->base == BASE_SYMBOL || v->base == BASE_DERIVED) &&
		   (v->space & (SPACE_SHARED | SPACE_CLUSTER));
	return *certain || v->base == BASE_UNKNOWN || v->base == BASE_LOADED ||
	       v->base == BASE_OPAQUE;
}

/* Or what another CTA has there, as in access.c. */
static bool names_peer(const struct builder *b, const struct value *v)
{
	if (v->is_peer)
		return !v->own_cta;
	return b->peers && v->base != BASE_SYMBOL && v->base != BASE_DERIVED;
}

/* An access through one register that reaches the callee; tells whether it certainly points to
 * shared memory. */
static bool through_register(
	struct builder *b, uint32_t call, uint32_t at, const struct operand *o, bool emit)
{
	struct value v = value_of(b->unit->values, at, o);
	bool certain, named = names_shared(&v, &certain);

	/* one of several variables has no base, but roots */
	certain |= (value_roots(b->unit->values, at, o) & ROOT_SHARED) != 0;
	if (!named && !certain)
		return false;
	uint8_t spaces = SPACE_SHARED | (names_peer(b, &v) ? SPACE_CLUSTER : 0);

	if (emit && certain && v.base == BASE_SYMBOL)
		add(b, call, spaces, v.id, in_symbol(v.id));
	else if (emit)
		add(b, call, spaces, NONE, anywhere(spaces));
	return certain;
}

/* All that is stored into the argument `symbol` of a call, looked for from the call backward: a
 * structure is stored piece by piece, and each piece may be a pointer. */
static bool through_stored(struct builder *b, uint32_t call, uint32_t symbol, bool emit)
{
	const struct function *fn = b->unit->fn;
	const struct block *block = &b->unit->cfg.blocks[b->unit->cfg.block_of[call]];
	bool found = false, stored = false;

	/* the block of the call as a rule; all before it where arms meet within the call sequence */
	for (uint32_t i = call; i-- > 0 && (i >= block->first || !stored);) {
		const struct insn *insn = &fn->insns[i];
		const struct operand *to = insn_operand(fn, insn, 0),
				     *from = insn_operand(fn, insn, 1);
		const struct operand *base = to ? operand_child(fn, to, 0) : NULL;

		if (insn->op != OP_st || !insn_has(insn, MOD_param) || !base || !from ||
			base->kind != OPERAND_SYMBOL || base->id != symbol)
			continue;
		stored |= i >= block->first;
		if (from->kind == OPERAND_REG)
			found |= through_register(b, call, i, from, emit);
		for (uint32_t k = 0; from->kind == OPERAND_LIST && k < operand_count(from); k++) {
			const struct operand *part = operand_child(fn, from, k);

			if (part->kind == OPERAND_REG)
				found |= through_register(b, call, i, part, emit);
		}
	}
	return found;
}

/* A stored register that certainly points to shared memory. */
static bool escapes(
	struct builder *b, uint32_t call, uint32_t at, const struct operand *o, bool emit)
{
	struct value v = value_of(b->unit->values, at, o);
	bool certain;

	names_shared(&v, &certain);
	if (!certain && !(value_roots(b->unit->values, at, o) & ROOT_SHARED))
		return false;
	return through_register(b, call, at, o, emit);
}

/* Pointers that the callee may find in memory: whatever the function stores anywhere, at any time.
 */
static bool through_memory(struct builder *b, uint32_t call, bool emit)
{
	const struct function *fn = b->unit->fn;
	bool found = false;

	for (uint32_t i = 0; i < fn->ninsns; i++) {
		const struct insn *insn = &fn->insns[i];
		const struct operand *from = insn_operand(fn, insn, 1);

		if (insn->op != OP_st || insn_has(insn, MOD_param) || !from ||
			b->unit->cfg.block_of[i] == NONE || insn_type(insn, 0).is_float ||
			insn_type(insn, 0).bits < 32)
			continue;
		if (from->kind == OPERAND_REG)
			found |= escapes(b, call, i, from, emit);
		for (uint32_t k = 0; from->kind == OPERAND_LIST && k < operand_count(from); k++)
			if (operand_child(fn, from, k)->kind == OPERAND_REG)
				found |= escapes(b, call, i, operand_child(fn, from, k), emit);
	}
	return found;
}

static bool visible_shared(const struct symbol *s)
{
	return s->kind == SYMBOL_VAR && s->space == SPACE_SHARED &&
	       (s->is_extern || s->is_visible || s->is_weak);
}

static bool module_shares(const struct module *module)
{
	for (uint32_t i = 0; i < module->nsymbols; i++)
		if (visible_shared(&module->symbols[i]))
			return true;
	return false;
}

/* Accesses through the arguments; tells whether a pointer to shared memory certainly reaches it. */
static bool through_arguments(struct builder *b, uint32_t call, bool emit)
{
	const struct function *fn = b->unit->fn;
	struct link_call_parts parts;
	bool found = false;

	link_call_parts(fn, &fn->insns[call], &parts);
	for (uint32_t i = 0; parts.arguments && i < operand_count(parts.arguments); i++) {
		const struct operand *o = operand_child(fn, parts.arguments, i);

		if (o->kind == OPERAND_REG)
			found |= through_register(b, call, call, o, emit);
		else if (o->kind == OPERAND_SYMBOL)
			found |= through_stored(b, call, o->id, emit);
	}
	return found;
}

static void through_module(struct builder *b, uint32_t call)
{
	const struct module *module = b->unit->module;

	for (uint32_t i = 0; i < module->nsymbols; i++)
		if (visible_shared(&module->symbols[i]))
			add(b, call, SPACE_SHARED, i, in_symbol(i));
}

static void collect_call(struct builder *b, uint32_t call)
{
	enum calls_mode mode = b->unit->options->calls;

	if (mode == CALLS_AUTO)
		mode = through_arguments(b, call, false) || through_memory(b, call, false) ||
				       module_shares(b->unit->module)
			       ? CALLS_WRITE
			       : CALLS_NONE;
	b->writes = mode != CALLS_NONE;
	b->async = mode == CALLS_ASYNC || mode == CALLS_WORST;
	if (mode == CALLS_WORST) {
		const uint8_t all = SPACE_SHARED | SPACE_CLUSTER | SPACE_GLOBAL;

		add(b, call, all, NONE, anywhere(all));
		return;
	}
	through_arguments(b, call, true);
	through_memory(b, call, true);
	through_module(b, call);
}

static void note(struct unit *unit, uint32_t call)
{
	const struct function *fn = unit->fn;
	struct link_call_parts parts;
	char text[256] = "call through a pointer of unknown target";

	link_call_parts(fn, &fn->insns[call], &parts);
	if (parts.callee && parts.callee->kind == OPERAND_SYMBOL) {
		struct slice name = names_text(
			unit->module->names, function_symbol(fn, parts.callee->id)->name);

		snprintf(text, sizeof(text), "call of unknown function %.*s",
			(int)(name.size < 200 ? name.size : 200), name.text);
	}
	char *what = arena_alloc(unit->lasting, strlen(text) + 1);

	unit_note(unit, call, strcpy(what, text));
}

/* Both lists are sorted by instruction; the calls' own accesses come behind the others. */
static void merge(struct unit *unit, const struct access *extra, uint32_t n)
{
	const struct accesses old = unit->accesses;
	struct access *v = ARENA_NEW(unit->arena, struct access, old.n + n);
	uint32_t i = 0, k = 0, out = 0;

	while (i < old.n || k < n)
		v[out++] = k == n || (i < old.n && old.v[i].insn <= extra[k].insn) ? old.v[i++]
										   : extra[k++];
	unit->accesses = (struct accesses){v, out};
}

static int by_number(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

void callees_collect(struct unit *unit, const struct linked *linked)
{
	struct builder b = {.unit = unit};
	uint32_t n = linked->nunknown_calls;
	uint32_t *calls = ARENA_NEW(unit->arena, uint32_t, n);

	if (!n)
		return;
	b.peers = access_makes_peers(unit->fn, &unit->cfg);
	memcpy(calls, linked->unknown_calls, n * sizeof(*calls));
	qsort(calls, n, sizeof(*calls), by_number);
	for (uint32_t i = 0; i < n; i++) {
		if (unit->cfg.block_of[calls[i]] == NONE)
			continue;
		collect_call(&b, calls[i]);
		if (unit->options->calls != CALLS_WORST)
			note(unit, calls[i]);
	}
	if (b.n)
		merge(unit, b.extra, b.n);
}
