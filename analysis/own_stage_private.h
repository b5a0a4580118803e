/* SPDX-License-Identifier: Apache-2.0 */
/* What own_stage.c and stage_given_up.c share. */
#pragma once

#include "analysis/flow_state.h"
#include "analysis/own_stage.h"
#include "analysis/threads.h"

#define STRIDE_MOST (1 << 18) /* no two numbers below STAGE_NUMBER_MOST are the same place in 32 bits */

/* An async write with the wait in front of it. Stage i: at + i * stride, behind mbarrier wait + 8 * i. */
struct copy {
	uint32_t access;
	struct stage_place at, wait;
	struct stage_number number; /* node NONE: a stage of its own, written out */
	uint32_t stride; /* bytes; 0: not known */
	uint32_t assumptions;
	uint32_t wait_insn;
	bool asked, waits; /* see is_waited_for */
	bool counts;	   /* see stage_counts_all */
};

enum verdict { VERDICT_HANDS_OVER, VERDICT_HOLDS_OWN, VERDICT_HOLDS_ALL };

struct other { /* is a stage that is written out another one than that of an mbarrier? */
	bool asked, is_other;
	uint32_t assumptions;
};

struct held { /* what an arrive does not hand over: facts; filled on demand */
	struct bits judged;    /* no words: none is yet */
	struct bits own, all;  /* held back of its own thread; of others too */
	uint32_t *assumptions; /* by fact that is held back */
	uint32_t rests_on;     /* all of them */
	struct other *others;  /* by copy */
};

struct walked { /* from one access: sites reached behind a new definition of `node` with the access still pending */
	uint32_t node;
	struct bits sites;
	struct bits by_letter; /* the same where no use of its value completes a load; no words: not asked */
};

struct kept { /* an address that was asked for */
	bool known;
	struct stage_place place;
};

struct given_up { /* do those that make an access arrive for its stages too? */
	bool asked, is; /* is: that is known */
	bool lacks;	  /* some thread that makes it never arrives for one of its stages: */
	struct thread_set lacking;
	bool warp_lacks;  /* so does a whole warp of them */
	uint32_t assumptions;
};

struct own_stages {
	const struct flow_setup *setup;
	struct copy *copies;
	uint32_t ncopies;
	struct bits candidates;	 /* facts that meet copies of rings alone */
	struct held *held;	 /* by site */
	struct walked *walked;	 /* by access */
	struct kept **objects;	 /* by site: its mbarrier; NULL: not asked for */
	struct kept **places;	 /* by access: its first byte */
	struct given_up *given_up; /* by access */
	struct stage_parities parities;
};

struct question { /* does the arrive at `site` hand over the access? */
	struct own_stages *stages;
	uint32_t access, site;
	const struct operand *address;
	const struct stage_place *whole, *mbarrier; /* of the access */
	struct stage_place at;  /* the same in the register of its stage, */
	bool taken;	  /* once it is there */
	uint32_t node;	  /* that register, or NONE */
	uint64_t bytes;
	uint32_t assumptions;
};

/* Some fact of the access makes an edge with the async one. */
bool own_stage_meets(const struct flow_setup *, uint32_t access, uint32_t async);
/* That of an arrive; NULL: it is of no ring. */
const struct stage_place *own_stage_mbarrier(struct own_stages *, uint32_t site);
/* The stages that the access touches: the first one as a number, which goes up to `last`; and its bytes and the copy's in
 * the stage. False: not known. */
bool own_stage_touched(struct question *, const struct copy *, struct stage_number *first, int64_t *last,
	struct stage_stretch *mine, struct stage_stretch *its);
/* For each stage that the access touches its threads can come to an arrive: the one that hands it over. Threads of
 * which that is not so hand it over otherwise: they must not come to the site, and what others have heard from them
 * is held back only where it is of lanes whose warp arrives, and is told to those who arrive for these stages themselves. */
bool own_stage_given_up(struct question *, uint8_t *verdict);
