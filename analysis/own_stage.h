/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rings of stages with an mbarrier for each: bulk copies into stage i stand behind a wait on mbarrier i. A thread
 * that reads stage i + 1 ahead and then arrives on mbarrier i says nothing of the stage that it has just read
 * (ASSUME_OWN_STAGE): its arrival on mbarrier i + 1 does, later, when that read is complete.
 */
#pragma once

#include "analysis/flow.h"
#include "analysis/stage_place.h"

struct flow_setup;
struct own_stages;

/* Of a setup whose facts, hand-offs and events are there; NULL: no async write is of such a ring. Arena memory. */
struct own_stages *own_stages_find(const struct flow_setup *);
/* Takes out of what a release hands over, of its thread or (`foreign`) of others, what is of other stages. Adds the
 * assumptions where something goes. */
void own_stages_hold_back(struct own_stages *, uint32_t site, bool foreign, struct bits set, uint32_t *assumptions);
/* stage_wait.c: the mbarrier whose wait is over whenever control comes to an instruction; false: there is none. */
bool stage_wait_before(const struct flow_setup *, uint32_t insn, struct stage_place *, uint32_t *wait);
/* Some way leads from behind one instruction to another one. */
bool stage_comes_to(const struct unit *, uint32_t from, uint32_t to);
/* Control comes from the wait to the instruction only where it has said that it is not over yet. */
bool stage_wait_refused(const struct flow_setup *, uint32_t wait, uint32_t insn);
/* The same, and it has said that it is over. */
bool stage_wait_over(const struct flow_setup *, uint32_t wait, uint32_t insn);
/* On each way from behind others to the instruction that wait, or another one on its object, is passed, unless nothing is
 * acquired. */
bool stage_wait_renewed(const struct flow_setup *, uint32_t wait, struct ids behind, uint32_t insn);
/* stage_count.c: a phase of the mbarrier that the wait names does not end before all have arrived, for all that can
 * be counted. Adds the assumptions that keep other mbarriers apart from it. */
bool stage_counts_all(const struct flow_setup *, uint32_t wait, uint32_t *assumptions);
/* stage_walk.c: the sites at which the access may be pending though the node has been defined again since; `letter`:
 * a load too whose value has been used. */
struct bits own_stage_left(const struct flow_setup *, uint32_t access, uint32_t node, bool letter);
/* stage_walk.c: the arrives on mbarriers that control can come to from an instruction. */
struct bits own_stage_arrives_behind(const struct flow_setup *, uint32_t insn);
/* stage_walk.c: the blocks from which control can come to a block. */
struct bits stage_blocks_before(const struct unit *, uint32_t block);
struct stage_parities { /* by site: the latest answer */
	struct stage_parity {
		bool asked, alternates, before_first;
		uint32_t head, stage;
	} *of;
};

/* The first phase of that mbarrier does not end by arrivals alone that do not stand behind the instruction, for all
 * that can be counted. */
bool stage_needs_those_behind(const struct flow_setup *, uint32_t wait, uint32_t insn, uint32_t *assumptions);

/* stage_parity.c: in the loop around the wait and what stands behind it, who comes to an mbarrier again waits for another
 * phase than before, as far as that can be worked out. `number`: the register of the stage; NONE. */
bool stage_parity_alternates(const struct flow_setup *, uint32_t wait, uint32_t insn, uint32_t number,
	struct stage_parities *);
/* The same: the first wait on each mbarrier is, for certain, for the phase before its first one, which is over at once; so the
 * others are late by a phase. */
bool stage_parity_before_first(const struct flow_setup *, uint32_t wait, uint32_t insn, uint32_t number,
	struct stage_parities *);
/* The same: the wait that is the first one waits for a phase that somebody has arrived in, for certain. */
bool stage_parity_starts(const struct flow_setup *, uint32_t wait, uint32_t insn);

/* stage_held.c */
struct stage_ring { /* the mbarriers that a copy of it completes, and waits for; of each the one of stage 0 */
	struct stage_place full, empty;
	uint32_t node; /* what the stage is numbered by; or NONE */
	int64_t plus;
	bool first; /* the first copy waits for whoever makes the access: see stage_parity_starts, stage_needs_those_behind */
	struct stage_parities *parities;
	uint32_t assumptions; /* out */
};

/* On each way to the instruction the thread waits for what was copied into the stage, and has not given it up since. */
bool stage_is_held(const struct flow_setup *, uint32_t insn, struct stage_ring *);
