/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In: a call. Out: the functions of the module that it can enter, and whether it can go elsewhere.
 * Invariant: a callee that is neither found nor known to be harmless makes the call unknown.
 */
#include "analysis/link_copy.h"

#include <string.h>

void link_call_parts(const struct function *fn, const struct insn *insn, struct link_call_parts *p)
{
	uint32_t i = 0;

	*p = (struct link_call_parts){0};
	if (i < insn->count && insn_operand(fn, insn, i)->kind == OPERAND_TUPLE)
		p->returns = insn_operand(fn, insn, i++);
	if (i < insn->count)
		p->callee = insn_operand(fn, insn, i++);
	if (i < insn->count && insn_operand(fn, insn, i)->kind == OPERAND_TUPLE)
		p->arguments = insn_operand(fn, insn, i++);
	if (i < insn->count)
		p->table = insn_operand(fn, insn, i);
}

static uint32_t follow_aliases(const struct function *fn, uint32_t symbol)
{
	for (int i = 0; i < 64 && function_symbol(fn, symbol)->kind == SYMBOL_ALIAS; i++)
		symbol = function_symbol(fn, symbol)->target;
	return symbol;
}

/* Device runtime that touches no memory of the program in a way a proxy could notice. */
static bool is_harmless(const struct module *module, const struct symbol *s)
{
	static const char *const names[] = {
		"vprintf", "malloc", "free", "__assertfail", "__assert_fail", "__nvvm_reflect"};
	struct slice name = names_text(module->names, s->name);

	for (uint32_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (name.size == strlen(names[i]) && !memcmp(name.text, names[i], name.size))
			return true;
	return false;
}

struct search {
	const struct module *module;
	const struct function *fn; /* in which the call stands */
	struct arena *arena;
	struct link_callees *out;
};

static void add_symbol(struct search *l, uint32_t symbol)
{
	const struct symbol *s = function_symbol(l->fn, follow_aliases(l->fn, symbol));

	if (s->kind == SYMBOL_FUNC && s->target != NONE)
		ARENA_PUSH(l->arena, l->out->v, l->out->n, l->out->cap, s->target);
	else if (s->kind != SYMBOL_FUNC || !is_harmless(l->module, s))
		l->out->unknown = true;
}

/* A function pointer may hold every function of its prototype whose address is taken. */
static void add_address_taken(struct search *l, uint32_t signature)
{
	const struct module *m = l->module;
	bool found = false;

	for (uint32_t i = 0; i < m->naddress_taken; i++) {
		uint32_t f = m->address_taken[i];

		if (m->functions[f].signature != signature)
			continue;
		found = true;
		if (m->functions[f].has_body)
			ARENA_PUSH(l->arena, l->out->v, l->out->n, l->out->cap, f);
		else
			l->out->unknown = true;
	}
	l->out->unknown |= !found;
}

void link_callees(const struct module *module, const struct function *fn, const struct insn *insn,
	struct arena *arena, struct link_callees *c)
{
	struct search search = {module, fn, arena, c}, *l = &search;
	struct link_call_parts p;

	c->n = 0;
	c->unknown = false;
	link_call_parts(fn, insn, &p);
	if (!p.callee) {
		c->unknown = true;
		return;
	}
	if (p.callee->kind == OPERAND_SYMBOL) {
		add_symbol(l, p.callee->id);
		return;
	}
	const struct table *t = NULL;

	if (p.table && p.table->kind == OPERAND_LABEL && fn->labels[p.table->id].table != NONE)
		t = &fn->tables[fn->labels[p.table->id].table];
	if (t && t->kind == TABLE_CALL) {
		for (uint32_t i = 0; i < t->n; i++)
			add_symbol(l, t->v[i]);
		c->unknown |= !t->n;
	} else if (t && t->kind == TABLE_PROTOTYPE) {
		add_address_taken(l, t->signature);
	} else {
		c->unknown = true;
	}
}
