/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In: a function and its graph. Out: nodes of the registers asked for. Phis stand on the iterated
 * dominance frontier of the definitions (Cytron and others, TOPLAS 1991), but only those that a use
 * can see are made. Invariant: every use is dominated by the node it reads, so two nodes seen at
 * one place belong to the same pass through their common loops.
 */
#include "analysis/ssa.h"

#include "analysis/frontier.h"
#include "analysis/regs.h"

#include <stdlib.h>
#include <string.h>

#define WALK_MOST 32 /* dominators that are looked at one by one */

struct stop { /* a block that defines the current register or has a phi place, in preorder */
	uint32_t enter, leave, block;
	uint32_t outer; /* index of the nearest one that dominates it, or NONE */
};

struct ssa_scratch { /* by block, valid where stamp[block] == current register + 1 */
	struct arena arena;
	uint32_t *def_node; /* of the current register, by definition from its first one on */
	uint32_t *stamp, *first_def,
		*last_def;	       /* indices into the definitions; NONE: no definition */
	uint32_t *frontier_stamp;      /* block has a phi place */
	uint32_t *phi;		       /* its node, or NONE */
	uint32_t *reach_stamp, *reach; /* node at the block's entry */
	uint32_t *stack;
	uint32_t *frontier, nfrontier; /* the blocks with a phi place */
	struct stop *stops;	       /* made on first need */
	uint32_t nstops, stopped;      /* `mark' of the register that they are of */
	struct frontiers *frontiers;   /* likewise */
	uint32_t undefined;	     /* node of the current register, or NONE */
};

struct use { /* of a register, in text order */
	uint32_t reg, insn, slot; /* the operand's index, NONE of a guard */
};

struct def {
	uint32_t reg, insn;
};

struct sights {
	struct ssa *ssa;
	struct use *uses; /* room for all operands and guards */
	struct def *defs; /* room for all operands, those of shared lists for each of them */
	uint32_t nuses, ndefs;
	uint32_t insn;
};

static inline void see_special(struct sights *seen, const struct operand *o)
{
	if (o->kind == OPERAND_SPECIAL)
		seen->ssa->specials |= UINT64_C(1) << o->special;
}

static inline void see_use(struct sights *seen, uint32_t reg, uint32_t slot)
{
	seen->uses[seen->nuses++] = (struct use){reg, seen->insn, slot};
	seen->ssa->use_at[reg]++;
}

static inline void see_def(struct sights *seen, uint32_t reg)
{
	seen->defs[seen->ndefs++] = (struct def){reg, seen->insn};
	seen->ssa->def_at[reg]++;
}

/* Operands nest four deep at most; see regs.c. */
static void see_used(struct sights *seen, const struct operand *o, uint32_t depth)
{
	const struct operand *operands = seen->ssa->fn->operands;

	if (o->kind == OPERAND_REG)
		see_use(seen, o->id, (uint32_t)(o - operands));
	see_special(seen, o);
	for (uint32_t i = 0; depth < 4 && i < operand_count(o); i++)
		see_used(seen, operands + o->first + i, depth + 1);
}

/* Most are in the long lists of matrix products. */
static void see_defined(struct sights *seen, const struct operand *o, uint32_t depth)
{
	uint32_t *count = seen->ssa->def_at, insn = seen->insn;

	if (o->kind == OPERAND_REG)
		see_def(seen, o->id);
	if (depth == 4 || !operand_has_children(o))
		return;
	const struct operand *child = seen->ssa->fn->operands + o->first, *end = child + o->children;

	while (child < end) {
		struct def *def = seen->defs + seen->ndefs;

		for (; child < end && child->kind == OPERAND_REG; child++) {
			*def++ = (struct def){child->id, insn};
			count[child->id]++;
		}
		seen->ndefs = (uint32_t)(def - seen->defs);
		if (child < end)
			see_defined(seen, child++, depth + 1);
	}
}

static void see_insn(struct sights *seen, uint32_t i)
{
	const struct function *fn = seen->ssa->fn;
	const struct insn *insn = &fn->insns[i];
	uint32_t first = regs_destinations(fn, insn);

	seen->insn = i;
	for (uint32_t k = 0; k < first; k++)
		see_defined(seen, insn_operand(fn, insn, k), 0);
	for (uint32_t k = first; k < insn->count; k++) {
		const struct operand *o = insn_operand(fn, insn, k);

		if (o->kind == OPERAND_REG)
			see_use(seen, o->id, (uint32_t)(o - fn->operands));
		else if (operand_has_children(o))
			see_used(seen, o, 0);
		else
			see_special(seen, o);
	}
	if (insn->guard != NONE)
		see_use(seen, insn->guard, NONE);
}

static uint32_t *zeroes(struct arena *arena, uint32_t n)
{
	return ARENA_NEW(arena, uint32_t, n + 1);
}

static uint32_t *unset(struct arena *arena, uint32_t n)
{
	return ARENA_UNSET(arena, uint32_t, n + 1);
}

static uint32_t *nones(struct arena *arena, uint32_t n)
{
	return memset(unset(arena, n), 0xff, sizeof(uint32_t) * (n + (size_t)1));
}

/* From the last one on: each register's end moves to its start. */
static void fill_uses(struct ssa *s, const struct sights *seen)
{
	s->use_insn = unset(s->arena, seen->nuses);
	s->use_slot = unset(s->arena, seen->nuses);
	uint32_t *use_at = s->use_at, *use_insn = s->use_insn, *use_slot = s->use_slot;

	for (uint32_t i = seen->nuses; i-- > 0;) {
		const struct use *x = &seen->uses[i];
		uint32_t at = --use_at[x->reg];

		use_insn[at] = x->insn;
		use_slot[at] = x->slot;
	}
}

static void fill_defs(struct ssa *s, const struct sights *seen)
{
	s->def_insn = unset(s->arena, seen->ndefs);
	uint32_t *at = s->def_at, *def_insn = s->def_insn;

	for (uint32_t i = seen->ndefs; i-- > 0;)
		def_insn[--at[seen->defs[i].reg]] = seen->defs[i].insn;
}

static void index_registers(struct ssa *s)
{
	const struct function *fn = s->fn;
	uint32_t nregs = fn->nregs;
	size_t most = (size_t)fn->noperands + fn->ninsns,
	       most_defs = (size_t)fn->noperands + fn->nshared;
	struct sights seen = {.ssa = s,
		.uses = ARENA_UNSET(s->arena, struct use, most),
		.defs = ARENA_UNSET(s->arena, struct def, most_defs)};

	s->use_at = zeroes(s->arena, nregs + 1);
	s->def_at = zeroes(s->arena, nregs + 1);
	for (uint32_t i = 0; i < fn->ninsns; i++)
		if (s->cfg->block_of[i] != NONE)
			see_insn(&seen, i);
	uint32_t nuses = 0, ndefs = 0;

	for (uint32_t r = 0; r < nregs; r++) {
		if (s->def_at[r] > s->defs_most)
			s->defs_most = s->def_at[r];
		s->use_at[r] = nuses += s->use_at[r];
		s->def_at[r] = ndefs += s->def_at[r];
	}
	s->use_at[nregs] = nuses;
	s->def_at[nregs] = ndefs;
	fill_uses(s, &seen);
	fill_defs(s, &seen);
	ARENA_GIVE_BACK(s->arena, seen.defs, most_defs);
	ARENA_GIVE_BACK(s->arena, seen.uses, most);
}

void ssa_index(struct ssa *s)
{
	if (!s->use_at)
		index_registers(s);
}

void ssa_drop_index(struct ssa *s)
{
	uint32_t nregs = s->fn->nregs;

	if (!s->use_at)
		return;
	ARENA_GIVE_BACK(s->arena, s->def_insn, s->def_at[nregs] + 1);
	ARENA_GIVE_BACK(s->arena, s->use_slot, s->use_at[nregs] + 1);
	ARENA_GIVE_BACK(s->arena, s->use_insn, s->use_at[nregs] + 1);
	ARENA_GIVE_BACK(s->arena, s->def_at, nregs + 2);
	ARENA_GIVE_BACK(s->arena, s->use_at, nregs + 2);
	s->use_at = s->use_insn = s->use_slot = s->def_at = s->def_insn = NULL;
}

void ssa_init(struct ssa *s, const struct function *fn, const struct cfg *cfg, struct arena *arena)
{
	*s = (struct ssa){.fn = fn, .cfg = cfg, .arena = arena};
	index_registers(s);
	s->done = ARENA_NEW(arena, bool, fn->nregs + 1);
	for (uint32_t i = 0; i < fn->noperands; i++)
		if (fn->operands[i].kind == OPERAND_REG)
			fn->operands[i].node = NONE;
	s->guard_of = nones(arena, fn->ninsns);
}

static void make_scratch(struct ssa *s)
{
	struct ssa_scratch *x = s->scratch = ARENA_NEW(s->arena, struct ssa_scratch, 1);
	struct arena *arena = &x->arena;
	uint32_t n = s->cfg->n;

	arena_begin(arena, s->arena);
	x->def_node = unset(arena, s->defs_most);
	x->stamp = zeroes(arena, n);
	x->first_def = unset(arena, n);
	x->last_def = unset(arena, n);
	x->frontier_stamp = zeroes(arena, n);
	x->phi = unset(arena, n);
	x->reach_stamp = zeroes(arena, n);
	x->reach = unset(arena, n);
	x->stack = unset(arena, n);
	x->frontier = unset(arena, n);
}

void ssa_rest(struct ssa *s)
{
	ARENA_TRIM(s->arena, s->nodes, s->n, s->cap);
	ARENA_TRIM(s->arena, s->inputs, s->ninputs, s->inputs_cap);
	s->cap = s->n;
	s->inputs_cap = s->ninputs;
	if (!s->scratch)
		return;
	arena_end(&s->scratch->arena);
	ARENA_GIVE_BACK(s->arena, s->scratch, 1);
	s->scratch = NULL;
}

static uint32_t *def_node(const struct ssa *s, uint32_t reg, uint32_t d)
{
	return &s->scratch->def_node[d - s->def_at[reg]];
}

static inline uint32_t new_node(struct ssa *s, struct node node)
{
	ARENA_PUSH(s->arena, s->nodes, s->n, s->cap, node);
	return s->n - 1;
}

/* Marks the iterated dominance frontier of the register's definitions. */
static void place_phis(struct ssa *s, uint32_t reg, uint32_t mark)
{
	struct ssa_scratch *x = s->scratch;
	uint32_t n = 0;

	if (!x->frontiers)
		x->frontiers = frontiers_new(s->cfg, &x->arena);
	for (uint32_t d = s->def_at[reg]; d < s->def_at[reg + 1]; d++) {
		uint32_t b = s->cfg->block_of[s->def_insn[d]];

		if (d == x->first_def[b])
			x->stack[n++] = b;
	}
	x->nfrontier = frontiers_iterated(
		x->frontiers, x->stack, n, x->stamp, mark, x->frontier_stamp, x->frontier);
	for (uint32_t i = 0; i < x->nfrontier; i++)
		x->phi[x->frontier[i]] = NONE;
}

static uint32_t undefined_node(struct ssa *s, uint32_t reg)
{
	if (s->scratch->undefined == NONE)
		s->scratch->undefined =
			new_node(s, (struct node){NODE_UNDEFINED, reg, 0, {NONE}, NONE});
	return s->scratch->undefined;
}

static uint32_t phi_node(struct ssa *s, uint32_t reg, uint32_t block)
{
	uint32_t npred = s->cfg->blocks[block].pred.n;
	uint32_t node = new_node(s, (struct node){NODE_PHI, reg, block, {s->ninputs}, NONE});

	for (uint32_t i = 0; i < npred + (block == 0); i++)
		ARENA_PUSH(s->arena, s->inputs, s->ninputs, s->inputs_cap, NONE);
	return node;
}

static void add_stop(const struct ssa *s, uint32_t block)
{
	const struct block *b = &s->cfg->blocks[block];

	s->scratch->stops[s->scratch->nstops++] =
		(struct stop){b->dom_enter, b->dom_leave, block, NONE};
}

static int by_enter(const void *a, const void *b)
{
	uint32_t x = ((const struct stop *)a)->enter, y = ((const struct stop *)b)->enter;

	return (x > y) - (x < y);
}

/* The nearest stop from i outwards that dominates what is entered there, or NONE. */
static uint32_t outwards(const struct stop *stops, uint32_t i, uint32_t enter)
{
	while (i != NONE && stops[i].leave <= enter)
		i = stops[i].outer;
	return i;
}

static void find_stops(struct ssa *s, uint32_t reg, uint32_t mark)
{
	struct ssa_scratch *x = s->scratch;

	if (!x->stops)
		x->stops = ARENA_UNSET(&x->arena, struct stop, s->cfg->n + 1);
	x->nstops = 0;
	x->stopped = mark;
	for (uint32_t d = s->def_at[reg]; d < s->def_at[reg + 1]; d++)
		if (d == x->first_def[s->cfg->block_of[s->def_insn[d]]])
			add_stop(s, s->cfg->block_of[s->def_insn[d]]);
	for (uint32_t i = 0; i < x->nfrontier; i++)
		if (x->stamp[x->frontier[i]] != mark)
			add_stop(s, x->frontier[i]);
	qsort(x->stops, x->nstops, sizeof(*x->stops), by_enter);
	for (uint32_t i = 0; i < x->nstops; i++)
		x->stops[i].outer = outwards(x->stops, i - 1, x->stops[i].enter);
}

/* The nearest strict dominator of a block that defines the register or has a phi place, or NONE. */
static uint32_t stop_above(struct ssa *s, uint32_t reg, uint32_t block, uint32_t mark)
{
	const struct ssa_scratch *x = s->scratch;
	uint32_t enter = s->cfg->blocks[block].dom_enter, lo = 0;

	if (x->stopped != mark)
		find_stops(s, reg, mark);
	for (uint32_t hi = x->nstops; lo < hi;) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (x->stops[mid].enter < enter)
			lo = mid + 1;
		else
			hi = mid;
	}
	uint32_t i = outwards(x->stops, lo - 1, enter);

	return i == NONE ? NONE : x->stops[i].block;
}

static uint32_t phi_at(struct ssa *s, uint32_t reg, uint32_t block)
{
	uint32_t *phi = &s->scratch->phi[block];

	if (*phi == NONE)
		*phi = phi_node(s, reg, block);
	return *phi;
}

/* What holds the register at the end of a block that defines it or has a phi place; NONE: there is none. */
static uint32_t node_of_stop(struct ssa *s, uint32_t reg, uint32_t block, uint32_t mark)
{
	const struct ssa_scratch *x = s->scratch;

	if (block == NONE)
		return undefined_node(s, reg);
	return x->stamp[block] == mark ? *def_node(s, reg, x->last_def[block])
				       : phi_at(s, reg, block);
}

/* The node at the entry of a block: its phi, else what the nearest dominator with one leaves. That is mostly near. */
static uint32_t reach(struct ssa *s, uint32_t reg, uint32_t block, uint32_t mark)
{
	struct ssa_scratch *x = s->scratch;
	uint32_t path[WALK_MOST], npath = 0, node = NONE;

	for (uint32_t b = block;;) {
		if (x->reach_stamp[b] == mark) {
			node = x->reach[b];
			break;
		}
		path[npath++] = b;
		if (x->frontier_stamp[b] == mark) {
			node = phi_at(s, reg, b);
			break;
		}
		uint32_t up = npath < WALK_MOST ? s->cfg->blocks[b].idom
						: stop_above(s, reg, b, mark);

		if (npath == WALK_MOST || up == NONE || x->stamp[up] == mark) {
			node = node_of_stop(s, reg, up, mark);
			break;
		}
		b = up;
	}
	while (npath) {
		uint32_t b = path[--npath];

		x->reach_stamp[b] = mark;
		x->reach[b] = node;
	}
	return node;
}

/* The last definition in the block before an instruction, as an index, or NONE. */
static uint32_t local_def(const struct ssa *s, uint32_t block, uint32_t insn, uint32_t mark)
{
	const struct ssa_scratch *x = s->scratch;

	if (x->stamp[block] != mark || s->def_insn[x->first_def[block]] >= insn)
		return NONE;
	uint32_t lo = x->first_def[block], hi = x->last_def[block];

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo + 1) / 2;

		if (s->def_insn[mid] < insn)
			lo = mid;
		else
			hi = mid - 1;
	}
	return lo;
}

static uint32_t node_at(struct ssa *s, uint32_t reg, uint32_t insn, uint32_t mark)
{
	uint32_t block = s->cfg->block_of[insn];
	uint32_t d = local_def(s, block, insn, mark);

	return d != NONE ? *def_node(s, reg, d) : reach(s, reg, block, mark);
}

static void stamp_defs(struct ssa *s, uint32_t reg, uint32_t mark)
{
	struct ssa_scratch *x = s->scratch;

	for (uint32_t d = s->def_at[reg]; d < s->def_at[reg + 1]; d++) {
		uint32_t insn = s->def_insn[d], block = s->cfg->block_of[insn];

		*def_node(s, reg, d) =
			new_node(s, (struct node){NODE_DEF, reg, block, {insn}, NONE});
		if (x->stamp[block] != mark) {
			x->stamp[block] = mark;
			x->first_def[block] = d;
		}
		x->last_def[block] = d;
	}
}

/* The one definition, unguarded or first, dominates all uses: it needs no phi. */
static bool is_simple(const struct ssa *s, uint32_t reg)
{
	const struct cfg *cfg = s->cfg;
	uint32_t insn = s->def_insn[s->def_at[reg]], block = cfg->block_of[insn];

	for (uint32_t u = s->use_at[reg]; u < s->use_at[reg + 1]; u++) {
		uint32_t at = s->use_insn[u], b = cfg->block_of[at];

		if (b == block ? at <= insn : !cfg_dominates(cfg, block, b))
			return false;
	}
	return true;
}

/* Inputs of the phis made since node `from`; filling one may make more. */
static void fill_phis(struct ssa *s, uint32_t reg, uint32_t from, uint32_t mark)
{
	for (uint32_t node = from; node < s->n; node++) {
		if (s->nodes[node].kind != NODE_PHI)
			continue;
		uint32_t b = s->nodes[node].block, input = s->nodes[node].input;
		const struct block *block = &s->cfg->blocks[b];

		for (uint32_t i = 0; i < block->pred.n; i++) {
			uint32_t p = block->pred.v[i];
			uint32_t value = s->scratch->stamp[p] == mark
						 ? *def_node(s, reg, s->scratch->last_def[p])
						 : reach(s, reg, p, mark);

			s->inputs[input + i] = value;
		}
		if (b == 0) {
			uint32_t value = undefined_node(s, reg);

			s->inputs[input + block->pred.n] = value;
		}
	}
}

static inline void set_use(struct ssa *s, uint32_t use, uint32_t node)
{
	if (s->use_slot[use] == NONE)
		s->guard_of[s->use_insn[use]] = node;
	else
		s->fn->operands[s->use_slot[use]].node = node;
}

/* All uses read the one definition. */
static void resolve_simple(struct ssa *s, uint32_t reg)
{
	uint32_t insn = s->def_insn[s->def_at[reg]];
	uint32_t node = new_node(
		s, (struct node){NODE_DEF, reg, s->cfg->block_of[insn], {insn}, NONE});

	for (uint32_t u = s->use_at[reg]; u < s->use_at[reg + 1]; u++)
		set_use(s, u, node);
}

void ssa_register(struct ssa *s, uint32_t reg)
{
	uint32_t mark = reg + 1, from = s->n;

	if (s->done[reg])
		return;
	s->done[reg] = true;
	ssa_index(s);
	uint32_t ndefs = s->def_at[reg + 1] - s->def_at[reg];

	if (ndefs == 1 && is_simple(s, reg)) {
		resolve_simple(s, reg);
		return;
	}
	if (!s->scratch)
		make_scratch(s);
	s->scratch->undefined = NONE;
	s->scratch->nfrontier = 0;
	stamp_defs(s, reg, mark);
	if (ndefs)
		place_phis(s, reg, mark);
	for (uint32_t u = s->use_at[reg]; u < s->use_at[reg + 1]; u++) {
		uint32_t node = node_at(s, reg, s->use_insn[u], mark);

		/* what is read and never set may be anything, in each thread something else */
		set_use(s, u, s->nodes[node].kind == NODE_UNDEFINED ? NONE : node);
	}
	for (uint32_t d = s->def_at[reg]; d < s->def_at[reg + 1]; d++)
		if (s->fn->insns[s->def_insn[d]].guard != NONE) {
			uint32_t previous = node_at(s, reg, s->def_insn[d], mark);

			s->nodes[*def_node(s, reg, d)].previous = previous;
		}
	fill_phis(s, reg, from, mark);
}

/* The first operand from `o` on downwards that is the register, or NULL. */
static const struct operand *find_register(
	const struct function *fn, const struct operand *o, uint32_t reg, uint32_t depth)
{
	const struct operand *found = o->kind == OPERAND_REG && o->id == reg ? o : NULL;

	for (uint32_t i = 0; !found && depth < 4 && i < operand_count(o); i++)
		found = find_register(fn, operand_child(fn, o, i), reg, depth + 1);
	return found;
}

uint32_t ssa_node_before(struct ssa *s, uint32_t insn, uint32_t reg)
{
	const struct insn *i = &s->fn->insns[insn];
	const struct operand *found = NULL;

	ssa_register(s, reg);
	if (i->guard == reg)
		return s->guard_of[insn];
	for (uint32_t k = regs_destinations(s->fn, i); !found && k < i->count; k++)
		found = find_register(s->fn, insn_operand(s->fn, i, k), reg, 0);
	return found ? found->node : NONE;
}
