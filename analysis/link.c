/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In: a module and a root. Out: the root with every body that it can call behind it, and which call
 * enters which copy. Copies are made breadth first, each call site its own, until the flat function
 * has LIMIT instructions (those of bodies without a copy yet counted in) or a call chain is DEPTH
 * long; from then on, and for recursion, the callee's first copy is entered again. Invariant: every
 * path of the program is a path of the flat function; a call that closes a cycle can also be passed
 * by, because its caller's registers survive it.
 */
#include "analysis/link.h"

#include "analysis/link_copy.h"

#include <string.h>

#define LIMIT 200000
#define DEPTH 64

struct reached { /* a function that is part of the root */
	const struct function *body;
	uint32_t shared;   /* the copy that late calls share, or NONE */
	uint32_t locs_at;  /* where its .loc entries are, or NONE */
	uint32_t *statics; /* flat ids of its variables, or NULL */
};

struct linker {
	const struct module *module;
	struct arena *arena;
	struct diags *diags;
	struct linked *out;
	struct function *fn; /* out->fn */
	uint32_t insns_cap, operands_cap, wide_cap, regs_cap, symbols_cap, labels_cap, tables_cap, locs_cap;
	uint32_t inserts_cap, pragmas_cap, hints_cap, returns_cap, unknown_cap, calls_cap;
	struct reached **reached; /* by number of the function, which few of a module are */
	uint32_t nreached, reached_cap, bodies_cap;
	struct link_copy *copies;
	uint32_t ncopies, copies_cap;
	struct link_edge *edges;
	uint32_t nedges, edges_cap;
	uint64_t unseen; /* instructions of bodies that can be called and have no copy yet */
	bool inserts;	 /* function.insert_at is there */
	bool failed;
};

/* ---- copies ---- */

/* The first that is reached of those from a function on, as a number of the list. */
static uint32_t place_of_reached(const struct linker *l, uint32_t function)
{
	uint32_t low = 0, high = l->nreached;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (l->reached[mid]->body->index < function)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static struct reached *reached_of(const struct linker *l, uint32_t function)
{
	return l->reached[place_of_reached(l, function)];
}

static const struct function *body_of(struct linker *l, uint32_t function)
{
	uint32_t at = place_of_reached(l, function);

	if (at < l->nreached && l->reached[at]->body->index == function)
		return l->reached[at]->body;
	struct function *fn = ARENA_NEW(l->arena, struct function, 1);
	struct reached *one = ARENA_NEW(l->arena, struct reached, 1);

	if (!parse_function(l->module, function, l->arena, fn, l->diags)) {
		l->failed = true;
		return NULL;
	}
	*one = (struct reached){.body = fn, .shared = NONE, .locs_at = NONE};
	ARENA_PUSH(l->arena, l->reached, l->nreached, l->reached_cap, one);
	memmove(l->reached + at + 1, l->reached + at,
		(l->nreached - 1 - at) * sizeof(struct reached *));
	l->reached[at] = one;
	ARENA_PUSH(l->arena, l->out->bodies, l->out->nbodies, l->bodies_cap, fn);
	return fn;
}

struct offsets { /* what a copy's own numbers are shifted by */
	uint32_t operands, wide_offsets, regs, labels, tables, locs;
	const uint32_t *symbols, *insns;
};

static uint32_t map_symbol(const struct linker *l, const struct offsets *at, uint32_t id)
{
	return id < l->module->nsymbols ? id : at->symbols[id - l->module->nsymbols];
}

/* Variables exist once however often their function is called (ISA 5.1); parameters and .local ones
 * belong to the call. */
static const uint32_t *copy_symbols(struct linker *l, const struct function *body)
{
	uint32_t *map = ARENA_NEW(l->arena, uint32_t, body->nsymbols + 1);
	struct reached *of = reached_of(l, body->index);
	uint32_t *known = of->statics;

	for (uint32_t i = 0; i < body->nsymbols; i++) {
		const struct symbol *s = &body->symbols[i];
		bool own =
			s->space == SPACE_PARAM || s->space == SPACE_LOCAL || s->space == SPACE_REG;

		if (known && !own) {
			map[i] = known[i];
			continue;
		}
		map[i] = l->module->nsymbols + l->fn->nsymbols;
		ARENA_PUSH(l->arena, l->fn->symbols, l->fn->nsymbols, l->symbols_cap, *s);
	}
	if (!known)
		of->statics = map;
	return map;
}

static void copy_operands(struct linker *l, const struct function *body, const struct offsets *at)
{
	for (uint32_t i = 0; i < body->noperands; i++) {
		struct operand o = body->operands[i];

		if (o.kind == OPERAND_REG)
			o.id += at->regs;
		else if (o.kind == OPERAND_LABEL)
			o.id += at->labels;
		else if (o.kind == OPERAND_SYMBOL)
			o.id = map_symbol(l, at, o.id);
		else if (operand_has_children(&o))
			o.first += at->operands;
		if (o.wide)
			o.offset += (int32_t)at->wide_offsets;
		ARENA_PUSH(l->arena, l->fn->operands, l->fn->noperands, l->operands_cap, o);
	}
	l->fn->nshared += body->nshared;
	for (uint32_t i = 0; i < body->nwide_offsets; i++)
		ARENA_PUSH(l->arena, l->fn->wide_offsets, l->fn->nwide_offsets, l->wide_cap,
			body->wide_offsets[i]);
}

static void copy_regs(struct linker *l, const struct function *body)
{
	for (uint32_t i = 0; i < body->nregs; i++)
		ARENA_PUSH(l->arena, l->fn->regs, l->fn->nregs, l->regs_cap, body->regs[i]);
}

static void copy_tables(struct linker *l, const struct function *body, const struct offsets *at)
{
	for (uint32_t i = 0; i < body->ntables; i++) {
		struct table t = body->tables[i];
		uint32_t *v = ARENA_NEW(l->arena, uint32_t, t.n + 1);

		for (uint32_t k = 0; k < t.n; k++)
			v[k] = t.kind == TABLE_CALL ? map_symbol(l, at, t.v[k])
						    : t.v[k] + at->labels;
		t.v = v;
		ARENA_PUSH(l->arena, l->fn->tables, l->fn->ntables, l->tables_cap, t);
	}
	for (uint32_t i = 0; i < body->nlabels; i++) {
		struct label label = body->labels[i];

		label.insn = at->insns[label.insn];
		if (label.table != NONE)
			label.table += at->tables;
		ARENA_PUSH(l->arena, l->fn->labels, l->fn->nlabels, l->labels_cap, label);
	}
}

static void copy_notes(struct linker *l, const struct function *body, const struct offsets *at)
{
	struct reached *of = reached_of(l, body->index);

	if (of->locs_at == NONE) {
		of->locs_at = l->fn->nlocs;
		for (uint32_t i = 0; i < body->nlocs; i++)
			ARENA_PUSH(l->arena, l->fn->locs, l->fn->nlocs, l->locs_cap, body->locs[i]);
	}
	for (uint32_t i = 0; i < body->npragmas; i++) {
		struct pragma p = body->pragmas[i];

		p.before = at->insns[p.before];
		ARENA_PUSH(l->arena, l->fn->pragmas, l->fn->npragmas, l->pragmas_cap, p);
	}
	for (uint32_t i = 0; i < body->nhints; i++) {
		struct hint h = body->hints[i];

		h.before = at->insns[h.before];
		ARENA_PUSH(l->arena, l->fn->hints, l->fn->nhints, l->hints_cap, h);
	}
}

/* Registers and constants between the parentheses need a move to or from the formal parameter. */
static uint32_t count_plain(const struct function *fn, const struct operand *tuple)
{
	uint32_t n = 0;

	for (uint32_t i = 0; tuple && i < operand_count(tuple); i++)
		n += operand_child(fn, tuple, i)->kind != OPERAND_SYMBOL;
	return n;
}

static struct insn move_at(const struct insn *call, uint32_t first)
{
	struct insn move = *call;

	move.op = (uint16_t)OP_LINK_MOV;
	move.nmods = 0;
	move.first = first;
	move.count = 2;
	return move;
}

/* Some body has places of its own to insert at. */
static bool has_inserts(const struct linker *l)
{
	for (uint32_t i = 0; i < l->out->nbodies; i++)
		if (l->out->bodies[i]->insert_at)
			return true;
	return false;
}

static void push_insn(struct linker *l, struct insn insn, uint32_t insert_at)
{
	uint32_t n = l->fn->ninsns;

	ARENA_PUSH(l->arena, l->fn->insns, l->fn->ninsns, l->insns_cap, insn);
	if (l->inserts)
		ARENA_PUSH(l->arena, l->fn->insert_at, n, l->inserts_cap, insert_at);
}

/* One move for each plain argument or return; link_params says which registers they join. Until
 * then they move nothing: a destination that nobody reads. */
static void push_moves(struct linker *l, const struct insn *call, uint32_t insert_at,
	const struct operand *tuple)
{
	for (uint32_t i = 0; tuple && i < operand_count(tuple); i++) {
		const struct operand *o = &l->fn->operands[tuple->first + i];

		if (o->kind == OPERAND_SYMBOL)
			continue;
		struct operand pair[2] = {{.kind = OPERAND_SINK}, *o};
		uint32_t first = l->fn->noperands;

		for (int k = 0; k < 2; k++)
			ARENA_PUSH(l->arena, l->fn->operands, l->fn->noperands, l->operands_cap,
				pair[k]);
		push_insn(l, move_at(call, first), insert_at);
	}
}

static const uint32_t *number_insns(struct linker *l, const struct function *body)
{
	uint32_t *map = ARENA_NEW(l->arena, uint32_t, body->ninsns + 1);
	uint32_t next = l->fn->ninsns;

	for (uint32_t i = 0; i < body->ninsns; i++) {
		struct link_call_parts p = {0};

		if (body->insns[i].op == OP_call)
			link_call_parts(body, &body->insns[i], &p);
		map[i] = next; /* what jumps to the call runs its moves too */
		next += count_plain(body, p.arguments) + 1 + count_plain(body, p.returns);
	}
	map[body->ninsns] = next;
	return map;
}

static struct insn final_return(const struct function *body)
{
	uint32_t end = body->end_at.begin;

	return (struct insn){.at = {end, end},
		.op = OP_ret,
		.guard = NONE};
}

static void copy_insns(struct linker *l, const struct function *body, const struct offsets *at)
{
	for (uint32_t i = 0; i <= body->ninsns; i++) {
		struct insn insn = i < body->ninsns ? body->insns[i] : final_return(body);
		uint32_t at_text = i < body->ninsns ? insn_insert_at(body, i) : insn.at.begin;
		struct link_call_parts p = {0};

		insn.first += at->operands;
		insn.context = (l->ncopies - 1) & INT32_MAX;
		if (insn.guard != NONE)
			insn.guard += at->regs;
		if (insn.op == OP_call)
			link_call_parts(l->fn, &insn, &p);
		struct operand arguments = p.arguments ? *p.arguments : (struct operand){0};
		struct operand returns = p.returns ? *p.returns : (struct operand){0};

		push_moves(l, &insn, at_text, &arguments);
		push_insn(l, insn, at_text);
		push_moves(l, &insn, at_text, &returns);
	}
}

static void find_returns(struct linker *l, struct link_copy *c)
{
	c->first_return = l->out->nreturns;
	if (l->ncopies == 1) /* the root's end the thread */
		return;
	for (uint32_t i = c->first_insn; i < c->first_insn + c->ninsns; i++)
		if (l->fn->insns[i].op == OP_ret)
			ARENA_PUSH(l->arena, l->out->returns, l->out->nreturns, l->returns_cap, i);
	c->nreturns = l->out->nreturns - c->first_return;
}

static uint32_t copy_body(struct linker *l, const struct function *body, uint32_t parent)
{
	struct link_copy c = {.body = body,
		.function = body->index,
		.parent = parent,
		.depth = parent == NONE ? 0 : l->copies[parent].depth + 1,
		.first_insn = l->fn->ninsns,
		.first_reg = l->fn->nregs};

	c.symbols = copy_symbols(l, body);
	struct offsets at = {.operands = l->fn->noperands,
		.wide_offsets = l->fn->nwide_offsets,
		.regs = l->fn->nregs,
		.labels = l->fn->nlabels,
		.tables = l->fn->ntables,
		.symbols = c.symbols,
		.insns = number_insns(l, body)};

	ARENA_PUSH(l->arena, l->copies, l->ncopies, l->copies_cap, c);
	copy_operands(l, body, &at);
	copy_regs(l, body);
	copy_tables(l, body, &at);
	copy_notes(l, body, &at);
	copy_insns(l, body, &at);
	l->copies[l->ncopies - 1].ninsns = l->fn->ninsns - c.first_insn;
	find_returns(l, &l->copies[l->ncopies - 1]);
	return l->ncopies - 1;
}

/* ---- calls ---- */

static uint32_t copy_in_chain(const struct linker *l, uint32_t caller, uint32_t function)
{
	for (uint32_t c = caller; c != NONE && c != 0; c = l->copies[c].parent)
		if (l->copies[c].function == function)
			return c;
	return NONE;
}

static uint32_t copy_for(struct linker *l, uint32_t caller, uint32_t function)
{
	const struct function *body = body_of(l, function);

	if (!body)
		return NONE;
	struct reached *of = reached_of(l, function);
	uint32_t again = copy_in_chain(l, caller, function);

	if (again == NONE && (l->copies[caller].depth >= DEPTH ||
				     l->fn->ninsns + body->ninsns + l->unseen > LIMIT))
		again = of->shared;
	if (again != NONE) {
		l->out->shared_copies = true;
		return again;
	}
	uint32_t copy = copy_body(l, body, caller);

	if (of->shared == NONE) {
		of->shared = copy;
		if (function != l->copies[0].function)
			l->unseen -= body->ninsns;
	}
	return copy;
}

static void link_call(struct linker *l, uint32_t caller, uint32_t call, struct link_callees *c)
{
	struct insn insn = l->fn->insns[call]; /* the array may move */

	link_callees(l->module, l->fn, &insn, l->arena, c);
	if (c->unknown)
		ARENA_PUSH(l->arena, l->out->unknown_calls, l->out->nunknown_calls, l->unknown_cap,
			call);
	for (uint32_t i = 0; i < c->n && !l->failed; i++) {
		struct link_edge edge = {
			.call = call, .caller = caller, .callee = copy_for(l, caller, c->v[i])};

		if (edge.callee != NONE)
			ARENA_PUSH(l->arena, l->edges, l->nedges, l->edges_cap, edge);
	}
}

static void link_copies(struct linker *l)
{
	struct link_callees c = {0};

	for (uint32_t k = 0; k < l->ncopies && !l->failed; k++) {
		uint32_t end = l->copies[k].first_insn + l->copies[k].ninsns;

		for (uint32_t i = l->copies[k].first_insn; i < end && !l->failed; i++)
			if (l->fn->insns[i].op == OP_call)
				link_call(l, k, i, &c);
	}
}

/* Depth first over the copies: an edge to a copy on the way closes a cycle. Edges of one caller
 * stand together, for copies are handled in order. */
static void find_recursion(struct linker *l)
{
	uint32_t *first = ARENA_NEW(l->arena, uint32_t, l->ncopies + 1);
	uint32_t *next = ARENA_NEW(l->arena, uint32_t, l->ncopies);
	uint32_t *stack = ARENA_NEW(l->arena, uint32_t, l->ncopies);
	uint8_t *state = ARENA_NEW(l->arena, uint8_t, l->ncopies); /* 1: on the way, 2: done */
	uint32_t depth = 0;

	for (uint32_t i = 0; i < l->nedges; i++)
		first[l->edges[i].caller + 1] = i + 1;
	for (uint32_t k = 1; k <= l->ncopies; k++)
		if (!first[k])
			first[k] = first[k - 1];
	for (uint32_t k = 0; k < l->ncopies; k++)
		next[k] = first[k];
	stack[depth++] = 0;
	state[0] = 1;
	while (depth) {
		uint32_t k = stack[depth - 1];

		if (next[k] == first[k + 1]) {
			state[k] = 2;
			depth--;
			continue;
		}
		struct link_edge *e = &l->edges[next[k]++];

		if (state[e->callee] == 1)
			e->recursive = true;
		if (state[e->callee])
			continue;
		state[e->callee] = 1;
		stack[depth++] = e->callee;
	}
}

static void write_calls(struct linker *l)
{
	for (uint32_t i = 0; i < l->nedges; i++) {
		const struct link_edge *e = &l->edges[i];
		const struct link_copy *c = &l->copies[e->callee];
		struct linked_call call = {.call = e->call,
			.entry = c->first_insn,
			.after = e->call + 1,
			.first_return = c->first_return,
			.nreturns = c->nreturns,
			.recursive = e->recursive};

		ARENA_PUSH(l->arena, l->out->calls, l->out->ncalls, l->calls_cap, call);
		if (!e->recursive)
			continue;
		call.entry = call.after; /* the caller's own registers, whatever the inner one did
					    to them */
		call.nreturns = 0;
		ARENA_PUSH(l->arena, l->out->calls, l->out->ncalls, l->calls_cap, call);
	}
}

/* ---- the root ---- */

static bool calls_bodies(struct linker *l, const struct function *root)
{
	struct link_callees c = {0};
	bool bodies = false;

	for (uint32_t i = 0; i < root->ninsns; i++) {
		if (root->insns[i].op != OP_call)
			continue;
		link_callees(l->module, root, &root->insns[i], l->arena, &c);
		bodies |= c.n > 0;
		if (c.unknown)
			ARENA_PUSH(l->arena, l->out->unknown_calls, l->out->nunknown_calls,
				l->unknown_cap, i);
	}
	return bodies;
}

/* Every body needs one copy: what these take is not for the others. The list grows behind the loop.
 */
static void read_reachable(struct linker *l)
{
	struct link_callees c = {0};

	for (uint32_t k = 0; k < l->out->nbodies && !l->failed; k++) {
		const struct function *body = l->out->bodies[k];

		for (uint32_t i = 0; i < body->ninsns; i++) {
			if (body->insns[i].op != OP_call)
				continue;
			link_callees(l->module, body, &body->insns[i], l->arena, &c);
			for (uint32_t n = 0; n < c.n; n++)
				body_of(l, c.v[n]);
		}
		if (k)
			l->unseen += body->ninsns;
	}
}

static const bool *unknown_by_insn(const struct linker *l)
{
	bool *unknown = ARENA_NEW(l->arena, bool, l->fn->ninsns + 1);

	for (uint32_t i = 0; i < l->out->nunknown_calls; i++)
		unknown[l->out->unknown_calls[i]] = true;
	return unknown;
}

static const uint32_t *origins_of(const struct linker *l)
{
	uint32_t *origins = ARENA_UNSET(l->arena, uint32_t, l->ncopies);

	for (uint32_t k = 0; k < l->ncopies; k++)
		origins[k] = l->copies[k].function;
	return origins;
}

static const struct loc_part *loc_parts_of(struct linker *l)
{
	struct loc_part *parts = ARENA_UNSET(l->arena, struct loc_part, l->ncopies);

	for (uint32_t k = 0; k < l->ncopies; k++)
		parts[k] = (struct loc_part){
			reached_of(l, l->copies[k].function)->locs_at, l->copies[k].body->nlocs};
	return parts;
}

static void flatten(struct linker *l, const struct function *root)
{
	*l->fn = *root;
	l->fn->ninsns = l->fn->noperands = l->fn->nshared = l->fn->nregs = l->fn->nsymbols = 0;
	l->fn->nlabels = l->fn->ntables = l->fn->nlocs = l->fn->npragmas = l->fn->nhints = 0;
	l->fn->insns = NULL;
	l->fn->insert_at = NULL;
	l->fn->operands = NULL;
	l->fn->wide_offsets = NULL;
	l->fn->nwide_offsets = 0;
	l->fn->regs = NULL;
	l->fn->symbols = NULL;
	l->fn->labels = NULL;
	l->fn->tables = NULL;
	l->fn->locs = NULL;
	l->fn->pragmas = NULL;
	l->fn->hints = NULL;
	l->out->nunknown_calls = 0;
	read_reachable(l);
	if (l->failed)
		return;
	l->inserts = has_inserts(l);
	copy_body(l, root, NONE);
	link_copies(l);
	if (l->failed)
		return;
	l->fn->origins = origins_of(l);
	l->fn->loc_parts = loc_parts_of(l);
	find_recursion(l);
	write_calls(l);
	struct link_graph graph = {.linked = l->out,
		.copies = l->copies,
		.ncopies = l->ncopies,
		.edges = l->edges,
		.nedges = l->nedges,
		.unknown = unknown_by_insn(l)};

	link_params(&graph, l->arena);
}

bool link_calls(const struct module *module, uint32_t root, struct arena *arena, struct linked *out,
	struct diags *diags)
{
	struct linker l = {
		.module = module, .arena = arena, .diags = diags, .out = out, .fn = &out->fn};

	*out = (struct linked){0};
	const struct function *body = body_of(&l, root);

	if (!body)
		return false;
	if (calls_bodies(&l, body))
		flatten(&l, body);
	else
		out->fn = *body;
	return !l.failed;
}
