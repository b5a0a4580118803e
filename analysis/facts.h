/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Facts: what a bit of the flow's sets says. A fact is one generic access in one space, in one form of
 * its way to an async access. Which facts make an edge with which async access is computed once.
 */
#pragma once

#include "analysis/groups.h"
#include "analysis/handoff.h"
#include "base/bits.h"

enum fact_form {
	FORM_PENDING,  /* done, not fenced: an edge where it meets its async access in this CTA */
	FORM_INFLIGHT, /* cp.async or st.async not waited for: no fence covers it yet, and no edge: a missing wait is another bug */
	FORM_FENCED,   /* fenced in the writer's CTA; kept because another CTA wants its own fence (spec 3.3) */
	FORM_ARRIVED,  /* handed to another CTA unfenced */
	FORM_WEAK,     /* handed to another CTA after a writer-side fence only: `possible` */
	FORM_COUNT
};

struct fact {
	uint32_t access;  /* access number */
	uint8_t space;    /* enum space: SHARED (own CTA's bytes), CLUSTER (named through mapa), GLOBAL */
	uint8_t form;     /* enum fact_form */
	bool reads_only;
	uint32_t sibling[FORM_COUNT]; /* the same access and space in the other forms; NONE */
};

/* Facts that make an edge with an async access, as the words of a set that are not 0, ascending. */
struct fact_row {
	uint32_t *word; /* number of the word */
	uint64_t *mask;
	uint32_t n;
};

struct facts {
	struct fact *v;
	uint32_t n;
	uint32_t *first_of;   /* by access: its facts are first_of[i] .. first_of[i + 1) */
	const struct fact_row **row; /* by access (async ones): NULL: it makes no edge */
	const struct meets *meets;   /* the pairs from which they were made */
	struct groups *groups;       /* the facts are those of groups of accesses; NULL: of single ones */
	bool fenced;                 /* some fact has a FENCED form */
	bool too_many;               /* even the groups are too many: there are no facts */
	struct bits inflight; /* facts of that form */
	struct bits spare;    /* facts that never make an edge: INFLIGHT, FENCED */
	struct bits next2;    /* of those whose form changes on the way to another CTA, whose new one is two further on */
	struct bits far;      /* and the others */
	struct bits fenced_next; /* PENDING facts whose FENCED form is the next fact */
	struct bits fenced_far;  /* those that have it further on */
	struct bits shared, global; /* PENDING facts a fence of that width settles in its own CTA */
	uint64_t pairs_ruled_out;
	uint32_t assumptions; /* that ruled a pair out */
};

/* The form that a fact takes beside its own on its way to another CTA, or NONE. */
uint32_t facts_crossed(const struct fact *);
/* `crossing`: some hand-off may lead to another CTA. Into empty facts, or those of the unit for another `crossing`, whose
 * pairs it takes. */
void facts_collect(struct unit *, bool crossing, struct facts *);
/* The access that stands for a generic access in the facts: itself, or the first of its group. */
static inline uint32_t facts_access(const struct facts *facts, uint32_t access)
{
	return facts->groups ? groups_first(facts->groups, access) : access;
}

/* The hazard of a generic and an async access among those asked for; 0: none. */
uint8_t facts_hazard(const struct access *g, const struct access *a, uint32_t hazards);

/* What a fence does to a set of facts: those in `kill` leave it, each having a FENCED sibling puts that in. */
struct fence_effect {
	struct bits kill;
};

void facts_fence_effects(struct unit *, const struct facts *, struct fence_effect *by_kind);
