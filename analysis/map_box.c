/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In: accesses. Out: shorter tensor copies. A map is built in a template in shared memory by
 * tensormap.replace, one field at a time, and copied to where copies name it by
 * tensormap.cp_fenceproxy (ISA 9.7.9.28, 9.7.13.16). A copy moves at most its box, so what was put
 * into box and element type bounds it.
 *
 * Invariant: a bound holds for all that may be in the map. The thread of the copy has put it there on
 * every way to the copy; each cp_fenceproxy that may write the same bytes counts, with every
 * replacement in its template, in whatever order they run; and nothing else may write the map or the
 * template but zeros. Bytes that none of them has written are no map (it is opaque: ISA 5.5.8).
 */
#include "analysis/map_box.h"

#include "analysis/threads.h"
#include "analysis/value_private.h"
#include "base/bits.h"

#include <string.h>

#define MAP_BYTES 128
#define DIMENSIONS 5
#define WIDEST_BOX 256 /* elements of a dimension (cuTensorMapEncodeTiled) */
#define WIDEST_ROW 128 /* bytes: a swizzled row takes its span, however few of it are filled */

struct box { /* upper bounds over all replacements; 0: there is none */
	uint64_t dim[DIMENSIONS];
	uint64_t element; /* bytes */
	bool interleaved;
	uint8_t fields; /* that are certainly replaced, as bits: dimensions from 0 on, then the element type */
	uint32_t assumptions;
};

struct map_site { /* tensormap.replace or cp_fenceproxy */
	uint32_t insn;
	const struct operand *to, *from; /* address written; template of a cp_fenceproxy, or NULL */
	uint8_t spaces;			 /* in which `to` may lie */
	bool looked, known;		 /* whether `box` is what its template may hold */
	struct box box;
};

struct maps {
	struct unit *unit;
	struct map_site *sites;
	uint32_t nsites, cap;
};

static bool in_brackets(const struct operand *o)
{
	return o && o->kind == OPERAND_MEM;
}

static uint8_t spaces_written(const struct insn *insn)
{
	if (insn_has(insn, MOD_cp_fenceproxy) || insn_has(insn, MOD_global))
		return SPACE_GLOBAL;
	return insn_has(insn, MOD_shared__cta) ? SPACE_SHARED : SPACE_SHARED | SPACE_GLOBAL;
}

static bool collect(struct maps *m)
{
	const struct unit *unit = m->unit;
	bool copies = false;

	for (uint32_t i = 0; i < unit->fn->ninsns; i++) {
		const struct insn *insn = &unit->fn->insns[i];
		struct map_site site = {.insn = i, .spaces = spaces_written(insn)};

		if (insn->op != OP_tensormap || unit->cfg.block_of[i] == NONE)
			continue;
		site.to = insn_operand(unit->fn, insn, 0);
		if (insn_has(insn, MOD_cp_fenceproxy))
			site.from = insn_operand(unit->fn, insn, 1);
		if (!in_brackets(site.to) || (insn_has(insn, MOD_cp_fenceproxy) && !in_brackets(site.from)))
			return false;
		copies |= site.from != NULL;
		ARENA_PUSH(unit->arena, m->sites, m->nsites, m->cap, site);
	}
	return copies;
}

static struct access map_at(const struct unit *unit, uint32_t insn, const struct operand *o, uint8_t spaces)
{
	struct access a = {.insn = insn,
		.proxy = PROXY_GENERIC,
		.spaces = spaces,
		.writes = true,
		.own = true,
		.bytes = MAP_BYTES,
		.object = NONE,
		.address = value_of(unit->values, insn, o)};

	if (a.address.base == BASE_SYMBOL || a.address.base == BASE_PARAM)
		a.object = a.address.id;
	if (a.address.base == BASE_DERIVED)
		a.object = unit->values->derived[a.address.id].parent.id;
	a.roots = spaces & SPACE_GLOBAL ? value_roots(unit->values, insn, o) : 0;
	return a;
}

static bool may_meet(const struct unit *unit, const struct access *a, const struct access *b, uint32_t *assumptions)
{
	struct access two[] = {*a, *b};
	struct overlap o = access_overlap(unit->values, &(struct accesses){two, 2}, 0, 1, unit->options, NULL);

	if (!o.may)
		*assumptions |= o.assumptions;
	return o.may;
}

static bool same_place(const struct value *a, const struct value *b)
{
	return a->base != BASE_UNKNOWN && a->base == b->base && a->id == b->id && a->aux == b->aux &&
	       a->lo == a->hi && b->lo == b->hi && a->lo == b->lo;
}

static bool stores_zero(const struct unit *unit, uint32_t insn)
{
	const struct insn *i = &unit->fn->insns[insn];
	const struct operand *o = i->op == OP_st ? insn_operand(unit->fn, i, 1) : NULL;

	if (!o || (o->kind != OPERAND_REG && o->kind != OPERAND_IMM))
		return false;
	struct value v = value_of(unit->values, insn, o);

	return v.base == BASE_NUMBER && v.lo == 0 && v.hi == 0;
}

/* Adds the instructions that may write the map beside the sites, other than zeros; false: there is none. */
static bool other_writers(const struct maps *m, const struct access *map, struct bits out, uint32_t *assumptions)
{
	const struct accesses *all = &m->unit->accesses;
	bool any = false;

	for (uint32_t i = 0; i < all->n; i++) {
		const struct access *a = &all->v[i];

		if (!a->writes || m->unit->fn->insns[a->insn].op == OP_tensormap)
			continue;
		if (!may_meet(m->unit, a, map, assumptions) || (!a->call && stores_zero(m->unit, a->insn)))
			continue;
		bits_set(out, a->insn);
		any = true;
	}
	return any;
}

/* A number from 1 up to `most`; false: it may be another one. */
static bool bound(const struct maps *m, uint32_t insn, uint32_t operand, uint64_t most, uint64_t *out,
	uint32_t *assumptions)
{
	const struct operand *o = insn_operand(m->unit->fn, &m->unit->fn->insns[insn], operand);

	if (!o)
		return false;
	struct value v = value_of(m->unit->values, insn, o);

	if (v.base != BASE_NUMBER || v.lo < 1 || (uint64_t)v.hi > most)
		return false;
	*assumptions |= v.assumptions;
	*out = (uint64_t)v.hi;
	return true;
}

/* Table of tensormap.replace's .elemtype: types of less than a byte are not asked for. */
static bool element_bytes(const struct maps *m, uint32_t insn, uint64_t *bytes)
{
	static const uint8_t size[] = {1, 2, 4, 4, 8, 8, 2, 4, 4, 8, 2, 4, 4};
	const struct operand *o = insn_operand(m->unit->fn, &m->unit->fn->insns[insn], 1);

	if (!o || o->kind != OPERAND_IMM || o->imm < 0 || o->imm >= (int64_t)sizeof(size))
		return false;
	*bytes = size[o->imm];
	return true;
}

static void raise(uint64_t *bound, uint64_t to)
{
	if (*bound < to)
		*bound = to;
}

/* The field that one replacement fills, as a bit; 0: none that counts. */
static uint8_t field_of(const struct maps *m, uint32_t insn)
{
	const struct insn *i = &m->unit->fn->insns[insn];
	const struct operand *ordinal = insn_operand(m->unit->fn, i, 1);

	if (insn_has(i, MOD_elemtype))
		return 1 << DIMENSIONS;
	if (!insn_has(i, MOD_box_dim) || !ordinal || ordinal->kind != OPERAND_IMM || ordinal->imm < 0 ||
		ordinal->imm >= DIMENSIONS)
		return 0;
	return (uint8_t)(1 << ordinal->imm);
}

/* What one replacement adds; false: it may put anything there. */
static bool replaces(const struct maps *m, uint32_t insn, struct box *box)
{
	const struct insn *i = &m->unit->fn->insns[insn];
	uint8_t field = field_of(m, insn);
	uint64_t n;

	if (insn_has(i, MOD_elemtype)) {
		if (!element_bytes(m, insn, &n))
			return false;
		raise(&box->element, n);
	} else if (insn_has(i, MOD_box_dim)) {
		if (!field || !bound(m, insn, 2, WIDEST_BOX, &n, &box->assumptions))
			return false;
		raise(&box->dim[__builtin_ctz(field)], n);
	}
	box->interleaved |= insn_has(i, MOD_interleave_layout);
	return true;
}

/* ---- templates ---- */

struct template {
	const struct maps *maps;
	struct access at;
	struct bits fields, others; /* by instruction: replacements; what else may write it */
	uint32_t first, copy;	    /* replacement, NONE: there is none; cp_fenceproxy */
	struct thread thread;
};

/* Fields that the thread has certainly replaced behind a block, or in front of the copy if it is there, with
 * nothing else written since. */
static uint8_t replaced_in(const struct template *t, uint32_t block, uint8_t fields, uint8_t *at_copy)
{
	const struct unit *unit = t->maps->unit;
	const struct block *b = &unit->cfg.blocks[block];

	for (uint32_t k = b->active; k < b->active + b->nactive; k++) {
		uint32_t i = unit->cfg.active.v[k];

		if (i == t->copy)
			*at_copy = fields;
		if (bits_has(t->others, i))
			fields = 0;
		else if (bits_has(t->fields, i) && thread_runs(unit->values, t->thread, i) == TRUTH_YES)
			fields |= field_of(t->maps, i);
	}
	return fields;
}

/* The same on every way on which the thread can come to the copy. */
static uint8_t replaced_before(const struct template *t)
{
	const struct unit *unit = t->maps->unit;
	const struct cfg *cfg = &unit->cfg;
	uint8_t *at = memset(ARENA_UNSET(unit->arena, uint8_t, cfg->n + 1), 0xff, cfg->n), at_copy = 0xff;

	at[0] = 0;
	for (bool grew = true; grew;) {
		grew = false;
		for (uint32_t b = 0; b < cfg->n; b++) {
			uint8_t fields = at[b] == 0xff ? 0xff : replaced_in(t, b, at[b], &at_copy);

			for (uint32_t i = 0; i < cfg->blocks[b].succ.n && fields != 0xff; i++) {
				uint8_t *to = &at[cfg->blocks[b].succ.v[i]];

				if (!(*to & ~fields) || thread_takes(unit->values, t->thread, b, i) == TRUTH_NO)
					continue;
				*to &= fields;
				grew = true;
			}
		}
	}
	return at_copy;
}

/* Fields that some thread that comes to the copy has replaced each time: a thread that comes to the first of
 * the replacements. */
static uint8_t complete_fields(struct template *t)
{
	const struct unit *unit = t->maps->unit;
	const struct thread_set *there = threads_reach(unit->values, unit->cfg.block_of[t->first]);
	uint8_t best = 0;
	uint32_t tid = 0;

	while (tid < THREADS_MAX && !thread_set_has(there, tid))
		tid++;
	for (uint8_t elected = 0; elected < 2 && tid < THREADS_MAX; elected++) {
		t->thread = (struct thread){(uint16_t)tid, elected};
		uint8_t replaced = replaced_before(t);

		if (replaced != 0xff && !(best & ~replaced))
			best = replaced;
	}
	return best;
}

/* All that a template may hold. Other data may lie there at other times (`map-gap`: it is no map): what the
 * thread stores behind the replacements would be. */
static bool reads_template(const struct maps *m, const struct map_site *copy, struct box *box)
{
	uint32_t n = m->unit->fn->ninsns + 1;
	struct template t = {.maps = m,
		.fields = bits_new(m->unit->arena, n),
		.others = bits_new(m->unit->arena, n),
		.first = NONE,
		.copy = copy->insn};

	t.at = map_at(m->unit, copy->insn, copy->from, SPACE_SHARED);
	if (other_writers(m, &t.at, t.others, &box->assumptions))
		box->assumptions |= ASSUME_MAP_GAP;
	for (uint32_t i = 0; i < m->nsites; i++) {
		const struct map_site *site = &m->sites[i];
		struct access to = map_at(m->unit, site->insn, site->to, SPACE_SHARED);

		if (!(site->spaces & SPACE_SHARED) || !may_meet(m->unit, &t.at, &to, &box->assumptions))
			continue;
		if (!same_place(&t.at.address, &to.address) || !replaces(m, site->insn, box))
			return false;
		bits_set(t.fields, site->insn);
		t.first = t.first == NONE ? site->insn : t.first;
	}
	if (t.first == NONE || (box->assumptions & ~m->unit->options->assume))
		return false;
	box->fields = complete_fields(&t);
	return true;
}

static bool knows_template(const struct maps *m, struct map_site *copy)
{
	if (!copy->looked)
		copy->known = reads_template(m, copy, &copy->box);
	copy->looked = true;
	return copy->known;
}

/* ---- maps ---- */

/* The register that a register is the cvta of, in global memory, and where it is read: the same address. */
static const struct operand *before_cvta(const struct values *vs, const struct operand *reg, uint32_t *insn)
{
	uint32_t node = reg && reg->kind == OPERAND_REG && !reg->offset ? reg->node : NONE;

	if (node >= vs->nsolved || vs->ssa.nodes[node].kind != NODE_DEF || vs->ssa.nodes[node].previous != NONE)
		return NULL;
	const struct insn *def = &vs->fn->insns[vs->ssa.nodes[node].insn];

	if (def->op != OP_cvta || !insn_has(def, MOD_global))
		return NULL;
	*insn = vs->ssa.nodes[node].insn;
	return insn_operand(vs->fn, def, 1);
}

/* The value number of an address in brackets, whatever cvta it has come through. */
static uint32_t place_number(const struct values *vs, uint32_t insn, const struct operand *o)
{
	const struct operand *next = o->indexed ? NULL : before_cvta(vs, operand_child(vs->fn, o, 0), &insn);

	for (; next; next = before_cvta(vs, o, &insn))
		o = next;
	return value_number(vs, insn, o);
}

/* The predicate, or one of those of which it is the conjunction, is the guard of `insn`. */
static bool follows(const struct values *vs, const struct operand *guard, uint32_t at, uint32_t insn, uint32_t depth)
{
	const struct insn *i = &vs->fn->insns[insn];
	struct operand other = {.kind = OPERAND_REG, .id = i->guard};

	if (value_number(vs, at, guard) == value_number(vs, insn, &other))
		return true;
	uint32_t node = ssa_node_before(&((struct values *)(uintptr_t)vs)->ssa, at, guard->id);

	if (depth == 0 || node >= vs->nsolved || vs->ssa.nodes[node].kind != NODE_DEF ||
		vs->ssa.nodes[node].previous != NONE)
		return false;
	uint32_t from = vs->ssa.nodes[node].insn;
	const struct insn *def = &vs->fn->insns[from];

	for (uint32_t k = 1; def->op == OP_and && k < 3; k++) {
		const struct operand *o = insn_operand(vs->fn, def, k);

		if (o->kind == OPERAND_REG && !o->negated && follows(vs, o, from, insn, depth - 1))
			return true;
	}
	return false;
}

/* Whoever runs `later` has run `earlier` before, with what it computes from registers unchanged since. */
static bool runs_before(const struct unit *unit, uint32_t earlier, uint32_t later)
{
	uint32_t a = unit->cfg.block_of[earlier], b = unit->cfg.block_of[later];
	const struct insn *x = &unit->fn->insns[earlier], *y = &unit->fn->insns[later];

	if (a == b ? earlier >= later : !cfg_dominates(&unit->cfg, a, b))
		return false;
	if (x->guard == NONE)
		return true;
	struct operand guard = {.kind = OPERAND_REG, .id = y->guard};

	return y->guard != NONE && !x->guard_negated && !y->guard_negated &&
	       follows(unit->values, &guard, later, earlier, 4);
}

static uint64_t bytes_of(const struct box *box, uint32_t dimensions)
{
	uint64_t row = box->dim[0] * box->element, bytes = row > WIDEST_ROW ? row : WIDEST_ROW;

	for (uint32_t d = 1; d < dimensions; d++)
		bytes *= box->dim[d];
	return box->interleaved ? UINT64_MAX : bytes;
}

static void widen(struct box *box, const struct box *more)
{
	for (uint32_t d = 0; d < DIMENSIONS; d++)
		raise(&box->dim[d], more->dim[d]);
	raise(&box->element, more->element);
	box->interleaved |= more->interleaved;
	box->assumptions |= more->assumptions;
}

/* All that the map of a copy may hold. */
static bool reads_map(
	const struct maps *m, uint32_t insn, const struct operand *map, uint8_t fields, struct box *box)
{
	struct access at = map_at(m->unit, insn, map, SPACE_GLOBAL);
	uint32_t number = place_number(m->unit->values, insn, map);
	bool certain = false;

	for (uint32_t i = 0; i < m->nsites; i++) {
		struct map_site *site = &m->sites[i];
		struct access to = map_at(m->unit, site->insn, site->to, SPACE_GLOBAL);

		if (!(site->spaces & SPACE_GLOBAL) || !may_meet(m->unit, &at, &to, &box->assumptions))
			continue;
		if (!site->from || !knows_template(m, site) || (fields & ~site->box.fields))
			return false;
		widen(box, &site->box);
		certain |= place_number(m->unit->values, site->insn, site->to) == number &&
			   runs_before(m->unit, site->insn, insn);
	}
	return certain && !other_writers(m, &at, bits_new(m->unit->arena, m->unit->fn->ninsns + 1), &box->assumptions);
}

static uint32_t dimensions_of(const struct insn *insn)
{
	static const enum modifier named[] = {MOD_1d, MOD_2d, MOD_3d, MOD_4d, MOD_5d};

	if (insn_has(insn, MOD_im2col) || insn_has(insn, MOD_im2col__w) || insn_has(insn, MOD_im2col__w__128) ||
		insn_has(insn, MOD_im2col_no_offs__w) ||
		insn_has(insn, MOD_im2col_no_offs) || insn_has(insn, MOD_tile__gather4) ||
		insn_has(insn, MOD_tile__scatter4))
		return 0;
	for (uint32_t d = 0; d < DIMENSIONS; d++)
		if (insn_has(insn, named[d]))
			return d + 1;
	return 0;
}

static const struct operand *map_of(const struct unit *unit, uint32_t insn)
{
	const struct effect *e = unit->effects[insn];

	for (uint32_t t = 0; t < e->ntouches; t++)
		if (e->touches[t].proxy == PROXY_TENSORMAP && e->touches[t].operand != UINT8_MAX)
			return insn_operand(unit->fn, &unit->fn->insns[insn], e->touches[t].operand);
	return NULL;
}

static uint8_t fields_of(uint32_t dimensions)
{
	return (uint8_t)(1 << DIMENSIONS | ((1 << dimensions) - 1));
}

static void shorten(const struct maps *m, struct access *a)
{
	const struct unit *unit = m->unit;
	uint32_t dimensions = dimensions_of(&unit->fn->insns[a->insn]);
	const struct operand *map = map_of(unit, a->insn);
	struct box box = {0};

	if (!dimensions || !in_brackets(map) || !reads_map(m, a->insn, map, fields_of(dimensions), &box))
		return;
	uint64_t bytes = bytes_of(&box, dimensions);

	if (bytes < a->bytes) {
		a->bytes = bytes;
		a->extent_assumptions = box.assumptions;
	}
}

/* Hints may have taken an instruction off the list, but hardly all of them. */
static bool builds_maps(const struct unit *unit)
{
	for (uint32_t k = 0; k < unit->cfg.active.n; k++)
		if (unit->fn->insns[unit->cfg.active.v[k]].op == OP_tensormap)
			return true;
	return false;
}

void map_boxes_find(struct unit *unit)
{
	struct maps m = {.unit = unit};

	if (!builds_maps(unit) || !collect(&m))
		return;
	for (uint32_t i = 0; i < unit->accesses.n; i++) {
		struct access *a = &unit->accesses.v[i];
		uint8_t extent = unit->effects[a->insn]->touches[a->touch].extent;

		if (!a->call && !a->hidden && (extent == EXTENT_TENSOR_LOAD || extent == EXTENT_TENSOR_STORE))
			shorten(&m, a);
	}
}
