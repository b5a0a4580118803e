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
bool stage_wait_before(const struct flow_setup *, uint32_t insn, struct stage_place *);
/* stage_walk.c: the sites at which the access may be pending though the node has been defined again since. */
struct bits own_stage_left(const struct flow_setup *, uint32_t access, uint32_t node);
/* stage_walk.c: the arrives on mbarriers that control can come to from an instruction. */
struct bits own_stage_arrives_behind(const struct flow_setup *, uint32_t insn);
