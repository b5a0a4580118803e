/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In: facts, and the threads that come to each instruction (threads.h). Out: for each block that is asked for,
 * the facts of accesses that none of its threads makes. Sound as both sets name every thread that may come
 * there: a thread that made the access and is at the block now would be in both. Roles are of whole warps, and to
 * ask for each lane would cost as much as a fifth of everything else.
 */
#include "analysis/makers.h"

#include "analysis/threads.h"

#include <string.h>

struct maker_class { /* facts of accesses that the same threads make */
	struct thread_set who;
	struct bits facts;
};

struct maker_search {
	struct unit *unit;
	const struct facts *facts;
	struct maker_class *v;
	uint32_t n, cap;
};

#define CLASSES_MAX 64 /* sets of makers, and of those who come; there are as many as roles, and some elected threads */

/* All that may make the access, or one of those that it stands for. */
static struct thread_set who_makes(const struct maker_search *m, uint32_t access)
{
	struct ids all = {&access, 1};
	struct thread_set who = {{0}};

	if (m->facts->groups && m->facts->groups->of[access] != UINT32_MAX)
		all = groups_members(m->facts->groups, access);
	for (uint32_t i = 0; i < all.n; i++) {
		struct thread_set more;

		warps_run(m->unit->values, m->unit->accesses.v[all.v[i]].insn, &more);
		thread_set_join(&who, &more);
	}
	return who;
}

/* NULL: there are too many, or there is no thread at all, as in code that never runs, which is for others to say; the
 * facts then count as anybody's. */
static struct maker_class *class_of(struct maker_search *m, const struct thread_set *who)
{
	if (thread_set_next(who, 0) == THREADS_MAX)
		return NULL;
	for (uint32_t i = 0; i < m->n; i++)
		if (thread_set_within(who, &m->v[i].who) && thread_set_within(&m->v[i].who, who))
			return &m->v[i];
	if (m->n == CLASSES_MAX)
		return NULL;
	struct maker_class c = {*who, bits_new(m->unit->arena, m->facts->n)};

	ARENA_PUSH(m->unit->arena, m->v, m->n, m->cap, c);
	return &m->v[m->n - 1];
}

static void find_classes(struct maker_search *m)
{
	const struct facts *facts = m->facts;
	struct maker_class *class = NULL;

	for (uint32_t f = 0, of = NONE; f < facts->n; f++) {
		if (facts->v[f].access != of) {
			of = facts->v[f].access;
			struct thread_set who = who_makes(m, of);

			class = class_of(m, &who);
		}
		if (class)
			bits_set(class->facts, f);
	}
}

static struct bits absent_from(const struct maker_search *m, const struct thread_set *come)
{
	struct bits absent = {0};

	for (uint32_t i = 0; i < m->n; i++) {
		if (thread_sets_meet(&m->v[i].who, come))
			continue;
		if (!absent.words)
			absent = bits_new(m->unit->arena, m->facts->n);
		bits_or(absent, m->v[i].facts);
	}
	return absent;
}


/* MAKERS_ANY where too many sets were asked for: then nothing is absent. `roles`: those so far. */
static uint8_t role_of(const struct maker_search *m, const struct thread_set **roles, uint32_t *n,
	const struct thread_set *come, struct bits *absent)
{
	for (uint32_t i = *n; i-- > 0;)
		if (roles[i] == come) /* blocks of one role share the set */
			return (uint8_t)i;
	if (*n == CLASSES_MAX)
		return MAKERS_ANY;
	roles[*n] = come;
	absent[*n] = absent_from(m, come);
	return (uint8_t)(*n)++;
}

void makers_find(
	struct unit *unit, const struct facts *facts, struct bits asked, struct makers *out)
{
	struct maker_search m = {.unit = unit, .facts = facts};
	const struct thread_set *roles[CLASSES_MAX];
	uint32_t n = 0;
	bool assumed;

	*out = (struct makers){0};
	if (!threads_numbered(unit->values, &assumed))
		return;
	find_classes(&m);
	out->assumptions = assumed ? ASSUME_FLAT_BLOCK : 0;
	out->absent = ARENA_NEW(unit->arena, struct bits, CLASSES_MAX);
	out->role_of = ARENA_UNSET(unit->arena, uint8_t, unit->cfg.n);
	memset(out->role_of, MAKERS_ANY, unit->cfg.n);
	for (uint32_t b = bits_next(asked, 0); b != NONE; b = bits_next(asked, b + 1))
		out->role_of[b] = role_of(&m, roles, &n, warps_reach(unit->values, b), out->absent);
}
