/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In: effects and values. Out: the accesses of shared and global memory, with the spaces that a
 * generic address can mean (provenance, ptx-proxies 3.5) and the bytes they may touch.
 */
#include "analysis/access.h"

#include "analysis/escapes.h"
#include "analysis/extent_matrix.h"
#include "analysis/value_private.h"

#define WINDOW (SPACE_SHARED | SPACE_CLUSTER)

struct collector {
	const struct function *fn;
	const struct cfg *cfg;
	const struct values *values;
	const struct analysis_options *options;
	struct arena *arena;
	struct extents *extents;
	struct accesses *out;
	uint32_t cap;
	bool is_entry;
	bool makes_peers; /* addresses of other CTAs are made here */
	uint8_t escapes;  /* of shared addresses into memory: enum escapes */
	bool closely; /* where a generic access behind a parameter is counts, not only which parameter that is */
};

enum escapes { ESCAPES_UNASKED, ESCAPES_NOT, ESCAPES };

static bool keeps_shared_addresses(struct collector *c)
{
	if (c->escapes == ESCAPES_UNASKED)
		c->escapes = shared_escapes(c->fn, c->cfg, c->arena) ? ESCAPES : ESCAPES_NOT;
	return c->escapes == ESCAPES_NOT;
}

/* The assumptions under which an address is global that was made from a kernel's parameters, or came out
 * of memory to which they lead; 0: there are none. */
static uint32_t assumed_global(struct collector *c, const struct access *a, uint64_t roots)
{
	uint64_t kinds = roots & ~ROOT_PARAMS;
	uint32_t by = ASSUME_PARAM_GLOBAL | (kinds ? ASSUME_LOADED_GLOBAL : 0);

	if (!c->is_entry || (a->address.base != BASE_PARAM && !(roots & ROOT_PARAMS)) ||
		(kinds & ~ROOT_LOADED) || (c->options->assume & by) != by)
		return 0;
	return kinds && !keeps_shared_addresses(c) ? 0 : by;
}

/* Where an address without a space may point, and what is left of that under assumptions. */
static void find_spaces(
	struct collector *c, struct access *a, const struct touch *t, uint64_t roots)
{
	const uint8_t ours = WINDOW | SPACE_GLOBAL;
	const struct value *v = &a->address;
	uint8_t spaces = t->spaces & ours;

	a->spaces = spaces;
	if (!t->generic_address)
		return;
	if (v->space) {
		uint8_t known = v->space & SPACE_SHARED
					? v->space | (v->is_peer ? SPACE_CLUSTER : 0)
					: v->space;

		a->spaces = spaces & known;
		return;
	}
	if (roots == ROOT_SHARED) {
		a->spaces = spaces & WINDOW;
		return;
	}
	if (roots == ROOT_VARIABLE) {
		a->spaces = spaces & SPACE_GLOBAL;
		return;
	}
	if (roots == ROOT_LOCAL) {
		a->spaces = 0;
		return;
	}
	a->assumed_by = spaces & SPACE_GLOBAL ? assumed_global(c, a, roots) : 0;
	if (a->assumed_by)
		a->assumed_spaces = SPACE_GLOBAL;
}

static void find_object(const struct collector *c, struct access *a)
{
	const struct value *v = &a->address;

	a->object = NONE;
	if (v->base == BASE_SYMBOL || v->base == BASE_PARAM)
		a->object = v->id;
	if (v->base == BASE_DERIVED)
		a->object = c->values->derived[v->id].parent.id;
}

/* By mapa, or by a mask that clears bits of the rank alone (value_bits.c). */
static bool makes_peer(const struct function *fn, const struct insn *insn)
{
	const struct operand *mask = insn->op == OP_and ? insn_source(fn, insn, 1) : NULL;

	return insn->op == OP_mapa ||
	       (mask && mask->kind == OPERAND_IMM && insn_type(insn, 0).bits == 32 &&
		       (mask->imm & 0xffffff) == 0xffffff && (uint32_t)mask->imm != UINT32_MAX);
}

/* A shared::cluster address may be a peer's if it came through mapa, or if nobody knows where it
 * came from in a function that makes such addresses, or that may be given one. */
static bool may_be_peer(const struct collector *c, const struct access *a, const struct touch *t)
{
	const struct value *v = &a->address;

	if (!(a->spaces & SPACE_CLUSTER))
		return false;
	if (v->is_peer)
		return !v->own_cta;
	return (c->makes_peers || (!c->is_entry && !t->generic_address)) && v->base != BASE_SYMBOL &&
	       v->base != BASE_DERIVED;
}

/* Where a generic access behind a parameter is, wherever it runs. Most are known not to meet an async one by that
 * parameter alone. */
static bool behind_parameter(
	const struct collector *c, uint32_t insn, const struct touch *t, struct value *address)
{
	const struct operand *o = insn_operand(c->fn, &c->fn->insns[insn], t->operand);

	if (t->proxy != PROXY_GENERIC ||
		(t->extent != EXTENT_FIXED && t->extent != EXTENT_LANES))
		return false;
	*address = value_anywhere(c->values, insn, o);
	return address->base == BASE_PARAM;
}

static void find_extent(struct collector *c, uint32_t insn, const struct touch *t, struct access *a)
{
	struct value address;
	struct extent e = !c->closely && behind_parameter(c, insn, t, &address)
				  ? extent_at(c->extents, insn, t, address)
				  : extent_of(c->extents, insn, t);

	a->address = e.address;
	a->bytes = e.bytes;
	a->exact = e.exact && e.address.lo == e.address.hi;
	a->extent_assumptions = e.assumptions;
	a->has_ceiling = e.has_ceiling;
	a->ceiling = e.ceiling;
}

static void add_touch(struct collector *c, uint32_t insn, uint8_t number)
{
	const struct touch *t = &c->cfg->effects[insn]->touches[number];
	const struct insn *i = &c->fn->insns[insn];
	const struct operand *o =
		t->operand == UINT8_MAX ? NULL : insn_operand(c->fn, i, t->operand);

	if (t->mbarrier || (t->proxy != PROXY_GENERIC && t->proxy != PROXY_ASYNC) ||
		!(t->spaces & (WINDOW | SPACE_GLOBAL)))
		return;
	struct access a = {.insn = insn,
		.touch = number,
		.proxy = t->proxy,
		.reads = t->reads,
		.writes = t->writes,
		.cp_async = i->op == OP_cp && t->asynchronous,
		.constant = i->op == OP_ld && insn_has(i, MOD_nc),
		.st_async = i->op != OP_cp && t->asynchronous,
		.own = true,
		.hidden = t->hidden,
		.bytes = UINT64_MAX,
		.object = NONE};
	uint64_t roots = ROOT_UNKNOWN;

	a.address.base = BASE_UNKNOWN;
	a.address.lo = -2 * VALUE_FAR;
	a.address.hi = 2 * VALUE_FAR;
	a.address.stride = 1;
	if (o && !t->hidden) {
		find_extent(c, insn, t, &a);
		if (a.address.base == BASE_UNKNOWN && value_never_runs(c->values, insn))
			return;
		roots = value_roots(c->values, insn, o);
	}
	find_spaces(c, &a, t, roots);
	if (!a.spaces)
		return;
	find_object(c, &a);
	a.roots = a.spaces & SPACE_GLOBAL ? roots : 0;
	a.peer = t->peer || may_be_peer(c, &a, t);
	ARENA_PUSH(c->arena, c->out->v, c->out->n, c->cap, a);
}

static uint64_t pattern_of_rows(const struct matrix_rows *rows)
{
	return (uint64_t)rows->sbo << 40 | (uint64_t)rows->rows << 24 | (uint64_t)rows->row << 16 |
	       (uint64_t)rows->bytes << 8 | (uint64_t)rows->start.lo % rows->row;
}

/* The same register in instructions of one block that run under no guard. */
static uint64_t pattern_of_place(const struct collector *c, uint32_t insn, uint8_t operand)
{
	const struct insn *i = &c->fn->insns[insn];
	uint32_t who = i->guard == NONE ? c->cfg->block_of[insn] : c->cfg->n + insn;

	return (uint64_t)who << 32 | (1 + value_number(c->values, insn, insn_operand(c->fn, i, operand)));
}

/* Accesses that one range covers may be parted by what swizzled.h looks at. */
static void find_patterns(struct collector *c)
{
	for (uint32_t i = 0; i < c->out->n; i++) {
		struct access *a = &c->out->v[i];
		const struct touch *t = &c->cfg->effects[a->insn]->touches[a->touch];
		struct matrix_rows rows;

		if (t->extent == EXTENT_WGMMA &&
			matrix_rows((struct matrix_place){c->fn, c->values, c->options, a->insn}, t,
				&rows))
			a->pattern = pattern_of_rows(&rows);
		if (a->proxy == PROXY_GENERIC && !a->call && t->operand != UINT8_MAX &&
			a->address.base == BASE_SYMBOL && a->address.lo != a->address.hi &&
			a->bytes <= 16 && !a->address.is_peer)
			a->pattern = pattern_of_place(c, a->insn, t->operand);
	}
}

bool access_makes_peers(const struct function *fn, const struct cfg *cfg)
{
	for (uint32_t i = 0; i < fn->ninsns; i++)
		if (cfg->block_of[i] != NONE && makes_peer(fn, &fn->insns[i]))
			return true;
	return false;
}

/* Some async access of global memory has an address. */
static bool copies_global(const struct accesses *accesses)
{
	for (uint32_t i = 0; i < accesses->n; i++)
		if (accesses->v[i].proxy == PROXY_ASYNC && !accesses->v[i].hidden &&
			(accesses->v[i].spaces & SPACE_GLOBAL))
			return true;
	return false;
}

/* Ranges behind one parameter are held against each other. */
static void look_closely(struct collector *c)
{
	c->closely = true;
	for (uint32_t i = 0; i < c->out->n; i++) {
		struct access *a = &c->out->v[i];
		const struct touch *t = &c->cfg->effects[a->insn]->touches[a->touch];

		if (a->proxy == PROXY_GENERIC && a->address.base == BASE_PARAM)
			find_extent(c, a->insn, t, a);
	}
}

void access_collect(const struct function *fn, const struct cfg *cfg, const struct values *values,
	const struct analysis_options *options, bool closely, struct arena *arena,
	struct accesses *out)
{
	struct collector c = {fn, cfg, values, options, arena,
		extents_prepare(fn, cfg, values, options, arena), out, 0, values->is_entry,
		access_makes_peers(fn, cfg), ESCAPES_UNASKED, closely};

	*out = (struct accesses){0};
	for (uint32_t n = 0; n < cfg->active.n; n++) {
		uint32_t i = cfg->active.v[n];

		for (uint8_t k = 0; cfg->block_of[i] != NONE && k < cfg->effects[i]->ntouches; k++)
			add_touch(&c, i, k);
	}
	ARENA_TRIM(arena, out->v, out->n, c.cap);
	if (!closely && copies_global(out))
		look_closely(&c);
	find_patterns(&c);
}

uint32_t access_first(const struct accesses *accesses, uint32_t insn)
{
	uint32_t lo = 0, hi = accesses->n;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (accesses->v[mid].insn < insn)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}
