/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In: accesses and their classes that meet. Out: groups, from fine to coarse until they are few
 * enough: what stands in a row with nothing between that the flow would see; one opcode of a block
 * in one place; everything in one place. Invariant: members of a group differ in their bytes and
 * where they stand, in nothing else that the flow asks; every pair that meets is in a pair of
 * groups that does.
 */
#include "analysis/groups.h"

#include <stdlib.h>
#include <string.h>

#define GENERICS_MOST 512
#define PAIRS_MOST (1u << 18) /* of groups */
#define WORK_MOST (UINT64_C(1) << 23)

enum coarseness { IN_A_ROW, IN_A_BLOCK, IN_A_PLACE };

/* What members of one group have in common. */
struct key {
	uint64_t flags;
	struct access_place place;
	uint32_t where, opcode; /* row or block; hash of the opcode's text */
};

struct keyed {
	struct key key;
	uint32_t access, class;
};

struct grouping {
	struct unit *unit;
	const struct meets *meets;
	struct groups *groups;
	const bool *used;    /* by class: it meets some other */
	const uint32_t *row; /* by access: number of the row it stands in */
};

static int by_number(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

static int by_key(const struct key *a, const struct key *b)
{
	int order = by_number(a->flags, b->flags);

	order = order ? order : by_number(a->where, b->where);
	order = order ? order : by_number(a->opcode, b->opcode);
	order = order ? order : by_number(a->place.kind, b->place.kind);
	order = order ? order : by_number(a->place.base, b->place.base);
	order = order ? order : by_number(a->place.id, b->place.id);
	return order ? order : by_number(a->place.aux, b->place.aux);
}

static int by_keyed(const void *a, const void *b)
{
	const struct keyed *x = a, *y = b;
	int order = by_key(&x->key, &y->key);

	return order ? order : by_number(x->access, y->access);
}

/* ---- rows ---- */

static bool splits_rows(const struct unit *unit, uint32_t insn)
{
	const struct effect *e = unit->effects[insn];

	return e->fence != FENCE_NONE || e->sync != SYNC_NONE || e->is_call || e->is_branch ||
	       e->releases || e->acquires;
}

/* A row of one proxy ends at an access of the other, at what changes the flow's state, at a guard,
 * and before loads, which are complete at places of their own. */
static uint32_t *number_rows(struct unit *unit)
{
	uint32_t *row = ARENA_NEW(unit->arena, uint32_t, unit->accesses.n);
	uint32_t n = 0, from = 0, block = NONE;
	uint8_t proxy = PROXY_OTHER;

	for (uint32_t k = 0; k < unit->accesses.n; k++) {
		const struct access *a = &unit->accesses.v[k];
		bool split = proxy != a->proxy || block != unit->cfg.block_of[a->insn] ||
			     unit->fn->insns[a->insn].guard != NONE ||
			     (a->proxy == PROXY_GENERIC && !a->writes);

		for (; from < a->insn; from++)
			split |= splits_rows(unit, from);
		n += split;
		row[k] = n;
		n += unit->fn->insns[a->insn].guard != NONE;
		proxy = a->proxy;
		block = unit->cfg.block_of[a->insn];
	}
	return row;
}

/* ---- keys ---- */

static uint32_t opcode_hash(const struct unit *unit, uint32_t insn)
{
	struct span at = insn_opcode_at(unit->fn, &unit->fn->insns[insn]);
	uint32_t hash = 2166136261u;

	for (uint32_t i = at.begin; i < at.end; i++)
		hash = (hash ^ (uint8_t)unit->module->source->text[i]) * 16777619u;
	return hash;
}

static uint64_t flags_of(const struct unit *unit, const struct access *a)
{
	uint64_t leave = unit->leave ? unit->leave[a->insn] : 0;
	uint64_t bits = (uint64_t)a->reads | (uint64_t)a->writes << 1 | (uint64_t)a->cp_async << 2 |
			(uint64_t)a->st_async << 3 | (uint64_t)a->peer << 4 |
			(uint64_t)a->own << 5 | (uint64_t)a->call << 6 | (uint64_t)a->hidden << 7 |
			(uint64_t)a->address.own_cta << 8 | (uint64_t)a->constant << 9;

	return bits | (uint64_t)a->spaces << 16 | (uint64_t)a->assumed_spaces << 24 | leave << 32 |
	       (uint64_t)(a->proxy == PROXY_ASYNC) << 40;
}

static struct key key_of(const struct grouping *g, uint32_t access, enum coarseness coarse)
{
	struct unit *unit = g->unit;
	const struct access *a = &unit->accesses.v[access];
	struct key key = {.flags = flags_of(unit, a), .where = 0};

	if (coarse != IN_A_ROW)
		key.place = access_place_of(unit, a);
	if (coarse != IN_A_PLACE) {
		key.where = coarse == IN_A_ROW ? g->row[access] : unit->cfg.block_of[a->insn];
		key.opcode = opcode_hash(unit, a->insn);
	}
	if (a->st_async) /* its mbarrier hands over what it writes itself and nothing else */
		key.where = a->insn;
	return key;
}

/* ---- groups and their pairs ---- */

static void push_group(struct grouping *g, const struct keyed *v, uint32_t n)
{
	struct groups *out = g->groups;
	bool async = g->unit->accesses.v[v->access].proxy == PROXY_ASYNC;
	struct ids *to = async ? &out->asyncs[out->nasyncs] : &out->generics[out->ngenerics];
	uint32_t *members = ARENA_NEW(g->unit->arena, uint32_t, n);

	for (uint32_t i = 0; i < n; i++) {
		members[i] = v[i].access;
		out->of[v[i].access] = async ? out->nasyncs : out->ngenerics;
	}
	*to = (struct ids){members, n};
	out->nasyncs += async;
	out->ngenerics += !async;
}

static void find_groups(struct grouping *g, enum coarseness coarse)
{
	struct arena *arena = g->unit->arena;
	uint32_t n = g->unit->accesses.n, used = 0;
	struct keyed *v = ARENA_NEW(arena, struct keyed, n);
	struct groups *out = g->groups;

	*out = (struct groups){.of = ARENA_NEW(arena, uint32_t, n),
		.generics = ARENA_NEW(arena, struct ids, n),
		.asyncs = ARENA_NEW(arena, struct ids, n)};
	memset(out->of, 0xff, sizeof(*out->of) * n);
	for (uint32_t i = 0; i < n; i++)
		if (g->used[g->meets->class_of[i]])
			v[used++] = (struct keyed){key_of(g, i, coarse), i, g->meets->class_of[i]};
	qsort(v, used, sizeof(*v), by_keyed);
	for (uint32_t i = 0, k; i < used; i = k) {
		for (k = i + 1; k < used && by_key(&v[i].key, &v[k].key) == 0; k++)
			;
		push_group(g, v + i, k - i);
	}
	ARENA_TRIM(arena, out->asyncs, out->nasyncs, n);
	ARENA_TRIM(arena, out->generics, out->ngenerics, n);
	ARENA_GIVE_BACK(arena, v, n);
}

/* Of one class: the groups that its members are in, each with its first member and their number. */
struct share {
	uint32_t group, first, n;
};

struct shares {
	struct share *v;
	uint32_t n;
};

static int by_group(const void *a, const void *b)
{
	const struct share *x = a, *y = b;
	int order = by_number(x->group, y->group);

	return order ? order : by_number(x->first, y->first);
}

static struct shares shares_of(const struct grouping *g, struct ids class)
{
	struct shares s = {ARENA_NEW(g->unit->arena, struct share, class.n), class.n};
	uint32_t kept = 0;

	for (uint32_t i = 0; i < class.n; i++)
		s.v[i] = (struct share){g->groups->of[class.v[i]], class.v[i], 1};
	qsort(s.v, s.n, sizeof(*s.v), by_group);
	for (uint32_t i = 1; i < s.n; i++) {
		if (s.v[i].group == s.v[kept].group)
			s.v[kept].n++;
		else
			s.v[++kept] = s.v[i];
	}
	s.n = kept + 1;
	return s;
}

/* Members of a group agree on it, see flags_of(). */
static bool is_off(const struct unit *unit, uint32_t access)
{
	return unit->leave && (unit->leave[unit->accesses.v[access].insn] & LEAVE_EDGES);
}

static void join(const struct unit *unit, struct groups *groups, const struct share *g,
	const struct share *a, uint8_t spaces)
{
	struct group_pair *pair = &groups->pair[(size_t)a->group * groups->ngenerics + g->group];

	if (!pair->spaces) {
		pair->generic = g->first;
		pair->async = a->first;
		pair->hinted = is_off(unit, g->first) || is_off(unit, a->first);
	}
	pair->spaces |= spaces;
	pair->pairs += (uint64_t)g->n * a->n;
}

/* False: that would take too long. */
static bool find_pairs(struct grouping *g)
{
	const struct meets *meets = g->meets;
	struct shares *shares = ARENA_NEW(g->unit->arena, struct shares, meets->nclasses);
	uint64_t work = 0;

	for (uint32_t k = 0; k < meets->nclasses; k++)
		if (g->used[k])
			shares[k] = shares_of(g, meets->classes[k]);
	for (uint32_t i = 0; i < meets->n; i++)
		work += (uint64_t)shares[meets->v[i].generic].n * shares[meets->v[i].async].n;
	if (work > WORK_MOST)
		return false;
	g->groups->pair = ARENA_NEW(g->unit->arena, struct group_pair,
		(size_t)g->groups->ngenerics * g->groups->nasyncs);
	for (uint32_t i = 0; i < meets->n; i++) {
		const struct shares *x = &shares[meets->v[i].generic];
		const struct shares *y = &shares[meets->v[i].async];

		for (uint32_t n = 0; n < x->n; n++)
			for (uint32_t k = 0; k < y->n; k++)
				join(g->unit, g->groups, &x->v[n], &y->v[k], meets->v[i].spaces);
	}
	for (uint32_t k = meets->nclasses; k-- > 0;)
		ARENA_GIVE_BACK(g->unit->arena, shares[k].v, meets->classes[k].n);
	ARENA_GIVE_BACK(g->unit->arena, shares, meets->nclasses);
	return true;
}

struct groups *groups_make(struct unit *unit, const struct meets *meets)
{
	bool *used = ARENA_NEW(unit->arena, bool, meets->nclasses);
	struct groups *groups = ARENA_NEW(unit->arena, struct groups, 1);
	struct grouping g = {unit, meets, groups, used, number_rows(unit)};

	for (uint32_t i = 0; i < meets->n; i++)
		used[meets->v[i].generic] = used[meets->v[i].async] = true;
	for (int coarse = meets->crowded ? IN_A_PLACE : IN_A_ROW; coarse <= IN_A_PLACE; coarse++) {
		find_groups(&g, (enum coarseness)coarse);
		if (groups->ngenerics <= GENERICS_MOST &&
			(uint64_t)groups->ngenerics * groups->nasyncs <= PAIRS_MOST &&
			find_pairs(&g))
			return groups;
	}
	return NULL;
}
