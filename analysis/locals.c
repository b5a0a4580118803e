/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In: a function whose values are solved. Out: the same with moves in place of the stores and loads
 * of local variables' slots, and solved again. A slot is an (offset, width) of one .local variable
 * that every store to its bytes hits exactly. That needs to know all stores that may hit it: those
 * whose address may be made from a local variable's address, wherever that went by registers or by
 * local memory itself. An address that goes elsewhere gives everything up.
 * Why values that were solved with moves may say where the other stores go: at each step of a run
 * all steps before hit no foreign slot, so the moves did what memory did, so the values cover the
 * addresses, so this step hits no foreign slot either. The last round checks all of them.
 */
#include "analysis/locals.h"

#include "analysis/value_private.h"
#include "base/bits.h"

#include <string.h>

#define ROUNDS 5
#define MOST_BYTES (1u << 20) /* of all local variables */

enum { FREE = 0, BLOCKED = 1, FIRST_SLOT = 2 }; /* of a byte */

struct slot {
	uint32_t symbol, offset, bytes;
	uint32_t reg; /* or NONE */
	bool blocked;
};

struct locals {
	struct unit *unit;
	const struct linked *linked;
	struct function *fn;
	const struct values *values;
	bool *holds;		/* by register: may be made from the address of a local variable */
	uint32_t *fresh, nfresh; /* registers of which that is news */
	struct bits byte_holds; /* so may what this byte of local memory is part of */
	bool some_hold, all_hold;
	bool memory_news;	/* of what memory holds */
	bool *kept;		/* by symbol: see find_kept; NULL: not known yet */
	bool last; /* all moves are made: what is not known now may be anything */
	bool lost;	 /* an address went where it cannot be followed */
	bool open;	 /* a store's place is not known in this round */
	uint32_t *first; /* by symbol: its first byte in `bytes`, or NONE */
	uint32_t *bytes; /* FREE, BLOCKED, or a slot's number + FIRST_SLOT */
	struct bits unblocked; /* those that are not BLOCKED */
	uint32_t regs_cap;
	struct slot *slots;
	uint32_t nslots, slots_cap;
	uint32_t *moves, nmoves, moves_cap; /* instructions to replace in this round */
};

static bool is_local(const struct locals *l, const struct operand *o)
{
	return o->kind == OPERAND_SYMBOL && function_symbol(l->fn, o->id)->space == SPACE_LOCAL;
}

/* Some register or symbol below an operand may carry a local address. */
static bool holds(const struct locals *l, const struct operand *o, uint32_t depth)
{
	if (o->kind == OPERAND_REG && l->holds[o->id])
		return true;
	if (is_local(l, o))
		return true;
	for (uint32_t i = 0; depth < 4 && i < operand_count(o); i++)
		if (holds(l, operand_child(l->fn, o, i), depth + 1))
			return true;
	return false;
}

static void mark(struct locals *l, const struct operand *o)
{
	if (o->kind == OPERAND_REG && l->fn->regs[o->id].bits > 1 && !l->holds[o->id]) {
		l->holds[o->id] = true;
		l->fresh[l->nfresh++] = o->id;
	}
	for (uint32_t i = 0; o->kind != OPERAND_MEM && i < operand_count(o); i++)
		mark(l, operand_child(l->fn, o, i));
}

static bool plain(const struct unit *unit, uint32_t i)
{
	const struct effect *e = unit->effects[i];

	return e->ntouches == 1 && e->touches[0].proxy == PROXY_GENERIC &&
	       !e->touches[0].asynchronous;
}

static bool is_access(const struct locals *l, uint32_t i, uint32_t *bracket)
{
	const struct insn *insn = &l->fn->insns[i];

	if ((insn->op != OP_ld && insn->op != OP_st) || insn->count < 2 || !plain(l->unit, i))
		return false;
	*bracket = insn->op == OP_ld;
	return insn_operand(l->fn, insn, *bracket)->kind == OPERAND_MEM;
}

struct place { /* bytes [lo, hi] of a local variable */
	uint32_t symbol;
	int64_t lo, hi;
	uint32_t width; /* of one element; 0: several elements, or one that is not 4 or 8 bytes */
	bool exact;
};

/* Where an access goes; false: not known to be a local variable. */
static bool find_place(const struct locals *l, uint32_t i, uint32_t bracket, struct place *out)
{
	const struct insn *insn = &l->fn->insns[i];
	struct value v = value_of(l->values, i, insn_operand(l->fn, insn, bracket));
	uint32_t bytes = l->unit->effects[i]->touches[0].bytes;

	if (v.base != BASE_SYMBOL || v.space != SPACE_LOCAL || v.assumptions || !bytes)
		return false;
	int64_t size = (int64_t)function_symbol(l->fn, v.id)->size;

	/* an access never leaves its variable */
	*out = (struct place){.symbol = v.id, .exact = v.lo == v.hi};
	out->lo = v.lo < 0 ? 0 : v.lo;
	out->hi = v.hi > size - bytes ? size - 1 : v.hi + bytes - 1;
	bool scalar = insn_operand(l->fn, insn, !bracket)->kind != OPERAND_LIST;

	if (scalar && (bytes == 4 || bytes == 8) && out->exact && v.lo >= 0 && v.lo + bytes <= size)
		out->width = bytes;
	return l->first[v.id] != NONE;
}

/* Some of the bits [lo, hi] is set. */
static bool any_in_range(struct bits b, uint32_t lo, uint32_t hi)
{
	for (uint32_t w = lo / 64; w <= hi / 64; w++) {
		uint64_t word = b.words[w];

		word &= w == lo / 64 ? ~UINT64_C(0) << (lo % 64) : word;
		word &= w == hi / 64 ? ~UINT64_C(0) >> (63 - hi % 64) : word;
		if (word)
			return true;
	}
	return false;
}

static bool loads_address(const struct locals *l, uint32_t i)
{
	struct place p;

	if (l->all_hold || !find_place(l, i, 1, &p))
		return l->some_hold && l->last;
	uint32_t first = l->first[p.symbol];

	return p.lo <= p.hi &&
	       any_in_range(l->byte_holds, first + (uint32_t)p.lo, first + (uint32_t)p.hi);
}

/* Sets the bits of [lo, hi]; tells whether one of them was not. */
static bool set_range(struct bits b, uint32_t lo, uint32_t hi)
{
	bool grew = false;

	for (uint32_t w = lo / 64; w <= hi / 64; w++) {
		uint64_t word = ~UINT64_C(0);

		word &= w == lo / 64 ? ~UINT64_C(0) << (lo % 64) : word;
		word &= w == hi / 64 ? ~UINT64_C(0) >> (63 - hi % 64) : word;
		grew |= (word & ~b.words[w]) != 0;
		b.words[w] |= word;
	}
	return grew;
}

/* A local address goes into local memory; true when that is news. */
static bool keep_address(struct locals *l, uint32_t i)
{
	struct place p;

	if (l->all_hold)
		return false;
	l->some_hold = true;
	if (!find_place(l, i, 0, &p))
		return l->all_hold = l->last;
	uint32_t first = l->first[p.symbol];

	return p.lo <= p.hi &&
	       set_range(l->byte_holds, first + (uint32_t)p.lo, first + (uint32_t)p.hi);
}

/* One step of "where do local addresses go". */
static void follow(struct locals *l, uint32_t i)
{
	const struct insn *insn = &l->fn->insns[i];
	bool any = false;
	uint32_t bracket;

	for (uint32_t k = 0; k < insn->count && !any; k++)
		any = holds(l, insn_operand(l->fn, insn, k), 0);
	if (!any)
		return;
	if (is_access(l, i, &bracket)) {
		const struct operand *at = insn_operand(l->fn, insn, bracket);
		const struct operand *data = insn_operand(l->fn, insn, !bracket);

		if (!holds(l, at, 0))
			return;
		if (insn->op == OP_st)
			l->memory_news |= holds(l, data, 0) && keep_address(l, i);
		else if (loads_address(l, i))
			mark(l, data);
		return;
	}
	/* only moves and arithmetic take it to their result and nowhere else */
	if (insn_operand(l->fn, insn, 0)->kind == OPERAND_MEM ||
		!(insn_is_arithmetic(insn) || insn->op == OP_isspacep || insn->op == OP_shfl))
		l->lost = true;
	else
		mark(l, insn_operand(l->fn, insn, 0));
}

/* Each that names the register. */
static void follow_register(struct locals *l, uint32_t reg)
{
	struct ids defs = value_register_defs(l->values, reg);
	struct ids uses = value_register_uses(l->values, reg);

	for (uint32_t i = 0; i < defs.n; i++)
		follow(l, defs.v[i]);
	for (uint32_t i = 0; i < uses.n; i++)
		follow(l, uses.v[i]);
}

static void follow_loads(struct locals *l)
{
	const struct ids *active = &l->unit->cfg.active;

	l->memory_news = false;
	for (uint32_t k = 0; k < active->n; k++)
		if (l->fn->insns[active->v[k]].op == OP_ld &&
			l->unit->cfg.block_of[active->v[k]] != NONE)
			follow(l, active->v[k]);
}

/* Sets only grow, so that the order does not matter. */
static void follow_all(struct locals *l)
{
	l->holds = ARENA_NEW(l->unit->arena, bool, l->fn->nregs + 1);
	l->fresh = ARENA_UNSET(l->unit->arena, uint32_t, l->fn->nregs + 1);
	l->nfresh = 0;
	bits_zero(l->byte_holds);
	l->some_hold = l->all_hold = l->memory_news = false;
	for (uint32_t i = 0; i < l->fn->ninsns; i++)
		if (l->unit->cfg.block_of[i] != NONE)
			follow(l, i);
	while ((l->nfresh || l->memory_news) && !l->lost) {
		if (l->nfresh)
			follow_register(l, l->fresh[--l->nfresh]);
		else
			follow_loads(l);
	}
	ARENA_GIVE_BACK(l->unit->arena, l->fresh, l->fn->nregs + 1);
}

/* The value is moved whole: registers are as wide as the slot. */
static bool is_move(const struct locals *l, uint32_t i, const struct place *p)
{
	const struct insn *insn = &l->fn->insns[i];
	const struct operand *data = insn_operand(l->fn, insn, insn->op == OP_st);

	if (!p->width || insn->count != 2 || l->unit->effects[i]->sync != SYNC_NONE)
		return false;
	if (data->kind == OPERAND_REG)
		return l->fn->regs[data->id].bits == 8 * p->width && !data->component &&
		       l->fn->regs[data->id].vector <= 1;
	return insn->op == OP_st && (data->kind == OPERAND_IMM || data->kind == OPERAND_FLOAT);
}

static void block(struct locals *l, uint32_t at)
{
	if (l->bytes[at] >= FIRST_SLOT)
		l->slots[l->bytes[at] - FIRST_SLOT].blocked = true;
	l->bytes[at] = BLOCKED;
	bits_clear(l->unblocked, at);
}

static void block_range(struct locals *l, uint32_t lo, uint32_t hi)
{
	for (uint32_t at = bits_next(l->unblocked, lo); at <= hi && at != NONE;
		at = bits_next(l->unblocked, at + 1))
		block(l, at);
}

static uint32_t slot_at(const struct locals *l, const struct place *p)
{
	uint32_t at = l->bytes[l->first[p->symbol] + p->lo];
	uint32_t k = at < FIRST_SLOT ? NONE : at - FIRST_SLOT;

	return k != NONE && l->slots[k].offset == p->lo && l->slots[k].bytes == p->width ? k : NONE;
}

/* Takes the bytes of a store for its slot, or blocks them. */
static void claim(struct locals *l, const struct place *p, bool moves)
{
	uint32_t first = l->first[p->symbol], slot = moves ? slot_at(l, p) : NONE;
	bool fresh = moves;

	if (slot != NONE)
		return;
	for (int64_t b = p->lo; fresh && b <= p->hi; b++)
		fresh = l->bytes[first + b] == FREE;
	if (!fresh) {
		if (p->lo <= p->hi)
			block_range(l, first + (uint32_t)p->lo, first + (uint32_t)p->hi);
		return;
	}
	struct slot s = {
		.symbol = p->symbol, .offset = (uint32_t)p->lo, .bytes = p->width, .reg = NONE};

	ARENA_PUSH(l->unit->arena, l->slots, l->nslots, l->slots_cap, s);
	for (int64_t b = p->lo; b <= p->hi; b++)
		l->bytes[first + b] = l->nslots - 1 + FIRST_SLOT;
}

static void keep_symbols(struct locals *l, const struct operand *o, uint32_t depth)
{
	if (o->kind == OPERAND_SYMBOL)
		l->kept[o->id] = true;
	for (uint32_t i = 0; depth < 4 && i < operand_count(o); i++)
		keep_symbols(l, operand_child(l->fn, o, i), depth + 1);
}

/* The instructions that call what may write through an argument or keep it. */
static struct bits find_calls(const struct locals *l)
{
	struct bits calls = bits_new(l->unit->arena, l->fn->ninsns + 1);

	for (uint32_t k = 0; k < l->linked->ncalls; k++)
		bits_set(calls, l->linked->calls[k].call);
	for (uint32_t k = 0; k < l->linked->nunknown_calls; k++)
		bits_set(calls, l->linked->unknown_calls[k]);
	return calls;
}

/* What others than stores and harmless calls name. */
static void find_kept(struct locals *l)
{
	struct bits calls = find_calls(l);

	l->kept = ARENA_NEW(
		l->unit->arena, bool, l->fn->module->nsymbols + l->fn->nsymbols + 1);
	for (uint32_t i = 0; i < l->fn->ninsns; i++) {
		const struct insn *insn = &l->fn->insns[i];

		if (insn->op == OP_st || (insn->op == OP_call && !bits_has(calls, i)))
			continue;
		for (uint32_t k = 0; k < insn->count; k++)
			keep_symbols(l, insn_operand(l->fn, insn, k), 0);
	}
}

/* A store of an argument that only callees see which neither write through it nor keep it: printf
 * reads what its buffer holds. */
static bool is_harmless_argument(struct locals *l, const struct insn *store)
{
	const struct operand *o = operand_child(l->fn, insn_operand(l->fn, store, 0), 0);

	if (!o || o->kind != OPERAND_SYMBOL)
		return false;
	const struct symbol *symbol = function_symbol(l->fn, o->id);

	if (symbol->kind != SYMBOL_VAR || symbol->space != SPACE_PARAM)
		return false;
	if (!l->kept)
		find_kept(l);
	return !l->kept[o->id];
}

/* All stores that local addresses reach. */
static void claim_stores(struct locals *l)
{
	l->open = false;
	for (uint32_t i = 0; i < l->fn->ninsns && !l->lost; i++) {
		const struct insn *insn = &l->fn->insns[i];
		struct place p;
		uint32_t bracket;

		if (l->unit->cfg.block_of[i] == NONE || insn->op != OP_st ||
			!is_access(l, i, &bracket))
			continue;
		bool to_local = holds(l, insn_operand(l->fn, insn, bracket), 0);

		if (!to_local) {
			l->lost |= holds(l, insn_operand(l->fn, insn, !bracket), 0) &&
				   !is_harmless_argument(l, insn);
			continue;
		}
		if (find_place(l, i, bracket, &p))
			claim(l, &p, is_move(l, i, &p));
		else
			l->open = true;
	}
	for (uint32_t k = 0; k < l->nslots; k++) /* moves were made already: too late */
		l->lost |= l->slots[k].blocked && l->slots[k].reg != NONE;
}

static uint32_t register_of(struct locals *l, struct slot *s)
{
	struct function *fn = l->fn;

	if (s->reg != NONE)
		return s->reg;
	struct reg reg = {.name = function_symbol(fn, s->symbol)->name,
		.number = NONE,
		.type = s->bytes == 8 ? MOD_b64 : MOD_b32,
		.bits = (uint8_t)(8 * s->bytes),
		.vector = 1};

	ARENA_PUSH(l->unit->arena, fn->regs, fn->nregs, l->regs_cap, reg);
	return s->reg = fn->nregs - 1;
}

static void make_move(struct locals *l, uint32_t i, struct slot *s)
{
	static const uint16_t type[] = {MOD_b32, MOD_b64};
	struct insn *insn = &l->fn->insns[i];
	struct operand *at = &l->fn->operands[insn->first + (insn->op == OP_ld)];
	struct touch *t = &effects_own(l->unit->effects, i, l->unit->arena)->touches[0];

	*at = (struct operand){.kind = OPERAND_REG, .id = register_of(l, s)};
	insn->op = OP_mov;
	insn->mods = &type[s->bytes == 8];
	insn->nmods = 1;
	/* it still is a store or load for who asks when values are there */
	t->spaces = SPACE_LOCAL;
	t->operand = UINT8_MAX;
	t->generic_address = false;
}

static void find_moves(struct locals *l)
{
	l->nmoves = 0;
	for (uint32_t i = 0; i < l->fn->ninsns; i++) {
		struct place p;
		uint32_t bracket;

		if (l->unit->cfg.block_of[i] == NONE || !is_access(l, i, &bracket) ||
			!holds(l, insn_operand(l->fn, &l->fn->insns[i], bracket), 0) ||
			!find_place(l, i, bracket, &p) || !is_move(l, i, &p))
			continue;
		uint32_t slot = slot_at(l, &p);

		if (slot == NONE || l->slots[slot].blocked)
			continue;
		ARENA_PUSH(l->unit->arena, l->moves, l->nmoves, l->moves_cap, i);
		ARENA_PUSH(l->unit->arena, l->moves, l->nmoves, l->moves_cap, slot);
	}
}

static void solve(struct locals *l)
{
	struct unit *unit = l->unit;

	unit->values = values_solve(
		unit->fn, &unit->cfg, unit->options, unit->arena, unit->budget, &unit->assumptions);
	l->values = unit->values;
}

/* Bytes of the local variables that matter; false: there are none, or too many. */
static bool find_variables(struct locals *l)
{
	uint32_t n = l->fn->module->nsymbols + l->fn->nsymbols;
	uint64_t bytes = 0;

	for (uint32_t id = l->fn->module->nsymbols; id < n; id++)
		if (function_symbol(l->fn, id)->space == SPACE_LOCAL)
			bytes += function_symbol(l->fn, id)->size;
	if (!bytes || bytes > MOST_BYTES)
		return false;
	l->first = ARENA_NEW(l->unit->arena, uint32_t, n);
	l->bytes = ARENA_NEW(l->unit->arena, uint32_t, bytes);
	l->byte_holds = bits_new(l->unit->arena, (uint32_t)bytes);
	l->unblocked = bits_new(l->unit->arena, (uint32_t)bytes);
	set_range(l->unblocked, 0, (uint32_t)bytes - 1);
	bytes = 0;
	for (uint32_t id = 0; id < n; id++) {
		const struct symbol *s = function_symbol(l->fn, id);

		l->first[id] = NONE;
		if (id < l->fn->module->nsymbols || s->space != SPACE_LOCAL || s->unsized)
			continue;
		l->first[id] = (uint32_t)bytes;
		bytes += s->size;
	}
	return true;
}

static void copy_text(struct locals *l)
{
	struct function *fn = l->fn;
	struct insn *insns = ARENA_NEW(l->unit->arena, struct insn, fn->ninsns + 1);
	struct operand *operands = ARENA_NEW(l->unit->arena, struct operand, fn->noperands + 1);
	struct reg *regs = ARENA_UNSET(l->unit->arena, struct reg, fn->nregs + 1);

	memcpy(insns, fn->insns, sizeof(*insns) * fn->ninsns);
	memcpy(operands, fn->operands, sizeof(*operands) * fn->noperands);
	if (fn->nregs)
		memcpy(regs, fn->regs, sizeof(*regs) * fn->nregs);
	fn->insns = insns;
	fn->operands = operands;
	fn->regs = regs;
	l->regs_cap = fn->nregs + 1;
}

/* True: moves stand for all that they should. */
static bool promote(struct locals *l)
{
	for (uint32_t round = 0; round < ROUNDS; round++) {
		follow_all(l);
		claim_stores(l);
		if (l->lost || budget_spent(l->unit->budget))
			return false;
		find_moves(l);
		if (l->last)
			return !l->nmoves && !l->open;
		l->last = !l->nmoves;
		if (l->last)
			continue;
		for (uint32_t k = 0; k < l->nmoves; k += 2)
			make_move(l, l->moves[k], &l->slots[l->moves[k + 1]]);
		solve(l);
	}
	return false;
}

void locals_solve(struct unit *unit, struct linked *linked)
{
	struct locals l = {.unit = unit, .linked = linked, .fn = &linked->fn};
	struct function before = linked->fn;
	const struct effect **effects;

	solve(&l);
	/* a copy that is entered again, or by recursion, has other variables each time */
	if (linked->shared_copies || !find_variables(&l))
		return;
	struct values *values = unit->values;

	effects = ARENA_UNSET(unit->arena, const struct effect *, before.ninsns + 1);
	memcpy(effects, unit->effects, sizeof(*effects) * before.ninsns);
	copy_text(&l);
	if (promote(&l))
		return;
	linked->fn = before;
	memcpy(unit->effects, effects, sizeof(*effects) * before.ninsns);
	unit->values = values;
}
