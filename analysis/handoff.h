/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hand-offs between threads: which release can be the one that an acquire observes (ISA 8.7, 8.9;
 * analysis-notes section 5). Sites are the instructions that release or acquire; a pair says that what
 * one thread did before the release can happen before what another does after the acquire.
 */
#pragma once

#include "analysis/unit.h"

struct sync_site {
	uint32_t insn;   /* exits: the last instruction of the leaving block */
	uint32_t block;
	uint8_t kind;    /* enum sync_kind; SYNC_NONE for an exit */
	bool releases, acquires;
	bool full;       /* every thread of the CTA passes here before anyone goes on */
	bool resets;     /* acquire after which foreign facts are exactly what the partners sent */
	bool crosses;    /* its partner may be in another CTA */
	bool cp_async;   /* publishes the thread's own cp.async data and nothing else */
	bool self;       /* st.async, red.async: publishes what it writes itself, at its mbarrier */
	bool is_exit;
	bool leans;      /* a fence that a relaxed arrive may lean on behind it, or a relaxed wait in front of it */
	bool warp;       /* all lanes of a warp pass here before any of them goes on */
	bool unknown;    /* barrier id or mbarrier address not known */
	uint32_t barrier; /* bar and barrier: number of its id, the same for equal ids; else NONE */
	uint32_t min_phase, max_phase; /* full barriers passed before it: fewest, most (NONE: no bound) */
};

/* What is pending in any thread of the CTA that passes here comes to all of them that do. */
static inline bool site_takes_all(const struct sync_site *s)
{
	return s->full && !s->unknown;
}

struct handoffs {
	struct sync_site *sites;
	uint32_t n;
	uint32_t *site_of;      /* by instruction; NONE: no site */
	uint32_t *exit_of;      /* by block: exit site; NONE */
	struct ids *to, *from;  /* by site: acquires that a release reaches, releases that an acquire hears */
	bool any_cross;         /* some pair may join different CTAs */
	uint32_t assumptions;   /* enum assumption bits that dropped a pair */
};

/* The sites. */
void handoff_find(struct unit *, struct handoffs *);
/* The pairs of those. */
void handoff_pair(struct unit *, struct handoffs *);
/* Some site may join different CTAs, whether or not a pair does. */
bool handoff_may_cross(const struct handoffs *);
