/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In: a flat function whose calls pass values through .param symbols. Out: the same with
 * OP_LINK_MOV in place of the st.param and ld.param of scalars, so that values are seen through
 * calls. Symbols that a call connects (actual and formal, argument or return) form a class; a class
 * has one register per (offset, width). Invariant: a register is used only where it certainly holds
 * what the symbol would; a class with any access that is not understood is left alone.
 */
#include "analysis/effect_form.h"
#include "analysis/link_copy.h"

struct slot { /* of one class */
	uint32_t class, offset, bytes;
	uint32_t reg;
	bool blocked; /* overlaps another shape, or something narrower or wider is moved */
	bool stored;
	bool from_regs; /* some store is of a register, not of a small constant */
	uint32_t next;	/* slot of the same class, or NONE */
};

struct site { /* one symbol at one call */
	uint32_t symbol, call, index;
	bool is_return;
};

struct params {
	const struct link_graph *graph;
	struct function *fn;
	struct arena *arena;
	uint32_t n;	      /* symbols of the flat function */
	uint32_t *parent;     /* union-find */
	bool *bad;	      /* by root of a class */
	uint32_t *first_slot; /* by root of a class */
	bool *target;	      /* by instruction: a label stands before it */
	struct slot *slots;
	uint32_t nslots, slots_cap;
	struct site *sites;
	uint32_t nsites, sites_cap;
	uint32_t regs_cap;
	uint32_t *calls_of; /* by root of a class: how many calls use it */
};

static uint32_t find(struct params *p, uint32_t s)
{
	while (p->parent[s] != s)
		s = p->parent[s] = p->parent[p->parent[s]];
	return s;
}

static void join(struct params *p, uint32_t a, uint32_t b)
{
	p->parent[find(p, a)] = find(p, b);
}

/* Flat .param symbol of an operand as an index, or NONE. */
static uint32_t param_of(const struct params *p, const struct operand *o)
{
	uint32_t module = p->fn->module->nsymbols;

	if (o->kind != OPERAND_SYMBOL || o->id < module)
		return NONE;
	return p->fn->symbols[o->id - module].space == SPACE_PARAM ? o->id - module : NONE;
}

/* A .param symbol accessed as [symbol+constant] by a plain ld or st; the operand number of the
 * bracket. */
static uint32_t accessed(const struct params *p, const struct insn *insn, uint32_t *bracket)
{
	if (insn->op != OP_ld && insn->op != OP_st)
		return NONE;
	*bracket = insn->op == OP_ld ? 1 : 0;
	const struct operand *m = insn_operand(p->fn, insn, *bracket);

	if (!m || m->kind != OPERAND_MEM || operand_count(m) != 1 || m->indexed || insn->count != 2)
		return NONE;
	return param_of(p, operand_child(p->fn, m, 0));
}

static uint32_t formal(const struct link_copy *c, bool is_return, uint32_t i)
{
	uint32_t n = is_return ? c->body->nreturns : c->body->nparams;
	uint32_t first = is_return ? c->body->first_return : c->body->first_param;
	uint32_t module = c->body->module->nsymbols;

	return i < n ? c->symbols[first + i - module] - module : NONE;
}

/* ---- classes ---- */

static void connect(
	struct params *p, const struct link_edge *e, const struct operand *tuple, bool is_return)
{
	const struct link_copy *callee = &p->graph->copies[e->callee];

	for (uint32_t i = 0; tuple && i < operand_count(tuple); i++) {
		uint32_t f = formal(callee, is_return, i);
		uint32_t s = param_of(p, operand_child(p->fn, tuple, i));

		if (f == NONE)
			continue;
		if (s != NONE)
			join(p, f, s);
		if (e->recursive || (is_return && p->graph->unknown[e->call]))
			p->bad[f] = true; /* moved to the roots later */
		struct site site = {
			.symbol = f, .call = e->call, .index = i, .is_return = is_return};

		ARENA_PUSH(p->arena, p->sites, p->nsites, p->sites_cap, site);
	}
}

static void connect_calls(struct params *p)
{
	for (uint32_t i = 0; i < p->graph->nedges; i++) {
		const struct link_edge *e = &p->graph->edges[i];
		struct link_call_parts parts;

		link_call_parts(p->fn, &p->fn->insns[e->call], &parts);
		connect(p, e, parts.arguments, false);
		connect(p, e, parts.returns, true);
	}
}

/* Any other mention (its address, an index, a call that is not linked) gives the symbol away. */
static void find_strange_uses(struct params *p)
{
	bool *linked = ARENA_NEW(p->arena, bool, p->fn->ninsns + 1);

	for (uint32_t i = 0; i < p->graph->nedges; i++)
		linked[p->graph->edges[i].call] = true;
	for (uint32_t i = 0; i < p->fn->ninsns; i++) {
		const struct insn *insn = &p->fn->insns[i];
		uint32_t bracket;

		if (linked[i] || accessed(p, insn, &bracket) != NONE)
			continue;
		struct link_call_parts parts = {0};

		if (insn->op == OP_call)
			link_call_parts(p->fn, insn, &parts);
		for (uint32_t k = 0; k < insn->count; k++) {
			const struct operand *o = insn_operand(p->fn, insn, k);

			if (o == parts.arguments) /* by value */
				continue;
			if (param_of(p, o) != NONE)
				p->bad[param_of(p, o)] = true;
			for (uint32_t c = 0; c < operand_count(o); c++)
				if (param_of(p, operand_child(p->fn, o, c)) != NONE)
					p->bad[param_of(p, operand_child(p->fn, o, c))] = true;
		}
	}
}

/* Several callees of one call have a formal each, in one class: one site. Edges of a call stand
 * together. */
static void drop_repeated_sites(struct params *p)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < p->nsites; i++) {
		const struct site *s = &p->sites[i];
		bool again = false;

		for (uint32_t k = n; k-- > 0 && p->sites[k].call == s->call;)
			again |= p->sites[k].index == s->index &&
				 p->sites[k].is_return == s->is_return &&
				 find(p, p->sites[k].symbol) == find(p, s->symbol);
		if (!again)
			p->sites[n++] = *s;
	}
	p->nsites = n;
}

static void collect_bad(struct params *p)
{
	for (uint32_t s = 0; s < p->n; s++)
		if (p->bad[s])
			p->bad[find(p, s)] = true;
	drop_repeated_sites(p);
	for (uint32_t i = 0; i < p->nsites; i++)
		p->calls_of[find(p, p->sites[i].symbol)]++;
}

/* ---- slots ---- */

static uint32_t access_bytes(const struct params *p, const struct insn *insn)
{
	struct effect e;

	effect_of(p->fn, insn, &e);
	return e.ntouches == 1 && e.touches[0].extent == EXTENT_FIXED ? e.touches[0].bytes : 0;
}

static struct slot *slot_of(struct params *p, uint32_t class, uint32_t offset, uint32_t bytes)
{
	struct slot *found = NULL;
	bool blocked = false;

	for (uint32_t i = p->first_slot[class]; i != NONE; i = p->slots[i].next) {
		struct slot *s = &p->slots[i];

		if (s->offset == offset && s->bytes == bytes) {
			found = s;
		} else if (offset < s->offset + s->bytes && s->offset < offset + bytes) {
			s->blocked = blocked = true;
		}
	}
	if (!found) {
		struct slot s = {.class = class,
			.offset = offset,
			.bytes = bytes,
			.reg = NONE,
			.next = p->first_slot[class]};

		p->first_slot[class] = p->nslots;
		ARENA_PUSH(p->arena, p->slots, p->nslots, p->slots_cap, s);
		found = &p->slots[p->nslots - 1];
	}
	found->blocked |= blocked;
	return found;
}

/* A move between registers of the slot's width says the same as the access: no extension, no cut.
 */
static bool is_whole_reg(const struct params *p, const struct operand *o, uint32_t bytes)
{
	return o->kind == OPERAND_REG && !o->component && p->fn->regs[o->id].vector <= 1 &&
	       p->fn->regs[o->id].bits == bytes * 8;
}

/* Small constants survive any extension. */
static bool is_plain_constant(const struct operand *o, uint32_t bytes)
{
	return o->kind == OPERAND_IMM && (bytes >= 4 || o->imm >> (8 * bytes - 1) == 0);
}

static void note_store(const struct params *p, struct slot *slot, const struct operand *value)
{
	slot->stored = true;
	slot->from_regs |= value->kind == OPERAND_REG;
	slot->blocked |=
		!is_whole_reg(p, value, slot->bytes) && !is_plain_constant(value, slot->bytes);
}

static bool may_load(const struct params *p, const struct slot *slot, const struct operand *to)
{
	if (is_whole_reg(p, to, slot->bytes))
		return true;
	return slot->bytes < 4 && !slot->from_regs && to->kind == OPERAND_REG && !to->component &&
	       p->fn->regs[to->id].vector <= 1 && p->fn->regs[to->id].bits > slot->bytes * 8;
}

static void collect_slots(struct params *p)
{
	for (uint32_t i = 0; i < p->fn->ninsns; i++) {
		const struct insn *insn = &p->fn->insns[i];
		uint32_t bracket, s = accessed(p, insn, &bracket);

		if (s == NONE || !p->calls_of[find(p, s)])
			continue;
		const struct operand *m = insn_operand(p->fn, insn, bracket);
		int64_t offset = operand_offset(p->fn, operand_child(p->fn, m, 0));
		uint32_t bytes = access_bytes(p, insn), class = find(p, s);

		if (!bytes || offset < 0 || offset > 1 << 20) {
			p->bad[class] = true;
			continue;
		}
		struct slot *slot = slot_of(p, class, (uint32_t)offset, bytes);

		if (insn->op == OP_st)
			note_store(p, slot, insn_operand(p->fn, insn, 1));
	}
}

/* ---- several calls of one class: the value must not be overtaken on its way ---- */

static bool ends_run(const struct params *p, uint32_t i)
{
	switch (p->fn->insns[i].op) {
	case OP_bra:
	case OP_brx:
	case OP_ret:
	case OP_exit:
	case OP_trap:
	case OP_call:
		return true;
	default:
		return false;
	}
}

/* All accesses of the class in the caller belong to this call when they stand in one run with it:
 * stores of arguments before, loads of returns behind. Counts those seen. */
static uint32_t accesses_beside(struct params *p, const struct site *site)
{
	uint32_t class = find(p, site->symbol), seen = 0, bracket;
	uint32_t i = site->call;

	if (site->is_return) {
		for (i++; i < p->fn->ninsns && !p->target[i]; i++) {
			uint32_t s = accessed(p, &p->fn->insns[i], &bracket);

			seen += s != NONE && find(p, s) == class && p->fn->insns[i].op == OP_ld;
			if (ends_run(p, i))
				break;
		}
		return seen;
	}
	while (i > 0 && !p->target[i] && !ends_run(p, i - 1)) {
		uint32_t s = accessed(p, &p->fn->insns[--i], &bracket);

		seen += s != NONE && find(p, s) == class && p->fn->insns[i].op == OP_st &&
			p->fn->insns[i].guard == NONE;
	}
	return seen;
}

static uint32_t count_slots(const struct params *p, uint32_t class)
{
	uint32_t n = 0;

	for (uint32_t i = p->first_slot[class]; i != NONE; i = p->slots[i].next)
		n += p->slots[i].stored;
	return n;
}

static void check_shared_classes(struct params *p)
{
	uint32_t *argument = ARENA_NEW(p->arena, uint32_t, p->n),
		 *total = ARENA_NEW(p->arena, uint32_t, p->n);
	uint32_t bracket;

	for (uint32_t i = 0; i < p->nsites; i++) {
		uint32_t class = find(p, p->sites[i].symbol);
		uint32_t seen;

		if (p->calls_of[class] < 2 || p->bad[class])
			continue;
		seen = accesses_beside(p, &p->sites[i]);
		/* each call gives every slot once, else an older value could stand in it */
		if (!p->sites[i].is_return && seen != count_slots(p, class))
			p->bad[class] = true;
		argument[class] |= 1U << p->sites[i].is_return;
		total[class] += seen;
	}
	for (uint32_t i = 0; i < p->fn->ninsns; i++) {
		uint32_t s = accessed(p, &p->fn->insns[i], &bracket);
		uint32_t class = s == NONE ? NONE : find(p, s);

		if (class == NONE || p->calls_of[class] < 2 || p->bad[class] ||
			argument[class] == 3)
			continue;
		/* what the run of no call holds is left over in the count */
		if ((p->fn->insns[i].op == OP_st) == (argument[class] == 1))
			total[class]--;
	}
	for (uint32_t s = 0; s < p->n; s++)
		if (find(p, s) == s && (total[s] || argument[s] == 3))
			p->bad[s] = true;
}

/* ---- rewriting ---- */

static uint32_t reg_of(struct params *p, struct slot *slot)
{
	static const uint16_t types[] = {
		[1] = MOD_b8, [2] = MOD_b16, [4] = MOD_b32, [8] = MOD_b64, [16] = MOD_b128};

	if (slot->reg == NONE) {
		struct reg r = {.name = p->fn->symbols[slot->class].name,
			.number = NONE,
			.type = types[slot->bytes],
			.bits = (uint8_t)(slot->bytes * 8),
			.vector = 1};

		slot->reg = p->fn->nregs;
		ARENA_PUSH(p->arena, p->fn->regs, p->fn->nregs, p->regs_cap, r);
	}
	return slot->reg;
}

static bool usable(const struct params *p, const struct slot *slot)
{
	return !p->bad[slot->class] && !slot->blocked && slot->stored && slot->bytes <= 16 &&
	       !(slot->bytes & (slot->bytes - 1));
}

static void become_reg(struct operand *o, uint32_t reg)
{
	*o = (struct operand){.kind = OPERAND_REG, .id = reg};
}

static void rewrite_accesses(struct params *p)
{
	for (uint32_t i = 0; i < p->fn->ninsns; i++) {
		struct insn *insn = &p->fn->insns[i];
		uint32_t bracket, s = accessed(p, insn, &bracket);

		if (s == NONE || !p->calls_of[find(p, s)] || p->bad[find(p, s)])
			continue;
		struct operand *m = &p->fn->operands[insn->first + bracket];
		int64_t offset = operand_offset(p->fn, operand_child(p->fn, m, 0));
		uint32_t bytes = access_bytes(p, insn);
		struct slot *slot = slot_of(p, find(p, s), (uint32_t)offset, bytes);

		if (!usable(p, slot) ||
			(insn->op == OP_ld && !may_load(p, slot, insn_operand(p->fn, insn, 0))))
			continue;
		become_reg(m, reg_of(p, slot));
		m->formal = p->fn->symbols[s].kind != SYMBOL_VAR;
		insn->op = (uint16_t)OP_LINK_MOV;
	}
}

/* The register that stands for a formal passed as a whole: its own (.reg), or its class's slot. */
static uint32_t whole_reg(struct params *p, const struct link_copy *c, uint32_t f)
{
	const struct symbol *s = &p->fn->symbols[f];

	if (s->space == SPACE_REG) {
		for (uint32_t r = 0; r < c->body->nregs; r++)
			if (c->body->regs[r].name == s->name && c->body->regs[r].number == NONE)
				return c->first_reg + r;
		return NONE;
	}
	uint32_t class = find(p, f);

	for (uint32_t i = p->first_slot[class]; i != NONE; i = p->slots[i].next)
		if (p->slots[i].offset == 0 && p->slots[i].bytes == s->size &&
			!p->slots[i].blocked && !p->bad[class])
			return reg_of(p, &p->slots[i]);
	return NONE;
}

/* Fills in the moves that link.c put beside a call for registers and constants in its parentheses.
 */
static void fill_moves(
	struct params *p, const struct link_edge *e, const struct operand *tuple, bool is_return)
{
	const struct link_copy *c = &p->graph->copies[e->callee];
	uint32_t plain = 0, k = 0;

	for (uint32_t i = 0; tuple && i < operand_count(tuple); i++)
		plain += operand_child(p->fn, tuple, i)->kind != OPERAND_SYMBOL;
	for (uint32_t i = 0; plain && i < operand_count(tuple); i++) {
		if (operand_child(p->fn, tuple, i)->kind == OPERAND_SYMBOL)
			continue;
		struct insn *move =
			&p->fn->insns[is_return ? e->call + 1 + k : e->call - plain + k];
		struct operand *o = &p->fn->operands[move->first];
		uint32_t f = formal(c, is_return, i);
		uint32_t reg = f == NONE ? NONE : whole_reg(p, c, f);

		k++;
		if (reg == NONE || e->recursive)
			continue;
		if (!is_return) {
			become_reg(&o[0], reg);
		} else if (o[1].kind == OPERAND_REG) {
			o[0] = o[1];
			become_reg(&o[1], reg);
		}
	}
}

/* A formal of registers is settled when one call alone enters its copy. */
static void mark_plain_arguments(struct params *p)
{
	for (uint32_t i = 0; i < p->graph->nedges; i++) {
		const struct link_edge *e = &p->graph->edges[i];
		struct link_call_parts parts;

		link_call_parts(p->fn, &p->fn->insns[e->call], &parts);
		for (uint32_t k = 0; parts.arguments && k < operand_count(parts.arguments); k++) {
			uint32_t f = formal(&p->graph->copies[e->callee], false, k);

			if (f == NONE ||
				param_of(p, operand_child(p->fn, parts.arguments, k)) != NONE ||
				p->fn->symbols[f].space != SPACE_PARAM)
				continue;
			uint32_t class = find(p, f);

			if (p->calls_of[class] > 1 || p->fn->symbols[f].size > 16 ||
				!p->fn->symbols[f].size) {
				p->bad[class] = true;
				continue;
			}
			struct slot *s = slot_of(p, class, 0, (uint32_t)p->fn->symbols[f].size);

			note_store(p, s, operand_child(p->fn, parts.arguments, k));
		}
	}
}

static void fill_all_moves(struct params *p)
{
	uint32_t *entered = ARENA_NEW(p->arena, uint32_t, p->graph->ncopies);

	uint8_t *targets = ARENA_NEW(p->arena, uint8_t, p->fn->ninsns + 1); /* up to two */

	for (uint32_t i = 0; i < p->graph->nedges; i++) {
		uint32_t call = p->graph->edges[i].call;

		entered[p->graph->edges[i].callee]++;
		targets[call] += targets[call] < 2;
	}
	for (uint32_t i = 0; i < p->graph->nedges; i++) {
		const struct link_edge *e = &p->graph->edges[i];
		struct link_call_parts parts;

		if (entered[e->callee] > 1 || targets[e->call] > 1 || p->graph->unknown[e->call])
			continue;
		link_call_parts(p->fn, &p->fn->insns[e->call], &parts);
		fill_moves(p, e, parts.arguments, false);
		fill_moves(p, e, parts.returns, true);
	}
}

static void mark_targets(struct params *p)
{
	p->target = ARENA_NEW(p->arena, bool, p->fn->ninsns + 1);
	for (uint32_t i = 0; i < p->fn->nlabels; i++)
		p->target[p->fn->labels[i].insn] = true;
}

void link_params(const struct link_graph *graph, struct arena *arena)
{
	struct params p = {.graph = graph,
		.fn = &graph->linked->fn,
		.arena = arena,
		.n = graph->linked->fn.nsymbols,
		.regs_cap = graph->linked->fn.nregs};

	p.parent = ARENA_NEW(arena, uint32_t, p.n + 1);
	p.first_slot = ARENA_NEW(arena, uint32_t, p.n + 1);
	p.bad = ARENA_NEW(arena, bool, p.n + 1);
	p.calls_of = ARENA_NEW(arena, uint32_t, p.n + 1);
	for (uint32_t i = 0; i < p.n; i++) {
		p.parent[i] = i;
		p.first_slot[i] = NONE;
	}
	mark_targets(&p);
	connect_calls(&p);
	find_strange_uses(&p);
	collect_bad(&p);
	collect_slots(&p);
	mark_plain_arguments(&p);
	check_shared_classes(&p);
	rewrite_accesses(&p);
	fill_all_moves(&p);
}
